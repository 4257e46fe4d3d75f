/* Plots of a run as a whole: a metric as a field of colours, two metrics against each other, kernels under their roofs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/analysis/pareto.h"
#include "calibrax/core/machine.h"
#include "calibrax/exporters/plots.h"
#include "calibrax/plot/charts.h"
#include "calibrax/profiling/roofline.h"

static const cbx_metric *at(const cbx__table *t, size_t row, size_t column)
{
    return t->cells[row * t->ncolumns + column].metric;
}

/* --- a field of colours --- */

static cbx_status draw_heat(cbx_export_job *job, const cbx__grid *g, size_t column, cbx_plot **out, cbx_err *err)
{
    size_t fields = g->nseries * g->nx;
    double *values = cbx_arena_calloc(job->arena, 3 * fields, sizeof *values), *lower = values + fields,
           *upper = lower + fields;
    const char **rows = cbx_arena_calloc(job->arena, g->nseries, sizeof *rows);
    cbx_plot_opts o;
    cbx_status st = cbx__plot_options(job, g->table, column, &o, err);

    if (st) return st;
    if (!values || !rows) return cbx_fail_nomem(err, "a plot");
    for (size_t i = 0; i < 3 * fields; i++) values[i] = NAN;
    for (size_t i = 0; i < g->nseries; i++) rows[i] = *g->names[i] ? g->names[i] : "all";
    for (size_t i = 0; i < g->table->nrows; i++) {
        const cbx_metric *m = at(g->table, i, column);
        size_t at_field = g->series[i] * g->nx + g->x[i];
        if (!m) continue;
        values[at_field] = m->value;
        lower[at_field] = m->lower;
        upper[at_field] = m->upper;
    }
    o.x = o.y = CBX_PLOT_CATEGORIES;
    o.title = cbx_arena_printf(job->arena, "%s%s%s%s", o.y_label, *g->table->facts ? " (" : "", g->table->facts,
                               *g->table->facts ? ")" : "");
    o.y_label = NULL;
    o.x_label = g->x_label;
    if (!o.title) return cbx_fail_nomem(err, "a plot");
    st = cbx_plot_create(job->ctx, &o, out, err);
    return st ? st : cbx_plot_heat(*out, values, lower, upper, rows, g->nseries, g->xs, g->nx, err);
}

/* --- a front --- */

/* The first two metrics that have a better side; those asked for must have one. */
static cbx_status choose_objectives(const cbx_export_job *job, const cbx__table *t, size_t columns[2], cbx_err *err)
{
    size_t n = 0;

    for (size_t k = 0; n < 2 && k < t->ncolumns; k++) {
        const cbx_metric_def *def = t->columns[k].def;
        if (def && def->direction != CBX_DIRECTION_INFO)
            columns[n++] = k;
        else if (job->opts.nmetrics)
            return cbx_fail(err, CBX_EINVAL,
                            "'%s' has no direction: define it as lower or higher in the run, or choose another metric",
                            t->columns[k].name);
    }
    if (n == 2) return CBX_OK;
    return cbx_fail(err, CBX_EINVAL, "a Pareto plot needs two metrics with a direction, run '%s' has %zu",
                    cbx_run_id(t->run), n);
}

typedef struct candidates {
    double *xy, *x, *y, *lower, *upper, *x_lower, *x_upper; /* xy: [row][2] for the front */
    bool *on_front;
    const char **names;
} candidates;

static cbx_status collect(cbx_export_job *job, const cbx__grid *g, const size_t columns[2], candidates *c, cbx_err *err)
{
    size_t n = g->table->nrows;
    double *numbers = cbx_arena_calloc(job->arena, 8 * n, sizeof *numbers);

    *c = (candidates){ .on_front = cbx_arena_calloc(job->arena, n, sizeof *c->on_front),
                       .names = cbx_arena_calloc(job->arena, n, sizeof *c->names) };
    if (!numbers || !c->on_front || !c->names) return cbx_fail_nomem(err, "a plot");
    c->xy = numbers;
    c->x = numbers + 2 * n;
    c->y = numbers + 3 * n;
    c->lower = numbers + 4 * n;
    c->upper = numbers + 5 * n;
    c->x_lower = numbers + 6 * n;
    c->x_upper = numbers + 7 * n;
    for (size_t i = 0; i < n; i++) {
        const cbx_metric *x = at(g->table, i, columns[0]), *y = at(g->table, i, columns[1]);
        bool both = x && y && isfinite(x->value) && isfinite(y->value);
        c->x[i] = c->xy[2 * i] = both ? x->value : NAN;
        c->y[i] = c->xy[2 * i + 1] = both ? y->value : NAN;
        c->lower[i] = both ? y->lower : NAN;
        c->upper[i] = both ? y->upper : NAN;
        c->x_lower[i] = both ? x->lower : NAN;
        c->x_upper[i] = both ? x->upper : NAN;
        c->names[i] = cbx__plot_row_name(job, g, i);
        if (!c->names[i]) return cbx_fail_nomem(err, "a plot");
    }
    return CBX_OK;
}

