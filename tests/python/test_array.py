"""The Python package as a user meets it: making arrays, operators, indices, buffers, errors, memory, threads.  Prints TAP."""

from __future__ import annotations

import array
import contextlib
import copy
import gc
import math
import operator
import os
import pickle
import struct
import subprocess
import sys
import threading
import unittest

import tap

from calibrax_c import array as cx

WHOLE = [cx.int8, cx.int16, cx.int32, cx.int64, cx.uint8, cx.uint16, cx.uint32, cx.uint64]
EVERY = [cx.bool, *WHOLE, cx.float32, cx.float64, cx.complex64, cx.complex128]


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


class Buffers(unittest.TestCase):
    def test_lending(self):
        for dtype in EVERY[:-2]:
            x = cx.asarray([[0, 1], [1, 0]], dtype=dtype)
            view = memoryview(x)
            self.assertTrue(view.readonly)
            self.assertEqual((view.shape, view.itemsize, view.tolist()), ((2, 2), dtype.itemsize, x.tolist()), dtype)
        column = memoryview(cx.reshape(cx.arange(6), (2, 3)).mT)
        self.assertEqual((column.strides, column.tolist()), ((8, 24), [[0, 3], [1, 4], [2, 5]]))
        self.assertEqual(memoryview(cx.asarray(4)).tolist(), 4)
        self.assertEqual(bytes(memoryview(cx.zeros((0, 3)))), b"")
        with self.assertRaisesRegex((TypeError, BufferError), "read"):
            struct.pack_into("d", cx.ones(1), 0, 2.0)

    def test_borrowing_shares(self):
        source = array.array("d", [1, 2, 3])
        shared, copied = cx.asarray(source), cx.asarray(source, copy=True)
        source[0] = 9
        self.assertEqual((shared.tolist(), copied.tolist()), ([9, 2, 3], [1, 2, 3]))
        with self.assertRaises(BufferError):
            source.append(4)  # lent out
        del shared
        gc.collect()
        source.append(4)
        self.assertIs(cx.asarray(source, dtype=cx.float32).dtype, cx.float32)

    def test_formats(self):
        for code in "bhilqBHILQfd":
            source = array.array(code, [1, 2])
            x = cx.asarray(source)
            self.assertEqual((x.tolist(), x.dtype.itemsize), ([1, 2], source.itemsize), code)
        self.assertEqual(cx.asarray(b"ab").tolist(), [97, 98])
        grid = memoryview(bytes(range(12))).cast("B", (3, 4))
        self.assertEqual(cx.asarray(grid).tolist(), grid.tolist())
        self.assertEqual(cx.asarray(memoryview(bytes(range(6)))[::-2]).tolist(), [5, 3, 1])
        with self.assertRaisesRegex(TypeError, "format 'c'"):
            cx.asarray(memoryview(b"ab").cast("c"))
        for source in (array.array("u", "ab"), memoryview(b"ab").cast("c")):
            with self.assertRaises(TypeError):
                cx.asarray(source)

    def test_odd_addresses(self):
        raw = bytearray(17)
        raw[1:] = struct.pack("dd", 1.5, 2.5)
        odd = memoryview(raw)[1:].cast("d")
        self.assertEqual(cx.asarray(odd).tolist(), [1.5, 2.5])
        with self.assertRaisesRegex(ValueError, "aligned"):
            cx.asarray(odd, copy=False)


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


class Producer:
    """An object that lends its capsule in the way asked for: with the newer arguments or without."""

    def __init__(self, x, newer=True, device=(1, 0), capsule=None):
        self.x, self.newer, self.device, self.capsule, self.asked = x, newer, device, capsule, []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **kw):
        self.asked.append(kw)
        if kw and not self.newer:
            raise TypeError("unexpected keyword")
        return self.capsule or self.x.__dlpack__(**kw)


