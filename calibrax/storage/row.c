/*
 * Row record: from the typed view to JSON.
 *
 * A row that was read keeps its JSON; writing it again starts from the typed view and adds every
 * member of the old JSON that the table does not know, block by block, so that a newer writer's
 * fields survive an older tool.
 */
#include "calibrax/base/file.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/json_put.h"
#include "calibrax/storage/row_table.h"

#include <math.h>
#include <string.h>

bool cbx_row_is_limit(const cbx_row *row) { return row->role && strcmp(row->role, "limit") == 0; }

bool cbx_row_is_attempt(const cbx_row *row) { return !row->status || strcmp(row->status, "skipped") != 0; }

bool cbx_row_is_good(const cbx_row *row) { return row->status && strcmp(row->status, "ok") == 0; }

/* --- to JSON --- */

/* Whether a block is there, or an optional member has anything to say. */
static bool block_present(const void *base, const row_block *block)
{
    const cbx_row_metric *m;
    bool any = false;

    switch (block->presence) {
    case ROW_IF_STRING: return ROW_AT(const char *, base, block->offset) != NULL;
    case ROW_IF_TRUE: return ROW_AT(bool, base, block->offset);
    case ROW_IF_NUMBER: return !isnan(ROW_AT(double, base, block->offset));
    case ROW_IF_METRIC:
        m = &ROW_AT(const cbx_row_metric, base, block->offset);
        return !isnan(m->over.value) || m->nlaunches || m->reason;
    case ROW_IF_ANY:
        for (size_t i = 0; i < block->nfields; i++) {
            const row_field *f = &block->fields[i];
            any = any || (f->kind == ROW_COUNT && ROW_AT(uint64_t, base, f->offset));
        }
        return any;
    default: return true;
    }
}

static bool says_nothing(const void *base, const row_field *f)
{
    switch (f->kind) {
    case ROW_STRING: return !ROW_AT(const char *, base, f->offset);
    case ROW_MAYBE_NUMBER: return isnan(ROW_AT(double, base, f->offset));
    case ROW_NUMBERS:
    case ROW_LIST: return ROW_AT(size_t, base, f->count) == 0;
    case ROW_BLOCK: return !block_present(base, f->block);
    default: return false;
    }
}

/* What the row was read with, if it was. */
static bool set_old(cbx_json *object, const char *key, const cbx_json *old)
{
    if (!cbx_json_has(old, key)) return false;
    cbx_json_put(object, J_COPY(key, cbx_json_get(old, key)));
    return true;
}

static cbx_status set_point(const cbx_row *row, cbx_json *object, const char *key, cbx_err *err)
{
    const char *text = row->point_json ? row->point_json : "{}";
    cbx_json *point = NULL;
    cbx_status st = cbx_json_parse(text, strlen(text), "the row's point", &point, err);

    if (!st && cbx_json_typeof(point) != CBX_JSON_OBJECT) {
        cbx_json_unref(point);
        return cbx_fail(err, CBX_EINVAL, "the row's point '%s' is not a JSON object", text);
    }
    if (!st) cbx_json_set(object, key, point);
    return st;
}

static cbx_status fill_block(cbx_json *object, const void *base, const row_block *block, const cbx_json *old,
                             cbx_err *err);

