/* The engine around the functions: scopes, failures that travel, views, abstract handles, backends,
 * the wall of rules. */
#include <math.h>

#include "check.h"

#include "calibrax/array/backend.h"
#include "calibrax/array/ops.h"
#include "calibrax/array/rules.h"
#include "calibrax/base/pool.h"
#include "fail_alloc.h"

static cbx_array *line(cbx_ctx *c, size_t n) { return cbx_arange_int(c, 0, (int64_t)n, 1, CBX_F64); }

static double at(const cbx_array *x, size_t i)
{
    double v[64];
    CHECK_OK(cbx_array_read(x, v, cbx_array_bytes(x), NULL), (&(cbx_err){ 0 }), "read");
    return v[i];
}

TEST(scopes_own_results)
{
    cbx_test_alloc al;
    cbx_err err = CBX_ERR_INIT;
    cbx_scope outer, inner;
    cbx_array *kept = NULL, *x, *y;
    size_t before;

    cbx_test_alloc_init(&al);
    cbx_ctx *c = cbx_test_ctx(&al);
    cbx_scope_open(c, &outer);
    x = line(c, 4);
    cbx_scope_open(c, &inner);
    before = al.live_blocks;
    kept = cbx_array_ref(cbx_add(c, x, x));
    for (int i = 0; i < 10; i++) cbx_multiply(c, x, x);
    CHECK_GT(al.live_blocks, before, "results live while their scope is open");
    CHECK_OK(cbx_scope_close(&inner, &err), &err, "close");
    CHECK_INT(at(kept, 3), 6, "a reference outlives the scope");
    CHECK_STATUS(cbx_scope_close(&inner, &err), CBX_EINVAL, "closed twice");
    CHECK_INT(at(x, 3), 3, "the outer scope's results are untouched");

    cbx_scope_open(c, &inner);
    y = cbx_sqrt(c, x);
    CHECK_OK(cbx_scope_close_keep(&inner, 1, &y, &err), &err, "close and keep");
    CHECK_INT(at(y, 1), 1, "kept");
    cbx_array_free(y);

    cbx_scope_open(c, &inner);
    CHECK_OK(cbx_scope_close(&outer, &err), &err, "closing the outer one closes both");
    CHECK_STATUS(cbx_scope_close(&inner, &err), CBX_EINVAL, "so the inner one is not open");
    line(c, 3); /* no scope: the context owns it */
    cbx_ctx_free(c);
    CHECK_INT(at(kept, 2), 4, "and outlives the context");
    cbx_array_free(kept);
    cbx_test_alloc_check(&al, "scopes");
}

TEST(failures_travel)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_scope scope, inner;
    cbx_ctx *c = cbx_test_context();
    cbx_array *x, *bad;

    cbx_scope_open(c, &scope);
    x = line(c, 4);
    bad = cbx_add(c, x, line(c, 3));
    CHECK(cbx_array_is_failed(bad), "shapes that do not broadcast");
    CHECK(cbx_array_ref(bad) == bad, "a reference to a failed array is itself");
    bad = cbx_sqrt(c, cbx_sum(c, cbx_where(c, x, bad, x), NULL));
    bad = cbx_reshape(c, cbx_matrix_product(c, bad, cbx_take(c, x, x, 77)), 1, (const ptrdiff_t[]){ -5 });
    CHECK(cbx_array_is_failed(bad), "nothing heals it");
    CHECK_STATUS(cbx_ctx_pending(c, &err), CBX_ESHAPE, "looked at");
    CHECK_STATUS(cbx_scope_close(&scope, &err), CBX_ESHAPE, "the first failure comes out");
    CHECK(strstr(err.message, "float64 (4,) with float64 (3,)") != NULL, "with its operands");
    CHECK_STATUS(cbx_ctx_pending(c, NULL), CBX_OK, "and is gone");

    cbx_scope_open(c, &scope);
    cbx_sqrt(c, NULL);
    cbx_scope_open(c, &inner);
    CHECK_STATUS(cbx_scope_close(&inner, &err), CBX_EINVAL, "an inner scope sees it");
    CHECK(strstr(err.message, "NULL") != NULL, "and names it");
    CHECK_STATUS(cbx_scope_close(&scope, NULL), CBX_EINVAL, "but does not take it away");

    cbx_scope_open(c, &scope);
    bad = cbx_negative(c, cbx_ones(c, 0, NULL, CBX_BOOL));
    CHECK_STATUS(cbx_scope_close_keep(&scope, 1, &bad, &err), CBX_EDTYPE, "nothing is kept of a failed scope");
    cbx_ctx_free(c);
}

