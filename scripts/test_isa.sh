#!/bin/sh
# The tests of kernels and of the operations over them, with narrower instruction sets as the best.  usage: scripts/test_isa.sh BUILD
set -eu
cd "$(dirname "$0")/.."
build=${1:?usage: scripts/test_isa.sh BUILD}
for isa in avx2 plain; do
    echo "# the best instruction set is $isa"
    CALIBRAX_ISA=$isa "$build/tests/array/tests" semiring semiring_kernel semiring_ops ell || exit 1
done
