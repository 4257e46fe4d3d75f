#!/usr/bin/env python3
"""Writes calibrax/array/jit/formulas_table.h, the vector functions of kernels/elementary_float.h as instructions of kernels.

usage: scripts/make_formulas.py           writes the table
       scripts/make_formulas.py --check   compares it with the file, as a test (TAP)

clang compiles each function and the test of its domain to LLVM's IR, in which they are straight-line code: arithmetic, comparisons,
selections, and a few operations on the bits.  Each line of IR becomes an instruction, equal ones once.  Nothing is reordered, so
the bits are those of the C code.
"""
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "calibrax/array/jit/formulas_table.h"
COMMAND = ["clang", "-std=gnu17", "-O1", "-mfma", "-fno-vectorize", "-fno-slp-vectorize", "-ffp-contract=off", "-fno-math-errno",
           "-fno-trapping-math", "-mllvm", "-two-entry-phi-node-folding-threshold=1000", "-S", "-emit-llvm", "-D_GNU_SOURCE", f"-I{ROOT}"]

ONE = "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh cbrt erfc".split()
TWO = "pow atan2 hypot logaddexp".split()

SOURCE = """
#include "calibrax/array/kernels/elementary.h"
#include "calibrax/array/kernels/scalar.h"
const double cbx__exp_range_f64[2] = { -746, 710 };
const float cbx__exp_range_f32[2] = { -104, 89 };
#define ONE(g, T, f) T value_##g##_##f(T x) { return g##_##f(x); } bool inside_##g##_##f(T x) { return g##_in_##f(x); }
#define TWO(g, T, f) T value_##g##_##f(T x, T y) { return g##_##f(x, y); } bool inside_##g##_##f(T x, T y) { return g##_in_##f(x, y); }
/* as in binary_isa.c */
#define MODULO(g, T, f) \\
    T value_##g##_##f(T x, T y) { return cbx__##g##_of_##f(x, y, fmod_##f(x, y)); } bool inside_##g##_##f(T x, T y) { return fmod_in_##f(x, y); }
"""

HEADER = """/*
 * What the vector functions of kernels/elementary_float.h are made of; written by
 * scripts/make_formulas.py.
 *
 * F gives a number of the function's dtype, U and I integers of its size without and with a sign, B
 * a bool, N, M and T constants of the dtype, of U and bool, by their bits.  Operands are numbers of
 * lines, from 0.
 */
#ifndef CALIBRAX_ARRAY_JIT_FORMULAS_TABLE_H
#define CALIBRAX_ARRAY_JIT_FORMULAS_TABLE_H

#include "calibrax/array/jit/kernel.h"

/* clang-format off */
#define F(op, ...) { CBX__K_##op, FLOAT, .in = { __VA_ARGS__ } },
#define U(op, ...) { CBX__K_##op, UNSIGNED, .in = { __VA_ARGS__ } },
#define I(op, ...) { CBX__K_##op, SIGNED, .in = { __VA_ARGS__ } },
#define B(op, ...) { CBX__K_##op, CBX_BOOL, .in = { __VA_ARGS__ } },
#define N(number)  { CBX__K_CONST, FLOAT, .bits = number },
#define M(number)  { CBX__K_CONST, UNSIGNED, .bits = number },
#define T(number)  { CBX__K_CONST, CBX_BOOL, .bits = number },
"""

FOOTER = """
#undef F
#undef U
#undef I
#undef B
#undef N
#undef M
#undef T

static const cbx__kformula formulas[CBX_PRIM_LIMIT][2] = { /* of float32, float64 */
#define FORMULA(name, t, result, inside) { name##_##t, sizeof name##_##t / sizeof name##_##t[0], result, inside }
%s
#undef FORMULA
};
/* clang-format on */

#endif
"""

SIMPLE = {"fadd": "ADD", "fsub": "SUB", "fmul": "MUL", "fdiv": "DIV", "add": "ADD", "sub": "SUB", "shl": "SHL", "lshr": "SHR",
          "and": "AND", "or": "OR", "xor": "XOR"}
CALLS = {"fma": "FMA", "fabs": "ABS", "sqrt": "SQRT", "rint": "RINT", "trunc": "TRUNC", "floor": "FLOOR", "copysign": "COPYSIGN"}
ORDERED = {"oeq": "EQ", "olt": "LT", "ole": "LE", "ogt": "GT", "oge": "GE", "une": "NE"}
OPPOSITE = {"ult": "GE", "ule": "GT", "ugt": "LE", "uge": "LT"}
INTEGER = {"eq": "EQ", "ne": "NE", "ult": "LT", "ule": "LE", "ugt": "GT", "uge": "GE"}


