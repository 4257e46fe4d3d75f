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

import inspect
import os
from typing import TYPE_CHECKING, Any, TypeVar

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
            raise ValueError(f"register_benchmark: there is a benchmark {name!r} already, {_place(first)}; {_place(target)} needs another name")
        return target

    return register


def _place(target: Any) -> str:
    """What a target is and where it is defined: "class Sort (sort.py:12)"."""
    of = target if hasattr(target, "__qualname__") else type(target)
    kind = "class" if isinstance(target, type) else "function" if of is target else "object of class"
    try:
        return f"{kind} {of.__qualname__} ({os.path.relpath(inspect.getsourcefile(of) or '')}:{inspect.getsourcelines(of)[1]})"
    except (OSError, TypeError, ValueError):
        return f"{kind} {of.__qualname__} of {of.__module__}"


def get_benchmark(name: str) -> Any:
    """The benchmark of that name. KeyError: it does not exist."""
    return _benchmarks[name]


def list_benchmarks() -> list[str]:
    """Names in the order of registration."""
    return list(_benchmarks)
