"""Work of functions of JAX, counted on their jaxpr: each step of a loop counts, which XLA's cost analysis does not do."""

from __future__ import annotations

from math import prod
from typing import Any

import jax
import numpy as np

from .adapters import Cost

# Each rule: floating-point operations of an equation from its input and output shapes.
_TRANSCENDENTAL = frozenset("""acos acosh asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt cos cosh digamma erf erf_inv erfc exp exp2 expm1 igamma
    igammac lgamma log log1p logistic pow polygamma regularized_incomplete_beta rsqrt sin sinh sqrt tan tanh zeta""".split())
_ELEMENTWISE = frozenset("""abs add add_any ceil clamp cumlogsumexp cummax cummin cumprod cumsum div floor integer_pow max min mul neg nextafter rem round
    sign square sub""".split())
_REDUCTIONS = frozenset("argmax argmin reduce_max reduce_min reduce_prod reduce_sum".split())
_FREE = frozenset("""and bitcast_convert_type broadcast broadcast_in_dim concatenate convert_element_type copy copy_p create_token device_put dynamic_slice
    dynamic_update_slice empty eq expand_dims full gather ge gt imag iota is_finite le lt lu_pivots_to_permutation ne not optimization_barrier or pad population_count
    random_bits random_fold_in random_seed random_split random_unwrap random_wrap real reduce_and reduce_or reduce_precision reshape rev scatter
    select_and_gather_add select_n shift_left shift_right_arithmetic shift_right_logical sharding_constraint slice sort split squeeze stop_gradient
    threefry2x32 top_k transpose xor clz""".split())


def _dot(eqn: Any) -> float:
    (contract, _), _ = eqn.params["dimension_numbers"]
    return 2.0 * prod(eqn.outvars[0].aval.shape) * prod(eqn.invars[0].aval.shape[d] for d in contract)


def _convolution(eqn: Any) -> float:
    spec = eqn.params["dimension_numbers"].rhs_spec  # (output channels, input channels of a group, space ...)
    kernel = eqn.invars[1].aval.shape
    return 2.0 * prod(eqn.outvars[0].aval.shape) * prod(kernel[d] for d in spec[1:])


def _matrix(eqn: Any) -> tuple[float, float, float]:
    """Batch, rows and columns of the first operand."""
    *batch, m, n = eqn.invars[0].aval.shape
    return float(prod(batch)), float(m), float(n)


def _factorization(count: Any) -> Any:
    """Operations of a dense factorization by the count of Golub and Van Loan, Matrix Computations, 4th edition (2013)."""

    def rule(eqn: Any) -> float:
        batch, m, n = _matrix(eqn)
        return float(batch * count(m, n))

    return rule


_RULES = {
    "dot_general": _dot,
    "conv_general_dilated": _convolution,
    "cholesky": _factorization(lambda m, n: n**3 / 3),
    "lu": _factorization(lambda m, n: max(m, n) * min(m, n) ** 2 - min(m, n) ** 3 / 3),
    "geqrf": _factorization(lambda m, n: 2 * max(m, n) * min(m, n) ** 2 - 2 / 3 * min(m, n) ** 3),
    "householder_product": _factorization(lambda m, n: 2 * max(m, n) * min(m, n) ** 2 - 2 / 3 * min(m, n) ** 3),
    "qr": _factorization(lambda m, n: 4 * max(m, n) * min(m, n) ** 2 - 4 / 3 * min(m, n) ** 3),
    "eigh": _factorization(lambda m, n: 9 * n**3),
    "eig": _factorization(lambda m, n: 25 * n**3),
    "svd": _factorization(lambda m, n: 4 * max(m, n) ** 2 * min(m, n) + 8 * max(m, n) * min(m, n) ** 2 + 9 * min(m, n) ** 3),
    "triangular_solve": lambda eqn: float(eqn.invars[0].aval.shape[-1] * prod(eqn.invars[1].aval.shape)),
    "fft": lambda eqn: 5.0 * prod(eqn.outvars[0].aval.shape) * float(np.log2(max(2, prod(eqn.params["fft_lengths"])))),
}


