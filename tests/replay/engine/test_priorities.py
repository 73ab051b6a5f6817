"""Other threads step back behind the loop's, whatever the niceness of the process."""

import subprocess
import sys

import pytest

STEPS_BACK = """
import os, threading
from logreplay.replay.engine.priorities import step_back

def other():
    step_back()
    print(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) - os.getpriority(os.PRIO_PROCESS, os.getpid()))

thread = threading.Thread(target=other)
thread.start()
thread.join()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="niceness belongs to a thread on Linux only")
@pytest.mark.parametrize("nice", [0, 5])
def test_a_thread_steps_back_behind_the_main_thread(nice: int) -> None:
    command = ["nice", "-n", str(nice), sys.executable, "-c", STEPS_BACK]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "10\n"
