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

#define FN(name, expr)                                                                                                 \
    static cbx_array *call_##name(cbx_ctx *c, cbx_array *const *in, size_t n)                                          \
    {                                                                                                                  \
        (void)n;                                                                                                       \
        return expr;                                                                                                   \
    }
FN(add, cbx_add(c, in[0], in[1]))
FN(exp, cbx_exp(c, in[0]))
FN(where, cbx_where(c, in[2], in[0], in[1]))
FN(take, cbx_take(c, in[0], in[1], 0))
FN(digitize, cbx_digitize(c, in[0], in[1]))
FN(sum, cbx_sum(c, in[0], NULL))
FN(sum_axis0, cbx_sum(c, in[0], CBX_AXIS(0)))
FN(sum_axis1, cbx_sum(c, in[0], CBX_AXIS(1)))
FN(mean, cbx_mean(c, in[0], NULL))
FN(std, cbx_std(c, in[0], NULL, 0))
FN(max, cbx_max(c, in[0], NULL))
FN(cumsum, cbx_cumulative_sum(c, in[0], 0))
FN(sort, cbx_sort(c, in[0], 0, false))
FN(percentile, cbx_percentile(c, in[0], CBX__AO_RANK, NULL))
FN(bincount, cbx_bincount(c, in[0], NULL, CBX__AO_BINS))
FN(bincount_weights, cbx_bincount(c, in[0], in[1], CBX__AO_BINS))
FN(median, cbx_median(c, in[0], NULL))
FN(nanmean, cbx_nanmean(c, in[0], NULL))
FN(histogram, cbx__ao_histogram(c, in))
FN(expression, cbx__ao_expression(c, in))
FN(chain100, cbx__ao_chain100(c, in))
FN(model, cbx__ao_model(c, in))
FN(model_grad_p, cbx__ao_model_grad_p(c, in))
FN(model_grad_x, cbx__ao_model_grad_x(c, in))
FN(scan, cbx__ao_scan(c, in))
FN(scan_grad, cbx__ao_scan_grad(c, in))
FN(fori, cbx__ao_fori(c, in, n))
FN(kww, cbx__ao_kww(c, in))
FN(kww_grad, cbx__ao_kww_grad(c, in))
FN(kww_jac, cbx__ao_kww_jac(c, in))
FN(rbf, cbx__ao_rbf(c, in))
FN(rbf_grad, cbx__ao_rbf_grad(c, in))

enum { F64 = 1u << CBX_F64, F32 = 1u << CBX_F32, I64 = 1u << CBX_I64, FLOATS = F64 | F32, NUMBERS = FLOATS | I64 };

