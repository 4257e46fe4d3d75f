"""Records: small immutable objects with named fields.  The extension makes and reads them (convert_records.c)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, dataclass_transform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime
    from typing import ClassVar, Self

    from . import Run, analysis, profiling

Direction: TypeAlias = str
Priority: TypeAlias = str


def _wrong(name: str, wanted: str, got: object) -> TypeError:
    return TypeError(f"'{name}' must be {wanted}, got {got!r}")


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _wrong(name, "text", value)
    return value


def _integer(name: str, value: Any) -> int:
    if not isinstance(value, int):
        raise _wrong(name, "an integer", value)
    return value


def _number(name: str, value: Any) -> float:
    try:
        if not isinstance(value, (bool, str)):
            return float(value)
    except TypeError:
        pass
    raise _wrong(name, "a number", value)


def _numbers(name: str, value: Any) -> tuple[float, ...]:
    if isinstance(value, (str, dict)):
        raise _wrong(name, "a sequence of numbers", value)
    return tuple(_number(name, v) for v in value)


def _mapping(name: str, value: Any) -> dict[Any, Any]:
    try:
        copy = dict(value)
    except (TypeError, ValueError):
        raise _wrong(name, "a dict", value) from None
    for key in copy:
        if not isinstance(key, str):
            raise _wrong(name, "a dict with text as keys", key)
    return copy


def _tags(name: str, value: Any) -> dict[str, str]:
    tags = _mapping(name, value)
    for v in tags.values():
        if not isinstance(v, str):
            raise _wrong(name, "a dict of text", v)
    return tags


def _metrics(name: str, value: Any) -> dict[str, Metric]:
    def metric(v: Any) -> Metric:
        return v if isinstance(v, Metric) else Metric.from_dict(v) if hasattr(v, "to_dict") or isinstance(v, dict) else Metric(v)

    return {k: metric(v) for k, v in _mapping(name, value).items()}


def _one_of(*words: str) -> Callable[[str, Any], str]:
    def read(name: str, value: Any) -> str:
        word = getattr(value, "value", value)  # of an enumeration
        if word not in words:
            raise ValueError(f"'{name}' must be {', '.join(map(repr, words[:-1]))} or {words[-1]!r}, got {value!r}")
        return str(word)

    return read


# How a field of an annotation is read, and its default; others are kept as they are, and None is
# the default of what may be None.
_READERS: dict[str, Callable[[str, Any], Any]] = {
    "str": _text, "int": _integer, "float": _number, "tuple[float, ...]": _numbers, "dict[str, str]": _tags, "dict[str, Metric]": _metrics,
    "Direction": _one_of("higher", "lower", "info"), "Priority": _one_of("primary", "secondary")}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    for method in ("to_dict", "isoformat"):
        if hasattr(value, method):
            return getattr(value, method)()
    return value


def _copy_of(name: str) -> property:
    return property(lambda self: dict(self.__dict__[name]))


@dataclass_transform(frozen_default=True)
class _Record:
    if TYPE_CHECKING:
        _names: ClassVar[tuple[str, ...]]
        _defaults: ClassVar[dict[str, Any]]
        _readers: ClassVar[dict[str, tuple[bool, Callable[[str, Any], Any] | None]]]

    def __init_subclass__(cls) -> None:
        kinds: dict[str, str] = cls.__annotations__
        cls._names = tuple(kinds)
        setattr(cls, "__match_args__", cls._names)
        cls._defaults = {n: cls.__dict__.get(n) for n, kind in kinds.items() if n in cls.__dict__ or kind.endswith("| None")}
        cls._readers = {n: (kind.endswith("| None"), _READERS.get(kind.removesuffix(" | None"))) for n, kind in kinds.items()}
        for n, kind in kinds.items():
            if kind.startswith("dict["):  # a copy is returned: the record stays as it is
                setattr(cls, n, _copy_of(n))
        required = max(i for i, n in enumerate(kinds) if n not in cls._defaults)
        parameters = ", ".join(n if i <= required else f"{n}={cls._defaults[n]!r}" for i, n in enumerate(kinds))
        space: dict[str, Any] = {}
        exec(f"def __init__(self, {parameters}): self._fill(({', '.join(kinds)},))", space)  # noqa: S102
        space["__init__"].__qualname__ = f"{cls.__name__}.__init__"
        setattr(cls, "__init__", space["__init__"])
        cls.__module__ = "calibrax_c"

    def _fill(self, values: tuple[Any, ...]) -> None:
        for (name, (optional, read)), value in zip(self._readers.items(), values, strict=True):
            self.__dict__[name] = value if read is None or optional and value is None else read(name, value)

    @classmethod
    def _of(cls, values: tuple[Any, ...]) -> Self:
        """From fields that need no check."""
        self = object.__new__(cls)
        self.__dict__.update(zip(cls._names, values, strict=True))
        return self

    @classmethod
    def from_dict(cls, mapping: Mapping[str, Any] | object, /) -> Self:
        """From a dict as to_dict returns it; other members are ignored."""
        given = mapping.to_dict() if hasattr(mapping, "to_dict") else mapping
        if not isinstance(given, dict):
            raise TypeError(f"{cls.__name__}.from_dict: 'mapping' must be a dict, got {mapping!r}")
        found = {n: given[n] for n in cls._names if n in given and not (given[n] is None and n in cls._defaults)}
        for n in cls._names:
            if n not in found and n not in cls._defaults:
                raise ValueError(f"{cls.__name__}: '{n}' is missing")
        return cls(**{**cls._defaults, **found})

    def to_dict(self) -> dict[str, Any]:
        """A dict of plain values; None is left out."""
        return {n: _plain(v) for n, v in self.__dict__.items() if v is not None}

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: '{name}' cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: '{name}' cannot be deleted")

    def __repr__(self) -> str:
        fields = (f"{n}={v!r}" for n, v in self.__dict__.items() if n not in self._defaults or v is not None and v != self._defaults[n])
        return f"{type(self).__name__}({', '.join(fields)})"

    def __eq__(self, other: object) -> bool:
        return self.__dict__ == other.__dict__ if type(self) is type(other) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self.__dict__.values()))


class Metric(_Record):
    """A value in the unit of its definition, with its interval and samples."""

    value: float
    lower: float | None = None
    upper: float | None = None
    samples: tuple[float, ...] | None = None

    if TYPE_CHECKING:

        def __init__(self, value: float, lower: float | None = None, upper: float | None = None, samples: Iterable[float] | None = None) -> None: ...


class MetricDef(_Record):
    """How to read a metric: its unit, and which direction is better ('higher', 'lower', or 'info' for neither)."""

    name: str
    unit: str
    direction: Direction
    group: str = ""
    priority: Priority = "secondary"
    description: str = ""


class Point(_Record):
    """One measurement under one configuration: metrics by name; a number becomes a Metric."""

    name: str
    scenario: str
    tags: dict[str, str] = {}
    metrics: dict[str, Metric] = {}

    if TYPE_CHECKING:

        def __init__(self, name: str, scenario: str, tags: Mapping[str, str] = {}, metrics: Mapping[str, Metric | float | Mapping[str, Any]] = {}) -> None: ...


class RunEntry(_Record):
    """A run as the index of its store lists it; machine is the fingerprint, bytes the size of the file."""

    id: str
    timestamp: datetime
    commit: str | None
    branch: str | None
    machine: str | None
    points: int
    bytes: int


class TrendPoint(_Record):
    """One value of a series."""

    run_id: str
    timestamp: datetime
    value: float
    commit: str | None = None
    branch: str | None = None
    machine: str | None = None
    lower: float | None = None
    upper: float | None = None


class TrendSeries(_Record):
    """One metric of one configuration over time, oldest first."""

    metric: str
    point_name: str
    scenario: str
    tags: dict[str, str]
    points: tuple[TrendPoint, ...]


class Finding(_Record):
    """One metric of one point against its baseline.

    outcome: 'unchanged', 'improved', 'regressed', 'equivalent', 'undecided', 'new', 'dropped' ...; baseline and current: None where the
    value is missing; change: relative; basis: 'samples', 'bounds', 'values' or 'none'; waived_by: the key of the waiver that accepts it.
    """

    outcome: str
    exit_code: int
    point: str
    scenario: str
    tags: str
    metric: str
    baseline: float | None
    current: float | None
    change: float | None
    basis: str
    waived_by: str | None
    sentence: str


class Target(_Record):
    """A value to reach, and what was reached.

    outcome: 'met', 'missed', 'not-a-number', 'undecided', 'missing-metric', 'no-direction', 'incomplete'; value: NaN if it is missing;
    margin: the distance to the target, positive on its better side.
    """

    benchmark: str
    metric: str
    outcome: str
    target: float
    value: float
    margin: float | None
    sentence: str


class Failure(_Record):
    """A launch of a benchmark that failed; launches count from 1, phase is 'setup', 'training', 'work', 'evaluation', 'targets' ..."""

    benchmark: str
    launch: int
    phase: str
    message: str


class PythonCall(_Record):
    """A function in an interpreter of its own; process is the whole interpreter."""

    timing: profiling.Timing
    process: profiling.ProfileRun
    work: profiling.Flops
    compiled: profiling.Hlo | None = None


class ImportNote(_Record):
    """A file, or an entry of one, that did not become a run or a point without change; entry None: the whole file."""

    file: str
    entry: str | None
    message: str


class Imported(_Record):
    """The contents of files of other tools, with the format of each run's file."""

    runs: tuple[Run, ...]
    formats: tuple[str, ...]
    notes: tuple[ImportNote, ...]


class IngestedRun(_Record):
    """A run that was added to a store, with the file that it came from and its format."""

    id: str
    points: int
    file: str
    format: str


class Ingested(_Record):
    """The runs that were added to a store, the files that were skipped with the reasons, and notes about entries."""

    runs: tuple[IngestedRun, ...]
    skipped: tuple[ImportNote, ...]
    notes: tuple[ImportNote, ...]


class Care(_Record):
    """The result of maintenance: files read, files removed, rewritten or copied with their bytes, (file, sentence) of each problem."""

    files: int
    changed: int
    bytes: int
    problems: tuple[tuple[str, str], ...]


class Comparison(_Record):
    """Competitors side by side: the overall winner is the last one, remarks are sentences that limit what the table shows."""

    labels: tuple[str, ...]
    reference: str
    rows: tuple[analysis.Row, ...]
    winners: tuple[analysis.Winner, ...]
    remarks: tuple[str, ...]
