/*
 * The HTML page: one file, no network, whole without its script.
 *
 * It begins with the answer: the sentence, then the times of each case and its table; the machine
 * is folded away below.  Everything that comes from rows passes cbx__report_put_public and
 * cbx_text_put_html, or put_json_words, which leaves no '<', '>' or '&'.  The script comes
 * from site/, the style sheet and the parts that other pages have, too, from calibrax/pages.  End
 * tags that HTML makes optional are left out: a page of 400 rows stays below 300 kB.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/idioms.h"
#include "calibrax/pages/page_head.h"
#include "calibrax/pages/page_parts.h"
#include "calibrax/perf/report/site_internal.h"

void cbx__page_flush_cell(cbx__page *p)
{
    cbx_text_put_html(p->out, cbx_text_str(&p->cell));
    cbx_text_reset(&p->cell);
}

void cbx__page_put_words(cbx__page *p, const char *before, const char *s, size_t max, const char *after)
{
    cbx__page_put(p, before);
    cbx__report_put_public(&p->cell, s, max);
    cbx__page_flush_cell(p);
    cbx__page_put(p, after);
}

static bool is_chosen(const cbx__page *p, size_t c)
{
    return !p->opts->only_case || !strcmp(p->view->cases[c], p->opts->only_case);
}

size_t cbx__page_groups(const cbx__page *p, size_t c, bool all)
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

/* --- head --- */

static void put_title(cbx__page *p)
{
    if (p->opts->title) {
        cbx__page_put_words(p, "", p->opts->title, 0, "");
        return;
    }
    cbx__page_put(p, "nperf");
    for (size_t c = 0, n = 0; c < p->view->ncases; c++)
        if (is_chosen(p, c)) cbx__page_put_words(p, n++ ? ", " : ": ", p->view->cases[c], 80, "");
}

static void put_head(cbx__page *p, const cbx_rows *rows)
{

    cbx__pages_put_head(p->out, cbx__site_script_hash);
    put_title(p);
    cbx__pages_put_style(p->out, "to the tables");
    cbx__pages_put_marks(p->out);
    cbx__page_put(p, "<header>");
    if (p->opts->home)
        cbx__pages_put_nav(p->out, "places", "store", &(cbx__page_link){ p->opts->home, "All cases", NULL }, 1);
    cbx__page_put(p, "<h1>");
    put_title(p);
    cbx__page_put(p, "</h1>\n");
    CBX_SCOPED(cbx_text, sentence, &p->arena->al);
    cbx_report_sentence(rows, &sentence);
    for (const char *line = cbx_text_str(&sentence); *line;) { /* a paragraph a line */
        size_t n = strcspn(line, "\n");
        cbx_text_add(&p->cell, line, n);
        cbx__pages_put(p->out, "p", NULL, cbx_text_str(&p->cell));
        cbx_text_reset(&p->cell);
        line += n + (line[n] == '\n');
    }
    cbx__page_put(p, "</header>\n");
}

/* --- foot --- */

static const char *const caveats[] = {
    "A launch, a fresh process, is one sample; epochs inside it are sub-samples. Intervals are order statistics over "
    "launches, and a row without brackets has too few launches for one.",
    "Every ratio is the time over the reference's time, launch by launch: below 1 is faster. Undecided means that the "
    "interval includes 1: more launches would decide.",
    "The roofline is what one core of this machine was measured to do; it bounds the declared work, not every possible "
    "algorithm.",
    "Fidelity is the largest error in units of the bound for that algebra, length and type; a row that fails it has no "
    "ratio.",
    "Results of one machine hold for that machine; compile time is cold and not part of the time.",
};

