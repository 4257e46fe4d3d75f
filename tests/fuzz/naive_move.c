/*
 * Naive evaluators of movement, indexing and order: each element of the result is looked up in the
 * operand.
 */
#include <stdlib.h>
#include <string.h>

#include "calibrax/array/primitive.h"
#include "naive_ops.h"

#define U(v) ((unsigned)(v))

/* Where an element of the result comes from; false: it holds the fill. */
typedef bool (*origin)(const nv *x, const size_t *to, const int *a, size_t *from);

static nv *moved(const nv *x, int ndim, const size_t *shape, origin f, const int *a, num fill)
{
    nv *r = naive_new(x->t, ndim, shape);

    for (size_t i = 0; i < r->n; i++) {
        size_t to[CBX_MAX_RANK], from[CBX_MAX_RANK];
        naive_index_of(r, i, to);
        r->e[i] = f(x, to, a, from) ? x->e[naive_at(x, from)] : fill;
    }
    return r;
}

static const num nothing;

/* Row-major order of another shape. */
static cbx_status reshaped(const nv *x, int ndim, const size_t *shape, nv **out)
{
    nv *r = naive_new(x->t, ndim, shape);

    if (r->n != x->n) return CBX_ESHAPE;
    memcpy(r->e, x->e, x->n * sizeof *x->e);
    *out = r;
    return CBX_OK;
}

cbx_status naive_reshape(nv *const *in, const int *a, nv **out)
{
    const nv *x = in[0];
    size_t shape[2] = { 0, 0 }, known;

    switch (U(a[0]) % 4) {
    case 0: return reshaped(x, 1, (const size_t[]){ x->n }, out);
    case 1: known = x->ndim ? x->shape[x->ndim - 1] : 1; break;
    case 2: known = 2; break;
    default: return reshaped(x, 2, (const size_t[]){ U(a[1]) % 5, U(a[2]) % 5 }, out);
    }
    if (known == 0 || x->n % known) return CBX_ESHAPE;
    shape[0] = known;
    shape[1] = x->n / known;
    return reshaped(x, 2, shape, out);
}

cbx_status naive_flatten(nv *const *in, const int *a, nv **out)
{
    (void)a;
    return reshaped(in[0], 1, &in[0]->n, out);
}

/* a: the operand's axis that each axis of the result shows */
static bool from_order(const nv *x, const size_t *to, const int *a, size_t *from)
{
    for (int i = 0; i < x->ndim; i++) from[a[i]] = to[i];
    return true;
}

static cbx_status ordered(const nv *x, const int *order, nv **out)
{
    size_t shape[CBX_MAX_RANK];

    for (int i = 0; i < x->ndim; i++) shape[i] = x->shape[order[i]];
    *out = moved(x, x->ndim, shape, from_order, order, nothing);
    return CBX_OK;
}

cbx_status naive_permute_dims(nv *const *in, const int *a, nv **out)
{
    int order[CBX_MAX_RANK];

    for (int i = 0; i < in[0]->ndim; i++)
        order[i] = a[0] & 1 ? in[0]->ndim - 1 - i : (int)((U(i) + U(a[1]) % 8) % U(in[0]->ndim));
    return ordered(in[0], order, out);
}

cbx_status naive_swapaxes(nv *const *in, const int *a, nv **out)
{
    int order[CBX_MAX_RANK], i, k;

    if (!naive_axis(naive_axis_of(a[0]), in[0]->ndim, &i) || !naive_axis(naive_axis_of(a[1]), in[0]->ndim, &k))
        return CBX_EINVAL;
    for (int n = 0; n < in[0]->ndim; n++) order[n] = n == i ? k : n == k ? i : n;
    return ordered(in[0], order, out);
}

