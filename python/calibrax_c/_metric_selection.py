"""What a metric is given by, selections of metrics, and plug-ins.

A metric is given by its name, as a function of calibrax_c.metrics, or as an empty State, which has parameters
and a function; those that register() made and plug-ins included.
"""

from __future__ import annotations

import difflib
import os
from typing import TYPE_CHECKING, Any, cast

from . import _core  # type: ignore[attr-defined]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class _Late:
    """calibrax_c.metrics, which imports this module: the two can be imported in any order."""

    def __getattr__(self, name: str) -> Any:
        from . import metrics

        return getattr(metrics, name)


late: Any = _Late()
WORDS: dict[str, list[str]] = _core._metrics.words()
DIRECTIONS = ("higher", "lower", "info")
_TOGETHER = {  # words for several axioms
    "metric": ["symmetric", "identity", "positive", "triangle"],
    "pseudometric": ["symmetric", "identity", "triangle"],
    "divergence": ["identity", "positive"],
}


def codes_of_users() -> list[Any]:
    """The rows that are not in the library's table."""
    return [row["code"] for row in late._rows.values() if "code" in row]


def spec(
    metric: Any, parameters: dict[str, Any], function: Callable[..., Any] | None = None
) -> tuple[dict[str, Any], list[float | None], Any]:
    """The row of a metric, the numbers of its parameters, and the user's function."""
    if isinstance(metric, late.State):
        if parameters or function:
            raise TypeError(f"{metric!r} has its parameters and its function already: give them to State")
        if metric.updates:
            raise ValueError(f"{metric!r} has batches, which only states of its own kind can join: give an empty one")
        row = metric._row
        return row, metric._state.parameters()[: len(row["parameters"])], metric._given
    row = late._row(metric)
    return row, late._numbers(row, parameters), function


def values(row: dict[str, Any], numbers: list[float | None]) -> dict[str, Any]:
    """The values of the parameters that are not left out."""
    return {p[0]: late._value(p, v) for p, v in zip(row["parameters"], numbers, strict=True) if v is not None}


def operand_arrays(
    row: dict[str, Any],
    operands: tuple[Any, ...],
    numbers: list[float | None],
    tokenizer: Callable[[str], Iterable[str]] | None = None,
) -> list[Any]:
    """Operands of a call with these parameters as Arrays."""
    given = values(row, numbers) | late._present(row, late._given_operands(row, operands, {}))
    return cast("list[Any]", late._in_order(row, late._numbered(row, {**given, "tokenizer": tokenizer})))


def plain(result: Any) -> Any:
    """A result of one number as a float."""
    return float(result.item()) if result.size == 1 else result


def code_of(row: dict[str, Any]) -> Any:
    return row.get("code", row["name"])


def names_of_kinds(names: list[str], kinds: Iterable[str]) -> list[str]:
    """Metrics whose operands are of these kinds and of one shape, and that need no function; a ValueError
    where no metric has these kinds.
    """
    wanted = tuple(kinds)
    rows = [r for r in map(late._row, names) if not r["function"] and r["shapes"] <= 1]
    taken = {r["name"]: tuple(o[1] for o in r["operands"] if not o[3]) for r in rows}
    found = [n for n, k in taken.items() if k == wanted]
    if not found:
        others = "; ".join(map(str, sorted(set(taken.values())))) or "none without a function and of one shape"
        raise ValueError(
            f"from_registry: none of the metrics takes operands of the kinds {wanted}; kinds of these metrics: {others}"
        )
    return found


def one_of(caller: str, what: str, given: str, words: Iterable[str]) -> str:
    if given not in words:
        near = difflib.get_close_matches(given, words, 1) if isinstance(given, str) else []
        raise ValueError(
            f"{caller}: {what} must be one of {', '.join(words)}, got {given!r}"
            + (f": did you mean {near[0]!r}?" if near else "")
        )
    return given


def bits(caller: str, what: str, given: Iterable[str]) -> int:
    words, together = WORDS[what], _TOGETHER if what == "axiom" else {}
    found: set[str] = set()
    for word in [given] if isinstance(given, str) else given:
        if word not in words and word not in together:
            raise ValueError(
                f"{caller}: there is no {what} {word!r}: it must be one of {', '.join([*words, *together])}"
            )
        found.update(together.get(word, [word]))
    return sum(1 << words.index(word) for word in found)


def select(
    *,
    domain: str | None = None,
    direction: str | None = None,
    axiom: str | Iterable[str] | None = None,
    invariance: str | Iterable[str] | None = None,
    tier: str | None = None,
    differentiable: bool = False,
) -> list[str]:
    """Names of the metrics that have all of these; without a condition all names.

    domain: as in the documentation; direction: 'higher', 'lower' or 'info', which results are better; axiom:
    symmetric, identity, positive, triangle, proper, or metric for the first four, pseudometric for those but
    positive, divergence for identity and positive, one or several; invariance: scale, common-scale, shift, rotation, order, sample-order, monotone, relabel, congruence, orthogonal,
    lorentz, one or several; tier: pure_function, frozen_backbone, learned, metric_learning; differentiable:
    in real operands.  Another word is a ValueError.

    >>> from calibrax_c import metrics
    >>> metrics.select(domain="general", direction="higher")
    ['r_squared', 'explained_variance']
    >>> "euclidean_distance" in metrics.select(axiom="metric", invariance=["shift", "rotation"])
    True
    """
    if domain is not None:
        one_of("select", "'domain'", domain, sorted({row["domain"] for row in late._rows.values()}))
    place = -1 if direction is None else DIRECTIONS.index(one_of("select", "'direction'", direction, DIRECTIONS))
    number = -1 if tier is None else WORDS["tier"].index(one_of("select", "'tier'", tier, WORDS["tier"]))
    properties = bits("select", "axiom", axiom or ()), bits("select", "invariance", invariance or ())
    return cast(
        "list[str]",
        _core._metrics.select(codes_of_users(), domain, place, number, *properties, late._DIFFERENTIABLE * differentiable),
    )


def load_plugin(path: str | os.PathLike[str]) -> list[str]:
    """Adds the metrics of a shared object, all or none, as `--plugin` of `calibrax metrics` does: functions
    of calibrax_c.metrics, States and all else.

    path: a file that calibrax/metrics/plugin.h describes; its code runs in this process.  Returns their
    names.  A FileNotFoundError; a RuntimeError: it cannot be loaded; a ValueError: it has no table, a row
    that is not legal, or a name that is there already.
    """
    os.stat(path)  # raises FileNotFoundError; the library's error would be a RuntimeError
    rows = _core._metrics.load_plugin(codes_of_users(), path)
    for row in rows:
        if hasattr(late, row["name"]):
            raise ValueError(
                f"load_plugin: {row['name']!r} is a name of calibrax_c.metrics: the plug-in needs another one"
            )
    for row in rows:
        late._add(row)
    return [row["name"] for row in rows]


__all__ = ["load_plugin", "select"]
