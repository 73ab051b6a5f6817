"""The time that a limit was met is told apart from the generator's own, exactly where waits are short."""

import random

from logreplay.replay.engine.open_loop import TimeAtLimit


def test_only_the_time_in_which_the_limit_was_met_counts() -> None:
    limit = TimeAtLimit()
    limit.begin(100)
    limit.end(130)
    limit.begin(150)
    limit.end(155)
    assert limit.since(50, 160) == 35
    assert limit.since(110, 160) == 25
    assert limit.since(130, 160) == limit.since(140, 160) == 5
    assert limit.since(152, 160) == 3
    assert limit.since(155, 160) == 0
    assert (limit.met, limit.ended) == (False, 155)


def test_a_limit_that_is_met_counts_up_to_now() -> None:
    limit = TimeAtLimit()
    limit.begin(100)
    assert limit.met
    assert limit.since(90, 107) == 7
    assert limit.since(104, 107) == 3


def test_long_waits_are_split_in_bounded_memory() -> None:
    """A hundred thousand times met and left: the instants of long ago are known to a few thousandths of the wait."""
    limit, chance, now, spans = TimeAtLimit(), random.Random(1), 0, []
    for _ in range(100_000):
        now += chance.randrange(1, 10)
        limit.begin(now)
        begun, now = now, now + chance.randrange(1, 100)
        limit.end(now)
        spans.append((begun, now))
    for share in (0.0, 0.3, 0.9):
        due = int(share * now)
        truth = sum(end - max(begun, due) for begun, end in spans if end > due)
        assert abs(limit.since(due, now) - truth) < 0.005 * (now - due)
    begun = spans[-1000][0]
    assert limit.since(begun, now) == sum(end - begun for begun, end in spans[-1000:])
    assert len(limit._instants) <= 4096
