"""PNG files of the library, decoded here by zlib and the PNG specification alone.

usage: check_image.py LIBRARY       (libcalibrax.so; TAP on stdout)
"""
import ctypes
import os
import struct
import sys
import tempfile
import zlib
from ctypes import byref, c_void_p

from foreign import Library, run_cases

CHANNELS = {0: 1, 4: 2, 2: 3, 6: 4}


def chunks(data):
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at = 8
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        body = data[at + 8:at + 8 + size]
        assert zlib.crc32(kind + body) == struct.unpack_from(">I", data, at + 8 + size)[0], kind
        yield kind, body
        at += 12 + size


def predictor(kind, left, up, corner):
    if kind == 4:
        p = left + up - corner
        return min((abs(p - left), 0, left), (abs(p - up), 1, up), (abs(p - corner), 2, corner))[2]
    return (0, left, up, (left + up) // 2)[kind]


def decode(data):
    """(rows, columns, channels, depth, samples), row-major."""
    parts = list(chunks(data))
    assert parts[0][0] == b"IHDR" and parts[-1] == (b"IEND", b"")
    cols, rows, depth, kind, method, filters, interlaced = struct.unpack(">IIBBBBB", parts[0][1])
    assert (method, filters, interlaced) == (0, 0, 0) and depth in (8, 16)
    raw = zlib.decompress(b"".join(body for name, body in parts if name == b"IDAT"))
    unit = CHANNELS[kind] * depth // 8
    length, above, out = cols * unit, bytes(cols * unit), b""
    assert len(raw) == rows * (length + 1)
    for r in range(rows):
        kind_of_row, line = raw[r * (length + 1)], bytearray(raw[r * (length + 1) + 1:(r + 1) * (length + 1)])
        for i in range(length):
            left, corner = (line[i - unit], above[i - unit]) if i >= unit else (0, 0)
            line[i] = (line[i] + predictor(kind_of_row, left, above[i], corner)) & 255
        above = bytes(line)
        out += above
    return rows, cols, CHANNELS[kind], depth, list(struct.unpack(f">{len(out) * 8 // depth}{'B' if depth == 8 else 'H'}", out))


def array(lib, descr, shape, samples):
    """An array of the library, through the bytes of an NPY file."""
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape!r}, }}\n".encode()
    form = {"|u1": "B", "<u2": "<H", "<f8": "<d"}[descr]
    data = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + b"".join(struct.pack(form, s) for s in samples)
    handle = c_void_p()
    lib.call("npy_decode", data, ctypes.c_size_t(len(data)), byref(handle))
    return handle


def pixels(lib, path, descr, channels):
    depth, count = 8 * int(descr[2]), 37 * 23 * channels
    samples = [(k * 7919 + k * k) % (1 << depth) for k in range(count)]
    handle = array(lib, descr, (37, 23, channels), samples)
    lib.call("png_write", path.encode(), handle)
    lib.c.cbx_array_free(handle)
    with open(path, "rb") as f:
        assert decode(f.read()) == (37, 23, channels, depth, samples)


def colours(lib, path):
    """The defaults: viridis between the extremes, NaN white; known colours of matplotlib's table."""
    handle = array(lib, "<f8", (2, 3), [0.0, 1.0, float("nan"), 0.5, 0.25, 0.75])
    lib.call("image_write", path.encode(), handle, None)
    lib.c.cbx_array_free(handle)
    with open(path, "rb") as f:
        rows, cols, channels, depth, samples = decode(f.read())
    got = ["%02x%02x%02x" % tuple(samples[3 * i:3 * i + 3]) for i in range(6)]
    assert (rows, cols, channels, depth) == (2, 3, 3, 8)
    assert got == ["440154", "fde725", "ffffff", "21918c", "3b528b", "5ec962"], got


def main():
    lib = Library(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.png")
        cases = [(f"{d} with {c} channels", lambda d=d, c=c: pixels(lib, path, d, c)) for d in ("|u1", "<u2") for c in (1, 2, 3, 4)]
        return run_cases([*cases, ("colours", lambda: colours(lib, path))])


if __name__ == "__main__":
    sys.exit(main())
