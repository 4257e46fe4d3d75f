/* Loading a shared object with benchmarks, and refusing what it was not compiled for. */
#include "calibrax/perf/case/benchmark_plugin.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/core/registry.h"

#define PATH_SIZE 4096

struct cbx_plugin {
    cbx_allocator al;
    void *handle;
    const cbx_plugin_ops *ops;
    cbx_registry names;
};

static cbx_status check(cbx_plugin *p, const char *path, cbx_err *err)
{
    cbx_err why = CBX_ERR_INIT;
    cbx_status st = cbx_protocol_check(p->ops, sizeof *p->ops, CBX_BENCHMARK_PLUGIN_ABI, "plug-in", &why);

    if (!st && (!p->ops->benchmarks || !p->ops->nbenchmarks))
        st = cbx_fail(&why, CBX_EINVAL, "a plug-in without benchmarks");
    for (size_t i = 0; !st && i < p->ops->nbenchmarks; i++) {
        const cbx_plugin_benchmark *b = &p->ops->benchmarks[i];
        cbx_benchmark_ops ops;
        st = cbx_benchmark_ops_read(b->ops, &ops, &why);
        if (!st) st = cbx_registry_register(&p->names, ops.name, b, false, &why);
    }
    return st ? cbx_fail(err, st, "'%s': %s", path, why.message) : CBX_OK;
}

static cbx_status load(const char *path, void **handle, const cbx_plugin_ops **ops, cbx_err *err)
{
    char here[PATH_SIZE];
    size_t n = strlen(path);

    if (n + 3 > sizeof here) return cbx_fail(err, CBX_EINVAL, "the name of a shared object is %zu characters long", n);
    memcpy(here, "./", 2); /* a bare name is a file here, not one of the loader's folders */
    memcpy(here + (strchr(path, '/') ? 0 : 2), path, n + 1);
    if (access(here, F_OK) != 0) return cbx_fail(err, CBX_ENOENT, "no shared object '%s'", path);
    *handle = dlopen(here, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!*handle) return cbx_fail(err, CBX_EUNAVAILABLE, "cannot load '%s': %s", path, dlerror());
    *ops = dlsym(*handle, CBX_BENCHMARK_PLUGIN_SYMBOL);
    if (*ops) return CBX_OK;
    return cbx_fail(
        err, CBX_EUNAVAILABLE,
        "'%s' exports no '%s': define it with CBX_BENCHMARK_PLUGIN of calibrax/perf/case/benchmark_plugin.h", path,
        CBX_BENCHMARK_PLUGIN_SYMBOL);
}

cbx_status cbx_plugin_open(cbx_ctx *ctx, const char *path, cbx_plugin **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_plugin *p = cbx_mem_zalloc(al, sizeof *p);
    cbx_status st;

    if (!p) return cbx_fail(err, CBX_ENOMEM, "out of memory to load '%s'", path);
    p->al = *al;
    cbx_registry_init(&p->names, al, "benchmark");
    st = load(path, &p->handle, &p->ops, err);
    if (!st) st = check(p, path, err);
    if (st)
        cbx_plugin_close(p);
    else
        *out = p;
    return st;
}

void cbx_plugin_close(cbx_plugin *p)
{
    cbx_allocator al;

    if (!p) return;
    al = p->al;
    cbx_registry_clear(&p->names);
    if (p->handle) dlclose(p->handle);
    cbx_mem_free(&al, p, sizeof *p);
}

size_t cbx_plugin_count(const cbx_plugin *p) { return p->ops->nbenchmarks; }

const cbx_plugin_benchmark *cbx_plugin_at(const cbx_plugin *p, size_t i)
{
    return i < p->ops->nbenchmarks ? &p->ops->benchmarks[i] : NULL;
}

cbx_status cbx_plugin_find(const cbx_plugin *p, const char *name, const cbx_plugin_benchmark **out, cbx_err *err)
{
    const void *found;
    cbx_status st = cbx_registry_get(&p->names, name, &found, err);

    if (!st) *out = found;
    return st;
}
