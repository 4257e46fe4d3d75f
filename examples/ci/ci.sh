#!/bin/sh
# ci.sh BASE HEAD: fails if HEAD is slower than BASE.  In the root of the repository.
# METRIC, LAUNCHES and MARGIN may be set; NPERF names the program.
set -u
base=${1:?usage: ci.sh BASE HEAD}
head=${2:?usage: ci.sh BASE HEAD}

"${NPERF:-nperf}" ab "$base" "$head" --build make --bench ./bench --metric "${METRIC:-ns_per_lookup}" \
    --launches "${LAUNCHES:-25}" --margin "${MARGIN:-0.03}" --out compare.json
status=$?

case $status in
0) echo "pass: $head is no slower than $base" ;;
1) echo "fail: $head is slower than $base" ;;
3)
    echo "warning: undecided; more launches could decide (LAUNCHES=100)"
    status=0
    ;;
*) echo "fail: $head could not be compared with $base" ;;
esac
exit $status
