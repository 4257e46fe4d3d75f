/*
 * The HTML page: one file, no network, whole without its script.
 *
 * Everything that comes from rows passes cbx__report_put_public and cbx_text_put_html, or the JSON writer below, which
 * leaves no '<', '>' or '&' behind.  Style and script come from calibrax/perf/site.  End tags that HTML lets one leave
 * out are left out: a page of 400 rows stays below 300 kB.
 */
#include <math.h>
#include <string.h>

#include "calibrax/perf/report_plot.h"
#include "calibrax/perf/report_site_assets.h"

typedef struct page {
    const cbx__report_view *view;
    cbx_arena *arena;
    cbx_text *out;
    cbx_text cell;
    const char **names, **statuses; /* interned, for the data block and the filters */
    size_t nnames, nstatuses;
} page;

static void put(page *p, const char *s) { cbx_text_puts(p->out, s); }

/* The text collected in the cell, escaped. */
static void flush_cell(page *p)
{
    cbx_text_put_html(p->out, cbx_text_str(&p->cell));
    cbx_text_reset(&p->cell);
}

static void put_words(page *p, const char *s, size_t max)
{
    cbx__report_put_public(&p->cell, s, max);
    flush_cell(p);
}

static void put_lines(page *p, const char *const *lines)
{
    for (; *lines; lines++) put(p, *lines);
}

/* --- header --- */

static void put_title(page *p, const cbx_report_opts *opts)
{
    if (opts && opts->title)
        put_words(p, opts->title, 0);
    else
        put(p, "nperf");
    for (size_t c = 0; c < p->view->ncases && !(opts && opts->title); c++) {
        put(p, c ? ", " : ": ");
        put_words(p, p->view->cases[c], 80);
    }
}

static void put_head(page *p, const cbx_report_opts *opts)
{
    put(p, "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>\n"
           "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'; "
           "script-src 'unsafe-inline'\">\n"
           "<meta name=viewport content=\"width=device-width,initial-scale=1\">\n<title>");
    put_title(p, opts);
    put(p, "</title>\n<style>\n");
    put_lines(p, cbx__site_style);
    put(p, "</style></head>\n<body>\n");
    cbx__plot_marks(p->out);
}

/* The closing sentence, a paragraph a line. */
static void put_lead(page *p, const cbx_rows *rows)
{
    cbx_text sentence;
    cbx_text_init(&sentence, &p->arena->al);
    cbx_report_sentence(rows, &sentence);
    for (const char *line = cbx_text_str(&sentence); *line;) {
        size_t n = strcspn(line, "\n");
        cbx_text_add(&p->cell, line, n);
        put(p, "<p class=lead>");
        flush_cell(p);
        put(p, "\n");
        line += n + (line[n] == '\n');
    }
    cbx_text_clear(&sentence);
}

static void put_machines(page *p)
{
    for (size_t m = 0; m < p->view->nmachines; m++) {
        size_t n = 0;
        const cbx__report_fact *facts = cbx__report_facts(p->arena, p->view, m, &n);
        if (!n) continue;
        if (p->view->nmachines > 1) {
            put(p, "<h3>machine ");
            put_words(p, p->view->machines[m], 12);
            put(p, "</h3>");
        }
        put(p, "<dl class=facts>");
        for (size_t i = 0; i < n; i++) {
            put(p, "<div><dt>");
            put(p, facts[i].name);
            put(p, "<dd>");
            put_words(p, facts[i].value, 0);
            put(p, "</div>");
        }
        put(p, "</dl>\n");
    }
}

static void put_header(page *p, const cbx_rows *rows, const cbx_report_opts *opts)
{
    put(p, "<header><h1>");
    put_title(p, opts);
    cbx_text_printf(p->out, "</h1><p class=count>%zu row%s, %zu point%s, row schema %d</p>\n", p->view->nitems,
                    p->view->nitems == 1 ? "" : "s", p->view->ngroups, p->view->ngroups == 1 ? "" : "s",
                    CBX_ROW_SCHEMA_VERSION);
    put_lead(p, rows);
    put_machines(p);
    if (opts && opts->command) {
        put(p, "<p class=command>Measured with <code>");
        cbx_text_put_html(p->out, opts->command);
        put(p, "</code></p>\n");
    }
    put(p, "</header>\n");
}

