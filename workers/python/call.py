"""Times a function of a Python module in a fresh interpreter, for `calibrax profile --module` (calibrax/profiling/python_call.h).

call.py ANSWER MODULE FUNCTION WARMUP SAMPLES SAMPLE_S FLOPS: the answer is JSON, written to the file ANSWER; standard output is the function's.
A sample is the mean of as many calls as a window of SAMPLE_S seconds takes, and of at least 200 steps of the clock.  The function is called
without arguments; what it gives is waited for where it is an array of a device (block_until_ready), and torch.cuda is synchronised if it runs.
FLOPS 1: XLA's own account of the compiled function, and its HLO, where the interpreter has jax.

Python >= 3.9; nothing is imported from outside the standard library but the module asked for, and jax if it is asked for.
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import json
import os
import sys
import time
import traceback
from typing import Any, Callable

SCHEMA, VERSION = "calibrax-call-answer", 1
STEPS = 200  # of the clock, in a window
MAX_CALLS = 1 << 30


class Failure(Exception):
    """What is wrong, as text for the user."""


def one_line(fault: BaseException) -> str:
    """'ValueError: words (mod.py:12)', the place being the innermost one outside these files and the import machinery."""
    if isinstance(fault, Failure):
        return str(fault)
    ours = (os.path.dirname(__file__), os.path.dirname(importlib.__file__))  # importlib looked for a missing module, and is not where it is missing
    frames = [f for f in traceback.extract_tb(fault.__traceback__) if os.path.dirname(f.filename) not in ours and not f.filename.startswith("<frozen")]
    place = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
    words = " ".join(str(fault).split())
    return f"{type(fault).__name__}{': ' if words else ''}{words}{place}"


def load_module(where: str) -> Any:
    """A module by its dotted name, or a file, as if it were the program that is run: its folder is looked in first."""
    if not where.endswith(".py") and os.sep not in where:
        return importlib.import_module(where)
    path = os.path.abspath(where)
    if not os.path.isfile(path):
        raise Failure(f"no Python file '{where}'")
    sys.path.insert(0, os.path.dirname(path))
    name = os.path.splitext(os.path.basename(path))[0]
    loaded = sys.modules.get(name)
    if loaded is not None and os.path.realpath(getattr(loaded, "__file__", None) or "") == os.path.realpath(path):
        return loaded  # another file imported it
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Failure(f"'{where}' is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def find(where: str, name: str) -> Callable[[], Any]:
    """A function of a module by its dotted name, or of a file; modules are looked for in the current folder, too."""
    sys.path[0] = os.getcwd()
    try:
        target = load_module(where)
    except Failure:
        raise
    except BaseException as fault:
        raise Failure(f"cannot import '{where}': {one_line(fault)}") from fault
    for part in name.split("."):
        if not hasattr(target, part):
            raise Failure(f"'{where}' has no function '{name}'")
        target = getattr(target, part)
    if not callable(target):
        raise Failure(f"'{name}' of '{where}' is not callable")
    return target


def wait_for(result: Any) -> None:
    """Devices work on behind a call: a window ends when they have."""
    jax = sys.modules.get("jax")
    if jax is not None:
        jax.block_until_ready(result)
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.synchronize()


def window(f: Callable[[], Any], calls: int) -> float:
    """Seconds of so many calls and the wait behind them."""
    result = None
    start = time.perf_counter_ns()
    for _ in itertools.repeat(None, calls):
        result = f()
    wait_for(result)
    return (time.perf_counter_ns() - start) * 1e-9


def nothing() -> None:
    pass


def clock_step_s() -> float:
    """The median distance of two readings: what the clock costs and resolves."""
    gaps = []
    for _ in range(101):
        start = time.perf_counter_ns()
        gaps.append(time.perf_counter_ns() - start)
    return max(1e-9, sorted(gaps)[50] * 1e-9)


def choose_calls(f: Callable[[], Any], min_s: float) -> tuple[int, int]:
    """Calls a window, and how many were made to find out."""
    calls = made = 1
    while True:
        took = window(f, calls)
        made += calls
        if took >= min_s or calls >= MAX_CALLS:
            return calls, made
        calls = min(MAX_CALLS, max(calls + 1, int(min(10.0, 1.4 * min_s / max(took, 1e-9)) * calls)))


def measure(f: Callable[[], Any], warmup: int, samples: int, sample_s: float) -> dict[str, Any]:
    begin = time.perf_counter()
    step = clock_step_s()
    first = window(f, 1)
    calls, made = choose_calls(f, max(sample_s, STEPS * step))
    for _ in range(warmup):
        window(f, 1)
    values = [window(f, calls) / calls for _ in range(samples)]
    empty = min(window(nothing, 1000) / 1000 for _ in range(5))
    return {"first_call_s": first, "samples_s": values, "calls_per_sample": calls, "warmup_calls": made + warmup, "empty_call_s": empty,
            "clock_step_s": step, "wall_s": time.perf_counter() - begin}


def account(f: Callable[[], Any]) -> dict[str, Any]:
    """What XLA reports about the compiled function; "why" where it cannot."""
    try:
        import jax
    except ImportError:
        return {"why": "this interpreter has no jax: XLA cannot be asked"}
    try:
        compiled = (f if hasattr(f, "lower") else jax.jit(f)).lower().compile()
        cost = compiled.cost_analysis() or {}
        cost = cost[0] if isinstance(cost, list) and cost else cost
    except BaseException as fault:
        return {"why": f"XLA cannot compile it: {one_line(fault)}"}
    found = {"hlo": compiled.as_text()}
    for ours, theirs in (("flop", "flops"), ("bytes", "bytes accessed"), ("transcendental", "transcendentals")):
        value = cost.get(theirs)
        if isinstance(value, (int, float)) and value >= 0:
            found[ours] = float(value)
    if "flop" not in found:
        found["why"] = "XLA does not report the operations of it"
    return found


def main(argv: list[str]) -> int:
    path, where, name, warmup, samples, sample_s, flops = argv
    answer: dict[str, Any] = {"schema": SCHEMA, "version": VERSION}
    status = 0
    try:
        f = find(where, name)
        answer.update(measure(f, int(warmup), int(samples), float(sample_s)))
        if flops == "1":
            answer["work"] = account(f)
    except Exception as fault:
        why = str(fault) if isinstance(fault, Failure) else f"'{name}' raised {one_line(fault)}"
        answer, status = {"schema": SCHEMA, "version": VERSION, "failure": why}, 1
    sys.stdout.flush()
    with open(path, "w", encoding="utf-8") as out:
        json.dump(answer, out)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
