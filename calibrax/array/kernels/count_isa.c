/* Counts of one instruction set: built once for each with other compiler flags (meson.build). */
#include "calibrax/array/kernels/count.h"

#include "calibrax/array/kernels/isa_name.h"

/* Rows are short: a half of the widest vector leaves fewer elements behind the last one. */
enum { LANES = 4 };
typedef double numbers __attribute__((vector_size(8 * LANES), aligned(8), may_alias));
typedef int64_t masks __attribute__((vector_size(8 * LANES)));

void PASTE(cbx__count_below_, ISA_NAME)(const double *x, const double *limit, size_t n, size_t d, int64_t *out)
{
    for (size_t i = 0; i < n; i++, x += d) {
        masks below = { 0 };
        int64_t count = 0;
        size_t k = 0;
        for (; k + LANES <= d; k += LANES) below -= *(const numbers *)(x + k) < limit[i];
        for (; k < d; k++) count += x[k] < limit[i];
        for (size_t l = 0; l < LANES; l++) count += below[l];
        out[i] = count;
    }
}
