"""Exit statuses of both programs, verb by verb: one table, which every --help prints."""
import json
import os
import re
import signal
import subprocess
import time

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


def stored(name, day, value, samples=0):
    metric = {"value": value, "samples": [value * (1 + 0.01 * (i % 3)) for i in range(samples)]} if samples else {"value": value}
    return {"id": name, "timestamp": f"2026-03-{day:02d}T10:00:00+00:00", "environment": {"machine": "m1"}, "metadata": {},
            "metric_defs": {"time": {"name": "time", "unit": "ms", "direction": "lower", "group": "", "priority": "primary", "description": ""}},
            "points": [{"name": "f", "scenario": "s", "tags": {}, "metrics": {"time": metric}}]}


STORE = [stored("base", 1, 1.0, 25), stored("same", 2, 1.0, 25), stored("slow", 3, 2.0, 25), stored("short", 4, 2.0, 1)]
CHANGED = [stored(f"c{i:02d}", 1 + i, 1.0 + 0.001 * (i % 3) + (i > 11)) for i in range(24)]
CALIBRAX_VERBS = [
    (0, "show same"), (2, "show none"), (0, "show --list"), (2, "show --list --branch none"),
    (0, "summary --run same"), (2, "summary --run none"),
    (0, "check same"), (1, "check slow"), (2, "check none"), (3, "check short"),
    (0, "check same --target time=3"), (1, "check slow --target time=1"), (2, "check same --target speed=1"),
    (0, "compare base same"), (2, "compare base none"), (0, "compare --diff base base"), (1, "compare --diff base slow --exit-code"),
    (0, "trend --metric time"), (2, "trend --metric speed"), (1, "trend --changes --check --data changed"), (3, "trend --changes --check"),
    (2, "trend --over size --metric time"), (0, "export -f csv --replace"), (2, "export -f none"), (2, "ingest --input none.json"),
    (0, "store verify"), (2, "store verify --data none"), (0, "baseline --run base"), (2, "baseline --run none"),
    (0, "watch --data store --metric time --error 5 --once"), (1, "watch --data store --metric time --error 1.5 --once"),
    (2, "watch --data store --metric speed --error 1 --once"), (2, "watch --metric time"), (0, "doctor"), (2, "doctor --root none --machine"),
    (0, "run -- true"), (2, "run -- false"), (1, "run --define wall_time=lower:s --target wall_time=1e-9 -- true"),
    (2, "run --target none=1 -- true"), (0, "run --allow-failed 0.5 -- true"),
    (0, "metrics list"), (2, "metrics list --axiom none"), (0, "metrics describe mse"), (2, "metrics describe none"), (2, "metrics compute mse none.npy none.npy"),
    (0, "profile -n 1 -- true"), (2, "profile -n 1 -- false"), (0, "profile -n 1 -i -- false"), (0, "profile -n 2 -w 0 -- true"),
    (0, "run --grace 0 -- true"), (0, "run --budget 0 -- true"), (0, "run --sample-ms 0 -- true"), (2, "run --level 0 -- true"), (2, "run --timeout 0 -- true"),
    (2, "profile --sample-ms 0 -- true"), (2, "profile -n 0 -- true"), (2, "bisect --good HEAD"),
]


def calibrax_verbs(p):
    for folder, runs in (("store", STORE), ("changed", CHANGED)):
        p.run("ingest", "--data", folder, "--input", *[p.write(f"{r['id']}.json", json.dumps(r)) for r in runs], program=CALIBRAX, expect=0)
    p.run("baseline", "--data", "store", "--run", "base", program=CALIBRAX, expect=0)
    wrong = []
    for status, line in CALIBRAX_VERBS:
        done = p.run(*line.split(), program=CALIBRAX, env={"CALIBRAX_DATA": "store"})
        if done.returncode != status:
            wrong.append(f"{line}: exit {done.returncode}, wanted {status}: {done.stderr.strip()[-200:]}")
    equal("\n".join(wrong), "", f"{len(CALIBRAX_VERBS)} lines")


