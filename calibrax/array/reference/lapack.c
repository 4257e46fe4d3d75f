/* LAPACK by its Fortran names: which symbol goes where. */
#include "calibrax/array/reference/lapack.h"

#include "calibrax/array/state.h"

#define BOTH(l, member, d, z)                                                                                          \
    { d, (void **)&(l)->member[0] }, { z, (void **)&(l)->member[1] }

static void lapack_free(void *state)
{
    cbx__lapack *l = state;
    cbx_allocator al = l->al;

    cbx_library_close(l->library);
    cbx_mem_free(&al, l, sizeof *l);
}

cbx_status cbx__lapack_get(cbx_ctx *ctx, const cbx__lapack **out, cbx_err *err)
{
    static const char key;
    cbx__slot *slot = cbx__state_slot(ctx, &key);
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_status st;

    if (!slot || !slot->state) {
        cbx__lapack *l = slot ? cbx_mem_zalloc(al, sizeof *l) : NULL;
        if (!l) return cbx_fail(err, CBX_ENOMEM, "no memory for the table of LAPACK routines");
        l->al = *al;
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
        if (st) {
            lapack_free(l);
            return st;
        }
        l->set_num_threads(1);
        slot->state = l;
        slot->free = lapack_free;
    }
    *out = slot->state;
    return CBX_OK;
}
