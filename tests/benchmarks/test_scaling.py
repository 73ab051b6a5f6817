"""Measures the highest rate and the processor time with one process and with two.

Each row is the highest rate of which 98 % is sent in its time; beside it the processor time of a request in its
worker, and of a row where the logs are merged. With three cores or more the workers get all but the first, on which
nginx is; a second one then has to bring 60 % more at least. Each worker has 64 requests under way at most: with a
thousand, an answer costs nginx half as much again, and what is measured is nginx.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CORES = sorted(os.sched_getaffinity(0))
pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.skipif(not shutil.which("nginx"), reason="nginx is not installed"),
    pytest.mark.skipif(len(CORES) < 2, reason="needs two cores"),
]
UNDER_WAY = 64
TRIES = 3
DRIVE = Path(__file__).with_name("drive_workers.py")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """200,000 distinct requests."""
    path = tmp_path / "log.csv"
    rows = (f"2026-01-01,00:00:00,0,0,0,24,/shop/item/{number}?q=%20{number},200,GET\n" for number in range(200_000))
    with path.open("w") as file:
        file.write("date,time,latency,xfertime,thinktime,bytes,url,rc,op\n")
        file.writelines(rows)
    return path


def drive(count: int, cores: list[int], log: Path, url: str, rate: float) -> dict[str, float]:
    command = ["taskset", "-c", ",".join(map(str, cores)), sys.executable, DRIVE, count, log, url, rate, 2]
    command += [log.with_name("results.csv"), UNDER_WAY * max(count, 1)]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def ceiling(count: int, cores: list[int], log: Path, url: str, start: float) -> dict[str, float]:
    """The figures at the highest rate of which 98 % is sent in time, in one of three tries; to 10 %.

    Other work on the machine can only take away.
    """
    rate, best = start, {"rate": 0.0}
    while carried := next(
        (trial for _ in range(TRIES) if (trial := drive(count, cores, log, url, rate))["achieved"] >= 0.98), None
    ):
        best, rate = carried, rate * 1.1
    return best


def test_a_second_process_on_a_core_of_its_own_brings_60_percent_more(nginx: Any, log: Path) -> None:
    server = nginx('access_log off; location / { return 200 "hello, this is 24 bytes!"; }')
    os.sched_setaffinity(server.pid, CORES[:1])
    start = 30_000.0
    table = {
        "engine": ceiling(0, CORES[1:2], log, server.url, start),
        "1 worker": ceiling(1, CORES[1:2], log, server.url, start),
        "2 workers on that core": ceiling(2, CORES[1:2], log, server.url, start),
    }
    if len(CORES) > 2:
        table["2 workers, all other cores"] = ceiling(2, CORES[1:], log, server.url, start)
    print()
    for name, row in table.items():
        figures = ", ".join(f"{key} {value:.4g}" for key, value in row.items())
        print(f"{name:>26}: {figures}")
    if len(CORES) > 2:
        assert table["2 workers, all other cores"]["rate"] > 1.6 * table["1 worker"]["rate"]
