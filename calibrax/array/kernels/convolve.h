/* Convolutions over an algebra on plain memory, channels last, without windows laid out: the
 * register tile of the products reads x where it lies, by pointers to where the windows of its rows
 * begin.  calibrax/array/semiring.h has the contract; this is the inside. */
#ifndef CALIBRAX_ARRAY_KERNELS_CONVOLVE_H
#define CALIBRAX_ARRAY_KERNELS_CONVOLVE_H

#include "calibrax/array/semiring.h"

#define CBX__CONV_AXES 6

/** y[image, p, o] = finalize( fold over taps t, channels c of combine(x[image, p*stride +
 * t*dilation - low, c], w[t, c, o]) ). x (images, lengths, channels), w (taps, channels, outs) and
 * y (images, positions, outs) are dense and row-major; y overlaps neither. */
typedef struct cbx__conv {
    const cbx_semiring *semiring;
    cbx_dtype dtype;
    bool raw; /* euclidean: squares of distances */
    int ndim; /* axes that are slid along, 1 to CBX__CONV_AXES */
    size_t images, channels, outs;
    size_t length[CBX__CONV_AXES], taps[CBX__CONV_AXES], positions[CBX__CONV_AXES];
    size_t stride[CBX__CONV_AXES], dilation[CBX__CONV_AXES];
    ptrdiff_t low[CBX__CONV_AXES]; /* below 0: the first window begins inside */
    const void *x, *w;
    void *y;
    int threads;     /* 0: as many as OpenMP gives; the bits of y are the same for any number */
    void *workspace; /* 64-byte aligned */
} cbx__conv;

/** Rows, terms and columns of the product that it is of windows. */
size_t cbx__conv_rows(const cbx__conv *v);
size_t cbx__conv_terms(const cbx__conv *v);

/** True of real, tropical and euclidean ones, and of those given by functions: what cbx__conv_run
 * makes. */
bool cbx__conv_is_direct(const cbx__conv *v);

/** Bytes of workspace; workspace itself is not looked at. */
size_t cbx__conv_workspace(const cbx__conv *v);

/** Every term in the order of taps, then channels.  Outside of x the value is the identity,
 * read as it is; of an algebra given by functions such terms are left out.  Float types: blocks of
 * terms as cbx_matmul_run has them, so the bits of y are those of its product of the windows, but
 * where that is a real one of few elements.  There is something in x, w and y. */
void cbx__conv_run(const cbx__conv *v);

/** Windows of rows [first, first + rows) as rows of a matrix (rows, terms), by so many threads;
 * `outside` stands for what is not in x. workspace: cbx__conv_windows_bytes, 64-byte aligned. */
size_t cbx__conv_windows_bytes(const cbx__conv *v, int threads);
void cbx__conv_gather(const cbx__conv *v, double outside, size_t first, size_t rows, int threads, void *workspace,
                      void *windows);
/** Adds such rows of float32 or float64 to where they came from, x there being dx; what came from
 * outside is lost.  An element is added to in the order of windows, then taps, by one thread. */
void cbx__conv_scatter(const cbx__conv *v, const void *windows, size_t first, size_t rows, int threads, void *workspace,
                       void *dx);

/** The cotangent of the filter of a real convolution of 8 channels or more, which cbx__conv_has_vjp
 * says: dw[t,c,o] = sum over positions of x[p*stride + t*dilation - low, c] g[p, o], from blocks of
 * lines of positions; what lies outside has no part in it.  y is not looked at. */
bool cbx__conv_has_vjp(const cbx__conv *v);
size_t cbx__conv_pull_workspace(const cbx__conv *v);
void cbx__conv_vjp(const cbx__conv *v, const void *g, void *dw);

#endif
