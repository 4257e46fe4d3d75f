/* Pages under construction: head and foot, links, facts, tables, figures. */
#include "calibrax/site/page_view.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/together.h"
#include "calibrax/pages/page_figure.h"
#include "calibrax/pages/page_head.h"
#include "calibrax/perf/report/view.h"
#include "calibrax/plot/model.h"

#define NARROW_PX 340 /* of a figure on a screen of 400 px */

static void lost(cbx__view *v) { v->out->status = CBX_ENOMEM; }

bool cbx__view_got(cbx__view *v, cbx_status st)
{
    if (st == CBX_ENOMEM) lost(v);
    return !st;
}

void *cbx__view_alloc(cbx__view *v, size_t n, size_t size)
{
    void *p = cbx_arena_calloc(v->arena, n, size);

    if (!p) lost(v);
    return p;
}

const char *cbx__view_text(cbx__view *v, const char *fmt, ...)
{
    const char *text;
    va_list args;

    va_start(args, fmt);
    text = cbx_arena_vprintf(v->arena, fmt, args);
    va_end(args);
    if (!text) lost(v);
    return text ? text : "";
}

/* What may be published is without paths. */
static const char *words_of(cbx__view *v, const char *s)
{
    cbx_text public = cbx__arena_text(v->arena);

    if (!v->site->link) return s;
    cbx__report_put_public(&public, s, 0);
    if (public.status) lost(v);
    return cbx_text_str(&public);
}

void cbx__view_words(cbx__view *v, const char *s)
{
    if (!v->document) cbx_text_put_html(v->out, words_of(v, s));
}

static cbx_json *json_words(cbx__view *v, const char *s) { return cbx_json_new_string(words_of(v, s)); }

/* --- links --- */

bool cbx__view_has_forms(const cbx__view *v) { return !v->site->link && !v->document; }

const char *cbx__view_href(cbx__view *v, const cbx__request *to)
{
    const char *target = v->document ? NULL : cbx__request_target(to, v->arena);

    if (v->document) return NULL;
    if (!target) lost(v);
    if (to->full || (target && strlen(target) > CBX__TARGET_MAX)) return NULL;
    return target && v->site->link ? v->site->link(v->site->link_user, target) : target;
}

void cbx__view_link(cbx__view *v, const char *href, const char *words)
{
    if (!v->document) cbx__pages_put_link(v->out, href, NULL, words_of(v, words));
}

static void add_page_link(cbx__view *v, cbx__page_link *links, size_t *n, size_t page, const char *words,
                          const char *attribute)
{
    const cbx__request to = cbx__request_with(v->request, "page", page > 1 ? cbx__view_text(v, "%zu", page) : NULL);
    const char *href = cbx__view_href(v, &to);

    if (href) links[(*n)++] = (cbx__page_link){ href, words, attribute };
}

cbx__paging cbx__view_page(const cbx__view *v, size_t per_page, size_t total)
{
    size_t asked = cbx__request_page(v->request), pages = (total + per_page - 1) / per_page;
    size_t page = asked < pages ? asked : pages ? pages : 1, from = (page - 1) * per_page;

    return (cbx__paging){ page, pages, total, from, total - from < per_page ? total : from + per_page };
}

void cbx__view_pager(cbx__view *v, const cbx__paging *p, const char *what)
{
    const size_t page = p->page, pages = p->pages;
    cbx__page_link links[5];
    size_t n = 0;

    if (v->document) {
        cbx_json_put(cbx_json_set_object(v->document, "pages"), J_INT("page", page), J_INT("pages", pages),
                     J_INT("total", p->total));
        return;
    }
    if (pages < 2) return;
    if (page > 1) add_page_link(v, links, &n, 1, "First", NULL);
    if (page > 1) add_page_link(v, links, &n, page - 1, "Previous", "rel=prev");
    links[n++] = (cbx__page_link){ NULL, cbx__view_text(v, "Page %zu of %zu", page, pages), "aria-current=page" };
    if (page < pages) add_page_link(v, links, &n, page + 1, "Next", "rel=next");
    if (page < pages) add_page_link(v, links, &n, pages, "Last", NULL);
    cbx__pages_put_nav(v->out, "pager", cbx__view_text(v, "pages of %s", what), links, n);
}

/* --- the page --- */

static const struct {
    const char *page, *name;
} places[] = {
    { "", "Runs" }, { "trends", "Trends" }, { "compare", "Compare" }, { "profiles", "Profiles" }, { "rows", "Rows" }
};

