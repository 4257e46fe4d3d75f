/* Vector functions of one float type: straight-line arithmetic with selects, which the compiler
 * turns into the vectors of whatever instruction set the including file is built for.  Included
 * once a type by elementary.h, which defines what depends on it.
 *
 * Each function has a domain, F(<name>_in): outside of it (NaN, infinities, results that are not
 * normal, huge arguments) the value is unspecified, and the caller asks the C library.  FMA is
 * explicit, so that every instruction set gives the same bits.
 *
 * exp and its kin: x = n ln2 + r, |r| <= ln2/2; cosh and sinh of r by polynomials in r^2. log and
 * its kin: x = 2^k (1+f), s = f/(2+f), log(1+f) = f - f^2/2 + s (f^2/2 + s^2 P(s^2)), as in
 * FreeBSD's msun. sin, cos, tan: three-part Cody-Waite reduction to |r| <= pi/4, exact with FMA, r
 * with a low part. asin, acos: for |x| > 1/2 by sqrt((1-|x|)/2).  atan, atan2: a quotient of at
 * most 1/2, with the rest of its division. erfc: e^(-x^2) times a quotient, both as sums. pow: log2
 * as an unevaluated sum of two numbers through 2 atanh(s). The polynomials are in
 * elementary_poly.h; tests/array/test_mpfr.c holds the errors to their bounds. */

#define LN2_HIGH       K(6.93147180369123816490e-01, 0.693359375f)
#define LN2_LOW        K(1.90821492927058770002e-10, -2.12194440e-4f)
#define MAGIC          K(6755399441055744.0, 12582912.0f) /* adding it leaves the nearest integer in the low bits */
#define ONE_BITS       ((U)BIAS << MANTISSA)
#define LOW_BITS       (((U)1 << MANTISSA) - 1)
#define SQRT_HALF      K(0x3fe6a09e667f3bcdu, 0x3f3504f3u) /* bits of sqrt(1/2) */
#define QUARTER_PI     K(0x1.921fb54442d18p-1, 0x1.921fb6p-1f)
#define QUARTER_PI_LOW K(0x1.1a62633145c07p-55, -0x1.777a5cp-26f)

/* 2^n for the integer in the low bits of n */
INLINE T F(power_of_two)(U n) { return FROM_BITS((n + BIAS) << MANTISSA); }

typedef struct F(reduced) {
    T r, low; /* r + low = x - n ln2 */
    U n;      /* in the low bits */
} F(reduced);

INLINE F(reduced) F(reduce_exp)(T x)
{
    const T t = FMA(x, K(1.44269504088896340736, 1.44269504f), MAGIC), k = t - MAGIC;
    const T high = FMA(-k, LN2_HIGH, x), c = k * LN2_LOW, r = high - c;
    return (F(reduced)){ r, (high - r) - c, BITS(t) };
}

/* exp is right everywhere: arguments beyond those of 0 and infinity are as good as these. */
INLINE bool F(exp_in)(T x) { return (void)x, true; }
#if MANTISSA == 23 /* of float64 it is in elementary_exp.h */
/* x - n (ln2 as a number) is exact, and what is left of n ln2 a factor 1 - c. e^r = 1 + r + z/2 + z
 * q; of 1 + r what its rounding leaves is kept, so that one rounding, the last, counts. 2^n is two
 * factors, so that the second product rounds to subnormal numbers, 0 and infinity. At most 0.6
 * units. */
INLINE T F(exp)(T x)
{
    const T lowest = cbx__exp_range_f32[0], highest = cbx__exp_range_f32[1], a = lowest > x ? lowest : x,
            b = highest < a ? highest : a;
    const T log2e = 1.44269504f, magic = MAGIC + 2 * BIAS;
    const T t = FMA(b, log2e, magic), k = t - magic, r = FMA(-k, 0x1.62e430p-1f, b);
    const T c = k * -0x1.05c610p-29f, z = r * r, u = 1 + r, low = r - (u - 1);
    const T q = FMA(r, F(sinh_r)(z), z * F(cosh_rr)(z)), rest = FMA(z, q, FMA(z, 0.5f, low));
    const U half = BITS(FMA(b, log2e / 2, MAGIC + BIAS)); /* about n/2, and BIAS */
    const T scale = FROM_BITS(half << MANTISSA);
    return FMA(FMA(-c, u + rest, rest), scale, u * scale) * FROM_BITS((BITS(t) - half) << MANTISSA);
}
#endif

