/*
 * The table of primitives: what each takes, and by which rules its result has a shape and a dtype.
 */
#include "calibrax/array/primitive.h"

#include <string.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/object.h"
#include "calibrax/array/primitive_rules.h"
#include "calibrax/base/hash_table.h"

typedef cbx__operands operands;
typedef cbx__shape_rule shape_rule;

/* ---- elements, axes, indices, reductions ---- */

static cbx_status check_axis(const operands *o, int axis, int ndim, cbx_err *err)
{
    if (axis >= 0 && axis < ndim) return CBX_OK;
    return cbx_fail(err, CBX_EINVAL, "axis %d of '%s' is outside 0..%d", axis, o->name, ndim - 1);
}

/* The axes of the attributes, one bit each. */
static cbx_status check_axes(const operands *o, unsigned *seen, cbx_err *err)
{
    *seen = 0;
    for (int i = 0; i < o->attrs->naxes; i++) {
        const int axis = o->attrs->axes[i];
        const cbx_status st = check_axis(o, axis, o->d[0]->ndim, err);
        if (st) return st;
        if (*seen & (1u << axis)) return cbx_fail(err, CBX_EINVAL, "axis %d of '%s' is named twice", axis, o->name);
        *seen |= 1u << axis;
    }
    return CBX_OK;
}

RULE(same)
{
    for (size_t i = 1; i < o->n; i++)
        if (!same_shape(o->d[0], o->d[i])) return differ(o, o->d[0], o->d[i], err);
    set_shape(out, o->d[0]->ndim, o->d[0]->shape);
    return CBX_OK;
}

RULE(cast)
{
    if (cbx_dtype_kind(o->d[0]->dtype) == CBX_KIND_COMPLEX && cbx_dtype_kind(o->attrs->dtype) < CBX_KIND_COMPLEX &&
        o->attrs->dtype != CBX_BOOL)
        return cbx_fail(err, CBX_EDTYPE, "'astype' does not drop imaginary parts, %s to %s: take 'real' first",
                        cbx_dtype_name(o->d[0]->dtype), cbx_dtype_name(o->attrs->dtype));
    return cbx__rule_same(o, out, err);
}

/* The shape is given. */
RULE(shape)
{
    const cbx_attrs *a = o->attrs;

    if (a->ndim < 0 || a->ndim > CBX_MAX_RANK)
        return cbx_fail(err, CBX_EINVAL, "rank %d of '%s' is outside 0..%d", a->ndim, o->name, CBX_MAX_RANK);
    set_shape(out, a->ndim, a->shape);
    return CBX_OK;
}

RULE(iota)
{
    const cbx_status st = cbx__rule_shape(o, out, err);
    return st ? st : check_axis(o, o->attrs->axis, out->ndim, err);
}

RULE(reshape)
{
    size_t from, to;
    cbx_status st = cbx__rule_shape(o, out, err);

    if (!st) st = cbx_array_desc_count(out, &to, err);
    if (!st) st = cbx_array_desc_count(o->d[0], &from, err);
    if (st || from == to) return st;
    return cbx_fail(err, CBX_ESHAPE, "'reshape' of %s to %s changes the number of elements", CBX__DESC_TEXT(o->d[0]),
                    CBX__DESC_TEXT(out));
}

RULE(transpose)
{
    unsigned seen;
    cbx_status st;
    int n = o->d[0]->ndim;

    if (o->attrs->naxes != n)
        return cbx_fail(err, CBX_EINVAL, "'%s' got %d axes for an array of rank %d", o->name, o->attrs->naxes, n);
    st = check_axes(o, &seen, err);
    out->ndim = n;
    for (int i = 0; !st && i < n; i++) out->shape[i] = o->d[0]->shape[o->attrs->axes[i]];
    return st;
}

RULE(broadcast)
{
    const cbx_array_desc *d = o->d[0];
    cbx_status st = cbx__rule_shape(o, out, err);
    int shift = o->attrs->ndim - d->ndim;
    bool fits = shift >= 0;

    if (st) return st;
    for (int i = 0; fits && i < d->ndim; i++) fits = d->shape[i] == 1 || d->shape[i] == out->shape[i + shift];
    if (fits) return CBX_OK;
    return cbx_fail(err, CBX_ESHAPE, "%s does not broadcast to %s", CBX__DESC_TEXT(d), CBX__DESC_TEXT(out));
}

