/*
 * Compiled functions as a user calls them: traced once for each list of shapes, the same results as
 * without, nested with the other transforms in any order, from several threads, with reasons for
 * what cannot be done.
 */
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "transform_support.h"

#include "calibrax/array/backend.h"
#include "calibrax/base/clock.h"
#include "calibrax/base/pool.h"
#include "calibrax/base/rng.h"
#include "fail_alloc.h"

/* ---- functions ---- */

static int traced;

FN(model) /* (a, b, x) to the sum over x of exp(-(a x)^2) tanh(b x) */
{
    UNUSED;
    cbx_array *ax = cbx_multiply(c, in[0], in[2]), *bx = cbx_multiply(c, in[1], in[2]);
    traced++;
    out[0] = cbx_sum(c, cbx_multiply(c, cbx_exp(c, cbx_negative(c, cbx_square(c, ax))), cbx_tanh(c, bx)), NULL);
    return CBX_OK;
}

FN(softmax) /* of rows */
{
    UNUSED;
    cbx_array *m = cbx_max(c, in[0], CBX_AXIS_KEEP(-1)), *e = cbx_exp(c, cbx_subtract(c, in[0], m));
    out[0] = cbx_divide(c, e, cbx_sum(c, e, CBX_AXIS_KEEP(-1)));
    return CBX_OK;
}

FN(turned) /* (x, y): y^T by x, element by element, and sums of its rows */
{
    UNUSED;
    out[0] = cbx_multiply(c, cbx_matrix_transpose(c, in[1]), in[0]);
    out[1] = cbx_sum(c, out[0], CBX_AXIS(1));
    return CBX_OK;
}

FN(sums_of_unequal) /* of (x, v): x times what is broadcast to it, along its last axis and all */
{
    UNUSED;
    cbx_array *xv = cbx_multiply(c, in[0], in[1]), *first = cbx_slice(c, in[0], -1, 0, 1, 1);
    out[0] = cbx_sum(c, cbx_subtract(c, xv, cbx_index(c, first, 0, 0)), NULL);
    out[1] = cbx_sum(c, cbx_multiply(c, in[0], first), &(const cbx_axes){ .n = 2, .axis = { 0, -1 } });
    out[2] = cbx_min(c, xv, NULL);
    out[3] = cbx_astype(c, cbx_all(c, cbx_less(c, xv, cbx_add_scalar(c, first, 40)), NULL), CBX_F64);
    return CBX_OK;
}

FN(pairs) /* of points x (n, 3), y (m, 3): row sums of exp(-|x_i - y_j|^2 / 2) */
{
    UNUSED;
    cbx_array *d = cbx_subtract(c, cbx_expand_dims(c, in[0], 1), cbx_expand_dims(c, in[1], 0));
    cbx_array *r = cbx_sum(c, cbx_square(c, d), CBX_AXIS(-1));
    out[0] = cbx_sum(c, cbx_exp(c, cbx_multiply_scalar(c, r, -0.5)), CBX_AXIS(1));
    return CBX_OK;
}

FN(total_pairs)
{
    UNUSED;
    cbx_array *rows[1];
    pairs(c, nin, in, 1, rows, user);
    out[0] = cbx_sum(c, rows[0], NULL);
    return CBX_OK;
}

FN(smooth) /* (carry, x): y = 0.9 carry + sin x, both results */
{
    UNUSED;
    out[0] = out[1] = cbx_add(c, cbx_multiply_scalar(c, in[0], 0.9), cbx_sin(c, in[1]));
    return CBX_OK;
}

FN(smoothed) /* (start, xs) */
{
    UNUSED;
    return cbx_scan(c, PLAIN(smooth, 2, 2), 1, in, 1, in + 1, CBX_LENGTH_OF_XS, false, out);
}

FN(smoothed_back)
{
    UNUSED;
    return cbx_scan(c, PLAIN(smooth, 2, 2), 1, in, 1, in + 1, CBX_LENGTH_OF_XS, true, out);
}

FN(grow) /* (i, x) */
{
    UNUSED;
    out[0] = cbx_add(c, cbx_multiply(c, in[1], in[1]), cbx_astype(c, in[0], CBX_F64));
    return CBX_OK;
}

FN(grown)
{
    UNUSED;
    return cbx_fori_loop(c, 0, 5, PLAIN(grow, 2, 1), 1, in, out);
}

