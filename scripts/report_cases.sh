#!/bin/sh
# The cases against NumPy, SciPy, JAX, PyTorch, PyG and GraphBLAS: reports/CASE.{jsonl,md}.  usage:
# scripts/report_cases.sh NPERF [CASE...]
#
# Seven launches of each baseline, rivals at their tuned variant, one core, a time budget a case;
# about 20 minutes for all five cases on a quiet machine.  Rivals that are not installed are rows
# that state it (scripts/setup-refs.sh adds them).  A report that was interrupted goes on where it
# stopped; REPORT_AGAIN=1 measures all of it again.
set -eu
cd "$(dirname "$0")/.."
nperf=${1:?usage: scripts/report_cases.sh NPERF [CASE...]}
shift
[ $# -gt 0 ] || set -- ell_edge_aggregate ell_matmul ell_row_softmax semiring_conv dense_matmul

# report CASE BUDGET POINT...: BUDGET seconds for all points together
report()
{
    case=$1 budget=$2
    shift 2
    for point do
        set -- "$@" --point "$point"
        shift
    done
    [ -n "${REPORT_AGAIN:-}" ] && rm -f "reports/$case.jsonl"
    "$nperf" --case "$case" "$@" --launches 7 --warmup 1 --repeats 5 --variants tuned --budget "$budget" --worker-timeout 300 --resume \
        --out "reports/$case.jsonl" --report "reports/$case.md"
}

for name do
    case $name in
    ell_edge_aggregate) # 5 minutes
        report "$name" 300 '{"n":16384,"k":16,"d_in":64,"d_out":64,"algebra":"real"}' \
            '{"n":16384,"k":16,"d_in":64,"d_out":64,"algebra":"tropical_max_plus"}' \
            '{"n":4096,"k":16,"d_in":64,"d_out":64,"algebra":"real"}' ;;
    ell_matmul) # 4 minutes
        report "$name" 240 '{"m":4096,"k":32,"n":32,"algebra":"real"}' '{"m":4096,"k":32,"n":32,"algebra":"log"}' \
            '{"m":16384,"k":16,"n":64,"algebra":"real"}' '{"m":65536,"k":9,"n":32,"algebra":"real","graph":"mesh2d","order":"rcm"}' ;;
    ell_row_softmax) # 4 minutes
        report "$name" 240 '{"n":16384,"k":32}' '{"n":4096,"k":16}' '{"n":65536,"k":32}' '{"n":16384,"k":64,"graph":"power_law"}' ;;
    semiring_conv) # 4 minutes
        report "$name" 240 '{"batch":1,"height":64,"width":64,"c_in":32,"c_out":32,"kernel":3,"algebra":"real"}' \
            '{"batch":1,"height":64,"width":64,"c_in":32,"c_out":32,"kernel":3,"algebra":"log"}' \
            '{"batch":1,"height":64,"width":64,"c_in":32,"c_out":32,"kernel":3,"algebra":"tropical_max_plus"}' \
            '{"batch":4,"height":32,"width":32,"c_in":16,"c_out":32,"kernel":3,"stride":2,"algebra":"real"}' ;;
    dense_matmul) # 3 minutes
        report "$name" 180 '{"m":512,"k":256,"n":512,"dtype":"f32"}' '{"m":512,"k":256,"n":512,"dtype":"f64"}' \
            '{"m":128,"k":128,"n":128,"dtype":"f32"}' ;;
    *)
        echo "report_cases: '$name' is not one of ell_edge_aggregate, ell_matmul, ell_row_softmax, semiring_conv, dense_matmul" >&2
        exit 2 ;;
    esac
done
