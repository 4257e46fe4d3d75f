"""The pytest plug-in as its users meet it: sessions of a real pytest over a file of tests.  Prints TAP."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import calibrax_c as cx
import tap

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "workers"))
import environments  # noqa: E402

PYTEST = environments.interpreter("pytest")
TESTS = """
import os, time
import pytest

@pytest.mark.parametrize("n", [100, 1000])
def test_sum(calibrax, n):
    assert calibrax(sum, range(n)) == n * (n - 1) // 2
    calibrax.metric("size", n)
    calibrax.labelled("twice")(sum, range(2 * n))

def test_wait(calibrax):
    calibrax(time.sleep, float(os.environ.get("WAIT", "0.001")))

def test_plain():
    pass
"""


class Plugin(unittest.TestCase):
    def setUp(self) -> None:
        self.assertTrue(PYTEST, "pytest is not installed: run scripts/setup-refs.sh pytest")
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.write("test_kernels.py", TESTS)

    def write(self, name: str, text: str) -> None:
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as out:
            out.write(text)

    def pytest(self, *words: str, expect: int = 0, **environment: str) -> str:
        cache = () if "--lf" in words else ("-p", "no:cacheprovider")
        done = subprocess.run([PYTEST, "-m", "pytest", "-q", "-p", "calibrax_c.pytest_plugin", *cache, "--calibrax-samples", "8", *words],
                              cwd=self.folder, capture_output=True, text=True, env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join((os.path.dirname(os.path.dirname(cx.__file__)), self.folder))})
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def latest(self) -> cx.Run:
        return cx.Store(os.path.join(self.folder, "store")).latest()

    def test_measures_keeps_and_compares(self) -> None:
        out = self.pytest("--calibrax-store", "store")
        self.assertRegex(out, r"test_sum\[100\] +[\d.]+ [nu]s +[\d.]+ [nu]s to [\d.]+ [nu]s\n")
        self.assertIn("4 passed", out)
        points = {(p.name, p.tags.get("n")): p for p in self.latest().points}
        self.assertEqual(set(points), {("test_sum", "100"), ("test_sum", "1000"), ("test_sum:twice", "100"), ("test_sum:twice", "1000"), ("test_wait", None)})
        point = points["test_sum", "1000"]
        self.assertEqual((point.scenario, point.metrics["size"].value, len(point.metrics["time"].samples)), ("test_kernels.py", 1000.0, 8))
        self.assertIn("kept as run", self.pytest("--calibrax-store", "store", "--calibrax-compare", "--calibrax-threshold", "5", "--calibrax-undecided-passes"))
        out = self.pytest("--calibrax-store", "store", "--calibrax-compare", "--calibrax-threshold", "1", "-k", "wait", expect=1, WAIT="0.02")
        self.assertRegex(out, r"test_wait +2\d\.?\d* ms .*\+\d+\.\d % regressed")
        self.assertIn("1 passed", out)

    def test_a_test_changes_the_folder(self) -> None:
        with open(os.path.join(self.folder, "test_a.py"), "w", encoding="utf-8") as f:
            f.write("import os\n\n\ndef test_moves():\n    os.chdir('/')\n")
        self.pytest("--calibrax-store", "store", "test_a.py", "test_kernels.py", "-k", "moves or wait")
        self.assertEqual([(s["file"], s["line"]) for s in self.latest().metadata["sources"]], [("test_kernels.py", 11)])

    def test_places_of_tests(self) -> None:
        """The run has file and line of each test, by which `calibrax check --format github` annotates the change."""
        self.pytest("--calibrax-store", "store")
        first = {"scenario": "test_kernels.py", "file": "test_kernels.py", "line": 5}  # the decorator's
        sources = self.latest().metadata["sources"]
        self.assertEqual(sources, [{"point": name, **first} for _ in range(2) for name in ("test_sum", "test_sum:twice")] + [{**first, "point": "test_wait", "line": 11}])
        os.makedirs(os.path.join(self.folder, ".git"))
        os.makedirs(os.path.join(self.folder, "part"))
        shutil.move(os.path.join(self.folder, "test_kernels.py"), os.path.join(self.folder, "part"))
        self.pytest("--calibrax-store", "store", "--rootdir", "part", "part", "-k", "wait", "--calibrax-launches", "2")
        self.assertEqual(self.latest().metadata["sources"], [{"point": "test_wait", "scenario": "test_kernels.py", "file": "part/test_kernels.py", "line": 11}])
        check = cx.Check(cx.Run([cx.Point("test_wait", "test_kernels.py", {}, {"time": 2.0})], id="b", metric_defs=[cx.MetricDef("time", "s", "lower")], metadata=self.latest().metadata, detect=False),
                         cx.Run([cx.Point("test_wait", "test_kernels.py", {}, {"time": 1.0})], id="a", metric_defs=[cx.MetricDef("time", "s", "lower")], detect=False), allow_other_machine=True)
        self.assertIn("::error file=part/test_kernels.py,line=11,title=regressed::test_wait", check.text("github"))

    def test_exit_status(self) -> None:
        self.write("test_ways.py", """
