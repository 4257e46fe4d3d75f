/*
 * Benchmarks to run, good and bad, as a user would write them.  config.log names a file that gets a
 * line a phase; config.fail names the phase that fails, config.crash the one that ends the process,
 * config.hang the one that takes for ever.
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/array/ops.h"
#include "calibrax/perf/case/plugin.h"

typedef struct bench {
    char *log, *fail, *crash, *hang;
    double value;
    size_t seen;
} bench;

static char *copied(const cbx_json *config, const char *key)
{
    const char *s = cbx_json_get_string(config, key, NULL);
    return s ? strdup(s) : NULL;
}

static void leave(void) { _exit(9); }

static cbx_status make(cbx_ctx *ctx, const cbx_json *config, void **self, cbx_err *err)
{
    bench *b = calloc(1, sizeof *b);

    (void)ctx;
    b->log = copied(config, "log");
    b->fail = copied(config, "fail");
    b->crash = copied(config, "crash");
    b->hang = copied(config, "hang");
    if (b->crash && strcmp(b->crash, "exit") == 0) atexit(leave); /* when the answer is given already */
    b->value = cbx_json_get_double(config, "value", 0.9);
    if (b->fail && strcmp(b->fail, "create") == 0) {
        free(b->log), free(b->fail), free(b->crash), free(b->hang), free(b);
        return cbx_fail(err, CBX_EINVAL, "create was told to fail");
    }
    *self = b;
    return CBX_OK;
}

static void unmake(void *self)
{
    bench *b = self;
    free(b->log), free(b->fail), free(b->crash), free(b->hang), free(b);
}

static bool is(const char *word, const char *phase) { return word && strcmp(word, phase) == 0; }

static cbx_status enter(bench *b, const char *phase, cbx_err *err)
{
    FILE *f = b->log ? fopen(b->log, "a") : NULL;

    if (f) {
        fprintf(f, "%s\n", phase);
        fclose(f);
    }
    if (is(b->crash, phase)) {
        signal(SIGSEGV, SIG_DFL); /* a sanitizer would make an exit status of it */
        raise(SIGSEGV);
    }
    for (int i = 0; is(b->hang, phase) && i < 600; i++) usleep(10000);
    return is(b->fail, phase) ? cbx_fail(err, CBX_EDOM, "%s was told to fail", phase) : CBX_OK;
}

static cbx_status setup(cbx_ctx *ctx, void *self, cbx_err *err)
{
    (void)ctx;
    return enter(self, "setup", err);
}

static cbx_status train(cbx_ctx *ctx, void *self, cbx_values *out, cbx_err *err)
{
    cbx_status st = enter(self, "training", err);

    (void)ctx;
    if (!st) st = cbx_values_add(out, "loss", 0.25, err);
    return st ? st : cbx_values_add(out, "accuracy", 0.1, err);
}

static cbx_status evaluate(cbx_ctx *ctx, void *self, cbx_values *out, cbx_err *err)
{
    bench *b = self;
    cbx_status st = enter(b, "evaluation", err);

    (void)ctx;
    return st ? st : cbx_values_add(out, "accuracy", b->value, err);
}

static cbx_status targets(cbx_ctx *ctx, void *self, cbx_values *out, cbx_err *err)
{
    cbx_status st = enter(self, "targets", err);

    (void)ctx;
    return st ? st : cbx_values_add(out, "accuracy", 0.8, err);
}

static void teardown(cbx_ctx *ctx, void *self)
{
    (void)ctx;
    (void)enter(self, "teardown", NULL);
}

static const cbx_metric_def defs[] = {
    { "accuracy", "1", CBX_DIRECTION_HIGHER, "quality", CBX_PRIORITY_PRIMARY, "share of right answers" },
    { "loss", "1", CBX_DIRECTION_LOWER, "quality", CBX_PRIORITY_SECONDARY, "" },
};

/* --- work --- */

static cbx_status add_up(cbx_ctx *ctx, void *self, cbx_err *err)
{
    bench *b = self;
    volatile double x = 0;

    (void)ctx;
    if (is(b->fail, "work") || is(b->crash, "work") || is(b->hang, "work")) return enter(b, "work", err);
    for (int i = 0; i < 2000; i++) x += 1.0;
    (void)x;
    return CBX_OK;
}

/* --- a dataset: example i is {"x": [i, i+1, i+2], "y": i} --- */

#define EXAMPLES 10

static size_t length(const void *self)
{
    (void)self;
    return EXAMPLES;
}

static cbx_status column(cbx_ctx *ctx, size_t n, size_t width, size_t start, cbx_array **out, cbx_err *err)
{
    cbx_array_desc d = { CBX_F64, width ? 2 : 1, { n, width } };
    cbx_status st;
    double *x;

    if (n == 0) { /* one example */
        d.ndim = width ? 1 : 0;
        d.shape[0] = width;
        n = 1;
    }
    st = cbx_array_create(ctx, &d, out, err);
    if (st) return st;
    x = cbx_array_data_mut(*out);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < (width ? width : 1); k++) x[i * (width ? width : 1) + k] = (double)(start + i + k);
    return CBX_OK;
}

