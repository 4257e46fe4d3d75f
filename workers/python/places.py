"""Where the code of a benchmark is, and how many examples a batch holds: for the workers, and, as a copy, for the Python package.

Python >= 3.9; nothing is imported from outside the standard library.
"""

from __future__ import annotations

import inspect
import os
from typing import Any


def rows_of(target: Any) -> int | None:
    """Of an array its first extent, of a list or a tuple its length; None: of anything else nothing is known."""
    shape = getattr(target, "shape", None)
    if isinstance(shape, (tuple, list)) and shape:
        return None if shape[0] is None else int(shape[0])
    return len(target) if isinstance(target, (list, tuple)) else None


def other_rows(batch: Any, wanted: int) -> int | None:
    """The rows of a batch of which neither the whole nor a part has those wanted; None: one has them, or none is known.

    Throughput counts the examples that are asked for, so the batch, or a part of it, must hold as many.
    """
    parts = list(batch.values()) if isinstance(batch, dict) else [*batch, batch] if isinstance(batch, (tuple, list)) else [batch]
    rows = [n for n in map(rows_of, parts) if n is not None]
    return rows[0] if rows and wanted not in rows else None


def code_of(target: Any) -> tuple[str, int] | None:
    """File and line of a class, a function or an object's class; None: unknown, as of what is written in C."""
    try:
        of = inspect.unwrap(target if hasattr(target, "__qualname__") else type(target))
        file = inspect.getsourcefile(of)
        return (os.path.realpath(file), inspect.getsourcelines(of)[1]) if file else None
    except (OSError, TypeError, ValueError):
        return None


def place_of(target: Any) -> str:
    """Where a benchmark is defined, for messages: "class Sort (sort.py:12)"."""
    of = target if hasattr(target, "__qualname__") else type(target)
    kind = "class" if isinstance(target, type) else "function" if of is target else "object of class"
    code = code_of(target)
    return f"{kind} {of.__qualname__} " + (f"({os.path.relpath(code[0])}:{code[1]})" if code else f"of {of.__module__}")


def source_at(file: str, line: int | None, start: str) -> dict[str, Any] | None:
    """A place as a run keeps it: the file is relative to its repository, else to the folder start; None: in neither."""
    file = os.path.realpath(file)
    top = os.path.dirname(file)
    while not os.path.exists(os.path.join(top, ".git")):
        if top == os.path.dirname(top):
            top = start
            break
        top = os.path.dirname(top)
    path = os.path.relpath(file, os.path.realpath(top))
    return None if path.startswith("..") else {"file": path, **({} if line is None else {"line": line})}
