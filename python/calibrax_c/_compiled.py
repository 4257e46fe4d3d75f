"""Compiled functions: what jit keeps of a function."""

from __future__ import annotations

import functools
import inspect
import os
import warnings
from typing import Any

from . import _core  # type: ignore[attr-defined]
from ._tracing import Structure, Traced, count, flatten, name_of, operands, unflatten, without

_step = _core._recording


STAGES = ("graph", "fused", "kernels", "c", "llvm", "assembly", "simplified", "ptx")


def _recorded(fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, list[Any]]:
    """A function recorded for arguments, and their leaves; what is static for a compiled function is fixed."""
    plan = fun._plan if isinstance(fun, _core.Jitted) else JitPlan(fun, None, None, None, None)
    call = Call(plan, args, kwargs)
    return call.traced().fn, call.like


def dump(fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any], stage: str = "graph") -> str:
    if stage not in STAGES:
        raise ValueError(f"dump: 'stage' must be one of {', '.join(map(repr, STAGES))}, got {stage!r}")
    fn, like = _recorded(fun, args, kwargs)
    return fn.dump(like, STAGES.index(stage))


def cost(fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, int]:
    fn, like = _recorded(fun, args, kwargs)
    return fn.cost(like)


def cost_compile(fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    fn, like = _recorded(fun, args, kwargs)
    return fn.cost_compile(like)


def aot_write(fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any], path: Any) -> None:
    fn, like = _recorded(fun, args, kwargs)
    fn.aot_write(like, os.fspath(path))


def _names(value: Any, what: str, kind: type) -> tuple[Any, ...]:
    out = (value,) if isinstance(value, kind) else () if value is None else tuple(value)
    for v in out:
        if not isinstance(v, kind):
            raise TypeError(f"jit: '{what}' must be {'integers' if kind is int else 'names'}, got {v!r}")
    return out


def _arguments(fun: Any, what: str, argnums: Any, argnames: Any) -> tuple[tuple[int, ...], frozenset[str]]:
    """Arguments that are chosen by position, by name, or by either where the other is None."""
    nums, names = _names(argnums, f"{what}_argnums", int), _names(argnames, f"{what}_argnames", str)
    try:
        parameters = list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    either = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    anything = any(p.kind is p.VAR_KEYWORD for p in parameters)
    for i in nums:
        if parameters and not rest and not -len(either) <= i < len(either):
            raise ValueError(f"jit: {what}_argnums names argument {i}, and '{name_of(fun)}' takes {len(either)}")
    for name in names:
        if parameters and not anything and name not in [p.name for p in parameters]:
            raise ValueError(f"jit: {what}_argnames names '{name}', and '{name_of(fun)}' has no such parameter")
    if argnums is None:
        nums = tuple(either.index(n) for n in names if n in either)
    if argnames is None:
        names = tuple(either[i] for i in nums if -len(either) <= i < len(either))
    return nums, frozenset(names)


def _places(nums: tuple[int, ...], n: int) -> set[int]:
    """Positions among n arguments."""
    return {i % n for i in nums if -n <= i < n}


class Call:
    """A call taken apart: what is fixed by static arguments, and the leaves of the others."""

    def __init__(self, plan: JitPlan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.plan, self.args = plan, args
        self.fixed: dict[int, Any] = {}
        self.named: dict[str, Any] = {}
        self.kwargs = kwargs
        if plan.nums or plan.names:
            self.fixed = {i: args[i] for i in _places(plan.nums, len(args))}
            self.named = {k: v for k, v in kwargs.items() if k in plan.names}
            self.kwargs = {k: v for k, v in kwargs.items() if k not in plan.names}
        self.static = tuple((i, type(v), v) for i, v in sorted(self.fixed.items())) + tuple((k, type(v), v) for k, v in sorted(self.named.items()))
        leaves, self.structure = flatten((tuple(a for i, a in enumerate(args) if i not in self.fixed), self.kwargs))
        self.like = operands(leaves, self.structure, plan.fun)
        self.key = (self.structure, len(args), self.static, _step.signature(self.like))

    def traced(self) -> Traced:
        fun = self.plan.fun
        if self.static:
            fun = without(functools.partial(fun, **self.named), self.fixed, len(self.args))
        return Traced(fun, self.like, self.structure)

    def donated(self) -> tuple[int, ...]:
        """The leaves of donated arguments."""
        places = _places(self.plan.donated_nums, len(self.args))
        _, _, (_, _, *positional), (_, keys, *named) = self.structure
        taken = [i in places for i, s in zip((i for i in range(len(self.args)) if i not in self.fixed), positional, strict=True) for _ in range(count(s))]
        taken += [k in self.plan.donated_names for k, s in zip(keys, named, strict=True) for _ in range(count(s))]
        return tuple(i for i, yes in enumerate(taken) if yes)


class JitPlan:
    """The state of a compiled function: its static and donated arguments, and what was recorded for each kind of call."""

    noted = False  # that functions are interpreted; once a process

    def __init__(self, fun: Any, static_argnums: Any, static_argnames: Any, donate_argnums: Any, donate_argnames: Any) -> None:
        self.fun = fun
        self.nums, self.names = _arguments(fun, "static", static_argnums, static_argnames)
        self.donated_nums, self.donated_names = _arguments(fun, "donate", donate_argnums, donate_argnames)
        if {*self.nums, *self.names} & {*self.donated_nums, *self.donated_names}:
            raise ValueError(f"jit: an argument of '{name_of(fun)}' is both static and donated")
        self.cache: dict[Any, tuple[Any, Structure]] = {}
        self.remembered: set[Any] = set()

    def clear(self) -> None:
        self.cache.clear()
        self.remembered.clear()

    def known(self, call: Call) -> tuple[Any, Structure]:
        """The compiled function for such a call, and the structure of its result; one that reads arrays of the function around it ends with that."""
        try:
            known = self.cache.get(call.key)
        except TypeError:
            for name, kind, value in call.static:
                try:
                    hash(value)
                except TypeError:
                    raise ValueError(f"jit: the static argument {name!r} of '{name_of(self.fun)}' is {value!r}, a {kind.__name__}, which has no hash: static arguments must be hashable") from None
            raise
        if known is None:
            traced = call.traced()
            if traced.fn.captures:
                return traced.fn, traced.out
            known = self.cache[call.key] = (traced.fn.jit(call.like, call.donated()), traced.out)
        return known

    def call(self, jitted: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any:
        c = Call(self, args, kwargs or {})
        fn, out = self.known(c)
        new = not fn.captures and c.key not in self.remembered
        if new:
            self.remembered.add(c.key)
            jitted._remember(args, {**c.named, **c.kwargs}, {*c.fixed, *c.named}, fn, out)
        results = fn(*c.like)
        if new and not JitPlan.noted and (why := _step.note()):
            JitPlan.noted = True
            warnings.warn(f"compiled functions are interpreted, which is slow: {why}", RuntimeWarning, stacklevel=2)
        return unflatten(out, results)

    def cost(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        c = Call(self, args, kwargs)
        return self.known(c)[0].cost_compile(c.like)


def jit(fun: Any = None, static_argnums: Any = None, static_argnames: Any = None, donate_argnums: Any = None, donate_argnames: Any = None) -> Any:
    """The plan of a function, or a decorator; transforms.c makes the compiled function."""
    if fun is None:
        return lambda f: _core.jit(f, static_argnums=static_argnums, static_argnames=static_argnames, donate_argnums=donate_argnums, donate_argnames=donate_argnames)
    return JitPlan(fun, static_argnums, static_argnames, donate_argnums, donate_argnames)
