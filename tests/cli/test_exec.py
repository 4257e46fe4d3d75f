"""nperf exec: verdicts, parameters, set-up, failing commands."""
import json
import os
import re
import signal
import subprocess
import time

from harness import NPERF, check, equal, has, main, one_sentence


def children_of(pid):
    """The command lines of what a process started."""
    lines = ""
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and open(f"/proc/{name}/stat").read().rsplit(")", 1)[1].split()[1] == str(pid):
                lines += open(f"/proc/{name}/cmdline").read()
        except OSError:
            pass  # it has ended
    return lines


def faster(p):
    """A sleep is late on a busy machine, but not by as much as these differ."""
    done = p.run("exec", "sleep 0.03", "sleep 0.5", expect=0)
    ratio = r"1\d\.\d+ \[1\d\.\d+, 1\d\.\d+\]"
    check(re.search(f"sleep 0.5 .* {ratio} slower\n", done.stdout), f"the table: {done.stdout}")
    check(re.search(r"'sleep 0.5' takes 1\d\.\d+ times as long as 'sleep 0.03' \[1\d\.\d+, 1\d\.\d+\]: slower\n", done.stdout), f"the sentence: {done.stdout}")


def one_direction(p):
    """The time over that of the first command, in the table, the sentence, the ranking and the rows: below 1 is faster."""
    done = p.run("exec", "-n", "7", "-w", "0", "--out", "rows.jsonl", "sleep 0.2", "sleep 0.01", "sleep 0.4", expect=0)
    row = p.rows("rows.jsonl")[1]["ratio_paired"]
    check(row["upper"] < 0.5 and row["verdict"] == "faster", f"the rows: {row}")
    for pattern in (r"sleep 0.01 .* 0\.\d+ \[0\.\d+, 0\.\d+\] faster\n", r"'sleep 0.01' takes 0\.\d+ times as long as 'sleep 0.2' \[0\.\d+, 0\.\d+\]: faster\n",
                    r"\n  1\. 1\.00 +'sleep 0.01'\n  2\. \d+\.\d+ \[\d+\.\d+, \d+\.\d+\] +'sleep 0.2'\n  3\. "):
        check(re.search(pattern, done.stdout), f"{pattern}: {done.stdout}")


def holm(values):
    """Holm's correction, as it is defined: the i-th least of m times m - i + 1, never below the one before."""
    order, out, most = sorted(range(len(values)), key=values.__getitem__), [0.0] * len(values), 0.0
    for rank, i in enumerate(order):
        most = max(most, min(1.0, (len(values) - rank) * values[i]))
        out[i] = most
    return out


def verdicts_are_one_table(p):
    """Whatever the times were: p-values of all commands corrected together, and no verdict that does not stand."""
    done = p.run("exec", "--launches", "9", "-w", "0", "true", "sleep 0.002", "true #", "sleep 0.03", "--json", "--out", "rows.jsonl")
    rows = json.loads(done.stdout)["rows"]
    undecided = any(r["ratio_paired"]["verdict_holm"] == "undecided" for r in rows[1:])
    equal(done.returncode, 3 if undecided else 0, "undecided is an exit status of its own")
    equal(p.rows("rows.jsonl"), rows, "the same in the file")
    ratios = [r["ratio_paired"] for r in rows[1:]]
    equal([r["holm_rows"] for r in ratios], [3, 3, 3], "ratios of the table")
    for r, wanted in zip(ratios, holm([r["p"] for r in ratios])):
        check(abs(r["p_holm"] - wanted) <= 1e-15, f"{r['p_holm']} is not {wanted}")
        equal(r["verdict_holm"], r["verdict"] if wanted <= 0.05 else "undecided", "what stands")
    few = json.loads(p.run("exec", "--launches", "6", "-w", "0", "true", "sleep 0.002", "sleep 0.03", "--json", expect=3).stdout)["rows"]
    equal([(r["ratio_paired"]["holm_rows"], r["ratio_paired"]["verdict_holm"]) for r in few[1:]], [(2, None)] * 2, "six runs cannot carry two ratios")
    equal(rows[0]["ratio_paired"], None, "the first command is the reference")


def a_budget_ends_asked_runs(p):
    rows = json.loads(p.run("exec", "--launches", "60", "-w", "0", "--budget", "0.0001", "true", "--json", expect=0).stdout)["rows"]
    equal(rows[0]["metrics"]["steady_time"]["n"], 6, "no fewer than an interval needs, and no more than there is time for")
    equal(rows[0]["provenance"]["schedule"]["stopped_because"], "budget", "and says so")


def failing_command(p):
    done = p.run("exec", "--launches", "3", "sleep 0.001", "exit 7", "sleep 0.002", expect=2)
    has(done.stderr, "command 'exit 7' exited with status 7", "names the command and its status")
    has(done.stdout, "sleep 0.002", "the others are reported")
    rows = json.loads(p.run("exec", "--launches", "3", "-i", "exit 7", "--json", expect=0).stdout)["rows"]
    equal(rows[0]["status"], "ok", "--ignore-failure")
    done = p.run("exec", "--launches", "2", "no-such-program-here", expect=2)
    has(done.stderr, "no-such-program-here")
    done = p.run("exec", "--launches", "2", "kill -9 $$", expect=2)
    has(done.stderr, "signal 9")


