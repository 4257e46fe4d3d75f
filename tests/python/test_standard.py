"""The names and signatures of the Python array API 2024.12, as its pages give them.  Prints TAP."""

from __future__ import annotations

import inspect
import math
import unittest

import tap

from calibrax_c import array as cx

ONE = "(x, /)"
TWO = "(x1, x2, /)"
AXES = "(x, /, *, axis=None, keepdims=False)"
AXES_DTYPE = "(x, /, *, axis=None, dtype=None, keepdims=False)"
CORRECTION = "(x, /, *, axis=None, correction=0.0, keepdims=False)"
LIKE = "(x, /, *, dtype=None, device=None)"
SHAPE = "(shape, *, dtype=None, device=None)"
ORDER = "(x, /, *, axis=-1, descending=False, stable=True)"

MAIN = {
    "arange": "(start, /, stop=None, step=1, *, dtype=None, device=None)",
    "asarray": "(obj, /, *, dtype=None, device=None, copy=None)",
    "empty": SHAPE,
    "empty_like": LIKE,
    "eye": "(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)",
    "from_dlpack": "(x, /, *, device=None, copy=None)",
    "full": "(shape, fill_value, *, dtype=None, device=None)",
    "full_like": "(x, /, fill_value, *, dtype=None, device=None)",
    "linspace": "(start, stop, /, num, *, dtype=None, device=None, endpoint=True)",
    "meshgrid": "(*arrays, indexing='xy')",
    "ones": SHAPE,
    "ones_like": LIKE,
    "tril": "(x, /, *, k=0)",
    "triu": "(x, /, *, k=0)",
    "zeros": SHAPE,
    "zeros_like": LIKE,
    "astype": "(x, dtype, /, *, copy=True, device=None)",
    "can_cast": "(from_, to, /)",
    "finfo": "(type, /)",
    "iinfo": "(type, /)",
    "isdtype": "(dtype, kind)",
    "result_type": "(*arrays_and_dtypes)",
    "clip": "(x, /, min=None, max=None)",
    "take": "(x, indices, /, *, axis=None)",
    "matmul": TWO,
    "matrix_transpose": ONE,
    "tensordot": "(x1, x2, /, *, axes=2)",
    "vecdot": "(x1, x2, /, *, axis=-1)",
    "broadcast_arrays": "(*arrays)",
    "broadcast_to": "(x, /, shape)",
    "concat": "(arrays, /, *, axis=0)",
    "expand_dims": "(x, /, axis=0)",
    "flip": "(x, /, *, axis=None)",
    "moveaxis": "(x, source, destination, /)",
    "permute_dims": "(x, /, axes)",
    "repeat": "(x, repeats, /, *, axis=None)",
    "reshape": "(x, /, shape, *, copy=None)",
    "roll": "(x, /, shift, *, axis=None)",
    "squeeze": "(x, /, axis)",
    "stack": "(arrays, /, *, axis=0)",
    "tile": "(x, repetitions, /)",
    "unstack": "(x, /, *, axis=0)",
    "argmax": AXES,
    "argmin": AXES,
    "nonzero": ONE,
    "searchsorted": "(x1, x2, /, *, side='left', sorter=None)",
    "where": "(condition, x1, x2, /)",
    "unique_all": ONE,
    "unique_counts": ONE,
    "unique_inverse": ONE,
    "unique_values": ONE,
    "argsort": ORDER,
    "sort": ORDER,
    "cumulative_sum": "(x, /, *, axis=None, dtype=None, include_initial=False)",
    "max": AXES,
    "mean": AXES,
    "min": AXES,
    "prod": AXES_DTYPE,
    "std": CORRECTION,
    "sum": AXES_DTYPE,
    "var": CORRECTION,
    "all": AXES,
    "any": AXES,
    "__array_namespace_info__": "()",
}
UNARY = """abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag isfinite isinf isnan log log1p
log2 log10 logical_not negative positive real round sign signbit sin sinh square sqrt tan tanh trunc"""
BINARY = """add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal floor_divide
greater greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor maximum minimum multiply not_equal pow
remainder subtract"""
INFO = {
    "capabilities": "()",
    "default_device": "()",
    "default_dtypes": "(*, device=None)",
    "devices": "()",
    "dtypes": "(*, device=None, kind=None)",
}
LINALG = {
    "cholesky": "(x, /, *, upper=False)",
    "cross": "(x1, x2, /, *, axis=-1)",
    "det": ONE,
    "diagonal": "(x, /, *, offset=0)",
    "eigh": ONE,
    "eigvalsh": ONE,
    "inv": ONE,
    "matmul": TWO,
    "matrix_norm": "(x, /, *, keepdims=False, ord='fro')",
    "matrix_power": "(x, n, /)",
    "matrix_rank": "(x, /, *, rtol=None)",
    "matrix_transpose": ONE,
    "outer": TWO,
    "pinv": "(x, /, *, rtol=None)",
    "qr": "(x, /, *, mode='reduced')",
    "slogdet": ONE,
    "solve": TWO,
    "svd": "(x, /, *, full_matrices=True)",
    "svdvals": ONE,
    "tensordot": "(x1, x2, /, *, axes=2)",
    "trace": "(x, /, *, offset=0, dtype=None)",
    "vecdot": "(x1, x2, /, *, axis=-1)",
    "vector_norm": "(x, /, *, axis=None, keepdims=False, ord=2)",
}
FFT = dict.fromkeys("fft ifft rfft irfft hfft ihfft".split(), "(x, /, *, n=None, axis=-1, norm='backward')") | dict.fromkeys(
    "fftn ifftn rfftn irfftn".split(), "(x, /, *, s=None, axes=None, norm='backward')") | dict.fromkeys(
    "fftshift ifftshift".split(), "(x, /, *, axes=None)") | dict.fromkeys(
    "fftfreq rfftfreq".split(), "(n, /, *, d=1.0, dtype=None, device=None)")  # dtype: since 2024.12
