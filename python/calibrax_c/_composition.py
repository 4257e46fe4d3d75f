"""Metrics together: collections, suites, thresholds, weights, values of classes, intervals, series, selections.

What they compute is the library's (calibrax/metrics/compose.h, bootstrap.h).  A metric is given by its name, as a function of
calibrax_c.metrics, or as an empty State, which has parameters and a function; those that register() made and plug-ins included.
"""

from __future__ import annotations

import contextvars
import difflib
import json
import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, cast

from . import _core, array  # type: ignore[attr-defined]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from calibrax_c.statistics import Interval

_DIRECTIONS = ("higher", "lower", "info")
_DIFFERENTIABLE = 1


# ---- what all have in common ----


def _codes() -> list[Any]:
    """The rows that are not in the library's table."""
    return [row["code"] for row in _m._rows.values() if "code" in row]


def _spec(metric: Any, parameters: dict[str, Any], function: Callable[..., Any] | None = None) -> tuple[dict[str, Any], list[float | None], Any]:
    """The row of a metric, the numbers of its parameters, and the user's function."""
    if isinstance(metric, _m.State):
        if parameters or function:
            raise TypeError(f"{metric!r} has its parameters and its function already: give them to State")
        if metric.updates:
            raise ValueError(f"{metric!r} has batches, which only states of its own kind can join: give an empty one")
        row = _m._row(metric._metric)
        return row, metric._state.parameters()[: len(row["parameters"])], metric._given
    row = _m._row(metric)
    return row, _m._numbers(row, parameters), function


def _several(metrics: Any, caller: str) -> Any:
    """Metrics of an iterable; a TypeError for one alone."""
    if isinstance(metrics, (str, _m.State)) or callable(metrics) or not hasattr(metrics, "__iter__"):
        raise TypeError(f"{caller}: {metrics!r} is not a list of metrics: put one metric in a list")
    return metrics


def _arrays(row: dict[str, Any], operands: tuple[Any, ...], tokenizer: Callable[[str], Iterable[str]] | None = None) -> list[Any]:
    given = _m._given_operands(row, operands, {})
    return cast("list[Any]", _m._in_order(row, _m._numbered(row, {**given, "tokenizer": tokenizer})))


# What functions of the user made of the operands of the batch that is added: by group and label the layers of its operands, one after
# another.
_made: contextvars.ContextVar[dict[tuple[str, str], Iterator[list[Any]]]] = contextvars.ContextVar("_made")


def _features(members: list[tuple[dict[str, Any], Any, tuple[str, str]]], operands: list[Any]) -> tuple[list[Any], dict[tuple[str, str], Any]]:
    """The operands as members take them, and by group and label what functions make of them: each function sees an operand once."""
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
        if function is not None and row["flags"] & _m._FEATURES:
            names = [o[0] for o in row["operands"]]
            made[key] = _m._Features(row, dict(zip(names, operands, strict=False)), once(function))
            for name, layers in made[key].layers.items():
                mapped.setdefault(names.index(name), []).append(layers[0])
    return [mapped[i][0] if len(mapped.get(i, ())) == len(members) else x for i, x in enumerate(operands)], made


def _plain(result: Any) -> Any:
    """A result of one number as a float."""
    return float(result.item()) if result.size == 1 else result


