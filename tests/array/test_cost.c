/*
 * Work of array functions: by hand, by XLA's cost analysis where the conventions agree, and without
 * data as with it.
 */
#include "transform_support.h"

#include "calibrax/array/algebra_object.h"
#include "calibrax/array/fft.h"
#include "calibrax/array/linalg.h"
#include "calibrax/array/random.h"
#include "calibrax/array/trace/cost.h"
#include "cost_answers.h"
#include "fail_alloc.h"

/* ---- functions that scripts/fixtures/make_cost_answers.py has, too ---- */

FN(triad)
{
    UNUSED;
    out[0] = cbx_add(c, in[0], cbx_multiply_scalar(c, in[1], 3));
    return CBX_OK;
}
FN(product)
{
    UNUSED;
    out[0] = cbx_matrix_product(c, in[0], in[1]);
    return CBX_OK;
}
FN(layer)
{
    UNUSED;
    out[0] = cbx_tanh(c, cbx_add(c, cbx_matrix_product(c, in[0], in[1]), in[2]));
    return CBX_OK;
}
FN(softmax)
{
    UNUSED;
    const cbx_axes *rows = CBX_AXIS_KEEP(1);
    cbx_array *e = cbx_exp(c, cbx_subtract(c, in[0], cbx_max(c, in[0], rows)));
    out[0] = cbx_divide(c, e, cbx_sum(c, e, rows));
    return CBX_OK;
}
FN(norm)
{
    UNUSED;
    out[0] = cbx_sqrt(c, cbx_sum(c, cbx_multiply(c, in[0], in[0]), NULL));
    return CBX_OK;
}
FN(leaky)
{
    UNUSED;
    out[0] = cbx_where(c, cbx_greater_scalar(c, in[0], 0), in[0], cbx_multiply_scalar(c, in[0], 0.1));
    return CBX_OK;
}
FN(dear)
{
    UNUSED;
    out[0] = cbx_matrix_product(c, cbx_exp(c, in[0]), in[0]);
    return CBX_OK;
}
FN(cheap)
{
    UNUSED;
    out[0] = cbx_add(c, in[0], in[0]);
    return CBX_OK;
}
FN(branches)
{
    UNUSED;
    return cbx_cond(c, in[0], PLAIN(dear, 1, 1), PLAIN(cheap, 1, 1), 1, &in[1], out);
}
FN(square_step)
{
    UNUSED;
    out[0] = cbx_matrix_product(c, in[1], in[1]);
    return CBX_OK;
}
FN(ten_products) { return UNUSED, cbx_fori_loop(c, 0, 10, PLAIN(square_step, 2, 1), 1, in, out); }
FN(inner)
{
    UNUSED;
    out[0] = cbx_sum(c, cbx_multiply(c, in[0], in[1]), NULL);
    return CBX_OK;
}
FN(rows_of_products)
{
    cbx_fn *f = NULL;
    UNUSED;
    cbx_status st = cbx_vmap(c, PLAIN(inner, 2, 1), NULL, NULL, &f, NULL);
    if (!st) st = cbx_fn_call(c, f, 2, in, 1, out);
    cbx_fn_free(f);
    return st;
}

#define F32(...)                                                                                                       \
    {                                                                                                                  \
        CBX_F32, CBX_LEN(((size_t[]){ __VA_ARGS__ })), { __VA_ARGS__ }                                                 \
    }
#define F64(...)                                                                                                       \
    {                                                                                                                  \
        CBX_F64, CBX_LEN(((size_t[]){ __VA_ARGS__ })), { __VA_ARGS__ }                                                 \
    }

/* trips: XLA counts a body once; extra: what XLA counts beside, counters and conversions of
 * predicates */
static const struct {
    const char *name;
    cbx_array_fn f;
    size_t nin;
    cbx_array_desc in[3];
    uint64_t trips, extra;
    unsigned flags;
} shared[] = {
    { "triad", triad, 2, { F64(1000), F64(1000) }, 1, 0, 0 },
    { "product", product, 2, { F32(64, 32), F32(32, 48) }, 1, 0, 0 },
    { "layer", layer, 3, { F32(16, 32), F32(32, 8), F32(8) }, 1, 0, 0 },
    { "softmax", softmax, 1, { F64(20, 30) }, 1, 0, 0 },
    { "norm", norm, 1, { F64(50, 7) }, 1, 0, 0 },
    { "leaky", leaky, 1, { F32(3, 5, 7) }, 1, 0, 0 },
    { "branches", branches, 2, { { CBX_BOOL, 0, { 0 } }, F64(9, 9) }, 1, 1, CBX_COST_DEAREST },
    { "ten_products", ten_products, 1, { F64(37, 37) }, 10, 2, 0 },
    { "rows_of_products", rows_of_products, 2, { F64(6, 11), F64(6, 11) }, 1, 0, 0 },
};

