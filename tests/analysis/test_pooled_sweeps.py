"""Runs of the same sweep are pooled; others are refused with what differs."""

import json
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import logreplay
import simulate
from logreplay.analysis.pooled_sweeps import pooled
from logreplay.cli.main import run as command
from logreplay.core.errors import LogreplayError, UsageError
from simulate import SimulatedQueue

RATES = [50.0, 100.0, 150.0, 200.0, 300.0, 350.0]


def run(folder: Path, seed: int, rates: list[float] | None = None, **told: Any) -> Path:
    """The folder of a sweep of a server that carries 250/s."""
    rates = rates or RATES
    folder.mkdir()
    (folder / "results.csv").write_text(rows(seed, tuple(rates)))
    options = {"rates": rates, "arrivals": None, "for": 20.0}
    summary = {"target": "http://a", "log": "access.csv", "options": options, **told}
    (folder / "summary.json").write_text(json.dumps(summary))
    return folder


@cache
def rows(seed: int, rates: tuple[float, ...]) -> str:
    rng = np.random.default_rng(seed)
    arrivals = simulate.sweep(rates, 20, rng, pause_s=2.0)
    return simulate.serve(arrivals, SimulatedQueue(4, 0.016), rng, timeout_s=8).write_csv()


def each_first(runs: list[Path]) -> list[list[Path]]:
    """Three orders in which each of the runs comes first, and last, once."""
    return [runs[place:] + runs[:place] for place in range(len(runs))]


def ask(*runs: Path) -> Any:
    return logreplay.capacity(list(runs), demand=1000, p90=0.1)


def test_runs_of_the_same_sweep_narrow_the_bracket(tmp_path: Path) -> None:
    runs = [run(tmp_path / f"{seed}", seed) for seed in range(3)]
    one, three = ask(runs[0]), ask(*runs)
    assert (one.runs, three.runs) == (1, 3)
    assert three.high - three.low < one.high - one.low
    assert three.sentence.endswith("; 3 runs pooled")
    assert logreplay.capacity(runs[0], demand=1000, p90=0.1) == one


def test_the_order_of_the_runs_changes_nothing(tmp_path: Path) -> None:
    runs = [run(tmp_path / f"{seed}", seed) for seed in range(3)]
    first = ask(*runs)
    assert all(ask(*order) == first for order in each_first(runs)[1:])
    assert " at 200/s " in first.sentence
    assert " in the slowest of 3 steps, not kept at 300/s " in first.sentence


def test_each_run_is_compared_with_each_other(tmp_path: Path) -> None:
    """Only the first was compared with the others: whether runs were refused depended on their order."""
    rates = (RATES[:4], RATES, [*RATES[:5], 400.0])
    runs = [run(tmp_path / f"{seed}", seed, rates[seed], options={}) for seed in range(3)]
    for order in each_first(runs):
        with pytest.raises(UsageError, match=r": only one of them has 350/s; name runs of one sweep$"):
            ask(*order)


def test_an_interrupted_sweep_names_what_it_lacks(tmp_path: Path) -> None:
    cut = run(tmp_path / "cut", 1, RATES[:4])
    options = {"rates": RATES, "arrivals": None, "for": 20.0}
    (cut / "summary.json").write_text(json.dumps({"options": options}))
    (cut / "manifest.json").write_text(json.dumps({"done": [{"index": index} for index in range(3)]}))
    said = logreplay.capacity(cut, demand=1000, p90=0.3).sentence
    assert "the bound was kept at every rate that counts: measure the other rates of the sweep, 200 to 350/s" in said
    assert "; saturation unknown, not enough data: 3 rates have 100 requests or more; 5 such rates are needed" in said
    assert said.endswith("; not counted: 200/s (cut short)")
    assert "not enough data: 3 rates have 100 requests or more; 5 such" in logreplay.analyze(cut).summary["answer"]


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"target": "http://b"}, "its target is http://b, not http://a; name runs of one sweep"),
        ({"log": "other.csv"}, "its log is other.csv, not access.csv; name runs of one sweep"),
        (
            {"options": {"rates": [40.0, 2.5], "for": 20.0}},
            "its rates are 40,2.5, not 50,100,150,200,300,350; name runs of one sweep",
        ),
        ({"options": {"rates": RATES, "for": 30.0}}, "its step length is 30.0, not 20.0; name runs of one sweep"),
    ],
)
def test_a_run_of_another_sweep_is_refused_with_what_differs(tmp_path: Path, told: dict[str, Any], said: str) -> None:
    first, other = run(tmp_path / "a", 1), run(tmp_path / "b", 2, **told)
    with pytest.raises(UsageError) as refused:
        ask(first, other)
    assert str(refused.value) == f"{other}: is not a run of the same sweep as {first}: {said}"