class _Together:
    """Metrics of one collection of the library."""

    def __init__(self) -> None:
        self._c: Any = _core._metrics.MetricCollection()
        self._functions: dict[tuple[str, str], Any] = {}
        self._layers: dict[tuple[str, str], int] = {}  # numbers of arrays that functions return, where not 1

    def _put(self, metric: Any, label: str | None, group: str | None = None, low: float | None = None, high: float | None = None, weight: float = 1.0,
             function: Callable[..., Any] | None = None, **parameters: Any) -> None:
        row, numbers, function = _spec(metric, parameters, function)
        self._put_row(row, numbers, function, row["name"] if label is None else label, group, low, high, weight)

    def _put_row(self, row: dict[str, Any], numbers: list[float | None], function: Any, label: str, group: str | None, low: float | None, high: float | None, weight: float) -> None:
        rule, key = None, (group or "", label)
        if function is not None and not row["function"]:
            raise TypeError(f"{row['name']}: takes no function")
        if function is not None and row["flags"] & _m._FEATURES:
            rule = _core._recording.rule(row["name"], lambda _: next(_made.get()[key]), 1, self._layers.get(key, 1), 0)
        elif function is not None:
            rule = _m._rule(row, function)
        self._c.add(row.get("code", row["name"]), label, numbers, group, low, high, weight, rule)
        if function is not None:
            self._functions[key] = function

    def _put_all(self, members: list[Any]) -> None:
        for group, label, name, numbers, low, high, weight in members:
            self._put_row(_m._row(name), numbers, self._functions.get((group or "", label)), label, group, low, high, weight)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_c": (self._c.members(), self._c.to_bytes())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        members, data = state["_c"]
        self.__dict__.update(state)
        self._again(members, data)

    def _again(self, members: list[Any], data: bytes) -> None:
        self._c = _core._metrics.MetricCollection()
        self._put_all(members)
        self._c.from_bytes(data)

    def _empty(self) -> Self:
        """The same metrics, without batches."""
        new = cast("Self", object.__new__(type(self)))
        new.__dict__.update(self.__dict__, _functions={**self._functions}, _layers={**self._layers})
        new._c = _core._metrics.MetricCollection()
        new._put_all(self._c.members())
        return new

    def _add_batch(self, operands: tuple[Any, ...], named: dict[str, Any], mask: Any, weights: Any, tokenizer: Any, alone: bool = False) -> None:
        members = self._c.members()
        if not members:
            raise ValueError(f"this {type(self).__name__} has no metrics: add one")
        rows = [_m._row(m[2]) for m in members]
        given = _m._given_operands(rows[0], operands, named)
        given = _m._numbered_batch(() if alone else rows, rows[0], given, tokenizer)
        keys = [(m[0] or "", m[1]) for m in members]
        arrays, made = _features([(row, self._functions.get(key), key) for row, key in zip(rows, keys, strict=True)], _m._in_order(rows[0], given, made=False))
        self._fit_layers({key: f.count for key, f in made.items()})
        token = _made.set({key: f.pending() for key, f in made.items()})
        try:
            self._c.update([_m._operand(x) for x in arrays], _m._operand(mask), _m._operand(weights))
        finally:
            _made.reset(token)

    def _fit_layers(self, counts: dict[tuple[str, str], int]) -> None:
        """Makes the metrics again where a function returns another number of arrays than before."""
        if any(n != self._layers.get(key, 1) for key, n in counts.items()):
            self._layers.update(counts)
            self._again(self._c.members(), self._c.to_bytes())

    def _alone(self, operands: tuple[Any, ...], named: dict[str, Any], mask: Any, weights: Any, tokenizer: Any) -> Self:
        """The same metrics, of these operands alone."""
        new = self._empty()
        new._add_batch(operands, named, mask, weights, tokenizer, alone=True)
        return new

    def update(self, *operands: Any, mask: Any = None, weights: Any = None, tokenizer: Callable[[str], Iterable[str]] | None = None, **named: Any) -> Self:
        """Adds a batch to all metrics, or, after a failure, to none.

        operands: arrays of any package, lists or texts, which all metrics take; named: operands by the names that the first metric gives
        them; mask: items that count; weights: not negative; tokenizer: words of a string, for metrics of texts.
        """
        self._add_batch(operands, named, mask, weights, tokenizer)
        return self

    def merge(self, other: Self) -> Self:
        """Adds what other has seen, which has the same metrics and parameters in the same order."""
        if not isinstance(other, _Together):
            raise TypeError(f"{type(self).__name__}: {other!r} is no collection of metrics")
        self._c.merge(other._c)
        return self

    def reset(self) -> None:
        """Forgets all batches."""
        self._c.reset()

    def to_bytes(self) -> bytes:
        """What the metrics keep, for merge_bytes in another process; pickles hold it, too."""
        return cast("bytes", self._c.to_bytes())

    def merge_bytes(self, data: bytes) -> Self:
        """Adds what a collection of the same metrics and parameters in the same order had seen when it wrote to_bytes()."""
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


# ---- collections ----


