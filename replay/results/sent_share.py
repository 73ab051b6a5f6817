"""The share of a load that reached the target in the time of its schedule; the other requests waited ever longer."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from logreplay.replay.senders.contract import ERROR_CODES, NO_CONNECTION

_NEVER: Final = np.iinfo(np.int64).max
_SECOND: Final = 1_000_000_000
_SHORT: Final = 2
"""Seconds of half a load: in shorter halves, waits of one length look like waits that grow."""
_MANY: Final = 0.2
"""Share of requests that wait when so short a load is stopped; above it, the waits surely grow."""


class SentShare:
    """Takes the requests that were written to a connection, as their records come."""

    def __init__(self) -> None:
        self._sums = np.zeros(5)
        self._late: list[NDArray[np.int64]] = []
        self._by_second = np.zeros((2, 0), np.int64)

    def add(self, records: NDArray[np.void], base: int, all_taken_up: float) -> None:
        """Add requests; those that were dropped do not count.

        Args:
            records: ``(n,)`` of `logreplay.replay.senders.contract.RECORD`.
            base: beginning of the load, nanoseconds of the clock.
            all_taken_up: the instant at which the last request of the load was taken up; infinite: not yet.
        """
        sent = records["error"] != ERROR_CODES["dropped"]
        taken_up, waits = records["start"][sent] - base, records["queued"][sent]
        x, y = taken_up / 1e9, waits / 1e9
        self._sums += np.array([len(x), x.sum(), y.sum(), x @ x, x @ y])
        written = taken_up + waits
        never = (records["error"] == ERROR_CODES["cancelled"]) & (records["connection"] == NO_CONNECTION)
        written[never[sent]] = _NEVER
        self._count(taken_up, written[written < _NEVER])
        if len(late := written[written > all_taken_up - base]):
            self._late.append(late)

    def of(self, end: float) -> float:
        """Return the share of the requests, for a load that ends ``end`` nanoseconds after its beginning.

        The greater of two shares. One is the share that was written by the end, or, if that is greater, the share that
        was written by a later instant, times ``end`` over that instant: a few requests that wait long do not decide.
        The other is the rate of writing over the rate of taking up, by least squares of the waits: waits that do not
        grow do not decide.
        """
        written = np.sort(np.concatenate([*self._late, np.zeros(0, np.int64)]))
        written = written[written > end]
        shares = 1 - np.arange(len(written), -1, -1) / max(self._sums[0], 1)
        return max(float((shares * end / np.concatenate(([end], written))).max()), self._relative_rate())

    def until(self, stop: float) -> float:
        """Return the share of the requests, for a load that was stopped ``stop`` nanoseconds after its beginning.

        The greater of two shares. One is the share that was written by then. The other is the rate of writing over the
        rate of taking up in the second half. Waiting requests do not decide if their number grows by no more than
        chance, or if they are at most a fifth of a load of less than four seconds. The waits themselves tell no rate:
        that of a request that was not written is unknown.
        """
        total, half = self._sums[0], int(stop / _SECOND) // 2
        waiting = sum(int((late > stop).sum()) for late in self._late)
        due, written = self._by_second[:, :half].sum(axis=1)
        before = int(due - written)
        growth = waiting - before
        if growth <= 2 * (waiting + before) ** 0.5 or (half < _SHORT and waiting <= _MANY * total):
            return 1.0
        return 1 - float(min(waiting / total, growth / max(total - due, 1)))

    def _count(self, *instants: NDArray[np.int64]) -> None:
        """Count requests by the second in which they were taken up, and in which they were written."""
        seconds = [each // _SECOND for each in instants]
        more = max(int(each.max(initial=-1)) + 1 for each in seconds) - self._by_second.shape[1]
        self._by_second = np.pad(self._by_second, ((0, 0), (0, max(more, 0))))
        self._by_second += [np.bincount(each, minlength=self._by_second.shape[1]) for each in seconds]

    def _relative_rate(self) -> float:
        number, x, y, xx, xy = self._sums
        spread = number * xx - x * x
        growth = (number * xy - x * y) / spread if spread > 0 else 0.0
        return float(1 / (1 + max(growth, 0.0)))
