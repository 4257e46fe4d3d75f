/* Inner loops of reductions: every instruction set of this machine gives the bits of the plain one,
 * and reductions along every axis of every layout the bits of each other. */
#include "check.h"

#include <math.h>

#include "calibrax/array/kernels/count.h"
#include "calibrax/array/kernels/fold.h"
#include "calibrax/array/ops.h"
#include "calibrax/base/rng.h"

#define MAX 1500

static double awkward(cbx_rng *r)
{
    static const double few[] = { 0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY };
    const uint64_t v = cbx_rng_u64(r);
    return v % 4 ? (double)(v >> 11) * 0x1p-53 - 0.5 : few[(v >> 8) % CBX_LEN(few)];
}

static const size_t lengths[] = { 1, 2, 7, 31, 32, 33, 127, 1000, MAX };

/* The contract of run_dot: 16 sums, joined pairwise. */
static double dot_of(const double *a, const double *b, size_t n)
{
    double part[16] = { 0 };

    for (size_t i = 0; i < n; i++) part[i % 16] += a[i] * b[i];
    for (size_t l = 8; l > 0; l /= 2)
        for (size_t i = 0; i < l; i++) part[i] += part[i + l];
    return part[0];
}

TEST(products_have_their_bits)
{
    enum { N = 70 };
    double a[N], b[N], wide[2][N];
    float x[N], y[N];
    uint64_t u[N] = { 0 }, v[N], acc[N];
    cbx_rng r = cbx_rng_make(11, 0);

    for (int isa = 0; isa < CBX_ISA_COUNT; isa++) {
        if (!cbx_isa_available((cbx_isa)isa)) continue;
        const cbx__fold *f = cbx__fold_get((cbx_isa)isa);
        for (size_t n = 0; n <= N; n++) {
            for (size_t i = 0; i < n; i++) {
                a[i] = n % 3 ? cbx_rng_uniform(&r) - 0.5 : -0.0;
                b[i] = cbx_rng_uniform(&r);
                wide[0][i] = x[i] = (float)a[i];
                wide[1][i] = y[i] = (float)b[i];
                u[i] = acc[i] = cbx_rng_u64(&r);
                v[i] = cbx_rng_u64(&r);
            }
            const double want[2] = { dot_of(a, b, n), dot_of(wide[0], wide[1], n) };
            const double got[2] = { f->run_dot_f64(a, b, n), f->run_dot_f32(x, y, n) };
            CHECK(memcmp(got, want, sizeof got) == 0, cbx_isa_name((cbx_isa)isa));
            f->run_axpy_u64(n, &u[0], v, acc);
            for (size_t i = 0; i < n; i++) CHECK(acc[i] == u[i] + u[0] * v[i], cbx_isa_name((cbx_isa)isa));
        }
    }
}

TEST(runs_agree)
{
    cbx_rng r;
    double a[MAX];
    int64_t whole[MAX];

    r = cbx_rng_make(7, 0);
    for (int isa = 0; isa < CBX_ISA_COUNT; isa++) {
        if (!cbx_isa_available((cbx_isa)isa)) continue;
        const cbx__fold *f = cbx__fold_get((cbx_isa)isa);
        for (size_t c = 0; c < 40 * CBX_LEN(lengths); c++) {
            const size_t n = lengths[c % CBX_LEN(lengths)];
            const char *why = cbx_isa_name((cbx_isa)isa);
            double max = -INFINITY, min = INFINITY;
            size_t first_nan = n;
            int64_t high = INT64_MIN, low = INT64_MAX;
            uint64_t bytes = 0, sum = 0, most = 0;
            for (size_t i = 0; i < n; i++) {
                a[i] = c % 3 ? awkward(&r) : c % 2 ? -0.0 : 0.0; /* zeros of one sign but for one place */
                if (c % 4 == 1 && a[i] > 0) a[i] = -a[i];        /* the most is a zero, of which there are both */
                if (c % 4 == 2 && a[i] < 0) a[i] = -a[i];
                whole[i] = (int64_t)cbx_rng_u64(&r);
            }
            if (c % 3 == 0) a[cbx_rng_u64(&r) % n] *= -1.0;
            if (c % 5 == 0) a[first_nan = cbx_rng_u64(&r) % n] = NAN;
            for (size_t i = n; i-- > 0;) { /* backwards: the first of equal ones stays */
                max = a[i] >= max ? a[i] : max;
                min = a[i] <= min ? a[i] : min;
                high = whole[i] > high ? whole[i] : high;
                low = whole[i] < low ? whole[i] : low;
            }
            for (size_t i = 0; i < n; i++) bytes += ((const uint8_t *)whole)[i];
            for (size_t i = 0; i < n; i++) sum += (uint64_t)whole[i];
            for (size_t i = 0; i < n; i++) most = (uint64_t)whole[i] > most ? (uint64_t)whole[i] : most;
            const double got[2] = { f->run_max_f64(a, n), f->run_min_f64(a, n) };
            if (first_nan < n)
                CHECK(got[0] != got[0] && got[1] != got[1], why);
            else
                CHECK(memcmp(got, (const double[]){ max, min }, sizeof got) == 0, why);
            CHECK(f->run_max_i64(whole, n) == high && f->run_min_i64(whole, n) == low, why);
            CHECK(f->run_sum_u64((const uint64_t *)whole, n) == sum, why);
            CHECK(f->run_max_u64((const uint64_t *)whole, n) == most, why);
            CHECK_INT(f->run_find_i64(whole, n, whole[n - 1]), n - 1, "the last");
            CHECK_INT(f->run_sum_u8((const uint8_t *)whole, n), bytes, why);
            CHECK_INT(f->run_find_f64(a, n, 7.5), n, "missing");
            a[n / 2] = 7.5;
            CHECK_INT(f->run_find_f64(a, n, 7.5), n / 2, "is there");
        }
    }
}

