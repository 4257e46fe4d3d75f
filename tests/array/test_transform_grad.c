/*
 * Derivatives as a user asks for them: by closed forms, by central differences, through control
 * flow, nested in any order, of several operands and results.  test_derivatives.c has every
 * primitive.
 */
#include "grad_support.h"

#include "calibrax/array/backend.h"
#include "calibrax/array/ell.h"
#include "calibrax/array/fft.h"
#include "calibrax/array/linalg.h"
#include "fail_alloc.h"

/* ---- functions of a vector of five ---- */

FN(smooth) /* sum of sin(x) exp(-x^2) + log(1 + x^2) */
{
    UNUSED;
    cbx_array *x = in[0], *q = cbx_square(c, x);
    out[0] = cbx_sum(c, cbx_add(c, cbx_multiply(c, cbx_sin(c, x), cbx_exp(c, cbx_negative(c, q))), cbx_log1p(c, q)),
                     NULL);
    return CBX_OK;
}
FN(soft) /* log of the sum of exponentials, by hand */
{
    UNUSED;
    cbx_array *m = cbx_max(c, in[0], NULL);
    out[0] = cbx_add(c, m, cbx_log(c, cbx_sum(c, cbx_exp(c, cbx_subtract(c, in[0], m)), NULL)));
    return CBX_OK;
}
FN(spread) /* variance of what is above the median, and a slice with steps */
{
    UNUSED;
    cbx_array *sorted = cbx_sort(c, in[0], 0, false);
    cbx_array *some = cbx_slice(c, sorted, 0, 4, 0, -2);
    out[0] = cbx_add(c, cbx_var(c, sorted, NULL, 1), cbx_sum(c, cbx_square(c, some), NULL));
    return CBX_OK;
}
FN(turned) /* a matrix made of x, times itself, its trace */
{
    UNUSED;
    cbx_array *m = cbx_multiply(c, cbx_expand_dims(c, in[0], 1), cbx_expand_dims(c, cbx_cos(c, in[0]), 0));
    out[0] = cbx_sum(c, cbx_diagonal(c, cbx_matrix_product(c, m, cbx_matrix_transpose(c, m)), 0), NULL);
    return CBX_OK;
}
FN(spectrum) /* power of a Fourier transform, weighted */
{
    UNUSED;
    cbx_array *z = cbx_rfft(c, in[0], 5, 0, CBX_FFT_BACKWARD);
    cbx_array *power = cbx_square(c, cbx_abs(c, z));
    out[0] = cbx_sum(c, cbx_multiply(c, power, cbx_arange_int(c, 1, 4, 1, CBX_F64)), NULL);
    return CBX_OK;
}
FN(picked) /* taken, scattered and multiplied up */
{
    UNUSED;
    static const int64_t index[] = { 3, 0, 3, -1 };
    cbx_array *i = cbx_asarray(c, &(const cbx_array_desc){ CBX_I64, 1, { 4 } }, index), *t = cbx_take(c, in[0], i, 0);
    out[0] = cbx_sum(c, cbx_cumulative_prod(c, cbx_concat(c, 2, (const cbx_array *const[]){ t, in[0] }, 0), 0), NULL);
    return CBX_OK;
}
FN(widest) /* a product with a zero in it, a maximum over an axis */
{
    UNUSED;
    cbx_array *gone = cbx_subtract(c, in[0], cbx_index(c, in[0], 0, 2));
    cbx_array *m = cbx_stack(c, 2, (const cbx_array *const[]){ in[0], cbx_sin(c, in[0]) }, 0);
    out[0] = cbx_add(c, cbx_prod(c, gone, NULL), cbx_sum(c, cbx_exp(c, cbx_max(c, m, CBX_AXIS(0))), NULL));
    return CBX_OK;
}

/* ---- and through control flow ---- */

