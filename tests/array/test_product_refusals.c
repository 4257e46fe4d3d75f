/*
 * What products, sparse products, convolutions and their derivatives refuse, each with its status
 * and its sentence: lengths that differ, indices outside, algebras without a dtype, memory that
 * overlaps or lies askew, sizes beyond 32 bits and beyond memory; and lengths of zero, which
 * are legal.
 */
#include "check.h"

#include <math.h>

#include "calibrax/array/ell.h"
#include "calibrax/array/kernels/ell.h"
#include "calibrax/array/semiring.h"

/* What every row works on: 3-by-3 arrays, a graph of 3 rows with 2 places each, memory of
 * its own. */
typedef struct bench {
    cbx_ctx *c;
    cbx_ell *g;
    cbx_array *x, *flags, *table, *image, *taps;
    const cbx_semiring *real, *log, *max, *bools;
    cbx_conv_options how;
    cbx_array *d[3];
    double capacity[64];
    cbx_scope scope; /* of the arrays above */
    cbx_matmul p;
    cbx_ell_product e;
} bench;

static cbx_array *zeros(bench *t, int n, size_t a, size_t b, size_t e, cbx_dtype dtype)
{
    return cbx_zeros(t->c, n, (const size_t[]){ a, b, e }, dtype);
}

/* One element seen as many. */
static cbx_array *many(bench *t, size_t a, size_t b)
{
    return cbx_broadcast_to(t->c, zeros(t, 2, 1, 1, 0, CBX_F32), 2, (const size_t[]){ a, b });
}

static void bench_open(bench *t)
{
    static const int32_t index[] = { 0, 1, 2, 0, 1, 2 };
    cbx_err err = CBX_ERR_INIT;

    *t = (bench){ .how = CBX_CONV_INIT, .p = CBX_MATMUL_INIT, .e = CBX_ELL_PRODUCT_INIT };
    CHECK_OK(cbx_ctx_create(NULL, &t->c, &err), &err, "context");
    CHECK_OK(cbx_ell_create(t->c, &(cbx_ell_source){ sizeof(cbx_ell_source), 3, 3, 2, index, NULL, NULL, NULL }, &t->g,
                            &err),
             &err, "graph");
    cbx_scope_open(t->c, &t->scope);
    t->real = cbx_semiring_find("real"), t->log = cbx_semiring_find("log");
    t->max = cbx_semiring_find("tropical_max_plus"), t->bools = cbx_semiring_find("boolean");
    t->x = zeros(t, 2, 3, 3, 0, CBX_F64);
    t->flags = zeros(t, 2, 3, 3, 0, CBX_BOOL);
    t->table = zeros(t, 2, 3, 2, 0, CBX_F64);
    t->image = zeros(t, 2, 9, 2, 0, CBX_F64);
    t->taps = zeros(t, 3, 3, 2, 4, CBX_F64);
    t->p.semiring = t->real, t->p.dtype = CBX_F64;
    t->p.m = t->p.k = t->p.n = 2;
    t->p.lda = t->p.ldb = t->p.ldc = t->p.ldd = 2;
    t->p.a = t->capacity, t->p.b = t->capacity + 4, t->p.c = t->capacity + 8;
    cbx_ell_view(t->g, false, &t->e);
    t->e.semiring = t->real, t->e.dtype = CBX_F64;
    t->e.values = t->capacity, t->e.b = t->capacity + 8, t->e.c = t->capacity + 24;
    t->e.d = t->e.ldb = t->e.ldc = 3;
}

static void bench_close(bench *t)
{
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_scope_close(&t->scope, &err), &err, "nothing is left behind");
    cbx_ell_free(t->g);
    cbx_ctx_free(t->c);
}

static cbx_status run(bench *t, cbx_err *err) { return cbx_matmul_define(&t->p, err); }
static cbx_status run_sparse(bench *t, cbx_err *err) { return cbx_ell_product_run(&t->e, err); }

