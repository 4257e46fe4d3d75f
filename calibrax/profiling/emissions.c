/* emissions.csv: writing and reading follow the table of columns. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/ctx.h"
#include "calibrax/base/file_text.h"
#include "calibrax/base/idioms.h"
#include "calibrax/profiling/carbon.h"

#define MAX_CELLS 128

enum { COLUMN_TEXT, COLUMN_NUMBER };

typedef struct column {
    const char *name;
    int kind;
    size_t offset;
} column;

static const column columns[] = {
#define COLUMN_ROW(kind, name) { #name, COLUMN_##kind, offsetof(cbx_emissions, name) },
    CBX_EMISSIONS_MAP(COLUMN_ROW)
#undef COLUMN_ROW
};

static const char **text_of(const cbx_emissions *e, const column *c)
{
    return (const char **)((uintptr_t)e + c->offset);
}
static double *number_of(const cbx_emissions *e, const column *c) { return (double *)((uintptr_t)e + c->offset); }

cbx_emissions cbx_emissions_empty(void)
{
    cbx_emissions e = { 0 };
    for (size_t i = 0; i < CBX_LEN(columns); i++) {
        if (columns[i].kind == COLUMN_TEXT)
            *text_of(&e, &columns[i]) = NULL;
        else
            *number_of(&e, &columns[i]) = NAN;
    }
    return e;
}

/* --- writing --- */

static cbx_status put_cell(cbx_text *out, const column *c, const cbx_emissions *e, cbx_err *err)
{
    char number[CBX_FORMAT_SIZE] = "";
    const char *s = c->kind == COLUMN_NUMBER ? number : *text_of(e, c) ? *text_of(e, c) : "";

    if (s == number && !isnan(*number_of(e, c))) cbx_format_double(*number_of(e, c), number);
    for (const char *at = s; *at; at++)
        if ((unsigned char)*at < 0x20 && *at != '\n' && *at != '\t')
            return cbx_fail(err, CBX_EINVAL, "'%s' holds a control character: leave it out", c->name);
    if (!strpbrk(s, ",\"\n")) {
        cbx_text_puts(out, s);
        return CBX_OK;
    }
    cbx_text_putc(out, '"');
    for (; *s; s++) {
        if (*s == '"') cbx_text_putc(out, '"');
        cbx_text_putc(out, *s);
    }
    cbx_text_putc(out, '"');
    return CBX_OK;
}

cbx_status cbx_emissions_write(cbx_ctx *ctx, const char *path, const cbx_emissions *lines, size_t n, cbx_err *err)
{
    CBX_SCOPED(cbx_text, out, cbx_ctx_allocator(ctx));
    cbx_status st = CBX_OK;

    for (size_t c = 0; c < CBX_LEN(columns); c++) cbx_text_printf(&out, "%s%s", c ? "," : "", columns[c].name);
    cbx_text_putc(&out, '\n');
    for (size_t i = 0; i < n && !st; i++) {
        for (size_t c = 0; c < CBX_LEN(columns) && !st; c++) {
            if (c) cbx_text_putc(&out, ',');
            st = put_cell(&out, &columns[c], &lines[i], err);
        }
        cbx_text_putc(&out, '\n');
    }
    if (!st) st = cbx_text_check(&out, err);
    return st ? st : cbx_file_write_atomic(ctx, path, out.data, out.len, err);
}

/* --- reading --- */

typedef struct reader {
    const char *at, *end, *what;
    size_t line;
    cbx_arena *arena;
    char *cells[MAX_CELLS];
    size_t ncells;
} reader;

static cbx_status fail_at(const reader *r, cbx_err *err, const char *why)
{
    return cbx_fail(err, CBX_EFORMAT, "'%s' line %zu: %s", r->what, r->line, why);
}

/* One cell; *last: of its line. */
static cbx_status read_cell(reader *r, char **out, bool *last, cbx_err *err)
{
    const char *start = r->at;
    char *cell, *to;
    bool quoted = r->at < r->end && *r->at == '"';
    size_t lines = 0;

    if (quoted) {
        for (r->at++; r->at < r->end && !(*r->at == '"' && (r->at + 1 == r->end || r->at[1] != '"')); r->at++) {
            if (*r->at == '"') r->at++;
            lines += *r->at == '\n';
        }
        if (r->at >= r->end) return fail_at(r, err, "a quote has no end");
        r->at++;
    } else {
        while (r->at < r->end && *r->at != ',' && *r->at != '\n') r->at++;
    }
    cell = to = cbx_arena_strndup(r->arena, start, (size_t)(r->at - start));
    if (!cell) return cbx_fail_nomem(err, r->what);
    if (quoted) {
        char *from = cell + 1, *stop = cell + (r->at - start) - 1;
        for (; from < stop; from++) {
            if (*from == '"') from++;
            *to++ = *from;
        }
        *to = '\0';
        if (r->at < r->end && *r->at == '\r') r->at++;
    } else if (r->at > start && r->at[-1] == '\r' && (r->at == r->end || *r->at == '\n')) {
        cell[r->at - start - 1] = '\0';
    }
    r->line += lines;
    if (r->at < r->end && *r->at != ',' && *r->at != '\n') return fail_at(r, err, "text after a quoted cell");
    *last = r->at == r->end || *r->at == '\n';
    if (r->at < r->end) r->at++;
    *out = cell;
    return CBX_OK;
}

