#!/bin/sh
# Runs data-apis/array-api-tests (MIT) over build/python.  Fetches the suite from GitHub and what it needs from PyPI, both kept
# under build/.  What is known to fail, with reasons: tests/python/array-api-tests-{xfails,skips}.txt.
# usage: scripts/array_api_tests.sh [pytest arguments]
# environment: ARRAY_API_TESTS_DIR (a checkout that is here already), ARRAY_API_TESTS_EXAMPLES (for each test, default 200)
set -eu
cd "$(dirname "$0")/.."
root=$(pwd)
suite=${ARRAY_API_TESTS_DIR:-$root/build/array-api-tests}
env=$root/build/array-api-tests-env
known=$root/tests/python/array-api-tests

if [ ! -f "$suite/requirements.txt" ]; then
    git clone --quiet --depth 1 --recurse-submodules --shallow-submodules https://github.com/data-apis/array-api-tests "$suite" || {
        echo "array_api_tests: the suite cannot be fetched; name a checkout with ARRAY_API_TESTS_DIR" >&2
        exit 2
    }
fi
[ -d "$suite/array-api/src" ] || {
    echo "array_api_tests: $suite lacks the standard's stubs: git -C $suite submodule update --init" >&2
    exit 2
}
suite=$(cd "$suite" && pwd)
[ -x "$env/bin/pytest" ] || python3 -m venv "$env"
"$env/bin/python" -m pip install --quiet --disable-pip-version-check -r "$suite/requirements.txt"
cd "$suite"
ARRAY_API_TESTS_MODULE=calibrax_c ARRAY_API_TESTS_VERSION=2023.12 PYTHONPATH=$root/build/python exec "$env/bin/python" -m pytest \
    --max-examples "${ARRAY_API_TESTS_EXAMPLES:-200}" --xfails-file "$known-xfails.txt" --skips-file "$known-skips.txt" \
    -rxXfE -q array_api_tests/ "$@"
