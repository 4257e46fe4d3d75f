/* Instructions as expressions of C, with the functions that they need before them. */
#include "calibrax/array/jit/ctext_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "calibrax/array/internal.h"

const char *const cbx__ctext_types[CBX_DTYPE_COUNT] = { "bool",     "int8_t",  "int16_t",  "int32_t",
                                                        "int64_t",  "uint8_t", "uint16_t", "uint32_t",
                                                        "uint64_t", "float",   "double" };
const char *const cbx__ctext_tags[CBX_DTYPE_COUNT] = { "bool", "i8",  "i16", "i32", "i64", "u8",
                                                       "u16",  "u32", "u64", "f32", "f64" };

/* ---- what text needs before it ---- */

#define HELPER_MAP(X)                                                                                                  \
    X(BITS_F32, "CBX_INLINE uint32_t bits_f32(float x)\n"                                                              \
                "{\n    uint32_t u;\n    memcpy(&u, &x, sizeof u);\n    return u;\n}\n")                               \
    X(BITS_F64, "CBX_INLINE uint64_t bits_f64(double x)\n"                                                             \
                "{\n    uint64_t u;\n    memcpy(&u, &x, sizeof u);\n    return u;\n}\n")                               \
    X(FROM_F32, "CBX_INLINE float float_f32(uint32_t u)\n"                                                             \
                "{\n    float x;\n    memcpy(&x, &u, sizeof x);\n    return x;\n}\n")                                  \
    X(FROM_F64, "CBX_INLINE double float_f64(uint64_t u)\n"                                                            \
                "{\n    double x;\n    memcpy(&x, &u, sizeof x);\n    return x;\n}\n")                                 \
    X(FLOOR_DIV_I64, "CBX_INLINE int64_t floor_div_i64(int64_t x, int64_t y)\n"                                        \
                     "{\n    if (y == 0) return 0;\n    if (y == -1) return (int64_t)(0 - (uint64_t)x);\n"             \
                     "    return x / y - (x % y != 0 && (x < 0) != (y < 0));\n}\n")                                    \
    X(REM_I64, "CBX_INLINE int64_t rem_i64(int64_t x, int64_t y)\n"                                                    \
               "{\n    if (y == 0 || y == -1) return 0;\n"                                                             \
               "    const int64_t m = x % y;\n    return m != 0 && (m < 0) != (y < 0) ? m + y : m;\n}\n")              \
    X(POW_U64, "CBX_INLINE uint64_t pow_u64(uint64_t x, uint64_t n)\n"                                                 \
               "{\n    uint64_t r = 1;\n    for (; n > 0; n >>= 1, x *= x)\n        if (n & 1) r *= x;\n"              \
               "    return r;\n}\n")                                                                                   \
    X(REM_F32, "static float exact_remainder_f32(float x, float y)\n"                                                  \
               "{\n    const float m = fmodf(x, y), moved = (y < 0) != (m < 0) ? m + y : m;\n"                         \
               "    return y == 0 ? m : m == 0 ? copysignf(0, y) : moved;\n}\n")                                       \
    X(REM_F64, "static double exact_remainder_f64(double x, double y)\n"                                               \
               "{\n    const double m = fmod(x, y), moved = (y < 0) != (m < 0) ? m + y : m;\n"                         \
               "    return y == 0 ? m : m == 0 ? copysign(0, y) : moved;\n}\n")                                        \
    X(FLOOR_DIV_F32, "static float exact_floor_divide_f32(float x, float y)\n"                                         \
                     "{\n    const float m = fmodf(x, y), q = (x - m) / y;\n"                                          \
                     "    const float d = m != 0 && (y < 0) != (m < 0) ? q - 1.0f : q, down = floorf(d);\n"            \
                     "    const float nearest = d - down > 0.5f ? down + 1.0f : down;\n"                               \
                     "    return y == 0 ? x / y : d == 0 ? copysignf(0, x / y) : nearest;\n}\n")                       \
    X(FLOOR_DIV_F64, "static double exact_floor_divide_f64(double x, double y)\n"                                      \
                     "{\n    const double m = fmod(x, y), q = (x - m) / y;\n"                                          \
                     "    const double d = m != 0 && (y < 0) != (m < 0) ? q - 1.0 : q, down = floor(d);\n"             \
                     "    const double nearest = d - down > 0.5 ? down + 1.0 : down;\n"                                \
                     "    return y == 0 ? x / y : d == 0 ? copysign(0, x / y) : nearest;\n}\n")                        \
    X(LOGADDEXP, "static double exact_logaddexp(double x, double y)\n"                                                 \
                 "{\n    const double d = x - y;\n"                                                                    \
                 "    if (x == y) return x + 0.693147180559945309417232121458176568;\n"                                \
                 "    if (d > 0) return x + libm_log1p_f64(libm_exp_f64(-d));\n"                                       \
                 "    return d <= 0 ? y + libm_log1p_f64(libm_exp_f64(d)) : d;\n}\n")                                  \
    X(THREEFRY, "/* Threefry-2x32-20: Salmon and others, SC 2011 */\n"                                                 \
                "CBX_INLINE uint64_t threefry(uint64_t key, uint64_t counter)\n"                                       \
                "{\n    static const int turns[2][4] = { { 13, 15, 26, 6 }, { 17, 29, 16, 24 } };\n"                   \
                "    const uint32_t k0 = (uint32_t)(key >> 32), k1 = (uint32_t)key;\n"                                 \
                "    const uint32_t keys[3] = { k0, k1, k0 ^ k1 ^ 0x1BD11BDAu };\n"                                    \
                "    uint32_t x = (uint32_t)(counter >> 32) + k0, y = (uint32_t)counter + k1;\n"                       \
                "    for (int r = 0; r < 20; r++) {\n        const int n = turns[r / 4 % 2][r % 4];\n"                 \
                "        x += y, y = (y << n | y >> (32 - n)) ^ x;\n"                                                  \
                "        if (r % 4 == 3) x += keys[(r / 4 + 1) % 3], y += keys[(r / 4 + 2) % 3] + (uint32_t)(r / 4 + " \
                "1);\n"                                                                                                \
                "    }\n    return (uint64_t)x << 32 | y;\n}\n")

