#!/bin/sh
# The tool's own proof at full size, into reports/selftest.json; the launches it draws from stay in
# build/selftest.
# usage: scripts/selftest.sh NPERF [--again | --live [N]]
# --again: draw again from build/selftest, and measure nothing (a minute); --live: N pairs of
# equals, each measured again (200, ten minutes) The whole: at most ten minutes of recording for
# --aa and five for --power, a minute of drawing, some for faults, cheats and clocks.
set -u
cd "$(dirname "$0")/.."
nperf=${1:?usage: scripts/selftest.sh NPERF [--again | --live [N]]}
kept=build/selftest
record=reports/selftest.json
mkdir -p "$kept" reports

# 3 is undecided: it is recorded, and the other parts are asked anyway.
case ${2:-} in
--again) exec "$nperf" selftest --aa --power --from "$kept" --out "$record" ;;
--live) exec "$nperf" selftest --live "${3:-200}" --out "$record" ;;
esac
"$nperf" selftest --clock --aa --power --record "$kept" --out "$record"
first=$?
[ "$first" -eq 2 ] || [ "$first" -eq 130 ] && exit "$first"
"$nperf" selftest --mutants --exploits --out "$record"
second=$?
[ "$first" -ne 0 ] && exit "$first"
exit "$second"
