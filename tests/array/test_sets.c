/*
 * Sets, segments, several axes, quantiles and facts about dtypes against NumPy: every case of
 * fixtures/sets.bin, written by scripts/fixtures/make_set_cases.py.  Then what NumPy does not say:
 * abstract operands, bad input, scratch.
 */
#include "calibrax/array/sets.h"

#include "check.h"

#include <math.h>

#include "calibrax/array/info.h"
#include "calibrax/base/pool.h"
#include "numpy_cases.h"

#define FN  NUMPY_FN
#define ROW NUMPY_ROW

static cbx_unique_parts all_of(cbx_ctx *c, const cbx_array *x)
{
    cbx_unique_parts p;
    cbx_unique_all(c, x, &p);
    return p;
}

/* One of the two results of a function that gives two. */
static cbx_array *one_of(cbx_ctx *c, void (*fn)(cbx_ctx *, const cbx_array *, cbx_array **, cbx_array **),
                         const cbx_array *x, int which)
{
    cbx_array *out[2];
    fn(c, x, &out[0], &out[1]);
    return out[which];
}

static cbx_array *sized(cbx_ctx *c, const numpy_case *k)
{
    cbx_scalar fill = cbx_int(k->attr[1]);
    cbx_unique_parts p;
    cbx_unique_size(c, k->in[0], (size_t)k->attr[0], k->attr[1] == 99 ? NULL : &fill, &p);
    return (cbx_array *[]){ p.values, p.indices, p.inverse, p.counts }[k->attr[2]];
}

/* Segment numbers of the fixture wrap. */
static cbx_array *ids(cbx_ctx *c, const numpy_case *k)
{
    return cbx_remainder(c, k->in[1], cbx_weak(c, k->in[1], cbx_int(k->attr[0])));
}

static cbx_array *unstacked(cbx_ctx *c, const numpy_case *k)
{
    cbx_array *out[8];
    int axis = k->attr[0] < 0 ? k->attr[0] + cbx_array_ndim(k->in[0]) : k->attr[0];
    cbx_unstack(c, k->in[0], k->attr[0], cbx_array_dim(k->in[0], axis), out);
    return out[k->attr[1]];
}

static cbx_array *spread(cbx_ctx *c, const numpy_case *k)
{
    cbx_array *out[2];
    cbx_broadcast_arrays(c, 2, (const cbx_array *const *)k->in, out);
    return out[k->attr[0]];
}

static cbx_array *numbers(cbx_ctx *c, cbx_dtype t, size_t n, const void *data)
{
    return cbx_asarray(c, &(cbx_array_desc){ t, n > 0, { n } }, data);
}

/* A fact that a dtype has not is a failure, as in NumPy. */
static cbx_array *no_fact(cbx_ctx *c) { return cbx_sqrt(c, NULL); }

static cbx_array *finfo_of(cbx_ctx *c, cbx_dtype t)
{
    cbx_finfo f;
    if (cbx_dtype_finfo(t, &f, NULL)) return no_fact(c);
    return numbers(c, CBX_F64, 5, (const double[]){ f.bits, f.eps, f.min, f.max, f.smallest_normal });
}

static cbx_array *iinfo_of(cbx_ctx *c, cbx_dtype t)
{
    cbx_iinfo f;
    if (cbx_dtype_iinfo(t, &f, NULL)) return no_fact(c);
    return numbers(c, CBX_U64, 3, (const uint64_t[]){ (uint64_t)f.bits, (uint64_t)f.min, f.max });
}

static cbx_array *isdtype_of(cbx_ctx *c, cbx_dtype t)
{
    static const char *const kinds[] = { "bool",          "signed integer",   "unsigned integer", "integral",
                                         "real floating", "complex floating", "numeric" };
    bool is[CBX_LEN(kinds)];
    for (size_t i = 0; i < CBX_LEN(kinds); i++)
        CHECK_STATUS(cbx_dtype_isdtype(t, kinds[i], &is[i], NULL), CBX_OK, kinds[i]);
    return numbers(c, CBX_BOOL, CBX_LEN(kinds), is);
}

