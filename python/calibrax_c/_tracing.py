"""Trees, and functions that were recorded: what the transforms of Python functions have in common."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections import OrderedDict, defaultdict
from typing import TYPE_CHECKING, Any

from . import _core  # type: ignore[attr-defined]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_step = _core._recording
_tree = _core.tree
Structure = Any  # nested tuples: ... for a leaf, None, (type, kept, children...)
LEAF: Any = ...

# ---- trees ----


def node_of_type(cls: type) -> tuple[Callable[[Any], Any], Callable[[Any, Any], Any]] | None:
    """How a dict of collections, or a data class without its __init__, is taken apart and put together; None: it is a leaf."""
    if cls is OrderedDict:
        return lambda d: (tuple(d.values()), tuple(d)), lambda keys, values: OrderedDict(zip(keys, values, strict=True))
    if cls is defaultdict:
        return lambda d: (tuple(d[k] for k in sorted(d)), (d.default_factory, *sorted(d))), lambda kept, values: defaultdict(kept[0], zip(kept[1:], values, strict=True))
    if not dataclasses.is_dataclass(cls):
        return None
    fields = [f.name for f in dataclasses.fields(cls) if not f.metadata.get("static")]
    static = [f.name for f in dataclasses.fields(cls) if f.metadata.get("static")]

    def flatten(value: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return tuple(getattr(value, n) for n in fields), tuple(getattr(value, n) for n in static)

    def unflatten(kept: tuple[Any, ...], children: Sequence[Any]) -> Any:
        value: Any = object.__new__(cls)
        for name, v in zip(fields + static, (*children, *kept), strict=True):
            object.__setattr__(value, name, v)
        return value

    return flatten, unflatten


def structure_text(s: Structure) -> str:
    """As the tree is written, * for a leaf."""
    if s is LEAF:
        return "*"
    if s is None:
        return "None"
    kind, kept, *children = s
    texts = [structure_text(c) for c in children]
    if kind is tuple:
        return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"
    if kind is list:
        return f"[{', '.join(texts)}]"
    if kind is dict:
        return "{" + ", ".join(f"{k!r}: {t}" for k, t in zip(kept, texts, strict=True)) + "}"
    return f"{kind.__name__}({', '.join(texts)})"


def count(s: Structure) -> int:
    """Number of leaves."""
    return 1 if s is LEAF else 0 if s is None else sum(map(count, s[2:]))


def flatten(value: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], Structure]:
    leaves, structure = _tree.flatten(value, is_leaf)
    return leaves, structure._value


def unflatten(structure: Structure, leaves: Sequence[Any]) -> Any:
    return _step.build(structure, list(leaves))


def map_trees(fun: Callable[..., Any], tree: Any, rest: Sequence[Any], is_leaf: Callable[[Any], bool] | None) -> Any:
    leaves, structure = flatten(tree, is_leaf)
    columns = [leaves, *(list(up_to(structure, other, "map")) for other in rest)]
    return unflatten(structure, [fun(*row) for row in zip(*columns, strict=True)])


def node_of(value: Any) -> tuple[Any, Any, list[Any]]:
    """(type, kept, children) of a node, one level deep; of a leaf the type is `...`."""
    first = True

    def is_leaf(_: Any) -> bool:
        nonlocal first
        was, first = first, False
        return not was

    children, s = flatten(value, is_leaf)
    return (s, None, children) if s is LEAF or s is None else (s[0], s[1], children)


def up_to(structure: Structure, value: Any, what: str) -> Iterator[Any]:
    """The parts of a value where the structure has leaves."""
    if structure is LEAF:
        yield value
        return
    if structure is None:
        if value is not None:
            raise ValueError(f"{what}: the trees differ: None in one, {value!r} in the other")
        return
    kind, kept, children = node_of(value)
    if kind is not structure[0] or kept != structure[1] or len(children) != len(structure) - 2:
        raise ValueError(f"{what}: the trees differ: {structure_text(structure)} in one, {structure_text(flatten(value)[1])} in the other")
    for s, child in zip(structure[2:], children, strict=True):
        yield from up_to(s, child, what)


def spread(prefix: Any, structure: Structure, what: str) -> list[Any]:
    """One value for each leaf of a structure, from a tree that may end above the leaves: integers and None are its leaves."""
    if prefix is None or isinstance(prefix, int):
        return [prefix] * count(structure)
    kind, kept, children = node_of(prefix)
    if kind is list and structure not in (LEAF, None) and structure[0] is tuple:
        kind = tuple
    if structure is LEAF or structure is None or kind is not structure[0] or kept != structure[1] or len(children) != len(structure) - 2:
        raise ValueError(f"{what} must be an integer, None or a tree of them that fits {structure_text(structure)}, got {prefix!r}")
    return [axis for p, s in zip(children, structure[2:], strict=True) for axis in spread(p, s, what)]


def path_of(structure: Structure, index: int, text: str = "") -> str:
    """Where the leaf of a number is: "[0]['w']"."""
    if structure is LEAF:
        return text
    kind, kept, *children = structure
    for i, child in enumerate(children):
        n = count(child)
        if index < n:
            return path_of(child, index, f"{text}[{kept[i]!r}]" if kind is dict else f"{text}[{i}]")
        index -= n
    return text


# ---- recording ----


def integer(what: str, name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except _core.ConcretizationError:
        raise
    except TypeError:
        raise TypeError(f"{what}: '{name}' must be an integer, got {value!r}") from None


def integers(what: str, name: str, value: Any) -> tuple[int, ...]:
    """One integer or several, as a tuple."""
    return tuple(integer(what, name, v) for v in (value if isinstance(value, (tuple, list, range)) else (value,)))


def name_of(fun: Any) -> str:
    while isinstance(fun, functools.partial):
        fun = fun.func
    return getattr(fun, "__name__", None) or type(fun).__name__


def argument_of(structure: Structure, index: int, fun: Any) -> str:
    """The argument that a leaf of ((args...), {keywords}) belongs to."""
    path = path_of(structure, index)
    first, _, rest = path[1:].partition("]")
    second, _, rest = rest[1:].partition("]")
    return f"argument {second}{rest} of '{name_of(fun)}'"


def operands(leaves: list[Any], structure: Structure, fun: Any, at: Sequence[int] | None = None) -> list[Any]:
    """Leaves, or those at some places, as arrays and numbers."""
    out = _step.operands(leaves if at is None else [leaves[i] for i in at])
    for i, o in zip(range(len(leaves)) if at is None else at, out, strict=True):
        if o is None:
            given = leaves[i]
            raise TypeError(f"{argument_of(structure, i, fun)} is {given!r}: it must be an array, a number or a tree of them, or static (static_argnums)")
    return out


def without(fun: Any, fixed: dict[int, Any], n: int) -> Callable[..., Any]:
    """The function of its n arguments but those at the places of fixed, which have these values."""

    def full(*rest: Any, **keywords: Any) -> Any:
        given = iter(rest)
        return fun(*(fixed[i] if i in fixed else next(given) for i in range(n)), **keywords)

    full.__name__ = name_of(fun)
    return full


def dress(wrapper: Any, fun: Any) -> Any:
    """The name and documentation of a function."""
    if not isinstance(fun, type) and (hasattr(fun, "__name__") or hasattr(fun, "__doc__")):
        functools.update_wrapper(wrapper, fun, updated=())
    return wrapper


class Traced:
    """A function recorded for arguments: fn takes their leaves, and gives those of the results, of the structure out.

    With given and at, the leaves at these places alone are traced, the others passed on as they are.
    """

    def __init__(self, fun: Any, like: list[Any], structure: Structure, axes: Sequence[Any] | None = None, split: Callable[[Any], tuple[Any, Any]] | None = None, given: list[Any] | None = None, at: Sequence[int] = ()) -> None:
        self.fun, self.like, self.axes = fun, like, axes
        self.out: Structure = None
        self.aux: Structure = None
        self.weak: list[bool] = []

        def body(*leaves: Any) -> list[Any]:
            if given is not None:
                filled = list(given)
                for i, x in zip(at, leaves, strict=True):
                    filled[i] = x
                leaves = tuple(filled)
            args, kwargs = unflatten(structure, leaves)
            value = fun(*args, **kwargs)
            aux = None
            if split:
                value, aux = split(value)
            results, self.out = flatten(value)
            more, self.aux = flatten(aux)
            self.weak = [_step.is_weak(r) for r in results]
            return results + more

        self.fn = _step.record(name_of(fun), body, like, axes)
        self.n = len(self.weak)

    def results(self, leaves: Sequence[Any]) -> Any:
        return unflatten(self.out, leaves[: self.n])

    def auxiliary(self, leaves: Sequence[Any]) -> Any:
        return unflatten(self.aux, leaves[self.n :])

    def with_auxiliary(self, out: tuple[Any, Any], leaves: Sequence[Any], has_aux: bool) -> tuple[Any, ...]:
        """Both of out, and what the function gives besides."""
        return (*out, self.auxiliary(leaves)) if has_aux else out


def pair(value: Any, rule: str) -> tuple[Any, Any]:
    """What a function returned, which must be two values."""
    if not isinstance(value, tuple) or len(value) != 2:
        raise TypeError(f"{rule}, got {value!r}")
    return value


def pair_of(fun: Any) -> Callable[[Any], tuple[Any, Any]]:
    return lambda value: pair(value, f"'{name_of(fun)}' must return (result, aux) with has_aux=True")


def results_only(traced: Traced, like: list[Any]) -> Any:
    """The recorded function without the auxiliary results."""
    if traced.aux is None:
        return traced.fn
    return _step.record(name_of(traced.fun), lambda *x: traced.fn(*x)[: traced.n], like)
