/* The right answer, and how far from it a right implementation may be.  Shares no code with any
 * baseline: no vector math, no kernel; libm's exp and log, compensated sums, two passes for log.
 *
 * Precision: float32 operands are widened to double, in which their products and sums of two are
 * exact; float64 operands are worked on in long double (log: in pairs of doubles).  Sums are
 * compensated: Neumaier, ZAMM 54 (1974) 39-51, whose error is 2u of the precision worked in plus
 * second-order terms, far below the bounds.
 *
 * Bounds, u = 2^-24 or 2^-53 of the dtype.  A sum of k terms errs by the smaller of gamma_k S and
 * lambda sqrt(k / 3) u S of suites/common/bounds.h, where the sources stand.
 *
 * The first grows like k, and at k = 1024 would let operands of 12 bits pass.  lambda = 6: 3.0e-8
 * an element, so at most 0.03 for a whole product of 1024^2 and 0.008 for 512^2.  That is the worst
 * case, roundings all of size u and every partial sum as large as S; of right kernels less than
 * half of the bound is seen at every declared point, and operands of 11 bits exceed it up to k =
 * 4096.  Terms of one distribution make s_j = (j / k) S, whose squares add to k S^2 / 3: real and
 * euclidean, whose inputs are independent draws, use lambda sqrt(k / 3).  log does not: one large
 * exponential may be most of S.
 *
 *   real       min(gamma_k, lambda sqrt(k / 3) u) |A||B|     with or without FMA
 *   euclidean  ((min(k, lambda sqrt(k / 3)) + 4) / 2 + 1) u C: d = a - b and d^2 have a relative
 *              error of 3 u, the sum of k non-negative terms as above (gamma_(k+3) by Lemma 3.1);
 *              the root halves it and adds u
 *   tropical   0: a + b is rounded once and correctly, max and min round nothing
 *   boolean    0
 *   log        u (min(2 (k + 5 R), lambda sqrt(k + 17 R)) + 30 + 6 (amax_i + bmax_j) + 4 |C|), with
 *              amax, bmax the largest finite |a|, |b| of the row and column: every exponent is
 *              reached by at most three roundings of numbers no larger than amax + bmax, whether as
 *              (a + b) - m or as (a - r) + (b - c), which moves the sum by a relative 6 u (amax +
 *              bmax) at most (the shifts themselves cancel); two exp of 2 ulp and their product: 10
 *              u; the sum of k positive terms; the online recurrence rescales its sum each time the
 *              running maximum rises, by an exp (4 u) and a product (u), whose squares are 16 + 1:
 *              on random draws that is about ln k times, at most R = min(k, 32) here; log of 1 ulp
 *              and the last sums: u (4 |C| + amax + bmax). The factor 2 covers second-order terms,
 *              which are nothing where the other bound of the sum is the smaller.
 *
 * Special values have a bound of 0: they must be equal (NaN to NaN, infinities with their sign). */
#include <math.h>
#include <string.h>

#include "suites/common/bounds.h"
#include "suites/common/oracle.h"
#include "suites/nitrix/semiring_matmul/matmul.h"

/* Operands in double, and a row of work. */
typedef struct problem {
    cbx__sm_point p;
    double u;
    const double *a, *b;       /* widened, row-major */
    const double *amax, *bmax; /* largest finite magnitude of each row of A and column of B */
    double *answer, *bound;    /* m-by-n */
    void *row;                 /* 4n long doubles */
} problem;

static void magnitudes(const problem *q, double *amax, double *bmax)
{
    const size_t m = q->p.m, k = q->p.k, n = q->p.n;
    for (size_t i = 0; i < m; i++) amax[i] = 0;
    for (size_t j = 0; j < n; j++) bmax[j] = 0;
    for (size_t i = 0; i < m * k; i++)
        if (isfinite(q->a[i])) amax[i / k] = fmax(amax[i / k], fabs(q->a[i]));
    for (size_t i = 0; i < k * n; i++)
        if (isfinite(q->b[i])) bmax[i % n] = fmax(bmax[i % n], fabs(q->b[i]));
}

/* --- real and euclidean: sums of products and of squares --- */

/* Row i as compensated sums in precision R; a non-finite plain sum is what it is. */
#define DEFINE_SUM_ROW(R, SFX, ROOT)                                                                                   \
    static void sum_row_##SFX(const problem *q, size_t i, bool squares)                                                \
    {                                                                                                                  \
        const size_t k = q->p.k, n = q->p.n;                                                                           \
        const double chance = cbx__suite_chance((double)k);                                                            \
        R *restrict sum = q->row, *restrict lost = sum + n, *restrict size = lost + n, *restrict plain = size + n;     \
        for (size_t j = 0; j < 4 * n; j++) sum[j] = 0;                                                                 \
        for (size_t kk = 0; kk < k; kk++) {                                                                            \
            const double x = q->a[i * k + kk];                                                                         \
            const double *restrict b = q->b + kk * n;                                                                  \
            for (size_t j = 0; j < n; j++) {                                                                           \
                const R d = (R)x - (R)b[j];                                                                            \
                const R t = squares ? d * d : (R)x * (R)b[j];                                                          \
                const R s = sum[j] + t, z = s - sum[j];                                                                \
                lost[j] += (sum[j] - (s - z)) + (t - z); /* TwoSum: exact without a branch */                          \
                sum[j] = s;                                                                                            \
                plain[j] += t;                                                                                         \
                size[j] += t < 0 ? -t : t;                                                                             \
            }                                                                                                          \
        }                                                                                                              \
        for (size_t j = 0; j < n; j++) {                                                                               \
            const R total = isfinite(plain[j]) ? sum[j] + lost[j] : plain[j];                                          \
            const double c = (double)(squares ? ROOT(total) : total);                                                  \
            q->answer[i * n + j] = c;                                                                                  \
            q->bound[i * n + j] = !isfinite(c) ? 0                                                                     \
                                  : squares    ? ((fmin((double)k, chance) + 4) / 2 + 1) * q->u * c                    \
                                               : cbx__suite_sum_error((double)k, q->u) * (double)size[j];                 \
        }                                                                                                              \
    }
