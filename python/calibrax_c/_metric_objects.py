"""States of metrics that are objects with update() and compute(): each state has a copy of the object, which
gets batch after batch.
"""

from __future__ import annotations

import contextlib
import contextvars
import copy
import threading
from typing import TYPE_CHECKING, Any

from . import array

if TYPE_CHECKING:
    from collections.abc import Iterator

_WHOLE = ("labels", "tokens", "texts", "indices")  # kinds of operands that are integers


# In a collection the library keeps a placeholder of the objects' metrics, whose results are those
# of the objects of the collection that computes.
computed: contextvars.ContextVar[dict[str, ObjectState]] = contextvars.ContextVar("computed")


def placeholder(name: str) -> dict[str, Any]:
    """The functions of a metric of parts (register) that keeps nothing."""
    return {"parts": lambda *_: array.zeros((1,)), "finish": lambda _: computed.get()[name].compute()}


def counted(n: int, one: str, several: str) -> str:
    """A number and its noun."""
    return f"{n} {one if n == 1 else several}"


def result_of(name: str, results: Any) -> Any:
    """The one result of compute(), or the one under the name."""
    if name not in results and len(results) != 1:
        raise ValueError(f"{name}: compute() must give one result, or one called {name!r}, not {sorted(results)}")
    return results[name] if name in results else next(iter(results.values()))


def fresh(name: str, metric: Any) -> Any:
    """A copy of an object of the protocol, without data."""
    try:
        own = copy.deepcopy(metric)
    except Exception as error:
        raise TypeError(f"{name}: {metric!r} cannot be copied for a state of its own: {error}") from error
    own.reset()
    return own


@contextlib.contextmanager
def alone(lock: threading.Lock, what: str) -> Iterator[None]:
    """One call at a time has the lock of an object: another one is refused."""
    if not lock.acquire(blocking=False):
        raise RuntimeError(
            f"another thread is using this {what}, or the function that it calls: one call uses it at a time"
        )
    try:
        yield
    finally:
        lock.release()


class ObjectState:
    """The methods of the library's State over such an object."""

    def __init__(self, row: dict[str, Any], metric: Any) -> None:
        self.row, self.metric, self.count = row, metric, 0
        self.counted = False  # whether a batch had items that count
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self.row["name"]  # type: ignore[no-any-return]

    def _alone(self) -> contextlib.AbstractContextManager[None]:
        return alone(self._lock, "State")

    def update(self, arrays: list[Any], mask: Any, weights: Any, _function: Any) -> None:
        if weights is not None:
            raise ValueError(f"{self.name}: takes no weights")
        operands = self.row["operands"]
        given = dict(zip((o[0] for o in operands), arrays, strict=False))
        if len(arrays) > len(operands) or any(given.get(o[0]) is None for o in operands if not o[3]):
            count = sum(x is not None for x in arrays)
            raise ValueError(f"{self.name} takes {counted(len(operands), 'operand', 'operands')}, not {count}")
        batch = {
            name: array.asarray(given[name], dtype="int64" if kind in _WHOLE else "float64")
            for name, kind, *_ in operands
            if given.get(name) is not None
        }
        if mask is not None:
            kept = array.nonzero(array.astype(mask, "bool"))[0]
            if kept.shape[0] == 0:  # a batch of which nothing counts
                self.count += 1
                return
            items = dict(zip((o[0] for o in operands), self.row["items"], strict=True))
            for n, x in batch.items():
                for axis in range({"none": 0, "pairs": 2}.get(items[n], 1)):
                    batch[n] = x = array.take(x, kept, axis=axis)
        with self._alone():
            self.metric.update(**batch)
            self.count += 1
            self.counted = True

    def check_merge(self) -> None:
        if not hasattr(self.metric, "merge"):
            raise TypeError(f"{self.name}: its class has no merge(other), with which states could be joined")

    def merge(self, other: ObjectState) -> None:
        if not isinstance(other, ObjectState) or other.name != self.name:
            raise ValueError(f"{self.name} cannot join a state of another metric")
        self.check_merge()
        with self._alone(), contextlib.nullcontext() if other is self else other._alone():
            self.metric.merge(other.metric)
            self.count += other.count
            self.counted |= other.counted

    def compute(self) -> Any:
        if self.count == 0:
            raise ValueError(f"{self.name}: nothing was added yet")
        if not self.counted:
            raise ValueError(f"{self.name}: nothing that was added counts")
        with self._alone():
            return array.asarray(result_of(self.name, self.metric.compute()), dtype="float64")

    def reset(self) -> None:
        with self._alone():
            self.metric.reset()
            self.count, self.counted = 0, False

    def updates(self) -> int:
        return self.count

    def error(self) -> float:
        return 0.0

    def parameters(self) -> list[float | None]:
        return []

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())

    def to_bytes(self) -> bytes:
        raise TypeError(f"{self.name}: a state of an object has no bytes: pickle it")
