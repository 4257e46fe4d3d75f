/* Random kernels and data for them; what the difference of two emitters shrinks to. */
#include "kernels_random.h"

#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrax/array/kernels/loops.h"
#include "calibrax/base/hash_table.h"

#define GUARD 64 /* elements on either side */

/* ---- kernels ---- */

typedef struct maker {
    cbx__kernel *k;
    cbx_rng rng;
    unsigned kinds;
    cbx_dtype palette[3]; /* what most values are, so that they meet */
} maker;

static uint64_t below(maker *g, uint64_t n) { return cbx_rng_below(&g->rng, n); }
static bool one_in(maker *g, uint64_t n) { return below(g, n) == 0; }

/* Numbers at which operations differ from their neighbours. */
static double special_float(uint64_t which)
{
    static const double few[] = { 0.0,
                                  -0.0,
                                  1.0,
                                  -1.0,
                                  INFINITY,
                                  -INFINITY,
                                  NAN,
                                  0.5,
                                  1.5,
                                  2.5,
                                  -2.5,
                                  0x1p-1074,
                                  -0x1p-1074,
                                  0x1p-149,
                                  0x1p-1022,
                                  0x1.fffffffffffffp1023,
                                  -0x1.fffffffffffffp1023,
                                  0x1.fffffep127,
                                  2147483648.0,
                                  -2147483649.0,
                                  0x1p63,
                                  -0x1p63,
                                  0x1p64,
                                  4503599627370497.5,
                                  8388609.5,
                                  3.14159265358979,
                                  127.5,
                                  -128.75,
                                  255.99,
                                  1e-300,
                                  0x1p-126,
                                  709.5 };
    return few[which % CBX_LEN(few)];
}

static uint64_t random_element(cbx_rng *r, cbx_dtype t)
{
    const uint64_t draw = cbx_rng_u64(r), how = cbx_rng_below(r, 10);
    const int width = 8 * (int)cbx_dtype_size(t);
    uint64_t out = 0;

    if (t == CBX_BOOL) return draw & 1;
    if (t == CBX_F64 || t == CBX_F32) {
        const double ordinary = ((double)(draw >> 11) * 0x1p-53 - 0.5) * (how < 5 ? 4 : 100);
        const double x = how < 4 ? special_float(draw) : ordinary;
        if (how == 9) return t == CBX_F64 ? draw : draw & UINT32_MAX; /* any bits */
        if (t == CBX_F64)
            memcpy(&out, &x, sizeof x);
        else
            memcpy(&out, &(float){ (float)x }, sizeof(float));
        return out;
    }
    const uint64_t mask = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
    const uint64_t few[] = { 0, 1, UINT64_MAX,     UINT64_C(1) << (width - 1), (UINT64_C(1) << (width - 1)) - 1,
                             2, 7, (uint64_t)width };
    return mask & (how < 4 ? few[draw % CBX_LEN(few)] : how < 8 ? draw % 70 : draw);
}

static cbx__kid constant(maker *g, cbx_dtype t)
{
    return cbx__kernel_add(
        g->k, (cbx__kinstr){ .op = CBX__K_CONST, .dtype = (uint8_t)t, .bits = random_element(&g->rng, t) });
}

/* A value of a dtype: a late one, an early one, an input, or a constant. */
static cbx__kid value(maker *g, cbx_dtype t)
{
    const size_t n = g->k->instr.n;
    const bool late = !one_in(g, 3);

    for (size_t tries = 0; tries < 6 && n > 0; tries++) {
        const size_t back = below(g, late && n > 5 ? 5 : n);
        if (g->k->instr.items[n - 1 - back].dtype == t) return (cbx__kid)(n - 1 - back);
    }
    for (size_t s = g->k->nout; s < g->k->streams.n; s++)
        if (g->k->streams.items[s].dtype == t && !one_in(g, 3))
            return cbx__kernel_add(g->k, (cbx__kinstr){ .op = CBX__K_LOAD, .dtype = (uint8_t)t, .a = (cbx__kid)s });
    return constant(g, t);
}

static bool is_float(cbx_dtype t) { return t == CBX_F32 || t == CBX_F64; }
static bool is_nan(cbx_dtype t, uint64_t bits)
{
    double d;
    float f;
    memcpy(&d, &bits, sizeof d);
    memcpy(&f, &bits, sizeof f);
    return t == CBX_F64 ? d != d : t == CBX_F32 ? f != f : false;
}

