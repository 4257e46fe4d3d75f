/*
 * calibrax compare: runs, or the values of a tag, side by side; compare_diff.c, compare_rank.c and
 * compare_pareto.c are its other modes.
 */
#include "programs/calibrax/compare.h"

#include <math.h>
#include <string.h>

#include "calibrax/analysis/comparison.h"
#include "programs/calibrax/calibrax.h"
#include "programs/common/columns.h"
#include "programs/common/output.h"

static const compare_args compare_defaults = { .level = 0.95, .draws = 1000, .seed = 1 };

#define AT(member) offsetof(compare_args, member)

static const opt_spec compare_options[] = {
    SELECT_STORE_ROWS,
    INPUTS_ROWS,
    OPT("by", 0, STRING, by, "TAG", "none, each run is a competitor; framework with --rank",
        "compare the values of this tag, within one run or across runs"),
    OPT("metrics", 'm', LIST, metrics, "NAME,...", "all", "these metrics", "@metrics"),
    OPT("metric", 0, LIST, metrics, "NAME", NULL, NULL, "@metrics"),
    OPT("reference", 0, STRING, reference, "LABEL", "the first", "the competitor that speed-ups refer to"),
    OPT("level", 0, SHARE, level, "X", "0.95", "confidence level of the intervals of speed-ups"),
    OPT_SWITCH("allow-other-machine", 0, allow_machines, "compare runs of different machines, with a note"),
    SELECT_JSON_ROW,
    OPT_SWITCH("diff", 0, diff, "show the differences between two runs"),
    OPT_SWITCH("rank", 0, rank, "rank competitors over many metrics, with confidence"),
    OPT("pareto", 0, LIST, objectives, "METRIC,...", NULL,
        "find the Pareto front: the points that no other point dominates in two or more objectives; METRIC=lower or "
        "METRIC=higher overrides the direction of the metric",
        "@metrics"),
    { "Differences, with --diff", 0, OPT_GROUP, 0, "diff", NULL,
      "Lists the points and metrics that only one of two runs has, the values that changed, by how much and in which "
      "direction, and the differences in commit, environment and metadata. It gives no verdict; 'check' does." },
    OPT("threshold", 0, NUMBER, threshold, "X", "0", "ignore smaller relative changes of a value"),
    OPT_SWITCH("values", 0, values, "compare points, metrics and values only, not commit, environment and metadata"),
    OPT_SWITCH("exit-code", 0, exit_code, "exit with 1 if there is a difference"),
    { "Ranking, with --rank", 0, OPT_GROUP, 0, "rank", NULL,
      "Ranks the values of a tag, or the runs, in each row (equal values share a rank) and by a score over the rows "
      "that all competitors have. If the runs have samples, resampling shows how often each competitor keeps its rank. "
      "Metrics without a direction are not ranked." },
    OPT("score", 0, CHOICE, score, "KIND", "geometric",
        "how rows are combined into the score: geometric (geometric mean of best/value) or min-max (mean of 0 for the "
        "worst to 1 for the best)",
        "geometric min-max"),
    OPT("weight", 0, EACH, weights, "METRIC=X", "all equal", "weight of a metric's rows in the score"),
    OPT("draws", 0, COUNT, draws, "N", "1000", "number of resamplings that show how stable the ranks are; 0: none"),
    OPT("seed", 0, COUNT, seed, "N", "1", "seed of the resampling; the same seed gives the same result"),
    { "Pareto front, with --pareto", 0, OPT_GROUP, 0, "pareto", NULL,
      "A point is on the front if no other point is at least as good in all objectives and better in one. Points that "
      "lack an objective are marked '?' and dominate no other point." },
    OPT_SWITCH("front-only", 0, front_only, "leave out the dominated points"),
    SELECT_PLACE_ROWS,
    SELECT_TAG_ROW,
};
static const opt_rule compare_rules[] = {
    INPUTS_RULES,
    { "diff", OPT_EXCLUDES, "rank pareto by metrics reference level allow-other-machine all" },
    { "rank", OPT_EXCLUDES, "pareto reference level" },
    { "pareto", OPT_EXCLUDES, "by metrics reference level" },
};

