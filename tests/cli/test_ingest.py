#!/usr/bin/env python3
"""calibrax ingest on folders, on files of later versions, and on long files, of which it needs at most 8 times the size in memory.

CBX_LONG_MB: length of the long files in MB (default 2; `make long-files` takes 100)
"""
import concurrent.futures
import gzip
import json
import os
import shutil
import threading

import long_files
from harness import CALIBRAX, SOURCE, Skip, check, equal, has, main, one_sentence, peak_mb, sanitized

FIXTURES = os.path.join(SOURCE, "tests/fixtures")
LONG_MB = float(os.environ.get("CBX_LONG_MB", "2"))
TIMES = 8  # the size of a file


def run(p, *args, **more):
    return p.run(*args, program=CALIBRAX, **more)


def ingested(p, *inputs, store="store", expect=0):
    return json.loads(run(p, "ingest", "--data", store, "--input", *inputs, "--json", expect=expect, timeout=20 if not sanitized() else 200).stdout)


def written(p, store="store"):
    return sorted(os.listdir(p.file(store, "runs"))) if os.path.isdir(p.file(store, "runs")) else []


# --- folders ---

def results_of_asv_come_with_their_machine(p):
    shutil.copytree(f"{FIXTURES}/import/asv", p.file("results"))
    shutil.copytree(p.file("results/host"), p.file("results/other"))
    with open(p.file("results/other/machine.json"), encoding="utf-8") as f:
        machine = json.load(f)
    p.write("results/other/machine.json", json.dumps(dict(machine, machine="other", num_cpu="64")))
    with open(p.file("results/other/77b9cf03-existing.json"), encoding="utf-8") as f:
        result = json.load(f)
    result["params"]["machine"] = "other"
    p.write("results/other/77b9cf03-existing.json", json.dumps(result))
    found = ingested(p, "results")
    equal(sorted(r["machine"] for r in found["runs"]), ["host", "other"], "each machine's results")
    equal(found["skipped"], [], "what only describes is no file of results")
    kept = json.load(open(p.file("store/runs", next(r["id"] for r in found["runs"] if r["machine"] == "other") + ".json"), encoding="utf-8"))
    equal(kept["environment"]["machine_info"]["num_cpu"], "64", "the machine's facts")
    equal(len(ingested(p, "results/host", store="one")["runs"]), 1, "the folder of one machine")


def folders_of_runs_and_rows(p):
    found = ingested(p, f"{FIXTURES}/store", f"{FIXTURES}/import/criterion")
    equal([r["format"] for r in found["runs"]], ["calibrax"] * 3 + ["criterion"], "a store, and a folder that is one document")
    os.makedirs(p.file("rows/case"))
    shutil.copy(f"{FIXTURES}/rows/typical.jsonl", p.file("rows/case"))
    p.write("rows/case/note.md", "# words\n")
    p.write("rows/case/selftest.json", "{}")
    found = ingested(p, "rows", store="rows-store")
    check(found["runs"] and all(r["format"] == "nperf" for r in found["runs"]), found)
    equal(found["skipped"], [], "a store of nperf has more in it than rows")
    os.makedirs(p.file("mixed"))
    shutil.copy(f"{FIXTURES}/import/bmf.json", p.file("mixed"))
    p.write("mixed/torn.json", '{"results": [')
    found = ingested(p, "mixed", store="mixed-store", expect=2)
    equal((len(found["runs"]), len(found["skipped"])), (1, 1), "one that is torn costs the other nothing")
    os.makedirs(p.file("empty"))
    one_sentence(run(p, "ingest", "--data", "none", "--input", "empty", expect=2), "folder without measurements", "calibrax")


def links_that_lead_back_are_walked_once(p):
    os.makedirs(p.file("many/inner"))
    shutil.copy(f"{FIXTURES}/import/bmf.json", p.file("many/inner/a.json"))
    shutil.copy(f"{FIXTURES}/import/hyperfine.json", p.file("many/b.json"))
    os.symlink("..", p.file("many/inner/up"))
    os.symlink("inner", p.file("many/again"))
    os.symlink(".", p.file("many/here"))
    found = ingested(p, "many")
    equal([r["format"] for r in found["runs"]], ["bmf", "hyperfine"], "each file once")
    shutil.copytree(f"{FIXTURES}/import/criterion", p.file("criterion"))
    os.symlink(".", p.file("criterion/loop"))
    (found,) = ingested(p, "criterion", store="criterion-store")["runs"]
    (wanted,) = ingested(p, f"{FIXTURES}/import/criterion", store="wanted-store")["runs"]
    equal(found["points"], wanted["points"], "each benchmark once")


