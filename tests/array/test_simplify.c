/*
 * Simplified graphs: the same bits of every result as before, over random graphs and over the
 * derivatives of every primitive; and that each rule takes what it is meant to take.
 */
#include "derivative_rows.h"
#include "graphs_random.h"

#include <stdio.h>
#include <stdlib.h>

#include "calibrax/array/trace/derive.h"
#include "calibrax/array/trace/regions.h"
#include "calibrax/array/trace/simplify.h"
#include "fail_alloc.h"

/* Bytes of all results, which are freed.  true: equal. */
static bool same_bytes(size_t n, cbx_array **a, cbx_array **b)
{
    bool equal = true;

    for (size_t i = 0; i < n; i++) {
        const size_t bytes = cbx_array_bytes(a[i]);
        char *x = malloc(bytes + 1), *y = malloc(bytes + 1);
        equal &= cbx_array_desc_equal(cbx_array_get_desc(a[i]), cbx_array_get_desc(b[i]));
        cbx_array_read(a[i], x, bytes, NULL);
        if (equal) cbx_array_read(b[i], y, bytes, NULL);
        equal = equal && memcmp(x, y, bytes) == 0;
        free(x);
        free(y);
    }
    return equal;
}

static void show(cbx_ctx *c, const cbx__graph *g)
{
    cbx_text out;

    cbx_text_init(&out, cbx_ctx_allocator(c));
    cbx__graph_text(g, 0, &out);
    fprintf(stderr, "%s\n", cbx_text_str(&out));
    cbx_text_clear(&out);
}

typedef struct sizes {
    size_t before, after, again;
} sizes;

/* A traced function carried out as it is and simplified: every bit. */
static sizes compare(cbx_ctx *c, const cbx__traced *t, size_t nin, cbx_array *const *in, const char *why)
{
    const size_t nout = t->graph->out.n;
    cbx_array **want = calloc(2 * nout + 1, sizeof(cbx_array *)), **have = want + nout;
    cbx__graph *simple = NULL, *twice = NULL;
    cbx_err err = CBX_ERR_INIT;

    CHECK_INT(nin, t->graph->in.n, why);
    CHECK_OK(cbx__graph_simplify(c, t->graph, &simple, &err), &err, why);
    CHECK_OK(cbx__graph_simplify(c, simple, &twice, &err), &err, why);
    const sizes s = { t->graph->nodes.n, simple->nodes.n, twice->nodes.n };
    CHECK_OK(cbx__graph_eval(c, t->graph, in, want, &err), &err, why);
    CHECK_OK(cbx__graph_eval(c, simple, in, have, &err), &err, why);
    if (!same_bytes(nout, want, have)) {
        show(c, t->graph);
        show(c, simple);
        fail_msg("%s: results differ", why);
    }
    for (size_t i = 0; i < 2 * nout; i++) cbx_array_free(want[i]);
    free(want);
    cbx__graph_unref(simple);
    cbx__graph_unref(twice);
    return s;
}

static cbx__traced traced(cbx_ctx *c, const cbx_fn *f, cbx_array *const *in)
{
    cbx_array_desc d[2 * OPERANDS];
    cbx_err err = CBX_ERR_INIT;
    cbx__traced t = { 0 };

    for (size_t i = 0; i < f->nin; i++) d[i] = *cbx_array_get_desc(in[i]);
    CHECK_OK(cbx__trace_fn(c, f, d, &t, &err), &err, f->name);
    return t;
}

static cbx_ctx *plain_context(void)
{
    cbx_ctx *c = context();
    CHECK_OK(cbx_ctx_set_backend(c, cbx_backend_reference(), NULL), (&(cbx_err){ 0 }), "the reference");
    return c;
}

