/* From resampled values to an interval.  Efron & Tibshirani (1993): percentile 13.3, BCa 14.3;
 * Davison & Hinkley (1997): basic and studentised 5.2.  Quantiles are of type 7, as SciPy's. */
#include "calibrax/statistics/boot_interval.h"

#include <math.h>

#include "calibrax/statistics/distribution.h"
#include "calibrax/statistics/sample.h"

cbx_status cbx__boot_options(const cbx_boot_opts *given, cbx_boot_opts *out, cbx_err *err)
{
    const cbx_boot_opts defaults = CBX_BOOT_OPTS_INIT;
    cbx_boot_opts o = given ? *given : defaults;

    if (o.struct_size != sizeof o) return cbx_fail(err, CBX_EINVAL, "bootstrap options of another version");
    if ((unsigned)o.statistic > CBX_BOOT_STDDEV)
        return cbx_fail(err, CBX_EINVAL, "unknown statistic %d", (int)o.statistic);
    if ((unsigned)o.method > CBX_BOOT_STUDENTISED)
        return cbx_fail(err, CBX_EINVAL, "unknown bootstrap method %d", (int)o.method);
    if ((unsigned)o.compare > CBX_BOOT_RATIO) return cbx_fail(err, CBX_EINVAL, "unknown comparison %d", (int)o.compare);
    if (!o.fn && o.statistic == CBX_BOOT_TRIMMED_MEAN && !(o.parameter >= 0 && o.parameter < 0.5))
        return cbx_fail(err, CBX_EINVAL, "a share of %g cannot be cut from both ends: 0 <= cut < 0.5", o.parameter);
    if (!o.fn && o.statistic == CBX_BOOT_QUANTILE && !(o.parameter >= 0 && o.parameter <= 1))
        return cbx_fail(err, CBX_EINVAL, "quantile %g is not between 0 and 1", o.parameter);
    if (!o.resamples) return cbx_fail(err, CBX_EINVAL, "'resamples' must be at least 1, got 0");
    if (o.statistic == CBX_BOOT_MEDIAN) o.parameter = 0.5;
    *out = o;
    return cbx__level_check(o.level, err);
}

cbx_interval cbx__boot_percentile(double *values, size_t count, double estimate, double level)
{
    double tail = (1 - level) / 2;
    double lower = cbx__quantile_select(values, count, tail);
    return (cbx_interval){ estimate, lower, cbx__quantile_select(values, count, 1 - tail), level };
}

cbx_interval cbx__boot_basic(double *values, size_t count, double estimate, double level)
{
    cbx_interval p = cbx__boot_percentile(values, count, estimate, level);
    return (cbx_interval){ estimate, estimate + (estimate - p.upper), estimate + (estimate - p.lower), level };
}

/* Share of values below the estimate, ties a half, kept off 0 and 1. */
static double share_below(const double *values, size_t count, double estimate)
{
    double below = 0, size = (double)count;

    for (size_t i = 0; i < count; i++) below += values[i] < estimate ? 1 : values[i] == estimate ? 0.5 : 0;
    return fmin(fmax(below, 0.5), size - 0.5) / size;
}

static double bca_share(double z0, double acceleration, double z)
{
    double shifted = z0 + z, scale = 1 - acceleration * shifted;
    if (scale <= 0) return shifted > 0 ? 1 : 0; /* as far as there is */
    return cbx_stat_normal_cdf(z0 + shifted / scale);
}

cbx_interval cbx__boot_bca(double *values, size_t count, double estimate, double acceleration, double level)
{
    double z0 = cbx_stat_normal_quantile(share_below(values, count, estimate)),
           z = cbx_stat_normal_isf((1 - level) / 2);
    double lower = cbx__quantile_select(values, count, bca_share(z0, acceleration, -z));
    return (cbx_interval){ estimate, lower, cbx__quantile_select(values, count, bca_share(z0, acceleration, z)),
                           level };
}

cbx_interval cbx__boot_studentised(double *values, size_t count, double estimate, double error, double level)
{
    cbx_interval t = cbx__boot_percentile(values, count, 0, level);

    if (!(error > 0)) return (cbx_interval){ estimate, estimate, estimate, level };
    return (cbx_interval){ estimate, estimate - t.upper * error, estimate - t.lower * error, level };
}
