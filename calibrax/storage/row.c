/*
 * Row record: the table of its members, and the way from the typed view to JSON.
 *
 * A row that was read keeps its JSON; writing it again starts from the typed view and adds every member of the old JSON
 * that the table does not know, block by block, so that a newer writer's fields survive an older tool.
 */
#include "calibrax/base/file.h"
#include "calibrax/storage/row_table.h"

#include <math.h>
#include <string.h>

#define AT(member) offsetof(cbx_row, member)
#define BLOCK(name, fields, presence, member)                                                                          \
    static const row_block name = { fields, CBX_LEN(fields), presence, member }

static const row_field steady_fields[] = {
    { "min", ROW_MAYBE_NUMBER, AT(min_s) },
    { "median", ROW_MAYBE_NUMBER, AT(median_s) },
    { "p95", ROW_MAYBE_NUMBER, AT(p95_s) },
    { "iqr", ROW_MAYBE_NUMBER, AT(iqr_s) },
    { "mean", ROW_MAYBE_NUMBER, AT(mean_s) },
    { "n", ROW_COUNT, AT(n) },
    { "unit", ROW_WORD, 0, "s" },
    { "p99", ROW_MAYBE_NUMBER, AT(p99_s) },
    { "lower", ROW_MAYBE_NUMBER, AT(steady.lower) },
    { "upper", ROW_MAYBE_NUMBER, AT(steady.upper) },
    { "level", ROW_MAYBE_NUMBER, AT(steady.level) },
    { "launches", ROW_LAUNCHES, AT(launch_medians_s) },
};
static const row_field compile_fields[] = {
    { "value", ROW_MAYBE_NUMBER, AT(compile_s) },
    { "unit", ROW_WORD, 0, "s" },
    { "cache", ROW_WORD, 0, "cold" },
    { "first_call", ROW_MAYBE_NUMBER, AT(first_call_s) },
};
static const row_field hbm_fields[] = {
    { "value", ROW_MAYBE_NUMBER, AT(peak_hbm_mb) },
    { "unit", ROW_WORD, 0, "MB" },
};
static const row_field rss_fields[] = {
    { "value", ROW_MAYBE_NUMBER, AT(host_rss_mb) },
    { "unit", ROW_WORD, 0, "MB" },
    { "increase", ROW_MAYBE_NUMBER, AT(host_rss_increase_mb) },
};
static const row_field throughput_fields[] = {
    { "value", ROW_MAYBE_NUMBER, AT(throughput_elem_per_s) },
    { "unit", ROW_WORD, 0, "elem/s" },
};
static const row_field work_fields[] = {
    { "gmac_per_s", ROW_MAYBE_NUMBER, AT(gmac_per_s) },   { "gflop_per_s", ROW_MAYBE_NUMBER, AT(gflop_per_s) },
    { "gbyte_per_s", ROW_MAYBE_NUMBER, AT(gbyte_per_s) }, { "roofline_share", ROW_MAYBE_NUMBER, AT(roofline_share) },
    { "bound_s", ROW_MAYBE_NUMBER, AT(bound_s) },
};
static const row_field cpu_fields[] = {
    { "value", ROW_MAYBE_NUMBER, AT(cpu_s) },
    { "unit", ROW_WORD, 0, "s" },
};
BLOCK(steady_block, steady_fields, ROW_ALWAYS, 0);
BLOCK(compile_block, compile_fields, ROW_ALWAYS, 0);
BLOCK(hbm_block, hbm_fields, ROW_ALWAYS, 0);
BLOCK(rss_block, rss_fields, ROW_ALWAYS, 0);
BLOCK(throughput_block, throughput_fields, ROW_ALWAYS, 0);
BLOCK(work_block, work_fields, ROW_ALWAYS, 0);
BLOCK(cpu_block, cpu_fields, ROW_ALWAYS, 0);

static const row_field metrics_fields[] = {
    { "steady_time", ROW_BLOCK, 0, NULL, &steady_block },    { "compile_time", ROW_BLOCK, 0, NULL, &compile_block },
    { "peak_hbm", ROW_BLOCK, 0, NULL, &hbm_block },          { "host_rss", ROW_BLOCK, 0, NULL, &rss_block },
    { "throughput", ROW_BLOCK, 0, NULL, &throughput_block }, { "work", ROW_BLOCK, 0, NULL, &work_block },
    { "cpu_time", ROW_BLOCK, 0, NULL, &cpu_block },
};
static const row_field oracle_fields[] = {
    { "kind", ROW_STRING, AT(oracle_kind) },
    { "baseline", ROW_NULL },
    { "subsample", ROW_NULL },
};
static const row_field threshold_fields[] = {
    { "scope", ROW_WORD, 0, "per_algebra" },
};
BLOCK(oracle_block, oracle_fields, ROW_ALWAYS, 0);
BLOCK(threshold_block, threshold_fields, ROW_ALWAYS, 0);

