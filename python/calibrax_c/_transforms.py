"""Transforms of Python functions; the extension calls these functions and documents them (transforms.c).

Each flattens the arguments to a list of leaves, records the function once with traced Arrays in their place (_core._recording.record),
transforms what was recorded, and puts the results back into trees.  Names and rules are those of JAX 0.10.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from typing import TYPE_CHECKING, Any

from . import _core  # type: ignore[attr-defined]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

xp = _core.array
_step = _core._recording
_tree = _core.tree
Structure = Any  # nested tuples: ... for a leaf, None, (type, kept, children...)
LEAF: Any = ...

# ---- trees ----


def dataclass_node(cls: type) -> tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]:
    """How a data class is taken apart and put together, without its __init__."""
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
    columns = [leaves]
    for other in rest:
        more: list[Any] = []
        for part in _up_to(structure, other, "map"):
            more.append(part)
        columns.append(more)
    return unflatten(structure, [fun(*row) for row in zip(*columns, strict=True)])


def _node(value: Any) -> tuple[Any, Any, list[Any]]:
    """(type, kept, children) of a node, one level deep; of a leaf the type is `...`."""
    first = True

    def is_leaf(_: Any) -> bool:
        nonlocal first
        was, first = first, False
        return not was

    children, s = flatten(value, is_leaf)
    return (s, None, children) if s is LEAF or s is None else (s[0], s[1], children)


def _up_to(structure: Structure, value: Any, what: str) -> Iterator[Any]:
    """The parts of a value where the structure has leaves."""
    if structure is LEAF:
        yield value
        return
    if structure is None:
        if value is not None:
            raise ValueError(f"{what}: the trees differ: None in one, {value!r} in the other")
        return
    kind, kept, children = _node(value)
    if kind is not structure[0] or kept != structure[1] or len(children) != len(structure) - 2:
        raise ValueError(f"{what}: the trees differ: {structure_text(structure)} in one, {structure_text(flatten(value)[1])} in the other")
    for s, child in zip(structure[2:], children, strict=True):
        yield from _up_to(s, child, what)


def _spread(prefix: Any, structure: Structure, what: str) -> list[Any]:
    """One value for each leaf of a structure, from a tree that may end above the leaves: integers and None are its leaves."""
    if prefix is None or isinstance(prefix, int):
        return [prefix] * count(structure)
    kind, kept, children = _node(prefix)
    if kind is list and structure not in (LEAF, None) and structure[0] is tuple:
        kind = tuple
    if structure is LEAF or structure is None or kind is not structure[0] or kept != structure[1] or len(children) != len(structure) - 2:
        raise ValueError(f"{what} must be an integer, None or a tree of them that fits {structure_text(structure)}, got {prefix!r}")
    return [axis for p, s in zip(children, structure[2:], strict=True) for axis in _spread(p, s, what)]


def _path(structure: Structure, index: int, text: str = "") -> str:
    """Where the leaf of a number is: "[0]['w']"."""
    if structure is LEAF:
        return text
    kind, kept, *children = structure
    for i, child in enumerate(children):
        n = count(child)
        if index < n:
            return _path(child, index, f"{text}[{kept[i]!r}]" if kind is dict else f"{text}[{i}]")
        index -= n
    return text


# ---- recording ----


def _name(fun: Any) -> str:
    while isinstance(fun, functools.partial):
        fun = fun.func
    return getattr(fun, "__name__", None) or type(fun).__name__


def _where(structure: Structure, index: int, fun: Any) -> str:
    """The argument that a leaf of ((args...), {keywords}) belongs to."""
    path = _path(structure, index)
    first, _, rest = path[1:].partition("]")
    second, _, rest = rest[1:].partition("]")
    return f"argument {second}{rest} of '{_name(fun)}'"


def operands(leaves: list[Any], structure: Structure, fun: Any, at: Sequence[int] | None = None) -> list[Any]:
    """Leaves, or those at some places, as arrays and numbers."""
    out = _step.operands(leaves if at is None else [leaves[i] for i in at])
    for i, o in zip(range(len(leaves)) if at is None else at, out, strict=True):
        if o is None:
            given = leaves[i]
            raise TypeError(f"{_where(structure, i, fun)} is {given!r}: it must be an array, a number or a tree of them, or static (static_argnums)")
    return out


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

        self.fn = _step.record(_name(fun), body, like, axes)
        self.n = len(self.weak)

    def results(self, leaves: Sequence[Any]) -> Any:
        return unflatten(self.out, leaves[: self.n])

    def auxiliary(self, leaves: Sequence[Any]) -> Any:
        return unflatten(self.aux, leaves[self.n :])


def _pair(fun: Any) -> Callable[[Any], tuple[Any, Any]]:
    def split(value: Any) -> tuple[Any, Any]:
        if not isinstance(value, tuple) or len(value) != 2:
            raise TypeError(f"'{_name(fun)}' must return (result, aux) with has_aux=True, got {value!r}")
        return value

    return split


def _results_only(traced: Traced, like: list[Any]) -> Any:
    """The recorded function without the auxiliary results."""
    if traced.aux is None:
        return traced.fn
    return _step.record(_name(traced.fun), lambda *x: traced.fn(*x)[: traced.n], like)


# ---- derivatives ----


def _argnums(argnums: Any, n: int, what: str) -> list[int]:
    single = isinstance(argnums, int)
    out = []
    for i in [argnums] if single else argnums:
        i = i.__index__()
        if not -n <= i < n:
            raise ValueError(f"{what}: argnums names argument {i}, and {n} were given")
        out.append(i % n)
    return out


class Arguments:
    """The arguments to derive in, which are traced, among those of a call, which are passed on as they are."""

    def __init__(self, what: str, fun: Any, argnums: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.fun = fun
        self.given, self.structure = flatten((args, kwargs))
        self.single = isinstance(argnums, int)
        positions = self.structure[2][2:]
        starts = [0]
        for s in positions:
            starts.append(starts[-1] + count(s))
        self.trees = []
        self.at: list[int] = []
        for i in _argnums(argnums, len(args), what):
            self.trees.append(positions[i])
            self.at += range(starts[i], starts[i + 1])
        self.like = operands(self.given, self.structure, fun, self.at)
        for k, o in zip(self.at, self.like, strict=True):
            if not isinstance(o, (float, complex)) and (isinstance(o, int) or not xp.isdtype(o.dtype, ("real floating", "complex floating"))):
                kind = type(o).__name__ if isinstance(o, int) else str(o.dtype)
                raise TypeError(f"{what}: {_where(self.structure, k, fun)} is {kind}: derive in float or complex arguments")
        self.all = tuple(range(len(self.like)))

    def traced(self, has_aux: bool) -> Traced:
        return Traced(self.fun, self.like, self.structure, split=_pair(self.fun) if has_aux else None, given=self.given, at=self.at)

    def tree(self, leaves: Sequence[Any]) -> Any:
        """Values, one for each leaf to derive in, as the arguments are."""
        out, at = [], 0
        for s in self.trees:
            out.append(unflatten(s, leaves[at : at + count(s)]))
            at += count(s)
        return out[0] if self.single else tuple(out)


def value_and_grad(fun: Any, argnums: Any = 0, has_aux: bool = False, what: str = "value_and_grad", value: bool = True) -> Any:
    def derived(*args: Any, **kwargs: Any) -> Any:
        a = Arguments(what, fun, argnums, args, kwargs)
        traced = a.traced(has_aux)
        if traced.out is not LEAF:
            raise TypeError(f"{what}: '{_name(fun)}' must return one real scalar, not {structure_text(traced.out)}" + ("" if has_aux else "; has_aux=True is for (scalar, anything)"))
        if not a.like:
            result, gradients = traced.fn(*a.like), []
        elif not has_aux:
            out = traced.fn.derive("value_and_grad" if value else "grad", a.all)(*a.like)
            result, gradients = out[:value], out[value:]
        else:
            scalar = _step.record(_name(fun), lambda *x: traced.fn(*x)[:1], a.like)  # refuses what is no real scalar
            primal = scalar.derive("vjp", a.all)
            result = traced.fn(*a.like)
            _scalar_check(what, fun, result[0])
            gradients = primal(*a.like, xp.ones((), dtype=result[0].dtype))[1:]
        grads = a.tree(gradients)
        if has_aux:
            return ((traced.results(result), traced.auxiliary(result)), grads) if value else (grads, traced.auxiliary(result))
        return (traced.results(result), grads) if value else grads

    return dress(derived, fun)


def _scalar_check(what: str, fun: Any, y: Any) -> None:
    if y.ndim or not xp.isdtype(y.dtype, "real floating"):
        raise (ValueError if y.ndim else TypeError)(f"'{what}({_name(fun)})' needs a real scalar result, '{_name(fun)}' gives {y.dtype} {y.shape}: take its sum, or 'vjp'")


def grad(fun: Any, argnums: Any = 0, has_aux: bool = False) -> Any:
    return value_and_grad(fun, argnums, has_aux, "grad", False)


def _jacobian(what: str, fun: Any, argnums: Any, has_aux: bool) -> Any:
    def derived(*args: Any, **kwargs: Any) -> Any:
        a = Arguments(what, fun, argnums, args, kwargs)
        traced = a.traced(has_aux)
        fn = _results_only(traced, a.like)
        columns = [fn.derive(what, (k,))(*a.like) for k in a.all]
        jacobian = traced.results([a.tree([column[i] for column in columns]) for i in range(traced.n)])
        return (jacobian, traced.auxiliary(traced.fn(*a.like))) if has_aux else jacobian

    return dress(derived, fun)


def jacfwd(fun: Any, argnums: Any = 0, has_aux: bool = False) -> Any:
    return _jacobian("jacfwd", fun, argnums, has_aux)


def jacrev(fun: Any, argnums: Any = 0, has_aux: bool = False) -> Any:
    return _jacobian("jacrev", fun, argnums, has_aux)


def hessian(fun: Any, argnums: Any = 0, has_aux: bool = False) -> Any:
    return jacfwd(jacrev(fun, argnums, has_aux), argnums, has_aux)


def _like(what: str, value: Any, structure: Structure, like: Sequence[Any]) -> list[Any]:
    """Leaves of a tangent or cotangent; numbers take the dtype of what they belong to."""
    leaves, s = flatten(value)
    if s != structure:
        raise TypeError(f"{what} must be as {structure_text(structure)}, got {structure_text(s)}")
    out = _step.operands(leaves)
    for i, o in enumerate(out):
        if o is None:
            raise TypeError(f"{what} is {leaves[i]!r}: it must be an array or a number")
        if _step.is_weak(o) or not hasattr(o, "shape"):
            dtype = like[i].dtype if hasattr(like[i], "dtype") else None
            out[i] = xp.astype(o, dtype) if hasattr(o, "dtype") and dtype else xp.asarray(o, dtype=dtype or ("complex128" if isinstance(like[i], complex) else "float64"))
    return out


def jvp(fun: Any, primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise TypeError(f"jvp: '{name}' must be a tuple or list, an entry for each argument, got {given!r}")
    a = Arguments("jvp", fun, tuple(range(len(primals))), tuple(primals), {})
    along = _like("jvp: tangents", tuple(tangents), a.structure[2], a.like)
    traced = a.traced(has_aux)
    if not a.like:
        results = traced.fn()
        out = (traced.results(results), traced.results([xp.zeros_like(r) for r in results[: traced.n]]))
        return (*out, traced.auxiliary(results)) if has_aux else out
    results = traced.fn.derive("jvp", None)(*a.like, *along)
    n = len(results) // 2
    out = (traced.results(results), unflatten(traced.out, results[n : n + traced.n]))
    return (*out, traced.auxiliary(results[:n])) if has_aux else out


def linearize(fun: Any, primals: Any, has_aux: bool = False) -> Any:
    a = Arguments("linearize", fun, tuple(range(len(primals))), primals, {})
    traced = a.traced(has_aux)
    results, linear = traced.fn.linearize(*a.like)

    def derivative(*tangents: Any) -> Any:
        return traced.results(linear(*_like("the tangents of a linearized function", tangents, a.structure[2], a.like)))

    out = (traced.results(results), derivative)
    return (*out, traced.auxiliary(results)) if has_aux else out


def vjp(fun: Any, primals: Any, has_aux: bool = False) -> Any:
    a = Arguments("vjp", fun, tuple(range(len(primals))), primals, {})
    traced = a.traced(has_aux)
    results, linear = traced.fn.linearize(*a.like)
    zeros = [xp.zeros_like(x) if hasattr(x, "dtype") else xp.asarray(type(x)(0)) for x in a.like]
    rest = [xp.zeros_like(r) for r in results[traced.n :]]
    back = linear.derive("vjp", None)

    def cotangents(ct: Any) -> Any:
        given = _like("the cotangents", ct, traced.out, results)
        return a.tree(back(*zeros, *given, *rest)[len(results) :])

    out = (traced.results(results), cotangents)
    return (*out, traced.auxiliary(results)) if has_aux else out


# ---- batches ----


def vmap(fun: Any, in_axes: Any = 0, out_axes: Any = 0, axis_size: int | None = None) -> Any:
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)

    def mapped(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(f"vmap of '{_name(fun)}': in_axes has {len(in_axes)} entries, and {len(args)} arguments were given")
        leaves, structure = flatten((args, kwargs))
        axes = _spread(in_axes, structure[2], "in_axes") + [0] * count(structure[3])
        at = [i for i, axis in enumerate(axes) if axis is not None]
        like, axes = operands(leaves, structure, fun, at), [axes[i] for i in at]
        size = axis_size
        for i, x, axis in zip(at, like, axes, strict=True):
            shape = getattr(x, "shape", ())
            if not -len(shape) <= axis < len(shape):
                raise ValueError(f"vmap: {_where(structure, i, fun)} has the shape {shape}: there is no axis {axis} to map")
            if size is not None and shape[axis] != size:
                raise ValueError(f"vmap: axis {axis} of {_where(structure, i, fun)} has {shape[axis]} elements, and others have {size}: mapped axes must be equally long")
            size = shape[axis]
        if size is None:
            raise ValueError(f"vmap of '{_name(fun)}' maps no argument: one must have an axis, or axis_size be given")
        traced = Traced(fun, like, structure, tuple(axes), given=leaves, at=at)
        fn = traced.fn
        if not like:  # the batch is of equal results
            like, axes = [xp.zeros(size)], [0]
            fn = _step.record(_name(fun), lambda _: traced.fn(), like, (0,))
        return traced.results(fn.vmap(tuple(axes), tuple(_spread(out_axes, traced.out, "out_axes")))(*like))

    return dress(mapped, fun)


# ---- control flow ----


def _leaves(what: str, value: Any) -> tuple[list[Any], Structure]:
    """Leaves of a value as Arrays, and which of them are Python numbers."""
    leaves, structure = flatten(value)
    out = _step.operands(leaves)
    for given, o in zip(leaves, out, strict=True):
        if o is None:
            raise TypeError(f"{what} has the leaf {given!r}: it must be an array or a number")
    return out, structure


def _settle(what: str, init: list[Any], record: Callable[[list[Any]], tuple[Any, list[Any]]]) -> tuple[list[Any], Any]:
    """A loop's carry: where it begins as a Python number, it takes the dtype that the body gives it."""
    traced, dtypes = record(init)
    again = False
    for i, dtype in enumerate(dtypes):
        if _step.is_weak(init[i]) and dtype is not None and dtype != (init[i].dtype if hasattr(init[i], "dtype") else xp.asarray(init[i]).dtype):
            init[i] = xp.astype(init[i], dtype) if hasattr(init[i], "dtype") else xp.astype(xp.asarray(init[i]), dtype)
            again = True
    if again:
        traced, _ = record(init)
    return init, traced


