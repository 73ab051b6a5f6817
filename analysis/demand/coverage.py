"""Says where one of several logs lacks a time that the others cover: their sum is too low there."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final

import numpy as np

from logreplay.analysis.demand import rates
from logreplay.analysis.demand.rates import HOUR, MINUTE
from logreplay.analysis.demand.wording import span, when
from logreplay.analysis.statistics.quantiles import Ints

_NAMED: Final = 5
"""Times that are named."""


def coverage(per_file: Mapping[str, Mapping[int, int]], first: int, last: int, zone: str) -> Iterator[str]:
    """Sentences on the times that fewer logs cover than others, and on those within a log without a request.

    Logs may follow one another, as rotated ones do: only the number of them at a time counts.

    Args:
        per_file: requests in each minute since 1970, UTC, by name of the log.
        first, last: seconds that count.
        zone: time zone of the times.
    """
    tables = {name: _within(counts, first, last) for name, counts in per_file.items()}
    whole = {name: table for name, table in tables.items() if len(table[0])}
    yield from _fewer(whole, zone)
    for name, (minutes, requests) in whole.items():
        for gap in rates.gaps(minutes * MINUTE, requests):
            begin, end = gap.at // MINUTE + 1, (gap.at + gap.seconds) // MINUTE
            beside = [other for other, (at, _) in whole.items() if other != name and ((at >= begin) & (at < end)).any()]
            if beside:
                yield (
                    f"{name} has no request for {span((end - begin) * MINUTE)} from {when(begin * MINUTE, zone)} "
                    f"{zone} on, and {', '.join(beside)} {'has' if len(beside) == 1 else 'have'}: the rates of this "
                    "time are too low if its server worked"
                )


def _within(counts: Mapping[int, int], first: int, last: int) -> tuple[Ints, Ints]:
    """The minutes with a request, ascending, and their requests."""
    kept = sorted(minute for minute in counts if first // MINUTE <= minute <= last // MINUTE)
    return np.array(kept, np.int64), np.array([counts[minute] for minute in kept], np.int64)


def _fewer(whole: Mapping[str, tuple[Ints, Ints]], zone: str) -> Iterator[str]:
    """The times of an hour or more that fewer logs cover than others."""
    spans = {name: (int(minutes[0]), int(minutes[-1]) + 1) for name, (minutes, _) in whole.items()}
    edges = sorted({edge for both in spans.values() for edge in both})
    parts = [
        (begin, end, tuple(name for name, (low, high) in spans.items() if low <= begin and end <= high))
        for begin, end in pairwise(edges)
    ]
    long = [(begin, end, names) for begin, end, names in parts if (end - begin) * MINUTE >= HOUR and names]
    most = max((len(names) for *_, names in long), default=0)
    for begin, end, names in [part for part in long if len(part[2]) < most][:_NAMED]:
        lacking = ", ".join(
            f"{name} covers {when(low * MINUTE, zone)} to {when(high * MINUTE, zone)}"
            for name, (low, high) in spans.items()
            if name not in names
        )
        yield (
            f"{span((end - begin) * MINUTE)} from {when(begin * MINUTE, zone)} {zone} on are in {', '.join(names)} "
            f"only, and other times in {most} logs at once ({lacking}): the rates of this time are too low if these "
            "logs are of servers that share the traffic; give logs of the same time, or --since and --until"
        )
