"""Compiled functions: what is traced once, static arguments, the cache, decorators, speed of a call; rules of the user; the backend object.  Prints TAP."""

from __future__ import annotations

import ctypes
import functools
import gc
import inspect
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import timeit
import unittest
from typing import Any

import tap
from test_transforms import Model, Point, central, close

import calibrax_c as cx
from calibrax_c import array as xp


class Counted:
    """A function that counts how often it is traced."""

    def __init__(self, f) -> None:
        self.f, self.n = f, 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.n += 1
        return self.f(*args, **kwargs)


class Cache(unittest.TestCase):
    def test_traced_once_for_each_kind_of_call(self) -> None:
        count = Counted(lambda x, y: x * y)
        f = cx.jit(count)
        a, b = xp.ones(3), xp.ones(3, dtype=xp.float32)
        for traces, args in ((1, (a, a)), (1, (a, a * 2)), (2, (a, 2.0)), (2, (a, 3.5)), (3, (a, 2)), (4, (a, True)), (5, (a, 1j)), (6, (b, a)), (6, (b, a)), (7, (xp.ones((3, 1)), a)),
                             (7, (a, a)), (8, (xp.asarray(1.0), a)), (9, (2.0, 2.0)), (10, (a[:0], 2.0)), (11, (xp.arange(3), 2)), (11, (xp.arange(3), 5))):
            close(self, f(*args), args[0] * args[1] if not all(isinstance(v, float) for v in args) else xp.asarray(args[0] * args[1]))
            self.assertEqual(count.n, traces, args)
        f.clear_cache()
        f(a, a)
        self.assertEqual(count.n, 12)

    def test_trees_and_keywords(self) -> None:
        count = Counted(lambda *args, **kwargs: sum(cx.tree.leaves((args, kwargs))))
        f = cx.jit(count)
        for traces, args, kwargs in ((1, (1.0, (2.0, None)), {}), (1, (1.5, (2.5, None)), {}), (2, (1.0, [2.0, None]), {}), (3, (), {"a": 1.0, "b": 2.0}), (3, (), {"b": 1.0, "a": 2.0}),
                                     (4, (Point(1.0, 2.0),), {}), (5, (Model(1.0, 2.0),), {}), (6, (Model(1.0, 2.0, "other"),), {}), (6, (Model(3.0, 2.0, "other"),), {}), (7, (None, 1.0), {})):
            f(*args, **kwargs)
            self.assertEqual(count.n, traces, (args, kwargs))

    def test_many_kinds(self) -> None:
        f = cx.jit(lambda x: x + 1)
        for k in range(200):
            self.assertEqual(f(xp.ones(k)).shape, (k,))
        for k in range(200):
            self.assertEqual(f(xp.ones(k)).shape, (k,))

    def test_large_numbers(self) -> None:
        f = cx.jit(lambda n: n)
        for n, dtype in ((1, xp.int64), (2**63, xp.uint64), (2, xp.int64), (2**63 + 1, xp.uint64), (-(2**63), xp.int64)):
            self.assertEqual((int(f(n)), f(n).dtype), (n, dtype))
        with self.assertRaisesRegex(OverflowError, "more than 64 bits"):
            f(2**64)

    def test_foreign_arrays(self) -> None:
        import array

        with self.assertRaisesRegex(TypeError, "argument 0 of '<lambda>' is array"):
            cx.jit(lambda x: x * 2)(array.array("d", [1.0]))

    def test_many_arguments_and_results(self) -> None:
        f = cx.jit(lambda *x: x[::-1])
        args = [xp.asarray(float(i)) for i in range(40)]
        for _ in range(2):
            self.assertEqual([float(v) for v in f(*args)], [float(v) for v in args[::-1]])

    def test_long_arrays(self) -> None:
        f = cx.jit(lambda x, y: x * y + 1)
        x = xp.linspace(0.0, 1.0, 300000)
        for _ in range(3):
            close(self, f(x, x), x * x + 1)

    def test_captured_arrays_are_not_kept(self) -> None:
        inner = cx.jit(lambda y: y * 2)
        count = Counted(lambda x: inner(x) + 1)
        close(self, cx.vmap(count)(xp.asarray([1.0, 2.0])), xp.asarray([3.0, 5.0]))
        k = []

        @cx.jit
        def reads(y):
            return y * k[0]

        for v in (2.0, 3.0):
            close(self, cx.grad(lambda x, v=v: (k.clear(), k.append(x * v), reads(x))[2])(1.0), 2 * v)

    def test_recursion(self) -> None:
        @functools.partial(cx.jit, static_argnums=1)
        def power(x, n):
            return x if n == 1 else x * power(x, n - 1)

        close(self, power(2.0, 10), 1024.0)

    def test_threads_share_a_function(self) -> None:
        count = Counted(lambda x: x * 2)
        f = cx.jit(count)
        wrong = []

        def work(k: int) -> None:
            for i in range(300):
                x = xp.full((i % 7 + 1,), float(k))
                if float(xp.sum(f(x))) != 2.0 * k * x.shape[0]:
                    wrong.append((k, i))

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])


