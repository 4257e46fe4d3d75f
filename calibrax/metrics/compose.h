/**
 * Metrics together: selections of the registry, collections with thresholds and weights, values for
 * each class, and the best value of a series.
 *
 *     cbx_metric_collection *c;
 *     cbx_metric_member m = CBX_METRIC_MEMBER_INIT;
 *     cbx_metric_collection_create(ctx, &c, err);
 *     m.metric = mae, m.high = 0.5;                            // 0.5 or less passes
 *     cbx_metric_collection_add(ctx, c, &m, err);
 *     m = (cbx_metric_member)CBX_METRIC_MEMBER_INIT, m.metric = r_squared;
 *     cbx_metric_collection_add(ctx, c, &m, err);
 *     while (next_batch(in)) cbx_metric_collection_update(ctx, c, 2, in, NULL, err);
 *     cbx_metric_collection_report(ctx, c, &report, err);
 *
 * Every metric works in each of them, those that a context registered too.  Since 0.1.
 */
#ifndef CALIBRAX_METRICS_COMPOSE_H
#define CALIBRAX_METRICS_COMPOSE_H

#include <math.h>

#include "calibrax/base/json.h"
#include "calibrax/metrics/metrics.h"

CBX_BEGIN_DECLS

/* ---- selection ---- */

/** What a metric must have; all of it. */
typedef struct cbx_metric_selection {
    unsigned struct_size;
    const char *domain;   /* NULL: any */
    int direction;        /* cbx_direction; -1: any */
    int tier;             /* cbx_metric_tier; -1: any */
    unsigned axioms;      /* cbx_metric_axioms, all of them */
    unsigned invariances; /* cbx_metric_invariances, all of them */
    unsigned flags;       /* cbx_metric_flags, all of them */
} cbx_metric_selection;
#define CBX_METRIC_SELECTION_INIT CBX_OPTS(cbx_metric_selection, NULL, -1, -1, 0, 0, 0)
/**
 * The next metric of the registry that fits.
 * @param s   NULL: all metrics fit
 * @param at  where to look on; 0 at first, written
 * @return NULL: there are no more
 */
CBX_API const cbx_metric_function *cbx_metric_next(cbx_ctx *ctx, const cbx_metric_selection *s, size_t *at);
/** Words of one axiom and of one invariance: "triangle", "common-scale"; "?" for other numbers.
 * Static text. */
CBX_API const char *cbx_metric_axiom_name(unsigned axiom);
CBX_API const char *cbx_metric_invariance_name(unsigned invariance);

/* ---- collections ---- */

/**
 * Metrics over the same operands, updated together.  Metrics that keep the same share it: the
 * counts of precision and recall, the sums of r_squared and explained_variance, the data of roc_auc
 * and average_precision.  Members keep their rows: a metric that is registered again is another
 * one, which a collection that was made before does not use.  One thread uses a collection at a
 * time.
 */
typedef struct cbx_metric_collection cbx_metric_collection;

typedef struct cbx_metric_member {
    unsigned struct_size;
    const char *group; /* NULL: none */
    const char *label; /* different for each of a group; NULL: the metric's name */
    const cbx_metric_function *metric;
    const double *parameters; /* as those of cbx_metric_options */
    const cbx_fn *function;   /* of metrics that take one */
    double low, high;         /* results that pass, both included; infinite: no threshold */
    double weight;            /* for cbx_metric_collection_weighted */
} cbx_metric_member;
#define CBX_METRIC_MEMBER_INIT CBX_OPTS(cbx_metric_member, NULL, NULL, NULL, NULL, NULL, -INFINITY, INFINITY, 1)

