/*
 * calibrax compare: runs, or the values of a tag, side by side.
 */
#include <math.h>
#include <string.h>

#include "calibrax/analysis/comparison.h"
#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/inputs.h"
#include "programs/common/columns.h"
#include "programs/common/output.h"

typedef struct compare_args {
    select_args select;
    const char *by, *reference;
    opt_list metrics;
    double level;
    bool allow_machines;
} compare_args;

static const compare_args compare_defaults = { .level = 0.95 };

#define AT(member) offsetof(compare_args, member)

static const opt_spec compare_options[] = {
    SELECT_STORE_ROWS(compare_args),
    { "by", 0, OPT_STRING, AT(by), "TAG", "each run is a competitor",
      "compare the values of this tag, within a run or across runs" },
    { "reference", 0, OPT_STRING, AT(reference), "LABEL", "the first", "the competitor that speed-ups are over" },
    { "metrics", 'm', OPT_LIST, AT(metrics), "NAME,...", "all", "these metrics" },
    { "metric", 0, OPT_LIST, AT(metrics), "NAME", NULL, NULL },
    { "level", 0, OPT_NUMBER, AT(level), "X", "0.95", "level of the intervals of speed-ups" },
    { "allow-other-machine", 0, OPT_FLAG, AT(allow_machines), NULL, NULL, "compare across machines, and say so" },
    SELECT_JSON_ROW(compare_args),
};

/* --- JSON --- */

static cbx_json *interval_json(const cbx_interval *i)
{
    cbx_json *o;

    if (isnan(i->value)) return NULL;
    o = cbx_json_new_object();
    cbx_json_set_double(o, "value", i->value);
    cbx_json_set_double(o, "lower", i->lower);
    cbx_json_set_double(o, "upper", i->upper);
    cbx_json_set_double(o, "level", i->level);
    return o;
}

static cbx_json *cell_json(const cbx_comparison *c, size_t k, const cbx_comparison_cell *cell)
{
    cbx_json *o = cbx_json_new_object();

    cbx_json_set_string(o, "label", cbx_comparison_label(c, k));
    cbx_json_set_double(o, "value", cell->value);
    if (cell->rank) cbx_json_set_int(o, "rank", (int64_t)cell->rank);
    if (!isnan(cell->delta)) cbx_json_set_double(o, "delta", cell->delta);
    if (!isnan(cell->speedup.value)) cbx_json_set(o, "speedup", interval_json(&cell->speedup));
    cbx_json_set_int(o, "samples", (int64_t)cell->nsamples);
    return o;
}

static cbx_json *row_json(const cbx_comparison *c, const cbx_comparison_row *row)
{
    cbx_json *o = cbx_json_new_object(), *cells = cbx_json_new_array();

    cbx_json_set_string(o, "key", row->key);
    cbx_json_set_string(o, "metric", row->metric);
    cbx_json_set_string(o, "unit", row->unit);
    cbx_json_set_string(o, "direction", cbx_direction_name(row->direction));
    for (size_t k = 0; k < cbx_comparison_nlabels(c); k++) cbx_json_push(cells, cell_json(c, k, &row->cells[k]));
    cbx_json_set(o, "cells", cells);
    return o;
}

static cbx_json *winner_json(const cbx_winner *w)
{
    cbx_json *o = cbx_json_new_object();

    cbx_json_set_string(o, "metric", w->metric);
    cbx_json_set_string(o, "label", w->label);
    cbx_json_set_double(o, "score", w->score);
    cbx_json_set_int(o, "rows", (int64_t)w->nrows);
    return o;
}

static cbx_json *remarks_json(const cbx_comparison *c)
{
    cbx_json *remarks = cbx_json_new_array();

    for (size_t i = 0; i < cbx_comparison_nremarks(c); i++) {
        cbx_json *r = cbx_json_new_object();
        int rule;
        cbx_json_set_string(r, "text", cbx_comparison_remark(c, i, &rule));
        cbx_json_set_int(r, "rule", rule);
        cbx_json_push(remarks, r);
    }
    return remarks;
}

static int print_comparison_json(const opt_run *run, const cbx_comparison *c)
{
    cbx_json *head = new_document("calibrax-comparison"), *labels = cbx_json_new_array();
    cbx_json *tail = cbx_json_new_object(), *winners = cbx_json_new_array();
    json_stream out;

    for (size_t k = 0; k < cbx_comparison_nlabels(c); k++)
        cbx_json_push(labels, cbx_json_new_string(cbx_comparison_label(c, k)));
    cbx_json_set(head, "labels", labels);
    cbx_json_set_string(head, "reference", cbx_comparison_label(c, cbx_comparison_reference(c)));
    json_stream_begin(&out, head, "rows");
    for (size_t i = 0; i < cbx_comparison_nrows(c); i++)
        json_stream_add(&out, row_json(c, cbx_comparison_row_at(c, i)));
    for (size_t i = 0; i < cbx_comparison_nwinners(c); i++)
        cbx_json_push(winners, winner_json(cbx_comparison_winner(c, i)));
    cbx_json_set(tail, "winners", winners);
    cbx_json_set(tail, "remarks", remarks_json(c));
    return json_stream_end(&out, run->program, tail);
}

/* --- text --- */