RULE(slice)
{
    const cbx_array_desc *d = o->d[0];
    const cbx_attrs *a = o->attrs;

    if (a->ndim != d->ndim) return cbx_fail(err, CBX_EINVAL, "'slice' got %d ranges for rank %d", a->ndim, d->ndim);
    for (int i = 0; i < d->ndim; i++) {
        ptrdiff_t n = (ptrdiff_t)a->shape[i], last = 0;
        bool wraps = n && (__builtin_mul_overflow(n - 1, a->step[i], &last) ||
                           __builtin_add_overflow(last, a->start[i], &last));
        if (n < 0 || wraps || a->step[i] == 0 ||
            (n > 0 &&
             (a->start[i] < 0 || a->start[i] >= (ptrdiff_t)d->shape[i] || last < 0 || last >= (ptrdiff_t)d->shape[i])))
            return cbx_fail(err, CBX_EINVAL, "'slice' from %td step %td takes %zu elements of axis %d, which has %zu",
                            a->start[i], a->step[i], a->shape[i], i, d->shape[i]);
    }
    set_shape(out, d->ndim, a->shape);
    return CBX_OK;
}

RULE(pad)
{
    const cbx_array_desc *d = o->d[0];
    const cbx_attrs *a = o->attrs;

    if (a->ndim != d->ndim) return cbx_fail(err, CBX_EINVAL, "'pad' got %d widths for rank %d", a->ndim, d->ndim);
    for (int i = 0; i < d->ndim; i++)
        if (a->start[i] < 0 || a->shape[i] < d->shape[i] || (size_t)a->start[i] > a->shape[i] - d->shape[i])
            return cbx_fail(err, CBX_EINVAL, "'pad' of axis %d is negative", i);
    set_shape(out, d->ndim, a->shape);
    return CBX_OK;
}

RULE(concat)
{
    const cbx_array_desc *d = o->d[0];
    int axis = o->attrs->axis;
    cbx_status st = check_axis(o, axis, d->ndim, err);

    if (st) return st;
    set_shape(out, d->ndim, d->shape);
    out->shape[axis] = 0;
    for (size_t i = 0; i < o->n; i++) {
        const cbx_array_desc *e = o->d[i];
        if (e->ndim != d->ndim) return differ(o, d, e, err);
        for (int k = 0; k < d->ndim; k++)
            if (k != axis && e->shape[k] != d->shape[k]) return differ(o, d, e, err);
        if (__builtin_add_overflow(out->shape[axis], e->shape[axis], &out->shape[axis]))
            return cbx_fail(err, CBX_EOVERFLOW, "the length of 'concat' overflows");
    }
    return CBX_OK;
}

/* x along axis is replaced by the axes of the indices. */
RULE(take)
{
    const cbx_array_desc *x = o->d[0], *index = o->d[1];
    int axis = o->attrs->axis, at = 0;
    cbx_status st = check_axis(o, axis, x->ndim, err);

    if (st) return st;
    if (x->ndim - 1 + index->ndim > CBX_MAX_RANK)
        return cbx_fail(err, CBX_EINVAL, "the result of '%s' has more than %d axes", o->name, CBX_MAX_RANK);
    for (int i = 0; i < axis; i++) out->shape[at++] = x->shape[i];
    for (int i = 0; i < index->ndim; i++) out->shape[at++] = index->shape[i];
    for (int i = axis + 1; i < x->ndim; i++) out->shape[at++] = x->shape[i];
    out->ndim = at;
    return CBX_OK;
}

RULE(take_along)
{
    const cbx_array_desc *x = o->d[0], *index = o->d[1];
    cbx_status st = check_axis(o, o->attrs->axis, x->ndim, err);

    if (st) return st;
    if (index->ndim != x->ndim) return differ(o, x, index, err);
    for (int i = 0; i < x->ndim; i++)
        if (i != o->attrs->axis && x->shape[i] != index->shape[i]) return differ(o, x, index, err);
    set_shape(out, index->ndim, index->shape);
    return CBX_OK;
}

