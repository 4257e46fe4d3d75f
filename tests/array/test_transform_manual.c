/* The examples of docs/reference/arrays.md on transforms and control flow: what the manual shows is
 * here, and is run. */
#include "transform_support.h"

#include "calibrax/array/linalg.h"

#include <stdio.h>
#include <stdlib.h>

static cbx_status distance(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    (void)nin, (void)nout, (void)user;
    out[0] = cbx_sqrt(c, cbx_sum(c, cbx_square(c, cbx_subtract(c, in[0], in[1])), NULL));
    return CBX_OK;
}

/* All distances between m points a (m, k) and n points b (n, k): (m, n). */
static cbx_status distances(cbx_ctx *c, cbx_array *a, cbx_array *b, cbx_array **out, cbx_err *err)
{
    cbx_fn *row = NULL, *table = NULL;
    cbx_status st = cbx_vmap(c, CBX_FN(distance, NULL, 2, 1), (const int[]){ CBX_NOT_MAPPED, 0 }, NULL, &row, err);

    if (!st) st = cbx_vmap(c, row, (const int[]){ 0, CBX_NOT_MAPPED }, NULL, &table, err);
    if (!st) st = cbx_fn_run(c, table, 2, (cbx_array *const[]){ a, b }, 1, out, err);
    cbx_fn_free(row);
    cbx_fn_free(table);
    return st;
}

static cbx_status smooth_step(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    const double *alpha = user;
    (void)nin, (void)nout;
    out[0] = cbx_add(c, cbx_multiply_scalar(c, in[0], 1 - *alpha), cbx_multiply_scalar(c, in[1], *alpha));
    out[1] = out[0]; /* carried and stacked */
    return CBX_OK;
}

/* Exponential smoothing of the first axis: s[t] = (1 - alpha) s[t-1] + alpha x[t], s[-1] = x[0]. */
static cbx_array *smoothed(cbx_ctx *c, cbx_array *x, double alpha)
{
    cbx_array *first = cbx_index(c, x, 0, 0), *out[2];

    cbx_scan(c, CBX_FN(smooth_step, &alpha, 2, 2), 1, &first, 1, &x, CBX_LENGTH_OF_XS, false, out);
    return out[1];
}

static cbx_status not_there(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    (void)nin, (void)nout, (void)user;
    out[0] = cbx_greater_scalar(c, cbx_max(c, cbx_abs(c, cbx_subtract(c, in[0], in[1])), NULL), 1e-12);
    return CBX_OK;
}

static cbx_status kepler_step(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    const double e = *(const double *)user;
    cbx_array *x = in[0], *mean = in[2];
    cbx_array *residual = cbx_subtract(c, cbx_subtract(c, x, cbx_multiply_scalar(c, cbx_sin(c, x), e)), mean);
    cbx_array *derivative = cbx_subtract(c, cbx_ones_like(c, x), cbx_multiply_scalar(c, cbx_cos(c, x), e));

    (void)nin, (void)nout;
    out[0] = cbx_subtract(c, x, cbx_divide(c, residual, derivative));
    out[1] = x;
    out[2] = mean;
    return CBX_OK;
}

/* Kepler's equation x - e sin(x) = mean by Newton's steps, until none moves by more than 1e-12. */
static cbx_array *kepler(cbx_ctx *c, cbx_array *mean, double e)
{
    cbx_array *start[3] = { mean, cbx_add_scalar(c, mean, 1), mean }, *out[3];

    cbx_while_loop(c, CBX_FN(not_there, NULL, 3, 1), CBX_FN(kepler_step, &e, 3, 3), 3, start, out);
    return out[0];
}

/* Sum of squares of y - a exp(-k x), a function of (a, k). */
static cbx_status misfit(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    const cbx_array *const *xy = user;
    const cbx_array *a = cbx_index(c, in[0], 0, 0), *k = cbx_index(c, in[0], 0, 1);
    const cbx_array *model = cbx_multiply(c, a, cbx_exp(c, cbx_multiply(c, cbx_negative(c, k), xy[0])));

    (void)nin, (void)nout;
    out[0] = cbx_sum(c, cbx_square(c, cbx_subtract(c, xy[1], model)), NULL);
    return CBX_OK;
}

/* One step of Newton's method on it: p - H^-1 g. */
static cbx_status newton(cbx_ctx *c, const cbx_array *const xy[2], cbx_array *p, cbx_array **out, cbx_err *err)
{
    const cbx_fn *f = CBX_FN(misfit, (void *)(uintptr_t)xy, 1, 1);
    cbx_array *g = NULL, *h = NULL;
    cbx_fn *gradient = NULL, *hessian = NULL;
    cbx_scope scope;
    cbx_status st = cbx_grad(c, f, 0, NULL, &gradient, err);

    cbx_scope_open(c, &scope);
    if (!st) st = cbx_hessian(c, f, 0, &hessian, err);
    if (!st) cbx_fn_call(c, gradient, 1, &p, 1, &g);
    if (!st) cbx_fn_call(c, hessian, 1, &p, 1, &h);
    if (!st) *out = cbx_subtract(c, p, cbx_solve(c, h, g));
    cbx_fn_free(gradient);
    cbx_fn_free(hessian);
    return st ? (cbx_scope_close(&scope, NULL), st) : cbx_scope_close_keep(&scope, 1, out, err);
}

