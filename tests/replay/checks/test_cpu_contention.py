"""Who else uses this machine's processors."""

import asyncio
import os
import re
import subprocess
import sys
from contextlib import ExitStack

import pytest

from logreplay.replay.checks.preflight import busy_and_total, cpu_contention, share_of_others

STAT = "cpu  1000 20 300 50000 60 7 8 90 4 0\ncpu0 500 10 150 25000 30 3 4 45 2 0\n"


def test_what_the_host_takes_counts_as_busy_and_waiting_for_a_disk_does_not() -> None:
    assert busy_and_total(STAT, 100) == (14.25, 514.85)


def test_what_this_process_used_itself_is_not_used_by_others() -> None:
    before, after = (100.0, 1000.0), (103.0, 1010.0)
    assert share_of_others(before, after, own=1.0) == pytest.approx(0.2)
    assert share_of_others(before, after, own=3.5) == 0.0


@pytest.mark.alone
@pytest.mark.skipif(not os.path.exists("/proc/stat"), reason="Linux only")
def test_processes_that_never_rest_are_noticed() -> None:
    with ExitStack() as stack:
        for _ in range(os.cpu_count() or 1):
            busy = stack.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            stack.callback(busy.kill)
        said = asyncio.run(cpu_contention(0.5))
    assert re.match(r"others used \d+ % of this machine's processors while nothing was sent: ", said)
