"""The same programs under JAX and under calibrax_c: values, derivatives, batches, control flow, structures of results.  Prints TAP.

Runs under an interpreter that has JAX (`make compare-jax`).  A program gets the array namespace and the transforms of one of the two;
CALIBRAX_PROGRAMS is the number of random ones.
"""

from __future__ import annotations

import os

os.environ["SCIPY_ARRAY_API"] = "1"  # before SciPy is imported
import random
import types
import unittest
from collections import namedtuple
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import tap
from scipy import integrate, special, stats

import calibrax_c as cx
from calibrax_c import array as cxp

jax.config.update("jax_enable_x64", True)

NAMES = "jit grad value_and_grad jvp vjp linearize jacfwd jacrev hessian vmap custom_jvp custom_vjp checkpoint".split()
LOOPS = "scan fori_loop while_loop cond switch stop_gradient".split()
JAX = types.SimpleNamespace(xp=jnp, tree=jax.tree, **{n: getattr(jax, n) for n in NAMES}, **{n: getattr(jax.lax, n) for n in LOOPS})
OURS = types.SimpleNamespace(xp=cxp, tree=cx.tree, **{n: getattr(cx, n) for n in NAMES + LOOPS})
Pair = namedtuple("Pair", "a b")


def plain(tree) -> object:
    """Trees of NumPy arrays, of either of the two."""
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*map(plain, tree))
    if isinstance(tree, (list, tuple)):
        return type(tree)(map(plain, tree))
    if isinstance(tree, dict):
        return {k: plain(tree[k]) for k in sorted(tree)}
    return None if tree is None else np.asarray(tree)


def arrays(t):
    """Small arrays of one of the two: a vector, a matrix, a positive scalar."""
    rng = np.random.default_rng(7)
    return t.xp.asarray(rng.normal(size=4)), t.xp.asarray(rng.normal(size=(3, 4))), t.xp.asarray(0.7)


# ---- programs by hand: each takes the transforms and returns a tree ----


def derivatives(t):
    v, m, s = arrays(t)
    f = lambda x, y: t.xp.sum(t.xp.tanh(y @ x) * t.xp.exp(-s * y[:, 0]))  # noqa: E731
    return {"g": t.grad(f)(v, m), "gs": t.grad(f, argnums=(0, 1))(v, m), "vg": t.value_and_grad(f, argnums=1)(v, m), "h": t.hessian(f)(v, m), "hh": t.hessian(f, argnums=(0, 1))(v, m),
            "fwd": t.jacfwd(lambda x: t.xp.sin(m @ x))(v), "rev": t.jacrev(lambda x: {"a": m @ x, "b": (x, t.xp.sum(x))})(v), "jvp": t.jvp(f, (v, m), (v, 2 * m)), "jj": t.jacfwd(t.jacrev(lambda x: x**3))(v)}


def reverse(t):
    v, m, s = arrays(t)
    y, back = t.vjp(lambda a, b: {"p": a @ b, "q": [t.xp.sum(a), b * s]}, m, v)
    z, forward = t.linearize(lambda a: t.xp.cumulative_sum(t.xp.exp(a)), v)
    return y, back({"p": t.xp.ones(3), "q": [t.xp.asarray(2.0), v]}), z, forward(v), forward(2 * v)


def auxiliary(t):
    v, _, _ = arrays(t)
    f = lambda x: (t.xp.sum(x**2), {"k": x * 2, "n": None})  # noqa: E731
    return t.grad(f, has_aux=True)(v), t.value_and_grad(f, has_aux=True)(v), t.jacrev(lambda x: (x * x, x), has_aux=True)(v), t.jacfwd(lambda x: (x * x, x), has_aux=True)(v), t.jvp(f, (v,), (v,), has_aux=True)


