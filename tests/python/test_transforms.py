"""Transforms and control flow over Python functions: values, trees, argument conventions, refusals, leaks, threads.  Prints TAP.

Derivatives are checked by central differences and by each other; compare_jax.py runs the same programs under JAX.
"""

from __future__ import annotations

import dataclasses
import functools
import gc
import math
import os
import signal
import sys
import threading
import unittest
from collections import OrderedDict, defaultdict, namedtuple
from typing import Any

import tap

import calibrax_c as cx
from calibrax_c import array as xp

Point = namedtuple("Point", "x y")


@dataclasses.dataclass
class Model:
    weights: Any
    bias: Any
    name: str = dataclasses.field(default="model", metadata={"static": True})


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    a: Any
    b: Any

    def __post_init__(self) -> None:
        if isinstance(self.a, str):
            raise ValueError("a is no text")


def line() -> int:
    return sys._getframe(1).f_lineno


def close(case: unittest.TestCase, a: Any, b: Any, tolerance: float = 1e-12) -> None:
    """Trees of arrays and numbers, equal in structure and close in values."""
    la, sa = cx.tree.flatten(a)
    lb, sb = cx.tree.flatten(b)
    case.assertEqual(sa, sb)
    for x, y in zip(la, lb, strict=True):
        x, y = (xp.astype(a, xp.float64) if a.dtype == xp.bool else a for a in (xp.asarray(x), xp.asarray(y)))
        case.assertEqual(x.shape, y.shape)
        case.assertTrue(bool(xp.all(xp.abs(x - y) <= tolerance * (1 + xp.abs(y)))), f"{x} is not {y}")


def central(f, x, h: float = 1e-5):
    """Gradient of a scalar function of one array by central differences."""
    flat = [float(v) for v in xp.reshape(x, (-1,))]
    out = []
    for i in range(len(flat)):
        up, down = list(flat), list(flat)
        up[i] += h
        down[i] -= h
        out.append((float(f(xp.reshape(xp.asarray(up), x.shape))) - float(f(xp.reshape(xp.asarray(down), x.shape)))) / (2 * h))
    return xp.reshape(xp.asarray(out), x.shape)


class Trees(unittest.TestCase):
    CASES = (
        (1, [1]), (None, []), ((), []), ([], []), ({}, []), ((1, [2, {"b": 3, "a": (4, None)}]), [1, 2, 4, 3]),
        (Point(1, [2]), [1, 2]), (Model(1, (2, 3)), [1, 2, 3]), (Frozen(1, {"k": 2}), [1, 2]), ([[[]], ((),)], []), ({1: "a", 0: "b"}, ["b", "a"]),
        (OrderedDict(b=1, a=[2]), [1, 2]), (defaultdict(list, b=1, a=(2, 3)), [2, 3, 1]),
    )

    def test_round_trips(self) -> None:
        for tree, leaves in self.CASES:
            with self.subTest(tree):
                found, structure = cx.tree.flatten(tree)
                self.assertEqual(found, leaves)
                self.assertEqual(cx.tree.leaves(tree), leaves)
                self.assertEqual(structure.num_leaves, len(leaves))
                self.assertEqual(cx.tree.unflatten(structure, found), tree)
                self.assertEqual(structure, cx.tree.structure(tree))
                self.assertEqual(hash(structure), hash(cx.tree.structure(tree)))

    def test_structures_differ(self) -> None:
        structures = [cx.tree.structure(t) for t in (1, None, (), [], {}, (1,), [1], (1, 1), {"a": 1}, {"b": 1}, Point(1, 1), Model(1, 1), Model(1, 1, "other"), Frozen(1, 1))]
        self.assertEqual(len(set(structures)), len(structures))

    def test_static_fields(self) -> None:
        self.assertEqual(cx.tree.leaves(Model(1, 2, "x")), [1, 2])
        self.assertEqual(cx.tree.map(lambda v: v * 2, Model(1, 2, "x")), Model(2, 4, "x"))

    def test_a_frozen_class_is_built_without_its_checks(self) -> None:
        self.assertEqual(cx.tree.map(str, Frozen(1, 2)).a, "1")

    def test_registered(self) -> None:
        class Pair:
            def __init__(self, a, b):
                self.a, self.b = a, b

        self.assertIs(cx.tree.register(Pair, lambda p: ((p.a, p.b), "kept"), lambda kept, children: Pair(*children)), Pair)
        back = cx.tree.map(lambda v: v + 1, [Pair(1, {"x": 2})])[0]
        self.assertEqual((back.a, back.b), (2, {"x": 3}))
        with self.assertRaisesRegex(ValueError, "registered already"):
            cx.tree.register(Pair, lambda p: ((), None), lambda kept, children: None)
        with self.assertRaisesRegex(TypeError, "'nodetype' must be a class"):
            cx.tree.register(3, lambda p: ((), None), lambda kept, children: None)

        class Bad:
            pass

        cx.tree.register(Bad, lambda p: 3, lambda kept, children: None)
        with self.assertRaisesRegex(TypeError, "must return \\(children, what is kept\\)"):
            cx.tree.leaves(Bad())

    def test_map(self) -> None:
        self.assertEqual(cx.tree.map(lambda a, b: (a, b), [1, {"x": 2}], [3, {"x": (4, 5)}]), [(1, 3), {"x": (2, (4, 5))}])
        with self.assertRaisesRegex(ValueError, "the trees differ"):
            cx.tree.map(lambda a, b: a, [1, 2], [1])
        self.assertEqual(cx.tree.map(len, [(1, 2), "abc"], is_leaf=lambda v: isinstance(v, tuple)), [2, 3])

    def test_refusals(self) -> None:
        with self.assertRaisesRegex(TypeError, "keys of a dict in a tree must be sortable"):
            cx.tree.leaves({"a": 1, 2: 3})
        with self.assertRaisesRegex(ValueError, "has 2 leaves, got 1"):
            cx.tree.unflatten(cx.tree.structure((1, 2)), [1])
        deep: Any = 1
        for _ in range(100000):
            deep = [deep]
        with self.assertRaises(RecursionError):
            cx.tree.leaves(deep)
        while isinstance(deep, list):
            deep = deep[0]

    def test_repr(self) -> None:
        self.assertEqual(repr(cx.tree.structure((Point(1, None), [Model(1, 2)], {"k": ()}, (1,)))), "Structure((Point(*, None), [Model(*, *)], {'k': ()}, (*,)))")


