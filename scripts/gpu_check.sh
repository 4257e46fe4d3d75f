#!/bin/sh
# Everything that a machine with a GPU can say, by one command: builds with its nvcc, runs the tests
# of the GPU kernels and of metrics of
# arrays there, measures a few points.  usage: scripts/gpu_check.sh [OUTPUT FOLDER]    exit: 0 all passed, 1 a test failed, 2 it cannot be built or there is no GPU
set -u
cd "$(dirname "$0")/.."
out=${1:-build/gpu}
dir=build/gpu-check
mkdir -p "$out"
command -v nvidia-smi > /dev/null && nvidia-smi --query-gpu=name,compute_cap,driver_version,memory.total --format=csv,noheader | tee "$out/gpu.txt"
PATH=$PATH:/usr/local/cuda/bin
command -v nvcc > /dev/null || { echo "gpu_check: no nvcc on PATH or in /usr/local/cuda/bin: install the CUDA toolkit" >&2; exit 2; }
arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2> /dev/null | head -n 1 | tr -d '.')
tests=false
pkg-config --exists cmocka 2> /dev/null && tests=true
if [ ! -f "$dir/build.ninja" ]; then
    meson setup "$dir" -Dtests=$tests -Dcuda=enabled -Dgpu_archs="${arch:-90}" > "$out/setup.log" 2>&1 || { tail -n 20 "$out/setup.log" >&2; exit 2; }
fi
ninja -C "$dir" > "$out/build.log" 2>&1 || { grep -v '^\[' "$out/build.log" | tail -n 40 >&2; exit 2; }
status=0
export CALIBRAX_SOURCE_ROOT="$PWD"

# judge NAME COMMAND...: a test, whose lines are kept; one that skips for want of a GPU ends the
# check
judge() {
    tap=$out/$1.tap
    shift
    "$@" | tee "$tap"
    grep -q '^1\.\.' "$tap" || status=1
    grep -q '^not ok' "$tap" && status=1
    grep -q 'SKIP hardware' "$tap" || return 0
    echo "gpu_check: a test was skipped: $(grep -m1 'SKIP hardware' "$tap")" >&2
    exit 2
}

"$dir/programs/calibrax/calibrax" doctor > "$out/doctor.txt" 2>&1
grep -i cuda "$out/doctor.txt"
"$dir/programs/calibrax/calibrax" doctor --machine --gpu 0 --plot "$out/roofs.svg" | sed -n '/^GPU/,$p' | tee "$out/roofs.txt"
if [ "$tests" = true ]; then
    judge run "$dir/tests/array/cuda/tests" cuda_run
    judge code python3 tests/array/cuda/check_cuda_code.py "$(command -v nvcc)" . "$dir/calibrax/array/cuda" "$out/cuda_code.txt"
    judge metrics "$dir/tests/metrics/tests" gpu
else
    echo "gpu_check: no cmocka for the tests: install it (Debian: libcmocka-dev), and remove $dir" >&2
fi
if [ -f "$dir/python/calibrax_c/_core.abi3.so" ]; then
    judge python env PYTHONPATH="$dir/python:tests/python" python3 tests/python/test_array_device.py real
fi
for case in semiring_matmul ell_edge_aggregate ell_matmul ell_row_softmax; do
    "$dir/programs/nperf/nperf" --quick --case "$case" --platforms cuda12 --out "$out/$case.jsonl" --report "$out/$case.md" --site "$out/site-$case" 2> "$out/$case.log" | tail -n 20
done
exit $status