class MetricCollection(_Together):
    """Metrics over the same operands, updated together.  Those that keep the same keep it once.

    metrics: names, functions of calibrax_c.metrics or States, or a dict of them by label.

    >>> from calibrax_c import metrics
    >>> c = metrics.MetricCollection(["mae", "r_squared", "explained_variance"])
    >>> _ = c.update([2.5, 0.0], [3.0, -0.5]).update([2.0, 8.0], [2.0, 7.0])
    >>> {label: round(float(v), 4) for label, v in c.compute().items()}
    {'mae': 0.5, 'r_squared': 0.9486, 'explained_variance': 0.9572}
    >>> c.states  # r_squared and explained_variance share one
    2
    """

    def __init__(self, metrics: Iterable[Any] | Mapping[str, Any] = ()) -> None:
        super().__init__()
        pairs = metrics.items() if hasattr(metrics, "items") else ((None, x) for x in _several(metrics, "MetricCollection"))
        for label, metric in pairs:
            self._put(metric, label)

    def add(self, name: str, metric: Any = None, *, function: Callable[..., Any] | None = None, **parameters: Any) -> Self:
        """Adds a metric, before the first update.

        name: its label in results; metric: the metric, default the one of that name; function: of metrics of features, a function of an Array;
        parameters: those of the metric.  A label that is there already is a ValueError.

        >>> from calibrax_c import metrics
        >>> metrics.MetricCollection().add("huber", "huber_loss", delta=0.1).compute_functional([1.0], [2.0])
        {'huber': 0.095}
        """
        self._put(name if metric is None else metric, name if isinstance(name, str) else None, function=function, **parameters)
        return self

    def remove(self, name: str) -> None:
        """Removes the metric of a label, with what it keeps alone; a KeyError where no metric has it."""
        self._c.remove(name)
        self._functions.pop(("", name), None)

    @property
    def names(self) -> list[str]:
        """Labels, in the order of adding."""
        return [m[1] for m in self._c.members()]

    @property
    def states(self) -> int:
        """Number of states that the metrics share."""
        return cast("int", self._c.states())

    def compute(self) -> dict[str, Any]:
        """The results of all that was added, Arrays by label."""
        return dict(zip(self.names, self._c.compute(), strict=True))

    @property
    def error(self) -> dict[str, float]:
        """By label how far a result may be from that of all data: 0 but for the streaming metrics."""
        return dict(zip(self.names, self._c.errors(), strict=True))

    def compute_functional(self, *operands: Any, mask: Any = None, weights: Any = None, tokenizer: Callable[[str], Iterable[str]] | None = None, **named: Any) -> dict[str, Any]:
        """The metrics of these operands alone, floats by label (an Array where a result has several numbers); batches stay as they are.

        operands, mask, weights, tokenizer, named: as those of update.
        """
        return {label: _plain(v) for label, v in self._alone(operands, named, mask, weights, tokenizer).compute().items()}

    @classmethod
    def from_registry(cls, *, domain: str | None = None, tier: str = "pure_function", kinds: Iterable[str] = ("real", "real"), **conditions: Any) -> Self:
        """All metrics that select() finds and that take operands of these kinds, with their default parameters.

        domain, tier, conditions: as those of select; kinds: of the operands that cannot be left out, the words of metrics' pages.  Metrics
        that register() made are among them, as are those whose results are arrays.  A ValueError where no metric has these kinds.

        >>> from calibrax_c import metrics
        >>> metrics.MetricCollection.from_registry(domain="classification", kinds=("labels", "labels")).names[:2]
        ['accuracy', 'precision']
        """
        return cls(_of_kinds(select(domain=domain, tier=tier, **conditions), kinds))

    def __repr__(self) -> str:
        return f"MetricCollection({self.names!r}, {self.updates} batches)"


def _of_kinds(names: list[str], kinds: Iterable[str]) -> list[str]:
    """Metrics whose operands are of these kinds and of one shape, and that need no function; a ValueError where no metric has these kinds."""
    wanted = tuple(kinds)
    rows = [r for r in map(_m._row, names) if not r["function"] and r["shapes"] <= 1]
    taken = {r["name"]: tuple(o[1] for o in r["operands"] if not o[3]) for r in rows}
    found = [n for n, k in taken.items() if k == wanted]
    if not found:
        others = "; ".join(map(str, sorted(set(taken.values())))) or "none without a function and of one shape"
        raise ValueError(f"from_registry: none of the metrics takes operands of the kinds {wanted}; kinds of these metrics: {others}")
    return found


