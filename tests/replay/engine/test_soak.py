"""The soak of `benchmarks.soak`, for less than a minute: nothing grows, and every count is the target's own."""

from pathlib import Path

import pytest

from benchmarks.soak import Watched, soak


@pytest.mark.slow
@pytest.mark.few
@pytest.mark.parametrize(("sender", "rate"), [("wire", 1000), ("aiohttp", 500)])
def test_nothing_grows_and_nothing_is_lost_while_the_target_fails(tmp_path: Path, sender: str, rate: float) -> None:
    done = soak(rate, 15, 300, tmp_path, sender)
    assert not done.wrong, done.said
    memory, descriptors, *_ = done.figures
    assert memory.flat, memory
    assert descriptors.flat, descriptors


def test_what_grows_is_seen() -> None:
    steady = Watched("memory, MB", [300, *[100.0] * 98, 130], 0.05, 8)
    growing = Watched("memory, MB", [100 + 0.3 * at for at in range(100)], 0.05, 8)
    assert steady.flat
    assert not growing.flat
    assert "GROWS" in str(growing)