/* CALIBRAX_TEST_GRAPHS: how many. */
TEST(random_graphs)
{
    const char *asked = getenv("CALIBRAX_TEST_GRAPHS");
    const uint64_t count = asked ? strtoull(asked, NULL, 10) : 400;
    cbx_ctx *c = plain_context();
    size_t before = 0, after = 0;

    for (uint64_t seed = 1; seed <= count; seed++) {
        graph_trial trial = { seed, 2 + (unsigned)(seed % 23) };
        cbx_array *in[GRAPH_INPUTS];
        char why[64];
        snprintf(why, sizeof why, "seed %llu", (unsigned long long)seed);
        graph_inputs(c, &trial, in);
        cbx__traced t = traced(c, CBX_FN(graph_function, &trial, GRAPH_INPUTS, GRAPH_OUTPUTS), in);
        const sizes s = compare(c, &t, GRAPH_INPUTS, in, why);
        before += s.before, after += s.after;
        CHECK_INT(s.again, s.after, "once is enough");
        cbx__traced_clear(&t);
        for (size_t i = 0; i < GRAPH_INPUTS; i++) cbx_array_free(in[i]);
    }
    CHECK_GT(before, after, "they become smaller");
    cbx_ctx_free(c);
}

TEST(derivatives_of_primitives)
{
    cbx_ctx *c = plain_context();

    derivative_open_graph(c);
    for (size_t k = 0; k < derivative_row_count; k++) {
        const row *r = &derivative_rows[k];
        const cbx_fn f = derivative_fn(r);
        cbx_rng rng = cbx_rng_make(90 + k, 1);
        cbx_err err = CBX_ERR_INIT;
        cbx_array *in[2 * OPERANDS];
        cbx_fn *made[2] = { NULL, NULL };
        cbx_scope scope;
        cbx_scope_open(c, &scope);
        for (size_t i = 0, at = 0; i < row_operands(r); i++) {
            if (!operand_moves(&r->in[i])) continue;
            operand of = r->in[i];
            in[at] = derivative_draw(c, &of, &rng);
            of.low = -1, of.high = 1;
            in[f.nin + at++] = derivative_draw(c, &of, &rng);
        }
        if (!(r->flags & REVERSE_ONLY)) CHECK_OK(cbx_jvp(c, &f, 0, NULL, &made[0], &err), &err, f.name);
        if (!(r->flags & FORWARD_ONLY)) CHECK_OK(cbx_vjp(c, &f, 0, NULL, &made[1], &err), &err, f.name);
        for (int m = 0; m < 2; m++) {
            cbx_array *operands[2 * OPERANDS], *y[2 * OPERANDS];
            if (!made[m]) continue;
            memcpy(operands, in, 2 * f.nin * sizeof *in);
            if (m) { /* results stand for cotangents */
                cbx_fn_call(c, &f, f.nin, in, f.nout, y);
                memcpy(operands + f.nin, y, f.nout * sizeof *y);
            }
            cbx__traced t = traced(c, made[m], operands);
            compare(c, &t, made[m]->nin, operands, cbx_prim_name(r->prim));
            cbx__traced_clear(&t);
            cbx_fn_free(made[m]);
        }
        cbx_scope_close(&scope, NULL);
    }
    cbx_ell_free(derivative_graph);
    cbx_ctx_free(c);
}

/* ---- rules: what a function comes to ---- */

enum { X, I, T, F3, Z }; /* operands: float64 (3, 4), int64, bool, float32, complex128, all (3, 4) */

