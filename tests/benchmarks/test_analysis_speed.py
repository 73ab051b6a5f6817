"""How fast ``analyze`` is without plots, and in how much memory, beside plain pandas on the same file.

The script for pandas makes the same tables by second, step and route, the same spreads and the slowest requests. What
it leaves out is in our time all the same: histograms, verdicts and their evidence, the figures of siege and ab.
"""

import subprocess
import sys
from pathlib import Path
from statistics import median

import numpy as np
import polars as pl
import pytest

import simulate
from logreplay.core.record import to_csv

pytestmark = pytest.mark.benchmark

MOST_MEGABYTES = 1500
"""For 20 million rows."""

LOGREPLAY = """
import sys, time
began = time.perf_counter()
from logreplay.analysis.output.folder import write_folder
write_folder(sys.argv[1], sys.argv[2], plots=False)
print(time.perf_counter() - began, *(line.split()[1] for line in open('/proc/self/status') if line[:5] == 'VmHWM'))
"""

PANDAS = """
import sys, time
began = time.perf_counter()
import pandas as pd
shares = [0.5, 0.9, 0.95, 0.99]
rows = pd.read_csv(sys.argv[1])
rows["service"] = rows["connect"] + rows["latency"] + rows["xfertime"]
rows["response"] = rows["lag"] + rows["service"]
rows["failed"] = rows["rc"] >= 400
rows["second"] = rows["scheduled"].astype(int)
rows["route"] = rows["url"].str.replace(r"[0-9]+", "{}", regex=True)

def table(by):
    groups = rows.groupby(by)
    counted = groups.agg(
        offered=("response", "size"), errors=("failed", "sum"), bytes=("bytes", "sum"),
        mean=("response", "mean"), max=("response", "max"), service_p50=("service", "median"),
    )
    return counted.join(groups["response"].quantile(shares).unstack())

seconds = table("second").join(rows.groupby("second")["lag"].agg(["median", "max"]).add_prefix("lag_"))
seconds["sent"] = (rows["scheduled"] + rows["lag"]).astype(int).value_counts()
seconds["completed"] = (rows["scheduled"] + rows["response"]).astype(int).value_counts()
seconds["in_flight"] = (seconds["sent"] - seconds["completed"].fillna(0)).cumsum()
steps = table("step").join(rows.groupby("step")["lag"].quantile(shares).unstack().add_prefix("lag_"))
seconds.to_csv(f"{sys.argv[2]}-seconds.csv")
steps.to_csv(f"{sys.argv[2]}-steps.csv")
table("route").sort_values("offered").to_csv(f"{sys.argv[2]}-routes.csv")
rows[["response", "service", "lag", "connect", "latency"]].describe(shares).to_csv(f"{sys.argv[2]}-summary.csv")
rows.nlargest(20, "response")[["url", "op", "rc", "response"]].to_csv(f"{sys.argv[2]}-slowest.csv")
rows["rc"].value_counts().to_csv(f"{sys.argv[2]}-status.csv")
print(time.perf_counter() - began, *(line.split()[1] for line in open('/proc/self/status') if line[:5] == 'VmHWM'))
"""


def write_results(path: Path, rows: int) -> int:
    """Write steps of 1,000 to 5,500 requests a second, on some 70,000 URLs, again and again; return how many rows."""
    rng = np.random.default_rng(1)
    arrivals = simulate.sweep(range(1000, 5501, 500), 30, rng)
    service = rng.exponential(64 / 5000, len(arrivals.scheduled))
    once = simulate.results(arrivals, simulate.waits(arrivals.scheduled, service, 64) + service)
    turns = -(-rows // once.height)
    with path.open("wb") as file:
        for turn in range(turns):
            url = pl.format("/shop/{}/item/{}?page={}", pl.col("seq") % 7, pl.col("seq") % 5003, pl.col("seq") % 2)
            moved = once.with_columns(
                pl.col("step") + 10 * turn,
                pl.col("seq") + turn * once.height,
                pl.col("scheduled") + 320.0 * turn,
                url=url,
            )
            file.write(to_csv(moved, header=turn == 0))
    return turns * once.height


def run(code: str, results: Path, output: Path) -> tuple[float, float]:
    """Seconds and megabytes of a process of its own; its ru_maxrss would begin with what its parent had."""
    done = subprocess.run([sys.executable, "-c", code, results, output], capture_output=True, text=True, check=True)
    seconds, kilobytes = done.stdout.split()[-2:]
    return float(seconds), float(kilobytes) / 1024


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("rows", [3_000_000, 20_000_000])
def test_rows_a_second_and_memory_beside_plain_pandas(rows: int, tmp_path: Path) -> None:
    results = tmp_path / "results.csv"
    rows = write_results(results, rows)
    by_logreplay, by_pandas = list[tuple[float, float]](), list[tuple[float, float]]()
    for _ in range(3):
        by_logreplay += [
            run(LOGREPLAY, results, tmp_path / "logreplay"),
            run(LOGREPLAY, results, tmp_path / "logreplay"),
        ]
        by_pandas.append(run(PANDAS, results, tmp_path / "pandas"))
    print(f"\n{rows / 1e6:.1f} million rows, {results.stat().st_size / 1e6:.0f} MB, medians")
    spent, memory = (
        {
            name: median(run[figure] for run in runs)
            for name, runs in (("logreplay", by_logreplay), ("plain pandas", by_pandas))
        }
        for figure in (0, 1)
    )
    for name, seconds in spent.items():
        print(f"{name:13} {seconds:6.2f} s  {rows / seconds / 1e6:5.2f} million rows/s  {memory[name]:6.0f} MB at most")
    print(f"{spent['plain pandas'] / spent['logreplay']:.1f} times as fast")
    assert spent["logreplay"] < spent["plain pandas"]
    assert memory["logreplay"] < MOST_MEGABYTES