static cbx_status graph(bench *t, size_t rows, size_t cols, size_t width, int32_t at, int32_t degree, cbx_err *err)
{
    const int32_t index[] = { 0, 1, 0, at }, degrees[] = { 2, degree };
    cbx_ell *g = NULL;
    return cbx_ell_create(
        t->c, &(cbx_ell_source){ sizeof(cbx_ell_source), rows, cols, width, index, degrees, NULL, NULL }, &g, err);
}

/* --- plain memory: what each returns; arrays: what the scope closes with --- */

typedef cbx_status plain(bench *t, cbx_err *err);
typedef void arrays(bench *t);

/* dense */
static cbx_status p_dtype(bench *t, cbx_err *err) { return t->p.dtype = CBX_BOOL, run(t, err); }
static cbx_status p_integers(bench *t, cbx_err *err) { return t->p.dtype = CBX_I32, run(t, err); }
static cbx_status p_bools(bench *t, cbx_err *err) { return t->p.semiring = t->bools, run(t, err); }
static cbx_status p_over_a(bench *t, cbx_err *err) { return t->p.c = t->capacity + 3, run(t, err); }
static cbx_status p_over_b(bench *t, cbx_err *err) { return t->p.c = t->capacity + 7, run(t, err); }
static cbx_status p_over_d(bench *t, cbx_err *err) { return t->p.d = t->capacity + 9, run(t, err); }
static cbx_status p_backwards(bench *t, cbx_err *err)
{
    return t->p.c = t->capacity + 14, t->p.ldc = -2, t->p.b = t->capacity + 9, run(t, err);
}
static cbx_status p_itself(bench *t, cbx_err *err) { return t->p.ldc = 1, run(t, err); }
static cbx_status p_askew_a(bench *t, cbx_err *err) { return t->p.a = (char *)t->capacity + 3, run(t, err); }
static cbx_status p_askew_b(bench *t, cbx_err *err) { return t->p.b = (char *)t->capacity + 36, run(t, err); }
static cbx_status p_askew_c(bench *t, cbx_err *err) { return t->p.c = (char *)t->capacity + 129, run(t, err); }
static cbx_status p_askew_d(bench *t, cbx_err *err) { return t->p.d = (char *)t->capacity + 202, run(t, err); }
static cbx_status p_huge_k(bench *t, cbx_err *err) { return t->p.k = SIZE_MAX / 16, run(t, err); }
static cbx_status p_huge_m(bench *t, cbx_err *err) { return t->p.m = SIZE_MAX / 3, t->p.ldc = 2, run(t, err); }
static cbx_status p_far(bench *t, cbx_err *err) { return t->p.b_step = PTRDIFF_MAX / 4, run(t, err); }

