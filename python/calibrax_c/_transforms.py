"""Transforms of Python functions; the extension calls these functions and documents them (transforms.c).

Each flattens the arguments to a list of leaves, records the function once with traced Arrays in their place (_core._recording.record),
transforms what was recorded, and puts the results back into trees.  Names and rules are those of JAX 0.10.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core  # type: ignore[attr-defined]
from ._compiled import aot_write, cost, cost_compile, dump, jit
from ._control import cond, fori_loop, scan, switch, while_loop
from ._custom import checkpoint, custom_jvp, custom_vjp, stop_gradient
from ._tracing import LEAF, Structure, Traced, argument_of, count, dress, flatten, integers, name_of, operands, pair_of, results_only, spread, structure_text, unflatten, up_to

if TYPE_CHECKING:
    from collections.abc import Sequence

xp = _core.array
_step = _core._recording

__all__ = "aot_write checkpoint cond cost cost_compile custom_jvp custom_vjp dump fori_loop grad hessian jacfwd jacrev jit jvp linearize scan stop_gradient switch value_and_grad vjp vmap while_loop".split()

# ---- derivatives ----


def _argnums(argnums: Any, n: int, what: str) -> list[int]:
    out = []
    for i in integers(what, "argnums", argnums):
        if not -n <= i < n:
            raise ValueError(f"{what}: argnums names argument {i}, and {n} were given")
        out.append(i % n)
    return out


def _moves(o: Any) -> bool:
    """Whether an operand or a result has tangents: integers and booleans do not."""
    return isinstance(o, (float, complex)) or (not isinstance(o, int) and xp.isdtype(o.dtype, ("real floating", "complex floating")))


class Arguments:
    """The arguments to derive in, which are traced, among those of a call, which are passed on as they are.

    primals: integers and booleans among them are passed on, too, and do not move.
    """

    def __init__(self, what: str, fun: Any, argnums: Any, args: tuple[Any, ...], kwargs: dict[str, Any], primals: bool = False) -> None:
        self.fun = fun
        self.given, self.structure = flatten((args, kwargs))
        self.single = isinstance(argnums, int)
        positions = self.structure[2][2:]
        starts = [0]
        for s in positions:
            starts.append(starts[-1] + count(s))
        self.trees = []
        at: list[int] = []
        for i in _argnums(argnums, len(args), what):
            self.trees.append(positions[i])
            at += range(starts[i], starts[i + 1])
        leaves = operands(self.given, self.structure, fun, at)
        for k, o in zip(at, leaves, strict=True):
            if primals:
                self.given[k] = o
            elif not _moves(o):
                kind = type(o).__name__ if isinstance(o, int) else str(o.dtype)
                raise TypeError(f"{what}: {argument_of(self.structure, k, fun)} is {kind}: derive in float or complex arguments")
        self.leaves = [o if _moves(o) else None for o in leaves]
        self.at = [k for k, o in zip(at, self.leaves, strict=True) if o is not None]
        self.like = [o for o in self.leaves if o is not None]
        self.all = tuple(range(len(self.like)))

    def traced(self, has_aux: bool) -> Traced:
        return Traced(self.fun, self.like, self.structure, split=pair_of(self.fun) if has_aux else None, given=self.given, at=self.at)

    def tree(self, values: Sequence[Any]) -> Any:
        """Values, one for each leaf that moves, as the arguments are; None in the places of others."""
        each = iter(values)
        leaves = iter([None if o is None else next(each) for o in self.leaves])
        out = [unflatten(s, [next(leaves) for _ in range(count(s))]) for s in self.trees]
        return out[0] if self.single else tuple(out)


def value_and_grad(fun: Any, argnums: Any = 0, has_aux: bool = False, what: str = "value_and_grad", value: bool = True) -> Any:
    def derived(*args: Any, **kwargs: Any) -> Any:
        a = Arguments(what, fun, argnums, args, kwargs)
        traced = a.traced(has_aux)
        if traced.out is not LEAF:
            raise TypeError(f"{what}: '{name_of(fun)}' must return one real scalar, not {structure_text(traced.out)}" + ("" if has_aux else "; has_aux=True is for (scalar, anything)"))
        if not a.like:
            result, gradients = traced.fn(*a.like), []
        elif not has_aux:
            out = traced.fn.derive("value_and_grad" if value else "grad", a.all)(*a.like)
            result, gradients = out[:value], out[value:]
        else:
            scalar = _step.record(name_of(fun), lambda *x: traced.fn(*x)[:1], a.like)  # refuses what is no real scalar
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
        raise (ValueError if y.ndim else TypeError)(f"'{what}({name_of(fun)})' needs a real scalar result, '{name_of(fun)}' gives {y.dtype} {y.shape}: take its sum, or 'vjp'")


def grad(fun: Any, argnums: Any = 0, has_aux: bool = False) -> Any:
    return value_and_grad(fun, argnums, has_aux, "grad", False)


def _jacobian(what: str, fun: Any, argnums: Any, has_aux: bool) -> Any:
    def derived(*args: Any, **kwargs: Any) -> Any:
        a = Arguments(what, fun, argnums, args, kwargs)
        traced = a.traced(has_aux)
        fn = results_only(traced, a.like)
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
    """Leaves of a tangent or cotangent, of what moves; numbers take the dtype of what they belong to.  like: None of what does not move."""
    try:
        parts = list(up_to(structure, value, what))
    except ValueError:
        raise TypeError(f"{what} must be as {structure_text(structure)}, got {structure_text(flatten(value)[1])}") from None
    out = []
    for part, x in zip(parts, like, strict=True):
        if x is None:  # integers are not read, nor is JAX's float0
            kind = str(getattr(part, "dtype", type(part).__name__))
            if part is not None and not any(word in kind for word in ("int", "bool", "float0")):
                raise TypeError(f"{what}: {part!r} is in the place of an integer or bool, which does not move: None belongs there")
            continue
        o = _step.operands([part])[0]
        if o is None:
            raise TypeError(f"{what} is {part!r}: it must be an array or a number")
        if _step.is_weak(o) or not hasattr(o, "shape"):
            dtype = x.dtype if hasattr(x, "dtype") else None
            o = xp.astype(o, dtype) if hasattr(o, "dtype") and dtype else xp.asarray(o, dtype=dtype or ("complex128" if isinstance(x, complex) else "float64"))
        out.append(o)
    return out


def jvp(fun: Any, primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise TypeError(f"jvp: '{name}' must be a tuple or list, an entry for each argument, got {given!r}")
    a = Arguments("jvp", fun, tuple(range(len(primals))), tuple(primals), {}, primals=True)
    along = _like("jvp: tangents", tuple(tangents), a.structure[2], a.leaves)
    traced = a.traced(has_aux)
    if not a.like:
        results = traced.fn()
        out = traced.results(results), traced.results([xp.zeros_like(r) for r in results[: traced.n]])
        return traced.with_auxiliary(out, results, has_aux)
    results = traced.fn.derive("jvp", None)(*a.like, *along)
    n = len(results) // 2
    return traced.with_auxiliary((traced.results(results), unflatten(traced.out, results[n : n + traced.n])), results[:n], has_aux)


def linearize(fun: Any, primals: Any, has_aux: bool = False) -> Any:
    a = Arguments("linearize", fun, tuple(range(len(primals))), primals, {}, primals=True)
    traced = a.traced(has_aux)
    results, linear = traced.fn.linearize(*a.like)

    def derivative(*tangents: Any) -> Any:
        return traced.results(linear(*_like("the tangents of a linearized function", tangents, a.structure[2], a.leaves)))

    return traced.with_auxiliary((traced.results(results), derivative), results, has_aux)


def vjp(fun: Any, primals: Any, has_aux: bool = False) -> Any:
    a = Arguments("vjp", fun, tuple(range(len(primals))), primals, {}, primals=True)
    traced = a.traced(has_aux)
    results, linear = traced.fn.linearize(*a.like)
    zeros = [xp.zeros_like(x) if hasattr(x, "dtype") else xp.asarray(type(x)(0)) for x in a.like]
    rest = [xp.zeros_like(r) for r in results[traced.n :]]
    back = linear.derive("vjp", None)

    def cotangents(ct: Any) -> Any:
        given = iter(_like("the cotangents", ct, traced.out, [r if _moves(r) else None for r in results[: traced.n]]))
        of_results = [next(given) if _moves(r) else xp.zeros_like(r) for r in results[: traced.n]]
        return a.tree(back(*zeros, *of_results, *rest)[len(results) :])

    return traced.with_auxiliary((traced.results(results), cotangents), results, has_aux)


# ---- batches ----


def vmap(fun: Any, in_axes: Any = 0, out_axes: Any = 0, axis_size: int | None = None) -> Any:
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)

    def mapped(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(f"vmap of '{name_of(fun)}': in_axes has {len(in_axes)} entries, and {len(args)} arguments were given")
        leaves, structure = flatten((args, kwargs))
        axes = spread(in_axes, structure[2], "in_axes") + [0] * count(structure[3])
        at = [i for i, axis in enumerate(axes) if axis is not None]
        like, axes = operands(leaves, structure, fun, at), [axes[i] for i in at]
        size = axis_size
        for i, x, axis in zip(at, like, axes, strict=True):
            shape = getattr(x, "shape", ())
            if not -len(shape) <= axis < len(shape):
                raise ValueError(f"vmap: {argument_of(structure, i, fun)} has the shape {shape}: there is no axis {axis} to map")
            if size is not None and shape[axis] != size:
                raise ValueError(f"vmap: axis {axis} of {argument_of(structure, i, fun)} has {shape[axis]} elements, and others have {size}: mapped axes must be equally long")
            size = shape[axis]
        if size is None:
            raise ValueError(f"vmap of '{name_of(fun)}' maps no argument: one must have an axis, or axis_size be given")
        traced = Traced(fun, like, structure, tuple(axes), given=leaves, at=at)
        fn = traced.fn
        if not like:  # the batch is of equal results
            like, axes = [xp.zeros(size)], [0]
            fn = _step.record(name_of(fun), lambda _: traced.fn(), like, (0,))
        return traced.results(fn.vmap(tuple(axes), tuple(spread(out_axes, traced.out, "out_axes")))(*like))

    return dress(mapped, fun)