class Dlpack(unittest.TestCase):
    def test_both_capsules(self):
        for dtype in EVERY:
            x = cx.asarray([[0, 1], [1, 0]], dtype=dtype)
            for newer in (True, False):
                y = cx.from_dlpack(Producer(x.mT, newer))
                self.assertEqual((y.dtype, y.tolist()), (x.dtype, x.mT.tolist()))
        self.assertIn('"dltensor"', repr(x.__dlpack__()))
        self.assertIn('"dltensor"', repr(x.__dlpack__(max_version=(0, 8))))
        self.assertIn('"dltensor_versioned"', repr(x.__dlpack__(max_version=(1, 0))))
        self.assertEqual(x.__dlpack_device__(), (1, 0))

    def test_a_capsule_is_taken_once(self):
        capsule = cx.arange(3).__dlpack__(max_version=(1, 0))
        self.assertEqual(cx.from_dlpack(Producer(None, capsule=capsule)).tolist(), [0, 1, 2])
        self.assertIn("used_dltensor_versioned", repr(capsule))
        with self.assertRaisesRegex(TypeError, "no capsule"):
            cx.from_dlpack(Producer(None, capsule=capsule))

    def test_copies(self):
        x = cx.arange(4)
        for copy in (None, True, False):
            producer = Producer(x)
            self.assertEqual(cx.from_dlpack(producer, copy=copy).tolist(), [0, 1, 2, 3])
            self.assertEqual(producer.asked, [{"max_version": (1, 1), "copy": copy}])
        self.assertIn('"dltensor"', repr(x.__dlpack__(copy=False)))  # asked for: the elements, which no one may write
        self.assertIn("dltensor", repr(x.__dlpack__(copy=True)))
        self.assertEqual(cx.asarray(Producer(x)).tolist(), [0, 1, 2, 3])

    def test_what_is_refused(self):
        x = cx.arange(3)
        cases = (
            (lambda: x.__dlpack__(stream=1), ValueError, "stream"),
            (lambda: x.__dlpack__(dl_device=(2, 0)), BufferError, "nowhere else"),
            (lambda: x.__dlpack__(max_version=1), ValueError, "pair"),
            (lambda: cx.from_dlpack(Producer(x, device=(2, 0))), BufferError, r"\(2, 0\)"),
            (lambda: cx.from_dlpack(Producer(x, capsule=3)), TypeError, "no capsule"),
            (lambda: cx.from_dlpack([1]), TypeError, "__dlpack__"),
            (lambda: cx.from_dlpack(x, device="moon"), ValueError, "'device' must be one of those"),
        )
        for call, error, words in cases:
            with self.subTest(words=words), self.assertRaisesRegex(error, words):
                call()

    def test_elements_live_as_long_as_their_borrower(self):
        x = cx.arange(1000)
        capsule = x.__dlpack__(max_version=(1, 0))
        x[0] = 5
        del x
        gc.collect()
        y = cx.from_dlpack(Producer(None, capsule=capsule))
        del capsule
        gc.collect()
        self.assertEqual((int(y[0]), int(y[999])), (0, 999))