def _number(dtype: Any) -> Any:
    """A Python number of the kind of a dtype."""
    return False if dtype == xp.bool else 0 if xp.isdtype(dtype, "integral") else 0.0 if xp.isdtype(dtype, "real floating") else 0j


def _carried(what: str, fun: Any, before: Structure, after: Structure) -> None:
    if before != after:
        raise TypeError(f"{what}: '{_name(fun)}' must return a carry as {structure_text(before)}, got {structure_text(after)}")


class Body:
    """A recorded step of a loop: after some leading operands the carry, then more; gives the carry, then more."""

    def __init__(self, what: str, fun: Any, structure: Structure, like: list[Any], axes: Sequence[Any] | None, carry: Structure, n: int, split: Callable[[Any], tuple[Any, Any]]) -> None:
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

        self.fn = _step.record(_name(fun), body, like, axes)


def scan(f: Any, init: Any, xs: Any = None, length: int | None = None, reverse: bool = False, unroll: Any = 1, save_every: Any = None) -> Any:
    every = 0 if save_every is None else -1 if save_every == "sqrt" else save_every
    if not isinstance(every, int) or isinstance(every, bool) or (every < 1 and save_every is not None and save_every != "sqrt"):
        raise ValueError(f"scan: 'save_every' must be at least 1 or 'sqrt', got {save_every!r}")
    start, carry = _leaves("scan: init", init)
    rows, row = _leaves("scan: xs", xs)
    for i, x in enumerate(rows):
        if not getattr(x, "ndim", 0):
            raise ValueError(f"scan: xs{_path(row, i)} is a scalar: it has no axis to scan")
        n = x.shape[0]
        if length is not None and n != length:
            raise ValueError(f"scan: xs{_path(row, i)} has {n} rows, and there are {length} steps")
        length = n
    if length is None:
        raise ValueError("scan: 'length' must be given where there are no xs")
    structure = (tuple, None, carry, row)
    axes = tuple([None] * len(start) + [0] * len(rows))

    def split(value: Any) -> tuple[Any, Any]:
        if not isinstance(value, tuple) or len(value) != 2:
            raise TypeError(f"scan: '{_name(f)}' must return (carry, y), got {value!r}")
        return value

    def record(begin: list[Any]) -> tuple[Any, list[Any]]:
        b = Body("scan", f, structure, begin + rows, axes, carry, 0, split)
        return b, b.dtypes

    start, body = _settle("scan", start, record)
    out = _step.scan(body.fn, start, rows, length.__index__(), bool(reverse), every)
    return unflatten(carry, out[: len(start)]), unflatten(body.more, out[len(start) :])