# --- encodings and what has two meanings ---

EXPORTS = ("hyperfine.json", "bmf.json", "go.txt")


def fixture(name):
    with open(f"{FIXTURES}/import/{name}", encoding="utf-8") as f:
        return f.read()


def pipes_hold_what_files_hold(p):
    path = p.file("file.txt")
    long_files.write("go", 300_000, path)
    with open(path, "rb") as f:
        text = f.read()
    run_id = ingested(p, path)["runs"][0]["id"]
    for name, data in (("plain", text), ("packed", gzip.compress(text, mtime=0))):
        os.mkfifo(p.file(name))
        writer = threading.Thread(target=lambda to=p.file(name), what=data: open(to, "wb").write(what))
        writer.start()
        equal(ingested(p, p.file(name), store=f"store-{name}")["runs"][0]["id"], run_id, f"{name}: the run of the file")
        writer.join()


def byte_order_marks(p):
    """As editors and shells of other systems write them."""
    for name in EXPORTS:
        text = fixture(name)
        for encoding in ("utf-8", "utf-8-sig"):
            with open(p.file(f"{encoding}-{name}"), "w", encoding=encoding) as f:
                f.write(text)
        (plain,), (marked,) = (ingested(p, f"{encoding}-{name}", store=encoding)["runs"] for encoding in ("utf-8", "utf-8-sig"))
        equal((marked["format"], marked["points"]), (plain["format"], plain["points"]), f"{name}: the mark is passed over")
        for encoding in ("utf-16", "utf-16-be"):
            with open(p.file("wide"), "wb") as f:
                f.write((b"\xfe\xff" if encoding == "utf-16-be" else b"") + text.encode(encoding))
            one_sentence(run(p, "ingest", "--data", "wide-store", "--input", "wide", expect=2), "is UTF-16, not UTF-8", "calibrax")
    with open(f"{FIXTURES}/runs/full.json", encoding="utf-8") as f, open(p.file("run.json"), "w", encoding="utf-8-sig") as marked:
        marked.write(f.read())
    equal(ingested(p, "run.json", store="runs")["runs"][0]["id"], "abc123def456", "a run file")
    run(p, "check", "--data", "runs", "--input", "run.json", "--baseline-input", "run.json")


def what_has_two_meanings_is_refused(p):
    """A key that is listed twice, and a NUL that would cut a name, at every depth."""
    for text, part in (('{"results": [{"command": "a", "mean": 1, "mean": 2}]}', "the key 'mean' is listed twice"),
                       ('{"results": [{"command": "a", "mean": 1}], "results": []}', "the key 'results' is listed twice"),
                       ('{"results": [{"command": "a", "mean": 1, "parameters": {"n": 1, "n": 2}}]}', "the key 'n' is listed twice"),
                       ('{"results": [{"command": "a\\u0000b", "mean": 1}]}', "a NUL (\\u0000) in a string"),
                       ('{"bench": {"latency": {"value": 1, "value": 2}}}', "the key 'value' is listed twice"),
                       ('{"bench": {"latency": {"value": 1}, "latency": {"value": 2}}}', "the key 'latency' is listed twice"),
                       ('{"a": {"latency": {"value": 1}}, "a": {"latency": {"value": 1}}}', "the key 'a' is listed twice"),
                       ('{"id": "a", "timestamp": "2026-01-01T00:00:00Z", "points": [], "id": "b"}', "the key 'id' is listed twice"),
                       ('{"id": "a", "timestamp": "2026-01-01T00:00:00Z", "points": [{"name": "f", "scenario": "s", "tags": {}, "metrics": {"t": {"value": 1}, "t": {"value": 2}}}]}',
                        "the key 't' is listed twice")):
        one_sentence(run(p, "ingest", "--data", "store", "--input", p.write("two.json", text), expect=2), part, "calibrax")
    equal(written(p), [], "nothing is written")
    os.makedirs(p.file("bad/runs"))
    p.write("bad/runs/x.json", '{"id": "x", "timestamp": "2026-01-01T00:00:00Z", "points": [], "metadata": {"a": 1, "a": 2}}')
    has(run(p, "store", "verify", "--data", "bad").stdout, "the key 'a' is listed twice")


