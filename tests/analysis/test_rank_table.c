/*
 * The table that rankings are made in: the same rows, competitors, ranks and distances as the
 * comparison of the same runs, which holds them all; what is refused, and when; samples until there
 * are too many competitors.
 */
#include "calibrax/analysis/rank_table.h"

#include <math.h>
#include <string.h>

#include "calibrax/analysis/comparison.h"
#include "fail_alloc.h"
#include "runs.h"

#define TAGGED(name, tag, more, metrics)                                                                               \
    "{\"name\":\"" name "\",\"scenario\":\"s\",\"tags\":{\"by\":\"" tag "\"" more "},\"metrics\":{" metrics "}}"
#define MS(v)   "\"ms\":{\"value\":" v ",\"samples\":[" v "," v "]}"
#define RATE(v) "\"rate\":{\"value\":" v "}"

static cbx_err err;

/* Three competitors, of which the second run knows one more; a NaN, a hole, a metric without
 * a side. */
static void make_runs(cbx_run *runs[2])
{
    const cbx_allocator *al = cbx_allocator_default();

    runs[0] = runs_make(al, NULL, RUNS_DEFS,
                        TAGGED("p", "b", ",\"z\":\"1\",\"a\":\"2\"", MS("3") "," RATE("5")) "," TAGGED(
                            "p", "a", ",\"a\":\"2\",\"z\":\"1\"",
                            MS("2") "," RATE("NaN")) "," TAGGED("a", "a", "", "\"note\":{\"value\":1}"));
    runs[1] = runs_make(al, NULL, RUNS_DEFS,
                        TAGGED("p", "c", ",\"a\":\"2\",\"z\":\"1\"", MS("2")) "," RUNS_POINT(MS("7")) "," TAGGED(
                            "q", "c", "", RATE("4")) "," TAGGED("q", "b", "", RATE("4")));
}

static cbx_status take(cbx_ctx *ctx, const cbx_rank_table_opts *o, cbx_run *const *runs, size_t n, cbx_rank_table **out)
{
    cbx_status st = cbx_rank_table_create(ctx, o, out, &err);

    for (size_t i = 0; !st && i < n; i++) st = cbx_rank_table_add(*out, runs[i], NULL, &err);
    return st ? st : cbx_rank_table_close(*out, &err);
}

static const cbx_comparison_cell *compared(const cbx_comparison *c, size_t row, const cbx_rank_cell *cell)
{
    return &cbx_comparison_row_at(c, row)->cells[cell->competitor];
}

static void check_row(cbx_rank_table *t, const cbx_comparison *c, size_t i)
{
    const cbx_comparison_row *wanted = cbx_comparison_row_at(c, i);
    cbx_rank_row row = cbx_rank_table_row(t, i);
    cbx_rank_cell cells[8];
    size_t before = 0;

    CHECK_STR(row.key, wanted->key, "rows in the same order");
    CHECK_STR(row.metric, wanted->metric, row.key);
    CHECK_STR(row.unit, wanted->unit, row.key);
    CHECK_INT(row.direction, wanted->direction, row.key);
    CHECK_INT(row.nnumbers, cbx_comparison_nlabels(c) - wanted->nmissing, row.key);
    CHECK_OK(cbx_rank_table_cells(t, i, cells, &err), &err, row.key);
    for (size_t k = 0; k < row.ncells; k++) {
        const cbx_comparison_cell *cell = compared(c, i, &cells[k]);
        CHECK(cell->measured, row.key);
        CHECK(!memcmp(&cells[k].value, &cell->value, sizeof cell->value), row.key);
        CHECK_INT(cells[k].rank, cell->rank, row.key);
        CHECK(cells[k].delta == cell->delta || (isnan(cells[k].delta) && isnan(cell->delta)), row.key);
        CHECK_INT(cells[k].nsamples, cell->nsamples, row.key);
        if (cells[k].nsamples)
            CHECK(!memcmp(cells[k].samples, cell->samples, cell->nsamples * sizeof(double)), row.key);
        CHECK(row.direction == CBX_DIRECTION_INFO || !cells[k].rank || cells[k].rank >= before, "best first");
        before = cells[k].rank;
    }
}

TEST(as_a_comparison)
{
    static const char *const tags[] = { "by", NULL, "other" };
    cbx_ctx *ctx = cbx_test_context();
    cbx_run *runs[2];

    make_runs(runs);
    for (size_t k = 0; k < CBX_LEN(tags); k++) {
        cbx_rank_table_opts o = CBX_RANK_TABLE_OPTS_INIT;
        cbx_comparison_opts co = CBX_COMPARISON_OPTS_INIT;
        cbx_comparison *c = NULL;
        cbx_rank_table *t = NULL;
        o.samples_max = 100;
        o.group_tag = co.group_tag = tags[k];
        CHECK_OK(take(ctx, &o, runs, 2, &t), &err, "table");
        CHECK_OK(cbx_comparison_create(ctx, (const cbx_run *const *)runs, NULL, 2, &co, &c, &err), &err, "comparison");
        CHECK_INT(cbx_rank_table_ncompetitors(t), cbx_comparison_nlabels(c), "competitors");
        CHECK_INT(cbx_rank_table_nrows(t), cbx_comparison_nrows(c), "rows");
        for (size_t i = 0; i < cbx_comparison_nlabels(c); i++)
            CHECK_STR(cbx_rank_table_competitor(t, i), cbx_comparison_label(c, i), "in order of first appearance");
        for (size_t i = 0; i < cbx_comparison_nrows(c); i++) check_row(t, c, i);
        CHECK(!cbx_rank_table_competitor(t, cbx_comparison_nlabels(c)), "past the end");
        CHECK(!cbx_rank_table_dropped_samples(t), "samples are kept");
        cbx_rank_table_free(t);
        cbx_comparison_free(c);
    }
    for (size_t i = 0; i < 2; i++) cbx_run_free(runs[i]);
    cbx_ctx_free(ctx);
}

