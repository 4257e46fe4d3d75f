#!/usr/bin/env python3
"""Writes the type stubs of calibrax_c from the signatures that the extension carries.

usage: make_stubs.py FOLDER .|array   (PYTHONPATH finds calibrax_c; `.`: of the package, `array`: of its folder array)
"""
import inspect
import re
import sys
from pathlib import Path
from types import ModuleType

import calibrax_c as cx
from calibrax_c import metrics

SIGNATURES: dict[str, str] = cx._signatures
PRELUDE = '''"""Types of {name}."""

from builtins import bool as _bool, bytes as _bytes
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence as _Sequence
from datetime import date as _date, datetime
from os import PathLike
from types import ModuleType
from typing import Any, ClassVar, Final, Literal, Self, TypeAlias, final

from _typeshed import structseq
from typing_extensions import Buffer

'''
ALIASES = '''_Number: TypeAlias = _bool | int | float | complex
_Path: TypeAlias = str | _bytes | PathLike[str] | PathLike[_bytes]
_Time: TypeAlias = datetime | _date | str
_DType: TypeAlias = dtype | type[_bool] | type[int] | type[float] | type[complex] | str
_dtype: TypeAlias = dtype
_Operand: TypeAlias = Array | _Number
_Key: TypeAlias = Array | int
_Samples: TypeAlias = Array | _Sequence[float] | Buffer  # flat
_Rows: TypeAlias = Array | _Sequence[_Sequence[float]] | Buffer
_Groups: TypeAlias = _Sequence[Array | _Sequence[float] | Buffer]
_Definitions: TypeAlias = Mapping[str, MetricDef] | Iterable[MetricDef]
'''
PRIVATE = ["Number", "Key", "Path", "Time", "DType", "dtype", "Operand", "Samples", "Rows", "Groups", "Definitions"]
ARITHMETIC = ["add", "sub", "mul", "mod", "floordiv", "truediv", "and", "xor", "or", "lshift", "rshift", "matmul"]
SPECIAL = {
    **{f"__{r}{n}__": "(self, other: Operand, /) -> Array" for n in ARITHMETIC for r in ("", "r")},
    **{f"__{n}__": "(self, other: Operand, /) -> Array" for n in ("lt", "le", "gt", "ge")},
    **{f"__{n}__": "(self, other: Operand, /) -> Array: ...  # type: ignore[override]" for n in ("eq", "ne")},
    **{f"__{r}pow__": "(self, other: Operand, mod: None = None, /) -> Array" for r in ("", "r")},
    **{f"__{n}__": "(self) -> Array" for n in ("neg", "pos", "abs", "invert", "copy")},
    "__bool__": "(self) -> bool", "__int__": "(self) -> int", "__float__": "(self) -> float", "__index__": "(self) -> int",
    "__complex__": "(self) -> complex", "__len__": "(self) -> int", "__iter__": "(self) -> Iterator[Array]",
    "__getitem__": "(self, key: Any, /) -> Array", "__setitem__": "(self, key: Any, value: Operand, /) -> None",
    "__call__": "(self, /, *args: Any, **kwargs: Any) -> Any",
    "__enter__": "(self) -> Self", "__exit__": "(self, type: object, value: object, traceback: object, /) -> bool",
}
IGNORED = dict.fromkeys(["count", "index"], "  # type: ignore[override]")  # of tuples


def modules_in(module: ModuleType, prefix: str) -> dict[str, ModuleType]:
    """Namespaces of the extension; modules that are Python files contain their types."""
    return {prefix + n: m for n, m in vars(module).items() if isinstance(m, ModuleType) and not n.startswith("_") and not hasattr(m, "__file__")}


def spaces() -> dict[str, ModuleType]:
    return {"": cx, **modules_in(cx, ""), **modules_in(cx.array, "array.")}


HOMES = {n: space for space, m in spaces().items() for n, v in vars(m).items() if isinstance(v, type)} | {"Backend": ""}


def split(text: str) -> list[str]:
    """At the commas outside brackets and quotes."""
    parts, depth, quoted = [""], 0, False
    for c in text:
        quoted ^= c == "'"
        depth += 0 if quoted else (c in "[({") - (c in "])}")
        if c == "," and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts if p.strip()]


