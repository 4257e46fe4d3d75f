"""Derivatives of the user: custom_jvp, custom_vjp, stop_gradient, checkpoint."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from . import _core  # type: ignore[attr-defined]
from ._tracing import Structure, Traced, count, dress, flatten, integers, map_trees, name_of, operands, pair, structure_text, unflatten, without

if TYPE_CHECKING:
    from collections.abc import Sequence

xp = _core.array
_step = _core._recording


SPARE = 128  # arrays that fwd of a custom_vjp may keep besides its arguments and results


def _traced(leaves: list[Any]) -> bool:
    return any(_step.is_traced(x) for x in leaves)


class _Custom:
    """A function with derivatives of its own; the arguments at nondiff_argnums are passed to it, and to its rules, as they are."""

    what = ""

    def __init__(self, fun: Any, nondiff_argnums: Any = ()) -> None:
        self.fun = fun
        self.nondiff = integers(self.what, "nondiff_argnums", nondiff_argnums)
        dress(self, fun)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        if not kwargs:
            return args
        bound = inspect.signature(self.fun).bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError(f"{self.what}: '{name_of(self.fun)}' has arguments by keyword alone: its rule has no place for them")
        return bound.args

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args = self._bind(args, kwargs)
        fixed = {i % len(args): args[i] for i in self.nondiff}
        active = tuple(a for i, a in enumerate(args) if i not in fixed)
        leaves, structure = flatten((active, {}))
        like = operands(leaves, structure, self.fun)
        if not _traced(like):
            return self.fun(*args)

        like = [xp.asarray(x) for x in like]
        traced = Traced(without(self.fun, fixed, len(args)), like, structure)
        return traced.results(self._with_rules(traced, like, structure, fixed, len(args))(*like))

    def _with_rules(self, traced: Traced, like: list[Any], structure: Structure, fixed: dict[int, Any], n: int) -> Any:
        raise NotImplementedError


def _as(what: str, leaves: list[Any], like: Sequence[Any]) -> list[Any]:
    """Arrays of the dtypes of others, where both are floating or complex; shapes are the library's to check."""
    out = []
    for x, other in zip(leaves, like, strict=True):
        a = xp.asarray(x)
        out.append(xp.astype(a, other.dtype) if a.dtype != other.dtype and not (xp.isdtype(a.dtype, "complex floating") and not xp.isdtype(other.dtype, "complex floating")) else a)
    return out


class CustomJvp(_Custom):
    what = "custom_jvp"
    rule: Any = None

    def defjvp(self, jvp: Any) -> Any:
        self.rule = jvp
        return jvp

    def defjvps(self, *jvps: Any) -> None:
        """A rule for each argument: jvp(tangent, result, *primals); None: the argument does not move."""

        def rule(*given: Any) -> Any:
            *fixed, primals, tangents = given
            out = self(*primals) if not fixed else self.fun(*fixed, *primals)
            parts = [j(t, out, *primals) for j, t in zip(jvps, tangents, strict=True) if j is not None]
            return out, functools.reduce(lambda a, b: map_trees(lambda x, y: x + y, a, [b], None), parts) if parts else map_trees(xp.zeros_like, out, [], None)

        self.rule = rule

    def _with_rules(self, traced: Traced, like: list[Any], structure: Structure, fixed: dict[int, Any], n: int) -> Any:
        if self.rule is None:
            raise AttributeError(f"custom_jvp: '{name_of(self.fun)}' has no rule: give it one with defjvp")
        before = [fixed[i] for i in sorted(fixed)]

        def body(*leaves: Any) -> list[Any]:
            half = len(like)
            primals, tangents = unflatten(structure, leaves[:half])[0], unflatten(structure, leaves[half:])[0]
            value = pair(self.rule(*before, primals, tangents), f"custom_jvp: the rule of '{name_of(self.fun)}' must return (result, tangent)")
            out, t = flatten(value[0]), flatten(value[1])
            if out[1] != traced.out or t[1] != traced.out:
                raise TypeError(f"custom_jvp: the rule of '{name_of(self.fun)}' must return a result and a tangent as {structure_text(traced.out)}, got {structure_text(out[1])} and {structure_text(t[1])}")
            results = [xp.asarray(x) for x in out[0]]
            return results + _as("custom_jvp", t[0], results)

        n = len(traced.weak)
        return _step.custom_jvp(traced.fn, _step.rule(name_of(self.rule), body, 2 * len(like), 2 * n, 0))