def test_a_run_at_other_rates_is_refused(tmp_path: Path) -> None:
    first, other = run(tmp_path / "a", 1), run(tmp_path / "b", 2, [40.0, 100.0, 150.0, 200.0, 300.0, 350.0], options={})
    with pytest.raises(UsageError, match=r": only one of them has 40/s; name runs of one sweep$"):
        ask(first, other)


def test_a_copy_of_a_run_is_refused(tmp_path: Path) -> None:
    first = run(tmp_path / "a", 1)
    shutil.copytree(first, tmp_path / "b")
    with pytest.raises(LogreplayError, match=r"b: holds the same rows as .*a, and its steps would count twice"):
        ask(first, tmp_path / "b")


def test_two_runs_without_an_answer_are_no_copies(tmp_path: Path) -> None:
    """Evenly spaced requests that are all refused have the same figures in each run."""
    arrivals = simulate.sweep(RATES, 10, np.random.default_rng(1), poisson=False)
    size = len(arrivals.scheduled)
    refused = simulate.results(arrivals, np.zeros(size), rc=np.zeros(size, int), error=np.full(size, "refused"))
    first, later = tmp_path / "first.csv", tmp_path / "later.csv"
    for path, day in ((first, "2026-01-01"), (later, "2026-01-02")):
        refused.with_columns(date=pl.lit(day)).write_csv(path)
    assert len(pooled([first, later])) == 2
    shutil.copy(first, later)
    with pytest.raises(LogreplayError, match="holds the same rows"):
        pooled([first, later])


def test_no_run_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^no run is given"):
        ask()


def search(folder: Path, rates: Sequence[float] = (200.0,), *, verdict: str = "VALID", **told: Any) -> Path:
    """The folder of a search that tried 200/s only, and confirmed it for p90 within 100 ms."""
    bounds = [{"statistic": "p90", "limit": 0.1}, {"statistic": "errors", "limit": 0.01}]
    slo = {"found": True, "unit": "requests/s", "rate": 200.0, "held_s": 60.0, "bounds": bounds}
    late = {"code": "lag", "severity": "void", "text": "the generator was late"}
    return run(folder, 1, [*rates], slo={**slo, **told}, verdict=verdict, findings=[late] * (verdict != "VALID"))


def test_a_search_is_answered_with_the_rate_that_it_confirmed_where_its_trials_alone_do_not_suffice(
    tmp_path: Path,
) -> None:
    """It was refused: no lower rate than the confirmed one showed what one machine carries."""
    found = ask(search(tmp_path / "a"))
    assert (found.machines, found.likely, found.low, found.verdict) == (5, 200.0, 200.0, "VALID")
    assert found.sentence.startswith(
        "5 machines for 1000/s with p90 within 100 ms, no headroom: one carries about 200/s (200/s at least); rate and "
        "range are those of the search, since no trial below 200/s counts; p90 "
    )
    assert "; saturation unknown, not enough data: " in found.sentence
    assert found.not_covered.startswith("the rate was held for 60 s: the number does not cover")
    more = logreplay.capacity(tmp_path / "a", demand=1000, p90=0.2, headroom="50%", survive=1)
    assert more.machines == 11
    assert ask(search(tmp_path / "b", held_s=20.0)).sentence.startswith("~5 machines")


