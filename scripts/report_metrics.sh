#!/bin/sh
# Metric functions beside scikit-learn, SciPy, packages of single domains, pytorch-metric-learning,
# torchmetrics and the Python package: reports/metrics.{jsonl,md}.
# usage: scripts/report_metrics.sh NPERF [METRIC...]     (no metric: all)
#
# Rivals at their tuned variant, one core; three launches of each baseline (REPORT_LAUNCHES), 45
# minutes on a quiet machine, a third of it with one launch.  A report that was interrupted goes on
# where it stopped; REPORT_AGAIN=1 measures all of it again.  The rivals'
# environments come from scripts/setup-refs.sh metrics torchmetrics calibrax; those that are not
# installed are left out.
set -eu
cd "$(dirname "$0")/.."
nperf=${1:?usage: scripts/report_metrics.sh NPERF [METRIC...]}
shift
rows=build/metrics
mkdir -p "$rows"
[ -n "${REPORT_AGAIN:-}" ] && rm -f "$rows"/*.jsonl

set -- $(python3 - "$@" <<'END'
import re
import sys

for name, n, d in re.findall(r'^    X\((\w+), "\w+", (\d+), (\d+),', open("suites/metrics/metrics.h", encoding="utf-8").read(), re.M):
    if not sys.argv[1:] or name in sys.argv[1:]:
        print("--point", f'{{"metric":"{name}","n":{n},"d":{d}}}')
END
)
"$nperf" --case metrics "$@" --baselines calibrax,scikit-learn,scipy,domain,pytorch-metric-learning,pytorch-metric-learning-less,torchmetrics,torchmetrics-less,calibrax-python,calibrax-python-less \
    --launches "${REPORT_LAUNCHES:-3}" --warmup 1 --repeats 3 --variants tuned --worker-timeout 120 --resume \
    --out "$rows/metrics.jsonl" --report "$rows/metrics.md" || [ $? -eq 1 ]
cp "$rows/metrics.jsonl" reports/metrics.jsonl
python3 scripts/report_metrics.py reports/metrics.jsonl > reports/metrics.md
"$nperf" --render-from reports/metrics.jsonl --report "$rows/metrics.md" || [ $? -eq 1 ] # a rival gave no result
cat "$rows/metrics.md" >> reports/metrics.md