def _bound(value: Any) -> Any:
    """A bound of a loop: an integer, or a traced Array."""
    if _step.is_traced(value):
        return value
    if hasattr(value, "dtype"):
        return int(value)
    return value.__index__()


def fori_loop(lower: Any, upper: Any, body_fun: Any, init_val: Any, unroll: Any = None) -> Any:
    low, high = _bound(lower), _bound(upper)
    if not isinstance(low, int) or not isinstance(high, int):

        def step(value: Any) -> Any:
            i, top, inner = value
            return i + 1, top, body_fun(i, inner)

        dtype = low.dtype if not isinstance(low, int) else high.dtype
        return while_loop(lambda value: value[0] < value[1], step, (xp.asarray(low, dtype=dtype), xp.asarray(high, dtype=dtype), init_val))[2]
    start, carry = _leaves("fori_loop: init_val", init_val)

    def record(begin: list[Any]) -> tuple[Any, list[Any]]:
        b = Body("fori_loop", body_fun, (tuple, None, LEAF, carry), [xp.asarray(0), *begin], None, carry, 1, lambda value: (value, None))
        return b, b.dtypes

    start, body = _settle("fori_loop", start, record)
    return unflatten(carry, _step.fori_loop(low, high, body.fn, start))


def while_loop(cond_fun: Any, body_fun: Any, init_val: Any) -> Any:
    start, carry = _leaves("while_loop: init_val", init_val)
    structure = (tuple, None, carry)

    def record(begin: list[Any]) -> tuple[Any, list[Any]]:
        b = Body("while_loop", body_fun, structure, begin, None, carry, 0, lambda value: (value, None))
        return b, b.dtypes

    start, body = _settle("while_loop", start, record)
    test = Traced(cond_fun, start, (tuple, None, structure, (dict, ())))
    if test.out is not LEAF:
        raise TypeError(f"while_loop: '{_name(cond_fun)}' must return a scalar, got {structure_text(test.out)}")
    return unflatten(carry, _step.while_loop(test.fn, body.fn, start))


