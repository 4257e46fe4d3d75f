"""Metrics of the user: register, register_loss, register_object, and check_axioms, which tries what they declare."""

from __future__ import annotations

import inspect
import keyword
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from . import _core, array  # type: ignore[attr-defined]
from ._metric_objects import fresh, placeholder, result_of
from ._metric_selection import WORDS, bits, late, one_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from calibrax_c.array import Array

_LEFT_OUT = (0, 0, 0)  # the shape of the array that replaces an operand, or weights, left out


class Parameter(NamedTuple):
    """A parameter of a registered metric: a default (bool, int, float, or one of choices), its bounds, and
    what it is, for documentation.
    """

    default: Any
    help: str = ""
    low: float = float("-inf")
    high: float = float("inf")
    choices: tuple[str, ...] = ()

    def row(self, name: str) -> tuple[str, str, int, float, float, float, str | None]:
        """What the library keeps of it."""
        if self.choices:
            if self.default not in self.choices:
                words = ", ".join(map(repr, self.choices))
                raise ValueError(f"register: the default of '{name}' must be one of {words}, got {self.default!r}")
            place = float(self.choices.index(self.default))
            return name, self.help, 3, place, 0.0, float(len(self.choices) - 1), "|".join(self.choices)
        if isinstance(self.default, bool):
            return name, self.help, 2, float(self.default), 0.0, 1.0, None
        if not isinstance(self.default, (int, float)):
            raise TypeError(
                f"register: the default of '{name}' must be a number, or one of choices, got {self.default!r}"
            )
        kind = int(isinstance(self.default, int))
        return name, self.help, kind, float(self.default), float(self.low), float(self.high), None


class Operand(NamedTuple):
    """An operand of a registered metric: its name, its kind (a word of metrics' pages), whether it may be left
    out, and which items it has a row for.

    items: 'first', those of the first operand; 'second', those of the second one, where the two are sets;
    'pairs', those of the first one along both axes; 'none', it is the same for all items; 'by kind', 'none' of
    optional operands and of class vectors, else those of its first axis.  Masks, intervals and classes leave
    out, repeat and separate these rows.
    """

    name: str
    kind: str
    optional: bool = False
    items: str = "by kind"

    def row(self) -> tuple[str, int, bool, int]:
        """What the library keeps of it."""
        kinds, items = WORDS["kind"], WORDS["items"]
        kind = one_of("register", f"the kind of {self.name!r}", self.kind, kinds)
        return self.name, kinds.index(kind), bool(self.optional), items.index(one_of("register", "items", self.items, items))


