#!/usr/bin/env python3
"""How often `nperf exec` decides true slow-downs of 2 % in its default plan: pairs of loops in the shell, one with 2 % more rounds.

usage: exec_study.py [--nperf FILE] [--trials N] [--percent X] [--budget SECONDS]
Prints how many were found, with the 95 % interval of that share (Clopper & Pearson 1934).  Exit status 1: fewer than five in six.
"""
import argparse
import json
import math
import subprocess
import sys
import time


def interval(k, n, level=0.95):
    """Shares at which k or more, and k or fewer, of n have a probability of (1 - level) / 2."""
    def share(first, last, rising):
        low, high = 0.0, 1.0
        for _ in range(60):
            p = (low + high) / 2
            beyond = sum(math.comb(n, i) * p**i * (1 - p)**(n - i) for i in range(first, last + 1))
            low, high = (low, p) if (beyond > (1 - level) / 2) == rising else (p, high)
        return low
    return share(k, n, True) if k else 0.0, share(0, k, False) if k < n else 1.0


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
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
        verdict = ratio["verdict_holm"] or "undecided"
        found += verdict == "slower"
        print(f"trial {trial + 1}: {verdict}, ratio {ratio['value']:.4f} [{ratio['lower'] or math.nan:.4f}, {ratio['upper'] or math.nan:.4f}], "
              f"{ratio['pairs']} rounds, {time.monotonic() - begin:.0f} s", flush=True)
    low, high = interval(found, a.trials)
    print(f"{found} of {a.trials} slow-downs of {a.percent:g} % were found within {a.budget} s each: {found / a.trials:.0%} [{low:.0%}, {high:.0%}]")
    return 6 * found < 5 * a.trials


if __name__ == "__main__":
    sys.exit(main())
