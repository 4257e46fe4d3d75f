/*
 * What compiled functions cost: steps and bytes by hand, memory by what the pool handed out, stages
 * that were measured.
 */
#include <stdlib.h>

#include "transform_support.h"

#include "calibrax/array/linalg.h"
#include "calibrax/array/trace/cost.h"
#include "calibrax/base/pool.h"
#include "fail_alloc.h"

FN(chain) /* exp(-(a b)) + a */
{
    UNUSED;
    out[0] = cbx_add(c, cbx_exp(c, cbx_negative(c, cbx_multiply(c, in[0], in[1]))), in[0]);
    return CBX_OK;
}
FN(norm)
{
    UNUSED;
    out[0] = cbx_sqrt(c, cbx_sum(c, cbx_multiply(c, in[0], in[0]), NULL));
    return CBX_OK;
}
FN(outer) /* a row and a column */
{
    UNUSED;
    out[0] = cbx_multiply(c, in[0], in[1]);
    return CBX_OK;
}
FN(layer) /* tanh(a b) + 1 */
{
    UNUSED;
    out[0] = cbx_add_scalar(c, cbx_tanh(c, cbx_matrix_product(c, in[0], in[1])), 1);
    return CBX_OK;
}
FN(running) /* two of them, and a kernel: what is read last is free before the next */
{
    UNUSED;
    cbx_array *x = cbx_cumulative_sum(c, in[0], 0);
    out[0] = cbx_add(c, cbx_exp(c, cbx_cumulative_sum(c, x, 0)), in[0]);
    return CBX_OK;
}
FN(transposed) /* of a view, which takes no memory */
{
    UNUSED;
    out[0] = cbx_cumulative_sum(c, cbx_permute_dims(c, in[0], NULL), 0);
    return CBX_OK;
}
FN(summed_rows)
{
    UNUSED;
    out[0] = cbx_sum(c, cbx_multiply(c, in[0], in[0]), CBX_AXIS(1));
    return CBX_OK;
}
FN(step)
{
    UNUSED;
    out[0] = out[1] = cbx_add(c, cbx_multiply_scalar(c, in[0], 0.5), in[1]);
    return CBX_OK;
}
FN(smoothed) /* (carry of 4, 100 rows of 4) */
{
    UNUSED;
    return cbx_scan(c, PLAIN(step, 2, 2), 1, in, 1, in + 1, CBX_LENGTH_OF_XS, false, out);
}
FN(nothing)
{
    UNUSED;
    out[0] = in[0];
    return CBX_OK;
}
FN(compares_and_counts) /* how many are above 0.5: a comparison and a sum of integers */
{
    UNUSED;
    out[0] = cbx_sum(c, cbx_astype(c, cbx_greater_scalar(c, in[0], 0.5), CBX_I64), NULL);
    return CBX_OK;
}

#define F64(...)                                                                                                       \
    {                                                                                                                  \
        CBX_F64, CBX_LEN(((size_t[]){ __VA_ARGS__ })), { __VA_ARGS__ }                                                 \
    }

#define CHECK_ERR(status, wanted, err, words, why)                                                                     \
    do {                                                                                                               \
        CHECK_STATUS(status, wanted, why);                                                                             \
        CHECK(strstr((err)->message, words) != NULL, (err)->message);                                                  \
    } while (0)
#define CHECK_NEAR(x, wanted, bound, why) CHECK_LE(fabs((x) - (wanted)), bound, why)

static cbx_ctx *jit_context(void)
{
    cbx_ctx *c = context();
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_ctx_set_backend(c, cbx_backend_jit(), &err), &err, "the backend");
    return c;
}

static cbx_cost_program compiled(cbx_ctx *c, const cbx_fn *f, const cbx_array_desc *in, cbx_cost_report *work)
{
    cbx_cost_program p = { 0 };
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_cost_compile(c, f, f->nin, in, work, &p, &err), &err, f->name);
    return p;
}

