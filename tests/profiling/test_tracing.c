/*
 * Traces, judged by the rules of the format in check_trace.py, and one by what Perfetto's trace
 * processor found in it (`make trace-reader` asks it anew: CALIBRAX_KEEP_TRACE names the file that
 * the trace is kept in).
 */
#include "check.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/file.h"
#include "calibrax/base/json.h"
#include "calibrax/profiling/tracing.h"
#include "fail_alloc.h"

static int judge(const char *path)
{
    char command[512];
    snprintf(command, sizeof command, "python3 '%s/tests/profiling/check_trace.py' '%s' 2>/dev/null",
             getenv("CALIBRAX_SOURCE_ROOT"), path);
    return system(command);
}

static void nested(cbx_timeline *t)
{
    const cbx_timeline_arg args[] = { { "size \"n\"", NULL, 1e6 },
                                      { "kernel\n", "tiled", 0 },
                                      { "nothing", NULL, NAN } };
    cbx_timeline_begin(t, "outer", NULL, NULL, args, CBX_LEN(args));
    cbx_timeline_begin(t, "inner", "work", NULL, NULL, 0);
    cbx_timeline_instant(t, "tick", "work", NULL, NULL, 0);
    cbx_timeline_end(t, NULL);
    cbx_timeline_end(t, NULL);
}

static void *many(void *t)
{
    cbx_timeline_name(t, NULL, "worker", false);
    for (int i = 0; i < 200; i++) nested(t);
    return NULL;
}

static cbx_json *written(cbx_ctx *ctx, cbx_timeline *t, const char *path)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_json *v = NULL;
    CHECK_OK(cbx_timeline_write(ctx, t, path, &err), &err, "write");
    CHECK_INT(judge(path), 0, "rules of the format");
    CHECK_OK(cbx_json_read(ctx, path, &v, &err), &err, "JSON");
    return v;
}

TEST(all_kinds)
{
    cbx_ctx *ctx = NULL;
    cbx_timeline *t = NULL;
    cbx_err err = CBX_ERR_INIT;
    char dir[64], path[128];
    pthread_t threads[4];
    const cbx_timeline_arg values[] = { { "rss", NULL, 12.5 }, { "pss", NULL, INFINITY } };
    const cbx_timeline_at then = { 5000123, 77, 88 };
    snprintf(path, sizeof path, "%s/trace.json", cbx_test_folder(dir));
    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "context");
    CHECK_OK(cbx_timeline_create(ctx, "a \xff program", &t, &err), &err, "trace");
    for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, many, t) == 0, "thread");
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    cbx_timeline_counter(t, "memory", &then, values, CBX_LEN(values));
    cbx_timeline_counter(t, "unknown", &then, values + 1, 1);
    cbx_timeline_span(t, "whole", "launch", &then, 2500, NULL, 0);
    cbx_timeline_begin(t, "left open", NULL, NULL, NULL, 0);
    cbx_timeline_note(t, "commit", "abc");
    CHECK_INT(cbx_timeline_events(t), 1 + 4 * (1 + 200 * 5) + 3, "events: a counter without a value is none");
    cbx_json *v = written(ctx, t, path), *events = cbx_json_get(v, "traceEvents");
    CHECK_INT(cbx_json_length(events), cbx_timeline_events(t) + 1, "and the end of the open one");
    cbx_json *span = cbx_json_at(events, cbx_json_length(events) - 3);
    CHECK_STR(cbx_json_get_string(span, "ph", ""), "X", "the span");
    CHECK_LE(fabs(cbx_json_get_double(span, "ts", 0) - 5000.123), 1e-9, "microseconds");
    CHECK_LE(fabs(cbx_json_get_double(span, "dur", 0) - 2.5), 0, "microseconds");
    CHECK(cbx_json_get_int(span, "tid", 0) == 77 && cbx_json_get_int(span, "pid", 0) == 88, "where");
    CHECK_STR(cbx_json_get_string(cbx_json_get(v, "otherData"), "commit", ""), "abc", "note");
    cbx_json_unref(v);
    cbx_timeline_end(t, NULL);
    cbx_json_unref(written(ctx, t, path));
    cbx_timeline_free(t);
    cbx_timeline_free(NULL);
    cbx_timeline_begin(NULL, "nothing", NULL, NULL, NULL, 0);
    cbx_timeline_end(NULL, NULL);
    cbx_test_folder_remove(dir);
    cbx_ctx_free(ctx);
}