enum {
#define HELPER(name, text) HELPER_##name,
    HELPER_MAP(HELPER) HELPER_COUNT
#undef HELPER
};
static_assert((int)HELPER_COUNT == (int)CBX__CTEXT_HELPERS, "each has a place in cbx__writer");

typedef cbx__writer writer;

/* The C library's function of a primitive; those of float32 have an f behind. */
/* clang-format off */
#define LIBM_MAP(X) \
    X(CBRT, "cbrt") X(EXP, "exp") X(EXP2, "exp2") X(EXPM1, "expm1") X(LOG, "log") X(LOG2, "log2") X(LOG10, "log10") \
    X(LOG1P, "log1p") X(SIN, "sin") X(COS, "cos") X(TAN, "tan") X(ASIN, "asin") X(ACOS, "acos") X(ATAN, "atan") \
    X(SINH, "sinh") X(COSH, "cosh") X(TANH, "tanh") X(ASINH, "asinh") X(ACOSH, "acosh") X(ATANH, "atanh") \
    X(ERF, "erf") X(ERFC, "erfc") X(LGAMMA, "lgamma") X(POW, "pow") X(ATAN2, "atan2") X(HYPOT, "hypot") \
    X(NEXTAFTER, "nextafter")
/* clang-format on */
static const char *const libm[CBX_PRIM_LIMIT] = {
#define LIBM(name, function) [CBX_PRIM_##name] = function,
    LIBM_MAP(LIBM)
#undef LIBM
};

static bool is_float(cbx_dtype t) { return t == CBX_F32 || t == CBX_F64; }
static const char *f_of(cbx_dtype t) { return t == CBX_F32 ? "f" : ""; }
/* The unsigned type in which integers are computed. */
static const char *wide_of(cbx_dtype t) { return cbx__dtype_size(t) == 8 ? "uint64_t" : "uint32_t"; }

/* ---- expressions ---- */

static double number(cbx_dtype t, uint64_t bits)
{
    double d;
    float f;

    memcpy(&d, &bits, sizeof d);
    memcpy(&f, &bits, sizeof f);
    return t == CBX_F64 ? d : (double)f;
}

