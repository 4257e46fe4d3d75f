"""Models and functions of JAX, Flax NNX, torch and scikit-learn, and any callable, as benchmarks.

adapt(target) finds the adapter of an object; what it returns can be called, described and measured:

>>> import calibrax_c as cx
>>> from calibrax_c import adapters
>>> squares = adapters.adapt(lambda x: cx.array.sum(x * x))
>>> squares.cost(cx.array.ones(1000)).flop  # 1000 products, 999 sums
1999.0
>>> report = squares.benchmark(cx.array.ones(1000), name="squares").run(samples=5, detect=False)
>>> report.run.points[0].name, report.run.points[0].tags
('squares', {'framework': 'calibrax'})

No framework is imported before an object of it is adapted.
"""

from __future__ import annotations

import copy
import sys
import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from . import MetricDef, cost, run_benchmark
from . import array as _array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from . import Report

__all__ = ["AdapterRegistry", "Benchmark", "BenchmarkAdapter", "CallableBenchmarkAdapter", "Complexity", "Cost", "EstimatorBenchmarkAdapter",
           "JaxBenchmarkAdapter", "NNXBenchmarkAdapter", "Parameter", "TorchBenchmarkAdapter", "adapt", "register_adapter", "synchronize"]


class Cost(NamedTuple):
    """Work of one call. None is unknown; notes gives the reasons, and what the counts leave out."""

    flop: float | None = None
    """Floating-point operations; a multiplication with an addition counts 2. A loop counts each of its steps."""
    transcendental: float | None = None
    """Evaluations of exp, sin and the like, which flop does not contain."""
    bytes: float | None = None
    """Operands and results in memory, after fusion, as XLA accounts for them: the body of a loop counts once."""
    peak_bytes: float | None = None
    """Arguments, results and temporaries at once."""
    source: str = ""
    notes: tuple[str, ...] = ()


class Parameter(NamedTuple):
    """One array of a model, for example "encoder.dense.kernel"."""

    path: str
    size: int
    dtype: str
    bytes: int


class Complexity(NamedTuple):
    """Size of a model, and the work of a forward pass where arguments were given."""

    parameters: int
    bytes: int
    bytes_by_dtype: dict[str, int]
    largest: tuple[str, int] | None
    """Layer with the most parameters of its own, and their number."""
    cost: Cost | None


def synchronize(result: Any = None) -> Any:
    """Waits until the devices have computed `result` (JAX) or everything submitted to them (CUDA and XPU of torch); returns result."""
    if jax := sys.modules.get("jax"):
        jax.block_until_ready(result)
    for device in ("cuda", "xpu"):
        module = getattr(sys.modules.get("torch"), device, None)
        if module is not None and getattr(module, "is_initialized", lambda: False)():
            module.synchronize()
    return result


def _leaves(value: Any) -> Iterator[Any]:
    """The values in tuples, lists and dicts."""
    if isinstance(value, (tuple, list)):
        for v in value:
            yield from _leaves(v)
    elif isinstance(value, dict):
        for v in value.values():
            yield from _leaves(v)
    else:
        yield value


def _framework_of(values: Any) -> str:
    """The framework of the first array in values; "python": no array."""
    for value in _leaves(values):
        module = type(value).__module__.partition(".")[0]
        for start, framework in (("jax", "jax"), ("torch", "torch"), ("numpy", "numpy"), ("calibrax_c", "calibrax")):
            if module.startswith(start):
                return framework
    return "python"


