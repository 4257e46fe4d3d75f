/*
 * Case array_ops: one call of one array function, or of one that is made of many, on n elements, a
 * new result each time, as in user code.  At n = 10 it is the engine's overhead that is measured,
 * at 4 Mi the memory.  This file is the case's table; its parts lie in array_ops/.
 */
#include <string.h>

#include "suites/array/array_ops/ops.h"
#include "suites/common/bounds.h"
#include "suites/common/oracle.h"
#include "suites/common/params.h"
#include "suites/suites.h"

#define MAX_COUNT (1 << 26)

static const cbx_param_def params[] = {
    CBX__SUITE_WORD("op", cbx__ao_names, NULL, "which function"),
    CBX__SUITE_COUNT("n", 1, MAX_COUNT, "elements"),
    CBX__SUITE_WORD_FROM("dtype", cbx__suite_numbers, cbx__ao_fitting_dtype,
                         "of the numbers; f64, and i64 for bincount, if absent"),
    CBX__SUITE_SEED,
};

static cbx_status check_point(const cbx_params *point, cbx_err *err)
{
    const cbx__ao_point p = cbx__ao_read(point);
    if (p.op->dtypes & (1u << p.dtype)) return CBX_OK;
    return cbx_fail(err, CBX_EINVAL, "op '%s' does not take dtype '%s': use %s, or leave dtype out", p.op->name,
                    cbx_params_word(point, "dtype"), cbx__ao_fitting_dtype(point));
}

#define POINT(op, n, dtype) "{\"op\":\"" op "\",\"n\":" #n ",\"dtype\":\"" dtype "\",\"seed\":0}"
#define SIZES(op, dtype)    POINT(op, 10, dtype), POINT(op, 1000, dtype), POINT(op, 4194304, dtype)
#define REPRESENTATIVE      2 /* add, 4 Mi, f64 */

static const char *const points[] = {
    SIZES("add", "f64"),
    SIZES("exp", "f64"),
    SIZES("where", "f64"),
    SIZES("take", "f64"),
    SIZES("digitize", "f64"),
    SIZES("sum", "f64"),
    SIZES("sum_axis0", "f64"),
    SIZES("sum_axis1", "f64"),
    SIZES("mean", "f64"),
    SIZES("std", "f64"),
    SIZES("max", "f64"),
    SIZES("cumsum", "f64"),
    SIZES("sort", "f64"),
    SIZES("percentile", "f64"),
    SIZES("bincount", "i64"),
    SIZES("bincount_weights", "f64"),
    SIZES("median", "f64"),
    SIZES("nanmean", "f64"),
    SIZES("histogram", "f64"),
    POINT("expression", 1000, "f64"),
    POINT("expression", 100000, "f64"),
    POINT("expression", 4194304, "f64"),
    POINT("chain100", 1000000, "f64"),
    POINT("model", 1000000, "f64"),
    POINT("model_grad_p", 1000000, "f64"),
    POINT("model_grad_x", 1000000, "f64"),
    POINT("scan", 1000, "f64"),
    POINT("scan_grad", 1000, "f64"),
    POINT("fori", 1000, "f64"),
    POINT("kww", 10000, "f64"),
    POINT("kww_grad", 10000, "f64"),
    POINT("kww_jac", 10000, "f64"),
    POINT("rbf", 16384, "f64"),
    POINT("rbf_grad", 16384, "f64"),
    POINT("add", 4194304, "f32"),
    POINT("exp", 4194304, "f32"),
    POINT("sum", 4194304, "f32"),
    POINT("max", 4194304, "f32"),
    POINT("sort", 4194304, "f32"),
    POINT("add", 4194304, "i64"),
    POINT("sum", 4194304, "i64"),
    POINT("sort", 4194304, "i64"),
};

/* Of other frameworks; workers/python/cases/array_ops.py runs them. */
static bool supports_numpy(const cbx_params *point, const char **reason)
{
    static const char *const others[] = { "model_grad_p", "model_grad_x", "scan",    "scan_grad",
                                          "fori",         "kww_grad",     "kww_jac", "rbf_grad" };

    *reason = NULL; /* no gradients, and no loop but Python's */
    for (size_t i = 0; i < CBX_LEN(others); i++)
        if (strcmp(others[i], cbx_params_word(point, "op")) == 0) return false;
    return true;
}

/* In the order they are shown; the ratio reference first, mutants last. */
static const cbx_baseline_ops *const baselines[] = {
    &cbx__ao_compiled,
    &cbx__ao_engine,
    &cbx__ao_stream,
    &cbx__ao_memory,
    CBX__SUITE_ENTRY CBX__SUITE_BASELINE("numpy", "numpy",
                                         "NumPy's function of that name, or its natural form, a new result each call",
                                         .work = cbx__ao_work, .supports = supports_numpy),
    CBX__SUITE_ENTRY CBX__SUITE_BASELINE("jax", "jax", "jax.numpy's function of that name, compiled",
                                         .work = cbx__ao_work),
    &cbx__ao_mutants[0],
    &cbx__ao_mutants[1],
    &cbx__ao_mutants[2],
    &cbx__ao_mutants[3],
};

static const char *const input_names[] = { "x", "y", "z" };
static const char *const output_names[] = { "result" };

CBX__SUITE_LABEL(cbx__ao_point, cbx__ao_read, "%s of %zu (%s)", p.op->name, p.n, cbx_params_word(given, "dtype"))

static void outputs(const cbx_params *point, cbx_array_desc *out)
{
    const cbx__ao_point p = cbx__ao_read(point);
    cbx__ao_output(&p, out);
}

static void solve(const cbx__ao_point *p, const cbx__suite_problem *q)
{
    const double u = p->dtype == CBX_I64 ? 0 : cbx__suite_unit(p->dtype);
    p->op->solve(&(const cbx__ao_problem){ p, u, { q->in[0], q->in[1], q->in[2] }, q->answer, q->bound });
}

CBX__SUITE_ORACLE(cbx_array_ops_case, cbx__ao_point, cbx__ao_read, 0, solve)

const cbx_case_ops cbx_array_ops_case = CBX__SUITE_CASE_WITHOUT_SERIES(
    "array_ops", "one call of an array function (add, sum, sort, model, scan ...) by dtype and size",
    .make_inputs = cbx__ao_make_inputs, .oracle = oracle, .rotate_inputs = cbx__ao_rotate_inputs,
    .rotate_output = cbx__ao_rotate_output, .check_point = check_point);
