"""Files of every format that calibrax ingest reads, as long as one likes: the same entries over and over, under other names.

usage: long_files.py FORMAT BYTES PATH
"""
import gzip
import itertools
import json
import random
import sys

UNIT = {"mean": 1.5e-3, "stddev": 1e-5, "median": 1.5e-3, "min": 1.4e-3, "max": 1.7e-3}


def numbers(r: random.Random, n: int) -> list:
    return [r.uniform(1e-3, 2e-3) for _ in range(n)]


def joined(head: str, items, tail: str) -> tuple:
    """What stands before, between and behind the entries of a document."""
    return head, (("," if i else "") + item for i, item in enumerate(items)), tail


def entries(make):
    r = random.Random(1)
    return (json.dumps(make(r, i)) for i in itertools.count())


def members(make):
    r = random.Random(1)
    return (f"{json.dumps(name)}: {json.dumps(value)}" for name, value in (make(r, i) for i in itertools.count()))


def google(r, i):
    return {"name": f"copy/{i}", "run_name": f"copy/{i}", "run_type": "iteration", "repetitions": 1, "repetition_index": 0, "threads": 1,
            "iterations": 1000, "real_time": r.uniform(100, 200), "cpu_time": r.uniform(100, 200), "time_unit": "ns", "bytes_per_second": 1e9}


def pytest(r, i):
    return {"group": "sort", "name": f"test_sorted[{i}]", "fullname": f"test_sort.py::test_sorted[{i}]", "params": {"n": i}, "param": str(i),
            "extra_info": {}, "stats": {**UNIT, "data": numbers(r, 40)}}


def pyperf(r, i):
    return {"metadata": {"name": f"bench{i}", "unit": "second"},
            "runs": [{"metadata": {"date": "2026-01-01 00:00:00"}, "values": numbers(r, 5), "warmups": [[1, 0.5]]} for _ in range(20)]}


def jmh(r, i):
    return {"jmhVersion": "1.37", "benchmark": f"org.example.Sort.quick{i}", "mode": "avgt", "threads": 1, "params": {"size": "1000"},
            "primaryMetric": {"score": 12.5, "scoreError": 0.5, "scoreConfidence": [12.0, 13.0], "scoreUnit": "us/op",
                              "rawData": [numbers(r, 10), numbers(r, 10)]}, "secondaryMetrics": {}}


def nanobench(r, i):
    return {"title": "sort", "name": f"quick{i}", "unit": "op", "batch": 1, "complexityN": -1, "median(elapsed)": 2e-6,
            "measurements": [{"iterations": 100, "elapsed": v, "pagefaults": 0, "cpucycles": 5000} for v in numbers(r, 11)]}


def nvbench(r, i):
    return {"name": f"Elements={i}", "device": 0, "axis_values": [{"name": "Elements", "type": "int64", "value": str(i)}], "is_skipped": False,
            "summaries": [{"tag": tag, "name": "x", "hint": "duration", "data": [{"name": "value", "type": "float64", "value": repr(r.random())}]}
                          for tag in ("nv/cold/time/gpu/mean", "nv/cold/time/cpu/mean", "nv/batch/time/gpu/mean")]}


def julia(r, i):
    return f"sort{i}", ["Trial", {"times": numbers(r, 30), "gctimes": [0.0] * 30, "memory": 100, "allocs": 3}]


def criterion(r, i):
    return {"reason": "benchmark-complete", "id": f"sort/{i}", "report_directory": "x", "unit": "ns", "iteration_count": list(range(1, 51)),
            "measured_values": numbers(r, 50), "throughput": [], "typical": {"estimate": 2e3, "lower_bound": 1e3, "upper_bound": 3e3, "unit": "ns"}}


def row(r, i):
    return {"run_id": f"20260220T113424.346877+0000__{i // 2000:07x}", "case": "matmul", "param_point": {"n": i}, "platform": "cpu",
            "baseline": "naive", "framework": "native", "status": "ok", "metrics": {"steady_time": {"value": r.uniform(1e-3, 2e-3)}},
            "fidelity": {"status": "ok"}, "ratio": None, "failure_detail": None, "provenance": {"timestamp": "2026-02-20T11:34:24.346877+00:00"},
            "schema_version": 1, "variant": "default"}


def point(r, i):
    return {"name": f"point{i}", "scenario": "train", "tags": {"framework": "flax", "n": str(i)},
            "metrics": {"latency": {"value": 1.5, "lower": 1.4, "upper": 1.6, "samples": numbers(r, 20)}, "rate": {"value": 3.5}}, "more": [1, 2]}


def lines(make, head: str = "") -> tuple:
    r = random.Random(1)
    return head + "\n" if head else "", (make(r, i) + "\n" for i in itertools.count()), ""


def values(r, i):
    return r.uniform(1e-3, 2e-3)


def csv(r, i):
    return f"sort,quick,{i // 50},,,{r.uniform(100, 200):.3f},ns,{1 + i % 50}"


