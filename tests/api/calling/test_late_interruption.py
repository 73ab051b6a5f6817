"""Ctrl-C between the last request and the evaluation of the rows."""

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from logreplay.calling.loop_thread import run_in_loop
from logreplay.cli.main import run as logreplay_command
from logreplay.core.errors import Interrupted
from logreplay.runs import pair


@pytest.fixture(autouse=True)
def ctrl_c() -> Iterator[None]:
    """Ctrl-C as a program without the command line hears it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_after_the_end_of_the_loop_is_late_and_brings_no_result() -> None:
    async def main(stop: asyncio.Event) -> str:
        loop, told, task = asyncio.get_running_loop(), threading.Event(), asyncio.current_task()

        def interrupt() -> None:  # the end of the runner waits for it
            while task and not task.done():
                told.wait(0.001)
            told.wait(0.05)  # the wish to stop has nobody to hear it then
            os.kill(os.getpid(), signal.SIGINT)

        loop.run_in_executor(None, interrupt)
        return "what the loop returned"

    with pytest.raises(Interrupted) as ended:
        run_in_loop(main)
    assert (ended.value.late, ended.value.result) == (True, None)


@pytest.mark.parametrize("quiet", [[], ["-q"]])
def test_a_duet_that_is_interrupted_after_its_last_request_names_the_command_that_compares(
    quiet: list[str], target: str, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    whole = pair.replayed

    def late(*given: Any) -> Any:
        whole(*given)
        interrupted = Interrupted()
        interrupted.late = True
        raise interrupted

    monkeypatch.setattr(pair, "replayed", late)
    out = tmp_path / "out"
    words = ["duet", str(log), target, target, "--tps", "40", "--for", "1s", "-o", str(out), *quiet]
    assert logreplay_command(words) == 130
    told = capfd.readouterr().err
    kept = f"logreplay compare {out / 'baseline.csv'} {out / 'candidate.csv'}"
    assert f"interrupted while the rows were evaluated; they are kept; evaluate them with: {kept}" in told
    assert logreplay_command(["compare", str(out / "baseline.csv"), str(out / "candidate.csv")]) == 0
