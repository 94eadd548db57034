"""hotloop profile SCRIPT args…: where a training script's time goes, without touching the script."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path

from hotloop.cli.errors import UsageError
from hotloop.cli.flags import Flag, parse

ABOUT = """Run a training script as it would have run, and say where its time goes: phases, lines, how often everything happens, what the machine allows.

  hotloop profile train.py --its --own args
  hotloop profile --budget 60 -m package.train --its --own args
  hotloop profile --target "5000 episodes" train.py
  hotloop profile snake-dqn                          a preset of ours, for half a minute; or a run folder

The script needs no change; its exit status is passed on. Flags of ours stand before the script. `hotloop limits`, once, adds the machine's limits to
every profile; `hotloop report FOLDER` shows one again, and writes files for other tools."""

FLAGS = [
    Flag("budget", float | None, None, "stop the script after so many seconds; unset: it runs to its end"),
    Flag("output", Path | None, None, "a folder for the report; unset: profiles/NAME-DATE-TIME"),
    Flag("target", str | None, None, 'how long would that take? "5000 episodes", "1M steps", "2e5 updates"'),
    Flag("json", bool, False, "print the record as JSON and nothing else besides what the script prints"),
]
OWN_SECONDS = 30  # of training a preset of ours
SHORT = {"-o": "--output"}


def profile(arguments: list[str]) -> int:
    ours, script, module, theirs = split(arguments)
    options = parse("profile [FLAGS] SCRIPT [ITS ARGUMENTS]", ABOUT, {"profile": FLAGS}, ours)
    if script is None:
        raise UsageError("expected a script to run, found none; try: hotloop profile train.py")
    budget = options.get("budget")
    if budget is not None and not 0 < budget < float("inf"):
        raise UsageError(f"expected a budget above 0 seconds, found {budget:g}; try --budget 60")
    from hotloop.lab.launch import check_script, keep
    from hotloop.lab.launch import profile as run_and_measure
    from hotloop.report.pages import write_pages
    from hotloop.report.profile_terminal import print_profile

    check_target(options.get("target"))
    own = own_training(script, theirs, budget) if not module else None
    if not module and own is None:
        check_script(script)
    folder = made(options.get("output"), script)
    if own is not None:
        script, module, theirs = "hotloop", True, [*own, "--output", str(folder / "run")]
    record = run_and_measure(script, theirs, folder, module=module, budget=budget, target=options.get("target"))
    pages: list[Path] = []
    try:
        keep(record, folder)
        pages = write_pages(record, folder)
    finally:  # a full disk: it is shown all the same; and a closed pipe finds everything written
        if options.get("json"):
            print(json.dumps(record))
        else:
            print()
            print_profile(record)
    if not options.get("json"):
        print(f"\nkept in {folder}: report.json, {', '.join(path.name for path in pages)}")
    status: int = record["exit_status"]
    return status


def own_training(name: str, theirs: list[str], budget: float | None) -> list[str] | None:
    """What trains a preset of ours, or a run folder's settings again, for OWN_SECONDS where nothing else ends it; None where this is neither."""
    from hotloop.cli.presets import PRESETS

    config = Path(name) / "config.json"
    if Path(name).is_file() or (name not in PRESETS and not config.is_file()):
        return None
    settings = ["--preset", name] if name in PRESETS else ["--config", str(config)]
    ends = budget is not None or any(word.startswith("--max-") for word in theirs)
    return ["train", *settings, "--quiet", *theirs, *([] if ends else ["--max-time", str(OWN_SECONDS)])]


def check_target(target: str | None) -> None:
    if target is None:
        return
    from hotloop.lab.drift.scaling import target_of  # NumPy

    try:
        target_of(target)
    except ValueError as error:
        raise UsageError(str(error)) from None


def split(arguments: list[str]) -> tuple[list[str], str | None, bool, list[str]]:
    """Our flags, the script or module, whether it is a module, and its own arguments, which are none of our business."""
    ours: list[str] = []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "-m":
            return ours, (rest.pop(0) if rest else None), True, rest
        if not word.startswith("-"):
            return ours, word, False, rest
        word = SHORT.get(word, word)
        ours.append(word)
        takes_value = word in ("--budget", "--output", "--target")
        if takes_value and rest:
            ours.append(seconds_of(rest.pop(0)) if word == "--budget" else rest.pop(0))
    return ours, None, False, []


def seconds_of(text: str) -> str:
    """`60`, `60s` and `2m` are all times."""
    found = re.fullmatch(r"(\d+\.?\d*|\.\d+)(s|m)?", text)
    return text if found is None else str(float(found[1]) * (60 if found[2] == "m" else 1))


def made(folder: Path | None, target: str) -> Path:
    if folder is None:
        name = Path(target).stem or "script"
        folder = Path("profiles") / f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
