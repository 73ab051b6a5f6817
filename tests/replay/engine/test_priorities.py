"""The loop's thread goes first: others step back behind it, and while a plan runs they leave it the interpreter."""

import ctypes
import subprocess
import sys

import pytest

from logreplay.replay.engine.priorities import quick_switching

PR_GET_TIMERSLACK = 30

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


def slack() -> int:
    return int(ctypes.CDLL(None).prctl(PR_GET_TIMERSLACK))


@pytest.mark.skipif(sys.platform != "linux", reason="timers of Linux have slack")
def test_waits_of_the_loop_are_exact_while_a_plan_runs() -> None:
    before = (slack(), sys.getswitchinterval())
    with quick_switching():
        assert slack() == 1
        assert sys.getswitchinterval() < before[1]
    assert (slack(), sys.getswitchinterval()) == before