FN(recur) /* (a, b; x) to (a sin b + x, b + a x; a b) */
{
    UNUSED;
    out[0] = cbx_add(c, cbx_multiply(c, in[0], cbx_sin(c, in[1])), in[2]);
    out[1] = cbx_add(c, in[1], cbx_multiply(c, in[0], in[2]));
    if (nout > 2) out[2] = cbx_multiply(c, in[0], in[1]);
    return CBX_OK;
}
FN(scanned)
{
    UNUSED;
    cbx_array *init[2] = { cbx_index(c, in[0], 0, 1), number(c, 0.3) }, *r[3];
    cbx_scan(c, PLAIN(recur, 3, 3), 2, init, 1, in, CBX_LENGTH_OF_XS, user != NULL, r);
    out[0] = cbx_add(c, cbx_add(c, r[0], r[1]), cbx_sum(c, cbx_square(c, r[2]), NULL));
    return CBX_OK;
}
FN(weighted) /* a body that closes over what is derived in */
{
    UNUSED;
    out[0] = cbx_add(c, cbx_cos(c, in[0]), cbx_sum(c, cbx_multiply(c, user, in[0]), NULL));
    return CBX_OK;
}
FN(closing)
{
    UNUSED;
    cbx_array *init = number(c, 0.1);
    return cbx_fori_loop(c, 0, 4, CBX_FN(weighted, in[0], 2, 1), 1, &init, out);
}
FN(half_of)
{
    UNUSED;
    out[0] = cbx_multiply_scalar(c, cbx_exp(c, in[0]), 0.5);
    return CBX_OK;
}
FN(cubed)
{
    UNUSED;
    out[0] = cbx_multiply(c, cbx_multiply(c, in[0], in[0]), cbx_index(c, user, 0, 1));
    return CBX_OK;
}
FN(stays)
{
    UNUSED;
    out[0] = cbx_zeros_like(c, in[0]);
    return CBX_OK;
}
FN(chosen) /* three branches, one of which does not move; which one the data choose */
{
    UNUSED;
    const cbx_fn *branches[3] = { PLAIN(half_of, 1, 1), CBX_FN(cubed, in[0], 1, 1), PLAIN(stays, 1, 1) };
    cbx_array *sum = number(c, 0);
    for (int i = 0; i < 5; i++) {
        cbx_array *x = cbx_index(c, in[0], 0, i), *y = NULL;
        cbx_array *which = cbx_astype(c, cbx_floor(c, cbx_multiply_scalar(c, cbx_abs(c, x), 3)), CBX_I64);
        cbx_switch(c, which, 3, branches, 1, &x, &y);
        sum = cbx_add(c, sum, y);
    }
    out[0] = sum;
    return CBX_OK;
}
FN(nested) /* a scan in a scan, a cond inside */
{
    UNUSED;
    cbx_array *yes = cbx_greater_scalar(c, in[1], 0), *y = NULL, *both[2];
    cbx_cond(c, yes, PLAIN(half_of, 1, 1), PLAIN(cube, 1, 1), 1, &in[1], &y);
    cbx_array *init[2] = { y, in[0] };
    cbx_scan(c, PLAIN(recur, 3, 2), 2, init, 1, (cbx_array *const[]){ user }, CBX_LENGTH_OF_XS, true, both);
    out[0] = cbx_tanh(c, cbx_add(c, both[0], both[1]));
    out[1] = out[0];
    return CBX_OK;
}
FN(deeply)
{
    UNUSED;
    cbx_array *init = number(c, 0.2), *r[2];
    cbx_scan(c, CBX_FN(nested, in[0], 2, 2), 1, &init, 1, in, CBX_LENGTH_OF_XS, false, r);
    out[0] = cbx_sum(c, r[1], NULL);
    return CBX_OK;
}

TEST(gradients_are_differences)
{
    given g;
    start(&g);
    int reverse = 1;
    const cbx_fn *functions[] = {
        PLAIN(smooth, 1, 1),  PLAIN(soft, 1, 1),     PLAIN(spread, 1, 1),
        PLAIN(turned, 1, 1),  PLAIN(spectrum, 1, 1), PLAIN(picked, 1, 1),
        PLAIN(widest, 1, 1),  PLAIN(scanned, 1, 1),  CBX_FN(scanned, &reverse, 1, 1),
        PLAIN(closing, 1, 1), PLAIN(chosen, 1, 1),   PLAIN(deeply, 1, 1),

    };

    for (size_t i = 0; i < CBX_LEN(functions); i++) check_grad(g.c, functions[i], 5, points);
    end(&g);
}

FN(wrong) /* 2 x^2 whose derivative would be seen as x^2's: the check must see a factor */
{
    UNUSED;
    out[0] = cbx_sum(c, cbx_square(c, in[0]), NULL);
    return CBX_OK;
}

/* Forward and reverse mode agree, and with the Hessian, whose rows are derivatives of the
 * gradient. */
