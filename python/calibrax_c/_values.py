"""Free-form values as JSON, and Python objects described; the extension calls these functions."""

from __future__ import annotations

import json
import operator
import time
from importlib import import_module
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any

from ._places import other_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

from_json = json.loads


def _text(value: str, what: str) -> str:
    if "\0" in value:
        raise ValueError(f"{what} must be text without a NUL character, got {value!r}")
    if not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
        raise ValueError(f"{what} must be text without half of a surrogate pair, got {value!a}")
    return value


def _plain(value: Any, path: str, depth: int) -> Any:
    if depth > 60:
        raise ValueError(f"{path} is nested too deeply")
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"{path}: keys must be text, got {key!r}")
        return {_text(key, "a key"): _plain(v, key, depth + 1) for key, v in list(value.items())}
    if isinstance(value, (list, tuple)):
        return [_plain(v, path, depth + 1) for v in value]
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return _text(value, path)
    for method in ("to_dict", "item"):  # of records, and of array scalars
        if hasattr(value, method):
            return _plain(getattr(value, method)(), path, depth + 1)
    raise TypeError(f"{path}: {type(value)!r} cannot be kept: numbers, text, lists, dicts and None can")


def to_json(value: Any, path: str) -> str:
    """The text of numbers, strings, lists, dicts, None and objects with to_dict() or item()."""
    return json.dumps(_plain(value, path, 0), ensure_ascii=False)


def _describe(value: Any, depth: int = 0) -> str:
    """What a compiler would distinguish: types of numbers, dtypes and shapes of arrays, values of text and None."""
    if depth > 32:
        raise ValueError("CompilationProfiler: the arguments are nested too deeply")
    if value is None or isinstance(value, (str, bytes)):
        return repr(value)
    if isinstance(value, (tuple, list)):
        return " ".join(["(", *(_describe(v, depth + 1) for v in value), ")"])
    if isinstance(value, dict):
        return " ".join(["{", *(f"{k!r}: {_describe(v, depth + 1)}" for k, v in value.items()), "}"])
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{value.dtype}{tuple(value.shape)}{'~' if getattr(value, 'weak_type', False) is True else ''}"
    return type(value).__qualname__


def profiled_call(kept: tuple[Any, Any, Any], args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> tuple[Any, str, float]:
    """The result of a call of CompilationProfiler, its signature, and its time [s]."""
    function, sync, static = kept
    fixed = () if static is None else (static,) if isinstance(static, (str, int)) else static

    def argument(key: int | str, value: Any) -> str:
        return f"={value!r}" if key in fixed else _describe(value)

    words = [argument(i, v) for i, v in enumerate(args)] + [f"{k}: {argument(k, v)}" for k, v in (kwargs or {}).items()]
    signature = _text(" ".join(words), "the signature of a call")
    start = time.perf_counter()
    result = function(*args, **kwargs or {})
    if sync is not None:
        sync(result)
    elif hasattr(result, "block_until_ready"):
        result.block_until_ready()
    return result, signature, time.perf_counter() - start


METHODS = ("setup", "run_training", "work", "run_batch", "run_evaluation", "teardown", "get_performance_targets")


def benchmark_of(benchmark: Any, name: str | None, config: dict[str, Any] | None) -> tuple[Any, ...]:
    """A benchmark (of a class, one made with config), its name, its domain, its methods, its dataset and its definitions."""
    made = benchmark(**config or {}) if isinstance(benchmark, type) else benchmark

    def text(attribute: str) -> str | None:
        value = getattr(made, attribute, None)
        return value if isinstance(value, str) else None

    methods = [m for m in METHODS if callable(getattr(made, m, None))]
    dataset = made.dataset if "run_batch" in methods and "work" not in methods else None
    called = next(n for n in (name, text("name"), type(made).__name__) if n is not None)
    return made, called, text("domain") or "", methods, dataset, getattr(made, "metric_defs", None)


def numbers_of(method: str, given: Any) -> dict[str, float]:
    """The numbers by name that a method of a benchmark returned."""
    try:
        numbers = {} if given is None else dict(given)
    except (TypeError, ValueError):
        raise TypeError(f"{method} must return a dict of numbers, got {given!r}") from None
    for key, value in numbers.items():
        if not isinstance(key, str) or isinstance(value, (bool, str)):
            raise TypeError(f"{method} must return numbers by name, got {value!r} for {key!r}")
    return {key: float(value) for key, value in numbers.items()}


def batch_of(dataset: Any, size: int, start: int) -> Any:
    """The examples from start on."""
    if not hasattr(dataset, "get_batch"):
        return [dataset[i] for i in range(start, min(start + size, len(dataset)))]
    batch = dataset.get_batch(size, start)
    wanted = min(start + size, len(dataset)) - start
    if (rows := other_rows(batch, wanted)) is not None:
        raise ValueError(f"the batch from example {start} on has {rows} rows: get_batch must return {wanted}")
    return batch


def parents_of(commits: tuple[str, ...], parents: Sequence[str | Sequence[str]]) -> list[list[int]]:
    """The places of each commit's parents; those that are no candidates lie on the good side."""
    places = {commit: i for i, commit in enumerate(commits)}
    lists = [(p,) if isinstance(p, str) else tuple(p) for p in parents]
    if len(lists) != len(commits):
        raise ValueError(f"Bisection: {len(lists)} lists of parents for {len(commits)} commits")
    return [[places[p] for p in given if p in places] for given in lists]


def graph_of(names: tuple[str, ...], first: tuple[int, ...], parents: tuple[int, ...]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Commits, parents before children, and the names of each one's parents."""
    return names, tuple(tuple(names[p] for p in parents[a:b]) for a, b in pairwise(first))


def measure(commit: str, bench: Callable[[str], Any], build: Callable[[str], Any] | None, built: set[str]) -> tuple[Any, str | None]:
    """A value of a commit, or why it has none."""
    if build is not None and commit not in built:
        made = build(commit)
        if made is not None and not made:
            return None, "it cannot be built"
        built.add(commit)
    value = bench(commit)
    return value, "the benchmark gave no value" if value is None else None


def formatted(value: Any, spec: str) -> str:
    """A number by a format; nested lists of them in brackets."""
    return f"[{', '.join(formatted(v, spec) for v in value)}]" if isinstance(value, list) else format(value, spec)


def item_key(index: tuple[Any, ...], shape: tuple[int, ...]) -> Any:
    """The key of item(*index): an integer counts among all elements in row-major order."""
    if len(index) > 1 or isinstance(index[0], tuple) or len(shape) == 1:
        return index if len(index) > 1 else index[0]
    key: tuple[int, ...] = ()
    count, i = prod(shape), operator.index(index[0])
    if not -count <= i < count:
        raise IndexError(f"item: 'index' must be from {-count} to {count - 1}, got {i}")
    i %= count
    for length in reversed(shape):
        i, at = divmod(i, length)
        key = (at, *key)
    return key


def as_numpy(array: Any, dtype: Any, copy: bool | None) -> Any:
    numpy = import_module("numpy")
    found = numpy.asarray(memoryview(array))
    return found if dtype is None and not copy else numpy.array(found, dtype=dtype) if copy else found.astype(dtype, copy=False)


def array_function(array_type: type, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of NumPy's function, over NumPy arrays of the same elements."""
    numpy = import_module("numpy")

    def foreign(o: Any) -> Any:
        if isinstance(o, array_type):
            return numpy.asarray(o)
        if type(o) is dict:
            return {k: foreign(v) for k, v in o.items()}
        return type(o)(map(foreign, o)) if type(o) in (tuple, list) else o

    return function(*foreign(args), **foreign(kwargs))
