"""Every function of the package against NumPy: dtypes, shapes, strides, special values, random keys.  Prints TAP.

Runs under an interpreter that has NumPy 2; test_numpy.py finds one.  NumPy's namespace follows the same standard, so the cases
are calls by name with the same arguments.
"""

from __future__ import annotations

import itertools
import random
import sys
import threading
import unittest
import warnings

import numpy as np
import tap

import calibrax_c as transforms
from calibrax_c import array as cx

warnings.simplefilter("ignore")
np.seterr(all="ignore")
SEED = 20260101
BOOL = ["bool"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
WHOLE = SIGNED + UNSIGNED
REAL = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
NUMERIC = WHOLE + REAL + COMPLEX
EVERY = BOOL + NUMERIC
SHAPES = [(), (0,), (1,), (5,), (2, 3), (3, 0, 2), (2, 1, 4)]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, np.inf, -np.inf, np.nan, 1e-3, 7.25]
# NumPy gives float16 for these of 8 bits and bool, and float32 for those of 16; the package gives float64
NARROW = BOOL + ["int8", "uint8", "int16", "uint16"]


def sample(shape, dtype: str, rng: random.Random, special: bool = True) -> np.ndarray:
    n = int(np.prod(shape))
    if dtype == "bool":
        values = [rng.random() < 0.5 for _ in range(n)]
    elif dtype in UNSIGNED:
        values = [rng.randrange(0, 100) for _ in range(n)]
    elif dtype in SIGNED:
        values = [rng.randrange(-100, 100) for _ in range(n)]
    else:
        pick = (lambda: rng.choice(SPECIAL)) if special else (lambda: rng.uniform(-3, 3))
        values = [pick() + (1j * rng.uniform(-2, 2) if dtype in COMPLEX else 0) for _ in range(n)]
    return np.asarray(values, dtype=dtype).reshape(shape)


def strided(a: np.ndarray, rng: random.Random) -> np.ndarray:
    """The same values with other strides: reversed, transposed, every other element of a larger block, or as they are."""
    kind = rng.randrange(4)
    if a.ndim == 0 or kind == 0:
        return a
    if kind == 1:
        return np.ascontiguousarray(a[::-1])[::-1]
    if kind == 2:
        return np.asfortranarray(a)
    wide = np.zeros(a.shape[:-1] + (2 * a.shape[-1],), dtype=a.dtype)
    wide[..., ::2] = a
    return wide[..., ::2]


def array(a: np.ndarray) -> cx.Array:
    return cx.asarray(np.asarray(a), copy=False)


def ulps(dtype) -> float:
    return 16 * float(np.finfo(dtype).eps)


class Against(unittest.TestCase):
    maxDiff = 400

    def same(self, got, want, words="", dtype: bool = True, exact: bool = False) -> None:
        want = np.asarray(want)
        self.assertIsInstance(got, cx.Array, words)
        self.assertEqual(got.shape, want.shape, words)
        if dtype:
            self.assertEqual(got.dtype.name, want.dtype.name, words)
        got = np.asarray(got)
        if want.dtype.kind in "fc" and not exact:
            np.testing.assert_allclose(got, want.astype(got.dtype), rtol=ulps(want.dtype), atol=ulps(want.dtype), err_msg=str(words))
        else:
            np.testing.assert_array_equal(got, want.astype(got.dtype), err_msg=str(words))

    def call(self, f, *args, **kw):
        """The result, or the class of what it raised."""
        try:
            return f(*args, **kw)
        except (TypeError, ValueError, IndexError, OverflowError, np.exceptions.AxisError) as e:
            return e


