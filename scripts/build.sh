#!/bin/sh
# Configures (once) and builds one build folder, or of it what TARGETS names for ninja.
# usage: scripts/build.sh release|clang|asan|tsan|fuzz [meson options]
# release has everything.  clang is for its warnings, so it does not optimise, and links nothing;
# the sanitizers' builds optimise little, for the same finds in half of the time; GPU kernels are
# compiled for release alone.  tsan builds only the tests of what threads share, fuzz only what
# looks for inputs.
set -eu
cd "$(dirname "$0")/.."
kind=${1:?usage: scripts/build.sh release|clang|asan|tsan|fuzz}
shift
dir=build/$kind
targets=${TARGETS:-}
tests=false
flags=
light="-Dbuildtype=plain -Doptimization=1"
# Lines for reports; texts that may be truncated are judged by the release build, where the
# optimiser sees how long they are.
light_flags="-g1 -Wno-format-truncation"
pkg-config --exists cmocka 2> /dev/null && tests=true

case $kind in
release) compiler=gcc; options="-Dtests=$tests" ;;
clang) compiler=clang; options="-Dtests=$tests -Dcuda=disabled -Doptimization=0" ;;
asan)
    compiler=gcc
    options="-Dtests=true -Db_sanitize=address,undefined $light"
    flags="$light_flags -fno-sanitize-recover=undefined"
    ;;
tsan)
    compiler=gcc
    options="-Dtests=true -Db_sanitize=thread $light"
    flags=$light_flags
    targets=threads
    ;;
fuzz)
    compiler=clang
    options="-Dtests=true -Dfuzz=true -Dcuda=disabled -Db_sanitize=address,undefined -Dbuildtype=debugoptimized -Db_lundef=false"
    targets=fuzz
    ;;
*) echo "build: unknown kind '$kind'" >&2; exit 2 ;;
esac

command -v ccache > /dev/null 2>&1 && compiler="ccache $compiler"
if [ ! -f "$dir/build.ninja" ]; then
    mkdir -p "$dir"
    again=
    [ ! -f "$dir/meson-private/coredata.dat" ] || again=--reconfigure # killed before it was written
    # shellcheck disable=SC2086
    CC=$compiler CFLAGS="$flags ${CFLAGS:-}" meson setup $again "$dir" $options "$@" > "$dir/setup.log" 2>&1 || { cat "$dir/setup.log" >&2; exit 2; }
elif [ $# -gt 0 ]; then
    meson configure "$dir" "$@" > /dev/null
fi
[ "$kind" != clang ] || targets=$(ninja -C "$dir" -t targets rule c_COMPILER)
# shellcheck disable=SC2086
if ! ninja -C "$dir" $targets > "$dir/build.log" 2>&1; then
    grep -v '^\[' "$dir/build.log" | tail -n 60 >&2
    echo "build: '$dir' failed, see $dir/build.log" >&2
    exit 2
fi
[ ! -x "$dir/programs/nperf/nperf" ] || ln -sf programs/nperf/nperf "$dir/nperf"
for program in nperf calibrax; do # in bin/, since $dir/calibrax is the library's build folder
    [ -x "$dir/programs/$program/$program" ] || continue
    mkdir -p "$dir/bin"
    ln -sf "../programs/$program/$program" "$dir/bin/$program"
done
echo "build: $dir is up to date" >&2
