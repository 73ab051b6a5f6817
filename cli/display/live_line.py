"""Shows the state of a run in one line on the terminal, anew each second."""

from typing import TYPE_CHECKING

from logreplay.cli.display.outlet import Outlet
from logreplay.cli.display.terminal import terminal_size

if TYPE_CHECKING:
    from logreplay.replay.monitor.snapshot import Snapshot


class LiveLine:
    """One line on stderr, written anew each second.

    Written by hand in some microseconds: a library that draws would hold up the loop for milliseconds, and the run
    would measure its own display.
    """

    def __init__(self, outlet: Outlet, *, enabled: bool = True) -> None:
        self._outlet, self._enabled, self._shown = outlet, enabled, False

    def show(self, now: "Snapshot") -> None:
        """Write the line, unless the terminal still has to take the one before."""
        if self._enabled and self._outlet.idle:
            self._shown = True
            columns, _ = terminal_size()
            self._outlet.write(f"\r\x1b[K{text(now)[: columns - 1]}")

    def clear(self) -> None:
        """Leave no line behind."""
        if self._shown:
            self._shown = False
            self._outlet.write("\r\x1b[K")


def text(now: "Snapshot") -> str:
    """A snapshot in one line."""
    stage, rate, totals = now.stage, now.rate, now.totals
    verdict = "" if now.verdict in ("", "VALID") else now.verdict
    parts = [
        stage.name,
        f"{max(0.0, stage.planned - now.elapsed):.0f} s left" if stage.planned else f"{now.elapsed:.0f} s",
        f"offered {rate.offered:.4g}/s, sent {rate.sent:.0f}, completed {rate.completed:.0f}",
        f"in flight {now.in_flight}",
        f"p50 {_ms(now.response.p50)} p95 {_ms(now.response.p95)} p99 {_ms(now.response.p99)}",
        f"lag p99 {_ms(now.lag.p99)}",
        f"errors {totals.failed}" + (f", dropped {totals.dropped}" if totals.dropped else ""),
        *(f"{name} {'–' if value is None else f'{value:.4g}'}" for name, value in now.watch.items()),
        verdict,
    ]
    return " · ".join(part for part in parts if part)


def _ms(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    return f"{seconds * 1000:.3g} ms" if seconds < 10 else f"{seconds:.3g} s"