TEST(modes_agree)
{
    given g;
    start(&g);
    cbx_ctx *c = g.c;
    const cbx_fn *functions[] = {
        PLAIN(smooth, 1, 1),  PLAIN(soft, 1, 1),   PLAIN(turned, 1, 1), PLAIN(scanned, 1, 1),
        PLAIN(closing, 1, 1), PLAIN(chosen, 1, 1), PLAIN(deeply, 1, 1),
    };
    cbx_array *x = vector(c, 5, points), *v = vector(c, 5, (const double[]){ 1, -2, 0.5, 3, 0.25 });

    for (size_t i = 0; i < CBX_LEN(functions); i++) {
        const cbx_fn *f = functions[i];
        cbx_fn *made = NULL, *again = NULL;
        cbx_err err = CBX_ERR_INIT;
        cbx_array *grad = call1(c, grad_of(c, f), 1, &x), *j[2], *h, *hv, *two[2] = { x, v };
        CHECK_OK(cbx_jvp(c, f, 0, NULL, &made, &err), &err, f->name);
        CHECK_STATUS(cbx_fn_call(c, made, 2, two, 2, j), CBX_OK, f->name);
        cbx_fn_free(made);
        near(at(j[1], 0), at(cbx_sum(c, cbx_multiply(c, grad, v), NULL), 0), 1e-13, f->name);
        CHECK_OK(cbx_jacrev(c, f, 0, &made, &err), &err, f->name);
        h = call1(c, made, 1, &x);
        for (size_t k = 0; k < 5; k++) near(at(h, k), at(grad, k), 1e-13, f->name);
        CHECK_OK(cbx_hessian(c, f, 0, &made, &err), &err, f->name);
        h = call1(c, made, 1, &x);
        CHECK(!cbx_array_is_failed(h) && cbx_array_ndim(h) == 2, f->name);
        CHECK_OK(cbx_hessian_vector(c, f, 0, &made, &err), &err, f->name);
        hv = call1(c, made, 2, two);
        for (size_t k = 0; k < 5; k++) {
            double row = 0;
            for (size_t l = 0; l < 5; l++) row += at(h, k * 5 + l) * at(v, l);
            near(at(hv, k), row, 1e-12, f->name);
            for (size_t l = 0; l < k; l++) near(at(h, k * 5 + l), at(h, l * 5 + k), 1e-12, "a Hessian is symmetric");
        }
        /* a Jacobian of the gradient, row by row: reverse over reverse */
        made = grad_of(c, f);
        CHECK_OK(cbx_jacrev(c, made, 0, &again, &err), &err, f->name);
        cbx_fn_free(made);
        cbx_array *hr = call1(c, again, 1, &x);
        for (size_t k = 0; k < 25; k++) near(at(hr, k), at(h, k), 1e-11, f->name);
    }
    cbx_array *two = call1(c, grad_of(c, PLAIN(wrong, 1, 1)), 1, &x);
    CHECK_GT(fabs(at(two, 0) - points[0]), 0.1, "a factor of two is seen");
    end(&g);
}

/* ---- batches ---- */

TEST(batches_of_gradients)
{
    given g;
    start(&g);
    cbx_ctx *c = g.c;
    const cbx_fn *functions[] = { PLAIN(smooth, 1, 1),   PLAIN(spread, 1, 1), PLAIN(turned, 1, 1),
                                  PLAIN(spectrum, 1, 1), PLAIN(picked, 1, 1), PLAIN(scanned, 1, 1),
                                  PLAIN(closing, 1, 1),  PLAIN(chosen, 1, 1), PLAIN(deeply, 1, 1) };
    double rows[15];

    for (int i = 0; i < 15; i++) rows[i] = points[i % 5] * (1 + 0.37 * (i / 5)) + 0.01 * i;
    cbx_array *all = cbx_asarray(c, &(const cbx_array_desc){ CBX_F64, 2, { 3, 5 } }, rows);
    for (size_t i = 0; i < CBX_LEN(functions); i++) {
        const cbx_fn *f = functions[i];
        cbx_fn *one = grad_of(c, f), *many = NULL;
        cbx_err err = CBX_ERR_INIT;
        CHECK_OK(cbx_vmap(c, one, NULL, NULL, &many, &err), &err, f->name);
        cbx_array *batch = call1(c, many, 1, &all);
        CHECK(!cbx_array_is_failed(batch), f->name);
        for (int k = 0; k < 3; k++) {
            cbx_array *row = cbx_index(c, all, 0, k), *r = NULL;
            CHECK_STATUS(cbx_fn_call(c, one, 1, &row, 1, &r), CBX_OK, f->name);
            for (size_t l = 0; l < 5; l++) near(at(batch, (size_t)k * 5 + l), at(r, l), 1e-13, f->name);
        }
        cbx_fn_free(one);
    }
    end(&g);
}

