/*
 * Instructions of a kernel as LLVM has them, for one lane or many.
 *
 * Nothing here may depend on the number of lanes, and no instruction has a fast-math flag: LLVM
 * keeps the bits of each operation then.
 */
#include <math.h>
#include <string.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/jit/llvm_emit.h"

static bool is_float(cbx_dtype t) { return t == CBX_F32 || t == CBX_F64; }
static bool is_signed(cbx_dtype t) { return t >= CBX_I8 && t <= CBX_I64; }

LLVMTypeRef cbx__llvm_memory_type(const llvm_emission *e, cbx_dtype t) { return t == CBX_BOOL ? e->i8 : e->types[t]; }

LLVMValueRef cbx__llvm_number(const llvm_emission *e, cbx_dtype t, uint64_t bits)
{
    const cbx_dtype as = t == CBX_F64 ? CBX_I64 : t == CBX_F32 ? CBX_I32 : t;
    LLVMValueRef v = e->c->ConstInt(e->types[as], bits, 0);

    return as == t ? v : e->c->ConstBitCast(v, e->types[t]);
}

LLVMValueRef cbx__llvm_constant(const llvm_emission *e, LLVMValueRef scalar, unsigned lanes)
{
    LLVMValueRef copies[LLVM_MAX_LANES];

    if (lanes == 1) return scalar;
    for (unsigned i = 0; i < lanes; i++) copies[i] = scalar;
    return e->c->ConstVector(copies, lanes);
}

LLVMValueRef cbx__llvm_iota(const llvm_emission *e, LLVMTypeRef element, unsigned lanes)
{
    LLVMValueRef numbers[LLVM_MAX_LANES];

    for (unsigned i = 0; i < lanes; i++) numbers[i] = e->c->ConstInt(element, i, 0);
    return lanes == 1 ? numbers[0] : e->c->ConstVector(numbers, lanes);
}

LLVMValueRef cbx__llvm_splat(const llvm_emission *e, LLVMValueRef scalar, unsigned lanes)
{
    LLVMTypeRef type = NULL;

    if (lanes == 1) return scalar;
    type = e->c->VectorType(e->c->TypeOf(scalar), lanes);
    LLVMValueRef one = llvm_with_lane(e, e->c->GetPoison(type), scalar, 0);
    return e->c->BuildShuffleVector(e->builder, one, e->c->GetPoison(type),
                                    e->c->ConstNull(e->c->VectorType(e->i32, lanes)), "");
}

LLVMValueRef cbx__llvm_intrinsic(const llvm_emission *e, const char *name, size_t ntypes, LLVMTypeRef *types, size_t n,
                                 LLVMValueRef *args)
{
    const unsigned id = e->c->LookupIntrinsicID(name, strlen(name));
    LLVMValueRef f = e->c->GetIntrinsicDeclaration(e->module, id, types, ntypes);

    return e->c->BuildCall2(e->builder, e->c->GlobalGetValueType(f), f, args, (unsigned)n, "");
}

LLVMValueRef cbx__llvm_from_memory(const llvm_emission *e, cbx_dtype t, LLVMValueRef v, unsigned lanes)
{
    if (t != CBX_BOOL) return v;
    return llvm_compare(e, LLVM_INT_NE, v, e->c->ConstNull(llvm_vector(e, e->i8, lanes)));
}

LLVMValueRef cbx__llvm_to_memory(const llvm_emission *e, cbx_dtype t, LLVMValueRef v, unsigned lanes)
{
    return t == CBX_BOOL ? llvm_cast(e, LLVM_ZEXT, v, llvm_vector(e, e->i8, lanes)) : v;
}

/* Of integers and bools, and of floats; 0: it has none. */
static const struct {
    uint8_t of_int, of_float;
} binary[CBX__KOP_COUNT] = {
    [CBX__K_ADD] = { LLVM_ADD, LLVM_FADD }, [CBX__K_SUB] = { LLVM_SUB, LLVM_FSUB },
    [CBX__K_MUL] = { LLVM_MUL, LLVM_FMUL }, [CBX__K_DIV] = { 0, LLVM_FDIV },
    [CBX__K_AND] = { LLVM_AND, 0 },         [CBX__K_OR] = { LLVM_OR, 0 },
    [CBX__K_XOR] = { LLVM_XOR, 0 },
};

