/*
 * What each instruction set's build of the ELL kernels offers to the dispatcher.
 */
#ifndef CALIBRAX_ARRAY_KERNELS_ELL_ISA_H
#define CALIBRAX_ARRAY_KERNELS_ELL_ISA_H

#include "calibrax/array/kernels/ell.h"

typedef struct cbx__ell_kernel {
    /* threads: resolved, >= 1; arguments are checked; rows, d > 0 */
    void (*product)(const cbx_ell_product *p, int threads);
    void (*gather)(const cbx_ell_product *p, int threads);
    void (*softmax)(const cbx_ell_product *p, int threads);
} cbx__ell_kernel;

/** What can be wrong with the arguments of a call, whatever computes it; start[rows] is read if there is a start. */
typedef enum cbx__ell_call { CBX__ELL_PRODUCT, CBX__ELL_GATHER, CBX__ELL_SOFTMAX } cbx__ell_call;
cbx_status cbx__ell_check(const cbx_ell_product *p, cbx__ell_call call, cbx_err *err);

/** Edges of row i: the first one's number, and how many. */
static inline size_t cbx__ell_first(const cbx_ell_product *p, size_t i)
{
    return p->start ? p->start[i] : i * p->width;
}
static inline size_t cbx__ell_degree(const cbx_ell_product *p, size_t i)
{
    if (p->start) return p->start[i + 1] - p->start[i];
    return p->degree ? (size_t)p->degree[i] : p->width;
}

extern const cbx__ell_kernel cbx__ell_plain;
#if defined(__x86_64__)
extern const cbx__ell_kernel cbx__ell_avx2, cbx__ell_avx512;
#endif

#endif
