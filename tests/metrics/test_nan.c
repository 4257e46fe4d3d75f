/* NaN in operands: it reaches the result, or is refused. */
#include "cases.h"
#include "draw.h"

#include <math.h>
#include <stdlib.h>

#include "calibrax/array/backend.h"
#include "calibrax/array/transform.h"

static cbx_err err;

/* What is NaN has no rank, unless it does not count. */
TEST(ranks_of_nan)
{
    const double x[] = { 1, 2, 4, NAN, 1, 1 }, y[] = { 3, 2 }, mask[] = { 1, 0 }, wanted[] = { 0, 0, 1, 0 };
    const size_t shape[] = { 2, 3 };
    const cbx_metric_function *m;
    cbx_ctx *ctx = cbx_test_context();
    cbx_array *in[] = { array_of(ctx, 2, shape, x, false), array_of(ctx, 1, shape, y, false) };
    cbx_array *counts = array_of(ctx, 1, shape, mask, false);

    CHECK_OK(cbx_metric_find(ctx, "rank_histogram", &m, &err), &err, "the row");
    for (int k = 0; k < 2; k++) {
        const cbx_metric_options o = { .weights = k ? counts : NULL };
        size_t n;
        double *v = values_of(ctx, m, 2, in, &o, &n);
        CHECK_INT(n, 4, "members + 1");
        for (size_t i = 0; i < n; i++) CHECK(k ? v[i] == wanted[i] : isnan(v[i]), "a count");
        free(v);
    }
    cbx_array_free(counts);
    cbx_array_free(in[0]);
    cbx_array_free(in[1]);
    cbx_ctx_free(ctx);
}

/* Results of operands, one of which has a NaN, have one, or are refused; integers of a trace are
 * neither. */
static void check_nan(cbx_ctx *ctx, const cbx_metric_function *m, const drawn *d, const char *operand, bool compiled)
{
    cbx_metric_options o = { 0 };
    cbx_fn *f = NULL, *jitted = NULL;
    cbx_array *r = NULL;
    bool some = false;

    set_needs(m, &o);
    CHECK_OK(cbx_metric_fn(ctx, m, d->nin, &o, &f, &err), &err, m->name);
    if (compiled) CHECK_OK(cbx_jit(ctx, f, &jitted, &err), &err, m->name);
    const cbx_status st = cbx_fn_run(ctx, compiled ? jitted : f, d->nin, d->in, 1, &r, &err);
    if (!st) {
        double *v = read_all(r);
        for (size_t i = 0; i < cbx_array_count(r); i++) some |= isnan(v[i]);
        if (!some && cbx_array_dtype(r) == CBX_F64)
            fail_msg("%s loses the NaN of %s%s", m->name, operand, compiled ? ", compiled" : "");
        free(v);
        cbx_array_free(r);
    } else {
        CHECK(st == CBX_EDOM || st == CBX_EINDEX, m->name);
    }
    cbx_fn_free(jitted);
    cbx_fn_free(f);
}

TEST(nan_of_an_operand_reaches_the_result)
{
    cbx_ctx *ctx = cbx_test_context();
    const cbx_metric_function *m;

    for (size_t i = 0; (m = metric_at(ctx, i)); i++) {
        cbx_rng rng = cbx_rng_make(17, i);
        if (strcmp(m->name, "hamming_distance") == 0) continue; /* NaN is a number like others */
        for (size_t k = 0; k < cbx_metric_operands(m); k++) {
            drawn d;
            draw_operands(ctx, &rng, m, 0, &d);
            if (k < d.nin && cbx_dtype_kind(cbx_array_dtype(d.in[k])) == CBX_KIND_FLOAT) {
                const cbx_array_desc *desc = cbx_array_get_desc(d.in[k]);
                double *v = read_all(d.in[k]);
                v[cbx_array_count(d.in[k]) / 2] = NAN;
                cbx_array *x = array_of(ctx, desc->ndim, desc->shape, v, false);
                cbx_array_free(d.in[k]);
                d.in[k] = x;
                free(v);
                check_nan(ctx, m, &d, m->operands[k].name, false);
                if (!(m->flags & CBX_METRIC_DATA_SHAPED)) check_nan(ctx, m, &d, m->operands[k].name, true);
            }
            drawn_free(&d);
        }
    }
    cbx_ctx_free(ctx);
}

