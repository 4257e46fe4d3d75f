/*
 * calibrax trend: the values of a metric over time, one table a configuration; trend_changes.c and
 * trend_over.c are its other modes.
 *
 * Points that differ in scenario or in a tag are series of their own; a terminal that shows UTF-8
 * gets a line of bars under each.
 */
#include "programs/calibrax/trend.h"

#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/exporters/figure.h"
#include "calibrax/plot/plot.h"
#include "programs/calibrax/calibrax.h"
#include "programs/common/output.h"

static const trend_args trend_defaults = { .figure = -1, .how = CBX_CHANGEPOINT_OPTS_INIT, .level = 0.95 };

#define AT(member) offsetof(trend_args, member)

static const opt_spec trend_options[] = {
    SELECT_STORE_ROWS,
    SELECT_METRIC_ROWS("use this metric (default: all)"),
    OPT("point", 0, STRING, select.point, "NAME", NULL, "use points of this name (default: all)"),
    OPT("framework", 0, STRING, framework, "NAME", NULL, "short for --tag framework=NAME"),
    SELECT_SCENARIO_ROW,
    SELECT_TAG_ROW,
    OPT("n-runs", 0, POSITIVE, select.limit, "N", NULL, "use only the newest N values of each series"),
    SELECT_RUN_ROWS,
    OPT_SWITCH("allow-other-machine", 0, allow_machines, "accept series of several machines, with a note"),
    SELECT_JSON_ROW,
    OPT_SWITCH("tendency", 0, tendency,
               "show whether the last 1000 values of each series are improving, degrading, stable or undecided, and "
               "their slope" /* words:ok */),
    OPT_SWITCH("changes", 0, changes, "find where the level of each series changed"),
    OPT("over", 0, STRING, over, "TAG", NULL, "fit how the metric scales with a numeric tag, instead of over time"),
    OPT("figure", 0, CHOICE, figure, "FORM", NULL, "plot each series into a file: svg, pdf or png", "svg pdf png"),
    OPT_HEADING("Figures, with --figure", "figure"),
    OPT("output", 'o', STRING, output, "DIR", "the current folder", "folder of the plots"),
    OPT_SWITCH("replace", 0, replace, "overwrite files with other content"),
    { "Changes of level, with --changes", 0, OPT_GROUP, 0, "changes", NULL,
      "Shows each change with the first run after it. With --state, changes that were not reported before are marked "
      "as new. A change in a series is only proposed: measure the commits on both sides again, and --before and "
      "--after confirm or refute it. An alarm is reliable enough for a gate after every run: of series without a "
      "change that are checked 100 times, at most 1 in 100 raises an alarm." },
    OPT("method", 0, CHOICE, method, "NAME", "detector",
        "method: detector; or, for exploration and not with --check: pelt, binary, window or e-divisive",
        "detector pelt binary window e-divisive"),
    OPT("cost", 0, CHOICE, cost, "NAME", "mean",
        "for pelt, binary and window: detect changes of the mean, or of a normal distribution (level or spread)",
        "mean normal"),
    OPT("penalty", 0, NUMBER, how.penalty, "X", "from the noise of the series and its autocorrelation",
        "for pelt, binary and window: the minimum gain of a change"),
    OPT("min-segment", 0, POSITIVE, how.min_segment, "N", "3", "minimum number of values between two changes"),
    OPT("window", 0, POSITIVE, how.window, "N", "twice the minimum segment, at least 10",
        "for window: number of values on each side"),
    OPT("alpha", 0, SHARE, how.alpha, "P", "0.01", "for e-divisive: maximum p-value of a change"),
    OPT("seed", 0, COUNT, how.seed, "N", "1", "for e-divisive: seed of its permutations"),
    OPT("state", 0, STRING, state, "FILE", NULL,
        "file of the changes reported so far, to mark new ones; created if missing"),
    OPT_SWITCH("new-only", 0, new_only, "leave out changes that were reported before"),
    OPT("before", 0, LIST, before, "ID,...", NULL,
        "repeated runs from before the last change, to confirm it: ids, unique prefixes of ids, latest, baseline:NAME",
        "@runs"),
    OPT("after", 0, LIST, after, "ID,...", NULL, "repeated runs from after it", "@runs"),
    OPT("threshold", 0, NUMBER, threshold, "X", "0", "relative change that a confirmed one must exceed"),
    OPT_SWITCH(
        "check", 0, check,
        "exit with 1 if a change is for the worse (a new alarm; with --before and --after a confirmed change) or the "
        "newest value of a series is not a number, with 3 if that is undecided or a series has fewer than 16 values"),
    OPT_SWITCH("allow-dropped", 0, allow_dropped,
               "with --check: do not fail if the newest run lacks some series, with a note"),
    { "Scaling, with --over", 0, OPT_GROUP, 0, "over", NULL,
      "Fits a law to the points that differ in this tag only: the order of growth and a power law over sizes, or a "
      "speed-up law over numbers of workers. Several runs give several values per size." },
    INPUTS_ROWS,
    OPT("law", 0, CHOICE, law, "NAME", "power",
        "power (orders of growth and a power law), amdahl (time), gustafson or usl (throughput)",
        "power amdahl gustafson usl"),
    OPT_HEADING("Confidence, with --over, or --before and --after", "over before"),
    OPT("level", 0, SHARE, level, "X", "0.95", "confidence level of the intervals"),
};
static const opt_rule trend_rules[] = {
    { "changes", OPT_EXCLUDES, "over figure tendency" },
    { "over", OPT_EXCLUDES, "figure tendency framework n-runs branch commit machine since until" },
    { "over", OPT_NEEDS, "metric" },
    { "figure", OPT_EXCLUDES, "json tendency" },
    INPUTS_RULES,
    { "window", OPT_NEEDS, "method=window" },
    { "alpha,seed", OPT_NEEDS, "method=e-divisive" },
    { "cost,penalty", OPT_NEEDS, "method=pelt method=binary method=window" },
    { "new-only", OPT_NEEDS, "state" },
    { "before", OPT_NEEDS, "after" },
    { "after", OPT_NEEDS, "before" },
    { "threshold", OPT_NEEDS, "before" },
    { "allow-dropped", OPT_NEEDS, "check" },
    { "check", OPT_EXCLUDES, "method=pelt method=binary method=window method=e-divisive" },
};

