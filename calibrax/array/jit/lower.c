/*
 * One small function for each primitive that is not a single instruction, and a table of all.  Each
 * gives the very bits of the reference backend's loops (kernels/unary_isa.c, binary_isa.c),
 * functions of MATH aside.
 */
#include "calibrax/array/jit/lower.h"

#include <math.h>

#include "calibrax/array/kernels/loops.h"

typedef struct site {
    cbx__kernel *k;
    cbx_prim prim;
    cbx_dtype t, r; /* of the last operand, of the result */
    cbx__kid a, b, c;
} site;

typedef cbx__kid (*lowering)(const site *s);

#define OR(x, y)       cbx__k2(s->k, CBX__K_OR, CBX_BOOL, x, y)
#define TEST(op, x, y) cbx__k2(s->k, CBX__K_##op, CBX_BOOL, x, y)
#define PICK(c, x, y)  cbx__k3(s->k, CBX__K_SELECT, s->t, c, x, y)
#define NUMBER(v)      number(s, v)

static bool is_float(cbx_dtype t) { return cbx_dtype_kind(t) == CBX_KIND_FLOAT; }
static bool is_signed(cbx_dtype t) { return t >= CBX_I8 && t <= CBX_I64; }

static cbx__kid number(const site *s, double v)
{
    return cbx__kernel_const(s->k, s->t, (cbx_scalar){ .dtype = CBX_F64, .v.f = v });
}

static cbx__kid truth(const site *s, bool v)
{
    return cbx__kernel_const(s->k, CBX_BOOL, (cbx_scalar){ .dtype = CBX_BOOL, .v.u = v });
}

static cbx__kid lower_same(const site *s)
{
    return cbx__kernel_add(
        s->k, (cbx__kinstr){ .op = cbx__prim_kop[s->prim], .dtype = (uint8_t)s->r, .a = s->a, .b = s->b, .c = s->c });
}

static cbx__kid lower_MATH(const site *s)
{
    return cbx__kernel_add(
        s->k,
        (cbx__kinstr){ .op = CBX__K_MATH, .dtype = (uint8_t)s->r, .prim = (uint16_t)s->prim, .a = s->a, .b = s->b });
}

static cbx__kid lower_ADD(const site *s)
{
    return cbx__k2(s->k, s->t == CBX_BOOL ? CBX__K_OR : CBX__K_ADD, s->t, s->a, s->b);
}
static cbx__kid lower_MUL(const site *s)
{
    return cbx__k2(s->k, s->t == CBX_BOOL ? CBX__K_AND : CBX__K_MUL, s->t, s->a, s->b);
}

static cbx__kid lower_ABS(const site *s)
{
    if (is_float(s->t)) return cbx__k1(s->k, CBX__K_ABS, s->t, s->a);
    if (!is_signed(s->t)) return s->a;
    return PICK(TEST(LT, s->a, NUMBER(0)), cbx__k1(s->k, CBX__K_NEG, s->t, s->a), s->a);
}

static cbx__kid lower_SIGN(const site *s)
{
    const cbx__kid zero = NUMBER(0), one = NUMBER(1);

    if (!is_float(s->t) && !is_signed(s->t)) return PICK(TEST(NE, s->a, zero), one, zero);
    const cbx__kid rest = is_float(s->t) ? PICK(TEST(EQ, s->a, zero), zero, s->a) : zero;
    return PICK(TEST(GT, s->a, zero), one, PICK(TEST(LT, s->a, zero), NUMBER(-1), rest));
}

static cbx__kid lower_ISNAN(const site *s) { return is_float(s->t) ? TEST(NE, s->a, s->a) : truth(s, false); }

static cbx__kid lower_ISINF(const site *s)
{
    return is_float(s->t) ? TEST(EQ, cbx__k1(s->k, CBX__K_ABS, s->t, s->a), NUMBER(HUGE_VAL)) : truth(s, false);
}

static cbx__kid lower_ISFINITE(const site *s)
{
    return is_float(s->t) ? TEST(LT, cbx__k1(s->k, CBX__K_ABS, s->t, s->a), NUMBER(HUGE_VAL)) : truth(s, true);
}

static cbx__kid lower_SIGNBIT(const site *s)
{
    const cbx_dtype word = s->t == CBX_F32 ? CBX_I32 : CBX_I64;
    return TEST(LT, cbx__k1(s->k, CBX__K_BITS, word, s->a),
                cbx__kernel_const(s->k, word, (cbx_scalar){ .dtype = CBX_I64 }));
}

/* The first NaN wins; of two equal values the first. */
static cbx__kid extreme(const site *s, cbx__kop ordered)
{
    const cbx__kid first = cbx__k2(s->k, ordered, CBX_BOOL, s->a, s->b);
    return PICK(is_float(s->t) ? OR(first, TEST(NE, s->a, s->a)) : first, s->a, s->b);
}
static cbx__kid lower_MAX(const site *s) { return extreme(s, CBX__K_GE); }
static cbx__kid lower_MIN(const site *s) { return extreme(s, CBX__K_LE); }