class Elementwise(Against):
    # functions of the standard and the dtypes it gives them
    UNARY = {
        "abs": NUMERIC,
        "bitwise_invert": BOOL + WHOLE,
        "ceil": WHOLE + REAL,
        "conj": COMPLEX,
        "floor": WHOLE + REAL,
        "imag": COMPLEX,
        "isfinite": EVERY,
        "isinf": EVERY,
        "isnan": EVERY,
        "logical_not": EVERY,
        "negative": NUMERIC,
        "positive": NUMERIC,
        "real": COMPLEX,
        "round": WHOLE + REAL,
        "signbit": REAL,
        "square": NUMERIC,
        "trunc": WHOLE + REAL,
    } | dict.fromkeys("acos acosh asin asinh atan atanh cos cosh exp log sin sinh sqrt tan tanh".split(), REAL + COMPLEX) | dict.fromkeys(
        "exp2 cbrt deg2rad rad2deg".split(), REAL + ["int32", "int64"]) | dict.fromkeys(
        "expm1 log1p log2 log10 sign".split(), REAL + COMPLEX)

    def test_unary(self):
        rng = random.Random(SEED)
        for name, dtypes in self.UNARY.items():
            for dtype, shape in itertools.product(dtypes, SHAPES):
                a = strided(sample(shape, dtype, rng, dtype in REAL), rng)
                self.same(getattr(cx, name)(array(a)), getattr(np, name)(a), (name, dtype, shape))

    BINARY = dict.fromkeys("add subtract multiply equal not_equal".split(), NUMERIC) | dict.fromkeys(
        "less less_equal greater greater_equal maximum minimum remainder floor_divide".split(), WHOLE + REAL) | dict.fromkeys(
        "bitwise_and bitwise_or bitwise_xor".split(), BOOL + WHOLE) | dict.fromkeys(
        "logical_and logical_or logical_xor".split(), EVERY) | dict.fromkeys(
        "atan2 copysign hypot logaddexp nextafter".split(), REAL) | {"divide": REAL + COMPLEX + ["int32", "int64"]}

    def test_binary(self):
        rng = random.Random(SEED)
        shapes = [((2, 3), (2, 3)), ((3,), (2, 3)), ((2, 1), (1, 3)), ((), (4,)), ((0, 2), (1, 2)), ((), ())]
        for name, dtypes in self.BINARY.items():
            for (da, db), (sa, sb) in itertools.product(itertools.product(dtypes, dtypes), shapes):
                if name in ("divide", "add", "subtract", "multiply") and ("complex" in da or "complex" in db):
                    a, b = sample(sa, da, rng, False), sample(sb, db, rng, False)  # infinite parts differ by formula
                else:
                    a, b = sample(sa, da, rng), sample(sb, db, rng)
                if np.result_type(a, b).kind == "f" and name in ("remainder", "floor_divide") and (da in WHOLE or db in WHOLE):
                    continue
                x, y, want = array(strided(a, rng)), array(strided(b, rng)), self.call(getattr(np, name), a, b)
                if isinstance(want, Exception):
                    with self.assertRaises(type(want), msg=(name, da, db)):
                        getattr(cx, name)(x, y)
                else:
                    self.same(getattr(cx, name)(x, y), want, (name, da, db, sa, sb))

    def test_pow_and_shifts(self):
        rng = random.Random(SEED)
        for dtype in WHOLE:
            a, b = sample((40,), dtype, rng), np.asarray([rng.randrange(0, 7) for _ in range(40)], dtype=dtype)
            for name in ("pow", "bitwise_left_shift", "bitwise_right_shift"):
                self.same(getattr(cx, name)(array(a), array(b)), getattr(np, name)(a, b), (name, dtype))
        for dtype in REAL:
            a, b = sample((200,), dtype, rng), sample((200,), dtype, rng)
            self.same(cx.pow(array(a), array(b)), np.pow(a, b), dtype)

    def test_operators_with_numbers(self):
        rng = random.Random(SEED)
        cases = {"+": NUMERIC, "-": NUMERIC, "*": NUMERIC, "/": REAL + COMPLEX + ["int64"], "<": WHOLE + REAL, "==": NUMERIC, "!=": NUMERIC,
                 ">=": WHOLE + REAL, "&": WHOLE, "|": WHOLE, "^": WHOLE}
        for op, dtypes in cases.items():
            for dtype in dtypes:
                a = sample((7,), dtype, rng, False)
                numbers = [3] + ([2.5] if dtype in REAL + COMPLEX else []) + ([1 + 2j] if dtype in COMPLEX else [])
                if dtype in REAL and op in "+*":
                    numbers.append(2j)
                for v in numbers:
                    x = array(a)
                    self.same(eval(f"x {op} v"), eval(f"a {op} v"), (op, dtype, v))
                    self.same(eval(f"v {op} x"), eval(f"v {op} a"), ("reflected", op, dtype, v))

    def test_complex_powers(self):
        rng = random.Random(SEED)
        for dtype in COMPLEX:
            a = np.append(sample((40,), dtype, rng, False), np.asarray([0, 1 + 2j, -0.0, 3j], dtype))
            for n in (-99, -7, -2, -1, 0, 1, 2, 3, 4, 10, 99):
                with np.errstate(all="ignore"):
                    self.same(cx.pow(array(a), float(n)), np.power(a, float(n)), (dtype, n))

    def test_signed_with_unsigned(self):
        i = np.asarray([-(2**63), -(2**53) - 1, -1, 0, 1, 2**53 + 1, 2**63 - 1], np.int64)[:, None]
        u = np.asarray([0, 1, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1], np.uint64)
        for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
            for signed in (i, i.astype("int8"), i.astype("int32")):
                self.same(getattr(cx, name)(array(signed), array(u)), getattr(np, name)(signed, u), name)
                self.same(getattr(cx, name)(array(u), array(signed)), getattr(np, name)(u, signed), name)

    def test_clip_and_where(self):
        rng = random.Random(SEED)
        for dtype in WHOLE + REAL:
            a, lo, hi = sample((3, 4), dtype, rng), np.asarray(2, dtype), np.asarray([9] * 4, dtype)
            self.same(cx.clip(array(a), array(lo), array(hi)), np.clip(a, lo, hi), dtype)
            self.same(cx.clip(array(a), 2, max=9), np.clip(a, 2, 9), dtype)
            self.same(cx.clip(array(a), min=2), np.clip(a, 2, None), dtype)
            self.same(cx.clip(array(a)), a, dtype)
            if dtype in WHOLE:
                for low, high in ((-(2**70), 2**70), (-(2**63), 300), (-300, None), (-1, 2**64 - 1)):
                    if low >= np.iinfo(dtype).min and low < 0 and np.iinfo(dtype).min == 0:
                        continue
                    self.same(cx.clip(array(a), low, high), np.clip(a, low, high), (dtype, low, high))
        for da, db in itertools.product(EVERY, EVERY):
            m, a, b = sample((3, 1), "bool", rng), sample((4,), da, rng), sample((3, 4), db, rng)
            self.same(cx.where(array(m), array(a), array(b)), np.where(m, a, b), (da, db))

    def test_result_type(self):
        for da, db in itertools.product(EVERY, EVERY):
            self.assertEqual(cx.result_type(getattr(cx, da), getattr(cx, db)).name, np.result_type(da, db).name)
            if np.result_type(da, db).kind == np.dtype(da).kind == np.dtype(db).kind:
                self.assertEqual(cx.can_cast(getattr(cx, da), getattr(cx, db)), np.can_cast(da, db), (da, db))

    def test_astype(self):
        rng = random.Random(SEED)
        for da, db in itertools.product(EVERY, EVERY):
            if da in COMPLEX and db not in COMPLEX + BOOL:
                with self.assertRaises(TypeError):
                    cx.astype(array(sample((3,), da, rng)), getattr(cx, db))
                continue
            a = sample((9,), da, rng, special=False)
            if db in UNSIGNED and da in REAL:
                a = np.abs(a)
            self.same(cx.astype(array(a), getattr(cx, db)), a.astype(db), (da, db))


