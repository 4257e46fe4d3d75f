/*
 * Inside the compiler: primitives that work element by element as instructions of kernels.
 */
#ifndef CALIBRAX_ARRAY_JIT_LOWER_H
#define CALIBRAX_ARRAY_JIT_LOWER_H

#include "calibrax/array/jit/kernel.h"

/** True of dtypes that kernels compute in: all but the complex ones. */
static inline bool cbx__kernel_has(cbx_dtype t) { return cbx_dtype_kind(t) != CBX_KIND_COMPLEX; }
/** True if an operation of class MAP can be part of a kernel. */
bool cbx__can_lower(const cbx_op *op);
/** The element of such an operation's result from those of its operands. */
cbx__kid cbx__lower(cbx__kernel *k, const cbx_op *op, const cbx__kid *in);

#endif
