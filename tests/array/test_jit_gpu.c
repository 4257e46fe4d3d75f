/* Nests on GPUs: random kernels on a played device and on a real one against the interpreter, and
 * what is refused. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "calibrax/array/fn_internal.h"
#include "calibrax/array/jit/program_gpu.h"
#include "calibrax/array/ops.h"
#include "calibrax/array/trace/simplify.h"
#include "calibrax/array/trace/trace.h"
#include "counted.h"
#include "gpu_played.h"
#include "kernels_random.h"

static char folder[64];

/* ---- the same bits ---- */

static void compare(cbx__gpu *gpu, size_t n)
{
    const char *report, *count = getenv("CBX_TEST_KERNELS");
    const cbx__emitter *emitter = gpu_emitter(gpu);

    if (count) n = strtoul(count, NULL, 10);
    CHECK(!kernels_differ(ctx, emitter, &cbx__emitter_interpreter, KERNELS_ALL, 1, n, &report), report);
    if (gpu_records(gpu)) return;
    CHECK_GT(gpu_emitter_ran() * 2, n / 2, "kernels that ran there");
    CHECK_GT(gpu_emitter_left(), 0, "kernels that did not");
}

static void kernels_on_a_played_gpu_give_the_same_bits(void **state)
{
    (void)state;
    gpu_needs_llvm();
    compare(gpu_played(), 300);
    CHECK_INT(gpu_played_open(), 0, "blocks and modules that are left");
}

static void kernels_on_a_gpu_give_the_same_bits(void **state)
{
    (void)state;
    compare(gpu_real(), 300);
}

/* ---- folds of every shape of tree ---- */

typedef struct fold_case {
    int ndim;
    size_t shape[3];
    unsigned gone;
    cbx_dtype dtype;
    const char *why;
    bool zeros; /* of either sign */
} fold_case;

static const fold_case fold_cases[] = {
    { 1, { 1 }, 1, CBX_F64, "one element" },
    { 1, { 7 }, 1, CBX_F64, "fewer than the sums" },
    { 1, { 128 }, 1, CBX_F64, "a leaf" },
    { 1, { 129 }, 1, CBX_F64, "two leaves" },
    { 1, { 1000 }, 1, CBX_F64, "leaves at different heights" },
    { 1, { 8191 }, 1, CBX_F32, "less than a chunk of converted elements" },
    { 1, { 30011 }, 1, CBX_F32, "chunks, the last one shorter" },
    { 1, { 100003 }, 1, CBX_F64, "ten levels" },
    { 1, { 20000 }, 1, CBX_U8, "integers" },
    { 1, { 20000 }, 1, CBX_I16, "integers with a sign" },
    { 2, { 37, 1003 }, 2, CBX_F64, "rows" },
    { 2, { 1003, 37 }, 1, CBX_F64, "columns" },
    { 2, { 9001, 5 }, 1, CBX_F32, "columns in chunks" },
    { 3, { 5, 331, 7 }, 5, CBX_F64, "around a dimension that stays" },
    { 3, { 23, 11, 37 }, 2, CBX_F32, "between dimensions that stay" },
    { 3, { 19, 13, 17 }, 7, CBX_F64, "of three dimensions" },
    { 2, { 41, 1003 }, 2, CBX_F64, "zeros of both signs", true },
    { 2, { 0, 5 }, 1, CBX_F64, "of nothing" },
    { 2, { 5, 0 }, 1, CBX_F64, "to nothing" },
};

/* sum, mean-like square, extremes with and without NaN, any, of one operand. */
static cbx_status fold_all(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    const fold_case *f = user;
    cbx_axes axes = { 0 };

    (void)nin, (void)nout;
    for (int i = 0; i < f->ndim; i++)
        if (f->gone >> i & 1) axes.axis[axes.n++] = i;
    const bool some = cbx_array_count(in[0]) > 0;
    cbx_array *big = cbx_greater(c, in[0], cbx_full(c, 0, NULL, f->dtype, ((cbx_scalar){ CBX_I64, { .i = 100 } })));
    out[0] = cbx_sum(c, in[0], &axes);
    out[1] = cbx_sum(c, cbx_multiply(c, in[0], in[0]), &axes);
    out[2] = some ? cbx_max(c, in[0], &axes) : out[0];
    out[3] = some ? cbx_min(c, in[0], &axes) : out[0];
    out[4] = some ? cbx_nanmax(c, in[0], &axes) : out[0];
    out[5] = cbx_any(c, big, &axes);
    out[6] = cbx_all(c, big, &axes);
    return CBX_OK;
}

