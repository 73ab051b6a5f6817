"""Finds logs that hold the same lines at the same times, such as a part of a log beside the whole.

Theory of operation. For each second of a log the hashes of its lines are added up. Two logs whose sums are equal in
nearly all seconds that both span hold the same lines there. Logs of two machines behind a balancer have other lines in
the same seconds; few seconds are equal by chance, such as those with nothing but a health check. If a log has too many
seconds for the memory, only those that a power of two divides count.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from logreplay.core.errors import LogreplayError
from logreplay.core.quantities import iso

_SECOND: Final = 1_000_000
_MOST: Final = 1 << 19
"""Seconds of all logs that are kept; each takes 16 bytes."""
_LEAST_MOST: Final = 1 << 10
_LEAST: Final = 10
"""Seconds that must be equal: fewer tell nothing."""
_SHARE: Final = 0.9
"""Share of the seconds with a request in either log that must be equal."""

Ints = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]


class RepeatedLines:
    """The sums of several logs.

    Args:
        logs: number of them; one alone is not looked at.
    """

    def __init__(self, logs: int) -> None:
        self.needed = logs > 1
        self._most = max(_MOST // max(logs, 1), _LEAST_MOST)
        self._of: dict[str, _SecondSums] = {}

    def add(self, name: str, stamps: Ints, hashes: Hashes) -> None:
        """Add some lines of a log, in any order.

        Args:
            name: name of the log.
            stamps: their times, microseconds since 1970, (n,).
            hashes: their hashes, (n,).
        """
        self._of.setdefault(name, _SecondSums(self._most)).add(stamps // _SECOND, hashes)

    def check(self) -> None:
        """Check that no log holds the lines of another in the time that both span.

        Raises:
            LogreplayError: two do; names them and that time.
        """
        tables = {name: sums.table() for name, sums in self._of.items()}
        in_time = sorted(
            (name for name in tables if len(tables[name].seconds)), key=lambda name: tables[name].seconds[0]
        )
        for at, one in enumerate(in_time):
            for other in in_time[at + 1 :]:
                if tables[other].seconds[0] > tables[one].seconds[-1]:
                    break
                if common := _same(tables[one], tables[other]):
                    first, last = (iso(second * _SECOND) for second in common)
                    raise LogreplayError(
                        f"{one} and {other} hold the same lines from {first} to {last}: they would be counted twice; "
                        "name one of them, or delete these lines from it"
                    )


@dataclass(frozen=True, slots=True)
class _Table:
    """The sum of the hashes of each second of a log with a line, or of those that ``step`` divides; ascending."""

    seconds: Ints
    sums: Hashes
    step: int


class _SecondSums:
    """The sum of the hashes of each second of a log, in bounded memory."""

    def __init__(self, most: int) -> None:
        self._most, self._step = most, 1
        self._parts: list[tuple[Ints, Hashes]] = []
        self._waiting = 0

    def add(self, seconds: Ints, hashes: Hashes) -> None:
        kept = seconds % self._step == 0
        self._parts.append((seconds[kept], hashes[kept]))
        self._waiting += len(self._parts[-1][0])
        if self._waiting > 2 * self._most:
            self.table()

    def table(self) -> _Table:
        """The sums so far."""
        seconds, hashes = (np.concatenate(part) for part in zip(*self._parts, strict=True))
        order = np.argsort(seconds, kind="stable")
        seconds, hashes = seconds[order], hashes[order]
        firsts = np.flatnonzero(np.diff(seconds, prepend=seconds[:1] - 1))
        seconds, sums = seconds[firsts], np.add.reduceat(hashes, firsts)
        while len(seconds) > self._most:
            self._step *= 2
            kept = seconds % self._step == 0
            seconds, sums = seconds[kept], sums[kept]
        self._parts, self._waiting = [(seconds, sums)], len(seconds)
        return _Table(seconds, sums, self._step)


def _same(one: _Table, other: _Table) -> tuple[int, int] | None:
    """The first and last second of the time that both span, if they hold the same lines in it."""
    low, high = max(one.seconds[0], other.seconds[0]), min(one.seconds[-1], other.seconds[-1])
    step = max(one.step, other.step)
    both, here, there = np.intersect1d(one.seconds, other.seconds, assume_unique=True, return_indices=True)
    spanned = sum(int(((at >= low) & (at <= high) & (at % step == 0)).sum()) for at in (one.seconds, other.seconds))
    equal = int((one.sums[here] == other.sums[there]).sum())
    return (int(low), int(high)) if equal >= max(_LEAST, _SHARE * (spanned - len(both))) else None
