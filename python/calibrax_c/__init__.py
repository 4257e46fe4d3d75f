"""Calibrax: runs of measurements, stores, checks and benchmarks; arrays of the Python array API in calibrax_c.array."""

from ._core import (
    Care,
    Check,
    Comparison,
    ConcretizationError,
    DoctorItem,
    Failure,
    Finding,
    Imported,
    ImportNote,
    Ingested,
    IngestedRun,
    Jitted,
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
    aot_write,
    array,
    checkpoint,
    ci,
    cond,
    cost,
    cost_compile,
    custom_jvp,
    custom_vjp,
    doctor,
    dump,
    exporters,
    fori_loop,
    get_backend,
    grad,
    hessian,
    import_formats,
    import_runs,
    jacfwd,
    jacrev,
    jit,
    jvp,
    launch_benchmarks,
    linearize,
    monitoring,
    profiling,
    reset_backend,
    run_benchmark,
    scan,
    set_backend,
    statistics,
    stop_gradient,
    switch,
    tree,
    validation,
    value_and_grad,
    vjp,
    vmap,
    while_loop,
)
from .benchmarks import register_benchmark


def __getattr__(name: str) -> object:
    """Backend is loaded when it is needed."""
    if name == "Backend":
        from ._backend import Backend

        return Backend
    raise AttributeError(f"module 'calibrax_c' has no attribute {name!r}")


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
