"""The parts of the page of accuracy on route costs and scale-out."""

import re

import pytest

from accuracy import costs, scaling
from accuracy._tables import numbers, tables_of


def test_the_tables_of_route_costs_and_of_scale_out_are_made() -> None:
    ranges, refusals = tables_of(costs.table(2, 7))
    assert (len(ranges), len(refusals)) == (4, 2)
    (curves,) = tables_of(re.sub("of 1 ", f"of {scaling.RUNS} ", scaling.table(1, 7)))
    assert len(curves) == 18


@pytest.mark.slow
def test_ranges_hold_costs_and_values_in_most_and_lines_get_no_law() -> None:
    ranges, refusals = tables_of(costs.table(30, 7))
    assert min(numbers(ranges, "range holds the cost")) >= 88
    assert min(numbers(refusals, "refused")) >= 96
    (curves,) = tables_of(scaling.table(30, 7).replace("of 30 ", f"of {scaling.RUNS} "))
    laws = [row for row in curves if next(iter(row.values())).startswith("law")]
    others = [row for row in curves if row not in laws]
    assert min(numbers(laws, "contention in its range")) >= 80
    assert max(numbers(others, "law given")) <= 14
