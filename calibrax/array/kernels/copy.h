/* Inside the library: an inner loop over elements, and those that copy them. */
#ifndef CALIBRAX_ARRAY_KERNELS_COPY_H
#define CALIBRAX_ARRAY_KERNELS_COPY_H

#include <stdint.h>

#include "calibrax/array/dtype.h"

/** One run: n elements of each operand, p[0] is the result; s in bytes, any of them 0 or
 * negative. */
typedef void (*cbx__loop)(size_t n, char *const *p, const ptrdiff_t *s);

/** Elements as they are, of any dtype; both strides may be any. */
cbx__loop cbx__copy_loop(cbx_dtype t);

/** A loop of one operand over n elements, steps in bytes. */
static inline void cbx__move(cbx__loop loop, size_t n, void *to, ptrdiff_t to_step, const void *from,
                             ptrdiff_t from_step)
{
    loop(n, (char *const[]){ to, (char *)(uintptr_t)from }, (const ptrdiff_t[]){ to_step, from_step });
}

#endif
