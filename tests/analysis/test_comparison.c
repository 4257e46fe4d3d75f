/* Tables of competitors: labels, cells, winners by one rule, speed-ups, remarks. */
#include "check.h"

#include <math.h>

#include "calibrax/analysis/comparison.h"
#include "counted.h"
#include "runs.h"

static cbx_err err;

#define P(name, tags, metrics)                                                                                         \
    "{\"name\":\"" name "\",\"scenario\":\"s\",\"tags\":{" tags "},\"metrics\":{" metrics "}}"
#define GPU_CPU                                                                                                        \
    P("a", "\"dev\":\"cpu\",\"fw\":\"jax\"", "\"ms\":{\"value\":8}")                                                   \
    "," P("a", "\"dev\":\"gpu\",\"fw\":\"jax\"", "\"ms\":{\"value\":2}") "," P(                                        \
        "b", "\"dev\":\"cpu\",\"fw\":\"jax\"",                                                                         \
        "\"ms\":{\"value\":1},\"rate\":{\"value\":9},\"note\":{\"value\":1}") "," P("b",                               \
                                                                                    "\"dev\":\"gpu\",\"fw\":\"jax\"",  \
                                                                                    "\"ms\":{\"value\":2},\"rate\":{"  \
                                                                                    "\"value\":3}")

TEST(by_tag)
{
    cbx_run *run = runs_make(cbx_ctx_allocator(ctx), "m", RUNS_DEFS, GPU_CPU);
    const cbx_run *runs[] = { run };
    cbx_comparison_opts o = CBX_COMPARISON_OPTS_INIT;
    cbx_comparison *c = NULL;
    const cbx_comparison_row *row;
    const cbx_winner *w;

    o.group_tag = "dev";
    CHECK_OK(cbx_comparison_create(ctx, runs, NULL, 1, &o, &c, &err), &err, "compared");
    cbx_run_free(run);
    CHECK_INT(cbx_comparison_nlabels(c), 2, "two devices");
    CHECK_STR(cbx_comparison_label(c, 0), "cpu", "in order");
    CHECK_STR(cbx_comparison_label(c, 1), "gpu", "in order");
    CHECK_INT(cbx_comparison_nrows(c), 4, "a:ms, b:ms, b:rate, b:note");
    row = cbx_comparison_row_at(c, 0);
    CHECK_STR(row->key, "a@s{fw=jax}:ms", "the group tag is no part of a row");
    CHECK(row->cells[0].speedup.value == 1 && row->cells[1].speedup.value == 4, "4 times faster");
    CHECK(row->cells[0].rank == 2 && row->cells[1].rank == 1 && row->cells[0].delta == 3, "ranks");
    row = cbx_comparison_row_at(c, 2);
    CHECK_STR(row->metric, "rate", "metric");
    CHECK_LE(fabs(row->cells[1].speedup.value - 1.0 / 3), 1e-15, "a third of the rate");
    row = cbx_comparison_row_at(c, 3);
    CHECK(row->nmissing == 1 && isnan(row->cells[1].value) && row->cells[0].rank == 0, "info has no ranks");
    CHECK_INT(cbx_comparison_nwinners(c), 3, "ms, rate, all");
    w = cbx_comparison_winner(c, 0);
    CHECK_STR(w->label, "gpu", "ms: 4 and 1/2");
    CHECK_LE(fabs(w->score - sqrt(0.5)), 1e-12, "best once, half once");
    CHECK_STR(cbx_comparison_winner(c, 1)->label, "cpu", "rate");
    w = cbx_comparison_winner(c, 2);
    CHECK_STR(w->label, "cpu", "over all: 1/4, 2, 3");
    CHECK(!w->metric && w->nrows == 3, "over three rows");
    CHECK(!cbx_comparison_winner(c, 3) && !cbx_comparison_row_at(c, 4) && !cbx_comparison_label(c, 2), "past the end");
    cbx_comparison_free(c);
}