INLINE bool F(exp2_in)(T x) { return FABS(x) <= K(1021.0, 125.0f); }
INLINE T F(exp2)(T x)
{
    const T t = x + MAGIC, r = x - (t - MAGIC);
    const T q = FMA(r, K(0x1.62e42fefa39efp-1, 0x1.62e430p-1f), r * r * F(exp2_r)(r));
    return (1 + q) * F(power_of_two)(BITS(t));
}

INLINE bool F(expm1_in)(T x) { return FABS(x) <= K(700.0, 85.0f); }
typedef struct F(two) {
    T a, b;
} F(two);
/* As a sum of a number and a small one. */
INLINE F(two) F(expm1_sum)(T x)
{
    const F(reduced) e = F(reduce_exp)(x);
    const T r = e.r, z = r * r, s = F(power_of_two)(e.n), u = s - 1;
    const T q = FMA(r, F(sinh_r)(z), z * F(cosh_rr)(z)), t = FMA(z, q, FMA(z, K(0.5, 0.5f), e.low));
    const T high = FMA(s, r, u), u_low = (s - u) - 1;
    return (F(two)){ high, FMA(s, t, FMA(s, r, u - high) + u_low) };
}
INLINE T F(expm1)(T x)
{
    const F(two) y = F(expm1_sum)(x);
    return x == 0 ? x : y.a + y.b;
}

/* 2 sinh and 2 cosh of a >= 0, as far as they are not 2^1023: 2^n e^r -+ 2^-n e^-r */
INLINE F(two) F(sinh_cosh)(T a)
{
    const F(reduced) e = F(reduce_exp)(a);
    const T r = e.r, z = r * r, up = F(power_of_two)(e.n - 1), down = FROM_BITS((BIAS - 1 - e.n) << MANTISSA);
    const T sum = up + down, dif = up - down, sum_low = (up - sum) + down, dif_low = (up - dif) - down;
    const T even = z * F(cosh_r)(z), odd = FMA(r * z, F(sinh_r)(z), e.low);
    const T sh = FMA(sum, r, dif), ch = FMA(dif, r, sum);
    return (F(two)){ sh + (FMA(sum, r, dif - sh) + FMA(sum, odd, FMA(dif, even, dif_low))),
                     ch + (FMA(dif, r, sum - ch) + FMA(sum, even, FMA(dif, odd, sum_low))) };
}
INLINE bool F(sinh_in)(T x) { return FABS(x) <= K(700.0, 85.0f); }
INLINE T F(sinh)(T x) { return COPYSIGN(F(sinh_cosh)(FABS(x)).a, x); }
INLINE bool F(cosh_in)(T x) { return F(sinh_in)(x); }
INLINE T F(cosh)(T x) { return F(sinh_cosh)(FABS(x)).b; }
INLINE bool F(tanh_in)(T x) { return x == x; }
INLINE T F(tanh)(T x)
{
    /* q / (q+2) with q = expm1(2a), and what its roundings leave */
    const T a = FABS(x), maximum = K(22.0, 10.0f);
    const F(two) e = F(expm1_sum)(2 * (a < maximum ? a : maximum));
    const T q = e.a + e.b, q_low = (e.a - q) + e.b, d = q + 2, d_low = (q - (d - 2)) + q_low;
    const T inverse = 1 / d, y = q * inverse;
    return COPYSIGN(FMA(inverse, FMA(-y, d, q) + FMA(-y, d_low, q_low), y), x);
}

/* ---- logarithms ---- */

typedef struct F(split) {
    T k, f; /* x = 2^k (1+f), 1+f in [sqrt(1/2), sqrt(2)) */
    U u;    /* k + BIAS above the mantissa */
} F(split);

