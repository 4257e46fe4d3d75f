"""Loops and branches: scan, fori_loop, while_loop, cond, switch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core  # type: ignore[attr-defined]
from ._tracing import LEAF, Structure, Traced, flatten, integer, name_of, pair, path_of, structure_text, unflatten

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

xp = _core.array
_step = _core._recording


def _leaves(what: str, value: Any) -> tuple[list[Any], Structure]:
    """Leaves of a value as Arrays, and which of them are Python numbers."""
    leaves, structure = flatten(value)
    out = _step.operands(leaves)
    for given, o in zip(leaves, out, strict=True):
        if o is None:
            raise TypeError(f"{what} has the leaf {given!r}: it must be an array or a number")
    return out, structure


def _settle(init: list[Any], record: Callable[[list[Any]], Body]) -> tuple[list[Any], Body]:
    """A loop's carry: where it begins as a Python number, it takes the dtype that the body gives it."""
    body = record(init)
    again = False
    for i, dtype in enumerate(body.dtypes):
        if _step.is_weak(init[i]) and dtype is not None and dtype != (init[i].dtype if hasattr(init[i], "dtype") else xp.asarray(init[i]).dtype):
            init[i] = xp.astype(init[i], dtype) if hasattr(init[i], "dtype") else xp.astype(xp.asarray(init[i]), dtype)
            again = True
    return init, record(init) if again else body


def _number(dtype: Any) -> Any:
    """A Python number of the kind of a dtype."""
    return False if dtype == xp.bool else 0 if xp.isdtype(dtype, "integral") else 0.0 if xp.isdtype(dtype, "real floating") else 0j


def _carried(what: str, fun: Any, before: Structure, after: Structure) -> None:
    if before != after:
        raise TypeError(f"{what}: '{name_of(fun)}' must return a carry as {structure_text(before)}, got {structure_text(after)}")


class Body:
    """A recorded step of a loop: after some leading operands the carry, then more; gives the carry, then more."""

    def __init__(self, what: str, fun: Any, structure: Structure, like: list[Any], axes: Sequence[Any] | None, carry: Structure, n: int, split: Callable[[Any], tuple[Any, Any]] = lambda value: (value, None)) -> None:
        self.more: Structure = None
        self.dtypes: list[Any] = []

        def body(*leaves: Any) -> list[Any]:
            value, more = split(fun(*unflatten(structure, leaves)))
            results, after = flatten(value)
            _carried(what, fun, carry, after)
            out = _step.operands(results)
            for i, (x, r) in enumerate(zip(leaves[n : n + len(out)], out, strict=True)):
                if r is not None and r is not x and _step.is_weak(r):  # a number takes the dtype of the carry where its kind allows
                    r = xp.asarray(r)
                    out[i] = xp.astype(r, x.dtype) if xp.result_type(x.dtype, _number(r.dtype)) == x.dtype else r
            self.dtypes = [getattr(r, "dtype", None) for r in out]
            more_leaves, self.more = flatten(more)
            return [r if r is not None else given for r, given in zip(out, results, strict=True)] + more_leaves

        self.fn = _step.record(name_of(fun), body, like, axes)


def scan(f: Any, init: Any, xs: Any = None, length: int | None = None, reverse: bool = False, unroll: Any = 1, save_every: Any = None) -> Any:
    every = 0 if save_every is None else -1 if save_every == "sqrt" else save_every
    if not isinstance(every, int) or isinstance(every, bool) or (every < 1 and save_every is not None and save_every != "sqrt"):
        raise ValueError(f"scan: 'save_every' must be at least 1 or 'sqrt', got {save_every!r}")
    start, carry = _leaves("scan: init", init)
    rows, row = _leaves("scan: xs", xs)
    for i, x in enumerate(rows):
        if not getattr(x, "ndim", 0):
            raise ValueError(f"scan: xs{path_of(row, i)} is a scalar: it has no axis to scan")
        n = x.shape[0]
        if length is not None and n != length:
            raise ValueError(f"scan: xs{path_of(row, i)} has {n} rows, and there are {length} steps")
        length = n
    if length is None:
        raise ValueError("scan: 'length' must be given where there are no xs")
    length = integer("scan", "length", length)
    structure = (tuple, None, carry, row)
    axes = tuple([None] * len(start) + [0] * len(rows))

    def split(value: Any) -> tuple[Any, Any]:
        return pair(value, f"scan: '{name_of(f)}' must return (carry, y)")

    start, body = _settle(start, lambda begin: Body("scan", f, structure, begin + rows, axes, carry, 0, split))
    out = _step.scan(body.fn, start, rows, length, bool(reverse), every)
    return unflatten(carry, out[: len(start)]), unflatten(body.more, out[len(start) :])


