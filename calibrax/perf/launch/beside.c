/*
 * What a launch asks of its worker beside epochs: caches flushed, and calls that do nothing.
 *
 * A worker that only claims to have flushed gains the time of warm calls in a row that is called cold; it is never faster than it is anyway.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/perf/launch/launch_internal.h"

#define NULL_READINGS 5
#define NULL_FIRST    64
#define NULL_NS       1e6 /* that a reading lasts */
#define NULL_MAX      10000000.0

static bool ask(cbx__run *x, const char *phase, const char *text, const char *op, cbx_json **answer)
{
    x->t->phase = phase;
    return cbx__talk_ask_text(x->t, text, strlen(text), NULL, 0, op, answer);
}

bool cbx__run_flush(cbx__run *x)
{
    if (x->can_flush) return ask(x, "flush", "{\"op\":\"flush\"}\n", "flush", NULL);
    cbx__talk_fail(x->t, CBX_FAILURE_POINT_UNSUPPORTED, "this worker cannot flush the caches");
    return false;
}

/* [ns] of a call in n calls; NaN: no number. */
static bool null_calls(cbx__run *x, double n, double *ns)
{
    cbx_json *m = NULL;
    char text[64];

    snprintf(text, sizeof text, "{\"op\":\"null\",\"iterations\":%.0f}\n", n);
    if (!ask(x, "null", text, "null", &m)) return false;
    *ns = cbx_json_get_double(m, "ns", NAN) / n;
    cbx_json_unref(m);
    return true;
}

bool cbx__run_call_overhead(cbx__run *x)
{
    double calls[NULL_READINGS], n = NULL_FIRST, one;

    if (!x->can_null) return true;
    if (!null_calls(x, n, &one) || !null_calls(x, n, &one)) return false; /* the first one warms it up */
    if (!(one >= 0)) return true;
    n = fmin(fmax(NULL_FIRST, NULL_NS / fmax(one, 0.1)), NULL_MAX);
    for (size_t i = 0; i < NULL_READINGS; i++)
        if (!null_calls(x, n, &calls[i])) return false;
    one = cbx__run_median(calls, NULL_READINGS);
    if (one >= 0) x->r->call_overhead_ns = one;
    return true;
}
