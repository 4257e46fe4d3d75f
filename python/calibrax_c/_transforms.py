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
from ._tracing import LEAF, Structure, Traced, argument_of, count, dress, flatten, integers, name_of, operands, pair_of, results_only, spread, structure_text, unflatten

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
                raise TypeError(f"{what}: {argument_of(self.structure, k, fun)} is {kind}: derive in float or complex arguments")
        self.all = tuple(range(len(self.like)))

    def traced(self, has_aux: bool) -> Traced:
        return Traced(self.fun, self.like, self.structure, split=pair_of(self.fun) if has_aux else None, given=self.given, at=self.at)

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
