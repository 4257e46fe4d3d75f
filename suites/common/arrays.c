/* Arrays of cases: see arrays.h. */
#include "suites/common/arrays.h"

#include <math.h>
#include <string.h>

cbx_status cbx__suite_arrays(cbx_ctx *ctx, const cbx_array_desc *descs, size_t n, cbx_array **out, cbx_err *err)
{
    cbx_status st = CBX_OK;
    size_t made = 0;

    for (; made < n && !st; made += !st) st = cbx_array_create(ctx, &descs[made], &out[made], err);
    if (st) cbx__suite_arrays_free(out, made);
    return st;
}

void cbx__suite_arrays_free(cbx_array **a, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cbx_array_free(a[i]);
        a[i] = NULL;
    }
}

cbx_status cbx__suite_arrays_give(cbx_status st, cbx_array **made, size_t n, cbx_array **out)
{
    if (st)
        cbx__suite_arrays_free(made, n);
    else
        memcpy(out, made, n * sizeof *out);
    return st;
}

cbx_status cbx__suite_copy(cbx_ctx *ctx, const cbx_array *a, cbx_array **out, cbx_err *err)
{
    return cbx__suite_take(ctx, a, 0, NULL, out, err);
}

void cbx__suite_fill_normal(cbx_array *a, double scale, cbx_rng *rng)
{
    const size_t n = cbx_array_count(a);
    void *data = cbx_array_data_mut(a);

    for (size_t i = 0; i < n; i++) {
        const double x = scale * cbx_rng_normal(rng);
        if (cbx_array_dtype(a) == CBX_F32)
            ((float *)data)[i] = (float)x;
        else
            ((double *)data)[i] = x;
    }
}

void cbx__suite_fill(cbx_array *a, double density, cbx_rng *rng)
{
    uint8_t *data = cbx_array_data_mut(a);

    if (cbx_array_dtype(a) != CBX_BOOL) {
        cbx__suite_fill_normal(a, 1, rng);
        return;
    }
    for (size_t i = 0; i < cbx_array_count(a); i++) data[i] = cbx_rng_uniform(rng) < density;
}

cbx_status cbx__suite_inputs(cbx_ctx *ctx, const cbx_array_desc *descs, size_t n, uint64_t seed, double density,
                             cbx_array **out, cbx_err *err)
{
    cbx_rng rng = cbx_rng_make(seed, CBX__SUITE_STREAM_INPUTS);
    const cbx_status st = cbx__suite_arrays(ctx, descs, n, out, err);

    for (size_t i = 0; i < n && !st; i++) cbx__suite_fill(out[i], density, &rng);
    return st;
}

double cbx__suite_bool_density(size_t k) { return k ? sqrt(-expm1(-log(2) / (double)k)) : 0; }

cbx_status cbx__suite_order(cbx_arena *arena, uint64_t seed, uint64_t r, uint64_t which, size_t count, size_t **out,
                            cbx_err *err)
{
    cbx_rng rng = cbx_rng_make(seed, CBX__SUITE_STREAM_ROTATIONS + CBX__SUITE_ROTATION_STREAMS * r + which);

    if (!(*out = cbx_arena_calloc(arena, count, sizeof **out)))
        return cbx_fail(err, CBX_ENOMEM, "out of memory for a permutation of %zu", count);
    if (count) cbx_rng_permutation(&rng, count, *out);
    return CBX_OK;
}

cbx_status cbx__suite_take(cbx_ctx *ctx, const cbx_array *a, int axis, const size_t *order, cbx_array **out,
                           cbx_err *err)
{
    const cbx_array_desc *d = cbx_array_get_desc(a);
    size_t outer = 1, block = cbx_dtype_size(d->dtype);
    const size_t n = d->ndim ? d->shape[axis] : 1;
    cbx_array *made = NULL;
    const cbx_status st = cbx_array_create(ctx, d, &made, err);

    if (st) return st;
    for (int i = 0; i < axis; i++) outer *= d->shape[i];
    for (int i = axis + 1; i < d->ndim; i++) block *= d->shape[i];
    const char *from = cbx_array_data(a);
    char *to = cbx_array_data_mut(made);
    for (size_t o = 0; o < outer; o++) {
        for (size_t i = 0; i < n && block; i++)
            memcpy(to + (o * n + i) * block, from + (o * n + (order ? order[i] : i)) * block, block);
    }
    *out = made;
    return CBX_OK;
}

void cbx__suite_widen(const cbx_array *a, double *out)
{
    const size_t n = cbx_array_count(a);
    const void *data = cbx_array_data(a);

    for (size_t i = 0; i < n; i++) {
        switch (cbx_array_dtype(a)) {
        case CBX_F32: out[i] = (double)((const float *)data)[i]; break;
        case CBX_I32: out[i] = (double)((const int32_t *)data)[i]; break;
        case CBX_I64: out[i] = (double)((const int64_t *)data)[i]; break;
        case CBX_BOOL: out[i] = (double)((const uint8_t *)data)[i]; break;
        default: out[i] = ((const double *)data)[i];
        }
    }
}
