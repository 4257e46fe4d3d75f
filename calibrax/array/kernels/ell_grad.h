/* Derivatives of ELL products of one float type: of the values by rows, of B by the transposed
 * graph, so that both gather and an element is added up by one thread in one order.
 *
 * Of each edge and column the derivative of c[i, j] by the value, or by the element of B, is a
 * weight: what the algebra's file says by CBX_ALGEBRA_GRADIENTS; where the first optimum takes all,
 * that at its edge and nothing at the others. Included once a type behind ell_float.h; expects
 * SMALLEST besides. */

enum { NAME(BLOCK) = 4 * LANES }; /* columns at a time */

static inline uint32_t NAME(place_at)(const uint32_t *place, size_t e) { return place ? place[e] : (uint32_t)e; }

/* One edge and `live` columns of it. */
typedef struct NAME(term) {
    T a;
    const T *b, *c;
    const uint32_t *first;
    uint32_t place;
} NAME(term);

static NAME(term) NAME(edge_of)(const cbx__ell_grad *q, size_t i, size_t col, uint32_t place, size_t j0)
{
    const size_t at = i * q->d + j0;
    return (NAME(term)){ .a = ((const T *)q->values)[place],
                         .b = (const T *)q->b + col * q->d + j0,
                         .c = (const T *)q->c + at,
                         .first = q->first ? q->first + at : NULL,
                         .place = place };
}

#include "calibrax/array/kernels/gradients.h"

/* Which weights: of an algebra, or of its first optimum alone; constants wherever these are
 * inlined. */
typedef struct NAME(way) {
    cbx_algebra g;
    bool first;
} NAME(way);

INLINE T NAME(weight)(NAME(way) g, const NAME(term) * t, size_t l, bool of_b)
{
    const T w = NAME(slope)(g.g, t->a, t->b[l], t->c[l], of_b);
    return g.first && t->first[l] != t->place ? 0 : w;
}

/* sum[l] += h w, nothing where h is 0, whatever w is */
INLINE void NAME(add_gradient)(NAME(way) g, const NAME(term) * t, const T *h, size_t live, bool of_b, T *restrict sum)
{
    for (size_t l = 0; l < live; l++) {
        const T x = h[l] * NAME(weight)(g, t, l, of_b);
        sum[l] += h[l] == 0 ? 0 : x;
    }
}

INLINE void NAME(add_forward)(NAME(way) g, const NAME(term) * t, T ta, const T *tb, size_t live, T *restrict sum)
{
    for (size_t l = 0; l < live; l++) sum[l] += NAME(weight)(g, t, l, false) * ta + NAME(weight)(g, t, l, true) * tb[l];
}

INLINE T NAME(value_slope)(const cbx__ell_grad *q, NAME(way) g, size_t i, size_t e)
{
    T sum[NAME(BLOCK)] = { 0 };

    for (size_t j0 = 0; j0 < q->d; j0 += (size_t)NAME(BLOCK)) {
        const size_t live = q->d - j0 < (size_t)NAME(BLOCK) ? q->d - j0 : (size_t)NAME(BLOCK);
        const T *h = (const T *)q->h + i * q->d + j0;
        const NAME(term) t = NAME(edge_of)(q, i, (size_t)q->index[e], NAME(place_at)(q->place, e), j0);
        if (live == (size_t)NAME(BLOCK))
            NAME(add_gradient)(g, &t, h, (size_t)NAME(BLOCK), false, sum);
        else
            NAME(add_gradient)(g, &t, h, live, false, sum);
    }
    for (size_t half = (size_t)NAME(BLOCK) / 2; half > 0; half /= 2)
        for (size_t l = 0; l < half; l++) sum[l] += sum[l + half];
    return sum[0];
}

INLINE void NAME(values_of)(const cbx__ell_grad *q, NAME(way) g, size_t from, size_t to)
{
    T *dv = q->dv;

    for (size_t i = from; i < to; i++)
        for (size_t e = q->rows.start[i]; e < q->rows.start[i + 1]; e++)
            dv[NAME(place_at)(q->place, e)] = NAME(value_slope)(q, g, i, e);
}

INLINE void NAME(dense_of)(const cbx__ell_grad *q, NAME(way) g, size_t from, size_t to)
{
    for (size_t col = from; col < to; col++)
        for (size_t j0 = 0; j0 < q->d; j0 += (size_t)NAME(BLOCK)) {
            const size_t live = q->d - j0 < (size_t)NAME(BLOCK) ? q->d - j0 : (size_t)NAME(BLOCK);
            T sum[NAME(BLOCK)] = { 0 };
            for (size_t e = q->cols.start[col]; e < q->cols.start[col + 1]; e++) {
                const size_t i = (size_t)q->t_index[e];
                const T *h = (const T *)q->h + i * q->d + j0;
                const NAME(term) t = NAME(edge_of)(q, i, col, NAME(place_at)(q->t_place, e), j0);
                if (live == (size_t)NAME(BLOCK))
                    NAME(add_gradient)(g, &t, h, (size_t)NAME(BLOCK), true, sum);
                else
                    NAME(add_gradient)(g, &t, h, live, true, sum);
            }
            memcpy((T *)q->db + col * q->d + j0, sum, live * sizeof(T));
        }
}