# --- versions ---

FUTURE = {
    "calibrax": {"id": "a", "timestamp": "2026-01-01T00:00:00Z", "points": [], "version": 99},
    "google-benchmark": {"context": {"num_cpus": 2, "json_schema_version": 99}, "benchmarks": []},
    "hyperfine": {"results": [{"command": "a", "mean": 1}], "version": 99},
    "pytest-benchmark": {"machine_info": {}, "benchmarks": [], "version": "99.0.0"},
    "pyperf": {"benchmarks": [{"runs": []}], "version": "99.0"},
    "jmh": [{"jmhVersion": "99.1", "benchmark": "a"}],
    "asv": {"commit_hash": "a", "results": {}, "result_columns": [], "version": 99},
    "nanobench": {"results": [{"median(elapsed)": 1}], "version": 99},
    "nvbench": {"meta": {"version": {"json": {"major": 99}, "nvbench": {}}}, "benchmarks": []},
    "benchmarktools": [{"BenchmarkTools": "99.0.0"}, []],
    "calibrax-result": {"name": "a", "timestamp": 1.0, "config": {}, "metadata": {}, "schema_version": 99},
    "bmf": {"a": {"latency": {"value": 1}}, "version": 99},
    "nperf": {"run_id": "20260220T113424.346877+0000__1a2b3c4", "param_point": {}, "schema_version": 99},
}


def later_versions_are_refused(p):
    for name, value in FUTURE.items():
        path = p.write(f"{name}.json", json.dumps(value) + "\n")
        done = run(p, "ingest", "--data", "store", "--input", path, expect=2)
        one_sentence(done, "99", "calibrax")
        has(done.stderr, name, "says of what")
        has(done.stderr, "later release", "and what helps")
    equal(written(p), [], "nothing is written")


# --- memory ---

def memory_is_bounded_by_eight_times_the_file(p):
    if sanitized():
        raise Skip("sanitizer: it keeps what was freed")
    small = peak_mb(p, "ingest", "--data", "small", "--input", p.write("small.json", '{"a": {"latency": {"value": 1}}}'))
    bound = small + TIMES * LONG_MB

    def ingest(name):
        """Peak memory of reading a file of this format, and the runs that it gave."""
        path, store = p.file("long-" + name), f"store-{name}"
        long_files.write(name, int(LONG_MB * 1e6), path)
        peak = peak_mb(p, "ingest", "--data", store, "--input", path)
        os.unlink(path)
        runs = os.listdir(p.file(store, "runs"))
        shutil.rmtree(p.file(store))
        return peak, runs

    names = [*long_files.FORMATS, "pyperf.gz", "go-distinct.gz"]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, (peak, runs) in zip(names, pool.map(ingest, names)):
            print(f"# {name}: {(peak - small) / LONG_MB:.1f} times the file", flush=True)
            check(peak < bound, f"{name}: {peak:.1f} MB for a file of {LONG_MB:g} MB, more than {bound:.1f}")
            check(runs, "and there are runs")


def no_small_file_takes_long(p):
    """What there may be many of costs no more than its length: parts of a name, tags, metrics, units, parameters."""
    n = 100_000
    item = {"iterations": 1, "real_time": 1, "cpu_time": 1, "time_unit": "ns"}
    files = {
        "google-parts": {"context": {"num_cpus": 2}, "benchmarks": [{"name": "a" + "/1" * n, **item}]},
        "google-counters": {"context": {"num_cpus": 2}, "benchmarks": [{"name": "a", **item, **{f"c{i}": i for i in range(n)}}]},
        "hyperfine": {"results": [{"command": "a", "mean": 1, "parameters": {f"k{i}": f"v{i}" for i in range(n)}}]},
        "bmf": {"a": {f"m{i}": {"value": 1} for i in range(n)}},
        "go-parts": "goos: x\nBenchmarkA" + "/b" * n + " 1 1 ns/op\n",
        "go-units": "goos: x\n" + "".join(f"BenchmarkA 1 1 u{i}/op\n" for i in range(n)),
        "nvbench": {"meta": {"version": {"nvbench": {}}}, "benchmarks": [{"name": "a", "states": [{"summaries": [
            {"tag": f"t{i}", "data": [{"name": "value", "type": "float64", "value": "1"}]} for i in range(n)]}]}]},
    }
    for name, what in files.items():
        ingested(p, p.write(name, what if isinstance(what, str) else json.dumps(what)), store=name + "-store")
    many = {"commit_hash": "a", "version": 2, "result_columns": ["result", "params"], "results": {"t.time_x": [[1.0] * 2000, [["1"]] * 2000]}}
    one_sentence(run(p, "ingest", "--data", "asv-store", "--input", p.write("asv", json.dumps(many)), expect=2, timeout=20), "2000 parameters, at most 64 are read", "calibrax")


