"""calibrax run: shared objects and commands into a run, their targets, failures and interruption."""
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time

from harness import BUILD, CALIBRAX, SOURCE, check, equal, has, main, one_sentence

PLUGINS = os.path.abspath(os.path.join(BUILD, "tests/benchmark"))
PLUGIN = os.path.join(PLUGINS, "libbench_plugin.so")
TRACE_RULES = os.path.join(SOURCE, "tests/profiling/check_trace.py")
QUICK = ["--samples", "3", "--sample-ms", "0.01"]


def run(p, *args, **more):
    return p.run("run", *args, program=CALIBRAX, **more)


def report(p, *args, expect=0, **more):
    document = json.loads(run(p, "--json", *QUICK, *args, expect=expect, **more).stdout)
    equal((document["schema"], document["version"]), ("calibrax-benchmark-report", 1), "schema")
    equal(document["exit_code"], expect, "exit code")
    return document


def points(document):
    return {point["name"]: point for point in document["run"]["points"]}


def the_list(p):
    equal(run(p, "--plugin", PLUGIN, "--list", expect=0).stdout.split(), ["model", "sum", "pass", "stack", "old"], "names")
    document = json.loads(run(p, "--plugin", PLUGIN, "--list", "--json", expect=0).stdout)
    equal((document["kind"], document["benchmarks"][1]), ("object", "sum"), "as JSON")


def a_shared_object(p):
    found = points(report(p, "--plugin", PLUGIN, "-n", "6", "--batch-size", "4", "--tag", "size=small"))
    equal(sorted(found), ["model", "old", "pass", "stack", "sum"], "a point a benchmark")
    accuracy = found["model"]["metrics"]["accuracy"]
    equal((accuracy["value"], len(accuracy["samples"])), (0.9, 6), "a sample a launch")
    equal((found["model"]["scenario"], found["model"]["tags"]), ("vision", {"size": "small"}), "point")
    equal(found["stack"]["metrics"]["examples"]["value"], 10, "a dataset")
    check(found["sum"]["metrics"]["batch_time"]["value"] > 0, "timed work")


def text(p):
    done = run(p, "--plugin", PLUGIN, "-b", "model", "-n", "6", "--no-keep", *QUICK, expect=0)
    for part in ("model (vision): 6 launches", "accuracy", "[0.9, 0.9]", "met "):
        has(done.stdout, part)
    equal(done.stderr, "", "nothing to complain of")
    check(not os.path.exists(p.file(".calibrax")), "--no-keep keeps nothing")
    done = run(p, "--plugin", PLUGIN, "-b", "model", *QUICK, expect=0)
    has(done.stderr, "in .calibrax", "the default store is named")
    equal(len(os.listdir(p.file(".calibrax/runs"))), 1, "one run is kept")


def a_run_in_a_store(p):
    store = p.file("store")
    trace = p.file("trace.json")
    document = report(p, "--plugin", PLUGIN, "-b", "model", "-b", "pass", "--data", store, "--trace", trace, "--config", "value=0.85")
    equal(os.listdir(os.path.join(store, "runs")), [document["run"]["id"] + ".json"], "one run")
    with open(os.path.join(store, "runs", document["run"]["id"] + ".json"), encoding="utf-8") as f:
        kept = json.load(f)
    equal([point["name"] for point in kept["points"]], ["model", "pass"], "points")
    equal(kept["points"][0]["metrics"]["accuracy"]["value"], 0.85, "the configuration was told")
    equal(kept["metadata"]["benchmarks"][0]["config"], {"value": 0.85}, "and kept")
    equal(kept["metadata"]["trace"]["file"], trace, "the trace is named")
    equal(kept["metadata"]["targets"][0]["outcome"], "met", "the target")
    check(all(name in kept["metric_defs"] for name in kept["points"][0]["metrics"]), "each metric is defined")
    check("machine" in kept["environment"], "machine")
    os.makedirs(p.file("prof/plugins/profile/2026"))
    with open(p.file("prof/plugins/profile/2026/host.trace.json"), "w", encoding="utf-8") as f:
        f.write('{"traceEvents": []}')
    linked = report(p, "--plugin", PLUGIN, "-b", "pass", "--config", "value=0.85", "--trace-dir", p.file("prof"))["run"]["metadata"]["trace_link"]
    equal((linked["session"], linked["files"][0]["format"]), ("plugins/profile/2026", "trace-event-json"), "traces that a benchmark wrote")
    done = run(p, "--plugin", PLUGIN, "-b", "pass", "--config", "value=0.85", "--trace-dir", p.file("none"), "--json", expect=2)
    check("none" in json.loads(done.stdout)["faults"][0], "a folder that is not there is told, behind what was measured")
    rules = subprocess.run([sys.executable, TRACE_RULES, trace], capture_output=True, text=True)
    equal((rules.returncode, rules.stderr), (0, ""), "rules of the trace's format")
    with open(trace, encoding="utf-8") as f:
        spans = [e["name"] for e in json.load(f)["traceEvents"] if e["ph"] == "X"]
    check({"model", "pass", "setup", "training", "evaluation", "teardown"} <= set(spans), spans)
    report(p, "--plugin", PLUGIN, "-b", "sum", "--data", store)
    equal(len(os.listdir(os.path.join(store, "runs"))), 2, "a second one is appended")