class Static(unittest.TestCase):
    def test_values(self) -> None:
        count = Counted(lambda x, n, mode="add": x + n if mode == "add" else x * n)
        count.__signature__ = inspect.signature(count.f)
        f = cx.jit(count, static_argnums=(1,), static_argnames="mode")
        for traces, args, kwargs, wanted in ((1, (2.0, 3), {}, 5.0), (1, (4.0, 3), {}, 7.0), (2, (2.0, 4), {}, 6.0), (3, (2.0, 3), {"mode": "mul"}, 6.0), (3, (3.0, 3), {"mode": "mul"}, 9.0),
                                             (4, (2.0, 3.0), {}, 5.0), (5, (2.0, True), {}, 3.0), (6, (2.0, 1), {}, 3.0)):
            close(self, f(*args, **kwargs), wanted)
            self.assertEqual(count.n, traces, (args, kwargs))

    def test_by_name_and_by_position(self) -> None:
        def f(x, n, m=1):
            self.assertIsInstance(n, int)
            return x * n * m

        close(self, cx.jit(f, static_argnames="n")(2.0, 3), 6.0)
        close(self, cx.jit(f, static_argnames="n")(2.0, n=3), 6.0)
        close(self, cx.jit(f, static_argnums=1)(2.0, n=3), 6.0)
        close(self, cx.jit(f, static_argnums=-2, static_argnames=["n"])(2.0, 3, 2), 12.0)
        close(self, cx.jit(f, static_argnums=[1, 2])(2.0, 3, 4), 24.0)

    def test_functions_and_equal_objects(self) -> None:
        class Key:
            def __init__(self, v):
                self.v = v

            def __eq__(self, other):
                return self.v == other.v

            def __hash__(self):
                return hash(self.v)

        count = Counted(lambda x, k: x * k.v)
        f = cx.jit(count, static_argnums=1)
        for _ in range(3):
            close(self, f(2.0, Key(3)), 6.0)
        self.assertEqual(count.n, 1)
        close(self, cx.jit(lambda g, x: g(x), static_argnums=0)(xp.sin, 0.0), 0.0)

    def test_a_comparison_that_clears_the_cache(self) -> None:
        class Odd:
            def __eq__(self, other):
                f.clear_cache()
                return True

            def __hash__(self):
                return 1

        class Raises(Odd):
            def __eq__(self, other):
                raise KeyError("compared")

            __hash__ = Odd.__hash__

        f = cx.jit(lambda x, k: x * 2, static_argnums=1)
        for _ in range(5):
            close(self, f(3.0, Odd()), 6.0)
        g = cx.jit(lambda x, k: x * 2, static_argnums=1)
        g(3.0, Raises())
        with self.assertRaisesRegex(KeyError, "compared"):
            g(3.0, Raises())

    def test_keywords_in_any_order(self) -> None:
        count = Counted(lambda a, b, c=1.0, n=2: a - b * c * n)
        count.__signature__ = inspect.signature(count.f)
        f = cx.jit(count, static_argnames="n")
        for _ in range(3):
            close(self, (f(1.0, b=2.0, c=3.0, n=4), f(1.0, n=4, c=3.0, b=2.0), f(1.0, **{"c": 3.0, "b": 2.0, "n": 4})), (-23.0,) * 3)
        self.assertEqual(count.n, 1)

    def test_refusals(self) -> None:
        for call, kind, words in (
            (lambda: cx.jit(lambda x, n: x, static_argnums=1)(1.0, [2]), ValueError, r"static argument 1 of '<lambda>' is \[2\], a list, which has no hash"),
            (lambda: cx.jit(lambda x: x, static_argnums=1), ValueError, "static_argnums names argument 1, and '<lambda>' takes 1"),
            (lambda: cx.jit(lambda x: x, static_argnames="n"), ValueError, "static_argnames names 'n', and '<lambda>' has no such parameter"),
            (lambda: cx.jit(lambda x: x, static_argnums="n"), TypeError, "'static_argnums' must be integers"),
            (lambda: cx.jit(lambda x: x, static_argnames=1), TypeError, ""),
            (lambda: cx.jit(3), TypeError, "'fun' must be callable"),
            (lambda: cx.jit(lambda x: x)("text"), TypeError, r"argument 0 of '<lambda>' is 'text': it must be an array, a number or a tree of them, or static"),
            (lambda: cx.jit(lambda x: x)({"a": [xp.ones(2), xp]}), TypeError, r"argument 0\['a'\]\[1\] of '<lambda>' is <module"),
            (lambda: cx.jit(lambda x: x)(), TypeError, "missing 1 required positional argument"),
            (lambda: cx.jit(lambda x: x, unknown=1), TypeError, "unexpected keyword argument 'unknown'"),
        ):
            with self.subTest(words), self.assertRaisesRegex(kind, words):
                call()

    def test_donated_arrays(self) -> None:
        for n in (3, 1000, 1 << 17):  # behind the handle, in a block, without the interpreter's lock
            f = cx.jit(lambda x, y: 2 * x + y, donate_argnums=0)
            for _ in range(3):  # recorded; remembered
                x, y = xp.ones(n), xp.ones(n)
                close(self, f(x, y), xp.full(n, 3.0))
                close(self, y, xp.ones(n))
                self.assertEqual(repr(x), f"Array(float64 ({n},), donated)")
                for use, words in ((lambda: x + 1, "'add' of an array of float64 .* was donated to a compiled function: copy it before"), (lambda: float(x[0]), "was donated|donated float64"), (lambda: x.tolist(), "donated float64 .* a call of a compiled function took its elements"), (lambda: f(x, y), "was donated"), (lambda: xp.nonzero(x), "was donated"), (lambda: x.__dlpack__(), "donated float64"), (lambda: memoryview(x), "donated float64")):
                    with self.subTest(words), self.assertRaisesRegex((ValueError, BufferError), words):
                        use()

    def test_shared_arrays_stay(self) -> None:
        f = cx.jit(lambda x, y: x + y, donate_argnames="x")
        for _ in range(2):
            x = xp.ones(500)
            view = x[10:]
            close(self, f(x, xp.ones(500)), xp.full(500, 2.0))  # the view shows its elements
            close(self, (x, view), (xp.ones(500), xp.ones(490)))
            close(self, f(view, xp.ones(490)), xp.full(490, 2.0))
            close(self, x, xp.ones(500))
            y = xp.ones(500)
            close(self, f(y, y), xp.full(500, 2.0))  # passed twice
            close(self, y, xp.ones(500))
            close(self, f(x=2.0, y=y), xp.full(500, 3.0))

    def test_donated_trees(self) -> None:
        f = cx.jit(lambda n, state, x: ({"a": n * state["a"] + x, "b": state["b"]}, xp.sum(x)), static_argnums=0, donate_argnums=1)
        state, x = {"a": xp.ones(400), "b": xp.zeros(400)}, xp.ones(400)
        for _ in range(4):
            old = state
            state, total = f(2, state, x)
            self.assertEqual([repr(v) for v in old.values()], ["Array(float64 (400,), donated)"] * 2)
        close(self, (state["a"], state["b"], total), (xp.full(400, 31.0), xp.zeros(400), 400.0))
        for bad, kind, words in (
            ({"donate_argnums": 3}, ValueError, "donate_argnums names argument 3, and '<lambda>' takes 1"),
            ({"donate_argnames": "y"}, ValueError, "donate_argnames names 'y'"),
            ({"donate_argnums": "x"}, TypeError, "'donate_argnums' must be integers"),
            ({"donate_argnums": 0, "static_argnums": 0}, ValueError, "both static and donated"),
        ):
            with self.subTest(words), self.assertRaisesRegex(kind, words):
                cx.jit(lambda x: x, **bad)

    def test_donation_inside_of_a_trace(self) -> None:
        inner = cx.jit(lambda x: xp.sum(x * x), donate_argnums=0)
        x = xp.ones(300)
        close(self, (cx.grad(inner)(x), cx.jit(lambda x: inner(x) + x[0])(x)), (xp.full(300, 2.0), 301.0))
        close(self, x, xp.ones(300))

    def test_cost(self) -> None:
        f = cx.jit(lambda x, n: xp.sum(xp.exp(x * x)) * n, static_argnums=1)
        for called in (False, True):
            c = f.cost(xp.ones(1000), 3)
            self.assertEqual((c["total"]["transcendental"], c["total"]["bytes_read"], c["kernels"]), (1000, 8008, 2))
            self.assertEqual(c["unfused"]["bytes_read"] - c["total"]["bytes_read"], 24008)
            self.assertGreater(c["predicted_s"], 0)
            self.assertLess(0, c["predicted_s"] - sum(s["predicted_s"] for s in c["steps"]) + 1e-12)  # and what a call costs
            self.assertGreaterEqual(c["peak_bytes"], 8008)
            if not called:
                close(self, f(xp.zeros(1000), 3), 3000.0)
        donated = [cx.jit(lambda x: xp.sqrt(x), donate_argnums=d).cost(xp.ones(1 << 12))["peak_bytes"] for d in ((), 0)]
        self.assertEqual(donated, [2 << 15, 1 << 15])
        cx.set_backend("reference")
        try:
            with self.assertRaisesRegex(NotImplementedError, "choose jit"):
                cx.jit(lambda x: x + 1).cost(xp.ones(3))
        finally:
            cx.reset_backend()