def _branches(what: str, which: Any, funs: Sequence[Any], args: tuple[Any, ...], truth: bool) -> Any:
    leaves, structure = _leaves(what, args)
    structure = (tuple, None, structure, (dict, ()))
    traced = [Traced(f, leaves, structure) for f in funs]
    for f, t in zip(funs, traced, strict=True):
        if t.out != traced[0].out:
            raise TypeError(f"{what}: '{_name(f)}' returns {structure_text(t.out)}, and '{_name(funs[0])}' {structure_text(traced[0].out)}: branches must agree")
    weak = [all(t.weak[i] for t in traced) for i in range(traced[0].n)]
    if any(t.weak[i] and not weak[i] for t in traced for i in range(t.n)):  # numbers take the dtype of the other branches
        dtypes = [next((r.dtype for t in traced for r, w in [(t.fn(*leaves)[i], t.weak[i])] if not w), None) for i in range(traced[0].n)]
        fns = [_step.record(_name(f), lambda *x, t=t: [xp.astype(r, d) if w and d else r for r, d, w in zip(t.fn(*x), dtypes, t.weak, strict=True)], leaves) for f, t in zip(funs, traced, strict=True)]
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
    return _branches("switch", index, branches, operands, False)


# ---- derivatives of the user ----


MAX_KEPT = 128  # arrays that fwd of a custom_vjp may keep


