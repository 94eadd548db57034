"""Count flops: the arithmetic in matrix products, convolutions and attention, from the shapes they are given. All other operations move more than they compute.

Our own formulas and not torch's, because importing those may import a compiler into the script. A multiplication and an addition are two.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Formula = Callable[[Any, Any], int]  # (arguments, result)


def product(first: int) -> Formula:
    """Of the argument at `first` and the one after it, whatever their shapes: as many terms to every number of the result as the first has columns."""
    return lambda args, out: 2 * out.numel() * args[first].shape[-1]


def convolution(args: Any, out: Any) -> int:
    inputs, weight, transposed = args[0], args[1], args[6]
    return 2 * (inputs if transposed else out).numel() * terms(weight)


def convolution_backward(args: Any, out: Any) -> int:
    """As much again for the gradient of the input, and for that of the weights, where they are wanted."""
    gradient, inputs, weight, transposed, wanted = args[0], args[1], args[2], args[7], args[10]
    return 2 * (inputs if transposed else gradient).numel() * terms(weight) * (bool(wanted[0]) + bool(wanted[1]))


def terms(weight: Any) -> int:
    return math.prod(weight.shape[1:])


def attention(args: Any, out: Any) -> int:
    """Two products, [queries, d] @ [d, keys] and [queries, keys] @ [keys, d]."""
    query, key = args[0], args[1]
    return 4 * query.numel() * key.shape[-2]


def attention_backward(args: Any, out: Any) -> int:
    """Five products: the first again, and two for each."""
    return 10 * args[1].numel() * args[2].shape[-2]


FORMULAS: dict[str, Formula] = {
    **{f"aten::{name}": product(0) for name in ("mm", "bmm", "mv", "dot", "matmul", "linear")},
    **{f"aten::{name}": product(1) for name in ("addmm", "baddbmm", "addmv")},
    "aten::convolution": convolution,
    "aten::convolution_backward": convolution_backward,
}


def formula(operation: str) -> Formula | None:
    """How to count the arithmetic of an operation; nothing for most."""
    if operation.startswith("aten::_scaled_dot_product"):
        return attention_backward if operation.endswith("backward") else attention
    return FORMULAS.get(operation)
