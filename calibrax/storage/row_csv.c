/*
 * Rows as CSV: a column for each member of the table that is a word or a number, named by its path
 * in the JSON ("metrics.steady_time.median").
 *
 * What is fixed (units) or a document of its own (provenance) is left out; launches are in one
 * cell, with spaces between them; of a list there is its length.  Numbers are written as in JSON,
 * absent ones as nothing.  Quoting: RFC 4180, lines end with LF.
 */
#include "calibrax/storage/row_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PATH_SIZE 96

static bool is_column(const row_field *f)
{
    return f->kind != ROW_WORD && f->kind != ROW_TRUE && f->kind != ROW_NULL && f->kind != ROW_PROVENANCE &&
           f->kind != ROW_VERSION;
}

static void put_number(cbx_text *out, double v)
{
    char text[CBX_FORMAT_SIZE];
    if (!isnan(v)) cbx_text_puts(out, isinf(v) ? (v > 0 ? "Infinity" : "-Infinity") : cbx_format_double(v, text));
}

static void put_cell(cbx_text *out, const cbx_row *row, const row_field *f)
{
    switch (f->kind) {
    case ROW_NEEDED_STRING:
    case ROW_STRING:
    case ROW_POINT:
        if (ROW_AT(const char *, row, f->offset)) cbx_text_put_csv(out, ROW_AT(const char *, row, f->offset));
        break;
    case ROW_NUMBER:
    case ROW_MAYBE_NUMBER: put_number(out, ROW_AT(double, row, f->offset)); break;
    case ROW_COUNT: cbx_text_printf(out, "%llu", (unsigned long long)ROW_AT(uint64_t, row, f->offset)); break;
    case ROW_BOOL: cbx_text_puts(out, ROW_AT(bool, row, f->offset) ? "true" : "false"); break;
    case ROW_NUMBERS:
        for (size_t i = 0; i < ROW_AT(size_t, row, f->count); i++) {
            if (i) cbx_text_putc(out, ' ');
            put_number(out, (ROW_AT(const double *, row, f->offset))[i]);
        }
        break;
    case ROW_LIST:
        if (ROW_AT(size_t, row, f->count)) cbx_text_printf(out, "%zu", ROW_AT(size_t, row, f->count));
        break;
    default: break;
    }
}

static void put_heads(cbx_text *out, const row_block *block, const char *path, const char **gap)
{
    for (size_t i = 0; i < block->nfields; i++) {
        const row_field *f = &block->fields[i];
        char name[PATH_SIZE];
        if (!is_column(f)) continue;
        snprintf(name, sizeof name, "%s%s%s", path, *path ? "." : "", f->key);
        if (f->kind == ROW_BLOCK) {
            put_heads(out, f->block, name, gap);
            continue;
        }
        cbx_text_printf(out, "%s%s", *gap, name);
        *gap = ",";
    }
}

static void put_cells(cbx_text *out, const cbx_row *row, const row_block *block, bool there, const char **gap)
{
    for (size_t i = 0; i < block->nfields; i++) {
        const row_field *f = &block->fields[i];
        if (!is_column(f)) continue;
        if (f->kind == ROW_BLOCK) { /* a missing one has empty cells */
            const row_block *b = f->block;
            bool missing = (b->presence == ROW_IF_STRING && !ROW_AT(const char *, row, b->offset)) ||
                           (b->presence == ROW_IF_TRUE && !ROW_AT(bool, row, b->offset));
            put_cells(out, row, b, there && !missing, gap);
            continue;
        }
        cbx_text_puts(out, *gap);
        *gap = ",";
        if (there) put_cell(out, row, f);
    }
}

void cbx_rows_csv(const cbx_rows *rows, cbx_text *out)
{
    const char *gap = "";

    put_heads(out, &cbx__row_table, "", &gap);
    cbx_text_putc(out, '\n');
    for (size_t i = 0; i < rows->count; i++) {
        gap = "";
        put_cells(out, &rows->rows[i], &cbx__row_table, true, &gap);
        cbx_text_putc(out, '\n');
    }
}
