/* Kernels evaluated an element at a time, in the plainest C: what the interpreter is held to. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels_random.h"

#include "calibrax/array/kernels/loops.h"

/* An integer of up to 64 bits in more, so that nothing overflows. */
static __int128 integer(cbx_dtype t, uint64_t bits)
{
    switch (t) {
    case CBX_BOOL: return bits & 1;
    case CBX_I8: return (int8_t)bits;
    case CBX_I16: return (int16_t)bits;
    case CBX_I32: return (int32_t)bits;
    case CBX_I64: return (int64_t)bits;
    case CBX_U8: return (uint8_t)bits;
    case CBX_U16: return (uint16_t)bits;
    case CBX_U32: return (uint32_t)bits;
    default: return bits;
    }
}

/* Wrapped to the width. */
static uint64_t wrapped(cbx_dtype t, __int128 v)
{
    uint64_t out = 0;
    memcpy(&out, &(uint64_t){ (uint64_t)v }, cbx_dtype_size(t));
    return out;
}

static __int128 floor_div(__int128 x, __int128 y)
{
    if (y == 0) return 0;
    const __int128 q = x / y;
    return q * y != x && (x < 0) != (y < 0) ? q - 1 : q;
}

static uint64_t of_integers(const cbx__kinstr *i, const uint64_t *v)
{
    const cbx_dtype t = (cbx_dtype)i->dtype;
    const int width = 8 * (int)cbx_dtype_size(t);
    const __int128 x = integer(t, v[0]), y = integer(t, v[1]);
    const bool inside = y >= 0 && y < width;

    switch (i->op) {
    case CBX__K_ADD: return wrapped(t, x + y);
    case CBX__K_SUB: return wrapped(t, x - y);
    case CBX__K_MUL: return wrapped(t, (__int128)((unsigned __int128)x * (unsigned __int128)y));
    case CBX__K_NEG: return wrapped(t, -x);
    case CBX__K_FLOOR_DIV: return wrapped(t, floor_div(x, y));
    case CBX__K_REM: return wrapped(t, y == 0 ? 0 : x - floor_div(x, y) * y);
    case CBX__K_AND: return wrapped(t, x & y);
    case CBX__K_OR: return wrapped(t, x | y);
    case CBX__K_XOR: return wrapped(t, x ^ y);
    case CBX__K_NOT: return t == CBX_BOOL ? !x : wrapped(t, ~x);
    case CBX__K_SHL: return wrapped(t, inside ? (__int128)((unsigned __int128)x << (int)y) : 0);
    default: return wrapped(t, x >> (inside ? (int)y : 100)); /* SHR */
    }
}

#define FLOATS(T, name, f)                                                                                             \
    static T name(const cbx__kinstr *i, T x, T y, T z)                                                                 \
    {                                                                                                                  \
        switch (i->op) {                                                                                               \
        case CBX__K_ADD: return x + y;                                                                                 \
        case CBX__K_SUB: return x - y;                                                                                 \
        case CBX__K_MUL: return x * y;                                                                                 \
        case CBX__K_DIV: return x / y;                                                                                 \
        case CBX__K_FMA: return fma##f(x, y, z);                                                                       \
        case CBX__K_NEG: return -x;                                                                                    \
        case CBX__K_ABS: return fabs##f(x);                                                                            \
        case CBX__K_SQRT: return sqrt##f(x);                                                                           \
        case CBX__K_FLOOR: return floor##f(x);                                                                         \
        case CBX__K_CEIL: return ceil##f(x);                                                                           \
        case CBX__K_RINT: return nearbyint##f(x);                                                                      \
        case CBX__K_TRUNC: return trunc##f(x);                                                                         \
        default: return copysign##f(x, y);                                                                             \
        }                                                                                                              \
    }
FLOATS(double, of_doubles, )
FLOATS(float, of_floats, f)

