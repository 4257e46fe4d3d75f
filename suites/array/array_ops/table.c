/*
 * The table of functions that the case measures, and what follows from a line of it: operands,
 * result, work.
 *
 * Work is a lower bound: every operand read once, the result written once, and the arithmetic that
 * no algorithm avoids.  Comparisons of sort and percentile are left out, since a radix sort makes
 * none.
 */
#include <math.h>
#include <string.h>

#include "suites/array/array_ops/ops.h"
#include "suites/common/params.h"
#include "suites/common/work.h"

enum { F64 = 1u << CBX_F64, F32 = 1u << CBX_F32, I64 = 1u << CBX_I64, FLOATS = F64 | F32, NUMBERS = FLOATS | I64 };

#define CALL(name, dtypes, x, y, z, result, turn, pipe, each, expr)                                                    \
    static cbx_array *call_##name(cbx_ctx *c, cbx_array *const *in, size_t n)                                          \
    {                                                                                                                  \
        (void)n;                                                                                                       \
        return expr;                                                                                                   \
    }
CBX__AO_OPS(CALL)

#define OP(name, dtypes, x, y, z, result, turn, pipe, each, expr)                                                      \
    { #name,                                                                                                           \
      dtypes,                                                                                                          \
      { CBX__AO_##x, CBX__AO_##y, CBX__AO_##z },                                                                       \
      CBX__AO_##result,                                                                                                \
      CBX__AO_##turn,                                                                                                  \
      CBX_PIPE_##pipe,                                                                                                 \
      each,                                                                                                            \
      call_##name,                                                                                                     \
      cbx__ao_solve_##name },
#define NAME(name, ...) #name,
const cbx__ao_op cbx__ao_ops[] = { CBX__AO_OPS(OP) };
const char *const cbx__ao_names[] = { CBX__AO_OPS(NAME) NULL };

static const cbx__ao_op *find_op(const char *name)
{
    for (size_t i = 0; i < CBX_LEN(cbx__ao_ops); i++)
        if (strcmp(cbx__ao_ops[i].name, name) == 0) return &cbx__ao_ops[i];
    return NULL;
}

const char *cbx__ao_fitting_dtype(const cbx_params *before)
{
    const cbx__ao_op *op = find_op(cbx_params_word(before, "op"));
    size_t i = 0;

    while (!(op->dtypes & (1u << cbx__suite_dtype_of(cbx__suite_numbers[i])))) i++;
    return cbx__suite_numbers[i];
}

cbx__ao_point cbx__ao_read(const cbx_params *params)
{
    cbx__ao_point p = { .op = find_op(cbx_params_word(params, "op")),
                        .dtype = cbx__suite_dtype(params),
                        .n = cbx__suite_count(params, "n"),
                        .rows = 1,
                        .seed = cbx__suite_seed(params) };

    for (size_t r = 1; r * r <= p.n; r++)
        if (p.n % r == 0) p.rows = r;
    p.columns = p.n / p.rows;
    return p;
}

void cbx__ao_input(const cbx__ao_point *p, size_t i, cbx_array_desc *out)
{
    *out = (cbx_array_desc){ p->dtype, 1, { p->n } };
    switch (p->op->in[i]) {
    case CBX__AO_NONE: out->shape[0] = 0; break;
    case CBX__AO_MATRIX: *out = (cbx_array_desc){ p->dtype, 2, { p->rows, p->columns } }; break;
    case CBX__AO_RISING: out->shape[0] = CBX__AO_EDGES; break;
    case CBX__AO_CONDITION: out->dtype = CBX_BOOL; break;
    case CBX__AO_INDICES:
    case CBX__AO_LABELS: out->dtype = CBX_I64; break;
    case CBX__AO_AMOUNT:
    case CBX__AO_FACTOR: out->ndim = 0; break;
    case CBX__AO_FOUR: out->shape[0] = CBX__AO_FITTED; break;
    case CBX__AO_TIMES: out->shape[0] = CBX__AO_DELAYS; break;
    case CBX__AO_FITS: *out = (cbx_array_desc){ p->dtype, 2, { p->n, CBX__AO_FITTED } }; break;
    case CBX__AO_CURVES: *out = (cbx_array_desc){ p->dtype, 2, { p->n, CBX__AO_DELAYS } }; break;
    case CBX__AO_POINTS: *out = (cbx_array_desc){ p->dtype, 2, { p->n, CBX__AO_SPACE } }; break;
    case CBX__AO_NUMBERS:
    case CBX__AO_GAPS:
    case CBX__AO_GRID:
    case CBX__AO_UNIT:
    case CBX__AO_TABLE: break;
    }
}

void cbx__ao_output(const cbx__ao_point *p, cbx_array_desc *out)
{
    *out = (cbx_array_desc){ p->dtype, 1, { p->n } };
    switch (p->op->result) {
    case CBX__AO_EACH: break;
    case CBX__AO_PLACES: out->dtype = CBX_I64; break;
    case CBX__AO_ONE: out->ndim = 0; break;
    case CBX__AO_COLUMNS: out->shape[0] = p->columns; break;
    case CBX__AO_ROWS: out->shape[0] = p->rows; break;
    case CBX__AO_COUNTS: *out = (cbx_array_desc){ CBX_I64, 1, { CBX__AO_BINS } }; break;
    case CBX__AO_TOTALS: *out = (cbx_array_desc){ CBX_F64, 1, { CBX__AO_BINS } }; break;
    case CBX__AO_CELLED: *out = (cbx_array_desc){ CBX_I64, 1, { CBX__AO_CELLS } }; break;
    case CBX__AO_GRADIENT: out->shape[0] = CBX__AO_FITTED; break;
    case CBX__AO_ROWS_OF_GRADIENTS: *out = (cbx_array_desc){ CBX_F64, 2, { p->n, CBX__AO_FITTED } }; break;
    case CBX__AO_JACOBIANS: *out = (cbx_array_desc){ CBX_F64, 3, { p->n, CBX__AO_DELAYS, CBX__AO_FITTED } }; break;
    case CBX__AO_VECTORS: *out = (cbx_array_desc){ CBX_F64, 2, { p->n, CBX__AO_SPACE } }; break;
    }
}

static double bytes_of(const cbx_array_desc *d)
{
    size_t count = 0;

    (void)cbx_array_desc_count(d, &count, NULL);
    return (double)(count * cbx_dtype_size(d->dtype));
}

double cbx__ao_steps(const cbx__ao_point *p)
{
    const double n = (double)p->n;

    if (p->op->in[0] == CBX__AO_POINTS) return n * n;
    return p->op->in[0] == CBX__AO_FITS ? n * CBX__AO_DELAYS : n;
}

size_t cbx__ao_operands(const cbx__ao_op *op)
{
    size_t n = 0;
    while (n < CBX__AO_INPUTS && op->in[n] != CBX__AO_NONE) n++;
    return n;
}

void cbx__ao_work(const cbx_params *params, cbx_work *out)
{
    const cbx__ao_point p = cbx__ao_read(params);
    cbx_array_desc d;
    double bytes, steps = cbx__ao_steps(&p);

    cbx__ao_output(&p, &d);
    bytes = bytes_of(&d);
    for (size_t i = 0; i < CBX__AO_INPUTS; i++) {
        cbx__ao_input(&p, i, &d);
        bytes += bytes_of(&d);
    }
    *out = cbx__suite_work(steps, p.dtype == CBX_I64 ? 0 : p.op->each * steps, bytes, p.op->pipe, p.op->each * steps);
}