static cbx_array *can_cast_of(cbx_ctx *c, cbx_dtype t)
{
    bool can[CBX_DTYPE_COUNT];
    for (int i = 0; i < CBX_DTYPE_COUNT; i++) can[i] = cbx_can_cast(t, (cbx_dtype)i);
    return numbers(c, CBX_BOOL, CBX_DTYPE_COUNT, can);
}

static cbx_array *result_type_of(cbx_ctx *c, const int32_t *a)
{
    const cbx_array *x[3];
    cbx_dtype t = CBX_DTYPE_COUNT;
    for (int i = 0; i < 3; i++) x[i] = cbx_zeros(c, 0, NULL, (cbx_dtype)a[i]);
    (void)cbx_result_type(3, x, 0, NULL, &t, NULL);
    return cbx_full(c, 0, NULL, CBX_I64, cbx_int(t));
}

#define ONE_LIST(X)                                                                                                    \
    X(unique)                                                                                                          \
    X(unique_values)                                                                                                   \
    X(positive)                                                                                                        \
    X(reciprocal)                                                                                                      \
    X(argwhere)                                                                                                        \
    X(expm1)                                                                                                           \
    X(log1p)                                                                                                           \
    X(log2)                                                                                                            \
    X(log10)                                                                                                           \
    X(sign)                                                                                                            \
    X(rint)
#define TWO_LIST(X)     X(union1d) X(intersect1d) X(setdiff1d) X(setxor1d)
#define AXIS_LIST(X)    X(cumulative_sum_initial) X(cumulative_prod_initial)
#define AXES_LIST(X)    X(flip_axes) X(squeeze_axes)
#define SEGMENT_LIST(X) X(segment_sum) X(segment_prod) X(segment_max) X(segment_min) X(segment_mean)
#define ONE(name)       FN(name, cbx_##name(c, in[0]))
#define TWO(name)       FN(name, cbx_##name(c, in[0], in[1]))
#define AXIS(name)      FN(name, cbx_##name(c, in[0], a[0]))
#define AXES(name)      FN(name, cbx_##name(c, in[0], numpy_axes(k, 0, &(cbx_axes){ 0 })))
#define SEGMENT(name)   FN(name, cbx_##name(c, in[0], ids(c, k), (size_t)a[0]))
ONE_LIST(ONE)
TWO_LIST(TWO)
AXIS_LIST(AXIS)
AXES_LIST(AXES)
SEGMENT_LIST(SEGMENT)
FN(unique_all_values, all_of(c, in[0]).values)
FN(unique_all_indices, all_of(c, in[0]).indices)
FN(unique_all_inverse, all_of(c, in[0]).inverse)
FN(unique_all_counts, all_of(c, in[0]).counts)
FN(unique_counts_values, one_of(c, cbx_unique_counts, in[0], 0))
FN(unique_counts_counts, one_of(c, cbx_unique_counts, in[0], 1))
FN(unique_inverse_values, one_of(c, cbx_unique_inverse, in[0], 0))
FN(unique_inverse_inverse, one_of(c, cbx_unique_inverse, in[0], 1))
FN(unique_size, sized(c, k))
FN(isin, cbx_isin(c, in[0], in[1], a[0] != 0))
FN(extract, cbx_extract(c, in[1], in[0]))
FN(roll_flat, cbx_roll_flat(c, in[0], a[0]))
FN(roll_axes, cbx_roll_axes(c, in[0], 2, (const ptrdiff_t[]){ a[0], a[2] }, (const int[]){ a[1], a[3] }))
FN(moveaxes, cbx_moveaxes(c, in[0], 2, (const int[]){ a[0], a[2] }, (const int[]){ a[1], a[3] }))
FN(unstack, unstacked(c, k))
FN(broadcast_arrays, spread(c, k))
FN(repeat_counts, cbx_repeat_counts(c, in[0], in[1], a[0]))
FN(repeat_counts_size, cbx_repeat_counts_size(c, in[0], in[1], a[0], (size_t)a[1]))
FN(clip_int, cbx_clip_scalar(c, in[0], cbx_int(a[0]), cbx_int(a[1])))
FN(clip_float, cbx_clip_scalar(c, in[0], cbx_float(a[0] / 4.0), cbx_float(a[1] / 4.0)))
FN(searchsorted_sorter, cbx_searchsorted_sorter(c, in[0], in[1], a[0] != 0, cbx_argsort(c, in[0], 0, false)))
FN(quantile, cbx_quantile(c, in[0], 4, (const double[]){ 0, 0.25, 1.0 / 3.0, 1 }, numpy_axes(k, 0, &(cbx_axes){ 0 })))
FN(average, cbx_average(c, in[0], in[1], numpy_axes(k, 0, &(cbx_axes){ 0 })))
FN(can_cast, can_cast_of(c, (cbx_dtype)a[0]))
FN(isdtype, isdtype_of(c, (cbx_dtype)a[0]))
FN(finfo, finfo_of(c, (cbx_dtype)a[0]))
FN(iinfo, iinfo_of(c, (cbx_dtype)a[0]))
FN(result_type, result_type_of(c, a))

