/* Rotations of a case's arrays along two axes. */
#include "suites/common/rotation.h"

#include "calibrax/base/arena.h"
#include "calibrax/base/idioms.h"
#include "suites/common/arrays.h"

/* order[new] = old, of rows and columns; name[old] = new, of rows */
typedef struct orders {
    size_t *rows, *columns;
    int32_t *name;
} orders;

static cbx_status orders_make(cbx_arena *arena, const cbx__suite_rotation *t, orders *o, cbx_err *err)
{
    cbx_status st = t->graph ? cbx__suite_graph_rotate(arena, t->graph, t->r, &o->rows, err)
                             : cbx__suite_order(arena, t->seed, t->r, 0, t->rows, &o->rows, err);

    if (!st) st = cbx__suite_order(arena, t->seed, t->r, 1, t->columns, &o->columns, err);
    if (st || !t->graph) return st;
    o->name = cbx_arena_calloc(arena, t->rows, sizeof *o->name);
    if (!o->name) return cbx_fail(err, CBX_ENOMEM, "out of memory for a graph of %zu vertices", t->rows);
    for (size_t i = 0; i < t->rows; i++) o->name[o->rows[i]] = (int32_t)i;
    return CBX_OK;
}

static cbx_status turn(cbx_ctx *ctx, const orders *o, cbx__suite_axes axes, const cbx_array *a, cbx_array **out,
                       cbx_err *err)
{
    cbx_array *half = NULL;
    cbx_status st = CBX_OK;

    if (axes.columns >= 0 || axes.rows < 0) {
        st = axes.columns < 0 ? cbx__suite_copy(ctx, a, &half, err)
                              : cbx__suite_take(ctx, a, axes.columns, o->columns, &half, err);
        if (axes.rows < 0) {
            *out = half;
            return st;
        }
        a = half;
    }
    if (!st) st = cbx__suite_take(ctx, a, axes.rows, o->rows, out, err);
    cbx_array_free(half);
    if (st || !axes.names) return st;
    int32_t *at = cbx_array_data_mut(*out);
    for (size_t i = 0; i < cbx_array_count(*out); i++) at[i] = o->name[at[i]];
    return CBX_OK;
}

cbx_status cbx__suite_rotate(cbx_ctx *ctx, const cbx__suite_rotation *t, const cbx__suite_axes *axes, size_t n,
                             cbx_array *const *in, cbx_array **rotated, cbx_err *err)
{
    cbx_array *made[CBX_CASE_MAX_ARRAYS] = { NULL };
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    orders o = { NULL, NULL, NULL };
    cbx_status st = orders_make(&arena, t, &o, err);

    for (size_t i = 0; i < n && !st; i++) st = turn(ctx, &o, axes[i], in[i], &made[i], err);
    return cbx__suite_arrays_give(st, made, n, rotated);
}

cbx_status cbx__suite_rotate_one(cbx_ctx *ctx, const cbx__suite_rotation *t, cbx__suite_axes axes, const cbx_array *a,
                                 cbx_array **rotated, cbx_err *err)
{
    cbx_array *const in[] = { (cbx_array *)(uintptr_t)a }; /* only read */
    return cbx__suite_rotate(ctx, t, &axes, 1, in, rotated, err);
}
