/* Reductions of groups of rows, each row with the number of its group, in terms of scatter. */
#include <math.h>
#include <string.h>

#include "calibrax/array/info.h"
#include "calibrax/array/ops_internal.h"

/* What joins with nothing: the start of a sum, product, minimum or maximum in a dtype. */
static cbx_scalar start_of(cbx_scatter_mode mode, cbx_dtype t)
{
    cbx_scalar v = cbx_int(mode == CBX_SCATTER_MUL);
    cbx_iinfo info;

    if (mode != CBX_SCATTER_MIN && mode != CBX_SCATTER_MAX) return v;
    if (t == CBX_BOOL) return cbx_bool(mode == CBX_SCATTER_MIN);
    if (cbx_dtype_iinfo(t, &info, NULL)) return cbx_float(mode == CBX_SCATTER_MIN ? HUGE_VAL : -HUGE_VAL);
    if (mode == CBX_SCATTER_MAX) return cbx_int(info.min);
    v.dtype = CBX_U64;
    v.v.u = info.max;
    return v;
}

static cbx_array *segment(cbx_ctx *ctx, const char *name, const cbx_array *x, const cbx_array *ids, size_t segments,
                          cbx_scatter_mode mode)
{
    size_t shape[CBX_MAX_RANK];
    cbx__renaming renaming;
    cbx_array *start;

    if (cbx__unusable(ctx, name, 2, (const cbx_array *const[]){ x, ids })) return cbx__array_failed();
    if (x->desc.ndim == 0) return cbx__refuse_of(ctx, x, CBX_ESHAPE, "'%s' needs an axis", name);
    if (ids->desc.ndim != 1 || ids->count != x->desc.shape[0])
        return cbx__refuse_of(ctx, x, CBX_ESHAPE, "'%s' of %zu rows takes as many segment numbers on one axis", name,
                              x->desc.shape[0]);
    memcpy(shape, x->desc.shape, sizeof shape);
    shape[0] = segments;
    renaming = cbx__rename(ctx, "scatter", name);
    start = cbx_full(ctx, x->desc.ndim, shape, x->desc.dtype, start_of(mode, x->desc.dtype));
    return cbx__renamed(ctx, renaming, cbx_scatter(ctx, start, ids, x, 0, mode));
}

#define SEGMENT(name, mode)                                                                                            \
    cbx_array *cbx_##name(cbx_ctx *ctx, const cbx_array *x, const cbx_array *ids, size_t segments)                     \
    {                                                                                                                  \
        size_t mark = cbx__mark(ctx);                                                                                  \
        return cbx__tidy(ctx, mark, segment(ctx, #name, x, ids, segments, mode));                                      \
    }
SEGMENT(segment_sum, CBX_SCATTER_ADD)
SEGMENT(segment_prod, CBX_SCATTER_MUL)
SEGMENT(segment_min, CBX_SCATTER_MIN)
SEGMENT(segment_max, CBX_SCATTER_MAX)

/* Sums in float64, so that float32 is rounded once; counts spread over the other axes. */
cbx_array *cbx_segment_mean(cbx_ctx *ctx, const cbx_array *x, const cbx_array *ids, size_t segments)
{
    size_t mark = cbx__mark(ctx);
    cbx_array *sum, *count;
    cbx_dtype t;

    if (cbx__unusable(ctx, "segment_mean", 2, (const cbx_array *const[]){ x, ids })) return cbx__array_failed();
    t = cbx__inexact(x->desc.dtype);
    x = cbx__as(ctx, x, cbx_dtype_kind(t) == CBX_KIND_COMPLEX ? CBX_C128 : CBX_F64);
    sum = segment(ctx, "segment_mean", x, ids, segments, CBX_SCATTER_ADD);
    if (cbx_array_is_failed(sum)) return cbx__tidy(ctx, mark, sum);
    count = segment(ctx, "segment_mean", cbx_ones(ctx, 1, ids->desc.shape, CBX_I64), ids, segments, CBX_SCATTER_ADD);
    for (int i = 1; i < sum->desc.ndim; i++) count = cbx_expand_dims(ctx, count, -1);
    return cbx__tidy(ctx, mark, cbx__as(ctx, cbx_divide(ctx, sum, count), t));
}
