#!/bin/sh
# `asv publish` on an exported folder, live.  usage: scripts/asv.sh
# Needs build/release; asv comes from PyPI into a folder of its own on first use, unless ASV names one.
set -eu
cd "$(dirname "$0")/.."
refs=${NPERF_REFS_ENV_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/calibrax/refs}/asv

if [ -z "${ASV:-}" ] && ! "$refs/bin/asv" --version > /dev/null 2>&1; then
    echo "asv: fetching asv 0.6.6 into $refs" >&2
    python3 -m venv "$refs"
    "$refs/bin/pip" -q install asv==0.6.6
fi
ASV=${ASV:-$refs/bin/asv} python3 scripts/check_asv.py build/release/programs/calibrax/calibrax