/* Of signed and unsigned integers (a bool is one of 1 bit), and floats. */
static const struct {
    uint8_t of_signed, of_unsigned, of_float;
} comparisons[CBX__KOP_COUNT] = {
    [CBX__K_EQ] = { LLVM_INT_EQ, LLVM_INT_EQ, LLVM_REAL_OEQ },
    [CBX__K_NE] = { LLVM_INT_NE, LLVM_INT_NE, LLVM_REAL_UNE },
    [CBX__K_LT] = { LLVM_INT_SLT, LLVM_INT_ULT, LLVM_REAL_OLT },
    [CBX__K_LE] = { LLVM_INT_SLE, LLVM_INT_ULE, LLVM_REAL_OLE },
    [CBX__K_GT] = { LLVM_INT_SGT, LLVM_INT_UGT, LLVM_REAL_OGT },
    [CBX__K_GE] = { LLVM_INT_SGE, LLVM_INT_UGE, LLVM_REAL_OGE },
};

static const char *const intrinsics[CBX__KOP_COUNT] = {
    [CBX__K_FMA] = "llvm.fma",     [CBX__K_ABS] = "llvm.fabs",          [CBX__K_SQRT] = "llvm.sqrt",
    [CBX__K_FLOOR] = "llvm.floor", [CBX__K_CEIL] = "llvm.ceil",         [CBX__K_RINT] = "llvm.rint",
    [CBX__K_TRUNC] = "llvm.trunc", [CBX__K_COPYSIGN] = "llvm.copysign",
};

/* By the width or more: 0, or of a negative number to the right -1. */
static LLVMValueRef shift(const llvm_emission *e, unsigned lanes, const cbx__kinstr *x, LLVMValueRef a, LLVMValueRef b)
{
    const cbx__llvm_calls *c = e->c;
    const cbx_dtype t = (cbx_dtype)x->dtype;
    const unsigned bits = 8 * (unsigned)cbx__dtype_size(t);
    LLVMTypeRef type = llvm_vector(e, e->types[t], lanes);
    LLVMValueRef width = cbx__llvm_constant(e, c->ConstInt(e->types[t], bits, 0), lanes);
    LLVMValueRef last = cbx__llvm_constant(e, c->ConstInt(e->types[t], bits - 1, 0), lanes);
    LLVMValueRef fits = llvm_compare(e, LLVM_INT_ULT, b, width);
    LLVMValueRef by = llvm_select(e, fits, b, last);

    if (x->op == CBX__K_SHR && is_signed(t)) return llvm_op(e, LLVM_ASHR, a, by);
    return llvm_select(e, fits, llvm_op(e, x->op == CBX__K_SHR ? LLVM_LSHR : LLVM_SHL, a, by), c->ConstNull(type));
}

/* A number that a float type holds, in all lanes. */
static LLVMValueRef float_constant(const llvm_emission *e, unsigned lanes, cbx_dtype t, double v)
{
    const float single = (float)v;
    uint64_t bits = 0;

    if (t == CBX_F64)
        memcpy(&bits, &v, sizeof v);
    else
        memcpy(&bits, &single, sizeof single);
    return cbx__llvm_constant(e, cbx__llvm_number(e, t, bits), lanes);
}

/*
 * A float as an integer: towards 0, clamped, NaN is 0.  LLVM's own llvm.fptosi.sat goes lane by
 * lane.  Where the largest integer is a float, clamping comes first, and the conversion is to 32
 * bits if they suffice (NaN is tested even if it cannot pass: ARM clamps by maxNum, of which a
 * signalling NaN is NaN); else out of range lanes, whose conversion is unspecified, are replaced
 * afterwards.
 */
static LLVMValueRef truncated(const llvm_emission *e, unsigned lanes, cbx_dtype from, cbx_dtype to, LLVMValueRef x)
{
    const cbx__llvm_calls *c = e->c;
    const int bits = 8 * (int)cbx__dtype_size(to), mantissa = from == CBX_F64 ? 53 : 24;
    const bool sign = is_signed(to), small = bits < 32;
    LLVMTypeRef type = llvm_vector(e, e->types[to], lanes), middle = small ? llvm_vector(e, e->i32, lanes) : type;
    const double low = sign ? -ldexp(1, bits - 1) : 0, high = ldexp(1, sign ? bits - 1 : bits);
    const int convert = sign || small ? LLVM_FPTOSI : LLVM_FPTOUI;
    LLVMValueRef min = float_constant(e, lanes, from, low), r;
    LLVMValueRef above = llvm_compare_floats(e, LLVM_REAL_OGT, x, min);

    if (bits < mantissa) {
        LLVMValueRef max = float_constant(e, lanes, from, high - 1), y = llvm_select(e, above, x, min);
        y = llvm_select(e, llvm_compare_floats(e, LLVM_REAL_OLT, y, max), y, max);
        r = llvm_cast(e, convert, y, middle);
        if (small) r = llvm_cast(e, LLVM_TRUNC, r, type);
    } else {
        const uint64_t ones = UINT64_MAX >> (64 - bits);
        LLVMValueRef below = llvm_compare_floats(e, LLVM_REAL_OLT, x, float_constant(e, lanes, from, high));
        LLVMValueRef largest = cbx__llvm_constant(e, c->ConstInt(e->types[to], sign ? ones >> 1 : ones, 0), lanes);
        LLVMValueRef smallest = cbx__llvm_constant(e, c->ConstInt(e->types[to], sign ? ones - (ones >> 1) : 0, 0),
                                                   lanes);
        r = llvm_select(e, below, llvm_cast(e, convert, x, type), largest);
        r = llvm_select(e, above, r, smallest);
    }
    if (!sign && bits >= mantissa) return r; /* of NaN, which is not above 0, it is 0 */
    return llvm_select(e, llvm_compare_floats(e, LLVM_REAL_OEQ, x, x), r, c->ConstNull(type));
}

