/*
 * A worker's outputs, read without trusting them, and compared with the answer of the input set
 * they belong to.
 */
#ifndef CALIBRAX_PERF_LAUNCH_CHECK_H
#define CALIBRAX_PERF_LAUNCH_CHECK_H

#include "calibrax/perf/launch/workload.h"

typedef struct cbx__checker {
    const cbx_workload *w;
    int fds[CBX_CASE_MAX_ARRAYS];            /* output files, shared with the worker */
    cbx_array *arrays[CBX_CASE_MAX_ARRAYS];  /* of the outputs' own form, used again by each check */
    uint64_t max_bytes[CBX_CASE_MAX_ARRAYS]; /* that an output file may hold, header included */
    cbx__held held;                          /* the set that was held back; nfds or message 0: none yet */
    bool wrong_shape;                        /* an output was of another form, or none at all */
} cbx__checker;

cbx_status cbx__checker_init(cbx_ctx *ctx, const cbx_workload *w, cbx__checker *c, cbx_err *err);
void cbx__checker_clear(cbx__checker *c);
/* Empties the output files, so that an output that is not written again cannot pass. */
void cbx__checker_poison(cbx__checker *c);
/* Compares all outputs with the answers of a set. */
cbx_status cbx__checker_compare(cbx_ctx *ctx, cbx__checker *c, size_t set, cbx_fidelity *io, cbx_err *err);

/* Offset of element i of a row-major walk over a strided array, in elements. */
ptrdiff_t cbx__element_offset(const cbx_array *a, size_t i);
/* Element i of some data; of complex numbers the magnitude. */
double cbx__element_value(const void *data, cbx_dtype dtype, ptrdiff_t i);

#endif
