/*
 * Row record: from the typed view to JSON.
 *
 * A row that was read keeps its JSON; writing it again starts from the typed view and adds every member of the old JSON
 * that the table does not know, block by block, so that a newer writer's fields survive an older tool.
 */
#include "calibrax/base/file.h"
#include "calibrax/storage/row_table.h"

#include <math.h>
#include <string.h>

bool cbx_row_is_limit(const cbx_row *row) { return row->role && strcmp(row->role, "limit") == 0; }

bool cbx_row_is_attempt(const cbx_row *row) { return !row->status || strcmp(row->status, "skipped") != 0; }

bool cbx_row_is_good(const cbx_row *row) { return row->status && strcmp(row->status, "ok") == 0; }

/* --- to JSON --- */

/* Members of cbx_row by offset. */
static const char *string_at(const void *base, size_t offset)
{
    return *(const char *const *)(const void *)((const char *)base + offset);
}
static double double_at(const void *base, size_t offset)
{
    return *(const double *)(const void *)((const char *)base + offset);
}
static uint64_t count_at(const void *base, size_t offset)
{
    return *(const uint64_t *)(const void *)((const char *)base + offset);
}
static bool bool_at(const void *base, size_t offset) { return *(const bool *)((const char *)base + offset); }

/* True if some member of the block says something. */
static bool says_anything(const void *base, const row_block *block)
{
    for (size_t i = 0; i < block->nfields; i++)
        if (block->fields[i].kind == ROW_COUNT && count_at(base, block->fields[i].offset)) return true;
    return false;
}

static bool has_metric(const cbx_row_metric *m) { return !isnan(m->over.value) || m->nlaunches || m->reason; }

static bool block_present(const void *base, const row_block *block)
{
    switch (block->presence) {
    case ROW_IF_STRING: return string_at(base, block->offset) != NULL;
    case ROW_IF_TRUE: return bool_at(base, block->offset);
    case ROW_IF_NUMBER: return !isnan(double_at(base, block->offset));
    case ROW_IF_METRIC: return has_metric((const void *)((const char *)base + block->offset));
    case ROW_IF_ANY: return says_anything(base, block);
    default: return true;
    }
}

static cbx_status no_memory(cbx_err *err) { return cbx_fail(err, CBX_ENOMEM, "out of memory while writing a row"); }

static bool set_numbers(const void *base, cbx_json *object, const row_field *f)
{
    const double *x = *(const double *const *)(const void *)((const char *)base + f->offset);
    size_t n = *(const size_t *)(const void *)((const char *)base + f->count);
    cbx_json *list = cbx_json_new_array();

    if (!list) return false;
    for (size_t i = 0; i < n; i++) {
        if (!cbx_json_push(list, cbx_json_new_double(x[i]))) {
            cbx_json_unref(list);
            return false;
        }
    }
    return cbx_json_set(object, f->key, list);
}

static cbx_status build_block(const void *base, const row_block *block, const cbx_json *old, cbx_json **out,
                              cbx_err *err);

/* Elements that were read keep what the table does not know, by their place. */
static cbx_status set_list(const void *base, cbx_json *object, const row_field *f, const cbx_json *old, cbx_err *err)
{
    const char *x = *(const char *const *)(const void *)((const char *)base + f->offset);
    size_t n = *(const size_t *)(const void *)((const char *)base + f->count);
    cbx_json *list, *item = NULL;
    cbx_status st = CBX_OK;

    list = cbx_json_new_array();
    if (!list) return no_memory(err);
    for (size_t i = 0; i < n && !st; i++) {
        st = build_block(x + i * f->size, f->block, cbx_json_at(old, i), &item, err);
        if (!st && !cbx_json_push(list, item)) st = no_memory(err);
    }
    if (!st) return cbx_json_set(object, f->key, list) ? CBX_OK : no_memory(err);
    cbx_json_unref(list);
    return st;
}

static cbx_status set_point(const cbx_row *row, cbx_json *object, const char *key, cbx_err *err)
{
    const char *text = row->point_json ? row->point_json : "{}";
    cbx_json *point = NULL;
    cbx_status st = cbx_json_parse(text, strlen(text), "the row's point", &point, err);

    if (st) return st;
    if (cbx_json_typeof(point) != CBX_JSON_OBJECT) {
        cbx_json_unref(point);
        return cbx_fail(err, CBX_EINVAL, "the row's point '%s' is not a JSON object", text);
    }
    return cbx_json_set(object, key, point) ? CBX_OK : no_memory(err);
}

/* A member that the typed view does not hold: what the row was read with, else the default of the schema. */
static bool set_default(cbx_json *object, const row_field *f, const cbx_json *old)
{
    if (old && cbx_json_has(old, f->key)) {
        cbx_json *kept = cbx_json_get(old, f->key);
        if (!kept) return cbx_json_set_null(object, f->key);
        cbx_json *copy = cbx_json_copy(kept);
        return copy && cbx_json_set(object, f->key, copy);
    }
    switch (f->kind) {
    case ROW_WORD: return cbx_json_set_string(object, f->key, f->word);
    case ROW_TRUE: return cbx_json_set_bool(object, f->key, true);
    case ROW_VERSION: return cbx_json_set_int(object, f->key, CBX_ROW_SCHEMA_VERSION);
    default: return cbx_json_set_null(object, f->key);
    }
}

