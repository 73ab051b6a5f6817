"""What watched figures say of the limit of a sweep: series as real and simulated servers showed them."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import logreplay
import simulate
from logreplay.analysis.limit.sentences import PROCESSORS_AND_POOLS, TargetLimit, cannot_tell, workers
from logreplay.analysis.limit.watched import WatchedFigure, told, watched_figures
from logreplay.cli.main import run
from simulate import SimulatedQueue

RATES = (50.0, 80.0, 100.0, 130.0, 160.0)
WORDS = ("stable", "stable", "stable", "overloaded", "overloaded")
EACH_S = 5
"""Seconds of a step."""

Series = Sequence[float | None]


def found(
    series: Mapping[str, Series], maxima: Mapping[str, float], words: Sequence[str] = WORDS, most: float | None = None
) -> dict[str, WatchedFigure]:
    """One value for each step; its first second still holds the step before."""
    columns = {
        f"watch_{name}": [
            values[max(step - 1, 0)] if second == 0 else values[step]
            for step in range(len(RATES))
            for second in range(EACH_S)
        ]
        for name, values in series.items()
    }
    number = len(RATES) * EACH_S
    seconds = pl.DataFrame(
        {"second": range(number), "step": [at // EACH_S for at in range(number)], **columns}, strict=False
    )
    steps = pl.DataFrame({"step": range(len(RATES)), "rate": RATES, "verdict": words})
    return {each.name: each for each in watched_figures(seconds, steps, maxima, most)}


def test_a_pool_at_its_maximum_is_the_ceiling_and_idle_processors_are_ruled_out() -> None:
    figures = found(
        {"pool": (1.4, 2.2, 2.6, 2.86, 3.0), "app_cpu": (0.06, 0.1, 0.12, 0.13, 0.13), "app_thread": [0.03] * 5},
        {"pool": 3, "app_cpu": 2, "app_thread": 1},
    )
    assert figures["pool"] == WatchedFigure("pool", "ceiling", 2.86, 3, "pool 2.86 of 3: at its maximum")
    assert figures["app_thread"].kind == "ruled_out"
    assert figures["app_cpu"] == WatchedFigure("app_cpu", "ruled_out", 0.13, 2, "app_cpu 0.13 of 2: not the processors")
    assert told(figures.values()) == "pool 2.86 of 3: at its maximum; app_cpu 0.13 of 2: not the processors"


def test_a_process_at_one_core_is_the_ceiling_though_half_of_the_processors_idle() -> None:
    figures = found(
        {
            "app_cpu": (0.5, 0.75, 0.9, 0.96, 0.98),
            "app_process": (0.5, 0.75, 0.9, 0.96, 0.98),
            "app_thread": (0.2, 0.25, 0.25, 0.26, 0.26),
        },
        {"app_cpu": 2, "app_process": 1, "app_thread": 1},
    )
    assert {name: figure.kind for name, figure in figures.items()} == {
        "app_cpu": "ruled_out", "app_process": "ceiling", "app_thread": "ruled_out"
    }  # fmt: skip
    assert "the threads of one process share one core: a lock of the interpreter" in figures["app_process"].text


def test_a_group_of_one_processor_is_no_lock_of_an_interpreter() -> None:
    busy = (0.5, 0.75, 0.9, 0.97, 0.98)
    figures = found(
        {"app_cpu": busy, "app_process": busy, "app_thread": (0.2, 0.25, 0.28, 0.3, 0.3)},
        {"app_cpu": 1, "app_process": 1, "app_thread": 1},
    )
    assert figures["app_process"].text == "app_process 0.97 of 1: the processors are busy"
    assert told(figures.values()).startswith("app_cpu 0.97 of 1: the processors are busy; app_thread 0.3 of 1: not one")


def test_busy_processors_are_told_once_and_not_by_process_and_thread_too() -> None:
    same = (0.5, 0.75, 0.9, 0.95, 0.96)
    figures = found(
        {"app_cpu": [2 * value for value in same], "app_process": same, "app_thread": same},
        {"app_cpu": 2, "app_process": 1, "app_thread": 1},
    )
    assert {figure.kind for figure in figures.values()} == {"ceiling"}
    assert told(figures.values()) == "app_cpu 1.9 of 2: the processors are busy"


@pytest.mark.parametrize(
    ("series", "maximum", "why"),
    [
        ((1.0, 1.6, 2.0, 2.0, 2.0), None, "flat, and no maximum is known"),
        ((3.0, 3.0, 3.0, 3.0, 3.0), 3.0, "at its maximum at low rates too: threads, idle connections, a page cache"),
        ((1.0, 1.4, 1.6, 1.6, 1.7), 2.0, "between 70 and 90 % of it"),
        ((0.5, 0.9, 1.3, 1.7, 1.8), 1.0, "above it: it is not the maximum"),
        ((1.0, 2.0, 2.5, 3.0, 1.0), 3.0, "not in all overloaded steps"),
        ((1.0, 2.0, 2.5, 3.0, None), 3.0, "unknown in an overloaded step"),
        ((None, None, None, 3.0, 3.0), 3.0, "unknown at low rates"),
        ((0.3, 0.6, 0.97, 0.6, 0.5), 1.0, "busy at the highest rate that was carried, idle as requests are refused"),
        ((30.0, 60.0, None, 60.0, 50.0), 97.0, "unknown at the highest rate that was carried"),
        ((50.0, 80.0, 100.0, 130.0, 160.0), None, "it follows the rate that is sent"),
        ((5.0, 9.0, 90.0, 92.0, 160.0), None, "as high in a stable step"),
    ],
)
def test_a_figure_that_proves_nothing_says_nothing(series: Series, maximum: float | None, why: str) -> None:
    assert found({"x": series}, {} if maximum is None else {"x": maximum}) == {}, why


def test_a_queue_that_grows_between_overloaded_steps_is_a_symptom() -> None:
    figures = found({"listen": (0.0, 0.0, 1.0, 22.0, 77.0)}, {})
    assert figures["listen"] == WatchedFigure("listen", "symptom", 22, None, "listen 22 → 77: grows with the queue")


def test_lost_readings_leave_the_answer_as_it_is_while_two_of_a_step_are_known() -> None:
    figures = found({"pool": (1.0, 2.0, 2.5, 3.0, 3.0)}, {"pool": 3})
    assert figures["pool"].kind == "ceiling"
    seconds = pl.DataFrame(
        {"second": range(10), "step": [0] * 5 + [1] * 5, "watch_pool": [1, None, 1, None, 1, 1, 3, None, None, 3]}
    )
    steps = pl.DataFrame({"step": [0, 1], "rate": [10.0, 20.0], "verdict": ["stable", "overloaded"]})
    assert [each.kind for each in watched_figures(seconds, steps, {"pool": 3})] == ["ceiling"]
    one_left = seconds.with_columns(watch_pool=pl.when(pl.col("second") < 9).then("watch_pool"))
    assert watched_figures(one_left, steps, {"pool": 3}) == []


def test_a_sweep_without_an_overloaded_step_or_with_a_limit_of_this_machine_says_nothing() -> None:
    full = {"pool": (1.0, 2.0, 2.5, 3.0, 3.0)}
    assert found(full, {"pool": 3}, ["stable"] * 5) == {}
    assert found(full, {"pool": 3}, ["stable"] * 3 + ["generator-limited"] * 2) == {}
    assert math.isclose(found(full, {"pool": 3}, ["stable"] * 3 + ["errors"] * 2)["pool"].value, 3)


def test_a_step_above_saturation_that_was_too_short_to_show_its_overload_is_not_the_highest_rate_carried() -> None:
    locked, maxima = {"app_process": (0.5, 0.75, 0.9, 0.96, 0.98)}, {"app_process": 1.0}
    short = ("stable", "stable", "overloaded", "overloaded", "stable")
    assert found(locked, maxima, short) == {}
    figure = found(locked, maxima, short, most=97.0)["app_process"]
    assert (figure.kind, figure.value) == ("ceiling", 0.9)
    last = ("stable", "stable", "stable", "stable", "stable")
    assert found(locked, maxima, last, most=110.0)["app_process"].value == 0.96


def test_processors_are_not_ruled_out_for_a_process_that_waits_for_them() -> None:
    starved = {
        "app_cpu": (0.25, 0.41, 0.45, 0.51, 0.57),
        "app_thread": (0.07, 0.11, 0.13, 0.15, 0.15),
        "app_waiting": (1.15, 1.37, 1.4, 1.64, 1.4),
        "box_cpu": (0.2, 0.3, 0.4, 0.5, 0.5),
        "box_throttled": (0.0, 0.0, 0.2, 0.9, 1.2),
    }
    maxima = {"app_cpu": 2, "app_thread": 1, "box_cpu": 1}
    assert found(starved, maxima) == {}
    idle = starved | {"app_waiting": [0.05] * 5}
    assert found(idle, maxima)["app_cpu"].kind == found(idle, maxima)["app_thread"].kind == "ruled_out"


def test_advice_that_a_watched_figure_answers_or_contradicts_is_left_out() -> None:
    busy = found({"app_cpu": (1.0, 1.5, 1.7, 1.9, 1.95)}, {"app_cpu": 2}).values()
    four = workers(4, 3.8, 4.2, 0.02, 200)
    assert four.beside(list(busy)).advice == "the processors are busy: more workers will not help"
    assert four.beside([]).advice == four.advice
    full = found({"pool": (1.0, 2.0, 2.5, 3.0, 3.0)}, {"pool": 3}).values()
    assert four.beside(list(full)).advice == four.advice
    unknown = cannot_tell("response times fit no number of workers", "its pools")
    assert unknown.beside(list(full)).sentence == unknown.text
    assert "--watch decides" in unknown.beside([]).sentence
    both = cannot_tell("response times fit no number of workers", PROCESSORS_AND_POOLS)
    idle = found({"app_cpu": [0.1] * 5}, {"app_cpu": 2}).values()
    assert both.beside(list(idle)).advice == "--watch decides: watch the target's pools"
    assert TargetLimit.of(four.beside(list(busy)).as_dict()) == four.beside(list(busy))


@pytest.mark.usefixtures("without_drawing")
def test_the_watched_figures_of_a_sweep_are_told_on_the_terminal_in_the_report_and_in_python(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng, path = np.random.default_rng(8), tmp_path / "results.csv"
    plan = simulate.sweep(range(50, 301, 25), 5, rng, pause_s=5)
    simulate.serve(plan, SimulatedQueue(4, 0.016, "fixed"), rng).write_csv(path)
    readings = [
        f"{second},{name},{value},{most}"
        for second in range(110)
        for name, value, most in (
            ("app_pool", min(4.0, 4 * (50 + 25 * (second // 10)) / 250), 4),
            ("app_cpu", 0.2, 2.0),
            ("served_per_s", 100, ""),
        )
    ]
    path.with_name("results.watch.csv").write_text("\n".join(["second,name,value,maximum", *readings]) + "\n")
    sentence = "app_pool 4 of 4: at its maximum; app_cpu 0.2 of 2: not the processors"
    assert run(["analyze", str(path), "-o", str(tmp_path / "report")]) == 0
    assert f"\nwatched: {sentence}\n" in capsys.readouterr().out
    assert f"A{sentence[1:]}." in (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    limit = logreplay.analyze(path).limit
    assert limit
    assert [(each.name, each.kind) for each in limit.watched] == [("app_cpu", "ruled_out"), ("app_pool", "ceiling")]
    assert limit.kind == "workers"


def test_a_pool_that_is_seen_full_at_most_instants_of_a_low_rate_is_not_full_there() -> None:
    seen = {50.0: [3, 0, 3, 3, 0, 1, 3, 3, 0, 3], 100.0: [3, 3, 3, 0, 3, 3, 3, 2, 3, 3], 130.0: [3] * 10}
    seconds = pl.DataFrame(
        {
            "second": range(30),
            "step": [step for step in range(3) for _ in range(10)],
            "watch_pool": [float(value) for values in seen.values() for value in values],
        }
    )
    steps = pl.DataFrame({"step": range(3), "rate": list(seen), "verdict": ["stable", "stable", "overloaded"]})
    assert [each.kind for each in watched_figures(seconds, steps, {"pool": 3})] == ["ceiling"]
