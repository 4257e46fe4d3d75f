/* Inside the library: where keys belong among sorted ones, built for each instruction set. */
#ifndef CALIBRAX_ARRAY_KERNELS_SEARCH_H
#define CALIBRAX_ARRAY_KERNELS_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calibrax/array/kernels/semiring.h"

/** out[i] = number of the n sorted edges that are below x[i] (right: not above it), for m keys. */
typedef void (*cbx__search)(const uint64_t *edges, size_t n, const uint64_t *x, size_t m, bool right, int64_t *out);

/** Of an instruction set of this machine. */
cbx__search cbx__search_get(cbx_isa isa);

#define CBX__SEARCH_DECLARE(id, name, cpus)                                                                            \
    void cbx__search_##name(const uint64_t *edges, size_t n, const uint64_t *x, size_t m, bool right, int64_t *out);
CBX_ISA_MAP(CBX__SEARCH_DECLARE)
#undef CBX__SEARCH_DECLARE

#endif