/* sparse */
static cbx_status e_dtype(bench *t, cbx_err *err) { return t->e.dtype = CBX_BOOL, run_sparse(t, err); }
static cbx_status e_no_dtype(bench *t, cbx_err *err) { return t->e.dtype = CBX_DTYPE_COUNT, run_sparse(t, err); }
static cbx_status e_bools(bench *t, cbx_err *err) { return t->e.semiring = t->bools, run_sparse(t, err); }
static cbx_status e_scaled(bench *t, cbx_err *err)
{
    return t->e.semiring = t->log, t->e.scaled = true, run_sparse(t, err);
}
static cbx_status e_over_b(bench *t, cbx_err *err) { return t->e.c = t->capacity + 16, run_sparse(t, err); }
static cbx_status e_over_values(bench *t, cbx_err *err) { return t->e.values = t->capacity + 30, run_sparse(t, err); }
static cbx_status e_askew_b(bench *t, cbx_err *err) { return t->e.b = (char *)t->capacity + 65, run_sparse(t, err); }
static cbx_status e_askew_c(bench *t, cbx_err *err) { return t->e.c = (char *)t->capacity + 194, run_sparse(t, err); }
static cbx_status e_askew_index(bench *t, cbx_err *err)
{
    return t->e.index = (const int32_t *)(const void *)((const char *)t->e.index + 2), run_sparse(t, err);
}
static cbx_status e_narrow(bench *t, cbx_err *err) { return t->e.ldb = 2, run_sparse(t, err); }
static cbx_status e_many_rows_of_b(bench *t, cbx_err *err) { return t->e.cols = (size_t)1 << 31, run_sparse(t, err); }
static cbx_status e_huge(bench *t, cbx_err *err) { return t->e.ldc = SIZE_MAX / 4, run_sparse(t, err); }
static cbx_status e_softmax_dtype(bench *t, cbx_err *err)
{
    return t->e.dtype = CBX_BOOL, cbx_ell_softmax_run(&t->e, err);
}
static cbx_status e_softmax_over(bench *t, cbx_err *err)
{
    return t->e.c = t->capacity + 1, cbx_ell_softmax_run(&t->e, err);
}
static cbx_status e_gather_dtype(bench *t, cbx_err *err)
{
    return t->e.dtype = CBX_BOOL, cbx_ell_gather_run(&t->e, err);
}
static cbx_status g_index(bench *t, cbx_err *err) { return graph(t, 2, 5, 2, 5, 2, err); }
static cbx_status g_negative(bench *t, cbx_err *err) { return graph(t, 2, 5, 2, -1, 2, err); }
static cbx_status g_degree(bench *t, cbx_err *err) { return graph(t, 2, 5, 2, 0, 3, err); }
static cbx_status g_rows(bench *t, cbx_err *err) { return graph(t, (size_t)1 << 31, 1, 1, 0, 1, err); }
static cbx_status g_cols(bench *t, cbx_err *err) { return graph(t, 2, (size_t)1 << 31, 2, 0, 2, err); }
static cbx_status g_places(bench *t, cbx_err *err) { return graph(t, 65536, 2, 65536, 0, 2, err); }
static cbx_status g_list(bench *t, cbx_err *err)
{
    cbx_ell *g = NULL;
    return cbx_ell_from_coo(t->c, 2, 3, 2, (const int32_t[]){ 1, 2 }, (const int32_t[]){ 0, 1 }, &g, err);
}
static cbx_status g_entries(bench *t, cbx_err *err)
{
    cbx_ell *g = NULL; /* none of the columns that are claimed is there */
    return cbx_ell_from_csr(t->c, 1, 3, (const int64_t[]){ 0, (int64_t)1 << 33 }, (const int32_t[]){ 1 }, &g, err);
}
static cbx_status g_pairs(bench *t, cbx_err *err)
{
    cbx_ell *g = NULL;
    return cbx_ell_from_coo(t->c, 2, 3, UINT32_MAX, (const int32_t[]){ 1 }, (const int32_t[]){ 1 }, &g, err);
}
static cbx_status g_descends(bench *t, cbx_err *err)
{
    cbx_ell *g = NULL;
    return cbx_ell_from_csr(t->c, 2, 3, (const int64_t[]){ 0, 2, 1 }, (const int32_t[]){ 1, 2 }, &g, err);
}
static cbx_status a_askew(bench *t, cbx_err *err)
{
    const cbx_array_desc d = { CBX_F64, 1, { 2 } };
    cbx_array *x = NULL;
    return cbx_array_wrap(t->c, &d, NULL, (char *)t->capacity + 4, NULL, NULL, &x, err);
}