FN(halve_while_large)
{
    UNUSED;
    static double limit = 3;
    return cbx_while_loop(c, CBX_FN(below, &limit, 1, 1), PLAIN(wanders, 1, 1), 1, in, out);
}

FN(reads)
{
    UNUSED;
    double v;
    cbx_err err = CBX_ERR_INIT;
    const cbx_status st = cbx_array_read(in[0], &v, sizeof v, &err);
    out[0] = in[0];
    return st;
}

/* ---- comparisons ---- */

static cbx_array *numbers(cbx_ctx *c, int ndim, const size_t *shape, uint64_t seed)
{
    cbx_array_desc d = { CBX_F64, ndim, { 0 } };
    cbx_array *a = NULL;
    cbx_rng rng = cbx_rng_make(seed, 0);
    cbx_err err = CBX_ERR_INIT;

    for (int i = 0; i < ndim; i++) d.shape[i] = shape[i];
    CHECK_OK(cbx_array_create(c, &d, &a, &err), &err, "numbers");
    for (size_t i = 0; i < cbx_array_count(a); i++) ((double *)(uintptr_t)cbx_array_data(a))[i] = cbx_rng_normal(&rng);
    return cbx_scope_hold(c, a);
}

/* The largest difference, in units of the larger of 1 and the number itself. */
static double difference(const char *what, const cbx_array *x, const cbx_array *y)
{
    const size_t bytes = cbx_array_bytes(x), n = cbx_array_count(x);
    double *a = malloc(bytes + 8), *b = malloc(bytes + 8), worst = 0;

    CHECK(cbx_array_desc_equal(cbx_array_get_desc(x), cbx_array_get_desc(y)), what);
    cbx_array_read(x, a, bytes, NULL);
    cbx_array_read(y, b, bytes, NULL);
    for (size_t i = 0; i < n; i++) {
        const double d = fabs(a[i] - b[i]) / fmax(1, fabs(a[i]));
        if (!(d <= worst)) worst = d;
    }
    free(a);
    free(b);
    return worst;
}

enum { RESULTS = 4 };

/* Compiled and not; bits: they are equal. */
static void same(cbx_ctx *c, const char *what, const cbx_fn *f, cbx_array *const *in, double limit)
{
    cbx_array *plain[RESULTS], *compiled[RESULTS], *again[RESULTS];
    cbx_fn *j = NULL;
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_jit(c, f, &j, &err), &err, what);
    cbx_fn_call(c, f, f->nin, in, f->nout, plain);
    cbx_fn_call(c, j, f->nin, in, f->nout, compiled);
    cbx_fn_call(c, j, f->nin, in, f->nout, again);
    if (cbx_ctx_pending(c, &err)) fail_msg("%s: %s", what, err.message);
    for (size_t i = 0; i < f->nout; i++) {
        CHECK_LE(difference(what, plain[i], compiled[i]), limit, what);
        CHECK_LE(difference(what, compiled[i], again[i]), 0, what);
    }
    cbx_fn_free(j);
}

typedef struct given {
    cbx_ctx *c;
    cbx_scope scope;
    cbx_array *a, *b, *x, *rows, *points, *others, *series;
} given;

static void start(given *g)
{
    cbx_ctx *c = g->c = context();

    CHECK_STR(cbx_ctx_backend(c)->name, "jit", "the best backend is the one that compiles");
    cbx_scope_open(c, &g->scope);
    g->a = numbers(c, 0, NULL, 1);
    g->b = numbers(c, 0, NULL, 2);
    g->x = numbers(c, 1, (const size_t[]){ 1003 }, 3);
    g->rows = numbers(c, 2, (const size_t[]){ 37, 65 }, 4);
    g->points = numbers(c, 2, (const size_t[]){ 41, 3 }, 5);
    g->others = numbers(c, 2, (const size_t[]){ 67, 3 }, 6);
    g->series = numbers(c, 2, (const size_t[]){ 50, 23 }, 7);
}

static void end(given *g)
{
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_scope_close(&g->scope, &err), &err, "nothing failed");
    cbx_ctx_free(g->c);
}

