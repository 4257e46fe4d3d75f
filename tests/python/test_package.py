"""Runs compare_package.py under an interpreter with the Python package calibrax 0.1.14, which CALIBRAX_PYTHON names.  Prints TAP.

Without one the live comparison is skipped; test_runs.py reads a store that the package wrote (tests/fixtures/store).
"""

from __future__ import annotations

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def main() -> None:
    python = os.environ.get("CALIBRAX_PYTHON")
    if not python:
        print("1..1\nok 1 - package # SKIP rival: CALIBRAX_PYTHON does not name an interpreter with the package calibrax (scripts/fixtures/make_store.py)")
        return
    sys.exit(subprocess.run([python, os.path.join(HERE, "compare_package.py")], check=False).returncode)


if __name__ == "__main__":
    main()
