/**
 * What a sweep measures on: CPU slots, devices, and the cores that each of them gets.  Internal to
 * perf.
 */
#ifndef CALIBRAX_PERF_SCHEDULE_SLOTS_H
#define CALIBRAX_PERF_SCHEDULE_SLOTS_H

#include "calibrax/perf/schedule/dispatch.h"

#define CBX__MAX_PLATFORMS 8
#define CBX__MAX_RESOURCES 128

typedef struct cbx__resources {
    cbx__topology topology;
    cbx__accelerators devices[CBX__MAX_PLATFORMS]; /* of each platform, those that are used */
    cbx__resource list[CBX__MAX_RESOURCES];        /* devices first; `queue` is the platform's place */
    size_t n, slots, gpus;
    size_t parallel;                 /* jobs at a time */
    bool shared;                     /* there are too few cores for devices and slots to have their own */
    char note[CBX_ERR_MESSAGE_SIZE]; /* options that could not be met; "" */
} cbx__resources;

/** What is asked for. */
typedef struct cbx__resources_wish {
    const char *const *platforms;
    size_t nplatforms;
    size_t jobs[CBX__MAX_PLATFORMS]; /* of each platform: more resources than jobs are not dealt */
    size_t cpu_slots, threads, max_parallel;
    const char *const *gpus; /* words of --gpus */
    size_t ngpus;
} cbx__resources_wish;

/** Finds the devices that are to be used; no device is not a failure (devices[].why is the reason).
 * @return CBX_OK; CBX_EINVAL (--gpus names a missing device, or no platform has devices) */
cbx_status cbx__resources_find(cbx_ctx *ctx, const cbx__resources_wish *wish, cbx__resources *out, cbx_err *err);
/** Deals cores to devices and slots, out->topology being read and the devices found. */
void cbx__resources_deal(const cbx__resources_wish *wish, cbx__resources *out);

#endif
