"""Statistics, analysis, profiling, monitoring and validation from Python.  Prints TAP.

Numbers beside which no reference is named can be checked by hand; compare_scipy.py holds the statistics to SciPy.
"""

from __future__ import annotations

import array
import gc
import inspect
import json
import math
import os
import pickle
import tempfile
import threading
import time
import unittest
import weakref
from datetime import datetime, timezone

import tap

import calibrax_c as cx
from calibrax_c import analysis, ci, exporters, monitoring, profiling, statistics, validation

NAMESPACES = (statistics, analysis, profiling, monitoring, validation, exporters, ci)
ONE = [3.0, 1.0, 2.0, 5.0, 4.0, 7.0, 6.0]


class Names(unittest.TestCase):
    def test_every_function_says_what_it_does(self):
        for space in NAMESPACES:
            for name in dir(space):
                f = getattr(space, name)
                if name.startswith("_") or isinstance(f, type):
                    continue
                with self.subTest(f"{space.__name__}.{name}"):
                    self.assertTrue(f.__doc__)
                    self.assertTrue(inspect.signature(f))

    def test_methods_have_signatures(self):
        for kind in (statistics.Sequence, analysis.ChangeStream, profiling.ResourceMonitor, profiling.EnergyMeter, profiling.EnergyMonitor, profiling.CompilationProfiler, ci.Bisection, profiling.Gpu,
                     profiling.Timeline, monitoring.Window, monitoring.Alerts, monitoring.Health, monitoring.Sink, validation.Validation):
            self.assertIn(kind.__name__ + "(", str(kind.__name__) + str(inspect.signature(kind)))
            for name in vars(kind):
                if not name.startswith("__"):
                    with self.subTest(f"{kind.__name__}.{name}"):
                        self.assertEqual(list(inspect.signature(getattr(kind, name)).parameters)[0], "self")

    def test_answers_are_tuples_with_names(self):
        i = statistics.mean_interval(ONE)
        value, lower, upper, level = i
        self.assertEqual((i.value, i.lower, i.upper, i.level), (value, lower, upper, level))
        self.assertEqual(pickle.loads(pickle.dumps(i)), i)
        with self.assertRaises((AttributeError, TypeError)):
            i.value = 1
        self.assertEqual(type(i).__module__, "calibrax_c.statistics")


class Samples(unittest.TestCase):
    def test_whatever_holds_numbers(self):
        want = statistics.summary(ONE)
        for given in (tuple(ONE), array.array("d", ONE), array.array("f", ONE), [3, 1, 2, 5, 4, 7, 6], memoryview(array.array("d", ONE)),
                      cx.array.asarray(ONE), cx.array.asarray([3, 1, 2, 5, 4, 7, 6]), cx.array.asarray([v for x in ONE for v in (x, -1.0)])[::2]):
            self.assertEqual(statistics.summary(given), want)
        self.assertEqual(statistics.median(range(1, 8)), 4.0)

    def test_what_does_not(self):
        for given in ("1234", [[1.0, 2.0]], [1.0, "x"], {"a": 1}, 1.0, None, [1 + 2j]):
            with self.subTest(given), self.assertRaises((TypeError, ValueError)):
                statistics.median(given)
        with self.assertRaisesRegex(ValueError, "not finite|finite"):
            statistics.median([1.0, math.nan])
        with self.assertRaisesRegex(ValueError, "without values"):
            statistics.median([])
        with self.assertRaisesRegex(ValueError, "as many values on both sides, got 2 and 1"):
            statistics.paired_ratio([1.0, 2.0], [1.0])
        with self.assertRaisesRegex(TypeError, "'x' must be a flat sequence"):
            statistics.median("abc")

    def test_options_name_themselves(self):
        with self.assertRaisesRegex(ValueError, "bootstrap: 'method' must be one of 'percentile', 'basic', 'bca', 'studentised', got 'x'"):
            statistics.bootstrap(ONE, method="x")
        with self.assertRaisesRegex(ValueError, "changepoints: 'window' must be at least 0"):
            analysis.changepoints(ONE, window=-1)
        with self.assertRaisesRegex(TypeError, "unexpected keyword argument 'metod'"):
            statistics.bootstrap(ONE, metod="bca")
        with self.assertRaisesRegex(TypeError, "time: 'function' must be callable"):
            profiling.time(1)


