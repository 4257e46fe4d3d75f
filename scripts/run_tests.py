#!/usr/bin/env python3
"""Runs the tests of the build folders named, and with --checks the house checks, and adds up every single case.

Tests speak TAP, so a test program counts each of its cases; a program without TAP counts as one. Failures are shown with their
output, skips with their reason. The last line is `N passed, N failed, N skipped`; exit 1 if something failed or nothing ran.

CBX_TEST_UNTIL, seconds since 1970, is for machines that stop everything at some time: what has not come to its end by then is skipped, with
that as its reason.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TAP = re.compile(r"^(not ok|ok)\b(?:\s+\d+)?(?:\s*-?\s*(.*?))?(?:\s*#\s*(SKIP)\b\s*(.*))?$", re.IGNORECASE)


class Sum:
    def __init__(self) -> None:
        self.passed = self.failed = 0
        self.skips: list[str] = []
        self.again: list[str] = []  # failed once, and were run again

    def line(self, what: str, passed: int, failed: int, skipped: int, seconds: float) -> None:
        state = "FAIL" if failed else "ok"
        print(f"{state:4} {what:<44} {passed:4} passed {failed:2} failed {skipped:2} skipped {seconds:7.1f} s", flush=True)


def count_tap(text: str) -> tuple[int, int, list[str]]:
    passed = failed = 0
    skips = []
    for line in text.splitlines():
        match = TAP.match(line.strip())
        if not match:
            continue
        if match.group(3):
            skips.append(f"{match.group(2) or ''}: {match.group(4)}")
        elif match.group(1) == "ok":
            passed += 1
        else:
            failed += 1
    return passed, failed, skips


def steady(folder: str) -> list[str]:
    """ThreadSanitizer's shadow memory does not fit where addresses are randomised widely: without, where that is allowed."""
    command = ["setarch", "-R"]
    usable = "tsan" in folder and shutil.which("setarch") and not subprocess.run([*command, "true"], stderr=subprocess.DEVNULL).returncode
    return command if usable else []


def seconds_left() -> float | None:
    until = os.environ.get("CBX_TEST_UNTIL")
    return max(0.0, float(until) - time.time()) if until else None


def log_of(folder: str) -> list[dict]:
    """What has come to its end, one line each; the last may be half written."""
    log = ROOT / folder / "meson-logs" / "testlog.json"
    lines = log.read_text().splitlines(keepends=True) if log.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def meson_test(folder: str, args: list[str], limit: float | None = None) -> tuple[list[dict], int, str]:
    """What meson says of each test, its exit status and its output; after limit seconds it is stopped, and the status is that of a stopped
    process. Limits of single tests are those of a quiet machine, so they are given generously."""
    (ROOT / folder / "meson-logs" / "testlog.json").unlink(missing_ok=True)
    env = dict(os.environ, ASAN_OPTIONS="detect_leaks=1:abort_on_error=0:allocator_may_return_null=1", UBSAN_OPTIONS="print_stacktrace=1",
               LC_ALL="C.UTF-8")
    command = [*steady(folder), "meson", "test", "-C", folder, "--no-rebuild", "--print-errorlogs", "--timeout-multiplier", "3", *args]
    meson = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    try:
        said, _ = meson.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        finished = log_of(folder)
        os.killpg(meson.pid, signal.SIGTERM)
        said, _ = meson.communicate()
        return finished, -signal.SIGTERM, said
    return log_of(folder), meson.returncode, said


def names_of(folder: str, args: list[str]) -> list[str]:
    done = subprocess.run(["meson", "test", "-C", folder, "--no-rebuild", "--list", *args], cwd=ROOT, capture_output=True, text=True)
    return [line.strip() for line in done.stdout.splitlines() if " / " in line]


def outcome(test: dict) -> tuple[int, int, list[str]]:
    passed, failed, skips = count_tap(test.get("stdout", ""))
    good = test["result"] in ("OK", "SKIP", "EXPECTEDFAIL")
    if test["result"] == "SKIP" and not skips:
        skips = [test["name"]]
    if passed + failed + len(skips) == 0 or (not good and failed == 0):
        passed, failed = (passed + 1, failed) if good else (passed, failed + 1)
    return passed, failed, skips


