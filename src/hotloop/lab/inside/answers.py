"""Answers: what a function returned, read as a step's answer: of how many games, how many of them ended; or as a batch.

(obs, reward, terminated, truncated, info), (reward, over, score), arrays of a vector, tables by player, dm_env's TimeStep, a TensorDict.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

SMALLEST_BATCH = 4
FEW = 64  # games: so few bools are added up sooner in Python than by NumPy


class Ends:
    """Counts, of what a step returned, how many games it was of and how many episodes it ended. Where to look is found out once for each shape of answer."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, type, type], tuple[Callable[[tuple, tuple[int, ...]], tuple[int, int]], tuple[int, ...]]] = {}
        self._players: dict[int, int] = {}  # by env whose players step in turn: how many there were after the last step

    def count(self, result: Any, env: Any = None) -> tuple[int, int]:
        """Games stepped and episodes ended; no games where the answer is none of a step's."""
        if type(result) is not tuple or len(result) == 2:
            return self._of_an_object(result[0] if type(result) is tuple else result, env)
        shape = len(result), type(result[-2]), type(env)  # truncated, or done: a vector's are arrays, many players' a table
        known = self.known.get(shape)
        if known is None:
            known = self.known[shape] = (of_no_game, ()) if is_in_turn(env) else how_to_count(result)
        count, places = known
        return count(result, places)

    def usual(self) -> tuple[int, int, int, bool] | None:
        """Where all answers had one shape: how many parts, where the ends are (the first and the last of them), and whether those are arrays."""
        if len(self.known) != 1:
            return None
        ((parts, _, _), (count, places)), = self.known.items()
        if count not in (of_one_game, of_many_games) or not 1 <= len(places) <= 2:
            return None
        return parts, places[0], places[-1], count is of_many_games

    def _of_an_object(self, result: Any, env: Any) -> tuple[int, int]:
        if result is None:
            return self._in_turn(env)
        if hasattr(result, "step_type"):  # dm_env's TimeStep; its first is a reset that was called a step
            return int(not result.first()), int(result.last())
        if hasattr(result, "batch_size"):  # a TensorDict
            done = result.get("next").get("done")
            return done.numel(), 0 if done.is_cuda else int(done.sum())
        return 0, 0

    def _in_turn(self, env: Any) -> tuple[int, int]:
        """A step that returns nothing, of a game whose players move in turn. One that only takes a finished player off the table is no step of the game."""
        if not is_in_turn(env):
            return 0, 0
        players = env.agents
        before, now = self._players.get(id(env), len(players)), len(players)
        self._players[id(env)] = now
        if now < before:
            return 0, 0
        return 1, int(all(env.terminations[player] or env.truncations[player] for player in players))


def how_to_count(result: tuple) -> tuple[Callable[[tuple, tuple[int, ...]], tuple[int, int]], tuple[int, ...]]:
    """Which parts of a step's answer are ends (terminated and truncated, or done), and how to count them."""
    for count, are_ends in ((of_many_games, are_bools), (of_many_players, are_bools_by_name), (of_one_game, is_bool)):
        places = tuple(i for i, part in enumerate(result) if are_ends(part))
        if places:
            return count, places
    return of_one_game, ()


def is_in_turn(env: Any) -> bool:
    """PettingZoo's AECEnv, whose step returns nothing: what returns something is a player's look."""
    return hasattr(env, "agent_selection")


def of_no_game(result: tuple, places: tuple[int, ...]) -> tuple[int, int]:
    return 0, 0


def of_one_game(result: tuple, places: tuple[int, ...]) -> tuple[int, int]:
    return 1, int(any(result[i] for i in places))


def of_many_players(result: tuple, places: tuple[int, ...]) -> tuple[int, int]:
    """Of one game, by player: it is over when it is over for all of them. After that there are none."""
    players = result[places[0]]
    over = players.get("__all__") or all(any(result[i].get(player) for i in places) for player in players if player != "__all__")
    return int(bool(players)), int(bool(players) and bool(over))


def of_many_games(result: tuple, places: tuple[int, ...]) -> tuple[int, int]:
    ended = result[places[0]]
    if getattr(ended, "is_cuda", False):  # to look would be to wait for the device
        return len(ended), 0
    if isinstance(ended, list):
        return len(ended), sum(any(game) for game in zip(*(result[i] for i in places)))
    for i in places[1:]:
        ended = ended | result[i]
    return len(ended), sum(ended.tolist()) if len(ended) <= FEW else int(ended.sum())


def looks_like_a_step(value: Any) -> bool:
    """A number and an end: (obs, reward, done, …), (reward, done, score), … of one game, of many, or by player."""
    if not isinstance(value, tuple) or not 2 <= len(value) <= 6:
        return False
    return any(is_bool(part) or are_bools(part) or are_bools_by_name(part) for part in value) and any(is_reward(part) for part in value)


def looks_like_a_batch(value: Any) -> bool:
    """Several things of the same length, such as obs, actions, rewards."""
    if not isinstance(value, tuple | list) or not 3 <= len(value) <= 12:
        return False
    lengths = {length_of(part) for part in value}
    return len(lengths) == 1 and lengths.pop() >= SMALLEST_BATCH


def length_of(value: Any) -> int:
    return len(value) if hasattr(value, "__len__") and getattr(value, "shape", (1,)) != () and not isinstance(value, str) else 0


def is_bool(value: Any) -> bool:
    return type(value) is bool or type(value).__name__ in ("bool_", "bool")


def are_bools(value: Any) -> bool:
    """One for each game of a vector: NumPy's, torch's or anybody's array, or a list."""
    if type(value) is list:
        return bool(value) and is_bool(value[0])
    return str(getattr(value, "dtype", "")).endswith("bool") and getattr(value, "ndim", 0) == 1


def are_bools_by_name(value: Any) -> bool:
    """One for each player."""
    return isinstance(value, dict) and bool(value) and all(is_bool(end) for end in value.values())


def is_reward(value: Any) -> bool:
    """A number; numbers in an array or a list, or by name."""
    if type(value) is list:
        return bool(value) and is_number(value[0])
    if isinstance(value, dict):
        return bool(value) and all(is_number(reward) for reward in value.values())
    return is_number(value) or "float" in str(getattr(value, "dtype", ""))


def is_number(value: Any) -> bool:
    return not is_bool(value) and (type(value) in (int, float) or type(value).__name__.startswith(("float", "int")))
