#!/usr/bin/env python3
"""What nvcc made of the GPU kernels: check_cuda_code.py NVCC SOURCE_ROOT FOLDER [OUT.txt], TAP on stdout.

FOLDER has product.log, finish.log, ell.log, probe.log (what ptxas said) and the images, as the build left them. Held to: every kernel of
calibrax/array/cuda/args.h is there in every architecture; no local memory, neither stack nor spills; registers within budgets; in the PTX the
instructions that a kernel is made of, so many, and none of a wider type. With cuobjdump (named by CUOBJDUMP, on PATH, or in an
environment `cuda` beside the frameworks of setup-refs.sh) the machine code of every architecture is looked at, too. Without nvcc all is skipped. The figures go to OUT.txt as a table. --selftest plants each fault once.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

STEMS = ("product", "finish", "ell", "probe")
ENTRY = re.compile(r"Compiling entry function '(\w+)' for '(sm_\w+)'")
STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers(?:.*?, (\d+) bytes smem)?")
# Threads of a block times registers of a thread must let two blocks of 256 onto a multiprocessor
# (65536); smaller tiles have smaller blocks.
BUDGET = ((r"^cbx_probe_", 64), (r"_small$", 128), (r"fma_f64_middle$|_middle$", 168), (r"", 128))


def read_log(text: str) -> list[dict]:
    """One entry a kernel and architecture."""
    found, now = [], None
    for line in text.splitlines():
        if m := ENTRY.search(line):
            now = {"name": m[1], "arch": m[2]}
        elif now and (m := STACK.search(line)):
            now |= {"stack": int(m[1]), "spill": int(m[2]) + int(m[3])}
        elif now and (m := USED.search(line)):
            found.append(now | {"registers": int(m[1]), "shared": int(m[2] or 0)})
            now = None
    return found


def budget(name: str) -> int:
    return next(maximum for pattern, maximum in BUDGET if re.search(pattern, name))


def resource_faults(kernels: list[dict], names: list[str], archs: list[str]) -> list[str]:
    faults = [f"{n} is not built for {a}" for n in names for a in archs if not any(k["name"] == n and k["arch"] == a for k in kernels)]
    for k in kernels:
        what = f"{k['name']} for {k['arch']}"
        if k["stack"] or k["spill"]:
            faults.append(f"{what}: {k['stack']} bytes of stack, {k['spill']} of spills")
        if k["registers"] > budget(k["name"]):
            faults.append(f"{what}: {k['registers']} registers, more than {budget(k['name'])}")
    return faults


def bodies(ptx: str) -> dict[str, str]:
    """Text of each kernel in PTX."""
    return {m[1]: m[2] for m in re.finditer(r"\.entry (\w+)\(.*?\)(.*?)^\}", ptx, re.S | re.M)}


# kernels, instruction, least number (a panel's worth in a thread: steps of k by rows by columns)
MADE_OF = (
    (r"^cbx_fma_f32_large$", r"fma\.rn\.f32", 8 * 32), (r"^cbx_fma_f32_middle$", r"fma\.rn\.f32", 16 * 16),
    (r"^cbx_fma_f64_large$", r"fma\.rn\.f64", 8 * 16), (r"^cbx_square_f32_large$", r"fma\.rn\.f32", 8 * 32),
    (r"^cbx_square_f32_large$", r"sub\.(?:rn\.)?f32", 8 * 32), (r"^cbx_max_f32_large$", r"max\.NaN\.f32", 8 * 32),
    (r"^cbx_max_f32_large$", r"add\.(?:rn\.)?f32", 8 * 32), (r"^cbx_min_f32_large$", r"min\.NaN\.f32", 8 * 32),
    (r"^cbx_max_f64_large$", r"add\.(?:rn\.)?f64", 8 * 16), (r"^cbx_max_f64_large$", r"setp\.g", 8 * 16),
    (r"^cbx_or_bits_large$", r"and\.b32", 8 * 32), (r"^cbx_(fma|max)_f32_\w+$", r"ld\.shared\.v4", 16),
    (r"^cbx_(fma|max)_f64_(large|middle)$", r"ld\.shared\.v2", 16), (r"^cbx_bits$", r"vote\.sync\.ballot", 1),
    (r"^cbx_top_", r"shfl\.sync\.bfly", 10), (r"^cbx_ell_\w+_f32_wide$", r"ld\.global(?:\.nc)?\.v4", 4),
    (r"^cbx_ell_\w+_f64_wide$", r"ld\.global(?:\.nc)?\.v2", 4),
    (r"^cbx_probe_f64$", r"fma\.rn\.f64", 128), (r"^cbx_probe_f32$", r"fma\.rn\.f32", 128), (r"^cbx_probe_f16$", r"fma\.rn\.f16x2", 128),
    (r"^cbx_probe_bf16$", r"fma\.rn\.bf16x2", 128), (r"^cbx_probe_tile_(?:tf32|f16|bf16|i8)$", r"mma\.sync", 64), (r"^cbx_probe_tile_f64$", r"mma\.sync", 32),
    (r"^cbx_probe_(?:read|copy|triad|triad_stream)$", r"ld\.global\.cg\.v", 5), (r"^cbx_probe_triad_stream$", r"st\.global\.cs\.v2", 5),
)
NEVER = ((r"", r"(?:ld|st)\.local"), (r"_f32(_|$)", r"\b(?:add|sub|mul|fma|max|min|div|sqrt)\.(?:rn\.)?f64"), (r"", r"(?<!rcp)\.approx\.|(?<!approx)\.ftz"))


def code_faults(kernels: dict[str, str]) -> list[str]:
    faults = []
    for pattern, instruction, minimum in MADE_OF:
        seen = [n for n in kernels if re.search(pattern, n)]
        faults += [] if seen else [f"no kernel is called {pattern}"]
        for n in seen:
            count = len(re.findall(instruction, kernels[n]))
            if count < minimum:
                faults.append(f"{n}: {count} of '{instruction}', at least {minimum} are wanted")
    for pattern, instruction in NEVER:
        faults += [f"{n}: has '{m[0]}'" for n in kernels if re.search(pattern, n) and (m := re.search(instruction, kernels[n]))]
    return faults


def listed(root: Path) -> list[str]:
    """Names that the preprocessor makes of the lists in args.h."""
    text = '#include "calibrax/array/cuda/args.h"\n#define N(name, args) @name@\nCBX__CUDA_PRODUCT_KERNELS(N) CBX__CUDA_OTHER_KERNELS(N) CBX__CUDA_ELL_KERNELS(N) CBX__CUDA_PROBE_KERNELS(N)\n'
    out = subprocess.run(["cc", "-E", "-P", "-xc", f"-I{root}", "-"], input=text, capture_output=True, text=True, check=True).stdout
    return re.findall(r"@(\w+)@", out)


def selftest() -> list[str]:
    log = ("ptxas info    : Compiling entry function 'cbx_a' for 'sm_90'\n    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n"
           "ptxas info    : Used 200 registers, used 1 barriers, 64 bytes smem\n")
    good = {p.strip("^$").replace("(large|middle)", "large").replace("(fma|max)", "fma").replace("\\w+", "x"): "" for p, _, _ in MADE_OF}
    blind = []
    faults = resource_faults(read_log(log), ["cbx_a", "cbx_b"], ["sm_90"])
    for word in ("stack", "registers", "not built"):
        blind += [] if any(word in f for f in faults) else [word]
    blind += [] if code_faults(good) else ["instructions"]
    for bad in ("ld.local.f32", "fma.rn.f64", "ex2.approx.f32"):
        blind += [] if any("has '" in f for f in code_faults({"cbx_fma_f32_large": bad})) else [bad]
    sass = "code for sm_90\n\t\tFunction : cbx_max_f32_large\n STL [R1], R2 ; DADD R2, R4, R6 ;\n"
    faults = machine_faults(machine_functions(sass), ["cbx_max_f32_large", "cbx_b"], ["sm_90"])
    for word in ("'STL'", "'DADD'", "FMNMX3", "no machine code of cbx_b"):
        blind += [] if any(word in f for f in faults) else [word]
    looped = "code for sm_90\n\t\tFunction : cbx_probe_f32\n" + " FFMA R1 ;" * 129
    blind += [] if any("the host counts" in f for f in machine_faults(machine_functions(looped), [], [])) else ["rounds"]
    return blind


class Tap:
    def __init__(self) -> None:
        self.n = self.failed = 0

    def case(self, name: str, faults: list[str], skip: str = "") -> None:
        self.n += 1
        self.failed += bool(faults)
        for fault in faults[:30]:
            print(f"# {fault}")
        print(f"{'not ok' if faults else 'ok'} {self.n} - {name}" + (f" # SKIP hardware: {skip}" if skip else ""), flush=True)


SASS_ARCH = re.compile(r"code for (sm_\w+)")
# kernels, instruction of the machine, least number
MACHINE_MADE_OF = ((r"^cbx_max_f32_", r"FMNMX3?\.NAN", 256), (r"^cbx_min_f32_", r"FMNMX3?\.NAN", 256), (r"^cbx_or_bits_", r"LOP3", 128),
                   (r"^cbx_(fma|square)_f32_(large|middle)$", r"FFMA", 256), (r"^cbx_(fma|square)_f64_large$", r"DFMA", 128),
                   (r"^cbx_probe_f64$", r"\bDFMA\b", 128), (r"^cbx_probe_f32$", r"\bFFMA\b", 128), (r"^cbx_probe_f16$", r"\bHFMA2", 128),
                   (r"^cbx_probe_bf16$", r"\bHFMA2[.\w]*BF16", 128), (r"^cbx_probe_tile_(?:f16|bf16)$", r"\bHMMA\.16816", 64),
                   (r"^cbx_probe_tile_tf32$", r"\bHMMA\.1688", 64), (r"^cbx_probe_tile_i8$", r"\bIMMA\.16832", 64),
                   (r"^cbx_probe_tile_f64$", r"\bDMMA", 32), (r"^cbx_probe_(?:read|copy|triad|triad_stream)$", r"LDG\.E\.128", 5))
# the host counts these by round
MACHINE_MAX = ((r"^cbx_probe_f64$", r"\bDFMA\b", 128), (r"^cbx_probe_f32$", r"\bFFMA\b", 128), (r"^cbx_probe_tile_(?:f16|bf16|tf32)$", r"\bHMMA", 64),
                (r"^cbx_probe_tile_i8$", r"\bIMMA", 64), (r"^cbx_probe_bf16$", r"\bHFMA2[.\w]*BF16", 128))
MACHINE_NEVER = ((r"", r"\b(?:LDL|STL)\b"), (r"^cbx_(?:fma|square|max|min)_f32_|^cbx_ell_\w+_f32", r"\bD(?:FMA|ADD|MUL|SETP)\b"))


def machine_functions(sass: str) -> list[tuple[str, str, str]]:
    """Architecture, name and text of each kernel in what cuobjdump prints."""
    found, arch = [], ""
    for part in re.split(r"(?=\bFunction : |\bcode for sm_)", sass):
        if m := SASS_ARCH.match(part):
            arch = m[1]
        elif part.startswith("Function : "):
            found.append((arch, part.split()[2], part))
    return found


def machine_faults(functions: list[tuple[str, str, str]], names: list[str], archs: list[str]) -> list[str]:
    seen = {(arch, name) for arch, name, _ in functions}
    faults = [f"no machine code of {n} for {a}" for n in names for a in archs if (a, n) not in seen]
    for arch, name, text in functions:
        for pattern, instruction, minimum in MACHINE_MADE_OF:
            if re.search(pattern, name) and (count := len(re.findall(instruction, text))) < minimum:
                faults.append(f"{name} for {arch}: {count} of '{instruction}', at least {minimum} are wanted")
        for pattern, instruction, maximum in MACHINE_MAX:
            if re.search(pattern, name) and (count := len(re.findall(instruction, text))) > maximum:
                faults.append(f"{name} for {arch}: {count} of '{instruction}', the host counts {maximum} a round")
        for pattern, instruction in MACHINE_NEVER:
            if re.search(pattern, name) and (m := re.search(instruction, text)):
                faults.append(f"{name} for {arch}: has '{m[0]}'")
    return faults


def find_cuobjdump() -> str | None:
    refs = Path(os.environ.get("NPERF_REFS_ENV_DIR") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "calibrax/refs")
    installed = sorted(refs.glob("cuda/lib/python3*/site-packages/nvidia/*/bin/cuobjdump"))
    return os.environ.get("CUOBJDUMP") or shutil.which("cuobjdump") or (str(installed[-1]) if installed else None)


def disassemble(tool: str, folder: Path) -> list[tuple[str, str, str]]:
    """cuobjdump calls nvdisasm, which lies beside it."""
    env = os.environ | {"PATH": f"{Path(tool).resolve().parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    functions = []
    for stem in STEMS:
        text = subprocess.run([tool, "-sass", str(folder / f"{stem}.fatbin")], capture_output=True, text=True, check=True, env=env).stdout
        functions += machine_functions(text)
    return functions


def compile_ptx(nvcc: str, root: str, arch: str) -> dict[str, str]:
    """Through a file: nvcc has ptxas read what it wrote, and would wait for ever at a pipe."""
    ptx = {}
    with tempfile.TemporaryDirectory() as folder:
        for stem in STEMS:
            out = Path(folder) / f"{stem}.ptx"
            subprocess.run([nvcc, "-ptx", "-std=c++17", "-O3", "-fmad=false", f"-arch=compute_{arch[3:]}", f"-I{root}", "-o", out,
                            f"{root}/calibrax/array/cuda/{stem}.cu"], check=True, stdin=subprocess.DEVNULL)
            ptx |= bodies(out.read_text())
    return ptx


def main() -> int:
    nvcc, root, folder, *rest = sys.argv[1:]
    tap = Tap()
    tap.case("the check sees planted faults", selftest())
    logs = [Path(folder) / f"{s}.log" for s in STEMS]
    if not os.access(nvcc, os.X_OK) or not all(p.exists() for p in logs):
        for name in ("resources", "PTX", "machine code"):
            tap.case(name, [], "the kernels were not built: no nvcc, or -Dcuda=disabled")
    else:
        kernels = [k for p in logs for k in read_log(p.read_text())]
        archs = sorted({k["arch"] for k in kernels})
        tap.case("registers, stack, spills", resource_faults(kernels, listed(Path(root)), archs))
        table = [f"{k['name']:32} {k['arch']:7} {k['registers']:3} registers {k['shared']:6} bytes of shared memory {k['spill']} spilled" for k in kernels]
        Path(rest[0] if rest else "cuda_code.txt").write_text("\n".join(table) + "\n")
        tap.case("instructions in PTX", code_faults(compile_ptx(nvcc, root, archs[-1])))
        tool = find_cuobjdump()
        if tool:
            tap.case("machine code", machine_faults(disassemble(tool, Path(folder)), listed(Path(root)), archs))
        else:
            tap.case("machine code", [], "cuobjdump is not here: python3 -m venv ~/.cache/calibrax/refs/cuda and"
                     " ~/.cache/calibrax/refs/cuda/bin/pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm")
    print(f"1..{tap.n}")
    return 1 if tap.failed else 0


if __name__ == "__main__":
    sys.exit(main())
