/*
 * Providers and their variants, and the Python that runs a foreign one.
 *
 * A rival is measured at its default and at its strongest honest setting.  What the settings repair
 * on virtual machines: a fresh page costs about 2 us there, and glibc gives freed blocks back to
 * the system above a threshold, so a framework that allocates its result per call pays for every
 * page of it again (2 to 8 times on elementwise code); and OpenBLAS chooses AVX2 kernels on a CPU
 * that it does not know, half of the speed where AVX-512 is there.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/base/cpu.h"
#include "calibrax/base/openblas.h"
#include "calibrax/perf/case/provider.h"

#define PROVIDER(...)                                                                                                  \
    &(const cbx_provider_ops) { sizeof(cbx_provider_ops), CBX_CASE_ABI, __VA_ARGS__ }
#define NATIVE(name, summary)      PROVIDER(name, summary, false, NULL, native_variants, built_before, NULL)
#define PYTHON(name, summary, ...) PROVIDER(name, summary, true, "scripts/setup-refs.sh " name, __VA_ARGS__)

/* Kept pages: no block is mapped alone, nothing is trimmed, the heap grows by 256 MiB at a time.
 * The core type comes behind them. */
static const cbx_env_setting settings[] = {
    { "MALLOC_MMAP_MAX_", "0" },
    { "MALLOC_TRIM_THRESHOLD_", "100000000000" },
    { "MALLOC_TOP_PAD_", "268435456" },
    { "OPENBLAS_CORETYPE", "SkylakeX" },
};
enum { PAGES = CBX_LEN(settings) - 1, CORE_TYPE = 1 };

#define DEFAULT_VARIANT                                                                                                \
    {                                                                                                                  \
        "default", NULL, 0, "as installed"                                                                             \
    }
static const char why_pages[] = "the allocator keeps freed pages instead of returning them to the system";
static const char why_both[] = "the allocator keeps freed pages, and OpenBLAS uses its AVX-512 kernels";
static const char why_core[] = "OpenBLAS 0.3.21 does not know this CPU and would use its AVX2 kernels";

static const cbx_variant plain[] = { DEFAULT_VARIANT };
static const cbx_variant with_pages[] = { DEFAULT_VARIANT, { "tuned", settings, PAGES, why_pages } };
static const cbx_variant with_both[] = { DEFAULT_VARIANT, { "tuned", settings, PAGES + CORE_TYPE, why_both } };
static const cbx_variant with_core[] = { DEFAULT_VARIANT, { "tuned", settings + PAGES, CORE_TYPE, why_core } };

static size_t native_variants(const cbx_baseline_ops *baseline, const cbx_variant **out)
{
    bool repairs = baseline && strstr(baseline->name, "openblas") && cbx_openblas_misjudges_cpu();
    *out = repairs ? with_core : plain;
    return repairs ? CBX_LEN(with_core) : CBX_LEN(plain);
}

static size_t numpy_variants(const cbx_baseline_ops *baseline, const cbx_variant **out)
{
    (void)baseline;
    *out = cbx_isa_of_cpu() == CBX_ISA_AVX512 ? with_both : with_pages;
    return CBX_LEN(with_both);
}

static size_t allocator_variants(const cbx_baseline_ops *baseline, const cbx_variant **out)
{
    (void)baseline;
    *out = with_pages;
    return CBX_LEN(with_pages);
}

static const char built_before[] = "built ahead of time: nothing is compiled when it runs";
static const char eager[] = "eager: it calls kernels that were built ahead of time";

static const cbx_provider_ops *const providers[] = {
    NATIVE("native", "C baselines of this library, in nperf-worker"),
    NATIVE("cuda", "C baselines of this library on a GPU, in nperf-worker"),
    PYTHON("numpy", "NumPy on the CPU", numpy_variants, built_before, NULL),
    PYTHON("jax", "JAX, compiled by XLA", allocator_variants, NULL, "JAX_COMPILATION_CACHE_DIR"),
    PYTHON("torch", "PyTorch, eager", allocator_variants, eager, NULL),
    PYTHON("pyg", "PyTorch Geometric, eager", allocator_variants, eager, NULL),
    PYTHON("scipy", "SciPy's sparse matrices on the CPU", numpy_variants, built_before, NULL),
    PYTHON("graphblas", "SuiteSparse:GraphBLAS on the CPU", allocator_variants, built_before, NULL),
    PYTHON("metrics", "scikit-learn, SciPy and packages of single domains", numpy_variants, built_before, NULL),
    PYTHON("torchmetrics", "torchmetrics over PyTorch, eager", allocator_variants, eager, NULL),
    PYTHON("calibrax", "the Python package calibrax over JAX", allocator_variants, NULL, "JAX_COMPILATION_CACHE_DIR"),
};

