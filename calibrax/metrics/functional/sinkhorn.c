/*
 * Entropic optimal transport between two sets of points, by updates of its potentials in the log
 * domain (Feydy et al. 2019).  With the potentials f of x and g of y, the cost C = |x - y|^2 and
 * all points of a set alike, the best f for g is
 *     T(g)[i] = -epsilon log(mean over j of exp((g[j] - C[i, j]) / epsilon))
 * Both move by a share of the way to their best values at once, which treats x and y alike; epsilon
 * falls from the largest cost, so that far points are found soon.
 */
#include <string.h>

#include "calibrax/array/scope_internal.h"
#include "calibrax/metrics/functional/samples.h"

enum { X, Y, G, EPSILON, SOFTMIN_OPERANDS };

enum { REGULARIZATION, MAX_ITER, THRESHOLD }; /* parameters */

static cbx_array *softmin_rows(cbx_ctx *ctx, const cbx_metric_call *c, size_t first, size_t last)
{
    const cbx_array *some = cbx_slice(ctx, c->in[X], 0, (ptrdiff_t)first, (ptrdiff_t)last, 1);
    const cbx_array *e = cbx_subtract(ctx, cbx_expand_dims(ctx, some, 1), cbx_expand_dims(ctx, c->in[Y], 0));
    const cbx_array *cost = cbx_sum(ctx, cbx_square(ctx, e), CBX_AXIS(-1));
    const cbx_array *z = cbx_divide(ctx, cbx_subtract(ctx, c->in[G], cost), c->in[EPSILON]);
    const cbx_array *high = cbx_max(ctx, cbx_stop_gradient(ctx, z), CBX_AXIS_KEEP(1));
    const cbx_array *mean = cbx_mean(ctx, cbx_exp(ctx, cbx_subtract(ctx, z, high)), CBX_AXIS(1));
    const cbx_array *log = cbx_add(ctx, cbx_log(ctx, mean), cbx_squeeze(ctx, high, 1));

    return cbx_negative(ctx, cbx_multiply(ctx, log, c->in[EPSILON]));
}

/* T(g) */
static cbx_array *softmin(cbx_ctx *ctx, const cbx_metric_call *c, const cbx_array *x, const cbx_array *y,
                          const cbx_array *g, const cbx_array *epsilon)
{
    cbx_array *in[] = { (cbx_array *)x, (cbx_array *)y, (cbx_array *)g, (cbx_array *)epsilon, NULL };
    const cbx_metric_call call = { .metric = c->metric, .in = in, .parameters = c->parameters };

    return cbx__by_rows(ctx, &call, cbx_array_dim(x, 0), cbx_array_count(y), softmin_rows);
}

/* How far the marginal that belongs to the potential f is from its distribution, where t is its
 * best value. */
static cbx_array *marginal_error(cbx_ctx *ctx, const cbx_array *f, const cbx_array *t, const cbx_array *epsilon)
{
    const cbx_array *ratio = cbx_exp(ctx, cbx_divide(ctx, cbx_subtract(ctx, f, t), epsilon));
    return cbx_mean(ctx, cbx_abs(ctx, cbx_subtract_scalar(ctx, ratio, 1)), NULL);
}

static cbx_array *half_way(cbx_ctx *ctx, const cbx_array *a, const cbx_array *b)
{
    return cbx_multiply_scalar(ctx, cbx_add(ctx, a, b), 0.5);
}

/* Potentials that differ by a constant would swing for ever with a share of 1; smaller ones are
 * slower. */
static cbx_array *moved(cbx_ctx *ctx, const cbx_array *f, const cbx_array *best)
{
    return cbx_add(ctx, f, cbx_multiply_scalar(ctx, cbx_subtract(ctx, best, f), 0.9));
}

/* ---- iterations ---- */

enum { S_X, S_Y, S_F, S_G, S_EPSILON, S_ERROR, S_COUNT, STATE }; /* values of the loop */

/* One update of both potentials; the error is infinite while epsilon falls. */
static cbx_status update(cbx_ctx *ctx, size_t nin, cbx_array *const *s, size_t nout, cbx_array **out, void *user)
{
    const cbx_metric_call *c = user;
    const double last = c->parameters[REGULARIZATION];
    cbx_array *const epsilon = s[S_EPSILON];
    const cbx_array *f = softmin(ctx, c, s[S_X], s[S_Y], s[S_G], epsilon);
    const cbx_array *g = softmin(ctx, c, s[S_Y], s[S_X], s[S_F], epsilon);
    const cbx_array *error = cbx_maximum(ctx, marginal_error(ctx, s[S_F], f, epsilon),
                                         marginal_error(ctx, s[S_G], g, epsilon));

    (void)nin, (void)nout;
    out[S_X] = s[S_X];
    out[S_Y] = s[S_Y];
    out[S_F] = moved(ctx, s[S_F], f);
    out[S_G] = moved(ctx, s[S_G], g);
    out[S_EPSILON] = cbx_maximum_scalar(ctx, cbx_multiply_scalar(ctx, epsilon, 0.25), last);
    out[S_ERROR] = cbx_where(ctx, cbx_greater_scalar(ctx, epsilon, last), cbx__number(ctx, INFINITY), error);
    out[S_COUNT] = cbx_add_scalar(ctx, s[S_COUNT], 1);
    return CBX_OK;
}

