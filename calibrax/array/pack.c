/* Elements of arrays that lie with gaps or in another order, packed in row-major order. */
#include <string.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/kernels/copy.h"

enum {
    LINE = 64, /* bytes of a line of the caches */
    TILE = 16  /* elements along the last axis that are taken at a time */
};

/* The step [elements] between all neighbours in row-major order; 0: there is no such step. */
static ptrdiff_t one_step(const cbx_array *a)
{
    ptrdiff_t step = 0, rows = 1; /* rows: elements of the axes further in */

    for (int i = a->desc.ndim - 1; i >= 0; i--) {
        if (a->desc.shape[i] == 1) continue;
        if (step == 0) step = a->strides[i];
        if (a->strides[i] != step * rows) return 0;
        rows *= (ptrdiff_t)a->desc.shape[i];
    }
    return step;
}

/* The axis, not the last one, whose neighbours are nearest; -1: none has them in one line of
 * a cache. */
static int near_axis(const cbx_array *a, size_t size)
{
    int near = -1;
    ptrdiff_t nearest = LINE / (ptrdiff_t)size;

    for (int i = 0; i < a->desc.ndim - 1; i++) {
        const ptrdiff_t step = a->strides[i] < 0 ? -a->strides[i] : a->strides[i];
        if (a->desc.shape[i] < TILE || step == 0 || step >= nearest) continue;
        near = i;
        nearest = step;
    }
    return near;
}

/*
 * All of an array whose last axis walks from line to line while another one stays in it, as of a
 * transposed matrix: some elements of the last axis at a time, along the other, so that a line is
 * read once.  false: it does not lie so.
 */
static bool pack_tiles(const cbx_array *a, size_t size, cbx__loop copy, char *dst)
{
    const int last = a->desc.ndim - 1, near = near_axis(a, size);
    const size_t *shape = a->desc.shape;
    const ptrdiff_t along = a->strides[last] * (ptrdiff_t)size;
    ptrdiff_t dense[CBX_MAX_RANK];
    size_t index[CBX_MAX_RANK] = { 0 };
    int i;

    if (near < 0 || shape[last] < TILE || (along < LINE && along > -LINE)) return false;
    cbx__array_dense_strides(&a->desc, false, dense);
    do {
        const char *from = a->data;
        char *to = dst;
        for (i = 0; i < last; i++) {
            from += (ptrdiff_t)(index[i] * size) * a->strides[i];
            to += (ptrdiff_t)(index[i] * size) * dense[i];
        }
        for (size_t at = 0; at < shape[last]; at += TILE)
            for (size_t k = 0; k < shape[near]; k++) {
                const ptrdiff_t steps = (ptrdiff_t)(k * size);
                cbx__move(copy, shape[last] - at < TILE ? shape[last] - at : TILE, to + at * size + steps * dense[near],
                          (ptrdiff_t)size, from + (ptrdiff_t)at * along + steps * a->strides[near], along);
            }
        for (i = last - 1; i >= 0; i--) {
            if (i != near && ++index[i] < shape[i]) break;
            index[i] = 0;
        }
    } while (i >= 0);
    return true;
}

void cbx__array_pack(const cbx_array *a, size_t first, size_t count, void *dst)
{
    enum { SHORT = 8, PIECE = 512 };
    size_t size = cbx__dtype_size(a->desc.dtype), index[CBX_MAX_RANK] = { 0 }, rest = first;
    const cbx__loop copy = cbx__copy_loop(a->desc.dtype);
    const int last = a->desc.ndim - 1;
    ptrdiff_t strides[CBX_MAX_RANK], step; /* strides: [bytes] */
    char *to = dst;

    if (count == 0) return;
    if (a->flags & CBX__CONTIGUOUS) {
        memcpy(dst, (const char *)a->data + first * size, count * size);
        return;
    }
    if (first == 0 && count == a->count && (step = one_step(a)) != 0) {
        cbx__move(copy, count, to, (ptrdiff_t)size, a->data, step * (ptrdiff_t)size);
        return;
    }
    if (first == 0 && count == a->count && pack_tiles(a, size, copy, dst)) return;
    for (int i = last; i >= 0; i--) {
        strides[i] = a->strides[i] * (ptrdiff_t)size;
        index[i] = rest % a->desc.shape[i];
        rest /= a->desc.shape[i];
    }
    while (count > 0) { /* one run along the last axis at a time; a rank-0 array is contiguous and never here */
        size_t n = a->desc.shape[last] - index[last], rows = 1;
        char *at = a->data;
        for (int i = 0; i <= last; i++) at += (ptrdiff_t)index[i] * strides[i];
        if (n <= SHORT && last > 0 && index[last] == 0 && count >= 2 * n) { /* short rows: down their columns */
            rows = a->desc.shape[last - 1] - index[last - 1];
            if (rows > count / n) rows = count / n;
            if (rows > PIECE) rows = PIECE;
            for (size_t k = 0; k < n; k++)
                cbx__move(copy, rows, to + k * size, (ptrdiff_t)(n * size), at + (ptrdiff_t)k * strides[last],
                          strides[last - 1]);
        } else {
            if (n > count) n = count;
            cbx__move(copy, n, to, (ptrdiff_t)size, at, strides[last]);
        }
        to += rows * n * size;
        count -= rows * n;
        index[last] = 0;
        if (last > 0) index[last - 1] += rows;
        for (int i = last - 1; i >= 0 && index[i] == a->desc.shape[i]; i--) {
            index[i] = 0;
            if (i > 0) index[i - 1]++;
        }
    }
}

cbx_status cbx__array_dense(cbx_ctx *ctx, const cbx_array *a, cbx_array **out, cbx_err *err)
{
    cbx_status st;

    if (a->flags & CBX__CONTIGUOUS) {
        *out = cbx_array_ref(a);
        return CBX_OK;
    }
    st = cbx_array_create(ctx, &a->desc, out, err);
    if (!st) cbx__array_pack(a, 0, a->count, (*out)->data);
    return st;
}
