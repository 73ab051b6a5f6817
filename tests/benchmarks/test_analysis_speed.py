"""How fast ``analyze`` is without plots, and in how much memory, beside plain pandas on the same file."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from logreplay.analysis import simulate
from logreplay.parsers.record import to_csv

pytestmark = pytest.mark.benchmark

ROWS = 3_000_000

OURS = """
import sys, time
began = time.perf_counter()
from logreplay.analysis.folder import write_folder
write_folder(sys.argv[1], sys.argv[2], plots=False)
print(time.perf_counter() - began, *(line.split()[1] for line in open('/proc/self/status') if line[:5] == 'VmHWM'))
"""

PANDAS = """
import sys, time
began = time.perf_counter()
import pandas as pd
rows = pd.read_csv(sys.argv[1])
rows["response"] = rows["lag"] + rows["connect"] + rows["latency"] + rows["xfertime"]
rows["second"] = rows["scheduled"].astype(int)
rows["route"] = rows["url"].str.replace(r"[0-9]+", "{}", regex=True)
shares = [0.5, 0.9, 0.95, 0.99]
for by in ("second", "step", "route"):
    groups = rows.groupby(by)["response"]
    table = groups.agg(["size", "mean", "max"]).join(groups.quantile(shares).unstack())
    table.to_csv(f"{sys.argv[2]}-{by}.csv")
print(time.perf_counter() - began, *(line.split()[1] for line in open('/proc/self/status') if line[:5] == 'VmHWM'))
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A day's worth of steps of 1,000 to 5,500 requests a second, on some 50,000 URLs."""
    path = tmp_path_factory.mktemp("run") / "results.csv"
    rng = np.random.default_rng(1)
    arrivals = simulate.sweep(range(1000, 5501, 500), 30, rng)
    service = rng.exponential(64 / 5000, len(arrivals.scheduled))
    once = simulate.results(arrivals, simulate.waits(arrivals.scheduled, service, 64) + service)
    with path.open("wb") as file:
        for turn in range(-(-ROWS // once.height)):
            url = pl.format("/shop/{}/item/{}?page={}", pl.col("seq") % 7, pl.col("seq") % 5003, pl.col("seq") % 2)
            moved = once.with_columns(
                pl.col("step") + 10 * turn,
                pl.col("seq") + turn * once.height,
                pl.col("scheduled") + 320.0 * turn,
                url=url,
            )
            file.write(to_csv(moved, header=turn == 0))
    return path


def run(code: str, results: Path, output: Path) -> tuple[float, float]:
    """Seconds and megabytes of a process of its own; its ru_maxrss would begin with what its parent had."""
    done = subprocess.run([sys.executable, "-c", code, results, output], capture_output=True, text=True, check=True)
    seconds, kilobytes = done.stdout.split()[-2:]
    return float(seconds), float(kilobytes) / 1024


def test_rows_a_second_and_memory_beside_plain_pandas(results: Path, tmp_path: Path) -> None:
    rows = pl.scan_csv(results, infer_schema=False).select(pl.len()).collect().item()
    ours = min(run(OURS, results, tmp_path / "ours") for _ in range(3))
    theirs = min(run(PANDAS, results, tmp_path / "theirs") for _ in range(2))
    print(f"\n{rows / 1e6:.1f} million rows, {results.stat().st_size / 1e6:.0f} MB")
    for name, (seconds, megabytes) in {"logreplay": ours, "plain pandas": theirs}.items():
        print(f"{name:13} {seconds:6.2f} s  {rows / seconds / 1e6:5.2f} million rows/s  {megabytes:6.0f} MB at most")
    print(f"{theirs[0] / ours[0]:.1f} times as fast, with more tables: histograms, evidence, siege, ab, slowest")
    assert ours[0] < theirs[0]
    assert ours[1] < theirs[1]