static cbx_status draw_pareto(cbx_export_job *job, const cbx__grid *g, cbx_plot **out, const char **part, cbx_err *err)
{
    const cbx__table *t = g->table;
    size_t columns[2], nfront = 0;
    cbx_plot_opts o;
    candidates c;
    cbx_status st = choose_objectives(job, t, columns, err);

    if (!st) st = cbx__plot_options(job, t, columns[1], &o, err);
    if (!st) st = collect(job, g, columns, &c, err);
    if (st) return st;
    const cbx_direction directions[] = { t->columns[columns[0]].def->direction, t->columns[columns[1]].def->direction };
    st = cbx_pareto_front(job->ctx, c.xy, t->nrows, 2, directions, c.on_front, &nfront, NULL, err);
    if (st) return st;
    if (!nfront)
        return cbx_fail(err, CBX_ENOENT, "no point of run '%s' has both '%s' and '%s'", cbx_run_id(t->run),
                        t->columns[columns[0]].name, t->columns[columns[1]].name);
    o.x_label = cbx__plot_metric_name(job, &t->columns[columns[0]]);
    o.title = cbx_arena_printf(
        job->arena, "better: %s and %s%s%s%s", directions[0] == CBX_DIRECTION_LOWER ? "left" : "right",
        directions[1] == CBX_DIRECTION_LOWER ? "down" : "up", *t->facts ? " (" : "", t->facts, *t->facts ? ")" : "");
    *part = cbx_arena_printf(job->arena, "%s-%s", t->columns[columns[0]].name, t->columns[columns[1]].name);
    if (!o.x_label || !o.title || !*part) return cbx_fail_nomem(err, "a plot");
    o.x = cbx__plot_wants_log(t, columns[0]) ? CBX_PLOT_LOG : CBX_PLOT_LINEAR;
    o.y = cbx__plot_wants_log(t, columns[1]) ? CBX_PLOT_LOG : CBX_PLOT_LINEAR;
    st = cbx_plot_create(job->ctx, &o, out, err);
    const cbx_plot_series bars = {
        NULL, c.x, c.y, c.lower, c.upper, t->nrows, CBX_PLOT_WHISK | CBX_PLOT_FAINT, c.x_lower, c.x_upper
    };
    if (!st) st = cbx_plot_line(*out, &bars, err);
    return st ? st
              : cbx_plot_pareto(*out, c.x, c.y, c.on_front, c.names, t->nrows, directions[0] == CBX_DIRECTION_HIGHER,
                                err);
}

/* --- kernels under roofs: a series a value of the compared tag, else a kernel --- */

typedef struct roofs {
    cbx_plot_roof *peaks, *bandwidths;
    size_t npeaks, nbandwidths;
} roofs;

static cbx_status read_roofs(cbx_export_job *job, const cbx_json *all, const char *key, cbx_plot_roof **out, size_t *n,
                             cbx_err *err)
{
    const cbx_json *o = cbx_json_get(all, key);
    const char *name;
    cbx_json *value;

    *out = cbx_arena_calloc(job->arena, cbx_json_length(o), sizeof **out);
    if (!*out) return cbx_fail_nomem(err, "a plot");
    for (*n = 0; cbx_json_typeof(o) == CBX_JSON_OBJECT && cbx_json_member(o, *n, &name, &value); ++*n)
        (*out)[*n] = (cbx_plot_roof){ name, cbx_json_double_value(value) };
    if (*n) return CBX_OK;
    return cbx_fail(err, CBX_EFORMAT,
                    "the run's metadata.roofs has no '%s': it must be {\"flop_per_s\": {NAME: X}, "
                    "\"bytes_per_s\": {NAME: X}}",
                    key);
}

static cbx_status roofs_of_machine(cbx_export_job *job, const char *id, roofs *out, cbx_err *err)
{
    cbx_roofs *measured[2];
    cbx_probe probe;
    cbx_status st = cbx_probe_get(job->ctx, id, false, &probe, err);

    for (int f64 = 0; !st && f64 < 2; f64++) {
        measured[f64] = cbx_arena_alloc(job->arena, sizeof **measured);
        st = measured[f64] ? cbx_roofs_of_probe(&probe, f64, 1, measured[f64], err) : cbx_fail_nomem(err, "a plot");
    }
    if (st) return st;
    out->peaks = cbx_arena_calloc(job->arena, 2, sizeof *out->peaks);
    out->bandwidths = cbx_arena_calloc(job->arena, measured[0]->nlevels, sizeof *out->bandwidths);
    if (!out->peaks || !out->bandwidths) return cbx_fail_nomem(err, "a plot");
    out->peaks[0] = (cbx_plot_roof){ "float32, one core", measured[0]->flop_per_s };
    out->peaks[1] = (cbx_plot_roof){ "float64, one core", measured[1]->flop_per_s };
    out->npeaks = 2;
    out->nbandwidths = measured[0]->nlevels;
    for (size_t i = 0; i < out->nbandwidths; i++)
        out->bandwidths[i] = (cbx_plot_roof){ measured[0]->level[i].name, measured[0]->level[i].bytes_per_s };
    return CBX_OK;
}

