/*
 * Tables of runs: which labels tell points apart, which values are best, how many digits they deserve.
 */
#include "calibrax/exporters/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/table.h"
#include "calibrax/core/point_index.h"
#include "calibrax/statistics/estimate.h"

/* --- numbers --- */

static int power_of(double v) { return v == 0 || !isfinite(v) ? 0 : (int)floor(log10(fabs(v)) + 1e-12); }

/* What the last digits are judged by; 0: nothing is known. */
static cbx_status spread_of(cbx_ctx *ctx, const cbx_metric *m, double *out, cbx_err *err)
{
    cbx_summary s;
    cbx_status st;

    *out = 0;
    if (isfinite(m->lower) && isfinite(m->upper)) {
        *out = fabs(m->upper / 2 - m->lower / 2);
        return CBX_OK;
    }
    if (m->nsamples < 2) return CBX_OK;
    st = cbx_stat_summary(ctx, m->samples, m->nsamples, &s, err);
    if (st == CBX_EDOM) return CBX_OK; /* samples that are not finite say nothing of digits */
    if (!st) *out = s.stddev;
    return st;
}

static void print(double v, double unit, int decimals, char out[CBX_FORMAT_SIZE])
{
    if (!isfinite(v))
        cbx_format_double(v, out);
    else if (snprintf(out, CBX_FORMAT_SIZE, "%.*f", decimals, v / unit) >= CBX_FORMAT_SIZE)
        cbx_format_double(v / unit, out);
}

cbx_status cbx__number_of(cbx_ctx *ctx, const cbx_metric *m, cbx__number *out, cbx_err *err)
{
    double spread, widest = fabs(m->value);
    int last, power;
    cbx_status st = spread_of(ctx, m, &spread, err);

    if (st) return st;
    *out = (cbx__number){ .exponent = 0 };
    if (isfinite(m->lower)) widest = fmax(widest, fabs(m->lower));
    if (isfinite(m->upper)) widest = fmax(widest, fabs(m->upper));
    power = power_of(widest);
    last = spread > 0 && isfinite(spread) ? power_of(spread) - 1 : power_of(m->value) - 3;
    if (m->value != 0 && last > power_of(m->value)) last = power_of(m->value);
    if (last < power - 16) last = power - 16;
    if (power < -4 || power > 5) out->exponent = power < -300 ? -300 : power;
    double unit = pow(10, out->exponent);
    int decimals = out->exponent > last ? out->exponent - last : 0;
    if (decimals > 17) decimals = 17;
    print(m->value, unit, decimals, out->value);
    if (!isnan(m->lower)) print(m->lower, unit, decimals, out->lower);
    if (!isnan(m->upper)) print(m->upper, unit, decimals, out->upper);
    if (!isfinite(m->value)) out->exponent = 0;
    return CBX_OK;
}

/* --- columns --- */

/* The names of columns, by number. */
static bool name_columns(const cbx_export_job *job, const cbx_run *run, cbx_names *names)
{
    bool good = true;

    for (size_t i = 0; i < job->opts.nmetrics; i++)
        good = good && cbx_names_add(names, job->opts.metrics[i]) != CBX_NO_NAME;
    for (size_t i = 0; !job->opts.nmetrics && i < cbx_run_npoints(run); i++)
        for (size_t k = 0; k < cbx_run_point(run, i)->nmetrics; k++)
            good = good && cbx_names_add(names, cbx_run_point(run, i)->metrics[k].name) != CBX_NO_NAME;
    return good;
}

/* Which of them have intervals. */
static void see_intervals(const cbx_run *run, const cbx_names *names, cbx__column *columns)
{
    for (size_t i = 0; i < cbx_run_npoints(run); i++) {
        const cbx_point *p = cbx_run_point(run, i);
        for (size_t k = 0; k < p->nmetrics; k++) {
            const cbx_metric *m = &p->metrics[k].metric;
            size_t at = isnan(m->lower) && isnan(m->upper) ? CBX_NO_NAME : cbx_names_find(names, p->metrics[k].name);
            if (at != CBX_NO_NAME) columns[at].intervals = true;
        }
    }
}

