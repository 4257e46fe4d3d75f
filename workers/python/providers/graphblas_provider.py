"""SuiteSparse:GraphBLAS by way of python-graphblas: sparse products over any semiring, on the host."""

from __future__ import annotations

from typing import Any

from providers import numpy_provider


class Framework(numpy_provider.Framework):
    name = "graphblas"
    modules = ("graphblas", "suitesparse_graphblas", "numpy")

    def __init__(self, threads: int, platform: str | None) -> None:
        super().__init__(threads, platform)
        import graphblas

        graphblas.init("suitesparse", blocking=True)
        self.graphblas = graphblas

    def open(self, platform: str, threads: int) -> None:
        super().open(platform, threads)
        self.graphblas.ss.config["nthreads"] = threads

    def apply(self, settings: dict[str, str]) -> None:
        for name, value in settings.items():
            self.graphblas.ss.config[name] = int(value)

    def policy(self) -> dict[str, Any]:
        threads = int(self.graphblas.ss.config["nthreads"])
        return {"threads": {**super().policy()["threads"], "graphblas": threads}, "settings": {"nthreads": str(threads)}}
