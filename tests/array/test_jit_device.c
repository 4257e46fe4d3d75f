/*
 * Arrays on a GPU: there and back, operations one by one and compiled, what they share with the
 * CPU, memory, and what is refused. Each on a played device, whose memory the host cannot read, and
 * on a real one.
 */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/array/device/device.h"
#include "calibrax/array/device/internal.h"
#include "calibrax/array/fft.h"
#include "calibrax/array/fn_internal.h"
#include "calibrax/array/io/dlpack.h"
#include "calibrax/array/linalg.h"
#include "calibrax/array/ops.h"
#include "calibrax/array/random.h"
#include "calibrax/array/transform.h"
#include "counted.h"
#include "gpu_played.h"

static const cbx_device_id cpu = { CBX_DEVICE_CPU, 0 }, cuda = { CBX_DEVICE_CUDA, 0 };

/* A context whose compiled functions and GPU 0 are those of the test. */
static cbx_ctx *begin(cbx__gpu *gpu)
{
    cbx_ctx *c = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;

    cbx__gpu_cuda_play(gpu);
    CHECK_OK(cbx_ctx_set_backend(c, cbx_backend_jit(), &err), &err, "backend");
    return c;
}

static void end(cbx_ctx *c, cbx__gpu *gpu)
{
    cbx_ctx_free(c);
    cbx__gpu_cuda_play(NULL);
    (void)cbx__gpu_trim(gpu);
    if (gpu == gpu_played()) CHECK_INT(gpu_played_open(), 0, "blocks and modules that are left");
}

static void same_elements(const cbx_array *x, const cbx_array *y, const char *why)
{
    const cbx_dtype t = cbx_array_dtype(x);
    const size_t bytes = cbx_array_bytes(x), size = cbx_dtype_size(t);
    cbx_err err = CBX_ERR_INIT;

    CHECK(cbx_array_desc_equal(cbx_array_get_desc(x), cbx_array_get_desc(y)), why);
    char *a = malloc(bytes + 1), *b = malloc(bytes + 1);
    CHECK(a && b, "memory");
    CHECK_OK(cbx_array_read(x, a, bytes, &err), &err, why);
    CHECK_OK(cbx_array_read(y, b, bytes, &err), &err, why);
    for (size_t i = 0; i < cbx_array_count(x); i++) {
        double u = 0, v = 0;
        if (memcmp(a + i * size, b + i * size, size) == 0) continue;
        if (t == CBX_F64) memcpy(&u, a + i * size, size), memcpy(&v, b + i * size, size);
        if (u != u && v != v) continue;
        fail_msg("%s: element %zu: %a, not %a", why, i, v, u);
    }
    free(a);
    free(b);
}

/* ---- there and back ---- */

static cbx_array *numbers(cbx_ctx *c, cbx_dtype t, int ndim, const size_t *shape)
{
    size_t n = 1;
    ptrdiff_t to[CBX_MAX_RANK];

    for (int i = 0; i < ndim; i++) n *= shape[i], to[i] = (ptrdiff_t)shape[i];
    return cbx_reshape(c, cbx_astype(c, cbx_add_scalar(c, cbx_arange(c, 0, (double)n, 1, CBX_F64), 0.25), t), ndim, to);
}

