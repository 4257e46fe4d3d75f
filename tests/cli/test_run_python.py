"""calibrax run --module: classes that meet the Python package's BenchmarkProtocol, each launch in an interpreter of its own.

CALIBRAX_PYTHON names an interpreter with the package calibrax 0.1.14; without it the test of its own classes is skipped.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import time

from harness import BUILD, CALIBRAX, SOURCE, Skip, check, equal, has, main, one_sentence

MODULE = os.path.join(SOURCE, "tests/cli/bench_module.py")
QUICK = ["--python", sys.executable, "--samples", "3", "--sample-ms", "0.1", "--batch-size", "4"]


def run(p, *args, **more):
    return p.run("run", *args, program=CALIBRAX, **more)


def report(p, *args, expect=0, **more):
    document = json.loads(run(p, "--json", *QUICK, *args, expect=expect, **more).stdout)
    equal(document["exit_code"], expect, "exit code")
    return document


def point(document, name):
    return next(found for found in document["run"]["points"] if found["name"] == name)


def what_is_found(p):
    equal(run(p, "--module", MODULE, "--list", *QUICK, expect=0).stdout.split(), ["Model"], "classes with the whole protocol")
    shutil.copy(MODULE, p.file("mine.py"))
    equal(run(p, "--module", "mine", "--list", *QUICK, expect=0).stdout.split(), ["Model"], "a module of the folder that one is in")
    equal(run(p, "--module", "mine:Sum", "--list", *QUICK, expect=0).stdout.split(), ["Sum"], "one by name")


def the_protocol(p):
    document = report(p, "--module", MODULE, "-n", "3", "--define", "accuracy=higher")
    metrics = point(document, "Model")["metrics"]
    equal((metrics["accuracy"]["value"], metrics["loss"]["value"], len(metrics["accuracy"]["samples"])), (0.9, 0.5, 3), "values over launches")
    check(metrics["training_seconds"]["value"] > 0 and metrics["launch_seconds"]["value"] > 0 and metrics["max_rss"]["value"] > 1, metrics)
    equal([(t["metric"], t["outcome"]) for t in document["targets"]], [("accuracy", "met")], "its targets")
    reported = document["run"]["metadata"]["benchmarks"][0]
    equal((reported["driver"], reported["launches"]), ("python", 3), "who ran it")
    check("source" not in reported["told"][0], "the source is listed once")
    equal([phase["name"] for phase in reported["told"][0]["phases"]], ["setup", "training", "evaluation", "targets", "teardown"], "phases")
    equal(reported["told"][0]["versions"]["python"], ".".join(map(str, sys.version_info[:3])), "versions")


def places_of_code(p):
    """metadata.sources: the file relative to the repository, or without one to the folder, and the line of the function, below decorators that wrap it."""
    p.write("plain.py", "from functools import wraps\ndef twice(f):\n    @wraps(f)\n    def g():\n        f()\n        f()\n    return g\n\n@twice\ndef nap():\n    pass\n\nclass Work:\n    def work(self):\n        pass\n")
    for folder, file in ((".", "plain.py"), ("repo/deep", "deep/plain.py")):
        os.makedirs(p.file(folder), exist_ok=True)
        if folder != ".":
            os.makedirs(p.file("repo/.git"))
            shutil.move(p.file("plain.py"), p.file(folder))
        for name, line in (("nap", 9), ("Work", 13)):
            sources = report(p, "--module", f"{folder}/plain.py:{name}")["run"]["metadata"]["sources"]
            equal(sources, [{"point": name, "file": file, "line": line}], f"{name} of {folder}")
    check("sources" not in report(p, "--module", "time:time")["run"]["metadata"], "code in C has none")
    p.write("store_it.py", "def nap():\n    pass\n")
    equal(report(p, "--module", "store_it.py:nap", "--name", "other")["run"]["metadata"]["sources"][0]["point"], "other", "by the name of the point")


def targets_never_pass_unseen(p):
    for args, code, outcome in [
            ([], 2, "no-direction"),
            (["--define", "accuracy=higher", "-c", "accuracy=0.5"], 1, "missed"),
            (["--define", "accuracy=higher", "-c", "accuracy=NaN"], 1, "not-a-number"),
    ]:
        document = report(p, "--module", MODULE + ":Model", *args, expect=code)
        equal(document["targets"][0]["outcome"], outcome, args)
    equal(report(p, "--module", MODULE + ":Odd", "-c", "value=nan", expect=1)["targets"][0]["outcome"], "not-a-number", "NaN by itself")
    equal(report(p, "--module", MODULE + ":Odd", "-c", "value=none", expect=2)["targets"][0]["outcome"], "missing-metric", "no such metric")


def more_than_the_protocol(p):
    for batchable in ("false", "true"):
        found = point(report(p, "--module", MODULE + ":Pass", "-c", f"batchable={batchable}"), "Pass")
        metrics = found["metrics"]
        equal((metrics["examples"]["value"], len(metrics["batch_time"]["samples"])), (10, 2), "three batches, one of them a warm-up")
        check(metrics["throughput"]["value"] > 0, "examples by time")
        equal((found["scenario"], found["tags"]), ("data", {"kind": "list"}), "point")
    metrics = point(report(p, "--module", MODULE + ":Sum"), "Sum")["metrics"]
    check(len(metrics["batch_time"]["samples"]) == 3 and 0 < metrics["batch_time"]["value"] < 0.1, metrics["batch_time"])
    calls = point(report(p, "--module", MODULE + ":Tally", "--sample-ms", "0", "--samples", "3"), "Tally")["metrics"]["calls"]["value"]
    check(calls > 200, f"no sample is of the clock alone: {calls} calls")
    check(point(report(p, "--module", MODULE + ":factory", "-c", "size=4"), "factory"), "what a function makes")
    p.write("f.py", "def dot(n=1000):\n    return sum(range(n))\n")
    times = [point(report(p, "--module", "f.py:dot", "-c", f"n={n}"), "dot")["metrics"]["batch_time"]["value"] for n in (1000, 100000)]
    check(20 * times[0] < times[1], f"any callable, with its arguments: {times}")


def failures(p):
    log = p.file("log")
    for phase, phases in [("setup", "made setup teardown"), ("training", "made setup training teardown"),
                          ("evaluation", "made setup training evaluation teardown"),
                          ("targets", "made setup training evaluation targets teardown")]:
        document = report(p, "--module", MODULE, "-c", f"fail={phase}", expect=2, env={"BENCH_LOG": log})
        failure = document["failures"][0]
        equal((failure["phase"], failure["status"]), (phase, "ECHILD"), "phase")
        has(failure["message"], f"ValueError: {phase} was told to fail (bench_module.py:")
        with open(log, encoding="utf-8") as f:
            equal(f.read().split(), phases.split(), "torn down, and nothing between")
        os.remove(log)
    (lie,) = report(p, "--module", MODULE + ":Liar", "--sample-ms", "20", expect=2)["failures"]
    check(lie["phase"] == "work" and "by the parent's clock" in lie["message"], lie)
    document = report(p, "--module", MODULE, "-c", "fail=teardown", expect=2)
    equal(document["failures"][0]["phase"], "teardown", "of the tear-down itself")
    equal(report(p, "--module", MODULE + ":Leaver", expect=2)["failures"][0]["message"][:10], "SystemExit", "one that leaves")
    has(report(p, "--module", MODULE + ":Crasher", expect=2)["failures"][0]["message"], "signal 11 (Segmentation fault): about to crash")
    document = report(p, "--module", MODULE, "-c", "hang=training", "--timeout", "5", expect=2, env={"BENCH_LOG": log})
    equal(document["failures"][0]["status"], "ETIMEOUT", "one that does not end")
    with open(log, encoding="utf-8") as f:
        equal(f.read().split()[-1], "teardown", "is torn down")


def faults_are_sentences(p):
    p.write("broken.py", "def f(:\n")
    p.write("empty.py", "x = 1\n")
    p.write("twice.py", "from bench_module import Model\nclass A(Model):\n    name = 'same'\nclass B(Model):\n    name = 'same'\n")
    shutil.copy(MODULE, p.file("bench_module.py"))
    for args, part in [
            (["--module", "no_such_module"], "No module named 'no_such_module'"),
            (["--module", "none.py"], "no Python file 'none.py'"),
            (["--module", "broken.py"], "SyntaxError"),
            (["--module", "empty.py"], "defines no benchmark: a class with setup, run_training"),
            (["--module", "twice.py"], "two benchmarks are named 'same': class A (twice.py:2) and class B (twice.py:4); rename one"),
            (["--module", "empty.py:x.y"], "'empty.py' has no 'x.y'"),
            (["--module", "empty.py:x"], "'x' is int, no benchmark"),
            (["--module", MODULE, "-b", "Modle"], "did you mean 'Model'"),
            (["--module", MODULE, "-c", "speed=3"], "unexpected keyword argument 'speed'"),
            (["--module", MODULE + ":Odd", "-c", "value=text"], "run_evaluation gave 'a' as str, not a number"),
            (["--module", MODULE + ":Odd", "-c", "value=flag"], "run_evaluation gave 'a' as bool, not a number"),
            (["--module", MODULE + ":Pass", "-c", "batchable=true", "-c", "missing=1"], "the batch from example 0 on has 3 rows: get_batch has to give 4"),
            (["--module", MODULE + ":Numbers", "-c", "batchable=true"], "'Numbers' has neither run_training, run_evaluation, work nor run_batch"),
    ]:
        one_sentence(run(p, *QUICK, *args, expect=2), part, "calibrax")
    one_sentence(run(p, "--module", MODULE, "--python", "no-such-python", expect=2), "cannot run 'no-such-python'", "calibrax")


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
    log = p.file("log")
    child = subprocess.Popen([CALIBRAX, "run", *QUICK, "--module", MODULE, "-c", "hang=training"], cwd=p.path, env=dict(p.env, BENCH_LOG=log),
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(log, "training")
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=60)
    equal(child.returncode, 130, "exit status")
    with open(log, encoding="utf-8") as f:
        equal(f.read().split(), ["made", "setup", "training", "teardown"], "torn down")


REGISTERED = """
from calibrax_c import register_benchmark
from ..kernels import total

