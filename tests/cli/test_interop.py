"""Stores of the Python package calibrax 0.1.14 and ours read each other: a store that it wrote (tests/fixtures/store), and both live.

CALIBRAX_PYTHON names an interpreter with the package; without it the live tests are skipped.
"""
import contextlib
import importlib.util
import io
import json
import os
import shutil
import subprocess

from harness import CALIBRAX, SOURCE, Skip, check, equal, has, main, read_back

STORE = os.path.join(SOURCE, "tests/fixtures/store")

# What the package sees in the store named first, as JSON.
LOOK = """
import json, sys
from calibrax.storage import Store
s = Store(sys.argv[1])
t = s.extract_trend("latency", "forward", {"framework": "flax"})
b = s.get_baseline()
print(json.dumps({"runs": [r.id for r in s.list_runs()], "latest": s.latest().id, "baseline": b and b.id, "trend": [[p.run_id, p.value, p.lower] for p in t.points],
                  "torch": sorted(r.id for r in s.query(framework="torch")), "defs": {k: [d.unit, d.direction.value] for k, d in s.latest().metric_defs.items()}}))
"""

# A run more, which becomes the baseline.
ADD = """
import sys
from dataclasses import replace
from datetime import timedelta
from calibrax.storage import Store
s = Store(sys.argv[1])
r = s.latest()
s.save(replace(r, id="feed00000009", timestamp=r.timestamp + timedelta(days=1)))
s.set_baseline("feed00000009")
"""


def run(p, *args, **more):
    return p.run(*args, program=CALIBRAX, **more)


def ask(p, *args, **more):
    return json.loads(run(p, *args, "--json", **more).stdout)


def package(p, script, *args):
    python = os.environ.get("CALIBRAX_PYTHON")
    if not python:
        raise Skip("rival: CALIBRAX_PYTHON does not name an interpreter with the package calibrax (scripts/fixtures/make_store.py)")
    done = subprocess.run([python, "-c", script, *args], cwd=p.path, text=True, capture_output=True, timeout=240)
    equal(done.returncode, 0, f"the package: {done.stderr[-800:]}")
    return done.stdout


def same_view(p, store):
    """What the package sees is what our commands tell."""
    theirs = json.loads(package(p, LOOK, store))
    runs = ask(p, "show", "--list", "--data", store, expect=0)["runs"]
    equal(theirs["runs"], [r["id"] for r in runs], "runs, newest first")
    equal(theirs["latest"], ask(p, "summary", "--data", store, expect=0)["run"]["id"], "latest")
    equal(theirs["baseline"], ask(p, "summary", "--data", store, "--run", "baseline:main", expect=0)["run"]["id"], "baseline")
    series = ask(p, "trend", "--data", store, "--metric", "latency", "--point", "forward", "--framework", "flax", expect=0)["series"]
    equal(len(series), 1, "one configuration")
    equal(theirs["trend"], [[v["run"], v["value"], v["lower"]] for v in series[0]["points"]], "trend")
    equal(theirs["torch"], sorted(r["id"] for r in ask(p, "show", "--list", "--data", store, "--tag", "framework=torch", expect=0)["runs"]), "query by tag")
    equal(theirs["defs"], {"latency": ["ms", "lower"]}, "definitions")
    return f"{len(theirs['runs'])} runs, latency {' '.join(str(v) for _, v, _ in theirs['trend'])} ms, baseline {theirs['baseline']}"


def our_commands_on_its_store(p):
    shutil.copytree(STORE, p.file("store"))
    equal([r["id"] for r in ask(p, "show", "--list", "--data", "store", expect=0)["runs"]], ["cafe00000003", "cafe00000002", "cafe00000001"], "runs")
    equal(ask(p, "store", "verify", "--data", "store", expect=0)["problems"], [], "whole")
    values = [v["value"] for v in ask(p, "trend", "--data", "store", "--metric", "latency", "--framework", "flax", expect=0)["series"][0]["points"]]
    equal(values, [1.0, 1.1, 2.2], "trend")
    read_back(f"3 runs, latency {' '.join(map(str, values))} ms, baseline cafe00000002")
    equal(ask(p, "summary", "--data", "store", "--run", "baseline:main", expect=0)["run"]["id"], "cafe00000002", "its baseline")
    run(p, "check", "--data", "store", "--run", "cafe00000003", "--values-only", expect=1)
    run(p, "check", "--data", "store", "--run", "cafe00000002", "--values-only", expect=2)  # loss has no definition


