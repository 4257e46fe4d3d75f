"""The special values that the Python array API 2024.12 lays down: infinities, NaN and zeros of both signs.  Prints TAP."""

from __future__ import annotations

import itertools
import math
import unittest

import tap

from calibrax_c import array as cx

NAN, INF, PI = math.nan, math.inf, math.pi
ZEROS, PLUS = (0.0, -0.0), (1.0, 0.5, 3.25, 1e-3, 7.0)
OTHER = PLUS + tuple(-v for v in PLUS)
FINITE = ZEROS + OTHER
ANY_ZERO, ANY_INF, ANY_HALF_PI = "a zero of any sign", "an infinity of any sign", "half pi of any sign"
LENGTHS = (1, 3, 17)  # alone, and at the end of what is done in blocks


def agrees(got: float, wanted) -> bool:
    if wanted in (ANY_ZERO, ANY_INF, ANY_HALF_PI):
        return math.isclose(abs(got), {ANY_ZERO: 0.0, ANY_INF: INF, ANY_HALF_PI: PI / 2}[wanted], rel_tol=1e-6)
    if math.isnan(wanted):
        return math.isnan(got)
    if wanted == 0 or math.isinf(wanted):
        return got == wanted and math.copysign(1.0, got) == math.copysign(1.0, wanted)
    return math.isclose(got, wanted, rel_tol=1e-6)


def mirrored(wanted):
    return wanted if isinstance(wanted, str) else -wanted


