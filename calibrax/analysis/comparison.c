/* A table of competitors (rank_table.h), with speed-ups, winners and remarks. */
#include "calibrax/analysis/comparison.h"

#include <math.h>
#include <string.h>

#include "calibrax/analysis/rank_table.h"
#include "calibrax/analysis/regression_internal.h"
#include "calibrax/base/arena.h"
#include "calibrax/base/hash_table.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/options.h"
#include "calibrax/base/together.h"
#include "calibrax/statistics/series.h"

#define MAX_REMARKS 16
#define FEW_SAMPLES 6 /* fewer give no 95 % interval of a median */

typedef struct remark {
    int rule;
    const char *sentence;
} remark;

struct cbx_comparison {
    cbx_arena arena;
    cbx_rank_table *table; /* owns names and samples */
    size_t nlabels, reference;
    cbx_comparison_row *rows;
    size_t nrows;
    cbx_winner *winners;
    size_t nwinners;
    remark *remarks;
    size_t nremarks;
};

typedef struct work {
    cbx_ctx *ctx;
    const cbx_run *const *runs;
    const char *const *names;
    size_t nruns;
    cbx_comparison_opts o;
    cbx_comparison *c;
    cbx_arena scratch;
} work;

/* --- the table --- */

static cbx_interval side_of(const cbx_metric *m)
{
    bool bounded = isfinite(m->lower) && isfinite(m->upper) && m->lower <= m->value && m->value <= m->upper;
    return (cbx_interval){ m->value, bounded ? m->lower : m->value, bounded ? m->upper : m->value, 0 };
}

/* Speed-up: the cheaper over the dearer, so that better is more than 1; untouched without one. */
static cbx_status speedup_of(const work *w, const cbx_metric *m, const cbx_metric *ref, cbx_direction d,
                             cbx_interval *out, cbx_err *err)
{
    const cbx_metric *top = d == CBX_DIRECTION_LOWER ? ref : m, *bottom = d == CBX_DIRECTION_LOWER ? m : ref;
    cbx_interval change = { .level = 0 }, side[2];
    double scale;
    cbx_status st = CBX_OK;

    if (!ref || d == CBX_DIRECTION_INFO || !(m->value > 0 && ref->value > 0)) return CBX_OK;
    if (!isfinite(m->value) || !isfinite(ref->value)) return CBX_OK;
    if (m == ref) {
        *out = (cbx_interval){ 1, 1, 1, 0 };
        return CBX_OK;
    }
    if (m->nsamples && ref->nsamples)
        st = cbx__change_of_samples(w->ctx, top->samples, top->nsamples, bottom->samples, bottom->nsamples, w->o.level,
                                    &scale, &change, err);
    if (st == CBX_EDOM) st = CBX_OK, change.level = 0; /* a sample that is not finite gives no interval */
    if (st) return st;
    if (!(change.level > 0 && change.lower > -1)) {
        side[0] = side_of(top);
        side[1] = side_of(bottom);
        if (!(side[0].lower > 0 && side[1].lower > 0)) side[0] = side[1] = (cbx_interval){ NAN, NAN, NAN, 0 };
        change = cbx__change_of(&side[0], &side[1], 1);
    }
    *out = (cbx_interval){ top->value / bottom->value, 1 + change.lower, 1 + change.upper, change.level };
    return CBX_OK;
}

/* @param found  as many as there are competitors */
static cbx_status fill_row(work *w, size_t i, cbx_rank_cell *found, cbx_err *err)
{
    cbx_comparison *c = w->c;
    cbx_comparison_cell *cells = cbx_arena_calloc(&c->arena, c->nlabels, sizeof(*cells));
    const cbx_rank_row r = cbx_rank_table_row(c->table, i);
    const cbx_metric *reference = NULL;
    cbx_status st = cells ? cbx_rank_table_cells(c->table, i, found, err) : cbx_fail_nomem(err, "a row");

    if (st) return st;
    c->rows[i] = (cbx_comparison_row){ r.key, r.metric, r.unit, r.direction, cells, c->nlabels - r.nnumbers };
    for (size_t k = 0; k < r.ncells; k++)
        if (found[k].competitor == c->reference) reference = found[k].metric;
    for (size_t k = 0; k < c->nlabels; k++)
        cells[k] = (cbx_comparison_cell){ .value = NAN, .delta = NAN, .speedup = { NAN, NAN, NAN, 0 } };
    for (size_t k = 0; !st && k < r.ncells; k++) {
        const cbx_rank_cell *f = &found[k];
        cbx_comparison_cell *cell = &cells[f->competitor];
        *cell = (cbx_comparison_cell){
            f->value, f->rank, f->delta, { NAN, NAN, NAN, 0 }, f->samples, f->nsamples, true
        };
        st = speedup_of(w, f->metric, reference, r.direction, &cell->speedup, err);
    }
    return st;
}

