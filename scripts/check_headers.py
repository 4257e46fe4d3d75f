#!/usr/bin/env python3
"""Compiles every public header, and every one of the tools tier, alone, as C17 and as C++17, with -Wall -Wextra -pedantic -Werror.

With --write it renews calibrax/calibrax.h, the header that includes all. With --selftest a header that lacks an include, and one that is not valid C++, must be refused.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from check_layers import ROOT, listed_headers, public_headers, read_rows  # noqa: E402

FLAGS = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"]
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
    print("\n".join(f"the check is blind to {name}" for name in blind))
    return 1 if blind else 0


def write_umbrella(public: list[str], rows: dict[str, int]) -> None:
    modules = sorted({header.split("/")[1] for header in public}, key=lambda module: (rows[module], module))
    groups = ["".join(f'#include "{h}"\n' for h in public if h.startswith(f"calibrax/{module}/")) for module in modules]
    (ROOT / "calibrax/calibrax.h").write_text(
        "/**\n * Calibrax for C: everything public.  Include single headers where compile time matters.\n */\n"
        "#ifndef CALIBRAX_CALIBRAX_H\n#define CALIBRAX_CALIBRAX_H\n\n" + "\n".join(groups) + "\n#endif\n")


def main() -> int:
    if "--write" in sys.argv:
        write_umbrella(sorted(public_headers(ROOT)), read_rows((ROOT / "scripts/layers.txt").read_text()))
    with tempfile.TemporaryDirectory() as work:
        if "--selftest" in sys.argv:
            return selftest(Path(work))
        public = sorted(public_headers(ROOT))
        tools = sorted(listed_headers(ROOT, "tool_headers"))
        wrong = [w for header in [*public, *tools, "calibrax/calibrax.h"] for w in refusals(header, ROOT, Path(work))]
    everything = (ROOT / "calibrax/calibrax.h").read_text()
    wrong += [f'calibrax/calibrax.h does not include "{header}"' for header in public if f'"{header}"' not in everything]
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
