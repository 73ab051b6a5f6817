"""Other threads step back behind the loop's, whatever the niceness of the process."""

import errno
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from logreplay.replay.engine.priorities import lower_priority, quick_switching

LAST = 19
"""The lowest priority that there is."""
STEPS_BACK = """
import os, threading
from logreplay.replay.engine.priorities import lower_priority

def other():
    lower_priority()
    print(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) - os.getpriority(os.PRIO_PROCESS, os.getpid()))

thread = threading.Thread(target=other)
thread.start()
thread.join()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="niceness belongs to a thread on Linux only")
@pytest.mark.parametrize("nice", [0, 5])
def test_a_thread_steps_back_behind_the_main_thread(nice: int) -> None:
    command = ["nice", "-n", str(nice), sys.executable, "-c", STEPS_BACK]
    behind = min(10, LAST - os.getpriority(os.PRIO_PROCESS, 0) - nice)
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == f"{behind}\n"


def _slice_ns() -> int:
    """The time slice of the calling thread, as Linux shows it from version 6.12 on."""
    path = Path(f"/proc/self/task/{threading.get_native_id()}/sched")
    found = re.search(r"^se\.slice\s*:\s*(\d+)$", path.read_text(), re.M) if path.exists() else None
    if not found or tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) < (6, 12):
        pytest.skip("this system does not show the time slices of threads")
    return int(found[1])


def test_during_a_run_the_loop_has_short_slices_and_threads_that_step_back_have_not() -> None:
    usual = _slice_ns()
    others = list[int]()

    def stand_back() -> None:
        lower_priority()
        others.append(_slice_ns())

    with quick_switching():
        short = _slice_ns()
        other = threading.Thread(target=stand_back)
        other.start()
        other.join()
    assert (short, others, _slice_ns()) == (100_000, [usual], usual)


@pytest.mark.skipif(sys.platform != "linux", reason="policies belong to Linux")
def test_a_c_library_that_does_not_tell_the_policy_ends_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def not_supported(pid: int) -> int:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))  # as musl says

    monkeypatch.setattr(os, "sched_getscheduler", not_supported)
    with quick_switching():
        pass
