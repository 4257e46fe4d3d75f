/*
 * calibrax summary: a run in a few lines, and calibrax show: all of a run, or one of its points.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/select.h"
#include "programs/common/output.h"

typedef struct summary_args {
    select_args select;
    const char *run;
} summary_args;

static const summary_args summary_defaults = { .run = "latest" };

#define RUN_ROW                                                                                                        \
    {                                                                                                                  \
        "run", 0, OPT_STRING, offsetof(summary_args, run), "ID", "latest",                                             \
            "the run: an id, the beginning of one, latest, or baseline:NAME"                                           \
    }

static const opt_spec summary_options[] = { SELECT_STORE_ROWS(summary_args), RUN_ROW, SELECT_JSON_ROW(summary_args) };
static const opt_spec show_options[] = { SELECT_STORE_ROWS(summary_args), RUN_ROW, SELECT_POINT_ROWS(summary_args),
                                         SELECT_JSON_ROW(summary_args) };

/* --- what both say --- */

static void print_head(const opt_run *run, const cbx_run *r)
{
    char time[CBX_TIME_SIZE];
    const char *machine = run_machine(r);

    printf("Run: ");
    print_painted(PAINT_STRONG, "%s\n", cbx_run_id(r));
    printf("  Timestamp: %s\n", format_time(cbx_run_timestamp_us(r), time));
    if (cbx_run_commit(r)) printf("  Commit: %s\n", plain_text(run->arena, cbx_run_commit(r)));
    if (cbx_run_branch(r)) printf("  Branch: %s\n", plain_text(run->arena, cbx_run_branch(r)));
    if (machine) printf("  Machine: %s\n", plain_text(run->arena, machine));
    printf("  Points: %zu\n", cbx_run_npoints(r));
}

/* The framework of a point, or its name: what a line of a summary begins with. */
static const char *label_of(const cbx_point *p)
{
    const char *framework = cbx_point_tag(p, "framework");

    return framework ? framework : p->name;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const cbx_named_metric *const *)a)->name, (*(const cbx_named_metric *const *)b)->name);
}

/* Metrics of a point by name; NULL: out of memory. */
static const cbx_named_metric **sorted_metrics(cbx_arena *arena, const cbx_point *p)
{
    const cbx_named_metric **list = cbx_arena_calloc(arena, p->nmetrics, sizeof(*list));

    if (!list) return NULL;
    for (size_t i = 0; i < p->nmetrics; i++) list[i] = &p->metrics[i];
    qsort(list, p->nmetrics, sizeof(*list), by_name);
    return list;
}

static const char *unit_of(const cbx_run *r, const char *metric)
{
    const cbx_metric_def *def = cbx_run_find_metric_def(r, metric);

    return def ? def->unit : "";
}

/* --- summary --- */

/* Whether another point of the scenario has the same label, so that it takes more to tell them apart. */
static bool label_is_shared(const cbx_run *r, size_t at)
{
    const cbx_point *p = cbx_run_point(r, at);

    for (size_t i = 0; i < cbx_run_npoints(r); i++) {
        const cbx_point *q = cbx_run_point(r, i);
        if (i != at && !strcmp(p->scenario, q->scenario) && !strcmp(label_of(p), label_of(q))) return true;
    }
    return false;
}

static void print_line(const opt_run *run, const cbx_run *r, size_t at)
{
    const cbx_point *p = cbx_run_point(r, at);
    const cbx_named_metric **list = sorted_metrics(run->arena, p);
    char value[CBX_FORMAT_SIZE];

    printf("  ");
    print_painted(PAINT_STRONG, "%s", plain_text(run->arena, label_of(p)));
    if (label_is_shared(r, at)) {
        const char *rest = format_tags(run->arena, p->tags, p->ntags, "framework");
        if (label_of(p) != p->name) printf(" %s", plain_text(run->arena, p->name));
        if (*rest) printf(" (%s)", rest);
    }
    for (size_t i = 0; list && i < p->nmetrics; i++) {
        const char *unit = unit_of(r, list[i]->name);
        printf("%s%s=%s", i ? ", " : ": ", plain_text(run->arena, list[i]->name),
               format_value(list[i]->metric.value, value));
        if (*unit) print_painted(PAINT_FAINT, " %s", plain_text(run->arena, unit));
    }
    putchar('\n');
}

/* Scenarios in the order of their first points. */
static void print_scenarios(const opt_run *run, const cbx_run *r)
{
    bool *done = cbx_arena_calloc(run->arena, cbx_run_npoints(r), sizeof(*done));

    for (size_t i = 0; done && i < cbx_run_npoints(r); i++) {
        const char *scenario = cbx_run_point(r, i)->scenario;
        if (done[i]) continue;
        print_painted(PAINT_FAINT, "\nScenario: ");
        printf("%s\n", plain_text(run->arena, scenario));
        for (size_t k = i; k < cbx_run_npoints(r); k++) {
            if (done[k] || strcmp(cbx_run_point(r, k)->scenario, scenario) != 0) continue;
            print_line(run, r, k);
            done[k] = true;
        }
    }
}