def show(test: dict) -> None:
    print(test.get("stdout", "")[-6000:] + test.get("stderr", "")[-6000:], flush=True)


def run_build(word: str, total: Sum) -> None:
    """word: a build folder, or folder:suite for one suite of its tests.

    A test of the suite `live` measures on the machine that it runs on, which others share: one that fails is shown, and runs once more,
    alone; the second outcome counts, and the line says that there were two."""
    folder, _, suite = word.partition(":")
    suite_args = ["--suite", suite] if suite else []
    tests, status, said = meson_test(folder, ["--num-processes", "2", *suite_args], seconds_left())
    stopped = status == -signal.SIGTERM
    seen = {test["name"] for test in tests}
    late = [name for name in names_of(folder, suite_args) if name not in seen] if stopped else []
    failed_before = total.failed
    for test in tests:
        name = f"{Path(folder).name} {test['name']}"
        passed, failed, skips = outcome(test)
        if failed:
            show(test)
        suites, _, plain = test["name"].partition(" / ")
        if failed and "live" in suites.split(":")[-1].split("+"):
            total.again.append(name)
            repeated, _, _ = meson_test(folder, [plain])
            if repeated:
                test = repeated[0]
                passed, failed, skips = outcome(test)
                name += " (again)"
                if failed:
                    show(test)
        total.line(name, passed, failed, len(skips), test.get("duration", 0.0))
        total.passed, total.failed = total.passed + passed, total.failed + failed
        total.skips += [f"{name} {skip}" for skip in skips]
    for name in late:
        total.line(f"{Path(folder).name} {name}", 0, 0, 1, 0.0)
        total.skips.append(f"{Path(folder).name} {name}: no time was left for it")
    if not (tests or late) or (status and not stopped and total.failed == failed_before and not total.again):
        total.failed += 1
        total.line(f"{folder}: meson test", 0, 1, 0, 0.0)
        print(said[-3000:], flush=True)


def check_list() -> list[tuple[str, list[str], str | None]]:
    """Name, command, program that it needs (skipped without it)."""
    tracked = subprocess.run(["git", "ls-files", "*.c", "*.h"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    sources = [f for f in tracked if "/fixtures/" not in f and not f.endswith("_answers.h")]  # generated tables keep their own layout
    return [
        ("include directions", ["python3", "scripts/check_layers.py"], None),
        ("include directions see a planted fault", ["python3", "scripts/check_layers.py", "--selftest"], None),
        ("public headers alone, C and C++", ["python3", "scripts/check_headers.py"], "g++"),
        ("public headers see a planted fault", ["python3", "scripts/check_headers.py", "--selftest"], "g++"),
        ("house rules", ["python3", "scripts/check_house.py"], None),
        ("house rules see planted faults", ["python3", "scripts/check_house.py", "--selftest"], None),
        ("layout", ["clang-format", "--dry-run", "--Werror", *sources], "clang-format"),
        ("install, pkg-config, man page, completion", ["sh", "tests/cli/install.sh"], None),
    ]


def run_checks(total: Sum) -> None:
    for name, command, needs in check_list():
        start = time.monotonic()
        if needs and not shutil.which(needs):
            total.skips.append(f"{name}: {needs} is not installed")
            total.line(name, 0, 0, 1, 0.0)
            continue
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        bad = done.returncode != 0
        total.line(name, int(not bad), int(bad), 0, time.monotonic() - start)
        if bad:
            print((done.stdout + done.stderr)[-6000:], flush=True)
        total.passed, total.failed = total.passed + (not bad), total.failed + bad


def main() -> int:
    words = sys.argv[1:]
    total = Sum()
    if "--checks" in words:
        run_checks(total)
    for folder in (w for w in words if not w.startswith("-")):
        run_build(folder, total)
    for name in total.again:
        print(f"run twice: {name}")
    for skip in total.skips:
        print(f"skipped: {skip}")
    print(f"{total.passed} passed, {total.failed} failed, {len(total.skips)} skipped")
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