cbx_status naive_moveaxis(nv *const *in, const int *a, nv **out)
{
    int order[CBX_MAX_RANK], from, to, n = 0;

    if (!naive_axis(naive_axis_of(a[0]), in[0]->ndim, &from) || !naive_axis(naive_axis_of(a[1]), in[0]->ndim, &to))
        return CBX_EINVAL;
    for (int i = 0; i < in[0]->ndim; i++) /* the others in their order, then the moved one is put in */
        if (i != from) order[n++] = i;
    memmove(order + to + 1, order + to, (size_t)(n - to) * sizeof *order);
    order[to] = from;
    return ordered(in[0], order, out);
}

static cbx_status expanded(const nv *x, int axis, nv **out)
{
    size_t shape[CBX_MAX_RANK];

    if (!naive_axis(axis, x->ndim + 1, &axis)) return CBX_EINVAL;
    for (int i = 0; i <= x->ndim; i++) shape[i] = i == axis ? 1 : x->shape[i - (i > axis)];
    return reshaped(x, x->ndim + 1, shape, out);
}

static cbx_status squeezed(const nv *x, int axis, nv **out)
{
    size_t shape[CBX_MAX_RANK];
    int n = 0;

    if (!naive_axis(axis, x->ndim, &axis)) return CBX_EINVAL;
    if (x->shape[axis] != 1) return CBX_ESHAPE;
    for (int i = 0; i < x->ndim; i++)
        if (i != axis) shape[n++] = x->shape[i];
    return reshaped(x, n, shape, out);
}

cbx_status naive_expand_dims(nv *const *in, const int *a, nv **out)
{
    return expanded(in[0], naive_axis_of(a[0]), out);
}
cbx_status naive_squeeze(nv *const *in, const int *a, nv **out) { return squeezed(in[0], naive_axis_of(a[0]), out); }

/* a[0]: the new axes in front */
static bool from_spread(const nv *x, const size_t *to, const int *a, size_t *from)
{
    for (int i = 0; i < x->ndim; i++) from[i] = x->shape[i] == 1 ? 0 : to[i + a[0]];
    return true;
}

cbx_status naive_broadcast_to(nv *const *in, const int *a, nv **out)
{
    const nv *x = in[0];
    const int lead = (int)(U(a[0]) % 2);
    size_t shape[CBX_MAX_RANK] = { U(a[1]) % 3 };

    if (a[3] % 8 == 7 && x->ndim && x->shape[0] != 1) return CBX_ESHAPE; /* the caller breaks the first length */
    for (int i = 0; i < x->ndim; i++) shape[i + lead] = x->shape[i] == 1 ? U(a[2]) % 4 : x->shape[i];
    if (a[3] % 8 == 7 && x->ndim) shape[lead]++;
    *out = moved(x, x->ndim + lead, shape, from_spread, &lead, nothing);
    return CBX_OK;
}

/* a: axis, start, step */
static bool from_slice(const nv *x, const size_t *to, const int *a, size_t *from)
{
    memcpy(from, to, (size_t)x->ndim * sizeof *to);
    from[a[0]] = (size_t)(a[1] + (int)to[a[0]] * a[2]);
    return true;
}

/* By walking: Python's x[start:stop:step] visits start, start + step ... while it is before stop
 * and inside. */
static cbx_status sliced(const nv *x, int axis, int start, int stop, int step, nv **out)
{
    size_t shape[CBX_MAX_RANK], taken = 0;
    int n, first = 0;

    if (!naive_axis(axis, x->ndim, &axis)) return CBX_EINVAL;
    if (step == 0) return CBX_EINVAL;
    n = (int)x->shape[axis];
    start = start == NAIVE_OPEN ? (step > 0 ? 0 : n - 1) : start < 0 ? start + n : start;
    stop = stop == NAIVE_OPEN ? (step > 0 ? n : -1) : stop < 0 ? (stop + n < 0 ? -1 : stop + n) : stop;
    if (start < 0) start = step > 0 ? 0 : -1;
    if (start >= n) start = step > 0 ? n : n - 1;
    for (int at = start; step > 0 ? at < stop : at > stop; at += step) {
        if (at < 0 || at >= n) break;
        if (taken == 0) first = at;
        taken++;
    }
    memcpy(shape, x->shape, sizeof shape);
    shape[axis] = taken;
    *out = moved(x, x->ndim, shape, from_slice, (const int[]){ axis, first, step }, nothing);
    return CBX_OK;
}

