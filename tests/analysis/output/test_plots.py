"""What is drawn where: by the data that a picture holds, not by its pixels."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import simulate
from logreplay.analysis.analyze import Analysis, analyse
from logreplay.analysis.output import pictures
from logreplay.analysis.output.plots import hockey_stick, single_run
from simulate import SimulatedQueue


@pytest.fixture(scope="module")
def sweep() -> Analysis:
    """A sweep that goes on far beyond what the target carries."""
    rng = np.random.default_rng(3)
    arrivals = simulate.sweep(range(50, 401, 50), 10, rng)
    return analyse(simulate.serve(arrivals, SimulatedQueue(4, 0.016), rng, timeout_s=30))


def axes() -> Axes:
    return Figure().add_subplot()


def test_steps_after_two_that_were_not_carried_are_hollow(sweep: Analysis) -> None:
    ax = pictures.draw(axes(), sweep, "hockeystick")
    ordered = sweep.steps.sort("rate")
    bad = ordered.filter(pl.col("verdict") != "stable")["rate"].to_list()
    filled, hollow = (next(line for line in ax.get_lines() if (line.get_markerfacecolor() == "none") is open)
                      for open in (False, True))  # fmt: skip
    assert len(bad) >= 3
    assert np.asarray(hollow.get_xdata()).tolist() == bad[2:]
    assert np.asarray(filled.get_xdata()).tolist() == ordered["rate"].to_list()[: -len(bad[2:])]


def test_a_run_that_stopped_in_time_has_no_hollow_point() -> None:
    rng = np.random.default_rng(3)
    run = analyse(
        simulate.serve(simulate.sweep(range(50, 301, 50), 10, rng), SimulatedQueue(4, 0.016), rng, timeout_s=30)
    )
    ax = pictures.draw(axes(), run, "hockeystick")
    hollow = [line for line in ax.get_lines() if line.get_markerfacecolor() == "none" and len(line.get_xdata())]  # type: ignore[arg-type]
    assert not hollow


@pytest.mark.parametrize("kind", ["hockeystick", "achieved", "throughput"])
def test_of_several_trials_at_a_rate_the_curve_goes_through_the_median(sweep: Analysis, kind: str) -> None:
    slower = sweep.steps.with_columns(pl.col("p50", "p95", "p99") * 2, pl.col("step") + 100)
    trials = pl.concat([slower, sweep.steps, sweep.steps.with_columns(pl.col("step") + 200)])
    again = replace(sweep, verdict=replace(sweep.verdict, steps=trials))
    once, several = (pictures.draw(axes(), run, kind) for run in (sweep, again))
    assert [np.asarray(line.get_xydata()).tolist() for line in once.get_lines()] == [
        np.asarray(line.get_xydata()).tolist() for line in several.get_lines()
    ]


def test_of_several_trials_at_a_rate_one_speaks_for_it(sweep: Analysis) -> None:
    worse = sweep.steps.with_columns(pl.col("step") + 100, verdict=pl.lit("overloaded"))
    again = replace(sweep, verdict=replace(sweep.verdict, steps=pl.concat([sweep.steps, worse])))
    assert pictures.telling_steps(again) == pictures.telling_steps(sweep)


def test_figures_that_were_watched_have_a_row_each(sweep: Analysis) -> None:
    seconds = sweep.seconds.with_columns(watch_cpu=pl.lit(50.0), watch_queue=pl.lit(None, pl.Float64))
    made = Figure()
    single_run.timeline(made.add_subplot(), seconds)
    labels = [ax.get_ylabel() for ax in made.axes if ax.get_ylabel()]
    assert labels == ["requests/s", "in flight", "errors/s", "lag, ms", "cpu", "queue"]


def test_a_long_run_is_drawn_with_few_points_that_keep_its_peaks(sweep: Analysis) -> None:
    long = pl.concat([sweep.seconds] * 100).with_columns(second=pl.int_range(pl.len()), lag_max=pl.lit(0.001))
    long = long.with_columns(lag_max=pl.when(pl.col("second") == 4321).then(0.7).otherwise("lag_max"))
    made = Figure()
    lag = single_run.timeline(made.add_subplot(), long).get_lines()[0]
    late = np.asarray(lag.get_ydata(), np.float64)
    assert len(late) <= 2000
    assert late.max() == pytest.approx(700)
    rates = next(ax for ax in made.axes if ax.get_ylabel() == "requests/s")
    drawn = np.asarray(rates.get_lines()[0].get_ydata(), np.float64)
    assert drawn.mean() == pytest.approx(long["offered"].mean(), rel=0.01)


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_a_picture_is_the_same_twice(sweep: Analysis, tmp_path: Path, ending: str) -> None:
    first, second = (
        hockey_stick.save(
            hockey_stick.figure(lambda ax: pictures.draw(ax, sweep, "hockeystick")), tmp_path / f"{turn}.{ending}"
        ).read_bytes()
        for turn in (1, 2)
    )
    assert first == second
