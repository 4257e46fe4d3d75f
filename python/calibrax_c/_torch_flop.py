"""Operations of a forward pass of torch before 2.1, whose own counter does not exist: products and convolutions, as that one counts them."""

from __future__ import annotations

from math import prod
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode


def _product(a: Any, b: Any) -> float:
    return 2.0 * prod(a.shape) * b.shape[-1]


# Each rule: operations from the arguments and the result.
_RULES = {
    "aten::mm": lambda args, _: _product(args[0], args[1]),
    "aten::bmm": lambda args, _: _product(args[0], args[1]),
    "aten::addmm": lambda args, _: _product(args[1], args[2]),
    "aten::baddbmm": lambda args, _: _product(args[1], args[2]),
    "aten::mv": lambda args, _: _product(args[0], args[1].unsqueeze(-1)),
    "aten::dot": lambda args, _: 2.0 * args[0].numel(),
    # of a transposed one each element of the input meets the kernel
    "aten::convolution": lambda args, out: 2.0 * (args[0] if args[6] else out).numel() * prod(args[1].shape[1:]),
}


class FlopCounter(TorchDispatchMode):  # type: ignore[misc]
    """Adds up the operations of what is called within it."""

    flop = 0.0

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if rule := _RULES.get(func._schema.name):
            self.flop += rule(args, out)
        return out
