"""A call of an adapter, measured: waiting for devices, the compilations of JAX, the peak of torch's allocator, the benchmark."""

from __future__ import annotations

import copy
import inspect
import sys
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import MetricDef, run_benchmark

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from . import Report
    from .adapters import BenchmarkAdapter

_DEPTH = 3  # of objects in a result that JAX does not look into


def leaves(value: Any) -> Iterator[Any]:
    """The values in tuples, lists and dicts."""
    if isinstance(value, (tuple, list)):
        for v in value:
            yield from leaves(v)
    elif isinstance(value, dict):
        for v in value.values():
            yield from leaves(v)
    else:
        yield value


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """The value with function(leaf) for each leaf in tuples, lists and dicts; the value itself where all leaves stay."""
    if isinstance(value, dict):
        new = {k: mapped(function, v) for k, v in value.items()}
        if all(new[k] is v for k, v in value.items()):
            return value
        made = copy.copy(value)  # of a subclass
        made.update(new)
        return made
    if isinstance(value, (tuple, list)):
        items = [mapped(function, v) for v in value]
        if all(a is b for a, b in zip(items, value, strict=True)):
            return value
        return value._make(items) if hasattr(value, "_make") else type(value)(items)  # named tuples
    return function(value)


def framework_of(values: Any) -> str:
    """The framework of the first array in values; "python": no array."""
    for value in leaves(values):
        module = type(value).__module__.partition(".")[0]
        for start, framework in (("jax", "jax"), ("torch", "torch"), ("numpy", "numpy"), ("calibrax_c", "calibrax")):
            if module.startswith(start):
                return framework
    return "python"


# --- arrays of JAX ---


def _contents(value: Any) -> list[Any]:
    """What sets and plain objects hold, data classes among them; of objects of the frameworks nothing."""
    if isinstance(value, (set, frozenset)):
        return list(value)
    module = type(value).__module__.partition(".")[0]
    if isinstance(value, type) or inspect.isroutine(value) or module in ("builtins", "types", "numpy", "torch", "sklearn", "calibrax_c"):
        return []
    slots = [getattr(value, n) for n in getattr(value, "__dataclass_fields__", ()) if hasattr(value, n)]
    return slots or list(getattr(value, "__dict__", {}).values())


def _jax_arrays(value: Any, depth: int = _DEPTH) -> Iterator[Any]:
    """The arrays of JAX in a value: in its trees, and in objects that are no trees."""
    jax = sys.modules["jax"]
    try:
        found = jax.tree.leaves(value)
    except (TypeError, ValueError):  # keys of a dict that JAX cannot sort
        found = list(leaves(value))
    for leaf in found:
        if isinstance(leaf, jax.Array):
            yield leaf
        elif depth and (inner := _contents(leaf)):
            yield from _jax_arrays(inner, depth - 1)


def synchronize(result: Any = None) -> Any:
    """Waits until the devices have computed `result` (JAX) or everything submitted to them (CUDA and XPU of torch); returns result."""
    if jax := sys.modules.get("jax"):
        jax.block_until_ready(list(_jax_arrays(result)))
    for device in ("cuda", "xpu"):
        module = getattr(sys.modules.get("torch"), device, None)
        if module is not None and getattr(module, "is_initialized", lambda: False)():
            module.synchronize()
    return result


def _copied(value: Any) -> Any:
    """Arguments whose arrays of JAX are copies: a call may consume those."""
    jax = sys.modules.get("jax")
    if jax is None or not any(True for _ in _jax_arrays(value)):
        return value

    def copied(leaf: Any) -> Any:
        return leaf.copy() if isinstance(leaf, jax.Array) else leaf

    try:
        return jax.tree.map(copied, value)
    except (TypeError, ValueError):  # keys of a dict that JAX cannot sort
        return mapped(copied, value)


