"""Disks that are full and files that may not grow: what was measured is told, what was stored stays, what is only a cache is done without."""
import contextlib
import json
import os
import resource
import subprocess

from harness import CALIBRAX, Skip, check, equal, has, main, one_sentence

MAXIMUM = 600  # bytes that a file may have under a limit: less than a run, more than the few words of a short one


def run(p, *args, **more):
    return p.run(*args, program=CALIBRAX, **more)


def limited(p, *args, **more):
    """A program whose files may not grow beyond MOST bytes."""
    return run(p, *args, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (MAXIMUM, MAXIMUM)), **more)


def make_run(number, values=40):
    points = [{"name": f"p{k}", "scenario": "s", "tags": {}, "metrics": {"t": {"value": 1.0 + k}}} for k in range(values)]
    return {"id": f"run{number:04d}", "timestamp": f"2026-02-{number:02d}T10:00:00+00:00", "environment": {"machine": "m"}, "metadata": {},
            "metric_defs": {"t": {"name": "t", "unit": "s", "direction": "lower"}}, "points": points}


def fill(p, store, n=3):
    for i in range(1, n + 1):
        run(p, "ingest", "--data", store, "--input", p.write(f"r{i}.json", json.dumps(make_run(i))), expect=0)


def contents(store):
    found = {}
    for at, _, names in os.walk(store):
        for name in names:
            if name.endswith(".json"):
                with open(os.path.join(at, name), "rb") as f:
                    found[name] = f.read()
    return found


def intact(p, store, before):
    """Nothing is lost, nothing half-written is left, and the store says so itself."""
    equal(contents(store), before, "the runs that were there")
    leftover = [n for at, _, names in os.walk(store) for n in names if n.endswith(".tmp")]
    equal(leftover, [], "nothing half-written is left")
    run(p, "store", "verify", "--data", store, expect=0)


@contextlib.contextmanager
def full_disk(p, store):
    """A store with three runs on a disk of its own that has no room left."""
    place = p.file("small")
    os.mkdir(place)
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", place], capture_output=True).returncode:
        raise Skip("permission: cannot mount a small file system here")
    try:
        fill(p, store)
        with contextlib.suppress(OSError), open(os.path.join(place, "filler"), "wb", buffering=0) as f:
            while True:
                f.write(b"x" * 1024)
        yield place
    finally:
        subprocess.run(["umount", place], capture_output=True)


def measurements(store):
    """Ways to measure something into a store, and what shows that it was told."""
    return ((["run", "-n", "1", "--data", store, "--", "true"], "wall_time"), (["profile", "-n", "2", "--data", store, "--", "true"], "time  "),
            (["profile", "-n", "1", "-w", "0", "--sizes", "1,2,4,8", "--data", store, "--", "sh", "-c", "exit 0", "{}"], "exponent"))


def a_measurement_is_printed_though_the_disk_is_full(p):
    with full_disk(p, "small/store") as place:
        before = contents(p.file("small/store"))
        for args, part in measurements("small/store"):
            done = run(p, *args, expect=2)
            has(done.stdout.lower(), part.lower(), "what was measured")
            one_sentence(done, "No space left", "calibrax")
            options, command = args[:args.index("--")], args[args.index("--"):]
            done = run(p, *options, "--json", *command, expect=2)
            document = json.loads(done.stdout)
            equal(len(document["faults"]), 1, "the fault is told")
            has(document["faults"][0], "No space left")
            one_sentence(done, "No space left", "calibrax")
        intact(p, p.file("small/store"), before)
        equal(len(json.loads(run(p, "show", "--list", "--data", "small/store", "--json", expect=0).stdout)["runs"]), 3, "and can be read")
        os.remove(os.path.join(place, "filler"))
        run(p, "run", "-n", "1", "--data", "small/store", "--", "true", expect=0)


def a_disk_that_stays_full_and_is_emptied(p):
    """Writers give up and say what to do; readers go on; with room again the same words succeed, and nothing is missing."""
    with full_disk(p, "small/store") as place:
        for name in os.listdir(p.file("small/store")):
            if name.startswith("index."):
                os.remove(p.file("small/store", name))
        with contextlib.suppress(OSError), open(os.path.join(place, "more"), "wb", buffering=0) as f:
            while True:
                f.write(b"x" * 512)
        before = contents(p.file("small/store"))
        fourth = p.write("r4.json", json.dumps(make_run(4)))
        writers = (["ingest", "--data", "small/store", "--input", fourth], ["baseline", "--data", "small/store", "--run", "run0001"],
                   ["export", "-f", "csv", "--data", "small/store", "--out", "small/out"])
        for _ in range(2):
            for args in writers:
                printed = run(p, *args, expect=2)
                one_sentence(printed, "No space left on device; free space there and try again", "calibrax")
                has(printed.stderr, "'small/", "the file is named")
            for args in (["show", "--list"], ["summary"], ["trend", "--metric", "t", "--point", "p1"], ["show", "--points", "--tag", "a=b"], ["store", "verify"]):
                equal(run(p, *args, "--data", "small/store", expect=2 if "--points" in args else 0).stderr.count("No space"), 0, f"{args[0]} needs no room")
            intact(p, p.file("small/store"), before)
        os.remove(os.path.join(place, "filler"))
        os.remove(os.path.join(place, "more"))
        for args in writers:
            run(p, *args, expect=0)
        after = contents(p.file("small/store"))
        equal({name: after[name] for name in before}, before, "what was there")
        equal(sorted(set(after) - set(before)), ["main.json", "run0004.json"], "and what was received")
        run(p, "store", "verify", "--data", "small/store", expect=0)