# Functions: lines of (real parts, imaginary parts, real part of the result, its imaginary part).
LOG = (
    (FINITE, (INF,), INF, PI / 2), (FINITE, (NAN,), NAN, NAN), ((-INF,), PLUS, INF, PI), ((INF,), PLUS, INF, 0.0),
    ((-INF,), (INF,), INF, 3 * PI / 4), ((INF,), (INF,), INF, PI / 4), ((INF, -INF), (NAN,), INF, NAN),
    ((NAN,), FINITE + (NAN,), NAN, NAN), ((NAN,), (INF,), INF, NAN),
)
COMPLEX = {
    "acos": (
        (ZEROS, (0.0,), PI / 2, -0.0), (ZEROS, (NAN,), PI / 2, NAN), (FINITE, (INF,), PI / 2, -INF), (OTHER, (NAN,), NAN, NAN),
        ((-INF,), PLUS, PI, -INF), ((INF,), PLUS, 0.0, -INF), ((-INF,), (INF,), 3 * PI / 4, -INF), ((INF,), (INF,), PI / 4, -INF),
        ((INF, -INF), (NAN,), NAN, ANY_INF), ((NAN,), FINITE + (NAN,), NAN, NAN), ((NAN,), (INF,), NAN, -INF),
    ),
    "acosh": (
        (ZEROS, (0.0,), 0.0, PI / 2), (FINITE, (INF,), INF, PI / 2), (OTHER, (NAN,), NAN, NAN), ((0.0,), (NAN,), NAN, ANY_HALF_PI),
        ((-INF,), PLUS, INF, PI), ((INF,), PLUS, INF, 0.0), ((-INF,), (INF,), INF, 3 * PI / 4), ((INF,), (INF,), INF, PI / 4),
        ((INF, -INF), (NAN,), INF, NAN), ((NAN,), FINITE + (NAN,), NAN, NAN), ((NAN,), (INF,), INF, NAN),
    ),
    "asinh": (
        ((0.0,), (0.0,), 0.0, 0.0), (PLUS, (INF,), INF, PI / 2), (FINITE, (NAN,), NAN, NAN), ((INF,), PLUS, INF, 0.0),
        ((INF,), (INF,), INF, PI / 4), ((NAN,), (0.0,), NAN, 0.0), ((NAN,), OTHER + (NAN,), NAN, NAN), ((NAN,), (INF,), ANY_INF, NAN),
    ),
    "atanh": (
        ((0.0,), (0.0,), 0.0, 0.0), ((0.0,), (NAN,), 0.0, NAN), ((1.0,), (0.0,), INF, 0.0), (PLUS, (INF,), 0.0, PI / 2),
        (OTHER, (NAN,), NAN, NAN), ((INF,), PLUS + (INF,), 0.0, PI / 2), ((INF,), (NAN,), 0.0, NAN),
        ((NAN,), FINITE + (NAN,), NAN, NAN), ((NAN,), (INF,), ANY_ZERO, PI / 2),
    ),
    "cosh": (
        ((0.0,), (0.0,), 1.0, 0.0), ((0.0,), (INF, NAN), NAN, ANY_ZERO), (OTHER, (INF, NAN), NAN, NAN), ((INF,), (0.0,), INF, 0.0),
        ((INF,), (INF,), ANY_INF, NAN), ((INF,), (NAN,), INF, NAN), ((NAN,), ZEROS, NAN, ANY_ZERO), ((NAN,), OTHER + (NAN,), NAN, NAN),
    ),
    "exp": (
        (ZEROS, (0.0,), 1.0, 0.0), (FINITE, (INF, NAN), NAN, NAN), ((INF,), (0.0,), INF, 0.0), ((-INF,), (INF, NAN), 0.0, ANY_ZERO),
        ((INF,), (INF, NAN), INF, NAN), ((NAN,), (0.0,), NAN, 0.0), ((NAN,), OTHER + (INF, NAN), NAN, NAN),
    ),
    "expm1": (
        (ZEROS, (0.0,), 0.0, 0.0), (FINITE, (INF, NAN), NAN, NAN), ((INF,), (0.0,), INF, 0.0), ((-INF,), (INF, NAN), -1.0, ANY_ZERO),
        ((INF,), (INF, NAN), INF, NAN), ((NAN,), (0.0,), NAN, 0.0), ((NAN,), OTHER + (INF, NAN), NAN, NAN),
    ),
    "log": (((-0.0,), (0.0,), -INF, PI), ((0.0,), (0.0,), -INF, 0.0), *LOG),
    "log1p": (((-1.0,), (0.0,), -INF, 0.0), *LOG),
    "sinh": (
        ((0.0,), (0.0,), 0.0, 0.0), ((0.0,), (INF, NAN), ANY_ZERO, NAN), (PLUS, (INF, NAN), NAN, NAN), ((INF,), (0.0,), INF, 0.0),
        ((INF,), (INF, NAN), ANY_INF, NAN), ((NAN,), (0.0,), NAN, 0.0), ((NAN,), OTHER + (NAN,), NAN, NAN),
    ),
    "sqrt": (
        (ZEROS, (0.0,), 0.0, 0.0), (FINITE + (INF, -INF, NAN), (INF,), INF, INF), (FINITE, (NAN,), NAN, NAN), ((-INF,), PLUS, 0.0, INF),
        ((INF,), PLUS, INF, 0.0), ((-INF,), (NAN,), NAN, ANY_INF), ((INF,), (NAN,), INF, NAN), ((NAN,), FINITE + (NAN,), NAN, NAN),
    ),
    "tanh": (
        ((0.0,), (0.0,), 0.0, 0.0), (OTHER, (INF, NAN), NAN, NAN), ((0.0,), (INF, NAN), 0.0, NAN), ((INF,), PLUS, 1.0, 0.0),
        ((INF,), (INF, NAN), 1.0, ANY_ZERO), ((NAN,), (0.0,), NAN, 0.0), ((NAN,), OTHER + (NAN,), NAN, NAN),
    ),
}  # fmt: skip
TURNED = {"asin": "asinh", "atan": "atanh", "tan": "tanh"}  # f(z) = -i g(iz)
REAL = {
    "abs": ((-0.0, 0.0), (-INF, INF)),
    "acos": ((1.0, 0.0), (1.5, NAN), (-1.5, NAN), (INF, NAN)),
    "acosh": ((1.0, 0.0), (0.5, NAN), (-INF, NAN), (INF, INF)),
    "asin": ((0.0, 0.0), (-0.0, -0.0), (1.5, NAN), (-INF, NAN)),
    "asinh": ((0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF)),
    "atan": ((0.0, 0.0), (-0.0, -0.0), (INF, PI / 2), (-INF, -PI / 2)),
    "atanh": ((0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF), (1.5, NAN), (-INF, NAN)),
    "ceil": ((INF, INF), (-INF, -INF), (0.0, 0.0), (-0.0, -0.0)),
    "cos": ((0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN)),
    "cosh": ((0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF)),
    "exp": ((0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0)),
    "expm1": ((0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -1.0)),
    "floor": ((INF, INF), (-INF, -INF), (0.0, 0.0), (-0.0, -0.0)),
    "log": ((-1.0, NAN), (0.0, -INF), (-0.0, -INF), (1.0, 0.0), (INF, INF)),
    "log10": ((-1.0, NAN), (0.0, -INF), (-0.0, -INF), (1.0, 0.0), (INF, INF)),
    "log1p": ((-1.5, NAN), (-1.0, -INF), (0.0, 0.0), (-0.0, -0.0), (INF, INF)),
    "log2": ((-1.0, NAN), (0.0, -INF), (-0.0, -INF), (1.0, 0.0), (INF, INF)),
    "round": ((INF, INF), (-INF, -INF), (-0.0, -0.0), (0.5, 0.0), (-0.5, -0.0), (1.5, 2.0), (2.5, 2.0), (-2.5, -2.0)),
    "sign": ((0.0, 0.0), (-0.0, 0.0), (-INF, -1.0), (INF, 1.0)),
    "sin": ((0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN)),
    "sinh": ((0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF)),
    "sqrt": ((0.0, 0.0), (-0.0, -0.0), (-1.0, NAN), (INF, INF)),
    "tan": ((0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN)),
    "tanh": ((0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0)),
    "trunc": ((INF, INF), (-INF, -INF), (0.0, 0.0), (-0.0, -0.0), (-0.5, -0.0)),
}
VALUES = (NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, -2.0, -3.0, 2.5, -2.5)


