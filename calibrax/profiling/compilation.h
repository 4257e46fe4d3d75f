/**
 * Compilation: what the first call of a signature costs beyond the later ones, how often a compiled one is found again, and the same
 * over launches with a cold and with a warm cache.
 *
 * cost of compiling = first call - steady call, both of one signature or one launch: the work of the call itself is in both and falls
 * out.  It also holds whatever else is made ready on first use.
 */
#ifndef CALIBRAX_PROFILING_COMPILATION_H
#define CALIBRAX_PROFILING_COMPILATION_H

#include "calibrax/array/fn.h"
#include "calibrax/statistics/estimate.h"

CBX_BEGIN_DECLS

/* --- functions of arrays --- */

typedef struct cbx_compilation cbx_compilation;

typedef enum cbx_compile_level {
    CBX_COMPILE_POOR,
    CBX_COMPILE_MODERATE,
    CBX_COMPILE_GOOD,
    CBX_COMPILE_EXCELLENT
} cbx_compile_level;
/** "excellent"; "?" for a number that is none */
CBX_API const char *cbx_compile_level_name(cbx_compile_level h);

/** Numbers are NaN where there is nothing to tell them by. */
typedef struct cbx_compilation_report {
    uint64_t calls, hits, misses; /* a hit: the signature has been called before */
    size_t signatures;            /* different ones: dtypes and shapes of all operands, or as recorded */
    size_t known;                 /* of them, called twice or more: those whose cost of compiling is known */
    double hit_rate;              /* hits / calls */
    double mean_compile_s, max_compile_s, total_compile_s; /* over known signatures */
    double first_s, steady_s;                              /* means over known signatures */
    double health;           /* min(1, 0.5 hit rate + 0.5 max(0, 1 - mean_compile / 10 s)) */
    cbx_compile_level level; /* above 0.8 excellent, 0.6 good, 0.4 moderate */
    char advice[3][160];
    size_t nadvice;
} cbx_compilation_report;

typedef struct cbx_compilation_opts {
    uint32_t struct_size;
    bool as_it_is;              /* f is compiled already: do not pass it to cbx_jit */
    uint64_t (*clock_ns)(void); /* NULL: cbx_clock_ns */
} cbx_compilation_opts;

#define CBX_COMPILATION_OPTS_INIT                                                                                      \
    {                                                                                                                  \
        sizeof(cbx_compilation_opts), 0, 0                                                                             \
    }

/**
 * Watches calls of cbx_jit(f).
 * @param opts  NULL: all defaults
 * @param out   the caller frees it, the context before it or after it
 * @return CBX_OK; CBX_EINVAL (no code, struct_size); CBX_ENOMEM; as cbx_jit
 */
CBX_API cbx_status cbx_compilation_watch(cbx_ctx *ctx, const cbx_fn *f, const cbx_compilation_opts *opts,
                                         cbx_compilation **out, cbx_err *err);
/** What to call in the place of f; lives as long as c.  Abstract operands pass by uncounted.  One thread at a time. */
CBX_API const cbx_fn *cbx_compilation_fn(const cbx_compilation *c);
/**
 * A book of calls that the caller makes and times: of functions of another language, of requests to a server.
 * @param out  has no function to call: cbx_compilation_record fills it; the caller frees it
 * @return CBX_OK; CBX_ENOMEM
 */
CBX_API cbx_status cbx_compilation_open(cbx_ctx *ctx, cbx_compilation **out, cbx_err *err);
/**
 * One call of a signature.
 * @param signature  whatever tells calls apart that are compiled apart, "float32(3, 4)"; copied where it is new
 * @param seconds    from the start of the call to the end of its work
 * @return CBX_OK; CBX_EINVAL: c watches a function; CBX_EDOM: seconds are not finite or below 0; CBX_ENOMEM
 */
CBX_API cbx_status cbx_compilation_record(cbx_compilation *c, const char *signature, double seconds, cbx_err *err);

/** What is known of a signature [s]; NaN: not known. */
typedef struct cbx_compiled_signature {
    const char *text; /* as recorded, lives until the next call that changes c; NULL: of a function of arrays */
    uint64_t calls;
    double first_s, steady_s,
        compile_s; /* median of the later calls; the first less that, 0 at least: NaN with one call */
} cbx_compiled_signature;
/** @param i  in the order of first calls.  @return false: there are no so many */
CBX_API bool cbx_compilation_signature(const cbx_compilation *c, size_t i, cbx_compiled_signature *out);

/** Of the calls so far. */
CBX_API void cbx_compilation_see(const cbx_compilation *c, cbx_compilation_report *out);
/** Forgets all calls; what is compiled stays compiled. */
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
    const char *
        cache_env; /* variable that names a folder of compiled code, "JAX_COMPILATION_CACHE_DIR": cold launches get a new,
                              empty one each, warm ones share one that a launch beside has filled.  NULL: cold launches only */
    double level; /* of the medians' intervals, in (0, 1) */
    bool here;    /* no process is made: measure sees to that itself */
} cbx_launches_opts;

#define CBX_LAUNCHES_OPTS_INIT                                                                                         \
    {                                                                                                                  \
        sizeof(cbx_launches_opts), 10, 0, 0.95                                                                         \
    }

/** Medians over launches with order-statistic intervals [s]. */
typedef struct cbx_launches {
    cbx_interval first, steady, compile; /* compile: of the differences */
    cbx_launch_times *times;
    size_t n; /* 0: none of this kind */
} cbx_launches;

typedef struct cbx_launches_report {
    cbx_launches cold, warm;
    double saved_s; /* by the cache: compile of cold less that of warm; NaN without warm ones */
    cbx_allocator al;
} cbx_launches_report;

/** Measures one launch, in a process of its own that it starts: with the environment as it is then. */
typedef cbx_status (*cbx_launch_fn)(void *user, cbx_launch_times *out, cbx_err *err);

/**
 * Calls measure(user) once a launch.
 * @param opts  NULL: all defaults
 * @param out   written on success only; the caller clears it
 * @return CBX_OK; CBX_EINVAL; CBX_EIO: no folder for a cache; CBX_EDOM: a time that is not finite or below 0; CBX_ENOMEM; what
 *         measure returns
 */
CBX_API cbx_status cbx_launches_measure(cbx_ctx *ctx, cbx_launch_fn measure, void *user, const cbx_launches_opts *opts,
                                        cbx_launches_report *out, cbx_err *err);
/** NULL and a zeroed struct are fine. */
CBX_API void cbx_launches_report_clear(cbx_launches_report *r);

/** A program that writes a document of `calibrax profile --json` to its standard output. */
typedef struct cbx_launch_program {
    cbx_ctx *ctx;
    const char *const *argv; /* program and arguments, NULL at the end; looked for in PATH unless it holds a '/' */
    const char *name;        /* in messages; NULL: as it stands in argv */
} cbx_launch_program;

/**
 * A cbx_launch_fn whose user is a cbx_launch_program: runs it, and takes the values of first_call and call_time.
 * @return CBX_OK; CBX_ENOENT, CBX_EPERM (no such program, or it may not be run); CBX_ECHILD: it failed, with its last words;
 *         CBX_EINTERRUPTED: it ended with status 130; CBX_EFORMAT: it wrote something else; CBX_EIO; CBX_ENOMEM
 */
CBX_API cbx_status cbx_launch_program_run(void *user, cbx_launch_times *out, cbx_err *err);

CBX_END_DECLS
#endif
