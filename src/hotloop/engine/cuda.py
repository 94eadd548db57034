"""VecEnv on a GPU: the same text, one thread a game; a block of threads a game where it draws a picture.

Rows are torch tensors on the device and are written in place; states, streams and books stay there. Under Numba's simulator
(`NUMBA_ENABLE_CUDASIM=1`) the same kernels run as Python on this machine's memory, slowly: that is how they are tested without a GPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from hotloop.engine.env import Env
from hotloop.engine.explain import explained
from hotloop.engine.loop import arguments, books_dtype, build, loop_source, write
from hotloop.engine.plain import Cells, as_python_reads
from hotloop.engine.random import streams
from hotloop.engine.vecenv import Note, Obs, Outcome, VecEnv, world_record

THREADS = 128  # a block of games, or of one game's pixels
SIMULATED_THREADS = 8
STAGED_BYTES = 256  # of a row in shared memory: 128 of them still leave room for another block


class NoGpu(RuntimeError):
    """There is no GPU to run on; the message says what was looked for."""


def numba_cuda() -> Any:
    """Numba's CUDA module, or the reason why there is none."""
    if not hasattr(np, "row_stack"):  # numba-cuda 0.30 looks for a name that NumPy 2.5 dropped
        np.row_stack = np.vstack
    try:
        from numba import cuda
    except ImportError as error:
        raise NoGpu(f"the cuda target needs numba-cuda, which is not installed ({error}); try: pip install 'hotloop[cuda]'") from None
    from numba.cuda.core import config

    config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # a few games are a fine number of games
    if not is_simulated() and not cuda.is_available():
        raise NoGpu("the cuda target needs an NVIDIA GPU and its driver; found none; try --device cpu")
    return cuda


def is_simulated() -> bool:
    from numba.core import config

    return bool(getattr(config, "ENABLE_CUDASIM", 0))