TEST(samples_of_few)
{
    cbx_rank_table_opts o = CBX_RANK_TABLE_OPTS_INIT;
    cbx_rank_table *t = NULL;
    cbx_ctx *ctx = cbx_test_context();
    cbx_rank_cell cells[8];
    cbx_run *runs[2];

    make_runs(runs);
    o.group_tag = "by";
    for (o.samples_max = 2; o.samples_max < 5; o.samples_max++) { /* there are four competitors */
        CHECK_OK(take(ctx, &o, runs, 2, &t), &err, "table");
        CHECK_OK(cbx_rank_table_cells(t, 0, cells, &err), &err, "cells");
        CHECK_INT(cells[0].nsamples, o.samples_max < 4 ? 0 : 2, "all of them or none");
        CHECK(cbx_rank_table_dropped_samples(t) == (o.samples_max < 4), "and said");
        cbx_rank_table_free(t);
    }
    for (size_t i = 0; i < 2; i++) cbx_run_free(runs[i]);
    cbx_ctx_free(ctx);
}

TEST(refusals)
{
    static const char *const none = "none";
    const cbx_allocator *al = cbx_allocator_default();
    cbx_run *one = runs_make(al, NULL, RUNS_DEFS, RUNS_POINT(MS("1")));
    cbx_run *two = runs_make(al, NULL, RUNS_DEFS, RUNS_POINT(MS("1")));
    cbx_run *other = runs_make(al, NULL, "\"ms\":{\"name\":\"ms\",\"unit\":\"s\",\"direction\":\"lower\"}",
                               RUNS_POINT(MS("1")));
    cbx_run *twice = runs_make(al, NULL, RUNS_DEFS, TAGGED("p", "a", "", MS("1")) "," TAGGED("p", "a", "", MS("2")));
    cbx_run *const pairs[][2] = { { one, one }, { one, two }, { one, other }, { twice, twice } };
    static const struct {
        size_t pair, n;
        const char *tag, *const *metrics;
        cbx_status wanted;
        const char *part, *why;
    } cases[] = {
        { 1, 2, NULL, NULL, CBX_OK, "", "two runs are two" },
        { 0, 1, NULL, NULL, CBX_EINVAL, "there is 1", "one competitor cannot be ranked" },
        { 0, 1, "by", NULL, CBX_EINVAL, "no point has the tag 'by'", "the remedy" },
        { 0, 0, NULL, NULL, CBX_EINVAL, "there are 0", "nothing at all" },
        { 0, 2, NULL, NULL, CBX_EEXIST, "has two values for 'p@s{}:ms'", "a run twice" },
        { 3, 1, "by", NULL, CBX_EEXIST, "'a' has two values for 'p@s{}:ms'", "within a run" },
        { 2, 2, NULL, NULL, CBX_EFORMAT, "the unit or direction of 'ms' in run", "units" },
        { 1, 2, NULL, &none, CBX_ENOENT, "'none'", "a misspelt metric" },
    };
    cbx_ctx *ctx = cbx_test_context();

    for (size_t i = 0; i < CBX_LEN(cases); i++) {
        cbx_rank_table_opts o = CBX_RANK_TABLE_OPTS_INIT;
        cbx_rank_table *t = NULL;
        o.group_tag = cases[i].tag;
        o.metrics = cases[i].metrics;
        o.nmetrics = cases[i].metrics != NULL;
        CHECK_STATUS(take(ctx, &o, pairs[cases[i].pair], cases[i].n, &t), cases[i].wanted, cases[i].why);
        if (cases[i].wanted) CHECK(strstr(err.message, cases[i].part), err.message);
        cbx_rank_table_free(t);
    }
    cbx_run_free(one);
    cbx_run_free(two);
    cbx_run_free(other);
    cbx_run_free(twice);
    cbx_ctx_free(ctx);
}

static cbx_status rank_all(cbx_ctx *ctx, void *user)
{
    cbx_rank_table_opts o = CBX_RANK_TABLE_OPTS_INIT;
    cbx_rank_table *t = NULL;
    cbx_rank_cell cells[8];
    cbx_status st;

    o.group_tag = "by";
    o.samples_max = 3;
    st = take(ctx, &o, user, 2, &t);
    if (!st) st = cbx_rank_table_cells(t, 0, cells, &err);
    cbx_rank_table_free(t);
    return st;
}

TEST(memory_runs_out)
{
    cbx_run *runs[2];

    make_runs(runs);
    CHECK_GT(cbx_test_fail_each(rank_all, runs, "a table"), 10, "something was allocated");
    for (size_t i = 0; i < 2; i++) cbx_run_free(runs[i]);
}

TESTS()
