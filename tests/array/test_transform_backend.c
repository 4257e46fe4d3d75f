/*
 * Transforms and control flow of abstract operands, and over backends.
 */
#include "transform_support.h"

#include "calibrax/array/backend.h"

/* ---- abstract operands ---- */

FN(any_captured)
{
    UNUSED;
    out[0] = cbx_any(c, user, NULL);
    return CBX_OK;
}
FN(counts_steps)
{
    UNUSED;
    ++*(int *)user;
    for (size_t i = 0; i < nout; i++) out[i] = cbx_add_scalar(c, in[nin - 1], 1);
    return CBX_OK;
}

TEST(abstract_operands)
{
    const cbx_array_desc three = { CBX_F64, 1, { 3 } }, many = { CBX_F64, 2, { 9, 3 } };
    int calls = 0;
    cbx_ctx *c = context();
    cbx_err err = CBX_ERR_INIT;
    cbx_array *x = abstract(c, three), *xs = abstract(c, many), *in[2], *r[2];
    cbx_array *yes = cbx_ones(c, 0, NULL, CBX_BOOL), *maybe = abstract(c, (cbx_array_desc){ .dtype = CBX_F32 });
    const cbx_fn *step = CBX_FN(counts_steps, &calls, 1, 1), *step_too = CBX_FN(counts_steps, &calls, 2, 2);
    cbx_fn *f = NULL;

    cbx_scan(c, step_too, 1, &x, 1, &xs, CBX_LENGTH_OF_XS, true, r);
    is_abstract(r[0], three, "scan: the carry");
    is_abstract(r[1], many, "scan: what is stacked");
    in[0] = line(c, 3);
    cbx_scan(c, step_too, 1, in, 1, &xs, CBX_LENGTH_OF_XS, false, r);
    is_abstract(r[0], three, "one abstract operand is enough");
    cbx_fori_loop(c, 0, INT64_MAX, CBX_FN(counts_steps, &calls, 2, 1), 1, &x, r);
    is_abstract(r[0], three, "fori_loop");
    cbx_while_loop(c, PLAIN(always, 1, 1), step, 1, &x, r);
    is_abstract(r[0], three, "while_loop");
    CHECK_INT(calls, 4, "each body ran once");
    cbx_cond(c, yes, step, PLAIN(cube, 1, 1), 1, &x, r);
    is_abstract(r[0], three, "cond of abstract operands");
    cbx_cond(c, maybe, step, PLAIN(cube, 1, 1), 1, in, r);
    is_abstract(r[0], three, "cond of an abstract choice");
    CHECK_OK(cbx_vmap(c, PLAIN(add, 2, 1), (const int[]){ 1, CBX_NOT_MAPPED }, (const int[]){ -1 }, &f, &err), &err,
             "vmap");
    cbx_fn_call(c, f, 2, (cbx_array *const[]){ xs, abstract(c, (cbx_array_desc){ CBX_F32, 1, { 9 } }) }, 1, r);
    is_abstract(r[0], many, "vmap: 3 elements of (9,), stacked on the last axis");
    cbx_fn_free(f);
    CHECK_OK(cbx_ctx_pending(c, &err), &err, "nothing failed");

    CHECK_STATUS(cbx_while_loop(c, PLAIN(identity, 1, 1), step, 1, &x, r), CBX_ESHAPE, "a test of three");
    cbx_ctx_free(c);
}

/* What a function closes over may be abstract though no operand is. */
TEST(abstract_values_from_outside)
{
    const cbx_array_desc three = { CBX_F64, 1, { 3 } }, many = { CBX_F64, 2, { 9, 3 } };
    cbx_ctx *c = context();
    cbx_err err = CBX_ERR_INIT;
    cbx_array *x = abstract(c, three), *known = line(c, 3), *rows = of_shape(c, 9, 3), *r[2];
    const cbx_fn *closed = CBX_FN(add_captured, x, 1, 1);
    cbx_fn *f = NULL;

    cbx_scan(c, CBX_FN(add_captured, x, 1, 1), 1, &known, 0, NULL, 1000000000, false, r);
    is_abstract(r[0], three, "scan");
    cbx_scan(c, closed, 0, NULL, 1, &rows, CBX_LENGTH_OF_XS, false, r);
    is_abstract(r[0], many, "scan: what is stacked");
    cbx_fori_loop(c, 0, INT64_MAX, CBX_FN(add_captured, x, 2, 1), 1, &known, r);
    is_abstract(r[0], three, "fori_loop");
    cbx_while_loop(c, PLAIN(always, 1, 1), closed, 1, &known, r);
    is_abstract(r[0], three, "while_loop: the body");
    cbx_while_loop(c, CBX_FN(any_captured, x, 1, 1), PLAIN(identity, 1, 1), 1, &known, r);
    is_abstract(r[0], three, "while_loop: the test");
    CHECK_OK(cbx_vmap(c, closed, NULL, NULL, &f, &err), &err, "vmap");
    cbx_fn_call(c, f, 1, &rows, 1, r);
    is_abstract(r[0], many, "vmap");
    cbx_fn_free(f);
    CHECK_OK(cbx_ctx_pending(c, &err), &err, "nothing failed");
    cbx_ctx_free(c);
}