/* --- JSON --- */

/* By the values of a series and its newest run's definition of the metric; NULL: not asked for, or
 * a reported fault. */
static const char *tendency_of(const opt_run *run, cbx_store *store, const cbx_trend_series *s, cbx_tendency *out)
{
    const trend_args *a = run->args;
    const cbx_metric_def *def = NULL;
    SCOPED(cbx_run) *newest = NULL, *defs = NULL;

    if (!a->tendency || !s->npoints) return NULL;
    double *values = cbx_arena_calloc(run->arena, s->npoints, sizeof *values);
    for (size_t i = 0; i < s->npoints; i++) values[i] = s->points[i].value;
    if (opt_check(run, cbx_tendency_find(run->ctx, values, s->npoints, CBX_TENDENCY_THRESHOLD, 0.95, out, run->err)))
        return NULL;
    if (!cbx_store_load_bare(store, s->points[s->npoints - 1].run_id, &newest, NULL))
        def = cbx_run_find_metric_def(newest, s->metric);
    if (!def && !select_defs(run, store, &defs, NULL) && defs) def = cbx_run_find_metric_def(defs, s->metric);
    return cbx_tendency_name(out->kind, def ? def->direction : CBX_DIRECTION_INFO);
}

static cbx_json *series_json(const opt_run *run, cbx_store *store, const cbx_trend_series *s)
{
    cbx_tendency t;
    const char *word = tendency_of(run, store, s, &t);
    char time[CBX_TIME_SIZE];

    cbx_json *o = cbx_json_object(J_TEXT("metric", s->metric), J_TEXT("point", s->point),
                                  J_TEXT("scenario", s->scenario), J_JSON("tags", tags_json(s->tags, s->ntags)));
    cbx_json *points = cbx_json_set_array(o, "points");
    for (size_t i = 0; i < s->npoints; i++) {
        const cbx_trend_point *p = &s->points[i];
        cbx_json_put(cbx_json_push_object(points), J_TEXT("run", p->run_id),
                     J_TEXT("timestamp", cbx_time_format_iso(p->timestamp_us, time)), J_TEXT("commit", p->commit),
                     J_TEXT("branch", p->branch), J_TEXT("machine", p->machine), J_NUMBER("value", p->value),
                     J_KNOWN("lower", p->lower), J_KNOWN("upper", p->upper));
    }
    if (word) cbx_json_set(o, "tendency", tendency_json(&t, word));
    return o;
}