/* The roofs in the run's metadata, else those of this machine if the run is of it. */
static cbx_status find_roofs(cbx_export_job *job, const cbx_run *run, roofs *out, cbx_err *err)
{
    const cbx_json *given = cbx_json_get(cbx_run_metadata(run), "roofs");
    const char *machine = cbx_json_get_string(cbx_run_environment(run), "machine", "");
    cbx_machine here;
    cbx_status st;

    if (given) {
        st = read_roofs(job, given, "flop_per_s", &out->peaks, &out->npeaks, err);
        return st ? st : read_roofs(job, given, "bytes_per_s", &out->bandwidths, &out->nbandwidths, err);
    }
    st = cbx_machine_read(job->ctx, NULL, &here, err);
    if (st) return st;
    if (!strcmp(machine, here.id)) return roofs_of_machine(job, here.id, out, err);
    return cbx_fail(err, CBX_ENOENT,
                    "run '%s' is of another machine, and its metadata has no roofs: "
                    "add \"roofs\": {\"flop_per_s\": {NAME: X}, \"bytes_per_s\": {NAME: X}}",
                    cbx_run_id(run));
}

static size_t column_of(const cbx__table *t, const char *name)
{
    size_t k = 0;

    while (k < t->ncolumns && strcmp(t->columns[k].name, name)) k++;
    return k;
}

static cbx_status find_kernels(cbx_export_job *job, const cbx__grid *g, cbx_plot_kernel **out, size_t *n, cbx_err *err)
{
    const cbx__table *t = g->table;
    size_t rate = column_of(t, "flop_per_s"), intensity = column_of(t, "intensity");

    *n = 0;
    *out = cbx_arena_calloc(job->arena, t->nrows, sizeof **out);
    if (!*out) return cbx_fail_nomem(err, "a plot");
    for (size_t s = 0; rate < t->ncolumns && intensity < t->ncolumns && s < g->nseries; s++)
        for (size_t i = 0; i < t->nrows; i++) {
            const cbx_metric *y = at(t, i, rate), *x = at(t, i, intensity);
            const char *name = g->nseries > 1 ? g->names[s] : g->xs[g->x[i]];
            if (g->series[i] != s || !x || !y || !(x->value > 0 && y->value > 0)) continue;
            if (!isfinite(x->value) || !isfinite(y->value)) continue;
            (*out)[(*n)++] = (cbx_plot_kernel){ name, x->value, y->value, y->lower > 0 ? y->lower : NAN, y->upper };
        }
    if (*n) return CBX_OK;
    if (rate == t->ncolumns || intensity == t->ncolumns)
        if (job->opts.nmetrics)
            return cbx_fail(err, CBX_EINVAL,
                            "a roofline is drawn of the metrics flop_per_s and intensity, and '%s' was not asked for: "
                            "name both, or no metrics at all",
                            rate == t->ncolumns ? "flop_per_s" : "intensity");
    return cbx_fail(err, CBX_ENOENT,
                    "no point of run '%s' has the metrics flop_per_s and intensity [flop/byte], both above 0",
                    cbx_run_id(t->run));
}

static cbx_status draw_roofline(cbx_export_job *job, const cbx__grid *g, cbx_plot **out, const char **part,
                                cbx_err *err)
{
    cbx_plot_opts o = CBX_PLOT_OPTS_INIT;
    cbx_plot_kernel *kernels;
    size_t nkernels;
    roofs r = { 0 };
    cbx_status st = find_kernels(job, g, &kernels, &nkernels, err);

    if (!st) st = find_roofs(job, g->table->run, &r, err);
    if (st) return st;
    *part = "kernels";
    o.title = *g->table->facts ? cbx_arena_printf(job->arena, "roofline (%s)", g->table->facts) : "roofline";
    if (!o.title) return cbx_fail_nomem(err, "a plot");
    o.x_label = "intensity [flop/byte]";
    o.y_label = "flop/s";
    o.x = o.y = CBX_PLOT_LOG;
    o.theme = job->opts.dark ? CBX_PLOT_DARK : CBX_PLOT_LIGHT;
    st = cbx_plot_create(job->ctx, &o, out, err);
    return st ? st : cbx_plot_roofline(*out, r.peaks, r.npeaks, r.bandwidths, r.nbandwidths, kernels, nkernels, err);
}

const cbx__plot_kind cbx__plot_heat = { "heat", "a metric as a table of colours", draw_heat, NULL };
const cbx__plot_kind cbx__plot_pareto = { "pareto", "two metrics, and the front", NULL, draw_pareto };
const cbx__plot_kind cbx__plot_roofline = { "roofline", "kernels under what the machine can do", NULL, draw_roofline };
