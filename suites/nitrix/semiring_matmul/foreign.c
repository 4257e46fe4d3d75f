/* Baselines of other frameworks: names and work models; workers/python/cases/semiring_matmul.py
 * runs them. */
#include "suites/nitrix/semiring_matmul/matmul.h"

static bool supports_pallas(const cbx_params *params, const char **reason)
{
    const cbx__sm_point p = cbx__sm_read(params);
    if (p.m > 0 && p.n > 0 && p.m % 16 == 0 && p.n % 16 == 0) return true;
    *reason = "its tiles need m and n in multiples of 16";
    return false;
}

/* numpy has a product of its own for real (BLAS) and boolean, and loops over k for the rest. */
static void work_numpy(const cbx_params *params, cbx_work *out)
{
    if (cbx__sm_is(params, CBX_ALGEBRA_BOOLEAN))
        cbx__sm_work_tiled(params, out);
    else
        cbx__sm_work_foreign_stream(params, out);
}

#define FOREIGN      sizeof(cbx_baseline_ops), CBX_CASE_ABI
#define NO_FUNCTIONS NULL, NULL, NULL, NULL

const cbx_baseline_ops cbx__sm_numpy = {
    FOREIGN,      "numpy", "numpy", "matmul for real and boolean; else for each k ufuncs with out= on a block of C",
    NULL,         NULL,    NULL,    work_numpy,
    NO_FUNCTIONS,
};
const cbx_baseline_ops cbx__sm_jax_stream = {
    FOREIGN,      "jax-stream", "jax", "fori_loop over k that updates all of C",
    NULL,         NULL,         NULL,  cbx__sm_work_foreign_stream,
    NO_FUNCTIONS,
};
/* XLA fuses the broadcast away for most algebras, so no temporary is claimed. */
const cbx_baseline_ops cbx__sm_jax_naive = {
    FOREIGN,
    "jax-naive",
    "jax",
    "broadcast to m x k x n, then reduce; XLA fuses all but log",
    "log materialises its temporary: 512 MiB at 512^3 f32, 315 ms against 115 ms of jax-stream, and 15 s of "
    "compilation at 1024^3",
    NULL,
    cbx__sm_supports_dense,
    cbx__sm_work_foreign_stream,
    NO_FUNCTIONS,
};
const cbx_baseline_ops cbx__sm_jnp_matmul = {
    FOREIGN,
    "jnp-matmul",
    "jax",
    "jnp.matmul at the highest precision",
    NULL,
    NULL,
    cbx__sm_supports_real,
    cbx__sm_work_tiled,
    NO_FUNCTIONS,
};
const cbx_baseline_ops cbx__sm_torch_dense = {
    FOREIGN,
    "torch-dense",
    "torch",
    "broadcast to m x k x n, then reduce",
    "writes and reads a temporary of m*k*n elements: 817 ms for log at 512^3 f32, against 112 ms of jax-stream on the "
    "same core",
    NULL,
    cbx__sm_supports_dense,
    cbx__sm_work_foreign_dense,
    NO_FUNCTIONS,
};
static bool is_built_in(const cbx_params *params, const char **reason)
{
    *reason = NULL; /* not a gap: GraphBLAS has no such operator built in, and runs others one call an element */
    return !cbx__sm_is(params, CBX_ALGEBRA_LOG) && !cbx__sm_is(params, CBX_ALGEBRA_EUCLIDEAN);
}

const cbx_baseline_ops cbx__sm_graphblas = {
    FOREIGN,
    "graphblas",
    "graphblas",
    "mxm of full matrices over the built-in semiring",
    "walks dense operands as if they were sparse: 109 ms for max-plus at 512^3 f64, 7 times jax-stream on the same "
    "core",
    NULL,
    is_built_in,
    cbx__sm_work_tiled,
    NO_FUNCTIONS,
};
const cbx_baseline_ops cbx__sm_nitrix_pallas = {
    FOREIGN,
    "nitrix-pallas",
    "jax",
    "Triton tiles that walk k one by one; GPU only",
    NULL,
    NULL,
    supports_pallas,
    cbx__sm_work_foreign_stream,
    NO_FUNCTIONS,
};
