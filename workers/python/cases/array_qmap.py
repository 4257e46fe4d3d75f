"""Foreign baselines of array_qmap: seven maps over a detector's pixels by the formulas of suites/array/array_qmap.c."""

from __future__ import annotations

from typing import Any, Callable

from cases import Baseline, Case


def _maps(np: Any, row: Any, column: Any, geometry: Any) -> tuple[Any, ...]:
    beam_row, beam_column, pitch, distance, k0 = geometry
    v, h = row[:, None] - beam_row, column[None, :] - beam_column
    phi = -np.arctan2(v, h)
    tth = np.arctan(np.hypot(v, h) * pitch / distance)
    q = k0 * np.sin(tth)
    shape = phi.shape
    x, y = np.broadcast_to(h, shape), np.broadcast_to(v, shape)
    return np.rad2deg(phi), tth, q, q * np.cos(phi), q * np.sin(phi), x, y


def numpy_maps(provider: Any, *_: Any) -> Callable[..., Any]:
    np = provider.np

    def run(row: Any, column: Any, geometry: Any) -> Any:
        *maps, x, y = _maps(np, row, column, geometry)
        return (*maps, x.copy(), y.copy())

    return run


def jax_maps(provider: Any, *_: Any) -> Callable[..., Any]:
    return lambda row, column, geometry: _maps(provider.np, row, column, geometry)


CASE = Case(
    name="array_qmap",
    inputs=("row", "column", "geometry"),
    outputs=("phi", "tth", "q", "qx", "qy", "x", "y"),
    baselines={"numpy": Baseline("numpy", numpy_maps), "jax": Baseline("jax", jax_maps)},
)
