/*
 * How a gamma number moves with its shape at a fixed probability: dx/dalpha = -(dF/dalpha) / f, with the distribution function F and
 * its density f (implicit reparameterisation: Figurnov, Mohamed, Mnih, NeurIPS 2018).
 *
 * With dF/dalpha = the integral of (ln t - psi(alpha)) f(t) from 0 to x, and minus that from x to infinity, the side is chosen where
 * ln t - psi(alpha) has one sign, so that nothing cancels; below 1 the power series of F (DLMF 8.7.1), whose terms have one sign there.
 */
#include <math.h>

#include "calibrax/array/reference/reference.h"

/* x sum_n x^n / (a (a+1) ... (a+n)) (psi(a+n+1) - ln x), 0 < x < 1 */
static double by_series(double a, double x)
{
    double term = x / a, apart = cbx__ref_polygamma(0, a + 1) - log(x), sum = 0;

    for (double n = 1;; n++) {
        const double more = term * apart;
        sum += more;
        if (!(fabs(more) > 0x1p-56 * fabs(sum))) return sum;
        term *= x / (a + n);
        apart += 1 / (a + n);
    }
}

/* ln a - psi(a) */
static double log_minus_psi(double a)
{
    const double s = 1 / (a * a);

    if (a < 16) return log(a) - cbx__ref_polygamma(0, a);
    return 0.5 / a + s * (1.0 / 12 - s * (1.0 / 120 - s * (1.0 / 252 - s * (1.0 / 240 - s * (1.0 / 132)))));
}

/* e^u - 1 - u */
static double exp_rest(double u)
{
    if (fabs(u) > 0x1p-6) return expm1(u) - u;
    return u * u / 2 * (1 + u / 3 * (1 + u / 4 * (1 + u / 5 * (1 + u / 6 * (1 + u / 7)))));
}

/*
 * x times the integral over u from 0 to infinity of (apart + u) (f t)(x e^(+-u)) / (f t)(x), by the trapezoidal rule in s with
 * u = width e^(s - e^-s), whose integrand falls off double exponentially at both ends (Takahasi, Mori, Publ. RIMS 9 (1974) 721-741).
 */
static double by_integral(double a, double x)
{
    const double step = 1.0 / 18, excess = (x - a) / a, apart = log1p(excess) + log_minus_psi(a);
    const double sign = apart >= 0 ? 1 : -1, width = 1 / fmax(fabs(x - a), sqrt(x));
    double sum = 0;

    for (double s = -3.75; s < 5; s += step) {
        const double inner = exp(-s), u = width * exp(s - inner);
        const double power = sign * (a - x) * u - x * exp_rest(sign * u);
        if (power > -745) sum += (fabs(apart) + u) * exp(power) * u * (1 + inner);
    }
    return x * step * sum;
}

static double gamma_grad(double a, double x)
{
    if (isnan(x) || !(a >= 0) || isinf(a) || isinf(x)) return NAN;
    if (x <= 0 || a == 0) return x < 0 ? NAN : 0;
    return x < 1 ? by_series(a, x) : by_integral(a, x);
}

CBX__LOOP2(gamma_grad_F32, float, float, (float)gamma_grad((double)x, (double)y))
CBX__LOOP2(gamma_grad_F64, double, double, gamma_grad(x, y))

cbx__loop cbx__ref_gamma_grad(cbx_dtype t) { return t == CBX_F32 ? gamma_grad_F32 : gamma_grad_F64; }
