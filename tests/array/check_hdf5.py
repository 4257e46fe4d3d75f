"""HDF5 with h5py on the other side: h5py reads what the library writes, and the library what h5py writes.

usage: check_hdf5.py LIBRARY       (libcalibrax.so; TAP on stdout)
Arrays go between the library and NumPy as NPY files, since the NumPy beside Debian's h5py lends no bool by DLPack.
"""
import ctypes
import os
import sys
import tempfile
from ctypes import byref, c_bool, c_char_p, c_int, c_size_t, c_uint32, c_void_p

from foreign import DTYPES, Library, equal, layouts, run_cases, under

READ, CREATE, APPEND = 0, 1, 2
PLAIN, DEFLATE, LZF = 0, 1, 2


class WriteOpts(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("packing", c_int), ("level", c_int), ("shuffle", c_bool), ("chunk", c_size_t * 16), ("units", c_char_p)]


class File:
    def __init__(self, lib, path, mode):
        self.lib, self.h = lib, c_void_p()
        lib.call("h5_open", path.encode(), mode, None, byref(self.h))

    def call(self, name, *args):
        """cbx_h5_NAME(h, args..., err)"""
        self.lib.check(getattr(self.lib.c, "cbx_h5_" + name)(self.h, *args, byref(self.lib.err)))

    def commit(self):
        self.lib.check(self.lib.c.cbx_h5_commit(self.h, byref(self.lib.err)))

    def close(self):
        self.lib.c.cbx_h5_close(self.h)


def to_library(np, lib, folder, x):
    path, array = os.path.join(folder, "x.npy"), c_void_p()
    np.save(path, x)
    lib.call("npy_read", path.encode(), byref(array))
    return array


def to_numpy(np, lib, folder, array):
    path = os.path.join(folder, "y.npy")
    lib.call("npy_write", path.encode(), array)
    lib.c.cbx_array_free(array)
    return np.load(path)


def packings():
    for packing in (PLAIN, DEFLATE, LZF):
        for shuffle in (False, True):
            yield f"{packing}-{shuffle}", WriteOpts(ctypes.sizeof(WriteOpts), packing, 0, shuffle, (c_size_t * 16)(), "1/Å".encode())


def h5py_reads(np, h5py, lib, folder, dtype):
    path = os.path.join(folder, "ours.h5")
    file = File(lib, path, CREATE)
    for what, x in layouts(np, dtype).items():
        array = to_library(np, lib, folder, x)
        for name, opts in packings():
            file.call("write", f"/{what}/{name}".encode(), array, byref(opts))
        file.call("set_attr", f"/{what}".encode(), b"value", array)
        lib.c.cbx_array_free(array)
    file.call("write_text", b"/entry/title", "größe".encode())
    file.commit()
    with h5py.File(path) as f:
        assert f["entry/title"].asstr()[()] == "größe"
        for what, x in layouts(np, dtype).items():
            assert equal(np, np.asarray(f[what].attrs["value"]), x), f"attribute {what}"
            for name, opts in packings():
                d = f[what][name]
                assert equal(np, d[()], x) or (x.ndim == 0 and d[()] == x and d.dtype == x.dtype), f"{what} {name}"
                assert d.attrs["units"] == "1/Å"
                packed = x.ndim > 0 and x.size > 0
                assert d.compression == ({PLAIN: None, DEFLATE: "gzip", LZF: "lzf"}[opts.packing] if packed else None), d.compression
                assert d.shuffle == (opts.shuffle and packed)


def ours_reads(np, h5py, lib, folder, dtype):
    path = os.path.join(folder, "theirs.h5")
    with h5py.File(path, "w") as f:
        for what, x in layouts(np, dtype).items():
            f[f"{what}/plain"] = x
            if x.ndim and x.size:
                f.create_dataset(f"{what}/lzf", data=x, compression="lzf", shuffle=True)
                f.create_dataset(f"{what}/gzip", data=x, compression="gzip", chunks=(1,) * x.ndim)
                f.create_dataset(f"{what}/swapped", data=x, dtype=x.dtype.newbyteorder())
    file = File(lib, path, READ)
    with h5py.File(path) as f:
        for what, x in layouts(np, dtype).items():
            for name in f[what]:
                array = c_void_p()
                file.call("read", f"/{what}/{name}".encode(), byref(array))
                assert equal(np, to_numpy(np, lib, folder, array), x), f"{what} {name}"
    file.close()