/* The updates have the shape that 'take' with these indices would give. */
RULE(scatter)
{
    cbx_array_desc wanted = { .dtype = o->d[0]->dtype };
    cbx_status st = cbx__rule_take(o, &wanted, err);

    if (st) return st;
    if (o->attrs->mode < 0 || o->attrs->mode > CBX_SCATTER_MAX)
        return cbx_fail(err, CBX_EINVAL, "'scatter': unknown mode %d", o->attrs->mode);
    if (cbx_dtype_kind(o->d[0]->dtype) == CBX_KIND_COMPLEX && o->attrs->mode >= CBX_SCATTER_MIN)
        return cbx_fail(err, CBX_EDTYPE, "'scatter': complex numbers have no order");
    if (!same_shape(&wanted, o->d[2])) return differ(o, &wanted, o->d[2], err);
    set_shape(out, o->d[0]->ndim, o->d[0]->shape);
    return CBX_OK;
}

RULE(searchsorted)
{
    if (o->d[0]->ndim != 1) return cbx_fail(err, CBX_ESHAPE, "'%s' searches one axis, not %d", o->name, o->d[0]->ndim);
    set_shape(out, o->d[1]->ndim, o->d[1]->shape);
    return CBX_OK;
}

/* One row of indices per axis. */
RULE(nonzero)
{
    if (o->d[0]->ndim == 0) return cbx_fail(err, CBX_ESHAPE, "'nonzero' needs an axis, a scalar has none");
    out->ndim = 2;
    out->shape[0] = (size_t)o->d[0]->ndim;
    out->shape[1] = o->attrs->shape[0];
    return CBX_OK;
}

RULE(reduce)
{
    const cbx_array_desc *d = o->d[0];
    unsigned gone;
    const cbx_status st = check_axes(o, &gone, err);

    if (st) return st;
    out->ndim = 0;
    for (int i = 0; i < d->ndim; i++) {
        if (!(gone & (1u << i)))
            out->shape[out->ndim++] = d->shape[i];
        else if (o->attrs->keep)
            out->shape[out->ndim++] = 1;
    }
    return CBX_OK;
}

/* The centre has the shape of the operand, of length 1 where it is reduced. */
RULE(squares)
{
    cbx_attrs kept = *o->attrs;
    operands with = *o;
    cbx_status st;

    kept.keep = true;
    with.attrs = &kept;
    st = cbx__rule_reduce(&with, out, err);
    if (st) return st;
    if (!same_shape(out, o->d[1])) return differ(o, o->d[0], o->d[1], err);
    return cbx__rule_reduce(o, out, err);
}

/* Reductions that have no answer for no elements. */
RULE(reduce_some)
{
    size_t from, to;
    cbx_status st = cbx__rule_reduce(o, out, err);

    if (!st) st = cbx_array_desc_count(o->d[0], &from, err);
    if (!st) st = cbx_array_desc_count(out, &to, err);
    if (st || from > 0 || to == 0) return st;
    return cbx_fail(err, CBX_ESHAPE, "'%s' of an empty array is undefined: %s", o->name, CBX__DESC_TEXT(o->d[0]));
}

RULE(along)
{
    set_shape(out, o->d[0]->ndim, o->d[0]->shape);
    return check_axis(o, o->attrs->axis, o->d[0]->ndim, err);
}

/* The axis has an element for each rank. */
RULE(ranked)
{
    const cbx_array_desc *d = o->d[0];
    const cbx_attrs *a = o->attrs;
    cbx_status st = cbx__rule_along(o, out, err);

    if (!st && (a->ndim < 1 || a->ndim > CBX_MAX_RANK))
        st = cbx_fail(err, CBX_EINVAL, "'ranked' takes 1 to %d ranks, not %d", CBX_MAX_RANK, a->ndim);
    for (int i = 0; !st && i < a->ndim; i++)
        if (a->shape[i] >= d->shape[a->axis] || (i > 0 && a->shape[i] < a->shape[i - 1]))
            st = cbx_fail(err, CBX_EINVAL, "rank %zu of 'ranked' is outside an axis of %zu, or below the one before",
                          a->shape[i], d->shape[a->axis]);
    if (!st) out->shape[a->axis] = (size_t)a->ndim;
    return st;
}

