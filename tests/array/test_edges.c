/* Values and arguments at the edge: where dtypes meet whose promotion is not exact, where a caller
 * hands nothing over. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "calibrax/array/backend.h"
#include "calibrax/array/info.h"
#include "calibrax/array/linalg.h"
#include "calibrax/array/ops.h"
#include "calibrax/array/random.h"
#include "calibrax/array/sets.h"

static const int64_t whole[] = { INT64_MIN, INT64_MIN + 1,          -((int64_t)1 << 53) - 1, -1,       0,
                                 1,         ((int64_t)1 << 53) + 1, INT64_MAX - 1,           INT64_MAX };
static const uint64_t natural[] = { 0,
                                    1,
                                    (uint64_t)1 << 53,
                                    ((uint64_t)1 << 53) + 1,
                                    INT64_MAX - 1,
                                    INT64_MAX,
                                    (uint64_t)INT64_MAX + 1,
                                    (uint64_t)INT64_MAX + 2,
                                    UINT64_MAX - 1,
                                    UINT64_MAX };
enum { ROWS = CBX_LEN(whole), COLUMNS = CBX_LEN(natural) };

/* -1, 0, 1 */
static int order(int64_t i, uint64_t u)
{
    __int128 d = (__int128)i - (__int128)u;
    return (d > 0) - (d < 0);
}

typedef cbx_array *(*comparison)(cbx_ctx *, const cbx_array *, const cbx_array *);

/* bit 0, 1, 2: true of less, equal, greater */
static const struct {
    comparison f;
    int truth;
    const char *name;
} comparisons[] = {
    { cbx_equal, 2, "equal" },           { cbx_not_equal, 5, "not_equal" }, { cbx_less, 1, "less" },
    { cbx_less_equal, 3, "less_equal" }, { cbx_greater, 4, "greater" },     { cbx_greater_equal, 6, "greater_equal" },
};

static cbx_array *column(cbx_ctx *c, cbx_dtype t)
{
    cbx_array *x = cbx_asarray(c, &(cbx_array_desc){ CBX_I64, 2, { ROWS, 1 } }, whole);
    return cbx_astype(c, x, t);
}

/* i with each u, by row; narrow: i is cut to int8 first. */
static unsigned wrong_comparisons(cbx_ctx *c, cbx_dtype t, comparison f, int truth, bool mirrored)
{
    const cbx_array *i = column(c, t), *u = cbx_asarray(c, &(cbx_array_desc){ CBX_U64, 1, { COLUMNS } }, natural);
    cbx_array *r = mirrored ? f(c, u, i) : f(c, i, u);
    unsigned wrong = 0;
    bool got[ROWS * COLUMNS];

    CHECK_INT(cbx_array_dtype(r), CBX_BOOL, "dtype");
    CHECK_OK(cbx_array_read(r, got, sizeof got, NULL), (&(cbx_err){ 0 }), "read");
    for (int k = 0; k < ROWS * COLUMNS; k++) {
        int64_t v = t == CBX_I8 ? (int8_t)whole[k / COLUMNS] : whole[k / COLUMNS];
        int o = order(v, natural[k % COLUMNS]) * (mirrored ? -1 : 1);
        wrong += got[k] != (truth >> (o + 1) & 1);
    }
    return wrong;
}

TEST(signed_meets_unsigned_by_value)
{
    static const cbx_dtype signed_dtypes[] = { CBX_I64, CBX_I8 };
    cbx_ctx *c = cbx_test_context();

    for (size_t k = 0; k < CBX_LEN(comparisons) * CBX_LEN(signed_dtypes); k++)
        for (int mirrored = 0; mirrored < 2; mirrored++) {
            size_t at = k % CBX_LEN(comparisons);
            CHECK_INT(wrong_comparisons(c, signed_dtypes[k / CBX_LEN(comparisons)], comparisons[at].f,
                                        comparisons[at].truth, mirrored),
                      0, comparisons[at].name);
        }
    CHECK_GT(wrong_comparisons(c, CBX_I64, cbx_less, 3, false), 0, "the check sees another comparison");
    CHECK_STATUS(cbx_ctx_pending(c, NULL), CBX_OK, "nothing failed");
    cbx_ctx_free(c);
}

