"""Compiled functions: what jit keeps of a function."""

from __future__ import annotations

import inspect
import os

from typing import Any

from . import _core  # type: ignore[attr-defined]
from ._tracing import Structure, Traced, flatten, name_of, operands, unflatten

_step = _core._recording


STAGES = ("graph", "fused", "kernels", "c", "llvm", "assembly", "simplified", "ptx")


def dump(fun: Any, args: tuple[Any, ...], stage: str = "graph") -> str:
    if stage not in STAGES:
        raise ValueError(f"dump: 'stage' must be one of {', '.join(map(repr, STAGES))}, got {stage!r}")
    leaves, structure = flatten((args, {}))
    like = operands(leaves, structure, fun)
    return Traced(fun, like, structure).fn.dump(like, STAGES.index(stage))


def cost(fun: Any, args: tuple[Any, ...]) -> dict[str, int]:
    leaves, structure = flatten((args, {}))
    like = operands(leaves, structure, fun)
    return Traced(fun, like, structure).fn.cost(like)


def cost_compile(fun: Any, args: tuple[Any, ...]) -> dict[str, Any]:
    leaves, structure = flatten((args, {}))
    like = operands(leaves, structure, fun)
    return Traced(fun, like, structure).fn.cost_compile(like)


def aot_write(fun: Any, args: tuple[Any, ...], path: Any) -> None:
    leaves, structure = flatten((args, {}))
    like = operands(leaves, structure, fun)
    Traced(fun, like, structure).fn.aot_write(like, os.fspath(path))


def _names(value: Any, what: str, kind: type) -> tuple[Any, ...]:
    out = (value,) if isinstance(value, kind) else () if value is None else tuple(value)
    for v in out:
        if not isinstance(v, kind):
            raise TypeError(f"jit: '{what}' must be {'integers' if kind is int else 'names'}, got {v!r}")
    return out


class JitPlan:
    """The state of a compiled function: its static arguments, and what was recorded for each kind of call."""

    def __init__(self, fun: Any, static_argnums: Any, static_argnames: Any) -> None:
        self.fun = fun
        nums, names = _names(static_argnums, "static_argnums", int), _names(static_argnames, "static_argnames", str)
        try:
            parameters = list(inspect.signature(fun).parameters.values())
        except (TypeError, ValueError):
            parameters = []
        either = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        rest = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        anything = any(p.kind is p.VAR_KEYWORD for p in parameters)
        for i in nums:
            if parameters and not rest and not -len(either) <= i < len(either):
                raise ValueError(f"jit: static_argnums names argument {i}, and '{name_of(fun)}' takes {len(either)}")
        for name in names:
            if parameters and not anything and name not in [p.name for p in parameters]:
                raise ValueError(f"jit: static_argnames names '{name}', and '{name_of(fun)}' has no such parameter")
        if static_argnums is None:
            nums = tuple(either.index(n) for n in names if n in either)
        if static_argnames is None:
            names = tuple(either[i] for i in nums if -len(either) <= i < len(either))
        self.nums, self.names = nums, frozenset(names)
        self.cache: dict[Any, tuple[Any, Structure]] = {}
        self.remembered: set[Any] = set()

    def clear(self) -> None:
        self.cache.clear()
        self.remembered.clear()

    def call(self, jitted: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any:
        static: tuple[Any, ...] = ()
        traced_args: tuple[Any, ...] = args
        fixed: dict[int, Any] = {}
        named: dict[str, Any] = {}
        if self.nums or self.names:
            fixed = {i % len(args): args[i] for i in self.nums if -len(args) <= i < len(args)}
            traced_args = tuple(a for i, a in enumerate(args) if i not in fixed)
            named = {k: v for k, v in (kwargs or {}).items() if k in self.names}
            kwargs = {k: v for k, v in (kwargs or {}).items() if k not in self.names}
            static = tuple((i, type(v), v) for i, v in sorted(fixed.items())) + tuple((k, type(v), v) for k, v in sorted(named.items()))
        leaves, structure = flatten((traced_args, kwargs or {}))
        like = operands(leaves, structure, self.fun)
        key = (structure, len(args), static, _step.signature(like))
        try:
            known = self.cache.get(key)
        except TypeError:
            for name, kind, value in static:
                try:
                    hash(value)
                except TypeError:
                    raise ValueError(f"jit: the static argument {name!r} of '{name_of(self.fun)}' is {value!r}, a {kind.__name__}, which has no hash: static arguments must be hashable") from None
            raise
        if known is None:
            fun = self.fun
            if static:

                def fun(*rest: Any, **keywords: Any) -> Any:
                    given = iter(rest)
                    return self.fun(*(fixed[i] if i in fixed else next(given) for i in range(len(args))), **named, **keywords)

                fun.__name__ = name_of(self.fun)
            traced = Traced(fun, like, structure)
            if traced.fn.captures:  # it reads arrays of the function around it, and ends with it
                return traced.results(traced.fn(*like))
            known = (traced.fn.jit(like), traced.out)
            self.cache[key] = known
        if key not in self.remembered:
            self.remembered.add(key)
            jitted._remember(args, {**named, **(kwargs or {})}, {*fixed, *named}, *known)
        return unflatten(known[1], known[0](*like))


def jit(fun: Any = None, static_argnums: Any = None, static_argnames: Any = None, donate_argnums: Any = None, donate_argnames: Any = None) -> Any:
    """The plan of a function, or a decorator; transforms.c makes the compiled function."""
    _names(donate_argnums, "donate_argnums", int)
    _names(donate_argnames, "donate_argnames", str)
    if fun is None:
        return lambda f: _core.jit(f, static_argnums=static_argnums, static_argnames=static_argnames, donate_argnums=donate_argnums, donate_argnames=donate_argnames)
    return JitPlan(fun, static_argnums, static_argnames)
