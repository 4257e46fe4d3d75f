/*
 * What the files of cases share that scripts/fixtures writes: bytes in order, and operands in
 * layouts that no reader expects. A file that is not whole fails the running test.
 */
#ifndef CALIBRAX_TESTS_ARRAY_CASE_FILE_H
#define CALIBRAX_TESTS_ARRAY_CASE_FILE_H

#include "calibrax/array/ops.h"

typedef struct case_reader {
    const unsigned char *at, *end;
} case_reader;

/** The bytes of tests/array/fixtures/<file>, for free(); *r is behind the eight bytes that it must
 * begin with. */
unsigned char *case_file_open(const char *file, const char *magic, case_reader *r);
/** A little-endian number of so many bytes. */
uint64_t case_get(case_reader *r, int bytes);
double case_get_f64(case_reader *r);
const unsigned char *case_skip(case_reader *r, size_t n);

/** Layouts: packed, reversed axes, every other element, negative strides, the first axis
 * repeated. */
enum { CASE_PACKED, CASE_REVERSED, CASE_STEPS, CASE_NEGATIVE, CASE_REPEATED };
/** The i-th element of an operand, row by row. */
typedef const void *(*case_element_fn)(const void *user, size_t i);
/** An array of the context's scope. */
cbx_array *case_operand(cbx_ctx *ctx, const cbx_array_desc *d, int layout, case_element_fn element, const void *user);

/** A number of an array's data; of a complex dtype its parts count one by one. */
double case_number_at(cbx_dtype t, const void *data, size_t i);

#endif