static void put_constant(writer *w, cbx_dtype t, uint64_t bits)
{
    if (is_float(t)) {
        const double d = number(t, bits);
        if (!isfinite(d))
            cbx_text_printf(w->out, "float_%s(0x%" PRIx64 ")", cbx__ctext_tags[t], bits);
        else if (fabs(d) < 1e6 && d == trunc(d * 16) / 16)
            cbx_text_printf(w->out, signbit(d) ? "(%.17g%s%s)" : "%.17g%s%s", d, d == trunc(d) ? ".0" : "", f_of(t));
        else
            cbx_text_printf(w->out, signbit(d) ? "(%a%s)" : "%a%s", d, f_of(t));
        return;
    }
    switch (t) {
    case CBX_BOOL: cbx_text_puts(w->out, bits & 1 ? "true" : "false"); break;
    case CBX_I8: cbx_text_printf(w->out, "(%d)", (int8_t)bits); break;
    case CBX_I16: cbx_text_printf(w->out, "(%d)", (int16_t)bits); break;
    case CBX_I32: cbx_text_printf(w->out, "((int32_t)%" PRId64 ")", (int64_t)(int32_t)bits); break;
    case CBX_I64: cbx_text_printf(w->out, "((int64_t)UINT64_C(0x%" PRIx64 "))", bits); break;
    case CBX_U64: cbx_text_printf(w->out, "UINT64_C(0x%" PRIx64 ")", bits); break;
    default: cbx_text_printf(w->out, "0x%" PRIx64 "u", bits);
    }
}

void cbx__ctext_put_operand(writer *w, cbx__kid v)
{
    if (w->instr[v].op == CBX__K_CONST)
        put_constant(w, (cbx_dtype)w->instr[v].dtype, w->instr[v].bits);
    else
        cbx_text_printf(w->out, "v%u", v);
}

/* Text with operands in the places of $a, $b and $c, the type of the result of $t, its unsigned
 * one of $u, f or nothing of $f. */
static void put(writer *w, const cbx__kinstr *x, const char *form)
{
    const cbx_dtype t = (cbx_dtype)x->dtype;

    for (const char *c = form; *c; c++) {
        if (*c != '$') {
            cbx_text_putc(w->out, *c);
            continue;
        }
        switch (*++c) {
        case 'a': cbx__ctext_put_operand(w, x->a); break;
        case 'b': cbx__ctext_put_operand(w, x->b); break;
        case 'c': cbx__ctext_put_operand(w, x->c); break;
        case 't': cbx_text_puts(w->out, cbx__ctext_types[t]); break;
        case 'u': cbx_text_puts(w->out, wide_of(t)); break;
        default: cbx_text_puts(w->out, f_of(t)); /* $f */
        }
    }
}

static const char *const float_forms[CBX__KOP_COUNT] = {
    [CBX__K_ADD] = "$a + $b",
    [CBX__K_SUB] = "$a - $b",
    [CBX__K_MUL] = "$a * $b",
    [CBX__K_DIV] = "$a / $b",
    [CBX__K_FMA] = "fma$f($a, $b, $c)",
    [CBX__K_NEG] = "-$a",
    [CBX__K_ABS] = "fabs$f($a)",
    [CBX__K_SQRT] = "sqrt$f($a)",
    [CBX__K_FLOOR] = "floor$f($a)",
    [CBX__K_CEIL] = "ceil$f($a)",
    [CBX__K_RINT] = "rint$f($a)",
    [CBX__K_TRUNC] = "trunc$f($a)",
    [CBX__K_COPYSIGN] = "copysign$f($a, $b)",
};
static const char *const integer_forms[CBX__KOP_COUNT] = {
    [CBX__K_ADD] = "($t)(($u)$a + ($u)$b)", [CBX__K_SUB] = "($t)(($u)$a - ($u)$b)",
    [CBX__K_MUL] = "($t)(($u)$a * ($u)$b)", [CBX__K_NEG] = "($t)(0 - ($u)$a)",
    [CBX__K_AND] = "($t)($a & $b)",         [CBX__K_OR] = "($t)($a | $b)",
    [CBX__K_XOR] = "($t)($a ^ $b)",         [CBX__K_NOT] = "($t)~$a",
};
static const char *const bool_forms[CBX__KOP_COUNT] = {
    [CBX__K_AND] = "$a & $b",
    [CBX__K_OR] = "$a | $b",
    [CBX__K_XOR] = "$a ^ $b",
    [CBX__K_NOT] = "!$a",
};
/* Of operands of any dtype. */
static const char *const common_forms[CBX__KOP_COUNT] = {
    [CBX__K_EQ] = "$a == $b", [CBX__K_NE] = "$a != $b", [CBX__K_LT] = "$a < $b",          [CBX__K_LE] = "$a <= $b",
    [CBX__K_GT] = "$a > $b",  [CBX__K_GE] = "$a >= $b", [CBX__K_SELECT] = "$a ? $b : $c",
};