FN(sum_of_batch) /* a gradient of a batch: vmap inside */
{
    UNUSED;
    cbx_fn *many = NULL;
    cbx_array *rows = cbx_reshape(c, cbx_concat(c, 2, (const cbx_array *const[]){ in[0], cbx_exp(c, in[0]) }, 0), 2,
                                  (const ptrdiff_t[]){ 2, 5 }),
              *r = NULL;
    cbx_status st = cbx_vmap(c, PLAIN(scanned, 1, 1), NULL, NULL, &many, NULL);
    if (!st) st = cbx_fn_call(c, many, 1, &rows, 1, &r);
    out[0] = cbx_sum(c, r, NULL);
    cbx_fn_free(many);
    return st;
}
FN(inner_grad) /* sum of the squares of a gradient */
{
    UNUSED;
    cbx_fn *f = NULL;
    cbx_array *r = NULL;
    cbx_status st = cbx_grad(c, PLAIN(scanned, 1, 1), 0, NULL, &f, NULL);
    if (!st) st = cbx_fn_call(c, f, 1, in, 1, &r);
    out[0] = cbx_sum(c, cbx_square(c, r), NULL);
    cbx_fn_free(f);
    return st;
}

TEST(transforms_nest)
{
    given g;
    start(&g);
    check_grad(g.c, PLAIN(sum_of_batch, 1, 1), 5, points);
    check_grad(g.c, PLAIN(inner_grad, 1, 1), 5, points);
    end(&g);
}

/* ---- while loops ---- */

FN(not_far)
{
    UNUSED;
    out[0] = cbx_less_scalar(c, in[1], 20);
    return CBX_OK;
}
FN(grow) /* (n, x; a) */
{
    UNUSED;
    out[0] = cbx_add(c, in[0], cbx_full(c, 0, NULL, CBX_I64, cbx_int(1)));
    out[1] = cbx_multiply(c, in[1], user);
    return CBX_OK;
}
FN(until_far) /* x a^n, the first beyond 20 */
{
    UNUSED;
    cbx_array *init[2] = { cbx_zeros(c, 0, NULL, CBX_I64), in[0] }, *r[2];
    cbx_while_loop(c, PLAIN(not_far, 2, 1), CBX_FN(grow, in[1], 2, 2), 2, init, r);
    out[0] = r[1];
    if (nout > 1) out[1] = r[0];
    return CBX_OK;
}

FN(is_below)
{
    UNUSED;
    out[0] = cbx_less(c, in[0], user);
    return CBX_OK;
}
FN(add_one)
{
    UNUSED;
    out[0] = cbx_add_scalar(c, in[0], 1);
    return CBX_OK;
}
FN(counted_only) /* a ceil(a): a decides how many steps there are, and is in none */
{
    UNUSED;
    cbx_array *n = cbx_zeros(c, 0, NULL, CBX_F64);
    cbx_while_loop(c, CBX_FN(is_below, in[0], 1, 1), PLAIN(add_one, 1, 1), 1, &n, &n);
    out[0] = cbx_multiply(c, n, in[0]);
    return CBX_OK;
}

TEST(loops_of_unknown_length)
{
    given g;
    start(&g);
    cbx_ctx *c = g.c;
    cbx_fn *f = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_array *in[4] = { number(c, 1.5), number(c, 1.7), number(c, 1), number(c, 0) }, *r[2];
    const double n = ceil(log(20 / 1.5) / log(1.7));

    CHECK_OK(cbx_jvp(c, PLAIN(until_far, 2, 1), 0, NULL, &f, &err), &err, "forward");
    CHECK_STATUS(cbx_fn_call(c, f, 4, in, 2, r), CBX_OK, "in x");
    near(at(r[1], 0), pow(1.7, n), 1e-13, "a^n");
    in[2] = number(c, 0), in[3] = number(c, 1);
    CHECK_STATUS(cbx_fn_call(c, f, 4, in, 2, r), CBX_OK, "in a");
    near(at(r[1], 0), 1.5 * n * pow(1.7, n - 1), 1e-13, "x n a^(n-1)");
    cbx_fn_free(f);

    /* each element of a batch ends on its own */
    cbx_array *many[2] = { vector(c, 4, (const double[]){ 1.5, 19, 21, 0.1 }), in[1] }, *ends[2];
    CHECK_OK(cbx_vmap(c, PLAIN(until_far, 2, 2), (const int[]){ 0, CBX_NOT_MAPPED }, NULL, &f, &err), &err, "batch");
    CHECK_STATUS(cbx_fn_call(c, f, 2, many, 2, ends), CBX_OK, "batch");
    for (size_t i = 0; i < 4; i++) {
        static const double start_at[] = { 1.5, 19, 21, 0.1 };
        const double steps = fmax(0, ceil(log(20 / start_at[i]) / log(1.7)));
        int64_t counted[4];
        CHECK_OK(cbx_array_read(ends[1], counted, sizeof counted, &err), &err, "read");
        CHECK_INT(counted[i], steps, "steps of each");
        near(at(ends[0], i), start_at[i] * pow(1.7, steps), 1e-13, "value of each");
    }
    cbx_fn_free(f);

    CHECK_OK(cbx_grad(c, PLAIN(counted_only, 1, 1), 0, NULL, &f, &err), &err, "what moves only decides");
    CHECK_STATUS(cbx_fn_call(c, f, 1, (cbx_array *const[]){ number(c, 2.5) }, 1, r), CBX_OK, "a ceil(a)");
    near(at(r[0], 0), 3, 0, "the number of steps does not move");
    cbx_fn_free(f);
    CHECK_OK(cbx_grad(c, PLAIN(until_far, 2, 1), 0, NULL, &f, &err), &err, "reverse is asked for");
    CHECK_STATUS(cbx_fn_call(c, f, 2, in, 1, r), CBX_EUNSUPPORTED, "and refused");
    CHECK_STATUS(cbx_scope_close(&g.scope, &err), CBX_EUNSUPPORTED, "with a reason");
    CHECK(strstr(err.message, "'while_loop' has no reverse derivative") && strstr(err.message, "'scan'"), err.message);
    cbx_fn_free(f);
    cbx_ctx_free(c);
}

