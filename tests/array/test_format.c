/* Arrays as text. */
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "calibrax/array/ops.h"
#include "fail_alloc.h"

static cbx_ctx *ctx;

static const char *text_of(const cbx_array *a, size_t indent)
{
    static char shown[16384];
    cbx_text t;

    cbx_text_init(&t, cbx_allocator_default());
    cbx_array_format(a, indent, &t);
    CHECK(!t.status && t.len < sizeof shown, "memory");
    strcpy(shown, cbx_text_str(&t));
    cbx_text_clear(&t);
    return shown;
}

static const char *text_of_data(cbx_dtype dtype, int ndim, size_t n, size_t m, const void *data)
{
    return text_of(cbx_asarray(ctx, &(cbx_array_desc){ dtype, ndim, { n, m } }, data), 0);
}

static cbx_array *range(int64_t n) { return cbx_arange_int(ctx, 0, n, 1, CBX_I64); }

TEST(elements)
{
    const bool truths[] = { true, false };
    const int8_t small[] = { -128, 7 };
    const uint64_t large[] = { UINT64_MAX, 0 };
    const float singles[] = { 0.1f, 1e10f, -3 };
    const double doubles[] = { 0.1, NAN, -INFINITY };
    const double parts[] = { 1, -2, 0.5, INFINITY };

    CHECK_STR(text_of_data(CBX_BOOL, 1, 2, 0, truths), "[ True, False]", "bool");
    CHECK_STR(text_of_data(CBX_I8, 2, 1, 2, small), "[[-128,    7]]", "int8");
    CHECK_STR(text_of_data(CBX_U64, 1, 2, 0, large), "[18446744073709551615,                    0]", "uint64");
    CHECK_STR(text_of_data(CBX_F32, 1, 3, 0, singles), "[          0.1, 10000000000.0,          -3.0]", "float32");
    CHECK_STR(text_of_data(CBX_F64, 1, 3, 0, doubles), "[ 0.1,  nan, -inf]", "float64");
    CHECK_STR(text_of_data(CBX_C128, 1, 2, 0, parts), "[    (1-2j), (0.5+infj)]", "complex128");
    CHECK_STR(text_of_data(CBX_C128, 0, 0, 0, (const double[]){ 0, 1 }), "1j", "a real part of 0");
    CHECK_STR(text_of_data(CBX_F64, 0, 0, 0, doubles), "0.1", "rank 0");
    CHECK_STR(text_of_data(CBX_F64, 2, 2, 0, doubles), "[[],\n []]", "no elements");
}

TEST(lines)
{
    cbx_array *a = range(6), *abstract = NULL;
    cbx_err err = CBX_ERR_INIT;
    const char *s;

    a = cbx_reshape(ctx, a, 2, (const ptrdiff_t[]){ 2, 3 });
    CHECK_STR(text_of(a, 0), "[[0, 1, 2],\n [3, 4, 5]]", "rows");
    CHECK_STR(text_of(a, 4), "[[0, 1, 2],\n     [3, 4, 5]]", "later lines are indented");
    CHECK_STR(text_of(cbx_matrix_transpose(ctx, a), 0), "[[0, 3],\n [1, 4],\n [2, 5]]", "strides");
    CHECK_STR(text_of(range(1001), 0), "[   0,    1,    2, ...,  998,  999, 1000]", "the ends of a long axis");
    CHECK(!strstr(text_of(range(1000), 0), "..."), "1000 elements are shown");
    for (s = text_of(range(1000), 0); *s; s += strcspn(s, "\n") + (s[strcspn(s, "\n")] != 0))
        CHECK_LE(strcspn(s, "\n"), 76, "the length of a line");
    CHECK_OK(cbx_array_create_abstract(ctx, cbx_array_get_desc(a), &abstract, &err), &err, "abstract");
    CHECK_STR(text_of(abstract, 0), "int64 (2, 3)", "abstract");
    cbx_array_free(abstract);
    CHECK_STR(text_of(cbx_reshape(ctx, a, 1, (const ptrdiff_t[]){ 4 }), 0), "failed", "failed");
}

static cbx_status format_it(cbx_ctx *in, void *a)
{
    cbx_text t;
    cbx_status st;

    cbx_text_init(&t, cbx_ctx_allocator(in));
    cbx_array_format(a, 0, &t);
    st = cbx_text_check(&t, NULL);
    cbx_text_clear(&t);
    return st;
}

TEST(memory_runs_out) { CHECK_GT(cbx_test_fail_each(format_it, range(100), "format"), 1, "the text grows"); }

static cbx_scope scope;

static int open_context(void **state)
{
    (void)state;
    if (cbx_ctx_create(NULL, &ctx, NULL)) return 1;
    cbx_scope_open(ctx, &scope);
    return 0;
}

static int close_context(void **state)
{
    (void)state;
    cbx_scope_close(&scope, NULL);
    cbx_ctx_free(ctx);
    return 0;
}

TESTS(.before = open_context, .after = close_context)
