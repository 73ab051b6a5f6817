"""The values of ``--think``."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.options.load import mean_of, parse_pauses, said, thinking
from logreplay.replay.schedules.users import UniformThink


@pytest.mark.parametrize("text", ["1s..", "..1s", "1s..x", "log..1s", "1s..2s..3s", "-1s..2s", "1s..inf"])
def test_a_range_of_pauses_that_is_none_is_refused_with_the_whole_value(text: str) -> None:
    with pytest.raises(ValueError, match=f"^'{re.escape(text)}': expected the shortest and the longest pause"):
        parse_pauses(text)


def test_a_range_of_one_pause_is_that_pause() -> None:
    assert parse_pauses("0..0") == 0
    assert parse_pauses("2s..2000ms") == 2


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_range_is_read_from_its_shorter_to_its_longer_pause(first: int, last: int) -> None:
    low, high = sorted((first, last))
    pauses = parse_pauses(f"{low}ms..{high}ms")
    assert mean_of(pauses) == pytest.approx((low + high) / 2000)
    think = thinking(pauses, seed=3)
    if low == high:
        assert think == pauses == pytest.approx(low / 1000)
        assert said(pauses, 3) == pauses
    else:
        assert isinstance(think, UniformThink)
        assert (think.low, think.high) == pytest.approx((low / 1000, high / 1000))
        assert said(pauses, 3) == {"distribution": "uniform", "low": think.low, "high": think.high, "seed": 3}


@pytest.mark.parametrize(("text", "seconds"), [("0", 0), ("0s", 0), ("1s", 1), ("1.5m", 90)])
def test_one_pause_is_fixed(text: str, seconds: float) -> None:
    pauses = parse_pauses(text)
    assert pauses == thinking(pauses, 0) == mean_of(pauses) == said(pauses, 0) == seconds


def test_a_range_that_falls_says_which_way_to_write_it() -> None:
    with pytest.raises(ValueError, match=r"^'3s..1s': 3 s is above 1 s; write the shorter"):
        parse_pauses("3s..1s")


def test_the_pauses_of_the_log_are_named_by_nothing() -> None:
    assert said(None, 0) is None