static cbx_status make_columns(cbx_export_job *job, const cbx_run *run, const cbx_names *names, const cbx__column **out,
                               cbx_err *err)
{
    cbx__column *columns = cbx_arena_calloc(job->arena, names->n, sizeof *columns);

    if (!columns) return cbx_fail_nomem(err, "a table");
    for (size_t k = 0; k < names->n; k++) {
        const char *name = cbx_arena_strdup(job->arena, names->list[k]);
        if (!name) return cbx_fail_nomem(err, "a table");
        columns[k] = (cbx__column){ name, cbx_run_find_metric_def(run, name), false };
    }
    see_intervals(run, names, columns);
    *out = columns;
    return CBX_OK;
}

/* The metrics of a run, or those asked for.  @param names  their numbers are the columns'; the caller clears them, after a fault too */
static cbx_status find_columns(cbx_export_job *job, const cbx_run *run, cbx_names *names, const cbx__column **out,
                               cbx_err *err)
{
    cbx_names_init(names, cbx_ctx_allocator(job->ctx));
    return name_columns(job, run, names) ? make_columns(job, run, names, out, err) : cbx_fail_nomem(err, "a table");
}

/* --- labels --- */

/* Adds a name unless it is there; false: out of memory. */
typedef struct name_list {
    cbx_arena *arena;
    const char **items;
    size_t n, room;
} name_list;

static bool add_name(name_list *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (!strcmp(l->items[i], name)) return true;
    if (l->n == l->room) {
        size_t room = l->room ? 2 * l->room : 16;
        const char **more = cbx_arena_calloc(l->arena, room, sizeof *more);
        if (!more) return false;
        if (l->n) memcpy(more, l->items, l->n * sizeof *more);
        l->items = more;
        l->room = room;
    }
    l->items[l->n++] = name;
    return true;
}

/* Names of labels are the tags', and these two. */
static const char *label_value(const cbx_point *p, const char *label)
{
    if (!strcmp(label, "point")) return p->name;
    return strcmp(label, "scenario") ? cbx_point_tag(p, label) : p->scenario;
}

static bool same_text(const char *a, const char *b) { return a && b ? !strcmp(a, b) : a == b; }

static bool varies(const cbx_run *run, const char *label)
{
    for (size_t i = 1; i < cbx_run_npoints(run); i++)
        if (!same_text(label_value(cbx_run_point(run, i), label), label_value(cbx_run_point(run, 0), label)))
            return true;
    return false;
}

/* The tag that is compared, the point, the scenario, then the other tags. */
static bool all_labels(const cbx_export_job *job, const cbx_run *run, name_list *l)
{
    const char *by = job->opts.group_by;
    bool tagged = false;

    for (size_t i = 0; i < cbx_run_npoints(run); i++) tagged |= label_value(cbx_run_point(run, i), by) != NULL;
    if (tagged && !add_name(l, by)) return false;
    if (!add_name(l, "point") || !add_name(l, "scenario")) return false;
    for (size_t i = 0; i < cbx_run_npoints(run); i++)
        for (size_t k = 0; k < cbx_run_point(run, i)->ntags; k++)
            if (!add_name(l, cbx_run_point(run, i)->tags[k].key)) return false;
    return true;
}

/* Splits labels into those that vary and a sentence of those that do not. */
static cbx_status make_labels(cbx_export_job *job, cbx__table *t, cbx_err *err)
{
    name_list all = { .arena = job->arena }, kept = all;
    const char *facts = "";

    if (!all_labels(job, t->run, &all)) return cbx_fail_nomem(err, "a table");
    for (size_t i = 0; i < all.n; i++) {
        const char *value = cbx_run_npoints(t->run) ? label_value(cbx_run_point(t->run, 0), all.items[i]) : NULL;
        if (i == 0 || varies(t->run, all.items[i])) {
            if (!add_name(&kept, all.items[i])) return cbx_fail_nomem(err, "a table");
        } else if (value) {
            facts = cbx_arena_printf(job->arena, "%s%s%s: %s", facts, *facts ? "; " : "", all.items[i], value);
            if (!facts) return cbx_fail_nomem(err, "a table");
        }
    }
    t->labels = kept.items;
    t->nlabels = kept.n;
    t->facts = facts;
    return CBX_OK;
}

/* --- rows --- */

