#!/bin/sh
# What LLVM makes of random compiled kernels for 64-bit ARM (NEON_KERNELS of them, 2000 without it)
# against the interpreter, byte for byte, and the tests of the product kernels built for it, under
# qemu.
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
# Compiled kernels: emitted here, run there.
scripts/build.sh release -Dtests=true > "$out/build.log" || { cat "$out/build.log" >&2; exit 2; }
ninja -C build/release tests/array/emit_kernels > "$out/build.log" || { cat "$out/build.log" >&2; exit 2; }
build/release/tests/array/emit_kernels "${NEON_KERNELS:-2000}" "$out" || exit 2
objects=
for name in base/allocator base/arena base/clock base/cpu base/ctx base/hash_table base/list base/options base/pool base/rng base/settings base/status base/text base/utf8 \
    array/array array/dtype array/handle array/primitive array/jit/formulas array/jit/interpreter array/jit/kernel array/kernels/binary_isa \
    array/kernels/cast_isa array/kernels/copy array/kernels/builds array/kernels/unary_isa; do
    object=$out/kernels_$(basename "$name").o
    # shellcheck disable=SC2086
    "$compiler" $flags -ffp-contract=off -c "calibrax/$name.c" -o "$object" || exit 2
    objects="$objects $object"
done
# What rows of primitives name and kernels do not call is left out.
# shellcheck disable=SC2086
"$compiler" $flags -Itests/array -ffp-contract=off -Wl,--unresolved-symbols=ignore-all tests/cross/kernels.c tests/array/kernels_check.c tests/array/kernels_random.c \
    "$out/stubs.c" "$out/kernels.o" $objects -lm -o "$out/compiled_kernels" || exit 2
"$emulator" "$out/compiled_kernels" || exit 1

# The hand-written kernels.
kernels="semiring semiring_isa semiring_define convolve ell ell_define ell_isa builds fold_isa sort_isa search_isa semiring_grad"
for name in $kernels; do
    "$compiler" $flags -ffp-contract=fast -c "calibrax/array/kernels/$name.c" -o "$out/$name.o" || exit 2
done
"$compiler" $flags -ffp-contract=fast -fopenmp -c calibrax/array/kernels/semiring_isa.c -o "$out/with_threads.o" || exit 2
for name in base/cpu base/status base/text base/utf8 base/rng base/clock array/dtype; do
    "$compiler" $flags -c "calibrax/$name.c" -o "$out/$(basename "$name").o" || exit 2
done
objects=
for name in cpu semiring semiring_isa semiring_define convolve status text utf8 rng clock dtype; do objects="$objects $out/$name.o"; done
for test in test_semiring test_semiring_kernel; do
    # shellcheck disable=SC2086
    "$compiler" $flags "tests/array/$test.c" $objects -lm -o "$out/$test" || exit 2
    "$emulator" "$out/$test" || exit 1
done
echo "passed: kernels' tests and compiled kernels on emulated 64-bit ARM"