TEST(values_are_the_same)
{
    given g;
    start(&g);
    const size_t wide[] = { 521, 300 }; /* past a cache: packed before it is read */
    cbx_array *const large[] = { numbers(g.c, 1, wide, 8), numbers(g.c, 2, wide, 9) };
    same(g.c, "transposed in the function", PLAIN(turned, 2, 2), large, 0);
    cbx_array *const views[] = { numbers(g.c, 1, wide + 1, 8), cbx_matrix_transpose(g.c, large[1]) };
    same(g.c, "transposed twice", PLAIN(turned, 2, 2), views, 0);
    cbx_array *start_row = cbx_index(g.c, g.series, 0, 0);
    same(g.c, "model", PLAIN(model, 3, 1), (cbx_array *const[]){ g.a, g.b, g.x }, 0);
    same(g.c, "softmax", PLAIN(softmax, 1, 1), &g.rows, 0);
    for (size_t width = 2; width < 2000; width = width * 3 / 2 + 1) { /* a tile, less, and more */
        const size_t shape[] = { 3, 4000 / width, width };
        cbx_array *const unequal[] = { numbers(g.c, 3, shape, 10), numbers(g.c, 1, shape + 2, 11) };
        same(g.c, "sums of unequal operands", PLAIN(sums_of_unequal, 2, 4), unequal, 0);
    }
    same(g.c, "transposed softmax", PLAIN(softmax, 1, 1),
         (cbx_array *const[]){ cbx_permute_dims(g.c, g.rows, (const int[]){ 1, 0 }) }, 0);
    same(g.c, "pairs", PLAIN(pairs, 2, 1), (cbx_array *const[]){ g.points, g.others }, 0);
    same(g.c, "scan", PLAIN(smoothed, 2, 2), (cbx_array *const[]){ start_row, g.series }, 0);
    same(g.c, "scan back", PLAIN(smoothed_back, 2, 2), (cbx_array *const[]){ start_row, g.series }, 0);
    same(g.c, "scan of numbers", PLAIN(smoothed, 2, 2), (cbx_array *const[]){ g.a, g.x }, 0);
    same(g.c, "fori_loop", PLAIN(grown, 1, 1), &start_row, 0);
    same(g.c, "while_loop", PLAIN(halve_while_large, 1, 1), &g.a, 0);
    same(g.c, "nothing to do", PLAIN(identity, 1, 1), &g.x, 0);
    end(&g);
}

TEST(it_is_traced_once)
{
    given g;
    start(&g);
    cbx_fn *j = NULL;
    cbx_array *r;
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_jit(g.c, PLAIN(model, 3, 1), &j, &err), &err, "jit");
    traced = 0;
    for (int i = 0; i < 5; i++) cbx_fn_call(g.c, j, 3, (cbx_array *const[]){ g.a, g.b, g.x }, 1, &r);
    CHECK_INT(traced, 1, "for one shape");
    for (int i = 0; i < 5; i++)
        cbx_fn_call(g.c, j, 3, (cbx_array *const[]){ g.a, g.b, cbx_slice(g.c, g.x, 0, 0, 1000, 2) }, 1, &r);
    CHECK_INT(traced, 2, "for another, whatever the strides");
    cbx_fn_call(g.c, j, 3, (cbx_array *const[]){ g.a, g.b, cbx_astype(g.c, g.x, CBX_F32) }, 1, &r);
    CHECK_INT(traced, 3, "for another dtype");
    CHECK_OK(cbx_ctx_set_backend(g.c, cbx_backend_reference(), &err), &err, "a backend that compiles nothing");
    cbx_fn_call(g.c, j, 3, (cbx_array *const[]){ g.a, g.b, g.x }, 1, &r);
    CHECK_INT(traced, 4, "the function itself");
    cbx_fn_free(j);
    end(&g);
}

