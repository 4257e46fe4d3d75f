#!/bin/sh
# Installs the release build into a scratch folder and uses it as a packager and a C user would.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "install test: $1" >&2; exit 1; }

DESTDIR=$work/dest meson install -C build/release --no-rebuild --quiet
prefix=$work/dest/usr/local
lib=$(dirname "$(find "$prefix" -name libcalibrax.so | head -n 1)")
[ -f "$lib/libcalibrax.so" ] || fail "no libcalibrax.so"
for program in nperf calibrax; do
    [ -x "$prefix/bin/$program" ] || fail "no bin/$program"
    [ -f "$prefix/share/bash-completion/completions/$program.bash" ] || fail "no shell completion of $program"
    [ -f "$prefix/share/zsh/site-functions/_$program" ] || fail "no zsh completion of $program"
    [ -f "$prefix/share/fish/vendor_completions.d/$program.fish" ] || fail "no fish completion of $program"
    [ -f "$prefix/share/man/man1/$program.1" ] || fail "no man page of $program"
done
[ -f "$prefix/share/calibrax/workers/python/worker.py" ] || fail "no Python worker"

export LD_LIBRARY_PATH=$lib
"$prefix/bin/nperf" --version | grep -q '^nperf 0\.' || fail "--version does not begin with 'nperf 0.'"
if command -v man > /dev/null; then
    MANWIDTH=80 man -l "$prefix/share/man/man1/nperf.1" 2> "$work/man.err" | grep -q -- '--launches' || fail "the man page does not show --launches"
    [ ! -s "$work/man.err" ] || fail "man complains: $(cat "$work/man.err")"
fi
"$prefix/bin/calibrax" doctor --json | grep -q '"schema":"calibrax-doctor"' || fail "the installed calibrax doctor names no schema"
bash -c ". '$prefix/share/bash-completion/completions/nperf.bash'; complete -p nperf" > /dev/null || fail "the completion does not load"

cat > "$work/user.c" << 'END'
#include <stdio.h>
#include <calibrax/calibrax.h>
int main(void)
{
    cbx_ctx *ctx = NULL;
    cbx_err err = CBX_ERR_INIT;
    if (cbx_ctx_create(NULL, &ctx, &err)) return 1;
    printf("%s\n", cbx_version());
    cbx_ctx_free(ctx);
    return 0;
}
END
export PKG_CONFIG_PATH=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$work/dest
# shellcheck disable=SC2046
gcc -Wall -Werror "$work/user.c" -o "$work/user" $(pkg-config --cflags --libs calibrax) || fail "a user's program does not build with pkg-config"
[ "$("$work/user")" = "$(pkg-config --modversion calibrax)" ] || fail "the library's version differs from pkg-config's"

# the installed tool measures with its installed worker, in an empty folder
mkdir "$work/empty"
cd "$work/empty"
"$prefix/bin/nperf" --point '{"m":7,"k":5,"n":3,"algebra":"real"}' --baselines stream,tiled --launches 2 --repeats 1 --json > out.json 2> err.txt ||
    fail "the installed nperf does not measure: $(cat err.txt)"
grep -q '"schema":"nperf-rows"' out.json || fail "--json of the installed nperf names no schema"

# nothing of the build machine in what is installed
if grep -rIl "$root" "$prefix/share" "$lib/pkgconfig" 2> /dev/null | grep -q .; then fail "an installed text file names the build folder"; fi
echo "installed, used, clean"