CBX_API cbx_status cbx_metric_collection_create(cbx_ctx *ctx, cbx_metric_collection **out, cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_metric_collection_free(cbx_metric_collection *c);
/**
 * Adds a metric, before the first update.
 * @param m  copied with its texts and parameters, its function is kept; its metric outlives the
 *   collection
 * @return CBX_OK; CBX_EINVAL (a parameter or function as cbx_metric_apply; low above high, or NaN;
 *   a weight that is not finite; after an update); CBX_EEXIST (label); CBX_ENOMEM
 */
CBX_API cbx_status cbx_metric_collection_add(cbx_ctx *ctx, cbx_metric_collection *c, const cbx_metric_member *m,
                                             cbx_err *err);
/** @param group  NULL: none.  @return CBX_OK; CBX_ENOENT */
CBX_API cbx_status cbx_metric_collection_remove(cbx_metric_collection *c, const char *group, const char *label,
                                                cbx_err *err);
CBX_API size_t cbx_metric_collection_count(const cbx_metric_collection *c);
/** A member with its label, in the order of adding; valid until it is removed.  NULL beyond the
 * last. */
CBX_API const cbx_metric_member *cbx_metric_collection_at(const cbx_metric_collection *c, size_t i);
/** Number of states that the members share. */
CBX_API size_t cbx_metric_collection_states(const cbx_metric_collection *c);

/** Adds a batch to all metrics, or after a failure to none.  @return as cbx_metric_state_update */
CBX_API cbx_status cbx_metric_collection_update(cbx_ctx *ctx, cbx_metric_collection *c, size_t nin,
                                                cbx_array *const *in, const cbx_metric_options *options, cbx_err *err);
/** Adds what a collection of the same members with the same parameters in the same order has seen.
 * @return as cbx_metric_state_merge; CBX_EINVAL (other members); nothing changes after a failure */
CBX_API cbx_status cbx_metric_collection_merge(cbx_ctx *ctx, cbx_metric_collection *c,
                                               const cbx_metric_collection *other, cbx_err *err);
CBX_API void cbx_metric_collection_reset(cbx_metric_collection *c);
/** The result of member i of all that was added.  @param out  the caller's to free.  @return as
 * cbx_metric_state_compute */
CBX_API cbx_status cbx_metric_collection_compute(cbx_ctx *ctx, const cbx_metric_collection *c, size_t i,
                                                 cbx_array **out, cbx_err *err);
/** The same as one number.  @return as it; CBX_ESHAPE (the result is not a scalar) */
CBX_API cbx_status cbx_metric_collection_value(cbx_ctx *ctx, const cbx_metric_collection *c, size_t i, double *out,
                                               cbx_err *err);
/** The bound of the error of member i.  @return as cbx_metric_state_error */
CBX_API cbx_status cbx_metric_collection_error(cbx_ctx *ctx, const cbx_metric_collection *c, size_t i, double *out,
                                               cbx_err *err);
/** Calls of update, of merged collections too. */
CBX_API size_t cbx_metric_collection_updates(const cbx_metric_collection *c);
/** Adds what the metrics keep to a text, as bytes for cbx_metric_collection_unpack.
 * @return CBX_OK; CBX_ENOMEM */
CBX_API cbx_status cbx_metric_collection_pack(cbx_ctx *ctx, const cbx_metric_collection *c, cbx_text *out,
                                              cbx_err *err);
/**
 * What a collection of the same metrics and parameters in the same order had seen when it was
 * packed, in place of what this one has.  The bytes may come from anywhere: all of them are
 * checked.  They name metrics: those of a registration of the same name in another process are
 * read.
 * @return CBX_OK; as cbx_metric_state_unpack, nothing changes then; CBX_EINVAL (other metrics)
 */
CBX_API cbx_status cbx_metric_collection_unpack(cbx_ctx *ctx, cbx_metric_collection *c, const void *bytes, size_t size,
                                                cbx_err *err);

/* ---- over the results ---- */

/**
 * One number of all metrics: sum of weight times result, where a metric whose better direction is
 * not the given one counts with its sign changed.
 * @param direction  which direction of the sum is better: higher or lower
 * @return as cbx_metric_collection_value; CBX_EINVAL (no metrics; a metric without a better
 *   direction and with a weight other than 0)
 */
CBX_API cbx_status cbx_metric_collection_weighted(cbx_ctx *ctx, const cbx_metric_collection *c, cbx_direction direction,
                                                  double *out, cbx_err *err);
/** The same of given results, one for each member in their order.  @return CBX_OK; CBX_EINVAL */
CBX_API cbx_status cbx_metric_collection_weigh(const cbx_metric_collection *c, const double *values,
                                               cbx_direction direction, double *out, cbx_err *err);
/** Whether a result passes the thresholds of a member; NaN does not, where there is one. */
CBX_API bool cbx_metric_member_passes(const cbx_metric_member *m, double value);
/**
 * All results as JSON:
 *
 *     {"groups": [{"name": "errors", "metrics": [{"label": "mae", "metric": "mae",
 *       "direction": "lower", "value": 0.4, "low": null, "high": 0.5, "passed": true}]}],
 *      "updates": 3, "passed": true}
 *
 * A result that is not a number is a list, with its shape, and has no thresholds; "error" is that
 * of a sketch; "passed" is missing where there is no threshold.
 * @param out  the caller's
 */
CBX_API cbx_status cbx_metric_collection_report(cbx_ctx *ctx, const cbx_metric_collection *c, cbx_json **out,
                                                cbx_err *err);
/** Such a report as a table of text; a caller may add an "interval" with lower, upper and level to
 * its metrics. */
CBX_API void cbx_metric_report_text(const cbx_json *report, cbx_text *out);
/**
 * A suite: a collection as a file describes it,
 *
 *     {"groups": {"errors": ["mae", {"metric": "huber_loss", "label": "huber", "high": 0.1,
 *                                    "parameters": {"delta": 0.1}}],
 *                 "fit": [{"metric": "r_squared", "low": 0.9, "weight": 2}]}}
 *
 * or {"metrics": [...]} without groups.
 * @param what  names the file in messages
 * @return CBX_OK; CBX_EFORMAT (another structure, an unknown key); CBX_ENOENT (no such metric); as
 *   cbx_metric_collection_add
 */
CBX_API cbx_status cbx_metric_collection_read(cbx_ctx *ctx, const cbx_json *suite, const char *what,
                                              cbx_metric_collection **out, cbx_err *err);

/* ---- classes ---- */

/** So many classes may be counted from labels; more have to be asked for. */
#define CBX_METRIC_MAX_CLASSES ((size_t)1 << 20)
/**
 * A metric of the items of each class.
 * @param labels   integers (n), the class of each item along the first axis of the operands
 * @param classes  0: one more than the largest label, which is below CBX_METRIC_MAX_CLASSES
 * @param options  parameters, function, mask and weights of n items along their first axis
 * @param out      float64 (classes), NaN for classes without items; the caller's to free
 * @param mean     over the classes that have items; may be NULL
 * @return as cbx_metric_value; CBX_ESHAPE, CBX_EDTYPE, CBX_EDOM (labels); CBX_EINVAL (a metric
 *   without items, as of distributions)
 */
CBX_API cbx_status cbx_metric_classwise(cbx_ctx *ctx, const cbx_metric_function *m, size_t nin, cbx_array *const *in,
                                        const cbx_array *labels, size_t classes, const cbx_metric_options *options,
                                        cbx_array **out, double *mean, cbx_err *err);

/* ---- series ---- */

/** Values of a metric over steps: the best one, the smallest and the largest.  Plain data. */
typedef struct cbx_metric_track {
    cbx_direction direction;              /* INFO: there is no best value */
    size_t steps;                         /* values so far; the first step is 0 */
    double current;                       /* NaN before the first */
    double best, min, max;                /* NaN before the first number; NaN is left out */
    size_t best_step, min_step, max_step; /* of ties the first */
} cbx_metric_track;

CBX_API void cbx_metric_track_init(cbx_metric_track *t, cbx_direction direction);
/** @return whether it is better than all before it */
CBX_API bool cbx_metric_track_add(cbx_metric_track *t, double value);

/* ---- parameters as text ---- */

/** The value of a parameter from a number, true, false, inf or a word of its choice.  @return
 * CBX_OK; CBX_EINVAL, with what it must be; bounds are checked by calls */
CBX_API cbx_status cbx_metric_parameter_parse(const cbx_metric_parameter *p, const char *text, double *out,
                                              cbx_err *err);

CBX_END_DECLS
#endif