def two_runs_can_be_checked(p):
    store = p.file("store")
    for _ in range(2):
        report(p, "--plugin", PLUGIN, "-b", "model", "-n", "7", "--data", store)
    p.run("baseline", "--data", store, program=CALIBRAX, expect=0)
    report(p, "--plugin", PLUGIN, "-b", "model", "-n", "7", "--data", store, "--config", "value=0.81")
    done = p.run("check", "--data", store, "--json", program=CALIBRAX)
    findings = {f["metric"]: f["outcome"] for f in json.loads(done.stdout)["findings"]}
    equal((done.returncode, findings["accuracy"]), (1, "regressed"), "a worse accuracy is seen")
    equal({findings[name] for name in ("setup_seconds", "teardown_seconds", "launch_seconds", "cpu_user", "cpu_system")}, {"info"},
          "what only tells does not gate")


def targets(p):
    for args, code, outcome in [
            (["--config", "value=0.9"], 0, "met"),
            (["--config", "value=0.7"], 1, "missed"),
            (["--config", "value=NaN"], 1, "not-a-number"),
            (["--target", "accuracy=0.95"], 1, "missed"),
            (["--target", "accuracy=0.85"], 0, "met"),
            (["--target", "speed=1"], 2, "missing-metric"),
            (["--define", "accuracy=info"], 2, "no-direction"),
            (["--define", "accuracy=lower"], 1, "missed"),
    ]:
        document = report(p, "--plugin", PLUGIN, "-b", "model", *args, expect=code)
        found = {t["metric"]: t["outcome"] for t in document["targets"]}
        equal(found["speed" if "speed=1" in args else "accuracy"], outcome, args)
    one_sentence(run(p, "--plugin", PLUGIN, "-b", "model", "-c", "value=0.7", "--no-keep", expect=1), "at least 0.8 is the target: missed", "calibrax")
    document = report(p, "--plugin", PLUGIN, "-b", "sum", "--target", "batch_time=0", "-n", "7", expect=1)
    equal(document["targets"][0]["direction"], "lower", "of what is measured here, too")


def a_missed_target_is_seen_once(p):
    """On a terminal that shows both outputs; a pipe gets the sentence beside the result."""
    leader, follower = pty.openpty()
    child = subprocess.Popen([CALIBRAX, "run", "--target", "wall_time=0", "--", "true"], cwd=p.path, env=p.env, stdout=follower, stderr=follower)
    os.close(follower)
    text = b""
    try:
        while piece := os.read(leader, 65536):
            text += piece
    except OSError:  # the other side is closed
        pass
    os.close(leader)
    equal((child.wait(60), text.count(b"is the target")), (1, 1), text)


