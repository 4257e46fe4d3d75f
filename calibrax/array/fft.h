/**
 * Fourier transforms: the fft extension of the Python array API 2024.12.
 *
 *     forward    X[k] = f sum_j x[j] exp(-2 pi i j k / n)
 *     backward   x[j] = f sum_k X[k] exp(+2 pi i j k / n)
 *
 * Computed in float64; results of float32 and complex64 are complex64 or float32, rounded once.
 * Integers and bool are float64.  Any length: mixed radix, by a chirp where a prime factor is above
 * 61; error O(eps log n) of the norm.  An axis of no elements that is transformed is CBX_ESHAPE.  A
 * NaN or infinity spreads over its lane.  The context keeps the plans of its last eight lengths.
 * Errors, ownership and threads as in ops.h.  Since 0.1.
 */
#ifndef CALIBRAX_ARRAY_FFT_H
#define CALIBRAX_ARRAY_FFT_H

#include "calibrax/array/ops.h"

CBX_BEGIN_DECLS

/** Where the factor 1/n goes; ORTHO: 1/sqrt(n) both ways. */
typedef enum cbx_fft_norm { CBX_FFT_BACKWARD, CBX_FFT_ORTHO, CBX_FFT_FORWARD } cbx_fft_norm;

/** Along one axis, cut or filled with zeros to n first; n 0: as long as it is. */
CBX_API cbx_array *cbx_fft(cbx_ctx *ctx, const cbx_array *x, size_t n, int axis, cbx_fft_norm norm);
CBX_API cbx_array *cbx_ifft(cbx_ctx *ctx, const cbx_array *x, size_t n, int axis, cbx_fft_norm norm);
/** Of real numbers (complex: CBX_EDTYPE): the first n/2 + 1 frequencies. */
CBX_API cbx_array *cbx_rfft(cbx_ctx *ctx, const cbx_array *x, size_t n, int axis, cbx_fft_norm norm);
/** Back to n real numbers (0: 2 (m - 1) of m frequencies); imaginary parts at frequency 0 and n/2
 * are ignored. */
CBX_API cbx_array *cbx_irfft(cbx_ctx *ctx, const cbx_array *x, size_t n, int axis, cbx_fft_norm norm);
/** Forward transform, to n real numbers, of a signal with x[-j] = conj(x[j]), of which the first
 * half is given. */
CBX_API cbx_array *cbx_hfft(cbx_ctx *ctx, const cbx_array *x, size_t n, int axis, cbx_fft_norm norm);
/** Its inverse: of real numbers the first n/2 + 1. */
CBX_API cbx_array *cbx_ihfft(cbx_ctx *ctx, const cbx_array *x, size_t n, int axis, cbx_fft_norm norm);

/**
 * Along several axes, the last one first.
 * @param s     lengths, one for each axis, 0: as long as it is; NULL: all as they are
 * @param axes  which, none twice (keep is ignored); NULL: all
 */
CBX_API cbx_array *cbx_fftn(cbx_ctx *ctx, const cbx_array *x, const size_t *s, const cbx_axes *axes, cbx_fft_norm norm);
CBX_API cbx_array *cbx_ifftn(cbx_ctx *ctx, const cbx_array *x, const size_t *s, const cbx_axes *axes,
                             cbx_fft_norm norm);
/** Real along the last of the axes, of which there must be one. */
CBX_API cbx_array *cbx_rfftn(cbx_ctx *ctx, const cbx_array *x, const size_t *s, const cbx_axes *axes,
                             cbx_fft_norm norm);
CBX_API cbx_array *cbx_irfftn(cbx_ctx *ctx, const cbx_array *x, const size_t *s, const cbx_axes *axes,
                              cbx_fft_norm norm);

/** Frequencies of n >= 1 samples d apart, in the order of cbx_fft (0 up, then negative ones), or of
 * cbx_rfft: float64. */
CBX_API cbx_array *cbx_fftfreq(cbx_ctx *ctx, size_t n, double d);
CBX_API cbx_array *cbx_rfftfreq(cbx_ctx *ctx, size_t n, double d);
/** Frequency 0 to the middle of axes (NULL: all), and back. */
CBX_API cbx_array *cbx_fftshift(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes);
CBX_API cbx_array *cbx_ifftshift(cbx_ctx *ctx, const cbx_array *x, const cbx_axes *axes);

CBX_END_DECLS
#endif
