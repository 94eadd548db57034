"""How many cores the maths libraries may take. Small products are slowed down by a second thread, and stall when it has to wait for a core."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import scipy.linalg.cython_blas  # noqa: F401 - the BLAS that compiled code calls must be loaded before it can be limited
import torch
from threadpoolctl import threadpool_limits


@contextmanager
def maths_threads(count: int) -> Iterator[None]:
    """Within this, torch and BLAS use `count` threads; afterwards, as many as before."""
    with torch_threads(count), threadpool_limits(count, user_api="blas"):
        yield


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """The same of torch alone: cheap enough for every single call of a network."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
