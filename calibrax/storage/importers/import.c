/*
 * The list of importers, choosing one, and running it.
 */
#include "calibrax/storage/import.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "calibrax/base/file.h"
#include "calibrax/storage/importers/folder.h"
#include "calibrax/storage/importers/gzip.h"
#include "calibrax/storage/importers/job.h"

#define MAX_BYTES ((size_t)512 << 20)

/* The whole list; of equal scores the first one wins. */
static const cbx__importer *const importers[] = {
    &cbx__importer_run,
    &cbx__importer_nperf,
    &cbx__importer_google_benchmark,
    &cbx__importer_hyperfine,
    &cbx__importer_pytest_benchmark,
    &cbx__importer_pyperf,
    &cbx__importer_criterion,
    &cbx__importer_jmh,
    &cbx__importer_go,
    &cbx__importer_asv,
    &cbx__importer_nanobench,
    &cbx__importer_nvbench,
    &cbx__importer_benchmarktools,
    &cbx__importer_bmf,
};

size_t cbx_importers_count(void) { return CBX_LEN(importers); }

cbx_importer_info cbx_importers_at(size_t i)
{
    return i < CBX_LEN(importers) ? (cbx_importer_info){ importers[i]->name, importers[i]->summary }
                                  : (cbx_importer_info){ NULL, NULL };
}

/* --- choosing --- */

static void list_names(char *buf, size_t size)
{
    size_t n = 0;

    *buf = 0;
    for (size_t i = 0; i < CBX_LEN(importers) && n < size; i++)
        n += (size_t)snprintf(buf + n, size - n, "%s%s", i ? ", " : "", importers[i]->name);
}

static cbx_status by_name(const char *name, const cbx__importer **out, cbx_err *err)
{
    const char *names[CBX_LEN(importers)], *near;

    for (size_t i = 0; i < CBX_LEN(importers); i++) {
        names[i] = importers[i]->name;
        if (!strcmp(name, names[i])) {
            *out = importers[i];
            return CBX_OK;
        }
    }
    near = cbx_nearest_word(name, names, CBX_LEN(importers));
    if (near) return cbx_fail(err, CBX_EINVAL, "unknown format '%s'; did you mean '%s'?", name, near);
    char all[300];
    list_names(all, sizeof(all));
    return cbx_fail(err, CBX_EINVAL, "unknown format '%s'; known: %s", name, all);
}

/* Why a source is of no format that is known: that it is cut or damaged JSON says more than the list. */
static cbx_status unknown(const cbx__import_source *src, const cbx_err *json, cbx_err *err)
{
    size_t blank = strspn(src->text, " \t\r\n");
    char all[300];

    if (blank >= src->len) return cbx_fail(err, CBX_EFORMAT, "'%s': is empty", src->what);
    if (!src->json && strchr("{[", src->text[blank])) return cbx_fail(err, json->status, "%s", json->message);
    list_names(all, sizeof(all));
    return cbx_fail(err, CBX_EFORMAT, "'%s': is in no known format; known: %s", src->what, all);
}

static cbx_status choose(const cbx__import_source *src, const char *format, const cbx_err *json,
                         const cbx__importer **out, cbx_err *err)
{
    int best = 0;

    if (format) return by_name(format, out, err);
    for (size_t i = 0; i < CBX_LEN(importers); i++) {
        int score = importers[i]->detect(src);
        if (score <= best) continue;
        best = score;
        *out = importers[i];
    }
    return best ? CBX_OK : unknown(src, json, err);
}

/* --- running --- */

static cbx_status run_importer(cbx_ctx *ctx, const cbx__importer *importer, const cbx__import_source *src,
                               const cbx_import_opts *opts, cbx_import *out, cbx_err *err)
{
    cbx__import_job job = { .ctx = ctx, .importer = importer, .src = src, .opts = opts, .out = out, .err = err };

    out->format = importer->name;
    importer->read(&job);
    cbx_run_builder_free(job.run);
    job.at[0] = 0;
    if (!job.status && !out->nruns) {
        if (out->nnotes)
            cbx__import_fail(&job, CBX_EFORMAT, "holds no measurement: '%s': %s", out->notes[0].entry,
                             out->notes[0].message);
        else
            cbx__import_fail(&job, CBX_EFORMAT, "holds no measurement (read as %s)", importer->name);
    }
    return job.status;
}

/* The first line that is not blank, if it is JSON. */
static cbx_json *first_line(const cbx__import_source *src)
{
    const char *start = src->text + strspn(src->text, " \t\r\n");
    cbx_json *v = NULL;

    if (*start != '{' || cbx_json_parse(start, strcspn(start, "\n"), src->what, &v, NULL)) return NULL;
    return v;
}

/* What was compressed takes the place of the file's bytes. */
static cbx_status decompress(cbx_ctx *ctx, const cbx_import_opts *opts, const char *what, cbx_text *text, cbx_err *err)
{
    cbx_text plain;
    cbx_status st;

    if (!cbx__is_gzip(cbx_text_str(text), text->len)) return CBX_OK;
    cbx_text_init(&plain, cbx_ctx_allocator(ctx));
    st = cbx__gunzip(text->data, text->len, opts->max_bytes ? opts->max_bytes : MAX_BYTES, what, &plain, err);
    if (st) {
        cbx_text_clear(&plain);
        return st;
    }
    cbx_text_clear(text);
    *text = plain;
    return CBX_OK;
}

