/*
 * The HTML page: one file, no network, whole without its script.
 *
 * Everything that comes from rows passes cbx__report_put_public and cbx_text_put_html, or the JSON writer below, which
 * leaves no '<', '>' or '&' behind.  Style and script come from calibrax/perf/site.  End tags that HTML lets one leave
 * out are left out: a page of 400 rows stays below 300 kB.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/perf/report_charts.h"
#include "calibrax/perf/report_plot.h"
#include "calibrax/perf/report_site_assets.h"

typedef struct page {
    const cbx__report_view *view;
    cbx_arena *arena;
    cbx_text *out;
    cbx_text cell;
    const char **names, **statuses; /* interned, for the data block and the filters */
    size_t nnames, nstatuses;
    const cbx_report_opts *opts;
    cbx__charts charts;
    bool *shown;       /* of each group: in tables and strips */
    size_t limit;      /* groups of a case that are shown; SIZE_MAX: all */
    size_t rows_shown; /* of all cases */
    struct machine_facts {
        const cbx__report_fact *list;
        size_t n;
    } * facts; /* of each machine: a page may be written several times until it is small enough */
} page;

/* Charts of a case, where points were left out and where not. */
#define FEW_CHARTS 2
#define ALL_CHARTS 8
/* Changes told in words. */
#define MOST_CHANGES 12

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

static bool case_is_shown(const page *p, size_t c)
{
    return !p->opts->only_case || !strcmp(p->view->cases[c], p->opts->only_case);
}

/* Representative points first, then the others in their order, as many as may be. */
static void choose_groups(page *p)
{
    const cbx__report_view *v = p->view;

    memset(p->shown, 0, v->ngroups * sizeof *p->shown);
    p->rows_shown = 0;
    for (size_t c = 0; c < v->ncases; c++) {
        size_t n = 0;
        for (int turn = 0; turn < 2 && case_is_shown(p, c); turn++)
            for (size_t g = 0; g < v->ngroups && n < p->limit; g++) {
                if (v->groups[g].case_index != c || p->shown[g] || (!turn && !v->groups[g].representative)) continue;
                p->shown[g] = true;
                p->rows_shown += v->groups[g].count;
                n++;
            }
    }
}

/* The groups of a case that are shown, and all of them. */
static size_t groups_of_case(const page *p, size_t c, bool all)
{
    size_t n = 0;
    for (size_t g = 0; g < p->view->ngroups; g++) n += p->view->groups[g].case_index == c && (all || p->shown[g]);
    return n;
}

const char *cbx_report_case_page(const char *case_name, char buf[160])
{
    size_t n = (size_t)snprintf(buf, 160, "case-%.140s", case_name);

    for (size_t i = 0; i < n; i++)
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", buf[i])) buf[i] = '-';
    snprintf(buf + n, 160 - n, ".html");
    return buf;
}

/* --- header --- */

