#!/usr/bin/env python3
"""How long `calibrax serve` takes for each view of large stores, as a table: measure_views.py CALIBRAX [RUNS [LIMIT_MS]]

Stores: RUNS runs (default 10,000) with 100 points each, so 10^6 points; two runs of 10,000 points that differ in one tag; three runs of
100,000 points, each a series. The median of five requests counts, each without If-None-Match, so that the page is made again;
"after a change" is the first request after a run was added. Exit status 1: a view took longer than LIMIT_MS (default 300); a comparison
of two runs of 100,000 points may take twice that, as it reads and judges 200,000 values.
"""
import http.client
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

REQUESTS = 5
WIDE_COMPARISON = "a comparison of 100,000 points"
DEFS = {"time": {"name": "time", "unit": "s", "direction": "lower", "group": "", "priority": "primary", "description": ""}}
POINT = "point={}&scenario=train&tag=batch={}&tag=framework={}"


def put_run(store, number, points, rng, alike):
    """A run; a tenth of its points become 10 % slower at the 5,000th. alike: its points differ in one tag alone."""
    found = []
    for k in range(points):
        value = 1e-3 * (1 + k % 17) * rng.gauss(1, 0.01) * (1.1 if k % 10 == 0 and number > 5000 else 1)
        found.append({"name": "kernel" if alike else f"k{k // 4}", "scenario": "train",
                      "tags": {"framework": ("jax", "torch", "numpy", "cbx")[k % 4], "batch": str(k) if alike else "32"},
                      "metrics": {"time": {"value": value, "lower": 0.99 * value, "upper": 1.01 * value}}})
    month, hour = divmod(number, 24 * 28)
    run = {"id": f"run{number:06d}", "timestamp": f"{2010 + month // 12}-{month % 12 + 1:02d}-{hour // 24 + 1:02d}T{hour % 24:02d}:00:00+00:00", "commit": f"{number:040x}",
           "branch": "main" if number % 4 else "feature", "environment": {"machine": f"m{number % 3}"}, "metadata": {}, "metric_defs": DEFS, "points": found}
    with open(os.path.join(store, "runs", run["id"] + ".json"), "w", encoding="utf-8") as f:
        json.dump(run, f)


def make_store(store, runs, points, alike):
    os.makedirs(os.path.join(store, "runs"))
    rng = random.Random(1)
    for number in range(runs):
        put_run(store, number, points, rng, alike)


def ask(port, target):
    """Seconds, and bytes of the page."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=100)
    start = time.perf_counter()
    connection.request("GET", target)
    answer = connection.getresponse()
    body = answer.read()
    seconds = time.perf_counter() - start
    connection.close()
    if answer.status != 200:
        sys.exit(f"measure_views: {target}: status {answer.status}")
    return seconds, len(body)


def measure(calibrax, store, name, targets, limit_ms):
    """Whether every view of a store was in time."""
    server = subprocess.Popen([calibrax, "serve", "--data", store, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    start, slow = time.perf_counter(), []
    try:
        port = int(server.stdout.readline().strip().rstrip("/").rsplit(":", 1)[1])
        print(f"\n{name}; the index was made in {time.perf_counter() - start:.1f} s\n\n| view | ms | kB | address |\n|---|--:|--:|---|", flush=True)
        for view, target, before in targets:
            times = []
            for _ in range(REQUESTS):
                if before:
                    before()
                again, size = ask(port, target)
                times.append(again)
            seconds = statistics.median(times)
            print(f"| {view} | {1e3 * seconds:.1f} | {size / 1e3:.0f} | `{target}` |", flush=True)
            if 1e3 * seconds > limit_ms * (2 if view == WIDE_COMPARISON else 1):
                slow.append(view)
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(20)
    if slow:
        print(f"\nmore than {limit_ms:g} ms: {', '.join(slow)}")
    return not slow


def main(calibrax, runs=10_000, limit_ms=300.0):
    last, middle = f"run{runs - 1:06d}", f"run{runs // 2:06d}"
    added = iter(range(runs, runs + 1000))
    with tempfile.TemporaryDirectory() as folder:
        many, alike, wide = (os.path.join(folder, n) for n in ("many", "alike", "wide"))
        make_store(many, runs, 100, False)
        make_store(alike, 2, 10_000, True)
        make_store(wide, 3, 100_000, True)
        fine = measure(calibrax, many, f"{runs:,} runs, {100 * runs:,} points", [
            ("runs", "/", None), ("runs, the last page", f"/?page={runs // 50}", None), ("runs by text", "/?text=run0077", None),
            ("runs by point and tag", "/?point=k3&tag=framework=jax", None), ("a run", f"/run?id={middle}", None),
            ("a point", f"/point?run={middle}&{POINT.format('k3', 32, 'jax')}", None), ("trends", "/trends", None), ("trends by text", "/trends?text=k3", None),
            ("a series", f"/trend?metric=time&{POINT.format('k0', 32, 'jax')}", None), ("a comparison", f"/compare?a=run000000&b={last}", None),
            ("profiles", "/profiles", None), ("rows", "/rows", None), ("runs as JSON", "/?format=json", None),
            ("runs, after a change", "/", lambda: put_run(many, next(added), 100, random.Random(2), False))], limit_ms)
        fine &= measure(calibrax, alike, "2 runs of 10,000 points that differ in one tag", [
            ("a comparison", "/compare?a=run000000&b=run000001", None), ("a run, the last page", "/run?id=run000000&page=50", None)], limit_ms)
        fine &= measure(calibrax, wide, "3 runs of 100,000 points, each a series", [
            ("trends", "/trends", None), ("trends, the last page", "/trends?page=4000", None), ("trends by text", "/trends?text=777", None),
            ("a run, the last page", "/run?id=run000000&page=500", None),
            ("a point", f"/point?run=run000001&{POINT.format('kernel', 777, 'torch')}", None),
            (WIDE_COMPARISON, "/compare?a=run000000&b=run000001", None)], limit_ms)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1]), *(int(a) for a in sys.argv[2:3]), *(float(a) for a in sys.argv[3:4])))