/* The value, or a number where it is NaN: the bits of a NaN are unspecified. */
static cbx__kid no_nan(maker *g, cbx_dtype t, cbx__kid x)
{
    cbx__kid number, test; /* in this order, whatever the compiler */

    if (!is_float(t)) return x;
    number = cbx__kernel_add(g->k, (cbx__kinstr){ .op = CBX__K_CONST, .dtype = (uint8_t)t });
    test = cbx__k2(g->k, CBX__K_EQ, CBX_BOOL, x, x);
    return cbx__k3(g->k, CBX__K_SELECT, t, test, x, number);
}

static bool has_math(cbx_prim p, cbx_dtype t)
{
    const cbx_prim_info *info = cbx_prim_get_info(p);
    const cbx__loops *loops = cbx__loops_get();

    if (!info || info->kind != CBX_CLASS_MAP || p == CBX_PRIM_COPYSIGN) return false; /* it shows the sign of NaN */
    if (strcmp(info->results, "s") != 0 && strcmp(info->results, "r") != 0) return false;
    if (strcmp(info->operands, "x") == 0) return loops->unary(p, t) != NULL;
    return strcmp(info->operands, "xx") == 0 && loops->binary(p, t) != NULL;
}

static void add_math(maker *g, cbx_dtype t)
{
    for (int tries = 0; tries < 40; tries++) {
        cbx__kinstr x = { .op = CBX__K_MATH, .dtype = (uint8_t)t, .prim = (uint16_t)below(g, CBX_PRIM_LIMIT) };
        if (!has_math((cbx_prim)x.prim, t)) continue;
        x.a = value(g, t);
        if (cbx__kernel_operands(&x) > 1) x.b = value(g, t);
        cbx__kernel_add(g->k, x);
        return;
    }
}

static void add_instruction(maker *g)
{
    static const uint8_t same_size[][4] = {
        { CBX_I8, CBX_U8 }, { CBX_I16, CBX_U16 }, { CBX_I32, CBX_U32, CBX_F32 }, { CBX_I64, CBX_U64, CBX_F64 }
    };
    const cbx_dtype t = one_in(g, 8) ? (cbx_dtype)below(g, CBX_F64 + 1) : g->palette[below(g, 3)];
    const cbx_dtype other = g->palette[below(g, 3)];
    cbx__kinstr x = { .op = (uint8_t)below(g, CBX__KOP_COUNT), .dtype = (uint8_t)t };

    switch (x.op) {
    case CBX__K_CONST: constant(g, t); return;
    case CBX__K_LOAD:
    case CBX__K_CARRY: value(g, t); return;
    case CBX__K_MATH:
        if (g->kinds & KERNELS_MATH) add_math(g, t);
        return;
    case CBX__K_CAST: x.a = value(g, other); break;
    case CBX__K_SELECT: x.a = value(g, CBX_BOOL), x.b = value(g, t), x.c = value(g, t); break;
    case CBX__K_BITS: {
        const size_t row = t == CBX_BOOL ? 0 : (size_t)__builtin_ctz((unsigned)cbx_dtype_size(t));
        const cbx_dtype from = (cbx_dtype)same_size[row][below(g, row > 1 ? 3 : 2)];
        if (t == CBX_BOOL) return;
        x.a = value(g, from);
        if (!is_float(t)) x.a = no_nan(g, from, x.a);
        break;
    }
    case CBX__K_COPYSIGN:
        if (!is_float(t)) return;
        x.a = value(g, t), x.b = no_nan(g, t, value(g, t));
        break;
    default:
        if (x.op >= CBX__K_EQ && x.op <= CBX__K_GE) x.dtype = CBX_BOOL;
        if (!cbx__kernel_gives((cbx__kop)x.op, (cbx_dtype)x.dtype)) return;
        const int operands = cbx__kernel_operands(&x);
        x.a = value(g, t);
        if (operands > 1) x.b = value(g, t);
        if (operands > 2) x.c = value(g, t);
    }
    cbx__kernel_add(g->k, x);
}