/* --- tables --- */

static void print_series(const opt_run *run, cbx_store *store, const cbx_trend_series *s)
{
    double *values = terminal_has_bars() ? cbx_arena_calloc(run->arena, s->npoints, sizeof *values) : NULL;
    cbx_tendency t;
    const char *word = tendency_of(run, store, s, &t);
    char time[CBX_TIME_SIZE], commit[9];
    const char *framework = NULL, *rest = format_tags(run->arena, s->tags, s->ntags, "framework");

    for (size_t i = 0; i < s->ntags; i++)
        if (!strcmp(s->tags[i].key, "framework")) framework = s->tags[i].value;
    printf("Trend: ");
    print_painted(PAINT_STRONG, "%s", plain_text(run->arena, s->metric));
    printf(" for ");
    print_painted(PAINT_STRONG, "%s", plain_text(run->arena, s->point));
    if (framework) printf(" (%s)", plain_text(run->arena, framework));
    if (*s->scenario) printf(" in %s", plain_text(run->arena, s->scenario));
    if (*rest) printf(", %s", rest);
    putchar('\n');
    print_painted(PAINT_FAINT, "%-32s %12s %s\n", "Timestamp", "Value", "Commit");
    print_painted(PAINT_FAINT, "--------------------------------------------------------\n");
    for (size_t i = 0; i < s->npoints; i++) {
        const cbx_trend_point *p = &s->points[i];
        snprintf(commit, sizeof commit, "%.8s", p->commit ? p->commit : "-");
        printf("%-32s %12.6g %s\n", format_time(p->timestamp_us, time), p->value, plain_text(run->arena, commit));
        if (values) values[i] = p->value;
    }
    if (values) print_bars(values, s->npoints);
    if (word) print_tendency(&t, word);
}

/* --- figures --- */

static int draw_figure(const opt_run *run, cbx_store *store, const cbx_exporter *form, const cbx_trend_series *s)
{
    const trend_args *a = run->args;
    double *y = cbx_arena_calloc(run->arena, 4 * s->npoints, sizeof *y), *lower = y + s->npoints,
           *upper = lower + s->npoints, *times_s = upper + s->npoints;
    const char *key = series_key(run->arena, s);
    SCOPED(cbx_run) *newest = NULL;
    if (opt_check(run, cbx_store_load_bare(store, s->points[s->npoints - 1].run_id, &newest, run->err)))
        return EXIT_ERROR;
    const cbx_metric_def *def = cbx_run_find_metric_def(newest, s->metric);
    const char *label = def && *def->unit ? cbx_arena_printf(run->arena, "%s [%s]", s->metric, def->unit) : s->metric;
    const cbx_convergence_figure f = { .name = key,
                                       .title = key,
                                       .x_label = s->points[0].timestamp_us < s->points[s->npoints - 1].timestamp_us
                                                      ? "time of the run (UTC)"
                                                      : "run",
                                       .y_label = label,
                                       .times_s = times_s,
                                       .y = y,
                                       .lower = lower,
                                       .upper = upper,
                                       .n = s->npoints };
    cbx_export_opts o = CBX_EXPORT_OPTS_INIT;
    cbx_export_report report;
    for (size_t i = 0; i < s->npoints; i++) {
        y[i] = s->points[i].value;
        lower[i] = s->points[i].lower;
        upper[i] = s->points[i].upper;
        times_s[i] = 1e-6 * (double)s->points[i].timestamp_us;
    }
    o.folder = a->output;
    o.replace = a->replace;
    if (opt_check(run, cbx_export_convergence(run->ctx, form, &f, &o, &report, run->err))) return EXIT_ERROR;
    for (size_t k = 0; k < report.nfiles; k++) puts(report.files[k]);
    cbx_export_report_clear(&report);
    return EXIT_PASS;
}

