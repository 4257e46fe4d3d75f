"""Calibrax: runs of measurements, stores, checks and benchmarks; arrays of the Python array API in calibrax_c.array."""

from ._core import (
    Care,
    Check,
    Comparison,
    DoctorItem,
    Failure,
    Finding,
    Imported,
    ImportNote,
    Ingested,
    IngestedRun,
    Metric,
    MetricDef,
    Point,
    PythonCall,
    Report,
    Run,
    RunEntry,
    Store,
    Target,
    TrendPoint,
    TrendSeries,
    __version__,
    _signatures,
    analysis,
    array,
    ci,
    doctor,
    exporters,
    import_formats,
    import_runs,
    launch_benchmarks,
    monitoring,
    profiling,
    run_benchmark,
    statistics,
    validation,
)


def _start(program: str) -> None:
    """Becomes a program of the wheel."""
    import os
    import sys

    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tools", program)
    os.execv(path, [path, *sys.argv[1:]])


def _nperf() -> None:
    _start("nperf")


def _calibrax() -> None:
    _start("calibrax")
