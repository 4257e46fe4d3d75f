/*
 * What is simpler than an operation, given what made its operands.  Each rule keeps every bit of
 * every result: numbers that are not NaN, signed zeros and infinities are what they were, and a NaN
 * stays the one that it was.
 */
#include <math.h>
#include <string.h>

#include "calibrax/array/backend.h"
#include "calibrax/array/internal.h"
#include "calibrax/array/trace/simplify_internal.h"

#define NONE CBX__NO_VALUE

/* ---- numbers ---- */

bool cbx__array_number(const cbx_array *a, cbx_scalar *out)
{
    _Alignas(16) char bytes[16] = { 0 };
    const void *p = bytes;

    if (a->flags & CBX__ELSEWHERE) return false; /* it stays there */
    cbx__array_pack(a, 0, 1, bytes);
    switch (a->desc.dtype) {
    case CBX_BOOL: *out = (cbx_scalar){ CBX_BOOL, { .i = *(const bool *)p } }; return true;
    case CBX_I8: *out = (cbx_scalar){ CBX_I64, { .i = *(const int8_t *)p } }; return true;
    case CBX_I16: *out = (cbx_scalar){ CBX_I64, { .i = *(const int16_t *)p } }; return true;
    case CBX_I32: *out = (cbx_scalar){ CBX_I64, { .i = *(const int32_t *)p } }; return true;
    case CBX_I64: *out = (cbx_scalar){ CBX_I64, { .i = *(const int64_t *)p } }; return true;
    case CBX_U8: *out = (cbx_scalar){ CBX_U64, { .u = *(const uint8_t *)p } }; return true;
    case CBX_U16: *out = (cbx_scalar){ CBX_U64, { .u = *(const uint16_t *)p } }; return true;
    case CBX_U32: *out = (cbx_scalar){ CBX_U64, { .u = *(const uint32_t *)p } }; return true;
    case CBX_U64: *out = (cbx_scalar){ CBX_U64, { .u = *(const uint64_t *)p } }; return true;
    case CBX_F32: *out = (cbx_scalar){ CBX_F64, { .f = *(const float *)p } }; return !isnan(out->v.f);
    case CBX_F64: *out = (cbx_scalar){ CBX_F64, { .f = *(const double *)p } }; return !isnan(out->v.f);
    default: return false; /* complex numbers stay arrays */
    }
}

static const cbx__node *made_by(const cbx__rewrite *w, cbx__vid v, cbx_prim prim)
{
    const cbx__node *node = cbx__maker(w, v);
    return node && node->prim == prim ? node : NULL;
}

/* FULL of another shape. */
static cbx__vid full_like(cbx__rewrite *w, const cbx_scalar *value, const cbx_array_desc *d)
{
    cbx_attrs a = { .dtype = d->dtype, .ndim = d->ndim, .value = *value };

    memcpy(a.shape, d->shape, (size_t)d->ndim * sizeof *a.shape);
    return cbx__rewrite_op(w, CBX_PRIM_FULL, 0, NULL, &a, d);
}
static cbx__vid truth(cbx__rewrite *w, bool value, const cbx_array_desc *d)
{
    return full_like(w, &(cbx_scalar){ CBX_BOOL, { .i = value } }, d);
}

/* The number that v is everywhere, as its dtype holds it; of floats it may be written as an
 * integer. */
static bool number(const cbx__rewrite *w, cbx__vid v, cbx_scalar *out)
{
    enum { EXACT = 1 << 24 }; /* in every dtype of floats */
    const cbx__node *node = made_by(w, v, CBX_PRIM_FULL);
    const cbx_dtype t = cbx__desc_of(w, v)->dtype;

    if (!node) return false;
    *out = node->attrs->value;
    if (cbx_dtype_kind(t) == CBX_KIND_FLOAT && out->dtype == CBX_I64 && out->v.i >= -EXACT && out->v.i <= EXACT)
        *out = (cbx_scalar){ CBX_F64, { .f = (double)out->v.i } };
    if (cbx_dtype_kind(out->dtype) != cbx_dtype_kind(t)) return false;
    if (t == CBX_F32) out->v.f = (float)out->v.f;
    return cbx_dtype_kind(t) < CBX_KIND_COMPLEX;
}

