"""Operands of metrics as Arrays: of other packages, of lists of their arrays, and with elements that asarray does not take."""

from __future__ import annotations

from typing import Any

from . import array


def _converted(o: Any) -> Any:
    """A tensor of another package without a record of gradients, and with elements that the library has; longdouble
    as float64, in which metrics compute.  As it is where there is nothing to convert.
    """
    name = str(getattr(o, "dtype", "")).rpartition(".")[2]
    if getattr(o, "requires_grad", False):
        o = o.detach()
    if name == "bool" and hasattr(o, "byte"):  # of torch 1, whose DLPack has no bool
        return array.asarray(o.byte(), dtype="bool")
    if name in ("float16", "bfloat16"):
        return o.astype("float32") if hasattr(o, "astype") else o.float()
    return array.asarray(o, dtype="float64") if name in ("float96", "float128") else o


def operand(o: Any, name: str | None = None, metric: str = "") -> Any:
    """An Array, or None as it is.  name: of the argument, and that of the metric, for errors."""
    if o is None or isinstance(o, array.Array):
        return o
    if hasattr(o, "filled") and o.mask.any():
        raise ValueError(
            f"{repr(name) if name else 'an operand'} is a NumPy array with masked elements, and its mask is not read: "
            "give its data, and mask=~numpy.ma.getmaskarray(x)"
        )
    try:
        return _read(o)
    except (TypeError, ValueError) as e:
        if not name or not str(e).startswith("asarray: "):
            raise
        where = f"{metric}: '{name}': " if metric else f"'{name}': "
        raise type(e)(where + str(e).removeprefix("asarray: ")) from None


def _read(o: Any) -> Any:
    try:
        return array.asarray(o)
    except (BufferError, RuntimeError, TypeError, ValueError):
        if isinstance(o, (list, tuple)) and any(hasattr(x, "dtype") for x in o):
            return array.asarray([operand(x) if hasattr(x, "dtype") else x for x in o])
        converted = _converted(o)
        if converted is o:
            raise
    return array.asarray(converted)


def of_numbers(o: Any) -> bool:
    """True of lists, nested ones too, of numbers of Python."""
    while isinstance(o, (list, tuple)) and o:
        o = o[0]
    return type(o) in (int, float, bool)
