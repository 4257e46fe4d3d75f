/* Which build of the sort a machine runs. */
#include "calibrax/array/kernels/sort.h"

#define DECLARE(id, name, cpus) extern const cbx__sort cbx__sort_##name;
CBX_ISA_MAP(DECLARE)

static const cbx__sort *const builds[CBX_ISA_COUNT] = {
#define ENTRY(id, name, cpus) CBX_ISA_ON_##cpus([CBX_ISA_##id] = &cbx__sort_##name, )
    CBX_ISA_MAP(ENTRY)
};

const cbx__sort *cbx__sort_get(cbx_isa isa) { return builds[isa]; }
