#!/bin/sh
# Stores written by us and by the Python package calibrax 0.1.14, read by the other side, and adapters under their frameworks, live.  usage: scripts/interop.sh
# Needs build/release and a Python of 3.11 or later; the package comes from PyPI into a folder of its own on first use.
set -eu
cd "$(dirname "$0")/.."
refs=${NPERF_REFS_ENV_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/calibrax/refs}/calibrax

if ! "$refs/bin/python" -c 'from calibrax.storage import Store' 2> /dev/null; then
    for python in "${PYTHON:-}" python3.13 python3.12 python3.11 python3; do
        [ -n "$python" ] && "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null || continue
        echo "interop: fetching calibrax 0.1.14 with $python into $refs" >&2
        "$python" -m venv "$refs" && "$refs/bin/pip" -q install calibrax==0.1.14 && break
        rm -rf "$refs"
    done
fi
if ! "$refs/bin/python" -c 'from calibrax.storage import Store' 2> /dev/null; then
    echo "interop: no Python can have calibrax 0.1.14 (it wants 3.11 or later, set PYTHON to one)" >&2
    exit 2
fi
CALIBRAX_SOURCE_ROOT=$PWD CALIBRAX_BUILD_ROOT=$PWD/build/release CALIBRAX_PYTHON=$refs/bin/python python3 tests/cli/test_interop.py

# The adapters of Python under the frameworks themselves.
scripts/setup-refs.sh adapters torch > /dev/null
for environment in adapters torch; do
    PYTHONPATH=build/release/python:tests/python "$(dirname "$refs")/$environment/bin/python" tests/python/test_adapters.py --frameworks
done

# Traces of the profilers, made here and now.
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
for environment in adapters torch; do
    "$(dirname "$refs")/$environment/bin/python" - "$made" < scripts/fixtures/make_traces.py
done
CALIBRAX_SOURCE_ROOT=$PWD CALIBRAX_BUILD_ROOT=$PWD/build/release CALIBRAX_TRACES=$made python3 tests/cli/test_traces.py
