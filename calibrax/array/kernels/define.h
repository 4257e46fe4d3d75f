/* The definition of the algebras on scalars, which dense and sparse products are held to: what the
 * files of algebra.h say by CBX_ALGEBRA_DEFINE, apart from the kernels' steps. */
#ifndef CALIBRAX_ARRAY_KERNELS_DEFINE_H
#define CALIBRAX_ARRAY_KERNELS_DEFINE_H

#include <math.h>

#include "calibrax/array/kernels/float_type.h"
#include "calibrax/array/kernels/semiring.h"

/* NaN if either is. */
#define LARGER(x, y)  (isnan(x) || isnan(y) ? (x) + (y) : (y) > (x) ? (y) : (x))
#define SMALLER(x, y) (isnan(x) || isnan(y) ? (x) + (y) : (y) < (x) ? (y) : (x))

#define SFX f32
#include "calibrax/array/kernels/define_float.h"
#undef SFX
#define SFX f64
#include "calibrax/array/kernels/define_float.h"
#undef SFX

#undef LARGER
#undef SMALLER

#endif