DEFINE_SUM_ROW(double, f32, sqrt)
DEFINE_SUM_ROW(long double, f64, sqrtl)

/* --- max and min: one correctly rounded sum decides --- */

/* top[j]: the largest or smallest term of each column of row i; NaN where one is. */
static void extreme_terms(const problem *q, size_t i, bool max, double *top)
{
    const size_t k = q->p.k, n = q->p.n;
    for (size_t j = 0; j < n; j++) top[j] = max ? -INFINITY : INFINITY;
    for (size_t kk = 0; kk < k; kk++) {
        const double a = q->a[i * k + kk], *b = q->b + kk * n;
        for (size_t j = 0; j < n; j++) {
            const double t = a + b[j];
            top[j] = isnan(t) || isnan(top[j]) ? NAN : (max ? t > top[j] : t < top[j]) ? t : top[j];
        }
    }
}

static void extreme_row(const problem *q, size_t i)
{
    const size_t n = q->p.n;
    double *c = q->answer + i * n;
    extreme_terms(q, i, q->p.semiring->id == CBX_ALGEBRA_TROPICAL_MAX_PLUS, c);
    for (size_t j = 0; j < n; j++) {
        /* a float sum through double is still correctly rounded: 53 >= 2 * 24 + 2 (Figueroa, SIGNUM
         * Newsl. 30 (1995) 21-26) */
        if (q->p.dtype == CBX_F32) c[j] = (double)(float)c[j];
        q->bound[i * n + j] = 0;
    }
}

/* --- log: the largest term, then the sum of exp --- */

typedef struct pair {
    double hi, lo;
} pair;

static pair two_sum(double x, double y)
{
    const double s = x + y, z = s - x;
    return (pair){ s, (x - (s - z)) + (y - z) };
}

/* sum[j] + lost[j] of exp(a + b - top[j]); the exponent is an unevaluated pair, and exp(hi + lo) =
 * exp(hi) (1 + lo). */
static void sums_of_exp(const problem *q, size_t i, const double *top, double *sum, double *lost)
{
    const size_t k = q->p.k, n = q->p.n;
    for (size_t j = 0; j < n; j++) sum[j] = lost[j] = 0;
    for (size_t kk = 0; kk < k; kk++) {
        const double a = q->a[i * k + kk], *b = q->b + kk * n;
        for (size_t j = 0; j < n; j++) {
            const pair t = two_sum(a, b[j]);
            if (!isfinite(t.hi) || !isfinite(top[j]))
                continue; /* a masked term, or a column that a special value decides */
            const pair x = two_sum(t.hi, -top[j]);
            const double e = exp(x.hi), term = e + e * (x.lo + t.lo);
            const pair s = two_sum(sum[j], term);
            sum[j] = s.hi;
            lost[j] += s.lo;
        }
    }
}

static void log_row(const problem *q, size_t i)
{
    const size_t k = q->p.k, n = q->p.n;
    double *top = q->row, *sum = top + n, *lost = sum + n;
    extreme_terms(q, i, true, top); /* special terms decide: NaN, +inf, all -inf */
    sums_of_exp(q, i, top, sum, lost);
    for (size_t j = 0; j < n; j++) {
        const double c = isfinite(top[j])
                             ? (double)((long double)top[j] + logl((long double)sum[j] + (long double)lost[j]))
                             : top[j];
        q->answer[i * n + j] = c;
        q->bound[i * n + j] = cbx__suite_log_bound(q->u, (double)k, q->amax[i], q->bmax[j], c);
    }
}

/* A row of C is true wherever one of the rows of B that a row of A names is. */
static void solve_bool(const cbx__sm_point *p, const cbx__suite_problem *s)
{
    for (size_t i = 0; i < p->m; i++) {
        uint8_t *restrict c = s->truth + i * p->n;
        for (size_t j = 0; j < p->n; j++) c[j] = 0;
        for (size_t kk = 0; kk < p->k; kk++)
            for (size_t j = 0; s->in[0][i * p->k + kk] != 0 && j < p->n; j++) c[j] |= s->in[1][kk * p->n + j] != 0;
    }
}

void cbx__sm_solve(const cbx__sm_point *p, const cbx__suite_problem *s)
{
    const cbx_algebra g = p->semiring->id;
    double *amax = s->scratch + CBX__SM_ROW * p->n, *bmax = amax + p->m;
    const problem q = {
        *p, cbx__suite_unit(p->dtype), s->in[0], s->in[1], amax, bmax, s->answer, s->bound, s->scratch
    };

    if (s->truth) {
        solve_bool(p, s);
        return;
    }
    magnitudes(&q, amax, bmax);
    for (size_t i = 0; i < p->m; i++) {
        if (g == CBX_ALGEBRA_LOG)
            log_row(&q, i);
        else if (g == CBX_ALGEBRA_TROPICAL_MAX_PLUS || g == CBX_ALGEBRA_TROPICAL_MIN_PLUS)
            extreme_row(&q, i);
        else
            (p->dtype == CBX_F32 ? sum_row_f32 : sum_row_f64)(&q, i, g == CBX_ALGEBRA_EUCLIDEAN);
    }
}
