"""Finds logs that hold the same lines, such as a part of a log beside the whole.

Theory of operation. The sample of a log is its different lines with the smallest hashes. A line that two logs hold has
the same hash in both, and is in both samples if that hash is small enough for both. So a part of a log is found beside
the whole, also if a filter made it, or if it consists of several pieces.

Logs of different machines can share a line that each of them repeats at other times, such as that of a health check. So
a line counts only if neither sample holds its text, without the time, more than once.

Two logs are refused if at least 100 of the lines that count are in both, and these are at least 9 of 10 of the lines
that count in the log with fewer of them. Only the time that both logs span is compared.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from logreplay.core.errors import LogreplayError
from logreplay.core.quantities import iso

_MOST: Final = 1 << 12
"""Lines of a log that are kept; each takes 24 bytes."""
_LEAST_MOST: Final = 1 << 9
_TOGETHER: Final = 1 << 18
"""Lines that are kept of all logs together; more if there are more than 512 logs."""
_LEAST: Final = 100
"""Smallest number of lines in both logs; fewer tell nothing."""
_SHARE: Final = 0.9
"""Smallest share that is in both logs, of the lines that count in the log with fewer of them."""

Ints = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]
Texts = Callable[[npt.NDArray[np.intp]], Hashes]


class RepeatedLines:
    """The samples of several logs."""

    def __init__(self, logs: int) -> None:
        self.needed = logs > 1
        self._most = min(max(_TOGETHER // max(logs, 1), _LEAST_MOST), _MOST)
        self._of: dict[str, _Sample] = {}

    def add(self, name: str, stamps: Ints, hashes: Hashes, texts: Texts) -> None:
        """Add some lines of a log, in any order.

        Args:
            name: name of the log.
            stamps: their times, microseconds since 1970, (n,); lines at 0 or before have none, and are not looked at.
            hashes: their hashes, (n,).
            texts: gives the hashes of some of them without their time, by index; called for few.
        """
        found = self._of.setdefault(name, _Sample(self._most))
        new = np.flatnonzero((hashes < found.limit) & (stamps > 0))
        if len(new):
            new = new[np.unique(hashes[new], return_index=True)[1][: self._most + 1]]
            found.add(hashes[new], texts(new), stamps[new])

    def add_rows(self, name: str, rows: pl.DataFrame) -> None:
        """Add some rows of a log, likewise; ``start`` is their time, perhaps once more in ``date`` and ``time``."""
        if not self.needed:
            return
        rest = rows.drop("start", "date", "time", strict=False)
        hashes = rows.hash_rows().to_numpy()
        self.add(name, rows["start"].to_numpy(), hashes, lambda some: rest[some].hash_rows().to_numpy())

    def check(self) -> None:
        """Check that no log holds the lines of another in the time that both span."""
        samples = self._of  # they are complete
        for each in samples.values():
            each.leave_out_often()
        names = sorted(samples, key=lambda name: int(samples[name].stamps.min(initial=1 << 62)))
        for one, other in _alike([samples[name].hashes for name in names]):
            if common := _same(samples[names[one]], samples[names[other]]):
                first, last = map(iso, common)
                raise LogreplayError(
                    f"{names[one]} and {names[other]} hold the same lines from {first} to {last}: they would be "
                    "counted twice; name one of them, or delete these lines from it"
                )


class _Sample:
    """The different lines of a log with the smallest hashes, ascending.

    Attributes:
        limit: the sample holds all lines with smaller hashes.
        hashes: those of the lines.
        texts: those of the lines without their time.
        stamps: their times, microseconds since 1970.
        often: hashes of the texts that occurred more than once, whose lines are left out.
    """

    def __init__(self, most: int) -> None:
        self.limit = np.uint64(2**64 - 1)
        self._most = most
        self.hashes, self.texts, self.often = (np.zeros(0, np.uint64) for _ in range(3))
        self.stamps = np.zeros(0, np.int64)

    def add(self, hashes: Hashes, texts: Hashes, stamps: Ints) -> None:
        hashes, chosen = np.unique(np.concatenate((self.hashes, hashes)), return_index=True)
        if len(hashes) > self._most:
            self.limit = hashes[self._most]
        self.hashes, chosen = hashes[: self._most], chosen[: self._most]
        self.texts = np.concatenate((self.texts, texts))[chosen]
        self.stamps = np.concatenate((self.stamps, stamps))[chosen]

    def leave_out_often(self) -> None:
        """Leave out the lines whose texts occur more than once."""
        texts, first, counts = np.unique(self.texts, return_index=True, return_counts=True)
        once = np.sort(first[counts == 1])
        self.hashes, self.texts, self.stamps = self.hashes[once], self.texts[once], self.stamps[once]
        self.often = texts[counts > 1]


def _alike(logs: list[Hashes]) -> list[tuple[int, int]]:
    """The pairs of logs that are neighbours in the order of logs with a hash in common."""
    hashes = np.concatenate([*logs, np.zeros(0, np.uint64)])
    of = np.repeat(np.arange(len(logs)), [len(each) for each in logs])
    order = np.argsort(hashes, kind="stable")
    hashes, of = hashes[order], of[order]
    equal = np.flatnonzero(hashes[1:] == hashes[:-1])
    pairs = np.unique(np.stack((of[equal], of[equal + 1]), axis=1), axis=0)
    return [(one, other) for one, other in pairs.tolist()]


def _same(one: _Sample, other: _Sample) -> tuple[int, int] | None:
    """The begin and the end of the time that both span, microseconds, if they hold the same lines in it."""
    low, high = max(one.stamps.min(), other.stamps.min()), min(one.stamps.max(), other.stamps.max())
    if low >= high:  # at one instant, lines cannot be told apart by their times
        return None
    limit = min(one.limit, other.limit)

    def counting(log: _Sample, often: Hashes) -> Hashes:
        here = (log.stamps >= low) & (log.stamps <= high) & (log.hashes < limit) & ~np.isin(log.texts, often)
        counted: Hashes = log.hashes[here]
        return counted

    these, those = counting(one, other.often), counting(other, one.often)
    equal = len(np.intersect1d(these, those, assume_unique=True))
    return (int(low), int(high)) if equal >= max(_LEAST, _SHARE * min(len(these), len(those))) else None