class Creation(Against):
    def test_filled(self):
        for shape, dtype in itertools.product([(), (3,), 4, (2, 0), [2, 3]], EVERY):
            want = tuple(shape) if isinstance(shape, list) else shape
            d, n = getattr(cx, dtype), np.dtype(dtype)
            for name in ("zeros", "ones"):
                self.same(getattr(cx, name)(shape, dtype=d), getattr(np, name)(want, dtype=n), (name, shape, dtype))
                like = array(np.empty(want, n))
                self.same(getattr(cx, name + "_like")(like), getattr(np, name + "_like")(np.empty(want, n)))
            self.same(cx.full(shape, 1, dtype=d), np.full(want, 1, dtype=n))
            self.same(cx.full_like(array(np.empty(want, n)), 1), np.full(want, 1, dtype=n))
            self.assertEqual(cx.empty(shape, dtype=d).shape, np.empty(want).shape)
        for value in (True, 3, 2.5, 1j):
            self.same(cx.full((2,), value), np.full((2,), value))

    def test_ranges(self):
        rng = random.Random(SEED)
        for _ in range(200):
            start, stop, step = rng.randrange(-20, 20), rng.randrange(-20, 20), rng.choice([-3, -1, 1, 2, 7])
            self.same(cx.arange(start, stop, step), np.arange(start, stop, step))
            self.same(cx.arange(start, stop, step, dtype=cx.float32), np.arange(start, stop, step, dtype="float32"))
            self.same(cx.arange(stop), np.arange(stop))
            a, b, n = rng.uniform(-5, 5), rng.uniform(-5, 5), rng.randrange(0, 9)
            self.same(cx.arange(a, b, step / 4), np.arange(a, b, step / 4))
            for endpoint in (True, False):
                self.same(cx.linspace(a, b, n, endpoint=endpoint), np.linspace(a, b, n, endpoint=endpoint))
                self.same(cx.linspace(a, b + 1j, n, endpoint=endpoint), np.linspace(a, b + 1j, n, endpoint=endpoint))
            k = rng.randrange(-5, 5)
            self.same(cx.eye(n, n + 1, k=k), np.eye(n, n + 1, k=k))
            m = np.arange(12).reshape(3, 4)
            self.same(cx.tril(array(m), k=k), np.tril(m, k=k))
            self.same(cx.triu(array(m), k=k), np.triu(m, k=k))
        self.same(cx.eye(3), np.eye(3))

    def test_meshgrid(self):
        a, b, c = np.arange(3), np.arange(4.0), np.arange(2)
        for indexing in ("xy", "ij"):
            for arrays in ((a,), (a, b), (a, b, c), ()):
                got, want = cx.meshgrid(*map(array, arrays), indexing=indexing), np.meshgrid(*arrays, indexing=indexing)
                self.assertEqual(len(got), len(want))
                for g, w in zip(got, want):
                    self.same(g, w, dtype=len(arrays) == 1 or g.dtype.name == w.dtype.name)

    def test_asarray(self):
        rng = random.Random(SEED)
        for dtype, shape in itertools.product(EVERY, SHAPES):
            a = strided(sample(shape, dtype, rng), rng)
            self.same(cx.asarray(a), a, (dtype, shape), exact=True)
            self.same(cx.asarray(a.tolist()), np.asarray(a.tolist()), (dtype, shape), dtype=a.size > 0, exact=True)
            self.same(cx.asarray(a, copy=True), a, exact=True)
            np.testing.assert_array_equal(np.asarray(cx.asarray(a)), a)
        for dtype in (np.float64, np.int64, np.float32, np.int8, np.bool_, np.complex128):
            self.same(cx.asarray(dtype(1)), np.asarray(dtype(1)))
        for bad in (np.asarray(["a"]), np.zeros(2, "float16"), np.zeros(2, ">f8"), np.zeros(2, "longdouble")):
            with self.assertRaises((TypeError, NotImplementedError, ValueError), msg=bad.dtype):
                cx.asarray(bad)


    def test_dlpack(self):
        rng = random.Random(SEED)
        for dtype, shape in itertools.product(EVERY, SHAPES):
            a = strided(sample(shape, dtype, rng), rng)
            if not all(k % a.itemsize == 0 for k in a.strides):
                continue
            self.same(cx.from_dlpack(a), a, (dtype, shape), exact=True)
            self.same(cx.from_dlpack(a, copy=True), a, exact=True)
            x = cx.asarray(a)
            np.testing.assert_array_equal(np.from_dlpack(x), a)
            lent = np.from_dlpack(x.mT) if a.ndim > 1 else np.from_dlpack(x)
            self.assertTrue(a.size == 0 or not lent.flags.writeable)
        a = np.arange(3.0)
        shared, copied = cx.from_dlpack(a), cx.from_dlpack(a, copy=True)
        a[0] = 9
        self.assertEqual((float(shared[0]), float(copied[0])), (9.0, 0.0))
        mine = np.from_dlpack(cx.arange(3), copy=True)
        mine[0] = 7
        self.assertTrue(mine.flags.writeable)


