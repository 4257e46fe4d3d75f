"""Files of other tools as runs, care of stores, what there is to compute with; text of another kind.  Prints TAP."""

from __future__ import annotations

import glob
import os
import pickle
import shutil
import tempfile
import threading
import unittest
from datetime import date

import tap

import calibrax_c as cx

SOURCE = os.environ.get("CALIBRAX_SOURCE_ROOT", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
FILES = os.path.join(SOURCE, "tests/fixtures/import")


def fixture(name):
    return os.path.join(FILES, name)


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, True)

    def store(self, name="store"):
        return cx.Store(os.path.join(self.folder, name))


class Import(Folder):
    def test_formats_are_found_out(self):
        known = cx.import_formats()
        self.assertTrue(all(known.values()))
        for file, want in (("hyperfine.json", "hyperfine"), ("pytest-benchmark.json", "pytest-benchmark"), ("google-benchmark.json", "google-benchmark"),
                           ("go.txt", "go"), ("jmh.json", "jmh"), ("pyperf.json.gz", "pyperf"), ("criterion", "criterion"), ("bmf.json", "bmf")):
            with self.subTest(file):
                got = cx.import_runs(fixture(file))
                self.assertIn(want, known)
                self.assertEqual(set(got.formats), {want})
                self.assertEqual(len(got.formats), len(got.runs))
                self.assertTrue(all(isinstance(r, cx.Run) and r.points and r.metric_defs for r in got.runs))
                self.assertEqual(cx.import_runs(fixture(file)).runs, got.runs)  # the same file gives the same run
                self.assertEqual(pickle.loads(pickle.dumps(got)), got)

    def test_facts_that_a_file_does_not_tell(self):
        (run,) = cx.import_runs(fixture("hyperfine.json"), commit="c" * 40, branch="main", machine="m1").runs
        self.assertEqual((run.commit, run.branch, run.environment["machine"]), ("c" * 40, "main", "m1"))
        (here,) = cx.import_runs(fixture("hyperfine.json"), machine="here").runs
        self.assertEqual(here.environment["machine"], cx.Run([]).environment["machine"])

    def test_what_is_refused(self):
        bad = os.path.join(self.folder, "bad.json")
        with open(bad, "w", encoding="utf-8") as f:
            f.write('{"what": [1, 2')
        for call, fault, words in ((lambda: cx.import_runs(bad), ValueError, "bad.json"), (lambda: cx.import_runs(bad + "x"), FileNotFoundError, "bad.jsonx"),
                                   (lambda: cx.import_runs(fixture("go.txt"), format="jmh"), ValueError, "go.txt.*not JSON"),
                                   (lambda: cx.import_runs(fixture("go.txt"), format="word"), ValueError, "word"),
                                   (lambda: cx.import_runs(3), TypeError, "path|PathLike"), (lambda: cx.import_runs(), TypeError, "missing the argument 'path'")):
            with self.subTest(words), self.assertRaisesRegex(fault, words):
                call()

    def test_into_a_store(self):
        files = sorted(p for p in glob.glob(fixture("*.json")) if "copy" not in p)
        bad = os.path.join(self.folder, "bad.json")
        with open(bad, "w", encoding="utf-8") as f:
            f.write("[]")
        with self.store() as store:
            got = store.ingest(*files, bad, fixture("criterion"))
            self.assertEqual([(n.file, n.entry) for n in got.skipped], [(bad, None)])
            self.assertTrue(got.skipped[0].message)
            self.assertGreaterEqual(len(got.runs), len(files))
            self.assertEqual({r.id for r in got.runs}, {e.id for e in store.entries()})
            for r in got.runs:
                self.assertEqual(len(store.load(r.id).points), r.points)
            self.assertEqual(len(store.ingest(*files).runs), len(got.runs) - 1)  # again changes nothing
            self.assertEqual(len(store.entries()), len({r.id for r in got.runs}))
            with self.assertRaisesRegex(TypeError, "must name a file or a folder"):
                store.ingest()
            with self.assertRaises(TypeError):
                store.ingest(3)
        with self.assertRaisesRegex(ValueError, "closed"):
            store.ingest(files[0])

    def test_a_store_that_is_large_already_and_one_that_is_not_there(self):
        store = self.store()
        self.assertEqual(len(store.ingest(fixture("jmh.json")).runs), 1)
        self.assertEqual(len(store.ingest(fixture("pyperf.json")).runs), 1)
        self.assertEqual([len(r.points) > 0 for r in store.list_runs()], [True, True])
        run = cx.import_runs(fixture("jmh.json")).runs[0]
        store.save(cx.Run(run.points[:1], id=run.id, detect=False), replace=True)
        self.assertIn("another run", store.ingest(fixture("jmh.json")).skipped[0].message)
        self.assertEqual(len(store.ingest(fixture("jmh.json"), replace=True).runs), 1)

    def test_many_threads(self):
        store, wrong = self.store(), []

        def work(name):
            for _ in range(3):
                if store.ingest(fixture(name)).skipped:
                    wrong.append(name)

        threads = [threading.Thread(target=work, args=(n,)) for n in ("jmh.json", "pyperf.json", "go.txt", "hyperfine.json")]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual((wrong, len(store.entries())), ([], 4))


