/*
 * calibrax trend: the values of a metric over time, one table a configuration.
 *
 * Points that differ in scenario or in a tag are series of their own; a terminal that shows UTF-8 gets a line of bars under each.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/exporters/figure.h"
#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/select.h"
#include "programs/calibrax/tendency.h"
#include "programs/common/output.h"

typedef struct trend_args {
    select_args select;
    const char *framework, *figure, *output;
    bool allow_machines, tendency, replace;
} trend_args;

static const opt_spec trend_options[] = {
    SELECT_STORE_ROWS(trend_args),
    SELECT_ROW(trend_args, "metric", OPT_STRING, metric, "NAME", "the metric; all when left out"),
    SELECT_METRICS_ROW(trend_args),
    SELECT_ROW(trend_args, "point", OPT_STRING, point, "NAME", "the point; all when left out"),
    { "framework", 0, OPT_STRING, offsetof(trend_args, framework), "NAME", NULL,
      "points whose tag framework is this: --tag framework=NAME" },
    SELECT_ROW(trend_args, "scenario", OPT_STRING, scenario, "NAME", "points of this scenario"),
    SELECT_ROW(trend_args, "tag", OPT_EACH, tags, "KEY=VALUE", "points with this tag; may be repeated, all must hold"),
    SELECT_ROW(trend_args, "n-runs", OPT_POSITIVE, limit, "N", "the newest N values of each series only"),
    SELECT_RUN_ROWS(trend_args),
    { "allow-other-machine", 0, OPT_FLAG, offsetof(trend_args, allow_machines), NULL, NULL,
      "series of several machines, and say so" },
    { "tendency", 0, OPT_FLAG, offsetof(trend_args, tendency), NULL, NULL,
      "of each series, by its last 1000 values: improving, degrading, stable or undecided, and its slope" },
    { "figure", 0, OPT_STRING, offsetof(trend_args, figure), "FORM", NULL,
      "svg, pdf or png: draws each series over its runs into a file, instead" },
    { "output", 'o', OPT_STRING, offsetof(trend_args, output), "DIR", "the current folder", "where figures go" },
    { "replace", 0, OPT_FLAG, offsetof(trend_args, replace), NULL, NULL, "write over files that hold something else" },
    SELECT_JSON_ROW(trend_args),
};

/* --- JSON --- */

static cbx_json *value_json(const cbx_trend_point *p)
{
    cbx_json *o = cbx_json_new_object();
    char time[CBX_TIME_SIZE];

    cbx_json_set_string(o, "run", p->run_id);
    cbx_json_set_string(o, "timestamp", cbx_time_format_iso(p->timestamp_us, time));
    cbx_json_set_string(o, "commit", p->commit);
    cbx_json_set_string(o, "branch", p->branch);
    cbx_json_set_string(o, "machine", p->machine);
    cbx_json_set_double(o, "value", p->value);
    if (!isnan(p->lower)) cbx_json_set_double(o, "lower", p->lower);
    if (!isnan(p->upper)) cbx_json_set_double(o, "upper", p->upper);
    return o;
}

/* By the values of a series and what its newest run says of the metric; NULL: not asked for, or a fault that is said. */
static const char *tendency_of(const opt_run *run, cbx_store *store, const cbx_trend_series *s, cbx_tendency *out)
{
    const trend_args *a = run->args;
    double *values = cbx_arena_calloc(run->arena, s->npoints + 1, sizeof *values);
    const cbx_metric_def *def = NULL;
    cbx_direction direction;
    cbx_run *newest = NULL, *defs = NULL;
    cbx_err err = CBX_ERR_INIT;

    if (!a->tendency || !values || !s->npoints) return NULL;
    for (size_t i = 0; i < s->npoints; i++) values[i] = s->points[i].value;
    if (cbx_tendency_find(run->ctx, values, s->npoints, NAN, 0.95, out, &err)) {
        opt_fail(run->program, "%s", err.message);
        return NULL;
    }
    if (!cbx_store_load_bare(store, s->points[s->npoints - 1].run_id, &newest, NULL))
        def = cbx_run_find_metric_def(newest, s->metric);
    if (!def && !select_defs(run, store, &defs, NULL) && defs) def = cbx_run_find_metric_def(defs, s->metric);
    direction = def ? def->direction : CBX_DIRECTION_INFO;
    cbx_run_free(newest);
    cbx_run_free(defs);
    return cbx_tendency_name(out->kind, direction);
}

