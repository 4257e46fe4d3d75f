"""Foreign baselines of semiring_conv: a 2-D convolution over six algebras, channels last, the kernel not flipped.

Patches of x (a view where the framework has strides) against the kernel, reduced over the window and its channels; where the algebra is
real the library's own convolution too.  x is padded with the algebra's identity; half of what "same" needs goes before, rounded down.
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

from cases import Baseline, Case
from cases.algebras import EMPTY, algebra_of, array_api, only_real


class Axis(NamedTuple):
    before: int
    after: int
    out: int


class Window(NamedTuple):
    rows: Axis
    columns: Axis
    kernel: int
    stride: int
    dilation: int


def window_of(point: dict[str, Any], x_shape: Any) -> Window:
    kernel, stride, dilation = (int(point[name]) for name in ("kernel", "stride", "dilation"))
    span = (kernel - 1) * dilation + 1

    def axis(size: int) -> Axis:
        if point["padding"] != "same":
            pad = int(point.get("pad", 0)) if point["padding"] == "explicit" else 0
            return Axis(pad, pad, (size + 2 * pad - span) // stride + 1)
        out = -(-size // stride)
        needed = max((out - 1) * stride + span - size, 0)
        return Axis(needed // 2, needed - needed // 2, out)

    return Window(axis(x_shape[1]), axis(x_shape[2]), kernel, stride, dilation)


def _padding(win: Window) -> tuple[tuple[int, int], ...]:
    return ((0, 0), win.rows[:2], win.columns[:2], (0, 0))


def _patches(win: Window, shape: Any, s: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Extents and strides of the patches of a padded array that has the strides s: batch, rows, columns, u, v, channel."""
    step, reach = win.stride, win.dilation
    extents = (shape[0], win.rows.out, win.columns.out, win.kernel, win.kernel, shape[3])
    return extents, (s[0], s[1] * step, s[2] * step, s[1] * reach, s[2] * reach, s[3])


# --- numpy ---


def numpy_patches(provider: Any, point: dict[str, Any], x: Any, w: Any) -> Callable[..., Any]:
    np = provider.np
    algebra, win = algebra_of(point), window_of(point, x.shape)
    combine, fold = array_api(np, algebra)
    batch, _, _, c_in = x.shape
    terms, c_out = win.kernel * win.kernel * c_in, w.shape[3]

    def patches(x: Any) -> Any:
        x = np.pad(x, _padding(win), constant_values=EMPTY[algebra])
        view = np.lib.stride_tricks.as_strided(x, *_patches(win, x.shape, x.strides), writeable=False)
        return view.reshape(batch * win.rows.out * win.columns.out, terms)

    shape = (batch, win.rows.out, win.columns.out, c_out)
    if algebra in ("real", "boolean"):
        return lambda x, w: (patches(x) @ w.reshape(terms, c_out)).reshape(shape)
    return lambda x, w: fold(combine(patches(x)[:, :, None], w.reshape(1, terms, c_out)), 1).reshape(shape)


# --- jax ---


def jax_patches(provider: Any, point: dict[str, Any], x: Any, w: Any) -> Callable[..., Any]:
    jnp = provider.np
    algebra, win = algebra_of(point), window_of(point, x.shape)
    combine, fold = array_api(jnp, algebra)

    def run(x: Any, w: Any) -> Any:
        batch, c_in = x.shape[0], x.shape[3]
        x = jnp.pad(x, _padding(win), constant_values=EMPTY[algebra])
        rows = jnp.arange(win.rows.out)[:, None] * win.stride + jnp.arange(win.kernel) * win.dilation
        columns = jnp.arange(win.columns.out)[:, None] * win.stride + jnp.arange(win.kernel) * win.dilation
        taken = x[:, rows[:, None, :, None], columns[None, :, None, :], :]  # batch, rows, columns, u, v, channel
        terms = win.kernel * win.kernel * c_in
        taken = taken.reshape(batch * win.rows.out * win.columns.out, terms, 1)
        out = fold(combine(taken, w.reshape(1, terms, -1)), 1)
        return out.reshape(batch, win.rows.out, win.columns.out, w.shape[3])

    return run


def jax_conv(_: Any, point: dict[str, Any], x: Any, w: Any) -> Callable[..., Any]:
    from jax import lax

    only_real(point, "a library's convolution")
    steps = (int(point["stride"]),) * 2, (int(point["dilation"]),) * 2
    pads = (int(point.get("pad", 0)),) * 2
    padding = (pads, pads) if point["padding"] == "explicit" else str(point["padding"]).upper()

    def run(x: Any, w: Any) -> Any:
        return lax.conv_general_dilated(x, w, steps[0], padding, rhs_dilation=steps[1], dimension_numbers=("NHWC", "HWIO", "NHWC"))

    return run


# --- torch ---


def torch_patches(provider: Any, point: dict[str, Any], x: Any, w: Any) -> Callable[..., Any]:
    torch = provider.torch
    algebra, win = algebra_of(point), window_of(point, x.shape)
    combine, fold = array_api(torch, algebra)

    def run(x: Any, w: Any) -> Any:
        padded = torch.nn.functional.pad(x, (0, 0, *win.columns[:2], *win.rows[:2]), value=EMPTY[algebra])
        view = padded.as_strided(*_patches(win, x.shape, padded.stride()))
        terms = win.kernel * win.kernel * x.shape[3]
        taken, kernel = view.reshape(-1, terms), w.reshape(terms, -1)
        out = taken @ kernel if algebra == "real" else fold(combine(taken[:, :, None], kernel), 1)
        return out.reshape(x.shape[0], win.rows.out, win.columns.out, w.shape[3])

    return run


def torch_channels_last(provider: Any, _: dict[str, Any], x: Any, w: Any) -> tuple[Any, ...]:
    """Channels first in name, last in memory: the form that conv2d is fastest in on a CPU."""
    torch = provider.torch
    return (
        provider.array(x).permute(0, 3, 1, 2),
        provider.array(w).permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last),
    )


def torch_conv(provider: Any, point: dict[str, Any], x: Any, _: Any) -> Callable[..., Any]:
    functional = provider.torch.nn.functional
    only_real(point, "a library's convolution")
    win = window_of(point, (x.shape[0], x.shape[2], x.shape[3], x.shape[1]))
    pad = (*win.columns[:2], *win.rows[:2])

    def run(x: Any, w: Any) -> Any:
        y = functional.conv2d(functional.pad(x, pad), w, stride=win.stride, dilation=win.dilation)
        return y.permute(0, 2, 3, 1)

    return run


CASE = Case(
    name="semiring_conv",
    inputs=("x", "w"),
    outputs=("y",),
    baselines={
        "numpy": Baseline("numpy", numpy_patches),
        "jax-patches": Baseline("jax", jax_patches),
        "jax-conv": Baseline("jax", jax_conv),
        "torch-patches": Baseline("torch", torch_patches),
        "torch-conv": Baseline("torch", torch_conv, torch_channels_last),
    },
)
