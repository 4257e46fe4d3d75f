/*
 * The list of importers; reading a source, choosing the importer for it, and running that.
 */
#include "calibrax/storage/import.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "calibrax/base/file_text.h"
#include "calibrax/base/gzip.h"
#include "calibrax/base/json_stream.h"
#include "calibrax/base/options.h"
#include "calibrax/storage/importers/importer.h"

#define BYTES_MAX ((size_t)2 << 30)

#define IMPORTER_ADDRESS(name) &cbx__importer_##name,
static const cbx__importer *const importers[] = { CBX__IMPORTERS(IMPORTER_ADDRESS) };

size_t cbx_importers_count(void) { return CBX_LEN(importers); }

cbx_importer_info cbx_importers_at(size_t i)
{
    return i < CBX_LEN(importers) ? (cbx_importer_info){ importers[i]->name, importers[i]->summary }
                                  : (cbx_importer_info){ NULL, NULL };
}

/* --- choosing --- */

/* The value at "context.json_schema_version", "0.jmhVersion"; NULL: no such value. */
static const cbx_json *value_at(const cbx_json *v, const char *path)
{
    char part[64];

    while (v && *path) {
        size_t n = strcspn(path, ".");
        if (n >= sizeof part || (cbx_json_typeof(v) == CBX_JSON_ARRAY && strspn(path, "0123456789") < n)) return NULL;
        memcpy(part, path, n);
        part[n] = 0;
        v = cbx_json_typeof(v) == CBX_JSON_ARRAY ? cbx_json_at(v, strtoul(part, NULL, 10)) : cbx_json_get(v, part);
        path += n + (path[n] == '.');
    }
    return v;
}

static void list_names(char *buf, size_t size)
{
    size_t n = 0;

    *buf = 0;
    for (size_t i = 0; i < CBX_LEN(importers) && n < size; i++)
        n += (size_t)snprintf(buf + n, size - n, "%s%s", i ? ", " : "", importers[i]->name);
}

static cbx_status find_by_name(const char *name, const cbx__importer **out, cbx_err *err)
{
    const char *names[CBX_LEN(importers)], *near;
    char all[300];

    for (size_t i = 0; i < CBX_LEN(importers); i++) {
        names[i] = importers[i]->name;
        *out = importers[i];
        if (!strcmp(name, names[i])) return CBX_OK;
    }
    near = cbx_nearest_word(name, names, CBX_LEN(importers));
    if (near) return cbx_fail(err, CBX_EINVAL, "unknown format '%s'; did you mean '%s'?", name, near);
    list_names(all, sizeof(all));
    return cbx_fail(err, CBX_EINVAL, "unknown format '%s'; known: %s", name, all);
}

/* JSON that is cut or damaged is reported as that. */
static cbx_status choose(const cbx__import_source *src, const cbx_err *json_err, const cbx__importer **out,
                         cbx_err *err)
{
    char first = src->json ? '{' : src->text[strspn(src->text, " \t\r\n")], all[300];
    int best = 0;

    for (size_t i = 0; i < CBX_LEN(importers); i++) {
        const cbx__importer *importer = importers[i];
        int score = importer->detect ? importer->detect(src) : 95;
        for (size_t k = 0; !importer->detect && k < CBX_LEN(importer->marks) && importer->marks[k]; k++)
            if (!value_at(src->json, importer->marks[k])) score = 0;
        if (score <= best) continue;
        best = score;
        *out = importers[i];
    }
    if (best) return CBX_OK;
    if (!first && strlen(src->text) == src->len) return cbx_fail(err, CBX_EFORMAT, "'%s': is empty", src->what);
    if (!src->json && (first == '{' || first == '[')) return cbx_fail(err, json_err->status, "%s", json_err->message);
    list_names(all, sizeof(all));
    return cbx_fail(err, CBX_EFORMAT, "'%s': the format is unknown; known: %s", src->what, all);
}

/* --- versions --- */

/* The first number: 2 of 2, 2.0 and "2.1"; false: it has no number. */
static bool first_number(const cbx_json *v, double *out)
{
    const char *word = cbx_json_string_value(v);
    cbx_json_type type = cbx_json_typeof(v);
    char *end;

    if (!word) {
        *out = cbx_json_double_value(v);
        return (type == CBX_JSON_INT || type == CBX_JSON_DOUBLE) && isfinite(*out);
    }
    word += *word == 'v';
    *out = floor(strtod(word, &end));
    return end > word && isfinite(*out);
}

/* The version of a file, where its format has it and under the names that any format may use. */
static cbx_status check_version(const cbx__importer *importer, const cbx__import_source *src, cbx_err *err)
{
    const char *paths[] = { importer->version ? importer->version : "version", "schema_version", "version" };
    int max = importer->version_max ? importer->version_max : 1;

    for (size_t i = 0; i < CBX_LEN(paths); i++) {
        const cbx_json *v = value_at(src->line, paths[i]);
        bool own = i == 0 || !strcmp(paths[i], paths[0]);
        const char *word = cbx_json_string_value(v);
        char text[CBX_FORMAT_SIZE];
        double number;
        if (!v || (word && !own) || !first_number(v, &number)) continue;
        if (number <= (own ? max : 1) && number >= (own ? importer->version_min : 0)) continue;
        if (!word) word = cbx_format_double(number, text);
        if (word == text && strlen(text) > 2 && !strcmp(text + strlen(text) - 2, ".0")) text[strlen(text) - 2] = 0;
        return cbx_fail(err, CBX_EVERSION,
                        "'%s': '%s' is version %.40s of %s; this release reads %s%d: convert it to that version, or "
                        "use a later release of calibrax",
                        src->what, paths[i], word, importer->name, importer->version_min ? "" : "up to ",
                        own ? max : 1);
    }
    return CBX_OK;
}

