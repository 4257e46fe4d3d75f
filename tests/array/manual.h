/*
 * What the examples of a manual are checked with (scripts/doc_examples.py).
 */
#ifndef CALIBRAX_TESTS_ARRAY_MANUAL_H
#define CALIBRAX_TESTS_ARRAY_MANUAL_H

#include "check.h"

#include <math.h>

#include "calibrax/calibrax.h"
#include "calibrax/tools.h"

/** Fails the test unless x is described by text: dtype, shape and elements in row-major order,
 * "int64 (3,) [0, 1, 3]". */
void manual_holds(cbx_ctx *c, const cbx_array *x, const char *text, int line);
/** Runs an example in a scope; its first failure must be of that status and hold the words (CBX_OK,
 * NULL: none). */
void manual_run(void (*body)(cbx_ctx *c), cbx_status status, const char *words, int line);

#endif
