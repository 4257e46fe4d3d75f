/*
 * Functions that read values of their operands, as one operation: eager, compiled, batched, in
 * control flow; what is refused.  Values are those of the function, called with data.
 */
#include "transform_support.h"

#include <stdlib.h>
#include <string.h>

#include "calibrax/array/state.h"
#include "calibrax/array/trace/cost.h"
#include "calibrax/array/trace/regions.h"
#include "fail_alloc.h"

enum { MAX = 16 };

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The middle of x, and the number of elements below it plus what k is: by values, in C. */
FN(middle)
{
    double v[MAX];
    int64_t k = 0, below = 0;
    const size_t n = cbx_array_count(in[0]);
    cbx_err err = CBX_ERR_INIT;

    (void)nin, (void)nout;
    if (user) return cbx__refuse(c, CBX_EDOM, "no middle today"), CBX_OK;
    CHECK(!cbx_array_is_abstract(in[0]) && n <= MAX, "data");
    CHECK_OK(cbx_array_read(in[0], v, sizeof *v * n, &err), &err, "x");
    CHECK_OK(cbx_array_read(in[1], &k, sizeof k, &err), &err, "k");
    qsort(v, n, sizeof *v, ascending);
    while (v[below] < v[n / 2]) below++;
    out[0] = number(c, v[n / 2]);
    out[1] = cbx_full(c, 0, NULL, CBX_I64, cbx_int(below + k));
    return CBX_OK;
}

static const cbx_array_desc results[] = { { .dtype = CBX_F64 }, { .dtype = CBX_I64 } };

/* As one operation. */
FN(hosted)
{
    UNUSED;
    cbx__host_apply(c, CBX_FN(middle, user, 2, 2), results, true, in, out);
    return CBX_OK;
}
FN(moving)
{
    UNUSED;
    cbx__host_apply(c, PLAIN(middle, 2, 2), results, false, in, out);
    return CBX_OK;
}
FN(described_wrong)
{
    UNUSED;
    cbx__host_apply(c, PLAIN(middle, 2, 2), (const cbx_array_desc[]){ results[1], results[1] }, true, in, out);
    return CBX_OK;
}
/* sum(x) times the middle: user is the function of it. */
FN(times_middle)
{
    cbx_array *r[2];
    (void)nin, (void)nout;
    cbx_fn_call(c, user, 2, in, 2, r);
    out[0] = cbx_multiply(c, cbx_sum(c, in[0], NULL), r[0]);
    return CBX_OK;
}
FN(times_still_middle)
{
    cbx_array *r[2];
    (void)nin, (void)nout;
    cbx_fn_call(c, user, 2, (cbx_array *[]){ cbx_stop_gradient(c, in[0]), in[1] }, 2, r);
    out[0] = cbx_multiply(c, cbx_sum(c, in[0], NULL), r[0]);
    return CBX_OK;
}

static cbx_array *rows(cbx_ctx *c) /* (3, 5), no row in order */
{
    return cbx_remainder(c, cbx_reshape(c, cbx_multiply_scalar(c, line(c, 15), 7), 2, (const ptrdiff_t[]){ 3, 5 }),
                         number(c, 11));
}

TEST(one_operation)
{
    static const int x_alone[] = { 0, CBX_NOT_MAPPED };
    cbx_ctx *c = context();
    cbx_err err = CBX_ERR_INIT;
    cbx_scope scope;

    for (int backend = 0; backend < 2; backend++) {
        CHECK_OK(cbx_ctx_set_backend(c, backend ? cbx_backend_jit() : cbx_backend_reference(), &err), &err, "backend");
        cbx_scope_open(c, &scope);
        cbx_fn *jit = NULL, *batched = NULL, *both = NULL;
        cbx_array *x = rows(c), *k = cbx_arange_int(c, 10, 13, 1, CBX_I64), *first = cbx_index(c, k, 0, 0), *all[2],
                  *same[2];
        CHECK_OK(cbx_jit(c, PLAIN(hosted, 2, 2), &jit, &err), &err, "jit");
        CHECK_OK(cbx_vmap(c, jit, NULL, NULL, &batched, &err), &err, "vmap");
        CHECK_OK(cbx_vmap(c, PLAIN(hosted, 2, 2), x_alone, NULL, &both, &err), &err, "vmap of one operand");
        cbx_fn_call(c, batched, 2, (cbx_array *[]){ x, k }, 2, all);
        cbx_fn_call(c, both, 2, (cbx_array *[]){ x, first }, 2, same);
        for (size_t i = 0; i < 3; i++) {
            cbx_array *in[] = { cbx_index(c, x, 0, (ptrdiff_t)i), cbx_index(c, k, 0, (ptrdiff_t)i) }, *y[2], *z[2];
            cbx_fn_call(c, PLAIN(middle, 2, 2), 2, in, 2, y);
            cbx_fn_call(c, PLAIN(hosted, 2, 2), 2, in, 2, z);
            CHECK(at(z[0], 0) == at(y[0], 0), "with data");
            cbx_fn_call(c, jit, 2, in, 2, z);
            CHECK(at(z[0], 0) == at(y[0], 0), "compiled");
            CHECK_INT(*(const int64_t *)cbx_array_data(z[1]), 12 + (int64_t)i, "the place of the middle, and k");
            CHECK(at(all[0], i) == at(y[0], 0), "of a batch");
            CHECK_INT(((const int64_t *)cbx_array_data(all[1]))[i], 12 + (int64_t)i, "each with its k");
            CHECK(at(same[0], i) == at(y[0], 0), "of a batch of x alone");
            CHECK_INT(((const int64_t *)cbx_array_data(same[1]))[i], 12, "all with one k");
        }
        CHECK_OK(cbx_scope_close(&scope, &err), &err, "nothing failed");
        cbx_fn_free(jit);
        cbx_fn_free(batched);
        cbx_fn_free(both);
    }
    cbx_ctx_free(c);
}

