/*
 * Sets of cases, and shared objects that add to them; see plugin.h.
 */
#include "calibrax/perf/case/plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/arena.h"
#include "calibrax/perf/launch/workload.h"

struct cbx_case_set {
    cbx_allocator al;
    cbx_case_list list;
    const cbx_case_ops **cases; /* list.cases, with room for `room` */
    size_t room;
};

cbx_status cbx_case_set_create(cbx_ctx *ctx, const cbx_case_list *builtin, cbx_case_set **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    const size_t count = builtin ? builtin->count : 0;
    cbx_case_set *set = cbx_mem_zalloc(al, sizeof *set);

    if (!set) return cbx_fail(err, CBX_ENOMEM, "out of memory for a list of cases");
    set->al = *al;
    set->room = count + 8;
    set->cases = cbx_mem_calloc(al, set->room, sizeof *set->cases);
    if (!set->cases) {
        cbx_mem_free(al, set, sizeof *set);
        return cbx_fail(err, CBX_ENOMEM, "out of memory for a list of cases");
    }
    if (count) memcpy(set->cases, builtin->cases, count * sizeof *set->cases);
    set->list = (cbx_case_list){ set->cases, count };
    *out = set;
    return CBX_OK;
}

void cbx_case_set_free(cbx_case_set *set)
{
    if (!set) return;
    const cbx_allocator al = set->al;
    cbx_mem_free(&al, set->cases, set->room * sizeof *set->cases);
    cbx_mem_free(&al, set, sizeof *set);
}

const cbx_case_list *cbx_case_set_list(const cbx_case_set *set) { return &set->list; }

/* Room for `more` cases behind those that are there. */
static cbx_status reserve(cbx_case_set *set, size_t more, cbx_err *err)
{
    const size_t wanted = set->list.count + more, room = wanted > 2 * set->room ? wanted : 2 * set->room;
    const cbx_case_ops **cases;

    if (wanted <= set->room) return CBX_OK;
    cases = cbx_mem_calloc(&set->al, room, sizeof *cases);
    if (!cases) return cbx_fail(err, CBX_ENOMEM, "out of memory for a list of cases");
    memcpy(cases, set->cases, set->list.count * sizeof *cases);
    cbx_mem_free(&set->al, set->cases, set->room * sizeof *cases);
    set->cases = cases;
    set->list.cases = cases;
    set->room = room;
    return CBX_OK;
}

/* The case behind those that are there, not yet counted. */
static cbx_status place(cbx_ctx *ctx, cbx_case_set *set, size_t at, const cbx_case_ops *c, const char *origin,
                        cbx_err *err)
{
    const cbx_case_list before = { set->cases, set->list.count + at };
    cbx_err why = CBX_ERR_INIT;
    cbx_status st;

    if (!c) return cbx_fail(err, CBX_EINVAL, "'%s': case %zu of its table is NULL", origin, at);
    st = cbx_case_check(ctx, c, &why);
    if (st) return cbx_fail(err, st, "'%s': %s", origin, why.message);
    if (cbx_case_find(&before, c->name))
        return cbx_fail(err, CBX_EINVAL, "'%s': a case '%s' is there already; give it another name", origin, c->name);
    set->cases[set->list.count + at] = c;
    return CBX_OK;
}

cbx_status cbx_case_set_add(cbx_ctx *ctx, cbx_case_set *set, const cbx_case_ops *c, const char *origin, cbx_err *err)
{
    cbx_status st = reserve(set, 1, err);
    if (!st) st = place(ctx, set, 0, c, origin, err);
    if (!st) set->list.count++;
    return st;
}

