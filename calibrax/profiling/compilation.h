/**
 * Compilation: the cost of the first call of a signature beyond the later ones, how often a
 * compiled one is used again, and the same over launches with a cold and with a warm cache.
 *
 * cost of compiling = first call - steady call, both of one signature or one launch: the work of
 * the call itself is in both and cancels.  All other preparations on first use are included.
 */
#ifndef CALIBRAX_PROFILING_COMPILATION_H
#define CALIBRAX_PROFILING_COMPILATION_H

#include <stdbool.h>

#include "calibrax/statistics/estimate.h"

CBX_BEGIN_DECLS

/** Records calls that the caller makes and times: of functions of another language, of requests to
 * a server. */
typedef struct cbx_compilation cbx_compilation;

typedef enum cbx_compile_level {
    CBX_COMPILE_POOR,
    CBX_COMPILE_MODERATE,
    CBX_COMPILE_GOOD,
    CBX_COMPILE_EXCELLENT
} cbx_compile_level;
/** "excellent"; "?" for an invalid number */
CBX_API const char *cbx_compile_level_name(cbx_compile_level h);

/** Numbers are NaN where they are unknown. */
typedef struct cbx_compilation_report {
    uint64_t calls, hits, misses; /* a hit: the signature has been called before */
    size_t signatures;            /* different ones */
    size_t known;                 /* of them, called at least twice: their cost of compiling is known */
    double hit_rate;              /* hits / calls */
    double mean_compile_s, max_compile_s, total_compile_s; /* over known signatures */
    double first_s, steady_s;                              /* means over known signatures */
    double health;           /* min(1, 0.5 hit rate + 0.5 max(0, 1 - mean_compile / 10 s)) */
    cbx_compile_level level; /* above 0.8 excellent, 0.6 good, 0.4 moderate */
    char advice[3][160];
    size_t nadvice;
} cbx_compilation_report;

/** @param out  the caller frees it.  @return CBX_OK; CBX_ENOMEM */
CBX_API cbx_status cbx_compilation_open(cbx_ctx *ctx, cbx_compilation **out, cbx_err *err);
/**
 * One call of a signature.
 * @param signature  equal for calls that share compiled code, "float32(3, 4)"; copied if it is new
 * @param seconds    from the start of the call to the end of its work
 * @return CBX_OK; CBX_EDOM: seconds are not finite or below 0; CBX_ENOMEM
 */
CBX_API cbx_status cbx_compilation_record(cbx_compilation *c, const char *signature, double seconds, cbx_err *err);

/** Of a signature [s]; NaN: unknown. */
typedef struct cbx_compiled_signature {
    const char *text; /* as recorded, lives until the next call that changes c */
    uint64_t calls;
    double first_s;
    double steady_s, compile_s; /* median of the later calls; first_s less that, at least 0: NaN with one call */
} cbx_compiled_signature;
/** @param i  in the order of first calls.  @return false: past the end */
CBX_API bool cbx_compilation_signature(const cbx_compilation *c, size_t i, cbx_compiled_signature *out);

/** Of the calls so far. */
CBX_API void cbx_compilation_see(const cbx_compilation *c, cbx_compilation_report *out);
/** Forgets all calls. */
CBX_API void cbx_compilation_reset(cbx_compilation *c);
/** NULL is fine. */
CBX_API void cbx_compilation_free(cbx_compilation *c);

/* --- launches --- */

/** Of one launch [s]. */
typedef struct cbx_launch_times {
    double first_s;  /* the first call */
    double steady_s; /* a later one; 0: the launch is one call, nothing is taken off */
} cbx_launch_times;

typedef struct cbx_launches_opts {
    uint32_t struct_size;
    size_t launches; /* of each kind, 1..4096 */
    /* variable with the folder of compiled code, "JAX_COMPILATION_CACHE_DIR": cold launches get a
     * new, empty one each, warm ones share one that an extra launch has filled.  NULL: cold
     * launches only */
    const char *cache_env;
    double level; /* of the medians' intervals, in (0, 1) */
} cbx_launches_opts;

#define CBX_LAUNCHES_OPTS_INIT CBX_OPTS(cbx_launches_opts, 10, 0, 0.95)

/** Medians over launches with order-statistic intervals [s]. */
typedef struct cbx_launches {
    cbx_interval first, steady, compile; /* compile: of the differences */
    cbx_launch_times *times;
    size_t n; /* 0: no launches of this kind */
} cbx_launches;

typedef struct cbx_launches_report {
    cbx_launches cold, warm;
    double saved_s; /* by the cache: compile of cold less that of warm; NaN without warm ones */
    cbx_allocator al;
} cbx_launches_report;

/** Measures one launch, in a process of its own that it starts: with the environment as it is
 * then. */
typedef cbx_status (*cbx_launch_fn)(void *user, cbx_launch_times *out, cbx_err *err);

/**
 * Calls measure(user) once a launch.
 * @param opts  NULL: all defaults
 * @param out   written on success only; the caller clears it
 * @return CBX_OK; CBX_EINVAL; CBX_EIO: no folder for a cache; CBX_EDOM: a time that is not finite
 *         or below 0; CBX_ENOMEM; what measure returns
 */
CBX_API cbx_status cbx_launches_measure(cbx_ctx *ctx, cbx_launch_fn measure, void *user, const cbx_launches_opts *opts,
                                        cbx_launches_report *out, cbx_err *err);
/** NULL and a zeroed struct are fine. */
CBX_API void cbx_launches_report_clear(cbx_launches_report *r);

/** A program that writes a document of `calibrax profile --json` to its standard output. */
typedef struct cbx_launch_program {
    cbx_ctx *ctx;
    const char *const *argv; /* program and arguments, NULL at the end; searched in PATH unless it holds a '/' */
    const char *name;        /* in messages; NULL: argv[0] */
} cbx_launch_program;

/**
 * A cbx_launch_fn whose user is a cbx_launch_program: runs it, and reads first_call and call_time.
 * @return CBX_OK; CBX_ENOENT, CBX_EPERM (no such program, or it may not be run); CBX_ECHILD: it
 *         failed, with its last line; CBX_EINTERRUPTED: it ended with status 130; CBX_EFORMAT: it
 *         wrote something else; CBX_EIO; CBX_ENOMEM
 */
CBX_API cbx_status cbx_launch_program_run(void *user, cbx_launch_times *out, cbx_err *err);
/** Reads such a document, which may be any bytes; a metric that it lacks is NaN.  @return CBX_OK;
 * CBX_EFORMAT; CBX_ENOMEM */
cbx_status cbx__launch_times_read(const char *text, size_t len, const char *name, cbx_launch_times *out, cbx_err *err);

CBX_END_DECLS
#endif