static cbx_status make_rows(cbx_export_job *job, const cbx_names *names, cbx__table *t, cbx_err *err)
{
    const char **rows = cbx_arena_calloc(job->arena, t->nrows * t->nlabels, sizeof *rows);

    t->cells = cbx_arena_calloc(job->arena, t->nrows * t->ncolumns, sizeof *t->cells);
    if (!rows || !t->cells) return cbx_fail_nomem(err, "a table");
    for (size_t i = 0; i < t->nrows; i++) {
        const cbx_point *p = cbx_run_point(t->run, i);
        for (size_t k = 0; k < t->nlabels; k++) rows[i * t->nlabels + k] = label_value(p, t->labels[k]);
        for (size_t k = 0; k < p->nmetrics; k++) {
            size_t column = cbx_names_find(names, p->metrics[k].name);
            cbx__cell *c = column == CBX_NO_NAME ? NULL : &t->cells[i * t->ncolumns + column];
            cbx_status st = c ? cbx__number_of(job->ctx, &p->metrics[k].metric, &c->number, err) : CBX_OK;
            if (st) return st;
            if (c) c->metric = &p->metrics[k].metric;
        }
    }
    t->rows = rows;
    return CBX_OK;
}

static cbx_status make_groups(cbx_export_job *job, cbx__table *t, cbx_err *err)
{
    size_t *groups = cbx_arena_calloc(job->arena, t->nrows, sizeof *groups);
    cbx_point_index points;
    cbx_status st = CBX_OK;

    if (!groups) return cbx_fail_nomem(err, "a table");
    cbx_point_index_init(&points, cbx_ctx_allocator(job->ctx), job->opts.group_by);
    for (size_t i = 0; !st && i < t->nrows; i++) {
        const cbx_point_entry *first = cbx_point_index_add(&points, cbx_run_point(t->run, i), i);
        if (first)
            groups[i] = first->value;
        else
            st = cbx_fail_nomem(err, "a table");
    }
    cbx_point_index_clear(&points);
    t->groups = groups;
    return st;
}

/* What a group has at its first row: how many values, and the best of them by the direction of the metric. */
typedef struct leader {
    size_t n;
    double value;
} leader;

static void lead(leader *l, double v, bool higher)
{
    if (!l->n++ || (higher ? v > l->value : v < l->value)) l->value = v;
}

/* Best of each group, where there are two values to choose from; equal ones all are. */
static void mark_best(cbx__table *t, size_t column, leader *leaders)
{
    const cbx_metric_def *def = t->columns[column].def;

    if (!def || def->direction == CBX_DIRECTION_INFO) return;
    for (size_t i = 0; i < t->nrows; i++) leaders[i].n = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < t->nrows; i++) {
            cbx__cell *c = &t->cells[i * t->ncolumns + column];
            leader *l = &leaders[t->groups[i]];
            if (!c->metric || isnan(c->metric->value)) continue;
            if (pass)
                c->best = l->n > 1 && c->metric->value == l->value;
            else
                lead(l, c->metric->value, cbx_metric_def_higher_is_better(def));
        }
}

#define CELLS_MOST 4000000 /* about 500 MB of them; no reader wants more */

static cbx_status check_size(const cbx__table *t, cbx_err *err)
{
    if (t->ncolumns == 0 || t->nrows <= CELLS_MOST / t->ncolumns) return CBX_OK;
    return cbx_fail(err, CBX_EINVAL,
                    "a table of %zu points and %zu metrics has more than %d cells, most of them empty: choose fewer "
                    "metrics",
                    t->nrows, t->ncolumns, CELLS_MOST);
}

cbx_status cbx__table_make(cbx_export_job *job, const cbx_run *run, cbx__table *out, cbx_err *err)
{
    cbx__table t = { .run = run, .nrows = cbx_run_npoints(run) };
    leader *leaders = cbx_arena_calloc(job->arena, t.nrows, sizeof *leaders);
    cbx_names names;
    cbx_status st = find_columns(job, run, &names, &t.columns, err);

    t.ncolumns = names.n;
    if (!st && !leaders) st = cbx_fail_nomem(err, "a table");
    if (!st) st = check_size(&t, err);
    if (!st) st = make_labels(job, &t, err);
    if (!st) st = make_rows(job, &names, &t, err);
    if (!st) st = make_groups(job, &t, err);
    cbx_names_clear(&names);
    if (st) return st;
    for (size_t k = 0; k < t.ncolumns; k++) mark_best(&t, k, leaders);
    *out = t;
    return CBX_OK;
}

/* --- a run against another --- */

static cbx_status index_points(cbx_point_index *points, const cbx_run *run, cbx_err *err)
{
    for (size_t i = 0; i < cbx_run_npoints(run); i++)
        if (!cbx_point_index_add(points, cbx_run_point(run, i), i)) return cbx_fail_nomem(err, "a table");
    return CBX_OK;
}

