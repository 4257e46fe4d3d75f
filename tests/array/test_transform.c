/*
 * Functions as values, transforms and control flow: who owns what, what is refused in which words,
 * what a failing body leaves behind, memory over many steps, memory that runs out.
 * test_transform_jax.c has the values.
 */
#include "transform_support.h"

#include "fail_alloc.h"

/* ---- functions ---- */

FN(sets_nothing)
{
    UNUSED;
    return CBX_OK;
}
FN(says_nothing)
{
    UNUSED;
    return CBX_EDOM;
}
FN(fails_inside)
{
    UNUSED;
    out[0] = cbx_add(c, in[0], line(c, 3));
    return CBX_OK;
}
FN(fails_aside)
{
    UNUSED;
    cbx_reshape(c, in[0], 1, (const ptrdiff_t[]){ 99 });
    out[0] = in[0];
    return CBX_OK;
}
FN(leaves_a_scope_open)
{
    static cbx_scope left;
    UNUSED;
    cbx_scope_open(c, &left);
    out[0] = cbx_sqrt(c, in[0]);
    return CBX_OK;
}
FN(counts_calls)
{
    UNUSED;
    ++*(int *)user;
    out[0] = cbx_sqrt(c, cbx_square(c, cbx_square(c, in[0])));
    return CBX_OK;
}

static void count_release(void *user) { ++*(int *)user; }

TEST(functions_own_their_user)
{
    cbx_test_alloc al;
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *f = NULL, *g = NULL, *plain = NULL;
    cbx_array *r = NULL, *x = NULL;
    int released = 0;

    cbx_test_alloc_init(&al);
    cbx_ctx *c = cbx_test_ctx(&al), *other = context();
    const cbx_fn *code = CBX_FN(counts_calls, &released, 1, 1);
    CHECK_STR(code->name, "counts_calls", "a plain function is called as its code is");
    CHECK_OK(cbx_fn_create(c, code, count_release, &f, &err), &err, "create");
    CHECK_STR(f->name, "counts_calls", "an owned one, too");
    CHECK_OK(cbx_fn_keep(c, f, &g, &err), &err, "keep");
    CHECK(f == g, "keeping shares");
    CHECK_OK(cbx_fn_keep(c, CBX_FN(cube, NULL, 1, 1), &plain, &err), &err, "keep");
    CHECK(plain->call == cube, "keeping a plain one copies");
    CHECK_STATUS(cbx_fn_create(c, f, NULL, &g, &err), CBX_EINVAL, "owned already");
    CHECK_STATUS(cbx_fn_create(c, CBX_FN(NULL, NULL, 1, 1), NULL, &g, &err), CBX_EINVAL, "no code");
    CHECK_STATUS(cbx_fn_keep(c, NULL, &g, &err), CBX_EINVAL, "no function");
    cbx_ctx_free(c);
    x = cbx_array_ref(number(other, 3));
    CHECK_OK(cbx_fn_run(other, f, 1, &x, 1, &r, &err), &err, "it outlives its context");
    CHECK_INT(at(r, 0), 9, "and runs in another");
    CHECK_INT(released, 1, "called once, not released");
    cbx_fn_free(f);
    CHECK_INT(released, 1, "one reference is left");
    cbx_fn_free(g);
    CHECK_INT(released, 2, "released with the last one");
    cbx_fn_free(plain);
    cbx_fn_free(NULL);
    cbx_array_free(r);
    cbx_array_free(x);
    cbx_ctx_free(other);
    cbx_test_alloc_check(&al, "functions");
}