def _traced(leaves: list[Any]) -> bool:
    return any(_step.is_traced(x) for x in leaves)


class _Custom:
    """A function with derivatives of its own; the arguments at nondiff_argnums are passed to it, and to its rules, as they are."""

    what = ""

    def __init__(self, fun: Any, nondiff_argnums: Any) -> None:
        self.fun = fun
        self.nondiff = tuple(i.__index__() for i in ((nondiff_argnums,) if isinstance(nondiff_argnums, int) else nondiff_argnums))
        dress(self, fun)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        if not kwargs:
            return args
        bound = inspect.signature(self.fun).bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError(f"{self.what}: '{_name(self.fun)}' has arguments by keyword alone: its rule has no place for them")
        return bound.args

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args = self._bind(args, kwargs)
        fixed = {i % len(args): args[i] for i in self.nondiff}
        active = tuple(a for i, a in enumerate(args) if i not in fixed)
        leaves, structure = flatten((active, {}))
        like = operands(leaves, structure, self.fun)
        if not _traced(like):
            return self.fun(*args)

        def full(*rest: Any) -> Any:
            given = iter(rest)
            return self.fun(*(fixed[i] if i in fixed else next(given) for i in range(len(args))))

        full.__name__ = _name(self.fun)
        like = [xp.asarray(x) for x in like]
        traced = Traced(full, like, structure)
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
            raise AttributeError(f"custom_jvp: '{_name(self.fun)}' has no rule: give it one with defjvp")
        before = [fixed[i] for i in sorted(fixed)]

        def body(*leaves: Any) -> list[Any]:
            half = len(like)
            primals, tangents = unflatten(structure, leaves[:half])[0], unflatten(structure, leaves[half:])[0]
            value = self.rule(*before, primals, tangents)
            if not isinstance(value, tuple) or len(value) != 2:
                raise TypeError(f"custom_jvp: the rule of '{_name(self.fun)}' must return (result, tangent), got {value!r}")
            out, t = flatten(value[0]), flatten(value[1])
            if out[1] != traced.out or t[1] != traced.out:
                raise TypeError(f"custom_jvp: the rule of '{_name(self.fun)}' must return a result and a tangent as {structure_text(traced.out)}, got {structure_text(out[1])} and {structure_text(t[1])}")
            results = [xp.asarray(x) for x in out[0]]
            return results + _as("custom_jvp", t[0], results)

        n = len(traced.weak)
        return _step.custom_jvp(traced.fn, _step.rule(_name(self.rule), body, 2 * len(like), 2 * n, 0))