INLINE F(split) F(split_log)(T x)
{
    const U u = BITS(x) + (ONE_BITS - SQRT_HALF);
    return (F(split)){ EXPONENT(u), FROM_BITS((u & LOW_BITS) + SQRT_HALF) - 1, u };
}
INLINE bool F(log_in)(T x) { return (x >= SMALLEST) & (x <= LARGEST); }
/* k ln2 + log(1+f) + low */
INLINE T F(log_of)(T k, T f, T low)
{
    const T s = f / (2 + f), h = K(0.5, 0.5f) * f * f;
    const T rest = FMA(s, FMA(s * s, F(log_s)(s * s), h), FMA(k, LN2_LOW, low));
    return FMA(k, LN2_HIGH, f - (h - rest));
}
INLINE T F(log)(T x)
{
    const F(split) p = F(split_log)(x);
    return F(log_of)(p.k, p.f, 0);
}

/* log(1+f) times a constant given as a sum, as a sum */
INLINE F(two) F(scaled_log)(T f, T scale, T scale_low)
{
    const T s = f / (2 + f), h = K(0.5, 0.5f) * f * f, high = f - h;
    const T low = FMA(s, FMA(s * s, F(log_s)(s * s), h), ((f - high) - h) - FMA(K(0.5, 0.5f) * f, f, -h));
    const T p = high * scale;
    return (F(two)){ p, FMA(low, scale, FMA(high, scale_low, FMA(high, scale, -p))) };
}
/* log(1+f) times a constant, for float: the product is rounded once, with the sum */
INLINE T F(scaled_once)(T f, T scale)
{
    const T s = f / (2 + f), h = K(0.5, 0.5f) * f * f;
    return FMA(f, scale, FMA(s, FMA(s * s, F(log_s)(s * s), h), -h) * scale);
}
INLINE bool F(log2_in)(T x) { return F(log_in)(x); }
INLINE T F(log2)(T x)
{
    const F(split) p = F(split_log)(x);
    const T scale = K(0x1.71547652b82fep+0, 0x1.715476p+0f), scale_low = K(0x1.777d0ffda0d24p-56, 0x1.4ae0c0p-26f);
    if (sizeof(T) == sizeof(float)) return p.k + F(scaled_once)(p.f, scale);
    const F(two) y = F(scaled_log)(p.f, scale, scale_low);
    const T z = p.k + y.a;
    return z + (((p.k - z) + y.a) + y.b);
}
INLINE bool F(log10_in)(T x) { return F(log_in)(x); }
INLINE T F(log10)(T x)
{
    const F(split) p = F(split_log)(x);
    const T scale = K(0x1.bcb7b1526e50ep-2, 0x1.bcb7b2p-2f), scale_low = K(0x1.95355baaafad3p-57, -0x1.5b235ep-27f);
    const T two_high = K(3.01029995663611771306e-01, 3.0102920532e-01f),
            two_low = K(3.69423907715893078616e-13, 7.9034151668e-07f);
    if (sizeof(T) == sizeof(float)) return FMA(p.k, two_high, FMA(p.k, two_low, F(scaled_once)(p.f, scale)));
    const F(two) y = F(scaled_log)(p.f, scale, scale_low);
    const T high = p.k * two_high, z = high + y.a;
    return z + (((high - z) + y.a) + FMA(p.k, two_low, y.b));
}

INLINE bool F(log1p_in)(T x) { return (x > -1) & (x <= K(1e300, 1e37f)); }
INLINE T F(log1p)(T x)
{
    const T v = 1 + x, b = v - 1, c = (1 - (v - b)) + (x - b); /* 1 + x = v + c */
    const F(split) p = F(split_log)(v);
    const T low = c * FROM_BITS(((U)2 * BIAS - (p.u >> MANTISSA)) << MANTISSA), f = p.f + low;
    const T y = F(log_of)(p.k, f, (p.f - f) + low);
    return x == 0 ? x : y;
}
INLINE bool F(asinh_in)(T x) { return FABS(x) <= K(1e150, 1e18f); }
INLINE T F(asinh)(T x)
{
    const T a = FABS(x), z = a * a;
    return COPYSIGN(F(log1p)(a + z / (1 + SQRT(1 + z))), x);
}
INLINE bool F(acosh_in)(T x) { return (x >= 1) & (x <= K(1e150, 1e18f)); }
INLINE T F(acosh)(T x)
{
    const T t = x - 1;
    return F(log1p)(t + SQRT(FMA(t, t, 2 * t)));
}
INLINE bool F(atanh_in)(T x) { return FABS(x) <= 1 - K(0x1p-50, 0x1p-21f); }
INLINE T F(atanh)(T x)
{
    /* (1+a)/(1-a) = 2^k (1+s)/(1-s); k from the exponents, to the nearest but for less than 0.09 */
    const T a = FABS(x);
    const U u = BITS(1 + a) - BITS(1 - a) + ((U)1 << (MANTISSA - 1)) + ONE_BITS;
    const T k = EXPONENT(u), p = FROM_BITS(((U)2 * BIAS - (u >> MANTISSA)) << MANTISSA);
    const T s = FMA(a, p + 1, p - 1) / FMA(a, p - 1, p + 1), z = s * s, half_z = K(0.5, 0.5f) * z;
    const T low = FMA(half_z * s, F(atanh_wide)(z), k * (LN2_LOW / 2));
    return COPYSIGN(FMA(k, LN2_HIGH / 2, s + low), x);
}

