/*
 * The memory of compiled functions: places that overlap in no step, peaks as the plan says and the
 * pool saw them, calls that allocate nothing, operands whose memory becomes that of results,
 * operands with gaps that are read where they lie.
 */
#include <stdlib.h>
#include <string.h>

#include "transform_support.h"

#include "calibrax/array/backend.h"
#include "calibrax/array/jit/buffers.h"
#include "calibrax/array/trace/cost.h"
#include "calibrax/base/pool.h"
#include "calibrax/base/rng.h"
#include "fail_alloc.h"

/* ---- places ---- */

static void check_places(size_t n, const cbx__span *s, size_t nregions, const cbx__region *r, const char *why)
{
    for (size_t i = 0; i < n; i++) {
        CHECK(s[i].region < nregions && s[i].at % 64 == 0, why);
        CHECK_LE(s[i].at + s[i].bytes, r[s[i].region].bytes, why);
        CHECK_LE(s[i].at + s[i].bytes, r[s[i].region].used, why);
        CHECK(s[i].last < r[s[i].region].until, why);
        for (size_t k = 0; k < i; k++) {
            const bool apart = s[i].at >= s[k].at + s[k].bytes || s[k].at >= s[i].at + s[i].bytes;
            const bool never = s[i].first > s[k].last || s[k].first > s[i].last;
            CHECK(s[i].region != s[k].region || apart || never, why);
        }
    }
}

/* The lowest places that a search over all multiples of 64 finds. */
TEST(places_are_the_lowest)
{
    enum { N = 60, TRIALS = 200 };
    cbx_rng rng = cbx_rng_make(20, 0);

    for (int trial = 0; trial < TRIALS; trial++) {
        cbx__span s[N];
        cbx__region r[3] = { { .bytes = 1000, .until = 9 },
                             { .bytes = 300, .until = 30 },
                             { .bytes = SIZE_MAX, .until = UINT32_MAX } };
        cbx__span *order[N];
        uint32_t first = 0;
        for (size_t i = 0; i < N; i++) {
            first += (uint32_t)cbx_rng_below(&rng, 2);
            s[i] = (cbx__span){ .first = first,
                                .last = first + (uint32_t)cbx_rng_below(&rng, 8),
                                .bytes = cbx_rng_below(&rng, 500) };
        }
        cbx__spans_place(N, s, 3, r, order);
        check_places(N, s, 3, r, "places");
        for (size_t i = 0; i < N; i++) {
            size_t region = 0, at = 0;
            for (bool free = false; !free;) {
                free = s[i].last < r[region].until && at + s[i].bytes <= r[region].bytes;
                if (!free) {
                    region++;
                    at = 0;
                    continue;
                }
                for (size_t k = 0; free && k < N; k++)
                    free = k == i || s[k].last < s[i].last || (s[k].last == s[i].last && k > i) ||
                           s[k].region != region || s[k].first > s[i].last || s[k].bytes == 0 || s[i].bytes == 0 ||
                           s[k].at >= at + s[i].bytes || s[k].at + s[k].bytes <= at;
                at += free ? 0 : 64;
            }
            if (s[i].bytes == 0) continue;
            CHECK_INT(s[i].region, region, "the first region that has one");
            CHECK_INT(s[i].at, at, "the lowest place");
        }
    }
}

/* ---- peaks ---- */

FN(mirrored) /* x (1 + reversed x): an element is read behind the one that is written, so not in its place */
{
    UNUSED;
    out[0] = in[0];
    for (int i = 0; i < *(const int *)user; i++)
        out[0] = cbx_multiply(c, cbx_sin(c, out[0]),
                              cbx_add_scalar(c, cbx_cos(c, cbx_flip(c, cbx_sin(c, out[0]), 0)), 1));
    return CBX_OK;
}
FN(mirrored_sum) /* a small result hosts nothing */
{
    mirrored(c, nin, in, nout, out, user);
    out[0] = cbx_sum(c, out[0], NULL);
    return CBX_OK;
}
FN(between_operations) /* summed up, mirrored, summed up */
{
    const int once = 2;
    const cbx_array *s = cbx_cumulative_sum(c, in[0], 0);
    (void)user;
    mirrored(c, nin, (cbx_array *const[]){ (cbx_array *)(uintptr_t)s }, nout, out, (void *)(uintptr_t)&once);
    out[0] = cbx_cumulative_sum(c, out[0], 0);
    return CBX_OK;
}
FN(scaled)
{
    UNUSED;
    out[0] = cbx_multiply_scalar(c, in[0], 2);
    return CBX_OK;
}
FN(keeps_one) /* the second result is the operand */
{
    UNUSED;
    out[0] = cbx_add(c, in[0], in[1]);
    out[1] = in[1];
    return CBX_OK;
}

