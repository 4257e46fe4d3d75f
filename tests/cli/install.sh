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
    MANWIDTH=80 man -l "$prefix/share/man/man1/calibrax.1" 2>> "$work/man.err" | grep -q 'bisect' || fail "the man page does not show bisect"
    [ ! -s "$work/man.err" ] || fail "man complains: $(cat "$work/man.err")"
fi
"$prefix/bin/calibrax" doctor --json | grep -q '"schema":"calibrax-doctor"' || fail "the installed calibrax doctor names no schema"
bash -c ". '$prefix/share/bash-completion/completions/nperf.bash'; complete -p nperf" > /dev/null || fail "the completion does not load"

bash -c ". '$prefix/share/bash-completion/completions/calibrax.bash'; complete -p calibrax" > /dev/null || fail "the completion does not load"
for shell in zsh fish; do
    command -v $shell > /dev/null || continue
    case $shell in zsh) file=zsh/site-functions/_calibrax ;; fish) file=fish/vendor_completions.d/calibrax.fish ;; esac
    $shell -n "$prefix/share/$file" || fail "$shell cannot read its completion"
done

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

# the same program by CMake
mkdir "$work/cmake"
cat > "$work/cmake/CMakeLists.txt" << 'END'
cmake_minimum_required(VERSION 3.13)
project(user C)
find_package(calibrax 0.1 REQUIRED)
add_executable(user ../user.c)
target_link_libraries(user PRIVATE calibrax::calibrax)
END
cmake -S "$work/cmake" -B "$work/cmake/build" -DCMAKE_PREFIX_PATH="$prefix" > "$work/cmake.txt" 2>&1 || fail "CMake does not find calibrax: $(tail -n 3 "$work/cmake.txt")"
cmake --build "$work/cmake/build" > "$work/cmake.txt" 2>&1 || fail "CMake does not build a user's program: $(tail -n 3 "$work/cmake.txt")"
[ "$("$work/cmake/build/user")" = "$("$work/user")" ] || fail "CMake's program prints another version"
sed -i 's/calibrax 0.1/calibrax 99/' "$work/cmake/CMakeLists.txt"
! cmake -S "$work/cmake" -B "$work/cmake/build" > "$work/cmake.txt" 2>&1 || fail "CMake accepts version 0.1 where 99 is required"

# the program in README.md
sed -n '/^#include <calibrax/,/^```/p' "$root/README.md" | sed '/^```/,$d' > "$work/readme.c"
# shellcheck disable=SC2046
gcc -Wall -Werror "$work/readme.c" -o "$work/readme" $(pkg-config --cflags --libs calibrax) || fail "the program in README.md does not build"
"$work/readme" > "$work/readme.txt" || fail "the program in README.md fails: $(cat "$work/readme.txt")"
sed -n '/^prints$/,/^```$/p' "$root/README.md" | sed '1,/^```text/d; /^```/,$d' | cmp - "$work/readme.txt" || fail "README.md shows other output than: $(cat "$work/readme.txt")"

# the program in docs/integrations/mlflow.md exports a run, from C and from C++
python3 -u "$root/tests/cli/mlflow_server.py" > "$work/server.txt" &
server=$!
trap 'kill $server; rm -rf "$work"' EXIT
for _ in 1 2 3 4 5 6 7 8 9 10; do [ -s "$work/server.txt" ] || sleep 0.5; done
sed -n '/^```c$/,/^```$/p' "$root/docs/integrations/mlflow.md" | sed '/^```/d' > "$work/mlflow.c"
for compiler in "gcc -x c" "g++ -x c++"; do
    # shellcheck disable=SC2046,SC2086
    $compiler -Wall -Wextra -Werror "$work/mlflow.c" -o "$work/mlflow" $(pkg-config --cflags --libs calibrax) ||
        fail "the program in docs/integrations/mlflow.md does not build with $compiler"
    no_proxy=127.0.0.1 "$work/mlflow" "$root/tests/exporters/fixtures/run.json" "$(cat "$work/server.txt")" > "$work/mlflow.txt" ||
        fail "the program in docs/integrations/mlflow.md fails: $(cat "$work/mlflow.txt")"
    grep -q "^$(cat "$work/server.txt")/#/experiments/1/runs/" "$work/mlflow.txt" || fail "no address of the run: $(cat "$work/mlflow.txt")"
