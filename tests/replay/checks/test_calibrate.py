"""Calibration: its figures are of this machine, so only what must hold anywhere is asserted."""

import asyncio
import json
from pathlib import Path

import pytest
import uvloop

from logreplay.cli.main import run
from logreplay.replay.checks.calibrate import (
    Calibration,
    CalibrationTrial,
    calibrate,
    remembered_at,
    remembered_ceiling,
    timer_lateness,
)
from logreplay.replay.clock import monotonic
from logreplay.replay.engine.timer import make_timer


@pytest.mark.slow
def test_the_ceiling_is_the_highest_rate_that_was_on_time() -> None:
    trials: list[CalibrationTrial] = []
    found = uvloop.run(calibrate(0.1, trials.append))
    assert found.trials == tuple(trials)
    on_time = [trial.rate for trial in trials if trial.on_time]
    assert found.ceiling == max(on_time, default=0.0)
    assert 0 < found.added_p50 <= found.added_p99
    assert 0 <= found.timer_p50 <= found.timer_p99


def test_a_ticker_is_never_early() -> None:
    lateness = uvloop.run(timer_lateness(500, 0.2))
    assert len(lateness) == 100
    assert lateness.min() >= 0


@pytest.mark.parametrize("ahead", [-1, 0, 1_000_000])
def test_a_ticker_calls_back_once_for_each_time_it_is_armed(ahead: int) -> None:
    async def calls() -> list[int]:
        called: list[int] = []
        loop = asyncio.get_running_loop()
        timer = make_timer(loop, monotonic, lambda: called.append(monotonic()))
        at = monotonic() + ahead
        timer.arm(at)
        await asyncio.sleep(0.03)
        timer.close()
        assert called[0] >= at
        return called

    assert len(uvloop.run(calls())) == 1


@pytest.mark.slow
def test_the_ceiling_is_remembered_for_the_runs_that_follow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert remembered_ceiling() is None
    code = run(["calibrate", "--trial", "50ms", "--json"])
    figures = json.loads(capsys.readouterr().out)
    assert code == (0 if figures["ceiling"] else 3)
    assert not figures["ceiling"] or figures == json.loads(remembered_at().read_text())
    assert remembered_ceiling() == (figures["ceiling"] or None)


def test_a_calibration_without_a_rate_on_time_leaves_the_earlier_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It replaced them: later runs used one process again, and warned of nothing."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    remembered_at().parent.mkdir()
    remembered_at().write_text('{"ceiling": 40000}')
    found = Calibration(0.1, 0.2, 0.1, 0.2, ceiling=0.0, trials=())
    monkeypatch.setattr("logreplay.command_tasks.calibrate_once", lambda *_: (found, '{"ceiling": 0.0}'))
    assert run(["calibrate", "-q"]) == 3
    assert remembered_ceiling() == 40_000
    assert "figures of an earlier calibration stay" in capsys.readouterr().err


def test_a_damaged_calibration_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    remembered_at().parent.mkdir()
    for text in ("", "[]", '{"ceiling": null}', "[" * 100_000):
        remembered_at().write_text(text)
        assert remembered_ceiling() is None