static const numpy_function functions[] = {
    ONE_LIST(ROW) TWO_LIST(ROW) AXIS_LIST(ROW) AXES_LIST(ROW) SEGMENT_LIST(ROW) ROW(unique_all_values)
        ROW(unique_all_indices) ROW(unique_all_inverse) ROW(unique_all_counts) ROW(unique_counts_values)
            ROW(unique_counts_counts) ROW(unique_inverse_values) ROW(unique_inverse_inverse) ROW(unique_size) ROW(isin)
                ROW(extract) ROW(roll_flat) ROW(roll_axes) ROW(moveaxes) ROW(unstack) ROW(broadcast_arrays)
                    ROW(repeat_counts) ROW(repeat_counts_size) ROW(clip_int) ROW(clip_float) ROW(searchsorted_sorter)
                        ROW(quantile) ROW(average) ROW(can_cast) ROW(isdtype) ROW(finfo) ROW(iinfo) ROW(result_type)
};

TEST(functions_agree_with_numpy)
{
    numpy_suite *s = numpy_open("sets.bin", functions, CBX_LEN(functions));
    numpy_agrees(s, 12000);
    numpy_close(s);
}

TEST(the_comparison_can_fail)
{
    numpy_suite *s = numpy_open("sets.bin", functions, CBX_LEN(functions));
    CHECK_GT(numpy_spoiled(s, 50), 10, "spoiled results are seen");
    numpy_close(s);
}

TEST(every_allocation_may_fail)
{
    numpy_suite *s = numpy_open("sets.bin", functions, CBX_LEN(functions));
    CHECK_GT(numpy_torture(s), 1000, "allocations were made to fail");
    numpy_close(s);
}

/* What the array API requires of NaN and infinity as complex numbers, and numpy's unique does not
 * do for complex ones. */
