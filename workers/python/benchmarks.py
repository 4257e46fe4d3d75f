"""Benchmarks of a Python module, for `calibrax run --module`: the session of worker.py when it is started as `worker.py benchmark`.

A benchmark is a class, or an object, with setup, run_training, run_evaluation, teardown and get_performance_targets: BenchmarkProtocol of the
Python package calibrax.  Beside those of that protocol it may have
    work()                      timed, call by call
    dataset, run_batch(batch)   timed over the dataset: get_batch(batch_size, start), or examples by index as a list
    name, domain, tags          text, text, and text by text
    metric_defs                 by name: a dict, or an object with to_dict(), with unit and direction
A callable without any of these is timed as it is, call by call.  The parent asks for one phase after the other (calibrax/perf/launch/PROTOCOL.md);
a benchmark that fails is an answer with `failed`, and its reason is in the file of details.

Python >= 3.9; nothing is imported from outside the standard library but the module asked for.
"""

from __future__ import annotations

import inspect
import json
import os
import signal
import sys
import time
from datetime import datetime, timezone
from typing import Any, Callable, Iterator

from call import Failure, clock_step_s, load_module, one_line, wait_for
from places import code_of, other_rows, place_of, source_at
from protocol import Channel, require

CHILD_FAILED, INTERRUPTED = 10, 14  # of calibrax/base/status.h
PHASES = {"setup": "setup", "training": "run_training", "evaluation": "run_evaluation", "targets": "get_performance_targets", "teardown": "teardown"}
PROTOCOL = ("setup", "run_training", "run_evaluation", "teardown", "get_performance_targets")
RUNS = ("run_training", "run_evaluation", "work", "run_batch")
FRAMEWORKS = ("numpy", "scipy", "jax", "jaxlib", "flax", "torch", "tensorflow", "calibrax")


class Interrupted(BaseException):
    """SIGTERM: the parent ends the phase, and asks for a tear-down."""


# --- finding benchmarks ---


def of_a_library(file: str) -> bool:
    """Whether a file is one of an installed package, of Python itself, of this worker or of calibrax_c."""
    files = (os.__file__, __file__, getattr(sys.modules.get("calibrax_c"), "__file__", None))
    folders = [os.path.dirname(os.path.realpath(f)) + os.sep for f in files if f]
    return not {"site-packages", "dist-packages"}.isdisjoint(file.split(os.sep)) or file.startswith(tuple(folders))


def file_of_module(target: Any, source: str) -> str | None:
    """The file of the module that has a benchmark as an attribute, else of what --module names; None: a folder, or no file."""
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", {})
        if names.get("__file__") and not of_a_library(os.path.realpath(names["__file__"])) and any(v is target for v in list(names.values())):
            return names["__file__"]
    where = source if os.path.exists(source) or ":" not in source else source.rpartition(":")[0]
    return where if where.endswith(".py") else getattr(sys.modules.get(where), "__file__", None)


def own_code(target: Any, source: str) -> tuple[str, int | None] | None:
    """File and line of a benchmark, or of what its adapter has adapted; where that is code of a library the user's file alone; None: unknown."""
    for of in (target, getattr(inspect.getattr_static(target, "adapter", None), "target", None)):
        code = code_of(of) if of is not None else None
        if code and not of_a_library(code[0]):
            return code
    file = os.path.realpath(file_of_module(target, source) or os.devnull)
    return (file, None) if os.path.isfile(file) and not of_a_library(file) else None


def source_of(target: Any, source: str) -> dict[str, Any] | None:
    """The place of a benchmark's code as its run keeps it: the file is relative to its repository, else to the current folder; None: unknown, or in neither."""
    code = own_code(target, source)
    return source_at(*code, os.getcwd()) if code else None


def add(found: dict[str, Any], name: str, target: Any) -> None:
    """Adds a benchmark; a name has one."""
    if found.setdefault(name, target) is not target:
        raise Failure(f"two benchmarks are named '{name}': {place_of(found[name])} and {place_of(target)}; rename one")