TEST(calls_are_scopes)
{
    static const struct {
        cbx_array_fn f;
        size_t nin, nout;
        cbx_status status;
        const char *words, *why;
    } cases[] = {
        { identity, 2, 1, CBX_EINVAL, "takes 2 operands and returns 1", "a count that is not the function's" },
        { sets_nothing, 1, 1, CBX_EINVAL, "did not set its result 0", "a result not set" },
        { says_nothing, 1, 1, CBX_EDOM, "without a reason", "a status without a failure" },
        { fails_inside, 1, 1, CBX_ESHAPE, "float64 (4,) with float64 (3,)", "a failure keeps its words" },
        { fails_aside, 1, 1, CBX_ESHAPE, "reshape", "a failure that no result shows" },
    };
    cbx_test_alloc al;
    cbx_err err = CBX_ERR_INIT;
    cbx_scope scope;
    int calls = 0;

    cbx_test_alloc_init(&al);
    cbx_ctx *c = cbx_test_ctx(&al);
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const cbx_fn f = { "it", cases[i].f, NULL, cases[i].nin, cases[i].nout, NULL };
        cbx_scope_open(c, &scope);
        cbx_array *x = line(c, 4), *r = NULL;
        CHECK_STATUS(cbx_fn_call(c, &f, 1, &x, 1, &r), cases[i].status, cases[i].why);
        CHECK(cbx_array_is_failed(r) && r, cases[i].why);
        CHECK_STATUS(cbx_fn_call(c, CBX_FN(counts_calls, &calls, 1, 1), 1, &x, 1, &r), cases[i].status,
                     "still pending");
        CHECK_STATUS(cbx_scope_close(&scope, &err), cases[i].status, cases[i].why);
        if (!strstr(err.message, cases[i].words)) fail_msg("%s: \"%s\"", cases[i].why, err.message);
        CHECK_STATUS(cbx_ctx_pending(c, NULL), CBX_OK, "the close took it");
    }
    CHECK_INT(calls, 0, "nothing is called while a failure is pending");

    cbx_scope_open(c, &scope);
    cbx_array *x = line(c, 4), *y = x;
    size_t before = al.live_blocks;
    enum { CALLS = 32, SPARE = 4 }; /* handles that the context keeps for the next steps */
    for (int i = 0; i < CALLS; i++) {
        y = x;
        CHECK_STATUS(cbx_fn_call(c, CBX_FN(counts_calls, &calls, 1, 1), 1, &y, 1, &y), CBX_OK,
                     "in place of its operand");
    }
    CHECK_LE(al.live_blocks - before, CALLS + SPARE, "one result of each lives, the steps to it are gone");
    CHECK_INT(at(y, 3), 9, "the result");
    CHECK_STATUS(cbx_fn_call(c, CBX_FN(leaves_a_scope_open, NULL, 1, 1), 1, &y, 1, &y), CBX_OK, "a scope left open");
    CHECK_INT(at(y, 2), 2, "is closed behind it");
    CHECK_OK(cbx_scope_close(&scope, &err), &err, "and ours is the current one");
    y = (cbx_array *)(uintptr_t)NULL;
    CHECK_STATUS(cbx_fn_run(c, CBX_FN(identity, NULL, 1, 1), 1, &y, 1, &x, &err), CBX_EINVAL, "NULL");
    CHECK(x == NULL && strstr(err.message, "NULL"), "no result, and the reason is given");
    CHECK_STATUS(cbx_ctx_pending(c, NULL), CBX_OK, "by the record alone");
    cbx_ctx_free(c);
    cbx_test_alloc_check(&al, "calls");
}

/* ---- what is refused ---- */

FN(grows)
{
    UNUSED;
    out[0] = cbx_concat(c, 2, (const cbx_array *const[]){ in[nin - 1], in[nin - 1] }, 0);
    return CBX_OK;
}
FN(picks)
{
    UNUSED;
    out[0] = cbx_index(c, cbx_nonzero(c, in[0]), 0, 0);
    return CBX_OK;
}
FN(positive)
{
    UNUSED;
    out[0] = cbx_greater_scalar(c, in[0], 0);
    return CBX_OK;
}
FN(deep)
{
    UNUSED;
    out[0] = cbx_reshape(c, in[0], 16, (const ptrdiff_t[]){ 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1 });
    return CBX_OK;
}

