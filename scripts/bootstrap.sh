#!/bin/sh
# Installs the Debian packages that packaging/debian-packages.txt lists, when root; otherwise prints
# the one command to run.  For tests it also installs NumPy, mypy, array-api-extra and pytest from
# PyPI (scripts/setup-refs.sh).
# usage: scripts/bootstrap.sh [build|python|test]   (build: what it takes to build and run; python: and the Python package; test: all)
set -eu
kind=${1:-build}
case $kind in build | python | test) ;; *) echo "bootstrap: unknown kind '$kind': say build, python or test" >&2; exit 2 ;; esac
list=$(dirname "$0")/../packaging/debian-packages.txt

if ! command -v dpkg-query > /dev/null 2>&1; then
    echo "bootstrap: this is no Debian system; install the equivalents of packaging/debian-packages.txt by hand" >&2
    exit 0
fi
wanted=$(awk -v kind="$kind" '/^[^#]/ && ($2 == "build" || $2 == kind || kind == "test") { print $1 }' "$list")
missing=
for package in $wanted; do
    dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2> /dev/null | grep -q '^.i' || missing="$missing $package"
done
if [ -n "$missing" ]; then
    command="apt-get install -y --no-install-recommends$missing"
    if [ "$(id -u)" -ne 0 ]; then
        printf 'bootstrap: packages are missing; run this once, then try again:\n  sudo %s\n' "$command" >&2
        exit 2
    fi
    echo "bootstrap: installing$missing" >&2
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >&2
    log=$(mktemp)
    # shellcheck disable=SC2086
    if ! $command > "$log" 2>&1; then
        tail -n 20 "$log" >&2
        echo "bootstrap: installing failed, see $log" >&2
        exit 2
    fi
    rm -f "$log"
fi
[ "$kind" != test ] || "$(dirname "$0")/setup-refs.sh" numpy mypy arrayapi pytest > /dev/null
