/**
 * Providers: the frameworks that run baselines, the ways to run them, and the platforms they run
 * on.
 */
#ifndef CALIBRAX_PERF_CASE_PROVIDER_H
#define CALIBRAX_PERF_CASE_PROVIDER_H

#include "calibrax/base/arena.h"
#include "calibrax/perf/case/case.h"

CBX_BEGIN_DECLS

typedef struct cbx_env_setting {
    const char *name, *value; /* value NULL: unset */
} cbx_env_setting;

/** A way to run a provider: the default one, and the strongest honest one. */
typedef struct cbx_variant {
    const char *name; /* "default", "tuned" */
    const cbx_env_setting *env;
    size_t nenv;
    const char *why; /* what the settings repair */
} cbx_variant;

typedef struct cbx_provider_ops {
    uint32_t struct_size, abi;
    const char *name; /* "native", "numpy", "jax", "torch" */
    const char *summary;
    bool python;       /* runs in workers/python */
    const char *setup; /* command that adds it; NULL: always there */
    /** Variants of a baseline that make sense on this machine, the default first; static storage.
     * @param baseline  NULL: those that any baseline of the provider has */
    size_t (*variants)(const cbx_baseline_ops *baseline, const cbx_variant **out);
    const char *no_compiler; /* why nothing is compiled when its baselines run; NULL: it compiles */
    /* variable that names the folder in which it keeps what it compiled; NULL: it keeps nothing */
    const char *cache_folder;
} cbx_provider_ops;

CBX_API const cbx_provider_ops *const *cbx_providers(size_t *count);
CBX_API const cbx_provider_ops *cbx_provider_find(const char *name);

/**
 * The interpreter for a provider: NPERF_PYTHON_<FW>_<PLATFORM>, NPERF_PYTHON_<FW>,
 * NPERF_PYTHON_<PLATFORM>, NPERF_WORKER_PYTHON (upper case, - becomes _), the environment that
 * scripts/setup-refs.sh built, then python3 on PATH.
 * @param origin  which of these it was, for messages; may be NULL
 * @return CBX_OK; CBX_ENOENT (a variable names a file that does not exist: the message names both);
 *   CBX_EUNAVAILABLE (no Python at all)
 */
CBX_API cbx_status cbx_provider_interpreter(cbx_ctx *ctx, const char *provider, const char *platform, cbx_arena *arena,
                                            const char **path, const char **origin, cbx_err *err);

/** Canonical platform name of a word ("jax-cpu" -> "cpu"); CBX_EINVAL with the nearest known
 * one. */
CBX_API cbx_status cbx_platform_parse(const char *word, const char **out, cbx_err *err);
/** True if this machine has a device for the platform. */
CBX_API bool cbx_platform_available(const char *platform);

CBX_END_DECLS
#endif