static void put_shift(writer *w, const cbx__kinstr *x)
{
    const cbx_dtype t = (cbx_dtype)x->dtype;
    const unsigned width = 8 * (unsigned)cbx__dtype_size(t);
    const bool fixed = w->instr[x->b].op == CBX__K_CONST && w->instr[x->b].bits < width;

    if (fixed)
        put(w, x, x->op == CBX__K_SHL ? "($t)(($u)$a << " : "($t)($a >> ");
    else
        put(w, x, x->op == CBX__K_SHL ? "(uint64_t)$b < " : "($t)((uint64_t)$b < ");
    if (fixed) {
        cbx_text_printf(w->out, "%u)", (unsigned)w->instr[x->b].bits);
    } else if (x->op == CBX__K_SHL) {
        cbx_text_printf(w->out, "%u", width);
        put(w, x, " ? ($t)(($u)$a << $b) : 0");
    } else { /* what is not negative is emptied by the last step */
        cbx_text_printf(w->out, "%u", width);
        put(w, x, " ? $a >> $b : $a >> ");
        cbx_text_printf(w->out, "%u", width - 1);
        put(w, x, " >> ($a > 0))");
    }
}

static void put_cast(writer *w, const cbx__kinstr *x)
{
    const cbx_dtype t = (cbx_dtype)x->dtype, from = (cbx_dtype)w->instr[x->a].dtype;

    if (t == CBX_BOOL) {
        put(w, x, "$a != 0");
    } else if (is_float(from) && !is_float(t)) {
        cbx_text_printf(w->out, "%s_of_%s", cbx__ctext_tags[t], cbx__ctext_tags[from]);
        put(w, x, "($a)");
    } else {
        put(w, x, "($t)$a");
    }
}

static void put_bits(writer *w, const cbx__kinstr *x)
{
    const cbx_dtype t = (cbx_dtype)x->dtype, from = (cbx_dtype)w->instr[x->a].dtype;

    if (is_float(t) && !is_float(from))
        cbx_text_printf(w->out, "float_%s(", cbx__ctext_tags[t]), put(w, x, "($u)$a)");
    else if (is_float(from) && !is_float(t))
        put(w, x, "($t)"), cbx_text_printf(w->out, "bits_%s(", cbx__ctext_tags[from]), put(w, x, "$a)");
    else
        put(w, x, "($t)$a");
}

/* Primitives that are neither operations nor in the C library; NULL: none is. */
static const char *own_form(cbx_prim p, cbx_dtype t)
{
    const bool is_unsigned = cbx_dtype_is_unsigned(t), is_bool = t == CBX_BOOL;

    switch (p) {
    case CBX_PRIM_ADD: return is_bool ? "$a | $b" : NULL;
    case CBX_PRIM_MUL: return is_bool ? "$a & $b" : NULL;
    case CBX_PRIM_ABS:
        if (is_float(t)) return NULL;
        return is_bool || is_unsigned ? "$a" : "($t)($a < 0 ? 0 - ($u)$a : ($u)$a)";
    case CBX_PRIM_SIGN:
        if (is_float(t)) return "$a > 0 ? 1 : $a < 0 ? -1 : $a == 0 ? 0 : $a";
        return is_unsigned ? "$a > 0" : "($t)(($a > 0) - ($a < 0))";
    case CBX_PRIM_MAX: return is_float(t) ? "$a >= $b || $a != $a ? $a : $b" : "$a >= $b ? $a : $b";
    case CBX_PRIM_MIN: return is_float(t) ? "$a <= $b || $a != $a ? $a : $b" : "$a <= $b ? $a : $b";
    case CBX_PRIM_POW: return is_float(t) ? NULL : "($t)pow_u64((uint64_t)$a, (uint64_t)$b)";
    case CBX_PRIM_THREEFRY: return "threefry($a, $b)";
    default: return NULL;
    }
}

void cbx__ctext_put_operands(writer *w, const cbx__kinstr *x)
{
    put(w, x, cbx__kernel_operands(x) > 1 ? "($a, $b)" : "($a)");
}

