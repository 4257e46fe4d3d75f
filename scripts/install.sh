#!/bin/sh
# Installs the release build.  usage: scripts/install.sh PREFIX DESTDIR
# With --note LIBDIR: only the sentence about a folder where the loader does not look.
set -eu
cd "$(dirname "$0")/.."
note() {
    ldconfig -p 2> /dev/null | grep -q "=> $1/" || echo "install: the loader does not look in '$1': run programs with LD_LIBRARY_PATH=$1, or link them with -Wl,-rpath,$1"
}
if [ "${1:-}" = --note ]; then
    note "$2"
    exit 0
fi
prefix=${1:?usage: scripts/install.sh PREFIX DESTDIR}
destdir=${2:-}
meson setup --reconfigure build/release --prefix "$prefix" > build/release/setup.log 2>&1 || { cat build/release/setup.log >&2; exit 2; }
scripts/build.sh release
DESTDIR=$destdir meson install -C build/release --no-rebuild --quiet
echo "install: below $destdir$prefix" >&2
[ -z "$destdir" ] || exit 0
[ "$(id -u)" -ne 0 ] || ldconfig
note "$prefix/$(meson introspect --buildoptions build/release | python3 -c 'import json, sys; print(next(o["value"] for o in json.load(sys.stdin) if o["name"] == "libdir"))')" >&2
