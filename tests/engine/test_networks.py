"""Networks: one arena that the modules view, bytes scaled, a body for every part, numbers worked by hand."""

import numpy as np
import pytest
import torch

from hotloop.engine.env import Box
from hotloop.engine.networks import Flat, Network, Picture, body, byte_scale, to_device

BYTES = np.uint8
MIXED = {"place": Box(-1, 1, (3,)), "board": Box(0, 4, (6, 7), BYTES), "allowed": Box(0, 1, (2,), np.bool_)}


def assert_lives_in_its_arena(network: Network) -> None:
    """Every parameter and gradient lies in the arena, one after another, and together they fill it."""
    gradients, at = network.arena.grad, 0
    for name, parameter in network.named_parameters():
        if name != "arena":
            place = 4 * at
            assert parameter.data_ptr() == network.arena.data_ptr() + place, f"{name} is a copy"
            assert parameter.grad.data_ptr() == gradients.data_ptr() + place, f"the gradient of {name} is a copy"
            assert parameter.is_contiguous()
            at += parameter.numel()
    assert at == network.arena.numel() == gradients.numel()


@pytest.mark.parametrize("parts", [{"obs": Box(0, 1, (5,))}, MIXED], ids=["plain", "mixed"])
def test_parameters_and_gradients_are_views_of_the_arena(parts):
    network = Network(parts, 2, (8, 4))
    assert_lives_in_its_arena(network)
    seen = {name: torch.ones(3, *box.shape) for name, box in parts.items()}
    network(seen).sum().backward()
    assert_lives_in_its_arena(network)
    assert network.arena.grad[-2:].tolist() == [3.0, 3.0]  # the last bias: once for each of three rows


def test_a_parameter_that_left_the_arena_is_noticed():
    network = Network({"obs": Box(0, 1, (5,))}, 2, (8,))
    network.mlp[0].weight.data = network.mlp[0].weight.data.clone()
    with pytest.raises(AssertionError, match=r"mlp\.0\.weight is a copy"):
        assert_lives_in_its_arena(network)


def test_what_is_written_in_the_arena_is_what_the_network_computes_with():
    """Two inputs, two hidden units, one output: weights 1 2 and 3 4, biases 5 and -100; then 6 7 and 8."""
    network = Network({"obs": Box(-9, 9, (2,))}, 1, (2,))
    network.arena.data.copy_(torch.tensor([1.0, 2, 3, 4, 5, -100, 6, 7, 8]))
    assert network({"obs": torch.tensor([[1.0, 10.0]])}).tolist() == [[6 * 26 + 7 * 0 + 8]]  # 1 + 20 + 5; 3 + 40 - 100 < 0


def test_a_network_moved_to_a_device_has_an_arena_there_with_the_same_numbers():
    network = Network(MIXED, 2, (8,))
    before = network.arena.data.clone()
    seen = {name: torch.ones(3, *box.shape) for name, box in MIXED.items()}
    values = network(seen)
    moved = to_device(network, torch.device("cpu"))
    assert moved is network and torch.equal(moved.arena.data, before) and not moved.arena.grad.any()
    assert_lives_in_its_arena(moved)
    assert torch.equal(moved(seen), values)


# ---------------------------------------------------------------- bodies


@pytest.mark.parametrize(
    ("box", "raw", "seen"),
    [
        (Box(0, 255, (2,), BYTES), [0, 255], [0.0, 1.0]),
        (Box(0, 4, (2,), BYTES), [1, 4], [0.25, 1.0]),
        (Box(0, 0, (2,), BYTES), [0, 0], [0.0, 0.0]),
        (Box(0, 1, (2,), np.bool_), [False, True], [0.0, 1.0]),
        (Box(-100, 5, (2,), np.int32), [-100, 5], [-100.0, 5.0]),
        (Box(-300, 300, (2,)), [-300.0, 0.5], [-300.0, 0.5]),
    ],
)
def test_bytes_are_scaled_by_the_highest_they_may_be_and_other_numbers_are_left_alone(box, raw, seen):
    assert Flat(box)(torch.from_numpy(np.array([raw], box.dtype))).tolist() == [seen]