class BenchmarkAdapter(ABC):
    """An object of some framework as something that can be called, described and measured; can_adapt() states which objects."""

    framework: ClassVar[str] = "python"

    def __init__(self, target: Any) -> None:
        self.target = target

    @classmethod
    @abstractmethod
    def can_adapt(cls, target: Any) -> bool:
        """Whether this adapter accepts target."""

    @classmethod
    def declined(cls, target: Any) -> str:
        """Why can_adapt(target) is False, for the message of adapt()."""
        return "its can_adapt() returned False"

    @property
    def name(self) -> str:
        """target.name, else target.model_name, else the name of the function or of the class."""
        for attribute in ("name", "model_name", "__name__"):
            value = getattr(self.target, attribute, None)
            if isinstance(value, str) and value:
                return value
        return type(self.target).__name__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.target(*args, **kwargs)

    def convert(self, value: Any) -> Any:
        """An array of another framework as one of this framework, by DLPack. JAX shares the memory of an Array; torch, which can write, copies it."""
        return value

    def forward(self) -> Callable[..., Any]:
        """The call that is measured."""
        return self.__call__

    def parameters(self) -> Iterator[Parameter]:
        """The arrays of the model."""
        return iter(())

    def cost(self, *args: Any, **kwargs: Any) -> Cost:
        """Work of one call with these arguments."""
        return Cost(notes=(f"{type(self.target).__name__} objects report no work",))

    def complexity(self, *args: Any, **kwargs: Any) -> Complexity:
        """Parameters and their memory; with arguments also the work of a call."""
        parameters = list(self.parameters())
        by_dtype: dict[str, int] = {}
        layers: dict[str, int] = {}
        for p in parameters:
            layer = p.path.rpartition(".")[0] or self.name
            by_dtype[p.dtype] = by_dtype.get(p.dtype, 0) + p.bytes
            layers[layer] = layers.get(layer, 0) + p.size
        largest = max(layers.items(), key=lambda layer: layer[1], default=None)
        return Complexity(sum(p.size for p in parameters), sum(by_dtype.values()), by_dtype, largest, self.cost(*args, **kwargs) if args or kwargs else None)

    def benchmark(self, *args: Any, name: str | None = None, tags: Mapping[str, str] | None = None, **kwargs: Any) -> Benchmark:
        """A call with these arguments, which are converted once, as a benchmark."""
        return Benchmark(self, args, kwargs, name or self.name, tags or {})


# --- measuring ---

_compilations: list[float] = []  # [s] of JAX in this process, tracing and lowering among them; see _watch_compilations
_builds = 0  # number of calls of XLA's compiler


def _watch_compilations() -> None:
    """Adds up what JAX reports about compilation from now on."""
    jax = sys.modules.get("jax")
    if jax is None or _compilations:
        return
    _compilations.append(0.0)

    def listen(event: str, seconds: float, **_: Any) -> None:
        global _builds
        if event.startswith("/jax/core/compile/"):
            _compilations[0] += seconds
            _builds += event.endswith("backend_compile_duration")

    jax.monitoring.register_event_duration_secs_listener(listen)