/* Of the table alone: what another header may have laid out differently is not read. */
static cbx_status check_table(const cbx_case_plugin *t, const char *path, cbx_err *err)
{
    if (t->abi != CBX_CASE_ABI)
        return cbx_fail(
            err, CBX_EVERSION,
            "'%s' has cases of ABI %u, and this program takes %d: compile it anew with this release's headers", path,
            (unsigned)t->abi, CBX_CASE_ABI);
    if (t->struct_size != sizeof *t)
        return cbx_fail(
            err, CBX_EVERSION,
            "'%s' was compiled with another calibrax/perf/case/plugin.h: compile it anew with this release's headers",
            path);
    if (!t->cases || t->count == 0) return cbx_fail(err, CBX_EFORMAT, "'%s' holds no cases", path);
    return CBX_OK;
}

static cbx_status open_table(const char *path, const cbx_case_plugin **out, cbx_err *err)
{
    char local[4096];
    void *handle;

    if (snprintf(local, sizeof local, "%s%s", strchr(path, '/') ? "" : "./", path) >= (int)sizeof local)
        return cbx_fail(err, CBX_EINVAL, "the path of a plug-in is too long");
    handle = dlopen(local, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle) return cbx_fail(err, CBX_EUNAVAILABLE, "cannot load the plug-in '%s': %s", path, dlerror());
    *out = dlsym(handle, CBX_CASE_PLUGIN_SYMBOL);
    if (*out) return CBX_OK;
    dlclose(handle);
    return cbx_fail(err, CBX_EFORMAT,
                    "'%s' exports no '%s': it is no plug-in with cases, or lacks CBX_CASE_PLUGIN of "
                    "calibrax/perf/case/plugin.h at its end",
                    path, CBX_CASE_PLUGIN_SYMBOL);
}

cbx_status cbx_case_set_add_plugin(cbx_ctx *ctx, cbx_case_set *set, const char *path, cbx_err *err)
{
    const cbx_case_plugin *t = NULL;
    cbx_status st = open_table(path, &t, err);

    if (!st) st = check_table(t, path, err);
    if (!st) st = reserve(set, t->count, err);
    for (size_t i = 0; !st && i < t->count; i++) st = place(ctx, set, i, t->cases[i], path, err);
    if (!st) set->list.count += t->count;
    return st;
}

cbx_status cbx_case_set_add_environment(cbx_ctx *ctx, cbx_case_set *set, cbx_err *err)
{
    const char *from = getenv(CBX_CASE_PLUGINS_VARIABLE);
    cbx_status st = CBX_OK;
    cbx_arena arena;

    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    while (!st && from && *from) {
        const size_t len = strcspn(from, ":");
        const char *path = cbx_arena_strndup(&arena, from, len);
        if (!path)
            st = cbx_fail(err, CBX_ENOMEM, "out of memory for the path of a plug-in");
        else if (len)
            st = cbx_case_set_add_plugin(ctx, set, path, err);
        from += len + (from[len] == ':');
    }
    cbx_arena_clear(&arena);
    return st;
}

cbx_status cbx__worker_hash(cbx_ctx *ctx, const char *worker, cbx_arena *arena, char out[CBX_HASH_SIZE], cbx_err *err)
{
    const char *from = getenv(CBX_CASE_PLUGINS_VARIABLE), *all = "";
    char hash[CBX_HASH_SIZE];
    cbx_status st = cbx_hash_file(ctx, worker, out, err);

    while (!st && from && *from) {
        const size_t len = strcspn(from, ":");
        const char *path = cbx_arena_strndup(arena, from, len);
        if (path && len) st = cbx_hash_file(ctx, path, hash, err);
        if (!st && len && path) all = cbx_arena_printf(arena, "%s %s", all, hash);
        if (!path || !all) return cbx_fail(err, CBX_ENOMEM, "no memory for the hash of a worker");
        from += len + (from[len] == ':');
    }
    if (st || !*all) return st;
    all = cbx_arena_printf(arena, "%s%s", out, all);
    if (!all) return cbx_fail(err, CBX_ENOMEM, "no memory for the hash of a worker");
    cbx_hash_bytes(all, strlen(all), out);
    return CBX_OK;
}
