"""Metrics together: collections, weighted sums, thresholds, suites.

What they compute is the library's (calibrax/metrics/compose.h). A metric is given as _metric_selection.py describes.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, cast

from ._metric_members import Together
from ._metric_objects import counted
from ._metric_selection import DIRECTIONS, late, names_of_kinds, plain, select, spec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ._metric_members import Tokenizer


def _several(metrics: Any, caller: str) -> Any:
    """Metrics of an iterable; a TypeError for one alone."""
    if isinstance(metrics, (str, late.State)) or callable(metrics) or not hasattr(metrics, "__iter__"):
        raise TypeError(f"{caller}: {metrics!r} is not a list of metrics: put one metric in a list")
    return metrics


class MetricCollection(Together):
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
        pairs = (
            metrics.items() if hasattr(metrics, "items") else ((None, x) for x in _several(metrics, "MetricCollection"))
        )
        for label, metric in pairs:
            self._put(spec(metric, {}), label)

    def add(
        self, name: str, metric: Any = None, *, function: Callable[..., Any] | None = None, **parameters: Any
    ) -> Self:
        """Adds a metric, before the first update.

        name: its label in results; metric: the metric, default the one of that name; function: of metrics of
        features, a function of an Array; parameters: those of the metric.  A label that is there already is a
        ValueError.

        >>> from calibrax_c import metrics
        >>> metrics.MetricCollection().add("huber", "huber_loss", delta=0.1).compute_functional([1.0], [2.0])
        {'huber': 0.095}
        """
        self._put(spec(name if metric is None else metric, parameters, function), name if isinstance(name, str) else None)
        return self

    def remove(self, name: str) -> None:
        """Removes the metric of a label, with what it keeps alone; a KeyError where no metric has it."""
        self._c.remove(name)
        self._forget(name)

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
        return dict(zip(self.names, self._results(), strict=True))

    @property
    def error(self) -> dict[str, float]:
        """By label how far a result may be from that of all data: 0 but for the streaming metrics."""
        return dict(zip(self.names, self._c.errors(), strict=True))

    def compute_functional(
        self, *operands: Any, mask: Any = None, weights: Any = None, tokenizer: Tokenizer = None, **named: Any
    ) -> dict[str, Any]:
        """The metrics of these operands alone, floats by label (an Array where a result has several numbers);
        batches stay as they are.

        operands, mask, weights, tokenizer, named: as those of update.
        """
        results = self._alone(operands, named, mask, weights, tokenizer).compute()
        return {label: plain(v) for label, v in results.items()}

    @classmethod
    def from_registry(
        cls, *, domain: str | None = None, tier: str = "pure_function", kinds: Iterable[str] = ("real", "real"),
        **conditions: Any,
    ) -> Self:
        """All metrics that select() finds and that take operands of these kinds, with their default parameters.

        domain, tier, conditions: as those of select; kinds: of the operands that cannot be left out, the
        words of metrics' pages.  Metrics that register() made are among them, as are those whose results are
        arrays.  A ValueError where no metric has these kinds.

        >>> from calibrax_c import metrics
        >>> metrics.MetricCollection.from_registry(domain="classification", kinds=("labels", "labels")).names[:2]
        ['accuracy', 'precision']
        """
        return cls(names_of_kinds(select(domain=domain, tier=tier, **conditions), kinds))

    def __repr__(self) -> str:
        return f"MetricCollection({self.names!r}, {counted(self.updates, 'batch', 'batches')})"


class WeightedMetric(Together):
    """One number of several metrics: the sum of weight times result.

    A metric whose better direction is not that of the sum counts with its sign changed. weights: by label;
    metrics: metrics by label where the labels are not names of metrics; direction: 'higher' or 'lower', which
    sums are better; it may be left out where all metrics have the same.

    >>> from calibrax_c import metrics
    >>> metrics.WeightedMetric({"mse": 0.7, "mae": 0.3}).update([1.0, 2.0], [1.0, 4.0]).compute()
    1.7
    >>> w = metrics.WeightedMetric({"r_squared": 1, "mae": 0.5}, direction="higher")
    >>> w.compute({"r_squared": 0.9, "mae": 0.2})
    0.8
    """

    def __init__(
        self, weights: Mapping[str, float], *, metrics: Mapping[str, Any] | None = None, direction: str | None = None
    ) -> None:
        super().__init__()
        if not weights:
            raise ValueError(f"WeightedMetric: there must be a weight, such as {{'mae': 1}}, got {weights!r}")
        if unknown := sorted(set(metrics or ()) - set(weights)):
            raise ValueError(f"WeightedMetric: there is no weight for {unknown[0]!r}")
        for label, weight in weights.items():
            self._put(spec((metrics or {}).get(label, label), {}), label, weight=weight)
        found = {self._rows["", label]["direction"]: label for label, weight in self.weights.items() if weight}
        if direction is None and len(found) > 1:
            raise ValueError(
                "WeightedMetric: of "
                + ", of ".join(f"{label!r} {word} is better" for word, label in found.items())
                + ": give the direction of the sum"
            )
        self._direction = direction or next(iter(found), "lower")
        if self._direction not in DIRECTIONS[:2] and direction is not None:
            raise ValueError(f"WeightedMetric: 'direction' must be 'higher' or 'lower', got {direction!r}")

    def compute(self, metric_values: Mapping[str, float] | None = None) -> float:
        """The weighted sum of all that was added, or of given results.

        metric_values: results by label, a KeyError where one is missing; None: those of the batches.
        """
        if metric_values is None:
            return self._weighted(self._direction)
        if missing := [label for label in self.weights if label not in metric_values]:
            raise KeyError(f"WeightedMetric: there is no result of {missing[0]!r}")
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

    def __init__(
        self, metric_name: Any, *, min_value: float | None = None, max_value: float | None = None,
        function: Callable[..., Any] | None = None, **parameters: Any,
    ) -> None:
        if min_value is None and max_value is None:
            raise ValueError("ThresholdMetric: give min_value, max_value or both")
        self.min_value, self.max_value = min_value, max_value
        self._suite = MetricSuite()
        self._suite._put(spec(metric_name, parameters, function), None, None, min_value, max_value)

    @property
    def metric_name(self) -> str:
        """Name of the metric."""
        return cast("str", self._suite._c.members()[0][2])

    def evaluate(
        self, *operands: Any, mask: Any = None, weights: Any = None, tokenizer: Tokenizer = None, **named: Any
    ) -> ThresholdResult:
        """The metric of these operands, and whether it passes.  operands, mask, weights, tokenizer: as those
        of the metric's function.
        """
        [group] = self._suite._alone(operands, named, mask, weights, tokenizer).report()["groups"]
        [result] = group["metrics"]
        threshold = self.min_value if self.max_value is None else self.max_value
        return ThresholdResult(
            value=result["value"], passed=result.get("passed", True), threshold=threshold, metric_name=result["metric"]
        )


# ---- suites ----


class MetricSuite(Together):
    """Groups of metrics over the same operands, with thresholds and weights; the files that `calibrax metrics
    compute --suite` takes.

    groups: metrics by group, each a name, a function, a State, or a dict as in a file: metric, label, low,
    high, weight, parameters.

    >>> from calibrax_c import metrics
    >>> huber = {"metric": "huber_loss", "high": 0.1, "parameters": {"delta": 0.1}}
    >>> suite = metrics.MetricSuite({"errors": ["mae", huber], "fit": ["r_squared"]})
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

    def add(
        self, group: str | None, name: str | None, metric: Any = None, *, low: float | None = None,
        high: float | None = None, weight: float = 1.0, function: Callable[..., Any] | None = None, **parameters: Any,
    ) -> Self:
        """Adds a metric to a group, before the first update.

        group: its group, None: none; name: its label, None: the metric's name; metric: default the one of
        that name; low, high: results that pass; weight: a number; function, parameters: as those of State.
        """
        self._put(spec(name if metric is None else metric, parameters, function), name, group, low, high, weight)
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
        for (group, label, *_), value in zip(self._c.members(), self._results(), strict=True):
            out.setdefault(group or "", {})[label] = value
        return out

    def compute_all(
        self, *operands: Any, mask: Any = None, weights: Any = None, tokenizer: Tokenizer = None, **named: Any
    ) -> dict[str, dict[str, Any]]:
        """The metrics of these operands alone, floats by group and label; arguments as those of
        MetricCollection.compute_functional.
        """
        results = self._alone(operands, named, mask, weights, tokenizer).compute()
        return {group: {label: plain(v) for label, v in r.items()} for group, r in results.items()}

    def report(self) -> dict[str, Any]:
        """All results with their thresholds, as `calibrax metrics compute --suite --json` has them: groups,
        updates, and passed, where there is a threshold.
        """
        return self._report()[0]

    def text(self) -> str:
        """The report as a table."""
        return self._report()[1].rstrip("\n")

    @property
    def passed(self) -> bool:
        """Whether all results pass."""
        return cast("bool", self.report().get("passed", True))

    def weighted(self, direction: str) -> float:
        """The sum of weight times result, as WeightedMetric.  direction: 'higher' or 'lower', which sums are better."""
        return self._weighted(direction)

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
        new._read_suite(text, what)
        return new

    def to_dict(self) -> dict[str, Any]:
        """What a file of the suite holds; a function cannot be written, a ValueError."""
        if self._functions:
            raise ValueError(
                f"the function of {next(iter(self._functions))[1]!r} cannot be written to a suite: "
                "pickle the suite, or leave the metric out"
            )
        groups: dict[str, list[Any]] = {}
        for group, label, name, numbers, low, high, weight in self._c.members():
            row = self._rows[group or "", label]
            given = zip(row["parameters"], numbers, strict=True)
            parameters = {p[0]: late._value(p, v) for p, v in given if v != p[3]}
            entry = {"label": label, "low": low, "high": high, "weight": weight, "parameters": parameters}
            defaults = {"label": name, "low": float("-inf"), "high": float("inf"), "weight": 1.0, "parameters": {}}
            entry = {"metric": name, **{k: v for k, v in entry.items() if v != defaults[k]}}
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
    def from_registry_domains(
        cls, *, tier: str = "pure_function", kinds: Iterable[str] = ("real", "real"), **conditions: Any
    ) -> Self:
        """A group a domain, of all metrics that select() finds and that take operands of these kinds;
        arguments as MetricCollection.from_registry.
        """
        new = cls()
        for name in names_of_kinds(select(tier=tier, **conditions), kinds):
            new.add(late._row(name)["domain"], name)
        return new

    def __repr__(self) -> str:
        counts = f"{counted(len(self), 'metric', 'metrics')}, {counted(self.updates, 'batch', 'batches')}"
        return f"MetricSuite({self.list_groups()!r}, {counts})"


__all__ = ["MetricCollection", "MetricSuite", "ThresholdMetric", "ThresholdResult", "WeightedMetric"]