/* The text goes as soon as nobody looks at it any more. */
static cbx_status import_source(cbx_ctx *ctx, cbx__import_source *src, cbx_text *text, const cbx_import_opts *opts,
                                cbx_import *out, cbx_err *err)
{
    cbx_json *json = NULL, *line = NULL;
    const cbx__importer *importer = NULL;
    cbx_err json_err = CBX_ERR_INIT;
    cbx_import made = { 0 };
    cbx_status st = decompress(ctx, opts, src->what, text, err);

    if (st) return st;
    cbx_arena_init(&made.arena, cbx_ctx_allocator(ctx));
    src->text = cbx_text_str(text);
    src->len = text->len;
    cbx_hash_bytes(src->text, src->len, src->digest);
    if (cbx_json_parse(src->text, src->len, src->what, &json, &json_err) == CBX_ENOMEM) st = CBX_ENOMEM;
    if (!json && !st) line = first_line(src);
    src->json = json;
    src->line = json ? json : line;
    if (st)
        st = cbx_fail(err, st, "%s", json_err.message);
    else
        st = choose(src, opts->format, &json_err, &importer, err);
    if (!st && !importer->needs_text) {
        cbx_text_clear(text);
        src->text = NULL;
    }
    if (!st) st = run_importer(ctx, importer, src, opts, &made, err);
    cbx_json_unref(json);
    cbx_json_unref(line);
    if (st)
        cbx_import_clear(&made);
    else
        *out = made;
    return st;
}

static cbx_status check_opts(const cbx_import_opts **opts, size_t len, const char *what, cbx_err *err)
{
    static const cbx_import_opts defaults = CBX_IMPORT_OPTS_INIT;
    size_t most;

    if (!*opts) *opts = &defaults;
    if ((*opts)->struct_size != sizeof(**opts))
        return cbx_fail(err, CBX_EINVAL, "import options of another version: struct_size is %u, not %zu",
                        (*opts)->struct_size, sizeof(**opts));
    most = (*opts)->max_bytes ? (*opts)->max_bytes : MAX_BYTES;
    return len > most ? cbx_fail(err, CBX_EOVERFLOW, "'%s': is larger than %zu MiB", what, most >> 20) : CBX_OK;
}

cbx_status cbx_import_text(cbx_ctx *ctx, const char *text, size_t len, const char *what, const cbx_import_opts *opts,
                           cbx_import *out, cbx_err *err)
{
    cbx__import_source src = { .what = what };
    cbx_status st = check_opts(&opts, len, what, err);
    cbx_text copy;

    if (st) return st;
    cbx_text_init(&copy, cbx_ctx_allocator(ctx));
    cbx_text_add(&copy, text, len);
    if (copy.status)
        st = cbx_fail(err, CBX_ENOMEM, "out of memory while reading '%s'", what);
    else
        st = import_source(ctx, &src, &copy, opts, out, err);
    cbx_text_clear(&copy);
    return st;
}

/* The content of a file, or of a folder as one text. */
static cbx_status read_whole(cbx_ctx *ctx, const char *path, size_t most, cbx_text *out, cbx_err *err)
{
    char *text = NULL;
    size_t len = 0;
    cbx_status st;

    if (cbx__import_is_folder(path)) return cbx__import_folder(ctx, path, out, err);
    st = cbx_file_read(ctx, path, most, &text, &len, err);
    if (st) return st;
    *out = (cbx_text){ *cbx_ctx_allocator(ctx), text, len, len + 1, CBX_OK };
    return CBX_OK;
}

cbx_status cbx_import_file(cbx_ctx *ctx, const char *path, const cbx_import_opts *opts, cbx_import *out, cbx_err *err)
{
    cbx__import_source src = { .what = path, .path = path };
    cbx_status st = check_opts(&opts, 0, path, err);
    struct stat facts;
    cbx_json *companion = NULL;
    cbx_text text;

    if (st) return st;
    if (stat(path, &facts) == 0) src.modified_us = (int64_t)facts.st_mtime * 1000000;
    cbx_text_init(&text, cbx_ctx_allocator(ctx));
    st = read_whole(ctx, path, opts->max_bytes ? opts->max_bytes : MAX_BYTES, &text, err);
    if (!st) st = cbx__import_companion(ctx, path, &companion, err);
    if (!st) {
        src.companion = companion;
        st = import_source(ctx, &src, &text, opts, out, err);
    }
    cbx_json_unref(companion);
    cbx_text_clear(&text);
    return st;
}

void cbx_import_clear(cbx_import *import)
{
    for (size_t i = 0; i < import->nruns; i++) cbx_run_free(import->runs[i]);
    import->runs = NULL;
    import->nruns = 0;
    cbx_arena_clear(&import->arena);
}