class CustomVjp(_Custom):
    what = "custom_vjp"
    fwd: Any = None
    bwd: Any = None

    def defvjp(self, fwd: Any, bwd: Any) -> None:
        self.fwd, self.bwd = fwd, bwd

    def _with_rules(self, traced: Traced, like: list[Any], structure: Structure, fixed: dict[int, Any], n: int) -> Any:
        if self.fwd is None:
            raise AttributeError(f"custom_vjp: '{_name(self.fun)}' has no rules: give them with defvjp")
        kept: list[Structure] = [None]
        results = len(traced.weak)

        def forward(*leaves: Any) -> list[Any]:
            given = iter(unflatten(structure, leaves)[0])
            value = self.fwd(*(fixed[i] if i in fixed else next(given) for i in range(n)))
            if not isinstance(value, tuple) or len(value) != 2:
                raise TypeError(f"custom_vjp: fwd of '{_name(self.fun)}' must return (result, kept), got {value!r}")
            out, s = flatten(value[0])
            if s != traced.out:
                raise TypeError(f"custom_vjp: fwd of '{_name(self.fun)}' must return a result as {structure_text(traced.out)}, got {structure_text(s)}")
            residuals, kept[0] = flatten(value[1])
            return out + residuals

        def backward(*leaves: Any) -> list[Any]:
            residuals, ct = unflatten(kept[0], leaves[: count(kept[0])]), unflatten(traced.out, leaves[MAX_KEPT:])
            value = self.bwd(*(fixed[i] for i in sorted(fixed)), residuals, ct)
            args = structure[2]
            if not isinstance(value, (tuple, list)) or len(value) != len(args) - 2:
                raise TypeError(f"custom_vjp: bwd of '{_name(self.fun)}' must return a tuple of {len(args) - 2} cotangents, got {value!r}")
            out: list[Any] = []
            for s, v in zip(args[2:], value, strict=True):
                if v is None:
                    out += [None] * count(s)
                    continue
                parts, found = flatten(v)
                if found != s:
                    raise TypeError(f"custom_vjp: bwd of '{_name(self.fun)}' must return cotangents as {structure_text(args)}, got {structure_text(found)} for {structure_text(s)}")
                out += parts
            return _as("custom_vjp", [xp.zeros(x.shape, dtype=x.dtype) if o is None else o for o, x in zip(out, like, strict=True)], like)

        fwd = _step.rule(_name(self.fwd), forward, len(like), results, MAX_KEPT)
        bwd = _step.rule(_name(self.bwd), backward, MAX_KEPT + results, len(like), 0)
        return _step.custom_vjp(traced.fn, fwd, bwd)