enum { FOLDS = 7 };

static cbx_array *fold_operand(const fold_case *f, bool specials)
{
    const cbx_array_desc desc = { f->dtype, f->ndim, { f->shape[0], f->shape[1], f->shape[2] } };
    cbx_rng r = cbx_rng_make(7, 0);
    cbx_array *a = NULL;
    cbx_err err;

    CHECK_OK(cbx_array_create(ctx, &desc, &a, &err), &err, f->why);
    for (size_t i = 0; i < cbx_array_count(a); i++) {
        const uint64_t draw = cbx_rng_u64(&r);
        double x = ((double)(draw >> 11) * 0x1p-53 - 0.5) * 300;
        if (specials && draw % 97 == 0) x = draw & 128 ? NAN : -0.0;
        if (specials && draw % 89 == 0) x = 0;
        if (f->zeros) x = draw & 64 ? -0.0 : 0;
        void *to = (char *)cbx_array_data_mut(a) + i * cbx_dtype_size(f->dtype);
        if (f->dtype == CBX_F64)
            memcpy(to, &x, sizeof x);
        else if (f->dtype == CBX_F32)
            memcpy(to, &(float){ (float)x }, sizeof(float));
        else
            memcpy(to, &draw, cbx_dtype_size(f->dtype));
    }
    return a;
}

static void same_bits(const cbx_array *x, const cbx_array *y, const char *why)
{
    const cbx_dtype t = cbx_array_dtype(x);
    const size_t size = cbx_dtype_size(t);

    CHECK_INT(cbx_array_count(x), cbx_array_count(y), why);
    for (size_t i = 0; i < cbx_array_count(x); i++) {
        const char *a = (const char *)cbx_array_data(x) + i * size, *b = (const char *)cbx_array_data(y) + i * size;
        double u = 0, v = 0;
        float s = 0, w = 0;
        if (memcmp(a, b, size) == 0) continue;
        if (t == CBX_F64) memcpy(&u, a, size), memcpy(&v, b, size);
        if (t == CBX_F32) memcpy(&s, a, size), memcpy(&w, b, size), u = (double)s, v = (double)w;
        if (u != u && v != v) continue;
        fail_msg("%s: element %zu of %s: %a, not %a", why, i, cbx_dtype_name(t), v, u);
    }
}

static cbx__program *program_of(const cbx_fn *f, const cbx_array_desc *descs, cbx__graph **simple, const char *why)
{
    cbx__traced traced = { 0 };
    cbx__program *p = NULL;
    cbx_err err;

    CHECK_OK(cbx__trace_fn(ctx, f, descs, &traced, &err), &err, why);
    CHECK_OK(cbx__graph_simplify(ctx, traced.graph, simple, &err), &err, why);
    cbx__traced_clear(&traced);
    CHECK_OK(cbx__program_create(ctx, *simple, NULL, &p, &err), &err, why);
    return p;
}

static void fold_on(cbx__gpu *gpu)
{
    for (size_t i = 0; i < 2 * CBX_LEN(fold_cases); i++) {
        const fold_case *f = &fold_cases[i / 2];
        cbx_array *in = fold_operand(f, i % 2), *want[FOLDS] = { 0 }, *have[FOLDS] = { 0 };
        cbx__graph *simple = NULL;
        cbx_err err;
        cbx__program *p = program_of(CBX_FN(fold_all, (void *)(uintptr_t)f, 1, FOLDS), cbx_array_get_desc(in), &simple,
                                     f->why);
        CHECK_OK(cbx__program_run(ctx, p, NULL, &in, want, &err), &err, f->why);
        const cbx__gpu_nests *nests;
        CHECK_OK(cbx__program_nests(ctx, p, gpu, &nests, &err), &err, f->why);
        if (!gpu_records(gpu)) CHECK_OK(cbx__program_run(ctx, p, gpu, &in, have, &err), &err, f->why);
        for (size_t k = 0; k < FOLDS && !gpu_records(gpu); k++) same_bits(want[k], have[k], f->why);
        cbx__arrays_free(FOLDS, want);
        cbx__arrays_free(FOLDS, have);
        cbx__program_free(p);
        cbx__graph_unref(simple);
        cbx_array_free(in);
    }
}

