/* Graphs as arrays, and under other names; see ell.h. */
#include "suites/nitrix/ell/ell.h"

#include <string.h>

cbx_status cbx__ell_make(cbx_ctx *ctx, const cbx__suite_graph *g, cbx_dtype dtype, cbx_rng *rng, cbx_array **out,
                         cbx_err *err)
{
    const cbx_array_desc descs[] = { [CBX__ELL_INDICES] = { CBX_I32, 2, { g->n, g->k } },
                                     [CBX__ELL_WEIGHTS] = { dtype, 2, { g->n, g->k } },
                                     [CBX__ELL_DEGREE] = { CBX_I32, 1, { g->n } } };
    cbx_array *a[CBX__ELL_ARRAYS] = { NULL };
    cbx_status st = cbx__suite_arrays(ctx, descs, CBX__ELL_ARRAYS, a, err);

    if (st) return st;
    int32_t *degree = cbx_array_data_mut(a[CBX__ELL_DEGREE]);
    st = cbx__suite_graph_make(ctx, g, cbx_array_data_mut(a[CBX__ELL_INDICES]), degree, err);
    if (st) return cbx__suite_arrays_give(st, a, CBX__ELL_ARRAYS, out);
    cbx__suite_fill(a[CBX__ELL_WEIGHTS], cbx__suite_bool_density(g->k), rng);
    const size_t size = cbx_dtype_size(cbx_array_dtype(a[CBX__ELL_WEIGHTS]));
    char *w = cbx_array_data_mut(a[CBX__ELL_WEIGHTS]);

    for (size_t i = 0; i < g->n; i++)
        memset(w + (i * g->k + (size_t)degree[i]) * size, 0, (g->k - (size_t)degree[i]) * size);
    return cbx__suite_arrays_give(st, a, CBX__ELL_ARRAYS, out);
}

/* --- planted faults --- */

void cbx__ell_run_drop_last(void *plan, cbx__suite_run_fn *run, size_t degree)
{
    cbx__suite_plan *s = plan;
    const int32_t *right = s->in[degree];
    int32_t *less = s->spare;

    for (size_t i = 0; i < cbx_array_count(s->inputs[degree]); i++) less[i] = right[i] > 0 ? right[i] - 1 : 0;
    cbx__suite_run_with(s, run, degree, less);
}

void cbx__ell_run_padding(void *plan, cbx__suite_run_fn *run, size_t values, size_t degree)
{
    cbx__suite_plan *s = plan;
    int32_t *full = s->spare;

    for (size_t i = 0; i < cbx_array_count(s->inputs[degree]); i++)
        full[i] = (int32_t)cbx_array_dim(s->inputs[values], 1);
    cbx__suite_run_with(s, run, degree, full);
}

void cbx__ell_run_next(void *plan, cbx__suite_run_fn *run, size_t indices)
{
    cbx__suite_plan *s = plan;
    const int32_t *right = s->in[indices], n = (int32_t)cbx_array_dim(s->inputs[indices], 0);
    int32_t *next = s->spare;

    for (size_t e = 0; e < cbx_array_count(s->inputs[indices]); e++) next[e] = (right[e] + 1) % n;
    cbx__suite_run_with(s, run, indices, next);
}