def a_disk_that_goes_away(p):
    """While a benchmark or a profile runs, its store is gone with its disk: what was measured is told, and kept where the path leads then."""
    store, first, last = "gone/store", "rm -rf gone", "rm -rf gone; touch gone"
    for command, what in (("run", first), ("profile", first), ("profile", last), ("run", last)):
        if os.path.isfile(p.file("gone")):
            os.remove(p.file("gone"))
        fill(p, store)
        done = run(p, command, "-n", "1", "--data", store, "--", "sh", "-c", what, expect=0 if what == first else 2)
        has(done.stdout, "wall_time" if command == "run" else "CPU share", "what was measured")
        if done.returncode:
            one_sentence(done, "gone", "calibrax")
        else:
            (name,) = contents(p.file(store))
            has(done.stderr, f"warning: the store '{store}' was removed while the command ran, and was created again: if its disk returns, ingest '{store}/runs/{name}' there")
    equal(done.returncode, 2, "a file where the folder was is told")
    for args in (["show", "--list"], ["check"], ["baseline"], ["trend"], ["store", "verify"]):
        one_sentence(run(p, *args, "--data", "gone/store", expect=2), "gone/store", "calibrax")


def a_store_keeps_what_it_has_on_a_full_disk(p):
    with full_disk(p, "small/store"):
        before = contents(p.file("small/store"))
        other = p.write("other.json", json.dumps(make_run(4, 4000)))
        one_sentence(run(p, "ingest", "--data", "small/store", "--input", other, expect=2), "No space left", "calibrax")
        one_sentence(run(p, "ingest", "--data", "small/store", "--input", p.write("r2.json", json.dumps(make_run(2, 4000))), "--replace", expect=2), "No space left", "calibrax")
        one_sentence(run(p, "baseline", "--data", "small/store", "--run", "run0001", expect=2), "No space left", "calibrax")
        intact(p, p.file("small/store"), before)


def a_trace_that_cannot_be_written_costs_nothing_else(p):
    for args, part in (measurements("store"))[:2]:
        options, command = args[:args.index("--")], args[args.index("--"):]
        done = run(p, *options, "--trace", "/dev/full", *command, expect=2)
        has(done.stdout.lower(), part, "what was measured")
        has(done.stderr, "kept as run", "the run is kept")
        has(done.stderr, "cannot write '/dev/full': No space left", "the trace is named")
        document = json.loads(run(p, *options, "--trace", "/dev/full", "--json", *command, expect=2).stdout)
        has(document["faults"][0], "/dev/full")
    kept = [json.loads(text)["metadata"].get("trace") for text in contents(p.file("store")).values()]
    equal(len(kept), 4, "four runs")
    equal(sum("No space" in trace["fault"] for trace in kept if isinstance(trace, dict)), 2, "a run says why its trace is missing")


def files_that_may_not_grow(p):
    fill(p, "store")
    for name in os.listdir(p.file("store")):
        if name.startswith("index."):
            os.remove(p.file("store", name))
    before = contents(p.file("store"))
    for args, part in measurements("store")[1:2]:
        done = limited(p, *args, expect=2)
        has(done.stdout.lower(), part, "what was measured")
        one_sentence(done, "File too large", "calibrax")
    one_sentence(limited(p, "ingest", "--data", "store", "--input", p.write("r9.json", json.dumps(make_run(9))), expect=2), "File too large", "calibrax")
    intact(p, p.file("store"), before)


def an_index_that_cannot_be_written_is_done_without(p):
    fill(p, "store")
    wanted = run(p, "show", "--list", "--data", "store", "--json", expect=0).stdout
    trend = run(p, "trend", "--data", "store", "--metric", "t", "--point", "p1", "--json", expect=0).stdout
    for state in ("missing", "empty", "torn"):
        for name in os.listdir(p.file("store")):
            if name.startswith("index."):
                os.remove(p.file("store", name))
        if state != "missing":
            p.write("store/index.sqlite", "" if state == "empty" else "SQLite format 3\0" + "x" * 500)
        done = limited(p, "show", "--list", "--data", "store", "--json", expect=0)
        equal((done.stdout, done.stderr), (wanted, ""), f"the same answer, index {state}")
        equal(limited(p, "trend", "--data", "store", "--metric", "t", "--point", "p1", "--json", expect=0).stdout, trend, "for trends, too")
    fill(p, "more", 1)
    run(p, "show", "--list", "--data", "more", expect=0)
    for i in range(2, 5):
        with open(p.file("more/runs", f"run{i:04d}.json"), "w", encoding="utf-8") as f:
            json.dump(make_run(i), f)
    check(len(json.loads(limited(p, "show", "--list", "--data", "more", "--json", expect=0).stdout)["runs"]) == 4, "an index that is behind and cannot grow")


main([a_measurement_is_printed_though_the_disk_is_full, a_disk_that_stays_full_and_is_emptied, a_disk_that_goes_away, a_store_keeps_what_it_has_on_a_full_disk, a_trace_that_cannot_be_written_costs_nothing_else, files_that_may_not_grow,
      an_index_that_cannot_be_written_is_done_without])