static void there_and_back_on(cbx__gpu *gpu)
{
    static const struct {
        int ndim;
        size_t shape[3];
    } shapes[] = { { 0, { 0 } }, { 1, { 7 } }, { 2, { 5, 6 } }, { 3, { 4, 3, 5 } }, { 2, { 0, 4 } } };
    cbx_ctx *c = begin(gpu);
    cbx_err err = CBX_ERR_INIT;

    for (int t = 0; t < CBX_DTYPE_COUNT; t++)
        for (size_t i = 0; i < CBX_LEN(shapes); i++) {
            cbx_scope scope;
            cbx_scope_open(c, &scope);
            cbx_array *x = numbers(c, (cbx_dtype)t, shapes[i].ndim, shapes[i].shape),
                      *there = cbx_to_device(c, x, cuda);
            CHECK(cbx_device_id_equal(cbx_array_device(there), cuda), "there");
            CHECK(cbx_to_device(c, there, cuda) == there, "already there");
            cbx_array *back = cbx_to_device(c, there, cpu);
            CHECK(cbx_device_id_equal(cbx_array_device(back), cpu), "back");
            same_elements(x, back, "there and back");
            same_elements(x, there, "read from there");
            if (shapes[i].ndim == 2 && shapes[i].shape[0]) {
                cbx_array *v = cbx_slice(c, cbx_matrix_transpose(c, x), 0, 5, -7, -2),
                          *w = cbx_slice(c, cbx_matrix_transpose(c, there), 0, 5, -7, -2);
                CHECK(cbx_device_id_equal(cbx_array_device(w), cuda), "a view");
                if (gpu_records(gpu)) cbx_copy(c, w);
                same_elements(v, w, "a view with gaps");
                if (!gpu_records(gpu)) same_elements(v, cbx_copy(c, w), "a copy of a view");
                if (!gpu_records(gpu))
                    same_elements(cbx_reshape(c, v, 1, (const ptrdiff_t[]){ -1 }),
                                  cbx_reshape(c, w, 1, (const ptrdiff_t[]){ -1 }), "a reshaped view");
            }
            CHECK_OK(cbx_scope_close(&scope, &err), &err, "no failure");
        }
    end(c, gpu);
}

/* ---- operations ---- */

typedef cbx_array *unary(cbx_ctx *c, cbx_array *x, cbx_array *y);

#define FUNCTIONS(X)                                                                                                   \
    X(add, cbx_add(c, x, y))                                                                                           \
    X(times_two, cbx_multiply_scalar(c, x, 2))                                                                         \
    X(formula, cbx_exp(c, cbx_negative(c, cbx_multiply(c, x, y))))                                                     \
    X(beyond_formula, cbx_exp(c, cbx_multiply_scalar(c, x, 1e4)))                                                      \
    X(without_formula, cbx_erf(c, x))                                                                                  \
    X(total, cbx_sum(c, x, NULL))                                                                                      \
    X(rows, cbx_sum(c, x, &(cbx_axes){ .n = 1, .axis = { 1 } }))                                                       \
    X(columns, cbx_mean(c, x, &(cbx_axes){ .n = 1, .axis = { 0 } }))                                                   \
    X(largest, cbx_max(c, x, NULL))                                                                                    \
    X(product, cbx_prod(c, x, NULL))                                                                                   \
    X(matrix, cbx_matrix_product(c, x, cbx_reshape(c, y, 2, (const ptrdiff_t[]){ 150, 37 })))                          \
    X(sorted, cbx_sort(c, x, 1, false))                                                                                \
    X(chosen, cbx_where(c, cbx_greater(c, x, y), x, y))                                                                \
    X(row, cbx_subtract(c, x, cbx_slice(c, y, 0, 1, 2, 1)))                                                            \
    X(transposed, cbx_add(c, cbx_matrix_transpose(c, x), cbx_matrix_transpose(c, y)))                                  \
    X(turned, cbx_flip(c, x, 0))                                                                                       \
    X(joined_up, cbx_concat(c, 2, (const cbx_array *[]){ x, y }, 0))                                                   \
    X(as_integers, cbx_astype(c, x, CBX_I32))                                                                          \
    X(lower, cbx_tril(c, x, 0))                                                                                        \
    X(running, cbx_cumulative_sum(c, x, 1))

#define DEFINE(name, formula)                                                                                          \
    static cbx_array *name(cbx_ctx *c, cbx_array *x, cbx_array *y)                                                     \
    {                                                                                                                  \
        (void)y;                                                                                                       \
        return formula;                                                                                                \
    }
FUNCTIONS(DEFINE)

static const struct {
    const char *name;
    unary *f;
} functions[] = {
#define ROW(name, formula) { #name, name },
    FUNCTIONS(ROW)
};

static cbx_status call_function(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    (void)nin, (void)nout;
    out[0] = functions[*(const size_t *)user].f(c, in[0], in[1]);
    return CBX_OK;
}

