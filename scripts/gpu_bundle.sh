#!/bin/sh
# Packs the tests of compiled functions on GPUs, with their libraries and the PTX of all that they
# run, into one archive for a machine that has NVIDIA's driver, a C library of Debian 12 or later,
# and nothing else: no LLVM, no network; where it has Python 3.11 or later, arrays are tested from
# there, too.  There: tar xf ARCHIVE && gpu-bundle/run.sh
# usage: scripts/gpu_bundle.sh [ARCHIVE]    (default build/gpu-bundle.tar.xz)
set -eu
cd "$(dirname "$0")/.."
archive=${1:-build/gpu-bundle.tar.xz}
TARGETS="tests/array/tests tests/array/cuda/libshim_cuda.so python/calibrax_c/_core.abi3.so" scripts/build.sh release -Dtests=true
dir=build/gpu-bundle
tests=build/release/tests/array/tests
rm -rf "$dir"
mkdir -p "$dir/lib"
CALIBRAX_TEST_GPU=record CALIBRAX_CACHE_DIR=$PWD/$dir/cache $tests jit_gpu jit_device jit_graphs jit_gpu_speed > "$dir/record.tap"
if grep '^not ok' "$dir/record.tap"; then echo "gpu_bundle: a test failed while PTX was written" >&2; exit 1; fi
python=build/release/python/calibrax_c
CALIBRAX_CACHE_DIR=$PWD/$dir/cache CALIBRAX_BUILD_ROOT=$PWD/build/release PYTHONPATH=$PWD/build/release/python:$PWD/tests/python \
    python3 tests/python/test_array_device.py record > "$dir/record_python.tap" || :
strip -o "$dir/tests" $tests
mkdir -p "$dir/python"
cp -RL $python "$dir/python"
rm -rf "$dir/python/calibrax_c/_core.abi3.so.p" "$dir/python/calibrax_c/__pycache__"
strip "$dir/python/calibrax_c/_core.abi3.so"
cp tests/python/tap.py tests/python/test_array_device.py "$dir/python"
for library in $(ldd $tests $python/_core.abi3.so | awk '/=> [/]/ { print $3 }'); do
    case $library in */libc.so.* | */libm.so.* | */ld-linux*) ;; *) cp -L "$library" "$dir/lib" ;; esac
done
cat > "$dir/run.sh" << 'END'
#!/bin/sh
# usage: run.sh    exit: 0 all passed on the GPU, 1 a test failed, 2 there is no GPU
cd "$(dirname "$0")" || exit 2
export LD_LIBRARY_PATH="$PWD/lib" CALIBRAX_CACHE_DIR="$PWD/cache" CALIBRAX_SOURCE_ROOT="$PWD" CALIBRAX_BUILD_ROOT="$PWD" CALIBRAX_LLVM=none
status=0
LD_LIBRARY_PATH='' nvidia-smi --query-gpu=name,compute_cap,driver_version --format=csv,noheader
for test in jit_gpu jit_device jit_graphs jit_gpu_speed; do
    ./tests $test > $test.tap 2> $test.log
    grep '_on_a_gpu\| a_gpu_gives_\| kernels_stream' $test.tap > judged || status=1
    cat judged
    grep 'GB/s' $test.tap
    grep '^not ok' judged && { status=1; grep -v '^ok' $test.tap; head -c 6000 $test.log; }
    grep -q SKIP judged && status=2
done
if command -v python3 > /dev/null; then
    LD_LIBRARY_PATH="$PWD/lib" PYTHONPATH="$PWD/python" python3 python/test_array_device.py real > python.tap 2> python.log
    grep '^not ok\|SKIP\|^1\.\.' python.tap
    grep -q '^not ok' python.tap && { status=1; grep -v '^ok' python.tap; head -c 4000 python.log; }
fi
if command -v compute-sanitizer > /dev/null; then
    CBX_TEST_KERNELS=60 timeout 200 compute-sanitizer --target-processes all ./tests jit_gpu jit_device > sanitizer.log 2>&1
    grep -E 'ERROR SUMMARY|Invalid|^not ok.*_on_a_gpu' sanitizer.log | head -n 20
fi
exit $status
END
chmod +x "$dir/run.sh"
tar -C build -cf - gpu-bundle | xz -T0 -6 > "$archive"
echo "gpu_bundle: $archive, $(du -m "$archive" | cut -f1) MB"
