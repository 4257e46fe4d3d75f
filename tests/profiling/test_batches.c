/* Passes over batches on a played clock: what is fetched, worked on, warmed up with, and
 * left out. */
#include "check.h"

#include <math.h>

#include "calibrax/profiling/batches.h"
#include "fail_alloc.h"

static uint64_t now_ns;
static uint64_t played_clock(void) { return now_ns += 10; }
static uint64_t falling_clock(void) { return now_ns -= 10; }

/* Batch i is worked on for 1000 (i + 1) ns, waited for 500 ns, and takes 200 ns to get; the first
 * one 9000 ns more. */
typedef struct loader {
    size_t next, n, fails_at;
    size_t batch[256];
} loader;

static cbx_status next_batch(void *user, void **batch, cbx_err *err)
{
    loader *l = user;
    now_ns += 200;
    if (l->next == l->fails_at) return cbx_fail(err, CBX_EIO, "batch %zu cannot be read", l->next);
    if (l->next == l->n) return CBX_OK;
    l->batch[l->next] = l->next;
    *batch = &l->batch[l->next++];
    return CBX_OK;
}

static cbx_status work_on(void *user, void *batch, cbx_err *err)
{
    size_t i = *(size_t *)batch;
    (void)user, (void)err;
    now_ns += 1000 * (i + 1) + (i == 0 ? 9000 : 0);
    return CBX_OK;
}

static uint64_t count_of(void *user, const void *batch)
{
    (void)user;
    now_ns += 1000000; /* counting is nobody's time */
    return 10 + *(const size_t *)batch;
}

static void wait_for(void *user)
{
    (void)user;
    now_ns += 500;
}

#define NEAR(a, ns, why) CHECK_LE(fabs(1e9 * (a) - (ns)), 1e-3, why)

TEST(a_pass)
{
    loader l = { 0, 12, SIZE_MAX, { 0 } };
    const cbx_batches b = { next_batch, work_on, count_of, wait_for, &l };
    cbx_batches_opts o = CBX_BATCHES_OPTS_INIT;
    cbx_batches_timing t;
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    double work = 0;
    o.warmup = 2;
    o.clock_ns = played_clock;
    CHECK_OK(cbx_batches_time(ctx, &b, &o, &t, &err), &err, "a pass");
    CHECK_INT(t.nbatches, 10, "count");
    CHECK_INT(t.warmup_batches, 2, "do not");
    CHECK_INT(t.elements, 10 * 10 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10 + 11, "of those that count");
    CHECK_INT(t.warmup_elements, 10 + 11, "of those that do not");
    NEAR(t.first_batch_s, 200 + 1000 + 9000 + 500, "the first one, warm-up or not");
    NEAR(t.warmup_s, 200 + 1000 + 9000 + 500 + 200 + 2000 + 500, "warm-up apart");
    for (size_t i = 0; i < 10; i++) {
        NEAR(t.batch_s[i], 1000 * (double)(i + 3) + 500, "work and waiting");
        NEAR(t.fetch_s[i], 200, "getting it");
        work += 1000 * (double)(i + 3) + 500;
    }
    NEAR(t.wall_s, work + 2000, "no warm-up, no counting in it");
    CHECK_LE(fabs(t.fetch_share - 2000 / (work + 2000)), 1e-9, "share of getting");
    CHECK_LE(fabs(t.elements_per_s - (double)t.elements / t.wall_s), 1e-3, "rate");
    NEAR(t.batch.value, 8000, "median");
    CHECK(t.clock_cost_ns == 10 && t.clock_share > 0 && t.clock_share < 0.01, "clock");
    cbx_batches_timing_clear(&t);
    cbx_batches_timing_clear(&t);
    cbx_ctx_free(ctx);
}

