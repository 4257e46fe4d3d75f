/* One benchmark in this process: phases in order, tear-down after every fault, batches, work,
 * definitions. */
#include "check.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>

#include "calibrax/array/ops.h"
#include "calibrax/perf/launch/phases.h"
#include "fail_alloc.h"

typedef struct bench {
    char log[256]; /* a letter a phase */
    const char *fail;
    volatile sig_atomic_t *stop_in_training;
    double accuracy;
    size_t calls, batches, examples, most;
} bench;

static cbx_status enter(bench *b, const char *phase, char letter, cbx_err *err)
{
    size_t n = strlen(b->log);
    if (n < sizeof b->log - 1 && (n == 0 || b->log[n - 1] != letter)) b->log[n] = letter;
    return b->fail && strcmp(b->fail, phase) == 0 ? cbx_fail(err, CBX_EDOM, "%s: planted", phase) : CBX_OK;
}

static cbx_status setup(cbx_ctx *ctx, void *self, cbx_err *err)
{
    (void)ctx;
    return enter(self, "setup", 's', err);
}

static cbx_status train(cbx_ctx *ctx, void *self, cbx_values *out, cbx_err *err)
{
    bench *b = self;
    cbx_status st = enter(b, "training", 't', err);

    (void)ctx;
    if (b->stop_in_training) *b->stop_in_training = 1;
    if (!st) st = cbx_values_add(out, "loss", 0.5, err);
    return st ? st : cbx_values_add(out, "accuracy", 0.1, err);
}

static cbx_status evaluate(cbx_ctx *ctx, void *self, cbx_values *out, cbx_err *err)
{
    bench *b = self;
    cbx_status st = enter(b, "evaluation", 'e', err);

    (void)ctx;
    return st ? st : cbx_values_add(out, "accuracy", b->accuracy, err);
}

static cbx_status targets(cbx_ctx *ctx, void *self, cbx_values *out, cbx_err *err)
{
    cbx_status st = enter(self, "targets", 'g', err);

    (void)ctx;
    return st ? st : cbx_values_add(out, "accuracy", 0.95, err);
}

static void teardown(cbx_ctx *ctx, void *self)
{
    (void)ctx;
    (void)enter(self, "teardown", 'd', NULL);
}

static cbx_status work(cbx_ctx *ctx, void *self, cbx_err *err)
{
    bench *b = self;
    volatile double x = 0;

    (void)ctx;
    b->calls++;
    for (int i = 0; i < 5000; i++) x += 1;
    (void)x;
    return enter(b, "work", 'w', err);
}

/* --- a dataset of 10 examples: "x" holds [i, i] --- */

static size_t length(const void *self)
{
    (void)self;
    return 10;
}

static cbx_status get(cbx_ctx *ctx, void *self, size_t i, cbx_named_array *out, size_t room, size_t *n, cbx_err *err)
{
    const cbx_array_desc d = { CBX_F64, 1, { 2 } };
    bench *b = self;
    cbx_array *a = NULL;
    cbx_status st = cbx_array_create(ctx, &d, &a, err);

    (void)room;
    if (st) return st;
    for (int k = 0; k < 2; k++) ((double *)cbx_array_data_mut(a))[k] = (double)i;
    out[0] = (cbx_named_array){ b->fail && !strcmp(b->fail, "names") && i == 3 ? "other" : "x", a };
    *n = 1;
    return CBX_OK;
}

static cbx_status run_batch(cbx_ctx *ctx, void *self, const cbx_named_array *batch, size_t n, cbx_err *err)
{
    bench *b = self;
    size_t rows = cbx_array_dim(batch[0].array, 0);
    const double *x = cbx_array_data(batch[0].array);

    for (size_t i = 0; i < rows; i++) {
        if (n != 1 || x[2 * i] != (double)(b->examples + i)) return cbx_fail(err, CBX_EDOM, "another example");
    }
    b->batches++;
    b->examples += rows;
    b->most = rows > b->most ? rows : b->most;
    if (b->fail && !strcmp(b->fail, "expression")) cbx_reshape(ctx, batch[0].array, 1, (const ptrdiff_t[]){ 7 });
    return enter(b, "batch", 'b', err);
}

static const cbx_metric_def defs[] = { { "accuracy", "1", CBX_DIRECTION_HIGHER, "quality", CBX_PRIORITY_PRIMARY, "" } };
static const cbx_benchmark_ops model = { .struct_size = sizeof model,
                                         .abi = CBX_BENCHMARK_ABI,
                                         .name = "model",
                                         .domain = "vision",
                                         .setup = setup,
                                         .run_training = train,
                                         .run_evaluation = evaluate,
                                         .teardown = teardown,
                                         .targets = targets,
                                         .metric_defs = defs,
                                         .nmetric_defs = 1 };