static void operations_on(cbx__gpu *gpu)
{
    static const size_t shape[] = { 37, 150 };
    cbx_ctx *c = begin(gpu);
    cbx_err err = CBX_ERR_INIT;
    cbx_scope all;

    cbx_scope_open(c, &all);
    cbx_array *x = cbx_divide(
                  c, cbx_subtract(c, numbers(c, CBX_F64, 2, shape), cbx_full(c, 0, NULL, CBX_F64, cbx_float(1234.5))),
                  cbx_full(c, 0, NULL, CBX_F64, cbx_float(777))),
              *y = cbx_flip(c, x, 0), *there[2] = { cbx_to_device(c, x, cuda), cbx_to_device(c, y, cuda) };
    for (size_t i = 0; i < CBX_LEN(functions); i++) {
        cbx_scope scope;
        cbx_fn *compiled = NULL;
        cbx_array *have = NULL;
        cbx_scope_open(c, &scope);
        CHECK_OK(cbx_jit(c, CBX_FN(call_function, &i, 2, 1), &compiled, &err), &err, functions[i].name);
        cbx_array *want = functions[i].f(c, x, y), *eager = functions[i].f(c, there[0], there[1]);
        for (int k = 0; k < 3; k++) { /* both there, one there, again */
            CHECK_OK(cbx_fn_call(c, compiled, 2, (cbx_array *const[]){ there[0], k == 1 ? y : there[1] }, 1, &have),
                     &err, functions[i].name);
            CHECK_OK(cbx_ctx_pending(c, &err), &err, functions[i].name);
            CHECK(cbx_device_id_equal(cbx_array_device(have), cuda), functions[i].name);
            if (!gpu_records(gpu)) same_elements(want, have, functions[i].name);
        }
        CHECK(cbx_device_id_equal(cbx_array_device(eager), cuda), functions[i].name);
        if (!gpu_records(gpu)) same_elements(want, eager, functions[i].name);
        cbx_fn_free(compiled);
        CHECK_OK(cbx_scope_close(&scope, &err), &err, functions[i].name);
    }
    CHECK_OK(cbx_scope_close(&all, &err), &err, "no failure");
    end(c, gpu);
}

/* ---- what is captured ---- */

/* x * big + here, which are captured. */
static cbx_status with_constants(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    cbx_array *const *captured = user;

    (void)nin, (void)nout;
    out[0] = cbx_add(c, cbx_multiply(c, in[0], captured[0]), captured[1]);
    return CBX_OK;
}

static cbx_status step(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    (void)nin, (void)nout;
    out[0] = cbx_add(c, cbx_multiply(c, in[0], *(cbx_array *const *)user), in[1]);
    out[1] = cbx_sum(c, out[0], NULL);
    return CBX_OK;
}

static cbx_status squares(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    (void)nin, (void)nout, (void)user;
    out[0] = cbx_sum(c, cbx_multiply(c, in[0], in[0]), NULL);
    return CBX_OK;
}