static void put_speedup(columns *table, const cbx_interval *s)
{
    paint how = s->lower > 1 ? PAINT_GOOD : s->upper < 1 ? PAINT_BAD : PAINT_PLAIN;

    if (isnan(s->value))
        columns_put(table, PAINT_PLAIN, "-");
    else if (s->lower < s->upper)
        columns_printf(table, how, "%.3gx [%.3g, %.3g]", s->value, s->lower, s->upper);
    else
        columns_printf(table, how, "%.3gx", s->value);
}

static void put_row(const opt_run *run, const cbx_comparison *c, const cbx_comparison_row *row, columns *table)
{
    columns_put(table, PAINT_PLAIN, plain_text(run->arena, row->key));
    columns_put(table, PAINT_PLAIN, row->unit ? plain_text(run->arena, row->unit) : "");
    for (size_t k = 0; k < cbx_comparison_nlabels(c); k++) {
        const cbx_comparison_cell *cell = &row->cells[k];
        columns_number(table, cell->rank == 1 ? PAINT_STRONG : PAINT_PLAIN, cell->value);
        if (k != cbx_comparison_reference(c)) put_speedup(table, &cell->speedup);
    }
}

static columns *begin_table(const opt_run *run, const cbx_comparison *c)
{
    size_t n = cbx_comparison_nlabels(c), at = 2;
    const char **heads = cbx_arena_calloc(run->arena, 2 * n + 2, sizeof *heads);
    char *sides = cbx_arena_alloc(run->arena, 2 * n + 3);

    if (!heads || !sides) return NULL;
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
    return columns_begin(run->arena, heads, sides);
}

static void print_winners(const opt_run *run, const cbx_comparison *c)
{
    for (size_t i = 0; i < cbx_comparison_nwinners(c); i++) {
        const cbx_winner *w = cbx_comparison_winner(c, i);
        bool last = i + 1 == cbx_comparison_nwinners(c);
        printf("Best %s%s: ", last ? "over all" : "on ", last ? "" : plain_text(run->arena, w->metric));
        if (w->label)
            printf("%s%s%s (score %.4g over %zu rows)\n", paint_begin(PAINT_STRONG), plain_text(run->arena, w->label),
                   paint_end(PAINT_STRONG), w->score, w->nrows);
        else
            puts(w->nrows ? "a draw" : "no row that all have");
    }
}

static int print_comparison(const opt_run *run, const cbx_comparison *c)
{
    columns *table = begin_table(run, c);

    for (size_t i = 0; i < cbx_comparison_nrows(c); i++) put_row(run, c, cbx_comparison_row_at(c, i), table);
    if (!columns_print(table, "")) return opt_fail(run->program, "out of memory");
    putchar('\n');
    print_winners(run, c);
    for (size_t i = 0; i < cbx_comparison_nremarks(c); i++) {
        int rule;
        const char *text = cbx_comparison_remark(c, i, &rule);
        printf("%srule %d: %s\n", i ? "" : "\n", rule, plain_text(run->arena, text));
    }
    return EXIT_PASS;
}

/* --- the command --- */

/* The runs are let go before the table is made. */
static int compare(const opt_run *run, inputs_list *l)
{
    const compare_args *a = run->args;
    cbx_comparison_opts o = CBX_COMPARISON_OPTS_INIT;
    cbx_comparison *c = NULL;
    cbx_err err = CBX_ERR_INIT;
    int status;

    o.group_tag = a->by;
    o.reference = a->reference;
    o.metrics = a->metrics.items;
    o.nmetrics = a->metrics.count;
    o.level = a->level;
    if (cbx_comparison_create(run->ctx, (const cbx_run *const *)l->items, NULL, l->n, &o, &c, &err))
        return opt_fail(run->program, "%s", err.message);
    inputs_clear(l);
    status = a->select.json ? print_comparison_json(run, c) : print_comparison(run, c);
    cbx_comparison_free(c);
    return status;
}

static int run_compare(const opt_run *run)
{
    const compare_args *a = run->args;
    inputs_list l = { NULL, 0 };
    int status;

    if (run->words->count < (a->by ? 1 : 2))
        return opt_fail(run->program, a->by ? "compare: name a run" : "compare: name two runs or more, or --by TAG");
    status = inputs_load_names(run, &a->select, run->words->items, run->words->count, &l);
    if (!status) status = inputs_check_machines(run, &l, a->allow_machines);
    if (!status) status = compare(run, &l);
    inputs_clear(&l);
    return status;
}

const opt_command compare_command = {
    "compare",
    "[--data DIR] RUN RUN... [--by TAG] [OPTION]...",
    "runs side by side, with speed-ups",
    "Puts what runs measured side by side: one row a measured thing, one column a competitor, and how many times "
    "faster "
    "than the reference it is, above 1 is better, with an interval where samples or bounds give one. A RUN is the id "
    "of a "
    "run in the store, the beginning of one, latest, or baseline:NAME; without --data it is a file. With --by the "
    "values "
    "of a tag are compared instead. Below the table stands what a reader should know before believing it, after the "
    "rules "
    "of Hoefler & Belli (SC 2015). Runs of different machines are refused unless --allow-other-machine says so.",
    compare_options,
    CBX_LEN(compare_options),
    sizeof(compare_args),
    &compare_defaults,
    OPT_TAKES_WORDS,
    run_compare,
};
