/*
 * The walk over strided operands, and strided elements as a stream.
 *
 * Axes of length 1 go; neighbours merge where every operand steps from the end of one to the next
 * as the inner one does.  What remains is an odometer around the longest possible inner run.
 */
#include <string.h>

#include "calibrax/array/reference/reference.h"

cbx__strided cbx__ref_strided(const cbx_array *a)
{
    cbx__strided s = { .data = a->data };
    ptrdiff_t size = (ptrdiff_t)cbx__dtype_size(a->desc.dtype);

    for (int i = 0; i < a->desc.ndim; i++) s.strides[i] = a->strides[i] * size;
    return s;
}

static bool merges(size_t n, const cbx__strided *op, int outer, int inner, size_t length)
{
    for (size_t k = 0; k < n; k++)
        if (op[k].strides[outer] != op[k].strides[inner] * (ptrdiff_t)length) return false;
    return true;
}

/* In place; returns the new rank. */
static int merge_axes(int ndim, size_t *shape, size_t n, cbx__strided *op)
{
    int to = 0;

    for (int i = 0; i < ndim; i++) {
        if (shape[i] == 1) continue;
        bool joins = to > 0 && merges(n, op, to - 1, i, shape[i]);
        if (!joins) to++;
        for (size_t k = 0; k < n; k++) op[k].strides[to - 1] = op[k].strides[i];
        shape[to - 1] = joins ? shape[to - 1] * shape[i] : shape[i];
    }
    return to;
}

void cbx__ref_walk(int ndim, const size_t *shape, size_t n, const cbx__strided *op, cbx__loop loop)
{
    size_t length[CBX_MAX_RANK], index[CBX_MAX_RANK] = { 0 }, run = 1;
    cbx__strided o[CBX__OPERANDS_MAX];
    char *p[CBX__OPERANDS_MAX];
    ptrdiff_t s[CBX__OPERANDS_MAX] = { 0 };
    int axis;

    for (int i = 0; i < ndim; i++) {
        if (shape[i] == 0) return;
        length[i] = shape[i];
    }
    memcpy(o, op, n * sizeof *o);
    ndim = merge_axes(ndim, length, n, o);
    for (size_t k = 0; k < n; k++) {
        p[k] = o[k].data;
        if (ndim) s[k] = o[k].strides[ndim - 1];
    }
    if (ndim) run = length[ndim - 1];
    for (;;) {
        loop(run, p, s);
        for (axis = ndim - 2; axis >= 0; axis--) {
            ptrdiff_t steps = ++index[axis] < length[axis] ? 1 : 1 - (ptrdiff_t)length[axis];
            for (size_t k = 0; k < n; k++) p[k] += o[k].strides[axis] * steps;
            if (steps == 1) break;
            index[axis] = 0;
        }
        if (axis < 0) return;
    }
}

void cbx__stream_init(cbx__stream *s, int ndim, const size_t *shape, const ptrdiff_t *strides_bytes, cbx_dtype from,
                      cbx_dtype to)
{
    cbx__strided o = { 0 };

    memset(s, 0, sizeof *s);
    memcpy(s->shape, shape, (size_t)ndim * sizeof *shape);
    memcpy(o.strides, strides_bytes, (size_t)ndim * sizeof *strides_bytes);
    s->ndim = merge_axes(ndim, s->shape, 1, &o);
    if (s->ndim == 0) s->shape[s->ndim++] = 1;
    memcpy(s->strides, o.strides, sizeof s->strides);
    s->size = cbx__dtype_size(to);
    s->direct = from == to;
    s->load = cbx__move_loop(from, to);
}

void cbx__stream_start(cbx__stream *s, const void *data)
{
    s->first = s->at = data;
    memset(s->index, 0, sizeof s->index);
}

/* Past a finished run: the odometer of the outer axes. */
static void next_run(cbx__stream *s)
{
    int last = s->ndim - 1;

    s->at -= s->strides[last] * (ptrdiff_t)s->shape[last];
    s->index[last] = 0;
    for (int i = last - 1; i >= 0; i--) {
        s->at += s->strides[i];
        if (++s->index[i] < s->shape[i]) return;
        s->at -= s->strides[i] * (ptrdiff_t)s->shape[i];
        s->index[i] = 0;
    }
}

const void *cbx__stream_next(cbx__stream *s, size_t n, void *buf)
{
    int last = s->ndim - 1;
    ptrdiff_t step = s->strides[last];
    char *to = buf;

    if (s->direct && step == (ptrdiff_t)s->size && s->shape[last] - s->index[last] >= n) {
        const void *here = s->at;
        s->index[last] += n;
        s->at += (ptrdiff_t)n * step;
        if (s->index[last] == s->shape[last]) next_run(s);
        return here;
    }
    while (n > 0) {
        size_t run = s->shape[last] - s->index[last];
        if (run > n) run = n;
        cbx__move(s->load, run, to, (ptrdiff_t)s->size, s->at, step);
        to += run * s->size;
        n -= run;
        s->index[last] += run;
        s->at += (ptrdiff_t)run * step;
        if (s->index[last] == s->shape[last]) next_run(s);
    }
    return buf;
}

void cbx__places_init(cbx__places *p, int ndim, const size_t *shape, int axis, size_t n, const cbx__strided *op)
{
    memset(p, 0, sizeof *p);
    p->n = n;
    for (size_t k = 0; k < n; k++) p->op[k].data = op[k].data;
    for (int i = 0; i < ndim; i++) {
        if (i == axis) continue;
        for (size_t k = 0; k < n; k++) p->op[k].strides[p->ndim] = op[k].strides[i];
        p->shape[p->ndim++] = shape[i];
    }
}

void cbx__places_next(cbx__places *p)
{
    for (int i = p->ndim - 1; i >= 0; i--) {
        ptrdiff_t steps = ++p->index[i] < p->shape[i] ? 1 : 1 - (ptrdiff_t)p->shape[i];
        for (size_t k = 0; k < p->n; k++) p->op[k].data += p->op[k].strides[i] * steps;
        if (steps == 1) return;
        p->index[i] = 0;
    }
}