/* NumPy's pairwise_sum of loops_utils.h.src, of x or of (x - centre)^2. */
static double pairwise(const double *a, size_t n, bool squares, bool skips_nan, double centre)
{
#define TERM(x) (squares ? (skips_nan && (x) != (x) ? 0.0 : ((x)-centre) * ((x)-centre)) : (x))
    if (n < 8) {
        double sum = -0.0;
        for (size_t i = 0; i < n; i++) sum += TERM(a[i]);
        return sum;
    }
    if (n <= 128) {
        double r[8], sum;
        size_t i;
        for (int k = 0; k < 8; k++) r[k] = TERM(a[k]);
        for (i = 8; i < n - n % 8; i += 8)
            for (int k = 0; k < 8; k++) r[k] += TERM(a[i + (size_t)k]);
        sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
        for (; i < n; i++) sum += TERM(a[i]);
        return sum;
    }
    const size_t half = n / 2 - n / 2 % 8;
    return pairwise(a, half, squares, skips_nan, centre) + pairwise(a + half, n - half, squares, skips_nan, centre);
#undef TERM
}

static bool same(double x, double y) { return memcmp(&x, &y, sizeof x) == 0 || (x != x && y != y); }

/* Each length up to a few windows of the fast path, then some of the lengths beyond. */
TEST(sums_follow_the_tree)
{
    enum { LONGEST = 70000 };
    static double a[LONGEST], wide[LONGEST];
    static float narrow[LONGEST];
    cbx_rng r;

    r = cbx_rng_make(11, 0);
    for (size_t n = 0; n <= LONGEST; n += n < 2100 ? 1 : 97) {
        const double centre = cbx_rng_uniform(&r);
        for (size_t i = 0; i < n; i++) {
            a[i] = n % 5 ? cbx_rng_uniform(&r) * ldexp(1.0, (int)(i % 40)) - 0.25 : awkward(&r);
            if (n % 5 == 0 && i % 61 == 3) a[i] = NAN;
            narrow[i] = (float)a[i];
            wide[i] = narrow[i];
        }
        const double want[] = { pairwise(a, n, false, false, 0),        pairwise(a, n, true, false, centre),
                                pairwise(a, n, true, true, centre),     pairwise(wide, n, false, false, 0),
                                pairwise(wide, n, true, false, centre), pairwise(wide, n, true, true, centre) };
        for (int isa = 0; isa < CBX_ISA_COUNT; isa++) {
            if (!cbx_isa_available((cbx_isa)isa)) continue;
            const cbx__fold *f = cbx__fold_get((cbx_isa)isa);
            const double got[] = { f->run_sum_f64(a, n),
                                   f->run_squares_f64[0](a, n, centre),
                                   f->run_squares_f64[1](a, n, centre),
                                   f->run_sum_f32(narrow, n),
                                   f->run_squares_f32[0](narrow, n, centre),
                                   f->run_squares_f32[1](narrow, n, centre) };
            for (size_t k = 0; k < CBX_LEN(want); k++) CHECK(same(got[k], want[k]), cbx_isa_name((cbx_isa)isa));
        }
    }
}