def _cuda() -> Any:
    """torch.cuda where the process uses it, else None."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return cuda if cuda is not None and cuda.is_initialized() else None


def _forget_device_peak() -> None:
    if cuda := _cuda():
        for device in range(cuda.device_count()):
            cuda.reset_peak_memory_stats(device)


def _device_peak() -> float | None:
    """[B] the most that torch has lent on all devices since then; None: it uses none."""
    cuda = _cuda()
    return float(sum(cuda.max_memory_allocated(device) for device in range(cuda.device_count()))) if cuda else None


def _copied(value: Any) -> Any:
    """Arguments whose arrays of JAX are copies: a call may consume those."""
    jax = sys.modules.get("jax")
    return value if jax is None else jax.tree.map(lambda a: a.copy() if isinstance(a, jax.Array) else a, value)


class _Calls:
    """The data set of a call that consumes its arguments: each example is a call with copies, which are made before the clock starts."""

    def __init__(self, call: Callable[..., Any], given: tuple[Any, Any]) -> None:
        self._call, self._given = call, given

    def __len__(self) -> int:
        return 1 << 20

    def get_batch(self, _size: int, _start: int) -> Callable[[], Any]:
        args, kwargs = synchronize(_copied(self._given))
        return lambda: synchronize(self._call(*args, **kwargs))


_METRICS = (
    ("compile_time", "s", "lower", "tracing, lowering and compiling before and in the first call, as JAX reports them"),
    ("first_call", "s", "info", "the first call less compile_time"),
    ("recompilations", "1", "lower", "compilations after the first call, which should not need any"),
    ("flop", "flop", "info", "floating-point operations of a call"),
    ("transcendental", "1", "info", "evaluations of exp, sin and the like in a call"),
    ("bytes_accessed", "B", "lower", "operands and results in memory of a call, after fusion"),
    ("peak_bytes", "B", "lower", "arguments, results and temporaries of a call at once; of torch on CUDA all that its allocator has lent in the first call"),
    ("parameters", "1", "info", "numbers in the model"),
    ("parameter_bytes", "B", "info", "memory of the model's parameters"),
)


class Benchmark:
    """A call of an adapter as a benchmark: an object for run_benchmark() and for `calibrax run --module FILE:OBJECT`.

    A timed call ends when the device has computed its result. The first call, and what it compiles, is timed apart. Arguments that a call
    consumes (donated buffers of JAX) are copied before each call and outside of its time; `donates` reports that. Metrics beside the times are
    compile_time, first_call, recompilations, flop, transcendental, bytes_accessed, peak_bytes, parameters and parameter_bytes, where known.
    """

    def __init__(self, adapter: BenchmarkAdapter, args: tuple[Any, ...], kwargs: dict[str, Any], name: str, tags: Mapping[str, str]) -> None:
        self.adapter, self.name = adapter, name
        given = tuple(adapter.convert(a) for a in args), {k: adapter.convert(v) for k, v in kwargs.items()}
        self.tags = {"framework": adapter.framework if adapter.framework != "python" else _framework_of(given), **tags}
        call = adapter.forward()
        _watch_compilations()
        compiled, before = sum(_compilations), _builds
        self.cost = adapter.cost(*given[0], **given[1])
        first = synchronize(_copied(given))
        _forget_device_peak()
        within = sum(_compilations)
        start = time.perf_counter()
        synchronize(call(*first[0], **first[1]))
        self._values = {"first_call": time.perf_counter() - start - (sum(_compilations) - within)}
        if self.cost.peak_bytes is None and (peak := _device_peak()):
            self.cost = self.cost._replace(peak_bytes=peak, source=f"{self.cost.source}, torch.cuda".lstrip(", "))
        if _builds > before:
            self._values["compile_time"] = sum(_compilations) - compiled
        self._builds = _builds
        self.donates = any(getattr(a, "is_deleted", bool)() for a in _leaves(_jax_leaves(first)))
        if self.donates:
            self.dataset = _Calls(call, given)
            self.run_batch = lambda one: one()
        else:
            self.work = lambda: synchronize(call(*given[0], **given[1]))

    @property
    def metric_defs(self) -> dict[str, MetricDef]:
        return {name: MetricDef(name, unit, direction, description=text) for name, unit, direction, text in _METRICS}

    def run_evaluation(self) -> dict[str, float]:
        size = self.adapter.complexity()
        found = {**self._values, "recompilations": _builds - self._builds if _compilations else None,
                 "flop": self.cost.flop, "transcendental": self.cost.transcendental, "bytes_accessed": self.cost.bytes, "peak_bytes": self.cost.peak_bytes,
                 "parameters": size.parameters or None, "parameter_bytes": size.bytes or None}
        return {name: float(value) for name, value in found.items() if value is not None}

    def run(self, *, samples: int = 30, **options: Any) -> Report:
        """Measures in this process; options are those of run_benchmark()."""
        one: dict[str, Any] = {"batch_size": 1, "max_batches": samples + 1} if self.donates else {}  # the first one does not count
        tags = {**self.tags, **(options.pop("tags", None) or {})}
        return run_benchmark(self, name=self.name, samples=samples, tags=tags, **one, **options)


def _jax_leaves(value: Any) -> list[Any]:
    jax = sys.modules.get("jax")
    return [] if jax is None else jax.tree.leaves(value)


# --- the adapters ---


class CallableBenchmarkAdapter(BenchmarkAdapter):
    """Any callable. Of functions of calibrax arrays and of JAX arrays the work is known."""

    @classmethod
    def can_adapt(cls, target: Any) -> bool:
        return callable(target)

    @classmethod
    def declined(cls, target: Any) -> str:
        return "it cannot be called"

    def cost(self, *args: Any, **kwargs: Any) -> Cost:
        framework = _framework_of((args, kwargs))
        try:
            if framework == "jax":
                from ._jaxpr import work_of

                return work_of(self.target, args, kwargs)
            if framework == "calibrax":
                work = cost(lambda *a: self.target(*a, **kwargs), *args)
                return Cost(float(work["flop"]), float(work["transcendental"]), float(work["in_bytes"] + work["out_bytes"]), None, "calibrax graph")
        except Exception as fault:  # whatever a function raises that is traced: its work stays unknown
            return Cost(notes=(f"tracing raised {type(fault).__name__}: {' '.join(str(fault).split())[:200]}",))
        return Cost(notes=(f"the work of a function of {framework} objects is unknown",))


class _Lent:
    """An Array for a framework that never writes to arrays, so that it needs no copy; JAX does not ask for read-only memory by itself."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __dlpack__(self, **options: Any) -> Any:
        return self._value.__dlpack__(**{**options, "copy": False})

    def __dlpack_device__(self) -> Any:
        return self._value.__dlpack_device__()


