/* Which build of the inner loops a machine runs. */
#include "calibrax/array/kernels/fold.h"

const cbx__fold *cbx__fold_get(cbx_isa isa)
{
#if defined(__x86_64__)
    if (isa == CBX_ISA_AVX512) return &cbx__fold_avx512;
    if (isa == CBX_ISA_AVX2) return &cbx__fold_avx2;
#endif
    (void)isa;
    return &cbx__fold_plain;
}
