/**
 * OpenBLAS, loaded on first use: BLAS and, by their Fortran names, the LAPACK routines that it
 * holds.
 *
 * Debian's libopenblas0-* have no LAPACKE_*; the package liblapacke would bring a second LAPACK.
 * So LAPACK is called by its Fortran symbols, of this one library.
 */
#ifndef CALIBRAX_BASE_OPENBLAS_H
#define CALIBRAX_BASE_OPENBLAS_H

#include <stdbool.h>

#include "calibrax/base/library.h"

CBX_BEGIN_DECLS

enum {
    /**
     * Kernels by the instructions that the CPU has, where OpenBLAS 0.3.21 does not know its model:
     * SkylakeX instead of Haswell.  For this OPENBLAS_CORETYPE is set in the environment while the
     * library is loaded, unless it is set already.
     */
    CBX_OPENBLAS_FIT_CPU = 1,
    /** No threads of its own are started by the load, whatever OPENBLAS_NUM_THREADS leaves open. */
    CBX_OPENBLAS_ONE_THREAD = 2
};

/**
 * True for a CPU with AVX-512 (F, BW, DQ and VL) for which OpenBLAS 0.3.21 chooses kernels without
 * it, because it does not know the model.  Source: its dynamic.c, get_coretype.  Safe from any
 * thread.
 */
CBX_API bool cbx_openblas_misjudges_cpu(void);

/**
 * Loads OpenBLAS and resolves all symbols, or none.  The library is the process's own: threads set
 * by openblas_set_num_threads hold for all who use it, and a core type is chosen by whoever loads
 * it first.
 * @param purpose  what for, as in cbx_library_spec
 * @return CBX_OK; CBX_EUNAVAILABLE (names the package); CBX_ENOMEM
 * Safe from any thread, but that no other one may change the environment meanwhile.  Since 0.1.
 */
CBX_API cbx_status cbx_openblas_open(cbx_ctx *ctx, const char *purpose, unsigned flags,
                                     const cbx_library_symbol *symbols, size_t nsymbols, cbx_library **out,
                                     cbx_err *err);

CBX_END_DECLS
#endif