/* log(1 + exp(x)) */
static cbx_status softplus(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    (void)nin, (void)nout, (void)user;
    out[0] = cbx_logaddexp(c, in[0], cbx_zeros_like(c, in[0]));
    return CBX_OK;
}

/* (x, t) to (y, t / (1 + exp(-x))) */
static cbx_status softplus_rule(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    const cbx_array *e = cbx_exp(c, cbx_negative(c, in[0]));

    (void)user;
    out[1] = cbx_divide(c, in[1], cbx_add_scalar(c, e, 1));
    return softplus(c, nin, in, nout, out, NULL);
}

/* Slopes of it at all x. */
static cbx_status slopes(cbx_ctx *c, cbx_array *x, cbx_array **out, cbx_err *err)
{
    cbx_fn *f = NULL, *gradient = NULL, *all = NULL;
    cbx_status st = cbx_custom_jvp(c, CBX_FN(softplus, NULL, 1, 1), CBX_FN(softplus_rule, NULL, 2, 2), &f, err);

    if (!st) st = cbx_grad(c, f, 0, NULL, &gradient, err);
    if (!st) st = cbx_vmap(c, gradient, NULL, NULL, &all, err);
    if (!st) st = cbx_fn_run(c, all, 1, &x, 1, out, err);
    cbx_fn_free(all);
    cbx_fn_free(gradient);
    cbx_fn_free(f);
    return st;
}

TEST(examples_compute)
{
    cbx_ctx *c = context();
    cbx_err err = CBX_ERR_INIT;
    cbx_array *a = cbx_reshape(c, line(c, 6), 2, (const ptrdiff_t[]){ 3, 2 }), *b = of_shape(c, 4, 2), *r = NULL;

    CHECK_OK(distances(c, a, b, &r, &err), &err, "distances");
    CHECK(cbx_array_desc_equal(cbx_array_get_desc(r), &(cbx_array_desc){ CBX_F64, 2, { 3, 4 } }), "(m, n)");
    for (size_t i = 0; i < 12; i++) {
        double x = 2.0 * (double)(i / 4);
        CHECK_LE(fabs(at(r, i) - hypot(x - 1, x)), 1e-15 * hypot(x - 1, x), "by hand");
    }
    cbx_array_free(r);
    r = smoothed(c, line(c, 5), 0.25);
    double s = 0;
    for (size_t i = 0; i < 5; i++) {
        s = 0.75 * s + 0.25 * (double)i;
        CHECK_LE(fabs(at(r, i) - s), 1e-15, "by hand");
    }
    r = kepler(c, line(c, 4), 0.6);
    for (size_t i = 0; i < 4; i++)
        CHECK_LE(fabs(at(r, i) - 0.6 * sin(at(r, i)) - (double)i), 4e-15, "the equation holds");

    const double near[2] = { 1.9, 0.52 };
    cbx_array *x = line(c, 6), *y = cbx_multiply_scalar(c, cbx_exp(c, cbx_multiply_scalar(c, x, -0.5)), 2);
    cbx_array *p = cbx_asarray(c, &(const cbx_array_desc){ CBX_F64, 1, { 2 } }, near);
    for (int i = 0; i < 5; i++) {
        CHECK_OK(newton(c, (const cbx_array *const[]){ x, y }, p, &r, &err), &err, "a step");
        p = cbx_scope_hold(c, r);
    }
    CHECK_LE(fabs(at(p, 0) - 2) + fabs(at(p, 1) - 0.5), 1e-14, "the parameters that y was made with");

    const double far[3] = { -800, 0.5, 800 };
    CHECK_OK(slopes(c, cbx_asarray(c, &(const cbx_array_desc){ CBX_F64, 1, { 3 } }, far), &r, &err), &err, "slopes");
    CHECK(at(r, 0) == 0 && at(r, 2) == 1, "at both ends");
    CHECK_LE(fabs(at(r, 1) - 1 / (1 + exp(-0.5))), 1e-16, "the rule");
    cbx_array_free(r);
    cbx_ctx_free(c);
}

static char *slurp(const char *path)
{
    char name[1024];
    FILE *f;

    snprintf(name, sizeof name, "%s/%s", getenv("CALIBRAX_SOURCE_ROOT"), path);
    f = fopen(name, "rb");
    if (!f) fail_msg("cannot open '%s'", name);
    char *text = calloc(1, 1 << 20);
    CHECK_LE(fread(text, 1, (1 << 20) - 1, f), (1 << 20) - 2, "all of it");
    fclose(f);
    return text;
}

TEST(the_manual_shows_what_is_tested)
{
    char *manual = slurp("docs/reference/arrays.md"), *code = slurp("tests/array/test_transform_manual.c");
    char *from = strstr(manual, "## Transforms and control flow"), *end;
    int blocks = 0;

    CHECK(from != NULL, "the section");
    end = from ? strstr(from + 3, "\n## ") : NULL;
    if (end) *end = 0;
    while (from && (from = strstr(from, "```c\n")) != NULL) {
        from += 5;
        end = strstr(from, "```");
        CHECK(end != NULL, "a block ends");
        if (!end) break;
        *end = 0;
        if (!strstr(code, from)) fail_msg("the manual shows what is not here:\n%s", from);
        from = end + 1;
        blocks++;
    }
    CHECK_INT(blocks, 5, "examples");
    free(manual);
    free(code);
}

TESTS(.seconds = 600)