cbx_status naive_slice(nv *const *in, const int *a, nv **out)
{
    return sliced(in[0], naive_axis_of(a[0]), a[1] == 127 ? NAIVE_OPEN : a[1] % 6, a[2] == 127 ? NAIVE_OPEN : a[2] % 6,
                  a[3] % 4, out);
}

cbx_status naive_index(nv *const *in, const int *a, nv **out)
{
    int axis, n, i = a[1] % 5;
    nv *line = NULL;

    if (!naive_axis(naive_axis_of(a[0]), in[0]->ndim, &axis)) return CBX_EINVAL;
    n = (int)in[0]->shape[axis];
    if (i < -n || i >= n) return CBX_EINVAL;
    if (i < 0) i += n;
    (void)sliced(in[0], axis, i, i + 1, 1, &line);
    return squeezed(line, axis, out);
}

cbx_status naive_flip(nv *const *in, const int *a, nv **out)
{
    return sliced(in[0], naive_axis_of(a[0]), NAIVE_OPEN, NAIVE_OPEN, -1, out);
}

/* a: axis, shift */
static bool from_roll(const nv *x, const size_t *to, const int *a, size_t *from)
{
    const int n = (int)x->shape[a[0]];

    memcpy(from, to, (size_t)x->ndim * sizeof *to);
    from[a[0]] = (size_t)((((int)to[a[0]] - a[1]) % n + n) % n);
    return true;
}

cbx_status naive_roll(nv *const *in, const int *a, nv **out)
{
    int axis;

    if (!naive_axis(naive_axis_of(a[1]), in[0]->ndim, &axis)) return CBX_EINVAL;
    *out = moved(in[0], in[0]->ndim, in[0]->shape, from_roll, (const int[]){ axis, a[0] }, nothing);
    return CBX_OK;
}

static cbx_status concatenated(const nv *x, const nv *y, int axis, nv **out)
{
    const cbx_dtype t = naive_promote(x->t, y->t);
    const nv *parts[2] = { naive_cast(x, t), naive_cast(y, t) };
    size_t shape[CBX_MAX_RANK];
    nv *r;

    if (x->ndim != y->ndim) return CBX_ESHAPE;
    for (int i = 0; i < x->ndim; i++)
        if (i != axis && x->shape[i] != y->shape[i]) return CBX_ESHAPE;
    memcpy(shape, x->shape, sizeof shape);
    shape[axis] += y->shape[axis];
    r = naive_new(t, x->ndim, shape);
    for (size_t i = 0; i < r->n; i++) {
        size_t at[CBX_MAX_RANK];
        bool second;
        naive_index_of(r, i, at);
        second = at[axis] >= x->shape[axis];
        if (second) at[axis] -= x->shape[axis];
        r->e[i] = parts[second]->e[naive_at(parts[second], at)];
    }
    *out = r;
    return CBX_OK;
}

cbx_status naive_concat(nv *const *in, const int *a, nv **out)
{
    int axis;

    if (!naive_axis(naive_axis_of(a[0]), in[0]->ndim, &axis)) return CBX_EINVAL;
    return concatenated(in[0], in[1], axis, out);
}

cbx_status naive_stack(nv *const *in, const int *a, nv **out)
{
    int axis;
    nv *x, *y;

    if (!naive_axis(naive_axis_of(a[0]), in[0]->ndim + 1, &axis)) return CBX_EINVAL;
    if (in[0]->ndim != in[1]->ndim) return CBX_ESHAPE;
    if (expanded(in[0], axis, &x) || expanded(in[1], axis, &y)) return CBX_EINVAL;
    return concatenated(x, y, axis, out);
}

/* a[0]: elements before */
static bool from_pad(const nv *x, const size_t *to, const int *a, size_t *from)
{
    for (int i = 0; i < x->ndim; i++) {
        if (to[i] < (size_t)a[0] || to[i] - (size_t)a[0] >= x->shape[i]) return false;
        from[i] = to[i] - (size_t)a[0];
    }
    return true;
}

