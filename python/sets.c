/* Set functions. */
#include "python/state.h"

CX_FORMULA(do_unique_values, cbx_unique_values(c->ctx, x), x)
CX_FORMULA(of_two, CX_FN(const cbx_array *, const cbx_array *)(c->ctx, x1, x2), x1, x2)
CX_FORMULA(do_extract, cbx_extract(c->ctx, condition, x), condition, x)
CX_FORMULA(do_isin, cbx_isin(c->ctx, x1, x2, invert), x1, x2, invert)

static PyObject *do_unique(cx_call *c)
{
    cbx_unique_parts p = { 0 };
    const cbx_array *x;

    if (!CX_GET(c, x) || !cx_begin(c)) return NULL;
    if (c->fn) {
        cbx_array *parts[2] = { 0 };
        ((void (*)(cbx_ctx *, const cbx_array *, cbx_array **, cbx_array **))c->fn)(c->ctx, x, &parts[0], &parts[1]);
        return cx_record(c, c->fn == (cx_fn)cbx_unique_counts ? CX_UNIQUE_COUNTS : CX_UNIQUE_INVERSE, 2, parts);
    }
    cbx_unique_all(c->ctx, x, &p);
    return cx_record(c, CX_UNIQUE_ALL, 4, (cbx_array *[]){ p.values, p.indices, p.inverse, p.counts });
}

CX_RETURN(do_unique_size,
          (cbx_unique_parts p = { 0 }; const cbx_array *x; PyObject *given = cx_arg(c, "fill_value");
           cx_operand v = { 0 }; size_t size),
          CX_GET(c, x, size) &&
              (!given || cx_scalar_from(given, &v) > 0 ||
               (!PyErr_Occurred() && cx_refuse(c, "fill_value", PyExc_TypeError, "a number", given))) &&
              (!given || cx_fits(cbx_array_dtype(x), &v)) && cx_begin(c),
          (cbx_unique_size(c->ctx, x, size, given ? &v.scalar : NULL, &p),
           cx_record(c, CX_UNIQUE_ALL, 4, (cbx_array *[]){ p.values, p.indices, p.inverse, p.counts })))

/* clang-format off */
#define SETS(X) \
    X(extract, "condition: Array, x: Array, /", "Array", do_extract, 0, "Elements where the condition is true.\n\n>>> xp.extract(xp.asarray([True, False]), xp.asarray([1, 2]))\nArray([1], dtype=int64)") \
    X(intersect1d, "x1: Operand, x2: Operand, /", "Array", of_two, cbx_intersect1d, "Sorted values that both arrays have.\n\n>>> xp.intersect1d(xp.asarray([1, 2]), xp.asarray([2, 3]))\nArray([2], dtype=int64)") \
    X(isin, "x1: Operand, x2: Operand, /, *, invert: bool = False", "Array", do_isin, 0, "Whether each element of x1 is an element of x2.\n\n>>> xp.isin(xp.asarray([1, 2]), xp.asarray([2, 3]))\nArray([False,  True], dtype=bool)") \
    X(setdiff1d, "x1: Operand, x2: Operand, /", "Array", of_two, cbx_setdiff1d, "Sorted values of x1 that x2 does not have.\n\n>>> xp.setdiff1d(xp.asarray([1, 2]), xp.asarray([2, 3]))\nArray([1], dtype=int64)") \
    X(setxor1d, "x1: Operand, x2: Operand, /", "Array", of_two, cbx_setxor1d, "Sorted values that exactly one of the arrays has.\n\n>>> xp.setxor1d(xp.asarray([1, 2]), xp.asarray([2, 3]))\nArray([1, 3], dtype=int64)") \
    X(union1d, "x1: Operand, x2: Operand, /", "Array", of_two, cbx_union1d, "Sorted values that at least one of the arrays has.\n\n>>> xp.union1d(xp.asarray([1, 2]), xp.asarray([2, 3]))\nArray([1, 2, 3], dtype=int64)") \
    X(unique_all, "x: Array, /", "_unique_all_result", do_unique, 0, "Distinct values with the index of the first of each, the inverse and counts.\n\n>>> xp.unique_all(xp.asarray([2, 1, 2]))[1]\nArray([1, 0], dtype=int64)") \
    X(unique_counts, "x: Array, /", "_unique_counts_result", do_unique, cbx_unique_counts, "Distinct values with counts.\n\n>>> xp.unique_counts(xp.asarray([2, 1, 2]))[1]\nArray([1, 2], dtype=int64)") \
    X(unique_inverse, "x: Array, /", "_unique_inverse_result", do_unique, cbx_unique_inverse, "Distinct values, and the index of each element among them.\n\n>>> xp.unique_inverse(xp.asarray([2, 1, 2]))[1]\nArray([1, 0, 1], dtype=int64)") \
    X(unique_size, "x: Array, /, size: int, *, fill_value: Number | None = None", "_unique_all_result", do_unique_size, 0, "The first distinct values up to a size, NaN once, filled up to it: a shape that does not depend on data, as a traced function needs it.\n\n>>> xp.unique_size(xp.asarray([2, 1, 2]), 3, fill_value=9)[0]\nArray([1, 2, 9], dtype=int64)") \
    X(unique_values, "x: Array, /", "Array", do_unique_values, 0, "Distinct values.\n\n>>> xp.unique_values(xp.asarray([2, 1, 2]))\nArray([1, 2], dtype=int64)")
/* clang-format on */
CX_FUNCTIONS(cx_set_methods, SETS, HEAVY)
