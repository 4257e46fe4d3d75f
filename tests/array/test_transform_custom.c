/*
 * Derivatives that are not those of the operations: stop_gradient, custom_jvp, custom_vjp,
 * checkpoint and scans that keep few carries.  Values are closed forms, or the same function
 * without the transform; test_transform_jax.c compares with JAX.
 */
#include "transform_support.h"

#include "calibrax/array/backend.h"
#include "calibrax/array/trace/cost.h"
#include "fail_alloc.h"

typedef struct given {
    cbx_ctx *c;
    cbx_scope scope;
} given;

static void start(given *g)
{
    g->c = context();
    cbx_scope_open(g->c, &g->scope);
}

static void end(given *g)
{
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_scope_close(&g->scope, &err), &err, "nothing failed");
    cbx_ctx_free(g->c);
}

static cbx_fn *made(cbx_status st, cbx_fn **f, const cbx_err *err, const char *what)
{
    CHECK_OK(st, err, what);
    return *f;
}
#define MADE(f, make) made(make, &(f), &err, #make)

/* A transform called and freed. */
static void once(cbx_ctx *c, cbx_fn *f, cbx_array *const *in, cbx_array **out)
{
    cbx_fn_call(c, f, f->nin, in, f->nout, out);
    cbx_fn_free(f);
}
static cbx_fn *grad_of(cbx_ctx *c, const cbx_fn *f)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *g = NULL;
    return MADE(g, cbx_grad(c, f, 0, NULL, &g, &err));
}
static cbx_fn *batch_of_grad(cbx_ctx *c, const cbx_fn *f, const int *in_axes)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *g = grad_of(c, f), *v = NULL;
    MADE(v, cbx_vmap(c, g, in_axes, NULL, &v, &err));
    cbx_fn_free(g);
    return v;
}
static cbx_array *gradient(cbx_ctx *c, const cbx_fn *f, cbx_array *x)
{
    cbx_array *g = NULL;
    once(c, grad_of(c, f), &x, &g);
    return g;
}

/* The same, compiled. */
static cbx_array *compiled_gradient(cbx_ctx *c, const cbx_fn *f, cbx_array *x)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *g = grad_of(c, f), *fast = NULL;
    cbx_array *r = NULL;
    CHECK_OK(cbx_jit(c, g, &fast, &err), &err, "jit");
    cbx_fn_free(g);
    once(c, fast, &x, &r);
    return r;
}

static void near(double got, double want, const char *why)
{
    if (!(fabs(got - want) <= 1e-13 * fmax(1, fabs(want)))) fail_msg("%s: %.17g, not %.17g", why, got, want);
}
static void same(cbx_ctx *c, const cbx_array *a, const cbx_array *b, const char *why)
{
    CHECK(!cbx_array_is_failed(a) && !cbx_array_is_failed(b), why);
    CHECK(cbx_array_desc_equal(cbx_array_get_desc(a), cbx_array_get_desc(b)), why);
    CHECK(at(cbx_all(c, cbx_equal(c, a, b), NULL), 0) != 0, why);
}

static cbx_array *curve(cbx_ctx *c, size_t n) { return cbx_sin(c, cbx_multiply_scalar(c, line(c, n), 0.7)); }

/* ---- stop_gradient ---- */

FN(half_stopped) /* sum of x stop(x) */
{
    UNUSED;
    out[0] = cbx_sum(c, cbx_multiply(c, in[0], cbx_stop_gradient(c, in[0])), NULL);
    return CBX_OK;
}
FN(all_stopped)
{
    UNUSED;
    out[0] = cbx_sum(c, cbx_square(c, cbx_stop_gradient(c, in[0])), NULL);
    return CBX_OK;
}

TEST(stopped)
{
    given g;
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *h = NULL;
    start(&g);
    cbx_ctx *c = g.c;
    cbx_array *x = curve(c, 5), *y[2], *rows = cbx_stack(c, 2, (const cbx_array *const[]){ x, x }, 0);
    static const cbx_dtype types[] = { CBX_BOOL, CBX_I8, CBX_U64, CBX_F32, CBX_C128 };

    same(c, cbx_stop_gradient(c, x), x, "the value itself");
    for (size_t i = 0; i < CBX_LEN(types); i++)
        CHECK_INT(cbx_array_dtype(cbx_stop_gradient(c, cbx_zeros(c, 1, (const size_t[]){ 3 }, types[i]))), types[i],
                  "of any dtype");
    same(c, gradient(c, PLAIN(half_stopped, 1, 1), x), x, "d/dx x stop(x) = x");
    same(c, gradient(c, PLAIN(all_stopped, 1, 1), x), cbx_zeros_like(c, x), "nothing moves");
    once(c, MADE(h, cbx_hessian(c, PLAIN(half_stopped, 1, 1), 0, &h, &err)), &x, y);
    same(c, y[0], cbx_zeros(c, 2, (const size_t[]){ 5, 5 }, CBX_F64), "x is stopped in the gradient, too");
    once(c, batch_of_grad(c, PLAIN(half_stopped, 1, 1), NULL), &rows, y);
    same(c, y[0], rows, "over a batch");
    cbx_fn *both = grad_of(c, PLAIN(half_stopped, 1, 1));
    once(c, MADE(h, cbx_jit(c, both, &h, &err)), &x, y);
    same(c, y[0], x, "compiled");
    cbx_fn_free(both);
    once(c, MADE(h, cbx_jit(c, PLAIN(half_stopped, 1, 1), &h, &err)), &x, y);
    near(at(y[0], 0), at(cbx_sum(c, cbx_square(c, x), NULL), 0), "the value, compiled");
    once(c, MADE(h, cbx_jvp(c, PLAIN(all_stopped, 1, 1), 0, NULL, &h, &err)), (cbx_array *const[]){ x, x }, y);
    CHECK(at(y[1], 0) == 0, "forward");
    end(&g);
}

