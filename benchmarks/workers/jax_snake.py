"""Snake in JAX, as its users write it: state is data, the rules are pure functions, a whole rollout is one jit.

The same rules, start, rewards ("plain") and 16 features as hotloop's snake(features="compact"); food is uniform over the free cells.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

SIZE = 10
CELLS = SIZE * SIZE
MIDDLE = (SIZE // 2) * SIZE + SIZE // 2


class State(NamedTuple):
    taken: jax.Array  # [CELLS] bool
    body: jax.Array  # [CELLS] ring of cells
    head: jax.Array
    tail: jax.Array
    length: jax.Array
    heading: jax.Array
    food: jax.Array
    age: jax.Array


def place_food(taken, length, draw):
    """The free cell of a uniform rank."""
    rank = (draw * (CELLS - length)).astype(jnp.int32)
    return jnp.argmax(jnp.cumsum(~taken) == rank + 1).astype(jnp.int16)


def fresh(draw):
    taken = jnp.zeros(CELLS, bool).at[MIDDLE - 2 : MIDDLE + 1].set(True)
    body = jnp.zeros(CELLS, jnp.int16).at[:3].set(jnp.arange(MIDDLE - 2, MIDDLE + 1, dtype=jnp.int16))
    small = partial(jnp.asarray, dtype=jnp.int16)
    return State(taken, body, small(2), small(0), small(3), small(1), place_food(taken, 3, draw), jnp.int32(0))


def step(s, action, draw, max_steps):
    heading = (s.heading + action - 1) & 3
    at = s.body[s.head]
    row = at // SIZE + (heading == 2) - (heading == 0)
    column = at % SIZE + (heading == 1) - (heading == 3)
    outside = (row < 0) | (row >= SIZE) | (column < 0) | (column >= SIZE)
    cell = jnp.clip(row * SIZE + column, 0, CELLS - 1)
    eats = (cell == s.food) & ~outside
    tail_cell = s.body[s.tail]
    taken = s.taken.at[tail_cell].set(s.taken[tail_cell] & eats)
    dies = outside | taken[cell]
    head = (s.head + 1) % CELLS
    taken = taken.at[cell].set(True)
    length = s.length + eats
    full = length == CELLS
    food = jnp.where(eats & ~full, place_food(taken, length, draw), s.food)
    tail = jnp.where(eats, s.tail, (s.tail + 1) % CELLS)
    age = s.age + 1
    moved = State(taken, s.body.at[head].set(cell.astype(jnp.int16)), head, tail, length, heading.astype(jnp.int16), food, age)
    reward = jnp.where(dies, -1.0, jnp.where(eats, 1.0, -0.01))
    ended = dies | full
    over = ended | (age >= max_steps)
    reset = fresh(draw)
    after = jax.tree.map(lambda a, b: jnp.where(over, a, b), reset, moved)
    return after, reward, ended, over


def observe(s):
    at = s.body[s.head]
    y, x = at // SIZE, at % SIZE
    fy, fx = s.food // SIZE, s.food % SIZE
    directions = (s.heading + jnp.arange(4)) & 3
    ny, nx = y + (directions == 2) - (directions == 0), x + (directions == 1) - (directions == 3)
    outside = (nx < 0) | (nx >= SIZE) | (ny < 0) | (ny >= SIZE)
    danger = outside | s.taken[jnp.clip(ny * SIZE + nx, 0, CELLS - 1)]
    numbers = jnp.stack([(fy - y) / SIZE, (fx - x) / SIZE, s.length / CELLS, jnp.zeros(())])
    sides = jnp.stack([fy < y, fy > y, fx < x, fx > x])
    return jnp.concatenate([danger.astype(jnp.float32), jax.nn.one_hot(s.heading, 4), sides.astype(jnp.float32), numbers.astype(jnp.float32)])


@partial(jax.jit, static_argnums=(3,))
def rollout(states, actions, key, max_steps):
    """Every game, every action of [T, N]: states after, and sums that keep XLA from leaving work out."""

    def one(carry, acts):
        states, key, seen = carry
        key, now = jax.random.split(key)
        draws = jax.random.uniform(now, (acts.shape[0],))
        states, rewards, ended, over = jax.vmap(partial(step, max_steps=max_steps))(states, acts, draws)
        obs = jax.vmap(observe)(states)
        return (states, key, obs), (rewards, ended, over)

    start = jax.vmap(observe)(states)
    (states, key, obs), (rewards, ended, over) = jax.lax.scan(one, (states, key, start), actions)
    return states, obs, rewards, ended, over


def begin(count, seed=0):
    return jax.jit(jax.vmap(fresh))(jax.random.uniform(jax.random.PRNGKey(seed), (count,)))
