/*
 * A plug-in with metrics, for tests/cli/test_metrics.py; compiled with FAULT defined it has
 * one fault.
 */
#include <math.h>

#include "calibrax/metrics/plugin.h"

/* |p - t|^power of each item. */
static cbx_array *power_error(cbx_ctx *ctx, const cbx_metric_call *c)
{
    return cbx_pow_scalar(ctx, cbx_abs(ctx, cbx_subtract(ctx, c->in[0], c->in[1])), c->parameters[0]);
}

/* Results of other dtypes: float32 of each item, int64 of all, complex. */
static cbx_array *singles(cbx_ctx *ctx, const cbx_metric_call *c) { return cbx_astype(ctx, c->in[0], CBX_F32); }
static cbx_array *sum_of_integers(cbx_ctx *ctx, const cbx_metric_call *c)
{
    return cbx_sum(ctx, cbx_astype(ctx, c->in[0], CBX_I64), NULL);
}
static cbx_array *as_complex(cbx_ctx *ctx, const cbx_metric_call *c) { return cbx_astype(ctx, c->in[0], CBX_C128); }

static cbx_array *peak_below_half(cbx_ctx *ctx, const cbx_metric_call *c) { return cbx_max(ctx, c->in[0], NULL); }

#define OF_DTYPE(name_, code, kind)                                                                                    \
    {                                                                                                                  \
        .name = name_, .domain = "dtypes", .summary = "A result of another dtype",                                     \
        .operands = { { "x", CBX_OPERAND_##kind, false } }, .direction = CBX_DIRECTION_INFO, .high = INFINITY,         \
        .whole = code                                                                                                  \
    }

static const cbx_metric_function rows[] = {
    OF_DTYPE("singles", singles, REAL),
    OF_DTYPE("sum_of_integers", sum_of_integers, TOKENS),
    OF_DTYPE("as_complex", as_complex, REAL),
    { .name = "power_error",
      .domain = "mine",
      .summary = "Mean power of the error",
      .formula = "mean(|predictions - targets|^power)",
      .operands = { { "predictions", CBX_OPERAND_REAL, false }, { "targets", CBX_OPERAND_REAL, false } },
      .parameters = { { "power", "exponent", 3, 1, INFINITY, CBX_PARAMETER_REAL, NULL } },
      .direction = CBX_DIRECTION_LOWER,
      .high = INFINITY,
      .axioms = CBX_AXIOM_SYMMETRIC | CBX_AXIOM_IDENTITY,
      .flags = CBX_METRIC_DIFFERENTIABLE,
      .items = power_error },
    { .name = "peak_below_half", /* whose range is wrong */
      .domain = "mine",
      .summary = "Largest number",
      .operands = { { "x", CBX_OPERAND_NONNEGATIVE, false } },
      .high = 0.5,
      .whole = peak_below_half },
#if defined(FAULT_NAME)
    { .name = "mse",
      .domain = "mine",
      .summary = "?",
      .operands = { { "x", CBX_OPERAND_REAL, false } },
      .items = power_error },
#elif defined(FAULT_ROW)
    { .name = "no code", .domain = "mine", .summary = "?" },
#endif
};
#ifdef FAULT_ABI
extern const cbx_metric_plugin cbx_metric_plugin_table;
__attribute__((visibility("default"))) const cbx_metric_plugin cbx_metric_plugin_table = {
    sizeof(cbx_metric_plugin), CBX_METRIC_PLUGIN_ABI + 1, NULL, sizeof *rows, rows, 1
};
#else
CBX_METRIC_PLUGIN("powers", rows);
#endif
