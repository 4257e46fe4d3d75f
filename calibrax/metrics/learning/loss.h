/**
 * Learning losses of users: a number from embeddings and labels.
 *
 *     static const cbx_learning_loss mine = { "spread_loss", "Spread", spread, NULL };
 *     cbx_metric_function row;
 *     cbx_learning_loss_row(&mine, &row);
 *     st = cbx_metric_register(ctx, &row, false, err);
 *
 * The row has all that a built-in loss has: it is found by name, called, differentiated, compiled
 * and kept in states (metrics.h).  The caller may set notes, range, invariances and the like of the
 * row before it registers it.  A loss with parameters or further operands is a row of its own.
 * Since 0.1.
 */
#ifndef CALIBRAX_METRICS_LEARNING_LOSS_H
#define CALIBRAX_METRICS_LEARNING_LOSS_H

#include "calibrax/metrics/metrics.h"

CBX_BEGIN_DECLS

typedef struct cbx_learning_loss {
    const char *name;    /* an identifier */
    const char *summary; /* a title; NULL: the name */
    /**
     * An array expression (scope.h).
     * @param embeddings  float64 (n, d)
     * @param labels      int64 (n), not negative
     * @return a scalar of float64, in the current scope
     */
    cbx_array *(*compute)(cbx_ctx *ctx, const cbx_array *embeddings, const cbx_array *labels, void *user);
    void *user; /* for compute; may be NULL */
} cbx_learning_loss;

/**
 * Writes the row of a loss: domain learning, operands embeddings and labels of one length, lower is
 * better, differentiable.  It checks nothing: cbx_metric_register does.
 * @param loss  the caller's; outlives the row
 * @param row   the caller's; outlives the contexts that it is registered in
 * Safe from any thread.
 */
CBX_API void cbx_learning_loss_row(const cbx_learning_loss *loss, cbx_metric_function *row);

CBX_END_DECLS
#endif