import itertools, os, time
waits = (0.0001 * (1 + 7 * i % 20) for i in itertools.count())  # 0.1 to 2 ms in disorder, 1 ms in the mean
def test_way(calibrax):
    calibrax(lambda: time.sleep(next(waits) if "WIDE" in os.environ else 0.001))
def test_plain():
    assert "FAIL" not in os.environ
""")
        compare = ("test_ways.py", "--calibrax-store", "ways", "--calibrax-compare", "main")
        out = self.pytest(*compare, expect=2)  # the first run
        self.assertIn("not compared: the store has no run 'main' (exit status 2; --calibrax-missing-passes allows it)", out)
        self.assertIn("2 passed", out)
        self.assertIn("not compared: the store has no run 'main'\n", self.pytest(*compare, "--calibrax-missing-passes", expect=0))
        self.pytest(*compare, "--calibrax-missing-passes", expect=1, FAIL="1")
        with cx.Store(os.path.join(self.folder, "ways")) as store:
            store.set_baseline("latest")
        self.assertRegex(self.pytest(*compare, expect=3, WIDE="1"), r"test_way .* undecided")
        self.pytest(*compare, "--calibrax-undecided-passes", expect=0, WIDE="1")
        self.assertIn("not compared: no test measured", self.pytest(*compare, "-k", "plain", expect=2))
        out = self.pytest("test_kernels.py", *compare[1:], "-k", "wait", expect=2)
        self.assertRegex(out, r"test_wait .* new\n(.*\n)*.*nothing to compare: no gating metric is in both runs")
        self.assertIn("not kept: save: cannot create the folder 'test_ways.py'", self.pytest("test_ways.py", "--calibrax-store", "test_ways.py", "--calibrax-compare", expect=2))
        self.assertIn("not kept: save: cannot create the folder 'test_ways.py'", self.pytest("test_ways.py", "--calibrax-store", "test_ways.py", expect=2))

    def test_a_baseline_by_name(self) -> None:
        self.pytest("--calibrax-store", "store", "-k", "wait")
        store = cx.Store(os.path.join(self.folder, "store"))
        store.set_baseline("latest", "release")
        self.pytest("--calibrax-store", "store", "-k", "wait", WAIT="0.02")
        for run, expect in (("release", 1), (self.latest().id, 0)):
            self.pytest("--calibrax-store", "store", "--calibrax-compare", run, "--calibrax-threshold", "1", "--calibrax-undecided-passes", "-k", "wait", expect=expect, WAIT="0.02")

    def test_launches_are_processes(self) -> None:
        self.write("test_pid.py", 'import os\ndef test_pid(calibrax):\n    calibrax(len, "abc")\n    open("pids", "a").write(f"{os.getpid()} ")\n')
        self.pytest("--calibrax-store", "store", "--calibrax-launches", "3", "test_pid.py")
        with open(os.path.join(self.folder, "pids"), encoding="utf-8") as pids:
            self.assertEqual(len(set(pids.read().split())), 3)
        self.assertEqual(len(self.latest().points[0].metrics["time"].samples), 3)
        self.write("test_once.py", 'import os\ndef test_once(calibrax):\n    calibrax(len, "abc")\n    assert not os.path.exists("done")\n    open("done", "w")\n')
        out = self.pytest("--calibrax-launches", "2", "--calibrax-store", "store", "test_once.py", expect=1)
        self.assertIn("launch 2 failed with exit status 1, and is left out", out)
        self.assertEqual(len(self.latest().points[0].metrics["time"].samples), 8)

    def test_the_manual(self) -> None:
        with open(os.path.join(ROOT, "docs", "how-to", "benchmarks.md"), encoding="utf-8") as page:
            (example,) = re.findall(r"```python\n(import pytest\n.*?)```", page.read(), re.S)
        self.write("test_manual.py", example)
        self.assertRegex(self.pytest("test_manual.py"), r"test_sum:twice\[1000\] +[\d.]+ [nu]s")

    def test_failures_and_classes(self) -> None:
        self.write("test_mixed.py", """
class TestA:
    def test_it(self, calibrax):
        calibrax(len, "abc")

class TestB:
    def test_it(self, calibrax):
        calibrax(len, "abc")
        assert False
