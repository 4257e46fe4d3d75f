"""Locks of cores and devices between invocations: who waits for whom, what a parent holds for its children, what ends a hold."""
import json
import os
import signal
import subprocess
import sys
import time

from harness import BUILD, NPERF, QUICK, TINY, check, equal, has, main, one_sentence

WORKER = os.path.abspath(os.path.join(BUILD, "programs/workers/nperf-worker"))
FAKE = {"NPERF_FAKE_DEVICES": "2"}


# --- invocations side by side ---

def folder(p, name="locks"):
    """A folder of locks of the test's own, as a setting."""
    os.makedirs(p.file(name), exist_ok=True)
    return {"CALIBRAX_LOCK_DIR": p.file(name)}


def begin(p, *args, env=None):
    return subprocess.Popen([NPERF, *args], cwd=p.path, env={**p.env, **folder(p), **(env or {})}, stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def waits(p, name, *more, env=None):
    """A measurement whose first worker waits until file `go-NAME` is there."""
    script = p.write(f"worker-{name}", f'#!/bin/sh\necho > {p.file("started-" + name)}\nwhile ! [ -e {p.file("go-" + name)} ]; do sleep 0.05; done\n'
                     f'exec {WORKER} "$@"\n', 0o755)
    return begin(p, "--point", TINY, "--baselines", "stream", *QUICK, "--out", f"{name}.jsonl", "--report", f"{name}.md", "--sandbox-read", WORKER, *more,
                 env=dict(NPERF_WORKER=script, **(env or {})))


def until(condition, why, seconds=120):
    for _ in range(int(seconds / 0.05)):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError(why)


def started(p, name):
    return lambda: os.path.exists(p.file(f"started-{name}"))


def end(process, name, expect=0):
    said = process.communicate(timeout=300)[1]
    equal(process.returncode, expect, f"{name}: {said}")
    return said


def finish(p, *processes):
    for name, _ in processes:
        p.write(f"go-{name}", "")
    for name, process in processes:
        end(process, name)


def descendants(pid):
    found, todo = {pid}, [pid]
    while todo:
        parent = todo.pop()
        try:
            tasks = os.listdir(f"/proc/{parent}/task")
        except OSError:
            continue
        for task in tasks:
            with open(f"/proc/{parent}/task/{task}/children", encoding="ascii") as f:
                children = {int(n) for n in f.read().split()} - found
            found |= children
            todo += children
    return found


def waiting_line(process):
    return next((line for line in process.stderr if "waits for" in line), "")


# --- sweeps ---

def invocations_share_no_device(p):
    first = waits(p, "first", "--platforms", "fake", env=FAKE)
    until(started(p, "first"), "the first one measures")
    second = waits(p, "second", "--platforms", "fake", "--gpus", "0", env=FAKE)
    said = waiting_line(second)
    family = descendants(first.pid)
    has(said, "which process ", "the second one says for whom it waits")
    pid = int(said.split("which process ")[1].split()[0])
    check(pid in family, f"process {pid} is the first one or its worker, {family}")
    check(not started(p, "second")(), "and starts nothing meanwhile")
    doctor = p.run("doctor", "--json", env=folder(p))
    held = [i["text"] for i in json.loads(doctor.stdout)["items"] if i["name"] == "held"]
    check(any(f"process {n}" in text for text in held for n in family), f"nperf doctor names the holder: {held}")
    finish(p, ("first", first), ("second", second))


def a_killed_holder_holds_nothing(p):
    first = waits(p, "first")
    until(started(p, "first"), "the first one measures")
    second = waits(p, "second")
    check(waiting_line(second), "the second one waits")
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    until(started(p, "second"), "the second one goes on when the first one is killed")
    finish(p, ("second", second))


def waiting_has_an_end(p):
    first = waits(p, "first")
    until(started(p, "first"), "the first one measures")
    for args in (["--point", TINY, "--baselines", "stream", *QUICK], ["exec", "true"]):
        done = p.run(*args, "--lock-wait", "0.2", env=folder(p), expect=2)
        has(done.stderr.splitlines()[-1], "or wait longer for locks", "the remedy")
        has(done.stderr.splitlines()[-1], "is still held by process ", "and who is to be ended")
    finish(p, ("first", first))
    one_sentence(p.run("exec", "true", "--lock-wait", "-1", expect=2), "--lock-wait")


# --- commands ---

def marks(p, name, pause=0.01):
    """A command that writes down when it begins and ends."""
    return f"echo {name} begin $(date +%s%N) >> {p.file('log')}; sleep {pause}; echo {name} end $(date +%s%N) >> {p.file('log')}"


def intervals(p):
    """From the first begin to the last end of each name, in the order of their begins."""
    found = {}
    with open(p.file("log"), encoding="ascii") as f:
        for name, _, at in map(str.split, f):
            first, last = found.get(name, (int(at), int(at)))
            found[name] = (min(first, int(at)), max(last, int(at)))
    return sorted(found.values())


def overlaps(spans):
    return sum(b[0] < a[1] for a, b in zip(spans, spans[1:]))


ASKED = ["--launches", "4", "--warmup", "0"]


def commands_never_overlap(p):
    all_of_them = [begin(p, "exec", *ASKED, marks(p, name)) for name in ("a", "b", "c")]
    for process in all_of_them:
        end(process, "exec")
    spans = intervals(p)
    equal((len(spans), overlaps(spans)), (3, 0), f"each had the cores alone: {spans}")


def the_check_sees_an_overlap(p):
    """Under locks of their own each waits for the other to have begun."""
    pair = []
    for mine, other in (("a", "b"), ("b", "a")):
        meet = f"echo > {p.file(mine)}; while ! [ -e {p.file(other)} ]; do sleep 0.01; done; " + marks(p, mine)
        pair.append(begin(p, "exec", *ASKED, f"echo {mine} begin $(date +%s%N) >> {p.file('log')}; {meet}", env=folder(p, "locks-" + mine)))
    for process in pair:
        end(process, "exec")
    equal(overlaps(intervals(p)), 1, "seen")


def commands_wait_for_a_sweep(p):
    first = waits(p, "first")
    until(started(p, "first"), "the first one measures")
    process = begin(p, "exec", *ASKED, f"echo > {p.file('ran')}")
    said = waiting_line(process)
    has(said, "the measurement waits for 'cpu-", "it says so")
    check(int(said.split("which process ")[1].split()[0]) in descendants(first.pid), f"and for whom: {said}")
    check(not os.path.exists(p.file("ran")), "nothing ran meanwhile")
    finish(p, ("first", first))
    end(process, "exec")
    check(os.path.exists(p.file("ran")), "it did in the end")


def a_killed_parent_frees(p):
    first = begin(p, "exec", *ASKED, f"echo > {p.file('started-first')}; exec sleep 1000")
    until(started(p, "first"), "the first one measures")
    second = begin(p, "exec", *ASKED, "true")
    check(waiting_line(second), "the second one waits")
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    end(second, "goes on when the first one is killed")


def a_daemon_holds_nothing(p):
    """What a command leaves behind has inherited the locks; they are given up all the same."""
    p.run("exec", "--launches", "1", "--warmup", "0", f"setsid sleep 60 > /dev/null 2>&1 & echo $! > {p.file('daemon')}", env=folder(p), expect=0)
    with open(p.file("daemon"), encoding="ascii") as f:
        daemon = int(f.read())
    check(os.path.exists(f"/proc/{daemon}"), "it is still there")
    try:
        p.run("exec", *ASKED, "true", "--lock-wait", "5", env=folder(p), expect=0)
    finally:
        os.kill(daemon, signal.SIGKILL)


# --- under each other ---

def nested(p, command, **kw):
    """The command under `nperf exec`: what waited for its own parent would wait for ever."""
    return p.run("exec", "--launches", "1", "--warmup", "0", "--timeout", "100", command, env=folder(p), expect=0, **kw)


SWEEP = " ".join([NPERF, "--point", f"'{TINY}'", "--baselines stream", *QUICK, "--lock-wait 30"])
INNER = f"{NPERF} exec --launches 2 --warmup 0 --lock-wait 30"


def a_parent_holds_for_its_children(p):
    nested(p, f"{INNER} true")
    done = p.run("exec", "--launches", "1", "--warmup", "0", f"env -u NPERF_LOCKS {NPERF} exec --launches 1 --lock-wait 0.2 true", env=folder(p), expect=2)
    has(done.stderr, "exited with status 2", "without the variable it waits for its parent")
    nested(p, SWEEP)
    nested(p, f"{INNER} \"{INNER} true\"")
    equal(p.rows()[0]["status"], "ok", "the sweep under exec measured")
    once = [sys.executable, "-c", f"import subprocess; subprocess.run('{INNER} true', shell=True, check=True)"]
    nested(p, " ".join(f'"{word}"' for word in once))  # closes what it inherited
    p.write("case.json", json.dumps({"schema": "nperf-case", "version": 1, "name": "inner", "kind": "commands", "summary": "nperf in nperf", "points": [{"n": 1}],
                                     "params": [{"name": "n", "min": 1, "max": 9, "help": "nothing"}], "baselines": [{"name": "one", "command": f"{INNER} true"}]}))
    p.run("--define", "case.json", "--launches", "1", "--warmup", "0", env=folder(p), expect=0)


def revisions_under_one_hold(p):
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q", "."], ["commit", "-qm", "one", "--allow-empty"]):
        subprocess.run([*git, *words], cwd=p.path, check=True, capture_output=True)
    p.run("ab", "HEAD", "HEAD", "--build", f"{INNER} true > built", "--bench", f"{INNER} true; echo cost: 1", "--metric", "cost",
          "--launches", "6", env=folder(p), expect=0)


def children_share_what_is_held(p):
    """Side by side under one parent they take turns as strangers do."""
    nested(p, f"{INNER} '{marks(p, 'a')}' & {INNER} '{marks(p, 'b')}' & wait")
    spans = intervals(p)
    equal((len(spans), overlaps(spans)), (2, 0), f"{spans}")


def what_the_variable_claims_is_looked_up(p):
    first = waits(p, "first")
    until(started(p, "first"), "the first one measures")
    name = sorted(os.listdir(p.file("locks")))[0]
    lock = os.open(p.file("locks", name), os.O_RDWR)
    strange = os.open(p.write("other", ""), os.O_RDONLY)
    for said, fds in ((f"{lock}:{first.pid}:{name}", (lock,)), (f"{strange}:{first.pid}:{name}", (strange,)), (f"-1:{first.pid}:{name}", ()),
                      (f"-1:{os.getpid()}:{name}", ()), (f"999:1:{name}", ()), ("4", ()), (f"::{name} x:y:z", ())):
        done = p.run("exec", "true", "--lock-wait", "0.1", env={**folder(p), "NPERF_LOCKS": said}, pass_fds=fds, expect=2)
        has(done.stderr, "is still held by process", said)
    os.close(lock), os.close(strange)
    finish(p, ("first", first))


main([invocations_share_no_device, a_killed_holder_holds_nothing, waiting_has_an_end, commands_never_overlap, the_check_sees_an_overlap,
      commands_wait_for_a_sweep, a_killed_parent_frees, a_daemon_holds_nothing, a_parent_holds_for_its_children, revisions_under_one_hold,
      children_share_what_is_held, what_the_variable_claims_is_looked_up])
