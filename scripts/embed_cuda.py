#!/usr/bin/env python3
"""Writes the C file that carries the GPU kernels: embed_cuda.py OUT.c TEXT [product=FILE finish=FILE ell=FILE probe=FILE].

The files are taken in by the assembler (.incbin), with their hash in a comment, so that a changed file compiles the C file again.
TEXT describes what they were built with; without files the tables are empty and the text is absent.
"""
import hashlib
import sys
from pathlib import Path

NAMES = ("product", "finish", "ell", "probe")

SECTION = """
/* {digest} */
__asm__(".pushsection .rodata\\n.balign 64\\n.hidden cbx__cuda_image_{name}\\n.globl cbx__cuda_image_{name}\\ncbx__cuda_image_{name}:\\n"
        ".incbin \\"{path}\\"\\n.hidden cbx__cuda_end_{name}\\n.globl cbx__cuda_end_{name}\\ncbx__cuda_end_{name}:\\n.byte 0\\n.popsection\\n");
extern const unsigned char cbx__cuda_image_{name}[] __attribute__((visibility("hidden")));
extern const unsigned char cbx__cuda_end_{name}[] __attribute__((visibility("hidden")));
"""


def main() -> int:
    out, text, *pairs = sys.argv[1:]
    files = dict(pair.split("=", 1) for pair in pairs)
    lines = ['/* The GPU kernels as nvcc made them; generated. */\n#include "calibrax/array/cuda/driver.h"\n']
    for name, path in files.items():
        lines.append(SECTION.format(name=name, path=path, digest=hashlib.sha256(Path(path).read_bytes()).hexdigest()))
    lines.append("\nconst char *const cbx__cuda_build_text = %s;\n" % (f'"{text}"' if files else "0"))
    lines.append("const cbx__cuda_image cbx__cuda_images[CBX__CUDA_IMAGES] = {\n")
    for name in NAMES:
        lines.append(f'    {{ "{name}", cbx__cuda_image_{name}, cbx__cuda_end_{name} }},\n' if name in files else f'    {{ "{name}", 0, 0 }},\n')
    lines.append("};\n")
    Path(out).write_text("".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