def trees(t):
    v, m, s = arrays(t)
    p = {"w": [m, None], "b": Pair(v, (s, {"z": 1.5}))}
    loss = lambda q, k=1.0: k * (t.xp.sum((q["w"][0] @ q["b"].a) ** 2) + q["b"].b[0] * q["b"].b[1]["z"])  # noqa: E731
    step = t.jit(lambda q: t.tree.map(lambda x, g: x - 0.01 * g, q, t.grad(loss)(q, k=2.0)))
    return t.grad(loss)(p), step(step(p)), t.tree.leaves(p), t.jit(lambda q: q)(p)


def batches(t):
    v, m, s = arrays(t)
    return (t.vmap(lambda r: t.xp.sum(r * v))(m), t.vmap(lambda r, k: r * k, in_axes=(1, 0), out_axes=1)(m, v), t.vmap(t.grad(lambda r: t.xp.sum(t.xp.sin(r) ** 2)))(m),
            t.grad(lambda x: t.xp.sum(t.vmap(lambda r: t.xp.prod(r * x))(m)))(v), t.vmap(t.vmap(lambda a, b: a * b + s, in_axes=(0, None)), in_axes=(None, 0))(v, v),
            t.vmap(lambda d, q: d["a"] + d["b"] * q, in_axes=({"a": 0, "b": None}, None))({"a": m, "b": v}, 2.0), t.vmap(lambda r: (r, 1.0), out_axes=(0, None))(m),
            t.vmap(t.jacfwd(lambda r: r**2))(m), t.vmap(lambda r: t.xp.sort(r)[::-1])(m), t.vmap(lambda r, i: r[i])(m, t.xp.asarray([0, 2, 3])), t.vmap(lambda x: x @ x.mT, in_axes=0)(t.xp.stack([m, 2 * m])))


def loops(t):
    v, m, s = arrays(t)
    f = lambda c, r: ({"c": t.xp.tanh(c["c"] * s + r)}, t.xp.sum(c["c"]))  # noqa: E731
    run = lambda x, rows: t.scan(f, {"c": x}, rows)  # noqa: E731
    total = lambda x, rows: t.xp.sum(run(x, rows)[0]["c"]) + t.xp.sum(run(x, rows)[1])  # noqa: E731
    return (run(v, m), t.grad(total, argnums=(0, 1))(v, m), t.jit(t.grad(total))(v, m), t.hessian(total)(v, m), t.scan(lambda c, x: (c * 2 + x, c), 0.0, v, reverse=True), t.scan(lambda c, _: (c + 1, c), 0, None, length=3),
            t.fori_loop(0, 5, lambda i, c: c * s + i, v), t.grad(lambda x: t.fori_loop(0, 5, lambda i, c: c * x, 1.0))(s), t.while_loop(lambda c: c[0] < 10.0, lambda c: (c[0] * 2, c[1] + 1), (s, 0)),
            t.jvp(lambda x: t.while_loop(lambda c: c < 10.0, lambda c: c * c * 3, x), (s,), (1.0,)), t.vmap(lambda x: t.while_loop(lambda c: c < 10.0, lambda c: c * 3 + 1, x))(t.xp.abs(v)),
            t.grad(lambda x: t.while_loop(lambda c: c < x, lambda c: c + 0.25, 0.0) * x)(s), t.vmap(t.grad(lambda x: t.while_loop(lambda c: c[1] < t.xp.abs(x), lambda c: (c[0] + 1, c[1] + t.stop_gradient(t.xp.abs(x)) / 3), (0, 0.0))[0] * x))(v),
            t.vmap(lambda x: t.scan(lambda c, r: (c + t.xp.sum(r) * x, c), x, m))(v), t.jit(lambda n: t.fori_loop(0, n, lambda i, c: c + i, 0))(6))


