/*
 * Shared objects with cases and benchmarks, and sets of cases; see plugin.h.
 */
#include "calibrax/perf/case/plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/arena.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/list.h"

struct cbx_case_set {
    cbx_allocator al;
    CBX_LIST(const cbx_case_ops *) cases;
    cbx_case_list list; /* of `cases`, as far as they are all checked */
};

/* Adds a case, not yet counted in the list. */
static cbx_status place(cbx_ctx *ctx, cbx_case_set *set, const cbx_case_ops *c, const char *origin, cbx_err *err)
{
    const cbx_case_list before = { set->cases.items, set->cases.n };
    cbx_err why = CBX_ERR_INIT;

    if (!c)
        return cbx_fail(err, CBX_EINVAL, "'%s': case %zu of its table is NULL", origin, set->cases.n - set->list.count);
    cbx_status st = cbx_case_check(ctx, c, &why);
    if (st) return cbx_fail(err, st, "'%s': %s", origin, why.message);
    if (cbx_case_find(&before, c->name))
        return cbx_fail(err, CBX_EINVAL, "'%s': there is a case '%s' already; give it another name", origin, c->name);
    return cbx_list_push(&set->al, &set->cases, c) ? CBX_OK : cbx_fail_nomem(err, "a list of cases");
}

/* Counts the cases that were added, or removes them again. */
static cbx_status end_adding(cbx_case_set *set, cbx_status st)
{
    if (st) set->cases.n = set->list.count;
    set->list = (cbx_case_list){ set->cases.items, set->cases.n };
    return st;
}

cbx_status cbx_case_set_create(cbx_ctx *ctx, const cbx_case_list *builtin, cbx_case_set **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_case_set *set = cbx_mem_zalloc(al, sizeof *set);

    if (!set) return cbx_fail_nomem(err, "a list of cases");
    set->al = *al;
    for (size_t i = 0; builtin && i < builtin->count; i++) {
        if (cbx_list_push(al, &set->cases, builtin->cases[i])) continue;
        cbx_case_set_free(set);
        return cbx_fail_nomem(err, "a list of cases");
    }
    end_adding(set, CBX_OK);
    *out = set;
    return CBX_OK;
}

void cbx_case_set_free(cbx_case_set *set)
{
    if (!set) return;
    const cbx_allocator al = set->al;
    cbx_list_clear(&al, &set->cases);
    cbx_mem_free(&al, set, sizeof *set);
}

const cbx_case_list *cbx_case_set_list(const cbx_case_set *set) { return &set->list; }

cbx_status cbx_case_set_add(cbx_ctx *ctx, cbx_case_set *set, const cbx_case_ops *c, const char *origin, cbx_err *err)
{
    return end_adding(set, place(ctx, set, c, origin, err));
}

/* Nothing is read that another header may have laid out differently. */
static cbx_status open_table(const char *path, const cbx_plugin_ops **out, cbx_err *err)
{
    char local[4096];

    if (snprintf(local, sizeof local, "%s%s", strchr(path, '/') ? "" : "./", path) >= (int)sizeof local)
        return cbx_fail(err, CBX_EINVAL, "the path of a plug-in is too long: %zu characters", strlen(path));
    void *handle = dlopen(local, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle) return cbx_fail(err, CBX_EUNAVAILABLE, "cannot load the plug-in '%s': %s", path, dlerror());
    const cbx_plugin_ops *t = dlsym(handle, CBX_PLUGIN_SYMBOL);
    dlclose(handle); /* it stays mapped */
    if (!t)
        return cbx_fail(err, CBX_EFORMAT,
                        "'%s' exports no '%s': end it with CBX_CASE_PLUGIN or CBX_BENCHMARK_PLUGIN of "
                        "calibrax/perf/case/plugin.h, or use CBX_BENCH of calibrax/bench.h",
                        path, CBX_PLUGIN_SYMBOL);
    if (t->abi != CBX_PLUGIN_ABI || t->struct_size != sizeof *t)
        return cbx_fail(err, CBX_EVERSION,
                        "'%s' is a plug-in of ABI %u, and this program takes %d: compile it again with this release's "
                        "headers",
                        path, (unsigned)t->abi, CBX_PLUGIN_ABI);
    *out = t;
    return CBX_OK;
}

cbx_status cbx_case_set_add_plugin(cbx_ctx *ctx, cbx_case_set *set, const char *path, cbx_err *err)
{
    const cbx_plugin_ops *t = NULL;
    cbx_status st = open_table(path, &t, err);

    if (!st && (!t->cases || t->ncases == 0)) st = cbx_fail(err, CBX_EFORMAT, "'%s' holds no cases", path);
    for (size_t i = 0; !st && i < t->ncases; i++) st = place(ctx, set, t->cases[i], path, err);
    return end_adding(set, st);
}

cbx_status cbx_case_set_add_environment(cbx_ctx *ctx, cbx_case_set *set, cbx_err *err)
{
    const char *from = getenv(CBX_CASE_PLUGINS_VARIABLE);
    cbx_status st = CBX_OK;

    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    while (!st && from && *from) {
        const size_t len = strcspn(from, ":");
        const char *path = cbx_arena_strndup(&arena, from, len);
        if (!path)
            st = cbx_fail(err, CBX_ENOMEM, "out of memory for the path of a plug-in");
        else if (len)
            st = cbx_case_set_add_plugin(ctx, set, path, err);
        from += len + (from[len] == ':');
    }
    return st;
}

/* --- benchmarks of a plug-in --- */

cbx_status cbx_plugin_open(const char *path, const cbx_plugin_ops **out, cbx_err *err)
{
    const cbx_plugin_ops *p;
    cbx_err why = CBX_ERR_INIT;
    cbx_status st = open_table(path, &p, err);

    if (st) return st;
    if (p->benchmarks == p->benchmarks_end) st = cbx_fail(&why, CBX_EINVAL, "it has no benchmarks");
    for (const cbx_plugin_benchmark *b = p->benchmarks; !st && b < p->benchmarks_end; b++) {
        cbx_benchmark_ops ops;
        st = cbx_benchmark_ops_read(b->ops, &ops, &why);
        for (const cbx_plugin_benchmark *a = p->benchmarks; !st && a < b; a++)
            if (!strcmp(a->ops->name, b->ops->name))
                st = cbx_fail(&why, CBX_EEXIST, "two benchmarks are called '%s'", b->ops->name);
    }
    if (st) return cbx_fail(err, st, "'%s': %s", path, why.message);
    *out = p;
    return CBX_OK;
}

const cbx_plugin_benchmark *cbx_plugin_find(const cbx_plugin_ops *p, const char *name)
{
    for (const cbx_plugin_benchmark *b = p->benchmarks; b < p->benchmarks_end; b++)
        if (!strcmp(b->ops->name, name)) return b;
    return NULL;
}
