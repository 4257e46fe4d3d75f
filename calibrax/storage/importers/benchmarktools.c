/*
 * BenchmarkTools.jl, JSON: [versions, [["BenchmarkGroup", {"tags": [...], "data": {name: ["Trial", {...}]}}]]].  Groups nest; their
 * names are the scenario.  Times are nanoseconds, infinities were written as null.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/storage/importers/bytes.h"
#include "calibrax/storage/importers/importer.h"

static const cbx__import_field costs[] = {
    { "memory", { "memory", "B", CBX_DIRECTION_LOWER, CBX_PRIORITY_SECONDARY }, 1 },
    { "allocs", { "allocs", "", CBX_DIRECTION_LOWER, CBX_PRIORITY_SECONDARY }, 1 },
};
static const cbx__import_field estimate[] = {
    { "time", { "time", "s", CBX_DIRECTION_LOWER, CBX_PRIORITY_PRIMARY }, 1e-9 },
    { "gctime", { "gc_time", "s", CBX_DIRECTION_LOWER, CBX_PRIORITY_SECONDARY }, 1e-9 },
};

static int detect(const cbx__import_source *src)
{
    return cbx_json_has(cbx_json_at(src->json, 0), "BenchmarkTools") ? 95 : 0;
}

static void read_trial(cbx__import_job *job, const cbx_json *trial, const char *name, const char *scenario)
{
    cbx__samples times = { .may_wait = true }, gc = { .may_wait = true };

    cbx__import_point_begin(job, name, scenario);
    if (cbx_json_get(trial, "times")) {
        cbx__import_samples(job, cbx__import_array(job, trial, "times"), "times", 1e-9, &times);
        cbx__import_metric_samples(job, &estimate[0].def, &times);
        if (cbx_json_get(trial, "gctimes"))
            cbx__import_samples(job, cbx__import_array(job, trial, "gctimes"), "gctimes", 1e-9, &gc);
        cbx__import_metric_samples(job, &estimate[1].def, &gc);
    } else {
        cbx__import_fields(job, trial, estimate, CBX_LEN(estimate));
    }
    cbx__import_fields(job, trial, costs, CBX_LEN(costs));
    cbx__import_point_end(job);
}

/* --- walking --- */

/* The file as far as it has been read. */
typedef struct reading {
    cbx__import_job *job;
    cbx__json_reader *json;
} reading;

/* What the reader says goes to the job; false: it is over. */
static bool good(reading *r, cbx_status st, const cbx_err *err)
{
    if (st) cbx__import_fail_whole(r->job, st, err->message);
    return !cbx__import_failed(r->job);
}

static bool enter(reading *r)
{
    cbx_err err = CBX_ERR_INIT;

    return good(r, cbx__json_reader_enter(r->json, &err), &err);
}

/* To the next member or element; its key is the caller's to free. */
static bool next(reading *r, char **key)
{
    cbx_err err = CBX_ERR_INIT;
    const char *name = NULL;
    bool more = false;

    *key = NULL;
    if (!good(r, cbx__json_reader_next(r->json, &name, &more, &err), &err) || !more) return false;
    *key = strdup(name ? name : "");
    if (!*key) cbx__import_fail(r->job, CBX_ENOMEM, "out of memory");
    return *key != NULL;
}

static bool next_value(reading *r, cbx_json **out)
{
    cbx_err err = CBX_ERR_INIT;
    char *key;

    *out = NULL;
    if (!next(r, &key)) return false;
    free(key);
    return good(r, cbx__json_reader_value(r->json, out, &err), &err);
}

static void skip(reading *r)
{
    cbx_err err = CBX_ERR_INIT;

    good(r, cbx__json_reader_skip(r->json, &err), &err);
}

static void skip_rest(reading *r)
{
    char *key;

    while (next(r, &key)) {
        free(key);
        skip(r);
    }
}

static void read_node(reading *r, const char *name, const char *scenario);

