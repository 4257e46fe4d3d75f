/**
 * Energy of calls, as far as this machine reports it: what is read, and what it takes when nothing
 * is measured.  Internal to perf.
 *
 * RAPL and NVML count the whole machine and the whole device.  A launch reads the mean power while
 * its epochs run; less the power of an idle machine, times the time of a call, that is the energy
 * of a call.  What others on the machine take meanwhile is in it.
 */
#ifndef CALIBRAX_PERF_LAUNCH_ENERGY_SOURCE_H
#define CALIBRAX_PERF_LAUNCH_ENERGY_SOURCE_H

#include "calibrax/perf/launch/launch.h"
#include "calibrax/profiling/energy.h"

struct cbx_energy_source {
    bool cpu, device; /* what is read; neither: why has the reason */
    double cpu_idle_w, device_idle_w;
    cbx_gpu *gpu;       /* owned; NULL: none */
    char powercap[200]; /* folder; "": the system's */
    char why[256], device_why[256];
};

/**
 * Looks for counters and reads the idle power, for 0.1 s where there are processor counters and 2.5
 * s where a device is to be read.
 * @param powercap  NULL: the system's
 */
void cbx__energy_source_open(cbx_ctx *ctx, bool with_device, const char *powercap, cbx_energy_source *out);
void cbx__energy_source_close(cbx_energy_source *s);

/** A stretch of a launch.  NULL for none, which the other two take. */
cbx_energy_meter *cbx__energy_begin(cbx_ctx *ctx, const cbx_energy_source *s);
/** @param call_ns  median time of a call; fills the energy members of the record, and frees the
 *   meter */
void cbx__energy_end(cbx_energy_meter *m, const cbx_energy_source *s, bool device, double call_ns,
                     cbx_launch_record *r);

#endif