/* What f becomes by `how`, which is dropped with it. */
#define MADE(var, ...)                                                                                                 \
    cbx_fn *var = NULL;                                                                                                \
    CHECK_OK(__VA_ARGS__, &err, #var)

TEST(transforms_nest)
{
    given g;
    start(&g);
    cbx_ctx *c = g.c;
    cbx_err err = CBX_ERR_INIT;
    cbx_array *const in[] = { g.a, g.b, g.x };
    cbx_array *const two[] = { g.points, g.others };
    const cbx_fn *f = PLAIN(model, 3, 1), *p = PLAIN(total_pairs, 2, 1);

    MADE(grad, cbx_grad(c, f, 3, NULL, &grad, &err));
    same(c, "jit(grad)", grad, in, 0);
    MADE(inner, cbx_jit(c, f, &inner, &err));
    MADE(grad_of_jit, cbx_grad(c, inner, 3, NULL, &grad_of_jit, &err));
    same(c, "jit(grad(jit))", grad_of_jit, in, 0);
    MADE(hessian, cbx_hessian(c, inner, 0, &hessian, &err));
    same(c, "jit(hessian(jit))", hessian, in, 1e-12);
    MADE(both, cbx_value_and_grad(c, p, 2, NULL, &both, &err));
    same(c, "jit(value_and_grad) of pairs", both, two, 1e-14);
    MADE(forward, cbx_jacfwd(c, PLAIN(pairs, 2, 1), 0, &forward, &err));
    same(c, "jit(jacfwd)", forward, two, 1e-14);
    MADE(reverse, cbx_jacrev(c, PLAIN(softmax, 1, 1), 0, &reverse, &err));
    MADE(rows, cbx_vmap(c, reverse, NULL, NULL, &rows, &err));
    same(c, "jit(vmap(jacrev))", rows, &g.rows, 1e-14);
    MADE(mapped, cbx_vmap(c, inner, (const int[]){ CBX_NOT_MAPPED, CBX_NOT_MAPPED, 0 }, NULL, &mapped, &err));
    MADE(mapped_grad,
         cbx_vmap(c, grad_of_jit, (const int[]){ CBX_NOT_MAPPED, CBX_NOT_MAPPED, 0 }, NULL, &mapped_grad, &err));
    same(c, "jit(vmap(jit))", mapped, (cbx_array *const[]){ g.a, g.b, g.rows }, 1e-14);
    same(c, "jit(vmap(grad(jit)))", mapped_grad, (cbx_array *const[]){ g.a, g.b, g.rows }, 1e-14);
    MADE(through, cbx_jacfwd(c, PLAIN(smoothed, 2, 2), 0, &through, &err));
    same(c, "jit(jacfwd(scan))", through, (cbx_array *const[]){ g.a, g.x }, 1e-14);
    cbx_fn *all[] = { grad, inner, grad_of_jit, hessian, both, forward, reverse, rows, mapped, mapped_grad, through };
    for (size_t i = 0; i < CBX_LEN(all); i++) cbx_fn_free(all[i]);
    end(&g);
}

/* ---- memory ---- */

TEST(broadcasts_are_not_stored)
{
    cbx_test_alloc al;
    cbx_test_alloc_init(&al);
    cbx_ctx *c = cbx_test_ctx(&al);
    cbx_err err = CBX_ERR_INIT;
    cbx_scope scope;
    cbx_array *r[2];

    cbx_scope_open(c, &scope);
    const char *asked = getenv("CALIBRAX_TEST_PAIRS");
    const size_t n = asked ? strtoul(asked, NULL, 10) : 3000;
    cbx_array *const in[] = { numbers(c, 2, (const size_t[]){ n, 3 }, 1), numbers(c, 2, (const size_t[]){ n, 3 }, 2) };
    MADE(grad, cbx_value_and_grad(c, PLAIN(total_pairs, 2, 1), 1, NULL, &grad, &err));
    MADE(j, cbx_jit(c, grad, &j, &err));
    cbx_fn_call(c, j, 2, in, 2, r);
    cbx_pool_stats stats;
    cbx_pool_get_stats(cbx_ctx_pool(c), &stats);
    CHECK_LE(stats.bytes_in_use_peak, (size_t)(asked ? 16 : 4) << 20,
             "9 million pairs, 72 MB each time that they are stored; of 65536 points 34 GB");
    cbx_fn_free(grad);
    cbx_fn_free(j);
    CHECK_OK(cbx_scope_close(&scope, &err), &err, "close");
    cbx_ctx_free(c);
    cbx_test_alloc_check(&al, "all is given back");
}

static cbx_status compile_and_run(cbx_ctx *c, void *user)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_scope scope;
    cbx_fn *grad = NULL, *j = NULL, *s = NULL;
    cbx_array *r[4], *in[3], *one[2];
    cbx_status st, closed;

    (void)user;
    cbx_scope_open(c, &scope);
    in[0] = number(c, 2);
    in[1] = number(c, 3);
    in[2] = line(c, 20);
    one[0] = number(c, 1);
    one[1] = in[2];
    st = cbx_value_and_grad(c, PLAIN(model, 3, 1), 3, NULL, &grad, &err);
    if (!st) st = cbx_jit(c, grad, &j, &err);
    if (!st) st = cbx_jit(c, PLAIN(smoothed, 2, 2), &s, &err);
    if (!st) st = cbx_fn_call(c, j, 3, in, 4, r);
    if (!st) st = cbx_fn_call(c, s, 2, one, 2, r);
    cbx_fn_free(grad);
    cbx_fn_free(j);
    cbx_fn_free(s);
    closed = cbx_scope_close(&scope, &err);
    return st ? st : closed;
}