static void folds_on_a_played_gpu_give_the_same_bits(void **state)
{
    (void)state;
    const size_t before = gpu_played_launches();

    gpu_needs_llvm();
    fold_on(gpu_played());
    CHECK_GT(gpu_played_launches() - before, 2 * CBX_LEN(fold_cases), "launches");
    CHECK_INT(gpu_played_open(), 0, "blocks and modules that are left");
}

static void folds_on_a_gpu_give_the_same_bits(void **state)
{
    (void)state;
    fold_on(gpu_real());
}

/* ---- comparisons with NaN ---- */

/* Of values that are never below 0, and of negative ones, with constants on either side of 0. */
static cbx_status compare_all(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    static const double to[] = { -0.75, 0, 0.75 };
    cbx_array *x = in[0], *big = cbx_abs(c, x), *square = cbx_multiply(c, x, x), *root = cbx_sqrt(c, x);
    cbx_array *const values[] = { big, square, root, cbx_negative(c, big), cbx_add_scalar(c, square, 1) };
    size_t n = 0;

    (void)nin, (void)user;
    for (size_t v = 0; v < CBX_LEN(values); v++)
        for (size_t k = 0; k < CBX_LEN(to) && n + 3 <= nout; k++) {
            out[n++] = cbx_greater_scalar(c, values[v], to[k]);
            out[n++] = cbx_less_scalar(c, values[v], to[k]);
            out[n++] = cbx_greater_equal(c, values[v], cbx_full_like(c, values[v], cbx_float(to[k])));
        }
    return CBX_OK;
}

static void comparisons_on(cbx__gpu *gpu)
{
    enum { RESULTS = 45 };
    static const double specials[] = { NAN, -NAN, 0, -0.0, 1, -1, INFINITY, -INFINITY };

    for (int t = CBX_F32; t <= CBX_F64; t++) {
        const cbx_array_desc d = { (cbx_dtype)t, 1, { CBX_LEN(specials) } };
        cbx_array *in = NULL, *want[RESULTS] = { 0 }, *have[RESULTS] = { 0 };
        const cbx__gpu_nests *nests = NULL;
        cbx__graph *simple = NULL;
        cbx_err err;
        CHECK_OK(cbx_array_create(ctx, &d, &in, &err), &err, "an operand");
        for (size_t i = 0; i < CBX_LEN(specials); i++) {
            if (t == CBX_F64) ((double *)cbx_array_data_mut(in))[i] = specials[i];
            if (t == CBX_F32) ((float *)cbx_array_data_mut(in))[i] = (float)specials[i];
        }
        cbx__program *p = program_of(CBX_FN(compare_all, NULL, 1, RESULTS), &d, &simple, "comparisons");
        CHECK_OK(cbx__program_run(ctx, p, NULL, &in, want, &err), &err, "on the CPU");
        CHECK_OK(cbx__program_nests(ctx, p, gpu, &nests, &err), &err, "nests");
        CHECK_STR(nests->why, "", "why not");
        if (!gpu_records(gpu)) {
            CHECK_OK(cbx__program_run(ctx, p, gpu, &in, have, &err), &err, "there");
            for (size_t k = 0; k < RESULTS; k++) same_bits(want[k], have[k], "a comparison");
        }
        cbx__arrays_free(RESULTS, want);
        cbx__arrays_free(RESULTS, have);
        cbx__program_free(p);
        cbx__graph_unref(simple);
        cbx_array_free(in);
    }
}

static void comparisons_on_a_played_gpu_see_nan(void **state)
{
    (void)state;
    gpu_needs_llvm();
    comparisons_on(gpu_played());
}

static void comparisons_on_a_gpu_see_nan(void **state)
{
    (void)state;
    comparisons_on(gpu_real());
}

