"""The Python package as a user meets it: making arrays, operators, indices, the choice of a device, random numbers.  Prints TAP."""

from __future__ import annotations

import copy
import math
import operator
import os
import pickle
import struct
import subprocess
import sys
import unittest

import tap

from calibrax_c import array as cx

WHOLE = [cx.int8, cx.int16, cx.int32, cx.int64, cx.uint8, cx.uint16, cx.uint32, cx.uint64]


class Making(unittest.TestCase):
    def test_numbers_find_their_dtype(self):
        for value, dtype in ((True, cx.bool), (3, cx.int64), (2**63, cx.uint64), (1.5, cx.float64), (2j, cx.complex128)):
            x = cx.asarray(value)
            self.assertEqual((x.shape, x.ndim, x.size), ((), 0, 1))
            self.assertIs(x.dtype, dtype)
            self.assertEqual(x.tolist(), value)

    def test_nested_sequences(self):
        x = cx.asarray([[1, 2, 3], (4, 5, 6)])
        self.assertEqual((x.shape, x.tolist()), ((2, 3), [[1, 2, 3], [4, 5, 6]]))
        self.assertIs(cx.asarray([1, 2.5]).dtype, cx.float64)
        self.assertIs(cx.asarray([True, 2]).dtype, cx.int64)
        self.assertIs(cx.asarray([x[0], x[1]], dtype=cx.float32).dtype, cx.float32)
        self.assertEqual(cx.asarray([x[0, 0], 7, x[1]][:2]).tolist(), [1, 7])
        self.assertEqual(cx.asarray([]).shape, (0,))
        self.assertEqual(cx.asarray([[], []]).shape, (2, 0))
        self.assertEqual(cx.asarray(range(4)).tolist(), [0, 1, 2, 3])
        self.assertEqual(cx.asarray([1.9, -1.9], dtype=cx.int8).tolist(), [1, -1])

    def test_diagonals_however_far(self):
        for k in (2**70, -(2**70)):
            self.assertFalse(cx.any(cx.eye(3, k=k) != 0))
            x = cx.ones((3, 3))
            self.assertEqual(cx.sum(cx.tril(x, k=k)), 9 if k > 0 else 0)
            self.assertEqual(cx.sum(cx.triu(x, k=k)), 0 if k > 0 else 9)
            self.assertEqual(cx.linalg.diagonal(x, offset=k).shape, (0,))
            self.assertEqual(cx.linalg.trace(x, offset=k), 0)
        with self.assertRaises(TypeError):
            cx.eye(3, k=1.5)

    def test_what_is_refused(self):
        cases = (
            ([[1, 2], [3]], ValueError, "not of one length"),
            ([1, [2]], ValueError, "not of one length"),
            (["a"], TypeError, "is not a number"),
            ("abc", TypeError, "is not a number"),
            ([300], OverflowError, "300 is out of the range of int8"),
            ([2**70], OverflowError, "is out of the range of int8"),
        )
        for value, error, words in cases:
            with self.subTest(value=value), self.assertRaisesRegex(error, words):
                cx.asarray(value, dtype=cx.int8)
        nest = 1
        for _ in range(17):
            nest = [nest]
        with self.assertRaisesRegex(ValueError, "deeper than 16"):
            cx.asarray(nest)
        with self.assertRaisesRegex(TypeError, "cannot create"):
            cx.Array()

    def test_every_dtype_keeps_its_ends(self):
        for dtype in WHOLE:
            info = cx.iinfo(dtype)
            x = cx.asarray([info.min, info.max], dtype=dtype)
            self.assertEqual(x.tolist(), [info.min, info.max], dtype)
            for beyond in (info.min - 1, info.max + 1):
                with self.assertRaises(OverflowError, msg=dtype):
                    cx.asarray(beyond, dtype=dtype)
        for dtype in (cx.float32, cx.float64):
            info = cx.finfo(dtype)
            self.assertEqual(cx.asarray([info.max, info.smallest_normal], dtype=dtype).tolist(), [info.max, info.smallest_normal])
            one = cx.asarray(1.0, dtype=dtype)
            self.assertTrue(bool(one + info.eps > one) and not bool(one + info.eps / 4 > one))

    def test_dtype_objects(self):
        self.assertEqual((str(cx.float32), repr(cx.float32), cx.float32.itemsize), ("float32", "calibrax_c.array.float32", 4))
        self.assertIs(pickle.loads(pickle.dumps(cx.int8)), cx.int8)
        self.assertIs(copy.deepcopy(cx.int8), cx.int8)
        self.assertIs(cx.zeros(2, dtype="int16").dtype, cx.int16)
        self.assertIs(cx.zeros(2, dtype=float).dtype, cx.float64)
        with self.assertRaisesRegex(TypeError, "is not a dtype"):
            cx.zeros(2, dtype=3)

    def test_copy_words(self):
        x = cx.arange(3)
        self.assertIs(cx.asarray(x), x)
        self.assertIsNot(cx.asarray(x, copy=True), x)
        self.assertIs(cx.asarray(x, copy=False), x)
        with self.assertRaisesRegex(ValueError, "needs a copy"):
            cx.asarray(x, dtype=cx.float32, copy=False)
        with self.assertRaisesRegex(ValueError, "no buffer to share"):
            cx.asarray([1, 2], copy=False)


