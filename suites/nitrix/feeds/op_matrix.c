/* The op_matrix: a fragment from rows, and its fields written to a matrix. */
#include <math.h>
#include <string.h>

#include "calibrax/base/json_put.h"
#include "suites/nitrix/feeds/feed.h"
#include "suites/nitrix/feeds/feed_rows.h"

/* Cases whose name differs from that of their operation. */
static const struct {
    const char *case_name, *qualname;
} others[] = {
    { "ell_edge_aggregate", "nitrix.semiring.semiring_ell_edge_aggregate" },
    { "ell_matmul", "nitrix.semiring.semiring_ell_matmul" },
    { "ell_row_softmax", "nitrix.semiring.ell_row_softmax" },
};

const char *cbx_feed_qualname(cbx_arena *arena, const char *case_name)
{
    for (size_t i = 0; i < CBX_LEN(others); i++)
        if (!strcmp(others[i].case_name, case_name)) return others[i].qualname;
    return cbx_arena_printf(arena, "nitrix.semiring.%s", case_name);
}

/* The device of a platform in the op_matrix. */
static const struct {
    const char *platform, *device;
} devices[] = { { "cpu", "cpu" }, { "jax-cpu", "cpu" }, { "cuda12", "gpu" }, { "jax-cuda12", "gpu" } };

static const char *device_of(const cbx_row *row)
{
    for (size_t i = 0; i < CBX_LEN(devices); i++)
        if (!strcmp(devices[i].platform, row->platform)) return devices[i].device;
    return NULL;
}

/* The fastest variant of a baseline on a device: the smallest minimum of its good rows; else any
 * row, for the reason. */
static const cbx_row *side(const cbx__feed_rows *f, const char *device, const char *baseline)
{
    const cbx_row *best = NULL;

    for (size_t i = 0; i < f->nnewest; i++) {
        const cbx_row *r = f->newest[i];
        if (!device_of(r) || strcmp(device_of(r), device) != 0 || strcmp(r->baseline, baseline) != 0) continue;
        if (!best || (cbx_row_is_good(r) && (!cbx_row_is_good(best) || r->min_s < best->min_s))) best = r;
    }
    return best;
}

/* perf_DEVICE_baseline and perf_DEVICE_ratio: null, with a note, if a side has no good row. */
static void put_device(cbx_arena *arena, const cbx__feed_rows *f, const char *device, const char *primary,
                       const char *reference, cbx_json *fields, cbx_json *notes)
{
    const char *const names[] = { primary, reference };
    const cbx_row *rows[] = { side(f, device, primary), side(f, device, reference) };
    const char *name = cbx_arena_printf(arena, "perf_%s_baseline", device),
               *ratio = cbx_arena_printf(arena, "perf_%s_ratio", device);

    bool there = false;

    for (size_t i = 0; i < f->nnewest; i++)
        there |= device_of(f->newest[i]) && !strcmp(device_of(f->newest[i]), device);
    for (int i = 0; there && i < 2; i++) {
        const cbx_row *r = rows[i];
        if (r && cbx_row_is_good(r) && r->min_s > 0) continue;
        cbx_json_put(fields, J_NULL(name), J_NULL(ratio));
        cbx_json_set_string(notes, device,
                            r ? cbx_arena_printf(arena, "'%s' is %s", names[i], r->status)
                              : cbx_arena_printf(arena, "no row of '%s'", names[i]));
        return;
    }
    if (!there) return;
    cbx_json_put(fields, J_TEXT(name, reference), J_NUMBER(ratio, round(1e4 * rows[0]->min_s / rows[1]->min_s) / 1e4));
}

static void put_fields(cbx_arena *arena, const cbx__feed_rows *f, const cbx_feed_opts *opts, cbx_json *fields)
{
    const char *reference = opts->reference ? opts->reference : "naive-dense", *ratio_vs = NULL;
    cbx_json *meta = cbx_json_set_object(fields, "_meta"), *notes;

    for (size_t i = f->n; i-- > 0 && !ratio_vs;) ratio_vs = f->rows[i]->ratio_vs;
    const char *primary = opts->primary ? opts->primary : ratio_vs ? ratio_vs : "nitrix-jax";
    const char *rule = opts->primary ? "as named"
                       : ratio_vs    ? "the reference of the rows' ratios"
                                     : "the default, since no row has a ratio";
    cbx_json_put(meta, J_JSON("point", cbx__feed_point_json(f)), J_TEXT("reference", reference),
                 J_TEXT("primary", primary), J_TEXT("primary_rule", rule),
                 J_TEXT("ratio_convention", "primary min / reference min; below 1: the library is faster"),
                 J_TEXT("machine", f->machine), J_TEXT("source", opts->source ? opts->source : "nperf rows"));
    notes = cbx_json_set_object(meta, "notes");
    put_device(arena, f, "cpu", primary, reference, fields, notes);
    put_device(arena, f, "gpu", primary, reference, fields, notes);
}

cbx_status cbx_feed_make(cbx_ctx *ctx, const cbx_rows *rows, const cbx_feed_opts *opts, cbx_json **out, cbx_err *err)
{
    cbx__feed_want want = { .case_name = opts->case_name, .machine = opts->machine, .without_fast = true };
    cbx_json *root = NULL;
    cbx__feed_memory m;
    cbx__feed_rows f;

    if (opts->struct_size != sizeof *opts) return cbx_fail(err, CBX_EINVAL, "cbx_feed_opts of another version");
    if (!opts->case_name) return cbx_fail(err, CBX_EINVAL, "a feed requires the name of a case");
    cbx__feed_begin(&m, ctx);
    cbx_status st = cbx__feed_select(&m.arena, rows, &want, &f, err);
    if (!st) {
        root = cbx_json_new_object();
        put_fields(&m.arena, &f, opts, cbx_json_set_object(root, cbx_feed_qualname(&m.arena, opts->case_name)));
    }
    return cbx__feed_end(&m, st, root, "a feed", out, err);
}

/* --- apply --- */

cbx_status cbx_feed_apply(const cbx_json *fragment, const cbx_json *matrix, const char *what, cbx_json **out,
                          size_t *unknown, cbx_err *err)
{
    cbx_json *ops = NULL, *fields, *v;
    const char *qualname, *key;
    cbx_status st = cbx_json_need_array(matrix, "ops", what, &ops, err);

    if (st) return st;
    cbx_json *copy = cbx_json_copy(matrix);
    if (unknown) *unknown = 0;
    ops = cbx_json_get(copy, "ops");
    for (size_t i = 0; cbx_json_member(fragment, i, &qualname, &fields); i++) {
        size_t k = 0;
        while (k < cbx_json_length(ops) && strcmp(cbx_json_get_string(cbx_json_at(ops, k), "qualname", ""), qualname))
            k++;
        if (k == cbx_json_length(ops)) {
            if (unknown) (*unknown)++;
            continue;
        }
        for (size_t j = 0; cbx_json_member(fields, j, &key, &v); j++) {
            if (!strncmp(key, "perf_", 5)) cbx_json_put(cbx_json_at(ops, k), J_COPY(key, v));
        }
    }
    *out = cbx_json_finish(copy);
    return *out ? CBX_OK : cbx_fail_nomem(err, "a copy of an op_matrix");
}
