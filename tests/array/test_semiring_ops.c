/*
 * Products and convolutions of arrays over an algebra: NumPy's answers, derivatives by inner
 * products and finite differences, what is refused, and what a trace sees.
 */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/array/kernels/semiring.h"
#include "calibrax/array/random.h"
#include "calibrax/array/semiring.h"
#include "cases.h"

static const cbx_semiring *algebra(const array_case *k) { return cbx_semiring_get((cbx_algebra)k->attr[0]); }

static void do_matmul(cbx_ctx *c, const array_case *k, cbx_array **out)
{
    cbx_semiring_options o = CBX_SEMIRING_OPTIONS_INIT;
    o.raw = k->attr[1] != 0;
    out[0] = o.raw ? cbx_semiring_matmul_with(c, k->in[0], k->in[1], algebra(k), &o)
                   : cbx_semiring_matmul(c, k->in[0], k->in[1], algebra(k));
}

static void do_merge(cbx_ctx *c, const array_case *k, cbx_array **out)
{
    cbx_semiring_options o = CBX_SEMIRING_OPTIONS_INIT;
    o.merge = k->in[2];
    out[0] = cbx_semiring_matmul_with(c, k->in[0], k->in[1], algebra(k), &o);
}

static void do_mask(cbx_ctx *c, const array_case *k, cbx_array **out)
{
    cbx_semiring_options o = CBX_SEMIRING_OPTIONS_INIT;
    o.mask = k->in[2];
    o.mask_complement = k->attr[1] != 0;
    out[0] = cbx_semiring_matmul_with(c, k->in[0], k->in[1], algebra(k), &o);
}

static void do_vjp(cbx_ctx *c, const array_case *k, cbx_array **out)
{
    const cbx_array *y = cbx_semiring_matmul(c, k->in[0], k->in[1], algebra(k));
    cbx_semiring_matmul_vjp(c, k->in[0], k->in[1], y, k->in[2], algebra(k), out);
}

static cbx_conv_options how(const array_case *k)
{
    cbx_conv_options o = CBX_CONV_INIT;
    o.padding = (cbx_conv_padding)k->attr[1];
    for (int i = 0; i < CBX_CONV_MAX_AXES; i++) {
        o.stride[i] = (size_t)k->attr[i == 0 ? 2 : 3], o.dilation[i] = (size_t)k->attr[i == 0 ? 4 : 5];
        o.low[i] = (size_t)k->attr[6], o.high[i] = (size_t)k->attr[7];
    }
    return o;
}

static void do_conv(cbx_ctx *c, const array_case *k, cbx_array **out)
{
    const cbx_conv_options o = how(k);
    out[0] = cbx_semiring_conv(c, k->in[0], k->in[1], algebra(k), &o);
}

static void do_conv_vjp(cbx_ctx *c, const array_case *k, cbx_array **out)
{
    const cbx_conv_options o = how(k);
    const cbx_array *y = cbx_semiring_conv(c, k->in[0], k->in[1], algebra(k), &o);
    cbx_semiring_conv_vjp(c, k->in[0], k->in[1], y, k->in[2], algebra(k), &o, out);
}

static const case_row rows[] = {
    { "matmul", do_matmul }, { "merge", do_merge }, { "mask", do_mask },
    { "vjp", do_vjp },       { "conv", do_conv },   { "conv_vjp", do_conv_vjp },
};

TEST(numpy_agrees) { cases_agree("semiring.bin", rows, CBX_LEN(rows), 400); }
TEST(the_check_can_fail) { cases_can_fail("semiring.bin", rows, CBX_LEN(rows)); }
TEST(memory_may_end) { cases_survive("semiring.bin", rows, CBX_LEN(rows)); }

/* ---- derivatives ---- */

static double dot(cbx_ctx *c, const cbx_array *x, const cbx_array *y)
{
    double v = NAN;
    cbx_array *s = cbx_sum(c, cbx_multiply(c, x, y), NULL);
    if (!cbx_array_is_failed(s)) cbx_array_read(s, &v, sizeof v, NULL);
    return v;
}

static cbx_array *draw(cbx_ctx *c, uint64_t seed, int n, const size_t *shape)
{
    return cbx_random_normal(c, cbx_random_key(c, seed), n, shape, CBX_F64);
}

/* <g, J v> = <J^T g, v>, and J v is what a small step along v shows (of few elements: no tropical
 * optimum changes on the way).  The second shape is beyond the blocks of derivatives, and ends
 * within each. */
