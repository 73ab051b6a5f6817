"""Planning a log of eleven million requests: how soon the first is ready, how fast, and in how much memory."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

pytestmark = pytest.mark.benchmark
ROWS = 11_000_000
CORE = sorted(os.sched_getaffinity(0))[0]

PLANNER = """
import json, re, sys, time
from pathlib import Path
from logreplay.replay.schedules.arrivals import LogTimes, Poisson
from logreplay.replay.requests.headers import Header, LoggedHeader
from logreplay.replay.senders.encode import default_headers, render
from logreplay.replay.requests.ordering import Drawn, Shuffled
from logreplay.replay.requests.plan import Plan, Requests
from logreplay.replay.schedules.rates import Constant, Limited
from logreplay.replay.requests.filters import Matching, Rewritten

path, kind = Path(sys.argv[1]), sys.argv[2]
shapes = (Matching(["^/cat"]), Rewritten("^/catalogue", "/c"), LoggedHeader("User-Agent", "agent"), Header("X-A", "1"))
requests = Requests(path, loop=False, shapes=shapes if kind == "shaped" else ())
begin, cpu = time.perf_counter(), time.process_time()
stream = {"shuffled": Shuffled, "drawn": Drawn}.get(kind, lambda requests: requests)(requests)
schedule = {"log times": LogTimes(3), "poisson": Poisson(Constant(1000))}.get(kind, Constant(1000))
first = count = 0
headers = default_headers("127.0.0.1:8080", keep_alive=True)
for chunk in Plan(stream, schedule):
    if kind in ("rendered", "shaped"):
        render(chunk.frame, headers)
    first = first or time.perf_counter() - begin
    count += len(chunk.due)
used = time.process_time() - cpu
status = dict(re.findall(r"(VmHWM|RssAnon):\\s+(\\d+)", Path("/proc/self/status").read_text()))
memory, own = int(status["VmHWM"]) / 1024, int(status["RssAnon"]) / 1024
print(json.dumps({"first_s": first, "requests": count, "per_s": count / used, "memory_mb": memory, "own_mb": own}))
"""


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eleven million requests, one in fifty of them a POST; 1.7 GB."""
    path = tmp_path_factory.mktemp("planning") / "log.csv"
    with path.open("wb") as file:
        for begin in range(0, ROWS, 500_000):
            number = pl.int_range(begin, min(begin + 500_000, ROWS), eager=True).alias("number")
            start = (number * 5000 + 1_760_000_000_000_000).cast(pl.Datetime("us"))
            frame = number.to_frame().select(
                start.dt.strftime("%Y-%m-%d").alias("date"),
                start.dt.strftime("%H:%M:%S%.6f").alias("time"),
                ((number % 100) / 1000).alias("latency"),
                pl.lit(0).alias("xfertime"),
                pl.lit(0).alias("thinktime"),
                (number % 50_000).alias("bytes"),
                pl.format("/catalogue/item/{}?session={}", number, number * 7919 % 1_000_003).alias("url"),
                pl.lit(200).alias("rc"),
                pl.when(number % 50 == 0).then(pl.lit("POST")).otherwise(pl.lit("GET")).alias("op"),
                pl.format("10.{}.{}.1", number % 3, number % 251).alias("client"),
                pl.lit("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36").alias("agent"),
            )
            frame.write_csv(file, include_header=begin == 0)
    return path


def planned(log: Path, kind: str) -> dict[str, float]:
    command = ["taskset", "-c", str(CORE), sys.executable, "-c", PLANNER, log, kind]
    environment: dict[str, Any] = {**os.environ, "POLARS_MAX_THREADS": "1"}
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True, env=environment)
    figures: dict[str, float] = json.loads(done.stdout)
    print(f"\n{kind}: " + ", ".join(f"{name} {value:,.3g}" for name, value in figures.items()))
    return figures


@pytest.mark.parametrize("kind", ["even", "poisson", "log times", "rendered", "shaped"])
def test_a_huge_log_streams(log: Path, kind: str) -> None:
    figures = planned(log, kind)
    assert figures["requests"] == ROWS * 49 // 50
    assert figures["first_s"] < 2
    assert figures["memory_mb"] < 300
    if kind != "shaped":
        assert figures["per_s"] > 300_000


@pytest.mark.parametrize("kind", ["shuffled", "drawn"])
def test_another_order_takes_a_pass_and_no_memory_of_its_own(log: Path, kind: str) -> None:
    """What is mapped from the temporary file is resident as long as there is room for it; our own memory is less."""
    figures = planned(log, kind)
    assert figures["requests"] == ROWS * 49 // 50
    assert figures["own_mb"] < 300
