/*
 * How a gamma number moves with its shape at a fixed probability: g = dx/dalpha = -(dF/dalpha) / f,
 * with the distribution function F and its density f (implicit reparameterisation: Figurnov,
 * Mohamed, Mnih, NeurIPS 2018), and derivatives of g in both.
 *
 * With dF/dalpha = the integral of (ln t - psi(alpha)) f(t) from 0 to x, and minus that from x to
 * infinity, the side is chosen where ln t - psi(alpha) has one sign, so that nothing cancels; below
 * 1 the power series of F (DLMF 8.7.1), whose terms have one sign there.  Derivatives of order n in
 * alpha are those of the terms of both; in x they follow from
 * dg/dx = psi(alpha) - ln x - g d(ln f)/dx.
 */
#include <math.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/reference/reference.h"

enum { ORDERS = CBX__GAMMA_GRAD_ORDERS };

/* ---- in the shape ---- */

/* Taylor coefficients of 1 / (a + da) in da. */
static void reciprocal(double a, int n, double r[])
{
    r[0] = 1 / a;
    for (int k = 1; k <= n; k++) r[k] = -r[k - 1] / a;
}

/* Coefficient k of a product, and what its terms sum up to without their signs. */
static double product(const double p[], const double q[], int k, double *size)
{
    double sum = 0;

    *size = 0;
    for (int i = 0; i <= k; i++) {
        sum += p[i] * q[k - i];
        *size += fabs(p[i] * q[k - i]);
    }
    return sum;
}

/* Derivative n of x sum_m x^m / (a (a+1) ... (a+m)) (psi(a+m+1) - ln x), 0 < x < 1, by Taylor
 * polynomials. */
static double by_series(int n, double a, double x)
{
    double term[ORDERS + 1], apart[ORDERS + 1], next[ORDERS + 1], sum = 0, size;

    reciprocal(a, n, term);
    for (int k = 0; k <= n; k++) {
        term[k] *= x;
        apart[k] = cbx__ref_polygamma(k, a + 1) / tgamma(k + 1);
    }
    apart[0] -= log(x);
    for (double m = 1;; m++) {
        sum += product(term, apart, n, &size);
        if (!(size > 0x1p-56 * fabs(sum))) return tgamma(n + 1) * sum;
        reciprocal(a + m, n, next);
        for (int k = n; k >= 0; k--) {
            term[k] = x * product(term, next, k, &size);
            apart[k] += next[k];
        }
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

/* ln x - psi(a) */
static double log_apart(double a, double x)
{
    const double excess = (x - a) / a;
    return (excess > -0.5 ? log1p(excess) : log(x / a)) + log_minus_psi(a);
}

/*
 * Derivative n of x times the integral of (ln t - psi(a)) (f t)(t) / (f t)(x) over v = ln(t / x),
 * from 0 to infinity if ln x > psi(a), else to -infinity, by the trapezoidal rule in s with
 * |v| = width e^(s - e^-s), whose integrand falls off double exponentially at both ends (Takahasi,
 * Mori, Publ. RIMS 9 (1974) 721-741).  The density at x e^v relative to that at x has v as its
 * logarithmic derivative in a.
 */
static double by_integral(int n, double a, double x)
{
    const double step = 1.0 / 18, apart = log_apart(a, x);
    const double sign = apart >= 0 ? 1 : -1, width = 1 / fmax(fabs(x - a), sqrt(x));
    double sum = 0, choose = 1, p[ORDERS + 2]; /* a polynomial in v */

    p[n + 1] = 1;
    p[n] = apart;
    for (int k = 1; k <= n; k++) {
        choose = choose * (n - k + 1) / k;
        p[n - k] = -choose * cbx__ref_polygamma(k, a);
    }
    for (double s = -3.75; s < 5; s += step) {
        const double inner = exp(-s), v = sign * width * exp(s - inner), power = (a - x) * v - x * exp_rest(v);
        double factor = p[n + 1];
        for (int j = n; j >= 0; j--) factor = factor * v + p[j];
        if (power > -745) sum += factor * exp(power) * v * (1 + inner);
    }
    return x * step * sum;
}

static double in_shape(int n, double a, double x) { return x < 1 ? by_series(n, a, x) : by_integral(n, a, x); }

/* ---- in the number ---- */

/* Derivative n in a, then one in x: of psi(a) - ln x - g ((a - 1) / x - 1). */
static double in_number(int n, double a, double x)
{
    const double g = in_shape(n, a, x);

    if (n == 0) return g * (x - a + 1) / x - log_apart(a, x);
    return cbx__ref_polygamma(n, a) + (g * (x - a + 1) - n * in_shape(n - 1, a, x)) / x;
}

static double gamma_grad(int mode, double a, double x)
{
    if (isnan(x) || !(a >= 0) || isinf(a) || isinf(x)) return NAN;
    if (x <= 0 || a == 0) return x < 0 ? NAN : 0;
    return mode % 2 ? in_number(mode / 2, a, x) : in_shape(mode / 2, a, x);
}

CBX__RUN(gamma_grad)
{
    enum { PIECE = 512 };
    const cbx_array *a = call->in[0], *x = call->in[1];
    const bool is_f32 = x->desc.dtype == CBX_F32;
    const size_t size = cbx__dtype_size(x->desc.dtype);
    const int mode = call->attrs->mode;

    for (size_t first = 0; first < x->count; first += PIECE) {
        const size_t n = x->count - first < PIECE ? x->count - first : PIECE;
        void *to = (char *)(*out)->data + first * size;
        float f[PIECE], *y = to;
        double d[PIECE], *z = to;
        cbx__array_pack(a, first, n, is_f32 ? (void *)f : d);
        cbx__array_pack(x, first, n, to);
        for (size_t i = 0; is_f32 && i < n; i++) y[i] = (float)gamma_grad(mode, (double)f[i], (double)y[i]);
        for (size_t i = 0; !is_f32 && i < n; i++) z[i] = gamma_grad(mode, d[i], z[i]);
    }
    return CBX_OK;
}