/* The operand with one element changed; whether its dtype has that number. */
static bool change(cbx_ctx *ctx, cbx_array **x, size_t place, double to)
{
    const cbx_array_desc *d = cbx_array_get_desc(*x);
    const bool whole = cbx_dtype_kind(d->dtype) <= CBX_KIND_INT;
    double *v;

    if (whole && to != rint(to)) return false;
    v = read_all(*x);
    v[place] = to;
    cbx_array *changed = array_of(ctx, d->ndim, d->shape, v, whole);
    free(v);
    cbx_array_free(*x);
    *x = changed;
    return true;
}

/* The result of a trace is NaN, or -1 if it is places, or the call fails. */
static void check_refused(cbx_ctx *ctx, const cbx_metric_function *m, const cbx_fn *compiled, const drawn *d,
                          const char *what)
{
    cbx_array *r = NULL;
    cbx_err how = CBX_ERR_INIT;
    const cbx_status st = cbx_fn_run(ctx, compiled, d->nin, d->in, 1, &r, &how);
    bool nan = false, none = true;

    if (st) {
        CHECK(st == CBX_EDOM || st == CBX_EINDEX, what);
        return;
    }
    double *v = read_all(r);
    for (size_t i = 0; i < cbx_array_count(r); i++) nan |= isnan(v[i]), none &= v[i] == -1;
    if (cbx_array_dtype(r) == CBX_F64 ? !nan : !none) fail_msg("%s, compiled, is %g: %s", m->name, v[0], what);
    free(v);
    cbx_array_free(r);
}

/* What a call with data refuses for a value is no number in a trace: of every operand of
 * every metric. */
TEST(traces_show_what_calls_refuse)
{
    static const double odd[] = { NAN, INFINITY, -1, -1e-3, 0.5, 2, 1e9 };
    cbx_ctx *ctx = cbx_test_context();
    const cbx_metric_function *m;
    size_t refused = 0;

    for (size_t i = 0; (m = metric_at(ctx, i)); i++) {
        cbx_metric_options o = { 0 };
        cbx_fn *f = NULL, *jitted = NULL;
        for (size_t k = 0; k < cbx_metric_operands(m) * CBX_LEN(odd); k++) {
            const size_t at = k / CBX_LEN(odd);
            cbx_rng rng = cbx_rng_make(18, i);
            drawn d;
            cbx_array *r = NULL;
            draw_operands(ctx, &rng, m, 0, &d);
            set_needs(m, &o);
            if (!f) CHECK_OK(cbx_metric_fn(ctx, m, d.nin, &o, &f, &err), &err, m->name);
            if (!jitted) CHECK_OK(cbx_jit(ctx, f, &jitted, &err), &err, m->name);
            if (at < d.nin && change(ctx, &d.in[at], cbx_array_count(d.in[at]) / 2, odd[k % CBX_LEN(odd)])) {
                const cbx_status st = cbx_fn_run(ctx, f, d.nin, d.in, 1, &r, &err);
                if (st == CBX_EDOM) check_refused(ctx, m, jitted, &d, err.message), refused++;
                cbx_array_free(r);
            }
            drawn_free(&d);
        }
        cbx_fn_free(jitted);
        cbx_fn_free(f);
    }
    CHECK_GT(refused, 500, "refusals");
    cbx_ctx_free(ctx);
}

