"""Logs that hold the same varied lines in the time that both span are found; logs of several machines are not."""

import time
from dataclasses import dataclass

import numpy as np
import pytest

from logreplay.core.errors import LogreplayError
from logreplay.parsers.lines.repeated_lines import Hashes, Ints, RepeatedLines

DAY = 86_400
RNG = np.random.default_rng(1)


@dataclass
class Log:
    """Lines in order, each with the hash of what stands in it beside the time."""

    stamps: Ints
    texts: Hashes

    def __getitem__(self, chosen: "slice | Ints | np.ndarray") -> "Log":
        return Log(self.stamps[chosen], self.texts[chosen])

    def __add__(self, other: "Log") -> "Log":
        stamps = np.concatenate((self.stamps, other.stamps))
        order = np.argsort(stamps, kind="stable")
        return Log(stamps[order], np.concatenate((self.texts, other.texts))[order])

    @property
    def hashes(self) -> Hashes:
        mixed = (self.texts ^ self.stamps.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        return (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)


def lines(count: int, *, texts: int = 1 << 62, begin: int = 1) -> Log:
    """Lines at random seconds of a day, each with one of so many texts."""
    stamps = np.sort(RNG.integers(begin, begin + DAY, count)) * 1_000_000
    return Log(stamps, RNG.integers(1, texts, count, np.uint64, endpoint=True) * np.uint64(0x94D049BB133111EB))


def probes(every: int) -> Log:
    """The same line at the same distances."""
    return Log(np.arange(1, DAY, every) * 1_000_000, np.full(len(range(1, DAY, every)), 7, np.uint64))


def added(**logs: Log) -> RepeatedLines:
    """The logs, each added in several blocks."""
    found = RepeatedLines(len(logs))
    for name, log in logs.items():
        for part in np.array_split(np.arange(len(log.stamps)), 7):
            block = log[part]
            found.add(name, block.stamps, block.hashes, block.texts.__getitem__)
    return found


WHOLE = lines(100_000)


@pytest.mark.parametrize(
    "part",
    [
        WHOLE[:50_000],
        WHOLE[60_003:65_001],
        WHOLE[2::5],
        WHOLE[RNG.random(100_000) < 0.06],
        WHOLE[:10_000] + WHOLE[50_000:60_000] + WHOLE[-10_000:],
        WHOLE + lines(100_000),
        WHOLE[::3] + probes(1),
    ],
    ids=["half", "short", "each fifth line", "some lines", "pieces", "merged with another", "with probes"],
)
def test_a_part_of_a_log_beside_the_whole_is_found_whichever_way_it_was_cut(part: Log) -> None:
    found = added(whole=WHOLE, other=lines(1000), part=part)
    with pytest.raises(LogreplayError, match=r"(whole and part|part and whole) hold the same lines from 1970-01-01T"):
        found.check()


def test_two_logs_that_overlap_are_found_by_the_lines_of_both() -> None:
    with pytest.raises(LogreplayError, match=r"a and b hold the same lines from .*: they would be counted twice"):
        added(a=WHOLE[:60_000], b=WHOLE[50_000:]).check()


def test_logs_of_two_machines_and_of_two_days_are_not_the_same() -> None:
    one, two = lines(100_000), lines(100_000)
    added(one=one, two=two).check()
    added(one=one, two=Log(one.stamps + DAY * 1_000_000, one.texts)).check()
    added(one=one, two=two[:0]).check()


def test_quiet_machines_with_the_same_probes_are_not_the_same() -> None:
    added(one=probes(1) + lines(3000), two=probes(1) + lines(3000)).check()
    added(busy=probes(2) + lines(30_000), idle=probes(2)).check()
    added(**{f"pod{number}": probes(10) + lines(200) for number in range(12)}).check()


@pytest.mark.parametrize("texts", [1, 10])
def test_traffic_of_few_different_requests_is_not_the_same(texts: int) -> None:
    several = {name: lines(1_000_000, texts=texts) for name in ("one", "two")}
    added(**several).check()


def test_a_rotated_log_goes_on_in_the_second_in_which_the_one_before_ends() -> None:
    added(old=WHOLE[:50_000], new=WHOLE[50_000:]).check()


def test_few_equal_lines_tell_nothing() -> None:
    added(one=WHOLE[:99], two=WHOLE[:99]).check()
    with pytest.raises(LogreplayError, match="one and two"):
        added(one=WHOLE[:110], two=WHOLE[:110]).check()


@pytest.mark.parametrize("stamp", [0, 1_000_000])
def test_lines_without_a_time_and_at_a_single_time_tell_nothing(stamp: int) -> None:
    alike = Log(np.full(1000, stamp), WHOLE.texts[:1000])
    added(one=alike, two=alike).check()


def test_hundreds_of_logs_are_compared_in_a_moment() -> None:
    found = added(**{f"log{number}": lines(1000) for number in range(300)})
    begun = time.process_time()
    found.check()
    assert time.process_time() - begun < 2
