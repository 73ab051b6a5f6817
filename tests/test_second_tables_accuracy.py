"""Per-second tables of others: saturation is found where it is, and none is invented below capacity."""

import pytest

from accuracy import second_tables
from accuracy.second_tables import Kind


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "least"), [("saturating", 17), ("below", 20), ("barely", 18)])
def test_verdicts_on_tables_of_others_are_right(kind: Kind, least: int) -> None:
    tables = [second_tables.make(kind, seed) for seed in range(20)]
    wrong = [table for table in tables if not table.is_right(second_tables.verdict(table))]
    assert len(tables) - len(wrong) >= least, [table.traits for table in wrong]


def test_the_table_has_a_row_for_each_kind_of_table() -> None:
    rows = second_tables.table(1, 3000).splitlines()
    assert [row.split("|")[1].strip() for row in rows[2:]] == ["saturating", "below", "barely"]
