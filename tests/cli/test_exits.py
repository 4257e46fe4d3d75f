"""Exit statuses of both programs, verb by verb: one table, which every --help prints."""
import json
import os
import re

import made_rows
from harness import BUILD, CALIBRAX, NPERF, check, equal, has, main
from made_rows import row

PLUGIN = os.path.abspath(os.path.join(BUILD, "tests/cli/libexits_plugin.so"))
CODES = ["0", "1", "2", "3", "130"]


def verbs(p, program):
    """The commands that --help lists, with those of two words."""
    text = p.run("--help", program=program, expect=0).stdout
    part = re.search(r"^Commands:\n(.*?)\n\n", text, re.S | re.M).group(1)
    return [m.group(1).split() for m in re.finditer(r"^  (\S+(?: \S+)?)  ", part, re.M)]


def every_help_prints_the_table(p):
    """Codes and words are the same everywhere."""
    tables = {}
    for program in (NPERF, CALIBRAX):
        names = [[], *(v for v in verbs(p, program) if v != ["help"])]
        check(len(names) > 10, f"verbs of {program}: {names}")
        for words in names:
            text = p.run(*words, "--help", program=program, expect=0).stdout
            found = re.search(r"^Exit status:\n((?:  \d+ .*\n)+)", text, re.M)
            check(found, f"no exit status in the help of {program} {words}")
            equal([line.split()[0] for line in found.group(1).splitlines()], CODES, f"{words}")
            tables[found.group(1)] = words
    equal(len(tables), 1, "one table")


def wrong_usage_is_two(p):
    for program in (NPERF, CALIBRAX):
        for words in [[], *(v for v in verbs(p, program) if v != ["help"])]:
            done = p.run(*words, "--no-such-option", program=program)
            equal(done.returncode, 2, f"{program} {words} --no-such-option")


POINT = ["--plugin", PLUGIN, "--case", "exits", "--launches", "2", "--repeats", "1", "--warmup", "0"]
MEASURE = [
    (["right"], 0, ""),
    (["right", "wrong"], 1, "wrong at n failed the fidelity check"),
    (["right", "crash"], 2, "crash at n gave no result: "),
    (["right", "wrong", "crash"], 2, "crash at n gave no result"),
    (["wrong"], 2, "1 of 1 points has no good row"),
    (["right", "fails-as-declared"], 0, ""),
    (["right", "passes-against-its-declaration"], 2, "passed the fidelity check that it must fail"),
]


def measuring(p):
    for names, status, words in MEASURE:
        done = p.run(*POINT, "--baselines", ",".join(names), expect=status)
        has(done.stderr, words, f"{names}")
        rows = {r["baseline"]: r["status"] for r in p.rows("results/exits.jsonl")}
        equal(sorted(n for n in names if n in rows), sorted(names), "a row each")
    done = p.run("--case", "dense_matmul", "--point", '{"m":16,"k":16,"n":16}', "--baselines", "loops,numpy-matmul", *POINT[4:],
                 env={"NPERF_WORKER_PYTHON": "/nowhere/python"}, expect=0)
    equal({r["baseline"]: r["status"] for r in p.rows("results/dense_matmul.jsonl")}["numpy-matmul"], "env_failed", "a rival that is not installed")
    del done


def commands(p):
    run = ["exec", "-w", "0"]
    p.run(*run, "-n", "1", "true", expect=0)
    p.run(*run, "-n", "6", "true", "false", expect=2)
    p.run(*run, "-n", "2", "true", "true", expect=3)
    p.run(*run, "-n", "11", "sleep 0.001", "sleep 0.2", expect=0)


def other_verbs(p):
    p.write("base.jsonl", made_rows.text([row(0)]))
    for status, now in ((0, row(1)), (1, row(1, seconds=2e-3)), (2, row(1, baseline="other")), (3, row(1, noise=0.5, seconds=1.1e-3))):
        p.write("now.jsonl", made_rows.text([now]))
        p.run("gate", "--baseline", "base.jsonl", "--current", "now.jsonl", expect=status)
    p.run("list", expect=0)
    p.run("list", "--case", "nothing", expect=2)
    p.run("new-case", "mine", expect=0)
    p.run("new-case", "mine", expect=2)
    p.run("feed", "--from", "none.jsonl", expect=2)
    equal(json.loads(p.run("--render-from", "now.jsonl", "--json", expect=0).stdout)["schema"], "nperf-rows", "rendered")


if __name__ == "__main__":
    main([every_help_prints_the_table, wrong_usage_is_two, measuring, commands, other_verbs])