void kernel_trial_make(kernel_trial *t, unsigned kinds, uint64_t seed)
{
    static const int64_t lengths[] = { 0, 1, 2, 7, 8, 9, 31, 32, 33, 100, 257, 1000 }, rows[] = { 0, 1, 1, 2, 3, 8 };
    cbx__kernel *k = &t->k;
    maker g = { k, cbx_rng_make(seed, 0), kinds, { 0 } };

    *t = (kernel_trial){ .m = rows[below(&g, 20) ? 1 + below(&g, CBX_LEN(rows) - 1) : 0],
                         .n = lengths[below(&g, 20) ? 1 + below(&g, CBX_LEN(lengths) - 1) : 0] };
    cbx__kernel_init(k, cbx_allocator_default());
    for (int i = 0; i < 3; i++)
        g.palette[i] = (cbx_dtype)(one_in(&g, 3) ? below(&g, CBX_F64 + 1) : CBX_F32 + below(&g, 2));
    const size_t nin = below(&g, 5), instructions = 1 + below(&g, one_in(&g, 4) ? 120 : 20);
    k->nout = 1 + below(&g, 3);
    for (size_t s = 0; s < k->nout + nin; s++) {
        cbx__kstream x = { .dtype = (uint8_t)g.palette[below(&g, 3)], .kind = (uint8_t)below(&g, 4) };
        if (s < k->nout) x.kind = one_in(&g, 3) ? CBX__STREAM_STRIDED : CBX__STREAM_DENSE;
        if (s < k->nout) x.nontemporal = x.kind == CBX__STREAM_DENSE && one_in(&g, 4);
        if (x.kind == CBX__STREAM_INDEX) x.dtype = CBX_I64;
        CHECK(cbx_list_push(&k->al, &k->streams, x), "memory");
        t->seed[s] = cbx_rng_u64(&g.rng);
        t->shares[s] = -1;
    }
    for (size_t c = 0; nin > 0 && one_in(&g, 4) && c < 3; c++) {
        const uint32_t first = (uint32_t)(k->nout + below(&g, nin));
        const cbx__kstream *in = &k->streams.items[first];
        if (in->kind == CBX__STREAM_INDEX) break;
        CHECK(cbx_list_push(&k->al, &k->carries, (cbx__kcarry){ first, 0 }), "memory");
        cbx__kernel_add(k, (cbx__kinstr){ .op = CBX__K_CARRY, .dtype = in->dtype, .a = (cbx__kid)c });
    }
    if (k->carries.n > 0 && one_in(&g, 2)) { /* a scan of a number: rows in whole vectors, and some that are left */
        t->n = 1;
        t->m = 1 + below(&g, 40);
        k->single = true;
    }
    for (size_t i = 0; i < instructions; i++) add_instruction(&g);
    if (k->instr.n == 0) constant(&g, CBX_F64);
    for (size_t c = 0; c < k->carries.n; c++)
        k->carries.items[c].next = value(&g, (cbx_dtype)k->streams.items[k->carries.items[c].first].dtype);
    for (size_t s = 0; s < k->nout; s++) {
        cbx__kstream *out = &k->streams.items[s];
        out->value = (cbx__kid)(k->instr.n - 1 - below(&g, k->instr.n < 4 ? k->instr.n : 4));
        out->final = k->carries.n > 0 && one_in(&g, 2);
        if (out->final) out->value = k->carries.items[below(&g, k->carries.n)].next;
        out->dtype = k->instr.items[out->value].dtype;
        if (!(kinds & KERNELS_IN_PLACE) || !one_in(&g, 2)) continue;
        for (size_t i = k->nout; i < k->streams.n; i++) {
            cbx__kstream *in = &k->streams.items[i];
            bool taken = in->dtype != out->dtype || in->kind == CBX__STREAM_INDEX;
            for (size_t before = 0; before < s; before++) taken |= t->shares[before] == (int)i;
            if (taken) continue;
            in->kind = out->kind;
            t->shares[s] = (int)i;
            break;
        }
    }
    cbx__kernel_finish(k);
    CHECK(!k->failed, "memory");
}

uint64_t kernel_hash(const cbx__kernel *k)
{
    cbx_text text;
    uint64_t hash;

    cbx_text_init(&text, cbx_allocator_default());
    cbx__kernel_text(k, &text);
    hash = cbx_hash_text(CBX_HASH_START, text.data);
    cbx_text_clear(&text);
    return hash;
}

