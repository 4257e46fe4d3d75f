"""scikit-learn, SciPy and packages of single domains, over NumPy arrays."""

from __future__ import annotations

from providers import numpy_provider


class Framework(numpy_provider.Framework):
    name = "metrics"
    modules = ("sklearn", "scipy", "numpy")

    def __init__(self, threads: int, platform: str | None) -> None:
        super().__init__(threads, platform)
        import scipy
        import sklearn

        self._facts = {"scipy": scipy.__version__, "scikit-learn": sklearn.__version__}

    def versions(self) -> dict[str, str]:
        return {**super().versions(), **self._facts}