/* ---- custom_jvp ---- */

FN(log1pexp) /* log(1 + exp(x)), whose own derivative is NaN for large x */
{
    UNUSED;
    out[0] = cbx_log(c, cbx_add_scalar(c, cbx_exp(c, in[0]), 1));
    return CBX_OK;
}
FN(log1pexp_jvp) /* t (1 - 1 / (1 + exp(x))); user: the custom function, or NULL */
{
    UNUSED;
    cbx_array *one = cbx_ones_like(c, in[0]);
    cbx_fn_call(c, user ? *(cbx_fn **)user : PLAIN(log1pexp, 1, 1), 1, in, 1, out);
    out[1] = cbx_multiply(c, in[1], cbx_subtract(c, one, cbx_divide(c, one, cbx_add_scalar(c, cbx_exp(c, in[0]), 1))));
    return CBX_OK;
}
FN(sum_of) /* of a function, user */
{
    UNUSED;
    cbx_array *y = NULL;
    const cbx_status st = cbx_fn_call(c, user, nin, in, 1, &y);
    out[0] = cbx_sum(c, y, NULL);
    return st;
}

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

TEST(a_rule_for_tangents)
{
    given g;
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *f = NULL, *j = NULL, *h = NULL, *v = NULL;
    start(&g);
    cbx_ctx *c = g.c;
    const double values[] = { -3, -0.5, 0, 2, 1000 };
    cbx_array *x = cbx_asarray(c, &(const cbx_array_desc){ CBX_F64, 1, { 5 } }, values), *y[2], *t = curve(c, 5);

    MADE(f, cbx_custom_jvp(c, PLAIN(log1pexp, 1, 1), CBX_FN(log1pexp_jvp, &f, 2, 2), &f, &err));
    CHECK_STR(f->name, "log1pexp", "it is called as the function");
    const cbx_fn *sum = CBX_FN(sum_of, f, 1, 1);
    once(c, MADE(j, cbx_jvp(c, f, 0, NULL, &j, &err)), (cbx_array *const[]){ x, t }, y);
    cbx_array *d = gradient(c, sum, x),
              *own = gradient(c, CBX_FN(sum_of, (void *)(uintptr_t)PLAIN(log1pexp, 1, 1), 1, 1), x);
    CHECK(isnan(at(own, 4)), "without the rule");
    once(c, MADE(h, cbx_hessian(c, sum, 0, &h, &err)), &x, &y[0]);
    for (size_t i = 0; i < 5; i++) {
        near(at(d, i), sigmoid(values[i]), "grad");
        near(at(y[1], i), at(t, i) * sigmoid(values[i]), "jvp");
        if (i < 4) near(at(y[0], 6 * i), sigmoid(values[i]) * sigmoid(-values[i]), "a second derivative: of the rule");
    }
    once(c, batch_of_grad(c, f, NULL), &x, y);
    same(c, y[0], d, "vmap of grad");
    MADE(v, cbx_vmap(c, f, NULL, NULL, &v, &err));
    same(c, gradient(c, CBX_FN(sum_of, v, 1, 1), x), d, "grad of vmap");
    cbx_fn_free(v);
    cbx_fn_free(f);
    end(&g);
}

/* f(x, y, k) = (x sin y, 2 k): several operands and results, one of them an integer. */
FN(product)
{
    UNUSED;
    out[0] = cbx_multiply(c, in[0], cbx_sin(c, in[1]));
    out[1] = cbx_add(c, in[2], in[2]);
    return CBX_OK;
}
/* Its tangent is ten times the true one: what shows which derivative was taken.  A loop carries
 * values and tangents together. */
