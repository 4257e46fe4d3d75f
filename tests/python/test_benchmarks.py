"""Benchmarks run from Python: an object that meets the protocol into a Run.  Prints TAP."""

from __future__ import annotations

import gc
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
import unittest

import tap

import calibrax_c as cx


class Model:
    """The five methods of the Python package's BenchmarkProtocol."""

    def __init__(self, accuracy=0.9, fail="", error=ValueError):
        self.accuracy, self.fail, self.error, self.log = accuracy, fail, error, []

    def enter(self, phase):
        self.log.append(phase)
        if self.fail == phase:
            raise self.error(f"{phase} was reported to fail")

    def setup(self):
        self.enter("setup")

    def run_training(self):
        self.enter("training")
        return {"loss": 0.5, "accuracy": 0.1}

    def run_evaluation(self):
        self.enter("evaluation")
        return {"accuracy": self.accuracy}

    def teardown(self):
        self.enter("teardown")

    def get_performance_targets(self):
        self.enter("targets")
        return {"accuracy": 0.8}


HIGHER = [cx.MetricDef("accuracy", "1", "higher")]


class Protocol(unittest.TestCase):
    def test_a_run(self):
        model = Model()
        report = cx.run_benchmark(model, defs=HIGHER, tags={"size": "small"}, config={"depth": 3})
        self.assertEqual(model.log, ["setup", "training", "evaluation", "targets", "teardown"])
        (point,) = report.run.points
        self.assertEqual((point.name, point.scenario, point.tags), ("Model", "", {"size": "small"}))
        self.assertEqual((point.metrics["accuracy"], point.metrics["loss"]), (cx.Metric(0.9), cx.Metric(0.5)))
        self.assertGreater(point.metrics["training_seconds"].value, 0)
        self.assertGreater(point.metrics["peak_rss"].value, 1)
        self.assertEqual(report.run.metric_defs["accuracy"].direction, "higher")
        self.assertEqual(report.run.metadata["benchmarks"][0]["config"], {"depth": 3})
        self.assertIn("machine", report.run.environment)
        self.assertEqual([(t.metric, t.outcome, t.target) for t in report.targets], [("accuracy", "met", 0.8)])
        self.assertEqual((report.passed, report.exit_code, report.failures), (True, 0, ()))
        self.assertEqual(report.to_dict()["schema"], "calibrax-benchmark-report")
        self.assertIn("exit_code=0", repr(report))

    def test_launches_are_samples(self):
        class Counter:
            n = 0

            def run_evaluation(self):
                self.n += 1
                return {"n": self.n}

        metric = cx.run_benchmark(Counter(), launches=7, name="count", scenario="up").run.points[0].metrics["n"]
        self.assertEqual(metric, cx.Metric(4, 1, 7, range(1, 8)))

    def test_targets(self):
        for accuracy, more, outcome, code in [
                (0.7, {"defs": HIGHER}, "missed", 1),
                (math.nan, {"defs": HIGHER}, "not-a-number", 1),
                (0.9, {}, "no-direction", 2),
                (0.9, {"defs": HIGHER, "targets": {"accuracy": 0.95}}, "missed", 1),
        ]:
            report = cx.run_benchmark(Model(accuracy), **more)
            self.assertEqual((report.targets[0].outcome, report.exit_code, report.passed), (outcome, code, False))
            self.assertIn("accuracy", report.targets[0].sentence)
        report = cx.run_benchmark(Model(), defs=HIGHER, targets={"speed": 1})
        self.assertEqual({t.metric: t.outcome for t in report.targets}, {"speed": "missing-metric", "accuracy": "met"})

    def test_exceptions_come_out_after_teardown(self):
        for phase in ("setup", "training", "evaluation", "targets"):
            model = Model(fail=phase)
            try:
                cx.run_benchmark(model)
                self.fail("nothing was raised")
            except ValueError as fault:
                self.assertEqual(str(fault), f"{phase} was reported to fail")
                self.assertIn("enter", [frame.name for frame in traceback.extract_tb(fault.__traceback__)])
            self.assertEqual(model.log[-1], "teardown")
        with self.assertRaisesRegex(ValueError, "teardown was reported to fail"):
            cx.run_benchmark(Model(fail="teardown"))
        for error in (KeyboardInterrupt, SystemExit):
            model = Model(fail="training", error=error)
            with self.assertRaises(error):
                cx.run_benchmark(model, keep_going=True)
            self.assertEqual(model.log[-1], "teardown")

    def test_keep_going(self):
        class Moody(Model):
            def run_evaluation(self):
                if self.log.count("training") == 2:
                    raise ValueError("not today")
                return super().run_evaluation()

        report = cx.run_benchmark(Moody(), launches=3, defs=HIGHER, keep_going=True)
        (failure,) = report.failures
        self.assertEqual((failure.launch, failure.phase, failure.message), (2, "evaluation", "not today"))
        self.assertEqual(len(report.run.points[0].metrics["accuracy"].samples), 2)
        self.assertEqual((report.targets[0].outcome, report.exit_code), ("incomplete", 2))
        report = cx.run_benchmark(Model(fail="setup"), keep_going=True)
        self.assertEqual((report.run, report.exit_code), (None, 2))

    def test_classes_are_made(self):
        report = cx.run_benchmark(Model, config={"accuracy": 0.5}, defs=HIGHER)
        self.assertEqual((report.run.points[0].metrics["accuracy"].value, report.exit_code), (0.5, 1))
        with self.assertRaisesRegex(TypeError, "speed"):
            cx.run_benchmark(Model, config={"speed": 1})

    def test_work(self):
        class Sum:
            name, domain = "sum", "cpu"
            calls = 0

            def work(self):
                self.calls += 1
                sum(range(1000))

        model = Sum()
        report = cx.run_benchmark(model, samples=5, sample_s=1e-4)
        (point,) = report.run.points
        self.assertEqual((point.name, point.scenario, len(point.metrics["batch_time"].samples)), ("sum", "cpu", 5))
        self.assertGreater(model.calls, 5)
        self.assertTrue(0 < point.metrics["batch_time"].value < 1)

    def test_datasets(self):
        class Numbers:
            def __len__(self):
                return 10

            def __getitem__(self, i):
                return i

        class Batchable(Numbers):
            def get_batch(self, size, start):
                return {"x": cx.array.arange(start, min(start + size, 10))}

        class Pass:
            def __init__(self, dataset):
                self.dataset, self.seen = dataset, []

            def run_batch(self, batch):
                self.seen.append(batch["x"].shape[0] if isinstance(batch, dict) else len(batch))

        for dataset in (Numbers(), Batchable()):
            model = Pass(dataset)
            metrics = cx.run_benchmark(model, batch_size=4, warmup=1).run.points[0].metrics
            self.assertEqual((model.seen, len(metrics["batch_time"].samples)), ([4, 4, 2], 2))
            self.assertGreater(metrics["throughput"].value, 0)
        model = Pass(Numbers())
        cx.run_benchmark(model, batch_size=4, max_batches=1)
        self.assertEqual(model.seen, [4])
        with self.assertRaisesRegex(ValueError, "no examples"):
            cx.run_benchmark(Pass([]))
        for given in ({"x": cx.array.arange(0, 3)}, [0, 1, 2], (cx.array.arange(0, 3), cx.array.arange(0, 5))):
            short = Numbers()
            short.get_batch = lambda size, start, given=given: given
            with self.assertRaisesRegex(ValueError, "the batch from example 0 on has 3 rows: get_batch must return 4"):
                cx.run_benchmark(Pass(short), batch_size=4)
        nested = Numbers()
        nested.get_batch = lambda size, start: {"inputs": {"ids": 1, "mask": 2}}
        model = Pass(nested)
        model.run_batch = lambda batch: model.seen.append(batch)
        cx.run_benchmark(model, batch_size=4)
        mixed = Numbers()
        mixed.get_batch = lambda size, start: {"t": 5, "x": [0, 1, 2]}
        with self.assertRaisesRegex(ValueError, "has 3 rows"):
            cx.run_benchmark(Pass(mixed), batch_size=4)
        pair = Numbers()
        pair.get_batch = lambda size, start: (cx.array.arange(start, min(start + size, 10)), "labels")
        model = Pass(pair)
        model.run_batch = lambda batch: model.seen.append(batch[0].shape[0])
        cx.run_benchmark(model, batch_size=4)
        self.assertEqual(model.seen, [4, 4, 2])
        with self.assertRaises(TypeError):
            cx.run_benchmark(Pass(3))

    def test_a_trace(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        path = os.path.join(folder, "trace.json")
        run = cx.run_benchmark(Model(), trace=path).run
        self.assertEqual(run.metadata["trace"]["file"], path)
        with open(path, encoding="utf-8") as f:
            names = {e["name"] for e in json.load(f)["traceEvents"] if e["ph"] == "X"}
        self.assertLessEqual({"setup", "training", "evaluation", "teardown"}, names)

    def test_kept_checked_compared(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        store = cx.Store(folder)
        for accuracy in (0.9, 0.5):
            store.save(cx.run_benchmark(Model(accuracy), defs=HIGHER, targets={}).run)
        newest, oldest = store.list_runs()
        check = cx.Check(newest, oldest)
        self.assertEqual({f.metric: f.outcome for f in check.findings}["accuracy"], "regressed")

    def test_what_is_refused(self):
        class Gives:
            def __init__(self, value):
                self.value = value

            def run_evaluation(self):
                return self.value

        for make, kind, words in [
                (lambda: cx.run_benchmark(3), TypeError, "'benchmark' must be an object with run_training"),
                (lambda: cx.run_benchmark(Gives([1])), TypeError, "must return a dict of numbers"),
                (lambda: cx.run_benchmark(Gives({"a": "fast"})), TypeError, "must return numbers by name"),
                (lambda: cx.run_benchmark(Gives({"a": True})), TypeError, "must return numbers by name"),
                (lambda: cx.run_benchmark(Gives({1: 1.0})), TypeError, "must return numbers by name"),
                (lambda: cx.run_benchmark(Model(), launches=0), ValueError, "launches"),
                (lambda: cx.run_benchmark(Model(), level=2), ValueError, "level"),
                (lambda: cx.run_benchmark(Model(), tags={"a": 1}), TypeError, "a tag must be text"),
                (lambda: cx.run_benchmark(Model(), targets=[1]), TypeError, "a dict of numbers by name"),
                (lambda: cx.run_benchmark(Model(), defs=[3]), TypeError, "MetricDef.from_dict: 'mapping' must be a dict"),
                (lambda: cx.run_benchmark(Model(), config=[3]), TypeError, "'config' must be a dict"),
                (lambda: cx.run_benchmark(Model(), trace="/proc/no/trace.json"), OSError, "/proc/no"),
                (lambda: cx.Report(), TypeError, ""),
        ]:
            with self.subTest(words=words), self.assertRaises(kind) as caught:
                make()
            self.assertIn(words, str(caught.exception))
        self.assertIsNotNone(cx.run_benchmark(Gives(None)).run)
        self.assertEqual(cx.run_benchmark(Gives({"a": cx.array.asarray(2.5)})).run.points[0].metrics["a"].value, 2.5)

    def test_nothing_is_kept(self):
        def once():
            cx.run_benchmark(Model(), defs=HIGHER, detect=False).to_dict()
            try:
                cx.run_benchmark(Model(fail="training"), detect=False)
            except ValueError:
                pass

        once()
        gc.collect()
        before = len(gc.get_objects())
        for _ in range(30):
            once()
        gc.collect()
        self.assertLess(len(gc.get_objects()) - before, 30)


MODULE = """
class Base:
    def setup(self): pass
    def run_training(self): return {}
    def teardown(self): pass
    def get_performance_targets(self): return {}


class Sum(Base):
    name, domain = "sum", "arithmetic"

    def __init__(self, n=1000):
        self.n = n

    def setup(self):
        self.numbers = range(self.n)

    def work(self):
        return sum(self.numbers)

    def run_evaluation(self):
        return {"total": sum(self.numbers)}

    def get_performance_targets(self):
        return {"total": 499500}


class Broken(Base):
    name = "broken"

    def run_evaluation(self):
        raise ValueError("told to fail")
"""
TOTAL = [cx.MetricDef("total", "1", "higher")]


class Launches(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.module = os.path.join(self.folder, "sums.py")
        with open(self.module, "w", encoding="utf-8") as f:
            f.write(MODULE)

    def test_a_module(self):
        r = cx.launch_benchmarks(module=self.module, benchmarks="sum", launches=6, samples=2, sample_s=0, defs=TOTAL, tags={"size": "1000"}, detect=False)
        self.assertTrue(r.passed, r.to_dict())
        (point,) = r.run.points
        self.assertEqual((point.name, point.tags, point.metrics["total"].samples), ("sum", {"size": "1000"}, (499500.0,) * 6))
        self.assertEqual(len(point.metrics["launch_seconds"].samples), 6)
        small = cx.launch_benchmarks(module=self.module + ":Sum", config={"n": 10}, defs=TOTAL, detect=False)
        self.assertEqual((small.exit_code, small.targets[0].outcome, small.run.points[0].metrics["total"].value), (1, "missed", 45.0))

    def test_one_that_fails(self):
        r = cx.launch_benchmarks(module=self.module, defs=TOTAL, detect=False)
        self.assertEqual([(f.benchmark, f.phase) for f in r.failures], [("broken", "evaluation")])
        self.assertIn("told to fail", r.failures[0].message)
        self.assertEqual((r.exit_code, [p.name for p in r.run.points]), (2, ["sum"]))

    def test_a_command(self):
        r = cx.launch_benchmarks(command=["sh", "-c", "echo '{\"total\": 3}'"], launches=2, targets={"total": 2}, defs=TOTAL, detect=False)
        self.assertEqual((r.exit_code, r.run.points[0].name, r.run.points[0].metrics["total"].value), (0, "sh", 3.0))
        silent = cx.launch_benchmarks(command="true", metrics="none", detect=False)
        self.assertNotIn("total", silent.run.points[0].metrics)
        file = os.path.join(self.folder, "commands.json")
        with open(file, "w", encoding="utf-8") as f:
            json.dump({"schema": "nperf-case", "version": 1, "name": "t", "kind": "commands", "baselines": [{"name": "one", "command": ["true"]}, {"name": "two", "command": "exit 0"}]}, f)
        self.assertEqual([p.name for p in cx.launch_benchmarks(file=file, detect=False).run.points], ["one", "two"])

    def test_what_is_refused(self):
        for call, fault, words in ((lambda: cx.launch_benchmarks(), TypeError, "takes one of 'module', 'plugin', 'file' and 'command'"),
                                   (lambda: cx.launch_benchmarks(module="a", command="b"), TypeError, "takes one of"),
                                   (lambda: cx.launch_benchmarks(command=[]), ValueError, "'command' must be a program"),
                                   (lambda: cx.launch_benchmarks(command="true", metrics="all"), ValueError, "'metrics' must be one of 'auto', 'stdout', 'none'"),
                                   (lambda: cx.launch_benchmarks(command="true", launches=0), ValueError, "launches"),
                                   (lambda: cx.launch_benchmarks(command="true", level=1.0), ValueError, "level"),
                                   (lambda: cx.launch_benchmarks(command="true", config=[]), TypeError, "'config' must be a dict"),
                                   (lambda: cx.launch_benchmarks(command="true", tags={"a": 1}), TypeError, "a tag must be text"),
                                   (lambda: cx.launch_benchmarks(module=self.module, benchmarks=["none"]), FileNotFoundError, "none"),
                                   (lambda: cx.launch_benchmarks(module="no_such_module_here"), (FileNotFoundError, RuntimeError, ChildProcessError), "no_such_module_here"),
                                   (lambda: cx.launch_benchmarks(plugin=os.path.join(self.folder, "none.so")), (FileNotFoundError, RuntimeError, ValueError), "none.so|calibrax-benchmark"),
                                   (lambda: cx.launch_benchmarks(file=os.path.join(self.folder, "none.json")), FileNotFoundError, "none.json")):
            with self.subTest(words), self.assertRaisesRegex(fault, words):
                call()

    def test_an_interrupt_ends_it(self):
        code = ("import calibrax_c as cx, os, signal, threading\n"
                "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell may have told its background jobs to ignore it
                "threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
                "try:\n    cx.launch_benchmarks(command=['sleep', '0.05'], launches=2000, detect=False)\n"
                "except KeyboardInterrupt:\n    print('interrupted')\n")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
        self.assertEqual((done.stdout, done.returncode), ("interrupted\n", 0), done.stderr)


if __name__ == "__main__":
    tap.main()
