#!/usr/bin/env python3
"""Coefficients of exp in calibrax/array/kernels/vmath.h: (exp(r) - 1 - r) / r^2 interpolated at Chebyshev nodes of
[-ln2/2, ln2/2], rounded to the type; prints them with the largest relative error of the rounded polynomial.
Needs mpmath (Debian: python3-mpmath)."""

import struct

from mpmath import cos, exp, log, lu_solve, matrix, mp, mpf, nstr, pi

mp.dps = 60


def to_float32(x):
    return struct.unpack("f", struct.pack("f", float(x)))[0]


def fit(degree, bits):
    n = degree - 1
    half = log(2) / 2 * mpf("1.0001")
    nodes = [half * cos(pi * (2 * i + 1) / (2 * n)) for i in range(n)]
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


for degree, bits in ((6, 24), (11, 53)):
    coefficients, error = fit(degree, bits)
    print(f"degree {degree}, {bits} bits: error {nstr(error, 3)} * 2^-{bits}")
    for c in coefficients:
        print(f"  {c.hex() if bits == 24 else repr(c)}")
