/* Inside the library: stages of Fourier transforms, built for each instruction set.  All give the
 * same bits. */
#ifndef CALIBRAX_ARRAY_KERNELS_FFT_H
#define CALIBRAX_ARRAY_KERNELS_FFT_H

#include <stdbool.h>
#include <stddef.h>

#include "calibrax/base/cpu.h"

/* One complex number; memory of users is aligned for double only. */
typedef double cbx__v2 __attribute__((vector_size(16)));
typedef double cbx__cx __attribute__((vector_size(16), aligned(8), may_alias));

enum { CBX__FFT_RADIX_MAX = 61 };

/*
 * A transform of length r m of s interleaved sequences becomes r s sequences of length m.  Twiddles
 * are exp(-2 pi i p j / (r m)), p below m and j from 1: (m, r - 1), of the first stage (r - 1, m).
 */
typedef struct cbx__fft_stage {
    size_t r, m, s;
    const cbx__cx *twiddles;
    const cbx__cx *roots; /* exp(-2 pi i k / r) of odd radices */
} cbx__fft_stage;

/** From r m s numbers to as many, which do not overlap. */
typedef void (*cbx__fft_run_stage)(const cbx__fft_stage *g, const cbx__cx *x, cbx__cx *y, bool inverse);

/** Of an instruction set of this machine. */
cbx__fft_run_stage cbx__fft_stage_get(cbx_isa isa);

#define CBX__FFT_DECLARE(id, name, cpus)                                                                               \
    void cbx__fft_stage_##name(const cbx__fft_stage *g, const cbx__cx *x, cbx__cx *y, bool inverse);
CBX_ISA_MAP(CBX__FFT_DECLARE)
#undef CBX__FFT_DECLARE

#endif