TEST(memory_may_run_out) { cbx_test_fail_each(compile_and_run, NULL, "compiled functions"); }

/* ---- threads ---- */

typedef struct shared {
    cbx_fn *f;
    double want;
    int wrong;
} shared;

static void *call_often(void *user)
{
    shared *s = user;
    cbx_ctx *c = context();
    cbx_err err = CBX_ERR_INIT;
    int wrong = 0;

    for (int i = 0; i < 50; i++) {
        cbx_scope scope;
        cbx_array *r;
        cbx_scope_open(c, &scope);
        cbx_fn_call(c, s->f, 3, (cbx_array *const[]){ number(c, 2), number(c, 3), line(c, 10 + (size_t)i % 3) }, 1, &r);
        if (i % 3 == 0 && at(r, 0) != s->want) wrong++;
        if (cbx_scope_close(&scope, &err)) wrong++;
    }
    __atomic_fetch_add(&s->wrong, wrong, __ATOMIC_RELAXED);
    cbx_ctx_free(c);
    return NULL;
}

TEST(threads_share_a_function)
{
    pthread_t threads[4];
    shared s = { 0 };
    cbx_ctx *c = context();
    cbx_err err = CBX_ERR_INIT;
    cbx_array *r;

    cbx_fn_call(c, PLAIN(model, 3, 1), 3, (cbx_array *const[]){ number(c, 2), number(c, 3), line(c, 10) }, 1, &r);
    s.want = at(r, 0);
    CHECK_OK(cbx_jit(c, PLAIN(model, 3, 1), &s.f, &err), &err, "jit");
    for (size_t i = 0; i < CBX_LEN(threads); i++)
        CHECK_INT(pthread_create(&threads[i], NULL, call_often, &s), 0, "thread");
    for (size_t i = 0; i < CBX_LEN(threads); i++) pthread_join(threads[i], NULL);
    CHECK_INT(s.wrong, 0, "every call");
    cbx_fn_free(s.f);
    cbx_ctx_free(c);
}

FN(many_ways) /* of x (n, m): stored, folded over rows, columns and all, in one step after the other */
{
    UNUSED;
    cbx_array *y = cbx_exp(c, cbx_negative(c, cbx_square(c, in[0])));
    out[0] = cbx_sum(c, y, NULL);
    out[1] = cbx_sum(c, y, CBX_AXIS(0));
    out[2] = cbx_max(c, y, CBX_AXIS(1));
    out[3] = cbx_add(c, y, in[0]);
    return CBX_OK;
}

/* The bits of all results depend on nothing but the operands. */
TEST(any_number_of_threads_gives_the_same)
{
    const int before = omp_get_max_threads();
    given g;
    start(&g);
    cbx_array *x = numbers(g.c, 2, (const size_t[]){ 1201, 1009 }, 9), *one[RESULTS], *many[RESULTS];
    cbx_array *start_row = cbx_index(g.c, x, 0, 0);
    cbx_fn *f = NULL, *s = NULL;
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_jit(g.c, PLAIN(many_ways, 1, 4), &f, &err), &err, "jit");
    CHECK_OK(cbx_jit(g.c, PLAIN(smoothed, 2, 2), &s, &err), &err, "jit");
    for (int threads = 2; threads <= 5; threads++) {
        omp_set_num_threads(1);
        cbx_fn_call(g.c, f, 1, &x, 4, one);
        omp_set_num_threads(threads);
        cbx_fn_call(g.c, f, 1, &x, 4, many);
        for (size_t i = 0; i < 4; i++) CHECK_LE(difference("threads", one[i], many[i]), 0, "the same bits");
    }
    omp_set_num_threads(1);
    cbx_fn_call(g.c, s, 2, (cbx_array *const[]){ start_row, x }, 2, one);
    omp_set_num_threads(3);
    cbx_fn_call(g.c, s, 2, (cbx_array *const[]){ start_row, x }, 2, many);
    for (size_t i = 0; i < 2; i++) CHECK_LE(difference("scan", one[i], many[i]), 0, "the same bits");
    omp_set_num_threads(before);
    cbx_fn_free(f);
    cbx_fn_free(s);
    end(&g);
}

