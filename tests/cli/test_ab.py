"""nperf ab over made-up repositories: each verdict, each fault; and the worked example of examples/ci."""
import json
import os
import shutil
import subprocess

from harness import NPERF, SOURCE, check, equal, has, main, one_sentence

EXAMPLE = os.path.join(SOURCE, "examples", "ci")


def git(p, *args):
    done = subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false", *args], cwd=p.path,
                          capture_output=True, text=True)
    equal(done.returncode, 0, f"git {args}: {done.stderr}")
    return done.stdout.strip()


def commit(p, cost, name):
    p.write("cost", cost)
    git(p, "add", "cost")
    git(p, "commit", "-qm", name, "--allow-empty")
    git(p, "tag", name)


def repository(p, costs):
    git(p, "init", "-q", ".")
    for name, cost in costs.items():
        commit(p, cost, name)


def compare(p, a, b, *more, bench='echo "cost: $(cat cost)"', **kw):
    return p.run("ab", a, b, "--bench", bench, "--metric", "cost", "--launches", "8", *more, timeout=120, **kw)


def verdicts(p):
    repository(p, {"base": "100", "same": "101", "slower": "105", "faster": "80"})
    done = compare(p, "base", "slower", "--out", "c.json", expect=1)
    has(done.stdout, "slower over base: 1.0500", "the ratio")
    with open(p.file("c.json"), encoding="utf-8") as f:
        c = json.load(f)
    equal((c["schema"], c["version"], c["verdict"]), ("nperf-compare", 1, "slower"), "JSON")
    equal(c["b"]["values"], [105.0] * 8, "every value")
    equal(c["b"]["commit"], git(p, "rev-parse", "slower"), "which commit")
    check(c["p"] < 0.05, "sign test of 8 of 8")
    equal(compare(p, "base", "faster", expect=0).stdout.split()[-1], "faster", "below 1")
    equal(compare(p, "base", "same", expect=0).stdout.split()[-1], "equivalent", "1 % within 2 %")
    equal(compare(p, "base", "same", "--margin", "0.005", expect=1).stdout.split()[-1], "slower", "1 % beyond 0.5 %")
    equal(json.loads(compare(p, "base", "base", "--json", expect=0).stdout)["verdict"], "equivalent", "a revision and itself")


def undecided(p):
    repository(p, {"base": "100", "odd": "100"})
    bench = f'n=$(cat {p.path}/n 2>/dev/null || echo 0); echo $((n + 1)) > {p.path}/n; echo "cost: $((100 + n * n * 37 % 61))"'
    equal(compare(p, "base", "odd", bench=bench, expect=3).stdout.split()[-1], "undecided", "noise")


def builds_in_its_own_place(p):
    repository(p, {"base": "100", "head": "100"})
    p.write("cost", "7777")
    before = git(p, "status", "--porcelain"), git(p, "rev-parse", "HEAD"), git(p, "worktree", "list")
    done = compare(p, "base", "head", "--build", "cp cost built; echo $CALIBRAX_BISECT_COMMIT > which", "--json",
                   bench='test -s which && echo "cost: $(cat built)"', expect=0)
    equal(set(json.loads(done.stdout)["b"]["values"]), {100.0}, "the commit, not the checkout")
    equal((git(p, "status", "--porcelain"), git(p, "rev-parse", "HEAD"), git(p, "worktree", "list")), before, "the repository is as it was")
    check(not os.path.exists(p.file("built")), "nothing is built in the checkout")
    p.env["NPERF_LIBEXEC"] = os.path.relpath(os.path.join(os.path.dirname(NPERF), "..", "launcher"), p.path)
    compare(p, "base", "base", expect=0)  # programs are found in a folder that is relative to this one


def faults(p):
    repository(p, {"base": "100", "zero": "0"})
    one_sentence(compare(p, "base", "nowhere", expect=2), "'nowhere' is not a commit")
    one_sentence(compare(p, "base", "zero", expect=2), "a cost must be above 0")
    has(compare(p, "base", "zero", "--build", "echo broken >&2; false", expect=2).stderr, "the build of 'base' failed", "build")
    one_sentence(compare(p, "base", "zero", bench="exit 3", expect=2), "the benchmark of 'base' failed")
    one_sentence(compare(p, "base", "zero", bench="echo nothing", expect=2), "no number after 'cost'")
    one_sentence(p.run("ab", "base", expect=2), "two revisions")
    one_sentence(p.run("ab", "base", "zero", expect=2), "--bench CMD")
    one_sentence(p.run("ab", "base", "zero", "--bench", "true", "--launches", "2", expect=2), "too few launches to decide: at least 6, got 2")
    one_sentence(compare(p, "base", "zero", "--repository", "/nowhere-at-all", expect=2), "/nowhere-at-all")


def job(p, base, head, **env):
    return subprocess.run([os.path.join(EXAMPLE, "ci.sh"), base, head], cwd=p.path, env=dict(p.env, NPERF=NPERF, **env), capture_output=True,
                          text=True, timeout=200)


def worked_example(p):
    """By time with the regression, which is a hundredfold; without it by the count, which no busy machine changes."""
    shutil.copytree(os.path.join(EXAMPLE, "project"), p.path, dirs_exist_ok=True)
    git(p, "init", "-q", ".")
    git(p, "add", ".")
    git(p, "commit", "-qm", "base")
    git(p, "tag", "base")
    with open(p.file("search.c"), "a", encoding="utf-8") as f:
        f.write("/* a harmless change */\n")
    git(p, "commit", "-qam", "harmless")
    git(p, "tag", "harmless")
    git(p, "apply", os.path.join(EXAMPLE, "slower.patch"))
    git(p, "commit", "-qam", "slower")
    done = job(p, "base", "harmless", METRIC="comparisons", LAUNCHES="7")
    equal(done.returncode, 0, done.stdout + done.stderr)
    has(done.stdout, "pass: harmless is no slower than base", "the job's words")
    done = job(p, "base", "HEAD", LAUNCHES="7")
    equal(done.returncode, 1, done.stdout + done.stderr)
    has(done.stdout, "fail: HEAD is slower than base", "the job's words")
    done = job(p, "base", "HEAD", METRIC="comparisons", LAUNCHES="7")
    equal(done.returncode, 1, "by the count as well")
    equal(job(p, "base", "nowhere").returncode, 2, "what cannot be compared fails")


main([verdicts, undecided, builds_in_its_own_place, faults, worked_example])
