"""calibrax ingest of profilers' traces: kernels, their own time, and gaps, against sums written out here.

The fixtures are one capture of jax.profiler in both of its formats, and one of torch.profiler (scripts/fixtures/make_traces.py). `make interop`
makes them again, live: CALIBRAX_TRACES names a folder with them.
"""
import glob
import gzip
import json
import os
import struct
import time

from harness import CALIBRAX, SOURCE, check, equal, has, main, one_sentence, read_back

FIXTURES = os.environ.get("CALIBRAX_TRACES") or os.path.join(SOURCE, "tests/fixtures/import")


def ingested(p, path):
    """The run of a file: its points by scenario, name and lane, as values by metric."""
    found = json.loads(p.run("ingest", "--data", "store", "--input", path, "--json", program=CALIBRAX, expect=0).stdout)
    (r,) = found["runs"]
    equal(r["format"], "trace", path)
    with open(p.file("store", "runs", r["id"] + ".json"), encoding="utf-8") as f:
        points = json.load(f)["points"]
    return {(q["scenario"], q["name"], q["tags"].get("lane")): q["metrics"] for q in points}, found["notes"]


def close(a, b, why):
    check(abs(a - b) <= 2e-8 * max(abs(a), abs(b)) + 3e-9, f"{why}: {a} and {b}")


def summed(events):
    """Own and total time [s] and calls by process and name, and gaps by lane: each instant of a lane belongs to the innermost span, of equal ones the last."""
    titles = {e["pid"]: e["args"]["name"] for e in events if e.get("ph") == "M" and e["name"] == "process_name"}
    lanes, kernels, gaps = {}, {}, {}
    for e in events:
        if e.get("ph") == "X" and not e["name"].startswith("$"):
            lanes.setdefault((e["pid"], e["tid"]), []).append((e["ts"], e["ts"] + e["dur"], e["name"]))
    for (pid, tid), spans in lanes.items():
        process = titles.get(pid, str(pid))
        for start, end, name in spans:
            k = kernels.setdefault((process, name), [0.0, 0.0, 0])
            k[1] += (end - start) * 1e-6
            k[2] += 1
        edges = sorted({x for s in spans for x in s[:2]})
        idle = 0.0
        for a, b in zip(edges, edges[1:]):
            over = [s for s in spans if s[0] <= a and b <= s[1]]
            if over:
                kernels[process, max(reversed(over), key=lambda s: (s[0], -s[1]))[2]][0] += (b - a) * 1e-6
            else:
                idle += (b - a) * 1e-6
        gaps[process, tid] = idle
    return kernels, gaps


def compared(p, path, events):
    points, _ = ingested(p, path)
    kernels, gaps = summed(events)
    check(len(kernels) > 5, "there are kernels")
    for (process, name), (own, total, calls) in kernels.items():
        metrics = points[process, name, None]
        equal(metrics["calls"]["value"], calls, name)
        close(metrics["total_time"]["value"], total, name)
        close(metrics["self_time"]["value"], own, f"own time of {name}")
        equal(len(metrics["time"]["samples"]), calls, "a sample a call")
    found = sorted(m["gap_time"]["value"] for (_, name, _), m in points.items() if name == "(gaps)")
    for a, b in zip(found, sorted(gaps.values()), strict=True):
        close(a, b, "gaps of a lane")
    for process in {k[0] for k in kernels}:
        close(sum(m["share"]["value"] for (where, name, _), m in points.items() if where == process and name != "(gaps)"), 1, "shares")
    read_back(f"{len(kernels)} kernels, {sum(k[2] for k in kernels.values())} calls, {1e3 * sum(k[0] for k in kernels.values()):.3g} ms")
    return points


def jax_profiler(p):
    with gzip.open(os.path.join(FIXTURES, "jax.trace.json.gz")) as f:
        events = json.load(f)["traceEvents"]
    from_json = compared(p, os.path.join(FIXTURES, "jax.trace.json.gz"), events)
    from_planes, notes = ingested(p, os.path.join(FIXTURES, "jax.xplane.pb"))
    has(notes[0]["message"], "frames of Python were left out")
    equal(set(from_planes), set(from_json), "the same kernels in both formats")
    check(any("fusion" in name or "dot" in name for _, name, _ in from_json), sorted(name for _, name, _ in from_json))
    for key, metrics in from_json.items():
        for metric, m in metrics.items():
            # the JSON has microseconds with three decimals, as text of doubles
            check(abs(m["value"] - from_planes[key][metric]["value"]) <= 1e-6 * abs(m["value"]) + 3e-9 * (1 + metrics.get("calls", m)["value"]), f"{key} {metric}")


def torch_profiler(p):
    with open(os.path.join(FIXTURES, "torch.trace.json"), encoding="utf-8") as f:
        document = json.load(f)
    points = compared(p, os.path.join(FIXTURES, "torch.trace.json"), document if isinstance(document, list) else document["traceEvents"])
    check(any(name == "aten::addmm" for _, name, _ in points), "the product is a kernel")


def our_own(p):
    p.run("run", "--trace", p.file("ours.json"), "--no-keep", "--", "true", program=CALIBRAX, expect=0)
    points, _ = ingested(p, p.file("ours.json"))
    check(points, "spans of a trace that calibrax run wrote")


