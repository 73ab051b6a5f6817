"""How far the writing of rows lagged, of several parts together."""

from functools import reduce
from itertools import permutations
from operator import add

from hypothesis import given
from hypothesis import strategies as st

from logreplay.replay.results.self_monitor import WriteLag

SECONDS = st.integers(0, 1000).map(float)
PARTS = st.lists(st.builds(WriteLag, st.integers(0, 10**6), SECONDS, SECONDS, SECONDS), min_size=1, max_size=4)


@given(PARTS)
def test_parts_add_up_in_any_order_and_the_longest_wait_is_that_of_the_worst(parts: list[WriteLag]) -> None:
    sums = {reduce(add, order) for order in permutations(parts)}
    assert sums == {sum(parts, WriteLag())}
    (whole,) = sums
    assert whole.longest == max(part.longest for part in parts)
    assert whole.rows == sum(part.rows for part in parts)
    assert whole.working == sum(part.working for part in parts)
    assert whole.writing == sum(part.writing for part in parts)
