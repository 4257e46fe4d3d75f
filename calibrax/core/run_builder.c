/* Building runs: what a new one finds out by itself, setters, freezing. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/vcs.h"
#include "calibrax/base/version.h"
#include "calibrax/core/machine.h"
#include "calibrax/core/metadata.h"
#include "calibrax/core/run_parts.h"

struct cbx_run_builder {
    cbx_allocator al;
    cbx_run *run; /* NULL once it is frozen */
};

/* --- parts of a run --- */

/* Room for one more of n items of a size; *items moves. */
static cbx_status grow(const cbx_allocator *al, void **items, size_t n, size_t *cap, size_t size, cbx_err *err)
{
    size_t wanted = *cap ? 2 * *cap : 8;
    void *grown;

    if (n < *cap) return CBX_OK;
    grown = cbx_mem_resize(al, *items, *cap * size, wanted * size);
    if (!grown) return cbx_fail_nomem(err, NULL);
    *items = grown;
    *cap = wanted;
    return CBX_OK;
}

cbx_status cbx__run_trim(cbx_run *run, cbx_err *err)
{
    size_t size = sizeof *run->points;
    void *points;

    if (!run->npoints || run->npoints == run->points_cap) return CBX_OK;
    points = cbx_mem_resize(&run->arena.al, run->points, run->points_cap * size, run->npoints * size);
    if (!points) return cbx_fail_nomem(err, NULL);
    run->points = points;
    run->points_cap = run->npoints;
    return CBX_OK;
}

cbx_status cbx__run_keep(const cbx_run *run, const cbx_json *v, cbx_json **out, cbx_err *err)
{
    *out = run->private_tree ? cbx_json_ref((cbx_json *)(uintptr_t)v) : v ? cbx_json_copy(v) : NULL;
    return v && !*out ? cbx_fail_nomem(err, NULL) : CBX_OK;
}

cbx_status cbx__run_own_point(cbx_run *run, const cbx_point *point, const cbx_json *raw, cbx_err *err)
{
    void *points = run->points;
    run_point p = { .view = *point };
    cbx_status st = grow(&run->arena.al, &points, run->npoints, &run->points_cap, sizeof p, err);

    run->points = points;
    if (!st) st = cbx__run_keep(run, raw, &p.raw, err);
    if (!st) run->points[run->npoints++] = p;
    return st;
}

cbx_status cbx__run_point_text(cbx_arena *arena, cbx_point *p, cbx_err *err)
{
    cbx_status st = cbx__record_text(arena, p->name, "point name", &p->name, err);

    return st ? st : cbx__record_text(arena, p->scenario, "scenario", &p->scenario, err);
}

cbx_status cbx__run_put_point(cbx_run *run, const cbx_point *point, const cbx_json *raw, cbx_err *err)
{
    cbx_point p = *point;
    cbx_status st = cbx__run_point_text(&run->arena, &p, err);

    if (!st) st = cbx__record_tags(&run->arena, point->tags, point->ntags, &p.tags, err);
    if (!st) st = cbx__record_metrics(&run->arena, point->metrics, point->nmetrics, &p.metrics, err);
    return st ? st : cbx__run_own_point(run, &p, raw, err);
}

#define DEFS_SEARCHED 16 /* one after the other, when there are no more */

/* What was not among the names yet. */
static cbx_status name_defs(cbx_run *run, cbx_err *err)
{
    while (run->ndefs > DEFS_SEARCHED && run->def_names.n < run->ndefs)
        if (cbx_names_add(&run->def_names, run->defs[run->def_names.n].key) == CBX_NO_NAME)
            return cbx_fail_nomem(err, NULL);
    return CBX_OK;
}

