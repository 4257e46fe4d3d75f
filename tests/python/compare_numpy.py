"""Every function of the package against NumPy: dtypes, shapes, strides, special values, random keys.  Prints TAP.

Runs under an interpreter that has NumPy 2; test_numpy.py finds one.  NumPy's namespace follows the same standard, so the cases
are calls by name with the same arguments.  Those of compare_numpy_extensions.py run with it.
"""

from __future__ import annotations

import itertools
import random
import sys

import numpy as np
import tap

from calibrax_c import array as cx
from compare_numpy_extensions import Corners, Extensions, Indexing, Neighbours, Operands, Sized, Traced  # noqa: F401
from numpy_samples import BOOL, COMPLEX, EVERY, NUMERIC, REAL, SEED, SHAPES, UNSIGNED, WHOLE, Against, array, sample, strided


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
                    self.same(eval(f"v {op} x[::2]"), eval(f"v {op} a[::2]"), ("every second", op, dtype, v))

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
        with self.assertRaisesRegex(TypeError, "no dtype for the elements"):
            cx.asarray(np.asarray(["a"]))

    def test_elements_that_are_converted(self):
        halves = np.arange(1 << 16, dtype="uint16").view("float16")  # all of them
        for half in (halves, halves.astype(">f2"), halves[::-3], halves.reshape(256, 256).T):
            self.same(cx.asarray(half), half.astype("float32"), exact=True)
        rng = random.Random(SEED)
        for dtype, shape in itertools.product(EVERY, SHAPES):
            a = strided(sample(shape, dtype, rng), rng)
            other = a.astype(a.dtype.newbyteorder())
            for given in (other, strided(other, rng)):
                self.same(cx.asarray(given), a, (dtype, shape), exact=True)
        self.same(cx.asarray(np.asarray(2.5, ">f4"), dtype="float64"), np.asarray(2.5))
        self.same(cx.asarray([np.float16(1.5), np.float16(2)]), np.asarray([1.5, 2], "float32"))
        long = np.asarray([1, 2.5]).astype("longdouble") / 3
        self.same(cx.asarray(long, dtype="float64"), long.astype("float64"), exact=True)
        self.same(cx.asarray(long[::-1], dtype="complex128"), long[::-1].astype("complex128"), exact=True)
        for bad, words in ((long, "of <class 'numpy.ndarray'> are longdouble, .*: dtype='float64' rounds them"), (long.astype("clongdouble"), "no dtype")):
            with self.assertRaisesRegex(TypeError, words):
                cx.asarray(bad)
        for foreign in (halves, np.zeros(2, ">i4")):
            with self.assertRaisesRegex(ValueError, "elements that are converted must be copied: copy=True"):
                cx.asarray(foreign, copy=False)


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
        shapes = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((3, 5), (5, 21)), ((2, 0), (0, 3)), ((4, 1, 2, 3), (5, 3, 2))]
        for dtype, (sa, sb) in itertools.product(NUMERIC, shapes):
            a, b = sample(sa, dtype, rng, False), sample(sb, dtype, rng, False)
            self.same(cx.matmul(array(a), array(b)), np.matmul(a, b), (dtype, sa, sb))
            self.same(array(a) @ array(b), a @ b, (dtype, sa, sb))
            self.same(array(strided(a, rng)) @ array(strided(b, rng)), a @ b, (dtype, sa, sb))
        a, b = sample((2, 3, 4), "float64", rng, False), sample((4, 3, 5), "float64", rng, False)
        for axes in (1, 0, ((2, 1), (0, 1)), ([2], [0])):
            self.same(cx.tensordot(array(a), array(b), axes=axes), np.tensordot(a, b, axes=axes), axes)
        a, b = sample((3, 4), "complex128", rng, False), sample((4,), "complex128", rng, False)
        self.same(cx.vecdot(array(a), array(b)), np.vecdot(a, b))
        self.same(cx.matrix_transpose(array(a)), a.T)


