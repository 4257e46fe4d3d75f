/* Distributions from two incomplete functions and erfc.
 *
 * The incomplete functions are libnifticdf's (CDFLIB in C), which keeps its results in static
 * variables, so one lock guards it.  Only the two kernels are called: bratio (Didonato & Morris,
 * ACM TOMS 18 (1992) 360-373, algorithm 708) and gratio (ACM TOMS 13 (1987) 318-319, algorithm
 * 654).  Against SciPy 1.17 over parameters 0.1 to 10^4 they differ by at most 2e-11 down to tails
 * of 1e-250.  CDFLIB's own inverses stop at eight digits and are not used.
 *
 * Quantiles: the logarithm of a tail is nearly linear in the logit of a beta variable and in the
 * logarithm of a gamma variable, so Halley's steps on it converge in a few steps, in the tails as
 * well; a bracket guards them. */
#include "calibrax/statistics/distribution.h"

#include <math.h>
#include <nifti/nifticdf.h>
#include <pthread.h>
#include <stdbool.h>

#define SQRT_HALF   0.70710678118654752440
#define SQRT_2_PI   2.50662827463100050242
#define LOG_EXTREME 690.0 /* exp of it and of its negative are normal numbers */

/* The two tails of a distribution, which sum to 1; computed apart, so the small one keeps its
 * digits. */
typedef struct tails {
    double lower, upper;
} tails;

static const tails undefined = { NAN, NAN };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Regularised incomplete beta function I_x(a, b): x in [0, 1] and y = 1 - x, both given so that
 * neither loses digits; a, b > 0 and finite. */
static tails beta_tails(double a, double b, double x, double y)
{
    tails t = { 0, 1 };
    int fault = 0;

    if (x <= 0) return t;
    if (y <= 0) return (tails){ 1, 0 };
    pthread_mutex_lock(&lock);
    bratio(&a, &b, &x, &y, &t.lower, &t.upper, &fault);
    pthread_mutex_unlock(&lock);
    return t;
}

/* Regularised incomplete gamma functions P(a, x) and Q(a, x); a > 0, x >= 0, both finite. */
static tails gamma_tails(double a, double x)
{
    tails t = { 0, 1 };
    const int all_digits = 0;

    if (x <= 0) return t;
    pthread_mutex_lock(&lock);
    gratio(&a, &x, &t.lower, &t.upper, &all_digits);
    pthread_mutex_unlock(&lock);
    return t;
}

/* ---- normal ---- */

double cbx_stat_normal_cdf(double z) { return 0.5 * erfc(-z * SQRT_HALF); }
double cbx_stat_normal_sf(double z) { return 0.5 * erfc(z * SQRT_HALF); }

static double polynomial(const double *c, int n, double x)
{
    double sum = c[n - 1];
    while (--n > 0) sum = sum * x + c[n - 1];
    return sum;
}

/* Wichura's PPND16, relative error about 1e-16; q = 1 - p.  The three approximations are for |p -
 * 1/2| <= 0.425 and the tails. */
static double normal_of_tails(double p, double q)
{
    static const double a[] = { 3.3871328727963666080e0,  1.3314166789178437745e+2, 1.9715909503065514427e+3,
                                1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                3.3430575583588128105e+4, 2.5090809287301226727e+3 };
    static const double b[] = { 1.0000000000000000000e0,  4.2313330701600911252e+1, 6.8718700749205790830e+2,
                                5.3941960214247511077e+3, 2.1213794301586595867e+4, 3.9307895800092710610e+4,
                                2.8729085735721942674e+4, 5.2264952788528545610e+3 };
    static const double c[] = { 1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                                3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                                2.27238449892691845833e-2, 7.74545014278341407640e-4 };
    static const double d[] = { 1.0000000000000000000e0,   2.05319162663775882187e0,  1.67638483018380384940e0,
                                6.89767334985100004550e-1, 1.48103976427480074590e-1, 1.51986665636164571966e-2,
                                5.47593808499534494600e-4, 1.05075007164441684324e-9 };
    static const double e[] = { 6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                                2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                2.71155556874348757815e-5, 2.01033439929228813265e-7 };
    static const double f[] = { 1.0000000000000000000e0,   5.99832206555887937690e-1, 1.36929880922735805310e-1,
                                1.48753612908506148525e-2, 7.86869131145613259100e-4, 1.84631831751005468180e-5,
                                1.42151175831644588870e-7, 2.04426310338993978564e-15 };
    double tail = p < q ? p : q, middle = p < q ? p - 0.5 : 0.5 - q, r, z;

    if (fabs(middle) <= 0.425) {
        r = 0.180625 - middle * middle;
        return middle * polynomial(a, 8, r) / polynomial(b, 8, r);
    }
    r = sqrt(-log(tail));
    if (r <= 5)
        z = polynomial(c, 8, r - 1.6) / polynomial(d, 8, r - 1.6);
    else
        z = polynomial(e, 8, r - 5) / polynomial(f, 8, r - 5);
    return p < q ? -z : z;
}

