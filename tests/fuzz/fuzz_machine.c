/*
 * Any bytes as files that the kernel shows of a machine: CPUs, caches, memory groups, energy
 * counters, devices.  They lie below a folder as a captured machine does (files.h).
 *
 * What is read must be within its bounds, read the same again, and lists of CPUs are held against a
 * reader of their own.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/core/machine.h"
#include "calibrax/perf/schedule/cores.h"
#include "calibrax/profiling/energy.h"
#include "calibrax/profiling/hardware.h"
#include "files.h"
#include "fuzz.h"

#define BYTES_MOST 16384

/* Those that decide first come first. */
static const char *const files[] = {
    "proc/cpuinfo",
    "proc/meminfo",
    "sys/devices/system/cpu/cpu0/topology/physical_package_id",
    "sys/devices/system/cpu/cpu0/topology/core_id",
    "sys/devices/system/cpu/cpu0/topology/core_cpus_list",
    "sys/devices/system/cpu/cpu1/topology/thread_siblings_list",
    "sys/devices/system/cpu/cpu0/cache/index0/level",
    "sys/devices/system/cpu/cpu0/cache/index0/type",
    "sys/devices/system/cpu/cpu0/cache/index0/size",
    "sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list",
    "sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    "sys/kernel/mm/transparent_hugepage/enabled",
    "sys/devices/system/node/online",
    "sys/devices/system/node/node0/cpulist",
    "sys/devices/system/node/node1/cpulist",
    "sys/class/powercap/intel-rapl:0/name",
    "sys/class/powercap/intel-rapl:0/energy_uj",
    "sys/class/powercap/intel-rapl:0/max_energy_range_uj",
    "sys/class/powercap/intel-rapl:0:0/name",
    "sys/class/powercap/intel-rapl:0:0/energy_uj",
    "proc/driver/nvidia/gpus/0000:01:00.0/information",
    "sys/bus/pci/devices/0000:01:00.0/vendor",
    "sys/bus/pci/devices/0000:01:00.0/device",
    "sys/bus/pci/devices/0000:01:00.0/class",
    "proc/self/cgroup",
    "sys/fs/cgroup/cgroup.controllers",
    "sys/fs/cgroup/memory.max",
    "sys/fs/cgroup/memory.current",
};

static const char *root;

static void require(bool good)
{
    if (!good) abort();
}

/* --- readers --- */

static bool ends_within(const char *s, size_t room) { return strnlen(s, room) < room; }

static void machine(cbx_ctx *ctx)
{
    static cbx_machine m, again; /* they are large */
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = cbx_machine_read(ctx, root, &m, &err);
    uint64_t total = 0, available = 0;

    require(st == CBX_OK || st == CBX_ENOENT || st == CBX_EFORMAT);
    require(cbx_machine_read(ctx, root, &again, NULL) == st);
    if (!st) {
        cbx_json *o = cbx_machine_to_json(&m);
        require(!strcmp(m.id, again.id) && cbx_machine_compare(m.id, again.id) == CBX_MACHINE_SAME);
        require(m.naccelerators >= 0 && m.naccelerators <= CBX_MACHINE_MAX_ACCELERATORS);
        require(m.cores >= 1 && m.threads >= m.cores);
        require(ends_within(m.governor, sizeof m.governor) && ends_within(m.huge_pages, sizeof m.huge_pages));
        for (int level = 1; level < 5; level++) cbx_machine_cache_bytes(&m, level);
        require(o != NULL);
        cbx_json_unref(o);
    }
    if (!cbx_machine_read_memory(ctx, root, &total, &available, &err)) require(available <= total);
}

static void energy(cbx_ctx *ctx)
{
    char folder[128];
    cbx_energy_opts opts = CBX_ENERGY_OPTS_INIT;
    cbx_energy_meter *meter = NULL;
    cbx_energy_report report;

    snprintf(folder, sizeof folder, "%s/sys/class/powercap", root);
    opts.powercap = folder;
    require(cbx_energy_meter_start(ctx, &opts, &meter, NULL) == CBX_OK);
    cbx_energy_meter_see(meter);
    cbx_energy_meter_report(meter, &report);
    for (size_t i = 0; i < report.ndomains; i++)
        require(ends_within(report.domain[i].name, sizeof report.domain[i].name));
    cbx_energy_meter_free(meter);
}

static void devices(cbx_ctx *ctx)
{
    cbx_hardware h;
    cbx_err err = CBX_ERR_INIT;
    size_t n = 0;
    cbx_status st = cbx_hardware_detect(ctx, root, &h, &n, &err);

    require(st == CBX_OK || st == CBX_ENOENT || st == CBX_EUNAVAILABLE);
    require(st ? strlen(err.message) > 0 : n > 0);
}

static void topology(void)
{
    static const int cpus[] = { 0, 1, 2, 3 };
    cbx__topology t;

    cbx__topology_read(root, cpus, CBX_LEN(cpus), &t);
    require(t.ncpus == CBX_LEN(cpus) && t.ncores >= 1 && t.ncores <= t.ncpus && t.nnodes >= 1 && t.nnodes <= t.ncpus);
}

/* "0-2,5": ascending or not, each number of each range, as long as there is room. */
static void cpu_list(const char *text)
{
    int all[64], few[3];
    size_t n = cbx__cpu_list(text, all, CBX_LEN(all)), m = cbx__cpu_list(text, few, CBX_LEN(few));

    require(n <= CBX_LEN(all) && m <= CBX_LEN(few) && m == (n < 3 ? n : 3));
    for (size_t i = 0; i < m; i++) require(few[i] == all[i]);
    for (size_t i = 0; i < n; i++) require(all[i] >= 0 && all[i] <= 1 << 20);
}

FUZZ_ENTRY(.most = 300)
{
    cbx_ctx *ctx = NULL;
    char *text;

    if (size > BYTES_MOST || cbx_ctx_create(NULL, &ctx, NULL)) return 0;
    root = fuzz_files_folder(files, CBX_LEN(files));
    fuzz_files_put(data, size);
    machine(ctx);
    energy(ctx);
    devices(ctx);
    topology();
    text = strndup((const char *)data, size);
    require(text != NULL);
    cpu_list(text);
    free(text);
    cbx_ctx_free(ctx);
    return 0;
}
