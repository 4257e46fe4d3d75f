/* What the files of semiring_conv share. */
#ifndef SUITES_NITRIX_SEMIRING_CONV_H
#define SUITES_NITRIX_SEMIRING_CONV_H

#include "calibrax/perf/case/case.h"

void cbx__conv_work(const cbx_params *given, cbx_work *out);
extern const cbx_baseline_ops cbx__conv_engine;

#endif
