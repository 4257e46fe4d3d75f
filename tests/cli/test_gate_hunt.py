"""The gate hunt: one table of tricks by which a gate might pass that should not, or fail that should not, each with its exit status.

A row is (the trick, the exit status, a function of the test's folder that runs the gate).  To add one, append a row to the table of its
gate; `rows`, `edited` and `runs` make what the gates read.
"""
import copy
import json
import os
import random

import made_rows
from harness import CALIBRAX, equal, main
from made_rows import launched, row, run_id

NAMES = ("stream", "tiled")


# --- nperf gate: rows ---

def rows(run, **more):
    return [launched(run, baseline=b, **more) for b in NAMES]


def edited(run, path, value):
    """The rows of a run, of which the first has another value (None: null; ...: no such member) at a path such as 'metrics.steady_time.unit'."""
    table = rows(run)
    *folders, last = path.split(".")
    at = table[0]
    for name in folders:
        at = at[name]
    if value is ...:
        del at[last]
    else:
        at[last] = value
    return table


def without(run, *paths):
    table = rows(run)
    for path in paths:
        *folders, last = path.split(".")
        at = table[0]
        for name in folders:
            at = at[name]
        at[last] = None
    return table


def nperf(now, *options, base=None, torn=""):
    """The gate over files of rows; torn is text behind the last row."""
    def gate(p):
        p.write("base.jsonl", made_rows.text(base or rows(0)))
        p.write("now.jsonl", made_rows.text(now) + torn)
        return p.run("gate", "--baseline", "base.jsonl", "--current", "now.jsonl", *options)
    return gate


def nperf_store(*tables, extra=""):
    """The gate over the default store, a file a table; extra is the text of one more file."""
    def gate(p):
        folder = p.file("results/store/toy")
        os.makedirs(folder)
        for i, table in enumerate(tables):
            p.write(os.path.join(folder, f"{table[0]['run_id']}-{i}.jsonl"), made_rows.text(table))
        if extra:
            p.write(os.path.join(folder, "zz.jsonl"), extra)
        p.write("base.jsonl", made_rows.text(rows(0)))
        return p.run("gate", "--baseline", "base.jsonl")
    return gate


def nperf_link(p):
    """The default store, whose newest run is a link to a file that is gone."""
    os.makedirs(p.file("results/store/toy"))
    p.write("results/store/toy/a.jsonl", made_rows.text(rows(1)))
    os.symlink("/nowhere/b.jsonl", p.file("results/store/toy/b.jsonl"))
    p.write("base.jsonl", made_rows.text(rows(0)))
    return p.run("gate", "--baseline", "base.jsonl")


def dated(table, run):
    """Rows of another run id."""
    return [dict(r, run_id=run) for r in table]


def of_status(run, status):
    return [launched(run), launched(run, baseline="tiled", status=status)] if status == "ok" else [launched(run), row(run, baseline="tiled", status=status)]


def milliseconds(run):
    """Every number of the time a thousand times larger, as of a writer that changed its unit."""
    table = copy.deepcopy(rows(run))
    time = table[0]["metrics"]["steady_time"]
    time["unit"] = "ms"
    return table


TORN = made_rows.text(rows(2))[:150]

