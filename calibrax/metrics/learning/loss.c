/* Rows of users' learning losses. */
#include "calibrax/metrics/learning/loss.h"

#include <math.h>

#include "calibrax/metrics/learning/pairs.h"

CBX__OF_CALL(compute)
{
    const cbx_learning_loss *loss = c->metric->user;
    return loss->compute(ctx, c->in[CBX__EMBEDDINGS], c->in[CBX__LABELS], loss->user);
}

void cbx_learning_loss_row(const cbx_learning_loss *loss, cbx_metric_function *row)
{
    *row = (cbx_metric_function){
        .name = loss->name,
        .domain = "learning",
        .tier = CBX_METRIC_TIER_LEARNING,
        .summary = loss->summary ? loss->summary : loss->name,
        .formula = "",
        .operands = CBX__TWO("embeddings", POINTS, "labels", LABELS),
        .shapes = CBX_SHAPES_LENGTH,
        .direction = CBX_DIRECTION_LOWER,
        .low = -INFINITY,
        .high = INFINITY,
        .flags = CBX_METRIC_DIFFERENTIABLE,
        .whole = loss->compute ? compute : NULL,
        .user = (void *)(uintptr_t)loss,
    };
}