void cbx__view_begin(cbx__view *v, const char *of, const char *title)
{
    cbx__page_link links[CBX_LEN(places)];
    size_t n = 0;

    if (v->document) {
        cbx_json_put(v->document, J_TEXT("schema", "calibrax-page"), J_INT("version", 1),
                     J_TEXT("page", *v->request->page ? v->request->page : "runs"),
                     J_JSON("title", json_words(v, title)));
        return;
    }
    cbx__pages_put_head(v->out, NULL);
    cbx__put_mixed(v->out, cbx_text_put_html, "", words_of(v, title), " - ", words_of(v, v->site->title), NULL);
    cbx__pages_put_style(v->out, "to the content");
    cbx_text_puts(v->out, "<header class=store>");
    cbx__pages_put(v->out, "p", NULL, words_of(v, v->site->title));
    for (size_t i = 0; i < CBX_LEN(places); i++) {
        const bool here = !strcmp(of, places[i].page), itself = !strcmp(v->request->page, places[i].page);
        if (v->site->link && !strcmp(places[i].page, "compare")) continue; /* it begins with a form */
        const char *href = cbx__view_to(v, places[i].page, "", NULL);
        if (href)
            links[n++] = (cbx__page_link){ href, places[i].name,
                                           !here    ? NULL
                                           : itself ? "aria-current=page"
                                                    : "aria-current=true" };
    }
    cbx__pages_put_nav(v->out, "places", "store", links, n);
    cbx_text_puts(v->out, "</header>\n<main id=main tabindex=-1>\n");
    cbx__pages_put(v->out, "h1", NULL, words_of(v, title));
}

void cbx__view_end(cbx__view *v)
{
    if (!v->document) {
        cbx_text_puts(v->out, "</main>\n</body></html>\n");
        return;
    }
    if (cbx_json_check(v->document, NULL)) lost(v);
    cbx_json_write(v->document, CBX_JSON_INDENT2 | CBX_JSON_NONFINITE_STRING, v->out);
    cbx_text_putc(v->out, '\n');
}

void cbx__view_section(cbx__view *v, const char *heading)
{
    if (!v->document) cbx__pages_put(v->out, "h2", NULL, words_of(v, heading));
}

void cbx__view_note(cbx__view *v, const char *fmt, ...)
{
    char buf[1024];
    va_list args;

    va_start(args, fmt);
    vsnprintf(buf, sizeof buf, fmt, args);
    va_end(args);
    if (v->document) {
        cbx_json *notes = cbx_json_get(v->document, "notes");
        cbx_json_push(notes ? notes : cbx_json_set_array(v->document, "notes"), json_words(v, buf));
        return;
    }
    cbx__pages_put(v->out, "p", "note", words_of(v, buf));
}

/* --- facts --- */

void cbx__view_facts(cbx__view *v)
{
    if (v->document)
        v->row = cbx_json_set_object(v->document, "facts");
    else
        cbx__pages_begin_facts(v->out);
}

void cbx__view_fact_link(cbx__view *v, const char *name, const char *href, const char *value)
{
    if (!value || !*value) return;
    if (v->document)
        cbx_json_set(v->row, name, json_words(v, value));
    else
        cbx__pages_put_fact(v->out, words_of(v, name), href, words_of(v, value));
}

void cbx__view_fact(cbx__view *v, const char *name, const char *value) { cbx__view_fact_link(v, name, NULL, value); }

void cbx__view_facts_end(cbx__view *v)
{
    if (!v->document) cbx__pages_end_facts(v->out);
}

/* --- tables --- */

void cbx__view_table(cbx__view *v, const char *name, const char *label, const cbx__column *columns, size_t n)
{
    v->columns = columns;
    v->ncolumns = n;
    if (v->document) {
        v->rows = cbx_json_set_array(v->document, name);
        return;
    }
    cbx__pages_begin_table(v->out, "list", words_of(v, label), columns, n);
}

void cbx__view_row(cbx__view *v, const char *class)
{
    v->column = 0;
    if (v->document)
        v->row = cbx_json_push_object(v->rows);
    else
        cbx__pages_begin_row(v->out, class);
}

/* Begins the next cell; NULL: its column is not in this form. */
static const cbx__column *open_cell(cbx__view *v)
{
    const cbx__column *c = &v->columns[v->column++ % v->ncolumns];

    if (!v->document && c->title) cbx__pages_begin_cell(v->out, c->class, v->column == 1);
    return (v->document ? c->key : c->title) ? c : NULL;
}

void cbx__view_cell_open(cbx__view *v) { (void)open_cell(v); }

void cbx__view_cell_link(cbx__view *v, const char *href, const char *words)
{
    const cbx__column *c = open_cell(v);

    if (!c) return;
    if (!v->document)
        cbx__view_link(v, words ? href : NULL, words ? words : "");
    else if (words)
        cbx_json_set(v->row, c->key, json_words(v, words));
    else
        cbx_json_set_null(v->row, c->key);
}

void cbx__view_cell_point(cbx__view *v, const char *href, const char *name, const char *scenario, const char *tags)
{
    cbx__view_cell_link(v, href, name);
    if (v->document) {
        cbx_json_put(v->row, J_JSON("scenario", json_words(v, scenario)), J_JSON("tags", json_words(v, tags)));
        return;
    }
    if (!*scenario && !*tags) return;
    cbx__put_mixed(v->out, cbx_text_put_html, "<small>", words_of(v, tags), *scenario && *tags ? "; " : "",
                   words_of(v, scenario), "</small>", NULL);
}

void cbx__view_cell(cbx__view *v, const char *words) { cbx__view_cell_link(v, NULL, words); }

