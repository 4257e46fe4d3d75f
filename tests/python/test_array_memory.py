"""What arrays share with others: buffers, DLPack, threads, copies; sentences of errors, and memory that is given back.  Prints TAP."""

from __future__ import annotations

import array
import contextlib
import copy
import gc
import pickle
import struct
import sys
import threading
import unittest

import tap

from calibrax_c import array as cx

WHOLE = [cx.int8, cx.int16, cx.int32, cx.int64, cx.uint8, cx.uint16, cx.uint32, cx.uint64]
EVERY = [cx.bool, *WHOLE, cx.float32, cx.float64, cx.complex64, cx.complex128]


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
            (lambda: x.__dlpack__(dl_device=(2, 0)), BufferError, r"is on device \(1, 0\), not \(2, 0\)"),
            (lambda: x.__dlpack__(max_version=1), ValueError, "pair"),
            (lambda: cx.from_dlpack(Producer(x, device=(8, 0))), BufferError, r"\(8, 0\)"),
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
