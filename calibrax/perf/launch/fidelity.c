/*
 * An output against the oracle's answer: every element within its own bound.
 *
 * For each element with output o, answer a and bound b (float64): ratio = |o - a| / b, and the
 * check passes if no ratio exceeds 1.  NaN matches NaN, an infinity its equal, and -0.0 matches
 * +0.0, as == has it in IEEE 754; a bound of 0 asks for equality.  Error of a difference of two
 * float64 numbers is one rounding, far below any bound that is not 0.  64-bit integers whose answer
 * is of their own dtype are subtracted as integers: above 2^53 float64 does not tell neighbours
 * apart.
 */
#include <math.h>
#include <stdio.h>

#include "calibrax/perf/launch/check.h"

typedef struct tally {
    double rel_to_tol, max_abs, max_rel;
    uint64_t mismatched;
} tally;

/* The rare element: not finite, or outside its bound. */
static void count_unusual(double o, double a, double b, tally *t)
{
    if (isnan(o) && isnan(a)) return;
    if (o == a) return;
    double error = fabs(o - a);
    if (b == INFINITY && !isnan(o) && !isnan(a)) return;
    t->mismatched++;
    t->rel_to_tol = fmax(t->rel_to_tol, isfinite(error) && b > 0 ? error / b : INFINITY);
    t->max_abs = fmax(t->max_abs, isnan(error) ? INFINITY : error);
    t->max_rel = fmax(t->max_rel, isfinite(error) && a != 0 ? error / fabs(a) : INFINITY);
}

static inline void count_one(double o, double a, double b, tally *t)
{
    double error = fabs(o - a), size = fabs(a);
    if (!(error <= b) || !(b < INFINITY)) {
        count_unusual(o, a, b, t);
        return;
    }
    if (error > t->max_abs) t->max_abs = error;
    if (error > t->rel_to_tol * b) t->rel_to_tol = error / b;
    if (error > t->max_rel * size && size > 0) t->max_rel = error / size;
}

ptrdiff_t cbx__element_offset(const cbx_array *a, size_t i)
{
    const ptrdiff_t *strides = cbx_array_strides(a);
    ptrdiff_t at = 0;
    for (int axis = cbx_array_ndim(a) - 1; axis >= 0; axis--) {
        size_t n = cbx_array_dim(a, axis);
        at += (ptrdiff_t)(i % n) * strides[axis];
        i /= n;
    }
    return at;
}

double cbx__element_value(const void *data, cbx_dtype dtype, ptrdiff_t i)
{
    switch (dtype) {
    case CBX_F32: return ((const float *)data)[i];
    case CBX_F64: return ((const double *)data)[i];
    case CBX_I8: return ((const int8_t *)data)[i];
    case CBX_I16: return ((const int16_t *)data)[i];
    case CBX_I32: return ((const int32_t *)data)[i];
    case CBX_I64: return (double)((const int64_t *)data)[i];
    case CBX_U16: return ((const uint16_t *)data)[i];
    case CBX_U32: return ((const uint32_t *)data)[i];
    case CBX_U64: return (double)((const uint64_t *)data)[i];
    case CBX_C64: return hypot(((const float *)data)[2 * i], ((const float *)data)[2 * i + 1]);
    case CBX_C128: return hypot(((const double *)data)[2 * i], ((const double *)data)[2 * i + 1]);
    default: return ((const uint8_t *)data)[i]; /* bool, u8 */
    }
}

/*
 * The ones that matter for time: a million elements per check is usual, and checking is the
 * parent's own overhead.  A block is walked element by element only if something in it is unusual
 * or sets a new maximum, which for n elements in no order happens O(log n) times; the test of a
 * block has no branch and no division, and two elements go at once (every 64-bit CPU has that).
 */
#define BLOCK 256
typedef double two_doubles __attribute__((vector_size(16)));
typedef int64_t two_masks __attribute__((vector_size(16)));

