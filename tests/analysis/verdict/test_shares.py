"""Shares of requests that fail, and what a burst of failures says about them."""

from functools import partial

import numpy as np
import polars as pl
import pytest

from logreplay.analysis.statistics.failures import Series
from logreplay.analysis.verdict.ratio_interval import Change
from logreplay.analysis.verdict.shares import Compared, fails_more, hits, other_size, rise, share


def failures(rng: np.random.Generator, *, share: float = 0.0, blip_s: float = 0.0, seconds: int = 60) -> Series:
    """100 requests/s, of which a share fails one by one, and all of a blip."""
    at = np.sort(rng.uniform(0, seconds, 100 * seconds))
    begin = rng.uniform(0, seconds - blip_s)
    failed = (rng.random(len(at)) < share) | ((at >= begin) & (at < begin + blip_s))
    return hits(pl.DataFrame({"scheduled": at, "failed": failed}), pl.col("failed"))


def test_a_blip_in_one_of_two_equal_runs_is_not_a_candidate_that_fails_more() -> None:
    """A blip of 1.5 s in half of the runs: with failures counted as independent, 27 of 100 candidates were failed."""
    rng = np.random.default_rng(5)
    for _ in range(200):
        old, new = (failures(rng, blip_s=1.5 * rng.integers(2)) for _ in range(2))
        more, low, high = rise([old], [new])
        assert low <= 0 <= high
        assert not fails_more((more, low, high))


def test_single_failures_of_a_candidate_are_found() -> None:
    rng = np.random.default_rng(6)
    found = [rise([failures(rng, share=0.01)], [failures(rng, share=0.04)]) for _ in range(100)]
    assert all(low > 0.01 for _, low, _ in found)
    assert sum(low <= 0.03 <= high for _, low, high in found) > 90


def test_several_pairs_of_runs_are_pooled() -> None:
    rng = np.random.default_rng(7)
    made = partial(failures, rng, seconds=10)
    old, new = ([made(share=share) for _ in range(6)] for share in (0.0, 0.02))
    (_, one, _), (_, all_, _) = rise(old[:1], new[:1]), rise(old, new)
    assert one < all_
    assert all_ > 0.01


def test_a_pause_between_requests_is_one_empty_second_however_long_it_is() -> None:
    rows = pl.DataFrame({"scheduled": [5.5, 5.9, 6.1, 2e9], "failed": [True, False, True, True]})
    counts, failed = hits(rows, pl.col("failed"))
    assert (counts.tolist(), failed.tolist()) == ([2, 1, 0, 1], [1, 1, 0, 1])


def test_nothing_has_no_share_and_an_unknown_rise() -> None:
    none = hits(pl.DataFrame(schema={"scheduled": pl.Float64, "failed": pl.Boolean}), pl.col("failed"))
    assert rise([none], [none]) == (0.0, -1.0, 1.0)
    assert share(pl.DataFrame(schema={"second": pl.Int32, "failed": pl.Boolean}), pl.col("failed")) is None


@pytest.mark.parametrize(
    ("more", "verdict"),
    [((0.03, 0.02, 0.04), "fails more"), ((0.03, -0.01, 0.07), "slower"), ((0.0005, 0.0001, 0.001), "slower")],
)
def test_failures_count_before_times_where_they_are_certain(more: tuple[float, float, float], verdict: str) -> None:
    found = Compared(
        sentence="", change=Change(1.1, 1.05, 1.15, 6000, 60, 59), statuses=[], status_changed=None, bytes_changed=None,
        failed=(0, 0), failed_more=more,
    )  # fmt: skip
    assert found.verdict == verdict


def is_of_another_size(old: int, new: int) -> bool:
    sizes = pl.DataFrame({"bytes": [old], "bytes_new": [new]}, schema=dict.fromkeys(("bytes", "bytes_new"), pl.UInt32))
    return bool(sizes.select(other_size()).item())


@pytest.mark.parametrize("sizes", [(1000, 1001), (1001, 1000), (1000, 1064), (10_000, 10_100), (0, 0)])
def test_a_body_that_grew_or_shrank_by_little_is_of_the_same_size(sizes: tuple[int, int]) -> None:
    """The sizes are unsigned: every body that grew by a byte was one of another size."""
    assert not is_of_another_size(*sizes)


@pytest.mark.parametrize("sizes", [(1000, 1065), (1065, 1000), (0, 2**32 - 1), (2**32 - 1, 0), (10_000, 10_101)])
def test_a_body_that_grew_or_shrank_by_much_is_of_another_size(sizes: tuple[int, int]) -> None:
    assert is_of_another_size(*sizes)
