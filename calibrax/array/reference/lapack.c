/* LAPACK by its Fortran names: which symbol goes where. */
#include "calibrax/array/reference/lapack.h"

#include "calibrax/array/state.h"

#define BOTH(l, member, d, z)                                                                                          \
    { d, (void **)&(l)->member[0] }, { z, (void **)&(l)->member[1] }

static void lapack_clear(void *state, CBX__UNUSED const cbx_allocator *al)
{
    cbx_library_close(((cbx__lapack *)state)->library);
}

cbx_status cbx__lapack_get(cbx_ctx *ctx, const cbx__lapack **out, cbx_err *err)
{
    cbx__lapack *l = cbx__state_of(ctx, sizeof *l, lapack_clear);
    cbx_status st;

    if (!l) return cbx_fail(err, CBX_ENOMEM, "no memory for the table of LAPACK routines");
    if (!l->library) {
        const cbx_library_symbol symbols[] = {
            { "openblas_set_num_threads", (void **)&l->set_num_threads },
            BOTH(l, potrf, "dpotrf_", "zpotrf_"),
            BOTH(l, trtrs, "dtrtrs_", "ztrtrs_"),
            { "dtrsm_", (void **)&l->dtrsm },
            BOTH(l, gesv, "dgesv_", "zgesv_"),
            BOTH(l, getrf, "dgetrf_", "zgetrf_"),
            BOTH(l, geqrf, "dgeqrf_", "zgeqrf_"),
            BOTH(l, orgqr, "dorgqr_", "zungqr_"),
            { "dsyevd_", (void **)&l->dsyevd },
            { "zheevd_", (void **)&l->zheevd },
            { "dgesdd_", (void **)&l->dgesdd },
            { "zgesdd_", (void **)&l->zgesdd },
        };
        st = cbx_openblas_open(ctx, "linear algebra by OpenBLAS", CBX_OPENBLAS_FIT_CPU | CBX_OPENBLAS_ONE_THREAD,
                               symbols, CBX_LEN(symbols), &l->library, err);
        if (st) return st;
        l->set_num_threads(1);
    }
    *out = l;
    return CBX_OK;
}