def quotient(a: float, b: float) -> float:
    if b:
        return a / b
    return NAN if a == 0 or math.isnan(a) else math.copysign(INF, math.copysign(1.0, a) * math.copysign(1.0, b))


def power(a: float, b: float) -> float:
    if a == 0 and -INF < b < 0:
        return math.copysign(INF, a) if b % 2 == 1 else INF
    try:
        return math.pow(a, b)
    except ValueError:
        return NAN if a else INF


def modulo(a: float, b: float) -> float:
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or b == 0:
        return NAN
    if math.isinf(b):
        return math.copysign(0.0, b) if a == 0 else a if (a > 0) == (b > 0) else b
    r = math.fmod(a, b)
    r += b if r and (r < 0) != (b < 0) else 0.0
    return r if r else math.copysign(0.0, b)


def log_of_sum(a: float, b: float) -> float:
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or math.isinf(b):
        return NAN if math.isnan(a) or math.isnan(b) else max(a, b) + 0.0
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))


def extreme(pick):
    return lambda a, b: NAN if math.isnan(a) or math.isnan(b) else pick(a, b) or ANY_ZERO


PAIRS = {
    "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b, "divide": quotient,
    "pow": power, "remainder": modulo, "atan2": math.atan2, "hypot": math.hypot, "copysign": math.copysign,
    "logaddexp": log_of_sum, "maximum": extreme(max), "minimum": extreme(min),
}  # fmt: skip


