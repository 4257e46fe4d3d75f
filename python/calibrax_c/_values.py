"""Free-form values as JSON, and Python objects described; the extension calls these functions."""

from __future__ import annotations

import json
import time
from typing import Any

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
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, str):
        return _text(value, path)
    if isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            raise OverflowError(f"{path}: the number has more than 64 bits: write it as text or a float")
        return value
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