TEST(the_wall)
{
    static const struct {
        int which;
        cbx_status status;
        const char *words, *why;
    } cases[] = {
        { 0, CBX_EINVAL, "axis 2 of 'sum'", "axis too large" },
        { 1, CBX_EINVAL, "named twice", "an axis named twice" },
        { 2, CBX_ESHAPE, "an empty array", "max of nothing" },
        { 3, CBX_ESHAPE, "spread", "reshape that leaves a rest" },
        { 4, CBX_EINDEX, "index 4", "an index outside" },
        { 5, CBX_EDOM, "neither rise nor fall", "edges in disorder" },
        { 6, CBX_EDOM, "bins must not be negative", "bincount of a negative number" },
        { 7, CBX_EDOM, "0 to 100", "percentile out of range" },
        { 8, CBX_EDTYPE, "imaginary", "complex to real" },
        { 9, CBX_EOVERFLOW, "300", "a scalar that the dtype cannot hold" },
        { 10, CBX_EDOM, "negative power", "integers to a negative power" },
        { 11, CBX_EINVAL, "must not be 0", "a slice of step 0" },
        { 12, CBX_EOVERFLOW, "more bytes", "a shape product that overflows" },
        { 13, CBX_EINVAL, "no arrays", "concat of nothing" },
        { 14, CBX_EDTYPE, "integers", "invalid indices" },
        { 15, CBX_ESHAPE, "matmul", "inner lengths differ" },
        { 16, CBX_EINVAL, "rank", "a rank above the limit" },
        { 17, CBX_EDTYPE, "complex", "complex numbers have no order" },
        { 18, CBX_ESHAPE, "axis 1 of float64 (1, 2, 6)", "axes to sum whose product alone agrees" },
        { 19, CBX_ESHAPE, "(1, 2, 6) with float64 (2, 3, 2)", "matrices as they were given" },
        { 20, CBX_ESHAPE, "float64 (1, 2, 6) with float64 (3, 3, 6)", "vectors as they were given" },
        { 21, CBX_EOVERFLOW, "18446744073709551615", "more bins than memory" },
    };
    cbx_ctx *c = cbx_test_context();

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_scope scope;
        cbx_err err = CBX_ERR_INIT;
        cbx_scope_open(c, &scope);
        cbx_array *x = line(c, 4), *ints = cbx_astype(c, x, CBX_I64),
                  *none = cbx_zeros(c, 1, (const size_t[]){ 0 }, CBX_F64);
        cbx_array *r = NULL;
        const size_t huge[3] = { SIZE_MAX / 16, 2, 3 };
        cbx_array *twelve = cbx_reshape(c, line(c, 12), 3, (const ptrdiff_t[]){ 1, 2, 6 }),
                  *other = cbx_reshape(c, twelve, 3, (const ptrdiff_t[]){ 2, 3, 2 });
        switch (cases[i].which) {
        case 0: r = cbx_sum(c, x, CBX_AXIS(2)); break;
        case 1: r = cbx_sum(c, x, &(cbx_axes){ .n = 2, .axis = { 0, -1 } }); break;
        case 2: r = cbx_max(c, none, NULL); break;
        case 3: r = cbx_reshape(c, x, 2, (const ptrdiff_t[]){ 3, -1 }); break;
        case 4: r = cbx_take(c, x, cbx_add(c, ints, cbx_weak(c, ints, cbx_int(1))), 0); break;
        case 5: r = cbx_digitize(c, x, cbx_concat(c, 2, (const cbx_array *const[]){ x, x }, 0)); break;
        case 6: r = cbx_bincount(c, cbx_negative(c, ints), NULL, 0); break;
        case 7: r = cbx_percentile(c, x, 100.5, NULL); break;
        case 8: r = cbx_astype(c, cbx_astype(c, x, CBX_C128), CBX_F64); break;
        case 9: r = cbx_add(c, x, cbx_weak(c, cbx_astype(c, x, CBX_U8), cbx_int(300))); break;
        case 10: r = cbx_pow(c, ints, cbx_negative(c, ints)); break;
        case 11: r = cbx_slice(c, x, 0, 0, 3, 0); break;
        case 12: r = cbx_broadcast_to(c, cbx_ones(c, 0, NULL, CBX_F64), 3, huge); break;
        case 13: r = cbx_concat(c, 0, NULL, 0); break;
        case 14: r = cbx_take(c, x, x, 0); break;
        case 15: r = cbx_matrix_product(c, x, line(c, 3)); break;
        case 16: r = cbx_zeros(c, CBX_MAX_RANK + 1, NULL, CBX_F64); break;
        case 17: r = cbx_sort(c, cbx_astype(c, x, CBX_C64), 0, false); break;
        case 18: r = cbx_tensordot(c, twelve, other, 2, (const int[]){ 1, 2 }, (const int[]){ 1, 0 }); break;
        case 19: r = cbx_matrix_product(c, twelve, other); break;
        case 20: r = cbx_vecdot(c, twelve, cbx_zeros(c, 3, (const size_t[]){ 3, 3, 6 }, CBX_F64), -1); break;
        case 21: r = cbx_bincount(c, cbx_full(c, 1, (const size_t[]){ 1 }, CBX_U64, cbx_int(-1)), NULL, 0); break;
        }
        CHECK(cbx_array_is_failed(r), cases[i].why);
        CHECK_STATUS(cbx_scope_close(&scope, &err), cases[i].status, cases[i].why);
        if (!strstr(err.message, cases[i].words))
            fail_msg("%s: \"%s\" lacks \"%s\"", cases[i].why, err.message, cases[i].words);
    }
    cbx_ctx_free(c);
}

