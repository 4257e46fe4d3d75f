"""nperf selftest: cheating workers, comparisons of equals, and the record that the page shows."""
import json
import os
import sys

from harness import SOURCE, check, equal, has, main, one_sentence

sys.path.insert(0, os.path.join(SOURCE, "tests", "workers"))
import environments  # noqa: E402


def numpy(p):
    python = environments.interpreter("numpy")
    check(python, "numpy is not installed: run scripts/setup-refs.sh numpy")
    p.env["NPERF_PYTHON_NUMPY"] = python


def selftest(p, *arguments, verdicts=(0,)):
    """The document; a machine too busy to measure leaves a part undecided."""
    done = p.run("selftest", *arguments, "--json", timeout=900)
    check(done.returncode in verdicts, f"exit status {done.returncode}: {done.stderr[-600:]}")
    document = json.loads(done.stdout)
    equal((document["schema"], document["version"]), ("nperf-selftest", 1), "schema")
    return document


def record(p):
    with open(p.file("results", "selftest.json"), encoding="utf-8") as f:
        return json.load(f)


# One for each way by which a cheat is refused, and each part of the sandbox; CALIBRAX_LONG_TESTS=1
# and `make report-selftest` run all of them.
SOME = ("replay", "nan", "one-wrong", "mutate-inputs", "read-descriptors", "late", "side-thread", "side-process", "clock-half", "sandbag", "forge-epoch",
        "excuse-late", "eat-in-children", "grow-output", "more-threads", "exit", "endless-line", "parent-memory", "oracle-files", "state-in-kernel",
        "network", "signal-parent", "realtime", "namespace", "state-in-lock", "state-in-hint", "python-short-but-one", "python-helper", "python-first-call")


def exploits(p):
    """Each cheat with its twin, in the quick form; what the machine is too busy for, or cannot close, is undecided."""
    numpy(p)
    some = not os.environ.get("CALIBRAX_LONG_TESTS")
    score = selftest(p, "--exploits", "--quick", *(("--cheats", ",".join(SOME)) if some else ()), verdicts=(0, 1, 3))["exploits"]
    check(len(score["pairs"]) >= (len(SOME) if some else 70), "cheating workers")
    equal(len({pair["cheat"] for pair in score["pairs"]}), len(score["pairs"]), "each once")
    equal(score["exploits"] + score["too_busy"] >= len(score["pairs"]), True, "all are counted")
    equal(score["accepted"], 0, score["faults"])
    check(score["honest_ok"] + score["too_busy"] >= score["honest"], score["faults"])
    check(score["accepted_upper"] > 0 and score["honest_refused_upper"] > 0, "bounds")
    equal(score["holds"], not (score["open_here"] or score["too_busy"]), "the verdict")


AT_FLUSH = """import gc, sys, time
from providers.base import Provider

def right(a):
    return 2 * a + 1

def honest(a, *, cost_us):
    until = time.thread_time_ns() + 1000 * cost_us
    while time.thread_time_ns() < until:
        pass
    return right(a)

def at_flush(point, a):
    import providers
    true, came, kept = providers.read_npy, [], {}
    def read(descriptor):
        came.append(true(descriptor))
        return came[-1]
    def flush(self, size):
        while came:
            array = came.pop()
            kept[array.tobytes()] = honest(array, cost_us=point["cost_us"])
    def call(a):
        if a.tobytes() not in kept:
            kept[a.tobytes()] = honest(a, cost_us=point["cost_us"])
        return kept[a.tobytes()].copy()
    providers.read_npy = read
    type(next(o for o in gc.get_objects() if isinstance(o, Provider))).flush = flush
    return call
"""