FN(ten_times)
{
    UNUSED;
    out[0] = in[1];
    out[1] = cbx_add(c, in[2], cbx_multiply(c, in[3], in[1]));
    out[2] = in[3];
    return CBX_OK;
}
FN(product_jvp)
{
    UNUSED;
    cbx_array *x = in[0], *y = in[1], *s = cbx_sin(c, y), *r[3];
    cbx_array *t = cbx_multiply(c, cbx_multiply(c, in[4], x), cbx_cos(c, y)), *zero = cbx_zeros_like(c, x);

    CHECK_INT(cbx_array_dtype(in[5]), CBX_I64, "an integer's tangent is like it");
    cbx_fori_loop(c, 0, 10, CBX_FN(ten_times, NULL, 4, 3), 3, (cbx_array *const[]){ s, zero, in[3] }, r);
    out[0] = cbx_multiply(c, x, s);
    out[1] = cbx_add(c, in[2], in[2]);
    out[2] = cbx_add(c, r[1], cbx_multiply_scalar(c, t, 10));
    out[3] = in[2];
    return CBX_OK;
}
FN(of_product) /* through a scan, a branch and the function itself */
{
    UNUSED;
    cbx_array *k = cbx_full(c, 0, NULL, CBX_I64, cbx_int(3)), *r[2];
    cbx_fn_call(c, user, 3, (cbx_array *const[]){ in[0], in[1], k }, 2, r);
    out[0] = cbx_sum(c, r[0], NULL);
    return CBX_OK;
}
FN(step_of_product)
{
    UNUSED;
    cbx_array *r[2];
    cbx_fn_call(c, user, 3, (cbx_array *const[]){ in[0], in[1], cbx_zeros(c, 0, NULL, CBX_I64) }, 2, r);
    out[0] = cbx_multiply_scalar(c, r[0], 0.5);
    out[1] = r[0];
    return CBX_OK;
}
FN(scan_of_product) /* carry' = carry sin(x) / 2 */
{
    UNUSED;
    cbx_array *one = number(c, 1), *r[2];
    cbx_scan(c, CBX_FN(step_of_product, user, 2, 2), 1, &one, 1, in, CBX_LENGTH_OF_XS, false, r);
    out[0] = r[0];
    return CBX_OK;
}
FN(branch_of_product)
{
    UNUSED;
    return cbx_cond(c, cbx_greater_scalar(c, cbx_sum(c, in[0], NULL), 0), CBX_FN(of_product, user, 2, 1),
                    CBX_FN(sum_of, (void *)(uintptr_t)PLAIN(add, 2, 1), 2, 1), 2, in, out);
}

TEST(rules_nest_in_control_flow)
{
    given g;
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *f = NULL, *d = NULL, *v = NULL;
    start(&g);
    cbx_ctx *c = g.c;
    cbx_array *x = cbx_add_scalar(c, curve(c, 4), 2), *y = curve(c, 4), *k = cbx_full(c, 0, NULL, CBX_I64, cbx_int(4));
    cbx_array *in[] = { x, y }, *grads[2], *r[2], *batch[2];

    MADE(f, cbx_custom_jvp(c, PLAIN(product, 3, 2), PLAIN(product_jvp, 6, 4), &f, &err));
    cbx_fn_call(c, f, 3, (cbx_array *const[]){ x, y, k }, 2, r);
    same(c, r[0], cbx_multiply(c, x, cbx_sin(c, y)), "the function itself");
    CHECK_INT(cbx_array_dtype(r[1]), CBX_I64, "and its integer");
    static const char *const what[] = { "plain", "in a branch" };
    const cbx_fn *fs[] = { CBX_FN(of_product, f, 2, 1), CBX_FN(branch_of_product, f, 2, 1) };
    for (int i = 0; i < 2; i++) {
        once(c, MADE(d, cbx_grad(c, fs[i], 2, NULL, &d, &err)), in, grads);
        for (size_t e = 0; e < 4; e++) {
            near(at(grads[0], e), 10 * sin(at(y, e)), what[i]);
            near(at(grads[1], e), 10 * at(x, e) * cos(at(y, e)), what[i]);
        }
    }
    once(c, MADE(d, cbx_jacfwd(c, fs[0], 0, &d, &err)), in, grads);
    near(at(grads[0], 2), 10 * sin(at(y, 2)), "jacfwd: the rule's tangents over a batch");

    /* each step multiplies the derivative by ten: d/dx_3 of 2^-4 prod sin(x_i), of which each carry
     * counts ten times more */
    const cbx_fn *walk = CBX_FN(scan_of_product, f, 1, 1);
    cbx_array *slope = gradient(c, walk, x);
    double all = 1;
    for (size_t e = 0; e < 4; e++) all *= sin(at(x, e)) / 2;
    for (size_t e = 0; e < 4; e++)
        near(at(slope, e), pow(10, (double)(4 - e)) * all * cos(at(x, e)) / sin(at(x, e)), "in a scan");
    cbx_array *rows = cbx_stack(c, 2, (const cbx_array *const[]){ x, cbx_negative(c, x) }, 1);
    once(c, batch_of_grad(c, walk, (const int[]){ 1 }), &rows, batch);
    same(c, cbx_index(c, batch[0], 0, 0), slope, "vmap of grad of scan");
    same(c, compiled_gradient(c, walk, x), slope, "compiled");

    /* one operand over a batch, the others shared */
    MADE(v, cbx_vmap(c, f, (const int[]){ CBX_NOT_MAPPED, 0, CBX_NOT_MAPPED }, NULL, &v, &err));
    cbx_array *ys = cbx_stack(c, 2, (const cbx_array *const[]){ y, x }, 0);
    once(c, MADE(d, cbx_vjp(c, v, 2, NULL, &d, &err)),
         (cbx_array *const[]){ x, ys, k, cbx_ones(c, 2, (const size_t[]){ 2, 4 }, CBX_F64),
                               cbx_zeros(c, 1, (const size_t[]){ 2 }, CBX_I64) },
         (cbx_array *[4]){ 0 });
    cbx_fn_free(v);
    cbx_fn_free(f);
    end(&g);
}