#define S(v)   cbx_full(c, 0, NULL, CBX_F64, cbx_float(v))
#define X4     in[X]
#define JOINED cbx_concat(c, 2, (const cbx_array *const[]){ X4, cbx_negative(c, X4) }, 0)
#define RULES(R)                                                                                                       \
    R("add -0", cbx_add(c, X4, S(-0.0)), 0)                                                                            \
    R("add 0 stays", cbx_add(c, X4, S(0.0)), 2)                                                                        \
    R("subtract 0", cbx_subtract(c, X4, S(0)), 0)                                                                      \
    R("subtract -0 stays", cbx_subtract(c, X4, S(-0.0)), 2)                                                            \
    R("times 1", cbx_multiply(c, S(1), X4), 0)                                                                         \
    R("times an integer 1", cbx_multiply(c, cbx_ones_like(c, X4), X4), 0)                                              \
    R("times 0 stays", cbx_multiply(c, X4, S(0)), 2)                                                                   \
    R("integers times 0", cbx_multiply(c, in[I], cbx_full(c, 0, NULL, CBX_I64, cbx_int(0))), 1)                        \
    R("integers plus 0", cbx_add(c, in[I], cbx_full(c, 0, NULL, CBX_I64, cbx_int(0))), 0)                              \
    R("over 1", cbx_divide(c, X4, S(1)), 0)                                                                            \
    R("complex times 1 stays", cbx_multiply(c, in[Z], cbx_full(c, 0, NULL, CBX_C128, cbx_float(1))), 2)                \
    R("negative of negative", cbx_negative(c, cbx_negative(c, X4)), 0)                                                 \
    R("conj of conj", cbx_conj(c, cbx_conj(c, in[Z])), 0)                                                              \
    R("not not", cbx_logical_not(c, cbx_logical_not(c, in[T])), 0)                                                     \
    R("abs of abs", cbx_abs(c, cbx_abs(c, X4)), 1)                                                                     \
    R("abs of complex abs", cbx_abs(c, cbx_abs(c, in[Z])), 2)                                                          \
    R("floor of ceil", cbx_floor(c, cbx_ceil(c, X4)), 1)                                                               \
    R("wider and back", cbx_astype(c, cbx_astype(c, in[F3], CBX_F64), CBX_F32), 0)                                     \
    R("narrower and back stays", cbx_astype(c, cbx_astype(c, X4, CBX_F32), CBX_F64), 2)                                \
    R("truth and back stays", cbx_astype(c, cbx_astype(c, in[I], CBX_BOOL), CBX_I64), 2)                               \
    R("maximum with itself", cbx_maximum(c, X4, X4), 0)                                                                \
    R("less than itself", cbx_less(c, X4, X4), 1)                                                                      \
    R("equal to itself stays", cbx_equal(c, X4, X4), 1)                                                                \
    R("transpose twice", cbx_matrix_transpose(c, cbx_matrix_transpose(c, X4)), 0)                                      \
    R("reshape twice", cbx_flatten(c, cbx_reshape(c, X4, 3, (const ptrdiff_t[]){ 2, 2, 3 })), 1)                       \
    R("reshape and back", cbx_reshape(c, cbx_flatten(c, X4), 2, (const ptrdiff_t[]){ 3, 4 }), 0)                       \
    R("slice of slice", cbx_slice(c, cbx_slice(c, X4, 1, 3, CBX_OPEN, -1), 1, 1, 4, 2), 1)                             \
    R("flip twice", cbx_flip(c, cbx_flip(c, X4, 1), 1), 0)                                                             \
    R("whole slice", cbx_slice(c, X4, 0, 0, 3, 1), 0)                                                                  \
    R("empty slices", cbx_slice(c, cbx_slice(c, X4, 1, 2, 2, 1), 1, 0, 0, 1), 1)                                       \
    R("broadcast twice",                                                                                               \
      cbx_broadcast_to(c, cbx_broadcast_to(c, X4, 3, (const size_t[]){ 2, 3, 4 }), 4, (const size_t[]){ 5, 2, 3, 4 }), \
      1)                                                                                                               \
    R("numbers", cbx_add(c, X4, cbx_exp(c, cbx_multiply(c, S(2), cbx_negative(c, S(3))))), 2)                          \
    R("numbers in another dtype", cbx_add(c, in[F3], cbx_astype(c, cbx_divide(c, S(1), S(3)), CBX_F32)), 2)            \
    R("numbers that make NaN stay", cbx_add(c, X4, cbx_divide(c, S(0), S(0))), 4)                                      \
    R("copies", cbx_negative(c, cbx_copy(c, X4)), 1)                                                                   \
    R("a copy that is returned", cbx_copy(c, X4), 1)                                                                   \
    R("stop_gradient", cbx_negative(c, cbx_stop_gradient(c, X4)), 1)                                                   \
    R("known choice", cbx_where(c, cbx_less(c, S(1), S(2)), X4, cbx_negative(c, X4)), 0)                               \
    R("choice between equals", cbx_where(c, in[T], X4, X4), 0)                                                         \
    R("inverted choice", cbx_where(c, cbx_logical_not(c, in[T]), X4, cbx_negative(c, X4)), 2)                          \
    R("and with true", cbx_logical_and(c, in[T], cbx_less(c, S(1), S(2))), 0)                                          \
    R("parts of a complex number", cbx_real(c, cbx_add(c, in[Z], in[Z])), 2)                                           \
    R("either order of integers",                                                                                      \
      cbx_subtract(c, cbx_add(c, in[I], cbx_square(c, in[I])), cbx_add(c, cbx_square(c, in[I]), in[I])), 3)            \
    R("concat of one", cbx_concat(c, 1, (const cbx_array *const[]){ X4 }, 0), 0)                                       \
    R("slice of one that is joined", cbx_slice(c, JOINED, 0, 0, 3, 1), 0)                                              \
    R("rows of the last that is joined, backward", cbx_slice(c, JOINED, 0, 5, 2, -2), 2)                               \
    R("columns of all that is joined stay", cbx_slice(c, JOINED, 1, 0, 3, 1), 3)                                       \
    R("slice across what is joined stays", cbx_slice(c, JOINED, 0, 4, 1, -1), 3)                                       \
    R("one of a stack", cbx_index(c, cbx_stack(c, 2, (const cbx_array *const[]){ cbx_exp(c, X4), X4 }, 1), 1, 1), 0)   \
    R("what nothing needs", (cbx_exp(c, X4), X4), 0)

