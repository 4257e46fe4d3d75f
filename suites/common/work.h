/* At least what calls take. */
#ifndef SUITES_COMMON_WORK_H
#define SUITES_COMMON_WORK_H

#include "calibrax/array/kernels/semiring.h"
#include "calibrax/core/probe.h"
#include "calibrax/perf/case/case.h"

/* Work whose bytes are its working set. */
static inline cbx_work cbx__suite_work(double macs, double flop, double bytes, cbx_pipe pipe, double pipe_ops)
{
    return (cbx_work){ macs, flop, bytes, pipe, pipe_ops, bytes };
}

/* Work of sums that may end early.  "or" is done at its first true term, so on some inputs a method
 * meets few of the terms and reads few of the operands; all that none can leave out is to write the
 * answer.  The steps of the problem (macs) stay as they are: rates are of the steps that the plain
 * definition takes. */
static inline cbx_work cbx__suite_lazy_work(double macs, double output_bytes)
{
    return cbx__suite_work(macs, 0, output_bytes, CBX_PIPE_AND_OR, 0);
}

/* Pipe, its operations, and flop of one combine-and-update; of log as a product of exponentials. */
typedef struct cbx__suite_step {
    cbx_pipe pipe;
    double ops, flop;
} cbx__suite_step;

static inline cbx__suite_step cbx__suite_step_of(cbx_algebra id)
{
    static const cbx__suite_step table[CBX_ALGEBRA_COUNT] = {
        [CBX_ALGEBRA_REAL] = { CBX_PIPE_FMA, 1, 2 },
        [CBX_ALGEBRA_LOG] = { CBX_PIPE_FMA, 1, 2 },
        [CBX_ALGEBRA_TROPICAL_MAX_PLUS] = { CBX_PIPE_ADD_MAX, 1, 2 },
        [CBX_ALGEBRA_TROPICAL_MIN_PLUS] = { CBX_PIPE_ADD_MAX, 1, 2 },
        [CBX_ALGEBRA_EUCLIDEAN] = { CBX_PIPE_SUB_FMA, 1, 3 },
        [CBX_ALGEBRA_BOOLEAN] = { CBX_PIPE_AND_OR, 1.0 / 4, 0 }, /* a lane of 32 bits holds 4 bytes */
    };
    return table[id];
}

#endif