class Long(Against):
    """Of so many elements that loops over vectors, pieces and tails take part."""

    N = 3001

    def both(self, a):
        """The array as it lies, every second element of a longer one, and from its end."""
        wide = np.zeros(2 * a.size, a.dtype)
        wide[::2] = a
        return a, wide[::2], np.ascontiguousarray(a[::-1])[::-1]

    def test_integer_division(self):
        rng = np.random.default_rng(SEED)
        corners = np.asarray([0, 1, -1, 2, -2, 7, -7, 2**51, -(2**51), 2**52 - 1, 2**52, -(2**52), 2**53 - 1, 2**62, -(2**62), 2**63 - 1])
        for high in (10, 2**31, 2**52, 2**53, 2**56, 2**63 - 1):
            x, y = rng.integers(-high, high, self.N), rng.integers(-high, high, self.N)
            y[::2] = rng.integers(-99, 100, y[::2].size)
            x[::3] = x[::3] // np.where(y[::3], y[::3], 1) * y[::3] + rng.integers(-1, 2, x[::3].size)  # beside whole quotients
            if high < 2**62:
                y[y == 0] = 5
            for a, b in [(x, y), (x, y[:1]), (x[:1], y), *zip(self.both(x), self.both(y), strict=True)]:
                self.same(cx.floor_divide(array(a), array(b)), np.floor_divide(a, b), high)
                self.same(cx.remainder(array(a), array(b)), np.remainder(a, b), high)
        x, y = (v.ravel() for v in np.meshgrid(corners, corners))
        self.same(cx.floor_divide(array(x), array(y)), np.floor_divide(x, y))
        self.same(cx.remainder(array(x), array(y)), np.remainder(x, y))

    def test_truth_and_sign(self):
        rng = np.random.default_rng(SEED)
        for dtype in ("bool", "int64", "float32", "float64"):
            a, b = (rng.integers(-1, 2, self.N).astype(dtype) for _ in range(2))
            if dtype.startswith("float"):
                a[::7], a[1::7] = np.nan, -np.nan
                a[2::7], b[::3] = -0.0, np.nan
            for x, y in zip(self.both(a), self.both(b), strict=True):
                self.same(cx.logical_not(array(x)), np.logical_not(x), dtype)
                for name in ("logical_and", "logical_or", "logical_xor"):
                    self.same(getattr(cx, name)(array(x), array(y)), getattr(np, name)(x, y), (name, dtype))
                if dtype.startswith("float"):
                    self.same(cx.signbit(array(x)), np.signbit(x), dtype)

    def test_winners(self):
        rng = np.random.default_rng(SEED)
        for dtype, n in itertools.product(("float64", "float32", "int64"), (1, 31, 64, 1000, self.N, 70001)):
            a = rng.integers(-9, 9, n).astype(dtype) if n % 2 else (rng.normal(size=n) * 1e6).astype(dtype)
            for b in (a, np.where(rng.random(n) < 2 / n, np.nan, a).astype(dtype) if dtype != "int64" else a):
                for x in self.both(b):
                    for name in ("argmax", "argmin", "max", "min"):
                        self.same(getattr(cx, name)(array(x)), getattr(np, name)(x), (name, dtype, n), exact=True)

    def test_cumulative(self):
        rng = np.random.default_rng(SEED)
        for dtype, name in itertools.product(("float64", "float32", "int64", "int32"), ("cumulative_sum", "cumulative_prod")):
            a = rng.integers(1, 3, self.N).astype(dtype) if name == "cumulative_sum" else rng.choice([1, -1], self.N).astype(dtype)
            for x in self.both(a):
                self.same(getattr(cx, name)(array(x)), getattr(np, name)(x), (name, dtype))
            m = a[:3000].reshape(60, 50)
            self.same(getattr(cx, name)(array(m), axis=0), getattr(np, name)(m, axis=0), (name, dtype))

    def test_columns(self):
        rng = np.random.default_rng(SEED)
        for dtype, shape in itertools.product(("float64", "float32", "int64"), ((7, 300), (300, 7), (1000, 33), (129, 2048))):
            m = (rng.normal(size=(shape[0], 2 * shape[1])) * 100).astype(dtype)
            for a, (name, wide) in itertools.product((m, m[:, ::2], m[::2]), (("sum", {}), ("mean", {}), ("std", {}))):
                want = getattr(np, name)(a.astype("float64" if dtype != "int64" else dtype), axis=0, **wide)
                got = getattr(cx, name)(array(a), axis=0)
                np.testing.assert_allclose(np.asarray(got), want, rtol=1e-5 if dtype == "float32" else 1e-12, atol=1e-9 * shape[0])

    def test_scattered(self):
        rng = np.random.default_rng(SEED)
        modes = {"add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum}
        for dtype, (mode, f) in itertools.product(("float64", "float32", "int64", "uint64", "int32"), modes.items()):
            to, at = rng.integers(1, 3, 40).astype(dtype), rng.integers(-40, 40, self.N)
            u = rng.choice([1, 2, 1], self.N).astype(dtype) if mode == "multiply" else rng.integers(0, 99, self.N).astype(dtype)
            if mode == "multiply":
                u[200:] = 1
            if dtype.startswith("float"):
                u[5], u[6] = np.nan, -0.0
            for x, i in itertools.product(self.both(u), (at, np.abs(at) % 40)):
                want = to.copy()
                f.at(want, i, x)
                self.same(cx.scatter(array(to), array(i), array(x), mode=mode), want, (dtype, mode), exact=True)
            self.same(cx.scatter(array(to), array(at % 40), array(np.asarray(2, dtype)), mode=mode),
                      self.scattered(f, to, at % 40), (dtype, mode), exact=dtype != "float32")

    @staticmethod
    def scattered(f, to, at):
        want = to.copy()
        f.at(want, at, np.asarray(2, to.dtype))
        return want

    def test_picked(self):
        rng = np.random.default_rng(SEED)
        for dtype in ("bool", "int16", "float32", "float64", "complex128"):
            for x in self.both(rng.integers(0, 9, 50).astype(dtype)):
                for i in (rng.integers(-50, 50, 20), rng.integers(0, 50, 40)[::2], np.zeros(0, "int64"), np.asarray([[1, -1], [3, 4]])):
                    self.same(array(x)[array(i)], x[i], dtype)
                for i in ([50], [-51], [0, 2**62], [-(2**63)]):
                    with self.assertRaisesRegex(IndexError, "is outside an axis of 50"):
                        array(x)[array(np.asarray(i))]

    def test_masked_assignment(self):
        rng = np.random.default_rng(SEED)
        for dtype in ("bool", "int16", "int64", "float32", "float64", "complex128"):
            a, mask = rng.integers(0, 9, self.N).astype(dtype), rng.random(self.N) < 0.5
            x = cx.asarray(a, copy=True)
            one = True if dtype == "bool" else 1
            x[array(mask)] = one
            a[mask] = one
            self.same(x, a, dtype)

    def test_dots_of_any_strides_have_one_result(self):
        rng = np.random.default_rng(SEED)
        for dtype, n in itertools.product(("float64", "float32", "int64", "int32"), (1, 15, 16, 17, 3001, 65536, 65537, 200001)):
            a, b = ((rng.normal(size=n) * 1e3).astype(dtype) for _ in range(2))
            want = np.asarray(cx.matmul(array(a), array(b)))
            np.testing.assert_allclose(want, np.dot(a.astype("float64"), b.astype("float64")), rtol=1e-6, atol=1e-2 * n)
            for x, y in itertools.product(self.both(a), self.both(b)):
                self.assertEqual(np.asarray(cx.matmul(array(x), array(y))).tobytes(), want.tobytes(), (dtype, n))

    def test_norms_and_products(self):
        rng = np.random.default_rng(SEED)
        for dtype in REAL:
            a, b = (rng.normal(size=self.N - 1).astype(dtype) for _ in range(2))
            for x, y in zip(self.both(a), self.both(b), strict=True):
                np.testing.assert_allclose(float(cx.linalg.vector_norm(array(x))), np.linalg.norm(x.astype("float64")), rtol=3e-7)
                self.same(cx.outer(array(x[:50]), array(y[:70])), np.outer(x[:50], y[:70]))
                self.same(cx.linalg.cross(array(x.reshape(-1, 3)), array(y.reshape(-1, 3))), np.cross(x.reshape(-1, 3), y.reshape(-1, 3)))
            m = a.reshape(60, 50)
            for axis in (0, 1, (0, 1)):
                want = np.linalg.norm(m.astype("float64"), axis=axis)
                np.testing.assert_allclose(np.asarray(cx.linalg.vector_norm(array(m), axis=axis)), want, rtol=3e-7)


if __name__ == "__main__":
    print(f"# NumPy {np.__version__} under Python {sys.version.split()[0]}")
    tap.main()
