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

/* GraphBLAS has no such operator built in, and runs others one call an element. */
CBX__SUITE_SUPPORTS(is_built_in, cbx__sm_point, cbx__sm_read,
                    p.semiring->id != CBX_ALGEBRA_LOG && p.semiring->id != CBX_ALGEBRA_EUCLIDEAN)

/* numpy has a product of its own for real (BLAS) and boolean, and loops over k for the rest. */
static void work_numpy(const cbx_params *params, cbx_work *out)
{
    if (cbx__sm_is(params, CBX_ALGEBRA_BOOLEAN))
        cbx__sm_work_tiled(params, out);
    else
        cbx__sm_work_foreign_stream(params, out);
}

#define FOREIGN(name, provider, summary, ...) CBX__SUITE_BASELINE(name, provider, summary, .work = __VA_ARGS__)

const cbx_baseline_ops cbx__sm_foreign[CBX__SM_FOREIGN] = {
    FOREIGN("numpy", "numpy", "matmul for real and boolean; else for each k ufuncs with out= on a block of C",
            work_numpy),
    FOREIGN("jax-stream", "jax", "fori_loop over k that updates all of C", cbx__sm_work_foreign_stream),
    /* XLA fuses the broadcast away for most algebras: work without a temporary is the lower
     * bound. */
    FOREIGN("jax-naive", "jax", "broadcast to m x k x n, then reduce; XLA fuses all but log",
            cbx__sm_work_foreign_stream, .supports = cbx__sm_supports_dense,
            .slow_reason = "log materialises its temporary: 512 MiB at 512^3 f32, 315 ms against 115 ms of jax-stream, "
                           "and 15 s of compilation at 1024^3"),
    FOREIGN("jnp-matmul", "jax", "jnp.matmul at the highest precision", cbx__sm_work_tiled,
            .supports = cbx__sm_supports_real),
    FOREIGN("torch-dense", "torch", "broadcast to m x k x n, then reduce", cbx__sm_work_foreign_dense,
            .supports = cbx__sm_supports_dense,
            .slow_reason = "writes and reads a temporary of m*k*n elements: 817 ms for log at 512^3 f32, against "
                           "112 ms of jax-stream on the same core"),
    FOREIGN("graphblas", "graphblas", "mxm of full matrices over the built-in semiring", cbx__sm_work_tiled,
            .supports = is_built_in,
            .slow_reason = "walks dense operands as if they were sparse: 109 ms for max-plus at 512^3 f64, 7 times "
                           "jax-stream on the same core"),
    FOREIGN("nitrix-pallas", "jax", "Triton tiles that walk k one by one; GPU only", cbx__sm_work_foreign_stream,
            .supports = supports_pallas),
};