cbx_status cbx__run_put_def(cbx_run *run, const char *key, const cbx_metric_def *def, const cbx_json *raw, cbx_err *err)
{
    void *defs = run->defs;
    run_def d = { 0 };
    size_t at;
    cbx_status st = cbx__record_def(&run->arena, def, &d.def, err);

    if (!st) st = cbx__record_text(&run->arena, key, "metric name", &d.key, err);
    if (!st) st = grow(&run->arena.al, &defs, run->ndefs, &run->defs_cap, sizeof d, err);
    run->defs = defs;
    if (!st) st = cbx__run_keep(run, raw, &d.raw, err);
    if (st) return st;
    at = cbx__run_def_at(run, key);
    if (at < run->ndefs) cbx_json_unref(run->defs[at].raw);
    run->defs[at] = d;
    run->ndefs += at == run->ndefs;
    return name_defs(run, err);
}

static cbx_status name_schema(cbx_run *run, cbx_err *err)
{
    return cbx_json_set_int(run->extra, "schema_version", CBX_RUN_SCHEMA_VERSION) ? CBX_OK : cbx_fail_nomem(err, NULL);
}

/* --- what a new run finds out --- */

static cbx_status random_id(cbx_run *run, cbx_err *err)
{
    unsigned char bits[6];
    char id[13];

    if (getrandom(bits, sizeof bits, 0) != (ssize_t)sizeof bits)
        return cbx_fail_errno(err, errno, "no random numbers for a run id");
    for (size_t i = 0; i < sizeof bits; i++) snprintf(id + 2 * i, 3, "%02x", bits[i]);
    return cbx__record_text(&run->arena, id, "id", &run->id, err);
}

/* Facts that cannot be had are left out; memory that runs out is an error. */
static cbx_status find_commit(cbx_ctx *ctx, const char *work_tree, cbx_run *run, cbx_err *err)
{
    cbx_vcs_facts facts = { 0 };
    cbx_status st = cbx_vcs_read(ctx, work_tree, &facts, err);

    if (st) return st == CBX_ENOMEM ? st : CBX_OK;
    if (!facts.known) return CBX_OK;
    st = cbx__record_text(&run->arena, facts.commit, "commit", &run->commit, err);
    if (!st && *facts.branch) st = cbx__record_text(&run->arena, facts.branch, "branch", &run->branch, err);
    if (!st && !cbx_json_set_bool(run->environment, "dirty", facts.dirty)) st = cbx_fail_nomem(err, NULL);
    return st;
}

static cbx_status find_machine(cbx_ctx *ctx, cbx_run *run, cbx_err *err)
{
    cbx_machine m;
    cbx_status st = cbx_machine_read(ctx, NULL, &m, err);

    if (st) return st == CBX_ENOMEM ? st : CBX_OK;
    if (!cbx_json_set_string(run->environment, "machine", m.id) ||
        !cbx_json_set(run->environment, "hardware", cbx_machine_to_json(&m)))
        return cbx_fail_nomem(err, NULL);
    return CBX_OK;
}

static cbx_status find_versions(cbx_run *run, cbx_err *err)
{
    cbx_json *v = cbx_json_new_object();

    if (v && cbx_json_set_string(v, "calibrax", cbx_version()) && cbx_json_set_string(v, "revision", cbx_revision()) &&
        cbx_json_set_string(v, "build", cbx_build()))
        return cbx_json_set(run->environment, "versions", v) ? CBX_OK : cbx_fail_nomem(err, NULL);
    cbx_json_unref(v);
    return cbx_fail_nomem(err, NULL);
}

static cbx_status fill_new(cbx_ctx *ctx, const cbx_run_opts *opts, cbx_run *run, cbx_err *err)
{
    cbx_status st = random_id(run, err);

    run->timestamp_us = cbx_time_now_us();
    if (!st && !opts->no_machine) st = find_machine(ctx, run, err);
    if (!st && !opts->no_versions) st = find_versions(run, err);
    if (!st && !opts->no_vcs) st = find_commit(ctx, opts->work_tree, run, err);
    if (!st) st = name_schema(run, err);
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
    if (st)
        cbx_run_builder_free(b);
    else
        *out = b;
    return st;
}

