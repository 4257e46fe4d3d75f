#!/bin/sh
# Metric functions against scikit-learn, SciPy, scikit-image and others on new random cases: the fixtures' generators with another seed,
# the fixtures' test program.
# usage: scripts/compare_metrics.sh [--fixtures | seed]      (no seed: one drawn from the clock); needs build/release with its tests
#        --fixtures: writes tests/fixtures/metrics again
# environment: CALIBRAX_CASES, cases for each generator, default 200
# The packages come from PyPI into a folder of their own on first use; they are no dependency of anything else.
set -eu
cd "$(dirname "$0")/.."
refs=${NPERF_REFS_ENV_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/calibrax/refs}/metrics
program=build/release/tests/metrics/tests
packages='numpy==2.3.5 scipy==1.17.1 scikit-learn==1.9.1 scikit-image==0.26.0 networkx==3.6.1 POT==0.9.7.post1 properscoring==0.1 sacrebleu==2.6.0 nltk==3.10.4 rouge_score==0.1.2 fairlearn==0.15.0'

if ! "$refs/bin/python" -c 'import sklearn, skimage, ot, properscoring, sacrebleu, nltk, rouge_score, fairlearn, networkx; assert sklearn.__version__ == "1.9.1"' 2> /dev/null; then
    echo "compare-metrics: fetching scikit-learn and others into $refs" >&2
    python3 -m venv "$refs"
    # shellcheck disable=SC2086
    "$refs/bin/pip" -q install $packages
fi
if [ "${1:-}" = --fixtures ]; then
    exec "$refs/bin/python" scripts/fixtures/make_metric_cases.py tests/fixtures/metrics
fi
if [ ! -x "$program" ]; then
    echo "compare-metrics: '$program' is missing: scripts/build.sh release -Dtests=true" >&2
    exit 2
fi
seed=${1:-$(date +%s)}
cases=$(mktemp -d)
trap 'rm -rf "$cases"' EXIT INT TERM
echo "seed $seed"
"$refs/bin/python" scripts/fixtures/make_metric_cases.py "$cases" "$seed" "${CALIBRAX_CASES:-200}"
CALIBRAX_SOURCE_ROOT=$PWD CALIBRAX_METRIC_CASES=$cases "$program" cases
