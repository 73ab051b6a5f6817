"""The number of machines for a load."""

import pytest

from logreplay.analysis.machine_count import machines_for


@pytest.mark.parametrize(
    ("load", "one", "headroom", "number"),
    [(100, 100, 0.0, 1), (101, 100, 0.0, 2), (100, 100, 0.2, 2), (1.1, 0.1, 0.0, 11), (1e-9, 1e3, 0.0, 1)],
)
def test_a_load_needs_whole_machines_and_the_rounding_of_the_quotient_needs_none(
    load: float, one: float, headroom: float, number: int
) -> None:
    assert machines_for(load, one, headroom) == number