class Errors(unittest.TestCase):
    def test_kind_and_sentence(self):
        x = cx.ones((2, 3))
        cases = (
            (lambda: x + cx.ones(4), ValueError, r"float64 \(2, 3\) with float64 \(4,\)"),
            (lambda: cx.bitwise_and(x, x), TypeError, "float64"),
            (lambda: cx.sum(x, axis=5), ValueError, "axis 5"),
            (lambda: cx.sum(x, axis=(0, 0)), ValueError, "axis"),
            (lambda: cx.max(cx.zeros(0)), ValueError, "an empty array"),
            (lambda: cx.reshape(x, (4, 4)), ValueError, r"\(2, 3\)"),
            (lambda: cx.zeros((2**40, 2**40)), OverflowError, ""),
            (lambda: cx.zeros((2**63,)), OverflowError, "zeros: 'shape' must be an integer of 64 bits, got 9223372036854775808"),
            (lambda: cx.zeros((-1,)), ValueError, r"zeros: 'shape' must be of lengths of at least 0, got \(-1,\)"),
            (lambda: cx.reshape(x, "a"), TypeError, "reshape: 'shape' must be an integer or a sequence of integers, got 'a'"),
            (lambda: cx.permute_dims(x, (0, "a")), TypeError, "permute_dims: 'axes' must be"),
            (lambda: cx.concat([x, "a"]), TypeError, "concat: 'arrays' must be a sequence of Arrays and numbers"),
            (lambda: cx.linspace("a", 1, num=3), TypeError, "linspace: 'start' must be a number, got 'a'"),
            (lambda: cx.arange(0, 1, "a"), TypeError, "arange: 'step' must be a number, got 'a'"),
            (lambda: cx.random.uniform(1, (2,), low=3, high=1), ValueError, "^'uniform' from 3 to 1"),
            (lambda: cx.random.bernoulli(1, 1.5), ValueError, "^'p' of 'bernoulli' must be at least 0 and at most 1"),
            (lambda: cx.random.categorical(1, cx.asarray([cx.nan])), ValueError, "^'logits' of 'categorical' must not be NaN"),
            (lambda: cx.searchsorted(cx.arange(3), 1, sorter=cx.asarray([0])), ValueError, "^'sorter' of 'searchsorted' has 1 places"),
            (lambda: cx.percentile(x, 101), ValueError, "^'percentile' of 101"),
            (lambda: x.reshape((2, 1.5)), TypeError, "reshape: 'shape' must be"),
            (lambda: cx.meshgrid(x, indexing="yx"), ValueError, "meshgrid: 'indexing' must be one of 'xy', 'ij', got 'yx'"),
            (lambda: cx.zeros((1,) * 17), ValueError, "zeros: 'shape' must be an integer or a sequence of integers, at most 16, got 17 of them"),
            (lambda: cx.take(x, cx.asarray([5]), axis=0), IndexError, "5"),
            (lambda: cx.pow(cx.asarray([2]), cx.asarray([-1])), ValueError, "negative"),
            (lambda: cx.sqrt([1.0]), TypeError, "sqrt: 'x' must be an Array"),
            (lambda: cx.sqrt(), TypeError, r"sqrt\(\) is missing the argument 'x'"),
            (lambda: cx.sqrt(x, x), TypeError, "takes at most 1 positional argument, got 2"),
            (lambda: cx.sqrt(x=x), TypeError, "missing the argument"),
            (lambda: cx.sum(x, axes=0), TypeError, "'axes'"),
            (lambda: cx.ones(2, device="gpu"), ValueError, "ones: 'device' must be one of those that devices\\(\\) lists, got 'gpu'"),
            (lambda: cx.set_backend("none"), ValueError, "none"),
            (lambda: cx.isdtype(cx.int8, "number"), ValueError, "unknown kind"),
            (lambda: cx.squeeze(x, 0), ValueError, "axis 0 has 2"),
            (lambda: cx.arange(1, 2, 0), ValueError, "must not be 0"),
        )
        for call, error, words in cases:
            with self.subTest(words=words), self.assertRaisesRegex(error, words):
                call()

    def test_after_an_error_all_is_well(self):
        with self.assertRaises(ValueError):
            cx.ones(2) + cx.ones(3)
        self.assertEqual((cx.ones(2) + 1).tolist(), [2, 2])


