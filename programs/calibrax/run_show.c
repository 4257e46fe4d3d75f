/* What calibrax run shows people: a block a point, a line a metric and a target. */
#include <math.h>
#include <string.h>

#include "programs/calibrax/run.h"
#include "programs/calibrax/select.h"
#include "programs/common/terminal.h"

static const char *shown(const char *unit, double v, char buf[64])
{
    char number[CBX_FORMAT_SIZE];

    if (strcmp(unit, "s") == 0 && isfinite(v))
        cbx_format_seconds(v, number);
    else
        snprintf(number, sizeof number, "%.6g", v);
    snprintf(buf, 64, "%s%s%.24s", number, *unit && strcmp(unit, "s") != 0 && strcmp(unit, "1") != 0 ? " " : "",
             strcmp(unit, "s") != 0 && strcmp(unit, "1") != 0 ? unit : "");
    return buf;
}

static void print_metric(const opt_run *run, const cbx_run *r, const cbx_named_metric *m)
{
    const cbx_metric_def *def = cbx_run_find_metric_def(r, m->name);
    const char *unit = def ? plain_text(run->arena, def->unit) : "";
    char value[64], lower[64], upper[64];

    printf("  %-20s %16s", plain_text(run->arena, m->name), shown(unit, m->metric.value, value));
    if (isfinite(m->metric.lower) && isfinite(m->metric.upper))
        printf("  [%s, %s]", shown(unit, m->metric.lower, lower), shown(unit, m->metric.upper, upper));
    putchar('\n');
}

/* Good launches of point i. */
static size_t launches_of(const cbx_run *r, size_t i)
{
    const cbx_json *list = cbx_json_get(cbx_run_metadata(r), "benchmarks");
    size_t good = 0;

    for (size_t k = 0; k < cbx_json_length(list); k++) {
        size_t n = (size_t)cbx_json_get_int(cbx_json_at(list, k), "launches", 0);
        if (n && good++ == i) return n;
    }
    return 0;
}

static void print_targets(const opt_run *run, const cbx_benchmark_report *r)
{
    size_t n;
    const cbx_target_check *t = cbx_benchmark_report_targets(r, &n);
    char text[CBX_ERR_MESSAGE_SIZE];

    for (size_t i = 0; i < n; i++) {
        print_painted(t[i].outcome == CBX_TARGET_MET ? PAINT_GOOD : PAINT_BAD, "%s%-14s", i ? "" : "\n",
                      cbx_target_outcome_name(t[i].outcome));
        printf(" %s\n", plain_text(run->arena, cbx_target_sentence(&t[i], text, sizeof text)));
    }
}

void run_print(const opt_run *run, const cbx_benchmark_report *r)
{
    const cbx_run *made = cbx_benchmark_report_run(r);

    for (size_t i = 0; made && i < cbx_run_npoints(made); i++) {
        const cbx_point *p = cbx_run_point(made, i);
        size_t n = launches_of(made, i);
        print_painted(PAINT_STRONG, "%s%s", i ? "\n" : "", plain_text(run->arena, p->name));
        printf("%s%s%s: %zu launch%s\n", *p->scenario ? " (" : "", plain_text(run->arena, p->scenario),
               *p->scenario ? ")" : "", n, n == 1 ? "" : "es");
        for (size_t k = 0; k < p->nmetrics; k++) print_metric(run, made, &p->metrics[k]);
    }
    print_targets(run, r);
}
