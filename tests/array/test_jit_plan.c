/* Which operations become one kernel: plans by their number of kernels and of single operations,
 * with the results of the reference backend. */
#include <stdlib.h>
#include <string.h>

#include "transform_support.h"

#include "calibrax/array/backend.h"
#include "calibrax/array/trace/cost.h"
#include "calibrax/base/pool.h"

FN(sum_and_squares)
{
    UNUSED;
    out[0] = cbx_sum(c, in[0], NULL);
    out[1] = cbx_sum(c, cbx_multiply(c, in[0], in[0]), NULL);
    return CBX_OK;
}
FN(two_maps)
{
    UNUSED;
    out[0] = cbx_add(c, in[0], number(c, 1));
    out[1] = cbx_multiply(c, in[0], number(c, 2));
    return CBX_OK;
}
FN(rows_and_columns)
{
    UNUSED;
    cbx_array *r = cbx_multiply(c, in[0], in[0]);
    out[0] = cbx_sum(c, cbx_add(c, r, number(c, 1)), CBX_AXIS(0));
    out[1] = cbx_sum(c, in[0], CBX_AXIS(1));
    return CBX_OK;
}
FN(centred) /* the second sum needs the first */
{
    UNUSED;
    out[0] = cbx_sum(c, in[0], NULL);
    out[1] = cbx_sum(c, cbx_square(c, cbx_subtract(c, in[0], out[0])), NULL);
    return CBX_OK;
}
FN(max_and_squares)
{
    UNUSED;
    out[0] = cbx_max(c, in[0], NULL);
    out[1] = cbx_sum(c, cbx_multiply(c, in[0], in[0]), NULL);
    return CBX_OK;
}
FN(sum_and_max)
{
    UNUSED;
    out[0] = cbx_sum(c, in[0], NULL);
    out[1] = cbx_max(c, in[0], NULL);
    return CBX_OK;
}
FN(of_sorted) /* of an array that an operation made */
{
    UNUSED;
    cbx_array *s = cbx_sort(c, in[0], -1, false);
    out[0] = cbx_sum(c, s, NULL);
    out[1] = cbx_sum(c, cbx_exp(c, s), NULL);
    return CBX_OK;
}
FN(flipped) /* at another place */
{
    UNUSED;
    out[0] = cbx_add(c, in[0], number(c, 1));
    out[1] = cbx_multiply(c, cbx_flip(c, in[0], -1), number(c, 2));
    return CBX_OK;
}
FN(spread_and_moved) /* exp is read through two views that leave its elements where they are */
{
    UNUSED;
    cbx_array *e = cbx_exp(c, in[0]), *a = cbx_expand_dims(c, e, 1), *b = cbx_expand_dims(c, cbx_multiply(c, e, e), 1);
    cbx_array *factors = cbx_reshape(c, cbx_arange(c, 0, 4, 1, CBX_F64), 2, (const ptrdiff_t[]){ 4, 1 });
    out[0] = cbx_permute_dims(c, cbx_add(c, cbx_multiply(c, a, factors), b), (const int[]){ 0, 2, 1 });
    return CBX_OK;
}
FN(two_powers) /* of one base, whose logarithm both take */
{
    UNUSED;
    cbx_array *x = cbx_abs(c, in[0]), *y = cbx_add(c, cbx_square(c, in[0]), number(c, 3));
    out[0] = cbx_pow(c, x, y);
    out[1] = cbx_pow(c, x, cbx_subtract(c, y, number(c, 4)));
    return CBX_OK;
}
FN(many_maps) /* more than one kernel writes */
{
    UNUSED;
    for (size_t i = 0; i < nout; i++) out[i] = cbx_add(c, in[0], number(c, (double)i));
    return CBX_OK;
}

enum { RESULTS = 12 };

static void compare(cbx_ctx *c, const cbx_fn *f, cbx_array *x, const char *why)
{
    cbx_array *plain[RESULTS], *compiled[RESULTS];
    cbx_fn *j = NULL;
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_jit(c, f, &j, &err), &err, why);
    cbx_fn_call(c, f, 1, &x, f->nout, plain);
    cbx_fn_call(c, j, 1, &x, f->nout, compiled);
    if (cbx_ctx_pending(c, &err)) fail_msg("%s: %s", why, err.message);
    for (size_t i = 0; i < f->nout; i++) {
        const size_t bytes = cbx_array_bytes(plain[i]);
        char *a = malloc(bytes + 1), *b = malloc(bytes + 1);
        CHECK_OK(cbx_array_read(plain[i], a, bytes, &err), &err, why);
        CHECK_OK(cbx_array_read(compiled[i], b, bytes, &err), &err, why);
        CHECK(memcmp(a, b, bytes) == 0, why);
        free(a);
        free(b);
    }
    cbx_fn_free(j);
}

