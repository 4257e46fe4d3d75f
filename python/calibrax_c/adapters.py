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
import functools
import sys
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from . import array as _array
from . import cost
from ._measuring import Benchmark, framework_of, mapped, synchronize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

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


class BenchmarkAdapter(ABC):
    """An object of some framework as something that can be called, described and measured; can_adapt() states which objects."""

    framework: ClassVar[str] = "python"
    _needs: ClassVar[str] = "sys"  # the module whose objects it accepts
    _declines: ClassVar[str] = "its can_adapt() returned False"

    def __init__(self, target: Any) -> None:
        self.target = target

    @classmethod
    @abstractmethod
    def can_adapt(cls, target: Any) -> bool:
        """Whether this adapter accepts target."""

    @classmethod
    def declined(cls, target: Any) -> str:
        """Why can_adapt(target) is False, for the message of adapt()."""
        return cls._declines if cls._needs in sys.modules else f"{cls._needs} is not imported"

    @property
    def name(self) -> str:
        """target.name, else target.model_name, else the name of the function or of the class; of functools.partial that of its function."""
        target = self.target
        while True:
            for attribute in ("name", "model_name", "__name__"):
                value = getattr(target, attribute, None)
                if isinstance(value, str) and value:
                    return value
            inner = target.func if isinstance(target, functools.partial) else getattr(target, "__wrapped__", None)
            if inner is None:
                return type(target).__name__
            target = inner

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.target(*args, **kwargs)

    def convert(self, value: Any) -> Any:
        """Arrays of other frameworks, also in tuples, lists and dicts, as arrays of this framework, so that calls need not transfer them.

        By DLPack where that is possible, without a copy; torch, whose functions can write to their arguments, copies an Array. What has strides
        that DLPack lacks, is read-only, or is on another device than the framework computes on, is copied. Other values stay as they are.
        """
        return mapped(self._array, value)

    def _array(self, value: Any) -> Any:
        """convert() of a leaf."""
        return value

    def tensors(self) -> list[Any]:
        """What the model keeps on a device of torch."""
        return []

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


# --- the adapters ---


class CallableBenchmarkAdapter(BenchmarkAdapter):
    """Any callable. Of functions of calibrax arrays and of JAX arrays the work is known."""

    _declines = "it cannot be called"

    @classmethod
    def can_adapt(cls, target: Any) -> bool:
        return callable(target)

    def cost(self, *args: Any, **kwargs: Any) -> Cost:
        framework = framework_of((args, kwargs))
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


def _or_same(convert: Callable[[Any], Any], value: Any) -> Any:
    """convert(value); the value where it cannot be converted (an array of objects): the call decides what to do with it."""
    try:
        return convert(value)
    except Exception:  # each framework raises its own kind
        return value


class JaxBenchmarkAdapter(BenchmarkAdapter):
    """What jax.jit() returns."""

    framework = _needs = "jax"
    _declines = "it is not a function that jax.jit() returned"

    @classmethod
    def can_adapt(cls, target: Any) -> bool:
        jax = sys.modules.get("jax")
        return jax is not None and isinstance(target, jax.stages.Wrapped)

    def _array(self, value: Any) -> Any:
        jax = sys.modules["jax"]
        if isinstance(value, jax.Array) or not hasattr(value, "__dlpack__"):
            return value  # Python's numbers stay weakly typed
        try:
            made = jax.dlpack.from_dlpack(_Lent(value) if isinstance(value, _array.Array) else value)
        except Exception:  # of strides, read-only memory, a dtype: each framework raises its own kind
            return _or_same(jax.numpy.asarray, value)
        on_cpu = next(iter(made.devices())).platform == "cpu"
        return jax.device_put(made, jax.devices()[0]) if on_cpu and jax.default_backend() != "cpu" else made

    def cost(self, *args: Any, **kwargs: Any) -> Cost:
        from ._jaxpr import work_of

        return work_of(self.target, args, kwargs)


