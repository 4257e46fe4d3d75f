/*
 * Inside the compiler: kernels, the form in which loops reach the emitters.
 *
 * A kernel is a straight-line program over the elements of m rows of n elements.  Streams connect
 * it with memory: element (j, i) of stream k is at p[k] + j * outer[k] + i * step, where step is
 * the size of an element (DENSE), 0 (SCALAR) or inner[k] (STRIDED).  A stream of kind INDEX has no
 * memory: its element is the int64 number p[k] + j * outer[k] + i * inner[k].  Instructions are
 * numbered in order and read lower numbers alone.  A kernel gives the same bits whatever the
 * emitter, the vector length, m, n, and the division of elements over calls: no element's value
 * depends on its place.  Only which NaN an operation gives is unspecified, its sign and payload,
 * and so are BITS, and COPYSIGN with the sign, of a NaN that was computed.
 */
#ifndef CALIBRAX_ARRAY_JIT_KERNEL_H
#define CALIBRAX_ARRAY_JIT_KERNEL_H

#include "calibrax/array/primitive.h"
#include "calibrax/base/list.h"

typedef uint32_t cbx__kid; /* number of an instruction */
#define CBX__NO_KID UINT32_MAX

/*
 * name, word, operands, dtypes of the result.  Operands have the dtype of the result but where
 * said.  dtypes are bool, the integers, float32, float64; a bool is one bit in registers and one
 * byte, 0 or 1, in memory.  Integers wrap.
 *   CONST     `bits` holds the element
 *   LOAD      element of stream a
 *   CARRY     what the row before gave for carry a
 *   FLOOR_DIV, REM  of integers: as cbx__floor_div_i64 and its kin (kernels/scalar.h), 0 where the
 *                   divisor is 0
 *   SHL, SHR  of integers; SHR of a signed dtype keeps the sign.  A count of the width or more, or
 *             below 0, leaves 0, or -1 of a negative number that SHR moves
 *   NOT       of bools: the other one; of integers: all bits
 *   EQ ... GE of operands of one dtype, whichever; false with NaN, but NE
 *   SELECT    a (bool) ? b : c
 *   CAST      from the dtype of a, as the loops of kernels/cast_isa.c
 *   BITS      the same bits as another dtype of the same size, not bool
 *   FMA       a * b + c, rounded once
 *   MATH      the function of primitive `prim` of a, or of a and b, as its loop (kernels/loops.h);
 *             one of class MAP, whose operands and result have one dtype
 */
#define CBX__KOP_SAME(X) /* primitives of the same name */                                                             \
    X(ADD, "add", 2, NUM)                                                                                              \
    X(SUB, "sub", 2, NUM)                                                                                              \
    X(MUL, "mul", 2, NUM)                                                                                              \
    X(DIV, "div", 2, FLT)                                                                                              \
    X(FMA, "fma", 3, FLT)                                                                                              \
    X(NEG, "neg", 1, NUM)                                                                                              \
    X(ABS, "abs", 1, FLT)                                                                                              \
    X(SQRT, "sqrt", 1, FLT)                                                                                            \
    X(FLOOR, "floor", 1, FLT)                                                                                          \
    X(CEIL, "ceil", 1, FLT)                                                                                            \
    X(RINT, "rint", 1, FLT)                                                                                            \
    X(TRUNC, "trunc", 1, FLT)                                                                                          \
    X(COPYSIGN, "copysign", 2, FLT)                                                                                    \
    X(FLOOR_DIV, "floor_div", 2, INT)                                                                                  \
    X(REM, "rem", 2, INT)                                                                                              \
    X(AND, "and", 2, IB)                                                                                               \
    X(OR, "or", 2, IB)                                                                                                 \
    X(XOR, "xor", 2, IB)                                                                                               \
    X(NOT, "not", 1, IB)                                                                                               \
    X(SHL, "shl", 2, INT)                                                                                              \
    X(SHR, "shr", 2, INT)                                                                                              \
    X(EQ, "eq", 2, BOOL)                                                                                               \
    X(NE, "ne", 2, BOOL)                                                                                               \
    X(LT, "lt", 2, BOOL)                                                                                               \
    X(LE, "le", 2, BOOL)                                                                                               \
    X(GT, "gt", 2, BOOL)                                                                                               \
    X(GE, "ge", 2, BOOL)                                                                                               \
    X(SELECT, "select", 3, ALL)                                                                                        \
    X(CAST, "cast", 1, ALL)

#define CBX__KOP_MAP(X)                                                                                                \
    X(CONST, "const", 0, ALL)                                                                                          \
    X(LOAD, "load", 0, ALL)                                                                                            \
    X(CARRY, "carry", 0, ALL)                                                                                          \
    CBX__KOP_SAME(X)                                                                                                   \
    X(BITS, "bits", 1, NUM)                                                                                            \
    X(MATH, "math", 2, ALL) /* or 1 */

typedef enum cbx__kop {
#define CBX__KOP(name, word, operands, dtypes) CBX__K_##name,
    CBX__KOP_MAP(CBX__KOP)
#undef CBX__KOP
        CBX__KOP_COUNT
} cbx__kop;

typedef struct cbx__kinstr {
    uint8_t op, dtype; /* cbx__kop; cbx_dtype of the result */
    uint16_t prim;     /* MATH */
    union {            /* operands; LOAD: a is a stream; what an operation does not have is 0 */
        struct {
            cbx__kid a, b, c;
        };
        cbx__kid in[3];
    };
    uint64_t bits; /* CONST, in the low bytes */
} cbx__kinstr;

