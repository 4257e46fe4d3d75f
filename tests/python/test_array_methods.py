"""Methods, text and files of Arrays, seeds and percentiles: what goes beyond the standard.  Prints TAP."""

from __future__ import annotations

import os
import tempfile
import unittest

import tap

from calibrax_c import array as cx


class Methods(unittest.TestCase):
    def test_as_functions(self) -> None:
        x = cx.reshape(cx.asarray([3.0, -1.5, 2.25, 0.0, 7.0, -1.5]), (2, 3))
        for name in ("all", "any", "max", "mean", "min", "prod", "std", "sum", "var", "argmax", "argmin"):
            for words in ({}, {"axis": 0}, {"axis": 1, "keepdims": True}):
                with self.subTest(name, **words):
                    self.assertEqual(getattr(x, name)(**words).tolist(), getattr(cx, name)(x, **words).tolist())
            self.assertEqual(getattr(x, name)(1).tolist(), getattr(cx, name)(x, axis=1).tolist())
        for name in ("argsort", "conj", "copy", "nonzero", "round"):
            f = getattr(cx, name, lambda v: v)
            self.assertEqual([v.tolist() for v in cx.stack([*getattr(x, name)()])], [v.tolist() for v in cx.stack([*f(x)])], name)
        self.assertEqual(x.sum(dtype="float32").dtype, cx.float32)
        self.assertEqual(x.clip(0, 3).tolist(), [[3.0, 0.0, 2.25], [0.0, 3.0, 0.0]])
        self.assertEqual(x.take(cx.asarray([2, 0]), axis=1).tolist(), [[2.25, 3.0], [-1.5, 0.0]])
        self.assertEqual((x.astype("int8").dtype, x.astype(x.dtype, copy=False) is x), (cx.int8, True))

    def test_shapes(self) -> None:
        x = cx.reshape(cx.arange(6), (1, 2, 3))
        self.assertEqual([v.shape for v in (x.reshape(3, 2), x.reshape((2, -1)), x.reshape(6), x.flatten(), x.squeeze(), x.squeeze(0), x.transpose(),
                                            x.transpose(2, 0, 1), x.transpose((0, 2, 1)))],
                         [(3, 2), (2, 3), (6,), (6,), (2, 3), (2, 3), (3, 2, 1), (3, 1, 2), (1, 3, 2)])
        self.assertEqual(x.transpose(2, 1, 0).tolist(), cx.permute_dims(x, (2, 1, 0)).tolist())
        self.assertEqual(cx.concat([x, cx.ones((2, 1), dtype="int64")], axis=None).tolist(), [0, 1, 2, 3, 4, 5, 1, 1])
        for call, words in ((lambda: x.transpose(0), "'axes' must be 3 axes, got 1"), (lambda: x.reshape(4), "number of elements"), (lambda: x.squeeze(2), "squeeze|axis")):
            with self.assertRaisesRegex(ValueError, words):
                call()

    def test_item(self) -> None:
        x = cx.reshape(cx.arange(6), (2, 3))
        self.assertEqual([x.item(4), x.item(-1), x.item(1, 0), x.item((0, 2)), x[1, 1].item(), cx.asarray([[7.5]]).item()], [4, 5, 3, 2, 4, 7.5])
        for call, fault in ((lambda: x.item(), ValueError), (lambda: x.item(6), IndexError), (lambda: x.item(-7), IndexError), (lambda: x.item(2, 0), IndexError),
                            (lambda: x.item("a"), TypeError)):
            with self.assertRaises(fault):
                call()

    def test_text(self) -> None:
        x = cx.asarray([[1.0, 10.25], [-3.5, 2.0]])
        self.assertEqual((f"{x:.1f}", f"{x[0, 1]:8.3f}", f"{x}"), ("[[1.0, 10.2], [-3.5, 2.0]]", "  10.250", str(x)))
        self.assertEqual(repr(x), "Array([[  1.0, 10.25],\n       [ -3.5,   2.0]], dtype=float64)")
        self.assertEqual(str(cx.asarray([True, False])), "[ True, False]")
        with self.assertRaises(ValueError):
            f"{x:q}"


