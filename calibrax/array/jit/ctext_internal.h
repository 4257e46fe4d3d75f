/*
 * Inside ctext*.c: the text that is being written, and instructions as expressions
 * (ctext_values.c).
 */
#ifndef CALIBRAX_ARRAY_JIT_CTEXT_INTERNAL_H
#define CALIBRAX_ARRAY_JIT_CTEXT_INTERNAL_H

#include "calibrax/array/jit/ctext.h"

enum { CBX__CTEXT_HELPERS = 13 }; /* functions that expressions call */

typedef struct cbx__writer {
    cbx_text *out;
    bool helper[CBX__CTEXT_HELPERS];
    bool cast[2][CBX_U64 + 1];       /* of float32, float64 to an integer */
    bool formula[CBX_PRIM_LIMIT][2]; /* of float32, float64 */
    bool libm[CBX_PRIM_LIMIT][2];    /* the same */
    const cbx__kinstr *instr;        /* what is written: of a kernel or a formula */
    bool slow;                       /* MATH everywhere, and not in the formula's domain alone */
} cbx__writer;

extern const char *const cbx__ctext_tags[CBX_DTYPE_COUNT]; /* "f32", and so on */
/** Notes what instructions need before them. */
void cbx__ctext_need(cbx__writer *w, const cbx__kinstr *instr, size_t n);
/** All that is noted. */
void cbx__ctext_put_needed(cbx__writer *w);
/** A variable, or a constant. */
void cbx__ctext_put_operand(cbx__writer *w, cbx__kid v);
/** An instruction but LOAD and CARRY. */
void cbx__ctext_put_value(cbx__writer *w, const cbx__kinstr *x);
/** "(v1, v2)", of a function's operands. */
void cbx__ctext_put_operands(cbx__writer *w, const cbx__kinstr *x);

#endif
