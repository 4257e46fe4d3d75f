#!/bin/sh
# The PTX of compiled functions through NVIDIA's ptxas: CALIBRAX_PTXAS, that on PATH or in
# /usr/local/cuda/bin, else that of PyPI's
# nvidia-cuda-nvcc-cu12 in build/ptxas (140 MB).  usage: scripts/check_ptx.sh    exit: 0 accepted, 1 a test failed, 2 there is no ptxas
set -eu
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/local/cuda/bin
ptxas=${CALIBRAX_PTXAS:-$(command -v ptxas || :)}
if [ -z "$ptxas" ]; then
    [ -x build/ptxas/bin/python ] || python3 -m venv build/ptxas
    build/ptxas/bin/python -m pip install --quiet --disable-pip-version-check --no-deps nvidia-cuda-nvcc-cu12==12.9.86 >&2
    ptxas=$(find build/ptxas -name ptxas -type f | head -n 1)
    [ -n "$ptxas" ] || { echo "check_ptx: PyPI's nvidia-cuda-nvcc-cu12 has no ptxas here" >&2; exit 2; }
fi
"$ptxas" --version | tail -n 1
scripts/build.sh release -Dtests=true > /dev/null
CALIBRAX_PTXAS=$ptxas CALIBRAX_TEST_PTX=${PTX_BATCHES:-20} build/release/tests/array/tests jit_gpu
