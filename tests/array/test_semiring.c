/*
 * The tiled semiring product in every instruction set of this machine: shapes, strides, special
 * values, wide ranges, bad arguments. The truth is the definition, term by term in long double,
 * with the special-value rules of semiring.h.
 */
#include "check.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrax/array/kernels/semiring.h"
#include "calibrax/base/ctx.h"
#include "calibrax/base/rng.h"

#define GUARD 0x5C
#define LD(x) ((size_t)(x)) /* of the dense operands here, all positive */

/* Operands with padded rows; C and the workspace end at guard bytes. */
typedef struct problem {
    cbx_matmul p;
    size_t size; /* of an element */
    char *a, *b, *c, *workspace, *block;
} problem;

static double get(const problem *q, const void *x, size_t at)
{
    if (q->p.dtype == CBX_F32) return (double)((const float *)x)[at];
    return q->p.dtype == CBX_F64 ? ((const double *)x)[at] : (double)(((const uint8_t *)x)[at] != 0);
}

static void put(const problem *q, void *x, size_t at, double v)
{
    if (q->p.dtype == CBX_F32)
        ((float *)x)[at] = (float)v;
    else if (q->p.dtype == CBX_F64)
        ((double *)x)[at] = v;
    else
        ((uint8_t *)x)[at] = v != 0 ? (uint8_t)(1 + 50 * (at % 5)) : 0; /* any byte but 0 is true */
}

typedef double draw_fn(cbx_rng *rng, size_t i, size_t kk, bool is_b);

static void problem_open(problem *q, cbx_algebra g, cbx_dtype dtype, size_t m, size_t k, size_t n, draw_fn *draw,
                         uint64_t seed)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_rng rng = cbx_rng_make(seed, 0);
    const cbx_matmul init = CBX_MATMUL_INIT;
    memset(q, 0, sizeof *q);
    q->p = init;
    q->p.semiring = cbx_semiring_get(g);
    q->p.dtype = dtype;
    q->size = cbx_dtype_size(dtype);
    q->p.m = m, q->p.k = k, q->p.n = n;
    q->p.lda = (ptrdiff_t)k + 3, q->p.ldb = (ptrdiff_t)n + 2, q->p.ldc = (ptrdiff_t)n + 5;
    q->a = calloc(m * LD(q->p.lda) + 1, q->size);
    q->b = calloc(k * LD(q->p.ldb) + 1, q->size);
    q->c = malloc((m * LD(q->p.ldc) + 1) * q->size);
    for (size_t i = 0; i < m * LD(q->p.lda); i++)
        put(q, q->a, i, dtype == CBX_BOOL ? 1 : NAN); /* padding that must not be read */
    for (size_t i = 0; i < k * LD(q->p.ldb); i++) put(q, q->b, i, dtype == CBX_BOOL ? 1 : NAN);
    for (size_t i = 0; i < m; i++)
        for (size_t kk = 0; kk < k; kk++) put(q, q->a, i * LD(q->p.lda) + kk, draw(&rng, i, kk, false));
    for (size_t kk = 0; kk < k; kk++)
        for (size_t j = 0; j < n; j++) put(q, q->b, kk * LD(q->p.ldb) + j, draw(&rng, j, kk, true));
    q->p.a = q->a, q->p.b = q->b, q->p.c = q->c;
    size_t largest = 0;
    for (int isa = 0; isa < CBX_ISA_COUNT; isa++) {
        size_t bytes = 0;
        q->p.isa = (cbx_isa)isa;
        if (cbx_isa_available(q->p.isa)) assert_int_equal(cbx_matmul_workspace(&q->p, &bytes, &err), CBX_OK);
        largest = bytes > largest ? bytes : largest;
    }
    q->block = malloc(largest + 64 + 64);
    q->workspace = (char *)(((uintptr_t)q->block + 63) / 64 * 64);
    q->p.workspace = q->workspace;
}

static void problem_close(problem *q)
{
    free(q->a);
    free(q->b);
    free(q->c);
    free(q->block);
}

/* Runs one instruction set; false if it is missing.  Padding of C and bytes behind the workspace
 * must survive. */
