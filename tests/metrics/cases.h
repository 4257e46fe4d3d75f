/* Cases of metric functions from files of JSON lines (scripts/fixtures/make_metric_cases.py). */
#ifndef CALIBRAX_TESTS_METRICS_CASES_H
#define CALIBRAX_TESTS_METRICS_CASES_H

#include "check.h"

#include "calibrax/metrics/metrics.h"

typedef struct metric_case {
    char label[256]; /* file, line and metric */
    const cbx_metric_function *metric;
    cbx_array *in[CBX_METRIC_MAX_OPERANDS]; /* owned */
    size_t nin;
    double parameters[CBX_METRIC_MAX_PARAMETERS];
    cbx_axes axes;
    cbx_metric_options options; /* its mask and weights are owned */
    cbx_array *result;
    cbx_array *gradients[CBX_METRIC_MAX_OPERANDS]; /* of the result by each operand; NULL: not given */
    double tolerance;
} metric_case;

/* Fails the test where the line is not a case. */
void read_case(cbx_ctx *ctx, const char *line, size_t number, const char *path, metric_case *out);
void free_case(metric_case *c);

#endif
