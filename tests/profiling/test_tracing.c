/* Traces, judged by the rules of the format in check_trace.py. */
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

static void all_kinds(void **state)
{
    cbx_ctx *ctx = NULL;
    cbx_timeline *t = NULL;
    cbx_err err = CBX_ERR_INIT;
    char dir[64], path[128];
    pthread_t threads[4];
    const cbx_timeline_arg values[] = { { "rss", NULL, 12.5 }, { "pss", NULL, INFINITY } };
    const cbx_timeline_at then = { 5000123, 77, 88 };
    (void)state;
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

static void faults(void **state)
{
    static const char planted[] =
        "{\"traceEvents\":[{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":1}],\"displayTimeUnit\":\"ns\"}";
    const cbx_timeline_at late = { 2000, 1, 1 }, early = { 1000, 1, 1 };
    cbx_ctx *ctx = NULL;
    cbx_timeline *t = NULL;
    cbx_err err = CBX_ERR_INIT;
    char dir[64], path[128];
    (void)state;
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

static void out_of_memory(void **state)
{
    char dir[64], path[128];
    (void)state;
    snprintf(path, sizeof path, "%s/trace.json", cbx_test_folder(dir));
    CHECK_GT(cbx_test_fail_each(trace_it, path, "trace"), 4, "allocations");
    cbx_test_folder_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(all_kinds), cmocka_unit_test(faults),
                                        cmocka_unit_test(out_of_memory) };
    return cmocka_run_group_tests_name("profiling/tracing", tests, NULL, NULL);
}