class Derivatives(unittest.TestCase):
    def test_argnums(self) -> None:
        def f(a, b, c=1.0):
            return xp.sum(a * b["w"]) * c

        a, b = xp.asarray([1.0, 2.0]), {"w": xp.asarray([3.0, 4.0])}
        close(self, cx.grad(f)(a, b), b["w"])
        close(self, cx.grad(f, argnums=1)(a, b), {"w": a})
        close(self, cx.grad(f, argnums=(0,))(a, b), (b["w"],))
        close(self, cx.grad(f, argnums=(1, 0))(a, b), ({"w": a}, b["w"]))
        close(self, cx.grad(f, argnums=[0, 1])(a, b), (b["w"], {"w": a}))
        close(self, cx.grad(f, argnums=-1)(a, b), {"w": a})
        close(self, cx.grad(f)(a, b, c=2.0), b["w"] * 2.0)
        close(self, cx.value_and_grad(f, argnums=(0, 2))(a, b, 2.0), (xp.asarray(22.0), (b["w"] * 2.0, xp.asarray(11.0))))

    def test_auxiliary_results(self) -> None:
        def f(x):
            return xp.sum(x**2), {"n": x.shape[0], "twice": 2 * x, "none": None}

        x = xp.asarray([1.0, 2.0])
        g, aux = cx.grad(f, has_aux=True)(x)
        close(self, g, 2 * x)
        close(self, aux, {"n": 2, "twice": 2 * x, "none": None})
        (y, aux), g = cx.value_and_grad(f, has_aux=True)(x)
        close(self, (y, g), (xp.asarray(5.0), 2 * x))
        close(self, aux["twice"], 2 * x)
        for jacobian in (cx.jacfwd, cx.jacrev):
            j, aux = jacobian(lambda v: (v * v, v + 1), has_aux=True)(x)
            close(self, (j, aux), (xp.asarray([[2.0, 0.0], [0.0, 4.0]]), x + 1))
        h, aux = cx.hessian(f, has_aux=True)(x)
        close(self, (h, aux["n"]), (2 * xp.eye(2), xp.asarray(2)))
        y, back, aux = cx.vjp(lambda v: (v * v, v.shape[0]), x, has_aux=True)
        close(self, (y, back(xp.ones(2)), aux), (x * x, (2 * x,), 2))
        y, t, aux = cx.jvp(lambda v: (v * v, v + 1), (x,), (xp.ones(2),), has_aux=True)
        close(self, (y, t, aux), (x * x, 2 * x, x + 1))
        y, linear, aux = cx.linearize(lambda v: (v * v, v + 1), x, has_aux=True)
        close(self, (y, linear(xp.ones(2)), aux), (x * x, 2 * x, x + 1))

    def test_central_differences(self) -> None:
        x = xp.asarray([[0.3, 0.7], [1.1, 0.2]])
        for f in (lambda v: xp.sum(xp.sin(v) * xp.exp(v)), lambda v: xp.sum(v @ v.mT), lambda v: xp.linalg.det(v + 2 * xp.eye(2)), lambda v: xp.sum(xp.cumulative_sum(v, axis=1) ** 2),
                  lambda v: xp.max(v) + xp.prod(v), lambda v: xp.std(v), lambda v: xp.sum(v[0] * v[:, 1]), lambda v: xp.sum(xp.where(v > 0.5, v**3, v)),
                  lambda v: cx.fori_loop(0, 4, lambda i, s: xp.sin(s) + i, xp.sum(v)), lambda v: cx.scan(lambda c, r: (c * xp.sum(r), None), 1.0, v)[0],
                  lambda v: cx.cond(v[0, 0] > 0, lambda u: xp.sum(u**2), xp.sum, v)):
            with self.subTest(f):
                close(self, cx.grad(f)(x), central(f, x), 1e-7)
                close(self, cx.jit(cx.grad(cx.jit(f)))(x), cx.grad(f)(x))

    def test_trees_of_arguments(self) -> None:
        model = Model(xp.asarray([1.0, 2.0]), 0.5)

        def loss(m, x):
            return xp.sum((m.weights * x + m.bias) ** 2)

        g = cx.grad(loss)(model, xp.asarray([3.0, 4.0]))
        self.assertIsInstance(g, Model)
        close(self, g, Model(xp.asarray([21.0, 68.0]), xp.asarray(24.0)))
        self.assertEqual(cx.grad(lambda p: p.x * p.y)(Point(2.0, 3.0)), Point(3.0, 2.0))
        close(self, cx.jacrev(lambda d: {"s": d["a"] * d["b"], "t": (d["a"],)})({"a": 2.0, "b": 3.0}), {"s": {"a": xp.asarray(3.0), "b": xp.asarray(2.0)}, "t": ({"a": xp.asarray(1.0), "b": xp.asarray(0.0)},)})
        h = cx.hessian(lambda d: d["a"] ** 2 * d["b"])({"a": 2.0, "b": 3.0})
        close(self, h, {"a": {"a": xp.asarray(6.0), "b": xp.asarray(4.0)}, "b": {"a": xp.asarray(4.0), "b": xp.asarray(0.0)}})

    def test_forward_and_reverse_agree(self) -> None:
        def f(a, b):
            return xp.tanh(a @ b), xp.sum(a) * b

        a, b = xp.reshape(xp.linspace(0.0, 1.0, 6), (2, 3)), xp.asarray([0.1, -0.4, 2.0])
        ta, tb = xp.ones((2, 3)) * 0.3, xp.asarray([1.0, 2.0, -1.0])
        y, t = cx.jvp(f, (a, b), (ta, tb))
        y2, linear = cx.linearize(f, a, b)
        close(self, (y, t), (y2, linear(ta, tb)))
        y3, back = cx.vjp(f, a, b)
        close(self, y, y3)
        ct = (xp.asarray([0.5, -1.0]), xp.asarray([1.0, 0.0, 2.0]))
        da, db = back(ct)
        left = xp.sum(t[0] * ct[0]) + xp.sum(t[1] * ct[1])
        close(self, xp.sum(da * ta) + xp.sum(db * tb), left)
        close(self, back(ct), back(ct))

    def test_nesting(self) -> None:
        def f(x):
            return xp.sum(xp.sin(x) * x)

        x = xp.asarray([0.5, 1.5, -2.0])
        second = 2 * xp.cos(x) - xp.sin(x) * x
        close(self, cx.hessian(f)(x), xp.eye(3) * second)
        close(self, cx.jacfwd(cx.jacrev(f))(x), cx.jacrev(cx.jacfwd(f))(x))
        close(self, cx.vmap(cx.grad(cx.grad(lambda v: xp.sin(v) * v)))(x), second)
        close(self, cx.jit(cx.vmap(cx.jit(cx.grad(cx.jit(cx.grad(lambda v: xp.sin(v) * v))))))(x), second)
        close(self, cx.grad(lambda v: xp.sum(cx.vmap(lambda u: u**3)(v)))(x), 3 * x**2)
        close(self, cx.grad(lambda v: cx.grad(lambda u: u**2 * v)(v))(3.0), xp.asarray(12.0))

    def test_closed_over_values(self) -> None:
        k = xp.asarray([2.0, 3.0])

        def outer(x):
            return cx.grad(lambda y: xp.sum(y * x * k))(xp.ones(2)) @ x

        close(self, cx.grad(outer)(xp.asarray([1.0, 4.0])), 2 * k * xp.asarray([1.0, 4.0]))
        close(self, cx.vmap(lambda x: cx.jit(lambda y: y * x)(3.0))(xp.asarray([1.0, 2.0])), xp.asarray([3.0, 6.0]))

    def test_other_arguments_are_passed_on(self) -> None:
        def f(x, n, how="sum", table=None):
            for _ in range(n):
                x = x * x
            return getattr(xp, how)(x) * (table or {"k": 1.0})["k"]

        x = xp.asarray([2.0, 3.0])
        close(self, cx.grad(f)(x, 2, how="max"), xp.asarray([0.0, 108.0]))
        close(self, cx.jacrev(f)(x, 1, "sum", {"k": 2.0}), 4 * x)
        close(self, cx.vmap(f, in_axes=(0, None, None))(x, 1, "sum"), x * x)
        close(self, cx.grad(lambda a, g: g(a), argnums=0)(1.0, xp.cos), -xp.sin(1.0))

    def test_integers_do_not_move(self) -> None:
        def f(v, how, at):
            return xp.sum(v[at] ** how["power"]), at

        class Float0:  # as NumPy shows the tangents of jax
            dtype = "[('float0', 'V')]"

        x, how, at, t = xp.asarray([2.0, 3.0]), {"power": 2}, xp.asarray([1, 1, 0]), xp.asarray([1.0, 10.0])
        (y, places), back = cx.vjp(f, x, how, at)
        close(self, (y, places), (xp.asarray(22.0), at))
        for ct in (None, 0, xp.zeros_like(at), Float0()):
            close(self, back((1.0, ct)), (xp.asarray([4.0, 12.0]), {"power": None}, None))
        moved = (xp.asarray(124.0), xp.zeros_like(at))
        for still in (None, 0, Float0()):
            close(self, cx.jvp(f, (x, how, at), (t, {"power": still}, still)), ((y, at), moved))
            close(self, cx.linearize(f, x, how, at)[1](t, {"power": still}, still), moved)
        close(self, cx.jit(lambda v, k: cx.vjp(lambda u, i: u[i] * u[i], v, k)[1](1.0))(x, 1), (xp.asarray([0.0, 6.0]), None))
        close(self, cx.grad(lambda v: cx.vjp(lambda u, n: u**n, v, 3)[1](1.0)[0])(2.0), xp.asarray(12.0))
        self.assertEqual(cx.vjp(lambda i: i + 1, 3)[1](None), (None,))
        close(self, cx.jvp(lambda i: i + 1.5, (3,), (None,)), (xp.asarray(4.5), xp.asarray(0.0)))
        for call in (lambda: cx.jvp(f, (x, how, at), (t, {"power": 1.5}, None)), lambda: back((1.0, 0.5))):
            with self.assertRaisesRegex(TypeError, "5 is in the place of an integer or bool, which does not move: None belongs there"):
                call()

    def test_results(self) -> None:
        self.assertIsNone(cx.jit(lambda x: None)(1.0))
        close(self, cx.jit(lambda x: {"a": 1, "b": (x, True, 2j)})(1.0), {"a": 1, "b": (1.0, True, 2j)})
        self.assertEqual(cx.grad(lambda x, y: y)(xp.ones(2), 3.0).shape, (2,))

    def test_complex(self) -> None:
        z = xp.asarray(1.0 + 2.0j)
        y, t = cx.jvp(lambda v: v * v, (z,), (1.0 + 0.0j,))
        close(self, (y, t), (z * z, 2 * z))

    def test_refusals(self) -> None:
        x = xp.ones(3)
        for call, kind, words in (
            (lambda: cx.grad(lambda v: v)(x), ValueError, "needs a real scalar result"),
            (lambda: cx.grad(lambda v: (v, v))(1.0), TypeError, r"must return one real scalar, not \(\*, \*\)"),
            (lambda: cx.grad(lambda v: v)(1), TypeError, r"grad: argument 0 of '<lambda>' is int: derive in float"),
            (lambda: cx.grad(lambda v: xp.sum(v))(xp.arange(3)), TypeError, "is int64: derive in float"),
            (lambda: cx.grad(lambda v: 1)(1.0), TypeError, "needs a real scalar result"),
            (lambda: cx.grad(lambda v: v, argnums=1)(1.0), ValueError, "argnums names argument 1, and 1 were given"),
            (lambda: cx.grad(lambda v: v["a"])({"a": "text"}), TypeError, r"argument 0\['a'\] of '<lambda>' is 'text'"),
            (lambda: cx.grad(lambda v: "text")(1.0), TypeError, "'<lambda>' returned 'text'"),
            (lambda: cx.grad(lambda v: v, has_aux=True)(1.0), TypeError, r"must return \(result, aux\)"),
            (lambda: cx.grad(3), TypeError, "'fun' must be callable"),
            (lambda: cx.jvp(xp.sin, 1.0, (1.0,)), TypeError, "'primals' must be a tuple or list"),
            (lambda: cx.jvp(xp.sin, (1.0,), (1.0, 2.0)), TypeError, "tangents must be as"),
            (lambda: cx.jvp(xp.sin, (x,), (xp.ones(2),)), ValueError, "tangent 0 of 'jvp"),
            (lambda: cx.vjp(xp.sin, x)[1](xp.ones(2)), ValueError, "cotangent"),
            (lambda: cx.vjp(lambda v: (v, v), x)[1](x), TypeError, r"the cotangents must be as \(\*, \*\)"),
            (lambda: cx.jacrev(lambda v: xp.argmax(v))(x), TypeError, "has no derivative"),
        ):
            with self.subTest(words), self.assertRaisesRegex(kind, words):
                call()


