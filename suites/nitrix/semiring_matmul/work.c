/* Work per call, by formula.  A model is a lower bound: what the algorithm cannot do without, in
 * lane operations of the pipe that bounds it and in bytes that must cross from the level that holds
 * the working set.
 *
 * Left out on purpose: the sweeps of stream over C, since they run in whatever cache holds C;
 * selects, conversions and address arithmetic of exp and log; packing. */
#include "suites/common/work.h"
#include "suites/common/params.h"
#include "suites/common/plan.h"
#include "suites/nitrix/semiring_matmul/matmul.h"

/* Arithmetic of one exp and one log of the toolkit (calibrax/array/kernels/vmath.h), FMA counted as
 * one operation, [f32, f64]. */
static const double exp_ops[2] = { 12, 17 }, log_ops[2] = { 14, 17 };
/* Fewest operations an exp can take at this accuracy, whoever wrote it: reduction 2, polynomial 4
 * or 8, scaling 1. */
static const double min_exp_ops[2] = { 7, 11 };
/* Besides its exp a streaming log step takes a + b, t - max, the new max and the new sum. */
static const double log_step_ops = 4;

#define DENSE_LIMIT (512.0 * 512.0 * 512.0)

cbx__sm_point cbx__sm_read(const cbx_params *params)
{
    return (cbx__sm_point){
        .semiring = cbx__suite_algebra(params),
        .dtype = cbx__suite_dtype(params),
        .m = cbx__suite_count(params, "m"),
        .k = cbx__suite_count(params, "k"),
        .n = cbx__suite_count(params, "n"),
        .seed = cbx__suite_seed(params),
    };
}

bool cbx__sm_is(const cbx_params *params, cbx_algebra id) { return cbx__suite_algebra(params)->id == id; }

static double macs_of(const cbx__sm_point *p) { return (double)p->m * (double)p->k * (double)p->n; }

static void work_of(const cbx__sm_point *p, double ops_per_step, double flop_per_step, double extra_ops, cbx_work *out)
{
    const double macs = macs_of(p), m = (double)p->m, k = (double)p->k, n = (double)p->n;
    const double bytes = (double)cbx_dtype_size(p->dtype) * (m * k + k * n + m * n);
    *out = cbx__suite_work(macs, macs * flop_per_step + extra_ops, bytes, cbx__suite_step_of(p->semiring->id).pipe,
                           macs * ops_per_step + extra_ops);
    if (p->semiring->id == CBX_ALGEBRA_EUCLIDEAN) out->flop += (double)p->m * (double)p->n; /* the square roots */
}

void cbx__sm_work_steps(const cbx__sm_point *p, cbx_work *out)
{
    const cbx__suite_step step = cbx__suite_step_of(p->semiring->id);
    work_of(p, step.ops, step.flop, 0, out);
}

/* The temporary counts once, as it is written: reading it back may find part of it in a nearer
 * level. */
static void loop_work(const cbx_params *params, const double exps[2], bool temporary, cbx_work *out)
{
    const cbx__sm_point p = cbx__sm_read(params);
    const double ops = exps[p.dtype == CBX_F64] + log_step_ops;
    const double written = temporary ? macs_of(&p) * (double)cbx_dtype_size(p.dtype) : 0;
    if (p.semiring->id == CBX_ALGEBRA_LOG)
        work_of(&p, ops, ops, 0, out);
    else
        cbx__sm_work_steps(&p, out);
    out->bytes += written;
    out->working_set_bytes += written;
}

void cbx__sm_work_stream(const cbx_params *params, cbx_work *out) { loop_work(params, exp_ops, false, out); }
void cbx__sm_work_dense(const cbx_params *params, cbx_work *out) { loop_work(params, exp_ops, true, out); }
void cbx__sm_work_foreign_stream(const cbx_params *params, cbx_work *out)
{
    loop_work(params, min_exp_ops, false, out);
}
void cbx__sm_work_foreign_dense(const cbx_params *params, cbx_work *out) { loop_work(params, min_exp_ops, true, out); }

void cbx__sm_work_tiled(const cbx_params *params, cbx_work *out)
{
    const cbx__sm_point p = cbx__sm_read(params);
    const cbx_algebra g = p.semiring->id;
    const bool wide = p.dtype == CBX_F64;
    const double m = (double)p.m, k = (double)p.k, n = (double)p.n;
    if (g == CBX_ALGEBRA_LOG)
        work_of(&p, 1, 2, k > 0 ? exp_ops[wide] * (m * k + k * n) + log_ops[wide] * m * n : 0, out);
    else if (g == CBX_ALGEBRA_BOOLEAN)
        *out = cbx__suite_lazy_work(macs_of(&p), m * n);
    else
        cbx__sm_work_steps(&p, out);
}

bool cbx__sm_supports_dense(const cbx_params *params, const char **reason)
{
    const cbx__sm_point p = cbx__sm_read(params);
    if (macs_of(&p) <= DENSE_LIMIT) return true;
    *reason = "its temporary has m*k*n elements, 512 MiB at 512^3 f32; larger points are left out";
    return false;
}

/* Not a gap: a library product has no other algebra. */
bool cbx__sm_supports_real(const cbx_params *params, const char **reason)
{
    *reason = NULL;
    return cbx__sm_is(params, CBX_ALGEBRA_REAL);
}
