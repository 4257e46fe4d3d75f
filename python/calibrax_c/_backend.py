"""The backend object: array functions and transforms under the names of NumPy, one behaviour on every backend of the library."""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any

from calibrax_c import _core, _transforms  # type: ignore[attr-defined]
from calibrax_c import array as xp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from calibrax_c.array import Array

_objects: dict[str, Backend] = {}


def _a(x: Any, dtype: Any = None) -> Any:
    return xp.asarray(x, dtype=dtype)


def _of_one(f: Callable[..., Array]) -> Callable[[Any, Any], Array]:
    """The method of an array function of one operand."""
    return lambda self, x: f(_a(x))


def _of_two(f: Callable[..., Array]) -> Callable[[Any, Any, Any], Array]:
    return lambda self, x, y: f(_a(x), _a(y))


def _along(f: Callable[..., Array]) -> Callable[..., Array]:
    def method(self: Any, x: Any, axis: int | None = None) -> Array:
        return f(_a(x), axis=axis)

    return method


class Backend:
    """Array functions and transforms of the backend that computes: 64 members of one contract, and vmap, scan and fori_loop."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"<backend {self._name}>"

    # ---- what it is ----

    @property
    def name(self) -> str:
        return self._name

    @property
    def supports_gpu(self) -> bool:
        return any(d != "cpu" for d in xp.devices())

    @property
    def supports_jit(self) -> bool:
        """Whether functions are compiled; jit works on every backend."""
        return _core._recording.compiles()

    @property
    def supports_grad(self) -> bool:
        return True

    @property
    def pi(self) -> float:
        return xp.pi

    # ---- creation ----

    def zeros(self, shape: Any, dtype: Any = None) -> Array:
        return xp.zeros(shape, dtype=dtype)

    def ones(self, shape: Any, dtype: Any = None) -> Array:
        return xp.ones(shape, dtype=dtype)

    def full(self, shape: Any, fill_value: Any, dtype: Any = None) -> Array:
        return xp.full(shape, fill_value, dtype=dtype)

    def zeros_like(self, x: Any, dtype: Any = None) -> Array:
        return xp.zeros_like(_a(x), dtype=dtype)

    def ones_like(self, x: Any, dtype: Any = None) -> Array:
        return xp.ones_like(_a(x), dtype=dtype)

    def arange(self, start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Array:
        return xp.arange(start, stop, step, dtype=dtype)

    def linspace(self, start: float, stop: float, num: int) -> Array:
        return xp.linspace(start, stop, num)

    def logspace(self, start: float, stop: float, num: int) -> Array:
        return xp.pow(10.0, xp.linspace(start, stop, num))

    def meshgrid(self, *xs: Any, indexing: Any = "xy") -> tuple[Array, ...]:
        return tuple(xp.meshgrid(*map(_a, xs), indexing=indexing))

    def array(self, data: Any, dtype: Any = None) -> Array:
        return xp.asarray(data, dtype=dtype, copy=True)

    # ---- angles and rounding ----

    sin, cos, arctan = _of_one(xp.sin), _of_one(xp.cos), _of_one(xp.atan)
    deg2rad, rad2deg, floor, ceil = _of_one(xp.deg2rad), _of_one(xp.rad2deg), _of_one(xp.floor), _of_one(xp.ceil)
    hypot, mod = _of_two(xp.hypot), _of_two(xp.remainder)

    def arctan2(self, y: Any, x: Any) -> Array:
        return xp.atan2(_a(y), _a(x))

    def round(self, x: Any, decimals: int = 0) -> Array:
        return _core._recording.round(_a(x), decimals)

    # ---- statistics ----

    sum, mean, std, min, max = _along(xp.sum), _along(xp.mean), _along(xp.std), _along(xp.min), _along(xp.max)
    nanmean, nanmin, nanmax = _along(xp.nanmean), _along(xp.nanmin), _along(xp.nanmax)

    def percentile(self, x: Any, q: Any, axis: int | None = None) -> Array:
        return xp.percentile(_a(x), _a(q), axis=axis)

    # ---- bins ----

    def digitize(self, x: Any, bins: Any) -> Array:
        return xp.digitize(_a(x), _a(bins))

    def bincount(self, x: Any, weights: Any = None, minlength: int = 0) -> Array:
        x = _a(x)
        if not xp.isdtype(x.dtype, "integral"):
            x = xp.astype(x, xp.int64)
        return xp.bincount(x, weights=None if weights is None else _a(weights), minlength=minlength)

    def unique(self, x: Any, return_inverse: bool = False, size: int | None = None) -> Any:
        """Ascending values; with a size cut to it, or padded with the smallest one."""
        x = xp.reshape(_a(x), (-1,))
        if size is not None:
            parts = xp.unique_size(x, size)
            return (parts[0], parts[2]) if return_inverse else parts[0]
        values, inverse = xp.unique_inverse(x)
        if xp.isdtype(x.dtype, ("real floating", "complex floating")):  # all NaNs are one
            kept = values.shape[0] - max(int(xp.count_nonzero(xp.isnan(values))) - 1, 0)
            values, inverse = values[:kept], xp.minimum(inverse, kept - 1) if kept else inverse
        return (values, inverse) if return_inverse else values

    # ---- logic ----

    def logical_and(self, x: Any, y: Any) -> Array:
        return xp.logical_and(_truth(x), _truth(y))

    def logical_or(self, x: Any, y: Any) -> Array:
        return xp.logical_or(_truth(x), _truth(y))

    def logical_not(self, x: Any) -> Array:
        return xp.logical_not(_truth(x))

    def where(self, condition: Any, x: Any, y: Any) -> Array:
        return xp.where(_truth(condition), x if isinstance(x, (int, float, complex)) else _a(x), y if isinstance(y, (int, float, complex)) else _a(y))

    def nonzero(self, x: Any, size: int | None = None) -> tuple[Array, ...]:
        """Indices of what is not 0, an array an axis; with a size cut to it, or padded with -1."""
        return tuple(xp.nonzero(_a(x)) if size is None else xp.nonzero_size(_a(x), size))

    isnan, isfinite = _of_one(xp.isnan), _of_one(xp.isfinite)

    # ---- movement ----

    def clip(self, x: Any, a_min: Any, a_max: Any) -> Array:
        """Also of integers with bounds of a higher kind, which give their dtype."""
        x = _a(x)
        for bound in (a_min, a_max):
            if bound is not None:
                x = xp.astype(x, xp.result_type(x, bound))
        return xp.clip(x, a_min, a_max)

    def stack(self, arrays: Sequence[Any], axis: int = 0) -> Array:
        return xp.stack([_a(x) for x in arrays], axis=axis)

    def concatenate(self, arrays: Sequence[Any], axis: int = 0) -> Array:
        return xp.concat([_a(x) for x in arrays], axis=axis)

    def copy(self, x: Any) -> Array:
        return xp.asarray(x, copy=True)

    def reshape(self, x: Any, shape: Any) -> Array:
        return xp.reshape(_a(x), shape)

    def transpose(self, x: Any, axes: Sequence[int] | None = None) -> Array:
        x = _a(x)
        return xp.permute_dims(x, tuple(range(x.ndim))[::-1] if axes is None else tuple(axes))

    def flatten(self, x: Any) -> Array:
        return xp.reshape(_a(x), (-1,))

    # ---- mathematics ----

    exp, log, log10, sqrt, abs = _of_one(xp.exp), _of_one(xp.log), _of_one(xp.log10), _of_one(xp.sqrt), _of_one(xp.abs)

    def power(self, x: Any, y: Any) -> Array:
        return xp.pow(_a(x), y if isinstance(y, (int, float, complex)) else _a(y))

    # ---- conversion ----

    def to_numpy(self, x: Any) -> Any:
        import numpy  # type: ignore[import-not-found]  # only here is it needed

        return numpy.asarray(x)

    def from_numpy(self, x: Any) -> Array:
        return _a(x)

    def astype(self, x: Any, dtype: Any) -> Array:
        return xp.astype(_a(x), dtype)

    # ---- transforms ----

    def jit(self, func: Callable[..., Any], static_argnums: Any = None) -> Callable[..., Any]:
        return _core.jit(func, static_argnums=static_argnums)

    def grad(self, func: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
        return _transforms.grad(func, argnums)

    def value_and_grad(self, func: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
        return _transforms.value_and_grad(func, argnums)

    def vmap(self, func: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
        return _transforms.vmap(func, in_axes, out_axes)

    def scan(self, func: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, length: int | None = None) -> tuple[Any, Any]:
        return _core.scan(func, init, xs, length)

    def fori_loop(self, lower: Any, upper: Any, body: Callable[[Any, Any], Any], init: Any) -> Any:
        return _core.fori_loop(lower, upper, body, init)


for _name, _member in vars(Backend).items():  # a method that a function made has no name of its own
    if isinstance(_member, FunctionType):
        _member.__name__, _member.__qualname__ = _name, f"Backend.{_name}"


def _truth(x: Any) -> Any:
    x = _a(x)
    return x if x.dtype == xp.bool else x != 0


def get_backend() -> Backend:
    name = xp.backend()
    if name not in _objects:
        _objects[name] = Backend(name)
    return _objects[name]


def set_backend(name: str) -> Backend:
    xp.set_backend(name.lower() if isinstance(name, str) else name)
    return get_backend()


def reset_backend() -> None:
    _core._recording.reset_backend()
