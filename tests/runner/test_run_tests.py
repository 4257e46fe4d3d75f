#!/usr/bin/env python3
"""scripts/run_tests.py on a list of planted tests, which a stand-in for meson gives it."""
import json
import os
import subprocess
import sys
import tempfile
import time

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "run_tests.py")
# name: shell script, suites, timeout, counts, a part of the output
PLANTED = {
    "passes": ("echo 1..2; echo ok 1 - a; echo ok 2 - b", ["logic"], 9, (2, 0, 0), "ok   b passes "),
    "fails": ("echo ok 1 - a; echo not ok 2 - b; exit 1", ["logic"], 9, (1, 1, 0), "not ok 2 - b"),
    "plain": ("true", ["logic"], 9, (1, 0, 0), "ok   b plain "),
    "plain fault": ("echo said; exit 3", ["logic"], 9, (0, 1, 0), "said\n\nexit status 3"),
    "cut short": ("echo ok 1 - a; exit 7", ["logic"], 9, (1, 1, 0), "exit status 7"),
    "allowed": ("echo 'ok 1 - a # SKIP hardware: no GPU'", ["logic"], 9, (0, 0, 1), "skipped: b allowed a: hardware: no GPU"),
    "refused": ("echo 'ok 1 - a # SKIP no numpy'", ["logic"], 9, (0, 1, 1), "'no numpy' is no reason for a skip"),
    "numpy": ("echo 'ok 1 - a # SKIP rival: numpy is not installed'", ["logic"], 9, (0, 1, 1), "is no reason for a skip"),
    "sanitizer": ("echo 'ok 1 - a # SKIP sanitizer: no limits'", ["logic"], 9, (0, 0, 1), "skipped: b sanitizer a"),
    "hangs": ("echo ok 1 - a; sleep 100", ["logic"], 0.2, (1, 1, 0), "stopped after "),
    "passes_later": ('[ -e "$F" ] || { touch "$F"; echo not ok 1 - a; exit 1; }; echo ok 1 - a', ["live"], 9, (1, 0, 0), "run twice: b passes_later"),
    "never": ("echo not ok 1 - a; exit 1", ["live"], 9, (0, 1, 0), "FAIL b never (again)"),
    "again": ('[ -e "$F" ] || { touch "$F"; echo not ok 1 - a; exit 1; }; echo ok 1 - a', ["logic"], 9, (0, 1, 0), "FAIL b again "),
}


def main() -> int:
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        def run(names: list[str], word: str = "b", **env: str) -> tuple[int, str]:
            tests = [{"name": name, "cmd": ["sh", "-c", PLANTED[name][0]], "env": {"F": os.path.join(folder, f"{name}.{time.time()}")},
                      "suite": [f"calibrax:{suite}" for suite in PLANTED[name][1]], "timeout": PLANTED[name][2], "is_parallel": name != "plain",
                      "priority": 0, "workdir": folder} for name in names]
            with open(os.path.join(folder, "list"), "w", encoding="ascii") as f:
                json.dump(tests, f)
            with open(os.path.join(folder, "meson"), "w", encoding="ascii") as f:
                f.write(f"#!/bin/sh\ncat {folder}/list\n")
            os.chmod(os.path.join(folder, "meson"), 0o755)
            done = subprocess.run([sys.executable, SCRIPT, word], capture_output=True, text=True, timeout=60,
                                  env={**os.environ, "CBX_TEST_UNTIL": "inf", "PATH": f"{folder}:{os.environ['PATH']}", **env})
            return done.returncode, done.stdout + done.stderr

        def check(name: str, found: tuple[int, str], status: int, last: str, part: str) -> None:
            nonlocal failed
            good = found[0] == status and found[1].splitlines()[-1] == last and part in found[1]
            failed += not good
            print(f"{'ok' if good else 'not ok'} - {name}")
            if not good:
                print("# " + "\n# ".join(f"wanted {status}, {last!r}, {part!r}, found {found[0]}:\n{found[1]}".splitlines()))

        for name, (_, _, _, counts, part) in PLANTED.items():
            passed, failures, skipped = counts
            check(name, run([name]), 0 if passed and not failures else 1, f"{passed} passed, {failures} failed, {skipped} skipped", part)
        check("several", run(["passes", "plain", "allowed"]), 0, "3 passed, 0 failed, 1 skipped", "")
        check("one suite", run(["passes", "never"], "b:logic"), 0, "2 passed, 0 failed, 0 skipped", "")
        check("all but a suite", run(["passes", "never"], "b:!live"), 0, "2 passed, 0 failed, 0 skipped", "")
        check("a sanitizer's skip", run(["sanitizer"], "b:logic"), 1, "0 passed, 1 failed, 1 skipped", "is no reason for a skip")
        check("help", run([], "--help"), 0, run([], "-h")[1].splitlines()[-1], "usage: run_tests.py [--checks] FOLDER")
        check("nothing", run([]), 1, "0 passed, 0 failed, 0 skipped", "")
        check("no time left", run(["passes", "passes_later"], CBX_TEST_UNTIL="1"), 1, "0 passed, 2 failed, 0 skipped", "no time was left")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
