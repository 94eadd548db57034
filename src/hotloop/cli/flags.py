"""Flags: a command's settings as groups of named, typed values with help, read by tyro; what does not fit becomes one line.

Only values that were named come back, so that layers of settings (preset, file, flags) can be laid over each other.
"""

from __future__ import annotations

import dataclasses
import difflib
import io
import re
import types
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, make_dataclass
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from hotloop.cli.comments import comments_of
from hotloop.cli.errors import UsageError, nearest

REQUIRED: Any = Parameter.empty  # the default of a flag that has none
ANYTHING: Any = int | float | bool | str | None  # what a setting takes whose type only a foreign game knows
FEW = 20  # flags that fit in a line
SPELLED = {"true": True, "false": False}  # as JSON and shells write them
SWITCHES = {"--json", "--quiet", "--tensorboard", "--wandb", "--help", "-h"}  # flags without a value, which may stand before a RUN


@dataclass(frozen=True)
class Flag:
    name: str  # as Python writes it: batch_size
    type: Any
    default: Any
    help: str

    @property
    def word(self) -> str:
        return "--" + self.name.replace("_", "-")


Groups = Mapping[str, Sequence[Flag]]  # title → flags, in the order of the help page


def flags_of_config(config: type) -> list[Flag]:
    """One flag for each field of a Config."""
    fields = dataclasses.fields(config)
    comments, hints = comments_of(config, {field.name for field in fields}), get_type_hints(config)
    return [Flag(field.name, hints[field.name], field.default, comments.get(field.name, "")) for field in fields]


def flags_of_factory(factory: Callable[..., Any], prefix: str = "env_") -> list[Flag]:
    """One flag for each parameter of an env factory: `size` is `--env-size`."""
    parameters = [p for p in signature(factory).parameters.values() if p.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)]
    comments, hints = comments_of(factory, {p.name for p in parameters}), _hints(factory)
    flags = [Flag(prefix + p.name, hints.get(p.name) or _type_like(p.default), p.default, comments.get(p.name, "")) for p in parameters]
    return [flag for flag in flags if _can_be_typed(flag.type)]


def split_words(arguments: Sequence[str], most: int) -> tuple[list[str], list[str]]:
    """The words before the first flag that takes a value, and everything else."""
    words: list[str] = []
    rest = list(arguments)
    switches: list[str] = []
    while rest and len(words) < most and (rest[0] in SWITCHES or not rest[0].startswith("-")):
        (switches if rest[0] in SWITCHES else words).append(rest.pop(0))
    return words, switches + rest


def parse(command: str, about: str, groups: Groups, arguments: Sequence[str]) -> dict[str, Any]:
    """The flags that were named, with their values. `--help` prints the page and exits."""
    import tyro  # 0.2 s, which `hotloop --help` need not wait for

    known = {flag.name: flag for flags in groups.values() for flag in flags}
    named = _names_in(arguments, known)
    shape = make_dataclass("Flags", [(title.replace(" ", "_"), _dataclass_of(title, flags)) for title, flags in groups.items() if flags])
    complaint = io.StringIO()
    try:
        with redirect_stderr(complaint):
            parsed: Any = tyro.cli(shape, args=list(arguments), prog=f"hotloop {command}", description=about, config=(tyro.conf.OmitArgPrefixes,))
    except SystemExit as ended:
        if not ended.code:
            raise
        raise UsageError(_explained(complaint.getvalue(), arguments, known)) from None
    values = {name: value for group in vars(parsed).values() for name, value in vars(group).items()}
    return {name: _meant(values[name], known[name].type) for name in values if name in named}


def words_for(values: Mapping[str, Any]) -> list[str]:
    """Values from a file as the flags that would say the same, so that both are read and checked in one place."""
    words: list[str] = []
    for name, value in values.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        elif isinstance(value, list | tuple):
            words += [f"--{flag}", *map(str, value)]
        else:
            words += [f"--{flag}", str(value)]
    return words


def check_kind(flag: Flag, value: Any) -> None:
    """A value from a file has a type of its own, which the words for it may hide."""
    several = get_origin(flag.type) in (tuple, list)
    is_switch = flag.type is bool or bool in get_args(flag.type)
    wrong = isinstance(value, Mapping) or (isinstance(value, list | tuple) and not several)
    if wrong or (isinstance(value, bool) and not is_switch) or (flag.type is bool and not isinstance(value, bool)):
        kind, attempt = ("true or false", "leaving it out") if flag.type is bool else (_kind(flag.type), example(flag))
        raise UsageError(f"expected {kind} for {flag.word}, found {value!r}; try {attempt}")


def _dataclass_of(title: str, flags: Sequence[Flag]) -> type:
    import tyro

    def described(flag: Flag) -> Any:
        hint = "(required)" if flag.default is REQUIRED else "" if flag.default in (None, "") else None
        about = tyro.conf.arg(help=flag.help or " ", metavar=_metavar(flag.type), help_behavior_hint=hint)
        return Annotated[flag.type, about, *([tyro.conf.FlagCreatePairsOff] if flag.word in SWITCHES else [])]

    return make_dataclass(title.replace(" ", "_"), [(flag.name, described(flag), _field(flag)) for flag in flags], kw_only=True)