METHODS = {
    "__array_namespace__": "(*, api_version=None)",
    "__dlpack__": "(*, stream=None, max_version=None, dl_device=None, copy=None)",
    "__dlpack_device__": "()",
    "to_device": "(device, /, *, stream=None)",
}
OPERATORS = """abs add and bool complex eq float floordiv ge getitem gt index int invert le lshift lt matmul mod mul ne neg or pos
pow rshift setitem sub truediv xor radd rand rfloordiv rlshift rmatmul rmod rmul ror rpow rrshift rsub rtruediv rxor"""
DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128"


class Standard(unittest.TestCase):
    def compare(self, home, table):
        for name, signature in table.items():
            with self.subTest(name=name):
                self.assertTrue(hasattr(home, name), "missing")
                self.assertEqual(str(inspect.signature(getattr(home, name))), signature)

    def test_functions(self):
        self.compare(cx, MAIN | dict.fromkeys(UNARY.split(), ONE) | dict.fromkeys(BINARY.split(), TWO))

    def test_extensions(self):
        self.compare(cx.linalg, LINALG)
        self.compare(cx.fft, FFT)
        import calibrax_c.array.linalg as linalg  # as a module, too

        self.assertIs(linalg, cx.linalg)

    def test_inquiry(self):
        info = cx.__array_namespace_info__()
        self.compare(info, INFO)
        self.assertEqual(info.capabilities(), {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 16})
        self.assertEqual(list(info.dtypes()), DTYPES.split())
        self.assertEqual(list(info.dtypes(kind=("bool", "real floating"))), ["bool", "float32", "float64"])
        self.assertIs(info.default_dtypes()["real floating"], cx.float64)
        self.assertIn(info.default_device(), info.devices())

    def test_array(self):
        x = cx.ones((2, 2))
        self.compare(x, METHODS)
        for name in OPERATORS.split():
            self.assertTrue(hasattr(x, f"__{name}__"), name)
        for name in "dtype device mT ndim shape size T".split():
            self.assertTrue(hasattr(x, name), name)

    def test_constants_and_dtypes(self):
        self.assertEqual((cx.e, cx.pi, cx.inf, cx.newaxis), (math.e, math.pi, math.inf, None))
        self.assertTrue(math.isnan(cx.nan))
        self.assertEqual(cx.__array_api_version__, "2024.12")
        for name in DTYPES.split():
            self.assertEqual(getattr(cx, name).name, name)

    def test_promotion(self):
        """The standard's lattice, within a kind and from real to complex."""
        whole = {"i": [cx.int8, cx.int16, cx.int32, cx.int64], "u": [cx.uint8, cx.uint16, cx.uint32, cx.uint64]}
        for i, a in enumerate(whole["i"]):
            for j, b in enumerate(whole["i"]):
                self.assertIs(cx.result_type(a, b), whole["i"][max(i, j)])
                self.assertIs(cx.result_type(whole["u"][i], whole["u"][j]), whole["u"][max(i, j)])
                if j < 3:
                    self.assertIs(cx.result_type(a, whole["u"][j]), whole["i"][max(i, j + 1)])
        self.assertIs(cx.result_type(cx.float32, cx.float64), cx.float64)
        self.assertIs(cx.result_type(cx.float32, cx.complex64), cx.complex64)
        self.assertIs(cx.result_type(cx.float64, cx.complex64), cx.complex128)
        self.assertIs(cx.result_type(cx.float32, 1, True, 2.5), cx.float32)

    def test_kinds(self):
        table = {
            "bool": "bool",
            "signed integer": "int8 int16 int32 int64",
            "unsigned integer": "uint8 uint16 uint32 uint64",
            "integral": "int8 int16 int32 int64 uint8 uint16 uint32 uint64",
            "real floating": "float32 float64",
            "complex floating": "complex64 complex128",
            "numeric": DTYPES.removeprefix("bool "),
        }
        for kind, names in table.items():
            self.assertEqual([n for n in DTYPES.split() if cx.isdtype(getattr(cx, n), kind)], names.split(), kind)
        self.assertTrue(cx.isdtype(cx.int8, ("bool", cx.int8)) and not cx.isdtype(cx.int8, cx.int16))
        self.assertTrue(cx.can_cast(cx.int8, cx.int16) and not cx.can_cast(cx.int16, cx.int8))


if __name__ == "__main__":
    tap.main()