def custom_jvp(fun: Any, nondiff_argnums: Any = ()) -> CustomJvp:
    return CustomJvp(fun, nondiff_argnums)


def custom_vjp(fun: Any, nondiff_argnums: Any = ()) -> CustomVjp:
    return CustomVjp(fun, nondiff_argnums)


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

        def full(*rest: Any, **keywords: Any) -> Any:
            given = iter(rest)
            return fun(*(fixed[i] if i in fixed else next(given) for i in range(len(args))), **keywords)

        full.__name__ = _name(fun)
        traced = Traced(full, like, structure)
        return traced.results(traced.fn.checkpoint()(*like))

    return dress(checkpointed, fun)


# ---- compiled functions ----


STAGES = ("graph", "fused", "kernels", "c", "llvm", "assembly")


def dump(fun: Any, args: tuple[Any, ...], stage: str = "graph") -> str:
    if stage not in STAGES:
        raise ValueError(f"dump: 'stage' must be one of {', '.join(map(repr, STAGES))}, got {stage!r}")
    leaves, structure = flatten((args, {}))
    like = operands(leaves, structure, fun)
    return Traced(fun, like, structure).fn.dump(like, STAGES.index(stage))


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
                raise ValueError(f"jit: static_argnums names argument {i}, and '{_name(fun)}' takes {len(either)}")
        for name in names:
            if parameters and not anything and name not in [p.name for p in parameters]:
                raise ValueError(f"jit: static_argnames names '{name}', and '{_name(fun)}' has no such parameter")
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
                    raise ValueError(f"jit: the static argument {name!r} of '{_name(self.fun)}' is {value!r}, a {kind.__name__}, which has no hash: static arguments must be hashable") from None
            raise
        if known is None:
            fun = self.fun
            if static:

                def fun(*rest: Any, **keywords: Any) -> Any:
                    given = iter(rest)
                    return self.fun(*(fixed[i] if i in fixed else next(given) for i in range(len(args))), **named, **keywords)

                fun.__name__ = _name(self.fun)
            traced = Traced(fun, like, structure)
            if traced.fn.captures:  # it reads arrays of the function around it, and ends with it
                return traced.results(traced.fn(*like))
            known = (traced.fn.jit(), traced.out)
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
