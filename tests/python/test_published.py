"""Runs compare_published.py under an interpreter that has array-api-extra, with this build's extension.  Prints TAP."""

from __future__ import annotations

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "workers"))

import environments  # noqa: E402


def main() -> int:
    python = environments.interpreter("arrayapi", "array_api_extra")
    if not python:
        sys.exit("array-api-extra is not installed: run scripts/setup-refs.sh arrayapi")
    return subprocess.run([python, os.path.join(HERE, "compare_published.py")]).returncode


if __name__ == "__main__":
    sys.exit(main())