def branches(t):
    v, m, s = arrays(t)
    f = lambda p, x: t.cond(p, lambda y: t.xp.sum(t.xp.sin(y)), lambda y: t.xp.sum(y**2), x)  # noqa: E731
    g = lambda i, x: t.switch(i, [lambda y: y, lambda y: y * y, t.xp.exp], x)  # noqa: E731
    return ([f(True, v), f(False, v)], t.grad(f, argnums=1)(s > 0, v), t.jit(t.grad(lambda x: f(x[0] > 0, x)))(v), t.vmap(lambda x: f(x > 0, x))(v), t.vmap(t.grad(lambda x: f(x > 0, x)))(v), [g(i, v) for i in (-1, 0, 1, 2, 9)],
            t.vmap(g)(t.xp.asarray([0, 1, 2, 1]), v), t.jacrev(lambda x: g(1, x))(v))


def rules(t):
    v, _, s = arrays(t)

    @t.custom_jvp
    def f(x, y):
        return t.xp.sin(x) * y

    f.defjvp(lambda p, d: (f(*p), t.xp.cos(p[0]) * d[0] * p[1] + 5.0 * d[1]))

    @t.custom_vjp
    def g(x, w):
        return {"y": x["k"] * w}

    g.defvjp(lambda x, w: (g(x, w), (x["k"], w)), lambda kept, ct: ({"k": ct["y"] * kept[1] * 3}, t.xp.sum(kept[0]) * 7))

    @partial(t.custom_vjp, nondiff_argnums=(1,))
    def h(x, n):
        return x**n

    h.defvjp(lambda x, n: (h(x, n), x), lambda n, x, ct: (ct * n * 100.0,))
    return (f(s, 2.0), t.grad(f, argnums=(0, 1))(s, 2.0), t.grad(t.grad(f))(s, 2.0), t.jvp(f, (s, s), (1.0, 2.0)), t.vmap(t.grad(f), in_axes=(0, None))(v, 3.0), t.grad(lambda x: t.xp.sum(g({"k": x}, 2.0)["y"]))(v),
            t.jit(t.grad(lambda w: t.xp.sum(g({"k": v}, w)["y"])))(s), t.grad(lambda x: h(x, 3))(s), t.grad(lambda x: t.xp.sum(x * t.stop_gradient(x)))(v), t.grad(t.checkpoint(lambda x: t.xp.sum(t.xp.sin(t.xp.sin(x)))))(v))


def linear_algebra(t):
    v, m, s = arrays(t)
    a = m.mT @ m + t.xp.eye(4)
    xp = t.xp
    return (t.grad(lambda x: xp.linalg.det(x))(a), t.grad(lambda x: xp.linalg.det(x))(xp.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])), t.grad(lambda x: xp.sum(xp.linalg.solve(x, v)))(a), t.grad(lambda x: xp.sum(xp.linalg.inv(x)))(a), t.grad(lambda x: xp.sum(xp.linalg.cholesky(x) ** 2))(a), t.grad(lambda x: xp.linalg.slogdet(x)[1])(a),
            t.grad(lambda x: xp.sum(xp.linalg.eigvalsh(x + x.mT) ** 3))(a), t.vmap(xp.linalg.solve)(xp.stack([a, 2 * a]), xp.stack([m.mT, m.mT])), t.jacrev(lambda x: xp.linalg.vector_norm(x))(v), t.hessian(lambda x: xp.log(xp.linalg.det(xp.eye(4) + x[:, None] * x)))(v))


def numbers(t):
    x32 = t.xp.ones(3, dtype=t.xp.float32)
    return (t.jit(lambda a, k: a * k)(x32, 2.5), t.jit(lambda a, k: a + t.xp.sin(k) * 2)(x32, 2.5), t.scan(lambda c, r: (c + r, c), 0.0, x32), t.grad(lambda a: t.xp.sum(a * 2.5))(x32), t.fori_loop(0, 3, lambda i, c: c + x32[0], 0.0),
            t.jit(lambda n: t.xp.arange(3) * n)(2), t.jit(lambda a: (a, 1, 2.0, True))(x32), t.grad(lambda k: t.xp.sum(x32 * k))(2.0))


