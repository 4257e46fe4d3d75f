"""Manuals as sessions: every command of them, and what it prints.  And that a wrong word in a manual is seen."""
import os
import subprocess
import sys

from harness import BUILD, SOURCE, equal, has, main
from mlflow_server import Server

SESSION = os.path.join(SOURCE, "scripts/doc_session.py")


def session(p, manual):
    with Server() as mlflow:
        return subprocess.run([sys.executable, SESSION, manual], cwd=p.path, env=dict(p.env, CALIBRAX_BUILD_ROOT=os.path.abspath(BUILD), MLFLOW_TRACKING_URI=mlflow.url), text=True,
                              capture_output=True, timeout=280)


def shows_what_it_prints(manual):
    def case(p):
        done = session(p, os.path.join(SOURCE, "docs", manual))
        equal((done.returncode, done.stderr), (0, ""), done.stdout)
    case.__name__ = "the_manual_" + os.path.basename(manual).removesuffix(".md")
    return case


MANUALS = ("tutorial/tour.md", "how-to/gate.md", "how-to/metrics.md", "how-to/monitoring.md", "how-to/web-pages.md", "reference/store.md", "reference/importers.md", "reference/exporters.md", "integrations.md",
           "explanation/changepoints.md")


def manuals_that_are_wrong(p):
    def of(text):
        return p.write("manual.md", f"```sh greet.sh\necho hello, $1\nexit 3\n```\n```console\n{text}\n```\n")
    for text in ("$ sh greet.sh you\nhello, you\n$ echo $?\n3", "$ sh greet.sh you\nhel... y...u", "$ x=4\n$ printf '1\\n2\\n3\\n'\n...\n3\n$ echo $x\n4", "$ printf open\nopen",
                 "$ sh nothing.sh\n...nothing.sh..."):
        done = session(p, of(text))
        equal(done.returncode, 0, done.stdout)
    for text in ("$ sh greet.sh you\nhello, me", "$ sh greet.sh you", "$ true\nhello", "$ printf '1\\n2\\n3\\n'\n...\n2", "$ sh greet.sh you\nhello, you\n$ echo $?\n0"):
        done = session(p, of(text))
        equal(done.returncode, 1, done.stdout)
        has(done.stdout, "not ok 2 - manual.md:5")
    has(session(p, p.write("none.md", "no block\n")).stderr, "shows no session")


main([*(shows_what_it_prints(m) for m in MANUALS), manuals_that_are_wrong])