cbx_status naive_pad(nv *const *in, const int *a, nv **out)
{
    const int before = (int)(U(a[0]) % 3), after = (int)(U(a[1]) % 3);
    size_t shape[CBX_MAX_RANK];

    for (int i = 0; i < in[0]->ndim; i++) shape[i] = in[0]->shape[i] + (size_t)(before + after);
    *out = moved(in[0], in[0]->ndim, shape, from_pad, &before,
                 naive_convert((num){ U(a[2]) % 2, 0, 0 }, CBX_I64, in[0]->t));
    return CBX_OK;
}

/* a[0]: new axes in front */
static bool from_tile(const nv *x, const size_t *to, const int *a, size_t *from)
{
    for (int i = 0; i < x->ndim; i++) from[i] = to[i + a[0]] % x->shape[i];
    return true;
}

cbx_status naive_tile(nv *const *in, const int *a, nv **out)
{
    const nv *x = in[0];
    const int n = (int)(U(a[0]) % 3), rank = n > x->ndim ? n : x->ndim, lead = rank - x->ndim;
    const size_t times[2] = { U(a[1]) % 3, U(a[2]) % 3 };
    size_t shape[CBX_MAX_RANK];

    for (int i = 0; i < rank; i++) {
        shape[i] = i < lead ? 1 : x->shape[i - lead];
        if (i >= rank - n) shape[i] *= times[i - (rank - n)];
    }
    *out = moved(x, rank, shape, from_tile, &lead, nothing);
    return CBX_OK;
}

/* a: axis, times */
static bool from_repeat(const nv *x, const size_t *to, const int *a, size_t *from)
{
    memcpy(from, to, (size_t)x->ndim * sizeof *to);
    from[a[0]] = to[a[0]] / (size_t)a[1];
    return true;
}

cbx_status naive_repeat(nv *const *in, const int *a, nv **out)
{
    const int times = (int)(U(a[0]) % 4);
    size_t shape[CBX_MAX_RANK];
    int axis;

    if (!naive_axis(naive_axis_of(a[1]), in[0]->ndim, &axis)) return CBX_EINVAL;
    memcpy(shape, in[0]->shape, sizeof shape);
    shape[axis] *= (size_t)times;
    *out = moved(in[0], in[0]->ndim, shape, from_repeat, (const int[]){ axis, times }, nothing);
    return CBX_OK;
}

/* a: k, 1 for the upper triangle */
static bool from_triangle(const nv *x, const size_t *to, const int *a, size_t *from)
{
    const long d = (long)to[x->ndim - 1] - (long)to[x->ndim - 2];

    memcpy(from, to, (size_t)x->ndim * sizeof *to);
    return a[1] ? d >= a[0] : d <= a[0];
}

static cbx_status triangle(const nv *x, int k, int upper, nv **out)
{
    if (x->ndim < 2) return CBX_ESHAPE;
    *out = moved(x, x->ndim, x->shape, from_triangle, (const int[]){ k, upper }, nothing);
    return CBX_OK;
}
cbx_status naive_tril(nv *const *in, const int *a, nv **out) { return triangle(in[0], a[0] % 4, 0, out); }
cbx_status naive_triu(nv *const *in, const int *a, nv **out) { return triangle(in[0], a[0] % 4, 1, out); }

/* ---- indices ---- */

static bool place_of(num index, size_t length, size_t *out)
{
    const wide n = (wide)length;

    if (index.i < -n || index.i >= n) return false;
    *out = (size_t)(index.i < 0 ? index.i + n : index.i);
    return true;
}

/* Indices are looked at as int64, where the largest uint64 are negative. */
static bool all_inside(const nv *index, size_t length)
{
    size_t at;

    for (size_t i = 0; i < index->n; i++)
        if (!place_of(naive_fit(index->e[i], CBX_I64), length, &at)) return false;
    return true;
}

