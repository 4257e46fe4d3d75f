#!/bin/sh
# Measures every point of semiring_matmul against every rival that this machine has, into reports/.  usage: scripts/report.sh NPERF
set -eu
cd "$(dirname "$0")/.."
nperf=${1:?usage: scripts/report.sh NPERF}
exec "$nperf" --case semiring_matmul --launches 6 --warmup 1 --repeats 2 --cpu-slots "${REPORT_SLOTS:-1}" --resume \
    --out reports/semiring_matmul.jsonl --report reports/semiring_matmul.md