class Statistics(unittest.TestCase):
    def test_order_statistics(self):
        self.assertEqual(statistics.median_interval(ONE), (4.0, 1.0, 7.0, 1 - 2 / 2**7))
        self.assertEqual(statistics.median_interval([1.0, 2.0])[1:], (-math.inf, math.inf, 0.0))
        self.assertEqual(statistics.quantile(ONE, 0.25), 2.5)
        self.assertEqual(statistics.outliers([1.0, 1.1, 0.9, 1.05, 50.0, 1.0]), (4,))

    def test_tests(self):
        t = statistics.mann_whitney([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
        self.assertEqual((t.statistic, t.p, t.p_less, t.p_greater, t.exact), (0.0, 0.1, 0.05, 1.0, True))
        self.assertEqual(statistics.signed_rank([1.0, 2.0, 3.0], None).p, 0.25)
        self.assertEqual(statistics.signed_rank([2.0, 4.0, 6.0], [1.0, 2.0, 3.0]).p, 0.25)
        self.assertEqual(statistics.sign_test_p(0, 5), 2 / 32)
        self.assertEqual(statistics.adjust([0.01, 0.04, 0.03], "bonferroni"), (0.03, 0.12, 0.09))
        self.assertEqual(statistics.permutation([1.0, 2.0], [3.0, 4.0]).p, 2 / 6)

    def test_functions_of_ones_own(self):
        plain = statistics.bootstrap(ONE, resamples=500, seed=3)
        own = statistics.bootstrap(ONE, None, lambda x: math.fsum(x) / len(x), resamples=500, seed=3)
        for a, b in zip(plain, own):
            self.assertAlmostEqual(a, b, places=12)
        two = statistics.bootstrap(ONE, [1.0, 2.0, 3.0], lambda x, y: max(x) - max(y), resamples=200, method="percentile")
        self.assertEqual(two.value, 4.0)
        self.assertEqual(statistics.permutation([1.0, 2.0], [3.0, 4.0], compare=lambda x, y: sum(x) - sum(y)).p, 2 / 6)
        self.assertAlmostEqual(statistics.ks_one([0.1, 0.5, 0.7], lambda x: x).statistic, 0.3)

    def test_their_exceptions_come_out(self):
        def broken(*_):
            raise LookupError("mine")

        for call in (lambda: statistics.bootstrap(ONE, None, broken, threads=4), lambda: statistics.permutation(ONE, ONE, compare=broken),
                     lambda: statistics.ks_one(ONE, broken)):
            with self.assertRaisesRegex(LookupError, "mine"):
                call()
        with self.assertRaises(TypeError):
            statistics.bootstrap(ONE, None, lambda x: "text")

    def test_any_number_of_threads_the_same_bits(self):
        answers = [statistics.bootstrap(ONE, threads=n, seed=5) for n in (1, 2, 7)]
        self.assertEqual(len(set(answers)), 1)

    def test_nested(self):
        launches = [[1.0, 1.2], [2.0, 2.2, 2.4], [3.0]]
        self.assertEqual(statistics.components(launches).groups, 3)
        self.assertAlmostEqual(statistics.bootstrap_nested(launches, resamples=200).value, (1.1 + 2.2 + 3.0) / 3)
        with self.assertRaisesRegex(TypeError, "sequence of sequences"):
            statistics.components(3)

    def test_sequence(self):
        s = statistics.Sequence()
        self.assertEqual(s.mean().level, 0.0)
        for x in (1.0, 1.1, 0.9, 1.05, 0.95) * 4:
            s.add(x)
        i = s.mean()
        self.assertTrue(i.lower < 1.0 < i.upper and i.level == 0.95)
        with self.assertRaises(ValueError):
            s.add(math.nan)
        with self.assertRaises(ValueError):
            statistics.Sequence("bounded", low=1.0, high=0.0)

    def test_plans(self):
        looks = statistics.looks(11, 100)
        self.assertEqual((looks.pairs[0], looks.pairs[-1]), (11, 100))
        self.assertTrue(all(0.95 < v < 1 for v in looks.levels) and looks.error <= 0.05)
        d = statistics.detectable_two(20, 0.05, 0.9)
        self.assertAlmostEqual(statistics.power_two(20, d, 0.05), 0.9, places=6)
        self.assertEqual(statistics.looks_p(statistics.looks(20, 20), 0, 0.0), 0.0)
        # one look is the plain test: its repeated p is the p of the sign test; more looks pay for
        # being more
        for p in (0.001, 0.01, 0.04):
            self.assertAlmostEqual(statistics.looks_p(statistics.looks(20, 20), 0, statistics.sign_test_p(3, 17)), statistics.sign_test_p(3, 17), places=9)
            self.assertGreaterEqual(statistics.looks_p(looks, 0, p), p)
        ended = statistics.looks_end(looks, 1, 30)
        self.assertEqual((ended.pairs, ended.levels[0]), ((11, 30), looks.levels[0]))
        self.assertLess(ended.levels[1], looks.levels[1])  # what is left is spent at once
        self.assertLessEqual(ended.error, 0.05)
        self.assertEqual(pickle.loads(pickle.dumps(looks)), looks)
        for call, fault in ((lambda: statistics.looks_p(looks, 7, 0.5), IndexError), (lambda: statistics.looks_p(looks, 0, 2.0), ValueError),
                            (lambda: statistics.looks_p(tuple(looks), 0, 0.5), TypeError), (lambda: statistics.looks_end(looks, 2, 12), ValueError),
                            (lambda: statistics.looks_p(type(looks)((5, 4), (0.9, 0.9), 0.05, 0.05, (1.0, 1.0), 0.05)[:], 0, 0.5), TypeError),
                            (lambda: statistics.looks_p(type(looks)(((5, 4), (0.9, 0.9), 0.05, 0.05, (1.0, 1.0), 0.05)), 0, 0.5), ValueError),
                            (lambda: statistics.looks_p(type(looks)(((10**9,), (0.9,), 0.05, 0.05, (1.0,), 0.05)), 0, 0.5), ValueError)):
            with self.assertRaises(fault):
                call()
        self.assertEqual(statistics.steady([9.0, 7.0, 5.0] * 4 + [1.0] * 40).kind, "warm-up")
        self.assertEqual(len(statistics.modes([1.0] * 5 + [1.001] * 5 + [2.0] * 5)), 2)


class Analysis(unittest.TestCase):
    STEP = [1.0, 1.1, 0.9] * 10 + [2.0, 2.1, 1.9] * 10

    def test_change_points(self):
        for method in ("pelt", "binary"):
            self.assertEqual(analysis.changepoints(self.STEP, method), (30,))
        stream = analysis.ChangeStream()
        for x in self.STEP:
            stream.append(x)
        self.assertEqual((stream.length(), stream.changes()), (60, (30,)))
        (change,) = analysis.changes(self.STEP)
        self.assertEqual(change.index, 30)
        self.assertEqual(analysis.confirm(self.STEP[:30], self.STEP[30:])[0], "slower")
        self.assertEqual(analysis.changes([1.0] * 50), ())

    def test_ranks(self):
        self.assertEqual([(r.index, r.rank) for r in analysis.rank([3.0, 1.0, math.nan, 1.0])], [(1, 1), (3, 1), (0, 3), (2, 0)])
        self.assertIsNone(analysis.rank([math.nan])[0].value)
        self.assertEqual(analysis.score([[1.0, 10.0], [2.0, 5.0]], ["lower", "higher"]), (1.0, 0.5))
        self.assertEqual(analysis.rank_stability([[1.0, 1.0], [2.0, 2.0]]), ((1.0, 0.0), (0.0, 1.0)))
        self.assertEqual(analysis.pareto([[1, 2], [2, 1], [2, 2]], "lower"), (0, 1))
        self.assertEqual(analysis.pareto([[1, 2], [2, 1], [2, 2]], ["higher", "higher"]), (2,))
        with self.assertRaises(ValueError):
            analysis.pareto([[1, 2]], ["lower"])
        with self.assertRaisesRegex(TypeError, "rows of numbers"):
            analysis.pareto([1, 2], "lower")

    def test_scaling(self):
        sizes = [1, 2, 4, 8, 16, 32]
        g = analysis.growth(sizes, [3 * n for n in sizes])
        self.assertEqual(g.order, "O(n)")
        self.assertAlmostEqual(g.coefficient, 3.0)
        self.assertAlmostEqual(g.exponent.value, 1.0)
        fit = analysis.speedup(sizes, [10 * (0.25 + 0.75 / n) for n in sizes])
        self.assertAlmostEqual(fit.parameter[0].value, 0.25)
        self.assertAlmostEqual(fit.scale, 10.0)

    def test_too_little(self):
        """Nothing to compute with is a ValueError that names function and argument."""
        for call, words in ((lambda: cx.analysis.score([], "lower"), "score: 'values' must be at least one row"),
                            (lambda: cx.analysis.pareto([], "lower"), "pareto: 'points' must be at least one row"),
                            (lambda: cx.analysis.changes([1, 2]), "changes: the series has 2 values"),
                            (lambda: cx.statistics.bootstrap([1, 2, 3], level=0), "bootstrap: 'level' must be greater than 0 and less than 1, got 0"),
                            (lambda: cx.analysis.confirm(range(9), range(9), threshold=float("nan")), "confirm: 'threshold' must be at least 0, got nan"),
                            (lambda: cx.analysis.verdict((1.5, 1.4, 1.6, 0.95), margin=float("nan")), "verdict: 'margin' must be at least 0"),
                            (lambda: cx.statistics.median([]), "median: ")):
            with self.assertRaisesRegex(ValueError, words):
                call()

    def test_a_competitor_a_row(self):
        """Tables of score and pareto have a competitor a row and a metric a column."""
        self.assertEqual(cx.analysis.pareto([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]], "lower"), (0,))
        scores = cx.analysis.score([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]], "lower")
        self.assertEqual((len(scores), max(scores)), (3, scores[0]))

    def test_compare(self):
        def run(name, value):
            return cx.Run([cx.Point("p", "s", {"framework": name}, {"time": cx.Metric(value, samples=[value * k for k in (0.98, 0.99, 1.0, 1.01, 1.02, 1.0, 1.0)])})],
                          metric_defs=[cx.MetricDef("time", "s", "lower")], detect=False)

        c = analysis.compare([run("a", 2.0), run("b", 1.0)], group_tag="framework")
        self.assertEqual((c.labels, c.reference, c.winners[-1].label), (("a", "b"), "a", "b"))
        self.assertEqual([x.rank for x in c.rows[0].cells], [2, 1])
        self.assertAlmostEqual(c.rows[0].cells[1].speedup.value, 2.0)
        self.assertTrue(c.remarks)
        with self.assertRaisesRegex(ValueError, "got 1 for 2 runs"):
            analysis.compare([run("a", 2.0), run("b", 1.0)], labels=["x"])

    def test_verdict(self):
        self.assertEqual([analysis.verdict((v, lo, hi, 0.95)) for v, lo, hi in ((1, 0.99, 1.01), (0.5, 0.4, 0.6), (2, 1.9, 2.1), (1, 0.5, 2))],
                         ["equivalent", "faster", "slower", "undecided"])