def documents_and_rows(p):
    # five launches: no interval at 95 % (2 / 2^5 is more than 0.05), so the verdict is known
    # whatever the machine does
    done = p.run("exec", "--launches", "5", "true", "true", "--json", "--out", "rows.jsonl", expect=3)
    document = json.loads(done.stdout)
    equal((document["schema"], document["version"]), ("nperf-rows", 2), "schema")
    equal([r["baseline"] for r in document["rows"]], ["true", "true #2"], "two equal commands are told apart")
    equal(p.rows("rows.jsonl"), document["rows"], "the same in the file")
    row = document["rows"][1]
    equal((row["case"], row["framework"], row["metrics"]["steady_time"]["n"]), ("exec", "command", 5), "row")
    check(0 < row["metrics"]["host_rss"]["value"] < 30, "memory of the command, not of nperf")


def parameters(p):
    done = p.run("exec", "--launches", "2", "-w", "0", "--param", "t=0.001,0.002", "--param", "u=,x", "true {t}", expect=2)
    has(done.stderr, "'--param u': no command contains '{u}'")
    done = p.run("exec", "--launches", "2", "-w", "0", "--param", "t=0.001,0.002", "--param", "s=a,b", "true {t} {s}", "--json", expect=3)
    names = [r["baseline"] for r in json.loads(done.stdout)["rows"]]
    equal(names, ["true 0.001 a", "true 0.001 b", "true 0.002 a", "true 0.002 b"], "every combination")


def setup(p):
    """As hyperfine: --setup and --cleanup once for each command, --prepare and --conclude around every run, untimed ones too."""
    around = ["--setup", "echo setup {c} >> log", "--prepare", "echo prepare >> log", "--conclude", "echo conclude >> log", "--cleanup", "echo cleanup {c} >> log"]
    p.run("exec", "--launches", "3", "--warmup", "2", *around, "--param", "c=a,b", "test -e log && echo {c}", expect=3)
    with open(p.file("log"), encoding="utf-8") as f:
        lines = f.read().splitlines()
    equal({line: lines.count(line) for line in lines}, {"setup a": 1, "setup b": 1, "prepare": 10, "conclude": 10, "cleanup a": 1, "cleanup b": 1}, "how often")
    equal((lines[0], lines[-2:]), ("setup a", ["cleanup a", "cleanup b"]), "first and last")
    p.run("exec", "-n", "1", "-w", "0", "--prepare", "touch one", "--prepare", "touch two", "test -e one", "test -e two", expect=3)
    one_sentence(p.run("exec", "--prepare", "a", "--prepare", "b", "true", "true", "true", expect=2), "given 2 times for 3 commands")
    done = p.run("exec", "-n", "1", "--setup", "exit 4", "--cleanup", "touch cleaned", "true", expect=2)
    has(done.stderr, "setup 'exit 4' exited with status 4")
    check(os.path.exists(p.file("cleaned")), "cleaned up all the same")


def scans_names_and_exports(p):
    done = p.run("exec", "-n", "1", "-w", "0", "--parameter-scan", "t", "1", "2", "-D", "0.5", "-L", "u", "x,y", "--command-name", "run {t}{u}",
                 "--export-markdown", "t.md", "--export-csv", "t.csv", "--json", "true {t} {u}", expect=3)
    names = [r["baseline"] for r in json.loads(done.stdout)["rows"]]
    wanted = [f"run {t}{u}" for u in "xy" for t in ("1", "1.5", "2")]
    equal(sorted(names), sorted(wanted), "every combination, by name")
    with open(p.file("t.md"), encoding="utf-8") as f:
        equal(len(f.read().splitlines()), 8, "a line a command")
    with open(p.file("t.csv"), encoding="utf-8") as f:
        equal(len(f.read().splitlines()), 7, "a line a command")
    has(done.stderr, "fastest first, with the ratio to the fastest:\n  1. 1.00 ", "ranked")
    one_sentence(p.run("exec", "--parameter-scan", "t", "3", "1", "true {t}", expect=2), "MIN not above MAX")
    one_sentence(p.run("exec", "--parameter-scan", "t", "3", expect=2), "NAME MIN MAX")
    one_sentence(p.run("exec", "--command-name", "a", "--command-name", "b", "true", expect=2), "given 2 times for 1 command")


