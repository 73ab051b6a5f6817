"""Places on connections: each is taken once, waiting requests get them in order, and those that expired do not."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.replay.senders.http1.slots import Slots, Waiting


def seqs(waiting: object) -> list[int]:
    return [one.seq for one in waiting]  # type: ignore[attr-defined]


def test_a_place_that_is_given_back_goes_to_the_first_that_waits() -> None:
    slots = Slots(each=2)
    assert [slots.take("a") for _ in range(3)] == [True, True, False]
    assert slots.take("b")
    for seq in (7, 8):
        slots.wait("a", Waiting(seq, b"", 0, inf))
    assert [getattr(slots.free("a"), "seq", None) for _ in range(4)] == [7, 8, None, None]
    assert "a" not in slots
    assert len(slots) == 1


def test_a_request_whose_time_is_over_gets_no_place() -> None:
    slots = Slots(each=1)
    slots.take("a")
    for seq in range(3):
        slots.wait("a", Waiting(seq, b"", 0, 10.0 * seq + 10))
    assert slots.next_expiry == 10
    assert seqs(slots.expired(10)) == []
    assert seqs(slots.expired(21)) == [0, 1]
    assert getattr(slots.free("a"), "seq", None) == 2
    assert seqs(slots.expired(1000)) == []
    assert slots.next_expiry == inf


def test_those_that_wait_are_taken_out_together() -> None:
    slots = Slots(each=1)
    for key in "ab":
        slots.take(key)
        slots.wait(key, Waiting(ord(key), b"", 0, 5.0))
    assert seqs(slots.clear()) == [ord("a"), ord("b")]
    assert slots.next_expiry == inf
    assert slots.free("a") is None
    assert not slots.take("b")


@given(st.integers(1, 4), st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=60))
def test_no_place_is_taken_twice_and_no_request_forgotten(each: int, steps: list[tuple[str, bool]]) -> None:
    slots, busy, waiting = Slots(each), dict.fromkeys("abc", 0), {key: list[int]() for key in "abc"}
    for seq, (key, comes) in enumerate(steps):
        if comes and slots.take(key):
            busy[key] += 1
        elif comes:
            waiting[key].append(seq)
            slots.wait(key, Waiting(seq, b"", 0, inf))
        elif busy[key]:
            one = slots.free(key)
            assert (one.seq if one else None) == (waiting[key].pop(0) if waiting[key] else None)
            busy[key] -= one is None
        assert busy[key] == each or not waiting[key]
        assert busy[key] <= each
    assert len(slots) == sum(count > 0 for count in busy.values())


def test_a_slot_must_be_taken_before_it_is_given_back() -> None:
    with pytest.raises(KeyError):
        Slots(each=1).free("a")