class Files(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def test_round_trips(self) -> None:
        x, y = cx.reshape(cx.arange(6.0), (2, 3)).mT, cx.asarray([1, 2, 3], dtype="int16")
        cx.save(self.path("a.npy"), x)
        self.assertEqual(cx.load(self.path("a.npy")).tolist(), x.tolist())
        for name in ("a.npz", "b.h5", "c.hdf5"):
            cx.save(self.path(name), {"x": x, "g/y": y})
            back = cx.load(self.path(name))
            self.assertEqual({k: (v.tolist(), v.dtype) for k, v in back.items()}, {"x": (x.tolist(), x.dtype), "g/y": (y.tolist(), y.dtype)})
            self.assertEqual(cx.load(self.path(name), "g/y").tolist(), [1, 2, 3])
        zeros = cx.zeros(10000)
        cx.save(self.path("plain.npz"), {"z": zeros})
        cx.save(self.path("packed.npz"), {"z": zeros}, compress=True)
        self.assertLess(os.path.getsize(self.path("packed.npz")), os.path.getsize(self.path("plain.npz")) / 50)

    def test_refused(self) -> None:
        x = cx.ones(2)
        cx.save(self.path("a.npy"), x)
        cx.save(self.path("a.npz"), {"x": x})
        with open(self.path("torn.npy"), "wb") as f, open(self.path("a.npy"), "rb") as whole:
            f.write(whole.read()[:-3])
        for call, fault, words in ((lambda: cx.save(self.path("a.txt"), x), ValueError, "must end in '.npy'"),
                                   (lambda: cx.load(self.path("none.npy")), FileNotFoundError, "none.npy"),
                                   (lambda: cx.load(self.path("torn.npy")), ValueError, "torn.npy|short|bytes"),
                                   (lambda: cx.load(self.path("a.npy"), "x"), ValueError, "'name' must be None for a '.npy' file"),
                                   (lambda: cx.load(self.path("a.npz"), "q"), FileNotFoundError, "'q'"),
                                   (lambda: cx.save(self.path("b.npz"), x), TypeError, "'arrays' must be a dict"),
                                   (lambda: cx.save(self.path("b.npz"), {1: x}), TypeError, "names as keys"),
                                   (lambda: cx.save(self.path("b.npz"), {"x": "text"}), TypeError, "arrays by name"),
                                   (lambda: cx.save(self.path("none/b.npz"), {"x": x}), FileNotFoundError, "none")):
            with self.subTest(words), self.assertRaisesRegex(fault, words):
                call()
        self.assertFalse(os.path.exists(self.path("b.npz")))

    def test_seeds_and_percentiles(self) -> None:
        random = cx.random
        self.assertEqual(random.normal(42, (3,)).tolist(), random.normal(random.key(42), (3,)).tolist())
        self.assertEqual(random.permutation(7, 5).tolist(), random.permutation(random.key(7), 5).tolist())
        for seed in (-1, 2**64):
            with self.assertRaisesRegex(ValueError, "a seed from 0 to"):
                random.uniform(seed)
        x = cx.reshape(cx.arange(10.0), (2, 5))
        self.assertEqual(cx.percentile(x, [0, 50, 100], axis=1).tolist(), [cx.percentile(x, q, axis=1).tolist() for q in (0, 50, 100)])
        for q in (cx.asarray([0.0, 50.0, 100.0]), memoryview(cx.asarray([0, 50, 100])), (0, cx.asarray(50), 100.0)):
            self.assertEqual(cx.percentile(x, q).tolist(), [0.0, 4.5, 9.0])
        self.assertEqual(cx.percentile(x, cx.asarray(50)).shape, ())
        self.assertEqual(random.choice(7, 5, (9,)).tolist(), random.choice(7, cx.arange(5), (9,)).tolist())
        self.assertEqual(sorted(random.choice(7, 5, (5,), replace=False).tolist()), [0, 1, 2, 3, 4])


if __name__ == "__main__":
    tap.main()