class TorchBenchmarkAdapter(BenchmarkAdapter):
    """A torch.nn.Module. In evaluation mode the measured call keeps no gradients."""

    framework = _needs = "torch"
    _declines = "it is not a torch.nn.Module"

    @classmethod
    def can_adapt(cls, target: Any) -> bool:
        torch = sys.modules.get("torch")
        return torch is not None and isinstance(target, torch.nn.Module)

    def _array(self, value: Any) -> Any:
        torch = sys.modules["torch"]
        if isinstance(value, torch.Tensor) or not hasattr(value, "__dlpack__"):
            return value
        if min(getattr(value, "strides", None) or (0,)) < 0:  # which torch 1.13 ends the process for
            made = _or_same(self._copied, value)
        else:
            try:
                made = torch.from_dlpack(value)
            except Exception:  # of read-only memory, a dtype: each framework raises its own kind
                made = _or_same(self._copied, value)
        if not isinstance(made, torch.Tensor):
            return value
        return made.to(next(iter(self.tensors()), made).device) if made.device.type == "cpu" else made

    @staticmethod
    def _copied(value: Any) -> Any:
        """A tensor with elements of its own."""
        torch, numpy = sys.modules["torch"], sys.modules.get("numpy")
        if numpy is not None:
            return torch.from_numpy(numpy.array(value, order="C"))
        return torch.tensor(value.tolist(), dtype=getattr(torch, str(value.dtype).rpartition(".")[2]))

    def tensors(self) -> list[Any]:
        return [*self.target.parameters(), *self.target.buffers()]

    def forward(self) -> Callable[..., Any]:
        return self.target if self.target.training else sys.modules["torch"].no_grad()(self.target)

    def parameters(self) -> Iterator[Parameter]:
        for path, p in self.target.named_parameters():
            yield Parameter(path, p.numel(), str(p.dtype).removeprefix("torch."), p.numel() * p.element_size())

    def cost(self, *args: Any, **kwargs: Any) -> Cost:
        """Operations of a forward pass, which leaves the buffers of the module (running means) as they were."""
        notes = ("only products, convolutions and attention are counted",)
        buffers = [(m, n, b) for m in self.target.modules() for n, b in m._buffers.items() if b is not None and not b.is_inference()]
        kept = [(*found, found[2].clone()) for found in buffers]
        with sys.modules["torch"].no_grad():
            try:
                return self._counted(args, kwargs)._replace(notes=notes)
            finally:
                for module, name, buffer, values in kept:
                    module._buffers[name] = buffer.copy_(values)

    def _counted(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Cost:
        try:
            from torch.utils.flop_counter import FlopCounterMode
        except ImportError:  # before torch 2.1
            from ._torch_flop import FlopCounter

            with FlopCounter() as old:
                self.target(*args, **kwargs)
            return Cost(old.flop, source="operations of a forward pass")
        with FlopCounterMode(display=False) as counter:
            self.target(*args, **kwargs)
        return Cost(float(counter.get_total_flops()), source="torch.utils.flop_counter")


class EstimatorBenchmarkAdapter(BenchmarkAdapter):
    """An estimator of scikit-learn, or of another library with its methods; method: "predict", else "transform", unless given ("fit": of a clone)."""

    framework = "sklearn"
    _declines = "it has no fit() and get_params() of an estimator"
    _METHODS = ("predict", "transform", "fit")

    def __init__(self, target: Any, method: str | None = None) -> None:
        super().__init__(target)
        self.method = method or next((m for m in self._METHODS if callable(getattr(target, m, None))), "fit")
        if not callable(getattr(target, self.method, None)):
            raise ValueError(f"{type(target).__name__} has no method {self.method!r}")

    @classmethod
    def can_adapt(cls, target: Any) -> bool:
        return not isinstance(target, type) and all(callable(getattr(target, m, None)) for m in ("fit", "get_params"))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        target = self.target
        if self.method == "fit":
            base = sys.modules.get("sklearn.base")
            target = base.clone(target) if base else copy.deepcopy(target)
        return getattr(target, self.method)(*args, **kwargs)

    def _array(self, value: Any) -> Any:
        return sys.modules["numpy"].from_dlpack(value) if isinstance(value, _array.Array) else value

    def parameters(self) -> Iterator[Parameter]:
        """Fitted arrays, those of the estimators that this one is made of (the steps of a Pipeline) among them."""
        return self._of(self.target, "", set())

    def _of(self, target: Any, prefix: str, seen: set[int]) -> Iterator[Parameter]:
        seen.add(id(target))
        for path, value in sorted(getattr(target, "__dict__", {}).items()):
            if path != "steps" and (not path.endswith("_") or path.startswith("_")):
                continue
            if hasattr(value, "nbytes") and hasattr(value, "dtype"):
                yield Parameter(prefix + path, int(value.size), str(value.dtype), int(value.nbytes))
            for name, inner in _named(path, value):
                if self.can_adapt(inner) and id(inner) not in seen:
                    yield from self._of(inner, f"{prefix}{name}.", seen)


def _named(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The estimators of an attribute, with names: one, a list of them, a dict, or a list of (name, estimator) and the like."""
    if isinstance(value, dict):
        yield from ((f"{path}.{k}", v) for k, v in value.items())
    elif isinstance(value, (list, tuple)):
        for i, v in enumerate(value):
            if isinstance(v, tuple) and len(v) > 1 and isinstance(v[0], str):
                yield v[0], v[1]
            else:
                yield f"{path}.{i}", v
    else:
        yield path, value


_FLAX = "0.10.4"


def _make_nnx() -> type:
    """NNXBenchmarkAdapter: its class is made when flax is there, because it is an nnx.Module."""
    import flax
    import jax

    try:
        from flax import nnx
        from flax.nnx import to_pure_dict
    except ImportError as fault:
        version = getattr(flax, "__version__", "another one")
        raise ImportError(f"models of NNX need flax {_FLAX} or newer; installed is {version}: {fault}") from None

    class NNXBenchmarkAdapter(nnx.Module, BenchmarkAdapter):
        """A model of Flax NNX. The adapter is an nnx.Module with the model as `target`, so nnx.jit, nnx.grad and nnx.vmap take it."""

        framework = "jax"
        _declines = "it is not an nnx.Module"

        @classmethod
        def can_adapt(cls, target: Any) -> bool:
            return isinstance(target, nnx.Module)

        _array = JaxBenchmarkAdapter._array

        def forward(self) -> Callable[..., Any]:
            """The call compiled by jax.jit; what it changes in the model's state is dropped, so all calls are alike.

            Truth values, strings and functions among the arguments are constants of the compiled call; what JAX has as a tree (nnx.Rngs,
            jax.tree_util.Partial) is not one.
            """
            graph, state = nnx.split(self.target)
            of_graph = calls.setdefault(graph, {})  # its hash visits the whole model: once, outside of the calls that are timed

            def call(*args: Any, **kwargs: Any) -> Any:
                compiled, places, names = _nnx_call(graph, of_graph, args, kwargs)
                return compiled(state, places, names)

            return call

        def cost(self, *args: Any, **kwargs: Any) -> Cost:
            from ._jaxpr import work_of

            graph, state = nnx.split(self.target)
            compiled, places, names = _nnx_call(graph, calls.setdefault(graph, {}), args, kwargs)
            return work_of(compiled, (state, places, names), {})

        def parameters(self) -> Iterator[Parameter]:
            for path, value in jax.tree_util.tree_flatten_with_path(to_pure_dict(nnx.state(self.target, nnx.Param)))[0]:
                yield Parameter(".".join(str(getattr(k, "key", k)) for k in path), value.size, str(value.dtype), value.nbytes)

    def _constant(value: Any) -> bool:
        return isinstance(value, (bool, str)) or (callable(value) and jax.tree_util.all_leaves([value]) and not isinstance(value, nnx.Module))

    def _nnx_call(graph: Any, of_graph: dict[Any, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[int, Any], dict[str, Any]]:
        """The compiled call of a model, made once for its constants, and the other arguments, by place and by name."""
        given: dict[Any, Any] = {**dict(enumerate(args)), **kwargs}
        constants = {k: v for k, v in given.items() if _constant(v)}
        key = len(args), *constants.items()
        compiled = of_graph.get(key)
        if compiled is None:

            def call(state: Any, places: dict[int, Any], names: dict[str, Any]) -> Any:
                every: dict[Any, Any] = {**constants, **places, **names}
                positional = [every.pop(k) for k in range(len(args))]
                return nnx.merge(graph, state)(*positional, **every)

            compiled = of_graph[key] = jax.jit(call)
        others = {k: v for k, v in given.items() if k not in constants}
        return compiled, {k: v for k, v in others.items() if isinstance(k, int)}, {k: v for k, v in others.items() if isinstance(k, str)}

    calls: dict[Any, dict[Any, Any]] = {}  # compiled calls, by graph and by constants
    NNXBenchmarkAdapter.__qualname__ = "NNXBenchmarkAdapter"
    return NNXBenchmarkAdapter


def __getattr__(name: str) -> Any:
    if name == "NNXBenchmarkAdapter":
        return globals().get(name) or globals().setdefault(name, _make_nnx())
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


def _nnx() -> type[BenchmarkAdapter]:
    """NNXBenchmarkAdapter; where flax is not imported, or is too old, a class in its place that declines with the reason."""
    reason = "flax is not imported"
    if "flax" in sys.modules:
        try:
            made: type[BenchmarkAdapter] = __getattr__("NNXBenchmarkAdapter")
            return made
        except Exception as fault:  # whatever the import of an unfinished or old installation raises
            reason = " ".join(str(fault).split())[:200] or type(fault).__name__

    return type("NNXBenchmarkAdapter", (BenchmarkAdapter,), {"can_adapt": classmethod(lambda _cls, _target: False), "_declines": reason})


class _BuiltIn(AdapterRegistry):
    """The registry of adapt(): behind those of users the adapters of this module, that of NNX only where flax is imported."""

    def _candidates(self) -> Iterator[type[BenchmarkAdapter]]:
        yield from super()._candidates()
        yield _nnx()
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