/* ---- linear algebra: the last two axes; what is before them must be equal ---- */

static size_t rows(const cbx_array_desc *d) { return d->shape[d->ndim - 2]; }
static size_t columns(const cbx_array_desc *d) { return d->shape[d->ndim - 1]; }
static size_t shorter(const cbx_array_desc *d) { return rows(d) < columns(d) ? rows(d) : columns(d); }

static cbx_status check_matrix(const operands *o, bool square, cbx_err *err)
{
    const cbx_array_desc *d = o->d[0];

    if (d->ndim < 2) return cbx_fail(err, CBX_ESHAPE, "'%s' needs a matrix, not %s", o->name, CBX__DESC_TEXT(d));
    if (!square || rows(d) == columns(d)) return CBX_OK;
    return cbx_fail(err, CBX_ESHAPE, "'%s' needs square matrices, not %s", o->name, CBX__DESC_TEXT(d));
}

RULE(square)
{
    set_shape(out, o->d[0]->ndim, o->d[0]->shape);
    return check_matrix(o, true, err);
}

/* (..., n, n) with (..., n, k) is (..., n, k). */
RULE(solve)
{
    const cbx_array_desc *a = o->d[0], *b = o->d[1];
    cbx_status st = check_matrix(o, true, err);

    if (st) return st;
    if (a->ndim != b->ndim || memcmp(a->shape, b->shape, (size_t)(a->ndim - 1) * sizeof *a->shape) != 0)
        return differ(o, a, b, err);
    set_shape(out, b->ndim, b->shape);
    return CBX_OK;
}

RULE(lu)
{
    const cbx_status st = cbx__rule_square(o, out, err);

    if (!st) set_shape(&out[1], out->ndim - 1, out->shape);
    return st;
}

RULE(eigh)
{
    const cbx_status st = cbx__rule_square(o, &out[1], err);

    if (!st) set_shape(out, out[1].ndim - 1, out[1].shape);
    return st;
}

RULE(eigvalsh)
{
    cbx_status st = cbx__rule_square(o, out, err);

    if (!st) out->ndim--;
    return st;
}

/* The stack of d with matrices of m by n. */
static void set_matrix(cbx_array_desc *out, const cbx_array_desc *d, size_t m, size_t n)
{
    set_shape(out, d->ndim, d->shape);
    out->shape[d->ndim - 2] = m;
    out->shape[d->ndim - 1] = n;
}

RULE(qr)
{
    const cbx_array_desc *d = o->d[0];
    const cbx_status st = check_matrix(o, false, err);

    if (!st) {
        const size_t k = o->attrs->mode ? rows(d) : shorter(d);
        set_matrix(&out[0], d, rows(d), k);
        set_matrix(&out[1], d, k, columns(d));
    }
    return st;
}

RULE(svd)
{
    const cbx_array_desc *d = o->d[0];
    const cbx_status st = check_matrix(o, false, err);

    if (!st) {
        const size_t k = shorter(d);
        set_matrix(&out[0], d, rows(d), o->attrs->mode ? rows(d) : k);
        set_shape(&out[1], d->ndim - 1, d->shape);
        out[1].shape[d->ndim - 2] = k;
        set_matrix(&out[2], d, o->attrs->mode ? columns(d) : k, columns(d));
    }
    return st;
}

RULE(svdvals)
{
    const cbx_array_desc *d = o->d[0];
    cbx_status st = check_matrix(o, false, err);

    if (st) return st;
    set_shape(out, d->ndim - 1, d->shape);
    out->shape[d->ndim - 2] = shorter(d);
    return CBX_OK;
}

/* ---- Fourier transforms along one axis ---- */

