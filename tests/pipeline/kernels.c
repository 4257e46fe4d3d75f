/*
 * One thing the library does, some number of times: what the pipeline's report runs under `nperf
 * exec`, beside kernels.py.
 *
 *     pipeline_kernels NAME TIMES DATA      DATA: doubles of this machine; for append: a store
 *
 * TIMES 0 does all but the thing itself, so that the difference to TIMES n is n times its cost.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/analysis/changepoint.h"
#include "calibrax/statistics/bootstrap.h"
#include "calibrax/storage/store.h"

#define SERIES_LENGTH 500

/* Appending is measured without what the disk takes: the library's calls come here. */
CBX_API int fsync(int fd)
{
    (void)fd;
    return 0;
}

typedef struct job {
    cbx_ctx *ctx;
    const char *data;
    double *x;
    size_t n;
    cbx_err err;
} job;

static cbx_status read_data(job *j)
{
    FILE *f = fopen(j->data, "rb");
    long bytes;

    if (!f || fseek(f, 0, SEEK_END) != 0 || (bytes = ftell(f)) < 0)
        return cbx_fail(&j->err, CBX_EIO, "cannot read '%s'", j->data);
    rewind(f);
    j->n = (size_t)bytes / sizeof *j->x;
    j->x = malloc((size_t)bytes + 1);
    if (!j->x || fread(j->x, sizeof *j->x, j->n, f) != j->n)
        return cbx_fail(&j->err, CBX_EIO, "cannot read '%s'", j->data);
    fclose(f);
    return CBX_OK;
}

/* 10,000 resamples of the mean, percentile interval, one thread. */
static cbx_status bootstrap(job *j, int times)
{
    cbx_boot_opts o = CBX_BOOT_OPTS_INIT;
    cbx_interval iv;
    cbx_status st = read_data(j);

    o.method = CBX_BOOT_PERCENTILE;
    o.resamples = 10000;
    o.threads = 1;
    for (int i = 0; !st && i < times; i++) st = cbx_stat_bootstrap(j->ctx, j->x, j->n, NULL, 0, &o, &iv, &j->err);
    return st;
}

/* The whole file as one series, penalty 2 ln n of noise with deviation 1. */
static cbx_status changes(job *j, int times)
{
    cbx_changepoint_opts o = CBX_CHANGEPOINT_OPTS_INIT;
    cbx_status st = read_data(j);
    size_t *index = st ? NULL : malloc(j->n * sizeof *index), count = 0;

    o.penalty = 20;
    o.min_segment = 2;
    for (int i = 0; !st && index && i < times; i++)
        st = cbx_changepoints_find(j->ctx, j->x, j->n, &o, index, &count, &j->err);
    free(index);
    return st;
}

/* Each SERIES_LENGTH values a series. */
static cbx_status series(job *j, int times)
{
    cbx_changepoint_opts o = CBX_CHANGEPOINT_OPTS_INIT;
    size_t index[SERIES_LENGTH], count;
    cbx_status st = read_data(j);

    o.penalty = 20;
    o.min_segment = 2;
    for (int i = 0; !st && i < times; i++)
        for (size_t at = 0; !st && at + SERIES_LENGTH <= j->n; at += SERIES_LENGTH)
            st = cbx_changepoints_find(j->ctx, j->x + at, SERIES_LENGTH, &o, index, &count, &j->err);
    return st;
}

static cbx_status append_one(job *j, cbx_store *store, const cbx_run *like, int number)
{
    char id[64];
    cbx_run_builder *b = NULL;
    cbx_run *run = NULL;
    cbx_status st = cbx_run_builder_from(j->ctx, like, &b, &j->err);

    snprintf(id, sizeof id, "new-%ld-%d", (long)getpid(), number);
    if (!st) st = cbx_run_builder_set_id(b, id, &j->err);
    if (!st) st = cbx_run_builder_freeze(b, &run, &j->err);
    cbx_run_builder_free(b);
    if (!st) st = cbx_store_save(store, run, false, &j->err);
    cbx_run_free(run);
    return st;
}

/* Runs like the baseline's, under names of their own; whoever made the store throws them away. */
static cbx_status append(job *j, int times)
{
    cbx_store *store = NULL;
    cbx_run *like = NULL;
    cbx_status st = cbx_store_open(j->ctx, j->data, NULL, &store, &j->err);

    if (!st) st = cbx_store_baseline_get(store, NULL, &like, &j->err);
    for (int i = 0; !st && i < times; i++) st = append_one(j, store, like, i);
    cbx_run_free(like);
    cbx_store_close(store);
    return st;
}

static const struct {
    const char *name;
    cbx_status (*run)(job *j, int times);
} kernels[] = { { "bootstrap", bootstrap }, { "changes", changes }, { "series", series }, { "append", append } };

int main(int argc, char **argv)
{
    job j = { .data = argc == 4 ? argv[3] : NULL };
    cbx_status st = CBX_EINVAL;

    if (!j.data) {
        fprintf(stderr, "usage: pipeline_kernels NAME TIMES DATA\n");
        return 2;
    }
    if (cbx_ctx_create(NULL, &j.ctx, &j.err)) return 2;
    cbx_fail(&j.err, st, "unknown kernel '%s'", argv[1]);
    for (size_t i = 0; i < CBX_LEN(kernels); i++)
        if (strcmp(argv[1], kernels[i].name) == 0) st = kernels[i].run(&j, atoi(argv[2]));
    if (st) fprintf(stderr, "pipeline_kernels: %s\n", j.err.message);
    free(j.x);
    cbx_ctx_free(j.ctx);
    return st ? 2 : 0;
}