/* ---- what cannot be done ---- */

TEST(refusals_have_reasons)
{
    cbx_ctx *c = context();
    cbx_err err = CBX_ERR_INIT;
    cbx_scope scope;
    cbx_array *r = NULL, *x;
    cbx_text text;

    MADE(j, cbx_jit(c, PLAIN(reads, 1, 1), &j, &err));
    cbx_scope_open(c, &scope);
    x = number(c, 2);
    CHECK(cbx_fn_call(c, j, 1, &x, 1, &r), "a traced value cannot be read");
    CHECK(cbx_array_is_failed(r), "no result");
    CHECK(cbx_scope_close(&scope, &err), "the failure comes out");
    CHECK(strstr(err.message, "reads"), err.message);
    cbx_fn_free(j);

    CHECK_STATUS(cbx_jit(c, &(const cbx_fn){ .name = "empty" }, &j, &err), CBX_EINVAL, "no code");
    cbx_text_init(&text, cbx_ctx_allocator(c));
    CHECK_OK(cbx_ctx_set_backend(c, cbx_backend_reference(), &err), &err, "reference");
    CHECK_STATUS(
        cbx_dump(c, PLAIN(cube, 1, 1), &(const cbx_array_desc){ CBX_F64, 1, { 3 } }, CBX_DUMP_FUSED, &text, &err),
        CBX_EUNSUPPORTED, "nothing is compiled");
    CHECK(strstr(err.message, "jit"), err.message);
    cbx_text_clear(&text);
    cbx_ctx_free(c);
}

FN(power)
{
    UNUSED;
    out[0] = cbx_add(c, cbx_pow(c, in[0], in[1]), in[0]);
    return CBX_OK;
}

/* What only data can show to be wrong is found in compiled functions, too. */
TEST(data_can_be_refused)
{
    cbx_ctx *c = context();
    cbx_err err = CBX_ERR_INIT;
    cbx_scope scope;
    cbx_array *r = NULL;

    MADE(j, cbx_jit(c, PLAIN(power, 2, 1), &j, &err));
    for (int64_t n = 2; n >= -2; n -= 4) {
        cbx_scope_open(c, &scope);
        cbx_fn_call(
            c, j, 2,
            (cbx_array *const[]){ cbx_arange_int(c, 1, 4, 1, CBX_I64), cbx_arange_int(c, n, n + 3, 1, CBX_I64) }, 1,
            &r);
        CHECK_STATUS(cbx_scope_close(&scope, &err), n < 0 ? CBX_EDOM : CBX_OK, "a negative power of an integer");
    }
    cbx_fn_free(j);
    cbx_ctx_free(c);
}

FN(decay) /* (x, y): 0.9999999 x + y, element by element */
{
    UNUSED;
    out[0] = cbx_add(c, cbx_multiply_scalar(c, in[0], 0.9999999), in[1]);
    return CBX_OK;
}
FN(decays) /* (x, y, ys): from x on, as many steps as ys has */
{
    UNUSED;
    return cbx_scan(c, PLAIN(decay, 2, 1), 1, in, 1, in + 1, CBX_LENGTH_OF_XS, false, out);
}
FN(count_on) /* (k, x, y): k + 1, 0.999 x + k y, of a number k and arrays x and y */
{
    UNUSED;
    out[0] = cbx_add_scalar(c, in[0], 1.0);
    out[1] = cbx_add(c, cbx_multiply_scalar(c, in[1], 0.999), cbx_multiply(c, in[0], in[2]));
    out[2] = cbx_multiply_scalar(c, in[0], 2.0);
    return CBX_OK;
}
FN(counted) /* (k, x, ys): the last k and x, and twice each k */
{
    UNUSED;
    return cbx_scan(c, PLAIN(count_on, 3, 3), 2, in, 1, in + 2, CBX_LENGTH_OF_XS, false, out);
}
FN(grow_on) /* (i, x) */
{
    UNUSED;
    out[0] = cbx_add_scalar(c, cbx_multiply_scalar(c, in[1], 0.5), 1.0);
    return CBX_OK;
}
FN(grows)
{
    UNUSED;
    return cbx_fori_loop(c, 0, *(const int64_t *)user, PLAIN(grow_on, 2, 1), 1, in, out);
}

