/* Derivatives of products and of linear algebra. */
#include <string.h>

#include "calibrax/array/linalg.h"
#include "calibrax/array/trace/derive.h"

static cbx_array *sum_of(cbx_ctx *c, cbx_array *a, cbx_array *b) { return !a ? b : !b ? a : cbx_add(c, a, b); }

static cbx_array *product(cbx_ctx *c, const cbx_array *a, const cbx_array *b)
{
    return cbx_apply(c, CBX_PRIM_MATMUL, 2, (const cbx_array *const[]){ a, b }, NULL);
}

void cbx__jvp_matmul(cbx__jvp *r)
{
    cbx_ctx *c = r->ctx;
    r->dt[0] = sum_of(c, r->t[0] ? product(c, r->t[0], r->in[1]) : NULL,
                      r->t[1] ? product(c, r->in[0], r->t[1]) : NULL);
}
void cbx__transpose_matmul(cbx__transpose *r)
{
    cbx_ctx *c = r->ctx;
    if (!r->in[0]) r->din[0] = product(c, r->ct[0], cbx_matrix_transpose(c, r->in[1]));
    if (!r->in[1]) r->din[1] = product(c, cbx_matrix_transpose(c, r->in[0]), r->ct[0]);
}
