#!/usr/bin/env python3
"""Checks every #include "..." against scripts/layers.txt: dependence runs one way.

A module may include itself and any row below its own. `suites`, `programs` and `python` may include public headers (the list
that the build installs) and those of the tools tier only. Prints one line for each wrong include, with file and line number; exit 1 if there is one.
With --selftest it proves on planted lines that a wrong include is found.
"""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
PUBLIC_ONLY = ("suites", "programs", "python")


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


def selftest(rows: dict[str, int], public: set[str]) -> list[str]:
    planted = {
        "calibrax/base/x.c": ('#include "calibrax/core/run.h"', 1),
        "calibrax/array/x.c": ('#include "calibrax/statistics/estimate.h"', 1),
        "calibrax/core/x.c": ('#include "calibrax/base/json.h"', 0),
        "suites/x.c": ('#include "calibrax/perf/not_public.h"', 1),
        "programs/x.c": ('#include "calibrax/perf/launch/launch.h"', 0),
        "python/x.c": ('#include "calibrax/array/internal.h"', 1),
    }
    return [path for path, (line, n) in planted.items() if len(wrong_includes(path, [line], rows, public)) != n]


def main() -> int:
    rows = read_rows((ROOT / "scripts/layers.txt").read_text())
    public = public_headers(ROOT) | listed_headers(ROOT, "tool_headers")
    if "--selftest" in sys.argv:
        missed = selftest(rows, public)
        print("\n".join(f"the check is blind to the include planted in {path}" for path in missed), end="")
        return 1 if missed else 0
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.c", "*.h", "*.inc"], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.split()
    wrong = [w for f in files if (ROOT / f).exists() for w in wrong_includes(f, (ROOT / f).read_text().splitlines(), rows, public)]
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