/* The function that is right everywhere, or with a formula right in its domain. */
static void put_math(writer *w, const cbx__kinstr *x)
{
    const cbx_prim p = (cbx_prim)x->prim;
    const cbx_dtype t = (cbx_dtype)x->dtype;
    const cbx__kformula *f = cbx__kernel_formula(p, t);

    if (f)
        cbx_text_printf(w->out, "%s%s_%s", w->slow && !cbx__formula_is_total(f) ? "" : "fast_", cbx_prim_name(p),
                        cbx__ctext_tags[t]);
    else
        cbx_text_printf(w->out, "libm_%s_%s", libm[p], cbx__ctext_tags[t]);
    cbx__ctext_put_operands(w, x);
}

/* gcc 12 makes -fma(a, b, c) one operation, -(a * b) - c, whose zeros have another sign: the
 * sign is turned by its bit there. */
static bool is_negated_fma(const cbx__kinstr *instr, const cbx__kinstr *x)
{
    return x->op == CBX__K_NEG && is_float((cbx_dtype)x->dtype) &&
           (instr[x->a].op == CBX__K_FMA || instr[x->a].op == CBX__K_MATH);
}

void cbx__ctext_put_value(writer *w, const cbx__kinstr *x)
{
    const cbx_dtype t = (cbx_dtype)x->dtype;
    const char *form;
    cbx__kinstr other = *x;

    if (is_negated_fma(w->instr, x)) {
        put(w, x,
            t == CBX_F64 ? "float_f64(bits_f64($a) ^ UINT64_C(0x8000000000000000))"
                         : "float_f32(bits_f32($a) ^ 0x80000000u)");
        return;
    }
    switch (x->op) {
    case CBX__K_SHL:
    case CBX__K_SHR: put_shift(w, x); return;
    case CBX__K_CAST: put_cast(w, x); return;
    case CBX__K_BITS: put_bits(w, x); return;
    case CBX__K_FLOOR_DIV:
    case CBX__K_REM:
        form = x->op == CBX__K_REM ? "($t)rem_i64($a, $b)" : "($t)floor_div_i64($a, $b)";
        if (cbx_dtype_is_unsigned(t)) form = x->op == CBX__K_REM ? "($t)($b ? $a % $b : 0)" : "($t)($b ? $a / $b : 0)";
        put(w, x, form);
        return;
    case CBX__K_MATH:
        form = own_form((cbx_prim)x->prim, t);
        other.op = cbx__prim_kop[x->prim];
        if (form)
            put(w, x, form);
        else if (other.op != CBX__K_CONST && cbx__kernel_gives((cbx__kop)other.op, t))
            cbx__ctext_put_value(w, &other);
        else
            put_math(w, x);
        return;
    default:
        form = common_forms[x->op];
        if (!form) form = is_float(t) ? float_forms[x->op] : t == CBX_BOOL ? bool_forms[x->op] : integer_forms[x->op];
        put(w, x, form);
    }
}

const cbx__kinstr *cbx__ctext_refused(const cbx__kernel *k)
{
    for (size_t i = 0; i < k->instr.n; i++) {
        const cbx__kinstr *x = &k->instr.items[i];
        const cbx_prim p = (cbx_prim)x->prim;
        const cbx_dtype t = (cbx_dtype)x->dtype;
        const uint8_t op = cbx__prim_kop[p];
        if (x->op != CBX__K_MATH || own_form(p, t) || cbx__kernel_formula(p, t) || (is_float(t) && libm[p])) continue;
        if (op == CBX__K_CONST || !cbx__kernel_gives((cbx__kop)op, t)) return x;
    }
    return NULL;
}

/* ---- what is needed ---- */

