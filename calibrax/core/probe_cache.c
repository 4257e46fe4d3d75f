/*
 * The probe's file in the user's cache folder, <cache>/probe/<machine>.json: one machine, one
 * build.  A file that does not read in full is worth nothing, and measuring again costs a fifth of
 * a second: there is no error to report about it.
 */
#include <math.h>
#include <string.h>

#include "calibrax/base/file.h"
#include "calibrax/base/json_put.h"
#include "calibrax/base/version.h"
#include "calibrax/core/owned.h"
#include "calibrax/core/probe.h"
#include "calibrax/core/probe_cache.h"

#define SCHEMA  "calibrax.probe"
#define VERSION 2 /* 2: narrow */

static const struct {
    const char *key;
    size_t offset;
} level_rates[] = {
    { "read_bytes_per_s", offsetof(cbx_level_rate, read_bytes_per_s) },
    { "copy_bytes_per_s", offsetof(cbx_level_rate, copy_bytes_per_s) },
    { "triad_bytes_per_s", offsetof(cbx_level_rate, triad_bytes_per_s) },
    { "triad_stream_bytes_per_s", offsetof(cbx_level_rate, triad_stream_bytes_per_s) },
};

static double *rate_at(const cbx_level_rate *l, size_t i) { return (double *)((uintptr_t)l + level_rates[i].offset); }

/* Copies a word that must fit. */
static bool take_word(const cbx_json *v, const char *key, char *out, size_t size)
{
    const char *s = cbx_json_get_string(v, key, NULL);

    if (!s || strlen(s) >= size) return false;
    memcpy(out, s, strlen(s) + 1);
    return true;
}

static bool take_rate(const cbx_json *v, const char *key, double *out)
{
    *out = cbx_json_get_double(v, key, 0);
    return isfinite(*out) && *out > 0;
}

/* A rate and its instruction, or why it is missing. */
static bool take_narrow(const cbx_json *list, int n, cbx_narrow_rate *r)
{
    const cbx_json *v = cbx_json_at(list, (size_t)n);
    bool good = take_word(v, "by", r->by, sizeof r->by) && take_word(v, "why", r->why, sizeof r->why);

    r->ops_per_s = cbx_json_get_double(v, "ops_per_s", -1);
    return good && isfinite(r->ops_per_s) && (*r->by ? r->ops_per_s > 0 && !*r->why : r->ops_per_s == 0 && *r->why);
}

bool cbx__probe_from_json(const cbx_json *v, cbx_probe *out)
{
    cbx_probe p = { .nlevels = 0 };
    const cbx_json *levels = cbx_json_get(v, "levels"), *pipes = cbx_json_get(v, "pipe_ops_per_s");
    bool good = cbx_json_typeof(v) == CBX_JSON_OBJECT && strcmp(cbx_json_get_string(v, "schema", ""), SCHEMA) == 0;

    good = good && cbx_json_get_int(v, "version", 0) == VERSION;
    good = good && strcmp(cbx_json_get_string(v, "revision", ""), cbx_revision()) == 0;
    good = good && strcmp(cbx_json_get_string(v, "build", ""), cbx_build()) == 0;
    good = good && take_word(v, "instruction_set", p.instruction_set, sizeof(p.instruction_set));
    p.measured_us = cbx_json_get_int(v, "measured_us", 0);
    good = good && p.measured_us > 0 && cbx_json_typeof(levels) == CBX_JSON_ARRAY &&
           cbx_json_length(levels) <= CBX_PROBE_MAX_LEVELS;
    for (int i = 0; good && i < CBX_PIPE_COUNT; i++) {
        const cbx_json *pair = cbx_json_get(pipes, cbx_pipe_name((cbx_pipe)i));
        good = take_rate(pair, "f32", &p.pipe_ops_per_s[i][0]) && take_rate(pair, "f64", &p.pipe_ops_per_s[i][1]);
    }
    for (int i = 0; good && i < CBX_NARROW_COUNT; i++) good = take_narrow(cbx_json_get(v, "narrow"), i, &p.narrow[i]);
    p.nlevels = good ? (int)cbx_json_length(levels) : 0;
    for (int i = 0; good && i < p.nlevels; i++) {
        const cbx_json *level = cbx_json_at(levels, (size_t)i);
        cbx_level_rate *l = &p.level[i];
        int64_t bytes = cbx_json_get_int(level, "bytes", -1);
        good = bytes >= 0 && take_word(level, "name", l->name, sizeof(l->name));
        l->bytes = good ? (size_t)bytes : 0;
        for (size_t k = 0; good && k < CBX_LEN(level_rates); k++)
            good = take_rate(level, level_rates[k].key, rate_at(l, k));
    }
    good = good && p.nlevels > 0 && p.level[p.nlevels - 1].bytes == 0; /* memory, last */
    if (good) *out = p;
    return good;
}

