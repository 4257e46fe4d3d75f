#!/usr/bin/env python3
"""Runs nvcc and keeps what ptxas reports for each kernel (-Xptxas -v): compile_cuda.py LOG nvcc ARGUMENTS...

The log is what tests/array/cuda/check_cuda_code.py reads; on failure it is shown.
"""
import subprocess
import sys
from pathlib import Path


def main() -> int:
    log, *command = sys.argv[1:]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    Path(log).write_text(done.stdout)
    if done.returncode:
        print(done.stdout, file=sys.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
