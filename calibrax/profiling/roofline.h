/**
 * The roofline: the performance of a kernel against the limits of the machine.
 *
 * attainable [flop/s] = min(pi, I * beta), I = flop / bytes, pi the rate of arithmetic, beta the
 * bandwidth of the level that holds the working set (cache-aware: each level is a roof).
 * efficiency = reached / attainable.  A share above 1 is an error in the work, the bytes, the roof
 * or the clock, and is flagged.
 * Source: Williams, Waterman & Patterson, Commun. ACM 52 (2009) 65-76; Ilic, Pratas & Sousa, IEEE
 * CAL 13 (2014) 21-24.  Nothing here allocates; all is safe from any thread.
 */
#ifndef CALIBRAX_PROFILING_ROOFLINE_H
#define CALIBRAX_PROFILING_ROOFLINE_H

#include "calibrax/core/probe.h"
#include "calibrax/profiling/hardware.h"

CBX_BEGIN_DECLS

typedef struct cbx_roof_level {
    char name[8];       /* "L1" ... "memory" */
    double bytes;       /* of the level; infinite for memory */
    double bytes_per_s; /* */
} cbx_roof_level;

typedef struct cbx_roofs {
    double flop_per_s;
    cbx_roof_level level[CBX_PROBE_MAX_LEVELS]; /* nearest first */
    size_t nlevels;
    bool measured; /* else by a data sheet */
} cbx_roofs;

/**
 * Measured roofs of one core: multiply-adds count 2, bandwidths are the better of read and copy.
 * @param cores  factor of both: right for arithmetic and private caches, an upper bound for shared
 *   ones and memory
 * @return CBX_OK; CBX_EINVAL (cores < 1; a probe without levels)
 */
CBX_API cbx_status cbx_roofs_of_probe(const cbx_probe *p, bool is_f64, int cores, cbx_roofs *out, cbx_err *err);
/**
 * The same for a type of numbers: "float64", "float32", "float16", "bfloat16", "int8", the faster
 * of vectors and tiles.
 * @return as cbx_roofs_of_probe; CBX_EINVAL: another type, named; CBX_EUNAVAILABLE: this CPU lacks
 *   it, and why
 */
CBX_API cbx_status cbx_roofs_of_type(const cbx_probe *p, const char *type, int cores, cbx_roofs *out, cbx_err *err);
/** The types that have roofs; NULL past the end. */
CBX_API const char *cbx_roofs_type_at(size_t i);
/** One level, memory.  @return CBX_OK; CBX_EUNAVAILABLE: the sheet lacks the rate or the
 * bandwidth */
CBX_API cbx_status cbx_roofs_of_hardware(const cbx_hardware *h, cbx_rate rate, cbx_roofs *out, cbx_err *err);

typedef enum cbx_bound { CBX_BOUND_COMPUTE, CBX_BOUND_MEMORY } cbx_bound;

typedef struct cbx_roofline {
    double intensity;             /* [flop/byte] of this work; infinite without bytes */
    double ridge;                 /* [flop/byte] of the level */
    cbx_bound bound;              /* memory if intensity < ridge */
    const cbx_roof_level *level;  /* in the roofs given: nearest that holds the working set */
    double attainable_flop_per_s; /* */
    double flop_per_s, bytes_per_s;
    double flop_share, bytes_share; /* of the roofs */
    double efficiency;              /* share of the roof that bounds: the greater of the two */
    bool beyond_roof;               /* efficiency > 1 + tolerance: the numbers contradict each other */
} cbx_roofline;

#define CBX_ROOFLINE_TOLERANCE 0.05 /* variation of measured roofs */

/**
 * @param flop               >= 0, of one call
 * @param bytes              >= 0, moved to and from the level; one of flop and bytes > 0
 * @param seconds            > 0, of one call
 * @param working_set_bytes  >= 0: picks the level
 * @return CBX_OK; CBX_EDOM: an argument outside its range, or not finite
 */
CBX_API cbx_status cbx_roofline_place(const cbx_roofs *roofs, double flop, double bytes, double seconds,
                                      double working_set_bytes, cbx_roofline *out, cbx_err *err);

/**
 * How well rows of this length fill vectors, tiles and cache lines: 1 a multiple of 128, 0.8 of 32,
 * 0.5 of 8, else 0.2, as in the Python package; NaN for 0.
 */
CBX_API double cbx_roofline_alignment(size_t last_axis);

#define CBX_ROOFLINE_MAX_HINTS 4
#define CBX_ROOFLINE_HINT_SIZE 224

typedef struct cbx_roofline_hints {
    char hint[CBX_ROOFLINE_MAX_HINTS][CBX_ROOFLINE_HINT_SIZE]; /* a sentence each, the most important first */
    size_t n;
} cbx_roofline_hints;

/**
 * Advice by the roof that bounds the work, the share of it that was reached (below 0.2 low, below
 * 0.5 moderate), and the rows' length.  Work above the roof gets one hint, that its numbers
 * contradict each other.
 * @param last_axis  elements of the operands' innermost axis; 0: unknown, no advice on it
 */
CBX_API void cbx_roofline_advise(const cbx_roofline *r, size_t last_axis, cbx_roofline_hints *out);

CBX_END_DECLS
#endif