def registered() -> dict[str, Any]:
    """Benchmarks that modules registered with register_benchmark of calibrax_c, or of the Python package calibrax."""
    found: dict[str, Any] = {}
    for registry in [sys.modules[name] for name in ("calibrax_c.benchmarks", "calibrax.core.registry") if name in sys.modules]:
        for name in registry.list_benchmarks():
            add(found, name, registry.get_benchmark(name))
    return found


def meets_protocol(target: Any) -> bool:
    return all(callable(getattr(target, name, None)) for name in PROTOCOL)


def name_of(target: Any, attribute: str) -> str:
    name = inspect.getattr_static(target, "name", None)
    return name if isinstance(name, str) and name else attribute


def defined_in(modules: list[Any]) -> Iterator[tuple[str, Any]]:
    """Name and target of each object that meets the protocol; classes only where they are defined."""
    for module in modules:
        for attribute, target in vars(module).items():
            if attribute.startswith("_") or not meets_protocol(target):
                continue
            if isinstance(target, type) and (target.__module__ != module.__name__ or inspect.isabstract(target) or getattr(target, "_is_protocol", False)):
                continue
            yield name_of(target, attribute), target


def collect(modules: list[Any]) -> dict[str, Any]:
    """The benchmarks that were registered, and those that the modules define."""
    found = registered()
    known = {id(target) for target in found.values()}
    for name, target in defined_in(modules):
        if id(target) not in known:
            add(found, name, target)
    return found


def attribute_of(module: Any, path: str) -> Any:
    """What a dotted name is in a module; None: nothing."""
    for part in path.split("."):
        module = getattr(module, part, None)
    return module


def find_benchmarks(path: str) -> dict[str, Any]:
    """The benchmarks of MODULE, FILE.py or FOLDER; with :NAME that one."""
    where, colon, wanted = path.rpartition(":")
    if not colon or os.path.exists(path):
        where, wanted = path, ""
    folder = os.path.isdir(where)
    files = files_of_folder(where) if folder else [where]
    modules = modules_of(files) if folder or where.endswith(".py") else [load_module(where)]
    if wanted:
        return {wanted: find_one(where, modules, wanted)}
    found = collect(modules)
    if not found and folder:
        raise Failure(f"no benchmark in the {len(files)} Python files of '{where}': decorate one with calibrax_c.register_benchmark")
    if not found:
        raise Failure(f"'{where}' defines no benchmark: a class with {', '.join(PROTOCOL)}; name another one as '{where}:Class'")
    return found


def find_one(where: str, modules: list[Any], wanted: str) -> Any:
    """The benchmark that is registered or named so, else what has that name in a module."""
    found: dict[str, Any] = {}
    for name, target in [*registered().items(), *defined_in(modules)]:
        if name == wanted:
            add(found, name, target)
    for target in () if found else [attribute_of(module, wanted) for module in modules]:
        if target is not None:
            add(found, wanted, target)
    if not found:
        raise Failure(f"'{where}' has no '{wanted}'")
    return found[wanted]


def files_of_folder(folder: str) -> list[str]:
    """The Python files in a folder and below it. Names that begin with _ or . are left out, and virtual environments; of a package only its packages count."""
    found = []
    package = os.path.isfile(os.path.join(folder, "__init__.py"))
    for top, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith(("_", ".")) and not os.path.exists(os.path.join(top, f, "pyvenv.cfg"))
                            and (not package or os.path.isfile(os.path.join(top, f, "__init__.py"))))
        found += [os.path.join(top, f) for f in sorted(files) if f.endswith(".py") and not f.startswith(("_", "."))]
    return found


def modules_of(files: list[str]) -> list[Any]:
    """Imports files; one in a package as part of it."""
    modules = []
    for file in files:
        top, package = os.path.dirname(os.path.abspath(file)), ""
        while os.path.isfile(os.path.join(top, "__init__.py")):
            top, name = os.path.split(top)
            package = f"{name}.{package}"
        if top not in sys.path:
            sys.path.insert(0, top)
        try:
            modules.append(load_module(package + os.path.basename(file)[:-3] if package else file))
        except Failure:
            raise
        except BaseException as fault:
            raise Failure(f"cannot import '{file}': {one_line(fault)}") from fault
    return modules


