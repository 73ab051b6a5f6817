"""Which connection takes a request: in turn, no more streams than allowed, no more connections than allowed."""

from collections import Counter
from math import inf
from typing import Any

from logreplay.replay.senders.http2.pool import Pool


class Line:
    """A connection with room for some streams."""

    def __init__(self, limit: int) -> None:
        self.limit, self.taken, self.answered = limit, 0, 0

    @property
    def unused(self) -> bool:
        return not self.taken

    def room(self, most: float) -> float:
        return min(self.limit, most) - self.taken


def pool(limit: int = 100, **options: Any) -> Pool:
    return Pool(lambda _, now: Line(limit), **{"least": 2, "most": inf, "streams": inf, **options})  # type: ignore[arg-type, return-value]


def taken(made: Pool, count: int) -> Counter[Any]:
    """The connections that took so many requests; None: queued."""
    found: Counter[Any] = Counter()
    for _ in range(count):
        line: Any = made.take(0)
        if line is not None:
            line.taken += 1
        found[line] += 1
    return found


def test_the_least_connections_are_opened_first_and_share_what_comes() -> None:
    assert sorted(taken(pool(), 10).values()) == [5, 5]


def test_more_connections_are_opened_when_no_stream_is_free() -> None:
    assert sorted(taken(pool(limit=3), 10).values()) == [1, 3, 3, 3]


def test_what_exceeds_both_limits_is_queued() -> None:
    found = taken(pool(limit=3, most=2), 10)
    assert found[None] == 4


def test_streams_are_limited_below_the_peers_limit() -> None:
    assert sorted(taken(pool(streams=2), 6).values()) == [2, 2, 2]
    assert sorted(taken(pool(streams=1, least=0), 3).values()) == [1, 1, 1]


def test_a_connection_with_room_again_takes_requests() -> None:
    made = pool(limit=1, most=2)
    first: Any = next(iter(taken(made, 2)))
    assert made.take(0) is None
    first.taken = 0
    made.note(first)
    assert made.take(0) is first


def test_a_retired_connection_takes_none_and_is_replaced_if_it_answered() -> None:
    made = pool()
    one, other = taken(made, 2)
    one.answered = 1
    assert made.retire(one)
    assert not made.retire(one)
    assert not made.retire(other)
    assert not {one, other} & taken(made, 4).keys()


def test_a_pool_of_one_connection_opens_the_next_when_the_last_response_has_come() -> None:
    made = pool(least=0, most=1, most_open=1, streams=1)
    ((one, _),) = taken(made, 1).items()
    assert not made.retire(one)
    assert (made.take(0), made.used) == (None, True)
    one.taken = 0
    assert not made.retire(one)
    assert not made.used
    assert made.take(0) not in (None, one)


def test_a_new_connection_is_taken_where_the_others_may_be_lost() -> None:
    made = pool(most=3)
    lines = taken(made, 4)
    for line in lines:
        line.answered = 1
    third = made.take(0, new=True)
    assert third not in lines
    assert made.take(0, new=True) is third
    assert made.take(0, new=True) in {third, *lines}


def test_a_connection_that_still_carries_requests_counts_among_the_most() -> None:
    made = pool(limit=1, least=0, most=2, most_open=2)
    first, other = taken(made, 2)
    made.retire(first)
    assert made.take(0) is None
    first.taken = 0
    made.retire(first)
    assert made.take(0) not in {None, first, other}
