"""Runs one benchmark of a Python module in a fresh process, for `calibrax run --module` (calibrax/perf/launch/conversation.c).

The request is JSON on standard input, the answer JSON on descriptor 3; standard output is the benchmark's.  A benchmark is a class, or an
object, with setup, run_training, run_evaluation, teardown and get_performance_targets: BenchmarkProtocol of the Python package calibrax.
What that protocol does not know may be there, too:
    work()                      timed, call by call
    dataset, run_batch(batch)   timed over the dataset: get_batch(batch_size, start), or examples by index as a list
    name, domain, tags          text, text, and text by text
    metric_defs                 by name: a dict, or an object with to_dict(), with unit and direction

Python >= 3.9; nothing is imported from outside the standard library but the module asked for.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import os
import signal
import sys
import time
import traceback
from datetime import datetime, timezone
from typing import Any, Callable

SCHEMA, VERSION = "calibrax-benchmark-answer", 1
ANSWER_FD = 3
STEPS = 200  # of the clock, in a sample
CHILD_FAILED, INTERRUPTED = 10, 14  # of calibrax/base/status.h
PROTOCOL = ("setup", "run_training", "run_evaluation", "teardown", "get_performance_targets")
RUNS = ("run_training", "run_evaluation", "work", "run_batch")
FRAMEWORKS = ("numpy", "scipy", "jax", "jaxlib", "flax", "torch", "tensorflow", "calibrax")


class Interrupted(BaseException):
    """SIGTERM: the parent asks for the end, after a tear-down."""


class Failure(Exception):
    """What is wrong with a benchmark, in words for its user."""


def rows_of(thing: Any) -> int | None:
    """Of an array its first extent, of a list or a tuple its length; None: of anything else nothing is known."""
    shape = getattr(thing, "shape", None)
    if isinstance(shape, (tuple, list)) and shape:
        return int(shape[0])
    return len(thing) if isinstance(thing, (list, tuple)) else None


def check_rows(batch: Any, examples: int, start: int) -> None:
    """Throughput counts the examples asked for: the batch, or a part of it, has to hold them."""
    parts = list(batch.values()) if isinstance(batch, dict) else list(batch) if isinstance(batch, (tuple, list)) else []
    rows = [n for n in map(rows_of, [*parts, *([] if isinstance(batch, dict) else [batch])]) if n is not None]
    if rows and examples not in rows:
        raise Failure(f"the batch from example {start} on has {rows[0]} rows: get_batch has to give {examples}")


def one_line(fault: BaseException) -> str:
    """'ValueError: words (bench.py:12)', the place being the innermost one outside this file and the import machinery."""
    if isinstance(fault, Failure):
        return str(fault)
    ours = (__file__, importlib.__file__)  # a module that is not there was looked for by importlib, which is not where it is missing
    frames = [f for f in traceback.extract_tb(fault.__traceback__) if f.filename not in ours and not f.filename.startswith("<frozen")]
    place = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
    words = " ".join(str(fault).split())
    return f"{type(fault).__name__}{': ' if words else ''}{words}{place}"


# --- finding benchmarks ---


def load_module(where: str) -> Any:
    """A module by its dotted name, or a file, as if it were the program that is run: its folder is looked in first."""
    if not where.endswith(".py") and os.sep not in where:
        return importlib.import_module(where)
    path = os.path.abspath(where)
    if not os.path.isfile(path):
        raise Failure(f"no Python file '{where}'")
    sys.path.insert(0, os.path.dirname(path))
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Failure(f"'{where}' is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def registered() -> dict[str, Any]:
    """What the module registered with the Python package's own registry, if it uses that."""
    registry = sys.modules.get("calibrax.core.registry")
    if registry is None:
        return {}
    return {name: registry.get_benchmark(name) for name in registry.list_benchmarks()}


def meets_protocol(thing: Any) -> bool:
    return all(callable(getattr(thing, name, None)) for name in PROTOCOL)


