/* Inside llvm_module.c and llvm_body.c: the function that is being made of a kernel. */
#ifndef CALIBRAX_ARRAY_JIT_LLVM_EMIT_H
#define CALIBRAX_ARRAY_JIT_LLVM_EMIT_H

#include "calibrax/array/jit/llvm.h"
#include "calibrax/base/arena.h"

#define LLVM_MAX_LANES 256 /* 4 vectors of 64 bytes */

/* A stream in the function.  What a row hoists is one native vector, since a wide one would hold
 * its registers several times over. */
typedef struct llvm_stream {
    LLVMValueRef base;             /* in the row: pointer, or int64 of an INDEX */
    LLVMValueRef outer;            /* bytes from row to row */
    LLVMValueRef inner;            /* STRIDED, INDEX */
    LLVMValueRef inner_3, inner_4; /* STRIDED: 3 and 4 times that */
    LLVMValueRef scalar;           /* SCALAR: the element */
    LLVMValueRef splat;            /* SCALAR: a native vector of it */
    LLVMValueRef wide, ramp;       /* INDEX: 0, inner, 2 inner ... for the lanes of the two bodies */
} llvm_stream;

/* One body: the instructions for some lanes at a time. */
typedef struct llvm_body {
    unsigned lanes; /* 1: scalars, not vectors */
    bool wide;
    bool whole;         /* all instructions, one after the other */
    LLVMValueRef i;     /* int64: the first element */
    LLVMValueRef count; /* int64: how many elements, at most lanes */
    LLVMValueRef mask;  /* NULL: all lanes */
    LLVMValueRef *values;
} llvm_body;

typedef struct llvm_emission {
    const cbx__llvm_calls *c;
    const cbx__llvm_target *target;
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMTypeRef types[CBX_DTYPE_COUNT]; /* in registers: bool is one bit */
    LLVMTypeRef i8, i32, i64, pointer;
    LLVMTypeRef loop_type; /* of cbx__loop */
    LLVMValueRef rarely;   /* branch weights */
    unsigned profile;      /* kind of metadata */
    /* of one function */
    const cbx__kernel *kernel;
    LLVMValueRef function;
    unsigned native;       /* lanes of one vector of the widest dtype */
    unsigned wide;         /* lanes of the main body */
    unsigned narrow;       /* lanes of the body for the rest: native with masks, or 1 */
    LLVMTypeRef lane_type; /* integer as wide as the widest dtype: lanes are counted in it */
    llvm_stream *streams;
    LLVMValueRef slots[3], slot_pointers, slot_steps; /* for calls of loops: result and operands */
    LLVMValueRef *scratch;                            /* values of a formula; as long as the longest */
    bool *of_first;                                   /* the same: whether they depend on its first operand alone */
    /* of each MATH instruction in the body: values of its formula that a later one takes,
     * or NULL */
    LLVMValueRef **shared;
    LLVMValueRef outside; /* of a GPU, which calls no loops: an int32 there that is set where a formula does not hold */
    cbx_status status;    /* CBX_EUNSUPPORTED: unsupported */
    cbx_prim unsupported;
    cbx_dtype unsupported_dtype;
} llvm_emission;

static inline LLVMTypeRef llvm_vector(const llvm_emission *e, LLVMTypeRef element, unsigned lanes)
{
    return lanes == 1 ? element : e->c->VectorType(element, lanes);
}
static inline LLVMValueRef llvm_int(const llvm_emission *e, int64_t v)
{
    return e->c->ConstInt(e->i64, (uint64_t)v, 1);
}
static inline LLVMValueRef llvm_word(const llvm_emission *e, uint64_t v) { return e->c->ConstInt(e->i32, v, 0); }
static inline LLVMValueRef llvm_op(const llvm_emission *e, int op, LLVMValueRef a, LLVMValueRef b)
{
    return e->c->BuildBinOp(e->builder, op, a, b, "");
}
/** Address of element i behind a pointer. */
static inline LLVMValueRef llvm_item(const llvm_emission *e, LLVMTypeRef element, LLVMValueRef p, LLVMValueRef i)
{
    return e->c->BuildGEP2(e->builder, element, p, &i, 1, "");
}
/** Address `bytes` behind a pointer. */
static inline LLVMValueRef llvm_at(const llvm_emission *e, LLVMValueRef p, LLVMValueRef bytes)
{
    return llvm_item(e, e->i8, p, bytes);
}