static void captured_on(cbx__gpu *gpu)
{
    static const size_t shape[] = { 1000 }, rows[] = { 5, 1000 };
    cbx_ctx *c = begin(gpu);
    cbx_err err = CBX_ERR_INIT;
    cbx_scope all;
    cbx_fn *f = NULL, *g = NULL, *compiled = NULL;

    cbx_scope_open(c, &all);
    cbx_array *x = numbers(c, CBX_F64, 1, shape), *big = cbx_sqrt(c, x), *xs = numbers(c, CBX_F64, 2, rows);
    cbx_array *there = cbx_to_device(c, x, cuda), *out[2];

    /* a constant of the CPU is sent once */
    cbx_array *captured[] = { big, x };
    CHECK_OK(cbx_jit(c, CBX_FN(with_constants, captured, 1, 1), &f, &err), &err, "jit");
    cbx_array *want = cbx_add(c, cbx_multiply(c, x, big), x);
    for (int run = 0; run < 3; run++) {
        const size_t before = gpu_played_uploads();
        CHECK_OK(cbx_fn_call(c, f, 1, &there, 1, out), &err, "a call");
        if (gpu == gpu_played()) CHECK_INT(gpu_played_uploads() - before, run == 0 ? 2 : 0, "constants that are sent");
        if (!gpu_records(gpu)) same_elements(want, out[0], "constants of the CPU");
    }
    cbx_fn_free(f);
    /* one of the device, and an operand of the CPU: the result is there */
    captured[0] = cbx_to_device(c, big, cuda);
    CHECK_OK(cbx_jit(c, CBX_FN(with_constants, captured, 1, 1), &f, &err), &err, "jit");
    CHECK_OK(cbx_fn_call(c, f, 1, &x, 1, out), &err, "a call");
    CHECK(cbx_device_id_equal(cbx_array_device(out[0]), cuda), "a constant of the device");
    if (!gpu_records(gpu)) same_elements(want, out[0], "a constant of the device");
    cbx_fn_free(f);

    /* a scan whose function captured an array of the device */
    for (int on = 0; on < 2; on++) {
        cbx_array *factor = on ? captured[0] : big, *have[2] = { 0 };
        cbx_scan(c, CBX_FN(step, &factor, 2, 2), 1, (cbx_array *const[]){ x }, 1, (cbx_array *const[]){ xs }, 5, false,
                 have);
        CHECK_OK(cbx_ctx_pending(c, &err), &err, "a scan");
        if (on && !gpu_records(gpu)) same_elements(out[0], have[0], "a scan that captured");
        if (on && !gpu_records(gpu)) same_elements(out[1], have[1], "its rows");
        out[0] = have[0], out[1] = have[1];
    }
    /* derivatives */
    CHECK_OK(cbx_grad(c, CBX_FN(squares, NULL, 1, 1), 0, NULL, &g, &err), &err, "grad");
    CHECK_OK(cbx_jit(c, g, &compiled, &err), &err, "jit of grad");
    for (int k = 0; k < 2; k++) {
        CHECK_OK(cbx_fn_call(c, k ? compiled : g, 1, &there, 1, out), &err, "a gradient");
        CHECK(cbx_device_id_equal(cbx_array_device(out[0]), cuda), "a gradient is where its operand is");
        if (!gpu_records(gpu)) same_elements(cbx_multiply_scalar(c, x, 2), out[0], "a gradient");
    }
    cbx_fn_free(g);
    cbx_fn_free(compiled);
    CHECK_OK(cbx_scope_close(&all, &err), &err, "no failure");
    end(c, gpu);
}

#define TWICE(name)                                                                                                    \
    static void name##_a_played_gpu(void **state)                                                                      \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        gpu_needs_llvm();                                                                                              \
        name(gpu_played());                                                                                            \
    }                                                                                                                  \
    static void name##_a_gpu(void **state)                                                                             \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        name(gpu_real());                                                                                              \
    }
TWICE(there_and_back_on)
TWICE(operations_on)

/* ---- lent and borrowed ---- */

