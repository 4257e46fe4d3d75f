"""calibrax_c.array.semiring against sums written out in Python, and derivatives by the identity <h, jvp(t)> = <vjp(h), t>.  Prints TAP."""

from __future__ import annotations

import itertools
import math
import unittest

import tap

from calibrax_c import array as xp
from calibrax_c.array import semiring as sr

FOLDS = {
    "real": lambda pairs: math.fsum(a * b for a, b in pairs),
    "log": lambda pairs: math.log(math.fsum(math.exp(a + b) for a, b in pairs)),
    "tropical_max_plus": lambda pairs: max(a + b for a, b in pairs),
    "tropical_min_plus": lambda pairs: min(a + b for a, b in pairs),
    "euclidean": lambda pairs: math.sqrt(math.fsum((a - b) ** 2 for a, b in pairs)),
}


def draw(seed: int, *shape: int) -> xp.Array:
    return xp.random.normal(xp.random.key(seed), shape)


def dot(x: xp.Array, y: xp.Array) -> float:
    return float(xp.sum(x * y))


class Semiring(unittest.TestCase):
    def close(self, got: xp.Array, wanted: list, where: object = "") -> None:
        error = xp.max(xp.abs(got - xp.asarray(wanted)))
        self.assertLess(float(error), 1e-13, where)

    def test_products(self) -> None:
        a, b = draw(1, 3, 5), draw(2, 5, 4)
        for algebra, fold in FOLDS.items():
            wanted = [[fold([(float(a[i, k]), float(b[k, j])) for k in range(5)]) for j in range(4)] for i in range(3)]
            self.close(sr.matmul(a, b, algebra), wanted, algebra)
        bools = sr.matmul(a > 0, b > 0, "boolean")
        self.assertEqual(bools.tolist(), [[any(float(a[i, k]) > 0 and float(b[k, j]) > 0 for k in range(5)) for j in range(4)] for i in range(3)])

    def test_what_happens_to_a_product(self) -> None:
        a, b = draw(3, 2, 3), draw(4, 3, 2)
        self.close(sr.matmul(a, b, merge=xp.ones((2, 2))), (xp.matmul(a, b) + 1).tolist())
        mask = xp.asarray([[True, False], [False, True]])
        self.close(sr.matmul(a, b, mask=mask), xp.where(mask, xp.matmul(a, b), 0).tolist())
        self.close(sr.matmul(a, b, mask=mask, mask_complement=True), xp.where(mask, 0, xp.matmul(a, b)).tolist())
        self.close(sr.matmul(a, b, "euclidean", raw=True), xp.square(sr.matmul(a, b, "euclidean")).tolist())

    def test_convolutions(self) -> None:
        x, w = draw(5, 9, 2), draw(6, 3, 2, 4)
        for algebra, fold in FOLDS.items():
            for stride, dilation in ((1, 1), (2, 1), (1, 3)):
                places = range(0, 9 - 2 * dilation, stride)
                wanted = [[fold([(float(x[p + t * dilation, c]), float(w[t, c, o])) for t, c in itertools.product(range(3), range(2))])
                           for o in range(4)] for p in places]
                self.close(sr.conv(x, w, algebra, stride=stride, dilation=dilation), wanted, (algebra, stride, dilation))
        self.assertEqual(sr.conv(x, w, padding="same").shape, (9, 4))
        self.assertEqual(sr.conv(x, w, padding=[(2, 0)]).shape, (9, 4))

    def test_graphs(self) -> None:
        index, degree, rows = [[0, 2, 1], [3, 0, 0], [1, 3, 0], [2, 0, 0]], [3, 1, 2, 0], 4
        graph, values, b = sr.Ell(index, 4, degree=degree), draw(7, rows, 3), draw(8, 4, 2)
        self.assertEqual((graph.rows(), graph.cols(), graph.width(), graph.edges()), (4, 4, 3, 6))
        dense = [[0.0] * 4 for _ in range(rows)]
        for i, n in enumerate(degree):
            for q in range(n):
                dense[i][index[i][q]] = float(values[i, q])
        self.close(graph.matmul(values, b), xp.matmul(xp.asarray(dense), b).tolist())
        self.close(graph.matmul_transposed(values, b), xp.matmul(xp.asarray(dense).mT, b).tolist())
        entries = xp.asarray([float(values[i, q]) for i, n in enumerate(degree) for q in range(n)])
        csr = sr.Ell([index[i][q] for i, n in enumerate(degree) for q in range(n)], 4, start=[0, 3, 4, 6, 6])
        self.close(csr.matmul(csr.pack(entries), b), graph.matmul(values, b).tolist())
        order = graph.rcm()
        self.assertEqual(sorted(order.tolist()), [0, 1, 2, 3])
        moved = graph.reorder(order).matmul(xp.take(values, order, axis=0), xp.take(b, order, axis=0))
        self.close(moved, xp.take(graph.matmul(values, b), order, axis=0).tolist())
        soft = graph.softmax(values)
        self.close(xp.sum(soft, axis=1), [1.0, 1.0, 1.0, 0.0])

    def test_derivatives(self) -> None:
        a, b, ta, tb, h = (draw(s, *shape) for s, shape in ((1, (3, 5)), (2, (5, 4)), (3, (3, 5)), (4, (5, 4)), (5, (3, 4))))
        x, w, tx, tw, hy = (draw(s, *shape) for s, shape in ((1, (7, 2)), (2, (3, 2, 3)), (3, (7, 2)), (4, (3, 2, 3)), (5, (7, 3))))
        graph = sr.Ell([[0, 2], [1, 0], [2, 1]], 3, degree=[2, 1, 2])
        v, g, tv, tg, hg = (draw(s, *shape) for s, shape in ((1, (3, 2)), (2, (3, 2)), (3, (3, 2)), (4, (3, 2)), (5, (3, 2))))
        for algebra in FOLDS:
            out = sr.matmul(a, b, algebra)
            da, db = sr.matmul_vjp(a, b, out, h, algebra)
            self.assertAlmostEqual(dot(h, sr.matmul_jvp(a, b, out, ta, tb, algebra)), dot(da, ta) + dot(db, tb), 12, algebra)
            step = 1e-6
            moved = (sr.matmul(a + step * ta, b + step * tb, algebra) - sr.matmul(a - step * ta, b - step * tb, algebra)) / (2 * step)
            self.assertAlmostEqual(dot(h, moved), dot(da, ta) + dot(db, tb), 6, algebra)
            y = sr.conv(x, w, algebra, padding="same")
            dx, dw = sr.conv_vjp(x, w, y, hy, algebra, padding="same")
            self.assertAlmostEqual(dot(hy, sr.conv_jvp(x, w, y, tx, tw, algebra, padding="same")), dot(dx, tx) + dot(dw, tw), 12, algebra)
            for name in ("matmul", "matmul_transposed", "aggregate"):
                if name == "aggregate" and algebra not in ("real", "tropical_max_plus", "tropical_min_plus"):
                    continue
                forward, vjp, jvp = (getattr(graph, name + end) for end in ("", "_vjp", "_jvp"))
                c = forward(v, g, algebra)
                dv, dg = vjp(v, g, c, hg, algebra)
                self.assertAlmostEqual(dot(hg, jvp(v, g, c, tv, tg, algebra)), dot(dv, tv) + dot(dg, tg), 12, (name, algebra))
        y = graph.softmax(v)
        self.assertAlmostEqual(dot(hg, graph.softmax_vjp(y, tv)), dot(graph.softmax_vjp(y, hg), tv), 12)

    def test_refused(self) -> None:
        a = xp.ones((2, 2))
        graph = sr.Ell([[0, 1]], 2)
        for call, fault, words in ((lambda: sr.matmul(a, a, "x"), ValueError, "'algebra' must be one of 'real'"),
                                   (lambda: sr.matmul(a, a, "boolean"), TypeError, "bool"),
                                   (lambda: sr.conv(a, a), ValueError, "'w' must have from 3 to 8 axes, got 2"),
                                   (lambda: sr.conv(a, xp.ones((2, 2, 1)), stride=0), ValueError, "'stride' must be at least 1"),
                                   (lambda: sr.conv(a, xp.ones((2, 2, 1)), padding=[(1,)]), ValueError, "'padding' must be"),
                                   (lambda: sr.conv(a, xp.ones((2, 2, 1)), padding="all"), ValueError, "'padding' must be 'valid', 'same'"),
                                   (lambda: sr.Ell([[0, 5]], 2), ValueError, "column 5 of 2"),
                                   (lambda: sr.Ell([0, 1], 2), ValueError, "two axes"),
                                   (lambda: sr.Ell([[0, 1]], 2, degree=[1, 1]), ValueError, "'degree'"),
                                   (lambda: sr.Ell([0, 1], 2, start=[0, 9]), ValueError, "'start'"),
                                   (lambda: sr.Ell([0, 1], 2, start=[2, 0, 2]), ValueError, "start|ascend"),
                                   (lambda: graph.matmul(xp.ones((1, 2)), xp.ones((3, 1))), ValueError, "matmul"),
                                   (lambda: graph.rcm(), ValueError, "square"),
                                   (lambda: graph.reorder([0, 0]), ValueError, "'order'|square")):
            with self.subTest(words), self.assertRaisesRegex(fault, words):
                call()


if __name__ == "__main__":
    tap.main()