typedef struct rule_case {
    const char *why;
    size_t nodes;
} rule_case;

FN(one_rule)
{
    UNUSED;
    size_t at = 0, which = *(const size_t *)user;
#define PICK(label, value, count)                                                                                      \
    if (at++ == which) out[0] = (value);
    RULES(PICK)
#undef PICK
    return CBX_OK;
}

TEST(rules)
{
    static const rule_case cases[] = {
#define CASE(label, value, count) { label, count },
        RULES(CASE)
#undef CASE
    };
    cbx_ctx *c = plain_context();
    const double special[12] = { 0.0, -0.0, NAN, -NAN, INFINITY, -INFINITY, 1, -1, 0.5, 1e300, -2.5, 5e-324 };
    int bad = 0;

    cbx_array *x = cbx_asarray(c, &(const cbx_array_desc){ CBX_F64, 2, { 3, 4 } }, special);
    cbx_array *k = cbx_reshape(c, cbx_arange_int(c, -5, 7, 1, CBX_I64), 2, (const ptrdiff_t[]){ 3, 4 });
    cbx_array *z = cbx_apply(c, CBX_PRIM_COMPLEX, 2, (const cbx_array *const[]){ x, cbx_flip(c, x, 0) }, NULL);
    cbx_array *in[] = { x, k, cbx_greater_scalar(c, x, 0), cbx_astype(c, x, CBX_F32), z };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx__traced t = traced(c, CBX_FN(one_rule, &i, 5, 1), in);
        const sizes s = compare(c, &t, 5, in, cases[i].why);
        if (s.after != cases[i].nodes)
            print_error("%s: %zu operations, not %zu\n", cases[i].why, s.after, cases[i].nodes);
        bad += s.after != cases[i].nodes;
        cbx__traced_clear(&t);
    }
    CHECK_INT(bad, 0, "rules that take too little or too much");
    cbx_ctx_free(c);
}

/* ---- functions and control flow ---- */