static bool set_provenance(const cbx_row *row, cbx_json *object, const char *key)
{
    cbx_json *copy = row->provenance ? cbx_json_copy(row->provenance) : cbx_json_new_object();

    return copy && cbx_json_set(object, key, copy);
}

static bool set_number(const void *base, cbx_json *object, const row_field *f)
{
    double v = double_at(base, f->offset);

    if (isnan(v) && f->kind == ROW_MAYBE_NUMBER) return cbx_json_set_null(object, f->key);
    return cbx_json_set_double(object, f->key, v);
}

/* Adds the members of old that object lacks. */
static bool keep_unknown(cbx_json *object, const cbx_json *old)
{
    const char *key;
    cbx_json *value;

    for (size_t i = 0; cbx_json_member(old, i, &key, &value); i++) {
        if (cbx_json_has(object, key)) continue;
        if (!value) {
            if (!cbx_json_set_null(object, key)) return false;
            continue;
        }
        cbx_json *copy = cbx_json_copy(value);
        if (!copy || !cbx_json_set(object, key, copy)) return false;
    }
    return true;
}

static cbx_status set_block(const void *base, cbx_json *object, const row_field *f, const cbx_json *old, cbx_err *err)
{
    cbx_json *inner = NULL;
    cbx_status st;

    if (!block_present(base, f->block)) return cbx_json_set_null(object, f->key) ? CBX_OK : no_memory(err);
    st = build_block(base, f->block, old ? cbx_json_get(old, f->key) : NULL, &inner, err);
    if (st) return st;
    return cbx_json_set(object, f->key, inner) ? CBX_OK : no_memory(err);
}

static bool says_nothing(const void *base, const row_field *f)
{
    switch (f->kind) {
    case ROW_STRING: return !string_at(base, f->offset);
    case ROW_MAYBE_NUMBER: return isnan(double_at(base, f->offset));
    case ROW_NUMBERS:
    case ROW_LIST: return *(const size_t *)(const void *)((const char *)base + f->count) == 0;
    case ROW_BLOCK: return !block_present(base, f->block);
    default: return false;
    }
}

static cbx_status set_field(const void *base, cbx_json *object, const row_field *f, const cbx_json *old, cbx_err *err)
{
    bool ok = true;

    if (f->optional && says_nothing(base, f)) return CBX_OK;
    switch (f->kind) {
    case ROW_NEEDED_STRING:
        if (!string_at(base, f->offset))
            return cbx_fail(err, CBX_EINVAL, "a row cannot be written without its '%s'", f->key);
        ok = cbx_json_set_string(object, f->key, string_at(base, f->offset));
        break;
    case ROW_STRING: ok = cbx_json_set_string(object, f->key, string_at(base, f->offset)); break;
    case ROW_NUMBER:
    case ROW_MAYBE_NUMBER: ok = set_number(base, object, f); break;
    case ROW_COUNT: ok = cbx_json_set_int(object, f->key, (int64_t)count_at(base, f->offset)); break;
    case ROW_BOOL: ok = cbx_json_set_bool(object, f->key, bool_at(base, f->offset)); break;
    case ROW_NUMBERS: ok = set_numbers(base, object, f); break;
    case ROW_LIST: return set_list(base, object, f, old ? cbx_json_get(old, f->key) : NULL, err);
    case ROW_POINT: return set_point(base, object, f->key, err);
    case ROW_PROVENANCE: ok = set_provenance(base, object, f->key); break;
    case ROW_BLOCK: return set_block(base, object, f, old, err);
    case ROW_VERSION:
    case ROW_WORD:
    case ROW_TRUE:
    case ROW_NULL: ok = set_default(object, f, old); break;
    }
    return ok ? CBX_OK : no_memory(err);
}

static cbx_status build_block(const void *base, const row_block *block, const cbx_json *old, cbx_json **out,
                              cbx_err *err)
{
    cbx_json *object = cbx_json_new_object();
    cbx_status st = CBX_OK;

    if (!object) return no_memory(err);
    for (size_t i = 0; i < block->nfields && !st; i++) st = set_field(base, object, &block->fields[i], old, err);
    if (!st && old && !keep_unknown(object, old)) st = no_memory(err);
    if (st) {
        cbx_json_unref(object);
        return st;
    }
    *out = object;
    return CBX_OK;
}

cbx_status cbx__row_build(const cbx_row *row, cbx_json **out, cbx_err *err)
{
    return build_block(row, &cbx__row_table, row->json, out, err);
}

cbx_json *cbx_row_to_json(const cbx_row *row)
{
    cbx_json *object = NULL;

    return cbx__row_build(row, &object, NULL) == CBX_OK ? object : NULL;
}

cbx_status cbx_rows_write(cbx_ctx *ctx, const char *path, const cbx_row *rows, size_t count, cbx_err *err)
{
    cbx_text text;
    cbx_status st = CBX_OK;

    cbx_text_init(&text, cbx_ctx_allocator(ctx));
    for (size_t i = 0; i < count && !st; i++) {
        cbx_json *object = NULL;
        st = cbx__row_build(&rows[i], &object, err);
        if (st) break;
        cbx_json_write(object, CBX_JSON_COMPACT | CBX_JSON_NONFINITE_STRING, &text);
        cbx_text_putc(&text, '\n');
        cbx_json_unref(object);
        st = cbx_text_check(&text, err);
    }
    if (!st) st = cbx_file_write_atomic(ctx, path, cbx_text_str(&text), text.len, err);
    cbx_text_clear(&text);
    return st;
}
