/*
 * Any bytes as a file of rows.  What is read must be writable, and written rows must read back as
 * the same rows: the second writing equals the first.  A line without its provenance must be the
 * same row.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/storage/row_table.h"
#include "fuzz.h"

static void require(int good)
{
    if (!good) abort();
}

static void write_all(const cbx_rows *rows, cbx_text *out)
{
    for (size_t i = 0; i < rows->count; i++) {
        cbx_json *v = cbx_row_to_json(&rows->rows[i]);
        require(v != NULL);
        cbx_json_write(v, CBX_JSON_COMPACT | CBX_JSON_NONFINITE_STRING, out);
        cbx_text_putc(out, '\n');
        cbx_json_unref(v);
    }
    require(out->status == CBX_OK);
}

static void read_back(const cbx_rows *rows)
{
    cbx_text first, second;
    cbx_rows again;
    cbx_text_init(&first, cbx_allocator_default());
    cbx_text_init(&second, cbx_allocator_default());
    cbx_rows_init(&again, cbx_allocator_default());
    write_all(rows, &first);
    require(cbx__rows_read_text(&again, cbx_text_str(&first), first.len, "written", NULL) == CBX_OK);
    require(again.count == rows->count && again.damaged == 0);
    write_all(&again, &second);
    require(first.len == second.len && memcmp(cbx_text_str(&first), cbx_text_str(&second), first.len) == 0);
    cbx_text_clear(&first);
    cbx_text_clear(&second);
    cbx_rows_clear(&again);
}

/* A line without its provenance is the same row with an empty one. */
static void lean_lines(const char *text, size_t size)
{
    char *lean = malloc(size + 1);
    require(lean != NULL);
    for (const char *line = text, *end = text + size; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line)), *stop = newline ? newline : end;
        size_t n = cbx__rows_lean_line(line, (size_t)(stop - line), lean);
        cbx_rows whole, cut;
        require(n <= (size_t)(stop - line));
        cbx_rows_init(&whole, cbx_allocator_default());
        cbx_rows_init(&cut, cbx_allocator_default());
        lean[n] = 0;
        require(cbx__rows_read_line(&whole, line, (size_t)(stop - line), "line", 1, NULL) == CBX_OK);
        require(cbx__rows_read_line(&cut, lean, n, "line", 1, NULL) == CBX_OK);
        if (whole.count) {
            require(cut.count == 1 && strcmp(cut.rows[0].run_id, whole.rows[0].run_id) == 0);
            require(strcmp(cut.rows[0].status, whole.rows[0].status) == 0 && cut.rows[0].n == whole.rows[0].n);
        }
        cbx_rows_clear(&whole);
        cbx_rows_clear(&cut);
        line = newline ? newline + 1 : end;
    }
    free(lean);
}

FUZZ_ENTRY()
{
    cbx_rows rows;
    char *text = malloc(size + 1); /* NUL-terminated, as cbx_file_read gives it */
    require(text != NULL);
    memcpy(text, data, size);
    text[size] = 0;
    cbx_rows_init(&rows, cbx_allocator_default());
    require(cbx__rows_read_text(&rows, text, size, "input", NULL) == CBX_OK);
    lean_lines(text, size);
    free(text);
    read_back(&rows);
    cbx_rows_clear(&rows);
    return 0;
}