void kernel_trial_clear(kernel_trial *t) { cbx__kernel_clear(&t->k); }

/* ---- data ---- */

/* Steps of a stream, and what they span: offsets low .. high of elements, in bytes. */
static void lay_out(kernel_data *d, const kernel_trial *t, size_t s, cbx_rng *r, int64_t *low, int64_t *high)
{
    const cbx__kstream *x = &t->k.streams.items[s];
    const bool is_out = s < t->k.nout;
    const int64_t size = (int64_t)cbx_dtype_size((cbx_dtype)x->dtype), m = t->m, n = t->n;
    const int64_t sign = cbx_rng_below(r, 3) ? 1 : -1, gap = (int64_t)cbx_rng_below(r, 3) * size;
    int64_t step = size;

    d->inner[s] = 12345; /* not read */
    d->outer[s] = sign * (n * size + gap);
    if (x->kind == CBX__STREAM_STRIDED) {
        step = ((int64_t)cbx_rng_below(r, 7) - 3) * size;
        if (is_out && step == 0) step = size;
        d->outer[s] = sign * (n * llabs(step) + gap);
        if (cbx_rng_below(r, 3) == 0) step = m * size, d->outer[s] = size; /* transposed */
        d->inner[s] = step;
    }
    if (x->kind == CBX__STREAM_SCALAR) step = 0, d->outer[s] = ((int64_t)cbx_rng_below(r, 4) - 1) * size;
    if (!is_out && cbx_rng_below(r, 4) == 0)
        d->outer[s] = (int64_t)cbx_rng_below(r, 2) * size; /* the same row, or windows */
    const int64_t across = n > 0 ? step * (n - 1) : 0, down = m > 0 ? d->outer[s] * (m - 1) : 0;
    *low = (across < 0 ? across : 0) + (down < 0 ? down : 0);
    *high = (across > 0 ? across : 0) + (down > 0 ? down : 0) + size;
}

static void make_stream(kernel_data *d, const kernel_trial *t, size_t s, bool filled)
{
    const cbx__kstream *x = &t->k.streams.items[s];
    const size_t size = cbx_dtype_size((cbx_dtype)x->dtype);
    cbx_rng r = cbx_rng_make(t->seed[s], 1);
    int64_t low, high;

    if (x->kind == CBX__STREAM_INDEX) {
        d->p[s] = (char *)(uintptr_t)(cbx_rng_u64(&r) >> cbx_rng_below(&r, 64));
        d->outer[s] = (int64_t)cbx_rng_below(&r, 2000) - 1000;
        d->inner[s] = (int64_t)cbx_rng_below(&r, 5) - 2;
        return;
    }
    lay_out(d, t, s, &r, &low, &high);
    const size_t offset = cbx_rng_below(&r, 8) * size; /* aligned as elements are, and no more */
    d->bytes[s] = (size_t)(high - low) + 2 * GUARD * size + offset;
    d->memory[s] = malloc(d->bytes[s]);
    CHECK(d->memory[s], "memory");
    d->p[s] = d->memory[s] + GUARD * size + offset - low;
    memset(d->memory[s], 0xa5, d->bytes[s]);
    for (size_t i = 0; filled && i < d->bytes[s] / size; i++)
        memcpy(d->memory[s] + i * size, &(uint64_t){ random_element(&r, (cbx_dtype)x->dtype) }, size);
}

void kernel_data_make(kernel_data *d, const kernel_trial *t)
{
    *d = (kernel_data){ 0 };
    for (size_t s = 0; s < t->k.streams.n; s++) make_stream(d, t, s, s >= t->k.nout || t->shares[s] >= 0);
    for (size_t s = 0; s < t->k.nout; s++) {
        const int in = t->shares[s];
        if (in < 0) continue;
        free(d->memory[in]);
        d->memory[in] = NULL;
        d->p[in] = d->p[s], d->outer[in] = d->outer[s], d->inner[in] = d->inner[s];
    }
}

void kernel_data_clear(kernel_data *d)
{
    for (size_t s = 0; s < KERNELS_STREAMS; s++) free(d->memory[s]);
}

/* ---- comparison ---- */