static inline LLVMBasicBlockRef llvm_block(const llvm_emission *e, const char *name)
{
    return e->c->AppendBasicBlockInContext(e->context, e->function, name);
}
static inline void llvm_enter(const llvm_emission *e, LLVMBasicBlockRef b)
{
    e->c->PositionBuilderAtEnd(e->builder, b);
}
static inline void llvm_incoming(const llvm_emission *e, LLVMValueRef to, LLVMValueRef v, LLVMBasicBlockRef from)
{
    e->c->AddIncoming(to, &v, &from, 1);
}
/** With what comes from one block; NULL: all of it is added later. */
static inline LLVMValueRef llvm_phi(const llvm_emission *e, LLVMTypeRef type, LLVMValueRef v, LLVMBasicBlockRef from)
{
    LLVMValueRef phi = e->c->BuildPhi(e->builder, type, "");
    if (from) llvm_incoming(e, phi, v, from);
    return phi;
}
static inline LLVMValueRef llvm_compare(const llvm_emission *e, int how, LLVMValueRef a, LLVMValueRef b)
{
    return e->c->BuildICmp(e->builder, how, a, b, "");
}
static inline LLVMValueRef llvm_compare_floats(const llvm_emission *e, int how, LLVMValueRef a, LLVMValueRef b)
{
    return e->c->BuildFCmp(e->builder, how, a, b, "");
}
static inline LLVMValueRef llvm_select(const llvm_emission *e, LLVMValueRef is, LLVMValueRef a, LLVMValueRef b)
{
    return e->c->BuildSelect(e->builder, is, a, b, "");
}
static inline LLVMValueRef llvm_not(const llvm_emission *e, LLVMValueRef v)
{
    return e->c->BuildNot(e->builder, v, "");
}
static inline LLVMValueRef llvm_cast(const llvm_emission *e, int op, LLVMValueRef v, LLVMTypeRef to)
{
    return e->c->BuildCast(e->builder, op, v, to, "");
}
static inline LLVMValueRef llvm_lane(const llvm_emission *e, LLVMValueRef v, unsigned lane)
{
    return e->c->BuildExtractElement(e->builder, v, llvm_int(e, lane), "");
}
static inline LLVMValueRef llvm_with_lane(const llvm_emission *e, LLVMValueRef v, LLVMValueRef x, unsigned lane)
{
    return e->c->BuildInsertElement(e->builder, v, x, llvm_int(e, lane), "");
}
static inline void llvm_jump(const llvm_emission *e, LLVMBasicBlockRef to) { e->c->BuildBr(e->builder, to); }
static inline LLVMValueRef llvm_branch(const llvm_emission *e, LLVMValueRef is, LLVMBasicBlockRef to,
                                       LLVMBasicBlockRef other)
{
    return e->c->BuildCondBr(e->builder, is, to, other);
}
static inline LLVMBasicBlockRef llvm_here(const llvm_emission *e) { return e->c->GetInsertBlock(e->builder); }
/** On to a block; returns the one before. */
static inline LLVMBasicBlockRef llvm_go(const llvm_emission *e, LLVMBasicBlockRef to)
{
    LLVMBasicBlockRef before = llvm_here(e);
    llvm_jump(e, to);
    llvm_enter(e, to);
    return before;
}

/** It has no unwind table. */
static inline void llvm_no_unwind(const llvm_emission *e, LLVMValueRef function)
{
    const unsigned kind = e->c->GetEnumAttributeKindForName("nounwind", 8);
    e->c->AddAttributeAtIndex(function, LLVM_FUNCTION_INDEX, e->c->CreateEnumAttribute(e->context, kind, 0));
}

/** False: of an INDEX, whose base is a number. */
static inline bool llvm_moves_memory(const cbx__kstream *s) { return s->kind != CBX__STREAM_INDEX; }

/* llvm_module.c */

/** The last instruction before i that gives a function of the same first operand; i: no
 * such one. */
cbx__kid cbx__llvm_sibling(const cbx__kernel *k, cbx__kid i);
/** Context, module, builder and types. */
void cbx__llvm_open_module(llvm_emission *e, const char *name);
/** Memory for a function of a kernel; values: of its instructions.  false without memory. */
bool cbx__llvm_begin(llvm_emission *e, const cbx__kernel *k, cbx_arena *arena, LLVMValueRef **values);
/** What holds for all rows of a function. @param first  written: where each stream begins */
void cbx__llvm_arguments(llvm_emission *e, LLVMValueRef *first);
/** Elements of SCALAR streams, from where the streams begin. */
void cbx__llvm_load_scalars(llvm_emission *e);
/** The lanes of a narrow body that are elements below `end`. */
void cbx__llvm_set_mask(const llvm_emission *e, llvm_body *body, LLVMValueRef end);
/** Where a stream is in the next row. */
LLVMValueRef cbx__llvm_next_row(const llvm_emission *e, size_t stream);

/* llvm_columns.c */

/** The loops of a kernel with carries. @param more, part  memory: for each instruction and carry,
 *                                                        for each instruction */
