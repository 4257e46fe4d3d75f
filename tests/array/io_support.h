/*
 * What the tests of the boundary share: one context, one folder for a test program, fixtures by
 * name, arrays compared.
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
/** Fails the running test unless both have the same description and the same bytes in
 * row-major order. */
void check_same(const cbx_array *a, const cbx_array *b, const char *why);

/** Something that is refused: by its name, with a status and a word of the message. */
typedef struct io_refusal {
    const char *name;
    cbx_status status;
    const char *word;
} io_refusal;
/** Fails the running test unless that came of it, the message in err names the place, and nothing
 * came out. */
void check_refused(const io_refusal *wanted, cbx_status st, const char *where, const cbx_array *out);
/** Opens nothing, a folder, a named pipe (which is not waited for) and an NPY file: each must be
 * refused.  @param open sets err */
void check_no_files(cbx_status (*open)(const char *path));

#endif