/* Which element of which output differs; any NaN is made equal to any other. */
static bool outputs_differ(const kernel_trial *t, const kernel_data *x, const kernel_data *y, cbx_text *why)
{
    for (size_t s = 0; s < t->k.nout; s++) {
        const cbx__kstream *out = &t->k.streams.items[s];
        const cbx_dtype type = (cbx_dtype)out->dtype;
        const size_t size = cbx_dtype_size(type);
        const int64_t step = out->kind == CBX__STREAM_DENSE ? (int64_t)size : x->inner[s];
        for (int64_t e = 0; t->n > 0 && e < t->m * t->n; e++) {
            const int64_t at = e / t->n * x->outer[s] + e % t->n * step;
            uint64_t a = 0, b = 0;
            memcpy(&a, x->p[s] + at, size);
            memcpy(&b, y->p[s] + at, size);
            if (is_nan(type, a) && is_nan(type, b)) memcpy(y->p[s] + at, &a, size);
            if (a == b || (is_nan(type, a) && is_nan(type, b))) continue;
            cbx_text_printf(why, "output %zu, row %lld, element %lld: 0x%llx, 0x%llx", s, (long long)(e / t->n),
                            (long long)(e % t->n), (unsigned long long)a, (unsigned long long)b);
            return true;
        }
    }
    for (size_t s = 0; s < t->k.streams.n; s++) {
        if (!x->memory[s] || memcmp(x->memory[s], y->memory[s], x->bytes[s]) == 0) continue;
        cbx_text_printf(why, "memory of stream %zu that is not to be written", s);
        return true;
    }
    return false;
}

static bool trial_differs(const kernel_trial *t, const cbx__code *const code[2], size_t number, cbx_text *why)
{
    kernel_data d[2];
    bool differs;

    for (int i = 0; i < 2; i++) {
        kernel_data_make(&d[i], t);
        code[i]->fn[number](code[i]->self[number], t->m, t->n, d[i].p, d[i].outer, d[i].inner);
    }
    differs = outputs_differ(t, &d[0], &d[1], why);
    for (int i = 0; i < 2; i++) kernel_data_clear(&d[i]);
    return differs;
}

/* ---- shrinking ---- */

typedef struct pair {
    cbx_ctx *ctx;
    const cbx__emitter *emitter[2];
    cbx_text why;
} pair;

static kernel_trial copy_of(const kernel_trial *t)
{
    kernel_trial c = *t;

    c.k.streams.items = NULL, c.k.streams.n = c.k.streams.capacity = 0;
    c.k.instr.items = NULL, c.k.instr.n = c.k.instr.capacity = 0;
    c.k.carries.items = NULL, c.k.carries.n = c.k.carries.capacity = 0;
    for (size_t i = 0; i < t->k.carries.n; i++)
        CHECK(cbx_list_push(&c.k.al, &c.k.carries, t->k.carries.items[i]), "memory");
    for (size_t s = 0; s < t->k.streams.n; s++)
        CHECK(cbx_list_push(&c.k.al, &c.k.streams, t->k.streams.items[s]), "memory");
    for (size_t i = 0; i < t->k.instr.n; i++) CHECK(cbx_list_push(&c.k.al, &c.k.instr, t->k.instr.items[i]), "memory");
    return c;
}

/* The bits of a NaN are read nowhere: their readers have a SELECT before them, or a number. */
static bool hides_nan(const cbx__kernel *k)
{
    const cbx__kinstr *v = k->instr.items;

    for (size_t i = 0; i < k->instr.n; i++) {
        const cbx__kid read = v[i].op == CBX__K_BITS && !is_float((cbx_dtype)v[i].dtype) ? v[i].a
                              : v[i].op == CBX__K_COPYSIGN                               ? v[i].b
                                                                                         : CBX__NO_KID;
        if (read == CBX__NO_KID || !is_float((cbx_dtype)v[read].dtype)) continue;
        const cbx__kinstr *x = &v[read], *test = &v[x->a];
        if (x->op == CBX__K_CONST) continue;
        if (x->op != CBX__K_SELECT || test->op != CBX__K_EQ || test->a != test->b || test->a != x->b) return false;
    }
    return true;
}