/* ---- several operands and results, linear maps ---- */

FN(both) /* (x, n, y) to (x y, sum(x) + n, n) */
{
    UNUSED;
    out[0] = cbx_multiply(c, in[0], in[2]);
    out[1] = cbx_add(c, cbx_sum(c, in[0], NULL), in[1]);
    out[2] = in[1];
    return CBX_OK;
}

TEST(several_operands_and_results)
{
    given g;
    start(&g);
    cbx_ctx *c = g.c;
    cbx_fn *f = NULL;
    cbx_err err = CBX_ERR_INIT;
    const cbx_fn *three = PLAIN(both, 3, 3);
    cbx_array *x = vector(c, 2, (const double[]){ 3, 5 }), *y = vector(c, 2, (const double[]){ 7, 11 });
    cbx_array *n = cbx_full(c, 0, NULL, CBX_I64, cbx_int(4)), *out[6], *map[3];

    cbx_array *pulled[6] = { x, n, y, vector(c, 2, (const double[]){ 1, 10 }), number(c, 100), n };
    CHECK_OK(cbx_vjp(c, three, 2, (const size_t[]){ 2, 0 }, &f, &err), &err, "vjp");
    CHECK_INT(f->nin, 6, "operands and cotangents");
    CHECK_STATUS(cbx_fn_call(c, f, 6, pulled, 5, out), CBX_OK, "call");
    CHECK_INT(at(out[1], 0), 12, "the second result");
    CHECK(at(out[3], 0) == 3 && at(out[3], 1) == 50, "ct x");
    CHECK(at(out[4], 0) == 107 && at(out[4], 1) == 210, "ct y + the other");
    cbx_fn_free(f);

    CHECK_OK(cbx_jacfwd(c, three, 2, &f, &err), &err, "jacfwd");
    CHECK_STATUS(cbx_fn_call(c, f, 3, (cbx_array *const[]){ x, n, y }, 3, out), CBX_OK, "call");
    CHECK(at(out[0], 0) == 3 && at(out[0], 1) == 0 && at(out[0], 3) == 5, "diag x");
    CHECK(cbx_array_count(out[1]) == 2 && at(out[1], 0) == 0 && cbx_array_dtype(out[2]) == CBX_I64,
          "what does not move");
    cbx_fn_free(f);

    cbx_array *t[1] = { vector(c, 5, points) };
    CHECK_OK(cbx_linearize(c, PLAIN(smooth, 1, 1), t, out, &f, &err), &err, "linearize");
    cbx_array *grad = call1(c, grad_of(c, PLAIN(smooth, 1, 1)), 1, t);
    for (int i = 0; i < 3; i++) { /* once traced, called often */
        cbx_array *unit = cbx_astype(c, cbx_equal_scalar(c, cbx_arange_int(c, 0, 5, 1, CBX_I64), i), CBX_F64);
        CHECK_STATUS(cbx_fn_call(c, f, 1, &unit, 1, map), CBX_OK, "map");
        near(at(map[0], 0), at(grad, (size_t)i), 1e-14, "a column");
    }
    cbx_array_free(out[0]);
    cbx_fn_free(f);
    end(&g);
}

/* ---- what is refused ---- */

FN(of_integer)
{
    UNUSED;
    out[0] = cbx_sum(c, cbx_astype(c, in[0], CBX_F64), NULL);
    return CBX_OK;
}
FN(reads)
{
    double v[5];
    UNUSED;
    out[0] = cbx_sum(c, in[0], NULL);
    return cbx_array_read(in[0], v, sizeof v, NULL) ? CBX_OK : CBX_EDOM;
}
static cbx_array *leaked;
FN(leaks)
{
    UNUSED;
    leaked = cbx_array_ref(cbx_sin(c, in[0]));
    out[0] = cbx_sum(c, leaked, NULL);
    return CBX_OK;
}