NPERF = [
    ("nothing changed", 0, nperf(rows(1))),
    ("twice as slow", 1, nperf(rows(1, seconds=2e-3))),
    ("a good row, then a crash: one file", 1, nperf(rows(1) + of_status(2, "crashed"))),
    ("a good row, then a crash: the crash is listed first", 1, nperf(of_status(2, "crashed") + rows(1))),
    ("a good row, then a crash: the default store", 1, nperf_store(rows(1), of_status(2, "crashed"))),
    ("a crash, then a good row", 0, nperf(of_status(1, "crashed") + rows(2))),
    ("a good row, then a timeout", 1, nperf(rows(1) + of_status(2, "timeout"))),
    ("a good row, then a wrong answer", 1, nperf(rows(1) + of_status(2, "fidelity_failed"))),
    ("a good row, then one that is slow", 1, nperf(rows(1) + rows(2, seconds=2e-3))),
    ("a good row, then an environment that is gone", 2, nperf(rows(1) + of_status(2, "env_failed"))),
    ("a good row, then a run that left it out: the default store", 0, nperf_store(rows(1), of_status(2, "skipped"))),
    ("a status that nobody knows", 1, nperf(of_status(1, "splendid"))),
    ("a torn last line", 2, nperf(rows(1), torn=TORN)),
    ("a torn last line, passing what is undecided", 2, nperf(rows(1), "--undecided-passes", "--allow-dropped", torn=TORN)),
    ("a torn file in the default store", 2, nperf_store(rows(1), extra=TORN)),
    ("a line that is no JSON", 2, nperf(rows(1), torn="segmentation fault\n")),
    ("a torn baseline", 2, nperf(rows(1), base=rows(0)[:1] + [{"run_id": "torn"}])),
    ("no rows", 2, nperf([])),
    ("a row that is gone", 2, nperf(rows(1)[:1])),
    ("fidelity is null", 1, nperf(edited(1, "fidelity", None))),
    ("fidelity is missing", 1, nperf(edited(1, "fidelity", ...))),
    ("the error is NaN", 1, nperf(edited(1, "fidelity.rel_to_tol", "NaN"))),
    ("the error is null", 1, nperf(edited(1, "fidelity.rel_to_tol", None))),
    ("fidelity failed, status ok", 1, nperf(edited(1, "fidelity.status", "failed"))),
    ("fidelity inconclusive, status ok", 1, nperf(edited(1, "fidelity.status", "inconclusive"))),
    ("five times the tolerance, status ok", 1, nperf(edited(1, "fidelity.rel_to_tol", 5))),
    ("an infinite error, status ok", 1, nperf(edited(1, "fidelity.rel_to_tol", "Infinity"))),
    ("the time is NaN", 1, nperf(edited(1, "metrics.steady_time", dict(launched(1)["metrics"]["steady_time"], median="NaN", launches=["NaN"] * 25)))),
    ("the time is gone", 1, nperf(edited(1, "metrics.steady_time", None))),
    ("all metrics are gone", 1, nperf(edited(1, "metrics", None))),
    ("the memory is gone", 2, nperf(without(1, "metrics.memory_increase", "metrics.host_rss"))),
    ("the compile time is gone", 2, nperf(edited(1, "metrics.compile_time", None))),
    ("the warm compile time is gone", 2, nperf(edited(1, "metrics.compile_time_warm", None))),
    ("a metric is gone that may be", 0, nperf(edited(1, "metrics.compile_time_warm", None), "--allow-dropped")),
    ("seconds became milliseconds", 2, nperf(milliseconds(1))),
    ("megabytes became gigabytes", 2, nperf(edited(1, "metrics.host_rss.unit", "GB"))),
    ("rows older than the baseline", 2, nperf(rows(1), base=rows(2))),
    ("rows older than the baseline, as asked", 0, nperf(rows(1), "--allow-older", base=rows(2))),
    ("the same key and run id twice", 2, nperf(rows(1) + rows(1))),
    ("the same key and run id twice, the second slow", 2, nperf(rows(1) + rows(1, seconds=2e-3))),
    ("the same key and run id twice: the default store", 2, nperf_store(rows(1), rows(1, seconds=2e-3))),
    ("the same key and run id twice in the baseline", 2, nperf(rows(1), base=rows(0) + rows(0, seconds=2e-3))),
    ("the baseline itself", 2, nperf(rows(0))),
    ("another machine", 2, nperf(rows(1, machine="x" * 32))),
    ("another point", 2, nperf(rows(1, point={"m": 1}))),
    ("three launches", 3, nperf(rows(1, launches=3), base=rows(0, launches=3))),
    ("a threshold that is no number", 2, nperf(rows(1), "--threshold", "5%")),
    ("a threshold in hexadecimal", 2, nperf(rows(1), "--threshold", "0x10")),
    ("a threshold of NaN", 2, nperf(rows(1), "--threshold", "nan")),
    ("rows of a newer schema", 2, nperf(edited(1, "schema_version", 99))),
    ("a baseline of a newer schema", 2, nperf(rows(1), base=edited(0, "schema_version", 99))),
    ("a newest run that is a link to nothing: the default store", 2, nperf_link),
    ("a good row of the future, then a crash", 2, nperf(dated(rows(1), "29990101T000000.000000+0000__a") + of_status(2, "crashed"))),
    ("a good row whose time is of another zone, then a crash", 2, nperf(dated(rows(1), "20260101T090000.000000+0900__a") + of_status(2, "crashed"))),
    ("a good row whose run id is not a time, then a crash", 2, nperf(dated(rows(1), "zzz") + of_status(2, "crashed"))),
    ("a negative error, status ok", 1, nperf(edited(1, "fidelity.rel_to_tol", -1))),
    ("elements outside the bound, status ok", 1, nperf(edited(1, "fidelity.n_mismatched", 100))),
    ("no check was made, status ok", 1, nperf(edited(1, "fidelity.checks", 0))),
    ("a status in other letters", 1, nperf(edited(1, "status", "OK"))),
    ("a baseline that is not there", 2, lambda p: p.run("gate", "--baseline", "none.jsonl", "--current", p.write("now.jsonl", made_rows.text(rows(1))))),
]


