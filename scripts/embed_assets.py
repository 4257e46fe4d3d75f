#!/usr/bin/env python3
"""Writes text files as C tables of lines: embed_assets.py OUT.c HEADER.h [--whole] SYMBOL=FILE...

A table of lines, not one string: ISO C guarantees only 4095 characters in a literal.
Lines lose their leading white space, and lines that hold only a comment are dropped; with --whole nothing is lost.
Without --whole, SYMBOL_hash is the hash of all lines as a Content-Security-Policy names it ("sha256-...").
"""
import base64
import hashlib
import sys


def c_string(line):
    out = []
    for byte in line.encode("utf-8"):
        if byte in b'"\\?':
            out.append("\\" + chr(byte))
        elif 32 <= byte < 127:
            out.append(chr(byte))
        else:
            out.append("\\%03o" % byte)
    return '"' + "".join(out) + '"'


def lines_of(path, whole):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if whole:
        yield from text.splitlines(keepends=True)
        return
    if "</" in text:
        sys.exit(f"embed_assets.py: '{path}' holds '</', which would end its element in a page")
    for line in text.splitlines():
        line = line.strip()
        if line and not line.startswith("//") and not (line.startswith("/*") and line.endswith("*/")):
            yield line + "\n"


def main(out, header, pairs, whole):
    parts = ["/* Made by scripts/embed_assets.py from text files; edit those instead. */\n", f'#include "{header}"\n']
    for pair in pairs:
        symbol, path = pair.split("=", 1)
        parts.append(f"\nconst char *const {symbol}[] = {{\n")
        lines = list(lines_of(path, whole))
        parts += [f"    {c_string(line)},\n" for line in lines]
        parts.append("    0,\n};\n")
        if not whole:
            digest = base64.b64encode(hashlib.sha256("".join(lines).encode("utf-8")).digest()).decode("ascii")
            parts.append(f"const char {symbol}_hash[] = \"sha256-{digest}\";\n")
    with open(out, "w", encoding="ascii") as f:
        f.write("".join(parts))


if __name__ == "__main__":
    arguments = [a for a in sys.argv[1:] if a != "--whole"]
    if len(arguments) < 3:
        sys.exit(__doc__)
    main(arguments[0], arguments[1], arguments[2:], "--whole" in sys.argv)