/* The first test: LLVM is not loaded yet. */
static void without_llvm_the_cpu_runs(void **state)
{
    (void)state;
    const fold_case *f = &fold_cases[4];
    const char *was = getenv("CALIBRAX_LLVM");
    const size_t before = gpu_played_launches();
    cbx_array *in = fold_operand(f, true), *want[FOLDS] = { 0 }, *have[FOLDS] = { 0 };
    const cbx__gpu_nests *nests = NULL;
    cbx__graph *simple = NULL;
    cbx_err err;
    cbx__program *p = program_of(CBX_FN(fold_all, (void *)(uintptr_t)f, 1, FOLDS), cbx_array_get_desc(in), &simple,
                                 f->why);

    setenv("CALIBRAX_LLVM", "libnowhere.so", 1);
    CHECK_OK(cbx__program_run(ctx, p, NULL, &in, want, &err), &err, "on the CPU");
    CHECK_OK(cbx__program_run(ctx, p, gpu_played(), &in, have, &err), &err, "where code cannot be made");
    for (size_t k = 0; k < FOLDS; k++) same_bits(want[k], have[k], f->why);
    CHECK_OK(cbx__program_nests(ctx, p, gpu_played(), &nests, &err), &err, "nests");
    if (was)
        setenv("CALIBRAX_LLVM", was, 1);
    else
        unsetenv("CALIBRAX_LLVM");
    CHECK_STR(nests->why, "no 'libnowhere.so' for compiling array functions: run 'apt-get install libllvm19'", "why");
    CHECK_INT(gpu_played_launches(), before, "launches");
    cbx__arrays_free(FOLDS, want);
    cbx__arrays_free(FOLDS, have);
    cbx__program_free(p);
    cbx__graph_unref(simple);
    cbx_array_free(in);
}

/* ---- failures ---- */

/* Folds of rows, made and run on the played device in the caller's context. */
static cbx_status make_and_run(cbx_ctx *c, void *user)
{
    const fold_case f = { 2, { 37, 300 }, 2, CBX_F64, "rows" };
    cbx_array *in = NULL, *have[FOLDS] = { 0 };
    const cbx_array_desc d = { f.dtype, f.ndim, { f.shape[0], f.shape[1] } };
    cbx__traced traced = { 0 };
    cbx__program *p = NULL;
    cbx__graph *simple = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = cbx_array_create(c, &d, &in, &err);

    (void)user;
    if (!st) memset(cbx_array_data_mut(in), 0, cbx_array_bytes(in));
    if (!st) st = cbx__trace_fn(c, CBX_FN(fold_all, (void *)(uintptr_t)&f, 1, FOLDS), &d, &traced, &err);
    if (!st) st = cbx__graph_simplify(c, traced.graph, &simple, &err);
    cbx__traced_clear(&traced);
    if (!st) st = cbx__program_create(c, simple, NULL, &p, &err);
    for (int run = 0; run < 2 && !st; run++) {
        st = cbx__program_run(c, p, gpu_played(), &in, have, &err);
        if (!st) cbx__arrays_free(FOLDS, have);
    }
    if (st) CHECK(err.message[0], "a sentence");
    cbx__program_free(p);
    cbx__graph_unref(simple);
    cbx_array_free(in);
    CHECK_INT(gpu_played_open(), 0, "blocks and modules that are left");
    return st;
}

static void memory_may_end(void **state)
{
    (void)state;
    gpu_needs_llvm();
    CHECK_GT(cbx_test_fail_each(make_and_run, NULL, "folds on a device"), 20, "it allocates");
}

/* Each call of the device fails once. */
static void the_device_may_fail(void **state)
{
    (void)state;
    size_t calls = 0;

    gpu_needs_llvm();
    for (;; calls++) {
        gpu_played_fail(calls);
        const cbx_status st = make_and_run(ctx, NULL);
        const bool over = gpu_played_fail(SIZE_MAX);
        CHECK_STATUS(st, over ? CBX_OK : CBX_ENOMEM, "a call that fails");
        if (over) break;
    }
    CHECK_GT(calls, 30, "calls");
}

/* ---- PTX ---- */

/* No instruction rounds otherwise than as IEEE 754 says: none may be fused, flushed or approximate.
 * Nor is there an absolute value, of which ptxas forgets that it may be NaN. */
static void check_rounding(const cbx_text *ptx)
{
    static const char *const wrong[] = { ".ftz", ".approx", ".full", "add.f", "sub.f", "mul.f", "call", "abs.f" };

    for (size_t i = 0; i < CBX_LEN(wrong); i++)
        if (strstr(cbx_text_str(ptx), wrong[i])) fail_msg("PTX has '%s'", wrong[i]);
}

static bool ptxas_accepts(const char *ptxas, const char *ptx)
{
    char path[160], command[1200];
    FILE *f;

    snprintf(path, sizeof path, "%s/nests.ptx", folder);
    f = fopen(path, "w");
    CHECK(f, path);
    CHECK(fputs(ptx, f) >= 0 && fclose(f) == 0, path);
    snprintf(command, sizeof command, "%s -O1 -arch=sm_80 -o /dev/null %s > %s/log 2>&1", ptxas, path, folder);
    return system(command) == 0;
}