static cbx_json *series_json(const opt_run *run, cbx_store *store, const cbx_trend_series *s)
{
    cbx_tendency t;
    const char *word = tendency_of(run, store, s, &t);
    cbx_json *o = cbx_json_new_object(), *points = cbx_json_new_array();

    cbx_json_set_string(o, "metric", s->metric);
    cbx_json_set_string(o, "point", s->point);
    cbx_json_set_string(o, "scenario", s->scenario);
    cbx_json_set(o, "tags", tags_json(s->tags, s->ntags));
    for (size_t i = 0; i < s->npoints; i++) cbx_json_push(points, value_json(&s->points[i]));
    cbx_json_set(o, "points", points);
    if (word) cbx_json_set(o, "tendency", tendency_json(&t, word));
    return o;
}

/* --- tables --- */

static void print_title(const opt_run *run, const cbx_trend_series *s)
{
    const char *framework = NULL, *rest = format_tags(run->arena, s->tags, s->ntags, "framework");

    for (size_t i = 0; i < s->ntags; i++) {
        if (!strcmp(s->tags[i].key, "framework")) framework = s->tags[i].value;
    }
    printf("Trend: ");
    print_painted(PAINT_STRONG, "%s", plain_text(run->arena, s->metric));
    printf(" for ");
    print_painted(PAINT_STRONG, "%s", plain_text(run->arena, s->point));
    if (framework) printf(" (%s)", plain_text(run->arena, framework));
    if (*s->scenario) printf(" in %s", plain_text(run->arena, s->scenario));
    if (*rest) printf(", %s", rest);
    putchar('\n');
}

static void print_values(const opt_run *run, const cbx_trend_series *s)
{
    double *values = cbx_arena_calloc(run->arena, s->npoints, sizeof *values);

    for (size_t i = 0; values && i < s->npoints; i++) values[i] = s->points[i].value;
    if (values) print_bars(values, s->npoints);
}

static void print_series(const opt_run *run, cbx_store *store, const cbx_trend_series *s)
{
    cbx_tendency t;
    const char *word = tendency_of(run, store, s, &t);
    char time[CBX_TIME_SIZE], value[CBX_FORMAT_SIZE], commit[9];
    cbx_text out;

    cbx_text_init(&out, cbx_ctx_allocator(run->ctx));
    print_title(run, s);
    print_painted(PAINT_FAINT, "%-32s %12s %s\n", "Timestamp", "Value", "Commit");
    print_painted(PAINT_FAINT, "--------------------------------------------------------\n");
    for (size_t i = 0; i < s->npoints; i++) {
        const cbx_trend_point *p = &s->points[i];
        format_value(p->value, value);
        put_column(&out, format_time(p->timestamp_us, time), 32, SIZE_MAX);
        for (size_t n = strlen(value); n < 12; n++) cbx_text_putc(&out, ' ');
        cbx_text_puts(&out, value);
        cbx_text_putc(&out, ' ');
        snprintf(commit, sizeof commit, "%.8s", p->commit ? p->commit : "-");
        cbx_text_puts(&out, plain_text(run->arena, commit));
        cbx_text_putc(&out, '\n');
        if (out.len >= LIST_PIECE) pour_list(&out);
    }
    if (out.status) opt_fail(run->program, "out of memory");
    pour_list(&out);
    cbx_text_clear(&out);
    if (terminal_has_bars()) print_values(run, s);
    if (word) print_tendency(&t, word);
}

/* --- figures --- */

static cbx_status draw_series(const opt_run *run, const cbx_exporter *form, const cbx_trend_series *s,
                              const cbx_export_opts *o, cbx_export_report *out, cbx_err *err)
{
    double *y = cbx_arena_calloc(run->arena, 3 * s->npoints, sizeof *y), *lower = y + s->npoints,
           *upper = lower + s->npoints;
    const char *key = series_key(run->arena, s);
    const cbx_convergence_figure f = { .name = key,
                                       .title = key,
                                       .x_label = "run",
                                       .y_label = s->metric,
                                       .y = y,
                                       .lower = lower,
                                       .upper = upper,
                                       .n = s->npoints };

    if (!y || !key) return cbx_fail(err, CBX_ENOMEM, "out of memory");
    for (size_t i = 0; i < s->npoints; i++) {
        y[i] = s->points[i].value;
        lower[i] = s->points[i].lower;
        upper[i] = s->points[i].upper;
    }
    return cbx_export_convergence(run->ctx, form, &f, o, out, err);
}

