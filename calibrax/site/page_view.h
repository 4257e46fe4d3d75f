/*
 * A page under construction.  A view adds paragraphs, facts, tables and figures in their order, and
 * they come out as HTML, or as members of a JSON document: a fact as a member of "facts", a table
 * as an array of objects under its name, a paragraph in "notes".  Figures, forms and links between
 * pages are HTML only.
 *
 * All text is escaped here; a page that is to be published loses paths in it, too.  Failures of
 * memory are sticky: the page's end reports them.
 */
#ifndef CALIBRAX_SITE_PAGE_VIEW_H
#define CALIBRAX_SITE_PAGE_VIEW_H

#include "calibrax/base/json_put.h"
#include "calibrax/core/owned.h"
#include "calibrax/pages/page_parts.h"
#include "calibrax/plot/plot.h"
#include "calibrax/site/page_request.h"
#include "calibrax/site/store_site.h"

/* Gives the name of the file that a target's page is in; NULL: it is not written. */
typedef const char *(*cbx__link_fn)(void *user, const char *target);

struct cbx_site {
    cbx_ctx *ctx;
    cbx_store *store;
    cbx_arena arena; /* of the title */
    const char *title;
    cbx__link_fn link; /* NULL: pages are asked for by their target, and may have forms */
    void *link_user;
    cbx_arena passing; /* of the page being made */
};

typedef struct cbx__view {
    cbx_site *site;
    cbx_ctx *ctx;
    cbx_store *store;
    cbx_arena *arena;
    const cbx__request *request;
    cbx_text *out;
    const char *script_hash; /* of a page that brings its own script; NULL: none */
    /* inside */
    cbx_json *document; /* NULL: HTML */
    cbx_json *rows, *row;
    const cbx__column *columns;
    size_t ncolumns, column;
    bool whole; /* out is a whole page already */
} cbx__view;

/* The page of a target, as cbx_site_get, without its tag.  @return CBX_OK; CBX_ENOMEM */
cbx_status cbx__site_page(cbx_site *site, const char *target, cbx_site_reply *reply);

/* --- the page --- */

/* The head and the way to the other pages.  @param of  the request's page, which is marked; a page
 * below it has its name */
void cbx__view_begin(cbx__view *v, const char *of, const char *title);
void cbx__view_end(cbx__view *v);
/* Escaped, and fit to be published if the page is. */
void cbx__view_words(cbx__view *v, const char *s);
void cbx__view_section(cbx__view *v, const char *heading);
void cbx__view_note(cbx__view *v, const char *fmt, ...) CBX_PRINTF(2, 3);

/* --- links --- */

/* What refers to a page, in the arena; NULL: nothing does, or its address would be refused as too
 * long. */
const char *cbx__view_href(cbx__view *v, const cbx__request *to);
/* A link, or the words alone. */
void cbx__view_link(cbx__view *v, const char *href, const char *words);
/* A list that is cut into pages, and what is on one of them. */
typedef struct cbx__paging {
    size_t page, pages; /* page: from 1 */
    size_t total, from, to;
} cbx__paging;
/* The page of a list that was asked for; the last one where there are not so many. */
cbx__paging cbx__view_page(const cbx__view *v, size_t per_page, size_t total);
/* Links to the other pages of a list. */
void cbx__view_pager(cbx__view *v, const cbx__paging *p, const char *what);
/* Whether pages have forms. */
bool cbx__view_has_forms(const cbx__view *v);

/* --- facts --- */

void cbx__view_facts(cbx__view *v);
void cbx__view_fact(cbx__view *v, const char *name, const char *value);
void cbx__view_fact_link(cbx__view *v, const char *name, const char *href, const char *value);
void cbx__view_facts_end(cbx__view *v);

/* --- tables: begin, then each row with as many cells as columns, the first of them its head --- */

void cbx__view_table(cbx__view *v, const char *name, const char *label, const cbx__column *columns, size_t n);
void cbx__view_row(cbx__view *v, const char *class);
/* NULL: an empty cell, null. */
void cbx__view_cell(cbx__view *v, const char *words);
void cbx__view_cell_link(cbx__view *v, const char *href, const char *words);
/* A number as it is shown; JSON has the number. */
void cbx__view_cell_number(cbx__view *v, double value, const char *shown);
/* The same of cbx__view_value. */
void cbx__view_cell_value(cbx__view *v, double value, double lower, double upper, const char *unit);
void cbx__view_cell_count(cbx__view *v, size_t n);
void cbx__view_cell_time(cbx__view *v, int64_t us);
/* The name of a point, and below it what distinguishes it; JSON has "scenario" and "tags", too.
 * @param tags  as words */