static void lent_on(cbx__gpu *gpu)
{
    static const size_t shape[] = { 6, 8 };
    cbx_ctx *c = begin(gpu);
    cbx_err err = CBX_ERR_INIT;
    cbx_scope all;

    cbx_scope_open(c, &all);
    for (int t = 0; t < CBX_DTYPE_COUNT; t++)
        for (int how = 0; how < 3; how++) {
            static const cbx_dl_copy copies[] = { CBX_DL_COPY_IF_NEEDED, CBX_DL_COPY_ALWAYS, CBX_DL_COPY_NEVER };
            cbx_array *x = numbers(c, (cbx_dtype)t, 2, shape), *there = cbx_to_device(c, x, cuda);
            cbx_array *v = cbx_slice(c, x, 1, 7, 0, -3), *w = cbx_slice(c, there, 1, 7, 0, -3), *again = NULL;
            cbx_dl_managed *lent = NULL;
            CHECK_OK(cbx_dlpack_export(c, w, copies[how], &lent, &err), &err, "lent");
            CHECK_INT(lent->tensor.device.type, CBX_DL_CUDA, "device");
            CHECK_INT(lent->tensor.device.id, 0, "device");
            CHECK((lent->tensor.data == cbx_array_data(w)) == (how != 1), "a copy");
            CHECK_OK(cbx_dlpack_import(c, lent, copies[how], &again, &err), &err, "borrowed");
            CHECK(cbx_device_id_equal(cbx_array_device(again), cuda), "borrowed");
            if (!gpu_records(gpu) || how != 1) same_elements(v, again, "lent and borrowed");
            cbx_array *sum = cbx_array_dtype(x) == CBX_BOOL ? cbx_logical_not(c, again) : cbx_add(c, again, again);
            CHECK_OK(cbx_ctx_pending(c, &err), &err, "an operation on it");
            cbx_array_free(again);
            if (!gpu_records(gpu))
                same_elements(cbx_array_dtype(x) == CBX_BOOL ? cbx_logical_not(c, v) : cbx_add(c, v, v), sum,
                              "computed");
        }
    cbx_dl_legacy *old = NULL;
    cbx_array *there = cbx_to_device(c, cbx_zeros(c, 1, shape, CBX_BOOL), cuda), *again = NULL;
    CHECK_OK(cbx_dlpack_export_legacy(c, there, CBX_DL_COPY_NEVER, &old, &err), &err, "the older struct");
    old->tensor.device.id = 99;
    CHECK_STATUS(cbx_dlpack_import_legacy(c, old, CBX_DL_COPY_NEVER, &again, &err), CBX_EINVAL, "no such GPU");
    CHECK_OK(cbx_dlpack_export_legacy(c, there, CBX_DL_COPY_NEVER, &old, &err), &err, "the older struct");
    CHECK_OK(gpu->upload(gpu, old->tensor.data, "\1\0\2", 3, &err), &err, "bools of another kind");
    CHECK_OK(cbx_dlpack_import_legacy(c, old, CBX_DL_COPY_IF_NEEDED, &again, &err), &err, "are made ours");
    bool is[6];
    CHECK_OK(cbx_array_read(again, is, sizeof is, &err), &err, "read");
    CHECK(is[0] && !is[1] && is[2] == true, "1 and 0");
    cbx_array_free(again);
    CHECK_OK(cbx_ctx_set_backend(c, cbx_backend_reference(), &err), &err, "backend");
    CHECK_OK(cbx_dlpack_export_legacy(c, there, CBX_DL_COPY_NEVER, &old, &err), &err, "the older struct");
    CHECK_STATUS(cbx_dlpack_import_legacy(c, old, CBX_DL_COPY_NEVER, &again, &err), CBX_EUNAVAILABLE, "no backend");
    CHECK_STR(err.message, "a DLPack tensor lies on a GPU, where the backend 'reference' does not compute", "in words");
    CHECK_OK(cbx_scope_close(&all, &err), &err, "no failure");
    end(c, gpu);
}

TWICE(captured_on)
TWICE(lent_on)

/* What another library queued on a stream of its own has ended when the memory may be used
 * again. */
static void lent_memory_waits(void **state)
{
    (void)state;
    static const size_t shape[] = { 60000 };
    cbx_ctx *c = begin(gpu_played());
    cbx__gpu_usage *u = cbx__gpu_usage_of(0);
    cbx_err err = CBX_ERR_INIT;

    for (int how = 0; how < 2; how++) {
        cbx_dl_managed *lent = NULL;
        cbx_scope all;
        cbx_scope_open(c, &all);
        cbx_array *there = cbx_to_device(c, cbx_zeros(c, 1, shape, CBX_F64), cuda);
        CHECK_OK(cbx_dlpack_export(c, there, how ? CBX_DL_COPY_ALWAYS : CBX_DL_COPY_NEVER, &lent, &err), &err, "lent");
        CHECK_OK(cbx_scope_close(&all, &err), &err, "no failure");
        CHECK_GT(u->in_use, 479999, "it is still lent");
        const size_t before = gpu_played_waits();
        lent->deleter(lent);
        CHECK_INT(gpu_played_waits() - before, 1, "waits");
        CHECK_INT(u->in_use, 0, "given back");
    }
    end(c, gpu_played());
}

