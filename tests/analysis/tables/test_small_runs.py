"""Rates of runs with few requests: they are divided by the time of their schedule."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest

from logreplay.analysis.analyze import analyse
from logreplay.analysis.input.arrays import read
from logreplay.analysis.tables.aggregate import run_spans, scheduled_span, steps
from logreplay.core.record import RESULT_COLUMNS, SCHEMA

RATES = ("offered", "sent", "completed", "goodput")


def rows(rate: float | None, scheduled: Sequence[float], latency: float = 0.001, lag: float = 0.0) -> pl.DataFrame:
    """Rows of a run at a rate; None: a run that has no rate."""
    none = {name: pl.lit(None, SCHEMA.get(name, pl.Float64)) for name in RESULT_COLUMNS}
    some = {
        "date": "2026-01-01",
        "time": "00:00:00.0",
        "url": "/",
        "op": "GET",
        "rc": 200,
        "step": 0,
        "latency": latency,
    }
    zero = dict.fromkeys(("xfertime", "connect", "bytes"), 0)
    frame = pl.DataFrame({"scheduled": scheduled, "seq": range(len(scheduled))})
    known = {name: pl.lit(value) for name, value in {**some, **zero, "lag": lag}.items()}
    offered = pl.lit(rate, pl.Float64)
    columns: dict[str, Any] = {**none, **known, "offered": offered, "scheduled": "scheduled", "seq": "seq"}
    return frame.with_columns(**columns)


def summary(frame: pl.DataFrame) -> dict[str, Any]:
    return analyse(frame).summary


@pytest.mark.parametrize(
    ("rate", "scheduled"),
    [(1.0, [0.42]), (2.0, [0.35, 0.6]), (2.0, [0.5, 0.5]), (3.0, [0.1, 0.2, 0.9]), (0.1, [7.0])],
)
def test_a_run_of_few_requests_has_the_rate_of_its_schedule(rate: float, scheduled: list[float]) -> None:
    found = summary(rows(rate, scheduled))
    assert {name: found["rate"][name] for name in RATES} == dict.fromkeys(RATES, pytest.approx(rate))
    assert found["siege"]["transaction_rate"] == pytest.approx(rate)
    assert found["ab"]["requests_per_second"] == pytest.approx(rate)
    table = steps(read(rows(rate, scheduled)))
    assert table["offered"].to_list() == pytest.approx([rate])
    assert table["sent"].to_list() == pytest.approx([rate])


def test_as_many_random_requests_as_were_asked_for_are_offered_at_their_rate() -> None:
    found = summary(rows(50, [0.01, 0.05, 0.06, 0.11, 0.165]))["rate"]
    assert found["offered"] == found["sent"] == pytest.approx(50)
    assert found["completed"] == pytest.approx(50, rel=0.02)


def test_one_request_without_a_rate_is_one_a_second() -> None:
    found = summary(rows(None, [3.0]))
    assert found["rate"]["offered"] == found["rate"]["completed"] == 1


def test_what_ends_after_the_schedule_prolongs_it() -> None:
    found = summary(rows(2, [0.25, 0.75], latency=4.0))["rate"]
    assert (found["offered"], found["sent"]) == (2, 2)
    assert found["completed"] == pytest.approx(2 / 4.5)
    found = summary(rows(2, [0.25, 0.75], lag=9.25))["rate"]
    assert found["sent"] == pytest.approx(2 / 9.75)


@pytest.mark.parametrize("rate", [1, 5, 50, 2000])
@pytest.mark.parametrize("seconds", [1, 3, 20])
def test_random_arrivals_have_the_rate_that_was_asked_for(rate: int, seconds: int) -> None:
    rng = np.random.default_rng(rate + seconds)
    for _ in range(5):
        found = run_spans(read(rows(rate, np.sort(rng.uniform(0, seconds, rate * seconds)).tolist())))
        assert found[0] == pytest.approx(seconds)
        assert found[2] == pytest.approx(seconds, rel=0.01)


def test_instants_that_cannot_come_of_the_rate_count_themselves() -> None:
    """The bursts of a log, twice as dense here as they are on average."""
    one = np.array([1])
    span = scheduled_span(300 * one, 0 * one, 14_950_000 * one, np.array([10.0]))
    assert span.tolist() == pytest.approx([15_000_000])


@pytest.mark.parametrize(("rate", "seconds", "runs"), [(1, 60, 10), (5, 600, 5), (15, 1800, 5)])
@pytest.mark.parametrize("named", [True, False])
def test_a_run_at_one_rate_is_no_sweep_by_the_chance_of_its_arrivals(
    rate: float, seconds: float, runs: int, named: bool
) -> None:
    """Nine of ten runs of a minute at 1/s became six steps, and their rates were not the one that was asked for."""
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        due = np.sort(rng.uniform(0, seconds, rng.poisson(rate * seconds)))
        read_rows = read(rows(rate if named else None, due.tolist()))
        assert (len(read_rows.labels), read_rows.window_s) == (1, None), seed
        if named:
            assert steps(read_rows)["rate"].to_list() == [rate]


@pytest.mark.parametrize("named", [55.0, None])
def test_a_ramp_is_judged_by_windows_though_its_mean_rate_is_named(named: float | None) -> None:
    due = np.sort(100 * np.sqrt(np.random.default_rng(3).uniform(0.01, 1, 5500)))
    assert read(rows(named, due.tolist())).window_s == 10


@pytest.mark.parametrize(
    ("first", "last", "seconds"),
    [(2, 8, 60), (10, 20, 60), (1, 4, 60), (1, 8, 60), (20, 10, 60), (5, 10, 120), (1, 3, 300)],
)
def test_a_ramp_at_low_rates_is_judged_by_windows(first: float, last: float, seconds: int) -> None:
    """A ramp from 10/s to 20/s in a minute became one step at 15/s."""
    mean, slope = (first + last) / 2, (last - first) / seconds
    sent = np.arange(mean * seconds) + 0.5  # requests up to each due time: first t + slope t² / 2
    due = (np.sqrt(first**2 + 2 * slope * sent) - first) / slope
    assert len(read(rows(mean, due.tolist())).labels) == seconds // 10
