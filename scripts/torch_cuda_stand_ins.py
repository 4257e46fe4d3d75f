"""Lets PyPI's torch run on a CPU without its 2 GB of CUDA libraries; run by the environment's own Python.

PyPI has one torch for Linux, built with CUDA, whose libraries must be found when it is imported.  For each one that is missing
this compiles a small library into torch/lib, where torch looks first, whose every function answers 100, CUDA's "no device".
It must answer and not abort: device code is registered at import.  torch.cuda.is_available() is then False, by CUDA's own rules.

Needs gcc, readelf and ldd.  Running it again makes the same files.
"""

from __future__ import annotations

import glob
import importlib.util
import os
import re
import subprocess
import sys
import tempfile

# readelf --dyn-syms: "12: 0000 0 FUNC GLOBAL DEFAULT UND name@VERSION (3)"
SYMBOL = re.compile(r"^\s*\d+: \S+\s+\S+ \S+\s+(GLOBAL|WEAK|UNIQUE)\s+\S+\s+(\S+) ([^\s@]+)(?:@+(\S+))?")
NO_DEVICE = 100


def run(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def missing_libraries(library: str) -> tuple[set[str], set[str]]:
    """Names that the loader does not find for a library, and paths of those it does."""
    lost, found = set(), set()
    for line in run("ldd", library).splitlines():
        name, _, path = line.strip().partition(" => ")
        if path == "not found":
            lost.add(name)
        elif path.startswith("/"):
            found.add(path.split(" ")[0])
    return lost, found


def version_owners(library: str) -> dict[str, str]:
    """Which library each symbol version is required from."""
    owners, owner = {}, ""
    for line in run("readelf", "-V", "-W", library).splitlines():
        file = re.search(r"File: (\S+)", line)
        name = re.search(r"Name: (\S+)", line)
        if file:
            owner = file[1]
        elif name and owner:
            owners[name[1]] = owner
    return owners


def symbols(library: str) -> tuple[set[str], set[tuple[str, str]]]:
    """Names that a library defines, and (name, version) of those it must get from another."""
    defined, wanted = set(), set()
    for line in run("readelf", "--dyn-syms", "-W", library).splitlines():
        match = SYMBOL.match(line)
        if match and match[2] != "UND":
            defined.add(match[3])
        elif match and match[1] != "WEAK":
            wanted.add((match[3], match[4] or ""))
    return defined, wanted


def source_of(names: set[str]) -> str:
    lines = ["typedef long answer;"]
    for name in sorted(names):
        is_text = name.endswith(("ErrorString", "ErrorName", "GetStatusString"))
        value = '(answer)"no device"' if is_text else NO_DEVICE
        lines.append(f"answer {name}(void) {{ return {value}; }}")
    return "\n".join(lines) + "\n"


def build(path: str, members: dict[str, set[str]]) -> None:
    """One library with the names of each version ("" for none)."""
    versions = [
        f"{version} {{ global: {' '.join(n + ';' for n in sorted(names))} }};"
        for version, names in sorted(members.items())
        if version
    ]
    with tempfile.TemporaryDirectory() as folder:
        source, script = os.path.join(folder, "stand_in.c"), os.path.join(folder, "versions")
        with open(source, "w", encoding="ascii") as file:
            file.write(source_of(set().union(*members.values())))
        with open(script, "w", encoding="ascii") as file:
            file.write("\n".join(versions))
        options = [f"-Wl,--version-script={script}"] if versions else []
        run(
            "gcc",
            "-shared",
            "-fPIC",
            "-w",
            "-O1",
            "-nostdlib",
            f"-Wl,-soname,{os.path.basename(path)}",
            *options,
            "-o",
            path,
            source,
        )


def main() -> int:
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        print("torch is not installed in this Python", file=sys.stderr)
        return 1
    root = spec.submodule_search_locations[0]
    libraries = glob.glob(os.path.join(root, "lib", "*.so*")) + glob.glob(os.path.join(root, "_C*.so"))

    lost, defined = set(), set()
    lost_by: dict[str, set[str]] = {}
    wanted: dict[str, set[tuple[str, str]]] = {}
    for library in libraries:
        lost_by[library], found = missing_libraries(library)
        lost |= lost_by[library]
        for path in found | {library}:
            if path not in wanted:
                defined_there, wanted[path] = symbols(path)
                defined |= defined_there
    if not lost:
        print("every library that torch needs is here")
        return 0

    members: dict[str, dict[str, set[str]]] = {name: {} for name in lost}
    for library in libraries:
        owners = version_owners(library)
        for name, version in wanted[library]:
            owner = owners.get(version, "")
            if owner in lost:
                members[owner].setdefault(version, set()).add(name)
            elif not version and name not in defined and lost_by[library]:
                # It is unknown which library these come from; any that is loaded with this one will
                # do.
                members[min(lost_by[library])].setdefault("", set()).add(name)
    for name, versions in sorted(members.items()):
        build(os.path.join(root, "lib", name), versions or {"": {f"stand_in_{re.sub('[^A-Za-z0-9]', '_', name)}"}})
    count = sum(len(names) for versions in members.values() for names in versions.values())
    print(f"{len(lost)} CUDA libraries stood in for ({count} functions that answer 'no device')")
    return 0


if __name__ == "__main__":
    sys.exit(main())
