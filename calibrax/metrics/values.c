/* What the values of operands may be: checks with data, and the same as booleans of a trace. */
#include <stdio.h>
#include <string.h>

#include "calibrax/array/kernels/fold.h"
#include "calibrax/array/scope_internal.h"
#include "calibrax/metrics/operands.h"

/* An operand, the mask or the weights of a call. */
typedef struct argument {
    const cbx_metric_function *metric;
    const char *name;
    const cbx__operand_rule *rule;
} argument;

/* ---- in a trace ---- */

/* How far the sum of numbers may be from 1, by the rounding of so many additions in their dtype. */
static double tolerance_of_sums(cbx_dtype t) { return t == CBX_F32 ? 1e-3 : 1e-6; }

cbx_array *cbx__operand_legal(cbx_ctx *ctx, cbx_operand_kind kind, const cbx_array *x, cbx_dtype given)
{
    const cbx__operand_rule *r = &cbx__operand_rules[kind];
    cbx_array *legal, *sums;

    if (r->matrix || r->of_trace) return cbx__matrix_legal(ctx, x, r->matrix ? r->matrix : r->of_trace);
    if (isnan(r->low)) return NULL;
    legal = cbx_greater_equal_scalar(ctx, x, r->low);
    if (!isinf(r->high)) legal = cbx_logical_and(ctx, legal, cbx_less_equal_scalar(ctx, x, r->high));
    if (r->integral && cbx_dtype_kind(cbx_array_dtype(x)) == CBX_KIND_FLOAT)
        legal = cbx_logical_and(ctx, legal, cbx_equal(ctx, x, cbx_floor(ctx, x)));
    if (r->sum == CBX__NO_SUM) return legal;
    sums = cbx_sum(ctx, x, r->sum == CBX__SUM_OF_ROWS ? CBX_AXIS(-1) : NULL);
    sums = cbx_abs(ctx, cbx_subtract_scalar(ctx, sums, 1));
    sums = cbx_less_equal_scalar(ctx, sums, tolerance_of_sums(given));
    return cbx_logical_and(ctx, cbx_all(ctx, legal, r->sum == CBX__SUM_OF_ROWS ? CBX_AXIS(-1) : NULL), sums);
}

cbx_array *cbx__operand_neutral(cbx_ctx *ctx, cbx_operand_kind kind, const cbx_array *x)
{
    const cbx__operand_rule *r = &cbx__operand_rules[kind];
    const int rank = cbx_array_ndim(x);
    const size_t last = rank ? cbx_array_dim(x, rank - 1) : 1;

    if (r->matrix && rank > 1) return cbx_eye(ctx, cbx_array_dim(x, rank - 2), last, 0, CBX_F64);
    if (r->whole) return cbx_weak(ctx, x, cbx_int(0));
    return cbx_weak(ctx, x, cbx_float(r->sum == CBX__SUM_OF_ROWS ? 1 / (double)(last ? last : 1) : r->neutral));
}

/* ---- messages ---- */

const char *cbx__place(const cbx_array *x, int ndim, size_t n, const cbx_array *kept, char *buf, size_t size)
{
    size_t at[CBX_MAX_RANK], used = 0;

    for (int k = ndim - 1; k >= 0; k--) {
        at[k] = n % cbx_array_dim(x, k);
        n /= cbx_array_dim(x, k);
    }
    if (kept && ndim) at[0] = (size_t)cbx__metric_element(kept, at[0]);
    used = (size_t)snprintf(buf, size, "[");
    for (int k = 0; k < ndim && used < size; k++)
        used += (size_t)snprintf(buf + used, size - used, "%s%zu", k ? ", " : "", at[k]);
    if (used < size) snprintf(buf + used, size - used, "]");
    return buf;
}

void cbx__metric_refuse_label(cbx_ctx *ctx, const cbx_metric_function *m, size_t i, const cbx_array *x, double limit,
                              const char *what, const cbx_array *kept)
{
    const cbx_array *fine = cbx_less_scalar(ctx, cbx_astype(ctx, x, CBX_F64), limit);
    const size_t n = (size_t)cbx__metric_element(cbx_argmin(ctx, fine, NULL), 0);
    char where[160];

    cbx__refuse(ctx, CBX_EDOM, "%s: '%s'%s is %.0f: it must be below %s", m->name, m->operands[i].name,
                cbx__place(x, cbx_array_ndim(x), n, kept, where, sizeof where), cbx__metric_element(x, n), what);
}