static const struct {
    const char *why;
    cbx_array_fn f;
    size_t nin, nout;
    cbx_array_desc in[2];
    uint64_t flop, int_op, transcendental, read, written, unfused; /* bytes */
    size_t steps, kernels;
    uint64_t peak; /* without scratch */
} by_hand[] = {
    { "one kernel", chain, 2, 1, { F64(1000), F64(1000) }, 3000, 0, 1000, 16000, 8000, 80000, 1, 1, 24000 },
    { "a fold, then a function", norm, 1, 1, { F64(50, 7) }, 350 + 349, 0, 1, 2800 + 8, 16, 0, 2, 2, 2808 },
    { "a row and a column", outer, 2, 1, { F64(3, 1), F64(5) }, 15, 0, 0, 64, 120, 3 * 120, 1, 1, 184 },
    { "a product, and a kernel behind",
      layer,
      2,
      1,
      { F64(16, 32), F64(32, 8) },
      2 * 16 * 32 * 8 + 128,
      0,
      128,
      4096 + 2048 + 1024,
      2048,
      0,
      4,
      1,
      4096 + 2048 + 1024 + 1024 },
    { "what was read last is free",
      running,
      1,
      1,
      { F64(1000) },
      2 * 999 + 1000,
      0,
      1000,
      2 * 8000 + 16000,
      3 * 8000,
      0,
      3,
      1,
      3 * 8000 },
    { "rows that are folded", summed_rows, 1, 1, { F64(40, 100) }, 4000 + 40 * 99, 0, 0, 32000, 320, 0, 1, 1, 32320 },
    { "a scan that is a kernel",
      smoothed,
      2,
      2,
      { F64(4), F64(100, 4) },
      800,
      0,
      0,
      32 + 3200,
      32 + 3200,
      0,
      1,
      1,
      2 * 3232 },
    { "truths and integers", compares_and_counts, 1, 1, { F64(100) }, 100, 99, 0, 800, 8, 0, 1, 1, 808 },
    { "nothing", nothing, 1, 1, { F64(10) }, 0, 0, 0, 0, 0, 0, 0, 0, 80 },
};

TEST(steps_by_hand)
{
    cbx_ctx *c = jit_context();
    for (size_t i = 0; i < CBX_LEN(by_hand); i++) {
        const cbx_fn f = { by_hand[i].why, by_hand[i].f, NULL, by_hand[i].nin, by_hand[i].nout, NULL };
        cbx_cost_report work;
        cbx_cost_program p = compiled(c, &f, by_hand[i].in, &work);
        uint64_t scratch = 0;
        CHECK_INT(p.total.flop, by_hand[i].flop, f.name);
        CHECK_INT(p.total.int_op, by_hand[i].int_op, f.name);
        CHECK_INT(p.total.transcendental, by_hand[i].transcendental, f.name);
        CHECK_INT(p.total.bytes_read, by_hand[i].read, f.name);
        CHECK_INT(p.total.bytes_written, by_hand[i].written, f.name);
        CHECK_INT(p.nsteps, by_hand[i].steps, f.name);
        CHECK_INT(p.total.calls, by_hand[i].steps, f.name);
        CHECK_INT(p.nkernels, by_hand[i].kernels, f.name);
        for (size_t s = 0; s < p.nsteps; s++)
            scratch = p.steps[s].scratch_bytes > scratch ? p.steps[s].scratch_bytes : scratch;
        CHECK(p.peak_bytes >= by_hand[i].peak && p.peak_bytes <= by_hand[i].peak + scratch + 64, f.name);
        if (scratch == 0) CHECK_INT(p.peak_bytes, by_hand[i].peak, f.name);
        if (by_hand[i].unfused) CHECK_INT(work.total.bytes_read + work.total.bytes_written, by_hand[i].unfused, f.name);
        cbx_cost_program_clear(&p);
    }
    cbx_ctx_free(c);
}

