/*
 * A library that plays NVML, told by CBX_FAKE_NVML what to be:
 *
 *   present    two devices; the default     none     no device
 *   failing    nvmlInit fails with 9        lost     device 1 has fallen off the bus
 *   old        neither energy counter nor throttle reasons
 *   mute       device 1 tells nothing
 *
 * CBX_FAKE_NVML_PIDS: processes on the device, "PID:MiB,...", which hold as much for arithmetic as
 * for graphics; -1: not told.  Built once more with FAKE_LACKS_ENERGY it lacks a symbol, with
 * FAKE_LACKS_VERSIONS it lists processes in the first form.  Energy moves by 300 mJ a reading,
 * power by 10 W.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

enum { UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, DRIVER_NOT_LOADED = 9, LOST = 15 };

static atomic_int open_count, power_reads;

static int is(const char *part)
{
    const char *now = getenv("CBX_FAKE_NVML");
    return strcmp(now ? now : "present", part) == 0;
}

static char handles[2]; /* a handle is no index */

static int index_of(void *device) { return (int)((char *)device - handles); }

/* What every question to a device answers first. */
static int fault_of(void *device)
{
    if (!open_count) return UNINITIALIZED;
    if (index_of(device) == 1 && is("lost")) return LOST;
    if (index_of(device) == 1 && is("mute")) return NOT_SUPPORTED;
    return index_of(device) == 0 || index_of(device) == 1 ? 0 : INVALID_ARGUMENT;
}

API int fake_nvml_open(void);
API int nvmlInit_v2(void);
API int nvmlShutdown(void);
API const char *nvmlErrorString(int fault);
API int nvmlDeviceGetCount_v2(unsigned *n);
API int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device);
API int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **device);
API int nvmlDeviceGetName(void *device, char *name, unsigned size);
API int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *m);
API int nvmlDeviceGetUtilizationRates(void *device, unsigned *u);
API int nvmlDeviceGetClockInfo(void *device, int which, unsigned *mhz);
API int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius);
API int nvmlDeviceGetPowerUsage(void *device, unsigned *mw);
API int nvmlDeviceGetPowerManagementLimit(void *device, unsigned *mw);
API int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj);
API int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons);

typedef struct process {
    unsigned pid;
    unsigned long long bytes;
#ifndef FAKE_LACKS_VERSIONS
    unsigned instances[2];
#endif
} process;

#ifdef FAKE_LACKS_VERSIONS
#define COMPUTE  nvmlDeviceGetComputeRunningProcesses
#define GRAPHICS nvmlDeviceGetGraphicsRunningProcesses
#else
#define COMPUTE  nvmlDeviceGetComputeRunningProcesses_v3
#define GRAPHICS nvmlDeviceGetGraphicsRunningProcesses_v3
#endif
API int COMPUTE(void *device, unsigned *n, process *list);
API int GRAPHICS(void *device, unsigned *n, process *list);

int fake_nvml_open(void) { return open_count; }

int nvmlInit_v2(void)
{
    if (is("failing")) return DRIVER_NOT_LOADED;
    open_count++;
    return 0;
}

int nvmlShutdown(void)
{
    open_count--;
    return 0;
}

const char *nvmlErrorString(int fault) { return fault == DRIVER_NOT_LOADED ? "Driver Not Loaded" : "Fake Fault"; }

int nvmlDeviceGetCount_v2(unsigned *n)
{
    *n = is("none") ? 0 : 2;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device)
{
    if (i > 1) return INVALID_ARGUMENT;
    *device = &handles[i];
    return 0;
}

/* devices 0 and 1 lie at 0000:01:00.0 and 0000:02:00.0 */
int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **device)
{
    unsigned bus = 0;
    if (sscanf(address, "0000:%u:00.0", &bus) != 1 || bus < 1 || bus > 2) return NOT_FOUND;
    *device = &handles[bus - 1];
    return 0;
}

int nvmlDeviceGetName(void *device, char *name, unsigned size)
{
    snprintf(name, size, "Fake GPU %d", index_of(device));
    return 0;
}

int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *m)
{
    m[0] = 16ull << 30; /* total, free, used */
    m[1] = 12ull << 30;
    m[2] = 4ull << 30;
    return fault_of(device);
}

int nvmlDeviceGetUtilizationRates(void *device, unsigned *u)
{
    u[0] = 75;
    u[1] = 25;
    return fault_of(device);
}

int nvmlDeviceGetClockInfo(void *device, int which, unsigned *mhz)
{
    static const unsigned clocks[] = { 1410, 1400, 1593 };
    *mhz = clocks[which];
    return fault_of(device);
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius)
{
    *celsius = 61;
    return sensor ? INVALID_ARGUMENT : fault_of(device);
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *mw)
{
    *mw = 200000 + 10000 * (unsigned)power_reads++;
    return fault_of(device);
}

int nvmlDeviceGetPowerManagementLimit(void *device, unsigned *mw)
{
    *mw = 400000;
    return fault_of(device);
}

#ifndef FAKE_LACKS_ENERGY
static atomic_int energy_reads;

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj)
{
    *mj = 1000000 + 300 * (unsigned long long)energy_reads++;
    return is("old") ? NOT_SUPPORTED : fault_of(device);
}
#endif

int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons)
{
    *reasons = 0x4 | 0x20;
    return is("old") ? NOT_SUPPORTED : fault_of(device);
}

static int processes(void *device, unsigned *n, process *list)
{
    const char *at = getenv("CBX_FAKE_NVML_PIDS");
    unsigned room = *n;

    for (*n = 0; at && *at && *n < room; (*n)++) {
        char *end;
        list[*n] = (process){ .pid = (unsigned)strtoul(at, &end, 10) };
        long mib = strtol(end + 1, &end, 10);
        list[*n].bytes = mib < 0 ? ~0ull : (unsigned long long)mib << 20;
        at = *end ? end + 1 : end;
    }
    return is("old") ? NOT_SUPPORTED : fault_of(device);
}

int COMPUTE(void *device, unsigned *n, process *list) { return processes(device, n, list); }

int GRAPHICS(void *device, unsigned *n, process *list) { return processes(device, n, list); }
