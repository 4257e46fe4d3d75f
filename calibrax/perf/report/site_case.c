/* The section of a case on the page: times, table, time against work, launches, history and
 * roofline. */
#include <string.h>

#include "calibrax/pages/page_parts.h"
#include "calibrax/perf/report/site_internal.h"

#define FEW_CHARTS  2  /* charts of a case where points were left out */
#define ALL_CHARTS  8  /* and where not */
#define MAX_CHANGES 12 /* listed */
#define OPEN_STRIPS 2  /* more plots of launches than this are folded away */

/* The columns in the order of the page: the answer first, so that a narrow screen shows it. */
static const cbx__report_column_id order[] = {
    CBX__COLUMN_BASELINE, CBX__COLUMN_RATIO, CBX__COLUMN_TIME,     CBX__COLUMN_MIN,   CBX__COLUMN_P99,
    CBX__COLUMN_ROOFLINE, CBX__COLUMN_GMAC,  CBX__COLUMN_GFLOP,    CBX__COLUMN_GBYTE, CBX__COLUMN_COMPILE,
    CBX__COLUMN_MEMORY,   CBX__COLUMN_FINDS, CBX__COLUMN_FIDELITY,
};

static void put_head_cell(cbx__page *p, const char *class, const char *title, const char *meaning, const char *data)
{
    cbx_text_printf(p->out, "<th scope=col aria-sort=none class=%s", class);
    if (data) cbx_text_printf(p->out, " data-k=%s", data);
    cbx_text_printf(p->out, " title=\"%s\"><button type=button>%s</button>", meaning, title);
}

static const char *class_of(cbx__report_column_id column)
{
    return column == CBX__COLUMN_BASELINE ? "name" : column == CBX__COLUMN_RATIO ? "ratio" : "n";
}

static void put_why(cbx__page *p, const cbx_row *r)
{
    cbx__report_put_reason(&p->cell, NULL, r->failure_message ? r->failure_message : r->failure_reason,
                           r->failure_remedy);
}

static void put_cell(cbx__page *p, const cbx__report_item *it, cbx__report_column_id column)
{
    static const char *const verdicts[] = { "faster", "slower", "undecided" }, *const classes[] = { "ratio F",
                                                                                                    "ratio S",
                                                                                                    "ratio U" };
    const cbx__report_column *k = &cbx__report_columns[column];
    const char *verdict = cbx__report_verdict(it->row),
               *class = column == CBX__COLUMN_BASELINE || column == CBX__COLUMN_RATIO ? class_of(column) : NULL;

    if (column == CBX__COLUMN_RATIO && !it->reference && cbx_row_is_good(it->row))
        for (size_t i = 0; verdict && i < CBX_LEN(verdicts); i++)
            if (!strcmp(verdict, verdicts[i])) class = classes[i];
    cbx__pages_begin_cell(p->out, class, false);
    if (column == CBX__COLUMN_BASELINE) {
        cbx__page_put(p, "<svg");
        cbx__series_put_class(p->out, "", it->series);
        cbx_text_printf(p->out, "><use href=#m%d /></svg>", cbx__series_mark(it->series));
    }
    if (column == CBX__COLUMN_RATIO && it->class != CBX__REPORT_GOOD) { /* measured, but refused: why */
        cbx__report_columns[CBX__COLUMN_STATUS].put(&p->cell, it, p->arena, &cbx__report_utf8);
        cbx__page_flush_cell(p);
        cbx__page_put(p, "<small>");
        put_why(p, it->row);
    } else if (column == CBX__COLUMN_FIDELITY)
        k->put_brief(&p->cell, it, p->arena, &cbx__report_utf8);
    else
        k->put(&p->cell, it, p->arena, &cbx__report_utf8);
    cbx__page_flush_cell(p);
}