/* A failure of the JSON is sticky, so that a status is of what the row lacks. */
static cbx_status set_field(cbx_json *object, const void *base, const row_field *f, const cbx_json *old, cbx_err *err)
{
    const cbx_json *provenance;
    cbx_json *list;
    cbx_status st = CBX_OK;

    if (f->optional && says_nothing(base, f)) return CBX_OK;
    switch (f->kind) {
    case ROW_NEEDED_STRING:
        if (!ROW_AT(const char *, base, f->offset))
            return cbx_fail(err, CBX_EINVAL, "a row cannot be written without its '%s'", f->key); /* fall through */
    case ROW_STRING: cbx_json_set_string(object, f->key, ROW_AT(const char *, base, f->offset)); break;
    case ROW_NUMBER:
    case ROW_MAYBE_NUMBER:
        if (isnan(ROW_AT(double, base, f->offset)) && f->kind == ROW_MAYBE_NUMBER)
            cbx_json_set_null(object, f->key);
        else
            cbx_json_set_double(object, f->key, ROW_AT(double, base, f->offset));
        break;
    case ROW_COUNT: cbx_json_set_int(object, f->key, (int64_t)ROW_AT(uint64_t, base, f->offset)); break;
    case ROW_BOOL: cbx_json_set_bool(object, f->key, ROW_AT(bool, base, f->offset)); break;
    case ROW_NUMBERS:
        cbx_json_set_doubles(object, f->key, ROW_AT(const double *, base, f->offset), ROW_AT(size_t, base, f->count));
        break;
    case ROW_LIST: /* elements that were read keep what the table does not know, by their place */
        list = cbx_json_set_array(object, f->key);
        for (size_t i = 0; i < ROW_AT(size_t, base, f->count) && !st; i++)
            st = fill_block(cbx_json_push_object(list), ROW_AT(const char *, base, f->offset) + i * f->size, f->block,
                            cbx_json_at(cbx_json_get(old, f->key), i), err);
        return st;
    case ROW_POINT: return set_point(base, object, f->key, err);
    case ROW_PROVENANCE:
        provenance = ((const cbx_row *)base)->provenance;
        cbx_json_set(object, f->key, provenance ? cbx_json_copy(provenance) : cbx_json_new_object());
        break;
    case ROW_BLOCK:
        if (block_present(base, f->block))
            return fill_block(cbx_json_set_object(object, f->key), base, f->block, cbx_json_get(old, f->key), err);
        cbx_json_set_null(object, f->key);
        break;
    default: /* members that the typed view does not hold: as they were read, else the default of the schema */
        if (set_old(object, f->key, old)) break;
        if (f->kind == ROW_VERSION) cbx_json_set_int(object, f->key, CBX_ROW_SCHEMA_VERSION);
        if (f->kind == ROW_WORD) cbx_json_set_string(object, f->key, f->word);
        if (f->kind == ROW_TRUE) cbx_json_set_bool(object, f->key, true);
        if (f->kind == ROW_NULL) cbx_json_set_null(object, f->key);
    }
    return CBX_OK;
}

/* The members of the table, and those of old that it does not know. */
static cbx_status fill_block(cbx_json *object, const void *base, const row_block *block, const cbx_json *old,
                             cbx_err *err)
{
    cbx_status st = CBX_OK;
    const char *key;
    cbx_json *value;

    for (size_t i = 0; i < block->nfields && !st; i++) st = set_field(object, base, &block->fields[i], old, err);
    for (size_t i = 0; !st && cbx_json_member(old, i, &key, &value); i++)
        if (!cbx_json_has(object, key)) set_old(object, key, old);
    return st;
}

/* The JSON of a row with a reason if it cannot be made: CBX_EINVAL names what the row lacks. */
static cbx_status build(const cbx_row *row, cbx_json **out, cbx_err *err)
{
    cbx_json *object = cbx_json_new_object();
    cbx_status st = fill_block(object, row, &cbx__row_table, row->json, err);

    if (!st) st = cbx_json_check(object, err);
    return CBX_FINISH(st, *out = object, cbx_json_unref(object));
}

cbx_json *cbx_row_to_json(const cbx_row *row)
{
    cbx_json *object = NULL;

    return build(row, &object, NULL) == CBX_OK ? object : NULL;
}

cbx_status cbx_rows_write(cbx_ctx *ctx, const char *path, const cbx_row *rows, size_t count, cbx_err *err)
{
    CBX_SCOPED(cbx_text, text, cbx_ctx_allocator(ctx));

    for (size_t i = 0; i < count; i++) {
        cbx_json *object = NULL;
        cbx_status st = build(&rows[i], &object, err);
        if (st) return st;
        cbx_json_write(object, CBX_JSON_COMPACT | CBX_JSON_NONFINITE_STRING, &text);
        cbx_text_putc(&text, '\n');
        cbx_json_unref(object);
        st = cbx_text_check(&text, err);
        if (st) return st;
    }
    return cbx_file_write_atomic(ctx, path, cbx_text_str(&text), text.len, err);
}