/* Points of a run that have no partner among those of another. */
static size_t without_partner(const cbx_run *of, const cbx_point_index *others)
{
    size_t n = 0;

    for (size_t i = 0; i < cbx_run_npoints(of); i++) n += !cbx_point_index_find(others, cbx_run_point(of, i));
    return n;
}

/* The points of a run and of what it is held against. */
typedef struct sides {
    const cbx_run *baseline;
    cbx_point_index of_run, of_baseline;
    size_t only_run, only_baseline;
} sides;

static cbx_status sides_make(const cbx_allocator *al, const cbx_run *run, const cbx_run *baseline, sides *s,
                             cbx_err *err)
{
    s->baseline = baseline;
    cbx_point_index_init(&s->of_run, al, NULL);
    cbx_point_index_init(&s->of_baseline, al, NULL);
    cbx_status st = index_points(&s->of_run, run, err);
    if (!st) st = index_points(&s->of_baseline, baseline, err);
    if (st) return st;
    s->only_run = without_partner(run, &s->of_baseline);
    s->only_baseline = without_partner(baseline, &s->of_run);
    return CBX_OK;
}

static void sides_clear(sides *s)
{
    cbx_point_index_clear(&s->of_run);
    cbx_point_index_clear(&s->of_baseline);
}

/* One row: both values, the better one marked, and the change in percent where it has a meaning. */
static cbx_status compare_metric(cbx_export_job *job, const cbx__column *c, const cbx_metric *old,
                                 const cbx_metric *now, cbx__cell cells[3], cbx_err *err)
{
    double change = 100 * (now->value - old->value) / fabs(old->value);
    cbx_metric *percent;
    cbx_status st = cbx__number_of(job->ctx, old, &cells[0].number, err);

    cells[0].metric = old;
    cells[1].metric = now;
    if (!st) st = cbx__number_of(job->ctx, now, &cells[1].number, err);
    if (st) return st;
    if (c->def && c->def->direction != CBX_DIRECTION_INFO && old->value != now->value && !isnan(change)) {
        bool rises = now->value > old->value;
        cells[rises == cbx_metric_def_higher_is_better(c->def)].best = true;
    }
    if (!isfinite(change)) return CBX_OK; /* a baseline of 0, or no numbers: missing */
    percent = cbx_arena_alloc(job->arena, sizeof *percent);
    if (!percent) return cbx_fail_nomem(err, "a table");
    *percent = cbx_metric_of(change);
    cells[2].metric = percent;
    return cbx__number_of(job->ctx, percent, &cells[2].number, err);
}

/* Labels of a point, and of the metric behind them. */
static void label_row(const cbx__table *t, const cbx_point *p, const char *metric, const char **row)
{
    for (size_t k = 0; k + 1 < t->nlabels; k++) row[k] = label_value(p, t->labels[k]);
    row[t->nlabels - 1] = metric;
}

/* Metrics by the number of their column: of the point of the run, of its partner, and which the former has. */
typedef struct facing {
    const cbx_names *names;
    const cbx_metric **now, **old;
    size_t *columns, n;
} facing;

static int by_number(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return (x > y) - (x < y);
}

/* Puts a point's metrics into their columns, or takes them out again. */
static void face(facing *f, const cbx_point *of, bool put, const cbx_metric **by_column)
{
    for (size_t k = 0; k < of->nmetrics; k++) {
        size_t at = cbx_names_find(f->names, of->metrics[k].name);
        if (at != CBX_NO_NAME) by_column[at] = put ? &of->metrics[k].metric : NULL;
        if (at != CBX_NO_NAME && put && by_column == f->now) f->columns[f->n++] = at;
    }
}

static cbx_status compare_point(cbx_export_job *job, facing *f, const cbx_point *p, const cbx_point *q,
                                const cbx__column *metrics, const char **rows, cbx__table *t, cbx_err *err)
{
    cbx_status st = CBX_OK;

    f->n = 0;
    face(f, p, true, f->now);
    face(f, q, true, f->old);
    if (f->n) qsort(f->columns, f->n, sizeof *f->columns, by_number);
    for (size_t i = 0; !st && i < f->n; i++) {
        size_t k = f->columns[i];
        if (!f->old[k]) continue;
        label_row(t, p, metrics[k].name, &rows[t->nrows * t->nlabels]);
        st = compare_metric(job, &metrics[k], f->old[k], f->now[k], &t->cells[t->nrows++ * 3], err);
    }
    face(f, p, false, f->now);
    face(f, q, false, f->old);
    return st;
}