class WeightedMetric(_Together):
    """One number of several metrics: the sum of weight times result.

    A metric whose better direction is not that of the sum counts with its sign changed.
    weights: by label; metrics: metrics by label where the labels are no names of metrics; direction: 'higher' or 'lower', which sums are
    better; it may be left out where all metrics have the same.

    >>> from calibrax_c import metrics
    >>> metrics.WeightedMetric({"mse": 0.7, "mae": 0.3}).update([1.0, 2.0], [1.0, 4.0]).compute()
    1.7
    >>> w = metrics.WeightedMetric({"r_squared": 1, "mae": 0.5}, direction="higher")
    >>> w.compute({"r_squared": 0.9, "mae": 0.2})
    0.8
    """

    def __init__(self, weights: Mapping[str, float], *, metrics: Mapping[str, Any] | None = None, direction: str | None = None) -> None:
        super().__init__()
        if not weights:
            raise ValueError("WeightedMetric: there must be a weight")
        if unknown := sorted(set(metrics or ()) - set(weights)):
            raise ValueError(f"WeightedMetric: there is no weight for {unknown[0]!r}")
        for label, weight in weights.items():
            self._put((metrics or {}).get(label, label), label, weight=weight)
        found = {_m._row(name)["direction"]: label for _, label, name, _, _, _, weight in self._c.members() if weight}
        if direction is None and len(found) > 1:
            raise ValueError("WeightedMetric: of " + ", of ".join(f"{label!r} {word} is better" for word, label in found.items()) + ": give the direction of the sum")
        self._direction = direction or next(iter(found), "lower")
        if self._direction not in _DIRECTIONS[:2] and direction is not None:
            raise ValueError(f"WeightedMetric: 'direction' must be 'higher' or 'lower', got {direction!r}")

    def compute(self, metric_values: Mapping[str, float] | None = None) -> float:
        """The weighted sum of all that was added, or of given results.

        metric_values: results by label, a KeyError where one is missing; None: those of the batches.
        """
        if metric_values is None:
            return cast("float", self._c.weighted(self._direction))
        return cast("float", self._c.weighted(self._direction, [float(metric_values[label]) for label in self.weights]))

    @property
    def weights(self) -> dict[str, float]:
        """Weights by label."""
        return {label: weight for _, label, _, _, _, _, weight in self._c.members()}

    @property
    def normalized_weights(self) -> dict[str, float]:
        """Weights of the sum 1; as they are where their sum is 0."""
        total = sum(self.weights.values())
        return {label: w / total for label, w in self.weights.items()} if total else self.weights

    @property
    def direction(self) -> str:
        """Which sums are better."""
        return self._direction

    def __repr__(self) -> str:
        return f"WeightedMetric({self.weights!r}, direction={self._direction!r})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdResult:
    """A result and its threshold: the maximum where there is one, else the minimum."""

    value: float
    passed: bool
    threshold: float | None
    metric_name: str


class ThresholdMetric:
    """A metric that passes between bounds, both included; NaN does not pass.

    metric_name: the metric; min_value, max_value: bounds, one at least; function, parameters: as those of State.

    >>> from calibrax_c import metrics
    >>> metrics.ThresholdMetric("mse", max_value=0.5).evaluate([1.0, 2.0], [1.0, 3.0])
    ThresholdResult(value=0.5, passed=True, threshold=0.5, metric_name='mse')
    """

    def __init__(self, metric_name: Any, *, min_value: float | None = None, max_value: float | None = None, function: Callable[..., Any] | None = None, **parameters: Any) -> None:
        if min_value is None and max_value is None:
            raise ValueError("ThresholdMetric: give min_value, max_value or both")
        self.min_value, self.max_value = min_value, max_value
        self._suite = MetricSuite().add(None, None, metric_name, low=min_value, high=max_value, function=function, **parameters)

    @property
    def metric_name(self) -> str:
        """Name of the metric."""
        return cast("str", self._suite._c.members()[0][2])

    def evaluate(self, *operands: Any, mask: Any = None, weights: Any = None, tokenizer: Callable[[str], Iterable[str]] | None = None, **named: Any) -> ThresholdResult:
        """The metric of these operands, and whether it passes.  operands, mask, weights, tokenizer: as those of the metric's function."""
        [group] = self._suite._alone(operands, named, mask, weights, tokenizer).report()["groups"]
        [result] = group["metrics"]
        threshold = self.min_value if self.max_value is None else self.max_value
        return ThresholdResult(value=result["value"], passed=result.get("passed", True), threshold=threshold, metric_name=result["metric"])


# ---- suites ----


