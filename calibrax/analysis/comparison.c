/* The table: every (run, point, metric) is put into the row of its key and the column of its label.
 */
#include "calibrax/analysis/comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/analysis/comparison_internal.h"
#include "calibrax/analysis/regression_internal.h"
#include "calibrax/base/arena.h"
#include "calibrax/base/table.h"
#include "calibrax/statistics/series.h"

#define MAX_REMARKS 16
#define FEW_SAMPLES 6 /* fewer give no 95 % interval of a median */

typedef struct remark {
    int rule;
    const char *sentence;
} remark;

struct cbx_comparison {
    cbx_allocator al;
    cbx_arena arena;
    cbx_arena keys, names, texts; /* of rows; of competitors; of metrics and units */
    const char **labels;
    size_t nlabels, reference;
    cbx_comparison_row *rows;
    size_t nrows;
    cbx_winner *winners;
    size_t nwinners;
    remark *remarks;
    size_t nremarks;
};
/** One value on its way into the table: rows and columns are numbered in order of first appearance.
 */
typedef struct item {
    const char *metric;
    const cbx_metric *value;
    size_t column, row;
} item;

typedef struct work {
    cbx_ctx *ctx;
    const cbx_run *const *runs;
    const char *const *names;
    size_t nruns;
    const cbx_comparison_opts *o;
    cbx_comparison *c;
    cbx_arena scratch;
    cbx_names rows, labels, texts; /* keys of rows; labels of columns; metrics and units */
    item *items;
    size_t nitems;
    const cbx_metric **values; /* [row][column] */
} work;

/* --- keys and labels --- */

const char *cbx__competitor_of(const cbx_point *p, const char *group_tag, const char *run)
{
    const char *tag = group_tag ? cbx_point_tag(p, group_tag) : NULL;

    return tag ? tag : run;
}

bool cbx__row_put(cbx_text *out, const cbx_point *p, const char *group_tag, const char *competitor, cbx_arena *scratch)
{
    cbx_tag *tags = cbx_arena_calloc(scratch, p->ntags, sizeof *tags);
    size_t n = 0;

    if (!tags) return false;
    for (size_t i = 0; i < p->ntags; i++)
        if (!group_tag || strcmp(p->tags[i].key, group_tag) != 0) tags[n++] = p->tags[i];
    if (n > 1) qsort(tags, n, sizeof *tags, cbx_tag_compare);
    cbx_text_puts(out, n < p->ntags && !strcmp(p->name, competitor) ? "*" : p->name);
    cbx_text_putc(out, '@');
    cbx_text_puts(out, p->scenario);
    cbx_text_putc(out, '{');
    for (size_t i = 0; i < n; i++) {
        if (i) cbx_text_putc(out, ',');
        cbx_text_puts(out, tags[i].key);
        cbx_text_putc(out, '=');
        cbx_text_puts(out, tags[i].value);
    }
    cbx_text_putc(out, '}');
    return out->status == CBX_OK;
}

bool cbx__among(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; names && i < n; i++)
        if (!strcmp(names[i], name)) return true;
    return !names;
}

/* Texts of the point at hand. */
typedef struct names {
    cbx_text row, key; /* the key is that of the row and the metric */
} names;

static bool collect_point(work *w, const cbx_point *p, size_t run, names *at)
{
    const char *label = cbx__competitor_of(p, w->o->group_tag, w->names ? w->names[run] : cbx_run_id(w->runs[run]));
    cbx_arena passing;

    cbx_text_reset(&at->row);
    cbx_arena_init(&passing, cbx_ctx_allocator(w->ctx));
    bool fine = cbx__row_put(&at->row, p, w->o->group_tag, label, &passing);
    cbx_arena_clear(&passing);
    for (size_t k = 0; fine && k < p->nmetrics; k++) {
        item *e = &w->items[w->nitems];
        if (!cbx__among(p->metrics[k].name, w->o->metrics, w->o->nmetrics)) continue;
        cbx_text_reset(&at->key);
        cbx_text_printf(&at->key, "%s:%s", cbx_text_str(&at->row), p->metrics[k].name);
        if (at->key.status) return false;
        *e = (item){ p->metrics[k].name, &p->metrics[k].metric, cbx_names_add(&w->labels, label),
                     cbx_names_add(&w->rows, cbx_text_str(&at->key)) };
        fine = e->column != CBX_NO_NAME && e->row != CBX_NO_NAME;
        w->nitems++;
    }
    return fine;
}