def cold(p):
    """A worker that computes while it is to flush its caches."""
    numpy(p)
    function = {"provider": "numpy", "python": "flush.py:honest"}
    array = {"dtype": "float32", "shape": [1000]}
    p.write("flush.py", AT_FLUSH)
    p.write("case.json", json.dumps({
        "schema": "nperf-case", "version": 1, "name": "cold", "kind": "python", "points": [{"cost_us": 6000}],
        "params": [{"name": "cost_us", "min": 0, "max": 1000000}, {"name": "seed", "min": 0, "max": 2147483647, "default": 0}],
        "inputs": [{"name": "A", "fill": "normal", **array}], "outputs": [{"name": "C", **array}], "permute": [{"A": 0, "C": 0}],
        "reference": {**function, "python": "flush.py:right", "rtol": 1e-5},
        "baselines": [{"name": "honest", **function}, {"name": "at-flush", **function, "setup": "at_flush"}]}))
    done = p.run("--define", "case.json", "--case", "cold", "--cold-cache", "--launches", "1", "--repeats", "2", "--variants", "default", "--json")
    rows = {row["baseline"]: row for row in json.loads(done.stdout)["rows"]}
    equal(rows["at-flush"]["status"], "refused", rows["at-flush"]["failure_detail"])
    check(rows["honest"]["status"] == "ok" or "machine_too_busy" in str(rows["honest"]["failure_detail"]), rows["honest"]["failure_detail"])


def clock(p):
    """What calls of known cost read; a machine that changes its rate too often leaves the proportion undecided, never wrong."""
    read = selftest(p, "--clock", "--quick", verdicts=(0, 3))["clock"]
    check(0 <= read["empty_call_ns"] <= 20, f"an empty call reads {read['empty_call_ns']} ns")
    check(0.3 <= read["additions_per_ns"] <= 8, f"{read['additions_per_ns']} additions a nanosecond")
    check(read["tenfold_chain_off_lower"] <= read["tenfold_chain_off"] <= read["tenfold_chain_off_upper"], "the interval")
    equal(read["holds"], read["verdict"] == "holds", "the verdict")


def sandbox(p):
    """What is in force stands in the rows; what cannot be had is refused, and so are slips."""
    measured = ("--case", "dense_matmul", "--point", '{"m":16,"k":16,"n":16}', "--baselines", "loops", "--launches", "2", "--json")
    for mode in ("auto", "off"):
        row = json.loads(p.run(*measured, "--sandbox", mode).stdout)["rows"][0]
        equal(row["provenance"]["sandbox"]["mode"], mode, "mode")
        equal(bool(row["provenance"]["sandbox"]["enforced"]), mode == "auto", "what was in force")
    done = p.run(*measured, "--sandbox", "require")
    whole = not json.loads(p.run(*measured).stdout)["rows"][0]["provenance"]["sandbox"]["missing"]
    if whole:
        check(done.returncode in (0, 2), "measured")
        equal("sandbox" in done.stderr and done.returncode == 2, False, done.stderr)
    else:
        has(done.stderr, "the sandbox is not completely available on this machine")
        equal(done.returncode, 2, "refused")
    one_sentence(p.run(*measured, "--sandbox", "requir", expect=2), "must be auto, off or require")
    one_sentence(p.run(*measured, "--sandbox-read", "nowhere", expect=2), "--sandbox-read")
    one_sentence(p.run(*measured, "--sandbox", "require", "--in-process", expect=2), "--in-process")


def stale_launcher(p):
    """A launcher that does not know what it is asked for is named, with what to do."""
    p.write("launch", "#!/bin/sh\nexit 125\n")
    os.chmod(p.file("launch"), 0o755)
    done = p.run("--case", "dense_matmul", "--point", '{"m":16,"k":16,"n":16}', "--baselines", "loops", "--launches", "1", "--json",
                 env={"NPERF_LAUNCH": p.file("launch")})
    equal(done.returncode, 2, "no good row")
    has(done.stdout + done.stderr, "of another version than this program")