TEST(complex_edges)
{
    static const struct {
        cbx_array *(*fn)(cbx_ctx *, const cbx_array *);
        double z[2], want[2];
        const char *why;
    } cases[] = {
        { cbx_expm1, { INFINITY, 0 }, { INFINITY, 0 }, "expm1 of infinity" },
        { cbx_expm1, { -INFINITY, INFINITY }, { -1, 0 }, "expm1 of -infinity, no angle" },
        { cbx_expm1, { -INFINITY, NAN }, { -1, 0 }, "expm1 of -infinity, NaN" },
        { cbx_expm1, { INFINITY, NAN }, { INFINITY, NAN }, "expm1 of infinity, NaN" },
        { cbx_expm1, { NAN, 0 }, { NAN, 0 }, "expm1 of NaN, 0" },
        { cbx_expm1, { -INFINITY, 1 }, { -1, 0 }, "expm1 of -infinity" },
        { cbx_log1p, { -1, 0 }, { -INFINITY, 0 }, "log1p of -1" },
        { cbx_log1p, { 2, INFINITY }, { INFINITY, M_PI_2 }, "log1p of i infinity" },
        { cbx_log1p, { -INFINITY, 1 }, { INFINITY, M_PI }, "log1p of -infinity" },
        { cbx_log1p, { -INFINITY, INFINITY }, { INFINITY, 3 * M_PI_4 }, "log1p of a corner" },
        { cbx_log1p, { NAN, INFINITY }, { INFINITY, NAN }, "log1p of NaN, infinity" },
        { cbx_log1p, { INFINITY, NAN }, { INFINITY, NAN }, "log1p of infinity, NaN" },
        { cbx_log1p, { 1e200, 1e200 }, { 460.8635921890, M_PI_4 }, "log1p of large numbers" },
        { cbx_sign, { 0, 0 }, { 0, 0 }, "sign of 0" },
        { cbx_sign, { 3, -4 }, { 0.6, -0.8 }, "sign" },
        { cbx_log2, { INFINITY, 0 }, { INFINITY, 0 }, "log2 of infinity" },
    };
    cbx_ctx *c = cbx_test_context();
    const double z[] = { 1, 2, NAN, 1, 1, -2, 1, NAN, 1, 2, NAN, NAN };
    cbx_array *x = cbx_asarray(c, &(cbx_array_desc){ CBX_C128, 1, { 6 } }, z);

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        double got[2];
        cbx_array *r = cases[i].fn(c, cbx_asarray(c, &(cbx_array_desc){ CBX_C128, 0, { 0 } }, cases[i].z));
        CHECK_OK(cbx_array_read(r, got, sizeof got, NULL), (&(cbx_err){ 0 }), cases[i].why);
        for (int k = 0; k < 2; k++) {
            double w = cases[i].want[k];
            CHECK(got[k] == w || (isnan(w) && isnan(got[k])) || fabs(got[k] - w) <= 1e-9 * fabs(w), cases[i].why);
        }
    }
    CHECK_INT(cbx_array_count(cbx_unique(c, x)), 3, "two numbers and NaN");
    CHECK_INT(cbx_array_count(cbx_unique_values(c, x)), 5, "two numbers and three NaNs");
    cbx_ctx_free(c);
}

TEST(sizes_make_it_traceable)
{
    cbx_ctx *c = cbx_test_context();
    cbx_array *x = NULL, *ids5 = NULL, *r[3];
    cbx_unique_parts p;
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_array_create_abstract(c, &(cbx_array_desc){ CBX_F32, 2, { 3, 5 } }, &x, &err), &err, "abstract");
    CHECK_OK(cbx_array_create_abstract(c, &(cbx_array_desc){ CBX_I64, 1, { 3 } }, &ids5, &err), &err, "abstract");
    cbx_unique_size(c, x, 4, NULL, &p);
    CHECK(cbx_array_is_abstract(p.values) && cbx_array_dim(p.values, 0) == 4, "values");
    CHECK(cbx_array_dim(p.counts, 0) == 4 && cbx_array_dim(p.indices, 0) == 4, "counts and indices");
    CHECK(cbx_array_dim(p.inverse, 0) == 3 && cbx_array_dim(p.inverse, 1) == 5, "inverse in the operand's shape");
    CHECK(cbx_array_dim(cbx_isin(c, x, x, false), 1) == 5, "isin");
    CHECK(cbx_array_dim(cbx_repeat_counts_size(c, x, ids5, 0, 11), 0) == 11, "repeat to a length");
    CHECK(cbx_array_dim(cbx_segment_mean(c, x, ids5, 2), 0) == 2, "segments");
    CHECK(cbx_array_dim(cbx_quantile(c, x, 2, (const double[]){ 0.1, 0.9 }, CBX_AXIS(1)), 1) == 3, "quantiles");
    CHECK(cbx_array_ndim(cbx_average(c, x, ids5, CBX_AXIS(0))) == 1, "average");
    CHECK(cbx_array_dim(cbx_cumulative_sum_initial(c, x, 1), 1) == 6, "running sums");
    cbx_unstack(c, cbx_flip_axes(c, cbx_roll_flat(c, x, 2), NULL), 0, 3, r);
    CHECK(cbx_array_is_abstract(r[2]) && cbx_array_dim(r[2], 0) == 5, "unstack");
    CHECK(cbx_array_is_abstract(cbx_log1p(c, cbx_astype(c, x, CBX_C64))), "complex forms");
    CHECK_OK(cbx_ctx_pending(c, &err), &err, "nothing failed");
    cbx_array_free(x);
    cbx_array_free(ids5);
    cbx_ctx_free(c);
}