RULE(fft)
{
    cbx_status st = cbx__rule_along(o, out, err);

    if (st || out->shape[o->attrs->axis] > 0) return st;
    return cbx_fail(err, CBX_ESHAPE, "'%s' along an empty axis has no frequencies: %s", o->name,
                    CBX__DESC_TEXT(o->d[0]));
}

RULE(rfft)
{
    cbx_status st = cbx__rule_fft(o, out, err);

    if (!st) out->shape[o->attrs->axis] = out->shape[o->attrs->axis] / 2 + 1;
    return st;
}

/* The length of the result does not follow from n / 2 + 1 frequencies: it is given. */
RULE(irfft)
{
    cbx_status st = cbx__rule_along(o, out, err);
    size_t n = o->attrs->shape[0];

    if (st) return st;
    if (n == 0 || out->shape[o->attrs->axis] != n / 2 + 1)
        return cbx_fail(err, CBX_ESHAPE, "'%s' to %zu numbers takes %zu frequencies, not %zu", o->name, n, n / 2 + 1,
                        out->shape[o->attrs->axis]);
    out->shape[o->attrs->axis] = n;
    return CBX_OK;
}

/* ---- control flow: its object knows ---- */

RULE(control)
{
    if (!o->attrs->object) return cbx_fail(err, CBX_EINVAL, "'%s' needs functions", o->name);
    for (size_t i = 0; i < o->attrs->object->nout; i++) out[i] = o->attrs->object->results[i];
    return CBX_OK;
}

/* ---- the table ---- */

#define BIT(t) (1u << CBX_##t)
enum {
    INT = BIT(I8) | BIT(I16) | BIT(I32) | BIT(I64) | BIT(U8) | BIT(U16) | BIT(U32) | BIT(U64),
    FLT = BIT(F32) | BIT(F64),
    CX = BIT(C64) | BIT(C128),
    BOOL = BIT(BOOL),
    WORD = BIT(U64),
    REAL = INT | FLT,
    RB = REAL | BOOL,
    NUM = REAL | CX,
    FC = FLT | CX,
    FB = FLT | BOOL,
    IB = INT | BOOL,
    ALL = NUM | BOOL,
    NONE = 0
};

typedef struct primitive {
    cbx_prim_info info;
    shape_rule shape;
    unsigned char noperands; /* letters */
    bool is_plain;           /* element by element, of one dtype that the result has, too */
} primitive;

#define PROMOTION_NO                CBX_PROMOTE_PLAIN
#define PROMOTION_KEEP(...)         CBX_PROMOTE_PLAIN
#define PROMOTION_ROUND(...)        CBX_PROMOTE_PLAIN
#define PROMOTION_FLOAT(...)        CBX_PROMOTE_FLOAT
#define PROMOTION_BINARY(...)       CBX_PROMOTE_PLAIN
#define PROMOTION_BINARY_FLOAT(...) CBX_PROMOTE_FLOAT
#define PROMOTION_BINARY_WIDE(...)  CBX_PROMOTE_WIDE
#define PROMOTION_COMPARE(...)      CBX_PROMOTE_COMPARE