TEST(parts_left_out)
{
    loader l = { 0, 200, SIZE_MAX, { 0 } };
    cbx_batches b = { .next = next_batch, .user = &l };
    cbx_batches_opts o = CBX_BATCHES_OPTS_INIT;
    cbx_batches_timing t;
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    o.clock_ns = played_clock;
    CHECK_OK(cbx_batches_time(ctx, &b, &o, &t, &err), &err, "only fetched");
    CHECK(t.nbatches == 200 && t.elements == 200 && t.summary.max == 0 && t.fetch_share == 1, "each counts 1");
    cbx_batches_timing_clear(&t);
    l.next = 0;
    o.max_batches = 70;
    CHECK_OK(cbx_batches_time(ctx, &b, &o, &t, &err), &err, "some of them");
    CHECK(t.nbatches == 70 && l.next == 70, "no more is taken than counts");
    cbx_batches_timing_clear(&t);
    CHECK_OK(cbx_batches_time(ctx, &b, NULL, &t, &err), &err, "the real clock");
    CHECK(t.nbatches == 130 && t.wall_s >= 0, "the rest");
    cbx_batches_timing_clear(&t);
    cbx_ctx_free(ctx);
}

TEST(refusals)
{
    loader l = { 0, 5, SIZE_MAX, { 0 } };
    cbx_batches b = { next_batch, work_on, NULL, NULL, &l };
    cbx_batches_opts o = CBX_BATCHES_OPTS_INIT;
    cbx_batches_timing t = { .nbatches = 4711 };
    cbx_ctx *ctx = cbx_test_context();
    cbx_err err = CBX_ERR_INIT;
    o.clock_ns = played_clock;
    o.warmup = 5;
    CHECK_STATUS(cbx_batches_time(ctx, &b, &o, &t, &err), CBX_ENOENT, "warm-up ate all of it");
    CHECK(strstr(err.message, "there were 5") != NULL, err.message);
    o.warmup = 0;
    l = (loader){ 0, 5, 3, { 0 } };
    CHECK_STATUS(cbx_batches_time(ctx, &b, &o, &t, &err), CBX_EIO, "a batch that cannot be read");
    CHECK(strstr(err.message, "batch 3") != NULL, err.message);
    l = (loader){ 0, 5, SIZE_MAX, { 0 } };
    o.clock_ns = falling_clock;
    now_ns = 1u << 30;
    CHECK_STATUS(cbx_batches_time(ctx, &b, &o, &t, &err), CBX_EDOM, "a clock that falls");
    o.level = 1;
    CHECK_STATUS(cbx_batches_time(ctx, &b, &o, &t, &err), CBX_EINVAL, "level");
    o = (cbx_batches_opts)CBX_BATCHES_OPTS_INIT;
    o.max_batches = 0;
    CHECK_STATUS(cbx_batches_time(ctx, &b, &o, &t, &err), CBX_EINVAL, "none");
    o.struct_size = 1;
    CHECK_STATUS(cbx_batches_time(ctx, &b, &o, &t, &err), CBX_EINVAL, "version");
    b.next = NULL;
    CHECK_STATUS(cbx_batches_time(ctx, &b, NULL, &t, &err), CBX_EINVAL, "no batches");
    CHECK_INT(t.nbatches, 4711, "untouched");
    cbx_ctx_free(ctx);
}

static cbx_status passes(cbx_ctx *ctx, void *user)
{
    loader l = { 0, 150, SIZE_MAX, { 0 } };
    const cbx_batches b = { next_batch, work_on, NULL, NULL, &l };
    cbx_batches_opts o = CBX_BATCHES_OPTS_INIT;
    cbx_batches_timing t;
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;
    (void)user;
    o.clock_ns = played_clock;
    st = cbx_batches_time(ctx, &b, &o, &t, &err);
    if (!st) cbx_batches_timing_clear(&t);
    return st;
}

TEST(memory_that_runs_out) { CHECK_GT(cbx_test_fail_each(passes, NULL, "pass"), 5, "times grow twice"); }

TESTS()
