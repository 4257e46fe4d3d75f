#!/usr/bin/env python3
"""Right answers of small problems by 60-digit arithmetic, for test_cases.c: each straight from its formula, loop by loop.

    python3 case_answers.py > case_answers.h        (needs mpmath, Debian: python3-mpmath)
"""

import json
import random
import struct

from mpmath import exp, log, mp, mpf, sqrt

mp.dps = 60
INF = float("inf")
IDENTITY = {"real": 0, "log": -INF, "tropical_max_plus": -INF, "tropical_min_plus": INF, "euclidean": 0}
EMPTY = IDENTITY


def rounding(dtype):
    return float if dtype == "f64" else lambda x: struct.unpack("f", struct.pack("f", x))[0]


def fold(algebra, dtype, pairs):
    """What nitrix defines: combine each pair, update, finalize; a term of -inf adds nothing to log."""
    if not pairs:
        return EMPTY[algebra]
    if algebra == "real":
        return sum(mpf(a) * mpf(b) for a, b in pairs)
    if algebra == "euclidean":
        return sqrt(sum((mpf(a) - mpf(b)) ** 2 for a, b in pairs))
    terms = [mpf(a) + mpf(b) for a, b in pairs if a not in (INF, -INF)]
    if algebra == "log":
        return log(sum(exp(t) for t in terms)) if terms else -INF
    if not terms:
        return EMPTY[algebra]
    return rounding(dtype)(float(max(terms) if "max" in algebra else min(terms)))


def draw(rng, dtype, count):
    return [rounding(dtype)(rng.gauss(0, 1)) for _ in range(count)]


def graph(rng, n, k):
    degree = [rng.randint(0, k) for _ in range(n)]
    degree[0], degree[1] = 0, k
    return degree, [[rng.randrange(n) if p < degree[i] else i for p in range(k)] for i in range(n)]


def ell_edge_aggregate(rng, algebra, dtype):
    n, k, d_in, d_out = 5, 3, 4, 2
    x, w = draw(rng, dtype, n * d_in), draw(rng, dtype, d_out * d_in)
    degree, index = graph(rng, n, k)
    weight = draw(rng, dtype, n * k)

    def message(i, p, o):
        j = index[i][p]
        return mpf(weight[i * k + p]) * sum(mpf(x[j * d_in + q]) * mpf(w[o * d_in + q]) for q in range(d_in))

    out = []
    for i in range(n):
        for o in range(d_out):
            m = [message(i, p, o) for p in range(degree[i])]
            out.append(sum(m) if algebra == "real" else max(m) if m else -INF)
    point = {"n": n, "k": k, "d_in": d_in, "d_out": d_out, "algebra": algebra, "dtype": dtype}
    return point, [x, w, sum(index, []), weight, degree], out


def ell_matmul(rng, algebra, dtype):
    m, k, n = 5, 3, 2
    degree, index = graph(rng, m, k)
    value, b = draw(rng, dtype, m * k), draw(rng, dtype, m * n)
    out = []
    for i in range(m):
        for j in range(n):
            out.append(fold(algebra, dtype, [(value[i * k + p], b[index[i][p] * n + j]) for p in range(degree[i])]))
    return {"m": m, "k": k, "n": n, "algebra": algebra, "dtype": dtype}, [sum(index, []), value, degree, b], out


def ell_row_softmax(rng, _, dtype):
    n, k = 4, 3
    degree, _ = graph(rng, n, k)
    value = [rounding(dtype)(4 * v) for v in draw(rng, dtype, n * k)]
    out = []
    for i in range(n):
        e = [exp(mpf(value[i * k + p])) for p in range(degree[i])]
        out += [v / sum(e) for v in e] + [0] * (k - degree[i])
    return {"n": n, "k": k, "dtype": dtype}, [value, degree], out


def semiring_conv(rng, algebra, dtype):
    shape = rng.choice([(4, 5, 3, 2, 1, "same"), (5, 4, 3, 1, 1, "same"), (6, 7, 2, 2, 2, "valid"), (5, 5, 4, 3, 1, "same")])
    h, w, kernel, stride, dilation, padding = shape
    batch, c_in, c_out = 2, 2, 2
    span = (kernel - 1) * dilation + 1

    def axis(size):
        if padding == "valid":
            return (size - span) // stride + 1, 0
        out = -(-size // stride)
        return out, max((out - 1) * stride + span - size, 0) // 2

    (rows, top), (columns, left) = axis(h), axis(w)
    x, kern = draw(rng, dtype, batch * h * w * c_in), draw(rng, dtype, kernel * kernel * c_in * c_out)
    out = []
    for b in range(batch):
        for i in range(rows):
            for j in range(columns):
                for o in range(c_out):
                    pairs = []
                    for u in range(kernel):
                        for v in range(kernel):
                            y, z = i * stride + u * dilation - top, j * stride + v * dilation - left
                            for c in range(c_in):
                                inside = 0 <= y < h and 0 <= z < w
                                a = x[((b * h + y) * w + z) * c_in + c] if inside else IDENTITY[algebra]
                                pairs.append((a, kern[((u * kernel + v) * c_in + c) * c_out + o]))
                    out.append(fold(algebra, dtype, pairs))
    point = {"batch": batch, "height": h, "width": w, "c_in": c_in, "c_out": c_out, "kernel": kernel, "stride": stride}
    point.update(dilation=dilation, padding=padding, algebra=algebra, dtype=dtype)
    return point, [x, kern], out


def dense_matmul(rng, _, dtype):
    m, k, n = 3, 4, 2
    a, b = draw(rng, dtype, m * k), draw(rng, dtype, k * n)
    out = [fold("real", dtype, [(a[i * k + p], b[p * n + j]) for p in range(k)]) for i in range(m) for j in range(n)]
    return {"m": m, "k": k, "n": n, "dtype": dtype}, [a, b], out


ALL = ("real", "log", "tropical_max_plus", "tropical_min_plus", "euclidean")
PROBLEMS = [(ell_edge_aggregate, a) for a in ("real", "tropical_max_plus")] + [(ell_matmul, a) for a in ALL]
PROBLEMS += [(ell_row_softmax, ""), (dense_matmul, "")] + [(semiring_conv, a) for a in ALL]


def number(v):
    v = float(v)
    return ("-INFINITY" if v < 0 else "INFINITY") if v in (INF, -INF) else str(int(v)) if v == int(v) else v.hex()


def main():
    rng = random.Random(7)
    print("/* Made by case_answers.py; do not edit. */")
    arrays, rows = [], []
    for maker, algebra in PROBLEMS:
        for dtype in ("f32", "f64"):
            point, inputs, answer = maker(rng, algebra, dtype)
            numbers = [number(v) for values in [*inputs, answer] for v in values]
            arrays.append(f"static const double answer_{len(rows)}[] = {{ {', '.join(numbers)} }};")
            text = json.dumps(point, separators=(",", ":")).replace('"', '\\"')
            rows.append(f'    {{ "{maker.__name__}", "{text}", answer_{len(rows)}, {len(numbers)} }},')
    print("\n".join(arrays))
    print("/* All inputs, one behind the other in the case's order, then the answer. */")
    print("static const struct {\n    const char *name, *point;\n    const double *numbers;\n    size_t count;\n} answers[] = {")
    print("\n".join(rows) + "\n};")


main()
