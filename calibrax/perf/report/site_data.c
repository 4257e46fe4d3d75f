/*
 * The page's data block: the numbers behind its tables, for sorting and filtering.
 */
#include <math.h>
#include <string.h>

#include "calibrax/perf/report/site_internal.h"

/* A JSON string that is safe inside <script>: control characters, quotes, and < > & are written as escapes. */
static void put_json_string(cbx_text *out, const char *s)
{
    cbx_text_putc(out, '"');
    bool control;

    for (size_t n; (n = cbx_text_char(s, &control)) != 0; s += n) {
        if (control || strchr("<>&\"\\'", *s))
            cbx_text_printf(out, "\\u%04x", control && n > 1 ? 0xfffd : (unsigned)(unsigned char)*s);
        else
            cbx_text_add(out, s, n);
    }
    cbx_text_putc(out, '"');
}

static void put_json_words(cbx__page *p, const char *key, const char *const *list, size_t n)
{
    put_json_string(p->out, key);
    cbx__page_put(p, ":[");
    for (size_t i = 0; i < n; i++) {
        if (i) cbx__page_put(p, ",");
        cbx__report_put_public(&p->cell, list[i], 120);
        put_json_string(p->out, cbx_text_str(&p->cell));
        cbx_text_reset(&p->cell);
    }
    cbx__page_put(p, "],\n");
}

static size_t index_of(const char *const *list, size_t n, const char *s)
{
    size_t i = 0;
    while (i < n && strcmp(list[i], s) != 0) i++;
    return i;
}

static const char *status_of(const cbx_row *row) { return row->status ? row->status : "no status"; }

/* [case, point, name, status, good, then the number behind each numeric column] */
static void put_json_row(cbx__page *p, const cbx__report_group *g, const cbx__report_item *it)
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
            cbx__page_put(p, ",null");
    }
    cbx__page_put(p, "]");
}

void cbx__page_put_data(cbx__page *p)
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
    cbx__page_put(
        p, "\"columns\":[\"case\",\"point\",\"name\",\"status\",\"good\",\"time_s\",\"min_s\",\"p99_s\",\"detectable\","
           "\"compile_s\","
           "\"memory_mb\",\"gmac_per_s\",\"gflop_per_s\",\"gbyte_per_s\","
           "\"roofline_share\",\"rel_to_tol\",\"speed\"],\n\"rows\":[");
    for (size_t i = 0, g = 0, n = 0; i < p->view->nitems; i++) {
        while (i >= p->view->groups[g].first + p->view->groups[g].count) g++;
        if (!p->shown[g]) continue;
        cbx__page_put(p, n++ ? ",\n" : "\n");
        put_json_row(p, &p->view->groups[g], &p->view->items[i]);
    }
    cbx__page_put(p, "]}</script>\n");
}

static void add_word(const char **list, size_t *n, const char *s)
{
    if (index_of(list, *n, s) == *n) list[(*n)++] = s;
}

void cbx__page_intern_words(cbx__page *p)
{
    p->names = cbx_arena_calloc(p->arena, p->view->nitems + 1, sizeof *p->names);
    p->statuses = cbx_arena_calloc(p->arena, p->view->nitems + 1, sizeof *p->statuses);
    for (size_t i = 0; p->names && p->statuses && i < p->view->nitems; i++) {
        add_word(p->names, &p->nnames, cbx__report_name(p->arena, &p->view->items[i]));
        add_word(p->statuses, &p->nstatuses, status_of(p->view->items[i].row));
    }
}