static cbx_cost_report counted(cbx_ctx *c, const cbx_fn *f, const cbx_array_desc *in, const char *why)
{
    cbx_cost_report r;
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_cost_count(c, f, f->nin, in, &r, &err), &err, why);
    return r;
}

TEST(as_xla_counts)
{
    cbx_ctx *c = context();
    CHECK_INT(CBX_LEN(answers), CBX_LEN(shared), "each has an answer");
    for (size_t i = 0; i < CBX_LEN(shared); i++) {
        const cbx_fn f = { shared[i].name, shared[i].f, NULL, shared[i].nin, 1, NULL };
        cbx_cost_report r = counted(c, &f, shared[i].in, f.name);
        CHECK_STR(answers[i].function, f.name, "in the same order");
        CHECK_INT(r.total.flop / shared[i].trips + shared[i].extra, answers[i].flop, f.name);
        CHECK_INT(r.total.transcendental, answers[i].transcendental, f.name);
        CHECK_INT(r.total.flags, shared[i].flags, f.name);
    }
    cbx_ctx_free(c);
}

static cbx_array *filled(cbx_ctx *c, const cbx_array_desc *d)
{
    return cbx_ones(c, (size_t)d->ndim, d->shape, d->dtype);
}

/* With values nothing is left to guess: the same work where no branch is cheaper. */
TEST(with_values)
{
    cbx_ctx *c = context();
    for (size_t i = 0; i < CBX_LEN(shared); i++) {
        const cbx_fn f = { shared[i].name, shared[i].f, NULL, shared[i].nin, 1, NULL };
        cbx_cost_report a = counted(c, &f, shared[i].in, f.name), b;
        cbx_array *in[3], *plain = NULL, *result = NULL;
        cbx_err err = CBX_ERR_INIT;
        cbx_scope scope;
        cbx_scope_open(c, &scope);
        for (size_t k = 0; k < f.nin; k++) in[k] = filled(c, &shared[i].in[k]);
        CHECK_OK(cbx_cost_count_run(c, &f, f.nin, in, 1, &result, &b, &err), &err, f.name);
        CHECK_OK(cbx_fn_run(c, &f, f.nin, in, 1, &plain, &err), &err, f.name);
        CHECK_INT(b.total.flop, a.total.flop, f.name);
        CHECK_INT(b.total.transcendental, a.total.transcendental, f.name);
        CHECK_INT(b.in_bytes, a.in_bytes, f.name);
        CHECK_INT(b.out_bytes, a.out_bytes, f.name);
        CHECK_INT(b.total.flags, 0, "all is known");
        CHECK(cbx_array_bytes(plain) == cbx_array_bytes(result) &&
                  memcmp(cbx_array_data(plain), cbx_array_data(result), cbx_array_bytes(plain)) == 0,
              "counting changes no bit");
        cbx_array_free(plain);
        cbx_array_free(result);
        CHECK_OK(cbx_scope_close(&scope, &err), &err, f.name);
    }
    CHECK_STR(cbx_ctx_backend(c)->name, cbx_backend_at(0)->name, "the backend is as it was");
    cbx_ctx_free(c);
}

/* ---- control flow ---- */

