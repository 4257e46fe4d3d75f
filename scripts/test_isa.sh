#!/bin/sh
# The tests of kernels and of the operations over them, with narrower instruction sets as the best.  usage: scripts/test_isa.sh BUILD
set -eu
cd "$(dirname "$0")/.."
build=${1:?usage: scripts/test_isa.sh BUILD}
for isa in avx2 plain; do
    echo "# the best instruction set is $isa"
    for test in semiring semiring_kernel semiring_ops ell; do
        CALIBRAX_ISA=$isa CALIBRAX_SOURCE_ROOT=$PWD CALIBRAX_BUILD_ROOT=$PWD/$build "$build/tests/array/test_array_$test" || exit 1
    done
done