/* CALIBRAX_PTXAS, or where it is on PATH; NULL: nowhere. */
static const char *find_ptxas(void)
{
    const char *named = getenv("CALIBRAX_PTXAS");

    if (named) return named;
    if (system("command -v ptxas > /dev/null 2>&1") == 0) return "ptxas";
    return access("/usr/local/cuda/bin/ptxas", X_OK) == 0 ? "/usr/local/cuda/bin/ptxas" : NULL;
}

static void write_ptx(size_t n, const cbx__nest *const *nests, cbx_text *ptx)
{
    cbx_err err;

    cbx_text_reset(ptx);
    CHECK_OK(cbx__gpu_code(ctx, false, n, nests, ptx, &err), &err, "PTX");
    check_rounding(ptx);
}

/* Each function of one and two operands that has a formula, of float32 and float64. */
static size_t nests_of_functions(cbx__nest *nests, cbx__site *sites, size_t max)
{
    size_t n = 0;

    for (int prim = 0; prim < CBX_PRIM_LIMIT; prim++)
        for (int t = CBX_F32; t <= CBX_F64; t++) {
            cbx__kinstr x = { .op = CBX__K_MATH, .dtype = (uint8_t)t, .prim = (uint16_t)prim };
            if (!cbx__kernel_formula((cbx_prim)prim, (cbx_dtype)t)) continue;
            CHECK_LE(n, max - 1, "nests");
            cbx__nest *nest = &nests[n];
            *nest = (cbx__nest){ .ndim = 1, .shape = { 1000 }, .sites = sites };
            cbx__kernel_init(&nest->kernel, cbx_allocator_default());
            nest->kernel.nout = 1;
            for (int s = 0; s < 3; s++)
                CHECK(cbx_list_push(&nest->kernel.al, &nest->kernel.streams, (cbx__kstream){ .dtype = (uint8_t)t }),
                      "memory");
            x.a = cbx__kernel_add(&nest->kernel, (cbx__kinstr){ .op = CBX__K_LOAD, .dtype = (uint8_t)t, .a = 1 });
            x.b = cbx__kernel_add(&nest->kernel, (cbx__kinstr){ .op = CBX__K_LOAD, .dtype = (uint8_t)t, .a = 2 });
            if (cbx__kernel_operands(&x) < 2) x.b = 0;
            nest->kernel.streams.items[0].value = cbx__kernel_add(&nest->kernel, x);
            cbx__kernel_finish(&nest->kernel);
            n++;
        }
    return n;
}

static void ptx_of_functions(const char *ptxas, cbx_text *ptx)
{
    enum { MAX = 80 };
    static cbx__nest nests[MAX];
    static cbx__site sites[3] = { { .base = 0, .strides = { 8 } },
                                  { .base = 1, .strides = { 8 } },
                                  { .base = 2, .strides = { 8 } } };
    const cbx__nest *all[MAX];
    const size_t n = nests_of_functions(nests, sites, MAX);

    CHECK_GT(n, 40, "functions");
    for (size_t i = 0; i < n; i++) all[i] = &nests[i];
    write_ptx(n, all, ptx);
    if (ptxas) CHECK(ptxas_accepts(ptxas, cbx_text_str(ptx)), "ptxas, of functions");
    for (size_t i = 0; i < n; i++) cbx__kernel_clear(&nests[i].kernel);
}

/* Random kernels: every instruction on every dtype. */
static void ptx_of_kernels(const char *ptxas, cbx_text *ptx, uint64_t seed)
{
    enum { N = 60 };
    static kernel_trial trials[N];
    static cbx__nest nests[N];
    static cbx__site sites[N][KERNELS_STREAMS];
    const cbx__nest *all[N];
    size_t taken = 0;

    for (size_t i = 0; i < N; i++) {
        kernel_data d;
        kernel_trial_make(&trials[i], KERNELS_ALL, seed + i);
        kernel_data_make(&d, &trials[i]);
        nests[i] = gpu_nest_of(&trials[i].k, trials[i].m, trials[i].n, d.p, d.outer, d.inner, sites[i]);
        kernel_data_clear(&d);
        all[i] = cbx__gpu_takes(&nests[i], NULL) ? NULL : &nests[i];
        taken += all[i] != NULL;
    }
    CHECK_GT(taken, N / 3, "kernels");
    write_ptx(N, all, ptx);
    if (ptxas) CHECK(ptxas_accepts(ptxas, cbx_text_str(ptx)), "ptxas, of random kernels");
    for (size_t i = 0; i < N; i++) kernel_trial_clear(&trials[i]);
}

