"""Stores of nperf rows for the report of the tool's own cost, as large as measured rows are: from a fixed seed, the same bytes each time."""
import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
from made_rows import row, run_id  # noqa: E402

MADE = "made"  # stands in a folder that is complete
BASELINES = ("stream", "naive", "tiled", "openblas", "numpy")
CASES = 4


def template(nperf: str, work: Path) -> dict:
    """Provenance of a row that was measured here, without its times: what a row is mostly made of."""
    out = work / "template.jsonl"
    subprocess.run([nperf, "--case", "dense_matmul", "--quick", "--baselines", "tiled", "--out", str(out), "--report", str(work / "template.md"),
                    "--site", str(work / "template")], cwd=work, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    good = [r for r in map(json.loads, out.read_text().splitlines()) if r["status"] == "ok"]
    return good[0]["provenance"]


def rows_of(run: int, case: int, points: int, provenance: dict, slow: float = 1.0) -> str:
    """One run of one case: every baseline at every point."""
    machine = "m" * 32
    lines = []
    for point in range(points):
        for b, baseline in enumerate(BASELINES):
            size = 16 * (point + 1)
            lines.append(json.dumps(row(run=run, case=f"case_{case}", baseline=baseline, point={"m": size, "n": size, "alg": "real", "seed": 0}, seconds=1e-6 * size * (b + 1) * slow,
                                        noise=0.01, machine=machine, provenance=provenance, representative=point == 0, point_label=f"{size}x{size}", seed=random.Random(run).random())))
    return "\n".join(lines) + "\n"


def make_row_store(root: Path, runs: int, points: int, provenance: dict) -> int:
    """@return rows in it: runs x CASES x points x baselines"""
    if not (root / MADE).exists():
        shutil.rmtree(root, ignore_errors=True)
        for case in range(CASES):
            (root / f"case_{case}").mkdir(parents=True)
            for run in range(runs):
                (root / f"case_{case}" / f"{run_id(run)}.jsonl").write_text(rows_of(run, case, points, provenance))
        (root / MADE).touch()
    return runs * CASES * points * len(BASELINES)


def make_row_file(path: Path, run: int, points: int, provenance: dict) -> int:
    """All cases of one run as one file.  @return its rows"""
    path.write_text("".join(rows_of(run, case, points, provenance) for case in range(CASES)))
    return CASES * points * len(BASELINES)
