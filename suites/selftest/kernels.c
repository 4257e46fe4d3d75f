/*
 * Case selftest_kernels: programs whose cost is known or is planted, by which the tool measures
 * itself (`nperf selftest`).
 *
 *   saxpy    C = 1.5 A + B over n elements: the shortest, whose launches fall into modes by how
 *            their blocks lie
 *   matmul   C = A B, n by n, loops
 *   copy     C = A, n elements
 *   sum      C = sum of A, one after the other, in float
 *   chain    n additions of integers, each waiting for the one before: one cycle each
 *   empty    nothing, into no outputs: what is read is what a call costs
 *
 * Baseline `plain` is the kernel.  `slow-1`, `slow-2`, `slow-5` follow it with a chain of additions
 * that takes 1, 2, 5 % of the kernel's time, calibrated at the first call: a slow-down planted
 * inside one binary.
 */
#include <math.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "suites/common/arrays.h"
#include "suites/common/bounds.h"
#include "suites/common/oracle.h"
#include "suites/common/params.h"
#include "suites/common/plan.h"
#include "suites/suites.h"

enum { A, B, INPUTS };
typedef enum kind { SAXPY, MATMUL, COPY, SUM, CHAIN, EMPTY } kind;

static const char *const kernels[] = { "saxpy", "matmul", "copy", "sum", "chain", "empty", NULL };

static const cbx_param_def params[] = {
    CBX__SUITE_WORD("kernel", kernels, NULL, "what is computed"),
    CBX__SUITE_COUNT("n", 0, 100000000, "elements; for matmul rows, for chain additions"),
    CBX__SUITE_SEED,
};

typedef struct point {
    kind kind;
    size_t n;
    uint64_t seed;
    int64_t step;  /* of the planted chain, and what keeps it from being folded */
    uint64_t wait; /* additions of it; 0 until the first call has measured */
    bool calibrated;
} point;

static point read_point(const cbx_params *given)
{
    const char *word = cbx_params_word(given, "kernel");
    point p = { .n = cbx__suite_count(given, "n"), .seed = cbx__suite_seed(given), .step = 3 };

    while (strcmp(kernels[p.kind], word) != 0) p.kind++;
    return p;
}

#define POINT(kernel, n) "{\"kernel\":\"" kernel "\",\"n\":" #n ",\"seed\":0}"

#define REPRESENTATIVE 0

static const char *const points[] = {
    POINT("saxpy", 1000), POINT("matmul", 64),     POINT("copy", 1048576),
    POINT("sum", 4096),   POINT("chain", 1000000), POINT("empty", 0),
};

/* --- shapes --- */

static size_t input_count(const point *p)
{
    if (p->kind == MATMUL) return p->n * p->n;
    return p->kind == CHAIN || p->kind == EMPTY ? 1 : p->n;
}

static size_t output_count(const point *p)
{
    if (p->kind == EMPTY) return 0;
    return p->kind == SUM || p->kind == CHAIN ? 1 : input_count(p);
}

CBX__SUITE_OUTPUT(point, read_point, { CBX_F32, 1, { output_count(&p) } })

CBX__SUITE_LABEL(point, read_point, "%s %zu", kernels[p.kind], p.n)

static cbx_status make_inputs(cbx_ctx *ctx, const cbx_params *given, cbx_array **in, cbx_err *err)
{
    const point p = read_point(given);
    const cbx_array_desc one = { CBX_F32, 1, { input_count(&p) } }, descs[] = { one, one };
    return cbx__suite_inputs(ctx, descs, INPUTS, p.seed, 0, in, err);
}

/* --- turns: everything is shifted by r places; of a product the rows of A and of C --- */

