"""nperf exec: verdicts, parameters, set-up, failing commands."""
import json
import os

from harness import check, equal, has, main, one_sentence


def faster(p):
    """A sleep is late on a busy machine, but not by as much as these differ."""
    done = p.run("exec", "sleep 0.03", "sleep 0.5", expect=0)
    has(done.stdout, "'sleep 0.03' is ", "the sentence")
    has(done.stdout, "x faster than 'sleep 0.5' [", "with its interval")
    has(done.stdout, "slower", "the verdict in the table")


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
    done = p.run("exec", "--launches", "6", "true", "true", "--json", "--out", "rows.jsonl", expect=3)
    document = json.loads(done.stdout)
    equal((document["schema"], document["version"]), ("nperf-rows", 2), "schema")
    equal([r["baseline"] for r in document["rows"]], ["true", "true #2"], "two equal commands are told apart")
    equal(p.rows("rows.jsonl"), document["rows"], "the same in the file")
    row = document["rows"][1]
    equal((row["case"], row["framework"], row["metrics"]["steady_time"]["n"]), ("exec", "command", 6), "row")
    check(0 < row["metrics"]["host_rss"]["value"] < 30, "memory of the command, not of nperf")


def parameters(p):
    done = p.run("exec", "--launches", "2", "-w", "0", "--param", "t=0.001,0.002", "--param", "u=,x", "true {t}", expect=2)
    has(done.stderr, "--param u: no command holds '{u}'")
    done = p.run("exec", "--launches", "2", "-w", "0", "--param", "t=0.001,0.002", "--param", "s=a,b", "true {t} {s}", "--json", expect=3)
    names = [r["baseline"] for r in json.loads(done.stdout)["rows"]]
    equal(names, ["true 0.001 a", "true 0.001 b", "true 0.002 a", "true 0.002 b"], "every combination")


def setup(p):
    p.run("exec", "--launches", "3", "--warmup", "2", "--setup", "echo x >> log", "cat log", expect=0)
    with open(p.file("log"), encoding="utf-8") as f:
        equal(f.read(), "x\n" * 5, "before every run")
    p.run("exec", "--launches", "1", "-w", "0", "--prepare", "touch prepared", "true", expect=0)
    check(os.path.exists(p.file("prepared")), "--prepare is the same")


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


main([faster, verdicts_are_one_table, a_budget_ends_asked_runs, failing_command, documents_and_rows, parameters, setup, without_a_shell, usage, output_is_shown_on_request])
