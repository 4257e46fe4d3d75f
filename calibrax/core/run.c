/* Runs: builders and what a new one finds out by itself, frozen runs with their getters, equality,
 * changed copies. */
#include "calibrax/core/run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "calibrax/base/json_put.h"
#include "calibrax/base/options.h"
#include "calibrax/base/vcs.h"
#include "calibrax/base/version.h"
#include "calibrax/core/owned.h"
#include "calibrax/core/run_internal.h"

#define MAX_SEARCHED 16 /* definitions that are found without a table */

cbx_status cbx__run_new(const cbx_allocator *al, cbx_run **out, cbx_err *err)
{
    cbx_run *run = CBX_ARENA_OBJECT(cbx_run, al);

    if (!run) return cbx_fail_nomem(err, NULL);
    atomic_init(&run->refs, 1);
    cbx_arena_init(&run->words, al);
    cbx_names_init(&run->def_names, CBX_IN_ARENA(&run->arena));
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
    /* the last owner sees all that the others did before they gave up theirs */
    if (!run || atomic_fetch_sub_explicit(&run->refs, 1, memory_order_acq_rel) != 1) return;
    for (size_t i = 0; i < run->defs.n; i++) cbx_json_unref(run->defs.items[i].raw);
    for (size_t i = 0; i < run->points.n; i++) cbx_json_unref(run->points.items[i].raw);
    cbx_json_unref(run->environment);
    cbx_json_unref(run->metadata);
    cbx_json_unref(run->extra);
    cbx_list_clear(&run->arena.al, &run->defs);
    cbx_list_clear(&run->arena.al, &run->points);
    cbx_arena_clear(&run->words);
    cbx_arena_end(&run->arena);
}

/* --- parts of a run --- */

cbx_status cbx__run_keep(const cbx_run *run, const cbx_json *v, cbx_json **out, cbx_err *err)
{
    *out = run->private_tree ? cbx_json_ref((cbx_json *)(uintptr_t)v) : v ? cbx_json_copy(v) : NULL;
    return v && !*out ? cbx_fail_nomem(err, NULL) : CBX_OK;
}

cbx_status cbx__run_own_point(cbx_run *run, const cbx_point *point, const cbx_json *raw, cbx_err *err)
{
    run_point p = { .view = *point };

    if (!cbx_list_reserve(&run->arena.al, &run->points, run->points.n + 1)) return cbx_fail_nomem(err, NULL);
    cbx_status st = cbx__run_keep(run, raw, &p.raw, err);
    if (!st) run->points.items[run->points.n++] = p;
    return st;
}

cbx_status cbx__run_point_text(cbx_arena *arena, cbx_point *p, cbx_err *err)
{
    cbx_status st = cbx__record_text(arena, p->name, "point name", &p->name, err);

    return st ? st : cbx__record_text(arena, p->scenario, "scenario", &p->scenario, err);
}

static cbx_status put_point(cbx_run *run, const cbx_point *point, const cbx_json *raw, cbx_err *err)
{
    cbx_point p = *point;
    cbx_status st = cbx__run_point_text(&run->arena, &p, err);

    if (!st) st = cbx__record_tags(&run->arena, point->tags, point->ntags, &p.tags, err);
    if (!st) st = cbx__record_metrics(&run->arena, point->metrics, point->nmetrics, &p.metrics, err);
    return st ? st : cbx__run_own_point(run, &p, raw, err);
}

/* The place of a definition, or the number of them. */
static size_t def_at(const cbx_run *run, const char *key)
{
    size_t at = 0;

    if (run->def_names.n) {
        at = cbx_names_find(&run->def_names, key);
        return at == CBX_NO_NAME ? run->defs.n : at;
    }
    while (at < run->defs.n && strcmp(run->defs.items[at].key, key) != 0) at++;
    return at;
}

