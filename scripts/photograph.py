#!/usr/bin/env python3
"""Photographs the page that nperf renders, from rows of reports/, into docs/images: page-light.png and page-dark.png, and
page-400.png, page-1280.png and page-1920.png, the beginning of the page in windows of these widths.

usage: scripts/photograph.py NPERF [ROWS.jsonl...]      default: reports/ell_row_softmax.jsonl

The pictures of headless Chromium are written again with a palette of at most 256 colours, so that each takes less than 150 kB.
exit status: 0; 2 there is no Chromium, nperf failed, or a picture is too large
"""

from __future__ import annotations

import collections
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_BYTES = 150_000
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
DARK = ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"]
SHOTS = {"light": (1200, 1500, []), "dark": (1200, 1500, DARK), "400": (400, 1300, []), "1280": (1280, 900, []), "1920": (1920, 1000, [])}
HEAD = b"\x89PNG\r\n\x1a\n"


def chunks(data):
    at = len(HEAD)
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        yield kind, data[at + 8 : at + 8 + length]
        at += 12 + length


def paeth(a, b, c):
    p = a + b - c
    pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
    return a if pa <= pb and pa <= pc else b if pb <= pc else c


def unfilter(kind, line, above, step):
    """One row of samples from its filtered form; PNG specification, section 9."""
    for i in range(len(line)):
        left = line[i - step] if i >= step else 0
        corner = above[i - step] if i >= step else 0
        line[i] = (line[i] + (0, left, above[i], (left + above[i]) // 2, paeth(left, above[i], corner))[kind]) & 255


def read_rgb(data):
    """Width and rows of (r, g, b) of an 8-bit RGB or RGBA file that is not interlaced."""
    parts = list(chunks(data))
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", parts[0][1])
    if depth != 8 or colour not in (2, 6) or interlaced:
        raise SystemExit("photograph: the browser's picture is of another kind than 8-bit RGB")
    step = 3 if colour == 2 else 4
    raw = zlib.decompress(b"".join(body for kind, body in parts if kind == b"IDAT"))
    rows, above, stride = [], bytearray(width * step), width * step + 1
    for y in range(height):
        line = bytearray(raw[y * stride + 1 : (y + 1) * stride])
        unfilter(raw[y * stride], line, above, step)
        rows.append([tuple(line[i : i + 3]) for i in range(0, len(line), step)])
        above = line
    return width, rows


def palette_of(rows, limit=256):
    """The commonest colours, and for every other one the nearest of them."""
    count = collections.Counter(pixel for row in rows for pixel in row)
    chosen = [colour for colour, _ in count.most_common(limit)]
    place = {colour: i for i, colour in enumerate(chosen)}
    for colour in count:
        if colour not in place:
            place[colour] = min(range(len(chosen)), key=lambda i: sum((a - b) ** 2 for a, b in zip(chosen[i], colour)))
    return chosen, place


def write_indexed(path, width, rows):
    chosen, place = palette_of(rows)
    raw = b"".join(b"\0" + bytes(place[pixel] for pixel in row) for row in rows)
    parts = [(b"IHDR", struct.pack(">IIBBBBB", width, len(rows), 8, 3, 0, 0, 0)), (b"PLTE", b"".join(map(bytes, chosen))),
             (b"IDAT", zlib.compress(raw, 9)), (b"IEND", b"")]
    path.write_bytes(HEAD + b"".join(struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
                                     for kind, body in parts))


def shoot(browser, page, name, folder):
    width, height, flags = SHOTS[name]
    out = folder / f"{name}.png"
    subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
                    f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=2000", f"--window-size={width},{height}",
                    *flags, f"--screenshot={out}", page.as_uri()], check=True, timeout=120, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return out.read_bytes()


def main(argv):
    browser = next((b for b in BROWSERS if shutil.which(b)), None)
    if len(argv) < 2:
        print("usage: scripts/photograph.py NPERF [ROWS.jsonl...]", file=sys.stderr)
        return 2
    if not browser:
        print("photograph: no Chromium here: apt-get install chromium", file=sys.stderr)
        return 2
    rows = [str(pathlib.Path(a).resolve()) for a in argv[2:]] or [str(ROOT / "reports" / "ell_row_softmax.jsonl")]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        done = subprocess.run([str(pathlib.Path(argv[1]).resolve()), "--render-from", *rows, "--site", str(folder / "site")], cwd=folder,
                              stdout=subprocess.DEVNULL)
        if done.returncode:
            return 2
        for shot in SHOTS:
            out = ROOT / "docs" / "images" / f"page-{shot}.png"
            write_indexed(out, *read_rgb(shoot(browser, folder / "site" / "index.html", shot, folder)))
            print(f"{out.relative_to(ROOT)}: {out.stat().st_size} bytes")
            if out.stat().st_size > MAX_BYTES:
                print(f"photograph: {out.name} is larger than {MAX_BYTES} bytes: photograph less", file=sys.stderr)
                return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
