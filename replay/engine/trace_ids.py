"""Gives each request a W3C trace context of its own: the header ``traceparent``, and its trace id in the result log.

Both follow from a key and the number of the request in the run (seq): whoever renders requests and whoever writes rows
make the same ids, in whatever process, and nothing is carried along.

Source: https://www.w3.org/TR/trace-context/#traceparent-header.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from logreplay.core.record import TRACE_ID, least_sampled
from logreplay.replay.requests.header_columns import with_headers
from logreplay.replay.results.result_log import Results

TRACEPARENT: Final = "traceparent"
_SAMPLED_BY: Final = (1 << 56) - 1
_Words = NDArray[np.uint64]

TraceHeaders = Callable[[NDArray[np.int64]], pl.Series]
"""Returns the values of the header for requests, by their numbers in this process."""


@dataclass(frozen=True, slots=True)
class TraceIds:
    """The trace contexts of the requests of a run.

    Attributes:
        share: share of the requests that are marked as sampled, from 0 to 1.
        key: three words; another key makes other ids.
    """

    share: float
    key: tuple[int, int, int]

    @classmethod
    def of(cls, share: float, seed: int | None, first: int = 0) -> "TraceIds":
        """The trace contexts of a run, which depend on its seed and first request; without a seed they are unique."""
        drawn = np.random.SeedSequence(None if seed is None else [seed, first]).generate_state(3, np.uint64)
        high, low, span = drawn.tolist()
        return cls(share, (high, low, span))

    def ids(self, numbers: NDArray[np.int64]) -> pl.Series:
        """The trace ids of requests, ``(n,)``: 32 hexadecimal digits."""
        return pl.Series(TRACE_ID, _hex(*self._words(numbers)), dtype=pl.String)

    def parents(self, numbers: NDArray[np.int64]) -> pl.Series:
        """The values of the header of requests, ``(n,)``."""
        high, low = self._words(numbers)
        span = np.maximum(_mixed(numbers, self.key[2]), 1)
        sampled = (low & np.uint64(_SAMPLED_BY)) >= least_sampled(self.share)
        parts = zip(_hex(high, low), _hex(span), np.where(sampled, "01", "00").tolist(), strict=True)
        return pl.Series(TRACEPARENT, [f"00-{trace}-{parent}-{flags}" for trace, parent, flags in parts])

    def _words(self, numbers: NDArray[np.int64]) -> tuple[_Words, _Words]:
        return _mixed(numbers, self.key[0]), np.maximum(_mixed(numbers, self.key[1]), 1)


class WithTraceIds:
    """Results whose rows get the trace ids of their requests, as their last column."""

    def __init__(self, results: Results, ids: TraceIds) -> None:
        self._results, self._ids = results, ids

    def write(self, rows: pl.DataFrame) -> None:
        self._results.write(rows.with_columns(self._ids.ids(rows["seq"].to_numpy())))

    def close(self) -> None:
        self._results.close()


def traced(frame: pl.DataFrame, first: int, headers: TraceHeaders) -> pl.DataFrame:
    """Requests with their header, in place of one that they had; ``first`` is the number of the first one."""
    return with_headers(frame, {TRACEPARENT: headers(np.arange(first, first + frame.height))})


def _mixed(numbers: NDArray[np.int64], key: int) -> _Words:
    """Numbers as words that look random; different ones for different numbers (SplitMix64)."""
    word = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(key)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        word = (word ^ (word >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(word ^ (word >> np.uint64(31)))


def _hex(*words: _Words) -> list[str]:
    """Words next to each other as hexadecimal digits, one text for each row."""
    text, length = np.column_stack(words).astype(">u8").tobytes().hex(), 16 * len(words)
    return [text[at : at + length] for at in range(0, len(text), length)]
