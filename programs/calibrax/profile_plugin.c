/*
 * A function of a shared object, with what stands beside it by name.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "programs/calibrax/profile.h"

static void *symbol(void *handle, const char *name, const char *suffix)
{
    char full[256];
    int n = snprintf(full, sizeof full, "%s%s", name, suffix);
    return n > 0 && (size_t)n < sizeof full ? dlsym(handle, full) : NULL;
}

cbx_status profile_plugin_load(const profile_args *a, profile_plugin *p, cbx_err *err)
{
    char path[4096];

    /* a bare name is a file here, not one of the loader's folders */
    snprintf(path, sizeof path, "%s%s", strchr(a->plugin, '/') ? "" : "./", a->plugin);
    *p = (profile_plugin){ .handle = dlopen(path, RTLD_NOW | RTLD_LOCAL) };
    if (!p->handle) return cbx_fail(err, CBX_EUNAVAILABLE, "cannot load '%s': %s", a->plugin, dlerror());
    p->run = (cbx_timed_fn)symbol(p->handle, a->function, "");
    p->array_run = (cbx_array_fn)symbol(p->handle, a->function, "");
    if (!p->run) {
        dlclose(p->handle);
        p->handle = NULL;
        return cbx_fail(err, CBX_ENOENT, "'%s' has no function '%s'", a->plugin, a->function);
    }
    p->setup = (void *(*)(void))symbol(p->handle, a->function, "_setup");
    p->setup_size = (void *(*)(size_t))symbol(p->handle, a->function, "_setup_size");
    p->teardown = (void (*)(void *))symbol(p->handle, a->function, "_teardown");
    p->work = (void (*)(void *, double *, double *))symbol(p->handle, a->function, "_work");
    return CBX_OK;
}

void profile_plugin_start(profile_plugin *p)
{
    if (p->setup) p->state = p->setup();
}

void profile_plugin_close(profile_plugin *p, bool started)
{
    if (started && p->teardown) p->teardown(p->state);
    if (p->handle) dlclose(p->handle);
}