class Batches(unittest.TestCase):
    def test_axes(self) -> None:
        a, b = xp.reshape(xp.arange(6, dtype=xp.float64), (2, 3)), xp.asarray([1.0, 10.0])
        close(self, cx.vmap(lambda x, y: x * y)(a, b), a * b[:, None])
        close(self, cx.vmap(lambda x, y: x * y, in_axes=(1, None))(a, b), (a * b[:, None]).mT)
        close(self, cx.vmap(lambda x, y: x * y, in_axes=[-1, None], out_axes=1)(a, b), a * b[:, None])
        close(self, cx.vmap(lambda d: d["x"] + d["y"], in_axes=({"x": 0, "y": None},))({"x": a, "y": 2.0}), a + 2)
        close(self, cx.vmap(lambda t: t[0] + t[1], in_axes=((0, None),))((a, 1.0)), a + 1)
        close(self, cx.vmap(lambda x: (x, 5.0), out_axes=(0, None))(b), (b, xp.asarray(5.0)))
        close(self, cx.vmap(lambda x, k: x + k)(b, k=b), 2 * b)
        close(self, cx.vmap(lambda: 3.0, axis_size=2)(), xp.asarray([3.0, 3.0]))
        close(self, cx.vmap(cx.vmap(lambda x, y: x * y, in_axes=(0, None)), in_axes=(None, 0))(b, b), b[:, None] * b)

    def test_refusals(self) -> None:
        a, b = xp.ones((2, 3)), xp.ones(3)
        for call, kind, words in (
            (lambda: cx.vmap(lambda x, y: x)(a, b), ValueError, "argument 1 of '<lambda>' has 3 elements, and others have 2"),
            (lambda: cx.vmap(lambda x: x)(1.0), ValueError, r"has the shape \(\): there is no axis 0 to map"),
            (lambda: cx.vmap(lambda x: x, in_axes=2)(a), ValueError, "there is no axis 2 to map"),
            (lambda: cx.vmap(lambda x: x, in_axes=None)(a), ValueError, "maps no argument"),
            (lambda: cx.vmap(lambda x: x, in_axes=(0, 0))(a), ValueError, "in_axes has 2 entries, and 1 arguments were given"),
            (lambda: cx.vmap(lambda x: x, in_axes=("a",))(a), ValueError, "in_axes must be an integer, None or a tree"),
            (lambda: cx.vmap(lambda x: x, out_axes=(0, 0))(a), ValueError, "out_axes must be an integer"),
            (lambda: cx.vmap(lambda x: x, out_axes=None)(a), ValueError, "differs over the batch"),
            (lambda: cx.vmap(lambda x: x, out_axes=3)(a), ValueError, "puts the batch on axis 3"),
        ):
            with self.subTest(words), self.assertRaisesRegex(kind, words):
                call()