static void put_foot(cbx__page *p, const cbx_rows *rows)
{
    bool disagrees = false;

    cbx__page_put(p, "<details class=machine><summary>Machine, tools and command</summary>\n");
    for (size_t m = 0; m < p->view->nmachines; m++) {
        size_t n = 0;
        const cbx__report_fact *facts = cbx__report_facts(p->arena, p->view, m, &n);
        if (!n) continue;
        if (p->view->nmachines > 1) cbx__page_put_words(p, "<h3>machine ", p->view->machines[m], 12, "</h3>");
        cbx__pages_begin_facts(p->out);
        for (size_t i = 0; i < n; i++) {
            cbx__report_put_public(&p->cell, facts[i].value, 0);
            cbx__pages_put_fact(p->out, facts[i].name, NULL, cbx_text_str(&p->cell));
            cbx_text_reset(&p->cell);
        }
        cbx__pages_end_facts(p->out);
    }
    if (p->opts->command) {
        cbx__page_put(p, "<p>Measured with <code>");
        cbx_text_put_html(p->out, p->opts->command);
        cbx__page_put(p, "</code></p>\n");
    }
    cbx__page_put(p, "</details>\n");
    cbx__page_put(p, "<footer><h2>How to read this</h2><ul>\n");
    for (size_t i = 0; i < CBX_LEN(caveats); i++) cbx_text_printf(p->out, "<li>%s\n", caveats[i]);
    for (const cbx__report_item *it = p->view->items; it < p->view->items + p->view->nitems; it++)
        disagrees = disagrees || cbx__report_minimum_disagrees(it->row);
    if (disagrees)
        cbx__page_put(p, "<li>A ratio marked ! differs from the ratio of minima by more than a tenth beyond its "
                         "interval: see its launches.\n");
    if (rows->damaged) cbx_text_printf(p->out, "<li>%zu damaged lines were left out.\n", rows->damaged);
    cbx_text_printf(p->out, "</ul><p>%zu row%s, %zu point%s, row schema %d", p->view->nitems,
                    p->view->nitems == 1 ? "" : "s", p->view->ngroups, p->view->ngroups == 1 ? "" : "s",
                    CBX_ROW_SCHEMA_VERSION);
    if (p->opts->history) {
        const cbx_row_index_facts *f = cbx_row_index_facts_of(p->opts->history);
        cbx_text_printf(p->out, "; %zu rows in %zu file%s over time", f->rows, f->files, f->files == 1 ? "" : "s");
    }
    cbx__page_put(p, "</footer>\n");
}

/* --- the data block: the numbers of the tables, for sorting and filtering --- */

/* JSON strings that are safe inside <script>: control characters, quotes, and < > & are written as
 * escapes. */
static void put_json_words(cbx__page *p, const char *key, const char *const *list, size_t n)
{
    bool control;

    cbx_text_printf(p->out, "\"%s\":[", key);
    for (size_t i = 0; i < n; i++) {
        cbx__page_put(p, i ? ",\"" : "\"");
        cbx__report_put_public(&p->cell, list[i], 120);
        const char *s = cbx_text_str(&p->cell);
        for (size_t k; (k = cbx_text_char(s, &control)) != 0; s += k) {
            if (control || strchr("<>&\"\\'", *s))
                cbx_text_printf(p->out, "\\u%04x", control && k > 1 ? 0xfffd : (unsigned)(unsigned char)*s);
            else
                cbx_text_add(p->out, s, k);
        }
        cbx_text_putc(p->out, '"');
        cbx_text_reset(&p->cell);
    }
    cbx__page_put(p, "],\n");
}

static const char *status_of(const cbx_row *row) { return row->status ? row->status : "no status"; }

/* Position of s in a list that it is added to when it is new. */
static size_t intern(const char **list, size_t *n, const char *s)
{
    for (size_t i = 0; i < *n; i++)
        if (!strcmp(list[i], s)) return i;
    list[*n] = s;
    return (*n)++;
}

/* [case, point, name, status, good, then the number behind each numeric column] */
static void put_data(cbx__page *p)
{
    const cbx__report_view *v = p->view;
    const char **points = cbx_arena_calloc(p->arena, v->ngroups + 1, sizeof *points), *separator = "\n";

    for (size_t g = 0; points && g < v->ngroups; g++)
        points[g] = p->shown[g] ? cbx__report_where(p->arena, v, &v->groups[g]) : "";
    cbx__page_put(p, "<script type=application/json id=data>{\"schema\":\"nperf-page\",\"version\":2,\n");
    put_json_words(p, "cases", v->cases, v->ncases);
    put_json_words(p, "points", points, points ? v->ngroups : 0);
    put_json_words(p, "names", p->names, p->nnames);
    put_json_words(p, "statuses", p->statuses, p->nstatuses);
    cbx__page_put(p, "\"columns\":[\"case\",\"point\",\"name\",\"status\",\"good\"");
    for (size_t c = 0; c < CBX__COLUMN_COUNT; c++)
        if (cbx__report_columns[c].data) cbx_text_printf(p->out, ",\"%s\"", cbx__report_columns[c].data);
    cbx__page_put(p, "],\n\"rows\":[");
    for (const cbx__report_item *it = v->items; it < v->items + v->nitems; it++) {
        const size_t g = (size_t)(it->group - v->groups);
        if (!p->shown[g]) continue;
        cbx_text_printf(p->out, "%s[%zu,%zu,%zu,%zu,%d", separator, it->group->case_index, g,
                        intern(p->names, &p->nnames, cbx__report_name(p->arena, it)),
                        intern(p->statuses, &p->nstatuses, status_of(it->row)), it->class == CBX__REPORT_GOOD);
        for (const cbx__report_column *k = cbx__report_columns; k < cbx__report_columns + CBX__COLUMN_COUNT; k++) {
            double value = k->data && it->row->has_metrics ? k->key(it) : NAN;
            if (k->data && isfinite(value))
                cbx_text_printf(p->out, ",%.6g", value);
            else if (k->data)
                cbx__page_put(p, ",null");
        }
        cbx__page_put(p, "]");
        separator = ",\n";
    }
    cbx__page_put(p, "]}</script>\n");
}