static void put_title(page *p, const cbx_report_opts *opts)
{
    if (opts && opts->title)
        put_words(p, opts->title, 0);
    else
        put(p, "nperf");
    for (size_t c = 0, n = 0; c < p->view->ncases && !(opts && opts->title); c++) {
        if (!case_is_shown(p, c)) continue;
        put(p, n++ ? ", " : ": ");
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
    put(p, "</style></head>\n<body>\n<a class=skip href=#main>to the tables</a>\n");
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
        const cbx__report_fact *facts = p->facts[m].list;
        size_t n = p->facts[m].n;
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
    cbx_text_printf(p->out, "</h1><p class=count>%zu row%s, %zu point%s, row schema %d", p->view->nitems,
                    p->view->nitems == 1 ? "" : "s", p->view->ngroups, p->view->ngroups == 1 ? "" : "s",
                    CBX_ROW_SCHEMA_VERSION);
    if (p->opts->history)
        cbx_text_printf(p->out, "; %zu rows in %zu files over time", cbx_row_index_facts_of(p->opts->history)->rows,
                        cbx_row_index_facts_of(p->opts->history)->files);
    put(p, "</p>\n");
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
    if (column == CBX__COLUMN_BASELINE) {
        put(p, "<i");
        cbx__plot_put_class(p->out, "", it->series);
        put(p, "></i>");
    }
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
        if (p->view->groups[g].case_index != c || !p->shown[g]) continue;
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

/* More than this many plots of launches are folded away. */
#define OPEN_STRIPS 8

static void put_launches(page *p, size_t c)
{
    size_t n = groups_of_case(p, c, false);
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
    put(p, "</div></details>\n");
}

/* Charts of the groups that are shown: of those with a history, and under the roofs. */
static void put_charts(page *p, size_t c)
{
    size_t most = p->limit == SIZE_MAX ? ALL_CHARTS : FEW_CHARTS, histories = 0, roofs = 0;

    put(p, "<div class=charts>");
    for (int turn = 0; turn < 2; turn++) /* the representative points first */
        for (size_t g = 0; g < p->view->ngroups; g++) {
            const cbx__report_group *group = &p->view->groups[g];
            if (group->case_index != c || !p->shown[g] || group->representative != !turn) continue;
            if (histories < most && cbx__charts_has_history(&p->charts, group)) {
                cbx__chart_history(&p->charts, group, p->out);
                histories++;
            }
            if (roofs < most / 2) roofs += cbx__chart_roofline(&p->charts, group, p->out);
        }
    put(p, "</div>\n");
    if (!p->charts.past) return;
    cbx_text_reset(&p->cell);
    if (cbx__chart_changes(&p->charts, c, MOST_CHANGES, &p->cell)) {
        put(p, "<h3>Changes over time</h3>");
        put(p, cbx_text_str(&p->cell));
    } else {
        put(p, "<p class=count>No level of any series changed over the runs that are kept.</p>\n");
    }
    cbx_text_reset(&p->cell);
}

static void put_left_out(page *p, size_t c)
{
    size_t shown = groups_of_case(p, c, false), all = groups_of_case(p, c, true);
    char file[160];

    if (shown == all) return;
    cbx_text_printf(p->out, "<p class=count>%zu of %zu points", shown, all);
    if (p->opts->links)
        cbx_text_printf(p->out, "; <a href=\"%s\">all of them</a>", cbx_report_case_page(p->view->cases[c], file));
    put(p, "</p>\n");
}

static void put_case(page *p, size_t c)
{
    cbx_text_printf(p->out, "<section class=case data-case=%zu><h2>", c);
    put_words(p, p->view->cases[c], 80);
    put(p, "</h2>\n");
    put_left_out(p, c);
    put(p, "<div class=plots>");
    cbx__plot_sizes(p->out, p->view, c, p->limit == SIZE_MAX ? SIZE_MAX : FEW_CHARTS, p->arena);
    put(p, "</div>\n");
    put_controls(p, c);
    put(p, "<div class=scroll tabindex=0 role=region aria-label=\"rows of ");
    put_words(p, p->view->cases[c], 80);
    put(p, "\"><table>");
    put_column_heads(p);
    for (size_t i = 0, g = 0; i < p->view->nitems; i++) {
        while (i >= p->view->groups[g].first + p->view->groups[g].count) g++;
        if (p->view->groups[g].case_index == c && p->shown[g]) put_row(p, &p->view->groups[g], &p->view->items[i]);
    }
    put(p, "</table></div>\n");
    put_launches(p, c);
    put_charts(p, c);
    put(p, "</section>\n");
}

/* --- the tool's own tests, and what the operations can do --- */

static void put_scalar(page *p, const cbx_json *v)
{
    const char *words = cbx_json_string_value(v);

    if (words) {
        put_words(p, words, 200);
        return;
    }
    if (cbx_json_typeof(v) == CBX_JSON_DOUBLE)
        cbx_text_printf(&p->cell, "%.4g", cbx_json_double_value(v));
    else
        cbx_json_write(v, CBX_JSON_COMPACT, &p->cell);
    flush_cell(p);
}

/* "holds": true, and the figures it rests on. */
static void put_score(page *p, const char *name, const cbx_json *score)
{
    bool holds = cbx_json_get_bool(score, "holds", false);
    const char *key, *gap = "";
    cbx_json *v;

    put(p, "<tr><th scope=row>");
    put_words(p, name, 60);
    cbx_text_printf(p->out, "<td class=%s>%s<td>", holds ? "F" : "S", holds ? "holds" : "does not hold");
    for (size_t i = 0; cbx_json_member(score, i, &key, &v); i++) {
        cbx_json_type type = cbx_json_typeof(v);
        if (!strcmp(key, "holds") || type == CBX_JSON_NULL || type == CBX_JSON_ARRAY || type == CBX_JSON_OBJECT)
            continue;
        if (cbx_json_string_value(v) && !*cbx_json_string_value(v)) continue;
        put(p, gap);
        put_words(p, key, 60);
        put(p, " ");
        put_scalar(p, v);
        gap = ", ";
    }
    put(p, "\n");
}

static void put_selftest(page *p)
{
    const char *key;
    cbx_json *v;

    if (!p->opts->selftest || strcmp(cbx_json_get_string(p->opts->selftest, "schema", ""), "nperf-selftest") != 0)
        return;
    put(p, "<section class=selftest><h2>What this tool knows of itself</h2><p class=count>From <code>nperf "
           "selftest</code>: how "
           "often equals are called different, whether planted faults and slow-downs are found, whether cheats are.</p>"
           "<div class=scroll tabindex=0 role=region aria-label=\"record of the tool's own tests\"><table class=plain>"
           "<thead><tr><th scope=col>test<th scope=col>outcome<th scope=col>figures<tbody>\n");
    for (size_t i = 0; cbx_json_member(p->opts->selftest, i, &key, &v); i++)
        if (cbx_json_typeof(v) == CBX_JSON_OBJECT && cbx_json_has(v, "holds")) put_score(p, key, v);
    put(p, "</table></div></section>\n");
}

static void put_capability(page *p, const cbx_json *op)
{
    static const char *const flags[] = { "jit", "grad", "vmap", "jit_of_grad" };
    const cbx_json *invariants = cbx_json_get(op, "invariants");

    put(p, "<tr><th scope=row>");
    put_words(p, cbx_json_get_string(op, "qualname", "?"), 120);
    for (size_t i = 0; i < CBX_LEN(flags); i++) {
        put(p, "<td>");
        if (cbx_json_has(op, flags[i])) put_scalar(p, cbx_json_get(op, flags[i]));
    }
    put(p, "<td>");
    for (size_t i = 0; i < cbx_json_length(invariants); i++) {
        put(p, i ? ", " : "");
        put_scalar(p, cbx_json_at(invariants, i));
    }
    put(p, "\n");
}

static void put_capabilities(page *p)
{
    const cbx_json *ops = cbx_json_get(p->opts->capabilities, "ops");

    if (!cbx_json_length(ops)) return;
    put(p, "<section class=ops><h2>Operations</h2><div class=scroll tabindex=0 role=region aria-label=operations>"
           "<table class=plain><thead><tr><th scope=col>operation<th scope=col>jit<th scope=col>grad<th scope=col>vmap"
           "<th scope=col>jit of grad<th scope=col>invariants<tbody>\n");
    for (size_t i = 0; i < cbx_json_length(ops); i++) put_capability(p, cbx_json_at(ops, i));
    put(p, "</table></div></section>\n");
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
    for (size_t g = 0; g < p->view->ngroups; g++)
        points[g] = p->shown[g] ? cbx__report_where(p->arena, p->view, &p->view->groups[g]) : "";
    cbx_text_printf(p->out, "<script type=application/json id=data>{\"schema\":\"nperf-page\",\"version\":1,\n");
    put_json_words(p, "cases", p->view->cases, p->view->ncases);
    put_json_words(p, "points", points, p->view->ngroups);
    put_json_words(p, "names", p->names, p->nnames);
    put_json_words(p, "statuses", p->statuses, p->nstatuses);
    put(p, "\"columns\":[\"case\",\"point\",\"name\",\"status\",\"good\",\"time_s\",\"min_s\",\"p99_s\",\"compile_s\","
           "\"memory_mb\",\"gmac_per_s\","
           "\"roofline_share\",\"rel_to_tol\",\"speed\"],\n\"rows\":[");
    for (size_t i = 0, g = 0, n = 0; i < p->view->nitems; i++) {
        while (i >= p->view->groups[g].first + p->view->groups[g].count) g++;
        if (!p->shown[g]) continue;
        put(p, n++ ? ",\n" : "\n");
        put_json_row(p, &p->view->groups[g], &p->view->items[i]);
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

static void put_page(page *p, const cbx_rows *rows)
{
    choose_groups(p);
    put_head(p, p->opts);
    put_header(p, rows, p->opts);
    put(p, "<main id=main>\n");
    put_capabilities(p);
    for (size_t c = 0; c < p->view->ncases; c++)
        if (case_is_shown(p, c)) put_case(p, c);
    put_selftest(p);
    put(p, "</main>\n");
    put_footer(p, rows);
    put_data(p);
    put(p, "<script>\n");
    put_lines(p, cbx__site_script);
    put(p, "</script></body></html>\n");
}

static bool learn_facts(page *p)
{
    p->facts = cbx_arena_calloc(p->arena, p->view->nmachines + 1, sizeof *p->facts);
    for (size_t m = 0; p->facts && m < p->view->nmachines; m++)
        p->facts[m].list = cbx__report_facts(p->arena, p->view, m, &p->facts[m].n);
    return p->facts != NULL;
}

/* Points of a case for a page of so many bytes, judged by one with `limit` of them: a tenth less than in proportion, at most half. */
static size_t fewer(size_t limit, size_t most, size_t len)
{
    size_t half = (limit + 1) / 2, share = (size_t)(0.9 * (double)limit * (double)most / (double)len);
    return share < 1 ? 1 : share < half ? share : half;
}

/* With fewer points of a case each time, until the page is small enough or one is left. */
static void put_within(page *p, const cbx_rows *rows, cbx_text *out)
{
    size_t most = p->opts->most_bytes, largest = 1;
    cbx_text text;

    for (size_t c = 0; c < p->view->ncases; c++) {
        size_t n = groups_of_case(p, c, true);
        largest = n > largest ? n : largest;
    }
    cbx_text_init(&text, &p->arena->al);
    p->out = &text;
    put_page(p, rows);
    for (p->limit = largest; most && text.len > most && p->limit > 1 && !text.status;) {
        p->limit = fewer(p->limit, most, text.len);
        cbx_text_reset(&text);
        put_page(p, rows);
    }
    if (text.status)
        out->status = text.status;
    else
        cbx_text_add(out, cbx_text_str(&text), text.len);
    cbx_text_clear(&text);
}

void cbx_report_site(const cbx_rows *rows, const cbx_report_opts *opts, cbx_text *out)
{
    static const cbx_report_opts defaults = CBX_REPORT_OPTS_INIT;
    cbx__report_view view;
    page p = { .view = &view, .arena = &view.arena, .opts = opts ? opts : &defaults, .limit = SIZE_MAX };

    if (!cbx__report_view_open(rows, &view, out)) return;
    cbx_text_init(&p.cell, &view.arena.al);
    p.shown = cbx_arena_calloc(p.arena, view.ngroups + 1, sizeof *p.shown);
    intern_words(&p);
    if (p.shown && p.names && p.statuses && learn_facts(&p) &&
        cbx__charts_open(&p.charts, &view, p.arena, p.opts->history))
        put_within(&p, rows, out);
    else
        out->status = CBX_ENOMEM;
    cbx__charts_close(&p.charts);
    cbx_text_clear(&p.cell);
    cbx__report_view_close(&view, out);
}