class Operators(unittest.TestCase):
    def test_arithmetic_with_arrays_and_numbers(self):
        x, y = cx.asarray([7, -8, 9]), cx.asarray([2, 3, -4])
        for op in ("+", "-", "*", "//", "%", "&", "|", "^", "<", "<=", "==", "!=", ">", ">="):
            got = eval(f"x {op} y").tolist()
            want = [eval(f"a {op} b") for a, b in zip(x.tolist(), y.tolist())]
            self.assertEqual(got, want, op)
            self.assertEqual(eval(f"x {op} 3").tolist(), [eval(f"a {op} 3") for a in x.tolist()], op)
            self.assertEqual(eval(f"3 {op} y").tolist(), [eval(f"3 {op} b") for b in y.tolist()], f"reflected {op}")
        self.assertEqual((x / y).tolist(), [3.5, -8 / 3, -2.25])
        self.assertEqual((1 / y).tolist(), [0.5, 1 / 3, -0.25])
        self.assertEqual((x**2).tolist(), [49, 64, 81])
        self.assertEqual((2 ** cx.asarray([1, 5])).tolist(), [2, 32])
        for values in ([0.1, -3.3, 0.7], [2, 3], [0.1 + 0.3j]):  # the number 2 multiplies
            z = cx.asarray(values)
            self.assertEqual([(z**2).tolist(), cx.pow(z, 2).tolist(), (z**2).dtype], [(z * z).tolist()] * 2 + [z.dtype])
        self.assertEqual([(x**2.0).dtype, (cx.asarray([True]) ** 2).dtype], [cx.float64, cx.int64])
        self.assertEqual([(y << 2).tolist(), (y >> 1).tolist(), (1 << cx.asarray([3])).tolist()], [[8, 12, -16], [1, 1, -2], [8]])
        self.assertEqual([(-x).tolist(), (+x).tolist(), abs(x).tolist(), (~x).tolist()], [[-7, 8, -9], [7, -8, 9], [7, 8, 9], [-8, 7, -10]])

    def test_matrix_product(self):
        a = cx.reshape(cx.arange(6), (2, 3))
        self.assertEqual((a @ a.mT).tolist(), [[5, 14], [14, 50]])
        self.assertEqual((a @ cx.asarray([1, 1, 1])).tolist(), [3, 12])
        with self.assertRaises(TypeError):
            a @ 2
        with self.assertRaisesRegex(ValueError, r"2, 3\) with"):
            a @ a

    def test_in_place_forms_make_new_arrays(self):
        x = y = cx.asarray([1, 2])
        x += 1
        x *= cx.asarray([10, 20])
        x -= 1
        self.assertEqual((x.tolist(), y.tolist()), ([19, 59], [1, 2]))

    def test_numbers_are_weak(self):
        self.assertIs((cx.ones(2, dtype=cx.int8) + 1).dtype, cx.int8)
        self.assertIs((cx.ones(2, dtype=cx.float32) * 2.5).dtype, cx.float32)
        self.assertIs((cx.ones(2, dtype=cx.int8) + 1.0).dtype, cx.float64)
        self.assertIs((1j * cx.ones(2, dtype=cx.float32)).dtype, cx.complex64)
        for number in (128, -129, 2**64, 2**63):
            with self.assertRaisesRegex(OverflowError, f"{number} is out of the range of int8"):
                cx.ones(2, dtype=cx.int8) + number
        self.assertEqual((cx.zeros(1, dtype=cx.uint64) + 2**63).tolist(), [2**63])
        self.assertEqual((cx.zeros(1) + 2**70).tolist(), [2.0**70])

    def test_numbers_out_of_range_compare_and_divide(self):
        """As NumPy 2: comparisons with any integer are exact, quotients are float64 anyway."""
        for dtype in (cx.int8, cx.uint8, cx.int64, cx.uint64):
            low, high = cx.iinfo(dtype).min, cx.iinfo(dtype).max
            x = cx.asarray([low, high], dtype=dtype)
            for number in (low - 1, low, high, high + 1, -(2**80), 2**80):
                for name in ("lt", "le", "eq", "ne", "gt", "ge"):
                    compare = getattr(operator, name)
                    want = [compare(low, number), compare(high, number)]
                    self.assertEqual(compare(x, number).tolist(), want, (dtype, name, number))
                    self.assertEqual(compare(number, x).tolist(), [compare(number, low), compare(number, high)])
        x = cx.asarray([1, 100], dtype=cx.int8)
        self.assertEqual((x / 1000).tolist(), [0.001, 0.1])
        self.assertEqual((2**64 / x).tolist(), [2.0**64, 2.0**64 / 100])
        self.assertIs((x / 1000).dtype, cx.float64)
        self.assertIs((cx.ones(1, dtype=cx.float32) / 1000).dtype, cx.float32)
        self.assertEqual(cx.less(x, 300).tolist(), [True, True])

    def test_foreign_operands(self):
        x = cx.ones(2)
        self.assertIs(x.__add__("a"), NotImplemented)
        for operand in ("a", None, [1, 2], object()):
            with self.assertRaises(TypeError):
                x + operand
        self.assertFalse(x == "a")
        with self.assertRaises(TypeError):
            {x: 1}

    def test_every_second_element(self):
        """Loops over x[::2] are loops of their own: they compute what those over a copy do, bit for bit."""
        one = (cx.abs, cx.negative, cx.sqrt, cx.exp, cx.square, cx.sign, cx.isnan, cx.signbit, cx.logical_not, cx.bitwise_invert, lambda x: cx.clip(x, -1, 2),
               lambda x: x + 2, lambda x: cx.astype(x, cx.int64), lambda x: cx.astype(x, cx.float64), lambda x: cx.astype(x, cx.float32), lambda x: cx.asarray(x, copy=True),
               cx.sum, cx.prod, cx.max, cx.min, cx.mean, cx.std, cx.nanmax, cx.any, cx.argmin, cx.cumulative_sum)
        two = (cx.add, cx.multiply, cx.maximum, cx.atan2, cx.pow, cx.less, cx.logical_xor, cx.bitwise_and, cx.floor_divide, lambda x, y: cx.where(x > y, x, y))
        by_columns = (cx.sum, cx.mean, cx.std, cx.max, cx.min, cx.prod, cx.argmax, cx.nanmin)
        for dtype in (cx.float64, cx.float32, cx.int64, cx.int8, cx.uint16, cx.complex64):
            for n in (1, 31, 1600):
                full = cx.astype(cx.random.normal(n, (2, 2 * n), dtype=cx.float32) * 40, dtype if dtype != cx.uint16 else cx.int16)
                x, y = (cx.astype(part, dtype)[::2] for part in full)
                calls = [(f, (x,)) for f in one] + [(f, (x, y)) for f in two]
                if n == 1600:
                    calls += [(lambda v, f=f: f(v, axis=0), (cx.reshape(x, (400, 4)),)) for f in by_columns]
                for f, strided in calls:
                    try:
                        wanted = f(*(cx.asarray(v, copy=True) for v in strided))
                    except (TypeError, ValueError):
                        continue  # not of this dtype
                    self.assertEqual(memoryview(f(*strided)).tobytes(), memoryview(wanted).tobytes(), f"{getattr(f, '__name__', f)} of {n} {dtype}")

    def test_conversions(self):
        self.assertEqual([int(cx.asarray(3)), float(cx.asarray(2)), complex(cx.asarray(1.5)), complex(cx.asarray(2j))], [3, 2.0, 1.5, 2j])
        self.assertEqual([bool(cx.asarray(v)) for v in (0, 2, 0.0, math.nan, False)], [False, True, False, True, False])
        self.assertEqual("abc"[cx.asarray(1)], "b")
        for f in (int, float, complex, bool):
            with self.assertRaisesRegex(TypeError, "rank 0"):
                f(cx.ones(1))
        with self.assertRaises(OverflowError):
            int(cx.asarray(math.inf))
        with self.assertRaises(TypeError):
            float(cx.asarray(1j))
        with self.assertRaisesRegex(TypeError, "must be an integer"):
            [1][cx.asarray(0.0)]

    def test_attributes(self):
        x = cx.zeros((2, 3, 4), dtype=cx.float32)
        self.assertEqual((x.shape, x.ndim, x.size, x.nbytes, x.device, len(x)), ((2, 3, 4), 3, 24, 96, "cpu", 2))
        self.assertEqual((x.mT.shape, x[0].T.shape), ((2, 4, 3), (4, 3)))
        with self.assertRaisesRegex(ValueError, "mT"):
            x.T
        self.assertIs(x.__array_namespace__(), cx)
        self.assertIs(x.__array_namespace__(api_version="2024.12"), cx)
        with self.assertRaisesRegex(ValueError, "2024.12"):
            x.__array_namespace__(api_version="1999.1")
        self.assertIs(x.to_device("cpu"), x)
        with self.assertRaisesRegex(ValueError, "'device' must be one of those"):
            x.to_device("moon")
        self.assertEqual([v.shape for v in x], [(3, 4), (3, 4)])
        with self.assertRaises(TypeError):
            len(cx.asarray(1))

    def test_text(self):
        cases = (
            (cx.asarray(1.5), "1.5", "Array(1.5, dtype=float64)"),
            (cx.asarray([0.1], dtype=cx.float32), "[0.1]", "Array([0.1], dtype=float32)"),
            (cx.asarray([[1, 2], [3, 4]]), "[[1, 2],\n [3, 4]]", "Array([[1, 2],\n       [3, 4]], dtype=int64)"),
            (cx.zeros((2, 0)), "[[],\n []]", "Array([[],\n       []], shape=(2, 0), dtype=float64)"),
        )
        for x, text, representation in cases:
            self.assertEqual((str(x), repr(x)), (text, representation))
        self.assertIn("...", str(cx.arange(2000)))
        self.assertLess(len(str(cx.zeros((100, 100)))), 500)
        for value in (0.1, 1 / 3, 1e-38, 16777216.0, 3.4e38, math.inf):
            single = cx.asarray(value, dtype=cx.float32)
            self.assertEqual(struct.pack("f", float(str(single))), struct.pack("f", float(single)), value)


