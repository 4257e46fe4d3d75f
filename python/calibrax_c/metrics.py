"""Metric functions: numbers that compare predictions with targets, distributions, sets of points.

Each function takes arrays of any package (calibrax_c, NumPy, JAX, torch: by DLPack or the buffer protocol),
or lists of numbers, and gives an Array: a scalar unless its documentation says otherwise.  Labels may be
strings, which are numbered in alphabetical order, those of all operands together; metrics that count class 1
alone, as binary averages do, refuse them.  Metrics of texts also take strings, which they split at white space or by a tokenizer, a function from a string to its words,
and lists of words.  They can be traced, differentiated, batched and compiled with the transforms of
calibrax_c, except for those that read values (their documentation marks them).  Gradients do not flow to other
packages: a tensor of torch that requires them is read as a constant.
"""

from __future__ import annotations

import copy
import difflib
import inspect
from typing import TYPE_CHECKING, Any

from . import _core, array  # type: ignore[attr-defined]
from ._metric_objects import ObjectState, counted, fresh
from ._metric_operands import of_numbers
from ._metric_operands import operand as _operand
from ._onnx import OnnxModel
from ._video import vmaf_score

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_TYPES = {"float": float, "int": int, "bool": bool, "choice": str}
_OPTIONS = {"mask": None, "weights": None, "reduction": "mean", "axis": None, "keepdims": False}
_DIFFERENTIABLE, _WEIGHTED, _SCORES, _FEATURES, _APART, _OF_CLASS_1 = 1, 4, 8, 64, 128, 512
_OF_FEATURES = ("batch", "features", "token vectors")
_TEXTUAL = ("tokens", "texts")


class Row(dict[str, Any]):
    """A row of the table: what a metric is.  A copy is the row itself, and a pickle names it."""

    def __copy__(self) -> Row:
        return self

    def __deepcopy__(self, _memo: dict[int, Any]) -> Row:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _row, (self["name"],)


_rows: dict[str, Row] = {}


