#!/bin/sh
# Builds the product kernels for 64-bit ARM (NEON) and runs their tests under qemu.
# exit status: 0 passed, or skipped with the reason; 1 a test failed; 2 it does not build
set -eu
cd "$(dirname "$0")/.."
compiler=${AARCH64_CC:-aarch64-linux-gnu-gcc}
emulator=${QEMU_AARCH64:-qemu-aarch64}
for tool in "$compiler" "$emulator"; do
    command -v "$tool" >/dev/null || {
        echo "skipped: $tool is not installed: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user"
        exit 0
    }
done
out=build/neon
mkdir -p "$out"
flags="-std=gnu17 -O3 -static -ffunction-sections -Wl,--gc-sections -Wall -Wextra -Werror -Wno-missing-field-initializers -D_GNU_SOURCE -I. -Itests/cross -Itests/support -DISA_NAME=plain -DISA_FILE=\"calibrax/array/kernels/isa/plain.h\""
kernels="semiring semiring_isa semiring_define convolve ell ell_define ell_isa fold fold_isa sort sort_isa search search_isa semiring_grad"
for name in $kernels; do
    "$compiler" $flags -ffp-contract=fast -c "calibrax/array/kernels/$name.c" -o "$out/$name.o" || exit 2
done
"$compiler" $flags -ffp-contract=fast -fopenmp -c calibrax/array/kernels/semiring_isa.c -o "$out/with_threads.o" || exit 2
for name in base/cpu base/status base/text base/rng base/clock array/dtype; do
    "$compiler" $flags -c "calibrax/$name.c" -o "$out/$(basename "$name").o" || exit 2
done
objects=
for name in cpu semiring semiring_isa semiring_define convolve status text rng clock dtype; do objects="$objects $out/$name.o"; done
for test in test_semiring test_semiring_kernel; do
    # shellcheck disable=SC2086
    "$compiler" $flags "tests/array/$test.c" $objects -lm -o "$out/$test" || exit 2
    "$emulator" "$out/$test" || exit 1
done
echo "passed: the kernels' tests on emulated 64-bit ARM"
