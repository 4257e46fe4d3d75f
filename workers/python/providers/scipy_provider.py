"""SciPy: sparse matrices over NumPy arrays, on one thread."""

from __future__ import annotations

from providers import numpy_provider


class Framework(numpy_provider.Framework):
    name = "scipy"
    modules = ("scipy", "numpy")

    def __init__(self, threads: int, platform: str | None) -> None:
        super().__init__(threads, platform)
        import scipy.sparse

        self.scipy = scipy
