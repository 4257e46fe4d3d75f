/* Which build of the element loops a machine runs. */
#include "calibrax/array/kernels/loops.h"

#include "calibrax/array/kernels/elementary.h"

const double cbx__exp_range_f64[2] = { -746, 710 };
const float cbx__exp_range_f32[2] = { -104, 89 };

const cbx__loops *cbx__loops_get(void)
{
    static const cbx__loops builds[CBX_ISA_COUNT] = {
#define ENTRY(id, name, cpus)                                                                                          \
    CBX_ISA_ON_##cpus([CBX_ISA_##id] = { cbx__unary_##name, cbx__binary_##name, cbx__cast_##name }, )
        CBX_ISA_MAP(ENTRY)
    };
    return &builds[cbx_isa_best()];
}
