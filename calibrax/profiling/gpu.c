/*
 * NVML by name: types and numbers as the NVML API reference gives them (nvmlReturn_t, nvmlMemory_t,
 * nvmlUtilization_t, nvmlClockType_t, nvmlTemperatureSensors_t), which have been the same since
 * version 1 of the ABI.
 */
#include "calibrax/profiling/gpu.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/idioms.h"
#include "calibrax/base/library.h"

#define MIB 1048576.0

enum { NVML_NO_PERMISSION = 4, NVML_GPU_IS_LOST = 15 };
enum { CLOCK_GRAPHICS = 0, CLOCK_SM = 1, CLOCK_MEMORY = 2, SENSOR_GPU = 0 };

typedef struct nvml_memory {
    unsigned long long total, available, used;
} nvml_memory;

typedef struct nvml_utilization {
    unsigned gpu, memory;
} nvml_utilization;

/* nvmlProcessInfo_t: of versions 2 and 3 it ends with two numbers of an instance, of version 1
 * after the memory. */
typedef struct nvml_process {
    unsigned pid;
    unsigned long long bytes; /* all ones: unknown */
    unsigned instances[2];
} nvml_process;

#define MAX_PROCESSES 256 /* on a device, that hold memory of a kind */

typedef int (*nvml_processes)(void *device, unsigned *n, void *list);

/* name, symbol, result, arguments: the part of NVML that is used here. */
#define NVML_CALLS(X)                                                                                                  \
    X(init, "nvmlInit_v2", int, (void))                                                                                \
    X(shutdown, "nvmlShutdown", int, (void))                                                                           \
    X(error, "nvmlErrorString", const char *, (int))                                                                   \
    X(count, "nvmlDeviceGetCount_v2", int, (unsigned *))                                                               \
    X(handle, "nvmlDeviceGetHandleByIndex_v2", int, (unsigned, void **))                                               \
    X(handle_at, "nvmlDeviceGetHandleByPciBusId_v2", int, (const char *, void **))                                     \
    X(name, "nvmlDeviceGetName", int, (void *, char *, unsigned))                                                      \
    X(memory, "nvmlDeviceGetMemoryInfo", int, (void *, nvml_memory *))                                                 \
    X(utilization, "nvmlDeviceGetUtilizationRates", int, (void *, nvml_utilization *))                                 \
    X(clock, "nvmlDeviceGetClockInfo", int, (void *, int, unsigned *))                                                 \
    X(temperature, "nvmlDeviceGetTemperature", int, (void *, int, unsigned *))                                         \
    X(power, "nvmlDeviceGetPowerUsage", int, (void *, unsigned *))                                                     \
    X(limit, "nvmlDeviceGetPowerManagementLimit", int, (void *, unsigned *))                                           \
    X(energy, "nvmlDeviceGetTotalEnergyConsumption", int, (void *, unsigned long long *))                              \
    X(throttle, "nvmlDeviceGetCurrentClocksThrottleReasons", int, (void *, unsigned long long *))

typedef struct nvml {
    NVML_CALLS(CBX_CALL_MEMBER)
    nvml_processes compute, graphics; /* NULL: the driver lacks them */
    size_t process_bytes;             /* of an entry of their lists */
} nvml;

struct cbx_gpu {
    cbx_allocator al;
    cbx_library *library, *more;
    nvml f;
    bool started;
    void *device;
    char name[96];
};

/* The newest of three forms; a driver may lack all of them. */
static cbx_status load_processes(cbx_ctx *ctx, const char *path, nvml *f, cbx_library **out, cbx_err *err)
{
    static const struct {
        const char *compute, *graphics;
        size_t bytes;
    } forms[] = {
        { "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v3", sizeof(nvml_process) },
        { "nvmlDeviceGetComputeRunningProcesses_v2", "nvmlDeviceGetGraphicsRunningProcesses_v2", sizeof(nvml_process) },
        { "nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses",
          offsetof(nvml_process, instances) },
    };

    for (size_t i = 0; i < CBX_LEN(forms); i++) {
        const cbx_library_symbol symbols[] = {
            { forms[i].compute, (void **)&f->compute },
            { forms[i].graphics, (void **)&f->graphics },
        };
        cbx_status st = cbx_library_open_known(ctx, CBX_LIBRARY_NVML, path, symbols, CBX_LEN(symbols), out, NULL);
        f->process_bytes = forms[i].bytes;
        if (st == CBX_ENOMEM) return cbx_fail(err, st, "out of memory for a GPU");
        if (!st) return CBX_OK;
    }
    return CBX_OK;
}

