/* The op_matrix: a fragment from rows, and its fields laid over a matrix. */
#include <math.h>
#include <string.h>

#include "suites/nitrix/feeds/feed.h"
#include "suites/nitrix/feeds/feed_rows.h"

/* Cases whose operation has another name than they. */
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

/* Platforms of rows, by the device that the matrix speaks of. */
static const struct {
    const char *platform, *device;
} devices[] = { { "cpu", "cpu" }, { "jax-cpu", "cpu" }, { "cuda12", "gpu" }, { "jax-cuda12", "gpu" } };

static const char *device_of(const cbx_row *row)
{
    for (size_t i = 0; i < CBX_LEN(devices); i++)
        if (!strcmp(devices[i].platform, row->platform)) return devices[i].device;
    return NULL;
}

/* The baseline that stands for the library, and why it does. */
static const char *primary_of(const cbx__feed_rows *f, const char *named, const char **rule)
{
    *rule = "as named";
    if (named) return named;
    *rule = "what the rows' ratios are against";
    for (size_t i = f->n; i-- > 0;)
        if (f->rows[i]->ratio_vs) return f->rows[i]->ratio_vs;
    *rule = "since no row has a ratio";
    return "nitrix-jax";
}

static bool has_device(const cbx__feed_rows *f, const char *device)
{
    for (size_t i = 0; i < f->nnewest; i++)
        if (device_of(f->newest[i]) && !strcmp(device_of(f->newest[i]), device)) return true;
    return false;
}

/* The strongest variant of a baseline on a device: the least minimum of its good rows; else any
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

static bool is_usable(const cbx_row *r) { return r && cbx_row_is_good(r) && r->min_s > 0; }

static const char *why_not(cbx_arena *arena, const char *name, const cbx_row *r)
{
    if (!r) return cbx_arena_printf(arena, "no row of '%s'", name);
    return cbx_arena_printf(arena, "'%s' is %s", name, r->status);
}

static bool put_device(cbx_arena *arena, const cbx__feed_rows *f, const char *device, const char *primary,
                       const char *reference, cbx_json *fields, cbx_json *notes)
{
    const cbx_row *a = side(f, device, primary), *b = side(f, device, reference);
    const char *name = cbx_arena_printf(arena, "perf_%s_baseline", device),
               *ratio = cbx_arena_printf(arena, "perf_%s_ratio", device);

    if (!name || !ratio) return false;
    if (is_usable(a) && is_usable(b))
        return cbx_json_set_string(fields, name, reference) &&
               cbx_json_set_double(fields, ratio, round(1e4 * a->min_s / b->min_s) / 1e4);
    return cbx_json_set_null(fields, name) && cbx_json_set_null(fields, ratio) &&
           cbx_json_set_string(notes, device, is_usable(a) ? why_not(arena, reference, b) : why_not(arena, primary, a));
}

static bool fill_fields(cbx_arena *arena, const cbx__feed_rows *f, const cbx_feed_opts *opts, cbx_json *fields)
{
    const char *reference = opts->reference ? opts->reference : "naive-dense", *rule;
    const char *primary = primary_of(f, opts->primary, &rule);
    cbx_json *meta = cbx_json_new_object(), *notes = cbx_json_new_object(), *point = NULL;
    bool ok = meta && notes && !cbx_json_parse(f->point, strlen(f->point), "point", &point, NULL);

    ok = ok && cbx_json_set(meta, "point", point) && cbx_json_set_string(meta, "reference", reference) &&
         cbx_json_set_string(meta, "primary", primary) && cbx_json_set_string(meta, "primary_rule", rule) &&
         cbx_json_set_string(meta, "ratio_convention", "primary min / reference min; below 1: the library is faster") &&
         cbx_json_set_string(meta, "machine", f->machine) &&
         cbx_json_set_string(meta, "source", opts->source ? opts->source : "nperf rows");
    ok = cbx_json_set(fields, "_meta", meta) && ok;
    if (ok && has_device(f, "cpu")) ok = put_device(arena, f, "cpu", primary, reference, fields, notes);
    if (ok && has_device(f, "gpu")) ok = put_device(arena, f, "gpu", primary, reference, fields, notes);
    if (!ok) {
        cbx_json_unref(notes);
        return false;
    }
    return cbx_json_set(meta, "notes", notes);
}

cbx_status cbx_feed_make(cbx_ctx *ctx, const cbx_rows *rows, const cbx_feed_opts *opts, cbx_json **out, cbx_err *err)
{
    cbx__feed_want want = { .case_name = opts->case_name, .machine = opts->machine, .without_fast = true };
    cbx_json *root = NULL;
    cbx__memory_watch watch;
    cbx__feed_rows f;
    cbx_arena arena;

    if (opts->struct_size != sizeof *opts) return cbx_fail(err, CBX_EINVAL, "cbx_feed_opts of another version");
    if (!opts->case_name) return cbx_fail(err, CBX_EINVAL, "a feed needs the name of a case");
    cbx__memory_watch_init(&watch, cbx_ctx_allocator(ctx));
    cbx_arena_init(&arena, &watch.al);
    cbx_status st = cbx__feed_select(&arena, rows, &want, &f, err);
    if (!st) {
        bool ok;
        root = cbx_json_new_object();
        cbx_json *fields = cbx_json_new_object();
        const char *qualname = cbx_feed_qualname(&arena, opts->case_name);
        ok = root && fields && qualname && fill_fields(&arena, &f, opts, fields);
        if (root && qualname && fields)
            ok = cbx_json_set(root, qualname, fields) && ok;
        else
            cbx_json_unref(fields);
        if (!ok || watch.failed) st = cbx_fail(err, CBX_ENOMEM, "no memory for a feed");
    }
    if (st)
        cbx_json_unref(root);
    else
        *out = root;
    cbx_arena_clear(&arena);
    return st;
}

/* --- apply --- */

static cbx_json *find_op(const cbx_json *ops, const char *qualname)
{
    for (size_t i = 0; i < cbx_json_length(ops); i++)
        if (!strcmp(cbx_json_get_string(cbx_json_at(ops, i), "qualname", ""), qualname)) return cbx_json_at(ops, i);
    return NULL;
}

static bool lay_over(cbx_json *op, const cbx_json *fields)
{
    const char *key;
    cbx_json *v;

    for (size_t i = 0; cbx_json_member(fields, i, &key, &v); i++) {
        if (strncmp(key, "perf_", 5) != 0) continue;
        if (!(v ? cbx_json_set(op, key, cbx_json_ref(v)) : cbx_json_set_null(op, key))) return false;
    }
    return true;
}

cbx_status cbx_feed_apply(const cbx_json *fragment, const cbx_json *matrix, const char *what, cbx_json **out,
                          size_t *unknown, cbx_err *err)
{
    cbx_json *ops = NULL, *fields;
    const char *qualname;
    cbx_status st = cbx_json_need_array(matrix, "ops", what, &ops, err);

    if (st) return st;
    cbx_json *copy = cbx_json_copy(matrix);
    if (!copy) return cbx_fail(err, CBX_ENOMEM, "no memory for a copy of '%s'", what);
    if (unknown) *unknown = 0;
    ops = cbx_json_get(copy, "ops");
    for (size_t i = 0; !st && cbx_json_member(fragment, i, &qualname, &fields); i++) {
        cbx_json *op = find_op(ops, qualname);
        if (!op && unknown) (*unknown)++;
        if (op && !lay_over(op, fields)) st = cbx_fail(err, CBX_ENOMEM, "no memory for the fields of '%s'", qualname);
    }
    if (st)
        cbx_json_unref(copy);
    else
        *out = copy;
    return st;
}
