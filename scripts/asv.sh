#!/bin/sh
# `asv publish` on an exported folder, live.  usage: scripts/asv.sh
# Needs build/release; asv comes from PyPI on first use (scripts/setup-refs.sh asv), unless ASV names one.
set -eu
cd "$(dirname "$0")/.."
refs=${NPERF_REFS_ENV_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/calibrax/refs}/asv

[ -n "${ASV:-}" ] || scripts/setup-refs.sh asv >&2
ASV=${ASV:-$refs/bin/asv} python3 scripts/check_asv.py build/release/programs/calibrax/calibrax
