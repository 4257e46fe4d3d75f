"""nperf gate: each exit status, each finding, each way in which rows can be unfit to be compared."""
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as xml

import made_rows
from harness import check, equal, has, main, one_sentence
from made_rows import launched, row

NAMES = ["stream", "tiled", "openblas", "naive"]


def table(p, name, rows):
    return p.write(name, made_rows.text(rows))


def gate(p, base, now, *more, **kw):
    return p.run("gate", "--baseline", table(p, "base.jsonl", base), "--current", table(p, "now.jsonl", now), *more, **kw)


def findings(p, name="results/gate.json"):
    with open(p.file(name), encoding="utf-8") as f:
        document = json.load(f)
    equal((document["schema"], document["version"]), ("calibrax-gate", 1), "schema")
    return document, {(next(t for t in f["tags"].split(",") if t.startswith("baseline=")), f["metric"]): f
                      for f in document["findings"]}


def equal_tables(p):
    done = gate(p, [row(0, baseline=b) for b in NAMES], [row(1, baseline=b) for b in NAMES], expect=0)
    has(done.stdout, "PASSED", "the answer")
    document, found = findings(p)
    equal(found["baseline=stream", "time"]["outcome"], "equivalent", "surely within the margin")
    equal(found["baseline=stream", "time"]["basis"], "samples", "by launches")
    check(found["baseline=stream", "time"]["p_holm"] >= found["baseline=stream", "time"]["p"], "corrected over the table")


def two_percent_is_found(p):
    """2 % at a noise of 1 % and 25 launches, among three equals."""
    now = [row(1, baseline=b, noise=0.01, seconds=1.02e-3 if b == "tiled" else 1e-3) for b in NAMES]
    done = gate(p, [row(0, baseline=b, noise=0.01) for b in NAMES], now, expect=1)
    _, found = findings(p)
    equal({k[0] for k, f in found.items() if f["outcome"] == "regressed"}, {"baseline=tiled"}, "what regressed")
    has(done.stdout, "baseline=tiled", "named")
    check(0.01 < found["baseline=tiled", "time"]["change"] < 0.03, "by about 2 %")


def improvements_dropped_and_new(p):
    base = [row(0, baseline="stream"), row(0, baseline="gone")]
    now = [row(1, baseline="stream", seconds=0.8e-3), row(1, baseline="fresh")]
    gate(p, base, now, expect=2)
    _, found = findings(p)
    equal(found["baseline=stream", "time"]["outcome"], "improved", "faster")
    equal(found["baseline=gone", "ok"]["outcome"], "dropped", "missing now")
    equal(found["baseline=fresh", "ok"]["outcome"], "new", "not in the baseline")
    gate(p, base, now, "--allow-dropped", expect=0)
    gate(p, base, now + [row(1, baseline="gone", status="skipped")], expect=2)
    _, found = findings(p)
    equal(found["baseline=gone", "ok"]["outcome"], "dropped", "a row that says it was left out is no measurement")


def failures(p):
    base = [row(0, baseline=b) for b in NAMES]
    gate(p, base, [row(1, baseline=b, status="fidelity_failed" if b == "tiled" else "ok") for b in NAMES], expect=1)
    _, found = findings(p)
    equal(found["baseline=tiled", "ok"]["outcome"], "regressed", "it was good")
    check(("baseline=tiled", "time") not in found, "a wrong answer has no time")
    gate(p, [row(0, baseline=b, status="timeout" if b == "tiled" else "ok") for b in NAMES], [row(1, baseline=b) for b in NAMES], expect=0)
    _, found = findings(p)
    equal(found["baseline=tiled", "ok"]["outcome"], "improved", "it came back")
    broken = row(1)
    broken["metrics"]["steady_time"].update(median="NaN", launches=["NaN"] * 25)
    gate(p, [row(0)], [broken], expect=1)
    _, found = findings(p)
    equal(found["baseline=stream", "time"]["outcome"], "not-a-number", "a good row without a time")


