#!/bin/sh
# Compiled functions against jax.jit and NumPy 2: reports/array_jit.{jsonl,md}.  usage:
# scripts/report_array_jit.sh NPERF
#
# Five launches of each baseline, rivals at their tuned variant, one core; about 25 minutes on a
# quiet machine, of which pairs of points take JAX five.  First calls, tracing and compiling
# included, are a table of their own.  A report that was interrupted goes on where it stopped;
# REPORT_AGAIN=1 measures all of it again.
set -eu
cd "$(dirname "$0")/.."
nperf=${1:?usage: scripts/report_array_jit.sh NPERF}
rows=build/array_jit
mkdir -p "$rows"
[ -n "${REPORT_AGAIN:-}" ] && rm -f "$rows"/*.jsonl

# measure CASE BUDGET OPTION...: BUDGET seconds for all points together
measure()
{
    case=$1 budget=$2
    shift 2
    "$nperf" --case "$case" "$@" --launches 5 --warmup 1 --repeats 3 --variants tuned --budget "$budget" \
        --worker-timeout 300 --resume --out "$rows/$case.jsonl" --report "$rows/$case.md" || [ $? -eq 1 ]
}

points()
{
    for op in exp sum mean std nanmean percentile median sort digitize histogram bincount_weights cumsum; do echo "$op 4194304"; done
    echo "add 10
expression 1000
expression 100000
expression 4194304
chain100 1000000
model 1000000
model_grad_p 1000000
model_grad_x 1000000
scan 1000
scan_grad 1000
fori 1000
kww 10000
kww_grad 10000
kww_jac 10000
rbf 16384
rbf_grad 16384"
}

set --
while read -r op n; do set -- "$@" --point "{\"op\":\"$op\",\"n\":$n}"; done <<END
$(points)
END
measure array_ops 1300 --baselines compiled,memory,numpy,jax "$@"
measure array_qmap 120 --baselines compiled,numpy,jax --point '{"n":1024}' --point '{"n":2048}'
cat "$rows/array_ops.jsonl" "$rows/array_qmap.jsonl" > reports/array_jit.jsonl
"$nperf" --render-from reports/array_jit.jsonl --report reports/array_jit.md
python3 - reports/array_jit.jsonl >> reports/array_jit.md <<'END'
import json
import sys

print("\n## First calls\n\nIn fresh processes: tracing, and compiling or reading what the disk cache holds, included.\n")
print("| point | baseline | first call |\n|---|---|--:|")
for row in map(json.loads, open(sys.argv[1], encoding="utf-8")):
    seconds = ((row.get("metrics") or {}).get("compile_time") or {}).get("first_call")
    if row["baseline"] in ("compiled", "jax") and isinstance(seconds, float):
        print(f"| {row['point_label']} | {row['baseline']} | {seconds * 1e3:.3g} ms |")
END
