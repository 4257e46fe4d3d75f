/* The definition of the algebras on scalars, which dense and sparse products are held to: what the
 * files of algebra.h say by CBX_ALGEBRA_DEFINE, apart from the kernels' steps. */
#ifndef CALIBRAX_ARRAY_KERNELS_DEFINE_H
#define CALIBRAX_ARRAY_KERNELS_DEFINE_H

#include <math.h>

#include "calibrax/array/kernels/semiring.h"

/* NaN if either is. */
#define LARGER(x, y)  (isnan(x) || isnan(y) ? (x) + (y) : (y) > (x) ? (y) : (x))
#define SMALLER(x, y) (isnan(x) || isnan(y) ? (x) + (y) : (y) < (x) ? (y) : (x))

#define T     float
#define SFX   f32
#define SQRT  sqrtf
#define EXP   expf
#define LOG1P log1pf
#include "calibrax/array/kernels/define_float.h"
#undef T
#undef SFX
#undef SQRT
#undef EXP
#undef LOG1P

#define T     double
#define SFX   f64
#define SQRT  sqrt
#define EXP   exp
#define LOG1P log1p
#include "calibrax/array/kernels/define_float.h"
#undef T
#undef SFX
#undef SQRT
#undef EXP
#undef LOG1P

#undef LARGER
#undef SMALLER

#endif
