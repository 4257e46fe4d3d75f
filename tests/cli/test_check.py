"""calibrax check: exit status and sentence for each way in which a run and its baseline can stand to each other; and ingest of foreign files."""
import json
import os
import xml.etree.ElementTree

from harness import CALIBRAX, SOURCE, check, equal, has, main, one_sentence

IMPORT = os.path.join(SOURCE, "tests/fixtures/import")


def run(p, *args, **more):
    return p.run(*args, program=CALIBRAX, **more)


def make_run(name, day, **more):
    """One point with a latency (lower is better) and a rate (higher is better)."""
    direction = {"latency": "lower", "rate": "higher"}
    metrics = {"latency": {"value": more.get("latency", 1.0)}, "rate": {"value": more.get("rate", 100.0)}}
    for gone in more.get("without", []):
        del metrics[gone]
    return {"id": name, "timestamp": f"2026-03-{day:02d}T10:00:00+00:00", "commit": None, "branch": more.get("branch", "main"),
            "environment": {"machine": more.get("machine", "m1")}, "metadata": {},
            "metric_defs": {m: {"name": m, "unit": "ms", "direction": d, "group": "", "priority": "primary", "description": ""}
                            for m, d in direction.items() if more.get("defined", True)},
            "points": [{"name": more.get("point", "f"), "scenario": "s", "tags": {}, "metrics": metrics}]}


def store(p, *runs):
    """The first run is the baseline."""
    files = [p.write(f"{r['id']}.json", json.dumps(r)) for r in runs]
    run(p, "ingest", "--data", "store", "--input", *files, expect=0)
    run(p, "baseline", "--data", "store", "--run", runs[0]["id"], expect=0)


def gate(p, *args, expect):
    return run(p, "check", "--data", "store", *args, expect=expect)


def each_outcome_has_its_exit_status(p):
    base = make_run("base", 1)
    cases = [(dict(latency=1.02), [], 0, "PASSED"), (dict(latency=1.2), [], 1, "regressed"), (dict(rate=80.0), [], 1, "regressed"),
             (dict(latency=0.5, rate=300.0), [], 0, "PASSED"), (dict(latency=float("nan")), [], 1, "latency"), (dict(without=["rate"]), [], 2, "rate"),
             (dict(without=["rate"]), ["--allow-dropped"], 0, "PASSED"), (dict(point="g"), [], 2, "f@s"), (dict(machine="m2"), [], 2, "machine"),
             (dict(machine="m2"), ["--allow-other-machine"], 0, "PASSED"), (dict(latency=1.2), ["--threshold", "0.25"], 0, "PASSED"),
             (dict(latency=1.2), ["--metric-threshold", "lat*=0.25"], 0, "PASSED"), (dict(latency=1.2), ["--minimum", "0.5"], 0, "PASSED"),
             (dict(latency=1.2), ["--primary-threshold", "0.25"], 0, "PASSED")]
    store(p, base, *(make_run(f"case{i}", 2, **facts) for i, (facts, _, _, _) in enumerate(cases)))
    for i, (facts, options, status, part) in enumerate(cases):
        done = gate(p, "--run", f"case{i}", *options, expect=status)
        has(done.stdout, part, str(facts))


def zero_baselines_and_missing_definitions_do_not_pass(p):
    store(p, make_run("zero", 1, latency=0.0), make_run("now", 2, latency=9.0))
    gate(p, expect=2)
    os.makedirs(p.file("b"))
    bare = [make_run(n, d, defined=False, latency=v) for n, d, v in (("bare1", 3, 1.0), ("bare2", 4, 100.0))]
    store(p, *bare)
    has(gate(p, expect=2).stdout, "defin", "a hundred times slower without a definition is no pass")
    p.write("store/config.json", json.dumps({"metric_defs": make_run("x", 1)["metric_defs"]}))
    has(gate(p, expect=1).stdout, "regressed", "the store's own definitions count")