class MetricSuite(_Together):
    """Groups of metrics over the same operands, with thresholds and weights; the files that `calibrax metrics compute --suite` takes.

    groups: metrics by group, each a name, a function, a State, or a dict as in a file: metric, label, low, high, weight, parameters.

    >>> from calibrax_c import metrics
    >>> suite = metrics.MetricSuite({"errors": ["mae", {"metric": "huber_loss", "high": 0.1, "parameters": {"delta": 0.1}}], "fit": ["r_squared"]})
    >>> suite.update([2.5, 0.0, 2.0, 8.0], [3.0, -0.5, 2.0, 7.0]).passed
    True
    >>> print(suite.text())
    errors
      mae                                0.5
      huber_loss                         0.04625                 at most 0.1: passed
    fit
      r_squared                          0.9486081370449679
    """

    def __init__(self, groups: Mapping[str, Iterable[Any]] | None = None) -> None:
        super().__init__()
        for name, members in (groups or {}).items():
            self.add_group(name, members)

    def add(self, group: str | None, name: str | None, metric: Any = None, *, low: float | None = None, high: float | None = None, weight: float = 1.0,
            function: Callable[..., Any] | None = None, **parameters: Any) -> Self:
        """Adds a metric to a group, before the first update.

        group: its group, None: none; name: its label, None: the metric's name; metric: default the one of that name; low, high: results that
        pass; weight: a number; function, parameters: as those of State.
        """
        self._put(name if metric is None else metric, name, group, low, high, weight, function, **parameters)
        return self

    def add_group(self, group_name: str, metric_names: Iterable[Any]) -> Self:
        """Adds a group.  group_name: its name; metric_names: as those of the constructor."""
        for m in _several(metric_names, f"MetricSuite: group {group_name!r}"):
            entry = dict(m) if isinstance(m, dict) else {"metric": m}
            if unknown := sorted(entry.keys() - {"metric", "label", "low", "high", "weight", "parameters"}):
                raise ValueError(f"MetricSuite: unknown key {unknown[0]!r} of a metric")
            if "metric" not in entry:
                raise ValueError("MetricSuite: a metric needs the key 'metric'")
            parameters = entry.pop("parameters", {})
            self.add(group_name, entry.pop("label", None), entry.pop("metric"), **entry, **parameters)
        return self

    def list_groups(self) -> list[str]:
        """Names of the groups."""
        return [*dict.fromkeys(m[0] or "" for m in self._c.members())]

    def compute(self) -> dict[str, dict[str, Any]]:
        """The results of all that was added, Arrays by group and label."""
        out: dict[str, dict[str, Any]] = {}
        for (group, label, *_), value in zip(self._c.members(), self._c.compute(), strict=True):
            out.setdefault(group or "", {})[label] = value
        return out

    def compute_all(self, *operands: Any, mask: Any = None, weights: Any = None, tokenizer: Callable[[str], Iterable[str]] | None = None, **named: Any) -> dict[str, dict[str, Any]]:
        """The metrics of these operands alone, floats by group and label; arguments as those of MetricCollection.compute_functional."""
        results = self._alone(operands, named, mask, weights, tokenizer).compute()
        return {group: {label: _plain(v) for label, v in r.items()} for group, r in results.items()}

    def report(self) -> dict[str, Any]:
        """All results with their thresholds, as `calibrax metrics compute --suite --json` has them: groups, updates, and passed, where there is a threshold."""
        return cast("dict[str, Any]", self._c.report()[0])

    def text(self) -> str:
        """The report as a table."""
        return cast("str", self._c.report()[1]).rstrip("\n")

    @property
    def passed(self) -> bool:
        """Whether all results pass."""
        return cast("bool", self.report().get("passed", True))

    def weighted(self, direction: str) -> float:
        """The sum of weight times result, as WeightedMetric.  direction: 'higher' or 'lower', which sums are better."""
        return cast("float", self._c.weighted(direction))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The suite of a JSON file, which another structure, an unknown key or an unknown metric makes a ValueError."""
        with open(path, encoding="utf-8") as f:
            return cls._read(f.read(), os.fspath(path))

    @classmethod
    def from_dict(cls, suite: Mapping[str, Any]) -> Self:
        """The suite of what a file holds: {"groups": {...}} or {"metrics": [...]}."""
        return cls._read(json.dumps(suite), "suite")

    @classmethod
    def _read(cls, text: str, what: str) -> Self:
        new = cls()
        new._c = _core._metrics.read(_codes(), text, what)
        return new

    def to_dict(self) -> dict[str, Any]:
        """What a file of the suite holds; a function cannot be written, a ValueError."""
        if self._functions:
            raise ValueError(f"the function of {next(iter(self._functions))[1]!r} cannot be written to a suite: pickle the suite, or leave the metric out")
        groups: dict[str, list[Any]] = {}
        for group, label, name, numbers, low, high, weight in self._c.members():
            row = _m._row(name)
            entry: dict[str, Any] = {"metric": name}
            if label != name:
                entry["label"] = label
            entry |= {k: v for k, v, default in (("low", low, float("-inf")), ("high", high, float("inf")), ("weight", weight, 1.0)) if v != default}
            if parameters := {p[0]: _m._value(p, v) for p, v in zip(row["parameters"], numbers, strict=True) if v != p[3]}:
                entry["parameters"] = parameters
            groups.setdefault(group or "", []).append(entry if len(entry) > 1 else name)
        return {"metrics": groups[""]} if list(groups) == [""] else {"groups": groups}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the suite to a JSON file, which takes the place of an older one when it is complete."""
        text = json.dumps(self.to_dict(), indent=2) + "\n"
        target = os.path.realpath(path)
        temporary = f"{target}.{os.getpid()}.tmp"
        with open(temporary, "x", encoding="utf-8") as f:
            f.write(text)
        try:
            if os.path.exists(target):
                shutil.copymode(target, temporary)
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise

    @classmethod
    def from_registry_domains(cls, *, tier: str = "pure_function", kinds: Iterable[str] = ("real", "real"), **conditions: Any) -> Self:
        """A group a domain, of all metrics that select() finds and that take operands of these kinds; arguments as MetricCollection.from_registry."""
        new = cls()
        for name in _of_kinds(select(tier=tier, **conditions), kinds):
            new.add(_m._row(name)["domain"], name)
        return new

    def __repr__(self) -> str:
        return f"MetricSuite({self.list_groups()!r}, {len(self)} metrics, {self.updates} batches)"