static bool is_in(int64_t i, const uint64_t *u, size_t n)
{
    bool found = false;
    for (size_t k = 0; k < n; k++) found = found || order(i, u[k]) == 0;
    return found;
}

/* Members of one list among the other, of windows of it, so that each value is missing
 * from some. */
TEST(sets_of_signed_and_unsigned_are_exact)
{
    cbx_ctx *c = cbx_test_context();

    for (size_t first = 0; first < COLUMNS; first++)
        for (size_t n = 0; first + n <= COLUMNS; n++)
            for (int invert = 0; invert < 2; invert++) {
                bool got[ROWS];
                cbx_array *u = cbx_asarray(c, &(cbx_array_desc){ CBX_U64, 1, { n } }, natural + first);
                cbx_array *r = cbx_isin(c, column(c, CBX_I64), u, invert);
                CHECK_OK(cbx_array_read(r, got, sizeof got, NULL), (&(cbx_err){ 0 }), "read");
                for (int k = 0; k < ROWS; k++)
                    CHECK_INT(got[k], is_in(whole[k], natural + first, n) != invert, "signed among unsigned");
            }
    for (size_t first = 0; first < ROWS; first++)
        for (size_t n = 0; first + n <= ROWS; n++)
            for (int invert = 0; invert < 2; invert++) {
                bool got[COLUMNS];
                cbx_array *u = cbx_asarray(c, &(cbx_array_desc){ CBX_U64, 1, { COLUMNS } }, natural);
                cbx_array *i = cbx_asarray(c, &(cbx_array_desc){ CBX_I64, 1, { n } }, whole + first);
                cbx_array *r = cbx_isin(c, u, i, invert);
                CHECK_OK(cbx_array_read(r, got, sizeof got, NULL), (&(cbx_err){ 0 }), "read");
                for (int k = 0; k < COLUMNS; k++) {
                    bool found = false;
                    for (size_t j = 0; j < n; j++) found = found || order(whole[first + j], natural[k]) == 0;
                    CHECK_INT(got[k], found != invert, "unsigned among signed");
                }
            }
    cbx_ctx_free(c);
}

/* (1 + 2i)^n in integers, which hold every part of it; of 1 + i, whose powers are powers of two,
 * its inverse, too. */
TEST(complex_powers_of_whole_numbers_are_exact)
{
    cbx_ctx *c = cbx_test_context();

    for (int single = 0; single < 2; single++) {
        const cbx_array *z = cbx_full(c, 0, NULL, single ? CBX_C64 : CBX_C128, cbx_complex(1, 2)), *r;
        double re = 1, im = 0, got[2];
        for (int n = 0; n <= (single ? 20 : 45); n++) {
            r = cbx_astype(c, cbx_pow(c, z, cbx_weak(c, z, cbx_float(n))), CBX_C128);
            CHECK_OK(cbx_array_read(r, got, sizeof got, NULL), (&(cbx_err){ 0 }), "read");
            CHECK(got[0] == re && got[1] == im, "(1 + 2i)^n");
            double next = re - 2 * im;
            im = 2 * re + im;
            re = next;
        }
        z = cbx_full(c, 0, NULL, single ? CBX_C64 : CBX_C128, cbx_complex(1, 1));
        r = cbx_astype(c, cbx_pow(c, z, cbx_weak(c, z, cbx_float(-8))), CBX_C128);
        CHECK_OK(cbx_array_read(r, got, sizeof got, NULL), (&(cbx_err){ 0 }), "read");
        CHECK(got[0] == 0.0625 && got[1] == 0, "(1 + i)^-8");
        z = cbx_full(c, 0, NULL, single ? CBX_C64 : CBX_C128, cbx_complex(0, 0));
        r = cbx_astype(c, cbx_pow(c, z, cbx_weak(c, z, cbx_float(-1))), CBX_C128);
        CHECK_OK(cbx_array_read(r, got, sizeof got, NULL), (&(cbx_err){ 0 }), "read");
        CHECK(isnan(got[0]) && isnan(got[1]), "0^-1");
    }
    cbx_ctx_free(c);
}

