/**
 * The table of policies; see policy.h.
 *
 * Sources: OpenMP 5.2 section 21; oneMKL developer guide, "Techniques to set the number of
 * threads"; OpenBLAS README, "Setting the number of threads"; NumExpr user guide; XLA flags of
 * jaxlib (xla/debug_options_flags.cc); JAX configuration options; torch.set_num_threads,
 * torch.set_float32_matmul_precision; cuBLAS guide, "NVIDIA_TF32_OVERRIDE"; oneDNN,
 * "ONEDNN_DEFAULT_FPMATH_MODE".
 */
#include "calibrax/perf/launch/policy.h"

#include <stdio.h>
#include <string.h>

#include "calibrax/base/idioms.h"
#include "calibrax/base/json_put.h"
#include "calibrax/perf/launch/child.h"

#define EVERY NULL
#define ENV   false
#define CALL  true

/* XLA divides work within an operation among a pool as large as NPROC; with one thread that is
 * switched off altogether. */
static const cbx__policy_line lines[] = {
    { EVERY, EVERY, EVERY, ENV, "OMP_NUM_THREADS", "%d" },
    { EVERY, EVERY, EVERY, ENV, "OMP_DYNAMIC", "false" },
    { EVERY, EVERY, EVERY, ENV, "OPENBLAS_NUM_THREADS", "%d" },
    { EVERY, EVERY, EVERY, ENV, "MKL_NUM_THREADS", "%d" },
    { EVERY, EVERY, EVERY, ENV, "MKL_DYNAMIC", "false" },
    { EVERY, EVERY, EVERY, ENV, "BLIS_NUM_THREADS", "%d" },
    { EVERY, EVERY, EVERY, ENV, "NUMEXPR_NUM_THREADS", "%d" },
    { EVERY, EVERY, EVERY, ENV, "NUMEXPR_MAX_THREADS", "%d" },
    { "jax", EVERY, EVERY, ENV, "NPROC", "%d" },
    { "jax", EVERY, "cpu", ENV, "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1", 1 },

    { EVERY, "full", "device", ENV, "NVIDIA_TF32_OVERRIDE", "0" },
    { EVERY, "full", "cpu", ENV, "ONEDNN_DEFAULT_FPMATH_MODE", "STRICT" },
    { EVERY, "tf32", "cpu", ENV, "ONEDNN_DEFAULT_FPMATH_MODE", "TF32" },
    { EVERY, "bf16", "cpu", ENV, "ONEDNN_DEFAULT_FPMATH_MODE", "BF16" },
    { "jax", "full", EVERY, CALL, "jax_default_matmul_precision", "highest" },
    { "jax", "tf32", EVERY, CALL, "jax_default_matmul_precision", "tensorfloat32" },
    { "jax", "bf16", EVERY, CALL, "jax_default_matmul_precision", "bfloat16" },
    { "torch", "full", EVERY, CALL, "float32_matmul_precision", "highest" },
    { "torch", "tf32", EVERY, CALL, "float32_matmul_precision", "high" },
    { "torch", "bf16", EVERY, CALL, "float32_matmul_precision", "medium" },
    { "torch", "full", "device", CALL, "cudnn.allow_tf32", "false" },
    { "torch", "tf32", "device", CALL, "cudnn.allow_tf32", "true" },
    { "torch", "bf16", "device", CALL, "cudnn.allow_tf32", "true" },
    { "torch", EVERY, EVERY, CALL, "num_threads", "%d" },
    { "torch", EVERY, EVERY, CALL, "num_interop_threads", "1" },
    { "graphblas", EVERY, EVERY, CALL, "nthreads", "%d" },
};

static const char *const words[] = { "full", "tf32", "bf16" };

/* Frameworks that run under another's name. */
static const char *family(const char *provider)
{
    if (!strcmp(provider, "pyg") || !strcmp(provider, "torchmetrics")) return "torch";
    return strcmp(provider, "calibrax") ? provider : "jax";
}

const cbx__policy_line *cbx__policy_lines(size_t *count)
{
    *count = CBX_LEN(lines);
    return lines;
}

