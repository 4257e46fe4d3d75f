"""NumPy: the host's memory, no compiler, threads only inside its BLAS."""

from __future__ import annotations

from typing import Any

from providers import openblas
from providers.base import Provider, no_device


class Framework(Provider):
    name = "numpy"
    modules = ("numpy",)

    def __init__(self, threads: int, platform: str | None) -> None:
        super().__init__(threads)
        import numpy

        self.np = numpy
        # Specials are data here: a NaN or an infinity must not cost a warning inside an epoch.
        numpy.seterr(all="ignore")

    def versions(self) -> dict[str, str]:
        return {**super().versions(), **self._blas()}

    def open(self, platform: str, threads: int) -> None:
        if platform.startswith("cuda"):
            raise no_device("numpy", platform)
        super().open(platform, threads)

    def array(self, host_array: Any) -> Any:
        return host_array.copy(order="C")

    def to_host(self, result: Any) -> Any:
        return result

    def _blas(self) -> dict[str, str]:
        facts = openblas.describe()
        if facts:
            return facts
        try:
            blas = self.np.show_config(mode="dicts")["Build Dependencies"]["blas"]
            return {"blas": f"{blas['name']} {blas['version']}"}
        except (KeyError, TypeError):  # NumPy before 1.25 prints its configuration and returns nothing
            return {}