const cbx_provider_ops *const *cbx_providers(size_t *count)
{
    *count = CBX_LEN(providers);
    return providers;
}

const cbx_provider_ops *cbx_provider_find(const char *name)
{
    for (size_t i = 0; name && i < CBX_LEN(providers); i++)
        if (strcmp(providers[i]->name, name) == 0) return providers[i];
    return NULL;
}

/* --- the interpreter --- */

/* "NPERF_PYTHON" and the words behind it, upper case, - becomes _; NULL words are left out. */
static const char *variable_name(cbx_arena *arena, const char *framework, const char *platform)
{
    char *name = cbx_arena_printf(arena, "NPERF_PYTHON%s%s%s%s", framework ? "_" : "", framework ? framework : "",
                                  platform ? "_" : "", platform ? platform : "");
    for (char *c = name; c && *c; c++) *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
    return name;
}

/* A program by path, or by name along PATH; NULL: not found. */
static const char *find_program(cbx_arena *arena, const char *name)
{
    const char *path = getenv("PATH");
    if (strchr(name, '/')) return access(name, X_OK) == 0 ? cbx_arena_strdup(arena, name) : NULL;
    for (const char *from = path; from && *from;) {
        size_t len = strcspn(from, ":");
        const char *candidate = cbx_arena_printf(arena, "%.*s/%s", len ? (int)len : 1, len ? from : ".", name);
        if (candidate && access(candidate, X_OK) == 0) return candidate;
        from += len + (from[len] == ':');
    }
    return NULL;
}

cbx_status cbx_provider_interpreter(cbx_ctx *ctx, const char *provider, const char *platform, cbx_arena *arena,
                                    const char **path, const char **origin, cbx_err *err)
{
    const char *variables[] = { variable_name(arena, provider, platform), variable_name(arena, provider, NULL),
                                variable_name(arena, NULL, platform), "NPERF_WORKER_PYTHON" };
    const char *found = NULL, *where = NULL;
    (void)ctx;
    for (size_t i = 0; i < CBX_LEN(variables) && !found; i++) {
        const char *value = variables[i] ? getenv(variables[i]) : NULL;
        if (!variables[i]) return cbx_fail(err, CBX_ENOMEM, "no memory for the name of a variable");
        if (!value || !*value) continue;
        where = variables[i];
        found = find_program(arena, value);
        if (!found)
            return cbx_fail(err, CBX_ENOENT, "%s names '%s', which is not a program: correct it, or unset it", where,
                            value);
    }
    if (!found) {
        where = "scripts/setup-refs.sh";
        /* Where scripts/setup-refs.sh puts a framework's environment. */
        const char *root = getenv("NPERF_REFS_ENV_DIR"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME"),
                   *place = NULL;
        if (root && *root)
            place = cbx_arena_printf(arena, "%s/%s/bin/python", root, provider);
        else if (cache && *cache)
            place = cbx_arena_printf(arena, "%s/calibrax/refs/%s/bin/python", cache, provider);
        else if (home && *home)
            place = cbx_arena_printf(arena, "%s/.cache/calibrax/refs/%s/bin/python", home, provider);
        found = place && access(place, X_OK) == 0 ? place : NULL;
    }
    if (!found) {
        where = "PATH";
        found = find_program(arena, "python3");
    }
    if (!found)
        return cbx_fail(err, CBX_EUNAVAILABLE,
                        "no Python for provider '%s': install python3, then run scripts/setup-refs.sh %s", provider,
                        provider);
    *path = found;
    if (origin) *origin = where;
    return CBX_OK;
}