/* --- JSON --- */

static cbx_json *row_json(const cbx_comparison *c, const cbx_comparison_row *row)
{
    cbx_json *o = cbx_json_object(J_TEXT("key", row->key), J_TEXT("metric", row->metric), J_TEXT("unit", row->unit),
                                  J_TEXT("direction", cbx_direction_name(row->direction)));
    cbx_json *cells = cbx_json_set_array(o, "cells");
    for (size_t k = 0; k < cbx_comparison_nlabels(c); k++) {
        const cbx_comparison_cell *cell = &row->cells[k];
        cbx_json_push(cells,
                      cbx_json_object(J_TEXT("label", cbx_comparison_label(c, k)), J_NUMBER("value", cell->value),
                                      cell->rank ? J_INT("rank", cell->rank) : J_NONE, J_KNOWN("delta", cell->delta),
                                      isnan(cell->speedup.value) ? J_NONE : J_INTERVAL("speedup", cell->speedup),
                                      J_INT("samples", cell->nsamples)));
    }
    return o;
}

static int print_comparison_json(const opt_run *run, const cbx_comparison *c)
{
    cbx_json *head = cbx_json_new_document("calibrax-comparison"), *labels = cbx_json_set_array(head, "labels");
    cbx_json *tail = cbx_json_new_object(), *winners = cbx_json_set_array(tail, "winners");
    cbx_json *remarks = cbx_json_set_array(tail, "remarks");
    json_stream out;

    for (size_t k = 0; k < cbx_comparison_nlabels(c); k++) cbx_json_push_string(labels, cbx_comparison_label(c, k));
    cbx_json_set_string(head, "reference", cbx_comparison_label(c, cbx_comparison_reference(c)));
    json_stream_begin(&out, head, "rows");
    for (size_t i = 0; i < cbx_comparison_nrows(c); i++)
        json_stream_add(&out, row_json(c, cbx_comparison_row_at(c, i)));
    for (size_t i = 0; i < cbx_comparison_nwinners(c); i++) {
        const cbx_winner *w = cbx_comparison_winner(c, i);
        cbx_json_put(cbx_json_push_object(winners), J_TEXT("metric", w->metric), J_TEXT("label", w->label),
                     J_NUMBER("score", w->score), J_INT("rows", w->nrows));
    }
    for (size_t i = 0; i < cbx_comparison_nremarks(c); i++) {
        cbx_json *o = cbx_json_push_object(remarks);
        int rule;
        cbx_json_put(o, J_TEXT("text", cbx_comparison_remark(c, i, &rule)), J_INT("rule", rule));
    }
    return json_stream_end(&out, run, tail);
}

/* --- text --- */