def churn() -> None:
    """Every kind of object and of failure once."""
    x = cx.reshape(cx.arange(60, dtype=cx.float64), (3, 4, 5))
    x[x > 5], x[0, ..., None], x[cx.asarray([0, 2]), 1], x.mT, x.tolist(), str(x), list(x), x @ x.mT
    float(x[2, 3, 4]), int(cx.asarray(123456)), complex(cx.asarray(2.5)), hash(cx.float64), cx.asarray(12345).tolist()
    y = cx.asarray(x, copy=True)
    y[1] = 2
    y[y < 4] = cx.asarray(1)
    cx.unique_all(x), cx.meshgrid(x[0, 0], x[0, 1]), cx.broadcast_arrays(x, y), cx.unstack(x), cx.nonzero(x)
    cx.asarray(memoryview(x)), cx.asarray([[1, 2], [3, 4]]), cx.concat([x, y]), cx.finfo(x), cx.result_type(x, 1.0)
    cx.from_dlpack(x), x.__dlpack__(), x.__dlpack__(max_version=(1, 0)), cx.asarray(Producer(x, newer=False))
    cx.repeat(x, cx.asarray([1, 2, 0]), axis=0), cx.__array_namespace_info__().dtypes(kind=("bool", "integral"))
    for bad in (lambda: x + cx.ones(7), lambda: x[9], lambda: cx.asarray([[1], 2]), lambda: cx.sum(x, axis=9), lambda: cx.concat([x, 1, "a"]),
                lambda: y.__setitem__(0, "a"), lambda: cx.full(3, 2**70), lambda: cx.asarray(b"a", dtype=cx.int8, copy=False)):
        try:
            bad()
        except (ValueError, TypeError, IndexError, OverflowError):
            pass


class Memory(unittest.TestCase):
    def test_nothing_is_left(self):
        """A leak grows by one at least in each of 200 calls; what the interpreter keeps for itself comes to rest."""
        growth = []
        churn()
        elements = cx.memory()["in_use_bytes"]
        for _ in range(6):
            gc.collect()
            blocks = sys.getallocatedblocks()
            for _ in range(200):
                churn()
            gc.collect()
            growth.append(sys.getallocatedblocks() - blocks)
        self.assertLess(min(growth), 150, f"Python objects are left: {growth}")
        self.assertEqual(cx.memory()["in_use_bytes"], elements, "elements are left")

    def test_the_interpreter_runs_out_of_memory(self):
        """Each allocation of the interpreter made to fail in turn: MemoryError, or what is reported anyway; nothing is left."""
        import _testcapi  # makes allocations fail
        x = cx.reshape(cx.arange(60, dtype=cx.float64), (3, 4, 5))
        mask, places, lent, nest = x > 5, cx.asarray([0, 2]), memoryview(x), [[1, 2], [3, 4.5]]
        calls = (
            lambda: x + 1.0, lambda: x[mask], lambda: x[places, 1], lambda: x[0, ..., None], lambda: cx.asarray(x, copy=True).__setitem__(mask, 3),
            lambda: cx.unique_all(places), lambda: cx.meshgrid(places, places), lambda: cx.asarray(lent), lambda: cx.asarray(nest),
            lambda: cx.concat([x, x]), lambda: cx.finfo(x), lambda: cx.from_dlpack(x), lambda: x.__dlpack__(), lambda: cx.repeat(x, places[:1], axis=0),
            lambda: repr(places), lambda: list(x), lambda: places.tolist(), lambda: cx.__array_namespace_info__().dtypes(), lambda: cx.hardware(),
            lambda: cx.sum(x, axis=(0, 1)), lambda: cx.fft.fft(x), lambda: memoryview(x), lambda: cx.where(mask, x, 1), lambda: x.shape,
            lambda: cx.unstack(x), lambda: cx.broadcast_arrays(x, x[0]), lambda: x + cx.ones(7), lambda: x[9], lambda: cx.sum(x, axis=9),
        )  # fmt: skip
        for call in calls:
            with contextlib.suppress(ValueError, IndexError):
                call()
        gc.collect()
        elements, refused = cx.memory()["in_use_bytes"], 0
        for call in calls:
            for n in range(40):
                _testcapi.set_nomemory(n, n + 1)
                try:
                    call()
                except BaseException as e:  # noqa: BLE001
                    _testcapi.remove_mem_hooks()
                    self.assertIsInstance(e, (MemoryError, ValueError, IndexError))
                    refused += isinstance(e, MemoryError)
                finally:
                    _testcapi.remove_mem_hooks()
        gc.collect()
        self.assertGreater(refused, 3 * len(calls))
        self.assertEqual(cx.memory()["in_use_bytes"], elements, "elements are left")

    def test_reference_counts(self):
        x = cx.ones(3)
        objects = (x, cx.float64, cx.Array, cx, None)
        before = [sys.getrefcount(t) for t in objects]
        for _ in range(1000):
            y = (x + x).dtype, x[0], cx.asarray(x), x.to_device("cpu"), x.__array_namespace__(), cx.astype(x, cx.float64, copy=False), memoryview(x)
        del y
        gc.collect()
        after = [sys.getrefcount(t) for t in objects]
        for b, a in zip(before, after):
            self.assertLess(abs(a - b), 50)

    def test_a_view_keeps_its_elements(self):
        x = cx.arange(100000)
        last, lent = x[-3:], memoryview(x)
        del x
        gc.collect()
        self.assertEqual((last.tolist(), lent[5]), ([99997, 99998, 99999], 5))