static cbx_status compare_points(cbx_export_job *job, sides *both, const cbx_names *names, const cbx__column *metrics,
                                 cbx__table *t, cbx_err *err)
{
    facing f = { names, cbx_arena_calloc(job->arena, names->n, sizeof *f.now),
                 cbx_arena_calloc(job->arena, names->n, sizeof *f.old),
                 cbx_arena_calloc(job->arena, names->n, sizeof *f.columns), 0 };
    const char **rows;
    size_t most = 0;
    cbx_status st = CBX_OK;

    for (size_t i = 0; i < cbx_run_npoints(t->run); i++) most += cbx_run_point(t->run, i)->nmetrics;
    rows = cbx_arena_calloc(job->arena, most * t->nlabels, sizeof *rows);
    t->cells = cbx_arena_calloc(job->arena, most * 3, sizeof *t->cells);
    if (!rows || !t->cells || !f.now || !f.old || !f.columns) return cbx_fail_nomem(err, "a table");
    for (size_t i = 0; !st && i < cbx_run_npoints(t->run); i++) {
        const cbx_point *p = cbx_run_point(t->run, i);
        const cbx_point_entry *partner = cbx_point_index_find(&both->of_baseline, p);
        if (partner) st = compare_point(job, &f, p, partner->point, metrics, rows, t, err);
    }
    t->rows = rows;
    if (!st && !t->nrows)
        st = cbx_fail(err, CBX_ENOENT, "runs '%s' and '%s' have no point with a metric in common", cbx_run_id(t->run),
                      cbx_run_id(both->baseline));
    return st;
}

/* Behind the labels of a run stands the metric; facts say what was held against what. */
static cbx_status compare_labels(cbx_export_job *job, const sides *both, cbx__table *t, cbx_err *err)
{
    static const char *const machines[] = { [CBX_MACHINE_SAME] = "",
                                            [CBX_MACHINE_OTHER] = " of another machine",
                                            [CBX_MACHINE_UNKNOWN] = " (not both say their machine)" };
    name_list labels = { .arena = job->arena };
    cbx_status st = make_labels(job, t, err);

    if (st) return st;
    for (size_t i = 0; i < t->nlabels; i++)
        if (!add_name(&labels, t->labels[i])) return cbx_fail_nomem(err, "a table");
    if (!add_name(&labels, "metric")) return cbx_fail_nomem(err, "a table");
    t->labels = labels.items;
    t->nlabels = labels.n;
    t->facts = cbx_arena_printf(
        job->arena, "%s%sagainst run %s%s; points that only the run has: %zu, only the baseline: %zu", t->facts,
        *t->facts ? "; " : "", cbx_run_id(both->baseline), machines[cbx_run_same_machine(t->run, both->baseline)],
        both->only_run, both->only_baseline);
    return t->facts ? CBX_OK : cbx_fail_nomem(err, "a table");
}

cbx_status cbx__table_compare(cbx_export_job *job, const cbx_run *run, const cbx_run *baseline, cbx__table *out,
                              cbx_err *err)
{
    static const cbx_metric_def percent = { .name = "change", .unit = "%" };
    cbx__table t = { .run = run, .ncolumns = 3 };
    const cbx__column *metrics = NULL;
    cbx__column *columns = cbx_arena_calloc(job->arena, 3, sizeof *columns);
    cbx_names names;
    sides both;
    cbx_status st = find_columns(job, run, &names, &metrics, err);

    if (!st && !columns) st = cbx_fail_nomem(err, "a table");
    if (st) {
        cbx_names_clear(&names);
        return st;
    }
    columns[0] = (cbx__column){ "baseline", NULL, true };
    columns[1] = (cbx__column){ "run", NULL, true };
    columns[2] = (cbx__column){ "change", &percent, false };
    t.columns = columns;
    st = sides_make(cbx_ctx_allocator(job->ctx), run, baseline, &both, err);
    if (!st) st = compare_labels(job, &both, &t, err);
    if (!st) st = compare_points(job, &both, &names, metrics, &t, err);
    sides_clear(&both);
    cbx_names_clear(&names);
    if (!st) *out = t;
    return st;
}