TEST(directions_agree)
{
    static const size_t of_a[][4] = { { 2, 1, 9, 21 }, { 1, 1, 131, 37 } },
                        of_b[][3] = { { 3, 21, 14 }, { 1, 37, 259 } },
                        of_c[][4] = { { 2, 3, 9, 14 }, { 1, 1, 131, 259 } };
    for (int e = 0; e < 2 * CBX_ALGEBRA_BOOLEAN; e++) {
        const int large = e / CBX_ALGEBRA_BOOLEAN;
        const size_t *sa = of_a[large], *sb = of_b[large], *sc = of_c[large];
        const cbx_semiring *s = cbx_semiring_get((cbx_algebra)(e % CBX_ALGEBRA_BOOLEAN));
        cbx_ctx *c = NULL;
        cbx_scope scope;
        cbx_err err = CBX_ERR_INIT;
        CHECK_OK(cbx_ctx_create(NULL, &c, &err), &err, "context");
        cbx_scope_open(c, &scope);
        cbx_array *a = draw(c, 1, 4, sa), *b = draw(c, 2, 3, sb), *ta = draw(c, 3, 4, sa), *tb = draw(c, 4, 3, sb),
                  *h = draw(c, 5, 4, sc), *y = cbx_semiring_matmul(c, a, b, s), *d[2];
        const double step = 1e-6;
        cbx_array *up = cbx_semiring_matmul(c, cbx_add(c, a, cbx_multiply_scalar(c, ta, step)),
                                            cbx_add(c, b, cbx_multiply_scalar(c, tb, step)), s);
        cbx_array *down = cbx_semiring_matmul(c, cbx_add(c, a, cbx_multiply_scalar(c, ta, -step)),
                                              cbx_add(c, b, cbx_multiply_scalar(c, tb, -step)), s);
        cbx_array *ty = cbx_semiring_matmul_jvp(c, a, b, y, ta, tb, s);
        cbx_semiring_matmul_vjp(c, a, b, y, h, s, d);
        const double forward = dot(c, h, ty), backward = dot(c, d[0], ta) + dot(c, d[1], tb);
        const double seen = (dot(c, h, up) - dot(c, h, down)) / (2 * step), size = sqrt(dot(c, h, h) * dot(c, ty, ty));
        CHECK_OK(cbx_ctx_pending(c, &err), &err, s->name);
        CHECK_GT(size, 0, "there is something to compare");
        CHECK_LE(fabs(forward - backward), 1e-12 * size, s->name);
        if (!large) CHECK_LE(fabs(forward - seen), 1e-7 * size, s->name);
        CHECK_GT(fabs(forward - 1.001 * backward), 1e-12 * size, "an error of a thousandth shows");
        cbx_scope_close(&scope, NULL);
        cbx_ctx_free(c);
    }
}