/* True of an exact number, +0 and -0 apart. */
static bool is(const cbx__rewrite *w, cbx__vid v, double n)
{
    cbx_scalar s;

    if (!number(w, v, &s)) return false;
    if (s.dtype == CBX_F64) return s.v.f == n && !signbit(s.v.f) == !signbit(n);
    if (s.dtype == CBX_BOOL) return (s.v.i != 0) == (n != 0) && (n == 0 || n == 1);
    return s.v.i == (int64_t)n && n >= 0;
}

/*
 * Element by element of numbers alone: computed once.  What is refused, or is no number, is left to
 * be computed.
 */
static cbx__vid computed(cbx__rewrite *w, cbx_prim prim, size_t nin, const cbx__vid *in, const cbx_attrs *attrs,
                         const cbx_array_desc *result)
{
    enum { MAX_OPERANDS = 3 };
    const cbx_backend *b = cbx_backend_reference();
    const cbx_array_desc scalar = { .dtype = result->dtype };
    cbx_array *one[MAX_OPERANDS] = { NULL }, *out = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_scalar value;
    bool good = nin > 0 && nin <= MAX_OPERANDS;
    cbx_status st = CBX_OK;

    for (size_t i = 0; good && i < nin; i++) good = made_by(w, in[i], CBX_PRIM_FULL) != NULL;
    for (size_t i = 0; good && !st && i < nin; i++) {
        cbx_attrs a = *made_by(w, in[i], CBX_PRIM_FULL)->attrs;
        const cbx_array_desc d = { .dtype = a.dtype };
        a.ndim = 0;
        memset(a.shape, 0, sizeof a.shape);
        st = b->apply(b, &(cbx_call){ w->ctx, CBX_PRIM_FULL, 0, NULL, &a, 1, &d }, &one[i], &err);
    }
    if (good && !st) {
        const cbx_call call = { w->ctx, prim, nin, (const cbx_array *const *)one, attrs, 1, &scalar };
        st = b->apply(b, &call, &out, &err);
    }
    good = good && !st && cbx__array_number(out, &value);
    for (size_t i = 0; i < MAX_OPERANDS; i++) cbx_array_free(one[i]);
    if (!st) cbx_array_free(out);
    if (st == CBX_ENOMEM) {
        w->st = st;
        w->err = err;
    }
    return good ? full_like(w, &value, result) : NONE;
}

/* ---- views ---- */

static cbx__vid slice_of_slice(cbx__rewrite *w, const cbx__node *inner, const cbx_attrs *attrs,
                               const cbx_array_desc *result)
{
    cbx_attrs a = *attrs;

    for (int i = 0; i < a.ndim; i++) {
        if (a.shape[i] == 0) return NONE; /* its start may be anywhere */
        a.start[i] = inner->attrs->start[i] + attrs->start[i] * inner->attrs->step[i];
        a.step[i] = attrs->step[i] * inner->attrs->step[i];
        if (a.shape[i] == 1) a.step[i] = 1;
    }
    return cbx__rewrite_op(w, CBX_PRIM_SLICE, 1, inner->in, &a, result);
}

/* Of the one operand that it lies in: the others need not be computed. */
static cbx__vid slice_of_concat(cbx__rewrite *w, const cbx__node *inner, const cbx_attrs *attrs,
                                const cbx_array_desc *result)
{
    const int axis = inner->attrs->axis;
    const ptrdiff_t start = attrs->start[axis];
    const ptrdiff_t last = start + ((ptrdiff_t)attrs->shape[axis] - 1) * attrs->step[axis];
    cbx_attrs a = *attrs;
    ptrdiff_t first = 0, end;

    for (uint32_t i = 0; i < inner->nin && a.shape[axis] > 0; i++, first = end) {
        end = first + (ptrdiff_t)cbx__desc_of(w, inner->in[i])->shape[axis];
        a.start[axis] = start - first;
        if (start >= first && start < end && last >= first && last < end)
            return cbx__rewrite_op(w, CBX_PRIM_SLICE, 1, &inner->in[i], &a, result);
    }
    return NONE;
}

static bool changes_nothing(const cbx__rewrite *w, cbx_prim prim, cbx__vid x, const cbx_attrs *a,
                            const cbx_array_desc *result)
{
    if (!cbx_array_desc_equal(cbx__desc_of(w, x), result)) return false;
    for (int i = 0; prim == CBX_PRIM_TRANSPOSE && i < a->naxes; i++)
        if (a->axes[i] != i) return false;
    for (int i = 0; prim == CBX_PRIM_SLICE && i < a->ndim; i++)
        if (a->step[i] != 1 && a->shape[i] > 1) return false;
    return true;
}

