/* Laws of speed-up: one linear parameter, one or two that are searched. */
#include "calibrax/analysis/scaling.h"

#include <math.h>

#include "calibrax/statistics/relative_fit.h"

static double amdahl(double p, const double *theta) { return theta[0] + (1 - theta[0]) / p; }
static double gustafson(double p, const double *theta) { return theta[0] + (1 - theta[0]) * p; }
static double usl(double p, const double *theta) { return p / (1 + theta[0] * (p - 1) + theta[1] * p * (p - 1)); }

static const struct {
    cbx__fit_shape g;
    size_t min_points;
    int nparameters;
} laws[] = {
    [CBX_LAW_AMDAHL] = { amdahl, 3, 1 }, [CBX_LAW_GUSTAFSON] = { gustafson, 3, 1 }, [CBX_LAW_USL] = { usl, 4, 2 }
};

cbx_status cbx_scaling_speedup(cbx_ctx *ctx, cbx_speedup_law law, const double *workers, const double *y, size_t n,
                               double level, cbx_speedup_fit *out, cbx_err *err)
{
    cbx__fit_data d = { workers, y, n, 1 };
    cbx_speedup_fit f = { .peak_workers = NAN };
    double theta[2] = { 0, 0 };

    (void)ctx;
    if ((unsigned)law >= CBX_LEN(laws)) return cbx_fail(err, CBX_EINVAL, "unknown law");
    cbx_status st = cbx__fit_check(workers, y, n, laws[law].min_points, level, err);
    if (st) return st;
    cbx__fit_profile p = (cbx__fit_profile){ &d,       laws[law].g, false, { 0, 0 }, 0, laws[law].nparameters - 1,
                                             { 0, 0 }, { 1, 1 } };
    theta[0] = cbx__fit_minimise(&p, p.lo[0], p.hi[0]);
    if (p.others) cbx__fit_other(&p, theta[0], &theta[1]);
    for (int k = 0; k < laws[law].nparameters; k++) {
        p.which = k;
        f.parameter[k] = cbx__fit_interval(&p, theta[k], (size_t)laws[law].nparameters + 1, level);
    }
    if (laws[law].nparameters < 2) f.parameter[1] = (cbx_interval){ NAN, NAN, NAN, 0 };
    cbx__fit_linear l = cbx__fit_solve(&d, laws[law].g, theta, false);
    f.scale = l.c;
    f.relative_error = sqrt(l.square / (double)n);
    if (law == CBX_LAW_USL) f.peak_workers = theta[1] > 1e-9 ? sqrt((1 - theta[0]) / theta[1]) : INFINITY;
    *out = f;
    return CBX_OK;
}
