/*
 * Results on standard output and in files.
 */
#include "programs/nperf/nperf.h"

int print_rows_json(const opt_run *run, const cbx_rows *rows, const char *schema)
{
    cbx_json *document = cbx_json_new_object(), *list = cbx_json_new_array();

    for (size_t i = 0; i < rows->count; i++) cbx_json_push(list, cbx_json_ref(rows->rows[i].json));
    cbx_json_put(document, J_TEXT("schema", schema), J_INT("version", CBX_ROW_SCHEMA_VERSION), J_JSON("rows", list));
    return print_json(run, document);
}

int write_json(const opt_run *run, const char *path, const cbx_json *document)
{
    SCOPED_TEXT(text, cbx_ctx_allocator(run->ctx));
    cbx_json_write(document, CBX_JSON_INDENT2 | CBX_JSON_NONFINITE_STRING | CBX_JSON_NO_CONTROL, &text);
    cbx_text_putc(&text, '\n');
    return document ? write_text(run, path, &text) : opt_fail(run, "out of memory");
}
