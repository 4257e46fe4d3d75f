"""calibrax bisect on toy repositories: merges, a build that fails, a checkout that is being worked in, wrong ends, interruption."""
import fcntl
import json
import os
import signal
import subprocess

from harness import CALIBRAX, check, equal, has, main, one_sentence

GIT = ["git", "-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main"]


def bench(p):
    """A benchmark that prints its cost: what the commit says, and up to 0.4 % of noise that only the number of the launch decides
    (multiples of the golden section, counted in a file outside the repository)."""
    count = p.file("launches")
    return (f"n=$(cat {count} 2> /dev/null); n=$((n + 1)); echo $n > {count}; "
            "awk -v c=$(cat cost) -v n=$n 'BEGIN { x = 0.6180339887 * n; print \"cost: \" c * (1 + 0.004 * (x - int(x))) }'")


class Repository:
    """One commit a call, with the cost of its benchmark in a file."""

    def __init__(self, place):
        self.path = place.file("repo")
        self.env = dict(place.env, GIT_AUTHOR_DATE="2026-01-01T00:00:00Z", GIT_COMMITTER_DATE="2026-01-01T00:00:00Z")
        os.mkdir(self.path)
        self.git("init", "-q")
        self.count = 0

    def git(self, *args):
        return subprocess.run([*GIT, *args], cwd=self.path, env=self.env, check=True, text=True, capture_output=True).stdout.strip()

    def commit(self, cost=None, builds=True):
        self.count += 1
        for name, text in (("cost", cost), ("builds", str(builds)), (f"file{self.count}", "")):
            if text is not None:
                with open(os.path.join(self.path, name), "w", encoding="utf-8") as f:
                    f.write(f"{text}\n")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", f"commit {self.count}")
        return self.git("rev-parse", "HEAD")


def bisect(p, repo, *args, **more):
    return p.run("bisect", "-C", repo.path, "--state", p.file("state.json"), "--scratch", p.file("scratch"), *args, program=CALIBRAX, **more)


def result(done):
    document = json.loads(done.stdout)
    equal((document["schema"], document["version"]), ("calibrax-bisection", 1), "schema")
    return document


def line(p, n=12, slow=7):
    repo = Repository(p)
    hashes = [repo.commit(cost=100 if i < slow else 120) for i in range(n)]
    return repo, hashes


def merged_history_with_a_broken_build(p):
    repo = Repository(p)
    base = repo.commit(cost=100)
    repo.git("checkout", "-q", "-b", "side")
    side = [repo.commit() for _ in range(3)]
    culprit = repo.commit(cost=115)
    side.append(repo.commit())
    repo.git("checkout", "-q", "main")
    for i in range(5):
        repo.commit(builds=i != 2)
    repo.git("merge", "-q", "--no-ff", "-m", "merge", "side")
    repo.commit()
    # a checkout that is being worked in: nothing of it may change
    with open(os.path.join(repo.path, "cost"), "a", encoding="utf-8") as f:
        f.write("being edited\n")
    with open(os.path.join(repo.path, "untracked"), "w", encoding="utf-8") as f:
        f.write("mine\n")
    before = (repo.git("status", "--porcelain"), repo.git("rev-parse", "HEAD"), repo.git("worktree", "list"), repo.git("for-each-ref"))
    done = bisect(p, repo, "--good", base, "--bad", "main", "--build", 'test "$(cat builds)" = True', "--bench", bench(p), "--metric", "cost", "--json",
                  expect=0, timeout=120)
    found = result(done)
    equal(found["outcome"], "found", "outcome")
    equal([s["commit"] for s in found["suspects"]], [culprit], "the commit on the side branch")
    equal(found["suspects"][0]["subject"], "commit 5", "its subject")
    check(abs(found["change"] - 0.15) < 0.01, f"the change is 15 %, found {found['change']}")
    check(found["probability"] >= 0.95, "as sure as was asked for")
    equal((repo.git("status", "--porcelain"), repo.git("rev-parse", "HEAD"), repo.git("worktree", "list"), repo.git("for-each-ref")), before, "checkout")
    equal(os.listdir(p.file("scratch")), [], "nothing is left in the scratch folder")


