#!/usr/bin/env python3
"""Compiles every public header, and every one of the tools tier, alone, as C17 and as C++17, with -Wall -Wextra -pedantic -Werror.

An installed header may include installed headers only, and there are at most MAX_INSTALLED of them.
With --write it renews calibrax/calibrax.h and calibrax/tools.h, the headers that include all of a tier. 
With --selftest a header that lacks an include, one that is not valid C++, and one that includes what is not installed must be refused.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from check_layers import INCLUDE, ROOT, listed_headers, read_rows, verdict  # noqa: E402

FLAGS = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"]
MAX_INSTALLED = 70
BENCH = "calibrax/bench.h"  # installed, and included by whoever requires its macro
COMPILERS = {"C": (["gcc", "-std=c17"], ".c"), "C++": (["g++", "-std=c++17"], ".cc")}


def refusals(include: str, folder: Path, work: Path) -> list[str]:
    found = []
    for language, (command, suffix) in COMPILERS.items():
        source = work / f"alone{suffix}"
        source.write_text(f'#include "{include}"\ntypedef int the_unit_is_not_empty;\n')
        done = subprocess.run([*command, *FLAGS, f"-I{folder}", str(source)], capture_output=True, text=True)
        if done.returncode:
            found.append(f"{include} does not compile alone as {language}:\n{done.stderr}")
    return found


def selftest(work: Path) -> int:
    planted = {"no_include.h": "size_t f(void);\n", "not_cpp.h": "typedef struct s { int class; } s;\n"}
    for name, text in planted.items():
        (work / name).write_text(text)
    blind = [name for name in planted if not refusals(name, work, work)]
    blind += ["include of a header that is not installed"] if len(include_faults({"a.h": '#include "a.h"\n#include "b.h"\n'})) != 1 else []
    return verdict([f"the check is blind to {name}" for name in blind])


def umbrella(name: str, words: str, headers: list[str], rows: dict[str, int]) -> str:
    modules = sorted({header.split("/")[1] for header in headers}, key=lambda module: (rows[module], module))
    groups = ["".join(f'#include "{h}"\n' for h in headers if h.startswith(f"calibrax/{module}/")) for module in modules]
    guard = f"CALIBRAX_{name.upper()}_H"
    return f"/**\n * {words}\n */\n#ifndef {guard}\n#define {guard}\n\n" + "\n".join(groups) + "\n#endif\n"


def include_faults(installed: dict[str, str]) -> list[str]:
    """Installed headers, with their texts, that include one that is not installed."""
    lines = [(header, m.group(1)) for header, text in sorted(installed.items()) for line in text.splitlines() if (m := INCLUDE.match(line))]
    return [f'{header} includes "{target}", which is not installed' for header, target in lines if target not in installed]


def main() -> int:
    public, tools = (sorted(listed_headers(ROOT, tier)) for tier in ("public_headers", "tool_headers"))
    rows = read_rows((ROOT / "scripts/layers.txt").read_text())
    umbrellas = {"calibrax.h": umbrella("calibrax", "Calibrax for C: the whole API.  Include single headers where compile time matters.", public, rows),
                 "tools.h": umbrella("tools", "The tools tier: what our programs use besides calibrax.h.  Not installed.", tools, rows)}
    if "--write" in sys.argv:
        for name, text in umbrellas.items():
            (ROOT / "calibrax" / name).write_text(text)
    with tempfile.TemporaryDirectory() as work:
        if "--selftest" in sys.argv:
            return selftest(Path(work))
        everything = [*public, *tools, BENCH, *(f"calibrax/{name}" for name in umbrellas)]
        wrong = [w for header in everything for w in refusals(header, ROOT, Path(work))]
    wrong += [f"calibrax/{name} is old: scripts/check_headers.py --write" for name, text in umbrellas.items()
              if (ROOT / "calibrax" / name).read_text() != text]
    wrong += include_faults({h: (ROOT / h).read_text() for h in [*public, BENCH]})
    if len(public) + 2 > MAX_INSTALLED:
        wrong.append(f"{len(public) + 2} headers are installed, with calibrax.h and bench.h: at most {MAX_INSTALLED} (calibrax/meson.build)")
    return verdict(wrong)


if __name__ == "__main__":
    sys.exit(main())