TEST(what_reads_the_same_is_one_kernel)
{
    static const size_t small[] = { 40, 50 }, large[] = { 400, 500 };
    static const struct {
        cbx_fn f;
        const size_t *shape;
        size_t kernels, steps;
        const char *why;
    } cases[] = {
        { { "sum_and_squares", sum_and_squares, NULL, 1, 2, NULL }, small, 1, 1, "two sums of one array" },
        { { "two_maps", two_maps, NULL, 1, 2, NULL }, small, 1, 1, "two results of one array" },
        { { "rows_and_columns", rows_and_columns, NULL, 1, 2, NULL }, small, 1, 2, "other axes, another loop" },
        { { "centred", centred, NULL, 1, 2, NULL }, small, 1, 2, "one needs the other" },
        { { "max_and_squares", max_and_squares, NULL, 1, 2, NULL }, small, 1, 2, "a maximum of few is faster alone" },
        { { "max_and_squares", max_and_squares, NULL, 1, 2, NULL }, large, 1, 1, "a maximum of many" },
        { { "sum_and_max", sum_and_max, NULL, 1, 2, NULL }, large, 0, 2, "no kernel reads it" },
        { { "of_sorted", of_sorted, NULL, 1, 2, NULL }, small, 1, 2, "an array that a step made" },
        { { "flipped", flipped, NULL, 1, 2, NULL }, small, 2, 2, "the same array from its end" },
        { { "spread_and_moved", spread_and_moved, NULL, 1, 1, NULL }, small, 1, 1, "places in spite of views" },
        { { "two_powers", two_powers, NULL, 1, 2, NULL }, small, 1, 1, "two powers of one base" },
        { { "many_maps", many_maps, NULL, 1, 12, NULL }, small, 5, 5, "8 of them, and 4 alone" },
    };
    cbx_ctx *c = context();
    cbx_err err = CBX_ERR_INIT;

    cbx_ctx_set_backend(c, cbx_backend_jit(), NULL);
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const size_t n = cases[i].shape[0], m = cases[i].shape[1];
        const cbx_array_desc d = { CBX_F64, 2, { n, m } };
        cbx_cost_program program;
        cbx_cost_report work;
        cbx_scope scope;
        CHECK_OK(cbx_cost_compile(c, &cases[i].f, 1, &d, &work, &program, &err), &err, cases[i].why);
        CHECK_INT(program.nkernels, cases[i].kernels, cases[i].why);
        CHECK_INT(program.nsteps, cases[i].steps, cases[i].why);
        cbx_cost_program_clear(&program);
        cbx_scope_open(c, &scope);
        compare(c, &cases[i].f,
                cbx_reshape(c, cbx_sin(c, line(c, n * m)), 2, (const ptrdiff_t[]){ (ptrdiff_t)n, (ptrdiff_t)m }),
                cases[i].why);
        CHECK_OK(cbx_scope_close(&scope, &err), &err, cases[i].why);
    }
    cbx_ctx_free(c);
}

/* --- results whose last axis is short: they are written as runs --- */

typedef struct spread {
    size_t n, m;
    cbx_dtype dtype;
} spread;

FN(spread_out) /* x[i] + j, or whether that is above 1/2 */
{
    UNUSED;
    const spread *s = user;
    cbx_array *x = cbx_add(c, cbx_expand_dims(c, in[0], 1), cbx_arange(c, 0, (double)s->m, 1, CBX_F64));
    out[0] = s->dtype == CBX_BOOL ? cbx_greater(c, x, number(c, 0.5)) : cbx_astype(c, x, s->dtype);
    return CBX_OK;
}

