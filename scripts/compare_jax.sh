#!/bin/sh
# Transforms of Python functions against JAX: programs by hand, random ones, and functions that
# SciPy publishes for the array API.
# usage: scripts/compare_jax.sh      (CALIBRAX_PROGRAMS: how many random programs, default 300); needs build/python
# JAX and SciPy come from PyPI into the environment of nperf's rival.
set -eu
cd "$(dirname "$0")/.."
refs=${NPERF_REFS_ENV_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/calibrax/refs}

scripts/setup-refs.sh jax > /dev/null
for backend in reference jit; do
    echo "backend $backend"
    CALIBRAX_BACKEND=$backend CALIBRAX_PROGRAMS=${CALIBRAX_PROGRAMS:-300} SCIPY_ARRAY_API=1 PYTHONPATH=build/python:tests/python \
        "$refs/jax/bin/python" tests/python/compare_jax.py
done
