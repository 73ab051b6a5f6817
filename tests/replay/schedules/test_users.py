"""Users as a schedule: how many, how long they think, and how many requests they may take."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.replay.schedules.users import UniformThink, Users


@pytest.mark.parametrize(
    ("users", "think", "duration", "text"),
    [(0, 0.0, None, "at least 1 user"), (1, -1.0, None, "think"), (1, 0.0, 0.0, "duration")],
)
def test_impossible_users_say_why(users: int, think: float, duration: float | None, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Users(users, think, duration)


@pytest.mark.parametrize("think", [-1.0, float("nan"), float("inf")])
def test_a_pause_without_an_end_or_below_zero_is_refused(think: float) -> None:
    with pytest.raises(ValueError, match="think time must not be below 0 s, got"):
        Users(1, think)


@pytest.mark.parametrize(("low", "high"), [(2, 1), (-1, 1), (0, float("inf")), (float("nan"), 1), (0, float("nan"))])
def test_bounds_that_are_no_range_are_refused(low: float, high: float) -> None:
    with pytest.raises(ValueError, match="think times must be 0 <= low <= high, got"):
        UniformThink(low, high)


@given(st.lists(st.integers(0, 20), max_size=10), st.none() | st.integers(0, 60))
def test_users_take_every_request_at_once_up_to_their_limit(blocks: list[int], limit: int | None) -> None:
    pace = Users(3, requests=limit).pacer()
    taken = [pace(np.arange(block)) for block in blocks]
    assert sum(map(len, taken)) == (sum(blocks) if limit is None else min(limit, sum(blocks)))
    assert not any(due.any() for due in taken)


def test_each_pacer_counts_for_itself() -> None:
    users = Users(3, requests=5)
    for _ in range(2):
        assert len(users.pacer()(np.arange(9))) == 5


def test_draws_are_those_of_the_seed_and_of_the_part() -> None:
    def draws(think: UniformThink) -> list[float]:
        return list(think.generator().random(5))

    assert draws(UniformThink(0, 1, 7, 1)) == draws(UniformThink(0, 2, 7, 1))
    assert len({tuple(draws(UniformThink(0, 1, seed, part))) for seed in range(3) for part in range(3)}) == 9
    assert UniformThink(1, 4).mean == 2.5
