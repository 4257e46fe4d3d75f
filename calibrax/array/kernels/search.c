/* Which build of the search a machine runs. */
#include "calibrax/array/kernels/search.h"

cbx__search cbx__search_get(cbx_isa isa)
{
#if defined(__x86_64__)
    if (isa == CBX_ISA_AVX512) return cbx__search_avx512;
    if (isa == CBX_ISA_AVX2) return cbx__search_avx2;
#endif
    (void)isa;
    return cbx__search_plain;
}
