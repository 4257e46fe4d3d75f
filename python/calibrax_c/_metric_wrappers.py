"""Metrics of classes and of resamples, and trackers of values over epochs.

What they compute is the library's (calibrax/metrics/bootstrap.h). A metric is given as _metric_selection.py describes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from . import _core, array  # type: ignore[attr-defined]
from ._metric_selection import DIRECTIONS, code_of, late, operand_arrays, spec, values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from calibrax_c.statistics import Interval

    from ._metric_members import Tokenizer


class ClasswiseWrapper:
    """A metric of the items of each class.

    metric: whose result is one number; class_names: names of classes 0, 1, ...; num_classes: 0: one more than
    the largest label; parameters: those of the metric.

    >>> from calibrax_c import metrics
    >>> metrics.ClasswiseWrapper("mae", class_names=["cat", "dog"]).compute([1.0, 2.0, 4.0], [1.0, 3.0, 1.0], [0, 0, 1])
    {'cat': 0.5, 'dog': 3.0, 'mean': 1.75}
    """

    def __init__(
        self, metric: Any, *, class_names: Iterable[str] | None = None, num_classes: int = 0, **parameters: Any
    ) -> None:
        self._row, self._numbers, function = spec(metric, parameters)
        self.class_names = None if class_names is None else list(class_names)
        names = self.class_names or []
        if "mean" in names or len(set(names)) < len(names):
            raise ValueError(
                f"ClasswiseWrapper: names of classes must differ from each other and from 'mean', got {names}"
            )
        if names and num_classes not in (0, len(names)):
            raise ValueError(
                f"ClasswiseWrapper: there are {len(names)} names of classes, and num_classes is {num_classes}"
            )
        if function is not None:
            raise TypeError(
                f"ClasswiseWrapper: {self._row['name']} with a function has no values of classes: give features"
            )
        self.num_classes = len(names) or num_classes

    def compute(self, *operands: Any, labels: Any = None, mask: Any = None, weights: Any = None) -> dict[str, float]:
        """The metric by class, and the mean of the classes, 'mean'.  Classes that no item has, or none that
        counts, are left out.

        operands: of the metric; labels: the class of each item, by name or behind the operands; mask,
        weights: a number an item.  A negative label, or one that is not below the number of classes, is a
        ValueError that names its place.
        """
        if labels is None:
            *operands, labels = operands or (None,)  # type: ignore[assignment]
        if labels is None:
            raise TypeError("ClasswiseWrapper: labels are missing: they follow the operands")
        arrays, labels = operand_arrays(self._row, tuple(operands), self._numbers), late._operand(labels)
        factors = [late._operand(mask), late._operand(weights)]
        if labels.ndim != 1:
            raise ValueError(
                f"ClasswiseWrapper: labels must have one axis, a number an item: their shape is {labels.shape}"
            )
        given = code_of(self._row), arrays, self._numbers, labels, self.num_classes, *factors
        values, mean = _core._metrics.classwise(*given)
        counted = _counted(labels, factors) if mean != mean else set()  # a class with items may be NaN, too
        present = {
            (self.class_names[k] if self.class_names else str(k)): v
            for k, v in enumerate(values.tolist())
            if v == v or k in counted
        }
        return {**present, "mean": mean}


def _counted(labels: Any, factors: list[Any]) -> set[int]:
    """Labels of items whose mask and weight are not 0."""
    counts = [True] * labels.size
    for x in factors:
        if x is not None:
            rows = array.reshape(array.astype(x, array.float64), (labels.size, -1))
            counts = [a and b > 0 for a, b in zip(counts, array.max(rows, axis=1).tolist(), strict=True)]
    return {label for label, a in zip(labels.tolist(), counts, strict=True) if a}


class BootstrapMetric:
    """A metric with its bootstrap interval: items are drawn with replacement, those of all operands together.

    metric: whose result is one number; num_resamples: at least 1; confidence: level of the interval;
    parameters: those of the metric.

    >>> from calibrax_c import metrics
    >>> interval = metrics.BootstrapMetric("mae", num_resamples=200).compute([1.0, 2.0, 4.0, 3.0], [1.0, 3.0, 1.0, 3.5])
    >>> interval.value, interval.lower <= interval.value <= interval.upper
    (1.125, True)
    """

    def __init__(self, metric: Any, *, num_resamples: int = 1000, confidence: float = 0.95, **parameters: Any) -> None:
        self._row, self._numbers, function = spec(metric, parameters)
        if not 0 < confidence < 1:
            raise ValueError(f"BootstrapMetric: 'confidence' must be between 0 and 1, got {confidence!r}")
        if num_resamples < 1:
            raise ValueError(f"BootstrapMetric: 'num_resamples' must be at least 1, got {num_resamples!r}")
        if function is not None:
            raise TypeError(f"BootstrapMetric: {self._row['name']} with a function has no interval: give features")
        self.num_resamples, self.confidence = num_resamples, confidence

    def compute(
        self, *operands: Any, seed: int = 0, mask: Any = None, weights: Any = None, tokenizer: Tokenizer = None
    ) -> Interval:
        """The metric and its interval: BCa up to 500 items, percentiles above; the same for the same seed.

        operands, mask, weights, tokenizer: as those of the metric's function; seed: of the draws.  A resample
        whose result is not finite is a ValueError.
        """
        given = code_of(self._row), operand_arrays(self._row, operands, self._numbers, tokenizer), self._numbers
        draws, factors = (self.confidence, self.num_resamples, seed), (late._operand(mask), late._operand(weights))
        return cast("Interval", _core._metrics.bootstrap(*given, *draws, *factors))


def _function(metric: Any, parameters: dict[str, Any]) -> tuple[Callable[..., Any], str]:
    """What gives a value of operands, and the better direction; any function of Python, too."""
    if callable(metric) and not (
        getattr(metric, "__name__", None) in late._rows and getattr(late, metric.__name__) is metric
    ):
        if parameters:
            raise TypeError(f"{metric!r} is not a metric, so that it takes no parameters here: use functools.partial")
        return metric, "info"
    row, numbers, function = spec(metric, parameters)
    given = values(row, numbers)
    if function is not None:
        given["function"] = function

    def call(*operands: Any, **options: Any) -> Any:
        return getattr(late, row["name"])(*operands, **{**given, **options})

    return call, row["direction"]


class MetricTracker:
    """The values of a metric over epochs, and the best one.  NaN is never the best.

    metric: a metric, or a function that gives a number; direction: 'lower' or 'higher', default that of the
    metric, 'lower' of a function; parameters: those of the metric.

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
        if direction not in DIRECTIONS[:2]:
            why = ": no result of this metric is better than another" if direction == "info" else f", got {direction!r}"
            raise ValueError(f"MetricTracker: 'direction' must be 'higher' or 'lower'{why}")
        self.direction = direction
        self.reset()

    def increment(self, *operands: Any, **options: Any) -> float:
        """Computes the metric and adds its value, which is returned.  operands, options: as those of the
        metric's function.
        """
        value = float(self._call(*operands, **options))
        self._add(value)
        return value

    def _add(self, value: float) -> None:
        self._track.put(value)
        self._history.append(value)

    def best(self) -> float:
        """The best value; a ValueError before the first number."""
        return cast("float", self._best()["best"])

    @property
    def best_epoch(self) -> int:
        """The epoch of the best value, from 0 on; of ties the first."""
        return cast("int", self._best()["best_step"])

    def _best(self) -> dict[str, Any]:
        values: dict[str, Any] = self._track.values()
        if values["best"] != values["best"]:
            raise ValueError("MetricTracker: there is no best value yet: call increment()")
        return values

    @property
    def history(self) -> tuple[float, ...]:
        """All values."""
        return tuple(self._history)

    def reset(self) -> None:
        """Forgets all values."""
        self._track: Any = _core._metrics.Track(self.direction)
        self._history: list[float] = []

    def __getstate__(self) -> tuple[Any, ...]:
        return self._given, self._history

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        (metric, direction, parameters), history = state
        self.__init__(metric, direction=direction, **parameters)  # type: ignore[misc]
        for value in history:
            self._add(value)


class MinMaxTracker:
    """The current, the smallest and the largest value of a metric; None before the first.  NaN is neither
    smallest nor largest.

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
        """Computes the metric and adds its value, which is returned.  operands, options: as those of the
        metric's function.
        """
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


__all__ = ["BootstrapMetric", "ClasswiseWrapper", "MetricTracker", "MinMaxMetric", "MinMaxTracker"]