def repository(p, costs):
    """A commit for each cost, which its file `cost` holds."""
    folder = p.file(f"repo{len(costs)}")
    git = ["git", "-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false", "-C", folder]
    os.mkdir(folder)
    subprocess.run([*git, "init", "-q"], check=True)
    for i, cost in enumerate(costs):
        p.write(f"{folder}/file", f"{i}\n")
        p.write(f"{folder}/cost", f"{cost}\n")
        subprocess.run([*git, "add", "-A"], check=True)
        subprocess.run([*git, "commit", "-q", "-m", "cost"], check=True)
    return folder


def bisecting(p):
    """Found 0, equal ends 2, too few launches 3."""
    folder = repository(p, (1, 1, 2, 2))
    # noise of 1 % that only the number of the launch decides: multiples of the golden section
    count = p.file("launches")
    bench = (f"n=$(($(cat {count} 2> /dev/null) + 1)); echo $n > {count}; "
             "awk -v c=$(cat cost) -v n=$n 'BEGIN { x = 0.6180339887 * n; print \"cost: \" c * (1 + 0.01 * (x - int(x))) }'")
    run = ["bisect", "-C", folder, "--state", p.file("state.json"), "--scratch", p.file("scratch"), "--metric", "cost", "--bench", bench, "-q"]
    p.run(*run, "--good", "HEAD~3", program=CALIBRAX, expect=0)
    p.run(*run, "--good", "HEAD~3", "--bad", "HEAD~2", program=CALIBRAX, expect=2)
    p.run(*run, "--good", "HEAD~3", "--max-launches", "11", program=CALIBRAX, expect=3)
    p.run(*run, "--good", "nothing", program=CALIBRAX, expect=2)


def interrupted(p):
    """SIGINT to the program alone ends each command that takes time with 130, and what it runs."""
    git = repository(p, (1, 1))
    asleep = ["--good", "HEAD~1", "--bench", "sleep 60", "-C", git, "--state", p.file("asleep.json"), "--scratch", p.file("scratch")]
    data = ["--data", p.file("store")]
    commands = [
        (CALIBRAX, ["run", *data, "--", "sleep", "60"]), (CALIBRAX, ["run", *data, "--until-decided", "60", "--", "sleep", "5"]),
        (CALIBRAX, ["profile", "--", "sleep", "60"]), (CALIBRAX, ["profile", "--sizes", "60,61,62,63", "--", "sleep", "{}"]),
        (CALIBRAX, ["profile", "--compile", "--cache-env", "CACHE", "--", "sleep", "60"]),
        (CALIBRAX, ["watch", "--pid", str(os.getpid()), "--metric", "rss_mb", "--error", "1e9"]), (CALIBRAX, ["watch", "--metric", "x", "--error", "1e9"]),
        (CALIBRAX, ["bisect", *asleep]), (NPERF, ["exec", "sleep 60"]), (NPERF, ["exec", "-n", "1", "-w", "0", "sleep 60", "sleep 61"]),
        (NPERF, ["ab", "HEAD~1", "HEAD", "--bench", "sleep 60", "--repository", git]),
    ]
    started = [(words, subprocess.Popen([program, *words], cwd=p.path, env=p.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
               for program, words in commands]
    time.sleep(3)
    wrong = []
    for words, child in started:
        child.send_signal(signal.SIGINT)
        _, text = child.communicate(timeout=60)
        if child.returncode != 130:
            wrong.append(f"{words}: {child.returncode}, {text.strip()[-300:]}")
    equal("\n".join(wrong), "", f"{len(commands)} commands")


if __name__ == "__main__":
    main([every_help_prints_the_table, wrong_usage_is_two, measuring, commands, other_verbs, calibrax_verbs, bisecting, interrupted])
