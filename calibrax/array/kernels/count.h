/* Inside the library: numbers of a row's elements below a limit, built for each instruction set. */
#ifndef CALIBRAX_ARRAY_KERNELS_COUNT_H
#define CALIBRAX_ARRAY_KERNELS_COUNT_H

#include <stddef.h>
#include <stdint.h>

#include "calibrax/array/kernels/semiring.h"

/** out[i] = number of the d elements of row i of x that are below limit[i], of n rows; NaN is
 * not below. */
typedef void (*cbx__count_below)(const double *x, const double *limit, size_t n, size_t d, int64_t *out);

/** Of an instruction set of this machine. */
cbx__count_below cbx__count_below_get(cbx_isa isa);

#define CBX__COUNT_DECLARE(id, name, cpus)                                                                             \
    void cbx__count_below_##name(const double *x, const double *limit, size_t n, size_t d, int64_t *out);
CBX_ISA_MAP(CBX__COUNT_DECLARE)
#undef CBX__COUNT_DECLARE

#endif