/* ---- nothing where something is counted ---- */

#define NOTHINGS(X)                                                                                                    \
    X(zeros, "'shape' of 'zeros'", cbx_zeros(c, 2, NULL, CBX_F64))                                                     \
    X(ones, "'shape' of 'ones'", cbx_ones(c, 2, NULL, CBX_F64))                                                        \
    X(full, "'shape' of 'full'", cbx_full(c, 2, NULL, CBX_F64, cbx_int(1)))                                            \
    X(data, "'data' of 'asarray'", cbx_asarray(c, cbx_array_get_desc(x), NULL))                                        \
    X(desc, "'desc' of 'asarray'", cbx_asarray(c, NULL, NULL))                                                         \
    X(reshape, "'shape' of 'reshape'", cbx_reshape(c, x, 2, NULL))                                                     \
    X(broadcast, "'shape' of 'broadcast_to'", cbx_broadcast_to(c, x, 2, NULL))                                         \
    X(concat, "'in' of 'concat'", cbx_concat(c, 2, NULL, 0))                                                           \
    X(stack, "'in' of 'stack'", cbx_stack(c, 2, NULL, 0))                                                              \
    X(pad_before, "'before' of 'pad'", cbx_pad(c, x, NULL, (const size_t[]){ 1 }, cbx_int(0)))                         \
    X(pad_after, "'after' of 'pad'", cbx_pad(c, x, (const size_t[]){ 1 }, NULL, cbx_int(0)))                           \
    X(tile, "'times' of 'tile'", cbx_tile(c, x, 2, NULL))                                                              \
    X(move_from, "'from' of 'moveaxis'", cbx_moveaxes(c, x, 1, NULL, (const int[]){ 0 }))                              \
    X(move_to, "'to' of 'moveaxis'", cbx_moveaxes(c, x, 1, (const int[]){ 0 }, NULL))                                  \
    X(roll_shifts, "'shifts' of 'roll'", cbx_roll_axes(c, x, 1, NULL, (const int[]){ 0 }))                             \
    X(roll_axes, "'axes' of 'roll'", cbx_roll_axes(c, x, 1, (const ptrdiff_t[]){ 1 }, NULL))                           \
    X(quantile, "'q' of 'quantile'", cbx_quantile(c, x, 1, NULL, NULL))                                                \
    X(dot_a, "'axes_a' of 'tensordot'", cbx_tensordot(c, x, x, 1, NULL, (const int[]){ 0 }))                           \
    X(dot_b, "'axes_b' of 'tensordot'", cbx_tensordot(c, x, x, 1, (const int[]){ 0 }, NULL))                           \
    X(bits, "'shape' of 'random_bits'", cbx_random_bits(c, key, 1, NULL, CBX_U32))                                     \
    X(uniform, "'shape' of 'random_uniform'", cbx_random_uniform(c, key, 1, NULL, CBX_F32, 0, 1))                      \
    X(normal, "'shape' of 'random_normal'", cbx_random_normal(c, key, 1, NULL, CBX_F64))                               \
    X(normal_complex, "'shape' of 'random_normal'", cbx_random_normal(c, key, 1, NULL, CBX_C64))                       \
    X(gamma, "'shape' of 'random_gamma'", cbx_random_gamma(c, key, x, 1, NULL, CBX_F64))                               \
    X(bernoulli, "'shape' of 'random_bernoulli'", cbx_random_bernoulli(c, key, x, 1, NULL))                            \
    X(randint, "'shape' of 'random_randint'", cbx_random_randint(c, key, 1, NULL, 0, 9, CBX_I32))                      \
    X(categorical, "'shape' of 'random_categorical'", cbx_random_categorical(c, key, x, 0, 1, NULL))                   \
    X(choice, "'shape' of 'random_choice'", cbx_random_choice(c, key, x, 0, 1, NULL, true, NULL))                      \
    X(take, "operand 2 of 'take'", cbx_take(c, x, NULL, 0))                                                            \
    X(take_from, "operand 1 of 'take'", cbx_take(c, NULL, x, 0))                                                       \
    X(along, "operand 2 of 'take_along_axis'", cbx_take_along_axis(c, x, NULL, 0))                                     \
    X(scatter, "operand 2 of 'scatter'", cbx_scatter(c, x, NULL, x, 0, CBX_SCATTER_SET))                               \
    X(apply, "'in' of 'add'", cbx_apply(c, CBX_PRIM_ADD, 2, NULL, NULL))
