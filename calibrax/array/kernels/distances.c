/* Which build of the distances a machine runs. */
#include "calibrax/array/kernels/distances.h"

static const cbx__distances builds[CBX_ISA_COUNT] = {
#define ENTRY(id, name, cpus) CBX_ISA_ON_##cpus([CBX_ISA_##id] = cbx__distances_##name, )
    CBX_ISA_MAP(ENTRY)
};

cbx__distances cbx__distances_get(cbx_isa isa) { return builds[isa]; }
