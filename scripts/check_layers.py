#!/usr/bin/env python3
"""Checks every #include "..." against scripts/layers.txt: dependence runs one way.

A module may include itself and any row below its own. `suites`, `programs` and `python` may include public headers (the list
that the build installs) and those of the tools tier only. Prints one line for each wrong include, with file and line number; exit 1 if there is one.
Files that include each other form a cycle, where a source counts as one with its header and the internal header of it; a cycle has
at most three of them.  In calibrax/array what is inside of a backend is known to that backend and to the list of backends alone.
With --selftest it proves on planted lines that a wrong include and a long cycle are found.
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
PUBLIC_ONLY = ("suites", "programs", "python")
CYCLE = 3
BACKENDS = ("reference", "jit", "cuda", "device")
BACKEND_LIST = "calibrax/array/backend_list.c"


def tracked(*names: str) -> list[str]:
    """Files of the repository, tracked or new, that match one of the names; no name: all."""
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", *names], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [f for f in out.splitlines() if (ROOT / f).is_file()]


def verdict(faults: list[str]) -> int:
    """The exit status of a check that has found these, a line each."""
    print("\n".join(faults))
    return 1 if faults else 0


def read_rows(text: str) -> dict[str, int]:
    rows = [line.split() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return {module: i for i, row in enumerate(rows) for module in row}


def module_of(path: str) -> str | None:
    parts = path.split("/")
    if parts[0] == "calibrax":
        return parts[1] if len(parts) > 2 else None
    return parts[0] if parts[0] in PUBLIC_ONLY else None


def public_headers(root: Path) -> set[str]:
    """Headers that are installed."""
    return listed_headers(root, "public_headers")


def listed_headers(root: Path, tier: str) -> set[str]:
    """Headers of a list `TIER = [...]` in calibrax/meson.build."""
    listed = re.search(tier + r" = \[([^\]]*)\]", (root / "calibrax/meson.build").read_text())
    return set(re.findall(r"'([^']+\.h)'", listed.group(1)))


def wrong_includes(path: str, lines: list[str], rows: dict[str, int], public: set[str]) -> list[str]:
    module = module_of(path)
    wrong = []
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        target = match and module_of(match.group(1))
        if not module or not target or target == module:
            continue
        if target not in rows or module not in rows:
            wrong.append(f"{path}:{number}: module of '{match.group(1)}' is not in scripts/layers.txt")
        elif rows[target] >= rows[module]:
            wrong.append(f"{path}:{number}: {module} may not include '{match.group(1)}'")
        elif module in PUBLIC_ONLY and target not in PUBLIC_ONLY and match.group(1) not in public:
            wrong.append(f"{path}:{number}: {module} may include public headers only, and '{match.group(1)}' is internal")
    return wrong


def inside_of_backends(path: str, lines: list[str], public: set[str]) -> list[str]:
    """Includes of what is inside of a backend, from files that belong to no backend."""
    parts = path.split("/")
    if parts[:2] != ["calibrax", "array"] or path == BACKEND_LIST or parts[2] in BACKENDS:
        return []
    found = []
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        target = match.group(1).split("/") if match else []
        if target[:2] == ["calibrax", "array"] and target[2] in BACKENDS and match.group(1) not in public:
            found.append(f"{path}:{number}: '{match.group(1)}' is inside of a backend: the core knows {BACKEND_LIST} alone")
    return found


def unit_of(path: str) -> str:
    """A source and its headers are one: run.c, run.h, run_internal.h."""
    return re.sub(r"(_internal)?\.\w+$", "", path)


def long_cycles(sources: dict[str, str]) -> list[str]:
    """Strongly connected units that are too many, by the algorithm of Tarjan (SIAM J. Comput. 1 (1972) 146-160)."""
    graph: dict[str, set[str]] = {unit_of(path): set() for path in sources}
    for path, text in sources.items():
        targets = (INCLUDE.match(line) for line in text.splitlines())
        graph[unit_of(path)] |= {unit_of(m.group(1)) for m in targets if m and unit_of(m.group(1)) in graph} - {unit_of(path)}
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(unit: str) -> None:
        index[unit] = low[unit] = len(index)
        stack.append(unit)
        for other in graph[unit]:
            if other not in index:
                visit(other)
            if other in stack:
                low[unit] = min(low[unit], low[other])
        if low[unit] == index[unit]:
            at = stack.index(unit)
            cycle = sorted(stack[at:])
            del stack[at:]
            if len(cycle) > CYCLE:
                found.append(f"{len(cycle)} files include each other in a cycle, at most {CYCLE} may: {', '.join(cycle)}")

    for unit in graph:
        if unit not in index:
            visit(unit)
    return found


def selftest(rows: dict[str, int], public: set[str]) -> list[str]:
    planted = {
        "calibrax/base/x.c": ('#include "calibrax/core/run.h"', 1),
        "calibrax/array/x.c": ('#include "calibrax/statistics/estimate.h"', 1),
        "calibrax/core/x.c": ('#include "calibrax/base/json.h"', 0),
        "suites/x.c": ('#include "calibrax/perf/not_public.h"', 1),
        "programs/x.c": ('#include "calibrax/perf/launch/launch.h"', 0),
        "python/x.c": ('#include "calibrax/array/internal.h"', 1),
    }
    backend = {
        "calibrax/array/scope.c": ('#include "calibrax/array/reference/fft.h"', 1),
        "calibrax/array/trace/x.c": ('#include "calibrax/array/jit/jit.h"', 1),
        "calibrax/array/jit/x.c": ('#include "calibrax/array/reference/reference.h"', 0),
        "calibrax/array/doctor.c": ('#include "calibrax/array/device/device.h"', 0),
        BACKEND_LIST: ('#include "calibrax/array/jit/jit.h"', 0),
    }
    ring = {f"calibrax/x/{a}.c": f'#include "calibrax/x/{b}.h"' for a, b in ("ab", "bc", "cd", "da")} | {f"calibrax/x/{a}.h": "" for a in "abcd"}
    missed = [path for path, (line, n) in planted.items() if len(wrong_includes(path, [line], rows, public)) != n]
    missed += [path for path, (line, n) in backend.items() if len(inside_of_backends(path, [line], public)) != n]
    if len(long_cycles(ring)) != 1 or long_cycles({k: v for k, v in ring.items() if k != "calibrax/x/d.c"}):
        missed.append("a ring of four files")
    return missed


def main() -> int:
    rows = read_rows((ROOT / "scripts/layers.txt").read_text())
    public = public_headers(ROOT) | listed_headers(ROOT, "tool_headers")
    if "--selftest" in sys.argv:
        return verdict([f"the check is blind to the include planted in {path}" for path in selftest(rows, public)])
    texts = {f: (ROOT / f).read_text() for f in tracked("*.c", "*.h", "*.inc")}
    wrong = [w for f, text in texts.items() for w in wrong_includes(f, text.splitlines(), rows, public)]
    wrong += [w for f, text in texts.items() for w in inside_of_backends(f, text.splitlines(), public)]
    wrong += long_cycles({f: text for f, text in texts.items() if not f.startswith(("tests/", "examples/"))})
    return verdict(wrong)


if __name__ == "__main__":
    sys.exit(main())