class Control(unittest.TestCase):
    def test_scan(self) -> None:
        xs = {"a": xp.asarray([1.0, 2.0, 3.0]), "b": xp.asarray([1, 2, 3])}
        carry, ys = cx.scan(lambda c, x: ({"s": c["s"] + x["a"]}, (c["s"], x["b"] * 2)), {"s": 0.0}, xs)
        close(self, (carry, ys), ({"s": xp.asarray(6.0)}, (xp.asarray([0.0, 1.0, 3.0]), xp.asarray([2, 4, 6]))))
        close(self, cx.scan(lambda c, x: (c + 1, None), 0, None, length=4), (xp.asarray(4), None))
        close(self, cx.scan(lambda c, x: (c * 2 + x, c), 0.0, xs["a"], reverse=True), (xp.asarray(17.0), xp.asarray([8.0, 3.0, 0.0])))

    def test_less_memory_in_reverse_mode(self) -> None:
        xs = xp.linspace(0.1, 1.0, 30)

        def f(x, every):
            return xp.sum(cx.scan(lambda c, r: (xp.sin(c * r) + x, c * x), x, xs, save_every=every, unroll=2)[1])

        for every in (1, 7, 30, 100, "sqrt"):
            close(self, (f(0.7, every), cx.grad(f)(0.7, every)), (f(0.7, None), cx.grad(f)(0.7, None)))
        for every in (0, -1, 1.5, "all", True):
            with self.assertRaisesRegex(ValueError, "'save_every' must be at least 1 or 'sqrt'"):
                f(0.7, every)

    def test_a_number_takes_the_dtype_that_the_body_gives(self) -> None:
        x = xp.asarray([1.0, 2.0], dtype=xp.float32)
        for value in (cx.scan(lambda c, r: (c + r, None), 0.0, x)[0], cx.fori_loop(0, 2, lambda i, c: c + x[0], 0.0), cx.while_loop(lambda c: c < 3, lambda c: c + x[0], 0),
                      cx.cond(True, lambda: x[0], lambda: 0.0), cx.cond(False, lambda: x[0], lambda: 0.0)):
            self.assertEqual(value.dtype, xp.float32)
        self.assertEqual(cx.scan(lambda c, r: (0, c), x[0], x)[0].dtype, xp.float32)

    def test_loops(self) -> None:
        close(self, cx.fori_loop(0, 4, lambda i, c: c + i, 0), 6)
        close(self, cx.fori_loop(3, 0, lambda i, c: c + i, 5.0), 5.0)
        close(self, cx.fori_loop(xp.asarray(1), xp.asarray(4), lambda i, c: (c[0] + i, c[1] * 2), (0, 1)), (6, 8))
        close(self, cx.jit(lambda n: cx.fori_loop(0, n, lambda i, c: c + i, 0))(5), 10)
        close(self, cx.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * 2.0), (0, 1.0)), (5, 32.0))
        close(self, cx.grad(lambda a: cx.while_loop(lambda c: c < 5, lambda c: c + cx.stop_gradient(a), 0.0) * a)(2.0), 6.0)

    def test_branches(self) -> None:
        for p in (True, False, xp.asarray(True), xp.asarray(0.0), 1):
            with self.subTest(p):
                close(self, cx.cond(p, lambda x: x + 1, lambda x: x - 1, 5.0), 6.0 if p else 4.0)
        for i, wanted in ((0, 0.0), (1, 1.0), (7, 1.0), (-3, 0.0)):
            close(self, cx.switch(i, [xp.sin, xp.exp], 0.0), wanted)
        close(self, cx.cond(True, lambda a, b: {"s": a}, lambda a, b: {"s": b}, 1.0, 2.0), {"s": 1.0})

    def test_refusals(self) -> None:
        x = xp.ones(3)
        for call, kind, words in (
            (lambda: cx.scan(lambda c, r: c, 0.0, x), TypeError, r"must return \(carry, y\)"),
            (lambda: cx.scan(lambda c, r: ((c, c), r), 0.0, x), TypeError, r"must return a carry as \*, got \(\*, \*\)"),
            (lambda: cx.scan(lambda c, r: (xp.stack([c, c]), r), xp.asarray(0.0), x), ValueError, "dtype and shape must not change"),
            (lambda: cx.scan(lambda c, r: (c, r), 0.0, (x, xp.ones(2))), ValueError, r"xs\[1\] has 2 rows, and there are 3 steps"),
            (lambda: cx.scan(lambda c, r: (c, r), 0.0, 1.0), ValueError, "is a scalar"),
            (lambda: cx.scan(lambda c, r: (c, r), 0.0), ValueError, "'length' must be given"),
            (lambda: cx.scan(lambda c, r: (c, r), "a", x), TypeError, "init has the leaf 'a'"),
            (lambda: cx.while_loop(lambda c: (c, c), lambda c: c, 0.0), TypeError, "must return a scalar"),
            (lambda: cx.while_loop(lambda c: c > 0, lambda c: c, x), ValueError, "it must return a scalar"),
            (lambda: cx.while_loop(lambda c: c < 5, lambda c: None, 0.0), TypeError, "must return a carry as"),
            (lambda: cx.fori_loop(0.5, 2, lambda i, c: c, 0.0), TypeError, "fori_loop: 'lower' must be an integer, got 0.5"),
            (lambda: cx.scan(lambda c, r: (c, r), 0.0, length=2.5), TypeError, "scan: 'length' must be an integer, got 2.5"),
            (lambda: cx.grad(xp.sin, argnums=1.5)(0.0), TypeError, "grad: 'argnums' must be an integer, got 1.5"),
            (lambda: cx.custom_vjp(xp.sin, nondiff_argnums=("x",)), TypeError, "custom_vjp: 'nondiff_argnums' must be an integer, got 'x'"),
            (lambda: cx.vmap(lambda r, i: r[i])(xp.ones((3, 4)), xp.asarray([0, 1, 30])), IndexError, "an index of 'take' is outside its axis"),
            (lambda: cx.cond(x, xp.sin, xp.cos, 0.0), TypeError, r"'pred' must be a scalar, got an array of shape \(3,\)"),
            (lambda: cx.cond(True, lambda: 1.0, lambda: (1.0, 2.0)), TypeError, "branches must agree"),
            (lambda: cx.cond(True, lambda: x, lambda: xp.ones(2)), ValueError, "branches must agree"),
            (lambda: cx.switch(0, [], 0.0), ValueError, "at least one branch"),
            (lambda: cx.switch(0.5, [xp.sin], 0.0), TypeError, "switch: 'index' must be an integer, got 0.5"),
            (lambda: cx.grad(lambda v: cx.while_loop(lambda c: c < 5, lambda c: c * 2, v))(1.0), NotImplementedError, "while"),
        ):
            with self.subTest(words), self.assertRaisesRegex(kind, words):
                call()


