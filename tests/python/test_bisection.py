"""The search for the commit that made it slower, from Python.  Prints TAP."""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import subprocess
import tempfile
import unittest
from unittest import mock

import tap

from calibrax_c import ci


class Bisection(unittest.TestCase):
    COMMITS = [f"c{i:02}" for i in range(32)]

    @staticmethod
    def value(slow, noise=0.01):
        numbers = random.Random(3)
        return lambda commit: (1.05 if slow(commit) else 1.0) * (1 + noise * numbers.gauss(0, 1))

    def test_python_functions(self):
        built, measured = [], []
        bench = self.value(lambda c: c != "good" and c >= "c20")

        def run(commit):
            self.assertIn(commit, built)
            measured.append(commit)
            return bench(commit)

        search = ci.Bisection("good", self.COMMITS)
        self.assertIsNone(search.posterior()["c20"])
        r = search.run(run, built.append)
        self.assertEqual((r.outcome, r.exit_code, r.likeliest, [s.commit for s in r.suspects]), ("found", 0, "c20", ["c20"]))
        self.assertEqual((r.good, r.bad, r.launches, len(built)), ("good", "c31", len(measured), len(set(built))))
        self.assertTrue(r.probability >= 0.95 and r.relative and abs(r.change - 0.05) < 0.02)
        p = search.posterior()
        self.assertAlmostEqual(sum(p.values()), 1.0)
        self.assertEqual(max(p, key=p.get), "c20")
        self.assertIsNone(search.next())
        other = ci.Bisection("good", self.COMMITS)
        other.restore(json.loads(json.dumps(search.state())))
        self.assertEqual(other.result(), r)

    def test_what_cannot_be_measured_is_left_out(self):
        bench = self.value(lambda c: c != "good" and c >= "c10")
        r = ci.Bisection("good", self.COMMITS).run(lambda c: None if c == "c12" else bench(c), lambda c: c not in ("c09", "c10"))
        self.assertEqual(r.outcome, "found")
        self.assertTrue({"c09", "c10"} <= {s.commit for s in r.suspects} or r.likeliest == "c11", r)
        self.assertIn("it cannot be built", {s.reason for s in r.suspects})
        r = ci.Bisection("good", self.COMMITS).run(lambda c: None)
        self.assertEqual((r.outcome, r.exit_code), ("broken-end", 2))

    def test_ends(self):
        same = ci.Bisection("good", self.COMMITS, end_launches=10).run(self.value(lambda c: False))
        self.assertIn(same.outcome, ("unchanged", "undecided"))
        self.assertEqual(ci.Bisection("good", self.COMMITS).run(self.value(lambda c: c == "good")).outcome, "swapped")
        better = ci.Bisection("good", self.COMMITS, higher_is_better=True).run(self.value(lambda c: c == "good" or c < "c05"))
        self.assertEqual((better.outcome, better.likeliest), ("found", "c05"))

    def test_histories_with_merges(self):
        # good - a - b - m, with a side branch s from good that m merges: s is slow
        search = ci.Bisection("good", ["a", "s", "b", "m"], [["good"], ["good"], ["a"], ("b", "s")])
        self.assertEqual(search.run(self.value(lambda c: c in ("s", "m"))).likeliest, "s")

    def test_exceptions_come_out_and_the_search_goes_on(self):
        bench, calls = self.value(lambda c: c != "good" and c >= "c20"), []

        def tired(commit):
            calls.append(commit)
            if len(calls) == 5:
                raise LookupError("mine")
            return bench(commit)

        search = ci.Bisection("good", self.COMMITS)
        with self.assertRaisesRegex(LookupError, "mine"):
            search.run(tired)
        self.assertEqual(search.result().launches, 4)
        self.assertEqual(search.run(tired).likeliest, "c20")

        def reenter(commit):
            search.next()

        search = ci.Bisection("good", self.COMMITS)
        with self.assertRaisesRegex(RuntimeError, "another thread is using this Bisection"):
            search.run(reenter)

    def test_what_is_refused(self):
        search = ci.Bisection("good", self.COMMITS)
        for call, fault, words in ((lambda: search.observe("zz", 1.0), KeyError, "no commit of this search is called 'zz'"),
                                   (lambda: search.observe("c01", math.nan), ValueError, "finite"),
                                   (lambda: search.run(None), TypeError, "'bench' must be callable"),
                                   (lambda: search.run(lambda c: "fast"), TypeError, "float|number"),
                                   (lambda: search.restore(None), TypeError, "got None"),
                                   (lambda: search.restore({}), ValueError, "state"),
                                   (lambda: ci.Bisection("good", []), ValueError, "commit"),
                                   (lambda: ci.Bisection("good", ["a", "a"]), ValueError, "twice|two|same"),
                                   (lambda: ci.Bisection("good", ["a"], [[], []]), ValueError, "2 lists of parents for 1 commits"),
                                   (lambda: ci.Bisection("good", ["a", "b"], [["b"], []]), ValueError, "parent"),
                                   (lambda: ci.Bisection("good", ["a"], confidence=2.0), ValueError, "confidence"),
                                   (lambda: ci.bisect("v1", len), TypeError, "'bench' must be a string")):
            with self.subTest(words), self.assertRaisesRegex(fault, words):
                call()


