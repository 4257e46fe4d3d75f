/*
 * The list of importers, choosing one, and running it.
 */
#include "calibrax/storage/import.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "calibrax/storage/importers/folder.h"
#include "calibrax/storage/importers/job.h"
#include "calibrax/storage/store_keep.h"

#define MAX_BYTES ((size_t)512 << 20)

/* The whole list; of equal scores the first one wins. */
static const cbx__importer *const importers[] = {
    &cbx__importer_run,       &cbx__importer_result,
    &cbx__importer_nperf,     &cbx__importer_google_benchmark,
    &cbx__importer_hyperfine, &cbx__importer_pytest_benchmark,
    &cbx__importer_pyperf,    &cbx__importer_criterion,
    &cbx__importer_jmh,       &cbx__importer_go,
    &cbx__importer_asv,       &cbx__importer_nanobench,
    &cbx__importer_nvbench,   &cbx__importer_benchmarktools,
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
static cbx_status unknown(const cbx__import_source *src, char first, const cbx_err *json, cbx_err *err)
{
    char all[300];

    if (!first) return cbx_fail(err, CBX_EFORMAT, "'%s': is empty", src->what);
    if (!src->json && (first == '{' || first == '[')) return cbx_fail(err, json->status, "%s", json->message);
    list_names(all, sizeof(all));
    return cbx_fail(err, CBX_EFORMAT, "'%s': is in no known format; known: %s", src->what, all);
}

static cbx_status choose(const cbx__import_source *src, const char *format, char first, const cbx_err *json,
                         const cbx__importer **out, cbx_err *err)
{
    int best = 0;
    cbx_status st = format ? by_name(format, out, err) : CBX_OK;

    for (size_t i = 0; !format && i < CBX_LEN(importers); i++) {
        int score = importers[i]->detect(src);
        if (score <= best) continue;
        best = score;
        *out = importers[i];
    }
    if (!st && *src->fault) st = cbx_fail(err, *src->fault, "cannot look through '%s'", src->what);
    if (st || format) return st;
    return best ? CBX_OK : unknown(src, first, json, err);
}

/* --- versions --- */

/* The value at "context.json_schema_version", "0.jmhVersion"; NULL: there is none. */
static const cbx_json *value_at(const cbx_json *v, const char *path)
{
    char part[64];

    while (v && *path) {
        size_t n = strcspn(path, ".");
        if (n >= sizeof part) return NULL;
        memcpy(part, path, n);
        part[n] = 0;
        v = cbx_json_typeof(v) == CBX_JSON_ARRAY ? cbx_json_at(v, strtoul(part, NULL, 10)) : cbx_json_get(v, part);
        path += n + (path[n] == '.');
    }
    return v;
}

/* Its first number: 2 of 2, 2.0 and "2.1"; false: it has none. */
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

/* What a file says of its version, where its format says it and under the names that any may have. */
static cbx_status check_version(const cbx__importer *importer, const cbx__import_source *src, cbx_err *err)
{
    const char *paths[] = { importer->version ? importer->version : "version", "schema_version", "version" };
    int most = importer->version_most ? importer->version_most : 1;

    for (size_t i = 0; i < CBX_LEN(paths); i++) {
        const cbx_json *v = value_at(src->json ? src->json : src->line, paths[i]);
        bool own = i == 0 || !strcmp(paths[i], paths[0]);
        const char *word = cbx_json_string_value(v);
        char text[CBX_FORMAT_SIZE];
        double number;
        if (!v || (word && !own) || !first_number(v, &number)) continue;
        if (number <= (own ? most : 1) && number >= (own ? importer->version_least : 0)) continue;
        if (!word) word = cbx_format_double(number, text);
        if (word == text && strlen(text) > 2 && !strcmp(text + strlen(text) - 2, ".0")) text[strlen(text) - 2] = 0;
        return cbx_fail(
            err, CBX_EVERSION,
            "'%s': '%s' is version %.40s of %s; this release reads %s%d: have it written in that version, or "
            "take a later release of calibrax",
            src->what, paths[i], word, importer->name, importer->version_least ? "" : "up to ", own ? most : 1);
    }
    return CBX_OK;
}

/* --- running --- */

static void run_importer(cbx__import_job *job)
{
    cbx_import *out = job->out;

    out->format = job->importer->name;
    job->importer->read(job);
    job->at[0] = 0;
    if (!job->status) {
        cbx_err err = CBX_ERR_INIT;
        cbx_status st = cbx__bytes_unchanged(job->src->bytes, &err);
        if (st) cbx__import_fail_whole(job, st, err.message);
    }
    cbx__import_finish(job);
    if (job->status || out->nruns) return;
    if (out->nnotes)
        cbx__import_fail(job, CBX_EFORMAT, "holds no measurement: '%s': %s", out->notes[0].entry,
                         out->notes[0].message);
    else
        cbx__import_fail(job, CBX_EFORMAT, "holds no measurement (read as %s)", job->importer->name);
}

/* The first line that is not blank, if it is JSON. */
static cbx_json *first_line(const cbx__import_source *src)
{
    cbx__lines l = { .bytes = src->bytes };
    cbx_json *v = NULL;
    char *line = NULL;

    while (!(*src->fault = cbx__lines_next(&l, &line, NULL)) && line && !line[strspn(line, " \t\r")]) continue;
    if (line && line[strspn(line, " \t\r")] == '{') cbx_json_parse(line, strlen(line), src->what, &v, NULL);
    cbx__lines_clear(&l);
    return v;
}

/* The hash of all bytes, and the first of them that is not blank; 0: there is none. */
static cbx_status look_through(const cbx__bytes *b, char digest[CBX_HASH_SIZE], char *first, cbx_err *err)
{
    char block[16384];
    size_t got = 1;
    cbx_hasher *h = cbx_hasher_create();
    cbx_status st = h ? CBX_OK : cbx_fail(err, CBX_ENOMEM, "out of memory while reading '%s'", b->what);

    *first = 0;
    for (uint64_t at = 0; !st && got; at += got) {
        st = cbx__bytes_read(b, at, block, sizeof block, &got, err);
        if (st || !got) break;
        cbx_hasher_add(h, block, got);
        for (size_t i = 0; !*first && i < got; i++)
            if (!memchr(" \t\r\n", block[i], 4)) *first = block[i];
    }
    cbx_hasher_end(h, digest);
    return st;
}

/* For the importer that was chosen: all of the JSON but its list. */
static cbx_status read_head(cbx__import_source *src, const cbx__importer *importer, cbx_json **json, cbx_err *err)
{
    cbx__bytes_walk walk;
    cbx_status st;

    cbx_json_unref(*json);
    src->json = *json = NULL;
    src->list_at = CBX__NO_PLACE;
    st = cbx__bytes_walk_begin(&walk, src->bytes, 0, err);
    if (!st) st = cbx__document_apart(walk.reader, importer->list, json, &src->list_at, err);
    cbx__bytes_walk_end(&walk);
    src->json = *json;
    return st;
}

static cbx_status read_source(cbx_ctx *ctx, const cbx__importer *importer, cbx__import_source *src,
                              const cbx_import_opts *opts, cbx_import *out, cbx_err *err)
{
    cbx__import_job job = {
        .ctx = ctx, .importer = importer, .src = src, .opts = opts, .out = out, .err = err, .inner_at = CBX__NO_PLACE
    };
    const cbx_allocator *al = cbx_ctx_allocator(ctx);

    cbx_arena_init(&job.passing, al);
    cbx_arena_init(&job.cells, al);
    cbx_names_init(&job.keys, al);
    if (opts->scratch) job.status = cbx__scratch_create(al, opts->scratch, &job.scratch, err);
    if (!job.status) run_importer(&job);
    cbx__import_job_clear(&job);
    return job.status;
}

static cbx_status import_source(cbx_ctx *ctx, cbx__import_source *src, const cbx_import_opts *opts, cbx_import *out,
                                cbx_err *err)
{
    cbx_json *json = NULL, *line = NULL;
    const cbx__importer *importer = NULL;
    cbx_err json_err = CBX_ERR_INIT;
    cbx_import made = { 0 };
    cbx_status fault = CBX_OK;
    char first;
    cbx_status st = look_through(src->bytes, src->digest, &first, err), json_status;

    if (st) return st;
    cbx_arena_init(&made.arena, cbx_ctx_allocator(ctx));
    src->fault = &fault;
    json_status = cbx__document_sketch(src->bytes, &json, &json_err);
    if (json_status == CBX_ENOMEM || json_status == CBX_EIO) st = cbx_fail(err, json_status, "%s", json_err.message);
    if (json_status && !st) line = first_line(src);
    src->json = json;
    src->json_fault = json_err.message;
    src->line = json ? json : line;
    if (!st) st = choose(src, opts->format, first, &json_err, &importer, err);
    if (!st) st = check_version(importer, src, err);
    if (!st && json) st = read_head(src, importer, &json, err);
    src->line = json ? json : line;
    if (!st) st = read_source(ctx, importer, src, opts, &made, err);
    cbx_json_unref(json);
    cbx_json_unref(line);
    if (st)
        cbx_import_clear(&made);
    else
        *out = made;
    return st;
}

/* --- texts and files --- */

static size_t bytes_most(const cbx_import_opts *opts) { return opts->max_bytes ? opts->max_bytes : MAX_BYTES; }

static cbx_status check_opts(const cbx_import_opts **opts, size_t len, const char *what, cbx_err *err)
{
    static const cbx_import_opts defaults = CBX_IMPORT_OPTS_INIT;

    if (!*opts) *opts = &defaults;
    if ((*opts)->struct_size != sizeof(**opts))
        return cbx_fail(err, CBX_EINVAL, "import options of another version: struct_size is %u, not %zu",
                        (*opts)->struct_size, sizeof(**opts));
    if (len <= bytes_most(*opts)) return CBX_OK;
    return cbx_fail(err, CBX_EOVERFLOW, "'%s': is larger than %zu MiB", what, bytes_most(*opts) >> 20);
}

cbx_status cbx_import_text(cbx_ctx *ctx, const char *text, size_t len, const char *what, const cbx_import_opts *opts,
                           cbx_import *out, cbx_err *err)
{
    cbx__bytes bytes;
    cbx__import_source src = { .what = what, .bytes = &bytes };
    cbx_status st = check_opts(&opts, len, what, err);

    if (!st) st = cbx__bytes_of_text(ctx, text, len, bytes_most(opts), what, opts->scratch, &bytes, err);
    if (st) return st;
    st = import_source(ctx, &src, opts, out, err);
    cbx__bytes_clear(&bytes);
    return st;
}

static cbx_status import_file(cbx_ctx *ctx, const char *path, const cbx_import_opts *opts, cbx_import *out,
                              cbx_err *err)
{
    cbx__bytes bytes;
    cbx__import_source src = { .what = path, .path = path, .bytes = &bytes };
    cbx_json *companion = NULL;
    struct stat facts;
    cbx_status st = cbx__bytes_of_file(ctx, path, bytes_most(opts), opts->scratch, &bytes, err);

    if (st) return st;
    if (stat(path, &facts) == 0) src.modified_us = (int64_t)facts.st_mtime * 1000000;
    st = cbx__import_companion(ctx, path, &companion, err);
    src.companion = companion;
    if (!st) st = import_source(ctx, &src, opts, out, err);
    cbx_json_unref(companion);
    cbx__bytes_clear(&bytes);
    return st;
}

static cbx_status import_folder(cbx_ctx *ctx, const char *path, const cbx_import_opts *opts, cbx_import *out,
                                cbx_err *err)
{
    struct stat facts;
    cbx__import_source src = { .what = path, .path = path };
    cbx__bytes bytes;
    cbx_text text;
    cbx_status st;

    cbx_text_init(&text, cbx_ctx_allocator(ctx));
    st = cbx__import_folder(ctx, path, &text, err);
    if (!st) st = cbx__bytes_of_text(ctx, cbx_text_str(&text), text.len, bytes_most(opts), path, NULL, &bytes, err);
    if (!st) {
        if (stat(path, &facts) == 0) src.modified_us = (int64_t)facts.st_mtime * 1000000;
        src.bytes = &bytes;
        st = import_source(ctx, &src, opts, out, err);
        cbx__bytes_clear(&bytes);
    }
    cbx_text_clear(&text);
    return st;
}

cbx_status cbx_import_file(cbx_ctx *ctx, const char *path, const cbx_import_opts *opts, cbx_import *out, cbx_err *err)
{
    cbx_status st = check_opts(&opts, 0, path, err);

    if (st) return st;
    return cbx__import_is_folder(path) ? import_folder(ctx, path, opts, out, err)
                                       : import_file(ctx, path, opts, out, err);
}

cbx_status cbx_import_save(cbx_import *import, size_t i, cbx_store *store, bool replace, cbx_err *err)
{
    const cbx_import_disk *d = import->disk;

    if (!d) return cbx_store_save(store, import->runs[i], replace, err);
    return cbx__store_save_spooled(store, import->runs[i], &d->points[i], d->scratch, replace, err);
}

void cbx_import_clear(cbx_import *import)
{
    for (size_t i = 0; i < import->nruns; i++) cbx_run_free(import->runs[i]);
    cbx__import_disk_free(import->disk);
    import->disk = NULL;
    import->runs = NULL;
    import->nruns = 0;
    cbx_arena_clear(&import->arena);
}