/* @param points  there are several, so that a column names them */
static void put_row(cbx__page *p, bool points, const cbx__report_column_id *columns, size_t n,
                    const cbx__report_item *it)
{
    cbx__pages_begin_row(p->out, it->class != CBX__REPORT_GOOD ? "bad"
                                 : it->reference               ? "ref"
                                 : it->limit                   ? "limit"
                                                               : NULL);
    if (points) {
        cbx__pages_begin_cell(p->out, "point", false);
        cbx__page_put_words(p, "", cbx__report_where(p->arena, p->view, it->group), 80, "");
    }
    put_cell(p, it, CBX__COLUMN_BASELINE);
    for (size_t k = 1; it->row->has_metrics && k < n; k++) put_cell(p, it, columns[k]);
    if (!it->row->has_metrics) {
        cbx_text_printf(p->out, "<td class=why colspan=%zu><div>", n - 1);
        cbx__report_columns[CBX__COLUMN_STATUS].put(&p->cell, it, p->arena, &cbx__report_utf8);
        cbx_text_puts(&p->cell, ": ");
        put_why(p, it->row);
        cbx__page_flush_cell(p);
        cbx__page_put(p, "</div>");
    }
    cbx__page_put(p, "\n");
}

static void put_table(cbx__page *p, size_t c)
{
    const cbx__report_view *v = p->view;
    const bool points = cbx__page_groups(p, c, false) > 1;
    cbx__report_column_id columns[CBX_LEN(order)];
    size_t n = 0;

    for (size_t k = 0; k < CBX_LEN(order); k++)
        if (k < 3 || cbx__report_column_is_used(v, c, order[k], p->arena)) columns[n++] = order[k];
    cbx__page_put(p, "<div class=controls><label>Filter <input type=search placeholder=\"text in a row\"></label>"
                     "<label>Point <select class=points><option value=\"\">all");
    for (size_t g = 0; g < v->ngroups; g++) {
        if (!cbx__page_shows(p, &v->groups[g], c)) continue;
        cbx_text_printf(p->out, "<option value=%zu>", g);
        cbx__page_put_words(p, "", cbx__report_where(p->arena, v, &v->groups[g]), 80, "");
    }
    cbx__page_put(p, "</select></label><label>Status <select class=statuses><option value=\"\">all");
    for (size_t s = 0; s < p->nstatuses; s++) {
        cbx_text_printf(p->out, "<option value=%zu>", s);
        cbx__page_put_words(p, "", p->statuses[s], 40, "");
    }
    cbx__page_put(p, "</select></label><label><input type=checkbox class=all> All columns</label>"
                     "<output class=shown></output></div>\n");
    cbx_text_puts(&p->cell, "rows of ");
    cbx__report_put_public(&p->cell, v->cases[c], 80);
    cbx__pages_begin_table(p->out, NULL, cbx_text_str(&p->cell), NULL, 0);
    cbx_text_reset(&p->cell);
    if (points) put_head_cell(p, "point", "point", "what was computed", NULL);
    for (size_t k = 0; k < n; k++) {
        const cbx__report_column *column = &cbx__report_columns[columns[k]];
        put_head_cell(p, class_of(columns[k]), column->title, column->meaning, column->data);
    }
    cbx__page_put(p, "<tbody>\n");
    for (const cbx__report_item *it = v->items; it < v->items + v->nitems; it++)
        if (cbx__page_shows(p, it->group, c)) put_row(p, points, columns, n, it);
    cbx__pages_end_table(p->out);
}

/* Charts of the groups that are shown: of those with a history, and under the roofs. */
static void put_charts(cbx__page *p, size_t c)
{
    size_t max = p->limit == SIZE_MAX ? ALL_CHARTS : FEW_CHARTS, histories = 0, roofs = 0;

    cbx__page_put(p, "<div class=charts>");
    for (int pass = 0; pass < 2; pass++) /* the representative points first */
        for (const cbx__report_group *group = p->view->groups; group < p->view->groups + p->view->ngroups; group++) {
            if (!cbx__page_shows(p, group, c) || group->representative != !pass) continue;
            if (histories < max && cbx__charts_has_history(&p->charts, group, CBX__FOLLOW_TIME)) {
                /* The metrics of a group over time, one after the other; the script shows one at a
                 * time.
                 * A small page has those of one group. */
                bool all = !p->times_only && !(histories++ && p->limit != SIZE_MAX);
                p->charts.brief = p->limit != SIZE_MAX;
                cbx__page_put(p, "<div class=metrics>");
                for (int what = 0; what < CBX__FOLLOW_COUNT; what++)
                    if ((!what || all) && cbx__charts_has_history(&p->charts, group, (cbx__followed)what))
                        cbx__chart_history(&p->charts, group, (cbx__followed)what, p->out);
                cbx__page_put(p, "</div>\n");
            }
            if (roofs < max / 2) roofs += cbx__chart_roofline(&p->charts, group, p->out);
        }
    cbx__page_put(p, "</div>\n");
    if (!p->charts.past) return;
    cbx_text_reset(&p->cell);
    if (cbx__chart_changes(&p->charts, c, MAX_CHANGES, &p->cell)) {
        cbx__page_put(p, "<h3>Changes over time</h3>");
        cbx__page_put(p, cbx_text_str(&p->cell));
    } else
        cbx__page_put(p, "<p class=count>No level of any series changed over the runs that are kept.</p>\n");
    cbx_text_reset(&p->cell);
}

