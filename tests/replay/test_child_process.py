"""Child processes: which signals reach them, which files they run, and when they end."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os, signal, threading
from logreplay.replay.child_process import start_child

ending, came = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP), []
for number in ending:
    signal.signal(number, lambda heard, _: came.append(heard))
process, connection = start_child("logreplay.replay.monitor.sidecar_main", in_group=True)
for number in ending:
    os.killpg(0, number)
connection.send(None)
print(process.wait(60), sorted(came) == sorted(ending))
"""
WORKERS = """
import logreplay
result = logreplay.run(None, tps=40, duration="300ms", demo_target=True, workers=2)
print(len(result.requests), result.outcome.lost)
"""
RAN = "20 ()\n".replace("20", "12")


def test_signals_to_the_whole_group_are_left_to_the_parent_from_the_first_instant() -> None:
    """The process has just been started: its interpreter has not loaded anything yet."""
    command = [sys.executable, "-c", PROGRAM]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, start_new_session=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "0 True\n", "")


@pytest.mark.parametrize("word", ["script.py", pytest.param("-", marks=pytest.mark.slow)])
def test_workers_start_from_a_script_without_a_guard_and_run_no_file_of_its_folder(word: str, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(WORKERS)
    (tmp_path / "aiofiles.py").write_text("raise SystemExit(9)")
    command, given = [sys.executable, word], WORKERS if word == "-" else None
    ended = subprocess.run(command, cwd=tmp_path, input=given, capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, RAN, "")