# ---- wrappers ----


class ClasswiseWrapper:
    """A metric of the items of each class.

    metric: whose result is one number; class_names: names of classes 0, 1, ...; num_classes: 0: one more than the largest label;
    parameters: those of the metric.

    >>> from calibrax_c import metrics
    >>> metrics.ClasswiseWrapper("mae", class_names=["cat", "dog"]).compute([1.0, 2.0, 4.0], [1.0, 3.0, 1.0], [0, 0, 1])
    {'cat': 0.5, 'dog': 3.0, 'mean': 1.75}
    """

    def __init__(self, metric: Any, *, class_names: Iterable[str] | None = None, num_classes: int = 0, **parameters: Any) -> None:
        self._row, self._numbers, function = _spec(metric, parameters)
        self.class_names = None if class_names is None else list(class_names)
        names = self.class_names or []
        if "mean" in names or len(set(names)) < len(names):
            raise ValueError(f"ClasswiseWrapper: names of classes must differ from each other and from 'mean', got {names}")
        if names and num_classes not in (0, len(names)):
            raise ValueError(f"ClasswiseWrapper: there are {len(names)} names of classes, and num_classes is {num_classes}")
        if function is not None:
            raise TypeError(f"ClasswiseWrapper: {self._row['name']} with a function has no values of classes: give features")
        self.num_classes = len(names) or num_classes

    def compute(self, *operands: Any, labels: Any = None, mask: Any = None, weights: Any = None) -> dict[str, float]:
        """The metric by class, and the mean of the classes, 'mean'.  Classes that no item has, or none that counts, are left out.

        operands: of the metric; labels: the class of each item, by name or behind the operands; mask, weights: a number an item.  A negative
        label, or one that is not below the number of classes, is a ValueError that names its place.
        """
        if labels is None:
            *operands, labels = operands or (None,)  # type: ignore[assignment]
        if labels is None:
            raise TypeError("ClasswiseWrapper: labels are missing: they follow the operands")
        arrays, labels, factors = _arrays(self._row, tuple(operands)), _m._operand(labels), [_m._operand(mask), _m._operand(weights)]
        if labels.ndim != 1:
            raise ValueError(f"ClasswiseWrapper: labels must have one axis, a number an item: their shape is {labels.shape}")
        values, mean = _core._metrics.classwise(_code(self._row), arrays, self._numbers, labels, self.num_classes, *factors)
        counted = _counted(labels, factors) if mean != mean else set()  # a class with items may be NaN, too
        present = {(self.class_names[k] if self.class_names else str(k)): v for k, v in enumerate(values.tolist()) if v == v or k in counted}
        return {**present, "mean": mean}


def _counted(labels: Any, factors: list[Any]) -> set[int]:
    """Labels of items whose mask and weight are not 0."""
    counts = [True] * labels.size
    for x in factors:
        if x is not None:
            rows = array.reshape(array.astype(x, array.float64), (labels.size, -1))
            counts = [a and b > 0 for a, b in zip(counts, array.max(rows, axis=1).tolist(), strict=True)]
    return {label for label, a in zip(labels.tolist(), counts, strict=True) if a}


def _code(row: dict[str, Any]) -> Any:
    return row.get("code", row["name"])


class BootstrapMetric:
    """A metric with its bootstrap interval: items are drawn with replacement, those of all operands together.

    metric: whose result is one number; num_resamples: at least 1; confidence: level of the interval; parameters: those of the metric.

    >>> from calibrax_c import metrics
    >>> interval = metrics.BootstrapMetric("mae", num_resamples=200).compute([1.0, 2.0, 4.0, 3.0], [1.0, 3.0, 1.0, 3.5])
    >>> interval.value, interval.lower <= interval.value <= interval.upper
    (1.125, True)
    """

    def __init__(self, metric: Any, *, num_resamples: int = 1000, confidence: float = 0.95, **parameters: Any) -> None:
        self._row, self._numbers, function = _spec(metric, parameters)
        if not 0 < confidence < 1:
            raise ValueError(f"BootstrapMetric: 'confidence' must be between 0 and 1, got {confidence!r}")
        if num_resamples < 1:
            raise ValueError(f"BootstrapMetric: 'num_resamples' must be at least 1, got {num_resamples!r}")
        if function is not None:
            raise TypeError(f"BootstrapMetric: {self._row['name']} with a function has no interval: give features")
        self.num_resamples, self.confidence = num_resamples, confidence

    def compute(self, *operands: Any, seed: int = 0, mask: Any = None, weights: Any = None, tokenizer: Callable[[str], Iterable[str]] | None = None) -> Interval:
        """The metric and its interval: BCa up to 500 items, percentiles above; the same for the same seed.

        operands, mask, weights, tokenizer: as those of the metric's function; seed: of the draws.  A resample whose result is not finite is a ValueError.
        """
        arrays = _arrays(self._row, operands, tokenizer)
        return cast("Interval", _core._metrics.bootstrap(_code(self._row), arrays, self._numbers, self.confidence, self.num_resamples, seed, _m._operand(mask), _m._operand(weights)))