static double float64(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static float float32(uint64_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static uint64_t bits_of(cbx_dtype t, double x, float y)
{
    uint64_t out = 0;
    if (t == CBX_F64)
        memcpy(&out, &x, sizeof x);
    else
        memcpy(&out, &y, sizeof y);
    return out;
}

static bool is_float(cbx_dtype t) { return t == CBX_F32 || t == CBX_F64; }

static bool comparison(cbx_dtype t, int op, const uint64_t *v)
{
    const long double x = t == CBX_F64 ? float64(v[0]) : t == CBX_F32 ? float32(v[0]) : (long double)integer(t, v[0]);
    const long double y = t == CBX_F64 ? float64(v[1]) : t == CBX_F32 ? float32(v[1]) : (long double)integer(t, v[1]);

    switch (op) { /* the significand of a long double holds every integer */
    case CBX__K_EQ: return x == y;
    case CBX__K_NE: return x != y;
    case CBX__K_LT: return x < y;
    case CBX__K_LE: return x <= y;
    case CBX__K_GT: return x > y;
    default: return x >= y;
    }
}

static uint64_t cast(cbx_dtype from, cbx_dtype to, uint64_t v)
{
    if (!is_float(from)) {
        const __int128 x = integer(from, v);
        if (to == CBX_BOOL) return x != 0;
        return is_float(to) ? bits_of(to, (double)x, (float)x) : wrapped(to, x);
    }
    const double x = from == CBX_F64 ? float64(v) : (double)float32(v);
    if (to == CBX_BOOL) return x != 0;
    if (is_float(to)) return bits_of(to, x, (float)x);
    const bool is_unsigned = cbx_dtype_is_unsigned(to);
    const int width = 8 * (int)cbx_dtype_size(to);
    const __int128 high = ((__int128)1 << (width - !is_unsigned)) - 1, low = is_unsigned ? 0 : -high - 1;
    if (x != x) return 0;
    if (x >= (double)high + 1) return wrapped(to, high); /* 2^width, rounded or not */
    if (x <= (double)low) return wrapped(to, low);
    const __int128 whole = (__int128)x;
    return wrapped(to, whole > high ? high : whole);
}

static uint64_t math(const cbx__kinstr *i, int operands, uint64_t *v)
{
    const cbx__loops *loops = cbx__loops_get();
    const cbx_dtype t = (cbx_dtype)i->dtype;
    uint64_t out = 0;

    (operands == 1 ? loops->unary((cbx_prim)i->prim, t) : loops->binary((cbx_prim)i->prim, t))(
        1, (char *const[]){ (char *)&out, (char *)&v[0], (char *)&v[1] }, (const ptrdiff_t[]){ 0, 0, 0 });
    return out;
}

static uint64_t value_of(const cbx__kinstr *i, cbx_dtype from, uint64_t *v)
{
    const cbx_dtype t = (cbx_dtype)i->dtype;

    if (i->op >= CBX__K_EQ && i->op <= CBX__K_GE) return comparison(from, i->op, v);
    switch (i->op) {
    case CBX__K_CONST: return i->bits;
    case CBX__K_SELECT: return v[0] & 1 ? v[1] : v[2];
    case CBX__K_CAST: return cast(from, t, v[0]);
    case CBX__K_BITS: return v[0];
    case CBX__K_MATH: return math(i, cbx__kernel_operands(i), v);
    default: break;
    }
    if (t == CBX_F64) return bits_of(t, of_doubles(i, float64(v[0]), float64(v[1]), float64(v[2])), 0);
    if (t == CBX_F32) return bits_of(t, 0, of_floats(i, float32(v[0]), float32(v[1]), float32(v[2])));
    return of_integers(i, v);
}

static void run(const void *self, int64_t m, int64_t n, char *const *p, const int64_t *outer, const int64_t *inner)
{
    const cbx__kernel *k = self;
    uint64_t value[k->instr.n + 1], carry[k->carries.n + 1];

    for (int64_t e = 0; n > 0 && e < m * n; e++) {
        const int64_t j = k->carries.n ? e % m : e / n, i = k->carries.n ? e / m : e % n;
        char *at[KERNELS_STREAMS];
        for (size_t s = 0; s < k->streams.n; s++) {
            const cbx__kstream *x = &k->streams.items[s];
            const int64_t size = (int64_t)cbx_dtype_size((cbx_dtype)x->dtype);
            const int64_t by = x->kind == CBX__STREAM_DENSE ? size : x->kind == CBX__STREAM_SCALAR ? 0 : inner[s];
            at[s] = (char *)(uintptr_t)((uint64_t)(uintptr_t)p[s] + (uint64_t)j * (uint64_t)outer[s] +
                                        (uint64_t)i * (uint64_t)by);
        }
        for (size_t c = 0; j == 0 && c < k->carries.n; c++) {
            const uint32_t first = k->carries.items[c].first;
            carry[c] = 0;
            memcpy(&carry[c], at[first], cbx_dtype_size((cbx_dtype)k->streams.items[first].dtype));
        }
        for (size_t q = 0; q < k->instr.n; q++) {
            const cbx__kinstr *x = &k->instr.items[q];
            const cbx__kid operand[3] = { x->a, x->b, x->c };
            const int operands = cbx__kernel_operands(x);
            uint64_t v[3] = { 0 };
            for (int o = 0; o < operands; o++) v[o] = value[operand[o]];
            if (x->op == CBX__K_CARRY) {
                value[q] = carry[x->a];
            } else if (x->op != CBX__K_LOAD) {
                value[q] = value_of(
                    x, operands > 0 ? (cbx_dtype)k->instr.items[x->op == CBX__K_SELECT ? x->b : x->a].dtype : CBX_BOOL,
                    v);
            } else if (k->streams.items[x->a].kind == CBX__STREAM_INDEX) {
                value[q] = (uint64_t)(uintptr_t)at[x->a];
            } else {
                value[q] = 0;
                memcpy(&value[q], at[x->a], cbx_dtype_size((cbx_dtype)x->dtype));
            }
        }
        for (size_t s = 0; s < k->nout; s++) {
            const cbx__kstream *x = &k->streams.items[s];
            char *to = at[s] - (x->final ? j * outer[s] : 0);
            if (!x->final || j == m - 1) memcpy(to, &value[x->value], cbx_dtype_size((cbx_dtype)x->dtype));
        }
        for (size_t c = 0; c < k->carries.n; c++) carry[c] = value[k->carries.items[c].next];
    }
}

/* ---- as an emitter ---- */

static void release(cbx__code *c)
{
    for (size_t i = 0; i < c->n; i++) {
        cbx__kernel_clear((cbx__kernel *)c->self[i]);
        free((void *)c->self[i]);
    }
    free((void *)c->self);
    free(c->fn);
    free(c);
}

static cbx_status compile(cbx_ctx *ctx, size_t n, const cbx__kernel *const *kernels, cbx__code **out, cbx_err *err)
{
    cbx__code *c = calloc(1, sizeof *c);

    (void)ctx, (void)err;
    *c = (cbx__code){ .n = n, .release = release };
    c->fn = calloc(n, sizeof *c->fn);
    c->self = calloc(n, sizeof *c->self);
    for (size_t i = 0; i < n; i++) {
        cbx__kernel *k = malloc(sizeof *k);
        cbx__kernel_init(k, cbx_allocator_default());
        k->nout = kernels[i]->nout;
        k->single = kernels[i]->single;
        for (size_t s = 0; s < kernels[i]->streams.n; s++)
            (void)!cbx_list_push(&k->al, &k->streams, kernels[i]->streams.items[s]);
        for (size_t q = 0; q < kernels[i]->instr.n; q++)
            (void)!cbx_list_push(&k->al, &k->instr, kernels[i]->instr.items[q]);
        for (size_t q = 0; q < kernels[i]->carries.n; q++)
            (void)!cbx_list_push(&k->al, &k->carries, kernels[i]->carries.items[q]);
        c->fn[i] = run;
        c->self[i] = k;
    }
    *out = c;
    return CBX_OK;
}

const cbx__emitter plain_emitter = { "plain", compile };
