"""Stores and series for the pipeline's report, from a fixed seed: the same bytes each time."""
import array
import json
import random
import shutil
from datetime import datetime, timedelta, timezone
from pathlib import Path

METRICS = (("latency", "ms", "lower"), ("throughput", "1/s", "higher"), ("memory", "B", "lower"), ("energy", "J", "lower"), ("loss", "", "info"))
MADE = "made"  # stands in a folder that is complete


def run(number: int, points: int, metrics: int, rng: random.Random) -> dict:
    time = datetime(2025, 1, 1, tzinfo=timezone.utc) + timedelta(minutes=number)
    kinds = METRICS[:metrics]

    def measured(scale: int) -> dict:
        v = rng.lognormvariate(0, 0.001) * scale
        return {"value": v, "lower": v * 0.98, "upper": v * 1.02}

    return {"id": f"{number:012x}", "timestamp": time.isoformat(), "commit": f"{number:040x}", "branch": "main",
            "environment": {"machine": "m1", "cpu_count": 2}, "metadata": {"note": "made"},
            "metric_defs": {n: {"name": n, "unit": u, "direction": d, "group": "", "priority": "primary" if n == "latency" else "secondary",
                                "description": ""} for n, u, d in kinds},
            "points": [{"name": f"point{p}", "scenario": "train", "tags": {"framework": "flax", "batch": "32"},
                        "metrics": {n: measured(k + 1) for k, (n, _, _) in enumerate(kinds)}} for p in range(points)]}


def make_store(root: Path, runs: int, points: int, metrics: int) -> None:
    if (root / MADE).exists():
        return
    shutil.rmtree(root, ignore_errors=True)
    (root / "runs").mkdir(parents=True)
    (root / "baselines").mkdir()
    rng = random.Random(1)
    for number in range(runs):
        text = json.dumps(run(number, points, metrics, rng), indent=2)
        (root / "runs" / f"{number:012x}.json").write_text(text)
        if number == runs - 2:
            (root / "baselines" / "main.json").write_text(text)
    (root / MADE).touch()


def make_series(path: Path, n: int, changes: int) -> None:
    """Noise of deviation 1, and as many steps of 5."""
    rng = random.Random(2)
    array.array("d", (rng.gauss(5.0 * (i * (changes + 1) // n % 2), 1) for i in range(n))).tofile(path.open("wb"))
