"""Shows the state of a run in one line, once a second, at a terminal or in a notebook: ``progress=True``."""

import sys
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from logreplay.analysis.format_time import show, show_rate
from logreplay.core.masking import terminal_safe

if TYPE_CHECKING:
    from logreplay.replay.monitor.snapshot import Snapshot


class ProgressLine:
    """A line on standard error, if that is a terminal; in a notebook, below its cell, where the totals stay."""

    def __init__(self) -> None:
        self._display_id, self._shown = uuid4().hex, False

    def __call__(self, now: "Snapshot") -> None:
        if in_kernel():
            from IPython import display

            draw: Any = display.display
            draw(
                {"text/plain": ended(now) if now.over else text(now)},
                raw=True,
                display_id=self._display_id,
                update=self._shown,
            )
            self._shown = True
        elif sys.stderr.isatty():
            line = "" if now.over else text(now)[: get_terminal_size().columns - 1]
            sys.stderr.write(f"\r\x1b[K{line}")
            sys.stderr.flush()


def ended(now: "Snapshot") -> str:
    """A run that is over in one line: the totals, and the verdict on its last stage."""
    totals = now.totals
    parts = [
        f"{now.second:.0f} s",
        f"sent {totals.sent:,}, completed {totals.ok + totals.http_error:,}",
        f"errors {totals.failed:,}" + (f", dropped {totals.dropped:,}" if totals.dropped else ""),
        now.verdict,
    ]
    return terminal_safe(" · ".join(part for part in parts if part))


def text(now: "Snapshot") -> str:
    """A snapshot in one line; signs that could steer a terminal become ``?``."""
    stage, rate, totals = now.stage, now.rate, now.totals
    verdict = "" if now.verdict in ("", "VALID") else now.verdict
    parts = [
        stage.name,
        f"{max(0.0, stage.planned - now.elapsed):.0f} s left" if stage.planned else f"{now.elapsed:.0f} s",
        f"offered {show_rate(rate.offered, 4)}/s, sent {rate.sent:.0f}, completed {rate.completed:.0f}",
        f"in flight {now.in_flight}",
        f"p50 {show(now.response.p50)} p95 {show(now.response.p95)} p99 {show(now.response.p99)}",
        f"lag p99 {show(now.lag.p99)}",
        f"errors {totals.failed}" + (f", dropped {totals.dropped}" if totals.dropped else ""),
        *(f"{name} {'–' if value is None else f'{value:.4g}'}" for name, value in now.watch.items()),
        verdict,
    ]
    return terminal_safe(" · ".join(part for part in parts if part))


def at_prompt() -> bool:
    """Whether a person types the calls."""
    return hasattr(sys, "ps1") or _shell() is not None


def in_kernel() -> bool:
    """Whether the person sits at a notebook, or at another front end of a kernel."""
    return getattr(_shell(), "kernel", None) is not None


def _shell() -> Any:
    ipython = sys.modules.get("IPython")
    return ipython and ipython.get_ipython()
