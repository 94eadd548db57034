"""Adam over an arena is torch's Adam."""

import torch

from hotloop.engine.env import Box
from hotloop.engine.networks import Network
from hotloop.engine.optimiser import Adam


def test_it_takes_the_same_steps_as_torch():
    torch.manual_seed(0)
    mine, theirs = (Network({"obs": Box(0, 1, (5,))}, 2, (16,)) for _ in range(2))
    theirs.arena.data.copy_(mine.arena.data)
    adam, reference = Adam(mine.arena), torch.optim.Adam([theirs.arena], lr=3e-3)
    for k in range(20):
        gradient = torch.randn(mine.arena.shape, generator=torch.Generator().manual_seed(k))
        norm = min(1.0, 0.5 / (float(gradient.norm()) + 1e-6))
        mine.arena.grad.copy_(gradient)
        theirs.arena.grad.copy_(gradient * norm)
        adam.step(3e-3, max_norm=0.5)
        reference.step()
    torch.testing.assert_close(mine.arena.data, theirs.arena.data, rtol=1e-5, atol=1e-6)


def test_a_network_lives_in_its_arena():
    network = Network({"obs": Box(0, 1, (5,))}, 2, (16,))
    network.arena.data.zero_()
    assert all(not p.any() for p in network.parameters())
    network({"obs": torch.ones(3, 5)}).sum().backward()
    assert network.arena.grad[-2:].tolist() == [3.0, 3.0]  # the last layer's bias
