"""What the check_NAME.py scripts share: the library through ctypes, arrays over NumPy's memory, and cases as TAP."""
import ctypes
import importlib
import os
import sys
from ctypes import POINTER, byref, c_char_p, c_int, c_void_p, py_object

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "workers"))
from environments import interpreter  # noqa: E402

DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128".split()
IF_NEEDED, ALWAYS, NEVER = 0, 1, 2


class Err(ctypes.Structure):
    _fields_ = [("status", c_int), ("message", ctypes.c_char * 512)]


def python_calls():
    api = ctypes.pythonapi
    api.PyCapsule_New.restype, api.PyCapsule_New.argtypes = py_object, [c_void_p, c_char_p, c_void_p]
    api.PyCapsule_GetPointer.restype, api.PyCapsule_GetPointer.argtypes = c_void_p, [py_object, c_char_p]
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = c_char_p, [py_object]
    api.PyCapsule_SetName.restype, api.PyCapsule_SetName.argtypes = c_int, [py_object, c_char_p]
    return api


class Library:
    """libcalibrax on one context; a status that is not OK is a RuntimeError with its sentence."""

    def __init__(self, path):
        self.c, self.py, self.err, self.ctx = ctypes.CDLL(path), python_calls(), Err(), c_void_p()
        self.c.cbx_array_data.restype = c_void_p
        self.c.cbx_array_data.argtypes = [c_void_p]
        self.check(self.c.cbx_ctx_create(None, byref(self.ctx), byref(self.err)))

    def check(self, status):
        if status:
            raise RuntimeError(self.err.message.decode())

    def call(self, name, *args):
        """cbx_NAME(ctx, args..., err)"""
        self.check(getattr(self.c, "cbx_" + name)(self.ctx, *args, byref(self.err)))

    def take(self, exporter, legacy=False, copy=NEVER):
        """An array over the memory of whatever has __dlpack__."""
        capsule = exporter.__dlpack__() if legacy else exporter.__dlpack__(max_version=(1, 0))
        name = self.py.PyCapsule_GetName(capsule)
        tensor = self.py.PyCapsule_GetPointer(capsule, name)
        used = {b"dltensor": b"used_dltensor", b"dltensor_versioned": b"used_dltensor_versioned"}[name]
        take = self.c.cbx_dlpack_import if name.endswith(b"versioned") else self.c.cbx_dlpack_import_legacy
        self.py.PyCapsule_SetName(capsule, used)
        array = c_void_p()
        self.check(take(self.ctx, c_void_p(tensor), copy, byref(array), byref(self.err)))
        return Array(self, array)


NAMES = []  # PyCapsule_New keeps the pointer to its name


class Array:
    def __init__(self, lib, handle):
        self.lib, self.handle, self.legacy, self.copy = lib, handle, False, IF_NEEDED

    def free(self):
        self.lib.c.cbx_array_free(self.handle)

    def data(self):
        return self.lib.c.cbx_array_data(self.handle)

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_):
        tensor = c_void_p()
        self.lib.call("dlpack_export_legacy" if self.legacy else "dlpack_export", self.handle, self.copy, byref(tensor))
        NAMES.append(ctypes.create_string_buffer(b"dltensor" if self.legacy else b"dltensor_versioned"))
        return self.lib.py.PyCapsule_New(tensor, ctypes.cast(NAMES[-1], c_char_p), None)


def sample(np, dtype):
    x = np.arange(24).reshape(2, 3, 4)
    return (x % 2 if dtype == "bool" else x * (1 - 2j) if dtype[0] == "c" else x).astype(dtype)


def layouts(np, dtype):
    x = sample(np, dtype)
    return {"dense": x, "scalar": x[1, 2, 3:4].reshape(()), "empty": x[:, :0], "transposed": x.T, "backwards": x[::-1, :, ::-2],
            "broadcast": np.broadcast_to(x[:1], (5, 3, 4)), "fortran": np.asfortranarray(x)}


def equal(np, got, want):
    return got.dtype == want.dtype and got.shape == want.shape and np.array_equal(got, want)


def under(module, others, remedy, usable=lambda module: True):
    """The module, if need be by starting again under one of the other interpreters; without one the test fails."""
    try:
        found = importlib.import_module(module)
        if usable(found):
            return found
    except ImportError:
        pass
    tried = os.environ.get("CBX_TRIED", "").split(":")
    for other in others:
        if other and other not in tried and os.access(other, os.X_OK):
            os.environ["CBX_TRIED"] = ":".join([*tried, other])
            os.execv(other, [other, *sys.argv])
    sys.exit(f"no {module} here: run '{remedy}'")


def under_numpy_2():
    return under("numpy", [interpreter("numpy")], "scripts/setup-refs.sh numpy", lambda np: int(np.__version__.split(".")[0]) >= 2)


def run_cases(cases):
    """(name, function) each; TAP, and the exit status."""
    print(f"1..{len(cases)}")
    failed = 0
    for number, (name, case) in enumerate(cases, 1):
        try:
            case()
            print(f"ok {number} - {name}")
        except Exception as error:  # every kind is a failed case
            failed += 1
            print(f"not ok {number} - {name}\n# {type(error).__name__}: {error}")
    return 1 if failed else 0
