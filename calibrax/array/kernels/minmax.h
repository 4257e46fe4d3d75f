/* Lane-wise max and min of vectors of VECTOR_BYTES, as the instruction is: VMAX(x, y) gives y if
 * either is NaN (x86), NaN (ARM). `vec` is the vector type, pick(m, x, y) selects lanes where there
 * is no instruction.  isa/<name>.h has those, and of the others what is better than what is here.
 *
 * A watch sees whether terms were NaN, two vectors of them at a time: WATCH(w, x, y) is what w
 * becomes, from WATCH_START on; HAS_SEEN(w). With masks that is one compare; else a sum, which is
 * NaN then (and where infinities of both signs met: it may see too much). */
#ifndef CALIBRAX_ARRAY_KERNELS_MINMAX_H
#define CALIBRAX_ARRAY_KERNELS_MINMAX_H

#include "calibrax/array/kernels/isa_name.h"

#ifndef HAS_NAN_F32
#define HAS_NAN_F32(x) lanes_nan_f32(x)
#define HAS_NAN_F64(x) lanes_nan_f64(x)
#endif
#ifndef WATCH_START
#define WATCH_F32(w, x, y)  ((w) + ((x) + (y)))
#define WATCH_F64(w, x, y)  ((w) + ((x) + (y)))
#define HAS_SEEN_F32(w)     HAS_NAN_F32(w)
#define HAS_SEEN_F64(w)     HAS_NAN_F64(w)
#define WATCH_TYPE_F32(vec) vec
#define WATCH_TYPE_F64(vec) vec
#define WATCH_START(type)                                                                                              \
    (type) { 0 }
#endif

#endif