static cbx_status collect(work *w, cbx_err *err)
{
    size_t max = 0;
    bool fine = true;
    names at;

    for (size_t r = 0; r < w->nruns; r++)
        for (size_t i = 0; i < cbx_run_npoints(w->runs[r]); i++) max += cbx_run_point(w->runs[r], i)->nmetrics;
    w->items = cbx_arena_calloc(&w->scratch, max, sizeof(*w->items));
    if (!w->items) return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu values", max);
    cbx_text_init(&at.row, cbx_ctx_allocator(w->ctx));
    cbx_text_init(&at.key, cbx_ctx_allocator(w->ctx));
    for (size_t r = 0; fine && r < w->nruns; r++)
        for (size_t i = 0; fine && i < cbx_run_npoints(w->runs[r]); i++)
            fine = collect_point(w, cbx_run_point(w->runs[r], i), r, &at);
    cbx_text_clear(&at.row);
    cbx_text_clear(&at.key);
    return fine ? CBX_OK : cbx_fail(err, CBX_ENOMEM, "out of memory for the rows of a comparison");
}

/* A metric that is asked for and that no run has is misspelt. */
static cbx_status need_metrics(const work *w, cbx_err *err)
{
    for (size_t k = 0; w->o->metrics && k < w->o->nmetrics; k++) {
        size_t i = 0;
        while (i < w->nitems && strcmp(w->items[i].metric, w->o->metrics[k]) != 0) i++;
        if (i == w->nitems)
            return cbx_fail(err, CBX_ENOENT, "no point has the metric '%s': correct the name", w->o->metrics[k]);
    }
    return CBX_OK;
}

static bool has_group_tag(const work *w)
{
    for (size_t r = 0; r < w->nruns; r++)
        for (size_t i = 0; i < cbx_run_npoints(w->runs[r]); i++)
            if (cbx_point_tag(cbx_run_point(w->runs[r], i), w->o->group_tag)) return true;
    return false;
}

/* --- the table --- */

static const cbx_metric_def *definition(const work *w, const char *metric, cbx_status *st, cbx_err *err)
{
    const cbx_metric_def *first = NULL;

    for (size_t r = 0; r < w->nruns; r++) {
        const cbx_metric_def *d = cbx_run_find_metric_def(w->runs[r], metric);
        if (!d) continue;
        if (first && (first->direction != d->direction || strcmp(first->unit, d->unit) != 0))
            *st = cbx_fail(err, CBX_EFORMAT, "'%s' has another unit or direction in run '%s' than before", metric,
                           cbx_run_id(w->runs[r]));
        else
            first = d;
    }
    return first;
}

static const char *word(work *w, const char *text)
{
    size_t at = cbx_names_add(&w->texts, text);
    return at == CBX_NO_NAME ? NULL : w->texts.list[at];
}

static cbx_status need_competitors(const work *w, cbx_err *err)
{
    size_t n = w->labels.n;

    if (n >= 2) return CBX_OK;
    if (w->o->group_tag && !has_group_tag(w))
        return cbx_fail(err, CBX_EINVAL, "a comparison needs two competitors, and no point has the tag '%s'",
                        w->o->group_tag);
    return cbx_fail(err, CBX_EINVAL, "a comparison needs two competitors, there %s %zu", n == 1 ? "is" : "are", n);
}

static cbx_status place(work *w, cbx_err *err)
{
    cbx_comparison *c = w->c;
    size_t nrows = w->rows.n, n = w->labels.n;
    cbx_status st = need_competitors(w, err);

    if (st) return st;
    c->labels = cbx_arena_calloc(&c->arena, n, sizeof(*c->labels));
    c->rows = cbx_arena_calloc(&c->arena, nrows, sizeof(*c->rows));
    w->values = cbx_arena_calloc(&w->scratch, nrows * n, sizeof(*w->values));
    if (!c->labels || !c->rows || !w->values) return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu rows", nrows);
    c->nrows = nrows;
    c->nlabels = n;
    for (size_t k = 0; k < n; k++) c->labels[k] = w->labels.list[k];
    for (size_t i = 0; !st && i < w->nitems; i++) {
        const item *e = &w->items[i];
        const cbx_metric **cell = &w->values[e->row * n + e->column];
        if (*cell)
            return cbx_fail(err, CBX_EEXIST, "'%s' has two values for '%s'; distinguish them by a tag",
                            c->labels[e->column], w->rows.list[e->row]);
        *cell = e->value;
        if (!c->rows[e->row].key) {
            /* A row's names, by the first value in it. */
            cbx_comparison_row *row = &c->rows[e->row];
            st = CBX_OK;
            const cbx_metric_def *def = definition(w, e->metric, &st, err);
            *row = (cbx_comparison_row){ .key = w->rows.list[e->row],
                                         .metric = word(w, e->metric),
                                         .unit = def ? word(w, def->unit) : NULL,
                                         .direction = def ? def->direction : CBX_DIRECTION_INFO };
            if (!st && (!row->metric || (def && !row->unit))) st = cbx_fail(err, CBX_ENOMEM, "out of memory for a row");
        }
    }
    return st;
}

