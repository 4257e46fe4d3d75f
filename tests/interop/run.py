#!/usr/bin/env python3
"""What others read of ours and we of theirs, as a table: run.py REFS [CHECK...]   (REFS: the folder of environments; CHECK: a name of CHECKS, else all)

Exit status 1 if anything differs or a check cannot run.
"""
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("CALIBRAX_BUILD_ROOT", ROOT / "build/release")).resolve()
CALIBRAX = str(BUILD / "programs/calibrax/calibrax")
REFS = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()

# Tests that report in TAP: what was written and what reads it, by the name of the test. What was
# read back is in the test's comment "# read back: ...".
STORES = {"our_commands_on_its_store": ("a store of calibrax 0.1.14, 3 runs", "calibrax for C"),
          "its_files_keep_their_bytes": ("its run files and baselines, ingested", "calibrax for C"),
          "the_package_reads_our_store": ("a store of ours, 3 runs", "calibrax 0.1.14 (PyPI)"),
          "both_write_one_store": ("one store, by both in turn, 4 runs", "both"),
          "it_reads_what_importers_make": ("5 runs of five importers", "calibrax 0.1.14 (PyPI)")}
FORMATS = {"google_benchmark_compares": ("4 points, and twice as slow: Google Benchmark", "compare.py (Debian)"),
           "pyperf_compares": ("4 points, and twice as slow: pyperf", "pyperf compare_to, stats (PyPI)"),
           "pytest_benchmark_compares": ("4 points, and twice as slow: pytest-benchmark", "pytest-benchmark compare (PyPI)"),
           "schemas_are_kept": ("4 points: BMF, Perfherder, github-action-benchmark", "jsonschema (Debian)"),
           "hyperfine_has_its_members": ("4 points: hyperfine", "a file of hyperfine (Debian)"),
           "promtool_accepts": ("4 points: OpenMetrics, node_exporter", "promtool (Debian)"),
           "a_prometheus_scrapes": ("4 points: OpenMetrics, node_exporter", "Prometheus (Debian), scraping"),
           "opentelemetry_parses": ("4 points: OTLP/JSON", "opentelemetry-proto (PyPI)"),
           "names_that_become_alike": ("3 metrics whose names become alike", "promtool (Debian)"),
           "names_that_are_taken": ("6 metrics and 12 tags with names that are taken", "promtool (Debian)"),
           "points_that_are_alike": ("6 points, 2 of them alike", "promtool (Debian)"),
           "what_was_imported_is_exported_with_the_same_numbers": ("eight formats, imported and exported again", "calibrax ingest")}
WANDB = {"live": ("an offline run of W&B, 11 samples, 3 rows", "messages of wandb (PyPI)"),
         "live_tables": ("an offline run of W&B with 12000 points", "messages of wandb (PyPI)"),
         "synced": ("an offline run of W&B, 11 samples, uploaded", "wandb sync to a server on loopback")}
IMPORTS = {"our_own_runs": ("a store of calibrax", "calibrax ingest"),
           "our_own_rows": ("rows of nperf, and their store", "calibrax ingest"),
           "commands_of_hyperfine_are_ranked": ("2 commands by hyperfine, live", "calibrax ingest, compare"),
           "files_of_the_tools": ("files of five tools, live", "calibrax ingest")}
ADAPTERS = {"Registry": ("the registry of adapters", "Python"), "Calls": ("functions", "Python"), "Jax": ("functions of jax", "jax"), "Nnx": ("modules of flax.nnx", "jax, flax"),
            "Torch": ("modules of torch", "torch"), "Estimators": ("estimators", "scikit-learn")}
TRACES = {"jax_profiler": ("a trace of jax.profiler, live, in both formats", "calibrax ingest"), "torch_profiler": ("a trace of torch.profiler, live", "calibrax ingest")}
MARK = "# read back: "


def run_python(python, script, *args, **env):
    """Runs a script of the repository; what it prints."""
    return subprocess.run([str(python), str(ROOT / script), *args], capture_output=True, text=True,
                          env={**os.environ, "CALIBRAX_SOURCE_ROOT": str(ROOT), "CALIBRAX_BUILD_ROOT": str(BUILD), **env})


def taps(script, names, **env):
    """Rows of a test file."""
    seen, found = set(), []
    for line in run_python(sys.executable, script, **env).stdout.splitlines():
        head, _, name = line.partition(" - ")
        name, _, skip = name.partition(" # SKIP ")
        if line.startswith(MARK):
            found.append(line.removeprefix(MARK))
        elif head.startswith(("ok", "not ok")):
            if name in names:
                seen.add(name)
                passed = head.startswith("ok") and found and not skip
                yield (*names[name], "; ".join(found), "equal" if passed else f"not checked: {skip}" if skip else "DIFFERENT")
            found = []
        elif line.startswith("#"):
            print(line, file=sys.stderr)
    for name in names.keys() - seen:
        yield (*names[name], "", "DIFFERENT")


