/*
 * Stages of Fourier transforms of one instruction set: built once for each with other compiler
 * flags (meson.build).
 *
 * Stockham's self-sorting form, decimation in frequency: no bit reversal, every stage reads and
 * writes runs of s numbers.
 *     y[q + s (r p + j)] = w^(p j) sum_k x[q + s (p + m k)] exp(-2 pi i j k / r)
 * with w = exp(-2 pi i / (r m)).  Radices 2, 3, 4, 5, 7 are unrolled, other odd ones run in loops.
 * A vector has numbers of neighbouring q; in the first stage, where s is 1, of neighbouring p.  The
 * last vector of a run may overlap the one before it, whose results it repeats.
 * Source: Van Loan, Computational Frameworks for the Fast Fourier Transform (SIAM 1992), sections
 * 1.7 and 2.2.
 */
#include "calibrax/array/kernels/fft.h"

#include "calibrax/array/kernels/isa_name.h"

/* Wider vectors gain little, and lose where runs are not multiples of them. */
#define BYTES (VECTOR_BYTES < 32 ? VECTOR_BYTES : 32)
#define WIDE  (BYTES / sizeof(cbx__cx)) /* numbers in a vector */
#define EACH  _Pragma("GCC unroll 8") for

typedef double vec __attribute__((vector_size(BYTES), aligned(8), may_alias));

#if BYTES == 32
#define PAIRS(a, b)      ((vec){ a, b, a, b })
#define SHUFFLE(v, a, b) __builtin_shufflevector(v, v, a, b, 2 + a, 2 + b)
#else
#define PAIRS(a, b)      ((vec){ a, b })
#define SHUFFLE(v, a, b) __builtin_shufflevector(v, v, a, b)
#endif
#define FIRST(v) __builtin_shufflevector(v, v, 0, 1)
#define LAST(v)  __builtin_shufflevector(v, v, BYTES / 8 - 2, BYTES / 8 - 1)

/* ---- vectors of n numbers: WIDE, or 1, whose other lane is anything ---- */

INLINE vec load(const cbx__cx *x, size_t n) { return n == 1 ? PAIRS((*x)[0], (*x)[1]) : *(const vec *)x; }

INLINE void store(vec v, cbx__cx *to, size_t n)
{
    if (n == 1)
        *to = FIRST(v);
    else
        *(vec *)to = v;
}

/* The second number a step behind the first. */
INLINE void spread(vec v, cbx__cx *to, size_t step, size_t n)
{
    to[0] = FIRST(v);
    if (n > 1) to[step] = LAST(v);
}

/* -i v, or i v */
INLINE vec rotate(vec v, bool inverse) { return SHUFFLE(v, 1, 0) * (inverse ? PAIRS(-1, 1) : PAIRS(1, -1)); }

/* The number w as times has it, or its conjugate. */
typedef struct factor {
    vec re, im;
} factor;

INLINE factor factor_of(vec w, bool conj)
{
    return (factor){ SHUFFLE(w, 0, 0), SHUFFLE(w, 1, 1) * (conj ? PAIRS(1, -1) : PAIRS(-1, 1)) };
}

INLINE vec times(vec v, const factor *w) { return v * w->re + SHUFFLE(v, 1, 0) * w->im; }

/* ---- the sum over k, for all j: x are step numbers apart ---- */

INLINE void butterfly4(const cbx__cx *x, size_t step, vec *t, bool inverse, size_t n)
{
    const vec x0 = load(x, n), x1 = load(x + step, n), x2 = load(x + 2 * step, n), x3 = load(x + 3 * step, n);
    const vec a = x0 + x2, b = x0 - x2, c = x1 + x3, d = rotate(x1 - x3, inverse);

    t[0] = a + c;
    t[1] = b + d;
    t[2] = a - c;
    t[3] = b - d;
}

/* r odd: x_k and x_(r-k) share their cosines, and their sines but for the sign. */
INLINE void butterfly_odd(size_t r, const cbx__cx *x, size_t step, const cbx__cx *roots, vec *t, bool inverse, size_t n)
{
    const size_t half = r / 2;
    const vec first = load(x, n);
    vec sum[CBX__FFT_RADIX_MAX / 2], rotated[CBX__FFT_RADIX_MAX / 2], all = first;

    EACH(size_t k = 1; k <= half; k++)
    {
        const vec a = load(x + k * step, n), b = load(x + (r - k) * step, n);
        sum[k - 1] = a + b;
        rotated[k - 1] = rotate(a - b, inverse);
        all += sum[k - 1];
    }
    t[0] = all;
    EACH(size_t j = 1; j <= half; j++)
    {
        vec even = first, odd = { 0 };
        EACH(size_t k = 1; k <= half; k++)
        {
            const cbx__cx *w = roots + j * k % r;
            even += sum[k - 1] * (*w)[0];
            odd += rotated[k - 1] * -(*w)[1];
        }
        t[j] = even + odd;
        t[r - j] = even - odd;
    }
}

