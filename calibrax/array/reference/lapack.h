/*
 * Inside the reference backend: the LAPACK routines of OpenBLAS by their Fortran names.
 *
 * Every argument of theirs is a pointer, so that one type of function serves real and complex
 * numbers; each character has a hidden length behind the last argument (gfortran's convention).
 * Source: LAPACK 3.9 reference, netlib.org.
 */
#ifndef CALIBRAX_ARRAY_REFERENCE_LAPACK_H
#define CALIBRAX_ARRAY_REFERENCE_LAPACK_H

#include "calibrax/array/dtype.h"
#include "calibrax/base/openblas.h"

enum { CBX__LAPACK_TYPES = 2 }; /* float64, complex128 */

/* clang-format off */
typedef void cbx__potrf(const char *uplo, const int *n, void *a, const int *lda, int *info, size_t);
typedef void cbx__trtrs(const char *uplo, const char *trans, const char *diag, const int *n, const int *nrhs, const void *a,
                        const int *lda, void *b, const int *ldb, int *info, size_t, size_t, size_t);
typedef void cbx__trsm(const char *side, const char *uplo, const char *trans, const char *diag, const int *m, const int *n,
                       const void *alpha, const void *a, const int *lda, void *b, const int *ldb, size_t, size_t, size_t, size_t);
typedef void cbx__gesv(const int *n, const int *nrhs, void *a, const int *lda, int *ipiv, void *b, const int *ldb, int *info);
typedef void cbx__getrf(const int *m, const int *n, void *a, const int *lda, int *ipiv, int *info);
typedef void cbx__geqrf(const int *m, const int *n, void *a, const int *lda, void *tau, void *work, const int *lwork,
                        int *info);
typedef void cbx__orgqr(const int *m, const int *n, const int *k, void *a, const int *lda, const void *tau, void *work,
                        const int *lwork, int *info);
typedef void cbx__syevd(const char *jobz, const char *uplo, const int *n, void *a, const int *lda, void *w, void *work,
                        const int *lwork, int *iwork, const int *liwork, int *info, size_t, size_t);
typedef void cbx__heevd(const char *jobz, const char *uplo, const int *n, void *a, const int *lda, void *w, void *work,
                        const int *lwork, void *rwork, const int *lrwork, int *iwork, const int *liwork, int *info, size_t,
                        size_t);
typedef void cbx__gesdd_real(const char *jobz, const int *m, const int *n, void *a, const int *lda, void *s, void *u,
                             const int *ldu, void *vt, const int *ldvt, void *work, const int *lwork, int *iwork, int *info,
                             size_t);
typedef void cbx__gesdd_complex(const char *jobz, const int *m, const int *n, void *a, const int *lda, void *s, void *u,
                                const int *ldu, void *vt, const int *ldvt, void *work, const int *lwork, void *rwork,
                                int *iwork, int *info, size_t);
/* clang-format on */

typedef struct cbx__lapack {
    cbx_library *library; /* NULL until it is open */
    void (*set_num_threads)(int);
    cbx__potrf *potrf[CBX__LAPACK_TYPES];
    cbx__trtrs *trtrs[CBX__LAPACK_TYPES];
    cbx__trsm *dtrsm;
    cbx__gesv *gesv[CBX__LAPACK_TYPES];
    cbx__getrf *getrf[CBX__LAPACK_TYPES];
    cbx__geqrf *geqrf[CBX__LAPACK_TYPES];
    cbx__orgqr *orgqr[CBX__LAPACK_TYPES];
    cbx__syevd *dsyevd;
    cbx__heevd *zheevd;
    cbx__gesdd_real *dgesdd;
    cbx__gesdd_complex *zgesdd;
} cbx__lapack;

/** The context's routines, loaded on first use and told to use one thread.  @return CBX_OK;
 * CBX_EUNAVAILABLE; CBX_ENOMEM */
cbx_status cbx__lapack_get(cbx_ctx *ctx, const cbx__lapack **out, cbx_err *err);

#endif