/* ---- custom_vjp ---- */

FN(scaled) /* a sin(x), of which the gradient is clipped to [-1/2, 1/2] */
{
    UNUSED;
    out[0] = cbx_multiply(c, in[0], cbx_sin(c, in[1]));
    return CBX_OK;
}
FN(scaled_fwd) /* two residuals of three; user: the custom function, or NULL */
{
    UNUSED;
    if (user)
        cbx_fn_call(c, *(cbx_fn **)user, 2, in, 1, out);
    else
        scaled(c, nin, in, nout, out, NULL);
    out[1] = in[0];
    out[2] = in[1];
    return CBX_OK;
}
FN(scaled_bwd)
{
    UNUSED;
    const cbx_array *low = cbx_full(c, 0, NULL, CBX_F64, cbx_float(-0.5)), *high = number(c, 0.5);
    CHECK_INT(cbx_array_ndim(in[2]), 0, "a residual left unset is a scalar");
    out[0] = cbx_multiply(c, in[3], cbx_sin(c, in[1]));
    out[1] = cbx_clip(c, cbx_multiply(c, in[3], cbx_multiply(c, in[0], cbx_cos(c, in[1]))), low, high);
    return CBX_OK;
}
FN(sum_of_scaled)
{
    UNUSED;
    cbx_array *y = NULL;
    const cbx_status st = cbx_fn_call(c, user, 2, in, 1, &y);
    out[0] = cbx_sum(c, y, NULL);
    return st;
}
FN(scan_of_scaled)
{
    UNUSED;
    cbx_array *one = number(c, 1), *r[1];
    cbx_scan(c, user, 1, &one, 1, in, CBX_LENGTH_OF_XS, false, r);
    out[0] = r[0];
    return CBX_OK;
}

static double clipped(double v) { return fmin(fmax(v, -0.5), 0.5); }

TEST(a_rule_for_cotangents)
{
    given g;
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *f = NULL, *d = NULL, *v = NULL, *h = NULL, *plain = NULL;
    start(&g);
    cbx_ctx *c = g.c;
    cbx_array *a = number(c, 0.8), *x = curve(c, 6), *in[] = { a, x }, *r[2], *b[2];

    MADE(f, cbx_custom_vjp(c, PLAIN(scaled, 2, 1), CBX_FN(scaled_fwd, &f, 2, 4), PLAIN(scaled_bwd, 4, 2), &f, &err));
    const cbx_fn *sum = CBX_FN(sum_of_scaled, f, 2, 1);
    /* the cotangent of the scalar a is summed by broadcasting's own rule only where a is one: give
     * it the shape of x */
    in[0] = cbx_add(c, cbx_zeros_like(c, x), a);
    once(c, MADE(d, cbx_grad(c, sum, 2, NULL, &d, &err)), in, r);
    for (size_t i = 0; i < 6; i++) {
        near(at(r[0], i), sin(at(x, i)), "cotangent of the first operand");
        near(at(r[1], i), clipped(0.8 * cos(at(x, i))), "of the second");
    }
    once(c, MADE(d, cbx_jacrev(c, f, 1, &d, &err)), in, b);
    for (size_t i = 0; i < 6; i++) near(at(b[0], 7 * i), clipped(0.8 * cos(at(x, i))), "jacrev");

    /* over a batch of x with one a: cotangents of a add up */
    MADE(v, cbx_vmap(c, f, (const int[]){ CBX_NOT_MAPPED, 0 }, NULL, &v, &err));
    once(c, MADE(d, cbx_grad(c, CBX_FN(sum_of_scaled, v, 2, 1), 2, NULL, &d, &err)), (cbx_array *const[]){ a, x }, b);
    double total = 0;
    for (size_t i = 0; i < 6; i++) total += sin(at(x, i));
    near(at(b[0], 0), total, "what all elements share");
    same(c, b[1], r[1], "and what each has");
    cbx_fn_free(v);

    /* in a scan, and over a batch of scans */
    const cbx_fn *walk = CBX_FN(scan_of_scaled, f, 1, 1);
    cbx_array *w = gradient(c, walk, x), *rows = cbx_stack(c, 2, (const cbx_array *const[]){ x, x }, 0);
    double carry[7] = { 1 }, ct = 1;
    for (size_t i = 0; i < 6; i++) carry[i + 1] = carry[i] * sin(at(x, i));
    for (size_t i = 6; i-- > 0;) {
        near(at(w, i), clipped(ct * carry[i] * cos(at(x, i))), "in a scan");
        ct *= sin(at(x, i));
    }
    once(c, batch_of_grad(c, walk, NULL), &rows, b);
    same(c, cbx_index(c, b[0], 0, 1), w, "over a batch");
    same(c, compiled_gradient(c, walk, x), w, "compiled");

    /* second derivatives are those of forward and backward: here of a forward function that
     * is plain */
    MADE(plain, cbx_custom_vjp(c, PLAIN(scaled, 2, 1), PLAIN(scaled_fwd, 2, 4), PLAIN(scaled_bwd, 4, 2), &plain, &err));
    once(c, MADE(h, cbx_hessian(c, CBX_FN(sum_of_scaled, plain, 2, 1), 1, &h, &err)), in, b);
    for (size_t i = 0; i < 6; i++)
        near(at(b[0], 7 * i), fabs(0.8 * cos(at(x, i))) < 0.5 ? -0.8 * sin(at(x, i)) : 0, "hessian");
    cbx_fn_free(plain);
    cbx_fn_free(f);
    end(&g);
}