/* ---- reading ---- */

static void gaps_are_not_read(void **state)
{
    (void)state;
    enum { ROWS = 8, COLUMNS = 1 << 18 };
    static const size_t shape[] = { ROWS, COLUMNS };
    static const struct {
        const char *why;
        ptrdiff_t first, end, step;
        bool transposed, copied; /* copied: to the CPU as an array */
        size_t bytes_max;
    } cases[] = {
        { "rows of 16", 32, 48, 1, false, false, ROWS * 16 * 8 },
        { "rows of 16, read from behind", 48, 32, -1, false, false, ROWS * 16 * 8 },
        { "columns of 8", 32, 48, 1, true, false, ROWS * 16 * 8 },
        { "rows of 16 as an array", 32, 48, 1, false, true, ROWS * 16 * 8 },
        { "each 64th", 0, COLUMNS, 64, false, true, ROWS * COLUMNS / 64 * 8 },
        { "each 64th of columns", 0, COLUMNS, 64, true, true, ROWS * COLUMNS / 64 * 8 },
        { "each second", 0, COLUMNS, 2, false, true, ROWS * COLUMNS * 8 },
    };
    cbx_ctx *c = begin(gpu_played());
    cbx_err err = CBX_ERR_INIT;
    cbx_scope all, one;

    gpu_needs_llvm();
    cbx_scope_open(c, &all);
    cbx_array *x = numbers(c, CBX_F64, 2, shape), *there = cbx_to_device(c, x, cuda);
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_scope_open(c, &one);
        cbx_array *v = cbx_slice(c, x, 1, cases[i].first, cases[i].end, cases[i].step),
                  *w = cbx_slice(c, there, 1, cases[i].first, cases[i].end, cases[i].step);
        if (cases[i].transposed) v = cbx_matrix_transpose(c, v), w = cbx_matrix_transpose(c, w);
        const size_t before = gpu_played_downloaded();
        if (cases[i].copied) w = cbx_to_device(c, w, cpu);
        same_elements(v, w, cases[i].why);
        CHECK_LE(gpu_played_downloaded() - before, cases[i].bytes_max, cases[i].why);
        CHECK_OK(cbx_scope_close(&one, &err), &err, cases[i].why);
    }
    CHECK_OK(cbx_scope_close(&all, &err), &err, "no failure");
    end(c, gpu_played());
}

/* ---- kept operations ---- */

/* x + x of n elements: how many modules that loads and unloads. */
static void add_of(cbx_ctx *c, size_t n, size_t loaded, size_t unloaded)
{
    const size_t loads = gpu_played_loads(), unloads = gpu_played_unloads();
    cbx_err err = CBX_ERR_INIT;
    cbx_scope one;

    cbx_scope_open(c, &one);
    cbx_array *there = cbx_to_device(c, cbx_zeros(c, 1, &n, CBX_F64), cuda);
    cbx_add(c, there, there);
    CHECK_OK(cbx_scope_close(&one, &err), &err, "an operation");
    CHECK_INT(gpu_played_loads() - loads, loaded, "modules that are loaded");
    CHECK_INT(gpu_played_unloads() - unloads, unloaded, "modules that are unloaded");
}

static void oldest_operation_makes_space(void **state)
{
    (void)state;
    enum { KEPT = 512 };
    cbx_ctx *c = begin(gpu_played());

    gpu_needs_llvm();
    for (size_t n = 1; n <= KEPT; n++) add_of(c, n, 1, 0);
    add_of(c, 1, 0, 0); /* used again: 2 is the oldest now */
    add_of(c, KEPT + 1, 1, 1);
    add_of(c, 1, 0, 0);
    add_of(c, 2, 1, 1); /* and 3 */
    add_of(c, 4, 0, 0);
    end(c, gpu_played());
}

/* ---- memory ---- */

