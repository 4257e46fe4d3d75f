/*
 * The HTML page: one file, no network, whole without its script.
 *
 * Everything that comes from rows passes cbx__report_put_public and cbx_text_put_html, or the JSON writer of site_data.c, which
 * leaves no '<', '>' or '&' behind.  Style and script come from calibrax/perf/report/site.  End tags that HTML lets one leave
 * out are left out: a page of 400 rows stays below 300 kB.
 */
#include <stdio.h>
#include <string.h>

#include "calibrax/perf/report/site_assets.h"
#include "calibrax/perf/report/site_internal.h"

void cbx__page_flush_cell(cbx__page *p)
{
    cbx_text_put_html(p->out, cbx_text_str(&p->cell));
    cbx_text_reset(&p->cell);
}

void cbx__page_put_words(cbx__page *p, const char *s, size_t max)
{
    cbx__report_put_public(&p->cell, s, max);
    cbx__page_flush_cell(p);
}

static void put_lines(cbx__page *p, const char *const *lines)
{
    for (; *lines; lines++) cbx__page_put(p, *lines);
}

bool cbx__page_shows(const cbx__page *p, size_t c)
{
    return !p->opts->only_case || !strcmp(p->view->cases[c], p->opts->only_case);
}

/* Representative points first, then the others in their order, as many as may be. */
static void choose_groups(cbx__page *p)
{
    const cbx__report_view *v = p->view;

    memset(p->shown, 0, v->ngroups * sizeof *p->shown);
    p->rows_shown = 0;
    for (size_t c = 0; c < v->ncases; c++) {
        size_t n = 0;
        for (int turn = 0; turn < 2 && cbx__page_shows(p, c); turn++)
            for (size_t g = 0; g < v->ngroups && n < p->limit; g++) {
                if (v->groups[g].case_index != c || p->shown[g] || (!turn && !v->groups[g].representative)) continue;
                p->shown[g] = true;
                p->rows_shown += v->groups[g].count;
                n++;
            }
    }
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

/* --- header --- */

static void put_title(cbx__page *p, const cbx_report_opts *opts)
{
    if (opts && opts->title)
        cbx__page_put_words(p, opts->title, 0);
    else
        cbx__page_put(p, "nperf");
    for (size_t c = 0, n = 0; c < p->view->ncases && !(opts && opts->title); c++) {
        if (!cbx__page_shows(p, c)) continue;
        cbx__page_put(p, n++ ? ", " : ": ");
        cbx__page_put_words(p, p->view->cases[c], 80);
    }
}

static void put_head(cbx__page *p, const cbx_report_opts *opts)
{
    cbx__page_put(p,
                  "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>\n"
                  "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'; "
                  "script-src 'unsafe-inline'\">\n"
                  "<meta name=viewport content=\"width=device-width,initial-scale=1\">\n<title>");
    put_title(p, opts);
    cbx__page_put(p, "</title>\n<style>\n");
    put_lines(p, cbx__site_style);
    cbx__page_put(p, "</style></head>\n<body>\n<a class=skip href=#main>to the tables</a>\n");
    cbx__plot_marks(p->out);
}

/* The closing sentence, a paragraph a line. */
static void put_lead(cbx__page *p, const cbx_rows *rows)
{
    cbx_text sentence;
    cbx_text_init(&sentence, &p->arena->al);
    cbx_report_sentence(rows, &sentence);
    for (const char *line = cbx_text_str(&sentence); *line;) {
        size_t n = strcspn(line, "\n");
        cbx_text_add(&p->cell, line, n);
        cbx__page_put(p, "<p class=lead>");
        cbx__page_flush_cell(p);
        cbx__page_put(p, "\n");
        line += n + (line[n] == '\n');
    }
    cbx_text_clear(&sentence);
}

#define WIDE_FACT 48 /* bytes: more would be a narrow column of its own */

static void put_machines(cbx__page *p)
{
    for (size_t m = 0; m < p->view->nmachines; m++) {
        const cbx__report_fact *facts = p->facts[m].list;
        size_t n = p->facts[m].n;
        if (!n) continue;
        if (p->view->nmachines > 1) {
            cbx__page_put(p, "<h3>machine ");
            cbx__page_put_words(p, p->view->machines[m], 12);
            cbx__page_put(p, "</h3>");
        }
        cbx__page_put(p, "<dl class=facts>");
        for (size_t i = 0; i < n; i++) {
            cbx__page_put(p, strlen(facts[i].value) > WIDE_FACT ? "<div class=wide><dt>" : "<div><dt>");
            cbx__page_put(p, facts[i].name);
            cbx__page_put(p, "<dd>");
            cbx__page_put_words(p, facts[i].value, 0);
            cbx__page_put(p, "</div>");
        }
        cbx__page_put(p, "</dl>\n");
    }
}

static void put_header(cbx__page *p, const cbx_rows *rows, const cbx_report_opts *opts)
{
    cbx__page_put(p, "<header><h1>");
    put_title(p, opts);
    cbx_text_printf(p->out, "</h1><p class=count>%zu row%s, %zu point%s, row schema %d", p->view->nitems,
                    p->view->nitems == 1 ? "" : "s", p->view->ngroups, p->view->ngroups == 1 ? "" : "s",
                    CBX_ROW_SCHEMA_VERSION);
    if (p->opts->history)
        cbx_text_printf(p->out, "; %zu rows in %zu file%s over time", cbx_row_index_facts_of(p->opts->history)->rows,
                        cbx_row_index_facts_of(p->opts->history)->files,
                        cbx_row_index_facts_of(p->opts->history)->files == 1 ? "" : "s");
    cbx__page_put(p, "</p>\n");
    put_lead(p, rows);
    put_machines(p);
    if (opts && opts->command) {
        cbx__page_put(p, "<p class=command>Measured with <code>");
        cbx_text_put_html(p->out, opts->command);
        cbx__page_put(p, "</code></p>\n");
    }
    cbx__page_put(p, "</header>\n");
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

static void put_footer(cbx__page *p, const cbx_rows *rows)
{
    cbx__page_put(p, "<footer><h2>How to read this</h2><ul>\n");
    for (size_t i = 0; i < CBX_LEN(caveats); i++) cbx_text_printf(p->out, "<li>%s\n", caveats[i]);
    for (size_t i = 0; i < p->view->nitems; i++)
        if (cbx__report_minimum_disagrees(p->view->items[i].row)) {
            cbx__page_put(
                p, "<li>A ratio marked ! differs from the ratio of minima by more than a tenth beyond its interval: "
                   "look at the launches.\n");
            break;
        }
    if (rows->damaged) cbx_text_printf(p->out, "<li>%zu damaged lines were left out.\n", rows->damaged);
    cbx__page_put(p, "</ul></footer>\n");
}

static void put_page(cbx__page *p, const cbx_rows *rows)
{
    choose_groups(p);
    put_head(p, p->opts);
    put_header(p, rows, p->opts);
    cbx__page_put(p, "<main id=main>\n");
    cbx__page_put_capabilities(p);
    for (size_t c = 0; c < p->view->ncases; c++)
        if (cbx__page_shows(p, c)) cbx__page_put_case(p, c);
    cbx__page_put_selftest(p);
    cbx__page_put(p, "</main>\n");
    put_footer(p, rows);
    cbx__page_put_data(p);
    cbx__page_put(p, "<script>\n");
    put_lines(p, cbx__site_script);
    cbx__page_put(p, "</script></body></html>\n");
}

static bool learn_facts(cbx__page *p)
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
static void put_within(cbx__page *p, const cbx_rows *rows, cbx_text *out)
{
    size_t most = p->opts->most_bytes, largest = 1;
    cbx_text text;

    for (size_t c = 0; c < p->view->ncases; c++) {
        size_t n = cbx__page_groups(p, c, true);
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
    if (most && text.len > most && !text.status) {
        p->times_only = true;
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
    cbx__page p = { .view = &view, .arena = &view.arena, .opts = opts ? opts : &defaults, .limit = SIZE_MAX };

    if (!cbx__report_view_open(rows, &view, out)) return;
    cbx_text_init(&p.cell, &view.arena.al);
    p.shown = cbx_arena_calloc(p.arena, view.ngroups + 1, sizeof *p.shown);
    cbx__page_intern_words(&p);
    if (p.shown && p.names && p.statuses && learn_facts(&p) &&
        cbx__charts_open(&p.charts, &view, p.arena, p.opts->history))
        put_within(&p, rows, out);
    else
        out->status = CBX_ENOMEM;
    cbx__charts_close(&p.charts);
    cbx_text_clear(&p.cell);
    cbx__report_view_close(&view, out);
}