TEST(faults)
{
    static const char planted[] =
        "{\"traceEvents\":[{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":1}],\"displayTimeUnit\":\"ns\"}";
    const cbx_timeline_at late = { 2000, 1, 1 }, early = { 1000, 1, 1 };
    cbx_ctx *ctx = NULL;
    cbx_timeline *t = NULL;
    cbx_err err = CBX_ERR_INIT;
    char dir[64], path[128];
    snprintf(path, sizeof path, "%s/trace.json", cbx_test_folder(dir));
    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "context");
    CHECK_OK(cbx_timeline_create(ctx, NULL, &t, &err), &err, "trace");
    cbx_json_unref(written(ctx, t, path)); /* empty */
    cbx_timeline_end(t, NULL);
    CHECK_STATUS(cbx_timeline_write(ctx, t, path, &err), CBX_EINVAL, "none is open");
    CHECK(strstr(err.message, "none was open"), err.message);
    cbx_timeline_free(t);
    CHECK_OK(cbx_timeline_create(ctx, NULL, &t, &err), &err, "trace");
    cbx_timeline_begin(t, "x", NULL, &late, NULL, 0);
    cbx_timeline_end(t, &early);
    CHECK_STATUS(cbx_timeline_write(ctx, t, path, &err), CBX_EINVAL, "before it begins");
    cbx_timeline_free(t);
    CHECK_OK(cbx_timeline_create(ctx, NULL, &t, &err), &err, "trace");
    for (uint32_t i = 1; i <= CBX_TIMELINE_MAX_TRACKS + 1; i++)
        cbx_timeline_begin(t, "x", NULL, &(cbx_timeline_at){ 1, i, 1 }, NULL, 0);
    CHECK_STATUS(cbx_timeline_write(ctx, t, path, &err), CBX_EOVERFLOW, "too many tracks");
    cbx_timeline_free(t);
    CHECK_STATUS(cbx_timeline_write(ctx, NULL, path, &err), CBX_EINVAL, "no trace");
    /* the judge sees what is wrong */
    CHECK_OK(cbx_file_write_atomic(ctx, path, planted, strlen(planted), &err), &err, "planted");
    CHECK(judge(path) != 0, "an end without a begin");
    cbx_test_folder_remove(dir);
    cbx_ctx_free(ctx);
}

/* --- the trace that Perfetto read --- */

/* Spans that nest, touch, are empty or left open; two processes; moments; counters of one and of
 * two series; odd names. */
static void tell_known(cbx_timeline *t)
{
    static const cbx_timeline_arg notes[] = { { "n", NULL, 1024 }, { "kernel", "tiled \"8\"", 0 } };
    static const cbx_timeline_arg memory[] = { { "rss", NULL, 12.5 }, { "pss", NULL, 10 } };
    static const cbx_timeline_arg load[] = { { "cpu", NULL, 0.75 } };
#define AT(ns, track, process) &(cbx_timeline_at){ ns, track, process }
    cbx_timeline_name(t, AT(1000, 11, 7), "calibrax", true);
    cbx_timeline_name(t, AT(1000, 11, 7), "main", false);
    cbx_timeline_name(t, AT(1000, 21, 8), "worker \xc2\xb5", true);
    cbx_timeline_begin(t, "launch", "perf", AT(1000, 11, 7), notes, CBX_LEN(notes));
    cbx_timeline_begin(t, "compile", "perf", AT(1500, 11, 7), NULL, 0);
    cbx_timeline_instant(t, "first call", "perf", AT(1750, 11, 7), NULL, 0);
    cbx_timeline_end(t, AT(2500, 11, 7));
    cbx_timeline_begin(t, "epoch", "perf", AT(2500, 11, 7), NULL, 0);
    cbx_timeline_counter(t, "memory", AT(2600, 11, 7), memory, CBX_LEN(memory));
    cbx_timeline_counter(t, "load", AT(2700, 21, 8), load, CBX_LEN(load));
    cbx_timeline_end(t, AT(1002501, 11, 7));
    cbx_timeline_span(t, "outputs", "", AT(1002501, 11, 7), 999, NULL, 0);
    cbx_timeline_end(t, AT(2000000, 11, 7));
    cbx_timeline_span(t, "kernel", "gpu", AT(2600, 21, 8), 900001, notes, 1);
    cbx_timeline_span(t, "nothing", "gpu", AT(950000, 21, 8), 0, NULL, 0);
    cbx_timeline_begin(t, "left open", "gpu", AT(960000, 21, 8), NULL, 0);
    cbx_timeline_instant(t, "end", "gpu", AT(3000000, 21, 8), NULL, 0);
#undef AT
}

static char *whole_file(cbx_ctx *ctx, const char *path, size_t *len)
{
    char *text = NULL;
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_file_read(ctx, path, 0, &text, len, &err), &err, path);
    return text;
}

/* What the processor found is what was told: name, depth, begin and duration [ns] of each span and
 * moment, and each value of a counter. */