FN(squares)
{
    UNUSED;
    out[0] = cbx_multiply(c, in[0], cbx_multiply(c, in[0], S(1)));
    return CBX_OK;
}
FN(minus)
{
    UNUSED;
    out[0] = cbx_negative(c, in[0]);
    return CBX_OK;
}
FN(step)
{
    UNUSED;
    out[0] = cbx_add(c, cbx_multiply(c, in[0], S(1)), in[1]);
    out[1] = cbx_negative(c, cbx_negative(c, out[0]));
    return CBX_OK;
}
FN(tests)
{
    UNUSED;
    out[0] = cbx_less_scalar(c, cbx_copy(c, in[0]), 100);
    return CBX_OK;
}
FN(doubles)
{
    UNUSED;
    out[0] = cbx_subtract(c, cbx_add(c, in[0], in[0]), S(0));
    return CBX_OK;
}
FN(flows) /* branches known and unknown, loops, a custom rule, a checkpoint */
{
    UNUSED;
    cbx_array *sum = cbx_sum(c, in[0], NULL), *r[2], *w = NULL, *y = NULL, *z = NULL, *v = NULL;
    const cbx_fn *branches[2] = { PLAIN(minus, 1, 1), PLAIN(squares, 1, 1) };
    cbx_fn *f = NULL, *k = NULL;

    CHECK_STATUS(cbx_custom_jvp(c, PLAIN(squares, 1, 1), PLAIN(identity, 2, 2), &f, NULL), CBX_OK, "custom");
    CHECK_STATUS(cbx_checkpoint(c, f, &k, NULL), CBX_OK, "checkpoint");
    cbx_switch(c, cbx_full(c, 0, NULL, CBX_I64, cbx_int(1)), 2, branches, 1, in, &y);
    cbx_cond(c, cbx_greater_scalar(c, sum, 0), branches[0], branches[1], 1, in, &z);
    cbx_scan(c, PLAIN(step, 2, 2), 1, &sum, 1, (cbx_array *[]){ cbx_sum(c, in[0], CBX_AXIS(1)) }, CBX_LENGTH_OF_XS,
             false, r);
    cbx_while_loop(c, PLAIN(tests, 1, 1), PLAIN(doubles, 1, 1), 1, (cbx_array *[]){ cbx_abs(c, r[0]) }, &w);
    cbx_fn_call(c, k, 1, in, 1, &v);
    out[0] = cbx_add(c, cbx_add(c, y, z), cbx_add(c, v, w));
    out[1] = r[1];
    cbx_fn_free(k);
    cbx_fn_free(f);
    return CBX_OK;
}

static size_t count_of(const cbx__graph *g, cbx_prim p)
{
    size_t n = 0;
    for (size_t k = 0; k < g->nodes.n; k++) n += g->nodes.items[k].prim == p;
    return n;
}

TEST(functions_become_what_they_call)
{
    cbx_ctx *c = plain_context();
    cbx_err err = CBX_ERR_INIT;
    cbx_array *x = cbx_reshape(c, cbx_arange_int(c, 1, 7, 1, CBX_F64), 2, (const ptrdiff_t[]){ 2, 3 });
    cbx__traced t = traced(c, PLAIN(flows, 1, 2), &x);
    cbx__graph *g = NULL;

    compare(c, &t, 1, &x, "control flow");
    CHECK_INT(count_of(t.graph, CBX_PRIM_COND), 2, "two branches");
    CHECK_OK(cbx__graph_simplify(c, t.graph, &g, &err), &err, "simplify");
    CHECK_INT(count_of(g, CBX_PRIM_COND), 1, "one of them known");
    CHECK_INT(count_of(g, CBX_PRIM_CUSTOM_JVP) + count_of(g, CBX_PRIM_CHECKPOINT), 0, "functions are inlined");
    CHECK_INT(count_of(g, CBX_PRIM_MUL), 1, "and their product is that of the branch");
    for (size_t k = 0; k < g->nodes.n; k++) {
        const cbx__node *node = &g->nodes.items[k];
        if (node->prim != CBX_PRIM_SCAN) continue;
        const cbx_object *body = node->attrs->object;
        CHECK_INT(cbx__control_graph(body, 0)->nodes.n, 1, "the body of a scan: one sum");
    }
    cbx__graph_unref(g);
    cbx__traced_clear(&t);
    cbx_ctx_free(c);
}