done
! "$work/mlflow" "$work/none.json" "$(cat "$work/server.txt")" 2> "$work/mlflow.txt" && [ "$(wc -l < "$work/mlflow.txt")" -eq 1 ] || fail "a file that is not there is no failure of one sentence"
kill $server
trap 'rm -rf "$work"' EXIT

# where the loader does not look one sentence names what to do, elsewhere there is none
"$root/scripts/install.sh" --note "$lib" | grep -q "LD_LIBRARY_PATH=$lib" || fail "no sentence about '$lib', where the loader does not look"
[ -z "$("$root/scripts/install.sh" --note "$(dirname "$(ldconfig -p | sed -n 's/.*=> //p' | head -n 1)")")" ] || fail "a sentence about a folder where the loader looks"

# what is to be measured is the user's own: C functions in shared objects, a Python module, any
# command
cat > "$work/sum.c" << 'END'
#include <calibrax/perf/case/plugin.h>
static cbx_status evaluate(cbx_ctx *ctx, void *self, cbx_values *out, cbx_err *err)
{
    double total = 0;
    (void)ctx, (void)self;
    for (int i = 0; i < 1000; i++) total += i;
    return cbx_values_add(out, "total", total, err);
}
static const cbx_metric_def defs[] = { { .name = "total", .unit = "1", .direction = CBX_DIRECTION_HIGHER } };
static const cbx_benchmark_ops sum = { .struct_size = sizeof sum, .abi = CBX_BENCHMARK_ABI, .name = "sum", .domain = "memory",
                                       .run_evaluation = evaluate, .metric_defs = defs, .nmetric_defs = 1 };
static const cbx_plugin_benchmark list[] = { { &sum, 0, 0 } };
CBX_BENCHMARK_PLUGIN(list, 1);
END
cat > "$work/call.c" << 'END'
__attribute__((visibility("default"))) void add_up(void *state);
void add_up(void *state)
{
    volatile double x = 0;
    (void)state;
    for (int i = 0; i < 1000; i++) x += i;
}
END
# shellcheck disable=SC2046
for object in sum call; do
    gcc -shared -fPIC -Wall -Werror $(pkg-config --cflags calibrax) "$work/$object.c" -o "$work/$object.so" ||
        fail "a user's shared object does not build against the installed headers"
done

mkdir "$work/empty"
cd "$work/empty"
cat > work.py << 'END'
class Sum:
    def setup(self): self.numbers = range(10)
    def run_training(self): return {}
    def run_evaluation(self): return {"total": sum(self.numbers)}
    def teardown(self): pass
    def get_performance_targets(self): return {}
def f():
    return sum(range(1000))
END
calibrax() { "$prefix/bin/calibrax" "$@" > out.json 2> err.txt || fail "calibrax $1 $2: $(cat err.txt)"; }
calibrax run --plugin "$work/sum.so" --launches 2 --data store --target total=499500 --json
grep -q '"schema":"calibrax-benchmark-report"' out.json || fail "the report of a user's plug-in names no schema"
calibrax run --module work:Sum --data store --json
calibrax run --data store --json -- true
calibrax profile --plugin "$work/call.so" --function add_up -n 3 --json
calibrax profile --module work --function f -n 3 --json
calibrax profile -n 2 --json -- true
calibrax show --list --data store --json
[ "$(grep -o '"id"' out.json | wc -l)" -eq 3 ] || fail "the store has not three runs: $(cat out.json)"

# the installed tool measures with its installed worker, in an empty folder
"$prefix/bin/nperf" --point '{"m":7,"k":5,"n":3,"algebra":"real"}' --baselines stream,tiled --launches 2 --repeats 1 --json > out.json 2> err.txt ||
    fail "the installed nperf does not measure: $(cat err.txt)"
grep -q '"schema":"nperf-rows"' out.json || fail "--json of the installed nperf names no schema"

# nothing of the build machine in what is installed
if grep -rIl "$root" "$prefix/share" "$lib/pkgconfig" 2> /dev/null | grep -q .; then fail "an installed text file names the build folder"; fi
"$root/scripts/uninstall.sh" build/release 2> "$work/uninstall.txt" || fail "uninstall: $(cat "$work/uninstall.txt")"
[ -z "$(find "$work/dest" ! -type d)" ] || fail "left by uninstall: $(find "$work/dest" ! -type d | head -n 3)"
[ ! -d "$prefix/include/calibrax" ] || fail "uninstall leaves empty folders of ours"
! "$root/scripts/uninstall.sh" build/release 2> "$work/uninstall.txt" || fail "a second uninstall reports success"
echo "installed, used, removed"