def rows_of(*command):
    """Rows that a script prints."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    rows = [tuple(line.split("\t")) for line in done.stdout.splitlines() if line.count("\t") == 3]
    yield from rows
    if done.returncode or not rows:
        yield (Path(command[1]).name, "", "", f"DIFFERENT: exit status {done.returncode}")


def adapters():
    """The adapters of Python under the frameworks themselves: a row a class of tests, with what each test reads."""
    for name in ("adapters", "torch"):
        done = run_python(REFS / name / "bin/python", "tests/python/test_adapters.py", "--frameworks", PYTHONPATH=f"{BUILD / 'python'}:{ROOT / 'tests/python'}")
        tests = [re.match(r"(ok|not ok) \d+ - (\w+)\.test_(\w+)( # SKIP)?", line) for line in done.stdout.splitlines()]
        print("\n".join(line for line in done.stdout.splitlines() if line.startswith(("#", "not ok"))), end="", file=sys.stderr)
        answers = []
        for kind in dict.fromkeys(t.group(2) for t in tests if t):
            own = [t for t in tests if t and t.group(2) == kind and not t.group(4)]
            if (kind == "Torch") == (name == "torch"):
                names = ", ".join(t.group(3).replace("_", " ") for t in own)
                answers.append("not checked" if not own else "equal" if all(t.group(1) == "ok" for t in own) else "DIFFERENT")
                yield (*ADAPTERS.get(kind, (kind, name)), names, answers[-1])
        if done.returncode and "DIFFERENT" not in answers:  # of a class that has its row under the other environment, or of none
            yield ("adapters of models", name, "", f"DIFFERENT: exit status {done.returncode}")
        elif not answers:
            yield ("adapters of models", name, "", "not checked")


def traces():
    """Traces that the profilers write here and now."""
    with tempfile.TemporaryDirectory() as made:
        for name in ("adapters", "torch"):
            with open(ROOT / "scripts/fixtures/make_traces.py", encoding="utf-8") as script:
                subprocess.run([str(REFS / name / "bin/python"), "-", made], stdin=script, check=True, capture_output=True)
        yield from taps("tests/cli/test_traces.py", TRACES, CALIBRAX_TRACES=made)


def asv():
    done = run_python(sys.executable, "scripts/check_asv.py", CALIBRAX, ASV=str(REFS / "asv/bin/asv"))
    print(done.stderr, end="", file=sys.stderr)
    found = [line.removeprefix(MARK) for line in done.stdout.splitlines() if line.startswith(MARK)]
    verdict = "not checked" if "skipped:" in done.stdout else "equal" if done.returncode == 0 and found else "DIFFERENT"
    yield ("5 runs of 3 commits and 2 machines: results of asv", "asv publish (PyPI)", "; ".join(found), verdict)


CHECKS = {"stores": lambda: taps("tests/cli/test_interop.py", STORES, CALIBRAX_PYTHON=str(REFS / "calibrax/bin/python")),
          "formats": lambda: taps("tests/cli/test_formats.py", FORMATS),
          "imports": lambda: taps("tests/cli/test_import_tools.py", IMPORTS),
          "asv": asv,
          "mlflow": lambda: rows_of(str(REFS / "mlflow/bin/python"), str(ROOT / "tests/interop/check_mlflow.py"), CALIBRAX),
          "site": lambda: rows_of(sys.executable, str(ROOT / "tests/interop/check_site.py"), CALIBRAX),
          "adapters": adapters,
          "traces": traces,
          "wandb": lambda: taps("tests/cli/test_wandb.py", WANDB, CALIBRAX_WANDB=str(REFS / "wandb/bin/python"))}


def main():
    failed, start = 0, time.monotonic()
    unknown = [name for name in sys.argv[2:] if name not in CHECKS]
    if unknown:
        print(f"interop: unknown check '{unknown[0]}': it is one of {', '.join(CHECKS)}", file=sys.stderr)
        return 2
    line = "{:52}  {:34}  {:75}  {}".format
    print(line("what was written", "what read it", "what was read back", "equal?"))
    for name in sys.argv[2:] or CHECKS:
        for written, reader, found, answer in CHECKS[name]():
            failed += answer != "equal"
            print(line(written, reader, found if len(found) <= 75 else found[:72] + "...", answer), flush=True)
    print(f"interop: {f'{failed} rows differ' if failed else 'all rows are equal'}, {time.monotonic() - start:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
