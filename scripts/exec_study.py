#!/usr/bin/env python3
"""How often `nperf exec` decides true slow-downs of 2 % in its default plan: pairs of loops in the shell, one with 2 % more rounds.

usage: exec_study.py [--nperf FILE] [--trials N] [--percent X] [--budget SECONDS]
Exit status 1: fewer than five in six were found slower.
"""
import argparse
import json
import subprocess
import sys
import time


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--nperf", default="build/release/programs/nperf/nperf")
    options.add_argument("--trials", type=int, default=6)
    options.add_argument("--percent", type=float, default=2.0)
    options.add_argument("--budget", default="60")
    a = options.parse_args()
    loop = "i=0; while [ $i -lt %d ]; do i=$((i+1)); done"
    found = 0
    for trial in range(a.trials):
        begin = time.monotonic()
        done = subprocess.run([a.nperf, "exec", "--json", "--budget", a.budget, loop % 40000, loop % round(40000 * (1 + a.percent / 100))],
                              capture_output=True, text=True, check=False)
        if done.returncode not in (0, 3):
            sys.exit(done.stderr)
        ratio = json.loads(done.stdout)["rows"][1]["ratio_paired"]
        found += ratio["verdict_holm"] == "slower"
        print(f"trial {trial + 1}: {ratio['verdict_holm']}, ratio {ratio['value']:.4f} [{ratio['lower']:.4f}, {ratio['upper']:.4f}], "
              f"{ratio['pairs']} rounds, {time.monotonic() - begin:.0f} s")
    print(f"{found} of {a.trials} slow-downs of {a.percent:g} % were found in {a.budget} s each")
    return 6 * found < 5 * a.trials


if __name__ == "__main__":
    sys.exit(main())
