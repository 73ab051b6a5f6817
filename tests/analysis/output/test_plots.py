"""What is drawn where: by the data that a picture holds, not by its pixels."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import FillBetweenPolyCollection
from matplotlib.figure import Figure

import simulate
from logreplay.analysis.analyze import Analysis, analyse
from logreplay.analysis.format_time import show_range
from logreplay.analysis.output import pictures
from logreplay.analysis.output.plots import hockey_stick, overlay, single_run
from logreplay.analysis.verdict.comparison import compare
from simulate import SimulatedQueue
from support.simulated_results import write_results


@pytest.fixture(scope="module")
def sweep() -> Analysis:
    """A sweep that goes on far beyond what the target carries."""
    rng = np.random.default_rng(3)
    arrivals = simulate.sweep(range(50, 401, 50), 10, rng)
    return analyse(simulate.serve(arrivals, SimulatedQueue(4, 0.016), rng, timeout_s=30))


def axes() -> Axes:
    return Figure().add_subplot()


def curves(ax: Axes, style: str) -> list[list[float]]:
    """The rates of the lines of this style that hold points."""
    lines = [line for line in ax.get_lines() if line.get_linestyle() == style and line.get_color() == hockey_stick.BLUE]
    return [rates for line in lines if (rates := np.asarray(line.get_xdata(), np.float64).tolist())]


def test_an_interval_that_is_too_wide_leaves_room_for_the_others() -> None:
    runs = [simulate.serve(simulate.sweep([50], 20, np.random.default_rng(seed)), SimulatedQueue(4, 0.016),
                           np.random.default_rng(seed)) for seed in (1, 2)]  # fmt: skip
    found = compare(*runs)
    wide = replace(found.quantiles["p50"], low=1e-260, high=1e260)
    ax = overlay.changes(axes(), replace(found, quantiles={**found.quantiles, "p50": wide}))
    assert ax.get_xlim()[1] < 1000


@pytest.mark.parametrize("style", ["-", "--", ":"])
def test_no_curve_is_drawn_from_the_last_stable_to_the_first_overloaded_rate(sweep: Analysis, style: str) -> None:
    ax = pictures.draw(axes(), sweep, "hockeystick")
    ordered = sweep.steps.sort("rate")
    stable = ordered.filter(pl.col("verdict") == "stable")["rate"].to_list()
    others = ordered.filter(pl.col("verdict") != "stable")["rate"].to_list()
    assert len(others) >= 3
    assert curves(ax, style) == [stable, others]
    across = [
        line for line in ax.get_lines() if line.get_color() == hockey_stick.GREY and len(np.ravel(line.get_xdata()))
    ]
    assert [np.asarray(line.get_xdata()).tolist() for line in across] == [[stable[-1], others[0]]] * 3
    assert all(line.is_dashed() for line in across)


def test_times_are_in_milliseconds_at_1_2_and_5_of_each_power_of_ten(sweep: Analysis) -> None:
    ax = pictures.draw(axes(), sweep, "hockeystick")
    low, high = ax.get_ylim()
    median = sweep.steps["p50"].to_numpy() * 1000
    assert low < median.min() < median.max() < high
    shown = [ax.yaxis.get_major_formatter()(tick) for tick in ax.get_yticks() if low <= tick <= high]
    assert len(shown) >= 6
    assert all(text.replace(",", "").strip("0.") in ("1", "2", "5") for text in shown)
    assert ax.get_ylabel().endswith("ms")


def test_the_legend_has_saturation_and_onset_with_their_ranges_in_two_colours(sweep: Analysis) -> None:
    ax = pictures.draw(axes(), sweep, "hockeystick")
    marks = {str(line.get_label()).split()[0]: line for line in ax.get_lines() if "~" in str(line.get_label())}
    for name, bend in (("saturation", sweep.verdict.saturation), ("onset", sweep.verdict.onset)):
        assert bend.low is not None
        assert bend.high is not None
        assert f"({show_range(bend.low, bend.high)}/s)" in str(marks[name].get_label())
    assert marks["saturation"].get_color() != marks["onset"].get_color()
    assert marks["saturation"].get_linestyle() != marks["onset"].get_linestyle()


def test_a_percentile_of_too_few_requests_is_hollow() -> None:
    rng = np.random.default_rng(3)
    arrivals = simulate.sweep(range(20, 121, 20), 6, rng)
    short = analyse(simulate.serve(arrivals, SimulatedQueue(4, 0.016), rng, timeout_s=30))
    ax = pictures.draw(axes(), short, "hockeystick")
    hollow = [
        line for line in ax.get_lines() if line.get_markerfacecolor() == "white" and len(np.ravel(line.get_xdata()))
    ]
    few = short.steps.filter(pl.col("scheduled") < 368)
    assert [np.asarray(line.get_xdata()).tolist() for line in hollow] == [few["rate"].to_list()]
    assert np.asarray(hollow[0].get_ydata()).tolist() == pytest.approx((1000 * few["max"]).to_list())


def test_where_percentiles_fall_on_failed_requests_marks_say_so_and_no_area_reaches_to_the_top(sweep: Analysis) -> None:
    """The area between p50 and p95 was drawn up to the edge, as a wedge."""
    failing = pl.col("rate") >= sweep.steps["rate"].to_list()[2]
    steps = sweep.steps.with_columns(
        pl.when(failing).then(float("inf")).otherwise(pl.col(name)).alias(name) for name in ("p95", "p99")
    )
    ax = hockey_stick.hockey_stick(axes(), sweep.seconds, steps)
    marked = [each for each in ax.collections if "failed: it falls" in str(each.get_label())]
    assert [len(np.asarray(each.get_offsets())) for each in marked] == [steps.filter(failing).height] * 2
    areas = [each for each in ax.collections if isinstance(each, FillBetweenPolyCollection)]
    highest = 1000 * float(steps.filter(~failing)["p99"].to_numpy().max())
    paths = [np.asarray(path.vertices) for area in areas for path in area.get_paths()]
    drawn = [float(path[:, 1].max()) for path in paths if len(path)]
    assert max(drawn) <= highest


def test_the_legend_stands_below_the_axes_of_a_picture_and_covers_no_point(sweep: Analysis) -> None:
    made = hockey_stick.figure(lambda ax: pictures.draw(ax, sweep, "hockeystick", title=True))
    made.draw_without_rendering()
    (legend,) = made.legends
    (ax,) = made.axes
    assert ax.get_legend() is None
    assert legend.get_window_extent().y1 <= ax.get_window_extent().y0


def test_a_sweep_that_was_given_a_bound_on_time_has_it_in_its_picture(sweep: Analysis) -> None:
    given = replace(
        sweep, summary=sweep.summary | {"options": {"stop": ["errors>5%/10s", "p99>2s/10s", "p50 > 300ms"]}}
    )
    ax = pictures.draw(axes(), given, "hockeystick")
    assert "bound 2 s" in [str(line.get_label()) for line in ax.get_lines()]


def test_a_heat_map_names_the_routes_whose_medians_differ(tmp_path: Path) -> None:
    rows = pl.read_csv(write_results(tmp_path, [50], 8), infer_schema_length=None)
    slow = pl.col("seq") % 5 == 0
    rows = rows.with_columns(
        url=pl.when(slow).then(pl.lit("/slow")).otherwise(pl.lit("/fast")),
        latency=pl.when(slow).then(0.4).otherwise(0.02),
    )
    ax = pictures.draw(axes(), analyse(rows), "heatmap", title=True)
    assert [text.get_text() for text in ax.texts] == ["/fast", "/slow"]
    assert ax.get_title(loc="left").startswith("Response times over time")
    same = pictures.draw(axes(), analyse(rows.with_columns(latency=pl.lit(0.02))), "heatmap")
    assert not same.texts


def test_a_heat_map_of_a_sweep_names_no_route_that_was_asked_for_more_often_at_the_high_rate(tmp_path: Path) -> None:
    rows = pl.read_csv(write_results(tmp_path, [50, 100], 8), infer_schema_length=None)
    high, some = pl.col("step") == pl.col("step").max(), pl.col("seq") % 5 == 0
    rows = rows.with_columns(
        url=pl.when(high != some).then(pl.lit("/late")).otherwise(pl.lit("/early")),
        latency=pl.when(high).then(0.4).otherwise(0.02),
    )
    assert not pictures.draw(axes(), analyse(rows), "heatmap").texts


def test_the_caption_says_what_was_measured(sweep: Analysis) -> None:
    about = {"target": "http://user:secret@shop.example:8080", "log": "$x$_" + "y" * 200 + ".log"}
    named = replace(sweep, summary=sweep.summary | about)
    ax = pictures.draw(axes(), named, "hockeystick", title=True)
    below = " ".join(text.get_text() for text in ax.texts).replace("\n", " ")
    assert "shop.example:8080" in below
    assert "secret" not in below
    assert "8 steps of 10 s" in below
    assert f"{sweep.summary['requests']['scheduled']:,} requests" in below
    assert len(below) < 300


def test_many_rates_are_drawn_as_few_points(sweep: Analysis) -> None:
    windows = pl.concat([sweep.steps.with_columns(pl.col("rate") + 0.1 * turn) for turn in range(40)])
    ax = hockey_stick.hockey_stick(axes(), sweep.seconds, windows)
    assert sum(map(len, curves(ax, "-"))) <= 21


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
    assert list(pictures.telling_steps(again)) == list(pictures.telling_steps(sweep))


def test_figures_that_were_watched_have_a_row_each(sweep: Analysis) -> None:
    seconds = sweep.seconds.with_columns(watch_cpu=pl.lit(50.0), watch_queue=pl.lit(None, pl.Float64))
    made = Figure()
    single_run.timeline(made.add_subplot(), seconds)
    labels = [ax.get_ylabel() for ax in made.axes if ax.get_ylabel()]
    assert labels == ["requests/s", "time, ms", "in flight", "errors/s", "lag, ms", "cpu", "queue"]


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


def test_the_last_second_of_a_timeline_is_drawn(sweep: Analysis) -> None:
    made = Figure()
    single_run.timeline(made.add_subplot(), sweep.seconds)
    rates = next(ax for ax in made.axes if ax.get_ylabel() == "requests/s").get_lines()[0]
    offered = sweep.seconds["offered"].to_list()
    assert list(np.asarray(rates.get_xdata())) == list(range(len(offered) + 1))
    assert list(np.asarray(rates.get_ydata())) == [*offered, offered[-1]]


def test_a_percentile_without_a_line_says_why_in_the_legend(sweep: Analysis) -> None:
    made = Figure()
    failed = sweep.seconds.with_columns(pl.lit(np.inf).alias("p95"), pl.lit(None, pl.Float64).alias("p50"))
    single_run.timeline(made.add_subplot(), failed)
    legends = [ax.get_legend() for ax in made.axes]
    labels = [text.get_text() for legend in legends if legend for text in legend.get_texts()]
    assert labels[2:] == ["p50 (too few requests)", "p95 (no line where it falls on a failed request)"]