static cbx_status check_index(const nv *x, const nv *index, int axis, int *at)
{
    if (!naive_is_whole(index->t)) return CBX_EDTYPE;
    return naive_axis(axis, x->ndim, at) ? CBX_OK : CBX_EINVAL;
}

/* The shape of a take, and for each of its elements: place in x, number of the index. */
static nv *take_shape(const nv *x, const nv *index, int axis)
{
    size_t shape[2 * CBX_MAX_RANK];
    int n = 0;

    for (int i = 0; i < axis; i++) shape[n++] = x->shape[i];
    for (int i = 0; i < index->ndim; i++) shape[n++] = index->shape[i];
    for (int i = axis + 1; i < x->ndim; i++) shape[n++] = x->shape[i];
    return naive_new(x->t, n, shape);
}

static size_t taken_from(const nv *x, const nv *index, int axis, const nv *r, size_t i)
{
    size_t to[CBX_MAX_RANK], from[CBX_MAX_RANK], at = 0;

    naive_index_of(r, i, to);
    for (int k = 0; k < axis; k++) from[k] = to[k];
    for (int k = axis + 1; k < x->ndim; k++) from[k] = to[k - 1 + index->ndim];
    (void)place_of(naive_fit(index->e[naive_at(index, to + axis)], CBX_I64), x->shape[axis], &at);
    from[axis] = at;
    return naive_at(x, from);
}

cbx_status naive_take(nv *const *in, const int *a, nv **out)
{
    int axis;
    cbx_status st = check_index(in[0], in[1], naive_axis_of(a[0]), &axis);

    if (st) return st;
    if (!all_inside(in[1], in[0]->shape[axis])) return CBX_EINDEX;
    if (in[0]->ndim - 1 + in[1]->ndim > CBX_MAX_RANK) return CBX_ESHAPE;
    *out = take_shape(in[0], in[1], axis);
    for (size_t i = 0; i < (*out)->n; i++) (*out)->e[i] = in[0]->e[taken_from(in[0], in[1], axis, *out, i)];
    return CBX_OK;
}

/* The other axes broadcast: place i of the result in an operand that may have one place there. */
static void place_along(const nv *x, const size_t *i, int axis, size_t *at)
{
    for (int k = 0; k < x->ndim; k++) at[k] = k != axis && x->shape[k] == 1 ? 0 : i[k];
}

cbx_status naive_take_along_axis(nv *const *in, const int *a, nv **out)
{
    const nv *x = in[0], *index = in[1];
    size_t shape[CBX_MAX_RANK];
    int axis;
    cbx_status st = check_index(x, index, naive_axis_of(a[0]), &axis);

    if (st) return st;
    if (x->ndim != index->ndim) return CBX_ESHAPE;
    for (int i = 0; i < x->ndim; i++) {
        shape[i] = i == axis || x->shape[i] == 1 ? index->shape[i] : x->shape[i];
        if (i != axis && index->shape[i] != 1 && index->shape[i] != shape[i]) return CBX_ESHAPE;
    }
    *out = naive_new(x->t, x->ndim, shape);
    for (size_t i = 0; i < (*out)->n; i++) {
        size_t at[CBX_MAX_RANK], to[CBX_MAX_RANK];
        naive_index_of(*out, i, to);
        place_along(index, to, axis, at);
        const num which = naive_fit(index->e[naive_at(index, at)], CBX_I64);
        place_along(x, to, axis, at);
        if (!place_of(which, x->shape[axis], &at[axis])) return CBX_EINDEX;
        (*out)->e[i] = x->e[naive_at(x, at)];
    }
    return CBX_OK;
}

static num joined(num old, num update, unsigned mode, cbx_dtype t)
{
    switch (mode) {
    case CBX_SCATTER_ADD: return naive_fit(naive_plus(old, update, t), t);
    case CBX_SCATTER_MUL: return naive_fit(naive_times(old, update, t), t);
    case CBX_SCATTER_MIN: return naive_smaller(old, update, t);
    case CBX_SCATTER_MAX: return naive_more(old, update, t);
    default: return update;
    }
}

