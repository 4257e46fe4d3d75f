/*
 * The log product against MPFR at 300 bits, on operands made to break a scaled product: spreads of
 * 2000 nats, opposite ramps, masked rows and columns, infinities of both signs, sums that cancel to
 * nothing but their last term.
 *
 * Bound: the sum a + b is rounded once (u |a + b|), the shifts are added back (u (|r| + |q| +
 * |c|)), exp and log err by under two units, and k terms are summed: u (k + 16 + 4 (max|a| + max|b|
 * + |c|)), all first-order; Higham (2002), section 3.1.
 */
#include "check.h"

#include <float.h>
#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrax/array/kernels/semiring.h"
#include "calibrax/base/rng.h"

enum { M = 13, K = 57, N = 29, BITS = 300 };

typedef double draw_fn(cbx_rng *rng, size_t line, size_t kk, bool is_b);

static double spread(cbx_rng *rng, size_t line, size_t kk, bool is_b)
{
    (void)line, (void)kk, (void)is_b;
    return 2000 * (cbx_rng_uniform(rng) - 0.5);
}
static double ramps(cbx_rng *rng, size_t line, size_t kk, bool is_b)
{
    (void)line;
    return cbx_rng_normal(rng) + (is_b ? -1 : 1) * 2000.0 * ((double)kk / K - 0.5);
}
static double masked(cbx_rng *rng, size_t line, size_t kk, bool is_b)
{
    const double x = spread(rng, line, kk, is_b);
    return line % 5 == 1 || cbx_rng_uniform(rng) < 0.6 ? -INFINITY : x;
}
static double infinities(cbx_rng *rng, size_t line, size_t kk, bool is_b)
{
    const double x = masked(rng, line, kk, is_b);
    return line % 4 == 2 && cbx_rng_uniform(rng) < 0.03 ? INFINITY : x;
}
static double one_term(cbx_rng *rng, size_t line, size_t kk, bool is_b)
{
    (void)rng, (void)line;
    return kk == (is_b ? 3 : 50) ? 900 : kk == 20 ? 1 : -900;
}

static const struct {
    draw_fn *draw;
    const char *why;
} inputs[] = {
    { spread, "values over 2000 nats" }, { ramps, "opposite ramps of 2000 nats" }, { masked, "rows of -inf" },
    { infinities, "mixed infinities" },  { one_term, "maxima that never meet" },
};

/* log(sum exp(a + b)) rounded to double, by the rules for special terms. */
static double truth(const double *a, const double *b)
{
    double right;
    bool nan = false, plus = false, any = false;
    mpfr_t sum, t;

    mpfr_inits2(BITS, sum, t, (mpfr_ptr)0);
    mpfr_set_zero(sum, 1);
    for (size_t kk = 0; kk < K; kk++) {
        const double x = a[kk], y = b[kk * N], s = x + y;
        nan |= isnan(s);
        plus |= s == INFINITY;
        any |= s != -INFINITY;
        if (!isfinite(s)) continue;
        mpfr_set_d(t, x, MPFR_RNDN);
        mpfr_add_d(t, t, y, MPFR_RNDN);
        mpfr_exp(t, t, MPFR_RNDN);
        mpfr_add(sum, sum, t, MPFR_RNDN);
    }
    mpfr_log(sum, sum, MPFR_RNDN);
    right = nan ? NAN : plus ? INFINITY : !any ? -INFINITY : mpfr_get_d(sum, MPFR_RNDN);
    mpfr_clears(sum, t, (mpfr_ptr)0);
    return right;
}

static double largest(const double *x, size_t n)
{
    double top = 0;
    for (size_t i = 0; i < n; i++) top = isfinite(x[i]) ? fmax(top, fabs(x[i])) : top;
    return top;
}