/* Masks that are not of 0 and 1, negative weights, and those that leave nothing. */
TEST(traces_show_wrong_masks_and_weights)
{
    static const char *const names[] = { "mae", "r_squared", "pearson_correlation", "f1_score", "roc_auc" };
    static const struct {
        double v[4];
        bool mask;
    } cases[] = {
        { { 1, 2, 1, 0 }, true }, { { 0, 0, 0, 0 }, true }, { { 1, 2, -1, 1 }, false }, { { 0, 0, 0, 0 }, false }
    };
    const double x[] = { 1, 0, 1, 0 }, y[] = { 1, 1, 0, 0 };
    const size_t n = 4;
    cbx_ctx *ctx = cbx_test_context();

    for (size_t i = 0; i < CBX_LEN(names); i++)
        for (size_t k = 0; k < CBX_LEN(cases); k++) {
            const cbx_metric_function *m;
            cbx_fn *f = NULL, *jitted = NULL;
            cbx_array *option = array_of(ctx, 1, &n, cases[k].v, false);
            cbx_metric_options o = { .mask = cases[k].mask ? option : NULL, .weights = cases[k].mask ? NULL : option };
            drawn d = { .nin = 2 };
            double v;
            CHECK_OK(cbx_metric_find(ctx, names[i], &m, &err), &err, names[i]);
            for (size_t j = 0; j < 2; j++)
                d.in[j] = array_of(ctx, 1, &n, j ? y : x, m->operands[j].kind == CBX_OPERAND_LABELS);
            set_needs(m, &o);
            CHECK_STATUS(cbx_metric_value(ctx, names[i], 2, d.in, &o, &v, &err), CBX_EDOM, names[i]);
            CHECK_OK(cbx_metric_fn(ctx, m, 2, &o, &f, &err), &err, names[i]);
            CHECK_OK(cbx_jit(ctx, f, &jitted, &err), &err, names[i]);
            check_refused(ctx, m, jitted, &d, err.message);
            cbx_fn_free(jitted);
            cbx_fn_free(f);
            cbx_array_free(option);
            drawn_free(&d);
        }
    cbx_ctx_free(ctx);
}

/* What a call with data refuses, of operands (n) or (n, 1) and labels (n). */
TEST(traces_give_nan_for_refusals)
{
    static const struct {
        const char *metric;
        double x[2], y[2];
        int ndim;
    } cases[] = {
        { "kl_divergence", { 0.5, 0.25 }, { 0.5, 0.5 }, 1 },     { "total_variation", { 0, 0 }, { 0, 0 }, 1 },
        { "ranked_probability_score", { 0.5, 1 }, { 0, 0 }, 2 }, { "brier_score", { 0.5, 1.5 }, { 0, 1 }, 1 },
        { "poincare_distance", { 0.5, 3 }, { 0.5, 2 }, 2 },      { "lorentz_distance", { 1, 0.5 }, { 1, 1 }, 2 },
        { "ultrahyperbolic_distance", { 1, 2 }, { 1, 1 }, 2 },   { "grassmann_distance", { 1, 0 }, { 1, 1 }, 2 },
        { "stiefel_distance", { 1, 1 }, { 1, 0 }, 2 },           { "silhouette_score", { 0, 1 }, { 1, 1 }, 2 },
        { "calinski_harabasz_score", { 0, 1 }, { 1, 1 }, 2 },    { "davies_bouldin_score", { 0, 1 }, { 1, 1 }, 2 },
    };
    const size_t shape[] = { 2, 1 };
    cbx_ctx *ctx = cbx_test_context();

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const cbx_metric_function *m;
        cbx_metric_options o = { 0 };
        cbx_fn *f = NULL, *jitted = NULL;
        cbx_array *in[2], *r = NULL;
        double v;
        CHECK_OK(cbx_metric_find(ctx, cases[i].metric, &m, &err), &err, cases[i].metric);
        const bool labels[] = { m->operands[0].kind == CBX_OPERAND_LABELS, m->operands[1].kind == CBX_OPERAND_LABELS };
        in[0] = array_of(ctx, cases[i].ndim, shape, cases[i].x, labels[0]);
        in[1] = array_of(ctx, labels[1] ? 1 : cases[i].ndim, shape, cases[i].y, labels[1]);
        set_needs(m, &o);
        CHECK_STATUS(cbx_metric_value(ctx, m->name, 2, in, &o, &v, &err), CBX_EDOM, m->name);
        CHECK_OK(cbx_metric_fn(ctx, m, 2, &o, &f, &err), &err, m->name);
        CHECK_OK(cbx_jit(ctx, f, &jitted, &err), &err, m->name);
        CHECK_OK(cbx_fn_run(ctx, jitted, 2, in, 1, &r, &err), &err, m->name);
        CHECK(isnan(*(const double *)cbx_array_data(r)), m->name);
        cbx_array_free(r);
        cbx_fn_free(jitted);
        cbx_fn_free(f);
        cbx_array_free(in[0]);
        cbx_array_free(in[1]);
    }
    cbx_ctx_free(ctx);
}

