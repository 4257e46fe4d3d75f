/* Which build of the inner loops a machine runs. */
#include "calibrax/array/kernels/fold.h"

#define DECLARE(id, name, cpus) extern const cbx__fold cbx__fold_##name;
CBX_ISA_MAP(DECLARE)

static const cbx__fold *const builds[CBX_ISA_COUNT] = {
#define ENTRY(id, name, cpus) CBX_ISA_ON_##cpus([CBX_ISA_##id] = &cbx__fold_##name, )
    CBX_ISA_MAP(ENTRY)
};

const cbx__fold *cbx__fold_get(cbx_isa isa) { return builds[isa]; }
