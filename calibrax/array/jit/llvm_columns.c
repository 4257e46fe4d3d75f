/* Kernels with carries: blocks of columns, in each of which rows follow each other. */
#include "calibrax/array/jit/llvm_emit.h"

/*
 * The rows of one block of columns, in order; afterwards the builder is behind the last.
 * @param part  not NULL: of one column, of which cbx__llvm_steps takes what it can
 */
static void emit_column_rows(llvm_emission *e, llvm_body *body, LLVMValueRef *first, LLVMValueRef *carry,
                             const uint8_t *part, LLVMValueRef *more)
{
    const cbx__kernel *k = e->kernel;
    LLVMValueRef m = e->c->GetParam(e->function, 1), from = llvm_int(e, 0), j, next;
    LLVMBasicBlockRef before, rows = llvm_block(e, "row"), end = llvm_block(e, "rows_end"), last;

    for (size_t c = 0; c < k->carries.n; c++) carry[c] = cbx__llvm_element(e, body, k->carries.items[c].first);
    if (part) from = cbx__llvm_steps(e, part, body->values, more, carry);
    before = llvm_here(e);
    if (part)
        llvm_branch(e, llvm_compare(e, LLVM_INT_SLT, from, m), rows, end);
    else
        llvm_jump(e, rows);
    llvm_enter(e, rows);
    j = llvm_phi(e, e->i64, from, before);
    for (size_t s = 0; s < k->streams.n; s++) {
        LLVMValueRef base = e->streams[s].base;
        e->streams[s].base = llvm_phi(e, e->c->TypeOf(base), base, before);
    }
    for (size_t i = 0; i < k->instr.n; i++) {
        const cbx__kinstr *x = &k->instr.items[i];
        if (x->op != CBX__K_CARRY) continue;
        body->values[i] = llvm_phi(e, e->c->TypeOf(carry[x->a]), carry[x->a], before);
    }
    cbx__llvm_load_scalars(e);
    cbx__llvm_body(e, body);
    cbx__llvm_store(e, body, false, false);
    next = llvm_op(e, LLVM_ADD, j, llvm_int(e, 1));
    last = llvm_here(e);
    llvm_incoming(e, j, next, last);
    for (size_t s = 0; s < k->streams.n; s++) llvm_incoming(e, e->streams[s].base, cbx__llvm_next_row(e, s), last);
    for (size_t i = 0; i < k->instr.n; i++) {
        const cbx__kinstr *x = &k->instr.items[i];
        if (x->op == CBX__K_CARRY) llvm_incoming(e, body->values[i], body->values[k->carries.items[x->a].next], last);
    }
    llvm_branch(e, llvm_compare(e, LLVM_INT_SLT, next, m), rows, end);

    llvm_enter(e, end);
    for (size_t c = 0; part && c < k->carries.n; c++) { /* maybe no row was left */
        LLVMValueRef *value = &more[c], of_row = body->values[k->carries.items[c].next];
        *value = llvm_phi(e, e->c->TypeOf(carry[c]), carry[c], before);
        llvm_incoming(e, *value, of_row, last);
    }
    for (size_t c = 0; part && c < k->carries.n; c++) body->values[k->carries.items[c].next] = more[c];
    for (size_t s = 0; s < k->streams.n; s++) e->streams[s].base = first[s];
    cbx__llvm_store(e, body, false, true);
}

/*
 * The blocks of columns that a body takes, in each all rows.
 * @param from  the first column, in block before, where the builder is
 * @return the first column that is left; the builder is in a block behind
 */
static LLVMValueRef emit_blocks(llvm_emission *e, llvm_body *body, LLVMValueRef *first, LLVMValueRef from,
                                const uint8_t *part, LLVMValueRef *more)
{
    LLVMValueRef n = e->c->GetParam(e->function, 2), carry[CBX__MAX_CARRIES], end;
    LLVMBasicBlockRef before = llvm_here(e), head = llvm_block(e, "columns"), work = llvm_block(e, "column"),
                      behind = llvm_block(e, "columns_end");

    llvm_go(e, head);
    body->i = llvm_phi(e, e->i64, from, before);
    end = llvm_op(e, LLVM_ADD, body->i, llvm_int(e, body->wide ? body->lanes : 1));
    llvm_branch(e, llvm_compare(e, LLVM_INT_SLE, end, n), work, behind);

    llvm_enter(e, work);
    if (!body->wide && body->lanes > 1) cbx__llvm_set_mask(e, body, n);
    for (size_t s = 0; s < e->kernel->streams.n; s++) e->streams[s].base = first[s];
    cbx__llvm_load_scalars(e);
    emit_column_rows(e, body, first, carry, part, more);
    llvm_incoming(e, body->i, llvm_op(e, LLVM_ADD, body->i, llvm_int(e, body->lanes)), llvm_here(e));
    llvm_jump(e, head);
    llvm_enter(e, behind);
    return body->i;
}

/* A kernel with carries: wide blocks of columns, then narrow ones. */
void cbx__llvm_columns(llvm_emission *e, LLVMValueRef *first, LLVMValueRef *values, LLVMValueRef *more, uint8_t *part)
{
    llvm_body wide = { .lanes = e->wide, .wide = true, .count = llvm_int(e, e->wide), .values = values };
    llvm_body narrow = { .lanes = e->kernel->single ? 1 : e->narrow, .count = llvm_int(e, 1), .values = values };
    LLVMBasicBlockRef entry = llvm_block(e, "entry"), columns = llvm_block(e, "rows"), exit = llvm_block(e, "exit");
    LLVMValueRef at = llvm_int(e, 0);

    llvm_enter(e, entry);
    cbx__llvm_arguments(e, first);
    llvm_branch(e, llvm_compare(e, LLVM_INT_SGT, e->c->GetParam(e->function, 1), llvm_int(e, 0)), columns, exit);
    llvm_enter(e, columns);
    if (!e->kernel->single) at = emit_blocks(e, &wide, first, at, NULL, NULL);
    emit_blocks(e, &narrow, first, at, cbx__llvm_divides(e, part) ? part : NULL, more);
    llvm_go(e, exit);
    e->c->BuildRetVoid(e->builder);
}
