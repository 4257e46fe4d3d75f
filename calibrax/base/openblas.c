/*
 * OpenBLAS on first use.  Its constructor reads the environment (core type, threads), so what it is to read stands there
 * during the load and is gone afterwards: children do not inherit it.
 */
#include "calibrax/base/openblas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "calibrax/base/cpu.h"

static bool is_loaded(const char *soname)
{
    void *handle = dlopen(soname, RTLD_NOW | RTLD_NOLOAD);
    if (handle) dlclose(handle);
    return handle != NULL;
}

/* True if the variable was not there and now is. */
static bool lend(const char *name, const char *value) { return !getenv(name) && setenv(name, value, 1) == 0; }

cbx_status cbx_openblas_open(cbx_ctx *ctx, const char *purpose, unsigned flags, const cbx_library_symbol *symbols,
                             size_t nsymbols, cbx_library **out, cbx_err *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    cbx_library_spec spec = cbx_library_known(CBX_LIBRARY_OPENBLAS);
    bool fresh, core = false, threads = false;
    cbx_status st;

    spec.purpose = purpose;
    spec.symbols = symbols;
    spec.nsymbols = nsymbols;
    pthread_mutex_lock(&lock);
    fresh = !is_loaded(spec.sonames[0]);
    if (fresh && (flags & CBX_OPENBLAS_FIT_CPU) && cbx__cpu_read()->openblas_misjudges)
        core = lend("OPENBLAS_CORETYPE", "SkylakeX");
    if (fresh && (flags & CBX_OPENBLAS_ONE_THREAD)) threads = lend("OPENBLAS_NUM_THREADS", "1");
    st = cbx_library_open(ctx, &spec, out, err);
    if (core) unsetenv("OPENBLAS_CORETYPE");
    if (threads) unsetenv("OPENBLAS_NUM_THREADS");
    pthread_mutex_unlock(&lock);
    return st;
}
