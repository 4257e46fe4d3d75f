/* Whether a kernel is one: what the library makes of a graph by its construction, and random
 * kernels must show. */
#include "kernels_random.h"

/* What is wrong with an instruction; NULL: nothing. */
static const char *fault(const cbx__kernel *k, cbx__kid n)
{
    const cbx__kinstr *x = &k->instr.items[n], *a;
    const int operands = cbx__kernel_operands(x);
    const bool comparison = x->op >= CBX__K_EQ && x->op <= CBX__K_GE;

    if (!cbx__kernel_gives((cbx__kop)x->op, (cbx_dtype)x->dtype)) return "does not give this dtype";
    for (int i = 0; i < operands; i++)
        if (x->in[i] >= n) return "reads a higher number";
    if (x->op == CBX__K_LOAD && (x->a >= k->streams.n || k->streams.items[x->a].dtype != x->dtype))
        return "reads another dtype than the stream's";
    if (x->op == CBX__K_CARRY &&
        (x->a >= k->carries.n || k->carries.items[x->a].next >= k->instr.n ||
         k->instr.items[k->carries.items[x->a].next].dtype != x->dtype || k->carries.items[x->a].first < k->nout ||
         k->streams.items[k->carries.items[x->a].first].dtype != x->dtype))
        return "is a carry of another dtype than its first or its next number";
    if (operands == 0) return NULL;
    a = &k->instr.items[x->a];
    if (x->op == CBX__K_BITS &&
        (a->dtype == CBX_BOOL || cbx_dtype_size((cbx_dtype)a->dtype) != cbx_dtype_size((cbx_dtype)x->dtype)))
        return "has an operand of another size";
    if (x->op == CBX__K_SELECT && a->dtype != CBX_BOOL) return "has a condition that is no bool";
    if (x->op == CBX__K_BITS || x->op == CBX__K_CAST) return NULL;
    for (int i = x->op == CBX__K_SELECT; i < operands; i++)
        if (k->instr.items[x->in[i]].dtype != (comparison ? a->dtype : x->dtype))
            return "has operands of another dtype";
    return NULL;
}

cbx_status kernel_check(const cbx__kernel *k, cbx_err *err)
{
    for (size_t s = 0; s < k->streams.n; s++) {
        const cbx__kstream *t = &k->streams.items[s];
        if (t->kind == CBX__STREAM_INDEX && t->dtype != CBX_I64)
            return cbx_fail(err, CBX_EINVAL, "stream %zu is an index of another dtype than int64", s);
        if (s < k->nout && t->kind != CBX__STREAM_DENSE && t->kind != CBX__STREAM_STRIDED)
            return cbx_fail(err, CBX_EINVAL, "stream %zu is an output without a step", s);
        if (s < k->nout && (t->value >= k->instr.n || k->instr.items[t->value].dtype != t->dtype))
            return cbx_fail(err, CBX_EINVAL, "stream %zu is an output of another dtype than its value", s);
    }
    for (size_t i = 0; i < k->instr.n; i++) {
        const char *why = fault(k, (cbx__kid)i);
        if (why)
            return cbx_fail(err, CBX_EINVAL, "v%zu = %s.%s %s", i, cbx__kernel_word(&k->instr.items[i]),
                            cbx_dtype_name((cbx_dtype)k->instr.items[i].dtype), why);
    }
    return CBX_OK;
}