static const struct {
    plain *run;
    cbx_status status;
    const char *words;
} plains[] = {
    { p_dtype, CBX_EDTYPE, "'real' does not take bool" },
    { p_integers, CBX_EDTYPE, "'real' does not take int32" },
    { p_bools, CBX_EDTYPE, "'boolean' does not take float64" },
    { p_over_a, CBX_EINVAL, "C overlaps A: use separate memory" },
    { p_over_b, CBX_EINVAL, "C overlaps B: use separate memory" },
    { p_over_d, CBX_EINVAL, "C overlaps D: use separate memory" },
    { p_backwards, CBX_EINVAL, "C overlaps B" },
    { p_itself, CBX_EINVAL, "elements of C coincide: strides ldc 1, c_step 1 for m=2 n=2" },
    { p_askew_a, CBX_EINVAL, "A starts 3 bytes past a multiple of 8" },
    { p_askew_b, CBX_EINVAL, "B starts 4 bytes past a multiple of 8" },
    { p_askew_c, CBX_EINVAL, "C starts 1 bytes past a multiple of 8" },
    { p_askew_d, CBX_EINVAL, "D starts 2 bytes past a multiple of 8" },
    { p_huge_k, CBX_EOVERFLOW, "m=2 k=1152921504606846975 n=2 is larger than the address space" },
    { p_huge_m, CBX_EOVERFLOW, "larger than the address space" },
    { p_far, CBX_EOVERFLOW, "larger than the address space" },
    { e_dtype, CBX_EDTYPE, "'real' does not take bool" },
    { e_no_dtype, CBX_EDTYPE, "'real' does not take" },
    { e_bools, CBX_EDTYPE, "'boolean' does not take float64" },
    { e_scaled, CBX_EINVAL, "'log' does not fold weighted messages: real and the tropical ones do" },
    { e_over_b, CBX_EINVAL, "C overlaps B: use separate memory" },
    { e_over_values, CBX_EINVAL, "C overlaps the values: use separate memory" },
    { e_askew_b, CBX_EINVAL, "memory of B starts 1 bytes past a multiple of 8" },
    { e_askew_c, CBX_EINVAL, "C does not start at a multiple of 8 bytes" },
    { e_askew_index, CBX_EINVAL, "memory of the indices starts 2 bytes past a multiple of 4" },
    { e_narrow, CBX_EINVAL, "rows of 3 elements do not fit strides ldb 2, ldc 3" },
    { e_many_rows_of_b, CBX_EOVERFLOW,
      "B has 2147483648 rows, and the maximum for 32-bit indices is 2147483647: split its rows" },
    { e_huge, CBX_EOVERFLOW, "larger than the address space" },
    { e_softmax_dtype, CBX_EDTYPE, "a softmax takes float32 and float64, not bool" },
    { e_softmax_over, CBX_EINVAL, "C overlaps the values" },
    { e_gather_dtype, CBX_EDTYPE, "the gather takes float32 and float64, not bool" },
    { g_index, CBX_EDOM, "row 1, place 1 refers to column 5 of 5: columns are 0 .. cols-1" },
    { g_negative, CBX_EDOM, "row 1, place 1 refers to column -1 of 5" },
    { g_degree, CBX_EDOM, "row 1 has degree 3, outside 0 .. 2" },
    { g_rows, CBX_EOVERFLOW, "2147483648 rows and 1 columns is too large for 32-bit indices" },
    { g_cols, CBX_EOVERFLOW, "2 rows and 2147483648 columns is too large for 32-bit indices" },
    { g_places, CBX_EOVERFLOW, "65536 rows of 65536 places are too many for 32-bit numbers: split the rows" },
    { g_list, CBX_EDOM, "entry 1 is in row 2, column 1 of a matrix of 2 rows and 3 columns" },
    { g_entries, CBX_EOVERFLOW, "8589934592 entries are too many for 32-bit numbers: split the rows" },
    { g_pairs, CBX_EOVERFLOW, "4294967295 entries are too many for 32-bit numbers:" },
    { g_descends, CBX_EDOM, "row 1 ends at entry 1, before its start 2" },
    { a_askew, CBX_EINVAL, "'data' of 'array_wrap' starts 4 bytes past a multiple of 8" },
};

TEST(plain_memory)
{
    for (size_t i = 0; i < CBX_LEN(plains); i++) {
        cbx_err err = CBX_ERR_INIT;
        bench t;
        bench_open(&t);
        CHECK_STATUS(plains[i].run(&t, &err), plains[i].status, plains[i].words);
        if (!strstr(err.message, plains[i].words)) fail_msg("'%s' without '%s'", err.message, plains[i].words);
        bench_close(&t);
    }
}

/* --- arrays --- */

#define WIDE(t) zeros(t, 2, 4, 4, 0, CBX_F64)

static void m_lengths(bench *t) { cbx_semiring_matmul(t->c, t->x, WIDE(t), t->max); }
static void m_stacks(bench *t)
{
    cbx_semiring_matmul(t->c, zeros(t, 3, 2, 3, 3, CBX_F64), zeros(t, 3, 3, 3, 3, CBX_F64), t->real);
}
static void m_dtype(bench *t) { cbx_semiring_matmul(t->c, t->flags, t->x, t->bools); }
static void m_complex(bench *t) { cbx_semiring_matmul(t->c, cbx_astype(t->c, t->x, CBX_C64), t->x, t->log); }