/* ---- what is refused ---- */

FN(closes_over)
{
    UNUSED;
    out[0] = cbx_multiply(c, in[0], *(cbx_array **)user);
    return CBX_OK;
}
FN(closing)
{
    UNUSED;
    cbx_array *outside = in[0];
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *f = NULL;
    CHECK_OK(cbx_custom_jvp(c, CBX_FN(closes_over, &outside, 1, 1), PLAIN(log1pexp_jvp, 2, 2), &f, &err), &err, "make");
    cbx_array *one = cbx_ones_like(c, in[0]);
    cbx_fn_call(c, f, 1, &one, 1, out);
    out[0] = cbx_sum(c, out[0], NULL);
    cbx_fn_free(f);
    return CBX_OK;
}
FN(wrong_shape)
{
    UNUSED;
    out[0] = in[0];
    for (size_t i = 1; i < nout; i++) out[i] = cbx_zeros(c, 1, (const size_t[]){ 7 }, CBX_F64);
    return CBX_OK;
}
FN(wrong_dtype)
{
    UNUSED;
    out[0] = in[0];
    for (size_t i = 1; i < nout; i++) out[i] = cbx_astype(c, in[0], CBX_F32);
    return CBX_OK;
}
FN(refuses)
{
    UNUSED;
    out[0] = cbx_reshape(c, in[0], 1, (const ptrdiff_t[]){ 99 });
    out[1] = in[0];
    return CBX_OK;
}

TEST(refusals)
{
    enum { JVP, GRAD, LINEARIZE, JACFWD };
    const cbx_fn *f = PLAIN(identity, 1, 1), *rule = PLAIN(identity, 2, 2);
    static const char *const reverse_alone = "reverse derivatives alone";
    const struct {
        const cbx_fn *f, *first, *second;
        int how;
        cbx_status status;
        const char *words, *why;
    } cases[] = {
        { PLAIN(closing, 1, 1), NULL, NULL, GRAD, CBX_EUNSUPPORTED, "from outside", "a constant moves" },
        { f, PLAIN(wrong_shape, 2, 2), NULL, JVP, CBX_ESHAPE, "result 1 of 'wrong_shape' is float64 (7,)",
          "a tangent" },
        { f, PLAIN(wrong_dtype, 2, 2), NULL, GRAD, CBX_EDTYPE, "float32", "the same in reverse" },
        { f, PLAIN(refuses, 2, 2), NULL, GRAD, CBX_ESHAPE, "reshape", "a rule that fails" },
        { f, PLAIN(identity, 1, 1), PLAIN(wrong_shape, 1, 1), GRAD, CBX_OK, NULL, "what reads nothing" },
        { f, PLAIN(wrong_dtype, 1, 2), PLAIN(identity, 2, 1), GRAD, CBX_EDTYPE, "result 0 of 'identity'",
          "a cotangent" },
        { f, PLAIN(refuses, 1, 2), PLAIN(identity, 2, 1), GRAD, CBX_ESHAPE, "reshape",
          "a forward function that fails" },
        { f, PLAIN(identity, 1, 1), PLAIN(identity, 1, 1), JVP, CBX_EUNSUPPORTED, reverse_alone, "forward mode" },
        { f, PLAIN(identity, 1, 1), PLAIN(identity, 1, 1), LINEARIZE, CBX_EUNSUPPORTED, reverse_alone, "a map called" },
        { f, PLAIN(identity, 1, 1), PLAIN(identity, 1, 1), JACFWD, CBX_EUNSUPPORTED, reverse_alone, "a map batched" },
    };
    cbx_ctx *c = context();
    cbx_fn *g = NULL, *d = NULL;
    cbx_err err = CBX_ERR_INIT;

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_scope scope;
        cbx_status st = CBX_OK;
        cbx_scope_open(c, &scope);
        cbx_array *x = curve(c, 3), *in[] = { x, x }, *out[2];
        if (!cases[i].first)
            st = cbx_fn_keep(c, cases[i].f, &g, &err);
        else if (!cases[i].second)
            st = cbx_custom_jvp(c, cases[i].f, cases[i].first, &g, &err);
        else
            st = cbx_custom_vjp(c, cases[i].f, cases[i].first, cases[i].second, &g, &err);
        CHECK_OK(st, &err, cases[i].why);
        const cbx_fn *sum = CBX_FN(sum_of, g, 1, 1);
        switch (cases[i].how) {
        case JVP: once(c, MADE(d, cbx_jvp(c, g, 0, NULL, &d, &err)), in, out); break;
        case JACFWD: once(c, MADE(d, cbx_jacfwd(c, g, 0, &d, &err)), in, out); break;
        case GRAD: gradient(c, sum, x); break;
        case LINEARIZE:
            CHECK_OK(cbx_linearize(c, g, &x, out, &d, &err), &err, "linearize");
            cbx_array_free(out[0]);
            once(c, d, &x, out);
        }
        CHECK_STATUS(cbx_scope_close(&scope, &err), cases[i].status, cases[i].why);
        if (cases[i].words && !strstr(err.message, cases[i].words)) fail_msg("%s: \"%s\"", cases[i].why, err.message);
        cbx_fn_free(g);
    }
    CHECK_STATUS(cbx_custom_jvp(c, NULL, rule, &g, &err), CBX_EINVAL, "no function");
    CHECK_STATUS(cbx_custom_jvp(c, f, NULL, &g, &err), CBX_EINVAL, "no rule");
    CHECK_STATUS(cbx_custom_jvp(c, f, f, &g, &err), CBX_EINVAL, "a rule without tangents");
    CHECK(strstr(err.message, "takes 1 operands") != NULL, err.message);
    CHECK_STATUS(cbx_custom_vjp(c, f, f, NULL, &g, &err), CBX_EINVAL, "no backward function");
    CHECK_STATUS(cbx_custom_vjp(c, f, PLAIN(identity, 1, 2), f, &g, &err), CBX_EINVAL, "residuals that bwd lacks");
    CHECK_STATUS(cbx_custom_vjp(c, f, PLAIN(identity, 1, 0), f, &g, &err), CBX_EINVAL, "a forward without results");
    CHECK_STATUS(cbx_checkpoint(c, CBX_FN(NULL, NULL, 1, 1), &g, &err), CBX_EINVAL, "no code");
    cbx_scope scope;
    cbx_scope_open(c, &scope);
    cbx_array *x = curve(c, 3), *out[2];
    cbx_scan_checkpointed(c, PLAIN(identity, 2, 2), 1, &x, 0, NULL, 3, false, 0, out);
    CHECK_STATUS(cbx_scope_close(&scope, &err), CBX_EINVAL, "no step between carries");
    cbx_ctx_free(c);
}

