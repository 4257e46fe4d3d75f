/* Tables of numbers in text. */
#include "calibrax/array/io/csv.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/arena.h"
#include "calibrax/base/list.h"
#include "calibrax/base/text.h"

enum { MAX_COLUMNS = 1 << 16 };

/* What a column's cells were so far; the dtype is that of the highest. */
typedef enum cell_kind { CELL_BOOL, CELL_INT, CELL_REAL } cell_kind;

typedef struct reader {
    const char *what, *at, *end;
    char separator;
    size_t line;
    cbx_text cell; /* the cell without its quotes */
    cbx_err *err;
} reader;

/* Reads a cell and steps behind it; *last: the line ends with it.  False: a quote that does not end. */
static bool next_cell(reader *r, bool *last)
{
    const char *start = r->at, *end;

    cbx_text_reset(&r->cell);
    while (start < r->end && (*start == ' ' || (*start == '\t' && r->separator != '\t'))) start++;
    if (start < r->end && *start == '"') {
        for (start++;; start++) {
            const char *quote = memchr(start, '"', (size_t)(r->end - start));
            if (!quote) return false;
            cbx_text_add(&r->cell, start, (size_t)(quote - start));
            start = quote + 1;
            if (start == r->end || *start != '"') break;
            cbx_text_putc(&r->cell, '"');
        }
        for (end = start; end < r->end && *end != r->separator && *end != '\n';) end++;
    } else {
        for (end = start; end < r->end && *end != r->separator && *end != '\n';) end++;
        const char *stop = end;
        while (stop > start && isspace((unsigned char)stop[-1])) stop--;
        cbx_text_add(&r->cell, start, (size_t)(stop - start));
    }
    *last = end == r->end || *end == '\n';
    r->at = end < r->end ? end + 1 : end;
    return true;
}

/* The number in a cell; false: it is not a number. */
static bool number(const char *s, double *out, cell_kind *kind)
{
    char *end;

    *kind = CELL_REAL;
    *out = NAN;
    if (!*s) return true;
    if (!strcasecmp(s, "true") || !strcasecmp(s, "false")) {
        *kind = CELL_BOOL;
        *out = tolower((unsigned char)*s) == 't';
        return true;
    }
    if (strspn(s, "+-0123456789.eE") != strlen(s) && strspn(s, "+-infatyINFATY") != strlen(s)) return false;
    *out = strtod(s, &end);
    if (*end) return false;
    if (strspn(s, "+-0123456789") == strlen(s) && fabs(*out) < 0x1p53) *kind = CELL_INT;
    return true;
}

/* ---- the first line ---- */

typedef struct table {
    cbx_arena *arena;
    const char **names; /* of the header; NULL: there is no header */
    size_t columns;
    cell_kind *kinds;
    CBX_LIST(double) values; /* row by row */
} table;

static char separator_of(const char *text, const char *end)
{
    const char *line_end = memchr(text, '\n', (size_t)(end - text));
    const size_t n = (size_t)((line_end ? line_end : end) - text);

    if (memchr(text, ',', n)) return ',';
    return memchr(text, '\t', n) ? '\t' : ';';
}

/* Counts the columns of the first line, and takes its cells as names if one of them is not a number. */
static cbx_status read_header(reader *r, table *t)
{
    const char *start = r->at;
    bool header = false, last = false;
    CBX_LIST(const char *) names = { 0 };
    cbx_allocator al = cbx_arena_allocator(t->arena);

    while (!last) {
        cell_kind kind;
        double v;
        if (!next_cell(r, &last))
            return cbx_fail(r->err, CBX_EFORMAT, "%s:%zu: a quote does not end", r->what, r->line);
        if (names.n == MAX_COLUMNS)
            return cbx_fail(r->err, CBX_EFORMAT, "%s: more than %d columns", r->what, (int)MAX_COLUMNS);
        header |= !number(cbx_text_str(&r->cell), &v, &kind);
        if (!cbx_list_push(&al, &names, cbx_arena_strdup(t->arena, cbx_text_str(&r->cell))) ||
            !names.items[names.n - 1])
            return cbx_fail_nomem(r->err, "the header of a table");
    }
    t->columns = names.n;
    t->names = header ? names.items : NULL;
    t->kinds = cbx_arena_calloc(t->arena, names.n, sizeof *t->kinds);
    if (!t->kinds) return cbx_fail_nomem(r->err, "a table");
    if (header)
        r->line++;
    else
        r->at = start;
    return CBX_OK;
}

