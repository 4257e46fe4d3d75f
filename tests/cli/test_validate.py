"""calibrax validate: values against targets, series of errors against tolerances; what cannot be looked at does not pass."""
import json
import os

from harness import CALIBRAX, equal, has, main, one_sentence

DEFS = {"latency": {"name": "latency", "unit": "ms", "direction": "lower"}, "accuracy": {"name": "accuracy", "unit": "", "direction": "higher"},
        "note": {"name": "note", "unit": "", "direction": "info"}}


def validate(p, *args, **more):
    return p.run("check", *args, program=CALIBRAX, **more)


def run_file(p, *points):
    """Points as (name, metrics)."""
    return p.write("run.json", json.dumps({"id": "r", "timestamp": "2026-03-01T00:00:00+00:00", "environment": {"machine": "m"}, "metric_defs": DEFS, "metadata": {},
                                           "points": [{"name": n, "scenario": "s", "tags": {}, "metrics": m} for n, m in points]}))


def targets(p):
    bounds = {"value": 10, "lower": 9, "upper": 11}
    path = run_file(p, ("a", {"latency": {"value": 10}, "accuracy": {"value": 0.9}, "note": {"value": 1}, "bare": {"value": 1}}), ("b", {"latency": bounds}),
                    ("c", {"latency": {"value": float("nan")}}))
    for target, point, status, outcomes in (("latency=10", "a", 0, ["met"]), ("latency=9.99", "a", 1, ["missed"]), ("accuracy=0.9", "a", 0, ["met"]),
                                            ("accuracy=0.5", "a", 0, ["met"]), ("accuracy=0.91", "a", 1, ["missed"]), ("latency=10", "b", 3, ["undecided"]),
                                            ("latency=11", "b", 0, ["met"]), ("latency=8", "b", 1, ["missed"]), ("latency=10", "c", 1, ["not-finite"]),
                                            ("note=1", "a", 2, ["no-direction"]), ("bare=1", "a", 2, ["no-direction"])):
        document = json.loads(validate(p, "--input", path, "--target", target, "--point", point, "--json", expect=status).stdout)
        equal((document["schema"], document["version"], document["passed"]), ("calibrax-validation", 1, status == 0), "document")
        equal([c["outcome"] for c in document["accuracy"]], outcomes, target)
    done = validate(p, "--input", path, "--target", "latency=20", "--target", "accuracy=0.5", expect=1)
    has(done.stdout, "met           r a@s{}:latency: 10, target 20 ms")
    has(done.stdout, "FAILED: 3 of 4 checks passed", "the one that is no number")
    equal([line for line in done.stdout.splitlines() if line != line.rstrip()], [], "nothing stands behind a metric without a unit")
    for target, point, status, word in (("latency=10", "b", 3, "UNDECIDED: 0 of 1"), ("note=1", "a", 2, "CANNOT CHECK: 0 of 1"), ("latency=8", "b", 1, "FAILED: 0 of 1")):
        has(validate(p, "--input", path, "--target", target, "--point", point, expect=status).stdout, word, "the word says what the status says")
    beside = run_file(p, ("a", {"accuracy": {"value": 0.5, "lower": 0.95, "upper": 1}}))
    validate(p, "--input", beside, "--target", "accuracy=0.9", expect=3)
    path = run_file(p, ("a", {"latency": {"value": 10}}))
    p.run("ingest", "--data", "store", "--input", path, program=CALIBRAX, expect=0)
    has(validate(p, "--data", "store", "--target", "latency=20", "--point", "a", expect=0).stdout, "PASSED: 1 of 1")