def _function(metric: Any, parameters: dict[str, Any]) -> tuple[Callable[..., Any], str]:
    """What gives a value of operands, and the better direction; any function of Python, too."""
    if callable(metric) and not (getattr(metric, "__name__", None) in _m._rows and getattr(_m, metric.__name__) is metric):
        if parameters:
            raise TypeError(f"{metric!r} is no metric, so that it takes no parameters here: use functools.partial")
        return metric, "info"
    row, numbers, function = _spec(metric, parameters)
    given = {p[0]: _m._value(p, v) for p, v in zip(row["parameters"], numbers, strict=True) if v is not None}
    if function is not None:
        given["function"] = function

    def call(*operands: Any, **options: Any) -> Any:
        return getattr(_m, row["name"])(*operands, **{**given, **options})

    return call, row["direction"]


class MetricTracker:
    """The values of a metric over epochs, and the best one.  NaN is never the best.

    metric: a metric, or a function that gives a number; direction: 'lower' or 'higher', default that of the metric, 'lower' of a function;
    parameters: those of the metric.

    >>> from calibrax_c import metrics
    >>> tracker = metrics.MetricTracker("mse")
    >>> for predictions in ([1.0, 4.0], [1.0, 2.0], [2.0, 2.0]):
    ...     _ = tracker.increment(predictions, [1.0, 2.0])
    >>> tracker.best(), tracker.best_epoch, tracker.history
    (0.0, 1, (2.0, 0.0, 0.5))
    """

    def __init__(self, metric: Any, *, direction: str | None = None, **parameters: Any) -> None:
        self._given = metric, direction, parameters
        self._call, own = _function(metric, parameters)
        if direction is None:
            direction = "lower" if own == "info" and callable(metric) else own
        if direction not in _DIRECTIONS[:2]:
            raise ValueError("MetricTracker: 'direction' must be 'higher' or 'lower'" + (f", got {direction!r}" if direction != "info" else ": no result of this metric is better than another"))
        self.direction = direction
        self.reset()

    def increment(self, *operands: Any, **options: Any) -> float:
        """Computes the metric and adds its value, which is returned.  operands, options: as those of the metric's function."""
        value = float(self._call(*operands, **options))
        self._add(value)
        return value

    def _add(self, value: float) -> None:
        self._track.put(value)
        self._history.append(value)

    def best(self) -> float:
        """The best value; a ValueError before the first number."""
        self._check()
        return cast("float", self._track.values()["best"])

    @property
    def best_epoch(self) -> int:
        """The epoch of the best value, from 0 on; of ties the first."""
        self._check()
        return cast("int", self._track.values()["best_step"])

    def _check(self) -> None:
        best = self._track.values()["best"]
        if best != best:
            raise ValueError("MetricTracker: there is no best value yet: call increment()")

    @property
    def history(self) -> tuple[float, ...]:
        """All values."""
        return tuple(self._history)

    def reset(self) -> None:
        """Forgets all values."""
        self._track: Any = _core._metrics.Track(self.direction)
        self._history: list[float] = []

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self._given, self._history)


def _restored(cls: type[MetricTracker], given: tuple[Any, str | None, dict[str, Any]], history: list[float]) -> MetricTracker:
    metric, direction, parameters = given
    new = cls(metric, direction=direction, **parameters)
    for value in history:
        new._add(value)
    return new