static void ptx_of_folds(const char *ptxas, cbx_text *ptx)
{
    size_t folds = 0;

    for (size_t i = 0; i < CBX_LEN(fold_cases); i++) {
        const fold_case *f = &fold_cases[i];
        const cbx__nest *all[2 * FOLDS];
        cbx__graph *simple = NULL;
        cbx_array *in = fold_operand(f, false);
        cbx__program *p = program_of(CBX_FN(fold_all, (void *)(uintptr_t)f, 1, FOLDS), cbx_array_get_desc(in), &simple,
                                     f->why);
        CHECK_LE(p->nnests, CBX_LEN(all), "nests");
        for (size_t n = 0; n < p->nnests; n++) all[n] = cbx__gpu_takes(&p->nests[n], NULL) ? NULL : &p->nests[n];
        write_ptx(p->nnests, all, ptx);
        folds += strstr(cbx_text_str(ptx), ".visible .entry finish_") != NULL;
        if (ptxas) CHECK(ptxas_accepts(ptxas, cbx_text_str(ptx)), f->why);
        cbx__program_free(p);
        cbx__graph_unref(simple);
        cbx_array_free(in);
    }
    CHECK_GT(folds, CBX_LEN(fold_cases) - 3, "folds");
}

/* Also without ptxas, as far as the text shows it. */
static void ptx_is_written(void **state)
{
    (void)state;
    cbx_text ptx;

    cbx_text_init(&ptx, cbx_allocator_default());
    ptx_of_functions(NULL, &ptx);
    CHECK(strstr(cbx_text_str(&ptx), "fma.rn.f64"), "products and sums");
    ptx_of_kernels(NULL, &ptx, 1);
    ptx_of_folds(NULL, &ptx);
    cbx_text_clear(&ptx);
}

/* CALIBRAX_TEST_PTX: how many batches of random kernels. */
static void ptxas_accepts_it(void **state)
{
    (void)state;
    const char *ptxas = find_ptxas(), *batches = getenv("CALIBRAX_TEST_PTX");
    cbx_text ptx;
    char *at;

    if (!ptxas)
        SKIP("no ptxas in CALIBRAX_PTXAS, on PATH or in /usr/local/cuda/bin: run 'make check-ptx', which fetches it");
    cbx_text_init(&ptx, cbx_allocator_default());
    ptx_of_functions(ptxas, &ptx);
    ptx_of_folds(ptxas, &ptx);
    for (uint64_t k = 0; k < (batches ? strtoul(batches, NULL, 10) : 2); k++) ptx_of_kernels(ptxas, &ptx, 1 + 100 * k);
    at = strstr(ptx.data, "add.s64"); /* a planted fault: there is no such instruction */
    CHECK(at, "an addition");
    memcpy(at, "adx", 3);
    CHECK(!ptxas_accepts(ptxas, cbx_text_str(&ptx)), "a wrong instruction");
    cbx_text_clear(&ptx);
}

static int setup(void **state)
{
    cbx_test_folder(folder);
    return counted_setup(state);
}

static int teardown(void **state)
{
    cbx_test_folder_remove(folder);
    return counted_teardown(state);
}

TEST_FILE(.seconds = 600)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_llvm_the_cpu_runs),
        cmocka_unit_test(kernels_on_a_played_gpu_give_the_same_bits),
        cmocka_unit_test(kernels_on_a_gpu_give_the_same_bits),
        cmocka_unit_test(folds_on_a_played_gpu_give_the_same_bits),
        cmocka_unit_test(folds_on_a_gpu_give_the_same_bits),
        cmocka_unit_test(comparisons_on_a_played_gpu_see_nan),
        cmocka_unit_test(comparisons_on_a_gpu_see_nan),
        cmocka_unit_test(memory_may_end),
        cmocka_unit_test(the_device_may_fail),
        cmocka_unit_test(ptx_is_written),
        cmocka_unit_test(ptxas_accepts_it),
    };
    return cmocka_run_group_tests_name("array/jit_gpu", tests, setup, teardown);
}
