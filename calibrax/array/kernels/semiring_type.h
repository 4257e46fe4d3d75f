/* All that semiring_isa.c has of one float type; included once a type, whose macros end with it. */
/* clang-format off */
#include "calibrax/array/kernels/semiring_tile.h"
#include "calibrax/array/kernels/semiring_dots.h"
#include "calibrax/array/kernels/semiring_small.h"
#include "calibrax/array/kernels/semiring_log.h"
#include "calibrax/array/kernels/semiring_float.h"
#include "calibrax/array/kernels/convolve_tile.h"
#include "calibrax/array/kernels/convolve_grad.h"
#include "calibrax/array/kernels/semiring_partials.h"
#include "calibrax/array/kernels/semiring_grad.h"
/* clang-format on */

#undef NAME
#undef MR
#undef LANES
#undef NV
#undef NR
#undef LINE
#undef TURNED
#undef vec
#undef SFX
#undef T
#undef TI
#undef TINY
#undef VEXP
#undef VLOG
#undef SQRT
#undef EXP
#undef LOG1P
#undef SMALLEST
#undef ROOT_LOW
#undef GRAD_LIMIT
#undef VMAX
#undef VMIN