class Decorators(unittest.TestCase):
    def test_name_and_documentation(self) -> None:
        @cx.jit
        def named(x):
            """What it does."""
            return x

        for f in (named, cx.grad(named), cx.vmap(named), cx.custom_vjp(named), cx.checkpoint(named)):
            self.assertEqual((f.__name__, f.__doc__), ("named", "What it does."))
        self.assertIs(named.__wrapped__(3), 3)
        self.assertRegex(repr(named), "<jit of <function .*named")
        self.assertEqual(str(inspect.signature(named)), "(x)")

    def test_forms(self) -> None:
        @cx.jit
        @cx.grad
        def a(x):
            return x**2

        @functools.partial(cx.jit, static_argnames=("n",))
        def b(x, n):
            return x * n

        @cx.jit(static_argnums=1)
        def c(x, n):
            return x * n

        @functools.partial(cx.vmap, in_axes=(0, None))
        def d(x, y):
            return x * y

        close(self, (a(3.0), b(2.0, n=3), c(2.0, 4), d(xp.ones(2), 2.0)), (6.0, 6.0, 8.0, xp.asarray([2.0, 2.0])))
        close(self, cx.jit(functools.partial(lambda k, x: k * x, 3.0))(2.0), 6.0)

    def test_methods(self) -> None:
        class Layer:
            def __init__(self, k):
                self.k = k

            @functools.partial(cx.jit, static_argnums=0)
            def scaled(self, x):
                return x * self.k

            def loss(self, x):
                return xp.sum(self.scaled(x) ** 2)

        layer = Layer(3.0)
        close(self, (layer.scaled(2.0), cx.grad(layer.loss)(xp.ones(2)), Layer.scaled(layer, 1.0)), (6.0, 18.0 * xp.ones(2), 3.0))

    def test_attributes(self) -> None:
        f = cx.jit(lambda x: x)
        f.note = 1
        self.assertEqual(f.note, 1)
        self.assertIsInstance(f, cx.Jitted)
        with self.assertRaises(TypeError):
            cx.Jitted()

    def test_reference_counts(self) -> None:
        import sys

        f, x = cx.jit(lambda a, b: (a, b, a * b)), xp.ones(3)
        f(x, 2.0)
        gc.collect()
        before = sys.getrefcount(x), sys.getrefcount(f), sys.getrefcount(cx.Jitted)
        for _ in range(100):
            f(x, 2.0)
            f(x, b=2.0)
            with self.assertRaises(TypeError):
                f(x, "text")
        gc.collect()
        self.assertEqual((sys.getrefcount(x), sys.getrefcount(f), sys.getrefcount(cx.Jitted)), before)


