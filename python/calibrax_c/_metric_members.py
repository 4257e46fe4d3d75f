"""The members of a collection of metrics: the library's collection, functions of users, and objects of users."""

from __future__ import annotations

import contextlib
import contextvars
import copy
import threading
from typing import TYPE_CHECKING, Any, Self, cast

from . import _core  # type: ignore[attr-defined]
from ._metric_objects import ObjectState, alone, computed, fresh
from ._metric_operands import of_numbers
from ._metric_selection import late, spec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Tokenizer = Callable[[str], Iterable[str]] | None


# What functions of the user made of the operands of the batch that is added: by group and label the
# layers of its operands, one after another.
_made: contextvars.ContextVar[dict[tuple[str, str], Iterator[list[Any]]]] = contextvars.ContextVar("_made")


def _features(
    members: list[tuple[dict[str, Any], Any, tuple[str, str]]], operands: list[Any], numbered: list[Any]
) -> tuple[list[Any], dict[tuple[str, str], Any]]:
    """The operands as members take them, numbered where no function maps them, and by group and label what
    functions make of them: each function sees an operand once.
    """
    seen: dict[tuple[int, int], Any] = {}
    made: dict[tuple[str, str], Any] = {}
    mapped: dict[int, list[Any]] = {}

    def once(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(x: Any) -> Any:
            key = id(function), id(x)
            if key not in seen:
                seen[key] = function(x)
            return seen[key]

        return call

    for row, function, key in members:
        if function is not None and row["flags"] & late._FEATURES:
            names = [o[0] for o in row["operands"]]
            made[key] = late._Features(row, dict(zip(names, operands, strict=False)), once(function))
            for name, layers in made[key].layers.items():
                mapped.setdefault(names.index(name), []).append(layers[0])
    return [mapped[i][0] if len(mapped.get(i, ())) == len(members) else x for i, x in enumerate(numbered)], made


class Together:
    """Metrics of one collection of the library."""

    def __init__(self) -> None:
        self._c: Any = _core._metrics.MetricCollection()
        self._lock = threading.Lock()
        self._rows: dict[tuple[str, str], dict[str, Any]] = {}  # of the members: one may be registered again
        self._functions: dict[tuple[str, str], Any] = {}
        self._objects: dict[str, ObjectState] = {}  # of metrics that are objects of users, which get each batch once
        self._layers: dict[tuple[str, str], int] = {}  # numbers of arrays that functions return, where not 1

    def _put(
        self, member: tuple[dict[str, Any], list[float | None], Any], label: str | None, group: str | None = None,
        low: float | None = None, high: float | None = None, weight: float = 1.0,
    ) -> None:
        """Adds what spec() gives of a metric."""
        row, numbers, function = member
        label = row["name"] if label is None else label
        rule, key = None, (group or "", label)
        limits = [late._number(label, (n, "", "float", ""), x) for n, x in (("low", low), ("high", high), ("weight", weight))]
        if any(r["name"] == row["name"] and r is not row for k, r in self._rows.items() if k != key):
            raise ValueError(
                f"{row['name']} was registered again, and this {type(self).__name__} has the old one: make it again"
            )
        if function is not None and not row["function"]:
            raise TypeError(f"{row['name']}: takes no function")
        if function is not None and row["flags"] & late._FEATURES:
            rule = _core._recording.rule(row["name"], lambda _: next(_made.get()[key]), 1, self._layers.get(key, 1), 0)
        elif function is not None:
            rule = late._rule(row, function)
        self._c.add(row.get("streamed", row.get("code", row["name"])), label, numbers, group, *limits, rule)
        self._keep(key, row)
        if function is not None:
            self._functions[key] = function

    def _keep(self, key: tuple[str, str], row: dict[str, Any]) -> None:
        self._rows[key] = row
        if "object" in row and row["name"] not in self._objects:
            self._objects[row["name"]] = ObjectState(row, fresh(row["name"], row["object"]))

    def _forget(self, label: str) -> None:
        """What there is of a member that was removed."""
        del self._rows["", label]
        self._functions.pop(("", label), None)
        names = {row["name"] for row in self._rows.values()}
        self._objects = {name: state for name, state in self._objects.items() if name in names}

    def _read_suite(self, text: str, what: str) -> None:
        self._c = _core._metrics.read(
            [row.get("streamed", row["code"]) for row in late._rows.values() if "code" in row], text, what
        )
        for group, label, name, *_ in self._c.members():
            self._keep((group or "", label), late._row(name))

    def _put_all(self, members: list[Any]) -> None:
        for group, label, _, numbers, *limits in members:
            key = group or "", label
            self._put((self._rows[key], numbers, self._functions.get(key)), label, group, *limits)

    def __getstate__(self) -> dict[str, Any]:
        kept = {k: v for k, v in self.__dict__.items() if k != "_lock"}
        return {
            **kept,
            "_c": (self._c.members(), self._c.to_bytes()),
            "_rows": {**self._rows},
            "_objects": copy.deepcopy(self._objects),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        members, data = state["_c"]
        self.__dict__.update(state, _lock=threading.Lock())
        self._again(members, data)

    def _again(self, members: list[Any], data: bytes) -> None:
        self._c = _core._metrics.MetricCollection()
        self._put_all(members)
        self._c.from_bytes(data)

    def _empty(self) -> Self:
        """The same metrics, without batches."""
        return self._with({})

    def _with(self, objects: dict[str, ObjectState]) -> Self:
        """The same metrics with these objects, without batches; the objects that are missing are made."""
        new = cast("Self", object.__new__(type(self)))
        copies = {name: {**getattr(self, name)} for name in ("_rows", "_functions", "_layers")}
        new.__dict__.update(self.__dict__, **copies, _objects=objects, _lock=threading.Lock())
        new._c = _core._metrics.MetricCollection()
        new._put_all(self._c.members())
        return new

    def _add_batch(
        self, operands: tuple[Any, ...], named: dict[str, Any], mask: Any, weights: Any, tokenizer: Tokenizer, alone: bool = False
    ) -> None:
        members = self._c.members()
        if not members:
            raise ValueError(f"this {type(self).__name__} has no metrics: add one")
        keys = [(m[0] or "", m[1]) for m in members]
        rows = [self._rows[key] for key in keys]
        given = late._in_order(rows[0], late._given_operands(rows[0], operands, named), made=False)
        if self._functions:
            given = [late._operand(x) if of_numbers(x) else x for x in given]
        plain = [r for r, k in zip(rows, keys, strict=True) if not (r["flags"] & late._FEATURES and k in self._functions)]
        numbered = late._numbered_batch(plain, given, tokenizer, alone)
        arrays, made = _features(
            [(row, self._functions.get(key), key) for row, key in zip(rows, keys, strict=True)], given, numbered
        )
        self._fit_layers({key: f.count for key, f in made.items()})
        token = _made.set({key: f.pending() for key, f in made.items()})
        try:
            made_of = [late._operand(x, o[0]) for x, o in zip(arrays, rows[0]["operands"], strict=False)]
            self._join_batch(made_of, late._operand(mask, "mask"), late._operand(weights, "weights"))
        finally:
            _made.reset(token)

    def _join_batch(self, arrays: list[Any], mask: Any, weights: Any) -> None:
        if not self._objects:
            self._c.update(arrays, mask, weights)
            return
        batch = self._with(self._objects)._c
        batch.update(arrays, mask, weights)
        self._join(batch, lambda state: state.update(arrays, mask, weights, None))

    def _join(self, other: Any, change: Callable[[ObjectState], None]) -> None:
        """Adds what a collection of the library has seen, in which all can fail, once the objects have changed."""
        with alone(self._lock, type(self).__name__):
            joined = self._with(self._objects)._c
            joined.merge(self._c)
            joined.merge(other)
            for state in self._objects.values():
                change(state)
            self._c = joined

    def _fit_layers(self, counts: dict[tuple[str, str], int]) -> None:
        """Makes the metrics again where a function returns another number of arrays than before."""
        if any(n != self._layers.get(key, 1) for key, n in counts.items()):
            self._layers.update(counts)
            self._again(self._c.members(), self._c.to_bytes())

    def _alone(
        self, operands: tuple[Any, ...], named: dict[str, Any], mask: Any, weights: Any, tokenizer: Tokenizer
    ) -> Self:
        """The same metrics, of these operands alone."""
        new = self._empty()
        new._add_batch(operands, named, mask, weights, tokenizer, alone=True)
        return new

    def update(
        self, *operands: Any, mask: Any = None, weights: Any = None, tokenizer: Tokenizer = None, **named: Any
    ) -> Self:
        """Adds a batch to all metrics, or, after a failure, to none; of several objects of users those before
        one that raises keep it.

        operands: arrays of any package, lists or texts, which all metrics take; named: operands by the names
        that the first metric gives them; mask: items that count; weights: not negative; tokenizer: words of a
        string, for metrics of texts.
        """
        self._add_batch(operands, named, mask, weights, tokenizer)
        return self

    def merge(self, other: Self) -> Self:
        """Adds what other has seen, which has the same metrics and parameters in the same order."""
        if not isinstance(other, Together):
            raise TypeError(f"{type(self).__name__}: {other!r} is not a collection of metrics")
        for state in self._objects.values():
            state.check_merge()
        if self._objects:
            self._join(other._c, lambda state: state.merge(other._objects[state.name]))
        else:
            self._c.merge(other._c)
        return self

    def reset(self) -> Self:
        """Forgets all batches."""
        self._c.reset()
        for state in self._objects.values():
            state.reset()
        return self

    @contextlib.contextmanager
    def _computing(self) -> Iterator[Any]:
        """The collection of the library, whose metrics of objects give what the objects of this collection compute."""
        token = computed.set(self._objects)
        try:
            yield self._c
        finally:
            computed.reset(token)

    def _results(self) -> list[Any]:
        with self._computing() as c:
            return cast("list[Any]", c.compute())

    def _weighted(self, direction: str) -> float:
        with self._computing() as c:
            return cast("float", c.weighted(direction))

    def _report(self) -> tuple[dict[str, Any], str]:
        with self._computing() as c:
            return cast("tuple[dict[str, Any], str]", c.report())

    def to_bytes(self) -> bytes:
        """What the metrics keep, for merge_bytes in another process; pickles hold it, too. A TypeError: a
        metric is an object of a user.
        """
        for state in self._objects.values():
            state.to_bytes()
        return cast("bytes", self._c.to_bytes())

    def merge_bytes(self, data: bytes) -> Self:
        """Adds what a collection of the same metrics and parameters in the same order had seen when it wrote
        to_bytes().
        """
        other = self._empty()
        other._c.from_bytes(bytes(data))
        self._c.merge(other._c)
        return self

    @property
    def updates(self) -> int:
        """Number of batches, those of merged collections included."""
        return cast("int", self._c.updates())

    def __len__(self) -> int:
        return len(self._c.members())
