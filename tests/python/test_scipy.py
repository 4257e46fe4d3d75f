"""Runs compare_scipy.py under the interpreter that has SciPy, with this build's extension; without one: a skip that states why."""

from __future__ import annotations

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "workers"))

import environments  # noqa: E402

NEEDED = "import numpy, scipy.stats, sys; sys.exit(tuple(map(int, scipy.__version__.split('.')[:2])) < (1, 14) or sys.version_info < (3, 11))"


def main() -> int:
    python = environments.interpreter("scipy")
    if not python or subprocess.run([python, "-c", NEEDED], stderr=subprocess.DEVNULL).returncode:
        print("1..1\nok 1 - SciPy # SKIP rival: no interpreter has SciPy 1.14 and Python 3.11 or newer: run scripts/setup-refs.sh scipy")
        return 0
    return subprocess.run([python, os.path.join(HERE, "compare_scipy.py")]).returncode


if __name__ == "__main__":
    sys.exit(main())
