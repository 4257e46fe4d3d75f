/*
 * The table of primitives: what each takes, and by which rule its result has a shape (primitive_rules.h) and a dtype.
 */
#include "calibrax/array/primitive.h"

#include <stdio.h>
#include <string.h>

#include "calibrax/array/primitive_rules.h"
#include "calibrax/array/promote.h"

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

typedef enum result_rule { R_SAME, R_BOOL, R_ATTR, R_I64, R_PART, R_PAIR, R_SECOND } result_rule;
typedef cbx_status (*shape_rule)(const cbx__operands *o, cbx_array_desc *out, cbx_err *err);

typedef struct primitive {
    const char *name;
    int nin;
    unsigned dtypes;
    result_rule result;
    shape_rule shape;
} primitive;

static const primitive table[CBX_PRIM_LIMIT] = {
#define ROW(name, number, word, nin, operands, result, shape)                                                          \
    [number] = { word, nin, operands, R_##result, cbx__rule_##shape },
    CBX_PRIM_MAP(ROW)
#undef ROW
};

static const primitive *find(cbx_prim p) { return (unsigned)p < CBX_PRIM_LIMIT && table[p].name ? &table[p] : NULL; }

const char *cbx_prim_name(cbx_prim p)
{
    const primitive *row = find(p);
    return row ? row->name : NULL;
}

int cbx_prim_arity(cbx_prim p)
{
    const primitive *row = find(p);
    return row ? row->nin : 0;
}

/* Conditions and random keys (first operands) and indices (second of TAKE and its kin) have their own dtype. */
static cbx_status check_dtypes(cbx_prim p, const primitive *row, size_t nin, const cbx_array *const *in, cbx_err *err)
{
    bool indexed = p == CBX_PRIM_TAKE || p == CBX_PRIM_TAKE_ALONG || p == CBX_PRIM_SCATTER;
    cbx_dtype first = p == CBX_PRIM_SELECT ? CBX_BOOL : p == CBX_PRIM_RANDOM_GAMMA ? CBX_U64 : CBX_DTYPE_COUNT;
    size_t lead = first < CBX_DTYPE_COUNT;

    if (lead && cbx_array_dtype(in[0]) != first)
        return cbx_fail(err, CBX_EDTYPE, "the %s of '%s' is %s, not %s", first == CBX_BOOL ? "condition" : "key",
                        row->name, cbx_dtype_name(cbx_array_dtype(in[0])), cbx_dtype_name(first));
    for (size_t i = lead; i < nin; i++) {
        cbx_dtype t = cbx_array_dtype(in[i]);
        if (indexed && i == 1) continue;
        if (!(row->dtypes & (1u << t)))
            return cbx_fail(err, CBX_EDTYPE, "'%s' takes no %s", row->name, cbx_dtype_name(t));
        if (t != cbx_array_dtype(in[lead]))
            return cbx_fail(err, CBX_EDTYPE, "'%s' takes one dtype, not %s with %s", row->name,
                            cbx_dtype_name(cbx_array_dtype(in[lead])), cbx_dtype_name(t));
    }
    return CBX_OK;
}

static cbx_dtype result_dtype(const primitive *row, const cbx__operands *o)
{
    cbx_dtype t = o->n ? o->d[0]->dtype : o->attrs->dtype;

    switch (row->result) {
    case R_BOOL: return CBX_BOOL;
    case R_I64: return CBX_I64;
    case R_ATTR: return o->attrs->dtype;
    case R_SECOND: return o->d[1]->dtype;
    case R_PAIR: return t == CBX_F32 ? CBX_C64 : CBX_C128;
    case R_PART: return t == CBX_C64 ? CBX_F32 : t == CBX_C128 ? CBX_F64 : t;
    case R_SAME: break;
    }
    return t;
}

/* The common case, without words: operands of one shape and of one dtype, which the result has, too. */
static bool all_alike(const primitive *row, size_t nin, const cbx_array *const *in)
{
    const cbx_array_desc *first = &in[0]->desc;

    if (row->shape != cbx__rule_same || row->result != R_SAME || !(row->dtypes & (1u << first->dtype))) return false;
    for (size_t i = 1; i < nin; i++)
        if (in[i] != in[0] && !cbx_array_desc_equal(first, &in[i]->desc)) return false;
    return true;
}

static cbx_status infer(cbx_prim p, const primitive *row, size_t nin, const cbx_array *const *in,
                        const cbx_attrs *attrs, cbx_array_desc *out, cbx_err *err)
{
    static const cbx_attrs none = { 0 };
    cbx__operands o = { .name = row->name, .n = nin, .in = in, .attrs = attrs ? attrs : &none };
    cbx_array_desc d;
    size_t count;
    cbx_status st;

    for (size_t i = 0; i < nin && i < CBX_LEN(o.d); i++) o.d[i] = &in[i]->desc;
    st = check_dtypes(p, row, nin, in, err);
    if (st) return st;
    d.dtype = result_dtype(row, &o);
    if (cbx_dtype_size(d.dtype) == 0) return cbx_fail(err, CBX_EDTYPE, "'%s' has no dtype %d", row->name, (int)d.dtype);
    if (row->result == R_ATTR && nin == 1 && p != CBX_PRIM_CAST &&
        (d.dtype == CBX_BOOL || cbx_dtype_kind(d.dtype) < cbx_dtype_kind(o.d[0]->dtype)))
        return cbx_fail(err, CBX_EDTYPE, "'%s' of %s has no result of %s", row->name, cbx_dtype_name(o.d[0]->dtype),
                        cbx_dtype_name(d.dtype));
    st = row->shape(&o, &d, err);
    if (!st) st = cbx_array_desc_count(&d, &count, err);
    if (!st) *out = d;
    return st;
}

cbx_status cbx_prim_infer(cbx_prim p, size_t nin, const cbx_array *const *in, const cbx_attrs *attrs,
                          cbx_array_desc *out, cbx_err *err)
{
    const primitive *row = find(p);

    if (!row) return cbx_fail(err, CBX_EINVAL, "no primitive has the number %d", (int)p);
    if (row->nin >= 0 ? (size_t)row->nin != nin : nin == 0)
        return cbx_fail(err, CBX_EINVAL, "'%s' takes %d operands, not %zu", row->name, row->nin < 0 ? 1 : row->nin,
                        nin);
    if (nin > 0 && all_alike(row, nin, in)) {
        const cbx_array_desc *first = &in[0]->desc;
        out->dtype = first->dtype;
        cbx__rule_set_shape(out, first->ndim, first->shape);
        return CBX_OK;
    }
    return infer(p, row, nin, in, attrs, out, err);
}