def its_files_keep_their_bytes(p):
    run(p, "ingest", "--data", "ours", "--input", *(os.path.join(STORE, "runs", f) for f in sorted(os.listdir(os.path.join(STORE, "runs")))), expect=0)
    run(p, "baseline", "--data", "ours", "--run", "cafe00000002", expect=0)
    count, size = 0, 0
    for folder in ("runs", "baselines"):
        equal(sorted(os.listdir(p.file("ours", folder))), sorted(os.listdir(os.path.join(STORE, folder))), folder)
        for name in os.listdir(os.path.join(STORE, folder)):
            with open(os.path.join(STORE, folder, name), "rb") as theirs, open(p.file("ours", folder, name), "rb") as ours:
                text = ours.read()
                equal(text, theirs.read(), f"{folder}/{name}")
                count, size = count + 1, size + len(text)
    read_back(f"{count} files, {size} bytes")


def the_package_reads_our_store(p):
    run(p, "ingest", "--data", "ours", "--input", *(os.path.join(STORE, "runs", f) for f in sorted(os.listdir(os.path.join(STORE, "runs")))), expect=0)
    run(p, "baseline", "--data", "ours", "--run", "cafe00000001", expect=0)
    run(p, "store", "migrate", "--data", "ours", expect=0)
    read_back(same_view(p, "ours"))


def both_write_one_store(p):
    shutil.copytree(STORE, p.file("store"))
    same_view(p, "store")
    package(p, ADD, "store")
    equal(ask(p, "summary", "--data", "store", expect=0)["run"]["id"], "feed00000009", "we see its run at once")
    same_view(p, "store")
    has(run(p, "baseline", "--data", "store", "--run", "cafe00000003", expect=0).stdout, "cafe00000003")
    read_back(same_view(p, "store"))
    check(not ask(p, "store", "verify", "--data", "store", expect=0)["problems"], "whole")


def it_reads_what_importers_make(p):
    files = [os.path.join(SOURCE, "tests/fixtures/import", f) for f in ("google-benchmark.json", "pytest-benchmark.json", "hyperfine.json", "go.txt", "bmf.json")]
    run(p, "ingest", "--data", "store", "--input", *files, expect=0)
    script = "import sys; from calibrax.storage import Store; print(len(Store(sys.argv[1]).list_runs()))"
    found = package(p, script, "store").strip()
    equal(found, "5", "all of them")
    read_back(f"{found} runs")


def the_table(p):
    """tests/interop/run.py: a row is equal only if its test passed and reports what was read back."""
    spec = importlib.util.spec_from_file_location("run", os.path.join(SOURCE, "tests/interop/run.py"))
    table = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(table)
    script = p.write("tap.py", 'print("1..5\\n# read back: 3 runs\\nok 1 - a\\n# read back: 2 runs\\nnot ok 2 - b\\nok 3 - c\\nok 4 - other\\nok 5 - d # SKIP rival: none")')
    rows = list(table.taps(script, {name: (f"written {name}", "reader") for name in "abcde"}))
    equal([(w.split()[1], found, answer) for w, _, found, answer in rows],
          [("a", "3 runs", "equal"), ("b", "2 runs", "DIFFERENT"), ("c", "", "DIFFERENT"), ("d", "", "not checked: rival: none"), ("e", "", "DIFFERENT")], "rows")
    for names, script in ((table.STORES, "test_interop"), (table.FORMATS, "test_formats"), (table.IMPORTS, "test_import_tools"), (table.WANDB, "test_wandb"), (table.TRACES, "test_traces")):
        with open(os.path.join(SOURCE, f"tests/cli/{script}.py"), encoding="utf-8") as f:
            text = f.read()
        equal([name for name in names if f"def {name}(p):" not in text], [], f"tests of {script}")


def the_rows_of_adapters(p):
    """No test that fails, and none that is skipped, leaves a table whose rows are all equal."""
    spec = importlib.util.spec_from_file_location("run", os.path.join(SOURCE, "tests/interop/run.py"))
    table = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(table)
    calls, model = "ok 1 - Calls.test_a\n", "ok 2 - Torch.test_b\n"
    for words, adapters, torch, answers in (
            ("all pass", (calls, 0), (calls + model, 0), ["equal", "equal"]), ("its class fails", ("not " + calls, 1), (model, 0), ["DIFFERENT", "equal"]),
            ("a class of the other row fails", (calls, 0), ("not " + calls + model, 1), ["equal", "equal", "DIFFERENT: exit status 1"]),
            ("nothing runs", ("", 0), ("", 1), ["not checked", "DIFFERENT: exit status 1"]),
            ("a class is skipped", (calls, 0), ("ok 2 - Torch.test_b # SKIP torch is not installed\n", 0), ["equal", "not checked"])):
        printed = {"adapters": adapters, "torch": torch}

        def run_python(python, *_, printed=printed, **__):
            text, status = printed[python.parts[-3]]
            return subprocess.CompletedProcess([], status, text, "")

        table.run_python = run_python
        with contextlib.redirect_stderr(io.StringIO()):  # lines of its tests are not lines of this one
            found = [row[3] for row in table.adapters()]
        equal(found, answers, words)


main([the_table, the_rows_of_adapters, our_commands_on_its_store, its_files_keep_their_bytes, the_package_reads_our_store, both_write_one_store, it_reads_what_importers_make])