void cbx__page_put_case(cbx__page *p, size_t c)
{
    size_t shown = cbx__page_groups(p, c, false), all = cbx__page_groups(p, c, true), n = 0;
    char file[160];

    cbx_text_printf(p->out, "<section class=case data-case=%zu>", c);
    if (p->view->ncases > 1) /* else the title has it */
        cbx__page_put_words(p, "<h2>", p->view->cases[c], 80, "</h2>\n");
    if (shown < all) {
        cbx_text_printf(p->out, "<p class=count>%zu of %zu points", shown, all);
        if (p->opts->links)
            cbx_text_printf(p->out, "; <a href=\"%s\">all of them</a>", cbx_report_case_page(p->view->cases[c], file));
        cbx__page_put(p, "</p>\n");
    }
    cbx__page_put(p, "<div class=main>");
    for (size_t g = 0; g < p->view->ngroups && n < FEW_CHARTS; g++)
        if (cbx__page_shows(p, &p->view->groups[g], c) && cbx__report_is_in_question(p->view, g))
            n += cbx__chart_times(p->out, p->view, &p->view->groups[g], p->arena);
    cbx__page_put(p, "</div>\n");
    put_table(p, c);
    cbx__page_put(p, "<div class=plots>");
    cbx__chart_sizes(p->out, p->view, c, p->limit == SIZE_MAX ? SIZE_MAX : FEW_CHARTS, p->arena);
    cbx__page_put(p, "</div>\n");
    /* Every launch, then modes, warm-up, repeats and health of the rows that have some. */
    const cbx__report_view *v = p->view;
    const char *open = "<ul>\n";
    cbx_text_printf(p->out,
                    "<details class=launches%s><summary>Launches</summary><p>First: the median of each row, from the "
                    "roofline's bound. Then: every launch as a dot, by its distance from the median of its row (drawn "
                    "by its square root); the bar is the interval of the median.</p><div class=strips>\n",
                    cbx__page_groups(p, c, false) > OPEN_STRIPS ? "" : " open");
    for (const cbx__report_group *g = v->groups; g < v->groups + v->ngroups; g++)
        if (cbx__page_shows(p, g, c)) cbx__chart_launches(p->out, v, g, p->arena);
    cbx__page_put(p, "</div>");
    for (const cbx__report_item *it = v->items; it < v->items + v->nitems; it++) {
        const char *words, *names = cbx__page_shows(p, it->group, c) ? cbx__report_alike(p->arena, it, &words) : NULL;
        if (!names) continue;
        cbx__page_put(p, open);
        open = "";
        cbx__page_put_words(p, "<li>", names, 400, " at ");
        cbx__page_put_words(p, "", cbx__report_where(p->arena, v, it->group), 80, ": ");
        cbx__page_put_words(p, "", words, 300, "\n");
    }
    cbx__page_put(p, open[0] ? "</details>\n" : "</ul></details>\n");
    put_charts(p, c);
    cbx__page_put(p, "</section>\n");
}

/* --- sections after the cases: the record of the tool's own tests, and what the operations can
 * do --- */

static void begin_row(cbx__page *p, const char *name, size_t max)
{
    cbx__pages_begin_row(p->out, NULL);
    cbx__pages_begin_cell(p->out, NULL, true);
    cbx__page_put_words(p, "", name, max, "");
}

static void put_scalar(cbx__page *p, const cbx_json *v)
{
    const char *words = cbx_json_string_value(v);

    if (words) {
        cbx__page_put_words(p, "", words, 200, "");
        return;
    }
    if (cbx_json_typeof(v) == CBX_JSON_DOUBLE)
        cbx_text_printf(&p->cell, "%.4g", cbx_json_double_value(v));
    else
        cbx_json_write(v, CBX_JSON_COMPACT, &p->cell);
    cbx__page_flush_cell(p);
}