def indexing(t):
    v, m, _ = arrays(t)
    i = t.xp.asarray([3, 0, 3])
    return (t.grad(lambda x: x[1] * x[-1])(v), t.grad(lambda x: t.xp.sum(x[i] ** 2))(v), t.jacrev(lambda x: x[::2, 1:])(m), t.grad(lambda x: t.xp.sum(t.xp.take(x, i, axis=1) ** 3))(m), t.grad(lambda x: t.xp.max(x) + t.xp.min(x[0]))(m),
            t.jit(lambda x, k: x[k])(m, 1), t.jit(lambda x: [r * 2 for r in x])(m), t.grad(lambda x: t.xp.sum(t.xp.where(x > 0, x**2, 0.0)))(v), t.jacfwd(lambda x: t.xp.concat([x, x[:1] ** 2]))(v), t.grad(lambda x: t.xp.sum(t.xp.reshape(x, (2, 6))[0]))(m),
            t.grad(lambda x: t.xp.sum(t.xp.asarray([x[0], x[1] * x[2]])))(v))


def scipy_functions(t):
    """Functions of SciPy that take arrays of any library of the array API (SCIPY_ARRAY_API=1): values, gradients, batches."""
    _, m, _ = arrays(t)
    x = t.xp.abs(m) + 0.25
    found = {}
    for name, f in {"logsumexp": special.logsumexp, "softmax": special.softmax, "log_softmax": special.log_softmax, "skew": stats.skew, "kurtosis": stats.kurtosis, "gmean": stats.gmean, "zscore": stats.zscore,
                    "sem": stats.sem, "circmean": stats.circmean, "trapezoid": integrate.trapezoid}.items():
        g = partial(f, axis=-1)
        found[name] = (t.jit(g)(x), t.grad(lambda y, g=g: t.xp.sum(g(y) ** 2))(x), t.vmap(partial(f, axis=0))(x), t.jit(t.hessian(lambda y, g=g: t.xp.sum(g(y)[0])))(x))
    return found


PROGRAMS = [derivatives, reverse, auxiliary, trees, batches, loops, branches, rules, linear_algebra, numbers, indexing, scipy_functions]

# ---- random programs ----

UNARY = "sin cos tanh exp square abs atan sinh expm1 sign".split()
BINARY = "add subtract multiply maximum minimum atan2 hypot".split()
FOLD = "sum mean max min prod std".split()