void cbx__ctext_need(writer *w, const cbx__kinstr *instr, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const cbx__kinstr *x = &instr[i];
        const cbx_prim p = (cbx_prim)x->prim;
        const cbx_dtype t = (cbx_dtype)x->dtype, from = (cbx_dtype)instr[x->op == CBX__K_LOAD ? i : x->a].dtype;
        const bool wide = t == CBX_F64, is_math = x->op == CBX__K_MATH;
        const cbx__kformula *f = cbx__formula_of(x);
        if (is_float(t) && (x->op == CBX__K_BITS || (x->op == CBX__K_CONST && !isfinite(number(t, x->bits)))))
            w->helper[wide ? HELPER_FROM_F64 : HELPER_FROM_F32] = true;
        if (is_negated_fma(instr, x))
            w->helper[wide ? HELPER_FROM_F64 : HELPER_FROM_F32] = w->helper[wide ? HELPER_BITS_F64 : HELPER_BITS_F32] =
                true;
        w->helper[HELPER_BITS_F32] |= from == CBX_F32 && x->op == CBX__K_BITS;
        w->helper[HELPER_BITS_F64] |= from == CBX_F64 && x->op == CBX__K_BITS;
        if (x->op == CBX__K_CAST && is_float(from) && !is_float(t) && t != CBX_BOOL) w->cast[from == CBX_F64][t] = true;
        w->helper[HELPER_REM_I64] |= x->op == CBX__K_REM || (is_math && p == CBX_PRIM_REM && !is_float(t));
        w->helper[HELPER_FLOOR_DIV_I64] |= x->op == CBX__K_FLOOR_DIV ||
                                           (is_math && p == CBX_PRIM_FLOOR_DIV && !is_float(t));
        w->helper[HELPER_POW_U64] |= is_math && p == CBX_PRIM_POW && !is_float(t);
        w->helper[HELPER_THREEFRY] |= is_math && p == CBX_PRIM_THREEFRY;
        w->libm[p][wide] |= is_math && is_float(t) && libm[p] && !(f && cbx__formula_is_total(f));
        w->libm[CBX_PRIM_EXP][1] |= is_math && p == CBX_PRIM_LOGADDEXP;
        w->libm[CBX_PRIM_LOG1P][1] |= is_math && p == CBX_PRIM_LOGADDEXP;
        if (!f || w->formula[p][wide]) continue;
        w->formula[p][wide] = true;
        w->helper[HELPER_LOGADDEXP] |= p == CBX_PRIM_LOGADDEXP;
        if (p == CBX_PRIM_REM) w->helper[wide ? HELPER_REM_F64 : HELPER_REM_F32] = true;
        if (p == CBX_PRIM_FLOOR_DIV) w->helper[wide ? HELPER_FLOOR_DIV_F64 : HELPER_FLOOR_DIV_F32] = true;
        cbx__ctext_need(w, f->instr, f->n);
    }
}

/* Towards zero, clamped to the type's range; NaN is 0. */
static void put_cast_helper(writer *w, cbx_dtype from, cbx_dtype t)
{
    const bool is_unsigned = cbx_dtype_is_unsigned(t);
    const unsigned bits = 8 * (unsigned)cbx__dtype_size(t);
    const char *letter = is_unsigned ? "U" : "";

    cbx_text_printf(w->out, "CBX_INLINE %s %s_of_%s(%s x)\n{\n", cbx__ctext_types[t], cbx__ctext_tags[t],
                    cbx__ctext_tags[from], cbx__ctext_types[from]);
    cbx_text_printf(w->out, "    return x != x ? 0 : x >= (double)%sINT%u_MAX ? %sINT%u_MAX : ", letter, bits, letter,
                    bits);
    if (is_unsigned)
        cbx_text_printf(w->out, "x > 0 ? (%s)x : 0;\n}\n", cbx__ctext_types[t]);
    else
        cbx_text_printf(w->out, "x > (double)INT%u_MIN ? (%s)x : INT%u_MIN;\n}\n", bits, cbx__ctext_types[t], bits);
}

static void put_parameters(writer *w, cbx_prim p, cbx_dtype t)
{
    cbx_text_printf(w->out, "(%s x", cbx__ctext_types[t]);
    if (strlen(cbx_prim_get_info(p)->operands) > 1) cbx_text_printf(w->out, ", %s y", cbx__ctext_types[t]);
    cbx_text_puts(w->out, ")");
}

/* What an operand or a result of a formula needs. */
static void mark_wanted(const cbx__kformula *f, cbx__kid result, bool *wanted)
{
    wanted[result] = true;
    for (cbx__kid i = f->n; i-- > 0;) {
        const cbx__kinstr *x = &f->instr[i];
        const int n = cbx__kernel_operands(x);
        if (!wanted[i]) continue;
        for (int o = 0; o < n; o++) wanted[x->in[o]] = true;
    }
}

