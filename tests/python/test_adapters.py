"""calibrax_c.adapters: what is adapted by which adapter, and what a measured call reports.  Prints TAP.

With --frameworks also the frameworks that are installed: `make interop` runs it so in an environment with jax, flax and scikit-learn, and in
one with torch.
"""

from __future__ import annotations

import collections
import functools
import itertools
import json
import math
import os
import subprocess
import sys
import tempfile
import time
import types
import unittest
from dataclasses import dataclass
from importlib.util import find_spec
from unittest import mock

import calibrax_c as cx
import tap
from calibrax_c import adapters
from calibrax_c import array as xp

FRAMEWORKS = "--frameworks" in sys.argv
SOURCE = os.environ.get("CALIBRAX_SOURCE_ROOT", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))


def available(name: str) -> bool:
    return find_spec(name) is not None


class Registry(unittest.TestCase):
    def test_the_last_one_is_tried_first(self):
        registry = adapters.AdapterRegistry()

        @registry.register
        class General(adapters.CallableBenchmarkAdapter):
            pass

        @registry.register
        class Even(adapters.BenchmarkAdapter):
            @classmethod
            def can_adapt(cls, target):
                return isinstance(target, int) and target % 2 == 0

        self.assertIs(type(registry.adapt(len)), General)
        self.assertIs(type(registry.adapt(4)), Even)
        with self.assertRaisesRegex(ValueError, r"no adapter accepts int 5: Even: its can_adapt\(\) returned False; General: it cannot be called"):
            registry.adapt(5)
        with self.assertRaisesRegex(ValueError, "none is registered"):
            adapters.AdapterRegistry().adapt(len)

        @registry.register
        class Broken(adapters.CallableBenchmarkAdapter):
            @classmethod
            def can_adapt(cls, target):
                raise AttributeError(f"no attribute of {target!r}")

        self.assertIs(type(registry.adapt(4)), Even)
        with self.assertRaisesRegex(ValueError, r"int 5: Broken: it raised AttributeError: no attribute of 5; Even: "):
            registry.adapt(5)
        with self.assertRaisesRegex(TypeError, r"class with can_adapt\(\), got 3"):
            registry.register(3)

    def test_built_in(self):
        self.assertIs(type(adapters.adapt(len)), adapters.CallableBenchmarkAdapter)
        self.assertIs(adapters.adapt(a := adapters.adapt(len)), a)
        with self.assertRaisesRegex(ValueError, "no adapter accepts int 5: .*NNXBenchmarkAdapter: .*TorchBenchmarkAdapter: .*EstimatorBenchmarkAdapter: .*it cannot be called"):
            adapters.adapt(5)
        with self.assertRaises(TypeError):
            adapters.BenchmarkAdapter(len)

    def test_names(self):
        named = type("Model", (), {"__call__": lambda self: 1})
        self.assertEqual(adapters.adapt(named()).name, "Model")
        self.assertEqual(adapters.adapt(len).name, "len")
        model = named()
        model.model_name = "second"
        self.assertEqual(adapters.adapt(model).name, "second")
        model.name = "first"
        self.assertEqual(adapters.adapt(model).name, "first")
        self.assertEqual(adapters.adapt(functools.partial(functools.partial(math.pow, 2.0), 3.0)).name, "pow")
        self.assertEqual([adapters.adapt(f).name for f in (lambda: 0, dict, [].append, named)], ["<lambda>", "dict", "append", "Model"])

    def test_a_flax_that_is_not_enough(self):
        class Target:
            pass

        for flax, words in ((types.ModuleType("flax"), "need flax 0.10.4 or newer; installed is another one: cannot import name 'nnx'|No module named 'jax'"), (None, "flax is not imported")):
            with self.subTest(words), mock.patch.dict(sys.modules), mock.patch.dict(vars(adapters)):
                vars(adapters).pop("NNXBenchmarkAdapter", None)
                for name in [n for n in sys.modules if n.partition(".")[0] == "flax"]:
                    del sys.modules[name]
                if flax:
                    sys.modules["flax"] = flax
                self.assertIs(type(adapters.adapt(len)), adapters.CallableBenchmarkAdapter)
                with self.assertRaisesRegex(ValueError, f"no adapter accepts Target .*: NNXBenchmarkAdapter: .*({words}).*; TorchBenchmarkAdapter: "):
                    adapters.adapt(Target())


