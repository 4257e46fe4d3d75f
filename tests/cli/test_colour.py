"""Colour: every table on a terminal has it, none in a pipe, with NO_COLOR or on a dumb terminal; and nothing else differs."""
import json
import re

from harness import CALIBRAX, NPERF, check, equal, has, main, on_terminal

PAINT = re.compile("\x1b\\[[0-9;]*m")


def make_run(number, scale, machine="m1"):
    points = [{"name": "forward", "scenario": "train", "tags": {"framework": framework, "n": str(n)},
               "metrics": {"time": {"value": scale * n * times, "samples": [scale * n * times * (1 + 0.001 * k) for k in range(12)]}, "loss": {"value": 0.5 / n}}}
              for framework, times in (("flax", 1.0), ("torch", 2.0)) for n in (1, 2, 4, 8)]
    defs = {name: {"name": name, "unit": unit, "direction": "lower", "group": "", "priority": "primary", "description": ""} for name, unit in (("time", "s"), ("loss", ""))}
    return {"id": f"run{number:04d}", "timestamp": f"2026-02-{number:02d}T10:00:00+00:00", "commit": f"{number:02d}abcdef" + "0" * 32, "branch": "main",
            "environment": {"machine": machine}, "metadata": {}, "metric_defs": defs, "points": points}


def fill(p):
    files = [p.write(f"r{i}.json", json.dumps(make_run(i, scale))) for i, scale in ((1, 1.0), (2, 1.0), (3, 1.5))]
    p.run("ingest", "--data", "store", "--input", *files, program=CALIBRAX, expect=0)
    p.run("baseline", "--data", "store", "--run", "run0001", program=CALIBRAX, expect=0)


def same_but_for_paint(p, *args, expect=0, program=CALIBRAX, live=False):
    """live: figures differ from run to run, so only the shape is looked at."""
    env = {"LC_ALL": "C"}  # no bars
    painted = on_terminal(p, *args, program=program, env=env, expect=expect)
    what = " ".join(args)
    check(PAINT.search(painted), f"{what}: colour on a terminal, found {painted!r}")
    for text in re.split("\n", painted):
        equal(text.count("\x1b[0m"), len(PAINT.findall(text)) - text.count("\x1b[0m"), f"{what}: what begins on a line ends there: {text!r}")
    plain = on_terminal(p, *args, program=program, env=dict(env, NO_COLOR="1"), expect=expect)
    dumb = on_terminal(p, *args, program=program, env=dict(env, TERM="dumb"), expect=expect)
    check("\x1b" not in plain + dumb, f"{what}: none with NO_COLOR, none on a dumb terminal")
    piped = p.run(*args, program=program, expect=expect).stdout
    check("\x1b" not in piped, f"{what}: none in a pipe")
    if not live:
        equal((PAINT.sub("", painted), plain, dumb), (piped, piped, piped), f"{what}: nothing else differs")
    return painted


def tables_of_a_store(p):
    fill(p)
    data = ["--data", "store"]
    for args, status in ((["show", "--list"], 0), (["summary"], 0), (["show"], 0), (["trend", "--metric", "time"], 0), (["show", "--points", "--metric", "loss"], 0), (["check"], 1),
                         (["compare", "run0001", "run0003"], 0), (["compare", "--diff", "run0001", "run0003"], 0), (["compare", "--rank"], 0), (["compare", "--pareto", "time,loss"], 0),
                         (["trend", "--metric", "time", "--over", "n"], 0), (["baseline", "--list"], 0), (["store", "verify"], 0), (["trend", "--changes", "--metric", "time"], 0)):
        same_but_for_paint(p, *args[:1 + (args[0] == "store")], *data, *args[1 + (args[0] == "store"):], expect=status)
    has(same_but_for_paint(p, "check", *data, expect=1), "\x1b[1;31mFAILED\x1b[0m: ", "the verdict")
    has(same_but_for_paint(p, "check", *data, "--run", "run0002", expect=0), "\x1b[32mPASSED\x1b[0m: ", "the verdict")
    check("\x1b" not in on_terminal(p, "check", *data, "--format", "markdown", expect=1), "a form for others has none")
    check("\x1b" not in on_terminal(p, "show", "--list", *data, "--json", expect=0), "nor has JSON")
    has(same_but_for_paint(p, "show", "--points", *data, "--metric", "loss"), "\x1b[2m\"name\"\x1b[0m:", "keys of JSON lines")


def tables_of_a_machine(p):
    for args in (["doctor", "--machine"], ["ingest", "--list-formats"], ["export", "--list"]):
        same_but_for_paint(p, *args)
    has(same_but_for_paint(p, "doctor", live=True), "\x1b[1mbackends\x1b[0m", "groups")
    same_but_for_paint(p, "list", program=NPERF)


def profiles(p):
    same_but_for_paint(p, "profile", "-n", "3", "--", "true", live=True)
    same_but_for_paint(p, "profile", "-n", "2", "--sizes", "1,2,3,4", "--", "true", "{}", expect=None, live=True)


def alerts(p):
    painted = on_terminal(p, "watch", "--metric", "x", "--error", "5", stdin="1\n9\n1\n", expect=1)
    has(painted, "\x1b[1;31merror   \x1b[0m", "an alert")
    has(painted, "\x1b[32mclear   \x1b[0m", "the all-clear")
    check("\x1b" not in on_terminal(p, "watch", "--metric", "x", "--error", "5", "--json", stdin="9\n", expect=1), "JSON has none")
    check("\x1b" not in on_terminal(p, "watch", "--metric", "x", "--error", "5", stdin="9\n", env={"NO_COLOR": "1"}, expect=1), "NO_COLOR")


def measurements(p):
    has(on_terminal(p, "exec", "-n", "3", "true", "false", program=NPERF, expect=None), "\x1b[2mcommand", "heads")


main([tables_of_a_store, tables_of_a_machine, profiles, alerts, measurements])
