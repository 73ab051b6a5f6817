"""Previews a plan without sending: its first requests, its rate over time, the requests that it leaves out."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import polars as pl

from logreplay.core.errors import LogreplayError
from logreplay.replay.requests.bodies import with_bodies
from logreplay.replay.requests.header_columns import BODILESS
from logreplay.replay.requests.plan import Chunk, signer
from logreplay.replay.schedules.rates import Instants

MOST_PATHS: Final = 100_000
"""Most paths that are counted by themselves; the others are counted together."""
OTHER_PATHS: Final = "(other)"
_SECOND: Final = 1_000_000_000
_DAY: Final = 86_400 * _SECOND
MOST_DAYS: Final = 366
"""Longest plan that is shown second by second."""
BARS: Final = 24


@dataclass(slots=True)
class Preview:
    """The preview of a plan.

    Attributes:
        head: its first requests: seconds, method, url.
        per_second: requests due in each second from 0.
        requests: number of requests.
        last: seconds from the start to the last one.
        changes: requests that may change data on the target, by method and URL without its query.
        clients: in the order of their first requests, if they are wanted.
    """

    head: list[tuple[float, str, str]] = field(default_factory=list)
    per_second: list[int] = field(default_factory=list)
    requests: int = 0
    last: float = 0.0
    changes: Counter[tuple[str, str]] = field(default_factory=Counter)
    clients: dict[str, None] = field(default_factory=dict)

    def add_changes(self, frame: pl.DataFrame) -> None:
        unsafe = frame.select("op", "url").filter(~pl.col("op").is_in(BODILESS))
        if unsafe.height:
            paths = unsafe.select("op", pl.col("url").str.replace(r"[?#].*$", ""))
            for op, path, count in paths.group_by("op", "url", maintain_order=True).len().iter_rows():
                known = (op, path) in self.changes or len(self.changes) < MOST_PATHS
                self.changes[op, path if known else OTHER_PATHS] += count

    def rates(self, bars: int = BARS) -> list[tuple[int, int, float]]:
        """The rate over time in at most ``bars`` equal parts: first second, last second, requests per second."""
        width = max(1, -(-len(self.per_second) // bars))
        starts = range(0, len(self.per_second), width)
        parts = [(start, self.per_second[start : start + width]) for start in starts]
        return [(start, start + len(counts) - 1, sum(counts) / len(counts)) for start, counts in parts]


def preview(plan: Iterable[Chunk], head: int = 10, *, clients: bool = False) -> Preview:
    """Read a whole plan. Does not return for one without end."""
    seen, sign = Preview(), signer(plan)
    for one in with_bodies(plan) if sign else plan:
        chunk = sign.sign(one) if sign else one
        wanted = chunk.frame.head(head - len(seen.head)) if len(seen.head) < head else None
        if wanted is not None:
            due = (chunk.due[: wanted.height] / _SECOND).tolist()
            seen.head += zip(due, wanted["op"].to_list(), wanted["url"].to_list(), strict=True)
        seen.add_changes(chunk.frame)
        if clients:
            seen.clients |= dict.fromkeys(chunk.frame["client"].fill_null("").unique(maintain_order=True).to_list())
        if len(chunk.due):
            _check_length(chunk.due, round(seen.last * _SECOND))
            counts = np.bincount(chunk.due // _SECOND)
            seen.per_second += [0] * (len(counts) - len(seen.per_second))
            for second in np.flatnonzero(counts).tolist():
                seen.per_second[second] += int(counts[second])
            seen.requests += len(chunk.due)
            seen.last = int(chunk.due[-1]) / _SECOND
    return seen


def _check_length(due: Instants, last: int) -> None:
    """Check that a plan is not so long that its seconds would fill the memory, as by one row with a wrong date."""
    if due[-1] > MOST_DAYS * _DAY:
        gaps = np.diff(due, prepend=last)
        days = f"{gaps.max() / _DAY:,.0f} days"
        raise LogreplayError(
            f"the replay takes {due[-1] / _DAY:,.0f} days, more than the {MOST_DAYS} that a preview shows; its longest "
            f"gap in these requests is {days}, before second {int(due[gaps.argmax()]) // _SECOND:,}: correct the "
            "dates, or shorten gaps with --skip-idle"
        )