TEST(movement_gives_views)
{
    cbx_ctx *c = cbx_test_context();
    cbx_array *x = cbx_reshape(c, line(c, 24), 3, (const ptrdiff_t[]){ 2, 3, 4 });
    const char *low = cbx_array_data(x), *high = low + cbx_array_bytes(x);
    const struct {
        cbx_array *view;
        const char *why;
    } cases[] = {
        { cbx_permute_dims(c, x, NULL), "transposed" },
        { cbx_slice(c, x, 1, 2, CBX_OPEN, -1), "backwards" },
        { cbx_flatten(c, x), "flattened" },
        { cbx_index(c, x, 0, 1), "one row" },
        { cbx_expand_dims(c, cbx_slice(c, x, 2, 0, 4, 2), 1), "a new axis between strided ones" },
        { cbx_broadcast_to(c, x, 4, (const size_t[]){ 5, 2, 3, 4 }), "spread" },
        { cbx_reshape(c, cbx_slice(c, x, 2, 0, 4, 2), 2, (const ptrdiff_t[]){ 6, 2 }), "axes that merge" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const char *p = cbx_array_data(cases[i].view);
        CHECK(!cbx_array_is_failed(cases[i].view) && p >= low && p < high, cases[i].why);
    }
    cbx_array *copy = cbx_reshape(c, cbx_permute_dims(c, x, NULL), 1, (const ptrdiff_t[]){ 24 });
    const char *p = cbx_array_data(copy);
    CHECK(p < low || p >= high, "axes that cannot merge are copied");
    CHECK_INT(at(copy, 1), 12, "in row-major order of the view");
    cbx_ctx_free(c);
}

TEST(abstract_operands_give_abstract_results)
{
    cbx_ctx *c = cbx_test_context();
    cbx_scope scope;
    cbx_err err = CBX_ERR_INIT;
    cbx_array *x = NULL, *r;
    double v;

    CHECK_OK(cbx_array_create_abstract(c, &(cbx_array_desc){ CBX_F32, 2, { 3, 5 } }, &x, &err), &err, "abstract");
    CHECK(cbx_array_is_abstract(x) && cbx_array_data(x) == NULL, "no data");
    cbx_scope_open(c, &scope);
    r = cbx_std(c, cbx_matrix_product(c, cbx_exp(c, x), cbx_permute_dims(c, x, NULL)), CBX_AXIS_KEEP(0), 1);
    r = cbx_sort(c, cbx_concat(c, 2, (const cbx_array *const[]){ r, r }, 1), -1, false);
    CHECK(!cbx_array_is_failed(r) && cbx_array_is_abstract(r), "a whole formula");
    CHECK(cbx_array_desc_equal(cbx_array_get_desc(r), &(cbx_array_desc){ CBX_F32, 2, { 1, 6 } }),
          "with its shape and dtype");
    CHECK_STATUS(cbx_array_read(r, &v, sizeof v, &err), CBX_EINVAL, "nothing to read");
    CHECK_INT(cbx_array_dim(cbx_nonzero_size(c, x, 7, -1), 1), 7, "a size makes the shape known");
    CHECK_OK(cbx_scope_close(&scope, &err), &err, "close");
    cbx_scope_open(c, &scope);
    r = cbx_histogram(c, x, line(c, 4), NULL);
    CHECK(cbx_array_is_abstract(r) && cbx_array_dim(r, 0) == 3, "the edges give the number of counts");
    CHECK_OK(cbx_scope_close(&scope, &err), &err, "close");
    static const char *const remedies[] = { "use 'nonzero_size'", "use 'bincount_size'" };
    for (size_t i = 0; i < CBX_LEN(remedies); i++) {
        cbx_scope_open(c, &scope);
        r = cbx_index(c, x, 0, 0);
        r = i == 0 ? cbx_nonzero(c, x) : cbx_bincount(c, cbx_astype(c, r, CBX_I64), NULL, 0);
        CHECK(cbx_array_is_failed(r), "an answer that depends on data");
        CHECK_STATUS(cbx_scope_close(&scope, &err), CBX_EINVAL, "is refused");
        CHECK(strstr(err.message, remedies[i]) != NULL, "with the remedy");
    }
    cbx_array_free(x);
    cbx_ctx_free(c);
}

/* A backend that counts, and hands on to the reference. */
static int counted;
static cbx_status count_apply(const cbx_backend *self, const cbx_call *call, cbx_array **out, cbx_err *err)
{
    (void)self;
    counted++;
    CHECK(call->attrs != NULL && call->results != NULL && call->nout == 1, "a call is whole");
    return cbx_backend_reference()->apply(cbx_backend_reference(), call, out, err);
}

TEST(every_call_goes_through_the_backend)
{
    cbx_backend mine = {
        .struct_size = sizeof(cbx_backend), .abi = CBX_BACKEND_ABI, .name = "counting", .apply = count_apply
    };
    cbx_ctx *c = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;

    CHECK_STR(cbx_ctx_backend(c)->name, cbx_backend_at(0)->name, "until another is set");
    CHECK_OK(cbx_ctx_set_backend(c, &mine, &err), &err, "set");
    CHECK_INT(at(cbx_add(c, line(c, 3), line(c, 3)), 2), 4, "the result");
    CHECK_GT(counted, 2, "through the backend");
    mine.abi = 99;
    CHECK_STATUS(cbx_ctx_set_backend(c, &mine, &err), CBX_EVERSION, "another abi");
    mine.abi = CBX_BACKEND_ABI;
    mine.apply = NULL;
    CHECK_STATUS(cbx_ctx_set_backend(c, &mine, &err), CBX_EINVAL, "no apply");
    CHECK_OK(cbx_ctx_set_backend(c, NULL, &err), &err, "back");
    cbx_ctx_free(c);
}

/* A name of each member of the table, and where there is no rule, that there is none. */
typedef struct row {
    cbx_prim p;
    const char *name, *jvp, *transpose, *batch;
} row;

static const row *rules_of(cbx_prim p)
{
    static const row rows[] = {
#define ROW(name, run, cost, jvp, transpose, batch) { CBX_PRIM_##name, #name, #jvp, #transpose, #batch },
        CBX__RULES_MAP(ROW)
#undef ROW
    };
    for (size_t i = 0; i < CBX_LEN(rows); i++)
        if (rows[i].p == p) return &rows[i];
    return NULL;
}

static bool is(const char *a, const char *b) { return strcmp(a, b) == 0; }

/* Operands of one shape for a primitive that works element by element: by its letters. */
static size_t operands_of(cbx_ctx *c, const cbx_prim_info *info, cbx_dtype t, const cbx_array **in)
{
    const size_t n = strlen(info->operands), shape[] = { 2 };

    for (size_t i = 0; i < n; i++) {
        const char letter = info->operands[i];
        in[i] = cbx_ones(c, 1, shape, letter == 'c' ? CBX_BOOL : letter == 'k' ? CBX_U64 : t);
    }
    return n;
}

TEST(the_table_is_complete)
{
    static const cbx_prim prims[] = {
#define NUMBER(name, ...) CBX_PRIM_##name,
        CBX_PRIM_MAP(NUMBER)
#undef NUMBER
    };
    int loops = 0;

    CHECK_GT(CBX_LEN(prims), 115, "more than a hundred");
    for (size_t i = 0; i < CBX_LEN(prims); i++) {
        const cbx_prim p = prims[i];
        const cbx_prim_info *info = cbx_prim_get_info(p);
        const row *rules = rules_of(p);
        CHECK(p < CBX_PRIM_LIMIT && cbx_prim_name(p), "a number below the limit, a name");
        CHECK(rules != NULL, cbx_prim_name(p));
        for (size_t k = 0; k < i; k++) {
            CHECK(prims[k] != p, cbx_prim_name(p));
            CHECK(strcmp(cbx_prim_name(prims[k]), cbx_prim_name(p)) != 0, "names differ");
        }
        CHECK(strspn(info->operands, "xcikfa+*") == strlen(info->operands), "letters of operands");
        CHECK(strspn(info->results, "sbircaw*") == strlen(info->results) && info->results[0], "letters of results");
        /* sources have nothing to derive; integers and booleans do not move */
        CHECK(is(rules->jvp, "source") == (info->kind == CBX_CLASS_SOURCE), rules->name);
        CHECK(is(rules->batch, "source") == (info->kind == CBX_CLASS_SOURCE), rules->name);
        if (is(info->results, "b") || is(info->results, "i")) CHECK_STR(rules->jvp, "zero", rules->name);
        if (is(rules->jvp, "linear")) CHECK(!is(rules->transpose, "nonlinear"), rules->name);
        if (info->kind != CBX_CLASS_MAP) continue;
        for (int t = 0; t < CBX_DTYPE_COUNT; t++) {
            cbx_ctx *c = cbx_test_context();
            const cbx_array *in[3] = { NULL };
            const cbx_array_desc *descs[3];
            const size_t n = operands_of(c, info, (cbx_dtype)t, in);
            const cbx_attrs attrs = { .dtype = CBX_F64 };
            cbx_array_desc d;
            for (size_t k = 0; k < n; k++) descs[k] = cbx_array_get_desc(in[k]);
            if (cbx_prim_infer(p, n, descs, &attrs, &d, NULL) == CBX_OK) {
                cbx_array *r = cbx_apply(c, p, n, in, &attrs);
                cbx_err err = CBX_ERR_INIT;
                CHECK_OK(cbx_ctx_pending(c, &err), &err, "what the rule lets through the reference can do");
                CHECK(cbx_array_desc_equal(&d, cbx_array_get_desc(r)), "as the rule said");
                loops++;
            }
            cbx_ctx_free(c);
        }
    }
    CHECK_GT(loops, 300, "primitives by dtypes");
    CHECK(cbx_prim_name((cbx_prim)5) == NULL, "a gap is no primitive");
    CHECK_STATUS(cbx_prim_infer((cbx_prim)5, 0, NULL, NULL, &(cbx_array_desc){ 0 }, NULL), CBX_EINVAL,
                 "nor can it be inferred");
}

/* Equal attributes are equal whatever lies in their padding and in what their scalars do
 * not use. */
TEST(attributes_compare_by_value)
{
    cbx_attrs a, b;

    memset(&a, 0x55, sizeof a);
    memset(&b, 0xaa, sizeof b);
    for (int k = 0; k < 2; k++) {
        cbx_attrs *x = k ? &b : &a;
        x->dtype = CBX_F64, x->axis = 1, x->naxes = 0, x->keep = 0, x->mode = 2, x->ndim = 1, x->object = NULL;
        for (int i = 0; i < CBX_MAX_RANK; i++) x->axes[i] = 0, x->shape[i] = 0, x->start[i] = 0, x->step[i] = 0;
        x->shape[0] = 3;
        x->value.dtype = CBX_F64;
        x->value.v.f = 0.5;
    }
    CHECK(memcmp(&a, &b, sizeof a) != 0, "their bytes differ");
    CHECK(cbx_attrs_equal(&a, &b) && cbx_attrs_hash(&a) == cbx_attrs_hash(&b), "they are equal");
    b.value.v.f = 0.25;
    CHECK(!cbx_attrs_equal(&a, &b) && cbx_attrs_hash(&a) != cbx_attrs_hash(&b), "a scalar");
    b = a;
    b.step[15] = 1;
    CHECK(!cbx_attrs_equal(&a, &b) && cbx_attrs_hash(&a) != cbx_attrs_hash(&b), "the last member of a list");
    b = a;
    b.value.dtype = CBX_C128;
    CHECK(!cbx_attrs_equal(&a, &b), "the dtype of a scalar");
}

TEST(our_own_choices)
{
    cbx_ctx *c = cbx_test_context();
    const double v[] = { 1e30, -1e30, -1.9, 300.7, 2.9 };
    cbx_array *x = cbx_asarray(c, &(cbx_array_desc){ CBX_F64, 1, { 5 } }, v);
    int32_t i4[5];
    uint8_t u1[5];
    int64_t at_places[3];
    double nine[9];

    CHECK_OK(cbx_array_read(cbx_astype(c, x, CBX_I32), i4, sizeof i4, NULL), (&(cbx_err){ 0 }), "int32");
    CHECK(i4[0] == INT32_MAX && i4[1] == INT32_MIN && i4[2] == -1 && i4[3] == 300 && i4[4] == 2,
          "clamped, towards zero");
    CHECK_OK(cbx_array_read(cbx_astype(c, x, CBX_U8), u1, sizeof u1, NULL), (&(cbx_err){ 0 }), "uint8");
    CHECK(u1[0] == 255 && u1[1] == 0 && u1[2] == 0 && u1[3] == 255 && u1[4] == 2, "clamped at both ends");
    CHECK_OK(cbx_array_read(cbx_nonzero_size(c, cbx_greater_scalar(c, x, 2), 3, -1), at_places, sizeof at_places, NULL),
             (&(cbx_err){ 0 }), "nonzero");
    CHECK(at_places[0] == 0 && at_places[1] == 3 && at_places[2] == 4, "cut to size");
    CHECK_OK(
        cbx_array_read(cbx_nonzero_size(c, cbx_greater_scalar(c, x, 200), 3, -1), at_places, sizeof at_places, NULL),
        (&(cbx_err){ 0 }), "nonzero");
    CHECK(at_places[0] == 0 && at_places[1] == 3 && at_places[2] == -1, "filled to size");
    cbx_array *grid[2];
    cbx_meshgrid(c, 2, (const cbx_array *const[]){ line(c, 3), line(c, 3) }, true, grid);
    CHECK_OK(cbx_array_read(grid[0], nine, sizeof nine, NULL), (&(cbx_err){ 0 }), "meshgrid");
    CHECK(nine[1] == 1 && nine[3] == 0, "xy: the first runs along columns");
    cbx_array *sums = cbx_segment_sum(
        c, line(c, 5),
        cbx_floor_divide(c, cbx_arange_int(c, 0, 5, 1, CBX_I64), cbx_full(c, 0, NULL, CBX_I64, cbx_int(2))), 4);
    CHECK(at(sums, 0) == 1 && at(sums, 1) == 5 && at(sums, 2) == 4 && at(sums, 3) == 0, "segments");
    CHECK_INT(at(cbx_sort(c, line(c, 5), 0, true), 0), 4, "descending");
    CHECK_INT(at(cbx_vecdot(c, line(c, 4), line(c, 4), -1), 0), 14, "vecdot");
    CHECK_STATUS(cbx_ctx_pending(c, NULL), CBX_OK, "nothing failed");
    cbx_ctx_free(c);
}

/* Functions that add an axis on their way have none to spare at the highest rank. */
TEST(the_highest_rank_is_no_exception)
{
    cbx_ctx *c = cbx_test_context();
    const size_t twice[] = { 2, 1 };
    cbx_array *x = cbx_reshape(c, line(c, 4), 8, (const ptrdiff_t[]){ 1, 1, 1, 1, 1, 1, 2, 2 }), *r;
    static const double repeated[] = { 0, 1, 0, 1, 2, 3, 2, 3 }, tiled[] = { 0, 1, 2, 3, 0, 1, 2, 3 };

    r = cbx_repeat(c, x, 2, 6);
    CHECK(cbx_array_ndim(r) == 8 && cbx_array_dim(r, 6) == 4, "repeat");
    for (size_t i = 0; i < 8; i++) CHECK(at(r, i) == repeated[i], "repeat");
    r = cbx_tile(c, x, 2, twice);
    CHECK(cbx_array_ndim(r) == 8 && cbx_array_dim(r, 6) == 4, "tile");
    for (size_t i = 0; i < 8; i++) CHECK(at(r, i) == tiled[i], "tile");
    r = cbx_vecdot(c, x, x, -1);
    CHECK(cbx_array_ndim(r) == 7 && at(r, 0) == 1 && at(r, 1) == 13, "vecdot");
    CHECK_STATUS(cbx_ctx_pending(c, NULL), CBX_OK, "nothing failed");
    cbx_ctx_free(c);
}

/* x^0 is 1 whatever x is, of complex numbers too, where C's cpow says NaN. */
TEST(the_power_0_is_1)
{
    cbx_ctx *c = cbx_test_context();
    const double bases[] = { 0, 0, INFINITY, 0, NAN, 0, 3, 4, -0.0, -0.0 };
    cbx_array *x = cbx_asarray(c, &(cbx_array_desc){ CBX_C128, 1, { 5 } }, bases);

    for (int single = 0; single < 2; single++) {
        const cbx_array *y = cbx_pow(c, single ? cbx_astype(c, x, CBX_C64) : x, cbx_zeros(c, 0, NULL, CBX_F32));
        const cbx_array *re = cbx_astype(c, cbx_real(c, y), CBX_F64), *im = cbx_astype(c, cbx_imag(c, y), CBX_F64);
        for (size_t i = 0; i < 5; i++) CHECK(at(re, i) == 1 && at(im, i) == 0, "a base of the list");
    }
    CHECK_STATUS(cbx_ctx_pending(c, NULL), CBX_OK, "nothing failed");
    cbx_ctx_free(c);
}

/* Bytes at the highest point while f runs, in units of its operand, which lives in another
 * context. */
static double peak_of(cbx_array *(*f)(cbx_ctx *, const cbx_array *), bool *steps_kept)
{
    cbx_ctx *home = cbx_test_context(), *c = cbx_test_context();
    const cbx_array *x = line(home, 100000), *r;
    cbx_pool_stats stats;
    cbx_scope scope;

    cbx_scope_open(c, &scope);
    r = f(c, x);
    cbx_pool_get_stats(cbx_ctx_pool(c), &stats);
    *steps_kept = stats.bytes_in_use > 2 * cbx_array_bytes(r) + 4096;
    CHECK_STATUS(cbx_scope_close(&scope, NULL), CBX_OK, "close");
    cbx_ctx_free(c);
    cbx_ctx_free(home);
    return (double)stats.bytes_in_use_peak / 800000.0;
}

static cbx_array *add_itself(cbx_ctx *c, const cbx_array *x) { return cbx_add(c, x, x); }
static cbx_array *sum_all(cbx_ctx *c, const cbx_array *x) { return cbx_sum(c, x, NULL); }
static cbx_array *std_all(cbx_ctx *c, const cbx_array *x) { return cbx_std(c, x, NULL, 0); }
static cbx_array *sort_all(cbx_ctx *c, const cbx_array *x) { return cbx_sort(c, x, 0, false); }
static cbx_array *argsort_all(cbx_ctx *c, const cbx_array *x) { return cbx_argsort(c, x, 0, false); }
static cbx_array *percentile_all(cbx_ctx *c, const cbx_array *x) { return cbx_percentile(c, x, 40, NULL); }
static cbx_array *add_narrow(cbx_ctx *c, const cbx_array *x) { return cbx_add(c, x, cbx_ones(c, 0, NULL, CBX_I8)); }

TEST(scratch_is_what_is_written)
{
    static const struct {
        cbx_array *(*f)(cbx_ctx *, const cbx_array *);
        double max;
        const char *why;
    } cases[] = {
        { add_itself, 1.5, "the result" },
        { sum_all, 0.1, "a number" },
        { add_narrow, 1.5, "a scalar is spread without memory" },
        { std_all, 1.5, "deviations, whose squares take their place" },
        { sort_all, 1.5 + 2 * 1.4, "the result, 16 bytes for each element" },
        { argsort_all, 1.5 + 4 * 1.4, "the result, 32 bytes for each element" },
        { percentile_all, 2 * 1.4, "16 bytes for each element" },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        bool steps_kept;
        CHECK_LE(peak_of(cases[i].f, &steps_kept), cases[i].max, cases[i].why);
        CHECK(!steps_kept, "steps are not kept");
    }
}

TESTS(.seconds = 600)