/* The ends of the support for p = 0 and 1; NaN outside [0, 1]; else false. */
static bool at_the_end(double p, double low, double high, double *out)
{
    if (p > 0 && p < 1) return false;
    *out = p == 0 ? low : p == 1 ? high : NAN;
    return true;
}

double cbx_stat_normal_quantile(double p)
{
    double x;
    return at_the_end(p, -INFINITY, INFINITY, &x) ? x : normal_of_tails(p, 1 - p);
}

double cbx_stat_normal_isf(double q) { return -cbx_stat_normal_quantile(q); }

/* ---- what the inverses share ---- */

/* Tails at u and the density there, per unit of u. */
typedef struct family {
    struct tails (*tails)(const struct family *law, double u);
    double (*density)(const struct family *law, double u, double *bend); /* bend: derivative of its logarithm */
    double a, b, log_norm;
} family;

/* The u with lower tail p (upper tail q = 1 - p): Halley's steps on the logarithm of the smaller
 * tail, kept between low and high.  An error of h becomes one of h^3. */
static double invert(const family *law, double p, double q, double low, double high, double start)
{
    double u = start;

    for (int i = 0; i < 300; i++) {
        const tails t = law->tails(law, u);
        double bend, density = law->density(law, u, &bend), next;
        const double h = p <= q ? log(t.lower / p) : log(q / t.upper);
        const double slope = density / (p <= q ? t.lower : t.upper), newton = h / slope;
        const double turn = 1 - newton * (p <= q ? bend - slope : bend + slope) / 2;

        if (h == 0) return u;
        if (h > 0)
            high = u;
        else
            low = u;
        next = u - (turn > 0.5 && turn < 2 ? newton / turn : newton);
        if (!(next > low && next < high))
            next = low + (high - low) / 2;
        else if (fabs(h) < 1e-5)
            return next;
        if (fabs(next - u) <= 4e-16 * fmax(1.0, fabs(u)) || next == low || next == high) return next;
        u = next;
    }
    return u;
}

/* ---- beta and t: u = log(x / (1 - x)) ---- */

static tails beta_tails_of_logit(const family *law, double u)
{
    return beta_tails(law->a, law->b, 1 / (1 + exp(-u)), 1 / (1 + exp(u)));
}

static double beta_density_of_logit(const family *law, double u, double *bend)
{
    *bend = law->a - (law->a + law->b) / (1 + exp(-u));
    return exp(-law->a * log1p(exp(-u)) - law->b * log1p(exp(u)) - law->log_norm);
}

static double log_beta(double a, double b)
{
    int sign;
    return lgamma_r(a, &sign) + lgamma_r(b, &sign) - lgamma_r(a + b, &sign);
}

/* Logit of the beta quantile.  Beyond the reach of a double x, the first term of the series is
 * enough: I_x = x^a / (a B(a, b)). */
static double beta_logit(double a, double b, double p, double q)
{
    family law = { beta_tails_of_logit, beta_density_of_logit, a, b, log_beta(a, b) };
    double low = (log(p) + log(a) + law.log_norm) / a, high = -(log(q) + log(b) + law.log_norm) / b;

    if (low < -LOG_EXTREME && p < q) return low;
    if (high > LOG_EXTREME && q <= p) return high;
    return invert(&law, p, q, -LOG_EXTREME - 55, LOG_EXTREME + 55, log(a / b));
}

static bool positive(double x) { return x > 0 && isfinite(x); }

/* The value with lower tail p and upper tail q, of a law on [0, high] with shapes a and b. */
static double quantile(double p, double q, double high, double (*inverse)(double, double, double, double), double a,
                       double b)
{
    if (!positive(a) || !positive(b) || !(p >= 0 && q >= 0)) return NAN;
    return p == 0 ? 0 : q == 0 ? high : inverse(p, q, a, b);
}

static tails beta_at(double x, double a, double b)
{
    if (isnan(x) || !positive(a) || !positive(b)) return undefined;
    return beta_tails(a, b, fmin(fmax(x, 0.0), 1.0), fmin(fmax(1 - x, 0.0), 1.0));
}