def other_drift(p):
    base = [row(0, baseline=b, compile_s=1.0) for b in ("memory", "compile", "fidelity", "same")]
    now = [row(1, baseline="memory", compile_s=1.0, rss=80), row(1, baseline="compile", compile_s=2.0),
           row(1, baseline="fidelity", compile_s=1.0, error=0.4), row(1, baseline="same", compile_s=1.01, rss=51, error=0.11)]
    gate(p, base, now, expect=1)
    _, found = findings(p)
    equal(sorted(k for k, f in found.items() if f["outcome"] == "regressed"),
          [("baseline=compile", "compile_time"), ("baseline=fidelity", "error_to_tolerance"), ("baseline=memory", "memory")], "what drifted")
    gate(p, base, now, "--memory", "9", "--compile", "2", "--fidelity", "9", expect=0)


METRICS = ("compile_time", "compile_time_warm", "memory", "error_to_tolerance")


def drift_by_launches(p):
    """Every metric is decided on its launches: what changed is found, at which the largest of them alone would have been no help."""
    base = [launched(0, baseline=b, spread=0.1) for b in NAMES]
    now = [launched(1, baseline=b, spread=0.1, compile_s=2.0 if b == "stream" else 1.0, warm_s=0.9 if b == "tiled" else 0.5,
                    memory=80.0 if b == "openblas" else 50.0, error=0.4 if b == "naive" else 0.1) for b in NAMES]
    gate(p, base, now, "--undecided-passes", expect=1)
    _, found = findings(p)
    equal(sorted(k for k, f in found.items() if f["outcome"] == "regressed"),
          sorted(zip([f"baseline={b}" for b in NAMES], METRICS)), "each its own")
    for (name, metric), f in found.items():
        if metric in METRICS:
            equal(f["basis"], "samples", f"{name} {metric}")
            check(f["p_holm"] >= f["p"], "corrected over the table, all metrics of it")


def one_wild_launch_is_no_drift(p):
    """The largest of 25 doubles, in each metric: as values that is a regression, over the launches it is not."""
    now = launched(1)
    for block in (now["metrics"]["compile_time"], now["metrics"]["memory_increase"], now["fidelity"]["error"]):
        block["launches"][3] *= 4
    now["fidelity"]["rel_to_tol"] *= 4
    now["metrics"]["host_rss"]["increase"] *= 4
    gate(p, [launched(0)], [now], expect=0)
    _, found = findings(p)
    equal({f["outcome"] for (_, m), f in found.items() if m in METRICS}, {"equivalent"}, "medians")
    gate(p, [launched(0)], [dict(row(1, compile_s=1.0, error=0.4), schema_version=1)], expect=1)
    _, found = findings(p)
    equal((found["baseline=stream", "error_to_tolerance"]["basis"], found["baseline=stream", "error_to_tolerance"]["outcome"]),
          ("values", "regressed"), "a side without launches is compared by values")


def undecided(p):
    gate(p, [row(0, launches=3)], [row(1, launches=3)], expect=3)
    _, found = findings(p)
    has(found["baseline=stream", "time"]["sentence"], "too few samples", "and says why")
    gate(p, [row(0, noise=0.3)], [row(1, noise=0.3)], expect=3)
    gate(p, [row(0, noise=0.3)], [row(1, noise=0.3)], "--undecided-passes", expect=0)


def correction_over_the_table(p):
    """One of 200 equal rows is shifted by what alone would be significant at 5 %, and does not stand over the table."""
    def rows(run, shift):
        return [row(run, baseline=f"b{i}", launches=9, noise=0.02, seconds=1e-3 * (shift if i == 7 else 1)) for i in range(200)]
    gate(p, rows(0, 1.0), rows(1, 1.04), "--undecided-passes", expect=0)
    _, found = findings(p)
    one = found["baseline=b7", "time"]
    check(one["p"] < 0.05 < one["p_holm"], f"p {one['p']}, after Holm {one['p_holm']}")
    equal(one["outcome"], "undecided", "not proven")


