/*
 * Derivatives where a formula that divides would fail: elements that are 0, equal singular values,
 * matrices without full rank.
 */
#include "grad_support.h"

#include "calibrax/array/linalg.h"

FN(smooth) /* sum of sin(x) exp(-x^2) + log(1 + x^2) */
{
    UNUSED;
    cbx_array *x = in[0], *q = cbx_square(c, x);
    out[0] = cbx_sum(c, cbx_add(c, cbx_multiply(c, cbx_sin(c, x), cbx_exp(c, cbx_negative(c, q))), cbx_log1p(c, q)),
                     NULL);
    return CBX_OK;
}
FN(multiplied) /* updates that meet in places, some of them 0, and an old element that is 0 */
{
    UNUSED;
    static const int64_t index[] = { 3, 0, 3, -1, 3, 1, 0, 2 };
    cbx_array *i = cbx_asarray(c, &(const cbx_array_desc){ CBX_I64, 2, { 2, 4 } }, index);
    cbx_array *gone = cbx_subtract_scalar(c, in[0], 0.41); /* 0 at the points, and it moves */
    cbx_array *u = cbx_concat(c, 2, (const cbx_array *const[]){ gone, cbx_slice(c, in[0], 0, 0, 3, 1) }, 0);
    u = cbx_reshape(c, u, 2, (const ptrdiff_t[]){ 2, 4 });
    out[0] = cbx_sum(c, cbx_square(c, cbx_scatter(c, cbx_sin(c, cbx_flip(c, gone, 0)), i, u, 0, CBX_SCATTER_MUL)),
                     NULL);
    out[0] = cbx_add(c, out[0], cbx_sum(c, cbx_scatter(c, gone, i, u, 0, CBX_SCATTER_MUL), NULL));
    return CBX_OK;
}

FN(inverted) /* equal singular values at the points; rank 1 everywhere; least squares with both */
{
    UNUSED;
    cbx_array *x = in[0], *from = cbx_subtract(c, x, cbx_stop_gradient(c, vector(c, 5, points))), *y[4];
    cbx_array *u = cbx_slice(c, x, 0, 0, 3, 1), *v = cbx_slice(c, x, 0, 2, 5, 1);
    cbx_array *near_one = cbx_outer(c, cbx_slice(c, from, 0, 0, 4, 1), cbx_slice(c, cbx_add(c, x, x), 0, 1, 4, 1));
    near_one = cbx_add(c, near_one, cbx_multiply_scalar(c, cbx_eye(c, 4, 3, 0, CBX_F64), 2));
    y[0] = cbx_pinv(c, near_one, NULL);
    y[1] = cbx_pinv(c, cbx_outer(c, u, v), number(c, 1e-9));
    y[2] = cbx_lstsq(c, near_one, cbx_slice(c, x, 0, 0, 4, 1), NULL).x;
    y[3] = cbx_lstsq(c, cbx_outer(c, u, v), cbx_sin(c, v), number(c, 1e-9)).x;
    out[0] = number(c, 0);
    for (int i = 0; i < 4; i++) out[0] = cbx_add(c, out[0], cbx_sum(c, cbx_sin(c, y[i]), NULL));
    return CBX_OK;
}

/* The determinant of a without row i and column k, times (-1)^(i+k): by its first row. */
static double cofactor(const double *a, int n, int i, int k)
{
    double rest[16], sum = 0;
    int m = 0;

    for (int r = 0; r < n; r++)
        for (int s = 0; s < n; s++)
            if (r != i && s != k) rest[m++] = a[r * n + s];
    for (int s = 0; n > 1 && s < n - 1; s++) sum += rest[s] * cofactor(rest, n - 1, 0, s);
    return ((i + k) % 2 ? -1 : 1) * (n > 1 ? sum : 1);
}

FN(determinant)
{
    UNUSED;
    out[0] = cbx_det(c, in[0]);
    return CBX_OK;
}

/* Of every rank, with the pivot that is 0 at every place: alone, compiled, and beside each other in
 * a batch. */