/* --- table of a case --- */

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

static void put_column_heads(page *p)
{
    put(p, "<thead><tr><th scope=col aria-sort=none><button type=button>point</button>");
    for (size_t c = 0; c < CBX__COLUMN_COUNT; c++) {
        put(p, "<th scope=col aria-sort=none title=\"");
        cbx_text_put_html(p->out, cbx__report_columns[c].meaning);
        cbx_text_printf(p->out, "\"><button type=button>%s</button>", cbx__report_columns[c].title);
    }
    put(p, "<tbody>\n");
}

static void put_cell(page *p, const cbx__report_item *it, size_t column)
{
    const cbx_row *row = it->row;
    cbx_text_printf(p->out, "<td%s>", column == CBX__COLUMN_RATIO && !it->reference ? verdict_class(row) : "");
    if (column == CBX__COLUMN_BASELINE) cbx_text_printf(p->out, "<i class=s%d></i>", it->series % CBX__PLOT_SERIES);
    if (column == CBX__COLUMN_FIDELITY)
        cbx__report_columns[column].put_brief(&p->cell, it, p->arena, &cbx__report_utf8);
    else
        cbx__report_columns[column].put(&p->cell, it, p->arena, &cbx__report_utf8);
    flush_cell(p);
    if (column == CBX__COLUMN_STATUS && it->class != CBX__REPORT_GOOD && row->has_metrics) {
        cbx__report_put_reason(&p->cell, row->failure_reason, row->failure_message, row->failure_remedy);
        if (p->cell.len) put(p, "<small>");
        flush_cell(p);
    }
}

static void put_row(page *p, const cbx__report_group *g, const cbx__report_item *it)
{
    put(p, it->class == CBX__REPORT_GOOD ? it->reference ? "<tr class=ref><td>" : "<tr><td>" : "<tr class=bad><td>");
    put_words(p, cbx__report_where(p->arena, p->view, g), 80);
    put_cell(p, it, CBX__COLUMN_BASELINE);
    put_cell(p, it, CBX__COLUMN_STATUS);
    for (size_t c = CBX__COLUMN_STATUS + 1; it->row->has_metrics && c < CBX__COLUMN_COUNT; c++) put_cell(p, it, c);
    if (!it->row->has_metrics) {
        cbx_text_printf(p->out, "<td class=why colspan=%d>", CBX__COLUMN_COUNT - CBX__COLUMN_STATUS - 1);
        cbx__report_put_reason(&p->cell, it->row->failure_reason, it->row->failure_message, it->row->failure_remedy);
        flush_cell(p);
    }
    put(p, "\n");
}

static void put_controls(page *p, size_t c)
{
    put(p, "<div class=controls><label>Filter <input type=search placeholder=\"words of a row\"></label>"
           "<label>Point <select class=points><option value=\"\">all");
    for (size_t g = 0; g < p->view->ngroups; g++) {
        if (p->view->groups[g].case_index != c) continue;
        cbx_text_printf(p->out, "<option value=%zu>", g);
        put_words(p, cbx__report_where(p->arena, p->view, &p->view->groups[g]), 80);
    }
    put(p, "</select></label><label>Status <select class=statuses><option value=\"\">all");
    for (size_t s = 0; s < p->nstatuses; s++) {
        cbx_text_printf(p->out, "<option value=%zu>", s);
        put_words(p, p->statuses[s], 40);
    }
    put(p, "</select></label><output class=shown></output></div>\n");
}

static size_t groups_of_case(const page *p, size_t c)
{
    size_t n = 0;
    for (size_t g = 0; g < p->view->ngroups; g++) n += p->view->groups[g].case_index == c;
    return n;
}

/* More than this many plots of launches are folded away. */
#define OPEN_STRIPS 8