/* The same of a convolution: strides, dilation, every padding, and two images. */
TEST(conv_directions_agree)
{
    static const cbx_conv_options ways[] = {
        { .struct_size = sizeof(cbx_conv_options) },
        { .struct_size = sizeof(cbx_conv_options), .padding = CBX_CONV_SAME, .stride = { 2, 1 }, .dilation = { 1, 2 } },
        { .struct_size = sizeof(cbx_conv_options), .padding = CBX_CONV_EXPLICIT, .low = { 2, 0 }, .high = { 0, 3 } },
    };
    const size_t sx[] = { 2, 7, 6, 3 }, sw[] = { 3, 2, 3, 5 };

    for (size_t i = 0; i < CBX_LEN(ways) * CBX_ALGEBRA_BOOLEAN; i++) {
        const cbx_conv_options *o = &ways[i / CBX_ALGEBRA_BOOLEAN];
        const cbx_semiring *s = cbx_semiring_get((cbx_algebra)(i % CBX_ALGEBRA_BOOLEAN));
        cbx_ctx *c = NULL;
        cbx_scope scope;
        cbx_err err = CBX_ERR_INIT;
        CHECK_OK(cbx_ctx_create(NULL, &c, &err), &err, "context");
        cbx_scope_open(c, &scope);
        cbx_array *x = draw(c, 1, 4, sx), *w = draw(c, 2, 4, sw), *tx = draw(c, 3, 4, sx), *tw = draw(c, 4, 4, sw),
                  *y = cbx_semiring_conv(c, x, w, s, o), *d[2];
        const double step = 1e-6;
        CHECK_OK(cbx_ctx_pending(c, &err), &err, s->name);
        cbx_array *h = draw(c, 5, 4, (const size_t[]){ 2, cbx_array_dim(y, 1), cbx_array_dim(y, 2), 5 });
        cbx_array *up = cbx_semiring_conv(c, cbx_add(c, x, cbx_multiply_scalar(c, tx, step)),
                                          cbx_add(c, w, cbx_multiply_scalar(c, tw, step)), s, o),
                  *down = cbx_semiring_conv(c, cbx_add(c, x, cbx_multiply_scalar(c, tx, -step)),
                                            cbx_add(c, w, cbx_multiply_scalar(c, tw, -step)), s, o),
                  *ty = cbx_semiring_conv_jvp(c, x, w, y, tx, tw, s, o);
        /* a window of padding alone has the empty value, which does not move */
        cbx_array *change = cbx_where(c, cbx_isfinite(c, y), cbx_subtract(c, up, down), cbx_subtract(c, h, h));
        cbx_semiring_conv_vjp(c, x, w, y, h, s, o, d);
        const double forward = dot(c, h, ty), backward = dot(c, d[0], tx) + dot(c, d[1], tw);
        const double seen = dot(c, h, change) / (2 * step), size = sqrt(dot(c, h, h) * dot(c, ty, ty));
        CHECK_OK(cbx_ctx_pending(c, &err), &err, s->name);
        CHECK_GT(size, 0, "there is something to compare");
        CHECK_LE(fabs(forward - backward), 1e-12 * size, s->name);
        CHECK_LE(fabs(forward - seen), 1e-7 * size, s->name);
        CHECK_GT(fabs(forward - 1.001 * backward), 1e-12 * size, "an error of a thousandth shows");
        cbx_scope_close(&scope, NULL);
        cbx_ctx_free(c);
    }
}

/*
 * What is merged is as if its terms stood in the product: a NaN stays beside an infinity, as it
 * does among terms, and as it does where the kernel of plain memory merges.  x, y: a product of one
 * term with 0, and what it is merged with.
 */
TEST(merging_keeps_nan)
{
    static const double odd[] = { 0, 3, INFINITY, NAN };
    const cbx_semiring *s = cbx_semiring_find("euclidean");

    for (int raw = 0; raw < 2; raw++)
        for (size_t i = 0; i < CBX_LEN(odd) * CBX_LEN(odd); i++) {
            double x = odd[i / CBX_LEN(odd)], y = odd[i % CBX_LEN(odd)], zero = 0, seen = -1, plain = -1;
            double work[512] __attribute__((aligned(64)));
            const cbx_array_desc desc = { CBX_F64, 2, { 1, 1 } };
            cbx_semiring_options o = CBX_SEMIRING_OPTIONS_INIT;
            cbx_array *held[3];
            cbx_ctx *c = NULL;
            cbx_scope scope;
            cbx_err err = CBX_ERR_INIT;
            CHECK_OK(cbx_ctx_create(NULL, &c, &err), &err, "context");
            cbx_scope_open(c, &scope);
            for (int q = 0; q < 3; q++) {
                double *const at[] = { &x, &zero, &y };
                CHECK_OK(cbx_array_wrap(c, &desc, NULL, at[q], NULL, NULL, &held[q], &err), &err, "operand");
                held[q] = cbx_scope_hold(c, held[q]);
            }
            o.merge = held[2], o.raw = raw;
            cbx_array *z = cbx_semiring_matmul_with(c, held[0], held[1], s, &o);
            CHECK_OK(cbx_array_read(z, &seen, sizeof seen, &err), &err, "product");
            cbx_matmul p = CBX_MATMUL_INIT;
            p.semiring = s, p.dtype = CBX_F64, p.m = p.n = p.k = p.lda = p.ldb = p.ldc = p.ldd = 1, p.raw = raw;
            p.a = &x, p.b = &zero, p.c = &plain, p.d = &y, p.workspace = work, p.workspace_bytes = sizeof work;
            CHECK_OK(cbx_matmul_define(&p, &err), &err, "definition");
            CHECK(memcmp(&seen, &plain, sizeof seen) == 0 || (isnan(seen) && isnan(plain)), "as the definition");
            CHECK(isnan(seen) == (isnan(x) || isnan(y)), "NaN stays");
            cbx_scope_close(&scope, NULL);
            cbx_ctx_free(c);
        }
}

/* ---- what is refused ---- */

