"""Logs that hold the same lines in the time that both span are found; logs of several machines are not."""

import numpy as np
import pytest

from logreplay.core.errors import LogreplayError
from logreplay.parsers.lines import repeated_lines
from logreplay.parsers.lines.repeated_lines import Hashes, Ints, RepeatedLines

DAY = 86_400
RNG = np.random.default_rng(1)


def lines(count: int, seconds: int = DAY) -> tuple[Ints, Hashes]:
    """Lines at random times, in order: microseconds and hashes."""
    stamps = np.sort(RNG.integers(0, seconds * 1_000_000, count))
    return stamps, RNG.integers(0, 1 << 63, count).astype(np.uint64) * np.uint64(2)


def added(**logs: tuple[Ints, Hashes]) -> RepeatedLines:
    """The logs, each added in several blocks."""
    found = RepeatedLines(len(logs))
    for name, (stamps, hashes) in logs.items():
        for part in np.array_split(np.arange(len(stamps)), 7):
            found.add(name, stamps[part], hashes[part])
    return found


def part(log: tuple[Ints, Hashes], begin: int, end: int) -> tuple[Ints, Hashes]:
    return log[0][begin:end], log[1][begin:end]


def together(one: tuple[Ints, Hashes], two: tuple[Ints, Hashes]) -> tuple[Ints, Hashes]:
    return np.concatenate((one[0], two[0])), np.concatenate((one[1], two[1]))


@pytest.mark.parametrize("most", [1 << 19, 1])
@pytest.mark.parametrize(("begin", "end"), [(0, 100_000), (60_003, 130_001), (100_000, 200_000)])
def test_a_part_of_a_log_beside_the_whole_is_found(
    monkeypatch: pytest.MonkeyPatch, begin: int, end: int, most: int
) -> None:
    monkeypatch.setattr(repeated_lines, "_MOST", most)  # at its least, some seconds are left out
    whole = lines(200_000)
    with pytest.raises(LogreplayError, match="whole and part hold the same lines from 1970-01-01T"):
        added(whole=whole, other=lines(1000), part=part(whole, begin, end)).check()


def test_two_logs_that_overlap_are_found_by_the_lines_of_both() -> None:
    whole = lines(100_000)
    with pytest.raises(LogreplayError, match=r"a and b hold the same lines from .*: they would be counted twice"):
        added(a=part(whole, 0, 60_000), b=part(whole, 50_000, 100_000)).check()


def test_logs_of_two_machines_and_of_two_days_are_not_the_same() -> None:
    one, two, check = lines(100_000), lines(100_000), lines(40_000)
    added(one=one, two=two).check()
    added(one=together(one, check), two=together(two, check)).check()
    added(one=one, two=(two[0] + DAY * 1_000_000, two[1])).check()
    added(one=one, two=(two[0][:0], two[1][:0])).check()


def test_an_idle_machine_with_nothing_but_health_checks_is_not_a_part_of_a_busy_one() -> None:
    check = lines(40_000)
    added(busy=together(lines(30_000), check), idle=check).check()


def test_a_rotated_log_goes_on_in_the_second_in_which_the_one_before_ends() -> None:
    whole = lines(100_000)
    added(old=part(whole, 0, 50_000), new=part(whole, 50_000, 100_000)).check()


def test_a_few_equal_seconds_tell_nothing() -> None:
    few = lines(30, 9)
    added(one=few, two=few).check()