def a_run_with_traces(p):
    os.makedirs(p.file("prof/plugins/profile/2026_01_01"))
    with open(os.path.join(FIXTURES, "jax.xplane.pb"), "rb") as f, open(p.file("prof/plugins/profile/2026_01_01/host.xplane.pb"), "wb") as out:
        out.write(f.read())
    done = p.run("run", "--trace-dir", p.file("prof"), "--json", "--no-keep", "--", "true", program=CALIBRAX, expect=0)
    link = json.loads(done.stdout)["run"]["metadata"]["trace_link"]
    points, _ = ingested(p, p.file("prof/plugins/profile/2026_01_01/host.xplane.pb"))
    own = sorted((m["self_time"]["value"] for (_, name, _), m in points.items() if name != "(gaps)"), reverse=True)
    equal([k["self_s"] for k in link["kernels"]], own[:10], "the top kernels")
    equal(len(link["gaps"]), sum(name == "(gaps)" for _, name, _ in points), "gaps of each lane")
    check(set(link["kernels"][0]) == {"name", "process", "self_s", "total_s", "calls", "share"} and set(link["gaps"][0]) == {"lane", "process", "gap_s", "longest_s", "gaps", "busy_share"}, link)
    done = p.run("ingest", "--data", "folder", "--input", p.file("prof"), program=CALIBRAX, expect=0)
    has(done.stdout, "Ingested run", "a folder of traces")


def field(number, value):
    """A field of a Protocol Buffers message."""
    def varint(n):
        out = b""
        while n > 127:
            out, n = out + bytes([n & 127 | 128]), n >> 7
        return out + bytes([n])
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def edges(p):
    """Written by hand: edges of B and E, an open span, other ids, and planes of a device."""
    events = [{"ph": "B", "pid": "gpu", "tid": "s1", "name": "outer", "ts": 10}, {"ph": "B", "pid": "gpu", "tid": "s1", "name": "inner", "ts": 20}, {"ph": "E", "pid": "gpu", "tid": "s1", "ts": 40},
              {"ph": "E", "pid": "gpu", "tid": "s1", "ts": 60}, {"ph": "X", "pid": "gpu", "tid": "s1", "name": "inner", "ts": 100, "dur": 10}, {"ph": "B", "pid": "gpu", "tid": "s1", "name": "open", "ts": 120},
              {"ph": "E", "pid": "gpu", "tid": "s2", "ts": 10}, {"ph": "C", "pid": 1, "name": "count", "ts": 1, "args": {"n": 1}}]
    p.write("edges.json", json.dumps(events))
    points, notes = ingested(p, p.file("edges.json"))
    close(points["gpu", "outer", None]["self_time"]["value"], 30e-6, "own time")
    close(points["gpu", "inner", None]["total_time"]["value"], 30e-6, "total time")
    close(points["gpu", "(gaps)", "0 s1"]["longest_gap"]["value"], 40e-6, "the gap")
    equal(len(notes), 2, "an open span, and an end without a beginning")
    event = field(4, field(1, 7) + field(2, 5_000_000) + field(3, 2_000_000))
    plane = field(1, field(2, b"/device:GPU:0") + field(3, field(1, 1) + field(2, b"stream") + field(3, 1000) + event + field(4, field(1, 8) + field(2, 9_000_000) + field(3, 0)))
                  + field(4, field(1, 7) + field(2, field(1, 7) + field(2, b"fusion.1") + field(4, b"tanh"))))
    with open(p.file("device.xplane.pb"), "wb") as f:
        f.write(plane)
    points, _ = ingested(p, p.file("device.xplane.pb"))
    close(points["/device:GPU:0", "tanh", None]["total_time"]["value"], 2e-6, "by its display name")
    equal(points["/device:GPU:0", "kernel 8", None]["calls"]["value"], 1, "a kernel without a name")
    close(points["/device:GPU:0", "(gaps)", "stream"]["gap_time"]["value"], 2e-6, "between spans")
    with open(p.file("cut.xplane.pb"), "wb") as f:
        f.write(plane[:-9])
    has(p.run("ingest", "--format", "trace", "--data", "store", "--input", p.file("cut.xplane.pb"), program=CALIBRAX, expect=2).stderr, "cut off or damaged")
    p.write("none.json", json.dumps({"traceEvents": [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "x"}}]}))
    p.run("ingest", "--data", "store", "--input", p.file("none.json"), program=CALIBRAX, expect=2)


def many_edges(p):
    """Lanes with deep stacks that end in the order in which they began: as fast as one after the other, and the same."""
    lanes, depth = 4, 50_000
    begin = [[{"ph": "B", "pid": 1, "tid": lane, "name": f"k{i % 50}", "ts": i} for i in range(depth)] for lane in range(lanes)]
    end = [[{"ph": "E", "pid": 1, "tid": lane, "ts": depth + i} for i in range(depth)] for lane in range(lanes)]
    orders = {"plain": [e for lane in range(lanes) for e in begin[lane] + end[lane]], "hostile": [e for part in (begin, end) for lane in part for e in lane]}
    seconds, found = {}, {}
    for order, events in orders.items():
        p.write(f"{order}.json", json.dumps(events))
        start = time.monotonic()
        found[order], notes = ingested(p, p.file(f"{order}.json"))
        seconds[order] = time.monotonic() - start
        equal(notes, [], order)
    equal(found["hostile"], found["plain"], "the same spans")
    # span i is inside span i - 1, from i to 2 depth - 1 - i: 2 us of its own, and the innermost 1
    # us
    equal(found["plain"]["1", "k0", None]["calls"]["value"], lanes * depth / 50, "calls")
    close(found["plain"]["1", "k0", None]["self_time"]["value"], lanes * depth / 50 * 2e-6, "own time")
    close(found["plain"]["1", f"k{(depth - 1) % 50}", None]["self_time"]["value"], lanes * (depth / 50 * 2e-6 - 1e-6), "own time of the innermost")
    check(seconds["hostile"] < 5 * seconds["plain"] + 1, f"time grows with the number of events: {seconds}")


main([jax_profiler, torch_profiler, our_own, a_run_with_traces, edges, many_edges])