class Profiling(unittest.TestCase):
    def test_time(self):
        calls = []
        t = profiling.time(lambda: time.sleep(1e-4) or calls.append(0), samples=4, warmup=2, calls=5, sample_s=0, budget_s=0, percentiles=[50, 100])
        self.assertEqual((len(t.samples), t.percentile, t.calls_per_sample, t.compile_s), (4, (50.0, 100.0), 5, None))
        self.assertEqual(len(calls), t.warmup_calls + 20)
        self.assertEqual(t.percentile_s[1], t.summary.max)
        self.assertTrue(0 < t.summary.min <= t.steady.value)

    def test_time_compiles_apart_and_synchronises(self):
        order = []
        t = profiling.time(lambda: time.sleep(1e-4) or order.append("call"), samples=2, calls=3, sample_s=0, warmup=0, compile=lambda: order.append("compile"),
                           sync=lambda: order.append("sync"))
        self.assertIsNotNone(t.compile_s)
        self.assertEqual(order[:3], ["compile", "call", "sync"])
        self.assertEqual(order[-4:], ["call", "call", "call", "sync"])

    def test_time_waits_for_devices(self):
        class Result:
            waited = 0

            def block_until_ready(self):
                time.sleep(1e-4)
                Result.waited += 1

        profiling.time(Result, samples=3, calls=2, sample_s=0, warmup=0)
        self.assertGreaterEqual(Result.waited, 4)  # the first call, and each window

    def test_exceptions_come_out(self):
        def broken():
            raise LookupError("mine")

        for call in (lambda: profiling.time(broken), lambda: profiling.time(int, compile=broken), lambda: profiling.time(int, sync=broken),
                     lambda: profiling.memory(broken), lambda: profiling.batches([1], lambda b: broken()),
                     lambda: profiling.batches(iter(broken, 0)), lambda: profiling.complexity(lambda n: broken(), [1, 2, 3, 4]),
                     lambda: profiling.complexity(lambda n: broken, [1, 2, 3, 4])):
            with self.assertRaisesRegex(LookupError, "mine"):
                call()
        with self.assertRaisesRegex(TypeError, "'make' must return a callable"):
            profiling.complexity(lambda n: n, [1, 2, 3, 4])

    def test_memory(self):
        kept = []
        m = profiling.memory(lambda: kept.append(b"x" * (64 << 20)))
        self.assertGreater(m.retained_mb, 32)
        self.assertTrue(m.hint)
        if "asan" not in os.environ.get("LD_PRELOAD", ""):  # which keeps for a while what was freed
            self.assertLess(profiling.memory(lambda: b"x" * (64 << 20)).retained_mb, 32)
        p = profiling.memory_pattern([100, 120, 140, 160], [200] * 4)
        self.assertEqual((p.leaks, p.growth_mb, p.max_occupancy), (True, 20.0, 0.8))

    def test_work(self):
        declared = profiling.flops(int, flop=10, bytes=80)
        self.assertIn(declared.source, ("declared", "papi", "perf_event"))
        if declared.source == "declared":
            self.assertEqual((declared.flop, declared.bytes), (10.0, 80.0))
            self.assertTrue(profiling.flops(int).why)

    def test_batches(self):
        b = profiling.batches(range(1, 6), lambda n: sum(range(n)), count=lambda n: n, warmup=2)
        self.assertEqual((b.nbatches, b.elements, b.warmup_elements, len(b.fetch_s)), (3, 12, 3, 3))
        with self.assertRaises(FileNotFoundError):
            profiling.batches([])

    def test_complexity(self):
        r, points = profiling.complexity(lambda n: (lambda: sum(range(n))), [500, 1000, 2000, 4000], samples=3, sample_s=0)
        self.assertEqual([p.size for p in points], [500, 1000, 2000, 4000])
        self.assertTrue(all(p.time.value > 0 for p in points) and r.npoints == 4)
        sizes = [10, 20, 40, 80, 160, 320, 640, 1280]
        self.assertEqual(profiling.complexity_of_points(sizes, [n * n for n in sizes]).order, "O(n^2)")

    def test_processes(self):
        r = profiling.command(["sh", "-c", "exit 0"], runs=6, warmup=0)
        self.assertEqual((len(r.runs), {x.exit_status for x in r.runs}), (6, {0}))
        self.assertGreater(r.wall.level, 0.95)
        self.assertEqual(profiling.command(["sh", "-c", "exit 3"], runs=1, ignore_failure=True).runs[0].exit_status, 3)
        with self.assertRaises(FileNotFoundError):
            profiling.command("there is no such program")
        with self.assertRaisesRegex(ValueError, "must name a program"):
            profiling.command([])

    def test_function_of_a_module(self):
        folder = tempfile.mkdtemp()
        path = os.path.join(folder, "toy.py")
        with open(path, "w", encoding="utf-8") as f:
            f.write("def work():\n    return sum(range(100))\n\ndef broken():\n    raise ValueError('mine')\n")
        c = profiling.function(path, "work", samples=3)
        self.assertEqual((len(c.timing.samples), c.work.source, c.compiled), (3, "none", None))
        with self.assertRaisesRegex((RuntimeError, ChildProcessError), "mine"):
            profiling.function(path, "broken")

    def test_resources(self):
        with profiling.ResourceMonitor(interval_s=0.005) as m:
            kept = bytearray(b"x" * (32 << 20))
        r = m.stop()
        self.assertGreater(r.peak_rss_mb, 32)
        self.assertGreaterEqual(r.num_samples, 2)
        self.assertEqual(m.stop().peak_rss_mb, r.peak_rss_mb)
        self.assertIsNone(r.peak_gpu_mem_mb)
        del kept
        with self.assertRaises(FileNotFoundError):
            profiling.ResourceMonitor(2**30)

    def test_energy_says_why(self):
        r = profiling.EnergyMeter(powercap="/there/is/none").report()
        self.assertIsNone(r.cpu_j)
        self.assertIn("/there/is/none", r.cpu_why)
        self.assertTrue(r.gpu_why)

    def test_energy_over_time(self):
        folder = tempfile.mkdtemp()
        os.mkdir(os.path.join(folder, "intel-rapl:0"))

        def put(name, text):
            with open(os.path.join(folder, "intel-rapl:0", name), "w", encoding="ascii") as f:
                f.write(text)

        put("name", "package-0\n")
        put("max_energy_range_uj", "1000000000\n")
        put("energy_uj", "1000000\n")
        with profiling.EnergyMonitor(3600, powercap=folder) as m:
            put("energy_uj", "4000000\n")
            time.sleep(0.03)  # 20 updates of the sensor and more
        r = m.stop()
        self.assertEqual((len(r.samples), r.total.cpu_j, r.samples[-1].cpu_j, r.total.cpu_why), (1, 3.0, 3.0, ""))
        self.assertEqual([d.name for d in r.total.domain], ["package-0"])
        self.assertTrue(r.total.gpu_why)
        self.assertEqual(m.stop(), r)
        with self.assertRaisesRegex(ValueError, "'interval_s' must be between 0.001 and 3600, got 0.0001"):
            profiling.EnergyMonitor(1e-4)
        with self.assertRaisesRegex(TypeError, "'gpu' must be a Gpu"):
            profiling.EnergyMonitor(gpu=3)

    def test_calls_by_signature(self):
        class Data:
            def __init__(self, *shape, dtype="float32", weak_type=False):
                self.shape, self.dtype, self.weak_type = shape, dtype, weak_type

        made, waited = set(), []

        def compiled(x, mode="fast", **more):
            if (x.shape, mode) not in made:
                made.add((x.shape, mode))
                time.sleep(0.02)
            return x

        p = profiling.CompilationProfiler(compiled, sync=waited.append, static=("mode",))
        kept = Data(2, 3)
        self.assertIs(p(kept), kept)
        for _ in range(3):
            p(kept, mode="fast")
            p(Data(4))
            p(Data(4), mode="small")
        r = p.report()
        self.assertEqual((r.calls, r.signatures, r.hits, r.misses), (10, 4, 6, 4))
        self.assertEqual([(s.text, s.calls) for s in p.signatures()],
                         [("float32(2, 3)", 1), ("float32(2, 3) mode: ='fast'", 3), ("float32(4,)", 3), ("float32(4,) mode: ='small'", 3)])
        self.assertIsNone(p.signatures()[0].compile_s)
        self.assertGreater(p.signatures()[2].compile_s, 0.01)
        self.assertEqual(len(waited), 10)
        p.reset()
        self.assertEqual((p.report().calls, p.signatures(), p.report().hit_rate), (0, (), None))
        # numbers are traced: their types count; text and None are not
        q = profiling.CompilationProfiler(lambda *a, **k: None)
        for args in ((1,), (2,), (1.0,), ("a",), ("b",), (None,), ([Data(1), {"k": Data(2)}],), ([Data(1), {"k": Data(2)}],),
                     (Data(1, weak_type=True),), (cx.array.ones(3),), (cx.array.ones(3) + 1,), (object(),)):
            q(*args)
        self.assertEqual([(s.text, s.calls) for s in q.signatures()],
                         [("int", 2), ("float", 1), ("'a'", 1), ("'b'", 1), ("None", 1), ("( float32(1,) { 'k': float32(2,) } )", 2), ("float32(1,)~", 1),
                          ("float64(3,)", 2), ("object", 1)])
        def broken():
            raise LookupError("mine")

        b = profiling.CompilationProfiler(broken)
        with self.assertRaisesRegex(LookupError, "mine"):
            b()
        self.assertEqual(b.report().calls, 0)
        endless = []
        endless.append(endless)
        with self.assertRaisesRegex(ValueError, "nested too deeply"):
            q(endless)
        with self.assertRaisesRegex(TypeError, "'function' must be callable"):
            profiling.CompilationProfiler(3)

    def test_gpu_says_why(self):
        with self.assertRaisesRegex(RuntimeError, "there-is-none"):
            profiling.Gpu(library="/there-is-none.so")

    def test_machine(self):
        self.assertIn("cores", profiling.machine())
        h = profiling.hardware("NVIDIA H200")
        self.assertEqual((h.name, h.bytes_per_s), ("h200", 4.8e12))
        self.assertIn(h, profiling.hardware_table())
        with self.assertRaises(FileNotFoundError):
            profiling.hardware("abacus")
        roofs = profiling.roofs_of("h200", "bfloat16")
        r = profiling.roofline(roofs, flop=1e12, bytes=1e9, seconds=2e-3)
        self.assertAlmostEqual(r.flop_share, 5e14 / roofs.flop_per_s)
        self.assertEqual((r.bound, r.level, r.intensity), ("compute", "memory", 1000.0))
        with self.assertRaises((TypeError, ValueError)):
            profiling.roofline((1.0, (), True), 1, 1, 1)
        with self.assertRaises(TypeError):
            profiling.roofline("roofs", 1, 1, 1)

    def test_carbon(self):
        self.assertEqual(profiling.carbon_intensity("france"), profiling.carbon_intensity("FRA"))
        self.assertEqual(profiling.carbon_intensity("USA", "California").region, "US-CA")
        self.assertEqual(profiling.carbon_kg(3.6e6, 500.0, pue=2.0), 1.0)
        with self.assertRaises(FileNotFoundError):
            profiling.carbon_intensity("Utopia")
        path = os.path.join(tempfile.mkdtemp(), "emissions.csv")
        profiling.write_emissions(path, [{"project_name": "a, b", "emissions": 0.25}])
        (line,) = profiling.read_emissions(path)
        self.assertEqual((line["project_name"], line["emissions"], line["duration"]), ("a, b", 0.25, None))
        with self.assertRaisesRegex(ValueError, "no such column"):
            profiling.write_emissions(path, [{"emission": 1.0}])

    def test_timeline(self):
        t = profiling.Timeline("me")
        t.begin("outer", notes={"size": 3, "name": "x"})
        t.instant("now")
        t.counter("memory", {"MiB": 12.5})
        t.end()
        path = os.path.join(tempfile.mkdtemp(), "trace.json")
        t.write(path)
        with open(path, encoding="utf-8") as f:
            events = json.load(f)["traceEvents"]
        self.assertTrue({"outer", "now", "memory"} <= {e.get("name") for e in events})
        with self.assertRaises(TypeError):
            t.instant("x", notes=3)


    def test_traces_of_others(self):
        folder = tempfile.mkdtemp()
        session = os.path.join(folder, "plugins", "profile", "2026_01_02")
        os.makedirs(session)
        with self.assertRaisesRegex(FileNotFoundError, "no trace in"):
            profiling.find_trace(folder)
        with open(os.path.join(session, "host.xplane.pb"), "wb") as f:
            f.write(b"\x0a\x03abc")
        reference = profiling.find_trace(folder, "run1")
        self.assertEqual((reference["trace_dir"], reference["run_id"], reference["files"][0]["format"]), (folder, "run1", "xplane"))
        profiling.check_trace(reference)
        with open(os.path.join(session, "host.xplane.pb"), "ab") as f:
            f.write(b"more")
        with self.assertRaisesRegex(ValueError, "was changed"):
            profiling.check_trace(reference)