@register_benchmark("sum")
def total_of_thousand():
    total(range(1000))

@register_benchmark("sort")
class Sort:
    def setup(self):
        self.numbers = list(range(1000, 0, -1))

    def work(self):
        sorted(self.numbers)
"""


def folders(p):
    os.makedirs(p.file("package/benchmarks"))
    os.makedirs(p.file("scripts"))
    os.makedirs(p.file("none"))
    for name, text in (("package/__init__.py", ""), ("package/kernels.py", "total = sum"), ("package/benchmarks/__init__.py", ""),
                       ("package/benchmarks/bench.py", REGISTERED), ("package/benchmarks/_left_out.py", "raise ValueError"), ("scripts/broken.py", "import no_such"),
                       ("none/empty.py", "")):
        p.write(name, text)
    shutil.copy(MODULE, p.file("package/benchmarks/classes.py"))
    p.env["PYTHONPATH"] = os.path.join(os.path.abspath(BUILD), "python")
    for folder in ("package/benchmarks", "./package/benchmarks/", p.file("package/benchmarks")):
        equal(sorted(run(p, folder, "--list", "--python", sys.executable, expect=0).stdout.split()), ["Model", "sort", "sum"], f"registered and defined in {folder}")
    equal(run(p, "package/benchmarks/classes.py:Sum", "--list", "--python", sys.executable, expect=0).stdout.split(), ["Sum"], "one of a file")
    document = report(p, "package/benchmarks", "-n", "2", "-b", "sum", "-b", "sort", expect=0)
    equal(sorted((found["name"], len(found["metrics"]["batch_time"]["samples"])) for found in document["run"]["points"]), [("sort", 2), ("sum", 2)], "measured")
    for folder, words in (("scripts/", "cannot import 'scripts/broken.py': ModuleNotFoundError"), ("none/", "no benchmark in the 1 Python files of 'none/'")):
        one_sentence(run(p, folder, "--python", sys.executable, expect=2), words, "calibrax")


def below_folders(p):
    for name in ("package/benchmarks/deep", "package/benchmarks/data", "plain/one", "plain/two", "plain/.hidden", "plain/_old", "plain/venv/lib"):
        os.makedirs(p.file(name))
    of = "from calibrax_c import register_benchmark\n@register_benchmark('{0}')\ndef {0}():\n    pass\n"
    for name, text in (("package/__init__.py", ""), ("package/kernels.py", "total = sum"), ("package/benchmarks/__init__.py", ""), ("package/benchmarks/bench.py", REGISTERED),
                       ("package/benchmarks/deep/__init__.py", ""), ("package/benchmarks/deep/bench.py", "from ..bench import Sort\n" + of.format("deep")),
                       ("package/benchmarks/data/no_package.py", "raise ValueError"), ("plain/one/bench.py", "import kernel\n" + of.format("one")),
                       ("plain/one/kernel.py", of.format("kernel")), ("plain/two/bench.py", of.format("two")), ("plain/.hidden/bench.py", "raise ValueError"),
                       ("plain/_old/bench.py", "raise ValueError"), ("plain/venv/pyvenv.cfg", ""), ("plain/venv/lib/bench.py", "raise ValueError")):
        p.write(name, text)
    shutil.copy(MODULE, p.file("plain/classes.py"))
    p.env["PYTHONPATH"] = os.path.join(os.path.abspath(BUILD), "python")

    def listed(what):
        return sorted(run(p, what, "--list", "--python", sys.executable, expect=0).stdout.split())

    equal(listed("package/benchmarks"), ["deep", "sort", "sum"], "of a package its packages")
    equal(listed("plain/"), ["Model", "kernel", "one", "two"], "each file once, whether another one imports it or not")
    for what, name in (("package/benchmarks:deep", "deep"), ("package/benchmarks/:sort", "sort"), ("./plain:Sum", "Sum"), ("plain:Sum", "Sum"), ("plain/classes.py:Sum", "Sum"), ("package/benchmarks/bench.py:sum", "sum"),
                       (p.file("plain") + ":Model", "Model")):
        equal(listed(what), [name], what)
    document = report(p, "plain/:Sum", expect=0)
    equal([found["name"] for found in document["run"]["points"]], ["Sum"], "one that only its name finds")
    one_sentence(run(p, "plain/:Smu", "--python", sys.executable, expect=2), "'plain/' has no 'Smu'", "calibrax")
    one_sentence(run(p, "plane/", expect=2), "there is no folder 'plane/'", "calibrax")
    p.write("plain/two/twice.py", of.format("Model"))
    p.write("package/again.py", of.format("again") + "from calibrax_c import register_benchmark\n@register_benchmark('again')\nclass Again:\n    pass\n")
    for what in ("plain/", "plain/:Model"):
        words = run(p, what, "--list", "--python", sys.executable, expect=2)
        one_sentence(words, "two benchmarks are named 'Model': function Model (plain/two/twice.py:2) and class Model (plain/classes.py:", "calibrax")
    one_sentence(run(p, "package/again.py", "--list", "--python", sys.executable, expect=2),
                 "there is a benchmark 'again' already, function again (package/again.py:2); class Again (package/again.py:", "calibrax")


PACKAGE = """
from calibrax.core import BenchmarkProtocol
from calibrax.core.models import MetricDef, MetricDirection
from calibrax.core.registry import register_benchmark
from bench_module import Model

