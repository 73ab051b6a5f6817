"""Counts how often a run asked for a URL again, beside how often its log does so by itself."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from logreplay.core.plural import number_of
from logreplay.core.quantities import percent

_MORE: Final = 0.05
"""Share of repeated URLs from which they may change a capacity by more than a step of a search."""
_PIECE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class UrlRepeats:
    """The URLs of a run and of its log.

    Attributes:
        requests: requests of the log that were sent; injected ones do not count.
        distinct: URLs among them.
        log_requests, log_distinct: the same of the log, as far as it may be sent.
        touched: URLs of the log that were sent.
        again: share of the requests whose URL the run had asked for before.
        again_in_log: expected share of repeated URLs for the same number of log requests (extrapolated if needed).
    """

    requests: int
    distinct: int
    log_requests: int
    log_distinct: int
    touched: int
    again: float
    again_in_log: float

    @property
    def repeats(self) -> bool:
        """Whether the run repeated URLs that the log does not repeat, so that a cache may have answered them."""
        return self.again - self.again_in_log > _MORE

    def as_dict(self) -> dict[str, Any]:
        """The form of summary.json."""
        return asdict(self)

    def sentence(self) -> str:
        """The same in words."""
        return (
            f"{number_of(self.requests, 'request is', 'requests are')} {self.requests / self.log_requests:.2f} rounds "
            f"of the log; {percent(self.again)} ask for a URL again, and {self.touched:,} of its "
            f"{self.log_distinct:,} URLs ({percent(self.touched / self.log_distinct)}) were asked for"
        )

    def warning(self, remedy: str) -> str:
        """The possible effect of a cache, and what to do."""
        return (
            f"{percent(self.again)} of the requests asked for a URL that this run had asked for before; in as many "
            f"requests of the log {percent(self.again_in_log)} do. A cache answers these faster than it answers "
            f"visitors, so the target may carry less than was measured; {remedy}"
        )


def url_repeats(sent: Iterable[pl.Series], log: Iterable[pl.Series]) -> UrlRepeats | None:
    """Count the URLs of the requests sent, in any order, and of one pass through the log; None: none was sent."""
    run = _Urls()
    for urls in sent:
        run.add(urls)
    if not run.requests:
        return None
    whole, new = _Urls(), 0.0
    marks = [(0, 0)]
    for urls in log:
        missing = max(0, run.requests - whole.requests)
        whole.add(urls.head(missing))
        if 0 < missing <= len(urls):
            new = whole.distinct
        whole.add(urls.slice(missing))
        if whole.requests >= 2 * max(marks[-1][0], 1):
            marks.append((whole.requests, whole.distinct))
    if not new:  # a longer log would go on as this one ends
        requests, distinct = next(mark for mark in reversed(marks) if mark[0] <= whole.requests / 2)
        still_new = (whole.distinct - distinct) / (whole.requests - requests)
        new = whole.distinct + still_new * (run.requests - whole.requests)
    return UrlRepeats(
        requests=run.requests,
        distinct=run.distinct,
        log_requests=whole.requests,
        log_distinct=whole.distinct,
        touched=len(np.intersect1d(run.hashes, whole.hashes, assume_unique=True)),
        again=1 - run.distinct / run.requests,
        again_in_log=1 - new / run.requests,
    )


class _Urls:
    """Counts distinct URLs by their hashes: 8 bytes for each."""

    def __init__(self) -> None:
        self.requests, self._new = 0, 0
        self._pieces: list[npt.NDArray[np.uint64]] = []

    def add(self, urls: pl.Series) -> None:
        hashes = urls.hash().unique().to_numpy()
        self.requests += len(urls)
        self._new += len(hashes)
        self._pieces.append(hashes)
        if self._new > _PIECE:
            self._pieces, self._new = [self.hashes], 0

    @property
    def hashes(self) -> npt.NDArray[np.uint64]:
        """Of all URLs, each once."""
        return np.unique(np.concatenate(self._pieces)) if self._pieces else np.zeros(0, np.uint64)

    @property
    def distinct(self) -> int:
        return len(self.hashes)
