/*
 * Arithmetic over the parameters of a point, for case files: "2*n*(k+1)", "8*n", "n^2", "log2(n)".
 *
 *     sum     = product { ("+" | "-") product }
 *     product = power { ("*" | "/") power }
 *     power   = [ "-" ] atom [ "^" power ]
 *     atom    = number | name | "log2" "(" sum ")" | "(" sum ")"
 */
#ifndef CALIBRAX_PERF_CASE_EXPRESSION_H
#define CALIBRAX_PERF_CASE_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "calibrax/base/status.h"

/* The value of a name of `len` bytes.  @return false: unknown */
typedef bool cbx__expression_lookup(const void *user, const char *name, size_t len, double *out);

/* @return CBX_OK; CBX_EFORMAT: not of the grammar, or an unknown name; the message holds the whole
 *   text.  Allocates nothing. */
cbx_status cbx__expression_value(const char *text, cbx__expression_lookup *lookup, const void *user, double *out,
                                 cbx_err *err);

#endif