static const cbx_dataset_ops numbers = { sizeof numbers, CBX_DATASET_ABI, "numbers", length, get, NULL };

/* Batches of its own; "long": of as many rows as asked for, whatever is left. */
static cbx_status get_batch(cbx_ctx *ctx, void *self, size_t size, size_t start, cbx_named_array *out, size_t room,
                            size_t *n, cbx_err *err)
{
    bench *b = self;
    size_t rows = b->fail && !strcmp(b->fail, "long") ? size : size < 10 - start ? size : 10 - start;
    const cbx_array_desc d = { CBX_F64, 2, { rows, 2 } };
    cbx_array *a = NULL;
    cbx_status st = cbx_array_create(ctx, &d, &a, err);

    (void)room;
    if (st) return st;
    for (size_t i = 0; i < 2 * rows; i++) ((double *)cbx_array_data_mut(a))[i] = (double)(start + i / 2);
    out[0] = (cbx_named_array){ "x", a };
    *n = 1;
    return CBX_OK;
}

static const cbx_dataset_ops batchable = { sizeof batchable, CBX_DATASET_ABI, "numbers", length, get, get_batch };

typedef struct state {
    cbx_test_alloc alloc;
    cbx_ctx *ctx;
} state;

static int open_state(void **out)
{
    static state s;

    cbx_test_alloc_init(&s.alloc);
    s.ctx = cbx_test_ctx(&s.alloc);
    *out = &s;
    return 0;
}

static int close_state(void **in)
{
    state *s = *in;

    cbx_ctx_free(s->ctx);
    cbx_test_alloc_check(&s->alloc, "after the test");
    return 0;
}

static const cbx_metric *metric(const cbx_run *run, const char *name)
{
    return cbx_point_metric(cbx_run_point(run, 0), name);
}

TEST(all_phases, open_state, close_state)
{
    state *s = *test_state;
    bench b = { .accuracy = 0.9 };
    cbx_timeline *trace = NULL;
    cbx_benchmark_measure_opts o = CBX_BENCHMARK_MEASURE_OPTS_INIT;
    cbx_run *run = NULL;
    const cbx_json *told;
    cbx_err err = CBX_ERR_INIT;

    CHECK_OK(cbx_timeline_create(s->ctx, NULL, &trace, &err), &err, "trace");
    o.trace = trace;
    CHECK_OK(cbx_benchmark_measure(s->ctx, &model, &b, &o, &run, &err), &err, "measure");
    CHECK_STR(b.log, "stegd", "set-up, training, evaluation, targets, tear-down");
    CHECK_STR(cbx_run_point(run, 0)->scenario, "vision", "the domain");
    CHECK(metric(run, "accuracy")->value == 0.9 && metric(run, "loss")->value == 0.5, "evaluation replaces training");
    CHECK(metric(run, "training_seconds")->value >= 0 && metric(run, "teardown_seconds")->value >= 0,
          "phases are timed");
    CHECK_INT(cbx_run_find_metric_def(run, "accuracy")->direction, CBX_DIRECTION_HIGHER, "the benchmark's definition");
    CHECK_INT(cbx_run_find_metric_def(run, "training_seconds")->direction, CBX_DIRECTION_LOWER, "ours");
    CHECK_INT(cbx_run_find_metric_def(run, "setup_seconds")->direction, CBX_DIRECTION_INFO, "told only");
    told = cbx_json_get(cbx_json_at(cbx_json_get(cbx_run_metadata(run), "results"), 0), "metadata");
    CHECK(cbx_json_get_double(cbx_json_get(told, "targets"), "accuracy", 0) == 0.95, "targets");
    CHECK_INT(cbx_json_length(cbx_json_get(told, "phases")), 5, "phases");
    CHECK_INT(cbx_timeline_events(trace) >= 5, 1, "a span a phase");
    cbx_timeline_free(trace);
    cbx_run_free(run);
}

TEST(torn_down_after_every_fault, open_state, close_state)
{
    static const struct {
        const char *fail, *log;
    } cases[] = { { "setup", "sd" }, { "training", "std" }, { "evaluation", "sted" }, { "targets", "stegd" } };
    state *s = *test_state;

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        bench b = { .fail = cases[i].fail };
        const char *phase = NULL;
        cbx_benchmark_measure_opts o = CBX_BENCHMARK_MEASURE_OPTS_INIT;
        char wanted[64];
        cbx_run *run = NULL;
        cbx_err err = CBX_ERR_INIT;
        o.phase = &phase;
        snprintf(wanted, sizeof wanted, "%s: planted", cases[i].fail);
        CHECK_STATUS(cbx_benchmark_measure(s->ctx, &model, &b, &o, &run, &err), CBX_EDOM, cases[i].fail);
        CHECK_STR(b.log, cases[i].log, "torn down, and nothing between");
        CHECK_STR(err.message, wanted, "its own words");
        CHECK_STR(phase, cases[i].fail, "the phase that failed");
        CHECK(run == NULL, "out is untouched");
    }
}

