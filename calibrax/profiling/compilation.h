/**
 * Compilation: the cost of the first call of a signature beyond the later ones, and how often a
 * compiled one is used again; over launches: calibrax/perf/sweep/cold_warm.h.
 *
 * cost of compiling = first call - steady call, both of one signature: the work of the call itself
 * is in both and cancels.  All other preparations on first use are included.
 */
#ifndef CALIBRAX_PROFILING_COMPILATION_H
#define CALIBRAX_PROFILING_COMPILATION_H

#include <stdbool.h>

#include "calibrax/base/ctx.h"

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

CBX_END_DECLS
#endif
