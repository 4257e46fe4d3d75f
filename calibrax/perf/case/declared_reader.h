/*
 * What reads the parts of a case file: each is of the right kind, or a sentence says where it is not.  Internal to perf.
 *
 * All return CBX_OK, CBX_EFORMAT (the message names file, place and member) or CBX_ENOMEM.  What they give lives in the arena of the case.
 */
#ifndef CALIBRAX_PERF_CASE_DECLARED_READER_H
#define CALIBRAX_PERF_CASE_DECLARED_READER_H

#include "calibrax/base/json.h"
#include "calibrax/perf/case/declared_internal.h"

#define CBX__CASE_MAX_ENTRIES 256

/* What is being read, for messages: "'a.json': inputs[1]". */
typedef struct cbx__case_reader {
    cbx_ctx *ctx;
    cbx_declared *d;
    cbx_err *err;
    char where[96];
} cbx__case_reader;

cbx_status cbx__case_fault(cbx__case_reader *r, const char *fmt, ...) CBX_PRINTF(2, 3);
cbx_status cbx__case_no_memory(cbx__case_reader *r);
/* Entry i of `list` is read from now on. */
void cbx__case_at(cbx__case_reader *r, const char *list, size_t i);

/* --- members of an object --- */

/* No other members than these. */
cbx_status cbx__case_known(cbx__case_reader *r, const cbx_json *o, const char *const *names, size_t n);
#define CBX__CASE_KNOWN(r, o, ...)                                                                                     \
    cbx__case_known(r, o, (const char *const[]){ __VA_ARGS__ }, CBX_LEN(((const char *const[]){ __VA_ARGS__ })))
/* Untouched where it is missing. */
cbx_status cbx__case_text(cbx__case_reader *r, const cbx_json *o, const char *key, bool needed, const char **out);
cbx_status cbx__case_number(cbx__case_reader *r, const cbx_json *o, const char *key, double *out);
/* A list of 1 (or `least`) to `most` entries; missing is fine if least is 0. */
cbx_status cbx__case_list(cbx__case_reader *r, const cbx_json *o, const char *key, size_t least, size_t most,
                          const cbx_json **out, size_t *n);
cbx_status cbx__case_name(cbx__case_reader *r, const cbx_json *o, const char **out);

/* --- what a point is, and its arrays (declared_shape.c) --- */

cbx_status cbx__case_params(cbx__case_reader *r, const cbx_json *root);
/* Points in canonical form, each checked by the case's own rules: so this comes last. */
cbx_status cbx__case_points(cbx__case_reader *r, const cbx_json *root);
/* A formula as text, or a number; its names are parameters. */
cbx_status cbx__case_formula(cbx__case_reader *r, const cbx_json *v, const char **out);
cbx_status cbx__case_arrays(cbx__case_reader *r, const cbx_json *root, const char *key, bool input,
                            cbx__declared_array *arrays, const char *const **names, size_t *count);
cbx_status cbx__case_groups(cbx__case_reader *r, const cbx_json *root);

#endif