class Tracing(unittest.TestCase):
    def test_values_are_needed(self) -> None:
        """Each names the operation and the line."""
        cases = {
            "bool\\(\\)": lambda x: 1.0 if x > 0 else x, "float\\(\\)": float, "int\\(\\)": int, "item\\(\\)": lambda x: x.item(), "complex\\(\\)": complex,
            "use as an index": lambda x: [1, 2][x.astype(xp.int64)], "tolist\\(\\)": lambda x: x.tolist(), "a format": lambda x: f"{x:.2f}", "a buffer or NumPy array": memoryview,
            "__dlpack__": lambda x: x.__dlpack__(), "a pickle": lambda x: x.__reduce__(), "use as a mask": lambda x: xp.ones(3)[x > 0],
        }
        for words, f in cases.items():
            for transform in (cx.jit, cx.grad):

                def user(x, f=f):
                    return f(x)

                with self.subTest(words), self.assertRaisesRegex(cx.ConcretizationError, f"^{words}.* of a traced .*test_transforms.py:[0-9]+: .*static_argnums") as caught:
                    transform(user)(2.0)
                self.assertIsInstance(caught.exception, TypeError)

    def test_the_line_is_the_users(self) -> None:
        where = []

        def f(x):
            where.append(line() + 1)
            return 1.0 if x > 0 else x

        with self.assertRaises(cx.ConcretizationError) as caught:
            cx.grad(f)(1.0)
        self.assertIn(f"{__file__}:{where[0]}:", str(caught.exception))

    def test_range_and_iteration(self) -> None:
        with self.assertRaisesRegex(cx.ConcretizationError, "use as an index or a length"):
            cx.jit(lambda n: sum(range(n)))(3)
        close(self, cx.jit(lambda v: sum(x * i for i, x in enumerate(v)))(xp.asarray([1.0, 2.0, 3.0])), 8.0)  # its length is known
        with self.assertRaisesRegex(TypeError, "rank 0 has no length"):
            cx.jit(lambda v: list(v))(1.0)

    def test_shapes_that_depend_on_data(self) -> None:
        for f in (xp.nonzero, xp.unique_values, lambda x: x[x > 0], lambda x: xp.arange(3)[x > 1]):
            with self.assertRaisesRegex((ValueError, TypeError), "data"):
                cx.jit(f)(xp.asarray([1.0, 0.0, 2.0]))

    def test_exceptions_pass_unchanged(self) -> None:
        class Own(Exception):
            pass

        error = Own("as it is")

        def f(x):
            raise error

        for transform in (cx.jit, cx.grad, cx.vmap, cx.jacfwd, cx.hessian, lambda g: lambda x: cx.scan(lambda c, r: g(r), 0.0, x), lambda g: lambda x: cx.while_loop(g, g, x), lambda g: lambda x: cx.cond(True, g, g, x)):
            with self.assertRaises(Own) as caught:
                transform(f)(xp.ones(2))
            self.assertIs(caught.exception, error)
            close(self, cx.grad(lambda x: x * x)(3.0), 6.0)  # no trace is left open
        self.assertEqual(float(xp.zeros(())), 0.0)

    def test_what_escapes(self) -> None:
        left = []

        def f(x):
            left.append(x * 2)
            return x

        cx.jit(f)(1.0)
        with self.assertRaisesRegex(ValueError, "that trace has ended: return it from the function"):
            left[0] + 1
        with self.assertRaisesRegex(cx.ConcretizationError, "that trace has ended: return it from the function"):
            float(left[0])
        with self.assertRaisesRegex(ValueError, "that trace has ended"):
            cx.jit(lambda x: x + left[0])(1.0)
        with self.assertRaisesRegex(ValueError, "that trace has ended"):
            cx.jit(lambda x: left[0])(1.0)
        self.assertEqual(repr(left[0]), "Array(float64 (), traced)")
        self.assertEqual((left[0].shape, left[0].dtype), ((), xp.float64))

    def test_made_of_nothing_and_of_numbers(self) -> None:
        close(self, cx.jit(lambda x: xp.zeros(2) + x + xp.asarray([1.0, 2.0]) + xp.sin(0.0))(1.0), xp.asarray([2.0, 3.0]))
        close(self, cx.jit(lambda x: xp.asarray([x, 2 * x]))(1.0), xp.asarray([1.0, 2.0]))
        close(self, cx.jit(lambda x: xp.asarray(((x, 1), (2, x))))(3.0), xp.asarray([[3.0, 1.0], [2.0, 3.0]]))
        close(self, cx.jit(lambda x: xp.random.permutation(1, 3) * x)(1), xp.random.permutation(1, 3))
        close(self, cx.grad(lambda x: xp.asarray([x, x * x]) @ xp.asarray([1.0, 1.0]))(3.0), 7.0)

    def test_keys(self) -> None:
        x = xp.reshape(xp.arange(6, dtype=xp.float64), (2, 3))
        i = xp.asarray(1)
        for f in (lambda a: a[0], lambda a: a[..., 1], lambda a: a[:, ::-1], lambda a: a[None], lambda a: a[xp.asarray([1, 0])], lambda a: a[i], lambda a: a[1, i]):
            close(self, cx.jit(f)(x), f(x))
        close(self, cx.jit(lambda a, k: a[k])(x, 1), x[1])
        close(self, cx.jit(lambda a, k: a[:, k])(x, xp.asarray([2, 0])), x[:, xp.asarray([2, 0])])

    def test_assignment(self) -> None:
        def f(x):
            y = xp.zeros(3)
            y[1] = x
            y[0] = x * x
            z = xp.asarray(x * xp.ones(3), copy=True)
            z[xp.asarray([0, 2])] = 5.0
            return xp.sum(y * z)

        close(self, (f(3.0), cx.jit(f)(3.0), cx.grad(f)(3.0)), (5 * 9.0 + 9.0, 54.0, 10 * 3.0 + 2 * 3.0))

        def masked(x):
            y = x * 1.0
            y[x > 1.0] = 0.5
            y[x < 0.0] = xp.sum(x)
            z = xp.zeros((3, 2)) + x[:, None]
            z[x > 1.0] = 2
            return xp.sum(y * y) + xp.sum(z**3)

        x = xp.asarray([-0.5, 0.25, 3.0])
        close(self, (masked(x), cx.jit(masked)(x)), (0.25 + 0.0625 + 2.75**2 + 2 * (8 + 0.25**3 - 0.125),) * 2)
        close(self, cx.grad(masked)(x), central(masked, x), 1e-7)
        with self.assertRaisesRegex(TypeError, "cannot be assigned to int64"):
            cx.jit(lambda v: v.__setitem__(v > 1, 0.5))(xp.arange(3))

        def keeps(x):
            x[0] = 7.0
            return x

        x = xp.ones(2)
        close(self, cx.jit(keeps)(x), xp.asarray([7.0, 1.0]))
        close(self, x, xp.ones(2))  # the caller's array is not the traced one

    def test_numbers_are_weak(self) -> None:
        x = xp.ones(2, dtype=xp.float32)
        for f in (lambda a, s: a * s, lambda a, s: s - a, lambda a, s: a * xp.exp(s), lambda a, s: a + (s * 2 + 1) / 3, lambda a, s: xp.add(a, s), lambda a, s: a * -s, lambda a, s: xp.maximum(a, s)):
            self.assertEqual(cx.jit(f)(x, 0.5).dtype, xp.float32)
        self.assertEqual(cx.jit(lambda a, s: a * s)(x, xp.asarray(0.5)).dtype, xp.float64)
        self.assertEqual(cx.jit(lambda a, n: a + n)(xp.ones(2, dtype=xp.int8), 3).dtype, xp.int8)
        self.assertEqual(cx.jit(lambda a, n: a + n)(xp.ones(2, dtype=xp.int8), 3.0).dtype, xp.float64)
        self.assertEqual(cx.jit(lambda s: s)(0.5).dtype, xp.float64)

    def test_dump(self) -> None:
        self.assertIn("cos %0", cx.dump(cx.grad(xp.sin), 1.0))
        self.assertIn("scan", cx.jit(lambda x: cx.scan(lambda c, r: (c + r, c), 0.0, x)).dump(xp.ones(3)))

    def test_stages(self) -> None:
        f = cx.jit(lambda x: xp.sum(x * x + 1.0))
        self.assertEqual(f.dump(xp.ones(3)), cx.dump(f, xp.ones(3), stage="graph"))
        if xp.backend() == "reference":
            with self.assertRaises(NotImplementedError):
                f.dump(xp.ones(3), stage="fused")
        else:
            self.assertIn("kernel over (3", f.dump(xp.ones(3), stage="fused"))
            self.assertIn("mul", f.dump(xp.ones(3), stage="kernels"))
            self.assertIn("multiply", f.dump(xp.ones(3), stage="simplified"))
        with self.assertRaisesRegex(ValueError, "'stage' must be one of"):
            cx.dump(f, 1.0, stage="soup")

    def test_interrupt_while_tracing(self) -> None:
        def f(x):
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000000):
                x = x + 1
            return x

        with self.assertRaises(KeyboardInterrupt):
            cx.jit(f)(1.0)
        close(self, cx.grad(lambda x: x * x)(3.0), 6.0)

    def test_interrupt_of_a_loop(self) -> None:
        forever = cx.jit(lambda x: cx.while_loop(lambda c: c >= 0, lambda c: c * 0.5, x))
        for call in (lambda: forever(1.0), lambda: forever(1.0), lambda: cx.while_loop(lambda c: c >= 0, lambda c: c * 0.5, 1.0)):
            timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
            timer.start()
            with self.assertRaises(KeyboardInterrupt):
                call()

    def test_threads(self) -> None:
        wrong = []
        f = cx.jit(lambda x: cx.grad(lambda y: xp.sum(xp.sin(y) * x))(x))

        def work(k: int) -> None:
            for i in range(60):
                x = xp.asarray([float(k), float(i), 1.0])
                for g in (f, cx.jit(lambda v: v * xp.cos(v)), lambda v: cx.grad(lambda y: xp.sum(xp.sin(y) * v))(v)):
                    if not bool(xp.all(xp.abs(g(x) - x * xp.cos(x)) < 1e-12)):
                        wrong.append((k, i))

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def test_a_traced_array_in_another_thread(self) -> None:
        caught = []

        def f(x):
            def other() -> None:
                try:
                    x + 1
                except ValueError as e:
                    caught.append(str(e))

            t = threading.Thread(target=other)
            t.start()
            t.join()
            return x

        cx.jit(f)(1.0)
        self.assertRegex(caught[0], "that trace has ended")


