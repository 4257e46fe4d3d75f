/* Which build of the stages a machine runs. */
#include "calibrax/array/kernels/fft.h"

static const cbx__fft_run_stage builds[CBX_ISA_COUNT] = {
#define ENTRY(id, name, cpus) CBX_ISA_ON_##cpus([CBX_ISA_##id] = cbx__fft_stage_##name, )
    CBX_ISA_MAP(ENTRY)
};

cbx__fft_run_stage cbx__fft_stage_get(cbx_isa isa) { return builds[isa]; }
