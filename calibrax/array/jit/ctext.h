/*
 * Inside the compiler: kernels as C17, which compilers turn into vectors, and people read.
 *
 * The text needs the C library and <math.h> alone.  A function of a kernel is a loop over rows with
 * a loop over elements in it, which is marked for gcc and clang as free of dependences between
 * iterations.  Functions with a formula (kernel.h) are inlined; a kernel with such functions works
 * in blocks: all elements by the formulas, then those outside of a formula's domain by the C
 * library.
 */
#ifndef CALIBRAX_ARRAY_JIT_CTEXT_H
#define CALIBRAX_ARRAY_JIT_CTEXT_H

#include "calibrax/array/jit/kernel.h"

/** NULL, or the first instruction that has no C form: MATH of a primitive whose loop is of
 * another kind. */
const cbx__kinstr *cbx__ctext_refused(const cbx__kernel *k);
/**
 * What some kernels need before them, and the kernels, as functions of the type cbx__kernel_fn that
 * do not read `self`.
 * @param name     of the functions, with a number behind it
 * @param is_part  of a larger text: they are static, and without `self`
 */
void cbx__ctext_put(cbx_text *out, const char *name, bool is_part, size_t n, const cbx__kernel *const *kernels);
/** "bool", "int8_t" ... "double", of dtypes that kernels have. */
extern const char *const cbx__ctext_types[CBX_DTYPE_COUNT];

#endif