static const row_field fidelity_fields[] = {
    { "status", ROW_NEEDED_STRING, AT(fidelity_status) },
    { "rel_to_tol", ROW_NUMBER, AT(rel_to_tol) },
    { "max_abs", ROW_NUMBER, AT(max_abs) },
    { "max_rel", ROW_NUMBER, AT(max_rel) },
    { "n_mismatched", ROW_COUNT, AT(mismatched) },
    { "layout_normalised", ROW_TRUE },
    { "oracle", ROW_BLOCK, 0, NULL, &oracle_block },
    { "threshold", ROW_BLOCK, 0, NULL, &threshold_block },
    { "checks", ROW_COUNT, AT(checks) },
};
static const row_field ratio_fields[] = {
    { "vs", ROW_NEEDED_STRING, AT(ratio_vs) },
    { "metric", ROW_WORD, 0, "min" },
    { "value", ROW_NUMBER, AT(ratio_value) },
};
static const row_field failure_fields[] = {
    { "reason", ROW_STRING, AT(failure_reason) },
    { "message", ROW_STRING, AT(failure_message) },
    { "remedy", ROW_STRING, AT(failure_remedy) },
};
static const row_field paired_fields[] = {
    { "vs", ROW_NEEDED_STRING, AT(paired_vs) },
    { "value", ROW_NUMBER, AT(paired.value) },
    { "lower", ROW_NUMBER, AT(paired.lower) },
    { "upper", ROW_NUMBER, AT(paired.upper) },
    { "level", ROW_MAYBE_NUMBER, AT(paired.level) },
    { "verdict", ROW_STRING, AT(verdict) },
    { "pairs", ROW_COUNT, AT(pairs) },
    { "p", ROW_MAYBE_NUMBER, AT(paired_p) },
    { "p_holm", ROW_MAYBE_NUMBER, AT(paired_p_holm) },
    { "holm_rows", ROW_COUNT, AT(holm_rows) },
    { "verdict_holm", ROW_STRING, AT(verdict_holm) },
};
static const row_field limit_fields[] = {
    { "vs", ROW_NEEDED_STRING, AT(limit_vs) },
    { "share", ROW_NUMBER, AT(limit_share) },
};
BLOCK(metrics_block, metrics_fields, ROW_IF_TRUE, AT(has_metrics));
BLOCK(fidelity_block, fidelity_fields, ROW_IF_STRING, AT(fidelity_status));
BLOCK(ratio_block, ratio_fields, ROW_IF_STRING, AT(ratio_vs));
BLOCK(failure_block, failure_fields, ROW_IF_STRING, AT(failure_reason));
BLOCK(paired_block, paired_fields, ROW_IF_STRING, AT(paired_vs));
BLOCK(limit_block, limit_fields, ROW_IF_STRING, AT(limit_vs));

/* The v1 keys in v1 order up to schema_version, then the additive ones. */
static const row_field row_fields[] = {
    { "run_id", ROW_NEEDED_STRING, AT(run_id) },
    { "case", ROW_NEEDED_STRING, AT(case_name) },
    { "baseline", ROW_NEEDED_STRING, AT(baseline) },
    { "platform", ROW_NEEDED_STRING, AT(platform) },
    { "framework", ROW_NEEDED_STRING, AT(framework) },
    { "param_point", ROW_POINT, AT(point_json) },
    { "status", ROW_NEEDED_STRING, AT(status) },
    { "metrics", ROW_BLOCK, 0, NULL, &metrics_block },
    { "fidelity", ROW_BLOCK, 0, NULL, &fidelity_block },
    { "ratio", ROW_BLOCK, 0, NULL, &ratio_block },
    { "failure_detail", ROW_BLOCK, 0, NULL, &failure_block },
    { "provenance", ROW_PROVENANCE, AT(provenance) },
    { "schema_version", ROW_VERSION },
    { "variant", ROW_STRING, AT(variant) },
    { "strongest", ROW_BOOL, AT(strongest) },
    { "point_label", ROW_STRING, AT(point_label) },
    { "machine", ROW_STRING, AT(machine) },
    { "representative", ROW_BOOL, AT(representative) },
    { "ratio_paired", ROW_BLOCK, 0, NULL, &paired_block },
    { "role", ROW_STRING, AT(role) },
    { "limit", ROW_BLOCK, 0, NULL, &limit_block },
};
const row_block cbx__row_table = { row_fields, CBX_LEN(row_fields), ROW_ALWAYS, 0 };

/* --- the typed view: absent everywhere --- */

