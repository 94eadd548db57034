"""The house: which part may import which, what may not be loaded early, and how long a file may be."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "hotloop"

# Room → the rooms it may import from. A room that is not here has no arrows yet: draw them before moving in.
ARROWS = {
    "records": set(),
    "engine": {"records"},
    "envs": {"engine", "records"},
    "algos": {"envs", "engine", "records"},
    "lab": {"records"},
    "report": {"lab", "records"},
    "web": {"report", "lab", "records"},
    "integrations": {"engine", "envs", "records"},
    "cluster": {"algos", "envs", "engine", "records"},
    "__init__": {"engine", "envs", "lab"},  # the front door: names for people outside, imported when they are asked for; games for Gymnasium
    "__main__": {"cli"},
}
ARROWS["casebook"] = {"records", "engine", "envs", "algos", "lab", "report", "web", "integrations", "cluster"}
ARROWS["cli"] = ARROWS["casebook"] | {"casebook"}

TOO_HEAVY_FOR_RECORDS = {"torch", "numba"}
LONGEST_FILE = 450


# Arrows --------------------------------------------------------------------------------------------------------------


def complaints(package: Path) -> list[str]:
    """Every import in the package that follows no arrow, as `place: what is wrong`."""
    return [complaint for path in sorted(package.rglob("*.py")) for complaint in complaints_about(path, package)]


def complaints_about(path: Path, package: Path) -> list[str]:
    parts = path.relative_to(package).with_suffix("").parts
    room = parts[0]
    if room not in ARROWS:
        return [f"{path.relative_to(package)}: no arrows are drawn for {room}"]
    found = []
    for line, target in imports(path, [package.name, *parts[:-1]]):
        wrong = what_is_wrong(room, target, package)
        if wrong:
            found.append(f"{path.relative_to(package)}:{line}: {wrong}")
    return found


def imports(path: Path, folder: list[str]) -> list[tuple[int, list[str]]]:
    """(line, dotted name as a list) of every name a file imports, wherever in the file that happens, strings for `import_module` included."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name.split(".")) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = folder[: len(folder) - node.level + 1] if node.level else []
            module = [*above, *(node.module.split(".") if node.module else [])]
            found += [(node.lineno, [*module, alias.name]) for alias in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in {"import_module", "__import__"}:
            found += [(node.lineno, word.value.split(".")) for word in node.args[:1] if isinstance(word, ast.Constant) and isinstance(word.value, str)]
    return found


def what_is_wrong(room: str, target: list[str], package: Path) -> str | None:
    if target[0] != package.name:
        return f"{room} may not import {target[0]}" if room == "records" and target[0] in TOO_HEAVY_FOR_RECORDS else None
    if target[1:] == ["__version__"]:
        return None
    other = target[1] if len(target) > 1 else ""
    if other not in ARROWS:
        return f"import from the room, not through the front door ({'.'.join(target)})"
    return None if other == room or other in ARROWS[room] else f"there is no arrow from {room} to {other}"


def test_imports_go_along_arrows_only():
    assert complaints(PACKAGE) == []


@pytest.mark.parametrize(
    ("place", "line", "complaint"),
    [
        ("engine/loop.py", "from hotloop.lab import roofs", "there is no arrow from engine to lab"),
        ("lab/roofs.py", "import hotloop.engine.env", "there is no arrow from lab to engine"),
        ("report/text.py", "from hotloop import engine", "there is no arrow from report to engine"),
        ("report/html/page.py", "from ...engine import env", "there is no arrow from report to engine"),
        ("algos/dqn.py", "def train():\n    from hotloop.cli import main", "there is no arrow from algos to cli"),
        ("casebook/snake.py", "importlib.import_module('hotloop.cli')", "there is no arrow from casebook to cli"),
        ("records/run.py", "import torch.nn", "records may not import torch"),
        ("records/run.py", "from numba import njit", "records may not import numba"),
        ("engine/env.py", "from hotloop import Env", "import from the room, not through the front door (hotloop.Env)"),
        ("attic/box.py", "", "no arrows are drawn for attic"),
    ],
)
def test_an_import_against_the_arrows_is_noticed(tmp_path, place, line, complaint):
    found = complaints(package_with(tmp_path, place, line))
    assert len(found) == 1 and found[0].startswith(place) and found[0].endswith(complaint)


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("algos/dqn.py", "import torch\nfrom hotloop.engine.replay import Replay"),
        ("records/run.py", "from hotloop import __version__\nfrom . import phases\nfrom .machine import describe"),
        ("cli/train.py", "from hotloop.algos import dqn\nfrom ..report import live"),
        ("web/serve.py", "from hotloop.report.html import page"),
    ],
)
def test_an_import_along_the_arrows_is_accepted(tmp_path, place, line):
    assert complaints(package_with(tmp_path, place, line)) == []


def package_with(folder: Path, place: str, source: str) -> Path:
    package = folder / "hotloop"
    (package / place).parent.mkdir(parents=True)
    (package / place).write_text(source, encoding="utf-8")
    return package


# What is loaded early ------------------------------------------------------------------------------------------------


def modules_loaded_by(source: str) -> set[str]:
    """The top-level modules in memory after a fresh Python has run this source."""
    program = f"import sys\ntry:\n    {source}\nexcept SystemExit:\n    pass\nprint('\\nLOADED', *{{name.split('.')[0] for name in sys.modules}})"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    return set(answer.stdout.splitlines()[-1].split()[1:])


def test_the_module_census_sees_an_import():
    assert "decimal" in modules_loaded_by("import decimal")


def test_importing_hotloop_loads_nothing_heavy():
    assert not modules_loaded_by("import hotloop") & {"torch", "numba", "numpy", "gymnasium", "rich"}


def test_records_work_without_torch_and_numba():
    assert not modules_loaded_by("import hotloop.records") & TOO_HEAVY_FOR_RECORDS


def test_help_answers_without_torch_and_numba():
    assert not modules_loaded_by("from hotloop.cli import main; sys.argv = ['hotloop', '--help']; main()") & {"torch", "numba"}


# The front door ------------------------------------------------------------------------------------------------------


def test_every_public_name_is_there():
    import hotloop

    assert set(hotloop.__all__) <= set(dir(hotloop))
    assert [name for name in hotloop.__all__ if getattr(hotloop, name, None) is None] == []


def test_an_unknown_name_is_answered_with_those_there_are():
    import hotloop

    with pytest.raises(AttributeError, match=r"no attribute 'Agent'; it has .*VecEnv"):
        hotloop.Agent  # noqa: B018


# Files ---------------------------------------------------------------------------------------------------------------


def our_text_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    written_by_hand = {"", ".css", ".html", ".js", ".md", ".py", ".toml", ".txt"}
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file() and path.suffix in written_by_hand]


def test_no_file_is_too_long_to_read():
    lengths = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in our_text_files()}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FILE} == {}
