/*
 * The table for a terminal: a line for each point, its rows below it, columns fitted to the width.
 *
 * When the table is too wide it gives up, one after the other, what the list `sacrifices` says; the name and the time
 * stay. Everything written is ASCII, but for names, which are shown as they are.
 */
#include <string.h>

#include "calibrax/perf/report/format.h"

typedef struct table {
    const cbx__report_view *view;
    const char **cells; /* [item][column] */
    const char **brief;
    bool shown[CBX__COLUMN_COUNT], is_brief[CBX__COLUMN_COUNT];
    size_t width[CBX__COLUMN_COUNT];
} table;

/* Columns of a terminal a UTF-8 string takes, one for each code point. */
static size_t columns_of(const char *s)
{
    size_t n = 0;
    for (; *s; s++) n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

static bool is_measured(const cbx__report_item *it) { return it->row->has_metrics; }

static const char *cell_of(const table *t, size_t item, size_t column)
{
    return (t->is_brief[column] ? t->brief : t->cells)[item * CBX__COLUMN_COUNT + column];
}

static size_t title_width(size_t column, bool brief)
{
    const char *title = cbx__report_columns[column].title;
    return brief ? strcspn(title, " ") : strlen(title);
}

static void measure(table *t)
{
    for (size_t c = 0; c < CBX__COLUMN_COUNT; c++) {
        t->width[c] = title_width(c, t->is_brief[c]);
        for (size_t i = 0; i < t->view->nitems; i++) {
            size_t w = columns_of(cell_of(t, i, c));
            bool counts = (c == CBX__COLUMN_BASELINE && !cbx__report_is_left_out(t->view->items[i].row)) ||
                          is_measured(&t->view->items[i]);
            if (counts && w > t->width[c]) t->width[c] = w;
        }
    }
}

#define GAP 2

static size_t total_width(const table *t)
{
    size_t w = 0;
    for (size_t c = 0; c < CBX__COLUMN_COUNT; c++)
        if (t->shown[c]) w += t->width[c] + GAP;
    return w ? w - GAP : 0;
}

/* What a narrow terminal gives up, in order: a column, only its longer form, or a column that says nothing but ok. */
typedef enum sacrifice_kind { DROP, SHORTEN, DROP_IF_ALL_OK } sacrifice_kind;

static const struct {
    cbx__report_column_id column;
    sacrifice_kind kind;
} sacrifices[] = {
    { CBX__COLUMN_GBYTE, DROP },     { CBX__COLUMN_GFLOP, DROP },       { CBX__COLUMN_P99, DROP },
    { CBX__COLUMN_FINDS, DROP },     { CBX__COLUMN_COMPILE, SHORTEN },  { CBX__COLUMN_MIN, DROP },
    { CBX__COLUMN_MEMORY, SHORTEN }, { CBX__COLUMN_FIDELITY, SHORTEN }, { CBX__COLUMN_STATUS, DROP_IF_ALL_OK },
    { CBX__COLUMN_COMPILE, DROP },   { CBX__COLUMN_GMAC, DROP },        { CBX__COLUMN_MEMORY, DROP },
    { CBX__COLUMN_FIDELITY, DROP },  { CBX__COLUMN_ROOFLINE, DROP },    { CBX__COLUMN_RATIO, SHORTEN },
    { CBX__COLUMN_TIME, SHORTEN },   { CBX__COLUMN_STATUS, DROP },      { CBX__COLUMN_RATIO, DROP },
};

static bool all_measured_are_good(const cbx__report_view *v)
{
    for (size_t i = 0; i < v->nitems; i++)
        if (is_measured(&v->items[i]) && v->items[i].class != CBX__REPORT_GOOD) return false;
    return true;
}

static void fit(table *t, size_t width)
{
    for (size_t c = 0; c < CBX__COLUMN_COUNT; c++) t->shown[c] = true;
    measure(t);
    for (size_t i = 0; width && i < CBX_LEN(sacrifices) && total_width(t) > width; i++) {
        if (sacrifices[i].kind == SHORTEN)
            t->is_brief[sacrifices[i].column] = true;
        else if (sacrifices[i].kind == DROP || all_measured_are_good(t->view))
            t->shown[sacrifices[i].column] = false;
        measure(t);
    }
}

static const char *make_cell(cbx_arena *arena, cbx_text *scratch, const cbx__report_item *it,
                             const cbx__report_column *column, bool brief)
{
    cbx_text_reset(scratch);
    if (brief && column->put_brief)
        column->put_brief(scratch, it, arena, &cbx__report_ascii);
    else
        column->put(scratch, it, arena, &cbx__report_ascii);
    return cbx_arena_strdup(arena, cbx_text_str(scratch));
}

static bool fill(table *t, cbx_arena *arena, cbx_text *scratch)
{
    size_t n = t->view->nitems * CBX__COLUMN_COUNT;
    t->cells = cbx_arena_calloc(arena, n + 1, sizeof *t->cells);
    t->brief = cbx_arena_calloc(arena, n + 1, sizeof *t->brief);
    if (!t->cells || !t->brief) return false;
    for (size_t k = 0; k < n; k++) {
        const cbx__report_item *it = &t->view->items[k / CBX__COLUMN_COUNT];
        const cbx__report_column *column = &cbx__report_columns[k % CBX__COLUMN_COUNT];
        t->cells[k] = make_cell(arena, scratch, it, column, false);
        t->brief[k] = make_cell(arena, scratch, it, column, true);
        if (!t->cells[k] || !t->brief[k]) return false;
    }
    return scratch->status == CBX_OK;
}

static void pad(cbx_text *out, size_t n)
{
    for (size_t i = 0; i < n; i++) cbx_text_putc(out, ' ');
}

/* Cell of a line; the last one of a line is not padded. */
static void put_cell(cbx_text *out, const char *s, size_t width, bool right, bool last)
{
    size_t w = columns_of(s), room = width > w ? width - w : 0;
    if (right) pad(out, room);
    cbx_text_puts(out, s);
    if (!right && !last) pad(out, room);
    if (!last) pad(out, GAP);
}

static size_t last_shown(const table *t)
{
    size_t last = 0;
    for (size_t c = 0; c < CBX__COLUMN_COUNT; c++)
        if (t->shown[c]) last = c;
    return last;
}

static void put_titles(const table *t, cbx_text *out)
{
    char title[32];
    for (size_t c = 0; c < CBX__COLUMN_COUNT; c++) {
        if (!t->shown[c]) continue;
        memset(title, 0, sizeof title);
        memcpy(title, cbx__report_columns[c].title, title_width(c, t->is_brief[c]));
        put_cell(out, title, t->width[c], cbx__report_columns[c].number && c != CBX__COLUMN_RATIO, c == last_shown(t));
    }
    cbx_text_putc(out, '\n');
}

/* Bytes of s that take at most so many columns of the terminal. */
static size_t bytes_that_fit(const char *s, size_t columns)
{
    size_t n = 0, used = 0;
    for (; s[n]; n++) {
        used += ((unsigned char)s[n] & 0xc0) != 0x80;
        if (used > columns) break;
    }
    return n;
}

/* A row without numbers: its name, its status, and why: the message and the remedy, or, where that is too long, the
 * reason word and the remedy. */
static void put_unmeasured(const table *t, size_t item, size_t width, cbx_text *out, cbx_text *scratch)
{
    const cbx_row *r = t->view->items[item].row;
    size_t used = t->width[CBX__COLUMN_BASELINE] + GAP, room = !width ? SIZE_MAX : width > used ? width - used : 0;
    const char *message = r->failure_message ? r->failure_message : r->failure_reason;
    put_cell(out, cell_of(t, item, CBX__COLUMN_BASELINE), t->width[CBX__COLUMN_BASELINE], false, false);
    for (int attempt = 0; attempt < 2; attempt++) {
        cbx_text_reset(scratch);
        cbx_text_puts(scratch, cell_of(t, item, CBX__COLUMN_STATUS));
        if (message || r->failure_remedy) cbx_text_puts(scratch, ": ");
        cbx__report_put_reason(scratch, attempt ? r->failure_reason : NULL, attempt ? NULL : message,
                               r->failure_remedy);
        if (columns_of(cbx_text_str(scratch)) <= room) break;
    }
    cbx_text_add(out, cbx_text_str(scratch), bytes_that_fit(cbx_text_str(scratch), room));
    cbx_text_putc(out, '\n');
}

static void put_measured(const table *t, size_t item, cbx_text *out)
{
    for (size_t c = 0; c < CBX__COLUMN_COUNT; c++)
        if (t->shown[c])
            put_cell(out, cell_of(t, item, c), t->width[c], cbx__report_columns[c].number && c != CBX__COLUMN_RATIO,
                     c == last_shown(t));
    cbx_text_putc(out, '\n');
}

static void put_heading(const table *t, const cbx__report_group *g, cbx_arena *arena, size_t width, cbx_text *out)
{
    cbx_text line;
    cbx_text_init(&line, &arena->al);
    if (t->view->ncases > 1) {
        cbx__report_put_public(&line, t->view->cases[g->case_index], 60);
        cbx_text_puts(&line, "  ");
    }
    cbx__report_put_public(&line, cbx__report_where(arena, t->view, g), 120);
    cbx_text_add(out, cbx_text_str(&line), width ? bytes_that_fit(cbx_text_str(&line), width) : line.len);
    cbx_text_putc(out, '\n');
    cbx_text_clear(&line);
}

/* One line for all baselines that somebody chose to leave out. */
static void put_left_out(const table *t, const cbx__report_group *g, cbx_arena *arena, size_t width, cbx_text *out,
                         cbx_text *scratch)
{
    size_t n = 0;
    const cbx__report_left_out *l = cbx__report_left_outs(arena, t->view, g->first, g->count, &n);
    for (size_t i = 0; i < n; i++) {
        cbx_text_reset(scratch);
        cbx__report_put_left_out(scratch, &l[i]);
        cbx_text_add(out, cbx_text_str(scratch), width ? bytes_that_fit(cbx_text_str(scratch), width) : scratch->len);
        cbx_text_putc(out, '\n');
    }
}

static void put_legend(const cbx__report_view *v, cbx_arena *arena, cbx_text *out)
{
    bool variants = false, disagree = false;
    size_t launches, rows;
    for (size_t i = 0; i < v->nitems; i++) {
        variants = variants || (v->items[i].siblings && v->items[i].quoted);
        disagree = disagree || cbx__report_minimum_disagrees(v->items[i].row);
    }
    if (variants) cbx_text_puts(out, "* strongest variant, quoted in ratios\n");
    if (disagree) cbx_text_puts(out, "! the ratio of minima says otherwise\n");
    if (cbx__report_uncorrected(v, &launches, &rows))
        cbx_text_printf(out, "each row at 95%%: %zu launches cannot carry a correction over %zu rows\n", launches,
                        rows);
    if (cbx__report_put_repeats(out, arena, v)) cbx_text_putc(out, '\n');
}

void cbx_report_table(const cbx_rows *rows, size_t width, cbx_text *out)
{
    cbx__report_view view;
    table t = { .view = &view };
    cbx_text scratch;
    if (!cbx__report_view_open(rows, &view, out)) return;
    cbx_text_init(&scratch, &view.arena.al);
    if (!fill(&t, &view.arena, &scratch)) goto done;
    fit(&t, width);
    if (!view.nitems)
        cbx_text_puts(out, "no rows\n");
    else
        put_titles(&t, out);
    for (size_t g = 0; g < view.ngroups; g++) {
        put_heading(&t, &view.groups[g], &view.arena, width, out);
        for (size_t i = view.groups[g].first; i < view.groups[g].first + view.groups[g].count; i++) {
            if (cbx__report_is_left_out(view.items[i].row)) continue;
            if (is_measured(&view.items[i]))
                put_measured(&t, i, out);
            else
                put_unmeasured(&t, i, width, out, &scratch);
        }
        put_left_out(&t, &view.groups[g], &view.arena, width, out, &scratch);
    }
    put_legend(&view, &view.arena, out);
done:
    cbx_text_clear(&scratch);
    cbx__report_view_close(&view, out);
}