static void block_init(cbx_row *row, const row_block *block)
{
    for (size_t i = 0; i < block->nfields; i++) {
        const row_field *f = &block->fields[i];
        if (f->kind == ROW_NUMBER || f->kind == ROW_MAYBE_NUMBER) *(double *)(void *)((char *)row + f->offset) = NAN;
        if (f->kind == ROW_BLOCK) block_init(row, f->block);
    }
}

void cbx_row_init(cbx_row *row)
{
    memset(row, 0, sizeof *row);
    block_init(row, &cbx__row_table);
    row->steady.value = NAN;
    row->strongest = true;
}

bool cbx_row_is_limit(const cbx_row *row) { return row->role && strcmp(row->role, "limit") == 0; }

bool cbx_row_is_good(const cbx_row *row) { return row->status && strcmp(row->status, "ok") == 0; }

/* --- to JSON --- */

/* Members of cbx_row by offset. */
static const char *string_at(const cbx_row *row, size_t offset)
{
    return *(const char *const *)(const void *)((const char *)row + offset);
}
static double double_at(const cbx_row *row, size_t offset)
{
    return *(const double *)(const void *)((const char *)row + offset);
}
static uint64_t count_at(const cbx_row *row, size_t offset)
{
    return *(const uint64_t *)(const void *)((const char *)row + offset);
}
static bool bool_at(const cbx_row *row, size_t offset) { return *(const bool *)((const char *)row + offset); }

static bool block_present(const cbx_row *row, const row_block *block)
{
    if (block->presence == ROW_IF_STRING) return string_at(row, block->offset) != NULL;
    if (block->presence == ROW_IF_TRUE) return bool_at(row, block->offset);
    return true;
}

static cbx_status no_memory(cbx_err *err) { return cbx_fail(err, CBX_ENOMEM, "out of memory while writing a row"); }

static bool set_launches(const cbx_row *row, cbx_json *object, const char *key)
{
    cbx_json *list = cbx_json_new_array();

    if (!list) return false;
    for (size_t i = 0; i < row->nlaunches; i++) {
        if (!cbx_json_push(list, cbx_json_new_double(row->launch_medians_s[i]))) {
            cbx_json_unref(list);
            return false;
        }
    }
    return cbx_json_set(object, key, list);
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

static bool set_number(const cbx_row *row, cbx_json *object, const row_field *f)
{
    double v = double_at(row, f->offset);

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

static cbx_status build_block(const cbx_row *row, const row_block *block, const cbx_json *old, cbx_json **out,
                              cbx_err *err);

static cbx_status set_block(const cbx_row *row, cbx_json *object, const row_field *f, const cbx_json *old, cbx_err *err)
{
    cbx_json *inner = NULL;
    cbx_status st;

    if (!block_present(row, f->block)) return cbx_json_set_null(object, f->key) ? CBX_OK : no_memory(err);
    st = build_block(row, f->block, old ? cbx_json_get(old, f->key) : NULL, &inner, err);
    if (st) return st;
    return cbx_json_set(object, f->key, inner) ? CBX_OK : no_memory(err);
}

static cbx_status set_field(const cbx_row *row, cbx_json *object, const row_field *f, const cbx_json *old, cbx_err *err)
{
    bool ok = true;

    switch (f->kind) {
    case ROW_NEEDED_STRING:
        if (!string_at(row, f->offset))
            return cbx_fail(err, CBX_EINVAL, "a row cannot be written without its '%s'", f->key);
        ok = cbx_json_set_string(object, f->key, string_at(row, f->offset));
        break;
    case ROW_STRING: ok = cbx_json_set_string(object, f->key, string_at(row, f->offset)); break;
    case ROW_NUMBER:
    case ROW_MAYBE_NUMBER: ok = set_number(row, object, f); break;
    case ROW_COUNT: ok = cbx_json_set_int(object, f->key, (int64_t)count_at(row, f->offset)); break;
    case ROW_BOOL: ok = cbx_json_set_bool(object, f->key, bool_at(row, f->offset)); break;
    case ROW_LAUNCHES: ok = set_launches(row, object, f->key); break;
    case ROW_POINT: return set_point(row, object, f->key, err);
    case ROW_PROVENANCE: ok = set_provenance(row, object, f->key); break;
    case ROW_BLOCK: return set_block(row, object, f, old, err);
    case ROW_VERSION:
    case ROW_WORD:
    case ROW_TRUE:
    case ROW_NULL: ok = set_default(object, f, old); break;
    }
    return ok ? CBX_OK : no_memory(err);
}

static cbx_status build_block(const cbx_row *row, const row_block *block, const cbx_json *old, cbx_json **out,
                              cbx_err *err)
{
    cbx_json *object = cbx_json_new_object();
    cbx_status st = CBX_OK;

    if (!object) return no_memory(err);
    for (size_t i = 0; i < block->nfields && !st; i++) st = set_field(row, object, &block->fields[i], old, err);
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
