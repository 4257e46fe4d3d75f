/*
 * OpenBLAS on first use.  Its constructor reads the environment (core type, threads), so variables
 * are set during the load and unset afterwards: children do not inherit them.
 */
#include "calibrax/base/openblas.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/cpu.h"
#include "calibrax/base/internal.h"

/* The models that it gives SkylakeX or better kernels, of family 6; no AMD CPU gets them:
 * Skylake-X to Cooper Lake, Cannon Lake, Ice Lake (server, client), Tiger Lake, Sapphire Rapids,
 * Rocket Lake. */
bool cbx__openblas_knows(bool intel, unsigned signature)
{
    static const unsigned char known_models[] = { 0x55, 0x66, 0x6a, 0x6c, 0x7e, 0x8c, 0x8d, 0x8f, 0xa7 };
    const unsigned family = signature >> 8 & 0xf, model = (signature >> 4 & 0xf) | (signature >> 12 & 0xf0);

    return intel && family == 6 && memchr(known_models, (int)model, sizeof known_models);
}

bool cbx_openblas_misjudges_cpu(void)
{
    bool known = true;
#if defined(__x86_64__)
    unsigned a = 0, vendor = 0, c, d, signature = 0, b;

    __get_cpuid(0, &a, &vendor, &c, &d);
    __get_cpuid(1, &signature, &b, &c, &d);
    known = cbx__openblas_knows(vendor == signature_INTEL_ebx, signature);
#endif
    return !known && cbx_isa_of_cpu() == CBX_ISA_AVX512;
}

/* True if the variable was not there and now is. */
static bool lend(const char *name, const char *value) { return !getenv(name) && setenv(name, value, 1) == 0; }

cbx_status cbx_openblas_open(cbx_ctx *ctx, const char *purpose, unsigned flags, const cbx_library_symbol *symbols,
                             size_t nsymbols, cbx_library **out, cbx_err *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    cbx_library_spec spec = cbx_library_known(CBX_LIBRARY_OPENBLAS);
    bool core = false, threads = false;

    spec.purpose = purpose;
    spec.symbols = symbols;
    spec.nsymbols = nsymbols;
    pthread_mutex_lock(&lock);
    void *loaded = dlopen(spec.sonames[0], RTLD_NOW | RTLD_NOLOAD);
    bool fresh = !loaded;
    if (loaded) dlclose(loaded);
    if (fresh && (flags & CBX_OPENBLAS_FIT_CPU) && cbx_openblas_misjudges_cpu())
        core = lend("OPENBLAS_CORETYPE", "SkylakeX");
    if (fresh && (flags & CBX_OPENBLAS_ONE_THREAD)) threads = lend("OPENBLAS_NUM_THREADS", "1");
    cbx_status st = cbx_library_open(ctx, &spec, out, err);
    if (core) unsetenv("OPENBLAS_CORETYPE");
    if (threads) unsetenv("OPENBLAS_NUM_THREADS");
    pthread_mutex_unlock(&lock);
    return st;
}
