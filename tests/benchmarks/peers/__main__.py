"""Install the peers, run them and us on the same nginx in turns, write the table and the plot of docs/peers.md.

Usage: ``tox -e peers``, or from the folder ``tests``: ``python -m benchmarks.peers [--turns 3]``. Each turn takes some
15 minutes. Figures are kept, so turns may be made one at a time, and parts of them with ``--kind`` and ``--only``;
those of other commits and machines do not count, and ``--anew`` deletes all. Other texts that quote the page get its
figures.
"""

import json
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import click

from benchmarks.peers.drawing import processor, write
from benchmarks.peers.installing import install
from benchmarks.peers.measuring import Load, Target, ToolFailed, arrivals, go_first, load, target
from benchmarks.peers.quotes import quotes
from benchmarks.peers.tools import CACHE, TOOLS, Job, Tool

ROOT: Final = Path(__file__).parents[3]
MEASURED: Final = CACHE / "measured.jsonl"
LINES: Final = 200_000
EVEN_RATE: Final = 1000
_HELD: Final = 0.98
_FACTOR: Final = 1.15
_LOWEST: Final = 500
_FROM: Final = 0.6
"""Of the rate with 64 connections: where to begin to look for the highest that an open loop holds."""

Command = Callable[[str, int, int], list[str]]
"""The command line for an address, a rate and seconds."""


def access_log(folder: Path) -> Path:
    """A converted log of distinct requests."""
    log = folder / "access.log"
    with log.open("w") as file:
        for number in range(LINES):
            at = f"21/Nov/2026:10:{number // 6000 % 60:02}:{number // 100 % 60:02} +0000"
            request = f"GET /shop/item/{number}?q=%20{number} HTTP/1.1"
            file.write(f'192.0.2.{number % 250} - - [{at}] "{request}" 200 24 "-" "Mozilla/5.0"\n')
    csv = folder / "access.csv"
    subprocess.run(
        [sys.executable, "-m", "logreplay.cli.main", "convert", log, "-o", csv, "-q"], check=True, capture_output=True
    )
    return csv


def closed(tool: Tool, command: Command, target: Target) -> Load:
    """As much as 64 connections bring."""
    return load(command(target.urls[tool.way], 0, 5), target, 3)


def held(tool: Tool, command: Command, target: Target) -> Load:
    """The highest rate of which 98 % is sent, to 15 %."""

    def holds(rate: float) -> Load | None:
        seen = load(command(target.urls[tool.way], round(rate), 4), target, 1.5)
        return seen if seen.rate >= _HELD * rate else None

    rate = _FROM * load(command(target.urls[tool.way], 0, 4), target, 1).rate
    best = None
    while best is None:
        if rate < _LOWEST:
            raise ToolFailed(f"holds less than {rate:.0f}/s")
        best = holds(rate)
        rate *= _FACTOR if best else 1 / _FACTOR**2
    while seen := holds(rate):
        best, rate = seen, rate * _FACTOR
    return best


def even(tool: Tool, command: Command, target: Target) -> Any:
    """How exactly requests come that are asked for evenly."""
    return arrivals(command(target.logged[tool.way], EVEN_RATE, 5), target, EVEN_RATE)


KINDS: Final = {"closed": closed, "held": held, "even": even}


def measure(tools: list[Tool], kinds: list[str], turn: int) -> Iterator[dict[str, Any]]:
    """Measure each tool once in each way."""
    with TemporaryDirectory(prefix="peers-") as name:
        folder = Path(name)
        log = access_log(folder)
        with target(folder) as server:
            for kind in kinds:
                for tool in tools:
                    make = tool.closed if kind == "closed" else tool.open
                    if make is None or tool.path is None:
                        continue
                    command = partial(_command, make, tool.path, log, folder)
                    try:
                        figures = asdict(KINDS[kind](tool, command, server))
                    except ToolFailed as error:
                        figures = {"error": str(error)}
                    yield {"turn": turn, "kind": kind, "tool": tool.name, **figures}


def _command(
    make: Callable[[str, Job], list[str]], binary: str, log: Path, folder: Path, url: str, rate: int, seconds: int
) -> list[str]:
    return make(binary, Job(url, log, rate, seconds, folder))


def origin() -> dict[str, str]:
    """The commit of the code and the machine of a measurement; texts do not count, since a turn writes some."""

    def git(*words: str) -> str:
        command = ["git", *words, "--", ".", ":!docs", ":!*.md"]
        return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()

    commit = git("log", "-1", "--format=%H") + "-dirty" * bool(git("diff", "HEAD", "--name-only"))
    return {"commit": commit, "machine": f"{platform.node()}, {processor()}"}


def figures_of(origin: Mapping[str, str], lines: Iterable[str]) -> list[dict[str, Any]]:
    """The kept figures of this commit and machine; a median over several would describe none of them."""
    return [row for row in map(json.loads, lines) if origin.items() <= row.items()]


@click.command(help=__doc__)
@click.option("--turns", default=3, show_default=True)
@click.option("--kind", "kinds", multiple=True, type=click.Choice(list(KINDS)), default=list(KINDS))
@click.option("--only", multiple=True, type=click.Choice([tool.name for tool in TOOLS]))
@click.option("--anew", is_flag=True, help="Forget what was measured before.")
def main(turns: int, kinds: tuple[str, ...], only: tuple[str, ...], anew: bool) -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    tools = [tool for tool in TOOLS if not only or tool.name in only]
    missing = install(tools)
    for name, why in missing.items():
        print(f"not installed: {name}: {why}", file=sys.stderr)
    if anew:
        MEASURED.unlink(missing_ok=True)
    first, now = go_first(), origin()
    for turn in range(turns):
        for figures in measure(tools, list(kinds), turn):
            print(json.dumps(figures), file=sys.stderr)
            with MEASURED.open("a") as file:
                file.write(json.dumps(now | figures) + "\n")
    measured = figures_of(now, MEASURED.read_text().splitlines() if MEASURED.exists() else [])
    if measured:
        write(ROOT / "docs", measured, install(TOOLS), first=first)
        for path, _, text in quotes(ROOT):
            path.write_text(text)


if __name__ == "__main__":
    main()