class Indexing(unittest.TestCase):
    def setUp(self):
        self.x = cx.reshape(cx.arange(24), (2, 3, 4))

    def test_whole_numbers_and_slices(self):
        x, v = self.x, self.x.tolist()
        self.assertEqual(x[1].tolist(), v[1])
        self.assertEqual(x[-1, 0].tolist(), v[-1][0])
        self.assertEqual(int(x[1, 2, 3]), v[1][2][3])
        self.assertEqual(x[:, 1].tolist(), [m[1] for m in v])
        self.assertEqual(x[0, ::-1, ::2].tolist(), [row[::2] for row in v[0][::-1]])
        self.assertEqual(x[..., 0].tolist(), [[row[0] for row in m] for m in v])
        self.assertEqual(x[0, 5:, :].shape, (0, 4))
        self.assertEqual(x[0, 2**80 :, -(2**80) :].shape, (0, 4))
        self.assertEqual(x[None, 0, ..., None].shape, (1, 3, 4, 1))
        self.assertEqual((x[()].shape, x[...].shape), ((2, 3, 4), (2, 3, 4)))
        self.assertEqual(x[cx.asarray(1)].tolist(), v[1])

    def test_index_arrays(self):
        x, v = self.x, self.x.tolist()
        i, j = cx.asarray([1, 0, -1]), cx.asarray([2, 0, 1])
        self.assertEqual(x[i].tolist(), [v[k] for k in (1, 0, -1)])
        self.assertEqual(x[:, i].tolist(), [[m[k] for k in (1, 0, -1)] for m in v])
        self.assertEqual(x[0, i, j].tolist(), [v[0][a][b] for a, b in ((1, 2), (0, 0), (-1, 1))])
        self.assertEqual(x[:, i, j].shape, (2, 3))
        self.assertEqual(x[0, :, j].shape, (3, 3))
        self.assertEqual(x[0, :, j].tolist(), [[v[0][k][b] for k in range(3)] for b in (2, 0, 1)])
        self.assertEqual(x[1, cx.asarray([[0], [2]]), j].tolist(), [[v[1][a][b] for b in (2, 0, 1)] for a in (0, 2)])
        self.assertEqual(x[[1, 0]].tolist(), [v[1], v[0]])

    def test_masks_without_elements_fit_every_axis(self):
        x = cx.reshape(cx.arange(6), (2, 3))
        for shape, left in (((0,), (0, 3)), ((2, 0), (0,)), ((0, 0), (0,))):
            none = cx.zeros(shape, dtype=cx.bool)
            self.assertEqual((x[none].shape, x[none].dtype), (left, cx.int64))
            x[none] = 7
        self.assertEqual(x.tolist(), [[0, 1, 2], [3, 4, 5]])
        with self.assertRaisesRegex(IndexError, "does not fit"):
            x[cx.zeros((0, 2), dtype=cx.bool)]

    def test_lists_are_index_arrays(self):
        x = self.x
        self.assertEqual(x[[]].shape, (0, 3, 4))
        self.assertEqual(x[0, []].shape, (0, 4))
        self.assertEqual(x[[1, 0]].tolist(), x[cx.asarray([1, 0])].tolist())

    def test_masks(self):
        odd = cx.asarray(memoryview(bytes([0, 2, 1, 255])).cast("?"))  # bool of another producer: not 0 is true
        for dtype in ("bool", "int8", "uint16", "float32", "float64", "complex128"):
            x = cx.astype(cx.arange(4), dtype)
            self.assertEqual(x[odd].tolist(), [x[i].item() for i in (1, 2, 3)])
            self.assertEqual(x[cx.flip(odd)].tolist(), [x[i].item() for i in (0, 1, 2)])
        self.assertEqual((int(cx.sum(odd)), int(cx.count_nonzero(odd)), memoryview(odd).tobytes()), (3, 3, bytes([0, 1, 1, 1])))
        self.assertEqual(cx.asarray(memoryview(bytes([2, 0, 0, 1, 1])).cast("?")[::2]).tolist(), [True, False, True])
        with self.assertRaisesRegex(ValueError, "bool elements other than 0 and 1"):
            cx.asarray(memoryview(bytes([2])).cast("?"), copy=False)
        self.assertEqual(cx.reshape(cx.arange(6), (2, 3))[cx.asarray([[True, False, True], [False, False, True]])].tolist(), [0, 2, 5])
        x = self.x
        self.assertEqual(x[x % 5 == 0].tolist(), [0, 5, 10, 15, 20])
        self.assertEqual(x[cx.asarray([False, True])].shape, (1, 3, 4))
        self.assertEqual(x[..., cx.asarray([True, False, True, False])].shape, (2, 3, 2))
        self.assertEqual(x[0, cx.asarray([True, False, True]), 1].tolist(), [1, 9])
        self.assertEqual((x[True].shape, x[False].shape), ((1, 2, 3, 4), (0, 2, 3, 4)))
        self.assertEqual(cx.asarray(5)[cx.asarray(True)].tolist(), [5])

    def test_what_is_refused(self):
        x = self.x
        cases = (
            (2, "outside of axis 0"),
            ((0, 0, -5), "outside of axis 2"),
            ((0, 0, 0, 0), "too many"),
            ((..., ...), "one ellipsis"),
            ("a", "an index must be"),
            (1.5, "an index must be"),
            (((0, 1), 0), "an index must be .*, got <class 'tuple'> .asarray makes an Array"),
            (cx.asarray([0.5]), "integers or bool"),
            (cx.asarray([7]), "7"),
            ((cx.asarray([0]), cx.asarray([3])), ""),
            (cx.asarray([True]), "does not fit"),
            ((0, cx.asarray([True] * 5)), "does not fit"),
        )
        for key, words in cases:
            with self.subTest(key=key), self.assertRaisesRegex(IndexError, words):
                x[key]
        with self.assertRaisesRegex(ValueError, "step"):
            x[::0]
        with self.assertRaisesRegex(ValueError, "broadcast"):
            x[cx.asarray([0, 1]), cx.asarray([0, 1, 2])]

    def test_assignment(self):
        x = cx.reshape(cx.arange(6), (2, 3))
        for key, value, want in (
            ((0, 1), 9, [[0, 9, 2], [3, 4, 5]]),
            ((slice(None), 2), cx.asarray([7, 8]), [[0, 9, 7], [3, 4, 8]]),
            (x > 100, 1, [[0, 9, 7], [3, 4, 8]]),
            ((..., slice(None, None, -2)), 5, [[5, 9, 5], [5, 4, 5]]),
            (cx.asarray([1]), 0, [[5, 9, 5], [0, 0, 0]]),
        ):
            x[key] = value
            self.assertEqual(x.tolist(), want, key)
        x[x > 4] = -1
        self.assertEqual(x.tolist(), [[-1, -1, -1], [0, 0, 0]])
        x[:] = [[1, 2, 3]]
        self.assertEqual(x.tolist(), [[1, 2, 3], [1, 2, 3]])
        scalar = cx.asarray(1.0)
        scalar[()] = 2
        self.assertEqual(float(scalar), 2.0)

    def test_assignment_in_place_and_to_a_copy_agree(self):
        for dtype in (cx.float64, cx.float32, cx.int64, cx.int8, cx.bool, cx.complex128):
            for key, values in (
                (cx.asarray([True, False, True, False, True]), (1,)),
                (cx.asarray([0, -1, 2, 0]), (1, cx.asarray([1, 0, 0, 1], dtype=cx.int8))),
                (cx.asarray([[3, -4], [1, 1]]), (0, cx.asarray([1, 0], dtype=cx.int8))),
            ):
                for value in values:
                    if dtype == cx.bool:
                        value = value == 1
                    alone, seen = cx.ones(5, dtype=dtype), cx.ones(5, dtype=dtype)
                    view = seen[:]
                    alone[key] = value
                    seen[key] = value
                    self.assertEqual(alone.tolist(), seen.tolist(), (dtype, key, value))
                    self.assertEqual(view.tolist(), cx.ones(5, dtype=dtype).tolist())

    def test_assignment_reaches_no_view(self):
        x = cx.arange(3)
        view, lent, other = x[:2], memoryview(x), cx.asarray(x)
        x[0] = 9
        self.assertEqual((x.tolist(), view.tolist(), lent.tolist(), other.tolist()), ([9, 1, 2], [0, 1], [0, 1, 2], [9, 1, 2]))

    def test_assignment_refused_changes_nothing(self):
        x = cx.arange(3)
        for key, value, error in (
            (3, 1, IndexError),
            (cx.asarray([4]), 1, IndexError),
            (cx.asarray([0, 3]), 1, IndexError),
            (cx.asarray([True, False, True]), 1.5, TypeError),
            (cx.asarray([True, False, True]), 2**80, OverflowError),
            (0, 1.5, TypeError),
            (0, 2**80, OverflowError),
            (slice(None), cx.asarray([1, 2]), ValueError),
            (0, "a", TypeError),
        ):
            with self.subTest(key=key, value=value), self.assertRaises(error):
                x[key] = value
        with self.assertRaises(TypeError):
            del x[0]
        self.assertEqual(x.tolist(), [0, 1, 2])