static cbx_status scattered(const nv *x, const nv *index, const nv *updates, int axis, unsigned mode, nv **out)
{
    nv *r, *where;
    const nv *given;

    if (naive_is_complex(updates->t) && !naive_is_complex(x->t) && x->t != CBX_BOOL) return CBX_EDTYPE;
    if (naive_is_complex(x->t) && mode >= CBX_SCATTER_MIN) return CBX_EDTYPE;
    where = take_shape(x, index, axis);
    given = naive_cast(updates, x->t);
    if (given->ndim > where->ndim) return CBX_ESHAPE;
    for (int i = 0; i < given->ndim; i++)
        if (given->shape[i] != 1 && given->shape[i] != where->shape[where->ndim - given->ndim + i]) return CBX_ESHAPE;
    if (!all_inside(index, x->shape[axis])) return CBX_EINDEX;
    r = naive_cast(x, x->t);
    for (size_t i = 0; i < where->n; i++) {
        size_t at[CBX_MAX_RANK], own[CBX_MAX_RANK], to = taken_from(x, index, axis, where, i);
        naive_index_of(where, i, at);
        for (int k = 0; k < given->ndim; k++) own[k] = given->shape[k] == 1 ? 0 : at[where->ndim - given->ndim + k];
        r->e[to] = joined(r->e[to], given->e[naive_at(given, own)], mode, x->t);
    }
    r->zeros = true;
    *out = r;
    return CBX_OK;
}

cbx_status naive_scatter(nv *const *in, const int *a, nv **out)
{
    int axis;
    cbx_status st = check_index(in[0], in[1], naive_axis_of(a[0]), &axis);
    return st ? st : scattered(in[0], in[1], in[2], axis, U(a[1]) % 5, out);
}

cbx_status naive_segment_sum(nv *const *in, const int *a, nv **out)
{
    size_t shape[CBX_MAX_RANK];

    if (in[0]->ndim == 0 || in[1]->ndim != 1 || in[1]->n != in[0]->shape[0]) return CBX_ESHAPE;
    if (!naive_is_whole(in[1]->t)) return CBX_EDTYPE;
    memcpy(shape, in[0]->shape, sizeof shape);
    shape[0] = U(a[0]) % 5;
    return scattered(naive_new(in[0]->t, in[0]->ndim, shape), in[1], in[0], 0, CBX_SCATTER_ADD, out);
}

/* ---- order ---- */

static bool before(const nv *x, size_t i, size_t k, bool descending)
{
    const int c = naive_order(x->e[i], x->e[k], x->t);
    return descending ? c > 0 : c < 0;
}

/* Place of each element of its lane: how many go before it. */
static cbx_status sorted(const nv *x, int axis, bool descending, bool places, nv **out)
{
    nv *r;

    if (!naive_axis(axis, x->ndim, &axis)) return CBX_EINVAL;
    if (naive_is_complex(x->t)) return CBX_EDTYPE;
    r = naive_new(places ? CBX_I64 : x->t, x->ndim, x->shape);
    for (size_t i = 0; i < x->n; i++) {
        size_t at[CBX_MAX_RANK], rank = 0, mine;
        naive_index_of(x, i, at);
        mine = at[axis];
        for (at[axis] = 0; at[axis] < x->shape[axis]; at[axis]++) {
            const size_t k = naive_at(x, at);
            rank += before(x, k, i, descending) || (at[axis] < mine && !before(x, i, k, descending));
        }
        at[axis] = rank;
        r->e[naive_at(r, at)] = places ? (num){ (wide)mine, 0, 0 } : x->e[i];
    }
    r->zeros = true;
    *out = r;
    return CBX_OK;
}

cbx_status naive_sort(nv *const *in, const int *a, nv **out)
{
    return sorted(in[0], naive_axis_of(a[0]), a[1] & 1, false, out);
}
cbx_status naive_argsort(nv *const *in, const int *a, nv **out)
{
    return sorted(in[0], naive_axis_of(a[0]), a[1] & 1, true, out);
}

