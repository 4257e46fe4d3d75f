#!/bin/sh
# Everything that a machine with a GPU can say, by one command: builds with its nvcc, runs the tests of the GPU kernels, measures a
# few points.  usage: scripts/gpu_check.sh [OUTPUT FOLDER]    exit: 0 all passed, 1 a test failed, 2 it cannot be built or there is no GPU
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
"$dir/programs/calibrax/calibrax" doctor > "$out/doctor.txt" 2>&1
grep -i cuda "$out/doctor.txt"
"$dir/programs/calibrax/calibrax" doctor --machine --gpu 0 --plot "$out/roofs.svg" | sed -n '/^GPU/,$p' | tee "$out/roofs.txt"
if [ "$tests" = true ]; then
    "$dir/tests/array/cuda/tests" cuda_run | tee "$out/run.tap" || status=1
    grep -q 'SKIP' "$out/run.tap" && { echo "gpu_check: the run test was skipped: $(grep -m1 SKIP "$out/run.tap")" >&2; exit 2; }
    python3 tests/array/cuda/check_cuda_code.py "$(command -v nvcc)" . "$dir/calibrax/array/cuda" "$out/cuda_code.txt" | tee "$out/code.tap" || status=1
fi
for case in semiring_matmul ell_edge_aggregate ell_matmul ell_row_softmax; do
    "$dir/programs/nperf/nperf" --quick --case "$case" --platforms cuda12 --out "$out/$case.jsonl" --report "$out/$case.md" --site "$out/site-$case" 2> "$out/$case.log" | tail -n 20
done
exit $status
