/* Set functions. */
#include "python/state.h"

static bool add_record(PyTypeObject **out, PyStructSequence_Desc *desc)
{
    *out = PyStructSequence_NewType(desc);
    return *out != NULL;
}

bool cx_add_sets(cx_state *st, PyObject *module)
{
    static PyStructSequence_Field all[] = { { "values", "distinct values" },
                                            { "indices", "first place of each" },
                                            { "inverse_indices", "which of the values each element is" },
                                            { "counts", "how often each occurs" },
                                            { 0 } };
    static PyStructSequence_Field counts[] = { { "values", "distinct values" },
                                               { "counts", "how often each occurs" },
                                               { 0 } };
    static PyStructSequence_Field inverse[] = { { "values", "distinct values" },
                                                { "inverse_indices", "which of the values each element is" },
                                                { 0 } };
    static PyStructSequence_Desc of_all = { "calibrax_c.array.unique_all_result", "Distinct values.", all, 4 };
    static PyStructSequence_Desc of_counts = { "calibrax_c.array.unique_counts_result", "Distinct values.", counts, 2 };
    static PyStructSequence_Desc of_inverse = { "calibrax_c.array.unique_inverse_result", "Distinct values.", inverse,
                                                2 };

    (void)module;
    return add_record(&st->unique_all, &of_all) && add_record(&st->unique_counts, &of_counts) &&
           add_record(&st->unique_inverse, &of_inverse);
}

PyObject *cx_record(cx_call *c, PyTypeObject *type, size_t n, cbx_array **arrays)
{
    PyObject *tuple = cx_results(c, n, arrays, true), *r = tuple ? PyStructSequence_New(type) : NULL;

    for (size_t i = 0; r && i < n; i++)
        PyStructSequence_SetItem(r, (Py_ssize_t)i, Py_NewRef(PyTuple_GetItem(tuple, (Py_ssize_t)i)));
    Py_XDECREF(tuple);
    return r;
}

/* Of one array, and of two. */
static PyObject *of_one(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");

    return x && cx_begin(c) ? cx_result(c, ((cbx_array * (*)(cbx_ctx *, const cbx_array *)) c->fn)(c->ctx, x)) : NULL;
}
static PyObject *of_two(cx_call *c)
{
    const cbx_array *a = cx_array_arg(c, "x1"), *b = a ? cx_array_arg(c, "x2") : NULL;

    if (!b || !cx_begin(c)) return NULL;
    return cx_result(c, ((cbx_array * (*)(cbx_ctx *, const cbx_array *, const cbx_array *)) c->fn)(c->ctx, a, b));
}

static PyObject *do_extract(cx_call *c)
{
    const cbx_array *condition = cx_array_arg(c, "condition"), *x = condition ? cx_array_arg(c, "x") : NULL;

    return x && cx_begin(c) ? cx_result(c, cbx_extract(c->ctx, condition, x)) : NULL;
}

static PyObject *do_isin(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x1"), *test = x ? cx_array_arg(c, "x2") : NULL;
    bool invert = false;

    if (!test || !CX_GET(c, invert) || !cx_begin(c)) return NULL;
    return cx_result(c, cbx_isin(c->ctx, x, test, invert));
}

static PyObject *do_unique_all(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    cbx_unique_parts p = { 0 };

    if (!x || !cx_begin(c)) return NULL;
    cbx_unique_all(c->ctx, x, &p);
    return cx_record(c, c->st->unique_all, 4, (cbx_array *[]){ p.values, p.indices, p.inverse, p.counts });
}

static PyObject *do_unique_counts(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    cbx_array *parts[2] = { 0 };

    if (!x || !cx_begin(c)) return NULL;
    cbx_unique_counts(c->ctx, x, &parts[0], &parts[1]);
    return cx_record(c, c->st->unique_counts, 2, parts);
}

static PyObject *do_unique_inverse(cx_call *c)
{
    const cbx_array *x = cx_array_arg(c, "x");
    cbx_array *parts[2] = { 0 };

    if (!x || !cx_begin(c)) return NULL;
    cbx_unique_inverse(c->ctx, x, &parts[0], &parts[1]);
    return cx_record(c, c->st->unique_inverse, 2, parts);
}

/* clang-format off */
#define SETS(X) \
    X(extract, "condition: Array, x: Array, /", "Array", do_extract, 0, "Elements where the condition holds.") \
    X(intersect1d, "x1: Operand, x2: Operand, /", "Array", of_two, cbx_intersect1d, "Values in both.") \
    X(isin, "x1: Operand, x2: Operand, /, *, invert: bool = False", "Array", do_isin, 0, "Whether elements of x1 are among those of x2.") \
    X(setdiff1d, "x1: Operand, x2: Operand, /", "Array", of_two, cbx_setdiff1d, "Values of x1 that are not in x2.") \
    X(setxor1d, "x1: Operand, x2: Operand, /", "Array", of_two, cbx_setxor1d, "Values in one of both.") \
    X(union1d, "x1: Operand, x2: Operand, /", "Array", of_two, cbx_union1d, "Values of both.") \
    X(unique_all, "x: Array, /", "_unique_all_result", do_unique_all, 0, "Distinct values with first places, inverse and counts.") \
    X(unique_counts, "x: Array, /", "_unique_counts_result", do_unique_counts, 0, "Distinct values with counts.") \
    X(unique_inverse, "x: Array, /", "_unique_inverse_result", do_unique_inverse, 0, "Distinct values, and which of them each element is.") \
    X(unique_values, "x: Array, /", "Array", of_one, cbx_unique_values, "Distinct values.")
/* clang-format on */
CX_FUNCTIONS(cx_set_methods, SETS)
