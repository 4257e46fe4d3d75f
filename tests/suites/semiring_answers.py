#!/usr/bin/env python3
"""Right answers of small semiring products by 60-digit arithmetic, for test_semiring_oracle.c.

    python3 semiring_answers.py > semiring_answers.h        (needs mpmath, Debian: python3-mpmath)

Each problem has its own reason: ordinary draws, sums that cancel, exponents far apart, near-equal rows.
"""

import random
import struct

from mpmath import exp, log, mp, mpf, sqrt

mp.dps = 60
M, K, N = 2, 11, 3


def single(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def cancelling(draw, kk, is_b):
    return draw * (1e6 if kk % 2 else -1e6) if not is_b else 1 + draw * 1e-7


def nearly_equal(draw, kk, is_b):
    return 1000.0 + kk + draw * 1e-2


STYLES = {
    "normal draws": lambda draw, kk, is_b: draw,
    "sums that cancel": cancelling,
    "exponents far apart": lambda draw, kk, is_b: 90 * draw,
    "rows near columns": nearly_equal,
}
ALGEBRAS = {
    "real": (lambda a, b: a * b, sum),
    "log": (lambda a, b: a + b, lambda terms: log(sum(exp(t) for t in terms))),
    "euclidean": (lambda a, b: (a - b) ** 2, lambda terms: sqrt(sum(terms))),
    "tropical_max_plus": (lambda a, b: a + b, max),
    "tropical_min_plus": (lambda a, b: a + b, min),
}


def numbers(values):
    return ", ".join(float(v).hex() for v in values)


def problem(algebra, dtype, why, rng):
    style, rounded = STYLES[why], single if dtype == "f32" else float
    a = [[rounded(style(rng.gauss(0, 1), kk, False)) for kk in range(K)] for _ in range(M)]
    b = [[rounded(style(rng.gauss(0, 1), kk, True)) for _ in range(N)] for kk in range(K)]
    combine, fold = ALGEBRAS[algebra]
    c = [fold([combine(mpf(a[i][kk]), mpf(b[kk][j])) for kk in range(K)]) for i in range(M) for j in range(N)]
    if algebra.startswith("tropical"):
        c = [rounded(float(x)) if dtype == "f64" else single_of(x) for x in c]
    a, b = [x for row in a for x in row], [x for row in b for x in row]
    print(f'    {{ "{algebra}", "{dtype}", "{why}",\n      {{ {numbers(a)} }},\n      {{ {numbers(b)} }},\n      {{ {numbers(c)} }} }},')


def single_of(x):
    """x correctly rounded to float32; a double on the way is harmless, for a sum of two float32 fits in it or rounds alike."""
    return single(float(x))


def main():
    rng = random.Random(20)
    print("/* Made by semiring_answers.py; do not edit. */")
    print(f"enum {{ ANSWER_M = {M}, ANSWER_K = {K}, ANSWER_N = {N} }};")
    print("static const struct {\n    const char *algebra, *dtype, *why;")
    print("    double a[ANSWER_M * ANSWER_K], b[ANSWER_K * ANSWER_N], c[ANSWER_M * ANSWER_N];\n} answers[] = {")
    for algebra in ALGEBRAS:
        for dtype in ("f32", "f64"):
            for why in STYLES:
                problem(algebra, dtype, why, rng)
    print("};")


main()