static cbx__vid view(cbx__rewrite *w, cbx_prim prim, cbx__vid x, const cbx_attrs *attrs, const cbx_array_desc *result)
{
    const cbx__node *inner = made_by(w, x, prim), *full = made_by(w, x, CBX_PRIM_FULL);
    const cbx__node *joined = prim == CBX_PRIM_SLICE ? made_by(w, x, CBX_PRIM_CONCAT) : NULL;

    if (prim == CBX_PRIM_STOP_GRADIENT || changes_nothing(w, prim, x, attrs, result)) return x;
    if (full) return full_like(w, &full->attrs->value, result);
    if (joined) return slice_of_concat(w, joined, attrs, result);
    if (!inner) return NONE;
    if (prim == CBX_PRIM_SLICE) return slice_of_slice(w, inner, attrs, result);
    if (prim == CBX_PRIM_TRANSPOSE) {
        cbx_attrs a = *attrs;
        for (int i = 0; i < a.naxes; i++) a.axes[i] = inner->attrs->axes[attrs->axes[i]];
        return cbx__rewrite_op(w, prim, 1, inner->in, &a, result);
    }
    return cbx__rewrite_op(w, prim, 1, inner->in, attrs, result); /* RESHAPE, BROADCAST: the last shape alone counts */
}

/* ---- one operand ---- */

/* From the first dtype to the second and back nothing is lost. */
static bool is_kept(cbx_dtype from, cbx_dtype over)
{
    const cbx_kind a = cbx_dtype_kind(from), b = cbx_dtype_kind(over);

    if (a != b || a == CBX_KIND_BOOL || cbx_dtype_size(over) <= cbx_dtype_size(from)) return false;
    return a != CBX_KIND_INT || cbx_dtype_is_unsigned(from) || !cbx_dtype_is_unsigned(over);
}

static bool rounds(cbx_prim p)
{
    return p == CBX_PRIM_FLOOR || p == CBX_PRIM_CEIL || p == CBX_PRIM_RINT || p == CBX_PRIM_TRUNC;
}

static cbx__vid unary(const cbx__rewrite *w, cbx_prim prim, cbx__vid x, const cbx_array_desc *result)
{
    const cbx__node *inner = cbx__maker(w, x);
    const cbx_prim of = inner ? inner->prim : CBX_PRIM_LIMIT;

    if (prim == CBX_PRIM_CAST && cbx__desc_of(w, x)->dtype == result->dtype) return x;
    if (!inner) return NONE;
    switch (prim) {
    case CBX_PRIM_NEG:
    case CBX_PRIM_NOT:
    case CBX_PRIM_CONJ: return of == prim ? inner->in[0] : NONE;
    case CBX_PRIM_FLOOR:
    case CBX_PRIM_CEIL:
    case CBX_PRIM_RINT:
    case CBX_PRIM_TRUNC: return rounds(of) ? x : NONE;
    case CBX_PRIM_ABS:
    case CBX_PRIM_SIGN: return of == prim && cbx__desc_of(w, inner->in[0])->dtype == result->dtype ? x : NONE;
    case CBX_PRIM_REAL: return of == CBX_PRIM_COMPLEX ? inner->in[0] : NONE;
    case CBX_PRIM_IMAG: return of == CBX_PRIM_COMPLEX ? inner->in[1] : NONE;
    case CBX_PRIM_CAST:
        if (of != CBX_PRIM_CAST || cbx__desc_of(w, inner->in[0])->dtype != result->dtype) return NONE;
        return is_kept(result->dtype, cbx__desc_of(w, x)->dtype) ? inner->in[0] : NONE;
    default: return NONE;
    }
}

/* ---- two and three operands ---- */

