"""calibrax ingest on files that the tools make here and now: our own, hyperfine, Google Benchmark, pytest-benchmark, pyperf and asv.

What is exported again in their format gives the same points.  go, criterion.rs, JMH, NVBench,
nanobench and BenchmarkTools.jl are large, or need a GPU: their files are those of tests/fixtures/import, whose README names their source.
"""
import json
import os
import subprocess

from foreign import tools
from harness import CALIBRAX, QUICK, SOURCE, TINY, check, equal, has, main, read_back


def ingested(p, *inputs, store="store"):
    """The runs that the inputs become, as their files hold them, and the notes."""
    found = json.loads(p.run("ingest", "--data", store, "--input", *inputs, "--json", program=CALIBRAX, expect=0).stdout)
    equal(found["skipped"], [], "all are taken")
    runs = []
    for r in found["runs"]:
        with open(p.file(store, "runs", r["id"] + ".json"), encoding="utf-8") as f:
            runs.append((r["format"], json.load(f)))
    return runs, found["notes"]


# What each file becomes: format, points, notes, a metric of the first point with samples.
FILES = {
    "google-benchmark.json": ("google-benchmark", 8, 1, "time"),
    "google-benchmark-aggregates.json": ("google-benchmark", 4, 0, None),
    "hyperfine.json": ("hyperfine", 4, 2, "time"),
    "pytest-benchmark.json": ("pytest-benchmark", 3, 0, "time"),
    "pyperf.json": ("pyperf", 2, 0, "time"),
    "asv": ("asv", 6, 2, None),
}


def exported_again(p):
    """What the tools wrote, exported in the same format and ingested again: the same points, but for those without a time."""
    for name in FILES:
        if name == "asv":
            continue
        ((form, before),), _ = ingested(p, p.file("made", name), store=f"before-{name}")
        files = p.run("export", "-f", form, "--data", f"before-{name}", "-o", f"again-{name}", program=CALIBRAX, expect=0).stdout.splitlines()
        ((again, after),), notes = ingested(p, *files, store=f"after-{name}")
        wanted = [q for q in before["points"] if q["metrics"].get("time", {"value": float("nan")})["value"] > 0]
        check(wanted, f"{name}: some points have times")
        equal((again, after["points"], notes), (form, wanted, []), f"{name}: exported again")
        if form != "hyperfine":  # its files have no time
            equal(after["timestamp"][:19], before["timestamp"][:19], f"{name}: the time of the run")


def files_of_the_tools(p):
    made = subprocess.run([tools(), os.path.join(SOURCE, "scripts/fixtures/make_import_files.py"), p.file("scratch")], env=dict(p.env, IMPORT_FILES_OUT=p.file("made")),
                          capture_output=True, text=True)
    equal(made.returncode, 0, made.stderr[-600:])
    for name, (form, points, notes, sampled) in FILES.items():
        check(os.path.exists(p.file("made", name)), f"{name} was not made: is the tool installed?")
        ((found, run),), printed = ingested(p, p.file("made", name))
        equal((found, len(run["points"]), len(printed)), (form, points, notes), name)
        values = [m["value"] for q in run["points"] for k, m in q["metrics"].items() if k == "time" and m["value"] == m["value"]]
        check(values and all(0 < v < 60 for v in values), f"{name}: times are seconds")
        if sampled:
            check(len(run["points"][0]["metrics"][sampled]["samples"]) > 1, f"{name}: samples")
    exported_again(p)
    read_back(f"{sum(n for _, n, _, _ in FILES.values())} points of {len(FILES)} files; exported and ingested again: the same")
    directions = {k: d["direction"] for name in ("google-benchmark-aggregates.json", "hyperfine.json") for k, d in ingested(p, p.file("made", name))[0][0][1]["metric_defs"].items()}
    equal([directions[k] for k in ("time", "time_ratio", "time_statistic", "user_time", "system_time")], ["lower", "info", "info", "info", "info"], "a spread is no result")


def commands_of_hyperfine_are_ranked(p):
    p.run("-N", "--runs", "5", "--export-json", "both.json", "sleep 0.01", "sleep 0.03", program="hyperfine", expect=0)
    ingested(p, "both.json")
    ranked = p.run("compare", "--rank", "--by", "command", "--metrics", "time", "--data", "store", program=CALIBRAX, expect=0).stdout
    check(0 < ranked.find("sleep 0.01") < ranked.find("sleep 0.03"), ranked)
    read_back("2 commands: sleep 0.01 before sleep 0.03")
    has(p.run("compare", "--by", "command", "--metrics", "time", "--data", "store", program=CALIBRAX, expect=0).stdout, "sleep 0.03", "side by side")


def our_own_rows(p):
    p.run("--point", TINY, "--store", "rows", *QUICK)
    rows = p.rows()
    check(rows and {r["schema_version"] for r in rows} == {2}, "rows of this version")
    good = [r for r in rows if r["status"] == "ok" and r["role"] != "limit"] if "role" in rows[0] else [r for r in rows if r["status"] == "ok"]
    for inputs in (["results/semiring_matmul.jsonl"], ["rows"]):
        ((form, run),), _ = ingested(p, *inputs, store=inputs[0].replace("/", "-") + "-store")
        equal(form, "nperf", inputs)
        check(0 < len(run["points"]) <= len(good), f"{len(run['points'])} points of {len(good)} good rows")
        check(all(q["metrics"]["time"]["value"] > 0 for q in run["points"]), "each has a time")
        equal(run["metadata"]["nperf_run_id"], rows[0]["run_id"], "of its run")
    read_back(f"{len(run['points'])} points of {len(good)} good rows, twice")


def our_own_runs(p):
    p.run("run", "-n", "3", "--data", "first", "--", "true", program=CALIBRAX)
    ((form, run),), printed = ingested(p, "first", store="second")
    equal((form, printed), ("calibrax", []), "a store")
    with open(p.file("first/runs", run["id"] + ".json"), "rb") as a, open(p.file("second/runs", run["id"] + ".json"), "rb") as b:
        text = b.read()
        equal(a.read(), text, "byte for byte")
    read_back(f"a run, {len(text)} bytes")


main([our_own_runs, our_own_rows, commands_of_hyperfine_are_ranked, files_of_the_tools])
