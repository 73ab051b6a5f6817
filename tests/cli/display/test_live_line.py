"""The state of a run in one line: it fits, it steers no terminal, and nothing of it stays."""

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.calling.progress_line import text
from logreplay.cli.display import progress
from logreplay.cli.display.progress import LiveLine
from logreplay.replay.monitor.snapshot import Rates, Snapshot, Stage, Times, Totals


class Written(io.StringIO):
    """An outlet whose reader is quick, or has not taken the line before."""

    idle = True


def line(outlet: Written, *, enabled: bool = True) -> LiveLine:
    made: Any = outlet
    return LiveLine(made, enabled=enabled)


NOW = Snapshot(
    "run",
    stage=Stage("step 1", 50.0, planned=60.0),
    elapsed=12.0,
    rate=Rates(50, 49.6, 48.2),
    response=Times(p50=0.0123, p95=1.5, p99=12.0),
    in_flight=3,
    totals=Totals(failed=3, dropped=4),
    verdict="RATE_MISSED",
    watch={"cpu": 0.25, "gone": None},
)


def test_a_snapshot_is_told_in_one_line() -> None:
    assert text(NOW) == (
        "step 1 · 48 s left · offered 50/s, sent 50, completed 48 · in flight 3 · p50 12.3 ms p95 1.5 s p99 12 s"
        " · lag p99 – · errors 3, dropped 4 · cpu 0.25 · gone – · RATE_MISSED"
    )


def test_a_figure_with_a_hostile_name_steers_no_terminal() -> None:
    assert " · cpu?[2J 1 " in text(Snapshot("run", watch={"cpu\x1b[2J": 1.0})) + " "


def test_what_is_not_known_or_fine_takes_no_room() -> None:
    said = text(Snapshot("run", elapsed=3.0, verdict="VALID"))
    assert said.startswith("3 s · offered 0/s")
    assert "VALID" not in said
    assert "dropped" not in said


def test_a_stage_that_takes_longer_than_planned_has_no_seconds_below_zero_left() -> None:
    assert "0 s left" in text(Snapshot(stage=Stage(planned=5.0), elapsed=9.0))


@given(st.integers(2, 300))
def test_the_line_is_shorter_than_the_terminal_is_wide(columns: int) -> None:
    outlet = Written()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress, "terminal_size", lambda: (columns, 24))
        line(outlet).show(NOW)
    shown = outlet.getvalue().removeprefix("\r\x1b[K")
    assert len(shown) == min(columns - 1, len(text(NOW)))
    assert text(NOW).startswith(shown)


def test_a_terminal_that_is_slow_or_not_asked_for_is_not_written_to() -> None:
    outlet = Written()
    line(outlet, enabled=False).show(NOW)
    outlet.idle = False
    slow = line(outlet)
    slow.show(NOW)
    slow.clear()
    assert outlet.getvalue() == ""


def test_the_line_is_cleared_once() -> None:
    outlet = Written()
    shown = line(outlet)
    shown.show(NOW)
    shown.clear()
    shown.clear()
    assert outlet.getvalue().endswith("\r\x1b[K")
    assert outlet.getvalue().count("\x1b[K") == 2