def failures(p):
    done = run(p, "--plugin", PLUGIN, "-b", "model", "-c", "fail=evaluation", expect=2)
    one_sentence(done, "warning: 'model', launch 1 of 1 failed (evaluation): evaluation was told to fail", "calibrax")
    (target,) = report(p, "--plugin", PLUGIN, "-b", "model", "-c", "fail=evaluation", "--target", "accuracy=0.5", expect=2)["targets"]
    equal(target["outcome"], "incomplete", "it is the launch that is missing, not the metric")
    document = report(p, "--plugin", PLUGIN, "-b", "model", "-b", "sum", "-c", "crash=training", expect=2)
    equal(([f["phase"] for f in document["failures"]], list(points(document))), (["training"], ["sum"]), "the others go on")
    has(document["failures"][0]["message"], "signal 11")
    log = p.file("log")
    run(p, "--plugin", PLUGIN, "-b", "model", "-c", f"log={log}", "-c", "hang=training", "--timeout", "3", "--grace", "0.2", expect=2)
    # hanging in C code, it ends when the process looks at the signal, or is killed after the grace
    with open(log, encoding="utf-8") as f:
        equal(f.read().split()[:2], ["setup", "training"], "phases")


def a_launch_that_fails(p):
    """4 of 5 launches crash: the benchmark failed, and no check takes what is left of it for sound."""
    store, flaky = p.file("store"), ["sh", "-c", "n=$(cat n || echo 0); echo $((n + 1)) > n; [ $n -ge $GOOD ]"]
    p.write("n", "9")
    run(p, "-n", "7", "--data", store, "--", *flaky, env={"GOOD": "4"}, expect=0)
    p.run("baseline", "--data", store, program=CALIBRAX, expect=0)
    p.write("n", "0")
    document = report(p, "-n", "5", "--data", store, "--", *flaky, env={"GOOD": "4"}, expect=2)
    equal((len(document["failures"]), points(document)["sh"]["tags"]), (4, {"failed_launches": "4 of 5"}), "what is left is marked")
    p.run("check", "--data", store, program=CALIBRAX, expect=2)
    p.write("n", "0")
    document = report(p, "-n", "5", "--allow-failed", "0.8", "--", *flaky, env={"GOOD": "4"}, expect=0)
    equal((len(document["failures"]), points(document)["sh"]["tags"]), (4, {}), "the user allows it")
    one_sentence(run(p, "--allow-failed", "1", "--", "true", expect=2), "must be at least 0 and below 1, got 1", "calibrax")


CASE = '{"schema": "nperf-case", "version": 1, "name": "work", "kind": "commands", '
COMMANDS = CASE + """ "baselines": [
  {"name": "count", "scenario": "shell", "command": "echo '{\\"lines\\": 3}'", "metric_defs": {"lines": {"direction": "higher"}},
   "targets": {"lines": 3}, "tags": {"kind": "builtin"}},
  {"name": "idle", "command": ["sleep", "0.02"], "metrics": "none", "targets": {"wall_time": 50}}]}
"""


def commands(p):
    found = points(report(p, "-n", "7", "--", "sleep", "0.02"))
    wall = found["sleep"]["metrics"]["wall_time"]
    check(0.02 <= wall["lower"] <= wall["value"] <= wall["upper"] and len(wall["samples"]) == 7, wall)
    document = report(p, "--define", "rate=higher:1/s", "--target", "rate=5", "--", "sh", "-c", "echo words; echo '{\"rate\": 6}'")
    equal((document["targets"][0]["outcome"], document["run"]["metric_defs"]["rate"]["unit"]), ("met", "1/s"), "its own metric")
    document = report(p, "--file", p.write("b.json", COMMANDS))
    equal([t["outcome"] for t in document["targets"]], ["met", "met"], "targets of a file")
    equal((points(document)["count"]["tags"], points(document)["count"]["scenario"]), ({"kind": "builtin"}, "shell"), "point")
    equal(run(p, "--file", p.file("b.json"), "--list", expect=0).stdout.split(), ["count", "idle"], "list")
    equal(points(document)["idle"]["scenario"], "work", "the case is the scenario")
    document = report(p, "-n", "2", "--file", p.write("p.json", CASE + """ "params": [{"name": "n", "min": 1, "max": 9}], "points": [{"n": 2}, {"n": 4}],
      "setup": "seq {n} > right", "prepare": "rm -f out", "check": [{"file": "out", "same_as": "right"}],
      "baselines": [{"name": "copy", "command": ["cp", "right", "out"]}, {"name": "bad", "command": "seq 2 > out"}]}"""), "--allow-failed", "0.9", expect=2)
    equal({n: q["tags"] for n, q in points(document).items()}, {"copy[n=2]": {"n": "2"}, "copy[n=4]": {"n": "4"}, "bad[n=2]": {"n": "2"}}, "each point")
    equal({(f["benchmark"], f["phase"], f["message"]) for f in document["failures"]},
          {("bad[n=4]", "check", "'out' differs from 'right' at byte 5")}, "outputs are checked")
    check(not os.path.exists(p.file("right")), "in folders of their own")
    p.write("data", "1\\n")
    document = report(p, "--file", p.write("f.json", CASE + ' "folder": ".", "baselines": [{"name": "cat", "command": "cat data"}]}'))
    equal(document["failures"], [], "beside the file")
    document = report(p, "-c", "depth=3", "--", "sh", "-c", "echo \"{\\\"told\\\": $(echo $CALIBRAX_CONFIG | tr -dc 0-9)}\"")
    equal(points(document)["sh"]["metrics"]["told"]["value"], 3, "the configuration is in the environment")