class MinMaxTracker:
    """The current, the smallest and the largest value of a metric; None before the first.  NaN is neither smallest nor largest.

    metric: a metric, or a function that gives a number; parameters: those of the metric.

    >>> from calibrax_c import metrics
    >>> tracker = metrics.MinMaxTracker("mse")
    >>> [tracker.update(x, [1.0]) for x in ([3.0], [1.0], [2.0])]
    [4.0, 0.0, 1.0]
    >>> tracker.current, tracker.min, tracker.max
    (1.0, 0.0, 4.0)
    """

    def __init__(self, metric: Any, **parameters: Any) -> None:
        self._given = metric, parameters
        self._call, _ = _function(metric, parameters)
        self.reset()

    def update(self, *operands: Any, **options: Any) -> float:
        """Computes the metric and adds its value, which is returned.  operands, options: as those of the metric's function."""
        value = float(self._call(*operands, **options))
        self._track.put(value)
        return value

    def _value(self, name: str) -> float | None:
        values = self._track.values()
        return values[name] if values["steps"] and (name == "current" or values[name] == values[name]) else None

    @property
    def current(self) -> float | None:
        """The last value."""
        return self._value("current")

    @property
    def min(self) -> float | None:
        """The smallest value."""
        return self._value("min")

    @property
    def max(self) -> float | None:
        """The largest value."""
        return self._value("max")

    def reset(self) -> None:
        """Forgets all values."""
        self._track: Any = _core._metrics.Track("info")

    def __getstate__(self) -> tuple[Any, ...]:
        return (self._given, *(v for v in (self.min, self.max, self.current) if v is not None))

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        (metric, parameters), *values = state
        self.__init__(metric, **parameters)  # type: ignore[misc]
        for value in values:
            self._track.put(value)


MinMaxMetric = MinMaxTracker  # its name in torchmetrics


# ---- selections, plug-ins ----


def _one_of(what: str, given: str, words: Iterable[str]) -> str:
    if given not in words:
        near = difflib.get_close_matches(given, words, 1) if isinstance(given, str) else []
        raise ValueError(f"select: {what!r} must be one of {', '.join(words)}, got {given!r}" + (f": did you mean {near[0]!r}?" if near else ""))
    return given


def select(*, domain: str | None = None, direction: str | None = None, axiom: str | Iterable[str] | None = None, invariance: str | Iterable[str] | None = None,
           tier: str | None = None, differentiable: bool = False) -> list[str]:
    """Names of the metrics that have all of these; without a condition all names.

    domain: as in the documentation; direction: 'higher', 'lower' or 'info', which results are better; axiom: symmetric, identity, positive,
    triangle, proper, or metric for the first four, one or several; invariance: scale, common-scale, shift, rotation, order, sample-order, monotone,
    relabel, congruence, orthogonal, lorentz, one or several; tier: pure_function, frozen_backbone, learned, metric_learning; differentiable:
    in real operands.  Another word is a ValueError.

    >>> from calibrax_c import metrics
    >>> metrics.select(domain="general", direction="higher")
    ['r_squared', 'explained_variance']
    >>> "euclidean_distance" in metrics.select(axiom="metric", invariance=["shift", "rotation"])
    True
    """
    if domain is not None:
        _one_of("domain", domain, sorted({row["domain"] for row in _m._rows.values()}))
    axioms = [axiom] if isinstance(axiom, str) else [*(axiom or ())]
    parts = [part for word in axioms for part in (_m._WORDS["axiom"][:4] if word == "metric" else [word])]
    place = -1 if direction is None else _DIRECTIONS.index(_one_of("direction", direction, _DIRECTIONS))
    number = -1 if tier is None else _m._WORDS["tier"].index(_one_of("tier", tier, _m._WORDS["tier"]))
    bits = _m._bits("select", "axiom", parts), _m._bits("select", "invariance", invariance or ())
    return cast("list[str]", _core._metrics.select(_codes(), domain, place, number, *bits, _DIFFERENTIABLE * differentiable))


def load_plugin(path: str | os.PathLike[str]) -> list[str]:
    """Adds the metrics of a shared object, all or none, as `--plugin` of `calibrax metrics` does: functions of calibrax_c.metrics, States and all else.

    path: a file that calibrax/metrics/plugin.h describes; its code runs in this process.  Returns their names.  A FileNotFoundError; a RuntimeError: it cannot be
    loaded; a ValueError: it has no table, a row that is not legal, or a name that is there already.
    """
    os.stat(path)  # a FileNotFoundError, rather
    rows = _core._metrics.load_plugin(_codes(), path)
    for row in rows:
        if hasattr(_m, row["name"]):
            raise ValueError(f"load_plugin: {row['name']!r} is a name of calibrax_c.metrics: the plug-in needs another one")
    for row in rows:
        _m._rows[row["name"]] = row
        setattr(_m, row["name"], _m._make(row))
    return [row["name"] for row in rows]


__all__ = ["BootstrapMetric", "ClasswiseWrapper", "MetricCollection", "MetricSuite", "MetricTracker", "MinMaxMetric", "MinMaxTracker", "ThresholdMetric", "ThresholdResult", "WeightedMetric", "load_plugin", "select"]

from . import metrics as _module  # noqa: E402  each of the two can be imported first

_m: Any = _module
