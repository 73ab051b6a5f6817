"""What is in a log is what a plain computation with pandas finds in its rows, and its parts add up to the file."""

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import logreplay
from logreplay.analysis.demand.log_profile import profile_of
from logreplay.core.errors import LogreplayError

ROOT = Path(__file__).parents[3]
SAMPLE_LOGS, SHARED = ROOT / "sample_logs", ROOT.parent / "shared" / "logs"
LOGS = [
    *sorted(SAMPLE_LOGS.glob("*.log")),
    *(
        pytest.param(path, marks=[pytest.mark.slow] if number % 6 else [])
        for number, path in enumerate(sorted(path for path in SHARED.rglob("*") if "log" in path.name))
    ),
]
"""Of the logs beside the repository every sixth is read in the fast tests."""


@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.name)
def test_the_profile_is_that_of_the_converted_rows(log: Path) -> None:
    try:
        rows = logreplay.convert(log).requests
    except LogreplayError:
        with pytest.raises(LogreplayError):
            logreplay.inspect(log)
        return
    found = logreplay.inspect(log)
    summary = found.summary
    starts = pd.to_datetime(rows["date"].astype(str) + " " + rows["time"].astype(str), format="mixed")
    seconds = starts.dt.floor("s")
    assert summary["requests"] == len(rows) == found.seconds["requests"].sum()
    assert summary["lines"] == sum(
        summary[name] for name in ("converted", "unreplayable", "rejected", "blank", "filtered")
    )
    assert pd.Timestamp(summary["first"]).tz_localize(None) == seconds.min()
    assert pd.Timestamp(summary["last"]).tz_localize(None) == seconds.max()
    by_second = seconds.value_counts()
    if summary["rates"]["second"]:
        assert summary["rates"]["second"]["rate"] == by_second.max()
        assert summary["rates"]["mean"] == pytest.approx(len(rows) / summary["span_s"])
    if summary["rates"]["minute"]:
        rolled = by_second.sort_index().rolling("60s").sum()
        assert summary["rates"]["minute"]["rate"] == pytest.approx(rolled.max() / 60)
    assert summary["methods"] == Counter(rows["op"])
    assert summary["statuses"] == {str(status): count for status, count in Counter(rows["rc"]).items()}
    for column, number in (("client", summary["clients"]["number"]), ("agent", len(found.agents))):
        assert number == (rows[column].nunique() if column in rows else 0)
    assert found.routes["requests"].sum() == len(rows)
    assert found.routes["share"].sum() == pytest.approx(1)
    assert (found.routes["bytes"] * found.routes["requests"]).sum() == pytest.approx(rows["bytes"].sum())
    hours = starts.dt.floor("h").value_counts()
    shown = zip(found.hours["hour"].dt.tz_localize(None), found.hours["requests"], strict=True)
    assert dict(hours) == {hour: count for hour, count in shown if count}
    assert found.week["requests"].sum() == len(rows)
    if "p50" in found.routes:
        top = found.routes.iloc[0]
        if top["route"].startswith("/") and "{}" not in top["route"]:
            path = rows["url"].astype(str).str.partition("?")[0]
            times = (rows["latency"] + rows["xfertime"])[(path == top["route"]) & (rows["op"] == top["method"])]
            if len(times) == top["requests"]:
                assert top["p99"] == pytest.approx(np.quantile(times, 0.99, method="inverted_cdf"), rel=0.006)


def test_a_program_is_told_by_its_name() -> None:
    found = logreplay.inspect(SAMPLE_LOGS / "nginx_request_time.log")
    programs = found.agents[found.agents["bot"]]["agent"].tolist()
    assert programs
    assert not [agent for agent in programs if "bot" not in agent.lower() and "/" not in agent]


def test_every_second_of_a_long_log_is_counted() -> None:
    rows = pl.DataFrame({"start": np.arange(2_100_000) * 1_000_000, "url": "/", "rc": 200, "op": "GET", "bytes": 1})
    found = profile_of([rows.with_columns(latency=0.0, xfertime=0.0)])
    assert found
    assert found.requests == 2_100_000
    assert not found.cut
    assert found.clients.height == found.agents.height == 0


def test_clients_without_an_agent_have_none() -> None:
    rows = pl.DataFrame({"start": [0], "url": "/", "rc": 200, "op": "GET", "bytes": 1, "client": "192.0.2.1"})
    found = profile_of([rows.with_columns(latency=0.0, xfertime=0.0)])
    assert found
    assert found.clients["agents"].to_list() == [0]


def test_the_routes_of_the_busiest_hour_are_those_of_the_hour_that_is_reported_whenever_it_begins() -> None:
    """/a from 10:30 to 11:30 is busier than /b in any hour of the clock, and in the logs of two servers."""
    half, quarter = 37_800, 36_900
    starts = {"/a": np.arange(half, half + 3600, 0.5), "/b": np.arange(43_200, 46_800, 0.6)}
    rows = [pl.DataFrame({"start": (at * 1e6).astype(np.int64), "url": url}) for url, at in starts.items()]
    late = pl.DataFrame({"start": [quarter * 1_000_000], "url": "/c"})
    common = {"rc": 200, "op": "GET", "bytes": 1, "latency": 0.0, "xfertime": 0.0}
    found = profile_of([part.with_columns(**{name: pl.lit(value) for name, value in common.items()})
                        for part in (rows[1], rows[0][::2], rows[0][1::2], late)])  # fmt: skip
    assert found
    assert (found.peaks["hour"].at, found.peaks["hour"].requests) == (half, 7200)
    assert found.peak_routes.to_dicts() == [{"method": "GET", "route": "/a", "requests": 7200}]


def test_a_log_shorter_than_an_hour_is_its_own_busiest_hour() -> None:
    rows = pl.DataFrame({"start": [3_500_000_000, 3_700_000_000], "url": "/", "rc": 200, "op": "GET", "bytes": 1})
    found = profile_of([rows.with_columns(latency=0.0, xfertime=0.0)])
    assert found
    assert found.peak_routes["requests"].to_list() == [2]