static bool problem_run(problem *q, cbx_isa isa)
{
    cbx_err err = CBX_ERR_INIT;
    if (!cbx_isa_available(isa)) return false;
    q->p.isa = isa;
    if (cbx_matmul_workspace(&q->p, &q->p.workspace_bytes, &err)) fail_msg("%s", err.message);
    memset(q->workspace + q->p.workspace_bytes, GUARD, 64);
    memset(q->c, GUARD, (q->p.m * LD(q->p.ldc) + 1) * q->size);
    if (cbx_matmul_run(&q->p, &err)) fail_msg("%s", err.message);
    for (size_t i = 0; i < 64; i++) assert_int_equal(q->workspace[q->p.workspace_bytes + i], GUARD);
    for (size_t i = 0; i < q->p.m; i++)
        for (size_t byte = q->p.n * q->size; byte < LD(q->p.ldc) * q->size; byte++)
            assert_int_equal(q->c[i * LD(q->p.ldc) * q->size + byte], GUARD);
    return true;
}

/* --- the definition --- */

/* Right answer of element (i,j), and how far off a right kernel may be (semiring.h;
 * suites/nitrix/semiring_matmul/oracle.c). */
static double truth(const problem *q, size_t i, size_t j, double *bound)
{
    const cbx_matmul *p = &q->p;
    const cbx_algebra g = p->semiring->id;
    const double u = p->dtype == CBX_F32 ? FLT_EPSILON / 2 : DBL_EPSILON / 2;
    long double sum = p->semiring->identity, size = 0, top = -INFINITY;
    double scale_a = 0, scale_b = 0;
    bool bad = false;
    for (int pass = 0; pass < (g == CBX_ALGEBRA_LOG ? 2 : 1); pass++) {
        if (pass == 1) sum = 0;
        for (size_t kk = 0; kk < p->k; kk++) {
            const double a = get(q, q->a, i * LD(p->lda) + kk), b = get(q, q->b, kk * LD(p->ldb) + j);
            const long double d = (long double)a - (long double)b;
            double t = a + b;
            if (p->dtype == CBX_F32) t = (double)(float)t;
            bad |= isnan(t);
            if (isfinite(a)) scale_a = fmax(scale_a, fabs(a));
            if (isfinite(b)) scale_b = fmax(scale_b, fabs(b));
            switch (g) {
            case CBX_ALGEBRA_REAL:
                sum += (long double)a * (long double)b, size += fabsl((long double)a * (long double)b);
                break;
            case CBX_ALGEBRA_EUCLIDEAN: sum += d * d; break;
            case CBX_ALGEBRA_TROPICAL_MAX_PLUS: sum = t > (double)sum ? t : sum; break;
            case CBX_ALGEBRA_TROPICAL_MIN_PLUS: sum = t < (double)sum ? t : sum; break;
            case CBX_ALGEBRA_BOOLEAN: sum = sum != 0 || (a != 0 && b != 0); break;
            default:
                if (pass == 0)
                    top = t > (double)top ? t : top;
                else if (isfinite(top) && isfinite(t))
                    sum += p->dtype == CBX_F32 ? (long double)exp(a + b - (double)top)
                                               : expl((long double)a + (long double)b - top);
            }
        }
    }
    const double k = (double)p->k;
    *bound = 0;
    if (g == CBX_ALGEBRA_REAL) {
        *bound = isfinite((double)sum) ? k * u * (double)size * 1.01 : 0;
        return (double)sum;
    }
    if (g == CBX_ALGEBRA_EUCLIDEAN) {
        const double c = sqrt((double)sum);
        *bound = isfinite(c) ? ((k + 4) / 2 + 1) * u * c : 0;
        return c;
    }
    if (g == CBX_ALGEBRA_BOOLEAN) return (double)sum;
    if (bad) return NAN;
    if (g != CBX_ALGEBRA_LOG) return (double)sum;
    if (isinf((double)top)) return (double)top;
    const double c = (double)(top + logl(sum));
    *bound = u * (2 * k + 30 + 6 * (scale_a + scale_b) + 4 * fabs(c));
    return c;
}

