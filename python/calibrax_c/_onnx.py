"""ONNX models as functions of arrays, by PyPI's onnxruntime."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import array

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

_DTYPES = {"float": "float32", "double": "float64", "float16": "float16", "bool": "bool"}  # others have NumPy's names


def _missing(package: str) -> ImportError:
    return ImportError(f"an ONNX model needs {package}, which is not installed: pip install {package}")


class OnnxModel:
    """A function of arrays that an ONNX file holds, as metrics of features take it.

    path: the file, or its bytes; outputs: names of the results that count, all without it; providers: as in onnxruntime.
    A call takes an array for each input, of any package, and converts it to the dtype of the input; it returns an Array, or a list of
    Arrays where there are several outputs.  Derivatives do not go through it.
    """

    def __init__(self, path: str | PathLike[str] | bytes, *, outputs: Sequence[str] | None = None, providers: Sequence[Any] | None = None) -> None:
        try:
            import onnxruntime
        except ImportError:
            raise _missing("onnxruntime") from None
        source = path if isinstance(path, bytes) else str(path)
        self._session = onnxruntime.InferenceSession(source, providers=list(providers or ["CPUExecutionProvider"]))
        self._inputs = [(i.name, i.type.removeprefix("tensor(").removesuffix(")")) for i in self._session.get_inputs()]
        known = [o.name for o in self._session.get_outputs()]
        if outputs is not None and (unknown := [o for o in outputs if o not in known]):
            raise ValueError(f"the model has no output {unknown[0]!r}: it has {', '.join(map(repr, known))}")
        self.outputs = list(outputs or known)

    def __call__(self, *operands: Any) -> Any:
        import numpy as np

        if len(operands) != len(self._inputs):
            raise TypeError(f"the model takes {len(self._inputs)} inputs, got {len(operands)}")
        values = {name: np.asarray(x).astype(_DTYPES.get(kind, kind), copy=False) for (name, kind), x in zip(self._inputs, operands, strict=True)}
        results = [array.asarray(r) for r in self._session.run(self.outputs, values)]
        return results[0] if len(results) == 1 else results