class Monitoring(unittest.TestCase):
    def test_window(self):
        w = monitoring.Window(3)
        self.assertIsNone(w.read().mean)
        for i, x in enumerate((1.0, 2.0, 3.0, 4.0)):
            w.add(x, now=i)
        w.add(math.nan, now=4)
        f = w.read(now=4)
        self.assertEqual((f.count, f.failures, f.mean, w.values(now=4)), (3, 1, 3.5, (3.0, 4.0)))

    def test_alerts(self):
        book, heard = monitoring.Alerts(), []
        book.listen(heard.append)
        book.add_rule("load", warning=1.0, critical=2.0, hysteresis=0.1)
        self.assertEqual(book.observe("load", 0.5, now=0), ())
        (a,) = book.observe("load", 1.5, now=1)
        self.assertEqual((a.severity, a.before, a.value, a.threshold, a.time_ns), ("warning", "none", 1.5, 1.0, 10**9))
        book.observe("load", 3.0, now=2)
        self.assertEqual((book.severity(), book.severity("load"), book.count()), ("critical", "critical", 2))
        book.observe("load", 0.0, now=3)
        self.assertEqual([x.severity for x in heard], ["warning", "critical", "none"])
        self.assertEqual([x.severity for x in book.recent(2)], ["none", "critical"])
        self.assertEqual([x.value for x in book.by_severity("critical")], [3.0])
        (own,) = book.tell("disk", "it is nearly full", "error", 0.97)
        self.assertEqual((own.rule, own.message, own.threshold), ("disk", "it is nearly full", None))
        book.clear()
        self.assertEqual((book.recent(), book.by_severity("critical"), book.count()), ([], [], 4))
        book.observe("load", 3.0, now=5)
        self.assertEqual(len(book.recent()), 1)
        with self.assertRaisesRegex(ValueError, "no level"):
            book.add_rule("x")
        with self.assertRaisesRegex(ValueError, "one of 'none', 'info', 'warning', 'error', 'critical'"):
            book.by_severity("bad")

    def test_a_listener_that_raises(self):
        book = monitoring.Alerts()
        book.add_rule("x", info=0.0)

        def broken(_):
            raise LookupError("mine")

        book.listen(broken)
        with self.assertRaisesRegex(LookupError, "mine"):
            book.observe("x", 1.0)
        book.listen(None)
        self.assertEqual(book.severity(), "info")

    def test_cycles_are_collected(self):
        class Owner:
            pass

        owner = Owner()
        owner.book = monitoring.Alerts()
        owner.book.listen(lambda a, owner=owner: owner)
        gone = weakref.ref(owner)
        del owner
        gc.collect()
        self.assertIsNone(gone())

    def test_health(self):
        h = monitoring.Health()
        self.assertEqual(h.overall(), "unknown")
        h.set_baseline("p", 1.0)
        for i in range(10):
            h.record("p", 1.0, success=i % 2 == 0, now=i)
        (r,) = h.reports(now=10)
        self.assertEqual((r.pipeline, r.state, r.window.failure_rate, h.overall(now=10)), ("p", "degraded", 0.5, "degraded"))

    def test_sink(self):
        path = os.path.join(tempfile.mkdtemp(), "alerts.jsonl")
        book = monitoring.Alerts()
        book.add_rule("x", error=1.0)
        (alert,) = book.observe("x", 2.0)
        monitoring.Sink("file", path).send(alert, datetime(2026, 1, 1, tzinfo=timezone.utc))
        with open(path, encoding="utf-8") as f:
            line = json.loads(f.read())
        self.assertEqual((line["schema"], line["metric"], line["severity"], line["time"][:10]), ("calibrax-alert", "x", "error", "2026-01-01"))
        with self.assertRaisesRegex(TypeError, "must be an Alert"):
            monitoring.Sink("file", path).send({"metric": "x"})
        with self.assertRaises((ChildProcessError, RuntimeError)):
            monitoring.Sink("command", "exit 3").send(alert)

    def test_tendency(self):
        self.assertEqual(monitoring.tendency([10.0 + i + 0.1 * (i % 3) for i in range(30)]).kind, "rising")
        self.assertEqual(monitoring.tendency([10.0, 10.001, 9.999] * 10).kind, "stable")