/* ---- circular functions ---- */

typedef struct F(circle) {
    T s, s_low, c, c_low; /* sin and cos of the reduced argument */
    U quadrant;           /* in the low bits */
} F(circle);

INLINE F(circle) F(sin_cos)(T x)
{
    const T t = FMA(x, K(0x1.45f306dc9c883p-1, 0x1.45f306p-1f), MAGIC), k = t - MAGIC;
    const T p2 = K(0x1.1a62633145c07p-54, -0x1.777a5cp-25f), p3 = K(-0x1.f1976b7ed8fbcp-110, -0x1.ee59dap-50f);
    const T high = FMA(-k, 2 * QUARTER_PI, x), part = k * p2, r = high - part; /* high is exact */
    const T low = FMA(-k, p3, ((high - r) - part) - FMA(k, p2, -part)), z = r * r, h = K(0.5, 0.5f) * z, w = 1 - h;
    return (F(circle)){ r, FMA(r * z, F(sin_r)(z), low * w), w, ((1 - w) - h) + FMA(z * z, F(cos_r)(z), -(r * low)),
                        BITS(t) };
}
INLINE bool F(sin_in)(T x) { return FABS(x) <= K(0x1p20, 0x1p13f); }
INLINE bool F(cos_in)(T x) { return F(sin_in)(x); }
INLINE bool F(tan_in)(T x) { return F(sin_in)(x); }
INLINE T F(sin)(T x)
{
    const F(circle) y = F(sin_cos)(x);
    const T v = y.quadrant & 1 ? y.c + y.c_low : y.s + y.s_low;
    const T signed_v = FROM_BITS(BITS(v) ^ ((y.quadrant & 2) << (8 * sizeof(T) - 2)));
    return x == 0 ? x : signed_v;
}
INLINE T F(cos)(T x)
{
    const F(circle) y = F(sin_cos)(x);
    const T v = y.quadrant & 1 ? y.s + y.s_low : y.c + y.c_low;
    return FROM_BITS(BITS(v) ^ (((y.quadrant + 1) & 2) << (8 * sizeof(T) - 2)));
}
INLINE T F(tan)(T x)
{
    const F(circle) y = F(sin_cos)(x);
    const bool odd = y.quadrant & 1;
    const T s = y.s + y.s_low, s_low = (y.s - s) + y.s_low, c = y.c + y.c_low, c_low = (y.c - c) + y.c_low;
    const T top = odd ? -c : s, top_low = odd ? -c_low : s_low, bottom = odd ? s : c, bottom_low = odd ? s_low : c_low;
    const T inverse = 1 / bottom, q = top * inverse;
    const T v = FMA(inverse, FMA(-q, bottom, top) + FMA(-q, bottom_low, top_low), q);
    return x == 0 ? x : v;
}

/* ---- their inverses ---- */

