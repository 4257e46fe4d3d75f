/* Confidence sequences from three martingales; see the header for formulas and sources. */
#include "calibrax/statistics/sequential.h"

#include <math.h>
#include <stdbool.h>

#include "calibrax/base/options.h"

#define MAX_BET 0.5 /* of the empirical Bernstein bets, section 3.2 of its source */
enum { ASYMPTOTIC_FROM = 20 };

static double alpha_of(const cbx_sequence *s) { return 1 - s->opts.level; }

cbx_status cbx_sequence_init(cbx_sequence *s, const cbx_sequence_opts *opts, cbx_err *err)
{
    cbx_sequence_opts o = CBX_SEQUENCE_OPTS_INIT;
    cbx_status st = cbx_take_options(&o, sizeof o, opts, "cbx_sequence_opts", err);

    if (!st) st = cbx_check_level("level", o.level, err);
    if (st) return st;
    if ((unsigned)o.kind > CBX_SEQUENCE_ASYMPTOTIC)
        return cbx_fail(err, CBX_EINVAL, "unknown kind of sequence %d", (int)o.kind);
    if (!(o.planned > 0 && isfinite(o.planned)))
        return cbx_fail(err, CBX_EINVAL, "'planned' must be above 0, got %g", o.planned);
    if (o.kind == CBX_SEQUENCE_BOUNDED && !(isfinite(o.low) && isfinite(o.high) && o.low < o.high))
        return cbx_fail(err, CBX_EINVAL, "bounds %g and %g are not in order", o.low, o.high);
    *s = (cbx_sequence){ .opts = o, .bet_mean = 0.5, .bet_variance = 0.25 };
    double alpha = 1 - o.level;
    /* Narrowest at n = planned: g n = -2 ln alpha + ln(-2 ln alpha) + 1; Waudby-Smith et al.
     * (2024), appendix. */
    double l = -2 * log(alpha);
    s->scale = fmax(l + log(l) + 1, 0.1) / o.planned;
    return CBX_OK;
}

/* The bet on value n + 1 uses only the n before it. */
static void bet(cbx_sequence *s, double x)
{
    double t = s->n, z = (x - s->opts.low) / (s->opts.high - s->opts.low), d = z - s->bet_mean;
    double l = log(2 / alpha_of(s)), lambda = fmin(MAX_BET, sqrt(2 * l / (s->bet_variance * t * log1p(t))));
    double sum = s->bet_mean * t, spread = s->bet_variance * t;

    s->weights += lambda;
    s->weighted += lambda * z;
    s->guarded += d * d * (-log1p(-lambda) - lambda);
    s->bet_mean = (sum + z) / (t + 1); /* starts as one value of 1/2 */
    s->bet_variance = (spread + (z - s->bet_mean) * (z - s->bet_mean)) / (t + 1);
}

cbx_status cbx_sequence_add(cbx_sequence *s, double x, cbx_err *err)
{
    if (!isfinite(x)) return cbx_fail(err, CBX_EDOM, "value %.0f of the sequence is not finite", s->n);
    if (s->opts.kind == CBX_SEQUENCE_BOUNDED && !(x >= s->opts.low && x <= s->opts.high))
        return cbx_fail(err, CBX_EDOM, "value %g of the sequence is outside [%g, %g]", x, s->opts.low, s->opts.high);
    if (s->n == 0) s->origin = x;
    s->n++;
    double d = (x - s->origin) - s->mean;
    s->mean += d / s->n;
    s->squares += d * ((x - s->origin) - s->mean);
    if (s->opts.kind == CBX_SEQUENCE_BOUNDED) bet(s, x);
    return CBX_OK;
}

cbx_status cbx_sequence_add_ratio(cbx_sequence *s, double a, double b, cbx_err *err)
{
    if (!(a > 0 && b > 0 && isfinite(a) && isfinite(b)))
        return cbx_fail(err, CBX_EDOM, "%g over %g has no logarithm: both must be finite and above 0", a, b);
    return cbx_sequence_add(s, log(a) - log(b), err);
}

/* Half width; negative: nothing can be said yet. */
static double half_width(const cbx_sequence *s)
{
    double n = s->n, grown = 1 + n * s->scale, k = pow(sqrt(grown) / alpha_of(s), 2 / n);

    if (s->opts.kind == CBX_SEQUENCE_NORMAL) /* s^2 (n - 1) is squares */
        return n < 2 || k >= grown ? -1 : sqrt(s->squares / n * (k - 1) / (1 - k / grown));
    if (n < ASYMPTOTIC_FROM) return -1;
    return sqrt(s->squares / n) * sqrt(2 * grown / (n * n * s->scale) * log(sqrt(grown) / alpha_of(s)));
}

cbx_interval cbx_sequence_mean(const cbx_sequence *s)
{
    const bool bounded = s->opts.kind == CBX_SEQUENCE_BOUNDED;
    double mean = s->origin + s->mean, half = bounded ? -1 : half_width(s);

    if (bounded && s->n > 0) { /* about the mean of the bets */
        double low = s->opts.low, high = s->opts.high, center = low + (high - low) * s->weighted / s->weights;
        half = (high - low) * (log(2 / alpha_of(s)) + s->guarded) / s->weights;
        return (cbx_interval){ mean, fmax(low, center - half), fmin(high, center + half), s->opts.level };
    }
    if (half < 0) return (cbx_interval){ mean, -INFINITY, INFINITY, 0 };
    return (cbx_interval){ mean, mean - half, mean + half, s->opts.level };
}

cbx_interval cbx_sequence_ratio(const cbx_sequence *s)
{
    cbx_interval iv = cbx_sequence_mean(s);

    return (cbx_interval){ exp(iv.value), exp(iv.lower), exp(iv.upper), iv.level };
}