TEST(by_run)
{
    cbx_run *a = runs_make(cbx_ctx_allocator(ctx), "m", RUNS_DEFS,
                           RUNS_POINT("\"ms\":{\"value\":4},\"rate\":{\"value\":0}"));
    cbx_run *b = runs_make(cbx_ctx_allocator(ctx), "m", RUNS_DEFS,
                           RUNS_POINT("\"ms\":{\"value\":4},\"rate\":{\"value\":0}"));
    const cbx_run *runs[] = { a, b }, *same[] = { a, a };
    const char *labels[] = { "old", "new" }, *twice[] = { "x", "x" }, *only[] = { "ms" };
    cbx_comparison_opts o = CBX_COMPARISON_OPTS_INIT;
    cbx_comparison *c = NULL;

    o.reference = "new";
    CHECK_OK(cbx_comparison_create(ctx, runs, labels, 2, &o, &c, &err), &err, "compared");
    CHECK_INT(cbx_comparison_reference(c), 1, "the second");
    CHECK(cbx_comparison_row_at(c, 0)->cells[0].rank == 1 && cbx_comparison_row_at(c, 0)->cells[1].rank == 1, "a draw");
    CHECK(cbx_comparison_winner(c, 0)->label == NULL, "a draw has no winner");
    CHECK(cbx_comparison_row_at(c, 1)->cells[1].delta == 0 &&
              isnan(cbx_comparison_row_at(c, 1)->cells[0].speedup.value),
          "0 and 0");
    CHECK(cbx_comparison_winner(c, 1)->nrows == 0, "no ratio of 0");
    cbx_comparison_free(c);
    o.metrics = only;
    o.nmetrics = 1;
    CHECK_OK(cbx_comparison_create(ctx, runs, labels, 2, &o, &c, &err), &err, "one metric");
    CHECK_INT(cbx_comparison_nrows(c), 1, "one metric");
    cbx_comparison_free(c);
    c = NULL;
    only[0] = "sm";
    CHECK_STATUS(cbx_comparison_create(ctx, runs, labels, 2, &o, &c, &err), CBX_ENOENT, "no run has it");
    CHECK(strstr(err.message, "'sm'"), "and it is named");
    only[0] = "ms";
    CHECK_STATUS(cbx_comparison_create(ctx, runs, twice, 2, &o, &c, &err), CBX_EINVAL, "two of a name");
    CHECK_STATUS(cbx_comparison_create(ctx, runs, labels, 1, NULL, &c, &err), CBX_EINVAL, "alone");
    CHECK_STATUS(cbx_comparison_create(ctx, runs, labels, 0, NULL, &c, &err), CBX_EINVAL, "no runs");
    CHECK_STATUS(cbx_comparison_create(ctx, same, NULL, 2, NULL, &c, &err), CBX_EINVAL, "two runs of one id are one");
    o.reference = "newer";
    CHECK_STATUS(cbx_comparison_create(ctx, runs, labels, 2, &o, &c, &err), CBX_EINVAL, "no such reference");
    CHECK(c == NULL, "nothing came of it");
    cbx_run_free(a);
    cbx_run_free(b);
}

TEST(clashes)
{
    cbx_run *twice = runs_make(cbx_ctx_allocator(ctx), "m", RUNS_DEFS,
                               GPU_CPU "," P("a", "\"dev\":\"cpu\",\"fw\":\"jax\"", "\"ms\":{\"value\":5}"));
    cbx_run *seconds = runs_make(cbx_ctx_allocator(ctx), "m",
                                 "\"ms\":{\"name\":\"ms\",\"unit\":\"s\",\"direction\":\"lower\"}",
                                 RUNS_POINT("\"ms\":{\"value\":1}"));
    const cbx_run *one[] = { twice }, *two[] = { twice, seconds };
    const char *labels[] = { "a", "b" };
    cbx_comparison_opts o = CBX_COMPARISON_OPTS_INIT;
    cbx_comparison *c = NULL;

    o.group_tag = "dev";
    CHECK_STATUS(cbx_comparison_create(ctx, one, NULL, 1, &o, &c, &err), CBX_EEXIST, "which of the two would win?");
    CHECK(strstr(err.message, "cpu") && strstr(err.message, "a@s{fw=jax}:ms"), "named");
    cbx_run_free(twice);
    two[0] = twice = runs_make(cbx_ctx_allocator(ctx), "m", RUNS_DEFS, GPU_CPU);
    CHECK_STATUS(cbx_comparison_create(ctx, two, labels, 2, &o, &c, &err), CBX_EFORMAT, "ms in s");
    cbx_run_free(twice);
    cbx_run_free(seconds);
}

