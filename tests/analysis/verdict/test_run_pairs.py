"""Which requests of two runs are a pair, and which runs are those of a duet."""

import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import simulate
from logreplay.analysis.verdict.run_pairs import of_a_duet, pair_of_runs
from logreplay.core.errors import LogreplayError
from logreplay.core.record import to_csv
from logreplay.core.rows import scan


def run(*, lag: float = 0.0, seconds: float = 10) -> pl.DataFrame:
    arrivals = simulate.sweep([50], seconds, np.random.default_rng(1), poisson=False)
    count = len(arrivals.scheduled)
    return simulate.results(arrivals, np.full(count, 0.01), lag=np.full(count, lag))


def written(path: Path, rows: pl.DataFrame) -> Path:
    path.write_bytes(to_csv(rows, header=True))
    return path


def test_two_targets_of_one_instant_are_a_duet_and_a_copy_of_a_run_is_not(tmp_path: Path) -> None:
    """A copy began at the same instant, too: `compare` judged it as the second target of a duet."""
    one = written(tmp_path / "baseline.csv", run())
    other = written(tmp_path / "candidate.csv", run(lag=0.000_03))
    later = written(tmp_path / "later.csv", run(lag=0.000_03).with_columns(date=pl.lit("2026-01-02")))
    slower = written(tmp_path / "slower.csv", run().with_columns(pl.col("latency") * 2))
    copied = Path(shutil.copy(one, tmp_path / "copied.csv"))
    assert of_a_duet(one, other)
    assert not any(of_a_duet(one, each) for each in (one, later, slower, copied))
    assert not of_a_duet(run(), run(lag=0.000_03)), "tables have no file of which a duet consists"


@pytest.mark.parametrize(("seconds", "why"), [(1, "fewer than 100"), (4, "less than 5 s"), (10, "blocks of time")])
def test_a_pair_of_runs_says_why_it_cannot_be_judged(seconds: float, why: str) -> None:
    found = pair_of_runs(run(seconds=seconds), run(seconds=seconds))
    assert why in found.too_few
    assert found.paired


def test_a_duet_whose_requests_stand_in_several_rows_is_refused(tmp_path: Path) -> None:
    """Each row was paired with each: 3,000 of them made 9,000,000 pairs, and a traceback."""
    paths = [
        written(tmp_path / f"{name}.csv", run(lag=lag)) for name, lag in (("old", 0), ("new", 3e-5), ("again", 6e-5))
    ]
    for place, path in enumerate(paths):
        twice = [*paths]
        twice[place] = written(tmp_path / "twice.csv", pl.concat([scan(path).collect(), scan(path).tail(1).collect()]))
        with pytest.raises(LogreplayError, match=r"twice\.csv: seq 499 stands in several rows"):
            pair_of_runs(twice[0], twice[1], at_once=True, noise=twice[2])


def test_sweeps_over_users_are_refused_by_name(tmp_path: Path) -> None:
    """All of their requests were left out, and the answer was to run longer."""
    rng, server = np.random.default_rng(1), simulate.SimulatedQueue(4, 0.01)
    swept = simulate.closed_loop([2, 4], server, 5, rng, think_s=0.01).with_columns(offered=pl.lit(None, pl.Float64))
    users = written(tmp_path / "users.csv", swept)
    for runs in ((users, run()), (run(), users)):
        with pytest.raises(LogreplayError, match=r"users\.csv: its steps have no rates, .* over users"):
            pair_of_runs(*runs)
    one_number = swept.filter(pl.col("step") == 0)
    assert pair_of_runs(one_number, one_number).timed.height == one_number.height