def broken_commits_are_named_together(p):
    repo = Repository(p)
    good = repo.commit(cost=100)
    repo.commit()
    broken = [repo.commit(cost=130, builds=False), repo.commit(builds=False)]
    first = repo.commit(builds=True)
    repo.commit()
    done = bisect(p, repo, "--good", good, "--build", "grep -q True builds || { echo no compiler >&2; exit 3; }", "--bench", bench(p), "--metric", "cost",
                  "--json", expect=0)
    found = result(done)
    equal([s["commit"] for s in found["suspects"]], [*broken, first], "the broken ones and the first that can be run")
    check(found["suspects"][0]["broken"].endswith("no compiler"), "the reason is kept")
    text = bisect(p, repo, "--good", good, "--build", "grep -q True builds", "--bench", bench(p), "--metric", "cost", expect=0).stdout
    has(text, "the first bad commit is one of")


def wall_time_is_the_default(p):
    """A sleep is late on a busy machine, but not by as much as these differ."""
    repo = Repository(p)
    good = repo.commit(cost="0.02")
    culprit = repo.commit(cost="0.2")
    repo.commit()
    ask = ["--good", good, "--bench", "sleep $(cat cost)", "--json"]
    found = result(bisect(p, repo, *ask, expect=0, timeout=250))
    equal([s["commit"] for s in found["suspects"]], [culprit], "slept longer")
    found = result(bisect(p, repo, *ask, "--paired", "--state", p.file("paired.json"), expect=0, timeout=250))
    equal([s["commit"] for s in found["suspects"]], [culprit], "and in pairs")


def wrong_ends(p):
    repo, hashes = line(p, n=6, slow=3)
    ask = ["--bench", bench(p), "--metric", "cost"]
    one_sentence(bisect(p, repo, "--good", hashes[5], "--bad", hashes[0], *ask, expect=2), "swapped", "calibrax")
    one_sentence(bisect(p, repo, "--good", hashes[5], "--bad", "HEAD", *ask, expect=2), "same commit", "calibrax")
    one_sentence(bisect(p, repo, "--good", "nowhere", *ask, expect=2), "'nowhere' is not a commit", "calibrax")
    one_sentence(bisect(p, repo, "--good", "--version", *ask, expect=2), "'--version' is not a commit", "calibrax")
    one_sentence(bisect(p, repo, *ask, expect=2), "'calibrax bisect' needs '--good'", "calibrax")
    one_sentence(bisect(p, repo, "--good", hashes[0], expect=2), "'calibrax bisect' needs '--bench'", "calibrax")
    one_sentence(p.run("bisect", "-C", p.path, "--good", "a", *ask, program=CALIBRAX, expect=2, env={"GIT_CEILING_DIRECTORIES": p.path}),
                 "not in a git repository", "calibrax")
    repo.git("checkout", "-q", "-b", "other", hashes[1])
    other = repo.commit()
    one_sentence(bisect(p, repo, "--good", other, "--bad", hashes[5], *ask, expect=2), "is not an ancestor", "calibrax")
    done = bisect(p, repo, "--good", hashes[0], "--bad", hashes[2], *ask, "--json", "--end-launches", "8", expect=2)
    equal((result(done)["outcome"], result(done)["suspects"]), ("unchanged", []), "a range without a change finds nothing")
    done = bisect(p, repo, "--good", hashes[0], "--bad", hashes[5], *ask, "--higher-is-better", "--json", expect=2)
    equal(result(done)["outcome"], "swapped", "better at the bad end")
    done = bisect(p, repo, "--good", hashes[0], "--bad", hashes[5], "--bench", "exit 7", "--json", expect=2)
    equal(result(done)["outcome"], "broken-end", "an end that cannot be run")
    done = bisect(p, repo, "--good", hashes[0], "--bad", hashes[5], *ask[:2], "--metric", "speed", expect=2)
    has(done.stdout, "no number after 'speed'")
    done = bisect(p, repo, "--good", hashes[0], "--bad", hashes[5], *ask, "--max-launches", "11", "--json", expect=3)
    equal(result(done)["outcome"], "undecided", "too few launches")


