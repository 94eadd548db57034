"""Arithmetic's roofs: what the processor itself can do, and beside it what torch's and NumPy's libraries make of it, in products and convolutions.

The two differ, by a factor of two where a library takes the wrong code path; so the hardware's own rate is the roof, and a library's is a finding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any, NamedTuple

from hotloop.lab.roofs.native import CHAIN, CannotBuild, count_cycles, multiply_add
from hotloop.lab.roofs.probe import Probe, Run

TURNS = 1000  # of a bare loop in one repeat
HALF = {"float32": b"\x00\x00\x00\x3f", "float64": b"\x00\x00\x00\x00\x00\x00\xe0\x3f", "bfloat16": b"\x00\x3f"}  # 0.5: sums stay finite and normal

TORCH = (("torch", "float32", "highest"), ('torch, "medium"', "float32", "medium"), ("torch", "bfloat16", "highest"))  # name, type, precision asked for


class Shape(NamedTuple):
    """A matrix product: [rows, inner] times [inner, columns]."""

    rows: int
    inner: int
    columns: int

    def __str__(self) -> str:
        return "×".join(map(str, self))

    @property
    def flops(self) -> float:
        return 2.0 * math.prod(self)


class Convolution(NamedTuple):
    """A layer of a network that sees: images [batch, channels, height, width], no padding."""

    batch: int
    channels: int
    side: int
    filters: int
    kernel: int
    stride: int

    def __str__(self) -> str:
        return f"{self.batch}×{self.channels}×{self.side}×{self.side}, {self.filters} filters {self.kernel}×{self.kernel}/{self.stride}"

    @property
    def flops(self) -> float:
        out = (self.side - self.kernel) // self.stride + 1
        return 2.0 * self.batch * out * out * self.filters * self.channels * self.kernel * self.kernel


SHAPES = (Shape(64, 128, 128), Shape(256, 128, 128), Shape(1024, 1024, 1024))  # a small network's layer at two batches, and one large enough for any library
CONVOLUTIONS = (Convolution(64, 4, 96, 32, 8, 4), Convolution(64, 32, 22, 64, 4, 2))  # the first two layers of the trunk most pixel agents have


def arithmetic_probes(threads: int, shapes: Sequence[Shape], failed: Callable[[str, Exception], None]) -> list[Probe]:
    """The bare loops, then the libraries."""
    counts = sorted({1, threads})
    probes: list[Probe] = []
    try:
        probes.append(clock_probe())
    except CannotBuild as mistake:
        failed("the clock", mistake)
    for dtype in ("float32", "bfloat16", "float64"):
        try:
            probes += [bare_probe(dtype, count) for count in counts]
        except CannotBuild as mistake:
            failed(f"bare {dtype} arithmetic", mistake)
    for shape in shapes:
        probes += [*numpy_products(shape, counts), *torch_products(shape, counts)]
    return probes + [probe for layer in CONVOLUTIONS for probe in torch_convolutions(layer, counts)]


def clock_probe() -> Probe:
    loop = count_cycles()
    return Probe("arithmetic", "cycles", "Hz", float(CHAIN * TURNS), [lambda repeats: loop(TURNS * repeats, 3)], is_busy=True)


def bare_probe(dtype: str, threads: int) -> Probe:
    """Nothing but multiply-adds in registers."""
    loop, flops = multiply_add(dtype)
    runs = [bare_run(loop, dtype) for _ in range(threads)]
    return Probe("arithmetic", "bare", "flop/s", flops * TURNS, runs, {"dtype": dtype, "threads": threads}, is_busy=True)


def bare_run(loop: Any, dtype: str) -> Run:
    import numpy as np

    numbers = np.frombuffer(HALF[dtype] * (64 // len(HALF[dtype])), np.uint8)
    out = np.zeros(64, np.uint8)
    return lambda repeats: loop(TURNS * repeats, numbers.ctypes.data, out.ctypes.data)


# ---------------------------------------------------------------- libraries


def numpy_products(shape: Shape, counts: Sequence[int]) -> Iterator[Probe]:
    import numpy as np

    left, right = (array.astype(np.float32) for array in operands(shape))
    out = np.empty((shape.rows, shape.columns), np.float32)

    def run(repeats: int) -> None:
        for _ in range(repeats):
            np.matmul(left, right, out=out)

    for count in counts:
        yield library_probe("NumPy", shape, run, "float32", count, partial(blas_threads, count))


def torch_products(shape: Shape, counts: Sequence[int]) -> Iterator[Probe]:
    """In float32, in float32 by the path a "medium" precision takes, and in bfloat16."""
    import torch

    for name, dtype, precision in TORCH:
        left, right = (torch.from_numpy(array).to(getattr(torch, dtype)) for array in operands(shape))
        out = torch.empty(shape.rows, shape.columns, dtype=left.dtype)
        for count in counts:
            run = torch_run(torch.mm, (left, right), {"out": out})
            yield library_probe(name, shape, run, dtype, count, partial(torch_set, count, precision))


def torch_convolutions(layer: Convolution, counts: Sequence[int]) -> Iterator[Probe]:
    import torch

    rng = torch.Generator().manual_seed(1)
    for dtype in (torch.float32, torch.bfloat16):
        images = torch.randn(layer.batch, layer.channels, layer.side, layer.side, generator=rng).to(dtype)
        weights = torch.randn(layer.filters, layer.channels, layer.kernel, layer.kernel, generator=rng).to(dtype)
        for count in counts:
            run = torch_run(torch.conv2d, (images, weights), {"stride": layer.stride})
            yield library_probe("torch", layer, run, str(dtype).removeprefix("torch."), count, partial(torch_set, count, "highest"))


def torch_run(call: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> Run:
    import torch

    def run(repeats: int) -> None:
        with torch.no_grad():
            for _ in range(repeats):
                call(*arguments, **named)

    return run


def errors(shape: Shape) -> dict[str, float]:
    """How far each library's product is from the true one, as a share of its length: a faster path must not be a sloppier one unnoticed."""
    import numpy as np
    import torch

    left, right = operands(shape)
    singles = [array.astype(np.float32) for array in (left, right)]
    true = singles[0].astype(np.float64) @ singles[1].astype(np.float64)
    found = {"NumPy, float32": singles[0] @ singles[1]}
    for name, dtype, precision in TORCH:
        with torch_set(torch.get_num_threads(), precision):
            product = torch.mm(*(torch.from_numpy(array).to(getattr(torch, dtype)) for array in singles))
        found[f"{name}, {dtype}"] = product.float().numpy()
    return {name: float(np.linalg.norm(product - true) / np.linalg.norm(true)) for name, product in found.items()}


def operands(shape: Shape) -> tuple[Any, Any]:
    """Two matrices of float64, the same each time."""
    import numpy as np

    rng = np.random.default_rng(1)
    return rng.standard_normal((shape.rows, shape.inner)), rng.standard_normal((shape.inner, shape.columns))


def library_probe(name: str, shape: Shape | Convolution, run: Run, dtype: str, threads: int, within: Callable[[], AbstractContextManager[Any]]) -> Probe:
    """A library makes threads of its own; where it may take but one, that is ours."""
    at = {"shape": str(shape), "dtype": dtype, "threads": threads}
    return Probe("arithmetic", name, "flop/s", shape.flops, [run], at, within, is_busy=threads == 1)


@contextmanager
def torch_set(threads: int, precision: str) -> Iterator[None]:
    """Within this, torch takes so many threads and this precision of float32 products; afterwards, what it took before."""
    import torch

    before = torch.get_num_threads(), torch.get_float32_matmul_precision()
    torch.set_num_threads(threads)
    torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        torch.set_float32_matmul_precision(before[1])


def blas_threads(count: int) -> AbstractContextManager[Any]:
    """Within this, NumPy's library takes so many threads."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    return threadpool_limits(count, user_api="blas")