class Care(Folder):
    def filled(self):
        store = self.store()
        for i in range(6):
            store.save(cx.Run([cx.Point("p", "s", {}, {"time": float(i)})], id=f"r{i}", timestamp=f"2026-01-0{i + 1}T00:00:00+00:00",
                              branch="main" if i % 2 else "side", environment={"machine": "m"}, detect=False))
        return store

    def test_a_part_is_copied(self):
        store, to = self.filled(), os.path.join(self.folder, "part")
        care = store.export(to, branch="main", since="2026-01-03")
        self.assertEqual((care.changed, care.problems), (2, ()))
        self.assertEqual(sorted(e.id for e in cx.Store(to).entries()), ["r3", "r5"])
        self.assertEqual([e.id for e in store.entries(since=date(2026, 1, 5))], ["r5", "r4"])
        self.assertEqual(len(store.entries()), 6)
        for bad in ((), (to, "more")):
            with self.assertRaises(TypeError):
                store.export(*bad)
        with self.assertRaises(TypeError):
            store.export(to, colour="blue")

    def test_old_runs_go(self):
        store = self.filled()
        store.set_baseline("r0")
        self.assertEqual(store.compact(1, dry=True).changed, 3)
        self.assertEqual(len(store.entries()), 6)
        self.assertEqual(store.compact(1).changed, 3)
        self.assertEqual(sorted(e.id for e in store.entries()), ["r0", "r4", "r5"])  # the newest of each branch, and the baseline's
        self.assertEqual(store.compact().changed, 0)
        with self.assertRaisesRegex(ValueError, "must be at least 0"):
            store.compact(-1)

    def test_migration(self):
        store = self.filled()
        self.assertEqual(store.migrate(dry=True).files, 6)
        self.assertEqual(store.migrate().problems, ())
        store.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            store.migrate()


class Doctor(unittest.TestCase):
    def test_items(self):
        items = cx.doctor()
        self.assertTrue({"settings", "backends", "machine", "libraries", "devices"} <= {i.group for i in items})
        self.assertTrue({i.state for i in items} <= {"fact", "here", "missing", "broken"})
        self.assertTrue(all(i.text for i in items))
        self.assertEqual(type(items[0]).__module__, "calibrax_c")


class Text(Folder):
    """What C would cut short, or could not write, is refused with its place, wherever text is taken."""

    def test_refused(self):
        store = self.store()
        for bad, words in (("a\0b", "NUL character"), ("a\ud800b", "surrogate")):
            for call in (lambda: cx.Run([cx.Point(bad, "s")], detect=False), lambda: cx.Run([cx.Point("p", "s", {bad: "v"})], detect=False),
                         lambda: cx.Run([cx.Point("p", "s", {"k": bad})], detect=False), lambda: cx.Run([cx.Point("p", "s", {}, {bad: 1.0})], detect=False),
                         lambda: cx.Run([], metadata={"k": bad}, detect=False), lambda: cx.Run([], metadata={bad: 1}, detect=False),
                         lambda: cx.Run([], metric_defs=[cx.MetricDef("m", bad, "lower")], detect=False), lambda: cx.Run([], branch=bad, detect=False),
                         lambda: store.load(bad), lambda: store.remove(bad), lambda: cx.array.zeros(3, dtype="float64" + bad), lambda: cx.array.set_backend(bad),
                         lambda: cx.profiling.hlo(bad), lambda: cx.monitoring.Alerts().add_rule(bad, info=1.0), lambda: cx.profiling.command(["true", bad]),
                         lambda: cx.ci.Bisection(bad, ["a"])):
                with self.assertRaisesRegex(ValueError, words):
                    call()
        with self.assertRaises(ValueError):
            cx.MetricDef("m", "s", "lower\0")
        with self.assertRaisesRegex(ValueError, "'method' must be"):
            cx.statistics.bootstrap([1.0, 2.0, 3.0], method="bca\0")

    def test_numbers_that_json_does_not_hold(self):
        with self.assertRaisesRegex(TypeError, "k: .* cannot be kept"):
            cx.Run([], metadata={"k": 1j}, detect=False)

    def test_kept(self):
        for text in ("ä ∑ 🎉", "quote\" \\ tab\t", "\x01", "e\u0301"):
            run = cx.Run([cx.Point(text, text, {"k": text}, {"m": 1.0})], metadata={"t": text}, detect=False)
            store = self.store()
            store.save(run)
            self.assertEqual(store.load(run.id), run)
            self.assertEqual((store.load(run.id).points[0].name, store.load(run.id).metadata["t"]), (text, text))


if __name__ == "__main__":
    tap.main()