#define NOTHING_CALL(name, words, ...)                                                                                 \
    static cbx_array *nothing_##name(cbx_ctx *c, const cbx_array *x, const cbx_array *key)                             \
    {                                                                                                                  \
        (void)x;                                                                                                       \
        (void)key;                                                                                                     \
        return __VA_ARGS__;                                                                                            \
    }
NOTHINGS(NOTHING_CALL)

#define NOTHING_ROW(name, words, ...) { nothing_##name, words " is NULL" },
TEST(nothing_is_refused_by_name)
{
    static const struct {
        cbx_array *(*call)(cbx_ctx *c, const cbx_array *x, const cbx_array *key);
        const char *words;
    } cases[] = { NOTHINGS(NOTHING_ROW) };
    cbx_ctx *c = cbx_test_context();
    const cbx_array *x = cbx_ones(c, 1, (const size_t[]){ 3 }, CBX_F64), *key = cbx_random_key(c, 1);

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_scope scope;
        cbx_err err = CBX_ERR_INIT;
        cbx_scope_open(c, &scope);
        CHECK(cbx_array_is_failed(cases[i].call(c, x, key)), cases[i].words);
        CHECK_STATUS(cbx_scope_close(&scope, &err), CBX_EINVAL, cases[i].words);
        if (!strstr(err.message, cases[i].words)) fail_msg("\"%s\" lacks \"%s\"", err.message, cases[i].words);
    }
    cbx_ctx_free(c);
}

TEST(nothing_is_refused_by_status)
{
    cbx_ctx *c = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    cbx_array *a = NULL, *parts[2] = { NULL, NULL };
    const cbx_array *x = cbx_ones(c, 1, (const size_t[]){ 3 }, CBX_F64), *gap[2] = { x, NULL };
    size_t shape[CBX_MAX_RANK];
    cbx_scope scope;
    cbx_dtype t;
    int ndim;

    CHECK_STATUS(cbx_array_create(c, NULL, &a, &err), CBX_EINVAL, "no description");
    CHECK_STATUS(cbx_array_wrap(c, NULL, NULL, parts, NULL, NULL, &a, &err), CBX_EINVAL, "no description to wrap");
    CHECK_STATUS(cbx_array_wrap(c, cbx_array_get_desc(x), NULL, NULL, NULL, NULL, &a, &err), CBX_EINVAL, "no data");
    CHECK(strstr(err.message, "'data'") != NULL, "names it");
    CHECK_STATUS(cbx_broadcast_shapes(2, NULL, &ndim, shape, &err), CBX_EINVAL, "no list");
    CHECK_STATUS(cbx_broadcast_shapes(2, gap, &ndim, shape, &err), CBX_EINVAL, "a gap");
    CHECK(strstr(err.message, "operand 2") != NULL, "names it");
    CHECK_STATUS(cbx_result_type(2, NULL, 0, NULL, &t, &err), CBX_EINVAL, "no list");
    CHECK_STATUS(cbx_result_type(0, NULL, 2, NULL, &t, &err), CBX_EINVAL, "no scalars");
    CHECK(a == NULL, "nothing is made");
    for (int i = 0; i < 5; i++) {
        cbx_scope_open(c, &scope);
        if (i == 0) cbx_meshgrid(c, 2, NULL, true, parts);
        if (i == 1) cbx_broadcast_arrays(c, 2, NULL, parts);
        if (i == 2) cbx_meshgrid(c, 1, &x, true, NULL);
        if (i == 3) cbx_broadcast_arrays(c, 1, &x, NULL);
        if (i == 4) cbx_unstack(c, x, 0, 3, NULL);
        CHECK_STATUS(cbx_scope_close(&scope, &err), CBX_EINVAL, "several results");
        CHECK(strstr(err.message, i < 2 ? "'in' of" : "'out' of") != NULL, "names it");
    }
    cbx_ctx_free(c);
}

