"""A growing access log → rows, line by line as they come."""

import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from logreplay.parsers.detect import Reading
    from logreplay.replay.follow import Followed

_QUIET_S = 2.5
"""Rows of the newest seconds are held back to be spread over them, but no longer than this."""


def followed(log: Path, seconds: float | None) -> "Followed":
    """A log as a source of requests while it is written.

    Args:
        log: an access log in any format that `convert` reads by itself.
        seconds: for how long; None: until the run is stopped.

    Raises:
        LogreplayError: what is there of it is no access log.
    """
    from logreplay.replay.follow import Followed, Tail

    return Followed(Tail(log, seconds=seconds), LineParser(log))


class LineParser:
    """Parses lines of one log; give it to `logreplay.replay.follow.Followed`.

    Args:
        log: what is there of it already tells its format.
    """

    def __init__(self, log: Path) -> None:
        from logreplay.parsers.spread import Spreader

        self._log = log
        self._spreader = Spreader()
        self._reading = self._known()
        self._heard = time.monotonic()
        self.refused: Counter[str] = Counter()

    def __call__(self, data: bytes) -> "pl.DataFrame":
        """Rows that are settled, in order of start, with the columns of a normalized CSV."""
        import polars as pl

        from logreplay.parsers.convert import with_date_and_time
        from logreplay.parsers.detect import detect
        from logreplay.parsers.reader import text_lines
        from logreplay.parsers.rows import ROW_SCHEMA
        from logreplay.parsers.spread import start_times

        if data:
            self._heard = time.monotonic()
            self._reading = self._reading or detect([data], str(self._log))
            parsed = self._reading.parse(text_lines(data), self._reading.formats, "")
            self.refused.update(refusal.reason for refusal in parsed.refusals)
            rows = self._spreader.add(parsed.rows)
        elif time.monotonic() - self._heard > _QUIET_S:
            rows = self._spreader.close()
        else:
            rows = start_times(pl.DataFrame(schema=ROW_SCHEMA))
        return with_date_and_time(rows.sort("start", maintain_order=True))

    def _known(self) -> "Reading | None":
        """The format of what is there already; None if that is nothing."""
        from logreplay.parsers.convert import ConvertOptions, find_reading
        from logreplay.parsers.reader import Source

        if not self._log.exists() or not self._log.stat().st_size:
            return None
        source = Source(self._log)
        try:
            return find_reading([source], ConvertOptions())
        finally:
            source.close()