cbx_status cbx__run_put_def(cbx_run *run, const char *key, const cbx_metric_def *def, const cbx_json *raw, cbx_err *err)
{
    run_def d = { 0 };
    size_t at;
    cbx_status st = cbx__record_def(&run->arena, def, &d.def, err);

    if (!st) st = cbx__record_text(&run->arena, key, "metric name", &d.key, err);
    if (!st && !cbx_list_reserve(&run->arena.al, &run->defs, run->defs.n + 1)) st = cbx_fail_nomem(err, NULL);
    if (!st) st = cbx__run_keep(run, raw, &d.raw, err);
    if (st) return st;
    at = def_at(run, key);
    if (at < run->defs.n) cbx_json_unref(run->defs.items[at].raw);
    run->defs.items[at] = d;
    run->defs.n += at == run->defs.n;
    while (run->defs.n > MAX_SEARCHED && run->def_names.n < run->defs.n)
        if (cbx_names_add(&run->def_names, run->defs.items[run->def_names.n].key) == CBX_NO_NAME)
            return cbx_fail_nomem(err, NULL);
    return CBX_OK;
}

/* --- what a new run finds out; facts that are missing are left out, memory that runs out is an
 * error --- */

static cbx_status fill_new(cbx_ctx *ctx, const cbx_run_opts *opts, cbx_run *run, cbx_err *err)
{
    unsigned char bits[6];
    char id[13];
    cbx_machine m;
    cbx_vcs_facts vcs = { 0 };
    cbx_status st;

    if (getrandom(bits, sizeof bits, 0) != (ssize_t)sizeof bits)
        return cbx_fail_errno(err, errno, "no random numbers for a run id");
    for (size_t i = 0; i < sizeof bits; i++) snprintf(id + 2 * i, 3, "%02x", bits[i]);
    st = cbx__record_text(&run->arena, id, "id", &run->id, err);
    run->timestamp_us = cbx_time_now_us();
    if (st) return st;
    if (!opts->no_machine) st = cbx_machine_read(ctx, NULL, &m, err);
    if (st == CBX_ENOMEM) return st;
    if (!st && !opts->no_machine)
        cbx_json_put(run->environment, J_TEXT("machine", m.id), J_JSON("hardware", cbx_machine_to_json(&m)));
    if (!opts->no_versions)
        cbx_json_set(run->environment, "versions",
                     cbx_json_object(J_TEXT("calibrax", cbx_version()), J_TEXT("revision", cbx_revision()),
                                     J_TEXT("build", cbx_build())));
    st = opts->no_vcs ? CBX_OK : cbx_vcs_read(ctx, opts->work_tree, &vcs, err);
    if (st == CBX_ENOMEM) return st;
    st = vcs.known ? cbx__record_text(&run->arena, vcs.commit, "commit", &run->commit, err) : CBX_OK;
    if (!st && *vcs.branch) st = cbx__record_text(&run->arena, vcs.branch, "branch", &run->branch, err);
    if (vcs.known) cbx_json_set_bool(run->environment, "dirty", vcs.dirty);
    if (!st) st = cbx_json_check(run->environment, err);
    if (!st && !cbx_json_set_int(run->extra, "schema_version", CBX_RUN_SCHEMA_VERSION)) st = cbx_fail_nomem(err, NULL);
    return st;
}

/* --- builders --- */

static cbx_status builder_new(cbx_ctx *ctx, cbx_run_builder **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_run_builder *b = cbx_mem_zalloc(al, sizeof *b);
    cbx_status st;

    if (!b) return cbx_fail_nomem(err, NULL);
    b->al = *al;
    st = cbx__run_new(al, &b->run, err);
    return CBX_FINISH(st, *out = b, cbx_run_builder_free(b));
}

void cbx_run_builder_free(cbx_run_builder *b)
{
    if (!b) return;
    cbx_run_free(b->run);
    cbx_mem_free(&b->al, b, sizeof *b);
}

cbx_status cbx_run_builder_create(cbx_ctx *ctx, const cbx_run_opts *opts, cbx_run_builder **out, cbx_err *err)
{
    cbx_run_opts o = CBX_RUN_OPTS_INIT;
    cbx_run_builder *b = NULL;
    cbx_status st = cbx_take_options(&o, sizeof o, opts, "cbx_run_opts", err);

    if (!st) st = builder_new(ctx, &b, err);
    if (!st) st = fill_new(ctx, &o, b->run, err);
    return CBX_FINISH(st, *out = b, cbx_run_builder_free(b));
}

static cbx_status replace_json(cbx_json **slot, const cbx_json *with, cbx_err *err)
{
    cbx_json *copy = cbx_json_copy(with);

    if (!copy) return cbx_fail_nomem(err, NULL);
    cbx_json_unref(*slot);
    *slot = copy;
    return CBX_OK;
}