/* ---- the function that was called is named, not one of its steps ---- */

TEST(steps_are_not_named)
{
    static const struct {
        cbx_status status;
        const char *words;
    } cases[] = {
        { CBX_EDOM, "'inv' is singular" },
        { CBX_EDOM, "'matrix_power' is singular" },
        { CBX_EINDEX, "of 'segment_max'" },
        { CBX_EINDEX, "of 'segment_mean'" },
        { CBX_ESHAPE, "'random_categorical' needs at least one category" },
        { CBX_ESHAPE, "'stack' cannot join float64 (2, 2) with float64 (2,)" },
    };
    cbx_ctx *c = cbx_test_context();
    const cbx_array *zeros = cbx_zeros(c, 2, (const size_t[]){ 2, 2 }, CBX_F64), *none, *ids;
    const cbx_array *parts[2] = { zeros, cbx_index(c, zeros, 0, 0) };

    none = cbx_slice(c, zeros, 1, 0, 0, 1);
    ids = cbx_full(c, 1, (const size_t[]){ 2 }, CBX_I64, cbx_int(7));
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_scope scope;
        cbx_err err = CBX_ERR_INIT;
        cbx_scope_open(c, &scope);
        switch (i) {
        case 0: cbx_inv(c, zeros); break;
        case 1: cbx_matrix_power(c, zeros, -2); break;
        case 2: cbx_segment_max(c, zeros, ids, 3); break;
        case 3: cbx_segment_mean(c, zeros, ids, 3); break;
        case 4: cbx_random_categorical(c, cbx_random_key(c, 1), none, 1, 0, NULL); break;
        default: cbx_stack(c, 2, parts, 0);
        }
        CHECK_STATUS(cbx_scope_close(&scope, &err), cases[i].status, cases[i].words);
        if (!strstr(err.message, cases[i].words)) fail_msg("\"%s\" lacks \"%s\"", err.message, cases[i].words);
    }
    cbx_ctx_free(c);
}

/* Its last pivot is 0 and the rows were swapped once, which turns the sign. */
TEST(a_singular_determinant_is_plain_zero)
{
    cbx_ctx *c = cbx_test_context();
    const double rows[] = { 1, 2, 2, 4 };
    const cbx_array *x = cbx_asarray(c, &(cbx_array_desc){ CBX_F64, 2, { 2, 2 } }, rows);

    for (int complex = 0; complex < 2; complex++) {
        const cbx_array *y = complex ? cbx_astype(c, x, CBX_C128) : x;
        const cbx_array *results[] = { cbx_det(c, y), cbx_slogdet(c, y).sign };
        for (size_t i = 0; i < CBX_LEN(results); i++) {
            double got[2] = { 1, 0 };
            CHECK_OK(cbx_array_read(results[i], got, complex ? 16 : 8, NULL), (&(cbx_err){ 0 }), "read");
            CHECK(got[0] == 0 && !signbit(got[0]) && got[1] == 0 && !signbit(got[1]), "0 without a sign");
        }
    }
    cbx_ctx_free(c);
}

