/* Rotations of a case's inputs along two axes. */
#include "suites/common/rotation.h"

#include <string.h>

#include "suites/common/arrays.h"

static cbx_status add_columns(cbx_ctx *ctx, cbx_status st, uint64_t seed, uint64_t r, cbx__suite_rotation *t,
                              cbx_err *err)
{
    if (!st) st = cbx__suite_order(ctx, seed, r, 1, t->ncolumns, &t->columns, err);
    if (st) cbx__suite_rotation_clear(ctx, t);
    return st;
}

cbx_status cbx__suite_rotation_make(cbx_ctx *ctx, uint64_t seed, uint64_t r, size_t nrows, size_t ncolumns,
                                    cbx__suite_rotation *out, cbx_err *err)
{
    *out = (cbx__suite_rotation){ .nrows = nrows, .ncolumns = ncolumns };
    return add_columns(ctx, cbx__suite_order(ctx, seed, r, 0, nrows, &out->rows, err), seed, r, out, err);
}

cbx_status cbx__suite_rotation_graph(cbx_ctx *ctx, const cbx__suite_graph *g, uint64_t r, size_t ncolumns,
                                     cbx__suite_rotation *out, cbx_err *err)
{
    *out = (cbx__suite_rotation){ .nrows = g->n, .ncolumns = ncolumns };
    return add_columns(ctx, cbx__suite_graph_rotate(ctx, g, r, &out->rows, err), g->seed, r, out, err);
}

void cbx__suite_rotation_clear(cbx_ctx *ctx, cbx__suite_rotation *t)
{
    cbx__suite_order_free(ctx, t->nrows, t->rows);
    cbx__suite_order_free(ctx, t->ncolumns, t->columns);
    t->rows = t->columns = NULL;
}

cbx_status cbx__suite_rotation_inputs(cbx_ctx *ctx, cbx__suite_rotation *t, cbx_status st, cbx_array **made, size_t n,
                                      cbx_array **rotated)
{
    if (st)
        cbx__suite_arrays_free(made, n);
    else
        memcpy(rotated, made, n * sizeof *made);
    cbx__suite_rotation_clear(ctx, t);
    return st;
}

cbx_status cbx__suite_rotation_output(cbx_ctx *ctx, cbx__suite_rotation *t, const cbx_array *a, cbx_array **rotated,
                                      cbx_err *err)
{
    const cbx_status st = cbx__suite_take2(ctx, a, t->rows, t->columns, rotated, err);
    cbx__suite_rotation_clear(ctx, t);
    return st;
}