void cbx__view_cell_point(cbx__view *v, const char *href, const char *name, const char *scenario, const char *tags);
/* A cell whose content the caller writes; in JSON it is left out.  Ended by the next cell
 * or row. */
void cbx__view_cell_open(cbx__view *v);
void cbx__view_table_end(cbx__view *v);

/* --- figures --- */

/* A plot, which is freed; one that cannot be drawn is left out, unless memory ran out.  It is put
 * twice, for wide and for narrow screens, of which a page shows one.
 * @param st       of what it was made with: a failure leaves it out
 * @param colours  of its series, numbers below 16 (style.css)
 * @return CBX_OK; CBX_ENOMEM: st was that */
cbx_status cbx__view_figure(cbx__view *v, cbx_status st, cbx_plot *plot, const int *colours, size_t n,
                            const char *caption);

/* --- values --- */

/* "2026-02-20 11:34:24 UTC" */
const char *cbx__view_time(cbx__view *v, int64_t us);
/* "3.21 ms [3.19, 3.25]" of seconds, "12.5 MB"; bounds NaN: none; unit NULL or "": none */
const char *cbx__view_value(cbx__view *v, double value, double lower, double upper, const char *unit);
/* "+18.8 %" of 0.188, "" for NaN */
const char *cbx__view_percent(cbx__view *v, double share);
/* "batch=32, framework=flax", sorted */
const char *cbx__view_tags(cbx__view *v, const cbx_tag *tags, size_t n);
/* As printf, in the arena; "" where memory is short, which the page's end reports. */
const char *cbx__view_text(cbx__view *v, const char *fmt, ...) CBX_PRINTF(2, 3);
/* Whether a call that the page can do without has succeeded; one that had no memory fails
 * the page. */
bool cbx__view_got(cbx__view *v, cbx_status st);
/* An array in the arena, zeroed; NULL: memory is short, which the page's end reports. */
void *cbx__view_alloc(cbx__view *v, size_t n, size_t size);

/* --- the views: each returns CBX_OK, or why there is no such page --- */

typedef cbx_status (*cbx__view_fn)(cbx__view *v, cbx_err *err);
cbx_status cbx__view_runs(cbx__view *v, cbx_err *err);
cbx_status cbx__view_run(cbx__view *v, cbx_err *err);
cbx_status cbx__view_trace(cbx__view *v, cbx_err *err);
cbx_status cbx__view_trends(cbx__view *v, cbx_err *err);
cbx_status cbx__view_trend(cbx__view *v, cbx_err *err);
cbx_status cbx__view_point(cbx__view *v, cbx_err *err);
cbx_status cbx__view_compare(cbx__view *v, cbx_err *err);
cbx_status cbx__view_profiles(cbx__view *v, cbx_err *err);
cbx_status cbx__view_cases(cbx__view *v, cbx_err *err);
cbx_status cbx__view_case(cbx__view *v, cbx_err *err);

/* What the views share. */

/* A run by an id that the store lists, or "baseline:NAME" of one that it lists.  CBX_EINVAL: no id
 * was given; CBX_ENOENT; CBX_EFORMAT */
cbx_status cbx__view_load(cbx__view *v, const char *param, cbx_run **out, cbx_err *err);
/* Reads what the address selects series by: branch, point, scenario, metric and tags. */
cbx_status cbx__view_select(cbx__view *v, cbx_store_query *q, cbx_err *err);
/* A fact with a link to the trace of a run; nothing where the run has none. */
void cbx__view_fact_trace(cbx__view *v, const cbx_run *run);
/* What refers to a page, as cbx__view_href: that of one parameter, and others. */
const char *cbx__view_to(cbx__view *v, const char *page, const char *key, const char *value);
const char *cbx__view_to_run(cbx__view *v, const char *id);
const char *cbx__view_to_point(cbx__view *v, const char *run, const cbx_point *p);
const char *cbx__view_to_trend(cbx__view *v, const char *metric, const char *point, const char *scenario,
                               const cbx_tag *tags, size_t ntags);
const char *cbx__view_to_compare(cbx__view *v, const char *a, const char *b);

/* A form with a text field a parameter, which asks for the same page; in JSON nothing. */
typedef struct cbx__field {
    const char *param, *label, *hint; /* hint: shown while it is empty; NULL: none */
    bool many;                        /* takes several values, a field each and one more */
    const char *const *choices;       /* suggestions; NULL: none */
    size_t nchoices;
    /* names of the store as suggestions, cbx_store_point_names, cbx_store_metric_names; NULL:
     * those above */
    cbx_status (*names)(cbx_store *, size_t, cbx_arena *, const char *const **, size_t *, cbx_err *);
} cbx__field;
void cbx__view_form(cbx__view *v, const char *button, const cbx__field *fields, size_t n);

#endif