/* asin(|x|) for |x| <= 1/2, else asin(sqrt((1-|x|)/2)), as a sum */
INLINE F(two) F(asin_part)(T a)
{
    const bool big = a > K(0.5, 0.5f);
    const T z = big ? FMA(K(-0.5, -0.5f), a, K(0.5, 0.5f)) : a * a, root = SQRT(z), w = big ? root : a;
    const T bottom = w > SMALLEST ? 2 * w : 1, w_low = big ? FMA(-w, w, z) / bottom : 0;
    return (F(two)){ w, FMA(w * z, F(asin_w)(z), w_low) };
}
INLINE bool F(asin_in)(T x) { return FABS(x) <= 1; }
INLINE bool F(acos_in)(T x) { return FABS(x) <= 1; }
INLINE T F(asin)(T x)
{
    const T a = FABS(x), half_pi = 2 * QUARTER_PI;
    const F(two) p = F(asin_part)(a);
    const T high = half_pi - 2 * p.a, low = ((half_pi - high) - 2 * p.a) + 2 * QUARTER_PI_LOW;
    return COPYSIGN(a > K(0.5, 0.5f) ? high + FMA(-2, p.b, low) : p.a + p.b, x);
}
INLINE T F(acos)(T x)
{
    const T a = FABS(x);
    const F(two) s = F(asin_part)(a);
    const T p = s.a + s.b, pi = 4 * QUARTER_PI, high = pi - 2 * s.a;
    const T low = ((pi - high) - 2 * s.a) + FMA(-2, s.b, 4 * QUARTER_PI_LOW);
    const T far_side = x > 0 ? 2 * p : high + low;
    return a > K(0.5, 0.5f) ? far_side : 2 * QUARTER_PI - (COPYSIGN(p, x) - 2 * QUARTER_PI_LOW);
}

/* atan(top / (bottom + bottom_low)), a quotient of at most 1/2 in size, as a sum */
INLINE F(two) F(small_atan)(T top, T bottom, T bottom_low)
{
    const T inverse = 1 / bottom, t = top * inverse, z = t * t;
    const T t_low = inverse * FMA(-t, bottom_low, FMA(-t, bottom, top));
    return (F(two)){ t, FMA(t * z, F(atan_t)(z), t_low) };
}
INLINE bool F(atan_in)(T x) { return FABS(x) <= K(1e300, 1e37f); }
INLINE T F(atan)(T x)
{
    const T a = FABS(x);
    const bool high = a > 2, middle = a > K(0.5, 0.5f);
    const T top = high ? -1 : middle ? a - 1 : a, bottom = high ? a : middle ? a + 1 : 1;
    const T low = high || !middle ? 0 : a - (bottom - 1);
    const T k = high ? 2 : middle ? 1 : 0; /* quarters of pi: their products with k are exact */
    const F(two) y = F(small_atan)(top, bottom, low);
    return COPYSIGN(FMA(k, QUARTER_PI, y.a + FMA(k, QUARTER_PI_LOW, y.b)), x);
}
INLINE bool F(atan2_in)(T y, T x)
{
    const T a = FABS(y), b = FABS(x), maximum = K(1e150, 1e18f), minimum = K(1e-150, 1e-18f);
    const T larger = a > b ? a : b, smaller = a > b ? b : a;
    return (a == a) & (b == b) & (larger <= maximum) & (larger >= minimum) & ((smaller >= minimum) | (smaller == 0));
}
INLINE T F(atan2)(T y, T x)
{
    const T a = FABS(y), b = FABS(x);
    const bool over = a > b;
    const T larger = over ? a : b, smaller = over ? b : a;
    const bool middle = smaller > K(0.5, 0.5f) * larger;
    const T top = middle ? smaller - larger : smaller, bottom = middle ? smaller + larger : larger;
    const T low = middle ? smaller - (bottom - larger) : 0;
    T k = middle ? 1 : 0, sign = over ? -1 : 1;
    k = over ? 2 - k : k;
    k = x < 0 ? 4 - k : k;
    sign = x < 0 ? -sign : sign;
    const F(two) t = F(small_atan)(top, bottom, low);
    const T high = k * QUARTER_PI, rest = FMA(k, QUARTER_PI_LOW, FMA(k, QUARTER_PI, -high));
    return COPYSIGN(high + FMA(sign, t.a, FMA(sign, t.b, rest)), y);
}

/* ---- roots and powers ---- */

