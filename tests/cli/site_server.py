"""Stores of made runs, and calibrax serve on them, for tests that ask it."""
import http.client
import json
import os
import re
import signal
import socket
import subprocess

from harness import CALIBRAX, check

HOSTILE = "<script>alert(1)</script>\"'&é+%=/"


def run_file(number, name="matmul", value=1e-3):
    metrics = {"time": {"value": value, "lower": value * 0.99, "upper": value * 1.01, "samples": [value * (1 + k / 1000) for k in range(-4, 5)]}}
    points = [{"name": n, "scenario": "train", "tags": {"framework": f, "batch": "32"}, "metrics": metrics} for n in (name, "fft") for f in ("jax", HOSTILE)]
    return {"id": f"run{number:04d}", "timestamp": f"2026-01-{number % 28 + 1:02d}T{number // 28 % 24:02d}:00:00+00:00", "commit": f"{number:040x}",
            "branch": "main", "environment": {"machine": "m1", "hostname": "secret-host"}, "metadata": {"note": "/home/secret-user/x"},
            "metric_defs": {"time": {"name": "time", "unit": "s", "direction": "lower", "group": "", "priority": "primary", "description": ""}},
            "points": points}


def put_run(p, number, **more):
    os.makedirs(p.file("store/runs"), exist_ok=True)
    with open(p.file(f"store/runs/run{number:04d}.json"), "w", encoding="utf-8") as f:
        json.dump(run_file(number, **more), f)


def fill(p, n=12):
    for number in range(n):
        put_run(p, number, value=1e-3 * (1.2 if number > n // 2 else 1) * (1 + number % 3 / 1000))


class Server:
    """calibrax serve on a port that is free, until the block ends."""

    def __init__(self, p, *more):
        self.process = subprocess.Popen([CALIBRAX, "serve", "--data", "store", "--port", "0", *more], cwd=p.path, env=p.env, text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
        self.url = self.process.stdout.readline().strip()
        check(re.fullmatch(r"http://127\.0\.0\.1:\d+/", self.url), f"an address, got {self.url!r} {self.process.stderr.read() if not self.url else ''}")
        self.port = int(self.url.rstrip("/").rsplit(":", 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, *fault):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(20)
        finally:
            self.process.kill()
        self.errors = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()

    def ask(self, target, method="GET", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request(method, target, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, dict(answer.getheaders()), body.decode("utf-8")

    def raw(self, text, wait=5):
        """What comes for these bytes, to the end of the connection; "" where it is only closed."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait) as s:
            try:
                s.sendall(text if isinstance(text, bytes) else text.encode("latin-1"))
                s.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            found = b""
            while True:
                try:
                    part = s.recv(65536)
                except OSError:
                    break
                if not part:
                    break
                found += part
        return found.decode("latin-1")
