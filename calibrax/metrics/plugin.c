/* Metrics of shared objects. */
#include "calibrax/metrics/plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Nothing is read that another header may have laid out differently. */
static cbx_status open_table(const char *path, const cbx_metric_plugin **out, cbx_err *err)
{
    const cbx_metric_plugin *t;
    char local[4096];
    void *handle;

    if (snprintf(local, sizeof local, "%s%s", strchr(path, '/') ? "" : "./", path) >= (int)sizeof local)
        return cbx_fail(err, CBX_EINVAL, "the path of a plug-in is too long: %zu characters", strlen(path));
    handle = dlopen(local, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle) return cbx_fail(err, CBX_EUNAVAILABLE, "cannot load the plug-in '%s': %s", path, dlerror());
    t = dlsym(handle, CBX_METRIC_PLUGIN_SYMBOL);
    dlclose(handle); /* it stays mapped */
    if (!t)
        return cbx_fail(err, CBX_EFORMAT,
                        "'%s' exports no '%s': end it with CBX_METRIC_PLUGIN of calibrax/metrics/plugin.h", path,
                        CBX_METRIC_PLUGIN_SYMBOL);
    if (t->abi != CBX_METRIC_PLUGIN_ABI || t->struct_size != sizeof *t || t->row_size != sizeof *t->rows)
        return cbx_fail(err, CBX_EVERSION,
                        "'%s' has metrics of ABI %u, and this program takes %d: compile it again with this release's "
                        "headers",
                        path, (unsigned)t->abi, CBX_METRIC_PLUGIN_ABI);
    *out = t;
    return CBX_OK;
}

/* Whether row i can be registered after those before it. */
static cbx_status check_row(cbx_ctx *ctx, const cbx_metric_plugin *t, size_t i, cbx_err *err)
{
    const cbx_metric_function *old = NULL;
    cbx_status st = cbx_metric_row_check(&t->rows[i], err);

    if (st) return st;
    for (size_t k = 0; k < i; k++)
        if (strcmp(t->rows[k].name, t->rows[i].name) == 0) old = &t->rows[k];
    if (!old) cbx_metric_find(ctx, t->rows[i].name, &old, NULL);
    return old ? cbx_fail(err, CBX_EEXIST, "there is a metric '%s' already", t->rows[i].name) : CBX_OK;
}

cbx_status cbx_metric_plugin_load(cbx_ctx *ctx, const char *path, cbx_err *err)
{
    const cbx_metric_plugin *t = NULL;
    cbx_err why = CBX_ERR_INIT;
    cbx_status st = open_table(path, &t, err);

    if (st) return st;
    if (t->count == 0) st = cbx_fail(&why, CBX_EFORMAT, "it holds no metrics");
    for (size_t i = 0; !st && i < t->count; i++) st = check_row(ctx, t, i, &why);
    for (size_t i = 0; !st && i < t->count; i++) st = cbx_metric_register(ctx, &t->rows[i], false, &why);
    return st ? cbx_fail(err, st, "'%s': %s", path, why.message) : CBX_OK;
}