/* --- winners --- */

/* Rows that all have (a missing value is NaN) with values > 0: there a ratio means something. */
static bool counts(const cbx_comparison *c, const cbx_comparison_row *row)
{
    if (row->direction == CBX_DIRECTION_INFO) return false;
    for (size_t k = 0; k < c->nlabels; k++)
        if (!(row->cells[k].value > 0 && isfinite(row->cells[k].value))) return false;
    return true;
}

/* Each row's logarithm of best/value (or value/best), averaged over rows.
 * @param from, next  a chain of rows; next NULL: all of them */
static cbx_winner winner_of(const cbx_comparison *c, const char *metric, size_t from, const size_t *next, double *sum)
{
    cbx_winner w = { metric, NULL, NAN, 0 };
    size_t best = 0, draws = 0;

    memset(sum, 0, c->nlabels * sizeof(*sum));
    for (size_t i = from; i < c->nrows; i = next ? next[i] : i + 1) {
        const cbx_comparison_row *row = &c->rows[i];
        if (!counts(c, row)) continue;
        w.nrows++;
        for (size_t k = 0; k < c->nlabels; k++) {
            double v = log(row->cells[k].value);
            sum[k] += row->direction == CBX_DIRECTION_LOWER ? v : -v;
        }
        for (size_t k = 0; k < c->nlabels; k++)
            if (row->cells[k].rank == 1) { /* the best of the row counts 0 */
                double v = log(row->cells[k].value);
                w.score = isnan(w.score) ? 0 : w.score;
                w.score += row->direction == CBX_DIRECTION_LOWER ? v : -v;
                break;
            }
    }
    if (!w.nrows) return w;
    for (size_t k = 1; k < c->nlabels; k++)
        if (sum[k] < sum[best]) best = k;
    for (size_t k = 0; k < c->nlabels; k++) draws += fabs(sum[k] - sum[best]) <= 1e-12 * (1 + fabs(sum[best]));
    w.score = fmin(exp((w.score - sum[best]) / (double)w.nrows), 1);
    if (draws == 1) w.label = cbx_comparison_label(c, best);
    return w;
}

/* Rows of one metric are chained: the first row of each text, and the next row of the same. */
static cbx_status find_winners(work *w, cbx_err *err)
{
    cbx_comparison *c = w->c;
    size_t *first, *next;
    double *sum;
    cbx_names texts;
    bool good = cbx_arena_arrays(&w->scratch, CBX_ARRAY(first, c->nrows), CBX_ARRAY(next, c->nrows),
                                 CBX_ARRAY(sum, c->nlabels));

    c->winners = cbx_arena_calloc(&c->arena, c->nrows + 1, sizeof(*c->winners));
    cbx_names_init(&texts, CBX_IN_ARENA(&w->scratch));
    for (size_t i = c->nrows; good && i-- > 0;) {
        size_t known = texts.n, at = cbx_names_add(&texts, c->rows[i].metric);
        good = at != CBX_NO_NAME;
        if (!good) break;
        next[i] = at == known ? c->nrows : first[at];
        first[at] = i;
    }
    for (size_t i = 0; good && c->winners && i < c->nrows; i++) {
        const cbx_comparison_row *row = &c->rows[i];
        if (row->direction != CBX_DIRECTION_INFO && first[cbx_names_find(&texts, row->metric)] == i)
            c->winners[c->nwinners++] = winner_of(c, row->metric, i, next, sum);
    }
    if (!good || !c->winners) return cbx_fail_nomem(err, "winners");
    c->winners[c->nwinners++] = winner_of(c, NULL, 0, NULL, sum);
    return CBX_OK;
}

/* --- remarks: what a reader should consider before believing the table --- */

typedef struct tally {
    size_t missing, bare, few, meeting, compared;
} tally;