INLINE void NAME(forward_of)(const cbx__ell_grad *q, NAME(way) g, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        for (size_t j0 = 0; j0 < q->d; j0 += (size_t)NAME(BLOCK)) {
            const size_t live = q->d - j0 < (size_t)NAME(BLOCK) ? q->d - j0 : (size_t)NAME(BLOCK);
            T sum[NAME(BLOCK)] = { 0 };
            for (size_t e = q->rows.start[i]; e < q->rows.start[i + 1]; e++) {
                const size_t col = (size_t)q->index[e], place = NAME(place_at)(q->place, e);
                const T ta = ((const T *)q->tv)[place], *tb = (const T *)q->tb + col * q->d + j0;
                const NAME(term) t = NAME(edge_of)(q, i, col, (uint32_t)place, j0);
                NAME(add_forward)(g, &t, ta, tb, live, sum);
            }
            memcpy((T *)q->tc + i * q->d + j0, sum, live * sizeof(T));
        }
}

/* The first place in a row whose term is c, or the first NaN one of a NaN. */
INLINE void NAME(first_of)(const cbx__ell_grad *q, cbx_algebra g, size_t from, size_t to)
{
    const T empty = (T)cbx_semiring_get(q->algebra)->empty;

    for (size_t i = from; i < to; i++) {
        const T *c = (const T *)q->c + i * q->d;
        uint32_t *first = q->first + i * q->d;
        for (size_t j = 0; j < q->d; j++) first[j] = CBX__ELL_NOWHERE;
        for (size_t e = q->rows.start[i]; e < q->rows.start[i + 1]; e++) {
            const uint32_t place = NAME(place_at)(q->place, e);
            const T a = ((const T *)q->values)[place], *b = (const T *)q->b + (size_t)q->index[e] * q->d;
            for (size_t j = 0; j < q->d; j++) {
                const T t = NAME(plain_term)(g, a, b[j]);
                const bool hit = (first[j] == CBX__ELL_NOWHERE) & (c[j] != empty) & ((t == c[j]) | (t != t));
                first[j] = hit ? place : first[j];
            }
        }
    }
}

/* What a phase does with some rows, or columns of the graph. */
INLINE void NAME(phase_of)(const cbx__ell_grad *q, cbx__ell_phase phase, NAME(way) g, size_t from, size_t to)
{
    if (phase == CBX__ELL_BACK_VALUES)
        NAME(values_of)(q, g, from, to);
    else if (phase == CBX__ELL_BACK_DENSE)
        NAME(dense_of)(q, g, from, to);
    else if (phase == CBX__ELL_FORWARD)
        NAME(forward_of)(q, g, from, to);
    else if (g.first)
        NAME(first_of)(q, g.g, from, to);
}

typedef struct NAME(grad_job) {
    const cbx__ell_grad *q;
    cbx__ell_phase phase;
} NAME(grad_job);

/* Weighted messages have the derivatives of a product: all of them, or those at the first
 * optimum. */
static void NAME(grad_rows)(const void *job, size_t from, size_t to)
{
    const NAME(grad_job) *j = job;
    const cbx__ell_grad *q = j->q;

    if (q->scaled && cbx__traits_of[q->algebra].derivative == CBX__BY_OPTIMUM) {
        NAME(phase_of)(q, j->phase, (NAME(way)){ CBX_ALGEBRA_REAL, true }, from, to);
        return;
    }
    switch (q->scaled ? CBX_ALGEBRA_REAL : q->algebra) {
#define CBX_ALGEBRA_GRADIENTS(id, ...)                                                                                 \
    case CBX_ALGEBRA_##id: {                                                                                           \
        const NAME(way) g = { CBX_ALGEBRA_##id, cbx__traits_of[CBX_ALGEBRA_##id].derivative == CBX__BY_OPTIMUM };      \
        NAME(phase_of)(q, j->phase, g, from, to);                                                                      \
        break;                                                                                                         \
    }
#include "calibrax/array/kernels/algebra.h"
    default: break;
    }
}

static void NAME(softmax_vjp_rows)(const void *job, size_t from, size_t to)
{
    const cbx__ell_grad *q = job;
    const T *y = q->c, *h = q->h;
    T *dv = q->dv;

    for (size_t i = from; i < to; i++) {
        T sum = 0;
        for (size_t e = q->rows.start[i]; e < q->rows.start[i + 1]; e++) {
            const size_t at = NAME(place_at)(q->place, e);
            sum += y[at] * h[at];
        }
        for (size_t e = q->rows.start[i]; e < q->rows.start[i + 1]; e++) {
            const size_t at = NAME(place_at)(q->place, e);
            dv[at] = y[at] * (h[at] - sum);
        }
    }
}

static void NAME(grad)(const cbx__ell_grad *q, cbx__ell_phase phase)
{
    const NAME(grad_job) job = { q, phase };

    if (phase == CBX__ELL_BACK_SOFTMAX)
        cbx__ell_share(&q->rows, q->threads, NAME(softmax_vjp_rows), q);
    else
        cbx__ell_share(phase == CBX__ELL_BACK_DENSE ? &q->cols : &q->rows, q->threads, NAME(grad_rows), &job);
}