/* ---- checkpoint ---- */

FN(chain) /* twenty steps, the inputs of which reverse mode keeps */
{
    UNUSED;
    cbx_array *x = in[0];
    for (int i = 0; i < 20; i++) x = cbx_sin(c, cbx_multiply(c, x, cbx_add_scalar(c, x, 1.5)));
    out[0] = x;
    return CBX_OK;
}
FN(chains)
{
    UNUSED;
    cbx_array *x = in[0];
    for (int i = 0; i < 4; i++) cbx_fn_call(c, user, 1, &x, 1, &x);
    out[0] = cbx_sum(c, x, NULL);
    return CBX_OK;
}

/* The most that a call has in use at once, beyond what is there before and after it. */
static size_t peak_of_call(cbx_test_alloc *al, cbx_ctx *c, const cbx_fn *f, cbx_array *x)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_array *r = NULL;
    const size_t before = al->live_bytes;

    al->peak_bytes = before;
    CHECK_OK(cbx_fn_run(c, f, 1, &x, 1, &r, &err), &err, "call");
    cbx_array_free(r);
    return al->peak_bytes - before;
}

TEST(computed_again)
{
    cbx_test_alloc al;
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *k = NULL, *h[2], *plain_grad, *less_grad, *m[2];
    cbx_cost_report cost[2];
    cbx_scope scope;

    cbx_test_alloc_init(&al);
    cbx_ctx *c = cbx_test_ctx(&al);
    cbx_scope_open(c, &scope);
    enum { N = 1 << 14 };
    cbx_array *x = curve(c, 5), *y[2], *z[2], *many = cbx_array_ref(curve(c, N));
    MADE(k, cbx_checkpoint(c, PLAIN(chain, 1, 1), &k, &err));
    const cbx_fn *plain = CBX_FN(chains, (void *)(uintptr_t)PLAIN(chain, 1, 1), 1, 1), *less = CBX_FN(chains, k, 1, 1);
    same(c, gradient(c, less, x), gradient(c, plain, x), "the same bits");
    same(c, compiled_gradient(c, less, x), compiled_gradient(c, plain, x), "and compiled");
    MADE(h[0], cbx_hessian(c, plain, 0, &h[0], &err));
    MADE(h[1], cbx_hessian(c, less, 0, &h[1], &err));
    once(c, h[0], &x, y), once(c, h[1], &x, z);
    same(c, y[0], z[0], "second derivatives");
    MADE(h[0], cbx_jvp(c, plain, 0, NULL, &h[0], &err));
    MADE(h[1], cbx_jvp(c, less, 0, NULL, &h[1], &err));
    once(c, h[0], (cbx_array *const[]){ x, x }, y), once(c, h[1], (cbx_array *const[]){ x, x }, z);
    same(c, y[1], z[1], "forward mode");
    once(c, batch_of_grad(c, less, NULL), (cbx_array *[]){ cbx_stack(c, 2, (const cbx_array *const[]){ x, x }, 0) }, z);
    same(c, cbx_index(c, z[0], 0, 1), gradient(c, plain, x), "over a batch");
    CHECK_OK(cbx_linearize(c, plain, &x, &y[0], &m[0], &err), &err, "linearize");
    CHECK_OK(cbx_linearize(c, less, &x, &z[0], &m[1], &err), &err, "linearize");
    cbx_array_free(y[0]), cbx_array_free(z[0]);
    once(c, m[0], &x, y), once(c, m[1], &x, z);
    same(c, y[0], z[0], "the linear map, called");

    plain_grad = grad_of(c, plain), less_grad = grad_of(c, less);
    const cbx_array_desc d = { CBX_F64, 1, { N } };
    CHECK_OK(cbx_cost_count(c, plain_grad, 1, &d, &cost[0], &err), &err, "cost");
    CHECK_OK(cbx_cost_count(c, less_grad, 1, &d, &cost[1], &err), &err, "cost");
    /* of each part the last sine is needed by what follows it alone, of the last part by nothing */
    CHECK_INT(cost[0].by_prim[CBX_PRIM_SIN].transcendental, (4 * 20 - 1) * N, "every step once");
    CHECK_INT(cost[1].by_prim[CBX_PRIM_SIN].transcendental, (3 * 20 + 4 * 19) * N, "three parts, and again all four");
    CHECK_OK(cbx_scope_close(&scope, &err), &err, "nothing failed");
    const size_t all = peak_of_call(&al, c, plain_grad, many), few = peak_of_call(&al, c, less_grad, many);
    CHECK_GT(all, 4 * 20 * N * sizeof(double), "residuals of all steps");
    CHECK_LE(few, all / 2, "residuals of a quarter of them");
    cbx_fn_free(plain_grad);
    cbx_fn_free(less_grad);
    cbx_fn_free(k);
    cbx_array_free(many);
    cbx_ctx_free(c);
    cbx_test_alloc_check(&al, "checkpoint");
}

