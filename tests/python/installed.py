"""What a user of an installed copy does, away from the source tree: each part that needs a file beside the extension.  Prints TAP.

Run with an interpreter that finds calibrax_c by itself, and nothing in the environment with the places where the tools are.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import calibrax_c as cx

MODULE = """
def work():
    return sum(range(1000))

class Sum:
    def setup(self): self.numbers = range(10)
    def run_training(self): return {}
    def run_evaluation(self): return {"total": sum(self.numbers)}
    def teardown(self): pass
    def get_performance_targets(self): return {"total": 45}
"""


class Installed(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        with open("work.py", "w", encoding="utf-8") as f:
            f.write(MODULE)

    def test_where_it_is_from(self):
        source = os.environ.get("CALIBRAX_TEST_SOURCE")
        self.assertFalse(source and os.path.realpath(cx.__file__).startswith(os.path.realpath(source) + os.sep), cx.__file__)
        self.assertEqual([name for name in os.environ if name.startswith(("NPERF_", "CALIBRAX_")) and name != "CALIBRAX_TEST_SOURCE"], [])

    def test_a_function_in_an_interpreter_of_its_own(self):
        for module in ("work", "work.py"):
            c = cx.profiling.function(module, "work", samples=3)
            self.assertEqual(len(c.timing.samples), 3)

    def test_a_module_of_benchmarks(self):
        r = cx.launch_benchmarks(module="work:Sum", defs=[cx.MetricDef("total", "1", "higher")], launches=2)
        self.assertTrue(r.passed, r.to_dict())

    def test_a_command(self):
        self.assertTrue(cx.launch_benchmarks(command=[sys.executable, "-c", "print(1)"], launches=2).passed)
        self.assertEqual(cx.profiling.command([sys.executable, "-c", "pass"], runs=2).runs[0].exit_status, 0)

    def test_a_search_over_a_history(self):
        who = ["git", "-c", "user.name=n", "-c", "user.email=n@localhost", "-c", "commit.gpgsign=false"]
        cache = mock.patch.dict(os.environ, CALIBRAX_CACHE_DIR=os.path.join(self.folder, "cache"))
        cache.start()
        self.addCleanup(cache.stop)
        subprocess.run(["git", "init", "-q", "toy"], check=True)
        for i in range(6):
            with open("toy/cost", "w", encoding="ascii") as f:
                f.write(f"{i} cost {1.0 + 0.001 * i + (i > 3)}\n")
            subprocess.run([*who, "add", "-A"], cwd="toy", check=True)
            subprocess.run([*who, "commit", "-q", "-m", f"step {i}"], cwd="toy", check=True)
        r = cx.ci.bisect("HEAD~5", "cat cost", metric="cost", repository="toy")
        self.assertEqual((r.outcome, r.suspects[0].subject), ("found", "step 4"))

    def test_programs(self):
        """The entry points of a wheel; a copy that is laid out by hand has the programs and no entry points."""
        folder = os.path.join(os.path.dirname(cx.__file__), "tools")
        for program in ("nperf", "calibrax"):
            start = [sys.executable, "-c", f"import sys; sys.argv[1:] = ['--version']; import calibrax_c as c; c._{program}()"]
            self.assertTrue(os.path.exists(os.path.join(folder, program)))
            done = subprocess.run(start, capture_output=True, text=True)
            self.assertIn(cx.__version__, done.stdout, done.stderr)
        for what in (["--", "true"], ["--module", "work.py:work"]):
            done = subprocess.run([os.path.join(folder, "calibrax"), "run", "--data", "kept", "-n", "2", *what], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_store_and_a_check(self):
        with cx.Store("runs") as store:
            for i, value in enumerate((1.0, 2.0)):
                store.save(cx.Run([cx.Point("p", "s", {}, {"time": value})], id=f"r{i}", metric_defs=[cx.MetricDef("time", "s", "lower")]))
            store.set_baseline("r0")
            self.assertEqual(cx.Check(store.load("r1"), store.get_baseline()).exit_code, 1)

    def test_figures_and_arrays(self):
        self.assertEqual(cx.array.sum(cx.array.arange(10)), 45)
        (path,) = cx.exporters.values({"a": 1.0}, "v", self.folder)
        self.assertTrue(os.path.getsize(path))
        self.assertTrue(json.dumps(cx.profiling.machine()))


class Result(unittest.TextTestResult):
    """TAP, without a file beside this one."""

    number = 0

    def line(self, test, state, more=""):
        Result.number += 1
        print(f"{state} {Result.number} - {test.id().removeprefix('__main__.')}{more}", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.line(test, "ok")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.line(test, "ok", f" # SKIP {reason}")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        print("# " + self.failures[-1][1].replace("\n", "\n# "))
        self.line(test, "not ok")

    def addError(self, test, err):
        super().addError(test, err)
        print("# " + self.errors[-1][1].replace("\n", "\n# "))
        self.line(test, "not ok")


if __name__ == "__main__":
    tests = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    print(f"1..{tests.countTestCases()}")
    with open(os.devnull, "w", encoding="utf-8") as quiet:
        done = unittest.TextTestRunner(stream=quiet, resultclass=Result).run(tests)
    sys.exit(0 if done.wasSuccessful() else 1)