def test_a_picture_is_scaled_before_its_convolutions():
    picture, doubled = (Picture(Box(0, high, (5, 6), BYTES)) for high in (4, 8))
    doubled.load_state_dict(picture.state_dict())
    frame = torch.randint(5, (2, 5, 6), generator=torch.Generator().manual_seed(0)).byte()
    torch.testing.assert_close(picture(frame), doubled(2 * frame))
    assert not torch.allclose(picture(frame), doubled(frame)) and byte_scale(Box(0, 8, (1,), BYTES)) == 0.125


@pytest.mark.parametrize(
    ("box", "kind", "width"),
    [
        (Box(0, 255, (4, 84, 84), BYTES), Picture, 64 * 7 * 7),  # Atari's: 84, 20, 9, 7
        (Box(0, 255, (64, 64), BYTES), Picture, 64 * 4 * 4),  # 64, 15, 6, 4
        (Box(0, 255, (63, 90), BYTES), Picture, 32 * 63 * 90),  # too small for strides
        (Box(0, 3, (3, 10, 12), BYTES), Picture, 32 * 10 * 12),
        (Box(0, 3, (5, 5), BYTES), Picture, 32 * 25),
        (Box(0, 3, (4, 9), BYTES), Flat, 36),  # a side below five
        (Box(0, 3, (2, 3, 5, 5), BYTES), Flat, 150),
        (Box(0, 1, (10, 12)), Flat, 120),  # floats are numbers, whatever their shape
    ],
)
def test_a_picture_is_two_or_three_dimensions_of_bytes_at_least_five_wide(box, kind, width):
    part = body(box)
    assert type(part) is kind and part.width == width
    assert part(torch.from_numpy(np.zeros((2, *box.shape), box.dtype))).shape == (2, width)


def test_a_board_is_a_picture_of_one_channel():
    board, frame = (Picture(Box(0, 3, shape, BYTES)) for shape in ((5, 6), (1, 5, 6)))
    frame.load_state_dict(board.state_dict())
    seen = torch.arange(30).reshape(1, 5, 6).byte() % 4
    assert torch.equal(board(seen), frame(seen[:, None]))


# ---------------------------------------------------------------- parts


def test_parts_are_laid_side_by_side_in_their_order_and_the_mask_is_not_seen():
    """The weights are 1 10 and 100: two numbers of `near`, one byte of `far`, whose highest 5 is seen as 1; the bias is a half."""
    parts = {"near": Box(-9, 9, (2,)), "far": Box(0, 5, (1,), BYTES), "allowed": Box(0, 1, (1,), np.bool_)}
    network = Network(parts, 1, ())
    network.arena.data.copy_(torch.tensor([1.0, 10, 100, 0.5]))
    seen = {"allowed": torch.tensor([[True]]), "far": torch.tensor([[5]]).byte(), "near": torch.tensor([[2.0, 3.0]])}
    assert network(seen).tolist() == [[2 + 30 + 100 + 0.5]]


@pytest.mark.parametrize("name", ["items", "keys", "type", "training", "agent.view"])
def test_a_part_may_have_any_name(name):
    """torch's own dictionary of modules refuses every one of these."""
    network = Network({name: Box(0, 1, (3,))}, 2, (4,))
    assert network({name: torch.zeros(5, 3)}).shape == (5, 2)
    assert_lives_in_its_arena(to_device(network, torch.device("cpu")))


def test_the_parameters_of_every_body_are_trained():
    parts = {"board": Box(0, 4, (5, 5), BYTES), "frame": Box(0, 4, (6, 6), BYTES)}
    torch.manual_seed(0)
    network = Network(parts, 2, (4,))
    network({name: torch.full((2, *box.shape), 4).byte() for name, box in parts.items()}).square().sum().backward()
    assert all(p.grad.any() for part in network.bodies.values() for p in part.parameters())


@pytest.mark.parametrize(
    ("parts", "plain"),
    [
        ({"obs": Box(0, 1, (5,))}, True),
        ({"obs": Box(0, 255, (2, 3), BYTES), "allowed": Box(0, 1, (2,), np.bool_)}, True),
        ({"obs": Box(0, 255, (5, 5), BYTES)}, False),
        ({"near": Box(0, 1, (5,)), "far": Box(0, 1, (5,))}, False),
    ],
)
def test_only_one_flat_part_makes_a_plain_mlp(parts, plain):
    assert Network(parts, 2, (4,)).is_plain_mlp is plain
