#!/bin/sh
# The first look: one point, every rival that this machine has; says where the results are.  usage: scripts/run.sh NPERF
set -eu
nperf=${1:?usage: scripts/run.sh NPERF}
status=0
"$nperf" --quick --site || status=$?
for kind in "rows  results/semiring_matmul.jsonl" "table results/semiring_matmul.md" "page  site/index.html"; do
    path=${kind#* }
    path=${path# }
    [ ! -f "$path" ] || printf '%s: %s\n' "${kind%% *}" "$path"
done
[ "$status" -eq 0 ] || exit "$status"
scripts/setup-refs.sh --missing || true