class CustomVjp(_Custom):
    what = "custom_vjp"
    fwd: Any = None
    bwd: Any = None

    def defvjp(self, fwd: Any, bwd: Any) -> None:
        self.fwd, self.bwd = fwd, bwd

    def _with_rules(self, traced: Traced, like: list[Any], structure: Structure, fixed: dict[int, Any], n: int) -> Any:
        if self.fwd is None:
            raise AttributeError(f"custom_vjp: '{name_of(self.fun)}' has no rules: give them with defvjp")
        kept: list[Structure] = [None]
        results = len(traced.weak)
        max_kept = len(like) + results + SPARE

        def forward(*leaves: Any) -> list[Any]:
            value = pair(without(self.fwd, fixed, n)(*unflatten(structure, leaves)[0]), f"custom_vjp: fwd of '{name_of(self.fun)}' must return (result, kept)")
            out, s = flatten(value[0])
            if s != traced.out:
                raise TypeError(f"custom_vjp: fwd of '{name_of(self.fun)}' must return a result as {structure_text(traced.out)}, got {structure_text(s)}")
            residuals, kept[0] = flatten(value[1])
            return out + residuals

        def backward(*leaves: Any) -> list[Any]:
            residuals, ct = unflatten(kept[0], leaves[: count(kept[0])]), unflatten(traced.out, leaves[max_kept:])
            value = self.bwd(*(fixed[i] for i in sorted(fixed)), residuals, ct)
            args = structure[2]
            if not isinstance(value, (tuple, list)) or len(value) != len(args) - 2:
                raise TypeError(f"custom_vjp: bwd of '{name_of(self.fun)}' must return a tuple of {len(args) - 2} cotangents, got {value!r}")
            out: list[Any] = []
            for s, v in zip(args[2:], value, strict=True):
                if v is None:
                    out += [None] * count(s)
                    continue
                parts, found = flatten(v)
                if found != s:
                    raise TypeError(f"custom_vjp: bwd of '{name_of(self.fun)}' must return cotangents as {structure_text(args)}, got {structure_text(found)} for {structure_text(s)}")
                out += parts
            return _as("custom_vjp", [xp.zeros(x.shape, dtype=x.dtype) if o is None else o for o, x in zip(out, like, strict=True)], like)

        fwd = _step.rule(name_of(self.fwd), forward, len(like), results, max_kept)
        bwd = _step.rule(name_of(self.bwd), backward, max_kept + results, len(like), 0)
        return _step.custom_vjp(traced.fn, fwd, bwd)


custom_jvp, custom_vjp = CustomJvp, CustomVjp


def stop_gradient(x: Any) -> Any:
    return map_trees(lambda v: _step.stop_gradient(v) if hasattr(v, "dtype") else v, x, [], None)


def checkpoint(fun: Any, static_argnums: Any = ()) -> Any:
    static = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)

    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        fixed = {i % len(args): args[i] for i in static}
        leaves, structure = flatten((tuple(a for i, a in enumerate(args) if i not in fixed), kwargs))
        like = operands(leaves, structure, fun)
        if not _traced(like):
            return fun(*args, **kwargs)

        traced = Traced(without(fun, fixed, len(args)), like, structure)
        return traced.results(traced.fn.checkpoint()(*like))

    return dress(checkpointed, fun)