/* Takes the smaller trial in the place of t if it differs, too. */
static bool accept(pair *p, kernel_trial *t, kernel_trial *smaller)
{
    cbx__code *code[2] = { 0 };
    const cbx__kernel *k = &smaller->k;
    cbx_err err;
    bool differs = false;

    cbx__kernel_finish(&smaller->k);
    cbx_text_reset(&p->why);
    if (!kernel_check(k, &err) && hides_nan(k) && !p->emitter[0]->compile(p->ctx, 1, &k, &code[0], &err) &&
        !p->emitter[1]->compile(p->ctx, 1, &k, &code[1], &err))
        differs = trial_differs(smaller, (const cbx__code *const *)code, 0, &p->why);
    for (int i = 0; i < 2; i++) cbx__code_free(code[i]);
    if (differs) {
        kernel_trial_clear(t);
        *t = *smaller;
    } else {
        kernel_trial_clear(smaller);
    }
    return differs;
}

static void drop_stream(kernel_trial *t, size_t s)
{
    cbx__kernel *k = &t->k;

    for (size_t i = 0; i < k->instr.n; i++)
        if (k->instr.items[i].op == CBX__K_LOAD && k->instr.items[i].a > s) k->instr.items[i].a--;
    for (size_t c = 0; c < k->carries.n; c++) k->carries.items[c].first -= k->carries.items[c].first > s;
    for (size_t i = s; i + 1 < k->streams.n; i++) {
        k->streams.items[i] = k->streams.items[i + 1];
        t->seed[i] = t->seed[i + 1];
        t->shares[i] = t->shares[i + 1];
    }
    k->streams.n--;
    k->nout -= s < k->nout;
    for (size_t i = 0; i < k->nout; i++)
        t->shares[i] = t->shares[i] == (int)s ? -1 : t->shares[i] - (t->shares[i] > (int)s);
}

static bool is_loaded(const cbx__kernel *k, size_t s)
{
    for (size_t i = 0; i < k->instr.n; i++)
        if (k->instr.items[i].op == CBX__K_LOAD && k->instr.items[i].a == s) return true;
    for (size_t c = 0; c < k->carries.n; c++)
        if (k->carries.items[c].first == s) return true;
    return false;
}

static void replace_readers(cbx__kernel *k, cbx__kid of, cbx__kid by)
{
    for (size_t i = 0; i < k->instr.n; i++) {
        cbx__kinstr *x = &k->instr.items[i];
        const int n = cbx__kernel_operands(x);
        if (n > 0 && x->a == of) x->a = by;
        if (n > 1 && x->b == of) x->b = by;
        if (n > 2 && x->c == of) x->c = by;
    }
    for (size_t s = 0; s < k->nout; s++)
        if (k->streams.items[s].value == of) k->streams.items[s].value = by;
    for (size_t c = 0; c < k->carries.n; c++)
        if (k->carries.items[c].next == of) k->carries.items[c].next = by;
}

static bool shrink_streams(pair *p, kernel_trial *t)
{
    bool any = false;

    for (size_t s = t->k.streams.n; s-- > 0;) {
        if (s < t->k.nout ? t->k.nout == 1 : is_loaded(&t->k, s)) continue;
        kernel_trial smaller = copy_of(t);
        drop_stream(&smaller, s);
        any |= accept(p, t, &smaller);
    }
    for (size_t s = 0; s < t->k.nout; s++) {
        if (t->shares[s] < 0) continue;
        kernel_trial smaller = copy_of(t);
        smaller.shares[s] = -1;
        any |= accept(p, t, &smaller);
    }
    return any;
}

/* A value becomes one of its operands, or a constant. */
static bool shrink_instructions(pair *p, kernel_trial *t)
{
    bool any = false;

    for (size_t i = t->k.instr.n; i-- > 0;) {
        if (i >= t->k.instr.n) continue;
        const cbx__kinstr x = t->k.instr.items[i];
        const cbx__kid operand[3] = { x.a, x.b, x.c };
        bool done = x.op == CBX__K_CONST;
        for (int o = 0; o < cbx__kernel_operands(&x) && !done; o++) {
            if (t->k.instr.items[operand[o]].dtype != x.dtype) continue;
            kernel_trial smaller = copy_of(t);
            replace_readers(&smaller.k, (cbx__kid)i, operand[o]);
            done = accept(p, t, &smaller);
            any |= done;
        }
        if (done) continue;
        kernel_trial smaller = copy_of(t);
        smaller.k.instr.items[i] = (cbx__kinstr){ .op = CBX__K_CONST, .dtype = x.dtype };
        any |= accept(p, t, &smaller);
    }
    return any;
}