def _takes(function: Callable[..., Any], names: Iterable[str]) -> list[str]:
    """Which of the names a function takes as keywords."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return list(names)
    if any(p.kind is p.VAR_KEYWORD for p in found):
        return list(names)
    known = {p.name for p in found if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)}
    return [n for n in names if n in known]


def _check_names(metric: str, names: list[str]) -> None:
    """Names of operands and parameters, which become arguments of Python functions."""
    if keyword.iskeyword(metric):
        raise ValueError(f"register: {metric!r} is a keyword of Python: choose another name")
    for n in names:
        if keyword.iskeyword(n) or n in late._OPTIONS or n in ("function", "tokenizer"):
            what = "a keyword of Python" if keyword.iskeyword(n) else "an option of metric functions"
            raise ValueError(f"register: {metric!r} cannot have an argument {n!r}, which is {what}")


def _rule(
    metric: str, function: Callable[..., Any] | None, n: int, parameters: list[tuple[Any, ...]], weighted: bool = False
) -> Any:
    """A function of n arrays as the library calls it: with the weights, and the numbers of the parameters, behind them."""
    if function is None:
        return None
    rows = [(name, text, [*late._TYPES][kind], *rest) for name, text, kind, *rest in parameters]
    wanted = _takes(function, [p[0] for p in parameters])

    def body(*x: Any) -> list[Any]:
        given = [None if a.shape == _LEFT_OUT else a for a in x[: n + weighted]]
        values = {"weights": given.pop()} if weighted else {}
        while given and given[-1] is None:
            given.pop()
        numbers = x[-1].tolist() if rows else []
        values |= {p[0]: late._value(p, v) for p, v in zip(rows, numbers, strict=True) if p[0] in wanted}
        return [array.asarray(late._operand(function(*given, **values)), dtype="float64")]

    return _core._recording.rule(metric, body, n + weighted + bool(rows), 1, 0)


def register(
    name: str,
    *,
    items: Callable[..., Any] | None = None,
    parts: Callable[..., Any] | None = None,
    whole: Callable[..., Any] | None = None,
    merge: Callable[..., Any] | None = None,
    finish: Callable[..., Any] | None = None,
    operands: Sequence[Operand | tuple[Any, ...]] = (("predictions", "real"), ("targets", "real")),
    parameters: Mapping[str, Any] | None = None,
    direction: str = "lower",
    domain: str = "user",
    summary: str = "",
    formula: str = "",
    notes: str | None = None,
    source: str | None = None,
    example: str | None = None,
    shapes: str = "same",
    low: float = float("-inf"),
    high: float = float("inf"),
    axioms: Iterable[str] = (),
    invariances: Iterable[str] = (),
    tier: str = "pure_function",
    differentiable: bool = False,
    weighted: bool = False,
    scores: bool = False,
    apart: bool = False,
    features: str | None = None,
) -> Callable[..., Array]:
    """Makes a metric of functions of Arrays, which then has all that a built-in one has: masks and weights,
    states, derivatives.

    items(*operands) gives a number for each item, whose mean is the metric, or finish(mean); parts(*operands)
    an array that determines the result finish(parts), of batches joined by merge(a, b), or added;
    whole(*operands) the result.  operands: an Operand each, or its name and kind; an optional one that is left
    out is not passed, or None before others.  parameters have names and defaults, or a Parameter each; a
    function gets those of its keywords.  weighted: parts and whole take weights, an Array or None, in which
    what a mask leaves out is 0.  scores: the first operand may be scores (..., classes), the largest of which
    is the label.  apart: batches of a state may have some operands alone.  features: what a model maps, as
    "images, a batch of them, to features (n, d)": the metric then takes a function, which maps its operands
    of the kinds batch, features and token vectors; a function of another use, such as a kernel, is part of the
    code, which closes over it.  What is declared (low, high, axioms: symmetric, identity, positive,
    triangle, proper, or select's words for several; invariances: scale, common-scale, shift, rotation, order,
    sample-order, monotone, relabel, congruence, orthogonal, lorentz) check_axioms(name) tries.
    differentiable: the functions are array functions throughout, so that calls with large arrays can be
    compiled; others may read values, with NumPy for example.  Returns the function, which is also
    metrics.<name>.
    """
    words = {"name": name, "domain": domain, "summary": summary, "formula": formula}
    optional = {"notes": notes, "source": source, "example": example, "features": features}
    for what, text in (words | {k: v for k, v in optional.items() if v is not None}).items():
        if not isinstance(text, str):
            raise TypeError(f"register: '{what}' must be a string, got {text!r}")
    functions = {"items": items, "parts": parts, "whole": whole, "merge": merge, "finish": finish}
    if wrong := [f for f, code in functions.items() if code is not None and not callable(code)]:
        raise TypeError(f"register: {wrong[0]} of {name!r} must be a function, got {functions[wrong[0]]!r}")
    given = [(form, f) for form in ("items", "parts", "whole") if (f := functions[form])]
    if len(given) != 1:
        forms = " and ".join(form for form, _ in given) or "none"
        raise TypeError(f"register: {name!r} needs one of items, parts and whole, got {forms}")
    if hasattr(late, name) and "code" not in late._rows.get(name, ()):
        raise ValueError(
            f"register: there is a built-in metric {name!r}"
            if name in late._rows
            else f"register: {name!r} is a name of this module: choose another"
        )
    form, code = given[0]
    if weighted and (form == "items" or not _takes(code, ["weights"])):
        raise TypeError(
            f"register: {name!r} is weighted already: its weights are those of the mean of its items"
            if form == "items"
            else f"register: the function of {name!r} must take 'weights', an Array or None, where weighted is True"
        )
    if others := [o for o in operands if isinstance(o, str) or not 2 <= len(o) <= 4]:
        raise TypeError(f"register: {others[0]!r} must be an Operand, or a name and a kind")
    rows = [Operand(*o).row() for o in operands]
    _check_names(name, [o[0] for o in rows] + [*(parameters or ())])
    described = [(p if isinstance(p, Parameter) else Parameter(p)).row(n) for n, p in (parameters or {}).items()]
    if unused := [p[0] for p in described if not any(f and _takes(f, [p[0]]) for f in (code, merge, finish))]:
        raise TypeError(f"register: no function of {name!r} takes the parameter '{unused[0]}'")
    texts = {**words, "summary": summary or name, "notes": notes, "source": source, "example": example, "function": features}
    declared = {late._DIFFERENTIABLE: differentiable, late._WEIGHTED: weighted, late._SCORES: scores,
                late._FEATURES: features, late._APART: apart}
    rules = [_rule(name, f, n, described, w) for f, n, w in ((code, len(rows), weighted), (merge, 2, False), (finish, 1, False))]
    properties = [bits("register", "axiom", axioms), bits("register", "invariance", invariances)]
    flags = sum(bit for bit, yes in declared.items() if yes)
    kinds = direction, shapes, tier, low, high
    capsule = _core._metrics.define(texts, rows, described, form, *rules, *kinds, *properties, flags)
    return cast("Callable[..., Array]", late._add({**_core._metrics.row(capsule), "code": capsule}))


def register_loss(name: str, loss: Callable[..., Any], **described: Any) -> Callable[..., Array]:
    """Makes a metric of a learning loss, loss(embeddings, labels): a function of Arrays, or an object that is
    called with them.

    embeddings (n, d) and labels (n) are Arrays, the result is a scalar.  The loss then has all that a
    built-in one has; described: what register takes beside the functions (parameters, summary, notes, low,
    high, invariances ..., and operands where there are more).
    """
    known = {"domain": "learning", "shapes": "length", "tier": "metric_learning", "differentiable": True}
    operands = (("embeddings", "points"), ("labels", "labels"))
    return register(name, whole=loss, **{"operands": operands, **known, **described})


def check_axioms(
    metric: str | Callable[..., Any],
    *,
    draws: int = 20,
    seed: int = 0,
    function: Callable[..., Any] | None = None,
    **parameters: float | str,
) -> None:
    """Tries on random operands what a metric declares: its range, its axioms, its invariances; of built-in
    and of registered ones.

    Operands are drawn by their kinds, draws times for each property.  Raises ValueError, with the numbers,
    where one does not hold; NotImplementedError where all that can be tried holds, and proper was not tried
    (of ensembles and intervals).
    """
    row = late._row(metric)
    numbers = late._numbers(row, parameters)
    rule = function and _core._recording.rule(row["name"], lambda x: [late._operand(function(x))], 1, 1, 0)
    _core._metrics.check(row.get("code", row["name"]), numbers, rule, draws, seed)


def register_object(
    metric: Any,
    *,
    name: str | None = None,
    operands: Sequence[Operand | tuple[Any, ...]] = (("predictions", "real"), ("targets", "real")),
    **described: Any,
) -> Callable[..., Array]:
    """Makes a metric of an object of one of the protocols of the Python package, which then has all that a
    built-in one has (register).

    MetricProtocol: name, higher_is_better, validate_inputs(*operands), compute(*operands).
    StatefulMetricProtocol: name, reset(), update(**operands by name), compute() -> dict with one result, or
    one under the name; a State, and a collection, has a copy of the object, which gets its batches one after
    another, and joins another one by the object's merge(other).  MetricLearningProtocol: called with
    embeddings and labels.  name: needed where the object has none; described: what register takes beside the
    functions (notes, low, axioms ...).
    """
    name = name or getattr(metric, "name", None)
    if not isinstance(name, str):
        raise TypeError(f"register_object: {metric!r} has no name: give one")
    if hasattr(metric, "update") and hasattr(metric, "compute"):
        names = [o[0] for o in operands]

        def whole(*x: Any) -> Any:
            own = fresh(name, metric)
            own.update(**{n: a for n, a in zip(names, x, strict=False) if a is not None})
            return result_of(name, own.compute())

        described = {"direction": "info", **described, "operands": operands}
        register(name, **described, **placeholder(name))
        streamed = late._rows[name]["code"]
        function = register(name, whole=whole, **described)
        late._rows[name].update(object=metric, streamed=streamed)  # streamed: in collections
        return function
    if hasattr(metric, "compute"):
        if not hasattr(metric, "higher_is_better") and "direction" not in described:
            raise TypeError(
                f"register_object: {name!r} has no higher_is_better: give direction='higher', 'lower' or 'info'"
            )

        def checked(*x: Any) -> Any:
            if hasattr(metric, "validate_inputs"):
                metric.validate_inputs(*x)
            return metric.compute(*x)

        if "direction" not in described:
            described["direction"] = "higher" if metric.higher_is_better else "lower"
        return register(name, whole=checked, operands=operands, **described)
    if callable(metric):
        return register_loss(name, metric, **described)
    raise TypeError(f"register_object: {metric!r} has neither compute() nor a call")


__all__ = ["Operand", "Parameter", "check_axioms", "register", "register_loss", "register_object"]
