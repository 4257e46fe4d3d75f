#!/bin/sh
# Configures (once) and builds one build folder.  usage: scripts/build.sh release|clang|asan|fuzz [meson options]
set -eu
cd "$(dirname "$0")/.."
kind=${1:?usage: scripts/build.sh release|clang|asan|fuzz}
shift
dir=build/$kind
tests=false
pkg-config --exists cmocka 2> /dev/null && tests=true

case $kind in
release) compiler=gcc; options="-Dtests=$tests" ;;
clang) compiler=clang; options="-Dtests=$tests" ;;
asan) compiler=gcc; options="-Dtests=true -Db_sanitize=address,undefined -Dbuildtype=debugoptimized -Dc_args=-fno-sanitize-recover=undefined" ;;
fuzz) compiler=clang; options="-Dtests=true -Dfuzz=true -Db_sanitize=address,undefined -Dbuildtype=debugoptimized -Db_lundef=false" ;;
*) echo "build: unknown kind '$kind'" >&2; exit 2 ;;
esac

if [ ! -f "$dir/build.ninja" ]; then
    mkdir -p "$dir"
    # shellcheck disable=SC2086
    CC=$compiler meson setup "$dir" $options "$@" > "$dir/setup.log" 2>&1 || { cat "$dir/setup.log" >&2; exit 2; }
elif [ $# -gt 0 ]; then
    meson configure "$dir" "$@" > /dev/null
fi
if ! ninja -C "$dir" > "$dir/build.log" 2>&1; then
    grep -v '^\[' "$dir/build.log" | tail -n 60 >&2
    echo "build: '$dir' failed, see $dir/build.log" >&2
    exit 2
fi
[ ! -x "$dir/programs/nperf/nperf" ] || ln -sf programs/nperf/nperf "$dir/nperf"
echo "build: $dir is up to date" >&2