/* Largest error over bound; infinity for a wrong special.  Of a large C about 250 elements, the
 * last row and column among them. */
static double worst_of(const problem *q)
{
    const size_t count = q->p.m * q->p.n, step = count / 250 + 1;
    double worst = 0;
    for (size_t i = 0; i < q->p.m; i++) {
        for (size_t j = 0; j < q->p.n; j++) {
            const bool edge = i + 1 == q->p.m ? j % (step / 8 + 1) == 0 : j + 1 == q->p.n && i % (step / 8 + 1) == 0;
            if (!edge && (i * q->p.n + j) % step != 0) continue;
            double bound;
            const double right = truth(q, i, j, &bound), seen = get(q, q->c, i * LD(q->p.ldc) + j),
                         e = fabs(seen - right);
            if (seen == right || (isnan(seen) && isnan(right))) continue;
            worst = fmax(worst, e > 0 && bound > 0 ? e / bound : INFINITY);
        }
    }
    return worst;
}

/* --- inputs --- */

static double normal(cbx_rng *rng, size_t i, size_t kk, bool is_b)
{
    (void)i, (void)kk, (void)is_b;
    return cbx_rng_normal(rng);
}
static double sparse(cbx_rng *rng, size_t i, size_t kk, bool is_b)
{
    (void)i, (void)kk, (void)is_b;
    return cbx_rng_uniform(rng) < 0.1;
}
/* Far beyond what one shift per row can hold: most sums lose everything and are computed the
 * second way. */
static double wide_range(cbx_rng *rng, size_t i, size_t kk, bool is_b)
{
    (void)i, (void)kk, (void)is_b;
    return 400 * cbx_rng_normal(rng);
}
/* Opposite ramps: every term is near 0, but row and column maxima are far from it. */
static double ramps(cbx_rng *rng, size_t i, size_t kk, bool is_b)
{
    (void)i;
    return cbx_rng_normal(rng) + (is_b ? -20.0 : 20.0) * (double)kk;
}
/* NaN, infinities and zeros of both signs here and there; some rows and columns wholly masked. */
static double specials(cbx_rng *rng, size_t i, size_t kk, bool is_b)
{
    static const double odd[] = { NAN, INFINITY, -INFINITY, 0, -0.0, 1, -1, -INFINITY };
    const double x = cbx_rng_normal(rng);
    (void)kk;
    if (i % 7 == (is_b ? 3 : 2)) return -INFINITY;
    if (i % 7 == (is_b ? 4 : 5)) return x;
    return cbx_rng_uniform(rng) < 0.02 ? odd[cbx_rng_below(rng, CBX_LEN(odd))] : x;
}
/* Infinities that never meet their opposites: nothing may become NaN in max and min. */
static double masked(cbx_rng *rng, size_t i, size_t kk, bool is_b)
{
    (void)i, (void)kk, (void)is_b;
    const double x = cbx_rng_normal(rng);
    return cbx_rng_uniform(rng) < 0.5 ? -INFINITY : x;
}

static const struct {
    draw_fn *draw;
    const char *why;
} float_inputs[] = {
    { normal, "normal draws" },     { wide_range, "a wide range" },   { ramps, "opposite ramps" },
    { specials, "special values" }, { masked, "half of it is -inf" },
};

static const struct {
    size_t m, k, n;
    const char *why;
} shapes[] = {
    { 1, 1, 1, "one element" },
    { 7, 5, 3, "tiny" },
    { 12, 16, 32, "a whole tile" },
    { 13, 17, 33, "a tile and one" },
    { 11, 31, 15, "less than a tile" },
    { 29, 300, 71, "two panels of k" },
    { 3, 1, 130, "k of 1" },
    { 260, 9, 5, "many rows" },
};