/* ---- scans ---- */

typedef struct walk {
    size_t every; /* 0: everything is kept */
    bool reverse;
} walk;

FN(step)
{
    UNUSED;
    out[0] = cbx_sin(c, cbx_add(c, cbx_multiply(c, in[0], in[1]), cbx_multiply(c, in[0], in[0])));
    out[1] = cbx_multiply(c, out[0], in[1]);
    return CBX_OK;
}
FN(walked) /* of x (steps, n) */
{
    UNUSED;
    const walk *w = user;
    cbx_array *first = cbx_index(c, in[0], 0, 0), *r[2];
    if (w->every)
        cbx_scan_checkpointed(c, PLAIN(step, 2, 2), 1, &first, 1, in, CBX_LENGTH_OF_XS, w->reverse, w->every, r);
    else
        cbx_scan(c, PLAIN(step, 2, 2), 1, &first, 1, in, CBX_LENGTH_OF_XS, w->reverse, r);
    cbx_array *weights = cbx_expand_dims(c, line(c, cbx_array_dim(r[1], 0)), 1);
    out[0] = cbx_add(c, cbx_sum(c, r[0], NULL), cbx_sum(c, cbx_multiply(c, r[1], weights), NULL));
    return CBX_OK;
}

TEST(scans_that_keep_less)
{
    static const size_t kept[] = { 1, 2, 3, 5, 10, 11, 12, 100, CBX_SAVE_SQRT }, lengths[] = { 1, 2, 3, 10, 11 };
    given g;
    cbx_err err = CBX_ERR_INIT;
    start(&g);
    cbx_ctx *c = g.c;

    for (size_t s = 0; s < CBX_LEN(lengths); s++)
        for (int reverse = 0; reverse < 2; reverse++) {
            cbx_array *x = cbx_reshape(c, curve(c, 3 * lengths[s]), 2, (const ptrdiff_t[]){ -1, 3 }), *y[2];
            const walk all = { 0, reverse };
            const cbx_fn *plain = CBX_FN(walked, (void *)(uintptr_t)&all, 1, 1);
            cbx_fn *f = NULL;
            cbx_array *want = gradient(c, plain, x);
            cbx_fn_call(c, plain, 1, &x, 1, &y[0]);
            for (size_t i = 0; i < CBX_LEN(kept); i++) {
                const walk some = { kept[i], reverse };
                once(c,
                     MADE(f, cbx_value_and_grad(c, CBX_FN(walked, (void *)(uintptr_t)&some, 1, 1), 0, NULL, &f, &err)),
                     &x, (cbx_array *[2]){ 0 });
                same(c, gradient(c, CBX_FN(walked, (void *)(uintptr_t)&some, 1, 1), x), want, "the same bits");
                cbx_fn_call(c, CBX_FN(walked, (void *)(uintptr_t)&some, 1, 1), 1, &x, 1, &y[1]);
                same(c, y[0], y[1], "the same values");
            }
        }
    const walk some = { CBX_SAVE_SQRT, false }, all = { 0, false };
    cbx_array *x = cbx_reshape(c, curve(c, 20), 2, (const ptrdiff_t[]){ 10, 2 }), *y[2];
    const walk *walks[2] = { &some, &all };
    cbx_fn *f = NULL;
    for (int i = 0; i < 2; i++)
        once(c, MADE(f, cbx_hessian(c, CBX_FN(walked, (void *)(uintptr_t)walks[i], 1, 1), 0, &f, &err)), &x, &y[i]);
    CHECK_LE(at(cbx_max(c, cbx_abs(c, cbx_subtract(c, y[0], y[1])), NULL), 0), 1e-11, "second derivatives");
    end(&g);
}

