"""nperf --define: cases from files.  The examples of docs/reference/case-files.md are run as they stand there."""
import json
import os
import re
import sys

from harness import SOURCE, check, equal, has, main, one_sentence

sys.path.insert(0, os.path.join(SOURCE, "tests", "workers"))
import environments  # noqa: E402

COMMANDS = ["--launches", "2", "--warmup", "0", "--json"]
RUN = [*COMMANDS, "--repeats", "1", "--variants", "default"]
EXAMPLE = re.compile(r"^`([\w.]+)`:\n\n```\w+\n(.*?)^```", re.M | re.S)
GOOD = ("ok", "refused")  # a busy machine may refuse times, never answers


def example(p, *names):
    with open(os.path.join(SOURCE, "docs", "reference", "case-files.md"), encoding="utf-8") as f:
        found = dict(EXAMPLE.findall(f.read()))
    for name in names:
        p.write(name, found[name])


def numpy(p):
    python = environments.interpreter("numpy")
    check(python, "numpy is not installed: run scripts/setup-refs.sh numpy")
    p.env["NPERF_PYTHON_NUMPY"] = python


def rows(p, *args, status=(0, 2), how=RUN):
    done = p.run(*args, *how, timeout=240)
    check(done.returncode in status, f"exit status {done.returncode}: {done.stderr[-600:]}")
    return json.loads(done.stdout)["rows"]


def python_functions(p):
    numpy(p)
    example(p, "row_norm.json", "row_norm.py")
    listed = json.loads(p.run("list", "--define", "row_norm.json", "--json", expect=0).stdout)["cases"][-1]
    equal((listed["name"], len(listed["points"]), listed["points"][2]["label"]), ("row_norm", 3, "n=500, d=8, one"), "in the list")
    equal([b["name"] for b in listed["mutants"]], ["mutant-last"], "mutants apart")
    found = rows(p, "--define", "row_norm.json")
    equal(len(found), 6, "two baselines at three points")
    for row in found:
        check(row["status"] in GOOD, f"{row['baseline']}: {row['failure_detail']}")
        check(row["fidelity"]["rel_to_tol"] <= 1, "within its bound")
    equal(found[0]["param_point"], {"n": 500, "d": 8, "order": "two", "seed": 0}, "defaults are put in")
    check(os.path.exists(p.file("results/row_norm.jsonl")), "rows are kept under the case's name")


def wrong_functions_are_found(p):
    numpy(p)
    example(p, "row_norm.json", "row_norm.py")
    good = open(p.file("row_norm.py"), encoding="utf-8").read()
    plain = ["--define", "row_norm.json", "--point", '{"n":300}', "--baselines", "linalg"]
    for text, status, part in (
        (good.replace("return x / np.linalg.norm(x, ORDER", "return 1.00001 * x / np.linalg.norm(x, ORDER"), "fidelity_failed", ""),
        (good.replace("    return x / np.linalg.norm(x, ORDER", "    if not KEPT: KEPT.append(x / np.linalg.norm(x, ORDER")
         .replace("axis=1, keepdims=True)\n\n\ndef with", "axis=1, keepdims=True))\n    return KEPT[0]\n\n\ndef with") + "\nKEPT = []\n",
         "fidelity_failed", ""),
        (good.replace("def by_linalg", "def other"), "compile_error", "has no function 'by_linalg'"),
        (good.replace("def by_linalg(x, *, order):", "def by_linalg(x, *, order):\n    raise ValueError('no')"), "compile_error", "ValueError"),
        (good.replace("return x / np.linalg.norm(x, ORDER[order]", "return x[1:] / np.linalg.norm(x[1:], ORDER[order]"), "fidelity_failed", ""),
    ):
        check(text != good, "the fault is planted")
        p.write("row_norm.py", text)
        row = rows(p, *plain, status=(2,))[0]
        equal(row["status"], status, f"{row['failure_detail']}")
        has(json.dumps(row["failure_detail"]), part)


def its_reference_rejects_its_mutant(p):
    numpy(p)
    example(p, "row_norm.json", "row_norm.py")
    done = p.run("selftest", "--mutants", "--define", "row_norm.json", "--case", "row_norm", "--json", timeout=240)
    score = json.loads(done.stdout)["mutants"]
    check(score["mutants"] >= 2 and score["found"] == score["mutants"], f"{score}")
    check("mutant" not in score["survivors"], score["survivors"])


