#!/bin/sh
# Real readers and servers on what we write, and ours on what they write, as a table.  usage: scripts/interop.sh [stores|formats|imports|asv|mlflow|site|adapters|traces|wandb]...
# Needs build/release and a Python of 3.11 or later; packages come from PyPI on first use
# (scripts/setup-refs.sh; MLflow takes 850 MB).
set -eu
cd "$(dirname "$0")/.."
refs=${NPERF_REFS_ENV_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/calibrax/refs}

[ $# -gt 0 ] || set -- stores formats imports asv mlflow site adapters traces wandb
for check; do
    case $check in
        stores) scripts/setup-refs.sh calibrax >&2 ;;
        asv | mlflow | wandb) scripts/setup-refs.sh "$check" >&2 ;;
        adapters | traces) scripts/setup-refs.sh adapters torch > /dev/null ;;
    esac
done
python3 tests/interop/run.py "$refs" "$@"