def _field(flag: Flag) -> Any:
    default = _stand_in(flag.type) if flag.default is REQUIRED else flag.default
    if isinstance(default, list | dict | set):
        return dataclasses.field(default_factory=lambda: default)
    return dataclasses.field(default=default)


def _stand_in(hint: Any) -> Any:
    """A value of the type, for the reader of flags alone: what was not named never comes back, and who needs it asks for it."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return parts[0]
    if origin in (Union, types.UnionType):
        return _stand_in(parts[0])
    return None if hint is types.NoneType else (origin or hint)()


def _meant(value: Any, hint: Any) -> Any:
    """Where anything is taken, `true` is no text."""
    if isinstance(value, tuple):
        return tuple(_meant(part, get_args(hint)[0]) for part in value) if get_args(hint) else value
    return SPELLED.get(value, value) if hint == ANYTHING and isinstance(value, str) else value


def _names_in(arguments: Sequence[str], known: Mapping[str, Flag]) -> set[str]:
    """The flags that are named; one that does not exist is an error with the nearest that does."""
    found = set()
    for word in arguments:
        if not word.startswith("--") or word == "--help":
            continue
        name = word[2:].partition("=")[0].replace("-", "_")
        positive = name.removeprefix("no_")
        if name not in known and not (positive in known and known[positive].type is bool):
            raise UsageError(f"expected a flag this command has, found {word.partition('=')[0]}; try {_suggested(name, known)}")
        found.add(name if name in known else positive)
    return found


def _suggested(name: str, known: Mapping[str, Flag]) -> str:
    """The flag that was meant, or, where none is near, those there are."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.7)
    if near:
        return f"{known[near[0]].word}, or --help for all"
    return f"one of {', '.join(flag.word for flag in known.values())}" if 0 < len(known) <= FEW else "--help for all"


def _explained(complaint: str, arguments: Sequence[str], known: Mapping[str, Flag]) -> str:
    """tyro's box of lines as one line of ours: about the first flag that it names."""
    lines = [line.strip("│ ") for line in complaint.splitlines()[1:]]
    text = " ".join(lines[: next((place for place, line in enumerate(lines) if line.startswith("──")), len(lines))])
    named = re.search(r"--[\w-]+", text)
    flag = known.get(named[0][2:].replace("-", "_")) if named else None
    if flag is None:
        return f"expected only flags and their values, found {text.removeprefix('Unrecognized options: ')!r}; try --help"
    given = _given(flag, arguments)
    return f"expected {_kind(flag.type)} for {flag.word}, found {repr(given) if given else 'nothing'}; try {example(flag, given)}"


def _given(flag: Flag, arguments: Sequence[str]) -> str:
    """What stands behind a flag, up to the next one."""
    given: list[str] = []
    reading = False
    for word in arguments:
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            reading = name.replace("-", "_") == flag.name
            given = ([value] if equals else []) if reading else given
        elif reading:
            given.append(word)
    return " ".join(given)


def _kind(hint: Any) -> str:
    """A type in words."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return f"one of {', '.join(map(str, parts))}"
    if origin in (Union, types.UnionType):
        return " or ".join(_kind(part) for part in parts if part is not types.NoneType)
    if origin in (tuple, list):
        return f"{_kind(parts[0])}, or several"
    return {int: "a whole number", float: "a number", bool: "no value", str: "a text", Path: "a path", types.NoneType: "None"}.get(hint, str(hint))


def _metavar(hint: Any) -> str | None:
    """What a flag takes, without the None that leaving it out already means."""
    parts = [part for part in get_args(hint) if part is not types.NoneType]
    return parts[0].__name__.upper() if types.NoneType in get_args(hint) and len(parts) == 1 and parts[0] in (int, float, str, Path) else None


def example(flag: Flag, given: str = "") -> str:
    """Something that would have been right: the choice that was meant, or the default."""
    if get_origin(flag.type) is Literal:
        return f"{flag.word} {nearest(given, map(str, get_args(flag.type)))}"
    if flag.default is not None and flag.default is not REQUIRED:
        return " ".join(words_for({flag.name: flag.default}))
    wanted = next(part for part in (*get_args(flag.type), flag.type) if part is not types.NoneType)
    return f"{flag.word} { {int: '1000', float: '60', Path: 'PATH'}.get(wanted, 'NAME') }"


def _hints(factory: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(factory)
    except NameError:  # names that only a type checker sees
        return {}


def _can_be_typed(hint: Any) -> bool:
    """Whether words can say such a value; arrays and the like are for Python."""
    if get_origin(hint) is Literal:
        return True
    parts = [part for part in get_args(hint) if part is not ...]
    return all(map(_can_be_typed, parts)) if parts else hint in (int, float, bool, str, Path, types.NoneType)


def _type_like(default: Any) -> Any:
    """Where an author wrote no type, the default's."""
    return str if default is None or default is Parameter.empty else type(default)