/* What the pool hands out while a compiled function runs, of operands on blocks that are full. */
TEST(memory_as_the_pool_saw_it)
{
    static const struct {
        const char *why;
        cbx_array_fn f;
        size_t nin;
        cbx_array_desc in[2];
    } cases[] = {
        { "one kernel", chain, 2, { F64(4096), F64(4096) } },
        { "operations, and a kernel behind", running, 1, { F64(4096) } },
        { "a view", transposed, 1, { F64(64, 64) } },
        { "rows that are folded", summed_rows, 1, { F64(512, 128) } },
    };
    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        const cbx_fn f = { cases[i].why, cases[i].f, NULL, cases[i].nin, 1, NULL };
        cbx_ctx *c = jit_context();
        cbx_cost_program p = compiled(c, &f, cases[i].in, NULL);
        cbx_array *in[2], *out = NULL;
        cbx_fn *fast = NULL;
        cbx_pool_stats s;
        cbx_err err = CBX_ERR_INIT;
        uint64_t scratch = 0;

        for (size_t k = 0; k < f.nin; k++) {
            CHECK_OK(cbx_array_create(c, &cases[i].in[k], &in[k], &err), &err, f.name);
            for (size_t n = 0; n < cbx_array_count(in[k]); n++) ((double *)cbx_array_data_mut(in[k]))[n] = 1;
        }
        CHECK_OK(cbx_jit(c, &f, &fast, &err), &err, f.name);
        CHECK_OK(cbx_fn_run(c, fast, f.nin, in, 1, &out, &err), &err, f.name);
        cbx_pool_get_stats(cbx_ctx_pool(c), &s);
        for (size_t k = 0; k < p.nsteps; k++) scratch += p.steps[k].scratch_bytes;
        if (scratch == 0)
            CHECK_INT(p.peak_bytes, s.bytes_in_use_peak, f.name);
        else /* whose block may be a quarter larger */
            CHECK(p.peak_bytes <= s.bytes_in_use_peak && s.bytes_in_use_peak <= p.peak_bytes + scratch / 4 + 64,
                  f.name);
        cbx_array_free(out);
        for (size_t k = 0; k < f.nin; k++) cbx_array_free(in[k]);
        cbx_fn_free(fast);
        cbx_cost_program_clear(&p);
        cbx_ctx_free(c);
    }
}

TEST(stages_are_measured)
{
    const cbx_array_desc d[2] = { F64(1000), F64(1000) }, other[2] = { F64(7), F64(7) };
    cbx_ctx *c = jit_context();
    cbx_cost_program p;
    cbx_array *in[2], *out = NULL;
    cbx_fn *fast = NULL;
    cbx_scope scope;
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_jit(c, PLAIN(chain, 2, 1), &fast, &err), &err, "a compiled function");
    CHECK_OK(cbx_cost_compiled(c, fast, 2, d, &p, &err), &err, "before a call");
    CHECK_INT(p.nkernels, 1, "as it will be called");
    cbx_cost_program_clear(&p);
    cbx_scope_open(c, &scope);
    in[0] = in[1] = cbx_ones(c, 1, (const size_t[]){ 1000 }, CBX_F64);
    CHECK_OK(cbx_fn_run(c, fast, 2, in, 1, &out, &err), &err, "called");
    CHECK_OK(cbx_cost_compiled(c, fast, 2, d, &p, &err), &err, "of the call");
    CHECK(p.times.trace_s > 0 && p.times.simplify_s > 0 && p.times.plan_s > 0 && p.times.kernels_s > 0 &&
              p.times.code_s > 0,
          "each took time");
    CHECK(strcmp(p.times.emitter, "llvm") != 0 || p.times.code_bytes > 100, "there is code");
    CHECK_INT(p.nkernels, 1, "as it was compiled");
    CHECK_STR(p.steps[0].text, "kernel over (1000); loads %0, %1; stores %5", "the step in words");
    CHECK(p.steps[0].is_kernel && p.steps[0].is_f64 && p.steps[0].threads == 1, "a short one");
    cbx_cost_program_clear(&p);
    CHECK_OK(cbx_cost_compiled(c, fast, 2, other, &p, &err), &err, "of other operands");
    CHECK_INT(p.total.transcendental, 7, "of other operands");
    cbx_cost_program_clear(&p);
    CHECK_ERR(cbx_cost_compiled(c, fast, 1, d, &p, &err), CBX_EINVAL, &err, "takes 2 operands", "too few");
    CHECK_ERR(cbx_cost_compiled(c, PLAIN(chain, 2, 1), 2, d, &p, &err), CBX_EINVAL, &err, "not made by cbx_jit",
              "plain");
    CHECK_OK(cbx_ctx_set_backend(c, cbx_backend_reference(), &err), &err, "another backend");
    CHECK_ERR(cbx_cost_compile(c, PLAIN(chain, 2, 1), 2, d, NULL, &p, &err), CBX_EUNSUPPORTED, &err, "choose jit",
              "does not compile");
    cbx_cost_program_clear(NULL);
    cbx_array_free(out);
    cbx_scope_close(&scope, NULL);
    cbx_fn_free(fast);
    cbx_ctx_free(c);
}