static cbx_array *wave(cbx_ctx *c, size_t n)
{
    cbx_array *x = NULL;
    cbx_err err = CBX_ERR_INIT;
    const cbx_array_desc d = { CBX_F64, 1, { n } };
    CHECK_OK(cbx_array_create(c, &d, &x, &err), &err, "an operand");
    for (size_t i = 0; i < n; i++) ((double *)cbx_array_data_mut(x))[i] = (double)(i * 7919 % n) / (double)n;
    return x;
}

static void check_equal(const cbx_array *x, const cbx_array *y, const char *why)
{
    const size_t bytes = cbx_array_bytes(x);
    char *a = malloc(bytes + 1), *b = malloc(bytes + 1);
    CHECK_INT(cbx_array_bytes(y), bytes, why);
    CHECK_STATUS(cbx_array_read(x, a, bytes, NULL), CBX_OK, why);
    CHECK_STATUS(cbx_array_read(y, b, bytes, NULL), CBX_OK, why);
    CHECK(memcmp(a, b, bytes) == 0, why);
    free(a);
    free(b);
}

static const struct {
    const char *why;
    cbx_array_fn f;
    int times;
    bool donated;
    double arrays; /* of the operand's size, at a time */
} peaks[] = {
    { "the result hosts what is stored on the way", mirrored, 2, false, 3 },
    { "of many as of few", mirrored, 12, false, 3 },
    { "in the workspace", mirrored_sum, 12, false, 3 },
    { "two stored values at a time, and the operand no longer", mirrored, 12, true, 2 },
    { "operations beside", between_operations, 0, false, 3 },
    { "in the place of the operand", scaled, 0, true, 1 },
    { "the operand stays", scaled, 0, false, 2 },
};

/* What the program reserves is what the pool hands out; the results are those of single
 * operations. */
TEST(peaks_are_as_planned)
{
    enum { N = 1 << 17 };
    const cbx_array_desc d = { CBX_F64, 1, { N } };

    for (size_t i = 0; i < CBX_LEN(peaks); i++) {
        const cbx_fn f = { peaks[i].why, peaks[i].f, (void *)(uintptr_t)&peaks[i].times, 1, 1, NULL };
        const double bytes = 8 * N;
        cbx_ctx *c = context();
        cbx_err err = CBX_ERR_INIT;
        cbx_cost_program program;
        cbx_pool_stats stats;
        cbx_fn *j = NULL;
        cbx_array *x = wave(c, N), *y = NULL, *want = NULL;
        const void *before = cbx_array_data(x);

        CHECK_OK(cbx_ctx_set_backend(c, cbx_backend_jit(), &err), &err, f.name);
        CHECK_OK(cbx_jit_donate(c, &f, peaks[i].donated, (const size_t[]){ 0 }, &j, &err), &err, f.name);
        CHECK_OK(cbx_cost_compiled(c, j, 1, &d, &program, &err), &err, f.name);
        CHECK(program.peak_bytes >= peaks[i].arrays * bytes && program.peak_bytes < peaks[i].arrays * bytes + 65536,
              f.name);
        CHECK_OK(cbx_fn_run(c, j, 1, &x, 1, &y, &err), &err, f.name);
        cbx_pool_get_stats(cbx_ctx_pool(c), &stats);
        CHECK_LE(program.peak_bytes, stats.bytes_in_use_peak, f.name);
        CHECK_LE(stats.bytes_in_use_peak, 1.25 * program.peak_bytes, f.name); /* blocks are up to a quarter larger */
        CHECK(cbx_array_is_taken(x) == peaks[i].donated, f.name);
        if (peaks[i].f == scaled) CHECK((cbx_array_data(y) == before) == peaks[i].donated, f.name);
        cbx_array_free(x);
        x = wave(c, N);
        CHECK_OK(cbx_fn_run(c, &f, 1, &x, 1, &want, &err), &err, f.name);
        check_equal(y, want, f.name);
        cbx_cost_program_clear(&program);
        cbx_array_free(x);
        cbx_array_free(y);
        cbx_array_free(want);
        cbx_fn_free(j);
        cbx_ctx_free(c);
    }
}