/* Largest error over all inputs of an algebra and dtype; names what fails. */
static double sweep(cbx_isa isa, cbx_algebra g, cbx_dtype dtype)
{
    const size_t kinds = dtype == CBX_BOOL ? 1 : CBX_LEN(float_inputs);
    double worst = 0;
    for (size_t s = 0; s < CBX_LEN(shapes); s++) {
        for (size_t f = 0; f < kinds; f++) {
            problem q;
            problem_open(&q, g, dtype, shapes[s].m, shapes[s].k, shapes[s].n,
                         dtype == CBX_BOOL ? sparse : float_inputs[f].draw, s + 1);
            if (problem_run(&q, isa)) {
                const double r = worst_of(&q);
                if (!(r <= 1))
                    fail_msg("%s %s %s, %s, %s: error / bound = %g", cbx_isa_name(isa), q.p.semiring->name,
                             cbx_dtype_name(dtype), shapes[s].why, dtype == CBX_BOOL ? "sparse" : float_inputs[f].why,
                             r);
                worst = fmax(worst, r);
            }
            problem_close(&q);
        }
    }
    return worst;
}

static void test_all(void **state)
{
    (void)state;
    for (int isa = 0; isa < CBX_ISA_COUNT; isa++) {
        if (!cbx_isa_available((cbx_isa)isa)) {
            print_message("# %s: not on this machine\n", cbx_isa_name((cbx_isa)isa));
            continue;
        }
        for (int g = 0; g < CBX_ALGEBRA_COUNT; g++) {
            if (g == CBX_ALGEBRA_BOOLEAN) {
                sweep((cbx_isa)isa, (cbx_algebra)g, CBX_BOOL);
                continue;
            }
            const double f32 = sweep((cbx_isa)isa, (cbx_algebra)g, CBX_F32),
                         f64 = sweep((cbx_isa)isa, (cbx_algebra)g, CBX_F64);
            print_message("# %s %s: error / bound %.3g (f32), %.3g (f64)\n", cbx_isa_name((cbx_isa)isa),
                          cbx_semiring_get((cbx_algebra)g)->name, f32, f64);
        }
    }
}

/* The check itself sees a damaged element, a lost special, and a product in which one term is
 * missing. */
static void test_the_check_can_fail(void **state)
{
    problem q;
    (void)state;
    problem_open(&q, CBX_ALGEBRA_LOG, CBX_F32, 13, 40, 21, specials, 5);
    assert_true(problem_run(&q, CBX_ISA_PLAIN));
    assert_true(worst_of(&q) <= 1);
    for (size_t i = 0; i < q.p.m * LD(q.p.ldc); i++) { /* log's rule of another system: NaN becomes -inf */
        float *c = (float *)(void *)q.c + i;
        if (isnan(*c)) *c = -INFINITY;
    }
    assert_true(worst_of(&q) > 1);
    problem_close(&q);
    problem_open(&q, CBX_ALGEBRA_REAL, CBX_F64, 13, 40, 21, normal, 5);
    assert_true(problem_run(&q, CBX_ISA_PLAIN));
    ((double *)(void *)q.c)[0] *= 1 + 1e-12;
    assert_true(worst_of(&q) > 1);
    q.p.k--;
    assert_true(problem_run(&q, CBX_ISA_PLAIN));
    q.p.k++;
    assert_true(worst_of(&q) > 1);
    problem_close(&q);
}

/* Panels and blocks beyond their sizes: more columns than a panel of B, more rows than a block of
 * A, k over three panels. */
