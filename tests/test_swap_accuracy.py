"""Duets in which two pairs of targets take turns, simulated and on real servers."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from accuracy import _tables, swap, swap_live
from logreplay.analysis.verdict.ratio_interval import AT_ONCE_TOLERANCE, DIFFERENT

CELLS = {cell.name: cell for cell in swap.CELLS}


def test_the_table_has_a_row_for_each_kind_of_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swap, "CELLS", swap.CELLS[2:3])
    rows = swap.table(2, 1).splitlines()
    assert [len(row.split("|")) for row in rows] == [9, 9, 9]
    assert rows[2].startswith("| calm, 24 s | ")


def test_each_machine_serves_each_version_in_half_of_the_turns() -> None:
    cell = CELLS["one slower by 10 %"]
    at, (old, new), turns, second = swap._duets(cell, 1, np.random.default_rng(1), 1.0, swap=True)
    assert set(turns[0]) == {*range(30)}
    assert abs(second.mean() - 0.5) < 0.02
    slow = [float(np.median(np.log(new / old)[second == pair])) for pair in (False, True)]
    assert slow[0] == pytest.approx(-slow[1], abs=0.03)
    assert slow[0] > 0.05
    assert at.max() <= cell.seconds


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one slower by 10 %, drifts by 10 % and pauses", "wander of each, 6 % over 8 s"])
def test_what_a_machine_does_is_seldom_called_a_change_and_ten_percent_are_found(name: str) -> None:
    equal = [found[0].verdict(AT_ONCE_TOLERANCE) in DIFFERENT for found in swap.judged(CELLS[name], 40, 3, 1.0)]
    slower = [found[0].verdict(AT_ONCE_TOLERANCE) == "slower" for found in swap.judged(CELLS[name], 40, 4, 1.1)]
    assert sum(equal) <= 2
    assert sum(slower) >= 38


@pytest.mark.slow
@pytest.mark.parametrize(("change", "verdict"), [(1.0, "no difference detected"), (1.3, "slower")])
def test_real_servers_on_a_machine_that_is_slow_drifts_and_pauses(tmp_path: Path, change: float, verdict: str) -> None:
    found = swap_live.duet(swap_live.written(tmp_path), change, 1, 24)
    assert found.comparison
    if found.verdict == "VALID" and "sent late" not in found.comparison.sentence:  # else this machine was too busy
        assert found.comparison.verdict in (verdict, "undecided" if change == 1.0 else verdict)


def test_a_slower_version_that_is_called_faster_is_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    comparison = SimpleNamespace(verdict="faster", change=SimpleNamespace(ratio=0.9))
    monkeypatch.setattr(swap_live, "duet", lambda *_: SimpleNamespace(comparison=comparison))
    said = swap_live.result(_tables.tables_of(swap_live.table(2, 1)))
    assert said == "False alarms: 2 of 2 duets; 10 % found: 0 of 2"