def ours_appends(np, h5py, lib, folder):
    path = os.path.join(folder, "both.h5")
    with h5py.File(path, "w") as f:
        f["theirs"] = np.arange(5)
    file = File(lib, path, APPEND)
    array = to_library(np, lib, folder, np.arange(3.0))
    file.call("write", b"ours", array, None)
    with h5py.File(path) as f:
        assert list(f) == ["theirs"], "nothing shows before the commit"
    file.commit()
    lib.c.cbx_array_free(array)
    with h5py.File(path, "a") as f:
        assert list(f) == ["ours", "theirs"] and f["ours"][2] == 2.0
        f["more"] = 1


def large_packed(np, h5py, lib, folder):
    """Many chunks with content that LZF can and cannot shorten."""
    rng = np.random.default_rng(5)
    x = rng.integers(0, 3, (700, 900)).astype("u2")
    x[300:500] = rng.integers(0, 65536, (200, 900))
    path = os.path.join(folder, "large.h5")
    file = File(lib, path, CREATE)
    array = to_library(np, lib, folder, x)
    for name, opts in packings():
        opts.chunk[0], opts.chunk[1] = 64, 64
        file.call("write", name.encode(), array, byref(opts))
    lib.c.cbx_array_free(array)
    file.commit()
    with h5py.File(path) as f:
        for name, opts in packings():
            assert f[name].chunks == (64, 64) and equal(np, f[name][()], x), name


def many_axes(np, h5py, lib, folder, ndim):
    """Arrays hold at most 16 axes, HDF5 32: the others are refused, as datasets and as attributes, and the file stays usable."""
    path = os.path.join(folder, f"axes{ndim}.h5")
    x = np.arange(4.0).reshape((1,) * (ndim - 2) + (2, 2))
    with h5py.File(path, "w") as f:
        f["plain"] = x
        f.create_dataset("chunks", data=x, chunks=x.shape, compression="gzip")
        f["few"] = np.ones(1)
        f.attrs["x"] = x
    file, array = File(lib, path, READ), c_void_p()
    info = ctypes.create_string_buffer(4096)
    calls = [(what, call) for name in (b"plain", b"chunks") for what, call in (
        (name.decode(), lambda name=name: file.call("read", name, byref(array))),
        (name.decode(), lambda name=name: file.call("read_slab", name, bytes(3 * 16 * 8), byref(array))),
        (name.decode(), lambda name=name: file.call("stat", name, info)))]
    calls += [("x", lambda: file.call("get_attr", b"/", b"x", byref(array)))]
    if ndim <= 16:
        file.call("read", b"chunks", byref(array))
        assert equal(np, to_numpy(np, lib, folder, array), x)
    else:
        for what, call in calls:
            try:
                call()
            except RuntimeError as e:
                message = str(e)
            else:
                message = "no error"
            wanted = f"'{what}' of '{path}' has {ndim} axes, at most 16 are supported: store it with fewer axes"
            assert message == wanted, message
    file.call("read", b"few", byref(array))
    assert equal(np, to_numpy(np, lib, folder, array), np.ones(1))
    file.close()


def main():
    found = under("h5py", ["/usr/bin/python3"], "apt-get install python3-h5py")
    import h5py
    import numpy as np
    lib = Library(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        cases = [(f"h5py reads {d}", lambda d=d: h5py_reads(np, h5py, lib, folder, d)) for d in DTYPES]
        cases += [(f"h5py's {d} is read", lambda d=d: ours_reads(np, h5py, lib, folder, d)) for d in DTYPES]
        cases += [("a file of h5py's is appended to", lambda: ours_appends(np, h5py, lib, folder)),
                  ("many chunks", lambda: large_packed(np, h5py, lib, folder))]
        cases += [(f"{n} axes", lambda n=n: many_axes(np, h5py, lib, folder, n)) for n in (16, 17, 32)]
        return run_cases(cases)


if __name__ == "__main__":
    sys.exit(main())
