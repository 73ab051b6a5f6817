"""The share of a load that reached the target in the time of its schedule; the other requests waited ever longer."""

import numpy as np
from numpy.typing import NDArray

from logreplay.replay.senders.contract import ERROR_CODES


class SentShare:
    """Takes the requests that were written to a connection, as their records come."""

    def __init__(self) -> None:
        self._sums = np.zeros(5)
        self._late: list[NDArray[np.int64]] = []

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

    def _relative_rate(self) -> float:
        number, x, y, xx, xy = self._sums
        spread = number * xx - x * x
        growth = (number * xy - x * y) / spread if spread > 0 else 0.0
        return float(1 / (1 + max(growth, 0.0)))
