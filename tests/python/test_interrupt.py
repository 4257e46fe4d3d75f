"""Ctrl-C in long calls: KeyboardInterrupt soon, and all is well afterwards.  Prints TAP."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
import unittest
import unittest.mock

import calibrax_c as cx
import tap
from calibrax_c import array as xp

SOON = 3.0  # seconds, on a machine that others share; every call would take far longer

def interrupted(call, after: float = 0.1) -> float:
    """Seconds from SIGINT to KeyboardInterrupt; the call must take longer than that."""
    sent = []

    def send():
        time.sleep(after)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        call()
    except KeyboardInterrupt:
        return time.monotonic() - sent[0]
    finally:
        thread.join()
    raise AssertionError("not interrupted")


class Interrupts(unittest.TestCase):
    def setUp(self):
        self.handler = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, self.handler)

    def test_arrays(self):
        """The call goes on behind the scene and its result is dropped, so each is of a second or less."""
        big = xp.random.normal(1, (1200, 1200))
        many = xp.random.uniform(1, (1 << 21,))

        def products():
            y = big
            for _ in range(1000):
                y = y @ big

        for name, call in (("products", products), ("matmul", lambda: [xp.matmul(big, big) for _ in range(1000)]), ("sort", lambda: [xp.sort(many) for _ in range(1000)]),
                           ("method", lambda: [many.argsort() for _ in range(1000)]), ("svd", lambda: [xp.linalg.svd(big[:300, :300]) for _ in range(1000)])):
            with self.subTest(name):
                self.assertLess(interrupted(call), SOON)
        self.assertEqual(float(xp.sum(xp.sort(xp.arange(1 << 20)))), (1 << 19) * ((1 << 20) - 1))

    def test_statistics(self):
        x = [float(i % 17) for i in range(500)]
        for statistic in ("median", lambda values: sum(values) / len(values)):
            self.assertLess(interrupted(lambda: cx.statistics.bootstrap(x, None, statistic, resamples=10000000)), SOON)
        self.assertGreater(cx.statistics.bootstrap(x, resamples=500).upper, 7.0)

    def test_bootstrap_ends(self):
        """Neither the resamples nor the calls of a statistic go on after Ctrl-C."""
        x, calls = [float(i % 17) for i in range(500)], []

        def mean(values):
            calls.append(1)
            return sum(values) / len(values)

        for statistic in ("median", mean):
            self.assertLess(interrupted(lambda: cx.statistics.bootstrap(x, None, statistic, resamples=10000000)), SOON)
            for _ in range(40):
                before, used = len(calls), time.process_time()
                time.sleep(0.1)
                quiet = len(calls) == before and time.process_time() - used < 0.02
                if quiet:
                    break
            self.assertTrue(quiet)

    def test_profiles_end(self):
        """A callable is interrupted where it is; an interpreter of its own is terminated."""
        for call in (lambda: cx.profiling.time(lambda: sum(range(10000)), samples=100000, budget_s=20), lambda: cx.profiling.time(lambda: time.sleep(0.01), samples=10000, budget_s=20),
                     lambda: cx.profiling.complexity(lambda n: lambda: sum(range(n)), [10**6, 10**7, 10**8])):
            self.assertLess(interrupted(call), SOON)
        with tempfile.TemporaryDirectory() as folder:
            module, pid = os.path.join(folder, "slow.py"), os.path.join(folder, "pid")
            with open(module, "w", encoding="ascii") as f:
                f.write(f"import os, time\ndef work():\n    open({pid!r}, 'w').write(str(os.getpid()))\n    time.sleep(20)\n")
            self.assertLess(interrupted(lambda: cx.profiling.function(module, "work"), 1.0), 3.0)
            with open(pid, encoding="ascii") as f:
                child = int(f.read())
            for _ in range(100):
                if not os.path.exists(f"/proc/{child}"):
                    break
                time.sleep(0.05)
            self.assertFalse(os.path.exists(f"/proc/{child}"))
        self.assertGreater(cx.profiling.time(int, samples=3).steady.value, 0)

    def test_processes(self):
        for call in (lambda: cx.launch_benchmarks(command=["sleep", "20"], launches=3), lambda: cx.profiling.command(["sleep", "20"], runs=3)):
            self.assertLess(interrupted(call, 0.3), 3.0)

    def test_compilation(self):
        """A chain of 3,000 functions is compiled kernel by kernel; what was begun ends."""

        def chain(x):
            for i in range(3000):
                x = xp.sin(x + i)
            return x

        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict(os.environ, CALIBRAX_CACHE_DIR=folder):
            for call in (lambda: cx.jit(chain)(xp.ones(1000)), lambda: cx.cost_compile(chain, xp.ones(1000)), lambda: cx.dump(chain, xp.ones(1000), stage="assembly")):
                self.assertLess(interrupted(call, 0.5), 3.0)
            self.assertEqual(float(cx.jit(lambda x: xp.cos(x))(0.0)), 1.0)

    def test_a_handler_that_raises_nothing(self):
        seen = []
        signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(xp.sum(xp.sort(xp.arange(1 << 18)))))
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1)).start()
        x = xp.random.uniform(1, (1 << 21,))
        while not seen:
            y = xp.sort(x)
        self.assertEqual((y.shape, len(seen)), (x.shape, 1))

    def test_exceptions_come_through(self):
        with self.assertRaisesRegex(ValueError, "^'sort'|axis"):
            xp.sort(xp.zeros(1 << 20), axis=3)
        with self.assertRaisesRegex(TypeError, "unexpected keyword argument 'axes'"):
            xp.sort(xp.zeros(1 << 20), axes=0)

    def test_forked(self):
        xp.sort(xp.zeros(1 << 20))
        child = os.fork()
        if child == 0:
            os._exit(0 if xp.sort(xp.zeros(1 << 20)).size == 1 << 20 else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


if __name__ == "__main__":
    tap.main()