static void check_numbers(cbx_array *x, size_t n, const double *want, const char *why)
{
    double got[16];
    cbx_ctx *c = cbx_test_context();
    CHECK_INT(cbx_array_count(x), n, why);
    CHECK_OK(cbx_array_read(cbx_astype(c, x, CBX_F64), got, n * sizeof *got, NULL), (&(cbx_err){ 0 }), why);
    for (size_t i = 0; i < n; i++) CHECK(got[i] == want[i], why);
    cbx_ctx_free(c);
}

TEST(bounds_beyond_a_dtype_cut_nothing_off)
{
    static const struct {
        cbx_scalar low, high;
        double want[3];
        const char *why;
    } cases[] = {
        { { CBX_I64, { .i = -1 } }, { CBX_I64, { .i = 300 } }, { -1, 0, 100 }, "above int8" },
        { { CBX_I64, { .i = -129 } }, { CBX_I64, { .i = 7 } }, { -100, 0, 7 }, "below int8" },
        { { CBX_I64, { .i = INT64_MIN } }, { CBX_U64, { .u = UINT64_MAX } }, { -100, 0, 100 }, "both" },
    };
    const int8_t data[3] = { -100, 0, 100 };
    cbx_ctx *c = cbx_test_context();
    cbx_array *x = cbx_asarray(c, &(cbx_array_desc){ CBX_I8, 1, { 3 } }, data);
    cbx_err err = CBX_ERR_INIT;

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_array *r = cbx_clip_scalar(c, x, cases[i].low, cases[i].high);
        CHECK_INT(cbx_array_dtype(r), CBX_I8, cases[i].why);
        check_numbers(r, 3, cases[i].want, cases[i].why);
    }
    CHECK(cbx_array_is_failed(cbx_clip_scalar(c, x, cbx_int(128), cbx_int(200))), "above all int8");
    CHECK_STATUS(cbx_ctx_pending(c, &err), CBX_EOVERFLOW, "as NumPy");
    cbx_ctx_free(c);
}

TEST(lanes_broadcast)
{
    cbx_ctx *c = cbx_test_context();
    cbx_array *x = cbx_reshape(c, cbx_arange_int(c, 0, 6, 1, CBX_F64), 2, (const ptrdiff_t[]){ 2, 3 });
    const int64_t two[2] = { 2, 0 };
    cbx_array *row = cbx_asarray(c, &(cbx_array_desc){ CBX_I64, 2, { 1, 2 } }, two);
    cbx_array *column = cbx_remainder(c, cbx_asarray(c, &(cbx_array_desc){ CBX_I64, 2, { 2, 1 } }, two),
                                      cbx_full(c, 0, NULL, CBX_I64, cbx_int(2)));
    cbx_err err = CBX_ERR_INIT;

    check_numbers(cbx_take_along_axis(c, x, row, 1), 4, (const double[]){ 2, 0, 5, 3 }, "one list for all rows");
    check_numbers(cbx_take_along_axis(c, x, column, 0), 6, (const double[]){ 0, 1, 2, 0, 1, 2 }, "for all columns");
    check_numbers(cbx_take_along_axis(c, cbx_slice(c, x, 0, 0, 1, 1), column, -1), 2, (const double[]){ 0, 0 },
                  "one row for all lists");
    CHECK(cbx_array_is_failed(cbx_take_along_axis(c, x, cbx_zeros(c, 2, (const size_t[]){ 3, 1 }, CBX_I64), 1)),
          "3 and 2");
    CHECK_STATUS(cbx_ctx_pending(c, &err), CBX_ESHAPE, "3 rows and 2");
    cbx_ctx_free(c);
}

TESTS(.seconds = 600)
