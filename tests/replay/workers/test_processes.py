"""Workers in processes of this machine."""

import subprocess
import sys

CODE = """
import os, signal
from logreplay.replay.workers.processes import ENDING, LocalProcess

came = []
for number in ENDING:
    signal.signal(number, lambda heard, _: came.append(heard))
process = LocalProcess()
ended = process.executor.submit(int, "7")
process.started()
for number in ENDING:
    os.killpg(0, number)
print(ended.result(60), sorted(came) == sorted(ENDING))
process.close()
"""


def test_signals_to_the_whole_group_are_left_to_the_coordinator_from_the_first_instant_of_a_worker() -> None:
    """The process has just been started: its interpreter has not loaded anything yet."""
    command = [sys.executable, "-c", CODE]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, start_new_session=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "7 True\n", "")
