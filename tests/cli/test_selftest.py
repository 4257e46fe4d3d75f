"""nperf doctor and nperf selftest."""
import json
import os

from harness import Skip, check, equal, has, main, one_sentence


def doctor(p):
    done = p.run("doctor", "--json", expect=0)
    document = json.loads(done.stdout)
    equal((document["schema"], document["version"]), ("nperf-doctor", 1), "schema")
    found = {(i["group"], i["name"]): i for i in document["items"]}
    for key in (("machine", "cpu"), ("machine", "instruction set"), ("clock", "monotonic"), ("programs", "launcher"),
                ("programs", "native worker"), ("libraries", "OpenBLAS"), ("frameworks", "numpy"), ("frameworks", "jax"),
                ("frameworks", "torch"), ("devices", "cuda12")):
        check(key in found, f"{key} in the report")
    for item in document["items"]:
        check(item["state"] in ("fact", "here", "missing", "broken"), item)
        if item["group"] == "frameworks" and item["state"] == "missing":
            has(item["remedy"], "scripts/setup-refs.sh", "the command that adds it")
    has(p.run("doctor", expect=0).stdout, "native worker")


def doctor_without_a_worker(p):
    done = p.run("doctor", expect=2, env={"NPERF_WORKER": "/no/such/worker"})
    one_sentence(done, "missing")
    has(done.stdout, "FAIL", "marked in the list")


def selftest(p, *arguments, verdicts=(0,)):
    """The document, and the exit status; a machine too busy to measure leaves a part undecided, and the test without a subject."""
    done = p.run("selftest", *arguments, "--json", timeout=900)
    if done.returncode == 3 and "too busy" in done.stderr + done.stdout and 3 not in verdicts:
        raise Skip("the machine is too busy to measure")
    check(done.returncode in verdicts, f"exit status {done.returncode}: {done.stderr[-600:]}")
    document = json.loads(done.stdout)
    equal((document["schema"], document["version"]), ("nperf-selftest", 1), "schema")
    return document


def record(p):
    with open(p.file("results", "selftest.json"), encoding="utf-8") as f:
        return json.load(f)


def mutants(p):
    document = selftest(p, "--mutants", "--case", "dense_matmul", verdicts=(0, 3))
    score = document["mutants"]
    check(score["mutants"] + score["too_busy"] >= 4, f"four planted faults: {score}")
    equal(score["found"], score["mutants"], "every planted fault is found")
    equal(score["honest_ok"], score["honest"], "every honest baseline passes")
    check(document["aa"] is None, "only what was asked for")
    equal(record(p)["mutants"], score, "the record")


def exploits(p):
    score = selftest(p, "--exploits", verdicts=(0, 3))["exploits"]
    check(score["exploits"] >= 30, "cheating workers")
    equal(score["accepted"], 0, score["faults"])
    equal(score["honest_ok"] + score["too_busy"], score["honest"], score["faults"])
    check(score["accepted_upper"] < 0.12, "its upper bound")


def parts_stay_in_the_record(p):
    """A part that is measured anew takes its own place only; a record of somebody else is left out, with a note."""
    os.makedirs(p.file("results"), exist_ok=True)
    p.write("results/selftest.json", json.dumps({"schema": "nperf-selftest", "version": 1, "clock": {"holds": True, "old": 1}}))
    selftest(p, "--mutants", "--case", "dense_matmul", verdicts=(0, 3))
    kept = record(p)
    equal(kept["clock"], {"holds": True, "old": 1}, "an earlier part")
    check(kept["mutants"]["recorded"] and kept["mutants"]["tool"], "signed")
    p.write("results/selftest.json", "{")
    done = p.run("selftest", "--mutants", "--case", "dense_matmul")
    has(done.stderr, "the record begins anew")
    check("clock" not in record(p) or record(p)["clock"] is None, "nothing of the torn one")


def equals(p):
    """Few comparisons prove nothing, and are undecided at best; the counts and bounds are there."""
    score = selftest(p, "--aa", "8", "--launches", "50", "--quick", verdicts=(0, 1, 3))["aa"]
    if score is None:
        raise Skip("the machine is too busy to measure")
    equal(score["pairs"], 16, "rows and gates")
    check(score["rate_lower"] <= score["alarms"] / 16 <= score["rate_upper"], "the interval holds the rate")
    equal(len(score["kernels"]), 4, "programs")
    check(not score["holds"], "eight comparisons are too few")


def bad_numbers(p):
    one_sentence(p.run("selftest", "--aa", "none", expect=2), "'none'")
    one_sentence(p.run("selftest", "--live", "0", expect=2), "'0'")
    one_sentence(p.run("selftest", "--power", "--launches", "3", expect=2), "--launches")


main([doctor, doctor_without_a_worker, mutants, exploits, parts_stay_in_the_record, equals, bad_numbers])
