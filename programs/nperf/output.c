/*
 * Results on standard output and in files.
 */

#include "calibrax/base/file.h"
#include "programs/nperf/nperf.h"

int print_rows_json(const opt_program *program, const cbx_rows *rows, const char *schema)
{
    cbx_json *document = cbx_json_new_object(), *list = cbx_json_new_array();

    for (size_t i = 0; i < rows->count; i++) cbx_json_push(list, cbx_json_ref(rows->rows[i].json));
    cbx_json_set_string(document, "schema", schema);
    cbx_json_set_int(document, "version", CBX_ROW_SCHEMA_VERSION);
    cbx_json_set(document, "rows", list);
    return print_json(program, document);
}

int write_text(const opt_program *program, cbx_ctx *ctx, const char *path, const cbx_text *text)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = cbx_text_check(text, &err);

    if (!st) st = cbx_dir_create_parent(ctx, path, &err);
    if (!st) st = cbx_file_write_atomic(ctx, path, cbx_text_str(text), text->len, &err);
    return st ? opt_fail(program, "%s", err.message) : EXIT_PASS;
}

int write_json(const opt_program *program, cbx_ctx *ctx, const char *path, const cbx_json *document)
{
    cbx_text text;
    int status;

    cbx_text_init(&text, cbx_ctx_allocator(ctx));
    cbx_json_write(document, CBX_JSON_INDENT2 | CBX_JSON_NONFINITE_STRING | CBX_JSON_NO_CONTROL, &text);
    cbx_text_putc(&text, '\n');
    status = document ? write_text(program, ctx, path, &text) : opt_fail(program, "out of memory");
    cbx_text_clear(&text);
    return status;
}