static void print_comparison(const opt_run *run, const cbx_comparison *c)
{
    size_t n = cbx_comparison_nlabels(c), at = 2;
    const char **heads = cbx_arena_calloc(run->arena, 2 * n + 2, sizeof *heads);
    char *sides = cbx_arena_alloc(run->arena, 2 * n + 3);

    memcpy(sides, "ll", 2);
    heads[0] = "Measured";
    heads[1] = "Unit";
    for (size_t k = 0; k < n; k++) {
        sides[at] = 'r';
        heads[at++] = plain_text(run->arena, cbx_comparison_label(c, k));
        if (k == cbx_comparison_reference(c)) continue;
        sides[at] = 'l';
        heads[at++] = "Speed-up";
    }
    columns *table = columns_begin(run->arena, heads, sides);
    for (size_t i = 0; i < cbx_comparison_nrows(c); i++) {
        const cbx_comparison_row *row = cbx_comparison_row_at(c, i);
        columns_put(table, PAINT_PLAIN, plain_text(run->arena, row->key));
        columns_put(table, PAINT_PLAIN, row->unit ? plain_text(run->arena, row->unit) : "");
        for (size_t k = 0; k < n; k++) {
            const cbx_interval *ratio = &row->cells[k].speedup;
            const paint how = ratio->lower > 1 ? PAINT_GOOD : ratio->upper < 1 ? PAINT_BAD : PAINT_PLAIN;
            columns_number(table, row->cells[k].rank == 1 ? PAINT_STRONG : PAINT_PLAIN, row->cells[k].value);
            if (k == cbx_comparison_reference(c)) continue;
            if (isnan(ratio->value))
                columns_put(table, PAINT_PLAIN, "-");
            else if (ratio->lower < ratio->upper)
                columns_printf(table, how, "%.6gx [%.6g, %.6g]", ratio->value, ratio->lower, ratio->upper);
            else
                columns_printf(table, how, "%.6gx", ratio->value);
        }
    }
    columns_print(table, "");
    putchar('\n');
    for (size_t i = 0; i < cbx_comparison_nwinners(c); i++) {
        const cbx_winner *w = cbx_comparison_winner(c, i);
        bool last = i + 1 == cbx_comparison_nwinners(c);
        printf("Best %s%s: ", last ? "over all" : "on ", last ? "" : plain_text(run->arena, w->metric));
        if (w->label)
            printf("%s%s%s (score %.6g over %zu rows)\n", paint_begin(PAINT_STRONG), plain_text(run->arena, w->label),
                   paint_end(PAINT_STRONG), w->score, w->nrows);
        else
            puts(w->nrows ? "a draw" : "no row that all competitors have");
    }
    for (size_t i = 0; i < cbx_comparison_nremarks(c); i++) {
        int rule;
        const char *text = cbx_comparison_remark(c, i, &rule);
        printf("%srule %d: %s\n", i ? "" : "\n", rule, plain_text(run->arena, text));
    }
}

/* --- the command --- */

static int run_compare(const opt_run *run)
{
    const compare_args *a = run->args;
    cbx_comparison_opts o = CBX_COMPARISON_OPTS_INIT;
    inputs_list l = { NULL, 0 };
    cbx_comparison *c = NULL;

    if (a->diff) return compare_diff(run);
    if (a->rank) return compare_rank(run);
    if (a->objectives.count) return compare_pareto(run);
    int status = inputs_load(run, &a->select, &a->inputs, NULL, &l, NULL);
    if (!status && l.n < 2 && !a->by)
        status = opt_fail(run, "a comparison needs two runs or more, or '--by TAG' to compare within one: got %zu run",
                          l.n);
    if (!status) status = inputs_check_machines(run, &l, a->allow_machines);
    o.group_tag = a->by;
    o.reference = a->reference;
    o.metrics = a->metrics.items;
    o.nmetrics = a->metrics.count;
    o.level = a->level;
    if (!status)
        status = opt_check(
            run, cbx_comparison_create(run->ctx, (const cbx_run *const *)l.items, NULL, l.n, &o, &c, run->err));
    inputs_list_clear(&l); /* before the table is made */
    if (!status && a->select.json)
        status = print_comparison_json(run, c);
    else if (!status)
        print_comparison(run, c);
    cbx_comparison_free(c);
    return status;
}

const opt_command compare_command = {
    .name = "compare",
    .synopsis = "RUN RUN... | [RUN...] (--by TAG | --diff | --rank | --pareto METRIC,...) [OPTION]...",
    .summary = "compare runs side by side, show their differences, rank them, or find the best trade-offs",
    .description =
        "Compares runs in a table with one row for each measured value and one column for each competitor, with its "
        "speed-up over the reference (a ratio above 1 is better) and an interval if samples or bounds give one. A RUN "
        "is the id of a run in the store, a unique prefix of the id, latest, baseline:NAME, or the path of a run file. "
        "With --by the values of a tag are compared. Remarks below the table follow the rules of Hoefler & Belli (SC "
        "2015). Runs of different machines are refused unless --allow-other-machine is given.",
    OPT_OPTIONS_RULES(compare),
    .defaults = &compare_defaults,
    SELECT_RUN_WORDS,
};
