/**
 * Platforms, and the devices of those that have some: found, chosen by number, named to a worker.
 * Internal to perf; the words of platforms are in provider.h.
 *
 * A platform is a line in one table: its name, the alias of older rows, and the function that lists
 * its devices.  Platform `fake` is for trying out queues, locks and settling where there is no
 * device: NPERF_FAKE_DEVICES=N gives it N devices that compute nothing, and native baselines run on
 * the CPU as if on them.  Its rows are of platform `fake`, and distinct from all others.
 */
#ifndef CALIBRAX_PERF_SCHEDULE_PLATFORMS_H
#define CALIBRAX_PERF_SCHEDULE_PLATFORMS_H

#include "calibrax/perf/case/provider.h"

#define CBX__MAX_ACCELERATORS 16

typedef struct cbx__accelerator {
    unsigned number; /* as --gpus, NVML and nvidia-smi count: by PCI address */
    int node;        /* memory node that it is attached to; -1: unknown */
    char name[96];   /* model */
    char id[64];     /* fit for a file name: names its lock */
} cbx__accelerator;

typedef struct cbx__accelerators {
    cbx__accelerator list[CBX__MAX_ACCELERATORS];
    size_t n;
    char why[CBX_ERR_MESSAGE_SIZE]; /* why there are no devices; "" if there are */
} cbx__accelerators;

/** True for a platform whose work is done on devices. */
bool cbx__platform_has_devices(const char *platform);
/** Why baselines of a provider cannot run there ("computes on the CPU only"), static; NULL: they
 * can. */
const char *cbx__platform_refuses(const char *platform, const char *provider);
/** All devices of a platform (the name that cbx_platform_parse gives).  No device is not a failure:
 * out->why is the reason. */
void cbx__accelerators_find(cbx_ctx *ctx, const char *platform, cbx__accelerators *out);
/** The same from a captured machine and a library in the place of libnvidia-ml.so.1; NULL: the
 * machine's own. */
void cbx__accelerators_find_at(cbx_ctx *ctx, const char *platform, const char *root, const char *library,
                               cbx__accelerators *out);
/**
 * Those that are to be used, in the order of the words.
 * @param words   numbers and ranges, "0", "2-3", or "all"; n 0: those that CUDA_VISIBLE_DEVICES of
 *   this process names by number, else all
 * @return CBX_OK; CBX_EINVAL (no number, a number twice, no such device): the sentence begins with
 *   --gpus
 */
cbx_status cbx__accelerators_choose(const char *platform, const cbx__accelerators *all, const char *const *words,
                                    size_t n, cbx__accelerators *out, cbx_err *err);

#endif
