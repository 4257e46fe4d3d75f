/* Selections of formulas that AVX-512 makes as one permutation: of 8 numbers, by 3 bits. */
#include "calibrax/array/jit/llvm_emit.h"

#define NUMBERS 8 /* doubles of a vector */

/* What instruction i is where the lowest bits of *index are j; false: it depends on more. */
static bool chosen(const cbx__kinstr *instr, cbx__kid i, uint64_t j, cbx__kid *index, uint64_t *out)
{
    const cbx__kinstr *x = &instr[i];
    uint64_t a, b;

    switch (x->op) {
    case CBX__K_CONST: *out = x->bits; return true;
    case CBX__K_AND:
        if (instr[x->b].op != CBX__K_CONST || instr[x->b].bits >= NUMBERS) return false;
        if (*index != CBX__NO_KID && *index != x->a) return false;
        *index = x->a;
        *out = j & instr[x->b].bits;
        return true;
    case CBX__K_EQ:
        if (!chosen(instr, x->a, j, index, &a) || !chosen(instr, x->b, j, index, &b)) return false;
        *out = a == b;
        return true;
    case CBX__K_SELECT: return chosen(instr, x->a, j, index, &a) && chosen(instr, a ? x->b : x->c, j, index, out);
    default: return false;
    }
}

LLVMValueRef cbx__llvm_lookup(const llvm_emission *e, unsigned lanes, const cbx__kinstr *instr, cbx__kid i)
{
    const cbx__llvm_calls *c = e->c;
    const cbx__kinstr *x = &instr[i];
    LLVMTypeRef types[2] = { llvm_vector(e, e->types[CBX_F64], NUMBERS), llvm_vector(e, e->i64, NUMBERS) };
    LLVMTypeRef splits[2] = { types[1], llvm_vector(e, e->i64, lanes) };
    LLVMTypeRef joins[2] = { llvm_vector(e, e->types[CBX_F64], lanes), types[0] };
    LLVMValueRef numbers[NUMBERS], table, all = c->GetPoison(joins[0]);
    cbx__kid index = CBX__NO_KID;

    if (e->target->vector_bytes < 64 || lanes % NUMBERS || x->op != CBX__K_SELECT || x->dtype != CBX_F64 ||
        instr[x->b].op != CBX__K_SELECT || instr[instr[x->b].b].op != CBX__K_SELECT)
        return NULL;
    for (uint64_t j = 0, bits; j < NUMBERS; j++) {
        if (!chosen(instr, i, j, &index, &bits)) return NULL;
        numbers[j] = cbx__llvm_number(e, CBX_F64, bits);
    }
    table = c->ConstVector(numbers, NUMBERS);
    if (index == CBX__NO_KID) return NULL;
    for (unsigned k = 0; k < lanes; k += NUMBERS) {
        LLVMValueRef part[2] = { e->scratch[index], llvm_int(e, k) };
        LLVMValueRef args[2] = { table, cbx__llvm_intrinsic(e, "llvm.vector.extract", 2, splits, 2, part) };
        LLVMValueRef to[3] = { all, cbx__llvm_intrinsic(e, "llvm.x86.avx512.permvar.df.512", 0, NULL, 2, args),
                               llvm_int(e, k) };
        all = cbx__llvm_intrinsic(e, "llvm.vector.insert", 2, joins, 3, to);
    }
    return all;
}