def a_wrong_reference_is_not_taken_from_the_cache(p):
    numpy(p)
    example(p, "row_norm.json", "row_norm.py")
    plain = ["--define", "row_norm.json", "--point", '{"n":300}', "--baselines", "linalg"]
    check(rows(p, *plain)[0]["status"] in GOOD, "right at first")
    text = open(p.file("row_norm.py"), encoding="utf-8").read()
    p.write("row_norm.py", text.replace("return x / length[:, None]", "return 2 * x / length[:, None]"))
    equal(rows(p, *plain, status=(2,))[0]["status"], "fidelity_failed", "held to the new reference")
    p.write("row_norm.py", text.replace("return x / length[:, None]", "return 1 / 0"))
    equal(rows(p, *plain, status=(2,))[0]["status"], "fidelity_inconclusive", "no answer, no verdict")


def the_skeletons_run(p):
    made = json.loads(p.run("new-case", "--commands", "ordering", "--json", expect=0).stdout)
    equal(made, {"schema": "nperf-new-case", "version": 1, "name": "ordering", "files": ["ordering.json"], "next": "nperf --define ordering.json"}, "for programs")
    for row in rows(p, "--define", "ordering.json", "--point", '{"lines":200}', how=COMMANDS):
        equal(row["status"], "ok", row["baseline"])
    numpy(p)
    p.run("new-case", "--python", "lengths", expect=0)
    for row in rows(p, "--define", "lengths.json", "--point", '{"n":2000}'):
        check(row["status"] in GOOD, f"{row['baseline']}: {row['failure_detail']}")


def set_up_comes_first(p):
    example(p, "row_norm.json", "row_norm.py")
    case = json.load(open(p.file("row_norm.json"), encoding="utf-8"))
    case["setup"] = "echo ready > done.txt; false"
    p.write("failing.json", json.dumps(case))
    done = p.run("--define", "failing.json", "--quick", expect=2)
    one_sentence(done, "the set-up 'echo ready > done.txt; false'")
    check(os.path.exists(p.file("done.txt")), "it ran in the file's folder")


def commands(p):
    example(p, "dedup.json")
    found = rows(p, "--define", "dedup.json", status=(0,), how=COMMANDS)
    equal([(r["case"], r["baseline"], r["status"], r["param_point"]["lines"]) for r in found],
          [("dedup", b, "ok", n) for n in (100, 2000) for b in ("uniq", "sort")], "rows")
    check(all(r["ratio_paired"] for r in found if r["baseline"] == "sort"), "against the first at the same point")
    equal(len(p.rows("results/dedup.jsonl")), 4, "kept")
    has(p.run("list", "--define", "dedup.json", expect=0).stdout, "dedup: each number once")
    one = rows(p, "--define", "dedup.json", "--quick", "--baselines", "sort", status=(0,), how=COMMANDS)
    equal([(r["baseline"], r["status"]) for r in one], [("sort", "ok"), ("uniq", "skipped")], "one point, one command, and what was left out")
    equal((one[1]["failure_detail"]["message"], one[1]["failure_detail"]["remedy"]), ("not chosen", "choose it too"), "why")
    one = rows(p, "--define", "dedup.json", "--quick", "--skip-baselines", "uniq", status=(0,), how=COMMANDS)
    equal([(r["baseline"], r["status"]) for r in one], [("sort", "ok"), ("uniq", "skipped")], "the other way round")
    equal(sorted(os.listdir(p.path)), ["dedup.json", "results", "site"], "nothing is left behind")


def what_does_nothing_is_refused(p):
    """An option that commands do not have is no option that is passed over."""
    example(p, "dedup.json")
    for flag, value in (("--platforms", "cuda12"), ("--repeats", "7"), ("--threads", "2"), ("--cpu-slots", "2"), ("--memory-limit", "1G"),
                        ("--variants", "tuned"), ("--decide", None), ("--gpus", "0"), ("--gpu-settle", "1"), ("--max-parallel", "2"),
                        ("--matmul-precision", "tf32"), ("--warm-compiles", "3"), ("--resume", None),
                        ("--in-process", None), ("--cold-cache", None), ("--sandbox-read", "/tmp"), ("--sandbox-write", "/tmp")):
        done = p.run("--define", "dedup.json", flag, *([value] if value else []), expect=2)
        one_sentence(done, f"{flag} is not for a case of commands")
    check(not os.path.exists(p.file("results")), "and nothing is measured")


