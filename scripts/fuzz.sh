#!/bin/sh
# Runs each fuzz program for some seconds over its corpus.  usage: scripts/fuzz.sh SECONDS
set -eu
cd "$(dirname "$0")/.."
seconds=${1:?usage: scripts/fuzz.sh SECONDS}
scripts/build.sh fuzz
# leaks of libraries are theirs
export LSAN_OPTIONS="print_suppressions=0:suppressions=$PWD/tests/fuzz/lsan.supp"
passed=0
failed=0
for program in build/fuzz/tests/fuzz/fuzz_*; do
    [ -x "$program" ] && [ ! -d "$program" ] || continue
    name=${program##*/fuzz_}
    found=build/fuzz/found-$name
    mkdir -p "$found"
    if "$program" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 -artifact_prefix="$found/" "$found" "tests/fuzz/corpus/$name" \
        > "$found.log" 2>&1; then
        passed=$((passed + 1))
        echo "ok   fuzz $name: $(grep -c '' "$found.log") log lines, corpus $(find "$found" -type f | wc -l)"
    else
        failed=$((failed + 1))
        echo "FAIL fuzz $name: see $found.log"
    fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