void cbx_run_builder_free(cbx_run_builder *b)
{
    cbx_allocator al;

    if (!b) return;
    al = b->al;
    cbx_run_free(b->run);
    cbx_mem_free(&al, b, sizeof *b);
}

cbx_status cbx_run_builder_create(cbx_ctx *ctx, const cbx_run_opts *opts, cbx_run_builder **out, cbx_err *err)
{
    static const cbx_run_opts defaults = CBX_RUN_OPTS_INIT;
    cbx_run_builder *b = NULL;
    cbx_status st;

    if (!opts) opts = &defaults;
    if (opts->struct_size != sizeof *opts)
        return cbx_fail(err, CBX_EINVAL, "cbx_run_opts has %u bytes, not %zu: start from CBX_RUN_OPTS_INIT",
                        opts->struct_size, sizeof *opts);
    st = builder_new(ctx, &b, err);
    if (!st) st = fill_new(ctx, opts, b->run, err);
    if (!st)
        *out = b;
    else
        cbx_run_builder_free(b);
    return st;
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

static cbx_status copy_run(const cbx_run *from, cbx_run *to, cbx_err *err)
{
    cbx_status st = cbx__record_text(&to->arena, from->id, "id", &to->id, err);

    to->timestamp_us = from->timestamp_us;
    if (!st) st = copy_maybe(&to->arena, from->timestamp_text, "timestamp", &to->timestamp_text, err);
    if (!st) st = copy_maybe(&to->arena, from->commit, "commit", &to->commit, err);
    if (!st) st = copy_maybe(&to->arena, from->branch, "branch", &to->branch, err);
    if (!st) st = replace_json(&to->environment, from->environment, err);
    if (!st) st = replace_json(&to->metadata, from->metadata, err);
    if (!st) st = replace_json(&to->extra, from->extra, err);
    for (size_t i = 0; !st && i < from->ndefs; i++)
        st = cbx__run_put_def(to, from->defs[i].key, &from->defs[i].def, from->defs[i].raw, err);
    for (size_t i = 0; !st && i < from->npoints; i++)
        st = cbx__run_put_point(to, &from->points[i].view, from->points[i].raw, err);
    return st;
}

cbx_status cbx_run_builder_from(cbx_ctx *ctx, const cbx_run *run, cbx_run_builder **out, cbx_err *err)
{
    cbx_run_builder *b = NULL;
    cbx_status st = builder_new(ctx, &b, err);

    if (!st) st = copy_run(run, b->run, err);
    if (!st)
        *out = b;
    else
        cbx_run_builder_free(b);
    return st;
}

cbx_status cbx_run_with_present_schema(cbx_ctx *ctx, const cbx_run *run, cbx_run **out, cbx_err *err)
{
    cbx_run_builder *b = NULL;
    cbx_status st = cbx_run_builder_from(ctx, run, &b, err);

    if (!st) st = name_schema(b->run, err);
    if (!st) st = cbx_run_builder_freeze(b, out, err);
    cbx_run_builder_free(b);
    return st;
}

/* --- setters --- */

static cbx_status check_open(const cbx_run_builder *b, cbx_err *err)
{
    return b->run ? CBX_OK : cbx_fail(err, CBX_EINVAL, "the run was taken out of its builder already");
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
    if (!st) st = cbx_metadata_check(value, cbx__path(path, environment ? "environment" : "metadata", key), err);
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

    return st ? st : cbx__run_put_point(b->run, point, NULL, err);
}

const cbx_json *cbx__run_builder_metadata(const cbx_run_builder *b) { return b->run ? b->run->metadata : NULL; }
const cbx_allocator *cbx__run_builder_allocator(const cbx_run_builder *b) { return &b->al; }

cbx_status cbx_run_builder_freeze(cbx_run_builder *b, cbx_run **out, cbx_err *err)
{
    cbx_status st = check_open(b, err);

    if (st) return st;
    *out = b->run;
    b->run = NULL;
    return CBX_OK;
}
