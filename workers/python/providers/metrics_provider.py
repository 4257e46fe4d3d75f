"""scikit-learn, SciPy and packages of single domains, over NumPy arrays."""

from __future__ import annotations

from providers import numpy_provider


class Framework(numpy_provider.Framework):
    name = "metrics"
    modules = ("sklearn", "scipy", "numpy")
