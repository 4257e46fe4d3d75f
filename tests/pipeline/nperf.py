#!/usr/bin/env python3
"""What nperf itself costs: the parent for each launch, the page of a large store, the gate of a large table; by `nperf exec`.

usage: nperf.py BUILD OUT [--tiny]     BUILD: a build folder; OUT: where nperf.md and nperf.jsonl go
--tiny: small stores, two launches, TAP: does it work at all?
"""
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from report import Command, Group, measure, shown
from row_stores import make_row_file, make_row_store, template

# 5 points of two native baselines, 11 launches each: what a user's sweep of small kernels is.
SWEEP = ("./nperf --case dense_matmul --baselines loops,tiled {points} --launches {launches} --repeats 3 --warmup 1 "
         "--out swept.jsonl {resume} --store store10000 --report sweep.md")


def prepare(build: Path, work: Path, tiny: bool) -> dict:
    work.mkdir(parents=True, exist_ok=True)
    (work / "nperf").unlink(missing_ok=True)
    (work / "nperf").symlink_to(build / "programs/nperf/nperf")
    provenance = template("./nperf", work)
    points, runs = (2, 2) if tiny else (250, 20)
    counts = {"rendered": make_row_store(work / "store", runs, points, provenance),
              "gated": make_row_file(work / "base.jsonl", 1, points, provenance),
              "stored": make_row_store(work / "store10000", runs, points // 10 or 1, provenance)}
    make_row_file(work / "now.jsonl", 2, points, provenance)
    files = sorted((work / "store10000").glob("case_*/*.jsonl"))
    (work / "rows10000.jsonl").write_text("".join(f.read_text() for f in files if not f.name.endswith(".raw.jsonl")))
    return counts


def sweep(tiny: bool, resume: bool) -> str:
    sizes = (8, 12) if tiny else (8, 12, 16, 20, 24)
    points = " ".join(f"""--point '{{"m":{n},"k":{n},"n":{n}}}'""" for n in sizes)
    return SWEEP.format(points=points, launches=2 if tiny else 11, resume="--resume" if resume else "")


def waited(work: Path, run: str) -> tuple:
    """Launches of a run, and the seconds that were the workers'."""
    done = subprocess.run(["./nperf", "raw", run, "--case", "dense_matmul", "--store", "store10000"], cwd=work, check=True, capture_output=True, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return len(lines), sum(line["wall_s"] - 1e-9 * float(line["overhead_ns"]) for line in lines)


def overheads(group: Group, work: Path) -> list:
    """[s] of each exec run of the sweep: what its launches cost beside the workers' own time, start and end of the program included."""
    before = {f.name for f in (work / "store10000/dense_matmul").glob("*.jsonl")} if (work / "store10000/dense_matmul").exists() else set()
    measure(group, work)
    runs = sorted(f.name[: -len(".jsonl")] for f in (work / "store10000/dense_matmul").glob("*.jsonl") if f.name not in before)
    costs = []
    for run, seconds in zip(runs[-group.launches:], group.commands[0].costs()):
        launches, workers = waited(work, run)
        costs.append((seconds - workers) / launches)
    return costs


def groups(counts: dict, tiny: bool) -> list:
    few = 2 if tiny else 7
    rendered, gated = f"{counts['rendered']:,}", f"{counts['gated']:,}"
    return [
        Group(f"page of a store of {rendered} rows", [Command("nperf --render-from", "./nperf --render-from store --site page > page.txt")], 3000, few,
              note="through the index beside the store; rows are as large as measured ones"),
        Group(f"the same, index made anew", [Command("nperf --render-from", "./nperf --render-from store --site page > page.txt")], None, 2 if tiny else 3, "rm -f store/index.sqlite* store/*.sqlite*"),
        Group(f"gate of {gated} keys", [Command("nperf gate", "./nperf gate --baseline base.jsonl --current now.jsonl --undecided-passes > gate.txt")], 1000, few,
              note="25 launches a side in each key; JSON and markdown are written"),
    ]


def line(title: str, values: list, memory, goal_ms, goal_mb=None) -> str:
    middle, least = statistics.median(values), min(values)
    reached = ""
    if goal_ms:
        reached = "yes" if middle * 1e3 <= goal_ms else "no"
        if goal_mb and memory > goal_mb:
            reached = "not in memory"
    goal = ", ".join(filter(None, [f"{goal_ms:g} ms" if goal_ms else "", f"{goal_mb} MB" if goal_mb else ""]))
    return f"| {title} | {shown(middle)} | {shown(least)} | {f'{memory:.0f} MB' if memory else ''} | {goal} | {reached} |"


def main() -> None:
    tiny = "--tiny" in sys.argv
    build, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    work = out / "nperf-cost" if tiny else build / "nperf-cost"
    os.environ.setdefault("XDG_CACHE_HOME", str(work / "cache"))
    out.mkdir(parents=True, exist_ok=True)
    counts = prepare(build, work, tiny)
    lines, rows, notes = [], [], []

    for resume in (False, True):
        title = f"parent's own time for a launch, {counts['stored']:,} rows in its store" + (", and as many in the row file that --resume carries on" if resume else "")
        launching = Group(title, [Command("sweep", sweep(tiny, resume))], None if resume else 10, 2 if tiny else 3 if resume else 7, "cp rows10000.jsonl swept.jsonl" if resume else None)
        print(f"nperf: {title}", file=sys.stderr)
        lines.append(line(title, overheads(launching, work), 0, launching.goal_ms))
        rows += [json.dumps({**row, "point_label": title}) for row in launching.commands[0].rows]
    notes.append("- A launch: wall time of a whole `nperf` of 110 launches (5 points, 2 native baselines) less what the workers took, over the launches: inputs, oracle,\n"
                 "  the parent's part of each conversation, the row file after each point, estimates, the report and the store are in it.")
    for group in groups(counts, tiny):
        print(f"nperf: {group.title}", file=sys.stderr)
        for row in measure(group, work):
            rows.append(json.dumps({**row, "point_label": group.title}))
        command = group.commands[0]
        memory = max(row["metrics"]["host_rss"]["value"] or 0 for row in command.rows)
        lines.append(line(group.title, command.costs(), memory, group.goal_ms, 300 if group.title.startswith("page") else None))
        if group.note:
            notes.append(f"- {group.title}: {group.note}.")
    machine = json.loads(rows[0])["provenance"]
    text = ("# What nperf itself costs\n\nCommands as fresh processes under `nperf exec`; memory is the process's largest. `make report-nperf` renews this page.\n\n"
            f"{machine['machine']['cpu_model']}, {machine['machine']['cores']} cores; revision {machine['tool']['revision']}, {machine['tool']['build']}.\n\n"
            "| what | median | least | memory | goal | reached |\n|---|--:|--:|--:|--:|---|\n")
    (out / "nperf.md").write_text(text + "\n".join(lines) + "\n\n" + "\n".join(notes) + "\n")
    (out / "nperf.jsonl").write_text("\n".join(rows) + "\n")
    if tiny:
        print("1..1\nok 1 - nperf")


if __name__ == "__main__":
    main()
