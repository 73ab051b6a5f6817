"""`progress=True`: a line in a terminal, nothing elsewhere."""

import io
import sys

import pytest

from logreplay.calling.progress_line import ProgressLine
from logreplay.options.keywords import read
from logreplay.replay.monitor.snapshot import Rates, Snapshot


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_line_is_written_anew_and_cleared_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, show = Terminal(), ProgressLine()
    monkeypatch.setattr(sys, "stderr", terminal)
    show(Snapshot(elapsed=2, rate=Rates(offered=40)))
    show(Snapshot(over=True))
    first, last = terminal.getvalue().split("\r\x1b[K")[1:]
    assert first.startswith("2 s · offered 40/s")
    assert last == ""


def test_nothing_is_written_where_nobody_sees_it(capfd: pytest.CaptureFixture[str]) -> None:
    ProgressLine()(Snapshot(elapsed=2))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("value", [True, print, None])
def test_the_parameter_takes_truth_or_a_function(value: object) -> None:
    assert read("run", {"progress": value})["progress"] is value
