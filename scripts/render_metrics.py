#!/usr/bin/env python3
"""Writes docs/reference/metrics/: a page for each metric function and an index, from the library's table, and comparisons.md, from the fixtures.

usage: render_metrics.py [--check]   (PYTHONPATH finds calibrax_c; --check: writes nothing, exit status 1 if a page is not what it should be)

Examples are computed when a page is written, and again when it is checked.
"""
import json
import math
import sys
from pathlib import Path
from typing import Any

from calibrax_c import metrics

ROOT = Path(__file__).resolve().parent.parent
FOLDER, CASES = ROOT / "docs" / "reference" / "metrics", ROOT / "tests" / "fixtures" / "metrics"
AXIOMS = {1: "symmetric", 2: "d(x, x) = 0", 4: "positive for different operands", 8: "triangle inequality", 16: "proper scoring rule"}
INVARIANCES = {1: "scale of each operand", 2: "common scale", 4: "common shift", 8: "common rotation", 16: "common order of the items",
               32: "order of each sample", 64: "increasing functions of the first operand", 128: "numbering of labels or vertices",
               256: "congruence", 512: "orthogonal transformations", 1024: "Lorentz transformations"}
BETTER = {"higher": "higher", "lower": "lower", "info": "neither: it informs"}
TIERS = {"pure_function": "arithmetic of the operands (`pure_function`)", "frozen_backbone": "features that a fixed model makes (`frozen_backbone`)",
         "learned": "features, with weights of its own (`learned`)", "metric_learning": "a loss that makes embeddings (`metric_learning`)"}
DIFFERENTIABLE, DATA_SHAPED, WEIGHTED, FEATURES = 1, 2, 4, 64


def words(table: dict[int, str], bits: int) -> str:
    return ", ".join(word for bit, word in table.items() if bits & bit)


def number(x: float) -> str:
    return "∞" if x == math.inf else "-∞" if x == -math.inf else str(int(x)) if x == int(x) and abs(x) < 1e15 else f"{x:g}"


def bounds(low: float, high: float) -> str:
    if 0 < low < 1e-300:
        return "above 0" if high == math.inf else f"above 0, at most {number(high)}"
    return f"{number(low)} to {number(high)}"


def example(row: dict[str, Any]) -> str:
    call = f"metrics.{row['name']}({row['example']})"
    return f"```pycon\n>>> from calibrax_c import metrics\n>>> {call}\n{eval(call)!r}\n```"  # noqa: S307


def page(row: dict[str, Any]) -> str:
    name = row["name"]
    lines = [f"# {name}: {row['summary']}", "", f"    {row['formula']}", ""]
    if row["notes"]:
        lines += [row["notes"], ""]
    axioms, invariances = words(AXIOMS, row["axioms"]), words(INVARIANCES, row["invariances"])
    facts = [("domain", f"[{row['domain']}](README.md#{row['domain']})"), ("tier", TIERS[row["tier"]]), ("better", BETTER[row["direction"]]),
             ("range", bounds(*row["range"])), ("axioms", axioms or "–"), ("does not change with", invariances or "–"),
             ("gradient", "yes" if row["flags"] & DIFFERENTIABLE else "no"),
             ("jit, vmap", "yes, as one step on the CPU that reads values" if row["flags"] & DATA_SHAPED else "yes"),
             ("weights", "yes" if row["form"] == "items" or row["flags"] & WEIGHTED else "no"),
             ("a state keeps", "a sketch" if row["sketch"] else {"items": "two sums", "parts": "sums", "whole": "all data"}[row["form"]]), ("source", row["source"] or "–")]
    lines += ["| | |", "|---|---|", *(f"| {k} | {v} |" for k, v in facts), "", "| operand | is |", "|---|---|"]
    each = {"first": ", a row for each item", "second": ", a row for each item", "pairs": ", a number for each pair of items", "none": ""}
    lines += [f"| `{n}` | {text}{'; may be left out' + each[items] if optional else ''} |" for (n, _, text, optional), items in zip(row["operands"], row["items"], strict=True)]
    if row["function"]:
        lines.append(f"| `function` | a function of {row['function']}{'; without it operands are features' if row['flags'] & FEATURES else ''} |")
    if row["parameters"]:
        lines += ["", "| parameter | is | values | default |", "|---|---|---|---|"]
    for n, text, kind, value, low, high, choices in row["parameters"]:
        legal = ", ".join(f"`'{w}'`" for w in choices.split("|")) if kind == "choice" else "True, False" if kind == "bool" else bounds(low, high)
        default = repr(choices.split("|")[int(value)]) if kind == "choice" else str(bool(value)) if kind == "bool" else number(value)
        lines.append(f"| `{n}` | {text} | {legal} | {default} |")
    if row["example"]:
        lines += ["", example(row)]
    files = " ".join(f"{n}.npy" for n, *_, optional in row["operands"] if not optional)
    if not row["function"] or row["flags"] & FEATURES:
        lines += ["", f"    calibrax metrics compute {name} {files}"]
    return "\n".join(lines) + "\n"