class History(unittest.TestCase):
    """A repository whose seventh commit prints a greater number."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, True)
        cache = mock.patch.dict(os.environ, CALIBRAX_CACHE_DIR=os.path.join(self.folder, "cache"))
        cache.start()
        self.addCleanup(cache.stop)
        self.repository = os.path.join(self.folder, "toy")
        os.mkdir(self.repository)
        self.git("init", "-q", "-b", "main")
        for i in range(10):
            with open(os.path.join(self.repository, "cost"), "w", encoding="ascii") as f:
                f.write(f"cost {10 + 0.01 * (i % 3) + (5 if i >= 7 else 0)}\n")
            with open(os.path.join(self.repository, "number"), "w", encoding="ascii") as f:
                f.write(f"{i}\n")
            self.git("add", "-A")
            self.git("commit", "-q", "-m", f"step {i}")

    def git(self, *words):
        who = ("-c", "user.name=n", "-c", "user.email=n@localhost", "-c", "commit.gpgsign=false")
        return subprocess.run(["git", *who, *words], cwd=self.repository, check=True, capture_output=True, text=True).stdout

    def test_history(self):
        commits, parents = ci.history("HEAD~9", "HEAD", self.repository)
        self.assertEqual(commits, tuple(self.git("rev-list", "--reverse", "HEAD~9..HEAD").split()))
        self.assertEqual(parents, ((),) + tuple((c,) for c in commits[:-1]))
        self.assertEqual(ci.subject(commits[6], self.repository), "step 7")
        search = ci.Bisection("HEAD~9", commits, parents)
        r = search.run(lambda c: float(self.git("show", f"{c}:cost").split()[1]))
        self.assertEqual(r.likeliest, commits[6])
        with self.assertRaisesRegex(ValueError, "swapped"):
            ci.history("HEAD", "HEAD~3", self.repository)
        with self.assertRaises(FileNotFoundError):
            ci.history("no-such-revision", "HEAD", self.repository)

    def test_commands(self):
        seen_steps = []
        r = ci.bisect("HEAD~9", "cat cost", metric="cost", repository=self.repository, progress=lambda *a: seen_steps.append(a))
        self.assertEqual((r.outcome, r.exit_code, [s.subject for s in r.suspects]), ("found", 0, ["step 7"]))
        self.assertEqual(r.likeliest, self.git("rev-parse", "HEAD~2").strip())
        self.assertTrue({"launch"} <= {t[0] for t in seen_steps} <= {"build", "launch", "broken"})
        self.assertEqual({len(t) for t in seen_steps}, {5})

    def test_an_exception_of_the_listener_ends_it(self):
        state = os.path.join(self.folder, "state.json")

        def tired(step, commit, value, reason, probability):
            if step == "launch":
                raise LookupError("mine")

        with self.assertRaisesRegex(LookupError, "mine"):
            ci.bisect("HEAD~9", "cat cost", metric="cost", repository=self.repository, progress=tired, state=state)
        with open(state, encoding="utf-8") as f:
            self.assertEqual(json.load(f)["schema"], "calibrax-bisect")
        self.assertEqual(ci.bisect("HEAD~9", "cat cost", metric="cost", repository=self.repository, state=state, resume=True).outcome, "found")


if __name__ == "__main__":
    tap.main()
