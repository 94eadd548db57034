"""A GPU's roofs: launches, nodes of a captured graph, copies across the bus, its own memory, products and convolutions by type.

Every sample ends by waiting for the device, and does enough for that wait not to count. Written for torch's CUDA; nothing of it runs without one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from hotloop.lab.roofs.arithmetic import CONVOLUTIONS, Shape, torch_set
from hotloop.lab.roofs.probe import SECONDS, Probe, Run

MIB = 1024 * 1024
NODES = 200  # in a captured graph
AMONG = 100  # calls between two waits
SHAPES = (Shape(256, 128, 128), Shape(8192, 8192, 8192))
COPIES = (64 * 1024, 64 * MIB)  # bytes across the bus: a batch of features, a batch of pictures
IN_MEMORY = 1024 * MIB  # far more than a device's own cache

# What makers promise, dense and without sparsity: bytes a second of the memory, arithmetic a second of float32 units and of bfloat16 tensor cores.
DATA_SHEETS = {"H200": (4.8e12, 67e12, 989e12), "H100 80GB HBM3": (3.35e12, 67e12, 989e12), "A100-SXM4-80GB": (2.039e12, 19.5e12, 312e12)}
NEAR = 0.95


def gpu_probes() -> list[Probe]:
    """Nothing where there is no GPU."""
    import torch

    if not torch.cuda.is_available():
        return []
    return [*launch_probes(), *bus_probes(), *memory_probes(), *product_probes(), *convolution_probes()]


def launch_probes() -> Iterator[Probe]:
    """What one small kernel costs, launched by itself and as a node of a graph."""
    import torch

    value = torch.ones(64, device="cuda")
    value.add_(1.0)  # what the first call sets up cannot be set up while a graph is recorded
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(NODES):
            value.add_(1.0)
    yield Probe("gpu", "launch", SECONDS, float(AMONG), [until_done(lambda: value.add_(1.0))])
    yield Probe("gpu", "graph node", SECONDS, float(NODES), [until_done(graph.replay, 1)])


def bus_probes() -> Iterator[Probe]:
    """Host and device, each way, from pages that may move and from pages pinned down."""
    import torch

    for size in COPIES:
        device = torch.empty(size, dtype=torch.uint8, device="cuda")
        for pinned in (False, True):
            host = torch.ones(size, dtype=torch.uint8, pin_memory=pinned)
            at = {"bytes": size, "pinned": pinned}
            calls = max(1, AMONG * COPIES[0] // size)
            yield Probe("gpu", "copy to the device", "bytes/s", float(size * calls), [until_done(copy(device, host, pinned), calls)], at)
            yield Probe("gpu", "copy from the device", "bytes/s", float(size * calls), [until_done(copy(host, device, pinned), calls)], at)


def memory_probes() -> Iterator[Probe]:
    """Within the device; as on the host, a byte copied counts once."""
    import torch

    source, to = (torch.ones(IN_MEMORY, dtype=torch.uint8, device="cuda") for _ in range(2))
    yield Probe("gpu", "copy within the device", "bytes/s", float(IN_MEMORY * 10), [until_done(copy(to, source, False), 10)], {"bytes": IN_MEMORY})


def product_probes() -> Iterator[Probe]:
    """In float32 as it is, in float32 by tensor cores (TF32), and in bfloat16."""
    import torch

    for shape in SHAPES:
        for name, dtype, precision in (("product", "float32", "highest"), ("product, TF32", "float32", "high"), ("product", "bfloat16", "highest")):
            left = torch.randn(shape.rows, shape.inner, device="cuda", dtype=getattr(torch, dtype))
            right = torch.randn(shape.inner, shape.columns, device="cuda", dtype=left.dtype)
            out = torch.empty(shape.rows, shape.columns, device="cuda", dtype=left.dtype)
            run = until_done(partial(torch.mm, left, right, out=out), 10)
            yield Probe("gpu", name, "flop/s", 10 * shape.flops, [run], {"shape": str(shape), "dtype": dtype}, as_set(precision))


def convolution_probes() -> Iterator[Probe]:
    import torch

    for layer in CONVOLUTIONS:
        for dtype in (torch.float32, torch.bfloat16):
            images = torch.randn(layer.batch, layer.channels, layer.side, layer.side, device="cuda", dtype=dtype)
            weights = torch.randn(layer.filters, layer.channels, layer.kernel, layer.kernel, device="cuda", dtype=dtype)
            run = until_done(partial(torch.conv2d, images, weights, stride=layer.stride), 10)
            at = {"shape": str(layer), "dtype": str(dtype).removeprefix("torch.")}
            yield Probe("gpu", "convolution", "flop/s", 10 * layer.flops, [run], at)


def against_data_sheet(figures: Sequence[Mapping[str, Any]], gpus: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Where a GPU's figure is further than a twentieth from what its maker says: what was measured, and why it may be less."""
    sheet = next((sheet for gpu in gpus for name, sheet in DATA_SHEETS.items() if name in gpu["name"]), None)
    if sheet is None:
        return
    memory, single, half = sheet
    asked = (
        ("copy within the device", None, memory / 2, "every byte is read and written, and turning between the two takes time"),
        ("product", "float32", single, "a library's product, at the clock the device keeps up"),
        ("product", "bfloat16", half, "a library's product, at the clock its power allows"),
    )
    for name, dtype, promised, why in asked:
        best = max((f["best"] for f in figures if f["group"] == "gpu" and f["name"] == name and f["at"].get("dtype") == dtype), default=0.0)
        if best and not NEAR <= best / promised <= 2 - NEAR:
            kind = f"{name}, {dtype}" if dtype else name
            yield f"{kind}: {100 * best / promised:.0f} % of the data sheet's {promised / 1e12:.1f} T a second: {why}"


def copy(to: Any, source: Any, non_blocking: bool) -> Callable[[], Any]:
    return partial(to.copy_, source, non_blocking=non_blocking)


def until_done(call: Callable[[], Any], times: int = AMONG) -> Run:
    import torch

    def run(repeats: int) -> None:
        for _ in range(repeats):
            for _ in range(times):
                call()
            torch.cuda.synchronize()

    return run


def as_set(precision: str) -> Callable[[], AbstractContextManager[None]]:
    import torch

    return partial(torch_set, torch.get_num_threads(), precision)