def what_could_pass_unseen_does_not(p):
    """Each is a store in which something else than the new measurement would be held against the baseline, or nothing would."""
    waive = [{"key": "*", "reason": "known", "until": "2999-12-31"}]
    p.write("all.json", json.dumps({"schema": "calibrax-waivers", "schema_version": 1, "waivers": waive}))
    late = make_run("late", 2)
    late["timestamp"] = "2999-01-01T00:00:00+00:00"
    cases = [
        ("the baseline itself", [], [], "'base' is its own baseline", "same-run"),
        ("the baseline itself, by name", [make_run("slow", 2, latency=9.0)], ["--run", "base"], "'base' is its own baseline", "same-run"),
        ("a branch whose run is older", [dict(make_run("dev", 1, branch="dev"), timestamp="2026-02-01T00:00:00+00:00")], ["--branch", "dev"],
         "older than the baseline 'base': measure again", None),
        ("two runs of one moment", [make_run("a", 2), make_run("b", 2, latency=9.0)], [], "have the same time: name one with --run", None),
        ("a clock that runs ahead", [late, make_run("slow", 3, latency=9.0)], [], "in the future: correct it, or name a run with --run", None),
        ("another machine", [make_run("other", 2, machine="m2")], [], "different machines", "other-machine"),
        ("a machine without a name", [make_run("none", 2, machine="")], [], "does not name its machine", "unknown-machine"),
        ("another point", [make_run("moved", 2, point="g")], ["--allow-dropped"], "no gating metric is in both runs", "no-overlap"),
        ("a definition that is gone", [make_run("bare", 2, defined=False)], [], "defined in the baseline but not in the run", ""),
        ("a threshold for no metric", [make_run("now", 2, latency=1.04)], ["--metric-threshold", "latancy=0.01"], "no metric of the two runs matches 'latancy'", None),
        ("a threshold without end", [make_run("now", 2, latency=9.0)], ["--metric-threshold", "*=inf"], "must be PATTERN=X with a number X, got '*=inf'", None),
        ("a waiver for everything", [make_run("now", 2, latency=9.0)], ["--waivers", "all.json"], "'*' matches every finding", None),
    ]
    for i, (why, runs, options, part, reason) in enumerate(cases):
        data = f"store{i}"
        files = [p.write(f"{r['id']}.json", json.dumps(r)) for r in [make_run("base", 1), *runs]]
        run(p, "ingest", "--data", data, "--input", *files, expect=0)
        run(p, "baseline", "--data", data, "--run", "base", expect=0)
        done = run(p, "check", "--data", data, *options, expect=2)
        has(done.stdout + done.stderr, part, why)
        if reason is not None:
            equal(json.loads(run(p, "check", "--data", data, *options, "--json", expect=2).stdout)["reason"] or "", reason, why)
    files = [p.write(f"{r['id']}.json", json.dumps(r)) for r in (make_run("base", 1), make_run("next", 2))]
    run(p, "ingest", "--data", "torn", "--input", *files, expect=0)
    run(p, "baseline", "--data", "torn", "--run", "base", expect=0)
    p.write("torn/runs/torn.json", '{"id": "torn", "timest')
    one_sentence(run(p, "check", "--data", "torn", expect=2), "may be the latest run", "calibrax")
    run(p, "check", "--data", "torn", "--run", "next", expect=0)