class Validation(unittest.TestCase):
    def test_checks(self):
        self.assertEqual(validation.accuracy(0.9, 0.8, "higher"), ("met", 0.9, 0.8, 0.9 - 0.8))
        self.assertEqual(validation.accuracy(cx.Metric(0.9, 0.7, 0.95), 0.8, "higher").outcome, "undecided")
        self.assertEqual(validation.accuracy(math.nan, 0.8, "higher").outcome, "not-finite")
        r = validation.convergence([1.0, 0.5, 0.25, 0.125], [0.3, 0.01])
        self.assertEqual((r.outcome, [t.outcome for t in r.tolerances], r.tolerances[0].iteration), ("converging", ["met", "never"], 3))
        self.assertAlmostEqual(r.rate, math.log(2))
        order, error = validation.order([0.1, 0.05, 0.025], [0.01, 0.0025, 0.000625])
        self.assertAlmostEqual(order, 2.0)
        self.assertAlmostEqual(error, 0.0, places=6)

    def test_report(self):
        v = validation.Validation("solver", "paper")
        self.assertFalse(v.passed())
        v.add_accuracy(cx.MetricDef("error", "1", "lower"), 0.1, 0.2)
        v.add_convergence("residual", [1.0, 0.1, 0.01], 0.05)
        self.assertTrue(v.passed())
        v.add_violation("mass is lost")
        self.assertEqual((v.passed(), v.checks(), v.failures()), (False, 3, 1))
        self.assertEqual(v.to_dict()["violations"], ["mass is lost"])
        with self.assertRaisesRegex(RuntimeError, "was checked already"):
            v.add_convergence("residual", [1.0], 0.5)