class _Count:
    """Sums over a jaxpr."""

    def __init__(self) -> None:
        self.flop = self.transcendental = 0.0
        self.notes: dict[str, None] = {}

    def add(self, jaxpr: Any, times: float = 1.0) -> None:
        for eqn in getattr(jaxpr, "jaxpr", jaxpr).eqns:
            self._equation(eqn, times)

    def _equation(self, eqn: Any, times: float) -> None:
        name, inner = eqn.primitive.name, _inner(eqn)
        out: Any = eqn.outvars[0].aval if eqn.outvars else None
        floating = hasattr(out, "dtype") and jax.numpy.issubdtype(out.dtype, jax.numpy.inexact)
        if rule := _RULES.get(name):
            self.flop += times * rule(eqn)
        elif name == "scan":
            self.add(eqn.params["jaxpr"], times * eqn.params["length"])
        elif name == "while":
            self.notes["the body of a while loop counts once: its number of steps is unknown"] = None
            self.add(eqn.params["body_jaxpr"], times)
        elif name == "cond":
            self._largest(eqn.params["branches"], times)
        elif inner and name != "pallas_call":
            for jaxpr in inner:
                self.add(jaxpr, times)
        elif name in _TRANSCENDENTAL and floating:
            self.transcendental += times * out.size
        elif name in _ELEMENTWISE and floating:
            self.flop += times * out.size * (max(1, abs(eqn.params["y"]) - 1) if name == "integer_pow" else 1)
        elif name in _REDUCTIONS and jax.numpy.issubdtype(eqn.invars[0].aval.dtype, jax.numpy.inexact):
            self.flop += times * eqn.invars[0].aval.size
        elif name.startswith("scatter") and name != "scatter" and floating:
            self.flop += times * eqn.invars[2].aval.size
        elif name.startswith("reduce_window") and floating:
            self.flop += times * out.size * prod(eqn.params["window_dimensions"])
        elif name not in _FREE | _ELEMENTWISE | _REDUCTIONS | _TRANSCENDENTAL and not name.startswith(("scatter", "reduce_window")):
            self.notes[f"the operations of {name} are not counted"] = None

    def _largest(self, branches: Any, times: float) -> None:
        counts = []
        for branch in branches:
            count = _Count()
            count.add(branch, times)
            counts.append(count)
            self.notes.update(count.notes)
        largest = max(counts, key=lambda c: c.flop + c.transcendental)
        self.notes["a branch counts as its most expensive side"] = None
        self.flop += largest.flop
        self.transcendental += largest.transcendental


def _inner(eqn: Any) -> list[Any]:
    """The jaxprs that an equation calls once: of jit, checkpoint, custom derivatives and the like."""
    solve = getattr(eqn.params.get("jaxprs"), "solve", None)  # of custom_linear_solve
    for found in (solve, *map(eqn.params.get, ("jaxpr", "call_jaxpr", "fun_jaxpr"))):
        if hasattr(getattr(found, "jaxpr", found), "eqns"):
            return [found]
    return []


def work_of(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Cost:
    """Operations from the jaxpr; bytes and memory from XLA where the function is compiled (what jax.jit returns)."""
    compiled = isinstance(function, jax.stages.Wrapped)
    traced = (function if compiled else jax.jit(function)).trace(*args, **kwargs)
    if not hasattr(traced, "jaxpr"):  # of nnx.jit
        traced = getattr(traced, "_inner_obj", None)
        if not hasattr(traced, "jaxpr"):
            return Cost(notes=(f"{type(function).__name__} objects show no jaxpr",))
    count = _Count()
    count.add(traced.jaxpr)
    if not compiled:
        return Cost(count.flop, count.transcendental, None, None, "jaxpr", (*count.notes, "the function is not compiled: its memory is unknown"))
    built = traced.lower().compile()
    account, memory = built.cost_analysis() or {}, built.memory_analysis()
    account = account[0] if isinstance(account, list) else account
    if "while" in str(account and built.as_text()):
        count.notes["bytes count the body of a loop once"] = None
    peak = None if memory is None else float(memory.argument_size_in_bytes + memory.output_size_in_bytes + memory.temp_size_in_bytes - memory.alias_size_in_bytes)
    return Cost(count.flop, count.transcendental, account.get("bytes accessed"), peak, "jaxpr, XLA", tuple(count.notes))
