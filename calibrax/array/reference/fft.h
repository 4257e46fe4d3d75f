/*
 * Inside the reference backend: plans of Fourier transforms, and their execution on one lane.
 */
#ifndef CALIBRAX_ARRAY_REFERENCE_FFT_H
#define CALIBRAX_ARRAY_REFERENCE_FFT_H

#include "calibrax/array/kernels/fft.h"
#include "calibrax/base/ctx.h"

enum { CBX__FFT_STAGES = 64, CBX__FFT_KEPT = 8 };

typedef struct cbx__fft_plan cbx__fft_plan;
struct cbx__fft_plan {
    cbx_allocator al;
    size_t n;
    size_t work; /* complex numbers that cbx__fft_run wants */
    int nstages;
    cbx__fft_stage stages[CBX__FFT_STAGES];
    cbx__cx *table;
    size_t table_count;
    /* a length with a large prime factor: a convolution of a smooth length */
    cbx__fft_plan *inner;
    cbx__cx *chirp;    /* n: exp(-i pi k^2 / n) */
    cbx__cx *chirp_ft; /* transform of its conjugate over the inner length, divided by that */
    cbx__cx *split;    /* n / 2 + 1: exp(-i pi k / n), for real transforms of length 2 n; NULL until asked for */
};

/**
 * The plan of a length from the context's cache of the last CBX__FFT_KEPT.
 * @param split  with the factors for real transforms of length 2 n
 */
cbx_status cbx__fft_plan_get(cbx_ctx *ctx, size_t n, bool split, const cbx__fft_plan **out, cbx_err *err);
/** Not normalised; in, out and work (plan->work numbers) do not overlap. */
void cbx__fft_run(const cbx__fft_plan *plan, const cbx__cx *in, cbx__cx *out, cbx__cx *work, bool inverse);

static inline cbx__v2 cbx__v2_swap(cbx__v2 a) { return __builtin_shufflevector(a, a, 1, 0); }
static inline cbx__v2 cbx__v2_conj(cbx__v2 a) { return a * (cbx__v2){ 1, -1 }; }
/* a w, or a conj(w) */
static inline cbx__v2 cbx__v2_mul(cbx__v2 a, cbx__v2 w, bool conj)
{
    const cbx__v2 re = __builtin_shufflevector(w, w, 0, 0), im = __builtin_shufflevector(w, w, 1, 1);
    return a * re + cbx__v2_swap(a) * (im * (conj ? (cbx__v2){ 1, -1 } : (cbx__v2){ -1, 1 }));
}
/* -i a, or i a */
static inline cbx__v2 cbx__v2_rotate(cbx__v2 a, bool inverse)
{
    return cbx__v2_swap(a) * (inverse ? (cbx__v2){ -1, 1 } : (cbx__v2){ 1, -1 });
}

#endif