def integers_of_more_than_64_bits(p):
    """Values are doubles; in the environment, the metadata and further members each keeps its digits."""
    big = 123456789012345678901234567890
    metric = {"value": big, "samples": [2 ** 65, 1]}
    document = {"id": "big", "timestamp": "2026-03-01T10:00:00+00:00", "environment": {"n": -big}, "metadata": {"seeds": [big, 1]}, "metric_defs": {},
                "points": [{"name": "f", "scenario": "s", "tags": {}, "metrics": {"t": metric}}], "build": {"n": 10 ** 300}}
    run(p, "ingest", "--data", "store", "--input", p.write("big.json", json.dumps(document)), expect=0)
    found = json.loads(run(p, "show", "big", "--data", "store", "--json", expect=0).stdout)
    equal({k: found[k] for k in ("environment", "metadata", "build")}, {k: document[k] for k in ("environment", "metadata", "build")}, "exact")
    equal((found["points"][0]["metrics"]["t"]["value"], found["points"][0]["metrics"]["t"]["samples"]), (float(big), [2.0 ** 65, 1.0]), "rounded")
    equal(json.loads(run(p, "show", "--list", "--data", "store", "--json", expect=0).stdout)["runs"][0]["id"], "big", "it is listed")


def files_above_two_gib_are_refused(p):
    with open(p.file("huge.json"), "wb") as f:
        f.truncate((2 << 30) + 1)
    one_sentence(run(p, "ingest", "--data", "store", "--input", "huge.json", expect=2), "'huge.json' has 2147483649 bytes, at most 2147483648 are read", "calibrax")
    equal(written(p), [], "nothing is written")


def memory_does_not_follow_the_number_of_words(p):
    """None of these files exists, which is reported for each."""
    few, many = (peak_mb(p, "ingest", "--data", "store", "--input", *(f"f{i}" for i in range(n)), expect=2) for n in (8, 8000))
    check(many < few + 20, f"{many:.0f} MB for 8000 words, {few:.0f} for 8")


def what_made_no_iteration_has_no_time(p):
    """A time of 0 s would pass every gate as an improvement."""
    files = {
        "google.json": '{"context": {"json_schema_version": 1}, "benchmarks": [{"name": "a", "run_type": "iteration", "iterations": 0, "real_time": 0, "cpu_time": 0, "time_unit": "ns"}]}',
        "nanobench.json": '{"results": [{"name": "a", "median(elapsed)": 0, "measurements": [{"iterations": 0, "elapsed": 0}]}]}',
        "go.txt": "BenchmarkA-8 0 0 ns/op\n",
    }
    for name, text in files.items():
        p.write(name, text)
        run(p, "ingest", "--data", name + ".store", "--input", name, expect=0)
        (kept,) = written(p, name + ".store")
        with open(p.file(name + ".store", "runs", kept), encoding="utf-8") as f:
            value = json.load(f)["points"][0]["metrics"]["time"]["value"]
        check(value != value, f"{name}: found {value}")


main([what_made_no_iteration_has_no_time, memory_does_not_follow_the_number_of_words, results_of_asv_come_with_their_machine, folders_of_runs_and_rows, links_that_lead_back_are_walked_once, pipes_hold_what_files_hold, byte_order_marks, what_has_two_meanings_is_refused, later_versions_are_refused, memory_is_bounded_by_eight_times_the_file, files_above_two_gib_are_refused, integers_of_more_than_64_bits, no_small_file_takes_long])
