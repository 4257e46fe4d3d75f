/* Runs for the tests of analysis, from short texts. */
#ifndef CALIBRAX_TESTS_ANALYSIS_RUNS_H
#define CALIBRAX_TESTS_ANALYSIS_RUNS_H

#include <stdio.h>

#include "calibrax/core/run.h"
#include "check.h"

/** Definitions that most tests share: ms (lower), rate (higher), note (info). */
#define RUNS_DEFS                                                                                                      \
    "\"ms\":{\"name\":\"ms\",\"unit\":\"ms\",\"direction\":\"lower\",\"priority\":\"primary\"},"                       \
    "\"rate\":{\"name\":\"rate\",\"unit\":\"1/s\",\"direction\":\"higher\"},"                                          \
    "\"loss\":{\"name\":\"loss\",\"unit\":\"\",\"direction\":\"lower\"},"                                              \
    "\"note\":{\"name\":\"note\",\"unit\":\"\",\"direction\":\"info\"}"

/** A point "p" of scenario "s" without tags. */
#define RUNS_POINT(metrics) "{\"name\":\"p\",\"scenario\":\"s\",\"tags\":{},\"metrics\":{" metrics "}}"

/** Each has an id of its own.  @param machine  NULL: none */
static inline cbx_run *runs_make(const cbx_allocator *al, const char *machine, const char *defs, const char *points)
{
    static char text[1 << 16];
    static unsigned turn;
    char env[64] = "";
    cbx_err err = CBX_ERR_INIT;
    cbx_ctx_opts opts = CBX_CTX_OPTS_INIT;
    cbx_ctx *own = NULL;
    cbx_json *v = NULL;
    cbx_run *run = NULL;
    int n;

    opts.allocator = *al;

    if (machine) snprintf(env, sizeof env, "\"machine\":\"%s\"", machine);
    n = snprintf(text, sizeof text,
                 "{\"id\":\"r%u\",\"timestamp\":\"2026-01-01T00:00:00+00:00\",\"commit\":null,\"branch\":null,"
                 "\"environment\":{%s},\"metadata\":{},\"metric_defs\":{%s},\"points\":[%s]}",
                 ++turn, env, defs, points);
    CHECK(n > 0 && (size_t)n < sizeof text, "the text fits");
    CHECK_OK(cbx_json_parse(text, (size_t)n, "run", &v, &err), &err, text);
    CHECK_OK(cbx_ctx_create(&opts, &own, &err), &err, "context");
    CHECK_OK(cbx_run_from_json(own, v, "run", &run, &err), &err, text);
    cbx_ctx_free(own);
    cbx_json_unref(v);
    return run;
}

#endif