static void put_launches(page *p, size_t c)
{
    size_t n = groups_of_case(p, c);
    cbx_text_printf(
        p->out,
        "<details class=launches%s><summary>Launches</summary><p>Left: the median of each row, and the way to it from "
        "the "
        "roofline's bound. Right: every launch as a dot, by its distance from the median of its row (drawn by its "
        "square root); the bar is the interval of the median.</p><div class=strips>\n",
        n > OPEN_STRIPS ? "" : " open");
    for (size_t g = 0; g < p->view->ngroups; g++)
        if (p->view->groups[g].case_index == c) cbx__plot_launches(p->out, p->view, &p->view->groups[g], p->arena);
    put(p, "</div></details>\n");
}

static void put_case(page *p, size_t c)
{
    cbx_text_printf(p->out, "<section class=case data-case=%zu><h2>", c);
    put_words(p, p->view->cases[c], 80);
    put(p, "</h2>\n");
    put(p, "<div class=plots>");
    cbx__plot_sizes(p->out, p->view, c, p->arena);
    put(p, "</div>\n");
    put_controls(p, c);
    put(p, "<div class=scroll><table>");
    put_column_heads(p);
    for (size_t i = 0; i < p->view->nitems; i++) {
        const cbx__report_group *g = p->view->groups;
        while (i >= g->first + g->count) g++;
        if (g->case_index == c) put_row(p, g, &p->view->items[i]);
    }
    put(p, "</table></div>\n");
    put_launches(p, c);
    put(p, "</section>\n");
}

/* --- the data block --- */

/* A JSON string that is safe inside <script>: control characters, quotes, and < > & are written as escapes. */
static void put_json_string(cbx_text *out, const char *s)
{
    cbx_text_putc(out, '"');
    for (; *s; s++) {
        unsigned char ch = (unsigned char)*s;
        if (ch < 0x20 || ch == 0x7f || strchr("<>&\"\\'", ch))
            cbx_text_printf(out, "\\u%04x", ch);
        else
            cbx_text_putc(out, (char)ch);
    }
    cbx_text_putc(out, '"');
}

static void put_json_words(page *p, const char *key, const char *const *list, size_t n)
{
    put_json_string(p->out, key);
    put(p, ":[");
    for (size_t i = 0; i < n; i++) {
        if (i) put(p, ",");
        cbx__report_put_public(&p->cell, list[i], 120);
        put_json_string(p->out, cbx_text_str(&p->cell));
        cbx_text_reset(&p->cell);
    }
    put(p, "],\n");
}

static size_t index_of(const char *const *list, size_t n, const char *s)
{
    size_t i = 0;
    while (i < n && strcmp(list[i], s) != 0) i++;
    return i;
}

static const char *status_of(const cbx_row *row) { return row->status ? row->status : "no status"; }

/* [case, point, name, status, good, then the number behind each numeric column] */
static void put_json_row(page *p, const cbx__report_group *g, const cbx__report_item *it)
{
    cbx_text_printf(p->out, "[%zu,%zu,%zu,%zu,%d", g->case_index, (size_t)(g - p->view->groups),
                    index_of(p->names, p->nnames, cbx__report_name(p->arena, it)),
                    index_of(p->statuses, p->nstatuses, status_of(it->row)), it->class == CBX__REPORT_GOOD);
    for (size_t c = 0; c < CBX__COLUMN_COUNT; c++) {
        double v = cbx__report_columns[c].key && it->row->has_metrics ? cbx__report_columns[c].key(it) : NAN;
        if (!cbx__report_columns[c].key) continue;
        if (isfinite(v))
            cbx_text_printf(p->out, ",%.5g", v);
        else
            put(p, ",null");
    }
    put(p, "]");
}