static cbx_json *summary_json(const cbx_run *r)
{
    cbx_json *o = new_document("calibrax-summary"), *head = cbx_json_new_object(), *points = cbx_json_new_array();

    set_run_head(head, r);
    cbx_json_set(o, "run", head);
    for (size_t i = 0; i < cbx_run_npoints(r); i++) {
        const cbx_point *p = cbx_run_point(r, i);
        cbx_json *item = cbx_json_new_object(), *values = cbx_json_new_object();
        for (size_t k = 0; k < p->nmetrics; k++)
            cbx_json_set_double(values, p->metrics[k].name, p->metrics[k].metric.value);
        cbx_json_set_string(item, "name", p->name);
        cbx_json_set_string(item, "scenario", p->scenario);
        cbx_json_set(item, "tags", tags_json(p->tags, p->ntags));
        cbx_json_set(item, "metrics", values);
        cbx_json_push(points, item);
    }
    cbx_json_set(o, "points", points);
    return o;
}

static int summarize(const opt_run *run, const cbx_run *r)
{
    const summary_args *a = run->args;

    if (a->select.json) return print_json(run->program, summary_json(r));
    print_head(run, r);
    print_scenarios(run, r);
    return EXIT_PASS;
}

/* --- show --- */

static void print_metric(const opt_run *run, const cbx_run *r, const cbx_named_metric *m)
{
    const cbx_metric_def *def = cbx_run_find_metric_def(r, m->name);
    char value[CBX_FORMAT_SIZE], lower[CBX_FORMAT_SIZE], upper[CBX_FORMAT_SIZE];

    printf("    %-24s %s", plain_text(run->arena, m->name), cbx_format_double(m->metric.value, value));
    if (def && *def->unit) print_painted(PAINT_FAINT, " %s", plain_text(run->arena, def->unit));
    if (!isnan(m->metric.lower) || !isnan(m->metric.upper))
        printf(" [%s, %s]", cbx_format_double(m->metric.lower, lower), cbx_format_double(m->metric.upper, upper));
    if (m->metric.samples) printf(", %zu samples", m->metric.nsamples);
    if (def) print_painted(PAINT_FAINT, ", %s is better", cbx_direction_name(def->direction));
    putchar('\n');
}

static void print_point(const opt_run *run, const cbx_run *r, const cbx_point *p)
{
    const char *tags = format_tags(run->arena, p->tags, p->ntags, NULL);

    printf("\nPoint: ");
    print_painted(PAINT_STRONG, "%s\n", plain_text(run->arena, p->name));
    printf("  Scenario: %s\n", plain_text(run->arena, p->scenario));
    if (*tags) printf("  Tags: %s\n", tags);
    for (size_t i = 0; i < p->nmetrics; i++) print_metric(run, r, &p->metrics[i]);
}

static cbx_json *show_json(const cbx_run *r, const cbx_store_query *q)
{
    cbx_json *o = new_document("calibrax-run"), *content = cbx_run_to_json(r), *all = cbx_json_get(content, "points");
    cbx_json *kept = cbx_json_new_array();

    for (size_t i = 0; i < cbx_run_npoints(r); i++) {
        if (select_point(q, cbx_run_point(r, i))) cbx_json_push(kept, cbx_json_ref(cbx_json_at(all, i)));
    }
    cbx_json_set(content, "points", kept);
    cbx_json_set(o, "run", content);
    return o;
}

static int show(const opt_run *run, const cbx_run *r)
{
    const summary_args *a = run->args;
    cbx_store_query q;
    size_t found = 0;

    if (select_query(run, &a->select, &q)) return EXIT_ERROR;
    for (size_t i = 0; i < cbx_run_npoints(r); i++) found += select_point(&q, cbx_run_point(r, i));
    if (!found && (q.point || q.scenario || q.metric || q.ntags))
        return opt_fail(run->program, "no point of run '%s' is as asked for", cbx_run_id(r));
    if (a->select.json) return print_json(run->program, show_json(r, &q));
    print_head(run, r);
    for (size_t i = 0; i < cbx_run_npoints(r); i++) {
        if (select_point(&q, cbx_run_point(r, i))) print_point(run, r, cbx_run_point(r, i));
    }
    return EXIT_PASS;
}

/* --- the commands --- */

static int with_run(const opt_run *run, int (*say)(const opt_run *run, const cbx_run *r))
{
    const summary_args *a = run->args;
    cbx_store *store = NULL;
    cbx_run *r = NULL;
    int status = select_open(run, &a->select, false, &store);

    if (!status) status = select_run(run, store, a->run, &r);
    if (!status) status = say(run, r);
    cbx_run_free(r);
    cbx_store_close(store);
    return status;
}

static int run_summary(const opt_run *run) { return with_run(run, summarize); }
static int run_show(const opt_run *run) { return with_run(run, show); }

const opt_command summary_command = {
    "summary",
    "--data DIR [--run ID]",
    "one run in a few lines",
    "Prints a run's time, commit and branch, and for each scenario one line a point with its values.",
    summary_options,
    CBX_LEN(summary_options),
    sizeof(summary_args),
    &summary_defaults,
    0,
    run_summary,
};

const opt_command show_command = {
    "show",
    "--data DIR [--run ID] [FILTER]...",
    "all of one run, or some of its points",
    "Prints the points of a run in full: tags, and each metric with unit, interval, number of samples and direction. "
    "With --json it is the run file itself, cut to the points asked for.",
    show_options,
    CBX_LEN(show_options),
    sizeof(summary_args),
    &summary_defaults,
    0,
    run_show,
};
