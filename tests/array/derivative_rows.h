/*
 * The rows of test_derivatives.c: each primitive that has a derivative, in functions of operands
 * that stay away from kinks.
 */
#ifndef CALIBRAX_TESTS_ARRAY_DERIVATIVE_ROWS_H
#define CALIBRAX_TESTS_ARRAY_DERIVATIVE_ROWS_H

#include "transform_support.h"

#include "calibrax/array/ell_internal.h"
#include "calibrax/base/rng.h"

enum { OPERANDS = 6, RESULTS = 3, NUMBERS = 256, BATCH = 3 };

typedef struct operand {
    cbx_dtype dtype; /* float or complex: it moves; others are fixed */
    double low, high;
    size_t shape[5]; /* up to the first 0 */
} operand;

enum {
    FORWARD_ONLY = 1, /* no reverse mode */
    REVERSE_ONLY = 2, /* no forward mode */
    IMPLICIT = 4      /* the derivative is not that of the computation: test_random.c compares it with JAX's */
};

typedef struct row {
    cbx_prim prim;
    const char *label;
    cbx_array_fn f; /* NULL: the primitive itself, of all operands */
    size_t nout;
    unsigned flags;
    operand in[OPERANDS]; /* up to the first without a range */
    cbx_attrs attrs;
} row;

#define REAL(lo, hi, ...)                                                                                              \
    {                                                                                                                  \
        CBX_F64, lo, hi, { __VA_ARGS__ }                                                                               \
    }
#define CPLX(lo, hi, ...)                                                                                              \
    {                                                                                                                  \
        CBX_C128, lo, hi, { __VA_ARGS__ }                                                                              \
    }
#define INDEX(lo, hi, ...)                                                                                             \
    {                                                                                                                  \
        CBX_I64, lo, hi, { __VA_ARGS__ }                                                                               \
    }
#define BOOLS(...)                                                                                                     \
    {                                                                                                                  \
        CBX_BOOL, 0, 1, { __VA_ARGS__ }                                                                                \
    }

static inline bool operand_moves(const operand *o) { return cbx_dtype_kind(o->dtype) >= CBX_KIND_FLOAT; }
size_t row_operands(const row *r);
/** Those that move. */
size_t row_moving(const row *r);
/** The function of the operands that move. */
cbx_fn derivative_fn(const row *r);
/** Numbers of an operand's range, no two of them close. */
cbx_array *derivative_draw(cbx_ctx *c, const operand *o, cbx_rng *rng);

extern const row derivative_rows[];
extern const size_t derivative_row_count;

/** The graph that rows work on, of 4 rows, one of them without edges, and 5 columns; the caller
 * frees it. */
extern cbx_ell *derivative_graph;
void derivative_open_graph(cbx_ctx *c);

#endif
