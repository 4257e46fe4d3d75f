/*
 * Transforms and control flow of abstract operands, and over backends: with members of their own, without, recording ones,
 * and one that differentiates.
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

static void abstract_operands(void **state)
{
    (void)state;
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
static void abstract_values_from_outside(void **state)
{
    (void)state;
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

/* ---- backends ---- */

/* One that counts its members' calls and hands on to the reference. */
typedef struct counting {
    cbx_backend base;
    int apply, abstract, jit, vmap, scan, fori, whiles, cond;
} counting;
#define REF cbx_backend_reference()

static cbx_status my_apply(const cbx_backend *self, const cbx_call *call, cbx_array **out, cbx_err *err)
{
    counting *me = (counting *)(uintptr_t)self;
    me->apply++;
    for (size_t i = 0; i < call->nin; i++)
        if (cbx_array_is_abstract(call->in[i])) {
            me->abstract++;
            return cbx_array_create_abstract(call->ctx, call->result, out, err);
        }
    return REF->apply(REF, call, out, err);
}
static cbx_status my_jit(const cbx_backend *self, cbx_ctx *ctx, const cbx_fn *f, cbx_fn **out, cbx_err *err)
{
    ((counting *)(uintptr_t)self)->jit++;
    return REF->jit(REF, ctx, f, out, err);
}
#define MEMBER(name, type, count)                                                                                      \
    static cbx_status my_##name(const cbx_backend *self, const type *call, cbx_array **out, cbx_err *err)              \
    {                                                                                                                  \
        ((counting *)(uintptr_t)self)->count++;                                                                        \
        return REF->name(REF, call, out, err);                                                                         \
    }
MEMBER(vmap, cbx_vmap_call, vmap)
MEMBER(scan, cbx_scan_call, scan)
MEMBER(fori_loop, cbx_loop_call, fori)
MEMBER(while_loop, cbx_loop_call, whiles)
MEMBER(cond, cbx_cond_call, cond)

static const counting bare = {
    .base = { .struct_size = sizeof(cbx_backend), .abi = CBX_BACKEND_ABI, .name = "counting", .apply = my_apply }
};

static void check_every_result(cbx_array *const *r)
{
    static const double last[5] = { 3, 6, 5, 5, 3 };
    for (int i = 0; i < 5; i++) CHECK_INT(at(r[i], cbx_array_count(r[i]) - 1), last[i], "the last element, by hand");
}

static void backends_may_bring_members(void **state)
{
    (void)state;
    counting mine = bare;
    cbx_err err = CBX_ERR_INIT;
    cbx_ctx *c = context();
    cbx_array *x = line(c, 3), *r[5];

    CHECK_OK(cbx_ctx_set_backend(c, &mine.base, &err), &err, "set");
    CHECK_OK(every_operation(c, x, r, &err), &err, "no members");
    check_every_result(r);
    CHECK_GT(mine.apply, 20, "the engine's loops go through the backend");
    mine.base.jit = my_jit;
    mine.base.vmap = my_vmap;
    mine.base.scan = my_scan;
    mine.base.fori_loop = my_fori_loop;
    mine.base.while_loop = my_while_loop;
    mine.base.cond = my_cond;
    CHECK_OK(every_operation(c, x, r, &err), &err, "all members");
    check_every_result(r);
    CHECK(mine.jit == 1 && mine.vmap == 1 && mine.scan == 1 && mine.fori == 1 && mine.whiles == 1 && mine.cond == 1,
          "each is called once");
    x = abstract(c, (cbx_array_desc){ CBX_F64, 1, { 3 } });
    CHECK_OK(every_operation(c, x, r, &err), &err, "abstract");
    for (int i = 0; i < 5; i++) CHECK(cbx_array_is_abstract(r[i]), "abstract");
    CHECK(mine.jit == 2 && mine.vmap + mine.scan + mine.fori + mine.whiles + mine.cond == 5,
          "members that record nothing see no abstract operand");
    CHECK_INT(mine.abstract, 0, "nor does apply");
    cbx_ctx_free(c);
}

static cbx_status record_scan(const cbx_backend *self, const cbx_scan_call *call, cbx_array **out, cbx_err *err)
{
    cbx_array_desc d[2];
    counting *me = (counting *)(uintptr_t)self;
    int before = me->abstract;

    me->scan++;
    CHECK_OK(cbx_fn_infer(call->ctx, call->body, 1, cbx_array_get_desc(call->init[0]), 1, d, err), err, "infer");
    CHECK_INT(me->abstract, before, "shapes are not recorded");
    return cbx_array_create_abstract(call->ctx, d, out, err);
}