TEST(cost_is_a_lower_bound)
{
    cbx_ctx *c = context();
    cbx_err err = CBX_ERR_INIT;
    const cbx_array_desc in[] = { { CBX_F64, 1, { 5 } }, { CBX_I64, 0, { 0 } } };
    cbx_cost_report cost;

    CHECK_OK(cbx_cost_count(c, PLAIN(hosted, 2, 2), 2, in, &cost, &err), &err, "count");
    CHECK_INT(cost.total.calls, 1, "one operation");
    CHECK(cost.total.flags & CBX_COST_LOWER_BOUND, "its work is not known");
    cbx_ctx_free(c);
}

/* The gradient of f, a function of (x, k) that is called with one of the middle. */
static cbx_status gradient(cbx_ctx *c, cbx_array_fn f, cbx_array_fn of, double *out, cbx_err *err)
{
    const size_t x_alone = 0;
    cbx_fn inner = *PLAIN(of, 2, 2), *g = NULL;
    cbx_array *y = NULL;
    cbx_scope scope;

    cbx_scope_open(c, &scope);
    CHECK_OK(cbx_grad(c, CBX_FN(f, &inner, 2, 1), 1, &x_alone, &g, err), err, "grad");
    cbx_fn_call(c, g, 2, (cbx_array *[]){ cbx_index(c, rows(c), 0, 1), cbx_zeros(c, 0, NULL, CBX_I64) }, 1, &y);
    cbx_fn_free(g);
    if (!cbx_ctx_pending(c, NULL)) *out = at(y, 2);
    return cbx_scope_close(&scope, err);
}

TEST(derivatives)
{
    cbx_ctx *c = context();
    cbx_err err = CBX_ERR_INIT;
    double g = NAN;

    CHECK_OK(gradient(c, times_middle, hosted, &g, &err), &err, "one that does not move with x");
    CHECK(g == 5, "35, 42, 49, 56, 63 modulo 11: 2, 9, 5, 1, 8");
    CHECK_STATUS(gradient(c, times_middle, moving, &g, &err), CBX_EUNSUPPORTED, "one that may");
    CHECK_STR(err.message,
              "'middle', a 'host_call', reads values of its operands and has no derivative: 'stop_gradient' of them "
              "makes it 0",
              "which");
    CHECK_OK(gradient(c, times_still_middle, moving, &g, &err), &err, "the remedy");
    CHECK(g == 5, "the middle");
    cbx_ctx_free(c);
}

/* A call of a compiled function. */
static cbx_status compiled(cbx_ctx *c, const cbx_fn *f, cbx_err *err)
{
    cbx_array *out[2];
    cbx_fn *jit = NULL;
    cbx_scope scope;
    cbx_status st;

    cbx_scope_open(c, &scope);
    st = cbx_jit(c, f, &jit, err);
    if (!st)
        cbx_fn_call(c, jit, 2, (cbx_array *[]){ cbx_index(c, rows(c), 0, 0), cbx_zeros(c, 0, NULL, CBX_I64) }, 2, out);
    cbx_fn_free(jit);
    return st ? (void)cbx_scope_close(&scope, NULL), st : cbx_scope_close(&scope, err);
}

TEST(refusals)
{
    cbx_ctx *c = context();
    cbx_err err = CBX_ERR_INIT;
    int user = 1;

    CHECK_STATUS(compiled(c, CBX_FN(hosted, &user, 2, 2), &err), CBX_EDOM, "a function that fails");
    CHECK_STR(err.message, "no middle today", "why");
    CHECK_STATUS(compiled(c, PLAIN(described_wrong, 2, 2), &err), CBX_ESHAPE, "another result");
    CHECK_STR(err.message, "result 0 of 'middle' is float64 (), and was described as int64 ()", "which");
    CHECK_OK(compiled(c, PLAIN(hosted, 2, 2), &err), &err, "the context works as before");
    cbx_ctx_free(c);
}

static cbx_status called(cbx_ctx *c, void *user)
{
    cbx_err err = CBX_ERR_INIT;

    (void)user;
    return compiled(c, PLAIN(hosted, 2, 2), &err);
}

TEST(memory_may_run_out)
{
    CHECK_GT(cbx_test_fail_each(called, NULL, "a function that reads values"), 20, "allocations");
}

TESTS(.seconds = 60)