/* From the second call on all memory is that of the first one. */
TEST(calls_allocate_nothing)
{
    static const size_t sizes[] = { 10, 1000, 100000 };
    int times = 5;
    static const struct {
        const char *why;
        cbx_array_fn f;
    } cases[] = { { "kernels", mirrored }, { "a fold", mirrored_sum }, { "one kernel", scaled } };

    for (size_t i = 0; i < CBX_LEN(cases) * CBX_LEN(sizes); i++) {
        const cbx_fn f = { cases[i / 3].why, cases[i / 3].f, &times, 1, 1, NULL };
        cbx_err err = CBX_ERR_INIT;
        cbx_test_alloc al;
        cbx_fn *j = NULL;
        cbx_array *y;
        cbx_scope scope;
        size_t before = 0;

        cbx_test_alloc_init(&al);
        cbx_ctx *c = cbx_test_ctx(&al);
        cbx_array *x = wave(c, sizes[i % 3]);
        CHECK_OK(cbx_ctx_set_backend(c, cbx_backend_jit(), &err), &err, f.name);
        CHECK_OK(cbx_jit(c, &f, &j, &err), &err, f.name);
        for (int call = 0; call < 5; call++) {
            if (call == 2) before = al.calls;
            cbx_scope_open(c, &scope);
            CHECK_STATUS(cbx_fn_call(c, j, 1, &x, 1, &y), CBX_OK, f.name);
            CHECK_OK(cbx_scope_close(&scope, &err), &err, f.name);
        }
        CHECK_INT(al.calls, before, f.name);
        cbx_array_free(x);
        cbx_fn_free(j);
        cbx_ctx_free(c);
        cbx_test_alloc_check(&al, f.name);
    }
}

/* ---- donation ---- */

TEST(only_unshared_operands_are_taken)
{
    enum { N = 1000 };
    cbx_ctx *c = context();
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *j = NULL;
    cbx_array *r[2], *x, *y;
    cbx_scope scope;

    CHECK_OK(cbx_ctx_set_backend(c, cbx_backend_jit(), &err), &err, "the backend");
    CHECK_STATUS(cbx_jit_donate(c, PLAIN(keeps_one, 2, 2), 1, (const size_t[]){ 2 }, &j, &err), CBX_EINVAL,
                 "no operand 2");
    CHECK_STR(err.message, "operand 2 of 'keeps_one' cannot be donated: it has 2", "no operand 2");
    CHECK_OK(cbx_jit_donate(c, PLAIN(keeps_one, 2, 2), 2, (const size_t[]){ 0, 1 }, &j, &err), &err, "both");
    for (size_t n = 5; n <= N; n *= 200) { /* behind the handle; in a block */
        double *values;
        x = wave(c, n);
        y = wave(c, n);
        const void *of_y = cbx_array_data(y);
        CHECK_OK(cbx_fn_run(c, j, 2, (cbx_array *const[]){ x, x }, 2, r, &err), &err, "passed twice");
        CHECK(!cbx_array_is_taken(x), "passed twice");
        for (int i = 0; i < 2; i++) cbx_array_free(r[i]);
        cbx_array *other = cbx_array_ref(x);
        CHECK_OK(cbx_fn_run(c, j, 2, (cbx_array *const[]){ x, y }, 2, r, &err), &err, "one is shared");
        CHECK(!cbx_array_is_taken(x) && cbx_array_is_taken(y), "one is shared");
        CHECK((cbx_array_data(r[1]) == of_y) == (n == N), "the second result is the operand");
        values = cbx_array_data_mut(r[0]);
        CHECK(values[n - 1] == 2 * ((double *)cbx_array_data_mut(x))[n - 1], "the sum");
        for (int i = 0; i < 2; i++) cbx_array_free(r[i]);
        cbx_array_free(other);

        cbx_scope_open(c, &scope);
        CHECK_STATUS(cbx_fn_call(c, j, 2, (cbx_array *const[]){ x, y }, 2, r), CBX_EINVAL, "it has no elements");
        CHECK_STATUS(cbx_scope_close(&scope, &err), CBX_EINVAL, "it has no elements");
        CHECK(strstr(err.message, "was donated to a compiled function: copy it before, or do not donate it"),
              err.message);
        cbx_scope_open(c, &scope);
        CHECK(cbx_array_is_failed(cbx_exp(c, y)), "an operation");
        CHECK_STATUS(cbx_scope_close(&scope, &err), CBX_EINVAL, "an operation");
        CHECK(strstr(err.message, "'exp' of an array of float64 (") == err.message, err.message);
        CHECK_STATUS(cbx_array_read(y, r, sizeof r, &err), CBX_EINVAL, "its elements");
        CHECK(!cbx_array_is_exclusive(y), "a donated array has no owner");
        cbx_array_free(x);
        cbx_array_free(y);
    }
    cbx_fn_free(j);
    cbx_ctx_free(c);
}

