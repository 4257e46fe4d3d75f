"""Arrays on a GPU, from Python.  Prints TAP.

usage: test_array_device.py [real | record]

Without `real`, NVIDIA's driver is a library that plays it: memory that the host cannot read, and no kernels, so that every operation
goes by way of the CPU.  With it the machine's driver and GPU 0 are taken, and torch, JAX and CuPy exchange arrays where they are there.
`record` only makes the PTX of all operations, for a machine that has no LLVM (scripts/gpu_bundle.sh): nothing is compared.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
import tempfile
import types
import unittest

REAL, RECORD = sys.argv[1:] == ["real"], sys.argv[1:] == ["record"]
if not REAL and "CALIBRAX_TEST_PLAYED" not in os.environ:  # libraries are found by the folders that a process begins with
    root = os.environ.get("CALIBRAX_BUILD_ROOT", "build/release")
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.abspath(os.path.join(root, "tests/array/cuda/libshim_cuda.so")), os.path.join(folder, "libcuda.so.1"))
        path = os.pathsep.join([folder, os.environ["LD_LIBRARY_PATH"]] if os.environ.get("LD_LIBRARY_PATH") else [folder])
        env = dict(os.environ, LD_LIBRARY_PATH=path, CALIBRAX_TEST_PLAYED="1", **({"CBX_SHIM_TAKES_PTX": "1"} if RECORD else {}))
        sys.exit(os.spawnve(os.P_WAIT, sys.executable, [sys.executable, *sys.argv], env))

SHARE = 0.001 if REAL else 0.01
os.environ["CALIBRAX_GPU_MEMORY_FRACTION"] = str(SHARE)

import calibrax_c as cx  # noqa: E402
import tap  # noqa: E402
from calibrax_c import array as xp  # noqa: E402
from calibrax_c import metrics  # noqa: E402

CUDA = "cuda:0"
EVERY = [getattr(xp, name) for name in "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128".split()]


if RECORD:
    unittest.TestCase.assertEqual = unittest.TestCase.assertTrue = lambda *_: None


class Moving(unittest.TestCase):
    def test_there_and_back(self):
        self.assertIn(CUDA, xp.devices())
        for dtype in EVERY:
            x = xp.reshape(xp.arange(12), (3, 4)).astype(dtype)
            y = x.to_device(CUDA)
            self.assertEqual((x.device, y.device, y.__dlpack_device__()), ("cpu", CUDA, (2, 0)))
            self.assertIs(y.to_device(CUDA), y)
            self.assertEqual((y.to_device("cpu").device, y.to_device("cpu").tolist()), ("cpu", x.tolist()))
            self.assertEqual(y.mT[::-1, 1:].tolist(), x.mT[::-1, 1:].tolist())
            self.assertEqual((y.mT.device, xp.reshape(y.mT, (-1,)).tolist()), (CUDA, xp.reshape(x.mT, (-1,)).tolist()))

    def test_made_there(self):
        x = xp.ones(3, device=CUDA)
        self.assertEqual((x.device, x.tolist()), (CUDA, [1.0, 1.0, 1.0]))
        made = {
            "zeros": xp.zeros((2, 3), device=CUDA), "arange": xp.arange(4, device=CUDA), "asarray": xp.asarray([1, 2], device=CUDA),
            "eye": xp.eye(2, device="cuda"), "full": xp.full(2, 7, device=CUDA), "linspace": xp.linspace(0, 1, 3, device=CUDA),
            "empty": xp.empty(0, device=CUDA), "like": xp.zeros_like(x), "full_like": xp.full_like(x, 2), "astype": xp.astype(x, xp.int8),
            "asarray of one": xp.asarray(x), "asarray converted": xp.asarray(x, dtype=xp.float32), "from_dlpack": xp.from_dlpack(x),
        }
        for name, y in made.items():
            with self.subTest(name=name):
                self.assertEqual(y.device, CUDA)
        self.assertEqual((xp.zeros_like(x, device="cpu").device, xp.astype(x, xp.int8, device="cpu").device), ("cpu", "cpu"))

    def test_numbers_and_text(self):
        x = xp.asarray([1.5, 2.5], device=CUDA)
        self.assertEqual(repr(x), "Array([1.5, 2.5], dtype=float64, device='cuda:0')")
        self.assertEqual((str(x), f"{x:.2f}"), ("[1.5, 2.5]", "[1.50, 2.50]"))
        self.assertEqual((float(x[0]), int(x[1]), bool(x[0] > 1), x[0].item(), x.tolist()), (1.5, 2, True, 1.5, [1.5, 2.5]))
        self.assertEqual([7, 8, 9][xp.asarray(1, device=CUDA)], 8)
        self.assertEqual(repr(xp.zeros((0, 2), device=CUDA)), "Array([], shape=(0, 2), dtype=float64, device='cuda:0')")
        self.assertEqual((pickle.loads(pickle.dumps(x)).device, pickle.loads(pickle.dumps(x)).tolist()), ("cpu", [1.5, 2.5]))
        self.assertEqual(xp.asarray([x[0], 3.0]).tolist(), [1.5, 3.0])

    def test_what_is_refused(self):
        x = xp.arange(3, device=CUDA)
        with tempfile.TemporaryDirectory() as folder:
            cases = (
                (lambda: memoryview(x), BufferError, r"a buffer of an array on cuda:0: bring it to the CPU with to_device\('cpu'\)"),
                (lambda: x.__array__(), TypeError, "a NumPy array of an array on cuda:0"),
                (lambda: x.to_device("moon"), ValueError, "'device' must be one of those"),
                (lambda: x.to_device("cpu", stream=1), ValueError, "'stream' must be None"),
                (lambda: xp.zeros(2, device="cuda:1"), ValueError, "GPU 1 does not exist"),
                (lambda: x.__dlpack__(dl_device=(1, 0), copy=False), BufferError, r"is on device \(2, 0\), not \(1, 0\), which needs a copy"),
                (lambda: x.__dlpack__(dl_device=(2, 1)), BufferError, r"is on device \(2, 0\), not \(2, 1\)"),
                (lambda: xp.save(os.path.join(folder, "x.npy"), x), Exception, "on cuda:0: bring it to the CPU"),
                (lambda: xp.memory(device="cuda:7"), ValueError, "memory: 'device' must be one of those"),
                (lambda: cx.jit(lambda v: v.to_device(CUDA) + 1)(xp.arange(3)), ValueError, "of a traced array"),
            )
            for call, error, words in cases:
                with self.subTest(words=words), self.assertRaisesRegex(error, words):
                    call()


class Computing(unittest.TestCase):
    def same(self, f, *arrays):
        if RECORD:  # elements are of no meaning: a function whose shapes depend on them may fail
            with contextlib.suppress(Exception):
                f(*(a.to_device(CUDA) for a in arrays))
            return
        want, have = f(*arrays), f(*(a.to_device(CUDA) for a in arrays))
        self.assertEqual((have.device, have.dtype, have.tolist()), (CUDA, want.dtype, want.tolist()))

    def test_operations(self):
        x, y = xp.reshape(xp.arange(12.0), (3, 4)) / 7, xp.reshape(xp.arange(12.0), (3, 4))[::-1, :] - 5
        for f in (
            lambda a, b: a + b, lambda a, b: 2 * a - 1, lambda a, b: xp.exp(-a * b), lambda a, b: xp.sum(a, axis=1), lambda a, b: a @ b.mT,
            lambda a, b: xp.sort(b, axis=0), lambda a, b: a[b > 0], lambda a, b: a[xp.asarray([2, 0])], lambda a, b: xp.where(a > b, a, b),
            lambda a, b: xp.linalg.svdvals(a), lambda a, b: xp.mean(a) + xp.std(b), lambda a, b: xp.concat([a, b]), lambda a, b: xp.median(a),
            lambda a, b: xp.fft.fft(a)[1, :].real if hasattr(a, "real") else xp.real(xp.fft.fft(a)), lambda a, b: xp.nonzero(b)[0],
            lambda a, b: a.sum() * b, lambda a, b: xp.stack([a, b]), lambda a, b: xp.erf(a), lambda a, b: xp.argmax(a, axis=1),
        ):
            self.same(f, x, y)

    def test_beside_the_cpu(self):
        x = xp.arange(4.0)
        for y in (x + x.to_device(CUDA), x.to_device(CUDA) * x, xp.where(x.to_device(CUDA) > 1, x, 0.0)):
            self.assertEqual(y.device, CUDA)
        self.assertEqual((x + x.to_device(CUDA)).tolist(), [0.0, 2.0, 4.0, 6.0])

    def test_assignment(self):
        x = xp.arange(5.0, device=CUDA)
        old = x + 0
        x[1] = 10
        x[3:] = xp.asarray([7.0, 8.0], device=CUDA)
        x[x > 9] = -1.0
        self.assertEqual((x.device, x.tolist(), old.tolist()), (CUDA, [0.0, -1.0, 2.0, 7.0, 8.0], [0.0, 1.0, 2.0, 3.0, 4.0]))
        y = xp.arange(3.0)
        y[xp.asarray([0, 2], device=CUDA)] = xp.asarray([5.0, 6.0], device=CUDA)
        self.assertEqual((y.device, y.tolist()), ("cpu", [5.0, 1.0, 6.0]))
        with self.assertRaises(IndexError):
            x[9] = 1
        self.assertEqual(x.tolist(), [0.0, -1.0, 2.0, 7.0, 8.0])

    def test_transforms(self):
        weights = xp.linspace(0.0, 1.0, 6)

        def loss(v):
            return xp.sum(xp.exp(-v * weights) * v)

        x = xp.arange(6.0) / 3
        there = x.to_device(CUDA)
        for f in (cx.jit(loss), cx.grad(loss), cx.jit(cx.grad(loss)), cx.vmap(lambda v: v * v + 1), cx.hessian(loss)):
            self.same(f, x)
        for _ in range(2):
            self.assertEqual(cx.jit(loss)(there).device, CUDA)
        total, steps = cx.scan(lambda carry, v: (carry + v, carry * v), xp.asarray(0.0, device=CUDA), there)
        want = cx.scan(lambda carry, v: (carry + v, carry * v), xp.asarray(0.0), x)
        self.assertEqual((total.device, total.tolist(), steps.tolist()), (CUDA, want[0].tolist(), want[1].tolist()))

    def test_memory(self):
        xp.trim()
        before = xp.memory(device=CUDA)
        x = xp.zeros(1000, device=CUDA)
        during = xp.memory(device=CUDA)
        self.assertGreaterEqual(during["in_use_bytes"] - before["in_use_bytes"], x.nbytes)
        del x
        after = xp.memory(device=CUDA)
        self.assertEqual(after["in_use_bytes"], before["in_use_bytes"])
        self.assertGreaterEqual(after["kept_bytes"], 8000)
        self.assertGreaterEqual(after["total_bytes"], after["available_bytes"] // 2)
        self.assertGreaterEqual(xp.trim(), after["kept_bytes"])
        self.assertEqual(xp.memory(device=CUDA)["kept_bytes"], 0)
        total = next(d["memory_total_bytes"] for d in xp.hardware()["devices"] if d["device"] == CUDA)
        bytes_ = int(SHARE * total) + 1
        with self.assertRaisesRegex(MemoryError, f"has no space for {bytes_} bytes: arrays of this process use"):
            xp.zeros(bytes_, dtype=xp.uint8, device=CUDA)


class Exchanging(unittest.TestCase):
    def test_with_itself(self):
        for dtype in EVERY:
            x = xp.reshape(xp.arange(6), (2, 3)).astype(dtype).to_device(CUDA)
            for copy in (None, True, False):
                y = xp.from_dlpack(x.mT, copy=copy)
                self.assertEqual((y.device, y.tolist()), (CUDA, x.mT.tolist()))
        here = x.__dlpack__(dl_device=(1, 0), max_version=(1, 0))

        class Capsule:
            def __dlpack_device__(self):
                return 1, 0

            def __dlpack__(self, **_):
                return here

        y = xp.from_dlpack(Capsule())
        self.assertEqual((y.device, y.tolist()), ("cpu", x.tolist()))
        self.assertEqual(xp.from_dlpack(x, device="cpu").device, "cpu")

    @unittest.skipUnless(REAL, "hardware: a GPU, for memory that libraries exchange")
    def test_with_torch(self):
        try:
            import torch
        except ImportError as e:
            self.skipTest(str(e))
        t = torch.arange(1 << 20, dtype=torch.float64, device="cuda").reshape(1024, 1024)
        x = xp.from_dlpack(t)
        self.assertEqual((x.device, x.shape, float(xp.sum(x))), (CUDA, (1024, 1024), float(t.sum())))
        y = xp.from_dlpack(t.T[1:, ::2]) * 2
        self.assertTrue(torch.equal(torch.from_dlpack(y), t.T[1:, ::2] * 2))
        back = torch.from_dlpack(x)
        self.assertEqual(back.data_ptr(), t.data_ptr())
        t[0, 0] = 17.0
        torch.cuda.synchronize()
        self.assertEqual(float(x[0, 0]), 17.0)
        b = xp.from_dlpack(t > 1e5)
        self.assertEqual((b.dtype, int(xp.sum(b))), (xp.bool, int((t > 1e5).sum())))
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(20):
                z = xp.from_dlpack(torch.full((1 << 20,), 3.0, device="cuda")) + 1
                self.assertEqual(float(torch.from_dlpack(z).sum()), 4.0 * (1 << 20))

    @unittest.skipUnless(REAL, "hardware: a GPU, for memory that libraries exchange")
    def test_with_jax(self):
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        try:
            import jax
            import jax.numpy as jnp
        except ImportError as e:
            self.skipTest(str(e))
        j = jnp.arange(1 << 16, dtype=jnp.float32).reshape(256, 256)
        x = xp.from_dlpack(j)
        self.assertEqual((x.device, xp.max(x).item()), (CUDA, 65535.0))
        back = jnp.from_dlpack(x * 2)
        self.assertTrue(bool((back == j * 2).all()))
        self.assertEqual(next(iter(back.devices())).platform, "gpu")
        del jax

    @unittest.skipUnless(REAL, "hardware: a GPU, for memory that libraries exchange")
    def test_with_cupy(self):
        try:
            import cupy
        except ImportError as e:
            self.skipTest(str(e))
        c = cupy.arange(1000, dtype=cupy.complex128)
        x = xp.from_dlpack(c)
        self.assertEqual((x.device, x.dtype, x.tolist()), (CUDA, xp.complex128, c.tolist()))
        self.assertTrue(bool((cupy.from_dlpack(xp.arange(10, device=CUDA)) == cupy.arange(10)).all()))


class Metrics(unittest.TestCase):
    def test_the_example_of_each(self):
        """What a metric is of arrays on the CPU, it is of the same arrays on a GPU."""
        compared = 0
        for name, row in metrics._rows.items():
            example = row.get("example")
            if not example or row["function"] or '"' in example:
                continue
            call = f"metrics.{name}({example})"
            moved = {"metrics": types.SimpleNamespace(**{name: lambda *x, f=getattr(metrics, name), **kw: f(*[xp.asarray(a, device=CUDA) for a in x], **kw)})}
            with self.subTest(name):
                xp.trim()
                try:
                    here, there = xp.asarray(eval(call)), xp.asarray(eval(call, moved))
                except MemoryError:  # the played GPU has few blocks
                    self.assertFalse(REAL)
                    continue
                self.assertEqual(here.dtype, there.dtype)
                for a, b in zip(xp.reshape(here, (-1,)).tolist(), xp.reshape(there, (-1,)).tolist(), strict=True):
                    self.assertTrue(a == b or (a != a and b != b) or abs(a - b) <= 1e-14 * abs(a), (a, b))
                compared += 1
        self.assertGreater(compared, 100)


if __name__ == "__main__":
    sys.argv[1:] = []
    tap.main()
