"""nperf doctor and nperf selftest."""
import json
from concurrent.futures import ThreadPoolExecutor

from harness import check, equal, has, main, one_sentence, sanitized


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


# Cases, and how many planted faults at how many points they have at the least: faults times words
# of the points.
MUTANTS = {"semiring_matmul": 24, "semiring_conv": 30, "dense_matmul": 8, "ell_edge_aggregate": 60, "ell_matmul": 40, "ell_row_softmax": 12,
           "array_ops": 30, "array_qmap": 3}


# Under a sanitizer; tests/suites/cases runs the kernels of all.
SOME = ("dense_matmul", "ell_row_softmax", "semiring_matmul")


def mutants(p):
    cases = [case for case in MUTANTS if case in SOME or not sanitized()]
    with ThreadPoolExecutor(2) as pool:  # answers are compared, not times: two cases at a time
        found = list(pool.map(lambda case: p.run("selftest", "--mutants", "--case", case, "--json", expect=0, timeout=300), cases))
    for case, done in zip(cases, found):
        least, document = MUTANTS[case], json.loads(done.stdout)
        equal(document["schema"], "nperf-selftest", "schema")
        score = document["mutants"]
        check(score["mutants"] >= least, f"{case}: {score}")
        equal(score["found"], score["mutants"], f"{case}: every planted fault is found")
        equal(score["honest_ok"], score["honest"], f"{case}: every honest baseline passes")
        check(document["aa"] is None, "only what was asked for")
    listed = json.loads(p.run("list", "--json", expect=0).stdout)["cases"]
    equal(sorted([*MUTANTS, "metrics"]), sorted(c["name"] for c in listed), "every case is held to its mutants; metrics by tests/workers/check_metrics.py")
    one_sentence(p.run("selftest", "--mutants", "--case", "dense", expect=2), "unknown case 'dense'")


main([doctor, doctor_without_a_worker, mutants])
