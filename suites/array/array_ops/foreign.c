/*
 * Baselines of other frameworks: names and work models; workers/python/cases/array_ops.py runs them.
 */
#include "suites/array/array_ops/ops.h"

const cbx_baseline_ops cbx__ao_numpy = {
    .struct_size = sizeof(cbx_baseline_ops),
    .abi = CBX_CASE_ABI,
    .name = "numpy",
    .provider = "numpy",
    .summary = "NumPy's function of that name, a new result each call",
    .work = cbx__ao_work,
};
const cbx_baseline_ops cbx__ao_jax = {
    .struct_size = sizeof(cbx_baseline_ops),
    .abi = CBX_CASE_ABI,
    .name = "jax",
    .provider = "jax",
    .summary = "jax.numpy's function of that name, compiled",
    .work = cbx__ao_work,
};
