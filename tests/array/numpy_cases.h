/*
 * Array functions against NumPy: reads a file of cases that scripts/fixtures/array_cases.py wrote,
 * which describes it, runs each case through a table of functions, and compares.
 */
#ifndef CALIBRAX_TESTS_ARRAY_NUMPY_CASES_H
#define CALIBRAX_TESTS_ARRAY_NUMPY_CASES_H

#include "calibrax/array/ops.h"

#define NUMPY_NAMES_MAX 256
#define NUMPY_POOLS_MAX 8
#define NUMPY_ATTRS_MAX 12

typedef struct numpy_case {
    int name, mode, nin, nattr;
    int32_t attr[NUMPY_ATTRS_MAX];
    cbx_array *in[3];
} numpy_case;

typedef cbx_array *(*numpy_fn)(cbx_ctx *c, const numpy_case *k);
typedef struct numpy_function {
    const char *name;
    numpy_fn fn;
} numpy_function;

/* do_<name>: one function of a table, in terms of the context c, operands in[] and
 * attributes a[]. */
#define NUMPY_FN(name, expr)                                                                                           \
    static cbx_array *do_##name(cbx_ctx *c, const numpy_case *k)                                                       \
    {                                                                                                                  \
        cbx_array *const *in = k->in;                                                                                  \
        const int32_t *a = k->attr;                                                                                    \
        (void)c;                                                                                                       \
        (void)a;                                                                                                       \
        (void)in;                                                                                                      \
        return expr;                                                                                                   \
    }
#define NUMPY_ROW(name) { #name, do_##name },

typedef struct numpy_suite numpy_suite;

/** Opens tests/array/fixtures/<file>; fails the test if it is not whole or a function is not in
 * the table. */
numpy_suite *numpy_open(const char *file, const numpy_function *functions, size_t count);
void numpy_close(numpy_suite *s);
/** dtype numbers that NumPy promotes to: 13 by 13 pairs, then 13 by 4 kinds of scalars. */
const unsigned char *numpy_promotion(const numpy_suite *s);
/** Fails the test with the first case that differs, or if there are fewer than least; CBX_TEST_ALL
 * shows every one. */
void numpy_agrees(numpy_suite *s, unsigned min);
/** How many cases differ when one float64 result in spoil is changed. */
unsigned numpy_spoiled(numpy_suite *s, unsigned spoil);
/** Makes every allocation of some cases of each function fail; returns how many did. */
size_t numpy_torture(numpy_suite *s);

/** Attributes from first on: keep, then axes; -99: all (NULL). */
const cbx_axes *numpy_axes(const numpy_case *k, int first, cbx_axes *to);

#endif
