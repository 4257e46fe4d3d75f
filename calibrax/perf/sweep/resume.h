/**
 * What --resume takes over from an earlier row file.  Internal to perf.
 */
#ifndef CALIBRAX_PERF_SWEEP_RESUME_H
#define CALIBRAX_PERF_SWEEP_RESUME_H

#include "calibrax/perf/sweep/session.h"

/**
 * Lets good rows of the same key (machine, platform, point, baseline, variant) replace planned attempts.  A baseline one of whose
 * variants is missing is measured again with all of them; the reference is launched again if a ratio needs it.
 * @param kept  rows read; must outlive the point
 */
cbx_status cbx__resume_point(const cbx__session *s, cbx__point *p, const cbx_rows *kept, cbx_err *err);

#endif