/* Largest error over bound; infinite for a wrong special value. */
static double worst(const double *a, const double *b, const double *c, double u)
{
    const double scale = largest(a, M * K) + largest(b, K * N);
    double max = 0;

    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < N; j++) {
            const double right = truth(a + i * K, b + j), seen = c[i * N + j];
            if (seen == right || (isnan(seen) && isnan(right))) continue;
            if (!isfinite(right) || !isfinite(seen)) return INFINITY;
            max = fmax(max, fabs(seen - right) / (u * (K + 16 + 4 * (scale + fabs(right)))));
        }
    return max;
}

/* turned: both operands lie by columns. */
static void product(cbx_isa isa, cbx_dtype t, bool turned, const double *a, const double *b, double *c)
{
    static float fa[M * K], fb[K * N], fc[M * N];
    static double da[M * K], db[K * N];
    static char capacity[1 << 20] __attribute__((aligned(64)));
    cbx_err err = CBX_ERR_INIT;
    cbx_matmul p = CBX_MATMUL_INIT;

    for (size_t i = 0; i < M * K; i++) da[i] = turned ? a[i % M * K + i / M] : a[i];
    for (size_t i = 0; i < K * N; i++) db[i] = turned ? b[i % K * N + i / K] : b[i];
    for (size_t i = 0; i < M * K; i++) fa[i] = (float)da[i];
    for (size_t i = 0; i < K * N; i++) fb[i] = (float)db[i];
    p.isa = isa;
    p.semiring = cbx_semiring_get(CBX_ALGEBRA_LOG);
    p.dtype = t;
    p.m = M, p.k = K, p.n = N;
    p.lda = turned ? 1 : K, p.a_step = turned ? M : 1;
    p.ldb = turned ? 1 : N, p.b_step = turned ? K : 1, p.ldc = N;
    p.a = t == CBX_F32 ? (const void *)fa : da, p.b = t == CBX_F32 ? (const void *)fb : db;
    p.c = t == CBX_F32 ? (void *)fc : c;
    p.workspace = capacity, p.workspace_bytes = sizeof capacity;
    CHECK_OK(cbx_matmul_run(&p, &err), &err, "product");
    for (size_t i = 0; t == CBX_F32 && i < M * N; i++) c[i] = (double)fc[i];
}

TEST(adversaries)
{
    for (size_t f = 0; f < CBX_LEN(inputs); f++)
        for (int isa = 0; isa < CBX_ISA_COUNT; isa++)
            for (int way = 0; way < 4; way++) {
                const bool wide = way & 1, turned = way & 2;
                double a[M * K], b[K * N], c[M * N];
                cbx_rng rng = cbx_rng_make(f + 1, 0);
                if (!cbx_isa_available((cbx_isa)isa)) continue;
                for (size_t i = 0; i < M * K; i++) a[i] = inputs[f].draw(&rng, i / K, i % K, false);
                for (size_t i = 0; i < K * N; i++) b[i] = inputs[f].draw(&rng, i % N, i / N, true);
                for (size_t i = 0; !wide && i < M * K; i++) a[i] = (double)(float)a[i];
                for (size_t i = 0; !wide && i < K * N; i++) b[i] = (double)(float)b[i];
                product((cbx_isa)isa, wide ? CBX_F64 : CBX_F32, turned, a, b, c);
                const double seen = worst(a, b, c, wide ? DBL_EPSILON / 2 : FLT_EPSILON / 2);
                print_message("# %s %s%s, %s: error over bound %.3f\n", cbx_isa_name((cbx_isa)isa),
                              wide ? "f64" : "f32", turned ? " by columns" : "", inputs[f].why, seen);
                CHECK_LE(seen, 1, inputs[f].why);
                for (size_t i = 0; i < M * N; i++) c[i] += isfinite(c[i]) ? 1e-2 * (1 + fabs(c[i])) : -1;
                CHECK_GT(worst(a, b, c, wide ? DBL_EPSILON / 2 : FLT_EPSILON / 2), 1, "a wrong answer shows");
            }
}

TESTS(.seconds = 600)