static cbx_status shift(cbx_ctx *ctx, size_t unit, uint64_t r, const cbx_array *a, cbx_array **out, cbx_err *err)
{
    const size_t bytes = cbx_array_bytes(a), size = cbx_dtype_size(cbx_array_dtype(a));
    const size_t rows = unit ? cbx_array_count(a) / unit : 0, at = rows ? (size_t)(r % rows) * unit * size : 0;
    const cbx_status st = cbx__suite_copy(ctx, a, out, err);

    if (st || !at) return st;
    char *to = cbx_array_data_mut(*out);
    const char *from = cbx_array_data(a);
    memcpy(to, from + at, bytes - at);
    memcpy(to + bytes - at, from, at);
    return CBX_OK;
}

static size_t unit_of(const point *p) { return p->kind == MATMUL ? p->n : 1; }

static cbx_status rotate_inputs(cbx_ctx *ctx, const cbx_params *given, uint64_t r, cbx_array *const *in,
                                cbx_array **rotated, cbx_err *err)
{
    const point p = read_point(given);
    cbx_array *a[INPUTS] = { NULL };
    cbx_status st = shift(ctx, unit_of(&p), r, in[A], &a[A], err);

    if (!st) st = shift(ctx, p.kind == MATMUL ? 0 : 1, r, in[B], &a[B], err);
    return cbx__suite_arrays_give(st, a, INPUTS, rotated);
}

static cbx_status rotate_output(cbx_ctx *ctx, const cbx_params *given, uint64_t r, size_t output, const cbx_array *a,
                                cbx_array **rotated, cbx_err *err)
{
    const point p = read_point(given);
    (void)output;
    return shift(ctx, p.kind == SUM || p.kind == CHAIN ? 0 : unit_of(&p), r, a, rotated, err);
}

/* --- the oracle --- */

static float chain_answer(const point *p) { return (float)((p->n * (uint64_t)p->step) & 0xffff); }

static void answer_at(const point *p, const double *a, const double *b, size_t i, double *y, double *limit)
{
    const double u = cbx__suite_unit(CBX_F32);
    long double sum = 0, size = 0;

    switch (p->kind) {
    case SAXPY:
        *y = 1.5 * a[i] + b[i];
        *limit = 2 * u * (fabs(1.5 * a[i]) + fabs(*y));
        return;
    case MATMUL:
        for (size_t k = 0; k < p->n; k++) {
            sum += (long double)a[i / p->n * p->n + k] * b[k * p->n + i % p->n];
            size += fabs(a[i / p->n * p->n + k] * b[k * p->n + i % p->n]);
        }
        break;
    case SUM:
        for (size_t k = 0; k < p->n; k++) {
            sum += a[k];
            size += fabs(a[k]);
        }
        break;
    case COPY: sum = a[i]; break;
    case CHAIN: sum = chain_answer(p); break;
    case EMPTY: break;
    }
    *y = (double)sum;
    *limit = cbx__suite_gamma((double)p->n + 1, u) * (double)size;
}

static void solve(const point *p, const cbx__suite_problem *q)
{
    for (size_t i = 0; i < output_count(p); i++) answer_at(p, q->in[A], q->in[B], i, &q->answer[i], &q->bound[i]);
}

CBX__SUITE_ORACLE(cbx_selftest_kernels_case, point, read_point, 0, solve)

/* --- the kernels --- */

/* n additions that wait for one another: the compiler sees neither the start of one nor its
 * step. */
static int64_t chain(int64_t step, uint64_t n)
{
    int64_t x = 0;
    for (uint64_t i = 0; i < n / 8; i++) {
#define ADD                                                                                                            \
    __asm__ volatile("" : "+r"(x), "+r"(step));                                                                        \
    x += step;
        ADD ADD ADD ADD ADD ADD ADD ADD
    }
    for (uint64_t i = 0; i < n % 8; i++) {
        ADD
    }
#undef ADD
    return x;
}

static void matmul(size_t n, const float *a, const float *b, float *restrict c)
{
    for (size_t i = 0; i < n; i++) {
        float *restrict row = c + i * n;
        for (size_t j = 0; j < n; j++) row[j] = 0;
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < n; j++) row[j] += a[i * n + k] * b[k * n + j];
    }
}

static float sum(size_t n, const float *a)
{
    float s = 0;
    for (size_t i = 0; i < n; i++) s += a[i];
    return s;
}