class JaxBenchmarkAdapter(BenchmarkAdapter):
    """What jax.jit() returns."""

    framework = "jax"

    @classmethod
    def can_adapt(cls, target: Any) -> bool:
        jax = sys.modules.get("jax")
        return jax is not None and isinstance(target, jax.stages.Wrapped)

    @classmethod
    def declined(cls, target: Any) -> str:
        return "it is not a function that jax.jit() returned" if "jax" in sys.modules else "jax is not imported"

    def convert(self, value: Any) -> Any:
        jax = sys.modules["jax"]
        if isinstance(value, jax.Array) or not hasattr(value, "__dlpack__") or not getattr(value, "shape", ()):
            return value  # Python's numbers stay weakly typed
        return jax.dlpack.from_dlpack(_Lent(value) if isinstance(value, _array.Array) else value)

    def cost(self, *args: Any, **kwargs: Any) -> Cost:
        from ._jaxpr import work_of

        return work_of(self.target, args, kwargs)


class TorchBenchmarkAdapter(BenchmarkAdapter):
    """A torch.nn.Module. In evaluation mode the measured call keeps no gradients."""

    framework = "torch"

    @classmethod
    def can_adapt(cls, target: Any) -> bool:
        torch = sys.modules.get("torch")
        return torch is not None and isinstance(target, torch.nn.Module)

    @classmethod
    def declined(cls, target: Any) -> str:
        return "it is not a torch.nn.Module" if "torch" in sys.modules else "torch is not imported"

    def convert(self, value: Any) -> Any:
        torch = sys.modules["torch"]
        if isinstance(value, torch.Tensor) or not hasattr(value, "__dlpack__"):
            return value
        return torch.from_dlpack(value)

    def forward(self) -> Callable[..., Any]:
        return self.target if self.target.training else sys.modules["torch"].no_grad()(self.target)

    def parameters(self) -> Iterator[Parameter]:
        for path, p in self.target.named_parameters():
            yield Parameter(path, p.numel(), str(p.dtype).removeprefix("torch."), p.numel() * p.element_size())

    def cost(self, *args: Any, **kwargs: Any) -> Cost:
        notes = ("only products, convolutions and attention are counted",)
        no_grad = sys.modules["torch"].no_grad
        try:
            from torch.utils.flop_counter import FlopCounterMode
        except ImportError:  # before torch 2.1
            from ._torch_flop import FlopCounter

            with FlopCounter() as old, no_grad():
                self.target(*args, **kwargs)
            return Cost(old.flop, source="operations of a forward pass", notes=notes)
        with FlopCounterMode(display=False) as counter, no_grad():
            self.target(*args, **kwargs)
        return Cost(float(counter.get_total_flops()), source="torch.utils.flop_counter", notes=notes)


class EstimatorBenchmarkAdapter(BenchmarkAdapter):
    """An estimator of scikit-learn, or of another library with its methods; method: "predict", else "transform", unless given ("fit": of a clone)."""

    framework = "sklearn"
    _METHODS = ("predict", "transform", "fit")

    def __init__(self, target: Any, method: str | None = None) -> None:
        super().__init__(target)
        self.method = method or next(m for m in self._METHODS if callable(getattr(target, m, None)))
        if not callable(getattr(target, self.method, None)):
            raise ValueError(f"{type(target).__name__} has no method {self.method!r}")

    @classmethod
    def can_adapt(cls, target: Any) -> bool:
        return not isinstance(target, type) and all(callable(getattr(target, m, None)) for m in ("fit", "get_params"))

    @classmethod
    def declined(cls, target: Any) -> str:
        return "it has no fit() and get_params() of an estimator"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        target = self.target
        if self.method == "fit":
            base = sys.modules.get("sklearn.base")
            target = base.clone(target) if base else copy.deepcopy(target)
        return getattr(target, self.method)(*args, **kwargs)

    def convert(self, value: Any) -> Any:
        return sys.modules["numpy"].from_dlpack(value) if isinstance(value, _array.Array) else value

    def parameters(self) -> Iterator[Parameter]:
        for path, value in sorted(vars(self.target).items()):
            if path.endswith("_") and not path.startswith("_") and hasattr(value, "nbytes") and hasattr(value, "dtype"):
                yield Parameter(path, int(value.size), str(value.dtype), int(value.nbytes))