#define DEFINE_COMPARE(name, output_type, answer_type)                                                                 \
    static bool name##_is_usual(const output_type *o, const answer_type *a, const double *b, const tally *t)           \
    {                                                                                                                  \
        const two_doubles worst = { t->rel_to_tol, t->rel_to_tol }, max_abs = { t->max_abs, t->max_abs };              \
        const two_doubles max_rel = { t->max_rel, t->max_rel }, infinity = { INFINITY, INFINITY };                     \
        const two_masks no_sign = { INT64_MAX, INT64_MAX };                                                            \
        two_masks usual = { -1, -1 };                                                                                  \
        for (size_t i = 0; i < BLOCK; i += 2) {                                                                        \
            two_doubles vo = { (double)o[i], (double)o[i + 1] }, va = { (double)a[i], (double)a[i + 1] };              \
            two_doubles vb = { b[i], b[i + 1] };                                                                       \
            two_doubles error = (two_doubles)((two_masks)(vo - va) & no_sign);                                         \
            two_doubles size = (two_doubles)((two_masks)va & no_sign);                                                 \
            usual &= (error <= vb) & (vb < infinity) & (error <= worst * vb) & (error <= max_abs) &                    \
                     (error <= max_rel * size);                                                                        \
        }                                                                                                              \
        return usual[0] && usual[1];                                                                                   \
    }                                                                                                                  \
    static void name(const void *output, const void *answer, const double *b, size_t n, tally *t)                      \
    {                                                                                                                  \
        const output_type *o = output;                                                                                 \
        const answer_type *a = answer;                                                                                 \
        for (size_t start = 0; start < n; start += BLOCK) {                                                            \
            size_t end = n - start < BLOCK ? n : start + BLOCK;                                                        \
            if (end - start == BLOCK && name##_is_usual(o + start, a + start, b + start, t)) continue;                 \
            for (size_t i = start; i < end; i++) count_one((double)o[i], (double)a[i], b[i], t);                       \
        }                                                                                                              \
    }
DEFINE_COMPARE(compare_f32, float, double)
DEFINE_COMPARE(compare_f64, double, double)
DEFINE_COMPARE(compare_bool, uint8_t, uint8_t)

static void compare(const cbx_array *output, const cbx_array *answer, const cbx_array *bound, tally *t)
{
    static void (*const fast[CBX_DTYPE_COUNT])(const void *, const void *, const double *, size_t, tally *) = {
        [CBX_F32] = compare_f32,
        [CBX_F64] = compare_f64,
        [CBX_BOOL] = compare_bool,
    };
    cbx_dtype type = cbx_array_dtype(output);
    if (fast[type] && cbx_array_is_contiguous(output) && cbx_array_is_contiguous(answer) &&
        cbx_array_is_contiguous(bound)) {
        fast[type](cbx_array_data(output), cbx_array_data(answer), cbx_array_data(bound), cbx_array_count(output), t);
    } else {
        const cbx_dtype to = cbx_array_dtype(output), ta = cbx_array_dtype(answer);
        const void *o = cbx_array_data(output), *a = cbx_array_data(answer);
        const double *b = cbx_array_data(bound);
        size_t n = cbx_array_count(output);
        for (size_t i = 0; i < n; i++)
            count_one(cbx__element_value(o, to, cbx__element_offset(output, i)),
                      cbx__element_value(a, ta, cbx__element_offset(answer, i)), b[cbx__element_offset(bound, i)], t);
    }
}

/* |o - a| of 64-bit integers is exact in uint64_t, and rounded once. */
static void compare_integers(const cbx_array *output, const cbx_array *answer, const cbx_array *bound, tally *t)
{
    const bool is_signed = cbx_array_dtype(output) == CBX_I64;
    const uint64_t *o = cbx_array_data(output), *a = cbx_array_data(answer);
    const double *b = cbx_array_data(bound);
    for (size_t i = 0, n = cbx_array_count(output); i < n; i++) {
        uint64_t x = o[cbx__element_offset(output, i)], y = a[cbx__element_offset(answer, i)];
        if (x == y) continue;
        bool above = is_signed ? (int64_t)x > (int64_t)y : x > y;
        double error = (double)(above ? x - y : y - x), limit = b[cbx__element_offset(bound, i)];
        double size = is_signed ? fabs((double)(int64_t)y) : (double)y;
        t->mismatched += !(error <= limit);
        t->rel_to_tol = fmax(t->rel_to_tol, limit > 0 ? error / limit : INFINITY);
        t->max_abs = fmax(t->max_abs, error);
        if (size > 0) t->max_rel = fmax(t->max_rel, error / size);
    }
}

static bool same_shape(const cbx_array *a, const cbx_array *b)
{
    if (cbx_array_ndim(a) != cbx_array_ndim(b)) return false;
    for (int i = 0; i < cbx_array_ndim(a); i++)
        if (cbx_array_dim(a, i) != cbx_array_dim(b, i)) return false;
    return true;
}

static void refuse(cbx_fidelity *io, const char *what, const cbx_array *found, const cbx_array *wanted)
{
    char f[64], w[64];
    io->ok = false;
    io->rel_to_tol = INFINITY;
    snprintf(io->note, sizeof io->note, "%s: found %s, wanted %s", what,
             cbx_array_desc_text(cbx_array_get_desc(found), f, sizeof f),
             cbx_array_desc_text(cbx_array_get_desc(wanted), w, sizeof w));
}

void cbx_fidelity_compare(const cbx_array *output, const cbx_array *answer, const cbx_array *bound, cbx_fidelity *io)
{
    tally t = { io->rel_to_tol, io->max_abs, io->max_rel, 0 };
    cbx_dtype to = cbx_array_dtype(output), ta = cbx_array_dtype(answer);
    bool integers = to == ta && (to == CBX_I64 || to == CBX_U64);

    if (!io->checked) io->ok = true;
    io->checked = true;
    io->checks++;
    if (!same_shape(output, answer)) {
        refuse(io, "wrong shape", output, answer);
    } else if ((to == CBX_BOOL) != (ta == CBX_BOOL) || to == CBX_C64 || to == CBX_C128 ||
               (ta != CBX_BOOL && ta != CBX_F64 && !integers)) {
        refuse(io, "wrong dtype", output, answer);
    } else if (cbx_array_dtype(bound) != CBX_F64 || !same_shape(bound, answer)) {
        refuse(io, "bound of another form", bound, answer);
    } else {
        (integers ? compare_integers : compare)(output, answer, bound, &t);
        io->rel_to_tol = t.rel_to_tol;
        io->max_abs = t.max_abs;
        io->max_rel = t.max_rel;
        io->mismatched += t.mismatched;
        if (t.mismatched) io->ok = false;
    }
}