# --- calibrax check: runs ---

def measured(name, day, value=1.0, samples=0, **metric):
    """A run of one point with one metric, a time for which lower is better."""
    draw = random.Random(name)
    found = {"value": value}
    if isinstance(samples, list):
        found["samples"] = samples
    elif samples:
        found["samples"] = [value * (1 + draw.uniform(-0.01, 0.01)) for _ in range(samples)]
    found.update(metric)
    return {"id": name, "timestamp": f"2026-03-{day:02d}T10:00:00+00:00", "commit": None, "branch": "main", "environment": {"machine": "m1"}, "metadata": {},
            "metric_defs": {"time": {"name": "time", "unit": "ms", "direction": "lower", "group": "", "priority": "primary", "description": ""}},
            "points": [{"name": "f", "scenario": "s", "tags": {}, "metrics": {"time": found}}]}


def check(now, *options, base=None):
    """`calibrax check` of one run against the baseline."""
    def gate(p):
        files = [p.write(f"{r['id']}.json", json.dumps(r)) for r in (base or measured("base", 1), now)]
        p.run("ingest", "--data", "store", "--input", *files, program=CALIBRAX, expect=0)
        p.run("baseline", "--data", "store", "--run", (base or measured("base", 1))["id"], program=CALIBRAX, expect=0)
        return p.run("check", "--data", "store", *options, program=CALIBRAX)
    return gate


def target(now, *options):
    """`calibrax check --target` of one run file."""
    return lambda p: p.run("check", "--input", p.write("now.json", json.dumps(now)), *options, program=CALIBRAX)


def changes(*runs, options=()):
    """`calibrax trend --changes --check` over runs, oldest first."""
    def gate(p):
        p.run("ingest", "--data", "store", "--input", *[p.write(f"{r['id']}.json", json.dumps(r)) for r in runs], program=CALIBRAX, expect=0)
        return p.run("trend", "--changes", "--check", "--data", "store", *options, program=CALIBRAX)
    return gate


def level(n, value=1.0, first=1):
    return [measured(f"r{first + i:02d}", first + i, value * (1 + 0.001 * (i % 3))) for i in range(n)]


def twice(run):
    """The same point a second time."""
    return dict(run, points=run["points"] * 2)


def defined(run, **definition):
    """The run with another definition of its metric."""
    run["metric_defs"]["time"].update(definition)
    return run


def placed(run, **point):
    """The run with another name, scenario or tags of its point."""
    run["points"][0].update(point)
    return run