/* By address, else by index. */
static cbx_status find_device(cbx_gpu *g, const char *address, unsigned index, cbx_err *err)
{
    char words[40];
    unsigned n = 0;
    int fault = address ? g->f.handle_at(address, &g->device) : g->f.count(&n);

    if (!address && !fault && index >= n) return cbx_fail(err, CBX_ENOENT, "no GPU %u: NVML lists %u", index, n);
    if (!address && !fault) fault = g->f.handle(index, &g->device);
    if (address)
        snprintf(words, sizeof words, "at '%.30s'", address);
    else
        snprintf(words, sizeof words, "%u", index);
    if (!fault && g->f.name(g->device, g->name, sizeof g->name)) snprintf(g->name, sizeof g->name, "GPU %s", words);
    g->name[sizeof g->name - 1] = '\0';
    if (!fault) return CBX_OK;
    return cbx_fail(err, fault == NVML_NO_PERMISSION ? CBX_EPERM : CBX_ENOENT, "NVML cannot open GPU %s, error %d: %s",
                    words, fault, g->f.error(fault));
}

static cbx_status open_device(cbx_ctx *ctx, const char *address, unsigned index, const char *library, cbx_gpu **out,
                              cbx_err *err)
{
    static const char *const names[] = { NVML_CALLS(CBX_CALL_NAME) };
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_gpu *g = cbx_mem_zalloc(al, sizeof *g);

    if (!g) return cbx_fail_nomem(err, "a GPU");
    g->al = *al;
    cbx_status st = cbx_library_open_calls(ctx, CBX_LIBRARY_NVML, library, names, CBX_LEN(names), &g->f, &g->library,
                                           err);
    if (!st) st = load_processes(ctx, library, &g->f, &g->more, err);
    int fault = st ? 0 : g->f.init();
    g->started = !st && !fault;
    if (fault)
        st = cbx_fail(err, CBX_EUNAVAILABLE,
                      "NVML cannot be initialised, error %d: %s: check that NVIDIA's driver is loaded", fault,
                      g->f.error(fault));
    if (!st) st = find_device(g, address, index, err);
    return CBX_FINISH(st, *out = g, cbx_gpu_close(g));
}

cbx_status cbx_gpu_open(cbx_ctx *ctx, unsigned index, const char *library, cbx_gpu **out, cbx_err *err)
{
    return open_device(ctx, NULL, index, library, out, err);
}

cbx_status cbx_gpu_open_at(cbx_ctx *ctx, const char *address, const char *library, cbx_gpu **out, cbx_err *err)
{
    return open_device(ctx, address, 0, library, out, err);
}

void cbx_gpu_close(cbx_gpu *g)
{
    if (!g) return;
    if (g->started) g->f.shutdown();
    cbx_library_close(g->more);
    cbx_library_close(g->library);
    cbx_mem_free(&g->al, g, sizeof *g);
}

const char *cbx_gpu_name(const cbx_gpu *g) { return g->name; }

static double clock_mhz(const cbx_gpu *g, int which)
{
    unsigned v;
    return g->f.clock(g->device, which, &v) ? NAN : v;
}