/* --- sources --- */

/* The content of the text goes as soon as there is a tree in its place. */
static cbx_status import_text(cbx_ctx *ctx, cbx__import_source *src, cbx_text *text, const cbx_import_opts *opts,
                              cbx_import *out, cbx_err *err)
{
    static char nothing[1];
    CBX_OWNED(cbx_json) *json = NULL;
    CBX_OWNED(cbx_json) *line = NULL;
    const cbx__importer *importer = NULL;
    cbx_err json_err = CBX_ERR_INIT;
    cbx_import made = { 0 };
    size_t mark = 0;
    cbx_status st = cbx__byte_order_mark(cbx_text_str(text), text->len, src->what, &mark, err), json_status;

    if (st) return st;
    src->text = text->len ? text->data + mark : nothing;
    src->len = text->len - mark;
    cbx_hash_bytes(src->text, src->len, src->digest);
    json_status = cbx_json_parse(src->text, src->len, src->what, &json, &json_err);
    if (json_status == CBX_ENOMEM || json_status == CBX_EOVERFLOW)
        return cbx_fail(err, json_status, "%s", json_err.message);
    if (json) {
        cbx_text_clear(text);
        src->text = nothing;
        src->len = 0;
    } else {
        /* the first line that is not blank, if it is an object */
        const char *first = src->text + strspn(src->text, " \t\r\n");
        if (*first == '{') cbx_json_parse(first, strcspn(first, "\n"), src->what, &line, NULL);
    }
    src->json = json;
    src->line = json ? json : line;
    cbx_arena_init(&made.arena, cbx_ctx_allocator(ctx));
    st = opts->format ? find_by_name(opts->format, &importer, err) : choose(src, &json_err, &importer, err);
    if (!st && !json && !importer->takes_text) st = cbx_fail(err, json_status, "%s", json_err.message);
    if (!st) st = check_version(importer, src, err);
    if (!st) st = cbx__import_read(ctx, importer, src, opts, &made, err);
    return CBX_FINISH(st, *out = made, cbx_import_clear(&made));
}

static size_t bytes_max(const cbx_import_opts *opts)
{
    return opts->max_bytes && opts->max_bytes < BYTES_MAX ? opts->max_bytes : BYTES_MAX;
}

/* Of bytes as a file has them, compressed or not. */
static cbx_status import_bytes(cbx_ctx *ctx, cbx__import_source *src, cbx_text *bytes, const cbx_import_opts *opts,
                               cbx_import *out, cbx_err *err)
{
    CBX_SCOPED(cbx_text, plain, cbx_ctx_allocator(ctx));
    cbx_status st;

    if (bytes->len < 2 || memcmp(bytes->data, "\x1f\x8b", 2) != 0) return import_text(ctx, src, bytes, opts, out, err);
    st = cbx_gzip_unpack(bytes->data, bytes->len, bytes_max(opts), src->what, &plain, err);
    cbx_text_clear(bytes);
    return st ? st : import_text(ctx, src, &plain, opts, out, err);
}

cbx_status cbx_import_text(cbx_ctx *ctx, const char *text, size_t len, const char *what, const cbx_import_opts *opts,
                           cbx_import *out, cbx_err *err)
{
    cbx__import_source src = { .what = what };
    cbx_import_opts own = CBX_IMPORT_OPTS_INIT;
    CBX_SCOPED(cbx_text, copy, cbx_ctx_allocator(ctx));
    cbx_status st = cbx_take_options(&own, sizeof own, opts, "cbx_import_opts", err);

    if (st) return st;
    if (len > bytes_max(&own))
        return cbx_fail(err, CBX_EOVERFLOW, "'%s': is larger than %zu MiB", what, bytes_max(&own) >> 20);
    cbx_text_add(&copy, text, len);
    return copy.status ? cbx_fail_nomem(err, what) : import_bytes(ctx, &src, &copy, &own, out, err);
}

cbx_status cbx_import_file(cbx_ctx *ctx, const char *path, const cbx_import_opts *opts, cbx_import *out, cbx_err *err)
{
    cbx__import_source src = { .what = path, .path = path };
    CBX_OWNED(cbx_json) *companion = NULL;
    CBX_SCOPED(cbx_text, bytes, cbx_ctx_allocator(ctx));
    cbx_import_opts own = CBX_IMPORT_OPTS_INIT;
    struct stat facts;
    cbx_status st = cbx_take_options(&own, sizeof own, opts, "cbx_import_opts", err);

    if (st) return st;
    if (stat(path, &facts) == 0) src.modified_us = (int64_t)facts.st_mtime * 1000000;
    if (cbx_path_is_folder(path)) {
        st = cbx__import_folder(ctx, path, &bytes, err);
    } else {
        st = cbx__file_text(ctx, path, bytes_max(&own), &bytes, err);
        if (!st) st = cbx__import_companion(ctx, path, &companion, err);
    }
    src.companion = companion;
    return st ? st : import_bytes(ctx, &src, &bytes, &own, out, err);
}

void cbx_import_clear(cbx_import *import)
{
    for (size_t i = 0; i < import->nruns; i++) cbx_run_free(import->runs[i]);
    import->runs = NULL;
    import->nruns = 0;
    cbx_arena_clear(&import->arena);
}
