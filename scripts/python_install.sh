#!/bin/sh
# The Python package as its users get it: a wheel, in a fresh environment of each Python that is
# here, away from the source tree.
# usage: scripts/python_install.sh [PYTHON]...   (default: python3.11 and later ones that are found)
set -eu
cd "$(dirname "$0")/.."
root=$(pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/calibrax-wheel-XXXXXX")
trap 'rm -rf "$work"' EXIT

if [ $# -eq 0 ]; then
    for name in python3.11 python3.12 python3.13 python3.14; do
        if "$name" -c 'import venv, ensurepip' 2> /dev/null; then set -- "$@" "$name"; fi
    done
    for folder in "$HOME"/.pyenv/versions/3.1[1-9].*; do
        if [ -x "$folder/bin/python" ]; then set -- "$@" "$folder/bin/python"; fi
    done
fi
[ $# -gt 0 ] || { echo "python_install: no Python of 3.11 or later with venv: apt-get install python3-venv" >&2; exit 2; }

git archive --prefix=source/ HEAD | tar -x -C "$work" # what is committed, and nothing that was built
"$1" -m venv "$work/builder"
"$work/builder/bin/pip" wheel --quiet --disable-pip-version-check --no-deps \
    -w "$work/wheels" "$work/source"
mv "$work/source" "$work/gone"
wheel=$(ls "$work"/wheels/*.whl)
echo "python_install: $(basename "$wheel"), $(wc -c < "$wheel") bytes"

seen=
for python in "$@"; do
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    case " $seen " in *" $version "*) continue ;; esac
    seen="$seen $version"
    "$python" -m venv "$work/$version"
    "$work/$version/bin/pip" install --quiet --disable-pip-version-check --no-index "$wheel"
    mkdir "$work/$version/empty"
    cd "$work/$version/empty"
    user="env -i PATH=/usr/bin:/bin HOME=$work/$version/empty CALIBRAX_TEST_SOURCE=$root PYTHONDONTWRITEBYTECODE=1"
    for program in nperf calibrax; do
        # shellcheck disable=SC2086
        $user "$work/$version/bin/$program" --version > program.txt || { echo "python_install: $program does not start" >&2; exit 1; }
        # shellcheck disable=SC2086
        $user "$work/$version/bin/$program" doctor > program.txt || { echo "python_install: $program doctor fails" >&2; exit 1; }
    done
    # shellcheck disable=SC2086
    $user "$work/$version/bin/python" "$root/tests/python/installed.py"
    for name in array array_methods semiring interrupt standard special runs ingest benchmarks measuring bisection readme; do
        # shellcheck disable=SC2086
        $user PYTHONPATH="$root/tests/python" "$work/$version/bin/python" "$root/tests/python/test_$name.py" > "$name.tap" ||
            { grep -v '^ok' "$name.tap" >&2; echo "python_install: $name fails with Python $version" >&2; exit 1; }
        echo "Python $version: $name: $(grep -c '^ok' "$name.tap") passed"
    done
    "$work/$version/bin/pip" uninstall --quiet --yes calibrax-c
    left=$(find "$work/$version" -name '*calibrax*' -not -path '*/empty/*' | head -n 3)
    [ -z "$left" ] || { echo "python_install: pip uninstall leaves $left" >&2; exit 1; }
    cd "$root"
done
