#!/usr/bin/env python3
"""Runs the tests of build folders, and with --checks the house checks, and adds up every single case.

usage: run_tests.py [--checks] FOLDER[:SUITE,...]...      (`build/release:array,!live`: tests of suite array that are not of suite live)

Tests speak TAP, so a test program counts each of its cases; a program without TAP counts as one. Failures are shown with their output.
The last line is `N passed, N failed, N skipped`; exit 1 if something failed or nothing ran.

A skip is a failure unless its reason matches SKIPS. A test of the suite `live` measures on a machine that others
share: one that fails runs a second time, alone; the second outcome counts, and a line reports that there were two.

CBX_TEST_UNTIL, seconds since 1970, is for machines that stop everything at some time: a test that has not ended by then fails.
"""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TAP = re.compile(r"^(not ok|ok)\b(?:\s+\d+)?(?:\s*-?\s*(.*?))?(?:\s*#\s*(SKIP)\b\s*(.*))?$", re.IGNORECASE)
# absent hardware, kernel features, permissions; rivals of more than 100 MB
SKIPS = re.compile("(hardware|kernel|permission|rival): (?!numpy)")
# what a sanitizer cannot run, where all of its build's tests are asked for
SKIPS_OF_ALL = re.compile("(hardware|kernel|permission|rival|sanitizer): (?!numpy)")
PATIENCE = 3  # limits of tests are those of a quiet machine
UNTIL = float(os.environ.get("CBX_TEST_UNTIL", "inf"))


class Result:
    def __init__(self, name: str, output: str, status: int | None, seconds: float, allowed: re.Pattern[str] = SKIPS) -> None:
        self.name, self.output, self.seconds = name, output, seconds
        self.passed, self.failed, self.skips = 0, 0, []
        for line in output.splitlines():
            match = TAP.match(line.strip())
            if match and match[3]:
                reason = match[4] or ""
                self.skips.append(f"{name} {match[2] or ''}: {reason}")
                if not allowed.match(reason):
                    self.failed += 1
                    self.output += f"\n'{reason}' is no reason for a skip: it must match '{allowed.pattern}'\n"
            elif match:
                self.passed, self.failed = self.passed + (match[1] == "ok"), self.failed + (match[1] != "ok")
        if status is None:
            self.failed += 1
            self.output += f"\nstopped after {seconds:.0f} s\n" if time.time() < UNTIL else "\nno time was left\n"
        elif status == 0 and not self.passed + self.failed + len(self.skips):
            self.passed = 1
        elif status and not self.failed:
            self.failed = 1
            self.output += f"\nexit status {status}\n"

    def show(self) -> None:
        state = "FAIL" if self.failed else "ok"
        print(f"{state:4} {self.name:<44} {self.passed:4} passed {self.failed:2} failed {len(self.skips):2} skipped {self.seconds:7.1f} s", flush=True)
        if self.failed:
            print(self.output[-12000:], flush=True)