def _make_nnx() -> type:
    """NNXBenchmarkAdapter: its class is made when flax is there, because it is an nnx.Module."""
    import jax
    from flax import nnx

    class NNXBenchmarkAdapter(nnx.Module, BenchmarkAdapter):
        """A model of Flax NNX. The adapter is an nnx.Module with the model as `target`, so nnx.jit, nnx.grad and nnx.vmap take it."""

        framework = "jax"

        @classmethod
        def can_adapt(cls, target: Any) -> bool:
            return isinstance(target, nnx.Module)

        @classmethod
        def declined(cls, target: Any) -> str:
            return "it is not an nnx.Module"

        convert = JaxBenchmarkAdapter.convert

        def forward(self) -> Callable[..., Any]:
            """The call compiled by jax.jit; what it changes in the model's state is dropped, so all calls are alike."""
            compiled, state = self._compiled()
            return lambda *args, **kwargs: compiled(state, args, kwargs)

        def cost(self, *args: Any, **kwargs: Any) -> Cost:
            from ._jaxpr import work_of

            compiled, state = self._compiled()
            return work_of(compiled, (state, args, kwargs), {})

        def parameters(self) -> Iterator[Parameter]:
            for path, value in jax.tree_util.tree_flatten_with_path(nnx.to_pure_dict(nnx.state(self.target, nnx.Param)))[0]:
                yield Parameter(".".join(str(getattr(k, "key", k)) for k in path), value.size, str(value.dtype), value.nbytes)

        def _compiled(self) -> tuple[Any, Any]:
            graph, state = nnx.split(self.target)
            return _nnx_call(graph), state

    def _nnx_call(graph: Any) -> Any:
        if graph not in calls:
            calls[graph] = jax.jit(lambda state, args, kwargs: nnx.merge(graph, state)(*args, **kwargs))
        return calls[graph]

    calls: dict[Any, Any] = {}
    NNXBenchmarkAdapter.__qualname__ = "NNXBenchmarkAdapter"
    return NNXBenchmarkAdapter


def __getattr__(name: str) -> Any:
    if name == "NNXBenchmarkAdapter":
        globals()[name] = made = _make_nnx()
        return made
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class AdapterRegistry:
    """Adapters in order; the one that was registered last is tried first."""

    def __init__(self) -> None:
        self._adapters: list[type[BenchmarkAdapter]] = []

    def register(self, adapter: type[BenchmarkAdapter]) -> type[BenchmarkAdapter]:
        """Adds an adapter; usable as a decorator."""
        if not (isinstance(adapter, type) and callable(getattr(adapter, "can_adapt", None))):
            raise TypeError(f"an adapter must be a class with can_adapt(), got {adapter!r}")
        self._adapters.append(adapter)
        return adapter

    def adapt(self, target: Any) -> BenchmarkAdapter:
        """The first adapter that accepts target. ValueError: none does; the message names each with its reason."""
        if isinstance(target, BenchmarkAdapter):
            return target
        reasons = []
        for adapter in self._candidates():
            try:
                if adapter.can_adapt(target):
                    return adapter(target)
                reason = getattr(adapter, "declined", BenchmarkAdapter.declined)(target)
            except Exception as fault:  # whatever an adapter of a user raises: the next one is tried
                reason = f"it raised {type(fault).__name__}: {' '.join(str(fault).split())[:200]}"
            reasons.append(f"{adapter.__name__}: {reason}")
        raise ValueError(f"no adapter accepts {type(target).__name__} {target!r:.80}: " + "; ".join(reasons or ["none is registered"]))

    def _candidates(self) -> Iterator[type[BenchmarkAdapter]]:
        yield from reversed(self._adapters)


class _NoFlax(CallableBenchmarkAdapter):
    """In the place of NNXBenchmarkAdapter, whose class needs flax."""

    @classmethod
    def can_adapt(cls, target: Any) -> bool:
        return False

    @classmethod
    def declined(cls, target: Any) -> str:
        return "flax is not imported"


_NoFlax.__name__ = "NNXBenchmarkAdapter"


class _BuiltIn(AdapterRegistry):
    """The registry of adapt(): behind those of users the adapters of this module, that of NNX only where flax is imported."""

    def _candidates(self) -> Iterator[type[BenchmarkAdapter]]:
        yield from super()._candidates()
        yield __getattr__("NNXBenchmarkAdapter") if "flax" in sys.modules else _NoFlax
        yield from (TorchBenchmarkAdapter, JaxBenchmarkAdapter, EstimatorBenchmarkAdapter, CallableBenchmarkAdapter)


_registry = _BuiltIn()


def adapt(target: Any) -> BenchmarkAdapter:
    """An adapter for target: one that a user registered, else that of NNX, torch, JAX, scikit-learn or of callables.

    ValueError: none accepts it; the message names each adapter that was tried, with its reason.
    """
    return _registry.adapt(target)


def register_adapter(adapter: type[BenchmarkAdapter]) -> type[BenchmarkAdapter]:
    """Adds an adapter, which adapt() then tries first; usable as a decorator."""
    return _registry.register(adapter)
