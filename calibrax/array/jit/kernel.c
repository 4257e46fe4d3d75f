/* Kernels: building, tidying, hashing and printing them. */
#include "calibrax/array/jit/kernel.h"

#include <inttypes.h>
#include <string.h>

#include "calibrax/array/reference/reference.h"
#include "calibrax/base/hash_table.h"

#define BIT(t) (1u << CBX_##t)
#define INT    (BIT(I8) | BIT(I16) | BIT(I32) | BIT(I64) | BIT(U8) | BIT(U16) | BIT(U32) | BIT(U64))
#define FLT    (BIT(F32) | BIT(F64))
#define NUM    (INT | FLT)
#define BOOL   BIT(BOOL)
#define IB     (INT | BOOL)
#define ALL    (NUM | BOOL)

static const struct {
    const char *word;
    int operands;
    unsigned dtypes; /* of the result */
} ops[CBX__KOP_COUNT] = {
#define CBX__KOP_ROW(name, word, operands, dtypes) [CBX__K_##name] = { word, operands, dtypes },
    CBX__KOP_MAP(CBX__KOP_ROW)
#undef CBX__KOP_ROW
};

void cbx__kernel_init(cbx__kernel *k, const cbx_allocator *al) { *k = (cbx__kernel){ .al = *al }; }

void cbx__kernel_clear(cbx__kernel *k)
{
    cbx_list_clear(&k->al, &k->streams);
    cbx_list_clear(&k->al, &k->instr);
    cbx_list_clear(&k->al, &k->carries);
}

int cbx__kernel_operands(const cbx__kinstr *i)
{
    const int n = ops[i->op].operands;
    return i->op == CBX__K_MATH ? (int)strlen(cbx_prim_get_info((cbx_prim)i->prim)->operands) : n;
}

#define SAME_PRIM(name, ...) [CBX__K_##name] = CBX_PRIM_##name,
#define SAME_KOP(name, ...)  [CBX_PRIM_##name] = CBX__K_##name,
const uint16_t cbx__kop_prim[CBX__KOP_COUNT] = { CBX__KOP_SAME(SAME_PRIM) };
const uint8_t cbx__prim_kop[CBX_PRIM_LIMIT] = { CBX__KOP_SAME(SAME_KOP) };

const char *cbx__kernel_word(const cbx__kinstr *i)
{
    return i->op == CBX__K_MATH ? cbx_prim_name((cbx_prim)i->prim) : ops[i->op].word;
}

bool cbx__kernel_gives(cbx__kop op, cbx_dtype t) { return ops[op].dtypes >> t & 1; }

static bool same(const cbx__kinstr *x, const cbx__kinstr *y)
{
    return x->op == y->op && x->dtype == y->dtype && x->prim == y->prim && x->a == y->a && x->b == y->b &&
           x->c == y->c && x->bits == y->bits;
}

/* Kernels are short, and equal instructions near each other: a search from the end needs no
 * table. */
cbx__kid cbx__kernel_add(cbx__kernel *k, cbx__kinstr like)
{
    const int n = cbx__kernel_operands(&like);

    for (int o = 0; o < n; o++)
        if (like.in[o] == CBX__NO_KID) return CBX__NO_KID;
    for (size_t i = k->instr.n; i-- > 0;)
        if (same(&k->instr.items[i], &like)) return (cbx__kid)i;
    if (cbx_list_push(&k->al, &k->instr, like)) return (cbx__kid)(k->instr.n - 1);
    k->failed = true;
    return CBX__NO_KID;
}

cbx__kid cbx__kernel_const(cbx__kernel *k, cbx_dtype t, cbx_scalar v)
{
    cbx__kinstr i = { .op = CBX__K_CONST, .dtype = (uint8_t)t };
    cbx__ref_store_scalar(&v, t, &i.bits);
    return cbx__kernel_add(k, i);
}

