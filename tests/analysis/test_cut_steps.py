"""Steps of a sweep that were cut short, by Ctrl-C or a kill, prove nothing."""

import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from logreplay.analysis.analyze import Analysis, analyse
from logreplay.analysis.input.run_metadata import ClosedLoop
from logreplay.analysis.output.folder import remove_unfinished, write_folder, write_unfinished
from logreplay.analysis.summary import About
from logreplay.analysis.summary_rows import last_stable
from logreplay.analysis.verdict.capacity import capacity
from logreplay.core.record import to_csv
from support.simulated_results import write_results


def swept(folder: Path, rates: Sequence[float], done: int, about: About | None = None) -> Analysis:
    """A sweep against a server that carries 250/s, of which so many steps were finished."""
    results = write_results(folder, rates, 4)
    (folder / "manifest.json").write_text(json.dumps({"done": [{"index": index} for index in range(done)]}))
    return analyse(results, about)


def test_a_step_that_was_cut_is_not_the_last_stable_one_and_the_answer_says_so(tmp_path: Path) -> None:
    rates = range(40, 161, 20)
    whole, cut = swept(tmp_path, rates, 7), swept(tmp_path, rates, 6)
    assert last_stable(whole.steps) == 6
    assert last_stable(cut.steps) == 5
    assert cut.steps["verdict"].to_list() == 6 * ["stable"] + ["cut"]
    assert "up to 160/s" in whole.verdict.sentence
    assert "up to 140/s" in cut.verdict.sentence
    assert cut.summary["answer"].endswith("; the step at 160/s was cut short, not counted")
    (held,) = (each["text"] for each in cut.summary["findings"] if each["code"] == "not_covered")
    assert held.startswith("each rate that counts was held once for 4 s: ")
    assert cut.summary["requests"] == whole.summary["requests"]
    found = capacity(cut.steps, tps=1000, within=1.0, percentile="p90")
    assert found.low == 140
    assert found.sentence.endswith("; not counted: 160/s (cut short)")


def test_an_overloaded_step_that_was_cut_counts_with_the_seconds_it_was_held(tmp_path: Path) -> None:
    results = write_results(tmp_path, (50, 100, 150, 200, 400), 15)
    rows = pl.read_csv(results).filter(pl.col("scheduled") < 63)
    results.write_bytes(to_csv(rows, header=True))
    (tmp_path / "manifest.json").write_text(json.dumps({"done": [{"index": index} for index in range(4)]}))
    found = analyse(results)
    assert found.steps["verdict"].to_list()[-1] == "overloaded"
    (held,) = (each["text"] for each in found.summary["findings"] if each["code"] == "not_covered")
    assert held.startswith("each rate was held once for 3 s to 15 s: the answer does not cover what takes longer")


def test_a_step_that_was_cut_once_its_target_had_failed_counts(tmp_path: Path) -> None:
    rates = (100, 150, 200, 220, 400, 500)
    assert swept(tmp_path, rates, 5).verdict.sentence == swept(tmp_path, rates, 6).verdict.sentence


@pytest.mark.parametrize("rates", [[100], [100, 150]])
def test_a_sweep_that_was_cut_in_its_first_step_has_no_verdict(tmp_path: Path, rates: Sequence[float]) -> None:
    found = swept(tmp_path, rates, 0)
    assert found.verdict.sentence.startswith("not enough data: no rate has 100 requests")
    assert found.verdict.sentence.count("was cut short, not counted") == len(rates)
    assert last_stable(found.steps) is None


def test_a_sweep_that_was_stopped_in_its_first_step_does_not_answer_with_a_rate(tmp_path: Path) -> None:
    """A step of 150/s that was stopped answered "52 requests/s: p50 …", a rate that was never held."""
    answer = swept(tmp_path, [150], 0).summary["answer"]
    assert answer.startswith("stopped in the first step, 150/s, which was not held to its end: p50 ")
    assert swept(tmp_path, [150], 1).summary["answer"].startswith("150")


def test_the_last_step_of_a_run_that_was_stopped_does_not_count(tmp_path: Path) -> None:
    results, steps = write_results(tmp_path, (50, 100), 4), {"steps": [[50, 4], [100, 9]]}
    for stopped, last in ((None, "stable"), ("interrupted", "cut")):
        about = About(options=steps, more={"stopped": stopped})
        (tmp_path / "summary.json").write_text(json.dumps({"options": steps, "stopped": stopped}))
        for found in (analyse(results, about), analyse(results)):
            assert found.steps["verdict"].to_list() == ["stable", last]


def test_the_last_step_of_a_run_that_was_killed_does_not_count(tmp_path: Path) -> None:
    results = write_results(tmp_path, (50, 100), 4)
    write_unfinished(results, About(options={"steps": [[50, 4], [100, 9]]}))
    assert analyse(results).steps["verdict"].to_list() == ["stable", "cut"]
    summary, steps = write_folder(results, tmp_path, plots=False)
    assert summary["answer"].endswith("; the step at 100/s was cut short, not counted")
    assert write_folder(results, tmp_path, plots=False)[1]["verdict"].to_list() == steps["verdict"].to_list()
    remove_unfinished(results)
    assert analyse(results).steps["verdict"].to_list() == ["stable", "stable"]


def test_a_step_of_users_that_was_cut_does_not_count(tmp_path: Path) -> None:
    users = dict(enumerate((1, 2, 4, 8)))
    found = swept(tmp_path, (50, 100, 200, 220), 3, About(closed=ClosedLoop(users, 0.0, 4.0)))
    assert found.verdict.sentence.endswith("; the step with 8 users was cut short, not counted")
    assert found.steps.filter(pl.col("users") == 8)["verdict"].to_list() == ["cut"]
    assert found.scaling is not None
    assert [point.number for point in found.scaling.points] == [1, 2, 4]


@pytest.mark.parametrize(
    ("limited", "done", "said"),
    [
        ({}, 0, "no step counts; the step with 4 users was cut short, not counted"),
        ({0: "CPU"}, 1, "no step counts; this machine was the limit with 4 users"),
    ],
)
def test_a_sweep_over_users_without_a_step_that_counts_says_why_and_has_no_throughput(
    tmp_path: Path, limited: dict[int, str], done: int, said: str
) -> None:
    """It said that no response came within its step, beside hundreds of responses, and a throughput of 0."""
    found = swept(tmp_path, (100,), done, About(closed=ClosedLoop({0: 4}, 0.0, 4.0), limited=limited))
    assert found.verdict.sentence == said
    assert found.summary["requests"]["ok"] > 0
    figures = ("throughput", "throughput_low", "throughput_high", "plateau", "crossing")
    assert [found.summary["users"][name] for name in figures] == 5 * [None]
