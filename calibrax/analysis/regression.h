/** Regressions: a run against a baseline run, each metric of each point with a named outcome, and
 * one answer with an exit code.
 *
 * Nothing passes because it could not be compared: what is missing, not finite, impossible,
 * duplicated or defined differently is an outcome of its own.
 *
 * Key: (point, scenario, tags in the order of their keys, metric). Change: (current - baseline) /
 * |baseline|; "worse" is up for lower-is-better and down for higher-is-better metrics. A change
 * counts if it is more than max(threshold, minimum / |baseline|), where rounding does not decide
 * (cbx_verdict_exceeds). Basis of the verdict:
 *   samples  of both sides, wherever both have them: the Hodges-Lehmann shift of their logarithms
 *            (of the samples themselves, over |median of the baseline|, unless all are > 0) with
 *            its interval at the level, the inversion of the Mann-Whitney test, exact for up to 100
 *            samples together. p: Mann-Whitney, exact for up to 50 together, corrected over the
 *            table after Holm. Regressed or improved: the interval is wholly on one side of 0, its
 *            value is more than the threshold, and the corrected p is at most 1 - level;
 *            equivalent: the interval and the change of the values are within the margin; else
 *            undecided, also where there are too few samples for an interval (95 % needs 4 a side).
 *            Never judged by values alone.
 *   bounds   lower and upper of both: the interval of the quotient; no p.
 *   values   the values alone: regressed, improved or unchanged. Undecided if one side has samples
 *            whose median is worse by more than the threshold.
 * Definitions: of each run its own, else those of opts->defs.  Both must exist and agree.
 * Thresholds go by the priority in the baseline's definition: a run does not choose what it is
 * judged by. */
#ifndef CALIBRAX_ANALYSIS_REGRESSION_H
#define CALIBRAX_ANALYSIS_REGRESSION_H

#include "calibrax/analysis/verdict.h"
#include "calibrax/core/run.h"

CBX_BEGIN_DECLS

/* name, as in outputs, exit code (without allowances) */
#define CBX_OUTCOME_MAP(X)                                                                                             \
    X(UNCHANGED, "unchanged", 0) /* by values: not more than the threshold */                                          \
    X(IMPROVED, "improved", 0)                                                                                         \
    X(REGRESSED, "regressed", 1)                                                                                       \
    X(EQUIVALENT, "equivalent", 0) /* by an interval within the margin */                                              \
    X(UNDECIDED, "undecided", 3)   /* by an interval that shows neither */                                             \
    X(NEW, "new", 0)               /* not in the baseline */                                                           \
    X(DROPPED, "dropped", 2)       /* in the baseline and missing now */                                               \
    X(NAN_NOW, "not-a-number", 1)  /* value or a sample of the run is not finite, also of a new metric */              \
    X(NAN_BASELINE, "baseline-not-a-number", 2)                                                                        \
    X(ZERO_BASELINE, "zero-baseline", 2)                   /* and no minimum change to compare by */                   \
    X(NO_DEFINITION, "no-definition", 2)                   /* in neither run */                                        \
    X(NO_DEFINITION_NOW, "no-definition-now", 2)           /* in the baseline only: the unit may have changed */       \
    X(NO_DEFINITION_BASELINE, "no-definition-baseline", 2) /* in the run only */                                       \
    X(DUPLICATE, "duplicate-key", 2)                       /* the key is twice in one of the runs */                   \
    X(INFO, "info", 0)                                     /* direction "info": never gates */                         \
    X(DEFINITIONS_DIFFER, "definitions-differ", 2)         /* unit or direction of run and baseline */                 \
    X(BOUNDS_NOW, "impossible-bounds", 1)                  /* one without the other, or not around the value */        \
    X(BOUNDS_BASELINE, "baseline-impossible-bounds", 2)                                                                \
    X(TIME_NOW, "impossible-time", 1) /* value or a sample not above 0, in a unit of time where lower is better */     \
    X(TIME_BASELINE, "baseline-impossible-time", 2)                                                                    \
    X(VALUE_NOW, "value-outside-samples", 1) /* the value is below the least sample or above the largest */            \
    X(VALUE_BASELINE, "baseline-value-outside-samples", 2)