TEST(rows_are_counted)
{
    enum { ROWS = 3, WIDEST = 70 };
    static const double kinds[] = { 0, -0.0, 1, -1, INFINITY, -INFINITY, (double)NAN, 0.5 };
    double x[ROWS * WIDEST], limit[ROWS] = { 0.5, (double)NAN, INFINITY };

    for (size_t i = 0; i < CBX_LEN(x); i++) x[i] = kinds[i * 5 % 17 % CBX_LEN(kinds)];
    for (int isa = 0; isa < CBX_ISA_COUNT; isa++) {
        if (!cbx_isa_available((cbx_isa)isa)) continue;
        for (size_t d = 0; d <= WIDEST; d++) {
            int64_t got[ROWS];
            cbx__count_below_get((cbx_isa)isa)(x, limit, ROWS, d, got);
            for (size_t r = 0; r < ROWS; r++) {
                int64_t want = 0;
                for (size_t k = 0; k < d; k++) want += x[r * d + k] < limit[r];
                CHECK_INT(got[r], want, cbx_isa_name((cbx_isa)isa));
            }
        }
    }
}

TEST(indices_are_judged)
{
    static const struct {
        int64_t index;
        unsigned seen;
        const char *why;
    } cases[] = {
        { 0, 0, "first" },
        { 9, 0, "last" },
        { 10, CBX__INDEX_OUTSIDE, "behind the last" },
        { -1, CBX__INDEX_NEGATIVE, "last from the end" },
        { -10, CBX__INDEX_NEGATIVE, "first from the end" },
        { -11, CBX__INDEX_NEGATIVE | CBX__INDEX_OUTSIDE, "before the first" },
        { INT64_MAX, CBX__INDEX_OUTSIDE, "largest" },
        { INT64_MIN, CBX__INDEX_NEGATIVE | CBX__INDEX_OUTSIDE, "least" },
    };
    for (int isa = 0; isa < CBX_ISA_COUNT; isa++) {
        if (!cbx_isa_available((cbx_isa)isa)) continue;
        for (size_t c = 0; c < CBX_LEN(cases); c++) {
            int64_t at[37] = { 0 };
            at[c * 4] = cases[c].index;
            CHECK_INT(cbx__fold_get((cbx_isa)isa)->run_indices(at, 37, 10), cases[c].seen, cases[c].why);
        }
        CHECK_INT(cbx__fold_get((cbx_isa)isa)->run_indices((const int64_t[]){ 0 }, 1, 0), CBX__INDEX_OUTSIDE,
                  "nothing to index");
    }
}

TEST(rows_agree)
{
    static const size_t n = 1003;
    double row[1003], acc[2][1003];
    int64_t where[2][1003] = { { 0 } };
    cbx_rng r;

    r = cbx_rng_make(8, 0);
    for (int isa = 1; isa < CBX_ISA_COUNT; isa++) {
        if (!cbx_isa_available((cbx_isa)isa)) continue;
        const cbx__fold *f[2] = { cbx__fold_get(CBX_ISA_PLAIN), cbx__fold_get((cbx_isa)isa) };
        for (size_t i = 0; i < n; i++) acc[0][i] = acc[1][i] = awkward(&r);
        for (int step = 0; step < 20; step++) {
            for (size_t i = 0; i < n; i++) row[i] = awkward(&r);
            for (int k = 0; k < 2; k++) {
                f[k]->max_f64(n, acc[k], row);
                f[k]->argmin_f64(n, acc[k], where[k], row, step);
                f[k]->add_f64(n, acc[k], row);
                f[k]->max_f32(n / 2, (float *)acc[k], (const float *)row);
                f[k]->min_f32(n / 3, (float *)acc[k], (const float *)row);
                f[k]->add_f32(n / 2, (float *)acc[k], (const float *)row);
                f[k]->add_u64(n / 2, (uint64_t *)acc[k], (const uint64_t *)row);
            }
        }
        CHECK(memcmp(acc[0], acc[1], sizeof acc[0]) == 0, cbx_isa_name((cbx_isa)isa));
        CHECK(memcmp(where[0], where[1], sizeof where[0]) == 0, cbx_isa_name((cbx_isa)isa));
    }
}