/* The result of a formula, or whether it is right, as a function. */
static void put_formula(writer *w, cbx_prim p, cbx_dtype t, bool inside)
{
    const cbx__kformula *f = cbx__kernel_formula(p, t);
    const cbx__kid result = inside ? f->inside : f->result;
    bool wanted[512] = { false };

    assert(f->n <= CBX_LEN(wanted));
    mark_wanted(f, result, wanted);
    w->instr = f->instr;
    cbx_text_printf(w->out, "CBX_INLINE %s %s_%s_%s", inside ? "bool" : cbx__ctext_types[t], inside ? "in" : "fast",
                    cbx_prim_name(p), cbx__ctext_tags[t]);
    put_parameters(w, p, t);
    cbx_text_puts(w->out, "\n{\n");
    for (cbx__kid i = 0; i < f->n; i++) {
        const cbx__kinstr *x = &f->instr[i];
        if (!wanted[i] || x->op == CBX__K_CONST) continue;
        cbx_text_printf(w->out, "    const %s v%u = ", cbx__ctext_types[x->dtype], i);
        if (x->op == CBX__K_LOAD)
            cbx_text_puts(w->out, x->a ? "y" : "x");
        else
            cbx__ctext_put_value(w, x);
        cbx_text_puts(w->out, ";\n");
    }
    cbx_text_printf(w->out, "    return v%u;\n}\n", result);
}

/* The function as it is right everywhere: by its formula, or by the C library. */
static void put_whole(writer *w, cbx_prim p, cbx_dtype t)
{
    const char *name = cbx_prim_name(p), *list = strlen(cbx_prim_get_info(p)->operands) > 1 ? "x, y" : "x";

    cbx_text_printf(w->out, "static %s %s_%s", cbx__ctext_types[t], name, cbx__ctext_tags[t]);
    put_parameters(w, p, t);
    cbx_text_printf(w->out, "\n{\n    return in_%s_%s(%s) ? fast_%s_%s(%s) : ", name, cbx__ctext_tags[t], list, name,
                    cbx__ctext_tags[t], list);
    if (p == CBX_PRIM_LOGADDEXP)
        cbx_text_printf(w->out, "(%s)exact_logaddexp(x, y)", cbx__ctext_types[t]);
    else if (libm[p])
        cbx_text_printf(w->out, "libm_%s_%s(%s)", libm[p], cbx__ctext_tags[t], list);
    else
        cbx_text_printf(w->out, "exact_%s_%s(%s)", name, cbx__ctext_tags[t], list);
    cbx_text_puts(w->out, ";\n}\n");
}

void cbx__ctext_put_needed(writer *w)
{
    static const char *const helpers[HELPER_COUNT] = {
#define HELPER(name, text) text,
        HELPER_MAP(HELPER)
#undef HELPER
    };

    for (int p = 0; p < CBX_PRIM_LIMIT; p++) {
        const bool two = libm[p] && strlen(cbx_prim_get_info((cbx_prim)p)->operands) > 1;
        for (cbx_dtype t = CBX_F32; t <= CBX_F64;
             t++) /* through a pointer: compilers compute functions of constants otherwise */
            if (w->libm[p][t == CBX_F64])
                cbx_text_printf(w->out, "CBX_UNUSED static %s (*const volatile libm_%s_%s)(%s%s%s) = %s%s;\n",
                                cbx__ctext_types[t], libm[p], cbx__ctext_tags[t], cbx__ctext_types[t], two ? ", " : "",
                                two ? cbx__ctext_types[t] : "", libm[p], f_of(t));
    }
    for (int h = 0; h < HELPER_COUNT; h++)
        if (w->helper[h]) cbx_text_puts(w->out, helpers[h]);
    for (int wide = 0; wide < 2; wide++)
        for (cbx_dtype t = CBX_I8; t <= CBX_U64; t++)
            if (w->cast[wide][t]) put_cast_helper(w, wide ? CBX_F64 : CBX_F32, t);
    for (int p = 0; p < CBX_PRIM_LIMIT; p++) {
        for (cbx_dtype t = CBX_F32; t <= CBX_F64; t++) {
            if (!w->formula[p][t == CBX_F64]) continue;
            put_formula(w, (cbx_prim)p, t, false);
            if (cbx__formula_is_total(cbx__kernel_formula((cbx_prim)p, t))) continue;
            put_formula(w, (cbx_prim)p, t, true);
            put_whole(w, (cbx_prim)p, t);
        }
    }
}