class Frameworks(unittest.TestCase):
    def test_a_run_as_a_table(self):
        run = cx.Run([cx.Point("a", "s", {"framework": "jax"}, {"time": 1.0, "loss": math.nan}), cx.Point("b", "s", {}, {"time": 2.0})], detect=False)
        got = validation.framework_metrics(run)
        self.assertEqual((got["jax"]["time"], math.isnan(got["jax"]["loss"]), got["b"]), (1.0, True, {"time": 2.0}))
        self.assertEqual(validation.framework_metrics(run, "time", tag="none"), {"a": {"time": 1.0}, "b": {"time": 2.0}})
        twice = cx.Run([cx.Point("a", "s", {"framework": "jax"}, {"time": 1.0}), cx.Point("b", "s", {"framework": "jax"}, {"time": 2.0})], detect=False)
        with self.assertRaisesRegex(RuntimeError, "more than one 'time'"):
            validation.framework_metrics(twice)
        self.assertEqual(validation.framework_metrics(twice, last=True), {"jax": {"time": 2.0}})


class Exporters(unittest.TestCase):
    def test_runs_and_figures(self):
        folder = tempfile.mkdtemp()
        run = cx.Run([cx.Point("p", "s", {"framework": f}, {"time": t, "loss": cx.Metric(t, samples=[t, t / 10, t / 100])}) for f, t in (("a", 1.0), ("b", 2.0))],
                     id="r1", metric_defs=[cx.MetricDef("time", "s", "lower")], detect=False)
        for form in ("latex", "html", "csv", "markdown", "svg", "google-benchmark", "bmf", "perfherder", "openmetrics", "otlp"):
            for path in exporters.runs([run], form, folder):
                self.assertTrue(os.path.getsize(path) > 0, path)
        with self.assertWarnsRegex(UserWarning, "run 'r1': 2 values are left out: no direction"):
            exporters.runs(run, "github-action-benchmark", folder)
        with self.assertRaisesRegex(OSError, "the MLflow server 'http://127.0.0.1:1' cannot be reached"):
            exporters.runs(run, "mlflow", folder, to="http://127.0.0.1:1", experiment="x")
        (path,) = exporters.runs(run, "svg", folder, "loss", "convergence", dark=True)
        with open(path, encoding="utf-8") as f:
            self.assertIn("iteration", f.read())
        exporters.values({"x": 1.0}, "v", folder)
        with self.assertRaisesRegex((FileExistsError, RuntimeError), "different content"):
            exporters.values({"x": 2.0}, "v", folder)
        exporters.values({"x": 2.0}, "v", folder, replace=True)
        with self.assertRaisesRegex(ValueError, "'format' must be one of 'latex', 'html'"):
            exporters.runs(run, "word", folder)
        with self.assertRaisesRegex(FileNotFoundError, "no point of run 'r1' has the metric 'speed'"):
            exporters.runs(run, "csv", folder, ["speed"])
        with self.assertRaises(TypeError):
            exporters.values([1.0], "v", folder)
        with self.assertRaises(ValueError):
            exporters.convergence([], "v", folder)


class Threads(unittest.TestCase):
    def test_many_at_once(self):
        x = [math.sin(i) + 2 for i in range(20000)]
        want = (statistics.summary(x), statistics.bootstrap(x[:500], resamples=300, seed=1), analysis.changepoints(x[:500]))
        wrong = []

        def work():
            for _ in range(5):
                got = (statistics.summary(x), statistics.bootstrap(x[:500], resamples=300, seed=1), analysis.changepoints(x[:500]))
                if got != want:
                    wrong.append(got)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    tap.main()
