/* Two runs: each value beside that of the reference, the clearest changes first, and what else
 * differs.  Values are judged as `calibrax check` judges them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/analysis/regression.h"
#include "calibrax/site/page_view.h"

#define ROWS_A_PAGE 100
#define MAX_CHOICES 100
#define MAX_DOTS    2000
#define THRESHOLD   5 /* [%], as of calibrax check */

CBX_FREED_BY(cbx_regression, cbx_regression_free)

/* Outcomes in the order of the table: what went wrong, what may have, what is better, the rest. */
static int rank_of(const cbx_finding *f)
{
    switch (f->outcome) {
    case CBX_OUTCOME_REGRESSED: return 0;
    case CBX_OUTCOME_DROPPED: return 1;
    case CBX_OUTCOME_NEW: return 5;
    case CBX_OUTCOME_IMPROVED: return 3;
    case CBX_OUTCOME_UNDECIDED: return 4;
    case CBX_OUTCOME_EQUIVALENT:
    case CBX_OUTCOME_UNCHANGED:
    case CBX_OUTCOME_INFO: return 6;
    default: return 2; /* cannot be compared */
    }
}

static int by_rank(const void *a, const void *b)
{
    const cbx_finding *x = *(const cbx_finding *const *)a, *y = *(const cbx_finding *const *)b;
    double cx = isnan(x->change) ? -1 : fabs(x->change), cy = isnan(y->change) ? -1 : fabs(y->change);

    if (rank_of(x) != rank_of(y)) return rank_of(x) < rank_of(y) ? -1 : 1;
    if (cx != cy) return cx > cy ? -1 : 1;
    return strcmp(x->key, y->key);
}

/* --- the form --- */

static void put_form(cbx__view *v)
{
    cbx_store_query newest = { .limit = MAX_CHOICES };
    const char *const *names = NULL;
    CBX_CLEARED(cbx_store_list) list = { 0 };
    size_t n = 0;

    if (!cbx__view_has_forms(v)) return;
    if (!cbx__view_got(v, cbx_store_query_runs(v->store, &newest, &list, NULL))) list.count = 0;
    if (!cbx__view_got(v, cbx_store_baselines(v->store, v->arena, &names, &n, NULL))) n = 0;
    const char **choices = cbx__view_alloc(v, list.count + n, sizeof *choices);
    for (size_t i = 0; choices && i < n; i++) choices[i] = cbx__view_text(v, "baseline:%s", names[i]);
    for (size_t i = 0; choices && i < list.count; i++) choices[n + i] = list.entries[i].id;
    size_t all = choices ? n + list.count : 0;
    const cbx__field fields[] = { { "a", "Reference", "id of a run", false, choices, all, NULL },
                                  { "b", "Run", "id of a run", false, choices, all, NULL },
                                  { .param = "threshold", .label = "Threshold [%]", .hint = "5" } };
    cbx__view_form(v, "Compare", fields, CBX_LEN(fields));
}

/* --- the figure --- */

static cbx_status put_figure(cbx__view *v, const cbx_finding *const *f, size_t n, cbx_err *err)
{
    static const struct {
        int rank, colour;
        const char *label;
    } groups[] = { { 0, 4, "regressed" }, { 3, 3, "improved" }, { 4, 2, "undecided" }, { 6, 0, "no change" } };
    int colours[CBX_LEN(groups)];
    double *x = cbx__view_alloc(v, n + 1, sizeof *x), *y = cbx__view_alloc(v, n + 1, sizeof *y);
    const cbx_plot_opts o = {
        .struct_size = sizeof o, .width = 960, .height = 300, .x_label = "value", .y_label = "change [%]"
    };
    cbx_plot *plot = NULL;
    size_t drawn = 0, used = 0, step = n / MAX_DOTS + 1;
    cbx_status st;

    if (v->document) return CBX_OK;
    if (!x || !y) return cbx_fail_nomem(err, "a page");
    st = cbx_plot_create(v->ctx, &o, &plot, err);
    for (size_t g = 0; !st && g < CBX_LEN(groups); g++) {
        size_t m = 0;
        for (size_t i = 0; i < n; i += step) {
            if (rank_of(f[i]) != groups[g].rank || !isfinite(f[i]->change)) continue;
            x[m] = (double)i + 1;
            y[m++] = 100 * f[i]->change;
        }
        drawn += m;
        if (m) colours[used++] = groups[g].colour;
        if (m)
            st = cbx_plot_line(
                plot, &(cbx_plot_series){ .label = groups[g].label, .x = x, .y = y, .n = m, .how = CBX_PLOT_MARK },
                err);
    }
    if (!st && drawn < 2) st = CBX_ENOENT;
    return cbx__view_figure(v, st, plot, colours, used, "Change of each value, in the order of the table");
}

/* --- the table --- */