void cbx__kernel_finish(cbx__kernel *k)
{
    const size_t n = k->instr.n;
    cbx__kid *to = cbx_mem_calloc(&k->al, n + 1, sizeof *to); /* 0: not needed; then 1 + the new number */
    cbx__kid next = 0;

    if (!to) {
        k->failed = true;
        return;
    }
    for (size_t s = 0; s < k->nout; s++) to[k->streams.items[s].value] = 1;
    for (size_t c = 0; c < k->carries.n; c++) to[k->carries.items[c].next] = 1;
    for (size_t i = n; i-- > 0;) {
        const cbx__kinstr *x = &k->instr.items[i];
        const int operands = cbx__kernel_operands(x);
        if (!to[i]) continue;
        for (int o = 0; o < operands; o++) to[x->in[o]] = 1;
    }
    for (size_t i = 0; i < n; i++) {
        cbx__kinstr x = k->instr.items[i];
        const int operands = cbx__kernel_operands(&x);
        if (!to[i]) continue;
        for (int o = 0; o < operands; o++) x.in[o] = to[x.in[o]] - 1;
        k->instr.items[next] = x;
        to[i] = ++next;
    }
    k->instr.n = next;
    for (size_t s = 0; s < k->nout; s++) k->streams.items[s].value = to[k->streams.items[s].value] - 1;
    for (size_t c = 0; c < k->carries.n; c++) k->carries.items[c].next = to[k->carries.items[c].next] - 1;
    cbx_mem_free(&k->al, to, (n + 1) * sizeof *to);
}

uint64_t cbx__kernel_work(const cbx__kernel *k)
{
    uint64_t work = 0;
    for (size_t i = 0; i < k->instr.n; i++) work += k->instr.items[i].op == CBX__K_MATH ? 20 : 1;
    return work;
}

static void constant_text(const cbx__kinstr *x, cbx_text *out)
{
    double d;
    float f;

    if (x->dtype == CBX_F64) {
        memcpy(&d, &x->bits, sizeof d);
        cbx_text_printf(out, " %.17g", d);
    } else if (x->dtype == CBX_F32) {
        memcpy(&f, &x->bits, sizeof f);
        cbx_text_printf(out, " %.9g", (double)f);
    } else {
        cbx_text_printf(out, " %" PRIu64, x->bits);
    }
}

void cbx__kernel_text(const cbx__kernel *k, cbx_text *out)
{
    static const char *const kinds[] = { "dense", "scalar", "strided", "index" };

    for (size_t s = 0; s < k->streams.n; s++) {
        const cbx__kstream *t = &k->streams.items[s];
        cbx_text_printf(out, "  stream %zu: %s %s%s", s, kinds[t->kind], cbx_dtype_name((cbx_dtype)t->dtype),
                        t->nontemporal ? " past the caches" : "");
        if (t->beside) cbx_text_printf(out, " with the next %d beside it", t->beside - 1);
        if (s < k->nout) cbx_text_printf(out, " = v%u%s", t->value, t->final ? " of the last row" : "");
        cbx_text_puts(out, "\n");
    }
    for (size_t i = 0; i < k->instr.n; i++) {
        const cbx__kinstr *x = &k->instr.items[i];
        const int n = cbx__kernel_operands(x);
        cbx_text_printf(out, "  v%zu = %s.%s", i, cbx__kernel_word(x), cbx_dtype_name((cbx_dtype)x->dtype));
        if (x->op == CBX__K_CONST) constant_text(x, out);
        if (x->op == CBX__K_LOAD || x->op == CBX__K_CARRY) cbx_text_printf(out, " %u", x->a);
        for (int o = 0; o < n; o++) cbx_text_printf(out, " v%u", x->in[o]);
        cbx_text_puts(out, "\n");
    }
    for (size_t c = 0; c < k->carries.n; c++)
        cbx_text_printf(out, "  carry %zu: from stream %u, next v%u\n", c, k->carries.items[c].first,
                        k->carries.items[c].next);
}