void cbx__llvm_columns(llvm_emission *e, LLVMValueRef *first, LLVMValueRef *values, LLVMValueRef *more, uint8_t *part);

/* llvm_steps.c */

/**
 * Whether a kernel with carries, of one column, gains by being divided: what does not wait for
 * carries is computed for several rows at a time.
 * @param parts  written: of each instruction, for cbx__llvm_steps
 */
bool cbx__llvm_divides(const llvm_emission *e, uint8_t *parts);
/**
 * As many rows as make whole vectors.  The builder is where they begin, and afterwards where the
 * rest does; so are the streams' bases and the carries.
 * @param one   as values: of one row
 * @return the first row of the rest
 */
LLVMValueRef cbx__llvm_steps(llvm_emission *e, const uint8_t *parts, LLVMValueRef *values, LLVMValueRef *one,
                             LLVMValueRef *carry);

/* llvm_values.c */

/** Type of an element in memory. */
LLVMTypeRef cbx__llvm_memory_type(const llvm_emission *e, cbx_dtype t);
/** A constant of a dtype by its bits; the same one in all lanes. */
LLVMValueRef cbx__llvm_number(const llvm_emission *e, cbx_dtype t, uint64_t bits);
LLVMValueRef cbx__llvm_constant(const llvm_emission *e, LLVMValueRef scalar, unsigned lanes);
/** 0, 1, 2 ... of an integer type. */
LLVMValueRef cbx__llvm_iota(const llvm_emission *e, LLVMTypeRef element, unsigned lanes);
/** A scalar in all lanes. */
LLVMValueRef cbx__llvm_splat(const llvm_emission *e, LLVMValueRef scalar, unsigned lanes);
/** An intrinsic of one or two overloaded types. */
LLVMValueRef cbx__llvm_intrinsic(const llvm_emission *e, const char *name, size_t ntypes, LLVMTypeRef *types, size_t n,
                                 LLVMValueRef *args);
/** Between memory, where a bool is a byte, and registers. */
LLVMValueRef cbx__llvm_from_memory(const llvm_emission *e, cbx_dtype t, LLVMValueRef v, unsigned lanes);
LLVMValueRef cbx__llvm_to_memory(const llvm_emission *e, cbx_dtype t, LLVMValueRef v, unsigned lanes);
/**
 * FLOOR_DIV or REM of integers.
 * @param inside  the lanes whose result is right, the others are for the loop; NULL: all are right
 */
LLVMValueRef cbx__llvm_quotient(const llvm_emission *e, unsigned lanes, const cbx__kinstr *x, LLVMValueRef a,
                                LLVMValueRef b, LLVMValueRef *inside);
/** The same by divisions of integers, which give every result: where they are as fast. */
LLVMValueRef cbx__llvm_exact_quotient(const llvm_emission *e, const cbx__kinstr *x, LLVMValueRef a, LLVMValueRef b);
/** An instruction but LOAD, MATH, FLOOR_DIV and REM; from: dtype of operand a; in: three,
 * or NULL. */
LLVMValueRef cbx__llvm_instruction(const llvm_emission *e, unsigned lanes, const cbx__kinstr *x, cbx_dtype from,
                                   LLVMValueRef *in);

/* llvm_lookup.c */

/** Instruction i of a formula, which is in e->scratch up to there, as a permutation; NULL: it is
 * not one. */
LLVMValueRef cbx__llvm_lookup(const llvm_emission *e, unsigned lanes, const cbx__kinstr *instr, cbx__kid i);

/* llvm_body.c */

/** All instructions of the kernel; the builder is behind them afterwards, maybe in a block of
 * its own. */
void cbx__llvm_body(llvm_emission *e, llvm_body *body);
/** One instruction, but no CARRY. */
void cbx__llvm_compute(llvm_emission *e, const llvm_body *body, cbx__kid i);
/** Stores the outputs; aligned: those that go past the caches lie on whole vectors; final: those of
 * the last row alone. */
void cbx__llvm_store(llvm_emission *e, const llvm_body *body, bool aligned, bool final);
/** Output o alone; wherever it is to be stored. */
void cbx__llvm_store_output(llvm_emission *e, const llvm_body *body, size_t o, bool aligned);
/** The elements of an input. */
LLVMValueRef cbx__llvm_element(const llvm_emission *e, const llvm_body *body, uint32_t stream);
/** A load or store at an address aligned to so many bytes. */
LLVMValueRef cbx__llvm_load(const llvm_emission *e, LLVMTypeRef type, LLVMValueRef p, size_t alignment);
LLVMValueRef cbx__llvm_put(const llvm_emission *e, LLVMValueRef v, LLVMValueRef p, size_t alignment);

#endif