def _number(name: str, row: tuple[Any, ...], value: Any) -> float | None:
    """The value of a parameter as the number that the library takes."""
    parameter, _, kind, *_, words = row
    if value is None:
        return None
    if kind == "choice":
        choices = words.split("|")
        if value not in choices:
            raise ValueError(f"{name}: '{parameter}' must be one of {', '.join(map(repr, choices))}, got {value!r}")
        return float(choices.index(value))
    try:
        number = float("" if isinstance(value, str) else value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{name}: '{parameter}' must be a number, got {value!r}") from None
    if number != number:
        raise ValueError(f"{name}: '{parameter}' must be a number, got {value!r}: leave it out for its default")
    return number


def _numbers(row: dict[str, Any], given: dict[str, Any]) -> list[float | None]:
    """Values of all parameters, of those that are given by name."""
    known = {p[0]: p for p in row["parameters"]}
    if unknown := sorted(given.keys() - known.keys()):
        there = ", ".join(map(repr, known)) or "none"
        raise TypeError(f"{row['name']}: there is no parameter '{unknown[0]}': there are {there}")
    return [_number(row["name"], p, given.get(n)) for n, p in known.items()]


def _value(row: tuple[Any, ...], number: float) -> Any:
    """The value of a parameter from its number."""
    _, _, kind, *_, words = row
    return words.split("|")[int(number)] if kind == "choice" else _TYPES[kind](number)


def _default(row: tuple[Any, ...]) -> Any:
    return _value(row, row[3])


def _takes_texts(row: dict[str, Any]) -> bool:
    return any(o[1] in _TEXTUAL for o in row["operands"])


def _signature(row: dict[str, Any]) -> inspect.Signature:
    P = inspect.Parameter
    parameters = [
        P(n, P.POSITIONAL_OR_KEYWORD, default=None if optional else P.empty) for n, _, _, optional in row["operands"]
    ]
    if row["function"]:
        parameters.append(P("function", P.KEYWORD_ONLY, default=None if row["flags"] & _FEATURES else P.empty))
    parameters += [P(p[0], P.KEYWORD_ONLY, default=_default(p)) for p in row["parameters"]]
    options = [*_OPTIONS] if row["form"] == "items" else ["mask", "weights"] if row["flags"] & _WEIGHTED else ["mask"]
    parameters += [P(o, P.KEYWORD_ONLY, default=_OPTIONS[o]) for o in options]
    if _takes_texts(row):
        parameters.append(P("tokenizer", P.KEYWORD_ONLY, default=None))
    return inspect.Signature(parameters)


def _listed(o: Any) -> bool:
    return isinstance(o, (list, tuple))


def _wordy(o: Any, kind: str) -> bool:
    """True of a text, or texts, that are not numbered yet."""
    if isinstance(o, str):
        return True
    return _listed(o) and all(
        isinstance(x, str) or (kind == "texts" and _listed(x) and all(isinstance(w, str) for w in x)) for x in o
    )


def _are_words(o: Any) -> bool:
    """True of lists of strings, and of arrays of them by NumPy."""
    listed = _listed(o) and len(o) > 0 and all(isinstance(x, str) for x in o)
    return listed or getattr(getattr(o, "dtype", None), "kind", "") == "U"


def _labelled(row: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The arguments with labels that are strings as their places among all of them, sorted."""
    labels = {n: given[n] for n, kind, _, _ in row["operands"] if kind == "labels" and given.get(n) is not None}
    of_words = {n: _are_words(o) for n, o in labels.items()}
    if not any(of_words.values()):
        return given
    if numbers := [n for n, words in of_words.items() if not words]:
        raise TypeError(f"{row['name']}: '{numbers[0]}' must be strings as the other labels are, got {labels[numbers[0]]!r}")
    if deep := [n for n, o in labels.items() if getattr(o, "ndim", 1) != 1]:
        raise TypeError(f"{row['name']}: '{deep[0]}' must be strings along one axis, got the shape {labels[deep[0]].shape}")
    columns = {n: [str(x) for x in o] for n, o in labels.items()}
    places = {word: i for i, word in enumerate(sorted({word for column in columns.values() for word in column}))}
    averages = [p for p in row["parameters"] if p[0] == "average"]
    if row["flags"] & _OF_CLASS_1 and all((given.get("average") or _default(p)) == "binary" for p in averages):
        some = ", ".join([*map(repr, [*places][:3]), *["..."][: len(places) > 3]])
        other = ", or give another average than 'binary'" if averages else ""
        first = next(iter(labels))
        raise ValueError(
            f"{row['name']}: '{first}' are words, {some}, none of which is class 1: compare them with the one to count, as in "
            f"[x == {max(places)!r} for x in {first}]{other}"
        )
    return {**given, **{n: [places[word] for word in column] for n, column in columns.items()}}


def _numbered(row: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The arguments with texts as token numbers of one vocabulary, and labels as numbers."""
    given = _labelled(row, given)
    kinds = {n: kind for n, kind, _, _ in row["operands"] if kind in _TEXTUAL and given.get(n) is not None}
    tokenizer = given.get("tokenizer")
    if not any(_wordy(given[n], kind) for n, kind in kinds.items()):
        return given
    texts: list[Any] = []
    ends: dict[str, int] = {}
    for n, kind in kinds.items():
        o = given[n]
        if not _wordy(o, kind):
            raise TypeError(f"{row['name']}: '{n}' must be texts as the other operands are, got {o!r}")
        several = kind == "texts" and not isinstance(o, str)
        if several and not o:
            raise ValueError(f"{row['name']}: '{n}' must have at least one text, got {o!r}")
        texts += [t if isinstance(t, str) else list(t) for t in (o if several else [o])]
        ends[n] = len(texts)
    if tokenizer:
        texts = [list(tokenizer(t)) if isinstance(t, str) else t for t in texts]
    arrays = _core._metrics.tokens(texts)
    starts = [0, *ends.values()]
    rows = {n: arrays[starts[i] : end] for i, (n, end) in enumerate(ends.items())}
    return {**given, **{n: _core._metrics.texts(r) if kinds[n] == "texts" else r[0] for n, r in rows.items()}}


def _numbered_batch(
    rows: list[dict[str, Any]], operands: list[Any], tokenizer: Callable[[str], Iterable[str]] | None,
    alone: bool = False,
) -> list[Any]:
    """The operands of one of several batches in their order, with texts as token numbers.

    Words of each batch are numbered for themselves, which rows, the metrics, must allow: items and the
    built-in parts do, and all do of a batch that is computed alone.
    """
    row: dict[str, Any] = next(filter(_takes_texts, rows), {"operands": ()})
    names = [o[0] for o in row["operands"]]
    numbered = _numbered(row, {**dict(zip(names, operands, strict=False)), "tokenizer": tokenizer})
    out = [numbered[n] for n, _ in zip(names, operands, strict=False)] + operands[len(names) :]
    if all(a is b for a, b in zip(out, operands, strict=True)):
        return operands
    for r in rows:
        if not _takes_texts(r):
            raise TypeError(f"{r['name']}: takes numbers, not texts")
        if not alone and (r["form"] == "whole" or (r["form"] == "parts" and "code" in r)):
            raise TypeError(
                f"{r['name']}: keeps tokens of all batches: give tokens, integers by one vocabulary, in place of texts"
            )
    return out


def _given_operands(row: dict[str, Any], operands: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """Operands by name, of those in order and those by name."""
    names = [o[0] for o in row["operands"]]
    if len(operands) > len(names):
        raise TypeError(f"{row['name']} takes {counted(len(names), 'operand', 'operands')}, got {len(operands)}")
    if wrong := sorted(named.keys() - set(names[len(operands) :])):
        raise TypeError(f"{row['name']}: there is no operand '{wrong[0]}', or it is given twice")
    given = {**dict(zip(names, operands, strict=False)), **named}
    return _prepared(row, given if row["flags"] & _APART else _present(row, given))


def _present(row: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The arguments, of which none is None that cannot be left out."""
    for name, _, _, optional in row["operands"]:
        if not optional and name in given and given[name] is None:
            raise TypeError(f"{row['name']}: '{name}' must not be None: it cannot be left out")
    return given


def _in_order(row: dict[str, Any], given: dict[str, Any], made: bool = True) -> list[Any]:
    """Operands in their order, Arrays if made is true; those left out at the end are left out here, unless
    batches have them apart.
    """
    operands = [given.get(o[0]) for o in row["operands"]]
    while operands and operands[-1] is None and not row["flags"] & _APART:
        operands.pop()
    return [_operand(o, row["operands"][i][0], row["name"]) for i, o in enumerate(operands)] if made else operands


def _recorded(function: Any, like: Any) -> Any:
    from ._tracing import Traced, flatten

    like = array.asarray(like, dtype=array.float64)
    _, structure = flatten(((like,), {}))
    return Traced(function, [like], structure).fn


class _Features:
    """What a user's function makes of the operands of a metric: of each operand a list of arrays, one a layer."""

    def __init__(self, row: dict[str, Any], given: dict[str, Any], function: Callable[..., Any]) -> None:
        self.row, self.given = row, given
        self.layers: dict[str, list[Any]] = {}
        for name, kind, _, _ in row["operands"]:
            if kind in _OF_FEATURES and given.get(name) is not None:
                result = function(given[name])
                self.layers[name] = [
                    self._fixed(x) for x in (result if isinstance(result, (list, tuple)) else [result])
                ]
        counts = sorted({len(x) for x in self.layers.values()})
        self.count = counts[0] if counts else 1
        if len(counts) > 1 or self.count == 0 or (self.count > 1 and row["name"] != "lpips"):
            wanted = "as many arrays for all operands" if row["name"] == "lpips" else "one array"
            returned = " and ".join(map(str, counts))
            raise ValueError(f"{row['name']}: the function must return {wanted}, it returned {returned}")

    def _fixed(self, x: Any) -> Any:
        from . import stop_gradient

        x = _operand(x)
        return x if self.given.get("gradient") else stop_gradient(x)

    def calls(self) -> list[dict[str, Any]]:
        """The arguments of one call for each layer, whose results are summed."""
        linear, at = self.given.get("linear"), 0
        out = []
        for k in range(self.count):
            call = {**self.given, **{name: layers[k] for name, layers in self.layers.items()}}
            if linear is not None and self.count > 1:
                channels = next(iter(self.layers.values()))[k].shape[1]
                call["linear"] = linear[at : at + channels]
                at += channels
            out.append(call)
        if linear is not None and self.count > 1 and at != linear.shape[0]:
            raise ValueError(
                f"{self.row['name']}: 'linear' must have a weight for each of {at} channels, it has {linear.shape[0]}"
            )
        return out

    def pending(self) -> Iterator[list[Any]]:
        """The layers of one operand after another."""
        return iter([[array.asarray(x, dtype="float64") for x in layers] for layers in self.layers.values()])

    def function(self) -> Any:
        """A function of the library that gives them."""
        pending = self.pending()
        return _core._recording.rule(self.row["name"], lambda _: next(pending), 1, self.count, 0)


def _prepared(row: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The arguments with lists of numbers that functions of the user map as Arrays, and the weights of channels
    as one Array: they may be a list of arrays, one a layer.
    """
    linear = given.get("linear")
    if row["flags"] & _FEATURES:
        mapped = [o[0] for o in row["operands"] if o[1] in _OF_FEATURES and of_numbers(given.get(o[0]))]
        given = {**given, **{n: array.asarray(given[n]) for n in mapped}}
    if row["name"] != "lpips" or linear is None:
        return given
    if _listed(linear) and not all(isinstance(x, (int, float)) for x in linear):
        linear = array.concat([array.reshape(array.asarray(x, dtype="float64"), (-1,)) for x in linear])
    return {**given, "linear": array.asarray(linear, dtype="float64")}


def _make(row: dict[str, Any]) -> Callable[..., Any]:
    name, signature = row["name"], _signature(row)
    operands = [o[0] for o in row["operands"]]

    def metric(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as e:
            raise TypeError(f"{name}: {e}") from None
        given = _prepared(row, _numbered(row, _present(row, bound.arguments)))
        if row["flags"] & _FEATURES and (features := given.pop("function", None)) is not None:
            first, *others = [call(given) for given in _Features(row, given, features).calls()]
            return sum(others, start=first)
        return call(given)

    def call(given: dict[str, Any]) -> Any:
        arrays = [_operand(given.get(o), o, name) for o in operands]
        while arrays and arrays[-1] is None:
            arrays.pop()
        numbers = [_number(name, p, given.get(p[0])) for p in row["parameters"]]
        function = _recorded(given["function"], arrays[0]) if row["function"] and not row["flags"] & _FEATURES else None
        mask, weights = (_operand(given.get(o), o, name) for o in ("mask", "weights"))
        options = given.get("reduction", "mean"), given.get("axis"), given.get("keepdims", False)
        return _core._metrics.apply(row.get("code", name), arrays, numbers, mask, weights, *options, function)

    metric.__name__ = metric.__qualname__ = name
    metric.__module__ = __name__
    metric.__doc__ = _documentation(row)
    metric.__signature__ = signature  # type: ignore[attr-defined]
    return metric


def _documentation(row: dict[str, Any]) -> str:
    lines = [f"{row['summary']}.", "", f"    {row['formula']}", ""]
    if row["notes"]:
        lines += [row["notes"], ""]
    lines += [f"{name}: {text}{', or left out' if optional else ''}" for name, _, text, optional in row["operands"]]
    if row["function"]:
        left_out = "; without it operands are features" if row["flags"] & _FEATURES else ""
        lines.append(f"function: maps {row['function']}{left_out}")
    lines += [f"{p[0]}: {p[1]} (default {_default(p)!r})" for p in row["parameters"]]
    if _takes_texts(row):
        lines.append(
            "tokenizer: words of a string, in place of a split at white space "
            "(strings, and lists of words, are numbered together)"
        )
    return "\n".join(lines)


def _rule(row: dict[str, Any], function: Callable[..., Any] | None) -> Any:
    """A user's function as the library keeps it; of features a mark: batches come with what it made of them."""
    if function is None:
        return None
    if not row["function"]:
        raise TypeError(f"{row['name']}: a state takes no function")
    made = (lambda x: [x]) if row["flags"] & _FEATURES else (lambda x: [_operand(function(x))])
    return _core._recording.rule(row["name"], made, 1, 1, 0)


class State:
    """A metric over batches and shards.

    update(*operands, mask=None, weights=None) adds a batch, merge(other) what another state has seen,
    compute() is the metric of all that was added (a ValueError where masks and weights leave nothing of it,
    as of the function), reset() begins again.  A state keeps sums where the metric
    allows, else all operands: its page in the documentation shows which; the streaming metrics keep sketches,
    of which error bounds the error.  Batches and shards may come in any order.  function is that of the
    metric; of metrics of features it maps a batch of operands, and the state keeps features, or sums.
    Operands may be given by name; texts, too, with a tokenizer as metrics of texts take it; real and
    generated images, to some metrics, in batches of their own.  to_bytes() is for shards of other processes
    and machines, which from_bytes() reads; a state can be pickled, too. Neither holds the function:
    from_bytes(data, features=function) takes it again.  One call uses a state at a time: a second thread gets
    a RuntimeError, and so has the function that the first one calls.
    """

    def __init__(
        self, metric: str | Callable[..., Any], *, function: Callable[..., Any] | None = None, **parameters: Any
    ) -> None:
        row = _row(metric)
        numbers, rule = _numbers(row, parameters), _rule(row, function)
        if "object" in row:
            self._begin(row, ObjectState(row, fresh(row["name"], row["object"])))
        else:
            self._begin(row, _core._metrics.State(row.get("code", row["name"]), numbers, rule), function)

    def _begin(self, row: Row, state: Any, function: Callable[..., Any] | None = None) -> State:
        self._given = function
        self._function = function if row["flags"] & _FEATURES else None  # which maps operands here
        self._row = row
        self._state = state
        return self

    @classmethod
    def from_bytes(cls, data: bytes, *, features: Callable[..., Any] | None = None) -> State:
        """The state that to_bytes() wrote, in any process that has the metric.

        features: the function of a state that was made with one.  Without it the state is merged and
        computed, and not updated.
        """
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"State.from_bytes: data must be bytes, got {data!r}")
        data = bytes(data)
        if data[:8] != b"cbxstate":
            raise ValueError("these bytes are not a state of a metric")
        name = data[24 : 24 + min(int.from_bytes(data[16:24], "little"), 128)].decode(errors="replace")
        if name not in _rows:
            raise ValueError(f"these bytes are a state of {name!r}, which is not a metric here: register it first")
        return cls._of_bytes(_rows[name], data, features)

    @classmethod
    def _of_bytes(cls, row: Row, data: bytes, features: Callable[..., Any] | None = None) -> State:
        state = _core._metrics.unpack(row.get("code", row["name"]), data, _rule(row, features))
        return cls.__new__(cls)._begin(row, state, features)

    def to_bytes(self) -> bytes:
        """All that the state keeps."""
        return self._state.to_bytes()

    def __reduce__(self) -> tuple[Any, ...]:
        if isinstance(self._state, ObjectState):
            return State._of_object, (self._row, copy.deepcopy(self._state))
        return State._of_bytes, (self._row, self.to_bytes())

    @classmethod
    def _of_object(cls, row: Row, state: ObjectState) -> State:
        return cls.__new__(cls)._begin(row, state)

    def update(
        self, *operands: Any, mask: Any = None, weights: Any = None,
        tokenizer: Callable[[str], Iterable[str]] | None = None, **named: Any,
    ) -> State:
        row, function = self._row, None
        given = _given_operands(row, operands, named)
        if self._function is not None:
            features = _Features(row, given, self._function)
            given.update({name: layers[0] for name, layers in features.layers.items()})
            function = features.function()
        arrays = _in_order(row, given, made=False)
        if function is None:
            arrays = _numbered_batch([row], arrays, tokenizer)
        names = [o[0] for o in row["operands"]]
        made = [_operand(x, n, row["name"]) for n, x in zip(names, arrays, strict=False)]
        options = [_operand(x, n, row["name"]) for n, x in (("mask", mask), ("weights", weights))]
        self._state.update(made, *options, function)
        return self

    def merge(self, other: State) -> State:
        if not isinstance(other, State):
            raise TypeError(f"{self._row['name']}: {other!r} is not a State")
        self._state.merge(other._state)
        return self

    def compute(self) -> Any:
        return self._state.compute()

    def reset(self) -> State:
        self._state.reset()
        return self

    @property
    def updates(self) -> int:
        """Number of batches, those of merged states included."""
        return self._state.updates()

    @property
    def error(self) -> float:
        """How far the result may be from that of all data: 0 but for the streaming metrics, whose
        descriptions state what it bounds.
        """
        return self._state.error()

    def __repr__(self) -> str:
        return f"State({self._row['name']!r}, {counted(self.updates, 'batch', 'batches')})"


def _row(metric: Any) -> Row:
    """The row of a metric that is given by its name or as its function."""
    if callable(metric) and globals().get(getattr(metric, "__name__", "")) is metric:
        metric = metric.__name__
    if not isinstance(metric, str) or (metric not in _rows and metric in globals()):
        raise TypeError(
            f"{metric!r} is not a metric: give a name or a function of calibrax_c.metrics, "
            "or a State where several are taken; metrics.register makes one of a function"
        )
    if metric not in _rows:
        near = difflib.get_close_matches(metric, _rows, 1)
        raise ValueError(f"there is no metric {metric!r}" + (f": did you mean {near[0]!r}?" if near else ""))
    return _rows[metric]


def _add(row: dict[str, Any]) -> Callable[..., Any]:
    """Adds a metric to the table and to this module."""
    _rows[row["name"]] = Row(row)
    globals()[row["name"]] = _make(_rows[row["name"]])
    return globals()[row["name"]]


for _built_in in _core._metrics.table():
    _add(_built_in)

from . import _composition, _metric_register, _metric_selection, _metric_wrappers  # noqa: E402
from ._composition import *  # noqa: E402, F403
from ._metric_register import *  # noqa: E402, F403
from ._metric_selection import *  # noqa: E402, F403
from ._metric_wrappers import *  # noqa: E402, F403

__all__ = [
    *_composition.__all__,
    *_metric_register.__all__,
    *_metric_selection.__all__,
    *_metric_wrappers.__all__,
    "OnnxModel",
    "State",
    "vmaf_score",
    *sorted(_rows),
]  # noqa: PLE0604


def __dir__() -> list[str]:
    return sorted({*__all__, *_rows})