static void memory_has_a_limit(void **state)
{
    (void)state;
    enum { TOTAL = 1 << 20 };
    static const size_t small[] = { 40000 }, large[] = { 60000 };
    cbx_ctx *c = begin(gpu_played());
    cbx__gpu_usage *u = cbx__gpu_usage_of(0);
    cbx_err err = CBX_ERR_INIT;
    cbx_scope all, one;
    const cbx_device_config half = { CBX_DEVICE_CPU, true, 0.5 };

    gpu_played_total(TOTAL);
    CHECK_OK(cbx_ctx_set_device_config(c, &half, &err), &err, "half of it");
    cbx_scope_open(c, &all);
    cbx_array *x = cbx_to_device(c, cbx_zeros(c, 1, small, CBX_F64), cuda);
    CHECK_OK(cbx_ctx_pending(c, &err), &err, "what fits");
    CHECK_GT(u->in_use, 319999, "is counted");
    const size_t in_use = u->in_use;
    cbx_scope_open(c, &one);
    cbx_to_device(c, cbx_zeros(c, 1, large, CBX_F64), cuda);
    CHECK_STATUS(cbx_scope_close(&one, &err), CBX_ENOMEM, "what does not");
    char want[300];
    snprintf(want, sizeof want,
             "'a played GPU' has no space for 480000 bytes: arrays of this process use %zu of the %d that "
             "CALIBRAX_GPU_MEMORY_FRACTION allows",
             in_use, TOTAL / 2);
    CHECK_STR(err.message, want, "in words");
    cbx_scope_open(c, &one);
    cbx_add(c, x, x);
    CHECK_STATUS(cbx_scope_close(&one, &err), CBX_ENOMEM, "a result that does not fit");
    CHECK_INT(u->in_use, in_use, "nothing is left of it");
    CHECK_OK(cbx_scope_close(&all, &err), &err, "no failure");
    CHECK_INT(u->in_use, 0, "all is given back");
    CHECK_GT(u->kept, 319999, "and kept");
    cbx_scope_open(c, &all); /* what is kept makes space for another size */
    cbx_to_device(c, cbx_zeros(c, 1, large, CBX_F64), cuda);
    CHECK_OK(cbx_scope_close(&all, &err), &err, "another size");
    CHECK_GT(u->peak, 479999, "the most so far");
    gpu_played_total(0);
    end(c, gpu_played());
    CHECK_INT(u->kept, 0, "nothing is kept");
}

/* ---- failures ---- */

static cbx_status use(cbx_ctx *c, void *user)
{
    static const size_t shape[] = { 20, 30 };
    cbx_err err = CBX_ERR_INIT;
    cbx_scope scope;
    cbx_fn *f = NULL;
    cbx_array *out = NULL, *captured[2];
    cbx_status st;
    double sum = 0;

    (void)user;
    cbx_scope_open(c, &scope);
    cbx_array *x = numbers(c, CBX_F64, 2, shape), *there = cbx_to_device(c, x, cuda);
    captured[0] = x, captured[1] = there;
    cbx_array *y = cbx_sum(c, cbx_exp(c, cbx_negative(c, cbx_matrix_transpose(c, there))), NULL);
    st = cbx_jit(c, CBX_FN(with_constants, captured, 1, 1), &f, &err);
    if (!st) st = cbx_fn_call(c, f, 1, &there, 1, &out);
    cbx_fn_free(f);
    if (!st) st = cbx_ctx_pending(c, &err);
    if (!st) st = cbx_array_read(y, &sum, sizeof sum, &err);
    const cbx_status end = cbx_scope_close(&scope, &err);
    if (st || end) CHECK(err.message[0], "a sentence");
    return st ? st : end;
}

static cbx_status use_jit(cbx_ctx *c, void *user)
{
    cbx_err err = CBX_ERR_INIT;
    const cbx_status st = cbx_ctx_set_backend(c, cbx_backend_jit(), &err);
    return st ? st : use(c, user);
}

static void memory_may_end(void **state)
{
    (void)state;
    gpu_needs_llvm();
    cbx__gpu_cuda_play(gpu_played());
    CHECK_GT(cbx_test_fail_each(use_jit, NULL, "arrays on a device"), 50, "it allocates");
    cbx__gpu_cuda_play(NULL);
    CHECK_INT(gpu_played_open(), 0, "blocks and modules that are left");
}

