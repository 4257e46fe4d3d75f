/*
 * Rules for the shape of a primitive's result: small functions over descriptions, none of which sees data.  Internal to array.
 *
 * Operand count and dtypes have been checked by the table before a rule is asked; it writes ndim and shape of the result, not its dtype.
 * @return CBX_OK; CBX_ESHAPE, CBX_EINVAL, CBX_EDTYPE, CBX_EOVERFLOW: the message names the primitive
 */
#ifndef CALIBRAX_ARRAY_PRIMITIVE_RULES_H
#define CALIBRAX_ARRAY_PRIMITIVE_RULES_H

#include "calibrax/array/internal.h"
#include "calibrax/array/primitive.h"

typedef struct cbx__operands {
    const char *name;
    size_t n;
    const cbx_array_desc *d[3]; /* the first ones */
    const cbx_array *const *in;
    const cbx_attrs *attrs;
} cbx__operands;

static inline const char *cbx__rule_text(const cbx_array_desc *d, char buf[160])
{
    return cbx_array_desc_text(d, buf, 160);
}

static inline void cbx__rule_set_shape(cbx_array_desc *out, int ndim, const size_t *shape)
{
    out->ndim = ndim;
    for (int i = 0; i < ndim; i++) out->shape[i] = shape[i];
}

/* Of two operands that do not go together. */
cbx_status cbx__rule_differ(const cbx__operands *o, const cbx_array_desc *a, const cbx_array_desc *b, cbx_err *err);

/* --- primitive_shape.c: elements, axes, indices, reductions --- */

cbx_status cbx__rule_same(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);
cbx_status cbx__rule_select(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);
cbx_status cbx__rule_cast(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);
cbx_status cbx__rule_shape(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);
cbx_status cbx__rule_reshape(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);
cbx_status cbx__rule_transpose(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);
cbx_status cbx__rule_broadcast(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);
cbx_status cbx__rule_slice(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);
cbx_status cbx__rule_pad(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);
cbx_status cbx__rule_concat(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);
cbx_status cbx__rule_take(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);
cbx_status cbx__rule_take_along(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);
cbx_status cbx__rule_scatter(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);
cbx_status cbx__rule_searchsorted(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);
cbx_status cbx__rule_nonzero(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);
cbx_status cbx__rule_reduce(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);
cbx_status cbx__rule_reduce_some(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);
cbx_status cbx__rule_along(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);
cbx_status cbx__rule_ranked(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);

/* --- primitive_matrix.c: products, linear algebra, Fourier transforms --- */

cbx_status cbx__rule_matmul(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);
cbx_status cbx__rule_semiring_matmul(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);
cbx_status cbx__rule_semiring_conv(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);
cbx_status cbx__rule_square(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);
cbx_status cbx__rule_solve(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);
cbx_status cbx__rule_wider(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);
cbx_status cbx__rule_eigvalsh(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);
cbx_status cbx__rule_qr(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);
cbx_status cbx__rule_svd(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);
cbx_status cbx__rule_svdvals(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);
cbx_status cbx__rule_fft(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);
cbx_status cbx__rule_rfft(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);
cbx_status cbx__rule_irfft(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);

#endif