static cbx_status read_rows(reader *r, table *t)
{
    cbx_allocator al = cbx_arena_allocator(t->arena);

    for (; r->at < r->end; r->line++) {
        size_t n = 0;
        bool last = false;
        if (*r->at == '\n' || (*r->at == '\r' && r->at + 1 < r->end && r->at[1] == '\n')) {
            r->at += 1 + (*r->at == '\r');
            continue;
        }
        for (; !last; n++) {
            cell_kind kind;
            double v;
            if (!next_cell(r, &last))
                return cbx_fail(r->err, CBX_EFORMAT, "%s:%zu: a quote does not end", r->what, r->line);
            if (n == t->columns)
                return cbx_fail(r->err, CBX_EFORMAT, "%s:%zu: the row has more cells than the first line, %zu", r->what,
                                r->line, t->columns);
            if (!number(cbx_text_str(&r->cell), &v, &kind))
                return cbx_fail(r->err, CBX_EFORMAT, "%s:%zu: '%.40s' is not a number", r->what, r->line,
                                cbx_text_str(&r->cell));
            if (kind > t->kinds[n]) t->kinds[n] = kind;
            if (!cbx_list_push(&al, &t->values, v)) return cbx_fail_nomem(r->err, "a table");
        }
        if (n != t->columns)
            return cbx_fail(r->err, CBX_EFORMAT, "%s:%zu: the row has %zu cells, the first line %zu", r->what, r->line,
                            n, t->columns);
    }
    if (t->values.n == 0) return cbx_fail(r->err, CBX_EFORMAT, "%s: there are no rows of numbers", r->what);
    return CBX_OK;
}

/* ---- columns as arrays ---- */

static cbx_status find_column(const table *t, const char *what, const char *column, size_t *out, cbx_err *err)
{
    char *end;
    unsigned long number;
    const char *near;

    for (size_t i = 0; t->names && i < t->columns; i++)
        if (strcmp(t->names[i], column) == 0) {
            *out = i;
            return CBX_OK;
        }
    number = strtoul(column, &end, 10);
    if (isdigit((unsigned char)*column) && !*end && number >= 1 && number <= t->columns) {
        *out = number - 1;
        return CBX_OK;
    }
    near = t->names ? cbx_nearest_word(column, t->names, t->columns) : NULL;
    return cbx_fail(err, CBX_ENOENT,
                    near ? "%s: there is no column '%s': did you mean '%s'?" : "%s: there is no column '%s'", what,
                    column, near);
}

static cbx_status make_array(cbx_ctx *ctx, const table *t, size_t first, size_t n, cbx_array **out, cbx_err *err)
{
    const size_t rows = t->values.n / t->columns;
    static const cbx_dtype dtypes[] = { [CELL_BOOL] = CBX_BOOL, [CELL_INT] = CBX_I64, [CELL_REAL] = CBX_F64 };
    cbx_array_desc d = { .ndim = n > 1 ? 2 : 1, .shape = { rows, n } };
    cell_kind kind = CELL_BOOL;
    cbx_status st;

    for (size_t k = first; k < first + n; k++)
        if (t->kinds[k] > kind) kind = t->kinds[k];
    d.dtype = dtypes[kind];
    st = cbx_array_create(ctx, &d, out, err);
    if (st) return st;
    for (size_t i = 0; i < rows * n; i++) {
        const double v = t->values.items[i / n * t->columns + first + i % n];
        void *to = cbx_array_data_mut(*out);
        if (d.dtype == CBX_F64) ((double *)to)[i] = v;
        if (d.dtype == CBX_I64) ((int64_t *)to)[i] = (int64_t)v;
        if (d.dtype == CBX_BOOL) ((unsigned char *)to)[i] = v != 0;
    }
    return CBX_OK;
}

cbx_status cbx_csv_decode(cbx_ctx *ctx, const char *text, size_t len, const char *what, const char *column,
                          cbx_array **out, cbx_err *err)
{
    reader r = { .what = what, .at = text, .end = text + len, .line = 1, .err = err };
    cbx_arena arena;
    table t = { .arena = &arena };
    size_t first = 0;
    cbx_status st;

    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) r.at += 3;
    r.separator = separator_of(r.at, r.end);
    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    cbx_text_init(&r.cell, cbx_ctx_allocator(ctx));
    st = read_header(&r, &t);
    if (!st) st = read_rows(&r, &t);
    if (!st) st = cbx_text_check(&r.cell, err);
    if (!st && column) st = find_column(&t, what, column, &first, err);
    if (!st) st = make_array(ctx, &t, first, column ? 1 : t.columns, out, err);
    cbx_text_clear(&r.cell);
    cbx_arena_clear(&arena);
    return st;
}
