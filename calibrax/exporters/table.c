/* Tables of runs: which labels distinguish points, which values are best, how many digits they
 * have. */
#include "calibrax/exporters/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/hash_table.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/together.h"
#include "calibrax/core/point_index.h"
#include "calibrax/statistics/estimate.h"

/* --- numbers --- */

static int power_of(double v) { return v == 0 || !isfinite(v) ? 0 : (int)floor(log10(fabs(v)) + 1e-12); }

static void print(double v, double unit, int decimals, char out[CBX_FORMAT_SIZE])
{
    if (!isfinite(v))
        cbx_format_double(v, out);
    else if (snprintf(out, CBX_FORMAT_SIZE, "%.*f", decimals, v / unit) >= CBX_FORMAT_SIZE)
        cbx_format_double(v / unit, out);
}

cbx_status cbx__number_of(cbx_ctx *ctx, const cbx_metric *m, cbx__number *out, cbx_err *err)
{
    double spread = 0, widest = fabs(m->value); /* spread: digits go by it; 0: unknown */
    int last, power;

    if (isfinite(m->lower) && isfinite(m->upper)) {
        spread = fabs(m->upper / 2 - m->lower / 2);
    } else if (m->nsamples > 1) {
        cbx_summary s;
        cbx_status st = cbx_stat_summary(ctx, m->samples, m->nsamples, &s, err);
        if (st && st != CBX_EDOM) return st; /* EDOM: samples that are not finite */
        if (!st) spread = s.stddev;
    }
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

/* The metrics of a run, or those asked for, and which of them have intervals.  @param names  their
 * numbers are the columns' */
static cbx_status find_columns(cbx_export_job *job, const cbx_run *run, cbx_names *names, const cbx__column **out,
                               cbx_err *err)
{
    cbx__column *columns;
    bool good = true;

    for (size_t i = 0; i < job->opts.nmetrics; i++)
        good = good && cbx_names_add(names, job->opts.metrics[i]) != CBX_NO_NAME;
    for (size_t i = 0; !job->opts.nmetrics && i < cbx_run_npoints(run); i++)
        for (size_t k = 0; k < cbx_run_point(run, i)->nmetrics; k++)
            good = good && cbx_names_add(names, cbx_run_point(run, i)->metrics[k].name) != CBX_NO_NAME;
    columns = good ? cbx_arena_calloc(job->arena, names->n, sizeof *columns) : NULL;
    if (!columns) return cbx_fail_nomem(err, "a table");
    for (size_t k = 0; k < names->n; k++) {
        const char *name = cbx_arena_strdup(job->arena, names->list[k]);
        if (!name) return cbx_fail_nomem(err, "a table");
        columns[k] = (cbx__column){ name, cbx_run_find_metric_def(run, name), false };
    }
    for (size_t i = 0; i < cbx_run_npoints(run); i++) {
        const cbx_point *p = cbx_run_point(run, i);
        for (size_t k = 0; k < p->nmetrics; k++) {
            const cbx_metric *m = &p->metrics[k].metric;
            size_t at = isnan(m->lower) && isnan(m->upper) ? CBX_NO_NAME : cbx_names_find(names, p->metrics[k].name);
            if (at != CBX_NO_NAME) columns[at].intervals = true;
        }
    }
    *out = columns;
    return CBX_OK;
}

/* --- labels --- */

/* Names of labels are the tags', and these two. */
static const char *label_value(const cbx_point *p, const char *label)
{
    if (!strcmp(label, "point")) return p->name;
    return strcmp(label, "scenario") ? cbx_point_tag(p, label) : p->scenario;
}

static bool same_text(const char *a, const char *b) { return a && b ? !strcmp(a, b) : a == b; }

/* The tag that is compared, the point, the scenario, then the other tags: those that vary, and a
 * sentence of the others. */
static cbx_status make_labels(cbx_export_job *job, cbx__table *t, cbx_err *err)
{
    const char *by = job->opts.group_by;
    bool tagged = false, good = true;
    cbx_names kept; /* in the job's arena, as the facts are */
    cbx_text facts = cbx__arena_text(job->arena);

    CBX_SCOPED(cbx_names, all, cbx_ctx_allocator(job->ctx));
    cbx_names_init(&kept, CBX_IN_ARENA(job->arena));
    for (size_t i = 0; i < t->nrows; i++) tagged |= label_value(cbx_run_point(t->run, i), by) != NULL;
    const char *const first[] = { tagged ? by : "point", "point", "scenario" };
    for (size_t i = 0; i < CBX_LEN(first); i++) good = good && cbx_names_add(&all, first[i]) != CBX_NO_NAME;
    for (size_t i = 0; good && i < t->nrows; i++)
        for (size_t k = 0; good && k < cbx_run_point(t->run, i)->ntags; k++)
            good = cbx_names_add(&all, cbx_run_point(t->run, i)->tags[k].key) != CBX_NO_NAME;
    for (size_t i = 0; good && i < all.n; i++) {
        const char *label = all.list[i], *value = t->nrows ? label_value(cbx_run_point(t->run, 0), label) : NULL;
        bool varies = i == 0;
        for (size_t k = 1; !varies && k < t->nrows; k++)
            varies = !same_text(label_value(cbx_run_point(t->run, k), label), value);
        if (varies)
            good = cbx_names_add(&kept, label) != CBX_NO_NAME;
        else if (value)
            cbx_text_printf(&facts, "%s%s: %s", facts.len ? "; " : "", label, value);
    }
    if (!good || facts.status) return cbx_fail_nomem(err, "a table");
    t->labels = kept.list;
    t->nlabels = kept.n;
    t->facts = cbx_text_str(&facts);
    return CBX_OK;
}

/* --- rows --- */

static cbx_status make_rows(cbx_export_job *job, const cbx_names *names, cbx__table *t, cbx_err *err)
{
    const char **rows;

    if (!cbx_arena_arrays(job->arena, CBX_ARRAY(rows, t->nrows * t->nlabels),
                          CBX_ARRAY(t->cells, t->nrows * t->ncolumns)))
        return cbx_fail_nomem(err, "a table");
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

typedef struct leader {
    size_t n;
    double value;
} leader;

/* Marks the best of each group by the direction of the metric, where there are two values to choose
 * from; equal ones all are.  @param leaders  of each group: how many values, and the best of
 * them */
static void mark_best(cbx__table *t, size_t column, leader *leaders)
{
    const cbx_metric_def *def = t->columns[column].def;
    bool higher = def && cbx_metric_def_higher_is_better(def);

    if (!def || def->direction == CBX_DIRECTION_INFO) return;
    for (size_t i = 0; i < t->nrows; i++) leaders[i].n = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < t->nrows; i++) {
            cbx__cell *c = &t->cells[i * t->ncolumns + column];
            leader *l = &leaders[t->groups[i]];
            double v = c->metric ? c->metric->value : NAN;
            if (isnan(v)) continue;
            if (pass)
                c->best = l->n > 1 && v == l->value;
            else if (!l->n++ || (higher ? v > l->value : v < l->value))
                l->value = v;
        }
}

#define MAX_CELLS 4000000 /* about 500 MB of them */

cbx_status cbx__table_make(cbx_export_job *job, const cbx_run *run, cbx__table *out, cbx_err *err)
{
    cbx__table t = { .run = run, .nrows = cbx_run_npoints(run) };
    leader *leaders;
    size_t *groups;
    CBX_SCOPED(cbx_names, names, cbx_ctx_allocator(job->ctx));
    CBX_SCOPED(cbx_point_index, points, cbx_ctx_allocator(job->ctx), job->opts.group_by);
    cbx_status st = find_columns(job, run, &names, &t.columns, err);

    if (st) return st;
    t.ncolumns = names.n;
    if (!cbx_arena_arrays(job->arena, CBX_ARRAY(leaders, t.nrows), CBX_ARRAY(groups, t.nrows)))
        return cbx_fail_nomem(err, "a table");
    t.groups = groups;
    if (t.ncolumns && t.nrows > MAX_CELLS / t.ncolumns)
        return cbx_fail(err, CBX_EINVAL,
                        "a table of %zu points and %zu metrics has more than %d cells, most of them empty: choose "
                        "fewer metrics",
                        t.nrows, t.ncolumns, MAX_CELLS);
    st = make_labels(job, &t, err);
    if (!st) st = make_rows(job, &names, &t, err);
    if (st) return st;
    for (size_t i = 0; i < t.nrows; i++) {
        const cbx_point_entry *first = cbx_point_index_add(&points, cbx_run_point(run, i), i);
        if (!first) return cbx_fail_nomem(err, "a table");
        groups[i] = first->value;
    }
    for (size_t k = 0; k < t.ncolumns; k++) mark_best(&t, k, leaders);
    *out = t;
    return CBX_OK;
}

/* --- a run against another --- */

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

CBX_BY_VALUE(by_column, size_t)

cbx_status cbx__table_compare(cbx_export_job *job, const cbx_run *run, const cbx_run *baseline, cbx__table *out,
                              cbx_err *err)
{
    static const cbx_metric_def percent = { .name = "change", .unit = "%" };
    static const cbx__column columns[] = { { "baseline", NULL, true },
                                           { "run", NULL, true },
                                           { "change", &percent, false } };
    static const char *const machines[] = { [CBX_MACHINE_SAME] = "",
                                            [CBX_MACHINE_OTHER] = " of another machine",
                                            [CBX_MACHINE_UNKNOWN] = " (the machine of one is unknown)" };
    const cbx_allocator *al = cbx_ctx_allocator(job->ctx);
    const cbx_run *const runs[] = { run, baseline };
    cbx__table t = { .run = run, .columns = columns, .ncolumns = CBX_LEN(columns), .nrows = cbx_run_npoints(run) };
    const cbx__column *metrics;
    const char **rows, **labels;
    size_t *found, max = 0, alone[2] = { 0 };
    CBX_SCOPED(cbx_names, names, al);
    CBX_SCOPED(cbx_point_index, of_run, al, NULL);
    CBX_SCOPED(cbx_point_index, of_baseline, al, NULL);
    cbx_point_index *const points[] = { &of_run, &of_baseline };
    cbx_status st = find_columns(job, run, &names, &metrics, err);

    for (int k = 0; !st && k < 2; k++)
        for (size_t i = 0; !st && i < cbx_run_npoints(runs[k]); i++)
            if (!cbx_point_index_add(points[k], cbx_run_point(runs[k], i), i)) st = cbx_fail_nomem(err, "a table");
    if (!st) st = make_labels(job, &t, err);
    if (st) return st;
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < cbx_run_npoints(runs[k]); i++)
            alone[k] += !cbx_point_index_find(points[!k], cbx_run_point(runs[k], i));
    for (size_t i = 0; i < cbx_run_npoints(run); i++) max += cbx_run_point(run, i)->nmetrics;
    t.facts = cbx_arena_printf(
        job->arena, "%s%sagainst run %s%s; points that only the run has: %zu, only the baseline: %zu", t.facts,
        *t.facts ? "; " : "", cbx_run_id(baseline), machines[cbx_run_same_machine(run, baseline)], alone[0], alone[1]);
    if (!t.facts ||
        !cbx_arena_arrays(job->arena, CBX_ARRAY(labels, t.nlabels + 1), CBX_ARRAY(rows, max * (t.nlabels + 1)),
                          CBX_ARRAY(found, max), CBX_ARRAY(t.cells, max * 3)))
        return cbx_fail_nomem(err, "a table");
    memcpy(labels, t.labels, t.nlabels * sizeof *labels);
    labels[t.nlabels++] = "metric"; /* after the labels of a run */
    t.labels = labels;
    t.rows = rows;
    t.nrows = 0;
    for (size_t i = 0; !st && i < cbx_run_npoints(run); i++) {
        const cbx_point *p = cbx_run_point(run, i);
        const cbx_point_entry *partner = cbx_point_index_find(&of_baseline, p);
        size_t n = 0;
        for (size_t k = 0; partner && k < p->nmetrics; k++) {
            found[n] = cbx_names_find(&names, p->metrics[k].name);
            n += found[n] != CBX_NO_NAME;
        }
        if (n) qsort(found, n, sizeof *found, by_column);
        for (size_t k = 0; !st && k < n; k++) {
            const cbx__column *c = &metrics[found[k]];
            const cbx_metric *old = cbx_point_metric(partner->point, c->name);
            const char **row = &rows[t.nrows * t.nlabels];
            if (!old) continue;
            for (size_t l = 0; l + 1 < t.nlabels; l++) row[l] = label_value(p, t.labels[l]);
            row[t.nlabels - 1] = c->name;
            st = compare_metric(job, c, old, cbx_point_metric(p, c->name), &t.cells[t.nrows++ * 3], err);
        }
    }
    if (!st && !t.nrows)
        st = cbx_fail(err, CBX_ENOENT, "runs '%s' and '%s' have no point with a metric in common", cbx_run_id(run),
                      cbx_run_id(baseline));
    if (!st) *out = t;
    return st;
}
