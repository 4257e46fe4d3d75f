"""What the black-box tests of the programs share: a folder of its own for each test, TAP, and a few checks.  Standard library only."""
import json
import os
import pty
import shutil
import subprocess
import sys
import tempfile
import traceback

BUILD = os.environ.get("CALIBRAX_BUILD_ROOT", os.path.join(os.path.dirname(__file__), "../../build/release"))
SOURCE = os.environ.get("CALIBRAX_SOURCE_ROOT", os.path.join(os.path.dirname(__file__), "../.."))
NPERF = os.path.abspath(os.path.join(BUILD, "programs/nperf/nperf"))
CALIBRAX = os.path.abspath(os.path.join(BUILD, "programs/calibrax/calibrax"))
TINY = '{"m":7,"k":5,"n":3,"algebra":"log"}'
QUICK = ["--launches", "2", "--repeats", "1", "--warmup", "0"]


def read_back(words):
    """What a foreign reader made of the files of a test, in short: a column of the table of `make interop` (tests/interop/run.py)."""
    print(f"# read back: {words}", flush=True)


def sanitized():
    """Whether the programs are a sanitizer's: slower by much, and what they find does not depend on how often they run."""
    with open(CALIBRAX, "rb") as f:
        return b"__asan_init" in f.read()


class Skip(Exception):
    """A test that cannot be run here, with its reason."""


class Place:
    """A folder to run in, with a cache folder that all tests of a file share."""

    def __init__(self, cache):
        self.path = tempfile.mkdtemp(prefix="nperf-cli-")
        self.env = dict(os.environ, XDG_CACHE_HOME=cache, LC_ALL="C")
        for name in list(self.env):
            if name.startswith(("NPERF_", "CALIBRAX_", "XPCS_", "HWLOC_")):
                del self.env[name]
        self.env.pop("MALLOC_PERTURB_", None)
        self.env.pop("LD_LIBRARY_PATH", None)  # the build system's, whose folders workers might read: tests run by hand have none
        self.env["CALIBRAX_LOCK_DIR"] = os.path.join(os.path.abspath(BUILD), "locks")

    def file(self, *names):
        return os.path.join(self.path, *names)

    def write(self, name, text, mode=0o644):
        path = self.file(name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, mode)
        return path

    def run(self, *args, expect=None, timeout=600, env=None, program=NPERF, **more):
        """Runs a program, nperf unless another is named; checks the exit status if one is expected."""
        done = subprocess.run([program, *args], cwd=self.path, env=dict(self.env, **(env or {})), timeout=timeout, text=True,
                              stdin=subprocess.DEVNULL, stdout=more.pop("stdout", subprocess.PIPE), stderr=subprocess.PIPE, **more)
        if expect is not None:
            equal(done.returncode, expect, f"exit status of {os.path.basename(program)} {' '.join(args)}; it said: {done.stderr[-600:]}")
        return done

    def rows(self, name="results/semiring_matmul.jsonl"):
        with open(self.file(name), encoding="utf-8") as f:
            return [json.loads(line) for line in f]


def on_terminal(place, *args, program=CALIBRAX, env=None, expect=None, timeout=300, stdin=""):
    """What a program writes to a terminal, with the line ends of a pipe."""
    leader, follower = pty.openpty()
    with tempfile.TemporaryFile("w+") as given, tempfile.TemporaryFile("w+") as words:
        given.write(stdin)
        given.seek(0)
        child = subprocess.Popen([program, *args], cwd=place.path, env={**place.env, "TERM": "xterm", **(env or {})}, stdin=given, stdout=follower, stderr=words)
        os.close(follower)
        text = b""
        while True:
            try:
                piece = os.read(leader, 65536)
            except OSError:  # the other side is closed
                break
            if not piece:
                break
            text += piece
        os.close(leader)
        status = child.wait(timeout)
        words.seek(0)
        if expect is not None:
            equal(status, expect, f"exit status on a terminal of {' '.join(args)}; it said: {words.read()[-600:]}")
    return text.decode().replace("\r\n", "\n")


def check(condition, why):
    if not condition:
        raise AssertionError(why)


def equal(found, wanted, why):
    if found != wanted:
        raise AssertionError(f"{why}: found {found!r}, wanted {wanted!r}")


def has(text, part, why=""):
    if part not in text:
        raise AssertionError(f"{why}: no {part!r} in {text[-800:]!r}")


def one_sentence(done, part, program="nperf"):
    """Standard error is one line, from the program, that names the thing."""
    lines = [line for line in done.stderr.splitlines() if line]
    equal(len(lines), 1, f"one sentence on standard error, found {done.stderr!r}")
    check(lines[0].startswith(f"{program}: "), lines[0])
    has(lines[0], part)


def peak_mb(p, *args, expect=0):
    """VmHWM of calibrax, as the kernel tells its parent; the parent is a small one, whose own memory a fork would hand on."""
    with open(CALIBRAX, "rb") as f:
        if b"__asan_init" in f.read():
            raise Skip("sanitizer: it keeps what was freed")
    script = 'import os, resource, subprocess, sys; done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL); ' \
             'print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024); sys.exit(done.returncode)'
    done = subprocess.run([sys.executable, "-S", "-E", "-c", script, "/bin/sh", "-c", 'exec "$@"', "sh", CALIBRAX, *args],
                          cwd=p.path, env=p.env, text=True, capture_output=True)
    equal(done.returncode, expect, f"exit status: {done.stderr[-400:]}")
    return float(done.stdout)


def fake_gpu(place):
    """Environment in which a library that plays NVML is the driver's."""
    os.makedirs(place.file("lib"), exist_ok=True)
    if not os.path.exists(place.file("lib/libnvidia-ml.so.1")):
        os.symlink(os.path.abspath(os.path.join(BUILD, "tests/profiling/libfake_nvml.so")), place.file("lib/libnvidia-ml.so.1"))
    return {"LD_LIBRARY_PATH": place.file("lib") + ":" + os.environ.get("LD_LIBRARY_PATH", "")}


def row_of(rows, baseline, **more):
    found = [r for r in rows if r["baseline"] == baseline and all(r.get(k) == v for k, v in more.items())]
    check(found, f"no row of {baseline}")
    return found[0]


def main(tests):
    cache = tempfile.mkdtemp(prefix="nperf-cache-")
    failed = 0
    print(f"1..{len(tests)}")
    for number, test in enumerate(tests, 1):
        place = Place(cache)
        name = test.__name__
        try:
            test(place)
            print(f"ok {number} - {name}")
        except Skip as reason:
            print(f"ok {number} - {name} # SKIP {reason}")
        except Exception as fault:  # every fault of a test is a failed test
            failed += 1
            lines = (str(fault) or traceback.format_exc()).splitlines()
            print(f"not ok {number} - {name} ({lines[0][:160].replace('#', ' ')})")
            for line in lines:
                print(f"# {line}")
        finally:
            shutil.rmtree(place.path, ignore_errors=True)
        sys.stdout.flush()
    shutil.rmtree(cache, ignore_errors=True)
    sys.exit(1 if failed else 0)