class Reductions(Against):
    def cases(self, dtypes, special=False):
        rng = random.Random(SEED)
        for dtype, shape in itertools.product(dtypes, [(), (1,), (6,), (3, 4), (2, 3, 4), (2, 0, 3), (0,)]):
            a = strided(sample(shape, dtype, rng, special), rng)
            axes = [None, *range(-len(shape), len(shape)), *itertools.combinations(range(len(shape)), 2)]
            yield from ((a, axis, keep) for axis in axes for keep in (False, True))

    def test_sums(self):
        for a, axis, keep in self.cases(NUMERIC):
            kw = {"axis": axis, "keepdims": keep}
            for name in ("sum", "prod") if a.dtype.kind == "f" or a.size < 7 else ("sum",):
                want = getattr(np, name)(a, **kw)
                self.same(getattr(cx, name)(array(a), **kw), want, (name, a.dtype, a.shape, kw))
            self.same(cx.sum(array(a), dtype=cx.complex128, **kw), np.sum(a, dtype="complex128", **kw))

    def test_long_sorts(self):
        rng = np.random.default_rng(SEED)
        for dtype, n in itertools.product(("float64", "float32", "int64", "int32", "uint32"), (1000, 4097, 100003)):
            a = (rng.normal(size=2 * n) * 1e8).astype("int64").astype(dtype)
            if a.dtype.kind == "f":
                a[rng.integers(0, 2 * n, n // 10)] = rng.choice([np.nan, -np.nan, np.inf, -np.inf], n // 10)
            for b in (a[:n], a[::2], a[:n][::-1]):
                self.same(cx.sort(array(b)), np.sort(b), (dtype, n), exact=True)
                self.same(cx.sort(array(b), descending=True), np.flip(np.sort(b)), (dtype, n), exact=True)

    def test_long_sums_have_numpys_bits(self):
        rng = np.random.default_rng(SEED)
        for n in (128, 129, 900, 1000, 1024, 1025, 4096, 10007, 65536, 10**6, 2**20 + 24):
            a = rng.normal(size=2 * n) * 10.0 ** rng.integers(-8, 9, 2 * n)
            self.assertEqual(float(cx.sum(array(a[:n]))), float(np.sum(a[:n])), n)
            self.assertEqual(float(cx.mean(array(a[:n]))), float(np.mean(a[:n])), n)
            self.assertEqual(float(cx.sum(array(a[::2]))), float(np.sum(a[::2])), n)

    def test_means(self):
        for a, axis, keep in self.cases(REAL + ["int64"]):
            kw = {"axis": axis, "keepdims": keep}
            self.same(cx.mean(array(a), **kw), np.mean(a, **kw), (a.shape, kw))
            for name, correction in itertools.product(("var", "std"), (0, 1, 0.5)):
                want = getattr(np, name)(a, correction=correction, **kw)
                n = a.size if axis is None else np.prod([a.shape[k] for k in np.atleast_1d(axis)])
                if n > correction:
                    self.same(getattr(cx, name)(array(a), correction=correction, **kw), want, (name, a.shape, kw))

    def test_winners(self):
        for a, axis, keep in self.cases(WHOLE + REAL, special=True):
            kw = {"axis": axis, "keepdims": keep}
            for name in ("max", "min") if isinstance(axis, tuple) else ("max", "min", "argmax", "argmin"):
                want = self.call(getattr(np, name), a, **kw)
                if isinstance(want, ValueError):
                    with self.assertRaises(ValueError, msg=(name, a.shape, kw)):
                        getattr(cx, name)(array(a), **kw)
                else:
                    self.same(getattr(cx, name)(array(a), **kw), want, (name, a.dtype, a.shape, kw))

    def test_truths(self):
        for a, axis, keep in self.cases(EVERY, special=True):
            for name in ("any", "all"):
                kw = {"axis": axis, "keepdims": keep}
                self.same(getattr(cx, name)(array(a), **kw), getattr(np, name)(a, **kw), (name, a.dtype, a.shape, kw))
            self.same(cx.count_nonzero(array(a), axis=axis, keepdims=keep), np.count_nonzero(a, axis=axis, keepdims=keep))

    def test_cumulative(self):
        for a, axis, _ in self.cases(NUMERIC):
            if isinstance(axis, tuple) or a.ndim == 0 or (axis is None and a.ndim > 1):
                continue
            for initial in (False, True):
                kw = {"axis": axis, "include_initial": initial}
                self.same(cx.cumulative_sum(array(a), **kw), np.cumulative_sum(a, **kw), (a.dtype, a.shape, kw))
                if a.dtype.kind == "f":
                    self.same(cx.cumulative_prod(array(a), **kw), np.cumulative_prod(a, **kw), (a.dtype, a.shape, kw))
            if a.dtype.kind != "c":
                self.same(cx.cumulative_sum(array(a), axis=axis, dtype=cx.float64), np.cumulative_sum(a, axis=axis, dtype="float64"))
            self.same(cx.diff(array(a), axis=axis or 0), np.diff(a, axis=axis or 0))

    def test_without_nan(self):
        a = np.asarray([[1.0, np.nan, 3.0], [4.0, 5.0, np.nan]])
        for name, axis in itertools.product(("nansum", "nanmean", "nanmax", "nanmin", "nanstd"), (None, 0, 1)):
            self.same(getattr(cx, name)(array(a), axis=axis), getattr(np, name)(a, axis=axis), name)
        b = np.random.default_rng(SEED).normal(size=(5, 7))
        for axis in (None, 0, 1):
            self.same(cx.percentile(array(b), 30.0, axis=axis), np.percentile(b, 30.0, axis=axis))
            self.same(cx.median(array(b), axis=axis), np.median(b, axis=axis))


class Manipulation(Against):
    def test_shapes(self):
        rng = random.Random(SEED)
        a = np.arange(24).reshape(2, 3, 4)
        for _ in range(300):
            b = strided(a, rng)
            x = array(b)
            order = rng.sample(range(-3, 0) if rng.random() < 0.5 else range(3), 3)
            self.same(cx.permute_dims(x, tuple(order)), np.permute_dims(b, order))
            shape = rng.choice([(24,), (-1,), (4, 6), (2, -1, 3), (1, 24, 1)])
            self.same(cx.reshape(x, shape), np.reshape(b, shape))
            axis = rng.choice([None, 0, 1, 2, -1, (0, 2), (-1,)])
            self.same(cx.flip(x, axis=axis), np.flip(b, axis=axis))
            k = rng.randrange(1, 4)
            source, destination = rng.sample(range(3), k), rng.sample(range(-3, 0), k)
            self.same(cx.moveaxis(x, tuple(source), tuple(destination)), np.moveaxis(b, source, destination))
            self.same(cx.moveaxis(x, source[0], destination[0]), np.moveaxis(b, source[0], destination[0]))
            place = rng.randrange(-4, 4)
            self.same(cx.expand_dims(x, axis=place), np.expand_dims(b, place))
            self.same(cx.squeeze(cx.expand_dims(x, axis=place), place), b)
            shift, along = rng.choice([(5, None), (-3, 1), ((1, -2), (0, 2)), (2, (1, 2)), ((1, 3), 1)])
            self.same(cx.roll(x, shift, axis=along), np.roll(b, shift, axis=along))
            times = rng.choice([2, (2,), (2, 1, 3), (1, 2, 1, 1), ()])
            self.same(cx.tile(x, (times,) if isinstance(times, int) else times), np.tile(b, times))
            axis = rng.randrange(3)
            for n in (rng.randrange(4), np.asarray([rng.randrange(3) for _ in range(b.shape[axis])])):
                repeats = n if isinstance(n, int) else array(n)
                self.same(cx.repeat(x, repeats, axis=axis), np.repeat(b, n, axis=axis))
            self.same(cx.repeat(x, 2), np.repeat(b, 2))
            for got, want in zip(cx.unstack(x, axis=axis), np.unstack(b, axis=axis), strict=True):
                self.same(got, want)

    def test_joining(self):
        rng = random.Random(SEED)
        for da, db in itertools.product(EVERY, EVERY):
            a, b = sample((2, 3), da, rng), sample((2, 3), db, rng)
            for axis in (0, 1, -1, None):
                self.same(cx.concat([array(a), array(b)], axis=axis), np.concat([a, b], axis=axis), (da, db, axis), exact=True)
            for axis in (0, 2, -1):
                self.same(cx.stack((array(a), array(b)), axis=axis), np.stack([a, b], axis=axis), (da, db, axis), exact=True)
        self.same(cx.broadcast_to(array(np.arange(3)), (2, 3)), np.broadcast_to(np.arange(3), (2, 3)))
        got = cx.broadcast_arrays(array(np.ones((2, 1))), array(np.arange(3)))
        for g, w in zip(got, np.broadcast_arrays(np.ones((2, 1)), np.arange(3)), strict=True):
            self.same(g, w)


class Searching(Against):
    def test_order(self):
        rng = random.Random(SEED)
        for dtype, shape in itertools.product(WHOLE + REAL, [(1,), (9,), (3, 4), (2, 0), (2, 3, 4)]):
            a = sample(shape, dtype, rng)
            for axis in range(-len(shape), len(shape)):
                self.same(cx.sort(array(a), axis=axis), np.sort(a, axis=axis, stable=True), (dtype, shape))
                self.same(cx.argsort(array(a), axis=axis), np.argsort(a, axis=axis, stable=True), (dtype, shape))
                down = cx.sort(array(a), axis=axis, descending=True)
                self.same(cx.flip(down, axis=axis), np.sort(a, axis=axis), (dtype, shape, "descending"))
                places = cx.argsort(array(a), axis=axis, descending=True)
                self.same(cx.take_along_axis(array(a), places, axis=axis), np.asarray(down))
                one = np.zeros([1] * len(shape), np.int64)
                if shape[axis]:
                    self.same(cx.take_along_axis(array(a), array(one), axis=axis), np.take_along_axis(a, one, axis), (shape, axis))

    def test_places(self):
        rng = random.Random(SEED)
        for dtype, shape in itertools.product(EVERY, [(7,), (3, 4), (2, 0), (2, 3, 4)]):
            a = sample(shape, dtype, rng)
            for got, want in zip(cx.nonzero(array(a)), np.nonzero(a), strict=True):
                self.same(got, want)
        for dtype in WHOLE + REAL:
            edges, v = np.sort(sample((9,), dtype, rng, False)), sample((2, 5), dtype, rng, False)
            for side in ("left", "right"):
                self.same(cx.searchsorted(array(edges), array(v), side=side), np.searchsorted(edges, v, side=side))
            mixed = np.random.default_rng(1).permutation(edges)
            order = np.argsort(mixed)
            self.same(cx.searchsorted(array(mixed), array(v), sorter=array(order)), np.searchsorted(mixed, v, sorter=order))

    def test_take(self):
        rng = random.Random(SEED)
        a = np.arange(24.0).reshape(2, 3, 4)
        for axis in range(-3, 3):
            n = a.shape[axis]
            i = np.asarray([rng.randrange(-n, n) for _ in range(5)])
            self.same(cx.take(array(strided(a, rng)), array(i), axis=axis), np.take(a, i, axis=axis))
        self.same(cx.take(array(np.arange(5)), array(np.asarray([4, 0]))), np.asarray([4, 0]))

    def test_sets(self):
        rng = random.Random(SEED)
        for dtype, shape in itertools.product(BOOL + WHOLE, SHAPES):
            a = sample(shape, dtype, rng)
            self.same(cx.unique_values(array(a)), np.sort(np.unique_values(a)))
            for name in ("unique_all", "unique_counts", "unique_inverse"):
                got, want = getattr(cx, name)(array(a)), getattr(np, name)(a)
                for field in want._fields:
                    self.same(getattr(got, field), getattr(want, field), (name, field, dtype, shape))

    def test_products(self):
        rng = random.Random(SEED)
        shapes = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((2, 0), (0, 3)), ((4, 1, 2, 3), (5, 3, 2))]
        for dtype, (sa, sb) in itertools.product(NUMERIC, shapes):
            a, b = sample(sa, dtype, rng, False), sample(sb, dtype, rng, False)
            self.same(cx.matmul(array(a), array(b)), np.matmul(a, b), (dtype, sa, sb))
            self.same(array(a) @ array(b), a @ b, (dtype, sa, sb))
        a, b = sample((2, 3, 4), "float64", rng, False), sample((4, 3, 5), "float64", rng, False)
        for axes in (1, 0, ((2, 1), (0, 1)), ([2], [0])):
            self.same(cx.tensordot(array(a), array(b), axes=axes), np.tensordot(a, b, axes=axes), axes)
        a, b = sample((3, 4), "complex128", rng, False), sample((4,), "complex128", rng, False)
        self.same(cx.vecdot(array(a), array(b)), np.vecdot(a, b))
        self.same(cx.matrix_transpose(array(a)), a.T)


class Extensions(Against):
    def matrices(self, rng, square=True):
        for dtype, lead in itertools.product(REAL + COMPLEX, [(), (3,), (2, 1), (0,)]):
            n, m = rng.randrange(1, 5), rng.randrange(1, 5)
            yield strided(sample((*lead, n, n if square else m), dtype, rng, False), rng)

    def near(self, got, want, words=""):
        self.assertEqual((got.shape, got.dtype.name), (np.shape(want), np.asarray(want).dtype.name), words)
        tolerance = 2e-4 if "32" in got.dtype.name or got.dtype.name == "complex64" else 1e-10
        np.testing.assert_allclose(np.asarray(got), want, rtol=tolerance, atol=tolerance, err_msg=str(words))

    def test_linalg(self):
        rng = random.Random(SEED)
        la, ours = np.linalg, cx.linalg
        for a in self.matrices(rng):
            a = a + 3 * np.eye(a.shape[-1], dtype=a.dtype)
            h = np.matmul(a, np.conj(np.swapaxes(a, -1, -2)))
            x, y = array(a), array(h)
            for name in ("det", "inv"):
                self.near(getattr(ours, name)(x), getattr(la, name)(a), name)
            for got, want in zip(ours.slogdet(x), la.slogdet(a), strict=True):
                self.near(got, want)
            self.near(ours.solve(x, y), la.solve(a, h))
            self.near(ours.cholesky(y), la.cholesky(h))
            self.near(ours.cholesky(y, upper=True), la.cholesky(h, upper=True))
            self.near(ours.eigvalsh(y), la.eigvalsh(h))
            w, v = ours.eigh(y)
            np.testing.assert_allclose(np.matmul(h, np.asarray(v)), np.asarray(v) * np.asarray(w)[..., None, :], rtol=1e-3, atol=2e-3)
            for n in (0, 1, 3, -2):
                self.near(ours.matrix_power(x, n), la.matrix_power(a, n), n)

    def test_rectangular(self):
        rng = random.Random(SEED)
        la, ours = np.linalg, cx.linalg
        for a in self.matrices(rng, square=False):
            x = array(a)
            self.near(ours.svdvals(x), la.svdvals(a))
            for full in (True, False):
                got, want = ours.svd(x, full_matrices=full), la.svd(a, full_matrices=full)
                self.assertEqual([p.shape for p in got], [p.shape for p in want])
            for mode in ("reduced", "complete"):
                q, r = ours.qr(x, mode=mode)
                self.assertEqual((q.shape, r.shape), tuple(p.shape for p in la.qr(a, mode=mode)))
                self.near(cx.matmul(q, r), a)
            self.near(ours.pinv(x), la.pinv(a))
            self.near(ours.matrix_rank(x), la.matrix_rank(a))
            for ord in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
                self.near(ours.matrix_norm(x, ord=ord, keepdims=True), la.matrix_norm(a, ord=ord, keepdims=True), ord)
            for ord, axis in itertools.product((0, 1, 2, 3.5, -1, np.inf), (None, -1, (-1, -2))):
                if a.size or ord not in (np.inf, -1):
                    self.near(ours.vector_norm(x, ord=ord, axis=axis), la.vector_norm(a, ord=ord, axis=axis), (ord, axis))
            for k in (-1, 0, 2):
                self.near(ours.diagonal(x, offset=k), la.diagonal(a, offset=k))
                self.near(ours.trace(x, offset=k), la.trace(a, offset=k))
        a, b = sample((4, 3), "float64", rng, False), sample((4, 3), "float64", rng, False)
        self.near(ours.cross(array(a), array(b)), la.cross(a, b))
        self.near(ours.outer(array(a[0]), array(b[1])), la.outer(a[0], b[1]))
        self.near(ours.lstsq(array(a), array(b)).x, la.lstsq(a, b)[0])
        upper = np.triu(a[:3])
        self.near(ours.triangular_solve(array(a[:3]), array(b[:3]), upper=True), la.solve(upper, b[:3]))
        with self.assertRaisesRegex(ValueError, "singular"):
            ours.inv(cx.zeros((2, 2)))
        with self.assertRaises(ValueError):
            ours.matrix_norm(cx.ones((2, 2)), ord=3)

    def test_fft(self):
        rng = random.Random(SEED)
        ft, ours = np.fft, cx.fft
        for dtype, n, norm in itertools.product(REAL + COMPLEX, (None, 4, 7), ("backward", "ortho", "forward")):
            a = strided(sample((3, 6), dtype, rng, False), rng)
            real = dtype in REAL
            for name in ("fft", "ifft", "irfft", "hfft") + (("rfft", "ihfft") if real else ()):
                for axis in (-1, 0):
                    b = a.astype("complex64" if dtype == "float32" else "complex128") if real and name in ("irfft", "hfft") else a
                    want = getattr(ft, name)(b, n=n, axis=axis, norm=norm)
                    self.near(getattr(ours, name)(array(b), n=n, axis=axis, norm=norm), want, (name, dtype, n))
            for name in ("fftn", "ifftn") + (("rfftn",) if real else ("irfftn",)):
                for s, axes in ((None, None), ((4, 5), None), ((5,), (0,)), (None, (1, 0))):
                    if s == (4, 5) or axes or name != "irfftn":
                        want = getattr(ft, name)(a, s=s, axes=axes if axes or s is None else (0, 1), norm=norm)
                        self.near(getattr(ours, name)(array(a), s=s, axes=axes, norm=norm), want, (name, s, axes))
        a = sample((2, 3, 4), "float64", rng, False)
        self.near(ours.fftn(array(a), s=(5, -1)), ft.fftn(a, s=(5, 4), axes=(-2, -1)))
        for n, d in ((1, 1.0), (7, 0.5), (8, 2.0)):
            self.near(ours.fftfreq(n, d=d), ft.fftfreq(n, d=d))
            self.near(ours.rfftfreq(n, d=d), ft.rfftfreq(n, d=d))
        a = np.arange(12.0).reshape(3, 4)
        for name, axes in itertools.product(("fftshift", "ifftshift"), (None, 0, (0, 1))):
            self.near(getattr(ours, name)(array(a), axes=axes), getattr(ft, name)(a, axes=axes))
        with self.assertRaisesRegex(ValueError, "'norm' must be one of"):
            ours.fft(array(a), norm="no")

    def test_sets(self):
        rng = random.Random(SEED)
        for dtype in WHOLE + REAL:
            a, b = sample((3, 4), dtype, rng, False), sample((9,), dtype, rng, False)
            b[:4] = a[0]
            for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d"):
                self.same(getattr(cx, name)(array(a), array(b)), getattr(np, name)(a, b), name)
            for invert in (False, True):
                self.same(cx.isin(array(a), array(b), invert=invert), np.isin(a, b, invert=invert))
        a = np.asarray([1.0, np.nan, 1.0, np.nan, 0.0])
        for got, want in zip(cx.unique_all(array(a)), np.unique_all(a), strict=True):
            self.same(got, want)


class Indexing(Against):
    def key(self, rng: random.Random, shape) -> tuple:
        """A random key, as (for the package, for NumPy)."""
        parts, axis, together = [], 0, rng.choice([(), (3,), (2, 3), (1, 2)])
        if rng.random() < 0.15:
            depth = rng.randrange(0, len(shape) + 1)
            mask = np.asarray([rng.random() < 0.5 for _ in range(int(np.prod(shape[:depth])))], dtype=bool).reshape(shape[:depth])
            return array(mask), mask
        stop = rng.randrange(0, len(shape) + 1)
        while axis < stop:
            n, kind = shape[axis], rng.random()
            if kind < 0.15 and sum(p is None for p in parts) < 2:
                parts.append(None)
                continue
            if kind < 0.4 and n:
                parts.append(rng.randrange(-n, n))
            elif kind < 0.75 or not n:
                ends = [rng.choice([None, rng.randrange(-n - 2, n + 3)]) for _ in range(2)]
                parts.append(slice(*ends, rng.choice([None, 1, 2, -1, -2])))
            else:
                parts.append(np.asarray([rng.randrange(-n, n) for _ in range(int(np.prod(together)))], dtype=int).reshape(together))
            axis += 1
        if rng.random() < 0.3:
            # an ellipsis goes before what is left of the axes, so what is behind it must fit the last ones
            parts.append(Ellipsis)
        return tuple(array(p) if isinstance(p, np.ndarray) else p for p in parts), tuple(parts)

    def test_reading(self):
        rng = random.Random(SEED)
        for i in range(6000):
            shape = tuple(rng.randrange(0 if rng.random() < 0.1 else 1, 5) for _ in range(rng.randrange(0, 5)))
            a = strided(np.arange(int(np.prod(shape))).reshape(shape), rng)
            ours, theirs = self.key(rng, shape)
            self.same(array(a)[ours], a[theirs], (i, shape, theirs))

    def test_writing(self):
        rng = random.Random(SEED + 1)
        for i in range(3000):
            shape = tuple(rng.randrange(1, 5) for _ in range(rng.randrange(0, 5)))
            a = np.arange(int(np.prod(shape))).reshape(shape)
            x = cx.asarray(a, copy=True)
            ours, theirs = self.key(rng, shape)
            if any(isinstance(p, np.ndarray) and p.size > 1 for p in (theirs if isinstance(theirs, tuple) else ())):
                value = -5  # places may repeat: which value stays is not said
            else:
                value = -np.arange(a[theirs].size).reshape(a[theirs].shape) if rng.random() < 0.7 else -7
            a[theirs] = value
            x[ours] = array(value) if isinstance(value, np.ndarray) else value
            self.same(x, a, (i, shape, theirs))


class Corners(unittest.TestCase):
    """Where answers once differed from NumPy's, or a bad argument was not seen."""

    def test_infinities(self):
        inf, nan = np.inf, np.nan
        for values in ([1, inf], [inf], [nan, inf, 2], [-inf, inf], [1, inf, inf, 2], [inf, inf], [1.5, 2], [3, 1, 2], [nan, 1, 3]):
            for name in ("nanstd", "median", "nanmean", "std", "nansum", "nanmax"):
                ours, theirs = getattr(cx, name)(cx.asarray(values)), getattr(np, name)(np.asarray(values))
                np.testing.assert_array_equal(float(ours), theirs, err_msg=f"{name} of {values}")

    def test_powers_of_zero(self):
        for e in (2 + 3j, 2j, -1 + 0j, -2 + 3j, 0j, 1 + 0j, 0.5 + 1j):
            for t in COMPLEX:
                ours = cx.asarray([0j], dtype=getattr(cx, t)) ** cx.asarray([e], dtype=getattr(cx, t))
                np.testing.assert_array_equal(np.asarray(ours), np.zeros(1, t) ** np.asarray([e], t), err_msg=f"0 ** {e}")

    def test_keys_with_an_ellipsis(self):
        x = np.arange(24.0).reshape(4, 2, 3)
        ours, i, mask = cx.asarray(x), [0, 1], [True, False, True]
        for key in ((slice(None), i, ..., i), (slice(None), i, i), (..., i, i), (i, i, ...), (i, ...), (..., mask), (..., i, mask[:2])):
            try:
                wanted = x[key]
            except IndexError:
                self.assertRaises(IndexError, ours.__getitem__, key)
                continue
            np.testing.assert_array_equal(np.asarray(ours[key]), wanted, err_msg=str(key))
        for bad in ([True], [True, False], [True] * 4):
            self.assertRaises(IndexError, ours.__getitem__, (..., bad))
            self.assertRaises(IndexError, ours.__setitem__, (..., bad), 1.0)
        np.testing.assert_array_equal(np.asarray(ours), x)

    def test_slices(self):
        x, ours = np.arange(7), cx.arange(7)
        ends = (None, 0, 2, -2, 6, 7, 9, -9, 2**70, -(2**70), 2**63 - 1, -(2**63))
        for start, stop, step in itertools.product(ends, ends, (None, 1, 2, -1, -3, 2**70, -(2**70))):
            key = slice(start, stop, step)
            np.testing.assert_array_equal(np.asarray(ours[key]), x[key], err_msg=str(key))
        self.assertRaises(ValueError, ours.__getitem__, slice(None, None, 0))

    def test_assignment_beside_views(self):
        x, ours = np.arange(12.0), cx.arange(12.0)
        for key, value in ((3, 7.0), (-1, 2), (slice(2, 9, 3), [1.0, 2.0, 3.0]), (slice(None, None, -1), 4.5), (..., np.arange(12.0).tolist())):
            before = np.asarray(ours, copy=True)
            view, borrowed = ours[1:6], memoryview(ours)
            ours[key] = value
            x[key] = value
            np.testing.assert_array_equal(np.asarray(ours), x, err_msg=str(key))
            np.testing.assert_array_equal(np.asarray(view), before[1:6], err_msg="a view keeps what it saw")
            np.testing.assert_array_equal(np.asarray(borrowed), before, err_msg="so does a borrower")
            del view, borrowed
            ours[key] = value  # in place now
            np.testing.assert_array_equal(np.asarray(ours), x, err_msg=str(key))
        same = cx.broadcast_to(cx.ones(1), (3,))
        same[0] = 5
        np.testing.assert_array_equal(np.asarray(same), [5, 1, 1])
        self.assertRaises(TypeError, cx.arange(3).__setitem__, 0, 1.5)
        self.assertRaises(OverflowError, cx.zeros(3, dtype=cx.int8).__setitem__, 0, 300)
        self.assertRaises(IndexError, cx.zeros(3).__setitem__, 3, 1.0)

    def test_lists_of_arrays(self):
        np.testing.assert_array_equal(np.asarray(cx.asarray([cx.asarray(1j)])), np.asarray([np.asarray(1j)]))
        np.testing.assert_array_equal(np.asarray(cx.asarray([[1.0, 2], (3, cx.asarray(4))])), [[1, 2], [3, 4]])

    def test_bad_arguments(self):
        key, deep = cx.random.key(1), ()
        for _ in range(100000):
            deep = (deep,)
        nan = cx.asarray([0.5, float("nan")])
        for error, word, call in (
            (ValueError, "sorter", lambda: cx.searchsorted(cx.arange(5), cx.asarray([2]), sorter=cx.asarray([0, 1]))),
            (ValueError, "seed", lambda: cx.random.key(2**64)),
            (ValueError, "'p'", lambda: cx.random.bernoulli(key, cx.asarray(1.5))),
            (ValueError, "'p'", lambda: cx.random.bernoulli(key, nan, (2,))),
            (ValueError, "'p'", lambda: cx.random.choice(key, cx.arange(2), p=cx.asarray([1.5, -0.5]))),
            (ValueError, "logits", lambda: cx.random.categorical(key, nan)),
            (IndexError, "segment_sum", lambda: cx.segment_sum(cx.asarray([1.0, 2.0]), cx.asarray([0, 5]), 2)),
            (IndexError, "segment_max", lambda: cx.segment_max(cx.asarray([1.0, 2.0]), cx.asarray([0, -3]), 2)),
            (RecursionError, "", lambda: cx.isdtype(cx.float64, deep)),
        ):
            with self.assertRaises(error) as seen:
                call()
            self.assertIn(word, str(seen.exception))
        self.assertEqual(cx.diff(cx.arange(3), n=2**62).shape, np.diff(np.arange(3), n=9).shape)
        self.assertEqual(cx.diff(cx.zeros((2, 3)), n=2**62, axis=0).shape, (0, 3))

    def test_threads_assign_side_by_side(self):
        x = cx.zeros(100000)
        view = x[:1]  # the first assignments copy

        def fill(first):
            for i in range(first, first + 25000):
                x[i] = 1.0
                if i % 500 == 0:
                    x[i : i + 3] = 1.0

        threads = [threading.Thread(target=fill, args=(25000 * k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(float(cx.sum(x)), 100000.0)
        self.assertEqual(float(view[0]), 0.0)


class Neighbours(Against):
    """Arrays and scalars of NumPy as indices, as items of lists, under operators and in NumPy's own functions."""

    def test_indices(self):
        a = np.arange(24.0).reshape(4, 6)
        x = cx.asarray(a)
        rows, columns = np.array([3, 0, -1]), np.array([[1], [3]])
        keys = (rows, (rows, 2), (slice(1, 3), rows), (columns, rows), (..., rows), a[:, 0] > 4, a > 7, (a[:, 1] > 3, 1),
                np.array([], dtype=int), np.int64(2), (np.uint8(1), np.int32(-1)), np.array(1), np.bool_(True), (rows[::-1], rows))
        for key in keys:
            with self.subTest(key=repr(key)):
                self.assertEqual(np.asarray(x[key]).tolist(), a[key].tolist())
                self.assertEqual(x[key].shape, a[key].shape)
                b, y = a.copy(), cx.asarray(a, copy=True)
                b[key] = -1.0
                y[key] = -1.0
                self.assertEqual(np.asarray(y).tolist(), b.tolist())
                b[key] = a[key] * 2
                y[key] = a[key] * 2
                self.assertEqual(np.asarray(y).tolist(), b.tolist())
        for key, words in ((np.array([9]), "9"), (np.array([0.5]), "integers or bool"), (np.array([True]), "mask")):
            with self.assertRaisesRegex(IndexError, words):
                x[key]

    def test_lists(self):
        f, i = np.float32, np.int16
        cases = ([np.array([1, 2]), np.array([3, 4])], [f(1), f(2)], [f(1), i(2)], [np.arange(3.0), [4, 5, 6]], (np.arange(2), np.ones(2)),
                 [[np.arange(2), np.arange(2)], [np.zeros(2), np.ones(2)]], [np.zeros((0, 2))], [np.bool_(True), np.bool_(False)], [np.array(3), np.array(4)])
        for value in cases:
            with self.subTest(value=repr(value)):
                x, a = cx.asarray(value), np.asarray(value)
                self.assertEqual((str(x.dtype), x.shape), (str(a.dtype), a.shape))
                self.assertEqual(np.asarray(x).tolist(), a.tolist())
        self.assertEqual(cx.asarray([f(1), 2]).dtype, cx.float32)  # Python's numbers are weak
        self.assertEqual(cx.asarray([np.arange(2), cx.ones(2)]).dtype, cx.float64)
        self.assertEqual(cx.asarray([np.arange(2)], dtype=cx.float32).dtype, cx.float32)
        for value in ([np.arange(2), np.arange(3)], [np.arange(2), 1], [1, np.arange(2)]):
            with self.assertRaisesRegex(ValueError, "not of one length"):
                cx.asarray(value)

    def test_whose_result(self):
        """Of operators between an Array and a NumPy array, and of NumPy's functions, NumPy's; with its scalars ours."""
        x, a = cx.arange(5.0), np.arange(5.0)
        for made in (x + a, a + x, np.add(x, 1), np.exp(x), np.sum(x), np.mean(x, axis=0), np.concatenate([x, a]), np.stack((x, x)),
                     np.where(np.asarray(x > 2), x, a), np.float64(2) * x, np.linalg.norm(x), np.clip(x, 0, 2), np.reshape(x, (1, 5)), np.std(x)):
            self.assertIsInstance(made, (np.ndarray, np.generic))
        for made in (x * np.float64(2), x**np.float32(2), x + 1, 1 - x):
            self.assertIsInstance(made, cx.Array)
        self.assertEqual(np.sum(x), 10.0)
        self.assertEqual(np.concatenate([x, a]).tolist(), a.tolist() * 2)
        self.assertFalse(hasattr(x, "__array_ufunc__"))

    def test_einsum(self):
        rng = np.random.default_rng(SEED)
        shape = dict(zip("abcdef", (2, 3, 4, 5, 1, 2)))
        cases = ("ab,bc->ac", "ab,bc", "ab->ba", "ab->", "ab->b", "ba", "abc,abd->acd", "abc,cd,de->abe", "a,b->ab", "ab,ab->", "ab,ab->a", "a,a->a",
                 "aa->a", "aa", "aba->b", "ab,cb->ca", "...a,ab->...b", "...ab,...bc->...ac", "ab...->...", "a,ab,b->", " ab , bc -> ca ", "ab,cd->abcd", ",ab->ab", "ea,ab->eb", "abf,baf->f")
        for subscripts in cases:
            terms = subscripts.replace(" ", "").split("->")[0].split(",")
            operands = [rng.integers(-4, 5, [*((2, 3) if "..." in t else ()), *(shape[c] for c in t.replace("...", ""))]) for t in terms]
            for dtype in ("int64", "float64", "complex128", "int8"):
                with self.subTest(subscripts=subscripts, dtype=dtype):
                    values = [o.astype(dtype) for o in operands]
                    mine, theirs = cx.einsum(subscripts, *(cx.asarray(v) for v in values)), np.einsum(subscripts, *values)
                    self.assertEqual((mine.shape, str(mine.dtype)), (theirs.shape, str(theirs.dtype)))
                    self.assertEqual(np.asarray(mine).tolist(), theirs.tolist())
        one, three = cx.ones((1, 2)), cx.ones((3, 2))
        self.assertEqual(cx.einsum("ab,ab->ab", one, three).shape, np.einsum("ab,ab->ab", np.ones((1, 2)), np.ones((3, 2))).shape)
        for arguments, words in ((("ab", cx.ones(3)), "letter for each axis"), (("ab,bc", one), "part for each of 1 operands"), (("ab->c", one), "'c' in an operand"),
                                 (("ab->aa", one), "at most once"), (("a1", one), "got '1'"), (("ab,ac", three, cx.ones((2, 2))), "one length, got 3 and 2"),
                                 (("aa", three), "one length, got 3 and 2")):
            with self.assertRaisesRegex(ValueError, "einsum: .*" + words):
                cx.einsum(*arguments)

    def test_trim(self):
        cx.trim()
        del_me = cx.exp(cx.ones(1 << 20))
        del del_me
        kept = cx.memory()["kept_bytes"]
        self.assertGreaterEqual(kept, 8 << 20)
        self.assertEqual(cx.trim(), kept)
        self.assertEqual(cx.memory()["kept_bytes"], 0)


class Sized(unittest.TestCase):
    def test_sizes(self) -> None:
        for values in ([0, 3, 0, 5], [[1.0, 0.0], [0.0, 2.0]], [], [2.0, float("nan"), 1.0, float("nan"), 2.0]):
            x = np.asarray(values)
            for size in (0, 1, 3, 7):
                for got, want in zip(cx.nonzero_size(cx.asarray(x), size, fill_value=9), np.nonzero(x), strict=True):
                    np.testing.assert_array_equal(np.asarray(got), np.concatenate([want[:size], np.full(max(size - len(want), 0), 9)]))
                want, counts = np.unique(x, return_counts=True)
                got = cx.unique_size(cx.asarray(x), size, fill_value=9)
                np.testing.assert_array_equal(np.asarray(got[0]), np.concatenate([want[:size], np.full(max(size - len(want), 0), 9)]))
                np.testing.assert_array_equal(np.asarray(got[3]), np.concatenate([counts[:size], np.zeros(max(size - len(want), 0))]))
        for call, kind in ((lambda: cx.nonzero_size(cx.asarray(1), 2), ValueError), (lambda: cx.unique_size(cx.asarray([1]), -1), ValueError), (lambda: cx.unique_size(cx.asarray([1]), 2, fill_value="a"), TypeError),
                           (lambda: cx.unique_size(cx.asarray([]), 2), ValueError)):
            with self.assertRaises(kind):
                call()


class Traced(unittest.TestCase):
    """NumPy's arrays and scalars beside traced ones."""

    def test_operators(self) -> None:
        v, n = cx.asarray([0.5, 2.0]), np.asarray([3.0, 4.0])
        for f in (lambda x: x * n, lambda x: n * x, lambda x: np.float64(2.5) - x, lambda x: np.sqrt(2.0) * x, lambda x: x @ n, lambda x: n @ x, lambda x: n**x, lambda x: n < x, lambda x: x + np.arange(2)):
            want = np.asarray(f(np.asarray(v)))
            got = transforms.jit(f)(v)
            self.assertIsInstance(got, cx.Array)
            self.assertEqual(str(got.dtype), str(want.dtype))
            np.testing.assert_allclose(np.asarray(got), want, rtol=1e-15)
        np.testing.assert_allclose(np.asarray(transforms.grad(lambda x: cx.sum(n * x))(v)), n)

    def test_arguments(self) -> None:
        f = transforms.jit(lambda x, t: x * t["k"])
        for k in (np.float64(2.0), np.asarray(2.0), np.ones(2), np.asarray([1, 2], dtype=np.int32)):
            np.testing.assert_allclose(np.asarray(f(np.asarray([1.0, 3.0]), {"k": k})), np.asarray([1.0, 3.0]) * k)
        np.testing.assert_allclose(np.asarray(transforms.grad(lambda x: cx.sum(x * x))(np.asarray([1.0, 3.0]))), [2.0, 6.0])

    def test_refusals(self) -> None:
        for f in (np.asarray, np.sin, np.mean, lambda x: np.zeros(2) + np.asarray(x), lambda x: np.zeros(1).__setitem__(0, x[0])):
            with self.assertRaisesRegex(transforms.ConcretizationError, "compare_numpy.py:[0-9]+"):
                transforms.jit(f)(cx.ones(2))

    def test_without_a_buffer(self) -> None:
        x = cx.asarray([1.0, 2.5])
        self.assertEqual(x.__array__().tolist(), [1.0, 2.5])
        self.assertEqual(x.__array__(np.float32).dtype, np.float32)
        x.__array__(copy=True)[0] = 7.0
        self.assertEqual(float(x[0]), 1.0)
        self.assertFalse(hasattr(x, "__array_priority__"))


if __name__ == "__main__":
    print(f"# NumPy {np.__version__} under Python {sys.version.split()[0]}")
    tap.main()
