#!/bin/sh
# Real readers and servers on what we write, and ours on what they write, as a table.  usage: scripts/interop.sh [stores|formats|imports|asv|mlflow|site|adapters|traces|wandb]...
# Needs build/release and a Python of 3.11 or later; each package comes from PyPI into a folder of its own on first use (MLflow takes 850 MB).
set -eu
cd "$(dirname "$0")/.."
refs=${NPERF_REFS_ENV_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/calibrax/refs}

# environment FOLDER MODULE PACKAGE: a Python that can import the module
environment() {
    if ! "$refs/$1/bin/python" -c "import $2" 2> /dev/null; then
        for python in "${PYTHON:-}" python3.13 python3.12 python3.11 python3; do
            [ -n "$python" ] && "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null || continue
            echo "interop: fetching $3 with $python into $refs/$1" >&2
            rm -rf "${refs:?}/$1"
            "$python" -m venv "$refs/$1" && "$refs/$1/bin/pip" -q install "$3" && break
            rm -rf "${refs:?}/$1"
        done
    fi
    if ! "$refs/$1/bin/python" -c "import $2" 2> /dev/null; then
        echo "interop: no Python can have $3 (it needs 3.11 or later; set PYTHON to one)" >&2
        exit 2
    fi
}

[ $# -gt 0 ] || set -- stores formats imports asv mlflow site adapters traces wandb
for check; do
    case $check in
        stores) environment calibrax calibrax.storage calibrax==0.1.14 ;;
        asv) environment asv asv asv==0.6.6 ;;
        mlflow) environment mlflow mlflow mlflow==3.17.2 ;;
        wandb) environment wandb wandb wandb==0.31.0 ;;
        adapters | traces) scripts/setup-refs.sh adapters torch > /dev/null ;;
    esac
done
python3 tests/interop/run.py "$refs" "$@"