static void recording_backends_bring_members(void **state)
{
    (void)state;
    static const char *const lacking[] = { "vmap", "scan", "fori_loop", "while_loop", "cond" };
    counting mine = bare;
    cbx_err err = CBX_ERR_INIT;
    cbx_ctx *c = context();

    mine.base.flags = CBX_BACKEND_TAKES_ABSTRACT;
    CHECK_OK(cbx_ctx_set_backend(c, &mine.base, &err), &err, "set");
    for (int i = 0; i < 6; i++) {
        cbx_scope scope;
        cbx_fn *f = NULL;
        cbx_scope_open(c, &scope);
        cbx_array *x = abstract(c, (cbx_array_desc){ CBX_F64, 1, { 3 } }), *known = line(c, 3), *r = NULL;
        const cbx_fn *step = PLAIN(identity, 1, 1);
        CHECK_OK(cbx_vmap(c, step, NULL, NULL, &f, &err), &err, "vmap");
        if (i == 0) cbx_fn_call(c, f, 1, &x, 1, &r);
        if (i == 1) cbx_scan(c, step, 1, &x, 0, NULL, 3, false, &r);
        if (i == 2) cbx_fori_loop(c, 0, 3, PLAIN(narrows, 2, 1), 1, &x, &r);
        if (i == 3) cbx_while_loop(c, PLAIN(always, 1, 1), step, 1, &x, &r);
        if (i == 4) cbx_cond(c, cbx_index(c, x, 0, 0), step, step, 1, &x, &r);
        if (i == 5) cbx_fori_loop(c, 0, 3, CBX_FN(add_captured, x, 2, 1), 1, &known, &r);
        CHECK_STATUS(cbx_scope_close(&scope, &err), CBX_EUNSUPPORTED, "a trace that would miss it");
        CHECK(strstr(err.message, lacking[i == 5 ? 2 : i]) && strstr(err.message, "'counting'"), err.message);
        cbx_fn_free(f);
    }
    mine.base.scan = record_scan;
    cbx_array *x = abstract(c, (cbx_array_desc){ CBX_F64, 1, { 3 } }), *r = NULL;
    cbx_scan(c, PLAIN(wanders, 1, 1), 1, &x, 0, NULL, 3, false, &r);
    is_abstract(r, (cbx_array_desc){ CBX_F64, 1, { 3 } }, "its own answer");
    CHECK_INT(mine.scan, 1, "the member has it");
    cbx_ctx_free(c);
}

/* A backend that differentiates by central differences: (f(x + h) - f(x - h)) / 2h. */
typedef struct slope {
    cbx_fn *f;
    cbx_allocator al;
    size_t n;
    bool value;
    size_t argnums[2];
} slope;

static void slope_free(void *user)
{
    slope *s = user;
    cbx_allocator al = s->al;
    cbx_fn_free(s->f);
    cbx_mem_free(&al, s, sizeof *s);
}

FN(slope_call)
{
    const slope *s = user;
    const double h = 1e-3;
    cbx_array *moved[2], *low, *high;

    (void)nout;
    if (s->value) cbx_fn_call(c, s->f, nin, in, 1, out);
    for (size_t k = 0; k < s->n; k++) {
        for (size_t i = 0; i < nin; i++) moved[i] = i == s->argnums[k] ? cbx_add_scalar(c, in[i], h) : in[i];
        cbx_fn_call(c, s->f, nin, moved, 1, &high);
        for (size_t i = 0; i < nin; i++) moved[i] = i == s->argnums[k] ? cbx_add_scalar(c, in[i], -h) : in[i];
        cbx_fn_call(c, s->f, nin, moved, 1, &low);
        out[k + s->value] = cbx_divide_scalar(c, cbx_subtract(c, high, low), 2 * h);
    }
    return CBX_OK;
}

