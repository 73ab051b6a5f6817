"""The offset of a clock: never further off than it says, and none where both sides have one clock."""

from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logreplay.replay.workers import clock_offset
from logreplay.replay.workers.clock_offset import SAME, ClockOffset, boot_id, measure, settled


@given(offset=st.integers(-(10**12), 10**12), ways=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6))))
def test_an_offset_is_never_further_off_than_it_says(offset: int, ways: list[tuple[int, int]]) -> None:
    now, trips = 0, iter([*ways, (1000, 5000)])

    def here() -> int:
        return now

    def there() -> int:
        nonlocal now
        there_way, back = next(trips)
        now += there_way
        read = now - offset
        now += back
        return read

    found = measure(there, here, rounds=len(ways) + 1)
    assert abs(found.offset - offset) <= found.uncertainty
    assert found.here(found.common(12345)) == 12345


def test_one_clock_needs_no_measuring() -> None:
    apart = ClockOffset(500, 600)
    assert settled(apart, same_boot=True) == SAME
    assert settled(apart, same_boot=False) == apart
    assert settled(replace(apart, offset=5000), same_boot=True).offset == 5000


def test_the_shortest_round_trip_decides() -> None:
    readings = iter([0, 100, 200, 204, 300, 340])  # before and after each question
    assert measure(lambda: 50, readings.__next__, rounds=3) == ClockOffset(202 - 50, 2)


def test_a_running_kernel_has_one_name_and_what_has_none_is_like_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "boot_id").write_text("5e2f\n")
    monkeypatch.setattr(clock_offset, "_BOOT", tmp_path / "boot_id")
    assert boot_id() == boot_id() == "5e2f"
    monkeypatch.setattr(clock_offset, "_BOOT", tmp_path / "none")
    monkeypatch.setattr("time.time_ns", count().__next__)
    assert boot_id() != boot_id()