class Calls(unittest.TestCase):
    def test_of_calibrax_arrays(self):
        adapter = adapters.adapt(lambda x, y: xp.exp(x) @ y)
        cost = adapter.cost(xp.ones((20, 30)), xp.ones((30, 10)))
        self.assertEqual((cost.flop, cost.transcendental, cost.bytes), (2.0 * 20 * 30 * 10, 600.0, 8.0 * (600 + 300 + 200)))
        benchmark = adapter.benchmark(xp.ones((20, 30)), y=xp.ones((30, 10)), name="product", tags={"case": "a"})
        report = benchmark.run(samples=4, sample_s=0, tags={"device": "cpu"}, detect=False)
        (point,) = report.run.points
        self.assertEqual((point.name, point.tags), ("product", {"framework": "calibrax", "case": "a", "device": "cpu"}))
        self.assertEqual(len(point.metrics["batch_time"].samples), 4)
        self.assertEqual(point.metrics["flop"].value, cost.flop)
        self.assertEqual(report.run.metric_defs["flop"].unit, "flop")

    def test_a_function_without_known_work(self):
        adapter = adapters.adapt(sum)
        self.assertIn("unknown", adapter.cost([1, 2]).notes[0])
        self.assertEqual(adapter.complexity(), adapters.Complexity(0, 0, {}, None, None))
        self.assertEqual(adapter.benchmark([1, 2]).tags, {"framework": "python"})
        self.assertIn("tracing raised", adapters.adapt(lambda x: x if x > 0 else -x).cost(xp.ones(())).notes[0])

    def test_what_only_the_first_call_would_do(self):
        ones = [1.0, 2.0]
        for given in ((x for x in ones), map(float, ones), iter(ones), zip(ones, ones, strict=True), itertools.count(1)):
            with self.subTest(given), self.assertRaisesRegex(TypeError, "an argument of first is a .*, which the first call uses up: give a list"):
                adapters.adapt(lambda x: next(iter(x))).benchmark(given, name="first")
            self.assertIn(next(given), (1, (1, 1)))  # nothing was taken from it
        with self.assertRaisesRegex(TypeError, "a list_iterator, which"):
            adapters.adapt(dict).benchmark(a=[iter(ones)])
        self.assertEqual(adapters.adapt(list).benchmark(range(3)).tags, {"framework": "python"})

        def squares(n):
            yield from (i * i for i in range(n))

        async def later():
            return 1

        with self.assertRaisesRegex(TypeError, "squares returned a generator, whose body has not run"):
            adapters.adapt(squares).benchmark(3)
        with self.assertWarns(RuntimeWarning), self.assertRaisesRegex(TypeError, "later returned a coroutine, whose body has not run"):
            adapters.adapt(later).benchmark()

    def test_callables_of_all_kinds(self):
        class Thing:
            def method(self, x):
                return x

            @staticmethod
            def static():
                return None

        for f, args in ((math.sin, (1.0,)), (dict, ()), (Thing().method, ({1: 2, "a": [None]},)), (Thing.static, ()), (Thing, ()), (lambda: None, ()), (functools.partial(sum, [1, 2]), ())):
            with self.subTest(f):
                report = adapters.adapt(f).benchmark(*args).run(samples=3, detect=False)
                self.assertEqual(len(report.run.points[0].metrics["batch_time"].samples), 3)

    def test_exceptions_come_out(self):
        def broken(_):
            raise KeyError("no such layer")

        with self.assertRaisesRegex(KeyError, "no such layer"):
            adapters.adapt(broken).benchmark(1)


class Places(unittest.TestCase):
    """The file and the line that a run keeps of a benchmark."""

    def places(self, folder, text, source="bench.py:benchmark"):
        """What source_of() of the worker says of `benchmark` in bench.py of a folder."""
        with open(os.path.join(folder, "bench.py"), "w", encoding="utf-8") as f:
            f.write(text)
        program = ("import json, sys; sys.path[:0] = [sys.argv[1]]; import benchmarks as b; s = sys.argv[2]; "
                   "found = b.find_benchmarks(s); print(json.dumps([b.source_of(t, s) for t in found.values()]))")
        workers = os.path.join(SOURCE, "workers/python")
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([os.path.dirname(os.path.dirname(cx.__file__)), folder])}
        return json.loads(subprocess.run([sys.executable, "-c", program, workers, source], cwd=folder, env=env, check=True, text=True, stdout=subprocess.PIPE).stdout)

    def test_of_adapters(self):
        start = "from calibrax_c import adapters, register_benchmark\nfrom library import Model, f\n"
        with tempfile.TemporaryDirectory() as top:
            folder = os.path.join(os.path.realpath(top), "project")
            packages = os.path.join(folder, "site-packages")
            os.makedirs(os.path.join(folder, ".git"))
            os.makedirs(packages)
            with open(os.path.join(packages, "library.py"), "w", encoding="utf-8") as f:
                f.write("def f():\n    pass\nclass Model:\n    def __call__(self):\n        pass\n")
            start = "import sys\nsys.path.append('site-packages')\n" + start
            here = {"file": "bench.py"}
            for text, want in (("def g():\n    pass\nbenchmark = adapters.adapt(g).benchmark()\n", {**here, "line": 5}),
                               ("benchmark = adapters.adapt(Model()).benchmark()\n", here), ("benchmark = adapters.adapt(f).benchmark()\n", here),
                               ("benchmark = adapters.adapt(dict).benchmark()\n", here)):
                with self.subTest(text):
                    self.assertEqual(self.places(folder, start + text), [want])
                    self.assertEqual(self.places(folder, start + text, "bench:benchmark"), [want])
            self.assertEqual(self.places(folder, start + "register_benchmark('one')(adapters.adapt(f).benchmark())\n", "bench.py"), [here])