class Stub:
    def __init__(self, space: str, module: ModuleType) -> None:
        self.space, self.module = space, module
        self.used: set[str] = set()

    def annotation(self, text: str) -> str:
        """As a stub needs it: choices become literals, names of this package's types are imported."""
        text = re.sub(r"'[^']*'(?: \| '[^']*')*", lambda m: f"Literal[{m.group(0).replace(' | ', ', ')}]", text)
        text = re.sub(r"\bseconds\b", "float", text)
        text = re.sub(r"\boffset\b", "int", text)
        text = re.sub(r"\bSequence\[", "_Sequence[", text)  # of collections.abc; statistics has a type of that name

        def name(m: re.Match[str]) -> str:
            word = m.group(0)
            if word == "bool":
                return "_bool"
            if word in PRIVATE:
                self.used.add("_" + word)
                return "_" + word
            if word.rpartition(".")[2] in HOMES:
                word = word.rpartition(".")[2]
                if HOMES[word] != self.space:
                    self.used.add(word)
            return word

        return re.sub(r"(?<!')\b[A-Za-z_][\w.]*\b(?!')", name, text)

    def signature(self, text: str, first: str = "") -> str:
        """(x: Samples, /) -> float with the annotations and the result of a stub; $self is put first."""
        arguments, _, result = text.rpartition(") -> ")
        out = []
        for part in split(arguments[1:]):
            if part in ("", "$self", "$type", "/" if not out and not first else ""):
                continue
            head, equals, default = part.partition(" = ")
            head, colon, annotation = head.partition(": ")
            if annotation.endswith("seconds") and default == "None":
                annotation += " | None"
            out.append(head + (f": {self.annotation(annotation)}" if colon else "") + (f" = {default}" if equals else ""))
        return f"({', '.join([first] * bool(first) + out)}) -> {self.annotation(result)}"

    def method(self, name: str, text: str, value: object) -> list[str]:
        if "$type" in text:
            return ["    @classmethod", f"    def {name}{self.signature(text, 'cls')}: ..."]
        return [f"    def {name}{self.signature(text, 'self')}: ..."]

    def properties(self, members: str) -> tuple[list[str], list[str], list[str]]:
        pairs = [p.split(": ", 1) for p in split(members)]
        types = [self.annotation(t) for _, t in pairs]
        lines = [line for (n, _), t in zip(pairs, types) for line in ("    @property", f"    def {n}(self) -> {t}: ..." + IGNORED.get(n, ""))]
        return [n for n, _ in pairs], types, lines

    def named_tuple(self, name: str, value: type) -> list[str]:
        members = SIGNATURES[f"{self.space}.{value.__name__}".lstrip(".")]
        names, types, lines = self.properties(members)
        return ["@final", f"class {name}(structseq[Any], tuple[{', '.join(types)}]):", f"    __match_args__: Final = {tuple(names)!r}", *lines]

    def type(self, name: str, value: type) -> list[str]:
        if hasattr(value, "n_sequence_fields"):
            return self.named_tuple(name, value)
        dotted = f"{self.space}.{name}".lstrip(".")
        if issubclass(value, Exception):
            return [f"class {name}({value.__base__.__name__}): ..."]
        lines = ["@final", f"class {name}:"]
        if name == "Array":
            lines += ["    __hash__: ClassVar[None]  # type: ignore[assignment]", "    def __buffer__(self, flags: int, /) -> memoryview: ..."]
        make = SIGNATURES.get(dotted)
        if make:
            make = re.sub(r"\) -> \w+$|\)$", ") -> Self", make)
            lines.append(f"    def __new__{self.signature(make, 'cls')}: ...")
        for n, v in vars(value).items():
            text = SIGNATURES.get(f"{dotted}.{n}")
            if text:
                lines += self.method(n, text, v)
            elif inspect.isgetsetdescriptor(v) and v.__doc__ and not re.match("_[^_]", n):
                prefix = re.match(r"(\w+(\[[^:]*\])?(?: \| None)?): ", v.__doc__)
                lines += ["    @property", f"    def {n}(self) -> {self.annotation(prefix.group(1))}: ..."]
            elif n in SPECIAL and not (n in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__") and name != "Array"):
                lines.append(f"    def {n}" + self.signature(SPECIAL[n].partition(": ...")[0]) + ": ..." + SPECIAL[n].partition(": ...")[2])
        return lines if len(lines) > 2 else [*lines, "    ..."]

    def text(self) -> str:
        special = ("__array_namespace_info__", "__array_api_version__", "__version__")
        names = sorted(n for n in vars(self.module) if not n.startswith("_") or n in special)
        types = {n: v for n in names if isinstance(v := getattr(self.module, n), type) and not hasattr(v, "_of")}
        records = [n for n in names if hasattr(getattr(self.module, n), "_of")]  # typed where they are written
        body, values = [], []
        for n, t in {**types, **{f"_{t.__name__}": t for t in RESULTS.get(self.space, [])}}.items():
            body += [*self.type(n, t), ""]
        for n in names:
            value, dotted = getattr(self.module, n), f"{self.space}.{n}".lstrip(".")
            if inspect.isbuiltin(value):
                values.append(f"def {n}{self.signature(SIGNATURES.get(dotted) or SIGNATURES['array.' + n])}: ...")
            elif not isinstance(value, (type, ModuleType)):
                kind = "None" if value is None else type(value).__name__
                values.append(f"{n}: {kind}" + ("  # type: ignore[assignment]" if n == "bool" else ""))
        inner = modules_in(self.module, "") if self.space in ("", "array") else {}
        imports = [f"from . import {n} as {n}" for n in inner]
        imports += [f"from ._records import {n} as {n}" for n in records]
        imports += ["from ._backend import Backend as Backend"] * (self.space == "")
        aliases = self.space == "array"
        own = sorted(n for n in self.used if not (aliases and n.startswith("_")))
        homes = {home: [n for n in own if HOMES.get(n, "array") == home] for home in sorted({HOMES.get(n, "array") for n in own})}
        imports += [f"from calibrax_c{'.' * bool(home)}{home} import {', '.join(group)}" for home, group in homes.items()]
        if aliases:
            imports.append("from calibrax_c import MetricDef")
        title = PRELUDE.format(name=f"calibrax_c.{self.space}".rstrip("."))
        return title + "\n".join([*imports, ALIASES if aliases else "", *body, *values]) + "\n"


xp = cx.array
EYE = xp.eye(2)
RESULTS = {
    "array": [type(r) for r in (xp.finfo("float64"), xp.iinfo("int64"), *(f(xp.asarray([1.0])) for f in (xp.unique_all, xp.unique_counts, xp.unique_inverse)))],
    "array.linalg": [type(r) for r in (xp.linalg.eigh(EYE), xp.linalg.qr(EYE), xp.linalg.slogdet(EYE), xp.linalg.svd(EYE), xp.linalg.lstsq(EYE, EYE))],
}


METRICS_BY_HAND = """class OnnxModel:
    outputs: list[str]
    def __init__(self, path: str | PathLike[str] | bytes, *, outputs: Sequence[str] | None = None, providers: Sequence[Any] | None = None) -> None: ...
    def __call__(self, *operands: _Values) -> Any: ...

class State:
    def __init__(self, metric: str | Callable[..., Any], *, function: Callable[..., Any] | None = None, **parameters: float | str) -> None: ...
    def update(self, *operands: _Values | None, mask: _Values | None = None, weights: _Values | None = None, tokenizer: Callable[[str], Iterable[str]] | None = None, **named: _Values | None) -> State: ...
    def merge(self, other: State) -> State: ...
    def compute(self) -> Array: ...
    def reset(self) -> State: ...
    @property
    def updates(self) -> int: ...
    @property
    def error(self) -> float: ...
    def to_bytes(self) -> bytes: ...
    @classmethod
    def from_bytes(cls, data: bytes, *, features: Callable[..., Any] | None = None) -> State: ...

def vmaf_score(reference: str | PathLike[str], distorted: str | PathLike[str], *, model: str | None = None) -> float: ...""".splitlines()


def metrics_stub() -> str:
    """The functions of calibrax_c.metrics, which are made of the library's table."""
    types = {"float": "float", "int": "int", "bool": "bool"}
    options = {"mask": "_Values | None = None", "weights": "_Values | None = None", "reduction": "Literal['mean', 'sum', 'none', 'batch_sum'] = 'mean'",
               "axis": "int | Sequence[int] | None = None", "keepdims": "bool = False"}
    lines = ['"""Types of calibrax_c.metrics."""', "", "from collections.abc import Callable, Iterable, Sequence", "from os import PathLike", "from typing import Any, Literal, TypeAlias", "",
             "from calibrax_c.array import Array", *(f"from .{file} import {n} as {n}" for file in ("_composition", "_metric_register", "_metric_selection", "_metric_wrappers") for n in getattr(metrics, file).__all__), "", "_Values: TypeAlias = Any  # an array of any package, or a list of numbers", "", f"__all__ = {metrics.__all__!r}", "", *METRICS_BY_HAND, ""]
    for name, row in metrics._rows.items():
        parameters = {p[0]: p for p in row["parameters"]}
        parts, star = [], False
        for p in inspect.signature(getattr(metrics, name)).parameters.values():
            if p.kind is p.KEYWORD_ONLY and not star:
                parts, star = [*parts, "*"], True
            if p.name in parameters:
                *_, words = parameters[p.name]
                kind = f"Literal[{', '.join(map(repr, words.split('|')))}]" if words else types[parameters[p.name][2]]
                default = f"float('{p.default}')" if p.default in (float("inf"), float("-inf")) else repr(p.default)
                parts.append(f"{p.name}: {kind} = {'...' if default.startswith('float') else default}")
            elif p.name in options and star:
                parts.append(f"{p.name}: {options[p.name]}")
            elif p.name == "function" and star:
                parts.append("function: Callable[[Array], Array]" if p.default is p.empty else "function: Callable[..., Any] | None = None")
            else:
                parts.append(f"{p.name}: _Values" + ("" if p.default is p.empty else " | None = None"))
        lines.append(f"def {name}({', '.join(parts)}) -> Array: ...")
    return "\n".join(lines) + "\n"


def main() -> None:
    folder, part = Path(sys.argv[1]), sys.argv[2]
    for space, module in spaces().items():
        if (space.split(".")[0] == "array") == (part == "array"):
            name = space.removeprefix("array").removeprefix(".") or "__init__"
            (folder / f"{name}.pyi").write_text(Stub(space, module).text())
    if part == ".":
        (folder / "metrics.pyi").write_text(metrics_stub())
        (folder / "py.typed").write_text("")


if __name__ == "__main__":
    main()