/* One call that is refused; concrete or abstract operands. */
static cbx_status refused_call(cbx_ctx *c, int which, cbx_array *x, cbx_array **out)
{
    const cbx_fn *one = PLAIN(identity, 1, 1), *two = PLAIN(identity, 2, 2), *narrow = PLAIN(narrows, 1, 1);
    cbx_array *const xs[] = { x, of_shape(c, 5, 2) };
    cbx_array *scalar = number(c, 1), *yes = cbx_ones(c, 0, NULL, CBX_BOOL);

    switch (which) {
    case 0: return cbx_scan(c, two, 1, &scalar, 1, &scalar, CBX_LENGTH_OF_XS, false, out);
    case 1: return cbx_scan(c, two, 2, xs, 0, NULL, CBX_LENGTH_OF_XS, false, out);
    case 2: return cbx_scan(c, PLAIN(identity, 3, 3), 1, &scalar, 2, xs, CBX_LENGTH_OF_XS, false, out);
    case 3: return cbx_scan(c, two, 1, &scalar, 1, &x, 6, false, out);
    case 4: return cbx_scan(c, one, 1, &scalar, 1, &x, CBX_LENGTH_OF_XS, false, out);
    case 5: return cbx_scan(c, narrow, 1, &x, 0, NULL, 3, false, out);
    case 6: return cbx_scan(c, PLAIN(grows, 1, 1), 1, &x, 0, NULL, 3, false, out);
    case 7: return cbx_fori_loop(c, 0, 3, PLAIN(narrows, 2, 1), 1, &x, out);
    case 8: return cbx_fori_loop(c, 0, 3, one, 1, &x, out);
    case 9: return cbx_while_loop(c, PLAIN(always, 1, 1), narrow, 1, &x, out);
    case 10: return cbx_while_loop(c, PLAIN(positive, 1, 1), one, 1, &x, out);
    case 11: return cbx_while_loop(c, two, one, 1, &x, out);
    case 12: return cbx_cond(c, yes, one, narrow, 1, &x, out);
    case 13: return cbx_cond(c, yes, PLAIN(grows, 1, 1), one, 1, &x, out);
    case 14: return cbx_cond(c, x, one, one, 1, &x, out);
    case 15: return cbx_cond(c, yes, one, two, 1, &x, out);
    case 16: return cbx_cond(c, yes, one, PLAIN(picks, 1, 1), 1, &x, out);
    case 17: return cbx_switch(c, scalar, 1, &one, 1, &x, out);
    case 18: return cbx_switch(c, yes, 0, NULL, 1, &x, out);
    case 19: return cbx_scan(c, PLAIN(deep, 1, 1), 0, NULL, 1, &x, CBX_LENGTH_OF_XS, false, out);
    case 20: return cbx_fori_loop(c, 0, 3, CBX_FN(NULL, NULL, 2, 1), 1, &x, out);
    case 21: return cbx_fori_loop(c, 0, 3, PLAIN(identity, 2, 1), 1, (cbx_array *const[]){ NULL }, out);
    case 22: return cbx_scan(c, PLAIN(fails_inside, 1, 1), 1, &x, 0, NULL, 3, false, out);
    default: return CBX_OK;
    }
}

