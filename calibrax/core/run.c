/* Frozen runs: making and unmaking, getters, equality, changed copies. */
#include "calibrax/core/run.h"

#include <string.h>

#include "calibrax/core/run_parts.h"

cbx_status cbx__run_new(const cbx_allocator *al, cbx_run **out, cbx_err *err)
{
    cbx_run *run = cbx_mem_zalloc(al, sizeof *run);

    if (!run) return cbx_fail_nomem(err, NULL);
    atomic_init(&run->refs, 1);
    cbx_arena_init(&run->arena, al);
    cbx_arena_init(&run->words, al);
    cbx_names_init(&run->def_names, al);
    run->environment = cbx_json_new_object();
    run->metadata = cbx_json_new_object();
    run->extra = cbx_json_new_object();
    if (!run->environment || !run->metadata || !run->extra) {
        cbx_run_free(run);
        return cbx_fail_nomem(err, NULL);
    }
    *out = run;
    return CBX_OK;
}

cbx_run *cbx_run_ref(cbx_run *run)
{
    atomic_fetch_add_explicit(&run->refs, 1, memory_order_relaxed);
    return run;
}

void cbx_run_free(cbx_run *run)
{
    cbx_allocator al;

    /* the last one sees all that the others did before they let go */
    if (!run || atomic_fetch_sub_explicit(&run->refs, 1, memory_order_acq_rel) != 1) return;
    al = run->arena.al;
    for (size_t i = 0; i < run->ndefs; i++) cbx_json_unref(run->defs[i].raw);
    for (size_t i = 0; i < run->npoints; i++) cbx_json_unref(run->points[i].raw);
    cbx_json_unref(run->environment);
    cbx_json_unref(run->metadata);
    cbx_json_unref(run->extra);
    cbx_mem_free(&al, run->defs, run->defs_cap * sizeof *run->defs);
    cbx_mem_free(&al, run->points, run->points_cap * sizeof *run->points);
    cbx_arena_clear(&run->arena);
    cbx_arena_clear(&run->words);
    cbx_names_clear(&run->def_names);
    cbx_mem_free(&al, run, sizeof *run);
}

const char *cbx_run_id(const cbx_run *run) { return run->id; }
int64_t cbx_run_timestamp_us(const cbx_run *run) { return run->timestamp_us; }
const char *cbx_run_commit(const cbx_run *run) { return run->commit; }
const char *cbx_run_branch(const cbx_run *run) { return run->branch; }
const cbx_json *cbx_run_environment(const cbx_run *run) { return run->environment; }
const cbx_json *cbx_run_metadata(const cbx_run *run) { return run->metadata; }

cbx_same_machine cbx_run_same_machine(const cbx_run *a, const cbx_run *b)
{
    const cbx_json *x = cbx_json_get(a->environment, "machine"), *y = cbx_json_get(b->environment, "machine");
    const char *s = cbx_json_string_value(x), *t = cbx_json_string_value(y);

    if (!x || !y || (s && !*s) || (t && !*t)) return CBX_MACHINE_UNKNOWN;
    if (s && t) return cbx_machine_compare(s, t);
    return cbx_json_equal(x, y) ? CBX_MACHINE_SAME : CBX_MACHINE_OTHER;
}

bool cbx_run_id_is_valid(const char *id)
{
    size_t n = strlen(id);

    for (const char *c = id; *c; c++) {
        unsigned char u = (unsigned char)*c, next = (unsigned char)c[1];
        if (u < 0x20 || u == 0x7f || u == '/' || (u == 0xc2 && next >= 0x80 && next < 0xa0)) return false;
    }
    return n >= 1 && n <= 200 && id[0] != '.';
}

int64_t cbx_run_schema_version(const cbx_run *run) { return cbx_json_get_int(run->extra, "schema_version", 0); }
size_t cbx_run_npoints(const cbx_run *run) { return run->npoints; }
size_t cbx_run_nmetric_defs(const cbx_run *run) { return run->ndefs; }
const cbx_point *cbx_run_point(const cbx_run *run, size_t i) { return i < run->npoints ? &run->points[i].view : NULL; }
const cbx_metric_def *cbx_run_metric_def(const cbx_run *run, size_t i)
{
    return i < run->ndefs ? &run->defs[i].def : NULL;
}

size_t cbx__run_def_at(const cbx_run *run, const char *key)
{
    size_t at = 0;

    if (run->def_names.n) {
        at = cbx_names_find(&run->def_names, key);
        return at == CBX_NO_NAME ? run->ndefs : at;
    }
    while (at < run->ndefs && strcmp(run->defs[at].key, key) != 0) at++;
    return at;
}

const cbx_metric_def *cbx_run_find_metric_def(const cbx_run *run, const char *name)
{
    size_t at = cbx__run_def_at(run, name);

    return at < run->ndefs ? &run->defs[at].def : NULL;
}

cbx_status cbx_run_hash(const cbx_run *run, char out[CBX_HASH_SIZE], cbx_err *err)
{
    cbx_text text;
    cbx_status st;

    cbx_text_init(&text, &run->arena.al);
    st = cbx__run_canonical(run, &text, err);
    if (!st) cbx_hash_bytes(cbx_text_str(&text), text.len, out);
    cbx_text_clear(&text);
    return st;
}

cbx_status cbx_run_equal(const cbx_run *a, const cbx_run *b, bool *equal, cbx_err *err)
{
    cbx_text x, y;
    cbx_status st;

    if (a == b || strcmp(a->id, b->id) != 0 || a->npoints != b->npoints) {
        *equal = a == b;
        return CBX_OK;
    }
    cbx_text_init(&x, &a->arena.al);
    cbx_text_init(&y, &a->arena.al);
    st = cbx__run_canonical(a, &x, err);
    if (!st) st = cbx__run_canonical(b, &y, err);
    if (!st) *equal = x.len == y.len && memcmp(cbx_text_str(&x), cbx_text_str(&y), x.len) == 0;
    cbx_text_clear(&x);
    cbx_text_clear(&y);
    return st;
}

/* --- changed copies --- */

/* Freezes what a setter left behind, and frees the builder. */
static cbx_status finish(cbx_run_builder *b, cbx_status st, cbx_run **out, cbx_err *err)
{
    if (!st) st = cbx_run_builder_freeze(b, out, err);
    cbx_run_builder_free(b);
    return st;
}

cbx_status cbx_run_with_id(cbx_ctx *ctx, const cbx_run *run, const char *id, cbx_run **out, cbx_err *err)
{
    cbx_run_builder *b = NULL;
    cbx_status st = cbx_run_builder_from(ctx, run, &b, err);

    if (!st) st = cbx_run_builder_set_id(b, id, err);
    return finish(b, st, out, err);
}

cbx_status cbx_run_with_point(cbx_ctx *ctx, const cbx_run *run, const cbx_point *point, cbx_run **out, cbx_err *err)
{
    cbx_run_builder *b = NULL;
    cbx_status st = cbx_run_builder_from(ctx, run, &b, err);

    if (!st) st = cbx_run_builder_add_point(b, point, err);
    return finish(b, st, out, err);
}

cbx_status cbx_run_with_metadata(cbx_ctx *ctx, const cbx_run *run, const char *key, cbx_json *value, cbx_run **out,
                                 cbx_err *err)
{
    cbx_run_builder *b = NULL;
    cbx_status st = cbx_run_builder_from(ctx, run, &b, err);

    if (st)
        cbx_json_unref(value);
    else
        st = cbx_run_builder_set_metadata(b, key, value, err);
    return finish(b, st, out, err);
}