FN(halve)
{
    UNUSED;
    out[0] = cbx_multiply_scalar(c, in[0], 0.5);
    return CBX_OK;
}
FN(above_one)
{
    UNUSED;
    out[0] = cbx_greater_scalar(c, in[0], 1);
    return CBX_OK;
}
FN(halve_down) { return UNUSED, cbx_while_loop(c, PLAIN(above_one, 1, 1), PLAIN(halve, 1, 1), 1, in, out); }
FN(running_sum)
{
    UNUSED;
    out[0] = cbx_add(c, in[0], in[1]);
    out[1] = out[0];
    return CBX_OK;
}
FN(scanned)
{
    cbx_array *both[2], *init = cbx_zeros(c, 0, NULL, CBX_F64);
    UNUSED;
    cbx_status st = cbx_scan(c, PLAIN(running_sum, 2, 2), 1, &init, 1, in, CBX_LENGTH_OF_XS, false, both);
    out[0] = both[1];
    return st;
}
/* A loop over numbers that a body joins with an abstract array. */
FN(adds_captured)
{
    UNUSED;
    out[0] = cbx_add(c, in[1], cbx_sum(c, user, NULL));
    return CBX_OK;
}
FN(closes_over)
{
    cbx_array *zero = number(c, 0);
    UNUSED;
    return cbx_fori_loop(c, 2, 7, CBX_FN(adds_captured, in[0], 2, 1), 1, &zero, out);
}
/* Values known while it is traced: the loop runs, and its result decides a shape. */
FN(decides_by_constants)
{
    const double eight = 8;
    cbx_array *r = NULL, *start = cbx_asarray(c, &(const cbx_array_desc){ .dtype = CBX_F64 }, &eight);
    double v = 0;
    UNUSED;
    cbx_status st = cbx_while_loop(c, PLAIN(above_one, 1, 1), PLAIN(halve, 1, 1), 1, &start, &r);
    if (!st) st = cbx_array_read(r, &v, sizeof v, NULL);
    out[0] = v == 1 ? cbx_add(c, in[0], in[0]) : in[0];
    return st;
}
FN(says_never)
{
    UNUSED;
    return CBX_EDOM;
}
FN(looks)
{
    double v[3];
    UNUSED;
    out[0] = in[0];
    return cbx_array_read(in[0], v, sizeof v, NULL);
}

TEST(loops_and_branches)
{
    cbx_ctx *c = context();
    const cbx_array_desc one = { CBX_F64, 0, { 0 } }, line5 = F64(5), line3 = F64(3);
    cbx_array *start, *never[1];
    cbx_cost_report r;
    cbx_err err = CBX_ERR_INIT;
    cbx_scope scope;
    r = counted(c, PLAIN(halve_down, 1, 1), &one, "a loop until");
    CHECK_INT(r.total.flop, 2, "a test and a body");
    CHECK_INT(r.total.flags, CBX_COST_LOWER_BOUND, "and an unknown number of times");
    cbx_scope_open(c, &scope);
    start = number(c, 32);
    CHECK_OK(cbx_cost_count_run(c, PLAIN(halve_down, 1, 1), 1, &start, 1, NULL, &r, &err), &err, "with a value");
    CHECK_INT(r.total.flop, 6 + 5, "six tests, five bodies");
    CHECK_INT(r.total.flags, 0, "for sure");
    cbx_scope_close(&scope, NULL);
    CHECK_INT(counted(c, PLAIN(scanned, 1, 1), &line5, "scan").total.flop, 5, "a sum a step");
    r = counted(c, PLAIN(closes_over, 1, 1), &line5, "closure");
    CHECK_INT(r.total.flop, 5 * (4 + 1), "five rounds of a sum of five and an addition");
    r = counted(c, PLAIN(decides_by_constants, 1, 1), &line5, "constants");
    CHECK_INT(r.total.flop, 4 + 3 + 5, "four tests, three bodies, and the addition that they led to");
    CHECK_STATUS(cbx_cost_count(c, PLAIN(looks, 1, 1), 1, &line3, &r, &err), CBX_EINVAL, "no elements to look at");
    cbx_scope_open(c, &scope);
    start = line(c, 3);
    CHECK_OK(cbx_cost_count_run(c, PLAIN(looks, 1, 1), 1, &start, 1, NULL, &r, &err), &err, "here there are");
    CHECK_STATUS(cbx_cost_count_run(c, PLAIN(says_never, 1, 1), 1, &start, 1, never, &r, &err), CBX_EDOM, "a failure");
    cbx_scope_close(&scope, NULL);
    CHECK_STR(cbx_ctx_backend(c)->name, cbx_backend_at(0)->name, "the backend is as it was");
    cbx_ctx_free(c);
}

FN(of_constants)
{
    UNUSED;
    out[0] = cbx_add(c, in[0], cbx_multiply(c, line(c, 5), line(c, 5)));
    return CBX_OK;
}
FN(chooses)
{
    UNUSED;
    return cbx_cond(c, in[0], PLAIN(cheap, 1, 1), PLAIN(of_constants, 1, 1), 1, &in[1], out);
}

/* A branch that is not taken runs for its shapes, and what it computes of constants on the way is
 * no work of the function. */
