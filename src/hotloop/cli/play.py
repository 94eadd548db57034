"""hotloop play GAME: by hand, in the terminal."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from hotloop.cli.errors import FINE, UsageError
from hotloop.cli.flags import Flag, parse, split_words
from hotloop.cli.games import env_flags, settings_in_use, settings_named
from hotloop.cli.keys import Read, keyboard
from hotloop.cli.showing import caption, draw, look, needs_terminal, one_game, screen, step
from hotloop.envs import ENVS

if TYPE_CHECKING:
    from hotloop.engine.vecenv import VecEnv

ABOUT = """Play a game yourself: arrow keys or wasd, space pauses, q quits; digits choose an action by its number.

  hotloop play snake
  hotloop play snake --env-size 16 --fps 12
  hotloop play ./my_game.py"""

FLAGS = [
    Flag("fps", float, 6.0, "steps a second"),
    Flag("seed", int, -1, "of the game's luck; unset: another each time"),
]

# What a key does in a game with so many actions, and what happens when no key is pressed (None: as before).
KEYS: dict[int, tuple[dict[str, int], int | None]] = {
    2: ({"left": 0, "right": 1}, None),
    3: ({"left": 0, "right": 2, "up": 1, "down": 1}, 1),
    4: ({"up": 0, "right": 1, "down": 2, "left": 3}, None),
}


def play(arguments: list[str]) -> int:
    words, rest = split_words(arguments, 1)
    if not words and not {"-h", "--help"} & set(rest):
        raise UsageError(f"expected a game, found none; try: hotloop play {next(iter(ENVS))}")
    if not words:
        parse("play GAME", ABOUT, {"play": FLAGS}, arguments)
    game = words[0]
    options = parse(f"play {game}", ABOUT, {"play": FLAGS, "game": env_flags(game, settings_named(rest))}, rest)
    chosen = by_hand(game) | {name.removeprefix("env_"): value for name, value in options.items() if name.startswith("env_")}
    if options.get("fps", 6.0) <= 0:
        raise UsageError(f"expected --fps above 0, found {options['fps']}; try --fps 6")
    seed = options.get("seed", time.time_ns() % 2**31)
    envs = one_game(game, settings_in_use(game, chosen), seed, target="python")  # the same bits as compiled, and nothing to wait for
    keys = keys_for(envs.env)
    needs_terminal(sys.stdin, "to play in")
    needs_terminal(sys.stdout, "to play in")
    best = show(envs, keys, options.get("fps", 6.0))
    print(f"best score {best:g}" if best is not None else "no game was played to its end")
    return FINE


def by_hand(game: str) -> dict[str, str]:
    """With arrow keys it is easier to say where to go than which way to turn."""
    offers = next((flag for flag in env_flags(game) if flag.name == "env_actions"), None)
    return {"actions": "absolute"} if offers is not None and "absolute" in str(offers.type) else {}


def keys_for(env: Any) -> tuple[dict[str, int], int | None]:
    from hotloop.engine.env import Discrete

    if not isinstance(env.action, Discrete):
        raise UsageError(f"expected a game with single actions to choose from, found {env.action}; try: hotloop play snake")
    keys, idle = KEYS.get(env.num_choices, ({}, None))
    return {**{str(number): number for number in range(min(env.num_choices, 10))}, **keys}, idle


def show(envs: VecEnv, keys: tuple[dict[str, int], int | None], fps: float) -> float | None:
    """Until q; gives back the best score of the games that ended."""
    best: float | None = None
    with keyboard() as read, screen(sys.stdout):
        try:
            while True:
                score, goes_on = one_episode(envs, keys, read, fps)
                best = score if best is None or (score is not None and score > best) else best
                if not goes_on:
                    return best
        except KeyboardInterrupt:
            return best


def one_episode(envs: VecEnv, keys: tuple[dict[str, int], int | None], read: Read, fps: float) -> tuple[float | None, bool]:
    """From the first key to the ending: its score, and whether another is wanted."""
    actions, idle = keys
    envs.reset()
    moment, steps = look(envs, 0), 0
    draw(moment.frame, "press a key to begin   arrows or wasd move, space pauses, q quits")
    pressed = wait_for_key(read)
    action = actions.get(pressed, idle or 0) if pressed in actions or idle is not None else first_action(envs)
    while pressed != "quit":
        if pressed == "pause":
            draw(moment.frame, "paused; any key goes on")
            pressed = wait_for_key(read)
            continue
        action = actions.get(pressed, action if idle is None else idle)
        envs.actions[0] = action
        before, moment, steps = moment, step(envs, steps + 1), steps + 1
        if moment.ending:
            draw(before.frame, f"{caption(moment)}   space plays again, q quits")
            return moment.score, wait_for(read, ("pause", "quit")) == "pause"
        draw(moment.frame, caption(moment))
        pressed = pressed_within(read, 1 / fps)
    return None, False


def first_action(envs: VecEnv) -> int:
    """Straight on, in a game that has a heading."""
    return int(getattr(envs.game(0), "heading", 0)) % envs.env.num_choices


def pressed_within(read: Read, seconds: float) -> str:
    """The last key pressed until the next step is due."""
    until, last = time.monotonic() + seconds, ""
    while (left := until - time.monotonic()) > 0:
        last = read(left) or last
    return last


def wait_for_key(read: Read) -> str:
    while not (pressed := read(1.0)):
        pass
    return pressed


def wait_for(read: Read, wanted: tuple[str, ...]) -> str:
    while (pressed := read(1.0)) not in wanted:
        pass
    return pressed
