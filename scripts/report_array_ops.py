#!/usr/bin/env python3
"""Time every function of the Python package's array namespace against NumPy's counterpart, interleaved, in one process.

usage: PYTHONPATH=build/python scripts/report_array_ops.py [--rows FILE.jsonl] [--out FILE.md] [--only REGEX] [--sizes 10,1000,1000000]

Each point is one function, element type, size and layout (contiguous, or every second element of a longer array).  In each of the
rounds both libraries make the same number of calls, in alternating order; the ratio of a round is our time over NumPy's.  The table
shows the median ratio with the lowest and the highest of the rounds: with seven rounds that is an interval of 98.4 % for the median.
NumPy chooses its own number of threads for products, and so do we; before each turn of a product the other library's threads have
gone to sleep.  Both sides make a new result each call.  With --rows a part of the points can be measured at a time: the file keeps
the newest row of each, and the table shows all of them.
"""
import argparse
import json
import math
import os
import re
import statistics
import sys
import time

os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "20")  # its threads spin for 2^20 cycles after a product, not for 2^26

import numpy as np

from calibrax_c import array as cx

FLOATS = ("float64", "float32")
REAL = ("float64", "float32", "int64")
INTS = ("int64",)
LIMIT = 1.2       # times NumPy's time
EXTRA_NS = 150.0  # a short call may take this much longer
THREADED = re.compile("matmul|dot|tensordot|linalg")  # functions that either library computes with several threads
BOUNDS = {  # what bounds a function that computes another thing than NumPy's
    "random": "threefry2x32 by an explicit key (the same numbers on every machine, in any order); NumPy: PCG64 and a ziggurat",
    "random.normal": "threefry2x32, inverse of the distribution function; NumPy: PCG64, ziggurat",
    "random.permutation": "threefry2x32, stable sort by random words; NumPy: PCG64, swaps",
    **dict.fromkeys(["pow", "tan", "tanh", "cbrt", "acos", "asin", "atan", "atan2", "acosh", "asinh", "log2", "log10"], "the same bits with every instruction set; NumPy: functions written for AVX-512 alone"),
    **dict.fromkeys(["deg2rad", "rad2deg", "reciprocal"], "a number is an array of its own, broadcast: three operations of 100 ns"),
    "count_nonzero": "a conversion to bool and a sum: two operations of 100 ns",
    **dict.fromkeys(["logical_and", "logical_or", "logical_xor"], "two conversions to bool and an operation: three operations of 100 ns"),
    "zeros": "arguments, a context and an operation of 100 ns; NumPy: calloc",
    "bincount": "checks, an extent and a scatter: five operations of 100 ns",
    "imag": "a copy; NumPy: a view",
    "fft": "in float64 whatever the dtype, a lane at a time, the same bits with every instruction set; NumPy: float32 in float32, several lanes in a vector",
    "average": "products and sums in float64, rounded once; NumPy's of float32 are in float32",
    **dict.fromkeys(["nansum", "nanmean"], "a test, a selection and a sum in float64, each once over memory"),
    **dict.fromkeys(["sort", "unique_values", "union1d", "intersect1d", "setxor1d"],
                    "keys in one order for all element types, turned back at the end; NumPy: a sort by AVX-512 for each type"),
    **dict.fromkeys(["tril", "triu"], "a selection at the speed of memory"),
    "x[mask] = 1": "a selection into a new array; NumPy: in place",
    "x[2:-2]": "a slice is checked and made by operations of 100 ns",
    "histogram": "a search of the edges for each number, then a count; NumPy: a sort by AVX-512, then a search of the numbers for each edge",
    **dict.fromkeys([f"linalg.{n}" for n in ("cholesky", "det", "inv", "lstsq", "pinv", "qr", "slogdet", "solve", "svd", "svdvals")],
                    "the system's OpenBLAS; NumPy: one of its own, newer"),
    **dict.fromkeys(["matmul, vector", "dot", "vecdot", "einsum"], "products and sums of float32 in float64, the same bits with every instruction set; NumPy: in float32"),
    "segment_sum": "zeros, a check of the indices, a scatter: operations of 100 ns; NumPy: bincount, which takes no negative index",
}
NO_COUNTERPART = "erf, erfc, erfinv, lgamma, linalg.triangular_solve, random.fold_in, random.key, random.split and semiring"