TEST(branches_not_taken)
{
    cbx_ctx *c = context();
    cbx_array *in[2];
    cbx_cost_report r;
    cbx_err err = CBX_ERR_INIT;
    cbx_scope scope;
    cbx_scope_open(c, &scope);
    in[0] = cbx_ones(c, 0, NULL, CBX_BOOL);
    in[1] = line(c, 5);
    CHECK_OK(cbx_cost_count_run(c, PLAIN(chooses, 2, 1), 2, in, 1, NULL, &r, &err), &err, "taken");
    CHECK_INT(r.total.flop, 5, "the cheap branch alone");
    in[0] = cbx_zeros(c, 0, NULL, CBX_BOOL);
    CHECK_OK(cbx_cost_count_run(c, PLAIN(chooses, 2, 1), 2, in, 1, NULL, &r, &err), &err, "the other");
    CHECK_INT(r.by_prim[CBX_PRIM_MUL].flop, 5, "constants and all");
    cbx_scope_close(&scope, NULL);
    cbx_ctx_free(c);
}

/* ---- rules ---- */

#define C128(...)                                                                                                      \
    {                                                                                                                  \
        CBX_C128, CBX_LEN(((size_t[]){ __VA_ARGS__ })), { __VA_ARGS__ }                                                \
    }
#define I32(...)                                                                                                       \
    {                                                                                                                  \
        CBX_I32, CBX_LEN(((size_t[]){ __VA_ARGS__ })), { __VA_ARGS__ }                                                 \
    }
#define ONE_LINE(name, expression)                                                                                     \
    FN(name)                                                                                                           \
    {                                                                                                                  \
        UNUSED;                                                                                                        \
        out[0] = (expression);                                                                                         \
        return CBX_OK;                                                                                                 \
    }
ONE_LINE(adds, cbx_add(c, in[0], in[1]))
ONE_LINE(divides, cbx_divide(c, in[0], in[1]))
ONE_LINE(sums, cbx_sum(c, in[0], NULL))
ONE_LINE(runs, cbx_cumulative_sum(c, in[0], 0))
ONE_LINE(turns, cbx_reshape(c, cbx_permute_dims(c, in[0], NULL), 1, (const ptrdiff_t[]){ 12 }))
ONE_LINE(sorts, cbx_sort(c, in[0], 0, false))
ONE_LINE(takes, cbx_take(c, in[0], in[1], 0))
ONE_LINE(cholesky, cbx_cholesky(c, in[0], false))
ONE_LINE(solves, cbx_solve(c, in[0], in[1]))
ONE_LINE(values, cbx_svdvals(c, in[0]))
ONE_LINE(fourier, cbx_fft(c, in[0], 0, -1, CBX_FFT_BACKWARD))
ONE_LINE(compares, cbx_less(c, in[0], in[1]))
ONE_LINE(powers, cbx_pow(c, in[0], in[1]))

