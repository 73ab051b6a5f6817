"""`progress=True`: a line in a terminal, nothing elsewhere."""

import io
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from logreplay.calling import progress_line
from logreplay.calling.progress_line import ProgressLine
from logreplay.options.keywords import read
from logreplay.replay.monitor.snapshot import Rates, Snapshot, Stage, Totals


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


def test_a_notebook_keeps_the_totals(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = list[str]()
    display = SimpleNamespace(display=lambda data, **_: shown.append(data["text/plain"]))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(display=display))
    monkeypatch.setattr(progress_line, "in_kernel", lambda: True)
    show = ProgressLine()
    last = Snapshot(second=2.04, elapsed=1, stage=Stage(planned=2), verdict="VALID")
    show(last)
    show(replace(last, over=True, totals=Totals(sent=1200, ok=1100, http_error=90, net_error=10, failed=60)))
    assert shown[0].startswith("1 s left")
    assert shown[1] == "2 s · sent 1,200, completed 1,190 · errors 60 · VALID"


def test_nothing_is_written_where_nobody_sees_it(capfd: pytest.CaptureFixture[str]) -> None:
    ProgressLine()(Snapshot(elapsed=2))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("value", [True, print, None])
def test_the_parameter_takes_truth_or_a_function(value: object) -> None:
    assert read("run", {"progress": value})["progress"] is value
