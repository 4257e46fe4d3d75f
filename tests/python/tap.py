"""unittest with TAP as its report, so that each test counts (scripts/run_tests.py adds them up)."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import unittest


class TapResult(unittest.TestResult):
    """Prints a line a test when it has ended; a failure's words go before it, as TAP comments."""

    def __init__(self) -> None:
        super().__init__()
        self.number = 0

    def _line(self, test: unittest.TestCase, state: str, words: str = "") -> None:
        self.number += 1
        print(f"{state} {self.number} - {test.id().removeprefix('__main__.')}{words}", flush=True)

    def _fault(self, test: unittest.TestCase, error) -> None:
        print("# " + self._exc_info_to_string(error, test).replace("\n", "\n# "))
        self._line(test, "not ok")

    def addSuccess(self, test):
        super().addSuccess(test)
        if not getattr(test, "_subtest_failed", False):
            self._line(test, "ok")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._fault(test, err)

    def addError(self, test, err):
        super().addError(test, err)
        self._fault(test, err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            test._subtest_failed = True
            print("# " + str(subtest))
            self._fault(test, err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._line(test, "ok", f" # SKIP {reason}")


def main() -> None:
    """Runs the tests of the main module, with an empty folder for caches unless the caller has chosen one."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # who starts the tests in the background has it ignored
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    result = TapResult()
    print(f"1..{suite.countTestCases()}")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.environ.setdefault("CALIBRAX_CACHE_DIR", folder)
        suite.run(result)
    sys.exit(0 if result.wasSuccessful() else 1)
