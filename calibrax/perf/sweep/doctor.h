/**
 * What nperf needs and has: the machine, its rates, worker programs, libraries, frameworks and
 * platforms.
 */
#ifndef CALIBRAX_PERF_SWEEP_DOCTOR_H
#define CALIBRAX_PERF_SWEEP_DOCTOR_H

#include "calibrax/core/doctor.h"
#include "calibrax/perf/launch/launch.h"

CBX_BEGIN_DECLS

/**
 * Looks at everything; frameworks are imported in a child with a time limit of 60 s each.
 * @param report  from cbx_doctor_init
 * @return CBX_OK, also when parts are missing; CBX_ENOMEM
 */
CBX_API cbx_status cbx_doctor_run(cbx_ctx *ctx, const cbx_stop_flag *stop, cbx_doctor_report *report, cbx_err *err);

CBX_END_DECLS
#endif
