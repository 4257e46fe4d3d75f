#!/bin/sh
# Metric functions against scikit-learn, SciPy, scikit-image, torchmetrics, pytorch-metric-learning and others on new random cases: the fixtures'
# generators with another seed, the fixtures' test program.
# usage: scripts/compare_metrics.sh [--fixtures | seed]      (no seed: one drawn from the clock); needs build/release with its tests
#        --fixtures: writes tests/fixtures/metrics again
# environment: CALIBRAX_CASES, cases for each generator, default 200
# The packages come from PyPI into a folder of their own on first use; they are no dependency of anything else.
set -eu
cd "$(dirname "$0")/.."
refs=${NPERF_REFS_ENV_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/calibrax/refs}/metrics
program=build/release/tests/metrics/tests
packages='numpy==2.3.5 scipy==1.17.1 scikit-learn==1.9.1 scikit-image==0.26.0 networkx==3.6.1 POT==0.9.7.post1 properscoring==0.1 sacrebleu==2.6.0 nltk==3.10.4 rouge_score==0.1.2 fairlearn==0.15.0 onnx==1.23.2 onnxruntime==1.32.0'

if ! "$refs/bin/python" -c 'import onnx, onnxruntime, sklearn, skimage, ot, properscoring, sacrebleu, nltk, rouge_score, fairlearn, networkx; assert sklearn.__version__ == "1.9.1"' 2> /dev/null; then
    echo "compare-metrics: fetching scikit-learn and others into $refs" >&2
    python3 -m venv "$refs"
    # shellcheck disable=SC2086
    "$refs/bin/pip" -q install $packages
fi
# torch is Debian's, as in scripts/setup-refs.sh
torch=$refs-torch
torch_packages='pytorch-metric-learning==2.9.0 torchmetrics==1.4.3 lightning-utilities==0.11.9 packaging==24.1 typing_extensions==4.12.2
tqdm==4.67.1 scikit-learn==1.5.2 scipy==1.13.1 joblib==1.4.2 threadpoolctl==3.5.0'
if ! "$torch/bin/python" -c 'import torch, torchmetrics, pytorch_metric_learning' 2> /dev/null; then
    scripts/setup-refs.sh torch >&2
    echo "compare-metrics: fetching pytorch-metric-learning and torchmetrics into $torch" >&2
    "${NPERF_REFS_DEBIAN_PYTHON:-/usr/bin/python3}" -m venv --system-site-packages "$torch"
    # shellcheck disable=SC2086
    "$torch/bin/pip" -q install --no-deps $torch_packages
fi

# cases FOLDER [SEED COUNT]: each domain in the environment that has its packages
cases() {
    torch_domains=$(cd scripts/fixtures/metric_cases && grep -l '^import torch' ./*.py | sed 's|./||; s|[.]py||')
    plain_domains=$(cd scripts/fixtures/metric_cases && grep -L '^import torch' ./[a-z]*.py | sed 's|./||; s|[.]py||')
    # shellcheck disable=SC2086
    "$refs/bin/python" scripts/fixtures/make_metric_cases.py "$1" "${2:-20260101}" "${3:-2}" $plain_domains
    # shellcheck disable=SC2086
    "$torch/bin/python" scripts/fixtures/make_metric_cases.py "$1" "${2:-20260101}" "${3:-2}" $torch_domains
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
PYTHONPATH=build/release/python:tests/python "$refs/bin/python" tests/python/test_onnx.py
# collections and wrappers beside those of torchmetrics
PYTHONPATH=build/release/python:tests/python "$torch/bin/python" tests/python/test_metric_composition.py
