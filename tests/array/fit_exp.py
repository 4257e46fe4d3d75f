#!/usr/bin/env python3
"""Numbers of exp: coefficients of calibrax/array/kernels/vmath.h, (exp(r) - 1 - r) / r^2 interpolated at Chebyshev nodes of
[-ln2/2, ln2/2] and rounded to the type; of elementary_exp_body.h the same for [-ln2/16, ln2/16], interpolated where the error times
r^2 is even, and the table of 2^(j/8) = h e^d.  Prints them with the largest relative error of the rounded polynomial.
Needs mpmath (Debian: python3-mpmath)."""

import struct

from mpmath import cos, exp, log, lu_solve, matrix, mp, mpf, nstr, pi, sqrt

mp.dps = 60


def to_float32(x):
    return struct.unpack("f", struct.pack("f", float(x)))[0]


def chebyshev(a, b, n):
    return [(a + b) / 2 + (b - a) / 2 * cos(pi * (2 * i + 1) / (2 * n)) for i in range(n)]


def fit(degree, bits, part):
    n = degree - 1
    half = log(2) / part * mpf("1.0001")
    nodes = chebyshev(-half, half, n)
    if part > 2:  # the squares of the nodes, and 0, are those of an interval from below 0
        c = cos(pi / (n + 2))
        nodes = [s * sqrt(y) for y in chebyshev((c - 1) / (c + 1) * half**2, half**2, n // 2 + 1)[:-1] for s in (-1, 1)]
    powers, values = matrix(n, n), matrix(n, 1)
    for i, x in enumerate(nodes):
        values[i] = (exp(x) - 1 - x) / x**2 if abs(x) > mpf("1e-20") else mpf(1) / 2
        for j in range(n):
            powers[i, j] = x**j
    solved = lu_solve(powers, values)
    rounded = [to_float32(c) if bits == 24 else float(c) for c in solved]
    worst = 0
    for i in range(4001):
        r = -half + 2 * half * i / 4000
        p = 1 + r + r * r * sum(mpf(c) * r**j for j, c in enumerate(rounded))
        worst = max(worst, abs(p / exp(r) - 1))
    return rounded, worst * 2**bits


for degree, bits, part in ((6, 24, 2), (11, 53, 2), (7, 53, 16)):
    coefficients, error = fit(degree, bits, part)
    print(f"degree {degree}, {bits} bits: error {nstr(error, 3)} * 2^-{bits}")
    for c in coefficients:
        print(f"  {c.hex() if bits == 24 else repr(c) if part == 2 else c.hex()}")
for j in range(8):
    h = float(mpf(2) ** (mpf(j) / 8))
    print(f"{j}: h {h.hex()}, d {float(log(mpf(2) ** (mpf(j) / 8) / h)).hex()}")