class Selection(unittest.TestCase):
    def test_backends(self):
        self.assertIn("reference", cx.backends())
        before = cx.backend()
        for name in cx.backends():
            cx.set_backend(name)
            self.assertEqual((cx.backend(), (cx.ones(2) + 1).tolist()), (name, [2, 2]))
        cx.set_backend("auto")
        self.assertEqual(cx.backend(), cx.backends()[0])
        cx.set_backend(before)
        with self.assertRaises(TypeError):
            cx.set_backend(3)

    def test_devices(self):
        self.assertEqual(cx.devices()[0], "cpu")
        self.assertEqual(cx.__array_namespace_info__().devices(), cx.devices())
        hardware = cx.hardware()
        self.assertEqual(hardware["devices"][0]["device"], "cpu")
        self.assertGreater(hardware["devices"][0]["memory_total_bytes"], 0)
        for gap in hardware["missing"]:
            self.assertTrue(gap["what"] and gap["text"])

    def test_a_bad_setting_is_reported(self):
        code = "from calibrax_c import array as cx; cx.ones(1)"
        for value, words in (("nonsense", "CALIBRAX_BACKEND"), ("jit", "jit")):
            env = dict(os.environ, CALIBRAX_BACKEND=value)
            done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
            if value in cx.backends():
                self.assertEqual(done.returncode, 0, done.stderr)
            else:
                self.assertIn(words, done.stderr)


