/*
 * The logarithmic derivative of the gamma function and its derivatives, psi^(n).
 *
 * Source: Abramowitz & Stegun (1964), 6.3 and 6.4: recurrence 6.4.6, reflection 6.4.7, asymptotic
 * series 6.3.18 and 6.4.11.
 */
#include <math.h>

#include "calibrax/array/reference/reference.h"

/* B_2k */
static const double bernoulli[] = { 1.0 / 6,       -1.0 / 30, 1.0 / 42,      -1.0 / 30,     5.0 / 66,
                                    -691.0 / 2730, 7.0 / 6,   -3617.0 / 510, 43867.0 / 798, -174611.0 / 330 };

/* x not small; n = 0: log x - 1/2x - sum B_2k / 2k x^2k; else with the signs of 6.4.11 */
static double series(int n, double x)
{
    double sum, term, square = x * x;

    if (n == 0) {
        sum = log(x) - 0.5 / x;
        for (size_t k = 1; k <= CBX_LEN(bernoulli); k++)
            sum -= bernoulli[k - 1] / (2.0 * (double)k * pow(square, (double)k));
        return sum;
    }
    term = tgamma(n) / pow(x, n); /* (n-1)! / x^n */
    sum = term * (1 + 0.5 * n / x);
    term *= n / square; /* n! / x^(n+2), of 2k = 2: (n+1)! / 2! */
    for (size_t k = 1; k <= CBX_LEN(bernoulli); k++) {
        const double a = n + 2.0 * (double)k - 1, b = 2.0 * (double)k;
        term *= k == 1 ? a / (b * (b - 1)) : a * (a - 1) / (b * (b - 1)); /* (2k+n-1)! / (2k)! x^(2k+n) */
        sum += bernoulli[k - 1] * term;
        term /= square;
    }
    return n % 2 ? sum : -sum;
}

double cbx__ref_polygamma(int n, double x)
{
    const double far = 12 + n;
    double sum = 0;

    if (isnan(x) || x == -INFINITY) return NAN;
    if (x == INFINITY) return n == 0 ? x : 0.0;
    if (x == 0) return n == 0 ? copysign(INFINITY, -x) : n % 2 ? (double)INFINITY : copysign(INFINITY, -x);
    if (x < 0 && x == floor(x)) return n % 2 ? (double)INFINITY : (double)NAN;
    if (x < 0 && n == 0) return cbx__ref_polygamma(0, 1 - x) - M_PI / tan(M_PI * fmod(x, 1));
    if (x < 0 && n == 1) {
        const double s = sin(M_PI * fmod(x, 1));
        return M_PI * M_PI / (s * s) - cbx__ref_polygamma(1, 1 - x);
    }
    if (x < -1e6) return NAN; /* that many steps of the recurrence */
    for (; x < far; x++) sum += n == 0 ? -1 / x : (n % 2 ? 1 : -1) * tgamma(n + 1.0) / pow(x, n + 1.0);
    return sum + series(n, x);
}

CBX__RUN(polygamma)
{
    enum { PIECE = 512 };
    const cbx_array *x = call->in[0];

    for (size_t first = 0; first < x->count; first += PIECE) {
        const size_t n = x->count - first < PIECE ? x->count - first : PIECE;
        if (x->desc.dtype == CBX_F32) {
            float *y = (float *)(*out)->data + first;
            cbx__array_pack(x, first, n, y);
            for (size_t i = 0; i < n; i++) y[i] = (float)cbx__ref_polygamma(call->attrs->mode, (double)y[i]);
        } else {
            double *y = (double *)(*out)->data + first;
            cbx__array_pack(x, first, n, y);
            for (size_t i = 0; i < n; i++) y[i] = cbx__ref_polygamma(call->attrs->mode, y[i]);
        }
    }
    return CBX_OK;
}
