"""Manuals as sessions: every command of them, and what it prints.  And that a wrong word in a manual is seen."""
import os
import subprocess
import sys

from harness import BUILD, SOURCE, Skip, equal, has, main
from mlflow_server import Server

sys.path.insert(0, os.path.join(SOURCE, "tests/workers"))
import environments  # noqa: E402

SESSION = os.path.join(SOURCE, "scripts/doc_session.py")


def session(p, manual, *words, **env):
    with Server() as mlflow:
        return subprocess.run([sys.executable, SESSION, manual, *words], cwd=p.path, text=True, capture_output=True, timeout=280,
                              env={**p.env, "CALIBRAX_BUILD_ROOT": os.path.abspath(BUILD), "MLFLOW_TRACKING_URI": mlflow.url, **env})


def shows_what_it_prints(manual):
    def case(p):
        done = session(p, os.path.join(SOURCE, "docs", manual))
        equal((done.returncode, done.stderr), (0, ""), done.stdout)
    case.__name__ = "the_manual_" + os.path.basename(manual).removesuffix(".md")
    return case


MANUALS = ("tutorial/tour.md", "how-to/gate.md", "how-to/metrics.md", "how-to/monitoring.md", "how-to/web-pages.md", "reference/store.md", "reference/importers.md", "reference/exporters.md", "explanation/changepoints.md")


# Pages of docs/integrations, which use the runs of its index; of some the commands are those of an
# environment of scripts/setup-refs.sh, which has a module.
INTEGRATIONS = {"benchmark-formats": None, "asv": None, "prometheus": None, "opentelemetry": None, "mlflow": None, "traces": None, "ci": None, "web-pages": None,
                "wandb": ("wandb", "wandb"), "pytest": ("pytest", "pytest"), "jax": ("adapters", "jax"), "scikit-learn": ("adapters", "sklearn"), "torch": ("torch", "torch")}
PAGES = os.path.join(SOURCE, "docs/integrations")


def integration(page, environment):
    def case(p):
        env = {}
        if environment:
            python = environments.interpreter(*environment)
            if not python:
                raise Skip(f"rival: {environment[1]} is not installed (scripts/setup-refs.sh {environment[0]})")
            env = {"NPERF_PYTHON_WANDB": python} if page == "wandb" else {
                "PATH": f"{os.path.dirname(python)}:{os.environ['PATH']}", "PYTHONPATH": os.path.join(os.path.abspath(BUILD), "python"), "PYTEST_PLUGINS": "calibrax_c.pytest_plugin"}
        done = session(p, os.path.join(PAGES, page + ".md"), "--after", os.path.join(PAGES, "README.md"), **env)
        equal((done.returncode, done.stderr), (0, ""), done.stdout)
    case.__name__ = "the_integration_" + page.replace("-", "_")
    return case


def each_integration_has_its_parts(p):
    pages = {name.removesuffix(".md") for name in os.listdir(PAGES)} - {"README"}
    equal(pages, set(INTEGRATIONS), "each page is run")
    with open(os.path.join(PAGES, "README.md"), encoding="utf-8") as f:
        index = f.read()
    for page in pages:
        has(index, f"({page}.md", "the index names each")
        with open(os.path.join(PAGES, page + ".md"), encoding="utf-8") as f:
            text = f.read()
        for part in ("\n```console\n$ ", "\n## What has no place\n", "\n## Limits\n"):
            has(text, part, page)


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
    after = p.write("after.md", "```console\n$ cat greet.sh\necho hello, $1\nexit 3\n```\n")
    done = session(p, after, "--after", p.write("manual.md", "```sh greet.sh\necho hello, $1\nexit 3\n```\n"))
    equal((done.returncode, done.stdout), (0, "1..2\nok 1 - manual.md:1\nok 2 - after.md:1\n"), "a manual that uses the files of another one")
    has(session(p, p.write("none.md", "no block\n")).stderr, "shows no session")


main([*(shows_what_it_prints(m) for m in MANUALS), *(integration(*of) for of in INTEGRATIONS.items()), each_integration_has_its_parts, manuals_that_are_wrong])
