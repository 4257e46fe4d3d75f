/**
 * Slots and devices, and the cores of each; see slots.h.
 *
 * A device's worker has a thread on the host that feeds it, and gets cores of its own for that,
 * near to the device; CPU slots get what is left, at least one.  Where there are not even so many
 * cores, devices and slots share some, and what shares does not run at a time.
 */
#include "calibrax/perf/schedule/slots.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

cbx_status cbx__resources_find(cbx_ctx *ctx, const cbx__resources_wish *wish, cbx__resources *out, cbx_err *err)
{
    bool any = false;

    for (size_t i = 0; i < wish->nplatforms; i++) {
        cbx__accelerators all;
        cbx_status st;
        if (!cbx__platform_has_devices(wish->platforms[i])) continue;
        any = true;
        cbx__accelerators_find(ctx, wish->platforms[i], &all);
        st = cbx__accelerators_choose(wish->platforms[i], &all, wish->gpus, wish->ngpus, &out->devices[i], err);
        if (st) return st;
    }
    if (wish->ngpus && !any)
        return cbx_fail(err, CBX_EINVAL, "GPUs are given, but no platform that has devices: add the platform cuda12");
    return CBX_OK;
}

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

CBX_PRINTF(2, 3) static void add_note(cbx__resources *out, const char *fmt, ...)
{
    size_t len = strlen(out->note);
    va_list args;

    if (len && len + 3 < sizeof(out->note)) len += (size_t)snprintf(out->note + len, sizeof(out->note) - len, "; ");
    va_start(args, fmt);
    vsnprintf(out->note + len, sizeof(out->note) - len, fmt, args);
    va_end(args);
}

void cbx__resources_deal(const cbx__resources_wish *wish, cbx__resources *out)
{
    cbx__cores dealt[CBX__MAX_RESOURCES];
    int nodes[CBX__MAX_RESOURCES];

    /* Devices and slots with something to do. */
    for (size_t p = 0; p < wish->nplatforms; p++) {
        const cbx__accelerators *found = &out->devices[p];
        for (size_t i = 0; i < smaller(found->n, wish->jobs[p]); i++) {
            cbx__resource *r = &out->list[out->n++];
            r->queue = p;
            r->device = &found->list[i];
            snprintf(r->name, sizeof(r->name), "device %u of %s", found->list[i].number, wish->platforms[p]);
        }
    }
    out->gpus = out->n;
    const size_t cores = out->topology.ncores, left = cores > out->gpus + 1 ? cores - out->gpus : 1;
    for (size_t p = 0; p < wish->nplatforms; p++) {
        size_t wanted = wish->cpu_slots ? wish->cpu_slots : 1, given;
        if (cbx__platform_has_devices(wish->platforms[p]) || wish->jobs[p] == 0) continue;
        given = smaller(smaller(wanted, CBX__MAX_RESOURCES - out->n), left);
        if (given < wanted)
            snprintf(out->note, sizeof(out->note),
                     "%zu CPU slots were asked for; this process may use %zu cores%s, so there %s %zu", wanted, cores,
                     out->gpus ? ", of which devices get theirs first" : "", given == 1 ? "is" : "are", given);
        for (size_t i = 0; i < smaller(given, wish->jobs[p]); i++) {
            cbx__resource *r = &out->list[out->n++];
            r->queue = p;
            snprintf(r->name, sizeof(r->name), "CPU slot %zu", i);
            out->slots++;
        }
    }
    size_t groups = smaller(out->n, out->topology.ncores);
    for (size_t g = 0; g < groups; g++) nodes[g] = out->list[g].device ? out->list[g].device->node : -1;
    if (groups) cbx__cores_deal(&out->topology, groups, wish->threads, nodes, dealt);
    for (size_t i = 0; i < out->n && groups; i++) out->list[i].cores = dealt[i % groups];
    out->shared = groups && groups < out->n;
    if (out->shared)
        add_note(out, "%zu devices and %zu CPU slots share %zu cores, so not all of them run at a time", out->gpus,
                 out->slots, out->topology.ncores);
    if (out->n && out->list[0].cores.ncpus < wish->threads)
        add_note(out, "%zu threads were asked for; a worker gets %zu of the %zu CPUs, and is pinned to those",
                 wish->threads, out->list[0].cores.ncpus, out->topology.ncpus);
    out->parallel = wish->max_parallel && wish->max_parallel < out->n ? wish->max_parallel : out->n;
}