TEST(interrupted, open_state, close_state)
{
    state *s = *test_state;
    volatile sig_atomic_t stop = 0;
    bench b = { .stop_in_training = &stop };
    cbx_benchmark_measure_opts o = CBX_BENCHMARK_MEASURE_OPTS_INIT;
    cbx_run *run = NULL;
    cbx_err err = CBX_ERR_INIT;

    o.stop = &stop;
    CHECK_STATUS(cbx_benchmark_measure(s->ctx, &model, &b, &o, &run, &err), CBX_EINTERRUPTED, "in training");
    CHECK_STR(b.log, "std", "no evaluation, but a tear-down");
    memset(b.log, 0, sizeof b.log);
    CHECK_STATUS(cbx_benchmark_measure(s->ctx, &model, &b, &o, &run, &err), CBX_EINTERRUPTED, "before it began");
    CHECK_STR(b.log, "", "nothing was set up, nothing is torn down");
}

TEST(work_is_timed, open_state, close_state)
{
    static const cbx_benchmark_ops ops = {
        .struct_size = sizeof ops, .abi = CBX_BENCHMARK_ABI, .name = "w", .work = work, .teardown = teardown
    };
    state *s = *test_state;
    bench b = { 0 };
    cbx_benchmark_measure_opts o = CBX_BENCHMARK_MEASURE_OPTS_INIT;
    cbx_run *run = NULL;
    cbx_err err = CBX_ERR_INIT;

    o.samples = 9;
    o.sample_s = 1e-5;
    CHECK_OK(cbx_benchmark_measure(s->ctx, &ops, &b, &o, &run, &err), &err, "measure");
    CHECK_INT(metric(run, "batch_time")->nsamples, 9, "samples");
    CHECK(metric(run, "batch_time")->value > 0 && b.calls > 9, "of real calls");
    CHECK(!metric(run, "wall_clock") && !metric(run, "setup_seconds"), "what says nothing is left out");
    CHECK_INT(cbx_run_find_metric_def(run, "first_batch_time")->direction, CBX_DIRECTION_INFO,
              "no reason for an alarm");
    cbx_run_free(run);
    b = (bench){ .fail = "work" };
    run = NULL;
    CHECK_STATUS(cbx_benchmark_measure(s->ctx, &ops, &b, &o, &run, &err), CBX_EDOM, "the work's own status");
    CHECK_STR(err.message, "work: planted", "and words");
    CHECK_INT(b.calls, 1, "no call after the one that failed");
    CHECK_STR(b.log, "wd", "torn down");
}

static const cbx_benchmark_ops pass = { .struct_size = sizeof pass,
                                        .abi = CBX_BENCHMARK_ABI,
                                        .name = "pass",
                                        .teardown = teardown,
                                        .dataset = &numbers,
                                        .run_batch = run_batch };

TEST(batches, open_state, close_state)
{
    static const struct {
        size_t size, max, batches, examples, most, warmup, counted;
        const char *why;
    } cases[] = {
        { 4, 0, 3, 10, 4, 1, 2, "the last one is short" }, { 5, 0, 2, 10, 5, 0, 2, "all count" },
        { 1, 0, 10, 10, 1, 3, 7, "one by one" },           { 99, 0, 1, 10, 10, 5, 1, "one counts always" },
        { 3, 2, 2, 6, 3, 0, 2, "not the whole dataset" },
    };
    state *s = *test_state;

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        bench b = { 0 };
        cbx_benchmark_measure_opts o = CBX_BENCHMARK_MEASURE_OPTS_INIT;
        cbx_run *run = NULL;
        cbx_err err = CBX_ERR_INIT;
        double seconds = 0;
        size_t first;
        o.batch_size = cases[i].size;
        o.max_batches = cases[i].max;
        o.warmup = cases[i].warmup;
        CHECK_OK(cbx_benchmark_measure(s->ctx, &pass, &b, &o, &run, &err), &err, cases[i].why);
        CHECK_INT(b.batches, cases[i].batches, cases[i].why);
        CHECK_INT(b.examples, cases[i].examples, cases[i].why);
        CHECK_INT(b.most, cases[i].most, cases[i].why);
        CHECK_INT(metric(run, "batch_time")->nsamples, cases[i].counted, cases[i].why);
        for (size_t k = 0; k < cases[i].counted; k++) seconds += metric(run, "batch_time")->samples[k];
        first = cases[i].batches - cases[i].counted; /* batches that do not count */
        CHECK_LE(
            fabs(metric(run, "throughput")->value * seconds / (double)(cases[i].examples - first * cases[i].size) - 1),
            1e-9, "examples that count, by the time of their batches");
        CHECK(metric(run, "throughput")->value > 0 && metric(run, "wall_clock")->value > 0, cases[i].why);
        cbx_run_free(run);
    }
}

