/*
 * Files of cases with what NumPy answers (scripts/fixtures/case_file.py describes them), and what
 * every such file is put through: each case compared, results spoiled to see that the comparison
 * can fail, every allocation made to fail.
 */
#ifndef CALIBRAX_TESTS_ARRAY_CASES_H
#define CALIBRAX_TESTS_ARRAY_CASES_H

#include "calibrax/array/ops.h"

enum { CASE_ATTRS = 8, CASE_OPERANDS = 3, CASE_RESULTS = 4 };

typedef struct array_case {
    char name[32];
    int mode, nattr, nin, nout; /* mode: near, refused, undefined */
    double attr[CASE_ATTRS];
    const cbx_array *in[CASE_OPERANDS];
} array_case;

/** Fills out[nout]. */
typedef void (*case_fn)(cbx_ctx *c, const array_case *k, cbx_array **out);
typedef struct case_row {
    const char *name;
    case_fn fn;
} case_row;

/** Attributes from first on as axes; none: NULL. */
const cbx_axes *case_axes(const array_case *k, int first, bool keep, cbx_axes *to);

/** Fails the running test if a case of tests/array/fixtures/FILE differs, or if it has fewer than
 * least cases. */
void cases_agree(const char *file, const case_row *rows, size_t nrows, size_t min);
/** Fails the running test if results that are changed pass. */
void cases_can_fail(const char *file, const case_row *rows, size_t nrows);
/** The first cases of each name, with every allocation failing in turn. */
void cases_survive(const char *file, const case_row *rows, size_t nrows);

#endif
