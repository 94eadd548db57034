"""MLPs on the CPU in one native call: acting, and Q-learning updates, on the very arena torch's modules view.

A small network's update is bound by the cost of calling torch some forty times, not by its arithmetic. Here the products go straight to BLAS and the rest
is compiled, so what is left is the arithmetic. The numbers are those of the torch form within rounding, and a test holds them to it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import torch
from torch import nn

from hotloop.engine.binding import bind, digest
from hotloop.engine.cache import keep_on_disk
from hotloop.engine.networks import Network
from hotloop.engine.random import random as random_draw

NATIVE: Any = {"error_model": "numpy", "nogil": True, "fastmath": {"contract", "reassoc", "nsz", "arcp"}}  # NaN and infinity stay what they are


NO_MASK = np.zeros((0, 0), np.bool_)  # a game without one: every action is allowed


TINY = np.float32(1e-30)  # where a unit is dead its moments would decay into denormals, at 150 cycles an operation (measured: updates 2.5 times slower)


class Layers(NamedTuple):
    """An arena as products need it: one matrix and one vector a layer, views of the same memory."""

    weights: tuple[np.ndarray, ...]  # [out, in]
    biases: tuple[np.ndarray, ...]  # [out]


class Moments(NamedTuple):
    """Adam's state over the whole arena."""

    parameters: np.ndarray
    gradients: np.ndarray
    first: np.ndarray
    second: np.ndarray
    updates: np.ndarray  # [1] how many were made


def layers_of(network: Network, of: torch.Tensor | None = None) -> Layers:
    """Views of an arena (the network's own, or a tensor of the same shape) as layers."""
    flat = (network.arena.data if of is None else of).numpy()
    weights, biases, at = [], [], 0
    for module in network.mlp:
        if isinstance(module, nn.Linear):
            size = module.weight.numel()
            weights.append(flat[at : at + size].reshape(module.weight.shape))
            biases.append(flat[at + size : at + size + module.bias.numel()])
            at += size + module.bias.numel()
    return Layers(tuple(weights), tuple(biases))


def room_for(layers: Layers, rows: int) -> tuple[np.ndarray, ...]:
    """Room for the input and the output of every layer."""
    widths = [layers.weights[0].shape[1], *(w.shape[0] for w in layers.weights)]
    return tuple(np.zeros((rows, width), np.float32) for width in widths)


_random = bind(random_draw.__compiled__, numba.njit(**NATIVE))


@numba.njit(**NATIVE)
def forward(weights, biases, room):
    """room[0] holds the input; every layer's output lands in the next."""
    for layer in range(len(weights)):
        out = room[layer + 1]
        np.dot(room[layer], weights[layer].T, out)
        bias = biases[layer]
        if layer < len(weights) - 1:
            for i in range(out.shape[0]):
                for k in range(out.shape[1]):
                    out[i, k] = max(out[i, k] + bias[k], np.float32(0.0))
        else:
            for i in range(out.shape[0]):
                for k in range(out.shape[1]):
                    out[i, k] += bias[k]


@numba.njit(**NATIVE)
def load(obs, scale, out):
    """Observations [B, width] of any type into the first layer's input."""
    for i in range(out.shape[0]):
        for k in range(out.shape[1]):
            out[i, k] = np.float32(obs[i, k]) * scale


@numba.njit(**NATIVE)
def best(values, allowed, row):
    """The index of the highest value among those allowed; the first of equals."""
    chosen = -1
    for k in range(values.shape[1]):
        if (allowed.size == 0 or allowed[row, k]) and (chosen < 0 or values[row, k] > values[row, chosen]):
            chosen = k
    return max(chosen, 0)


@numba.njit(**NATIVE)
def act(obs, scale, allowed, weights, biases, room, luck, epsilon, actions):
    """Epsilon-greedy actions for a row of games; each game draws from a stream of its own."""
    load(obs, scale, room[0])
    forward(weights, biases, room)
    values = room[len(room) - 1]
    for i in range(len(actions)):
        if epsilon > 0.0 and _random(luck[i]) < epsilon:
            actions[i] = any_allowed(_random(luck[i]), allowed, i, values.shape[1])
        else:
            actions[i] = best(values, allowed, i)


