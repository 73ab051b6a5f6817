"""Steps of a per-second table are judged by the means of their seconds."""

import numpy as np
import polars as pl
import pytest

from logreplay.analysis.summary import summarise_seconds
from logreplay.analysis.verdict import saturation
from logreplay.analysis.verdict.capacity import capacity
from logreplay.analysis.verdict.per_second import judged_seconds


def seconds(mean: list[float | None], *, offered: int = 100, errors: int = 0) -> pl.DataFrame:
    columns = {"second": range(len(mean)), "offered": offered, "errors": errors}
    return pl.DataFrame({**columns, "mean": pl.Series(mean, dtype=pl.Float64)})


def test_a_table_of_seconds_shows_an_overload_by_times_that_climb() -> None:
    steps = pl.Series(np.repeat([0, 1], 10))
    climbing = (0.01 + 0.3 * second for second in range(10))
    table = judged_seconds(seconds([*[0.01] * 10, *climbing]).with_columns(step=steps))
    assert table["verdict"].to_list() == ["stable", "overloaded"]
    assert table["slope"].to_list() == pytest.approx([0, 0.3])
    assert table["growth"].to_list() == pytest.approx([0, 0.3 / 1.3])
    assert table["rate"].to_list() == [100, 100]


@pytest.mark.parametrize(("after", "verdict"), [(0.5, "overloaded"), (0.015, "stable")])
def test_an_overload_lasts_until_times_are_near_those_before_it(after: float, verdict: str) -> None:
    climbing = (0.01 + 0.3 * second for second in range(10))
    table = seconds([*[0.01] * 10, *climbing, *[after] * 10])
    found = judged_seconds(table.with_columns(step=pl.Series(np.repeat([0, 1, 2], 10))))
    assert found["verdict"].to_list() == ["stable", "overloaded", verdict]


def test_a_table_of_one_rate_is_no_sweep_by_the_chance_of_its_arrivals() -> None:
    """300 s at 100/s were 30 steps, with "no saturation up to 109/s"."""
    offered = pl.Series(np.random.default_rng(4).poisson(100, 300))
    table = judged_seconds(seconds([0.02] * 300).with_columns(offered=offered))
    assert table["rate"].to_list() == pytest.approx([100], rel=0.01)
    assert table["scheduled"].to_list() == [offered.sum()]


def test_a_table_of_a_ramp_at_low_rates_is_divided() -> None:
    offered = pl.Series(np.diff(np.floor(np.arange(61) + np.arange(61) ** 2 / 40), prepend=0)[1:].astype(int))
    assert judged_seconds(seconds([0.02] * 60).with_columns(offered=offered)).height == 6


def test_a_table_of_one_rate_whose_times_climb_is_an_overload() -> None:
    table = judged_seconds(seconds([0.01 + 0.3 * second for second in range(20)]))
    assert table.select("rate", "verdict").rows() == [(100, "overloaded")]


def test_a_table_of_seconds_tells_the_number_of_machines_by_the_mean() -> None:
    assert capacity(judged_seconds(seconds([0.01] * 60)), tps=200, within=0.1, percentile="mean").machines == 2


def test_times_that_level_off_after_an_overload_are_no_recovery() -> None:
    means = [*[0.01] * 10, *(0.01 + 0.05 * second for second in range(10)), *[0.5] * 10]
    rates = pl.Series(np.repeat([100, 150, 200], 10))
    table = judged_seconds(seconds([*means, *[0.5] * 10]).head(30).with_columns(offered=rates, step=rates))
    assert table["verdict"].to_list() == ["stable", "overloaded", "overloaded"]
    recovered = judged_seconds(seconds([*means[:20], *[0.01] * 10]).with_columns(offered=rates, step=rates))
    assert recovered["verdict"].to_list() == ["stable", "overloaded", "stable"]


def test_three_seconds_are_judged_with_those_before_them() -> None:
    rates = pl.Series(np.repeat([100, 110, 120, 130], 3))
    means = [0.01] * 4 + [0.01 + 0.05 * second for second in range(8)]
    table = judged_seconds(seconds(list(means)).with_columns(offered=rates, step=rates))
    assert table["verdict"].to_list() == ["stable", "stable", "overloaded", "overloaded"]


def test_one_percent_above_capacity_is_an_overload_if_times_rise_surely_and_double() -> None:
    table = judged_seconds(seconds([0.01 + 0.01 * second for second in range(20)]).with_columns(step=0))
    assert table["verdict"].to_list() == ["overloaded"]


def test_a_table_of_seconds_counts_errors_of_which_the_kind_is_unknown() -> None:
    table = judged_seconds(seconds([0.01] * 20, errors=5))
    assert table.select("verdict", "failure").unique().rows() == [("errors", "kind unknown")]


def test_seconds_of_steps_that_the_table_names_are_kept_together() -> None:
    steps = pl.Series([None, 7, 7, 7, 7, 9, 9, 9, 9], dtype=pl.Int64)
    table = judged_seconds(seconds([0.01] * 9).with_columns(step=steps))
    assert table.select("step", "start", "duration", "scheduled").rows() == [(7, 1, 4, 400), (9, 5, 4, 400)]


def test_a_table_of_seconds_in_which_nothing_was_answered_has_no_times_and_no_overload() -> None:
    table = judged_seconds(seconds([None] * 20, errors=100))
    assert table.select("mean", "verdict").rows() == [(None, "errors")]


@pytest.mark.parametrize("lowest", [0.01, None])
def test_a_limit_of_the_client_is_seen_although_the_lowest_rate_was_not_answered(lowest: float | None) -> None:
    rates = pl.Series(np.repeat([50, 100, 150, 200, 250, 300], 10))
    means = [*[lowest] * 10, *[0.01] * 20, *[0.5] * 30]
    table = judged_seconds(seconds(means).with_columns(offered=rates, step=rates))
    assert table["over"].to_list() == [False] * 3 + [True] * 3


def test_means_of_requests_that_did_not_fail_are_weighted_by_their_number() -> None:
    """A second in which 90 of 100 fail, and the others take 10 s, beside nine in which 100 take 0.1 s."""
    table = seconds([*[0.1] * 9, 10.0]).with_columns(errors=pl.Series([0] * 9 + [90]), step=0)
    ours = table.with_columns(ok=pl.col("offered") - pl.col("errors"))
    for each, mean in ((table, 1.09), (ours, (90 + 100) / 910)):
        judged = judged_seconds(each)
        assert judged["mean"].item() == pytest.approx(mean)
        assert summarise_seconds(each, saturation.judge(judged))["response_s"]["mean"] == pytest.approx(mean, abs=1e-6)