def test_a_search_for_another_bound_or_without_an_answer_says_what_to_do(tmp_path: Path) -> None:
    other = logreplay.capacity(search(tmp_path / "a"), demand=1000, p90=0.05)
    assert other.machines is None
    assert other.sentence.endswith("; the search was for p90 within 100 ms: search for p90 within 50 ms, or sweep")
    said = ask(search(tmp_path / "b", found=False, rate=None, held_s=None)).sentence
    assert said.endswith("; the search confirmed no rate: search again with a longer --budget, or sweep")


def test_a_search_is_answered_with_its_range_and_below_saturation(tmp_path: Path) -> None:
    """The confirmed rate was taken for the lower end, and 242/s of a machine that saturates at 251/s for safe."""
    found = ask(search(tmp_path / "a", range=[185.0, 240.0]))
    assert (found.low, found.likely, found.high) == (185.0, 200.0, 240.0)
    assert (found.machines, found.machines_likely, found.machines_at_best) == (6, 5, 5)
    near = ask(search(tmp_path / "b", [220.0, 300.0], rate=242.0, range=[225.0, 248.0]))
    assert near.machines
    assert near.low == 225.0
    assert near.likely == pytest.approx(0.925 * near.saturation)
    assert (
        f"answered about {near.saturation:.0f}/s, and 92.5 % of that is the most that counts as carried"
        in near.sentence
    )


def test_a_search_does_not_override_the_refusal_of_a_rate_too_near_to_saturation(tmp_path: Path) -> None:
    """A sweep was refused, and the same rows of a search were answered with 97 % of saturation."""
    rates = [242.0, 260.0, 280.0, 300.0, 350.0]
    found = search(tmp_path / "a", rates, rate=242.0, range=[225.0, 248.0])
    refused = logreplay.capacity(found, demand=10000, p90=0.3)
    assert (refused.machines, refused.verdict) == (None, "NO_ANSWER")
    assert refused.sentence.endswith("/s, which leaves too little room: sweep lower")
    assert refused == logreplay.capacity(run(tmp_path / "b", 1, rates), demand=10000, p90=0.3)


def test_a_search_that_is_not_valid_gives_no_answer(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    bound = search(tmp_path / "a", verdict="GENERATOR_BOUND")
    assert ask(bound).sentence.endswith("; the search is not valid: search again, or sweep")
    assert command(["capacity", str(bound), "--demand", "1000", "--p90", "100ms"]) == 3
    assert "warning: invalid: the generator was late\n" in capfd.readouterr().err


def test_a_bound_above_the_time_out_is_named(tmp_path: Path) -> None:
    """p99=300, meant as milliseconds, was taken as 300 s without a word."""
    sweep = run(tmp_path / "a", 1, options={"rates": RATES, "timeout": 30.0})
    (told,) = logreplay.capacity(sweep, demand=1000, p90=300).notes
    assert told.startswith("the bound of 300 s is longer than timeout=30 s of the run, which ends a request that takes")
    assert told.endswith("write 300ms for milliseconds")
    assert not logreplay.capacity(sweep, demand=1000, p90=30).notes


def test_searches_are_not_pooled(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"searches are not pooled, since each has its own rates; name one$"):
        ask(search(tmp_path / "a"), run(tmp_path / "b", 2))


def test_the_findings_of_a_sweep_that_weaken_it_are_named_beside_the_number(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """capacity --machines named them, and the number of one sweep stood without a word on dropped requests."""
    dropped = {"code": "dropped", "severity": "warning", "text": "9 of 100 requests were too late to be sent"}
    harmless = {"code": "short_steps", "severity": "note", "text": "steps are too short"}
    weak = run(tmp_path / "a", 1, findings=[dropped, harmless])
    assert ask(weak).notes == (dropped["text"],)
    assert ask(weak, run(tmp_path / "b", 2)).notes == (f"run 1: {dropped['text']}",)
    assert command(["capacity", str(weak), "--demand", "1000", "--p90", "100ms"]) == 0
    assert f"warning: {dropped['text']}\n" in capfd.readouterr().err
