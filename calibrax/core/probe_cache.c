/*
 * The probe's file in the user's cache folder, <cache>/probe/<machine>.json: one machine, one
 * build.  A file that does not read in full is worth nothing, and measuring again costs a fifth of
 * a second: there is no error to report about it.
 */
#include <math.h>
#include <stdio.h>

#include "calibrax/base/file.h"
#include "calibrax/base/json_put.h"
#include "calibrax/base/version.h"
#include "calibrax/core/owned.h"
#include "calibrax/core/probe_internal.h"

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

static void read_word(const cbx_json *v, const char *key, char *out, size_t size)
{
    snprintf(out, size, "%s", cbx_json_get_string(v, key, ""));
}

static bool read_rate(const cbx_json *v, const char *key, double *out)
{
    *out = cbx_json_get_double(v, key, 0);
    return isfinite(*out) && *out > 0;
}

/* What is missing, too long, of another type or of another build does not read back as it was. */
bool cbx__probe_from_json(const cbx_json *v, cbx_probe *out)
{
    const cbx_json *levels = cbx_json_get(v, "levels"), *narrow = cbx_json_get(v, "narrow");
    cbx_probe p = { .measured_us = cbx_json_get_int(v, "measured_us", 0) };
    bool good = p.measured_us > 0;

    read_word(v, "instruction_set", p.instruction_set, sizeof p.instruction_set);
    for (int i = 0; i < CBX_PIPE_COUNT; i++) {
        const cbx_json *pair = cbx_json_get(cbx_json_get(v, "pipe_ops_per_s"), cbx_pipe_name((cbx_pipe)i));
        good &= read_rate(pair, "f32", &p.pipe_ops_per_s[i][0]);
        good &= read_rate(pair, "f64", &p.pipe_ops_per_s[i][1]);
    }
    for (int i = 0; i < CBX_NARROW_COUNT; i++) { /* a rate and its instruction, or why it is missing */
        const cbx_json *one = cbx_json_at(narrow, (size_t)i);
        cbx_narrow_rate *r = &p.narrow[i];
        read_word(one, "by", r->by, sizeof r->by);
        read_word(one, "why", r->why, sizeof r->why);
        good &= *r->by ? read_rate(one, "ops_per_s", &r->ops_per_s) && !*r->why : *r->why != 0;
    }
    for (; p.nlevels < CBX_PROBE_MAX_LEVELS && (size_t)p.nlevels < cbx_json_length(levels); p.nlevels++) {
        const cbx_json *one = cbx_json_at(levels, (size_t)p.nlevels);
        cbx_level_rate *l = &p.level[p.nlevels];
        int64_t bytes = cbx_json_get_int(one, "bytes", -1);
        good &= bytes >= 0;
        l->bytes = (size_t)bytes;
        read_word(one, "name", l->name, sizeof l->name);
        for (size_t k = 0; k < CBX_LEN(level_rates); k++) good &= read_rate(one, level_rates[k].key, rate_at(l, k));
    }
    good = good && p.nlevels > 0 && p.level[p.nlevels - 1].bytes == 0; /* memory, last */
    CBX_OWNED(cbx_json) *again = good ? cbx__probe_to_json(&p) : NULL;
    good = again && cbx_json_equal(v, again);
    if (good) *out = p;
    return good;
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
