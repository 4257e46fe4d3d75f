#!/usr/bin/env python3
"""What the compiler made of the register tiles: check_kernel_code.py OBJDUMP ISA=LIBRARY..., TAP on stdout.

Two things that no result shows and that cost a tile half or a quarter of its rate when they are lost: the tropical sums on the pipes of
multiplication must stay multiplications (a compiler that sees one product in several sums adds them instead), and with AVX-512 the steps of two
instructions take A's element from memory.
"""
import re
import subprocess
import sys

WIDE = {"avx512": (8, 3), "avx2": (6, 2)}  # rows and vectors of a tile (kernels/isa)
SUM = re.compile(r"(?:conv_)?STEP_(?:MAX|MIN)_FMA_(\d)_f(?:32|64)$")
PAIR = re.compile(r"(?:conv_)?STEP_(?:MAX|MIN|MAX_FMA|MIN_FMA|SQUARE)_(\d)_f(?:32|64)$")


def functions(text: str) -> dict[str, str]:
    return {m[1]: m[2] for m in re.finditer(r"^[0-9a-f]+ <([^>]+)>:\n(.*?)(?=^[0-9a-f]+ <|\Z)", text, re.S | re.M)}


def sum_faults(isa: str, code: dict[str, str]) -> list[str]:
    rows, vectors = WIDE[isa]
    found = {name: int(m[1]) for name in code if (m := SUM.match(name))}
    faults = [] if len(found) >= 4 * vectors else [f"{isa}: {len(found)} tiles of tropical sums by multiplication"]
    for name, nv in found.items():
        made, added = len(re.findall(r"\bvfmadd\w+p[sd]\b", code[name])), len(re.findall(r"\bvaddp[sd]\b", code[name]))
        if made < rows * nv or added:
            faults.append(f"{isa} {name}: {made} multiplications for {rows * nv} sums, and {added} additions")
    return faults


def memory_faults(isa: str, code: dict[str, str]) -> list[str]:
    rows, _ = WIDE[isa]
    return [f"{isa} {name}: {n} operands from memory for {rows * int(m[1])} steps" for name in code if (m := PAIR.match(name))
            and (n := code[name].count("{1to")) < rows * int(m[1])]


def planted() -> list[str]:
    add, fma = "vaddpd %zmm1,%zmm2,%zmm3\n", "vfmadd231pd (%rax){1to8},%zmm2,%zmm3\n"
    good = {f"{kind}STEP_{of}_FMA_{nv}_f{bits}": 8 * nv * fma for kind in ("", "conv_") for of in ("MAX", "MIN") for nv in (1, 2, 3) for bits in (32, 64)}
    cases = (("good code", good, 0, 0), ("an addition", good | {"STEP_MAX_FMA_2_f64": 16 * fma + add}, 1, 0),
             ("additions alone", good | {"STEP_MIN_FMA_1_f32": 8 * add}, 1, 1), ("no tiles", {}, 1, 0),
             ("a register for A", good | {"STEP_SQUARE_3_f64": 24 * fma.replace("(%rax){1to8}", "%zmm4")}, 0, 1))
    return [f"{what}: {seen}" for what, code, sums, memory in cases
            if (seen := (len(sum_faults("avx512", code)), len(memory_faults("avx512", code)))) != (sums, memory)]


def main() -> int:
    objdump, *libraries = sys.argv[1:]
    code = {}
    for isa, _, library in (word.partition("=") for word in libraries):
        code[isa] = functions(subprocess.run([objdump, "-d", "--no-show-raw-insn", library], capture_output=True, text=True, check=True).stdout)
    outcomes = (("tropical sums are multiplications", [f for isa in code for f in sum_faults(isa, code[isa])]),
                ("AVX-512 takes A's elements from memory", memory_faults("avx512", code["avx512"])),
                ("planted faults are seen", planted()))
    print(f"1..{len(outcomes)}")
    for i, (what, faults) in enumerate(outcomes, 1):
        print(f"{'not ok' if faults else 'ok'} {i} - {what}")
        for fault in faults:
            print(f"# {fault}")
    return int(any(faults for _, faults in outcomes))


if __name__ == "__main__":
    sys.exit(main())