#define SEVEN(a) "[" #a ".1," #a ".2," #a ".3," #a ".4," #a ".5," #a ".6," #a ".7]"

TEST(intervals_and_remarks)
{
    cbx_run *a = runs_make(
        cbx_ctx_allocator(ctx), "m", RUNS_DEFS,
        RUNS_POINT("\"ms\":{\"value\":20.4,\"samples\":" SEVEN(20) "},\"rate\":{\"value\":1,\"samples\":[1,2]}"));
    cbx_run *b = runs_make(cbx_ctx_allocator(ctx), "n", RUNS_DEFS,
                           RUNS_POINT("\"ms\":{\"value\":10.4,\"samples\":" SEVEN(10) "}"));
    const cbx_run *runs[] = { a, b };
    const char *labels[] = { "a", "b" };
    cbx_comparison *c = NULL;
    const cbx_comparison_cell *cell;
    bool rules[13] = { false };
    double ratio[49];

    CHECK_OK(cbx_comparison_create(ctx, runs, labels, 2, NULL, &c, &err), &err, "compared");
    cell = &cbx_comparison_row_at(c, 0)->cells[1];
    CHECK_LE(fabs(cell->speedup.value - 20.4 / 10.4), 1e-12, "value");
    for (int i = 0; i < 7; i++)
        for (int k = 0; k < 7; k++) ratio[7 * i + k] = (20.1 + 0.1 * i) / (10.1 + 0.1 * k);
    cbx_stat_sort(ratio, 49); /* 2 P(U < 9) = 0.0379 of the Mann-Whitney test of 7 and 7 */
    CHECK_LE(fabs(cell->speedup.lower - ratio[8]), 1e-12, "lower");
    CHECK_LE(fabs(cell->speedup.upper - ratio[40]), 1e-12, "upper");
    CHECK_GT(cell->speedup.level, 0.95, "level");
    for (size_t i = 0; i < cbx_comparison_nremarks(c); i++) {
        int rule = 0;
        CHECK(cbx_comparison_remark(c, i, &rule)[0] != 0, "a sentence");
        rules[rule] = true;
    }
    CHECK(rules[1] && rules[2] && rules[6] && rules[9], "base, a missing cell, few samples, two machines");
    CHECK(!rules[5] && !rules[7] && !rules[4], "with an interval that does not hold 1, and one row");
    CHECK(cbx_comparison_remark(c, 99, NULL) == NULL, "past the end");
    cbx_comparison_free(c);
    cbx_run_free(a);
    cbx_run_free(b);
}

static cbx_status one_comparison(cbx_ctx *k, void *user)
{
    const cbx_run *runs[] = { user };
    cbx_comparison_opts o = CBX_COMPARISON_OPTS_INIT;
    cbx_comparison *c = NULL;
    cbx_err e;
    cbx_status st;

    o.group_tag = "dev";
    st = cbx_comparison_create(k, runs, NULL, 1, &o, &c, &e);
    cbx_comparison_free(c);
    return st;
}

TEST(out_of_memory)
{
    cbx_run *run = runs_make(cbx_ctx_allocator(ctx), "m", RUNS_DEFS, GPU_CPU);

    CHECK_GT(cbx_test_fail_each(one_comparison, run, "cbx_comparison_create"), 2, "allocations failed");
    cbx_run_free(run);
}

TESTS(.setup = counted_setup, .teardown = counted_teardown)
