"""Foreign baselines of the benchmark cases.  A case here has the name and the baseline names of its C file in suites/.

A new case is one file and one line in _MODULES.  A case's module has CASE; a baseline's `prepare` gets the provider, the
point and the arrays of input set 0 (for their shapes and dtypes), allocates what a call needs, and returns the function of the
inputs that will be timed.  Every input is an argument of that function: what a compiler sees as a constant it may fold away.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Callable

from protocol import violation

_MODULES = {"array_ops": "cases.array_ops", "semiring_matmul": "cases.semiring_matmul"}


@dataclass(frozen=True)
class Baseline:
    provider: str
    prepare: Callable[..., Callable[..., Any]]


@dataclass(frozen=True)
class Case:
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    baselines: Mapping[str, Baseline]

    def baseline(self, name: str, provider: str) -> Baseline:
        baseline = self.baselines.get(name)
        if baseline is None:
            raise violation(f"case '{self.name}' has no foreign baseline '{name[:40]}'")
        if baseline.provider != provider:
            raise violation(f"baseline '{name}' runs under {baseline.provider}, not {provider}")
        return baseline


def find(name: str) -> Case:
    if name not in _MODULES:
        raise violation(f"no case '{name[:40]}': this worker has {', '.join(_MODULES)}")
    return importlib.import_module(_MODULES[name]).CASE
