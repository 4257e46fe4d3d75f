/* Which build of the sort a machine runs. */
#include "calibrax/array/kernels/sort.h"

const cbx__sort *cbx__sort_get(cbx_isa isa)
{
#if defined(__x86_64__)
    if (isa == CBX_ISA_AVX512) return &cbx__sort_avx512;
    if (isa == CBX_ISA_AVX2) return &cbx__sort_avx2;
#endif
    (void)isa;
    return &cbx__sort_plain;
}
