"""Other threads step back behind the loop's; the collector is off within a run, and memory stays flat."""

import errno
import gc
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from logreplay.replay.engine.undisturbed import collect_young, lower_priority, no_collection, quick_switching

LAST = 19
"""The lowest priority that there is."""
STEPS_BACK = """
import os, threading
from logreplay.replay.engine.undisturbed import lower_priority

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


def test_cycles_that_others_make_are_freed_before_they_are_many() -> None:
    with no_collection():
        gc.collect(0)
        freed = []
        for _ in range(1000):
            for _ in range(1000):
                cycle: list[object] = []
                cycle.append(cycle)
            before = gc.get_count()[0]
            collect_young()
            freed.append(before - gc.get_count()[0])
        assert max(freed) > 40_000
        assert gc.get_count()[0] < 60_000


def test_the_collector_is_off_within_the_block_and_then_as_it_was() -> None:
    assert gc.isenabled()
    with no_collection():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_objects_that_the_caller_froze_stay_so() -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()
    with no_collection():
        pass
    assert gc.get_freeze_count() == frozen > 0


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with no_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_an_error_turns_the_collector_on_again() -> None:
    with pytest.raises(KeyError), no_collection():
        raise KeyError
    assert gc.isenabled()


def test_few_young_objects_are_left_alone() -> None:
    with no_collection():
        gc.collect(0)
        cycles: list[object] = [[] for _ in range(1000)]
        before = gc.get_count()[0]
        collect_young()
        assert gc.get_count()[0] >= before
        assert len(cycles) == 1000
