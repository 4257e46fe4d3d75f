"""Rows as nperf writes them, drawn from a fixed seed, for tests of what is made of rows.  Standard library only."""
import json
import math
import random
import statistics

REVISIONS = ["a" * 7, "b" * 7, "c" * 7, "d" * 7, "e" * 7]


def run_id(number):
    return f"20260101T{number // 3600 % 24:02d}{number // 60 % 60:02d}{number % 60:02d}.000000+0000__{REVISIONS[number % 5]}"


def interval(values):
    """Order statistics next to the median, near 95 %."""
    s = sorted(values)
    k = max(0, int(len(s) / 2 - 0.98 * math.sqrt(len(s))))
    return s[k], s[len(s) - 1 - k]


def row(run=0, case="toy", baseline="stream", point=None, platform="cpu", machine="m" * 32, seconds=1e-3, noise=0.005, launches=25,
        status="ok", seed=0, rss=50.0, compile_s=None, error=0.1, **more):
    draw = random.Random(f"{run} {case} {baseline} {point} {seed}")
    medians = [seconds * math.exp(draw.gauss(0, noise)) for _ in range(launches)]
    lower, upper = interval(medians) if medians else (None, None)
    middle = statistics.median(medians) if medians else seconds
    good = status == "ok"
    r = {"run_id": run_id(run), "case": case, "baseline": baseline, "platform": platform, "framework": "native",
         "param_point": point or {"m": 64, "n": 64, "alg": "real", "seed": 0}, "status": status,
         "metrics": {"steady_time": {"min": min(medians, default=seconds), "median": middle, "p95": 1.1 * middle, "iqr": 0.0, "mean": middle,
                                     "n": 10 * max(launches, 1), "unit": "s", "p99": 1.2 * middle, "lower": lower, "upper": upper,
                                     "level": 0.95 if launches > 6 else None, "launches": medians},
                     "compile_time": {"value": compile_s, "unit": "s", "cache": "cold", "first_call": None},
                     "peak_hbm": {"value": None, "unit": "MB"}, "host_rss": {"value": rss, "unit": "MB", "increase": rss / 2},
                     "throughput": {"value": 4096 / middle, "unit": "elem/s"}, "work": None, "cpu_time": None} if good else None,
         "fidelity": {"status": "ok", "rel_to_tol": error, "max_abs": 1e-6, "max_rel": 1e-6, "n_mismatched": 0, "layout_normalised": True,
                      "oracle": None, "threshold": None, "checks": 3} if good else None,
         "ratio": None, "failure_detail": None if good else {"reason": "worker_crashed", "message": "signal 11", "remedy": None},
         "provenance": {"coverage_mode": "full"}, "schema_version": 1, "variant": "default", "strongest": True, "machine": machine,
         "representative": False, "ratio_paired": None}
    if not launches and r["metrics"]:  # as the first nperf wrote it
        for name in ("p99", "lower", "upper", "level", "launches"):
            del r["metrics"]["steady_time"][name]
    r.update(more)
    return r


def metric(values, unit):
    """A metric over launches as schema version 2 writes it."""
    lower, upper = interval(values)
    return {"value": statistics.median(values), "unit": unit, "lower": lower, "upper": upper, "level": 0.95, "launches": values}


def launched(run=0, baseline="stream", launches=25, compile_s=1.0, warm_s=0.5, memory=50.0, error=0.1, spread=0.02, **more):
    """A row of schema version 2 whose metrics beside the time hold their launches, each drawn with its own spread."""
    draw = random.Random(f"metrics {run} {baseline}")
    r = row(run, baseline=baseline, launches=launches, compile_s=compile_s, rss=2 * memory, error=error, **more)
    m = r["metrics"]
    def drawn(value): return [value * math.exp(draw.gauss(0, spread)) for _ in range(launches)]
    m["compile_time"].update(metric(drawn(compile_s), "s"))
    m["compile_time_warm"] = dict(metric(drawn(warm_s), "s"), cache="warm")
    m["memory_increase"] = metric(drawn(memory), "MB")
    r["fidelity"]["error"] = metric(drawn(error), "bound")
    r["fidelity"]["rel_to_tol"] = max(r["fidelity"]["error"]["launches"])
    r["schema_version"] = 2
    return r


def text(rows):
    return "".join(json.dumps(r) + "\n" for r in rows)
