/*
 * What each instruction set's build of the tiled kernel offers to the dispatcher.
 */
#ifndef CALIBRAX_ARRAY_KERNELS_SEMIRING_ISA_H
#define CALIBRAX_ARRAY_KERNELS_SEMIRING_ISA_H

#include "calibrax/array/kernels/semiring.h"

typedef struct cbx__semiring_kernel {
    size_t (*workspace)(const cbx_matmul *p);
    void (*run)(const cbx_matmul *p); /* arguments are checked and k > 0, m > 0, n > 0 */
} cbx__semiring_kernel;

extern const cbx__semiring_kernel cbx__semiring_plain;
#if defined(__x86_64__)
extern const cbx__semiring_kernel cbx__semiring_avx2;
extern const cbx__semiring_kernel cbx__semiring_avx512;
#endif

#endif