/* Names the first value that is not fine. */
static void refuse_value(cbx_ctx *ctx, const argument *a, const cbx_array *x, const cbx_array *fine,
                         const cbx_array *kept)
{
    const cbx_metric_parameter bounds = { .low = a->rule->low, .high = a->rule->high };
    const size_t n = (size_t)cbx__metric_element(cbx_argmin(ctx, fine, NULL), 0);
    const double v = cbx__metric_element(x, n);
    char where[160], value[CBX_FORMAT_SIZE], must[96];

    if (cbx_dtype_kind(cbx_array_dtype(x)) == CBX_KIND_FLOAT)
        cbx_format_double(v, value);
    else
        snprintf(value, sizeof value, "%.0f", v);
    cbx__refuse(ctx, CBX_EDOM, "%s: '%s'%s is %s: it must be %s", a->metric->name, a->name,
                cbx__place(x, cbx_array_ndim(x), n, kept, where, sizeof where), value,
                a->rule->integral ? "0 or 1" : cbx_metric_bounds_text(&bounds, must, sizeof must));
}

/* ---- with data ---- */

/* What the checks need of an operand; NaN where it holds one. */
typedef struct survey {
    double low, high;
    double sum; /* of the row whose sum is farthest from 1 */
    size_t row;
} survey;

static void include_sum(survey *s, double sum, size_t row)
{
    if (row && !(fabs(sum - 1) > fabs(s->sum - 1)) && !isnan(sum)) return;
    s->sum = sum;
    s->row = row;
}

/*
 * Extremes of n > 0 numbers, the upper one where there is a bound.  Bits of numbers from 0 to
 * infinity order as unsigned integers, below those of NaN and of what has a sign: one pass shows
 * that there are no others.
 */
static void extremes(const double *x, size_t n, const cbx__operand_rule *r, double *low, double *high)
{
    const cbx__fold *k = cbx__fold_get(cbx_isa_best());

    if (r->low == 0) {
        const uint64_t bits = k->run_max_u64((const void *)x, n);
        memcpy(high, &bits, sizeof bits);
        *low = 0;
        if (*high >= 0 && !signbit(*high)) return;
    }
    *low = k->run_min_f64(x, n);
    *high = isinf(r->high) ? *low : k->run_max_f64(x, n);
}

/* float64 that lies together, in one pass; length: of the rows that are summed, 0: none are. */
static void survey_numbers(const double *x, size_t n, const cbx__operand_rule *r, size_t length, survey *out)
{
    enum { BLOCK = 2048 };
    const cbx__fold *k = cbx__fold_get(cbx_isa_best());
    size_t in_row = 0, row = 0;
    double sum = 0;

    for (size_t at = 0; at < n; at += BLOCK) {
        const size_t count = n - at < BLOCK ? n - at : BLOCK;
        double low, high;
        extremes(x + at, count, r, &low, &high);
        if (at == 0 || low < out->low || isnan(low)) out->low = low;
        if (at == 0 || high > out->high || isnan(high)) out->high = high;
        for (size_t i = 0; length && i < count;) {
            const size_t some = count - i < length - in_row ? count - i : length - in_row;
            sum += some < 16 ? 0 : k->run_sum_f64(x + at + i, some);
            for (size_t j = 0; some < 16 && j < some; j++) sum += x[at + i + j];
            i += some;
            if ((in_row += some) < length) continue;
            include_sum(out, sum, row++);
            sum = 0;
            in_row = 0;
        }
        if (isnan(low)) return;
    }
}

/* As unsigned numbers negative ones are largest: without them one pass is enough for a kind that
 * may be 0. */
static void survey_integers(const int64_t *x, size_t n, double low, survey *out)
{
    const cbx__fold *k = cbx__fold_get(cbx_isa_best());
    const uint64_t largest = k->run_max_u64((const uint64_t *)x, n);
    const bool negative = largest > INT64_MAX;

    out->high = negative ? (double)k->run_max_i64(x, n) : (double)largest;
    out->low = negative || low > 0 ? (double)k->run_min_i64(x, n) : 0;
}