/* ---- operands with gaps ---- */

FN(walks) /* whole, backwards, as columns and as another shape; sums along each axis */
{
    UNUSED;
    cbx_array *x = in[0], *y = cbx_multiply(c, x, cbx_flip(c, cbx_sin(c, x), 0)), *columns = cbx_matrix_transpose(c, x);
    out[0] = cbx_subtract(c, y, cbx_flip(c, x, 1));
    out[1] = cbx_sum(c, y, CBX_AXIS(0));
    out[2] = cbx_sum(c, y, CBX_AXIS(1));
    out[3] = cbx_sum(c, y, NULL);
    out[4] = cbx_multiply_scalar(c, columns, 3);
    out[5] = cbx_sqrt(c, cbx_square(c, cbx_reshape(c, x, 1, (const ptrdiff_t[]){ -1 })));
    out[6] = cbx_max(c, cbx_add(c, cbx_slice(c, x, 0, 1, PTRDIFF_MAX, 2), cbx_index(c, x, 0, 0)), CBX_AXIS(1));
    return CBX_OK;
}

enum { WALKS = 7 };

static const struct {
    const char *why;
    ptrdiff_t rows[3], columns[3];
    bool transposed, copied;
} layouts[] = {
    { "some rows", { 3, 200, 1 }, { 0, 400, 1 }, false, false },
    { "some columns", { 0, 250, 1 }, { 3, 300, 1 }, false, false },
    { "every other row", { 0, 250, 2 }, { 0, 400, 1 }, false, false },
    { "rows from the last on", { 249, -251, -3 }, { 1, 400, 1 }, false, false },
    { "every other column", { 0, 250, 1 }, { 0, 400, 2 }, false, true },
    { "columns from the last on", { 0, 250, 1 }, { 399, -401, -1 }, false, true },
    { "rows too short for a loop", { 0, 250, 1 }, { 3, 11, 1 }, false, true },
    { "transposed", { 0, 250, 1 }, { 0, 400, 1 }, true, true },
    { "one column", { 0, 250, 1 }, { 5, 6, 1 }, false, true },
};

static cbx_array *layout_of(cbx_ctx *c, const cbx_array *x, size_t i)
{
    const ptrdiff_t *r = layouts[i].rows, *k = layouts[i].columns;
    cbx_array *v = cbx_slice(c, cbx_slice(c, x, 0, r[0], r[1], r[2]), 1, k[0], k[1], k[2]);
    return layouts[i].transposed ? cbx_matrix_transpose(c, v) : v;
}

