/*
 * What a command says of itself on standard output.
 */
#ifndef CALIBRAX_PERF_SWEEP_OUTPUT_H
#define CALIBRAX_PERF_SWEEP_OUTPUT_H

#include "calibrax/perf/sweep/driver.h"

/*
 * A run with one point from a command's output; output that cannot be used is a failure of the launch in phase "output".
 * @return CBX_OK; CBX_ENOMEM
 */
cbx_status cbx__output_read(cbx__session *s, const cbx_benchmark_command *c, const char *text, size_t len,
                            cbx__launch *out, cbx_err *err);

#endif
