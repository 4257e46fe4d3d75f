/*
 * Inside the library: results of steps, and the sentences of failures.
 */
#ifndef CALIBRAX_ARRAY_SCOPE_INTERNAL_H
#define CALIBRAX_ARRAY_SCOPE_INTERNAL_H

#include "calibrax/array/scope.h"

/**
 * Functions made of steps keep none of them: mark before the first, tidy after the last drops every
 * result since but r.
 *     size_t mark = cbx__mark(ctx);
 *     return cbx__tidy(ctx, mark, steps(ctx, x));
 */
size_t cbx__mark(cbx_ctx *ctx);
cbx_array *cbx__tidy(cbx_ctx *ctx, size_t mark, cbx_array *r);
/** As cbx__tidy for n results; one without memory to hold it becomes a failed array. */
void cbx__tidy_list(cbx_ctx *ctx, size_t mark, size_t n, cbx_array **r);

/** Adds the dtypes and shapes of the first operands to the pending failure, if its sentence lacks
 * them. */
void cbx__name_operands(cbx_ctx *ctx, size_t n, const cbx_array *const *in);
/** Where a function is one step of another: its word in the sentence of a failure becomes the
 * other's.  Opened before the step, closed after it with its result, which is handed on; a failure
 * of before is left alone. */
typedef struct cbx__renaming {
    const char *from, *to;
    bool fresh;
} cbx__renaming;
cbx__renaming cbx__rename(cbx_ctx *ctx, const char *from, const char *to);
cbx_array *cbx__renamed(cbx_ctx *ctx, cbx__renaming r, cbx_array *result);
#endif
