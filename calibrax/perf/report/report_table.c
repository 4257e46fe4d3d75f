/*
 * The table for a terminal: a line for each point, its rows below it, columns fitted to the width.
 *
 * Columns that no row fills are left out.  A table that is still too wide loses what the list
 * `sacrifices` has, in its order; the name and the time stay.  Everything written is ASCII, but for
 * names, which are shown as they are.
 */
#include <string.h>

#include "calibrax/perf/report/view.h"

typedef struct table {
    const cbx__report_view *view;
    cbx_arena *arena;
    cbx_text *out, scratch;
    size_t max_width;   /* 0: no limit */
    const char **cells; /* [item][brief][column] */
    bool shown[CBX__COLUMN_COUNT], is_brief[CBX__COLUMN_COUNT];
    size_t width[CBX__COLUMN_COUNT], last; /* last: column that is shown */
} table;

/* Columns of a terminal that a UTF-8 string takes, one for each code point. */
static size_t columns_of(const char *s)
{
    size_t n = 0;
    for (; *s; s++) n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

static const char *cell_of(const table *t, const cbx__report_item *it, size_t column)
{
    return t->cells[(2 * (size_t)(it - t->view->items) + t->is_brief[column]) * CBX__COLUMN_COUNT + column];
}

static size_t title_width(size_t column, bool brief)
{
    const char *title = cbx__report_columns[column].title;
    return brief ? strcspn(title, " ") : strlen(title);
}

#define GAP 2

/* Widths of the columns that are shown, and of the table. */
static size_t measure(table *t)
{
    size_t sum = 0;

    for (size_t c = 0; c < CBX__COLUMN_COUNT; c++) {
        t->width[c] = title_width(c, t->is_brief[c]);
        for (const cbx__report_item *it = t->view->items; it < t->view->items + t->view->nitems; it++) {
            const cbx_row *row = it->row;
            size_t w = columns_of(cell_of(t, it, c));
            bool counts = row->has_metrics || (c == CBX__COLUMN_BASELINE && !cbx__report_is_left_out(row));
            if (counts && w > t->width[c]) t->width[c] = w;
        }
        if (!t->shown[c]) continue;
        sum += t->width[c] + GAP;
        t->last = c;
    }
    return sum ? sum - GAP : 0;
}

/* What a narrow terminal loses, in order: a column, its longer form, or a column that has nothing
 * but ok. */
static const struct {
    cbx__report_column_id column;
    enum { DROP, SHORTEN, DROP_IF_ALL_OK } kind;
} sacrifices[] = {
    { CBX__COLUMN_GBYTE, DROP },     { CBX__COLUMN_GFLOP, DROP },       { CBX__COLUMN_P99, DROP },
    { CBX__COLUMN_FINDS, DROP },     { CBX__COLUMN_COMPILE, SHORTEN },  { CBX__COLUMN_MIN, DROP },
    { CBX__COLUMN_MEMORY, SHORTEN }, { CBX__COLUMN_FIDELITY, SHORTEN }, { CBX__COLUMN_STATUS, DROP_IF_ALL_OK },
    { CBX__COLUMN_COMPILE, DROP },   { CBX__COLUMN_GMAC, DROP },        { CBX__COLUMN_MEMORY, DROP },
    { CBX__COLUMN_FIDELITY, DROP },  { CBX__COLUMN_ROOFLINE, DROP },    { CBX__COLUMN_RATIO, SHORTEN },
    { CBX__COLUMN_TIME, SHORTEN },   { CBX__COLUMN_STATUS, DROP },      { CBX__COLUMN_RATIO, DROP },
};

static bool fill(table *t)
{
    size_t n = t->view->nitems * 2 * CBX__COLUMN_COUNT;

    t->cells = cbx_arena_calloc(t->arena, n + 1, sizeof *t->cells);
    for (size_t k = 0; t->cells && k < n; k++) {
        const cbx__report_column *column = &cbx__report_columns[k % CBX__COLUMN_COUNT];
        bool brief = k / CBX__COLUMN_COUNT % 2 && column->put_brief;
        cbx_text_reset(&t->scratch);
        (brief ? column->put_brief : column->put)(&t->scratch, &t->view->items[k / CBX__COLUMN_COUNT / 2], t->arena,
                                                  &cbx__report_ascii);
        t->cells[k] = cbx_arena_strdup(t->arena, cbx_text_str(&t->scratch));
        if (!t->cells[k]) return false;
    }
    return t->cells && t->scratch.status == CBX_OK;
}

/* A cell of n bytes; the last one of a line is not padded. */
static void put_cell(table *t, const char *s, size_t n, size_t column, bool last)
{
    size_t w = columns_of(s) - columns_of(s + n), pad = t->width[column] > w ? t->width[column] - w : 0;
    bool right = cbx__report_columns[column].number && column != CBX__COLUMN_RATIO;

    cbx_text_printf(t->out, "%*s", right ? (int)pad : 0, "");
    cbx_text_add(t->out, s, n);
    if (!last) cbx_text_printf(t->out, "%*s", (right ? 0 : (int)pad) + GAP, "");
}

/* A line, cut at the width. */
static void put_line(table *t, const char *s, size_t width)
{
    size_t n = 0, used = 0;

    for (; s[n]; n++) {
        used += ((unsigned char)s[n] & 0xc0) != 0x80;
        if (t->max_width && used > width) break;
    }
    cbx_text_add(t->out, s, n);
    cbx_text_putc(t->out, '\n');
}

static void put_group(table *t, const cbx__report_group *g)
{
    size_t n = 0;
    const cbx__report_left_out *l = cbx__report_left_outs(t->arena, g->items, g->count, &n);

    cbx_text_reset(&t->scratch);
    if (t->view->ncases > 1) {
        cbx__report_put_public(&t->scratch, t->view->cases[g->case_index], 60);
        cbx_text_puts(&t->scratch, "  ");
    }
    cbx__report_put_public(&t->scratch, cbx__report_where(t->arena, t->view, g), 120);
    put_line(t, cbx_text_str(&t->scratch), t->max_width);
    for (const cbx__report_item *it = g->items; it < g->items + g->count; it++) {
        const cbx_row *r = it->row;
        if (cbx__report_is_left_out(r)) continue;
        for (size_t c = 0; c < CBX__COLUMN_COUNT; c++)
            if (r->has_metrics ? t->shown[c] : c == CBX__COLUMN_BASELINE)
                put_cell(t, cell_of(t, it, c), strlen(cell_of(t, it, c)), c, r->has_metrics && c == t->last);
        if (r->has_metrics) {
            cbx_text_putc(t->out, '\n');
            continue;
        }
        /* A row without numbers: its name, its status, and why: the message and the remedy, or,
         * where that is too long, the reason and the remedy. */
        const char *message = r->failure_message ? r->failure_message : r->failure_reason;
        size_t used = t->width[CBX__COLUMN_BASELINE] + GAP, left = t->max_width > used ? t->max_width - used : 0;
        for (int attempt = 0; attempt < 2; attempt++) {
            cbx_text_reset(&t->scratch);
            cbx_text_puts(&t->scratch, cell_of(t, it, CBX__COLUMN_STATUS));
            if (message || r->failure_remedy) cbx_text_puts(&t->scratch, ": ");
            cbx__report_put_reason(&t->scratch, attempt ? r->failure_reason : NULL, attempt ? NULL : message,
                                   r->failure_remedy);
            if (!t->max_width || columns_of(cbx_text_str(&t->scratch)) <= left) break;
        }
        put_line(t, cbx_text_str(&t->scratch), left);
    }
    for (size_t i = 0; i < n; i++) {
        cbx_text_reset(&t->scratch);
        cbx__report_put_left_out(&t->scratch, &l[i]);
        put_line(t, cbx_text_str(&t->scratch), t->max_width);
    }
}

void cbx_report_table(const cbx_rows *rows, size_t width, cbx_text *out)
{
    cbx__report_view view;
    table t = { .view = &view, .arena = &view.arena, .out = out, .max_width = width };

    if (!cbx__report_view_open(rows, &view, out)) return;
    cbx_text_init(&t.scratch, &view.arena.al);
    if (fill(&t)) {
        bool all_ok = true, variants = false, disagree = false;
        size_t launches, ratios;
        for (const cbx__report_item *it = view.items; it < view.items + view.nitems; it++) {
            all_ok = all_ok && (!it->row->has_metrics || it->class == CBX__REPORT_GOOD);
            variants = variants || (it->siblings && it->quoted);
            disagree = disagree || cbx__report_minimum_disagrees(it->row);
        }
        for (size_t c = 0; c < CBX__COLUMN_COUNT; c++)
            t.shown[c] = cbx__report_column_is_used(&view, SIZE_MAX, (cbx__report_column_id)c, t.arena);
        for (size_t i = 0; measure(&t) > t.max_width && t.max_width && i < CBX_LEN(sacrifices); i++) {
            if (sacrifices[i].kind == SHORTEN)
                t.is_brief[sacrifices[i].column] = true;
            else if (sacrifices[i].kind == DROP || all_ok)
                t.shown[sacrifices[i].column] = false;
        }
        if (!view.nitems) cbx_text_puts(out, "no rows\n");
        for (size_t c = 0; view.nitems && c < CBX__COLUMN_COUNT; c++)
            if (t.shown[c]) put_cell(&t, cbx__report_columns[c].title, title_width(c, t.is_brief[c]), c, c == t.last);
        if (view.nitems) cbx_text_putc(out, '\n');
        for (size_t g = 0; g < view.ngroups; g++) put_group(&t, &view.groups[g]);
        if (variants) cbx_text_puts(t.out, "* strongest variant, used for ratios\n");
        if (disagree) cbx_text_puts(t.out, "! the ratio of minima differs\n");
        if (cbx__report_uncorrected(&view, &launches, &ratios))
            cbx_text_printf(t.out, "each row at 95%%: %zu launches are too few for a correction over %zu rows\n",
                            launches, ratios);
        if (cbx__report_put_repeats(t.out, t.arena, &view)) cbx_text_putc(t.out, '\n');
    }
    cbx_text_clear(&t.scratch);
    cbx__report_view_close(&view, out);
}
