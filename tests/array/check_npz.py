"""NPZ with NumPy on the other side: numpy.load reads what the library writes, and the library what numpy.savez writes.

usage: check_npz.py LIBRARY       (libcalibrax.so; TAP on stdout)
"""
import ctypes
import os
import sys
import tempfile
import zipfile
from ctypes import byref, c_char_p, c_void_p

from foreign import DTYPES, Array, Library, equal, layouts, run_cases, under_numpy_2

STORED, DEFLATED = 0, 1


class Member(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("array", c_void_p)]


def write(lib, path, arrays, packing):
    taken = {name: lib.take(x) for name, x in arrays.items()}
    members = (Member * len(taken))(*[Member(name.encode(), a.handle) for name, a in taken.items()])
    lib.call("npz_write", path.encode(), members, len(taken), packing)
    for a in taken.values():
        a.free()


def read(np, lib, path, names):
    archive = c_void_p()
    lib.call("npz_open", path.encode(), None, byref(archive))
    found = {}
    for name in names:
        array = c_void_p()
        lib.check(lib.c.cbx_npz_read(archive, name.encode(), byref(array), byref(lib.err)))
        a = Array(lib, array)
        found[name] = np.from_dlpack(a).copy()
        a.free()
    lib.c.cbx_npz_close(archive)
    return found


def both_ways(np, lib, folder, dtype):
    arrays = {f"{what} µ/x": x for what, x in layouts(np, dtype).items()}
    path = os.path.join(folder, "a.npz")
    for packing in (STORED, DEFLATED):
        write(lib, path, arrays, packing)
        with zipfile.ZipFile(path) as z:
            assert z.testzip() is None, "Python's checksums"
            assert {m.compress_type for m in z.infolist()} <= {0, 8} and all(m.date_time[0] == 1980 for m in z.infolist())
        with np.load(path, allow_pickle=False) as back:
            assert sorted(back.files) == sorted(arrays)
            assert all(equal(np, back[name], x) for name, x in arrays.items()), "numpy.load reads ours"
        (np.savez if packing == STORED else np.savez_compressed)(path, **arrays)
        back = read(np, lib, path, arrays)
        assert all(equal(np, back[name], x) for name, x in arrays.items()), "ours reads numpy.savez"


def large(np, lib, folder):
    """Larger than any buffer on the way, with elements that straddle their ends."""
    x = np.random.default_rng(1).standard_normal((3, 70001)).astype("complex128")[:, ::-2]
    path = os.path.join(folder, "large.npz")
    for packing in (STORED, DEFLATED):
        write(lib, path, {"x": x, "y": x.T}, packing)
        with np.load(path) as back:
            assert equal(np, back["x"], x) and equal(np, back["y"], x.T)
        assert equal(np, read(np, lib, path, ["x"])["x"], x)


def main():
    np = under_numpy_2()
    if not np:
        return 0
    lib = Library(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        cases = [(f"{d} both ways", lambda d=d: both_ways(np, lib, folder, d)) for d in DTYPES]
        return run_cases([*cases, ("large arrays", lambda: large(np, lib, folder))])


if __name__ == "__main__":
    sys.exit(main())