static tally count(const cbx_comparison *c)
{
    tally t = { 0 };

    for (size_t i = 0; i < c->nrows; i++) {
        t.missing += c->rows[i].nmissing;
        for (size_t k = 0; k < c->nlabels; k++) {
            const cbx_comparison_cell *cell = &c->rows[i].cells[k];
            bool has_interval = cell->speedup.lower < cell->speedup.upper;
            if (isnan(cell->value)) continue;
            t.few += cell->nsamples > 0 && cell->nsamples < FEW_SAMPLES;
            if (k == c->reference || isnan(cell->speedup.value)) continue;
            t.compared++;
            t.bare += !has_interval;
            t.meeting += has_interval && cell->speedup.lower <= 1 && cell->speedup.upper >= 1;
        }
    }
    return t;
}

/* Cells whose samples have more than one mode, outliers apart: one number describes at best the
 * largest mode. */
static cbx_status count_grouped(cbx_ctx *ctx, const cbx_comparison *c, size_t *grouped, cbx_err *err)
{
    cbx_status st = CBX_OK;

    *grouped = 0;
    for (size_t i = 0; i < c->nrows; i++)
        for (size_t k = 0; !st && k < c->nlabels; k++) {
            const cbx_comparison_cell *cell = &c->rows[i].cells[k];
            cbx_mode mode[8];
            size_t modes = 0, groups = 0;
            if (isnan(cell->value) || cell->nsamples < FEW_SAMPLES) continue;
            st = cbx_stat_modes(ctx, cell->samples, cell->nsamples, CBX_MODES_RESOLUTION, mode, CBX_LEN(mode), &modes,
                                err);
            for (size_t m = 0; !st && m < modes && m < CBX_LEN(mode); m++) groups += mode[m].count > 1;
            if (st == CBX_EDOM) st = CBX_OK; /* no number among them: said elsewhere */
            *grouped += groups > 1;
        }
    return st;
}

/* A sentence that is NULL, for lack of memory, is found at the end. */
CBX_PRINTF(3, 4) static void add(cbx_comparison *c, int rule, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    c->remarks[c->nremarks++] = (remark){ rule, cbx_arena_vprintf(&c->arena, fmt, args) };
    va_end(args);
}

/* Rules as numbered by Hoefler & Belli, SC 2015. */
static cbx_status write_remarks(const work *w, cbx_err *err)
{
    cbx_comparison *c = w->c;
    tally t = count(c);
    size_t grouped, unknown = 0, other = 0;
    cbx_status st = count_grouped(w->ctx, c, &grouped, err);

    if (st) return st;
    for (size_t i = 0; i < w->nruns; i++) {
        unknown += cbx_run_same_machine(w->runs[i], w->runs[i]) == CBX_MACHINE_UNKNOWN;
        other += cbx_run_same_machine(w->runs[0], w->runs[i]) == CBX_MACHINE_OTHER;
    }
    c->remarks = cbx_arena_calloc(&c->arena, MAX_REMARKS, sizeof(*c->remarks));
    if (!c->remarks) return cbx_fail_nomem(err, "remarks");
    if (t.compared)
        add(c, 1, "speed-ups refer to '%s', whose absolute values are in the table",
            cbx_comparison_label(c, c->reference));
    if (t.missing)
        add(c, 2, "%zu cells are missing; state the reason, since the selection may favour a competitor", t.missing);
    if (c->nwinners && c->winners[c->nwinners - 1].nrows > 1)
        add(c, 4, "winners are based on the geometric mean of ratios over %zu rows; inspect the rows",
            c->winners[c->nwinners - 1].nrows);
    if (t.bare)
        add(c, 5, "%zu of %zu speed-ups have no interval; keep the samples, or declare the values exact", t.bare,
            t.compared);
    if (t.few) add(c, 6, "%zu cells have fewer than %d samples; their distribution is unknown", t.few, FEW_SAMPLES);
    if (grouped)
        add(c, 6, "%zu cells have samples in separate groups; the median belongs to one group, inspect the samples",
            grouped);
    if (t.meeting)
        add(c, 7, "%zu of %zu speed-up intervals contain 1: these show no difference", t.meeting, t.compared);
    if (unknown) add(c, 9, "%zu of %zu runs do not identify their machine", unknown, w->nruns);
    if (other) add(c, 9, "%zu of %zu runs were measured on a different machine than the first", other, w->nruns);
    for (size_t i = 0; i < c->nremarks; i++)
        if (!c->remarks[i].sentence) return cbx_fail_nomem(err, "remarks");
    return CBX_OK;
}

/* --- the whole --- */

