/*
 * Stages of the transform (Stockham's self-sorting form, decimation in frequency): no bit reversal, every stage reads and
 * writes runs of s numbers.
 *     y[q + s (r p + j)] = w^(p j) sum_k x[q + s (p + m k)] exp(-2 pi i j k / r),   w = exp(-2 pi i / (r m))
 * Radices 2, 3, 4, 5, 7 are unrolled, other odd ones run in loops.
 * Source: Van Loan, Computational Frameworks for the Fast Fourier Transform (SIAM 1992), sections 1.7 and 2.2.
 */
#include <string.h>

#include "calibrax/array/reference/fft.h"

#define INLINE static inline __attribute__((always_inline))

/* The sum over k, for all j: x are step numbers apart. */
INLINE void butterfly2(const cbx__cx *x, size_t step, cbx__v2 *t)
{
    const cbx__v2 a = x[0], b = x[step];
    t[0] = a + b;
    t[1] = a - b;
}

INLINE void butterfly4(const cbx__cx *x, size_t step, cbx__v2 *t, bool inverse)
{
    const cbx__v2 x0 = x[0], x1 = x[step], x2 = x[2 * step], x3 = x[3 * step];
    const cbx__v2 a = x0 + x2, b = x0 - x2, c = x1 + x3, d = cbx__v2_rotate(x1 - x3, inverse);
    t[0] = a + c;
    t[1] = b + d;
    t[2] = a - c;
    t[3] = b - d;
}

/* r odd: x_k and x_(r-k) share their cosines, and their sines but for the sign. */
INLINE void butterfly_odd(size_t r, const cbx__cx *x, size_t step, const cbx__cx *roots, cbx__v2 *t, bool inverse)
{
    const size_t half = r / 2;
    cbx__v2 sum[CBX__FFT_RADIX_MAX / 2], rotated[CBX__FFT_RADIX_MAX / 2], all = x[0];

    for (size_t k = 1; k <= half; k++) {
        const cbx__v2 a = x[k * step], b = x[(r - k) * step];
        sum[k - 1] = a + b;
        rotated[k - 1] = cbx__v2_rotate(a - b, inverse);
        all += sum[k - 1];
    }
    t[0] = all;
    for (size_t j = 1; j <= half; j++) {
        cbx__v2 even = x[0], odd = { 0, 0 };
        for (size_t k = 1, at = j; k <= half; k++, at = at + j >= r ? at + j - r : at + j) {
            even += sum[k - 1] * roots[at][0];
            odd += rotated[k - 1] * -roots[at][1];
        }
        t[j] = even + odd;
        t[r - j] = even - odd;
    }
}

INLINE void butterfly(size_t r, const cbx__cx *x, size_t step, const cbx__cx *roots, cbx__v2 *t, bool inverse)
{
    if (r == 2)
        butterfly2(x, step, t);
    else if (r == 4)
        butterfly4(x, step, t, inverse);
    else
        butterfly_odd(r, x, step, roots, t, inverse);
}

/* One stage; what is known of r, of s (is it 1?) and of m (1: the last one, no twiddles) is known to the compiler. */
INLINE void stage(size_t r, const cbx__fft_stage *g, const cbx__cx *x, cbx__cx *y, bool inverse)
{
    const size_t m = g->m, s = g->s;
    cbx__v2 t[CBX__FFT_RADIX_MAX];

    if (m == 1) {
        for (size_t q = 0; q < s; q++) {
            butterfly(r, x + q, s, g->roots, t, inverse);
            for (size_t j = 0; j < r; j++) y[q + s * j] = t[j];
        }
        return;
    }
    if (s == 1) {
        const cbx__cx *w = g->twiddles;
        for (size_t p = 0; p < m; p++, w += r - 1, y += r) {
            butterfly(r, x + p, m, g->roots, t, inverse);
            y[0] = t[0];
            for (size_t j = 1; j < r; j++) y[j] = cbx__v2_mul(t[j], w[j - 1], inverse);
        }
        return;
    }
    for (size_t p = 0; p < m; p++) {
        const cbx__cx *w = g->twiddles + p * (r - 1), *from = x + s * p;
        cbx__cx *to = y + s * r * p;
        for (size_t q = 0; q < s; q++) {
            butterfly(r, from + q, s * m, g->roots, t, inverse);
            to[q] = t[0];
            for (size_t j = 1; j < r; j++) to[q + s * j] = cbx__v2_mul(t[j], w[j - 1], inverse);
        }
    }
}

INLINE void any_stage(const cbx__fft_stage *g, const cbx__cx *x, cbx__cx *y, bool inverse)
{
    switch (g->r) {
    case 2: stage(2, g, x, y, inverse); break;
    case 3: stage(3, g, x, y, inverse); break;
    case 4: stage(4, g, x, y, inverse); break;
    case 5: stage(5, g, x, y, inverse); break;
    case 7: stage(7, g, x, y, inverse); break;
    default: stage(g->r, g, x, y, inverse); break;
    }
}

static void forward(const cbx__fft_stage *g, const cbx__cx *x, cbx__cx *y) { any_stage(g, x, y, false); }
static void backward(const cbx__fft_stage *g, const cbx__cx *x, cbx__cx *y) { any_stage(g, x, y, true); }

/* Between out and work, so that the last stage writes out. */
static void run_stages(const cbx__fft_plan *plan, const cbx__cx *in, cbx__cx *out, cbx__cx *work, bool inverse)
{
    const cbx__cx *from = in;

    if (plan->nstages == 0) out[0] = in[0];
    for (int i = 0; i < plan->nstages; i++) {
        cbx__cx *to = (plan->nstages - i) % 2 ? out : work;
        (inverse ? backward : forward)(&plan->stages[i], from, to);
        from = to;
    }
}

/*
 * Bluestein: j k = (j^2 + k^2 - (j - k)^2) / 2 makes the transform a convolution with a chirp.  Back: the conjugate of the
 * transform of the conjugate.  Source: Bluestein, IEEE Trans. Audio Electroacoust. 18 (1970) 451-455.
 */
static void run_chirp(const cbx__fft_plan *plan, const cbx__cx *in, cbx__cx *out, cbx__cx *work, bool inverse)
{
    const size_t n = plan->n, m = plan->inner->n;
    cbx__cx *a = work, *b = work + m, *rest = work + 2 * m;

    for (size_t k = 0; k < n; k++) {
        const cbx__v2 x = in[k];
        a[k] = cbx__v2_mul(inverse ? cbx__v2_conj(x) : x, plan->chirp[k], false);
    }
    memset(a + n, 0, (m - n) * sizeof *a);
    cbx__fft_run(plan->inner, a, b, rest, false);
    for (size_t k = 0; k < m; k++) b[k] = cbx__v2_mul(b[k], plan->chirp_ft[k], false);
    cbx__fft_run(plan->inner, b, a, rest, true);
    for (size_t k = 0; k < n; k++) {
        const cbx__v2 y = cbx__v2_mul(a[k], plan->chirp[k], false);
        out[k] = inverse ? cbx__v2_conj(y) : y;
    }
}

void cbx__fft_run(const cbx__fft_plan *plan, const cbx__cx *in, cbx__cx *out, cbx__cx *work, bool inverse)
{
    (plan->inner ? run_chirp : run_stages)(plan, in, out, work, inverse);
}