static cbx_status copy_maybe(cbx_arena *arena, const char *s, const char *what, const char **out, cbx_err *err)
{
    *out = NULL;
    return s ? cbx__record_text(arena, s, what, out, err) : CBX_OK;
}

cbx_status cbx_run_builder_from(cbx_ctx *ctx, const cbx_run *run, cbx_run_builder **out, cbx_err *err)
{
    cbx_run_builder *b = NULL;
    cbx_run *to;
    cbx_status st = builder_new(ctx, &b, err);

    if (st) return st;
    to = b->run;
    to->timestamp_us = run->timestamp_us;
    st = cbx__record_text(&to->arena, run->id, "id", &to->id, err);
    if (!st) st = copy_maybe(&to->arena, run->timestamp_text, "timestamp", &to->timestamp_text, err);
    if (!st) st = copy_maybe(&to->arena, run->commit, "commit", &to->commit, err);
    if (!st) st = copy_maybe(&to->arena, run->branch, "branch", &to->branch, err);
    if (!st) st = replace_json(&to->environment, run->environment, err);
    if (!st) st = replace_json(&to->metadata, run->metadata, err);
    if (!st) st = replace_json(&to->extra, run->extra, err);
    for (size_t i = 0; !st && i < run->defs.n; i++) {
        const run_def *d = &run->defs.items[i];
        st = cbx__run_put_def(to, d->key, &d->def, d->raw, err);
    }
    for (size_t i = 0; !st && i < run->points.n; i++)
        st = put_point(to, &run->points.items[i].view, run->points.items[i].raw, err);
    return CBX_FINISH(st, *out = b, cbx_run_builder_free(b));
}

static cbx_status check_open(const cbx_run_builder *b, cbx_err *err)
{
    return b->run ? CBX_OK : cbx_fail(err, CBX_EINVAL, "the run was already taken from its builder");
}

cbx_status cbx_run_builder_set_id(cbx_run_builder *b, const char *id, cbx_err *err)
{
    cbx_status st = check_open(b, err);

    if (st) return st;
    if (!id || !cbx_run_id_is_valid(id))
        return cbx_fail(err, CBX_EINVAL,
                        "run id '%s' cannot name a file: leave out '/', control characters and a '.' in front",
                        id ? id : "");
    return cbx__record_text(&b->run->arena, id, "id", &b->run->id, err);
}

cbx_status cbx_run_builder_set_timestamp(cbx_run_builder *b, int64_t us, cbx_err *err)
{
    cbx_status st = check_open(b, err);

    if (st) return st;
    b->run->timestamp_us = us;
    b->run->timestamp_text = NULL;
    return CBX_OK;
}

cbx_status cbx_run_builder_set_commit(cbx_run_builder *b, const char *commit, const char *branch, cbx_err *err)
{
    const char *new_commit = NULL, *new_branch = NULL;
    cbx_status st = check_open(b, err);

    if (!st) st = copy_maybe(&b->run->arena, commit, "commit", &new_commit, err);
    if (!st) st = copy_maybe(&b->run->arena, branch, "branch", &new_branch, err);
    if (st) return st;
    b->run->commit = new_commit;
    b->run->branch = new_branch;
    return CBX_OK;
}

static cbx_status set_free_form(cbx_run_builder *b, bool environment, const char *key, cbx_json *value, cbx_err *err)
{
    char path[CBX__PATH_SIZE];
    cbx_status st = check_open(b, err);

    if (!st && (!key || !cbx__is_utf8(key))) st = cbx_fail(err, CBX_EINVAL, "a free-form value needs a key in UTF-8");
    if (!st && !value) st = cbx_fail_nomem(err, NULL);
    if (!st) st = cbx__record_check_json(value, cbx__path(path, environment ? "environment" : "metadata", key), err);
    if (st) {
        cbx_json_unref(value);
        return st;
    }
    return cbx_json_set(environment ? b->run->environment : b->run->metadata, key, value) ? CBX_OK
                                                                                          : cbx_fail_nomem(err, NULL);
}

cbx_status cbx_run_builder_set_environment(cbx_run_builder *b, const char *key, cbx_json *value, cbx_err *err)
{
    return set_free_form(b, true, key, value, err);
}

cbx_status cbx_run_builder_set_metadata(cbx_run_builder *b, const char *key, cbx_json *value, cbx_err *err)
{
    return set_free_form(b, false, key, value, err);
}