static void test_blocks(void **state)
{
    static const struct {
        size_t m, k, n;
        cbx_dtype dtype;
        cbx_algebra g;
        draw_fn *draw;
    } big[] = {
        { 3, 2, 2100, CBX_F32, CBX_ALGEBRA_TROPICAL_MAX_PLUS, normal },
        { 5, 530, 1030, CBX_F64, CBX_ALGEBRA_REAL, normal },
        { 250, 530, 5, CBX_F32, CBX_ALGEBRA_LOG, normal },
        { 250, 520, 40, CBX_F32, CBX_ALGEBRA_TROPICAL_MIN_PLUS, normal },
        { 2, 3, 33000, CBX_BOOL, CBX_ALGEBRA_BOOLEAN, sparse },
        { 250, 520, 70, CBX_BOOL, CBX_ALGEBRA_BOOLEAN, sparse },
        { 513, 129, 257, CBX_BOOL, CBX_ALGEBRA_BOOLEAN, sparse },
        { 40, 224, 513, CBX_BOOL, CBX_ALGEBRA_BOOLEAN, sparse },
        { 40, 225, 70, CBX_BOOL, CBX_ALGEBRA_BOOLEAN, sparse },
        { 125, 513, 17, CBX_F64, CBX_ALGEBRA_EUCLIDEAN, normal },
        /* blocks of columns, some of which hold specials, meet rows that were packed for the
         * first of them */
        { 20, 530, 1400, CBX_F32, CBX_ALGEBRA_TROPICAL_MAX_PLUS, specials },
        { 20, 400, 1100, CBX_F64, CBX_ALGEBRA_TROPICAL_MIN_PLUS, specials },
        { 20, 400, 1100, CBX_F64, CBX_ALGEBRA_LOG, specials },
        { 1700, 3, 1100, CBX_F64, CBX_ALGEBRA_LOG, normal },
        { 1700, 3, 1100, CBX_F64, CBX_ALGEBRA_TROPICAL_MAX_PLUS, specials },
        { 1700, 3, 1400, CBX_F32, CBX_ALGEBRA_REAL, normal },
    };
    (void)state;
    for (size_t i = 0; i < CBX_LEN(big); i++) {
        problem q;
        problem_open(&q, big[i].g, big[i].dtype, big[i].m, big[i].k, big[i].n, big[i].draw, 9);
        for (int isa = 0; isa < CBX_ISA_COUNT; isa++)
            if (problem_run(&q, (cbx_isa)isa)) assert_true(worst_of(&q) <= 1);
        problem_close(&q);
    }
}

/* A row of A equal to a column of B has distance 0 exactly, and near ones do not cancel: norms
 * minus products would lose all digits. */
static void test_euclidean_does_not_cancel(void **state)
{
    (void)state;
    for (int isa = 0; isa < CBX_ISA_COUNT; isa++) {
        problem q;
        problem_open(&q, CBX_ALGEBRA_EUCLIDEAN, CBX_F32, 4, 64, 4, normal, 11);
        for (size_t i = 0; i < 4; i++)
            for (size_t kk = 0; kk < 64; kk++) {
                const double far = 1e4 + (double)(i + kk);
                put(&q, q.a, i * LD(q.p.lda) + kk, far);
                put(&q, q.b, kk * LD(q.p.ldb) + i, i < 2 ? far : far + 0.0078125);
            }
        if (problem_run(&q, (cbx_isa)isa)) {
            assert_true(get(&q, q.c, 0) == 0 && get(&q, q.c, LD(q.p.ldc) + 1) == 0);
            assert_true(get(&q, q.c, 2 * LD(q.p.ldc) + 2) ==
                        0.0625); /* sqrt(64) / 128, where 64 * 1e8 * 2^-24 = 381 is lost by norms */
        }
        problem_close(&q);
    }
}

/* The root of a rounded square is the number itself if roots are rounded correctly (Boldo, Numer.
 * Algorithms 62 (2013)): of one term the distance is |a - b|, at any size whose square is
 * normal. */
static double any_size(cbx_rng *rng, size_t i, size_t kk, bool is_b)
{
    (void)kk;
    const double x = cbx_rng_normal(rng);
    return is_b ? 0 : x == 0 || i % 16 == 15 ? 0 : ldexp(x, (int)(i % 41) * 2 - 40);
}

static void test_roots_round_correctly(void **state)
{
    static const size_t columns[] = { 3, 130 }; /* a few elements; tiles */
    (void)state;
    for (int isa = 0; isa < CBX_ISA_COUNT; isa++)
        for (size_t n = 0; n < CBX_LEN(columns); n++)
            for (cbx_dtype t = CBX_F32; t <= CBX_F64; t = (cbx_dtype)(t + 1)) {
                problem q;
                if (!cbx_semiring_takes(cbx_semiring_get(CBX_ALGEBRA_EUCLIDEAN), t)) continue;
                problem_open(&q, CBX_ALGEBRA_EUCLIDEAN, t, n == 0 ? 32 : 500, 1, columns[n], any_size, 21);
                for (size_t i = 0; problem_run(&q, (cbx_isa)isa) && i < q.p.m; i++)
                    for (size_t j = 0; j < q.p.n; j++)
                        assert_true(get(&q, q.c, i * LD(q.p.ldc) + j) == fabs(get(&q, q.a, i * LD(q.p.lda))));
                problem_close(&q);
            }
}