""")
        out = self.pytest("--calibrax-launches", "2", "--calibrax-store", "store", "--calibrax-compare", "nothing", "test_mixed.py", expect=1)
        self.assertIn("1 failed, 1 passed", out)
        self.assertIn("not compared: the store has no run 'nothing'", out)
        points = {p.scenario: len(p.metrics["time"].samples) for p in self.latest().points}
        self.assertEqual(points, {"test_mixed.py::TestA": 2})
        self.assertRegex(out, r"\nTestA::test_it +[\d.]+ ns")
        self.write("test_second.py", "def test_it(calibrax):\n    calibrax(len, 'abc')\n")
        self.assertRegex(self.pytest("test_mixed.py", "test_second.py", "-k", "not TestB"), r"\ntest_mixed.py::TestA::test_it .*\ntest_second.py::test_it ")
        self.assertIn("left out, as the test did not pass: test_mixed.py::TestB::test_it", out)
        out = self.pytest("--calibrax-store", "store", "--calibrax-compare=latest", "test_mixed.py", "-k", "TestB", expect=1)
        self.assertIn("not compared: no test that passed measured", out)
        self.assertEqual(len(os.listdir(os.path.join(self.folder, "store", "runs"))), 1)

    def test_a_test_that_runs_again(self) -> None:
        self.write("conftest.py", """
from _pytest.runner import runtestprotocol
def pytest_runtest_protocol(item, nextitem):
    for report in runtestprotocol(item, nextitem=nextitem, log=False):
        if report.failed:
            report.outcome = "rerun"
            item._initrequest()
            item.ihook.pytest_runtest_logreport(report=report)
            return None
        item.ihook.pytest_runtest_logreport(report=report)
    return True
""")
        self.write("test_flaky.py", """
import os
def test_flaky(calibrax):
    calibrax(len, "abc")
    if not os.path.exists("seen"):
        open("seen", "w").close()
        assert False
""")
        self.assertNotIn("left out", self.pytest("--calibrax-store", "store", "test_flaky.py"))
        self.assertEqual(len(self.latest().points), 1)

    def test_a_launch_has_the_command_line_of_the_first(self) -> None:
        self.write("conftest.py", 'def pytest_addoption(parser):\n    parser.addoption("--device", default="cpu")\n    parser.addini("size", "", default="1")\n')
        self.write("extra.py", 'import os\nos.environ["EXTRA"] = "loaded"\n')
        self.write("other.ini", "[pytest]\nfilterwarnings = error::FutureWarning\n")
        self.write("test_words.py", """
import os, sys, warnings
import pytest
@pytest.mark.parametrize("n", [1, 2])
def test_words(calibrax, request, n, tmp_path):
    calibrax(len, "abc")
    option = request.config.getoption
    with open("seen", "a") as out:
        out.write(f"{option('--device')} {request.config.getini('size')} {os.environ.get('EXTRA')} {option('importmode')} {request.config.inipath} "
                  f"{[w[0] for w in warnings.filters[:2]]} {sys.flags.optimize} {os.environ.get('STAYS')}\\n")
    os.environ["STAYS"] = "no"
def test_other():
    open("other", "a").write("x")
""")
        self.pytest("--calibrax-launches", "3", "--calibrax-store", "store", "-p", "extra", "-c", "other.ini", "-o", "size=7", "-W", "error::UserWarning",
                    "--import-mode", "importlib", "--device", "cuda", "test_words.py", STAYS="yes")
        with open(os.path.join(self.folder, "seen"), encoding="utf-8") as lines:
            seen = lines.read().splitlines()
        self.assertEqual(len(seen), 6)
        self.assertEqual(seen[:2], seen[2:4])
        self.assertEqual(seen[:2], seen[4:])
        self.assertRegex(seen[0], "cuda 7 loaded importlib .*other.ini .*yes")
        with open(os.path.join(self.folder, "other"), encoding="utf-8") as marks:
            self.assertEqual(marks.read(), "x")  # only what measured is repeated

    def test_reports_stay_those_of_the_session(self) -> None:
        self.write("test_one.py", "def test_one(calibrax):\n    calibrax(len, 'abc')\ndef test_plain():\n    pass\n")
        self.write("pytest.ini", "[pytest]\naddopts = --junitxml=junit.xml --log-file=log.txt --ff -n 0\n")
        out = self.pytest("--calibrax-launches", "3", "--calibrax-store", "store", "--lf", "--basetemp=kept", "--cov=test_one", "--cov-report=xml", "test_one.py")
        self.assertIn("2 passed", out)
        self.assertEqual(len(self.latest().points[0].metrics["time"].samples), 3)
        with open(os.path.join(self.folder, "junit.xml"), encoding="utf-8") as report:
            self.assertIn('tests="2"', report.read())
        with open(os.path.join(self.folder, "coverage.xml"), encoding="utf-8") as report:
            self.assertIn('line-rate="1"', report.read())

    def test_coverage_is_not_measured(self) -> None:
        self.write("test_trace.py", "import sys\nseen = []\ndef test_trace(calibrax):\n    calibrax(lambda: seen.append(sys.gettrace()))\n    assert not any(seen[1:])\n")
        self.pytest("--cov=test_trace", "test_trace.py", COVERAGE_CORE="ctrace")

    def test_processes_of_xdist(self) -> None:
        self.assertIn("nothing was measured: the tests ran in the processes of -n", self.pytest("-n", "2"))
        self.assertNotIn("-- calibrax --", self.pytest("-n", "2", "-k", "plain"))
        for words in (("--calibrax-store", "store"), ("--calibrax-launches", "2")):
            self.assertIn("calibrax measures in one process: leave out -n", self.pytest("-n", "2", *words, expect=4))
        self.write("pytest.ini", "[pytest]\naddopts = -n 2\n")
        self.pytest("-n", "0", "--calibrax-launches", "2", "--calibrax-store", "store", "-k", "wait")
        self.assertEqual(len(self.latest().points[0].metrics["time"].samples), 2)

    def test_a_launch_without_an_answer(self) -> None:
        self.write("test_once.py", """
