"""DLPack with NumPy on the other side: NumPy reads what the library lends and lends what the library reads.

usage: check_dlpack.py LIBRARY       (libcalibrax.so; TAP on stdout)
The capsules that a Python package would make are made here with ctypes.
"""
import gc
import sys

from foreign import ALWAYS, DTYPES, IF_NEEDED, Library, equal, layouts, run_cases, under_numpy_2


def numpy_lends(np, lib, dtype):
    for what, x in layouts(np, dtype).items():
        for legacy in (False, True):
            if legacy and not x.flags.writeable:
                continue  # NumPy refuses these
            a = lib.take(x, legacy)
            assert x.size == 0 or a.data() == x.__array_interface__["data"][0], f"{what}: the same memory"
            back = np.from_dlpack(a)
            a.free()
            assert equal(np, back, x), f"{what}: {back} and not {x}"
            assert x.size == 0 or back.__array_interface__["data"][0] == x.__array_interface__["data"][0], f"{what}: the same memory"


def numpy_may_not_write(np, lib):
    x = np.arange(6.0)
    a = lib.take(x)
    shared = np.from_dlpack(a)
    assert not shared.flags.writeable, "shared memory is read only"
    a.copy = ALWAYS
    own = np.from_dlpack(a)
    assert own.flags.writeable, "a copy may be written"
    own[:] = -1
    a.legacy, a.copy = True, IF_NEEDED
    older = np.from_dlpack(a)
    x[0] = 7
    assert shared[0] == 7 and older[0] == 0 and own[0] == -1, "shared shows the change, copies do not"
    a.free()


def numpy_keeps_and_frees(np, lib):
    class Watched(np.ndarray):
        dead = 0

        def __del__(self):
            Watched.dead += 1

    x = np.arange(1000.0).view(Watched)
    a = lib.take(x)
    y = np.from_dlpack(a)
    a.free()
    del x
    gc.collect()
    assert Watched.dead == 0 and y[999] == 999.0, "NumPy's view keeps the library's, which keeps NumPy's"
    del y
    gc.collect()
    assert Watched.dead == 1, "all is given back"


def dtypes_that_are_not_ours(np, lib):
    for dtype in ("float16", "longdouble"):
        try:
            lib.take(np.zeros(3, dtype))
        except (RuntimeError, BufferError) as error:
            assert "bits" in str(error) or "longdouble" in str(error).lower() or "DLPack" in str(error), str(error)
        else:
            raise AssertionError(f"{dtype} has no dtype here")


def main():
    np = under_numpy_2()
    if not np:
        return 0
    lib = Library(sys.argv[1])
    cases = [(f"numpy lends {d} and borrows it back", lambda d=d: numpy_lends(np, lib, d)) for d in DTYPES]
    cases += [("numpy may not write into shared memory", lambda: numpy_may_not_write(np, lib)),
              ("numpy keeps and frees", lambda: numpy_keeps_and_frees(np, lib)),
              ("dtypes that we have not", lambda: dtypes_that_are_not_ours(np, lib))]
    return run_cases(cases)


if __name__ == "__main__":
    sys.exit(main())