void cbx__view_cell_number(cbx__view *v, double value, const char *shown)
{
    const cbx__column *c = open_cell(v);

    if (!c) return;
    cbx__view_words(v, shown);
    if (v->document) cbx_json_set_number(v->row, c->key, value);
}

void cbx__view_cell_value(cbx__view *v, double value, double lower, double upper, const char *unit)
{
    cbx__view_cell_number(v, value, cbx__view_value(v, value, lower, upper, unit));
}

void cbx__view_cell_count(cbx__view *v, size_t n)
{
    const cbx__column *c = open_cell(v);

    if (!c) return;
    if (v->document)
        cbx_json_set_int(v->row, c->key, (int64_t)n);
    else
        cbx_text_printf(v->out, "%zu", n);
}

void cbx__view_cell_time(cbx__view *v, int64_t us)
{
    const cbx__column *c = open_cell(v);
    char iso[CBX_TIME_SIZE];

    if (!c) return;
    cbx_time_format_iso(us, iso);
    if (v->document)
        cbx_json_set_string(v->row, c->key, iso);
    else
        cbx_text_printf(v->out, "<time datetime=\"%s\">%.10s %.5s</time>", iso, iso, iso + 11);
}

void cbx__view_table_end(cbx__view *v)
{
    if (!v->document) cbx__pages_end_table(v->out);
    v->row = v->rows = NULL;
}

/* --- figures --- */

cbx_status cbx__view_figure(cbx__view *v, cbx_status st, cbx_plot *plot, const int *colours, size_t n,
                            const char *caption)
{
    cbx__chart_lines lines = { .n = n < CBX__SERIES_COLOURS ? n : CBX__SERIES_COLOURS };

    if (!st && !v->document) {
        for (size_t i = 0; i < lines.n; i++) lines.series[i] = colours[i];
        cbx_status drawn = cbx__pages_put_figure(v->out, plot, &lines, "wide", NULL, caption);
        plot->opts.width = NARROW_PX;
        plot->opts.height = NARROW_PX * 3 / 4;
        if (!drawn) drawn = cbx__pages_put_figure(v->out, plot, &lines, "narrow", NULL, caption);
        (void)cbx__view_got(v, drawn);
    }
    cbx_plot_free(plot);
    return st == CBX_ENOMEM ? st : CBX_OK;
}

/* --- forms --- */

#define MAX_CHOICES 200

static void put_field(cbx__view *v, const cbx__field *f, const char *value, bool again)
{
    const char *const *choices = f->choices;
    size_t n = f->nchoices;

    if (f->names && !cbx__view_got(v, f->names(v->store, MAX_CHOICES, v->arena, &choices, &n, NULL))) n = 0;
    cbx_text_printf(v->out, "<label><span>%s</span><input type=%s name=%s value=\"", f->label,
                    f->hint && strstr(f->hint, "YYYY") ? "date"
                    : strcmp(f->param, "text")         ? "text"
                                                       : "search",
                    f->param);
    cbx__put_mixed(v->out, cbx_text_put_html, "", value ? value : "", "\"", NULL);
    if (f->hint && !strstr(f->hint, "YYYY")) cbx_text_printf(v->out, " placeholder=\"%s\"", f->hint);
    if (n) cbx_text_printf(v->out, " list=list-%s", f->param);
    cbx_text_puts(v->out, "></label>");
    if (!n || again) return;
    cbx_text_printf(v->out, "<datalist id=list-%s>", f->param);
    for (size_t i = 0; i < n; i++)
        cbx__put_mixed(v->out, cbx_text_put_html, "<option value=\"", choices[i], "\">", NULL);
    cbx_text_puts(v->out, "</datalist>");
}

void cbx__view_form(cbx__view *v, const char *button, const cbx__field *fields, size_t n)
{
    const cbx__request *r = v->request;
    bool any = false;

    if (!cbx__view_has_forms(v)) return;
    cbx_text_printf(v->out, "<form class=filter method=get action=\"/%s\" role=search aria-label=\"%s\">", r->page,
                    button);
    for (size_t i = 0; i < n; i++) {
        size_t found = 0;
        for (size_t k = 0; k < r->n; k++) {
            if (strcmp(r->params[k].key, fields[i].param) != 0 || !*r->params[k].value) continue;
            any = true;
            if (!found || fields[i].many) put_field(v, &fields[i], r->params[k].value, found > 0);
            found++;
        }
        if (!found || fields[i].many) put_field(v, &fields[i], NULL, found > 0);
    }
    for (size_t k = 0; k < r->n; k++) { /* what else the page was asked for */
        bool known = !strcmp(r->params[k].key, "page");
        for (size_t i = 0; i < n; i++) known |= !strcmp(fields[i].param, r->params[k].key);
        if (known) continue;
        cbx__put_mixed(v->out, cbx_text_put_html, "<input type=hidden name=\"", r->params[k].key, "\" value=\"",
                       r->params[k].value, "\">", NULL);
    }
    cbx_text_printf(v->out, "<button>%s</button>", button);
    if (any) cbx_text_printf(v->out, "<a href=\"/%s\">Clear</a>", r->page);
    cbx_text_puts(v->out, "</form>\n");
}
