"""Foreign baselines of the benchmark cases.  A case here has the name and the baseline names of its C file in suites/.

A new case is one file and its name in _CASES.  A case's module has CASE; a baseline's `prepare` gets the provider, the
point and the arrays of input set 0 (for their shapes and dtypes), allocates what a call needs, and returns the function of the
inputs that will be timed.  Every input is an argument of that function: what a compiler sees as a constant it may fold away.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Callable

from protocol import require

_CASES = ("array_ops", "array_qmap", "dense_matmul", "ell_edge_aggregate", "ell_matmul", "ell_row_softmax", "metrics", "selftest_exploits",
          "semiring_conv", "semiring_matmul")


@dataclass(frozen=True)
class Baseline:
    """prepare(provider, point, *arguments) -> function of the arguments.

    The arguments are the inputs as the framework's own arrays.  A framework with another form for the same data (a list of edges, CSR)
    gets it from `arrange(provider, point, *host_arrays) -> arguments`, for every input set alike and never timed: that is how its users
    hold the data.  arrange may change form and integer width, and compute nothing.
    """

    provider: str
    prepare: Callable[..., Callable[..., Any]]
    arrange: Callable[..., Sequence[Any]] | None = None


@dataclass(frozen=True)
class Case:
    """oracle, of a case whose answers are made here: oracle(point) -> function of the inputs, and rtol, atol and an integer dtype of
    each output (declared.tolerances)."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    baselines: Mapping[str, Baseline]
    oracle: Callable[..., Any] | None = None

    def baseline(self, name: str, provider: str) -> Baseline:
        baseline = self.baselines.get(name)
        require(baseline, f"case '{self.name}' has no foreign baseline '{name[:40]}'")
        require(baseline.provider == provider, f"baseline '{name}' runs under {baseline.provider}, not {provider}")
        return baseline


def find(name: str) -> Case:
    require(name in _CASES, f"no case '{name[:40]}': this worker has {', '.join(_CASES)}")
    return importlib.import_module(f"cases.{name}").CASE
