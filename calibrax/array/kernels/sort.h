/* Inside the library: sorting and selecting among keys of 64 or 32 bits, built for each instruction
 * set.
 *
 * Elements become keys that order as they do (unsigned), are sorted as numbers, and become elements
 * again; equal keys are the same number, so the answer does not depend on how it was found.  NaN is
 * the highest key and comes back as a quiet NaN; -0 is below 0. */
#ifndef CALIBRAX_ARRAY_KERNELS_SORT_H
#define CALIBRAX_ARRAY_KERNELS_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calibrax/array/kernels/semiring.h"

typedef struct cbx__sort {
    /* words of work that n keys need: 0 or n */
    size_t (*work)(size_t n);
    /* keys of n elements of a wide dtype (int64, uint64, float64), in place or not; descending:
     * complements; one_zero: the key of -0 is that of 0 */
    void (*keys)(cbx_dtype wide, bool descending, bool one_zero, size_t n, const void *values, uint64_t *keys);
    /* n keys into order and to elements again, in place */
    void (*sort)(cbx_dtype wide, bool descending, size_t n, uint64_t *keys, uint64_t *work);
    /* out[i] = key of rank[i]; ranks do not fall; keys are left in disorder */
    void (*select)(uint64_t *keys, size_t n, size_t nranks, const size_t *rank, uint64_t *out, uint64_t *work);
    /* keys to elements, in place */
    void (*values)(cbx_dtype wide, bool descending, size_t n, uint64_t *keys);
    /* places of n keys in order, those of equal keys rising; n > 0; work: as for the sort of n */
    void (*places)(const uint64_t *keys, size_t n, uint64_t *at, uint64_t *work);
    /* keys and sort for int32, uint32 and float32, whose keys have 32 bits; work: as many
     * as keys */
    void (*keys_32)(cbx_dtype t, bool descending, bool one_zero, size_t n, const void *values, uint32_t *keys);
    void (*sort_32)(cbx_dtype t, bool descending, size_t n, uint32_t *keys, uint32_t *work);
} cbx__sort;

/** Of an instruction set of this machine. */
const cbx__sort *cbx__sort_get(cbx_isa isa);

#endif