static cbx_status two(cbx_ctx *ctx, size_t n, size_t start, cbx_named_array *out, size_t *count, cbx_err *err)
{
    cbx_array *x = NULL, *y = NULL;
    cbx_status st = column(ctx, n, 3, start, &x, err);

    if (!st) st = column(ctx, n, 0, start, &y, err);
    if (st) {
        cbx_array_free(x);
        return st;
    }
    out[0] = (cbx_named_array){ "x", x };
    out[1] = (cbx_named_array){ "y", y };
    *count = 2;
    return CBX_OK;
}

static cbx_status get(cbx_ctx *ctx, void *self, size_t i, cbx_named_array *out, size_t room, size_t *n, cbx_err *err)
{
    (void)self;
    (void)room;
    return two(ctx, 0, i, out, n, err);
}

static cbx_status get_batch(cbx_ctx *ctx, void *self, size_t size, size_t start, cbx_named_array *out, size_t room,
                            size_t *n, cbx_err *err)
{
    (void)self;
    (void)room;
    return two(ctx, start + size < EXAMPLES ? size : EXAMPLES - start, start, out, n, err);
}

static const cbx_dataset_ops one_by_one = { sizeof one_by_one, CBX_DATASET_ABI, "numbers", length, get, NULL };
static const cbx_dataset_ops batchable = { sizeof batchable, CBX_DATASET_ABI, "numbers", length, get, get_batch };

/* Checks what it gets, and leaves a temporary to the scope. */
static cbx_status run_batch(cbx_ctx *ctx, void *self, const cbx_named_array *batch, size_t n, cbx_err *err)
{
    bench *b = self;
    const double *x = n == 2 ? cbx_array_data(batch[0].array) : NULL, *y = x ? cbx_array_data(batch[1].array) : NULL;
    size_t rows = x ? cbx_array_dim(batch[0].array, 0) : 0;

    if (is(b->fail, "work")) return enter(b, "work", err);
    if (!x || cbx_array_ndim(batch[0].array) != 2 || cbx_array_count(batch[1].array) != rows)
        return cbx_fail(err, CBX_ESHAPE, "a batch of other arrays");
    for (size_t i = 0; i < rows; i++) {
        double wanted = (double)b->seen++;
        if (x[3 * i] != wanted || x[3 * i + 2] != wanted + 2 || y[i] != wanted || strcmp(batch[1].name, "y") != 0)
            return cbx_fail(err, CBX_EDOM, "example %g is not what it should be", wanted);
    }
    cbx_sqrt(ctx, batch[0].array);
    if (is(b->fail, "expression")) cbx_add(ctx, batch[0].array, batch[1].array); /* shapes that do not fit */
    return CBX_OK;
}

static cbx_status count(cbx_ctx *ctx, void *self, cbx_values *out, cbx_err *err)
{
    (void)ctx;
    return cbx_values_add(out, "examples", (double)((bench *)self)->seen, err);
}

/* --- the list --- */

static const cbx_benchmark_ops model = { sizeof model, CBX_BENCHMARK_ABI, "model", "vision", setup, train, evaluate,
                                         teardown,     targets,           defs,    2,        NULL,  NULL,  NULL };
static const cbx_benchmark_ops sum = { .struct_size = sizeof sum,
                                       .abi = CBX_BENCHMARK_ABI,
                                       .name = "sum",
                                       .setup = setup,
                                       .teardown = teardown,
                                       .work = add_up };
static const cbx_benchmark_ops pass = { .struct_size = sizeof pass,
                                        .abi = CBX_BENCHMARK_ABI,
                                        .name = "pass",
                                        .domain = "data",
                                        .run_evaluation = count,
                                        .teardown = teardown,
                                        .dataset = &batchable,
                                        .run_batch = run_batch };
static const cbx_benchmark_ops stack = { .struct_size = sizeof stack,
                                         .abi = CBX_BENCHMARK_ABI,
                                         .name = "stack",
                                         .domain = "data",
                                         .run_evaluation = count,
                                         .teardown = teardown,
                                         .dataset = &one_by_one,
                                         .run_batch = run_batch };
/* compiled against the first header */
static const cbx_benchmark_ops old = { .struct_size = 80, .abi = 1, .name = "old", .run_evaluation = evaluate };

static const cbx_plugin_benchmark list[] = { { &model, make, unmake },
                                             { &sum, make, unmake },
                                             { &pass, make, unmake },
                                             { &stack, make, unmake },
                                             { &old, make, unmake } };
CBX_BENCHMARK_PLUGIN(list, sizeof list / sizeof *list);