/* A machine of round numbers: 1 ns for an operation, 2*10^9 multiply-adds a second, 10^10 bytes
 * from memory, 5 ns for exp, 2 for a division. */
TEST(times_by_hand)
{
    cbx_cost_rates r = { .probe = { .nlevels = 1, .level = { { .read_bytes_per_s = 2e10, .copy_bytes_per_s = 1e10 } } },
                         .call_s = 3e-7,
                         .chain_s = 1e-9,
                         .op_s = { 0, 1e-9 },
                         .sum_s = { 0, 3e-9 } };
    cbx_cost_step step = { .is_kernel = true, .is_f64 = true, .threads = 1 };
    const double more = CBX_COST_STEP_S;

    r.probe.pipe_ops_per_s[CBX_PIPE_FMA][1] = 2e9;
    r.function_s[CBX_PRIM_EXP][1] = 5e-9;
    r.function_s[CBX_PRIM_DIV][1] = 2e-9;
    step.work = (cbx_cost){ .flop = 1000, .int_op = 500, .transcendental = 100, .bytes_read = 10000 };
    CHECK_NEAR(cbx_cost_step_seconds(&step, &r), 2e-6 + more, 1e-15, "instructions, functions as exp");
    step.nfunctions = 2;
    step.functions[0] = (cbx_cost_function){ CBX_PRIM_DIV, 300 };
    step.functions[1] = (cbx_cost_function){ CBX_PRIM_LOG, 100 };
    r.function_s[CBX_PRIM_LOG][1] = 7e-9;
    CHECK_NEAR(cbx_cost_step_seconds(&step, &r), 1.2e-6 + 0.6e-6 + 0.7e-6 + more, 1e-15, "functions by their times");
    step.sums = 200;
    CHECK_NEAR(cbx_cost_step_seconds(&step, &r), 1e-6 + 0.6e-6 + 0.7e-6 + 0.6e-6 + more, 1e-15, "sums by theirs");
    step.chain = 4000;
    CHECK_NEAR(cbx_cost_step_seconds(&step, &r), 4e-6 + more, 1e-15, "a chain");
    step.threads = 2;
    CHECK_NEAR(cbx_cost_step_seconds(&step, &r), 4e-6 + more, 1e-15, "which threads do not share");
    step.threads = 1;
    step.work.bytes_written = 90000;
    CHECK_NEAR(cbx_cost_step_seconds(&step, &r), 1e-5 + more, 1e-15, "bytes");
    step.work.bytes_read = 150000;
    CHECK_NEAR(cbx_cost_step_seconds(&step, &r), 1.8e-5 + 3e-6 + more, 1e-15, "bytes that are read alone");
    step.work.bytes_read = 10000;
    step.is_streamed = true;
    r.probe.level[0].triad_stream_bytes_per_s = 2e10;
    CHECK_NEAR(cbx_cost_step_seconds(&step, &r), 0.5e-5 + more, 1e-15, "bytes past the caches");
    r.probe.level[0].bytes = 1000; /* a cache */
    CHECK_NEAR(cbx_cost_step_seconds(&step, &r), 1e-5 + more, 1e-15, "bytes of a cache");
    step.threads = 2;
    CHECK_NEAR(cbx_cost_step_seconds(&step, &r), 0.5e-5 + more, 1e-15, "two threads");
    step = (cbx_cost_step){ .is_f64 = true, .work = { .flop = 8000 } };
    CHECK_NEAR(cbx_cost_step_seconds(&step, &r), 2e-6 + more, 1e-15, "a product");
    cbx_cost_step two[2] = { step, step };
    const cbx_cost_program p = { .nsteps = 2, .steps = two };
    CHECK_NEAR(cbx_cost_program_seconds(&p, &r), 2 * (2e-6 + more) + 3e-7 - more, 1e-15, "their sum, and the call");
}

