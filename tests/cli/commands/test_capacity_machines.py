"""``capacity --machines``: does it scale out?"""

import json
from pathlib import Path

import numpy as np
import pytest

import logreplay as api
import simulate
from logreplay.analysis.scaling.scale_out import ScaleOut
from logreplay.cli.main import run as logreplay
from logreplay.core.errors import UsageError
from logreplay.core.record import to_csv

CARRIED = {1: 100.0, 2: 160.0, 4: 220.0}
"""Requests/s of so many machines, by contention of 23 % and coherency of 1 %."""


@pytest.fixture(scope="module")
def sweeps(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A sweep of each number of machines."""
    folder = tmp_path_factory.mktemp("sweeps")
    for number, carried in CARRIED.items():
        chance = np.random.default_rng(number)
        rates = np.linspace(0.3 * carried, 1.3 * carried, 12).tolist()
        queue = simulate.SimulatedQueue(4, 4 / carried)
        rows = simulate.serve(simulate.sweep(rates, 12, chance), queue, chance)
        (folder / f"{number}").mkdir()
        (folder / f"{number}" / "results.csv").write_bytes(to_csv(rows, header=True))
        assert logreplay(["analyze", str(folder / f"{number}"), "--no-plots", "-q", "--force"]) == 0
    return [str(folder / f"{number}") for number in CARRIED]


def test_the_number_of_machines_comes_from_the_law_with_a_picture(
    sweeps: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "scaling.png"
    words = ["capacity", *sweeps, "--machines", "1,2,4", "--p90", "1s", "-o", str(picture)]
    assert logreplay([*words, "--tps", "230"]) == 0
    told = capfd.readouterr().out
    assert "n times one would be 3); 4 machines carry 2." in told
    assert "contention " in told
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert logreplay([*words, "--tps", "900", "--json", "--force"]) == 3
    value = json.loads(capfd.readouterr().out)
    assert (value["kind"], value["machines"], value["points"][1]["number"]) == ("bent", None, 2)
    found = api.capacity(sweeps, demand=230, p90="1s", machines=[1, 2, 4])
    assert isinstance(found, ScaleOut)
    assert found.contention_low is not None
    assert found.contention_high is not None
    assert found.contention_low <= 0.23 <= found.contention_high


def test_two_numbers_of_machines_say_only_whether_n_times_one_holds(
    sweeps: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert logreplay(["capacity", sweeps[0], sweeps[2], "--machines", "1,4", "--p90", "1s", "--tps", "300"]) == 3
    assert "n times one does not hold; a law needs 3 numbers of machines at least" in capfd.readouterr().out


def test_each_result_needs_its_number_and_a_picture_its_machines(sweeps: list[str]) -> None:
    with pytest.raises(UsageError, match="3 numbers for 1 result: give the number of machines behind each result"):
        api.capacity(sweeps[0], demand=300, p90="1s", machines="1,2,4")
    with pytest.raises(UsageError, match="expected increasing numbers of machines up to 1,000,000, such as 1,2,4"):
        api.capacity(sweeps, demand=300, p90="1s", machines="4,2,1")
    with pytest.raises(UsageError, match="needs"):
        api.capacity(sweeps, demand=300, p90="1s", output="x.png")


def test_machines_that_carried_every_rate_are_refused_with_their_number(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    chance = np.random.default_rng(1)
    queue = simulate.SimulatedQueue(4, 4 / 100)
    rows = simulate.serve(simulate.sweep([10.0, 15, 20, 25, 30], 60, chance), queue, chance)
    (tmp_path / "results.csv").write_bytes(to_csv(rows, header=True))
    assert logreplay(["analyze", str(tmp_path), "--no-plots", "-q"]) == 0
    assert logreplay(["capacity", str(tmp_path), "--machines", "3", "--mean", "10s", "--tps", "300"]) == 1
    assert "every rate was carried, so the most that 3 machines can carry is unknown" in capfd.readouterr().err
