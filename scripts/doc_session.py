#!/usr/bin/env python3
"""Runs the shell session that a manual shows and compares what it prints: doc_session.py MANUAL.md [--after INDEX.md] [--show].

A block of `sh NAME` is a file NAME, put into the folder of the session.  A block of `console` is run, line by line behind `$ `, in one shell
from the first block to the last; what follows a command is what it prints on both streams.  In it a line `...` stands for any lines, and
`...` within a line for any text; spaces at the end of a line do not count.  TAP on standard output, a test a block.  --after runs the blocks of another manual first.  --show prints what each command prints.

The programs calibrax and nperf are looked for in CALIBRAX_BUILD_ROOT, else in build/release.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"^```(console|sh[ \t]+(\S+))[ \t]*\n(.*?)^```", re.M | re.S)
ROOT = Path(__file__).resolve().parents[1]
MARK = "--doc-session-mark--"


def commands(block: str) -> list[tuple[str, list[str]]]:
    """(command, lines that it prints) of a block."""
    out: list[tuple[str, list[str]]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            out.append((line[2:], []))
        elif not out:
            raise SystemExit(f"doc_session: a console block begins with '{line}', not with a command")
        else:
            out[-1][1].append(line)
    return out


def pattern(lines: list[str]) -> re.Pattern[str]:
    """What the shown lines allow."""
    parts = []
    for line in lines:
        if line.strip() == "...":
            parts.append(r"(?:.*\n)*")
        else:
            parts.append(".*".join(re.escape(p) for p in line.rstrip().split("...")) + r" *\n")
    return re.compile("".join(parts))


class Shell:
    """One shell that keeps folder, variables and exit status from command to command."""

    def __init__(self, folder: str) -> None:
        build = Path(os.environ.get("CALIBRAX_BUILD_ROOT", ROOT / "build/release")).resolve()
        env = {"PATH": f"{build / 'programs/calibrax'}:{build / 'programs/nperf'}:{os.environ.get('PATH', '')}", "HOME": folder, "XDG_CACHE_HOME": f"{folder}/.cache", "LC_ALL": "C",
               "TERM": "dumb", "GIT_CONFIG_NOSYSTEM": "1"}
        env |= {k: v for k, v in os.environ.items() if k in ("LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TMPDIR", "MLFLOW_TRACKING_URI", "PYTHONPATH", "PYTEST_PLUGINS", "NPERF_PYTHON_WANDB")}
        self.child = subprocess.Popen(["sh"], cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, command: str) -> str:
        assert self.child.stdin and self.child.stdout
        self.child.stdin.write(f"{command}\nlast=$?; printf '\\n{MARK}\\n'; (exit $last)\n")
        self.child.stdin.flush()
        lines: list[str] = []
        for line in self.child.stdout:
            if line == f"{MARK}\n":
                text = "".join(lines)
                return text[:-1]  # the new line of the mark
            lines.append(line)
        raise SystemExit(f"doc_session: the shell ended at '{command}'")

    def close(self) -> None:
        assert self.child.stdin
        self.child.stdin.close()
        self.child.wait()


def check_block(shell: Shell, block: str, show: bool) -> str:
    """What is wrong with a block; "" for nothing."""
    for command, shown in commands(block):
        while shown and not shown[-1].strip():
            shown.pop()
        found = shell.run(command)
        if show:
            print(f"# $ {command}\n# " + found.replace("\n", "\n# "))
        if not pattern(shown).fullmatch(found if found.endswith("\n") or not found else found + "\n"):
            return f"'{command}' printed\n{found}and not\n" + "\n".join(shown)
    return ""


def main() -> int:
    manual = Path(sys.argv[1])
    show, failed = "--show" in sys.argv[2:], 0
    manuals = [Path(sys.argv[sys.argv.index("--after") + 1])] if "--after" in sys.argv[2:] else []
    texts = {m: m.read_text(encoding="utf-8") for m in [*manuals, manual]}
    blocks = [(m, block) for m, text in texts.items() for block in BLOCK.finditer(text)]
    if not any(m == manual and b[1] == "console" for m, b in blocks):
        raise SystemExit(f"doc_session: '{manual}' shows no session")
    print(f"1..{len(blocks)}")
    with tempfile.TemporaryDirectory(prefix="doc-session-") as folder:
        shell = Shell(folder)
        for number, (page, block) in enumerate(blocks, 1):
            line = texts[page].count("\n", 0, block.start()) + 1
            if block[2]:
                Path(folder, block[2]).write_text(block[3], encoding="utf-8")
            fault = "" if block[2] else check_block(shell, block[3], show)
            print(f"{'not ok' if fault else 'ok'} {number} - {page.name}:{line}")
            for part in fault.splitlines():
                print(f"# {part}")
            failed += bool(fault)
            sys.stdout.flush()
        shell.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