def machines(p):
    base, now = [row(0)], [row(1, machine="x" * 32)]
    done = gate(p, base, now, expect=2)
    has(done.stdout, "different machines", "refused")
    has(done.stdout, "xxxxxxxxxxxx", "named")
    done = gate(p, base, now, "--allow-other-machine", expect=0)
    has(done.stdout, "compared as requested", "and says so")
    done = gate(p, base + [row(0, machine="y" * 32)], [row(1)], expect=0)
    has(done.stderr, "1 keys of the baseline are of other machines", "what nobody measured here was not forgotten")
    done = gate(p, [row(0, machine=None)], [row(1, machine=None)], expect=2)
    has(done.stdout, "neither the run nor the baseline names its machine", "refused")


def nothing_in_common(p):
    done = gate(p, [row(0, baseline=b) for b in NAMES + ["x"]], [row(1, case="other")], expect=2)
    has(done.stderr, "no key is in both: the baseline has 'toy", "names listed")
    has(done.stderr, "and 2 more; under test is 'other", "names listed")
    done = gate(p, [], [row(1)], expect=2)
    one_sentence(done, "no rows in")
    done = p.run("gate", "--baseline", "none.jsonl", "--current", "now.jsonl", expect=2)
    one_sentence(done, "none.jsonl")
    one_sentence(p.run("gate", expect=2), "'--baseline' is missing")
    one_sentence(gate(p, [row(0)], [row(1)], "--min", "0.9", expect=2), "below 1")
    one_sentence(gate(p, [row(0)], [row(1)], "--level", "2", expect=2), "got 2")


def foreign_rows(p):
    """Rows without launches, of the first nperf: minimum at 1.10 and 95th percentile at 1.25, as it did."""
    def old(run, seconds):
        return row(run, launches=0, seconds=seconds)
    gate(p, [old(0, 1e-3)], [old(1, 1.09e-3)], expect=0)
    gate(p, [old(0, 1e-3)], [old(1, 1.11e-3)], expect=1)
    gate(p, [old(0, 1e-3)], [old(1, 1.11e-3)], "--min", "1.2", expect=0)
    gate(p, [old(0, 1e-3)], [row(1)], expect=0)
    _, found = findings(p)
    equal(sorted(k[1] for k in found if "time" in k[1]), ["time_min", "time_p95"], "one side without launches")
    gate(p, [row(0)], [row(1, seconds=1.005e-3)], "--min", "1.0001", expect=1)


def damaged_rows(p):
    base = made_rows.text([row(0)])
    future = dict(row(1), schema_version=3, colour="blue")
    p.write("base.jsonl", base)
    for now, words in ((base[:200] + "\nnot json\n", ("2 damaged lines; the first: ", "line 2")), (made_rows.text([future]), ("1 row has the key and the run id of another",))):
        done = p.run("gate", "--baseline", "base.jsonl", "--current", p.write("now.jsonl", made_rows.text([future]) + now), expect=2)
        for part in words:
            one_sentence(done, part)
    done = p.run("gate", "--baseline", "base.jsonl", "--current", p.write("now.jsonl", made_rows.text([future])), expect=2)
    one_sentence(done, "1 row is of a newer schema than this nperf reads")
    for cut in range(0, len(base), 97):  # torn anywhere: a sentence, or no rows
        done = p.run("gate", "--baseline", "base.jsonl", "--current", p.write("now.jsonl", base[:cut]))
        check(done.returncode in (0, 2) and "Traceback" not in done.stderr, f"cut at {cut}: {done.stderr}")


def a_store_and_the_old_flags(p):
    os.makedirs(p.file("results/store/toy"))
    for run in range(3):
        rows = [row(run, baseline=b) for b in NAMES]
        if run == 2:
            rows[1] = row(run, baseline="tiled", status="oom")
        p.write(f"results/store/toy/{made_rows.run_id(run)}.jsonl", made_rows.text(rows))
    table(p, "base.jsonl", [row(0, baseline=b) for b in NAMES])
    p.run("--gate-baseline", "base.jsonl", "--gate-out", "g.json", "--report", "g.md", expect=1)
    _, found = findings(p, "g.json")
    equal(found["baseline=tiled", "ok"]["outcome"], "regressed", "the newest attempt failed")
    with open(p.file("g.md"), encoding="utf-8") as f:
        has(f.read(), "baseline=tiled", "markdown")
    p.run("--gate-baseline", "base.jsonl", "--gate-min", "1.0000001", expect=1)
    one_sentence(p.run("--gate-current", "base.jsonl", expect=2), "--gate-baseline")
    done = p.run("gate", "--baseline", "results/store", expect=2)
    has(done.stdout + done.stderr, "is its own baseline", "a table against itself proves nothing")


