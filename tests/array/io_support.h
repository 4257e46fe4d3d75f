/*
 * What the tests of the boundary share: one context, one folder for a test program, fixtures by name, arrays compared.
 */
#ifndef CALIBRAX_TESTS_ARRAY_IO_SUPPORT_H
#define CALIBRAX_TESTS_ARRAY_IO_SUPPORT_H

#include "calibrax/array/array.h"

extern cbx_ctx *ctx;
extern cbx_err err;
extern char folder[64];

/** Group fixtures of cmocka: make and drop ctx and folder. */
int io_set_up(void **state);
int io_tear_down(void **state);

/** Path of tests/fixtures/NAME, and of a name in the folder; each in one static buffer. */
const char *fixture(const char *name);
const char *in_folder(const char *name);
/** Number of entries of a folder. */
size_t files_in(const char *path);
/** Fails the running test unless both have the same description and the same bytes in row-major order. */
void check_same(const cbx_array *a, const cbx_array *b, const char *why);

#endif