INLINE bool F(cbrt_in)(T x) { return (x != 0) & (FABS(x) <= LARGEST); }
INLINE T F(cbrt)(T x)
{
    const bool small = FABS(x) < SMALLEST;
    const U u = BITS(FABS(small ? x * K(0x1p54, 0x1p24f) : x));
    const T e = EXPONENT(u), m = FROM_BITS((u & LOW_BITS) | ONE_BITS);
    const T t = FMA(e, K(0.33333333333333333, 0.33333333f), K(-0.33333333333333333, -0.33333333f)) + MAGIC;
    const T rest = FMA(-3, t - MAGIC, e); /* 0, 1 or 2 */
    const T big = rest == 0 ? m : rest == 1 ? 2 * m : 4 * m;
    T r = F(rcbrt_m)(m) * (rest == 0   ? 1
                           : rest == 1 ? K(0.79370052598409974, 0.79370052f)
                                       : K(0.62996052494743658, 0.62996052f));
    const T h = FMA(-big * r, r * r, 1);
    r = FMA(r * h, FMA(h, K(0.22222222222222222, 0.22222222f), K(0.33333333333333333, 0.33333333f)), r);
    const T c = big * r * r, y = FMA(FMA(-(c * c), c, big) * K(0.33333333333333333, 0.33333333f), r * r, c);
    return COPYSIGN(FROM_BITS(BITS(y) + (BITS(t) << MANTISSA)) * (small ? K(0x1p-18, 0x1p-8f) : 1), x);
}

/* ---- error function ---- */

/* erfc(a) = e^(-a^2) G / (a + c): G(0) = c = 23/32, and G stays near, between 0.56 and 0.76, so
 * that G - c is a small part of it: s = 2a/(a+4) times a polynomial in s - 1.  Each factor is a sum
 * with what its roundings leave, so that the last rounding counts.  2^n comes last: what is added
 * before and subtracted after makes that rounding the one of a subnormal result, or of 2 -
 * erfc(-x). */
INLINE bool F(erfc_in)(T x) { return (void)x, true; }
INLINE T F(erfc)(T x)
{
    const T lowest = K(-6.0, -4.0f), highest = K(28.0, 10.5f), b = lowest > x ? lowest : x; /* 2 and 0 beyond */
    const T a = FABS(highest < b ? highest : b), square = a * a;
    const T ln2 = K(0x1.62e42fefa39efp-1, 0x1.62e430p-1f), ln2_low = K(0x1.abc9e3b39803fp-56, -0x1.05c610p-29f);
    const T t = FMA(square, K(-1.44269504088896340736, -1.44269504f), MAGIC), k = t - MAGIC;
    const T r = FMA(-k, ln2, -square), r_low = FMA(-k, ln2_low, -FMA(a, a, -square)); /* r is exact */
    const T z = r * r, q = FMA(r, F(sinh_r)(z), z * F(cosh_rr)(z)), u = 1 + r;
    const T rest = FMA(z, q, FMA(z, K(0.5, 0.5f), r - (u - 1))), e = u + rest, e_low = FMA(r_low, e, (u - e) + rest);
    const T d = a + 4, s = 2 * a / d, inverse_d = FMA(s, K(-0.125, -0.125f), K(0.25, 0.25f));
    const T s_low = FMA(-s, a - (d - 4), FMA(-s, d, 2 * a)) * inverse_d, p = F(erfc_t)((s - 1) + s_low);
    const T c = K(0.71875, 0.71875f), g = FMA(s, p, c), g_low = FMA(s_low, p, FMA(s, p, c - g)), top = e * g;
    const T top_low = FMA(e, g, -top) + FMA(e_low, g, e * g_low);
    const T bottom = a + c, bottom_low = a - (bottom - c), inverse = 1 / bottom, y = top * inverse;
    const T y_low = inverse * (FMA(-y, bottom, top) + FMA(-y, bottom_low, top_low));
    const bool negative = x < 0;
    const U n = BITS(t);
    const T normal = FROM_BITS(((negative ? BIAS + 1 : 1) - n) << MANTISSA); /* 2^(1-n), or the smallest over 2^n */
    const T shift = negative ? -normal : y < normal ? normal : 0;
    const T sum = shift + y, rounded = sum + (((shift - sum) + y) + y_low), back = negative ? 0 : shift;
    const T scale = FROM_BITS((n + BIAS + K(128, 64)) << MANTISSA), unit = K(0x1p-128, 0x1p-64f);
    return (rounded - back) * scale * (negative ? -unit : unit);
}

