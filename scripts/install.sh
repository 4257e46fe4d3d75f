#!/bin/sh
# Installs the release build.  usage: scripts/install.sh PREFIX DESTDIR
set -eu
cd "$(dirname "$0")/.."
prefix=${1:?usage: scripts/install.sh PREFIX DESTDIR}
destdir=${2:-}
meson setup --reconfigure build/release --prefix "$prefix" > build/release/setup.log 2>&1 || { cat build/release/setup.log >&2; exit 2; }
scripts/build.sh release
DESTDIR=$destdir meson install -C build/release --no-rebuild --quiet
[ -n "$destdir" ] || [ "$(id -u)" -ne 0 ] || ldconfig
echo "install: below $destdir$prefix" >&2