/* --- the command --- */

/* All series are checked before one is shown. */
typedef struct showing {
    const opt_run *run;
    cbx_store *store;
    cbx_same_machine noted;
    const cbx_exporter *form; /* of figures; NULL: none */
    json_stream json;
    size_t shown;
    int status;
} showing;

/* Values of different machines, or in different units, are of no common level. */
static cbx_status check_series(void *user, const cbx_trend_series *s, cbx_err *err)
{
    showing *w = user;
    const trend_args *a = w->run->args;
    const char *name = series_key(w->run->arena, s);

    w->status = select_check_machines(w->run, s, name, a->allow_machines, &w->noted);
    if (!w->status) w->status = select_check_units(w->run, w->store, s, name, false);
    return w->status ? cbx_fail(err, CBX_EINVAL, "reported") : CBX_OK;
}

static void begin_showing(showing *w)
{
    const trend_args *a = w->run->args;

    select_warn(w->run, w->store);
    if (a->select.json) json_stream_begin(&w->json, cbx_json_new_document("calibrax-trend"), "series");
}

static cbx_status show_one(void *user, const cbx_trend_series *s, cbx_err *err)
{
    showing *w = user;
    const trend_args *a = w->run->args;

    if (!w->shown) begin_showing(w);
    if (w->form) {
        w->status = draw_figure(w->run, w->store, w->form, s);
    } else if (a->select.json) {
        json_stream_add(&w->json, series_json(w->run, w->store, s));
    } else {
        if (w->shown) putchar('\n');
        print_series(w->run, w->store, s);
    }
    w->shown++;
    return w->status ? cbx_fail(err, CBX_EINVAL, "reported") : CBX_OK;
}

static int run_trend(const opt_run *run)
{
    const trend_args *a = run->args;
    select_args select = a->select;
    showing w = { .run = run, .noted = CBX_MACHINE_SAME };
    cbx_store_query query;

    if (a->over) return trend_over(run);
    if (a->changes) return trend_changes(run);
    if (a->framework) opt_append(run->arena, cbx_arena_printf(run->arena, "framework=%s", a->framework), &select.tags);
    if (a->figure >= 0) w.form = cbx_exporter_find(cbx_plot_format_name((cbx_plot_format)a->figure));
    if (select_query(run, &select, &query) || select_open(run, &a->select, false, &w.store)) return EXIT_ERROR;
    if (cbx_store_trend_each(w.store, &query, check_series, show_one, &w, run->err) && !w.status)
        w.status = opt_fail(run, "%s", run->err->message);
    if (w.shown || !w.status) {
        if (!w.shown) begin_showing(&w);
        if (a->select.json && json_stream_end(&w.json, run, NULL)) w.status = EXIT_ERROR;
        if (!w.status && !w.shown)
            w.status = opt_fail(run, "no series in '%s' matches: 'calibrax show' lists points and metrics",
                                cbx_store_root(w.store));
    }
    cbx_store_close(w.store);
    return w.status;
}

const opt_command trend_command = {
    .name = "trend",
    .synopsis = "[--metric NAME] [--changes | --over TAG | --figure FORM] [FILTER]...",
    .summary = "show a metric over time, find where its level changed, or fit how it scales with a tag",
    .description = "Prints each series that matches the filters, oldest value first; points that differ in scenario or "
                   "in a tag belong to different series. Values of several machines in one series are refused unless "
                   "--allow-other-machine is given.",
    OPT_OPTIONS_RULES(trend),
    .defaults = &trend_defaults,
};
