"""The README's table of speeds, from the results on file: python benchmarks/figures.py [--write]; a test holds the README to it."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
README = ROOT / "README.md"
PLACE = re.compile(r"(<!-- figures: make bench -->\n).*?(<!-- end of figures -->)", re.DOTALL)


def results(name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((RESULTS / f"{name}.json").read_text())["rows"]
    return rows


def table() -> str:
    lines = ["| what | ours | beside it | ratio (quartiles) |", "|---|---:|---:|---:|", *stepping(), *dqn(), *time_to_score()]
    return "\n".join([*lines, "", *alone(), "", machine(), "", gpu()]) + "\n"


def stepping() -> list[str]:
    rows = results("stepping")
    rate = {row["name"]: row["steps_per_second"] for row in rows if "name" in row}
    return [line(f"{row['ours'].removeprefix('hotloop ').removeprefix('hotloop, ')}, one core", rate, row) for row in hardest(rows, "ours")]


def dqn() -> list[str]:
    lines = []
    for updates in (1, 8):
        rows = [row for row in results("dqn") if row["updates"] == updates]
        rate = {row["name"]: row["transitions_per_second"] for row in rows if "name" in row}
        what = f"DQN on 256 Snakes, {updates} update{'s' * (updates > 1)} for 256 transitions"
        sbx = hardest([row for row in rows if row.get("theirs", "").startswith("sbx")], "updates")
        lines += [line(what, rate, {"ours": "hotloop", **row}) for row in rows if row.get("theirs", "").startswith("sb3")]
        lines += [line(what, rate, {"ours": "hotloop", **row}) for row in sbx]
    return lines


def hardest(rows: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """Of the ratios with the same name, the one that is least in our favour."""
    ratios = sorted((row for row in rows if "ratio" in row), key=lambda row: -row["ratio"])
    return list({row[name]: row for row in ratios}.values())


def line(what: str, rate: dict[str, float], row: dict[str, Any]) -> str:
    spread = f"**{number(row['ratio'])}** ({number(row['low'])} … {number(row['high'])})"
    return f"| {what} | {short(rate[row['ours']])}/s | {row['theirs']}: {short(rate[row['theirs']])}/s | {spread} |"


def time_to_score() -> list[str]:
    lines = []
    for row in results("time_to_score"):
        if "goal" in row:
            us, them = row["hotloop"], row["sb3"]
            peer = f"SB3 at its best of three settings: {min(them):.2f} … {max(them):.2f} s"
            lines.append(f"| seconds to a mean score of {row['goal']}, five seeds | {min(us):.2f} … {max(us):.2f} s | {peer} | **{row['ratio']:.1f}** |")
    return lines


def alone() -> list[str]:
    """What has no peer: constant speed, the price of timing, memory, start-up."""
    steady = results("steady")[-1]["median"]
    timing = {row["preset"]: row for row in results("overhead")}
    memory = results("memory")[0]["beyond_mb"]
    cold, warm = ({row["cache"]: row for row in results("startup") if "cache" in row}[name]["import_to_first_update"] for name in ("cold", "warm"))
    costs = ", ".join(f"{100 * row['reckoned']:.2f} % of `{name}` by the price of a lap ({100 * row['cost']:.2f} % measured)" for name, row in timing.items())
    return [
        f"The first ten seconds run at {100 * steady:.1f} % of the steady rate. Timing every phase costs {costs}. "
        f"Training `snake-laptop` takes {memory:.0f} MB beyond torch. From the first import to the first update: {warm:.1f} s, "
        f"and {cold:.1f} s the first time, when everything is compiled."
    ]


def gpu() -> str:
    """What was measured on a GPU, or that nothing was."""
    found = sorted(RESULTS.glob("gpu_*.json"))
    if not found:
        return "On a GPU the same file plays the same games, bit for bit; how fast is `benchmarks/gpu_stepping.py`'s to say: no result is on file yet."
    lines = []
    for path in found:
        result = json.loads(path.read_text())
        rates = {f"{row['name']}, {row['games']} games": row["steps_per_second"] for row in result["rows"] if "name" in row}
        lines.append(f"On one {result['gpu']}: {', '.join(f'{name} {short(rate)} steps/s' for name, rate in rates.items())}.")
    return "\n".join(lines)


def machine() -> str:
    here = json.loads((RESULTS / "stepping.json").read_text())
    packages, cores = here["machine"]["packages"], here["machine"]["cores"]
    where = f"{here['machine']['cpu']}, {cores} cores, {here['when']}, Python {here['machine']['python']}, torch {packages['torch']}"
    how = "each ratio in one run with the peer beside it, in turns; the middle, and in brackets the quartiles"
    return f"Measured on {where}: {how}. `make bench` measures it on yours."


def number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def short(value: float) -> str:
    for size, unit in ((1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{number(value / size)}{unit}"
    return f"{value:.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the table into the README")
    text = table()
    if parser.parse_args().write:
        README.write_text(PLACE.sub(lambda found: found[1] + text + found[2], README.read_text(encoding="utf-8")), encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