cbx_status cbx__policy_precision(const char *word, const char **out, cbx_err *err)
{
    const size_t i = word ? CBX_WORD_AT(words, word) : 0;

    if (i < CBX_LEN(words)) {
        *out = words[i];
        return CBX_OK;
    }
    const char *near = cbx_nearest_word(word, words, CBX_LEN(words));
    return cbx_fail(err, CBX_EINVAL, "'matmul_precision' must be full, tf32 or bf16, got '%s'%s%s%s", word,
                    near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* What is asked of a framework is what it has a call for: variables alone do not make NumPy
 * inexact. */
const char *cbx__policy_applied(const char *provider, const char *precision)
{
    for (const cbx__policy_line *l = lines; l < lines + CBX_LEN(lines); l++)
        if (l->by_call && l->precision && l->provider && !strcmp(l->provider, family(provider)) &&
            !strcmp(l->precision, precision))
            return l->precision;
    return words[0];
}

static bool is_for(const cbx__policy_line *l, const char *provider, const char *platform, int threads,
                   const char *applied)
{
    bool device = strncmp(platform, "cuda", 4) == 0;

    if (l->provider && strcmp(l->provider, family(provider))) return false;
    if ((l->precision && strcmp(l->precision, applied)) || (l->threads && l->threads != threads)) return false;
    return !l->only || device == !strcmp(l->only, "device");
}

static const char *value_of(const cbx__policy_line *l, int threads, char number[16])
{
    if (strcmp(l->value, "%d")) return l->value;
    snprintf(number, 16, "%d", threads);
    return number;
}

cbx_json *cbx__policy_json(const char *provider, const char *platform, int threads, const char *precision,
                           bool with_environment)
{
    const char *applied = cbx__policy_applied(provider, precision);
    cbx_json *o = cbx_json_object(J_INT("threads", threads), J_TEXT("precision", applied));

    if (with_environment && strcmp(applied, precision)) cbx_json_set_string(o, "precision_asked", precision);
    for (int by_call = 1; by_call >= !with_environment; by_call--) {
        cbx_json *settings = cbx_json_set_object(o, by_call ? "settings" : "environment");
        for (const cbx__policy_line *l = lines; l < lines + CBX_LEN(lines); l++) {
            char number[16];
            if (l->by_call == by_call && is_for(l, provider, platform, threads, applied))
                cbx_json_set_string(settings, l->name, value_of(l, threads, number));
        }
    }
    return cbx_json_finish(o);
}

bool cbx__policy_too_many(const cbx_json *reported, int threads, char pool[48], int *found)
{
    const char *name;
    cbx_json *value;

    for (size_t i = 0; reported && cbx_json_member(reported, i, &name, &value); i++) {
        int64_t n = cbx_json_get_int(reported, name, 0);
        if (n <= threads) continue;
        snprintf(pool, 48, "%.40s", name);
        *found = n > 1 << 20 ? 1 << 20 : (int)n;
        return true;
    }
    return false;
}

bool cbx__policy_contradicts(const cbx_json *reported, const cbx_json *asked, char name[48], char found[48])
{
    const char *setting;
    cbx_json *value;

    for (size_t i = 0; asked && cbx_json_member(asked, i, &setting, &value); i++) {
        const char *back = cbx_json_get_string(reported, setting, NULL);
        if (!cbx_json_has(reported, setting) || (back && !strcmp(back, cbx_json_get_string(asked, setting, ""))))
            continue;
        snprintf(name, 48, "%.40s", setting);
        snprintf(found, 48, "%.40s", back ? back : "no text");
        return true;
    }
    return false;
}

/* --- the environment a worker gets: cleaned, then threads and precision by the table, its device,
 * its cores, its variant --- */

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
    if (opts->threads > 0) {
        /* Sets the variables of a provider. */
        const char *precision = opts->precision ? opts->precision : "full";
        const char *applied = cbx__policy_applied(provider, precision);
        for (size_t i = 0; i < CBX_LEN(lines); i++) {
            char number[16];
            if (lines[i].by_call || !is_for(&lines[i], provider, opts->platform, opts->threads, applied)) continue;
            cbx__environment_set(e, lines[i].name, value_of(&lines[i], opts->threads, number));
        }
    }
    if (!cores) e->failed = true;
    for (size_t i = 0; i < CBX_LEN(variables); i++)
        if (variables[i].set) cbx__environment_set(e, variables[i].name, variables[i].value);
    for (size_t i = 0; i < opts->nenv; i++) cbx__environment_set(e, opts->env[i].name, opts->env[i].value);
}