cbx_json *cbx__probe_to_json(const cbx_probe *p)
{
    cbx_json *v = cbx_json_object(J_TEXT("schema", SCHEMA), J_INT("version", VERSION),
                                  J_TEXT("revision", cbx_revision()), J_TEXT("build", cbx_build()),
                                  J_TEXT("instruction_set", p->instruction_set), J_INT("measured_us", p->measured_us));
    cbx_json *list = cbx_json_set_object(v, "pipe_ops_per_s"), *one;

    for (int i = 0; i < CBX_PIPE_COUNT; i++)
        cbx_json_put(list,
                     J_JSON(cbx_pipe_name((cbx_pipe)i), cbx_json_object(J_NUMBER("f32", p->pipe_ops_per_s[i][0]),
                                                                        J_NUMBER("f64", p->pipe_ops_per_s[i][1]))));
    list = cbx_json_set_array(v, "narrow");
    for (int i = 0; i < CBX_NARROW_COUNT; i++)
        cbx_json_push(list, cbx_json_object(J_TEXT("type", cbx_narrow_type((cbx_narrow)i)),
                                            J_TEXT("unit", cbx_narrow_unit((cbx_narrow)i)),
                                            J_NUMBER("ops_per_s", p->narrow[i].ops_per_s),
                                            J_TEXT("by", p->narrow[i].by), J_TEXT("why", p->narrow[i].why)));
    list = cbx_json_set_array(v, "levels");
    for (int i = 0; i < p->nlevels; i++) {
        one = cbx_json_push_object(list);
        cbx_json_put(one, J_TEXT("name", p->level[i].name), J_INT("bytes", p->level[i].bytes));
        for (size_t k = 0; k < CBX_LEN(level_rates); k++)
            cbx_json_set_double(one, level_rates[k].key, *rate_at(&p->level[i], k));
    }
    return cbx_json_finish(v);
}

cbx_status cbx_probe_get(cbx_ctx *ctx, const char *machine_id, bool refresh, cbx_probe *out, cbx_err *err)
{
    const char *folder = NULL, *path = NULL, *name;
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    CBX_SCOPED(cbx_text, text, cbx_ctx_allocator(ctx));
    CBX_OWNED(cbx_json) *known = NULL;
    CBX_OWNED(cbx_json) *v = NULL;
    cbx_status st;

    if (!machine_id || !cbx_name_is_safe(machine_id))
        return cbx_fail(err, CBX_EINVAL, "machine id '%s' cannot name a file", machine_id ? machine_id : "(null)");
    name = cbx_arena_printf(&arena, "%s.json", machine_id);
    if (name && cbx_cache_dir(ctx, "probe", &arena, &folder, NULL) == CBX_OK)
        path = cbx_path_join(&arena, folder, name);
    if (path && !refresh && !cbx_json_read(ctx, path, &known, NULL) && cbx__probe_from_json(known, out)) return CBX_OK;
    st = cbx_probe_measure(ctx, out, err);
    v = st || !path ? NULL : cbx__probe_to_json(out);
    if (!v) return st;
    cbx_json_write(v, CBX_JSON_INDENT2, &text);
    cbx_text_putc(&text, '\n');
    if (text.status == CBX_OK) cbx_file_write_atomic(ctx, path, text.data, text.len, NULL);
    return CBX_OK;
}