/* {"tags": [...], "data": {name: node}} */
static void read_group(reading *r, const char *scenario)
{
    bool has_data = false;
    char *key, *inner;

    if (cbx__json_reader_type(r->json) != CBX_JSON_OBJECT || !enter(r)) {
        cbx__import_fail(r->job, CBX_EFORMAT, "expected an object behind 'BenchmarkGroup'");
        return;
    }
    for (; next(r, &key); free(key)) {
        if (strcmp(key, "data") != 0 || cbx__json_reader_type(r->json) != CBX_JSON_OBJECT) {
            skip(r);
            continue;
        }
        has_data = true;
        if (!enter(r)) continue;
        for (; next(r, &inner); free(inner)) read_node(r, inner, scenario);
    }
    if (!has_data) cbx__import_fail(r->job, CBX_EFORMAT, "'data' is missing: expected an object");
}

static void read_content(reading *r, const char *kind, const char *name, const char *scenario)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_json *content = NULL;

    if (!good(r, cbx__import_read(r->job, r->json, &content, &err), &err)) return;
    if (cbx_json_typeof(content) != CBX_JSON_OBJECT)
        cbx__import_fail(r->job, CBX_EFORMAT, "'%.80s': expected [type, object]", name);
    else if (!strcmp(kind, "Trial") || !strcmp(kind, "TrialEstimate"))
        read_trial(r->job, content, *name ? name : "trial", scenario);
    else
        cbx__import_note(r->job, *name ? name : kind, "is a %.80s, which holds no measurement", kind);
    cbx_json_unref(content);
    cbx__import_forget(r->job);
}

/* ["Trial" | "TrialEstimate" | "BenchmarkGroup", {...}]; as deep as JSON may be */
static void read_node(reading *r, const char *name, const char *scenario)
{
    cbx_json *first = NULL;
    static const char module[] = "BenchmarkTools."; /* before the name of a type, in files of its first versions */
    const char *kind = NULL;
    char *inner = NULL, *key = NULL;

    if (cbx__json_reader_type(r->json) == CBX_JSON_ARRAY && enter(r) && next_value(r, &first))
        kind = cbx_json_string_value(first);
    if (kind && !strncmp(kind, module, sizeof(module) - 1)) kind += sizeof(module) - 1;
    if (!kind || !next(r, &key)) {
        cbx__import_fail(r->job, CBX_EFORMAT, "'%.80s': expected [type, object]", name);
    } else if (strcmp(kind, "BenchmarkGroup") != 0) {
        read_content(r, kind, name, scenario);
    } else if (asprintf(&inner, "%s%s%s", scenario, *scenario && *name ? "/" : "", name) < 0) {
        cbx__import_fail(r->job, CBX_ENOMEM, "out of memory");
    } else {
        read_group(r, inner);
        free(inner);
    }
    skip_rest(r);
    free(key);
    cbx_json_unref(first);
}

/* [versions, [node, ...]] */
static void read_values(reading *r)
{
    cbx_json *versions = NULL;
    char *key;

    if (!enter(r) || !next_value(r, &versions)) return;
    cbx__import_run_environment(r->job, "versions", versions);
    cbx_json_unref(versions);
    if (!next(r, &key) || cbx__json_reader_type(r->json) != CBX_JSON_ARRAY || !enter(r)) {
        cbx__import_fail(r->job, CBX_EFORMAT, "expected [versions, values]");
    } else {
        free(key);
        for (size_t i = 0; next(r, &key); i++, free(key)) {
            cbx__import_at(r->job, "1.%zu", i);
            read_node(r, "", "");
        }
        key = NULL;
    }
    free(key);
}

static void read_file(cbx__import_job *job)
{
    cbx__bytes_walk walk;
    cbx_err err = CBX_ERR_INIT;
    reading r = { .job = job };

    if (!good(&r, cbx__bytes_walk_begin(&walk, cbx__import_source_of(job)->bytes, 0, &err), &err)) return;
    r.json = walk.reader;
    cbx__import_run_begin(job);
    read_values(&r);
    cbx__import_run_end(job);
    cbx__bytes_walk_end(&walk);
}

const cbx__importer cbx__importer_benchmarktools = {
    .struct_size = sizeof(cbx__importer),
    .abi = CBX_IMPORTER_ABI,
    .name = "benchmarktools",
    .summary = "BenchmarkTools.jl, JSON",
    .detect = detect,
    .read = read_file,
    .list = "",
    .version = "0.BenchmarkTools",
};