@numba.njit(**NATIVE)
def any_allowed(draw, allowed, row, count):
    """A uniform draw in [0, 1) as one of the actions allowed."""
    if allowed.size == 0:
        return int(draw * count)
    open_to = 0
    for k in range(count):
        open_to += allowed[row, k]
    nth = int(draw * open_to)
    for k in range(count):
        if allowed[row, k]:
            if nth == 0:
                return k
            nth -= 1
    return 0


@numba.njit(**NATIVE)
def q_targets(next_obs, next_allowed, rewards, terminated, scale, discount, double, online, target, room, target_room, targets):
    """reward + discount · value of what follows; nothing follows a death. Double: the online network chooses, the target network values."""
    load(next_obs, scale, target_room[0])
    forward(target.weights, target.biases, target_room)
    values = target_room[len(room) - 1]
    chooser = values
    if double:
        load(next_obs, scale, room[0])
        forward(online.weights, online.biases, room)
        chooser = room[len(room) - 1]
    for i in range(len(targets)):
        follows = np.float32(0.0) if terminated[i] else values[i, best(chooser, next_allowed, i)]
        targets[i] = rewards[i] + discount * follows


@numba.njit(**NATIVE)
def huber(values, actions, targets, slopes):
    """The mean loss of a batch, and its slope at every value of the last layer."""
    count = len(actions)
    loss = np.float32(0.0)
    slopes[:] = np.float32(0.0)
    for i in range(count):
        error = values[i, actions[i]] - targets[i]
        size = abs(error)
        loss += np.float32(0.5) * error * error if size < 1.0 else size - np.float32(0.5)
        slopes[i, actions[i]] = min(max(error, np.float32(-1.0)), np.float32(1.0)) / np.float32(count)
    return loss / np.float32(count)


@numba.njit(**NATIVE)
def backward(layers, gradients, room, slopes):
    """From the slopes at the last layer to the gradient of every parameter."""
    for layer in range(len(layers.weights) - 1, -1, -1):
        slope = slopes[layer]
        np.dot(slope.T, room[layer], gradients.weights[layer])
        bias = gradients.biases[layer]
        bias[:] = np.float32(0.0)
        for i in range(slope.shape[0]):
            for k in range(slope.shape[1]):
                bias[k] += slope[i, k]
        if layer > 0:
            below, seen = slopes[layer - 1], room[layer]
            np.dot(slope, layers.weights[layer], below)
            for i in range(below.shape[0]):
                for k in range(below.shape[1]):
                    below[i, k] = below[i, k] if seen[i, k] > 0 else np.float32(0.0)


@numba.njit(**NATIVE)
def adam(moments, learning_rate, max_norm):
    """One step of Adam (betas .9 and .999, epsilon 1e-8) after scaling the gradient down to `max_norm`; 0: as it is."""
    w, g, m, v = moments.parameters, moments.gradients, moments.first, moments.second
    scale = np.float32(1.0)
    if max_norm > 0:
        square = np.float32(0.0)
        for k in range(len(g)):
            square += g[k] * g[k]
        scale = np.float32(min(1.0, max_norm / (np.sqrt(square) + 1e-6)))
    moments.updates[0] += 1
    count = moments.updates[0]
    step = np.float32(learning_rate / (1.0 - 0.9**count))
    spread = np.float32(1.0 / np.sqrt(1.0 - 0.999**count))
    for k in range(len(w)):
        gradient = g[k] * scale
        mean = m[k] + (gradient - m[k]) * np.float32(0.1)
        square = v[k] * np.float32(0.999) + gradient * gradient * np.float32(0.001)
        m[k] = np.float32(0.0) if abs(mean) <= TINY else mean  # in this order NaN, which compares as false, stays
        v[k] = np.float32(0.0) if square <= TINY else square
        w[k] -= step * m[k] / (np.sqrt(v[k]) * spread + np.float32(1e-8))