/* Rows for themselves: carries become loads of what they are at first. */
static bool shrink_carries(pair *p, kernel_trial *t)
{
    kernel_trial smaller;

    if (t->k.carries.n == 0) return false;
    smaller = copy_of(t);
    for (size_t i = 0; i < smaller.k.instr.n; i++) {
        cbx__kinstr *x = &smaller.k.instr.items[i];
        if (x->op != CBX__K_CARRY) continue;
        x->op = CBX__K_LOAD;
        x->a = t->k.carries.items[x->a].first;
    }
    for (size_t s = 0; s < smaller.k.nout; s++) smaller.k.streams.items[s].final = false;
    smaller.k.carries.n = 0;
    smaller.k.single = false;
    return accept(p, t, &smaller);
}

static bool shrink_extents(pair *p, kernel_trial *t)
{
    bool any = false;

    for (int way = 0; way < 4; way++) {
        kernel_trial smaller = copy_of(t);
        int64_t *extent = way % 2 ? &smaller.n : &smaller.m;
        *extent = way < 2 ? *extent / 2 : *extent - 1;
        if (*extent > 0)
            any |= accept(p, t, &smaller);
        else
            kernel_trial_clear(&smaller);
    }
    return any;
}

static void describe(pair *p, kernel_trial *t, uint64_t seed, const char **report)
{
    static char kept[4096];
    cbx_text text;

    cbx_text_init(&text, cbx_allocator_default());
    while (shrink_extents(p, t) || shrink_carries(p, t) || shrink_streams(p, t) || shrink_instructions(p, t)) continue;
    kernel_trial same = copy_of(t);
    accept(p, t, &same); /* its reason */
    cbx_text_printf(&text, "%s and %s differ, seed %llu, m = %lld, n = %lld: %s\n", p->emitter[0]->name,
                    p->emitter[1]->name, (unsigned long long)seed, (long long)t->m, (long long)t->n,
                    cbx_text_str(&p->why));
    cbx__kernel_text(&t->k, &text);
    snprintf(kept, sizeof kept, "%s", cbx_text_str(&text));
    *report = kept;
    cbx_text_clear(&text);
}

/* ---- all of it ---- */

#define BATCH ((size_t)64) /* kernels compiled together */

static bool batch_differs(pair *p, kernel_trial *trials, uint64_t seed, size_t n, const char **report)
{
    const cbx__kernel *kernels[BATCH];
    cbx__code *code[2] = { 0 };
    static cbx_err err;
    bool differs = false;

    for (size_t i = 0; i < n; i++) kernels[i] = &trials[i].k;
    for (int e = 0; e < 2 && !differs; e++) {
        if (!p->emitter[e]->compile(p->ctx, n, kernels, &code[e], &err)) continue;
        *report = err.message;
        differs = true;
    }
    for (size_t i = 0; i < n && !differs; i++) {
        if (!trial_differs(&trials[i], (const cbx__code *const *)code, i, &p->why)) continue;
        differs = true;
        describe(p, &trials[i], seed + i, report);
    }
    for (int e = 0; e < 2; e++) cbx__code_free(code[e]);
    return differs;
}

bool kernels_differ(cbx_ctx *ctx, const cbx__emitter *x, const cbx__emitter *y, unsigned kinds, uint64_t seed,
                    size_t count, const char **report)
{
    static kernel_trial trials[BATCH];
    pair p = { .ctx = ctx, .emitter = { x, y } };
    bool differs = false;

    *report = "";
    cbx_text_init(&p.why, cbx_allocator_default());
    for (size_t done = 0, n; done < count && !differs; done += n) {
        n = count - done < BATCH ? count - done : BATCH;
        for (size_t i = 0; i < n; i++) kernel_trial_make(&trials[i], kinds, seed + done + i);
        differs = batch_differs(&p, trials, seed + done, n, report);
        for (size_t i = 0; i < n; i++) kernel_trial_clear(&trials[i]);
    }
    cbx_text_clear(&p.why);
    return differs;
}
