/*
 * The section of a case on the page: plots, controls, table, launches, history and roofline.
 */
#include <string.h>

#include "calibrax/perf/report/site_internal.h"

/* Charts of a case, where points were left out and where not. */
#define FEW_CHARTS 2
#define ALL_CHARTS 8
/* Changes told in words. */
#define MOST_CHANGES 12

static const char *const verdict_marks[][2] = {
    { "faster", " class=F" }, { "slower", " class=S" }, { "equivalent", " class=E" }, { "undecided", " class=U" }
};

static const char *verdict_class(const cbx_row *row)
{
    const char *verdict = cbx__report_verdict(row);
    for (size_t i = 0; verdict && cbx_row_is_good(row) && i < CBX_LEN(verdict_marks); i++)
        if (!strcmp(verdict, verdict_marks[i][0])) return verdict_marks[i][1];
    return "";
}

static void put_column_heads(cbx__page *p)
{
    cbx__page_put(p, "<thead><tr><th scope=col aria-sort=none><button type=button>point</button>");
    for (size_t c = 0; c < CBX__COLUMN_COUNT; c++) {
        cbx__page_put(p, "<th scope=col aria-sort=none title=\"");
        cbx_text_put_html(p->out, cbx__report_columns[c].meaning);
        cbx_text_printf(p->out, "\"><button type=button>%s</button>", cbx__report_columns[c].title);
    }
    cbx__page_put(p, "<tbody>\n");
}

static void put_cell(cbx__page *p, const cbx__report_item *it, size_t column)
{
    const cbx_row *row = it->row;
    cbx_text_printf(p->out, "<td%s>", column == CBX__COLUMN_RATIO && !it->reference ? verdict_class(row) : "");
    if (column == CBX__COLUMN_BASELINE) {
        cbx__page_put(p, "<i");
        cbx__plot_put_class(p->out, "", it->series);
        cbx__page_put(p, "></i>");
    }
    if (column == CBX__COLUMN_FIDELITY)
        cbx__report_columns[column].put_brief(&p->cell, it, p->arena, &cbx__report_utf8);
    else
        cbx__report_columns[column].put(&p->cell, it, p->arena, &cbx__report_utf8);
    cbx__page_flush_cell(p);
    if (column == CBX__COLUMN_STATUS && it->class != CBX__REPORT_GOOD && row->has_metrics) {
        cbx__report_put_reason(&p->cell, row->failure_reason, row->failure_message, row->failure_remedy);
        if (p->cell.len) cbx__page_put(p, "<small>");
        cbx__page_flush_cell(p);
    }
}

static void put_row(cbx__page *p, const cbx__report_group *g, const cbx__report_item *it)
{
    cbx__page_put(p, it->class == CBX__REPORT_GOOD ? it->reference ? "<tr class=ref><td>"
                                                     : it->limit   ? "<tr class=limit><td>"
                                                                   : "<tr><td>"
                                                   : "<tr class=bad><td>");
    cbx__page_put_words(p, cbx__report_where(p->arena, p->view, g), 80);
    put_cell(p, it, CBX__COLUMN_BASELINE);
    put_cell(p, it, CBX__COLUMN_STATUS);
    for (size_t c = CBX__COLUMN_STATUS + 1; it->row->has_metrics && c < CBX__COLUMN_COUNT; c++) put_cell(p, it, c);
    if (!it->row->has_metrics) {
        cbx_text_printf(p->out, "<td class=why colspan=%d>", CBX__COLUMN_COUNT - CBX__COLUMN_STATUS - 1);
        cbx__report_put_reason(&p->cell, it->row->failure_reason, it->row->failure_message, it->row->failure_remedy);
        cbx__page_flush_cell(p);
    }
    cbx__page_put(p, "\n");
}

static void put_controls(cbx__page *p, size_t c)
{
    cbx__page_put(p, "<div class=controls><label>Filter <input type=search placeholder=\"words of a row\"></label>"
                     "<label>Point <select class=points><option value=\"\">all");
    for (size_t g = 0; g < p->view->ngroups; g++) {
        if (p->view->groups[g].case_index != c || !p->shown[g]) continue;
        cbx_text_printf(p->out, "<option value=%zu>", g);
        cbx__page_put_words(p, cbx__report_where(p->arena, p->view, &p->view->groups[g]), 80);
    }
    cbx__page_put(p, "</select></label><label>Status <select class=statuses><option value=\"\">all");
    for (size_t s = 0; s < p->nstatuses; s++) {
        cbx_text_printf(p->out, "<option value=%zu>", s);
        cbx__page_put_words(p, p->statuses[s], 40);
    }
    cbx__page_put(p, "</select></label><output class=shown></output></div>\n");
}

/* More than this many plots of launches are folded away. */
#define OPEN_STRIPS 8