@numba.njit(**NATIVE)
def q_learn(batch, scale, online, target, gradients, moments, target_arena, room, target_room, slopes, targets, settings, sums):
    """`count` updates in a row, each on its own batch; the target network follows every `target_interval` updates."""
    obs, actions, rewards, next_obs, next_allowed, terminated = batch
    discount, double, learning_rate, max_norm, target_interval, updates = settings
    for u in range(len(actions)):
        q_targets(next_obs[u], next_allowed[u], rewards[u], terminated[u], scale, discount, double, online, target, room, target_room, targets)
        load(obs[u], scale, room[0])
        forward(online.weights, online.biases, room)
        values = room[len(room) - 1]
        sums[0] += huber(values, actions[u], targets, slopes[len(slopes) - 1])
        sums[1] += np.mean(values)
        sums[2] += np.float32(1.0)
        backward(online, gradients, room, slopes)
        adam(moments, learning_rate, max_norm)
        if (updates + u + 1) % target_interval == 0:
            target_arena[:] = moments.parameters


for _function in (act, q_learn):
    keep_on_disk(_function, f"native-{_function.py_func.__name__}-{digest(_function.py_func, sorted(NATIVE['fastmath']))}")


class NativeQ:
    """A plain MLP's acting and learning on the CPU; shares every number with the torch form, so the two can take turns."""

    def __init__(self, network: Network, target: Network, moments: dict[str, torch.Tensor], num_envs: int, luck: np.ndarray) -> None:
        self._scale = np.float32(next(iter(network.bodies.values())).scale)
        self._part = next(iter(network.bodies))
        self._online, self._target, self._target_arena = layers_of(network), layers_of(target), target.arena.data.numpy()
        assert network.arena.grad is not None
        self._gradients = layers_of(network, network.arena.grad)
        first, second, updates = moments["first"].numpy(), moments["second"].numpy(), moments["updates"].numpy()
        self._moments = Moments(network.arena.data.numpy(), network.arena.grad.numpy(), first, second, updates)
        self._acting, self._luck, self._flat = room_for(self._online, num_envs), luck, (num_envs, -1)
        self._rooms: dict[int, tuple[Any, ...]] = {}

    def act(self, obs: dict[str, np.ndarray], epsilon: float, actions: np.ndarray) -> None:
        seen = obs[self._part].reshape(self._flat)
        act(seen, self._scale, obs.get("allowed", NO_MASK), self._online.weights, self._online.biases, self._acting, self._luck, epsilon, actions)

    def learn(self, batch: Any, settings: tuple, sums: np.ndarray) -> None:
        """`settings`: discount, double, learning_rate, max_norm, target_interval, updates so far. Adds loss, mean value and 1 for each update to `sums`."""
        count, size = batch.rewards.shape
        if size not in self._rooms:
            room, target_room = room_for(self._online, size), room_for(self._target, size)
            self._rooms[size] = room, target_room, room_for(self._online, size)[1:], np.zeros(size, np.float32)
        arrays = self._arrays(batch, count, size)
        discount, double, learning_rate, max_norm, target_interval, updates = settings
        plain = (np.float32(discount), bool(double), float(learning_rate), float(max_norm), int(target_interval), int(updates))
        networks = (self._online, self._target, self._gradients, self._moments, self._target_arena)
        q_learn(arrays, self._scale, *networks, *self._rooms[size], plain, sums)

    def _arrays(self, batch: Any, count: int, size: int) -> tuple:
        seen, following = (parts[self._part].numpy().reshape(count, size, -1) for parts in (batch.obs, batch.next_obs))
        next_allowed = batch.next_obs["allowed"].numpy() if "allowed" in batch.next_obs else np.zeros((count, 0, 0), np.bool_)
        return seen, batch.actions.numpy(), batch.rewards.numpy(), following, next_allowed, batch.terminated.numpy()