/* Columns against their sums one by one, in the order of the rows. */
TEST(columns_follow_rows)
{
    enum { WIDTH = 37, ROWS = 11 };
    double a[ROWS][WIDTH + 3], centre[WIDTH];
    float narrow[ROWS][WIDTH + 3];
    cbx_rng r;

    r = cbx_rng_make(12, 0);
    for (size_t i = 0; i < ROWS; i++)
        for (size_t k = 0; k < WIDTH; k++) {
            a[i][k] = (i + 3 * k) % 29 == 7 ? NAN : cbx_rng_uniform(&r) * ldexp(1.0, (int)(i % 30)) - 0.25;
            narrow[i][k] = (float)a[i][k];
            centre[k] = cbx_rng_uniform(&r);
        }
    for (int isa = 0; isa < CBX_ISA_COUNT; isa++) {
        if (!cbx_isa_available((cbx_isa)isa)) continue;
        const cbx__fold *f = cbx__fold_get((cbx_isa)isa);
        for (size_t rows = 0; rows <= ROWS; rows++) {
            double got[6][WIDTH], want[6][WIDTH];
            for (size_t i = 0; i < 6 * WIDTH; i++) (&got[0][0])[i] = (&want[0][0])[i] = 0.125 * (double)i;
            for (size_t i = 0; i < rows; i++)
                for (size_t k = 0; k < WIDTH; k++)
                    for (size_t type = 0; type < 2; type++) {
                        const double x = type ? (double)narrow[i][k] : a[i][k], d = x - centre[k];
                        want[type][k] += x;
                        want[2 + type][k] += d * d;
                        want[4 + type][k] += x != x ? 0.0 : d * d;
                    }
            f->columns_sum_f64(WIDTH, got[0], a, sizeof a[0], rows);
            f->columns_sum_f32(WIDTH, got[1], narrow, sizeof narrow[0], rows);
            for (int skips = 0; skips < 2; skips++) {
                f->columns_squares_f64[skips](WIDTH, got[2 + 2 * skips], a, sizeof a[0], rows, centre);
                f->columns_squares_f32[skips](WIDTH, got[3 + 2 * skips], narrow, sizeof narrow[0], rows, centre);
            }
            for (size_t k = 0; k < 6 * WIDTH; k++)
                CHECK(same((&got[0][0])[k], (&want[0][0])[k]), cbx_isa_name((cbx_isa)isa));
        }
    }
}

typedef cbx_array *reduction(cbx_ctx *, const cbx_array *, const cbx_axes *);

/* Along the first axis in rows, and along the last of a copy that lies the other way. */
TEST(layouts_agree)
{
    static reduction *const f[] = { cbx_sum, cbx_prod, cbx_max, cbx_min, cbx_any, cbx_all, cbx_argmax, cbx_argmin };
    static const cbx_dtype types[] = { CBX_F64, CBX_F32, CBX_I16, CBX_U64, CBX_BOOL };
    static const size_t shapes[][3] = { { 3, 5, 4 }, { 300, 1, 7 }, { 9000, 1, 5 }, { 20, 30, 40 }, { 16, 2, 1100 } };
    cbx_ctx *c = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    cbx_rng r;

    r = cbx_rng_make(9, 0);
    for (size_t s = 0; s < CBX_LEN(shapes); s++)
        for (size_t t = 0; t < CBX_LEN(types); t++)
            for (size_t k = 0; k < CBX_LEN(f); k++)
                for (int axes = 1; axes <= 2; axes++) {
                    cbx_scope scope;
                    cbx_scope_open(c, &scope);
                    cbx_array_desc d = { CBX_F64, 3, { shapes[s][0], shapes[s][1], shapes[s][2] } };
                    cbx_array *x = NULL;
                    CHECK_OK(cbx_array_create(c, &d, &x, &err), &err, "create");
                    for (size_t i = 0; i < cbx_array_count(x); i++)
                        ((double *)cbx_array_data_mut(x))[i] = fmax(fmin(awkward(&r), 1e9), -1e9) * 100.0;
                    x = cbx_astype(c, cbx_scope_hold(c, x), types[t]);
                    const cbx_array *rows = f[k](c, x, &(cbx_axes){ .n = axes, .axis = { 0, 1 } });
                    const cbx_array *turned = cbx_copy(c, cbx_permute_dims(c, x, (const int[]){ 2, 0, 1 }));
                    const cbx_array *runs = f[k](c, turned, &(cbx_axes){ .n = axes, .axis = { 1, 2 } });
                    if (axes == 1) rows = cbx_permute_dims(c, rows, NULL);
                    rows = cbx_copy(c, rows);
                    CHECK_STATUS(cbx_ctx_pending(c, &err), CBX_OK, err.message);
                    CHECK(memcmp(cbx_array_data(rows), cbx_array_data(runs), cbx_array_bytes(runs)) == 0,
                          "the same bits whatever lies where");
                    cbx_scope_close(&scope, NULL);
                }
    cbx_ctx_free(c);
}

TESTS(.seconds = 600)
