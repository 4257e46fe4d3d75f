#!/usr/bin/env python3
"""The main of a folder's test program (support/runner.c), on the planted files of planted.c: test_runner.py PROGRAM."""
import subprocess
import sys
import time

PASSED = ["ok 1 - {0}: passes", "ok 2 - {0}: passes", "1..2"]
CASES = {
    "passes": (0, PASSED),
    "leaves": (0, PASSED),
    "skips": (0, ["ok 1 - skips: passes", "ok 2 - skips: skips # SKIP no such hardware", "1..2"]),
    "fails": (1, ["ok 1 - fails: passes", "not ok 2 - fails: fails", "1..2"]),
    "crashes": (1, ["ok 1 - crashes: passes", "not ok 2 - crashes: ended by signal 6 (Aborted)", "1..2"]),
    "hangs": (1, ["ok 1 - hangs: passes", "not ok 2 - hangs: stopped after 1 s", "1..2"]),
    "exits": (1, ["ok 1 - exits: passes", "not ok 2 - exits: 1 of 2 cases were run", "1..2"]),
    "nothing": (1, ["not ok 1 - nothing: 0 of 0 cases were run", "1..1"]),
    "status": (1, ["ok 1 - status: passes", "ok 2 - status: passes", "not ok 3 - status: exit status 1", "1..3"]),
}


def run(*args: str) -> tuple[int, list[str]]:
    done = subprocess.run([sys.argv[1], *args], capture_output=True, text=True, timeout=60)
    return done.returncode, [line for line in done.stdout.splitlines() if not line.startswith("#")]


def main() -> int:
    failed = 0
    print(f"1..{len(CASES) + 3}")

    def case(number: int, name: str, found: object, wanted: object) -> None:
        nonlocal failed
        failed += found != wanted
        print(f"{'ok' if found == wanted else 'not ok'} {number} - {name}")
        if found != wanted:
            print(f"# found {found}\n# not   {wanted}")

    for number, (name, (status, lines)) in enumerate(CASES.items(), 1):
        started = time.monotonic()
        case(number, name, run(name), (status, [line.format(name) for line in lines]))
        if time.monotonic() - started > 30:
            sys.exit(f"'{name}' took {time.monotonic() - started:.0f} s")
    case(len(CASES) + 1, "the list", run("--list"), (0, [f"{name} {1 if name == 'hangs' else 180}" for name in sorted(CASES)]))
    case(len(CASES) + 2, "an unknown file", run("passes", "missing"), (2, []))
    status, lines = run()
    case(len(CASES) + 3, "all files", (status, lines[-1]), (1, f"1..{sum(len(wanted) - 1 for _, wanted in CASES.values())}"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
