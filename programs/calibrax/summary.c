/*
 * calibrax summary: a run in a few lines.
 */
#include <stdlib.h>
#include <string.h>

#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/select.h"
#include "programs/common/output.h"

typedef struct summary_args {
    select_args select;
    const char *run;
} summary_args;

#define AT(member) offsetof(summary_args, member)

static const opt_spec summary_options[] = {
    SELECT_STORE_ROWS,
    SELECT_ONE_ROW,
    SELECT_JSON_ROW,
};
static const opt_rule summary_rules[] = { { "run", OPT_EXCLUDES, "@" } };

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

/* A point's line.  Sorting finds what belongs together: a run may have a hundred thousand
 * points. */
typedef struct line {
    const cbx_point *point;
    size_t at;    /* place in the run */
    size_t first; /* of its scenario's points */
    bool shared;  /* another point of the scenario has the same label, so the line needs its name and tags */
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

/* Scenarios in the order of their first points. */
static line *make_lines(const opt_run *run, const cbx_run *r)
{
    size_t n = cbx_run_npoints(r), end;
    line *lines = cbx_arena_calloc(run->arena, n, sizeof *lines);

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
    const cbx_named_metric **list = cbx_arena_calloc(run->arena, p->nmetrics, sizeof(*list));

    printf("  ");
    print_painted(PAINT_STRONG, "%s", plain_text(run->arena, label_of(p)));
    if (l->shared) {
        const char *rest = format_tags(run->arena, p->tags, p->ntags, "framework");
        if (label_of(p) != p->name) printf(" %s", plain_text(run->arena, p->name));
        if (*rest) printf(" (%s)", rest);
    }
    for (size_t i = 0; i < p->nmetrics; i++) list[i] = &p->metrics[i];
    qsort(list, p->nmetrics, sizeof(*list), by_name);
    for (size_t i = 0; i < p->nmetrics; i++) {
        const cbx_metric_def *def = cbx_run_find_metric_def(r, list[i]->name);
        printf("%s%s=%.6g", i ? ", " : ": ", plain_text(run->arena, list[i]->name), list[i]->metric.value);
        if (def && *def->unit) print_painted(PAINT_FAINT, " %s", plain_text(run->arena, def->unit));
    }
    putchar('\n');
}

static int run_summary(const opt_run *run)
{
    const summary_args *a = run->args;
    const char *name = select_name(run, a->run);
    SCOPED(cbx_store) *store = NULL;
    SCOPED(cbx_run) *r = NULL;
    json_stream out;

    if (!name || select_open(run, &a->select, false, &store)) return EXIT_ERROR;
    if (select_defined_run(run, store, name, true, a->select.json, &r)) return EXIT_ERROR;
    if (!a->select.json) {
        const line *lines = make_lines(run, r);
        print_run_head(run, r);
        for (size_t i = 0; i < cbx_run_npoints(r); i++) {
            if (lines[i].first == lines[i].at) {
                print_painted(PAINT_FAINT, "\nScenario: ");
                printf("%s\n", plain_text(run->arena, lines[i].point->scenario));
            }
            print_line(run, r, &lines[i]);
        }
        return EXIT_PASS;
    }
    json_stream_begin(&out, cbx_json_document("calibrax-summary", J_JSON("run", run_head(r))), "points");
    for (size_t i = 0; i < cbx_run_npoints(r); i++) {
        const cbx_point *p = cbx_run_point(r, i);
        cbx_json *values = cbx_json_new_object();
        for (size_t k = 0; k < p->nmetrics; k++)
            cbx_json_set_double(values, p->metrics[k].name, p->metrics[k].metric.value);
        json_stream_add(&out, cbx_json_object(J_TEXT("name", p->name), J_TEXT("scenario", p->scenario),
                                              J_JSON("tags", tags_json(p->tags, p->ntags)), J_JSON("metrics", values)));
    }
    return json_stream_end(&out, run, NULL);
}

const opt_command summary_command = {
    .name = "summary",
    .synopsis = "[RUN]",
    .summary = "print a run in a few lines",
    .description = "Prints the time, commit and branch of a run, and for each scenario one line per point with its "
                   "values. A RUN is an id, a unique prefix of an id, latest (the default), or baseline:NAME.",
    OPT_OPTIONS_RULES(summary),
    .flags = OPT_TAKES_WORDS,
    .word = "RUN",
    .words = "@runs",
};
