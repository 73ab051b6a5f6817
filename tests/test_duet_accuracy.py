"""The figures of docs/accuracy.md on duets and pairs of runs, on fewer simulated runs and other seeds."""

from dataclasses import replace

import pytest

from accuracy import _tables, duet
from accuracy.duet import Cell, different, estimates, judged
from accuracy.duet_files import verdicts

RUNS = 60


def called(cell: Cell, slower: float, *, seed: int = 3, runs: int = RUNS) -> int:
    """How many of `RUNS` comparisons call the candidate different."""
    return sum(different(each, 0.01) for each in estimates(cell, runs, seed, slower))


def test_the_table_has_a_row_for_each_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    short = (Cell("calm", 10), Cell("noise", 10, noise=True), Cell("pairs", 10, pairs=2))
    monkeypatch.setattr(duet, "CELLS", short)
    rows = duet.table(4, 1).splitlines()
    assert [row.split("|")[1].strip() for row in rows] == ["machine", "---", *(cell.name for cell in short)]
    assert {row.count("|") for row in rows} == {9}


def test_the_page_names_the_most_false_alarms_of_all_rows_and_columns_that_a_gate_judges() -> None:
    """It left out the rows with a control and those of pairs, and the columns of percentiles and routes."""
    (machines,) = _tables.read("duet")
    for place, row in enumerate(machines):
        for column in ("equal called different", "equal: a percentile", "equal: a route"):
            if row[column]:
                changed = [*machines[:place], {**row, column: "77.0 %"}, *machines[place + 1 :]]
                assert "77 %" in duet.result([changed]), (row["machine"], column)


def test_equal_targets_are_the_same_and_ten_percent_are_found_in_twenty_seconds() -> None:
    calm = Cell("calm", 20)
    assert called(calm, 1.0, runs=20) <= 1
    assert called(calm, 1.1, runs=20) >= 19


@pytest.mark.slow
@pytest.mark.parametrize(
    "cell",
    [
        Cell("calm"),
        Cell("common", common=(0.06, 8)),
        Cell("apart", apart=(0.06, 8)),
        Cell("pauses", pauses=True),
        Cell("cold", cold_s=3),
    ],
    ids=lambda cell: cell.name,
)
def test_equal_targets_are_called_different_in_few_duets(cell: Cell) -> None:
    """At most 5 % in the long run: 8 of 60 come by chance in less than 1 of 100 such tests."""
    assert called(cell, 1.0) <= 8


@pytest.mark.slow
@pytest.mark.parametrize("load", [0.6, 0.8])
def test_ten_percent_under_common_wander_are_found(load: float) -> None:
    assert called(Cell("common", load=load, common=(0.06, 8)), 1.1) >= (50 if load < 0.7 else 44)


@pytest.mark.slow
def test_of_twenty_routes_the_one_that_became_slower_is_named_and_seldom_another() -> None:
    calm = Cell("calm")
    slow = [each.routes["14"].verdict(0.01) for each in judged(calm, 20, 5, route=1.2)]
    assert slow.count("slower") >= 15
    equal = [change.verdict(0.01) for each in judged(calm, 20, 6) for change in each.routes.values()]
    assert sum(word in ("slower", "faster") for word in equal) <= 3


@pytest.mark.slow
def test_a_longer_run_finds_what_a_short_one_cannot_decide() -> None:
    short = Cell("apart", 60, apart=(0.04, 8))
    assert called(short, 1.1, runs=30) < called(replace(short, seconds=240), 1.1, runs=30)


def test_the_command_finds_ten_percent_between_result_logs_in_files_and_nothing_between_equal_ones() -> None:
    calm = Cell("calm", 20)
    assert verdicts(calm, 3, 1, 1.1) == ["slower"] * 3
    assert not {*verdicts(calm, 3, 1, at_once=False)} & {"slower", "faster"}
