/**
 * Targets: metrics of a point against values that they have to reach.
 *
 * Met: value >= target where higher is better, value <= target where lower is.  A metric with an
 * interval is met or missed only if all of it lies on one side.  Nothing passes because it could
 * not be checked: each reason has a name and an exit code.
 */
#ifndef CALIBRAX_PERF_CASE_TARGETS_H
#define CALIBRAX_PERF_CASE_TARGETS_H

#include "calibrax/base/json.h"
#include "calibrax/core/run.h"

CBX_BEGIN_DECLS

/* name, word in outputs, exit code */
#define CBX_TARGET_MAP(X)                                                                                              \
    X(MET, "met", 0)                                                                                                   \
    X(MISSED, "missed", 1)                                                                                             \
    X(NOT_A_NUMBER, "not-a-number", 1) /* the value, a sample or the target is not finite */                           \
    X(UNDECIDED, "undecided", 3)       /* the interval holds the target */                                             \
    X(MISSING, "missing-metric", 2)    /* the benchmark gave no such metric, or not in every launch */                 \
    X(NO_DIRECTION, "no-direction", 2) /* the metric has no direction */                                               \
    X(INCOMPLETE, "incomplete", 2)     /* a launch of the benchmark failed */

typedef enum cbx_target_outcome {
#define CBX_TARGET_ENUM(name, words, exit_code) CBX_TARGET_##name,
    CBX_TARGET_MAP(CBX_TARGET_ENUM)
#undef CBX_TARGET_ENUM
        CBX_TARGET_COUNT
} cbx_target_outcome;

/** As listed; "?" for a number outside the list. */
CBX_API const char *cbx_target_outcome_name(cbx_target_outcome outcome);
/** As listed; 2 for a number outside the list. */
CBX_API int cbx_target_exit_code(cbx_target_outcome outcome);

/** A target, and how it came out.  Text is the caller's. */
typedef struct cbx_target_check {
    cbx_target_outcome outcome;
    const char *benchmark, *metric;
    const char *unit;        /* "" of a metric without a definition */
    cbx_direction direction; /* info: unknown */
    double target;
    cbx_metric value; /* NaN if it is missing; samples borrowed */
    double margin;    /* by how much the value is on the good side; < 0: on the bad side; NaN: unknown */
} cbx_target_check;

/**
 * @param value  NULL: missing
 * @param def    NULL: the metric has no definition
 */
CBX_API cbx_target_check cbx_target_judge(const cbx_metric *value, const cbx_metric_def *def, double target);
/** "'sum': 'latency' is 3.1 s, at most 2.0 s was the target" into buf. */
CBX_API const char *cbx_target_sentence(const cbx_target_check *t, char *buf, size_t size);
/** {"benchmark","metric","target","direction","value","lower","upper","outcome","margin"}; NULL:
 * out of memory. */
CBX_API cbx_json *cbx_target_json(const cbx_target_check *t);
/** Of several checks: 0 if all are met, else the greatest demand, a miss first, then what cannot be
 * judged, then what is undecided. */
CBX_API int cbx_targets_exit_code(const cbx_target_check *checks, size_t n);

CBX_END_DECLS
#endif
