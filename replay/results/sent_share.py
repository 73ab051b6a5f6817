"""The share of a load that reached the target in the time of its schedule: the others waited, and ever longer."""

import numpy as np
from numpy.typing import NDArray

Nanoseconds = NDArray[np.int64]


class SentShare:
    """Takes the requests that were written to a connection, as their records come."""

    def __init__(self) -> None:
        self._sums = np.zeros(5)
        self._late: list[Nanoseconds] = []

    def add(self, taken_up: Nanoseconds, waits: Nanoseconds, taken_up_all: float) -> None:
        """Add requests.

        Args:
            taken_up: (n,) instants, nanoseconds from the beginning of the load.
            waits: (n,) how long each then waited for a stream or for what its client did before, nanoseconds.
            taken_up_all: instant at which the last request of the load was taken up; infinite: not yet.
        """
        x, y = taken_up / 1e9, waits / 1e9
        self._sums += np.array([len(x), x.sum(), y.sum(), x @ x, x @ y])
        written = taken_up + waits
        if len(late := written[written > taken_up_all]):
            self._late.append(late)

    def of(self, sent: int, end: float) -> float:
        """Return the share of ``sent`` requests, for a load that ends ``end`` nanoseconds after its beginning.

        The greater of two: the share that was written by the end, or, at a later instant, that share divided by how
        much longer it took, so that few that wait for long do not decide; and the rate of the writing over that of the
        taking up, by least squares of the waits, so that waits which do not grow do not decide.
        """
        written = np.sort(np.concatenate([*self._late, np.zeros(0, np.int64)]))
        written = written[written > end]
        shares = 1 - np.arange(len(written), -1, -1) / max(sent, 1)
        return max(float((shares * end / np.concatenate(([end], written))).max()), self._relative_rate())

    def _relative_rate(self) -> float:
        number, x, y, xx, xy = self._sums
        spread = number * xx - x * x
        growth = (number * xy - x * y) / spread if spread > 0 else 0.0
        return float(1 / (1 + max(growth, 0.0)))
