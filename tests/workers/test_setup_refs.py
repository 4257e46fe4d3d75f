"""scripts/setup-refs.sh against a Python, a pip and an apt-get that only write down what they were asked.  Prints TAP."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from typing import Callable

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "setup-refs.sh")

# `-m venv DIR` makes DIR/bin/python, a copy of itself; pip fails while the file PIP_FAILS exists.
FAKE_PYTHON = """#!/bin/sh
case "$1 $2" in
    "-m venv") for dir; do :; done; mkdir -p "$dir/bin" && cp "$0" "$dir/bin/python" ;;
    "-m pip") [ "$3" = --version ] || { echo "$*" >>"$FAKES/calls"; [ ! -e "$FAKES/PIP_FAILS" ] || { echo "no such wheel"; exit 1; }; } ;;
    "-c import sys; sys.exit(sys.version_info < (3, 11))") [ ! -e "$FAKES/PYTHON_IS_OLD" ] ;;
    "-c import venv, ensurepip") [ ! -e "$FAKES/NO_VENV" ] ;;
    -c*) echo "  imports" ;;
esac
"""
FAKES = {
    "python3": FAKE_PYTHON,
    "dpkg-query": '#!/bin/sh\nfor package; do :; done\n[ -e "$FAKES/HAS_$package" ] && echo "install ok installed"\n',
    "apt-get": '#!/bin/sh\necho "apt-get $*" >>"$FAKES/calls"\n',
    "id": '#!/bin/sh\n[ -e "$FAKES/ROOT" ] && echo 0 || echo 1000\n',
}


class Machine:
    """A folder of fakes ahead on PATH, and an empty folder for the environments."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.environments = os.path.join(folder, "environments")
        for name, source in FAKES.items():
            path = os.path.join(folder, name)
            with open(path, "w", encoding="ascii") as file:
                file.write(source)
            os.chmod(path, 0o755)

    def set(self, switch: str, on: bool = True) -> None:
        path = os.path.join(self.folder, switch)
        if on:
            open(path, "w", encoding="ascii").close()
        else:
            os.unlink(path)

    def run(self, *arguments: str, **changes: str) -> tuple[int, str, str]:
        """Exit status, standard output, standard error."""
        environment = {
            "PATH": f"{self.folder}:{os.environ['PATH']}",
            "HOME": self.folder,
            "FAKES": self.folder,
            "NPERF_REFS_ENV_DIR": self.environments,
            "NPERF_REFS_PYTHON": os.path.join(self.folder, "python3"),
            "NPERF_REFS_DEBIAN_PYTHON": os.path.join(self.folder, "python3"),
        }
        done = subprocess.run(
            ["sh", SCRIPT, *arguments], env={**environment, **changes}, capture_output=True, text=True, timeout=60
        )
        return done.returncode, done.stdout, done.stderr

    def calls(self) -> list[str]:
        """What pip and apt-get were asked since the last look."""
        path = os.path.join(self.folder, "calls")
        if not os.path.exists(path):
            return []
        with open(path, encoding="ascii") as file:
            lines = file.read().splitlines()
        os.unlink(path)
        return lines


TESTS: list[tuple[str, Callable[[Machine], None]]] = []


def test(name: str) -> Callable[[Callable[[Machine], None]], None]:
    return lambda function: TESTS.append((name, function))


def expect(what: object, right: object) -> None:
    assert what == right, f"{what!r} is not {right!r}"


def expect_in(part: str, whole: str) -> None:
    assert part in whole, f"{part!r} is not in {whole!r}"


@test("a finished environment is skipped, another specification rebuilds it")
def _(machine: Machine) -> None:
    status, out, _ = machine.run("numpy")
    expect(status, 0)
    expect_in("numpy: built", out)
    expect_in("next: ", out)
    expect([call.split()[-1] for call in machine.calls()], ["numpy==2.3.5"])

    status, out, _ = machine.run("numpy")
    expect((status, machine.calls()), (0, []))
    expect_in("numpy: ready", out)

    status, _, _ = machine.run("numpy", NUMPY_SPEC="numpy==2.4.0")
    expect((status, [call.split()[-1] for call in machine.calls()]), (0, ["numpy==2.4.0"]))


@test("an interrupted environment is continued")
def _(machine: Machine) -> None:
    machine.set("PIP_FAILS")
    status, _, err = machine.run("jax")
    expect(status, 1)
    expect_in("no such wheel", err)
    expect_in("run the same command again", err)
    expect_in("jax: unfinished", machine.run("--list")[1])

    machine.set("PIP_FAILS", False)
    status, out, _ = machine.run("jax")
    expect(status, 0)
    expect_in("continuing the unfinished environment", out)
    expect_in("jax: ready", machine.run("--list")[1])


