"""Samples of every dtype, shape and stride, and comparisons of Arrays with NumPy's: for compare_numpy*.py."""

from __future__ import annotations

import random
import unittest
import warnings

import numpy as np

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
# NumPy gives float16 for these of 8 bits and bool, and float32 for those of 16; the package gives
# float64
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
