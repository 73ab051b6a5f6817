"""One run at a time in a process."""

import os
import subprocess
import sys
import threading

import pytest

from logreplay.calling.busy import only_run, thread_of_run
from logreplay.core.errors import BusyError


def test_a_second_run_is_refused_until_the_first_has_ended() -> None:
    with only_run("sweep"), pytest.raises(BusyError, match=r"find: logreplay\.sweep is under way"), only_run("find"):
        pass
    with only_run("find"):
        pass


def test_a_run_is_under_way_for_as_long_as_its_thread() -> None:
    begun, end = threading.Event(), threading.Event()

    def send() -> None:
        with thread_of_run():
            begun.set()
            end.wait(60)

    thread = threading.Thread(target=send)
    with only_run("run"):
        thread.start()
        assert begun.wait(60)
    with pytest.raises(BusyError), only_run("run"):
        pass
    end.set()
    thread.join()
    with only_run("run"):
        pass


def test_a_forked_child_may_run_while_its_parent_does() -> None:
    with only_run("run"):
        child = os.fork()
        if not child:
            try:
                with only_run("run"):
                    os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0


def test_a_forked_child_leaves_the_call_of_its_parent_without_an_error() -> None:
    code = (
        "import os, sys\nfrom logreplay.calling.busy import only_run\n"
        "with only_run('run'):\n    child = os.fork()\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) if child else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
