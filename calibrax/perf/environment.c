/*
 * The environment a worker gets.  Every framework is told the same thread count in every dialect it might listen to.
 */
#include "calibrax/perf/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Left out of a clean environment, by the beginning of the name: what is measured is the default or the variant, not the shell. */
static const char *const steering[] = {
    "MALLOC_",
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
    "PYTHON",
    "NPERF_WORKER_FD=",
    "NPERF_CPU_CORES=",
    "NPERF_ENV_PAD=",
    "NPERF_STACK_PAD=",
    "VIRTUAL_ENV=",
    "LD_PRELOAD=",
};

static bool steers(const char *var)
{
    for (size_t i = 0; i < CBX_LEN(steering); i++) {
        if (strncmp(var, steering[i], strlen(steering[i])) == 0) return true;
    }
    return false;
}

void cbx__environment_clean(cbx__environment *e, cbx_arena *arena) { cbx__environment_init(e, arena, steers); }

static void set_threads(cbx__environment *e, int threads)
{
    static const char *const dialects[] = { "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
                                            "NUMEXPR_NUM_THREADS" };
    char number[16];
    snprintf(number, sizeof number, "%d", threads);
    for (size_t i = 0; i < CBX_LEN(dialects); i++) cbx__environment_set(e, dialects[i], number);
}

/* What is compiled is kept in a folder, each entry however small and quickly made; or nowhere. */
static void set_jax_cache(cbx__environment *e, const char *folder)
{
    cbx__environment_set(e, "JAX_ENABLE_COMPILATION_CACHE", folder ? "true" : "false");
    if (!folder) return;
    cbx__environment_set(e, "JAX_COMPILATION_CACHE_DIR", folder);
    cbx__environment_set(e, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0");
    cbx__environment_set(e, "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1");
}

static void set_jax(cbx__environment *e, bool cpu, int threads)
{
    cbx__environment_set(e, "JAX_PLATFORMS", cpu ? "cpu" : "cuda");
    cbx__environment_set(e, "XLA_PYTHON_CLIENT_PREALLOCATE", "false");
    if (cpu && threads == 1)
        cbx__environment_set(e, "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1");
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
    if (opts->threads > 0) set_threads(e, opts->threads);
    if (strcmp(provider, "jax") == 0) {
        set_jax(e, cpu, opts->threads);
        set_jax_cache(e, opts->jit_cache);
    }
    if (cpu) cbx__environment_set(e, "CUDA_VISIBLE_DEVICES", "");
    set_cores(e, opts->cores, opts->ncores);
    for (size_t i = 0; i < opts->nenv; i++) cbx__environment_set(e, opts->env[i].name, opts->env[i].value);
}