static void start(void *user, size_t n, void *state)
{
    (void)user;
    memset(state, 0, n * 8);
}
static void step(void *user, size_t n, const void *a, const void *b, void *state)
{
    (void)user;
    for (size_t i = 0; i < n; i++) ((uint64_t *)state)[i] ^= *(const uint64_t *)a & ((const uint64_t *)b)[i];
}
static void finish(void *user, size_t n, const void *state, void *c)
{
    (void)user;
    memcpy(c, state, n * 8);
}

typedef struct bench {
    cbx_ctx *c;
    cbx_array *x, *flags, *ints;
    cbx_semiring parity;
} bench;

static void refused(bench *t, int which)
{
    cbx_ctx *c = t->c;
    const cbx_semiring *real = cbx_semiring_find("real"), *log = cbx_semiring_find("log"),
                       *bools = cbx_semiring_find("boolean");
    cbx_semiring_options o = CBX_SEMIRING_OPTIONS_INIT;
    cbx_conv_options v = CBX_CONV_INIT;
    cbx_array *d[2], *wide = cbx_zeros(c, 3, (const size_t[]){ 9, 3, 2 }, CBX_F64);

    switch (which) {
    case 0: cbx_semiring_matmul(c, t->x, NULL, real); break;
    case 1: cbx_semiring_matmul(c, t->x, t->x, NULL); break;
    case 2: cbx_semiring_matmul(c, t->x, cbx_zeros(c, 2, (const size_t[]){ 4, 3 }, CBX_F64), log); break;
    case 3: cbx_semiring_matmul(c, t->x, t->x, bools); break;
    case 4: cbx_semiring_matmul(c, cbx_astype(c, t->x, CBX_C128), t->x, real); break;
    case 5: cbx_semiring_matmul(c, t->x, cbx_zeros(c, 0, NULL, CBX_F64), real); break;
    case 6: cbx_semiring_matmul(c, t->x, t->x, &t->parity); break;
    case 7: o.raw = true, cbx_semiring_matmul_with(c, t->ints, t->ints, &t->parity, &o); break;
    case 8: o.raw = true, cbx_semiring_matmul_with(c, t->x, t->x, log, &o); break;
    case 9: o.mask = t->x, cbx_semiring_matmul_with(c, t->x, t->x, log, &o); break;
    case 10: o.merge = wide, cbx_semiring_matmul_with(c, t->x, t->x, log, &o); break;
    case 11: o.struct_size = 1, cbx_semiring_matmul_with(c, t->x, t->x, log, &o); break;
    case 12: o.merge = t->ints, cbx_semiring_matmul_with(c, t->ints, t->ints, &t->parity, &o); break;
    case 13: cbx_semiring_conv(c, t->x, wide, real, &v); break;
    case 14: cbx_semiring_conv(c, t->x, cbx_zeros(c, 2, (const size_t[]){ 3, 3 }, CBX_F64), real, &v); break;
    case 15: v.padding = (cbx_conv_padding)7, cbx_semiring_conv(c, t->x, wide, real, &v); break;
    case 16: v.padding = CBX_CONV_EXPLICIT, v.low[0] = SIZE_MAX - 1, cbx_semiring_conv(c, t->x, wide, real, &v); break;
    case 17: cbx_semiring_matmul_vjp(c, t->flags, t->flags, t->flags, t->flags, bools, d); break;
    case 18: cbx_semiring_matmul_vjp(c, t->x, t->x, wide, t->x, real, d); break;
    case 19: cbx_semiring_matmul_vjp(c, t->x, t->x, t->x, cbx_astype(c, t->x, CBX_F32), real, d); break;
    case 20: cbx_semiring_matmul_jvp(c, t->x, t->x, t->x, t->x, wide, real); break;
    case 21: cbx_semiring_matmul_vjp(c, t->x, t->x, t->x, t->x, &t->parity, d); break;
    case 22: cbx_semiring_conv_jvp(c, t->x, wide, t->x, t->x, wide, real, &v); break;
    default: cbx_semiring_conv(c, t->ints, wide, &t->parity, &v);
    }
}