static cbx_status searched(const nv *edges, const nv *values, bool right, nv **out)
{
    const cbx_dtype t = naive_promote(edges->t, values->t);
    nv *e, *v = naive_cast(values, t), *r;

    if (naive_is_complex(t)) return CBX_EDTYPE;
    e = naive_cast(edges, t);
    r = naive_new(CBX_I64, v->ndim, v->shape);
    for (size_t i = 0; i < v->n; i++)
        for (size_t k = 0; k < e->n; k++) {
            const int c = naive_order(e->e[k], v->e[i], t);
            r->e[i].i += right ? c <= 0 : c < 0;
        }
    *out = r;
    return CBX_OK;
}

/* Edges flattened and sorted: the program does that first. */
static cbx_status edges_of(const nv *x, nv **out)
{
    nv *flat = NULL;

    (void)reshaped(x, 1, &x->n, &flat);
    return sorted(flat, 0, false, false, out);
}

cbx_status naive_searchsorted(nv *const *in, const int *a, nv **out)
{
    nv *edges;
    cbx_status st = edges_of(in[0], &edges);
    return st ? st : searched(edges, in[1], a[0] & 1, out);
}

/* Falling edges: how many are above x.  NaN stands above all, and NaN edges have no order:
 * left out. */
cbx_status naive_digitize(nv *const *in, const int *a, nv **out)
{
    nv *edges;
    cbx_status st = edges_of(in[1], &edges);

    if (st) return st;
    for (size_t i = 0; i < edges->n; i++)
        if (naive_nan(edges->e[i], edges->t)) return NAIVE_SKIP;
    st = searched(edges, in[0], true, out);
    if (st || !(a[0] & 1) || edges->n < 2) return st;
    if (naive_order(edges->e[0], edges->e[edges->n - 1], edges->t) == 0) return st; /* flat edges rise, too */
    for (size_t i = 0; i < (*out)->n; i++) (*out)->e[i].i = (wide)edges->n - (*out)->e[i].i;
    return st;
}

cbx_status naive_unique(nv *const *in, const int *a, nv **out)
{
    nv *all;
    size_t n = 0;
    cbx_status st;

    (void)a;
    if (naive_is_complex(in[0]->t)) return NAIVE_SKIP;
    st = edges_of(in[0], &all);
    if (st) return st;
    for (size_t i = 0; i < all->n; i++)
        if (i == 0 || naive_order(all->e[i - 1], all->e[i], all->t) != 0) all->e[n++] = all->e[i];
    *out = naive_new(all->t, 1, &n);
    memcpy((*out)->e, all->e, n * sizeof *all->e);
    (*out)->zeros = true;
    return CBX_OK;
}

static nv *true_places(const nv *x, size_t columns, wide fill)
{
    nv *r = naive_new(CBX_I64, 2, (const size_t[]){ (size_t)x->ndim, columns });
    size_t found = 0;

    for (size_t i = 0; i < r->n; i++) r->e[i].i = fill;
    for (size_t i = 0; i < x->n && found < columns; i++) {
        size_t at[CBX_MAX_RANK];
        if (!naive_truth(x->e[i], x->t)) continue;
        naive_index_of(x, i, at);
        for (int k = 0; k < x->ndim; k++) r->e[(size_t)k * columns + found].i = (wide)at[k];
        found++;
    }
    return r;
}

cbx_status naive_nonzero(nv *const *in, const int *a, nv **out)
{
    size_t n = 0;

    (void)a;
    if (in[0]->ndim == 0) return CBX_ESHAPE;
    for (size_t i = 0; i < in[0]->n; i++) n += naive_truth(in[0]->e[i], in[0]->t);
    *out = true_places(in[0], n, 0);
    return CBX_OK;
}

cbx_status naive_nonzero_size(nv *const *in, const int *a, nv **out)
{
    if (in[0]->ndim == 0) return CBX_ESHAPE;
    *out = true_places(in[0], U(a[0]) % 6, a[1]);
    return CBX_OK;
}