typedef enum cbx_outcome {
#define CBX_OUTCOME_ENUM(name, words, exit_code) CBX_OUTCOME_##name,
    CBX_OUTCOME_MAP(CBX_OUTCOME_ENUM)
#undef CBX_OUTCOME_ENUM
        CBX_OUTCOME_COUNT
} cbx_outcome;

/** As listed; "?" for a number outside the list. */
CBX_API const char *cbx_outcome_name(cbx_outcome outcome);

typedef enum cbx_basis { CBX_BASIS_NONE, CBX_BASIS_VALUES, CBX_BASIS_BOUNDS, CBX_BASIS_SAMPLES } cbx_basis;
/** "none", "values", "bounds", "samples" */
CBX_API const char *cbx_basis_name(cbx_basis basis);

/** A threshold for metrics whose name matches; the first rule that matches counts. */
typedef struct cbx_regression_rule {
    const char *metric; /* shell pattern (*, ?, [...]) over the metric's name */
    double threshold;   /* relative; NaN: as without the rule */
    double minimum;     /* absolute, in the metric's unit; NaN: as without the rule */
} cbx_regression_rule;

typedef struct cbx_regression_opts {
    uint32_t struct_size;
    double threshold;         /* relative, finite, >= 0; 5 % */
    double primary_threshold; /* of metrics of priority "primary" and "secondary"; NaN: threshold */
    double secondary_threshold;
    /* absolute, in the metric's unit, >= 0: smaller changes do not count */
    double minimum;
    const cbx_regression_rule *rules; /* before everything above */
    size_t nrules;
    double level;        /* of intervals, 0 < level < 1 */
    bool values_only;    /* ignore samples and bounds */
    bool allow_dropped;  /* keys that are missing now do not fail */
    bool allow_machines; /* compare across machines, with a label */
    bool undecided_passes;
    /* definitions for what neither run defines (cbx_run_defs_read); NULL: none */
    const cbx_run *defs;
    /* relative: an interval within it is equivalent, though wider than the threshold; NaN: the
     * threshold */
    double margin;
    bool allow_same;   /* a run against itself, to list what differs: it gates nothing */
    bool no_sentences; /* findings without sentences, which take half the memory */
} cbx_regression_opts;

#define CBX_REGRESSION_OPTS_INIT                                                                                       \
    CBX_OPTS(cbx_regression_opts, 0.05, __builtin_nan(""), __builtin_nan(""), 0, 0, 0, 0.95, 0, 0, 0, 0, 0,            \
             __builtin_nan(""), 0, 0)

/** One key.  Text lives as long as the result. */
typedef struct cbx_finding {
    cbx_outcome outcome;
    const char *key; /* "point@scenario{tag=value,...}:metric" */
    const char *point, *scenario, *tags, *metric;
    const char *unit; /* NULL: no definition */
    cbx_direction direction;
    cbx_priority priority;
    double baseline, current; /* NaN: missing */
    double change;            /* of the values, signed as they are; NaN: none */
    /* what the change had to exceed, the minimum included; NaN: not compared */
    double threshold;
    /* what an equivalent interval is within, at least the threshold; NaN: not compared */
    double margin;
    cbx_basis basis;
    /* of the change, signed; level 0: too few samples, or no level is known */
    cbx_interval interval;
    double p, p_holm; /* NaN: none */
    double spread;    /* by samples: standard deviation of one, relative; NaN: not known */
    /* undecided: about how many samples on each side would decide; 0: not known */
    size_t samples;
    bool contradicted;       /* the median of samples on one side is worse than the values show */
    const char *sentence;    /* NULL: none was asked for */
    const cbx_tag *tag_list; /* of the point, as its run has them; lives as long as that run */
    size_t ntags;
} cbx_finding;