static void v_lengths(bench *t) { cbx_semiring_matmul_vjp(t->c, t->x, WIDE(t), t->x, t->x, t->log, t->d); }
static void v_product(bench *t) { cbx_semiring_matmul_vjp(t->c, t->x, t->x, WIDE(t), t->x, t->max, t->d); }
static void v_cotangent(bench *t) { cbx_semiring_matmul_vjp(t->c, t->x, t->x, t->x, WIDE(t), t->max, t->d); }
static void v_bools(bench *t) { cbx_semiring_matmul_vjp(t->c, t->flags, t->flags, t->flags, t->flags, t->bools, t->d); }
static void v_dtype(bench *t) { cbx_semiring_matmul_vjp(t->c, t->flags, t->x, t->x, t->x, t->real, t->d); }
static void v_long(bench *t)
{
    const size_t k = (size_t)1 << 31;
    cbx_array *one = many(t, 1, 1);
    cbx_semiring_matmul_vjp(t->c, many(t, 1, k), many(t, k, 1), one, one, t->max, t->d);
}
static void j_long(bench *t)
{
    const size_t k = (size_t)1 << 31;
    cbx_array *a = many(t, 1, k), *b = many(t, k, 1);
    cbx_semiring_matmul_jvp(t->c, a, b, many(t, 1, 1), a, b, t->max);
}
static void j_tangent(bench *t) { cbx_semiring_matmul_jvp(t->c, t->x, t->x, t->x, t->x, WIDE(t), t->log); }

static void e_lengths(bench *t) { cbx_ell_matmul(t->c, t->g, t->table, WIDE(t), t->real); }
static void e_table(bench *t) { cbx_ell_matmul(t->c, t->g, t->x, t->x, t->real); }
static void e_algebra(bench *t) { cbx_ell_matmul(t->c, t->g, t->table, t->x, t->bools); }
static void e_mixed(bench *t) { cbx_ell_matmul(t->c, t->g, t->table, cbx_astype(t->c, t->x, CBX_F32), t->real); }
static void e_back_product(bench *t) { cbx_ell_matmul_vjp(t->c, t->g, t->table, t->x, WIDE(t), t->x, t->real, t->d); }
static void e_back_cotangent(bench *t) { cbx_ell_matmul_vjp(t->c, t->g, t->table, t->x, t->x, WIDE(t), t->real, t->d); }
static void e_back_bools(bench *t) { cbx_ell_matmul_vjp(t->c, t->g, t->table, t->x, t->x, t->x, t->bools, t->d); }
static void e_forward_tangent(bench *t) { cbx_ell_matmul_jvp(t->c, t->g, t->table, t->x, t->x, t->x, t->x, t->real); }
static void e_other_tangent(bench *t)
{
    cbx_ell_matmul_jvp(t->c, t->g, t->table, t->x, t->x, t->table, WIDE(t), t->real);
}
static void message(void *user, const cbx_ell_edge *e, void *out) { (void)user, (void)e, (void)out; }
static void moved(void *user, const cbx_ell_edge *e, const void *row, const void *col, const void *attr, void *out)
{
    (void)user, (void)e, (void)row, (void)col, (void)attr, (void)out;
}
static void e_edge_tangent(bench *t)
{
    const cbx_ell_edge_functions f = { sizeof f, 3, NULL, message, NULL, moved };
    cbx_ell_edge_aggregate_jvp(t->c, t->g, t->x, t->x, NULL, &f, t->real, t->x, WIDE(t), NULL);
}
static void e_softmax_table(bench *t) { cbx_ell_softmax(t->c, t->g, t->x); }
static void e_softmax_back(bench *t) { cbx_ell_softmax_vjp(t->c, t->g, t->table, t->x); }
static void e_pack(bench *t) { cbx_ell_pack(t->c, t->g, t->x); }