FN(grows)
{
    UNUSED;
    out[0] = cbx_sin(c, cbx_multiply(c, cbx_cos(c, in[0]), in[1]));
    return CBX_OK;
}
FN(grown) /* a wide carry, narrow xs, no results of steps: what it keeps is what the scan keeps */
{
    UNUSED;
    cbx_array *first = cbx_ones(c, 1, (const size_t[]){ 512 }, CBX_F64), *r[1];
    const size_t every = *(const size_t *)user;
    if (every)
        cbx_scan_checkpointed(c, PLAIN(grows, 2, 1), 1, &first, 1, in, CBX_LENGTH_OF_XS, false, every, r);
    else
        cbx_scan(c, PLAIN(grows, 2, 1), 1, &first, 1, in, CBX_LENGTH_OF_XS, false, r);
    out[0] = cbx_sum(c, r[0], NULL);
    return CBX_OK;
}

TEST(memory_of_long_scans)
{
    enum { STEPS = 400, WIDTH = 512 };
    static const struct {
        size_t every, low, high; /* carries in use at once */
        const char *why;
    } cases[] = {
        { 0, 3 * STEPS, 5 * STEPS, "everything: three residuals of each step, in blocks of powers of 2" },
        { 1, STEPS, 520, "each carry, residuals of one step" },
        { CBX_SAVE_SQRT, 80, 160, "the square root: 20 carries, residuals of 20 steps" },
        { 100, 300, 520, "4 carries, residuals of 100 steps" },
        { CBX_SAVE_SQRT - 1, 3 * STEPS, 5 * STEPS, "the first carry alone: then everything" },
    };
    size_t peak[CBX_LEN(cases)];

    for (size_t i = 0; i < CBX_LEN(cases); i++) { /* each with a context of its own, which has kept no memory */
        cbx_test_alloc al;
        cbx_test_alloc_init(&al);
        cbx_ctx *c = cbx_test_ctx(&al);
        cbx_array *x = cbx_ones(c, 1, (const size_t[]){ STEPS }, CBX_F64);
        cbx_fn *g = grad_of(c, CBX_FN(grown, (void *)(uintptr_t)&cases[i].every, 1, 1));
        peak[i] = peak_of_call(&al, c, g, x) / (WIDTH * sizeof(double));
        cbx_fn_free(g);
        cbx_ctx_free(c);
        cbx_test_alloc_check(&al, "scans");
    }
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        CHECK_LE(peak[i], cases[i].high, cases[i].why);
        CHECK_LE(cases[i].low, peak[i], cases[i].why);
    }
}

/* ---- memory that runs out ---- */

static cbx_status all_of_it(cbx_ctx *c, void *user)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *f = NULL, *b = NULL, *k = NULL, *mapped = NULL;
    cbx_scope scope;
    cbx_status st, closed;

    (void)user;
    st = cbx_ctx_set_backend(c, cbx_backend_reference(),
                             &err); /* what compilation does without memory has its own tests */
    if (st) return st;
    cbx_scope_open(c, &scope);
    cbx_array *x = cbx_add_scalar(c, curve(c, 3), 2), *r[4];
    st = cbx_custom_jvp(c, PLAIN(product, 3, 2), PLAIN(product_jvp, 6, 4), &f, &err);
    if (!st) st = cbx_custom_vjp(c, PLAIN(scaled, 2, 1), PLAIN(scaled_fwd, 2, 4), PLAIN(scaled_bwd, 4, 2), &b, &err);
    if (!st) st = cbx_checkpoint(c, CBX_FN(scan_of_product, f, 1, 1), &k, &err);
    const cbx_fn *const sums[] = { k, CBX_FN(scan_of_scaled, b, 1, 1), CBX_FN(walked, (&(walk){ 2, false }), 1, 1) };
    for (size_t i = 0; !st && i < CBX_LEN(sums); i++) {
        cbx_fn *g = NULL, *v = NULL;
        cbx_array *in = i == 2 ? cbx_expand_dims(c, x, 1) : x, *rows = cbx_expand_dims(c, in, 0);
        st = cbx_grad(c, sums[i], 0, NULL, &g, &err);
        if (!st) st = cbx_vmap(c, g, NULL, NULL, &v, &err);
        if (!st) cbx_fn_call(c, g, 1, &in, 1, r);
        if (!st) cbx_fn_call(c, v, 1, &rows, 1, r);
        cbx_fn_free(v);
        cbx_fn_free(g);
    }
    if (!st) st = cbx_vmap(c, f, (const int[]){ 0, CBX_NOT_MAPPED, CBX_NOT_MAPPED }, NULL, &mapped, &err);
    cbx_fn_free(mapped);
    cbx_fn_free(k);
    cbx_fn_free(b);
    cbx_fn_free(f);
    closed = cbx_scope_close(&scope, &err);
    return st ? st : closed;
}

TEST(memory_may_run_out)
{
    CHECK_GT(cbx_test_fail_each(all_of_it, NULL, "derivatives of their own"), 100, "allocations");
}

TESTS(.seconds = 600)