class _Compilations:
    """When JAX traced, lowered and compiled in this process: intervals of time.perf_counter() [s].

    JAX reports a duration at its end, that of a function which another one calls before that of its caller, which contains it. So intervals
    that overlap are joined, and what is nested counts once.
    """

    def __init__(self) -> None:
        self._intervals: list[tuple[float, float]] = []
        self._lock = threading.Lock()
        self.watched = False
        self.builds = 0  # number of calls of XLA's compiler

    def watch(self) -> None:
        """Listens to JAX from now on, where it is imported."""
        jax = sys.modules.get("jax")
        if jax is not None and not self.watched:
            self.watched = True
            jax.monitoring.register_event_duration_secs_listener(self._listen)

    def _listen(self, event: str, seconds: float, **_: Any) -> None:
        if not event.startswith("/jax/core/compile/"):
            return
        end = time.perf_counter()
        start = end - seconds
        with self._lock:
            while self._intervals and self._intervals[-1][1] > start:
                start = min(start, self._intervals.pop()[0])
            self._intervals.append((start, end))
            self.builds += event.endswith("backend_compile_duration")

    def seconds(self, start: float, end: float) -> float:
        """How long JAX compiled between two readings of the clock."""
        total = 0.0
        for a, b in reversed(self._intervals):
            if b <= start:
                break
            total += max(0.0, min(b, end) - max(a, start))
        return total


_compilations = _Compilations()


# --- memory of torch on CUDA ---


class _DevicePeak:
    """The maximum memory allocated by torch from now on, on the devices that hold `values` or on which the allocation grows.

    torch resets the maximum to what is allocated at that time, so a model's weights are in it, and all else that the process keeps on these devices.
    """

    def __init__(self, values: Any) -> None:
        self._devices = {v.device.index for v in leaves(values) if getattr(v, "is_cuda", False) is True}  # nnx.Rngs has any attribute
        self._before: dict[int, int] = {}
        if cuda := self._cuda():
            for device in range(cuda.device_count()):
                cuda.reset_peak_memory_stats(device)
                self._before[device] = cuda.max_memory_allocated(device)

    @staticmethod
    def _cuda() -> Any:
        """torch.cuda where the process uses it, else None."""
        cuda = getattr(sys.modules.get("torch"), "cuda", None)
        return cuda if cuda is not None and cuda.is_initialized() else None

    def bytes(self) -> float | None:
        """[B] on all these devices; None where none was used."""
        cuda = self._cuda()
        peaks = {d: cuda.max_memory_allocated(d) for d in range(cuda.device_count())} if cuda else {}
        used = [peak for device, peak in peaks.items() if device in self._devices or peak > self._before.get(device, 0)]
        return float(sum(used)) if used else None


# --- the benchmark ---


class _Calls:
    """The data set of a call that consumes its arguments: each example is the arguments of a call, copies that are made before the clock starts."""

    def __init__(self, given: tuple[Any, Any]) -> None:
        self._given = given
        self.length = 1024

    def __len__(self) -> int:
        return self.length

    def get_batch(self, size: int, start: int) -> list[tuple[Any, Any]]:
        return [synchronize(_copied(self._given)) for _ in range(min(size, self.length - start))]


def _check_arguments(name: str, given: Any) -> None:
    """A TypeError where later calls could not read what the first one reads. The iterator itself is not asked, which would take from it."""
    for value in leaves(given):
        if isinstance(value, Iterator) and iter(value) is value:
            raise TypeError(f"an argument of {name} is a {type(value).__name__}, which the first call uses up: give a list, which each call can read")


def _check_result(name: str, result: Any) -> None:
    """A TypeError where the call has done no work yet."""
    for kind, found in (("a generator", inspect.isgenerator(result) or inspect.isasyncgen(result)), ("a coroutine", inspect.iscoroutine(result))):
        if found:
            raise TypeError(f"{name} returned {kind}, whose body has not run: adapt a function that {'runs it' if kind == 'a coroutine' else 'consumes it, for example with list()'}")