TEST(rules_by_hand)
{
    static const struct {
        cbx_array_fn f;
        size_t nin;
        cbx_array_desc in[2];
        uint64_t flop, int_op, transcendental, read, written;
        unsigned flags;
        const char *why;
    } cases[] = {
        { adds, 2, { F64(4, 3), F64(4, 3) }, 12, 0, 0, 192, 96, 0, "one a result" },
        { adds, 2, { I32(4, 3), I32(4, 3) }, 0, 12, 0, 96, 48, 0, "integers apart" },
        { product, 2, { C128(4, 3), C128(3, 5) }, 8 * 60, 0, 0, 192 + 240, 320, 0, "complex products: 8" },
        { product, 2, { F64(2, 4, 3), F64(2, 3, 5) }, 2 * 2 * 60, 0, 0, 192 + 240, 320, 0, "a stack of products" },
        { product, 2, { F64(4, 0), F64(0, 5) }, 0, 0, 0, 0, 160, 0, "nothing to add up" },
        { divides, 2, { C128(2), C128(2) }, 22, 0, 0, 64, 32, 0, "complex quotients: 11" },
        { sums, 1, { F32(10) }, 9, 0, 0, 40, 4, 0, "n - 1" },
        { sums, 1, { C128(10) }, 18, 0, 0, 160, 16, 0, "of both parts" },
        { sums, 1, { F32(0) }, 0, 0, 0, 0, 4, 0, "of nothing" },
        { runs, 1, { F64(5, 2) }, 8, 0, 0, 80, 80, 0, "a lane has one fewer" },
        { turns, 1, { F64(4, 3) }, 0, 0, 0, 0, 0, 0, "views move nothing" },
        { sorts, 1, { F64(1000) }, 10000, 0, 0, 8000, 8000, CBX_COST_NOMINAL, "n ceil(log2 n)" },
        { takes, 2, { F64(1000, 2), { CBX_I64, 1, { 3 } } }, 0, 0, 0, 48 + 24, 48, 0, "what is taken, and where" },
        { cholesky, 1, { F64(6, 6) }, 72 + 18 + 1, 0, 0, 288, 288, CBX_COST_NOMINAL, "n^3/3 + n^2/2 + n/6" },
        { solves,
          2,
          { F64(6, 6), F64(6, 2) },
          144 - 18 + 5 + 2 * (72 - 6),
          0,
          0,
          288 + 96,
          96,
          CBX_COST_NOMINAL,
          "factors, then two of 2 n^2 - n" },
        { values, 1, { F64(10, 6) }, 2 * 360 + 2 * 216, 0, 0, 480, 48, CBX_COST_NOMINAL, "2 m n^2 + 2 n^3" },
        { fourier, 1, { C128(3, 16) }, 3 * 5 * 16 * 4, 0, 0, 768, 768, CBX_COST_NOMINAL, "5 n log2 n a lane" },
        { compares, 2, { F64(7), F64(7) }, 7, 0, 0, 112, 7, 0, "comparisons of numbers" },
        { powers, 2, { F64(7), F64(7) }, 0, 0, 7, 112, 56, 0, "a function" },
        { powers, 2, { I32(7), I32(7) }, 0, 7, 0, 56, 28, 0, "of integers" },
    };
    cbx_ctx *c = context();
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const cbx_fn f = { cases[i].why, cases[i].f, NULL, cases[i].nin, 1, NULL };
        cbx_cost t = counted(c, &f, cases[i].in, f.name).total;
        CHECK_INT(t.flop, cases[i].flop, f.name);
        CHECK_INT(t.int_op, cases[i].int_op, f.name);
        CHECK_INT(t.transcendental, cases[i].transcendental, f.name);
        CHECK_INT(t.bytes_read, cases[i].read, f.name);
        CHECK_INT(t.bytes_written, cases[i].written, f.name);
        CHECK_INT(t.flags, cases[i].flags, f.name);
    }
    cbx_ctx_free(c);
}

/* Every primitive costs something: work, or bytes, or it is one of the four views. */
static void no_message(void *user, const cbx_ell_edge *e, void *m) { (void)user, (void)e, (void)m; }

TEST(no_primitive_is_forgotten)
{
    static const cbx_prim all[] = {
#define ROW(name, ...) CBX_PRIM_##name,
        CBX_PRIM_MAP(ROW)
#undef ROW
    };
    static const cbx_prim only_moved[] = { CBX_PRIM_FULL,    CBX_PRIM_IOTA,      CBX_PRIM_CAST,
                                           CBX_PRIM_REAL,    CBX_PRIM_IMAG,      CBX_PRIM_PAD,
                                           CBX_PRIM_CONCAT,  CBX_PRIM_COPY,      CBX_PRIM_STOP_GRADIENT,
                                           CBX_PRIM_TAKE,    CBX_PRIM_COMPLEX,   CBX_PRIM_TAKE_ALONG,
                                           CBX_PRIM_RESHAPE, CBX_PRIM_TRANSPOSE, CBX_PRIM_BROADCAST,
                                           CBX_PRIM_SLICE,   CBX_PRIM_SCATTER,   CBX_PRIM_ELL_PACK };
    const cbx_attrs plain = { .ndim = 1, .shape = { 16 } };
    const cbx_array_desc d = F64(4, 4);
    const cbx_array_desc *const in[5] = { &d, &d, &d, &d, &d }, results[3] = { d, d, d };
    const int32_t ends[] = { 0, 1 };
    const cbx_ell_edge_functions edge = { .struct_size = sizeof edge, .d_out = 2, .message = no_message };
    cbx_attrs on_graph = { 0 }, by_function = { 0 };
    cbx_ctx *c = cbx_test_context();
    cbx_ell *graph = NULL;
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_ell_from_coo(c, 4, 4, 2, ends, ends, &graph, &err), &err, "graph");
    CHECK_OK(cbx__algebra_put(c, cbx_semiring_find("real"), graph, NULL, &on_graph, &err), &err,
             "attributes of a product");
    CHECK_OK(cbx__algebra_put(c, cbx_semiring_find("real"), graph, &edge, &by_function, &err), &err,
             "of a function of an edge");
    for (size_t i = 0; i < CBX_LEN(all); i++) {
        const cbx_prim_info *info = cbx_prim_get_info(all[i]);
        const bool has_graph = all[i] >= CBX_PRIM_ELL_MATMUL && all[i] <= CBX_PRIM_ELL_PACK,
                   has_function = all[i] >= CBX_PRIM_ELL_EDGE && all[i] <= CBX_PRIM_ELL_EDGE_JVP;
        const cbx_attrs *attrs = has_function ? &by_function : has_graph ? &on_graph : &plain;
        const cbx_op op = { all[i], strlen(info->operands), in, attrs, strlen(info->results), results };
        bool moved = false;
        if (info->kind == CBX_CLASS_CONTROL) continue; /* its functions count */
        cbx_cost cost = cbx_cost_of_op(&op);
        for (size_t k = 0; k < CBX_LEN(only_moved); k++) moved |= only_moved[k] == all[i];
        /* reductions of a result as large as the operand have nothing to join */
        if (info->kind == CBX_CLASS_REDUCE) continue;
        CHECK_INT(cost.flop + cost.int_op + cost.transcendental == 0, moved, cbx_prim_name(all[i]));
        CHECK_INT(cost.calls, 1, cbx_prim_name(all[i]));
    }
    cbx__object_unref(on_graph.object);
    cbx__object_unref(by_function.object);
    cbx_ell_free(graph);
    cbx_ctx_free(c);
}

