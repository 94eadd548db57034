"""Networks: torch modules built from what an environment shows, their parameters in one flat arena.

One arena means one optimiser call, one gradient norm, one copy for the target network, and memory that the native CPU path reads as it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from gymnasium.spaces import Box
from torch import nn

PICTURE_SIDE = 64  # from here on a picture gets the large strides of Atari's network


class Network(nn.Module):
    """Every observed part through a body of its own, then an MLP, then one value for each output."""

    def __init__(self, parts: Mapping[str, Box], outputs: int, hidden: Sequence[int]) -> None:
        super().__init__()
        self.bodies = {name: body(box) for name, box in parts.items() if name != "allowed"}
        self.registered = nn.ModuleList(self.bodies.values())  # a ModuleDict refuses names like "items" and "a.b"
        widths = [sum(b.width for b in self.bodies.values()), *hidden, outputs]
        layers: list[nn.Module] = []
        for before, after in zip(widths, widths[1:], strict=False):
            layers += [nn.Linear(before, after), nn.ReLU()]
        self.mlp = nn.Sequential(*layers[:-1])
        self.arena = into_arena(self)

    def forward(self, obs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        seen = [part(obs[name]) for name, part in self.bodies.items()]
        return self.mlp(seen[0] if len(seen) == 1 else torch.cat(seen, 1))

    @property
    def is_plain_mlp(self) -> bool:
        """One flat observation and linear layers: what the native CPU path can run."""
        return len(self.bodies) == 1 and all(isinstance(part, Flat) for part in self.bodies.values())


def body(box: Box) -> Flat | Picture:
    """What reads one part of an observation."""
    assert box.shape is not None
    picture = box.dtype == np.uint8 and len(box.shape) in (2, 3) and min(box.shape[-2:]) >= 5
    return Picture(box) if picture else Flat(box)


class Flat(nn.Module):
    """Numbers as they are; bytes scaled to 0 … 1 by the highest they may be."""

    def __init__(self, box: Box) -> None:
        super().__init__()
        self.width = math.prod(box.shape)
        self.scale = byte_scale(box)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.flatten(1).float()
        return x if self.scale == 1.0 else x * self.scale


class Picture(nn.Module):
    """Convolutions: Atari's for large pictures, 3×3 without strides for boards."""

    def __init__(self, box: Box) -> None:
        super().__init__()
        shape = box.shape if len(box.shape) == 3 else (1, *box.shape)
        self.shape, self.scale = shape, byte_scale(box)
        kernels = [(16, 3, 1, 1), (32, 3, 1, 1)]
        if min(shape[-2:]) >= PICTURE_SIDE:
            kernels = [(32, 8, 4, 0), (64, 4, 2, 0), (64, 3, 1, 0)]
        channels, layers = shape[0], list[nn.Module]()
        for outputs, size, stride, padding in kernels:
            layers += [nn.Conv2d(channels, outputs, size, stride, padding), nn.ReLU()]
            channels = outputs
        self.layers = nn.Sequential(*layers, nn.Flatten())
        with torch.no_grad():
            self.width = self.layers(torch.zeros(1, *shape)).shape[1]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x.view(-1, *self.shape).float() * self.scale)


def byte_scale(box: Box) -> float:
    return 1.0 / max(1.0, float(box.high.max())) if box.dtype == np.uint8 else 1.0


def into_arena(module: nn.Module) -> nn.Parameter:
    """Move a module's parameters and gradients into one flat tensor each; the module keeps views of them."""
    parameters = list(module.parameters())
    flat = nn.Parameter(torch.cat([p.detach().reshape(-1) for p in parameters]))
    flat.grad = torch.zeros_like(flat)
    at = 0
    for p in parameters:
        p.data = flat.data[at : at + p.numel()].view_as(p)
        p.grad = flat.grad[at : at + p.numel()].view_as(p)
        at += p.numel()
    return flat


def to_device(module: Network, device: torch.device) -> Network:
    """A module on a device, its arena made anew there."""
    del module.arena
    module.to(device)
    module.arena = into_arena(module)
    return module