static void the_device_may_fail(void **state)
{
    (void)state;
    size_t calls = 0;

    gpu_needs_llvm();
    for (;; calls++) {
        cbx_ctx *c = begin(gpu_played());
        gpu_played_fail(calls);
        const cbx_status st = use(c, NULL);
        const bool over = gpu_played_fail(SIZE_MAX);
        if (over) CHECK_STATUS(st, CBX_OK, "no call fails");
        cbx_ctx_free(c); /* a block that is not to be had may be one that was kept */
        cbx__gpu_cuda_play(NULL);
        CHECK_INT(gpu_played_open(), 0, "blocks and modules that are left");
        if (over) break;
    }
    CHECK_GT(calls, 10, "calls");
}

static void what_is_refused(void **state)
{
    (void)state;
    static const size_t shape[] = { 4 };
    enum { NO_DEVICE, TRACED, OTHER_BACKEND, ASSIGN, PUT };
    static const struct {
        int how;
        cbx_status status;
        const char *words;
    } cases[] = {
        { NO_DEVICE, CBX_EINVAL, "a GPU's number must be from 0 to 15, got 99" },
        { TRACED, CBX_EINVAL, "'to_device' of a traced array: move the operands before the call" },
        { OTHER_BACKEND, CBX_EUNSUPPORTED,
          "operands of 'add' are on cuda:0, where the backend 'reference' does not compute: bring them to the CPU with "
          "'to_device'" },
        { ASSIGN, CBX_EUNSUPPORTED, "'array_assign' of an array on cuda:0: bring it to the CPU with 'to_device'" },
    };
    cbx_ctx *c = begin(gpu_played());
    cbx_err err = CBX_ERR_INIT;
    cbx_scope all, one;

    cbx_scope_open(c, &all);
    cbx_array *x = numbers(c, CBX_F64, 1, shape), *there = cbx_to_device(c, x, cuda), *abstract = NULL;
    CHECK_OK(cbx_array_create_abstract(c, cbx_array_get_desc(x), &abstract, &err), &err, "abstract");
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_status st = CBX_OK;
        cbx_scope_open(c, &one);
        switch (cases[i].how) {
        case NO_DEVICE: cbx_to_device(c, x, (cbx_device_id){ CBX_DEVICE_CUDA, 99 }); break;
        case TRACED: cbx_to_device(c, abstract, cuda); break;
        case OTHER_BACKEND:
            CHECK_OK(cbx_ctx_set_backend(c, cbx_backend_reference(), &err), &err, "backend");
            cbx_add(c, there, there);
            CHECK_OK(cbx_ctx_set_backend(c, cbx_backend_jit(), NULL), &err, "backend");
            break;
        default: st = cbx_array_assign(c, there, x, &err);
        }
        const cbx_status closed = cbx_scope_close(&one, st ? NULL : &err);
        CHECK_STATUS(st ? st : closed, cases[i].status, cases[i].words);
        if (!strstr(err.message, cases[i].words)) fail_msg("\"%s\" lacks \"%s\"", err.message, cases[i].words);
    }
    cbx_array_free(abstract);
    CHECK_OK(cbx_scope_close(&all, &err), &err, "no failure");
    end(c, gpu_played());
}

TEST_FILE(.seconds = 300)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back_on_a_played_gpu),
        cmocka_unit_test(there_and_back_on_a_gpu),
        cmocka_unit_test(operations_on_a_played_gpu),
        cmocka_unit_test(operations_on_a_gpu),
        cmocka_unit_test(captured_on_a_played_gpu),
        cmocka_unit_test(captured_on_a_gpu),
        cmocka_unit_test(lent_on_a_played_gpu),
        cmocka_unit_test(lent_on_a_gpu),
        cmocka_unit_test(lent_memory_waits),
        cmocka_unit_test(gaps_are_not_read),
        cmocka_unit_test(oldest_operation_makes_space),
        cmocka_unit_test(memory_has_a_limit),
        cmocka_unit_test(memory_may_end),
        cmocka_unit_test(the_device_may_fail),
        cmocka_unit_test(what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
