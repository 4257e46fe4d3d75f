#!/bin/sh
# Removes what the last installation from a build folder installed.  usage: scripts/uninstall.sh
# BUILD
# exit status: 0 removed; 2 nothing was installed from there, or it is removed already
set -eu
cd "$(dirname "$0")/.."
log=${1:?usage: scripts/uninstall.sh BUILD}/meson-logs/install-log.txt
[ -f "$log" ] || {
    echo "uninstall: nothing was installed from '$1'" >&2
    exit 2
}
removed=0
while IFS= read -r path; do
    case $path in '#'*) continue ;; esac
    [ -f "$path" ] || [ -L "$path" ] || continue # folders are listed, too
    rm -f -- "$path"
    removed=$((removed + 1))
    folder=$(dirname "$path")
    # folders of our own that are empty now; others may be shared
    while case $folder in */calibrax | */calibrax/*) rmdir -- "$folder" 2> /dev/null ;; *) false ;; esac; do folder=$(dirname "$folder"); done
done < "$log"
[ "$removed" -gt 0 ] || {
    echo "uninstall: what '$log' lists is removed already" >&2
    exit 2
}
echo "uninstall: $removed files removed" >&2
