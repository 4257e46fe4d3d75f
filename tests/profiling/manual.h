/*
 * What the examples of docs/how-to/profiling.md are checked with (scripts/doc_examples.py).
 */
#ifndef CALIBRAX_TESTS_PROFILING_MANUAL_H
#define CALIBRAX_TESTS_PROFILING_MANUAL_H

#include "check.h"

#include <math.h>
#include <stdio.h>

#include "calibrax/calibrax.h" /* nothing else: the examples use installed headers */

static inline void number_holds(double x, const char *text, int line)
{
    char shown[64], where[32];
    snprintf(shown, sizeof shown, "%.9g", x);
    snprintf(where, sizeof where, "line %d", line);
    CHECK_STR(shown, text, where);
}

static inline void word_holds(const char *x, const char *text, int line)
{
    char where[32];
    snprintf(where, sizeof where, "line %d", line);
    CHECK_STR(x, text, where);
}

static inline void truth_holds(bool x, const char *text, int line) { word_holds(x ? "true" : "false", text, line); }

#define manual_holds(c, x, text, line)                                                                                 \
    _Generic((x), bool: truth_holds, const char *: word_holds, char *: word_holds, default: number_holds)(x, text, line)

static inline void manual_run(void (*body)(cbx_ctx *c), cbx_status status, const char *words, int line)
{
    cbx_ctx *ctx = NULL;
    (void)status, (void)words, (void)line;
    CHECK_OK(cbx_ctx_create(NULL, &ctx, NULL), (&(cbx_err){ 0 }), "context");
    body(ctx);
    cbx_ctx_free(ctx);
}

#endif