TEST(what_is_refused)
{
    given g;
    start(&g);
    cbx_ctx *c = g.c;
    cbx_err err = CBX_ERR_INIT;
    cbx_scope scope;
    cbx_fn *f = NULL;
    cbx_array *x = vector(c, 5, points), *i = cbx_ones(c, 1, (const size_t[]){ 3 }, CBX_I32), *r = NULL;
    static const struct {
        const char *words;
        cbx_status status;
    } cases[] = {
        { "'grad(identity)' needs a real scalar result, 'identity' gives float64 (5,)", CBX_ESHAPE },
        { "'grad(of_integer)' in operand 0, which is int32", CBX_EDTYPE },
        { "cotangent 0 of 'vjp(cube)' is float64 (), it must be float64 (5,)", CBX_ESHAPE },
    };

    CHECK_STATUS(cbx_grad(c, PLAIN(both, 3, 3), 0, NULL, &f, &err), CBX_EINVAL, "three results");
    CHECK_STATUS(cbx_grad(c, PLAIN(cube, 1, 1), 1, (const size_t[]){ 1 }, &f, &err), CBX_EINVAL, "no such operand");
    for (size_t k = 0; k < CBX_LEN(cases); k++) {
        if (k == 2)
            CHECK_OK(cbx_vjp(c, PLAIN(cube, 1, 1), 0, NULL, &f, &err), &err, "vjp");
        else
            f = grad_of(c, k ? PLAIN(of_integer, 1, 1) : PLAIN(identity, 1, 1));
        cbx_scope_open(c, &scope);
        cbx_array *in[2] = { k == 1 ? i : x, number(c, 1) }, *out[2];
        CHECK_STATUS(cbx_fn_call(c, f, f->nin, in, f->nout, out), cases[k].status, cases[k].words);
        CHECK_STATUS(cbx_scope_close(&scope, &err), cases[k].status, cases[k].words);
        CHECK(strstr(err.message, cases[k].words) != NULL, err.message);
        cbx_fn_free(f);
    }
    f = grad_of(c, PLAIN(reads, 1, 1));
    cbx_scope_open(c, &scope);
    CHECK_STATUS(cbx_fn_call(c, f, 1, &x, 1, &r), CBX_EINVAL, "there is nothing to read");
    CHECK_STATUS(cbx_scope_close(&scope, &err), CBX_EINVAL, "there is nothing to read");
    CHECK(strstr(err.message, "'reads' reads elements of float64") != NULL, err.message);
    cbx_fn_free(f);

    r = call1(c, grad_of(c, PLAIN(leaks, 1, 1)), 1, &x);
    cbx_scope_open(c, &scope);
    cbx_add(c, leaked, x);
    CHECK_STATUS(cbx_scope_close(&scope, &err), CBX_EINVAL, "a traced value outlives its trace");
    CHECK(strstr(err.message, "that trace has ended") != NULL, err.message);
    cbx_array_free(leaked);
    end(&g);
}

/* ---- edges of rules ---- */

FN(of_root)
{
    UNUSED;
    out[0] = cbx_sum(c, cbx_cbrt(c, in[0]), NULL);
    return CBX_OK;
}
FN(of_product)
{
    UNUSED;
    out[0] = cbx_prod(c, in[0], NULL);
    return CBX_OK;
}
FN(wide) /* what is captured, with 16 axes */
{
    UNUSED;
    out[0] = cbx_reshape(c, user, 16, (const ptrdiff_t[]){ 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1 });
    return CBX_OK;
}
FN(not_zero)
{
    UNUSED;
    out[0] = cbx_multiply(c, in[0], cbx_full(c, 0, NULL, CBX_C128, cbx_complex(-0.0, 0)));
    return CBX_OK;
}
FN(returns_leaked)
{
    UNUSED;
    out[0] = leaked;
    return CBX_OK;
}
FN(scan_over)
{
    UNUSED;
    cbx_array *zero = number(c, 0), *r[2];
    cbx_scan(c, PLAIN(add, 2, 1), 1, &zero, 1, in, CBX_LENGTH_OF_XS, false, r);
    out[0] = r[0];
    return CBX_OK;
}
static void message_only(void *user, const cbx_ell_edge *e, void *m)
{
    (void)user;
    *(double *)m = *(const double *)e->x_col;
}
static const cbx_ell_edge_functions edge_functions = { .struct_size = sizeof edge_functions,
                                                       .d_out = 1,
                                                       .message = message_only };