static cbx_array *refused(cbx_ctx *c, int which, const cbx_array *abstract)
{
    cbx_array *x = cbx_arange(c, 0, 6, 1, CBX_F64), *i = cbx_astype(c, x, CBX_I64), *out[3];
    cbx_scalar big = cbx_int(300);
    cbx_unique_parts p;

    switch (which) {
    case 0: return cbx_unique(c, abstract);
    case 1: return all_of(c, abstract).counts;
    case 2: return cbx_setdiff1d(c, x, abstract);
    case 3: return cbx_extract(c, abstract, x);
    case 4: return cbx_extract(c, cbx_slice(c, x, 0, 0, 3, 1), x);
    case 5: cbx_unique_size(c, cbx_slice(c, x, 0, 0, 0, 1), 3, NULL, &p); return p.values;
    case 6: cbx_unique_size(c, cbx_astype(c, x, CBX_U8), 3, &big, &p); return p.inverse;
    case 7: return cbx_unique(c, NULL);
    case 8: return cbx_segment_max(c, x, cbx_slice(c, i, 0, 0, 3, 1), 2);
    case 9: return cbx_segment_sum(c, x, i, 5);
    case 10: return cbx_segment_mean(c, cbx_zeros(c, 0, NULL, CBX_F64), i, 5);
    case 11: return cbx_flip_axes(c, x, &(cbx_axes){ .n = 2, .axis = { 0, -1 } });
    case 12: return cbx_moveaxes(c, cbx_expand_dims(c, x, 0), 2, (const int[]){ 0, 1 }, (const int[]){ 1, -1 });
    case 13: return cbx_squeeze_axes(c, x, CBX_AXIS(0));
    case 14: cbx_unstack(c, x, 0, 3, out); return out[0];
    case 15: return cbx_repeat_counts(c, x, cbx_negative(c, i), 0);
    case 16: return cbx_repeat_counts(c, x, x, 0);
    case 17: return cbx_repeat_counts(c, abstract, abstract, 0);
    case 18: return cbx_quantile(c, x, 2, (const double[]){ 0.5, 1.5 }, NULL);
    case 19: return cbx_quantile(c, x, 0, NULL, NULL);
    case 20: return cbx_average(c, cbx_expand_dims(c, x, 0), x, NULL);
    case 21: return cbx_positive(c, cbx_ones(c, 0, NULL, CBX_BOOL));
    case 22: return cbx_isin(c, cbx_astype(c, x, CBX_C128), x, false);
    case 23:
        cbx_broadcast_arrays(c, 2, (const cbx_array *const[]){ x, cbx_slice(c, x, 0, 0, 4, 1) }, out);
        return out[1];
    case 24: return cbx_segment_min(c, cbx_astype(c, x, CBX_C64), i, 9);
    default: /* counts whose sum wraps */
        return cbx_repeat_counts(c, x, cbx_full(c, 0, NULL, CBX_I64, cbx_int(INT64_MAX - 1)), 0);
    }
}

TEST(bad_input_gets_one_sentence)
{
    static const struct {
        cbx_status status;
        const char *words;
    } cases[] = {
        { CBX_EINVAL, "'unique' depends on data, which a trace has not: use 'unique_size'" },
        { CBX_EINVAL, "'unique_all' depends" },
        { CBX_EINVAL, "use 'isin'" },
        { CBX_EINVAL, "use 'where'" },
        { CBX_ESHAPE, "'extract' of 6 elements with 3" },
        { CBX_EINVAL, "needs a fill" },
        { CBX_EOVERFLOW, "300 is out of the range of uint8" },
        { CBX_EINVAL, "NULL" },
        { CBX_ESHAPE, "'segment_max' of 6 rows" },
        { CBX_EINDEX, "index 5" },
        { CBX_ESHAPE, "'segment_mean' needs an axis" },
        { CBX_EINVAL, "axis 0 of 'flip' is named twice" },
        { CBX_EINVAL, "axis 1 of 'moveaxis' is named twice" },
        { CBX_ESHAPE, "axis 0 has 6" },
        { CBX_ESHAPE, "'unstack' of axis 0 with 6 elements into 3" },
        { CBX_EDOM, "'repeat' of -5 times" },
        { CBX_EDTYPE, "integers, not float64" },
        { CBX_EINVAL, "use 'repeat_counts_size'" },
        { CBX_EDOM, "'quantile' of 1.5" },
        { CBX_EINVAL, "no arrays" },
        { CBX_ESHAPE, "'average' takes weights" },
        { CBX_EDTYPE, "not take bool" },
        { CBX_EDTYPE, "complex128" },
        { CBX_ESHAPE, "do not broadcast" },
        { CBX_EDTYPE, "complex numbers have no order" },
        { CBX_EOVERFLOW, "'repeat' makes axis 0 too long" },
    };
    cbx_ctx *c = cbx_test_context();
    cbx_array *abstract = NULL;

    CHECK_OK(cbx_array_create_abstract(c, &(cbx_array_desc){ CBX_I64, 1, { 6 } }, &abstract, NULL), (&(cbx_err){ 0 }),
             "abstract");
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_scope scope;
        cbx_err err = CBX_ERR_INIT;
        cbx_scope_open(c, &scope);
        CHECK(cbx_array_is_failed(refused(c, (int)i, abstract)), cases[i].words);
        CHECK_STATUS(cbx_scope_close(&scope, &err), cases[i].status, cases[i].words);
        if (!strstr(err.message, cases[i].words)) fail_msg("\"%s\" lacks \"%s\"", err.message, cases[i].words);
    }
    cbx_array_free(abstract);
    cbx_ctx_free(c);
}