static double beta_inverse(double p, double q, double a, double b) { return 1 / (1 + exp(-beta_logit(a, b, p, q))); }

double cbx_stat_beta_cdf(double x, double a, double b) { return beta_at(x, a, b).lower; }
double cbx_stat_beta_sf(double x, double a, double b) { return beta_at(x, a, b).upper; }
double cbx_stat_beta_quantile(double p, double a, double b) { return quantile(p, 1 - p, 1, beta_inverse, a, b); }
double cbx_stat_beta_isf(double q, double a, double b) { return quantile(1 - q, q, 1, beta_inverse, a, b); }

static tails f_at(double f, double df1, double df2)
{
    double odds = f * (df1 / df2);

    if (isnan(f) || !positive(df1) || !positive(df2)) return undefined;
    if (f <= 0) return (tails){ 0, 1 };
    if (isinf(odds)) return (tails){ 1, 0 };
    return beta_tails(df1 / 2, df2 / 2, odds / (1 + odds), 1 / (1 + odds));
}

static double f_inverse(double p, double q, double df1, double df2)
{
    return exp(beta_logit(df1 / 2, df2 / 2, p, q)) * (df2 / df1);
}

double cbx_stat_f_cdf(double f, double df1, double df2) { return f_at(f, df1, df2).lower; }
double cbx_stat_f_sf(double f, double df1, double df2) { return f_at(f, df1, df2).upper; }
double cbx_stat_f_quantile(double p, double df1, double df2)
{
    return quantile(p, 1 - p, INFINITY, f_inverse, df1, df2);
}
double cbx_stat_f_isf(double q, double df1, double df2) { return quantile(1 - q, q, INFINITY, f_inverse, df1, df2); }

/* P(T > t) for t >= 0: half of I_{df/(df+t^2)}(df/2, 1/2). */
static double t_upper(double t, double df)
{
    double r = t / sqrt(df), square = r * r;
    if (isinf(square)) return 0.5 * exp(-df * (log(t) - 0.5 * log(df)) - log(df / 2) - log_beta(df / 2, 0.5));
    return 0.5 * beta_tails(df / 2, 0.5, 1 / (1 + square), square / (1 + square)).lower;
}

double cbx_stat_t_sf(double t, double df)
{
    if (isnan(t) || !(df > 0)) return NAN;
    if (isinf(df)) return cbx_stat_normal_sf(t);
    if (isinf(t)) return t > 0 ? 0.0 : 1.0;
    return t >= 0 ? t_upper(t, df) : 1 - t_upper(-t, df);
}

double cbx_stat_t_cdf(double t, double df) { return cbx_stat_t_sf(-t, df); }

/* Upper quantile for a tail of at most one half. */
static double t_of_upper(double q, double df)
{
    double logit = beta_logit(df / 2, 0.5, 2 * q, 1 - 2 * q); /* of df / (df + t^2) */
    return sqrt(df) * exp(-logit / 2);
}

double cbx_stat_t_isf(double q, double df)
{
    double x;

    if (!(df > 0)) return NAN;
    if (at_the_end(q, INFINITY, -INFINITY, &x)) return x;
    if (isinf(df)) return cbx_stat_normal_isf(q);
    if (q == 0.5) return 0;
    /* near the middle 1 - 2q holds the digits, and beta_logit takes whichever tail is smaller */
    return q < 0.5 ? t_of_upper(q, df) : -t_of_upper(1 - q, df);
}

double cbx_stat_t_quantile(double p, double df) { return -cbx_stat_t_isf(p, df); }

/* ---- chi-square: u = log(x / 2) ---- */

static tails gamma_tails_of_log(const family *law, double u) { return gamma_tails(law->a, exp(u)); }

static double gamma_density_of_log(const family *law, double u, double *bend)
{
    const double x = exp(u);

    *bend = law->a - x;
    return exp(law->a * u - x - law->log_norm);
}

/* log(x) near the quantile of a gamma variable.  low: where x^a / (a Gamma(a)) = p, the first term
 * of the series; the second one adds x / (a + 1).  Else the cube of a normal variable, Wilson &
 * Hilferty, PNAS 17 (1931) 684-688. */
static double gamma_start(double a, double p, double q, double low)
{
    const double small = exp(low), z = normal_of_tails(p, q), root = 1 - 1 / (9 * a) + z / (3 * sqrt(a));

    if (small < 0.2 * (a + 1)) return low + small / (a + 1);
    return root > 0 ? log(a) + 3 * log(root) : log(a);
}