TEST(what_is_refused)
{
    static const struct {
        cbx_status status;
        const char *words, *why;
    } cases[] = {
        { CBX_EINVAL, "is a scalar", "xs without an axis" },
        { CBX_EINVAL, "needs a length", "the number of steps is unknown" },
        { CBX_ESHAPE, "float64 (5, 2), but there are 4 steps", "xs of two lengths" },
        { CBX_ESHAPE, "but there are 6 steps", "a length that is not that of xs" },
        { CBX_EINVAL, "takes 1 operands and returns 1 results, and must take 2 and return at least 1",
          "a body of other counts" },
        { CBX_EDTYPE, "is float64 (4, 2) before 'narrows' and float32 (4, 2) after it", "a carry of another dtype" },
        { CBX_ESHAPE, "is float64 (4, 2) before 'grows' and float64 (8, 2) after it", "a carry of another shape" },
        { CBX_EDTYPE, "value 0 carried by 'fori_loop'", "a value of another dtype" },
        { CBX_EINVAL, "must take 2 and return 1", "a body that takes no index" },
        { CBX_EDTYPE, "carried by 'while_loop'", "a value of another dtype" },
        { CBX_ESHAPE, "'positive' of 'while_loop' returns bool (4, 2), it must return", "a test that is no scalar" },
        { CBX_EINVAL, "must take 1 and return 1", "a test of two values" },
        { CBX_EDTYPE, "branches must agree", "branches of two dtypes" },
        { CBX_ESHAPE, "branches must agree", "branches of two shapes" },
        { CBX_ESHAPE, "by a scalar", "a choice that is no scalar" },
        { CBX_EINVAL, "must take 1 and return 2", "branches of two counts" },
        { CBX_EINVAL, "depends on data", "a branch whose shape only data know" },
        { CBX_EDTYPE, "integer", "an invalid index" },
        { CBX_EINVAL, "needs at least one branch", "nothing to choose from" },
        { CBX_EINVAL, "all 16 axes", "a stack of one axis too many" },
        { CBX_EINVAL, "no code", "no function" },
        { CBX_EINVAL, "is NULL", "no operand" },
        { CBX_ESHAPE, "float64 (4, 2) with float64 (3,)", "a failure of the body keeps its words" },
    };
    cbx_err err = CBX_ERR_INIT;
    cbx_ctx *c = context();

    for (size_t i = 0; i < 2 * CBX_LEN(cases); i++) {
        size_t which = i / 2;
        cbx_scope scope;
        cbx_array *out[3] = { NULL, NULL, NULL }, *x;
        cbx_scope_open(c, &scope);
        x = of_shape(c, 4, 2);
        if (i % 2) {
            cbx_array *a = NULL;
            CHECK_OK(cbx_array_create_abstract(c, cbx_array_get_desc(x), &a, &err), &err, "abstract");
            x = cbx_scope_hold(c, a);
        }
        CHECK_STATUS(refused_call(c, (int)which, x, out), cases[which].status, cases[which].why);
        CHECK(which == 18 || (out[0] && cbx_array_is_failed(out[0])), cases[which].why);
        CHECK_STATUS(cbx_scope_close(&scope, &err), cases[which].status, cases[which].why);
        if (!strstr(err.message, cases[which].words)) fail_msg("%s: \"%s\"", cases[which].why, err.message);
    }
    cbx_ctx_free(c);
}

