#!/bin/sh
# Builds the Python package of the release build and lays it out alone, importable with
# PYTHONPATH=build/python.
set -eu
cd "$(dirname "$0")/.."
built=build/release/python/calibrax_c
scripts/build.sh release
if [ ! -f "$built/_core.abi3.so" ]; then # configured before the headers were there
    meson setup --reconfigure build/release > build/release/setup.log 2>&1 || { cat build/release/setup.log >&2; exit 2; }
    scripts/build.sh release
fi
[ -f "$built/_core.abi3.so" ] || { echo "build_python: no Python.h of Python 3.11 or newer: apt-get install python3-dev" >&2; exit 2; }
rm -rf build/python/calibrax_c
mkdir -p build/python
tar -C "$built/.." --exclude="*.p" -c calibrax_c | tar -C build/python -x
echo "build_python: PYTHONPATH=build/python python3 -c 'import calibrax_c'" >&2