static void c_channels(bench *t) { cbx_semiring_conv(t->c, t->x, t->taps, t->real, &t->how); }
static void c_window(bench *t)
{
    t->how.dilation[0] = 5;
    cbx_semiring_conv(t->c, t->image, t->taps, t->log, &t->how);
}
static void c_dilation(bench *t)
{
    t->how.dilation[0] = (size_t)1 << 31;
    cbx_semiring_conv(t->c, t->image, t->taps, t->max, &t->how);
}
static void c_padding(bench *t)
{
    t->how.padding = CBX_CONV_EXPLICIT, t->how.high[0] = SIZE_MAX;
    cbx_semiring_conv(t->c, t->image, t->taps, t->max, &t->how);
}
static void c_dtype(bench *t) { cbx_semiring_conv(t->c, t->image, t->taps, t->bools, &t->how); }
static void c_back_product(bench *t)
{
    cbx_semiring_conv_vjp(t->c, t->image, t->taps, t->image, zeros(t, 2, 7, 4, 0, CBX_F64), t->real, &t->how, t->d);
}
static void c_back_cotangent(bench *t)
{
    cbx_semiring_conv_vjp(t->c, t->image, t->taps, zeros(t, 2, 7, 4, 0, CBX_F64), t->x, t->real, &t->how, t->d);
}
static void c_back_channels(bench *t)
{
    cbx_semiring_conv_vjp(t->c, t->x, t->taps, t->x, t->x, t->real, &t->how, t->d);
}
static void c_back_dtype(bench *t)
{
    cbx_array *y = zeros(t, 2, 7, 4, 0, CBX_F64);
    cbx_semiring_conv_vjp(t->c, t->image, cbx_astype(t->c, t->taps, CBX_F32), y, y, t->real, &t->how, t->d);
}
static void c_back_bools(bench *t)
{
    cbx_semiring_conv_vjp(t->c, t->flags, t->flags, t->flags, t->flags, t->bools, &t->how, t->d);
}

