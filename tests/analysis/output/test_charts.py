"""The data of the interactive charts are those of the tables."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

import simulate
from logreplay.analysis.analyze import Analysis, analyse
from logreplay.analysis.output.charts import charts
from logreplay.analysis.output.plots.single_run import timeline
from simulate import SimulatedQueue

RATES = range(50, 401, 50)


@pytest.fixture(scope="module")
def sweep() -> Analysis:
    """A sweep that goes on beyond what the target carries."""
    rng = np.random.default_rng(3)
    return analyse(simulate.serve(simulate.sweep(RATES, 10, rng), SimulatedQueue(4, 0.016), rng, timeout_s=30))


def test_the_distribution_has_a_curve_for_every_step(sweep: Analysis) -> None:
    curves = charts(sweep)["percentiles"][0]["series"]
    assert [curve["name"] for curve in curves] == [f"{rate}/s" for rate in RATES]
    assert 1 < sum(curve["show"] for curve in curves) < len(curves)


def test_the_curves_have_a_gap_between_the_last_stable_and_the_first_overloaded_rate(sweep: Analysis) -> None:
    curve = next(series for series in charts(sweep)["hockeystick"][0]["series"] if series["name"] == "p50")
    wall = curve["y"].index(None)
    steps = sweep.steps.sort("rate")
    (left, right), heights = curve["across"]
    assert [left, right] == steps["rate"][wall - 1 : wall + 1].to_list()
    assert heights == pytest.approx([curve["y"][wall - 1], curve["y"][wall + 1]])
    assert curve["y"][:wall] == pytest.approx((1000 * steps["p50"][:wall]).to_list(), rel=1e-3)
    assert set(steps["verdict"][:wall]) == {"stable"}
    assert steps["verdict"][wall] == "overloaded"


def test_a_step_that_the_generator_limited_is_marked_and_on_no_line(sweep: Analysis) -> None:
    verdict = pl.when(pl.col("rate") == 150).then(pl.lit("generator-limited")).otherwise("verdict")
    judged = replace(sweep.verdict, steps=sweep.steps.with_columns(verdict=verdict))
    (row,) = charts(replace(sweep, verdict=judged))["hockeystick"]
    curves = [series for series in row["series"] if series["name"] in ("p50", "p95", "p99")]
    assert curves
    assert all(150 not in curve["x"] and 100 in curve["x"] for curve in curves)
    (limited,) = [span for span in row["spans"] if "replay machine" in span["name"]]
    assert (limited["low"], limited["at"], limited["high"]) == (125, 150, 175)


def test_each_trial_at_a_rate_has_its_own_curve() -> None:
    rng = np.random.default_rng(3)
    run = analyse(simulate.serve(simulate.sweep([50, 100, 50, 100], 5, rng), SimulatedQueue(4, 0.016), rng))
    names = [curve["name"] for curve in charts(run)["percentiles"][0]["series"]]
    assert names == ["50/s, trial 1", "50/s, trial 2", "100/s, trial 1", "100/s, trial 2"]


def test_points_are_hollow_only_where_too_few_requests_support_the_percentile() -> None:
    rng = np.random.default_rng(3)
    run = analyse(simulate.serve(simulate.sweep([50, 200, 300], 5, rng), SimulatedQueue(8, 0.016), rng))
    series = {one["name"]: one for one in charts(run)["hockeystick"][0]["series"]}
    assert series["p99"]["dots"] == "solid"
    hollow = {name: one["x"] for name, one in series.items() if one.get("dots") == "hollow"}
    assert hollow == {"p99: too few requests, longest time": [50]}


def of_seconds(sweep: Analysis, offered: Sequence[float], p50: Sequence[float]) -> dict[str, Mapping[str, Any]]:
    """The series of the hockey stick by their name, with these seconds in place of those of the sweep."""
    rows = np.arange(len(offered)) % sweep.seconds.height
    seconds = sweep.seconds[rows].with_columns(offered=pl.Series(offered), p50=pl.Series(p50))
    (row,) = charts(replace(sweep, seconds=seconds))["hockeystick"]
    return {series["name"]: series for series in row["series"]}


def test_of_many_seconds_the_highest_of_each_few_is_drawn(sweep: Analysis) -> None:
    """Each third of 9,000 seconds was drawn, and none of 20 with a median of 5 s."""
    times = np.full(9000, 0.01)
    times[100:3100:150] = 5.0
    offered = np.where(times > 1, 60.0, 50.0)
    drawn = of_seconds(sweep, offered.tolist(), times.tolist())["p50 of one second, the highest of 3"]
    assert len(drawn["y"]) == 3000
    assert [x for x, y in zip(drawn["x"], drawn["y"], strict=True) if y == 5000] == 20 * [60]
    assert len(of_seconds(sweep, offered[:4000].tolist(), times[:4000].tolist())["p50 of one second"]["y"]) == 4000


def test_seconds_in_which_most_failed_are_marked_at_the_top_of_all_that_is_drawn(sweep: Analysis) -> None:
    series = of_seconds(sweep, [50, 60, 60, 70], [0.01, np.inf, np.inf, np.nan])
    failed = series["one second in which most failed"]
    assert failed["x"] == [60]
    assert failed["y"] == [max(y for one in series.values() for y in one["y"] if y is not None)]


def test_the_timeline_shows_the_errors_of_requests_that_were_sent(sweep: Analysis) -> None:
    seconds = sweep.seconds.with_columns(errors=pl.lit(7), dropped=pl.lit(5))
    rows = charts(Analysis(sweep.requests, seconds, sweep.verdict, sweep.summary))["timeline"]
    (errors,) = (row["series"][0]["y"] for row in rows if row["y"] == "errors/s")
    assert {*errors} == {2}
    made = Figure()
    timeline(made.add_subplot(), seconds)
    ax = next(ax for ax in made.axes if ax.get_ylabel() == "errors/s")
    assert ax.collections[0].get_datalim(ax.transData).y1 == 2


def test_every_value_fits_json(sweep: Analysis) -> None:
    assert json.loads(json.dumps(charts(sweep), allow_nan=False)) == charts(sweep)


def test_a_long_run_has_few_points_and_a_row_for_each_external_metric(sweep: Analysis) -> None:
    seconds = pl.concat([sweep.seconds] * 100).with_columns(second=pl.int_range(pl.len()), watch_cpu=pl.lit(50.0))
    rows = charts(Analysis(sweep.requests, seconds, sweep.verdict, sweep.summary))["timeline"]
    assert [row["y"] for row in rows] == ["requests/s", "time, ms", "in flight", "errors/s", "lag, ms", "cpu"]
    assert max(len(series["x"]) for row in rows for series in row["series"]) <= 1000