static LLVMValueRef cast(const llvm_emission *e, unsigned lanes, cbx_dtype from, cbx_dtype to, LLVMValueRef a)
{
    const cbx__llvm_calls *c = e->c;
    LLVMTypeRef source = llvm_vector(e, e->types[from], lanes), type = llvm_vector(e, e->types[to], lanes);
    const size_t from_size = cbx__dtype_size(from), to_size = cbx__dtype_size(to);

    if (from == to) return a;
    if (to == CBX_BOOL)
        return is_float(from) ? llvm_compare_floats(e, LLVM_REAL_UNE, a, c->ConstNull(source))
                              : llvm_compare(e, LLVM_INT_NE, a, c->ConstNull(source));
    if (from == CBX_BOOL && is_float(to)) return llvm_select(e, a, float_constant(e, lanes, to, 1), c->ConstNull(type));
    if (is_float(from) && is_float(to)) return llvm_cast(e, to_size > from_size ? LLVM_FPEXT : LLVM_FPTRUNC, a, type);
    if (is_float(to)) return llvm_cast(e, is_signed(from) ? LLVM_SITOFP : LLVM_UITOFP, a, type);
    if (is_float(from)) return truncated(e, lanes, from, to, a);
    if (from_size == to_size && from != CBX_BOOL) return a;
    return llvm_cast(e,
                     from != CBX_BOOL && to_size < from_size ? LLVM_TRUNC
                     : is_signed(from)                       ? LLVM_SEXT
                                                             : LLVM_ZEXT,
                     a, type);
}

/*
 * floor(a / b) in floats is the exact floor: a quotient that is no integer is at least 1/|b| away
 * from the next one, and rounding moves it by less if |a| < 2^mantissa.  float32 holds 16 bits,
 * float64 all but 64-bit integers, for which *inside is true of lanes that are small enough.
 */
LLVMValueRef cbx__llvm_quotient(const llvm_emission *e, unsigned lanes, const cbx__kinstr *x, LLVMValueRef a,
                                LLVMValueRef b, LLVMValueRef *inside)
{
    const cbx__llvm_calls *c = e->c;
    const cbx_dtype t = (cbx_dtype)x->dtype, as = cbx__dtype_size(t) < 4 ? CBX_F32 : CBX_F64;
    const bool sign = is_signed(t), small = cbx__dtype_size(t) < 4;
    LLVMTypeRef type = llvm_vector(e, e->types[t], lanes), middle = small ? llvm_vector(e, e->i32, lanes) : type;
    LLVMTypeRef floats = llvm_vector(e, e->types[as], lanes);
    const int widen = sign ? LLVM_SEXT : LLVM_ZEXT, convert = sign || small ? LLVM_SITOFP : LLVM_UITOFP;
    LLVMValueRef zero = c->ConstNull(type), by_zero = llvm_compare(e, LLVM_INT_EQ, b, zero);
    LLVMValueRef n = small ? llvm_cast(e, widen, a, middle) : a;
    LLVMValueRef d = small ? llvm_cast(e, widen, b, middle) : b, q;

    *inside = NULL;
    if (cbx__dtype_size(t) == 8) {
        LLVMValueRef bias = cbx__llvm_constant(e, llvm_int(e, sign ? INT64_C(1) << 53 : 0), lanes);
        LLVMValueRef limit = cbx__llvm_constant(e, llvm_int(e, INT64_C(1) << (sign ? 54 : 53)), lanes);
        LLVMValueRef n_fits = llvm_compare(e, LLVM_INT_ULT, llvm_op(e, LLVM_ADD, n, bias), limit);
        LLVMValueRef d_fits = llvm_compare(e, LLVM_INT_ULT, llvm_op(e, LLVM_ADD, d, bias), limit);
        *inside = llvm_op(e, LLVM_AND, n_fits, d_fits);
    }
    q = llvm_op(e, LLVM_FDIV, llvm_cast(e, convert, n, floats), llvm_cast(e, convert, d, floats));
    q = cbx__llvm_intrinsic(e, "llvm.floor", 1, &floats, 1, &q);
    q = llvm_cast(e, sign || small ? LLVM_FPTOSI : LLVM_FPTOUI, q, middle);
    if (small) q = llvm_cast(e, LLVM_TRUNC, q, type);
    if (t == CBX_I32) { /* the smallest by -1 is no int32 */
        LLVMValueRef minus_one = cbx__llvm_constant(e, llvm_word(e, UINT32_MAX), lanes);
        LLVMValueRef negates = llvm_compare(e, LLVM_INT_EQ, b, minus_one);
        q = llvm_select(e, negates, llvm_op(e, LLVM_SUB, zero, a), q);
    }
    if (x->op == CBX__K_REM) q = llvm_op(e, LLVM_SUB, a, llvm_op(e, LLVM_MUL, q, b));
    return llvm_select(e, by_zero, zero, q);
}