def random_program(seed: int):
    """A scalar function of a matrix (3, 4) with operations, movements, folds and loops, and a transform of it."""
    rng = random.Random(seed)
    plan = [(rng.choice(["unary", "binary", "move", "fold", "loop", "where", "cond"]), rng.randrange(1 << 30)) for _ in range(rng.randrange(3, 9))]
    outer = rng.choice(["value", "grad", "jit grad", "vmap grad", "hessian", "jvp", "grad checkpoint"])

    def f(t, x):
        xp = t.xp
        values = [x, x * 0.5 + 0.25]
        for kind, n in plan:
            r = random.Random(n)
            a, b = r.choice(values), r.choice(values)
            if kind == "unary":
                values.append(getattr(xp, r.choice(UNARY))(a * 0.7))
            elif kind == "binary":
                values.append(getattr(xp, r.choice(BINARY))(a, b * 0.9 + 0.1))
            elif kind == "move":
                values.append(r.choice([lambda y: xp.flip(y, axis=0), lambda y: xp.roll(y, 1, axis=1), lambda y: y.mT.mT[::-1], lambda y: xp.reshape(y.mT, (3, 4)), lambda y: xp.concat([y[1:], y[:1]]), lambda y: y[:, xp.asarray([2, 0, 1, 3])]])(a))
            elif kind == "fold":
                values.append(getattr(xp, r.choice(FOLD))(a, axis=r.choice([0, 1]), keepdims=True) * b)
            elif kind == "loop":
                c, ys = t.scan(lambda c, row: (xp.tanh(c + row), c * row), xp.mean(a, axis=0), b)
                values.append(ys + c)
            elif kind == "where":
                values.append(xp.where(a > b, a * b, a - b))
            else:
                values.append(t.cond(xp.sum(a) > 0, lambda y, z: y * z, lambda y, z: y + 2 * z, a, b))
        return xp.sum(values[-1] * values[-2]) + 0.1 * xp.sum(values[len(values) // 2])

    def program(t):
        x = t.xp.asarray(np.random.default_rng(seed).normal(size=(3, 4)))
        g = partial(f, t)
        g.__name__ = "f"
        if outer == "value":
            return g(x)
        if outer == "vmap grad":
            return t.vmap(t.grad(g))(t.xp.stack([x, -x, 2 * x]))
        if outer == "jvp":
            return t.jvp(g, (x,), (x * x,))
        return {"grad": t.grad(g), "jit grad": t.jit(t.grad(g)), "hessian": t.jit(t.hessian(g)), "grad checkpoint": t.grad(t.checkpoint(g))}[outer](x)

    return program


class Compare(unittest.TestCase):
    def same(self, program, tolerance: float) -> None:
        ours, theirs = plain(program(OURS)), plain(program(JAX))
        a, sa = jax.tree.flatten(ours)
        b, sb = jax.tree.flatten(theirs)
        self.assertEqual(str(sa), str(sb))
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            self.assertEqual((x.dtype, x.shape), (y.dtype, y.shape), f"result {i}")
            if x.dtype.kind in "fc":
                eps = tolerance if x.dtype.itemsize >= 8 else 1e-5
                np.testing.assert_allclose(x, y, rtol=eps, atol=eps * max(1.0, float(np.max(np.abs(y), initial=0.0))), err_msg=f"result {i}")
            else:
                np.testing.assert_array_equal(x, y, err_msg=f"result {i}")

    def test_programs(self) -> None:
        for program in PROGRAMS:
            with self.subTest(program.__name__):
                self.same(program, 1e-11)

    def test_random_programs(self) -> None:
        for seed in range(int(os.environ.get("CALIBRAX_PROGRAMS", "60"))):
            with self.subTest(seed):
                self.same(random_program(seed), 1e-9)

    def test_both_refuse(self) -> None:
        for words, f in {
            "branch": lambda t: t.jit(lambda v: v if v > 0 else -v)(1.0), "number": lambda t: t.jit(float)(1.0), "index": lambda t: t.jit(lambda n: [1, 2][n])(1), "range": lambda t: t.jit(lambda n: list(range(n)))(3),
            "numpy": lambda t: t.jit(np.asarray)(t.xp.ones(2)), "not a scalar": lambda t: t.grad(lambda v: v)(t.xp.ones(2)), "integers": lambda t: t.grad(lambda v: v * v)(3), "text": lambda t: t.jit(lambda v: "text")(1.0),
            "carry": lambda t: t.scan(lambda c, r: ((c, c), r), 0.0, t.xp.ones(2)), "lengths": lambda t: t.vmap(lambda a, b: a + b)(t.xp.ones(2), t.xp.ones(3)), "branches": lambda t: t.cond(True, lambda: 1.0, lambda: (1.0, 1.0)),
            "hash": lambda t: t.jit(lambda v, n: v, static_argnums=1)(1.0, [1]), "reverse while": lambda t: t.grad(lambda v: t.while_loop(lambda c: c < 3, lambda c: c * 2, v))(1.0), "argnums": lambda t: t.grad(lambda v: v, argnums=2)(1.0),
        }.items():
            for t in (OURS, JAX):
                with self.subTest(f"{words} {'jax' if t is JAX else 'calibrax_c'}"), self.assertRaises((TypeError, ValueError, NotImplementedError)):
                    f(t)


if __name__ == "__main__":
    tap.main()
