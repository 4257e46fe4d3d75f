/* Which build of the search a machine runs. */
#include "calibrax/array/kernels/search.h"

static const cbx__search builds[CBX_ISA_COUNT] = {
#define ENTRY(id, name, cpus) CBX_ISA_ON_##cpus([CBX_ISA_##id] = cbx__search_##name, )
    CBX_ISA_MAP(ENTRY)
};

cbx__search cbx__search_get(cbx_isa isa) { return builds[isa]; }
