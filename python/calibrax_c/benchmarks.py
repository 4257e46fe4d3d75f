"""Benchmarks by name, which `calibrax run FOLDER` finds in the Python files of a folder.

>>> from calibrax_c import register_benchmark
>>> @register_benchmark("sort")
... def sort_backwards():
...     sorted(range(1000, 0, -1))
>>> from calibrax_c.benchmarks import list_benchmarks
>>> list_benchmarks()
['sort']
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from ._places import place_of

if TYPE_CHECKING:
    from collections.abc import Callable

_Target = TypeVar("_Target")
_benchmarks: dict[str, Any] = {}


def register_benchmark(name: str) -> Callable[[_Target], _Target]:
    """Decorator: registers a function, whose calls are timed, or a class or object that run_benchmark() accepts.

    ValueError: another benchmark has that name.
    """
    if not isinstance(name, str) or not name:
        raise TypeError(f"register_benchmark: 'name' must be text that is not empty, got {name!r}; write @register_benchmark(\"name\")")

    def register(target: _Target) -> _Target:
        if not callable(target) and not any(hasattr(target, m) for m in ("work", "run_batch", "run_training", "run_evaluation")):
            raise TypeError(f"register_benchmark: {target!r} is neither callable nor a benchmark")
        if (first := _benchmarks.setdefault(name, target)) is not target:
            raise ValueError(f"register_benchmark: there is a benchmark {name!r} already, {place_of(first)}; {place_of(target)} needs another name")
        return target

    return register


def get_benchmark(name: str) -> Any:
    """The benchmark of that name. KeyError: it does not exist."""
    return _benchmarks[name]


def list_benchmarks() -> list[str]:
    """Names in the order of registration."""
    return list(_benchmarks)
