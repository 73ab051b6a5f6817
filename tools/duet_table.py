"""Make the table of docs/howto/duet.md: ``python tools/duet_table.py FOLDER [FIRST]``, of rounds from number FIRST on.

`duet_rehearsal.py` makes the rounds.

Each result log is cut after some seconds and judged as if the run had ended there, so that duets and runs one after the
other can be compared at the same number of requests. Duets of equal targets are cut into all their pieces of that
length. Both are judged with a tolerance of 1 %.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import polars as pl

from duet_rehearsal import RATE
from logreplay.analysis.verdict.comparison import Comparison, compare, compare_duet
from logreplay.analysis.verdict.ratio_interval import AT_ONCE_TOLERANCE
from logreplay.core.rows import scan

DUETS_S: Final = (1.66, 2.5, 5, 10, 20)
EQUAL_S: Final = 10
RUNS_S: Final = (5, 10, 15, 20, 30, 60)
MACHINES: Final = {"calm": "calm", "burn": "a process burns a core half of the time"}


def cut(path: Path, seconds: float, piece: int) -> pl.DataFrame:
    """The requests of a result log that were due in a piece of so many seconds, the first of which is 0."""
    return scan(path).filter((pl.col("scheduled") / seconds).floor() == piece).collect()


def judged(baseline: Path, candidate: Path, seconds: float, piece: int = 0, *, at_once: bool) -> str:
    """``slower``, ``faster`` or nothing: the first verdict on any time, as both commands print it."""
    sides = cut(baseline, seconds, piece), cut(candidate, seconds, piece)
    found: Comparison = (compare_duet if at_once else compare)(*sides, tolerance=AT_ONCE_TOLERANCE)
    return next((word for word in re.findall(r"\w+", found.sentence) if word in ("slower", "faster")), "")


def lines(folder: Path, kind: str, first: int) -> Iterator[str]:
    """The rows of one machine, in Markdown."""
    rounds = [place for place in sorted(folder.glob(f"{kind}-*")) if int(place.name.partition("-")[2]) >= first]
    equal, slower = ([place / name for place in rounds if _whole(place / name)] for name in ("equal", "slower"))
    runs = [place for place in rounds if (place / "slower.summary.json").exists()]
    for seconds in DUETS_S:
        same, other = (
            [
                judged(each / "baseline.csv", each / "candidate.csv", seconds, piece, at_once=True)
                for each in duets
                for piece in range(pieces)
            ]
            for duets, pieces in ((equal, int(EQUAL_S / seconds)), (slower, 1))
        )
        yield _line(kind, f"duet of {seconds:g} s", seconds, same, other)
    for seconds in RUNS_S:
        words = [judged(each / "first.csv", each / "slower.csv", seconds, at_once=False) for each in runs]
        yield _line(kind, f"two runs of {seconds:g} s", seconds, [], words)


def _whole(duet: Path) -> bool:
    """Whether a duet came to its end."""
    return (duet / "summary.json").exists()


def _line(kind: str, name: str, seconds: float, same: list[str], other: list[str]) -> str:
    shares = [
        f"{sum(map(bool, same))} of {len(same)}" if same else "",
        *(f"{other.count(word)} of {len(other)}" for word in ("slower", "faster")),
    ]
    return f"| {MACHINES[kind]} | {name} | {2 * seconds * int(RATE):,.0f} | {' | '.join(shares)} |\n"


def main() -> None:
    """Write the table."""
    sys.stdout.write("| machine | | requests | equal called different | 3 % slower found | wrong direction |\n")
    sys.stdout.write("|---|---|--:|--:|--:|--:|\n")
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    for kind in MACHINES:
        for line in lines(Path(sys.argv[1]), kind, first):
            sys.stdout.write(line)
            sys.stdout.flush()


if __name__ == "__main__":
    main()