static void test_empty(void **state)
{
    (void)state;
    for (int g = 0; g < CBX_ALGEBRA_COUNT; g++) {
        problem q;
        problem_open(&q, (cbx_algebra)g, g == CBX_ALGEBRA_BOOLEAN ? CBX_BOOL : CBX_F32, 3, 0, 4, normal, 1);
        assert_true(problem_run(&q, cbx_isa_best()));
        for (size_t i = 0; i < 3; i++)
            for (size_t j = 0; j < 4; j++) assert_true(get(&q, q.c, i * LD(q.p.ldc) + j) == q.p.semiring->empty);
        problem_close(&q);
        problem_open(&q, (cbx_algebra)g, g == CBX_ALGEBRA_BOOLEAN ? CBX_BOOL : CBX_F64, 0, 4, 5, normal, 1);
        assert_true(problem_run(&q, cbx_isa_best()));
        q.p.ldc = q.p.c_step = q.p.lda = q.p.a_step = 0; /* what others pass for nothing */
        assert_true(problem_run(&q, cbx_isa_best()));
        problem_close(&q);
    }
}

static void test_descriptors(void **state)
{
    static const char *const names[] = {
        "real", "log", "tropical_max_plus", "tropical_min_plus", "euclidean", "boolean"
    };
    (void)state;
    assert_int_equal(CBX_LEN(names), CBX_ALGEBRA_COUNT);
    for (size_t i = 0; i < CBX_LEN(names); i++) {
        const cbx_semiring *s = cbx_semiring_find(names[i]);
        assert_non_null(s);
        assert_int_equal(s->id, i);
        assert_ptr_equal(s, cbx_semiring_get((cbx_algebra)i));
        assert_int_equal(s->has_annihilator, i != CBX_ALGEBRA_EUCLIDEAN);
    }
    assert_null(cbx_semiring_find("max_plus"));
    assert_null(cbx_semiring_find("Real"));
    assert_null(cbx_semiring_find(NULL));
    assert_null(cbx_semiring_get(CBX_ALGEBRA_COUNT));
    assert_true(cbx_isa_available(cbx_isa_best()));
}

static void break_size(cbx_matmul *p) { p->struct_size--; }
static void break_semiring(cbx_matmul *p) { p->semiring = NULL; }
static void break_dtype(cbx_matmul *p) { p->dtype = CBX_BOOL; }
static void break_isa(cbx_matmul *p) { p->isa = (cbx_isa)99; }
static void break_ldc(cbx_matmul *p) { p->ldc = (ptrdiff_t)p->n - 1; }
static void break_step(cbx_matmul *p) { p->c_step = 0; }
static void break_overlap(cbx_matmul *p) { p->b = (char *)p->c + 8; }
static void break_k(cbx_matmul *p) { p->k = SIZE_MAX / 4; }
static void break_reach(cbx_matmul *p) { p->lda = PTRDIFF_MAX / 2; }
static void break_raw(cbx_matmul *p) { p->raw = true; }
static void break_capacity(cbx_matmul *p) { p->workspace_bytes--; }
static void break_alignment(cbx_matmul *p) { p->workspace = (char *)p->workspace + 4; }
static void break_a(cbx_matmul *p) { p->a = (const char *)p->a + 1; }
static void break_a_overlap(cbx_matmul *p) { p->a = (char *)p->c + 4; }
static void break_workspace_overlap(cbx_matmul *p) { p->c = (char *)p->workspace + 64; }