static void check_layout(size_t i, const char *why)
{
    cbx_ctx *c = context();
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *once = NULL, *all = NULL;
    cbx_array *x = wave(c, 250 * 400), *y, *plain[WALKS], *compiled[WALKS];
    cbx_pool_stats before, after;
    cbx_scope scope;

    CHECK_OK(cbx_ctx_set_backend(c, cbx_backend_jit(), &err), &err, why);
    CHECK_OK(cbx_jit(c, PLAIN(scaled, 1, 1), &once, &err), &err, why);
    CHECK_OK(cbx_jit(c, PLAIN(walks, 1, WALKS), &all, &err), &err, why);
    cbx_scope_open(c, &scope);
    cbx_array *v = layout_of(c, cbx_reshape(c, x, 2, (const ptrdiff_t[]){ 250, 400 }), i);
    cbx_pool_get_stats(cbx_ctx_pool(c), &before);
    cbx_fn_call(c, once, 1, &v, 1, &y);
    cbx_pool_get_stats(cbx_ctx_pool(c), &after);
    const double arrays = (double)(after.bytes_in_use_peak - before.bytes_in_use) / (double)cbx_array_bytes(v);
    CHECK(layouts[i].copied ? arrays > 1.9 : arrays < 1.5, why); /* blocks are up to a quarter larger */
    check_equal(y, cbx_multiply_scalar(c, v, 2), why);
    cbx_fn_call(c, all, 1, &v, WALKS, compiled);
    walks(c, 1, &v, WALKS, plain, NULL);
    for (size_t k = 0; k < WALKS; k++) check_equal(compiled[k], plain[k], why);
    CHECK_OK(cbx_scope_close(&scope, &err), &err, why);
    cbx_array_free(x);
    cbx_fn_free(once);
    cbx_fn_free(all);
    cbx_ctx_free(c);
}

/* The bits are those of single operations; what a kernel can walk is not copied. */
TEST(operands_may_have_gaps)
{
    for (size_t i = 0; i < CBX_LEN(layouts); i++) check_layout(i, layouts[i].why);
}

FN(twice_one)
{
    (void)user, (void)nin, (void)nout;
    out[0] = cbx_multiply_scalar(c, cbx_index(c, in[0], 0, 7), 2);
    return CBX_OK;
}

TEST(one_point_of_an_operand_with_gaps)
{
    cbx_ctx *c = context();
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *f = NULL;
    cbx_array *x = wave(c, 200000), *y;
    cbx_pool_stats before, after;
    cbx_scope scope;

    CHECK_OK(cbx_ctx_set_backend(c, cbx_backend_jit(), &err), &err, "backend");
    CHECK_OK(cbx_jit(c, PLAIN(twice_one, 1, 1), &f, &err), &err, "jit");
    cbx_scope_open(c, &scope);
    cbx_array *v = cbx_slice(c, x, 0, 1, CBX_OPEN, 2);
    cbx_pool_get_stats(cbx_ctx_pool(c), &before);
    cbx_fn_call(c, f, 1, &v, 1, &y);
    cbx_pool_get_stats(cbx_ctx_pool(c), &after);
    CHECK_LE((double)(after.bytes_in_use_peak - before.bytes_in_use), 0.25 * (double)cbx_array_bytes(v), "no copy");
    check_equal(y, cbx_multiply_scalar(c, cbx_index(c, x, 0, 15), 2), "its value");
    CHECK_OK(cbx_scope_close(&scope, &err), &err, "all of it");
    cbx_array_free(x);
    cbx_fn_free(f);
    cbx_ctx_free(c);
}

FN(mixes) /* five operands; the first two, or all, have gaps */
{
    UNUSED;
    const size_t n = cbx_array_dim(in[0], 0);
    cbx_array *x = cbx_multiply(c, cbx_sin(c, in[0]), in[1]), *at = cbx_arange_int(c, 0, (int64_t)n, 1, CBX_F64);
    out[0] = cbx_subtract(c, x, at);
    out[1] = cbx_multiply(c, cbx_multiply(c, cbx_sqrt(c, cbx_abs(c, in[1])), in[2]), cbx_add(c, in[3], in[4]));
    return CBX_OK;
}