FN(functions) /* exp(x) / sqrt(y), summed */
{
    UNUSED;
    out[0] = cbx_sum(c, cbx_divide(c, cbx_exp(c, in[0]), cbx_sqrt(c, in[1])), NULL);
    return CBX_OK;
}

/* Counts by hand; rates that are there, and as they were kept. */
TEST(functions_have_times)
{
    static const struct {
        cbx_prim prim;
        uint64_t n;
    } wanted[] = { { CBX_PRIM_EXP, 1000 }, { CBX_PRIM_SQRT, 1000 }, { CBX_PRIM_DIV, 1000 } };
    const cbx_array_desc in[2] = { F64(1000), F64(1000) }, scanned[2] = { F64(4), F64(100, 4) };
    cbx_ctx *c = jit_context();
    cbx_cost_program p = compiled(c, PLAIN(functions, 2, 1), in, NULL);
    cbx_cost_rates *r = malloc(2 * sizeof *r);
    cbx_err err = CBX_ERR_INIT;

    CHECK_INT(p.nsteps, 1, "one kernel");
    CHECK_INT(p.steps[0].sums, 999, "additions");
    CHECK_INT(p.steps[0].nfunctions, 3, "functions");
    for (size_t i = 0; i < CBX_LEN(wanted); i++) {
        size_t found = 0;
        while (found < 3 && p.steps[0].functions[found].prim != wanted[i].prim) found++;
        CHECK(found < 3 && p.steps[0].functions[found].n == wanted[i].n, cbx_prim_name(wanted[i].prim));
    }
    CHECK_OK(cbx_cost_rates_get(c, false, &r[0], &err), &err, "measured, or kept");
    CHECK_OK(cbx_cost_rates_get(c, false, &r[1], &err), &err, "kept");
    CHECK(r[0].call_s == r[1].call_s && r[0].chain_s == r[1].chain_s && r[0].sum_s[1] == r[1].sum_s[1], "kept");
    CHECK(memcmp(r[0].function_s, r[1].function_s, sizeof r[0].function_s) == 0, "kept");
    for (size_t i = 0; i < CBX_LEN(wanted); i++)
        for (int k = 0; k < 2; k++)
            CHECK(r[0].function_s[wanted[i].prim][k] > 1e-12 && r[0].function_s[wanted[i].prim][k] < 1e-6,
                  cbx_prim_name(wanted[i].prim));
    CHECK(r[0].function_s[CBX_PRIM_POW][1] > 0 && r[0].function_s[CBX_PRIM_ACOSH][1] > 0, "of two operands, beyond 1");
    CHECK(r[0].function_s[CBX_PRIM_ADD][1] == 0, "no function");
    CHECK(r[0].call_s > 0 && r[0].chain_s > 0 && r[0].chain_s < 1e-7, "calls and chains");
    cbx_cost_program_clear(&p);
    p = compiled(c, PLAIN(smoothed, 2, 2), scanned, NULL);
    CHECK_INT(p.steps[0].chain, 200, "a multiplication and an addition a step");
    cbx_cost_program_clear(&p);
    free(r);
    cbx_ctx_free(c);
}

static cbx_status count_once(cbx_ctx *c, void *user)
{
    cbx_err err = CBX_ERR_INIT;
    const cbx_array_desc d[2] = { F64(16, 32), F64(32, 8) };
    cbx_cost_report work;
    cbx_cost_program p;
    cbx_status st = cbx_ctx_set_backend(c, cbx_backend_jit(), &err);

    (void)user;
    if (!st) st = cbx_cost_compile(c, PLAIN(layer, 2, 1), 2, d, &work, &p, &err);
    if (!st) cbx_cost_program_clear(&p);
    return st;
}

TEST(memory_may_run_out) { cbx_test_fail_each(count_once, NULL, "the cost of compiled functions"); }

TESTS(.seconds = 300)
