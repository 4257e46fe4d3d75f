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

/* A point's line.  Sorting finds what belongs together: a run may have a hundred thousand points. */
typedef struct line {
    const cbx_point *point;
    size_t at;    /* place in the run */
    size_t first; /* of its scenario's points */
    bool shared;  /* another point of the scenario has its label, so that it takes more to tell them apart */
} line;

static int by_label(const void *a, const void *b)
{
    const line *x = a, *y = b;
    int c = strcmp(x->point->scenario, y->point->scenario);

    if (!c) c = strcmp(label_of(x->point), label_of(y->point));
    return c ? c : (x->at > y->at) - (x->at < y->at);
}

static int by_place(const void *a, const void *b)
{
    const line *x = a, *y = b;

    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Scenarios in the order of their first points; NULL: out of memory. */
static line *make_lines(const opt_run *run, const cbx_run *r)
{
    size_t n = cbx_run_npoints(r), end;
    line *lines = cbx_arena_calloc(run->arena, n, sizeof *lines);

    if (!lines) return NULL;
    for (size_t i = 0; i < n; i++) lines[i] = (line){ cbx_run_point(r, i), i, i, false };
    qsort(lines, n, sizeof *lines, by_label);
    for (size_t i = 1; i < n; i++) {
        bool same = !strcmp(lines[i - 1].point->scenario, lines[i].point->scenario);
        if (same && !strcmp(label_of(lines[i - 1].point), label_of(lines[i].point)))
            lines[i - 1].shared = lines[i].shared = true;
    }
    for (size_t i = 0; i < n; i = end) {
        size_t first = lines[i].at;
        for (end = i; end < n && !strcmp(lines[i].point->scenario, lines[end].point->scenario); end++)
            if (lines[end].at < first) first = lines[end].at;
        for (size_t k = i; k < end; k++) lines[k].first = first;
    }
    qsort(lines, n, sizeof *lines, by_place);
    return lines;
}

static void print_line(const opt_run *run, const cbx_run *r, const line *l)
{
    const cbx_point *p = l->point;
    const cbx_named_metric **list = sorted_metrics(run->arena, p);
    char value[CBX_FORMAT_SIZE];

    printf("  ");
    print_painted(PAINT_STRONG, "%s", plain_text(run->arena, label_of(p)));
    if (l->shared) {
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

static int print_scenarios(const opt_run *run, const cbx_run *r)
{
    const line *lines = make_lines(run, r);

    if (!lines) return opt_fail(run->program, "out of memory");
    for (size_t i = 0; i < cbx_run_npoints(r); i++) {
        if (lines[i].first == lines[i].at) {
            print_painted(PAINT_FAINT, "\nScenario: ");
            printf("%s\n", plain_text(run->arena, lines[i].point->scenario));
        }
        print_line(run, r, &lines[i]);
    }
    return EXIT_PASS;
}

static cbx_json *point_json(const cbx_point *p)
{
    cbx_json *item = cbx_json_new_object(), *values = cbx_json_new_object();

    for (size_t k = 0; k < p->nmetrics; k++)
        cbx_json_set_double(values, p->metrics[k].name, p->metrics[k].metric.value);
    cbx_json_set_string(item, "name", p->name);
    cbx_json_set_string(item, "scenario", p->scenario);
    cbx_json_set(item, "tags", tags_json(p->tags, p->ntags));
    cbx_json_set(item, "metrics", values);
    return item;
}

static int stream_summary(const opt_run *run, const cbx_run *r)
{
    cbx_json *o = new_document("calibrax-summary"), *head = cbx_json_new_object();
    json_stream out;

    set_run_head(head, r);
    cbx_json_set(o, "run", head);
    json_stream_begin(&out, o, "points");
    for (size_t i = 0; i < cbx_run_npoints(r); i++) json_stream_add(&out, point_json(cbx_run_point(r, i)));
    return json_stream_end(&out, run->program, cbx_json_new_object());
}

static int summarize(const opt_run *run, const cbx_run *r)
{
    const summary_args *a = run->args;

    if (a->select.json) return stream_summary(run, r);
    print_head(run, r);
    return print_scenarios(run, r);
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
    if (def && def->direction == CBX_DIRECTION_INFO) print_painted(PAINT_FAINT, ", for information");
    if (def && def->direction != CBX_DIRECTION_INFO)
        print_painted(PAINT_FAINT, ", %s is better", cbx_direction_name(def->direction));
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

/* As in the run file: some members stand behind the points. */
static int stream_run(const opt_run *run, const cbx_run *r, const cbx_store_query *q)
{
    cbx_json *content = cbx_run_head_to_json(r), *before = cbx_json_new_object(), *behind = cbx_json_new_object();
    cbx_json *value, *to = before;
    const char *key;
    json_stream out;

    for (size_t i = 0; cbx_json_member(content, i, &key, &value); i++) {
        if (strcmp(key, "points") == 0)
            to = behind;
        else if (value)
            cbx_json_set(to, key, cbx_json_ref(value));
    }
    json_stream_begin_inside(&out, new_document("calibrax-run"), "run", content ? before : NULL, "points");
    for (size_t i = 0; i < cbx_run_npoints(r); i++)
        if (select_point(q, cbx_run_point(r, i))) json_stream_add(&out, cbx_run_point_to_json(r, i));
    if (!content) cbx_json_unref(before);
    cbx_json_unref(content);
    return json_stream_end(&out, run->program, behind);
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
    if (a->select.json) return stream_run(run, r, &q);
    print_head(run, r);
    for (size_t i = 0; i < cbx_run_npoints(r); i++) {
        if (select_point(&q, cbx_run_point(r, i))) print_point(run, r, cbx_run_point(r, i));
    }
    return EXIT_PASS;
}

/* --- the commands --- */

static int with_run(const opt_run *run, bool bare, int (*say)(const opt_run *run, const cbx_run *r))
{
    const summary_args *a = run->args;
    cbx_store *store = NULL;
    cbx_run *r = NULL, *defs = NULL;
    cbx_err err = CBX_ERR_INIT;
    int status = select_open(run, &a->select, false, &store);

    if (!status) status = (bare ? select_bare_run : select_run)(run, store, a->run, &r);
    if (!status && !a->select.json) defs = select_defs_or_warn(run, store); /* JSON is of the run as it is kept */
    if (!status && select_define(run, defs, &r, &err)) status = opt_fail(run->program, "%s", err.message);
    cbx_run_free(defs);
    if (!status) status = say(run, r);
    cbx_run_free(r);
    cbx_store_close(store);
    return status;
}

static int run_summary(const opt_run *run) { return with_run(run, true, summarize); }
static int run_show(const opt_run *run) { return with_run(run, false, show); }

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