TEST(facts_without_an_array)
{
    cbx_err err = CBX_ERR_INIT;
    const cbx_scalar scalars[] = { cbx_int(1), cbx_float(2) };
    cbx_ctx *c = cbx_test_context();
    const cbx_array *x[] = { cbx_zeros(c, 0, NULL, CBX_F32), NULL };
    cbx_dtype t;
    bool is;

    CHECK_STATUS(cbx_result_type(0, NULL, 2, scalars, &t, &err), CBX_OK, "scalars alone");
    CHECK_INT(t, CBX_F64, "are their kind's dtype");
    CHECK_STATUS(cbx_result_type(1, x, 2, scalars, &t, &err), CBX_OK, "with an array");
    CHECK_INT(t, CBX_F32, "they are weak");
    CHECK_STATUS(cbx_result_type(0, NULL, 0, NULL, &t, &err), CBX_EINVAL, "nothing");
    CHECK_STATUS(cbx_result_type(2, x, 0, NULL, &t, &err), CBX_EINVAL, "no array");
    CHECK(strstr(err.message, "operand 2") != NULL, "names it");
    CHECK_STATUS(cbx_dtype_isdtype(CBX_F32, "float", &is, &err), CBX_EINVAL, "no kind");
    CHECK(strstr(err.message, "real floating") != NULL, "names the kinds");
    CHECK_STATUS(cbx_dtype_finfo(CBX_I8, &(cbx_finfo){ 0 }, &err), CBX_EDTYPE, "finfo");
    CHECK_STATUS(cbx_dtype_iinfo(CBX_BOOL, &(cbx_iinfo){ 0 }, &err), CBX_EDTYPE, "iinfo");
    CHECK(!cbx_can_cast((cbx_dtype)77, CBX_F64) && !cbx_can_cast(CBX_F64, (cbx_dtype)77), "no dtype");
    CHECK(CBX_PI == acos(-1.0) && CBX_E == exp(1.0), "constants");
    cbx_ctx_free(c);
}

/* Results with several parts keep none of their steps. */
TEST(steps_are_not_kept)
{
    cbx_ctx *c = cbx_test_context();
    cbx_array *x = cbx_floor_divide_scalar(c, cbx_arange(c, 0, 100000, 1, CBX_F64), 2);
    cbx_pool_stats before, after;
    cbx_unique_parts p;

    cbx_pool_get_stats(cbx_ctx_pool(c), &before);
    cbx_unique_with(c, x, true, &p);
    cbx_pool_get_stats(cbx_ctx_pool(c), &after);
    CHECK_LE((double)(after.bytes_in_use - before.bytes_in_use) / 800000.0, 4.2, "half, half, one, half; as blocks");
    CHECK_STATUS(cbx_ctx_pending(c, NULL), CBX_OK, "nothing failed");
    cbx_ctx_free(c);
}

TESTS()