class Leaks(unittest.TestCase):
    def live(self) -> int:
        gc.collect()
        return xp.memory()["in_use_bytes"]

    def test_memory(self) -> None:
        x = xp.ones(5000)

        def fails(v):
            y = v * 2
            raise ValueError(str(y.shape))

        def all_of_it() -> None:
            tree = {"a": x, "b": (x, None)}
            f = cx.jit(lambda t: cx.tree.map(lambda v: v * 2, t))
            f(tree)
            f(tree)
            cx.jit(cx.grad(lambda v: xp.sum(v**2)))(x)
            cx.vmap(lambda v: v * x)(xp.ones((2, 1)))
            cx.vjp(lambda v: v * x, x)[1](x)
            cx.linearize(lambda v: v * x, x)[1](x)
            cx.scan(lambda c, r: (c + r * x, None), x, xp.ones(3))
            cx.cond(True, lambda v: v + x, lambda v: v, x)
            own = cx.custom_vjp(lambda v: xp.sum(v * v))
            own.defvjp(lambda v: (own(v), (v, {"k": v})), lambda kept, ct: (ct * kept[0],))
            cx.grad(own)(x)
            cx.jit(cx.grad(own))(x)
            own.defvjp(lambda v: (own(v), v), lambda kept, ct: fails(kept))
            for g in (cx.jit(fails), cx.grad(fails), cx.grad(own), lambda v: cx.scan(lambda c, r: fails(c), v, v), lambda v: cx.grad(lambda u: xp.sum(u) + xp.sum(xp.ones(3)))(xp.ones((2, 2))[5])):
                try:
                    g(x)
                except (ValueError, IndexError):
                    pass

        for _ in range(20):
            all_of_it()
        before, references = self.live(), sys.getrefcount(x)
        growth = []
        while not growth or (growth[-1] >= 60 and len(growth) < 20):  # the interpreter's free lists fill up at first
            gc.collect()
            blocks = sys.getallocatedblocks()
            for _ in range(60):
                all_of_it()
            gc.collect()
            growth.append(sys.getallocatedblocks() - blocks)
        self.assertEqual(sys.getrefcount(x), references)
        self.assertLessEqual(self.live() - before, 1 << 16)
        self.assertLess(growth[-1], 60, f"objects that 60 rounds leave, in turn: {growth}")

    def test_a_function_and_its_cache_end(self) -> None:
        import weakref

        def f(x):
            return x + 1

        g = cx.jit(f)
        g(xp.ones(3))
        g.myself = g
        gone = weakref.ref(g)
        del g, f
        gc.collect()
        self.assertIsNone(gone())


if __name__ == "__main__":
    tap.main()