class Random(unittest.TestCase):
    def test_equal_keys_give_equal_numbers(self):
        key = cx.random.key(7)
        self.assertEqual((key.shape, key.dtype.name), ((2,), "uint32"))
        draws = {
            "uniform": lambda k: cx.random.uniform(k, (2, 3)),
            "normal": lambda k: cx.random.normal(k, (5,), dtype=cx.float32),
            "bits": lambda k: cx.random.bits(k, (4,)),
            "randint": lambda k: cx.random.randint(k, (9,), -3, 4),
            "permutation": lambda k: cx.random.permutation(k, 6),
            "choice": lambda k: cx.random.choice(k, cx.arange(5), (3,), replace=False),
            "gamma": lambda k: cx.random.gamma(k, 2.0, (3,)),
            "bernoulli": lambda k: cx.random.bernoulli(k, 0.5, (64,)),
            "categorical": lambda k: cx.random.categorical(k, cx.zeros(9), (16,)),
            "exponential": lambda k: cx.random.exponential(k, (3,)),
            "gumbel": lambda k: cx.random.gumbel(k, (3,)),
        }
        for name, draw in draws.items():
            self.assertEqual(draw(key).tolist(), draw(key).tolist(), name)
            other = cx.random.fold_in(key, 1)
            self.assertNotEqual(draw(key).tolist(), draw(other).tolist(), name)
        self.assertEqual(sorted(draws["permutation"](key).tolist()), list(range(6)))
        self.assertTrue(all(-3 <= v < 4 for v in draws["randint"](key).tolist()))
        self.assertEqual(cx.random.split(key, 3).shape, (3, 2))
        self.assertEqual(cx.random.uniform(key).shape, ())

    def test_what_is_refused(self):
        key = cx.random.key(0)
        for call, error in (
            (lambda: cx.random.uniform(cx.zeros(2)), TypeError),
            (lambda: cx.random.uniform(key, dtype=cx.int8), TypeError),
            (lambda: cx.random.randint(key, (2,), 4, 4), ValueError),
            (lambda: cx.random.key("a"), TypeError),
            (lambda: cx.random.split(key, -1), ValueError),
        ):
            with self.assertRaises(error):
                call()


if __name__ == "__main__":
    tap.main()