def _bound(what: str, value: Any) -> Any:
    """A bound of a loop: an integer, or a traced Array."""
    if _step.is_traced(value):
        return value
    if hasattr(value, "dtype"):
        return int(value)
    return integer("fori_loop", what, value)


def fori_loop(lower: Any, upper: Any, body_fun: Any, init_val: Any, unroll: Any = None) -> Any:
    low, high = _bound("lower", lower), _bound("upper", upper)
    if not isinstance(low, int) or not isinstance(high, int):

        def step(value: Any) -> Any:
            i, top, inner = value
            return i + 1, top, body_fun(i, inner)

        dtype = low.dtype if not isinstance(low, int) else high.dtype
        return while_loop(lambda value: value[0] < value[1], step, (xp.asarray(low, dtype=dtype), xp.asarray(high, dtype=dtype), init_val))[2]
    start, carry = _leaves("fori_loop: init_val", init_val)

    structure = (tuple, None, LEAF, carry)
    start, body = _settle(start, lambda begin: Body("fori_loop", body_fun, structure, [xp.asarray(0), *begin], None, carry, 1))
    return unflatten(carry, _step.fori_loop(low, high, body.fn, start))


def while_loop(cond_fun: Any, body_fun: Any, init_val: Any) -> Any:
    start, carry = _leaves("while_loop: init_val", init_val)
    structure = (tuple, None, carry)

    start, body = _settle(start, lambda begin: Body("while_loop", body_fun, structure, begin, None, carry, 0))
    test = Traced(cond_fun, start, (tuple, None, structure, (dict, ())))
    if test.out is not LEAF:
        raise TypeError(f"while_loop: '{name_of(cond_fun)}' must return a scalar, got {structure_text(test.out)}")
    return unflatten(carry, _step.while_loop(test.fn, body.fn, start))


def _branches(what: str, which: Any, funs: Sequence[Any], args: tuple[Any, ...], truth: bool) -> Any:
    leaves, structure = _leaves(what, args)
    structure = (tuple, None, structure, (dict, ()))
    traced = [Traced(f, leaves, structure) for f in funs]
    for f, t in zip(funs, traced, strict=True):
        if t.out != traced[0].out:
            raise TypeError(f"{what}: '{name_of(f)}' returns {structure_text(t.out)}, and '{name_of(funs[0])}' {structure_text(traced[0].out)}: branches must agree")
    weak = [all(t.weak[i] for t in traced) for i in range(traced[0].n)]
    if any(t.weak[i] and not weak[i] for t in traced for i in range(t.n)):  # numbers take the dtype of the other branches
        dtypes = [next((r.dtype for t in traced for r, w in [(t.fn(*leaves)[i], t.weak[i])] if not w), None) for i in range(traced[0].n)]
        fns = [_step.record(name_of(f), lambda *x, t=t: [xp.astype(r, d) if w and d else r for r, d, w in zip(t.fn(*x), dtypes, t.weak, strict=True)], leaves) for f, t in zip(funs, traced, strict=True)]
    else:
        fns = [t.fn for t in traced]
    return unflatten(traced[0].out, _step.cond(which, tuple(fns), leaves, truth))


def cond(pred: Any, true_fun: Any, false_fun: Any, operands: tuple[Any, ...]) -> Any:
    if getattr(pred, "ndim", 0):
        raise TypeError(f"cond: 'pred' must be a scalar, got an array of shape {pred.shape}")
    return _branches("cond", pred, (false_fun, true_fun), operands, True)


def switch(index: Any, branches: Any, operands: tuple[Any, ...]) -> Any:
    branches = tuple(branches)
    if not branches:
        raise ValueError("switch: there must be at least one branch")
    if not xp.isdtype(xp.asarray(index).dtype, "integral"):
        raise TypeError(f"switch: 'index' must be an integer, got {index!r}")
    return _branches("switch", index, branches, operands, False)