def series(p):
    path = p.write("errors.json", json.dumps({"residual": [1, 0.1, 0.01, 0.001], "touch": [1, 0.001, 0.5, 0.4], "grows": [1, 2, 4, 8], "bad": [1, "x", 0.001]}))
    document = json.loads(validate(p, "--series", path, "--tolerance", "0.01,0.0001", "--json", expect=1).stdout)
    found = {c["name"]: (c["outcome"], c["series"]) for c in document["convergence"]}
    equal((found["residual <= 0.01"], found["residual <= 0.0001"]), (("met", "converging"), ("never", "converging")), "residual")
    equal((found["touch <= 0.01"][0], found["grows <= 0.01"]), ("transient", ("never", "diverging")), "one that comes back, and one that grows")
    equal(found["bad <= 0.01"], ("unknown", "not-an-error"), "a value that is none")
    good = p.write("good.json", json.dumps({"residual": [1, 0.1, 0.01, 0.001]}))
    has(validate(p, "--series", good, "--tolerance", "0.01", expect=0).stdout, "met           residual <= 0.01: from iteration 3 on, converging")
    validate(p, "--series", good, "--tolerance", "0.01", "--hold", "3", expect=1)
    validate(p, "--series", p.write("none.json", '{"empty": []}'), "--tolerance", "1", expect=2)


def faults(p):
    path = run_file(p, ("a", {"latency": {"value": 1}}))
    bad = p.write("bad.json", "[1, 2]")
    for args, part in (([], "there is no store '.calibrax'"), (["--input", path, "--target", "latency"], "METRIC=X"), (["--input", path, "--target", "latency=nan"], "METRIC=X"),
                       (["--input", path, "--target", "latancy=1"], "no matching point has a metric 'latancy'"), (["--target", "latency=1"], "there is no store '.calibrax'"),
                       (["--input", path, "--target", "latency=1", "--point", "b"], "'latency'"), (["--series", bad], "'--series' needs '--tolerance'"),
                       (["--series", bad, "--tolerance", "1", "--data", "nowhere"], "needs '--target'"),
                       (["--series", bad, "--tolerance", "1"], "not an object of series"), (["--series", "nowhere.json", "--tolerance", "1"], "nowhere.json"),
                       (["--series", bad, "--tolerance", "-1"], "at least 0"), (["--input", path, "--target", "latency=1", "--target", "latency=2"], "was checked already"),
                       (["--series", p.write("n.json", '{"x": 3}'), "--tolerance", "1"], "'x' is not a list of numbers")):
        one_sentence(validate(p, *args, expect=2), part, "calibrax")


def the_latest_run_must_be_known(p):
    """Whatever depends on it, be it a check of targets or the choice of a baseline, takes no older run in its place."""
    def keep(name, time, value):
        p.write(f"store/runs/{name}.json", json.dumps({"id": name, "timestamp": time, "environment": {"machine": "m"}, "metric_defs": DEFS, "metadata": {},
                                                       "points": [{"name": "a", "scenario": "s", "tags": {}, "metrics": {"accuracy": {"value": value}}}]}))

    os.makedirs(p.file("store/runs"))
    keep("good", "2026-03-01T00:00:00+00:00", 0.95)
    gates = (("check", "--data", "store", "--target", "accuracy=0.9"), ("baseline", "--data", "store"))
    looks = ("summary", "--data", "store")
    for gate in gates:
        p.run(*gate, program=CALIBRAX, expect=0)
    for name, wrong, part in (("torn", lambda: p.write("store/runs/torn.json", '{"id": "torn"'), "it may be the latest run: repair it or remove it, or name a run with --run"),
                              ("twin", lambda: keep("twin", "2026-03-01T00:00:00+00:00", 0.1), "have the same time"),
                              ("late", lambda: keep("late", "9026-03-01T00:00:00+00:00", 0.99), "in the future")):
        wrong()
        for gate in gates:
            one_sentence(p.run(*gate, program=CALIBRAX, expect=2), part, "calibrax")
            p.run(*gate, "--run", "good", program=CALIBRAX, expect=0)
        equal("warning: " in p.run(*looks, program=CALIBRAX, expect=0).stderr, name == "torn", "who only looks is told")
        one = validate(p, "--data", "store", "--all", "--target", "accuracy=0.05", expect=2 if name == "torn" else 0)
        equal("torn.json" in one.stderr, name == "torn", "all of them")
        os.remove(p.file(f"store/runs/{name}.json"))
    keep("latest", "2026-02-01T00:00:00+00:00", 0.95)
    for command in (*gates, looks):
        one_sentence(p.run(*command, program=CALIBRAX, expect=2), "a run that is not the newest has the id 'latest'", "calibrax")


main([targets, series, faults, the_latest_run_must_be_known])
