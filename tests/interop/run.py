#!/usr/bin/env python3
"""What others read of ours and we of theirs, as a table: run.py REFS [CHECK...]   (REFS: the folder of environments; CHECK: a name of CHECKS, else all)

Exit status 1 if anything differs or a check cannot run.
"""
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("CALIBRAX_BUILD_ROOT", ROOT / "build/release")).resolve()
CALIBRAX = str(BUILD / "programs/calibrax/calibrax")
REFS = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()

# Tests that report in TAP: what was written and what read it, by the name of the test.
STORES = {"our_commands_on_its_store": ("a store of calibrax 0.1.14", "calibrax for C"),
          "its_files_keep_their_bytes": ("its run files, byte for byte", "calibrax for C"),
          "the_package_reads_our_store": ("a store of ours", "calibrax 0.1.14 (PyPI)"),
          "both_write_one_store": ("one store, by both in turn", "both"),
          "it_reads_what_importers_make": ("runs of five importers", "calibrax 0.1.14 (PyPI)")}
FORMATS = {"google_benchmark_compares": ("Google Benchmark, JSON", "compare.py (Debian)"),
           "pyperf_compares": ("pyperf, JSON", "pyperf compare_to, stats (PyPI)"),
           "pytest_benchmark_compares": ("pytest-benchmark, JSON", "pytest-benchmark compare (PyPI)"),
           "schemas_are_kept": ("BMF, Perfherder, github-action-benchmark", "jsonschema (Debian)"),
           "hyperfine_has_its_members": ("hyperfine, JSON", "a file of hyperfine (Debian)"),
           "promtool_accepts": ("OpenMetrics, node_exporter", "promtool (Debian)"),
           "a_prometheus_scrapes": ("OpenMetrics, node_exporter", "Prometheus (Debian), scraping"),
           "opentelemetry_parses": ("OTLP/JSON", "opentelemetry-proto (PyPI)"),
           "names_that_become_alike": ("names that become alike", "promtool (Debian)"),
           "names_that_are_taken": ("names that are taken", "promtool (Debian)"),
           "points_that_are_alike": ("points that are alike", "promtool (Debian)"),
           "what_was_imported_is_exported_with_the_same_numbers": ("eight formats, imported and exported again", "calibrax ingest")}
WANDB = {"live": ("offline runs of W&B", "messages of wandb (PyPI)"),
         "live_tables": ("offline runs of W&B with 12,000 points", "messages of wandb (PyPI)"),
         "synced": ("offline runs of W&B, uploaded", "wandb sync to a server on loopback")}
IMPORTS = {"our_own_runs": ("runs of calibrax", "calibrax ingest"),
           "our_own_rows": ("rows of nperf", "calibrax ingest"),
           "commands_of_hyperfine_are_ranked": ("hyperfine, live", "calibrax ingest, compare"),
           "files_of_the_tools": ("five tools' files, live, and exported again", "calibrax ingest")}


def taps(script, names, **env):
    """Rows of a test file."""
    done = subprocess.run([sys.executable, str(ROOT / script)], capture_output=True, text=True, env={**os.environ, "CALIBRAX_SOURCE_ROOT": str(ROOT), "CALIBRAX_BUILD_ROOT": str(BUILD), **env})
    seen = set()
    for line in done.stdout.splitlines():
        head, _, name = line.partition(" - ")
        name, _, skip = name.partition(" # SKIP ")
        if head.startswith(("ok", "not ok")) and name in names:
            seen.add(name)
            yield (*names[name], "equal" if head.startswith("ok") and not skip else f"not checked: {skip}" if skip else "DIFFERENT")
        elif line.startswith("#"):
            print(line, file=sys.stderr)
    for name in names.keys() - seen:
        yield (*names[name], "DIFFERENT")


def rows_of(*command):
    """Rows that a script prints."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    rows = [tuple(line.split("\t")) for line in done.stdout.splitlines() if line.count("\t") == 2]
    yield from rows
    if done.returncode or not rows:
        yield (Path(command[1]).name, "", f"DIFFERENT: exit status {done.returncode}")


def adapters():
    """The adapters of Python under the frameworks themselves."""
    for name, reader in (("adapters", "jax, flax, scikit-learn (PyPI)"), ("torch", "torch")):
        done = subprocess.run([str(REFS / name / "bin/python"), str(ROOT / "tests/python/test_adapters.py"), "--frameworks"], capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": f"{BUILD / 'python'}:{ROOT / 'tests/python'}"})
        print("\n".join(line for line in done.stdout.splitlines() if line.startswith(("#", "not ok"))), end="", file=sys.stderr)
        yield ("adapters of models", reader, "DIFFERENT" if done.returncode else "equal")


def traces():
    """Traces that the profilers write here and now."""
    with tempfile.TemporaryDirectory() as made:
        for name in ("adapters", "torch"):
            with open(ROOT / "scripts/fixtures/make_traces.py", encoding="utf-8") as script:
                subprocess.run([str(REFS / name / "bin/python"), "-", made], stdin=script, check=True, capture_output=True)
        done = subprocess.run([sys.executable, str(ROOT / "tests/cli/test_traces.py")], capture_output=True, text=True,
                              env={**os.environ, "CALIBRAX_SOURCE_ROOT": str(ROOT), "CALIBRAX_BUILD_ROOT": str(BUILD), "CALIBRAX_TRACES": made})
        print("\n".join(line for line in done.stdout.splitlines() if line.startswith(("#", "not ok"))), end="", file=sys.stderr)
        yield ("traces of jax.profiler and torch.profiler, live", "calibrax", "DIFFERENT" if done.returncode else "equal")


def asv():
    done = subprocess.run([sys.executable, str(ROOT / "scripts/check_asv.py"), CALIBRAX], env={**os.environ, "ASV": str(REFS / "asv/bin/asv")}, capture_output=True, text=True)
    print(done.stderr, end="", file=sys.stderr)
    yield ("a folder of results of asv", "asv publish (PyPI)", "equal" if done.returncode == 0 and "right" in done.stdout else "DIFFERENT")


CHECKS = {"stores": lambda: taps("tests/cli/test_interop.py", STORES, CALIBRAX_PYTHON=str(REFS / "calibrax/bin/python")),
          "formats": lambda: taps("tests/cli/test_formats.py", FORMATS),
          "imports": lambda: taps("tests/cli/test_import_tools.py", IMPORTS),
          "asv": asv,
          "mlflow": lambda: rows_of(str(REFS / "mlflow/bin/python"), str(ROOT / "tests/interop/check_mlflow.py"), CALIBRAX),
          "adapters": adapters,
          "traces": traces,
          "wandb": lambda: taps("tests/cli/test_wandb.py", WANDB, CALIBRAX_WANDB=str(REFS / "wandb/bin/python"))}


def main():
    failed, start = 0, time.monotonic()
    unknown = [name for name in sys.argv[2:] if name not in CHECKS]
    if unknown:
        print(f"interop: unknown check '{unknown[0]}': it is one of {', '.join(CHECKS)}", file=sys.stderr)
        return 2
    print(f"{'what was written':60} {'read back by':45} equal?")
    for name in sys.argv[2:] or CHECKS:
        for written, reader, answer in CHECKS[name]():
            failed += answer != "equal"
            print(f"{written:60} {reader:45} {answer}", flush=True)
    print(f"interop: {f'{failed} rows differ' if failed else 'all rows are equal'}, {time.monotonic() - start:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