static void test_bad_arguments(void **state)
{
    static const struct {
        void (*damage)(cbx_matmul *);
        cbx_status status;
        const char *says;
    } faults[] = {
        { break_size, CBX_EINVAL, "CBX_MATMUL_INIT" },
        { break_semiring, CBX_EINVAL, "semiring" },
        { break_dtype, CBX_EDTYPE, "bool" },
        { break_isa, CBX_EINVAL, "not available" },
        { break_ldc, CBX_EINVAL, "coincide" },
        { break_step, CBX_EINVAL, "coincide" },
        { break_overlap, CBX_EINVAL, "overlaps B" },
        { break_k, CBX_EOVERFLOW, "larger than the address space" },
        { break_reach, CBX_EOVERFLOW, "larger than" },
        { break_raw, CBX_EINVAL, "only euclidean" },
        { break_capacity, CBX_EINVAL, "workspace" },
        { break_alignment, CBX_EINVAL, "aligned" },
        { break_a, CBX_EINVAL, "A starts 1 bytes" },
        { break_a_overlap, CBX_EINVAL, "overlaps A" },
        { break_workspace_overlap, CBX_EINVAL, "overlaps the workspace" },
    };
    static const cbx_algebra algebras[] = { CBX_ALGEBRA_LOG,
                                            CBX_ALGEBRA_REAL }; /* by blocks; by the way of a few elements */
    problem q;
    (void)state;
    for (size_t at = 0; at < CBX_LEN(algebras) * CBX_LEN(faults); at++) {
        const size_t i = at % CBX_LEN(faults);
        cbx_err err = CBX_ERR_INIT;
        problem_open(&q, algebras[at / CBX_LEN(faults)], CBX_F32, 6, 7, 8, normal, 1);
        assert_true(problem_run(&q, CBX_ISA_PLAIN));
        q.p.isa = CBX_ISA_COUNT;
        assert_int_equal(cbx_matmul_workspace(&q.p, &q.p.workspace_bytes, &err), CBX_OK);
        cbx_matmul p = q.p;
        faults[i].damage(&p);
        assert_int_equal(cbx_matmul_run(&p, &err), faults[i].status);
        if (strcmp(faults[i].says, "workspace") != 0 && strcmp(faults[i].says, "aligned") != 0) {
            cbx_err other = CBX_ERR_INIT;
            assert_int_equal(cbx_matmul_define(&p, &other), faults[i].status);
        }
        if (!strstr(err.message, faults[i].says)) fail_msg("fault %zu: '%s'", i, err.message);
        problem_close(&q);
    }
}

/* What has no bound reports it; the others are done by each instruction set, on any number of
 * threads, and touch no operand. */
static void test_limits(void **state)
{
    typedef cbx_status limit_fn(const cbx_matmul *, cbx_err *);
    static limit_fn *const limits[] = { cbx_matmul_limit_run, cbx_matmul_fed_limit_run };
    (void)state;
    for (size_t i = 0; i < CBX_LEN(limits); i++)
        for (int g = 0; g < CBX_ALGEBRA_COUNT; g++)
            for (int threads = 1; threads < 3; threads++) {
                cbx_matmul p = CBX_MATMUL_INIT;
                cbx_err err = CBX_ERR_INIT;
                p.semiring = cbx_semiring_get((cbx_algebra)g), p.threads = threads;
                p.m = p.k = p.n = 120;
                p.dtype = g == CBX_ALGEBRA_BOOLEAN ? CBX_BOOL : threads == 1 ? CBX_F32 : CBX_F64;
                for (int isa = 0; isa < CBX_ISA_COUNT; isa++) {
                    if (!cbx_isa_available((cbx_isa)isa)) continue;
                    p.isa = (cbx_isa)isa;
                    assert_int_equal(limits[i](&p, &err), g == CBX_ALGEBRA_BOOLEAN ? CBX_EDTYPE : CBX_OK);
                }
                p.struct_size--;
                assert_int_equal(limits[i](&p, &err), CBX_EINVAL);
            }
}

TEST_FILE(.seconds = 600)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_descriptors),
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_the_check_can_fail),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_euclidean_does_not_cancel),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_roots_round_correctly),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests_name("array/semiring", tests, NULL, NULL);
}