static cbx_status goes_on(cbx_ctx *ctx, size_t nin, cbx_array *const *s, size_t nout, cbx_array **out, void *user)
{
    const cbx_metric_call *c = user;
    const cbx_array *far = cbx_greater_scalar(ctx, s[S_ERROR], c->parameters[THRESHOLD]);

    (void)nin, (void)nout;
    out[0] = cbx_logical_and(ctx, far, cbx_less_scalar(ctx, s[S_COUNT], c->parameters[MAX_ITER]));
    return CBX_OK;
}

/* The square of the diagonal of the box around all points: no cost is larger. */
static cbx_array *largest_cost(cbx_ctx *ctx, const cbx_array *x, const cbx_array *y)
{
    const cbx_array *high = cbx_maximum(ctx, cbx_max(ctx, x, CBX_AXIS(0)), cbx_max(ctx, y, CBX_AXIS(0)));
    const cbx_array *low = cbx_minimum(ctx, cbx_min(ctx, x, CBX_AXIS(0)), cbx_min(ctx, y, CBX_AXIS(0)));
    return cbx_sum(ctx, cbx_square(ctx, cbx_subtract(ctx, high, low)), NULL);
}

static void iterate(cbx_ctx *ctx, const cbx_metric_call *c, cbx_array **s)
{
    const bool data = cbx__metric_has_data(ctx, c);

    if (!data) {
        cbx_while_loop(ctx, CBX_FN(goes_on, (void *)c, STATE, 1), CBX_FN(update, (void *)c, STATE, STATE), STATE, s, s);
        return;
    }
    for (double k = 0; k < c->parameters[MAX_ITER] && !cbx_ctx_pending(ctx, NULL); k++) {
        const size_t mark = cbx__mark(ctx);
        cbx_array *next[STATE];
        update(ctx, STATE, s, STATE, next, (void *)c);
        cbx__tidy_list(ctx, mark, STATE - S_F, next + S_F);
        memcpy(s + S_F, next + S_F, (STATE - S_F) * sizeof *s);
        if (!(cbx__metric_element(s[S_ERROR], 0) > c->parameters[THRESHOLD])) return; /* NaN of points with NaN */
    }
}

/* The cost at the potentials, which are held: they are best, so that they do not move it. */
static cbx_array *transport_cost(cbx_ctx *ctx, const cbx_metric_call *c, const cbx_array *x, const cbx_array *y)
{
    const double epsilon = c->parameters[REGULARIZATION];
    const cbx_array *still_x = cbx_stop_gradient(ctx, x), *still_y = cbx_stop_gradient(ctx, y);
    const cbx_array *last = cbx__number(ctx, epsilon), *f, *g, *fine, *zero = cbx__number(ctx, 0);
    cbx_array *s[STATE] = { (cbx_array *)still_x, (cbx_array *)still_y };

    s[S_F] = cbx_multiply(ctx, cbx_index(ctx, still_x, 1, 0), zero);
    s[S_G] = cbx_multiply(ctx, cbx_index(ctx, still_y, 1, 0), zero);
    s[S_EPSILON] = cbx_maximum_scalar(ctx, largest_cost(ctx, still_x, still_y), epsilon);
    s[S_ERROR] = cbx__number(ctx, INFINITY);
    s[S_COUNT] = cbx__number(ctx, 0);
    iterate(ctx, c, s);
    if (cbx__metric_has_data(ctx, c) && !cbx_ctx_pending(ctx, NULL) &&
        cbx__metric_element(s[S_ERROR], 0) > c->parameters[THRESHOLD])
        return cbx__metric_refuse(ctx, c, CBX_EDOM,
                                  "the error of the marginals is %s after %.0f updates, above 'threshold' %s: raise "
                                  "'max_iter' or 'regularization'",
                                  CBX__TEXT_NUMBER(cbx__metric_element(s[S_ERROR], 0)), c->parameters[MAX_ITER],
                                  CBX__TEXT_NUMBER(c->parameters[THRESHOLD]));
    f = cbx_add(ctx, cbx_mean(ctx, softmin(ctx, c, x, y, s[S_G], last), NULL), cbx_mean(ctx, s[S_G], NULL));
    g = cbx_add(ctx, cbx_mean(ctx, softmin(ctx, c, y, x, s[S_F], last), NULL), cbx_mean(ctx, s[S_F], NULL));
    fine = cbx_less_equal_scalar(ctx, s[S_ERROR], c->parameters[THRESHOLD]);
    return cbx_where(ctx, fine, half_way(ctx, f, g), cbx__number(ctx, NAN));
}

cbx_array *cbx__sinkhorn_divergence(cbx_ctx *ctx, const cbx_metric_call *c)
{
    const cbx_array *x = c->in[0], *y = c->in[1];
    const cbx_array *own = half_way(ctx, transport_cost(ctx, c, x, x), transport_cost(ctx, c, y, y));

    return cbx_maximum_scalar(ctx, cbx_subtract(ctx, transport_cost(ctx, c, x, y), own), 0);
}
