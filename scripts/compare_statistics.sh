#!/bin/sh
# Statistics against SciPy and statsmodels on new random cases: the fixture's generator with other seeds, the fixture's test program.
# usage: scripts/compare_statistics.sh [seed]...      (no seed: three drawn from the clock); needs build/release with its tests
# The packages come from PyPI into a folder of their own on first use; they are no dependency of anything else.
set -eu
cd "$(dirname "$0")/.."
refs=${NPERF_REFS_ENV_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/calibrax/refs}/scipy
program=build/release/tests/statistics/test_statistics_scipy

if [ ! -x "$program" ]; then
    echo "compare-statistics: '$program' is missing: scripts/build.sh release -Dtests=true" >&2
    exit 2
fi
if ! "$refs/bin/python" -c 'import scipy, statsmodels; assert scipy.__version__ == "1.17.1"' 2> /dev/null; then
    echo "compare-statistics: fetching SciPy and statsmodels into $refs" >&2
    python3 -m venv "$refs"
    "$refs/bin/pip" -q install numpy==2.3.5 scipy==1.17.1 statsmodels==0.15.0
fi
now=$(date +%s)
[ $# -gt 0 ] || set -- "$now" $((now + 1)) $((now + 2))
cases=$(mktemp)
trap 'rm -f "$cases"' EXIT INT TERM
for seed; do
    printf 'seed %s, ' "$seed"
    "$refs/bin/python" scripts/fixtures/make_statistics_cases.py "$seed" "$cases"
    CALIBRAX_STATISTICS_CASES=$cases "$program" || exit 1
done
