"""Ctrl-C in long calls: KeyboardInterrupt soon, and all is well afterwards.  Prints TAP."""

from __future__ import annotations

import os
import signal
import threading
import time
import unittest

import calibrax_c as cx
import tap
from calibrax_c import array as xp


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
        big = xp.random.normal(1, (2000, 2000))
        many = xp.random.uniform(1, (1 << 22,))

        def products():
            y = big
            for _ in range(100):
                y = y @ big

        for name, call in (("products", products), ("matmul", lambda: [xp.matmul(big, big) for _ in range(100)]), ("sort", lambda: [xp.sort(many) for _ in range(100)]),
                           ("method", lambda: [many.argsort() for _ in range(100)]), ("svd", lambda: [xp.linalg.svd(big[:400, :400]) for _ in range(100)])):
            with self.subTest(name):
                self.assertLess(interrupted(call), 0.5)
        self.assertEqual(float(xp.sum(xp.sort(xp.arange(1 << 20)))), (1 << 19) * ((1 << 20) - 1))

    def test_statistics(self):
        x = [float(i % 17) for i in range(500)]
        for statistic in ("median", lambda values: sum(values) / len(values)):
            self.assertLess(interrupted(lambda: cx.statistics.bootstrap(x, None, statistic, resamples=300000)), 0.5)
        self.assertGreater(cx.statistics.bootstrap(x, resamples=500).upper, 7.0)

    def test_processes(self):
        for call in (lambda: cx.launch_benchmarks(command=["sleep", "20"], launches=3), lambda: cx.profiling.command(["sleep", "20"], runs=3)):
            self.assertLess(interrupted(call, 0.3), 3.0)

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
