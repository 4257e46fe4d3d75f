/* Which build of each family of kernels an instruction set runs. */
#include "calibrax/array/kernels/count.h"
#include "calibrax/array/kernels/distances.h"
#include "calibrax/array/kernels/elementary_exp.h"
#include "calibrax/array/kernels/fft.h"
#include "calibrax/array/kernels/fold.h"
#include "calibrax/array/kernels/loops.h"
#include "calibrax/array/kernels/search.h"
#include "calibrax/array/kernels/sort.h"

const double cbx__exp_range_f64[2] = { -746, 710 };
const float cbx__exp_range_f32[2] = { -104, 89 };

#define DECLARE(id, name, cpus)                                                                                        \
    extern const cbx__fold cbx__fold_##name;                                                                           \
    extern const cbx__sort cbx__sort_##name;
CBX_ISA_MAP(DECLARE)

static const struct {
    const cbx__fold *fold;
    const cbx__sort *sort;
    cbx__search search;
    cbx__count_below count_below;
    cbx__distances distances;
    cbx__fft_run_stage fft_stage;
    cbx__loops loops;
} builds[CBX_ISA_COUNT] = {
#define ENTRY(id, name, cpus)                                                                                          \
    CBX_ISA_ON_##cpus([CBX_ISA_##id] = { &cbx__fold_##name,                                                            \
                                         &cbx__sort_##name,                                                            \
                                         cbx__search_##name,                                                           \
                                         cbx__count_below_##name,                                                      \
                                         cbx__distances_##name,                                                        \
                                         cbx__fft_stage_##name,                                                        \
                                         { cbx__unary_##name, cbx__binary_##name, cbx__cast_##name } }, )
    CBX_ISA_MAP(ENTRY)
};

const cbx__fold *cbx__fold_get(cbx_isa isa) { return builds[isa].fold; }
const cbx__sort *cbx__sort_get(cbx_isa isa) { return builds[isa].sort; }
cbx__search cbx__search_get(cbx_isa isa) { return builds[isa].search; }
cbx__count_below cbx__count_below_get(cbx_isa isa) { return builds[isa].count_below; }
cbx__distances cbx__distances_get(cbx_isa isa) { return builds[isa].distances; }
cbx__fft_run_stage cbx__fft_stage_get(cbx_isa isa) { return builds[isa].fft_stage; }
const cbx__loops *cbx__loops_get(void) { return &builds[cbx_isa_best()].loops; }

cbx__loop cbx__move_loop(cbx_dtype from, cbx_dtype to)
{
    return from == to ? cbx__copy_loop(to) : cbx__loops_get()->cast(from, to);
}