static void put_finding(cbx__view *v, const cbx_finding *f)
{
    int rank = rank_of(f);

    cbx__view_row(v, rank < 3 ? "worse" : rank == 3 ? "better" : NULL);
    cbx__view_cell_point(v, cbx__view_to_trend(v, f->metric, f->point, f->scenario, f->tag_list, f->ntags), f->point,
                         f->scenario, v->document ? f->tags : cbx__view_tags(v, f->tag_list, f->ntags));
    cbx__view_cell(v, f->metric);
    cbx__view_cell_number(v, f->change,
                          f->interval.level > 0 ? cbx__view_text(v, "%s [%s, %s]", cbx__view_percent(v, f->change),
                                                                 cbx__view_percent(v, f->interval.lower),
                                                                 cbx__view_percent(v, f->interval.upper))
                                                : cbx__view_percent(v, f->change));
    cbx__view_cell(v, cbx_outcome_name(f->outcome));
    cbx__view_cell_number(v, f->baseline, isnan(f->baseline) ? "" : cbx__view_value(v, f->baseline, NAN, NAN, f->unit));
    cbx__view_cell_number(v, f->current, isnan(f->current) ? "" : cbx__view_value(v, f->current, NAN, NAN, f->unit));
}

static void put_heads(cbx__view *v, const cbx_run *a, const cbx_run *b)
{
    static const cbx__column columns[] = {
        { "", "side", NULL },         { "Run", "id", NULL },        { "Time (UTC)", "timestamp", NULL },
        { "Branch", "branch", NULL }, { "Commit", "commit", NULL }, { "Machine", "machine", NULL }
    };
    const cbx_run *const runs[] = { a, b };

    cbx__view_table(v, "runs", "the two runs", columns, CBX_LEN(columns));
    for (int i = 0; i < 2; i++) {
        cbx__view_row(v, NULL);
        cbx__view_cell(v, i ? "Run" : "Reference");
        cbx__view_cell_link(v, cbx__view_to_run(v, cbx_run_id(runs[i])), cbx_run_id(runs[i]));
        cbx__view_cell_time(v, cbx_run_timestamp_us(runs[i]));
        cbx__view_cell(v, cbx_run_branch(runs[i]));
        cbx__view_cell(v, cbx_run_commit(runs[i]));
        cbx__view_cell(v, cbx_json_get_string(cbx_run_environment(runs[i]), "machine", NULL));
    }
    cbx__view_table_end(v);
}

static cbx_status compare(cbx__view *v, const cbx_run *a, const cbx_run *b, double threshold, cbx_err *err)
{
    static const cbx__column columns[] = { { "Point", "point", NULL },        { "Metric", "metric", NULL },
                                           { "Change", "change", "n" },       { "Outcome", "outcome", "v" },
                                           { "Reference", "reference", "n" }, { "Run", "value", "n" } };
    cbx_regression_opts o = CBX_REGRESSION_OPTS_INIT;
    CBX_OWNED(cbx_regression) *r = NULL;
    size_t counts[CBX_OUTCOME_COUNT] = { 0 };

    o.threshold = threshold;
    o.allow_dropped = o.allow_machines = o.allow_same = o.no_sentences = true;
    cbx_status st = cbx_regression_create(v->ctx, b, a, &o, &r, err);
    if (st) return st;
    const size_t n = cbx_regression_nfindings(r);
    const cbx_finding **f = cbx__view_alloc(v, n, sizeof *f);
    if (!f) return cbx_fail_nomem(err, "a page");
    for (size_t i = 0; i < n; i++) f[i] = cbx_regression_finding(r, i);
    qsort(f, n, sizeof *f, by_rank);
    cbx__view_begin(v, "compare", cbx__view_text(v, "%s against %s", cbx_run_id(b), cbx_run_id(a)));
    put_form(v);
    put_heads(v, a, b);
    if (*cbx_regression_label(r)) cbx__view_note(v, "%s", cbx_regression_label(r));
    if (n && !v->document) {
        cbx__view_facts(v);
        for (size_t i = 0; i < n; i++) counts[f[i]->outcome]++;
        for (size_t k = 0; k < CBX_OUTCOME_COUNT; k++)
            if (counts[k]) cbx__view_fact(v, cbx_outcome_name((cbx_outcome)k), cbx__view_text(v, "%zu", counts[k]));
        cbx__view_facts_end(v);
    }
    if (!n) cbx__view_note(v, "Neither run has a metric of a point.");
    st = put_figure(v, f, n, err);
    const cbx__paging rows = cbx__view_page(v, ROWS_A_PAGE, n);
    cbx__view_table(v, "values", "values of both runs", columns, CBX_LEN(columns));
    for (size_t i = rows.from; i < rows.to; i++) put_finding(v, f[i]);
    cbx__view_table_end(v);
    cbx__view_pager(v, &rows, "values");
    return st;
}

cbx_status cbx__view_compare(cbx__view *v, cbx_err *err)
{
    const char *a = cbx__request_param(v->request, "a"), *b = cbx__request_param(v->request, "b"),
               *word = cbx__request_param(v->request, "threshold");
    double threshold = THRESHOLD;
    CBX_OWNED(cbx_run) *reference = NULL, *run = NULL;
    char *end = NULL;

    if (word) threshold = strtod(word, &end);
    if (word && (end == word || *end || !(threshold >= 0 && threshold <= 1000)))
        return cbx_fail(err, CBX_EINVAL, "'threshold' must be a number of percent from 0 to 1000, got '%.60s'", word);
    if (!a || !b) {
        cbx__view_begin(v, "compare", "Compare");
        cbx__view_note(v, "Name two runs, or a baseline as baseline:NAME. The first is the reference.");
        put_form(v);
        return CBX_OK;
    }
    cbx_status st = cbx__view_load(v, "a", &reference, err);
    if (!st) st = cbx__view_load(v, "b", &run, err);
    return st ? st : compare(v, reference, run, threshold / 100, err);
}
