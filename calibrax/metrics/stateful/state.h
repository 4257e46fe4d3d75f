/**
 * Stateful metrics: a metric function over batches and shards.
 *
 *     cbx_metric_state *s;
 *     cbx_metric_state_create(ctx, r_squared, NULL, &s, err);
 *     while (next_batch(in)) cbx_metric_state_update(ctx, s, 2, in, NULL, err);
 *     cbx_metric_state_merge(ctx, s, of_another_shard, err);
 *     cbx_metric_state_compute(ctx, s, &result, err);            // that of all data at once
 *
 * What a state keeps follows from the form of the metric's code (metrics.h): of items their sum and
 * that of the weights, of parts the joined parts, of whole all operands, which are joined along the
 * first axis; where that is not the axis of items, as of distributions and matrices, a state holds
 * one batch.  Sums are compensated
 * (Neumaier 1974), so that batches and shards may come in any order: counts are exact, other
 * results equal to 1e-12.
 * Ownership: a state belongs to the caller and keeps copies of what it needs; it may be used with
 * any context.  One thread uses a state at a time.  Errors: those of cbx_metric_apply; a failed
 * update or merge leaves the state as it was.  Since 0.1.
 */
#ifndef CALIBRAX_METRICS_STATEFUL_STATE_H
#define CALIBRAX_METRICS_STATEFUL_STATE_H

#include "calibrax/base/text.h"
#include "calibrax/metrics/metrics.h"

CBX_BEGIN_DECLS

typedef struct cbx_metric_state cbx_metric_state;

/**
 * @param m        outlives the state
 * @param options  parameters and function of all updates; copied, the function is kept; NULL: the
 *   defaults
 * @return CBX_OK; CBX_EINVAL (also a mask, weights, axes or a reduction other than the mean);
 *   CBX_ENOMEM
 */
CBX_API cbx_status cbx_metric_state_create(cbx_ctx *ctx, const cbx_metric_function *m,
                                           const cbx_metric_options *options, cbx_metric_state **out, cbx_err *err);
/** NULL is fine. */
CBX_API void cbx_metric_state_free(cbx_metric_state *s);
/**
 * Adds a batch.  From the second one of the same shapes on, in any state of the metric and its
 * parameters, what it adds is computed by compiled code, as calls are; the bits are the same.
 * @param in       NULL: one that is left out, of metrics that are CBX_METRIC_APART
 * @param options  its mask, its weights, and a function in place of the state's; NULL: none
 * @return CBX_OK; as cbx_metric_apply; CBX_EINVAL (also axes, a reduction, a parameter that is not
 *   the state's; operands without the function that unpack was not given; a second batch of a state
 *   that holds one; what all items share, and is not that of the batches before; an operand that
 *   some batches have); CBX_ESHAPE (also rows of another shape than those before)
 */
CBX_API cbx_status cbx_metric_state_update(cbx_ctx *ctx, cbx_metric_state *s, size_t nin, cbx_array *const *in,
                                           const cbx_metric_options *options, cbx_err *err);
/**
 * Adds all that another state of the same metric and parameters has seen.
 * @return CBX_OK; CBX_EINVAL (another metric or another registration of its name, other parameters;
 *   a second batch of a state that holds one; batches that an update would refuse); CBX_ESHAPE;
 *   CBX_ENOMEM
 */
CBX_API cbx_status cbx_metric_state_merge(cbx_ctx *ctx, cbx_metric_state *s, const cbx_metric_state *other,
                                          cbx_err *err);
/**
 * The metric of all that was added.
 * @param out  the caller's to free
 * @return CBX_OK; CBX_EINVAL (nothing was added, or nothing that counts: masks and weights left no
 *   item, of which a call makes NaN)
 */
CBX_API cbx_status cbx_metric_state_compute(cbx_ctx *ctx, const cbx_metric_state *s, cbx_array **out, cbx_err *err);
/**
 * How far the result may be from that of all data: 0 but for sketches (the streaming domain), whose
 * descriptions state what their error bounds.
 * @return CBX_OK; CBX_EFORMAT (a state that was read and is not a sketch); CBX_ENOMEM
 */
CBX_API cbx_status cbx_metric_state_error(cbx_ctx *ctx, const cbx_metric_state *s, double *out, cbx_err *err);
/**
 * Adds a state to a text as bytes, so that shards of other processes and machines can join it: the
 * metric's name, its parameters and what it keeps.
 * @return CBX_OK; CBX_ENOMEM
 */
CBX_API cbx_status cbx_metric_state_pack(cbx_ctx *ctx, const cbx_metric_state *s, cbx_text *out, cbx_err *err);
/**
 * A state from those bytes, which may come from anywhere: operands are checked as those of an
 * update.
 * @param m         whose state it must be; outlives the state; NULL: the context's metric of the
 *   name among the bytes
 * @param function  of metrics that take one: it is not among the bytes; else NULL.  Where it may
 *   be left out, a state whose features it made is merged and computed without it, and not updated
 * @param out       the caller's to free
 * @return CBX_OK; CBX_EFORMAT (not a state, a state that was cut or changed); CBX_EVERSION (of
 *   another version); CBX_ENOENT (the context has no such metric); CBX_EINVAL (another metric,
 *   other parameters, a function missing); CBX_ENOMEM; of operands as cbx_metric_apply
 */
CBX_API cbx_status cbx_metric_state_unpack(cbx_ctx *ctx, const cbx_metric_function *m, const void *bytes, size_t size,
                                           const cbx_fn *function, cbx_metric_state **out, cbx_err *err);
/** Its parameters, in the order of the metric's row.  Valid as long as the state. */
CBX_API const double *cbx_metric_state_parameters(const cbx_metric_state *s);
/** As it was created. */
CBX_API void cbx_metric_state_reset(cbx_metric_state *s);
/** Calls of update, of merged states too. */
CBX_API size_t cbx_metric_state_updates(const cbx_metric_state *s);

CBX_END_DECLS
#endif