static cbx_status make_slope(cbx_ctx *ctx, const cbx_fn *f, size_t n, const size_t *argnums, bool value, cbx_fn **out,
                             cbx_err *err)
{
    slope *s = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof *s);
    cbx_status st;

    if (!s) return cbx_fail(err, CBX_ENOMEM, "no memory for a slope");
    s->al = *cbx_ctx_allocator(ctx);
    s->n = n;
    s->value = value;
    memcpy(s->argnums, argnums, n * sizeof *argnums);
    st = cbx_fn_keep(ctx, f, &s->f, err);
    if (!st)
        st = cbx_fn_create(ctx, &(cbx_fn){ "slope", slope_call, s, f->nin, n + value, NULL }, slope_free, out, err);
    if (st) slope_free(s);
    return st;
}
static cbx_status slope_grad(const cbx_backend *self, cbx_ctx *ctx, const cbx_fn *f, size_t n, const size_t *argnums,
                             cbx_fn **out, cbx_err *err)
{
    (void)self;
    return make_slope(ctx, f, n, argnums, false, out, err);
}
static cbx_status slope_value_and_grad(const cbx_backend *self, cbx_ctx *ctx, const cbx_fn *f, size_t n,
                                       const size_t *argnums, cbx_fn **out, cbx_err *err)
{
    (void)self;
    return make_slope(ctx, f, n, argnums, true, out, err);
}

FN(hill) /* x^2 y */
{
    UNUSED;
    out[0] = cbx_multiply(c, cbx_square(c, in[0]), in[1]);
    return CBX_OK;
}

static void gradients_need_a_backend(void **state)
{
    (void)state;
    counting mine = bare;
    cbx_err err = CBX_ERR_INIT;
    cbx_ctx *c = context();
    cbx_fn *f = NULL, *g = NULL, *many = NULL;
    cbx_array *in[2] = { number(c, 3), number(c, 5) }, *r[3];

    CHECK_STATUS(cbx_grad(c, PLAIN(cube, 1, 1), 0, NULL, &f, &err), CBX_EUNSUPPORTED, "the reference has none");
    CHECK_STR(err.message,
              "backend 'reference' has no 'grad': give the context one that differentiates (cbx_ctx_set_backend)",
              "names the remedy");
    CHECK_STATUS(cbx_value_and_grad(c, PLAIN(cube, 1, 1), 0, NULL, &f, &err), CBX_EUNSUPPORTED, "neither this one");
    mine.base.grad = slope_grad;
    mine.base.value_and_grad = slope_value_and_grad;
    CHECK_OK(cbx_ctx_set_backend(c, &mine.base, &err), &err, "set");
    CHECK_STATUS(cbx_grad(c, PLAIN(identity, 2, 2), 0, NULL, &f, &err), CBX_EINVAL, "two results");
    CHECK_STATUS(cbx_grad(c, PLAIN(hill, 2, 1), 1, (const size_t[]){ 2 }, &f, &err), CBX_EINVAL, "no such operand");
    CHECK_STATUS(cbx_value_and_grad(c, NULL, 0, NULL, &f, &err), CBX_EINVAL, "no function");

    CHECK_OK(cbx_grad(c, PLAIN(cube, 1, 1), 0, NULL, &f, &err), &err, "grad");
    CHECK_OK(cbx_grad(c, f, 0, NULL, &g, &err), &err, "of grad");
    CHECK_OK(cbx_vmap(c, g, NULL, NULL, &many, &err), &err, "over a batch");
    cbx_array *x = line(c, 4);
    CHECK_STATUS(cbx_fn_call(c, many, 1, &x, 1, r), CBX_OK, "call");
    for (size_t i = 0; i < 4; i++) CHECK_LE(fabs(at(r[0], i) - 6 * (double)i), 1e-6, "6 x");
    cbx_fn_free(f);
    cbx_fn_free(g);
    cbx_fn_free(many);
    CHECK_OK(cbx_value_and_grad(c, PLAIN(hill, 2, 1), 2, (const size_t[]){ 1, 0 }, &f, &err), &err,
             "value and gradients");
    CHECK_STATUS(cbx_fn_call(c, f, 2, in, 3, r), CBX_OK, "call");
    CHECK_LE(fabs(at(r[0], 0) - 45), 1e-12, "x^2 y");
    CHECK_LE(fabs(at(r[1], 0) - 9), 1e-6, "x^2");
    CHECK_LE(fabs(at(r[2], 0) - 30), 1e-6, "2 x y");
    cbx_fn_free(f);
    cbx_ctx_free(c);
}

TEST_FILE(.seconds = 600)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(abstract_operands),          cmocka_unit_test(abstract_values_from_outside),
        cmocka_unit_test(backends_may_bring_members), cmocka_unit_test(recording_backends_bring_members),
        cmocka_unit_test(gradients_need_a_backend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