/* Vectors are packed on the way: up to four for a kernel, all of it in blocks and by threads. */
TEST(vectors_may_have_gaps)
{
    static const size_t lengths[] = { 1, 2, 100, 2048, 2049, 5000, 300001 };
    cbx_ctx *c = context();
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *j = NULL;

    CHECK_OK(cbx_ctx_set_backend(c, cbx_backend_jit(), &err), &err, "backend");
    CHECK_OK(cbx_jit(c, PLAIN(mixes, 5, 2), &j, &err), &err, "jit");
    for (size_t i = 0; i < CBX_LEN(lengths); i++)
        for (int all = 0; all < 2; all++) {
            const ptrdiff_t n = (ptrdiff_t)lengths[i];
            cbx_array *x = wave(c, 3 * lengths[i]), *y = wave(c, lengths[i]), *in[5], *r[2], *wanted[2];
            cbx_scope scope;
            cbx_scope_open(c, &scope);
            in[0] = cbx_slice(c, x, 0, 2, CBX_OPEN, 3);
            in[1] = cbx_flip(c, y, 0);
            for (int k = 2; k < 5; k++) in[k] = all ? cbx_slice(c, x, 0, k - 2, 2 * n + k - 2, 2) : y;
            cbx_fn_call(c, j, 5, in, 2, r);
            mixes(c, 5, in, 2, wanted, NULL);
            for (int k = 0; k < 2; k++) check_equal(r[k], wanted[k], all ? "copied" : "packed");
            CHECK_OK(cbx_scope_close(&scope, &err), &err, "all of it");
            cbx_array_free(x);
            cbx_array_free(y);
        }
    cbx_fn_free(j);
    cbx_ctx_free(c);
}

static cbx_status run_gaps(cbx_ctx *c, void *user)
{
    cbx_err err = CBX_ERR_INIT;
    const cbx_array_desc d = { CBX_F64, 2, { 50, 70 } };
    cbx_array *x = NULL, *r[WALKS];
    cbx_scope scope;
    cbx_fn *j = NULL;
    cbx_status st = cbx_ctx_set_backend(c, cbx_backend_jit(), &err);

    (void)user;
    if (!st) st = cbx_jit(c, PLAIN(walks, 1, WALKS), &j, &err);
    if (!st) st = cbx_array_create(c, &d, &x, &err);
    if (st) goto done;
    memset(cbx_array_data_mut(x), 0, cbx_array_bytes(x));
    cbx_scope_open(c, &scope);
    cbx_fn_call(c, j, 1, (cbx_array *const[]){ cbx_slice(c, x, 1, 3, 67, 1) }, WALKS, r);
    st = cbx_scope_close(&scope, &err);
done:
    CHECK(st == CBX_OK || (err.message[0] && !strchr(err.message, '\n')), "one sentence");
    cbx_array_free(x);
    cbx_fn_free(j);
    return st;
}

static cbx_status run_donated(cbx_ctx *c, void *user)
{
    int times = 3;
    cbx_err err = CBX_ERR_INIT;
    const cbx_array_desc d = { CBX_F64, 1, { 3000 } };
    cbx_fn *j = NULL;
    cbx_array *x = NULL, *y = NULL;
    cbx_status st = cbx_ctx_set_backend(c, cbx_backend_jit(), &err);

    (void)user;
    if (!st) st = cbx_jit_donate(c, CBX_FN(mirrored, &times, 1, 1), 1, (const size_t[]){ 0 }, &j, &err);
    if (!st) st = cbx_array_create(c, &d, &x, &err);
    if (!st) memset(cbx_array_data_mut(x), 0, cbx_array_bytes(x));
    if (!st) st = cbx_fn_run(c, j, 1, &x, 1, &y, &err);
    CHECK(st == CBX_OK || (err.message[0] && !strchr(err.message, '\n')), "one sentence");
    cbx_array_free(x);
    cbx_array_free(y);
    cbx_fn_free(j);
    return st;
}

TEST(memory_may_run_out)
{
    cbx_test_fail_each(run_donated, NULL, "a plan");
    cbx_test_fail_each(run_gaps, NULL, "operands with gaps");
}

TESTS(.seconds = 300)