TEST(short_last_axes_are_runs)
{
    static const spread cases[] = { { 1007, 2, CBX_F64 },    { 1007, 3, CBX_F64 },   { 1007, 4, CBX_F64 },
                                    { 1007, 8, CBX_F64 },    { 1007, 2, CBX_F32 },   { 1007, 8, CBX_F32 },
                                    { 500, 4, CBX_I16 },     { 1007, 4, CBX_BOOL },  { 5, 4, CBX_F64 },
                                    { 1 << 19, 4, CBX_F64 }, { 1 << 20, 2, CBX_F64 } };
    cbx_ctx *c = context();
    cbx_err err = CBX_ERR_INIT;

    cbx_ctx_set_backend(c, cbx_backend_jit(), NULL);
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        spread s = cases[i];
        const cbx_fn f = { "spread_out", spread_out, &s, 1, 1, NULL };
        const cbx_array_desc d = { CBX_F64, 1, { s.n } };
        const bool run = s.m != 3 && s.n > 5, past = s.n > 100000;
        cbx_scope scope;
        cbx_text text;
        cbx_text_init(&text, cbx_ctx_allocator(c));
        CHECK_OK(cbx_dump(c, &f, &d, CBX_DUMP_KERNELS, &text, &err), &err, "kernels");
        CHECK((strstr(cbx_text_str(&text), "beside") != NULL) == (s.m != 3), "side by side");
        CHECK((strstr(cbx_text_str(&text), "past the caches") != NULL) == past, "past the caches");
        cbx_text_clear(&text);
        cbx_scope_open(c, &scope);
        compare(c, &f, cbx_sin(c, line(c, s.n)), run ? "runs" : "single elements");
        CHECK_OK(cbx_scope_close(&scope, &err), &err, "scope");
    }
    cbx_ctx_free(c);
}

FN(root_and_sum)
{
    UNUSED;
    out[0] = cbx_sqrt(c, in[0]);
    out[1] = cbx_sum(c, cbx_multiply(c, in[0], in[0]), CBX_AXIS(-1));
    return CBX_OK;
}

/* A last axis that is short is written out, of no length, too. */
TEST(empty_arrays_have_results)
{
    static const struct {
        int n;
        size_t shape[4];
        const char *why;
    } cases[] = {
        { 1, { 0 }, "an axis" },          { 2, { 3, 0 }, "the last one" },       { 2, { 0, 3 }, "the first one" },
        { 2, { 0, 0 }, "both" },          { 4, { 0, 0, 1, 1 }, "before units" }, { 3, { 5, 0, 4 }, "in between" },
        { 3, { 2, 3, 0 }, "three axes" },
    };
    cbx_ctx *c = context();
    cbx_err err = CBX_ERR_INIT;

    cbx_ctx_set_backend(c, cbx_backend_jit(), NULL);
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_scope scope;
        cbx_scope_open(c, &scope);
        compare(c, PLAIN(root_and_sum, 1, 2), cbx_ones(c, cases[i].n, cases[i].shape, CBX_F64), cases[i].why);
        CHECK_OK(cbx_scope_close(&scope, &err), &err, cases[i].why);
    }
    cbx_ctx_free(c);
}

FN(root_of_running)
{
    UNUSED;
    out[0] = cbx_sqrt(c, cbx_cumulative_sum(c, in[0], -1));
    return CBX_OK;
}
FN(root_beside_running) /* both are results */
{
    UNUSED;
    out[1] = cbx_cumulative_sum(c, in[0], -1);
    out[0] = cbx_sqrt(c, out[1]);
    return CBX_OK;
}
FN(product_with_flipped) /* an element is read behind the one that is written */
{
    UNUSED;
    cbx_array *s = cbx_cumulative_sum(c, in[0], -1);
    out[0] = cbx_multiply(c, s, cbx_flip(c, s, -1));
    return CBX_OK;
}
FN(single_of_running) /* other elements */
{
    UNUSED;
    out[0] = cbx_astype(c, cbx_cumulative_sum(c, in[0], -1), CBX_F32);
    return CBX_OK;
}
FN(root_of_operand) /* the caller's */
{
    UNUSED;
    out[0] = cbx_sqrt(c, in[0]);
    return CBX_OK;
}
FN(two_of_two) /* each in the place of one */
{
    UNUSED;
    cbx_array *a = cbx_cumulative_sum(c, in[0], -1), *b = cbx_cumulative_prod(c, in[0], -1);
    out[0] = cbx_add(c, a, b);
    out[1] = cbx_subtract(c, a, b);
    return CBX_OK;
}