TEST(batches_of_the_dataset, open_state, close_state)
{
    static const cbx_benchmark_ops own = { .struct_size = sizeof own,
                                           .abi = CBX_BENCHMARK_ABI,
                                           .name = "own",
                                           .teardown = teardown,
                                           .dataset = &batchable,
                                           .run_batch = run_batch };
    state *s = *test_state;
    bench good = { 0 }, bad = { .fail = "long" };
    cbx_benchmark_measure_opts o = CBX_BENCHMARK_MEASURE_OPTS_INIT;
    cbx_run *run = NULL;
    cbx_err err = CBX_ERR_INIT;

    o.batch_size = 4;
    CHECK_OK(cbx_benchmark_measure(s->ctx, &own, &good, &o, &run, &err), &err, "whole and short batches");
    CHECK(good.batches == 3 && good.examples == 10 && good.most == 4, "each example once");
    cbx_run_free(run);
    run = NULL;
    CHECK_STATUS(cbx_benchmark_measure(s->ctx, &own, &bad, &o, &run, &err), CBX_ESHAPE, "more than there are");
    CHECK_STR(err.message, "the batch of dataset 'numbers' from example 8 on has 4 rows: get_batch has to give 2",
              "it would have been counted as 2");
    CHECK_INT(bad.batches, 2, "and none was run");
    CHECK_STR(strchr(bad.log, 'd'), "d", "torn down");
}

TEST(batches_that_fail, open_state, close_state)
{
    static const struct {
        const char *fail;
        cbx_status status;
        const char *message, *log;
    } cases[] = {
        { "names", CBX_EINVAL, "examples 0 and 3 of dataset 'numbers' differ in their arrays", "d" },
        { "batch", CBX_EDOM, "batch: planted", "bd" },
        { "expression", CBX_ESHAPE, NULL, "bd" },
    };
    state *s = *test_state;

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        bench b = { .fail = cases[i].fail };
        cbx_benchmark_measure_opts o = CBX_BENCHMARK_MEASURE_OPTS_INIT;
        cbx_run *run = NULL;
        cbx_err err = CBX_ERR_INIT;
        o.batch_size = 5;
        CHECK_STATUS(cbx_benchmark_measure(s->ctx, &pass, &b, &o, &run, &err), cases[i].status, cases[i].fail);
        if (cases[i].message) CHECK_STR(err.message, cases[i].message, cases[i].fail);
        CHECK_STR(b.log, cases[i].log, "torn down");
    }
}

TEST(options_that_are_refused, open_state, close_state)
{
    state *s = *test_state;
    bench b = { 0 };
    cbx_benchmark_measure_opts o = CBX_BENCHMARK_MEASURE_OPTS_INIT;
    cbx_json *list = cbx_json_new_array();
    cbx_run *run = NULL;
    cbx_err err = CBX_ERR_INIT;

    o.batch_size = 0;
    CHECK_STATUS(cbx_benchmark_measure(s->ctx, &pass, &b, &o, &run, &err), CBX_EINVAL, "no examples a batch");
    o.batch_size = 1;
    o.config = list;
    CHECK_STATUS(cbx_benchmark_measure(s->ctx, &pass, &b, &o, &run, &err), CBX_EINVAL, "no object");
    o.config = NULL;
    o.struct_size = 8;
    CHECK_STATUS(cbx_benchmark_measure(s->ctx, &pass, &b, &o, &run, &err), CBX_EINVAL, "another version");
    cbx_json_unref(list);
    CHECK_STR(b.log, "", "nothing ran");
}

static cbx_status measure_it(cbx_ctx *ctx, void *user)
{
    bench b = { .accuracy = 1 };
    cbx_benchmark_measure_opts o = CBX_BENCHMARK_MEASURE_OPTS_INIT;
    cbx_run *run = NULL;
    cbx_status st;

    o.batch_size = 4;
    o.no_resources = true; /* its thread takes memory of its own accord */
    st = cbx_benchmark_measure(ctx, user, &b, &o, &run, NULL);
    if (strchr(b.log, 's') || strchr(b.log, 'b')) CHECK(strchr(b.log, 'd') != NULL, "torn down without memory, too");
    cbx_run_free(run);
    return st;
}

TEST(every_allocation_may_fail)
{
    CHECK_GT(cbx_test_fail_each(measure_it, (void *)(uintptr_t)&model, "phases"), 5, "allocations were made to fail");
    CHECK_GT(cbx_test_fail_each(measure_it, (void *)(uintptr_t)&pass, "batches"), 5, "allocations were made to fail");
}

TESTS(.seconds = 600)
