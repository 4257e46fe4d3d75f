/* Work of sums that may end early.  "or" is done at its first true term, so on some inputs a method
 * meets few of the terms and reads few of the operands; all that none can leave out is to write the
 * answer.  The steps of the problem (macs) stay as they are: rates are of the steps that the plain
 * definition takes. */
#ifndef SUITES_COMMON_LAZY_H
#define SUITES_COMMON_LAZY_H

#include "calibrax/core/probe.h"
#include "calibrax/perf/case/case.h"

static inline cbx_work cbx__suite_lazy_work(double macs, double output_bytes)
{
    return (
        cbx_work){ .macs = macs, .bytes = output_bytes, .pipe = CBX_PIPE_AND_OR, .working_set_bytes = output_bytes };
}

#endif