class Formula:
    """Instructions of one function: (class, operation, operands), a number each."""

    def __init__(self, width: int):
        self.width = width
        self.lines: list[tuple] = []
        self.number: dict[tuple, int] = {}

    def add(self, *line) -> int:
        if line not in self.number:
            self.number[line] = len(self.lines)
            self.lines.append(line)
        return self.number[line]

    def constant(self, kind: str, text: str) -> int:
        if kind == "i1":
            return self.add("T", 1 if text == "true" else 0)
        if kind.startswith("i"):
            return self.add("M", int(text) % (1 << self.width))
        bits = int(text, 16) if text.startswith("0x") else struct.unpack("<Q", struct.pack("<d", float(text)))[0]
        if self.width == 32:  # LLVM writes a float as the double of the same value
            bits = struct.unpack("<I", struct.pack("<f", struct.unpack("<d", struct.pack("<Q", bits))[0]))[0]
        return self.add("N", bits)

    def take(self, text: str) -> None:
        """One function of IR."""
        values: dict[str, int] = {}
        letter = {"double": "F", "float": "F", "i64": "U", "i32": "U", "i1": "B"}

        def of(kind: str, name: str) -> int:
            return values[name] if name.startswith("%") else self.constant(kind, name)

        def negated(number: int) -> int:
            return self.add("B", "NOT", number)

        signature, *body = text.split("\n")
        for n, name in enumerate(re.findall(r"(?:double|float) [^,()]*?(%\w+)", signature)):
            values[name] = self.add("F", "LOAD", n)
        for line in body:
            line = re.sub(r",? (![\w.]+)( ![\d]+)?|#\d+", "", line).strip()
            if not line or line == "}":
                continue
            if m := re.fullmatch(r"ret (\w+) (\S+)", line):
                self.result = of(m[1], m[2])
                continue
            m = re.fullmatch(r"(%\w+) = (.*)", line)
            assert m, f"unknown line: {line}"
            name, code = m[1], m[2]
            code = re.sub(r"\b(nuw|nsw|exact|tail|noundef) ?", "", code)
            if m := re.fullmatch(r"mul (i\d+) (\S+), (-?\d+)", code):  # by a power of two
                factor = int(m[3])
                shift = abs(factor).bit_length() - 1
                assert abs(factor) == 1 << shift, line
                moved = self.add("U", "SHL", of(m[1], m[2]), self.constant(m[1], str(shift)))
                values[name] = moved if factor > 0 else self.add("U", "NEG", moved)
            elif m := re.fullmatch(r"(\w+) (\w+) (\S+), (\S+)", code):
                assert m[1] in SIMPLE, line
                kind = letter[m[2]]
                if m[1] == "xor" and m[4] in ("true", "-1"):
                    values[name] = self.add(kind, "NOT", of(m[2], m[3]))
                else:
                    values[name] = self.add(kind, SIMPLE[m[1]], of(m[2], m[3]), of(m[2], m[4]))
            elif m := re.fullmatch(r"fneg (\w+) (\S+)", code):
                values[name] = self.add("F", "NEG", of(m[1], m[2]))
            elif m := re.fullmatch(r"fcmp (\w+) (\w+) (\S+), (\S+)", code):
                a, b = of(m[2], m[3]), of(m[2], m[4])
                if m[1] in ORDERED:
                    values[name] = self.add("B", ORDERED[m[1]], a, b)
                elif m[1] in OPPOSITE:
                    values[name] = negated(self.add("B", OPPOSITE[m[1]], a, b))
                elif m[1] in ("ord", "uno"):
                    tests = [self.add("B", "EQ" if m[1] == "ord" else "NE", x, x) for x, t in ((a, m[3]), (b, m[4])) if t.startswith("%")]
                    values[name] = tests[0] if len(set(tests)) == 1 else self.add("B", "AND" if m[1] == "ord" else "OR", *tests)
                else:
                    raise AssertionError(line)
            elif m := re.fullmatch(r"icmp (\w+) (\w+) (\S+), (\S+)", code):
                values[name] = self.add("B", INTEGER[m[1]], of(m[2], m[3]), of(m[2], m[4]))
            elif m := re.fullmatch(r"select i1 (\S+), (\w+) (\S+), (\w+) (\S+)", code):
                c = of("i1", m[1])
                if m[2] == "i1" and m[5] == "false":
                    values[name] = self.add("B", "AND", c, of("i1", m[3]))
                elif m[2] == "i1" and m[3] == "true":
                    values[name] = self.add("B", "OR", c, of("i1", m[5]))
                else:
                    values[name] = self.add(letter[m[2]], "SELECT", c, of(m[2], m[3]), of(m[4], m[5]))
            elif m := re.fullmatch(r"bitcast (\w+) (\S+) to (\w+)", code):
                values[name] = self.add(letter[m[3]], "BITS", of(m[1], m[2]))
            elif m := re.fullmatch(r"sitofp i(32|64) (\S+) to (\w+)", code):
                values[name] = self.add("F", "CAST", self.add("I", "BITS", of("i" + m[1], m[2])))
            elif m := re.fullmatch(r"uitofp (\w+) (\S+) to (\w+)", code):
                values[name] = self.add("F", "CAST", of(m[1], m[2]))
            elif m := re.fullmatch(r"zext i1 (\S+) to i\d+", code):
                values[name] = self.add("U", "CAST", of("i1", m[1]))
            elif m := re.fullmatch(r"call \w+ @llvm\.(\w+)\.f\d+\((.*)\)", code):
                operands = [of(*operand.split()) for operand in m[2].split(", ")]
                values[name] = self.add("F", CALLS[m[1]], *operands)
            else:
                raise AssertionError(f"unknown line: {line}")


