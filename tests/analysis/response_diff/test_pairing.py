"""Elements of two lists that belong together."""

from hypothesis import given
from hypothesis import strategies as st

from logreplay.analysis.response_diff.pairing import pair


def test_an_element_in_front_moves_no_other() -> None:
    paired = pair("bcd", "abcd")
    assert (paired.added, paired.removed, paired.changed, paired.moved) == ([0], [], [], False)


def test_another_order_is_seen_beside_a_change() -> None:
    paired = pair("abcd", "bacX")
    assert paired.moved
    assert paired.changed == [(3, 3)]


@given(st.lists(st.integers(0, 5)), st.lists(st.integers(0, 5)))
def test_each_element_is_used_once(before: list[int], after: list[int]) -> None:
    paired = pair(before, after)
    both = [*paired.same, *paired.changed]
    assert sorted([*(old for old, _ in both), *paired.removed]) == [*range(len(before))]
    assert sorted([*(new for _, new in both), *paired.added]) == [*range(len(after))]
    assert all(before[old] == after[new] for old, new in paired.same)
    assert not (paired.removed and paired.added)
    if sorted(before) == sorted(after):
        assert paired.moved == (before != after)