TEST(what_vmap_refuses)
{
    static const struct {
        int in[2], out;
        cbx_status built, called;
        const char *words, *why;
    } cases[] = {
        { { CBX_NOT_MAPPED, CBX_NOT_MAPPED }, 0, CBX_EINVAL, CBX_OK, "maps no operand", "nothing is mapped" },
        { { 2, 0 }, 0, CBX_OK, CBX_EINVAL, "axis 2 of operand 0, which is float64 (4, 3)", "no such axis" },
        { { 0, -2 }, 0, CBX_OK, CBX_EINVAL, "axis -2 of operand 1, which is float64 (3,)", "nor from the end" },
        { { 0, 0 }, 0, CBX_OK, CBX_ESHAPE, "axis 0 of float64 (4, 3) and axis 0 of float64 (3,)", "lengths differ" },
        { { 1, 0 }, 2, CBX_OK, CBX_EINVAL, "axis 2 of result 0, which is float64 (3, 4)", "no such place" },
    };
    cbx_err err = CBX_ERR_INIT;
    cbx_ctx *c = context();

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_scope scope;
        cbx_fn *f = NULL;
        CHECK_STATUS(cbx_vmap(c, PLAIN(add, 2, 1), cases[i].in, &cases[i].out, &f, &err), cases[i].built, cases[i].why);
        if (!cases[i].built) {
            cbx_scope_open(c, &scope);
            cbx_array *const in[] = { cbx_ones(c, 2, (const size_t[]){ 4, 3 }, CBX_F64), line(c, 3) };
            cbx_array *out = NULL;
            CHECK_STATUS(cbx_fn_call(c, f, 2, in, 1, &out), cases[i].called, cases[i].why);
            CHECK_STATUS(cbx_scope_close(&scope, &err), cases[i].called, cases[i].why);
        }
        if (!strstr(err.message, cases[i].words)) fail_msg("%s: \"%s\"", cases[i].why, err.message);
        cbx_fn_free(f);
    }
    cbx_scope scope;
    cbx_fn *f = NULL;
    cbx_scope_open(c, &scope);
    cbx_array *x = cbx_eye(c, 3, 4, 0, CBX_F64), *out = NULL;
    CHECK_OK(cbx_vmap(c, PLAIN(picks, 1, 1), NULL, NULL, &f, &err), &err, "built");
    CHECK_STATUS(cbx_fn_call(c, f, 1, &x, 1, &out), CBX_EINVAL, "a shape that data decide");
    CHECK_STATUS(cbx_scope_close(&scope, &err), CBX_EINVAL, "as in any trace");
    CHECK(strstr(err.message, "depends on data") != NULL, err.message);
    cbx_fn_free(f);
    cbx_scope_open(c, &scope);
    CHECK_OK(cbx_vmap(c, PLAIN(identity, 2, 2), (const int[]){ 0, CBX_NOT_MAPPED }, (const int[]){ CBX_NOT_MAPPED, 0 },
                      &f, &err),
             &err, "built");
    cbx_array *two[2] = { line(c, 3), line(c, 2) }, *both[2];
    CHECK_STATUS(cbx_fn_call(c, f, 2, two, 2, both), CBX_EINVAL, "a result that differs, without an axis");
    CHECK_STATUS(cbx_scope_close(&scope, &err), CBX_EINVAL, "differs");
    CHECK(strstr(err.message, "result 0 of 'vmap(identity)' differs over the batch") != NULL, err.message);
    cbx_fn_free(f);
    cbx_ctx_free(c);
}

/* ---- failures in the middle, and memory ---- */

/* x + five[k], which has no element 5. */
static cbx_array *plus_element(cbx_ctx *c, const cbx_array *x, const cbx_array *k)
{
    return cbx_add(c, x, cbx_take(c, line(c, 5), k, 0));
}
FN(adds_element) /* (x, k) */
{
    UNUSED;
    out[0] = plus_element(c, in[0], in[1]);
    if (nout > 1) out[1] = out[0];
    return CBX_OK;
}
FN(adds_counted) /* (k, x) */
{
    UNUSED;
    out[nout - 1] = plus_element(c, in[1], in[0]);
    if (nout > 1) out[0] = cbx_add(c, in[0], cbx_full(c, 0, NULL, CBX_I64, cbx_int(1)));
    return CBX_OK;
}

/* Six steps, the last of which fails; how: which operation. */
static cbx_status burn(cbx_ctx *c, int how, cbx_array *x, cbx_array *ks, cbx_array **out)
{
    cbx_array *const counted[] = { cbx_zeros(c, 0, NULL, CBX_I64), x };
    cbx_fn *mapped = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;

    if (how == 0) return cbx_scan(c, PLAIN(adds_element, 2, 2), 1, &x, 1, &ks, CBX_LENGTH_OF_XS, false, out);
    if (how == 1) return cbx_fori_loop(c, 0, 9, PLAIN(adds_counted, 2, 1), 1, &x, out);
    if (how == 2) return cbx_while_loop(c, PLAIN(always, 2, 1), PLAIN(adds_counted, 2, 2), 2, counted, out);
    CHECK_OK(cbx_vmap(c, PLAIN(adds_element, 2, 1), (const int[]){ CBX_NOT_MAPPED, 0 }, NULL, &mapped, &err), &err,
             "vmap");
    st = cbx_fn_call(c, mapped, 2, (cbx_array *const[]){ x, ks }, 1, out);
    cbx_fn_free(mapped);
    return st;
}