def slow_commands_are_left_out(p):
    example(p, "dedup.json")
    case = json.load(open(p.file("dedup.json"), encoding="utf-8"))
    case["baselines"][1]["slow"] = "sorts what is sorted"
    p.write("dedup.json", json.dumps(case))
    plain = ["--define", "dedup.json", "--quick", "--skip-slow"]
    found = rows(p, *plain, how=COMMANDS)
    equal([(r["baseline"], r["status"]) for r in found], [("uniq", "ok"), ("sort", "skipped")], "as the file says")
    has(json.dumps(found[1]["failure_detail"]), "declared slow: sorts what is sorted", "why")
    equal([r["status"] for r in rows(p, *plain, "--baselines", "sort", how=COMMANDS)], ["ok", "skipped"], "unless it is named")


def wrong_commands_are_found(p):
    example(p, "dedup.json")
    good = json.load(open(p.file("dedup.json"), encoding="utf-8"))
    for change, part in (
        ({"baselines": [{"name": "cat", "command": "cat numbers.txt > once.txt"}]}, "differs from 'right.txt' at byte"),
        ({"baselines": [{"name": "none", "command": "true"}]}, "wrote no 'once.txt'"),
        ({"check": [{"command": "test -s once.txt && false"}]}, "check 'test -s once.txt && false'"),
        ({"check": [{"file": "once.txt", "numbers": "right.txt"}], "baselines": [{"name": "off", "command": "seq 2 101 > once.txt"}]},
         "number 1 of 'once.txt' is 2, and 1 in 'right.txt'"),
        ({"check": [{"file": "once.txt", "numbers": "right.txt"}], "baselines": [{"name": "few", "command": "seq 3 > once.txt"}]},
         "has fewer numbers than 'right.txt'"),
    ):
        p.write("wrong.json", json.dumps({**good, **change, "points": [{"lines": 100}]}))
        row = rows(p, "--define", "wrong.json", status=(2,), how=COMMANDS)[0]
        equal(row["status"], "fidelity_failed", f"{row['failure_detail']}")
        has(json.dumps(row["failure_detail"]), part)
    p.write("wrong.json", json.dumps({**good, "check": [{"file": "once.txt", "numbers": "right.txt", "atol": 1}], "points": [{"lines": 100}],
                                      "baselines": [{"name": "near", "command": "seq 2 101 > once.txt"}]}))
    equal(rows(p, "--define", "wrong.json", how=COMMANDS)[0]["status"], "ok", "within atol")
    p.write("wrong.json", json.dumps({**good, "setup": "exit 7"}))
    one_sentence(p.run("--define", "wrong.json", expect=2), "exited with status 7")
    p.write("wrong.json", json.dumps({**good, "baselines": [{"name": "fails", "command": "exit 3"}]}))
    equal({r["status"] for r in rows(p, "--define", "wrong.json", status=(2,), how=COMMANDS)}, {"no_answer"}, "a command that fails")


def bad_files_get_one_sentence(p):
    example(p, "row_norm.json", "row_norm.py", "dedup.json")
    one_sentence(p.run("--define", "none.json", expect=2), "none.json")
    p.write("torn.json", open(p.file("dedup.json"), encoding="utf-8").read()[:200])
    one_sentence(p.run("list", "--define", "torn.json", expect=2), "torn.json")
    p.write("other.json", '{"schema":"nperf-rows","version":1}')
    one_sentence(p.run("list", "--define", "other.json", expect=2), "is not a case file")
    os.unlink(p.file("row_norm.py"))
    one_sentence(p.run("list", "--define", "row_norm.json", expect=2), "row_norm.py': No such file")
    one_sentence(p.run("list", "--define", "dedup.json", "--define", "dedup.json", expect=2), "exists already")
    one_sentence(p.run("--define", "dedup.json", "--store", expect=2), "--store")
    one_sentence(p.run("--define", "dedup.json", "--baselines", "sort,nobody", expect=2), "'--baselines' must name baselines of case 'dedup', got 'nobody'")
    one_sentence(p.run("--define", "dedup.json", "--skip-baselines", "nobody", expect=2), "'--skip-baselines' must name baselines of case 'dedup', got 'nobody'")
    one_sentence(p.run("--define", "dedup.json", "--skip-baselines", "sort,uniq", expect=2), "no baseline is left")
    one_sentence(p.run("--define", "dedup.json", "--point", '{"lines":0}', expect=2), "lines")


main([
    python_functions,
    wrong_functions_are_found,
    its_reference_rejects_its_mutant,
    a_wrong_reference_is_not_taken_from_the_cache,
    the_skeletons_run,
    set_up_comes_first,
    commands,
    what_does_nothing_is_refused,
    slow_commands_are_left_out,
    wrong_commands_are_found,
    bad_files_get_one_sentence,
])