# --- running one ---


class Call:
    """A callable as a benchmark: what is timed is one call, and the wait for a device where a framework with devices is loaded."""

    def __init__(self, target: Callable[..., Any], config: dict[str, Any]) -> None:
        devices = "jax" in sys.modules or "torch" in sys.modules
        self.work = (lambda: wait_for(target(**config))) if devices else (lambda: target(**config)) if config else target


class Session:
    """One launch of one benchmark, message by message.  Each method answers with a reply's members."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._name = ""
        self._batch_size = 1
        self._detail = -1
        self._benchmark: Any = None
        self._source: dict[str, Any] | None = None
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # but in a phase
        self.handlers = {"benchmark": self.benchmark, "phase": self.phase, "epoch": self.epoch, "dataset": self.dataset,
                         "batch": self.batch, "bye": lambda _: {"op": "bye"}}

    # messages

    def benchmark(self, message: dict[str, Any]) -> dict[str, Any]:
        """Finds benchmarks, makes the one that is named, and describes it."""
        require(self._detail < 0, "benchmark comes once")
        (self._detail,) = self._channel.take_descriptors(1)
        self._name = message.get("name") or ""
        self._batch_size = message.get("batch_size", 1)

        def find() -> dict[str, Any]:
            sys.path[0] = os.getcwd()  # modules are looked for where the user is, not beside this file
            found = find_benchmarks(message["source"])
            if not self._name:
                return {"names": list(found)}
            if self._name not in found:
                raise Failure(f"no benchmark '{self._name}'")
            self._make(found[self._name], message.get("config") or {})
            self._source = source_of(found[self._name], message["source"])
            return self._describe()

        return self._answer("benchmark", find)

    def phase(self, message: dict[str, Any]) -> dict[str, Any]:
        method = PHASES.get(message.get("phase", ""), "")
        require(method, "there is no such phase")
        call = self._numbers if method in RUNS or method == "get_performance_targets" else lambda name: getattr(self._benchmark, name)() or {}
        return self._answer("phase", lambda: {"values": call(method)}, interruptible=method != "teardown")

    def epoch(self, message: dict[str, Any]) -> dict[str, Any]:
        iterations, clock, ns = range(message["iterations"]), time.perf_counter_ns, 0

        def run() -> None:
            nonlocal ns
            work = self._benchmark.work
            start = clock()
            for _ in iterations:
                work()
            ns = clock() - start

        return {**self._answer("epoch", run), "ns": ns}

    def dataset(self, _: dict[str, Any]) -> dict[str, Any]:
        def count() -> dict[str, Any]:
            dataset = getattr(self._benchmark, "dataset", None)
            if dataset is not None and len(dataset) == 0:
                raise Failure("the dataset has no examples")
            return {"examples": 0 if dataset is None else len(dataset)}

        return self._answer("dataset", count)

    def batch(self, message: dict[str, Any]) -> dict[str, Any]:
        at, examples, clock, ns = message["start"], message["examples"], time.perf_counter_ns, 0

        def run() -> None:
            nonlocal ns
            dataset, run_batch = self._benchmark.dataset, self._benchmark.run_batch
            get_batch = getattr(dataset, "get_batch", None)
            if callable(get_batch):
                batch = get_batch(self._batch_size, at)
                if (rows := other_rows(batch, examples)) is not None:
                    raise Failure(f"the batch from example {at} on has {rows} rows: get_batch has to give {examples}")
            else:
                batch = [dataset[i] for i in range(at, at + examples)]
            start = clock()
            run_batch(batch)
            ns = clock() - start

        return {**self._answer("batch", run), "ns": ns}

    # what they share

    def _answer(self, op: str, call: Callable[[], Any], interruptible: bool = True) -> dict[str, Any]:
        """Runs a part of the benchmark; whatever a user's module raises, SystemExit too, is data for the parent."""
        start = time.monotonic_ns()
        try:
            if interruptible:
                signal.signal(signal.SIGTERM, _interrupt)
            detail = call()
            ns = time.monotonic_ns() - start
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        except Interrupted:
            return self._failed(op, INTERRUPTED, "interrupted")
        except BaseException as fault:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            return self._failed(op, CHILD_FAILED, one_line(fault))
        if detail is not None:
            self._write(detail)
        return {"op": op, "ns": ns}

    def _failed(self, op: str, status: int, message: str) -> dict[str, Any]:
        self._write({"failure": {"status": status, "message": message}})
        return {"op": op, "ns": 0, "failed": True}

    def _write(self, detail: dict[str, Any]) -> None:
        os.ftruncate(self._detail, 0)
        os.lseek(self._detail, 0, os.SEEK_SET)
        text = memoryview(json.dumps(detail).encode())
        while text:
            text = text[os.write(self._detail, text) :]

    def _has(self, method: str) -> bool:
        return callable(getattr(self._benchmark, method, None))

    def _make(self, target: Any, config: dict[str, Any]) -> None:
        runs = any(callable(getattr(target, name, None)) for name in RUNS)
        if isinstance(target, type) or not runs:
            if not callable(target):
                raise Failure(f"'{self._name}' is {type(target).__name__}, no benchmark")
            made = target(**config)
            if not isinstance(target, type) and not any(callable(getattr(made, name, None)) for name in RUNS):
                made = Call(target, config)  # no factory of benchmarks, but what is to be timed
        elif config:
            raise Failure(f"'{self._name}' is an object already: a configuration needs its class")
        else:
            made = target
        self._benchmark = made
        if not any(self._has(name) for name in RUNS):
            raise Failure(f"'{self._name}' has neither {', '.join(RUNS[:-1])} nor {RUNS[-1]}")

    def _describe(self) -> dict[str, Any]:
        work = [name for name in ("work", "run_batch") if self._has(name)]
        defs = {}
        for name, given in (getattr(self._benchmark, "metric_defs", None) or {}).items():
            defs[name] = {"unit": "", **(given.to_dict() if hasattr(given, "to_dict") else dict(given)), "name": name}
        tags, domain = getattr(self._benchmark, "tags", None), getattr(self._benchmark, "domain", "")
        return {"phases": [phase for phase, method in PHASES.items() if self._has(method)] + ["work"] * bool(work),
                "batches": work[:1] == ["run_batch"], "domain": domain if isinstance(domain, str) else "",
                "tags": {str(k): str(v) for k, v in tags.items()} if isinstance(tags, dict) else {}, "clock_ns": 1e9 * clock_step_s(),
                **({"source": self._source} if self._source else {}), "versions": versions(), "run": {"id": "launch", "timestamp": datetime.now(timezone.utc).isoformat(), "points": [], "metric_defs": defs}}

    def _numbers(self, method: str) -> dict[str, float]:
        given = getattr(self._benchmark, method)()
        if given is None:
            return {}
        if not hasattr(given, "items"):
            raise Failure(f"{method} gave {type(given).__name__}, not a dict of numbers")
        found = {}
        for key, value in given.items():
            try:
                if isinstance(value, (str, bytes, bool)) or not isinstance(key, str):
                    raise TypeError
                found[key] = float(value)
            except (TypeError, ValueError) as fault:
                raise Failure(f"{method} gave {key!r} as {type(value).__name__}, not a number") from fault
        return found


def versions() -> dict[str, str]:
    found = {"python": ".".join(str(n) for n in sys.version_info[:3])}
    for name in FRAMEWORKS:
        version = getattr(sys.modules.get(name), "__version__", None)
        if isinstance(version, str):
            found[name] = version
    return found


def _interrupt(_number: int, _frame: Any) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Interrupted