def faults_are_sentences(p):
    bad = p.write("bad.json", CASE + '"baselines": [{"name": "a", "comand": "b"}]}')
    former = p.write("former.json", '{"schema": "calibrax-benchmarks", "version": 1, "benchmarks": []}')
    for args, part in [
            ([], "'calibrax run' needs '--plugin', '--module', '--file' or COMMAND"),
            (["--plugin", PLUGIN, "--", "true"], "exclude each other"),
            (["--python", "python3", "--", "true"], "'--python' needs '--module'"),
            (["--plugin", PLUGIN, "--metrics", "stdout"], "'--metrics' needs COMMAND"),
            (["--metrics", "all", "--", "true"], "must be auto, stdout or none"),
            (["--plugin", "none.so"], "cannot load the plug-in 'none.so'"),
            (["--plugin", PLUGIN, "-b", "modle"], "did you mean 'model'"),
            (["--plugin", PLUGIN, "--name", "x"], "cannot all be named 'x'"),
            (["--plugin", PLUGIN, "-n", "0"], "'--launches' must be an integer of at least 1, got '0'"),
            (["--plugin", PLUGIN, "--batch-size", "0"], "--batch-size"),
            (["--plugin", PLUGIN, "--config", "x"], "must be KEY=VALUE"),
            (["--plugin", PLUGIN, "--tag", "=x"], "must be KEY=VALUE"),
            (["--plugin", PLUGIN, "--target", "a=fast"], "must be METRIC=NUMBER"),
            (["--plugin", PLUGIN, "--target", "a=nan"], "must be METRIC=NUMBER"),
            (["--plugin", PLUGIN, "--target", "a=0x10"], "must be METRIC=NUMBER"),
            (["--plugin", PLUGIN, "--define", "a=up"], "must be METRIC=higher, lower or info"),
            (["--plugin", PLUGIN, "--trace", "/proc/no/trace.json"], "/proc/no"),
            (["--plugin", PLUGIN, "--data", "/proc/no/store"], "/proc/no"),
            (["--plugin", PLUGIN, "--level", "2"], "must be a number between 0 and 1"),
            (["--file", "none.json"], "none.json"),
            (["--file", bad], "did you mean 'command'"),
            (["--file", former], "is of the former schema 'calibrax-benchmarks'"),
            (["--plugin", os.path.join(PLUGINS, "libwrong_plugin_1.so")], "is a plug-in of ABI 99, and this program takes 1"),
            (["--plugin", os.path.join(PLUGINS, "libwrong_plugin_5.so")], "exports no 'cbx_plugin_table'"),
            (["--", "no-such-program"], "cannot run 'no-such-program'"),
            (["--", "sh", "-c", "echo oh dear >&2; exit 3"], "ended with status 3: oh dear"),
    ]:
        one_sentence(run(p, *args, expect=2), part, "calibrax")


