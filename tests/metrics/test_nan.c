/* NaN in operands: it reaches the result, or is refused. */
#include "cases.h"
#include "draw.h"

#include <math.h>
#include <stdlib.h>

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

/* Results of operands, one of which has a NaN, have one, or are refused; integers of a trace are neither. */
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
        CHECK_STATUS(st, CBX_EDOM, m->name);
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
        { "poincare_distance", { 0.5, 3 }, { 0.5, 2 }, 2 },      { "silhouette_score", { 0, 1 }, { 1, 1 }, 2 },
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

/* Scores with a NaN have no largest one: refused, NaN in a trace, and without effect where a mask leaves them out. */
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

TESTS(.seconds = 300)