INLINE void butterfly(size_t r, const cbx__cx *x, size_t step, const cbx__cx *roots, vec *t, bool inverse, size_t n)
{
    if (r == 2) {
        const vec a = load(x, n), b = load(x + step, n);
        t[0] = a + b;
        t[1] = a - b;
    } else if (r == 4) {
        butterfly4(x, step, t, inverse, n);
    } else {
        butterfly_odd(r, x, step, roots, t, inverse, n);
    }
}

/* ---- stages ---- */

/* Where the vector behind the one at i of a run of `count` starts. */
INLINE size_t next(size_t i, size_t count, size_t n)
{
    i += n;
    return i < count && i + n > count ? count - n : i;
}

INLINE void first_stage(size_t r, const cbx__fft_stage *g, const cbx__cx *x, cbx__cx *y, bool inverse, size_t n)
{
    const size_t m = g->m;
    vec t[CBX__FFT_RADIX_MAX];

    for (size_t p = 0; p < m; p = next(p, m, n)) {
        butterfly(r, x + p, m, g->roots, t, inverse, n);
        spread(t[0], y + p * r, r, n);
        EACH(size_t j = 1; j < r; j++)
        {
            const factor w = factor_of(load(g->twiddles + (j - 1) * m + p, n), inverse);
            spread(times(t[j], &w), y + p * r + j, r, n);
        }
    }
}

/* What is known of r, of n and of m (1: the last stage, without twiddles) is known to the
 * compiler. */
INLINE void later_stage(size_t r, const cbx__fft_stage *g, const cbx__cx *x, cbx__cx *y, bool inverse, size_t n,
                        bool last)
{
    const size_t m = last ? 1 : g->m, s = g->s;
    vec t[CBX__FFT_RADIX_MAX];
    factor w[CBX__FFT_RADIX_MAX];

    for (size_t p = 0; p < m; p++, x += s, y += s * r) {
        EACH(size_t j = 1; j < r; j++)
        {
            const cbx__cx z = last ? g->roots[0] : g->twiddles[p * (r - 1) + j - 1];
            w[j] = factor_of(PAIRS(z[0], z[1]), inverse);
        }
        for (size_t q = 0; q < s; q = next(q, s, n)) {
            butterfly(r, x + q, s * m, g->roots, t, inverse, n);
            store(t[0], y + q, n);
            EACH(size_t j = 1; j < r; j++) store(last ? t[j] : times(t[j], &w[j]), y + q + s * j, n);
        }
    }
}

INLINE void stage(size_t r, const cbx__fft_stage *g, const cbx__cx *x, cbx__cx *y, bool inverse, size_t n)
{
    if (g->m == 1)
        later_stage(r, g, x, y, inverse, n, true);
    else if (g->s == 1)
        first_stage(r, g, x, y, inverse, n);
    else
        later_stage(r, g, x, y, inverse, n, false);
}

INLINE void any_stage(const cbx__fft_stage *g, const cbx__cx *x, cbx__cx *y, bool inverse, size_t n)
{
    switch (g->r) {
    case 2: stage(2, g, x, y, inverse, n); break;
    case 3: stage(3, g, x, y, inverse, n); break;
    case 4: stage(4, g, x, y, inverse, n); break;
    case 5: stage(5, g, x, y, inverse, n); break;
    case 7: stage(7, g, x, y, inverse, n); break;
    default: stage(g->r, g, x, y, inverse, n); break;
    }
}

void PASTE(cbx__fft_stage_, ISA_NAME)(const cbx__fft_stage *g, const cbx__cx *x, cbx__cx *y, bool inverse)
{
    const bool wide = (g->s == 1 && g->m > 1 ? g->m : g->s) >= WIDE;

    if (wide && inverse)
        any_stage(g, x, y, true, WIDE);
    else if (wide)
        any_stage(g, x, y, false, WIDE);
    else
        any_stage(g, x, y, inverse, 1);
}