static void put_data(page *p)
{
    const char **points = cbx_arena_calloc(p->arena, p->view->ngroups + 1, sizeof *points);
    if (!points) return;
    for (size_t g = 0; g < p->view->ngroups; g++) points[g] = cbx__report_where(p->arena, p->view, &p->view->groups[g]);
    cbx_text_printf(p->out, "<script type=application/json id=data>{\"schema\":\"nperf-page\",\"version\":1,\n");
    put_json_words(p, "cases", p->view->cases, p->view->ncases);
    put_json_words(p, "points", points, p->view->ngroups);
    put_json_words(p, "names", p->names, p->nnames);
    put_json_words(p, "statuses", p->statuses, p->nstatuses);
    put(p, "\"columns\":[\"case\",\"point\",\"name\",\"status\",\"good\",\"time_s\",\"min_s\",\"p99_s\",\"compile_s\","
           "\"memory_mb\",\"gmac_per_s\","
           "\"roofline_share\",\"rel_to_tol\",\"speed\"],\n\"rows\":[");
    for (size_t i = 0; i < p->view->nitems; i++) {
        const cbx__report_group *g = p->view->groups;
        while (i >= g->first + g->count) g++;
        put(p, i ? ",\n" : "\n");
        put_json_row(p, g, &p->view->items[i]);
    }
    put(p, "]}</script>\n");
}

/* --- the whole --- */

static const char *const caveats[] = {
    "A launch, a fresh process, is one sample; epochs inside it are sub-samples. Intervals are order statistics over "
    "launches, and a row "
    "without brackets has too few launches for one.",
    "The ratio compares times launch by launch with the reference's; it is turned over to read as a speed. Undecided "
    "means that the "
    "interval holds 1: more launches would tell.",
    "The roofline is what one core of this machine was measured to do; it bounds the declared work, not every possible "
    "algorithm.",
    "Fidelity is the largest error in units of the bound for that algebra, length and type; a row that fails it has no "
    "ratio.",
    "Numbers of one machine say little about another one; compile time is cold and stands apart from the time.",
};

static void put_footer(page *p, const cbx_rows *rows)
{
    put(p, "<footer><h2>How to read this</h2><ul>\n");
    for (size_t i = 0; i < CBX_LEN(caveats); i++) cbx_text_printf(p->out, "<li>%s\n", caveats[i]);
    for (size_t i = 0; i < p->view->nitems; i++)
        if (cbx__report_minimum_disagrees(p->view->items[i].row)) {
            put(p, "<li>A ratio marked ! differs from the ratio of minima by more than a tenth beyond its interval: "
                   "look at the launches.\n");
            break;
        }
    if (rows->damaged) cbx_text_printf(p->out, "<li>%zu damaged lines were left out.\n", rows->damaged);
    put(p, "</ul></footer>\n");
}

static void add_word(const char **list, size_t *n, const char *s)
{
    if (index_of(list, *n, s) == *n) list[(*n)++] = s;
}

static void intern_words(page *p)
{
    p->names = cbx_arena_calloc(p->arena, p->view->nitems + 1, sizeof *p->names);
    p->statuses = cbx_arena_calloc(p->arena, p->view->nitems + 1, sizeof *p->statuses);
    for (size_t i = 0; p->names && p->statuses && i < p->view->nitems; i++) {
        add_word(p->names, &p->nnames, cbx__report_name(p->arena, &p->view->items[i]));
        add_word(p->statuses, &p->nstatuses, status_of(p->view->items[i].row));
    }
}

void cbx_report_site(const cbx_rows *rows, const cbx_report_opts *opts, cbx_text *out)
{
    cbx__report_view view;
    page p = { .view = &view, .arena = &view.arena, .out = out };
    if (!cbx__report_view_open(rows, &view, out)) return;
    cbx_text_init(&p.cell, &view.arena.al);
    intern_words(&p);
    put_head(&p, opts);
    put_header(&p, rows, opts);
    put(&p, "<main>\n");
    for (size_t c = 0; c < view.ncases; c++) put_case(&p, c);
    put(&p, "</main>\n");
    put_footer(&p, rows);
    put_data(&p);
    put(&p, "<script>\n");
    put_lines(&p, cbx__site_script);
    put(&p, "</script></body></html>\n");
    cbx_text_clear(&p.cell);
    cbx__report_view_close(&view, out);
}