_METRICS = (
    ("compile_time", "s", "lower", "tracing, lowering and compiling before and in the first call, as JAX reports them"),
    ("first_call", "s", "info", "the first call less the compilation in it"),
    ("recompilations", "1", "lower", "compilations after the first call, which should not need any"),
    ("flop", "flop", "info", "floating-point operations of a call"),
    ("transcendental", "1", "info", "evaluations of exp, sin and the like in a call"),
    ("bytes_accessed", "B", "lower", "operands and results in memory of a call, after fusion"),
    ("peak_bytes", "B", "lower", "arguments, results and temporaries of a call at once; of torch on CUDA the maximum memory allocated by torch in the first call, the model among it"),
    ("parameters", "1", "info", "numbers in the model"),
    ("parameter_bytes", "B", "info", "memory of the model's parameters"),
)


class Benchmark:
    """A call of an adapter as a benchmark: an object for run_benchmark() and for `calibrax run --module FILE:OBJECT`.

    A timed call ends when the device has computed its result. The first call, and what it compiles, is timed apart. Arguments that a call
    consumes (donated buffers of JAX) are copied before each call and outside of its time; `donates` reports that. Of these a batch is one call in
    run(), and `--batch-size` calls, each with copies of its own, in `calibrax run`. Metrics beside the times are
    compile_time, first_call, recompilations, flop, transcendental, bytes_accessed, peak_bytes, parameters and parameter_bytes, where known.
    A TypeError: the call returns a generator or a coroutine, or an argument is an iterator, which it would use up.
    """

    def __init__(self, adapter: BenchmarkAdapter, args: tuple[Any, ...], kwargs: dict[str, Any], name: str, tags: Mapping[str, str]) -> None:
        self.adapter, self.name = adapter, name
        _check_arguments(name, [*args, *kwargs.values()])
        given = tuple(adapter.convert(a) for a in args), {k: adapter.convert(v) for k, v in kwargs.items()}
        self.tags = {"framework": adapter.framework if adapter.framework != "python" else framework_of(given), **tags}
        call = adapter.forward()
        _compilations.watch()
        before, begin = _compilations.builds, time.perf_counter()
        self.cost = adapter.cost(*given[0], **given[1])
        first = synchronize(_copied(given))
        peak = _DevicePeak([given, adapter.tensors()])
        start = time.perf_counter()
        result = synchronize(call(*first[0], **first[1]))
        end = time.perf_counter()
        _check_result(name, result)
        self._values = {"first_call": max(0.0, end - start - _compilations.seconds(start, end))}
        if self.cost.peak_bytes is None and (allocated := peak.bytes()):
            self.cost = self.cost._replace(peak_bytes=allocated, source=f"{self.cost.source}, torch.cuda".lstrip(", "))
        if _compilations.builds > before:
            self._values["compile_time"] = _compilations.seconds(begin, end)
        self._builds = _compilations.builds
        self.donates = "jax" in sys.modules and any(a.is_deleted() for a in _jax_arrays(first))
        if self.donates:
            self.dataset = _Calls(given)
            self.run_batch = lambda batch: [synchronize(call(*args, **kwargs)) for args, kwargs in batch]
        else:
            self.work = lambda: synchronize(call(*given[0], **given[1]))

    @property
    def metric_defs(self) -> dict[str, MetricDef]:
        return {name: MetricDef(name, unit, direction, description=text) for name, unit, direction, text in _METRICS}

    def run_evaluation(self) -> dict[str, float]:
        size = self.adapter.complexity()
        found = {**self._values, "recompilations": _compilations.builds - self._builds if _compilations.watched else None,
                 "flop": self.cost.flop, "transcendental": self.cost.transcendental, "bytes_accessed": self.cost.bytes, "peak_bytes": self.cost.peak_bytes,
                 "parameters": size.parameters or None, "parameter_bytes": size.bytes or None}
        return {name: float(value) for name, value in found.items() if value is not None}

    def run(self, *, samples: int = 30, **options: Any) -> Report:
        """Measures in this process; options are those of run_benchmark()."""
        one: dict[str, Any] = {}
        if self.donates:
            one, self.dataset.length = {"batch_size": 1}, samples + 1  # the first one does not count
        tags = {**self.tags, **(options.pop("tags", None) or {})}
        return run_benchmark(self, name=self.name, samples=samples, tags=tags, **one, **options)
