"""The line that a terminal shows while a run goes on."""

import sys
from shutil import get_terminal_size
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logreplay.replay.snapshot import Snapshot


class LiveLine:
    """One line on stderr, written anew each second.

    Written by hand in some microseconds: a library that draws would hold up the loop for milliseconds, and the run
    would measure its own display.
    """

    def __init__(self) -> None:
        self._shown = False

    def show(self, now: "Snapshot") -> None:
        """Write the line."""
        self._shown = True
        width = get_terminal_size().columns
        sys.stderr.write(f"\r\x1b[K{text(now)[: width - 1]}")
        sys.stderr.flush()

    def clear(self) -> None:
        """Leave no line behind."""
        if self._shown:
            self._shown = False
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def text(now: "Snapshot") -> str:
    """A snapshot in one line."""
    stage, rate, totals = now.stage, now.rate, now.totals
    failed = totals.http_error + totals.net_error
    verdict = "" if now.verdict in ("", "VALID") else now.verdict
    parts = [
        stage.name,
        f"{max(0.0, stage.planned - now.elapsed):.0f} s left" if stage.planned else f"{now.elapsed:.0f} s",
        f"offered {rate.offered:.4g}/s, sent {rate.sent:.0f}, completed {rate.completed:.0f}",
        f"in flight {now.in_flight}",
        f"p50 {_ms(now.response.p50)} p95 {_ms(now.response.p95)} p99 {_ms(now.response.p99)}",
        f"lag p99 {_ms(now.lag.p99)}",
        f"errors {failed}" + (f", dropped {totals.dropped}" if totals.dropped else ""),
        *(f"{name} {'–' if value is None else f'{value:.4g}'}" for name, value in now.watch.items()),
        verdict,
    ]
    return " · ".join(part for part in parts if part)


def _ms(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    return f"{seconds * 1000:.3g} ms" if seconds < 10 else f"{seconds:.3g} s"