/* A branch in C is decided while the function is traced, by elements that are not there. */
FN(branches)
{
    UNUSED;
    double v = 1;
    cbx_array_read(in[0], &v, sizeof v, NULL);
    out[0] = v > 0 ? in[0] : cbx_negative(c, in[0]);
    return CBX_OK;
}
FN(branches_later)
{
    UNUSED;
    double v = 1;
    const cbx_array *sum = cbx_add(c, in[0], in[0]);
    const cbx_status st = cbx_array_read(sum, &v, sizeof v, NULL);
    out[0] = v > 0 ? in[0] : cbx_negative(c, in[0]);
    return st;
}
TEST(branches_on_what_is_traced_are_refused)
{
    static const struct {
        cbx_array_fn call;
        const char *message;
    } cases[] = {
        { branches, "'f' reads elements of float64 (), which are not known while it is traced: decide with 'cond' or "
                    "'while_loop'" },
        { branches_later, "'f' reads elements of float64 (), which are not known while it is traced: decide with "
                          "'cond' or 'while_loop'" },
    };
    cbx_ctx *c = context();
    cbx_err err = CBX_ERR_INIT;

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const cbx_fn plain = { "f", cases[i].call, NULL, 1, 1, NULL };
        cbx_array *x = number(c, 2), *y = NULL;
        cbx_fn *f = NULL;
        CHECK_OK(cbx_fn_run(c, &plain, 1, &x, 1, &y, &err), &err, "with elements");
        cbx_array_free(y);
        CHECK_OK(cbx_jit(c, &plain, &f, &err), &err, "jit");
        CHECK_STATUS(cbx_fn_run(c, f, 1, &x, 1, &y, &err), CBX_EINVAL, "traced");
        CHECK_STR(err.message, cases[i].message, "message");
        cbx_fn_free(f);
    }
    cbx_ctx_free(c);
}

/* ---- backends ---- */

static int applied;
static cbx_status my_apply(const cbx_backend *self, const cbx_call *call, cbx_array **out, cbx_err *err)
{
    (void)self;
    applied++;
    for (size_t i = 0; i < call->nin; i++) CHECK(!cbx_array_is_abstract(call->in[i]), "operands have data");
    return cbx_backend_reference()->apply(cbx_backend_reference(), call, out, err);
}

/* Everything is made of apply: control flow, batches and derivatives of any backend. */
TEST(backends_bring_apply)
{
    static const double last[5] = { 3, 6, 5, 5, 3 };
    const cbx_backend mine = {
        .struct_size = sizeof(cbx_backend), .abi = CBX_BACKEND_ABI, .name = "counting", .apply = my_apply
    };
    cbx_err err = CBX_ERR_INIT;
    cbx_ctx *c = context();
    cbx_array *x = line(c, 3), *r[5];
    int before;

    CHECK_OK(cbx_ctx_set_backend(c, &mine, &err), &err, "set");
    CHECK_OK(every_operation(c, x, r, &err), &err, "every operation");
    for (int i = 0; i < 5; i++) CHECK_INT(at(r[i], cbx_array_count(r[i]) - 1), last[i], "the last element, by hand");
    CHECK_GT(applied, 10, "through the backend");
    x = abstract(c, (cbx_array_desc){ CBX_F64, 1, { 3 } });
    before = applied;
    CHECK_OK(every_operation(c, x, r, &err), &err, "abstract");
    for (int i = 0; i < 5; i++) CHECK(cbx_array_is_abstract(r[i]), "abstract");
    CHECK_LE(applied - before, 6, "nothing is computed of them, but constants are");
    cbx_ctx_free(c);
}

TESTS(.seconds = 600)