static cbx_status read_line(reader *r, cbx_err *err)
{
    cbx_status st = CBX_OK;
    bool last = false;

    r->line++;
    r->ncells = 0;
    while (!last && !st) {
        if (r->ncells == MAX_CELLS) return fail_at(r, err, "more than 128 cells");
        st = read_cell(r, &r->cells[r->ncells], &last, err);
        r->ncells += !st;
    }
    return st;
}

static cbx_status read_row(reader *r, const int which[MAX_CELLS], size_t n, cbx_emissions *e, cbx_err *err)
{
    cbx_status st = read_line(r, err);

    if (st) return st;
    if (r->ncells != n)
        return cbx_fail(err, CBX_EFORMAT, "'%s' line %zu: %zu cells, the header has %zu", r->what, r->line, r->ncells,
                        n);
    *e = cbx_emissions_empty();
    for (size_t c = 0; c < CBX_LEN(columns); c++)
        if (columns[c].kind == COLUMN_TEXT) *text_of(e, &columns[c]) = "";
    for (size_t i = 0; i < n; i++) {
        const column *c = which[i] >= 0 ? &columns[which[i]] : NULL;
        char *end;
        if (!c) continue;
        if (c->kind == COLUMN_TEXT) {
            *text_of(e, c) = r->cells[i];
        } else if (*r->cells[i]) {
            *number_of(e, c) = strtod(r->cells[i], &end);
            if (*end || end == r->cells[i])
                return cbx_fail(err, CBX_EFORMAT, "'%s' line %zu: '%s': expected a number, found '%.40s'", r->what,
                                r->line, c->name, r->cells[i]);
        }
    }
    return CBX_OK;
}

cbx_status cbx_emissions_parse(const char *text, size_t len, const char *what, cbx_arena *arena,
                               const cbx_emissions **lines, size_t *n, cbx_err *err)
{
    reader r = { .at = text, .end = text + len, .what = what, .arena = arena };
    int which[MAX_CELLS];
    size_t ncolumns = 0, count = 0, max = 1;
    cbx_emissions *rows;

    if (len && memchr(text, '\0', len)) return cbx_fail(err, CBX_EFORMAT, "'%s': holds a NUL byte", what);
    /* The column of each cell, -1: unknown. */
    bool seen[CBX_LEN(columns)] = { false }, any = false;
    cbx_status st = read_line(&r, err);
    if (st) return st;
    for (size_t i = 0; i < r.ncells; i++) {
        which[i] = -1;
        for (size_t c = 0; c < CBX_LEN(columns); c++) {
            if (strcmp(r.cells[i], columns[c].name) != 0) continue;
            if (seen[c]) return fail_at(&r, err, "a column is listed twice");
            seen[c] = true;
            which[i] = (int)c;
            any = any || columns[c].offset == offsetof(cbx_emissions, emissions);
        }
    }
    ncolumns = r.ncells;
    if (!any) return fail_at(&r, err, "no column 'emissions': this is not a file of codecarbon");
    for (const char *c = r.at; c < r.end; c++) max += *c == '\n';
    rows = cbx_arena_calloc(arena, max, sizeof *rows);
    if (!rows) return cbx_fail_nomem(err, what);
    while (r.at < r.end && !st) {
        size_t blank = *r.at == '\r' && r.at + 1 < r.end;
        if (r.at[blank] == '\n') { /* an empty line */
            r.at += blank + 1;
            r.line++;
            continue;
        }
        st = read_row(&r, which, ncolumns, &rows[count], err);
        count += !st;
    }
    if (st) return st;
    *lines = rows;
    *n = count;
    return CBX_OK;
}

cbx_status cbx_emissions_read(cbx_ctx *ctx, const char *path, cbx_arena *arena, const cbx_emissions **lines, size_t *n,
                              cbx_err *err)
{
    CBX_SCOPED(cbx_text, data, cbx_ctx_allocator(ctx));
    cbx_status st = cbx__file_text(ctx, path, 0, &data, err);

    return st ? st : cbx_emissions_parse(data.data, data.len, path, arena, lines, n, err);
}