cbx_status cbx_run_builder_add_metric_def(cbx_run_builder *b, const cbx_metric_def *def, cbx_err *err)
{
    cbx_status st = check_open(b, err);

    return st ? st : cbx__run_put_def(b->run, def->name, def, NULL, err);
}

cbx_status cbx_run_builder_add_point(cbx_run_builder *b, const cbx_point *point, cbx_err *err)
{
    cbx_status st = check_open(b, err);

    return st ? st : put_point(b->run, point, NULL, err);
}

cbx_status cbx_run_builder_freeze(cbx_run_builder *b, cbx_run **out, cbx_err *err)
{
    cbx_status st = check_open(b, err);

    if (st) return st;
    *out = b->run;
    b->run = NULL;
    return CBX_OK;
}

/* --- frozen runs --- */

const char *cbx_run_id(const cbx_run *run) { return run->id; }
int64_t cbx_run_timestamp_us(const cbx_run *run) { return run->timestamp_us; }
const char *cbx_run_commit(const cbx_run *run) { return run->commit; }
const char *cbx_run_branch(const cbx_run *run) { return run->branch; }
const cbx_json *cbx_run_environment(const cbx_run *run) { return run->environment; }
const cbx_json *cbx_run_metadata(const cbx_run *run) { return run->metadata; }
int64_t cbx_run_schema_version(const cbx_run *run) { return cbx_json_get_int(run->extra, "schema_version", 0); }
size_t cbx_run_npoints(const cbx_run *run) { return run->points.n; }
size_t cbx_run_nmetric_defs(const cbx_run *run) { return run->defs.n; }

const cbx_point *cbx_run_point(const cbx_run *run, size_t i)
{
    return i < run->points.n ? &run->points.items[i].view : NULL;
}

const cbx_metric_def *cbx_run_metric_def(const cbx_run *run, size_t i)
{
    return i < run->defs.n ? &run->defs.items[i].def : NULL;
}

const cbx_metric_def *cbx_run_find_metric_def(const cbx_run *run, const char *name)
{
    return cbx_run_metric_def(run, def_at(run, name));
}

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

cbx_status cbx_run_hash(const cbx_run *run, char out[CBX_HASH_SIZE], cbx_err *err)
{
    CBX_SCOPED(cbx_text, text, &run->arena.al);
    cbx_status st = cbx__run_canonical(run, &text, err);

    if (!st) cbx_hash_bytes(cbx_text_str(&text), text.len, out);
    return st;
}

cbx_status cbx_run_equal(const cbx_run *a, const cbx_run *b, bool *equal, cbx_err *err)
{
    CBX_SCOPED(cbx_text, x, &a->arena.al);
    CBX_SCOPED(cbx_text, y, &a->arena.al);
    cbx_status st;

    if (a == b || strcmp(a->id, b->id) != 0 || a->points.n != b->points.n) {
        *equal = a == b;
        return CBX_OK;
    }
    st = cbx__run_canonical(a, &x, err);
    if (!st) st = cbx__run_canonical(b, &y, err);
    if (!st) *equal = x.len == y.len && memcmp(cbx_text_str(&x), cbx_text_str(&y), x.len) == 0;
    return st;
}

/* --- changed copies --- */

cbx_status cbx_run_with_metadata(cbx_ctx *ctx, const cbx_run *run, const char *key, cbx_json *value, cbx_run **out,
                                 cbx_err *err)
{
    CBX_OWNED(cbx_run_builder) *b = NULL;
    cbx_status st = cbx_run_builder_from(ctx, run, &b, err);

    if (st)
        cbx_json_unref(value);
    else
        st = cbx_run_builder_set_metadata(b, key, value, err);
    return st ? st : cbx_run_builder_freeze(b, out, err);
}

cbx_status cbx_run_with_present_schema(cbx_ctx *ctx, const cbx_run *run, cbx_run **out, cbx_err *err)
{
    CBX_OWNED(cbx_run_builder) *b = NULL;
    cbx_status st = cbx_run_builder_from(ctx, run, &b, err);

    if (!st && !cbx_json_set_int(b->run->extra, "schema_version", CBX_RUN_SCHEMA_VERSION))
        st = cbx_fail_nomem(err, NULL);
    return st ? st : cbx_run_builder_freeze(b, out, err);
}
