"""A case that is not among those here: its functions are in a Python file that the message `load` names.

    {"file": "/a/bench.py", "call": "norm", "setup": "ready", "inputs": [...], "outputs": [...], "rtol": 1e-14, "atol": 0,
     "tolerances": [{"rtol": 0, "atol": 0, "integers": "int64"}, ...]}

`call` gets the inputs in their order, and those parameters of the point that it names behind a star (def norm(x, *, d)); it returns the
output, or a tuple of them.  `setup`, if there is one, is called once before any clock with the point and the inputs of set 0; what it
returns, unless None, takes the place of `call` (a compiled function, one with buffers).
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import os
import sys
from typing import Any, Callable

from protocol import WorkerError, require

from cases import Baseline, Case


def _text(definition: dict[str, Any], key: str) -> str:
    value = definition.get(key)
    require(isinstance(value, str) and value, f"the definition has no text '{key}'")
    return value


def _names(definition: dict[str, Any], key: str) -> tuple[str, ...]:
    value = definition.get(key)
    require(isinstance(value, list) and value and all(isinstance(name, str) for name in value), f"the definition has no list of {key}")
    return tuple(value)


@functools.lru_cache(maxsize=None)
def _module(path: str) -> Any:
    """The file as a module; what lies beside it can be imported from it."""
    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location("nperf_declared_case", path)
    if spec is None or spec.loader is None:
        raise WorkerError("compile_error", f"'{os.path.basename(path)}' is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _function(definition: dict[str, Any], key: str) -> Callable[..., Any]:
    path, name = _text(definition, "file"), _text(definition, key)
    function = getattr(_module(path), name, None)
    if not callable(function):
        raise WorkerError("compile_error", f"'{os.path.basename(path)}' has no function '{name[:60]}'")
    return function


def bound(function: Callable[..., Any], point: dict[str, Any]) -> Callable[..., Any]:
    """The function with the parameters that it names behind a star."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # written in C, and does not describe its arguments
        return function
    wanted = {p.name: point[p.name] for p in parameters if p.kind == p.KEYWORD_ONLY and p.name in point}
    return functools.partial(function, **wanted) if wanted else function


def case_of(name: str, provider: str, definition: dict[str, Any]) -> Case:
    """A case with one baseline, of the name ''."""

    def prepare(_: Any, point: dict[str, Any], *inputs: Any) -> Callable[..., Any]:
        function = bound(_function(definition, "call"), point)
        if "setup" in definition:
            made = _function(definition, "setup")(point, *inputs)
            function = function if made is None else made
        return function

    return Case(name, _names(definition, "inputs"), _names(definition, "outputs"), {"": Baseline(provider, prepare)})


def tolerances(definition: dict[str, Any]) -> list[tuple[float, float, str | None]]:
    """rtol and atol of each output, and the dtype of one whose answer stays an integer."""
    outputs = definition.get("tolerances", [definition] * len(_names(definition, "outputs")))
    require(isinstance(outputs, list) and all(isinstance(one, dict) for one in outputs), "the definition's tolerances are not a list of objects")
    found = []
    for one in outputs:
        for key in ("rtol", "atol"):
            value = one.get(key, 0)
            require(isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0, f"the definition's {key} is not a number")
        require(one.get("integers") in (None, "int64", "uint64"), "the definition's integers are not int64 or uint64")
        found.append((float(one.get("rtol", 0)), float(one.get("atol", 0)), one.get("integers")))
    return found