TEST(determinants_of_singular_matrices)
{
    static const double stack[][9] = { { 1, 2, 3, 4, 5, 6, 7, 8, 9 }, { 0, 1, 0, 0, 0, 1, 0, 0, 0 },
                                       { 0, 0, 2, 0, 0, 0, 0, 3, 0 }, { 1, 2, 3, 2, 4, 6, -1, -2, -3 },
                                       { 0, 0, 0, 0, 0, 0, 0, 0, 0 }, { 2, 0, 1, 0, 3, 0, 1, 0, -1 },
                                       { 1, 0, 0, 0, 1, 0, 0, 0, 0 } };
    given g;
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *gradient, *compiled = NULL, *batched = NULL;

    start(&g);
    cbx_array *all = cbx_reshape(g.c, vector(g.c, 9 * CBX_LEN(stack), stack[0]), 3, (const ptrdiff_t[]){ -1, 3, 3 });
    cbx_array *zero = of_shape(g.c, 1, 1), *one = call1(g.c, grad_of(g.c, PLAIN(determinant, 1, 1)), 1, &zero);
    CHECK(at(one, 0) == 1, "of a number");
    gradient = grad_of(g.c, PLAIN(determinant, 1, 1));
    CHECK_OK(cbx_jit(g.c, gradient, &compiled, &err), &err, "jit");
    CHECK_OK(cbx_vmap(g.c, gradient, NULL, NULL, &batched, &err), &err, "vmap");
    cbx_array *b = call1(g.c, batched, 1, &all);
    for (size_t i = 0; i < CBX_LEN(stack); i++) {
        cbx_array *x = cbx_index(g.c, all, 0, (ptrdiff_t)i), *r[3];
        cbx_fn_call(g.c, gradient, 1, &x, 1, &r[0]);
        cbx_fn_call(g.c, compiled, 1, &x, 1, &r[1]);
        r[2] = cbx_index(g.c, b, 0, (ptrdiff_t)i);
        for (int k = 0; k < 3; k++)
            for (int e = 0; e < 9; e++)
                near(at(r[k], (size_t)e), cofactor(stack[i], 3, e / 3, e % 3), 1e-13, "cofactor");
    }
    cbx_fn_free(gradient);
    cbx_fn_free(compiled);
    end(&g);
}

FN(of_complex) /* the real part of the determinant of x + i y, of rank 2 at the points */
{
    UNUSED;
    const cbx_array *first = cbx_slice(c, in[0], 0, 0, 3, 1), *last = cbx_slice(c, in[0], 0, 2, 5, 1);
    const cbx_array *x = cbx_outer(c, first, cbx_sin(c, first)),
                    *y = cbx_outer(c, cbx_square(c, last), cbx_cos(c, last));
    const cbx_array *i = cbx_full(c, 0, NULL, CBX_C128, cbx_complex(0, 1));
    const cbx_array *gone = cbx_subtract_scalar(c, cbx_index(c, in[0], 0, 0), points[0]);
    x = cbx_add(c, x, cbx_multiply(c, gone, cbx_eye(c, 3, 3, 0, CBX_F64)));
    x = cbx_add(c, cbx_astype(c, x, CBX_C128), cbx_multiply(c, i, cbx_astype(c, y, CBX_C128)));
    out[0] = cbx_real(c, cbx_det(c, x));
    return CBX_OK;
}

TEST(first_derivatives)
{
    given g;
    start(&g);
    check_grad(g.c, PLAIN(multiplied, 1, 1), 5, points);
    check_grad(g.c, PLAIN(inverted, 1, 1), 5, points);
    check_grad(g.c, PLAIN(of_complex, 1, 1), 5, points);
    end(&g);
}

FN(slope) /* the sum of the gradient of user, weighted */
{
    UNUSED;
    out[0] = cbx_sum(c, cbx_multiply(c, call1(c, grad_of(c, user), 1, in), cbx_arange_int(c, 1, 6, 1, CBX_F64)), NULL);
    return CBX_OK;
}

/* Gradients of gradients by differences. */
TEST(second_derivatives)
{
    given g;
    start(&g);
    const cbx_fn *functions[] = { PLAIN(multiplied, 1, 1), PLAIN(inverted, 1, 1), PLAIN(smooth, 1, 1) };
    for (size_t i = 0; i < CBX_LEN(functions); i++)
        check_grad(g.c, CBX_FN(slope, (void *)(uintptr_t)functions[i], 1, 1), 5, points);
    end(&g);
}

/* Forward over reverse, reverse over reverse. */
TEST(hessians)
{
    given g;
    start(&g);
    cbx_ctx *c = g.c;
    const cbx_fn *functions[] = { PLAIN(multiplied, 1, 1), PLAIN(inverted, 1, 1) };
    cbx_array *x = vector(c, 5, points);

    for (size_t i = 0; i < CBX_LEN(functions); i++) {
        cbx_err err = CBX_ERR_INIT;
        cbx_fn *gradient = grad_of(c, functions[i]), *forward = NULL, *reverse = NULL;
        CHECK_OK(cbx_hessian(c, functions[i], 0, &forward, &err), &err, functions[i]->name);
        CHECK_OK(cbx_jacrev(c, gradient, 0, &reverse, &err), &err, functions[i]->name);
        cbx_array *h = call1(c, forward, 1, &x), *hr = call1(c, reverse, 1, &x);
        cbx_fn_free(gradient);
        for (size_t k = 0; k < 25; k++) {
            near(at(h, k), at(h, k / 5 + k % 5 * 5), 1e-12, "a Hessian is symmetric");
            near(at(hr, k), at(h, k), 1e-11, functions[i]->name);
        }
    }
    end(&g);
}

TESTS(.seconds = 300)
