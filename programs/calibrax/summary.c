/*
 * calibrax summary: a run in a few lines.
 */
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/hash_table.h"
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

/* A point's line. */
typedef struct line {
    const cbx_point *point;
    size_t scenario, label; /* numbers in the order of first appearance */
    size_t place;           /* in the summary: by scenario, then as in the run */
    bool shared;            /* by another point of the scenario: the line has name and tags, too */
} line;

CBX_BY(by_place, line, place)

/* Scenarios in the order of their first points.  A run may have a hundred thousand points. */
static line *make_lines(const opt_run *run, const cbx_run *r)
{
    const size_t n = cbx_run_npoints(r);
    line *lines = cbx_arena_calloc(run->arena, n, sizeof *lines);
    size_t *count = cbx_arena_calloc(run->arena, n, sizeof *count); /* of points with each label */

    CBX_SCOPED(cbx_names, scenarios, &run->arena->al);
    CBX_SCOPED(cbx_names, labels, &run->arena->al); /* of a scenario */
    for (size_t i = 0; i < n; i++) {
        const cbx_point *p = cbx_run_point(r, i);
        const size_t at = cbx_names_add(&scenarios, p->scenario);
        const char *label = cbx_arena_printf(run->arena, "%zu %s", at, label_of(p));
        lines[i] = (line){ p, at, cbx_names_add(&labels, label), at * n + i, false };
        count[lines[i].label]++;
    }
    for (size_t i = 0; i < n; i++) lines[i].shared = count[lines[i].label] > 1;
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
            if (i == 0 || lines[i].scenario != lines[i - 1].scenario) {
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
    SELECT_RUN_WORDS,
};
