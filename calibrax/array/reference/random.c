/*
 * Random numbers: the inverse error function that makes normal numbers of uniform ones, and
 * gamma numbers, each element from a key of its own.
 *
 * Sources: Salmon, Moraes, Dror, Shaw, SC 2011 (threefry); Wichura, Appl. Stat. 37 (1988) 477-484,
 * AS 241 (PPND16); Marsaglia, Tsang, ACM Trans. Math. Softw. 26 (2000) 363-372 (gamma).
 */
#include <math.h>

#include "calibrax/array/reference/reference.h"
#include "calibrax/base/threefry.h"

static double quotient(const double top[8], const double bottom[8], double r)
{
    double a = top[7], b = bottom[7];

    for (int i = 6; i >= 0; i--) {
        a = a * r + top[i];
        b = b * r + bottom[i];
    }
    return a / b;
}

/* The normal quantile at (1 + x) / 2; for large |x| in terms of (1 - |x|) / 2, which is exact. */
static double quantile(double x)
{
    static const double centre[2][8] = {
        { 3.3871328727963666080e0, 1.3314166789178437745e+2, 1.9715909503065514427e+3, 1.3731693765509461125e+4,
          4.5921953931549871457e+4, 6.7265770927008700853e+4, 3.3430575583588128105e+4, 2.5090809287301226727e+3 },
        { 1.0, 4.2313330701600911252e+1, 6.8718700749205790830e+2, 5.3941960214247511077e+3, 2.1213794301586595867e+4,
          3.9307895800092710610e+4, 2.8729085735721942674e+4, 5.2264952788528545610e+3 }
    };
    static const double middle[2][8] = {
        { 1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
          1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4 },
        { 1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1, 1.48103976427480074590e-1,
          1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9 }
    };
    static const double tail[2][8] = {
        { 6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
          2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7 },
        { 1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
          7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15 }
    };
    double q = 0.5 * x, r;

    if (fabs(q) <= 0.425) return q * quotient(centre[0], centre[1], 0.180625 - q * q);
    r = sqrt(-log(0.5 * (1.0 - fabs(x))));
    r = r <= 5.0 ? quotient(middle[0], middle[1], r - 1.6) : quotient(tail[0], tail[1], r - 5.0);
    return copysign(r, x);
}

/* AS 241 is good to 1e-16 of the quantile; one Newton step on erf or erfc takes its last
 * errors out. */
double cbx__ref_erfinv(double x)
{
    double y, e;

    if (!(fabs(x) < 1.0)) return fabs(x) == 1.0 ? x * HUGE_VAL : NAN;
    if (fabs(x) < 1e-150) return x * 0.886226925452758013649083741670572591; /* sqrt(pi) / 2 */
    y = quantile(x) * M_SQRT1_2;
    e = fabs(x) <= 0.5 ? erf(y) - x : copysign(1.0, x) * ((1.0 - fabs(x)) - erfc(fabs(y)));
    return y - e * 0.886226925452758013649083741670572591 * exp(y * y);
}
CBX__LOOP1(erfinv_F32, float, float, cbx__ref_erfinv(x))
CBX__LOOP1(erfinv_F64, double, double, cbx__ref_erfinv(x))

/* One number in [0, 1) and one normal number of a key: element 0 of the arrays that random.h
 * describes. */
static float uniform_F32(uint64_t key)
{
    uint64_t w = cbx__threefry(key, 0);
    return (float)((uint32_t)(w >> 32 ^ w) >> 9) * 0x1p-23f;
}
static double uniform_F64(uint64_t key) { return (double)(cbx__threefry(key, 0) >> 12) * 0x1p-52; }
static float normal_F32(uint64_t key)
{
    const float low = nextafterf(-1.0f, 0.0f);
    return (float)M_SQRT2 * (float)cbx__ref_erfinv(fmaxf(low, uniform_F32(key) * (1.0f - low) + low));
}
static double normal_F64(uint64_t key)
{
    const double low = nextafter(-1.0, 0.0);
    return M_SQRT2 * cbx__ref_erfinv(fmax(low, uniform_F64(key) * (1.0 - low) + low));
}

/*
 * Marsaglia and Tsang's d v^3 with squeeze; below 1 the number for alpha + 1 times a uniform one to
 * the power 1/alpha. A key is split into those of the next trial, of its normal numbers and of its
 * uniform one: the order of JAX.
 */
#define GAMMA(D, T, f)                                                                                                 \
    static T gamma_of_##D(uint64_t key, T alpha)                                                                       \
    {                                                                                                                  \
        const T big = alpha >= 1 ? alpha : alpha + 1, d = big - (T)(1.0 / 3.0), c = (T)(1.0 / 3.0) / sqrt##f(d);       \
        const uint64_t boost = cbx__threefry(key, 1);                                                                  \
        T x, v, u;                                                                                                     \
        if (!(alpha >= 0)) return (T)NAN;                                                                              \
        key = cbx__threefry(key, 0);                                                                                   \
        do {                                                                                                           \
            uint64_t trial = key, normals = cbx__threefry(trial, 1);                                                   \
            key = cbx__threefry(trial, 0);                                                                             \
            do {                                                                                                       \
                x = normal_##D(cbx__threefry(normals, 1));                                                             \
                v = 1 + x * c;                                                                                         \
                normals = cbx__threefry(normals, 0);                                                                   \
            } while (v <= 0);                                                                                          \
            x = x * x;                                                                                                 \
            v = v * v * v;                                                                                             \
            u = uniform_##D(cbx__threefry(trial, 2));                                                                  \
        } while (u >= 1 - (T)0.0331 * (x * x) && log##f(u) >= x * (T)0.5 + d * ((1 - v) + log##f(v)));                 \
        return alpha >= 1 ? d * v : d * v * pow##f(1 - uniform_##D(boost), 1 / alpha);                                 \
    }                                                                                                                  \
    static void gamma_##D(size_t n, char *const *p, const ptrdiff_t *s)                                                \
    {                                                                                                                  \
        char *o = p[0];                                                                                                \
        const char *key = p[1], *alpha = p[2];                                                                         \
        for (; n > 0; n--, o += s[0], key += s[1], alpha += s[2])                                                      \
            *(T *)o = gamma_of_##D(*(const uint64_t *)key, *(const T *)alpha);                                         \
    }
GAMMA(F32, float, f)
GAMMA(F64, double, )

cbx__loop cbx__ref_random(cbx_prim p, cbx_dtype t)
{
    if (t != CBX_F32 && t != CBX_F64) return NULL;
    if (p == CBX_PRIM_ERFINV) return t == CBX_F32 ? erfinv_F32 : erfinv_F64;
    return t == CBX_F32 ? gamma_F32 : gamma_F64;
}
