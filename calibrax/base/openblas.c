/*
 * OpenBLAS on first use.  Its constructor reads the environment (core type, threads), so variables are set
 * during the load and unset afterwards: children do not inherit them.
 */
#include "calibrax/base/openblas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The models that it gives SkylakeX or better kernels, of family 6; no AMD CPU gets them:
 * Skylake-X to Cooper Lake, Cannon Lake, Ice Lake (server, client), Tiger Lake, Sapphire Rapids, Rocket Lake. */
static const int known_models[] = { 0x55, 0x66, 0x6a, 0x6c, 0x7e, 0x8c, 0x8d, 0x8f, 0xa7 };

/* Text after "key\t: " in the first processor's part; NULL: no such key. */
static const char *value_of(const char *text, const char *key)
{
    size_t n = strlen(key);

    for (const char *line = text; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        if (strncmp(line, key, n) != 0 || (line[n] != '\t' && line[n] != ' ' && line[n] != ':')) continue;
        const char *colon = line + n + strspn(line + n, " \t"); /* "model" is not "model name" */
        if (*colon == ':') return colon + 1 + strspn(colon + 1, " ");
    }
    return NULL;
}

static bool has_flag(const char *flags, const char *flag)
{
    size_t n = strlen(flag), line = flags ? strcspn(flags, "\n") : 0;
    for (const char *at = flags; at && (at = strstr(at, flag)) && at < flags + line; at += n) {
        if ((at == flags || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\n' || at[n] == '\0')) return true;
    }
    return false;
}

static bool misjudges(const char *cpuinfo)
{
    static const char *const needed[] = { "avx512f", "avx512bw", "avx512dq", "avx512vl" };
    const char *flags = value_of(cpuinfo, "flags"), *vendor = value_of(cpuinfo, "vendor_id");
    const char *family = value_of(cpuinfo, "cpu family"), *model = value_of(cpuinfo, "model");

    for (size_t i = 0; i < CBX_LEN(needed); i++)
        if (!has_flag(flags, needed[i])) return false;
    if (!vendor || strncmp(vendor, "GenuineIntel", 12) != 0 || !family || atoi(family) != 6 || !model) return true;
    for (size_t i = 0; i < CBX_LEN(known_models); i++)
        if (atoi(model) == known_models[i]) return false;
    return true;
}

bool cbx_openblas_misjudges_cpu(const char *cpuinfo)
{
    char text[8192];
    FILE *fp = cpuinfo ? NULL : fopen("/proc/cpuinfo", "re");
    size_t n = fp ? fread(text, 1, sizeof text - 1, fp) : 0;

    if (fp) fclose(fp);
    text[n] = '\0';
    return misjudges(cpuinfo ? cpuinfo : text);
}

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
    if (fresh && (flags & CBX_OPENBLAS_FIT_CPU) && cbx_openblas_misjudges_cpu(NULL))
        core = lend("OPENBLAS_CORETYPE", "SkylakeX");
    if (fresh && (flags & CBX_OPENBLAS_ONE_THREAD)) threads = lend("OPENBLAS_NUM_THREADS", "1");
    st = cbx_library_open(ctx, &spec, out, err);
    if (core) unsetenv("OPENBLAS_CORETYPE");
    if (threads) unsetenv("OPENBLAS_NUM_THREADS");
    pthread_mutex_unlock(&lock);
    return st;
}
