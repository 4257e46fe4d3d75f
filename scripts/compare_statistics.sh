#!/bin/sh
# Statistics against SciPy and statsmodels, change points against ruptures, on new random cases: the
# fixtures' generators with other seeds, the fixtures' test programs.
# usage: scripts/compare_statistics.sh [seed]...      (no seed: three drawn from the clock); needs build/release with its tests
# The packages come from PyPI on first use (scripts/setup-refs.sh statistics); they are no
# dependency of anything else.
set -eu
cd "$(dirname "$0")/.."
refs=${NPERF_REFS_ENV_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/calibrax/refs}/statistics
program=build/release/tests/statistics/tests
changes=build/release/tests/analysis/tests

for needed in "$program" "$changes"; do
    [ -x "$needed" ] && continue
    echo "compare-statistics: '$needed' is missing: scripts/build.sh release -Dtests=true" >&2
    exit 2
done
scripts/setup-refs.sh statistics >&2
now=$(date +%s)
[ $# -gt 0 ] || set -- "$now" $((now + 1)) $((now + 2))
cases=$(mktemp)
trap 'rm -f "$cases"' EXIT INT TERM
for seed; do
    printf 'seed %s, ' "$seed"
    "$refs/bin/python" scripts/fixtures/make_statistics_cases.py "$seed" "$cases"
    CALIBRAX_STATISTICS_CASES=$cases "$program" scipy || exit 1
    "$refs/bin/python" scripts/fixtures/make_changepoint_cases.py "$seed" "$cases"
    CALIBRAX_CHANGEPOINT_CASES=$cases "$changes" changepoint || exit 1
done