cbx_status cbx_gpu_read(cbx_gpu *g, cbx_gpu_reading *out, cbx_err *err)
{
    unsigned long long reasons = 0, mj = 0;
    nvml_memory m = { 0 };
    nvml_utilization u = { 0 };
    unsigned celsius, mw;
    int fault = g->f.temperature(g->device, SENSOR_GPU, &celsius);

    if (fault == NVML_GPU_IS_LOST) return cbx_fail(err, CBX_EIO, "GPU '%s' is lost: %s", g->name, g->f.error(fault));
    bool memory = g->f.memory(g->device, &m) == 0;
    bool use = g->f.utilization(g->device, &u) == 0;
    out->temperature_c = fault ? NAN : celsius;
    out->mem_used_mb = memory ? (double)m.used / MIB : NAN;
    out->mem_total_mb = memory ? (double)m.total / MIB : NAN;
    out->util = use ? u.gpu : NAN;
    out->mem_util = use ? u.memory : NAN;
    out->power_w = g->f.power(g->device, &mw) ? NAN : 1e-3 * mw;
    out->power_limit_w = g->f.limit(g->device, &mw) ? NAN : 1e-3 * mw;
    out->energy_j = g->f.energy(g->device, &mj) ? NAN : 1e-3 * (double)mj;
    out->graphics_mhz = clock_mhz(g, CLOCK_GRAPHICS);
    out->sm_mhz = clock_mhz(g, CLOCK_SM);
    out->memory_mhz = clock_mhz(g, CLOCK_MEMORY);
    out->throttle = g->f.throttle(g->device, &reasons) ? 0 : reasons;
    return CBX_OK;
}

/* Adds up a list; false: it is unknown. */
static bool add_processes(const cbx_gpu *g, nvml_processes list_of, const pid_t *pids, size_t npids, double *bytes)
{
    _Alignas(nvml_process) char list[MAX_PROCESSES * sizeof(nvml_process)];
    unsigned n = MAX_PROCESSES;

    if (!list_of || list_of(g->device, &n, list) != 0 || n > MAX_PROCESSES) return false;
    for (unsigned i = 0; i < n; i++) {
        nvml_process p = { 0 };
        size_t at = 0;
        memcpy(&p, list + i * g->f.process_bytes, g->f.process_bytes);
        while (at < npids && (unsigned)pids[at] != p.pid) at++;
        if (at == npids) continue;
        if (p.bytes == ~0ull) return false;
        *bytes += (double)p.bytes;
    }
    return true;
}

double cbx_gpu_memory_of(cbx_gpu *g, const pid_t *pids, size_t npids)
{
    double bytes = 0;
    bool known = add_processes(g, g->f.compute, pids, npids, &bytes);

    if (known) (void)add_processes(g, g->f.graphics, pids, npids, &bytes); /* some devices have no graphics */
    return known ? bytes / MIB : NAN;
}

void cbx_gpu_sample(void *gpu, const pid_t *pids, size_t npids, cbx_resource_device *out)
{
    cbx_gpu_reading r;

    if (cbx_gpu_read(gpu, &r, NULL)) return;
    *out = (cbx_resource_device){ .mem_mb = r.mem_used_mb,
                                  .util = r.util,
                                  .clock_mhz = r.graphics_mhz,
                                  .power_w = r.power_w,
                                  .temperature_c = r.temperature_c,
                                  .tree_mem_mb = cbx_gpu_memory_of(gpu, pids, npids),
                                  .throttle = r.throttle };
}

static const struct {
    uint64_t bit;
    const char *words;
    bool slows;
} reasons_known[] = {
#define THROTTLE_ROW(name, bit, words, slow) { bit, words, slow },
    CBX_GPU_THROTTLE_MAP(THROTTLE_ROW)
#undef THROTTLE_ROW
};

const char *cbx_gpu_throttle_words(uint64_t reasons, char buf[CBX_GPU_THROTTLE_SIZE])
{
    size_t at = 0;
    buf[0] = '\0';
    for (size_t i = 0; i < CBX_LEN(reasons_known); i++) {
        if (reasons & reasons_known[i].bit)
            at += (size_t)snprintf(buf + at, CBX_GPU_THROTTLE_SIZE - at, "%s%s", at ? ", " : "",
                                   reasons_known[i].words);
    }
    return buf;
}

const char *cbx_gpu_throttle_at(size_t i, uint64_t *bit)
{
    if (i >= CBX_LEN(reasons_known)) return NULL;
    *bit = reasons_known[i].bit;
    return reasons_known[i].words;
}

bool cbx_gpu_is_slowed(uint64_t reasons)
{
    for (size_t i = 0; i < CBX_LEN(reasons_known); i++)
        if (reasons_known[i].slows && (reasons & reasons_known[i].bit)) return true;
    return false;
}