FN(over_edges)
{
    UNUSED;
    cbx_array *x = cbx_reshape(c, in[0], 2, (const ptrdiff_t[]){ -1, 1 });
    x = cbx_ell_edge_aggregate(c, user, NULL, x, NULL, &edge_functions, cbx_semiring_find("real"));
    out[0] = cbx_sum(c, x, NULL);
    return CBX_OK;
}
FN(if_positive)
{
    UNUSED;
    const cbx_fn *f = CBX_FN(over_edges, user, 1, 1);
    return cbx_cond(c, cbx_greater_scalar(c, cbx_index(c, in[0], 0, 0), 0), f, f, 1, in, out);
}

/* A call that must be refused: its status, and words of its message. */
static void refused(cbx_ctx *c, cbx_fn *f, cbx_array *const *in, cbx_status status, const char *words)
{
    cbx_array *out[4];
    cbx_err err = CBX_ERR_INIT;
    cbx_scope scope;

    cbx_scope_open(c, &scope);
    CHECK_STATUS(cbx_fn_call(c, f, f->nin, in, f->nout, out), status, words);
    CHECK_STATUS(cbx_scope_close(&scope, &err), status, words);
    CHECK(strstr(err.message, words) != NULL, err.message);
    cbx_fn_free(f);
}

TEST(edges_of_rules)
{
    given g;
    start(&g);
    cbx_ctx *c = g.c;
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *f = NULL;
    cbx_scope scope;
    cbx_array *x = vector(c, 3, (const double[]){ 0, 8, -1 }), *d = call1(c, grad_of(c, PLAIN(of_root, 1, 1)), 1, &x);

    near(at(d, 1), 1.0 / 12, 1e-15, "cbrt");
    CHECK(isinf(at(d, 0)), "cbrt at 0 is vertical");
    for (int big = 0; big < 2; big++) {
        const double v = big ? 1e200 : 1e-200;
        x = vector(c, 2, (const double[]){ v, v });
        d = call1(c, grad_of(c, PLAIN(of_product, 1, 1)), 1, &x);
        CHECK(at(d, 0) == v && at(d, 1) == v, "the other factor, though the product is 0 or infinite");
    }
    x = vector(c, 4, (const double[]){ 2, 0, 3, 0 });
    d = call1(c, grad_of(c, PLAIN(of_product, 1, 1)), 1, &x);
    for (size_t i = 0; i < 4; i++) CHECK_INT(at(d, i), 0, "two zeros leave nothing");

    /* lists of operands */
    CHECK_STATUS(cbx_jvp(c, PLAIN(add, 2, 1), 3, NULL, &f, &err), CBX_EINVAL, "more operands than there are");
    CHECK_STATUS(cbx_vjp(c, PLAIN(add, 2, 1), 2, (const size_t[]){ 1, 1 }, &f, &err), CBX_EINVAL, "one of them twice");
    CHECK(strstr(err.message, "lists operand 1 twice") != NULL, err.message);

    /* a linear map takes what it was made for */
    cbx_array *ten = line(c, 10), *y = NULL, *two = line(c, 2);
    CHECK_OK(cbx_linearize(c, PLAIN(scan_over, 1, 1), &ten, &y, &f, &err), &err, "linearize");
    cbx_array_free(y);
    refused(c, f, &two, CBX_ESHAPE, "tangent 0 of 'linearize(scan_over)' is float64 (2,), it must be float64 (10,)");

    /* ranks that leave no axis for a batch, or for windows */
    CHECK_OK(cbx_vmap(c, CBX_FN(wide, x, 1, 1), NULL, NULL, &f, &err), &err, "vmap");
    refused(c, f, &ten, CBX_EINVAL, "16 axes");
    cbx_scope_open(c, &scope);
    cbx_array *nine = cbx_ones(c, 9, (const size_t[]){ 1, 1, 1, 1, 1, 1, 1, 1, 1 }, CBX_F64);
    cbx_semiring_conv(c, nine, nine, cbx_semiring_find("real"), NULL);
    CHECK_STATUS(cbx_scope_close(&scope, &err), CBX_EINVAL, "seven axes to slide along");
    CHECK(strstr(err.message, "at most 6 axes, not 7") != NULL, err.message);

    /* one result is asked of an operation that has two */
    cbx_scope_open(c, &scope);
    const cbx_array *eye = cbx_eye(c, 2, 2, 0, CBX_F64);
    cbx_apply(c, CBX_PRIM_QR, 1, &eye, NULL);
    CHECK_STATUS(cbx_scope_close(&scope, &err), CBX_EINVAL, "two results");
    CHECK(strstr(err.message, "'qr' has several results") != NULL, err.message);

    /* -0 - 0i is 0: the loop ends at once */
    cbx_array *z = cbx_ones(c, 0, NULL, CBX_C128), *ended = NULL;
    CHECK_STATUS(cbx_while_loop(c, PLAIN(not_zero, 1, 1), PLAIN(identity, 1, 1), 1, &z, &ended), CBX_OK, "it ends");

    /* a batch of none keeps the shapes of results */
    cbx_array *none = cbx_zeros(c, 2, (const size_t[]){ 0, 5 }, CBX_F64);
    CHECK_OK(cbx_vmap(c, PLAIN(turned, 1, 1), NULL, NULL, &f, &err), &err, "vmap");
    d = call1(c, f, 1, &none);
    CHECK(!cbx_array_is_failed(d) && cbx_array_ndim(d) == 1 && cbx_array_count(d) == 0, "no results of rank 0");

    /* what is kept from an earlier trace is no result of a later one */
    call1(c, grad_of(c, PLAIN(leaks, 1, 1)), 1, &x);
    CHECK_OK(cbx_vmap(c, PLAIN(returns_leaked, 1, 1), NULL, NULL, &f, &err), &err, "vmap");
    refused(c, f, &x, CBX_EINVAL, "that trace has ended");
    cbx_array_free(leaked);

    /* a rule that fails inside a branch leaves nothing behind */
    static const int32_t index[] = { 1, 2, 0 };
    const cbx_ell_source source = { sizeof source, 3, 3, 1, index, NULL, NULL, NULL };
    cbx_ell *graph = NULL;
    CHECK_OK(cbx_ell_create(c, &source, &graph, &err), &err, "graph");
    x = vector(c, 3, points);
    refused(c, grad_of(c, CBX_FN(if_positive, graph, 1, 1)), &x, CBX_EUNSUPPORTED, "'ell_edge' have no 'vjp'");
    cbx_ell_free(graph);
    end(&g);
}