INLINE bool F(hypot_in)(T x, T y)
{
    const T a = FABS(x), b = FABS(y), larger = a > b ? a : b;
    return (a == a) & (b == b) & (larger >= K(1e-140, 1e-15f)) & (larger <= K(1e150, 1e18f));
}
INLINE T F(hypot)(T x, T y)
{
    const T a = FABS(x), b = FABS(y), larger = a > b ? a : b, smaller = a > b ? b : a;
    return SQRT(FMA(larger, larger, smaller * smaller));
}

INLINE bool F(pow_in)(T x, T y)
{
    const T a = FABS(x), e = EXPONENT(BITS(a));
    return (a >= SMALLEST) & (a <= LARGEST) & ((FABS(e) + 1) * FABS(y) <= K(1000.0, 124.0f)) &
           ((x > 0) | (RINT(y) == y));
}
INLINE T F(pow)(T x, T y)
{
    const F(split) p = F(split_log)(FABS(x));
    const T f = p.f, d = 2 + f, d_low = f - (d - 2), inverse = 1 / d, s = f * inverse;
    const T s_low = inverse * (FMA(-s, d, f) - s * d_low), z = s * s, z_low = FMA(2 * s, s_low, FMA(s, s, -z));
    /* atanh(s) = s + s z (1/3 + z P(z)), the bracket and all that it is multiplied by as sums */
    const T third = K(0x1.5555555555555p-2, 0x1.555556p-2f),
            u = FMA(z, F(atanh_s)(z), K(0x1.5555555555555p-56, -0x1.555556p-27f));
    const T b = third + u, b_low = (third - b) + u;
    const T zb = z * b, zb_low = FMA(z, b, -zb) + FMA(z, b_low, z_low * b);
    const T q = s * zb, q_low = FMA(s, zb, -q) + FMA(s, zb_low, s_low * zb);
    const T l = s + q, l_low = ((s - l) + q) + (s_low + q_low);
    const T c = K(0x1.71547652b82fep+1, 0x1.715476p+1f),
            c_low = K(0x1.777d0ffda0d24p-55, 0x1.4ae0c0p-25f); /* 2 / ln2 */
    const T e = l * c, e_low = FMA(l, c, -e) + FMA(l, c_low, l_low * c);
    const T v = p.k + e, v_low = ((p.k - v) + e) + e_low;
    const T w = v * y, w_low = FMA(v, y, -w) + v_low * y;
    const T t = w + MAGIC, r_high = w - (t - MAGIC), r = r_high + w_low, r_low = (r_high - r) + w_low;
    const T ln2 = K(0x1.62e42fefa39efp-1, 0x1.62e430p-1f), ln2_low = K(0x1.abc9e3b39803fp-56, -0x1.05c610p-29f);
    const T h = r * ln2, one = 1 + h, h_low = FMA(r, ln2, -h) + FMA(r_low, ln2, r * ln2_low);
    const T y2 = (one + FMA(r * r, F(exp2_r)(r), (h - (one - 1)) + h_low)) * F(power_of_two)(BITS(t));
    const T half = y * K(0.5, 0.5f);
    return x < 0 && RINT(half) != half ? -y2 : y2;
}

INLINE bool F(logaddexp_in)(T x, T y) { return x - y == x - y; /* not of NaN or two infinities */ }
INLINE T F(logaddexp)(T x, T y) { return (x > y ? x : y) + F(log1p)(F(exp)(-FABS(x - y))); }

/* fmod: the quotient cut off, and one step back where its rounding went one too far; exact */
INLINE bool F(fmod_in)(T x, T y)
{
    return (FABS(y) >= SMALLEST) & (FABS(x) <= FABS(y) * K(0x1p51, 0x1p22f)) & (FABS(y) <= K(1e300, 1e37f));
}
INLINE T F(fmod)(T x, T y)
{
    const T q = TRUNC(x / y), m = FMA(-q, y, x), a = FABS(y);
    const T back = x < 0 ? (m > 0 ? m - a : m) : (m < 0 ? m + a : m);
    return COPYSIGN(back, x);
}
