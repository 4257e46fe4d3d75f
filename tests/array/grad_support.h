/*
 * What the tests of derivatives share: gradients by central differences at points in general.
 */
#ifndef CALIBRAX_TESTS_ARRAY_GRAD_SUPPORT_H
#define CALIBRAX_TESTS_ARRAY_GRAD_SUPPORT_H

#include "transform_support.h"

static const double points[5] = { 0.3, -0.7, 0.41, 0.9, -0.2 };

typedef struct given {
    cbx_ctx *c;
    cbx_scope scope;
} given;

static inline void start(given *g)
{
    g->c = context();
    cbx_scope_open(g->c, &g->scope);
}

static inline void end(given *g)
{
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_scope_close(&g->scope, &err), &err, "nothing failed");
    cbx_ctx_free(g->c);
}

static inline cbx_array *vector(cbx_ctx *c, size_t n, const double *v)
{
    return cbx_asarray(c, &(const cbx_array_desc){ CBX_F64, 1, { n } }, v);
}

/* The result of a transform, called and freed. */
static inline cbx_array *call1(cbx_ctx *c, cbx_fn *f, size_t nin, cbx_array *const *in)
{
    cbx_array *out[4] = { NULL };
    cbx_fn_call(c, f, nin, in, f->nout, out);
    cbx_fn_free(f);
    return out[0];
}

static inline cbx_fn *grad_of(cbx_ctx *c, const cbx_fn *f)
{
    cbx_fn *g = NULL;
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_grad(c, f, 0, NULL, &g, &err), &err, "grad");
    return g;
}

/* Element i of the gradient by (f(x + h) - f(x - h)) / 2h. */
static inline double difference(cbx_ctx *c, const cbx_fn *f, size_t n, const double *x, size_t i)
{
    const double h = 1e-5;
    double moved[64], y[2];

    for (int side = 0; side < 2; side++) {
        cbx_array *a, *r = NULL;
        memcpy(moved, x, n * sizeof *x);
        moved[i] += side ? -h : h;
        a = vector(c, n, moved);
        CHECK_STATUS(cbx_fn_call(c, f, 1, &a, 1, &r), CBX_OK, f->name);
        y[side] = at(r, 0);
    }
    return (y[0] - y[1]) / (2 * h);
}

static inline void near(double got, double want, double rel, const char *why)
{
    const double error = fabs(got - want) / fmax(1, fabs(want));
    if (!(error <= rel)) fail_msg("%s: %.17g, not %.17g", why, got, want);
}

/* The gradient of a function of a vector against differences. */
static inline void check_grad(cbx_ctx *c, const cbx_fn *f, size_t n, const double *x)
{
    cbx_array *a = vector(c, n, x), *g = call1(c, grad_of(c, f), 1, &a);

    CHECK(!cbx_array_is_failed(g), f->name);
    for (size_t i = 0; i < n; i++) near(at(g, i), difference(c, f, n, x, i), 2e-8, f->name);
}

#endif
