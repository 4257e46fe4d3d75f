/* Formulas of MATH functions, from the table that scripts/make_formulas.py writes. */
#include "calibrax/array/jit/formulas_table.h"

const cbx__kformula *cbx__kernel_formula(cbx_prim p, cbx_dtype t)
{
    const cbx__kformula *f;

    if (t != CBX_F32 && t != CBX_F64) return NULL;
    f = &formulas[p][t == CBX_F64];
    return f->n > 0 ? f : NULL;
}