TEST(a_body_may_fail_in_the_middle)
{
    cbx_test_alloc al;

    cbx_test_alloc_init(&al);
    cbx_ctx *c = cbx_test_ctx(&al);
    for (int i = 0; i < 8; i++) {
        const bool warm = i % 2; /* the pool has its blocks from the time before */
        cbx_err err = CBX_ERR_INIT;
        cbx_scope scope;
        cbx_array *out[2];

        cbx_scope_open(c, &scope);
        cbx_array *x = line(c, 3), *ks = cbx_arange_int(c, 0, 9, 1, CBX_I64);
        size_t before = al.live_blocks;
        CHECK_STATUS(burn(c, i / 2, x, ks, out), CBX_EINDEX, "the failure of the sixth step");
        if (warm) CHECK_LE(al.live_blocks, before + 4, "and leaves nothing behind but its operands");
        CHECK_STATUS(cbx_scope_close(&scope, &err), CBX_EINDEX, "its reason is kept");
        CHECK(strstr(err.message, "index 5") != NULL, err.message);
    }
    cbx_ctx_free(c);
    cbx_test_alloc_check(&al, "a body that fails");
}

static cbx_status many_steps(cbx_ctx *c, int how, size_t n, cbx_array *x, cbx_array **r)
{
    double limit = 511 + (double)n;

    if (how == 0) return cbx_scan(c, PLAIN(wanders, 1, 1), 1, &x, 0, NULL, n, false, r);
    if (how == 1) return cbx_fori_loop(c, 0, (int64_t)n, PLAIN(wanders, 2, 1), 1, &x, r);
    return cbx_while_loop(c, CBX_FN(below, &limit, 1, 1), PLAIN(wanders, 1, 1), 1, &x, r);
}

TEST(memory_does_not_grow_with_steps)
{
    for (int how = 0; how < 3; how++) {
        cbx_test_alloc al;
        cbx_err err = CBX_ERR_INIT;
        cbx_scope scope;
        cbx_array *r = NULL;
        double v[512];
        size_t before, peak;

        cbx_test_alloc_init(&al);
        cbx_ctx *c = cbx_test_ctx(&al);
        cbx_scope_open(c, &scope);
        cbx_array *x = line(c, 512);
        CHECK_STATUS(many_steps(c, how, 3, x, &r), CBX_OK, "three steps, twice: the pool has its blocks");
        CHECK_STATUS(many_steps(c, how, 3, x, &r), CBX_OK, "and the scope its room");
        before = al.live_blocks;
        peak = al.peak_bytes;
        CHECK_STATUS(many_steps(c, how, 3000, x, &r), CBX_OK, "a thousand times the steps");
        CHECK_LE(al.live_blocks - before, 2, "a result stays: a handle, and its elements");
        CHECK_LE(al.peak_bytes, peak + 512 * sizeof(double) + 2048, "that is all the memory there ever was");
        CHECK_OK(cbx_array_read(r, v, sizeof v, &err), &err, "read");
        CHECK_INT(v[0], 3000, "all steps were made");
        CHECK_OK(cbx_scope_close(&scope, &err), &err, "close");
        cbx_ctx_free(c);
        cbx_test_alloc_check(&al, "steps");
    }
}

/* ---- loops that are stopped ---- */

FN(stops)
{
    UNUSED;
    out[0] = cbx_add_scalar(c, in[nin - 1], 1);
    return CBX_OK;
}

