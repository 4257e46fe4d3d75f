/*
 * The environment a worker gets: cleaned, then threads and precision by the table of policy.c, its
 * device, its cores, its variant.
 */
#include "calibrax/perf/launch/worker_environment.h"

#include <string.h>

#include "calibrax/perf/launch/child.h"
#include "calibrax/perf/launch/policy.h"

/* Left out of a clean environment, by the beginning of the name: what is measured is the default or
 * the variant, not the shell. */
/* clang-format off */
static const char *const steering[] = {
    "MALLOC_", "GLIBC_TUNABLES=", "OPENBLAS_", "GOTO_", "MKL_", "BLIS_", "OMP_", "GOMP_", "KMP_", "NUMEXPR_",
    "XLA_", "JAX_", "TORCH_", "TORCHINDUCTOR_", "PYTORCH_", "CUDA_VISIBLE_DEVICES=", "CUDA_DEVICE_ORDER=",
    "NVIDIA_TF32_OVERRIDE=", "ONEDNN_", "DNNL_", "NPROC=", "PYTHON", "NPERF_WORKER_FD=", "NPERF_CPU_CORES=",
    "NPERF_LOCKS=", "NPERF_ENV_PAD=", "NPERF_STACK_PAD=", "VIRTUAL_ENV=", "LD_PRELOAD=",
};
/* clang-format on */

static bool steers(const char *var)
{
    for (size_t i = 0; i < CBX_LEN(steering); i++)
        if (strncmp(var, steering[i], strlen(steering[i])) == 0) return true;
    return false;
}

void cbx__environment_clean(cbx__environment *e, cbx_arena *arena) { cbx__environment_init(e, arena, steers); }

void cbx__environment_worker(cbx__environment *e, const cbx_launch_opts *opts, const char *provider)
{
    const bool cpu = strncmp(opts->platform, "cuda", 4) != 0, jax = strcmp(provider, "jax") == 0;
    const bool keeps = jax && opts->jit_cache;
    const char *cores = cbx__cores_text(e->arena, opts->cores, opts->ncores);
    const struct {
        const char *name, *value;
        bool set;
    } variables[] = {
        { "JAX_PLATFORMS", cpu ? "cpu" : "cuda", jax },
        { "XLA_PYTHON_CLIENT_PREALLOCATE", "false", jax },
        /* what is compiled is kept in a folder, each entry however small and quickly made; or
         * nowhere */
        { "JAX_ENABLE_COMPILATION_CACHE", keeps ? "true" : "false", jax },
        { "JAX_COMPILATION_CACHE_DIR", opts->jit_cache, keeps },
        { "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0", keeps },
        { "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1", keeps },
        /* by number in the order of NVML, which CUDA does not count by unless it is set to */
        { "CUDA_DEVICE_ORDER", "PCI_BUS_ID", opts->device },
        { "CUDA_VISIBLE_DEVICES", opts->device ? opts->device : "", opts->device || cpu },
        { "NPERF_CPU_CORES", cores, opts->ncores && cores },
    };

    cbx__environment_set(e, "NPERF_WORKER_FD", "3");
    if (opts->threads > 0)
        cbx__policy_environment(e, provider, opts->platform, opts->threads, opts->precision ? opts->precision : "full");
    if (!cores) e->failed = true;
    for (size_t i = 0; i < CBX_LEN(variables); i++)
        if (variables[i].set) cbx__environment_set(e, variables[i].name, variables[i].value);
    for (size_t i = 0; i < opts->nenv; i++) cbx__environment_set(e, opts->env[i].name, opts->env[i].value);
}