TEST(bad_input)
{
    static const struct {
        cbx_status status;
        const char *words;
    } cases[] = {
        { CBX_EINVAL, "NULL" },
        { CBX_EINVAL, "cbx_semiring_find" },
        { CBX_ESHAPE, "cannot join" },
        { CBX_EDTYPE, "takes bool" },
        { CBX_EDTYPE, "complex128" },
        { CBX_ESHAPE, "does not take scalars" },
        { CBX_EDTYPE, "uint64" },
        { CBX_EINVAL, "only euclidean" },
        { CBX_EINVAL, "only euclidean" },
        { CBX_EDTYPE, "mask" },
        { CBX_ESHAPE, "broadcast" },
        { CBX_EINVAL, "cbx_semiring_options" },
        { CBX_EINVAL, "cannot be merged" },
        { CBX_ESHAPE, "larger than the padded" },
        { CBX_ESHAPE, "channels" },
        { CBX_EINVAL, "cbx_conv_padding" },
        { CBX_EOVERFLOW, "address space" },
        { CBX_EDTYPE, "no derivative" },
        { CBX_ESHAPE, "cannot join" },
        { CBX_EDTYPE, "float32" },
        { CBX_ESHAPE, "tangent" },
        { CBX_EINVAL, "no derivative" },
        { CBX_ESHAPE, "padded length" },
        { CBX_EDTYPE, "uint64" },
    };
    static const cbx_semiring_functions f = { CBX_U64, 8, NULL, start, step, finish };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const cbx_array_desc d = { CBX_U64, 2, { 3, 3 } };
        cbx_err err = CBX_ERR_INIT;
        cbx_scope scope;
        bench t = { 0 };
        CHECK_OK(cbx_ctx_create(NULL, &t.c, &err), &err, "context");
        CHECK_OK(cbx_semiring_define("parity", &f, &t.parity, &err), &err, "parity");
        cbx_scope_open(t.c, &scope);
        t.x = cbx_zeros(t.c, 2, d.shape, CBX_F64);
        t.flags = cbx_zeros(t.c, 2, d.shape, CBX_BOOL);
        t.ints = cbx_zeros(t.c, 2, d.shape, CBX_U64);
        refused(&t, (int)i);
        CHECK_STATUS(cbx_scope_close(&scope, &err), cases[i].status, cases[i].words);
        if (!strstr(err.message, cases[i].words))
            fail_msg("case %zu: '%s' without '%s'", i, err.message, cases[i].words);
        cbx_ctx_free(t.c);
    }
}

/* An algebra given by functions on arrays, stacked; and shapes without data for those that are
 * primitives. */
TEST(functions_and_traces)
{
    static const cbx_semiring_functions f = { CBX_U64, 8, NULL, start, step, finish };
    const uint64_t x[] = { 1, 2, 3, 4 }, y[] = { 1, 3, 7, 6 };
    const cbx_array_desc d = { CBX_U64, 2, { 2, 2 } }, sa = { CBX_F32, 3, { 5, 4, 3 } }, sb = { CBX_F64, 2, { 3, 7 } };
    uint64_t seen[8] = { 0 };
    cbx_semiring parity;
    cbx_ctx *c = cbx_test_context();
    cbx_scope scope;
    cbx_err err = CBX_ERR_INIT;
    cbx_array *aa = NULL, *ab = NULL;

    CHECK_OK(cbx_semiring_define("parity", &f, &parity, &err), &err, "parity");
    cbx_scope_open(c, &scope);
    cbx_array *a = cbx_asarray(c, &d, x), *b = cbx_asarray(c, &d, y);
    cbx_array *two = cbx_stack(c, 2, (const cbx_array *const[]){ a, b }, 0);
    cbx_array *r = cbx_semiring_matmul(c, two, b, &parity);
    CHECK_OK(cbx_array_read(r, seen, sizeof seen, &err), &err, "read");
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < 2; j++) {
            CHECK_INT(seen[2 * i + j], (x[2 * i] & y[j]) ^ (x[2 * i + 1] & y[2 + j]), "the first of the stack");
            CHECK_INT(seen[4 + 2 * i + j], (y[2 * i] & y[j]) ^ (y[2 * i + 1] & y[2 + j]), "the second");
        }
    CHECK_OK(cbx_array_create_abstract(c, &sa, &aa, &err), &err, "abstract");
    CHECK_OK(cbx_array_create_abstract(c, &sb, &ab, &err), &err, "abstract");
    r = cbx_semiring_matmul(c, aa, ab, cbx_semiring_find("log"));
    CHECK(cbx_array_is_abstract(r) && cbx_array_dtype(r) == CBX_F64, "a shape comes of shapes");
    CHECK(cbx_array_dim(r, 0) == 5 && cbx_array_dim(r, 1) == 4 && cbx_array_dim(r, 2) == 7, "the right one");
    CHECK_OK(cbx_scope_close(&scope, &err), &err, "nothing failed");
    cbx_array_free(aa);
    cbx_array_free(ab);
    cbx_ctx_free(c);
}