static cbx_interval side_of(const cbx_metric *m)
{
    bool bounded = isfinite(m->lower) && isfinite(m->upper) && m->lower <= m->value && m->value <= m->upper;
    return (cbx_interval){ m->value, bounded ? m->lower : m->value, bounded ? m->upper : m->value, 0 };
}

/* Speed-up: the cheaper over the dearer, so that better is more than 1. */
static cbx_status speedup_of(const work *w, const cbx_metric *m, const cbx_metric *ref, cbx_direction d,
                             cbx_interval *out, cbx_err *err)
{
    const cbx_metric *top = d == CBX_DIRECTION_LOWER ? ref : m, *bottom = d == CBX_DIRECTION_LOWER ? m : ref;
    cbx_interval change = { .level = 0 }, side[2];
    double scale;
    cbx_status st = CBX_OK;

    *out = (cbx_interval){ NAN, NAN, NAN, 0 };
    if (!m || !ref || d == CBX_DIRECTION_INFO || !(m->value > 0 && ref->value > 0)) return CBX_OK;
    if (!isfinite(m->value) || !isfinite(ref->value)) return CBX_OK;
    if (m == ref) {
        *out = (cbx_interval){ 1, 1, 1, 0 };
        return CBX_OK;
    }
    if (m->nsamples && ref->nsamples)
        st = cbx__change_of_samples(w->ctx, top->samples, top->nsamples, bottom->samples, bottom->nsamples, w->o->level,
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

static bool keep_samples(cbx_comparison *c, const cbx_metric *m, cbx_comparison_cell *cell)
{
    if (!m->samples || !m->nsamples) return true;
    double *copy = cbx_arena_calloc(&c->arena, m->nsamples, sizeof *copy);
    if (!copy) return false;
    memcpy(copy, m->samples, m->nsamples * sizeof *copy);
    cell->samples = copy;
    cell->nsamples = m->nsamples;
    return true;
}

static cbx_status fill_row(work *w, size_t i, double *values, cbx_rank_entry *ranks, cbx_err *err)
{
    cbx_comparison *c = w->c;
    cbx_comparison_row *row = &c->rows[i];
    const cbx_metric **m = &w->values[i * c->nlabels];
    cbx_comparison_cell *cells = cbx_arena_calloc(&c->arena, c->nlabels, sizeof(*cells));
    cbx_status st = CBX_OK;

    if (!cells) return cbx_fail(err, CBX_ENOMEM, "out of memory for a row");
    row->cells = cells;
    for (size_t k = 0; !st && k < c->nlabels; k++) {
        values[k] = m[k] ? m[k]->value : NAN;
        row->nmissing += isnan(values[k]);
        cells[k] = (cbx_comparison_cell){ .value = values[k], .delta = NAN, .measured = m[k] != NULL };
        if (m[k] && !keep_samples(c, m[k], &cells[k])) return cbx_fail(err, CBX_ENOMEM, "out of memory for samples");
        st = speedup_of(w, m[k], m[c->reference], row->direction, &cells[k].speedup, err);
    }
    if (st || row->direction == CBX_DIRECTION_INFO) return st;
    st = cbx_rank(values, c->nlabels, row->direction, ranks, err);
    for (size_t k = 0; !st && k < c->nlabels; k++) {
        cells[ranks[k].index].rank = ranks[k].rank;
        cells[ranks[k].index].delta = ranks[k].delta;
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

/* Rows by metric: the first one of each, and the next one of the same. */
typedef struct rows_of {
    size_t *first, *next; /* first: by number of the metric's text; as many as there are rows: none */
} rows_of;

static bool sort_rows(work *w, rows_of *by)
{
    const cbx_comparison *c = w->c;

    *by = (rows_of){ cbx_arena_calloc(&w->scratch, w->texts.n, sizeof(*by->first)),
                     cbx_arena_calloc(&w->scratch, c->nrows, sizeof(*by->next)) };
    if (!by->first || !by->next) return false;
    for (size_t k = 0; k < w->texts.n; k++) by->first[k] = c->nrows;
    for (size_t i = c->nrows; i-- > 0;) {
        size_t *first = &by->first[cbx_names_find(&w->texts, c->rows[i].metric)];
        by->next[i] = *first;
        *first = i;
    }
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
    if (draws == 1) w.label = c->labels[best];
    return w;
}

static cbx_status find_winners(work *w, double *sum, cbx_err *err)
{
    cbx_comparison *c = w->c;
    rows_of by;

    c->winners = cbx_arena_calloc(&c->arena, c->nrows + 1, sizeof(*c->winners));
    if (!c->winners || !sort_rows(w, &by)) return cbx_fail(err, CBX_ENOMEM, "out of memory for winners");
    for (size_t i = 0; i < c->nrows; i++) {
        const cbx_comparison_row *row = &c->rows[i];
        bool first = by.first[cbx_names_find(&w->texts, row->metric)] == i;
        if (first && row->direction != CBX_DIRECTION_INFO)
            c->winners[c->nwinners++] = winner_of(c, row->metric, i, by.next, sum);
    }
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

/* Modes that are no single wild value. */
static cbx_status count_groups(cbx_ctx *ctx, const cbx_comparison_cell *cell, size_t *groups, cbx_err *err)
{
    cbx_mode mode[8];
    size_t modes = 0;
    cbx_status st = cbx_stat_modes(ctx, cell->samples, cell->nsamples, CBX_MODES_RESOLUTION, mode, CBX_LEN(mode),
                                   &modes, err);

    *groups = 0;
    for (size_t i = 0; !st && i < modes && i < CBX_LEN(mode); i++) *groups += mode[i].count > 1;
    return st == CBX_EDOM ? CBX_OK : st; /* no number among them: said elsewhere */
}

/* Cells whose samples fall into groups: one number stands for the largest of them at best. */
static cbx_status count_grouped(cbx_ctx *ctx, const cbx_comparison *c, size_t *grouped, cbx_err *err)
{
    cbx_status st = CBX_OK;

    *grouped = 0;
    for (size_t i = 0; i < c->nrows; i++)
        for (size_t k = 0; !st && k < c->nlabels; k++) {
            const cbx_comparison_cell *cell = &c->rows[i].cells[k];
            size_t groups;
            if (isnan(cell->value) || cell->nsamples < FEW_SAMPLES) continue;
            st = count_groups(ctx, cell, &groups, err);
            *grouped += groups > 1;
        }
    return st;
}

/* A sentence that is NULL, for lack of memory, is found at the end. */
static void add(cbx_comparison *c, int rule, const char *sentence)
{
    c->remarks[c->nremarks++] = (remark){ rule, sentence };
}

/* Rules as numbered by Hoefler & Belli, SC 2015. */
static cbx_status write_remarks(const work *w, cbx_err *err)
{
    cbx_comparison *c = w->c;
    cbx_arena *a = &c->arena;
    tally t = count(c);
    size_t grouped, unknown = 0, other = 0;
    cbx_status st = count_grouped(w->ctx, c, &grouped, err);

    if (st) return st;
    for (size_t i = 0; i < w->nruns; i++) {
        unknown += cbx_run_same_machine(w->runs[i], w->runs[i]) == CBX_MACHINE_UNKNOWN;
        other += cbx_run_same_machine(w->runs[0], w->runs[i]) == CBX_MACHINE_OTHER;
    }
    c->remarks = cbx_arena_calloc(a, MAX_REMARKS, sizeof(*c->remarks));
    if (!c->remarks) return cbx_fail_nomem(err, "remarks");
    if (t.compared)
        add(c, 1,
            cbx_arena_printf(a, "speed-ups are over '%s', whose absolute values are in the table",
                             c->labels[c->reference]));
    if (t.missing)
        add(c, 2,
            cbx_arena_printf(a, "%zu cells are missing; give the reason, or the choice may favour a competitor",
                             t.missing));
    if (c->nwinners && c->winners[c->nwinners - 1].nrows > 1)
        add(c, 4,
            cbx_arena_printf(a, "winners rest on a geometric mean of ratios over %zu rows; look at the rows",
                             c->winners[c->nwinners - 1].nrows));
    if (t.bare)
        add(c, 5,
            cbx_arena_printf(a, "%zu of %zu speed-ups have no interval; keep the samples, or declare the values exact",
                             t.bare, t.compared));
    if (t.few)
        add(c, 6,
            cbx_arena_printf(a, "%zu cells have fewer than %d samples; their distribution is unknown", t.few,
                             FEW_SAMPLES));
    if (grouped)
        add(c, 6,
            cbx_arena_printf(a,
                             "%zu cells hold samples in separate groups; a median is of one group, look at the samples",
                             grouped));
    if (t.meeting)
        add(c, 7,
            cbx_arena_printf(a, "%zu of %zu speed-up intervals hold 1: no difference is shown there", t.meeting,
                             t.compared));
    if (unknown) add(c, 9, cbx_arena_printf(a, "%zu of %zu runs do not identify their machine", unknown, w->nruns));
    if (other)
        add(c, 9,
            cbx_arena_printf(a, "%zu of %zu runs were measured on another machine than the first", other, w->nruns));
    for (size_t i = 0; i < c->nremarks; i++)
        if (!c->remarks[i].sentence) return cbx_fail_nomem(err, "remarks");
    return CBX_OK;
}

/* --- the whole --- */

static cbx_status choose_reference(work *w, cbx_err *err)
{
    cbx_comparison *c = w->c;

    if (!w->o->reference) return CBX_OK;
    for (size_t k = 0; k < c->nlabels; k++)
        if (!strcmp(c->labels[k], w->o->reference)) {
            c->reference = k;
            return CBX_OK;
        }
    return cbx_fail(err, CBX_EINVAL, "no competitor is called '%s'", w->o->reference);
}

static cbx_status build(work *w, cbx_err *err)
{
    cbx_comparison *c = w->c;
    cbx_status st = collect(w, err);

    if (!st) st = need_metrics(w, err);
    if (!st) st = place(w, err);
    if (!st) st = choose_reference(w, err);
    if (st) return st;
    double *values = cbx_arena_calloc(&w->scratch, c->nlabels, sizeof(*values));
    cbx_rank_entry *ranks = cbx_arena_calloc(&w->scratch, c->nlabels, sizeof(*ranks));
    if (!values || !ranks) return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu competitors", c->nlabels);
    for (size_t i = 0; !st && i < c->nrows; i++) st = fill_row(w, i, values, ranks, err);
    if (!st) st = find_winners(w, values, err);
    if (!st) st = write_remarks(w, err);
    return st;
}

static cbx_status check(const work *w, cbx_err *err)
{
    if (w->o->struct_size != sizeof(*w->o))
        return cbx_fail(err, CBX_EINVAL, "options of another version: %u bytes", w->o->struct_size);
    if (!(w->o->level > 0 && w->o->level < 1))
        return cbx_fail(err, CBX_EINVAL, "level %g is not between 0 and 1", w->o->level);
    if (!w->nruns) return cbx_fail(err, CBX_EINVAL, "a comparison needs a run");
    for (size_t i = 0; w->names && i < w->nruns; i++)
        for (size_t k = 0; k < i; k++)
            if (!strcmp(w->names[i], w->names[k]))
                return cbx_fail(err, CBX_EINVAL, "two runs are called '%s'", w->names[i]);
    return CBX_OK;
}

cbx_status cbx_comparison_create(cbx_ctx *ctx, const cbx_run *const *runs, const char *const *labels, size_t nruns,
                                 const cbx_comparison_opts *opts, cbx_comparison **out, cbx_err *err)
{
    cbx_comparison_opts defaults = CBX_COMPARISON_OPTS_INIT;
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    work w = { .ctx = ctx, .runs = runs, .names = labels, .nruns = nruns, .o = opts ? opts : &defaults };
    cbx_status st = check(&w, err);

    if (st) return st;
    w.c = cbx_mem_zalloc(al, sizeof(*w.c));
    if (!w.c) return cbx_fail(err, CBX_ENOMEM, "out of memory for a comparison");
    w.c->al = *al;
    cbx_arena_init(&w.c->arena, al);
    cbx_arena_init(&w.scratch, al);
    cbx_names_init(&w.rows, al);
    cbx_names_init(&w.labels, al);
    cbx_names_init(&w.texts, al);
    st = build(&w, err);
    cbx_arena_clear(&w.scratch);
    cbx_names_release(&w.rows, &w.c->keys);
    cbx_names_release(&w.labels, &w.c->names);
    cbx_names_release(&w.texts, &w.c->texts);
    if (st)
        cbx_comparison_free(w.c);
    else
        *out = w.c;
    return st;
}

void cbx_comparison_free(cbx_comparison *c)
{
    if (!c) return;
    cbx_allocator al = c->al;
    cbx_arena_clear(&c->arena);
    cbx_arena_clear(&c->keys);
    cbx_arena_clear(&c->names);
    cbx_arena_clear(&c->texts);
    cbx_mem_free(&al, c, sizeof(*c));
}

size_t cbx_comparison_nlabels(const cbx_comparison *c) { return c->nlabels; }
const char *cbx_comparison_label(const cbx_comparison *c, size_t i) { return i < c->nlabels ? c->labels[i] : NULL; }
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
