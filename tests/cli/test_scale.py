"""Time of calibrax over runs of many metrics, points or scenarios: four times as many cost about four times as much, never sixteen times."""
import json
import os
import random
import resource

from harness import CALIBRAX, check, has, main, one_sentence, peak_mb

FEW, MANY = 4000, 16000
GROWTH = 9  # fourfold is 4, and up to 6 where memory no longer lies in a cache; a loop in a loop is 16
SLACK = 0.2  # s: of what is too short to be told

COMMANDS = [["show", "--list"], ["check"], ["show", "--run", "run2"], ["summary"], ["compare", "--diff", "run0", "run2"], ["compare", "run0", "run2"], ["trend"], ["trend", "--changes"],
            ["show", "--points"], ["store", "verify"], ["check", "--target", "metric000000=5"], ["export", "--format", "asv", "--all", "--out", "asv"],
            ["export", "--format", "csv", "--run", "run2", "--against", "run0", "--out", "against"]]


def run(number, n, shape):
    rng = random.Random(number)
    names = [f"metric{k:06d}" for k in range(n)]

    def measured():
        v = rng.lognormvariate(0, 0.01)
        return {"value": v, "lower": v * 0.98, "upper": v * 1.02}

    points = {
        "metrics": lambda: [{"name": "p", "scenario": "s", "metrics": {m: measured() for m in names}}],
        "points": lambda: [{"name": f"p{k}", "scenario": "s", "tags": {"framework": f"f{k % 2}"}, "metrics": {m: measured()}} for k, m in enumerate(names)],
        "scenarios": lambda: [{"name": "p", "scenario": f"s{k}", "tags": {"framework": f"f{k % 7}", "k": str(k)}, "metrics": {names[0]: measured()}} for k in range(n)],
    }[shape]()
    return {"id": f"run{number}", "timestamp": f"2026-01-0{number + 1}T00:00:00+00:00", "commit": f"c{number}", "branch": "main",
            "environment": {"machine": "m1"}, "metadata": {},
            "metric_defs": {m: {"name": m, "unit": "ms", "direction": "lower", "group": "", "priority": "primary", "description": ""}
                            for m in names[:1 if shape == "scenarios" else n]},
            "points": points}


def make_store(p, n, shape):
    folder = p.file(f"{shape}{n}")
    os.makedirs(f"{folder}/runs")
    os.makedirs(f"{folder}/baselines")
    for number in range(3):
        for path in [f"{folder}/runs/run{number}.json"] + [f"{folder}/baselines/main.json"] * (number == 0):
            with open(path, "w", encoding="utf-8") as f:
                json.dump(run(number, n, shape), f)


def cpu(p, *args):
    """Seconds of the processor, which a busy machine takes hardly more of."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    p.run(*args, program=CALIBRAX)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def grows_as_its_runs(p, shape):
    for n in (FEW, MANY):
        make_store(p, n, shape)
    for command in COMMANDS:
        few, many = (cpu(p, *command, "--data", f"{shape}{n}", *(["--replace"] if "--out" in command else [])) for n in (FEW, MANY))
        check(many < GROWTH * few + SLACK, f"{shape}: {' '.join(command)}: {few:.2f} s for {FEW}, {many:.2f} s for {MANY}")
    few, many = (cpu(p, "ingest", "--input", f"{shape}{n}/runs/run1.json", "--data", f"new{n}") for n in (FEW, MANY))
    check(many < GROWTH * few + SLACK, f"{shape}: ingest: {few:.2f} s for {FEW}, {many:.2f} s for {MANY}")


def many_metrics_of_a_point(p):
    grows_as_its_runs(p, "metrics")


def many_points_and_metrics(p):
    grows_as_its_runs(p, "points")


def many_scenarios(p):
    grows_as_its_runs(p, "scenarios")


def a_table_that_is_too_long_to_read(p):
    make_store(p, FEW, "points")
    args = ["export", "--format", "csv", "--data", f"points{FEW}", "--out", "table"]
    one_sentence(p.run(*args, program=CALIBRAX, expect=2), "choose fewer metrics", "calibrax")
    check(peak_mb(p, *args, expect=2) < 64, "no table is made")
    has(p.run(*args, "--metrics", "metric000007", program=CALIBRAX, expect=0).stdout, "table/run-run2")


main([many_metrics_of_a_point, many_points_and_metrics, many_scenarios, a_table_that_is_too_long_to_read])