class CudaVecEnv(VecEnv):
    """Games on the GPU. `obs`, `last`, rewards and ends are torch tensors there; nothing waits for the device."""

    def __init__(self, env: Env, num_envs: int, *, seed: int = 0, final_observations: bool = True, note: Note | None = None) -> None:
        self._cuda = numba_cuda()
        self._simulated = is_simulated()
        self.device = "cpu" if self._simulated else "cuda"
        self._views: dict[tuple, Any] = {}
        super().__init__(env, num_envs, seed=seed, target="cuda", threads=1, final_observations=final_observations, note=note)

    def reset(self, *, seed: int | None = None, obs: Obs | None = None, only: Any = None) -> Obs:
        if seed is not None:
            self._put(self.streams, streams(seed, self.num_envs))
        obs = self.obs if obs is None else obs
        self._launch(self._begin, self._all if only is None else only, self.actions, self.outcome, obs)
        self.obs = obs
        return obs

    def step(self, actions: Any, *, into: Outcome | None = None, obs: Obs | None = None) -> Outcome:
        into = self.outcome if into is None else into
        obs = self.obs if obs is None else obs
        self._launch(self._advance, self._all, actions, into, obs)
        self.obs = obs
        return into

    def host(self, array: Any) -> np.ndarray:
        if isinstance(array, np.ndarray):
            return array
        return array.copy_to_host() if hasattr(array, "copy_to_host") else array.detach().cpu().numpy()

    # ------------------------------------------------------------------ the machine

    def _allocate(self, seed: int) -> None:
        env, n = self.env, self.num_envs
        self.games = self._structured(np.zeros(n, env.state))
        self.streams = self._structured(streams(seed, n))
        self.books = self._structured(np.zeros(n, books_dtype(env)))
        world = world_record(env)
        unused = np.zeros(1, env.state)  # a kernel takes no None; the text names what is there and nothing else
        self.world = self._structured(unused if world is None else world)
        self.scratch = self._structured(unused if env.scratch is None else np.zeros(n, env.scratch))
        self.actions = self._tensor((n, *env.action_shape), env.action_dtype)
        self.outcome = Outcome(self._tensor((n,), np.float32), self._tensor((n,), np.bool_), self._tensor((n,), np.bool_))
        self.obs = {name: self._tensor((n, *box.shape), box.dtype) for name, box in env.parts.items()}
        self.last = {name: self._tensor((n, *box.shape), box.dtype) for name, box in env.parts.items()}
        self._all = self._tensor((n,), np.bool_)
        self._all[...] = True

    def _structured(self, array: np.ndarray) -> Any:
        return array if self._simulated else self._cuda.to_device(array)

    def _tensor(self, shape: tuple[int, ...], dtype: Any) -> Any:
        import torch

        return torch.zeros(shape, dtype=getattr(torch, {"bool": "bool"}.get(np.dtype(dtype).name, np.dtype(dtype).name)), device=self.device)

    def _put(self, array: Any, values: np.ndarray) -> None:
        import torch

        if isinstance(array, torch.Tensor):
            array.copy_(torch.from_numpy(np.ascontiguousarray(values)))
        elif isinstance(array, np.ndarray):
            array[...] = values
        else:
            array.copy_to_device(values)

    def _make_loops(self) -> tuple[Any, Any]:
        cuda = self._cuda
        jit = None if self._simulated else cuda.jit(device=True, forceinline=True)
        env = self.env
        scope = build(env, jit, loop_source(env, self.final_observations))
        threads = SIMULATED_THREADS if self._simulated else THREADS
        text = picture_kernels(env, self.final_observations) if env.painted else game_kernels(env, threads)
        kernels = write(env.name, text, {**scope, "cuda": cuda, "np": np})
        return cuda.jit(kernels["begin"]), cuda.jit(kernels["advance"])

    def _warm_up(self) -> None:
        nobody = self._tensor((self.num_envs,), np.bool_)
        with explained(self.env), nullcontext() if self._simulated else _exact_arithmetic():
            for kernel in (self._begin, self._advance):
                self._launch(kernel, nobody, self.actions, self.outcome, self.obs)
        if not self._simulated:
            self._cuda.synchronize()

    def _launch(self, kernel: Any, only: Any, actions: Any, into: Outcome, obs: Obs) -> None:
        args = (self.games, self.streams, self.books, self.world, self.scratch, actions, *into, *obs.values(), *self.last.values())
        if self._simulated:
            games, streams_, books, world, scratch, acts, *rows = args
            args = as_python_reads(games, streams_, books, world, scratch, _array(acts), *(Cells(_array(row)) for row in rows))
            kernel[self._grid(SIMULATED_THREADS)](self.num_envs, Cells(_array(only)), *args)
            return
        import torch

        stream = self._cuda.external_stream(torch.cuda.current_stream().cuda_stream)
        kernel[(*self._grid(THREADS), stream)](self.num_envs, self._view(only), *(self._view(a) for a in args))

    def _grid(self, threads: int) -> tuple[int, int]:
        return (self.num_envs if self.env.painted else -(-self.num_envs // threads), threads)

    def _view(self, array: Any) -> Any:
        """Numba's view of a tensor; making one costs more than a launch, so rows that come round again are remembered."""
        if array is None or not hasattr(array, "data_ptr"):
            return array
        key = (array.data_ptr(), tuple(array.shape), array.dtype)
        if key not in self._views:
            if len(self._views) > 4096:
                self._views.clear()
            self._views[key] = self._cuda.as_cuda_array(array)
        return self._views[key]


def _array(tensor: Any) -> np.ndarray:
    return tensor if isinstance(tensor, np.ndarray) else tensor.numpy()


def game_kernels(env: Env, threads: int) -> str:
    """The text of the kernels of a game without pictures: one thread a game.

    Small rows are written to the block's shared memory and copied out together: neighbouring threads then write neighbouring bytes. (Written straight to
    its row, each number costs a transaction of its own; measured on an H200 in `benchmarks/gpu_stepping.py`.)
    """
    names = ", ".join(arguments(env))
    staged = {name: box for name, box in env.parts.items() if len(box.shape) == 1 and box.shape[0] * box.dtype.itemsize <= STAGED_BYTES}
    seen = ", ".join(f"stage_{n.removeprefix('now_')}" if n.removeprefix("now_") in staged and n.startswith("now_") else n for n in arguments(env))
    mixed = "lane" if len(staged) == len(env.parts) else "i"
    if mixed == "i":  # a row is staged as a whole or not at all
        staged, seen = {}, names
    start = "    i = np.uint64(cuda.grid(1))\n    lane = np.uint32(cuda.threadIdx.x)\n    first = cuda.blockIdx.x * cuda.blockDim.x\n"
    rooms = "".join(
        f"    stage_{n} = cuda.shared.array(({threads}, {_odd_words(box)}), np.{box.dtype.name if box.dtype != bool else 'bool_'})[:, :{box.shape[0]}]\n"
        for n, box in staged.items()
    )
    copied = "    cuda.syncthreads()\n" if staged else ""
    for n, box in staged.items():
        width = box.shape[0]
        copied += (
            f"    for p in range(lane, min({threads}, n - first) * {width}, {threads}):\n"
            f"        if only[first + p // {width}]:\n"
            f"            now_{n}[first + p // {width}, p % {width}] = stage_{n}[p // {width}, p % {width}]\n"
        )
    show = f"        show(i, i, {mixed}, {seen})\n{copied}"
    return (
        f"def begin(n, only, {names}):\n{start}{rooms}    if i < n and only[i]:\n        restart(i, i, {names})\n{show}\n"
        f"def advance(n, only, {names}):\n{start}{rooms}"
        f"    if i < n and only[i]:\n        if play(i, i, {names}):\n            restart(i, i, {names})\n{show}"
    )


def _odd_words(box: Any) -> int:
    """A row's width in shared memory: an odd number of 4-byte words, so that the threads of a warp use different banks."""
    each = box.dtype.itemsize
    words = -(-box.shape[0] * each // 4) | 1
    return words * 4 // each


def picture_kernels(env: Env, final_observations: bool) -> str:
    """The text of the kernels of a game with a picture: a block a game, whose first thread plays while the others wait, and all draw."""
    names = ", ".join(arguments(env))
    shared = "world[0]" if env.world else "None"
    kept = "    if terminated[i] or truncated[i]:\n" if final_observations else "    if truncated[i]:\n"
    start = "    i = cuda.blockIdx.x\n    lane = cuda.threadIdx.x\n    lanes = cuda.blockDim.x\n    if i >= n or not only[i]:\n        return\n"
    show = (
        f"    if lane == 0:\n        show(i, i, i, {names})\n"
        "    cuda.syncthreads()\n"
        f"    paint_shared(games[i], now_{env.painted}[i], {shared}, lane, lanes)\n"
    )
    return (
        f"def begin(n, only, {names}):\n{start}"
        f"    if lane == 0:\n        restart(i, i, {names})\n    cuda.syncthreads()\n{show}\n"
        f"def advance(n, only, {names}):\n{start}"
        f"    if lane == 0:\n        play(i, i, {names})\n"
        f"    cuda.syncthreads()\n{kept}"
        f"        paint_shared(games[i], last_{env.painted}[i], {shared}, lane, lanes)\n"
        "        cuda.syncthreads()\n"
        f"    if lane == 0 and (terminated[i] or truncated[i]):\n        restart(i, i, {names})\n"
        f"    cuda.syncthreads()\n{show}"
    )


@contextmanager
def _exact_arithmetic() -> Iterator[None]:
    """While a kernel is compiled: no fused multiply-adds, which round once where the other machines round twice.

    Two compilers are told: NVVM, and the assembler behind the linker, which would fuse `mul.rn` and `add.rn` again (seen with CUDA 13 on an H200).
    """
    from numba.cuda.cudadrv import driver, nvvm

    compile_ir, options_of_linker = nvvm.compile_ir, driver.LinkerOptions
    nvvm.compile_ir = lambda llvmir, **options: compile_ir(llvmir, **{"fma": False, **options})
    driver.LinkerOptions = lambda **options: options_of_linker(**{"ptxas_options": "-fmad=false", **options})
    try:
        yield
    finally:
        nvvm.compile_ir, driver.LinkerOptions = compile_ir, options_of_linker
