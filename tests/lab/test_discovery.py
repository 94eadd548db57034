"""Discovery: what behaves like a step, a store, a sample; and how many games and ends an answer tells of."""

import types

import numpy as np
import pytest
import torch

from hotloop.lab.inside.discovery import Discovery, Ends, looks_like_a_batch, looks_like_a_step, objects_in
from hotloop.lab.inside.events import SAMPLE, STEP, STORE

YES, NO = np.bool_(True), np.bool_(False)


class Game:
    def move(self, actions):
        return np.zeros((4, 3)), np.ones(4), np.array([False, True, False, False]), [{}] * 4


def batch():
    return np.zeros((4, 3)), np.ones(4), np.array([False, True, False, False])


class Memory:
    def push(self, seen, action, after):
        """Keeps what it is given, and says nothing."""

    def shape(self, seen, reward, over):
        return seen.sum() + reward.sum()

    def draw(self):
        return batch()

    def ask(self, network, seen):
        values = network(seen)
        return values, values + 1, values + 2


class Clock:
    """Stands still until it is told that the look is over."""

    now = 1.0

    def __call__(self):
        return self.now


@pytest.fixture
def look():
    """Looks at what a function does, as if it were a whole script, and gives what was found."""
    found, clock = [], Clock()

    def look(script, **known):
        discovery = Discovery(found.append, pytest.fail, clock=clock, **known)
        discovery.open()
        try:
            script()
            clock.now += 10.0
            for _ in range(300):
                script()
                if found:
                    break
        finally:
            discovery.stop()
        return {code.co_name: kind for code, kind in found[0].kinds.items()}

    return look


def play(game, memory):
    seen = np.zeros((4, 3))
    for _ in range(6):
        after, rewards, dones, _ = game.move([0, 1, 0, 1])
        for row in range(4):
            memory.push(seen[row], 1, after[row])
        memory.shape(after, rewards, dones)
        seen = after
        memory.draw()


def test_a_batch_of_transitions_is_no_step_of_many_games_for_nobody_told_it_actions(look):
    kinds = look(lambda: play(Game(), Memory()))
    assert kinds == {"move": STEP, "push": STORE, "draw": SAMPLE, "batch": SAMPLE}


def test_the_same_with_the_batch_told_as_much_is_taken_for_a_step(look):
    """The saboteur: what keeps the two apart is what they are called with."""

    class Told(Memory):
        def draw(self, actions=(1, 2, 3, 4)):
            return batch()

    assert look(lambda: play(Game(), Told()))["draw"] == STEP


def test_what_a_network_computed_was_never_remembered(look):
    network, seen = torch.nn.Linear(3, 4), torch.zeros(5, 3)
    memory = Memory()
    assert "ask" not in look(lambda: [memory.ask(network, seen) for _ in range(6)], steps_are_known=False)


def test_the_same_without_a_network_is_a_sample(look):
    memory = Memory()
    assert look(lambda: [memory.ask(lambda seen: seen * 2.0, np.zeros((5, 3))) for _ in range(6)])["ask"] == SAMPLE


@pytest.mark.parametrize(
    ("answer", "games", "ended"),
    [
        (("seen", 1.0, True, {}), 1, 1),
        (("seen", 1.0, False, True, {}), 1, 1),
        ((1.0, NO, "score"), 1, 0),
        ((None, np.ones(3), np.array([True, False, True]), [{}] * 3), 3, 2),
        ((None, np.ones(2), np.array([True, False]), np.array([True, False]), {}), 2, 1),
        ((None, [0.0, 1.0], [True, False], [{}, {}]), 2, 1),
        (({}, {"a": 1.0, "b": 0.0}, {"a": True, "b": False}, {"a": False, "b": False}, {}), 1, 0),
        (({}, {"a": 1.0, "b": 0.0}, {"a": True, "b": False}, {"a": False, "b": True}, {}), 1, 1),
        (({}, {"a": 1.0}, {"a": False, "__all__": True}, {"a": False, "__all__": False}, {}), 1, 1),
        ({"loss": 1.0}, 0, 0),
    ],
)
def test_games_and_ends_are_read_from_any_shape_of_answer(answer, games, ended):
    assert Ends().count(answer) == (games, ended)


def test_an_env_beside_a_vector_of_them_is_counted_by_its_own_shape():
    ends = Ends()
    vector = (None, np.ones(2), np.array([True, True]), np.array([False, False]), {})
    assert [ends.count(vector), ends.count((None, 1.0, True, False, {})), ends.count(vector)] == [(2, 2), (1, 1), (2, 2)]


def test_a_step_of_dm_env_that_begins_an_episode_is_none():
    def timestep(first, last):
        return types.SimpleNamespace(step_type=1, first=lambda: first, last=lambda: last)

    assert [Ends().count(timestep(*kind)) for kind in ((True, False), (False, False), (False, True))] == [(0, 0), (1, 0), (1, 1)]


def test_players_that_leave_the_table_play_no_more_steps():
    """Two players in turn: the end of both is told by the last move; then each is taken off by a step that plays nothing."""
    nobody = {"a": False, "b": False}
    ends, env = Ends(), types.SimpleNamespace(agent_selection="a", agents=["a", "b"], terminations=nobody, truncations=nobody)
    told = [ends.count(None, env)]
    env.terminations = {"a": True, "b": True}
    told.append(ends.count(None, env))
    for agents in (["b"], []):
        env.agents = agents
        told.append(ends.count(None, env))
    env.agents, env.terminations = ["a", "b"], nobody
    told.append(ends.count(None, env))
    assert told == [(1, 0), (1, 1), (0, 0), (0, 0), (1, 0)]
    assert ends.count(("seen", 1.0, False, False, {}), env) == (0, 0)  # a look, and no move


def test_a_step_is_a_reward_and_an_end():
    steps = [("seen", 1.0, True), ([0.0], [1.0, 2.0], [True, False]), ({}, {"a": 1.0}, {"a": True}), (1.0, YES)]
    others = [("seen", 1.0), (True, False), ("seen", "reward", True), ({"a": 1.0}, {}), [1.0, True]]
    assert [looks_like_a_step(value) for value in steps + others] == [True] * 4 + [False] * 5


def test_a_batch_is_several_things_of_one_length():
    assert looks_like_a_batch(([0] * 4, (1,) * 4, np.zeros(4))) and not looks_like_a_batch(([0] * 4, [1] * 5, np.zeros(4)))


def test_parts_of_an_answer_are_known_again_by_player_too():
    seen, reward = np.zeros(3), 0.5
    assert objects_in(({"a": seen}, reward, {"a": True}, {})) == [seen, reward, {}]