static void check_answers(const cbx_json *found)
{
    static const struct {
        const char *name, *process;
        int64_t ts, dur, depth, tid;
    } spans[] = {
        { "launch", "calibrax", 1000, 1999000, 0, 11 },
        { "compile", "calibrax", 1500, 1000, 1, 11 },
        { "first call", "calibrax", 1750, 0, 2, 11 },
        { "epoch", "calibrax", 2500, 1000001, 1, 11 },
        { "kernel", "worker \xc2\xb5", 2600, 900001, 0, 21 },
        { "nothing", "worker \xc2\xb5", 950000, 0, 0, 21 },
        { "left open", "worker \xc2\xb5", 960000, 2040000, 0, 21 },
        { "outputs", "calibrax", 1002501, 999, 1, 11 },
        { "end", "worker \xc2\xb5", 3000000, 0, 0, 21 }, /* where the open span ends */
    };
    static const struct {
        const char *name;
        double value;
    } values[] = { { "memory pss", 10 }, { "memory rss", 12.5 }, { "load cpu", 0.75 } };
    const cbx_json *list = cbx_json_get(found, "slices");
    CHECK_INT(cbx_json_length(cbx_json_get(found, "faults")), 0, "no complaint");
    CHECK_INT(cbx_json_length(list), CBX_LEN(spans), "spans and moments");
    for (size_t i = 0; i < CBX_LEN(spans); i++) {
        const cbx_json *s = cbx_json_at(list, i);
        CHECK_STR(cbx_json_get_string(s, "name", ""), spans[i].name, "in the order of time");
        CHECK_STR(cbx_json_get_string(s, "process", ""), spans[i].process, spans[i].name);
        CHECK_INT(cbx_json_get_int(s, "ts", -1), spans[i].ts, spans[i].name);
        CHECK_INT(cbx_json_get_int(s, "dur", -1), spans[i].dur, spans[i].name);
        CHECK_INT(cbx_json_get_int(s, "depth", -1), spans[i].depth, spans[i].name);
        CHECK_INT(cbx_json_get_int(s, "tid", -1), spans[i].tid, spans[i].name);
    }
    list = cbx_json_get(found, "counters");
    CHECK_INT(cbx_json_length(list), CBX_LEN(values), "values of counters");
    for (size_t i = 0; i < CBX_LEN(values); i++) {
        CHECK_STR(cbx_json_get_string(cbx_json_at(list, i), "name", ""), values[i].name, "a series");
        CHECK(cbx_json_get_double(cbx_json_at(list, i), "value", -1) == values[i].value, values[i].name);
    }
}

TEST(the_trace_that_perfetto_read)
{
    const char *keep = getenv("CALIBRAX_KEEP_TRACE");
    cbx_ctx *ctx = NULL;
    cbx_timeline *t = NULL;
    cbx_json *found = NULL;
    cbx_err err = CBX_ERR_INIT;
    char dir[64], path[128], *ours, *read;
    size_t n, m;
    snprintf(path, sizeof path, "%s/trace.json", cbx_test_folder(dir));
    CHECK_OK(cbx_ctx_create(NULL, &ctx, &err), &err, "context");
    CHECK_OK(cbx_timeline_create(ctx, NULL, &t, &err), &err, "trace");
    tell_known(t);
    CHECK_OK(cbx_timeline_write(ctx, t, path, &err), &err, "write");
    CHECK_INT(judge(path), 0, "rules of the format");
    ours = whole_file(ctx, path, &n);
    if (keep) {
        CHECK_OK(cbx_file_write_atomic(ctx, keep, ours, n, &err), &err, keep);
    } else {
        read = whole_file(ctx, cbx_test_source("tests/fixtures/trace/known.json"), &m);
        CHECK(n == m && !memcmp(ours, read, n), "byte for byte what Perfetto read");
        cbx_mem_free(cbx_ctx_allocator(ctx), read, m + 1);
        CHECK_OK(cbx_json_read(ctx, cbx_test_source("tests/fixtures/trace/found.json"), &found, &err), &err,
                 "what it found");
        check_answers(found);
        cbx_json_unref(found);
    }
    cbx_mem_free(cbx_ctx_allocator(ctx), ours, n + 1);
    cbx_timeline_free(t);
    cbx_test_folder_remove(dir);
    cbx_ctx_free(ctx);
}

static cbx_status trace_it(cbx_ctx *ctx, void *user)
{
    cbx_timeline *t = NULL;
    cbx_err err;
    cbx_status st = cbx_timeline_create(ctx, "p", &t, &err);
    if (st) return st;
    for (int i = 0; i < 5; i++) nested(t);
    cbx_timeline_note(t, "k", "v");
    st = cbx_timeline_write(ctx, t, user, &err);
    cbx_timeline_free(t);
    return st;
}

TEST(out_of_memory)
{
    char dir[64], path[128];
    snprintf(path, sizeof path, "%s/trace.json", cbx_test_folder(dir));
    CHECK_GT(cbx_test_fail_each(trace_it, path, "trace"), 4, "allocations");
    cbx_test_folder_remove(dir);
}

TESTS()