def text_of(line: tuple) -> str:
    if line[0] in ("N", "M", "T"):
        return f"{line[0]}({line[1]:#x})"
    return f"{line[0]}({line[1]}, {', '.join(map(str, line[2:]))})"


def wrapped(words: list[str], indent: str, width: int = 118) -> str:
    lines, now = [], indent
    for word in words:
        if len(now) + len(word) > width:
            lines.append(now.rstrip())
            now = indent
        now += word + " "
    return "\n".join(lines + [now.rstrip()])


def table() -> str:
    calls = [(g, "ONE") for g in ONE] + [(g, "TWO") for g in TWO] + [("rem", "MODULO"), ("floor_div", "MODULO")]
    with tempfile.TemporaryDirectory() as folder:
        source, ir = Path(folder) / "formulas.c", Path(folder) / "formulas.ll"
        lines = [f"{macro}({g}, {T}, {f})" for g, macro in calls for T, f in (("float", "f32"), ("double", "f64"))]
        source.write_text(SOURCE + "\n".join(lines) + "\n")
        subprocess.run([*COMMAND, "-o", str(ir), str(source)], check=True)
        functions = {m[1]: m[0] for m in re.finditer(r"define [^@]*@(\w+)\(.*?\n}", ir.read_text(), re.S)}
    out, rows = [HEADER], []
    for f, width, kinds in (("F32", 32, "CBX_F32 CBX_U32 CBX_I32"), ("F64", 64, "CBX_F64 CBX_U64 CBX_I64")):
        out += [f"#define {name:9}{value}\n" for name, value in zip(("FLOAT", "UNSIGNED", "SIGNED"), kinds.split())]
        for g, _ in calls:
            formula = Formula(width)
            formula.take(functions[f"value_{g}_{f.lower()}"])
            result = formula.result
            formula.take(functions[f"inside_{g}_{f.lower()}"])
            words = [text_of(line) for line in formula.lines]
            out.append(f"static const cbx__kinstr {g.upper()}_{f}[] = {{\n{wrapped(words, '    ')}\n}};\n")
            rows.append((g.upper(), f, result, formula.result))
        out.append("#undef FLOAT\n#undef UNSIGNED\n#undef SIGNED\n")
    entries = []
    for g, _ in calls:
        pair = ", ".join(f"FORMULA({name}, {f}, {result}, {inside})" for name, f, result, inside in rows if name == g.upper())
        entries.append(f"    [CBX_PRIM_{g.upper()}] = {{ {pair} }},")
    return "".join(out) + FOOTER % "\n".join(entries)


def check(text: str | None) -> int:
    print("1..2")
    if text is None:
        print("ok 1 # SKIP there is no clang\nok 2 # SKIP there is no clang")
        return 0
    equal, spoiled = text == TABLE.read_text(), text.replace("ADD", "SUB", 1) == TABLE.read_text()
    print(f"{'ok' if equal else 'not ok'} 1 - the table of formulas is what kernels/elementary_float.h gives")
    print(f"{'not ok' if spoiled else 'ok'} 2 - a planted fault is seen")
    if not equal:
        print(f"# run scripts/make_formulas.py, which writes '{TABLE.relative_to(ROOT)}'")
    return int(not equal or spoiled)


def main() -> int:
    checked = sys.argv[1:] == ["--check"]
    try:
        text = table()
    except FileNotFoundError:
        text = None
    if checked:
        return check(text)
    if text is None:
        print("make_formulas: there is no clang", file=sys.stderr)
        return 2
    TABLE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