def samples_decide(p):
    def noisy(name, day, samples):
        r = make_run(name, day, without=["rate"])
        r["points"][0]["metrics"]["latency"] = {"value": sorted(samples)[len(samples) // 2], "samples": samples}
        return r

    base = [1.0 + i / 1000 for i in range(9)]
    store(p, noisy("base", 1, base), noisy("slow", 2, [1.3 * v for v in base]), noisy("wide", 3, [0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5]), noisy("same", 4, [v + 0.0001 for v in base]))
    gate(p, "--run", "slow", expect=1)
    gate(p, "--run", "same", expect=0)
    wide = gate(p, "--run", "wide", expect=3)
    has(wide.stdout, "undecided")
    gate(p, "--run", "wide", "--undecided-passes", expect=0)
    odd = noisy("odd", 5, [2 * v for v in base])
    odd["points"][0]["metrics"]["latency"]["value"] = base[4]
    store(p, noisy("base", 1, base), odd)
    one_sentence(gate(p, "--run", "odd", expect=1), "'latency' of 'f' in run 'odd' contradicts its samples: the value is 1.004 ms, the samples are 2 to 2.016", "calibrax")


def the_run_is_chosen(p):
    store(p, make_run("base", 1), make_run("dev1", 2, branch="dev", latency=2.0), make_run("main2", 3), make_run("other", 4, machine="m9"))
    gate(p, "--branch", "dev", expect=1)
    gate(p, "--machine", "m1", expect=0)
    gate(p, expect=2)
    has(gate(p, "--run", "base", expect=2).stdout, "run 'base' is its own baseline")
    one_sentence(gate(p, "--branch", "none", expect=2), "no run", "calibrax")
    one_sentence(gate(p, "--run", "dev1", "--branch", "dev", expect=2), "exclude each other", "calibrax")
    one_sentence(gate(p, "--baseline", "release", expect=2), "no baseline 'release': set it with 'calibrax baseline'", "calibrax")
    one_sentence(gate(p, "--baseline", "mian", expect=2), "no baseline 'mian'; did you mean 'main'?", "calibrax")
    one_sentence(run(p, "baseline", "--data", "store", "--remove", "--name", "release", expect=2), "no baseline 'release'", "calibrax")
    one_sentence(run(p, "show", "--data", "store", "--run", "baseline:release", expect=2), "no baseline 'release'", "calibrax")
    run(p, "baseline", "--data", "store", "--remove", expect=0)
    one_sentence(gate(p, expect=2), "no baseline 'main': set it with 'calibrax baseline'", "calibrax")


def answers_for_build_servers(p):
    store(p, make_run("base", 1), make_run("slow", 2, latency=1.5))
    found = json.loads(gate(p, "--json", expect=1).stdout)
    equal((found["schema"], found["exit_code"]), ("calibrax-gate", 1), "schema")
    equal(gate(p, "--format", "json", expect=1).stdout, gate(p, "--json", expect=1).stdout, "two ways to say it")
    check(xml.etree.ElementTree.fromstring(gate(p, "--format", "junit", expect=1).stdout) is not None, "JUnit is XML")
    check(gate(p, "--format", "github", expect=1).stdout.startswith("::error"), "workflow commands")
    has(gate(p, "--format", "markdown", expect=1).stdout, "|")
    one_sentence(gate(p, "--format", "xml", expect=2), "markdown, junit", "calibrax")
    for wrong in ("latency", "=0.1", "latency=x", "latency=-1"):
        one_sentence(gate(p, "--metric-threshold", wrong, expect=2), "PATTERN=X", "calibrax")
    waiver = {"key": "f@s{*}:latency", "reason": "known", "until": "2999-12-31"}
    p.write("waivers.json", json.dumps({"schema": "calibrax-waivers", "schema_version": 1, "waivers": [waiver]}))
    gate(p, "--waivers", "waivers.json", expect=0)
    p.write("waivers.json", json.dumps({"schema": "calibrax-waivers", "schema_version": 1, "waivers": [dict(waiver, until="2020-01-01")]}))
    gate(p, "--waivers", "waivers.json", expect=1)


def command_of(line):
    """A workflow command as GitHub's runner parses it: command, properties, message."""
    def plain(text, marks):
        for mark, code in marks:
            text = text.replace(code, mark)
        return text.replace("%25", "%")

    lines = [("\r", "%0D"), ("\n", "%0A")]
    head, _, message = line[2:].partition("::")
    command, _, properties = head.partition(" ")
    pairs = [item.partition("=")[::2] for item in properties.split(",")]
    return command, {k: plain(v, [*lines, (":", "%3A"), (",", "%2C")]) for k, v in pairs}, plain(message, lines)


def commands_name_the_place(p):
    """metadata.sources of the run gives file and line of a finding's point, also with hostile file names; without a source there is no place."""
    odd = "a,b:c%2Cd\n\u00e9.py"
    cases = [([{"point": "f", "file": "benchmarks/f.py", "line": 12}], {"file": "benchmarks/f.py", "line": "12"}), ([{"point": "f", "scenario": "s", "file": odd, "line": 3}], {"file": odd, "line": "3"}),
             ([{"point": "f", "file": "f.py"}], {"file": "f.py"}), ([{"point": "g", "file": "g.py", "line": 1}], {}), ([{"point": "f", "scenario": "t", "file": "t.py"}], {}),
             ([{"point": "f", "scenario": "t", "file": "t.py"}, {"point": "f", "file": "f.py", "line": 0}], {"file": "f.py"}),
             ([{"point": "f", "file": 7, "line": "x"}, 7, None, {"line": 1}], {}), ("text", {}), ({"point": "f", "file": "f.py"}, {}), (None, {})]
    runs = [{**make_run(f"now{i}", 2, latency=2.0), "metadata": {"sources": sources}} for i, (sources, _) in enumerate(cases)]
    store(p, make_run("base", 1), *runs)
    for i, (sources, place) in enumerate(cases):
        answer, found = map(command_of, gate(p, "--run", f"now{i}", "--format", "github", expect=1).stdout.splitlines())
        equal((answer[0], answer[1]), ("error", {"title": "FAILED"}), "the answer has no place")
        equal((found[0], found[1]), ("error", {**place, "title": "regressed"}), f"the place by {sources}")
        has(found[2], "f@s{}:latency regressed by +100 %: 2 ms")


def foreign_files_become_runs(p):
    files = sorted(f for f in os.listdir(IMPORT) if f.endswith((".json", ".jsonl", ".csv", ".txt"))) + ["criterion"]
    done = run(p, "ingest", "--data", "store", "--json", "--input", *(os.path.join(IMPORT, f) for f in files), expect=0)
    found = json.loads(done.stdout)
    equal(len(found["runs"]), len(files), "a run each")
    equal(found["skipped"], [], "none left out")
    check(any(n["message"] == "no such device" for n in found["notes"]), "a failed benchmark is noted")
    equal(run(p, "ingest", "--data", "store", "--json", "--input", *(os.path.join(IMPORT, f) for f in files), expect=0).stdout, done.stdout, "the same again")
    equal(len(os.listdir(p.file("store/runs"))), len(files), "and no run more")
    series = json.loads(run(p, "trend", "--data", "store", "--metric", "time", "--point", "quick", "--json", expect=0).stdout)["series"]
    check(len(series) >= 4, "one name in several tools")
    run(p, "ingest", "--data", "told", "--commit", "abcdef1", "--branch", "dev", "--input", os.path.join(IMPORT, "hyperfine.json"), expect=0)
    equal([(r["commit"], r["branch"]) for r in json.loads(run(p, "show", "--list", "--data", "told", "--json", expect=0).stdout)["runs"]], [("abcdef1", "dev")], "told facts")


main([each_outcome_has_its_exit_status, zero_baselines_and_missing_definitions_do_not_pass, what_could_pass_unseen_does_not, samples_decide, the_run_is_chosen, answers_for_build_servers,
      commands_name_the_place, foreign_files_become_runs])