class Threads(unittest.TestCase):
    def test_side_by_side(self):
        faults: list[object] = []

        def work(seed: int) -> None:
            try:
                for i in range(30):
                    x = cx.arange(40000, dtype=cx.float64) + seed
                    got = float(cx.sum(x * 2.0 - x))
                    want = 40000 * seed + 39999 * 20000
                    if got != want:
                        faults.append((seed, i, got, want))
                    try:
                        cx.ones(seed + 2) + cx.ones(seed + 3)
                        faults.append("no error")
                    except ValueError as e:
                        if f"({seed + 2},)" not in str(e):
                            faults.append(str(e))
            except Exception as e:  # noqa: BLE001
                faults.append(e)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(faults, [])

    def test_assignment_under_readers(self):
        x, stop, faults = cx.zeros(50000), threading.Event(), []

        def read() -> None:
            while not stop.is_set():
                total = float(cx.sum(x))
                if total % 50000:
                    faults.append(total)

        readers = [threading.Thread(target=read) for _ in range(3)]
        for t in readers:
            t.start()
        for value in range(20):
            x[:] = float(value)
        stop.set()
        for t in readers:
            t.join()
        self.assertEqual(faults, [])


class Copies(unittest.TestCase):
    def test_pickles(self):
        for x in (cx.arange(6), cx.reshape(cx.arange(24.0), (2, 3, 4))[:, ::-1, 1:].mT, cx.asarray(2 + 1j), cx.zeros((0, 3), dtype="uint8"), cx.asarray([True, False]),
                  cx.asarray([cx.nan, -0.0, cx.inf], dtype=cx.float32)):
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
                with self.subTest(x=x, protocol=protocol):
                    y = pickle.loads(pickle.dumps(x, protocol))
                    self.assertEqual((y.dtype, y.shape, repr(y)), (x.dtype, x.shape, repr(x)))

    def test_copies_are_arrays_of_their_own(self):
        x = cx.arange(3)
        for y in (copy.copy(x), copy.deepcopy(x)):
            y[0] = 9
            self.assertEqual((x.tolist(), y.tolist()), ([0, 1, 2], [9, 1, 2]))
        lent = bytearray(b"ab")
        shared, own = copy.copy(cx.asarray(memoryview(lent))), copy.deepcopy(cx.asarray(memoryview(lent)))
        lent[0] = 0
        self.assertEqual((shared.tolist(), own.tolist()), ([0, 98], [97, 98]))

    def test_what_is_no_pickle_of_ours(self):
        for words, fault in ((("float64", (2,), b"123"), ValueError), (("float64", (2**62, 8), b""), (OverflowError, ValueError, MemoryError)), (("word", (1,), b"1"), (TypeError, ValueError)),
                             (("uint8", (-1,), b""), OverflowError), (("uint8", (1,) * 99, b"1"), ValueError), (("uint8", [1], b"1"), TypeError), ((), TypeError)):
            with self.subTest(words), self.assertRaises(fault):
                cx.Array._restore(*words)


if __name__ == "__main__":
    tap.main()
