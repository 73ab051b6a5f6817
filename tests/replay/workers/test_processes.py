"""Workers in processes of this machine."""

import subprocess
import sys

CODE = """
import os, signal
from logreplay.replay.workers.processes import LocalProcess

came = []
signal.signal(signal.SIGINT, lambda *_: came.append(True))
process = LocalProcess()
ended = process.executor.submit(int, "7")
process.started()
os.killpg(0, signal.SIGINT)
print(ended.result(60), came)
process.close()
"""


def test_ctrl_c_is_left_to_the_coordinator_from_the_first_instant_of_a_worker() -> None:
    """The process has just been started: its interpreter has not loaded anything yet."""
    command = [sys.executable, "-c", CODE]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, start_new_session=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "7 [True]\n", "")