def waived(day, text=None):
    """A slow run whose finding is waived until a day."""
    def gate(p):
        waivers = {"schema": "calibrax-waivers", "version": 1, "waivers": [{"key": "f@s{}:time", "until": day, "reason": "known"}]}
        p.write("waivers.json", text if text is not None else json.dumps(waivers))
        return check(measured("now", 2, 2.0), "--waivers", "waivers.json")(p)
    return gate


SAMPLES_OF_30 = [29.0, 30.0, 31.0] * 3
CHECK = [
    ("nothing changed", 0, check(measured("now", 2))),
    ("twice as slow", 1, check(measured("now", 2, 2.0))),
    ("a value that is not a number", 1, check(measured("now", 2, float("nan")))),
    ("an older run", 2, check(measured("now", 1), base=measured("base", 2))),
    ("a time of 0", 1, check(measured("now", 2, 0.0))),
    ("a negative time", 1, check(measured("now", 2, -5.0))),
    ("a baseline of 0", 2, check(measured("now", 2), base=measured("base", 1, 0.0))),
    ("a value of 1 whose samples are 30", 1, check(measured("now", 2, samples=SAMPLES_OF_30))),
    ("a baseline whose samples contradict it", 2, check(measured("now", 2), base=measured("base", 1, 30.0, samples=[1.0] * 9))),
    ("a threshold in hexadecimal", 2, check(measured("now", 2), "--threshold", "0x10")),
    ("a threshold of infinity", 2, check(measured("now", 2), "--threshold", "inf")),
    ("a threshold of NaN", 2, check(measured("now", 2), "--threshold", "nan")),
    ("a threshold with a sign of percent", 2, check(measured("now", 2), "--threshold", "5%")),
    ("a negative threshold", 2, check(measured("now", 2), "--threshold", "-1")),
    ("a hexadecimal threshold of one metric", 2, check(measured("now", 2, 2.0), "--metric-threshold", "time=0x10")),
    ("a threshold for a metric that is not there", 2, check(measured("now", 2, 2.0), "--metric-threshold", "tmie=5")),
    ("a level of 1", 2, check(measured("now", 2), "--level", "1")),
    ("a level of 0", 2, check(measured("now", 2), "--level", "0")),
    ("a format that does not exist", 2, check(measured("now", 2), "--format", "jsn")),
    ("a target beside a threshold", 2, check(measured("now", 2), "--target", "time=5", "--threshold", "1")),
    ("a target that is met", 0, target(measured("now", 1), "--target", "time=1")),
    ("a target that is missed", 1, target(measured("now", 1, 1.1), "--target", "time=1")),
    ("-5 ms meets no target", 1, target(measured("now", 1, -5.0), "--target", "time=1")),
    ("10 ms whose samples are 30 meets no target", 1, target(measured("now", 1, 10.0, samples=SAMPLES_OF_30), "--target", "time=20")),
    ("a target that is not a number", 2, target(measured("now", 1), "--target", "time=nan")),
    ("a target in hexadecimal", 2, target(measured("now", 1), "--target", "time=0x10")),
    ("a target of a metric that is not there", 2, target(measured("now", 1), "--target", "tmie=1")),
    ("a removed verb", 2, lambda p: p.run("validate", "--target", "time=1", program=CALIBRAX)),
    ("a baseline that is not a number", 2, check(measured("now", 2), base=measured("base", 1, float("nan")))),
    ("an infinite time", 1, check(measured("now", 2, float("inf")))),
    ("a time of -0.0", 1, check(measured("now", 2, -0.0))),
    ("samples of which one is not a number", 1, check(measured("now", 2, samples=[1.0] * 8 + [float("nan")]), base=measured("base", 1, samples=[1.0] * 9))),
    ("samples of which one is negative", 1, check(measured("now", 2, samples=[1.0] * 8 + [-1.0]))),
    ("a metric whose direction was turned round", 2, check(defined(measured("now", 2, 2.0), direction="higher"))),
    ("a metric that became information", 2, check(defined(measured("now", 2, 2.0), direction="info"))),
    ("milliseconds that became seconds", 2, check(defined(measured("now", 2, 2.0), unit="s"))),
    ("a point of another scenario", 2, check(placed(measured("now", 2, 2.0), scenario="t"))),
    ("a point with a tag more", 2, check(placed(measured("now", 2, 2.0), tags={"slow": "yes"}))),
    ("the same point twice, once fast and once slow", 2, check(dict(measured("now", 2), points=measured("now", 2)["points"] + measured("now", 2, 2.0)["points"]))),
    ("a run that names no machine", 2, check(dict(measured("now", 2), environment={}))),
    ("a run from the future", 2, check(dict(measured("now", 2), timestamp="2126-03-02T10:00:00+00:00"))),
    ("bounds that do not contain the value", 1, check(measured("now", 2, 1.0, lower=2.0, upper=3.0))),
    ("bounds in the wrong order", 1, check(measured("now", 2, 1.0, lower=1.1, upper=0.9))),
    ("a waiver that lasts", 0, waived("2126-01-01")),
    ("a waiver that has expired", 1, waived("2025-01-01")),
    ("a waiver until no day", 2, waived("2126-02-30")),
    ("a file of waivers that is torn", 2, waived("", '{"schema": "calibrax-wai')),
    ("twice as slow, with one sample", 3, check(measured("now", 2, 2.0, samples=[2.0]), base=measured("base", 1, samples=25))),
    ("twice as slow, with samples of the baseline", 1, check(measured("now", 2, 2.0, samples=[1.0] * 9), base=measured("base", 1, samples=[1.0] * 9))),
    ("twice as slow, with one-sided bounds", 1, check(measured("now", 2, 2.0, lower=0.1), base=measured("base", 1, lower=0.9, upper=1.1))),
    ("twice as slow, with infinite bounds", 3, check(measured("now", 2, 2.0, lower=float("-inf"), upper=float("inf")), base=measured("base", 1, lower=0.9, upper=1.1))),
    ("a threshold of one metric that is not a number", 2, check(measured("now", 2, 2.0), "--metric-threshold", "time=nan")),
    ("a minimum that is not a number", 2, check(measured("now", 2, 2.0), "--minimum", "nan")),
    ("an unknown baseline", 2, check(measured("now", 2, 2.0), "--baseline", "other")),
    ("a branch without runs", 2, check(measured("now", 2, 2.0), "--branch", "other")),
    ("a series of one level", 0, changes(*level(24))),
    ("a newest value in another unit", 2, changes(*level(23), defined(measured("r24", 24), unit="s"))),
    ("a newest value of another direction", 2, changes(*level(23), defined(measured("r24", 24, 2.0), direction="higher"))),
    ("a newest run without the metric", 2, changes(*level(23), placed(measured("r24", 24), metrics={}))),
    ("two points of one key in a run", 2, changes(*level(23), twice(measured("r24", 24)))),
    ("runs of one time", 2, changes(*level(23), dict(measured("r24", 23), id="r24"))),
    ("a newest value that is not a number", 1, changes(*level(23), measured("r24", 24, float("nan")))),
]


def hunt(table):
    def passes_by_no_trick(p):
        wrong = []
        for number, (trick, status, gate) in enumerate(table):
            place = copy.copy(p)
            place.path = p.file(str(number))
            os.makedirs(place.path)
            done = gate(place)
            if done.returncode != status:
                wrong.append(f"{trick}: exit {done.returncode}, wanted {status}: {(done.stdout + done.stderr).strip()[:300]}")
        equal("\n".join(wrong), "", f"{len(table)} tricks")
    return passes_by_no_trick


def nperf_gate(p):
    hunt(NPERF)(p)


def calibrax_check(p):
    hunt(CHECK)(p)


if __name__ == "__main__":
    main([nperf_gate, calibrax_check])
