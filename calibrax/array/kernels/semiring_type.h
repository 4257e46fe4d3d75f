/* All that semiring_isa.c has of one float type; included once a type. */
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