static const primitive table[CBX_PRIM_LIMIT] = {
#define ROW(name, number, word, function, operands, dtypes, results, kind, shape)                                      \
    [number] = { { word, operands, dtypes, results, CBX_CLASS_##kind, PROMOTION_##function },                          \
                 cbx__rule_##shape,                                                                                    \
                 sizeof(operands) - 1,                                                                                 \
                 CBX_CLASS_##kind == CBX_CLASS_MAP && (results)[0] == 's' && (operands)[0] == 'x' },
    CBX_PRIM_MAP(ROW)
#undef ROW
};

static const primitive *find(cbx_prim p)
{
    return (unsigned)p < CBX_PRIM_LIMIT && table[p].info.name ? &table[p] : NULL;
}

const cbx_prim_info *cbx_prim_get_info(cbx_prim p)
{
    const primitive *row = find(p);
    return row ? &row->info : NULL;
}

const char *cbx_prim_name(cbx_prim p)
{
    const primitive *row = find(p);
    return row ? row->info.name : NULL;
}

bool cbx__has_several_results(cbx_prim p)
{
    const primitive *row = find(p);
    return row && (row->info.results[0] == '*' || row->info.results[1]);
}

size_t cbx_prim_results(cbx_prim p, const cbx_attrs *attrs)
{
    const primitive *row = find(p);

    if (!row) return 0;
    if (row->info.results[0] == '*') return attrs && attrs->object ? attrs->object->nout : 0;
    return strlen(row->info.results);
}

/* The letter of operand i; the last one is that of all that follow. */
static char letter(const primitive *row, size_t i)
{
    const char *letters = row->info.operands;
    for (; i > 0 && letters[1] && letters[1] != '+' && letters[1] != '*'; i--) letters++;
    return *letters;
}

static cbx_status check_count(const primitive *row, size_t nin, cbx_err *err)
{
    const size_t n = row->noperands;
    const char last = n ? row->info.operands[n - 1] : 0;

    if (last == '*' || (last == '+' ? nin > 0 : nin == n)) return CBX_OK;
    return cbx_fail(err, CBX_EINVAL, "'%s' takes %zu operands, not %zu", row->info.name, last == '+' ? 1 : n, nin);
}

/*
 * Conditions, keys and indices have their own dtype; the dtype of the others, if any, goes to
 * *common.
 */
static cbx_status check_dtypes(const primitive *row, const operands *o, cbx_dtype *common, cbx_err *err)
{
    static const struct {
        char letter;
        cbx_dtype dtype;
        const char *word;
    } own[] = { { 'c', CBX_BOOL, "a condition" },
                { 'k', CBX_U64, "keys" },
                { 'f', CBX_F64, "a centre" },
                { 'i', CBX_I64, "indices" } };

    *common = CBX_DTYPE_COUNT;
    for (size_t i = 0; i < o->n; i++) {
        const cbx_dtype t = o->d[i]->dtype;
        const char as = letter(row, i);
        for (size_t k = 0; as != 'x' && k < CBX_LEN(own); k++)
            if (as == own[k].letter && t != own[k].dtype)
                return cbx_fail(err, CBX_EDTYPE, "'%s' takes %s of %s, not of %s", o->name, own[k].word,
                                cbx_dtype_name(own[k].dtype), cbx_dtype_name(t));
        if (as != 'x') continue;
        if (!(row->info.dtypes & (1u << t)))
            return cbx_fail(err, CBX_EDTYPE, "'%s' does not take %s", o->name, cbx_dtype_name(t));
        if (*common == CBX_DTYPE_COUNT) *common = t;
        if (t != *common)
            return cbx_fail(err, CBX_EDTYPE, "'%s' takes one dtype, not %s with %s", o->name, cbx_dtype_name(*common),
                            cbx_dtype_name(t));
    }
    return CBX_OK;
}

static cbx_status result_dtype(char how, const operands *o, cbx_dtype x, cbx_dtype *out, cbx_err *err)
{
    switch (how) {
    case 'b': *out = CBX_BOOL; return CBX_OK;
    case 'i': *out = CBX_I64; return CBX_OK;
    case 'c': *out = x == CBX_F32 ? CBX_C64 : CBX_C128; return CBX_OK;
    case 'r': *out = x == CBX_C64 ? CBX_F32 : x == CBX_C128 ? CBX_F64 : x; return CBX_OK;
    case 's': *out = x; return CBX_OK;
    default: *out = o->attrs->dtype;
    }
    if (cbx_dtype_size(*out) == 0) return cbx_fail(err, CBX_EDTYPE, "'%s': unknown dtype %d", o->name, (int)*out);
    if (how == 'w' && (*out == CBX_BOOL || cbx_dtype_kind(*out) < cbx_dtype_kind(x)))
        return cbx_fail(err, CBX_EDTYPE, "'%s' of %s cannot have a result of %s", o->name, cbx_dtype_name(x),
                        cbx_dtype_name(*out));
    return CBX_OK;
}

/*
 * The common case, without words: operands of one shape and of one dtype, which the result has,
 * too.
 */
static bool all_alike(const primitive *row, size_t nin, const cbx_array_desc *const *in)
{
    if (!row->is_plain || nin != row->noperands || !(row->info.dtypes & (1u << in[0]->dtype))) return false;
    for (size_t i = 1; i < nin; i++)
        if (in[i] != in[0] && !cbx_array_desc_equal(in[0], in[i])) return false;
    return true;
}

enum { RESULTS_MAX = 3 };

static cbx_status infer(const primitive *row, const operands *o, cbx_array_desc *out, cbx_err *err)
{
    const size_t nout = strlen(row->info.results);
    cbx_array_desc d[RESULTS_MAX];
    cbx_dtype x;
    size_t count;
    cbx_status st;

    if (row->info.results[0] == '*') return row->shape(o, out, err);
    st = check_dtypes(row, o, &x, err);
    for (size_t i = 0; !st && i < nout; i++) st = result_dtype(row->info.results[i], o, x, &d[i].dtype, err);
    if (!st) st = row->shape(o, d, err);
    for (size_t i = 0; !st && i < nout; i++) st = cbx_array_desc_count(&d[i], &count, err);
    for (size_t i = 0; !st && i < nout; i++) out[i] = d[i];
    return st;
}

cbx_status cbx_prim_infer(cbx_prim p, size_t nin, const cbx_array_desc *const *in, const cbx_attrs *attrs,
                          cbx_array_desc *out, cbx_err *err)
{
    static const cbx_attrs none = { 0 };
    const primitive *row = find(p);
    cbx_status st;

    if (!row) return cbx_fail(err, CBX_EINVAL, "no primitive has the number %d", (int)p);
    if (all_alike(row, nin, in)) {
        out->dtype = in[0]->dtype;
        set_shape(out, in[0]->ndim, in[0]->shape);
        return CBX_OK;
    }
    st = check_count(row, nin, err);
    if (st) return st;
    return infer(row, &(const operands){ row->info.name, nin, in, attrs ? attrs : &none }, out, err);
}

/* ---- attributes ---- */

/* Which bits of a scalar count depends on its dtype. */
static size_t value_words(const cbx_scalar *v, uint64_t words[2])
{
    const bool two = cbx_dtype_kind(v->dtype) == CBX_KIND_COMPLEX;

    memcpy(words, &v->v, two ? 16 : 8);
    return two ? 2 : 1;
}

bool cbx_attrs_equal(const cbx_attrs *a, const cbx_attrs *b)
{
    uint64_t va[2], vb[2];

    if (a->dtype != b->dtype || a->axis != b->axis || a->naxes != b->naxes || a->keep != b->keep ||
        a->mode != b->mode || a->ndim != b->ndim || a->object != b->object || a->value.dtype != b->value.dtype)
        return false;
    value_words(&b->value, vb);
    if (memcmp(va, vb, value_words(&a->value, va) * sizeof *va) != 0) return false;
    for (int i = 0; i < CBX_MAX_RANK; i++)
        if (a->axes[i] != b->axes[i] || a->shape[i] != b->shape[i] || a->start[i] != b->start[i] ||
            a->step[i] != b->step[i])
            return false;
    return true;
}

uint64_t cbx_attrs_hash(const cbx_attrs *a)
{
    const uint64_t few[] = { (uint64_t)a->dtype, (uint64_t)a->axis, (uint64_t)a->naxes,       (uint64_t)a->keep,
                             (uint64_t)a->mode,  (uint64_t)a->ndim, (uint64_t)a->value.dtype, (uintptr_t)a->object };
    uint64_t value[2], h = cbx_hash_words(CBX_HASH_START, CBX_LEN(few), few);
    const size_t n = value_words(&a->value, value);

    h = cbx_hash_words(h, n, value);
    for (uint64_t i = 0; i < CBX_MAX_RANK; i++) {
        const uint64_t row[] = { i, (uint64_t)a->axes[i], a->shape[i], (uint64_t)a->start[i], (uint64_t)a->step[i] };
        if (row[1] | row[2] | row[3] | row[4]) h = cbx_hash_words(h, CBX_LEN(row), row);
    }
    return h;
}