def the_shell_is_subtracted(p):
    """A shell that sleeps takes 50 ms by itself: with it a command of 100 ms takes 100 ms, not 150, and 50 ms of a shell are no part of `-N`."""
    shell = p.write("slow-shell", "#!/bin/sh\nsleep 0.05\nexec sh \"$@\"\n", 0o755)
    done = p.run("exec", "-n", "6", "-w", "0", "-S", shell, "sleep 0.1", "--json", expect=0)
    row = json.loads(done.stdout)["rows"][0]
    median = row["metrics"]["steady_time"]["median"]
    check(0.08 < median < 0.13, f"{median} s of 0.1")
    has(row["provenance"]["schedule"]["note"], "the time of the shell, ", "with its interval")
    has(done.stderr, "is subtracted from each run", "and printed")
    done = p.run("exec", "-n", "6", "-w", "0", "true", expect=0)
    has(done.stderr, "takes less than 5 ms", "a warning")


def a_failure_ends_it(p):
    """It does not go on for the budget with the commands that work."""
    began = time.monotonic()
    rows = json.loads(p.run("exec", "sleep 0.01", "exit 7", "--json", expect=2).stdout)["rows"]
    check(time.monotonic() - began < 8, "soon over")
    check(1 <= rows[0]["metrics"]["steady_time"]["n"] <= 6, "no more runs than a table needs")


def unknown_numbers_are_null_with_a_reason(p):
    row, second = json.loads(p.run("exec", "-n", "2", "-w", "0", "true", "true", "--json", expect=3).stdout)["rows"]
    text = json.dumps([row, second])
    for word in ("Infinity", "NaN"):
        check(word not in text, f"{word} in {text}")
    equal((row["metrics"]["energy"]["value"], row["metrics"]["energy"]["reason"]), (None, "the energy of commands is not measured"), "no sensor, no joules")
    time_of, ratio = second["metrics"]["steady_time"], second["ratio_paired"]
    for found in (time_of, ratio):
        equal((found["lower"], found["upper"], found["reason"]), (None, None, "too few launches for an interval"), "no endless interval")


def an_interrupted_run_has_no_infinite_numbers(p):
    """Ctrl-C before the first launch has ended: what was not measured is null, with that reason."""
    run = subprocess.Popen([NPERF, "exec", "-w", "0", "--json", "sleep 600", "sleep 601"], cwd=p.path, env=p.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    while "sleep\0600" not in children_of(run.pid) and time.monotonic() < until:
        time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    output, words = run.communicate(timeout=60)
    equal(run.returncode, 130, f"exit status; it wrote {words[-500:]!r}")
    for word in ("Infinity", "NaN"):
        check(word not in output, f"{word} in {output}")
    provenance = json.loads(output)["rows"][0]["provenance"]
    equal((provenance["health"]["load_1min_max"], provenance["health"]["load_1min_max_reason"]), (None, "no launch was measured"), "the load")
    equal((provenance["memory"]["limit_bytes"], provenance["memory"]["limit_bytes_reason"]), (None, "no launch was measured"), "the limit")


def small_changes_are_decided(p):
    """A true slow-down of 4 % in the default plan: decided, and not by the width of its interval alone."""
    one, two = ("i=0; while [ $i -lt %d ]; do i=$((i+1)); done" % n for n in (20000, 20800))
    rows = json.loads(p.run("exec", "--budget", "30", one, two, "--json").stdout)["rows"]
    schedule = rows[1]["provenance"]["schedule"]
    check(schedule["stopped_because"] in ("verdict", "budget"), f"{schedule['stopped_because']}")
    if schedule["stopped_because"] == "verdict":
        check(rows[1]["ratio_paired"]["verdict_holm"] != "undecided", f"{rows[1]['ratio_paired']}")


def without_a_shell(p):
    p.write("name with blank", "")
    p.run("exec", "-N", "-n", "2", "ls 'name with blank'", expect=0)
    done = p.run("exec", "-N", "-n", "2", "ls '*blank'", expect=2)
    has(done.stderr, "exited with status", "no patterns")
    p.run("exec", "-n", "2", "ls *blank > /dev/null && true", expect=0)
    one_sentence(p.run("exec", "-N", "ls 'open", expect=2), "quote")
    one_sentence(p.run("exec", "-N", "--shell", "ls", expect=2), "exclude")


def usage(p):
    one_sentence(p.run("exec", expect=2), "no command given")
    one_sentence(p.run("exec", "--lanches", "3", "true", expect=2), "did you mean '--launches'")
    one_sentence(p.run("exec", "--param", "x", "true", expect=2), "NAME=V1,V2")


def output_is_shown_on_request(p):
    quiet = p.run("exec", "-n", "1", "-w", "0", "echo aloud", expect=0)
    loud = p.run("exec", "-n", "1", "-w", "0", "--show-output", "echo aloud", expect=0)
    check(not quiet.stdout.startswith("aloud"), "discarded")
    has(loud.stdout + loud.stderr, "aloud\n", "shown")


main([faster, one_direction, verdicts_are_one_table, a_budget_ends_asked_runs, failing_command, documents_and_rows, parameters, setup, scans_names_and_exports, the_shell_is_subtracted, a_failure_ends_it, unknown_numbers_are_null_with_a_reason, an_interrupted_run_has_no_infinite_numbers, small_changes_are_decided, without_a_shell, usage, output_is_shown_on_request])
