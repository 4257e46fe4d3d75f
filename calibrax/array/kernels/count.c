/* Which build of the counts a machine runs. */
#include "calibrax/array/kernels/count.h"

static const cbx__count_below builds[CBX_ISA_COUNT] = {
#define ENTRY(id, name, cpus) CBX_ISA_ON_##cpus([CBX_ISA_##id] = cbx__count_below_##name, )
    CBX_ISA_MAP(ENTRY)
};

cbx__count_below cbx__count_below_get(cbx_isa isa) { return builds[isa]; }