/* Peaks in arrays of 1 MiB, by the program and by the pool. */
TEST(memory_is_used_again)
{
    enum { N = 1 << 17 };
    static const struct {
        cbx_fn f;
        double arrays;
        const char *why;
    } cases[] = {
        { { "root_of_running", root_of_running, NULL, 1, 1, NULL }, 2, "in its place" },
        { { "root_beside_running", root_beside_running, NULL, 1, 2, NULL }, 3, "both are wanted" },
        { { "product_with_flipped", product_with_flipped, NULL, 1, 1, NULL }, 3, "at two places" },
        { { "single_of_running", single_of_running, NULL, 1, 1, NULL }, 2.5, "another dtype" },
        { { "root_of_operand", root_of_operand, NULL, 1, 1, NULL }, 2, "an operand stays" },
        { { "two_of_two", two_of_two, NULL, 1, 2, NULL }, 3, "two results" },
    };
    const cbx_array_desc d = { CBX_F64, 1, { N } };
    const double bytes = 8 * N;
    cbx_err err = CBX_ERR_INIT;

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_ctx *c = context();
        cbx_array *x, *r[2] = { NULL };
        cbx_fn *j = NULL;
        cbx_cost_report work;
        cbx_cost_program program;
        cbx_pool_stats stats;
        cbx_scope scope;
        cbx_ctx_set_backend(c, cbx_backend_jit(), NULL);
        CHECK_OK(cbx_cost_compile(c, &cases[i].f, 1, &d, &work, &program, &err), &err, cases[i].why);
        CHECK_INT((int64_t)program.peak_bytes, (int64_t)(cases[i].arrays * bytes), cases[i].why);
        cbx_cost_program_clear(&program);
        CHECK_OK(cbx_jit(c, &cases[i].f, &j, &err), &err, cases[i].why);
        CHECK_OK(cbx_array_create(c, &d, &x, &err), &err, "an operand");
        for (size_t e = 0; e < N; e++) ((double *)cbx_array_data_mut(x))[e] = (double)(e * 7919 % N);
        cbx_scope_open(c, &scope);
        CHECK_OK(cbx_fn_call(c, j, 1, &x, j->nout, r), (&(cbx_err){ 0 }), cases[i].why);
        cbx_pool_get_stats(cbx_ctx_pool(c), &stats);
        CHECK_INT((int64_t)stats.bytes_in_use_peak, (int64_t)(cases[i].arrays * bytes), cases[i].why);
        CHECK_OK(cbx_scope_close(&scope, &err), &err, cases[i].why);
        cbx_scope_open(c, &scope);
        compare(c, &cases[i].f, x, cases[i].why);
        CHECK_OK(cbx_scope_close(&scope, &err), &err, cases[i].why);
        cbx_array_free(x);
        cbx_fn_free(j);
        cbx_ctx_free(c);
    }
}

/* Sums of exponentials, each its own kernel by its length: planning takes about as long
 * for each. */
FN(sums_of_other_lengths)
{
    const size_t n = *(const size_t *)user;
    (void)nin, (void)nout;
    out[0] = number(c, 0);
    for (size_t i = 0; i < n; i++) {
        const cbx_array *part = cbx_slice(c, in[0], 0, 0, (ptrdiff_t)(i + 2), 1);
        out[0] = cbx_add(c, out[0], cbx_sum(c, cbx_exp(c, part), NULL));
    }
    return CBX_OK;
}

static double plan_s(cbx_ctx *c, size_t n)
{
    const cbx_array_desc d = { CBX_F64, 1, { n + 2 } };
    cbx_cost_program program;
    cbx_cost_report work;
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_cost_compile(c, CBX_FN(sums_of_other_lengths, &n, 1, 1), 1, &d, &work, &program, &err), &err,
             "compile");
    CHECK_GT(program.nkernels, n - 1, "kernels");
    const double s = program.times.plan_s;
    cbx_cost_program_clear(&program);
    return s;
}

TEST(planning_is_linear)
{
    cbx_ctx *c = context();
    double few = 1, many = 1;

    cbx_ctx_set_backend(c, cbx_backend_jit(), NULL);
    for (int i = 0; i < 3; i++) few = fmin(few, plan_s(c, 100));
    for (int i = 0; i < 2; i++) many = fmin(many, plan_s(c, 800));
    print_message("# %.3g ms for 100 kernels, %.3g ms for 800\n", 1e3 * few, 1e3 * many);
    CHECK_LE(many, 8 * 3 * few, "8 times as many kernels");
    cbx_ctx_free(c);
}

TESTS(.seconds = 300)
