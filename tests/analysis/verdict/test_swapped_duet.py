"""Result logs of duets in which two pairs of targets took turns."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from logreplay.analysis.verdict.comparison import Comparison, compare, compare_duet
from logreplay.analysis.verdict.ratio_interval import NO_DIFFERENCE
from logreplay.core.record import SWAP_TURN, TARGET
from logreplay.replay.requests.combine import Swap


def written(
    folder: Path,
    slower: float = 1.0,
    *,
    machine: float = 1.3,
    seconds: int = 60,
    every: float = 2.0,
    slow: str = "/a",
    seed: int = 1,
) -> tuple[Path, Path]:
    """A duet of 100 pairs/s with two routes, one perhaps slower; the second machine takes ``machine`` times as long."""
    rng, size = np.random.default_rng(5), 100 * seconds
    at = np.sort(rng.uniform(0, seconds, size))
    swap = Swap(every, seed=seed)
    turns = swap.turns((at * 1e9).astype(np.int64))
    second = swap.second(turns)
    route = np.where(np.arange(size) % 3 == 0, "/b", "/a")
    shared = rng.lognormal(0, 0.3, size)
    for name, place, factor in (("baseline", 0, 1.0), ("candidate", 1, slower)):
        here = np.where(second == (place == 0), machine, 1.0) * np.where((route == slow) | (slow == ""), factor, 1.0)
        rows = {
            "date": "2026-01-01", "time": [f"00:00:{each:09.6f}" for each in at], "xfertime": 0.0, "thinktime": 0.0,
            "latency": 0.02 * shared * here * rng.lognormal(0, 0.1, size), "bytes": 100, "url": route, "rc": 200,
            "op": "GET", "seq": np.arange(size), "row": np.arange(size), "step": 0, "scheduled": at, "offered": 100.0,
            "connect": 0.0, "lag": 1e-5 * place, "error": None, SWAP_TURN: turns,
            TARGET: np.where(second, f"http://{name}2", f"http://{name}"),
        }  # fmt: skip
        pl.DataFrame(rows).write_csv(folder / f"{name}.csv")
    return folder / "baseline.csv", folder / "candidate.csv"


def judged(folder: Path, slower: float = 1.0, **more: float | str) -> Comparison:
    return compare(*written(folder, slower, **more))  # type: ignore[arg-type]


def test_machines_that_differ_by_30_percent_are_no_change(tmp_path: Path) -> None:
    found = judged(tmp_path, slow="")
    assert found.sentence.startswith(NO_DIFFERENCE)
    assert found.verdict == NO_DIFFERENCE
    assert found.change
    assert (found.change.blocks, found.change.confidence) == (15, 0.995)
    assert {*found.quantiles} == {"p50", "p90", "p99"}
    assert {*found.routes} == {"/a", "/b"}
    assert not found.slower(0.01)


@pytest.mark.parametrize("seed", [1, 3])
def test_pairs_of_targets_that_differ_are_named_with_both_reasons(tmp_path: Path, seed: int) -> None:
    """It took the pair that had the first turn for the first pair: with the seed 3 it named the wrong machine."""
    (note,) = (note for note in judged(tmp_path, slow="", seed=seed).notes if "--swap" in note)
    told = re.fullmatch(
        r"candidate against baseline: (\S+)% where (\S+) is the baseline, (\S+)% where (\S+) is: the machines differ "
        r"by that, or the two addresses of --swap are in the wrong order",
        note,
    )
    assert told
    of = {told[2]: float(told[1]), told[4]: float(told[3])}
    assert of == {"http://baseline": pytest.approx(30, abs=3), "http://baseline2": pytest.approx(-23, abs=3)}
    assert not [note for note in judged(tmp_path, 1.1, machine=1.0, slow="").notes if "--swap" in note]


def test_a_version_that_is_slower_on_both_machines_is_found(tmp_path: Path) -> None:
    found = judged(tmp_path, 1.1, slow="")
    assert found.verdict == "slower"
    assert found.change
    assert found.change.ratio == pytest.approx(1.1, abs=0.02)
    assert found.change.low > 1.05
    assert set(found.slower(0.01)) >= {"all", "p50", "/a", "/b"}


def test_the_route_that_became_slower_is_named(tmp_path: Path) -> None:
    found = judged(tmp_path, 1.3, slow="/b")
    assert found.verdicts["/b"] == "slower"
    assert found.verdicts["/a"] != "slower"
    assert found.routes["/b"].ratio == pytest.approx(1.3, abs=0.05)


def test_the_only_route_has_the_change_of_all_requests(tmp_path: Path) -> None:
    paths = written(tmp_path, 1.1, slow="")
    for path in paths:
        pl.read_csv(path).with_columns(url=pl.lit("/")).write_csv(path)
    found = compare(*paths)
    assert found.change
    assert found.routes == {"/": found.change}


def test_without_its_columns_it_is_judged_as_a_duet_that_lacks_turns(tmp_path: Path) -> None:
    paths = written(tmp_path, slow="")
    for path in paths:
        pl.read_csv(path).drop(SWAP_TURN, TARGET).write_csv(path)
    found = compare_duet(*paths)
    assert found.change
    assert found.change.confidence == 0.95


def test_too_few_turns_say_what_to_do(tmp_path: Path) -> None:
    found = judged(tmp_path, seconds=18)
    told = "both pairs of targets had their turns fewer than 5 times: run longer, or with a shorter --swap-every"
    assert found.sentence == f"nothing to compare: {told}"
    assert judged(tmp_path, seconds=18, every=1.0).verdict == NO_DIFFERENCE


def test_a_last_turn_without_another_is_left_out_and_named(tmp_path: Path) -> None:
    found = judged(tmp_path, seconds=58, machine=2.0)
    assert found.change
    assert (found.change.blocks, found.verdict) == (14, NO_DIFFERENCE)
    (note,) = (note for note in found.notes if "left out" in note)
    assert "pairs are left out of the times: only one of both pairs of targets had its turn" in note
    assert not [note for note in judged(tmp_path, seconds=60).notes if "left out" in note]


def test_a_duet_with_turns_is_compared_beside_a_pair_of_runs_without(tmp_path: Path) -> None:
    """Their columns differ, which ended the command with a traceback."""
    apart = [
        pl.read_csv(path).with_columns(date=pl.lit(f"2026-01-0{day}")) for day, path in enumerate(written(tmp_path), 2)
    ]
    runs = [each.drop(SWAP_TURN, TARGET) for each in apart]
    found = compare(*written(tmp_path, 1.1, machine=1.0, slow=""), *runs)
    assert list(found.pairs) == [1, 2]
    assert found.slower_share


def test_a_second_baseline_is_no_measure_of_times_beside_turns(tmp_path: Path) -> None:
    old, new = written(tmp_path, slow="")
    alone = compare_duet(old, new)
    rows = pl.read_csv(old).with_columns(pl.lit("http://noise").alias(TARGET), lag=pl.lit(2e-5))
    rows.write_csv(tmp_path / "noise.csv")
    assert compare_duet(old, new, noise=tmp_path / "noise.csv").change == alone.change