static void compute(const point *p, const float *a, const float *b, float *restrict c)
{
    switch (p->kind) {
    case SAXPY:
        for (size_t i = 0; i < p->n; i++) c[i] = 1.5f * a[i] + b[i];
        break;
    case MATMUL: matmul(p->n, a, b, c); break;
    case COPY: memcpy(c, a, p->n * sizeof *c); break;
    case SUM: *c = sum(p->n, a); break;
    case CHAIN: *c = (float)(chain(p->step, p->n) & 0xffff); break;
    case EMPTY: break;
    }
}

static void run_plain(void *plan)
{
    const cbx__suite_plan *s = plan;
    compute(s->point, s->in[A], s->in[B], s->out[0]);
}

/* --- planted slow-downs --- */

/* [ns] of one call, the least of many batches. */
static double call_ns(const cbx__suite_plan *s, uint64_t additions)
{
    enum { BATCHES = 30, CALLS = 20 };
    const point *p = s->point;
    double shortest = INFINITY;

    for (int i = 0; i < BATCHES; i++) {
        uint64_t start = cbx_clock_ns();
        for (int k = 0; k < CALLS; k++) {
            if (additions)
                (void)chain(p->step, additions);
            else
                compute(p, s->in[A], s->in[B], s->out[0]);
        }
        shortest = fmin(shortest, (double)(cbx_clock_ns() - start) / CALLS);
    }
    return shortest;
}

static void calibrate(const cbx__suite_plan *s, double share)
{
    enum { PROBE = 4096 };
    point *p = s->point;

    p->wait = (uint64_t)(share * call_ns(s, 0) / call_ns(s, PROBE) * PROBE + 0.5);
    p->calibrated = true;
}

static void run_slowed(cbx__suite_plan *s, double share)
{
    const point *p = s->point;
    if (!p->calibrated) calibrate(s, share);
    compute(p, s->in[A], s->in[B], s->out[0]);
    (void)chain(p->step, p->wait);
}

static void run_slow_1(void *plan) { run_slowed(plan, 0.01); }
static void run_slow_2(void *plan) { run_slowed(plan, 0.02); }
static void run_slow_5(void *plan) { run_slowed(plan, 0.05); }

/* --- the table --- */

static void work(const cbx_params *given, cbx_work *out)
{
    const point p = read_point(given);
    const double n = (double)p.n, moved = 4 * (2 * (double)input_count(&p) + (double)output_count(&p));

    *out = (cbx_work){ .pipe = CBX_PIPE_FMA };
    if (p.kind == CHAIN || p.kind == EMPTY) return;
    out->macs = out->pipe_ops = p.kind == MATMUL ? n * n * n : p.kind == COPY ? 0 : n;
    out->flop = (p.kind == SUM ? 1 : 2) * out->macs;
    out->bytes = out->working_set_bytes = p.kind == SUM ? 4 * n : p.kind == COPY ? 8 * n : moved;
}

CBX__SUITE_PREPARE(prepare, cbx_selftest_kernels_case, point, read_point, 0, 0)

#define KERNEL(name, summary, run_) CBX__SUITE_ENTRY CBX__SUITE_NATIVE(name, summary, prepare, run_, .work = work)

static const cbx_baseline_ops *const baselines[] = {
    KERNEL("plain", "the kernel", run_plain),
    KERNEL("slow-1", "and 1 % of its time more", run_slow_1),
    KERNEL("slow-2", "and 2 % of its time more", run_slow_2),
    KERNEL("slow-5", "and 5 % of its time more", run_slow_5),
};

static const char *const input_names[] = { "A", "B" };
static const char *const output_names[] = { "C" };

const cbx_case_ops cbx_selftest_kernels_case = CBX__SUITE_CASE_WITHOUT_SERIES(
    "selftest_kernels", "programs whose cost is known, by which the tool measures itself", .make_inputs = make_inputs,
    .oracle = oracle, .rotate_inputs = rotate_inputs, .rotate_output = rotate_output);