@unittest.skipUnless(available("jax"), "jax is not installed")
class Jax(unittest.TestCase):
    def test_results_that_can_be_called(self):
        import jax.numpy as jnp

        class Trained:
            def __init__(self):
                self.weights = {"a": jnp.ones(3)}

            def __call__(self, x):
                return x @ self.weights["a"]

        model, waited = Trained(), []
        with mock.patch("jax.block_until_ready", waited.extend):
            for result in (model, (1, [model])):
                adapters.synchronize(result)
            adapters.synchronize([Trained, model.__call__, jnp.tanh, len, functools.partial(len)])
        self.assertEqual([x is model.weights["a"] for x in waited], [True, True])

    def test_a_compiled_function(self):
        import jax
        import jax.numpy as jnp

        f = jax.jit(lambda x, s: jnp.sin(x) @ x * s)
        adapter = adapters.adapt(f)
        self.assertIs(type(adapter), adapters.JaxBenchmarkAdapter)
        cost = adapter.cost(jnp.ones((50, 50)), 2.0)
        self.assertEqual((cost.flop, cost.transcendental), (2.0 * 50**3 + 2500, 2500.0))
        self.assertGreater(cost.peak_bytes, 2 * 10000)
        report = adapter.benchmark(xp.ones((50, 50), dtype="float32"), 2.0, name="f").run(samples=5, detect=False)
        metrics = report.run.points[0].metrics
        self.assertGreater(metrics["compile_time"].value, 10 * metrics["batch_time"].value)
        self.assertEqual(metrics["recompilations"].value, 0)

    def test_memory_is_shared(self):
        import jax.numpy as jnp

        x = xp.ones((64, 64), dtype="float32")
        adapter = adapters.JaxBenchmarkAdapter(None)
        self.assertEqual(adapter.convert(x).unsafe_buffer_pointer(), adapter.convert(x).unsafe_buffer_pointer())
        y = jnp.ones((64, 64))
        self.assertIs(adapter.convert(y), y)
        self.assertEqual(adapter.convert(xp.asarray(y)).unsafe_buffer_pointer(), y.unsafe_buffer_pointer())
        self.assertEqual(adapter.convert(2.0), 2.0)

    def test_arrays_that_cannot_be_shared(self):
        import jax
        import jax.numpy as jnp
        import numpy as np

        a = np.arange(12, dtype="float32").reshape(3, 4)
        fixed = a.copy()
        fixed.flags.writeable = False
        adapter = adapters.adapt(jax.jit(lambda x: x + 1))
        for x in (a[:, ::2], a[::-1], a.T, np.broadcast_to(a[0], (3, 4)), fixed, a.astype("float64"), a > 3, a.astype("float16"), np.zeros((0, 3)), np.full((), 2.0)):
            with self.subTest(x.strides):
                made = adapter.convert(x)
                self.assertIsInstance(made, jax.Array)
                np.testing.assert_array_equal(made, x)
                np.testing.assert_array_equal(adapter(made), x + 1)
                adapter.benchmark(x)
        objects = np.array([None, "a"])
        self.assertIs(adapter.convert(objects), objects)

    def test_arrays_in_containers(self):
        import jax
        import jax.numpy as jnp
        import numpy as np

        Pair = collections.namedtuple("Pair", "first second")
        given = {"a": [np.ones(3), 2.0], "b": Pair(np.ones(4)[::2], (None, xp.ones(2, dtype="float32")))}
        adapter = adapters.adapt(jax.jit(lambda t: t["a"][0].sum() + t["b"].second[1].sum()))
        made = adapter.convert(given)
        self.assertIsInstance(made["b"], Pair)
        self.assertEqual([type(x) for x in jax.tree.leaves(given)].count(np.ndarray), 2)
        self.assertTrue(all(isinstance(x, (jax.Array, float)) for x in jax.tree.leaves(made)))
        self.assertIs(made["a"][1], given["a"][1])
        unchanged = {1: (2, [3]), "b": jnp.ones(2)}
        self.assertIs(adapter.convert(unchanged), unchanged)
        ordered = adapter.convert(collections.OrderedDict(a=np.ones(2)))
        self.assertIs(type(ordered), collections.OrderedDict)
        self.assertIsInstance(ordered["a"], jax.Array)
        adapter.benchmark(given).run(samples=3, detect=False)

    def test_the_device_that_computes(self):
        import jax
        import numpy as np

        with mock.patch.object(jax, "default_backend", lambda: "gpu"), mock.patch.object(jax, "device_put", lambda x, d: (x, d)):
            self.assertEqual(adapters.JaxBenchmarkAdapter(None).convert(np.ones(3, "float32"))[1], jax.devices()[0])

    def test_compilation_within_compilation(self):
        import jax
        import jax.numpy as jnp

        def slow(x, bias):
            with jax.ensure_compile_time_eval():  # compiles within the tracing of its caller
                y = sum(jax.jit(lambda a, k=k: jnp.linalg.svd(a * k + bias)[1].sum())(jnp.ones((20, 20))) for k in range(4))
            return jnp.sin(x) + y

        def nested(x, bias):
            return jax.jit(lambda y: jax.jit(lambda z: slow(z, bias))(y))(x)

        def reported(x, bias):  # older releases of JAX report each of the traces
            begin = time.time()
            y = nested(x, bias)
            for _ in range(3):
                jax.monitoring.record_event_duration_secs("/jax/core/compile/jaxpr_trace_duration", time.time() - begin)
            return y

        for f in (jax.jit(lambda x: nested(x, 1)), lambda x: nested(x, 2), jax.jit(lambda x: reported(x, 3)), lambda x: jax.jit(lambda y: reported(y, 4))(x)):
            start = time.perf_counter()
            values = adapters.adapt(f).benchmark(jnp.ones((8, 8))).run_evaluation()
            wall = time.perf_counter() - start
            self.assertGreater(values["compile_time"], 0)
            self.assertLessEqual(values["compile_time"], wall)
            self.assertGreaterEqual(values["first_call"], 0)

    def test_results_that_are_no_trees(self):
        import jax
        import jax.numpy as jnp

        @dataclass
        class Result:
            values: list

        class Plain:
            def __init__(self, x):
                self.x = {"a": x, 1: x}

        x = jnp.ones((3, 3))
        seen = []
        with mock.patch.object(jax, "block_until_ready", lambda value: seen.extend(value)):
            for result in (Result([x]), Plain(x), {1: x, "a": None}, [{"b": (x,)}], frozenset([Plain(x)]), [Result([Plain(x)])]):
                seen.clear()
                self.assertIs(adapters.synchronize(result), result)
                self.assertIs(seen[0], x, result)
        benchmark = adapters.adapt(lambda x: Result([x @ x])).benchmark(x)
        self.assertFalse(benchmark.donates)

    def test_static_arguments_and_donation_in_trees(self):
        import jax
        import jax.numpy as jnp

        @dataclass(frozen=True)
        class Config:
            power: int

        f = jax.jit(lambda x, config, mode: x**config.power if mode == "a" else x, static_argnums=1, static_argnames="mode")
        benchmark = adapters.adapt(f).benchmark(jnp.ones((3, 3)), Config(3), mode="a")
        self.assertEqual(benchmark.cost.flop, 18)
        self.assertEqual(benchmark.run(samples=3, detect=False).run.points[0].metrics["recompilations"].value, 0)
        step = jax.jit(lambda state, x: {"w": state["w"] - x, "n": state["n"] + 1}, donate_argnames="state")
        state = {"w": jnp.ones((50, 50)), "n": jnp.zeros(())}
        benchmark = adapters.adapt(step).benchmark(state=state, x=jnp.ones((50, 50)))
        self.assertTrue(benchmark.donates)
        for _ in range(2):
            self.assertEqual(len(benchmark.run(samples=4, detect=False).run.points[0].metrics["batch_time"].samples), 4)
        self.assertFalse(state["w"].is_deleted())

    def test_donated_buffers(self):
        import jax
        import jax.numpy as jnp

        x = jnp.ones(1000)
        benchmark = adapters.adapt(jax.jit(lambda x: x + 1, donate_argnums=0)).benchmark(x)
        self.assertTrue(benchmark.donates)
        metrics = benchmark.run(samples=6, detect=False).run.points[0].metrics
        self.assertEqual(len(metrics["batch_time"].samples), 6)
        self.assertFalse(x.is_deleted())
        calls = []

        def counted(x, f=jax.jit(lambda x: x + 1, donate_argnums=0)):
            calls.append(x)
            return f(x)

        benchmark = adapters.JaxBenchmarkAdapter.benchmark(adapters.CallableBenchmarkAdapter(counted), x)  # as calibrax run does by default
        calls.clear()
        metrics = cx.run_benchmark(benchmark, batch_size=4, max_batches=8, detect=False).run.points[0].metrics
        self.assertEqual((len(calls), len(benchmark.dataset) < 10000), (32, True))
        self.assertLess(metrics["throughput"].value * min(metrics["batch_time"].samples), 4.0001)

    def test_weak_types_and_recompilation(self):
        import jax
        import jax.numpy as jnp

        weak = jnp.sin(2.0)
        self.assertTrue(weak.weak_type)
        f = jax.jit(lambda x: x * 2)
        metrics = adapters.adapt(f).benchmark(weak).run(samples=3, detect=False).run.points[0].metrics
        self.assertEqual(metrics["recompilations"].value, 0)
        changing = iter(range(1, 10**6))
        recompiled = adapters.adapt(lambda: f(jnp.ones(next(changing)))).benchmark()
        self.assertGreater(recompiled.run(samples=3, sample_s=0, detect=False).run.points[0].metrics["recompilations"].value, 2)

    def test_work_of_loops_branches_and_factorizations(self):
        import jax
        import jax.numpy as jnp

        x = jnp.ones((30, 30))
        product = 2.0 * 30**3

        def of(function):
            return adapters.adapt(jax.jit(function)).cost(x)

        self.assertEqual(of(lambda x: jax.lax.scan(lambda c, _: (c @ c, None), x, None, length=10)[0]).flop, 10 * product)
        self.assertEqual(of(lambda x: jax.lax.fori_loop(0, 7, lambda _, c: c @ c, x)).flop, 7 * product)
        loop = of(lambda x: jax.lax.while_loop(lambda c: jnp.sum(c) < 5, lambda c: c @ c, x))
        self.assertIn("counts once", "".join(loop.notes))
        branch = of(lambda x: jax.lax.cond(x[0, 0] > 0, lambda c: c @ c, lambda c: c, x))
        self.assertEqual(branch.flop, product)
        self.assertEqual(of(lambda x: jax.checkpoint(lambda c: c @ c)(x)).flop, product)
        self.assertEqual(of(lambda x: jnp.linalg.cholesky(x, symmetrize_input=False)).flop // 1, 30**3 // 3)
        self.assertGreater(of(jnp.linalg.svd).flop, 20 * 30**3)
        self.assertGreater(of(lambda x: jnp.linalg.solve(x, x)).flop, 2 * 30**3)
        called = of(lambda x: jax.pure_callback(lambda v: v, jax.ShapeDtypeStruct(x.shape, x.dtype), x))
        self.assertIn("pure_callback are not counted", "".join(called.notes))
        derivative = of(jax.grad(lambda x: jnp.sum(x @ x)))
        self.assertGreaterEqual(derivative.flop, 2 * product)

    def test_convolution(self):
        import jax
        import jax.numpy as jnp

        f = jax.jit(lambda x, w: jax.lax.conv(x, w, (1, 1), "VALID"))
        self.assertEqual(adapters.adapt(f).cost(jnp.ones((2, 3, 10, 10)), jnp.ones((4, 3, 5, 5))).flop, 2.0 * (2 * 4 * 6 * 6) * 3 * 25)


@unittest.skipUnless(available("flax"), "flax is not installed")
class Nnx(unittest.TestCase):
    def setUp(self):
        import jax.numpy as jnp
        from flax import nnx

        class Model(nnx.Module):
            def __init__(self, rngs):
                self.first, self.last = nnx.Linear(10, 20, rngs=rngs), nnx.Linear(20, 3, rngs=rngs)

            def __call__(self, x):
                return self.last(nnx.relu(self.first(x)))

        self.nnx, self.model, self.x = nnx, Model(nnx.Rngs(0)), jnp.ones((4, 10))
        self.adapter = adapters.adapt(self.model)

    def test_is_a_module(self):
        import numpy as np

        nnx, adapter, x = self.nnx, self.adapter, self.x
        self.assertIs(type(adapter), adapters.NNXBenchmarkAdapter)
        self.assertIsInstance(adapter, nnx.Module)
        self.assertIsInstance(adapter, adapters.BenchmarkAdapter)
        np.testing.assert_allclose(nnx.jit(lambda a, x: a(x))(adapter, x), self.model(x), rtol=1e-6)
        np.testing.assert_allclose(nnx.vmap(lambda a, x: a(x), in_axes=(None, 0))(adapter, x), self.model(x), rtol=1e-6)
        ours = nnx.grad(lambda a: a(x).sum())(adapter)
        theirs = nnx.grad(lambda m: m(x).sum())(self.model)
        np.testing.assert_allclose(ours["target"]["first"]["kernel"][...], theirs["first"]["kernel"][...], rtol=1e-6)

    def test_functions_of_nnx_jit(self):
        adapter = adapters.adapt(self.nnx.jit(lambda model, x: model(x)))
        benchmark = adapter.benchmark(self.model, self.x)
        self.assertEqual(benchmark.cost.flop, self.adapter.cost(self.x).flop)
        self.assertLessEqual(benchmark.run(samples=3, detect=False).run.points[0].metrics["recompilations"].value, 1)  # copies of the model can compile again
        import jax

        other = type("Jit", (jax.stages.Wrapped,), {"trace": lambda *_: None, "lower": None, "__call__": lambda _, x: x})()
        self.assertIn("Jit objects show no jaxpr", adapters.adapt(other).cost(self.x).notes)

    def test_constants_of_a_call(self):
        import jax.numpy as jnp

        class Model(self.nnx.Module):
            def __init__(self, rngs):
                self.layer, self.drop, self.norm = nnx.Linear(10, 10, rngs=rngs), nnx.Dropout(0.5, rngs=rngs), nnx.BatchNorm(10, rngs=rngs)

            def __call__(self, x, mode, *, train=False, activation=None):
                y = self.norm(self.drop(self.layer(x), deterministic=not train), use_running_average=not train)
                return activation(y) if mode == "full" else y

        nnx = self.nnx
        model, x = Model(nnx.Rngs(0)), jnp.ones((4, 10))
        mean = model.norm.mean[...]
        for train in (False, True):
            point = adapters.adapt(model).benchmark(x, "full", train=train, activation=jnp.tanh).run(samples=3, detect=False).run.points[0]
            self.assertEqual((point.metrics["recompilations"].value, point.metrics["transcendental"].value >= 40), (0, True))
        self.assertTrue((model.norm.mean[...] == mean).all())

    def test_trees_that_can_be_called_are_no_constants(self):
        import jax
        import jax.numpy as jnp

        nnx, x = self.nnx, self.x

        class Model(nnx.Module):
            def __init__(self, rngs):
                self.layer, self.drop = nnx.Linear(10, 10, rngs=rngs), nnx.Dropout(0.5)

            def __call__(self, x, scale=None, *, rngs):
                y = self.drop(self.layer(x), deterministic=False, rngs=rngs)
                return y if scale is None else scale(y)

        adapter = adapters.adapt(Model(nnx.Rngs(0)))
        point = adapter.benchmark(x, rngs=nnx.Rngs(0)).run(samples=3, detect=False).run.points[0]
        self.assertEqual(point.metrics["recompilations"].value, 0)
        call = adapter.forward()
        first, again, other = (call(x, rngs=nnx.Rngs(seed)) for seed in (1, 1, 2))
        self.assertTrue((first == again).all())
        self.assertFalse((first == other).all())
        twice, half = (jax.tree_util.Partial(jnp.multiply, jnp.asarray(k)) for k in (2.0, 0.5))
        self.assertTrue((call(x, twice, rngs=nnx.Rngs(1)) == 4 * call(x, half, rngs=nnx.Rngs(1))).all())

    def test_a_call_does_not_look_at_the_whole_model(self):
        graph = type(self.nnx.split(self.model)[0])
        call = self.adapter.forward()
        want = call(self.x)
        fault = mock.Mock(side_effect=AssertionError("the graph of the model was visited"))
        with mock.patch.object(graph, "__hash__", fault), mock.patch.object(graph, "__eq__", fault):
            self.assertTrue((call(self.x) == want).all())

    def test_complexity_and_times(self):
        found = self.adapter.complexity(self.x)
        self.assertEqual((found.parameters, found.bytes_by_dtype, found.largest), (283, {"float32": 1132}, ("first", 220)))
        self.assertEqual(found.cost.flop, 4 * (2 * 10 * 20 + 2 * 20 * 3 + 20 + 20 + 3))
        point = self.adapter.benchmark(self.x).run(samples=3, detect=False).run.points[0]
        self.assertEqual((point.name, point.metrics["parameters"].value, point.metrics["recompilations"].value), ("Model", 283, 0))


@unittest.skipUnless(available("torch"), "torch is not installed")
class Torch(unittest.TestCase):
    def test_a_module(self):
        import torch

        module = torch.nn.Sequential(torch.nn.Linear(10, 20), torch.nn.ReLU(), torch.nn.Linear(20, 3)).eval()
        adapter = adapters.adapt(module)
        found = adapter.complexity(torch.ones(4, 10))
        self.assertEqual((found.parameters, found.bytes_by_dtype, found.largest), (283, {"float32": 1132}, ("0", 220)))
        self.assertEqual(found.cost.flop, 2 * 4 * (200 + 60))
        x = xp.ones((4, 10), dtype="float32")
        self.assertFalse(adapter.forward()(adapter.convert(x)).requires_grad)
        self.assertEqual(len(adapter.benchmark(x, name="mlp").run(samples=3, detect=False).run.points[0].metrics["batch_time"].samples), 3)
        self.assertEqual(float(x[0, 0]), 1.0)

    def test_arrays_of_others(self):
        import numpy as np
        import torch

        a = np.arange(12, dtype="float32").reshape(3, 4)
        fixed = a.copy()
        fixed.flags.writeable = False
        adapter = adapters.adapt(torch.nn.ReLU(inplace=True).eval())
        for x in (a[:, ::2], a[::-1], a.T, np.broadcast_to(a[0], (3, 4)), fixed, a > 3, np.ones(())):
            with self.subTest(x.strides):
                before = x.copy()
                made = adapter.convert([{"x": x}])[0]["x"]
                self.assertIsInstance(made, torch.Tensor)
                np.testing.assert_array_equal(made.numpy(), x)
                if not x.flags.writeable:
                    made.fill_(9)
                    np.testing.assert_array_equal(x, before)
        self.assertEqual(adapter.convert(xp.asarray([True, False])).tolist(), [True, False])
        objects = np.array([None, "a"])
        self.assertIs(adapter.convert(objects), objects)
        x = xp.asarray([-1.0, 2.0], dtype="float32")
        adapter.benchmark(x).run(samples=3, detect=False)  # writes to its argument, which is a copy
        self.assertEqual(x.tolist(), [-1.0, 2.0])
        shared = torch.utils.dlpack.from_dlpack(x.__dlpack__(copy=False))
        self.assertEqual(shared.data_ptr(), np.asarray(x).__array_interface__["data"][0])
        meta = torch.nn.Linear(3, 2, device="meta").eval()
        self.assertEqual(adapters.adapt(meta).convert(a).device.type, "meta")  # that of the module

    def test_modes_and_dtypes(self):
        import torch

        norm = torch.nn.BatchNorm1d(3).train()
        mean, count = norm.running_mean, int(norm.num_batches_tracked)
        adapter = adapters.adapt(norm)
        x = torch.arange(12.0).reshape(4, 3)
        adapter.complexity(x)
        self.assertTrue(norm.training)
        self.assertEqual((norm.running_mean.tolist(), int(norm.num_batches_tracked)), ([0.0] * 3, count))
        self.assertIs(norm.running_mean, mean)
        self.assertTrue(adapter.forward()(x).requires_grad)
        with torch.inference_mode():
            fixed = torch.nn.BatchNorm1d(3).eval()  # whose buffers cannot be written to
        adapters.adapt(fixed).benchmark(x)
        half = torch.nn.Linear(4, 2).to(torch.bfloat16).eval()
        self.assertEqual(adapters.adapt(half).complexity().bytes_by_dtype, {"bfloat16": 20})
        point = adapters.adapt(half).benchmark(torch.ones(3, 4, dtype=torch.bfloat16)).run(samples=3, detect=False).run.points[0]
        self.assertEqual(point.metrics["flop"].value, 2 * 3 * 4 * 2)

    def test_operations_of_a_forward_pass(self):
        import torch

        class Attend(torch.nn.Module):
            def forward(self, q, k):
                return torch.bmm(torch.softmax(torch.bmm(q, k.transpose(1, 2)), -1), k)

        ones = torch.ones
        for module, args, flop in ((torch.nn.Conv2d(3, 8, 3, padding=1, groups=1), (ones(2, 3, 10, 10),), 2 * 2 * 8 * 100 * 27),
                                   (torch.nn.Conv1d(4, 8, 5, groups=2, stride=2), (ones(1, 4, 25),), 2 * 8 * 11 * 10),
                                   (torch.nn.ConvTranspose1d(2, 3, 4), (ones(1, 2, 7),), 2 * 2 * 7 * 3 * 4),
                                   (torch.nn.Linear(6, 5, bias=False), (ones(7, 6),), 2 * 7 * 6 * 5),
                                   (Attend(), (ones(2, 3, 4), ones(2, 5, 4)), 2 * (2 * 2 * 3 * 4 * 5))):
            self.assertEqual(adapters.adapt(module.eval()).cost(*args).flop, flop, module)

    def test_memory_of_devices(self):
        import torch

        class Played:
            """Four devices that hold a model and more; the first call takes 3000 and 400 B on two of them. Resetting leaves what is allocated."""

            held, peak = [1000, 200, 5000, 7], [9000, 9000, 9000, 9000]
            taken = (3000, 400, 0, 0)

            @classmethod
            def reset_peak_memory_stats(cls, device):
                cls.peak[device] = cls.held[device]

            @classmethod
            def max_memory_allocated(cls, device):
                return cls.peak[device]

            @classmethod
            def call(cls, *_):
                cls.peak = [max(p, h + t) for p, h, t in zip(cls.peak, cls.held, cls.taken, strict=True)]

        played = {"is_initialized": lambda: True, "device_count": lambda: 4, "synchronize": lambda: None, "max_memory_allocated": Played.max_memory_allocated,
                  "reset_peak_memory_stats": Played.reset_peak_memory_stats}
        module = torch.nn.Linear(3, 2).eval()
        self.assertIsNone(adapters.adapt(module).benchmark(torch.ones(1, 3)).cost.peak_bytes)
        with mock.patch.multiple(torch.cuda, **played):
            benchmark = adapters.adapt(module).benchmark(torch.ones(1, 3))
            self.assertIsNone(benchmark.cost.peak_bytes)  # of a module on the CPU
            module.register_forward_hook(Played.call)
            benchmark = adapters.adapt(module).benchmark(torch.ones(1, 3))
            self.assertEqual((benchmark.cost.peak_bytes, benchmark.run_evaluation()["peak_bytes"]), (4600.0, 4600.0))
            for function, wanted in ((len, None), (lambda _: Played.call(), 4600.0)):
                self.assertEqual(adapters.adapt(function).benchmark([1]).cost.peak_bytes, wanted)
            held = mock.Mock(is_cuda=True, device=mock.Mock(index=3), spec=["is_cuda", "device"])
            self.assertEqual(adapters.adapt(len).benchmark([held]).cost.peak_bytes, 7.0)  # nothing but the argument's device
        point = benchmark.run(samples=3, detect=False).run.points[0]
        self.assertEqual(point.metrics["peak_bytes"].value, 4600.0)
        self.assertGreater(point.metrics["peak_rss"].value, 1)  # MB


@unittest.skipUnless(available("sklearn"), "sklearn is not installed")
class Estimators(unittest.TestCase):
    def test_an_estimator(self):
        import numpy as np
        from sklearn.linear_model import LinearRegression
        from sklearn.preprocessing import StandardScaler

        x = np.random.default_rng(0).random((100, 5))
        fitted = LinearRegression().fit(x, x[:, 0])
        adapter = adapters.adapt(fitted)
        self.assertEqual((type(adapter).__name__, adapter.method), ("EstimatorBenchmarkAdapter", "predict"))
        self.assertGreaterEqual(adapter.complexity().parameters, 6)
        np.testing.assert_allclose(adapter(x), x[:, 0])
        self.assertEqual(adapters.adapt(StandardScaler().fit(x)).method, "transform")
        fit = adapters.EstimatorBenchmarkAdapter(LinearRegression(), "fit")
        report = fit.benchmark(x, x[:, 0]).run(samples=3, detect=False)
        self.assertGreater(report.run.points[0].metrics["peak_rss"].value, 1)  # MB
        self.assertEqual(report.run.points[0].tags, {"framework": "sklearn"})
        self.assertFalse(hasattr(fit.target, "coef_"))
        with self.assertRaisesRegex(ValueError, "LinearRegression has no method 'transform'"):
            adapters.EstimatorBenchmarkAdapter(fitted, "transform")
        with self.assertRaisesRegex(ValueError, "object has no method 'fit'"):
            adapters.EstimatorBenchmarkAdapter(object())

    def test_estimators_of_estimators(self):
        import numpy as np
        from sklearn.ensemble import BaggingRegressor
        from sklearn.exceptions import NotFittedError
        from sklearn.linear_model import LinearRegression
        from sklearn.model_selection import GridSearchCV
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        x = np.random.default_rng(0).random((100, 5))
        pipeline = make_pipeline(StandardScaler(), LinearRegression())
        with self.assertRaises(NotFittedError):
            adapters.adapt(pipeline).benchmark(x)
        self.assertEqual(adapters.adapt(pipeline).complexity().parameters, 0)
        adapter = adapters.adapt(pipeline.fit(x, x[:, 0]))
        paths = {p.path: p.size for p in adapter.parameters()}
        self.assertEqual((paths["linearregression.coef_"], paths["standardscaler.mean_"], adapter.method), (5, 5, "predict"))
        adapter.benchmark(x).run(samples=3, detect=False)
        bag = adapters.adapt(BaggingRegressor(LinearRegression(), n_estimators=3, random_state=0).fit(x, x[:, 0]))
        self.assertEqual(sum(p.size for p in bag.parameters() if p.path.endswith("coef_")), 15)
        search = adapters.adapt(GridSearchCV(LinearRegression(), {"fit_intercept": [True, False]}, cv=2).fit(x, x[:, 0]))
        self.assertEqual({p.path: p.size for p in search.parameters()}["best_estimator_.coef_"], 5)


if __name__ == "__main__":
    if FRAMEWORKS:
        sys.argv.remove("--frameworks")
    else:
        del Jax, Nnx, Torch, Estimators
    tap.main()