TEST(sums_stay_at_the_top)
{
    cbx_cost sum = { .flop = 1 }, big = { .flop = UINT64_MAX / 2, .calls = 1 };
    cbx_cost_add(&sum, &big, 2);
    CHECK(sum.flop == UINT64_MAX && sum.flags == 0, "just so");
    cbx_cost_add(&sum, &big, 1);
    CHECK(sum.flop == UINT64_MAX && sum.flags == CBX_COST_OVERFLOW, "beyond");
    cbx_cost_add(&sum, &big, 0);
    CHECK_INT(sum.calls, 3, "nothing");
    sum = (cbx_cost){ 0 };
    cbx_cost_add(&sum, &big, 3);
    CHECK(sum.flop == UINT64_MAX && sum.flags == CBX_COST_OVERFLOW, "at once");
}

TEST(by_primitive)
{
    cbx_ctx *c = context();
    const cbx_array_desc in[] = { F32(16, 32), F32(32, 8), F32(8) };
    cbx_cost_report r = counted(c, PLAIN(layer, 3, 1), in, "layer");
    CHECK_INT(r.by_prim[CBX_PRIM_MATMUL].flop, 8192, "the product");
    CHECK_INT(r.by_prim[CBX_PRIM_ADD].flop, 128, "the bias");
    CHECK_INT(r.by_prim[CBX_PRIM_TANH].transcendental, 128, "the function");
    CHECK_INT(r.in_bytes, 4 * (512 + 256 + 8), "operands");
    CHECK_INT(r.out_bytes, 4 * 128, "results");
    cbx_ctx_free(c);
}

static cbx_status counts_branches(cbx_ctx *c, void *user)
{
    const cbx_array_desc x[] = { { CBX_BOOL, 0, { 0 } }, F64(9, 9) };
    cbx_cost_report r = { .in_bytes = 77 };
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = cbx_cost_count(c, PLAIN(branches, 2, 1), 2, x, &r, &err);
    (void)user;
    CHECK(!st || r.in_bytes == 77, "untouched");
    CHECK_STR(cbx_ctx_backend(c)->name, cbx_backend_at(0)->name, "the backend is as it was");
    return st;
}

static cbx_status counts_a_closure(cbx_ctx *c, void *user)
{
    const cbx_array_desc x = F64(5);
    cbx_cost_report r;
    cbx_err err = CBX_ERR_INIT;
    (void)user;
    return cbx_cost_count(c, PLAIN(closes_over, 1, 1), 1, &x, &r, &err);
}

TEST(memory_that_runs_out)
{
    CHECK_GT(cbx_test_fail_each(counts_branches, NULL, "branches"), 10, "many places");
    CHECK_GT(cbx_test_fail_each(counts_a_closure, NULL, "a closure"), 10, "many places");
}

TESTS(.seconds = 600)
