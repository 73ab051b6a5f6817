"""A proof sends each machine its share of the minute, and judges the minute alone."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logreplay.analysis.planning import proof
from logreplay.analysis.search.bounds import Bound
from logreplay.core.rows import scan

BOUNDS = [Bound("p99", 0.3), Bound("errors", 0.01)]
BEGIN = 1_767_571_200
HEADER = "date,time,latency,xfertime,thinktime,bytes,url,rc,op\n"


def log(tmp_path: Path, per_second: int = 20) -> pl.LazyFrame:
    """Two hours of a log with this many requests a second."""
    path = tmp_path / "log.csv"
    rows = [
        f"2026-01-05,00:{at // 60:02}:{at % 60:02}.{number * 1_000_000 // per_second:06},0,0,0,1,/{at},200,GET\n"
        for at in range(600)
        for number in range(per_second)
    ]
    path.write_text(HEADER + "".join(rows))
    return scan(path)


def test_rows_of_a_time_are_those_that_start_in_it(tmp_path: Path) -> None:
    rows = proof.between(log(tmp_path), BEGIN + 100, BEGIN + 170)
    assert rows.height == 70 * 20
    assert rows["url"][0] == "/100"
    assert rows["url"][-1] == "/169"


@settings(max_examples=20, deadline=None)
@given(share=st.floats(0.05, 3.7), times=st.integers(1, 3), seed=st.integers(0, 99))
def test_each_pass_has_its_share_of_every_second(
    tmp_path_factory: pytest.TempPathFactory, share: float, times: int, seed: int
) -> None:
    rows = proof.between(log(tmp_path_factory.mktemp("log")), BEGIN, BEGIN + 70)
    drawn = proof.share_of(rows, BEGIN, np.full(70, share), times, seed)
    expected = rows.height * share * times
    assert abs(drawn.height - expected) < 5 * np.sqrt(rows.height * times * 0.25) + 1
    assert drawn.columns == rows.drop("start").columns
    assert (drawn["date"] + drawn["time"]).is_sorted()
    second = drawn["time"].str.slice(0, 8).n_unique()
    assert second <= 70 * times
    assert 0 <= proof.seconds_into(drawn, BEGIN) < 70


@pytest.mark.parametrize(
    ("requests", "share", "found"), [(10_000, 0.5, 1), (400, 1, 1), (200, 1, 2), (100, 0.5, 5), (0, 1, 5)]
)
def test_a_minute_with_few_requests_is_sent_again(requests: int, share: float, found: int) -> None:
    assert proof.passes(requests, share, BOUNDS) == found


def results(slow: int, failed: int, count: int = 1000) -> pl.DataFrame:
    """Results of a minute of which some are slow and some failed; all of the lead are slow."""
    due = np.concatenate([np.linspace(0, 9.9, 100), 10 + np.arange(count) * 60 / count])
    response = np.concatenate([np.full(100, 5.0), np.where(np.arange(count) < slow, 1.0, 0.1)])
    good = np.concatenate([np.ones(100, bool), np.arange(count) < count - failed])
    return pl.DataFrame({"scheduled": due, "response": response, "good": good})


@pytest.mark.parametrize(("slow", "failed", "kept"), [(5, 5, True), (20, 0, False), (0, 20, False), (9, 0, True)])
def test_the_minute_without_its_lead_is_judged(slow: int, failed: int, kept: bool) -> None:
    found = proof.judged(results(slow, failed), BOUNDS, machines=2, first=0.0)
    assert found.kept is kept
    assert found.requests == 1000
    assert found.rate == pytest.approx(1000 / 60)
    assert f"{'kept' if kept else 'NOT kept'} (" in found.sentence


def test_a_bound_is_kept_by_exactly_the_share_that_it_allows_as_in_a_search() -> None:
    assert proof.judged(results(100, 0), [Bound("p90", 0.3)], machines=2, first=0.0).kept
    assert not proof.judged(results(101, 0), [Bound("p90", 0.3)], machines=2, first=0.0).kept


def test_too_few_requests_are_not_judged() -> None:
    found = proof.judged(results(0, 0, count=300), BOUNDS, machines=1, first=0.0)
    assert found.kept is None
    assert "300 requests, and 368 are needed" in found.text


def test_two_passes_are_judged_together() -> None:
    one = results(0, 0, count=200)
    two = pl.concat([one, one.with_columns(pl.col("scheduled") + 70)])
    found = proof.judged(two, BOUNDS, machines=3, first=0.0)
    assert (found.kept, found.requests) == (True, 400)
    assert found.rate == pytest.approx(200 / 60)
