#!/bin/sh
# Builds the Python package of the release build and lays it out alone, importable with PYTHONPATH=build/python.
set -eu
cd "$(dirname "$0")/.."
built=build/release/python/calibrax_c.abi3.so
scripts/build.sh release
if [ ! -f "$built" ]; then # configured before the headers were there
    meson setup --reconfigure build/release > build/release/setup.log 2>&1 || { cat build/release/setup.log >&2; exit 2; }
    scripts/build.sh release
fi
[ -f "$built" ] || { echo "build_python: no Python.h of Python 3.11 or newer: apt-get install python3-dev" >&2; exit 2; }
mkdir -p build/python
cp -p "$built" build/python/
echo "build_python: PYTHONPATH=build/python python3 -c 'import calibrax_c'" >&2
