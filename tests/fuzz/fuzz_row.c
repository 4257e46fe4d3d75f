/*
 * Any bytes as a file of rows.  What is read must be writable, and written rows must read back as the same rows:
 * the second writing equals the first.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/storage/row_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cbx_rows rows;
    cbx_ctx *ctx = NULL;
    char *text = malloc(size + 1); /* NUL-terminated, as cbx_file_read gives it */
    require(text != NULL && cbx_ctx_create(NULL, &ctx, NULL) == CBX_OK);
    memcpy(text, data, size);
    text[size] = 0;
    cbx_rows_init(&rows, cbx_allocator_default());
    require(cbx__rows_read_text(&rows, text, size, "input", NULL) == CBX_OK);
    free(text);
    read_back(&rows);
    require(cbx_rows_latest(ctx, &rows, NULL, NULL) == CBX_OK);
    read_back(&rows);
    cbx_rows_clear(&rows);
    cbx_ctx_free(ctx);
    return 0;
}