FORMATS = {
    "calibrax": lambda: joined('{"id":"r1","timestamp":"2026-01-01T00:00:00+00:00","commit":null,"branch":null,"environment":{},"metadata":{},"metric_defs":{},"points":[',
                               entries(point), '],"more":1}'),
    "nperf": lambda: lines(lambda r, i: json.dumps(row(r, i))),
    "google-benchmark": lambda: joined('{"context":{"num_cpus":2,"executable":"./toys"},"benchmarks":[', entries(google), "]}"),
    "google-repetitions": lambda: joined('{"context":{"num_cpus":2},"benchmarks":[', entries(lambda r, i: {**google(r, i), "name": "copy", "run_name": "copy"}), "]}"),
    "hyperfine": lambda: joined('{"results":[', entries(lambda r, i: {"command": f"sleep {i}", **UNIT, "user": 0.1, "system": 0.1,
                                                                     "times": numbers(r, 100), "exit_codes": [0] * 100}), "]}"),
    "pytest-benchmark": lambda: joined('{"machine_info":{"node":"m"},"commit_info":{"id":"abc","branch":"main"},"benchmarks":[', entries(pytest),
                                       '],"datetime":"2026-01-01T00:00:00","version":"5.1.0"}'),
    "pyperf": lambda: joined('{"benchmarks":[', entries(pyperf), '],"metadata":{"cpu_count":2},"version":"1.0"}'),
    "criterion-messages": lambda: lines(lambda r, i: json.dumps(criterion(r, i))),
    "criterion-csv": lambda: lines(csv, "group,function,value,throughput_num,throughput_type,sample_measured_value,unit,iteration_count"),
    "jmh": lambda: joined("[", entries(jmh), "]"),
    "go": lambda: lines(lambda r, i: f"BenchmarkSort/n={i // 10}/fast-8 \t 100000\t {r.uniform(1e3, 2e3):.1f} ns/op\t 16 B/op\t 2 allocs/op", "goos: linux\npkg: a"),
    "go-distinct": lambda: lines(lambda r, i: f"BenchmarkSort/n={i}-8 \t 100000\t {r.uniform(1e3, 2e3):.1f} ns/op", "goos: linux\npkg: a"),
    "asv": lambda: joined('{"version":2,"commit_hash":"abc","env_name":"e","date":1771587264346,"params":{"machine":"m"},"python":"3.11",'
                          '"result_columns":["result","params","version","started_at","duration","stats_ci_99_a","stats_ci_99_b","samples"],"results":{',
                          members(lambda r, i: (f"sorting.Sorting.time_{i}", [numbers(r, 2), [["1", "2"]], "v", 1, 1.0, [1.0, 1.0], [2.0, 2.0], [numbers(r, 10)] * 2])),
                          "}}"),
    "nanobench": lambda: joined('{"results":[', entries(nanobench), "]}"),
    "nvbench": lambda: joined('{"meta":{"version":{"json":{"major":1},"nvbench":{}}},"devices":[],"benchmarks":[{"name":"copy","states":[', entries(nvbench), "]}]}"),
    "benchmarktools": lambda: joined('[{"Julia":"1.10","BenchmarkTools":"1.0.0"},[["BenchmarkGroup",{"tags":[],"data":{', members(julia), "}}]]]"),
    # one point, however long: its samples are what there are many of
    "hyperfine-one": lambda: joined('{"results":[{"command":"sleep 1","mean":1.5e-3,"exit_codes":[0],"times":[', entries(values), "]}]}"),
    "pytest-benchmark-one": lambda: joined('{"machine_info":{},"benchmarks":[{"name":"t","stats":{"data":[', entries(values), "]}}]}"),
    "pyperf-one": lambda: joined('{"version":"1.0","benchmarks":[{"metadata":{"name":"b"},"runs":[',
                                 entries(lambda r, i: {"metadata": {"load_avg_1min": 0.5}, "values": numbers(r, 1), "warmups": [[1, 0.5]]}), "]}]}"),
    "nanobench-one": lambda: joined('{"results":[{"name":"q","median(elapsed)":1e-3,"measurements":[',
                                    entries(lambda r, i: {"iterations": 100, "elapsed": values(r, i), "pagefaults": 0, "cpucycles": 5000 + i % 7}), "]}]}"),
    "jmh-one": lambda: joined('[{"jmhVersion":"1.37","benchmark":"a.B","primaryMetric":{"score":1,"scoreUnit":"s/op","rawData":[[', entries(values), "]]}}]"),
    "benchmarktools-one": lambda: joined('[{"Julia":"1.10","BenchmarkTools":"1.0.0"},[["BenchmarkGroup",{"data":{"a":["Trial",{"times":[', entries(values), "]}]}}]]]"),
    "go-one": lambda: lines(lambda r, i: f"BenchmarkSort-8 \t 100000\t {r.uniform(1e3, 2e3):.1f} ns/op\t 16 B/op", "goos: linux\npkg: a"),
    "trace": lambda: joined('{"traceEvents": [', entries(lambda r, i: {"ph": "X", "pid": 1, "tid": 1, "name": f"fusion.{i % 50}", "ts": 10.0 * i, "dur": r.uniform(1, 9), "args": {}}), "]}"),
    "bmf": lambda: joined("{", members(lambda r, i: (f"sort/quick/{i}", {"latency": {"value": r.uniform(1e3, 2e3), "lower_value": 1e3}})), "}"),
}


def write(name: str, size: int, path: str) -> None:
    """At least `size` bytes, in whole entries.  "NAME.gz" compresses them."""
    head, items, tail = FORMATS[name.removesuffix(".gz")]()
    done = 0
    with (gzip.open if name.endswith(".gz") else open)(path, "wt") as out:
        out.write(head)
        while done < size:
            done += out.write(next(items))
        out.write(tail)


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]), sys.argv[3])