/* NaN stays, of low > high the result is high; NaN bounds give NaN. */
static cbx__kid lower_CLAMP(const site *s)
{
    const cbx__kid x = s->a, low = s->b, high = s->c;
    const cbx__kid above = PICK(TEST(LT, x, low), low, x), r = PICK(TEST(GT, above, high), high, above);

    if (!is_float(s->t)) return r;
    return PICK(TEST(NE, high, high), high, PICK(TEST(NE, low, low), low, r));
}

static cbx__kid lower_FLOOR_DIV(const site *s) { return is_float(s->t) ? lower_MATH(s) : lower_same(s); }
#define lower_REM lower_FLOOR_DIV

/* As cbx__threefry (base/threefry.h). */
static cbx__kid lower_THREEFRY(const site *s)
{
    static const unsigned char turns[2][4] = { { 13, 15, 26, 6 }, { 17, 29, 16, 24 } };
    cbx__kernel *const k = s->k;
    const cbx_dtype w = CBX_U32, d = CBX_U64;
#define WORD(t, n)   cbx__kernel_const(k, t, (cbx_scalar){ .dtype = CBX_U64, .v.u = (n) })
#define UPPER(x)     cbx__k1(k, CBX__K_CAST, w, cbx__k2(k, CBX__K_SHR, d, x, WORD(d, 32)))
#define LOWER(x)     cbx__k1(k, CBX__K_CAST, w, x)
#define DO(op, x, y) cbx__k2(k, CBX__K_##op, w, x, y)
    const cbx__kid k0 = UPPER(s->a), k1 = LOWER(s->a), k2 = DO(XOR, DO(XOR, k0, k1), WORD(w, 0x1BD11BDAu));
    const cbx__kid keys[3] = { k0, k1, k2 };
    cbx__kid x0 = DO(ADD, UPPER(s->b), k0), x1 = DO(ADD, LOWER(s->b), k1);

    for (unsigned group = 0; group < 5; group++) {
        for (unsigned i = 0; i < 4; i++) {
            const unsigned n = turns[group % 2][i];
            x0 = DO(ADD, x0, x1);
            x1 = DO(XOR, DO(OR, DO(SHL, x1, WORD(w, n)), DO(SHR, x1, WORD(w, 32 - n))), x0);
        }
        x0 = DO(ADD, x0, keys[(group + 1) % 3]);
        x1 = DO(ADD, DO(ADD, x1, keys[(group + 2) % 3]), WORD(w, group + 1));
    }
    const cbx__kid high = cbx__k2(k, CBX__K_SHL, d, cbx__k1(k, CBX__K_CAST, d, x0), WORD(d, 32));
    return cbx__k2(k, CBX__K_OR, d, high, cbx__k1(k, CBX__K_CAST, d, x1));
#undef WORD
#undef UPPER
#undef LOWER
#undef DO
}

/* clang-format off */
#define OWN(X) \
    X(ABS) X(SIGN) X(ISNAN) X(ISINF) X(ISFINITE) X(SIGNBIT) X(ADD) X(MUL) X(FLOOR_DIV) X(REM) X(MAX) X(MIN) X(CLAMP) \
    X(THREEFRY)
#define FUNCTIONS(X) \
    X(CBRT) X(EXP) X(EXP2) X(EXPM1) X(LOG) X(LOG2) X(LOG10) X(LOG1P) X(SIN) X(COS) X(TAN) X(ASIN) X(ACOS) X(ATAN) \
    X(SINH) X(COSH) X(TANH) X(ASINH) X(ACOSH) X(ATANH) X(ERF) X(ERFC) X(LGAMMA) X(POW) X(ATAN2) X(HYPOT) X(NEXTAFTER) \
    X(LOGADDEXP)
/* clang-format on */

static lowering lowering_of(cbx_prim p)
{
    static const lowering own[CBX_PRIM_LIMIT] = {
#define ROW(name)  [CBX_PRIM_##name] = lower_##name,
#define MATH(name) [CBX_PRIM_##name] = lower_MATH,
        OWN(ROW) FUNCTIONS(MATH)
#undef ROW
#undef MATH
    };
    return own[p] ? own[p] : cbx__prim_kop[p] ? lower_same : NULL;
}

bool cbx__can_lower(const cbx_op *op)
{
    bool known = lowering_of(op->prim) && cbx__kernel_has(op->results->dtype);

    for (size_t i = 0; known && i < op->nin; i++) known = cbx__kernel_has(op->in[i]->dtype);
    if (op->prim == CBX_PRIM_POW && !is_float(op->results->dtype)) return false; /* negative powers are refused */
    return known;
}

cbx__kid cbx__lower(cbx__kernel *k, const cbx_op *op, const cbx__kid *in)
{
    const site s = { k,
                     op->prim,
                     op->in[op->nin - 1]->dtype,
                     op->results->dtype,
                     in[0],
                     op->nin > 1 ? in[1] : 0,
                     op->nin > 2 ? in[2] : 0 };
    return lowering_of(op->prim)(&s);
}