typedef struct cbx_regression cbx_regression;

/* name, as in outputs: why a comparison as a whole proves nothing, exit code 2 whatever its
 * findings are */
#define CBX_GATE_REASON_MAP(X)                                                                                         \
    X(NONE, "")                                                                                                        \
    X(SAME_RUN, "same-run")               /* the run is its own baseline */                                            \
    X(OTHER_MACHINE, "other-machine")     /* and not allowed */                                                        \
    X(UNKNOWN_MACHINE, "unknown-machine") /* and not allowed */                                                        \
    X(EMPTY_RUN, "empty-run")             /* no metric of any point */                                                 \
    X(EMPTY_BASELINE, "empty-baseline")                                                                                \
    X(NO_OVERLAP, "no-overlap") /* no key that gates is in both */                                                     \
    X(ALL_WAIVED, "all-waived") /* what could not be compared is waived, and nothing else is left */

typedef enum cbx_gate_reason {
#define CBX_GATE_REASON_ENUM(name, words) CBX_GATE_REASON_##name,
    CBX_GATE_REASON_MAP(CBX_GATE_REASON_ENUM)
#undef CBX_GATE_REASON_ENUM
} cbx_gate_reason;

/** As listed; "?" for a number outside the list. */
CBX_API const char *cbx_gate_reason_name(cbx_gate_reason reason);

/** The answer to it all. */
typedef struct cbx_gate {
    /* 0 pass, 1 regression or not a number, 2 cannot be compared, 3 undecided; 1 goes before 2, 2
     * before 3 */
    int exit_code;
    cbx_gate_reason reason;           /* NONE where the findings ask for the code */
    size_t counts[CBX_OUTCOME_COUNT]; /* waived findings not counted */
    size_t waived;
    size_t samples; /* undecided: the largest of its findings' samples; 0: not known */
    /* what asks for the code, counted: "2 regressed, 1 waived"; or why there is nothing to
     * compare */
    char sentence[256];
} cbx_gate;

/** Compares.  A run against itself (one id), and runs of machines that differ or that do not say
 * their machine, are refused unless allowed: a result without findings and with exit code 2.
 * Findings come in the order of the run, then what is missing now in the order of the baseline.
 * @param opts  NULL: all defaults
 * @param out   the caller frees it; needs neither run nor ctx any more, only the allocator of ctx
 * @return CBX_OK, whatever was found; CBX_EINVAL (an invalid option); CBX_ENOMEM
 */
CBX_API cbx_status cbx_regression_create(cbx_ctx *ctx, const cbx_run *run, const cbx_run *baseline,
                                         const cbx_regression_opts *opts, cbx_regression **out, cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_regression_free(cbx_regression *r);

CBX_API size_t cbx_regression_nfindings(const cbx_regression *r);
/** NULL past the end */
CBX_API const cbx_finding *cbx_regression_finding(const cbx_regression *r, size_t i);
CBX_API const char *cbx_regression_run_id(const cbx_regression *r);
CBX_API const char *cbx_regression_baseline_id(const cbx_regression *r);
CBX_API cbx_same_machine cbx_regression_machines(const cbx_regression *r);
/** "" for two runs of one machine; else a sentence to print with the figures. */
CBX_API const char *cbx_regression_label(const cbx_regression *r);
/** The answer.  Exit code 2 also where no gating key is in both runs.
 * @param waived  a flag a finding: true takes it out of the answer; NULL: none
 * Allocates nothing.  Safe from any thread. */
CBX_API void cbx_regression_gate(const cbx_regression *r, const bool *waived, cbx_gate *out);

/** The pattern of the first rule that fits no metric of either run, as a misspelt one does; NULL:
 * none, or nothing was compared. */
CBX_API const char *cbx_regression_idle_rule(const cbx_regression *r);

/** What an outcome asks for: as listed above, with the allowances that the result was made with. */
CBX_API int cbx_regression_exit_code(const cbx_regression *r, cbx_outcome outcome);

CBX_END_DECLS
#endif