def name_of(thing: Any, attribute: str) -> str:
    name = inspect.getattr_static(thing, "name", None)
    return name if isinstance(name, str) and name else attribute


def defined_in(module: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for attribute, thing in vars(module).items():
        if attribute.startswith("_") or not meets_protocol(thing):
            continue
        if isinstance(thing, type) and (thing.__module__ != module.__name__ or inspect.isabstract(thing) or getattr(thing, "_is_protocol", False)):
            continue
        name = name_of(thing, attribute)
        if name in found:
            raise Failure(f"two benchmarks of '{module.__name__}' are named '{name}'")
        found[name] = thing
    return found


def find_benchmarks(path: str) -> dict[str, Any]:
    where, colon, wanted = path.rpartition(":")
    if not colon:
        where, wanted = path, ""
    module = load_module(where)
    found = registered()
    if wanted:
        if wanted in found:
            return {wanted: found[wanted]}
        thing = module
        for part in wanted.split("."):
            if not hasattr(thing, part):
                raise Failure(f"'{where}' has no '{wanted}'")
            thing = getattr(thing, part)
        return {name_of(thing, wanted): thing}
    known = {id(thing) for thing in found.values()}
    for name, thing in defined_in(module).items():
        if id(thing) not in known:
            found.setdefault(name, thing)
    if not found:
        raise Failure(f"'{where}' defines no benchmark: a class with {', '.join(PROTOCOL)}; name another one as '{where}:Class'")
    return found


# --- running one ---


def clock_step_s() -> float:
    """The median distance of two readings: what the clock costs and resolves."""
    gaps = []
    for _ in range(101):
        start = time.perf_counter_ns()
        gaps.append(time.perf_counter_ns() - start)
    return max(1e-9, sorted(gaps)[50] * 1e-9)


class Run:
    """One benchmark, phase by phase."""

    def __init__(self, name: str, request: dict[str, Any]) -> None:
        self.name = name
        self.request = request
        self.phase = "start"
        self.metrics: dict[str, dict[str, Any]] = {}
        self.defs: dict[str, dict[str, Any]] = {}
        self.phases: list[dict[str, Any]] = []
        self.targets: dict[str, float] = {}
        self.benchmark: Any = None

    def has(self, method: str) -> bool:
        return callable(getattr(self.benchmark, method, None))

    def timed(self, phase: str, call: Callable[[], Any]) -> Any:
        self.phase = phase
        start = time.monotonic_ns()
        try:
            return call()
        finally:
            self.phases.append({"name": phase, "start_ns": start, "duration_ns": time.monotonic_ns() - start})

    def add(self, name: str, value: float, unit: str, direction: str, group: str, **more: Any) -> None:
        if name in self.metrics:
            return
        self.metrics[name] = {"value": value, **{k: v for k, v in more.items() if k == "samples"}}
        self.defs[name] = {"name": name, "unit": unit, "direction": direction, "group": group,
                           **{k: v for k, v in more.items() if k != "samples"}}

    def numbers(self, method: str) -> dict[str, float]:
        given = getattr(self.benchmark, method)()
        if given is None:
            return {}
        if not hasattr(given, "items"):
            raise Failure(f"{method} gave {type(given).__name__}, not a dict of numbers")
        found = {}
        for key, value in given.items():
            if isinstance(value, (str, bytes, bool)) or not isinstance(key, str):
                raise Failure(f"{method} gave {key!r} as {type(value).__name__}, not a number")
            try:
                found[key] = float(value)
            except (TypeError, ValueError) as fault:
                raise Failure(f"{method} gave {key!r} as {type(value).__name__}, not a number") from fault
        return found

    def values(self, method: str) -> None:
        for name, value in self.numbers(method).items():
            self.metrics[name] = {"value": value}

    def seconds(self, phase: str, direction: str) -> None:
        for p in self.phases:
            if p["name"] == phase:
                self.add(f"{phase}_seconds", p["duration_ns"] * 1e-9, "s", direction, "phases")

    # timed work

    def work(self) -> None:
        """Samples of so many calls that one lasts long enough, for the clock, too; a sample is the mean of its calls."""
        work, clock, request = self.benchmark.work, time.perf_counter_ns, self.request
        least_s = max(request["sample_s"], STEPS * clock_step_s())
        begin = clock()
        start = clock()
        work()
        first = (clock() - start) * 1e-9
        calls = 1
        while True:
            start = clock()
            for _ in range(calls):
                work()
            window = clock() - start
            if window * 1e-9 >= least_s or calls >= 1 << 30:
                break
            calls = min(10 * calls, max(calls + 1, int(1.4 * calls * least_s / max(window * 1e-9, 1e-9))))
        for _ in range(request["warmup"]):
            work()
        samples: list[float] = []
        while len(samples) < request["samples"]:
            if samples and request["budget_s"] > 0 and (clock() - begin) * 1e-9 >= request["budget_s"]:
                break
            start = clock()
            for _ in range(calls):
                work()
            samples.append((clock() - start) * 1e-9 / calls)
        self.times(samples, first)

    def times(self, samples: list[float], first: float) -> None:
        ordered = sorted(samples)
        median = 0.5 * (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2])
        self.add("batch_time", median, "s", "lower", "timing", samples=samples, priority="primary", description="median over the batches")
        self.add("first_batch_time", first, "s", "info", "timing")

    def batches(self) -> None:
        dataset, run_batch, clock = self.benchmark.dataset, self.benchmark.run_batch, time.perf_counter_ns
        length, size = len(dataset), self.request["batch_size"]
        starts = list(range(0, length, size))[: self.request["max_batches"] or None]
        if not starts:
            raise Failure("the dataset has no examples")
        get_batch = getattr(dataset, "get_batch", None)
        times: list[float] = []
        first = 0.0
        begin = clock()
        for at in starts:
            last = min(at + size, length)
            if callable(get_batch):
                batch = get_batch(size, at)
                check_rows(batch, last - at, at)
            else:
                batch = [dataset[i] for i in range(at, last)]
            start = clock()
            run_batch(batch)
            times.append((clock() - start) * 1e-9)
            first = first or (clock() - begin) * 1e-9
        wall = (clock() - begin) * 1e-9
        warmup = min(self.request["warmup"], len(times) - 1)
        counted = sum(min(at + size, length) - at for at in starts[warmup:])
        self.times(times[warmup:], first)
        self.add("wall_clock", wall, "s", "lower", "timing")
        if sum(times[warmup:]) > 0:
            self.add("throughput", counted / sum(times[warmup:]), "1/s", "higher", "timing", description="examples by the time of their batches")

    # the whole

    def make(self, thing: Any) -> None:
        config = self.request.get("config") or {}
        if isinstance(thing, type) or not any(callable(getattr(thing, name, None)) for name in RUNS):
            if not callable(thing):
                raise Failure(f"'{self.name}' is {type(thing).__name__}, no benchmark")
            thing = thing(**config)
        elif config:
            raise Failure(f"'{self.name}' is an object already: a configuration needs its class")
        self.benchmark = thing
        if not any(self.has(name) for name in RUNS):
            raise Failure(f"'{self.name}' has neither {', '.join(RUNS[:-1])} nor {RUNS[-1]}")

    def all_phases(self) -> None:
        if self.has("setup"):
            self.timed("setup", self.benchmark.setup)
        if self.has("run_training"):
            self.timed("training", lambda: self.values("run_training"))
        if self.has("work"):
            self.timed("work", self.work)
        elif self.has("run_batch") and getattr(self.benchmark, "dataset", None) is not None:
            self.timed("work", self.batches)
        if self.has("run_evaluation"):
            self.timed("evaluation", lambda: self.values("run_evaluation"))
        if self.has("get_performance_targets"):
            self.targets = self.timed("targets", lambda: self.numbers("get_performance_targets"))

    def tear_down(self) -> None:
        """Nothing interrupts it, and the phase that failed before it stays the one that is named."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        failed = self.phase if sys.exc_info()[0] else None
        try:
            if self.has("teardown"):
                self.timed("teardown", self.benchmark.teardown)
        finally:
            self.phase = failed or self.phase

    def execute(self, thing: Any) -> None:
        self.make(thing)
        try:
            self.all_phases()
        except BaseException:
            try:
                self.tear_down()
            except Exception:  # the first fault is the one to tell
                traceback.print_exc()
            raise
        self.tear_down()
        for phase, direction in (("setup", "info"), ("training", "lower"), ("evaluation", "lower"), ("teardown", "info")):
            self.seconds(phase, direction)

    def own_defs(self) -> None:
        for name, given in (getattr(self.benchmark, "metric_defs", None) or {}).items():
            fields = given.to_dict() if hasattr(given, "to_dict") else dict(given)
            self.defs[name] = {"unit": "", **fields, "name": name}

    def document(self) -> dict[str, Any]:
        self.phase = "output"
        self.own_defs()
        tags = getattr(self.benchmark, "tags", None)
        domain = getattr(self.benchmark, "domain", "")
        point = {"name": self.name, "scenario": domain if isinstance(domain, str) else "",
                 "tags": {str(k): str(v) for k, v in tags.items()} if isinstance(tags, dict) else {}, "metrics": self.metrics}
        told = {"targets": self.targets, "phases": self.phases, "versions": versions()}
        result = {"name": self.name, "metadata": told, "config": self.request.get("config") or {}}
        return {"id": "launch", "timestamp": datetime.now(timezone.utc).isoformat(), "points": [point], "metric_defs": self.defs,
                "metadata": {"results": [result]}}


def versions() -> dict[str, str]:
    found = {"python": ".".join(str(n) for n in sys.version_info[:3])}
    for name in FRAMEWORKS:
        version = getattr(sys.modules.get(name), "__version__", None)
        if isinstance(version, str):
            found[name] = version
    return found


def greatest_memory() -> int:
    """VmHWM [bytes]; 0: the system does not tell."""
    try:
        with open("/proc/self/status", encoding="ascii") as f:
            return next((1024 * int(line.split()[1]) for line in f if line.startswith("VmHWM:")), 0)
    except OSError:
        return 0


# --- the talk ---


def serve(request: dict[str, Any]) -> dict[str, Any]:
    run = Run(request.get("benchmark") or "", request)
    try:
        found = find_benchmarks(request["path"])
        if not run.name:
            return {"names": list(found)}
        if run.name not in found:
            raise Failure(f"no benchmark '{run.name}'")
        run.execute(found[run.name])
        return {"run": run.document(), "hwm_bytes": greatest_memory()}
    except Interrupted:
        return {"failure": {"phase": run.phase, "status": INTERRUPTED, "message": "interrupted"}}
    except BaseException as fault:  # whatever a stranger's module raises, SystemExit too, is a failed launch
        return {"failure": {"phase": run.phase, "status": CHILD_FAILED, "message": one_line(fault)}}


def interrupt(_number: int, _frame: Any) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Interrupted


def main() -> int:
    try:
        answer = os.dup(ANSWER_FD)  # not inherited by what a benchmark starts
        os.close(ANSWER_FD)
        request = json.load(sys.stdin)
    except (OSError, ValueError):
        print("benchmark.py: no request: calibrax run starts this program", file=sys.stderr)
        return 2
    sys.path[0] = os.getcwd()  # modules are looked for where the user is, not beside this file
    signal.signal(signal.SIGTERM, interrupt)
    text = json.dumps({"schema": SCHEMA, "version": VERSION, **serve(request)})
    with os.fdopen(answer, "w", encoding="utf-8") as f:
        f.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
