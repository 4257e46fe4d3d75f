"""calibrax profile: commands and functions, as text, JSON, trace and run."""
import json
import os
import subprocess
import sys

from harness import BUILD, CALIBRAX, SOURCE, check, equal, has, main, one_sentence

PLUGIN = os.path.abspath(os.path.join(BUILD, "tests/cli/libprofile_plugin.so"))
TRACE_RULES = os.path.join(SOURCE, "tests/profiling/check_trace.py")


def run(p, *args, **more):
    return p.run("profile", *args, program=CALIBRAX, **more)


def report(p, *args, **more):
    document = json.loads(run(p, "--json", *args, expect=0, **more).stdout)
    equal((document["schema"], document["version"]), ("calibrax-profile", 1), "schema")
    return document


def a_command(p):
    document = report(p, "-n", "6", "--", "sleep", "0.1")
    metrics = document["metrics"]
    wall = metrics["wall_time"]
    equal((document["kind"], document["subject"], document["samples"]), ("command", "sleep 0.1", 6), "what was run")
    equal((len(wall["samples"]), wall["unit"], wall["direction"]), (6, "s", "lower"), "wall time")
    check(0.1 <= wall["lower"] <= wall["value"] <= wall["upper"], wall)
    check(metrics["cpu_percent"]["value"] < 50, "it slept")
    check(0 < metrics["max_rss"]["value"] < 50, metrics["max_rss"])


def the_tree_is_counted(p):
    program = p.write("family.py", "import subprocess, sys, time\n"
                      "subprocess.run([sys.executable, '-S', '-c', 'import time; x = bytearray(b\"1\") * (70 << 20); s = sum(range(3000000)); time.sleep(0.5)'])\n")
    metrics = report(p, "-n", "1", "-w", "0", "--", os.path.realpath(sys.executable), "-S", program)["metrics"]
    check(metrics["max_rss"]["value"] > 70, "memory of the child")
    check(metrics["cpu_user"]["value"] + metrics["cpu_system"]["value"] > 0.02, "CPU time of the child")
    check(metrics["peak_processes"]["value"] >= 2, "both")


def text(p):
    out = run(p, "-n", "6", "--", "sh", "-c", "echo out; echo err >&2; sleep 0.3", expect=0)
    has(out.stdout, "6 runs")
    for part in ("time", "memory, one process", "page faults", "[95 % interval]"):
        has(out.stdout, part)
    check("out\n" not in out.stdout, "the command's own output is not in it")
    equal(out.stderr.count("err"), 7, "its errors are, the warm-up's too")
    has(run(p, "-n", "1", "--show-output", "--", "echo", "seen", expect=0).stdout, "seen\n")


def a_trace(p):
    path = p.file("trace.json")
    run(p, "-n", "2", "--trace", path, "--", "sleep", "0.05", expect=0)
    done = subprocess.run([sys.executable, TRACE_RULES, path], capture_output=True, text=True)
    equal((done.returncode, done.stderr), (0, ""), "rules of the format")
    with open(path, encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
    spans = [e for e in events if e["ph"] == "X"]
    equal([e["name"] for e in spans], ["sleep", "sleep"], "a span a run")
    check(all(50e3 <= e["dur"] < 600e6 for e in spans), f"microseconds: {spans}")
    check({"resident", "CPU", "threads"} <= {e["name"] for e in events if e["ph"] == "C"}, "counters")


def a_run_in_a_store(p):
    store = p.file("store")
    document = report(p, "-n", "6", "--data", store, "--name", "nap", "--", "sleep", "0.01")
    files = os.listdir(os.path.join(store, "runs"))
    equal(files, [document["run"] + ".json"], "one run")
    with open(os.path.join(store, "runs", files[0]), encoding="utf-8") as f:
        kept = json.load(f)
    point = kept["points"][0]
    equal((point["name"], point["scenario"], point["tags"]), ("nap", "profile", {"kind": "command"}), "point")
    equal(point["metrics"]["wall_time"]["samples"], document["metrics"]["wall_time"]["samples"], "samples")
    equal(set(point["metrics"]), set(kept["metric_defs"]), "each metric is defined")
    equal((kept["metric_defs"]["wall_time"]["direction"], kept["metric_defs"]["wall_time"]["priority"]), ("lower", "primary"), "definition")
    check("machine" in kept["environment"], "machine")
    report(p, "-n", "1", "--data", store, "--", "true")
    equal(len(os.listdir(os.path.join(store, "runs"))), 2, "a second one")


def a_function(p):
    document = report(p, "--plugin", PLUGIN, "--function", "add_up", "-n", "9")
    metrics = document["metrics"]
    equal((document["kind"], document["samples"]), ("function", 9), "samples")
    check(document["calls_per_sample"] > 1, "many calls a window")
    check(1000 * 0.1e-9 < metrics["call_time"]["value"] < 0.1, f"seconds: {metrics['call_time']}")
    check(metrics["clock_share"]["value"] < 1, "per cent")
    has(run(p, "--plugin", PLUGIN, "--function", "add_up", "-n", "9", expect=0).stdout, "samples of ")


def energy_says_why_not(p):
    document = report(p, "-n", "1", "-w", "0", "--energy", "--", "true")
    check("energy" in document["metrics"] or document["remarks"], "a value or a reason")


def faults_are_sentences(p):
    for args, part in [
            ([], "nothing to profile"),
            (["--plugin", PLUGIN], "go together"),
            (["--plugin", PLUGIN, "--function", "add_up", "--", "true"], "exclude each other"),
            (["--plugin", PLUGIN, "--function", "no_such"], "has no function 'no_such'"),
            (["--plugin", "none.so", "--function", "f"], "cannot load 'none.so'"),
            (["--plugin", PLUGIN, "--function", "nothing"], "too little to tell"),
            (["--", "no-such-program"], "cannot run 'no-such-program'"),
            (["-n", "2", "--", "false"], "'false' ended with status 1"),
            (["--country", "FRA", "--", "true"], "needs --energy"),
            (["--energy", "--country", "Germny", "--", "true"], "did you mean 'Germany'"),
            (["--sample-ms", "0.1", "--", "true"], "say 0.001 to 3600"),
            (["--trace", "/proc/no/trace.json", "--", "true"], "/proc/no"),
            (["--data", "/proc/no/store", "-n", "1", "--", "true"], "/proc/no"),
            (["--gpu", "7", "--", "true"], "GPU" if os.path.exists("/dev/nvidia0") else "libnvidia-ml1"),
    ]:
        one_sentence(run(p, *args, expect=2), part, "calibrax")
    report(p, "-i", "-n", "1", "--", "false")


def interrupted(p):
    started = subprocess.Popen([CALIBRAX, "profile", "-n", "1000", "--", "sh", "-c", "echo here >&2; sleep 0.2"], cwd=p.path, env=p.env,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for _ in range(3):
        equal(started.stderr.readline(), "here\n", "a run")
    started.terminate()
    started.communicate(timeout=120)
    equal(started.returncode, 130, "exit status")


main([a_command, the_tree_is_counted, text, a_trace, a_run_in_a_store, a_function, energy_says_why_not, faults_are_sentences, interrupted])