/* "holds": true, and the figures it rests on. */
static void put_score(cbx__page *p, const char *name, const cbx_json *score)
{
    const bool holds = cbx_json_get_bool(score, "holds", false),
               undecided = !strcmp(cbx_json_get_string(score, "verdict", ""), "undecided");
    const char *key, *gap = "";
    cbx_json *v;

    begin_row(p, name, 60);
    cbx__pages_begin_cell(p->out, holds ? "F" : undecided ? "U" : "S", false);
    cbx__page_put(p, holds ? "holds" : undecided ? "undecided" : "does not hold");
    cbx__pages_begin_cell(p->out, NULL, false);
    for (size_t i = 0; cbx_json_member(score, i, &key, &v); i++) {
        cbx_json_type type = cbx_json_typeof(v);
        if (!strcmp(key, "holds") || !strcmp(key, "verdict") || type == CBX_JSON_NULL || type == CBX_JSON_ARRAY ||
            type == CBX_JSON_OBJECT)
            continue;
        if (cbx_json_string_value(v) && !*cbx_json_string_value(v)) continue;
        cbx__page_put_words(p, gap, key, 60, " ");
        put_scalar(p, v);
        gap = ", ";
    }
    cbx__page_put(p, "\n");
}

void cbx__page_put_selftest(cbx__page *p)
{
    static const cbx__column columns[] = { { .title = "test" }, { .title = "outcome" }, { .title = "figures" } };
    const char *key;
    cbx_json *v;

    if (!p->opts->selftest || strcmp(cbx_json_get_string(p->opts->selftest, "schema", ""), "nperf-selftest") != 0)
        return;
    cbx__page_put(
        p,
        "<section class=selftest><h2>The tool's own tests</h2><p class=count>From <code>nperf "
        "selftest</code>: how often equal programs are reported as different, and whether planted faults, slow-downs "
        "and cheats are found.</p>\n");
    cbx__pages_begin_table(p->out, "plain", "record of the tool's own tests", columns, CBX_LEN(columns));
    for (size_t i = 0; cbx_json_member(p->opts->selftest, i, &key, &v); i++)
        if (cbx_json_typeof(v) == CBX_JSON_OBJECT && cbx_json_has(v, "holds")) put_score(p, key, v);
    cbx__pages_end_table(p->out);
    cbx__page_put(p, "</section>\n");
}

static void put_capability(cbx__page *p, const cbx_json *op)
{
    static const char *const flags[] = { "jit", "grad", "vmap", "jit_of_grad" };
    const cbx_json *invariants = cbx_json_get(op, "invariants");

    begin_row(p, cbx_json_get_string(op, "qualname", "?"), 120);
    for (size_t i = 0; i < CBX_LEN(flags); i++) {
        cbx__pages_begin_cell(p->out, NULL, false);
        if (cbx_json_has(op, flags[i])) put_scalar(p, cbx_json_get(op, flags[i]));
    }
    cbx__pages_begin_cell(p->out, NULL, false);
    for (size_t i = 0; i < cbx_json_length(invariants); i++) {
        cbx__page_put(p, i ? ", " : "");
        put_scalar(p, cbx_json_at(invariants, i));
    }
    cbx__page_put(p, "\n");
}

void cbx__page_put_capabilities(cbx__page *p)
{
    static const cbx__column columns[] = { { .title = "operation" },   { .title = "jit" },
                                           { .title = "grad" },        { .title = "vmap" },
                                           { .title = "jit of grad" }, { .title = "invariants" } };
    const cbx_json *ops = cbx_json_get(p->opts->capabilities, "ops");

    if (!cbx_json_length(ops)) return;
    cbx__page_put(p, "<section class=ops><h2>Operations</h2>");
    cbx__pages_begin_table(p->out, "plain", "operations", columns, CBX_LEN(columns));
    for (size_t i = 0; i < cbx_json_length(ops); i++) put_capability(p, cbx_json_at(ops, i));
    cbx__pages_end_table(p->out);
    cbx__page_put(p, "</section>\n");
}
