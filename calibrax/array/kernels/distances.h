/* Inside the library: squared distances between points, built for each instruction set.  All give
 * the bits of a sum of squares along the last axis (fold.h, run_sum_f64). */
#ifndef CALIBRAX_ARRAY_KERNELS_DISTANCES_H
#define CALIBRAX_ARRAY_KERNELS_DISTANCES_H

#include <stddef.h>

#include "calibrax/array/kernels/semiring.h"

#define CBX__DISTANCES_TOGETHER 8 /* points of a group */

/**
 * out[8 g + j] = sum over k of (x[k] - y[(g d + k) 8 + j])^2, of one point x and the points of
 * `groups` groups of eight, whose coordinates of one kind lie together.
 */
typedef void (*cbx__distances)(const double *x, const double *y, size_t d, size_t groups, double *out);

/** Of an instruction set of this machine. */
cbx__distances cbx__distances_get(cbx_isa isa);

#define CBX__DISTANCES_DECLARE(id, name, cpus)                                                                         \
    void cbx__distances_##name(const double *x, const double *y, size_t d, size_t groups, double *out);
CBX_ISA_MAP(CBX__DISTANCES_DECLARE)
#undef CBX__DISTANCES_DECLARE

#endif