LLVMValueRef cbx__llvm_exact_quotient(const llvm_emission *e, const cbx__kinstr *x, LLVMValueRef a, LLVMValueRef b)
{
    const cbx__llvm_calls *c = e->c;
    const bool sign = is_signed((cbx_dtype)x->dtype);
    LLVMTypeRef type = e->types[x->dtype];
    LLVMValueRef zero = c->ConstNull(type), one = c->ConstInt(type, 1, 0), minus_one = c->ConstInt(type, UINT64_MAX, 1);
    LLVMValueRef by_zero = llvm_compare(e, LLVM_INT_EQ, b, zero);
    LLVMValueRef negates = sign ? llvm_compare(e, LLVM_INT_EQ, b, minus_one) : by_zero;
    LLVMValueRef d = llvm_select(e, llvm_op(e, LLVM_OR, by_zero, negates), one, b);
    LLVMValueRef q = llvm_op(e, sign ? LLVM_SDIV : LLVM_UDIV, a, d);

    if (sign) { /* towards 0 so far */
        LLVMValueRef left = llvm_op(e, LLVM_SUB, a, llvm_op(e, LLVM_MUL, q, d));
        LLVMValueRef differ = llvm_compare(e, LLVM_INT_SLT, llvm_op(e, LLVM_XOR, left, d), zero);
        LLVMValueRef some = llvm_compare(e, LLVM_INT_NE, left, zero);
        q = llvm_select(e, llvm_op(e, LLVM_AND, differ, some), llvm_op(e, LLVM_SUB, q, one), q);
        q = llvm_select(e, negates, llvm_op(e, LLVM_SUB, zero, a), q);
    }
    if (x->op == CBX__K_REM) q = llvm_op(e, LLVM_SUB, a, llvm_op(e, LLVM_MUL, q, b));
    return llvm_select(e, by_zero, zero, q);
}

LLVMValueRef cbx__llvm_instruction(const llvm_emission *e, unsigned lanes, const cbx__kinstr *x, cbx_dtype from,
                                   LLVMValueRef *in)
{
    const cbx_dtype t = (cbx_dtype)x->dtype;
    LLVMTypeRef type = llvm_vector(e, e->types[t], lanes);
    LLVMValueRef a = in[0], b = in[1];

    if (intrinsics[x->op])
        return cbx__llvm_intrinsic(e, intrinsics[x->op], 1, &type, (size_t)cbx__kernel_operands(x), in);
    if (binary[x->op].of_int || binary[x->op].of_float) {
        const int op = is_float(t) ? binary[x->op].of_float : binary[x->op].of_int;
        return llvm_op(e, op, a, b);
    }
    if (comparisons[x->op].of_signed) {
        if (is_float(from)) return llvm_compare_floats(e, comparisons[x->op].of_float, a, b);
        return llvm_compare(e, is_signed(from) ? comparisons[x->op].of_signed : comparisons[x->op].of_unsigned, a, b);
    }
    switch (x->op) {
    case CBX__K_CONST: return cbx__llvm_constant(e, cbx__llvm_number(e, t, x->bits), lanes);
    case CBX__K_NEG:
        return is_float(t) ? e->c->BuildFNeg(e->builder, a, "") : llvm_op(e, LLVM_SUB, e->c->ConstNull(type), a);
    case CBX__K_NOT: return llvm_not(e, a);
    case CBX__K_SHL:
    case CBX__K_SHR: return shift(e, lanes, x, a, b);
    case CBX__K_SELECT: return llvm_select(e, a, b, in[2]);
    case CBX__K_CAST: return cast(e, lanes, from, t, a);
    default: /* BITS */ return llvm_cast(e, LLVM_BITCAST, a, type);
    }
}