static double chi2_inverse(double p, double q, double df, double one)
{
    int sign;
    family law = { gamma_tails_of_log, gamma_density_of_log, df / 2, 0, lgamma_r(df / 2, &sign) };
    double low = (log(p) + log(law.a) + law.log_norm) / law.a;

    (void)one;
    if (low < -LOG_EXTREME && p < q) return 2 * exp(low);
    return 2 * exp(invert(&law, p, q, -LOG_EXTREME - 55, LOG_EXTREME, gamma_start(law.a, p, q, low)));
}

static tails chi2_at(double x, double df)
{
    if (isnan(x) || !positive(df)) return undefined;
    return isinf(x) && x > 0 ? (tails){ 1, 0 } : gamma_tails(df / 2, x / 2);
}

double cbx_stat_chi2_cdf(double x, double df) { return chi2_at(x, df).lower; }
double cbx_stat_chi2_sf(double x, double df) { return chi2_at(x, df).upper; }
double cbx_stat_chi2_quantile(double p, double df) { return quantile(p, 1 - p, INFINITY, chi2_inverse, df, 1); }
double cbx_stat_chi2_isf(double q, double df) { return quantile(1 - q, q, INFINITY, chi2_inverse, df, 1); }

/* ---- binomial ---- */

static bool binomial_fits(double n, double p) { return n >= 0 && n <= 1e9 && floor(n) == n && p >= 0 && p <= 1; }

/* P(X <= k) = I_{1-p}(n - k, k + 1). */
static tails binomial_tails(double k, double n, double p)
{
    if (isnan(k) || !binomial_fits(n, p)) return undefined;
    k = floor(k);
    if (k < 0) return (tails){ 0, 1 };
    return k >= n ? (tails){ 1, 0 } : beta_tails(n - k, k + 1, 1 - p, p);
}

double cbx_stat_binomial_cdf(double k, double n, double p) { return binomial_tails(k, n, p).lower; }
double cbx_stat_binomial_sf(double k, double n, double p) { return binomial_tails(k, n, p).upper; }

double cbx_stat_binomial_quantile(double u, double n, double p)
{
    double below = -1, at = n; /* cdf(below) < u <= cdf(at) */

    if (!(u >= 0 && u <= 1) || !binomial_fits(n, p)) return NAN;
    if (u == 0) return 0;
    while (at - below > 1) {
        double middle = floor((below + at) / 2);
        if (binomial_tails(middle, n, p).lower >= u)
            at = middle;
        else
            below = middle;
    }
    return at;
}

/* ---- noncentral t ---- */

/* For t >= 0: Phi(-delta) + 1/2 sum_j [p_j I_x(j + 1/2, df/2) + q_j I_x(j + 1, df/2)], x = t^2 /
 * (df + t^2), with p_j = exp(-delta^2/2) (delta^2/2)^j / j!, q_j = delta exp(-delta^2/2)
 * (delta^2/2)^j / (sqrt 2 Gamma(j + 3/2)).  Each incomplete beta is asked for itself instead of by
 * recurrence, so the error stays that of its terms.  The largest terms are near j = delta^2/2: the
 * sum ends where the weights that are left are below 1e-17. */
double cbx_stat_noncentral_t_cdf(double t, double df, double delta)
{
    double half = delta * delta / 2, left = 1, sum = 0;

    if (isnan(t) || !(df > 0) || isinf(df) || !(fabs(delta) <= 37)) return NAN;
    if (isinf(t)) return t > 0 ? 1.0 : 0.0;
    if (t < 0) return fmax(0.0, 1 - cbx_stat_noncentral_t_cdf(-t, df, -delta));
    double square = t / df * t;
    double x = isinf(square) ? 1.0 : square / (1 + square);
    double y = 1 / (1 + square);
    double p = exp(-half);
    double q = delta * exp(-half) / (SQRT_2_PI / 2); /* sqrt 2 Gamma(3/2) = sqrt(2 pi) / 2 */
    for (int j = 0; j < 3000 && left > 1e-17; j++) {
        sum += p * beta_tails(j + 0.5, df / 2, x, y).lower + q * beta_tails(j + 1.0, df / 2, x, y).lower;
        left -= p;
        if (j > half && p + fabs(q) < 1e-18) break;
        p *= half / (j + 1);
        q *= half / (j + 1.5);
    }
    return fmin(1.0, cbx_stat_normal_cdf(-delta) + sum / 2);
}
