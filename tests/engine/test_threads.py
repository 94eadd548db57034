"""Maths threads: as many as asked for inside, as many as before outside, whatever happened in between."""

import numpy as np
import pytest
import scipy
import torch
from threadpoolctl import threadpool_info

from hotloop.engine.threads import maths_threads


def libraries() -> list[dict]:
    """Every BLAS that is loaded and can be limited: not Apple's."""
    return [library for library in threadpool_info() if library["user_api"] == "blas"]


def assert_threads(count: int) -> None:
    assert torch.get_num_threads() == count
    assert [library["num_threads"] for library in libraries()] == [count] * len(libraries())


@pytest.fixture(autouse=True)
def three_threads():
    """Another number than any test asks for, on any machine."""
    with maths_threads(3):
        yield


def test_torch_and_every_blas_take_as_many_as_asked_for_and_then_as_many_as_before():
    with maths_threads(1):
        assert_threads(1)
        with maths_threads(2):
            assert_threads(2)
        assert_threads(1)
    assert_threads(3)


def test_an_error_inside_gives_the_threads_back():
    with pytest.raises(ZeroDivisionError), maths_threads(1):
        1 / 0  # noqa: B018
    assert_threads(3)


def test_the_blas_of_compiled_code_is_among_those_limited():
    """NumPy brings one and SciPy, whose functions Numba calls, another: limiting only the first would leave the loops unlimited."""
    files = [library["filepath"] for library in libraries()]
    brought = [module for module in (np, scipy) if any(f"{module.__name__}.libs" in file for file in files)]
    assert brought == [np, scipy] or len(files) <= 1  # one for both, or Apple's