def started(p, *args):
    return subprocess.Popen([CALIBRAX, "run", "--json", *args], cwd=p.path, env=p.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(path, text, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                if text in f.read():
                    return
        time.sleep(0.02)
    raise AssertionError(f"no {text!r} in {path}")


def interrupted(p):
    log, store = p.file("log"), p.file("store")
    child = started(p, "--data", store, "-n", "3", "--", "sh", "-c",
                    f"trap 'echo torn >> {log}; exit 1' TERM; echo begun >> {log}; [ $(wc -l < {log}) = 1 ] || while :; do sleep 0.05; done")
    wait_for(log, "begun\nbegun\n")
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=60)
    equal(child.returncode, 130, "exit status")
    with open(log, encoding="utf-8") as f:
        equal(f.read(), "begun\nbegun\ntorn\n", "it was asked to end, and could tear down")
    document = json.loads(out)
    equal((document["interrupted"], len(os.listdir(os.path.join(store, "runs")))), (True, 1), "what finished is kept")
    child = started(p, "--plugin", PLUGIN, "-b", "model", "-c", f"log={log}", "-c", "hang=training", "--grace", "0.2")
    wait_for(log, "training\n")
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=60)
    equal(child.returncode, 130, "what does not end is killed after the grace")


def examples(language):
    with open(os.path.join(SOURCE, "docs/how-to/benchmarks.md"), encoding="utf-8") as f:
        return re.findall(f"```{language}\n(.*?)```", f.read(), re.S)


def the_manual(p):
    (short, plugin), (module, registered, _), (commands_file,) = examples("c"), examples("python"), examples("json")  # tests/python/test_pytest_plugin.py has the third
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    done = subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{SOURCE}", p.write("sum.c", plugin), "-o", p.file("sum.so")],
                          capture_output=True, text=True)
    equal((done.returncode, done.stderr), (0, ""), "it compiles without a warning")
    done = subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC", f"-I{SOURCE}", p.write("dot.c", short + "CBX_BENCH(other) { CBX_KEEP(x[0]); for (int i = 0; i < 99; i++) CBX_KEEP(i); }\n"),
                           "-o", p.file("dot.so")], capture_output=True, text=True)
    equal((done.returncode, done.stderr), (0, ""), "the short form, too")
    short_metrics = {name: point["metrics"]["batch_time"]["value"] for name, point in points(report(p, "--plugin", "dot.so")).items()}
    check(sorted(short_metrics) == ["dot", "other"] and all(1e-9 < t < 1e-3 for t in short_metrics.values()), short_metrics)
    metrics = points(report(p, "--plugin", "sum.so", "-c", "n=100"))["sum"]["metrics"]
    equal(metrics["total"]["value"], 4950, "the configuration counts")
    os.makedirs(p.file("package/benchmarks"))
    for name, text in (("__init__", ""), ("kernels", "def dot(x, y):\n    return sum(a * b for a, b in zip(x, y))\n"), ("benchmarks/__init__", ""), ("benchmarks/dot", registered)):
        p.write(f"package/{name}.py", text)
    p.env["PYTHONPATH"] = os.path.join(os.path.abspath(BUILD), "python")
    check(points(report(p, "package/benchmarks", "--python", sys.executable))["dot"]["metrics"]["batch_time"]["value"] > 1e-6, "a folder")
    document = report(p, "--module", p.write("sort.py", module), "--python", sys.executable, "--config", "n=200")
    equal([t["outcome"] for t in document["targets"]], ["met"], "the Python class")
    document = report(p, "--file", p.write("commands.json", commands_file))
    equal([t["outcome"] for t in document["targets"]], ["met", "met"], "the commands")
    check(not os.path.exists(p.file("data")), "torn down")


