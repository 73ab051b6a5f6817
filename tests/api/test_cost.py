"""A call from Python costs what the command costs."""

import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from logreplay.replay.servers.minimal import responding
from support.command_line import COMMAND

MOST = 1.5
"""Highest ratio of processor time; both are near 1, and the machine may be busy."""
CALLS = {
    "sweep": (
        ("sweep", "500,1000", "log.csv", "{url}", "--for", "1s", "--keep-going", "--no-plots", "-q"),
        "logreplay.sweep('log.csv', '{url}', '500,1000', duration=1, keep_going=True, plots=False, output='{out}')",
    ),
    "run": (
        ("run", "log.csv", "{url}", "--tps", "1000", "--for", "2s", "-q"),
        "logreplay.run('log.csv', '{url}', tps=1000, duration=2, output='{out}')",
    ),
}


def processor_s(words: Sequence[str], folder: Path) -> float:
    """The processor time that a program takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, cwd=folder, check=False, capture_output=True, timeout=120)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.slow
@pytest.mark.parametrize("function", CALLS)
def test_a_call_from_python_takes_no_more_processor_time_than_the_command(
    function: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    words, call = CALLS[function]
    (tmp_path / "log.csv").write_text(
        "date,time,latency,xfertime,thinktime,bytes,url,rc,op\n2026-01-01,00:00:00,0.01,0,0,10,/a,200,GET\n"
    )
    command, python = [], []
    with responding() as url:
        for attempt in range(2):
            out = f"{attempt}.csv"
            line = [*COMMAND, *(word.format(url=url) for word in words), "-o", f"command-{out}"]
            program = f"import logreplay; {call.format(url=url, out=f'python-{out}')}"
            command.append(processor_s(line, tmp_path))
            python.append(processor_s([sys.executable, "-c", program], tmp_path))
            for name in ("command", "python"):
                assert (tmp_path / f"{name}-{out}").exists()
    ratio = min(python) / min(command)
    record_property("ratio", f"{ratio:.2f}")
    assert ratio < MOST, f"{min(python):.2f} s from Python, {min(command):.2f} s by the command"
