/* The library everybody has: cblas_sgemm and cblas_dgemm of OpenBLAS, loaded on first use, on one
 * thread. */
#include "calibrax/base/openblas.h"
#include "suites/nitrix/semiring_matmul/matmul.h"

/* Values of the CBLAS standard (BLAS Technical Forum, 2001). */
enum { ROW_MAJOR = 101, NO_TRANS = 111 };

typedef void sgemm_fn(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
typedef void dgemm_fn(int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *,
                      int);

typedef struct blas {
    cbx_library *library;
    sgemm_fn *sgemm;
    dgemm_fn *dgemm;
    void (*set_num_threads)(int);
} blas;

static cbx_status prepare(cbx_ctx *ctx, const cbx_params *params, void **plan, cbx_err *err)
{
    cbx_status st = cbx__sm_plan_create(ctx, params, sizeof(blas), 0, plan, err);
    if (st) return st;
    blas *b = ((cbx__suite_plan *)*plan)->scratch;
    *b = (blas){ 0 };
    const cbx_library_symbol symbols[] = {
        { "cblas_sgemm", (void **)&b->sgemm },
        { "cblas_dgemm", (void **)&b->dgemm },
        { "openblas_set_num_threads", (void **)&b->set_num_threads },
    };
    st = cbx_openblas_open(ctx, "matrix products by OpenBLAS", 0, symbols, CBX_LEN(symbols), &b->library, err);
    if (st) {
        cbx__suite_plan_finish(*plan);
        return st;
    }
    b->set_num_threads(1);
    return CBX_OK;
}

static void run(void *plan)
{
    const cbx__suite_plan *s = plan;
    const cbx__sm_point *p = s->point;
    const blas *b = s->scratch;
    const int m = (int)p->m, k = (int)p->k, n = (int)p->n;
    const int lda = k > 0 ? k : 1, ldb = n > 0 ? n : 1;
    if (m == 0 || n == 0) return;
    if (p->dtype == CBX_F32)
        b->sgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, m, n, k, 1, s->in[0], lda, s->in[1], ldb, 0, s->out[0], ldb);
    else
        b->dgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, m, n, k, 1, s->in[0], lda, s->in[1], ldb, 0, s->out[0], ldb);
}

static void finish(void *plan)
{
    cbx__suite_plan *s = plan;
    if (!s) return;
    cbx_library_close(((blas *)s->scratch)->library);
    cbx__suite_plan_finish(s);
}

const cbx_baseline_ops cbx__sm_openblas = CBX__SUITE_BASELINE(
    "openblas", "native", "cblas_sgemm or cblas_dgemm of OpenBLAS, one thread", .supports = cbx__sm_supports_real,
    .work = cbx__sm_work_tiled, .prepare = prepare, .bind = cbx__suite_plan_bind, .run = run, .finish = finish);
