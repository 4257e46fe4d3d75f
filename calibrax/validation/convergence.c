/* Convergence orders by least squares on logarithms, and tolerances that hold to the end. */
#include "calibrax/validation/convergence.h"
#include "calibrax/base/idioms.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

static const char *const outcome_names[] = {
    "converging", "stalled", "diverging", "too-short", "empty", "not-an-error"
};
static const char *const tolerance_names[] = { "met", "transient", "never", "unknown" };

const char *cbx_convergence_outcome_name(cbx_convergence_outcome o) { return CBX_WORD(outcome_names, o); }

const char *cbx_tolerance_outcome_name(cbx_tolerance_outcome o) { return CBX_WORD(tolerance_names, o); }

/* Least squares in two passes: the points come from a function of their number. */
typedef struct source {
    const double *x, *y; /* x NULL: 0, 1, 2 ... as it is, no logarithm */
    double floor;        /* of y */
} source;

static double x_at(const source *s, size_t i) { return s->x ? log(s->x[i]) : (double)i; }

static double y_at(const source *s, size_t i) { return log(fmax(s->y[i], s->floor)); }

static void fit_line(const source *s, size_t n, double *gradient, double *error)
{
    double mx = 0, my = 0, xx = 0, xy = 0, rest = 0;

    for (size_t i = 0; i < n; i++) {
        mx += x_at(s, i) / (double)n;
        my += y_at(s, i) / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        xx += (x_at(s, i) - mx) * (x_at(s, i) - mx);
        xy += (x_at(s, i) - mx) * (y_at(s, i) - my);
    }
    *gradient = xy / xx;
    for (size_t i = 0; i < n; i++) {
        double off = y_at(s, i) - my - *gradient * (x_at(s, i) - mx);
        rest += off * off;
    }
    *error = n > 2 ? sqrt(rest / ((double)n - 2) / xx) : NAN;
}

static void rate_series(const double *v, size_t n, cbx_convergence_result *out)
{
    source s = { NULL, v, 0 };
    double largest = 0, gradient, sure;

    for (size_t i = 0; i < n; i++) {
        if (!isfinite(v[i]) || v[i] < 0) {
            out->outcome = CBX_CONVERGENCE_NOT_AN_ERROR;
            out->bad = i + 1;
            return;
        }
        largest = fmax(largest, v[i]);
    }
    if (n < 2) {
        out->outcome = n ? CBX_CONVERGENCE_TOO_SHORT : CBX_CONVERGENCE_EMPTY;
        return;
    }
    s.floor = fmax(largest * DBL_EPSILON, DBL_MIN);
    fit_line(&s, n, &gradient, &out->rate_error);
    out->rate = -gradient;
    sure = n > 2 ? 2 * out->rate_error : 0;
    out->outcome = out->rate > sure    ? CBX_CONVERGENCE_CONVERGING
                   : out->rate < -sure ? CBX_CONVERGENCE_DIVERGING
                                       : CBX_CONVERGENCE_STALLED;
}

cbx_status cbx_convergence_check(const double *v, size_t n, const double *tolerances, size_t ntol, size_t hold,
                                 cbx_convergence_result *out, cbx_tolerance_result *each, cbx_err *err)
{
    for (size_t k = 0; k < ntol; k++) {
        if (!isfinite(tolerances[k]) || tolerances[k] < 0)
            return cbx_fail(err, CBX_EINVAL, "tolerance %zu must be finite and at least 0, got %g", k + 1,
                            tolerances[k]);
    }
    if (!hold) return cbx_fail(err, CBX_EINVAL, "'hold' must be at least 1, got 0");
    *out = (cbx_convergence_result){ .rate = NAN, .rate_error = NAN, .iterations = n };
    rate_series(v, n, out);
    bool known = out->outcome != CBX_CONVERGENCE_EMPTY && out->outcome != CBX_CONVERGENCE_NOT_AN_ERROR;
    for (size_t k = 0; k < ntol; k++) {
        each[k] = (cbx_tolerance_result){ tolerances[k], CBX_TOLERANCE_UNKNOWN, 0, 0 };
        if (known) {
            size_t stays = n; /* values from here on are at or below it */
            while (stays > 0 && v[stays - 1] <= each[k].tolerance) stays--;
            for (size_t i = n; i-- > 0;)
                if (v[i] <= each[k].tolerance) each[k].crossed = i + 1;
            if (n - stays >= hold) {
                each[k].outcome = CBX_TOLERANCE_MET;
                each[k].iteration = stays + 1;
            } else {
                each[k].outcome = each[k].crossed ? CBX_TOLERANCE_TRANSIENT : CBX_TOLERANCE_NEVER;
            }
        }
    }
    return CBX_OK;
}

cbx_status cbx_convergence_order(const double *h, const double *e, size_t n, double *order, double *order_error,
                                 cbx_err *err)
{
    const source s = { h, e, 0 };
    double gradient, error;
    bool same = true;

    if (n < 2) return cbx_fail(err, CBX_EINVAL, "%zu pairs of step and error: an order needs two", n);
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(h[i]) || !isfinite(e[i]) || h[i] <= 0 || e[i] <= 0)
            return cbx_fail(err, CBX_EDOM, "pair %zu of step and error is not finite and above 0", i + 1);
        same = same && h[i] == h[0];
    }
    if (same) return cbx_fail(err, CBX_EINVAL, "all steps are %g: an order needs two different ones", h[0]);
    fit_line(&s, n, &gradient, &error);
    *order = gradient;
    if (order_error) *order_error = error;
    return CBX_OK;
}