/* A stack of small products, shared by threads a matrix each, is each of them alone, bit
 * for bit. */
TEST(stacks_are_their_products)
{
    for (int g = 0; g < CBX_ALGEBRA_BOOLEAN; g++) {
        const cbx_semiring *s = cbx_semiring_get((cbx_algebra)g);
        cbx_ctx *c = NULL;
        cbx_scope scope;
        cbx_err err = CBX_ERR_INIT;
        double all[70][40][41], one[40][41];
        CHECK_OK(cbx_ctx_create(NULL, &c, &err), &err, "context");
        cbx_scope_open(c, &scope);
        cbx_array *a = draw(c, 1, 3, (const size_t[]){ 70, 40, 33 }),
                  *b = draw(c, 2, 3, (const size_t[]){ 70, 33, 41 });
        CHECK_OK(cbx_array_read(cbx_semiring_matmul(c, a, b, s), all, sizeof all, &err), &err, s->name);
        for (int i = 0; i < 70; i += 23) {
            cbx_array *y = cbx_semiring_matmul(c, cbx_index(c, a, 0, i), cbx_index(c, b, 0, i), s);
            CHECK_OK(cbx_array_read(y, one, sizeof one, &err), &err, s->name);
            CHECK(memcmp(one, all[i], sizeof one) == 0, s->name);
        }
        CHECK_OK(cbx_scope_close(&scope, &err), &err, s->name);
        cbx_ctx_free(c);
    }
}

/* An array of the elements of x that lies as its transpose does, in steps of 2. */
static cbx_array *with_gaps(cbx_ctx *c, const cbx_array *x)
{
    const size_t m = cbx_array_dim(x, 0);
    const cbx_array *t = cbx_copy(c, cbx_matrix_transpose(c, x)), *twice = cbx_repeat(c, t, 2, 1);

    return cbx_matrix_transpose(c, cbx_slice(c, twice, 1, 0, 2 * (ptrdiff_t)m, 2));
}

/* A product has the same bits for every layout of its operands: compiled code copies some of them
 * into another layout. */
TEST(strides_do_not_change_bits)
{
    static const size_t extents[] = { 1, 2, 3, 5, 8, 9, 10, 17, 31, 33, 70, 130, 600 };
    static const cbx_algebra algebras[] = { CBX_ALGEBRA_REAL, CBX_ALGEBRA_LOG, CBX_ALGEBRA_EUCLIDEAN };
    const size_t n = CBX_LEN(extents);
    cbx_ctx *c = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;

    for (size_t i = 0; i < n * n * n; i++)
        for (size_t how = 0; how < 2 * CBX_LEN(algebras); how++) {
            const size_t a_shape[] = { extents[i % n], extents[i / n % n] },
                         b_shape[] = { a_shape[1], extents[i / n / n] };
            const cbx_semiring *s = cbx_semiring_get(algebras[how / 2]);
            const cbx_dtype t = how % 2 ? CBX_F32 : CBX_F64;
            cbx_scope scope;
            if ((double)a_shape[0] * (double)a_shape[1] * (double)b_shape[1] > (how < 2 ? 2e6 : 1e5)) continue;
            cbx_scope_open(c, &scope);
            cbx_array *a = cbx_random_normal(c, cbx_random_key(c, i), 2, a_shape, t),
                      *b = cbx_random_normal(c, cbx_random_key(c, i + 10000), 2, b_shape, t);
            const cbx_array *as[] = { a, with_gaps(c, a) }, *bs[] = { b, with_gaps(c, b) }, *want = NULL;
            for (int k = 0; k < 4; k++) {
                const cbx_array *y = how < 2 ? cbx_matrix_product(c, as[k % 2], bs[k / 2])
                                             : cbx_semiring_matmul(c, as[k % 2], bs[k / 2], s);
                CHECK_OK(cbx_ctx_pending(c, &err), &err, "a product");
                if (k == 0) want = y;
                if (memcmp(cbx_array_data(y), cbx_array_data(want), cbx_array_bytes(y)) != 0)
                    fail_msg("%s of (%zu, %zu) and (%zu, %zu), %s: other bits with gaps in %s", s->name, a_shape[0],
                             a_shape[1], b_shape[0], b_shape[1], cbx_dtype_name(t),
                             k == 1   ? "A"
                             : k == 2 ? "B"
                                      : "both");
            }
            CHECK_OK(cbx_scope_close(&scope, &err), &err, "no failure");
        }
    cbx_ctx_free(c);
}

TESTS()