class Special(unittest.TestCase):
    def hold(self, name, z, re, im):
        for dtype, n in itertools.product((cx.complex128, cx.complex64), LENGTHS):
            got = complex(getattr(cx, name)(cx.asarray([z] * n, dtype=dtype))[-1])
            self.assertTrue(agrees(got.real, re) and agrees(got.imag, im), f"{name}({z}) of {n} {dtype.name}: {got}, not {re}, {im}")

    def test_complex(self):
        for name, lines in COMPLEX.items():
            for a, b, re, im in lines:
                for x, y in itertools.product(a, b):
                    self.hold(name, complex(x, y), re, im)
                    if not math.isnan(y):
                        self.hold(name, complex(x, -y), re, mirrored(im))

    def test_complex_beyond_a_turn(self):
        """Where the real part is infinite the imaginary part turns the result."""
        for b in OTHER:
            turn = math.cos(b), math.sin(b)
            for name in ("exp", "expm1", "cosh"):
                self.hold(name, complex(INF, b), INF * turn[0], INF * turn[1])
            self.hold("exp", complex(-INF, b), 0.0 * turn[0], 0.0 * turn[1])
            self.hold("expm1", complex(-INF, b), -1.0, 0.0 * turn[1])
            self.hold("sinh", complex(INF, b), INF * turn[0], INF * turn[1])

    def test_functions_of_the_turned_number(self):
        parts = (0.0, -0.0, 1.0, -3.0, INF, -INF, NAN)
        for (name, of), x, y in itertools.product(TURNED.items(), parts, parts):
            w = complex(getattr(cx, of)(cx.asarray(complex(-y, x))))
            self.hold(name, complex(x, y), w.imag, ANY_ZERO if w.real == 0 and math.isnan(w.imag) else -w.real)

    def test_sign_of_complex_zeros(self):
        for x, y in itertools.product(ZEROS, ZEROS):
            self.hold("sign", complex(x, y), 0.0, 0.0)
        for z in (complex(NAN, 1), complex(1, NAN), complex(NAN, INF), complex(NAN, NAN)):
            self.hold("sign", z, NAN, NAN)
        for z in (3 + 4j, -3e200 + 4e200j):
            unit = complex(cx.sign(cx.asarray(z)))
            self.assertTrue(agrees(unit.real, math.copysign(0.6, z.real)) and agrees(unit.imag, 0.8), z)
        self.assertTrue(agrees(complex(cx.sign(cx.asarray(complex(2e-310, 2e-310)))).real, math.sqrt(0.5)), "tiny")

    def test_real(self):
        for name, lines in REAL.items():
            for (x, wanted), dtype, n in itertools.product(((NAN, NAN), *lines), (cx.float64, cx.float32), LENGTHS):
                got = float(getattr(cx, name)(cx.asarray([x] * n, dtype=dtype))[-1])
                self.assertTrue(agrees(got, wanted), f"{name}({x}) of {n} {dtype.name}: {got}, not {wanted}")

    def test_pairs(self):
        for (name, truth), a, b, dtype in itertools.product(PAIRS.items(), VALUES, VALUES, (cx.float64, cx.float32)):
            wanted = truth(a, b)
            for n in LENGTHS:
                got = float(getattr(cx, name)(cx.asarray([a] * n, dtype=dtype), cx.asarray([b] * n, dtype=dtype))[-1])
                self.assertTrue(agrees(got, wanted), f"{name}({a}, {b}) of {n} {dtype.name}: {got}, not {wanted}")

    def test_no_elements_and_nan_in_statistics(self):
        for name, wanted in (("sum", 0.0), ("prod", 1.0), ("mean", NAN), ("var", NAN), ("std", NAN)):
            for dtype in (cx.float64, cx.float32):
                x = getattr(cx, name)(cx.asarray([], dtype=dtype))
                self.assertEqual((x.shape, x.dtype), ((), dtype))
                self.assertTrue(agrees(float(x), wanted), name)
        for name in ("max", "min", "mean", "prod", "std", "sum", "var"):
            for at in range(20):
                x = cx.where(cx.arange(20) == at, cx.asarray(NAN), cx.arange(20.0))
                self.assertTrue(math.isnan(getattr(cx, name)(x)), (name, at))


if __name__ == "__main__":
    tap.main()