@register_benchmark("resnet")
class Registered(Model):
    metric_defs = {"accuracy": MetricDef(name="accuracy", unit="1", direction=MetricDirection.HIGHER)}

class Plain(Model):
    pass

assert isinstance(Registered(), BenchmarkProtocol) and isinstance(Plain(), BenchmarkProtocol)
"""


def classes_of_the_package(p):
    python = os.environ.get("CALIBRAX_PYTHON")
    if not python:
        raise Skip("rival: CALIBRAX_PYTHON does not name an interpreter with the package calibrax (scripts/fixtures/make_store.py)")
    shutil.copy(MODULE, p.file("bench_module.py"))
    p.write("suite.py", PACKAGE)
    store = p.file("store")
    done = run(p, "--json", "--python", python, "--module", "suite", "--data", store, "--define", "loss=lower", "--define", "accuracy=higher", expect=0, timeout=240)
    document = json.loads(done.stdout)
    equal(sorted(found["name"] for found in document["run"]["points"]), ["Plain", "resnet"], "registered, and found")
    look = "import sys; from calibrax.storage import Store; r = Store(sys.argv[1]).latest(); print(r.id, r.points[0].metrics['accuracy'].value, r.metric_defs['accuracy'].direction.value)"
    seen = subprocess.run([python, "-c", look, store], capture_output=True, text=True, timeout=240)
    equal(seen.stdout.split(), [document["run"]["id"], "0.9", "higher"], f"the package reads the run: {seen.stderr[-400:]}")


main([what_is_found, the_protocol, places_of_code, targets_never_pass_unseen, more_than_the_protocol, failures, faults_are_sentences, interrupted, folders, below_folders, classes_of_the_package])