FN(sine)
{
    UNUSED;
    out[0] = cbx_sin(c, cbx_exp(c, in[0]));
    return CBX_OK;
}
FN(sum_of_checkpoint)
{
    UNUSED;
    cbx_array *y = NULL;
    cbx_fn_call(c, user, 1, in, 1, &y);
    out[0] = cbx_sum(c, y, NULL);
    return CBX_OK;
}

TEST(what_is_computed_again_stays)
{
    cbx_ctx *c = plain_context();
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *k = NULL, *d = NULL;
    cbx_array *x = cbx_ones(c, 1, (const size_t[]){ 4 }, CBX_F64);
    cbx__graph *g = NULL;

    CHECK_OK(cbx_checkpoint(c, PLAIN(sine, 1, 1), &k, &err), &err, "checkpoint");
    CHECK_OK(cbx_value_and_grad(c, CBX_FN(sum_of_checkpoint, k, 1, 1), 0, NULL, &d, &err), &err, "grad");
    cbx__traced t = traced(c, d, &x);
    compare(c, &t, 1, &x, "a gradient");
    CHECK_OK(cbx__graph_simplify(c, t.graph, &g, &err), &err, "simplify");
    CHECK_INT(count_of(g, CBX_PRIM_EXP), 1, "the exponential of the value");
    CHECK_INT(count_of(g, CBX_PRIM_CHECKPOINT), 1, "and that of the gradient apart");
    cbx__graph_unref(g);
    cbx__traced_clear(&t);
    cbx_fn_free(d);
    cbx_fn_free(k);
    cbx_ctx_free(c);
}

/* ---- the check itself, and memory ---- */

FN(one)
{
    UNUSED;
    out[0] = cbx_add(c, in[0], S(0.0));
    return CBX_OK;
}

TEST(a_wrong_rule_is_seen)
{
    cbx_ctx *c = plain_context();
    cbx_err err = CBX_ERR_INIT;
    const double zeros[2] = { -0.0, 1 };
    cbx_array *x = cbx_asarray(c, &(const cbx_array_desc){ CBX_F64, 1, { 2 } }, zeros), *want = NULL;
    cbx__traced t = traced(c, PLAIN(one, 1, 1), &x);

    CHECK_OK(cbx__graph_eval(c, t.graph, &x, &want, &err), &err, "x + 0");
    CHECK(!same_bytes(1, &want, &x), "x + 0 is not x where x is -0");
    cbx_array_free(want);
    cbx__traced_clear(&t);
    cbx_ctx_free(c);
}

static cbx_status simplify_it(cbx_ctx *c, void *user)
{
    const cbx__graph *g = user;
    cbx__graph *out = NULL;
    cbx_err err = CBX_ERR_INIT;
    const cbx_status st = cbx__graph_simplify(c, g, &out, &err);

    cbx__graph_unref(out);
    return st;
}

TEST(memory_may_run_out)
{
    cbx_ctx *c = plain_context();
    cbx_array *x = cbx_reshape(c, cbx_arange_int(c, 1, 7, 1, CBX_F64), 2, (const ptrdiff_t[]){ 2, 3 });
    cbx__traced t = traced(c, PLAIN(flows, 1, 2), &x);

    CHECK_GT(cbx_test_fail_each(simplify_it, t.graph, "simplify"), 20, "allocations");
    cbx__traced_clear(&t);
    cbx_ctx_free(c);
}

TESTS(.seconds = 300)
