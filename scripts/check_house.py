#!/usr/bin/env python3
"""Rules of the house that a program can check, each with a planted fault that --selftest proves it sees.

- every folder with sources has a README.md of its own (fixtures and corpora: of the folder above)
- no source file above 800 lines (tables in fixtures excepted)
- every source file opens with a comment
- library code neither prints, exits nor aborts (but the cheating workers in suites/selftest/exploits*.c, which do so to cheat)
- no marker of unfinished work
- comments that have lines of their own are at most 100 columns wide, in public headers those behind code too
"""
import re
import sys
from pathlib import Path

from check_layers import ROOT, public_headers, tracked, verdict

LIMIT = 800
WIDTH = 100
WHOLE_LINE = r"^ *(/\*|\*( |$))"
PRINTS = re.compile(r"(?<![\w.>])(printf|puts|putchar|perror|exit|_exit|abort)\s*\(|\bfprintf\s*\(\s*std(out|err)")
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
# The cheating workers of the self-test end their own process on purpose.
MAY_PRINT = re.compile(r"^((programs|tests|scripts|suites/.*/test|examples)/|suites/selftest/exploits)")


def strip_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.S)


def faults_of(path: str, text: str) -> list[str]:
    found = []
    is_c = path.endswith((".c", ".h"))
    lines = text.splitlines()
    if is_c and len(lines) > LIMIT:
        found.append(f"{path}: {len(lines)} lines, more than {LIMIT}: two ideas?")
    if is_c and not text.lstrip().startswith(("/*", "//")):
        found.append(f"{path}: does not open with a comment that states its purpose")
    if is_c and not MAY_PRINT.match(path):
        for number, line in enumerate(strip_comments(text).splitlines(), 1):
            if PRINTS.search(line):
                found.append(f"{path}:{number}: the library never prints, exits or aborts")
    for number, line in enumerate(lines, 1):
        if UNFINISHED.search(line):
            found.append(f"{path}:{number}: marker of unfinished work")
    return found


def wide_comments(path: str, text: str, begin: str) -> list[str]:
    """Lines that are too wide and hold the begin of a comment, but for those of a macro, whose ends are in one column, and words that do not fit."""
    return [f"{path}:{number}: a comment wider than {WIDTH} columns" for number, line in enumerate(text.splitlines(), 1)
            if len(line) > WIDTH and re.search(begin, line) and not re.search(r"\S{60}", line) and not line.endswith("\\")]


def folders_without_readme(files: list[str]) -> list[str]:
    folders = {str(Path(f).parent) for f in files if f.endswith((".c", ".py")) and not re.search(r"/(fixtures|corpus)/", f)}
    have = {str(Path(f).parent) for f in files if f.endswith("README.md")}
    return [f"{d}: no README.md" for d in sorted(folders - have)]


def selftest() -> int:
    good = "/* what it is for */\nint f(void);\n"
    planted = {
        "long file": ("calibrax/base/a.c", good + "\n" * LIMIT),
        "no opening comment": ("calibrax/base/a.c", "int f(void);\n"),
        "printing library": ("calibrax/base/a.c", good + 'static void g(void) { printf("x"); }\n'),
        "exiting library": ("calibrax/base/a.c", good + "static void g(void) { exit(1); }\n"),
        "unfinished": ("programs/a.c", good + "/* TO" "DO */\n"),
    }
    blind = [name for name, (path, text) in planted.items() if len(faults_of(path, text)) != 1]
    blind += ["clean file"] if faults_of("calibrax/base/a.c", good) else []
    blind += ["wide comment"] if len(wide_comments("a.h", f"/* {'x ' * 50} */\n/* {'x ' * 40} */\n", WHOLE_LINE)) != 1 else []
    blind += ["missing README"] if not folders_without_readme(["calibrax/base/a.c"]) else []
    return verdict([f"the check is wrong about: {name}" for name in blind])


def main() -> int:
    if "--selftest" in sys.argv:
        return selftest()
    files = tracked()
    wrong = folders_without_readme(files)
    for path in files:
        if path.endswith((".c", ".h", ".py", ".sh", "meson.build")) and "/fixtures/" not in path:
            wrong += faults_of(path, (ROOT / path).read_text())
            if path.endswith((".c", ".h")):
                wrong += wide_comments(path, (ROOT / path).read_text(), WHOLE_LINE)
    for path in sorted(public_headers(ROOT)):
        wrong += wide_comments(path, (ROOT / path).read_text(), r"\S */\*")
    return verdict(wrong)


if __name__ == "__main__":
    sys.exit(main())
