"""Linear algebra and Fourier transforms, indices, corner cases and traced functions against NumPy; run by compare_numpy.py."""

from __future__ import annotations

import itertools
import random
import threading
import unittest

import numpy as np

import calibrax_c as transforms
from calibrax_c import array as cx
from calibrax_c import metrics
from numpy_samples import COMPLEX, REAL, SEED, WHOLE, Against, array, sample, strided


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
        for got, want in zip(cx.unique_counts(array(a)), np.unique_counts(a), strict=True):
            self.same(got, want)

    def test_unsigned_division_by_a_number(self):
        rng = np.random.default_rng(SEED)
        edges = [0, 1, 2, 3, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1]
        bits = rng.integers(0, 2**64 - 1, 2000, "uint64", endpoint=True)
        x = np.concatenate([np.asarray(edges, dtype="uint64"), bits, bits >> rng.integers(0, 64, 2000, "uint64")])
        for y in [*edges[1:], 7, 10**9, 10**19, *x[13:113].tolist()]:
            a = np.concatenate([x, np.asarray([k * y + d for k in (1, 2, 3) for d in (-1, 0, 1) if k * y + d < 2**64], dtype="uint64")])
            for name in ("floor_divide", "remainder"):
                self.same(getattr(cx, name)(array(a), cx.asarray(y, dtype=cx.uint64)), getattr(np, name)(a, np.uint64(y)), (name, y))
                self.same(getattr(cx, name)(array(a)[::3], cx.asarray(y, dtype=cx.uint64)), getattr(np, name)(a[::3], np.uint64(y)), (name, y))
                self.same(getattr(cx, name)(array(a), cx.asarray([y], dtype=cx.uint64)), getattr(np, name)(a, np.uint64(y)), (name, y))

    def test_many_integers(self):
        """Those that lie close together are looked up in a table."""
        rng = np.random.default_rng(SEED)
        for dtype, low, high in (("int64", -3, 700), ("int8", -128, 128), ("uint8", 0, 256), ("uint32", 2**32 - 900, 2**32), ("int64", -(2**62), 2**62), ("uint64", 0, 50)):
            a, b = rng.integers(low, high, (70, 60), dtype), rng.integers(low + (high - low) // 3, high, 500, dtype)
            a[0, :2] = np.iinfo(dtype).min, np.iinfo(dtype).max
            for invert in (False, True):
                self.same(cx.isin(array(a), array(b), invert=invert), np.isin(a, b, invert=invert), (dtype, low))


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
            # an ellipsis goes before what is left of the axes, so what is behind it must fit the
            # last ones
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


class Operands(unittest.TestCase):
    """NumPy's arrays as operands of metrics."""

    def test_elements_without_a_dtype_here(self) -> None:
        x, y = np.asarray([1.0, 2.5, 4.1]), np.asarray([1.0, 3.0, 1.0])
        for dtype in ("float16", "longdouble", ">f2", ">f4", ">f8", ">i4"):
            a = x.astype(dtype)
            want = np.mean(np.abs(a.astype("float64") - y))
            for given in (a, a[::-1][::-1], list(a)):
                self.assertEqual(float(metrics.mae(given, y)), want, dtype)
            self.assertEqual(float(metrics.State("mae").update(y, a).compute()), want, dtype)
            self.assertEqual(metrics.MetricCollection(["mae"]).compute_functional(a, y), {"mae": want}, dtype)
            self.assertEqual(float(metrics.mae(x, y, weights=a)), np.sum(np.abs(x - y) * a.astype("float64")) / np.sum(a.astype("float64")))
        for a in (x.astype(object), np.asarray(["1", "2", "3"])):
            with self.assertRaisesRegex(TypeError, r"no dtype for the elements of <class 'numpy.ndarray'>.*convert them, with x.astype"):
                metrics.mae(a, y)

    def test_masked_arrays(self) -> None:
        x, y = np.ma.masked_array([1.0, 2.5, 4.0], [False, True, False]), np.asarray([1.0, 3.0, 1.0])
        for call, name in (
            (lambda: metrics.mae(x, y), "predictions"),
            (lambda: metrics.State("mae").update(y, x), "targets"),
            (lambda: metrics.MetricCollection(["mae"]).update(x, y), "predictions"),
            (lambda: metrics.BootstrapMetric("mae").compute(x, y), "predictions"),
            (lambda: metrics.mae(y, y, weights=x), "weights"),
        ):
            with self.assertRaisesRegex(ValueError, f"'{name}' is a NumPy array with masked elements.*mask=~numpy.ma.getmaskarray"):
                call()
        self.assertEqual(float(metrics.mae(x.data, y, mask=~np.ma.getmaskarray(x))), float(np.ma.mean(np.abs(x - y))))
        self.assertEqual(float(metrics.mae(np.ma.masked_array(y), y + 1)), 1.0)


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
            with self.assertRaisesRegex(transforms.ConcretizationError, "compare_numpy_extensions.py:[0-9]+"):
                transforms.jit(f)(cx.ones(2))

    def test_without_a_buffer(self) -> None:
        x = cx.asarray([1.0, 2.5])
        self.assertEqual(x.__array__().tolist(), [1.0, 2.5])
        self.assertEqual(x.__array__(np.float32).dtype, np.float32)
        x.__array__(copy=True)[0] = 7.0
        self.assertEqual(float(x[0]), 1.0)
        self.assertFalse(hasattr(x, "__array_priority__"))