def parts_stay_in_the_record(p):
    """A part that is measured again takes its own place only; a record of somebody else is left out, with a note."""
    os.makedirs(p.file("results"), exist_ok=True)
    p.write("results/selftest.json", json.dumps({"schema": "nperf-selftest", "version": 1, "clock": {"holds": True, "old": 1}}))
    selftest(p, "--mutants", "--case", "dense_matmul", verdicts=(0, 3))
    kept = record(p)
    equal(kept["clock"], {"holds": True, "old": 1}, "an earlier part")
    check(kept["mutants"]["recorded"] and kept["mutants"]["tool"], "signed")
    p.write("results/selftest.json", "{")
    done = p.run("selftest", "--mutants", "--case", "dense_matmul")
    has(done.stderr, "a new record is started")
    check("clock" not in record(p) or record(p)["clock"] is None, "nothing of the torn one")


def a_recording_is_analysed_again(p):
    """Few comparisons prove nothing, and are undecided at best; the counts and bounds are there. The launches of that run, drawn from once
    more, give the same counts for the same seed, without a launch."""
    first = selftest(p, "--aa", "40", "--launches", "28", "--quick", "--record", "kept", verdicts=(0, 1, 3))["aa"]
    check(first is not None, "the machine is too busy to measure")
    equal(first["pairs"], 80, "rows and gates")
    check(first["rate_lower"] <= first["alarms"] / 80 <= first["rate_upper"], "the interval holds the rate")
    equal(len(first["kernels"]), 4, "programs")
    check(not first["holds"], "forty comparisons are too few")
    again = selftest(p, "--aa", "40", "--quick", "--from", "kept", verdicts=(0, 1, 3))["aa"]
    for key in ("alarms", "row_alarms", "gate_alarms", "row_table_alarms", "kernels", "recorded_run", "recorded_launches"):
        equal(again[key], first[key], key)
    check(again["recorded_launches"] >= 4 * 2 * 25, "launches of four programs, twice")
    lines = [json.loads(line) for line in open(p.file("kept", "aa.raw.jsonl"), encoding="utf-8")]
    check(len(lines) >= again["recorded_launches"], "each launch has a raw line")
    check(all(line["schema"] == "nperf-launch" and line["epoch_ns"] for line in lines if not line["failure"]), "with its epochs")
    other = selftest(p, "--aa", "4000", "--quick", "--from", "kept", "--seed", "5", verdicts=(0, 1, 3))["aa"]
    equal(other["row_alarms_trials"], 4000, "more comparisons of the same launches")
    one_sentence(p.run("selftest", "--power", "--from", "kept", expect=2), "has no recording of --power")
    one_sentence(p.run("selftest", "--aa", "--from", "kept", "--record", "kept", expect=2), "exclude each other")
    rows = p.rows("kept/aa.jsonl")
    for row in rows:
        if isinstance(row.get("metrics"), dict) and "steady_time" in row["metrics"]:
            row["metrics"]["steady_time"]["launches"] = row["metrics"]["steady_time"]["launches"][:14]
    os.makedirs(p.file("short"))
    p.write("short/aa.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    done = p.run("selftest", "--aa", "40", "--quick", "--from", "short", expect=3)
    has(done.stderr, "has 14 rounds, and 25 are needed", "too few launches to decide")
    os.makedirs(p.file("torn"))
    p.write("torn/aa.jsonl", open(p.file("kept", "aa.jsonl"), encoding="utf-8").read()[:500])
    done = p.run("selftest", "--aa", "--from", "torn")
    equal(done.returncode, 2, "a torn recording is no recording")


def bad_numbers(p):
    one_sentence(p.run("selftest", "--aa", "none", expect=2), "'none'")
    one_sentence(p.run("selftest", "--live", "0", expect=2), "'0'")
    one_sentence(p.run("selftest", "--power", "--launches", "49", expect=2), "not between 50 and")
    one_sentence(p.run("selftest", "--aa", "--launches", "24", expect=2), "not between 25 and")


main([exploits, cold, clock, sandbox, stale_launcher, parts_stay_in_the_record, a_recording_is_analysed_again, bad_numbers])