/* ---- to look inside ---- */

FN(twice) /* equal operations are one, what no result needs is gone */
{
    UNUSED;
    cbx_array *s = cbx_sin(c, in[0]), *again = cbx_sin(c, in[0]);
    cbx_exp(c, s);
    out[0] = cbx_add(c, s, again);
    return CBX_OK;
}
FN(loop_of_two)
{
    UNUSED;
    return cbx_scan(c, PLAIN(twice, 1, 1), 1, in, 0, NULL, 7, false, out);
}

TEST(graphs_can_be_read)
{
    static const char *const expected = "loop_of_two(%0:float64 (3,))\n"
                                        "  %1:float64 (3,) = scan %0\n"
                                        "    twice(%0:float64 (3,))\n"
                                        "      %1:float64 (3,) = sin %0\n"
                                        "      %3:float64 (3,) = add %1 %1\n"
                                        "      return %3:float64 (3,)\n"
                                        "  return %1:float64 (3,)\n";
    cbx_ctx *c = context();
    cbx_err err = CBX_ERR_INIT;
    cbx_text text;

    cbx_text_init(&text, cbx_allocator_default());
    CHECK_OK(cbx_dump(c, PLAIN(loop_of_two, 1, 1), &(const cbx_array_desc){ CBX_F64, 1, { 3 } }, CBX_DUMP_GRAPH, &text,
                      &err),
             &err, "dump");
    CHECK_OK(cbx_text_check(&text, &err), &err, "text");
    CHECK_STR(cbx_text_str(&text), expected, "a line for each operation");
    cbx_text_clear(&text);
    cbx_ctx_free(c);
}

/* ---- every allocation made to fail ---- */

static cbx_status all_of_it(cbx_ctx *c, void *user)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_scope scope;
    cbx_fn *f = NULL, *h = NULL, *many = NULL;
    cbx_array *r = NULL, *all;
    cbx_status st, closed;

    (void)user;
    cbx_scope_open(c, &scope);
    all = cbx_reshape(c, vector(c, 5, points), 2, (const ptrdiff_t[]){ 1, 5 });
    st = cbx_grad(c, PLAIN(deeply, 1, 1), 0, NULL, &f, &err);
    if (!st) st = cbx_jacfwd(c, f, 0, &h, &err);
    if (!st) st = cbx_vmap(c, h, NULL, NULL, &many, &err);
    if (!st) st = cbx_fn_call(c, many, 1, &all, 1, &r);
    cbx_fn_free(f);
    cbx_fn_free(h);
    cbx_fn_free(many);
    closed = cbx_scope_close(&scope, &err);
    return st ? st : closed;
}

TEST(memory_may_run_out) { CHECK_GT(cbx_test_fail_each(all_of_it, NULL, "derivatives"), 500, "allocations"); }

TESTS(.seconds = 300)