static volatile sig_atomic_t stop;
static void set_stop(int number)
{
    (void)number;
    stop = 1;
}

/* In parts, between which a flag is read; each part begins with the carry of the one before. */
TEST(long_scans_can_be_stopped)
{
    enum { N = 9000000 };
    int64_t steps = 2000000000;
    given g;
    cbx_fn *j = NULL;
    cbx_array *r;
    cbx_err err = CBX_ERR_INIT;
    double x = 0.37;

    start(&g);
    cbx_ctx_set_stop(g.c, &stop);
    cbx_array *const in[] = { number(g.c, x), cbx_sin(g.c, line(g.c, N)) };
    CHECK_OK(cbx_jit(g.c, PLAIN(decays, 2, 1), &j, &err), &err, "jit");
    cbx_fn_call(g.c, j, 2, in, 1, &r);
    const double *y = cbx_array_data(in[1]);
    for (size_t i = 0; i < N; i++) x = x * 0.9999999 + y[i];
    CHECK(at(r, 0) == x, "the same bits in parts");
    cbx_fn_free(j);
    cbx_array *const wide[] = { cbx_sin(g.c, line(g.c, 4096)), cbx_reshape(g.c, cbx_sin(g.c, line(g.c, 2100 * 4096)), 2,
                                                                           (const ptrdiff_t[]){ 2100, 4096 }) };
    same(g.c, "many elements in parts", PLAIN(decays, 2, 1), wide, 0);
    cbx_array *const mixed[] = { number(g.c, 0.5), wide[0], wide[1] };
    same(g.c, "a number that all elements share", PLAIN(counted, 3, 3), mixed, 0);
    CHECK_OK(cbx_scope_close(&g.scope, &err), &err, "nothing failed");
    cbx_scope_open(g.c, &g.scope);
    CHECK_OK(cbx_jit(g.c, CBX_FN(grows, &steps, 1, 1), &j, &err), &err, "jit");
    signal(SIGALRM, set_stop);
    setitimer(ITIMER_REAL, &(const struct itimerval){ .it_value = { .tv_usec = 50000 } }, NULL);
    const uint64_t before = cbx_clock_ns();
    cbx_array *const one[] = { number(g.c, 1) };
    cbx_fn_call(g.c, j, 1, one, 1, &r);
    CHECK(cbx_array_is_failed(r), "stopped");
    CHECK_LE(1e-9 * (double)(cbx_clock_ns() - before), 2, "seconds");
    CHECK_STATUS(cbx_scope_close(&g.scope, &err), CBX_EINTERRUPTED, "stopped");
    CHECK(strstr(err.message, "was interrupted"), err.message);
    stop = 0;
    cbx_fn_free(j);
    cbx_ctx_free(g.c);
}

TEST(stages_can_be_read)
{
    static const struct {
        cbx_dump_kind kind;
        const char *word;
    } stages[] = {
        { CBX_DUMP_GRAPH, "multiply" },      { CBX_DUMP_FUSED, "kernel over (3)" },
        { CBX_DUMP_KERNELS, "mul.float64" }, { CBX_DUMP_C, "double" },
        { CBX_DUMP_LLVM, "fmul" },           { CBX_DUMP_ASSEMBLY, "ret" },
        { CBX_DUMP_SIMPLIFIED, "multiply" }, { CBX_DUMP_PTX, "mul.rn.f64" },
    };
    cbx_ctx *c = context();
    cbx_err err = CBX_ERR_INIT;

    for (size_t i = 0; i < CBX_LEN(stages); i++) {
        cbx_text text;
        cbx_text_init(&text, cbx_ctx_allocator(c));
        CHECK_OK(
            cbx_dump(c, PLAIN(cube, 1, 1), &(const cbx_array_desc){ CBX_F64, 1, { 3 } }, stages[i].kind, &text, &err),
            &err, stages[i].word);
        CHECK(strstr(cbx_text_str(&text), stages[i].word), cbx_text_str(&text));
        cbx_text_clear(&text);
    }
    cbx_ctx_free(c);
}

TESTS(.seconds = 600)
