/*
 * Libraries loaded on first use.
 *
 * A library is never unmapped (RTLD_NODELETE): many start threads or register exit handlers that
 * would run in thin air.
 */
#include "calibrax/base/library.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct cbx_library {
    cbx_allocator al;
    void *handle;
    const char *name; /* one of the spec's sonames, copied behind the struct */
    size_t size;
};

const char *cbx_library_remedy(const cbx_library_spec *spec, char *buf, size_t size)
{
    snprintf(buf, size, "%sinstall %s", strchr(spec->package, ' ') ? "" : "apt-get ", spec->package);
    return buf;
}

cbx_status cbx_library_open(cbx_ctx *ctx, const cbx_library_spec *spec, cbx_library **out, cbx_err *err)
{
    const bool plain = strchr(spec->package, ' ') != NULL; /* no command to run */
    char remedy[96], run[128];
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    const char *found = NULL, *absent = NULL;
    void *handle = NULL;
    for (size_t i = 0; !handle && (found = spec->sonames[i]); i++)
        handle = dlopen(found, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    cbx_library_remedy(spec, remedy, sizeof remedy);
    snprintf(run, sizeof run, "%s%s%s", plain ? "" : "run '", remedy, plain ? "" : "'");
    if (!handle) return cbx_fail(err, CBX_EUNAVAILABLE, "no '%s' for %s: %s", spec->sonames[0], spec->purpose, run);
    for (size_t i = 0; !absent && i < spec->nsymbols; i++)
        if (!dlsym(handle, spec->symbols[i].name)) absent = spec->symbols[i].name;
    if (absent) {
        cbx_status st = cbx_fail(err, CBX_EUNAVAILABLE, "'%s' has no '%s', needed for %s: %s for a newer one", found,
                                 absent, spec->purpose, run);
        dlclose(handle);
        return st;
    }
    size_t name_size = strlen(found) + 1;
    cbx_library *lib = cbx_mem_alloc(al, sizeof *lib + name_size);
    if (!lib) {
        dlclose(handle);
        return cbx_fail_nomem(err, found);
    }
    *lib = (cbx_library){ *al, handle, memcpy(lib + 1, found, name_size), sizeof *lib + name_size };
    for (size_t i = 0; i < spec->nsymbols; i++) *spec->symbols[i].address = dlsym(handle, spec->symbols[i].name);
    *out = lib;
    return CBX_OK;
}

void cbx_library_close(cbx_library *lib)
{
    if (!lib) return;
    dlclose(lib->handle);
    cbx_mem_free(&lib->al, lib, lib->size);
}

const char *cbx_library_name(const cbx_library *lib) { return lib->name; }

#define LIBRARY_SONAMES(number, title, purpose, package, ...)                                                          \
    static const char *const sonames_##number[] = { __VA_ARGS__, NULL };
CBX_LIBRARY_MAP(LIBRARY_SONAMES)
#undef LIBRARY_SONAMES

static const struct {
    const char *title;
    cbx_library_spec spec;
} known[] = {
#define LIBRARY_ROW(number, title, purpose, package, ...) { title, { sonames_##number, purpose, package, NULL, 0 } },
    CBX_LIBRARY_MAP(LIBRARY_ROW)
#undef LIBRARY_ROW
};

const char *cbx_library_title(cbx_library_id id) { return (unsigned)id < CBX_LEN(known) ? known[id].title : "?"; }

cbx_library_spec cbx_library_known(cbx_library_id id) { return known[id].spec; }

cbx_status cbx_library_open_known(cbx_ctx *ctx, cbx_library_id id, const char *path, const cbx_library_symbol *symbols,
                                  size_t nsymbols, cbx_library **out, cbx_err *err)
{
    const char *const sonames[] = { path, NULL };
    cbx_library_spec spec = known[id].spec;

    if (path) spec.sonames = sonames;
    spec.symbols = symbols;
    spec.nsymbols = nsymbols;
    return cbx_library_open(ctx, &spec, out, err);
}

cbx_status cbx_library_open_calls(cbx_ctx *ctx, cbx_library_id id, const char *path, const char *const *names, size_t n,
                                  void *functions, cbx_library **out, cbx_err *err)
{
    cbx_library_symbol symbols[64];

    assert(n <= CBX_LEN(symbols));
    for (size_t i = 0; i < n; i++) symbols[i] = (cbx_library_symbol){ names[i], (void **)functions + i };
    return cbx_library_open_known(ctx, id, path, symbols, n, out, err);
}
