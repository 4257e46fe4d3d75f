/**
 * Launches of a program that keeps what it compiles in a folder which a variable names,
 * "JAX_COMPILATION_CACHE_DIR": cold ones get a new, empty folder each, warm ones share one that an
 * extra launch has filled.
 */
#ifndef CALIBRAX_PERF_SWEEP_COLD_WARM_H
#define CALIBRAX_PERF_SWEEP_COLD_WARM_H

#include "calibrax/perf/launch/launch.h"

CBX_BEGIN_DECLS

/** Of one launch [s]. */
typedef struct cbx_launch_times {
    double first_s;  /* the first call */
    double steady_s; /* a later one; 0: the launch is one call */
} cbx_launch_times;

typedef struct cbx_cold_warm_opts {
    uint32_t struct_size;
    const char *const *argv; /* program and arguments, NULL at the end; searched in PATH */
    const char *name;        /* in messages */
    size_t launches;         /* of each kind, 1..4096 */
    const char *cache_env;   /* NULL: cold launches only, in the environment as it is */
    bool profiles;           /* its output is a document of `calibrax profile --json` with the times of two calls */
    bool show_output, ignore_failure;
    const cbx_stop_flag *stop;
} cbx_cold_warm_opts;

#define CBX_COLD_WARM_OPTS_INIT CBX_OPTS(cbx_cold_warm_opts, 0, 0, 10, 0, 0, 0, 0, 0)

/**
 * @param cold, warm  `launches` times each, in the arena; warm is NULL without cache_env
 * @return CBX_OK; CBX_EINVAL; CBX_ECHILD: a launch failed, with its last line; CBX_EINTERRUPTED;
 *         CBX_EFORMAT: it wrote no such document; CBX_EIO, CBX_ENOMEM
 */
CBX_API cbx_status cbx_cold_warm_measure(cbx_ctx *ctx, const cbx_cold_warm_opts *opts, cbx_arena *arena,
                                         const cbx_launch_times **cold, const cbx_launch_times **warm, cbx_err *err);

CBX_END_DECLS
#endif