/* Modes, warm-up, repeats and health of the rows that have something to tell. */
static void put_launch_stories(cbx__page *p, size_t c)
{
    const char *open = "<ul>\n";
    for (size_t g = 0; g < p->view->ngroups; g++) {
        const cbx__report_group *group = &p->view->groups[g];
        if (group->case_index != c || !p->shown[g]) continue;
        for (size_t i = group->first; i < group->first + group->count; i++) {
            const cbx__report_item *it = &p->view->items[i];
            const char *words = it->row->has_metrics ? cbx__report_launches(p->arena, it->row) : "";
            if (!words[0]) continue;
            cbx__page_put(p, open);
            open = "";
            cbx__page_put(p, "<li>");
            cbx__page_put_words(p, cbx__report_name(p->arena, it), 80);
            cbx__page_put(p, " at ");
            cbx__page_put_words(p, cbx__report_where(p->arena, p->view, group), 80);
            cbx__page_put(p, ": ");
            cbx__page_put_words(p, words, 300);
            cbx__page_put(p, "\n");
        }
    }
    if (!open[0]) cbx__page_put(p, "</ul>");
}

static void put_launches(cbx__page *p, size_t c)
{
    size_t n = cbx__page_groups(p, c, false);
    cbx_text_printf(
        p->out,
        "<details class=launches%s><summary>Launches</summary><p>Left: the median of each row, and the way to it from "
        "the "
        "roofline's bound. Right: every launch as a dot, by its distance from the median of its row (drawn by its "
        "square root); the bar is the interval of the median.</p><div class=strips>\n",
        n > OPEN_STRIPS ? "" : " open");
    for (size_t g = 0; g < p->view->ngroups; g++)
        if (p->view->groups[g].case_index == c && p->shown[g])
            cbx__plot_launches(p->out, p->view, &p->view->groups[g], p->arena);
    cbx__page_put(p, "</div>");
    put_launch_stories(p, c);
    cbx__page_put(p, "</details>\n");
}

/* The charts of a group's metrics, one behind the other; the script shows one at a time.  A page that is short of room has those of one group. */
static void put_history(cbx__page *p, const cbx__report_group *g, bool another)
{
    bool all = !p->times_only && !(another && p->limit != SIZE_MAX);

    p->charts.brief = p->limit != SIZE_MAX;
    cbx__page_put(p, "<div class=metrics>");
    for (int what = 0; what < CBX__FOLLOW_COUNT; what++)
        if ((!what || all) && cbx__charts_has_history(&p->charts, g, (cbx__followed)what))
            cbx__chart_history(&p->charts, g, (cbx__followed)what, p->out);
    cbx__page_put(p, "</div>\n");
}

/* Charts of the groups that are shown: of those with a history, and under the roofs. */
static void put_charts(cbx__page *p, size_t c)
{
    size_t most = p->limit == SIZE_MAX ? ALL_CHARTS : FEW_CHARTS, histories = 0, roofs = 0;

    cbx__page_put(p, "<div class=charts>");
    for (int turn = 0; turn < 2; turn++) /* the representative points first */
        for (size_t g = 0; g < p->view->ngroups; g++) {
            const cbx__report_group *group = &p->view->groups[g];
            if (group->case_index != c || !p->shown[g] || group->representative != !turn) continue;
            if (histories < most && cbx__charts_has_history(&p->charts, group, CBX__FOLLOW_TIME))
                put_history(p, group, histories++ > 0);
            if (roofs < most / 2) roofs += cbx__chart_roofline(&p->charts, group, p->out);
        }
    cbx__page_put(p, "</div>\n");
    if (!p->charts.past) return;
    cbx_text_reset(&p->cell);
    if (cbx__chart_changes(&p->charts, c, MOST_CHANGES, &p->cell)) {
        cbx__page_put(p, "<h3>Changes over time</h3>");
        cbx__page_put(p, cbx_text_str(&p->cell));
    } else {
        cbx__page_put(p, "<p class=count>No level of any series changed over the runs that are kept.</p>\n");
    }
    cbx_text_reset(&p->cell);
}

static void put_left_out(cbx__page *p, size_t c)
{
    size_t shown = cbx__page_groups(p, c, false), all = cbx__page_groups(p, c, true);
    char file[160];

    if (shown == all) return;
    cbx_text_printf(p->out, "<p class=count>%zu of %zu points", shown, all);
    if (p->opts->links)
        cbx_text_printf(p->out, "; <a href=\"%s\">all of them</a>", cbx_report_case_page(p->view->cases[c], file));
    cbx__page_put(p, "</p>\n");
}

void cbx__page_put_case(cbx__page *p, size_t c)
{
    cbx_text_printf(p->out, "<section class=case data-case=%zu><h2>", c);
    cbx__page_put_words(p, p->view->cases[c], 80);
    cbx__page_put(p, "</h2>\n");
    put_left_out(p, c);
    cbx__page_put(p, "<div class=plots>");
    cbx__plot_sizes(p->out, p->view, c, p->limit == SIZE_MAX ? SIZE_MAX : FEW_CHARTS, p->arena);
    cbx__page_put(p, "</div>\n");
    put_controls(p, c);
    cbx__page_put(p, "<div class=scroll tabindex=0 role=region aria-label=\"rows of ");
    cbx__page_put_words(p, p->view->cases[c], 80);
    cbx__page_put(p, "\"><table>");
    put_column_heads(p);
    for (size_t i = 0, g = 0; i < p->view->nitems; i++) {
        while (i >= p->view->groups[g].first + p->view->groups[g].count) g++;
        if (p->view->groups[g].case_index == c && p->shown[g]) put_row(p, &p->view->groups[g], &p->view->items[i]);
    }
    cbx__page_put(p, "</table></div>\n");
    put_launches(p, c);
    put_charts(p, c);
    cbx__page_put(p, "</section>\n");
}
