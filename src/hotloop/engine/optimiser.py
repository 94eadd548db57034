"""Adam over an arena, as a handful of operations on whole tensors; nothing in it looks at a value on the host."""

from __future__ import annotations

import torch

FIRST, SECOND, EPSILON = 0.9, 0.999, 1e-8


class Adam:
    """Its state is three tensors, shared with the native form: the moments and how many updates were made."""

    def __init__(self, arena: torch.nn.Parameter) -> None:
        self.arena = arena
        self.first, self.second = torch.zeros_like(arena.data), torch.zeros_like(arena.data)
        self.updates = torch.zeros(1, dtype=torch.int64, device=arena.device)

    @torch.no_grad()
    def step(self, learning_rate: float, max_norm: float = 0.0) -> None:
        """One update from the arena's gradient, scaled down to `max_norm` first; 0: as it is."""
        gradient = self.arena.grad
        assert gradient is not None
        if max_norm > 0:
            gradient = gradient * (max_norm / (gradient.norm() + 1e-6)).clamp(max=1.0)
        self.updates += 1
        step = learning_rate / (1.0 - FIRST**self.updates)
        spread = (1.0 - SECOND**self.updates).rsqrt()
        self.first.lerp_(gradient, 1.0 - FIRST)
        self.second.mul_(SECOND).addcmul_(gradient, gradient, value=1.0 - SECOND)
        self.arena.sub_(step * self.first / (self.second.sqrt() * spread + EPSILON))

    def tensors(self) -> dict[str, torch.Tensor]:
        return {"first": self.first, "second": self.second, "updates": self.updates}