static const struct {
    arrays *run;
    cbx_status status;
    const char *words;
} on_arrays[] = {
    { m_lengths, CBX_ESHAPE, "cannot join float64 (3, 3) with float64 (4, 4)" },
    { m_stacks, CBX_ESHAPE, "cannot join" },
    { m_dtype, CBX_EDTYPE, "takes bool, not bool with float64" },
    { m_complex, CBX_EDTYPE, "'semiring_matmul' over 'log' takes float32 or float64, not complex128" },
    { v_lengths, CBX_ESHAPE, "'semiring_matmul_vjp' cannot join float64 (3, 3) with float64 (4, 4)" },
    { v_product, CBX_ESHAPE, "to float64 (4, 4)" },
    { v_cotangent, CBX_ESHAPE, "to float64 (4, 4)" },
    { v_bools, CBX_EDTYPE, "'semiring_matmul_vjp' over 'boolean' has no derivative" },
    { v_dtype, CBX_EDTYPE, "'semiring_matmul_vjp' does not take bool" },
    { v_long, CBX_EOVERFLOW,
      "'semiring_matmul_vjp' counts 2147483648 terms by 32 bits, which reach 2147483647: split k" },
    { j_long, CBX_EOVERFLOW, "'semiring_matmul_jvp' counts 2147483648 terms by 32 bits" },
    { j_tangent, CBX_ESHAPE,
      "the second tangent of 'semiring_matmul_jvp' is float64 (4, 4), its operand float64 (3, 3)" },
    { e_lengths, CBX_ESHAPE, "'ell_matmul' expects B float64 (3, 4), not float64 (4, 4)" },
    { e_table, CBX_ESHAPE, "'ell_matmul' expects values float64 (3, 2), not float64 (3, 3)" },
    { e_algebra, CBX_EDTYPE, "'ell_matmul' over 'boolean' takes bool, not float64: convert with 'astype'" },
    { e_mixed, CBX_EDTYPE, "'ell_matmul' takes one dtype, not float64 with float32" },
    { e_back_product, CBX_ESHAPE, "'ell_matmul_vjp' expects C float64 (3, 3), not float64 (4, 4)" },
    { e_back_cotangent, CBX_ESHAPE, "'ell_matmul_vjp' expects the cotangent float64 (3, 3), not float64 (4, 4)" },
    { e_back_bools, CBX_EDTYPE, "'ell_matmul_vjp' over 'boolean' has no derivative" },
    { e_forward_tangent, CBX_ESHAPE, "expects the first tangent float64 (3, 2), not float64 (3, 3)" },
    { e_other_tangent, CBX_ESHAPE, "expects the second tangent float64 (3, 3), not float64 (4, 4)" },
    { e_edge_tangent, CBX_ESHAPE,
      "'ell_edge_aggregate_jvp' expects the tangent of x_col float64 (3, 3), not float64 (4, 4)" },
    { e_softmax_table, CBX_ESHAPE, "'ell_softmax' expects values float64 (3, 2), not float64 (3, 3)" },
    { e_softmax_back, CBX_ESHAPE, "'ell_softmax_vjp' expects h float64 (3, 2), not float64 (3, 3)" },
    { e_pack, CBX_ESHAPE, "'ell_pack' expects entries" },
    { c_channels, CBX_ESHAPE, "'semiring_conv' cannot join float64 (3, 3) with float64 (3, 2, 4)" },
    { c_window, CBX_ESHAPE, "a window of 11 along axis 0 is larger than the padded length 9: pad, or use SAME" },
    { c_dilation, CBX_EOVERFLOW,
      "a window of 3 taps with dilation 2147483648 along axis 0 is larger than the address space" },
    { c_padding, CBX_EOVERFLOW,
      "axis 0 with its padding, 0 + 9 + 18446744073709551615, is longer than the address space" },
    { c_dtype, CBX_EDTYPE, "'semiring_conv' over 'boolean' takes bool, not float64 with float64" },
    { c_back_product, CBX_ESHAPE, "operand 3 of 'semiring_conv_vjp' is float64 (9, 2)" },
    { c_back_cotangent, CBX_ESHAPE, "operand 4 of 'semiring_conv_vjp' is float64 (3, 3)" },
    { c_back_channels, CBX_ESHAPE, "'semiring_conv' cannot join" },
    { c_back_dtype, CBX_EDTYPE, "'semiring_conv_vjp' takes one dtype, not float64 with float32" },
    { c_back_bools, CBX_EDTYPE, "'semiring_conv_vjp' over 'boolean' has no derivative" },
};

TEST(arrays_are_refused)
{
    for (size_t i = 0; i < CBX_LEN(on_arrays); i++) {
        cbx_err err = CBX_ERR_INIT;
        cbx_scope scope;
        bench t;
        bench_open(&t);
        cbx_scope_open(t.c, &scope);
        on_arrays[i].run(&t);
        CHECK_STATUS(cbx_scope_close(&scope, &err), on_arrays[i].status, on_arrays[i].words);
        if (!strstr(err.message, on_arrays[i].words)) fail_msg("'%s' without '%s'", err.message, on_arrays[i].words);
        bench_close(&t);
    }
}

/* --- lengths of zero --- */

static double sum_of(bench *t, const cbx_array *x)
{
    double v = NAN;
    cbx_array *s = cbx_array_is_failed(x) ? NULL : cbx_sum(t->c, x, NULL);
    if (s) cbx_array_read(s, &v, sizeof v, NULL);
    return v;
}

/* No terms: the empty value.  No elements: nothing.  Derivatives of either are 0, of the
 * operands' shapes. */
