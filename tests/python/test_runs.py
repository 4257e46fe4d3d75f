"""Runs, stores and checks from Python.  Prints TAP."""

from __future__ import annotations

import copy
import enum
import gc
import json
import math
import os
import pickle
import shutil
import tempfile
import threading
import unittest
from datetime import datetime, timedelta, timezone

import tap

import calibrax_c as cx

SOURCE = os.environ.get("CALIBRAX_SOURCE_ROOT", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
FIXTURE = os.path.join(SOURCE, "tests/fixtures/store")
NOON = datetime(2026, 2, 20, 12, tzinfo=timezone.utc)


class Direction(enum.Enum):
    LOWER = "lower"


def latency(value, **more):
    return cx.Metric(value, **more)


def run(number=1, value=1.0, **more):
    fields = {"id": f"cafe{number:08}", "timestamp": NOON + timedelta(hours=number), "commit": f"{number}" * 40, "branch": "main",
              "environment": {"machine": "m1"}, "metadata": {"step": number}, "detect": False,
              "metric_defs": {"latency": cx.MetricDef("latency", "ms", "lower")}}
    return cx.Run([cx.Point("forward", "train", {"framework": "jax"}, {"latency": value})], **{**fields, **more})


class Results(unittest.TestCase):
    """From what the Python package calls a BenchmarkResult to a run."""

    class Result:
        def __init__(self, **more):
            self.more = more

        def to_dict(self):
            with open(os.path.join(SOURCE, "tests/fixtures/runs/result.json"), encoding="utf-8") as f:
                return {**json.load(f), **self.more}

    def test_results_become_points(self):
        made = cx.Run.from_results([self.Result(), self.Result(name="vit", metrics={"batch_time": {"value": 7.0}}).to_dict()], id="r1", timestamp=NOON, detect=False)
        self.assertEqual((made.id, made.timestamp, len(made.points), made.environment), ("r1", NOON, 2, {}))
        first, second = made.points
        self.assertEqual((first.name, first.scenario, first.tags), ("resnet", "vision", {"framework": "flax"}))
        self.assertEqual(first.metrics["batch_time"], cx.Metric(0.5, samples=(0.5, 0.25, 0.75)))
        self.assertEqual((first.metrics["wall_clock"].value, first.metrics["accuracy"].upper), (2.5, 0.91))
        self.assertEqual(second.metrics["batch_time"].value, 7.0)
        self.assertEqual((made.metric_defs["batch_time"].unit, made.metric_defs["peak_rss"].direction), ("s", "lower"))
        self.assertEqual([r["metadata"] for r in made.metadata["results"]], [{"seed": 1}] * 2)

    def test_what_is_no_result(self):
        for bad, fault in ((None, TypeError), ([None], TypeError), ([{"name": "a"}], ValueError), ([3], ValueError), (5, TypeError)):
            with self.assertRaises(fault, msg=repr(bad)):
                cx.Run.from_results(bad, detect=False)
        self.assertEqual(len(cx.Run.from_results([], detect=False).points), 0)
        with self.assertRaises(ValueError):
            cx.Run.from_results([self.Result()], id="../evil", detect=False)


class Records(unittest.TestCase):
    def test_fields_and_defaults(self):
        m = cx.Metric(1.5, samples=[1, 2.0])
        self.assertEqual((m.value, m.lower, m.upper, m.samples), (1.5, None, None, (1.0, 2.0)))
        d = cx.MetricDef("a", "s", Direction.LOWER)
        self.assertEqual((d.direction, d.group, d.priority, d.description), ("lower", "", "secondary", ""))
        p = cx.Point(name="p", scenario="", metrics={"a": 2, "b": m, "c": {"value": 3.0, "lower": 1.0}})
        self.assertEqual((p.metrics["a"], p.metrics["b"], p.metrics["c"].lower), (cx.Metric(2.0), m, 1.0))

    def test_text_comparison_hash(self):
        self.assertEqual(repr(cx.Metric(1.5, upper=2)), "Metric(value=1.5, upper=2.0)")
        self.assertEqual(repr(cx.Point("p", "s", {"k": "v"})), "Point(name='p', scenario='s', tags={'k': 'v'})")
        self.assertTrue(cx.Metric(1.5) == cx.Metric(1.5) != cx.Metric(2))
        self.assertNotEqual(cx.Metric(1.0), 1.0)
        self.assertEqual(len({cx.Metric(1.5), cx.Metric(1.5), cx.Metric(1.5, 1)}), 2)
        with self.assertRaises(TypeError):
            hash(cx.Point("p", "s"))

    def test_immutable(self):
        m, p = cx.Metric(1.5), cx.Point("p", "s", {"k": "v"})
        with self.assertRaises(AttributeError):
            m.value = 2
        with self.assertRaises((AttributeError, TypeError)):
            m.more = 2
        p.tags["k"] = "other"
        self.assertEqual(p.tags, {"k": "v"})

    def test_dicts_and_pickles(self):
        for record in (cx.Metric(1.5, 1, 2, (1, 2)), cx.Metric(math.inf), cx.MetricDef("a", "s", "info", "g", "primary", "d"),
                       cx.Point("p", "s", {"k": "v"}, {"m": cx.Metric(1, samples=(0.5,))})):
            with self.subTest(record=record):
                self.assertEqual(type(record).from_dict(record.to_dict()), record)
                self.assertEqual(pickle.loads(pickle.dumps(record)), record)
                self.assertEqual(copy.deepcopy(record), record)
        self.assertEqual(cx.Metric(1.5).to_dict(), {"value": 1.5})
        self.assertEqual(cx.Metric.from_dict({"value": 1, "lower": None, "unknown": 7}), cx.Metric(1))
        self.assertEqual(cx.Point("p", "s", {}, {"m": 1}).to_dict(), {"name": "p", "scenario": "s", "tags": {}, "metrics": {"m": {"value": 1.0}}})

    def test_what_is_refused(self):
        cases = [
            (lambda: cx.Metric(), TypeError, "Metric.__init__() missing 1 required positional argument: 'value'"),
            (lambda: cx.Metric("1.5"), TypeError, "'value' must be a number, got '1.5'"),
            (lambda: cx.Metric(True), TypeError, "'value' must be a number, got True"),
            (lambda: cx.Metric(1, samples=3), TypeError, "not iterable"),
            (lambda: cx.Metric(1, samples=["a"]), TypeError, "'samples' must be a number"),
            (lambda: cx.Metric(1, valu=2), TypeError, "Metric.__init__() got an unexpected keyword argument 'valu'"),
            (lambda: cx.Metric(1, value=2), TypeError, "Metric.__init__() got multiple values for argument 'value'"),
            (lambda: cx.Metric(1, 2, 3, (), 5), TypeError, "Metric.__init__() takes from 2 to 5 positional arguments but 6 were given"),
            (lambda: cx.MetricDef("a", "s", "up"), ValueError, "'direction' must be 'higher', 'lower' or 'info', got 'up'"),
            (lambda: cx.MetricDef("a", 3, "lower"), TypeError, "'unit' must be text, got 3"),
            (lambda: cx.Point("p", "s", {"k": 3}), TypeError, "'tags' must be a dict of text, got 3"),
            (lambda: cx.Point("p", "s", [1]), TypeError, "'tags' must be a dict, got [1]"),
            (lambda: cx.Point("p", "s", {}, {"m": "fast"}), TypeError, "'value' must be a number, got 'fast'"),
            (lambda: cx.Metric.from_dict({}), ValueError, "Metric: 'value' is missing"),
            (lambda: cx.Metric.from_dict([]), TypeError, "Metric.from_dict: 'mapping' must be a dict, got []"),
        ]
        for make, kind, words in cases:
            with self.subTest(words=words), self.assertRaises(kind) as caught:
                make()
            self.assertIn(words, str(caught.exception))


class Runs(unittest.TestCase):
    def test_ids_times_and_numbers(self):
        """Ids with blanks and of other scripts, a leap second, integers of any length: kept, listed and loaded."""
        points = [cx.Point("a", "", {}, {"m": 1})]
        with tempfile.TemporaryDirectory() as folder, cx.Store(folder) as store:
            for name in ("a b", "\u65e5\u672c"):
                store.save(cx.Run(points, id=name, detect=False, metadata={"n": -(2**63)}))
                self.assertEqual(store.load(name).metadata, {"n": -(2**63)})
            for n in (2**63 - 1, 2**63, 2**64, -(2**63), -(2**63) - 1, -(10**30), 10**300):
                store.save(cx.Run(points, id="a b", detect=False, metadata={"n": [n]}), replace=True)
                self.assertEqual(store.load("a b").to_dict()["metadata"], {"n": [n]})
            store.save(cx.Run(points, id="leap", timestamp="2016-12-31T23:59:60+00:00", detect=False))
            self.assertEqual(sorted(e.id for e in store.entries()), ["a b", "leap", "\u65e5\u672c"])
            self.assertEqual(str(store.load("leap").timestamp), "2017-01-01 00:00:00+00:00")
            self.assertEqual(store.problems(), [])

    def test_what_it_holds(self):
        r = run(7, 1.25)
        self.assertEqual((r.id, r.commit, r.branch, r.timestamp), ("cafe00000007", "7" * 40, "main", NOON + timedelta(hours=7)))
        self.assertEqual((r.environment, r.metadata), ({"machine": "m1"}, {"step": 7}))
        self.assertEqual(r.points[0].metrics["latency"].value, 1.25)
        self.assertEqual(r.metric_defs["latency"].unit, "ms")
        self.assertEqual(repr(r), "Run(id='cafe00000007', timestamp='2026-02-20T19:00:00.000000+00:00', points=1)")

    def test_what_it_finds_out(self):
        r = cx.Run([])
        self.assertRegex(r.id, "^[0-9a-f]{12}$")
        self.assertLess(abs(r.timestamp - datetime.now(timezone.utc)), timedelta(minutes=10))
        self.assertIn("machine", r.environment)
        self.assertEqual(cx.Run([], detect=False).environment, {})
        self.assertEqual(cx.Run([], branch="mine").branch, "mine")

    def test_dict_file_equality(self):
        r = run(3, latency(1.0, lower=0.9, upper=1.1, samples=(0.9, 1.0, 1.1)))
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        path = os.path.join(folder, "r.json")
        r.write(path)
        with open(path, encoding="utf-8") as f:
            self.assertEqual(json.load(f), r.to_dict())
        for other in (cx.Run.read(path), cx.Run.from_dict(r.to_dict()), pickle.loads(pickle.dumps(r)), cx.Run.from_dict(json.loads(json.dumps(r.to_dict())))):
            self.assertEqual(other, r)
            self.assertEqual(hash(other), hash(r))
        self.assertNotEqual(run(3, 2.0), r)

    def test_not_finite(self):
        r = run(1, latency(math.nan, samples=(1.0, math.inf, -math.inf)))
        m = cx.Run.from_dict(r.to_dict()).points[0].metrics["latency"]
        self.assertTrue(math.isnan(m.value))
        self.assertEqual(m.samples, (1.0, math.inf, -math.inf))

    def test_what_is_refused(self):
        class Odd:
            pass

        good = run().to_dict()
        cases = [
            (lambda: run(id="../x"), ValueError, "id"),
            (lambda: run(timestamp="yesterday"), ValueError, ""),
            (lambda: run(timestamp=3), TypeError, "a time must be a datetime or ISO text, got 3"),
            (lambda: run(metadata={"a": Odd()}), TypeError, "Odd'> cannot be kept"),
            (lambda: run(metadata={3: 1}), TypeError, "metadata: keys must be text, got 3"),
            (lambda: run(metadata={"a": None}), ValueError, "Run: 'metadata' must have no None, got one for 'a'"),
            (lambda: run(environment=[1]), TypeError, "Run: 'environment' must be a dict, got [1]"),
            (lambda: run(metric_defs={"a": 3}), TypeError, "MetricDef.from_dict: 'mapping' must be a dict, got 3"),
            (lambda: cx.Run([3]), TypeError, "Point.from_dict: 'mapping' must be a dict, got 3"),
            (lambda: cx.Run.from_dict({**good, "id": None}), ValueError, "id"),
            (lambda: cx.Run.from_dict({k: v for k, v in good.items() if k != "points"}), ValueError, "points"),
            (lambda: cx.Run.from_dict({**good, "points": [{"name": "p", "scenario": "", "metrics": {"m": {"value": "1"}}}]}), ValueError,
             "points.0.metrics.m.value"),
            (lambda: cx.Run.from_dict(None), TypeError, "from_dict: 'mapping' must be a dict, got None"),
            (lambda: cx.Run.read("/no/such/file.json"), FileNotFoundError, "/no/such/file.json"),
            (lambda: run().write("/proc/no/file.json"), OSError, "/proc/no"),
        ]
        for make, kind, words in cases:
            with self.subTest(words=words), self.assertRaises(kind) as caught:
                make()
            self.assertIn(words, str(caught.exception))
        deep: list = []
        for _ in range(200):
            deep = [deep]
        with self.assertRaises(ValueError):
            run(metadata={"deep": deep})


class Stores(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.path = os.path.join(self.folder, "store")

    def filled(self):
        s = cx.Store(self.path)
        for number, value, branch in ((1, 1.0, "main"), (2, 1.1, "main"), (3, 2.2, "dev")):
            s.save(run(number, latency(value, lower=value * 0.9, upper=value * 1.1), branch=branch))
        return s

    def test_runs(self):
        s = self.filled()
        self.assertEqual(repr(s), f"Store('{self.path}')")
        self.assertTrue(os.path.exists(s.save(run(4))))
        self.assertEqual(s.latest().id, "cafe00000004")
        self.assertEqual(s.load("cafe00000002"), run(2, latency(1.1, lower=1.1 * 0.9, upper=1.1 * 1.1)))
        s.save(run(4))  # the same again is no fault
        with self.assertRaises(FileExistsError):
            s.save(run(4, 9.0))
        s.save(run(4, 9.0), replace=True)
        self.assertEqual(s.latest().points[0].metrics["latency"].value, 9.0)
        s.remove("cafe00000004")
        self.assertEqual([r.id[-1] for r in s.list_runs()], ["3", "2", "1"])
        with self.assertRaises(FileNotFoundError):
            s.load("nothing")
        with self.assertRaises(ValueError):
            s.load("cafe")

    def test_queries(self):
        s = self.filled()
        self.assertEqual([e.id[-1] for e in s.entries(branch="main")], ["2", "1"])
        self.assertEqual((s.entries()[0].points, s.entries()[0].machine, s.entries()[0].branch), (1, "m1", "dev"))
        self.assertEqual([r.id[-1] for r in s.list_runs(limit=1)], ["3"])
        self.assertEqual([r.id[-1] for r in s.list_runs(since=NOON + timedelta(hours=2), until=NOON + timedelta(hours=3))], ["2"])
        self.assertEqual(len(s.query(framework="jax")), 3)
        self.assertEqual(s.query(framework="torch"), [])
        self.assertEqual(len(s.entries(point="forward", scenario="train", metric="latency", tags={"framework": "jax"})), 3)
        self.assertEqual(s.entries(metric="loss"), [])
        with self.assertRaises(TypeError):
            s.query("jax")

    def test_trends(self):
        s = self.filled()
        (series,) = s.trend(metric="latency")
        self.assertEqual((series.point_name, series.scenario, series.tags), ("forward", "train", {"framework": "jax"}))
        self.assertEqual([p.value for p in series.points], [1.0, 1.1, 2.2])
        self.assertEqual((series.points[0].run_id, series.points[0].timestamp, series.points[0].lower), ("cafe00000001", NOON + timedelta(hours=1), 0.9))
        self.assertEqual([p.value for p in s.extract_trend("latency", "forward", {"framework": "jax"}, n_runs=2).points], [1.1, 2.2])
        self.assertEqual(s.extract_trend("loss", "forward").points, ())
        s.save(cx.Run([cx.Point("forward", "test", {}, {"latency": 1})], id="other", detect=False))
        with self.assertRaisesRegex(ValueError, "2 series of 'latency'"):
            s.extract_trend("latency", "forward")

    def test_baselines(self):
        s = self.filled()
        self.assertIsNone(s.get_baseline())
        s.set_baseline("cafe00000002")
        s.set_baseline("latest", "dev")
        self.assertEqual((s.get_baseline().id, s.get_baseline("dev").id, s.baselines()), ("cafe00000002", "cafe00000003", ["dev", "main"]))
        s.remove_baseline("dev")
        self.assertEqual(s.baselines(), ["main"])
        with self.assertRaises(FileNotFoundError):
            s.set_baseline("nothing")
        with self.assertRaises(ValueError):
            s.set_baseline("latest", "../x")
        self.assertEqual(s.metric_def("latency").unit, "ms")
        self.assertIsNone(s.metric_def("loss"))

    def test_opening_and_closing(self):
        with self.assertRaises(FileNotFoundError):
            cx.Store(self.path, create=False)
        with cx.Store(self.path, index=False) as s:
            with self.assertRaises(FileNotFoundError):
                s.latest()
            self.assertEqual((s.entries(), s.list_runs(), s.baselines(), s.get_baseline()), ([], [], [], None))
            self.assertFalse(os.path.exists(self.path), "reading makes nothing")
            s.save(run())
            self.assertEqual(s.latest().id, s.entries()[0].id, "and what is kept is seen")
            s.entries()
        self.assertFalse(os.path.exists(os.path.join(self.path, "index.sqlite")))
        self.assertEqual((repr(s), s.path), ("Store(closed)", None))
        for ask in (s.latest, s.entries, s.baselines, s.problems, lambda: s.save(run()), lambda: s.load("x"), lambda: s.trend(), lambda: s.get_baseline()):
            with self.assertRaisesRegex(ValueError, "closed"):
                ask()

    def test_broken_files_are_named(self):
        s = self.filled()
        with open(os.path.join(self.path, "runs", "torn.json"), "w", encoding="utf-8") as f:
            f.write('{"id": "torn", ')
        self.assertEqual(len(s.list_runs()), 3)
        self.assertEqual([file for file, _ in s.problems()], ["runs/torn.json"])
        for call in (s.latest, lambda: s.load("latest"), lambda: s.set_baseline("latest")):  # it may be newer than all others
            self.assertRaisesRegex(ValueError, "'torn.json'.* may be the latest run", call)
        self.assertEqual((s.load("cafe00000001").id, s.get_baseline()), ("cafe00000001", None))
        os.remove(os.path.join(self.path, "runs", "torn.json"))
        self.assertEqual(s.latest().id, "cafe00000003")

    def test_a_store_of_the_package(self):
        shutil.copytree(FIXTURE, self.path)
        s = cx.Store(self.path)
        self.assertEqual([r.id for r in s.list_runs()], ["cafe00000003", "cafe00000002", "cafe00000001"])
        self.assertEqual(s.get_baseline().id, "cafe00000002")
        self.assertEqual(s.latest().environment["note"], "Grüße")
        self.assertEqual([p.value for p in s.extract_trend("latency", "forward", {"framework": "flax"}).points], [1.0, 1.1, 2.2])
        with open(os.path.join(FIXTURE, "runs/cafe00000001.json"), encoding="utf-8") as f:
            self.assertEqual(s.load("cafe00000001").to_dict(), json.load(f))

    def test_threads(self):
        s, faults = cx.Store(self.path), []

        def work(base):
            try:
                for i in range(10):
                    s.save(run(base + i))
                    s.entries(limit=3)
                    s.load(f"cafe{base + i:08}")
            except Exception as fault:  # distinguished by the main thread
                faults.append(fault)

        threads = [threading.Thread(target=work, args=(100 * k,)) for k in range(1, 5)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(faults, [])
        self.assertEqual(len(s.entries()), 40)


class Checks(unittest.TestCase):
    def outcomes(self, current, baseline, **more):
        check = cx.Check(current, baseline, **more)
        return check.exit_code, [f.outcome for f in check.findings]

    def test_outcomes(self):
        none = {"metric_defs": {}}
        for current, baseline, more, wanted in [
            (run(2, 1.0), run(1, 1.0), {}, (0, ["unchanged"])),
            (run(2, 1.2), run(1, 1.0), {}, (1, ["regressed"])),
            (run(2, 0.8), run(1, 1.0), {}, (0, ["improved"])),
            (run(2, 1.2), run(1, 1.0), {"threshold": 0.3}, (0, ["unchanged"])),
            (run(2, 1.2), run(1, 1.0), {"thresholds": {"lat*": 0.3}}, (0, ["unchanged"])),
            (run(2, math.nan), run(1, 1.0), {}, (1, ["not-a-number"])),
            (run(2, 1.0), run(1, math.nan), {}, (2, ["baseline-not-a-number"])),
            (run(2, 1.0), run(1, 0.0), {}, (2, ["baseline-impossible-time"])),
            (run(2, 1.0, **none), run(1, 1.0, **none), {}, (2, ["no-definition"])),
            (run(2, 1.0, **none), run(1, 1.0, **none), {"defs": run()}, (0, ["unchanged"])),
            (run(2, 1.0, **none), run(1, 1.0), {}, (2, ["no-definition-now"])),
            (run(2, 1.0), run(1, 1.0, **none), {}, (2, ["no-definition-baseline"])),
        ]:
            with self.subTest(wanted=wanted, more=more):
                self.assertEqual(self.outcomes(current, baseline, **more), wanted)
        empty = cx.Run([], detect=False, environment={"machine": "m1"})
        self.assertEqual(self.outcomes(empty, run())[0], 2)
        self.assertEqual(cx.Check(run(2), run(1, environment={"machine": "m2"})).exit_code, 2)
        self.assertEqual(cx.Check(run(2), run(1, environment={"machine": "m2"}), allow_other_machine=True).exit_code, 0)

    def test_what_proves_nothing(self):
        r = run(1, 1.0)
        for check, reason in [(cx.Check(r, r), "same-run"), (cx.Check(run(2), run(1, environment={"machine": "m2"})), "other-machine"),
                              (cx.Check(run(2), run(1, environment={})), "unknown-machine")]:
            self.assertEqual((check.exit_code, check.passed, check.reason, check.findings), (2, False, reason, ()))
        self.assertIsNone(cx.Check(run(2), run(1)).reason)
        with self.assertRaisesRegex(ValueError, "fits 'latancy'"):
            cx.Check(run(2), run(1), thresholds={"latancy": 0.01})
        with self.assertRaisesRegex(ValueError, "infinite"):
            cx.Check(run(2), run(1), threshold=math.inf)

    def test_samples_decide(self):
        base = [1.00, 1.01, 0.99, 1.02, 0.98, 1.03, 0.97, 1.00]
        slow = [1.2 * x for x in base]
        check = cx.Check(run(2, latency(1.2, samples=slow)), run(1, latency(1.0, samples=base)))
        self.assertEqual((check.passed, check.findings[0].basis, check.findings[0].outcome), (False, "samples", "regressed"))
        self.assertAlmostEqual(check.findings[0].change, 0.2)
        wide = latency(1.0, samples=[0.5, 1.5, 0.7, 1.3, 0.9, 1.1, 1.0, 1.4])
        self.assertEqual(cx.Check(run(2, wide), run(1, wide)).exit_code, 3)
        self.assertEqual(cx.Check(run(2, wide), run(1, wide), undecided_passes=True).exit_code, 0)

    def test_the_answer(self):
        check = cx.Check(run(2, 1.2), run(1, 1.0))
        self.assertIn("exit_code=1", repr(check))
        self.assertEqual(check.to_dict()["findings"][0]["outcome"], "regressed")
        self.assertIn("forward", check.text())
        self.assertTrue(check.text("junit").startswith("<?xml"))
        self.assertIn("::error", check.text("github"))
        with self.assertRaisesRegex(ValueError, "'format' must be one of 'text'"):
            check.text("pdf")

    def test_waivers(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        path = os.path.join(folder, "waivers.json")
        key = cx.Check(run(2, 1.2), run(1, 1.0)).to_dict()["findings"][0]["key"]
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"schema": "calibrax-waivers", "schema_version": 1, "waivers": [{"key": key, "reason": "known", "until": "2999-01-01"}]}, f)
        check = cx.Check(run(2, 1.2), run(1, 1.0), waivers=path)
        self.assertEqual((check.exit_code, check.findings[0].waived_by, check.findings[0].exit_code), (0, key, 0))
        with self.assertRaises(FileNotFoundError):
            cx.Check(run(2), run(1), waivers=path + "x")

    def test_what_is_refused(self):
        for make, kind in [(lambda: cx.Check(run(), 3), TypeError), (lambda: cx.Check(run()), TypeError),
                           (lambda: cx.Check(run(), run(), threshold=-1), ValueError), (lambda: cx.Check(run(), run(), level=2), ValueError),
                           (lambda: cx.Check(run(), run(), thresholds=[1]), TypeError), (lambda: cx.Check(run(), run(), defs=3), TypeError)]:
            with self.assertRaises(kind):
                make()

    def test_nothing_is_kept(self):
        def once():
            r = run(1, latency(1.0, samples=(1.0, 2.0)))
            cx.Check(cx.Run.from_dict(r.to_dict()), r).to_dict()
            cx.Point.from_dict(r.points[0].to_dict())

        once()
        gc.collect()
        before = len(gc.get_objects())
        for _ in range(50):
            once()
        gc.collect()
        self.assertLess(len(gc.get_objects()) - before, 50)


if __name__ == "__main__":
    tap.main()
