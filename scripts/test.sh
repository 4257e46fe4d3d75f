#!/bin/sh
# Everything that `make test` promises; each step adds its cases to one sum.  The last line is "N passed, N failed, N skipped".
set -u
cd "$(dirname "$0")/.."
scripts/build.sh release -Dtests=true || exit 2
scripts/build.sh clang || exit 2
scripts/build.sh asan || exit 2
scripts/build.sh tsan || exit 2
python3 scripts/run_tests.py --checks build/release build/tsan:threads build/asan