TEST(zero_lengths)
{
    static const size_t sizes[][3] = { { 3, 0, 2 }, { 0, 3, 2 }, { 2, 3, 0 }, { 0, 0, 0 } };
    for (int g = 0; g < CBX_ALGEBRA_BOOLEAN; g++)
        for (size_t i = 0; i < CBX_LEN(sizes); i++) {
            const cbx_semiring *s = cbx_semiring_get((cbx_algebra)g);
            const size_t m = sizes[i][0], k = sizes[i][1], n = sizes[i][2];
            cbx_err err = CBX_ERR_INIT;
            cbx_scope scope;
            bench t;
            bench_open(&t);
            cbx_scope_open(t.c, &scope);
            cbx_array *a = zeros(&t, 2, m, k, 0, CBX_F64), *b = zeros(&t, 2, k, n, 0, CBX_F64),
                      *y = cbx_semiring_matmul(t.c, a, b, s), *ty = cbx_semiring_matmul_jvp(t.c, a, b, y, a, b, s);
            cbx_semiring_matmul_vjp(t.c, a, b, y, y, s, t.d);
            CHECK(m * n == 0 || sum_of(&t, y) == s->empty * (s->empty == 0 ? 1 : (double)(m * n)), "the empty value");
            CHECK(sum_of(&t, t.d[0]) == 0 && sum_of(&t, t.d[1]) == 0 && sum_of(&t, ty) == 0, "derivatives of nothing");
            CHECK(cbx_array_dim(t.d[0], 1) == k && cbx_array_dim(t.d[1], 1) == n, "of the operands' shapes");
            cbx_array *x = zeros(&t, 2, 9, k, 0, CBX_F64), *w = zeros(&t, 3, 3, k, n, CBX_F64),
                      *z = cbx_semiring_conv(t.c, x, w, s, NULL);
            cbx_semiring_conv_vjp(t.c, x, w, z, z, s, NULL, t.d);
            CHECK(cbx_array_dim(z, 0) == 7 && cbx_array_dim(z, 1) == n, "a convolution of nothing");
            if (k == 0) CHECK(sum_of(&t, t.d[0]) == 0 && sum_of(&t, t.d[1]) == 0, "and its derivatives");
            CHECK_OK(cbx_scope_close(&scope, &err), &err, s->name);
            bench_close(&t);
        }
}

/* Graphs without rows, columns, places or features. */
TEST(zero_graphs)
{
    static const size_t sizes[][4] = { { 0, 3, 2, 5 }, { 3, 3, 0, 5 }, { 3, 3, 2, 0 }, { 0, 0, 0, 0 }, { 4, 0, 0, 3 } };
    static const int32_t index[8];
    for (int g = 0; g < CBX_ALGEBRA_BOOLEAN; g++)
        for (size_t i = 0; i < CBX_LEN(sizes); i++) {
            const cbx_semiring *s = cbx_semiring_get((cbx_algebra)g);
            const size_t rows = sizes[i][0], cols = sizes[i][1], width = sizes[i][2], d = sizes[i][3];
            cbx_err err = CBX_ERR_INIT;
            cbx_scope scope;
            cbx_ell *none = NULL;
            bench t;
            bench_open(&t);
            cbx_scope_open(t.c, &scope);
            CHECK_OK(cbx_ell_create(
                         t.c, &(cbx_ell_source){ sizeof(cbx_ell_source), rows, cols, width, index, NULL, NULL, NULL },
                         &none, &err),
                     &err, "graph");
            cbx_array *v = zeros(&t, 2, rows, width, 0, CBX_F64), *b = zeros(&t, 2, cols, d, 0, CBX_F64),
                      *y = cbx_ell_matmul(t.c, none, v, b, s), *o = cbx_ell_softmax(t.c, none, v);
            cbx_ell_matmul_vjp(t.c, none, v, b, y, zeros(&t, 2, rows, d, 0, CBX_F64), s, t.d);
            CHECK(cbx_array_dim(y, 0) == rows && cbx_array_dim(y, 1) == d, "the product's shape");
            if (width == 0 && rows * d > 0)
                CHECK(sum_of(&t, y) == s->empty * (s->empty == 0 ? 1 : (double)(rows * d)), "rows without places");
            CHECK(sum_of(&t, t.d[0]) == 0 && sum_of(&t, t.d[1]) == 0, "derivatives of nothing");
            CHECK(sum_of(&t, cbx_ell_softmax_vjp(t.c, none, o, v)) == 0, "softmax of nothing");
            CHECK_OK(cbx_scope_close(&scope, &err), &err, s->name);
            cbx_ell_free(none);
            bench_close(&t);
        }
}

TESTS(.seconds = 600)