def a_store_that_is_written(p):
    """Runs come and go while the gate reads: it compares whole rows, of whichever run was the newest."""
    os.makedirs(p.file("results/store/toy"))
    p.write(f"results/store/toy/{made_rows.run_id(1)}.jsonl", made_rows.text([row(1, baseline=b, noise=0) for b in NAMES]))
    table(p, "base.jsonl", [row(0, baseline=b, noise=0) for b in NAMES])
    writer = subprocess.Popen([sys.executable, "-c", WRITER, p.file("results/store/toy"), os.path.dirname(os.path.abspath(made_rows.__file__)), *NAMES])
    try:
        for _ in range(6):
            p.run("gate", "--baseline", "base.jsonl", expect=0)
            _, found = findings(p)
            equal(sorted(k[0] for k in found if k[1] == "time"), sorted(f"baseline={b}" for b in NAMES), "every key")
    finally:
        writer.kill()
        writer.wait()


WRITER = """
import os, sys
sys.path.insert(0, sys.argv[2])
import made_rows
for run in range(100, 80000):
    name = os.path.join(sys.argv[1], made_rows.run_id(run) + ".jsonl")
    with open(name + ".tmp", "w") as f:
        f.write(made_rows.text([made_rows.row(run, baseline=b, noise=0) for b in sys.argv[3:]]))
    os.rename(name + ".tmp", name)
    old = os.path.join(sys.argv[1], made_rows.run_id(run - 3) + ".jsonl")
    if os.path.exists(old):
        os.unlink(old)
"""


def forms(p):
    now = [row(1, baseline=b, seconds=2e-3 if b == "tiled" else 1e-3) for b in NAMES]
    done = gate(p, [row(0, baseline=b) for b in NAMES], now, "--junit", "g.xml", "--json", expect=1)
    equal(json.loads(done.stdout)["schema"], "calibrax-gate", "JSON")
    suite = xml.parse(p.file("g.xml")).getroot()
    equal(len(suite.findall(".//failure")), 1, "one failure in JUnit")
    done = gate(p, [row(0, baseline=b) for b in NAMES], now, "--github", expect=1)
    has(done.stdout, "::error", "workflow command")
    p.write("waivers.json", json.dumps({"schema": "calibrax-waivers", "schema_version": 1, "waivers": [{"key": "*baseline=tiled*:time", "until": "2999-01-01", "reason": "known"}]}))
    done = gate(p, [row(0, baseline=b) for b in NAMES], now, "--waivers", "waivers.json", expect=0)
    has(done.stdout, "waived", "named")


def many_keys(p):
    """5,000 keys: the markdown stays below 60 kB and every finding is in the JSON."""
    def rows(run, slow):
        return [row(run, baseline=b, point={"n": n, "seed": 0}, seconds=1e-3 * (1 + slow * (n % 10 == 0)), launches=11)
                for n in range(1250) for b in NAMES]
    done = gate(p, rows(0, 0), rows(1, 0.5), expect=1)
    document, _ = findings(p)
    equal(len([f for f in document["findings"] if f["metric"] == "time"]), 5000, "findings")
    equal(len([f for f in document["findings"] if f["outcome"] == "regressed"]), 500, "regressed")
    check(os.path.getsize(p.file("results/gate.md")) <= 60000, "markdown")
    with open(p.file("results/gate.md"), encoding="utf-8") as f:
        last = f.read().strip().splitlines()[-1]
    check("more" in last or "left out" in last, f"what was cut is counted in a sentence: {last}")
    check(len(done.stdout) > 1000, "text")


main([equal_tables, two_percent_is_found, improvements_dropped_and_new, failures, other_drift, drift_by_launches, one_wild_launch_is_no_drift, undecided, correction_over_the_table, machines,
      nothing_in_common, foreign_rows, damaged_rows, a_store_and_the_old_flags, a_store_that_is_written, forms, many_keys])
