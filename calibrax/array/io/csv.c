/* Tables of numbers in text. */
#include "calibrax/array/io/csv.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/arena.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/list.h"
#include "calibrax/base/text.h"

enum { MAX_COLUMNS = 1 << 16 };

/* What a column's cells were so far; the dtype is that of the highest.  LONG: an integer that
 * float64 does not hold; HUGE: one that int64 does not hold. */
typedef enum cell_kind { CELL_BOOL, CELL_INT, CELL_LONG, CELL_HUGE, CELL_REAL } cell_kind;

typedef union cell_value {
    double real; /* of all but LONG */
    int64_t integer;
} cell_value;

typedef struct reader {
    const char *what, *at, *end;
    char separator;
    size_t line;
    cbx_text cell; /* the cell without its quotes */
    cbx_err *err;
} reader;

/* Reads a cell and steps behind it; *last: the line ends with it. */
static cbx_status next_cell(reader *r, bool *last)
{
    const char *start = r->at, *end;

    cbx_text_reset(&r->cell);
    while (start < r->end && (*start == ' ' || (*start == '\t' && r->separator != '\t'))) start++;
    if (start < r->end && *start == '"') {
        for (start++;; start++) {
            const char *quote = memchr(start, '"', (size_t)(r->end - start));
            if (!quote) return cbx_fail(r->err, CBX_EFORMAT, "%s:%zu: a quote does not end", r->what, r->line);
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
    return CBX_OK;
}

/* The number in a cell; false: it is not a number. */
static bool number(const char *s, cell_value *out, cell_kind *kind)
{
    char *end;

    *kind = CELL_REAL;
    out->real = NAN;
    if (!*s) return true;
    if (!strcasecmp(s, "true") || !strcasecmp(s, "false")) {
        *kind = CELL_BOOL;
        out->real = tolower((unsigned char)*s) == 't';
        return true;
    }
    if (strspn(s, "+-0123456789.eE") != strlen(s) && strspn(s, "+-infatyINFATY") != strlen(s)) return false;
    out->real = strtod(s, &end);
    if (*end) return false;
    if (strspn(s, "+-0123456789") != strlen(s)) return true;
    *kind = CELL_INT;
    if (fabs(out->real) < 0x1p53) return true;
    errno = 0;
    const int64_t integer = strtoll(s, &end, 10);
    *kind = errno ? CELL_HUGE : CELL_LONG;
    if (!errno) out->integer = integer;
    return true;
}

/* ---- the first line ---- */

typedef struct table {
    cbx_arena *arena;
    const char **names; /* of the header; NULL: there is no header */
    size_t columns;
    size_t first, count; /* of the columns that are read: cells of others may be anything */
    cell_kind *kinds;
    size_t rows;
    CBX_LIST(cell_value) values; /* row by row */
    CBX_LIST(size_t) longs;      /* places of LONG among them */
    bool as_text;                /* words in place of values */
    CBX_LIST(const char *) words;
} table;

static char separator_of(const char *text, const char *end)
{
    const char *line_end = memchr(text, '\n', (size_t)(end - text));
    const size_t n = (size_t)((line_end ? line_end : end) - text);

    if (memchr(text, ',', n)) return ',';
    return memchr(text, '\t', n) ? '\t' : ';';
}

/* Counts the columns of the first line, and takes its cells as names if one of them is not
 * a number. */
static cbx_status read_header(reader *r, table *t)
{
    const char *start = r->at;
    bool header = false, last = false;
    CBX_LIST(const char *) names = { 0 };
    cbx_allocator al = cbx_arena_allocator(t->arena);

    while (!last) {
        cell_kind kind;
        cell_value v;
        const cbx_status st = next_cell(r, &last);
        if (st) return st;
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

/* Adds a cell of column n, which is read. */
static cbx_status add_cell(reader *r, table *t, size_t n)
{
    cbx_allocator al = cbx_arena_allocator(t->arena);
    const char *text = cbx_text_str(&r->cell);
    cell_kind kind;
    cell_value v;

    if (t->as_text)
        return (text = cbx_arena_strdup(t->arena, text)) && cbx_list_push(&al, &t->words, text)
                   ? CBX_OK
                   : cbx_fail_nomem(r->err, "a column of text");
    if (!number(text, &v, &kind))
        return cbx_fail(r->err, CBX_EFORMAT, "%s:%zu: '%.40s' is not a number%s", r->what, r->line, text,
                        t->count > 1 ? ": read one column of numbers" : "");
    if (kind > t->kinds[n]) t->kinds[n] = kind;
    if (kind == CELL_LONG && !cbx_list_push(&al, &t->longs, t->values.n)) return cbx_fail_nomem(r->err, "a table");
    return cbx_list_push(&al, &t->values, v) ? CBX_OK : cbx_fail_nomem(r->err, "a table");
}

static cbx_status read_rows(reader *r, table *t)
{
    for (; r->at < r->end; r->line++) {
        size_t n = 0;
        bool last = false;
        if (*r->at == '\n' || (*r->at == '\r' && r->at + 1 < r->end && r->at[1] == '\n')) {
            r->at += 1 + (*r->at == '\r');
            continue;
        }
        for (; !last; n++) {
            cbx_status st = next_cell(r, &last);
            if (st) return st;
            if (n == t->columns)
                return cbx_fail(r->err, CBX_EFORMAT, "%s:%zu: the row has more cells than the first line, %zu", r->what,
                                r->line, t->columns);
            if (n >= t->first && n < t->first + t->count) st = add_cell(r, t, n);
            if (st) return st;
        }
        if (n != t->columns)
            return cbx_fail(r->err, CBX_EFORMAT, "%s:%zu: the row has %zu cells, the first line %zu", r->what, r->line,
                            n, t->columns);
        t->rows++;
    }
    if (t->rows == 0) return cbx_fail(r->err, CBX_EFORMAT, "%s: there are no rows", r->what);
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

/* The kind in which columns meet; integers that it does not hold are refused. */
static cbx_status common_kind(const table *t, const char *what, cell_kind *out, cbx_err *err)
{
    *out = CELL_BOOL;
    for (size_t k = 0; k < t->columns; k++)
        if (t->kinds[k] > *out) *out = t->kinds[k];
    for (size_t k = 0; k < t->columns; k++) {
        if (t->kinds[k] == CELL_HUGE)
            return cbx_fail(err, CBX_EFORMAT,
                            "%s: column %zu has integers that 64 bits do not hold: write them as "
                            "reals, such as 1e20",
                            what, k + 1);
        if (t->kinds[k] == CELL_LONG && *out == CELL_REAL)
            return cbx_fail(err, CBX_EFORMAT,
                            "%s: column %zu has integers beyond 2^53, which float64 does not hold, and "
                            "other columns are real: read one column",
                            what, k + 1);
    }
    return CBX_OK;
}

static cbx_status make_array(cbx_ctx *ctx, const table *t, const char *what, cbx_array **out, cbx_err *err)
{
    static const cbx_dtype dtypes[] = {
        [CELL_BOOL] = CBX_BOOL, [CELL_INT] = CBX_I64, [CELL_LONG] = CBX_I64, [CELL_REAL] = CBX_F64
    };
    cbx_array_desc d = { .ndim = t->count > 1 ? 2 : 1, .shape = { t->rows, t->count } };
    size_t next = 0; /* of the LONG cells */
    cell_kind kind;
    cbx_status st = common_kind(t, what, &kind, err);

    if (st) return st;
    d.dtype = dtypes[kind];
    st = cbx_array_create(ctx, &d, out, err);
    if (st) return st;
    for (size_t i = 0; i < t->values.n; i++) {
        const cell_value v = t->values.items[i];
        const bool is_long = next < t->longs.n && t->longs.items[next] == i;
        void *to = cbx_array_data_mut(*out);
        next += is_long;
        if (d.dtype == CBX_F64) ((double *)to)[i] = is_long ? (double)v.integer : v.real;
        if (d.dtype == CBX_I64) ((int64_t *)to)[i] = is_long ? v.integer : (int64_t)v.real;
        if (d.dtype == CBX_BOOL) ((unsigned char *)to)[i] = v.real != 0;
    }
    return CBX_OK;
}

/* Reads a column, NULL: all, to a table whose memory is the arena's. */
static cbx_status read_table(cbx_ctx *ctx, const char *text, size_t len, const char *what, const char *column, table *t,
                             cbx_err *err)
{
    reader r = { .what = what, .at = text, .end = text + len, .line = 1, .err = err };
    cbx_status st;

    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) r.at += 3;
    r.separator = separator_of(r.at, r.end);
    cbx_text_init(&r.cell, cbx_ctx_allocator(ctx));
    st = read_header(&r, t);
    t->count = column ? 1 : t->columns;
    if (!st && column) st = find_column(t, what, column, &t->first, err);
    if (!st) st = read_rows(&r, t);
    if (!st) st = cbx_text_check(&r.cell, err);
    cbx_text_clear(&r.cell);
    return st;
}

cbx_status cbx_csv_decode(cbx_ctx *ctx, const char *text, size_t len, const char *what, const char *column,
                          cbx_array **out, cbx_err *err)
{
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    table t = { .arena = &arena };
    const cbx_status st = read_table(ctx, text, len, what, column, &t, err);

    return st ? st : make_array(ctx, &t, what, out, err);
}

cbx_status cbx_csv_words(cbx_ctx *ctx, const char *text, size_t len, const char *what, const char *column,
                         cbx_arena *arena, const char ***out, size_t *n, cbx_err *err)
{
    table t = { .arena = arena, .as_text = true };
    cbx_status st = read_table(ctx, text, len, what, column, &t, err);

    if (!st && t.count > 1)
        st = cbx_fail(err, CBX_EINVAL, "%s: name a column of its %zu, as in %s:1", what, t.columns, what);
    if (st) return st;
    *out = t.words.items;
    *n = t.words.n;
    return CBX_OK;
}
