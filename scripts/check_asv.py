#!/usr/bin/env python3
"""`asv publish` on what `calibrax export --format asv` writes: check_asv.py CALIBRAX.

Makes a repository of three commits, runs that belong to them (two of one commit, two machines, tags that differ), exports them, builds
the site and reads the graphs that asv made of them. Needs git and asv (named by ASV, or on the PATH; scripts/interop.sh asv fetches it); without it one
sentence reports it, and nothing has failed.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def git(folder: Path, *words: str) -> str:
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org"}
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True, env={**os.environ, **who}).stdout.strip()


def run_of(number: int, commit: str, machine: str, factor: float) -> dict:
    points = [{"name": "forward", "scenario": "train", "tags": {"framework": framework, "batch": batch},
               "metrics": {"latency": {"value": factor * int(batch), "samples": [factor * int(batch) * (1 + i / 100) for i in range(-5, 6)]},
                           "memory": {"value": 2.0}}}
              for framework in ("jax", "torch's") for batch in ("32", "256")]
    return {"id": f"run{number}", "timestamp": f"2026-02-{number:02d}T00:00:00+00:00", "commit": commit, "branch": "main",
            "environment": {"machine": machine}, "metadata": {}, "points": points,
            "metric_defs": {"latency": {"name": "latency", "unit": "ms", "direction": "lower"},
                            "memory": {"name": "memory", "unit": "KiB", "direction": "lower"}}}


def prepare(folder: Path, calibrax: str) -> list[str]:
    repo = folder / "repo"
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")
    commits = []
    for number in range(3):
        (repo / "file").write_text(str(number))
        git(repo, "add", "file")
        git(repo, "commit", "-q", "-m", f"commit {number}")
        commits.append(git(repo, "rev-parse", "HEAD"))
    runs = [(commits[0], "m1", 1.0), (commits[1], "m1", 2.0), (commits[1], "m1", 4.0), (commits[2], "m1", 1.5), (commits[2], "m2", 3.0)]
    inputs = []
    for number, (commit, machine, factor) in enumerate(runs, 1):
        path = folder / f"run{number}.json"
        path.write_text(json.dumps(run_of(number, commit, machine, factor)))
        inputs += ["--input", str(path)]
    subprocess.run([calibrax, "export", "--format", "asv", "--repo", str(repo), "--out", str(folder / "site"), *inputs], check=True, capture_output=True)
    return commits


def graph(site: Path, machine: str, name: str) -> list:
    found = [p for p in (site / "html" / "graphs").rglob(f"{name}.json") if f"machine-{machine}" in str(p)]
    if len(found) != 1:
        sys.exit(f"check_asv: {len(found)} graphs of {name} on {machine}")
    return json.loads(found[0].read_text())


def main() -> None:
    asv = os.environ.get("ASV") or shutil.which("asv")
    if not asv or not shutil.which("git"):
        print("check_asv: skipped: no asv: run 'pip install asv', or name it in ASV")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder, os.path.abspath(sys.argv[1]))
        done = subprocess.run([asv, "publish", "--no-pull"], cwd=folder / "site", capture_output=True, text=True)
        if done.returncode or not (folder / "site/html/index.json").exists():
            sys.exit(f"check_asv: asv publish failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        index = json.loads((folder / "site/html/index.json").read_text())
        latency = index["benchmarks"]["train.forward.latency"]
        wanted = (["batch", "framework"], [["'32'", "'256'"], ["'jax'", "'torch\\'s'"]], "seconds", "time")
        found = (latency["param_names"], latency["params"], latency["unit"], latency["type"])
        if found != wanted:
            sys.exit(f"check_asv: {found}, not {wanted}")
        values = [v for _, v in graph(folder / "site", "m1", "train.forward.latency")]
        if values != [[0.032, 0.032, 0.256, 0.256], [0.096, 0.096, 0.768, 0.768], [0.048, 0.048, 0.384, 0.384]]:
            sys.exit(f"check_asv: the graph has {values}")
        memory = [v for _, v in graph(folder / "site", "m2", "train.forward.memory")]
        if memory != [[2048] * 4]:
            sys.exit(f"check_asv: the graph of memory has {memory}")
    print(f"# read back: 12 values of latency, {values[0][0]} to {values[1][3]} s; 4 of memory, {memory[0][0]} bytes")
    print("check_asv: asv publish built a site of 5 runs, 3 commits, 2 machines; units, parameters and merged values are right")


if __name__ == "__main__":
    main()
