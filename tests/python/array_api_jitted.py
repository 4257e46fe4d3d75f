"""calibrax_c.array with each function under jit: a module for data-apis/array-api-tests (scripts/array_api_tests.sh).

Arrays among the arguments, and in lists and tuples of them, are traced; numbers, dtypes, axes and shapes are static.  Functions
whose result depends on data, or that take no arrays, are as they are, and so are the methods of arrays.
"""

from __future__ import annotations

import functools
import types

import calibrax_c as cx

from calibrax_c import array as xp

AS_THEY_ARE = {
    "asarray", "can_cast", "from_dlpack", "finfo", "iinfo", "isdtype", "nonzero", "result_type",
    "unique_all", "unique_counts", "unique_inverse", "unique_values",
}  # fmt: skip


def _take(value, arrays):
    """The value with each array replaced by its number in arrays, which grows."""
    if isinstance(value, xp.Array):
        arrays.append(value)
        return ("array", len(arrays) - 1)
    if isinstance(value, (list, tuple)):
        return ("tree", type(value), [_take(v, arrays) for v in value])
    return ("static", value)


def _put(taken, arrays):
    if taken[0] == "array":
        return arrays[taken[1]]
    return taken[1] if taken[0] == "static" else taken[1](_put(t, arrays) for t in taken[2])


def jitted(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        arrays = []
        places = [_take(a, arrays) for a in args]
        named = {k: _take(v, arrays) for k, v in kwargs.items()}
        # A counted repetition has a length that depends on data.
        if not arrays or (function.__name__ == "repeat" and len(args) > 1 and isinstance(args[1], xp.Array)):
            return function(*args, **kwargs)
        return cx.jit(lambda *traced: function(*[_put(p, traced) for p in places], **{k: _put(v, traced) for k, v in named.items()}))(*arrays)

    return call


def _namespace(module):
    out = {}
    for name in dir(module):
        value = getattr(module, name)
        if name.startswith("_") and name != "__array_namespace_info__":
            continue
        if isinstance(value, types.ModuleType):
            out[name] = types.SimpleNamespace(**_namespace(value))
        else:
            traced = callable(value) and not isinstance(value, type) and name not in AS_THEY_ARE and name != "__array_namespace_info__"
            out[name] = jitted(value) if traced else value
    return out


globals().update(_namespace(xp))
__array_api_version__ = xp.__array_api_version__
