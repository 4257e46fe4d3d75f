"""Answers of the case metrics: formulas in extended precision, or an algorithm that no baseline has; a module for each domain of
calibrax/metrics, with

    ORACLE["rmse"](p, t) -> the value
    TOLERANCE    by how far a right answer may be off, relative to it, the names of metrics

1e-12 where no other number is given: some thousand roundings, what sums of 10^6 numbers in any order keep.  0 where the answer is one of
the operands, or a count.
"""

from __future__ import annotations

import importlib
from typing import Any, Callable

DOMAINS = (
    "audio", "calibration", "classification", "clustering", "distance", "divergence", "fairness", "forecasting",
    "general", "generative", "geometric", "graph", "image", "information", "learning", "manifold",
    "plugins", "ranking", "scientific", "segmentation", "statistical", "streaming", "text", "uncertainty",
)
ORACLE: dict[str, Callable[..., Any]] = {}
TOLERANCE: dict[str, float] = {}
for module in [importlib.import_module(f"{__name__}.{domain}") for domain in DOMAINS]:
    ORACLE.update(module.ORACLE)
    TOLERANCE.update({name: tolerance for tolerance, names in getattr(module, "TOLERANCE", {}).items() for name in names.split()})