static cbx_status build(work *w, cbx_err *err)
{
    cbx_comparison *c = w->c;
    cbx_rank_table_opts o = CBX_RANK_TABLE_OPTS_INIT;

    o.group_tag = w->o.group_tag;
    o.metrics = w->o.metrics;
    o.nmetrics = w->o.nmetrics;
    o.samples_max = SIZE_MAX;
    o.runs_stay = true;
    cbx_status st = cbx_rank_table_create(w->ctx, &o, &c->table, err);
    for (size_t i = 0; !st && i < w->nruns; i++)
        st = cbx_rank_table_add(c->table, w->runs[i], w->names ? w->names[i] : NULL, err);
    if (!st) st = cbx_rank_table_close(c->table, err);
    if (st) return st;
    c->nrows = cbx_rank_table_nrows(c->table);
    c->nlabels = cbx_rank_table_ncompetitors(c->table);
    while (w->o.reference && c->reference < c->nlabels &&
           strcmp(cbx_comparison_label(c, c->reference), w->o.reference) != 0)
        c->reference++;
    if (c->reference == c->nlabels) return cbx_fail(err, CBX_EINVAL, "unknown competitor '%s'", w->o.reference);
    cbx_rank_cell *found = cbx_arena_calloc(&w->scratch, c->nlabels, sizeof(*found));
    c->rows = cbx_arena_calloc(&c->arena, c->nrows, sizeof(*c->rows));
    if (!found || !c->rows) return cbx_fail_nomem(err, "a comparison");
    for (size_t i = 0; !st && i < c->nrows; i++) st = fill_row(w, i, found, err);
    if (!st) st = find_winners(w, err);
    if (!st) st = write_remarks(w, err);
    return st;
}

cbx_status cbx_comparison_create(cbx_ctx *ctx, const cbx_run *const *runs, const char *const *labels, size_t nruns,
                                 const cbx_comparison_opts *opts, cbx_comparison **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    work w = { .ctx = ctx, .runs = runs, .names = labels, .nruns = nruns, .o = CBX_COMPARISON_OPTS_INIT };
    cbx_status st = cbx_take_options(&w.o, sizeof w.o, opts, "cbx_comparison_opts", err);

    if (!st) st = cbx_check_level("level", w.o.level, err);
    if (!st && !nruns) st = cbx_fail(err, CBX_EINVAL, "a comparison needs a run");
    for (size_t i = 0; !st && (labels || !w.o.group_tag) && i < nruns; i++)
        for (size_t k = 0; !st && k < i; k++) {
            const char *name = labels ? labels[i] : cbx_run_id(runs[i]);
            if (!strcmp(name, labels ? labels[k] : cbx_run_id(runs[k])))
                st = cbx_fail(err, CBX_EINVAL, "two runs have the name '%s'", name);
        }
    if (st) return st;
    w.c = CBX_ARENA_OBJECT(cbx_comparison, al);
    if (!w.c) return cbx_fail_nomem(err, "a comparison");
    cbx_arena_init(&w.scratch, al);
    st = build(&w, err);
    cbx_arena_clear(&w.scratch);
    return CBX_FINISH(st, *out = w.c, cbx_comparison_free(w.c));
}

void cbx_comparison_free(cbx_comparison *c)
{
    if (!c) return;
    cbx_rank_table_free(c->table);
    cbx_arena_end(&c->arena);
}

size_t cbx_comparison_nlabels(const cbx_comparison *c) { return c->nlabels; }
const char *cbx_comparison_label(const cbx_comparison *c, size_t i) { return cbx_rank_table_competitor(c->table, i); }
size_t cbx_comparison_reference(const cbx_comparison *c) { return c->reference; }
size_t cbx_comparison_nrows(const cbx_comparison *c) { return c->nrows; }

const cbx_comparison_row *cbx_comparison_row_at(const cbx_comparison *c, size_t i)
{
    return i < c->nrows ? &c->rows[i] : NULL;
}

size_t cbx_comparison_nwinners(const cbx_comparison *c) { return c->nwinners; }
const cbx_winner *cbx_comparison_winner(const cbx_comparison *c, size_t i)
{
    return i < c->nwinners ? &c->winners[i] : NULL;
}
size_t cbx_comparison_nremarks(const cbx_comparison *c) { return c->nremarks; }

const char *cbx_comparison_remark(const cbx_comparison *c, size_t i, int *rule)
{
    if (i >= c->nremarks) return NULL;
    if (rule) *rule = c->remarks[i].rule;
    return c->remarks[i].sentence;
}