#define OP(name, dtypes, x, y, z, result, turn, pipe, each)                                                            \
    {                                                                                                                  \
#name, dtypes,                                                                                                 \
            { CBX__AO_##x, CBX__AO_##y, CBX__AO_##z }, CBX__AO_##result, CBX__AO_##turn, CBX_PIPE_##pipe, each,        \
              call_##name, cbx__ao_solve_##name                                                                        \
    }

/* clang-format off */
/* name, dtypes, operands, result, turn, pipe and operations of an element: exp as in
 * semiring_matmul, its fewest of float32 */
const cbx__ao_op cbx__ao_ops[] = {
    OP(add,        NUMBERS, NUMBERS, NUMBERS, NONE,      EACH,    SHIFT,   ADD, 1),
    OP(exp,        FLOATS,  NUMBERS, NONE,    NONE,      EACH,    SHIFT,   FMA, 7),
    OP(where,      NUMBERS, NUMBERS, NUMBERS, CONDITION, EACH,    SHIFT,   MAX, 0),
    OP(take,       NUMBERS, TABLE,   INDICES, NONE,      EACH,    SHIFT,   MAX, 0),
    OP(digitize,   FLOATS,  NUMBERS, RISING,  NONE,      PLACES,  SHIFT,   MAX, 0),
    OP(sum,        NUMBERS, NUMBERS, NONE,    NONE,      ONE,     SCALE,   ADD, 1),
    OP(sum_axis0,  FLOATS,  MATRIX,  NONE,    NONE,      COLUMNS, SCALE,   ADD, 1),
    OP(sum_axis1,  FLOATS,  MATRIX,  NONE,    NONE,      ROWS,    SCALE,   ADD, 1),
    OP(mean,       FLOATS,  NUMBERS, NONE,    NONE,      ONE,     SCALE,   ADD, 1),
    OP(std,        FLOATS,  NUMBERS, NONE,    NONE,      ONE,     SCALE,   ADD, 1),
    OP(max,        NUMBERS, NUMBERS, NONE,    NONE,      ONE,     SCALE,   MAX, 1),
    OP(cumsum,     NUMBERS, NUMBERS, NONE,    NONE,      EACH,    SCALE,   ADD, 1),
    OP(sort,       NUMBERS, NUMBERS, NONE,    NONE,      EACH,    SCALE,   MAX, 0),
    OP(percentile, F64,     NUMBERS, NONE,    NONE,      ONE,     SCALE,   MAX, 0),
    OP(bincount,   I64,     LABELS,  NONE,    NONE,      COUNTS,  RELABEL, ADD, 0),
    OP(bincount_weights, F64, LABELS, NUMBERS, NONE,     TOTALS,  RELABEL, ADD, 0),
    OP(median,     F64,     NUMBERS, NONE,    NONE,      ONE,     SCALE,   MAX, 0),
    OP(nanmean,    F64,     GAPS,    NONE,    NONE,      ONE,     SCALE,   ADD, 1),
    OP(histogram,  F64,     GRID,    NONE,    NONE,      CELLED,  RELABEL, MAX, 0),
    OP(expression, F64,     NUMBERS, NUMBERS, NONE,      EACH,    SHIFT,   FMA, 9),
    OP(chain100,   F64,     NUMBERS, NUMBERS, NONE,      EACH,    SHIFT,   FMA, 50),
    OP(model,        F64,   UNIT,    FOUR,    AMOUNT,    ONE,     SCALE,   FMA, 20),
    OP(model_grad_p, F64,   UNIT,    FOUR,    AMOUNT,    GRADIENT,  SCALE,   FMA, 20),
    OP(model_grad_x, F64,   UNIT,    FOUR,    AMOUNT,    EACH,    SCALE,   FMA, 20),
    OP(scan,       F64,     UNIT,    AMOUNT,  NONE,      ONE,     SCALE,   FMA, 4),
    OP(scan_grad,  F64,     UNIT,    AMOUNT,  NONE,      EACH,    SCALE,   FMA, 4),
    OP(fori,       F64,     AMOUNT,  AMOUNT,  FACTOR,    ONE,     SCALE,   FMA, 1),
    OP(kww,        F64,     FITS,    TIMES,   CURVES,    EACH,    SHIFT,   FMA, 14),
    OP(kww_grad,   F64,     FITS,    TIMES,   CURVES,    ROWS_OF_GRADIENTS, SHIFT, FMA, 14),
    OP(kww_jac,    F64,     FITS,    TIMES,   CURVES,    JACOBIANS, SHIFT, FMA, 14),
    OP(rbf,        F64,     POINTS,  POINTS,  NUMBERS,   EACH,    SCALE,   FMA, 10),
    OP(rbf_grad,   F64,     POINTS,  POINTS,  NUMBERS,   VECTORS, SCALE,   FMA, 10),
};
/* clang-format on */

const char *const cbx__ao_names[] = {
#define NAME(name) #name,
    CBX__AO_MAP(NAME)
#undef NAME
        NULL
};

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
    *out = (cbx_work){ .macs = steps,
                       .flop = p.dtype == CBX_I64 ? 0 : p.op->each * steps,
                       .bytes = bytes,
                       .pipe = p.op->pipe,
                       .pipe_ops = p.op->each * steps,
                       .working_set_bytes = bytes };
}
