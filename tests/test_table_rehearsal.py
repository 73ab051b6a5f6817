"""Per-second tables of others: saturation is found where it is, and none is invented below capacity."""

import pytest

import table_rehearsal as rehearsal
from table_rehearsal import Kind


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "least"), [("saturating", 17), ("below", 20), ("barely", 18)])
def test_verdicts_on_tables_of_others_are_right(kind: Kind, least: int) -> None:
    tables = [rehearsal.make(kind, seed) for seed in range(20)]
    wrong = [table for table in tables if not table.is_right(rehearsal.verdict(table))]
    assert len(tables) - len(wrong) >= least, [table.traits for table in wrong]