@test("no name means all, and a failure in one keeps those before it")
def _(machine: Machine) -> None:
    for package in ("python3-torch", "python3-venv"):
        machine.set(f"HAS_{package}")
    status, out, _ = machine.run()
    expect(status, 0)
    for framework in ("numpy", "jax", "torch"):
        expect_in(f"{framework}: built", out)


@test("Debian packages: installed by root, else the command is printed")
def _(machine: Machine) -> None:
    machine.set("HAS_python3-venv")
    status, _, err = machine.run("torch")
    expect((status, machine.calls()), (2, []))
    expect_in("sudo apt-get install -y --no-install-recommends python3-torch", err)

    machine.set("ROOT")
    expect(machine.run("torch")[0], 0)
    calls = machine.calls()
    assert calls[-1].endswith("install -q -y --no-install-recommends python3-torch"), calls


BAD = (
    (("fortran",), {}, "unknown framework 'fortran'", "unknown framework"),
    (("numpy",), {"NPERF_REFS_VARIANT": "rocm"}, "NPERF_REFS_VARIANT is 'rocm'", "bad variant"),
    (("torch",), {"NPERF_REFS_TORCH": "conda"}, "NPERF_REFS_TORCH is 'conda'", "bad source of torch"),
    (
        ("torch",),
        {"NPERF_REFS_TORCH": "debian", "NPERF_REFS_VARIANT": "cuda"},
        "Debian's torch has no CUDA",
        "no such torch",
    ),
    (("numpy",), {"NPERF_REFS_ENV_DIR": "/proc/here"}, "cannot create the folder '/proc/here'", "unwritable folder"),
    (("numpy",), {"NPERF_REFS_PYTHON": "/no/python"}, "no Python 3.11 or newer", "no Python"),
)


@test("bad arguments and settings: exit status 2, one sentence, nothing installed")
def _(machine: Machine) -> None:
    for arguments, changes, sentence, why in BAD:
        status, _, err = machine.run(*arguments, **changes)
        expect((why, status, machine.calls()), (why, 2, []))
        expect_in(sentence, err)
        expect((why, len(err.splitlines())), (why, 1))


@test("an old Python and a Python without venv are refused by name")
def _(machine: Machine) -> None:
    machine.set("NO_VENV")
    status, _, err = machine.run("numpy")
    expect(status, 2)
    expect_in("has no module venv", err)
    machine.set("PYTHON_IS_OLD")
    status, _, err = machine.run("numpy")
    expect(status, 2)
    expect_in("no Python 3.11 or newer", err)


@test("two at once: the second one reports that and leaves")
def _(machine: Machine) -> None:
    os.makedirs(machine.environments)
    lock = os.path.join(machine.environments, ".lock")
    with subprocess.Popen(["flock", lock, "cat"], stdin=subprocess.PIPE) as holder:
        for _ in range(100):
            if subprocess.run(["flock", "-n", lock, "true"]).returncode:
                break
        status, _, err = machine.run("numpy")
        expect(status, 2)
        expect_in("another setup-refs is running", err)
        holder.stdin.close()


@test("--missing names what is missing, with the command that adds it")
def _(machine: Machine) -> None:
    expect(machine.run("numpy")[0], 0)
    expect(
        machine.run("--missing"),
        (0, "".join(f"{f} is not installed: run scripts/setup-refs.sh {f}\n" for f in ("jax", "torch", "pyg", "scipy", "graphblas")), ""),
    )


@test("--help and --list print and change nothing")
def _(machine: Machine) -> None:
    status, out, _ = machine.run("--help")
    expect(status, 0)
    expect_in("usage: scripts/setup-refs.sh", out)
    status, out, _ = machine.run("--list")
    expect((status, out.count("not installed: scripts/setup-refs.sh")), (0, 6))
    assert not os.path.exists(machine.environments)


def main() -> int:
    print(f"1..{len(TESTS)}")
    failed = 0
    for number, (name, function) in enumerate(TESTS, 1):
        try:
            with tempfile.TemporaryDirectory() as folder:
                function(Machine(folder))
            print(f"ok {number} - {name}", flush=True)
        except Exception as error:  # a failing test must not take the others with it
            failed += 1
            print(f"not ok {number} - {name}\n# {type(error).__name__}: {' '.join(str(error).split())}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
