/* Inside statistics: options of a bootstrap and the interval that its values give. */
#ifndef CALIBRAX_STATISTICS_BOOT_INTERVAL_H
#define CALIBRAX_STATISTICS_BOOT_INTERVAL_H

#include "calibrax/statistics/bootstrap.h"

/** Defaults filled in, limits checked. */
cbx_status cbx__boot_options(const cbx_boot_opts *given, cbx_boot_opts *out, cbx_err *err);

/** Values of the resamples, changed: sorted. */
cbx_interval cbx__boot_percentile(double *values, size_t count, double estimate, double level);
cbx_interval cbx__boot_basic(double *values, size_t count, double estimate, double level);
/** acceleration from the jackknife; bias from the values: a share of 0 or 1 below the estimate is
 * taken as half a resample off it. */
cbx_interval cbx__boot_bca(double *values, size_t count, double estimate, double acceleration, double level);
/** values are t of the resamples; error is the standard error of the estimate. */
cbx_interval cbx__boot_studentised(double *values, size_t count, double estimate, double error, double level);

#endif