import os
import pytest
def test_other(calibrax):
    calibrax(len, "abc")
def test_once(calibrax):
    if os.path.exists("done"):
        pytest.skip("done")
    calibrax(len, "abc")
    open("done", "w").close()
""")
        out = self.pytest("--calibrax-launches", "2", "--calibrax-store", "store", "test_once.py", expect=1)
        self.assertIn("launch 2 did not measure test_once.py::test_once, and is left out:", out)
        self.assertEqual({len(p.metrics["time"].samples) for p in self.latest().points}, {8})

    def test_a_damaged_run_loses_nothing(self) -> None:
        store = os.path.join(self.folder, "store")
        self.pytest("--calibrax-store", "store", "-k", "wait")
        cx.Store(store).set_baseline("latest", "main")
        run = self.latest().id
        for name, file in (("main", "baselines/main.json"), (run, f"runs/{run}.json")):
            with open(os.path.join(store, file), "w", encoding="utf-8") as out:
                out.write("{")
            words = self.pytest("--calibrax-store", "store", f"--calibrax-compare={name}", "--calibrax-missing-passes", "-k", "wait", expect=2)
            self.assertRegex(words, r"kept as run .*\nnot compared: .*not JSON")
            self.assertEqual(cx.Store(store).load(re.search(r"kept as run (\w+)", words)[1]).points[0].name, "test_wait")

    def test_a_path_is_not_a_run(self) -> None:
        out = self.pytest("--calibrax-store", "store", "--calibrax-compare", "test_kernels.py::test_wait", expect=4)
        self.assertIn("write --calibrax-compare=latest test_kernels.py::test_wait", out)
        self.pytest("--calibrax-store", "store", "--calibrax-compare=latest", "--calibrax-missing-passes", "test_kernels.py::test_wait")
        cx.Store(os.path.join(self.folder, "store")).set_baseline("latest", "release")
        os.mkdir(os.path.join(self.folder, "release"))
        self.pytest("--calibrax-store", "store", "--calibrax-compare=release", "--calibrax-threshold", "9", "--calibrax-undecided-passes", "-k", "wait")

    def test_one_process_is_one_sample(self) -> None:
        self.pytest("--calibrax-store", "store", "-k", "wait")
        out = self.pytest("--calibrax-store", "store", "--calibrax-compare", "--calibrax-launches", "3", "-k", "wait", expect=3, WAIT="0.02")
        self.assertRegex(out, "this run has 3 launches, run .* has 1 launch: the one process counts as one sample")

    def test_disabled(self) -> None:
        self.assertNotIn("-- calibrax --", self.pytest("--calibrax-disable", "--calibrax-store", "store"))
        self.assertFalse(os.path.exists(os.path.join(self.folder, "store")))

    def test_faults(self) -> None:
        self.assertIn("needs --calibrax-store DIR", self.pytest("--calibrax-compare", expect=4))
        self.assertIn("--calibrax-threshold must be a number of at least 0, got -1.0", self.pytest("--calibrax-threshold", "-1", expect=4))
        self.assertIn("--calibrax-launches must be at least 1, got 0", self.pytest("--calibrax-launches", "0", expect=4))
        self.write("test_faults.py", """
def test_again(calibrax):
    calibrax(len, "abc")
    calibrax(len, "abc")

def test_metric_first(calibrax):
    calibrax.metric("size", 3)

def test_broken(calibrax):
    calibrax(int, "three")
""")
        out = self.pytest("test_faults.py", expect=1)
        for words in ('test_again measures twice: name the second call with calibrax.labelled("name")', "must follow a call that was measured", "invalid literal for int()", "3 failed"):
            self.assertIn(words, out)


if __name__ == "__main__":
    tap.main()