static cbx__vid of_itself(cbx__rewrite *w, cbx_prim prim, cbx__vid x, const cbx_array_desc *result)
{
    const bool exact = cbx_dtype_kind(cbx__desc_of(w, x)->dtype) < CBX_KIND_FLOAT;

    switch (prim) {
    case CBX_PRIM_MAX:
    case CBX_PRIM_MIN:
    case CBX_PRIM_AND:
    case CBX_PRIM_OR: return x;
    case CBX_PRIM_LT:
    case CBX_PRIM_GT: return truth(w, false, result);
    case CBX_PRIM_EQ:
    case CBX_PRIM_LE:
    case CBX_PRIM_GE: return exact ? truth(w, true, result) : NONE;
    case CBX_PRIM_NE: return exact ? truth(w, false, result) : NONE;
    default: return NONE;
    }
}

/* x with the number n: NONE if that is not x itself, or n. */
static cbx__vid with_number(cbx__rewrite *w, cbx_prim prim, cbx__vid x, cbx__vid n)
{
    const cbx_kind kind = cbx_dtype_kind(cbx__desc_of(w, x)->dtype);
    const bool exact = kind < CBX_KIND_FLOAT, is_bool = kind == CBX_KIND_BOOL;

    switch (prim) {
    case CBX_PRIM_ADD: return is(w, n, exact ? 0 : -0.0) ? x : NONE;
    case CBX_PRIM_MUL: return is(w, n, 1) ? x : exact && is(w, n, 0) ? n : NONE;
    case CBX_PRIM_AND: return is_bool && is(w, n, 1) ? x : is(w, n, 0) ? n : NONE;
    case CBX_PRIM_OR: return is(w, n, 0) ? x : is_bool && is(w, n, 1) ? n : NONE;
    case CBX_PRIM_XOR: return is(w, n, 0) ? x : NONE;
    default: return NONE;
    }
}

static cbx__vid binary(cbx__rewrite *w, cbx_prim prim, const cbx__vid *in, const cbx_array_desc *result)
{
    const cbx__node *re = made_by(w, in[0], CBX_PRIM_REAL), *im = made_by(w, in[1], CBX_PRIM_IMAG);
    cbx__vid v = in[0] == in[1] ? of_itself(w, prim, in[0], result) : NONE;

    if (v == NONE) v = with_number(w, prim, in[0], in[1]);
    if (v == NONE) v = with_number(w, prim, in[1], in[0]);
    if (v != NONE) return v;
    switch (prim) {
    case CBX_PRIM_SUB:
    case CBX_PRIM_SHL:
    case CBX_PRIM_SHR: return is(w, in[1], 0) ? in[0] : NONE;
    case CBX_PRIM_DIV: return is(w, in[1], 1) ? in[0] : NONE;
    case CBX_PRIM_COMPLEX: return re && im && re->in[0] == im->in[0] ? re->in[0] : NONE;
    default: return NONE;
    }
}

static cbx__vid choice(cbx__rewrite *w, const cbx__vid *in, const cbx_attrs *attrs, const cbx_array_desc *result)
{
    const cbx__node *inverted = made_by(w, in[0], CBX_PRIM_NOT);

    if (in[1] == in[2] || is(w, in[0], 1)) return in[1];
    if (is(w, in[0], 0)) return in[2];
    if (!inverted) return NONE;
    return cbx__rewrite_op(w, CBX_PRIM_SELECT, 3, (const cbx__vid[]){ inverted->in[0], in[2], in[1] }, attrs, result);
}

/* ---- all of them ---- */

cbx__vid cbx__simpler(cbx__rewrite *w, cbx_prim prim, size_t nin, const cbx__vid *in, const cbx_attrs *attrs,
                      const cbx_array_desc *result)
{
    cbx__vid v = NONE;

    switch (cbx_prim_get_info(prim)->kind) {
    case CBX_CLASS_VIEW: return view(w, prim, in[0], attrs, result);
    case CBX_CLASS_MAP:
        if (nin == 1) v = unary(w, prim, in[0], result);
        if (nin == 2) v = binary(w, prim, in, result);
        if (prim == CBX_PRIM_SELECT) v = choice(w, in, attrs, result);
        return v != NONE || w->st ? v : computed(w, prim, nin, in, attrs, result);
    default: break;
    }
    if (prim == CBX_PRIM_COPY && made_by(w, in[0], CBX_PRIM_FULL)) return in[0];
    if (prim == CBX_PRIM_CONCAT && nin == 1) return in[0];
    if (prim == CBX_PRIM_PAD && cbx_array_desc_equal(cbx__desc_of(w, in[0]), result)) return in[0];
    return NONE;
}
