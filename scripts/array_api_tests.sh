#!/bin/sh
# Runs data-apis/array-api-tests (MIT) over build/python, against version 2024.12 of the standard.
# ARRAY_API_TESTS_DIR names a checkout with its submodule; without it the commit below is fetched
# from GitHub.  What the suite needs comes from PyPI.  Both are kept under build/.  Expected
# failures, with reasons: tests/python/array-api-tests-xfails.txt.
# usage: scripts/array_api_tests.sh [pytest arguments]
# environment: ARRAY_API_TESTS_DIR, ARRAY_API_TESTS_EXAMPLES (for each test, default 200),
# CALIBRAX_BACKEND; ARRAY_API_TESTS_MODULE: calibrax_c.array, or array_api_jitted, each function of
# it under jit
set -eu
commit=55fcc60179efa2680ddd6cd926ddf17b83530e2b
cd "$(dirname "$0")/.."
root=$(pwd)
suite=${ARRAY_API_TESTS_DIR:-$root/build/array-api-tests}
env=$root/build/array-api-tests-env

if [ ! -f "$suite/requirements.txt" ]; then
    { git clone --quiet https://github.com/data-apis/array-api-tests "$suite" &&
        git -C "$suite" checkout --quiet "$commit" && git -C "$suite" submodule --quiet update --init --depth 1; } || {
        echo "array_api_tests: the suite cannot be fetched; name a checkout with ARRAY_API_TESTS_DIR" >&2
        exit 2
    }
fi
[ -d "$suite/array-api/src" ] || {
    echo "array_api_tests: $suite lacks the standard's stubs: git -C $suite submodule update --init" >&2
    exit 2
}
suite=$(cd "$suite" && pwd)
here=$(git -C "$suite" rev-parse HEAD 2> /dev/null || echo unknown)
[ "$here" = "$commit" ] || echo "array_api_tests: the checkout is at $here, the expected failures were seen with $commit" >&2
[ -x "$env/bin/pytest" ] || python3 -m venv "$env"
"$env/bin/python" -m pip install --quiet --disable-pip-version-check -r "$suite/requirements.txt"
cd "$suite"
ARRAY_API_TESTS_MODULE=${ARRAY_API_TESTS_MODULE:-calibrax_c.array} ARRAY_API_TESTS_VERSION=2024.12 PYTHONPATH=$root/build/python:$root/tests/python exec "$env/bin/python" -m pytest \
    --max-examples "${ARRAY_API_TESTS_EXAMPLES:-200}" --xfails-file "$root/tests/python/array-api-tests-xfails.txt" \
    -p array_api_tests_limits -rxXfE -q array_api_tests/ "$@"
