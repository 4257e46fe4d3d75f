#!/usr/bin/env python3
"""Print calibrax/array/kernels/elementary_poly.h: polynomials of the vector functions, and the error of each.

Each is the interpolation at Chebyshev nodes of a smooth function on an interval, computed with 60 digits and rounded to the element
type.  Needs mpmath.  usage: tests/array/fit_elementary.py > calibrax/array/kernels/elementary_poly.h
"""
from mpmath import mp, mpf

mp.dps = 60

LN2 = mp.log(2)
R = (LN2 / 2 * mpf("1.0001")) ** 2          # squared reduced argument of exp
Q = (mp.pi / 4 * mpf("1.0001")) ** 2        # of sin and cos
S = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1) * mpf("1.0001")) ** 2  # of log
H = mpf("0.2005") ** 2                      # of atanh, whose exponent is not always the nearest
C = mpf(23) / 32                            # erfc(a) = exp(-a^2) G(a) / (a + C), with G(0) = C


def power_sum(term, count=80):
    return lambda z: sum(term(k) * z**k for k in range(count))


# name, meaning, function, interval, number of coefficients of float64 and of float32
FITS = [
    ("cosh_r", "(cosh(r) - 1) / r^2, z = r^2", power_sum(lambda k: 1 / mp.factorial(2 * k + 2)), (0, R), 6, 3),
    ("cosh_rr", "(cosh(r) - 1 - r^2/2) / r^4, z = r^2", power_sum(lambda k: 1 / mp.factorial(2 * k + 4)), (0, R), 5, 2),
    ("sinh_r", "(sinh(r) - r) / r^3, z = r^2", power_sum(lambda k: 1 / mp.factorial(2 * k + 3)), (0, R), 5, 3),
    ("exp2_r", "(2^r - 1 - ln2 r) / r^2, |r| <= 1/2", power_sum(lambda k: LN2 ** (k + 2) / mp.factorial(k + 2)), (-mpf("0.5001"), mpf("0.5001")), 11, 5),
    ("log_s", "(2 atanh(s) - 2 s) / s^3, z = s^2", power_sum(lambda k: mpf(2) / (2 * k + 3)), (0, S), 7, 3),
    ("atanh_wide", "(2 atanh(s) - 2 s) / s^3, z = s^2", power_sum(lambda k: mpf(2) / (2 * k + 3)), (0, H), 8, 4),
    ("atanh_s", "(atanh(s) - s - s^3/3) / s^5, z = s^2", power_sum(lambda k: mpf(1) / (2 * k + 5)), (0, S), 8, 3),
    ("sin_r", "(sin(r) - r) / r^3, z = r^2", power_sum(lambda k: (-1) ** (k + 1) / mp.factorial(2 * k + 3)), (0, Q), 6, 3),
    ("cos_r", "(cos(r) - 1 + r^2/2) / r^4, z = r^2", power_sum(lambda k: (-1) ** k / mp.factorial(2 * k + 4)), (0, Q), 6, 3),
    ("atan_t", "(atan(t) - t) / t^3, z = t^2", power_sum(lambda k: (-1) ** (k + 1) / mpf(2 * k + 3)), (0, mpf("0.2501")), 13, 6),
    ("asin_w", "(asin(w) - w) / w^3, z = w^2", lambda z: asin_term(z), (0, mpf("0.25")), 13, 5),
    ("erfc_t", "(G(a) - 23/32) / (1+t), G(a) = erfc(a) e^(a^2) (a + 23/32), a = 4 (1+t) / (1-t) <= 27.3", lambda t: erfc_term(t), (-1, mpf("0.7445")), 25, 13),
    ("rcbrt_m", "m^(-1/3), 1 <= m < 2", lambda m: m ** (mpf(-1) / 3), (1, 2), 6, 4),
]


def asin_term(z):
    if z < mpf("1e-20"):
        return mpf(1) / 6
    w = mp.sqrt(z)
    return (mp.asin(w) - w) / (z * w)


def erfc_scaled(t):
    a = 4 * (1 + t) / (1 - t)
    return mp.erfc(a) * mp.exp(a * a) * (a + C)


def erfc_term(t):
    return (erfc_scaled(t) - C) / (1 + t) if t > -1 else 2 - 4 * C / mp.sqrt(mp.pi)


# what an error is compared with, where it is not the function
SCALES = {"erfc_t": lambda t: erfc_scaled(t) / (1 + t) if t > -1 else mp.inf}


def fit(f, a, b, n):
    a, b = mpf(a), mpf(b)
    nodes = [(a + b) / 2 + (b - a) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * n)) for i in range(n)]
    rows = mp.matrix(n, n)
    for i, x in enumerate(nodes):
        for j in range(n):
            rows[i, j] = x**j
    return list(mp.lu_solve(rows, mp.matrix([f(x) for x in nodes])))


def error(f, scale, a, b, c):
    worst = mpf(0)
    for i in range(101):
        x = mpf(a) + (mpf(b) - mpf(a)) * i / 100
        value = sum(mpf(ck) * x**k for k, ck in enumerate(c))
        worst = max(worst, abs(value - f(x)) / abs(scale(x)))
    return worst


def literal(c, bits):
    with mp.workprec(bits):
        digits, exponent = float(+c).hex().split("p")
    return digits.rstrip("0") + ("0p" if digits.rstrip("0").endswith(".") else "p") + exponent + ("" if bits == 53 else "f")


def row(words, width=120):
    """A call of a macro, as clang-format lays it out."""
    start = words[0].index("(") + 1
    lines = [words[0]]
    for word in words[1:]:
        if len(lines[-1]) + 1 + len(word) > width:
            lines.append(" " * start + word)
        else:
            lines[-1] += " " + word
    return "\n".join(lines)


HEAD = """/* Polynomials of the vector functions; made by tests/array/fit_elementary.py, which states each
 * function and interval. */
#ifndef CALIBRAX_ARRAY_KERNELS_ELEMENTARY_POLY_H
#define CALIBRAX_ARRAY_KERNELS_ELEMENTARY_POLY_H

#include "calibrax/array/kernels/inline.h"

/* Coefficients from that of the highest power on, by Horner's rule. */
#define POLYNOMIAL(name, T, fma, ...)                                                                                  \\
    INLINE T name(T z)                                                                                                 \\
    {                                                                                                                  \\
        static const T c[] = { __VA_ARGS__ };                                                                          \\
        T p = c[0];                                                                                                    \\
        UNROLL for (unsigned i = 1; i < sizeof c / sizeof c[0]; i++) p = fma(p, z, c[i]);                              \\
        return p;                                                                                                      \\
    }
#define POLYNOMIAL_F64(name, ...) POLYNOMIAL(name##_f64, double, __builtin_fma, __VA_ARGS__)
#define POLYNOMIAL_F32(name, ...) POLYNOMIAL(name##_f32, float, __builtin_fmaf, __VA_ARGS__)
"""


def main():
    print(HEAD)
    for name, what, f, (a, b), n64, n32 in FITS:
        print(f"/* {what} */")
        for bits, n, macro in ((53, n64, "POLYNOMIAL_F64"), (24, n32, "POLYNOMIAL_F32")):
            c = fit(f, a, b, n)
            worst = float(error(f, SCALES.get(name, f), a, b, c))
            numbers = [literal(ck, bits) for ck in reversed(c)]
            words = [f"{macro}({name},", f"/* error {worst:.1e} */ {numbers[0]}", *numbers[1:]]
            print(row([word + "," if 0 < i < len(words) - 1 else word for i, word in enumerate(words)]) + ")")
    print("\n#endif")


main()
