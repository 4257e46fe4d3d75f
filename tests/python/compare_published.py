"""Programs that others publish for the Python array API, as they are: array-api-extra under jit, grad and vmap.  Prints TAP.

Values of eager calls are checked against a few by hand and against the compiled ones, gradients by central differences, batches by a
loop.  compare_jax.py does the same with SciPy's functions, against JAX.
"""

from __future__ import annotations

import unittest

import array_api_extra as xpx
import tap
from test_transforms import central, close

import calibrax_c as cx
from calibrax_c import array as xp

X = xp.asarray([[0.3, 1.2, -0.7, 2.0], [1.5, 0.1, 0.4, -1.1], [0.9, -0.2, 1.7, 0.6]])
PROGRAMS = {
    "cov": xpx.cov,
    "cov of a vector": lambda x: xpx.cov(x[0]),
    "kron": lambda x: xpx.kron(x[:2], x),
    "sinc": xpx.sinc,
    "pad": lambda x: xpx.pad(x, ((1, 0), (2, 1)), constant_values=3.0),
    "create_diagonal": lambda x: xpx.create_diagonal(x * x),
    "one_hot": lambda x: xpx.one_hot(xp.argmax(x, axis=1), 4) * x,
    "atleast_nd": lambda x: xpx.atleast_nd(x, ndim=4) ** 2,
    "at set": lambda x: xpx.at(x)[0].set(x[1] * 2, copy=True),
    "at multiply": lambda x: xpx.at(x)[:, 1].multiply(3.0, copy=True),
    "nan_to_num": lambda x: xpx.nan_to_num(x * xp.asarray([1.0, xp.nan, 2.0, xp.inf])),
}


def scalar(f):
    return lambda x: xp.sum(xp.sin(f(x)))


class Published(unittest.TestCase):
    def test_values(self) -> None:
        close(self, xpx.cov(xp.asarray([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])), xp.asarray([[1.0, -1.0], [-1.0, 1.0]]))
        close(self, xpx.kron(xp.asarray([1.0, 10.0]), xp.asarray([1.0, 2.0])), xp.asarray([1.0, 2.0, 10.0, 20.0]))
        close(self, xpx.sinc(xp.asarray([0.0, 0.5])), xp.asarray([1.0, 2 / xp.pi]))

    def test_compiled(self) -> None:
        for name, f in PROGRAMS.items():
            with self.subTest(name):
                close(self, cx.jit(f)(X), f(X))

    def test_gradients(self) -> None:
        for name, f in PROGRAMS.items():
            if name != "nan_to_num":  # infinite in places
                with self.subTest(name):
                    close(self, cx.jit(cx.grad(scalar(f)))(X), central(scalar(f), X), 1e-7)

    def test_batches(self) -> None:
        batch = xp.stack([X, -X, 0.5 * X])
        for name, f in PROGRAMS.items():
            if name != "nan_to_num":
                with self.subTest(name):
                    close(self, cx.vmap(f)(batch), xp.stack([f(batch[i, ...]) for i in range(3)]))
                    close(self, cx.vmap(cx.grad(scalar(f)))(batch), xp.stack([cx.grad(scalar(f))(batch[i, ...]) for i in range(3)]))


if __name__ == "__main__":
    tap.main()
