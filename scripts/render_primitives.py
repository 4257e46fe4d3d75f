#!/usr/bin/env python3
"""Writes the table of primitives into docs/backends.md, from calibrax/array/primitive.h and rules.h.

usage: render_primitives.py [--check|--selftest]   (--check: writes nothing, exit status 1 if the page is not what it should be)
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "backends.md"
BEGIN, END = "<!-- primitives: written by scripts/render_primitives.py -->\n", "<!-- end of primitives -->\n"
COLUMNS = ("primitive", "operands", "dtypes", "results", "class", "work", "reference", "jvp", "transpose", "batch")


def arguments(text: str) -> list[str]:
    """The arguments of a row of an X macro; commas within parentheses and quotes do not divide."""
    found = re.findall(r"(?:\"[^\"]*\"|\([^()]*\)|[^,\"()])+", text)
    return [f.strip().strip('"') for f in found]


def rows_of(path: Path, macro: str) -> dict[str, list[str]]:
    text = path.read_text(encoding="utf-8")
    start = text.index(f"#define {macro}(X)")
    table = text[start:text.index("/* clang-format on */", start)]
    for short, first, last, row in re.findall(r"#define (CBX__\w+)\(X, (\w+), (\w+)\) +X\((.*)\)$", text, re.M):
        for call, *given in re.findall(rf"({short}\(X, (\w+), (\w+)\))", table):
            words = dict(zip((first, last), given))
            whole = re.sub(r"\w+", lambda w: words.get(w[0], w[0]), row)
            table = table.replace(call, f"\nX({whole})\n")
    rows = [arguments(m) for m in re.findall(r"^ *X\((.*)\) *\\?$", table, re.M)]
    return {row[0]: row[1:] for row in rows}


def work_of(word: str) -> str:
    """Words for a cost of rules.h."""
    kind, _, inside = word.partition("(")
    n = [part.strip() for part in inside.rstrip(")").split(",")]
    if kind == "EACH":
        return f"{n[0]} a result" if n[0] == n[1] else f"{n[0]} a result, {n[1]} complex"
    if kind == "FUNCTION":
        return "a function a result"
    if kind in ("WORK", "FOLDS", "OF_SECOND"):
        return {"moves": "0", "views": "0, no bytes"}.get(n[0], n[0].replace("_", " "))
    return {"NOTHING": "of its functions", "UNKNOWN": "not counted", "THREEFRY": "of its rounds", "GAMMA": "of its draws"}.get(kind, kind.lower())


def table(folder: Path) -> str:
    table_rows, rules = rows_of(folder / "primitive.h", "CBX_PRIM_MAP"), rows_of(folder / "rules.h", "CBX__RULES_MAP")
    if list(table_rows) != list(rules) and set(table_rows) != set(rules):
        raise SystemExit(f"render_primitives: tables differ in {sorted(set(table_rows) ^ set(rules))}")
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    for name, (_, word, _, operands, dtypes, results, kind, _) in table_rows.items():
        reference, work, jvp, transpose, batch = rules[name]
        cells = [f"`{word}`", operands, dtypes, results, kind, work_of(work), reference, jvp, transpose, batch]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def rendered(page: str, made: str) -> str:
    head, rest = page.split(BEGIN)
    return head + BEGIN + "\n" + made + "\n" + END + rest.split(END)[1]


def selftest(made: str, page: str) -> int:
    assert arguments('FULL, 0, "a, b", NO(1, 2), x') == ["FULL", "0", "a, b", "NO(1, 2)", "x"]
    assert rendered(page, made + "| more |\n") != page, "a row that is missing is seen"
    print("render_primitives: the self-test passed")
    return 0


def main() -> int:
    page, made = PAGE.read_text(encoding="utf-8"), table(ROOT / "calibrax" / "array")
    if "--selftest" in sys.argv:
        return selftest(made, page)
    if "--check" in sys.argv:
        same = rendered(page, made) == page
        print("1..1\n" + ("ok" if same else "not ok") + " 1 - docs/backends.md has the primitives of primitive.h and rules.h")
        if not same:
            print("# run scripts/render_primitives.py")
        return not same
    PAGE.write_text(rendered(page, made), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