def it_launches_until_decided(p):
    """The baseline gets as many launches as a check needs, and so does what is checked: unchanged, slower, or out of time."""
    def until(seconds, *command, data="store", **more):
        done = run(p, "--until-decided", seconds, "--data", data, "--name", "nap", "--scenario", "s", "--", *command, **more)
        return done.stderr
    has(until("30", "sleep", "0.1"), "decided after", "a baseline")
    p.run("baseline", "--data", "store", program=CALIBRAX, expect=0)
    has(until("30", "sleep", "0.1"), "decided after", "the same again")
    has(p.run("check", "--data", "store", program=CALIBRAX, expect=0).stdout, "PASSED", "is unchanged")
    has(until("30", "sleep", "0.15"), "decided after", "half as long again")
    has(p.run("check", "--data", "store", program=CALIBRAX, expect=1).stdout, "wall_time regressed", "is slower")
    begin = time.monotonic()
    p.write("launches", "0")
    noise = "n=$(cat launches); echo $((n + 1)) > launches; sleep 0.0$((n % 5 * 2))"
    has(until("0.5", "sh", "-c", f"cd '{p.file('.')}'; {noise}", data="noise"), "undecided after", "noise that no launch removes")
    check(time.monotonic() - begin < 10, "its time is limited")
    one_sentence(run(p, "--until-decided", "5", "--no-keep", "--", "true", expect=2), "--no-keep", "calibrax")
    one_sentence(run(p, "--threshold", "0.1", "--", "true", expect=2), "'--threshold' needs '--until-decided'", "calibrax")
    one_sentence(run(p, "--until-decided", "5", "--baseline", "other", "--data", "store", "--", "true", expect=2), "other", "calibrax")


def nap(p, kind, seconds):
    """The same work as a command, a shared object and a Python callable: the words of `run` for it, and the metric of its time."""
    if kind == "command":
        return ["--", "sleep", str(seconds)], "wall_time"
    if kind == "class":
        return ["--module", p.write("nap.py", f"import time\n\n\ndef nap():\n    time.sleep({seconds})\n") + ":nap", "--python", sys.executable], "batch_time"
    source = p.write("nap.c", f"#include <unistd.h>\n#include <calibrax/bench.h>\nCBX_BENCH(nap) {{ usleep({round(1e6 * seconds)}); }}\n")
    done = subprocess.run(["cc", "-shared", "-fPIC", f"-I{SOURCE}", source, "-o", p.file("nap.so")], capture_output=True, text=True)
    equal((done.returncode, done.stderr), (0, ""), "compiled")
    return ["--plugin", "nap.so"], "batch_time"


def kinds_share_a_store(p):
    """Commands, shared objects and Python callables: one definition of each metric, a baseline for each suite, and each compared with its own."""
    kinds = ("command", "object", "class")
    defined = {}
    for seconds, outcome in ((0.02, None), (0.02, "equivalent"), (0.08, "regressed")):
        for kind in kinds:
            words, metric = nap(p, kind, seconds)
            found = json.loads(run(p, "--json", "-n", "7", *QUICK, "--name", "nap", "--scenario", "s", "--data", "store", *words, expect=0).stdout)["run"]
            for name, definition in found["metric_defs"].items():
                equal(definition, defined.setdefault(name, definition), f"{name} of a {kind} is what it is of the others")
            value = found["points"][0]["metrics"][metric]["value"]
            check(seconds <= value < seconds + 0.03, f"{metric} of a {kind} is {value} s of {seconds}")
            if not outcome:
                p.run("baseline", "--data", "store", "--name", kind, program=CALIBRAX, expect=0)
                continue
            against = ["check", "--data", "store", "--threshold", "0.8", "--json", "--baseline"]
            done = p.run(*against, kind, program=CALIBRAX, expect=0 if outcome == "equivalent" else 1)
            changes = {c["metric"]: c for c in json.loads(done.stdout)["findings"]}
            equal(changes[metric]["outcome"], outcome, f"{metric} of a {kind}")
    equal((defined["wall_time"]["unit"], defined["wall_time"]["direction"]), (defined["batch_time"]["unit"], defined["batch_time"]["direction"]), "both in seconds, lower is better")
    has(p.run("check", "--data", "store", "--baseline", "command", program=CALIBRAX, expect=1).stdout, "wall_time is in the baseline but missing in the run", "of another kind")


main([the_manual, it_launches_until_decided, kinds_share_a_store, the_list, a_shared_object, text, a_run_in_a_store, two_runs_can_be_checked, targets, a_missed_target_is_seen_once, failures, a_launch_that_fails, commands, faults_are_sentences, interrupted])
