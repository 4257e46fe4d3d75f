"""The table of ratios of reports/metrics.md: report_metrics.py ROWS.jsonl.

A ratio is a rival's median time over ours: above 1 ours takes less.  Rivals in brackets are not within the bound of the oracle (float32, or
a definition that is less exact): they are shown, and left out of the goals.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys

LESS = "-less"
# Why a rival takes less for the same number.
BEHIND = {
    "ranked_probability_skill_score": "the package takes negative scores and NaN; a check reads both operands again",
}
TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "suites", "metrics", "metrics.h")


def reasons() -> dict[str, str]:
    """Why metrics have no rival, by name."""
    with open(TABLE, encoding="utf-8") as file:
        return dict(re.findall(r'X\((\w+),\s*(?:\\\s*)?"([^"]+)"\)', file.read()))


def median(row: dict) -> float | None:
    value = ((row.get("metrics") or {}).get("steady_time") or {}).get("median")
    return value if isinstance(value, float) and value > 0 else None


def memory(row: dict) -> str:
    value = ((row.get("metrics") or {}).get("memory_increase") or {}).get("value")
    return f"{value:.0f}" if isinstance(value, (int, float)) else ""


def reading(row: dict) -> str:
    """The time to read the operands once, of the same run."""
    bound = ((row.get("metrics") or {}).get("work") or {}).get("bound_s")
    return f", at least {time(bound)}" if isinstance(bound, float) else ""


def time(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"


def main() -> int:
    points: dict[str, dict[str, dict]] = {}
    for row in map(json.loads, open(sys.argv[1], encoding="utf-8")):
        if row["param_point"].get("metric") and median(row):
            points.setdefault(row["point_label"], {})[row["baseline"]] = row
    alone = reasons()
    table, behind, over_sklearn, over_fastest, over_any = [], [], [], [], []
    for label, rows in points.items():
        rows = {b: r for b, r in rows.items() if r['status'] == 'ok' or b.endswith(LESS)}
        ours = rows.get("calibrax")
        if ours is None or ours["status"] != "ok":
            continue
        mine = median(ours)
        ratios = {b: median(r) / mine for b, r in rows.items() if b != "calibrax"}
        exact = {b: r for b, r in ratios.items() if not b.endswith(LESS) and rows[b]["status"] == "ok"}
        fastest = min(exact.items(), key=lambda x: x[1], default=None)
        if fastest:
            over_fastest.append(fastest[1])
            if fastest[1] < 1:
                behind.append((label, *fastest, reading(ours)))
        if ratios:
            over_any.append(min(ratios.values()))
        if "scikit-learn" in exact:
            over_sklearn.append(exact["scikit-learn"])
        cells = [f"{exact[b]:.2f}" if b in exact else f"({ratios[b + LESS]:.2f})" if b + LESS in ratios else "" for b in ("scikit-learn", "scipy", "domain", "pytorch-metric-learning", "torchmetrics", "calibrax-python")]
        rivals = [(memory(rows[b]), b) for b in exact]
        lowest = min((int(m) for m, _ in rivals if m), default=None)
        table.append(f"| {label} | {time(mine)} | {memory(ours)} | {'' if lowest is None else lowest} | " + " | ".join(cells) + f" | {f'**{fastest[1]:.2f}** ({fastest[0]})' if fastest else alone.get(label.split()[0], '')} |")

    def mean(x: list[float]) -> float:
        return math.exp(sum(map(math.log, x)) / len(x)) if x else math.nan

    print("# Metrics beside other packages\n")
    print("Median time of a rival over ours: above 1 ours takes less. In brackets: rivals outside the oracle's bound, in float32 or less exact. "
          "Memory is by how much the process grows; where a metric is compiled, ours has the compiler in it.\n")
    print(f"- over scikit-learn, {len(over_sklearn)} metrics: geometric mean **{mean(over_sklearn):.2f}** (goal: 3)")
    print(f"- over the fastest exact rival, {len(over_fastest)} metrics: geometric mean {mean(over_fastest):.2f}, {len(over_fastest) - len(behind)} at least as fast (goal: all)")
    print(f"- over the fastest of all rivals, less exact ones too, {len(over_any)} metrics: {sum(r >= 1 for r in over_any)} at least as fast")
    for label, rival, ratio, bound in sorted(behind, key=lambda x: x[2]):
        reason = BEHIND.get(label.split()[0])
        print(f"- below the goal: {label}: {ratio:.2f} of {rival}" + (f" ({reason}{bound})" if reason else ""))
    print("\n| metric | ours | our memory [MB] | lowest of rivals [MB] | scikit-learn | SciPy | domain's package | pytorch-metric-learning | torchmetrics | Python package | over the fastest |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    print("\n".join(table) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