static int draw_figure(const opt_run *run, const cbx_exporter *form, const cbx_trend_series *s)
{
    const trend_args *a = run->args;
    cbx_export_opts o = CBX_EXPORT_OPTS_INIT;
    cbx_err err = CBX_ERR_INIT;
    cbx_export_report report;

    o.folder = a->output;
    o.replace = a->replace;
    if (draw_series(run, form, s, &o, &report, &err)) return opt_fail(run->program, "%s", err.message);
    for (size_t k = 0; k < report.nfiles; k++) puts(report.files[k]);
    cbx_export_report_clear(&report);
    return EXIT_PASS;
}

/* --- the command --- */

/* All series are checked before one is shown. */
typedef struct showing {
    const opt_run *run;
    cbx_store *store;
    cbx_same_machine said;
    const cbx_exporter *form; /* of figures; NULL: none */
    json_stream json;
    size_t shown;
    int status;
} showing;

/* What one machine takes is no level of another's, and what one unit counts none of another. */
static cbx_status check_series(void *user, const cbx_trend_series *s, cbx_err *err)
{
    showing *w = user;
    const trend_args *a = w->run->args;
    const char *name = series_key(w->run->arena, s);

    w->status = name ? EXIT_PASS : opt_fail(w->run->program, "out of memory");
    if (!w->status) w->status = select_check_machines(w->run, s, name, a->allow_machines, &w->said);
    if (!w->status) w->status = select_check_units(w->run, w->store, s, name);
    return w->status ? cbx_fail(err, CBX_EINVAL, "it is said") : CBX_OK;
}

static void begin_showing(showing *w)
{
    const trend_args *a = w->run->args;

    select_warn(w->run, w->store);
    if (a->select.json) json_stream_begin(&w->json, new_document("calibrax-trend"), "series");
}

static cbx_status show_one(void *user, const cbx_trend_series *s, cbx_err *err)
{
    showing *w = user;
    const trend_args *a = w->run->args;

    if (!w->shown) begin_showing(w);
    if (a->figure) {
        w->status = draw_figure(w->run, w->form, s);
    } else if (a->select.json) {
        json_stream_add(&w->json, series_json(w->run, w->store, s));
    } else {
        if (w->shown) putchar('\n');
        print_series(w->run, w->store, s);
    }
    w->shown++;
    return w->status ? cbx_fail(err, CBX_EINVAL, "it is said") : CBX_OK;
}

static int show_all(showing *w, const cbx_store_query *query)
{
    const trend_args *a = w->run->args;
    cbx_err err = CBX_ERR_INIT;

    if (a->figure && !(w->form = cbx_exporter_find(a->figure)))
        return opt_fail(w->run->program, "trend --figure: '%s' is none of svg, pdf, png", a->figure);
    if (cbx_store_trend_each(w->store, query, check_series, show_one, w, &err) && !w->status)
        w->status = opt_fail(w->run->program, "%s", err.message);
    if (!w->shown && w->status) return w->status;
    if (!w->shown) begin_showing(w);
    if (a->select.json && json_stream_end(&w->json, w->run->program, cbx_json_new_object())) return EXIT_ERROR;
    return w->status;
}

static int show_trend(const opt_run *run, cbx_store *store)
{
    const trend_args *a = run->args;
    select_args select = a->select;
    showing w = { .run = run, .store = store, .said = CBX_MACHINE_SAME };
    cbx_store_query query;
    int status;

    if (a->framework &&
        !opt_append(run->arena, cbx_arena_printf(run->arena, "framework=%s", a->framework), &select.tags))
        return opt_fail(run->program, "out of memory");
    if (select_query(run, &select, &query)) return EXIT_ERROR;
    status = show_all(&w, &query);
    if (status || w.shown) return status;
    return opt_fail(run->program, "no trend data found: 'calibrax show --data %s' tells points and metrics",
                    cbx_store_root(store));
}

static int run_trend(const opt_run *run)
{
    const trend_args *a = run->args;
    cbx_store *store = NULL;
    int status;

    if (a->figure && (a->select.json || a->tendency))
        return opt_fail(run->program, "trend --figure draws: leave --json and --tendency out");
    if (!a->figure && (a->output || a->replace))
        return opt_fail(run->program, "trend: --output and --replace need --figure");
    status = select_open(run, &a->select, false, &store);
    if (!status) status = show_trend(run, store);
    cbx_store_close(store);
    return status;
}

const opt_command trend_command = {
    "trend",
    "--data DIR [--metric NAME] [--point NAME] [FILTER]...",
    "values of a metric over time",
    "Prints each series that the filters describe, oldest value first: points that differ in scenario or in a tag are "
    "series of their own. Values of several machines in one series are refused unless --allow-other-machine says so. "
    "Exit status 2 when there is none.",
    trend_options,
    CBX_LEN(trend_options),
    sizeof(trend_args),
    NULL,
    0,
    run_trend,
};
