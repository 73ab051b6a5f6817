"""Nothing that only Linux has is needed for a run; simulated here, as no other system is at hand."""

import subprocess
import sys
from pathlib import Path

import pytest

from logreplay.cli.exit_codes import Exit
from logreplay.replay.servers.minimal import responding

WITHOUT = """
import os, resource, sys
from pathlib import Path

for name in [name for name in dir(os) if name.startswith(("sched_", "timerfd_", "posix_f"))]:
    delattr(os, name)
os.process_cpu_count = os.cpu_count  # of Python 3.13, as where there is no sched_getaffinity

read_text = Path.read_text
def no_proc(path, *args, **kwargs):
    if path.parts[:2] == ("/", "proc"):
        raise FileNotFoundError(2, "No such file or directory", str(path))
    return read_text(path, *args, **kwargs)
Path.read_text = no_proc

def up_to_10240(_, limits):  # as macOS
    if not 0 <= limits[0] <= 10240:
        raise ValueError("current limit exceeds maximum limit")
resource.setrlimit = up_to_10240
resource.getrlimit = lambda _: (256, resource.RLIM_INFINITY)

import aiohttp, numpy, pandas, polars, pyarrow, uvloop  # their own look at the system comes first
from logreplay.cli.main import main
from logreplay.replay.engine import timer
from logreplay.replay.engine.timer import LoopTimer

sys.platform = "darwin"
assert isinstance(timer.make_timer(None, timer.monotonic, print), LoopTimer)
main()
"""


@pytest.mark.slow
def test_convert_and_run_need_no_call_that_only_linux_has(tmp_path: Path) -> None:
    log, normalized = tmp_path / "access.log", tmp_path / "access.csv"
    log.write_text('10.0.0.7 - - [20/Nov/2026:18:58:56 +0100] "GET / HTTP/1.1" 200 17 "-" "curl/8.5.0"\n' * 20)
    with responding() as url:
        for words in (
            ["convert", log, "-o", normalized],
            ["run", "--tps", "20", "--for", "1s", "-o", tmp_path / "run.csv", normalized, url],
        ):
            command = [sys.executable, "-c", WITHOUT, *map(str, words)]
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
            assert Exit(done.returncode) in (Exit.OK, Exit.INVALID), done.stderr
