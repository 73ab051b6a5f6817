"""The part ``swap_live`` of the page: duets with turns on real servers, two versions on each of two machines.

A machine is a process with an address of its own. The second one is slower by 10 %, becomes slower by another 10 % in a
minute, and stops for 150 ms every 7 s on average. The duets are made one after the other through the library.
"""

import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import logreplay
from accuracy._tables import Table
from logreplay.analysis.verdict.ratio_interval import DIFFERENT
from logreplay.folder_results import DuetResult

RUNS: Final = 40
_SECONDS: Final = 32
_RATE: Final = 100
_HEADER: Final = "date,time,latency,xfertime,thinktime,bytes,url,rc,op"


def duet(log: Path, change: float, seed: int, seconds: float = _SECONDS) -> DuetResult:
    """Compare two versions on two machines, of which one is slow, drifts and pauses."""
    steady, unsteady = _machine("127.0.0.2", 1, 0, 0, change), _machine("127.0.0.3", 1.1, 0.1, 1, change)
    with steady as (old, new2), unsteady as (old2, new):
        return logreplay.duet(log, old, new, swap=(old2, new2), tps=_RATE, duration=seconds, seed=seed)


def written(folder: Path, urls: Sequence[str] = ()) -> Path:
    """A log of sixty requests: to these URLs in turn, or at random to a hundred."""
    log, draw = folder / "access.csv", random.Random(0)
    named = (urls[at % len(urls)] if urls else f"/{draw.randrange(100)}" for at in range(60))
    rows = (f"2026-01-01,00:00:{at:02},0,0,0,2,{url},200,GET" for at, url in enumerate(named))
    log.write_text("\n".join([_HEADER, *rows]) + "\n")
    return log


@contextmanager
def _machine(address: str, *figures: float) -> Iterator[list[str]]:
    """The URLs of both versions on a machine."""
    command = [sys.executable, str(Path(__file__).with_name("_machine.py")), address, *map(str, figures)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        yield [f"http://{address}:{int(process.stdout.readline())}" for _ in range(2)]
        process.stdin.close()


def table(runs: int, seed: int) -> str:
    """The table of duets on real servers, in Markdown."""
    lines = ["| versions | duets | judged | called slower | called faster | estimates |", "|---|--:|--:|--:|--:|---|"]
    with TemporaryDirectory() as folder:
        log = written(Path(folder))
        for name, change in (("equal", 1.0), ("the candidate takes 10 % longer", 1.1)):
            found = [duet(log, change, seed + number).comparison for number in range(runs)]
            slower, faster = (sum(each is not None and each.verdict == word for each in found) for word in DIFFERENT)
            ratios = sorted(each.change.ratio - 1 for each in found if each and each.change)
            counts = f"{runs} | {len(ratios)} | {slower} | {faster}"
            lines.append(f"| {name} | {counts} | {ratios[0]:+.1%} to {ratios[-1]:+.1%} |")
    return "\n".join(lines)


def result(tables: Sequence[Table]) -> str:
    """How many duets call equal versions different, and how many a slower one slower."""
    equal, slower = tables[0]
    return (
        f"False alarms: {int(equal['called slower']) + int(equal['called faster'])} of {equal['judged']} duets; "
        f"10 % found: {slower['called slower']} of {slower['judged']}"
    )