/* Scores with a NaN have no largest one: refused, NaN in a trace, and without effect where a mask
 * leaves them out. */
TEST(scores_with_nan_are_no_label)
{
    const double v[] = { 0.25, NAN, 1, 0, 0, 1 }, t[] = { 0, 0, 1 }, mask[] = { 0, 1, 1 };
    const size_t shape[] = { 3, 2 };
    cbx_ctx *ctx = cbx_test_context();
    cbx_array *in[] = { array_of(ctx, 2, shape, v, false), array_of(ctx, 1, shape, t, true) }, *r = NULL;
    cbx_array *rest = array_of(ctx, 1, shape, mask, false);
    const cbx_metric_options o = { .mask = rest };
    const cbx_metric_function *m;
    cbx_fn *f = NULL, *jitted = NULL;
    double x = 0;

    CHECK_STATUS(cbx_metric_value(ctx, "accuracy", 2, in, NULL, &x, &err), CBX_EDOM, "NaN");
    CHECK_STR(err.message, "accuracy: 'predictions'[0, 1] is nan: it must be a number", "its sentence");
    CHECK_OK(cbx_metric_value(ctx, "accuracy", 2, in, &o, &x, &err), &err, "masked");
    CHECK(x == 1, "of the others");
    CHECK_OK(cbx_metric_find(ctx, "accuracy", &m, &err), &err, "accuracy");
    CHECK_OK(cbx_metric_fn(ctx, m, 2, NULL, &f, &err), &err, "as a function");
    CHECK_OK(cbx_jit(ctx, f, &jitted, &err), &err, "compiled");
    CHECK_OK(cbx_fn_run(ctx, jitted, 2, in, 1, &r, &err), &err, "in a trace");
    CHECK(isnan(*(const double *)cbx_array_data(r)), "NaN");
    cbx_array_free(r);
    cbx_fn_free(jitted);
    cbx_fn_free(f);
    cbx_array_free(rest);
    cbx_array_free(in[0]);
    cbx_array_free(in[1]);
    cbx_ctx_free(ctx);
}

/* Compiled code compares values with their bounds: a wrong one is refused as by the first call, and
 * what may be NaN is. */
TEST(compiled_calls_refuse)
{
    enum { N = 4096, AT = 4000 };
    static double x[N], y[N], z[N];
    const size_t n = N;
    cbx_ctx *ctx = cbx_test_context();
    double v, first = 0;

    CHECK_OK(cbx_ctx_set_backend(ctx, cbx_backend_jit(), &err), &err, "the backend");
    for (size_t i = 0; i < N; i++) x[i] = (double)(i % 7) / 8, y[i] = (double)(i % 2), z[i] = 1 + (double)(i % 3);
    for (size_t call = 0; call < 8; call++) {
        x[AT] = call < 4 || call == 7 ? 0.5 : call == 4 ? 1.5 : call == 5 ? -0.25 : NAN;
        cbx_array *in[] = { array_of(ctx, 1, &n, x, false), array_of(ctx, 1, &n, y, false),
                            array_of(ctx, 1, &n, z, false) };
        const cbx_status st = cbx_metric_value(ctx, "brier_score", 2, in, NULL, &v, &err);
        if (call == 0) first = v;
        if (call < 4 || call == 7) {
            CHECK_OK(st, &err, "legal");
            CHECK(v == first, "the same bits");
        } else {
            CHECK_STATUS(st, CBX_EDOM, "a value outside");
            CHECK_STR(err.message,
                      call == 4   ? "brier_score: 'predictions'[4000] is 1.5: it must be between 0 and 1"
                      : call == 5 ? "brier_score: 'predictions'[4000] is -0.25: it must be between 0 and 1"
                                  : "brier_score: 'predictions'[4000] is nan: it must be between 0 and 1",
                      "its sentence");
        }
        cbx_array *const normal[] = { in[0], in[2], in[1] };
        CHECK_OK(cbx_metric_value(ctx, "gaussian_nll", 3, normal, NULL, &v, &err), &err, "a mean");
        CHECK(isnan(v) == isnan(x[AT]), "that may be NaN");
        for (size_t k = 0; k < 3; k++) cbx_array_free(in[k]);
    }
    cbx_ctx_free(ctx);
}

TESTS(.seconds = 600)