TEST(a_flag_ends_loops)
{
    volatile sig_atomic_t stop = 0;
    cbx_err err = CBX_ERR_INIT;
    cbx_scope scope;
    cbx_ctx *c = context();

    cbx_ctx_set_stop(c, &stop);
    for (int set = 0; set < 2; set++) {
        cbx_scope_open(c, &scope);
        cbx_array *x = number(c, 0), *r[2] = { NULL };
        stop = set;
        cbx_fori_loop(c, 0, 3, PLAIN(stops, 2, 1), 1, &x, &r[0]);
        if (!set) CHECK_INT(at(r[0], 0), 3, "a flag that is 0 ends nothing");
        CHECK_STATUS(cbx_scope_close(&scope, &err), set ? CBX_EINTERRUPTED : CBX_OK, "fori_loop");
    }
    cbx_scope_open(c, &scope);
    cbx_array *x = number(c, 0), *r = NULL;
    cbx_while_loop(c, PLAIN(always, 1, 1), PLAIN(stops, 1, 1), 1, &x, &r);
    CHECK_STATUS(cbx_scope_close(&scope, &err), CBX_EINTERRUPTED, "a while_loop without an end");
    CHECK(strstr(err.message, "was interrupted") != NULL, "the sentence");
    cbx_ctx_free(c);
}

/* ---- recordings ---- */

/* x * y inside, plus what the outer recording has: (x y + x, captured). */
static cbx_status recorded(cbx_ctx *c, const cbx_array_desc *d, cbx_fn **out, size_t *captured, cbx_err *err)
{
    cbx_array *x = NULL, *y = NULL, *inner_result, *result;
    cbx_recording *outer = NULL, *inner = NULL;
    cbx_fn *product = NULL;
    size_t none = 0;
    cbx_scope scope;
    cbx_status st = cbx_recording_open(c, "outer", 1, d, &x, &outer, err);

    if (st) return st;
    cbx_scope_open(c, &scope);
    st = cbx_recording_open(c, "inner", 1, d, &y, &inner, err);
    if (!st) {
        inner_result = cbx_multiply(c, x, y);
        st = cbx_recording_close(inner, 1, &inner_result, &product, captured, err);
    }
    if (!st) cbx_fn_call(c, product, 1, &x, 1, &inner_result);
    result = st ? NULL : cbx_add(c, inner_result, x);
    if (st)
        cbx_recording_abandon(outer);
    else
        st = cbx_recording_close(outer, 1, &result, out, &none, err);
    if (!st) CHECK_INT(none, 0, "the outer recording reads nothing from outside");
    cbx_fn_free(product);
    cbx_scope_close(&scope, st ? NULL : err);
    cbx_array_free(x);
    cbx_array_free(y);
    return st;
}

TEST(recordings_repeat_what_was_done)
{
    const cbx_array_desc d = { .dtype = CBX_F64 };
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *f = NULL, *g = NULL;
    size_t captured = 0;
    cbx_scope scope;
    cbx_ctx *c = context();

    cbx_scope_open(c, &scope);
    CHECK_OK(recorded(c, &d, &f, &captured, &err), &err, "recordings that nest");
    CHECK_INT(captured, 1, "the inner recording reads an operand of the outer one");
    cbx_array *x = number(c, 3), *y = NULL;
    cbx_fn_call(c, f, 1, &x, 1, &y);
    CHECK_INT(at(y, 0), 12, "x x + x");
    CHECK_OK(cbx_grad(c, f, 0, NULL, &g, &err), &err, "grad of a recorded function");
    cbx_fn_call(c, g, 1, &x, 1, &y);
    CHECK_INT(at(y, 0), 7, "2 x + 1");
    CHECK_OK(cbx_scope_close(&scope, &err), &err, "close");
    cbx_fn_free(g);

    cbx_array *wide = NULL, *out = NULL;
    CHECK_OK(cbx_array_create(c, &(cbx_array_desc){ .dtype = CBX_F64, .ndim = 1, .shape = { 2 } }, &wide, &err), &err,
             "array");
    CHECK_STATUS(cbx_fn_run(c, f, 1, &wide, 1, &out, &err), CBX_ESHAPE, "another shape than the recorded one");
    CHECK(strstr(err.message, "it was recorded for float64 ()") != NULL, "the sentence");
    cbx_array_free(wide);
    cbx_fn_free(f);
    cbx_ctx_free(c);
}

