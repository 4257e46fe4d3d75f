/* Cumulative operations, in accumulators of 64 bits (complex: two of them), left to right. */
#include <assert.h>
#include <string.h>

#include "calibrax/array/reference/reduce.h"

/* n > 0 elements, a_step bytes apart, to others or to themselves; t carries the state from one run
 * to the next. */
typedef void (*cumulator)(size_t n, const char *a, ptrdiff_t a_step, char *o, ptrdiff_t o_step, cbx__total *t,
                          bool begin);

#define ONE(T, step, a_step, o_step)                                                                                   \
    {                                                                                                                  \
        const T x = *(const T *)(const void *)(a + (ptrdiff_t)i * (ptrdiff_t)(a_step));                                \
        s = step;                                                                                                      \
        *(T *)(void *)(o + (ptrdiff_t)i * (ptrdiff_t)(o_step)) = s;                                                    \
    }
#define RUNNING(fn, T, field, step)                                                                                    \
    static void fn(size_t n, const char *a, ptrdiff_t a_step, char *o, ptrdiff_t o_step, cbx__total *t, bool begin)    \
    {                                                                                                                  \
        T s = begin ? *(const T *)(const void *)a : t->field;                                                          \
        if (begin) *(T *)(void *)o = s;                                                                                \
        if (a_step == (ptrdiff_t)sizeof(T) && o_step == a_step)                                                        \
            for (size_t i = begin; i < n; i++) ONE(T, step, sizeof(T), sizeof(T))                                      \
        else                                                                                                           \
            for (size_t i = begin; i < n; i++) ONE(T, step, a_step, o_step)                                            \
        t->field = s;                                                                                                  \
    }
RUNNING(cumsum_u64, uint64_t, u, s + x)
RUNNING(cumsum_f64, double, f, s + x)
RUNNING(cumprod_u64, uint64_t, u, s *x)
RUNNING(cumprod_f64, double, f, s *x)
RUNNING(cummax_i64, int64_t, i, x > s ? x : s)
RUNNING(cummin_i64, int64_t, i, x < s ? x : s)
RUNNING(cummax_u64, uint64_t, u, x > s ? x : s)
RUNNING(cummin_u64, uint64_t, u, x < s ? x : s)
RUNNING(cummax_f64, double, f, s >= x || s != s ? s : x)
RUNNING(cummin_f64, double, f, s <= x || s != s ? s : x)

/* s: the sum or product so far */
#define RUNNING_COMPLEX(fn, next_re, next_im)                                                                          \
    static void fn(size_t n, const char *a, ptrdiff_t a_step, char *o, ptrdiff_t o_step, cbx__total *t, bool begin)    \
    {                                                                                                                  \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const double *z = (const double *)(const void *)(a + (ptrdiff_t)i * a_step);                               \
            const double re = z[0], im = z[1], *s = (const double[]){ t->c[0], t->c[1] };                              \
            t->c[0] = begin && i == 0 ? re : next_re;                                                                  \
            t->c[1] = begin && i == 0 ? im : next_im;                                                                  \
            memcpy(o + (ptrdiff_t)i * o_step, t->c, sizeof t->c);                                                      \
        }                                                                                                              \
    }
RUNNING_COMPLEX(cumsum_c128, s[0] + re, s[1] + im)
RUNNING_COMPLEX(cumprod_c128, s[0] * re - s[1] * im, s[0] * im + s[1] * re)

CBX__RUN(cumulative)
{
    const cbx_array *a = call->in[0];
    cbx_dtype from = a->desc.dtype, to = call->results->dtype, wide = cbx__ref_wide(to);
    cbx__split in = cbx__split_axes(a, 1, &call->attrs->axis), result;
    size_t index[2][CBX_MAX_RANK] = { { 0 } };
    static const cumulator table[CBX_PRIM_LIMIT][4] = {
        [CBX_PRIM_CUMSUM] = { cumsum_u64, cumsum_u64, cumsum_f64, cumsum_c128 },
        [CBX_PRIM_CUMPROD] = { cumprod_u64, cumprod_u64, cumprod_f64, cumprod_c128 },
        [CBX_PRIM_CUMMAX] = { cummax_i64, cummax_u64, cummax_f64 },
        [CBX_PRIM_CUMMIN] = { cummin_i64, cummin_u64, cummin_f64 },
    };
    cumulator run = table[call->prim][wide == CBX_I64 ? 0 : wide == CBX_U64 ? 1 : wide == CBX_F64 ? 2 : 3];
    cbx__loop load = cbx__move_loop(from, wide);
    cbx__loop store = cbx__move_loop(wide, to);
    ptrdiff_t size = (ptrdiff_t)cbx_dtype_size(wide);
    const char *src = a->data, *dst;
    double buf[2 * CBX__LEAF];
    const bool direct = from == wide && to == wide; /* nothing to convert */

    assert(run && load);
    result = cbx__split_axes(*out, 1, &call->attrs->axis);
    dst = (*out)->data;
    for (size_t lane = 0; in.each > 0 && lane < a->count / in.each; lane++) {
        cbx__total t = { 0 };
        if (direct) run(in.each, src, in.gone_step[0], (char *)(uintptr_t)dst, result.gone_step[0], &t, true);
        for (size_t i = direct ? in.each : 0; i < in.each; i += CBX__LEAF) {
            size_t m = in.each - i < CBX__LEAF ? in.each - i : CBX__LEAF;
            char *here = (char *)(uintptr_t)src + (ptrdiff_t)i * in.gone_step[0];
            char *there = (char *)(uintptr_t)dst + (ptrdiff_t)i * result.gone_step[0];
            cbx__move(load, m, buf, size, here, in.gone_step[0]);
            run(m, (char *)buf, size, (char *)buf, size, &t, i == 0);
            cbx__move(store, m, there, result.gone_step[0], buf, size);
        }
        src = cbx__split_advance(&in, in.nkept, index[0], src);
        dst = cbx__split_advance(&result, result.nkept, index[1], dst);
    }
    return CBX_OK;
}