class Speed(unittest.TestCase):
    def test_a_call_costs_little(self) -> None:
        """Beside an operator, so that a loaded machine slows both; docs state the time of an idle one."""
        f, x = cx.jit(lambda a, b: a + b), xp.ones(10)
        f(x, x)
        ratios = []
        for _ in range(20):
            jitted = min(timeit.repeat("f(x, x)", globals={"f": f, "x": x}, number=2000, repeat=5))
            plain = min(timeit.repeat("x + x", globals={"x": x}, number=2000, repeat=5))
            ratios.append(jitted / plain)
        self.assertLess(min(ratios), 6.0, "a jitted addition beside x + x")


class Work(unittest.TestCase):
    def test_cost(self) -> None:
        x = xp.ones((10, 20))
        c = cx.cost(lambda a: xp.exp(a) + 1.0, x)
        self.assertEqual({k: c[k] for k in ("flop", "int_op", "transcendental", "in_bytes", "out_bytes")}, {"flop": 200, "int_op": 0, "transcendental": 200, "in_bytes": 1600, "out_bytes": 1600})
        self.assertGreaterEqual(c["bytes_written"], 3200)
        self.assertEqual(cx.cost(lambda t: t["a"] @ t["b"], {"a": x, "b": x.mT})["flop"], 2 * 10 * 20 * 10)
        forward, backward = (cx.cost(f, x)["flop"] + cx.cost(f, x)["transcendental"] for f in (lambda a: xp.sum(xp.exp(a * a)), cx.grad(lambda a: xp.sum(xp.exp(a * a)))))
        self.assertLess(backward, 4 * forward)

    def test_cost_of_what_is_compiled(self) -> None:
        x = xp.ones((10, 20))
        f = lambda t: xp.sum(xp.exp(t["a"]) + 1.0)  # noqa: E731
        c = cx.cost_compile(f, {"a": x})
        self.assertEqual((c["kernels"], len(c["steps"]), c["total"]["bytes_read"], c["total"]["bytes_written"], c["peak_bytes"] // 8), (1, 1, 1600, 8, 209 + c["steps"][0]["scratch_bytes"] // 8))
        self.assertEqual({k: c["total"][k] for k in ("flop", "transcendental")}, {"flop": 200 + 199, "transcendental": 200})
        self.assertTrue(c["steps"][0]["is_kernel"])
        self.assertGreater(c["times"]["code_s"], 0)
        cx.set_backend("reference")
        self.addCleanup(cx.reset_backend)
        with self.assertRaisesRegex(NotImplementedError, "'reference' does not compile"):
            cx.cost_compile(f, {"a": x})

    def test_static_arguments_of_what_is_shown(self) -> None:
        f = cx.jit(lambda x, n: x * 2 if n == "twice" else x, static_argnums=1)
        x = xp.ones(3)
        for text in (f.dump(x, "twice"), cx.dump(f, x, "twice")):
            self.assertIn("multiply %0", text)
        self.assertEqual((cx.cost(f, x, "twice")["flop"], cx.cost(f, x, "once")["flop"]), (3, 0))
        self.assertEqual(f.cost(x, "twice")["total"], cx.cost_compile(f, x, "twice")["total"])

    def test_an_index_outside_is_one_error(self) -> None:
        x, at, outside = xp.arange(6.0), xp.asarray([0, 3]), xp.asarray([1, 9])
        for f in (lambda v, i: v[i], lambda v, i: xp.take(v, i), lambda v, i: xp.scatter(v, i, 1.0), lambda v, i: xp.take_along_axis(v, i), lambda v, i: xp.segment_sum(v[:2], i, 4)):
            for g in (f, cx.jit(f), cx.jit(cx.value_and_grad(lambda v, i, f=f: xp.sum(f(v, i)))), cx.grad(lambda v, i, f=f: xp.sum(f(v, i)))):
                g(x, at)
                with self.subTest(g), self.assertRaisesRegex(IndexError, "index 9 of '.*' is outside an axis of"):
                    g(x, outside)

    def test_keywords_of_what_is_shown(self) -> None:
        def plain(x, y=0.0, n="once"):
            return x * y if n == "twice" else x

        f, x = cx.jit(plain, static_argnames="n"), xp.ones(3)
        for text in (f.dump(x, y=2.0, n="twice"), cx.dump(f, x, y=2.0, n="twice"), f.dump(x, n="twice", y=2.0, stage="graph")):
            self.assertIn("multiply %0 %", text)
            self.assertIn("%1:float64 ()", text)
        self.assertEqual((cx.cost(f, x, y=2.0, n="twice")["flop"], cx.cost(f, x=x, n="once")["flop"]), (3, 0))
        f(x, y=2.0, n="twice")
        self.assertEqual(f.cost(x, y=2.0, n="twice")["total"], cx.cost_compile(f, x, y=2.0, n="twice")["total"])
        with tempfile.TemporaryDirectory() as folder:
            cx.aot_write(f, x, y=2.0, n="twice", path=os.path.join(folder, "scaled"))
            self.assertIn("const double *in0, const double *in1, double *out0", open(os.path.join(folder, "scaled.h")).read())
        with self.assertRaisesRegex(TypeError, "unexpected keyword"):
            f.dump(x, z=1.0)

    def test_many_kept(self) -> None:
        """fwd may keep all arguments and results, however many."""
        square = cx.custom_vjp(lambda many: sum(v * v for v in many))
        square.defvjp(lambda many: (square(many), many), lambda many, ct: ([2 * v * ct for v in many],))
        close(self, cx.grad(square)([float(i) for i in range(300)]), [2.0 * i for i in range(300)])

    def test_note_without_llvm(self) -> None:
        """A function that is interpreted is noted once a process, with the reason; the doctor looks for the same library."""
        program = "import calibrax_c as cx\nfrom calibrax_c import array as xp\nfor f in (xp.sin, xp.cos):\n    print(cx.jit(f)(0.0))\nprint([i.state for i in cx.doctor() if i.name == 'LLVM'])"
        with tempfile.TemporaryDirectory() as folder:
            env = os.environ | {"CALIBRAX_LLVM": "libnowhere.so", "CALIBRAX_CACHE_DIR": folder, "CALIBRAX_BACKEND": "jit"}
            out = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
        self.assertEqual(out.stdout.split(), ["0.0", "1.0", "['missing']"])
        self.assertEqual(out.stderr.count("RuntimeWarning: compiled functions are interpreted, which is slow: no 'libnowhere.so'"), 1, out.stderr)

    def test_as_c(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "slope")
            cx.aot_write(cx.grad(lambda x, k: xp.sum(xp.exp(x * k))), xp.asarray([0.0, 1.0]), 2.0, path=path)
            self.assertIn("void slope(const double *in0, const double *in1, double *out0)", path.with_suffix(".h").read_text())
            subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", f"{path}.so", f"{path}.c", "-lm"], check=True)
            out, x, k = (ctypes.c_double * 2)(), (ctypes.c_double * 2)(0.0, 1.0), (ctypes.c_double * 1)(2.0)
            ctypes.CDLL(f"{path}.so").slope(x, k, out)
            self.assertEqual(list(out), [2.0, 2.0 * math.exp(2.0)])
            with self.assertRaisesRegex(NotImplementedError, "no form for 'matmul'"):
                cx.aot_write(lambda a: a @ a, xp.ones((2, 2)), path=path)
            with self.assertRaisesRegex(ValueError, "cannot be the name of a function"):
                cx.aot_write(xp.sin, 1.0, path=pathlib.Path(folder, "1x"))
            with self.assertRaises(FileNotFoundError):
                cx.aot_write(xp.sin, 1.0, path=pathlib.Path(folder, "none", "f"))

    def test_much_work_on_little_lets_others_run(self) -> None:
        f = cx.jit(lambda k: xp.sum(xp.sin(xp.zeros((16000, 16000)) + k)))  # nothing of it is stored
        f(0.5)
        seen = []
        done = threading.Event()

        def count() -> None:
            while not done.is_set():
                seen.append(1)
                done.wait(0.001)

        t = threading.Thread(target=count)
        t.start()
        f(0.5)  # one call: without the lock given up, at most one count before it and one behind
        done.set()
        t.join()
        self.assertGreater(len(seen), 5)


class Rules(unittest.TestCase):
    def test_custom_jvp(self) -> None:
        @cx.custom_jvp
        def f(x, y):
            return xp.sin(x) * y

        @f.defjvp
        def rule(primals, tangents):
            x, y = primals
            dx, dy = tangents
            return f(x, y), xp.cos(x) * dx * y + xp.sin(x) * dy + 100.0 * dx

        close(self, f(0.5, 2.0), xp.sin(0.5) * 2)
        close(self, cx.grad(f)(0.5, 2.0), xp.cos(0.5) * 2 + 100)
        close(self, cx.jit(cx.grad(f, argnums=(0, 1)))(0.5, 2.0), (xp.cos(0.5) * 2 + 100, xp.sin(0.5)))
        close(self, cx.jvp(f, (0.5, 2.0), (1.0, 0.0))[1], xp.cos(0.5) * 2 + 100)
        close(self, cx.vmap(cx.grad(f), in_axes=(0, None))(xp.asarray([0.5, 1.0]), 2.0), xp.cos(xp.asarray([0.5, 1.0])) * 2 + 100)
        close(self, cx.grad(f)(0.5, y=2.0), xp.cos(0.5) * 2 + 100)

    def test_rules_for_each_argument(self) -> None:
        f = cx.custom_jvp(lambda x, y: x * y)
        f.defjvps(lambda t, out, x, y: 2 * t * y, None)
        close(self, cx.grad(f, argnums=(0, 1))(3.0, 5.0), (10.0, 0.0))

    def test_custom_vjp(self) -> None:
        @cx.custom_vjp
        def f(p, x):
            return {"s": xp.sum(p["w"] * x)}

        def fwd(p, x):
            return f(p, x), (p["w"], {"x": x}, None)

        def bwd(kept, ct):
            w, inner, _ = kept
            return {"w": ct["s"] * inner["x"] * 10}, None

        f.defvjp(fwd, bwd)
        p, x = {"w": xp.asarray([1.0, 2.0])}, xp.asarray([3.0, 4.0])
        close(self, f(p, x), {"s": 11.0})
        close(self, cx.grad(lambda p, x: f(p, x)["s"], argnums=(0, 1))(p, x), ({"w": 10 * x}, xp.zeros(2)))
        close(self, cx.jit(cx.grad(lambda p: f(p, x)["s"]))(p), {"w": 10 * x})
        with self.assertRaisesRegex(NotImplementedError, "reverse derivatives alone"):
            cx.jvp(lambda p: f(p, x)["s"], (p,), (p,))

    def test_arguments_that_are_not_derived_in(self) -> None:
        @functools.partial(cx.custom_vjp, nondiff_argnums=(0,))
        def apply(g, x):
            return g(x)

        apply.defvjp(lambda g, x: (g(x), x), lambda g, x, ct: (ct * (7.0 if g is xp.sin else 9.0),))
        close(self, (cx.grad(apply, argnums=1)(xp.sin, 1.0), cx.grad(lambda x: apply(xp.cos, x))(1.0)), (7.0, 9.0))
        close(self, cx.grad(lambda x: apply(xp.sin, x))(1.0), 7.0)
        close(self, cx.grad(lambda x: apply(xp.cos, x))(1.0), 9.0)

        @functools.partial(cx.custom_jvp, nondiff_argnums=(1,))
        def power(x, n):
            return x**n

        power.defjvp(lambda n, primals, tangents: (power(primals[0], n), n * 1000.0 * tangents[0]))
        close(self, cx.grad(lambda x: power(x, 3))(2.0), 3000.0)

    def test_refusals_of_rules(self) -> None:
        def vjp(fwd, bwd):
            f = cx.custom_vjp(lambda x: x * 2)
            f.defvjp(fwd, bwd)
            return lambda: cx.grad(f)(1.0)

        def jvp(rule):
            f = cx.custom_jvp(lambda x: x * 2)
            f.defjvp(rule)
            return lambda: cx.grad(f)(1.0)

        for call, kind, words in (
            (lambda: cx.grad(cx.custom_vjp(lambda x: x))(1.0), AttributeError, "has no rules: give them with defvjp"),
            (lambda: cx.grad(cx.custom_jvp(lambda x: x))(1.0), AttributeError, "has no rule: give it one with defjvp"),
            (vjp(lambda x: x, lambda k, ct: (ct,)), TypeError, r"fwd of '<lambda>' must return \(result, kept\)"),
            (vjp(lambda x: ((x, x), None), lambda k, ct: (ct,)), TypeError, r"must return a result as \*, got \(\*, \*\)"),
            (vjp(lambda x: (x, None), lambda k, ct: ct), TypeError, "must return a tuple of 1 cotangents"),
            (vjp(lambda x: (x, None), lambda k, ct: ((ct, ct),)), TypeError, "must return cotangents as"),
            (vjp(lambda x: (x, None), lambda k, ct: (xp.stack([ct, ct]),)), ValueError, ""),
            (jvp(lambda p, t: p[0]), TypeError, r"must return \(result, tangent\)"),
            (jvp(lambda p, t: (p[0], (t[0], t[0]))), TypeError, "must return a result and a tangent as"),
            (jvp(lambda p, t: (p[0], 1 / 0)), ZeroDivisionError, ""),
        ):
            with self.subTest(words), self.assertRaisesRegex(kind, words):
                call()

    def test_stop_gradient_and_checkpoint(self) -> None:
        close(self, cx.grad(lambda x: x * cx.stop_gradient({"a": x, "n": 3})["a"])(3.0), 3.0)
        close(self, cx.stop_gradient((1.0, xp.ones(2))), (1.0, xp.ones(2)))
        x = xp.asarray([0.3, 0.8])

        def f(v, n=2):
            for _ in range(n):
                v = xp.sin(v) * v
            return xp.sum(v)

        close(self, cx.grad(cx.checkpoint(f))(x), central(f, x), 1e-8)
        close(self, cx.jit(cx.grad(cx.checkpoint(f, static_argnums=1)), static_argnums=1)(x, 3), cx.grad(lambda v: f(v, 3))(x))
        close(self, cx.grad(lambda v: cx.scan(cx.checkpoint(lambda c, r: (c * xp.sin(r), None)), 1.0, v)[0])(x), cx.grad(lambda v: xp.prod(xp.sin(v)))(x))


MEMBERS = """name supports_gpu supports_jit supports_grad pi zeros ones full zeros_like ones_like arange linspace logspace meshgrid array sin cos arctan arctan2 hypot deg2rad rad2deg mod floor
ceil round sum mean std min max nanmean nanmin nanmax percentile digitize bincount unique logical_and logical_or logical_not where nonzero isnan isfinite clip stack concatenate copy reshape
transpose flatten exp log log10 sqrt abs power to_numpy from_numpy astype jit grad value_and_grad""".split()


class Backends(unittest.TestCase):
    def setUp(self) -> None:
        self.addCleanup(cx.reset_backend)

    def test_selection(self) -> None:
        first = cx.get_backend()
        self.assertIs(cx.get_backend(), first)
        self.assertEqual([first.sin.__name__, first.mod.__qualname__, first.sum.__name__], ["sin", "Backend.mod", "sum"])
        self.assertEqual(cx.set_backend("Reference").name, "reference")
        self.assertEqual(xp.backend(), "reference")
        self.assertIsInstance(cx.set_backend("auto"), cx.Backend)
        cx.reset_backend()
        self.assertIs(cx.get_backend(), first)
        with self.assertRaisesRegex(ValueError, "unknown backend 'tpu': it must be auto, reference or jit"):
            cx.set_backend("tpu")
        with self.assertRaisesRegex(TypeError, "'name' must be a string"):
            cx.set_backend(3)

    def test_every_backend_has_every_member_and_one_behaviour(self) -> None:
        self.assertEqual(len(MEMBERS), 64)
        for name in xp.backends():
            b = cx.set_backend(name)
            with self.subTest(name):
                for member in [*MEMBERS, "vmap", "scan", "fori_loop"]:
                    self.assertTrue(hasattr(b, member), member)
                self.assertEqual((b.name, b.supports_grad, b.supports_gpu), (name, True, False))
                self.assertIs(b.supports_jit, name == "jit")
                self.check_values(b)

    def check_values(self, b: Any) -> None:
        x = b.array([1.0, 2.0, 3.0, 4.0])
        nan = float("nan")
        for got, wanted in (
            (b.zeros((2,)), [0.0, 0.0]), (b.ones(2, dtype=xp.int64), [1, 1]), (b.full((2,), 3), [3, 3]), (b.zeros_like(x), [0.0] * 4), (b.ones_like(x, dtype=xp.int64), [1] * 4),
            (b.arange(3), [0, 1, 2]), (b.arange(0, 1, 0.5), [0.0, 0.5]), (b.linspace(0, 1, 3), [0.0, 0.5, 1.0]), (b.logspace(0, 2, 3), [1.0, 10.0, 100.0]), (b.mod(-1.5, 4), 2.5),
            (b.round(b.array([2.5, -0.5, 1.25])), [2.0, -0.0, 1.0]), (b.round(b.array([1.25, 15.0]), 1), [1.2, 15.0]), (b.round(b.array([15.0]), -1), [20.0]), (b.std(x), 1.118033988749895),
            (b.sum(b.array([])), 0.0), (b.percentile(x, 37.5), 2.125), (b.nanmean(b.array([1.0, nan])), 1.0), (b.digitize(b.array([0.0, 1.0, 5.0]), b.array([1.0, 2.0])), [0, 1, 2]),
            (b.bincount(b.array([0.0, 1.9, 1.0]), minlength=4), [1, 2, 0, 0]), (b.bincount(b.array([0, 1]), weights=b.array([0.5, 2.0])), [0.5, 2.0]),
            (b.unique(b.array([3, 1, 3])), [1, 3]), (b.unique(b.array([3, 1, 3]), size=4), [1, 3, 1, 1]), (b.unique(b.array([3, 1, 3]), size=1), [1]),
            (b.unique(b.array([3, 1, 3]), return_inverse=True)[1], [1, 0, 1]), (b.unique(b.array([nan, 1.0, nan])), [1.0, nan]), (b.unique(b.array([nan, 1.0, nan]), return_inverse=True)[1], [1, 0, 1]), (b.jit(lambda v: b.unique(v, size=3))(b.array([2, 1, 2])), [1, 2, 1]), (b.jit(lambda v: b.nonzero(v, size=3)[0])(x - 2), [0, 2, 3]), (b.logical_and(x, 0.0), [0] * 4), (b.logical_not(b.array([0, 2])), [1, 0]), (b.where(x > 2, x, 0.0), [0.0, 0.0, 3.0, 4.0]),
            (b.nonzero(b.array([0, 5, 7]))[0], [1, 2]), (b.nonzero(b.array([0, 5, 7]), size=4)[0], [1, 2, -1, -1]), (b.nonzero(b.array([0, 5, 7]), size=1)[0], [1]),
            (b.clip(b.array([1, 5]), 1.5, 4), [1.5, 4.0]), (b.clip(b.array([1.0, nan]), 3, 2), [2.0, nan]), (b.stack([x, x], axis=1)[0], [1.0, 1.0]), (b.concatenate([x[:1], b.array([5])]), [1.0, 5.0]),
            (b.reshape(x, (2, -1))[1], [3.0, 4.0]), (b.transpose(b.reshape(x, (2, 2))), [[1.0, 3.0], [2.0, 4.0]]), (b.flatten(b.reshape(x, (2, 2))), [1.0, 2.0, 3.0, 4.0]), (b.power(x, 2), [1.0, 4.0, 9.0, 16.0]),
            (b.meshgrid(x[:2], x[:3])[1], [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]), (b.astype(b.array([1.9]), xp.int64), [1]), (b.arctan2(1.0, 0.0), xp.pi / 2), (b.deg2rad(180.0), xp.pi), (b.hypot(3.0, 4.0), 5.0),
            (b.jit(lambda v, n: v * n, static_argnums=1)(x, 2), [2.0, 4.0, 6.0, 8.0]), (b.grad(lambda v: b.sum(b.power(v, 2)))(x), [2.0, 4.0, 6.0, 8.0]), (b.value_and_grad(lambda v: v * v)(3.0)[0], 9.0),
            (b.vmap(lambda v: v * 2)(x), [2.0, 4.0, 6.0, 8.0]), (b.scan(lambda c, v: (c + v, c), 0.0, x)[0], 10.0), (b.fori_loop(0, 3, lambda i, v: v + i, 0), 3), (b.from_numpy(x), [1.0, 2.0, 3.0, 4.0]),
        ):
            a, e = xp.asarray(got), xp.asarray(wanted)
            self.assertEqual(a.shape, e.shape)
            a, e = xp.astype(a, xp.float64), xp.astype(e, xp.float64)
            self.assertTrue(bool(xp.all((xp.abs(a - e) < 1e-14 * (1 + xp.abs(e))) | (xp.isnan(a) & xp.isnan(e)))), f"{a} is not {e}")
        y = b.copy(x)
        y[0] = 9.0
        self.assertEqual(float(x[0]), 1.0)


if __name__ == "__main__":
    tap.main()