TEST(what_escapes_a_recording_is_refused)
{
    const cbx_array_desc d = { .dtype = CBX_F64 };
    cbx_err err = CBX_ERR_INIT;
    cbx_recording *r = NULL;
    cbx_array *first = NULL, *second = NULL, *sum;
    cbx_fn *f = NULL;
    size_t captured;
    cbx_scope scope;
    cbx_ctx *c = context(), *other = context();

    CHECK_OK(cbx_recording_open(c, "abandoned", 1, &d, &first, &r, &err), &err, "open");
    cbx_recording_abandon(r);
    CHECK_OK(cbx_recording_open(other, "later", 1, &d, &second, &r, &err), &err, "open in another context");
    cbx_scope_open(other, &scope);
    sum = cbx_add(other, first, second);
    CHECK(cbx_array_is_failed(sum), "an operand of a recording that has ended");
    CHECK_STATUS(cbx_scope_close(&scope, &err), CBX_EINVAL, "an operand of a recording that has ended");
    CHECK(strstr(err.message, "that trace has ended") != NULL, "the sentence");
    CHECK_STATUS(cbx_recording_close(r, 1, &first, &f, &captured, &err), CBX_EINVAL, "a result that escaped");
    CHECK(strstr(err.message, "that trace has ended") != NULL, "the sentence");
    cbx_array_free(first);
    cbx_array_free(second);
    cbx_ctx_free(other);
    cbx_ctx_free(c);
}

/* ---- every allocation made to fail ---- */

static cbx_status all_of_it(cbx_ctx *c, void *user)
{
    static const int first[12] = { 0 };
    cbx_err err = CBX_ERR_INIT;
    cbx_scope scope;
    cbx_fn *wide = NULL, *again = NULL;
    size_t captured;
    cbx_array *r[5], *twelve[12], *none;
    cbx_array_desc d;
    cbx_status st, closed;

    (void)user;
    cbx_scope_open(c, &scope);
    st = every_operation(c, line(c, 3), r, &err);
    if (!st) st = cbx_vmap(c, PLAIN(identity, 12, 12), first, NULL, &wide, &err);
    if (!st) {
        for (int i = 0; i < 12; i++) twelve[i] = line(c, 2);
        cbx_fn_call(c, wide, 12, twelve, 12, twelve); /* more results than fit into the frame */
        none = cbx_zeros(c, 2, (const size_t[]){ 0, 3 }, CBX_F64);
        cbx_scan(c, PLAIN(identity, 2, 2), 1, r, 1, &none, CBX_LENGTH_OF_XS, false, twelve);
        st = cbx_fn_infer(c, PLAIN(wanders, 1, 1), 1, cbx_array_get_desc(r[2]), 1, &d, &err);
    }
    if (!st) {
        cbx_array *a = NULL;
        st = cbx_array_create_abstract(c, &d, &a, &err);
        if (!st) st = every_operation(c, cbx_scope_hold(c, a), r, &err);
    }
    if (!st) st = recorded(c, &d, &again, &captured, &err);
    cbx_fn_free(again);
    cbx_fn_free(wide);
    closed = cbx_scope_close(&scope, &err);
    return st ? st : closed;
}

TEST(memory_may_run_out) { CHECK_GT(cbx_test_fail_each(all_of_it, NULL, "transforms"), 100, "allocations"); }

TESTS(.seconds = 600)
