"""Runs compare_numpy.py under the interpreter that has NumPy 2, with this build's extension; fails without one."""

from __future__ import annotations

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "workers"))

import environments  # noqa: E402

NEWEST_ENOUGH = "import numpy, sys; sys.exit(int(numpy.__version__.split('.')[0]) < 2 or sys.version_info < (3, 11))"


def main() -> int:
    python = environments.interpreter("numpy")
    if not python or subprocess.run([python, "-c", NEWEST_ENOUGH], stderr=subprocess.DEVNULL).returncode:
        sys.exit("no NumPy 2 under Python 3.11 or newer: run scripts/setup-refs.sh numpy")
    return subprocess.run([python, os.path.join(HERE, "compare_numpy.py")]).returncode


if __name__ == "__main__":
    sys.exit(main())