def interrupted_and_resumed(p):
    repo, hashes = line(p)
    ask = ["bisect", "-C", repo.path, "--good", hashes[0], "--bench", "sleep 0.05; " + bench(p), "--metric", "cost", "--state", p.file("kept.json"),
           "--scratch", p.file("scratch")]
    child = subprocess.Popen([CALIBRAX, *ask], cwd=p.path, env=p.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    seen = 0
    for text in child.stderr:
        seen += "build" not in text
        if seen == 4:
            break
    child.send_signal(signal.SIGINT)
    _, rest = child.communicate(timeout=120)
    equal(child.returncode, 130, "interrupted")
    has(rest, "--resume")
    equal(os.listdir(p.file("scratch")), [], "worktrees are gone")
    with open(p.file("kept.json"), encoding="utf-8") as f:
        kept = json.load(f)
    check(len(kept["observations"]) >= 4, "what was measured is kept")
    found = result(p.run(*ask, "--resume", "--json", program=CALIBRAX, expect=0, timeout=120))
    equal([s["commit"] for s in found["suspects"]], [hashes[7]], "found")
    with open(p.file("kept.json"), encoding="utf-8") as f:
        equal(json.load(f)["observations"][:len(kept["observations"])], kept["observations"], "nothing was measured again")
    with open(p.file("launches"), encoding="utf-8") as f:
        before = f.read()
    again = result(p.run(*ask, "--resume", "--json", program=CALIBRAX, expect=0))
    equal(again, found, "a finished search prints the same")
    with open(p.file("launches"), encoding="utf-8") as f:
        equal(f.read(), before, "and launches nothing")
    p.write("kept.json", '{"schema":')
    one_sentence(p.run(*ask, "--resume", program=CALIBRAX, expect=2), "kept.json", "calibrax")


def killed_and_started_again(p):
    """What was measured is set aside; what was built goes, if it is of a search that is dead for a while."""
    repo, hashes = line(p)
    ask = ["bisect", "-C", repo.path, "--good", hashes[0], "--bench", bench(p), "--metric", "cost", "--state", p.file("kept.json"),
           "--scratch", p.file("scratch")]
    child = subprocess.Popen([CALIBRAX, *ask], cwd=p.path, env=p.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    seen = 0
    for text in child.stderr:
        seen += "build" not in text
        if seen == 4:
            break
    child.kill()
    child.communicate(timeout=120)
    (left,) = os.listdir(p.file("scratch"))
    with open(p.file("kept.json"), encoding="utf-8") as f:
        kept = f.read()
    p.run(*ask, program=CALIBRAX, expect=0)
    with open(p.file("kept.json.before"), encoding="utf-8") as f:
        equal(f.read(), kept, "what the killed one measured")
    equal(os.listdir(p.file("scratch")), [left], "one that may have begun just now is left alone")
    os.utime(p.file("scratch", left, ".lock"), (0, 0))
    with open(p.file("scratch", left, ".lock"), "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        p.run(*ask, program=CALIBRAX, expect=0)
        equal(os.listdir(p.file("scratch")), [left], "as is one that lives")
    p.run(*ask, program=CALIBRAX, expect=0)
    equal(os.listdir(p.file("scratch")), [], "the dead one is gone")


def time_limit_of_a_launch(p):
    repo, hashes = line(p, n=3, slow=1)
    done = bisect(p, repo, "--good", hashes[0], "--bench", "sleep 600", "--timeout", "0.2", "--json", expect=2)
    equal(result(done)["outcome"], "broken-end", "no launch may take longer")


main([merged_history_with_a_broken_build, broken_commits_are_named_together, wall_time_is_the_default, wrong_ends, interrupted_and_resumed,
      killed_and_started_again, time_limit_of_a_launch])