def unary(name, theirs=None, low=-3.0, high=3.0, types=FLOATS):
    return name, types, low, high, lambda m, x, y: ours_or(m, name, theirs)(x)


def binary(name, theirs=None, low=0.5, high=3.0, types=REAL):
    return name, types, low, high, lambda m, x, y: ours_or(m, name, theirs)(x, y)


def ours_or(module, name, theirs):
    return getattr(module, name if module is cx else theirs or name)


def call(name, types, make, low=0.5, high=3.0):
    return name, types, low, high, make


def square_of(m, x):
    side = math.isqrt(int(x.shape[0]))
    return m.reshape(x[: side * side], (side, side))


POINTS = [
    # element by element
    unary("abs", types=REAL), unary("acos", "arccos", -1, 1), unary("acosh", "arccosh", 1, 9), unary("asin", "arcsin", -1, 1),
    unary("asinh", "arcsinh"), unary("atan", "arctan"), unary("atanh", "arctanh", -0.99, 0.99), unary("cbrt"), unary("ceil"),
    unary("conj", types=REAL), unary("cos"), unary("cosh"), unary("deg2rad"), unary("exp"), unary("exp2"), unary("expm1"),
    unary("floor"), unary("isfinite", types=REAL), unary("isinf", types=REAL), unary("isnan", types=REAL),
    unary("log", low=0.01, high=9), unary("log10", low=0.01, high=9), unary("log1p", low=-0.9, high=9), unary("log2", low=0.01, high=9),
    unary("logical_not", types=REAL), unary("negative", types=REAL), unary("positive", types=REAL), unary("rad2deg"),
    unary("real", types=FLOATS), unary("reciprocal"), unary("round"), unary("sign", types=REAL), unary("signbit"), unary("sin"),
    unary("sinh"), unary("sqrt", low=0, high=9), unary("square", types=REAL), unary("tan"), unary("tanh"), unary("trunc"),
    unary("bitwise_invert", "bitwise_not", types=INTS),
    binary("add"), binary("atan2", "arctan2", types=FLOATS), binary("bitwise_and", types=INTS),
    binary("bitwise_left_shift", "left_shift", types=INTS), binary("bitwise_or", types=INTS),
    binary("bitwise_right_shift", "right_shift", types=INTS), binary("bitwise_xor", types=INTS), binary("copysign", types=FLOATS),
    binary("divide"), binary("equal"), binary("floor_divide", low=1, high=9), binary("greater"), binary("greater_equal"),
    binary("hypot", types=FLOATS), binary("less"), binary("less_equal"), binary("logaddexp", types=FLOATS), binary("logical_and"),
    binary("logical_or"), binary("logical_xor"), binary("maximum"), binary("minimum"), binary("multiply"),
    binary("nextafter", types=FLOATS), binary("not_equal"), binary("pow", "power"), binary("remainder", low=1, high=9),
    binary("subtract"),
    call("add a number", REAL, lambda m, x, y: x + 2), call("clip", REAL, lambda m, x, y: m.clip(x, 1, 2)),
    call("where", REAL, lambda m, x, y: m.where(x > y, x, y)),
    call("astype float32", REAL, lambda m, x, y: m.astype(x, m.float32)), call("astype int64", REAL, lambda m, x, y: m.astype(x, m.int64)),
    call("astype float64", REAL, lambda m, x, y: m.astype(x, m.float64)),
    # creation
    call("arange", REAL, lambda m, x, y: m.arange(x.shape[0], dtype=x.dtype)),
    call("asarray(list)", REAL, lambda m, x, y: m.asarray(LISTS[x.shape[0], str(x.dtype).split(".")[-1]])),
    call("asarray(array)", REAL, lambda m, x, y: m.asarray(x)), call("copy", REAL, lambda m, x, y: m.asarray(x, copy=True)),
    call("empty", REAL, lambda m, x, y: m.empty(x.shape, dtype=x.dtype)), call("empty_like", REAL, lambda m, x, y: m.empty_like(x)),
    call("ones_like", REAL, lambda m, x, y: m.ones_like(x)), call("zeros_like", REAL, lambda m, x, y: m.zeros_like(x)),
    call("from_dlpack", REAL, lambda m, x, y: m.from_dlpack(x)),
    call("eye", REAL, lambda m, x, y: m.eye(math.isqrt(x.shape[0]), dtype=x.dtype)),
    call("full", REAL, lambda m, x, y: m.full(x.shape, 3, dtype=x.dtype)), call("full_like", REAL, lambda m, x, y: m.full_like(x, 3)),
    call("linspace", FLOATS, lambda m, x, y: m.linspace(0.0, 1.0, x.shape[0], dtype=x.dtype)),
    call("meshgrid", REAL, lambda m, x, y: m.meshgrid(x[: math.isqrt(x.shape[0])], y[: math.isqrt(x.shape[0])])),
    call("ones", REAL, lambda m, x, y: m.ones(x.shape, dtype=x.dtype)), call("tril", REAL, lambda m, x, y: m.tril(square_of(m, x))),
    call("triu", REAL, lambda m, x, y: m.triu(square_of(m, x))), call("zeros", REAL, lambda m, x, y: m.zeros(x.shape, dtype=x.dtype)),
    # movement
    call("broadcast_to", REAL, lambda m, x, y: m.broadcast_to(x, (2, x.shape[0]))),
    call("broadcast_arrays", REAL, lambda m, x, y: m.broadcast_arrays(x, y)), call("concat", REAL, lambda m, x, y: m.concat([x, y])),
    call("expand_dims", REAL, lambda m, x, y: m.expand_dims(x, axis=0)), call("flip", REAL, lambda m, x, y: m.flip(x)),
    call("matrix_transpose", REAL, lambda m, x, y: m.matrix_transpose(square_of(m, x))),
    call("moveaxis", REAL, lambda m, x, y: m.moveaxis(square_of(m, x), 0, 1)),
    call("permute_dims", REAL, lambda m, x, y: m.permute_dims(square_of(m, x), (1, 0))),
    call("repeat", REAL, lambda m, x, y: m.repeat(x, 2)), call("reshape", REAL, lambda m, x, y: m.reshape(x, (-1, 1))),
    call("roll", REAL, lambda m, x, y: m.roll(x, 3)), call("squeeze", REAL, lambda m, x, y: m.squeeze(m.reshape(x, (1, -1)), 0)),
    call("stack", REAL, lambda m, x, y: m.stack([x, y])), call("tile", REAL, lambda m, x, y: m.tile(x, (2,))),
    call("unstack", REAL, lambda m, x, y: m.unstack(m.reshape(x, (2, -1)))),
    call("imag", FLOATS, lambda m, x, y: m.imag(COMPLEX[m, x.shape[0], str(x.dtype)[-7:]])),
    call("diff", REAL, lambda m, x, y: m.diff(x)),
    # subscripts
    call("x[3]", REAL, lambda m, x, y: x[3]), call("x[2:-2]", REAL, lambda m, x, y: x[2:-2]),
    call("x[::2]", REAL, lambda m, x, y: x[::2]), call("x[None]", REAL, lambda m, x, y: x[None]),
    call("x[mask]", REAL, lambda m, x, y: x[x > y]), call("x[index]", REAL, lambda m, x, y: x[INDEX[m, x.shape[0]]]),
    call("x[3] = 1", REAL, lambda m, x, y: x.__setitem__(3, 1)), call("x[2:-2] = 1", REAL, lambda m, x, y: x.__setitem__(slice(2, -2), 1)),
    call("x[...] = y", REAL, lambda m, x, y: x.__setitem__(Ellipsis, y)),
    call("x[mask] = 1", REAL, lambda m, x, y: x.__setitem__(x > y, 1)),
    call("x[index] = 1", REAL, lambda m, x, y: x.__setitem__(INDEX[m, x.shape[0]], 1)),
    # reductions
    *[call(n, REAL, lambda m, x, y, n=n: getattr(m, n)(x)) for n in
      ("all", "any", "argmax", "argmin", "count_nonzero", "max", "mean", "median", "min", "prod", "std", "sum", "var")],
    *[call(n, FLOATS, lambda m, x, y, n=n: getattr(m, n)(x)) for n in ("nanmax", "nanmean", "nanmin", "nanstd", "nansum")],
    *[call(f"{n} of rows", REAL, lambda m, x, y, n=n: getattr(m, n)(square_of(m, x), axis=1)) for n in ("sum", "max", "mean", "std")],
    *[call(f"{n} of columns", REAL, lambda m, x, y, n=n: getattr(m, n)(square_of(m, x), axis=0)) for n in ("sum", "max", "mean", "std")],
    call("average", REAL, lambda m, x, y: m.average(x, weights=y)), call("percentile", REAL, lambda m, x, y: m.percentile(x, 90)),
    call("cumulative_sum", REAL, lambda m, x, y: m.cumulative_sum(x)), call("cumulative_prod", REAL, lambda m, x, y: m.cumulative_prod(x)),
    call("cumulative_max", REAL, lambda m, x, y: m.cumulative_max(x) if m is cx else m.maximum.accumulate(x)),
    call("cumulative_min", REAL, lambda m, x, y: m.cumulative_min(x) if m is cx else m.minimum.accumulate(x)),
    # search, order, sets
    call("argsort", REAL, lambda m, x, y: m.argsort(x)), call("argwhere", REAL, lambda m, x, y: m.argwhere(x > y)),
    call("bincount", INTS, lambda m, x, y: m.bincount(x), high=100), call("digitize", FLOATS, lambda m, x, y: m.digitize(x, EDGES[m, str(x.dtype)[-7:]])),
    call("extract", REAL, lambda m, x, y: m.extract(x > y, x)),
    call("histogram", FLOATS, lambda m, x, y: m.histogram(x, EDGES[m, str(x.dtype)[-7:]])),
    call("nonzero", REAL, lambda m, x, y: m.nonzero(x > y)), call("sort", REAL, lambda m, x, y: m.sort(x)),
    call("searchsorted", FLOATS, lambda m, x, y: m.searchsorted(EDGES[m, str(x.dtype)[-7:]], x)),
    call("take", REAL, lambda m, x, y: m.take(x, INDEX[m, x.shape[0]], axis=0)),
    call("take_along_axis", REAL, lambda m, x, y: m.take_along_axis(x, INDEX[m, x.shape[0]], axis=0)),
    call("scatter add", REAL, lambda m, x, y: m.scatter(x, INDEX[m, x.shape[0]], y, mode="add") if m is cx
         else np.add.at(x.copy(), INDEX[m, x.shape[0]], y)),
    call("segment_sum", REAL, lambda m, x, y: m.segment_sum(x, SEGMENTS[m, x.shape[0]], 16) if m is cx
         else np.bincount(SEGMENTS[m, x.shape[0]], x, 16)),
    *[call(f"segment_{n}", FLOATS, lambda m, x, y, n=n, u=u: getattr(m, f"segment_{n}")(x, SEGMENTS[m, x.shape[0]], 16) if m is cx
           else u.at(np.full(16, u.identity or 0, x.dtype), SEGMENTS[m, x.shape[0]], x))
      for n, u in (("max", np.maximum), ("min", np.minimum), ("prod", np.multiply))],
    call("segment_mean", FLOATS, lambda m, x, y: m.segment_mean(x, SEGMENTS[m, x.shape[0]], 16) if m is cx
         else np.bincount(SEGMENTS[m, x.shape[0]], x, 16) / np.bincount(SEGMENTS[m, x.shape[0]], None, 16)),
    *[call(n, REAL, lambda m, x, y, n=n: getattr(m, n)(x, y), high=500) for n in
      ("isin", "intersect1d", "setdiff1d", "setxor1d", "union1d")],
    *[call(n, REAL, lambda m, x, y, n=n: getattr(m, n)(x), high=500) for n in
      ("unique_all", "unique_counts", "unique_inverse", "unique_values")],
    # products
    call("matmul", REAL, lambda m, x, y: m.matmul(square_of(m, x), square_of(m, y))),
    call("matmul, vector", REAL, lambda m, x, y: m.matmul(square_of(m, x), x[: math.isqrt(x.shape[0])])),
    call("dot", REAL, lambda m, x, y: m.matmul(x, y)), call("vecdot", REAL, lambda m, x, y: m.vecdot(x, y)),
    call("outer", REAL, lambda m, x, y: m.outer(x[: math.isqrt(x.shape[0])], y[: math.isqrt(x.shape[0])])),
    call("tensordot", REAL, lambda m, x, y: m.tensordot(square_of(m, x), square_of(m, y), axes=1)),
    call("einsum", REAL, lambda m, x, y: m.einsum("ij,ij->i", square_of(m, x), square_of(m, y))),
    call("linalg.matrix_power", FLOATS, lambda m, x, y: m.linalg.matrix_power(small_square(m, x), 3)),
    call("linalg.lstsq", FLOATS, lambda m, x, y: m.linalg.lstsq(small_square(m, x), small_square(m, y))),
    *[call(f"linalg.{n}", FLOATS, lambda m, x, y, n=n: getattr(m.linalg, n)(small_square(m, x))) for n in
      ("diagonal", "det", "eigvalsh", "inv", "matrix_norm", "matrix_rank", "pinv", "svdvals", "trace", "slogdet")],
    call("linalg.cholesky", FLOATS, lambda m, x, y: m.linalg.cholesky(definite(m, x))),
    call("linalg.eigh", FLOATS, lambda m, x, y: m.linalg.eigh(definite(m, x))),
    call("linalg.qr", FLOATS, lambda m, x, y: m.linalg.qr(small_square(m, x))),
    call("linalg.solve", FLOATS, lambda m, x, y: m.linalg.solve(definite(m, x), small_square(m, y))),
    call("linalg.svd", FLOATS, lambda m, x, y: m.linalg.svd(small_square(m, x))),
    call("linalg.vector_norm", FLOATS, lambda m, x, y: m.linalg.vector_norm(x)),
    call("linalg.cross", FLOATS, lambda m, x, y: m.linalg.cross(m.reshape(x[: x.shape[0] // 3 * 3], (-1, 3)), m.reshape(y[: x.shape[0] // 3 * 3], (-1, 3)))),
    # Fourier transforms
    call("fft.rfft", FLOATS, lambda m, x, y: m.fft.rfft(x)), call("fft.irfft", FLOATS, lambda m, x, y: m.fft.irfft(COMPLEX[m, x.shape[0], str(x.dtype)[-7:]])),
    call("fft.fft", FLOATS, lambda m, x, y: m.fft.fft(COMPLEX[m, x.shape[0], str(x.dtype)[-7:]])),
    *[call(f"fft.{n}", FLOATS, lambda m, x, y, n=n: getattr(m.fft, n)(COMPLEX[m, x.shape[0], str(x.dtype)[-7:]])) for n in ("ifft", "hfft")],
    *[call(f"fft.{n}", FLOATS, lambda m, x, y, n=n: getattr(m.fft, n)(x)) for n in ("ihfft", "fftshift", "ifftshift")],
    *[call(f"fft.{n}", FLOATS, lambda m, x, y, n=n: getattr(m.fft, n)(square_of(m, x))) for n in ("rfftn",)],
    *[call(f"fft.{n}", FLOATS, lambda m, x, y, n=n: getattr(m.fft, n)(square_of(m, COMPLEX[m, x.shape[0], str(x.dtype)[-7:]]))) for n in ("ifftn", "irfftn")],
    *[call(f"fft.{n}", ("float64",), lambda m, x, y, n=n: getattr(m.fft, n)(x.shape[0])) for n in ("fftfreq", "rfftfreq")],
    call("fft.fftn", FLOATS, lambda m, x, y: m.fft.fftn(square_of(m, COMPLEX[m, x.shape[0], str(x.dtype)[-7:]]))),
    # random numbers: NumPy's generator is PCG64, ours threefry2x32 by explicit key, the same
    # numbers on every machine and in any order
    *[call(f"random.{n}", FLOATS, lambda m, x, y, n=n: getattr(cx.random, n)(KEY, x.shape, dtype=x.dtype) if m is cx
           else getattr(RNG, {"uniform": "random", "normal": "standard_normal", "exponential": "standard_exponential"}[n])(x.shape, dtype=x.dtype))
      for n in ("uniform", "normal", "exponential")],
    call("random.gumbel", ("float64",), lambda m, x, y: cx.random.gumbel(KEY, x.shape) if m is cx else RNG.gumbel(size=x.shape)),
    call("random.gamma", ("float64",), lambda m, x, y: cx.random.gamma(KEY, cx.asarray(2.5), x.shape) if m is cx else RNG.gamma(2.5, size=x.shape)),
    call("random.randint", INTS, lambda m, x, y: cx.random.randint(KEY, x.shape, 0, 100) if m is cx else RNG.integers(0, 100, x.shape)),
    call("random.permutation", REAL, lambda m, x, y: cx.random.permutation(KEY, x) if m is cx else RNG.permutation(x)),
    call("random.bernoulli", ("float64",), lambda m, x, y: cx.random.bernoulli(KEY, 0.5, x.shape) if m is cx else RNG.random(x.shape) < 0.5),
    call("random.categorical", ("float64",), lambda m, x, y: cx.random.categorical(KEY, LOGITS, x.shape) if m is cx else RNG.choice(16, x.shape)),
    call("random.choice", REAL, lambda m, x, y: cx.random.choice(KEY, x, x.shape) if m is cx else RNG.choice(x, x.shape)),
    call("random.bits", INTS, lambda m, x, y: cx.random.bits(KEY, x.shape, dtype=cx.uint64) if m is cx else RNG.integers(0, 2**64 - 1, x.shape, dtype="uint64", endpoint=True)),
]

KEY, LOGITS = cx.random.key(1), cx.zeros(16)
RNG = np.random.default_rng(1)
LISTS, INDEX, SEGMENTS, EDGES, COMPLEX = {}, {}, {}, {}, {}


def small_square(m, x):
    return square_of(m, x[:40000])


def definite(m, x):
    a = small_square(m, x)
    return a @ a.mT + 100 * m.eye(a.shape[0], dtype=a.dtype)


def prepare(n):
    rng = np.random.default_rng(7)
    index, segments = rng.integers(0, n, n), rng.integers(0, 16, n)
    edges = np.linspace(0.5, 3.0, 101)
    for m, give in ((np, lambda a: a), (cx, cx.asarray)):
        INDEX[m, n], SEGMENTS[m, n] = give(index), give(segments)
        for t in FLOATS:
            EDGES[m, t[-7:]] = give(edges.astype(t))
            z = rng.standard_normal(n) + 1j * rng.standard_normal(n)
            COMPLEX[m, n, t[-7:]] = give(z.astype("complex128" if t == "float64" else "complex64"))
    for t in REAL:
        LISTS[n, t] = rng.uniform(0, 99, n).astype(t).tolist()


def operands(n, t, low, high, strided):
    """Two arrays for NumPy and two for us, with the same elements."""
    rng = np.random.default_rng(n)
    out = []
    for _ in range(2):
        full = rng.uniform(low, high, 2 * n if strided else n)
        full = (np.floor(full * (1 if high > 9 else 3)) if t == "int64" else full).astype(t)
        mine = cx.asarray(full, copy=True)
        out.append((full[::2], mine[::2]) if strided else (full, mine))
    return (out[0][0], out[1][0]), (out[0][1], out[1][1])


def time_calls(f, m, x, y, calls, pause=0.0):
    time.sleep(pause)
    start = time.perf_counter_ns()
    for _ in range(calls):
        f(m, x, y)
    return (time.perf_counter_ns() - start) / calls


def measure(entry, n, t, strided, rounds, slice_ns):
    """Ours and NumPy's time of a call in ns, and the ratios of the rounds."""
    name, _, low, high, f = entry
    theirs, mine = operands(n, t, low, high, strided)
    with np.errstate(all="ignore"):
        time_calls(f, np, *theirs, 2)
        time_calls(f, cx, *mine, 2)
        once = max(time_calls(f, np, *theirs, 1), time_calls(f, cx, *mine, 1))
        calls = max(1, min(20000, int(slice_ns / max(once, 1.0))))
        pause = 0.003 if THREADED.search(name) and n >= 100000 else 0.0
        a, b = [], []
        for r in range(rounds):
            for turn in ((cx, mine, a), (np, theirs, b))[:: 1 if r % 2 == 0 else -1]:
                turn[2].append(time_calls(f, turn[0], *turn[1], calls, pause))
    ratios = sorted(p / q for p, q in zip(a, b))
    return statistics.median(a), statistics.median(b), ratios


def text_ns(ns):
    return f"{ns:.0f} ns" if ns < 1e4 else f"{ns / 1e3:.1f} us" if ns < 1e6 else f"{ns / 1e6:.2f} ms"


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--out", help="write the table to this file as well")
    p.add_argument("--rows", help="keep the rows in this file, and show those of earlier calls, too")
    p.add_argument("--only", default="", help="only functions whose name matches this regular expression")
    p.add_argument("--sizes", default="10,1000,1000000", help="numbers of elements; empty: measure nothing, show the rows")
    p.add_argument("--types", default=",".join(REAL))
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--slice", type=float, default=2.0, help="time of one round of one library, in ms")
    p.add_argument("--layouts", default="contiguous,strided")
    p.add_argument("--worst", action="store_true", help="show only points above the limit")
    p.add_argument("--seconds", type=float, default=0, help="stop after so many seconds; the next call with --rows goes on with what is missing")
    args = p.parse_args()
    rows, failed = {}, 0
    if args.rows and os.path.exists(args.rows):
        with open(args.rows, encoding="utf-8") as f:
            rows = {(r["function"], r["dtype"], r["elements"], r["layout"]): r for r in map(json.loads, f)}
    begin, left = time.monotonic(), 0
    for n in map(int, filter(None, args.sizes.split(","))):
        prepare(n)
        for entry in POINTS:
            for t in entry[1] if re.search(args.only, entry[0]) else ():
                for layout in args.layouts.split(","):
                    key = entry[0], t, n, layout
                    if t not in args.types.split(",") or (args.seconds and key in rows):
                        continue
                    if args.seconds and time.monotonic() - begin > args.seconds:
                        left += 1
                        continue
                    try:
                        mine, theirs, ratios = measure(entry, n, t, layout == "strided", args.rounds, args.slice * 1e6)
                    except Exception as e:  # a function that refuses its operands is a row, not the end of the table
                        print(f"{entry[0]} {t} {n} {layout}: {type(e).__name__}: {e}", file=sys.stderr)
                        failed += 1
                        continue
                    rows[key] = {"schema": "array-ops-1", "function": entry[0], "dtype": t, "elements": n, "layout": layout,
                                 "ours_ns": round(mine, 1), "numpy_ns": round(theirs, 1), "ratio": round(statistics.median(ratios), 4),
                                 "lowest": round(ratios[0], 4), "highest": round(ratios[-1], 4), "rounds": args.rounds}
    if args.rows:
        with open(args.rows, "w", encoding="utf-8") as f:
            f.writelines(json.dumps(r) + "\n" for r in rows.values())
    place = {e[0]: i for i, e in enumerate(POINTS)}
    shown = sorted(rows.values(), key=lambda r: (place[r["function"]], r["elements"], REAL.index(r["dtype"]), r["layout"]))
    good = sum(is_within(r) for r in shown)
    lines = [f"# Array functions against NumPy {np.__version__}", "",
             f"{good} of {len(shown)} points take at most {LIMIT} times NumPy's time, or at most {EXTRA_NS:.0f} ns longer. Median of "
             f"interleaved rounds with the lowest and the highest ratio; `make report-array-ops` measures it again. NumPy has no {NO_COUNTERPART}.", "",
             "| function | element type | elements | layout | ours | NumPy | times NumPy | within |", "|---|---|--:|---|--:|--:|--:|---|"]
    if args.worst:
        shown = sorted((r for r in shown if not is_within(r)), key=lambda r: -r["ratio"])
    lines += [f"| {r['function']} | {r['dtype']} | {r['elements']} | {r['layout']} | {text_ns(r['ours_ns'])} | {text_ns(r['numpy_ns'])} | "
              f"{r['ratio']:.2f} [{r['lowest']:.2f}, {r['highest']:.2f}] | {'yes' if is_within(r) else bound_of(r['function'])} |" for r in shown]
    text = "\n".join(lines) + "\n"
    if args.out:
        with open(args.out, "w", encoding="utf-8") as f:
            f.write(text)
    else:
        print(text)
    if left:
        print(f"report_array_ops: {left} points are left: the same command again goes on", file=sys.stderr)
    return 2 if failed else 3 if left else 0


def is_within(r):
    return r["ratio"] <= LIMIT or r["ours_ns"] - r["numpy_ns"] <= EXTRA_NS


def bound_of(name):
    bound = BOUNDS.get(name) or BOUNDS.get(name.split(".")[0])
    return f"no: {bound}" if bound else "**no**"


if __name__ == "__main__":
    sys.exit(main())