def run(name: str, command: list[str], env: dict[str, str], folder: Path, limit: float, allowed: re.Pattern[str] = SKIPS) -> Result:
    """Runs a program in a session of its own, which ends with it, at its limit or when no time is left."""
    started = time.time()
    if started >= UNTIL:
        return Result(name, "", None, 0.0)
    child = subprocess.Popen(command, cwd=folder, env={**os.environ, **env}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
    try:
        output, status = child.communicate(timeout=min(limit, UNTIL - started))[0], child.returncode
    except subprocess.TimeoutExpired:
        output, status = "", None
        for number in (signal.SIGTERM, signal.SIGKILL):  # at the first, a folder's test program stops its children
            with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
                os.killpg(child.pid, number)
                output = child.communicate(timeout=1)[0]
    return Result(name, output, status, time.time() - started, allowed)


def tests_of(word: str) -> list[dict]:
    folder, _, suites = word.partition(":")
    listed = subprocess.run(["meson", "introspect", "--tests", folder], cwd=ROOT, capture_output=True, text=True, check=True)
    # ThreadSanitizer's shadow memory does not fit where addresses are randomised widely: without,
    # where that is allowed
    fixed = ["setarch", "-R"]
    prefix = fixed if "tsan" in folder and shutil.which("setarch") and not subprocess.run([*fixed, "true"], stderr=subprocess.DEVNULL).returncode else []
    chosen = []
    for test in json.loads(listed.stdout):
        own = {suite.split(":")[-1] for suite in test["suite"]}
        if all(s[1:] not in own if s.startswith("!") else s in own for s in suites.split(",") if s):
            # the last of these: support/runner.c
            env = {"ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0:allocator_may_return_null=1:intercept_tls_get_addr=0", "UBSAN_OPTIONS": "print_stacktrace=1", "LC_ALL": "C.UTF-8"}
            chosen.append({"name": f"{Path(folder).name} {test['name']}", "command": prefix + test["cmd"], "env": {**env, **test["env"]},
                           "folder": test["workdir"] or ROOT / folder,
                           "limit": PATIENCE * (test["timeout"] or 600), "live": "live" in own, "together": test["is_parallel"],
                           "priority": test["priority"]})
    return sorted(chosen, key=lambda test: -test["priority"])


def run_tests(word: str) -> tuple[list[Result], list[str]]:
    tests, results, again = tests_of(word), [], []

    def start(test: dict) -> Result:
        return run(test["name"], test["command"], test["env"], Path(test["folder"]),
                   test["limit"], SKIPS if ":" in word else SKIPS_OF_ALL)

    def take(test: dict, result: Result) -> None:
        result.show()
        if result.failed and test["live"] and time.time() < UNTIL:
            again.append(test)
        else:
            results.append(result)

    with ThreadPoolExecutor(len(os.sched_getaffinity(0)) + 1) as pool:  # some tests wait for servers or time limits
        started = {pool.submit(start, test): test for test in tests if test["together"]}
        for future in as_completed(started):
            take(started[future], future.result())
    for test in tests:
        if not test["together"]:
            take(test, start(test))
    for test in again:
        result = start(test)
        result.name += " (again)"
        result.show()
        results.append(result)
    return results, [test["name"] for test in again]


def run_checks() -> list[Result]:
    tracked = subprocess.run(["git", "ls-files", "*.c", "*.h"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    sources = [f for f in tracked if "/fixtures/" not in f and not f.endswith("_answers.h")]  # generated tables keep their own layout
    checks = {
        "include directions": ["python3", "scripts/check_layers.py"],
        "include directions see a planted fault": ["python3", "scripts/check_layers.py", "--selftest"],
        "public headers alone, C and C++": ["python3", "scripts/check_headers.py"],
        "public headers see a planted fault": ["python3", "scripts/check_headers.py", "--selftest"],
        "house rules": ["python3", "scripts/check_house.py"],
        "house rules see planted faults": ["python3", "scripts/check_house.py", "--selftest"],
        "links in documents": ["python3", "scripts/check_links.py"],
        "links in documents see planted faults": ["python3", "scripts/check_links.py", "--selftest"],
        "words": ["python3", "scripts/check_words.py"],
        "words see planted faults": ["python3", "scripts/check_words.py", "--selftest"],
        "layout": ["clang-format", "--dry-run", "--Werror", *sources],
        "install, pkg-config, man page, completion": ["sh", "tests/cli/install.sh"],
        "this program": ["python3", "tests/runner/test_run_tests.py"],
    }
    results = []
    for name, command in checks.items():
        results.append(run(name, command, {}, ROOT, 1200))
        results[-1].show()
    return results


def main() -> int:
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__.strip())
        return 0
    results, again = run_checks() if "--checks" in sys.argv else [], []
    for word in sys.argv[1:]:
        if word != "--checks":
            ran, repeated = run_tests(word)
            results, again = results + ran, again + repeated
    for name in again:
        print(f"run twice: {name}")
    skips = [skip for result in results for skip in result.skips]
    for skip in skips:
        print(f"skipped: {skip}")
    passed, failed = sum(r.passed for r in results), sum(r.failed for r in results)
    print(f"{passed} passed, {failed} failed, {len(skips)} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