def index(rows: list[dict[str, Any]]) -> str:
    lines = ["# Metric functions", "", f"{len(rows)} functions; `calibrax metrics list` and `describe` print the same table. They are called",
             "from C (`calibrax/metrics/metrics.h`), from Python (`calibrax_c.metrics`), and on files (`calibrax metrics compute`).",
             "These pages are written by `scripts/render_metrics.py` from the table of the library.", ""]
    lines += ["[comparisons.md](comparisons.md): what they are compared with, and where digits differ.", ""]
    for domain in dict.fromkeys(row["domain"] for row in rows):
        lines += [f"## {domain}", "", "| metric | | better |", "|---|---|---|"]
        lines += [f"| [{r['name']}]({r['name']}.md) | {r['summary']} | {r['direction']} |" for r in rows if r["domain"] == domain]
        lines.append("")
    return "\n".join(lines[:-1]) + "\n"


def comparisons(rows: list[dict[str, Any]]) -> str:
    """Of the fixtures of scripts/fixtures/metric_cases: which metrics have cases, and the reasons of tolerances."""
    cases = [json.loads(line) for file in sorted(CASES.glob("*.jsonl")) for line in file.read_text(encoding="utf-8").splitlines()]
    compared = {c["metric"] for c in cases}
    exceptions = sorted({(c["metric"], c["tolerance"], c["reason"]) for c in cases if "tolerance" in c})
    alone = [f"[{r['name']}]({r['name']}.md)" for r in rows if r["name"] not in compared]
    lines = ["# Comparisons of metric functions with other packages", "",
             "`make compare-metrics` draws 200 random cases for each generator in `scripts/fixtures/metric_cases/` and compares results with those of",
             "scikit-learn, SciPy, scikit-image, torchmetrics, pytorch-metric-learning and packages of single domains; what no package has is computed",
             "from its definition in NumPy. `make test` does the same with the few cases of `tests/fixtures/metrics`. The tolerance is 1e-10, relative",
             "to the result or to 1 if that is smaller, except for the following. The definition that a metric has is on its page, with its source;",
             "where packages differ, its notes name the choice. This page is written by `scripts/render_metrics.py` from the fixtures.", "",
             "| metric | tolerance | reason |", "|---|---|---|",
             *(f"| [{name}]({name}.md) | {tolerance:g} | {reason} |" for name, tolerance, reason in exceptions)]
    if alone:
        lines += ["", "Tested by their properties alone, without a case: " + ", ".join(alone) + "."]
    return "\n".join(lines) + "\n"


def main() -> int:
    rows = list(metrics._rows.values())
    pages = {f"{row['name']}.md": page(row) for row in rows} | {"README.md": index(rows), "comparisons.md": comparisons(rows)}
    there = {p.name: p.read_text(encoding="utf-8") for p in FOLDER.glob("*.md")}
    if "--check" in sys.argv:
        wrong = sorted(n for n in pages.keys() | there.keys() if pages.get(n) != there.get(n))
        print("\n".join(f"docs/reference/metrics/{n} is old: run `make docs-metrics`" for n in wrong))
        return bool(wrong)
    FOLDER.mkdir(exist_ok=True)
    for name in there.keys() - pages.keys():
        (FOLDER / name).unlink()
    for name, text in pages.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
