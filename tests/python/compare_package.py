"""calibrax_c beside the Python package calibrax 0.1.14, in one interpreter that has both: records, files and stores of each read by the other."""

from __future__ import annotations

import json
import math
import random
import shutil
import tempfile
import unittest
from datetime import datetime, timedelta, timezone

import tap

import calibrax_c as cx
from calibrax.core.models import Metric, MetricDef, MetricDirection, MetricPriority, Point, Run, extract_framework_metrics
from calibrax.statistics.significance import welch_t_test
from calibrax.storage import Store

NOON = datetime(2026, 2, 20, 12, 0, 0, 123456, tzinfo=timezone.utc)


def ours(number, value):
    return cx.Run([cx.Point("forward", "train", {"framework": "jax", "batch": str(n)},
                            {"latency": cx.Metric(value * n, value * n * 0.9, value * n * 1.1, (value * n * 0.9, value * n * 1.1)), "loss": 0.5})
                   for n in (1, 2)],
                  id=f"feed{number:08}", timestamp=NOON + timedelta(days=number), commit=f"{number}" * 40, branch="main",
                  environment={"note": "Grüße", "cores": 8}, metadata={"nested": {"list": [1, 2.5, "x", True]}}, detect=False,
                  metric_defs=[cx.MetricDef("latency", "ms", "lower", "speed", "primary", "words")])


def theirs(number, value):
    return Run(id=f"feed{number:08}", timestamp=NOON + timedelta(days=number), commit=f"{number}" * 40, branch="main",
               environment={"note": "Grüße", "cores": 8}, metadata={"nested": {"list": [1, 2.5, "x", True]}},
               points=tuple(Point(name="forward", scenario="train", tags={"framework": "jax", "batch": str(n)},
                                  metrics={"latency": Metric(value=value * n, lower=value * n * 0.9, upper=value * n * 1.1,
                                                             samples=(value * n * 0.9, value * n * 1.1)), "loss": Metric(value=0.5)}) for n in (1, 2)),
               metric_defs={"latency": MetricDef(name="latency", unit="ms", direction=MetricDirection.LOWER, group="speed",
                                                 priority=MetricPriority.PRIMARY, description="words")})


class Package(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def test_dicts(self):
        mine, other = ours(1, 1.25).to_dict(), theirs(1, 1.25).to_dict()
        mine.pop("schema_version")
        self.assertEqual(list(mine), list(other))
        self.assertEqual(mine, other)
        self.assertEqual(Run.from_dict(mine), theirs(1, 1.25))
        self.assertEqual(cx.Run.from_dict(other).points, ours(1, 1.25).points)
        for a, b in ((cx.Metric(1.5, samples=(1.0, 2.0)), Metric(value=1.5, samples=(1.0, 2.0))),
                     (cx.MetricDef("a", "s", MetricDirection.INFO, priority=MetricPriority.PRIMARY),
                      MetricDef(name="a", unit="s", direction=MetricDirection.INFO, priority=MetricPriority.PRIMARY))):
            self.assertEqual(json.dumps(a.to_dict()), json.dumps(b.to_dict()))

    def test_records_are_taken_as_they_are(self):
        r = cx.Run(theirs(1, 1.25).points, metric_defs=theirs(1, 1.25).metric_defs, id="x", timestamp=NOON, detect=False)
        self.assertEqual(r.points, ours(1, 1.25).points)
        self.assertEqual(r.metric_defs, ours(1, 1.25).metric_defs)

    def test_a_store_that_both_write(self):
        a, b = cx.Store(self.folder), Store(self.folder)
        a.save(ours(1, 1.0))
        b.save(theirs(2, 1.1))
        a.save(ours(3, 2.2))
        b.set_baseline("feed00000002")
        self.assertEqual([r.id for r in b.list_runs()], [r.id for r in a.list_runs()])
        self.assertEqual(b.load("feed00000003"), theirs(3, 2.2))
        self.assertEqual(a.load("feed00000002").points, ours(2, 1.1).points)
        self.assertEqual((a.get_baseline().id, b.latest().id), ("feed00000002", a.latest().id))
        a.set_baseline("feed00000001")
        self.assertEqual(b.get_baseline(), theirs(1, 1.0))
        tags = {"framework": "jax", "batch": "2"}
        mine, other = a.extract_trend("latency", "forward", tags), b.extract_trend("latency", "forward", tags)
        self.assertEqual([(p.run_id, p.timestamp, p.value, p.commit, p.lower, p.upper) for p in mine.points],
                         [(p.run_id, p.timestamp, p.value, p.commit, p.lower, p.upper) for p in other.points])
        self.assertEqual({r.id for r in a.query(batch="2")}, {r.id for r in b.query(batch="2")})
        self.assertEqual(b.get_baseline().points[0].metrics["latency"].samples, a.get_baseline().points[0].metrics["latency"].samples)
        self.assertEqual(a.problems(), [])

    def test_statistics(self):
        rng = random.Random(1)
        for _ in range(20):
            x, y = [rng.gauss(10, 2) for _ in range(12)], [rng.gauss(11, 2) for _ in range(15)]
            ours, (statistic, p) = cx.statistics.welch(x, y), welch_t_test(x, y)
            self.assertAlmostEqual(ours.statistic, statistic, delta=1e-5 * abs(statistic) + 1e-6)
            self.assertAlmostEqual(ours.p, p, delta=1e-5)

    def test_framework_metrics(self):
        run = theirs(1, 1.25)
        self.assertEqual(cx.validation.framework_metrics(cx.Run(run.points, detect=False), ["latency", "loss"], last=True),
                         extract_framework_metrics(run, ["latency", "loss"]))

    def test_not_finite(self):
        b = Store(self.folder)
        cx.Store(self.folder).save(cx.Run([cx.Point("p", "s", {}, {"m": math.nan, "n": math.inf})], id="odd", detect=False))
        metrics = b.load("odd").points[0].metrics
        self.assertTrue(math.isnan(metrics["m"].value) and metrics["n"].value == math.inf)

    def test_a_benchmark_of_the_package(self):
        class Toy:
            metric_defs = {"accuracy": MetricDef(name="accuracy", unit="1", direction=MetricDirection.HIGHER)}

            def setup(self):
                self.ready = True

            def run_training(self):
                return {"loss": 0.25}

            def run_evaluation(self):
                return {"accuracy": 0.9}

            def teardown(self):
                self.ready = False

            def get_performance_targets(self):
                return {"accuracy": 0.8}

        try:
            from calibrax.core import BenchmarkProtocol  # needs JAX
            self.assertIsInstance(Toy(), BenchmarkProtocol)
        except ModuleNotFoundError:
            pass
        report = cx.run_benchmark(Toy(), launches=3)
        self.assertTrue(report.passed)
        cx.Store(self.folder).save(report.run)
        kept = Store(self.folder).latest()
        self.assertEqual((kept.id, kept.points[0].metrics["accuracy"].value), (report.run.id, 0.9))
        self.assertEqual(kept.metric_defs["accuracy"].direction, MetricDirection.HIGHER)


if __name__ == "__main__":
    tap.main()
