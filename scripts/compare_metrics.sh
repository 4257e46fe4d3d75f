#!/bin/sh
# Metric functions against scikit-learn, SciPy, scikit-image, torchmetrics, pytorch-metric-learning
# and others on new random cases: the fixtures' generators with another seed, the fixtures' test
# program.
# usage: scripts/compare_metrics.sh [--fixtures | seed]      (no seed: one drawn from the clock); needs build/release with its tests
#        --fixtures: writes tests/fixtures/metrics again
# environment: CALIBRAX_CASES, cases for each generator, default 200
# The packages come from PyPI on first use (scripts/setup-refs.sh); they are no dependency of
# anything else.
set -eu
cd "$(dirname "$0")/.."
refs=${NPERF_REFS_ENV_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/calibrax/refs}
program=build/release/tests/metrics/tests

scripts/setup-refs.sh metrics metrics-torch onnx >&2

# cases FOLDER [SEED COUNT]: each domain in the environment that has its packages
cases() {
    torch_domains=$(cd scripts/fixtures/metric_cases && grep -l '^import torch' ./*.py | sed 's|./||; s|[.]py||')
    plain_domains=$(cd scripts/fixtures/metric_cases && grep -L '^import torch' ./[a-z]*.py | sed 's|./||; s|[.]py||')
    # shellcheck disable=SC2086
    "$refs/metrics/bin/python" scripts/fixtures/make_metric_cases.py "$1" "${2:-20260101}" "${3:-2}" $plain_domains
    # shellcheck disable=SC2086
    "$refs/metrics-torch/bin/python" scripts/fixtures/make_metric_cases.py "$1" "${2:-20260101}" "${3:-2}" $torch_domains
}

if [ "${1:-}" = --fixtures ]; then
    cases tests/fixtures/metrics
    exit
fi
if [ ! -x "$program" ]; then
    echo "compare-metrics: '$program' is missing: scripts/build.sh release -Dtests=true" >&2
    exit 2
fi
seed=${1:-$(date +%s)}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT INT TERM
echo "seed $seed"
cases "$folder" "$seed" "${CALIBRAX_CASES:-200}"
# a domain at a time: each has the test's time for itself, and its own first difference
status=0
mkdir "$folder/one"
for file in "$folder"/*.jsonl; do
    mv "$file" "$folder/one"
    echo "${file##*/}"
    CALIBRAX_SOURCE_ROOT=$PWD CALIBRAX_METRIC_CASES=$folder/one "$program" cases || status=1
    rm "$folder"/one/*
done
[ "$status" -eq 0 ] || exit 1
# models in ONNX files: a small one, by onnxruntime
PYTHONPATH=build/release/python:tests/python "$refs/onnx/bin/python" tests/python/test_onnx.py
# collections and wrappers beside those of torchmetrics
PYTHONPATH=build/release/python:tests/python "$refs/metrics-torch/bin/python" tests/python/test_metric_composition.py