static void survey_array(cbx_ctx *ctx, const cbx_array *x, const cbx__operand_rule *r, survey *out)
{
    const cbx__sum_rule rule = r->sum;
    const size_t n = cbx_array_count(x), last = cbx_array_ndim(x) ? cbx_array_dim(x, -1 + cbx_array_ndim(x)) : 1;
    const bool flat = cbx_array_is_contiguous(x) && cbx_array_device(x).kind == CBX_DEVICE_CPU;
    const cbx_array *sums, *off;

    if (flat && cbx_array_dtype(x) == CBX_F64) {
        survey_numbers(cbx_array_data(x), n, r, rule == CBX__NO_SUM ? 0 : rule == CBX__SUM_OF_ALL ? n : last, out);
        return;
    }
    if (flat && cbx_array_dtype(x) == CBX_I64 && rule == CBX__NO_SUM) {
        survey_integers(cbx_array_data(x), n, r->low, out);
        return;
    }
    out->low = cbx__metric_element(cbx_min(ctx, x, NULL), 0);
    out->high = cbx__metric_element(cbx_max(ctx, x, NULL), 0);
    if (rule == CBX__NO_SUM) return;
    sums = cbx_sum(ctx, cbx_astype(ctx, x, CBX_F64), rule == CBX__SUM_OF_ROWS ? CBX_AXIS(-1) : NULL);
    off = cbx_abs(ctx, cbx_subtract_scalar(ctx, sums, 1));
    out->row = (size_t)cbx__metric_element(cbx_argmax(ctx, off, NULL), 0);
    out->sum = cbx__metric_element(sums, out->row);
}

static bool check_sums(cbx_ctx *ctx, const cbx_metric_function *m, size_t i, const cbx_array *x, const survey *s,
                       const cbx_array *kept)
{
    const bool rows = cbx__operand_rules[m->operands[i].kind].sum == CBX__SUM_OF_ROWS;
    char where[160] = "";

    if (fabs(s->sum - 1) <= tolerance_of_sums(cbx_array_dtype(x))) return true;
    if (rows) cbx__place(x, cbx_array_ndim(x) - 1, s->row, kept, where, sizeof where);
    return cbx__refused(ctx, CBX_EDOM, "%s: the sum of '%s'%s is %s, not 1: divide by it", m->name, m->operands[i].name,
                        where, CBX__TEXT_NUMBER(s->sum));
}

/* Whether the values are in the domain of the argument.  False: recorded. */
static bool check_domain(cbx_ctx *ctx, const argument *a, const cbx_array *x, const cbx_array *kept, survey *s)
{
    const cbx__operand_rule *r = a->rule;
    bool fine;

    if (cbx_array_dtype(x) != CBX_BOOL || r->sum || r->whole) survey_array(ctx, x, r, s);
    fine = s->low >= r->low && s->high <= r->high;
    if (!fine)
        refuse_value(
            ctx, a, x,
            cbx_logical_and(ctx, cbx_greater_equal_scalar(ctx, x, r->low), cbx_less_equal_scalar(ctx, x, r->high)),
            kept);
    if (fine && r->integral && cbx_dtype_kind(cbx_array_dtype(x)) == CBX_KIND_FLOAT) {
        const cbx_array *whole = cbx_equal(ctx, x, cbx_floor(ctx, x));
        fine = cbx__metric_element(cbx_all(ctx, whole, NULL), 0) == 1;
        if (!fine) refuse_value(ctx, a, x, whole, kept);
    }
    return fine;
}

bool cbx__metric_check_values(cbx_ctx *ctx, const cbx_metric_function *m, size_t i, const cbx_array *x,
                              const cbx_array *kept, double *largest)
{
    const cbx_metric_operand *o = &m->operands[i];
    const argument a = { m, o->name, &cbx__operand_rules[o->kind] };
    const size_t mark = cbx__mark(ctx);
    survey s = { 0, 1, 1, 0 };
    bool fine;

    *largest = 0;
    if (a.rule->matrix) return cbx__check_definite(ctx, m, i, x, kept, a.rule->matrix);
    if (isnan(a.rule->low) || cbx_array_count(x) == 0) return true;
    fine = check_domain(ctx, &a, x, kept, &s);
    *largest = s.high;
    if (fine && a.rule->sum) fine = check_sums(ctx, m, i, x, &s, kept);
    cbx__tidy_list(ctx, mark, 0, NULL);
    return fine;
}

bool cbx__metric_check_argument(cbx_ctx *ctx, const cbx_metric_function *m, const char *name, cbx_operand_kind kind,
                                const cbx_array *x)
{
    const argument a = { m, name, &cbx__operand_rules[kind] };
    const size_t mark = cbx__mark(ctx);
    survey s = { 0, 1, 1, 0 };
    bool fine = true;

    if (cbx_dtype_kind(cbx_array_dtype(x)) == CBX_KIND_COMPLEX)
        return cbx__refused(ctx, CBX_EDTYPE, "%s: '%s' must be real, not %s", m->name, a.name,
                            cbx_dtype_name(cbx_array_dtype(x)));
    if (cbx_array_count(x)) fine = check_domain(ctx, &a, x, NULL, &s);
    cbx__tidy_list(ctx, mark, 0, NULL);
    return fine;
}