/* --- the whole --- */

static void put_page(cbx__page *p, const cbx_rows *rows)
{
    cbx_text_reset(p->out);
    /* Representative points first, then the others in their order, up to the limit. */
    const cbx__report_view *v = p->view;
    memset(p->shown, 0, v->ngroups * sizeof *p->shown);
    for (size_t c = 0; c < v->ncases; c++)
        for (size_t pass = 0, n = 0; pass < 2 && is_chosen(p, c); pass++)
            for (size_t g = 0; g < v->ngroups && n < p->limit; g++) {
                if (v->groups[g].case_index != c || p->shown[g] || (!pass && !v->groups[g].representative)) continue;
                p->shown[g] = true;
                n++;
            }
    put_head(p, rows);
    cbx__page_put(p, "<main id=main>\n");
    for (size_t c = 0; c < p->view->ncases; c++)
        if (is_chosen(p, c)) cbx__page_put_case(p, c);
    cbx__page_put_capabilities(p);
    cbx__page_put_selftest(p);
    cbx__page_put(p, "</main>\n");
    put_foot(p, rows);
    put_data(p);
    cbx__pages_put_lines(p->out, "script", cbx__site_script);
    cbx__page_put(p, "</body></html>\n");
}

void cbx_report_site(const cbx_rows *rows, const cbx_report_opts *opts, cbx_text *out)
{
    static const cbx_report_opts defaults = CBX_REPORT_OPTS_INIT;
    cbx__report_view view;
    cbx__page p = { .view = &view, .arena = &view.arena, .opts = opts ? opts : &defaults, .limit = SIZE_MAX };

    if (!cbx__report_view_open(rows, &view, out)) return;
    cbx_text_init(&p.cell, &view.arena.al);
    p.shown = cbx_arena_calloc(p.arena, view.ngroups + 1, sizeof *p.shown);
    p.names = cbx_arena_calloc(p.arena, view.nitems + 1, sizeof *p.names);
    p.statuses = cbx_arena_calloc(p.arena, view.nitems + 1, sizeof *p.statuses);
    for (size_t i = 0; p.names && p.statuses && i < view.nitems; i++) {
        intern(p.names, &p.nnames, cbx__report_name(p.arena, &view.items[i]));
        intern(p.statuses, &p.nstatuses, status_of(view.items[i].row));
    }
    if (p.shown && p.names && p.statuses && cbx__charts_open(&p.charts, &view, p.arena, p.opts->history)) {
        /* With fewer points of a case each time, until the page is small enough or one is left. */
        size_t max = p.opts->max_bytes, largest = 1;
        for (size_t c = 0; c < p.view->ncases; c++) {
            size_t n = cbx__page_groups(&p, c, true);
            largest = n > largest ? n : largest;
        }
        CBX_SCOPED(cbx_text, text, &p.arena->al);
        p.out = &text;
        put_page(&p, rows);
        for (p.limit = largest; max && text.len > max && p.limit > 1 && !text.status;) {
            /* a tenth less than in proportion to the last page, at most half */
            size_t half = (p.limit + 1) / 2, share = (size_t)(0.9 * (double)p.limit * (double)max / (double)text.len);
            p.limit = share < 1 ? 1 : share < half ? share : half;
            put_page(&p, rows);
        }
        if (max && text.len > max && !text.status) {
            p.times_only = true;
            put_page(&p, rows);
        }
        if (text.status)
            out->status = text.status;
        else
            cbx_text_add(out, cbx_text_str(&text), text.len);
    } else
        out->status = CBX_ENOMEM;
    cbx__charts_close(&p.charts);
    cbx_text_clear(&p.cell);
    cbx__report_view_close(&view, out);
}
