"""The line that a terminal shows while a run goes on."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from logreplay.cli.inputs import on_terminal

if TYPE_CHECKING:
    from logreplay.replay.engine import Progress


class LiveLine:
    """One line on stderr, written anew each second.

    Written by hand in some microseconds: a library that draws would hold up the loop for milliseconds, and the run
    would measure its own display.
    """

    def __init__(self, *, planned: float | None, rate: float, prefix: str = "") -> None:
        self._planned, self._rate, self._prefix = planned, rate, prefix
        self._last: Progress | None = None

    def show(self, progress: "Progress") -> None:
        """Write the line."""
        last, self._last = self._last, progress
        sys.stderr.write(f"\r\x1b[K{self._prefix}{self._text(progress, last)}")
        sys.stderr.flush()

    def clear(self) -> None:
        """Leave no line behind."""
        if self._last:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _text(self, now: "Progress", last: "Progress | None") -> str:
        seconds = now.elapsed - (last.elapsed if last else 0) or 1.0
        sent = (now.sent - (last.sent if last else 0)) / seconds
        completed = (now.completed - (last.completed if last else 0)) / seconds
        failed = now.http_error + now.net_error
        parts = [
            f"{max(0.0, self._planned - now.elapsed):.0f} s left" if self._planned else f"{now.elapsed:.0f} s",
            f"offered {self._rate:g}/s, sent {sent:.0f}, completed {completed:.0f}",
            f"in flight {now.in_flight}",
            f"p50 {_ms(now.recent.p50)} p99 {_ms(now.recent.p99)}",
            f"lag p99 {_ms(now.recent.lag_p99)}",
            f"errors {failed}" + (f", dropped {now.dropped}" if now.dropped else ""),
        ]
        return " · ".join(parts)


def _ms(seconds: float) -> str:
    if not seconds:
        return "–"
    return f"{seconds * 1000:.3g} ms" if seconds < 10 else f"{seconds:.3g} s"


@contextmanager
def live_line(*, planned: float | None, rate: float, quiet: bool, prefix: str = "") -> "Iterator[LiveLine | None]":
    """A live line while the block runs, if there is a terminal to show it."""
    if quiet or not on_terminal():
        yield None
        return
    line = LiveLine(planned=planned, rate=rate, prefix=prefix)
    try:
        yield line
    finally:
        line.clear()
