/*
 * The environment a worker gets: cleaned, then threads and precision by the table of policy.c, its
 * device, its cores, its variant.
 */
#include "calibrax/perf/launch/worker_environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/perf/launch/policy.h"

/* Left out of a clean environment, by the beginning of the name: what is measured is the default or
 * the variant, not the shell. */
static const char *const steering[] = { "MALLOC_",
                                        "GLIBC_TUNABLES=",
                                        "OPENBLAS_",
                                        "GOTO_",
                                        "MKL_",
                                        "BLIS_",
                                        "OMP_",
                                        "GOMP_",
                                        "KMP_",
                                        "NUMEXPR_",
                                        "XLA_",
                                        "JAX_",
                                        "TORCH_",
                                        "TORCHINDUCTOR_",
                                        "PYTORCH_",
                                        "CUDA_VISIBLE_DEVICES=",
                                        "CUDA_DEVICE_ORDER=",
                                        "NVIDIA_TF32_OVERRIDE=",
                                        "ONEDNN_",
                                        "DNNL_",
                                        "NPROC=",
                                        "PYTHON",
                                        "NPERF_WORKER_FD=",
                                        "NPERF_CPU_CORES=",
                                        "NPERF_LOCKS=",
                                        "NPERF_ENV_PAD=",
                                        "NPERF_STACK_PAD=",
                                        "VIRTUAL_ENV=",
                                        "LD_PRELOAD=" };

static bool steers(const char *var)
{
    for (size_t i = 0; i < CBX_LEN(steering); i++) {
        if (strncmp(var, steering[i], strlen(steering[i])) == 0) return true;
    }
    return false;
}

void cbx__environment_clean(cbx__environment *e, cbx_arena *arena) { cbx__environment_init(e, arena, steers); }

/* What is compiled is kept in a folder, each entry however small and quickly made; or nowhere. */
static void set_jax_cache(cbx__environment *e, const char *folder)
{
    cbx__environment_set(e, "JAX_ENABLE_COMPILATION_CACHE", folder ? "true" : "false");
    if (!folder) return;
    cbx__environment_set(e, "JAX_COMPILATION_CACHE_DIR", folder);
    cbx__environment_set(e, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0");
    cbx__environment_set(e, "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1");
}

static void set_jax(cbx__environment *e, bool cpu)
{
    cbx__environment_set(e, "JAX_PLATFORMS", cpu ? "cpu" : "cuda");
    cbx__environment_set(e, "XLA_PYTHON_CLIENT_PREALLOCATE", "false");
}

/* By number in the order of NVML, which CUDA does not count by unless it is set to. */
static void set_device(cbx__environment *e, const char *device, bool cpu)
{
    if (device) cbx__environment_set(e, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    if (device || cpu) cbx__environment_set(e, "CUDA_VISIBLE_DEVICES", device ? device : "");
}

static void set_cores(cbx__environment *e, const int *cores, size_t n)
{
    const char *text = "";
    for (size_t i = 0; i < n && text; i++) text = cbx_arena_printf(e->arena, i ? "%s,%d" : "%s%d", text, cores[i]);
    if (!text) e->failed = true;
    if (n && text) cbx__environment_set(e, "NPERF_CPU_CORES", text);
}

void cbx__environment_worker(cbx__environment *e, const cbx_launch_opts *opts, const char *provider)
{
    bool cpu = strncmp(opts->platform, "cuda", 4) != 0;
    cbx__environment_set(e, "NPERF_WORKER_FD", "3");
    if (opts->threads > 0)
        cbx__policy_environment(e, provider, opts->platform, opts->threads, opts->precision ? opts->precision : "full");
    if (strcmp(provider, "jax") == 0) {
        set_jax(e, cpu);
        set_jax_cache(e, opts->jit_cache);
    }
    set_device(e, opts->device, cpu);
    set_cores(e, opts->cores, opts->ncores);
    for (size_t i = 0; i < opts->nenv; i++) cbx__environment_set(e, opts->env[i].name, opts->env[i].value);
}