typedef enum cbx__kstream_kind {
    CBX__STREAM_DENSE,
    CBX__STREAM_SCALAR,
    CBX__STREAM_STRIDED,
    CBX__STREAM_INDEX
} cbx__kstream_kind;

/*
 * Outputs come first, DENSE or STRIDED; their memory overlaps nothing but an input that has the
 * very same place and steps.  Where the steps of a STRIDED one are 0, its elements are equal.
 */
typedef struct cbx__kstream {
    uint8_t dtype, kind;
    /* of a STRIDED output: how many from this one on lie side by side and fill the step; 0:
     * not known */
    uint8_t beside;
    bool nontemporal; /* of a DENSE output, or those beside each other: too large for the caches */
    bool final;       /* of an output with carries: written behind the last row alone, where row 0 is */
    cbx__kid value;   /* of an output */
} cbx__kstream;

/** Elements of an output, or of those beside it, that lie one after the other. */
static inline size_t cbx__kstream_run(const cbx__kstream *s) { return s->beside ? s->beside : 1; }

#define CBX__MAX_CARRIES 64 /* of a kernel */

/* A number of each column that goes from row to row: that of row 0 is the element of an
 * input there. */
typedef struct cbx__kcarry {
    uint32_t first; /* stream */
    cbx__kid next;
} cbx__kcarry;

typedef struct cbx__kernel {
    cbx_allocator al;
    size_t nout;
    CBX_LIST(cbx__kcarry) carries; /* with some, rows are carried out in order, and m is at least 1 */
    bool single;                   /* with carries: n is 1 */
    CBX_LIST(cbx__kstream) streams;
    CBX_LIST(cbx__kinstr) instr;
    bool failed; /* out of memory while it was built */
} cbx__kernel;

/** Compiled: m rows of n elements; self is what the emitter gave with it. */
typedef void (*cbx__kernel_fn)(const void *self, int64_t m, int64_t n, char *const *p, const int64_t *outer,
                               const int64_t *inner);

void cbx__kernel_init(cbx__kernel *k, const cbx_allocator *al);
void cbx__kernel_clear(cbx__kernel *k);

/**
 * Adds an instruction, or returns the number of an equal one.  Operations on constants are not
 * carried out.
 * @param like  op, dtype, prim, operands, bits
 * @return CBX__NO_KID without memory, which the kernel notes, and for an operand that is
 *   CBX__NO_KID
 */
cbx__kid cbx__kernel_add(cbx__kernel *k, cbx__kinstr like);
static inline cbx__kid cbx__k1(cbx__kernel *k, cbx__kop op, cbx_dtype t, cbx__kid a)
{
    return cbx__kernel_add(k, (cbx__kinstr){ .op = (uint8_t)op, .dtype = (uint8_t)t, .a = a });
}
static inline cbx__kid cbx__k2(cbx__kernel *k, cbx__kop op, cbx_dtype t, cbx__kid a, cbx__kid b)
{
    return cbx__kernel_add(k, (cbx__kinstr){ .op = (uint8_t)op, .dtype = (uint8_t)t, .a = a, .b = b });
}
static inline cbx__kid cbx__k3(cbx__kernel *k, cbx__kop op, cbx_dtype t, cbx__kid a, cbx__kid b, cbx__kid c)
{
    return cbx__kernel_add(k, (cbx__kinstr){ .op = (uint8_t)op, .dtype = (uint8_t)t, .a = a, .b = b, .c = c });
}
/** A constant of dtype t from an int64, uint64 or double, as a scalar array would hold it. */
cbx__kid cbx__kernel_const(cbx__kernel *k, cbx_dtype t, cbx_scalar v);
/** Operands of an instruction: what its operation has, and 1 or 2 of MATH. */
int cbx__kernel_operands(const cbx__kinstr *i);
/** Between operations and primitives of the same name; else CBX__K_CONST. */
extern const uint16_t cbx__kop_prim[CBX__KOP_COUNT];
extern const uint8_t cbx__prim_kop[CBX_PRIM_LIMIT];
/** The word of an instruction's operation; of MATH the primitive's. */
const char *cbx__kernel_word(const cbx__kinstr *i);
/** Whether results of an operation may have a dtype. */
bool cbx__kernel_gives(cbx__kop op, cbx_dtype t);
/** Removes instructions that no output needs, and renumbers. */
void cbx__kernel_finish(cbx__kernel *k);
/** Instructions of an element, functions counted as 20. */
uint64_t cbx__kernel_work(const cbx__kernel *k);
/** One line an instruction and stream. */
void cbx__kernel_text(const cbx__kernel *k, cbx_text *out);

/*
 * Formulas: what a MATH function is made of, from the vector functions of
 * kernels/elementary_float.h (formulas_table.h).  Where `inside` is true the result has the bits of
 * the primitive's loop, elsewhere the loop is to be called; of exp, which is right everywhere,
 * `inside` is a CONST.
 */
typedef struct cbx__kformula {
    const cbx__kinstr *instr; /* LOAD 0 and 1 are the operands; no MATH */
    uint32_t n;
    cbx__kid result, inside; /* inside: a bool */
} cbx__kformula;

/** NULL: of a function without formula, whose loop is called. */
const cbx__kformula *cbx__kernel_formula(cbx_prim p, cbx_dtype t);
/** NULL also of what is not MATH. */
static inline const cbx__kformula *cbx__formula_of(const cbx__kinstr *x)
{
    return x->op == CBX__K_MATH ? cbx__kernel_formula((cbx_prim)x->prim, (cbx_dtype)x->dtype) : NULL;
}
/** True of a formula that is right for all operands. */
static inline bool cbx__formula_is_total(const cbx__kformula *f) { return f->instr[f->inside].op == CBX__K_CONST; }

#endif
