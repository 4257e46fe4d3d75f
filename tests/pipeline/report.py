#!/usr/bin/env python3
"""Runs the pipeline's commands and kernels under `nperf exec`, beside the Python package calibrax, SciPy and ruptures where they are.

usage: report.py BUILD OUT [--tiny] [--only WORD]     BUILD: a build folder; OUT: where pipeline.md and pipeline.jsonl go
--only: rows whose title holds the word
--tiny: small stores, two launches, no rivals, TAP: does it work at all?
Rivals come from the environments of scripts/setup-refs.sh calibrax statistics.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from stores import make_series, make_store

HERE = Path(__file__).resolve().parent
REFS = Path(os.environ.get("NPERF_REFS_ENV_DIR") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "calibrax/refs")
LIST = "'from calibrax.storage import Store; import sys; print(len(Store(sys.argv[1]).list_runs()))'"
TREND = "--metric latency --point point3"
MS = 1e3


@dataclass
class Command:
    """A command, or a kernel whose cost is the difference between two numbers of times."""

    name: str
    text: str  # {times} for a kernel
    times: int = 0
    rows: list = field(default_factory=list)

    def costs(self) -> list:
        """Seconds, a round each: the launches of a round stood beside each other."""
        first, last = (row["metrics"]["steady_time"]["launches"] for row in (self.rows[0], self.rows[-1]))
        return [(b - a) / self.times for a, b in zip(first, last)] if self.times else last


@dataclass
class Group:
    title: str
    commands: list
    goal_ms: float | None = None  # of the first command
    launches: int = 11
    setup: str | None = None
    note: str = ""
    warmup: int = 1


def groups(tiny: bool) -> list:
    few, slow = 5, 3  # launches; slow: a rival takes many seconds
    found = {name: not tiny and (REFS / name / "bin/python").exists() for name in ("calibrax", "statistics")}
    package = found["calibrax"]
    others = found["statistics"]

    def rivals(condition: bool, *commands: Command) -> list:
        return list(commands) if condition else []

    def kernel(name: str, times: int, data: str, program: str = "./kernels") -> str:
        return f"{program} {name} {{times}} {data}"

    return [
        Group("calibrax --help", [Command("calibrax", "./calibrax --help"), *rivals(package, Command("Python package", "./py-package --help"))], 10),
        Group("check, 1,000 runs", [Command("calibrax", "./calibrax check --data runs1000"),
                                    *rivals(package, Command("Python package", "./py-package check --data runs1000"))], 15, few + 2),
        Group("list, 10,000 runs", [Command("calibrax", "./calibrax show --list --data runs10000"), *rivals(package, Command("Python package", f"./py-calibrax -c {LIST} runs10000"))], 50, slow, warmup=0),
        Group("trend, 10,000 runs", [Command("calibrax", f"./calibrax trend --data runs10000 {TREND}"),
                                     *rivals(package, Command("Python package", f"./py-package trend --data runs10000 {TREND} --framework flax"))], 50, slow, warmup=0),
        Group("check, 10,000 runs", [Command("calibrax", "./calibrax check --data runs10000"), *rivals(package, Command("Python package", "./py-package check --data runs10000"))], 50, slow, warmup=0),
        Group("list, 10,000 runs, no index", [Command("calibrax", "./calibrax show --list --data runs10000")], 1000, few, "rm -f runs10000/index.sqlite*",
              "the index file is deleted before each launch; run files are in the page cache"),
        Group("trend, 10,000 runs, no index", [Command("calibrax", f"./calibrax trend --data runs10000 {TREND}")], 1000, few, "rm -f runs10000/index.sqlite*"),
        Group("check, 10,000 runs, no index", [Command("calibrax", "./calibrax check --data runs10000")], 1000, few, "rm -f runs10000/index.sqlite*"),
        Group("trend of one series among 10^6 values", [Command("calibrax", f"./calibrax trend --data million {TREND}")], 20, few + 6,
              note="1,000 runs of 1,000 values; a store of 10,000 runs needs one stat a run more"),
        Group("append a run to 10,000", [Command("libcalibrax", kernel("append", 50, "runs10000"), 50)], 2, few,
              "rm -f runs10000/runs/new-*", "fsync does nothing in this program; a disk adds its own time"),
        Group("bootstrap, 10,000 resamples of 1,000 values", [Command("libcalibrax", kernel("bootstrap", 50, "values.bin"), 50),
              *rivals(others, Command("SciPy", kernel("scipy_bootstrap", 10, "values.bin", "./py-scipy kernels.py"), 10)),
              *rivals(package, Command("Python package", kernel("calibrax_bootstrap", 3, "values.bin", "./py-calibrax kernels.py"), 3))], 15, few, note="one thread each, mean, percentile"),
        Group("change points, 10,000 values with 10 changes", [Command("libcalibrax", kernel("changes", 200, "changes.bin"), 200),
              *rivals(others, Command("ruptures KernelCPD", kernel("ruptures_kernel", 10, "changes.bin", "./py-scipy kernels.py"), 10),
                      Command("ruptures Pelt", kernel("ruptures_default", 1, "changes.bin", "./py-scipy kernels.py"), 1))], 5, slow),
        Group("change points, 10,000 values without any", [Command("libcalibrax", kernel("changes", 100, "flat.bin"), 100),
              *rivals(others, Command("ruptures KernelCPD", kernel("ruptures_kernel", 10, "flat.bin", "./py-scipy kernels.py"), 10),
                      Command("ruptures Pelt", kernel("ruptures_default", 1, "flat.bin", "./py-scipy kernels.py"), 1))], 40, slow),
        Group("change points, 1,000 series of 500", [Command("libcalibrax", kernel("series", 5, "series.bin"), 5),
              *rivals(others, Command("ruptures KernelCPD", kernel("ruptures_series", 1, "series.bin", "./py-scipy kernels.py"), 1))], 1000, few),
    ]


def prepare(build: Path, work: Path, tiny: bool) -> None:
    """A folder in which every command is short and names nothing of this machine."""
    scale = 100 if tiny else 1
    work.mkdir(parents=True, exist_ok=True)
    make_store(work / "runs1000", 1000 // scale, 10, 5)
    make_store(work / "runs10000", 10000 // scale, 10, 5)
    make_store(work / "million", 1000 // scale, 200, 5)
    make_series(work / "values.bin", 1000, 0)
    make_series(work / "changes.bin", 10000, 10)
    make_series(work / "flat.bin", 10000, 0)
    make_series(work / "series.bin", 500000 // scale, 0)
    for name, target in (("calibrax", build / "programs/calibrax/calibrax"), ("nperf", build / "programs/nperf/nperf"),
                         ("kernels", build / "tests/pipeline/pipeline_kernels"), ("kernels.py", HERE / "kernels.py")):
        (work / name).unlink(missing_ok=True)
        (work / name).symlink_to(target)
    for name, program in (("calibrax", "calibrax/bin/python"), ("package", "calibrax/bin/calibrax"), ("scipy", "statistics/bin/python")):
        script = work / f"py-{name}"
        script.write_text(f'#!/bin/sh\nexec "{REFS / program}" "$@"\n')
        script.chmod(0o755)
    for store in ("runs1000", "runs10000", "million"):  # warm
        subprocess.run(["./calibrax", "show", "--list", "--data", store], cwd=work, check=True, stdout=subprocess.DEVNULL)


def measure(group: Group, work: Path) -> list:
    texts, owners = [], []
    for command in group.commands:
        for times in ((0, command.times) if command.times else (None,)):
            texts.append(command.text if times is None else command.text.replace("{times}", str(times)))
            owners.append(command)
    out = work / "rows.jsonl"
    out.unlink(missing_ok=True)
    call = ["./nperf", "exec", "--launches", str(group.launches), "--warmup", str(group.warmup), "--out", str(out), "--json"]
    if group.setup:
        call += ["--prepare", group.setup]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    done = subprocess.run(call + texts, cwd=work, env=env, capture_output=True, text=True)
    if done.returncode not in (0, 3):
        raise SystemExit(f"report: '{group.title}': nperf exec ended with {done.returncode}: {done.stderr.strip()[-600:]}")
    rows = {row["baseline"]: row for row in json.loads(done.stdout)["rows"]}
    for text, owner in zip(texts, owners):
        if rows[text]["status"] != "ok":
            raise SystemExit(f"report: '{text}': {rows[text]['failure_detail']}")
        owner.rows.append(rows[text])
    return [rows[text] for text in texts]


def shown(seconds: float) -> str:
    for scale, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * scale >= 1 or unit == "µs":
            return f"{seconds * scale:.3g} {unit}"
    return ""


def spread(values: list, unit) -> str:
    return f"{unit(min(values))} to {unit(max(values))}"


def table(done: list) -> str:
    lines = ["| what | who | median | least to most | memory | over ours, a round each | goal | reached |", "|---|---|--:|--:|--:|--:|--:|---|"]
    for group in done:
        ours = group.commands[0].costs()
        for i, command in enumerate(group.commands):
            costs = command.costs()
            median = statistics.median(costs)
            goal, reached = "", ""
            if i == 0 and group.goal_ms:
                goal, reached = f"{group.goal_ms:g} ms", "yes" if median * MS <= group.goal_ms else "no"
            memory = max(row["metrics"]["host_rss"]["value"] or 0 for row in command.rows)
            ratios = [b / a for a, b in zip(ours, costs) if a > 0]
            over = f"{statistics.median(ratios):.3g}x, {spread(ratios, '{:.3g}'.format)}" if i and ratios else ""
            lines.append(f"| {group.title if i == 0 else ''} | {command.name} | {shown(median)} | {spread(costs, shown)} | {memory:.1f} MB | {over} | {goal} | {reached} |")
    notes = [f"- {g.title}: {g.note}" for g in done if g.note]
    return "\n".join(lines) + "\n\n" + "\n".join(notes) + "\n"


def main() -> None:
    tiny = "--tiny" in sys.argv
    build, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    work = out / "pipeline" if tiny else build / "pipeline"
    out.mkdir(parents=True, exist_ok=True)
    prepare(build, work, tiny)
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
    done, rows = [group for group in groups(tiny) if only in group.title], []
    for group in done:
        if tiny:
            group.launches = 2
            for command in group.commands:
                command.times = min(command.times, 1)
        print(f"report: {group.title}", file=sys.stderr)
        for row in measure(group, work):
            rows.append(json.dumps({**row, "point_label": group.title}))
    machine = json.loads(rows[0])["provenance"]
    text = ("# The pipeline: store and statistics\n\n"
            "A launch is a fresh process; commands of a row are interleaved by `nperf exec`. A kernel's time is the difference between a\n"
            "process that does it n times and one that does it not at all, over n. Memory is the process's largest. `make report-pipeline`\n"
            "renews this page.\n\n"
            f"{machine['machine']['cpu_model']}, {machine['machine']['cores']} cores; revision {machine['tool']['revision']}, {machine['tool']['build']}.\n\n")
    (out / "pipeline.md").write_text(text + table(done))
    (out / "pipeline.jsonl").write_text("\n".join(rows) + "\n")
    for leftover in (work / "runs10000" / "runs").glob("new-*"):
        leftover.unlink()
    if tiny:
        print("1..1\nok 1 - report")


if __name__ == "__main__":
    main()
